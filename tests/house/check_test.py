#!/usr/bin/env python3
"""check_test.py ROOT: tools/check counts passed and failed tests, and repeats a test only if its inputs have
changed."""
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402


def suite(**scripts):
    """Makes a build folder whose tests are these shell scripts. Each script appends a line to <name>.ran when
    it runs."""
    os.makedirs("build", exist_ok=True)
    here = os.getcwd()
    with open("build/CTestTestfile.cmake", "w") as registry:
        for name, body in scripts.items():
            script = f"{here}/{name}.sh"
            with open(script, "w") as file:
                file.write(f"echo ran >> {here}/{name}.ran\n{body}\n")
            open(f"{here}/{name}.input", "a").close()
            registry.write(f'add_test({name} "/bin/sh" "{script}")\n'
                           f'set_tests_properties({name} PROPERTIES REQUIRED_FILES "{script};{here}/{name}.input"'
                           f' TIMEOUT 2)\n')


def check(*options):
    done = subprocess.run([os.path.join(ROOT, "tools", "check"), "--state", "state", *options, "build"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def runs(name):
    try:
        with open(f"{name}.ran") as file:
            return file.read().count("ran")
    except FileNotFoundError:
        return 0


@test
def passing_tests_are_one_line():
    suite(tap="echo 1..2; echo 'ok 1 - a'; echo 'ok 2 - b'", plain="exit 0")
    equal(check(), (0, "3 passed, 0 failed\n"))


@test
def failed_tests_are_shown_and_counted():
    suite(tap="echo 'ok 1 - a'; echo 'not ok 2 - b'; echo '# because'; exit 1", plain="echo lost; exit 3",
          good="exit 0")
    status, output = check()
    equal(status, 1)
    for part in ("FAILED build/tap (exit status 1)", "not ok 2 - b", "# because", "FAILED build/plain (exit status 3)",
                 "lost"):
        holds(part in output, output)
    equal(output.splitlines()[-1], "2 passed, 2 failed")


@test
def a_test_that_says_not_ok_and_ends_well_has_failed():
    suite(liar="echo 'not ok 1 - a'")
    equal(check()[0], 1)


@test
def a_test_that_stops_before_its_plan_is_done_has_failed():
    suite(early="echo 1..5; echo 'ok 1 - a'")
    status, output = check()
    equal(status, 1)
    holds("1 results, 5 planned" in output, output)


@test
def a_test_that_dies_has_failed():
    suite(dead="echo 'ok 1 - a'; kill -9 $$")
    status, output = check()
    equal(status, 1)
    holds("signal 9" in output, output)


@test
def a_test_that_does_not_end_is_stopped_with_all_that_it_started():
    suite(endless="sleep 1000 & echo $! > ../pid; wait")
    status, output = check()
    equal(status, 1)
    holds("no end after 2 s" in output, output)


@test
def unchanged_tests_are_not_run_again():
    suite(one="exit 0", two="exit 0")
    check()
    status, output = check()
    equal((status, output.splitlines()[-1]), (0, "2 passed, 0 failed"))
    holds("unchanged since they passed: 2" in output, output)
    equal((runs("one"), runs("two")), (1, 1))


@test
def a_changed_input_runs_that_test_again():
    suite(one="exit 0", two="exit 0")
    check()
    with open("one.input", "w") as file:
        file.write("new")
    check()
    equal((runs("one"), runs("two")), (2, 1))


@test
def all_runs_everything_again():
    suite(one="exit 0")
    check()
    check("--all")
    equal(runs("one"), 2)


@test
def failed_and_skipped_tests_are_run_again():
    suite(fails="exit 1", skips="echo 'ok 1 - a # SKIP no such thing here'")
    status, output = check()
    holds("no such thing here" in output, output)
    equal(output.splitlines()[-1], "0 passed, 1 failed, 1 skipped")
    check()
    equal((runs("fails"), runs("skips")), (2, 2))


@test
def no_tests_at_all_is_a_failure():
    suite()
    status, output = check()
    equal(status, 1)
    holds("no tests were found" in output, output)


@test
def tests_run_side_by_side():
    suite(**{f"t{i}": "sleep 1" for i in range(4)})
    equal(check("--jobs", "4"), (0, "4 passed, 0 failed\n"))


def fake_path(*commands):
    """Makes a folder with only these commands, and returns it as a PATH. If a command is installed, the
    folder has a link to the command. If not, the command in the folder does nothing."""
    os.makedirs("bin", exist_ok=True)
    for name in commands:
        real = subprocess.run(["sh", "-c", f"command -v {name}"], capture_output=True, text=True).stdout.strip()
        os.symlink(real or "/bin/true", f"bin/{name}")
    return os.path.abspath("bin")


def install_packages(path, **environment):
    done = subprocess.run(["/bin/sh", os.path.join(ROOT, "tools", "install-packages"), "build"], capture_output=True,
                          text=True, env={"PATH": path, **environment})
    return done.returncode, done.stdout, done.stderr


@test
def missing_packages_are_listed_instead_of_installed():
    path = fake_path("sed", "dirname", "cat", "id")
    status, out, err = install_packages(path, NO_INSTALL="1")
    equal((status, err), (2, ""))
    holds(re.fullmatch(r"missing packages: gcc libc6-dev cmake .*\n", out), out)


@test
def on_another_distribution_missing_packages_are_listed():
    path = fake_path("sed", "dirname", "cat", "id")
    status, out, err = install_packages(path)
    equal((status, out), (2, ""))
    holds("gcc libc6-dev cmake" in err and "package manager" in err, err)


@test
def nothing_is_said_when_nothing_is_missing():
    equal(install_packages(os.environ["PATH"]), (0, "", ""))


main()
