#!/usr/bin/env python3
"""tools/bench-start measures everything that it promises. The figures themselves are not tested."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

PROGRAM, BENCH = (os.path.abspath(one) for one in sys.argv[1:3])
RULE = "rules: [{id: few, name: Few, severity: low, pattern: 'few_(?<secret>[a-z0-9]{8})'}]\n"


@test
def every_figure_is_measured():
    subprocess.run(["git", "init", "--quiet", "empty"], check=True)
    os.makedirs("few")
    with open("few/few.yml", "w", encoding="utf-8") as file:
        file.write(RULE)
    said = subprocess.run([BENCH, PROGRAM, "--rounds", "1", "--repository", "empty", "--beside", "few", "--json"], check=True,
                          capture_output=True, text=True).stdout
    figures = json.loads(said)
    measured = {**figures["start"], **figures["repositories"][0]}
    equal([name for name in figures["aims"] if not measured.get(name)], [], "not measured")
    holds(measured["warm_start"] < measured["cold_compile"], "the second start reads the cache")


@test
def a_program_that_fails_is_an_error():
    with open("fails", "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexit 2\n")
    os.chmod("fails", 0o755)
    done = subprocess.run([BENCH, "./fails", "--rounds", "1"], capture_output=True, text=True, check=False)
    equal(done.returncode, 1)
    holds("ended with 2" in done.stderr, done.stderr)


main()
