#!/usr/bin/env python3
"""schedule_test.py PROGRAM rocksdb|postgres: schedules say which targets to scan and how often; workers start
due runs."""
import json
import os
import random
import signal
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from fleet import events, new_fleet, repositories, servers, wait_until  # noqa: E402
from https import CA, Answering, Server, without_proxy  # noqa: E402
from program import complains, run  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

ENGINE = sys.argv[2]
DAY_MS = 24 * 3600 * 1000


def add(fleet, name, *words):
    return json.loads(fleet.ok("schedule", "add", name, "--select", "all", "--json", *words))


def show(fleet, name):
    return json.loads(fleet.ok("schedule", "show", name, "--json"))


def runs(fleet):
    return {one["run"]: one for one in map(json.loads, fleet.ok("run", "list", "--json").splitlines())}


def listings(fleet):
    """Returns the number of stored pages of lists. Their keys begin with the bytes 00 'f' 'l'."""
    return len(fleet.ok("store", "scan", "0x00666c").splitlines())


@test
def an_idle_worker_starts_what_is_due_once_and_scans_it():
    fleet = new_fleet(ENGINE)
    repositories("repos", 3)
    added = add(fleet, "hourly", "--every", "1h", "--targets", "repos")
    equal((added["targets"], added["replaced"]), (3, False))
    for _ in range(2):
        status, _, err = fleet.work("--log", "log")
        equal((status, err), (0, ""))
    shown = show(fleet, "hourly")
    (only,) = shown["runs"]
    equal(only["due_ms"], shown["last_due_ms"])
    equal(shown["next_due_ms"], shown["last_due_ms"] + 3600 * 1000)
    equal({number: one["status"] for number, one in runs(fleet).items()}, {only["run"]: "Done"})
    started = [one for one in events("log") if one["event"] == "scheduled"]
    equal([(one["run"], one["count"]) for one in started], [(only["run"], 3)])
    holds("repos" not in open("log").read() and "hourly" not in open("log").read(), "the log has digests only")
    holds(fleet.findings(), "the findings are there")
    text = fleet.ok("schedule", "list")
    holds(text.startswith("hourly ") and "every hour, next " in text and text.endswith(", 3 targets\n"), text)
    text = fleet.ok("schedule", "show", "hourly")
    holds(f"  run {only['run']} for " in text, text)


@test
def a_worker_for_one_run_starts_no_schedule():
    fleet = new_fleet(ENGINE)
    repositories("repos", 1)
    fleet.submit(7, "repos")
    add(fleet, "hourly", "--every", "1h", "--targets", "repos")
    equal(fleet.work("--run", "7")[0], 0)
    equal(list(runs(fleet)), [7])


@test
def the_list_is_that_of_the_moment_of_the_command_and_can_be_printed_and_replaced():
    fleet = new_fleet(ENGINE)
    paths = repositories("repos", 3)
    with open("list", "w") as file:
        file.write(f"# comment\n{paths[0]}\n{paths[1]}\trefs:main\nhttps://example.org/x.git\n")
    add(fleet, "s", "--every", "1d", "--targets", "list")
    os.remove("list")
    before = fleet.ok("schedule", "show", "s", "--list")
    equal(sorted(before.splitlines()), sorted([f"{paths[0]}\tall", f"{paths[1]}\trefs:refs/heads/main", "https://example.org/x.git\tall"]))
    first = show(fleet, "s")
    with open("again", "w") as file:
        file.write(before + paths[2] + "\n")
    complains(3, "the schedule exists; --replace", "schedule", "add", "s", "--every", "1d", "--targets", "again", "--cluster", fleet.urls)
    replaced = add(fleet, "s", "--every", "1d", "--targets", "again", "--replace")
    equal((replaced["targets"], replaced["replaced"]), (4, True))
    equal(show(fleet, "s")["next_due_ms"], first["next_due_ms"], "the due times stay")
    equal(listings(fleet), 1)
    equal(fleet.ok("schedule", "remove", "s"), "schedule s is removed\n")
    equal(listings(fleet), 0)
    equal(fleet.ok("schedule", "list"), "there are no schedules; 'schedule add' makes one\n")


