#!/usr/bin/env python3
"""turnstone baseline, turnstone scan --baseline, and reports that scans write into files."""
import csv
import fcntl
import json
import os
import pty
import re
import stat
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import PROGRAM, complains, run  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

CLEAN, FINDINGS, USAGE, INCOMPLETE = 0, 1, 2, 4


def leaky(count=2):
    repo = Repo("repo")
    for i in range(count):
        repo.write(f"{i}.txt", f"token = {github_token(i)}\n")
    repo.commit("first")
    return repo


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def make(expected, *arguments):
    result = run("baseline", *arguments)
    equal((result.status, result.err, result.out), (CLEAN, "", expected))


def scan(status, *arguments):
    result = run("scan", *arguments, "--format", "json")
    equal((result.status, result.err), (status, ""), f"{arguments}: {result.out}")
    return json.loads(result.out)


@test
def a_baseline_has_every_confidence():
    repo = leaky(1)
    repo.write("weak.py", "key = 'AKIA" + "IOSFODNN7EXAMPLE'\n")
    repo.commit("weak")
    confidences = {one["confidence"] for one in scan(FINDINGS, "repo", "--min-confidence", "low")["findings"]}
    holds("low" in confidences and len(confidences) > 1, confidences)
    run("baseline", "repo", "-o", "known")
    for least in "low", "medium", "high":
        report = scan(CLEAN, "repo", "--baseline", "known", "--min-confidence", least)
        equal((report["findings"], report["summary"]["baseline"]["gone"]), ([], []), least)
    holds("unknown option" in run("baseline", "repo", "-o", "other", "--min-confidence", "high").err, "it would change nothing")


@test
def findings_of_the_baseline_are_not_new():
    repo = leaky()
    make("known: 2 findings, 2 added, 0 removed\n", "repo", "-o", "known")
    report = scan(CLEAN, "repo", "--baseline", "known")
    equal(report["findings"], [])
    equal(report["summary"]["baseline"], {"known": 2, "gone": []})
    repo.write("new.txt", f"token = {github_token('new')}\n")
    repo.commit("second")
    report = scan(FINDINGS, "repo", "--baseline", "known")
    equal([(f["secret"][:4], f["is_new"], f["occurrences"][0]["path"]) for f in report["findings"]], [("ghp_", True, "new.txt")])
    result = run("scan", "repo", "--baseline", "known")
    holds("baseline    2 findings known, 0 gone\n" in result.out and "\n1 new finding: 1 critical; 1 occurrence" in result.out,
          result.out)


@test
def findings_that_are_gone_are_counted_and_listed_on_demand():
    leaky(3)
    make("known: 3 findings, 3 added, 0 removed\n", "repo", "-o", "known")
    gone = [finding["id"] for finding in scan(CLEAN, "repo", "--baseline", "known")["findings"]]
    equal(gone, [])
    other = Repo("other")
    other.write("0.txt", f"token = {github_token(0)}\n")
    other.commit("only one")
    ids = re.findall(r"^[0-9a-f]{32}", text("known"), re.MULTILINE)
    report = scan(CLEAN, "other", "--baseline", "known")
    equal(len(report["summary"]["baseline"]["gone"]), 2)
    quiet, loud = run("scan", "other", "--baseline", "known"), run("scan", "other", "--baseline", "known", "--diff-baseline")
    equal((quiet.status, loud.status), (CLEAN, CLEAN))
    listed = [one for one in ids if one in loud.out]
    equal(sorted(listed), sorted(one["id"] for one in report["summary"]["baseline"]["gone"]))
    holds(not any(one in quiet.out for one in ids), quiet.out)


@test
def a_baseline_does_not_change_when_code_moves_or_history_is_rewritten():
    repo = leaky()
    make("known: 2 findings, 2 added, 0 removed\n", "repo", "-o", "known")
    before = text("known")
    holds("\nsalt " in before, before)
    equal(re.findall(r"\d{4}-\d\d-\d\d|\.txt", before), [])
    repo.write("0.txt", "lines\nbefore\n")
    repo.write("deep/moved.py", f"# moved\n\nx = '{github_token(0)}'\n")
    repo.commit("move")
    make("known: 2 findings, 0 added, 0 removed\n", "repo", "-o", "known")
    equal(text("known"), before)
    repo.clock += 99999
    repo.git("commit", "--amend", "-q", "-m", "another time", "--reset-author")
    make("known: 2 findings, 0 added, 0 removed\n", "repo", "-o", "known")
    equal(text("known"), before)
    equal(run("scan", "repo", "--baseline", "known").status, CLEAN)


