#!/usr/bin/env python3
"""turnstone scan: randomly damaged repositories are never wrongly reported as clean. tools/fuzz-repositories
tests thousands of such repositories."""
import atexit
import copy
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import PROGRAM  # noqa: E402
from repo_hunt import FINDINGS, Hunt  # noqa: E402
from repo_shapes import SHAPES, TOKEN  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

SEED = 20260101
with open(PROGRAM, "rb") as program:
    IS_SANITIZED = b"__asan_init" in program.read()
COUNT = 60 if IS_SANITIZED else 250
FOLDER = tempfile.mkdtemp(prefix="turnstone-test-mutants-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
HUNT = Hunt(PROGRAM, FOLDER)


@test
def sound_repositories_of_all_shapes_are_scanned_completely():
    for shape in sorted(SHAPES):
        told = HUNT.scan(shape, HUNT.base(shape))
        equal((told.status, told.err), (FINDINGS, b""), shape)
        missing = HUNT.whole[shape] - set(TOKEN.findall(told.out))
        holds(not missing, f"{shape}: {missing} not found")


@test
def damaged_repositories_are_never_called_complete_in_error():
    wrong = [one for one in (HUNT.run_one(SEED, number) for number in range(COUNT)) if one]
    holds(not wrong, "\n" + "\n".join(wrong))


def lying(name, script):
    """Makes a program that runs the real program, and hides a part of its output or its status. Returns its
    path."""
    with open(name, "w") as file:
        file.write(f"#!/bin/sh\n{script.replace('PROGRAM', PROGRAM)}\n")
    os.chmod(name, 0o755)
    return os.path.abspath(name)


@test
def a_program_that_loses_a_finding_or_a_fault_is_caught():
    loses = lying("loses", "out=$(mktemp); PROGRAM \"$@\" >\"$out\"; status=$?; sed 1d \"$out\"; rm \"$out\"; exit $status")
    denies = lying("denies", "PROGRAM \"$@\"; status=$?; [ $status -eq 4 ] && exit 1; exit $status")
    for name, program_of in (("loses", loses), ("denies", denies)):
        hunt = copy.copy(HUNT)
        hunt.program = program_of
        caught = [one for one in (hunt.run_one(SEED, number) for number in range(12)) if one]
        holds(caught, f"{name} was not caught")


if __name__ == "__main__":
    main()