@test
def a_pause_skips_due_times():
    fleet = new_fleet(ENGINE)
    repositories("repos", 1)
    add(fleet, "often", "--every", "1s", "--targets", "repos")
    equal(fleet.ok("schedule", "pause", "often"), "schedule often is paused\n")
    time.sleep(1.2)
    equal(fleet.work()[0], 0)
    equal(runs(fleet), {})
    holds("paused" in fleet.ok("schedule", "list"), "")
    text = fleet.ok("schedule", "resume", "often")
    holds(text.startswith("schedule often is resumed; next "), text)
    wait_until(lambda: show(fleet, "often")["next_due_ms"] <= show(fleet, "often")["now_ms"])
    equal(fleet.work()[0], 0)
    holds(len(runs(fleet)) >= 1, "it starts again")


@test
def daily_times_are_utc_or_have_a_distance():
    fleet = new_fleet(ENGINE)
    repositories("repos", 1)
    for number, (text, minutes) in enumerate({"02:30": 150, "00:00": 0, "02:30+01:00": 90, "23:30-01:00": 30, "00:10+05:30": 1120}.items()):
        add(fleet, f"d{number}", "--daily", text, "--targets", "repos")
        shown = show(fleet, f"d{number}")
        equal(shown["next_due_ms"] % DAY_MS, minutes * 60000, text)
        equal(shown["daily"], f"{minutes // 60:02}:{minutes % 60:02}")
        holds(0 <= shown["next_due_ms"] - shown["now_ms"] <= DAY_MS, shown)
    equal(fleet.work()[0], 0)
    equal(runs(fleet), {}, "none is due yet")


@test
def bad_input_is_one_line():
    fleet = new_fleet(ENGINE)
    repositories("repos", 1)
    where = ("--cluster", fleet.urls)
    good = ("--every", "1h", "--targets", "repos")
    complains(2, "give the name of one schedule", "schedule", "add", *good, *where)
    complains(2, "a name has 1 to 32", "schedule", "add", "a b", *good, *where)
    complains(2, "say how often", "schedule", "add", "a", "--targets", "repos", *where)
    complains(2, "say how often", "schedule", "add", "a", "--daily", "01:00", *good, *where)
    for wrong in ("1", "0s", "999ms", "367d", "x", ""):
        complains(2, ["--every", f"'{wrong}'"], "schedule", "add", "a", "--every", wrong, "--targets", "repos", *where)
    for wrong in ("1:00", "24:00", "01:60", "01:00+1", "01:00Z", ""):
        complains(2, ["--daily", f"'{wrong}'"], "schedule", "add", "a", "--daily", wrong, "--targets", "repos", *where)
    complains(2, "--targets is missing", "schedule", "add", "a", "--every", "1h", *where)
    complains(2, "the request", "schedule", "add", "a", "--every", "1h", "--targets", "github://github.com/", *where)
    complains(2, "need a request to a forge", "schedule", "add", "a", "--ssh", *good, *where)
    complains(2, "--keep must be", "schedule", "add", "a", "--keep", "91", *good, *where)
    complains(2, "--lease-ms must be", "schedule", "add", "a", "--lease-ms", "1", *good, *where)
    secret = "https://user:hunter2@example.org/x"
    refused = run("schedule", "add", "a", "--every", "1h", "--targets", secret, *where)
    holds(refused.status == 2 and "hunter2" not in refused.err, refused)
    for verb in ("show", "pause", "resume", "remove"):
        complains(3, "there is no schedule 'a'", "schedule", verb, "a", *where)
    equal(listings(fleet), 0)


class Forge(Answering):
    """Lists the repositories server.names. If server.status is not 200, answers with that status."""

    def do_GET(self):
        if self.server.status != 200:
            return self.say(self.server.status)
        page = int(urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["page"][0])
        rows = [{"full_name": f"acme/{name}", "archived": False, "fork": False} for name in self.server.names]
        self.say(200, json.dumps(rows if page == 1 else []).encode())