@test
def two_baselines_of_one_project_have_different_ids_unless_the_project_has_a_salt():
    repo = leaky()
    make("one: 2 findings, 2 added, 0 removed\n", "repo", "-o", "one")
    make("two: 2 findings, 2 added, 0 removed\n", "repo", "-o", "two")
    ids = re.compile(r"^[0-9a-f]{32} ", re.MULTILINE)
    equal(set(ids.findall(text("one"))) & set(ids.findall(text("two"))), set())
    repo.write(".turnstone.yml", "salt: the salt of this very project\n")
    repo.commit("salt")
    make("three: 2 findings, 2 added, 0 removed\n", "repo", "-o", "three")
    make("four: 2 findings, 2 added, 0 removed\n", "repo", "-o", "four")
    equal(text("three"), text("four"))
    holds("salt" not in text("three"), "the project keeps it")
    scan(CLEAN, "repo", "--baseline", "three")
    scan(CLEAN, "repo", "--baseline", "one")
    repo.write(".turnstone.yml", "salt: another salt of the project\n")
    repo.commit("another")
    complains(USAGE, ["three", "another salt", "turnstone baseline"], "scan", "repo", "--baseline", "three")


@test
def a_finding_that_is_allowed_by_its_id_stays_so_with_a_baseline_that_draws_a_salt():
    repo = leaky()
    [one, two] = [finding["id"] for finding in scan(FINDINGS, "repo")["findings"]]
    repo.write(".turnstone.yml", f"allow:\n  - findings: [{one}]\n")
    repo.commit("allow")
    equal([finding["id"] for finding in scan(FINDINGS, "repo")["findings"]], [two])
    make("known: 1 finding, 1 added, 0 removed\n", "repo", "-o", "known")
    holds("\nsalt " in text("known"), "a salt of its own")
    report = scan(CLEAN, "repo", "--baseline", "known")
    equal((report["summary"]["suppressed"], report["summary"]["baseline"]["known"], report["summary"]["notes"]), (1, 1, []))


@test
def an_allow_entry_by_an_id_of_another_salt_is_noted():
    repo = leaky()
    make("known: 2 findings, 2 added, 0 removed\n", "repo", "-o", "known")
    salted = re.findall(r"^[0-9a-f]{32}", text("known"), re.MULTILINE)
    repo.write(".turnstone.yml", f"allow:\n  - rules: [jwt]\n  - findings: [{salted[0]}]\n")
    repo.commit("allow")
    report = scan(CLEAN, "repo", "--baseline", "known")
    equal((report["summary"]["suppressed"], report["summary"]["notes"]), (1, []))
    for state in ([], ["--no-state"], []):
        [note] = scan(FINDINGS, "repo", *state)["summary"]["notes"]
        holds(note.startswith(".turnstone.yml:3: allow: ") and "another salt" in note, note)
    # A scan of a part of the history says nothing about the rest, so there is no note.
    equal(scan(FINDINGS, "repo", "--branch", "main")["summary"]["notes"], [])
    # An entry counts as used even if an earlier entry allows the same finding.
    public = scan(FINDINGS, "repo")["findings"][0]["id"]
    repo.write(".turnstone.yml", f"allow:\n  - rules: [github-pat]\n  - findings: [{public}]\n")
    repo.commit("both")
    equal(scan(CLEAN, "repo")["summary"]["notes"], [])


@test
def merged_baselines_are_read_and_conflicts_are_not():
    leaky()
    make("known: 2 findings, 2 added, 0 removed\n", "repo", "-o", "known")
    lines = text("known").splitlines()
    with open("merged", "w", encoding="utf-8") as file:
        file.write("\n".join(lines[:4] + lines[:3:-1] + lines[4:]) + "\n")
    scan(CLEAN, "repo", "--baseline", "merged")
    with open("conflict", "w", encoding="utf-8") as file:
        file.write("\n".join(lines[:4] + ["<<<<<<< HEAD"] + lines[4:]) + "\n")
    complains(USAGE, ["conflict:5", "merge conflict"], "scan", "repo", "--baseline", "conflict")


@test
def wrong_baselines_are_refused_before_the_scan():
    leaky()
    complains(USAGE, ["nowhere", "turnstone baseline"], "scan", "repo", "--baseline", "nowhere")
    with open("notes", "w", encoding="utf-8") as file:
        file.write("dear diary\n")
    complains(USAGE, ["notes:1", "not a baseline"], "scan", "repo", "--baseline", "notes")
    complains(USAGE, ["notes:1", "not a baseline"], "baseline", "repo", "-o", "notes")
    equal(text("notes"), "dear diary\n", "a file that is none is not replaced")
    complains(USAGE, "--baseline", "scan", "repo", "--diff-baseline")
    complains(USAGE, "--output", "baseline", "repo")
    complains(USAGE, "nowhere", "baseline", "repo", "-o", "nowhere/known")
    for device in "/dev/full", "/dev/null", "/dev/stdout":
        if os.path.exists(device):
            complains(USAGE, [f"'{device}' is not a regular file", "--output"], "baseline", "repo", "-o", device)


