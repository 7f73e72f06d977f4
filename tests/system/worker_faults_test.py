#!/usr/bin/env python3
"""worker_faults_test.py PROGRAM LOOK rocksdb|postgres: at every critical point, a worker is killed, is paused
beyond its lease, or loses a reply. Afterwards another worker ends the run. Then the visible findings must
equal the findings of an undisturbed scan. The test compares every occurrence, also an allowed one, by rule,
digest of the secret, repository, object, path, line and column. LOOK is the program of
tests/driver/crew/look.c."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from fleet import LEASE_MS, SWEPT_S, Fleet, events, finish, is_stopped, large, new_fleet, repositories, resume, wait_until  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

LOOK = os.path.abspath(sys.argv[2])
ENGINE = sys.argv[3]
POINTS = ("unit-claimed", "unit-synced", "unit-after-part", "unit-after-stage", "unit-flip-sent", "unit-flip-applied", "unit-checkpointed")


def targets():
    return [large("repos/large"), *repositories("repos", 3, is_full=True)]


def each_point(paths):
    fleets = []
    for number, point in enumerate(POINTS, 1):
        fleet = new_fleet(ENGINE, number)
        fleet.submit(number, "repos")
        yield number, point, fleet
        finish(fleet, number, paths)
        fleets.append(fleet)
    time.sleep(SWEPT_S)
    for number, fleet in enumerate(fleets, 1):
        equal(fleet.work()[0], 0, "a worker that finds nothing to do sweeps")
        fleet.is_clean()
        expected = fleet.look(LOOK, number, paths)
        equal((expected["audit"], expected["left"]), (True, 0), POINTS[number - 1])
        equal(fleet.every_place(), expected["places"], POINTS[number - 1])
        equal(sorted({place[-1] for place in expected["places"]}), [False, True], "some places are allowed")


def worker_at(fleet, number, point, action=""):
    """Starts a worker that takes `action` (default: kill itself) at the point. With one job, it scans the
    large target last, and stores the results in parts."""
    return fleet.start("--jobs", "1", "--once", "--part-ms", "1", "--log", f"log{number}", env={"TURNSTONE_FAILPOINT": point + action})


@test
def a_worker_that_is_killed_at_any_point_loses_and_repeats_nothing():
    paths = targets()
    for number, point, fleet in each_point(paths):
        worker = worker_at(fleet, number, point)
        equal(worker.wait(timeout=120), -signal.SIGKILL, point)


@test
def what_a_killed_worker_has_stored_is_not_read_again():
    large("repos/large")
    whole, fleet = new_fleet(ENGINE, 1), new_fleet(ENGINE, 2)
    for one in (whole, fleet):
        one.submit(1, "repos")
    equal(whole.work("--log", "whole")[0], 0)
    (complete,) = [one for one in events("whole") if one["event"] == "done"]
    equal(worker_at(fleet, 1, "unit-checkpointed", ":2").wait(timeout=120), -signal.SIGKILL)
    known = [one["objects"] for one in events("log1") if one["event"] == "part"]
    equal(len(known), 2)
    time.sleep(LEASE_MS / 1000)
    equal(fleet.work("--log", "rest")[0], 0)
    (rest,) = [one for one in events("rest") if one["event"] == "done"]
    equal((rest["objects"], rest["findings"]), (complete["objects"], complete["findings"]))
    # All contents have nearly the same size. The worker reads contents with a finding again, hence the factor
    # 0.9.
    holds(rest["bytes_read"] <= complete["bytes_read"] * (1 - 0.9 * known[-1] / complete["objects"]), (known, rest, complete))


@test
def a_worker_that_loses_a_reply_finds_out_what_happened():
    paths = targets()
    for number, point, fleet in each_point(paths):
        worker = worker_at(fleet, number, point, "=lose")
        equal(worker.wait(timeout=120), 0, point)


@test
def a_worker_that_is_paused_past_its_lease_writes_nothing_under_it():
    """On PostgreSQL, another worker takes over the target during the pause. On RocksDB, no other worker can:
    the paused worker keeps the directory open."""
    paths = targets()
    for number, point, fleet in each_point(paths):
        worker = worker_at(fleet, number, point, "=stop")
        wait_until(lambda: is_stopped(worker))  # pylint: disable=cell-var-from-loop
        if ENGINE == "postgres":
            equal(fleet.work()[0], 0, point)
        else:
            time.sleep(LEASE_MS / 1000 + 0.3)
        resume(worker)
        equal(worker.wait(timeout=120), 0, point)
        kinds = [one["event"] for one in events(f"log{number}")]
        # Normally the paused worker logs "lost". But if it had applied the flip, another worker has completed
        # the shard, and the paused worker's call to complete it succeeds as a replay.
        holds("lost" in kinds or (point, ENGINE) == ("unit-flip-applied", "postgres"), f"{point}: {kinds}")


if __name__ == "__main__":
    main()
