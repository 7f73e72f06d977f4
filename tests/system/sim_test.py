#!/usr/bin/env python3
"""turnstone sim, from the command line."""
import json
import os
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import PROGRAM, complains, run  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

SMALL = ("--steps", "300", "--workers", "3", "--shards", "4", "--stores", "2")


def sim(*arguments):
    done = run("sim", *SMALL, "--json", *arguments)
    return done.status, json.loads(done.out)


@test
def a_seed_that_holds_is_status_0_and_says_what_was_done():
    status, answer = sim("--seed", "3", "--count", "4", "--faults", "radioactive")
    equal(status, 0)
    equal((answer["holds"], answer["seeds"], answer["first_seed"], answer["faults"]), (True, 4, 3, "radioactive"))
    equal((answer["workers"], answer["shards"], answer["stores"]), (3, 4, 2))
    equal(answer["steps"], 4 * 300)
    holds(answer["operations"]["checkpoint"]["executed"] > 0, "checkpoints were made")
    holds(answer["troubles"]["call struck"] > 0, "calls were struck")
    holds(answer["checks"] > 0 and answer["transactions"] > 0, "stores were looked at")


@test
def the_same_seed_gives_the_same_trace():
    first, again, other = (sim("--seed", seed)[1] for seed in ("11", "11", "12"))
    for answer in (first, again, other):
        for measured in ("seconds", "steps_per_second"):
            del answer[measured]
    equal(first, again)
    holds(first["trace_hash"] != other["trace_hash"], "another seed has another trace")


@test
def weather_steps_and_numbers_change_what_happens():
    base = sim("--seed", "5")[1]["trace_hash"]
    for change in (("--faults", "sunny"), ("--steps", "301"), ("--workers", "4"), ("--shards", "5"), ("--stores", "3")):
        arguments = list(SMALL)
        if change[0] in arguments:
            arguments[arguments.index(change[0]) + 1] = change[1]
        else:
            arguments += change
        answer = json.loads(run("sim", *arguments, "--json", "--seed", "5").out)
        holds(answer["trace_hash"] != base, " ".join(change))


@test
def sunny_weather_strikes_nothing():
    answer = sim("--seed", "1", "--faults", "sunny")[1]
    equal((answer["troubles"]["call struck"], answer["troubles"]["worker crashed"]), (0, 0))


@test
def people_get_a_summary():
    done = run("sim", *SMALL, "--seed", "2")
    equal(done.status, 0)
    lines = done.out.splitlines()
    holds(lines[0].startswith("1 seed from 2, stormy: "), lines[0])
    equal(lines[-1], "holds")


@test
def every_event_can_be_seen():
    done = run("sim", *SMALL, "--seed", "2", "--trace")
    equal(done.status, 0)
    holds(any(" is told " in line for line in done.err.splitlines()), "answers are in the trace")


@test
def a_broken_rule_is_status_1_and_the_command_shows_it_again():
    status, answer = sim("--seed", "1", "--count", "200", "--plant", "counter")
    equal((status, answer["holds"], answer["property"]), (1, False, "counters"))
    again = shlex.split(answer["again"])
    equal(again[0], "turnstone")
    done = subprocess.run([PROGRAM, *again[1:], "--json"], capture_output=True, text=True, check=False)
    equal(done.returncode, 1)
    repeated = json.loads(done.stdout)
    equal([repeated[key] for key in ("seed", "step", "property", "text")],
          [answer[key] for key in ("seed", "step", "property", "text")])


@test
def a_fleet_that_scans_repositories_is_another_kind_of_world():
    status, answer = sim("--world", "fleet", "--seed", "3", "--count", "3")
    equal((status, answer["sim"], answer["holds"]), (0, "fleet", True))
    holds(answer["wishes"]["stage_and_flip"] > 0 and answer["unit_events"]["completed"] > 0, "units came to their end")
    done = run("sim", *SMALL, "--world", "fleet", "--seed", "3")
    holds(any(line.startswith("steps of units: read ") for line in done.out.splitlines()), done.out)


@test
def a_broken_rule_of_the_fleet_is_found_and_the_command_shows_it_again():
    status, answer = sim("--world", "fleet", "--seed", "1", "--count", "200", "--plant", "early")
    equal((status, answer["holds"], answer["property"]), (1, False, "frontier"))
    again = shlex.split(answer["again"])
    done = subprocess.run([PROGRAM, *again[1:], "--json"], capture_output=True, text=True, check=False)
    equal((done.returncode, json.loads(done.stdout)["text"]), (1, answer["text"]))


@test
def a_number_out_of_range_is_bad_usage():
    complains(2, "sim: --shards must be a number from 1 to 64; got '65'", "sim", "--world", "fleet", "--shards", "65")
    complains(2, "sim: --plant: unknown rule 'cursor' for --world fleet", "sim", "--world", "fleet", "--plant", "cursor")
    complains(2, "sim: --workers must be a number from 1 to 64; got '65'", "sim", "--workers", "65")
    complains(2, "sim: --stores must be a number from 1 to 16; got '0'", "sim", "--stores", "0")
    complains(2, "sim: --seed must be a number from 0 to 18446744073709551615; got 'x'", "sim", "--seed", "x")


main()
