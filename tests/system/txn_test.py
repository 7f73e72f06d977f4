#!/usr/bin/env python3
"""turnstone txn: executes all operations of a list of JSON lines, or none of them, and prints the results."""
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from pg import Server  # noqa: E402
from program import PROGRAM, complains, run  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

WATERFALL = re.compile(r"queue=\d+\|route=\d+\|rpc_max=\d+\|read=\d+\|lock=\d+\|prep=\d+\|barrier=\d+\|commit=\d+"
                       r"\|repl=\d+\|retry=\d+\|total=\d+")


def made(*names):
    cluster = ",".join(f"rocksdb:{os.getcwd()}/{name}" for name in names)
    equal(run("store", "init", "--cluster", cluster).status, 0)
    return cluster


def txn(cluster, *ops, options=()):
    result = run("txn", "--cluster", cluster, "--json", *options, stdin="".join(json.dumps(op) + "\n" for op in ops))
    return result, json.loads(result.out) if result.out else None


def put(key, value="1"):
    return {"op": "put", "key": key, "value": value}


def get(cluster, key):
    return json.loads(run("store", "get", "--cluster", cluster, "--json", key).out)


@test
def one_store_is_local_and_several_are_global():
    cluster = made("a", "b", "c")
    result, said = txn(cluster, put("k"))
    equal((result.status, said["class"], said["outcome"], said["sqlstate"], len(said["stores"])),
          (0, "local", "committed", "00000", 1))
    holds(WATERFALL.fullmatch(said["waterfall"]), said)
    result, said = txn(cluster, *(put(f"k{i}") for i in range(12)))
    equal((result.status, said["class"], said["outcome"], said["stores"]), (0, "global", "committed", [0, 1, 2]))
    holds(re.search(r"\|prep=[1-9]\d*\|barrier=[1-9]\d*\|commit=[1-9]", said["waterfall"]), said)
    holds(re.fullmatch(r"ts\.[0-9a-f]+\.[0-9a-f]+\.\d+\.\d+\w*", said["id"]), said)
    text = run("txn", "--cluster", cluster, stdin=json.dumps(put("k")) + "\n").out
    holds("committed (local on store " in text and "00000" in text and WATERFALL.search(text), text)
    text = run("txn", "--cluster", cluster, stdin=json.dumps(put("0x00aa")) + "\n").out
    holds(text.startswith("- refused 22023\n"), text)


FIELDS = ["coord_queue_us", "route_plan_us", "shard_rpc_us", "shard_rpc_max_us", "other_rpc_us", "read_phase_us", "lock_validate_us",
          "prepare_wal_us", "commit_barrier_us", "commit_wal_us", "replication_ack_us", "gc_impact_us",
          "retry_backoff_us", "total_us"]


@test
def the_breakdown_has_every_field_and_says_what_the_waterfall_says():
    cluster = made("a", "b", "c")
    for ops, stores in (([put("k")], 1), ([put(f"k{i}") for i in range(12)], 3)):
        _, said = txn(cluster, *ops)
        latency = said["latency"]
        equal(list(latency), FIELDS)
        equal(len(latency["shard_rpc_us"]), stores)
        holds(all(us > 0 for us in latency["shard_rpc_us"]), said)
        shown = dict(part.split("=") for part in said["waterfall"].split("|"))
        equal([int(shown[name]) for name in ("queue", "prep", "barrier", "commit", "total")],
              [latency[name + "_us"] for name in ("coord_queue", "prepare_wal", "commit_barrier", "commit_wal", "total")])
        equal((latency["shard_rpc_max_us"], int(shown["rpc_max"])), (max(latency["shard_rpc_us"]),) * 2)
        phases = {name: us for name, us in latency.items() if name not in ("total_us", "shard_rpc_us", "shard_rpc_max_us")}
        most = max(phases, key=phases.get)
        equal(said["dominant_phase"], "shard_rpc_us" if most == "other_rpc_us" else most)


