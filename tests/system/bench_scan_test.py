#!/usr/bin/env python3
"""tools/bench-scan measures everything that it promises, and fails if the findings of scans differ. The
ratios themselves are not tested."""
import json
import os
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

PROGRAM, BENCH = (os.path.abspath(one) for one in sys.argv[1:3])
# A made-up, useless token. It is joined from two parts, so that no other tool reports this file as a leak.
TOKEN = "gh" + "p_" + "Turnstone7Fake2Only9A4Test6Key8Zq3W0"


def script(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return os.path.abspath(path)


def repository():
    """Makes a repository with two packed versions of a file that has a token."""
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
    equal(sorted(row["times"]), ["cat_file", "full", "no_archives", "one_thread", "scan", "ten_times_the_rules"])
    holds(all(one["seconds"] > 0 and one["peak_rss_bytes"] > 0 for one in row["times"].values()), row["times"])
    # For a repository of two files, git takes little memory, even less than the measuring process.
    holds(row["times"]["cat_file"]["peak_rss_bytes"] < 16 << 20, row["times"]["cat_file"])
    equal([(one["what"], "reached" in one) for one in row["ratios"]][-2:], [("one thread over two", True), ("scan over --archives 0", False)])
    equal(row["growth"], None)
    equal(row["inflating"]["objects"], 6)
    holds(row["inflating"]["bytes"] > 0 and row["inflating"]["scan_over_it"] > 1, row["inflating"])
    equal(report["together"], row["ratios"])
    equal([(one["beside"], one["equal"], one["findings"], one["places"]) for one in row["equality"]],
          [("one thread", True, 1, 2), ("--full", True, 1, 2), ("blobs written to files", True, 1, 2)])


@test
def scans_that_disagree_are_a_failure():
    # The script runs the real program, but with --full it reports nothing.
    liar = script("bin/turnstone", f'for word; do [ "$word" != --full ] || full=1; [ "$last" != -o ] || out=$word; last=$word; done\n'
                                   f'[ -z "$full" ] || {{ : >"$out"; exit 0; }}\nexec {PROGRAM} "$@"\n')
    done = bench("--quick", "--repository", repository(), program=liar)
    equal(done.returncode, 1, done.stderr)
    holds("the same as with --full: NO: 2 places only in the scan" in done.stdout, done.stdout)
    holds("the same as with one thread: yes" in done.stdout, done.stdout)
    holds("no figure for inflating alone: " in done.stdout, done.stdout)


@test
def other_scanners_are_in_the_table_when_they_are_there():
    place = os.path.dirname(script("bin/gitleaks", "exit 0\n"))
    script("bin/titus", "echo it fell over >&2\nexit 3\n")
    done = bench("--json", "--repository", repository(), path=place + os.pathsep + os.environ["PATH"])
    equal(done.returncode, 0, done.stderr)
    others = json.loads(done.stdout)["repositories"][0]["others"]
    holds(others["gitleaks"]["seconds"] > 0, others)
    holds("it fell over" in others["titus"]["failed"], others)


def folder_with(*programs):
    os.makedirs("only", exist_ok=True)
    for one in programs:
        if not os.path.lexists(f"only/{one}"):
            os.symlink(shutil.which(one), f"only/{one}")
    return os.path.abspath("only")


@test
def scans_with_state_are_those_of_a_copy_that_gets_commits():
    done = bench("--json", "--quick", "--again", "--rounds", "1", "--repository", repository())
    equal(done.returncode, 0, done)
    again = json.loads(done.stdout)["repositories"][0]["again"]
    equal(list(again), ["first", "nothing new", "100 new commits"])
    holds(all(row["cpu_seconds"] > 0 and row["cpu_ratio"] > 0 for row in again.values()), again)


@test
def growth_is_that_of_parts_of_the_history():
    done = bench("--json", "--quick", "--growth", "--repository", repository())
    equal((done.returncode, done.stderr), (0, ""))
    growth = json.loads(done.stdout)["repositories"][0]["growth"]
    equal([(row["part"], row["commits"]) for row in growth], [(8, 1), (4, 1), (2, 1), (1, 2)])
    holds(all(row["seconds"] > 0 and row["peak_rss_bytes"] > 0 for row in growth), growth)


@test
def without_perf_there_are_no_phases_and_that_is_said():
    done = bench("--quick", "--repository", repository(), path=folder_with("git", "python3"))
    equal((done.returncode, done.stderr), (0, ""))
    holds("no phases: scan-phases: perf and addr2line are not on the PATH" in done.stdout, done.stdout)


@test
def phases_add_up_to_all_samples():
    """A fake perf reports four samples: in the program, in libdeflate, in libhs and in the kernel."""
    folder = folder_with("git", "python3", "readelf", "addr2line", "nm", "sh")
    start = int(next(line.split()[0] for line in subprocess.run(["nm", PROGRAM], capture_output=True, text=True).stdout.splitlines()
                     if line.lower().endswith(" t git__delta_apply")), 16)
    script(f"{folder}/perf", f"""case $1 in
    record) while [ "$1" != -o ]; do shift; done; echo profile >"$2";;
    script) echo "PERF_RECORD_MMAP2 1/1: [0x10000(0x7fffffff) @ 0 fd:01 1 1]: r-xp {PROGRAM}"
        printf ' %x ({PROGRAM})\\n' {0x10000 + start}
        echo ' 7f01 (/lib/libdeflate.so.0)'; echo ' 7f02 (/lib/libhs.so.5)'; echo ' ffff ([kernel.kallsyms])';;
    esac""")
    done = bench("--json", "--quick", "--repository", repository(), path=folder)
    equal((done.returncode, done.stderr), (0, ""))
    phases = json.loads(done.stdout)["repositories"][0]["phases"]
    equal(phases["samples"], 4)
    equal({row["phase"]: row["share"] for row in phases["phases"]}, {"inflating": 0.25, "gates": 0.25, "kernel": 0.25, "building": 0.25})


@test
def no_corpus_is_one_line_that_says_how_to_get_one():
    done = bench("--corpus", "nowhere")
    equal(done.returncode, 2)
    holds("make corpus" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)


main()
