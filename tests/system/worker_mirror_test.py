#!/usr/bin/env python3
"""turnstone worker on repositories of a real HTTPS server: the worker's findings, the targets that the worker
parks, and signals and failures during its work."""
import glob
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from fleet import Fleet, events, repositories, scanned, wait_until  # noqa: E402
from git_server import PASSWORD, USER, GitServer  # noqa: E402
from program import complains  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402


class Servers:
    """Repositories on a git server, a fleet, and workers with credentials for the server."""

    def __init__(self, server, count):
        self.server = server
        self.paths = repositories("work", count)
        for path in self.paths:
            self.publish(path)
        with open("credentials", "w") as file:
            file.write(f"[{server.host}]\nca = {server.ca}\nuser = {USER}\npassword = {PASSWORD}\n")
        os.chmod("credentials", 0o600)
        self.fleet = Fleet()
        self.options = ("--mirrors", "mirrors", "--credentials", "credentials")

    def publish(self, path):
        target = f"srv/{os.path.basename(path)}.git"
        subprocess.run(["rm", "-rf", target], check=True)
        subprocess.run(["git", "clone", "-q", "--mirror", path, target], check=True)

    def submit(self, number, *hows, options=()):
        """Submits one target for each repository and each way in which the server answers."""
        with open("list", "w") as file:
            for how in hows:
                file.writelines(f"{self.server.url}/{how}/{os.path.basename(path)}.git\n" for path in self.paths)
        return self.fleet.submit(number, "list", options=options)

    def work(self, *options):
        status, out, err = self.fleet.work(*self.options, *options)
        equal(status, 0, err)
        return out, err

    def finds_what_a_scan_finds(self):
        """Checks that the fleet has the same findings as a local scan of the repositories, except for the
        names of targets."""
        here = [[(rule, os.path.basename(repo), *rest) for rule, repo, *rest in places] for places in scanned(self.paths)]
        there = [[(rule, os.path.basename(repo), *rest) for rule, repo, *rest in places] for places in self.fleet.findings()]
        equal(sorted(map(sorted, there)), sorted(map(sorted, here)))


@test
def repositories_on_a_server_are_scanned_as_those_on_this_machine():
    with GitServer("srv") as server:
        world = Servers(server, 4)
        world.submit(1, "auth")
        equal(world.work("--log", "log")[0], "4 done, 0 parked, 0 released, 0 lost\n")
        world.finds_what_a_scan_finds()
        before = len(server.asked)
        world.submit(2, "auth")
        world.work("--log", "log2")
        kinds = [one["event"] for one in events("log2")]
        equal((kinds.count("nothing_new"), kinds.count("done")), (4, 0), kinds)
        holds(len(server.asked) - before <= 4 * 3, "more than one list of refs for each repository")
        repo = Repo.at(world.paths[0])
        repo.write("late.env", f"TOKEN={github_token('late')}\n")
        repo.commit("late")
        other = Repo.at(world.paths[1])
        other.git("reset", "-q", "--hard", "HEAD~1")
        for path in world.paths[:2]:
            world.publish(path)
        world.submit(3, "auth")
        world.work()
        world.finds_what_a_scan_finds()
        texts = "".join(open(name).read() for name in ("log", "log2"))
        equal(re.findall(f"{PASSWORD}|localhost|repo[0-9]|{os.getcwd()}", texts), [])


