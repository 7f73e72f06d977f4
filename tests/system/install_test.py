#!/usr/bin/env python3
"""install_test.py PROGRAM BUILD-FOLDER: what `make install` leaves works from where it was put."""
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

BUILD = os.path.abspath(sys.argv[2])


def install(destination):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", "/usr"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "DESTDIR": destination})
    return os.path.join(destination, "usr")


def output(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    equal((done.returncode, done.stderr), (0, ""), " ".join(command))
    return done.stdout


@test
def everything_is_there():
    prefix = install(os.getcwd())
    for path in ("bin/turnstone", "lib/libturnstone.so", "lib/libturnstone.a", "lib/pkgconfig/turnstone.pc",
                 "include/turnstone/route.h", "share/man/man1/turnstone.1",
                 "share/bash-completion/completions/turnstone", "share/zsh/site-functions/_turnstone"):
        holds(os.path.exists(os.path.join(prefix, path)), f"{path} is missing")
    holds(output(os.path.join(prefix, "bin/turnstone"), "--version").startswith("turnstone "), "the program runs")


EXAMPLES = ("42 is in store 3\n", "committed on 2 stores\n")  # what those of docs/library.md print, in their order


@test
def the_examples_of_the_documentation_link_both_ways():
    prefix = install(os.getcwd())
    with open(os.path.join(ROOT, "docs", "library.md")) as file:
        examples = re.findall(r"```c\n(.*?)```", file.read(), re.DOTALL)
    equal(len(examples), len(EXAMPLES))
    where = {"PKG_CONFIG_PATH": os.path.join(prefix, "lib", "pkgconfig")}
    shared = output("pkg-config", "--cflags", "--libs", "turnstone", **where).split()
    static = [flag.replace("-lturnstone", "-l:libturnstone.a")
              for flag in output("pkg-config", "--cflags", "--libs", "--static", "turnstone", **where).split()]
    for example, printed in zip(examples, EXAMPLES):
        with open("example.c", "w") as file:
            file.write(example)
        output("gcc", "-Wall", "-Wextra", "-Werror", "example.c", *shared, "-o", "shared")
        equal(output("./shared", LD_LIBRARY_PATH=os.path.join(prefix, "lib")), printed)
        output("gcc", "-Wall", "-Wextra", "-Werror", "example.c", *static, "-o", "static")
        equal(output("./static"), printed)  # over what the other one has left


@test
def a_cplusplus_program_can_use_every_header():
    prefix = install(os.getcwd())
    names = sorted(os.listdir(os.path.join(prefix, "include", "turnstone")))
    with open("example.cc", "w") as file:
        file.writelines(f"#include <turnstone/{name}>\n" for name in names)
        file.write('#include <cstdio>\nint main() { std::printf("turnstone %s\\n", ts_version()); }\n')
    where = {"PKG_CONFIG_PATH": os.path.join(prefix, "lib", "pkgconfig")}
    flags = output("pkg-config", "--cflags", "--libs", "turnstone", **where).split()
    output("clang++", "-Wall", "-Wextra", "-Werror", "example.cc", *flags, "-o", "example")
    equal(output("./example", LD_LIBRARY_PATH=os.path.join(prefix, "lib")),
          output(os.path.join(prefix, "bin", "turnstone"), "--version"))


@test
def only_public_functions_are_visible():
    prefix = install(os.getcwd())
    headers = ""
    folder = os.path.join(prefix, "include", "turnstone")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name)) as file:
            headers += file.read()
    public = set(re.findall(r"^TS_API [^;(]*?(\w+)\(", headers, re.MULTILINE))
    holds(len(public) > 10, public)
    shared = output("nm", "-D", "--defined-only", "--format=posix", os.path.join(prefix, "lib", "libturnstone.so"))
    static = output("nm", "-g", "--defined-only", "--format=posix", os.path.join(prefix, "lib", "libturnstone.a"))
    for listing in (shared, static):
        found = {line.split()[0] for line in listing.splitlines() if len(line.split()) > 2}
        equal(found, public)


main()
