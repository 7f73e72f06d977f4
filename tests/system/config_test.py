#!/usr/bin/env python3
"""The configuration and --set apply to every verb that opens a cluster."""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from pg import Server  # noqa: E402
from program import complains, run  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

SHARDS = "".join(f'{{"start":"{start}","end":"{end}"}}\n' for start, end in ("ah", "hp", "pz"))
NAMES = ("run", "shard", "lease", "store", "txn", "bench")


def cluster_of(name, stores=2):
    cluster = ",".join(f"rocksdb:{os.getcwd()}/{name}{i}" for i in range(stores))
    equal(run("store", "init", "--cluster", cluster).status, 0)
    return cluster


def create(cluster, *options, run_id=1):
    return run("run", "create", "--cluster", cluster, "--run", str(run_id), "--shards", "-", "--json", *options, stdin=SHARDS)


def ok(*words):
    result = run(*words, "--json")
    equal(result.status, 0, result)
    return json.loads(result.out)


def leased(cluster):
    """Creates a run and claims one of its shards. Returns the lease and the first key of the shard."""
    equal(create(cluster).status, 0)
    claim = ok("lease", "claim", "--cluster", cluster, "--run", "1", "--worker", "w")
    return claim["lease"], claim["start"]


@test
def every_verb_on_a_cluster_takes_the_configuration():
    verbs = re.findall(r"^ {2}((?:%s)(?: [a-z-]+)?) {2}" % "|".join(NAMES), run("help").out, re.MULTILINE)
    taking = [verb for verb in verbs if "--cluster" in run("help", *verb.split()).out]
    holds(len(taking) >= 25, taking)
    for verb in taking:
        text = run("help", *verb.split()).out
        holds("--config FILE" in text and "--set NAME=VALUE" in text, verb)


@test
def every_verb_reports_a_wrong_setting():
    cluster = cluster_of("wrong")
    lease, _ = leased(cluster)
    for words in (["run", "show", "--run", "1"], ["run", "list"], ["run", "cancel", "--run", "1"], ["shard", "list", "--run", "1"],
                  ["lease", "claim", "--run", "1", "--worker", "w"], ["lease", "renew", "--lease", lease], ["store", "init"],
                  ["store", "status"], ["store", "get", "k"], ["store", "scan"], ["store", "recover"], ["store", "fence"],
                  ["txn", "status", "ts.x"], ["bench", "coord"]):
        complains(2, ["timeouts.prepar", "timeouts.prepare"], *words, "--cluster", cluster, "--set", "timeouts.prepar=1s")
    equal(ok("run", "show", "--cluster", cluster, "--run", "1")["status"], "Active")


@test
def a_timeout_ends_what_run_create_does():
    cluster = cluster_of("total")
    with open("config.yml", "w", encoding="utf-8") as file:
        file.write("timeouts:\n  total: 1us\n")
    for options in (["--set", "timeouts.total=1us"], ["--config", "config.yml"]):
        result = create(cluster, *options)
        equal(result.status, 6, result)
        answer = json.loads(result.out)
        holds(answer["error"] == "BackendError" and "took longer than timeouts.total" in answer["cause"], answer)
    equal(create(cluster).status, 0)


@test
def a_timeout_ends_a_checkpoint():
    cluster = cluster_of("checkpoint")
    lease, key = leased(cluster)
    words = ["lease", "checkpoint", "--cluster", cluster, "--lease", lease, "--key", key]
    complains(6, "timeouts.total", *words, "--set", "timeouts.total=1us")
    equal(run(*words).status, 0)


@test
def limits_of_shards_are_settings():
    cluster = cluster_of("limits")
    for setting, scope in (("shards.tenant_max", "PerTenant"), ("shards.global_max", "Global")):
        result = create(cluster, "--set", f"{setting}=2")
        equal(result.status, 3, result)
        answer = json.loads(result.out)
        equal((answer["inner"], answer["max"], answer["scope"]), ("ShardLimitExceeded", 2, scope))
    equal(create(cluster, "--set", "shards.tenant_max=3").status, 0)
    equal(create(cluster, "--set", "shards.tenant_max=5", run_id=2).status, 3)


@test
def a_checkpoint_is_in_the_metrics_and_has_a_waterfall():
    cluster = cluster_of("metrics")
    lease, key = leased(cluster)
    words = ["lease", "checkpoint", "--cluster", cluster, "--lease", lease, "--key", key]
    result = run(*words, "--metrics", "metrics.txt", "--waterfall")
    equal(result.status, 0, result)
    with open("metrics.txt", encoding="utf-8") as file:
        metrics = dict(line.rsplit(" ", 1) for line in file.read().splitlines() if not line.startswith("#"))
    equal(metrics["turnstone_xs_total_committed"], "1", metrics)
    line = re.fullmatch(r"turnstone: lease checkpoint: local transaction committed, attempts 1: "
                        r"queue=0\|route=\d+\|rpc_max=(\d+)\|read=0\|lock=\d+\|prep=0\|barrier=0\|commit=(\d+)\|.*total=(\d+)\n", result.err)
    holds(line and int(line[3]) >= int(line[1]) > 0, result.err)
    holds(run(*words, "--metrics", "-").out.count("turnstone_xs_total_committed 1\n") == 1, "on standard output, too")


@test
def a_standby_that_is_too_far_behind_keeps_coordination_out():
    with Server(max_prepared_transactions=10) as server, server.standby() as standby:
        server.create("a")
        cluster = server.url("a")
        equal(run("store", "init", "--cluster", cluster).status, 0)
        standby.sql("postgres", "SELECT pg_wal_replay_pause()")
        limit = ["--set", "replication.max_replication_lag_ms=1"]
        equal(create(cluster).status, 0)  # without a limit, the lag has no effect
        for run_id in range(2, 600):  # retries, because a server learns late how far a standby is behind
            result = create(cluster, *limit, run_id=run_id)
            if result.status != 0:
                break
            time.sleep(0.1)
        equal(result.status, 6, result)
        answer = json.loads(result.out)
        holds("replication.max_replication_lag_ms is 1" in answer["cause"] and answer["kind"] == "retryable", answer)


main()
