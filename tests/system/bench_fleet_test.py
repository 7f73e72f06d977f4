#!/usr/bin/env python3
"""tools/bench-fleet-large measures everything that it promises, with small numbers. The figures themselves are not tested."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

PROGRAM, BENCH = (os.path.abspath(one) for one in sys.argv[1:3])


def measured(*words):
    done = subprocess.run([BENCH, PROGRAM, *words], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@test
def every_figure_is_measured():
    registered, first, second, memory = measured("registered", "claims", "memory", "--targets", "50", "--shards", "10,20", "--units", "200")
    equal((registered["targets"], first["shards"], second["shards"], memory["units"]), (50, 10, 20, 200))
    holds(registered["tries"] >= 1 and memory["last_to_first"] > 0, (registered, memory))
    holds(all(any("claim" in name and value for name, value in one.items()) for one in (first, second)), (first, second))


@test
def first_and_nightly_runs_over_http_are_measured_for_each_size():
    figures = measured("http", "--sizes", "4,20")
    equal([(one["run"], one["targets"]) for one in figures], [("first", 4), ("nightly", 4), ("first", 20), ("nightly", 20)])
    holds(all(one[name] > 0 for one in figures for name in ("targets_per_s", "git_cpu_ms", "server_cpu_ms", "growth")), figures)


main()