@test
def a_failure_without_an_answer_of_a_store_has_its_own_reason():
    """A prepared transaction of another program has locked the table of a store. The deadlock detector ends
    the wait for the locks."""
    with Server(max_prepared_transactions=20, fsync=False) as server:
        server.create("one", "two", "three")
        cluster = ",".join(server.url(name) for name in ("one", "two", "three"))
        equal(run("store", "init", "--cluster", cluster).status, 0)
        ops = [put(f"k{i}") for i in range(12)]
        server.sql("three", "BEGIN; LOCK TABLE turnstone.item; PREPARE TRANSACTION 'of somebody else'")
        result, said = txn(cluster, *ops, options=["--set", "deadlock.timeout=300ms", "--set", "retry.max_retries=0"])
        equal((result.status, said["outcome"], said["sqlstate"], said["reason"]), (3, "aborted", "40000", "deadlock"))
        holds("ShardLockWait(" in said["text"], said)
        result, said = txn(cluster, *ops, options=["--set", "timeouts.prepare=200ms", "--set", "retry.max_retries=0"])
        equal((result.status, said["reason"], said["timeout"]), (3, "timeout", "Prepare"))
        server.sql("three", "ROLLBACK PREPARED 'of somebody else'")


@test
def a_check_that_fails_changes_nothing_on_any_store():
    cluster = made("a", "b", "c")
    txn(cluster, *(put(f"k{i}", "old") for i in range(12)))
    version = get(cluster, "k0")["version"]
    ops = [put(f"k{i}", "new") for i in range(1, 12)] + [{"op": "check", "key": "k0", "version": version + 1000}]
    result, said = txn(cluster, *ops)
    equal((result.status, said["outcome"], said["sqlstate"], said["line"]), (3, "aborted", "40001", 12))
    equal({get(cluster, f"k{i}")["value"] for i in range(12)}, {"old"})
    result, said = txn(cluster, *(ops[:-1] + [{"op": "check", "key": "k0", "version": version}]))
    equal((result.status, said["outcome"]), (0, "committed"))
    equal({get(cluster, f"k{i}")["value"] for i in range(1, 12)}, {"new"})


@test
def insert_only_when_absent():
    cluster = made("a", "b")
    insert = [{"op": "check", "key": "k", "version": 0}, put("k")]
    equal(txn(cluster, *insert)[0].status, 0)
    result, said = txn(cluster, *insert)
    equal((result.status, said["sqlstate"]), (3, "40001"))


@test
def counters_count_and_stop_at_their_limits():
    cluster = made("a", "b")
    add = {"op": "add", "key": "n", "delta": 3, "max": 5}
    equal(txn(cluster, add)[0].status, 0)
    equal(get(cluster, "n")["value"], "3")
    result, said = txn(cluster, add)
    equal((result.status, said["sqlstate"], said["reason"]), (3, "54000", "limit"))
    equal(txn(cluster, {"op": "add", "key": "n", "delta": -4})[0].status, 3)
    equal(get(cluster, "n")["value"], "3")


@test
def late_is_refused():
    cluster = made("a", "b")
    result, said = txn(cluster, put("k"), {"op": "before", "time_ms": 1000})
    equal((result.status, said["outcome"], said["sqlstate"], said["reason"]), (3, "aborted", "40001", "late"))
    equal(txn(cluster, put("k"), {"op": "before", "time_ms": 99999999999999})[0].status, 0)


@test
def deleted_and_made_again_has_a_new_version():
    cluster = made("a")
    txn(cluster, put("k"))
    first = get(cluster, "k")["version"]
    txn(cluster, {"op": "del", "key": "k"})
    equal(get(cluster, "k")["version"], 0)
    txn(cluster, put("k"))
    holds(get(cluster, "k")["version"] > first, "a version came back")


