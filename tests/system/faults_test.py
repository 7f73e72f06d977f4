#!/usr/bin/env python3
"""faults_test.py PROGRAM rocksdb|postgres: a process is killed at every critical point, servers die, and
replies are late. Afterwards another process settles all promises. The accounts of a bank are on all stores,
and their total has not changed."""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from pg import Server  # noqa: E402
from program import PROGRAM, run  # noqa: E402
from proxy import Proxy  # noqa: E402
from tap import Skip, equal, holds, main, test  # noqa: E402

ENGINE = sys.argv[2]
COORDINATOR = ("after-register", "before-prepare", "after-prepare", "before-commit-point", "after-commit-point",
               "after-commit", "before-remove")
RECOVERY = ("resolve-before-fence", "resolve-after-fence", "resolve-before-finish", "resolve-after-finish")
FENCING = ("fence-after-close", "fence-after-settle", "fence-after-open")


class Cluster:
    """A cluster of three stores: RocksDB directories in the current folder, or PostgreSQL databases on two
    servers."""

    servers = []

    def __init__(self):
        if ENGINE == "rocksdb":
            self.urls = ",".join(f"rocksdb:{os.getcwd()}/{name}" for name in "abc")
        else:
            Cluster.count = getattr(Cluster, "count", 0) + 1
            if not Cluster.servers:
                Cluster.servers = [Server(max_prepared_transactions=64, settings="log_min_messages = panic")
                                   for _ in range(2)]
            names = [f"db{Cluster.count}_{i}" for i in range(3)]
            homes = [Cluster.servers[0], Cluster.servers[1], Cluster.servers[1]]
            for home, name in zip(homes, names):
                home.create(name)
            self.urls = ",".join(home.url(name) for home, name in zip(homes, names))
            self.names, self.homes = names, homes
        self.ends("store", "init", 0)

    def command(self, *words):
        return [*words, "--cluster", self.urls]

    def ends(self, verb, second, status, *options, **env):
        result = run(*self.command(verb, second), *options, env=env)
        equal(result.status, status, f"{verb} {second} {options} {env}: {result}")
        return result

    def bank(self, seconds="0.5", threads="4", status=0, options=(), **env):
        return self.ends("bench", "xs", status, "--scenario", "bank", "--threads", threads, "--seconds", seconds, *options,
                         **env)

    def start_bank(self, seconds="30", threads="4", options=(), **env):
        return subprocess.Popen([PROGRAM, *self.command("bench", "xs"), "--scenario", "bank", "--threads", threads,
                                 "--seconds", seconds, *options], env={**os.environ, **env}, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)

    def status(self):
        return json.loads(self.ends("store", "status", 0, "--json").out)

    def decisions(self, kind="commit"):
        return sum(store[kind + "_decisions"] for store in self.status()["stores"])

    def settle(self):
        """Repeats the recovery until no promise is left, because a server may still execute a prepare of a
        dead client."""
        end = time.monotonic() + 30
        while True:
            self.ends("store", "recover", 0)
            promises = self.status()["promises"]
            if not promises or time.monotonic() > end:
                break
            time.sleep(0.1)
        equal(promises, [], "promises after recovery")

    def settle_and_check(self):
        """Recovers the stores with another process. Checks that no promise is left, and that no money is
        lost."""
        self.settle()
        self.ends("bench", "xs", 0, "--scenario", "bank", "--check")


def kill_at(point):
    def kills():
        cluster = Cluster()
        cluster.bank()
        # A process reaches after-register once for each of the three stores, and every other point any number
        # of times.
        for count in (1, 2) if point == "after-register" else (1, 7):
            cluster.bank(seconds="20", status=-signal.SIGKILL, TURNSTONE_FAILPOINT=f"{point}:{count}")
            cluster.settle_and_check()
    kills.__name__ = "killed_" + point.replace("-", "_")
    test(kills)


for place in COORDINATOR:
    kill_at(place)


@test
def killed_at_the_first_transaction_of_all_leaves_all_accounts_or_none():
    for point in ("after-prepare", "before-commit-point", "after-commit-point"):
        os.makedirs(point)
        os.chdir(point)
        cluster = Cluster()
        cluster.bank(seconds="20", status=-signal.SIGKILL, TURNSTONE_FAILPOINT=point)
        cluster.settle_and_check()
        cluster.bank()
        cluster.settle_and_check()
        os.chdir("..")


