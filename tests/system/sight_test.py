#!/usr/bin/env python3
"""sight_test.py PROGRAM rocksdb|postgres: what people see of a fleet: findings that are new or gone between
two runs, progress, workers, and why targets were parked."""
import fcntl
import json
import os
import pty
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from fleet import events, is_stopped, large, new_fleet, repositories, wait_until  # noqa: E402
from program import PROGRAM, complains  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

ENGINE = sys.argv[2]


def work(fleet, number, *targets):
    fleet.submit(number, *targets)
    status, out, err = fleet.work()
    equal((status, err), (0, ""), out)


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def visible(fleet):
    """Returns {(finding, target)} of the findings that `turnstone findings export` reports."""
    report = json.loads(fleet.ok("findings", "export", "--format", "json", "--confidence", "low"))
    return {(finding["id"], place["repo"]) for finding in report["findings"] for place in finding["occurrences"]}


def diff(fleet, first, second):
    *entries, counts = lines(fleet.ok("run", "diff", str(first), str(second), "--json"))
    return entries, counts


class Changing:
    """A repository whose secrets can be replaced. Each replacement rewrites the whole history."""

    def __init__(self, name):
        self.repo = Repo(f"repos/{name}")
        self.set([])

    def set(self, seeds):
        self.repo.git("checkout", "-q", "--orphan", "next")
        self.repo.write("secrets.env", "".join(f"TOKEN={github_token(seed)}\n" for seed in seeds) + "end\n")
        self.repo.commit(f"{len(seeds)} secrets")
        self.repo.git("branch", "-M", "main")


@test
def a_diff_of_any_two_runs_is_the_difference_of_what_was_visible_after_them():
    chance = random.Random(1)
    repos = [Changing(f"r{i}") for i in range(4)]
    fleet = new_fleet(ENGINE)
    states = {}
    for number in range(1, 6):
        for repo in chance.sample(repos, 2) if number > 1 else repos:
            repo.set(chance.sample(range(5), chance.randrange(4)))
        work(fleet, number * 10, "repos")
        states[number * 10] = visible(fleet)
    holds(len({frozenset(state) for state in states.values()}) > 3, "the states differ")
    for first, before in states.items():
        for second, after in states.items():
            entries, counts = diff(fleet, first, second)
            equal({(one["id"], one["address"]) for one in entries if one["change"] == "came"}, after - before, (first, second))
            equal({(one["id"], one["address"]) for one in entries if one["change"] == "went"}, before - after, (first, second))
            equal(len(entries), len(after ^ before))
            ids = [{finding for finding, _ in state} for state in (before, after)]
            for one in entries:
                equal(one["elsewhere"], one["id"] in ids[one["change"] == "went"], one)
            equal((counts["new"], counts["gone"]), (len(ids[1] - ids[0]), len(ids[0] - ids[1])), (first, second))
            equal((counts["came"], counts["went"]), (len(after - before), len(before - after)))


@test
def a_diff_for_people_names_rule_redacted_secret_and_repository():
    one, two = Changing("one"), Changing("two")
    fleet = new_fleet(ENGINE)
    work(fleet, 1, "repos")
    equal(fleet.ok("run", "diff", "1", "1"), "no finding came or went\n")
    one.set(["shared"])
    work(fleet, 2, "repos")
    two.set(["shared"])
    one.set([])
    work(fleet, 3, "repos")
    text = fleet.ok("run", "diff", "2", "3")
    came, went, total = text.splitlines()
    holds(came.startswith("+ ") and came.endswith(f"{os.path.realpath('repos/two')}  (others had it)"), text)
    holds(went.startswith("- ") and went.endswith(f"{os.path.realpath('repos/one')}  (others have it)"), text)
    equal(total, "1 came and 1 went in 2 targets; 0 new, 0 gone everywhere")
    holds(github_token("shared") not in text and "github" in text, text)
    equal(fleet.ok("run", "diff", "1", "3").splitlines()[-1], "1 came and 0 went in 1 target; 1 new, 0 gone everywhere")


@test
def a_diff_of_unknown_runs_is_refused():
    fleet = new_fleet(ENGINE)
    where = ("--cluster", fleet.urls)
    complains(2, "name two runs", "run", "diff", "1", *where)
    complains(2, "'x' is not the id of a run", "run", "diff", "x", "1", *where)
    complains(3, "RunNotFound: there is no run 1", "run", "diff", "1", "2", *where)


