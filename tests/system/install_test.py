#!/usr/bin/env python3
"""install_test.py PROGRAM BUILD-FOLDER: the files that `make install` installs work where they are."""
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from repo import Repo  # noqa: E402
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


@test
def a_program_asks_for_the_library_of_its_abi():
    """The soname contains the version of the ABI. Before 1.0, a new minor version may change the ABI."""
    prefix = install(os.getcwd())
    with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
        major, minor = re.search(r"project\(turnstone VERSION (\d+)\.(\d+)\.", file.read()).groups()
    name = f"libturnstone.so.{major}.{minor}" if major == "0" else f"libturnstone.so.{major}"
    where = {"PKG_CONFIG_PATH": os.path.join(prefix, "lib", "pkgconfig")}
    flags = output("pkg-config", "--cflags", "--libs", "turnstone", **where).split()
    with open("asks.c", "w") as file:
        file.write("#include <turnstone/version.h>\nint main(void) { return ts_version() == 0; }\n")
    output("cc", "asks.c", *flags, "-o", "asks")
    holds(f"[{name}]" in output("readelf", "-d", "asks"), f"the program does not ask for {name}")
    output("./asks", LD_LIBRARY_PATH=os.path.join(prefix, "lib"))
    with open(os.path.join(ROOT, "docs", "library.md")) as file:
        holds(f"`{name}`" in file.read(), f"docs/library.md does not name {name}")


SCANS_WITH_STATE = """
#include <stdio.h>
#include <turnstone/scan.h>
int main(void) {
    struct ts_scan *scan = ts_scan_new();
    ts_scan_add_repository(scan, "repo");
    ts_scan_set_text(scan, TS_SCAN_TEXT_STATE_FOLDER, "state");
    enum ts_scan_result result = ts_scan_run(scan, NULL, NULL);
    printf("%s %llu", ts_scan_result_text(result), (unsigned long long)ts_scan_count(scan, TS_SCAN_COUNT_BYTES));
    ts_scan_free(scan);
    return 0;
}
"""


@test
def programs_with_the_same_library_share_their_state():
    prefix = install(os.getcwd())
    repo = Repo("repo")
    repo.write("a.txt", "nothing to find\n" * 1000)
    repo.commit()
    where = {"PKG_CONFIG_PATH": os.path.join(prefix, "lib", "pkgconfig")}
    flags = output("pkg-config", "--cflags", "--libs", "turnstone", **where).split()
    said = []
    for name in ("first", "second"):  # different texts, so that the programs have different build ids
        with open(f"{name}.c", "w") as file:
            file.write(SCANS_WITH_STATE + f'const char *name = "{name}";\n')
        output("gcc", "-Wall", "-Wextra", "-Werror", f"{name}.c", *flags, "-o", name)
        said.append(output(f"./{name}", LD_LIBRARY_PATH=os.path.join(prefix, "lib")).split())
    holds(said[0][0] == "ok" and int(said[0][1]) >= 16000, said)
    holds(said[1][0] == "ok" and int(said[1][1]) < 1000, said)


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


main()