@test
def a_recorded_transaction_can_be_asked_about():
    cluster = made("a", "b", "c")
    for ops in ([put("k")], [put(f"k{i}") for i in range(12)]):
        _, said = txn(cluster, *ops, options=["--record"])
        result = run("txn", "status", "--cluster", cluster, said["id"])
        equal((result.status, result.out), (0, "committed\n"))
        told = json.loads(run("txn", "status", "--cluster", cluster, "--json", said["id"]).out)
        equal((told["status"], told["recorded"]), ("committed", True))
    version = get(cluster, "k")["version"]
    _, said = txn(cluster, *(put(f"k{i}") for i in range(12)), {"op": "check", "key": "k", "version": version + 1},
                  options=["--record"])
    equal(run("txn", "status", "--cluster", cluster, said["id"]).out, "aborted\n")


@test
def a_recorded_transaction_that_recovery_aborted_is_aborted():
    """The coordinator is killed before its decision, so that no outcome is recorded."""
    cluster = made("a", "b", "c")
    for options, said in ((["--record"], (0, "aborted\n")), ([], (5, "unknown\n"))):
        killed = run("txn", "--cluster", cluster, *options, stdin="".join(json.dumps(put(f"k{i}")) + "\n" for i in range(12)),
                     env={"TURNSTONE_FAILPOINT": "before-commit-point"})
        equal(killed.status, -signal.SIGKILL, killed)
        promises = json.loads(run("store", "status", "--cluster", cluster, "--json").out)["promises"]
        transaction, = {promise["id"] for promise in promises}
        equal(run("txn", "status", "--cluster", cluster, transaction).out, "pending\n")
        equal(run("store", "recover", "--cluster", cluster).status, 0)
        result = run("txn", "status", "--cluster", cluster, transaction)
        equal((result.status, result.out), said)


@test
def a_server_that_is_down_leaves_the_rest_to_be_seen_and_settled():
    with Server(max_prepared_transactions=20, fsync=False) as one, Server(max_prepared_transactions=20, fsync=False) as two:
        one.create("first")
        cluster = f"{one.url('first')},{one.url()},{two.url()}"
        equal(run("store", "init", "--cluster", cluster).status, 0)
        lines = "".join(json.dumps(put(f"k{i}")) + "\n" for i in range(12))
        run("txn", "--cluster", cluster, "--record", stdin=lines, env={"TURNSTONE_FAILPOINT": "before-commit-point"})
        transaction = json.loads(run("store", "status", "--cluster", cluster, "--json").out)["promises"][0]["id"]
        two.kill()
        result = run("store", "status", "--cluster", cluster, "--json")
        stores = json.loads(result.out)["stores"]
        equal((result.status, [store.get("promises") for store in stores]), (6, [0, 1, None]))
        holds("cannot be reached" in stores[2]["error"] and "store 2" in result.err, result)
        told = json.loads(run("txn", "status", "--cluster", cluster, "--json", transaction).out)
        equal((told["status"], told["promises"], told["unreachable"]), ("pending", 1, 1))
        result = run("store", "recover", "--cluster", cluster, "--json")
        equal((result.status, json.loads(result.out)["aborted"]), (4, 1))
        equal(run("txn", "status", "--cluster", cluster, transaction).out, "aborted\n")
        complains(6, "cannot be reached", "store", "fence", "--cluster", cluster)
        two.resume()
        result = run("store", "recover", "--cluster", cluster, "--json")
        equal((result.status, json.loads(result.out)["aborted"]), (0, 1))


@test
def without_a_record_the_answer_is_unknown():
    cluster = made("a")
    _, said = txn(cluster, put("k"))
    result = run("txn", "status", "--cluster", cluster, said["id"])
    equal((result.status, result.out), (5, "unknown\n"))


@test
def an_id_of_nothing_is_refused():
    cluster = made("a", "b")
    complains(2, "id", "txn", "status", "--cluster", cluster, "nonsense")
    complains(2, "one transaction id", "txn", "status", "--cluster", cluster)