def parked_run(fleet):
    """Submits a run with three repositories, removes one of them, and works on the run. Returns the path of
    the removed repository."""
    repositories("repos", 3)
    fleet.submit(1, "repos")
    shutil.rmtree("repos/repo1")
    equal(fleet.work("--log", "log")[0], 0)
    return os.path.realpath("repos/repo0")[:-1] + "1"


REASON = "the repository does not exist, or is hidden from this account"


@test
def a_parked_target_is_shown_with_its_name_and_reason_and_logs_have_only_digests():
    fleet = new_fleet(ENGINE)
    gone = parked_run(fleet)
    text = fleet.ok("run", "show", "--run", "1")
    holds(f"\n  parked: 1; a later run of the same targets tries them again\n    {gone}: {REASON}\n" in text, text)
    shown = fleet.show(1)
    (item,) = shown["parked_items"]
    equal((item["address"], item["cause"], item["text"], item["reason"]), (gone, "not_found", REASON, "NotFound"))
    equal((shown["came"], shown["went"], shown["changed_targets"]), (4, 0, 2))
    with open("log") as file:
        log = file.read()
    holds(item["target"] in log and gone not in log and "repos" not in log, log)
    deleted = json.loads(fleet.ok("run", "delete", "--run", "1", "--json"))
    equal((deleted["shards"], deleted["units"]), (3, 3))
    equal(fleet.ok("store", "scan", "0x006375"), "", "notes are deleted with the run")


@test
def a_parked_target_of_an_active_run_is_shown_with_the_command_that_unparks_it():
    fleet = new_fleet(ENGINE)
    with open("list", "w") as file:
        file.write("https://127.0.0.1:9/one.git\nhttps://127.0.0.1:9/two.git\n")
    fleet.submit(1, "list")
    lease = json.loads(fleet.ok("lease", "claim", "--run", "1", "--worker", "me", "--pin", fleet.show(1)["pin"], "--json"))
    fleet.ok("lease", "park", "--lease", lease["lease"], "--reason", "NotFound")
    shown = fleet.ok("run", "show", "--run", "1").splitlines()
    at = shown.index("  parked: 1; fix the cause, then let a worker try again")
    holds(re.fullmatch(r"      turnstone shard unpark --run 1 --shard [0-9]+", shown[at + 2]), shown)
    fleet.ok(*shown[at + 2].split()[1:])
    holds("parked: " not in fleet.ok("run", "show", "--run", "1"), "it is free again")


@test
def every_decision_about_a_parked_target_is_listed():
    fleet = new_fleet(ENGINE)
    fleet.submit(1, "https://127.0.0.1:9/nobody.git", options=("--attempts", "2", "--cooldown-ms", "0"))
    equal(fleet.work("--mirrors", "mirrors", "--name", "alpha")[0], 0)
    text = fleet.ok("run", "show", "--run", "1", "--log")
    lines_of_log = text.splitlines()[-3:]
    equal(lines_of_log[0], "    https://127.0.0.1:9/nobody: the repository's host cannot be reached (after 2 tries)")
    for line in lines_of_log[1:]:
        holds(re.fullmatch(r"      [0-9-]{10} [0-9:]{5,8} UTC  handed back by alpha-[12]: unreachable", line), text)
    (item,) = json.loads(fleet.ok("run", "show", "--run", "1", "--log", "--json"))["parked_items"]
    equal([(one["what"], one["cause"]) for one in item["log"]], [("released", "unreachable")] * 2)
    holds(item["log"][0]["fence"] > item["log"][1]["fence"], "the newest first")
    holds("log" not in fleet.show(1)["parked_items"][0], "only on demand")


@test
def watching_an_ended_run_prints_lines_or_an_object():
    fleet = new_fleet(ENGINE)
    gone = parked_run(fleet)
    parked, line = fleet.ok("run", "watch", "--run", "1").splitlines()
    equal(parked, f"parked: {gone}: {REASON}")
    holds(re.fullmatch(r"run 1: Done, with failures, 2 of 3 done, 1 parked, 0 in progress, 0 workers, \S+ targets/s, 4 findings came, 0 went",
                       line), line)
    (shown,) = lines(fleet.ok("run", "watch", "--run", "1", "--json"))
    equal((shown["done"], shown["parked"], [item["address"] for item in shown["parked_items"]]), (2, 1, [gone]))