@test
def recovery_reports_what_it_committed_and_aborted():
    cluster = Cluster()
    for point, what in (("after-commit-point", "committed"), ("before-commit-point", "aborted")):
        cluster.bank(seconds="20", threads="1", status=-signal.SIGKILL, TURNSTONE_FAILPOINT=f"{point}:3")
        told = json.loads(cluster.ends("store", "recover", 0, "--json").out)
        holds(told[what] > 0, told)


@test
def killed_while_recovering():
    for point in RECOVERY:
        os.makedirs(point)
        os.chdir(point)
        cluster = Cluster()
        cluster.bank()
        cluster.bank(seconds="20", status=-signal.SIGKILL, TURNSTONE_FAILPOINT="before-commit-point:5")
        cluster.ends("store", "recover", -signal.SIGKILL, TURNSTONE_FAILPOINT=point)
        cluster.settle_and_check()
        os.chdir("..")


@test
def killed_while_removing_the_decisions_of_a_fenced_process():
    cluster = Cluster()
    cluster.bank()
    cluster.bank(seconds="20", status=-signal.SIGKILL, TURNSTONE_FAILPOINT="after-commit-point:5")
    holds(cluster.decisions(), "no decision was left to remove")
    cluster.ends("store", "recover", -signal.SIGKILL, TURNSTONE_FAILPOINT="sweep-before-remove")
    holds(cluster.decisions(), "the decisions went before they were removed")
    cluster.settle_and_check()
    equal(cluster.decisions(), 0)


@test
def killed_while_fencing_can_be_taken_up_again_by_anyone():
    for point in FENCING:
        os.makedirs(point)
        os.chdir(point)
        cluster = Cluster()
        cluster.bank()
        cluster.ends("store", "fence", -signal.SIGKILL, TURNSTONE_FAILPOINT=point)
        cluster.status()
        told = run(*cluster.command("txn"), stdin='{"op":"put","key":"k","value":"1"}\n')
        equal(told.status, 6, f"a transaction in the middle of a fence: {told}")
        holds("store fence" in told.err, told)
        result = cluster.ends("store", "fence", 0, "--json")
        equal(json.loads(result.out)["epoch"], 2)
        cluster.settle_and_check()
        cluster.bank()
        os.chdir("..")


@test
def the_next_process_settles_what_a_killed_one_left_without_being_asked():
    cluster = Cluster()
    cluster.bank()
    cluster.bank(seconds="20", status=-signal.SIGKILL, TURNSTONE_FAILPOINT="before-commit-point:5")
    cluster.bank(seconds="20", status=-signal.SIGKILL, TURNSTONE_FAILPOINT="after-commit-point:5")
    holds(cluster.status()["promises"] and cluster.decisions(), "nothing was left to settle")
    # In 14 seconds, this process notices that the two killed coordinators are dead, and settles their
    # transactions.
    cluster.bank(seconds="14")
    equal(cluster.status()["promises"], [])
    equal(cluster.decisions(), 0)
    cluster.ends("bench", "xs", 0, "--scenario", "bank", "--check")


@test
def killed_from_outside_at_any_moment():
    cluster = Cluster()
    cluster.bank()
    for wait in (0.3, 0.55, 0.8):
        process = cluster.start_bank()
        time.sleep(wait)
        process.kill()
        process.communicate()
        cluster.settle_and_check()