@test
def a_forge_is_asked_for_every_run_and_its_failure_is_told():
    fleet = new_fleet(ENGINE)
    with Server(Forge) as server:
        server.names, server.status = ["one", "two"], 500
        add(fleet, "forge", "--every", "1s", "--targets", f"gitea://127.0.0.1:{server.server_port}/acme")
        options = ("--ca", CA, "--mirrors", "mirrors", "--fetch-timeout", "5s")
        status, _, err = fleet.work(*options, env=without_proxy())
        equal(status, 0)
        holds("a schedule that is due cannot start: request 1 to a forge: " in err and err.count("\n") == 1, err)
        shown = show(fleet, "forge")
        equal((shown["failures"], shown["runs"]), (1, []))
        text = fleet.ok("schedule", "show", "forge")
        holds("1 try failed" in text and "127.0.0.1" not in shown["why"], text)
        holds(fleet.ok("schedule", "list").endswith(", failing\n"), "")
        equal(fleet.work(*options, env=without_proxy())[2], "", "not before the pause is over")
        server.status = 200
        wait_until(lambda: show(fleet, "forge")["now_ms"] >= shown["again_at_ms"])
        worker = fleet.start("--jobs", "1", "--log", "log", *options, env=without_proxy())
        wait_until(lambda: os.path.exists("log") and any(one["event"] == "scheduled" for one in events("log")))
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=60)
        shown = show(fleet, "forge")
        holds("failures" not in shown and len(shown["runs"]) >= 1, shown)
        first = min(shown["runs"], key=lambda one: one["due_ms"])["run"]
        equal(runs(fleet)[first]["registered"], 2)
        equal(listings(fleet), 0, "the list of a run is removed when the run exists")


@test
def a_damaged_schedule_is_told_and_can_be_removed():
    fleet = new_fleet(ENGINE)
    repositories("repos", 1)
    add(fleet, "good", "--every", "1h", "--targets", "repos")
    if ENGINE == "rocksdb":
        return  # the test cannot damage a record of a RocksDB store
    name = fleet.urls.split(",")[0].rpartition("/")[2].split("?")[0]
    servers[0].sql(name, "UPDATE turnstone.item SET value = '\\x00' WHERE substr(key, 1, 3) = '\\x006663'")
    result = fleet.run("schedule", "list")
    equal((result.status, result.out), (6, "good              damaged\n"))
    equal(fleet.work()[0], 0)
    complains(6, "the record is", "schedule", "show", "good", "--cluster", fleet.urls)
    equal(fleet.ok("schedule", "remove", "good"), "schedule good is removed\n")


def starts(logs):
    """Returns the runs that workers have started, according to their logs. Ignores a line that is cut because
    the worker was killed."""
    paths = [path for path in (f"log{i + 1}" for i in range(logs)) if os.path.exists(path)]
    lines = [json.loads(line) for path in paths for line in open(path) if line.endswith("}\n")]
    return [one["run"] for one in lines if one["event"] == "scheduled"]


@test
def killed_and_racing_workers_start_one_run_for_each_due_time():
    fleet = new_fleet(ENGINE)
    repositories("repos", 2)
    add(fleet, "often", "--every", "1s", "--targets", "repos", "--lease-ms", "1000", "--keep", "0")
    chance = random.Random(1)
    count = 4 if ENGINE == "postgres" else 1
    workers, logs, kills = [], 0, 0
    while kills < 6 or (len(starts(logs)) < 3 and kills < 60):
        while len(workers) < count:
            logs += 1
            workers.append((f"log{logs}", fleet.start("--jobs", "2", "--wait", "20", "--log", f"log{logs}")))
        log, victim = workers.pop(chance.randrange(count))
        wait_until(lambda: os.path.exists(log) and (count > 1 or os.path.getsize(log) > 0))
        time.sleep(chance.random() * 0.3)
        victim.kill()
        victim.communicate()
        kills += 1
    for _, worker in workers:
        worker.kill()
        worker.communicate()
    fleet.ok("schedule", "pause", "often")
    equal(fleet.work("--log", f"log{logs + 1}")[0], 0)
    logs += 1
    shown, made = show(fleet, "often"), runs(fleet)
    equal(sorted(made), sorted(one["run"] for one in shown["runs"]))
    equal(len({one["due_ms"] for one in shown["runs"]}), len(shown["runs"]))
    holds(len(made) >= 2, made)
    equal({(one["status"], one["registered"]) for one in made.values()}, {("Done", 2)})
    told = starts(logs)
    equal(len(told), len(set(told)), "no start is told twice")
    equal(listings(fleet), 1)


main()
