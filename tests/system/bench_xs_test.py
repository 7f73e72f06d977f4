#!/usr/bin/env python3
"""turnstone bench xs: every scenario on real stores, and the scenario `bank` after a kill."""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from pg import Server  # noqa: E402
from program import PROGRAM, complains, run  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

MEMORY = "memory:a,memory:b,memory:c,memory:d"
FIELDS = {"total_txns", "committed", "aborted", "retried", "throughput_tps", "p50_us", "p95_us", "p99_us", "p999_us",
          "dominant_phases", "duration_ms", "acceptance", "pass", "unknown", "scenario", "threads", "stores"}
CHECKS = {"uniform": ["commit_rate", "p999_divergence", "retry_storm"],
          "zipfian": ["p999_divergence", "retry_storm"],
          "mixed": ["commit_rate", "p999_divergence", "retry_storm"],
          "pure": ["commit_rate", "p999_divergence", "retry_storm"],
          "contended": ["commit_rate", "p999_divergence", "retry_storm"],
          "concurrency": ["commit_rate", "p999_divergence", "retry_storm"],
          "faults": ["commit_rate", "p999_divergence", "retry_storm", "responsive", "circuit_breaker", "faults_injected"],
          "bank": ["p999_divergence", "retry_storm", "total_kept"]}
# Criteria that do not depend on the speed of the machine. Times depend on the speed. The number of commits
# while a store is dead depends on the speed, too.
REQUIRED = {"commit_rate", "retry_storm", "total_kept", "faults_injected"}


def made(count=2):
    """Makes a cluster of `count` RocksDB stores in the current folder, and returns its URLs."""
    cluster = ",".join(f"rocksdb:{os.getcwd()}/{i}" for i in range(count))
    result = run("store", "init", "--cluster", cluster)
    equal((result.status, result.err), (0, ""))
    return cluster


def bench(cluster, scenario, *more, seconds="0.3", threads="3", fails=()):
    """Runs a scenario, checks what holds for the figures of every scenario, and returns these figures. The
    criteria in REQUIRED must hold. Other criteria may fail, because the machine may be loaded."""
    result = run("bench", "xs", "--cluster", cluster, "--scenario", scenario, "--threads", threads, "--seconds", seconds, "--json",
                 *more)
    holds(result.status in (0, 1) and result.err == "", result)
    figures = json.loads(result.out)
    holds(FIELDS <= set(figures), f"{scenario} lacks {FIELDS - set(figures)}")
    equal(figures["scenario"], scenario)
    equal(figures["stores"], cluster.count(",") + 1)
    equal([check["name"] for check in figures["acceptance"]], CHECKS[scenario])
    equal(figures["pass"], all(check["pass"] for check in figures["acceptance"]))
    equal(result.status, 0 if figures["pass"] else 1)
    for criterion in figures["acceptance"]:
        if criterion["name"] in REQUIRED and not (scenario == "faults" and criterion["name"] == "commit_rate"):
            holds(criterion["pass"] or criterion["name"] in fails, criterion)
    equal([store["store"] for store in figures["by_store"]], list(range(figures["stores"])))
    equal(figures["total_txns"], figures["committed"] + figures["aborted"] + figures["unknown"])
    holds(figures["committed"] > 0, figures)
    equal(sum(figures["dominant_phases"].values()), figures["total_txns"])
    holds(0 < figures["p50_us"] <= figures["p95_us"] <= figures["p99_us"] <= figures["p999_us"], figures)
    return figures


def passed(figures, name):
    return next(check["pass"] for check in figures["acceptance"] if check["name"] == name)


def check(cluster):
    return run("bench", "xs", "--cluster", cluster, "--scenario", "bank", "--check")


def changed(cluster, **operation):
    result = run("txn", "--cluster", cluster, stdin=json.dumps(operation) + "\n")
    equal(result.status, 0, result)


@test
def every_scenario_runs_on_memory():
    for scenario in CHECKS:
        bench(MEMORY, scenario, seconds="0.8" if scenario == "faults" else "0.3")


@test
def every_scenario_runs_on_rocksdb():
    cluster = made(2)
    for scenario in CHECKS:
        bench(cluster, scenario, seconds="0.8" if scenario == "faults" else "0.3")


@test
def every_scenario_runs_on_postgres():
    with Server(max_prepared_transactions=50) as one, Server(max_prepared_transactions=50) as other:
        cluster = f"{one.url()},{other.url()}"
        equal(run("store", "init", "--cluster", cluster).status, 0)
        for scenario in CHECKS:
            bench(cluster, scenario, seconds="2" if scenario == "faults" else "0.5")
        result = check(cluster)
        equal((result.status, result.err), (0, ""), result)