if ENGINE == "rocksdb":
    @test
    def a_full_disk_loses_nothing():
        os.makedirs("small")
        cluster = ",".join(f"rocksdb:{os.getcwd()}/small/{name}" for name in "ab")
        script = f"""
            mount -t tmpfs -o size=48m tmpfs '{os.getcwd()}/small' || exit 77
            export TURNSTONE_CLUSTER='{cluster}'
            '{PROGRAM}' store init >/dev/null &&
            '{PROGRAM}' bench xs --scenario bank --threads 2 --seconds 0.3 >/dev/null || exit 1
            dd if=/dev/zero of='{os.getcwd()}/small/filler' bs=64k >/dev/null 2>&1
            truncate -s -12M '{os.getcwd()}/small/filler'  # enough to open both, not enough to continue
            '{PROGRAM}' bench xs --scenario bank --threads 2 --seconds 3 >out 2>err
            echo "full: $?"
            echo '{{"op":"put","key":"a","value":"1"}}' | '{PROGRAM}' txn >/dev/null 2>refused
            echo "refused: $?"
            rm '{os.getcwd()}/small/filler'
            '{PROGRAM}' store recover >/dev/null && '{PROGRAM}' bench xs --scenario bank --check >/dev/null
            echo "after: $?"
            '{PROGRAM}' bench xs --scenario bank --threads 2 --seconds 0.3 >/dev/null
            echo "again: $?"
        """
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True)
        if done.returncode == 77 or "unshare" in done.stderr:
            raise Skip("no file system can be mounted here")
        # The disk must have been full, otherwise the test shows nothing. The program reports the full disk,
        # and does not crash.
        said = open("err").read() + open("refused").read()
        holds("full: 1\n" in done.stdout and "refused: 6\n" in done.stdout, (done, said))
        holds("the disk is full" in said, (done, said))
        holds("after: 0" in done.stdout and "again: 0" in done.stdout, done)

    @test
    def status_and_recover_on_a_full_disk_name_it_and_work_again_when_there_is_room():
        os.makedirs("tiny")
        cluster = ",".join(f"rocksdb:{os.getcwd()}/tiny/{name}" for name in "ab")
        script = f"""
            mount -t tmpfs -o size=48m tmpfs '{os.getcwd()}/tiny' || exit 77
            export TURNSTONE_CLUSTER='{cluster}'
            '{PROGRAM}' store init >/dev/null || exit 1
            dd if=/dev/zero of='{os.getcwd()}/tiny/filler' bs=4k >/dev/null 2>&1
            for kib in 0 4 60 900; do
                truncate -s -${{kib}}K '{os.getcwd()}/tiny/filler'
                for verb in status recover; do
                    '{PROGRAM}' store $verb 2>>said >/dev/null
                    echo "$verb: $?"
                done
            done
            rm '{os.getcwd()}/tiny/filler'
            '{PROGRAM}' store status >/dev/null && '{PROGRAM}' store recover >/dev/null
            echo "after: $?"
        """
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True)
        if done.returncode == 77 or "unshare" in done.stderr:
            raise Skip("no file system can be mounted here")
        with open("said") as file:
            said = file.readlines()
        equal(done.stdout, "status: 6\nrecover: 6\n" * 4 + "after: 0\n", said)
        holds(len(said) == 8 and all("rocksdb:" in line and "the disk is full; make room for 2 MiB" in line for line in said), said)

