#!/usr/bin/env python3
"""tools/bench-scan measures all it promises and notices when scans disagree. What the ratios are is no matter here."""
import json
import os
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

PROGRAM, BENCH = (os.path.abspath(one) for one in sys.argv[1:3])
# Made up, and of no use to anybody: put together here, so that no other tool takes this file for a leak.
TOKEN = "gh" + "p_" + "Turnstone7Fake2Only9A4Test6Key8Zq3W0"


def script(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return os.path.abspath(path)


def repository():
    """Two versions of a file that has a token, packed."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.invalid", *arguments], cwd="planted.git",
                       env=environment, check=True, capture_output=True)

    os.makedirs("planted.git")
    git("init", "--quiet", ".")
    for number in range(2):
        with open("planted.git/file", "w") as file:
            file.write("".join(f"line {n}\n" for n in range(200)) + f"token = '{TOKEN}'\n" + "more\n" * number)
        git("add", "file")
        git("commit", "--quiet", "-m", f"version {number}")
    git("repack", "-q", "-a", "-d", "-f")
    return os.path.abspath("planted.git")


def bench(*arguments, program=PROGRAM, path=None):
    return subprocess.run([BENCH, program, "--rounds", "1", *arguments], capture_output=True, text=True,
                          env={**os.environ, "PATH": path or os.environ["PATH"]})


@test
def everything_is_measured_and_compared():
    done = bench("--json", "--repository", repository())
    equal((done.returncode, done.stderr), (0, ""))
    report = json.loads(done.stdout)
    (row,) = report["repositories"]
    equal(sorted(row["times"]), ["cat_file", "full", "one_thread", "scan", "ten_times_the_rules"])
    holds(all(one["seconds"] > 0 and one["peak_rss_bytes"] > 0 for one in row["times"].values()), row["times"])
    # git holds little of a repository of two files, and less than what measures it.
    holds(row["times"]["cat_file"]["peak_rss_bytes"] < 16 << 20, row["times"]["cat_file"])
    equal(len(row["ratios"]), 4)
    equal(report["together"], row["ratios"])
    equal([(one["beside"], one["equal"], one["findings"], one["places"]) for one in row["equality"]],
          [("one thread", True, 1, 2), ("--full", True, 1, 2), ("blobs written to files", True, 1, 2)])


@test
def scans_that_disagree_are_a_failure():
    # A program that finds nothing with --full.
    liar = script("bin/turnstone", f'for word; do [ "$word" != --full ] || full=1; [ "$last" != -o ] || out=$word; last=$word; done\n'
                                   f'[ -z "$full" ] || {{ : >"$out"; exit 0; }}\nexec {PROGRAM} "$@"\n')
    done = bench("--quick", "--repository", repository(), program=liar)
    equal(done.returncode, 1, done.stderr)
    holds("the same as with --full: NO: 2 places only in the scan" in done.stdout, done.stdout)
    holds("the same as with one thread: yes" in done.stdout, done.stdout)


@test
def other_scanners_are_in_the_table_when_they_are_there():
    place = os.path.dirname(script("bin/gitleaks", "exit 0\n"))
    script("bin/titus", "echo it fell over >&2\nexit 3\n")
    done = bench("--json", "--repository", repository(), path=place + os.pathsep + os.environ["PATH"])
    equal(done.returncode, 0, done.stderr)
    others = json.loads(done.stdout)["repositories"][0]["others"]
    holds(others["gitleaks"]["seconds"] > 0, others)
    holds("it fell over" in others["titus"]["failed"], others)


@test
def no_corpus_is_one_line_that_says_how_to_get_one():
    done = bench("--corpus", "nowhere")
    equal(done.returncode, 2)
    holds("make corpus" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)


main()
