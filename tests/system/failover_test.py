#!/usr/bin/env python3
"""failover_test.py PROGRAM: stores whose server has a synchronous standby. The primary dies, the standby
becomes primary, and the old primary starts again."""
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from fleet import wait_until  # noqa: E402
from pg import Pair, Server  # noqa: E402
from program import complains, run  # noqa: E402
from storm import Storm  # noqa: E402
from storm_check import check  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

OPTIONS = {"max_prepared_transactions": 64, "fsync": False, "settings": "log_min_messages = panic"}
SECONDS = int(os.environ.get("TURNSTONE_STORM_SECONDS", "20"))
SEED = os.environ.get("TURNSTONE_STORM_SEED", "failover")


def put(urls, key, value):
    return run("txn", "--cluster", urls, stdin=json.dumps({"op": "put", "key": key, "value": value}) + "\n")


def value_of(urls, key):
    done = run("store", "get", key, "--cluster", urls, "--json")
    return json.loads(done.out).get("value") if done.status == 0 else done


@test
def a_storm_in_which_a_standby_takes_over_loses_and_repeats_nothing():
    storm = Storm(SEED, repositories=24, servers=[Pair(**OPTIONS), Server(**OPTIONS)])
    try:
        storm.blow(SECONDS)
        storm.calm()
        equal(storm.counts["failovers"], 1)
        check(storm)
    finally:
        storm.close()


@test
def the_primary_is_found_wherever_it_is_in_the_list():
    pair = Pair(**OPTIONS)
    try:
        pair.create("a")
        urls = pair.url("a")
        equal(run("store", "init", "--cluster", urls).status, 0)
        equal(put(urls, "k", "1").status, 0)
        pair.hosts.reverse()
        equal(put(pair.url("a"), "k", "2").status, 0)
        pair.fail_over()
        for _ in range(2):
            equal(value_of(pair.url("a"), "k"), "2")
            equal(put(pair.url("a"), "k", "2").status, 0)
            pair.hosts.reverse()
    finally:
        pair.stop()


@test
def a_standby_without_a_primary_is_reported_as_that():
    pair = Pair(**OPTIONS)
    try:
        pair.create("a")
        equal(run("store", "init", "--cluster", pair.url("a")).status, 0)
        wait_until(lambda: pair.standby.sql("postgres", "SELECT count(*) FROM pg_database WHERE datname = 'a'") == "1")
        pair.primary.kill()
        for _ in range(2):
            complains(6, ["none of its servers accepts writes", "promote a standby"], "store", "status", "--cluster", pair.url("a"))
            pair.hosts.reverse()
    finally:
        pair.stop()


@test
def a_standby_that_refuses_does_not_hide_the_primary():
    """libpq skips a host only if the host cannot be reached."""
    pair = Pair(**OPTIONS)
    try:
        pair.standby.sql("postgres", "SELECT pg_wal_replay_pause()")
        pair.create("late")  # the standby does not have this database yet
        pair.hosts.reverse()
        complains(6, ["no such database"], "store", "init", "--cluster", pair.standby.url("late"))
        equal(run("store", "init", "--cluster", pair.url("late")).status, 0)
        equal(put(pair.url("late"), "k", "1").status, 0)
        complains(6, ["no such database"], "store", "init", "--cluster", pair.url("missing"))
    finally:
        pair.stop()


@test
def an_old_primary_that_comes_back_is_refused():
    pair, other = Pair(**OPTIONS), Server(**OPTIONS)
    try:
        pair.create("a")
        other.create("b")
        urls = f"{pair.url('a')},{other.url('b')}"
        equal(run("store", "init", "--cluster", urls).status, 0)
        for number in range(20):
            equal(put(urls, f"k{number}", "before").status, 0)
        pair.fail_over()
        for number in range(20):
            equal(put(urls, f"k{number}", "after").status, 0)
        # A process that runs for a few seconds records the new timeline on the other store.
        equal(run("bench", "xs", "--scenario", "bank", "--threads", "1", "--seconds", "3", "--cluster", urls).status, 0)
        holds(run("store", "scan", "0x006c", "--cluster", urls).out.count("version") == 1, run("store", "scan", "0x006c", "--cluster", urls))
        # The old primary runs again and accepts writes. The URL of the store names it first.
        pair.primary.configure("synchronous_standby_names = ''")
        os.truncate(os.path.join(pair.primary.folder, "postgresql.auto.conf"), 0)
        pair.primary.resume()
        equal(pair.primary.sql("a", "SELECT pg_is_in_recovery()"), "f")
        for number in range(20):
            equal(value_of(urls, f"k{number}"), "after")
            equal(put(urls, f"k{number}", "last").status, 0)
        # If the URL names only the old primary, it is refused, even by a process that never saw the new
        # primary.
        alone = f"{pair.primary.url('a')},{other.url('b')}"
        complains(6, ["an old primary", "timeline 1", "promoted to 2"], "store", "scan", "--store", "0", "--cluster", alone)
        status = run("store", "status", "--cluster", alone)
        holds("an old primary" in status.out + status.err, status)
    finally:
        pair.stop()
        other.stop()


@test
def a_commit_that_the_standby_may_not_have_is_unknown():
    """If a commit that waits for the standby is cancelled, the server reports success with only a warning."""
    pair = Pair(**OPTIONS)
    try:
        pair.create("a")
        urls = pair.url("a")
        equal(run("store", "init", "--cluster", urls).status, 0)
        pair.standby.kill()
        results = []
        thread = threading.Thread(target=lambda: results.append(put(urls, "k", "1")))
        thread.start()
        cancel = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'turnstone'"
        wait_until(lambda: pair.primary.sql("postgres", cancel) != "0")
        thread.join()
        equal(results[0].status, 5, results[0])
    finally:
        pair.stop()


if __name__ == "__main__":
    main()