@test
def a_damaged_mirror_is_repaired_and_nothing_is_missing():
    with GitServer("srv") as server:
        world = Servers(server, 2)
        world.submit(1, "git")
        world.work()
        repo = Repo.at(world.paths[0])
        repo.write("late.env", f"TOKEN={github_token('late')}\n")
        repo.commit("late")
        world.publish(world.paths[0])
        for pack in glob.glob("mirrors/*/*.git/objects/pack/*.pack"):
            os.chmod(pack, 0o600)
            with open(pack, "r+b") as file:
                file.truncate(os.path.getsize(pack) // 2)
        world.submit(2, "git")
        equal(world.work()[0], "2 done, 0 parked, 0 released, 0 lost\n")
        world.finds_what_a_scan_finds()


@test
def a_refused_repository_is_parked_with_its_reason():
    with GitServer("srv") as server:
        world = Servers(server, 1)
        world.submit(1, "git", "gone", "denied", "moved")
        out, err = world.work("--log", "log")
        equal(out, "1 done, 3 parked, 0 released, 0 lost\n")
        parked = sorted(one["reason"] for one in events("log") if one["event"] == "parked")
        equal(parked, ["moved", "not_found", "permission_denied"])
        equal(re.findall(f"localhost|repo0|{os.getcwd()}", err + open("log").read()), [])
        shown = world.fleet.show(1)
        equal((shown["status"], shown["done"], shown["parked"]), ("Done", 1, 3), shown)


@test
def a_host_that_asks_for_a_pause_gets_it():
    def released():
        return [one for one in events("log") if one["event"] == "released"]

    with GitServer("srv") as server:
        world = Servers(server, 2)
        world.submit(1, "throttled")
        worker = world.fleet.start(*world.options, "--jobs", "1", "--log", "log")
        # Which target is claimed next is random.
        wait_until(lambda: len(released()) >= 3 and len({one["target"] for one in released()}) == 2)
        worker.send_signal(signal.SIGTERM)
        _, err = worker.communicate(timeout=30)
        equal(err.count("turnstone: worker: the host limits the number of requests; its targets wait"), 1, err)
        equal(len(server.asked), 1, "requests during the pause")
        equal({one["reason"] for one in released()}, {"rate_limited"})
        # People see which targets wait, and for how long. However often a target was handed back, that is one decision.
        shown = world.fleet.show(1)["waiting_items"]
        equal([(one["cause"], one["troubles"]) for one in shown], [("rate_limited", 1)] * 2, shown)
        equal({one["address"] for one in shown}, {f"{server.url}/throttled/repo{i}" for i in range(2)})
        text = world.fleet.ok("run", "show", "--run", "1")
        holds(re.search(r"\n  waiting for another try: 2\n    \S+/throttled/repo[01]: the host limits the number of requests, for \S", text), text)
        # If a server demands a pause that fits into the lease, the worker keeps the target and waits.
        world.paths = world.paths[:1]
        world.submit(2, "limited")
        status, out, err = world.fleet.work(*world.options, "--run", "2")
        equal((status, out), (0, "1 done, 0 parked, 0 released, 0 lost\n"), err)


@test
def a_host_in_a_pause_does_not_delay_the_repositories_of_other_hosts():
    with GitServer("srv") as server, GitServer("srv", "certificates of the other") as limited:
        world = Servers(server, 4)
        with open("credentials", "a") as file:
            file.write(f"[{limited.host}]\nca = {limited.ca}\n")
        with open("list", "w") as file:
            for url in (f"{server.url}/git", f"{limited.url}/throttled"):
                file.writelines(f"{url}/{os.path.basename(path)}.git\n" for path in world.paths)
        world.fleet.submit(1, "list")
        worker = world.fleet.start(*world.options, "--jobs", "1", "--log", "log")

        def counts():
            kinds = [one["event"] for one in events("log")]
            return kinds.count("done"), kinds.count("released")
        wait_until(lambda: counts()[0] == 4 and counts()[1] >= 4)
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=30)
        told = events("log")
        gaps = [after["time_ms"] - before["time_ms"] for before, after in zip(told, told[1:]) if before["event"] == "released"]
        holds(min(gaps) < 500, gaps)


@test
def a_host_that_hangs_keeps_a_job_for_a_few_tries_only():
    with GitServer("srv") as server:
        world = Servers(server, 1)
        world.submit(1, "hang")
        worker = world.fleet.start(*world.options, "--jobs", "1", "--log", "log", "--fetch-stall", "6s")
        wait_until(lambda: any(one["event"] == "released" for one in events("log")), 60)
        asked = len(server.asked)
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=30)
        released = next(one for one in events("log") if one["event"] == "released")
        equal((released["reason"], asked), ("timed_out", 3))


@test
def a_worker_that_is_asked_to_stop_ends_its_fetch():
    with GitServer("srv") as server:
        world = Servers(server, 1)
        world.submit(1, "hang")
        worker = world.fleet.start(*world.options, "--jobs", "1", "--log", "log")
        wait_until(lambda: server.asked)
        for _ in range(3):  # timeout(1), for example, signals a child twice
            worker.send_signal(signal.SIGTERM)
            time.sleep(0.002)
        equal(worker.wait(timeout=30), 0)
        equal([one["event"] for one in events("log")], ["claimed", "released"])
        equal(glob.glob("mirrors/*/*"), [])
        equal(world.fleet.show(1)["leased"], 0)


@test
def bad_options_get_one_line():
    fleet = Fleet()
    worker = ("worker", "--cluster", fleet.urls, "--once")
    for options, why in ((("--mirror-quota", "much"), "--mirror-quota must be a size"), (("--mirror-max", "0"), "--mirror-max must be a size"),
                         (("--protocols", "https,ext"), "--protocols must be one or more of"), (("--fetch-stall", "1"), "--fetch-stall must be a time"),
                         (("--fetch-timeout", "10ms"), "--fetch-timeout must be a time"), (("--credentials", "none"), "cannot be read")):
        complains(2, why, *worker, *options)
    with open("open", "w") as file:
        file.write("[a]\npassword = hidden\n")
    os.chmod("open", 0o644)
    complains(2, "chmod 600", *worker, "--credentials", "open")


main()