@test
def transactions_cross_stores_as_their_scenario_says():
    figures = bench(MEMORY, "uniform")
    equal(figures["global"], figures["total_txns"])
    figures = bench(MEMORY, "mixed")
    holds(0.19 < figures["global"] / figures["total_txns"] < 0.21, figures)
    figures = bench("memory:", "uniform")
    equal(figures["global"], 0)


ADAPT_AT_ONCE = [word for setting in ("interval=1ms", "min_txns=1", "low_conflict_rate=0.0", "high_conflict_rate=0.000001")
                 for word in ("--set", f"adaptive.{setting}")]


@test
def zipfian_and_mixed_conflict_and_the_limit_of_the_store_falls():
    for scenario in ("zipfian", "mixed"):
        figures = bench("memory:a,memory:b", scenario, *ADAPT_AT_ONCE, seconds="2", threads="8")
        holds(figures["check_failed"] > 0, figures)
        holds(sum(store["conflicts"] for store in figures["by_store"]) >= figures["check_failed"], figures)
        holds(any(store["concurrency_limit"] < store["concurrency_limit_before"] for store in figures["by_store"]), figures)
    # Threads with separate keys have no conflicts, so the limit does not fall.
    figures = bench("memory:a,memory:b", "concurrency", *ADAPT_AT_ONCE, seconds="0.5", threads="8")
    equal((figures["check_failed"], sum(store["conflicts"] for store in figures["by_store"])), (0, 0))
    holds(all(store["concurrency_limit"] >= store["concurrency_limit_before"] for store in figures["by_store"]), figures)
    text = run("bench", "xs", "--cluster", "memory:", "--scenario", "mixed", "--seconds", "0.1").out
    holds("concurrency limit 128 -> " in text, text)


def contended(urls):
    """Returns the commits per second on three stores, divided by the commits per second on two stores, when
    all transactions use the same keys. The machine may be slower during one of the two measurements, so the
    function repeats both up to four times, and returns the best quotient."""
    best = 0
    for _ in range(4):
        two, three = (bench(cluster, "contended", threads="4", seconds="1")["throughput_tps"] for cluster in urls)
        best = max(best, three / two)
        if best >= 0.3:
            break
    return best


@test
def contended_transactions_on_three_stores_are_not_much_slower_than_on_two():
    holds(contended(["memory:a,memory:b", "memory:a,memory:b,memory:c"]) >= 0.3, "memory")
    urls = [",".join(f"rocksdb:{os.getcwd()}/{count}-{i}" for i in range(count)) for count in (2, 3)]
    with Server(max_prepared_transactions=64, fsync=False) as server:
        names = [[f"of{count}_{i}" for i in range(count)] for count in (2, 3)]
        server.create(*names[0], *names[1])
        for engine, clusters in (("rocksdb", urls), ("postgresql", [",".join(map(server.url, some)) for some in names])):
            for cluster in clusters:
                equal(run("store", "init", "--cluster", cluster).status, 0)
            holds(contended(clusters) >= 0.3, engine)


@test
def the_zipfian_scenario_says_its_exponent():
    equal(bench(MEMORY, "zipfian")["zipf_exponent"], 0.99)


@test
def faults_are_really_injected():
    figures = bench("memory:a,memory:b", "faults", seconds="1")
    faults = figures["faults"]
    holds(faults["duplicates"] > 0 and faults["calls_struck"] > 0 and faults["stores_died"] == 1, faults)
    holds(figures["check_failed"] > 0, figures)
    holds(figures["circuit_breaker_trips"] > 0, figures)
    holds(passed(figures, "faults_injected"), figures)


@test
def metrics_are_written_where_they_are_wanted():
    figures = bench(MEMORY, "pure", "--metrics", "metrics.txt")
    with open("metrics.txt") as file:
        lines = file.read().splitlines()
    holds(f"turnstone_xs_total_committed {figures['committed']}" in lines, lines)
    complains(2, ["metrics", "nowhere/metrics.txt"], "bench", "xs", "--cluster", MEMORY, "--scenario", "pure", "--seconds",
              "0.1", "--metrics", "nowhere/metrics.txt")


@test
def a_configuration_changes_what_is_done():
    figures = bench(MEMORY, "uniform", "--set", "admission.hard_limit=1", "--set", "admission.soft_limit=1",
                    fails=("commit_rate",))
    holds(figures["refused"] > 0, figures)
    complains(2, "admission.hard_limit", "bench", "xs", "--cluster", MEMORY, "--scenario", "uniform", "--set",
              "admission.hard_limit=x")


