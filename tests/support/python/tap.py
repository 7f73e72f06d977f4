"""Tests in Python that print TAP: functions marked with @test run in their order, each in its own folder.

TAP_ONLY=REGEX runs only the tests whose names match. It is for developers of tests.
"""
import os
import re
import sys
import tempfile
import traceback

_tests = []


class Skip(Exception):
    """A test raises this if it cannot run on this machine; the text says why."""


def test(function):
    _tests.append(function)
    return function


def main():
    chosen = [one for one in _tests if re.search(os.environ.get("TAP_ONLY", ""), one.__name__)]
    print(f"1..{len(chosen)}")
    failed = 0
    for number, function in enumerate(chosen, 1):
        name = function.__name__
        before = os.getcwd()
        try:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                # Git must not find a repository above the test's folder.
                os.environ["GIT_CEILING_DIRECTORIES"] = os.path.realpath(os.path.dirname(folder))
                try:
                    function()
                finally:
                    os.chdir(before)
            print(f"ok {number} - {name}")
        except Skip as why:
            print(f"ok {number} - {name} # SKIP {why}")
        except Exception:  # a failure may be any exception
            failed += 1
            print(f"not ok {number} - {name}")
            print("".join("# " + line + "\n" for line in traceback.format_exc().splitlines()), end="")
        sys.stdout.flush()
    sys.exit(1 if failed else 0)


def equal(found, expected, what=""):
    if found != expected:
        raise AssertionError(f"{f'{what}: ' if what else ''}found {found!r}, expected {expected!r}")


def holds(condition, what):
    if not condition:
        raise AssertionError(what)