else:
    @test
    def servers_that_die_and_come_back():
        cluster = Cluster()
        cluster.bank()
        for server in Cluster.servers:
            process = cluster.start_bank(seconds="6")
            time.sleep(1)
            server.kill()
            time.sleep(1)
            server.resume()
            process.communicate()
            cluster.settle_and_check()

    @test
    def a_coordinator_that_slept_through_its_fencing_goes_on_under_a_new_name():
        cluster = Cluster()
        cluster.bank()
        process = cluster.start_bank(seconds="6", TURNSTONE_FAILPOINT="before-commit-point:20=stop")
        try:
            end = time.monotonic() + 30
            while stopped(process.pid) is False and time.monotonic() < end:
                time.sleep(0.05)
            holds(stopped(process.pid), "it did not stop")
            cluster.settle()
        finally:
            process.send_signal(signal.SIGCONT)
        _, err = process.communicate(timeout=60)
        equal(process.returncode, 0, err)
        cluster.settle_and_check()

    @test
    def killed_after_deciding_against_a_promise_that_is_too_old():
        """The process that made the promise is dead, but its last heartbeat is recent. So the resolver may
        only use the age of the promise. This test needs servers: a process that opens a RocksDB directory
        knows that the previous process is dead."""
        cluster = Cluster()
        cluster.bank()
        cluster.bank(seconds="20", status=-signal.SIGKILL, options=("--set", "timeouts.total=500ms"),
                     TURNSTONE_FAILPOINT="before-commit-point")
        holds(cluster.status()["promises"], "nothing was left to settle")
        time.sleep(1)
        cluster.bank(seconds="20", status=-signal.SIGKILL, TURNSTONE_FAILPOINT="resolve-after-refuse")
        holds(cluster.decisions("abort"), "it was killed without a decision")
        cluster.settle_and_check()

    @test
    def a_prepare_that_arrives_after_the_resolver_has_gone_is_found_by_the_next():
        cluster = Cluster()
        keys = [f"k{i}" for i in range(12)]
        lines = "".join(json.dumps({"op": "put", "key": key, "value": "1"}) + "\n" for key in keys)
        equal(run(*cluster.command("txn"), stdin=lines).status, 0)
        # Other sessions lock every row of each store. The prepares wait for these locks, and their client is
        # stopped before it gets the answers.
        blockers = [blocker(home, name) for home, name in zip(cluster.homes, cluster.names)]
        process = subprocess.Popen([PROGRAM, *cluster.command("txn"), "--set", "timeouts.prepare=60s", "--set",
                                    "timeouts.total=120s", "--set", "breaker.probe_timeout=120s"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, text=True)
        process.stdin.write(lines)
        process.stdin.close()
        # The first attempt gives up soon when it meets locks. The next attempt waits on one store for the
        # full timeout.
        waiting = ("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'transactionid' "
                   "AND query_start < clock_timestamp() - interval '2 s'")
        end = time.monotonic() + 30
        while not sum(int(server.sql("postgres", waiting)) for server in Cluster.servers) and time.monotonic() < end:
            time.sleep(0.05)
        # The client is stopped, not killed, because a broken connection may also end the prepare.
        process.send_signal(signal.SIGSTOP)
        cluster.settle()
        for one in blockers:
            one.stdin.write("ROLLBACK;\n")
            one.stdin.close()
            one.wait()
        end = time.monotonic() + 20
        while not cluster.status()["promises"] and time.monotonic() < end:
            time.sleep(0.2)
        holds(cluster.status()["promises"], "the late prepare never came")
        process.kill()
        process.wait()
        cluster.settle()

    @test
    def replies_that_are_lost_leave_no_promise_and_keep_the_total():
        cluster = Cluster()
        cluster.bank()
        quick = [word for name in ("prepare", "commit", "lock_validate", "shard_rpc")
                 for word in ("--set", f"timeouts.{name}=500ms")]
        with Proxy(Cluster.servers[0].port, 40) as first, Proxy(Cluster.servers[1].port, 50) as second:
            proxies = {Cluster.servers[0]: first, Cluster.servers[1]: second}
            urls = ",".join(proxies[home].url(name, "turnstone") for home, name in zip(cluster.homes, cluster.names))
            done = run("bench", "xs", "--cluster", urls, "--scenario", "bank", "--threads", "4", "--seconds", "5", "--json",
                       *quick, "--set", "timeouts.total=5s", "--set", "breaker.failure_threshold=1000")
            holds(first.lost > 5 and second.lost > 5, (first.lost, second.lost))
        told = json.loads(done.out)
        holds(told["committed"] > 20, told)
        cluster.settle_and_check()

    @test
    def transactions_that_would_wait_in_a_circle_over_three_stores_commit():
        circle_over_three_stores()

    @test
    def eight_at_once_on_the_same_keys_of_three_stores_commit():
        eight_at_once()

    @test
    def slots_that_run_out_are_waited_for():
        with Server(max_prepared_transactions=2) as first, Server(max_prepared_transactions=2) as second:
            cluster = Cluster.__new__(Cluster)
            cluster.urls = f"{first.url()},{second.url()}"
            cluster.ends("store", "init", 0)
            cluster.bank(threads="8", seconds="2")
            cluster.settle_and_check()

    @test
    def two_resolvers_at_once_agree():
        cluster = Cluster()
        cluster.bank()
        for _ in range(3):
            cluster.bank(seconds="20", status=-signal.SIGKILL, TURNSTONE_FAILPOINT="before-commit-point:9")
            both = [subprocess.Popen([PROGRAM, *cluster.command("store", "recover")], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, text=True) for _ in range(2)]
            for one in both:
                _, err = one.communicate(timeout=60)
                equal((one.returncode, err), (0, ""))
            cluster.settle_and_check()

    @test
    def resolvers_beside_live_transactions_harm_nobody():
        cluster = Cluster()
        cluster.bank()
        process = cluster.start_bank(seconds="4")
        for _ in range(4):
            time.sleep(0.7)
            cluster.ends("store", "recover", 0)
        _, err = process.communicate(timeout=60)
        equal(process.returncode, 0, err)
        cluster.settle_and_check()


def stopped(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


def blocker(home, database, rows="key >= '\\x01'"):
    """Starts a session of psql that locks rows of the store (default: all rows). Returns the process, after
    it has the locks."""
    process = subprocess.Popen(["psql", "-X", "-q", "-h", "127.0.0.1", "-p", str(home.port), "-U", "turnstone", database],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdin.write("BEGIN;\nSELECT 1 FROM turnstone.item WHERE " + rows + " FOR UPDATE;\n\\echo locked\n")
    process.stdin.flush()
    while "locked" not in process.stdout.readline():
        pass
    return process


def circle_over_three_stores():
    """Makes a deadlock of three processes on stores 1 to 3. Each process locks its own key on one store, and
    then wants the key of the next process on another store. Store 0 is not part of the circle; it stores the
    decisions. On its second store, a process must lock a "gate" key before the wanted key. A blocker holds
    the gates until all processes have locked their own keys."""
    server = Server(max_prepared_transactions=16)
    names = [f"d{i}" for i in range(4)]
    server.create(*names)
    cluster = Cluster.__new__(Cluster)
    cluster.urls = ",".join(server.url(name) for name in names)
    cluster.ends("store", "init", 0)
    # A transaction locks its keys of a store in their order, so the gate must be less than the wanted
    # account.
    keys = [f"bank/{what}{i}" for what in ("account", "a-gate", "decider") for i in range(24)]
    equal(run(*cluster.command("txn"), stdin=json_lines(add(key, 10) for key in keys)).status, 0)
    places = {row["key"]: row["store"] for row in scan(cluster, "bank/")}
    equal(len(places), len(keys))
    account, gate = ({place: key for key, place in places.items() if what in key} for what in ("account", "gate"))
    deciders = [key for key, place in places.items() if "decider" in key and place == 0]
    blockers = [blocker(server, names[place], f"key = '\\x{gate[place].encode().hex()}'") for place in (1, 2, 3)]
    processes = [start_txn(cluster, add(account[own], -2), add(gate[next_one], 0), add(account[next_one], 1), add(decider, 1))
                 for (own, next_one), decider in zip(((1, 2), (2, 3), (3, 1)), deciders)]
    time.sleep(1)
    for one in blockers:
        one.stdin.write("ROLLBACK;\n")
        one.stdin.close()
        one.wait()
    all_commit(processes)
    cluster.settle()
    equal(sum(int(row["value"]) for row in scan(cluster, "bank/")), 10 * len(keys))


def eight_at_once():
    cluster = Cluster()
    keys = [f"k{i}" for i in range(12)]
    equal(run(*cluster.command("txn"), stdin=json_lines(add(key, 1) for key in keys)).status, 0)
    places = {row["store"]: row["key"] for row in scan(cluster, "k")}
    equal(sorted(places), [0, 1, 2])
    for _ in range(3):
        all_commit([start_txn(cluster, *(add(key, 1) for key in places.values())) for _ in range(8)])
    equal({row["key"]: int(row["value"]) for row in scan(cluster, "k")},
          {key: 25 if key in places.values() else 1 for key in keys})
    cluster.settle()


def start_txn(cluster, *ops):
    process = subprocess.Popen([PROGRAM, *cluster.command("txn"), "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    process.stdin.write(json_lines(ops))
    process.stdin.close()
    return process


def all_commit(processes):
    told = [(process.stdout.read(), process.stderr.read(), process.wait(timeout=100)) for process in processes]
    for out, err, status in told:
        equal((status, err), (0, ""), str(told))
        holds(json.loads(out)["outcome"].startswith("committed"), told)


def add(key, delta):
    return {"op": "add", "key": key, "delta": delta, "max": 1000}


def json_lines(ops):
    return "".join(json.dumps(op) + "\n" for op in ops)


def scan(cluster, prefix):
    return [json.loads(line) for line in cluster.ends("store", "scan", 0, "--json", prefix).out.splitlines()]


main()