@test
def wrong_lines_are_named_and_nothing_is_applied():
    cluster = made("a")
    wrong = (
        ("{", "JSON"), ("[]", "object"), ('{"key":"a"}', '"op"'), ('{"op":"putt","key":"a","value":"1"}', "'put'"),
        ('{"op":"put","key":"a"}', "value"), ('{"op":"put","value":"1"}', '"key"'),
        ('{"op":"put","key":"","value":"1"}', "empty"), ('{"op":"put","key":"0x1","value":"1"}', "odd"),
        ('{"op":"put","key":"a","value":"1","extra":1}', "extra"), ('{"op":"put","key":"a","value":1}', "string"),
        ('{"op":"put","key":"a","value_hex":"0g"}', "hex"), ('{"op":"add","key":"a"}', "delta"),
        ('{"op":"add","key":"a","delta":1.5}', "whole number"), ('{"op":"check","key":"a"}', "version"),
        ('{"op":"check","key":"a","version":-1}', "version"), ('{"op":"before"}', "time_ms"),
        ('{"op":"put","key":"a","key":"b","value":"1"}', "duplicate"),
    )
    for line, part in wrong:
        complains(2, ["line 2", part], "txn", "--cluster", cluster, stdin=json.dumps(put("first")) + "\n" + line + "\n")
    equal(get(cluster, "first")["version"], 0)
    complains(2, "no operations", "txn", "--cluster", cluster, stdin="\n\n")


@test
def impossible_transactions_are_refused_as_bad_input():
    cluster = made("a", "b")
    for ops, part in (([put("k"), put("k")], "k"), ([{"op": "check", "key": "k", "version": 0}], "absen"),
                      ([put("0x0061")], "system"), ([put("k" * 1025)], "1024")):
        result = run("txn", "--cluster", cluster, stdin="".join(json.dumps(op) + "\n" for op in ops))
        equal(result.status, 2, f"{ops}: {result}")


@test
def metrics_are_written_as_prometheus_reads_them():
    cluster = made("a", "b", "c")
    txn(cluster, *(put(f"k{i}") for i in range(12)), options=["--metrics", "metrics.prom"])
    with open("metrics.prom") as file:
        text = file.read()
    for name in ("turnstone_xs_total_attempted", "turnstone_xs_total_committed", "turnstone_xs_coord_in_flight",
                 "turnstone_xs_circuit_breaker_state", "turnstone_xs_total_us_bucket", "turnstone_xs_shard_rpc_us_bucket"):
        holds(name in text, f"{name} is not in the metrics")
    holds(re.search(r"^turnstone_xs_total_committed 1$", text, re.MULTILINE), text)
    for store in range(3):
        holds(f'turnstone_xs_shard_rpc_us_count{{store="{store}"}} 1\n' in text, f"round trips to store {store}")


@test
def metrics_that_cannot_be_written_are_reported_first():
    cluster = made("a")
    complains(2, "nowhere/m.prom", "txn", "--cluster", cluster, "--metrics", "nowhere/m.prom",
              stdin=json.dumps(put("k")) + "\n")
    equal(get(cluster, "k")["version"], 0)


@test
def settings_change_behaviour_and_wrong_ones_are_named():
    cluster = made("a", "b")
    complains(2, ["timeouts.prepar", "timeouts.prepare"], "txn", "--cluster", cluster, "--set", "timeouts.prepar=1s",
              stdin=json.dumps(put("k")) + "\n")
    complains(2, "timeouts.prepare", "txn", "--cluster", cluster, "--set", "timeouts.prepare=soon",
              stdin=json.dumps(put("k")) + "\n")
    with open("config.yml", "w") as file:
        file.write("timeouts:\n  prepare: nonsense\n")
    complains(2, ["config.yml", "timeouts.prepare"], "txn", "--cluster", cluster, "--config", "config.yml",
              stdin=json.dumps(put("k")) + "\n")