@test
def an_incomplete_scan_makes_no_baseline():
    repo = leaky()
    make("known: 2 findings, 2 added, 0 removed\n", "repo", "-o", "known")
    before = text("known")
    blob = repo.git("rev-parse", "HEAD:1.txt")
    path = f"repo/.git/objects/{blob[:2]}/{blob[2:]}"
    os.chmod(path, 0o600)
    with open(path, "r+b") as file:
        file.truncate(9)
    result = run("baseline", "repo", "-o", "known")
    equal((result.status, result.out), (INCOMPLETE, ""))
    holds(blob[:10] in result.err and "incomplete" in result.err, result.err)
    equal(text("known"), before)
    result = run("scan", "repo", "--baseline", "known")
    equal(result.status, INCOMPLETE)
    holds("not found by this incomplete scan" in result.out, result.out)


@test
def only_new_findings_count_for_the_status():
    repo = leaky()
    make("known: 2 findings, 2 added, 0 removed\n", "repo", "-o", "known")
    repo.write("tests/p.txt", 'password = "Zebra9Orange77Stone"\n')
    repo.commit("low")
    scan(CLEAN, "repo", "--baseline", "known")
    scan(FINDINGS, "repo", "--baseline", "known", "--fail-on-confidence", "low")
    scan(CLEAN, "repo", "--baseline", "known", "--fail-on-confidence", "low", "--fail-on", "critical")
    equal(run("scan", "repo", "--fail-on", "critical").status, FINDINGS)


@test
def one_scan_writes_several_files():
    leaky()
    result = run("scan", "repo", "-o", "a.html", "-o", "a.sarif", "--output", "a.csv", "--output=a.xml", "-o", "plain", "--quiet")
    equal((result.status, result.out, result.err), (FINDINGS, "", ""))
    holds(text("a.html").startswith("<!doctype html>"), "html")
    equal(json.loads(text("a.sarif"))["version"], "2.1.0")
    with open("a.csv", newline="", encoding="utf-8") as file:
        equal(len(list(csv.DictReader(file))), 2)
    holds(text("a.xml").startswith("<?xml"), "xml")
    holds("2 findings: 2 critical" in text("plain"), "text")
    equal(sorted(os.listdir()), ["a.csv", "a.html", "a.sarif", "a.xml", "plain", "repo"])
    complains(USAGE, "--format", "scan", "repo", "-o", "a.html", "-o", "a.csv", "--format", "json")


@test
def a_report_is_replaced_whole_or_stays():
    leaky()
    with open("report.json", "w", encoding="utf-8") as file:
        file.write("old")
    os.chmod("report.json", 0o640)
    equal(run("scan", "nowhere", "-o", "report.json").status, USAGE)
    equal(text("report.json"), "old")
    equal(run("scan", "repo", "-o", "report.json").status, FINDINGS)
    equal(len(json.loads(text("report.json"))["findings"]), 2)
    equal(stat.S_IMODE(os.stat("report.json").st_mode), 0o640)
    equal(run("scan", "repo", "-o", "shown.json", "--show-secrets").status, FINDINGS)
    equal(stat.S_IMODE(os.stat("shown.json").st_mode), 0o600, "with secrets it is for its owner only")
    complains(USAGE, "nowhere/x", "scan", "repo", "-o", "nowhere/x")


@test
def a_device_or_pipe_is_written_into():
    leaky()
    result = run("scan", "repo", "-o", "/dev/stdout", "--format", "csv", stdout=subprocess.PIPE)
    equal((result.status, result.out.count("\r\n") or result.out.count("\n")), (FINDINGS, 3))
    if os.path.exists("/dev/full"):
        result = run("scan", "repo", "-o", "/dev/full")
        equal(result.status, 6)
        holds("/dev/full" in result.err, result.err)


def on_terminal(*arguments, **variables):
    """Runs the program on a terminal of 72 columns. Returns its output and its status."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 72, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen([PROGRAM, *arguments], stdin=its, stdout=its, stderr=its,
                               env={**environment, "TERM": "xterm", **variables})
    os.close(its)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the program has closed its side of the terminal
            break
        if not part:
            break
        seen += part
    os.close(ours)
    return seen.decode(), process.wait()


@test
def a_terminal_gets_colour_and_its_width_and_a_pipe_does_not():
    repo = leaky()
    repo.write("long.txt", "x " * 60 + f"token = {github_token(7)} " + "y " * 60 + "\n")
    repo.commit("long")
    out, status = on_terminal("scan", "repo", "--no-progress")
    equal(status, FINDINGS)
    holds("\x1b[1;31mcritical" in out, repr(out[:200]))
    plain = re.sub("\x1b\\[[0-9;]*[mK]", "", out)
    holds("\x1b" not in plain, "only colours")
    # URLs are not broken across lines.
    widest = max(len(line.rstrip("\r")) for line in plain.split("\n") if "://" not in line)
    holds(widest <= 72, f"{widest} columns")
    out, _ = on_terminal("scan", "repo", "--no-progress", NO_COLOR="1")
    holds("\x1b" not in out, repr(out[:200]))
    holds("\x1b" not in run("scan", "repo").out, "a pipe")


main()
