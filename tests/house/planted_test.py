#!/usr/bin/env python3
"""planted_test.py ROOT: each check of the build fails if the tree has what the check forbids.

The test makes a copy of the tree. The copy is built once, which shows that it is correct. Then every test
plants one violation, checks that the build fails for that reason, and removes the violation.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

work = tempfile.TemporaryDirectory()
TREE = os.path.join(work.name, "tree")


def build(*targets):
    command = ["cmake", "--build", os.path.join(TREE, "build", "dev"), "--target", *targets]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def plant(path, text, targets, expected):
    """Adds text to the end of a file. Checks that the build fails and that its output matches `expected`.
    Restores the file."""
    path = os.path.join(TREE, path)
    with open(path) as file:
        before = file.read()
    try:
        with open(path, "w") as file:
            file.write(before + text)
        status, output = build(*targets)
        holds(status != 0, "the build took the violation")
        holds(re.search(expected, output), f"no {expected!r} in:\n{output}")
    finally:
        with open(path, "w") as file:
            file.write(before)
    status, output = build(*targets)
    equal(status, 0, f"the build without the violation:\n{output}")


@test
def the_tree_as_it_is_builds():
    shutil.copytree(ROOT, TREE, ignore=shutil.ignore_patterns("build", ".git"))
    subprocess.run(["cmake", "--preset", "dev"], cwd=TREE, check=True, stdout=subprocess.DEVNULL)
    status, output = build("base", "base_headers", "route", "route_headers", "route_private_headers", "cli")
    equal(status, 0, output)


@test
def a_layer_cannot_include_a_layer_above():
    plant("src/base/hist.c", '\n#include "turnstone/route.h"\n', ["base"], r"turnstone/route\.h: No such file")


@test
def a_layer_cannot_include_a_layer_at_the_same_level():
    plant("src/route/router.c", '\n#include "os/clock.h"\n', ["route"], r"os/clock\.h: No such file")


@test
def a_layer_cannot_include_what_another_keeps_to_itself():
    plant("src/cli/nearest.c", '\n#include "route/ranges.h"\n', ["cli"], r"route/ranges\.h: No such file")


@test
def a_header_that_does_not_stand_alone_fails():
    plant("src/base/ring.h", "\nFILE *planted(void);\n", ["base_headers"], r"unknown type name .FILE.")


@test
def a_private_header_that_does_not_stand_alone_fails():
    plant("src/route/hash.h", "\nFILE *planted(void);\n", ["route_private_headers"], r"unknown type name .FILE.")


@test
def a_header_without_a_guard_fails():
    plant("src/base/ring.h", "\nstruct planted { int x; };\n", ["base_headers"], r"redefinition of .struct planted.")


@test
def a_banned_function_does_not_compile():
    plant("src/route/router.c", "\nvoid planted(char *to);\nvoid planted(char *to) { strcpy(to, \"x\"); }\n",
          ["route"], r"sorry_strcpy_is_banned")


def outside(call, include, symbol):
    plant("src/route/router.c",
          f"\n#include <{include}>\nvoid planted(void);\nvoid planted(void) {{ {call}; }}\n", ["route"],
          rf"router\.c\.o: layer route is deterministic and must not use {symbol}")


@test
def a_library_that_cannot_be_read_fails_the_symbol_check():
    done = subprocess.run([os.path.join(ROOT, "tools", "check-symbols"),
                           os.path.join(ROOT, "tools", "deterministic.symbols"), "route", "nowhere.a"],
                          capture_output=True, text=True)
    holds(done.returncode != 0 and "nowhere.a" in done.stderr, done.stderr)


@test
def a_deterministic_layer_cannot_read_a_clock():
    outside("struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t)", "time.h", "clock_gettime")


@test
def a_deterministic_layer_cannot_draw_random_numbers():
    outside("(void)random()", "stdlib.h", "random")


@test
def a_deterministic_layer_cannot_start_a_thread():
    outside("pthread_exit(0)", "pthread.h", "pthread_exit")


@test
def a_deterministic_layer_cannot_open_a_file():
    outside('(void)fopen("x", "r")', "stdio.h", "fopen")


@test
def a_deterministic_layer_cannot_allocate():
    outside("void *volatile kept = malloc(1); (void)kept", "stdlib.h", "malloc")


@test
def an_enum_that_a_switch_does_not_cover_fails():
    plant("src/route/router.c",
          "\nenum planted { A, B };\nint planted(enum planted p);\n"
          "int planted(enum planted p) { switch (p) { case A: return 1; default: return 2; } }\n",
          ["route"], r"enumeration value .B. not (explicitly )?handled")


main()
