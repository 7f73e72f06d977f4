#!/usr/bin/env python3
"""coord_planted_test.py ROOT BUILD: if a change of the tables of coordination errors is incomplete, the
tables do not compile.

Each test compiles a copy of one source file of src/coord/core with the command of the build. The copy
includes copies of src/coord/core/error.h and its tables, with a planted change. The test checks that the
compiler reports this change as an error.
"""
import json
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
BUILD = os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

LAST_ROW = 'X(CHECKPOINT_MISSING_KEY, "CheckpointMissingKey", NO, YES, YES, NO, NO, NO, NO)'


def read(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


HEADERS = {"coord/core/error.h": "src/coord/core/error.h", "turnstone/coord_types.h": "include/turnstone/coord_types.h"}
BETWEEN = "/* the next header */\n"


def tables():
    """Returns the text of the headers that define the errors, joined."""
    return BETWEEN.join(read(path) for path in HEADERS.values())


def compiled(name, headers, source_tail=""):
    """Compiles src/coord/core/NAME and `source_tail` with these headers, which have the form of tables().
    Returns the status and the output of the compiler. Each test runs in its own folder."""
    source = os.path.join(ROOT, "src", "coord", "core", name)
    with open(os.path.join(BUILD, "compile_commands.json")) as file:
        command = next(entry["command"] for entry in json.load(file) if entry["file"] == source)
    for path, text in zip(HEADERS, headers.split(BETWEEN)):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
    with open("planted.c", "w") as file:
        file.write(read("src/coord/core/" + name) + source_tail)
    words = shlex.split(command)
    output = words.index("-o")
    del words[output:output + 2]
    words[words.index(source)] = os.path.abspath("planted.c")
    words[1:1] = ["-fsyntax-only", "-I" + os.getcwd(), "-I" + os.path.dirname(source)]
    done = subprocess.run(words, cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def refused(name, header, expected, source_tail=""):
    status, output = compiled(name, header, source_tail)
    holds(status != 0, "the compiler took it")
    holds(re.search(expected, output), f"no {expected!r} in:\n{output}")


def with_row(row):
    header = tables()
    holds(LAST_ROW in header, "the last row of the table is another one now")
    return header.replace(LAST_ROW, LAST_ROW + " " + row)


def with_counts(header, added):
    """Returns the header with the counts that fit a new row: the test is about other errors of that row."""
    for op, last, count in re.findall(r"Y\((\w+), \w+, (\w+), (\d+)\)", header):
        header = header.replace(f"{last}, {count})", f"{last}, {int(count) + added.get(op, 0)})")
    return header.replace("TS_COORD_CHECKPOINT_MISSING_KEY, 13", "TS_COORD_PLANTED, 13")


@test
def the_tables_as_they_are_compile():
    for name in ("error.c", "error_text.c", "shard_step.c"):
        status, output = compiled(name, tables())
        equal(status, 0, output)


@test
def a_new_code_must_be_routed_for_every_operation():
    refused("error.c", with_row('X(PLANTED, "Planted", NO, NO, NO, YES, NO, NO)'), r"requires 9 arguments, but only 8 given")


@test
def a_new_code_must_be_routed_by_yes_or_no():
    refused("error.c", with_row('X(PLANTED, "Planted", NO, NO, NO, MAYBE, NO, NO, NO)'), r"PASS_MAYBE")


@test
def a_new_code_changes_the_counts_of_the_specification():
    refused("error.c", with_row('X(PLANTED, "Planted", YES, NO, NO, NO, NO, NO, NO)'),
            r"as many variants as the specification has: renew")


@test
def a_new_code_must_have_a_class():
    header = with_counts(with_row('X(PLANTED, "Planted", NO, NO, NO, YES, NO, NO, NO)'), {"coord": 1, "park": 1})
    refused("error.c", header, r"TS_VARIANT_PLANTED. not handled")


@test
def a_new_code_must_have_its_fields_and_its_sentence():
    header = with_counts(with_row('X(PLANTED, "Planted", NO, NO, NO, YES, NO, NO, NO)'), {"coord": 1, "park": 1})
    refused("error_text.c", header, r"TS_VARIANT_PLANTED. not handled")
    refused("error_text.c", header, r"FIELDS_PLANTED. undeclared")


@test
def an_operation_cannot_name_a_code_that_it_does_not_admit():
    refused("shard_step.c", tables(), r"TS_RENEW_OP_ID_CONFLICT. undeclared",
            "\nenum ts_renew_error planted(void);\n"
            "enum ts_renew_error planted(void) { return TS_RENEW_OP_ID_CONFLICT; }\n")


@test
def an_operation_cannot_return_the_code_of_another():
    for other in ("TS_CHECKPOINT_OP_ID_CONFLICT", "TS_COORD_OP_ID_CONFLICT", "TS_PARK_STALE_FENCE"):
        refused("shard_step.c", tables(), r"Werror=enum-conversion",
                "\nenum ts_renew_error planted(void);\n"
                f"enum ts_renew_error planted(void) {{ return {other}; }}\n")


@test
def a_switch_over_an_operations_errors_must_name_all_of_them():
    refused("shard_step.c", tables(), r"TS_ACQUIRE_BACKEND_ERROR. not handled",
            "\nint planted(enum ts_acquire_error e);\n"
            "int planted(enum ts_acquire_error e) { switch (e) { case TS_ACQUIRE_OK: case TS_ACQUIRE_SHARD_NOT_FOUND:\n"
            "case TS_ACQUIRE_TENANT_MISMATCH: case TS_ACQUIRE_SHARD_TERMINAL: case TS_ACQUIRE_ALREADY_LEASED:\n"
            "return 1; } return 0; }\n")


main()
