#!/usr/bin/env python3
"""turnstone route, from the command line."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import PROGRAM, answers, complains, run  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

LAST = 2**64 - 1


@test
def the_default_is_xxh64():
    answers("0 11\n1 5\n42 3\n-1 9\n9223372036854775807 12\n320816801799737344 14\n",
            "route", "--stores", "16", "0", "1", "42", "-1", "9223372036854775807", "320816801799737344")
    answers("42 3\n", "route", "--strategy", "xxh64", "--stores=4", "42")


@test
def the_id_is_printed_as_it_was_given():
    answers("-1 9\n18446744073709551615 9\n0042 3\n", "route", "--stores", "16", "-1", str(LAST), "0042")


@test
def options_may_follow_ids():
    answers("42 3\n", "route", "42", "--stores", "16")
    answers("-1 9\n", "route", "--stores", "16", "--", "-1")


@test
def single_is_store_0():
    answers("1 0\n-1 0\n", "route", "--strategy", "single", "1", "-1")


@test
def fnv1a_is_as_specified():
    def fnv1a(value, count):
        hash_ = 14695981039346656037
        for byte in value.to_bytes(8, "little"):
            hash_ = (hash_ ^ byte) * 1099511628211 % 2**64
        return hash_ % 65536 % count
    ids = [0, 1, 42, 325, LAST, 10**18]
    answers("".join(f"{i} {fnv1a(i, 5)}\n" for i in ids), "route", "--strategy", "fnv1a", "--stores", "5", *map(str, ids))


@test
def jump_moves_only_to_the_new_store():
    ids = "".join(f"{i}\n" for i in range(20000))
    before = run("route", "--strategy", "jump", "--stores", "7", "-", stdin=ids).out.split()[1::2]
    after = run("route", "--strategy", "jump", "--stores", "8", "-", stdin=ids).out.split()[1::2]
    moved = [b for a, b in zip(before, after) if a != b]
    equal(set(moved), {"7"})
    holds(0.9 < len(moved) / (20000 / 8) < 1.1, f"{len(moved)} moved")


@test
def ranges_are_half_open_and_include_the_last_id():
    expected = f"0 7\n999 7\n1000 3\n{LAST} 3\n-1 3\n"
    for end in ("max", str(LAST)):
        answers(expected, "route", "--strategy", "range", "--ranges", f"7:0-1000,3:1000-{end}",
                "0", "999", "1000", str(LAST), "-1")


@test
def ranges_may_be_in_any_order():
    answers("999 7\n1000 3\n", "route", "--strategy", "range", "--ranges", "3:1000-max,7:0-1000", "999", "1000")


@test
def wrong_ranges_say_what_is_wrong_with_the_values():
    def refused(ranges, *parts):
        complains(2, parts, "route", "--strategy", "range", "--ranges", ranges, "1")
    refused("", "empty")
    refused("0:0-1000,1:2000-max", "gap", "1000", "2000")
    refused("0:5-max", "gap", "0", "5")
    refused("0:0-1000,1:500-max", "overlap", "1000", "500")
    refused("0:0-1000,1:1000-1000,2:1000-max", "empty range", "1000")
    refused("0:0-1000,0:1000-max", "duplicate store", "0")
    refused("0:0-1000,1:1000-2000", "incomplete", "2000")
    refused("0:0-max,1:18446744073709551615-max", "overlap")
    refused("y:0-max", "item 1", '"y"')
    refused("0:0-max,", "item 2")
    refused("1:-5-max", "item 1", '"1:-5-max"')
    refused("\x01" * 100 + ":0-max", "item 1", "the store must be")
    refused("0:0", "0:0")
    refused("0:-1-max", "item 1")
    refused("0:0-18446744073709551616", "18446744073709551616")
    refused("4294967296:0-max", "4294967296")
    refused("0:0-max 1", "max 1")


@test
def own_says_yes_or_no():
    answers("42 yes\n1 no\n", "route", "--stores", "16", "--own", "3", "42", "1")
    answers("42 yes\n", "route", "--stores", "1", "--own", "0", "42")
    answers("999 yes\n1000 no\n", "route", "--strategy", "range", "--ranges", "7:0-1000,3:1000-max", "--own", "7",
            "999", "1000")
    answers("5 yes\n", "route", "--strategy", "single", "--own", "0", "5")


@test
def every_id_has_exactly_one_owner():
    ids = "".join(f"{320816801799737344 + i}\n" for i in range(2000))
    owners = [run("route", "--stores", "4", "--own", str(index), "-", stdin=ids).out.split()[1::2] for index in range(4)]
    for said in zip(*owners):
        equal(sorted(said), ["no", "no", "no", "yes"])


@test
def own_takes_index_and_count_from_the_environment():
    environment = {"TURNSTONE_STORE_INDEX": "3", "TURNSTONE_STORE_COUNT": "16"}
    answers("42 yes\n1 no\n", "route", "--own", "env", "42", "1", env=environment)
    for name in environment:
        complains(2, [name, "not set"], "route", "--own", "env", "42", env={**environment, name: None})
        complains(2, [name, "'x'"], "route", "--own", "env", "42", env={**environment, name: "x"})
        complains(2, [name, "''"], "route", "--own", "env", "42", env={**environment, name: ""})
    complains(2, ["TURNSTONE_STORE_INDEX and TURNSTONE_STORE_COUNT are not set"], "route", "--own", "env", "42",
              env={name: None for name in environment})
    complains(2, ["TURNSTONE_STORE_COUNT", "from 1", "'0'"], "route", "--own", "env", "42",
              env={**environment, "TURNSTONE_STORE_COUNT": "0"})
    complains(2, ["TURNSTONE_STORE_INDEX", "16"], "route", "--own", "env", "42",
              env={**environment, "TURNSTONE_STORE_INDEX": "16"})
    complains(2, "--stores", "route", "--own", "env", "--stores", "16", "42", env=environment)
    complains(2, "--own env", "route", "--own", "env", "--strategy", "single", "42", env=environment)


@test
def an_index_outside_the_stores_is_refused():
    complains(2, ["--own", "4"], "route", "--stores", "4", "--own", "4", "1")
    complains(2, ["--own", "1"], "route", "--strategy", "single", "--own", "1", "1")
    complains(2, ["--own", "5", "--ranges"], "route", "--strategy", "range", "--ranges", "7:0-max", "--own", "5", "1")
    complains(2, ["--own", "'-1'"], "route", "--stores", "4", "--own", "-1", "1")
    complains(2, ["--own", "4294967295"], "route", "--stores", "4294967295", "--own", "4294967295", "1")


@test
def no_stores_are_refused():
    complains(2, ["--stores", "from 1", "'0'"], "route", "--stores", "0", "1")
    complains(2, "--stores", "route", "1")
    complains(2, ["--stores", "'4294967296'"], "route", "--stores", "4294967296", "1")
    complains(2, ["--stores", "'four'"], "route", "--stores", "four", "1")
    complains(2, ["--stores", "''"], "route", "--stores", "", "1")


@test
def options_belong_to_their_strategies():
    complains(2, ["--stores", "single"], "route", "--strategy", "single", "--stores", "4", "1")
    complains(2, ["--stores", "range"], "route", "--strategy", "range", "--stores", "4", "--ranges", "0:0-max", "1")
    complains(2, ["--ranges", "xxh64"], "route", "--stores", "4", "--ranges", "0:0-max", "1")
    complains(2, "--ranges", "route", "--strategy", "range", "1")


@test
def an_invalid_id_is_named():
    for word in ("x", "", "0x10", "1.5", "+1", " 1", "1e3", "--1", "18446744073709551616", "-9223372036854775809", "١"):
        given = ["--", word] if word.startswith("-") else [word]
        result = complains(2, "'", "route", "--stores", "4", "7", *given)
        equal(result.out, "", "nothing is printed when an operand is wrong")
    complains(2, "'18446744073709551616' does not fit", "route", "--stores", "4", "18446744073709551616")
    complains(2, "no ids", "route", "--stores", "4")


@test
def the_ends_of_both_number_ranges_are_ids():
    answers("-9223372036854775808 0\n9223372036854775808 0\n18446744073709551615 0\n", "route", "--stores", "1",
            "-9223372036854775808", "9223372036854775808", "18446744073709551615")


@test
def a_dash_reads_standard_input():
    answers("1 5\n42 3\n-1 9\n", "route", "--stores", "16", "-", stdin="1\n42\r\n\n  -1")
    answers("", "route", "--stores", "16", "-", stdin="")
    answers("0 11\n1 5\n42 3\n", "route", "--stores", "16", "0", "-", "42", stdin="1\n")


@test
def a_wrong_line_of_standard_input_is_named_and_nothing_before_it_is_lost():
    result = complains(2, ["line 3", "'x1'"], "route", "--stores", "16", "-", stdin="1\n42\nx1\n-1\n")
    equal(result.out, "1 5\n42 3\n")
    complains(2, "line 1", "route", "--stores", "16", "-", stdin="9" * 100000)
    complains(2, ["line 2", "\\x00"], "route", "--stores", "16", "-", stdin="1\n2\0\n")


@test
def each_id_is_answered_when_it_comes():
    process = subprocess.Popen([PROGRAM, "route", "--stores", "16", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, bufsize=1)
    for given, answer in (("42", "42 3\n"), ("-1", "-1 9\n")):
        process.stdin.write(given + "\n")
        process.stdin.flush()
        equal(process.stdout.readline(), answer)
    process.stdin.close()
    equal(process.wait(), 0)
    process.stdout.close()


@test
def leading_zeros_count_for_nothing():
    answers("0" * 300 + "42 3\n", "route", "--stores", "16", "0" * 300 + "42")
    answers("0" * 300 + "42 3\n", "route", "--stores", "16", "-", stdin="0" * 300 + "42")


@test
def a_million_ids_on_standard_input_agree_with_the_command_line():
    ids = "".join(f"{i * 7919}\n" for i in range(1000000))
    lines = run("route", "--stores", "16", "-", stdin=ids).out.splitlines()
    equal(len(lines), 1000000)
    some = list(range(0, 1000000, 99991))
    answers("".join(lines[i] + "\n" for i in some), "route", "--stores", "16", *(str(i * 7919) for i in some))


@test
def json_is_an_object_a_line():
    lines = run("route", "--stores", "16", "--json", "42", "-1", "007").out.splitlines()
    equal([json.loads(line) for line in lines],
          [{"id": 42, "store": 3}, {"id": -1, "store": 9}, {"id": 7, "store": int(run("route", "--stores", "16", "7").out.split()[1])}])
    lines = run("route", "--stores", "16", "--own", "3", "--json", "42", "1").out.splitlines()
    equal([json.loads(line) for line in lines], [{"id": 42, "own": True}, {"id": 1, "own": False}])


@test
def the_benchmark_measures_every_strategy():
    result = run("bench", "route", "--json")
    equal((result.status, result.err), (0, ""))
    figures = json.loads(result.out)["results"]
    equal([(f["name"], f.get("ranges")) for f in figures],
          [("single", None), ("xxh64", None), ("fnv1a", None), ("jump", None), ("range", 16), ("range", 1024),
           ("range", 65536)])
    for figure in figures:
        holds(figure["ns"] > 0 and figure["beside_ns"] > 0 and figure["ratio"] > 0, figure)


main()
