#!/usr/bin/env python3
"""A store is down, or the last process that used a store was killed. Work that does not need the store
continues. Calls that need it report that it is down."""
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from pg import Server  # noqa: E402
from program import run  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

KEYS = [f"k{i}" for i in range(12)]


def adds(*keys):
    return "".join(json.dumps({"op": "add", "key": key, "delta": 1}) + "\n" for key in keys)


class Pair:
    """A cluster of two servers. Both servers have keys, and shards of one run."""

    def __init__(self, servers):
        self.servers = servers
        self.urls = ",".join(server.url() for server in servers)
        self.goes("store", "init")
        self.goes("txn", stdin=adds(*KEYS))
        rows = [json.loads(line) for line in self.goes("store", "scan", "k", "--json").out.splitlines()]
        self.keys = [[row["key"] for row in rows if row["store"] == place] for place in (0, 1)]
        shards = "".join(f'{{"start":"{a}","end":"{b}"}}\n' for a, b in zip("abcdefghijklmnop", "bcdefghijklmnopq"))
        self.goes("run", "create", "--run", "1", "--shards", "-", "--op-id", "10", "--lease-ms", "3600000", stdin=shards)
        self.leases = [self.claim(f"w{i}") for i in range(6)]

    def run(self, *words, stdin=""):
        return run(*words, "--cluster", self.urls, stdin=stdin)

    def goes(self, *words, stdin=""):
        result = self.run(*words, stdin=stdin)
        equal((result.status, result.err), (0, ""), f"{words}: {result}")
        return result

    def fails(self, place, *words, stdin=""):
        result = self.run(*words, stdin=stdin)
        equal(result.status, 6, f"{words}: {result}")
        holds(self.servers[place].url() in result.err and "cannot be reached" in result.err, result)
        return result

    def claim(self, worker):
        return json.loads(self.goes("lease", "claim", "--run", "1", "--worker", worker, "--json").out)


@test
def with_one_of_two_servers_down_everything_on_the_other_continues():
    with Server(max_prepared_transactions=20, fsync=False) as one, Server(max_prepared_transactions=20, fsync=False) as two:
        pair = Pair([one, two])
        for dead, alive in ((1, 0), (0, 1)):
            pair.servers[dead].kill()
            here, there = pair.keys[alive][0], pair.keys[dead][0]
            pair.goes("txn", stdin=adds(here))
            pair.goes("store", "get", here)
            pair.fails(dead, "store", "get", there)
            for keys in ((there,), (here, there)):
                said = json.loads(pair.fails(dead, "txn", "--json", stdin=adds(*keys)).out)
                equal((said["outcome"], said["sqlstate"], said["reason"]), ("aborted", "40000", "unavailable"))
            # The lease names the store of its shard, so a checkpoint fails only if that store is down.
            outcomes = [pair.run("lease", "checkpoint", "--lease", lease["lease"], "--key", lease["start"])
                        for lease in pair.leases]
            equal({result.status for result in outcomes}, {0, 6}, str(outcomes))
            holds(all(pair.servers[dead].url() in result.err for result in outcomes if result.status == 6), outcomes)
            # A claim returns shards of the running store, even if it asks the store that is down first.
            for i in range(2):
                pair.claim(f"x{dead}{i}")
            while (result := pair.run("lease", "claim", "--run", "1", "--worker", f"y{dead}")).status == 0:
                pass
            holds(result.status == 6 and "BackendError" in result.err, result)
            pair.fails(dead, "run", "create", "--run", str(2 + dead))
            pair.servers[dead].resume()
            pair.goes("txn", stdin=adds(here, there))
        pair.goes("run", "cancel", "--run", "1")


@test
def nobody_waits_for_a_server_that_is_silent_and_not_needed():
    # A store that hangs does not refuse calls: each call waits for timeouts.shard_rpc.
    patient = ["--set", "timeouts.shard_rpc=30s"]
    with Server(max_prepared_transactions=20, fsync=False) as one, Server(max_prepared_transactions=20, fsync=False) as two:
        pair = Pair([one, two])
        for silent, alive in ((1, 0), (0, 1)):
            pair.servers[silent].process.send_signal(signal.SIGSTOP)
            try:
                begun = time.monotonic()
                pair.goes("store", "get", pair.keys[alive][0], *patient)
                pair.goes("txn", *patient, stdin=adds(pair.keys[alive][0]))
                holds(time.monotonic() - begun < 20, f"somebody waited for store {silent}")
                # Only the first of many reads waits. Without the circuit breaker, the second read would wait,
                # too.
                if silent == 1:
                    begun = time.monotonic()
                    pair.goes("lease", "claim", "--run", "1", "--worker", "s", "--set", "timeouts.shard_rpc=5s")
                    holds(time.monotonic() - begun < 10, "a claim asked the silent store twice")
            finally:
                pair.servers[silent].process.send_signal(signal.SIGCONT)


@test
def an_answer_in_json_comes_in_every_case():
    with Server(max_prepared_transactions=20, fsync=False) as server:
        server.create("one", "two")
        urls = ",".join(server.url(name) for name in ("one", "two"))
        equal(run("store", "init", "--cluster", urls).status, 0)
        server.kill()
        result = run("txn", "--json", "--cluster", urls, stdin=adds(*KEYS))
        said = json.loads(result.out)
        equal((result.status, said["outcome"], said["reason"], said["id"]), (6, "refused", "unavailable", ""))
        holds("cannot be reached" in said["text"] and said["text"] in result.err, result)
        server.resume()
        for wrong, words, stdin in (("line 1", [], "{"), ("no operations", [], ""), ("timeouts.nothing", ["--set", "timeouts.nothing=1"], adds("k")),
                                    ("cannot write the metrics", ["--metrics", "no/such/file"], adds("k"))):
            result = run("txn", "--json", "--cluster", urls, *words, stdin=stdin)
            said = json.loads(result.out)
            equal((result.status, said["outcome"], said["reason"], said["sqlstate"]), (2, "refused", "bad usage", "F0000"), str(result))
            holds(wrong in said["text"] and said["text"] in result.err, result)


@test
def the_next_process_settles_promises_of_a_killed_one_in_directories_at_once():
    urls = ",".join(f"rocksdb:{os.getcwd()}/{name}" for name in "abc")
    equal(run("store", "init", "--cluster", urls).status, 0)
    value = 0
    for point, counts in (("after-prepare", False), ("before-commit-point", False), ("after-commit-point", True),
                          ("after-commit", True)):
        killed = run("txn", "--cluster", urls, stdin=adds(*KEYS), env={"TURNSTONE_FAILPOINT": point})
        equal(killed.status, -signal.SIGKILL, f"{point}: {killed}")
        # The next transaction succeeds at the first try, without waiting 5 s until the heartbeat of the dead process is old.
        begun = time.monotonic()
        result = run("txn", "--json", "--cluster", urls, stdin=adds(*KEYS))
        holds(time.monotonic() - begun < 4, f"{point}: somebody waited")
        equal((result.status, result.err), (0, ""), f"{point}: {result}")
        said = json.loads(result.out)
        equal((said["outcome"], said["attempts"]), ("committed", 1), result.out)
        value += 1 + counts
        for key in KEYS:
            equal(json.loads(run("store", "get", key, "--json", "--cluster", urls).out)["value"], str(value), point)
        status = json.loads(run("store", "status", "--json", "--cluster", urls).out)
        equal(status["promises"], [], point)
        # A dead process cannot write to its directories any more. So the stores keep no marks that would
        # reject it.
        equal([store["fence_marks"] for store in status["stores"]], [0, 0, 0], f"{point}: {status}")


main()