def until(wanted, cluster, *ops, options):
    """Repeats a transaction until its SQLSTATE is `wanted`, because a server learns late how far a standby is
    behind. Returns the last result."""
    for _ in range(600):
        result, said = txn(cluster, *ops, options=options)
        if said["sqlstate"] == wanted:
            return result, said
        time.sleep(0.1)
    raise AssertionError(f"never {wanted}: {result}")


def limit(lag_ms):
    return ("--set", f"replication.max_replication_lag_ms={lag_ms}")


@test
def a_standby_that_is_too_far_behind_keeps_transactions_out():
    with Server(max_prepared_transactions=10) as server, server.standby() as standby:
        server.create("a")
        cluster = f"{server.url('a')},rocksdb:{os.getcwd()}/b"
        equal(run("store", "init", "--cluster", cluster).status, 0)
        both = [put(f"k{i}") for i in range(12)]
        until("00000", cluster, *both, options=limit(1000))
        standby.sql("postgres", "SELECT pg_wal_replay_pause()")
        equal(txn(cluster, *both)[1]["sqlstate"], "00000")  # without a limit, the lag has no effect
        result, said = until("53301", cluster, *both, options=limit(1))
        equal((said["outcome"], said["id"]), ("refused", ""))
        text = re.fullmatch(r"(\S+): a standby is (\d+) ms behind and replication.max_replication_lag_ms is 1; try .*",
                            said["text"])
        holds(text and text[1] == server.url("a") and int(text[2]) > 1, said)
        equal(txn(cluster, *both, options=limit(3600000))[1]["sqlstate"], "00000")
        local = {json.loads(run("txn", "--cluster", cluster, "--json", *limit(1), stdin=json.dumps(op) + "\n").out)["sqlstate"]
                 for op in both}
        equal(local, {"00000", "53301"})  # transactions on store b, which has no standby, continue
        standby.sql("postgres", "SELECT pg_wal_replay_resume()")
        until("00000", cluster, *both, options=limit(1))


@test
def a_role_that_may_not_see_standbys_gets_the_missing_grant():
    with Server(max_prepared_transactions=10) as server, server.standby():
        server.sql("postgres", "CREATE ROLE plain LOGIN")
        server.sql("postgres", "CREATE DATABASE a OWNER plain")
        cluster = server.url("a", "plain")
        equal(run("store", "init", "--cluster", cluster).status, 0)
        equal(txn(cluster, put("k"))[0].status, 0)
        complains(6, "GRANT pg_monitor", "txn", "--cluster", cluster, *limit(1000), stdin=json.dumps(put("k")) + "\n")
        server.sql("postgres", "GRANT pg_monitor TO plain")
        until("00000", cluster, put("k"), options=limit(1000))


@test
def a_committed_transaction_succeeds_even_if_its_report_is_lost():
    cluster = f"rocksdb:{os.getcwd()}/report"
    equal(run("store", "init", "--cluster", cluster).status, 0)
    line = '{"op":"add","key":"n","delta":1}\n'
    result = run("txn", "--cluster", cluster, "--metrics", "/dev/full", stdin=line)
    equal(result.status, 0, result)
    holds("cannot write the metrics" in result.err and "do not repeat it" in result.err, result)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([PROGRAM, "txn", "--cluster", cluster], input=line, stdout=full, stderr=subprocess.PIPE,
                              text=True, check=False)
    equal(done.returncode, 0, done)
    holds("cannot write to standard output" in done.stderr and "do not repeat it" in done.stderr, done)
    holds(": 2" in run("store", "get", "--cluster", cluster, "n").out, "both are counted")
    # A transaction that is not committed keeps its own status.
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([PROGRAM, "txn", "--cluster", cluster], input='{"op":"check","key":"n","version":1}\n',
                              stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    holds(done.returncode not in (0, 6) and "do not repeat it" not in done.stderr, done)


main()
