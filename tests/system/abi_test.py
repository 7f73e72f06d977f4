#!/usr/bin/env python3
"""abi_test.py PROGRAM BUILD-FOLDER: headers and libraries agree with include/turnstone.abi, and a change is noticed."""
import os
import shutil
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

BUILD = os.path.abspath(sys.argv[2])
HEADERS = os.path.join(ROOT, "include")
SHARED = os.path.join(BUILD, "libturnstone.so")
STATIC = os.path.join(BUILD, "libturnstone.a")


def abi_check(*arguments):
    done = subprocess.run([os.path.join(ROOT, "tools", "abi"), "--check", *arguments], capture_output=True, text=True)
    equal(done.stderr, "")
    return done.returncode, done.stdout


@test
def headers_and_libraries_are_what_the_list_says():
    equal(abi_check(HEADERS, SHARED, STATIC), (0, ""))


def notices(header, old, new, *expected):
    """Replaces `old` by `new` in a copy of the headers. Checks that tools/abi reports the expected lines; if
    none are expected, that it reports no difference."""
    shutil.rmtree("include", ignore_errors=True)
    shutil.copytree(HEADERS, "include")
    path = os.path.join("include", "turnstone", header)
    with open(path) as file:
        text = file.read()
    equal(text.count(old), 1, f"{old} in {header}")
    with open(path, "w") as file:
        file.write(text.replace(old, new))
    status, output = abi_check("include")
    equal(status, 1 if expected else 0, output)
    for line in expected:
        holds(line in output.splitlines(), f"no {line!r} in:\n{output}")


@test
def a_function_that_appears_is_noticed():
    notices("version.h", "TS_API const char *ts_version(void);",
            "TS_API const char *ts_version(void);\nTS_API int ts_planted(void);", "+int ts_planted(void)")


@test
def a_function_that_goes_is_noticed():
    notices("version.h", "TS_API const char *ts_version(void);", "", "-const char *ts_version(void)")


@test
def a_changed_parameter_is_noticed():
    notices("version.h", "ts_version(void)", "ts_version(int which)", "-const char *ts_version(void)",
            "+const char *ts_version(int which)")


@test
def a_changed_struct_is_noticed():
    notices("bytes.h", "    size_t len;", "    size_t len;\n    size_t planted;", "+    size_t planted")


@test
def a_changed_enum_is_noticed():
    notices("config.h", "    TS_CONFIG_OK,", "    TS_CONFIG_OK,\n    TS_CONFIG_PLANTED,", "+    TS_CONFIG_PLANTED")


@test
def a_changed_constant_is_noticed():
    notices("store.h", "#define TS_STORE_GID_MAX          160", "#define TS_STORE_GID_MAX 161",
            "-TS_STORE_GID_MAX 160", "+TS_STORE_GID_MAX 161")


@test
def comments_and_layout_do_not_count():
    notices("version.h", "TS_API const char *ts_version(void);", "/* planted */\nTS_API const char\n    *ts_version(void);")


@test
def a_library_with_another_symbol_is_noticed():
    with open("planted.c", "w") as file:
        file.write("int ts_planted(void) { return 1; }\n")
    subprocess.run(["cc", "-c", "-fPIC", "planted.c"], check=True)
    shutil.copy(STATIC, "libplanted.a")
    subprocess.run(["ar", "rs", "libplanted.a", "planted.o"], check=True, capture_output=True)
    subprocess.run(["cc", "-shared", "-o", "libplanted.so", "planted.o"], check=True)
    status, output = abi_check(HEADERS, "libplanted.a")
    holds(status == 1 and "libplanted.a exports ts_planted, which is not in the list" in output.splitlines(), output)
    status, output = abi_check(HEADERS, "libplanted.so")
    holds(status == 1 and "libplanted.so exports ts_planted, which is not in the list" in output.splitlines(), output)
    holds("libplanted.so does not export ts_version" in output.splitlines(), output)


main()
