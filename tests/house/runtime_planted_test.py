#!/usr/bin/env python3
"""runtime_planted_test.py ROOT BUILD: code that ignores a class of a unit's errors does not compile, nor does
code that makes receipts.

Each test plants a violation at the end of a copy of a file (default: src/runtime/core/reason.c). It compiles
the copy with the command of the build, and checks that the compiler reports the violation.
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

SOURCE = os.path.join(ROOT, "src", "runtime", "core", "reason.c")
STAGE = os.path.join(ROOT, "src", "runtime", "durable", "stage.c")
HEADER = os.path.join(ROOT, "src", "runtime", "core", "reason.h")


def read(path):
    with open(path) as file:
        return file.read()


def compiled(tail, header=None, source=SOURCE):
    """Compiles the file and `tail` with this header in place of reason.h. Returns the status and the output
    of the compiler. Each test runs in its own folder."""
    with open(os.path.join(BUILD, "compile_commands.json")) as file:
        command = next(entry["command"] for entry in json.load(file) if entry["file"] == source)
    os.makedirs("runtime/core", exist_ok=True)
    for path, text in (("runtime/core/reason.h", header or read(HEADER)), ("planted.c", read(source) + tail)):
        with open(path, "w") as file:
            file.write(text)
    words = shlex.split(command)
    output = words.index("-o")
    del words[output:output + 2]
    words[words.index(source)] = os.path.abspath("planted.c")
    words[1:1] = ["-fsyntax-only", "-I" + os.getcwd(), "-I" + os.path.dirname(source)]
    done = subprocess.run(words, cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def refused(expected, tail, header=None, source=SOURCE):
    status, output = compiled(tail, header, source)
    holds(status != 0, "the compiler took it")
    holds(re.search(expected, output), f"no {expected!r} in:\n{output}")


def function(body, type="int"):
    return f"\n{type} planted(struct ts_unit_error e);\n{type} planted(struct ts_unit_error e) {{ {body} }}\n"


@test
def a_match_of_all_three_classes_compiles():
    equal(compiled(function("return TS_UNIT_ERROR_MATCH(e, 1, 2, 3);")), (0, ""))


@test
def a_match_that_misses_one_of_the_three_classes_does_not_compile():
    refused(r"requires 4 arguments, but only 3 given", function("return TS_UNIT_ERROR_MATCH(e, 1, 2);"))


@test
def a_match_with_an_empty_answer_does_not_compile():
    refused(r"expected expression", function("return TS_UNIT_ERROR_MATCH(e, 1, 2, );"))


@test
def a_fault_of_the_worker_is_not_an_error_of_the_unit():
    refused(r"incompatible types? ",
            function("struct ts_fleet_worker_fault f = {TS_FLEET_WORKER_FAULT_NO_GIT}; e = f; return TS_UNIT_ERROR_MATCH(e, 1, 2, 3);"))
    refused(r"incompatible type for argument|incompatible types",
            function("struct ts_fleet_worker_fault f = {TS_FLEET_WORKER_FAULT_NO_GIT}; (void)e; return TS_UNIT_ERROR_MATCH(f, 1, 2, 3);"))


@test
def a_new_reason_must_say_what_follows_it():
    row = 'X(RUN_ENDED, STALE_OWNER, NOTHING, "run_ended", "the run has ended")'
    holds(row in read(HEADER), "the last row of the table is another one now")
    for planted, expected in (('X(PLANTED, PERMANENT, BLAME_SHARD, "planted", "")', r"enum-conversion"),
                              ('X(PLANTED, RETRYABLE, PARK_OTHER, "planted", "")', r"enum-conversion"),
                              ('X(PLANTED, PERMANENT, NOTHING, "planted", "")', r"TS_NOTHING. undeclared"),
                              ('X(PLANTED, HOPELESS, NOTHING, "planted", "")', r"ROW_HOPELESS")):
        refused(expected, "", read(HEADER).replace(row, row + " " + planted))


def receipt(type, body):
    """Returns a function that returns a receipt, but does not perform the step that the receipt is for."""
    return f"\nconst struct {type} *planted(void);\nconst struct {type} *planted(void) {{ {body} }}\n"


RECEIPTS = ("ts_item_receipt", "ts_unit_receipt", "ts_checkpoint_receipt")


@test
def a_receipt_can_be_passed_on():
    for type in RECEIPTS:
        equal(compiled(receipt(type, f"const struct {type} *none = 0; return none;"), source=STAGE), (0, ""))


@test
def a_receipt_cannot_be_made_where_its_step_is_not_performed():
    for type in RECEIPTS:
        refused(r"incomplete type|storage size", receipt(type, f"static struct {type} made; made.progress = 0; return &made;"),
                source=STAGE)
        refused(r"incomplete type|invalid application", receipt(type, f"return malloc(sizeof(struct {type}));"), source=STAGE)


@test
def the_cursor_moves_by_receipts_alone():
    refused(r"incompatible pointer type", receipt("ts_checkpoint_receipt", "const struct ts_checkpoint_receipt *done = 0; "
            "struct durable__progress mine = {0}; struct ts_durable_detail detail; "
            "(void)ts_durable_complete(0, &mine, &done, &detail); return done;"), source=STAGE)
    refused(r"incompatible pointer type", receipt("ts_checkpoint_receipt", "const struct ts_checkpoint_receipt *done = 0; "
            "const struct ts_item_receipt *item = 0; struct ts_durable_detail detail; "
            "(void)ts_durable_complete(0, item, &done, &detail); return done;"), source=STAGE)


main()