@test
def a_cluster_without_accounts_is_well():
    result = check(made(2))
    equal((result.status, result.err), (0, ""))
    holds("no accounts" in result.out, result)


@test
def a_bank_continues_with_the_accounts_that_are_there():
    cluster = made(3)
    first = bench(cluster, "bank")["bank"]
    equal(first["accounts"], 3 * 64)
    equal(first["found"], 3 * 64 * 1000)
    second = bench(cluster, "bank")["bank"]
    equal(second, first)
    result = check(cluster)
    equal((result.status, result.err), (0, ""))
    holds("192000" in result.out and "as they should" in result.out, result)


@test
def a_planted_imbalance_is_found_and_measured():
    cluster = made(2)
    bench(cluster, "bank")
    account = json.loads(run("store", "scan", "--cluster", cluster, "--store", "0", "--json", "bench/bank/account/")
                         .out.splitlines()[0])["key"]
    for delta, off in ((7, "+7"), (-10, "-3")):
        changed(cluster, op="add", key=account, delta=delta)
        result = check(cluster)
        equal((result.status, result.err), (1, ""), result)
        holds(f"off by {off}:" in result.out, result)
    result = run("bench", "xs", "--cluster", cluster, "--scenario", "bank", "--check", "--json")
    equal(json.loads(result.out)["off"], -3)
    figures = bench(cluster, "bank", fails=("total_kept",))
    holds(not passed(figures, "total_kept"), figures)
    changed(cluster, op="add", key=account, delta=3)
    equal(check(cluster).status, 0)
    changed(cluster, op="put", key=account, value="plenty")
    holds("not a number" in check(cluster).out, "an account that is no number")


@test
def a_bank_that_is_killed_keeps_its_total():
    cluster = made(2)
    for number in range(3):
        process = subprocess.Popen([PROGRAM, "bench", "xs", "--cluster", cluster, "--scenario", "bank", "--threads", "8",
                                    "--seconds", "60"], stdout=subprocess.DEVNULL)
        time.sleep(0.3 + 0.2 * number)
        process.send_signal(signal.SIGKILL)
        process.wait()
    result = check(cluster)
    equal((result.status, result.err), (0, ""), result)
    holds("as they should" in result.out or "no accounts" in result.out, result)


@test
def a_founder_that_is_killed_leaves_all_accounts_or_none():
    for point, left in (("after-prepare", "there are no accounts\n"),
                        ("before-commit-point", "there are no accounts\n"),
                        ("after-commit-point", "128 accounts hold 128000, as they should\n"),
                        ("after-commit", "128 accounts hold 128000, as they should\n")):
        cluster = ",".join(f"rocksdb:{os.getcwd()}/{point}-{i}" for i in range(2))
        equal(run("store", "init", "--cluster", cluster).status, 0)
        killed = run("bench", "xs", "--cluster", cluster, "--scenario", "bank", env={"TURNSTONE_FAILPOINT": point})
        equal(killed.status, -signal.SIGKILL, killed)
        result = check(cluster)
        equal((result.status, result.out, result.err), (0, left, ""), point)
        bench(cluster, "bank")


@test
def wrong_options_are_named():
    def refused(parts, *arguments):
        complains(2, parts, "bench", "xs", *arguments, env={"TURNSTONE_CLUSTER": None})
    refused("--cluster", "--scenario", "uniform")
    refused("--scenario", "--cluster", MEMORY)
    refused(["--scenario", "'unifrom'"], "--cluster", MEMORY, "--scenario", "unifrom")
    for threads in ("0", "1025", "x", ""):
        refused(["--threads", f"'{threads}'"], "--cluster", MEMORY, "--scenario", "uniform", "--threads", threads)
    for seconds in ("0", "0.05", "86401", "x", "1.", ".5", "0.1234", "-1", "1e3"):
        refused("--seconds", "--cluster", MEMORY, "--scenario", "uniform", f"--seconds={seconds}")
    refused("--check", "--cluster", MEMORY, "--scenario", "uniform", "--check")
    refused("memory:", "--cluster", MEMORY, "--scenario", "bank", "--check")


@test
def a_cluster_that_is_not_initialised_is_reported_with_the_fix():
    complains(6, "store init", "bench", "xs", "--cluster", f"rocksdb:{os.getcwd()}/a", "--scenario", "uniform")


main()