def on_terminal(fleet, columns, *words):
    """Runs the program on a terminal of this width. Returns what the terminal shows at the end, without
    overwritten text."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([PROGRAM, *words, "--cluster", fleet.urls], stdout=follower, stderr=follower)
    os.close(follower)
    text = b""
    while True:
        try:
            text += os.read(leader, 65536)
        except OSError:
            break
    os.close(leader)
    equal(process.wait(timeout=60), 0, text)
    screen = []
    for line in text.decode().replace("\r\n", "\n").split("\n"):
        up = re.match("\x1b\\[(\\d+)A\r\x1b\\[J", line)
        if up:
            del screen[-int(up[1]):]
            line = line[up.end():]
        screen.append(line)
    return screen[:-1]


@test
def on_a_terminal_the_picture_fits_into_80_and_40_columns():
    fleet = new_fleet(ENGINE)
    gone = parked_run(fleet)
    wide = on_terminal(fleet, 80, "run", "watch", "--run", "1")
    equal([line for line in wide if len(line) >= 80], [])
    equal((wide[0], wide[1][:2], wide[2]), ("run 1: Done, with failures", "[#", "2 of 3 targets done, 1 parked, 0 in progress, 0 waiting"))
    equal(wide[4:6], ["4 findings came, 0 went, in 2 targets", "parked"])
    equal((wide[-2].strip().lstrip("…"), wide[-1].strip()), (gone[-len(wide[-2].strip().lstrip("…")):], REASON))
    narrow = on_terminal(fleet, 40, "run", "watch", "--run", "1")
    equal([line for line in narrow if len(line) >= 40], [])
    equal(narrow[2:4], ["2 of 3 targets done, 1 parked", "0 in progress, 0 waiting"])
    at = narrow.index("parked")
    holds(gone.endswith(narrow[at + 1].strip().lstrip("…")), narrow)
    equal(" ".join(line.strip() for line in narrow[at + 2:]), REASON)


@test
def without_workers_no_remaining_time_is_shown():
    fleet = new_fleet(ENGINE)
    repositories("repos", 2)
    fleet.submit(1, "repos", options=("--targets", "https://localhost:1/r.git"))
    # One job may be busy with the host that does not answer: in which order targets are claimed is random.
    worker = fleet.start("--jobs", "2", "--log", "log", "--mirrors", "mirrors")
    wait_until(lambda: sum(one["event"] == "done" for one in events("log")) == 2)
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=30)
    watch = subprocess.Popen([PROGRAM, "run", "watch", "--run", "1", "--json", "--cluster", fleet.urls], stdout=subprocess.PIPE, text=True)
    first = json.loads(watch.stdout.readline())
    watch.kill()
    watch.communicate()
    equal((first["status"], first["done"], first["free"], first["workers"]), ("Active", 2, 1, 0))
    holds(first["rate"] > 0 and "remaining_ms" not in first, first)


@test
def workers_and_targets_in_progress_are_seen_while_they_work():
    fleet = new_fleet(ENGINE)
    if ENGINE == "rocksdb":
        equal(fleet.ok("worker", "list"), "no worker holds a lease\n")
        return  # only one process at a time can open a RocksDB directory
    path = large("repos/large")
    fleet.ok("run", "create", "--run", "1", "--lease-ms", "60000", "--select", "all", "--targets", "repos")
    worker = fleet.start("--once", "--jobs", "2", "--name", "alpha", "--part-ms", "1", env={"TURNSTONE_FAILPOINT": "unit-checkpointed=stop"})
    wait_until(lambda: is_stopped(worker))
    (held,) = lines(fleet.ok("worker", "list", "--json"))
    equal((held["worker"], held["address"], held["run"], held["parts"]), ("alpha", path, 1, 1))
    holds(held["job"].startswith("alpha-") and 0 < held["left_ms"] <= 60000, held)
    name, row = fleet.ok("worker", "list").splitlines()
    holds(name == "alpha" and path in row, row)
    watch = subprocess.Popen([PROGRAM, "run", "watch", "--run", "1", "--interval-ms", "20", "--json", "--cluster", fleet.urls],
                             stdout=subprocess.PIPE, text=True)
    first = json.loads(watch.stdout.readline())
    equal((first["workers"], [item["address"] for item in first["in_progress"]]), (1, [path]))
    worker.send_signal(signal.SIGCONT)
    equal(worker.wait(timeout=60), 0)
    *_, last = lines(watch.communicate(timeout=60)[0])
    equal((last["workers"], last["done"], last["in_progress"], last["came"]), (0, 1, [], 6))


main()
