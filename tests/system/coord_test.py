#!/usr/bin/env python3
"""turnstone run, shard and lease: verbs with which a user coordinates workers by hand."""
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from pg import USER, Server  # noqa: E402
from program import PROGRAM, complains, run  # noqa: E402
from proxy import Proxy  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

T0 = 1_700_000_000_000
THREE = '{"start":"a","end":"h","metadata":"first"}\n{"start":"h","end":"p"}\n\n{"start":"p","end":"z","id":7}\n'


def load(line):
    """Parses a line of JSON. Fails if an object has a name twice, because parsers differ in which of the
    values they use."""
    def once(pairs):
        holds(len({name for name, _ in pairs}) == len(pairs), f"a name stands twice: {line}")
        return dict(pairs)
    return json.loads(line, object_pairs_hook=once)


class Cluster:
    """Runs verbs on one cluster. `now` is their time, and only the test advances it; None means the real
    time."""

    def __init__(self, urls=None, stores=2, now=T0):
        self.urls = urls or ",".join(f"rocksdb:{os.getcwd()}/store{i}" for i in range(stores))
        self.now = now
        equal(run("store", "init", "--cluster", self.urls).status, 0, "store init")

    def run(self, *words, stdin="", **options):
        time_words = ["--now", str(self.now)] if self.now else []
        return run(*words, "--cluster", self.urls, *time_words, stdin=stdin, **options)

    def ok(self, *words, stdin=""):
        result = self.run(*words, "--json", stdin=stdin)
        equal((result.status, result.err), (0, ""), f"{words}: {result}")
        lines = [load(line) for line in result.out.splitlines()]
        return lines[0] if len(lines) == 1 else lines

    def refused(self, error, *words, stdin="", status=3):
        result = self.run(*words, "--json", stdin=stdin)
        equal(result.status, status, f"{words}: {result}")
        holds(result.err.startswith("turnstone: ") and result.err.count("\n") == 1, result)
        answer = load(result.out)
        equal(answer["error"], error, f"{words}: {result}")
        return answer

    def create(self, *options):
        return self.ok("run", "create", "--run", "1", "--shards", "-", "--op-id", "10", *options, stdin=THREE)

    def claim(self, worker="w1"):
        return self.ok("lease", "claim", "--run", "1", "--worker", worker)


@test
def a_run_is_made_worked_on_and_completed():
    c = Cluster()
    made = c.create()
    equal((made["outcome"], made["op_id"], made["run"], made["status"]), ("executed", 10, 1, "Active"))
    equal((len(made["shards"]), made["shards"][2]), (3, 7))
    seen = set()
    for i in range(3):
        lease = c.claim(f"w{i}")
        seen.add(lease["shard"])
        equal((lease["fence"], lease["deadline"], lease["key"]), (1, T0 + 30000, None))
        equal(lease["capacity"]["available"], 2 - i)
        equal(c.ok("lease", "complete", "--lease", lease["lease"], "--key", lease["start"], "--op-id", "5"),
              {"outcome": "executed", "op_id": 5, "result": "Completed"})
    equal(seen, set(made["shards"]))
    equal(c.refused("NoneAvailable", "lease", "claim", "--run", "1", "--worker", "w9")["earliest_deadline"], None)
    shown = c.ok("run", "show", "--run", "1")
    equal((shown["done"], shown["active"], shown["shards"]), (3, 0, 3))
    equal(c.ok("run", "complete", "--run", "1", "--op-id", "6")["status"], "Done")
    equal(c.ok("run", "complete", "--run", "1", "--op-id", "6")["outcome"], "replayed")
    c.refused("RunTerminal", "run", "cancel", "--run", "1")
    equal([r["run"] for r in [c.ok("run", "list", "--status", "Done")]], [1])
    equal(c.ok("run", "list", "--status", "Active"), [])


@test
def the_same_call_again_is_a_replay_and_another_one_with_its_id_a_conflict():
    c = Cluster()
    first = c.create()
    again = c.create()
    equal((again["outcome"], again["shards"]), ("replayed", first["shards"]))
    answer = c.refused("RegisterShardsFailed", "run", "create", "--run", "1", "--shards", "-", "--op-id", "10",
                       stdin='{"start":"a","end":"b"}\n')
    holds("OpIdConflict" in answer.values(), answer)
    lease = c.claim()["lease"]
    checkpoint = ("lease", "checkpoint", "--lease", lease, "--op-id", "77", "--key")
    shard = c.ok("shard", "list", "--run", "1", "--leased")
    key = shard["start"]
    equal(c.ok(*checkpoint, key)["outcome"], "executed")
    equal(c.ok(*checkpoint, key)["outcome"], "replayed")
    answer = c.refused("OpIdConflict", *checkpoint, key + "x")
    equal(answer["op_id"], 77)
    later = c.ok("lease", "checkpoint", "--lease", lease, "--op-id", "78", "--key", key + "y")
    equal(later["result"], "Completed")
    equal(c.ok(*checkpoint, key), {"outcome": "replayed", "op_id": 77, "result": "Superseded"})


@test
def a_stale_fence_an_expired_lease_and_a_cursor_that_goes_back_are_distinguished():
    c = Cluster()
    made = c.create()
    words = ("lease", "acquire", "--run", "1", "--shard", str(made["shards"][0]), "--worker")
    old = c.ok(*words, "w1")
    c.ok("lease", "checkpoint", "--lease", old["lease"], "--key", "c", "--token", "0x00ff")
    c.refused("CursorRegression", "lease", "checkpoint", "--lease", old["lease"], "--key", "b")
    c.refused("CursorOutOfBounds", "lease", "checkpoint", "--lease", old["lease"], "--key", "x")
    c.refused("CheckpointMissingKey", "lease", "checkpoint", "--lease", old["lease"])
    answer = c.refused("AlreadyLeased", *words, "w2")
    equal(answer["lease_deadline"], T0 + 30000)
    c.now = T0 + 30000
    answer = c.refused("LeaseExpired", "lease", "renew", "--lease", old["lease"])
    equal((answer["deadline"], answer["now"]), (T0 + 30000, T0 + 30000))
    new = c.ok(*words, "w2")
    equal((new["fence"], new["key"], new["token"], new["metadata"]), (2, "c", "0x00ff", "first"))
    equal(c.refused("StaleFence", "lease", "complete", "--lease", old["lease"], "--key", "d", "--op-id", "9"),
          {"error": "StaleFence", "presented": 1, "current": 2, "op_id": 9})
    c.now += 20000
    renewed = c.ok("lease", "renew", "--lease", new["lease"])
    equal(renewed["deadline"], T0 + 80000)
    c.now += 20000
    equal(c.ok("lease", "checkpoint", "--lease", renewed["lease"], "--key", "e")["outcome"], "executed")


@test
def a_lease_cannot_be_edited_or_brought_from_another_cluster():
    c = Cluster()
    c.create()
    lease = c.claim()["lease"]
    for edited in (lease[:-1] + ("0" if lease[-1] != "0" else "1"), lease[:40] + ("1" if lease[40] != "1" else "2") + lease[41:],
                   lease + "00", lease[:-2], "x", ""):
        result = c.run("lease", "renew", "--lease", edited)
        equal(result.status, 2, result)
        holds("not a lease of this cluster" in result.err, result)
    other = Cluster(",".join(f"rocksdb:{os.getcwd()}/other{i}" for i in range(2)))
    other.create()
    equal(other.run("lease", "renew", "--lease", lease).status, 2)


@test
def tenants_do_not_see_each_other():
    c = Cluster()
    c.create("--tenant", "acme")
    lease = c.ok("lease", "claim", "--run", "1", "--worker", "w", "--tenant", "acme")["lease"]
    for words in (("run", "show", "--run", "1"), ("shard", "show", "--run", "1", "--shard", "7"),
                  ("lease", "claim", "--run", "1", "--worker", "w"), ("run", "cancel", "--run", "1"),
                  ("run", "fail", "--run", "1"), ("run", "complete", "--run", "1"),
                  ("run", "register", "--run", "1", "--shards", "-"), ("shard", "list", "--run", "1"),
                  ("shard", "unpark", "--run", "1", "--shard", "7"),
                  ("lease", "acquire", "--run", "1", "--shard", "7", "--worker", "w"),
                  ("lease", "checkpoint", "--lease", lease, "--key", "q"),
                  ("lease", "complete", "--lease", lease, "--key", "q"), ("lease", "park", "--lease", lease),
                  ("lease", "release", "--lease", lease),
                  ("lease", "split-replace", "--lease", lease, "--children", "-"),
                  ("lease", "split-residual", "--lease", lease, "--at", "q"),
                  ("lease", "renew", "--lease", lease)):
        result = c.run(*words, "--tenant", "other", "--json", stdin='{"start":"zz"}\n')
        equal(result.status, 3, result)
        equal(load(result.out)["error"], "TenantMismatch", result)
        holds("acme" not in result.out + result.err, result)
    equal(c.ok("run", "list", "--tenant", "other"), [])
    equal(c.ok("lease", "checkpoint", "--lease", lease, "--key",
               c.ok("shard", "list", "--run", "1", "--leased", "--tenant", "acme")["start"])["outcome"], "executed")


@test
def parked_shards_are_shown_and_taken_back():
    c = Cluster()
    c.create("--attempts", "2")
    lease = c.claim()
    shard = str(lease["shard"])
    equal(c.ok("lease", "park", "--lease", lease["lease"], "--reason", "Poisoned")["outcome"], "executed")
    equal(c.ok("shard", "list", "--run", "1", "--status", "Parked")["reason"], "Poisoned")
    c.refused("ShardTerminal", "lease", "renew", "--lease", lease["lease"])
    equal(c.ok("shard", "unpark", "--run", "1", "--shard", shard, "--op-id", "3")["outcome"], "executed")
    equal(c.ok("shard", "unpark", "--run", "1", "--shard", shard, "--op-id", "3")["outcome"], "replayed")
    c.refused("NotParked", "shard", "unpark", "--run", "1", "--shard", shard)
    acquire = ("lease", "acquire", "--run", "1", "--shard", shard, "--worker", "w")
    for _ in range(2):
        c.ok(*acquire)
        c.now += 30000
    equal(c.ok("shard", "list", "--run", "1", "--stuck")["shard"], int(shard))
    holds(shard in c.run("run", "show", "--run", "1").out, "a stuck shard is named")
    c.refused("ShardTerminal", *acquire)
    equal(c.ok("shard", "show", "--run", "1", "--shard", shard)["reason"], "TooManyErrors")


@test
def shards_are_split_exactly():
    c = Cluster()
    made = c.create()
    first, second = str(made["shards"][0]), str(made["shards"][1])
    lease = c.ok("lease", "acquire", "--run", "1", "--shard", first, "--worker", "w")["lease"]
    gap = '{"start":"a","end":"c"}\n{"start":"d","end":"h"}\n'
    answer = c.refused("SplitInvalid", "lease", "split-replace", "--lease", lease, "--children", "-", stdin=gap)
    holds("BoundaryMismatch" in answer.values(), answer)
    children = '{"start":"a","end":"c"}\n{"start":"c","end":"h"}\n'
    words = ("lease", "split-replace", "--lease", lease, "--children", "-", "--op-id", "20")
    split = c.ok(*words, stdin=children)
    equal((split["outcome"], len(split["shards"])), ("executed", 2))
    holds(all(s >= 1 << 63 for s in split["shards"]), "derived ids have bit 63")
    equal(c.ok(*words, stdin=children), {**split, "outcome": "replayed"})
    equal(c.ok("shard", "show", "--run", "1", "--shard", first)["spawned"], split["shards"])
    child = c.ok("shard", "show", "--run", "1", "--shard", str(split["shards"][1]))
    equal((child["start"], child["end"], child["parent"]), ("c", "h", int(first)))
    lease = c.ok("lease", "acquire", "--run", "1", "--shard", second, "--worker", "w")["lease"]
    residual = c.ok("lease", "split-residual", "--lease", lease, "--at", "0x6b", "--op-id", "21")
    equal((residual["outcome"], len(residual["shards"])), ("executed", 1))
    child = c.ok("shard", "show", "--run", "1", "--shard", str(residual["shards"][0]))
    equal((child["start"], child["end"]), ("k", "p"))
    equal(c.ok("shard", "show", "--run", "1", "--shard", second)["end"], "k")
    equal(c.ok("run", "show", "--run", "1")["shards"], 6)


@test
def a_claim_cools_down_and_a_run_guards_its_end():
    c = Cluster()
    c.create("--cooldown-ms", "5000", "--lease-ms", "10000")
    c.claim()
    equal(c.refused("Throttled", "lease", "claim", "--run", "1", "--worker", "w1")["retry_after"], T0 + 5000)
    c.claim("w2")
    c.now += 5000
    lease = c.claim()["lease"]
    answer = c.refused("WrongStatus", "run", "complete", "--run", "1")
    holds("Active" in answer.values(), answer)
    c.ok("run", "fail", "--run", "1")
    answer = c.refused("ShardTerminal", "lease", "renew", "--lease", lease)
    holds("Parked" in answer.values(), answer)
    c.refused("NoneAvailable", "lease", "claim", "--run", "1", "--worker", "w3")


@test
def a_cooldown_of_one_run_does_not_hold_up_claims_in_another_that_has_none():
    c = Cluster()
    c.create("--cooldown-ms", "5000", "--lease-ms", "10000")
    c.ok("run", "create", "--run", "2", "--shards", "-", stdin=THREE)
    c.claim()
    c.refused("Throttled", "lease", "claim", "--run", "1", "--worker", "w1")
    equal(c.ok("lease", "claim", "--run", "2", "--worker", "w1")["run"], 2)
    c.refused("Throttled", "lease", "claim", "--run", "1", "--worker", "w1")


@test
def the_is_clock_frozen_and_never_goes_back():
    c = Cluster()
    c.create()
    c.now = T0 - 1
    result = c.run("run", "show", "--run", "1")
    equal(result.status, 2, result)
    holds(result.err.count("\n") == 1, result)
    c.now = T0
    equal(c.ok("run", "show", "--run", "1")["created_at"], T0)


@test
def a_time_far_ahead_is_refused_and_one_that_was_only_looked_at_does_not_last():
    c = Cluster()
    c.create()
    real = int(time.time() * 1000)
    for ahead in (real * 1000, real + 25 * 3600 * 1000, 2**64 - 1):
        c.now = ahead
        result = c.run("run", "show", "--run", "1")
        equal((result.status, "milliseconds since 1970" in result.err), (2, True), result)
    c.now = T0 + 1000
    c.ok("run", "show", "--run", "1")
    c.ok("shard", "list", "--run", "1")
    c.refused("RunNotFound", "run", "show", "--run", "9")
    c.now = T0
    c.ok("run", "show", "--run", "1")
    c.now = T0 + 1000
    c.claim()
    c.now = T0
    equal(c.run("run", "show", "--run", "1").status, 2, "what was written at a time makes it last")


@test
def ids_may_be_strings_and_those_with_bit_63_are_refused_by_the_coordination():
    c = Cluster()
    made = c.ok("run", "create", "--run", "1", "--shards", "-",
                stdin='{"start":"a","end":"c","id":"9007199254740993"}\n{"start":"c","id":9223372036854775807}\n')
    equal(made["shards"], [9007199254740993, 9223372036854775807])
    for given in ('"9223372036854775808"', "9223372036854775808", "18446744073709551615", '"18446744073709551615"'):
        answer = c.refused("RegisterShardsFailed", "run", "create", "--run", "2", "--shards", "-",
                           stdin='{"id":' + given + "}\n")
        equal((answer["inner"], answer["reason"], answer["entry"]), ("ManifestInvalid", "InvalidSpec", 0))
    for given in ('"x"', '""', '"-1"', "1.5", "-1", "36893488147419103232", '"18446744073709551616"', "1e3", "null"):
        result = c.run("run", "create", "--run", "2", "--shards", "-", stdin='{"id":' + given + "}\n")
        equal((result.status, '"id"' in result.err), (2, True), f"{given}: {result}")


def damage(server, run, shard):
    """Overwrites the record of a shard, on the store that has the record."""
    key = (b"\x00cs" + run.to_bytes(8, "big") + shard.to_bytes(8, "big")).hex()
    for database in ("a", "b"):
        server.sql(database, f"UPDATE turnstone.item SET value = '\\x00' WHERE key = '\\x{key}'")


@test
def a_damaged_record_is_named_and_the_others_are_shown():
    with Server(max_prepared_transactions=20) as server:
        server.create("a")
        server.create("b")
        c = Cluster(f"{server.url('a')},{server.url('b')}", now=None)
        made = c.create()
        lease = c.ok("lease", "acquire", "--run", "1", "--shard", "7", "--worker", "w")["lease"]
        damage(server, 1, 7)
        for words in (("lease", "renew", "--lease", lease), ("shard", "show", "--run", "1", "--shard", "7"),
                      ("lease", "split-residual", "--lease", lease, "--at", "q"),
                      ("lease", "acquire", "--run", "1", "--shard", "7", "--worker", "w")):
            answer = c.refused("BackendError", *words, status=6)
            equal(answer["kind"], "damaged")
            holds("shard 7 of run 1" in answer["cause"], answer)
            answer = c.refused("TenantMismatch", *words, "--tenant", "other")
            equal(answer["expected"], "other")
        result = c.run("shard", "list", "--run", "1", "--json")
        equal((result.status, result.err.count("\n")), (6, 1), result)
        rows = {row["shard"]: row["status"] for row in map(load, result.out.splitlines())}
        equal(rows, {7: "damaged", made["shards"][0]: "Active", made["shards"][1]: "Active"})
        holds("7  damaged" in c.run("shard", "list", "--run", "1").out, "for people, too")
        result = c.run("run", "show", "--run", "1", "--json")
        shown = load(result.out)
        equal((result.status, shown["shards"], shown["active"], shown["damaged"], shown["damaged_shards"]),
              (6, 3, 2, 1, [7]), result)
        holds("damaged: 1" in c.run("run", "show", "--run", "1").out, "for people, too")
        c.claim()


FAIL_ONCE = """CREATE SEQUENCE public.turns;
CREATE FUNCTION public.not_the_first_time() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN IF nextval('public.turns') = 1 THEN RAISE EXCEPTION 'not now' USING ERRCODE = 'io_error'; END IF; RETURN true; END $$;
ALTER TABLE turnstone.item RENAME TO item_below;
CREATE VIEW turnstone.item AS SELECT * FROM turnstone.item_below
WHERE CASE WHEN key = '\\x{key}' THEN public.not_the_first_time() ELSE true END;"""
AS_BEFORE = "DROP VIEW turnstone.item; ALTER TABLE turnstone.item_below RENAME TO item;"


@test
def a_parent_that_cannot_be_read_is_not_split_without_its_metadata():
    with Server(max_prepared_transactions=20) as server:
        server.create("a")
        c = Cluster(server.url("a"), now=None)
        shard = c.create("--lease-ms", "600000")["shards"][0]
        lease = c.ok("lease", "acquire", "--run", "1", "--shard", str(shard), "--worker", "w")["lease"]
        key = (b"\x00cs" + (1).to_bytes(8, "big") + shard.to_bytes(8, "big")).hex()
        server.sql("a", FAIL_ONCE.format(key=key))
        words = ("lease", "split-residual", "--lease", lease, "--at", "d", "--op-id", "31")
        # The store fails the first call, which reads the metadata of the shard to split. It would not fail
        # later calls.
        answer = c.refused("BackendError", *words, status=6)
        holds("not now" in answer["cause"], answer)
        equal(server.sql("a", "SELECT last_value FROM public.turns"), "1", "nothing was tried behind it")
        server.sql("a", AS_BEFORE)
        equal(c.ok("run", "show", "--run", "1")["shards"], 3, "nothing was split off")
        residual = c.ok(*words)
        equal(residual["outcome"], "executed")
        child = c.ok("shard", "show", "--run", "1", "--shard", str(residual["shards"][0]))
        equal((child["start"], child["end"], child["metadata"]), ("d", "h", "first"))


DIE = """CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER die AFTER UPDATE ON turnstone.item DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION die();"""


@test
def an_outcome_that_stays_unknown_and_a_server_that_is_gone_have_their_status_and_their_json():
    with Server(max_prepared_transactions=20) as server:
        server.create("a")
        server.create("b")
        c = Cluster(f"{server.url('a')},{server.url('b')}", now=None)
        c.create("--lease-ms", "600000")
        lease = c.ok("lease", "acquire", "--run", "1", "--shard", "7", "--worker", "w")["lease"]
        for database in ("a", "b"):
            server.sql(database, DIE)
        words = ("lease", "checkpoint", "--lease", lease, "--key", "q", "--op-id", "3")
        equal(c.refused("BackendError", *words, status=5)["kind"], "unknown")
        drawn = c.refused("BackendError", *words[:-2], status=5)["op_id"]
        holds(drawn != 3, "each call draws its own")
        told = c.run(*words[:-2]).err
        holds(re.search(r"BackendError: .* \(op id [0-9]+\)$", told.strip()), told)
        for database in ("a", "b"):
            server.sql(database, "DROP TRIGGER die ON turnstone.item")
        equal(c.ok(*words)["op_id"], 3)
        again = (*words[:-2], "--op-id", str(drawn))
        equal([c.ok(*again)[name] for name in ("outcome", "op_id")], ["executed", drawn])
        equal([c.ok(*again)[name] for name in ("outcome", "op_id")], ["replayed", drawn])
        server.kill()
        answer = c.refused("BackendError", "run", "show", "--run", "1", status=6)
        equal((answer["kind"], "op_id" in answer), ("retryable", False))
        holds("op_id" in c.refused("BackendError", "run", "cancel", "--run", "1", status=6), "of what has one")


@test
def every_refusal_of_an_operation_with_an_op_id_says_it():
    c = Cluster()
    c.create()
    lease = c.ok("lease", "acquire", "--run", "1", "--shard", "7", "--worker", "w")["lease"]
    for error, *words in (
            ("CursorOutOfBounds", "lease", "checkpoint", "--lease", lease, "--key", "a"),
            ("CursorOutOfBounds", "lease", "complete", "--lease", lease, "--key", "a"),
            ("TenantMismatch", "lease", "park", "--lease", lease, "--tenant", "other"),
            ("SplitInvalid", "lease", "split-replace", "--lease", lease, "--children", "-"),
            ("SplitInvalid", "lease", "split-residual", "--lease", lease, "--at", "a"),
            ("NotParked", "shard", "unpark", "--run", "1", "--shard", "7"),
            ("ConfigMismatch", "run", "create", "--run", "1", "--shards", "-", "--shard-max", "9"),
            ("RunNotFound", "run", "register", "--run", "2", "--shards", "-"),
            ("WrongStatus", "run", "complete", "--run", "1"),
            ("RunNotFound", "run", "fail", "--run", "2"),
            ("RunNotFound", "run", "cancel", "--run", "2")):
        drawn = [c.refused(error, *words, stdin=THREE)["op_id"] for _ in range(2)]
        holds(drawn[0] != drawn[1], f"{words}: {drawn}")
        equal(c.refused(error, *words, "--op-id", "77", stdin=THREE)["op_id"], 77)
        holds(c.run(*words, "--op-id", "77", stdin=THREE).err.endswith(" (op id 77)\n"), "for people, too")
    for error, *words in (("RunNotFound", "lease", "claim", "--run", "2", "--worker", "w"),
                          ("AlreadyLeased", "lease", "acquire", "--run", "1", "--shard", "7", "--worker", "v"),
                          ("TenantMismatch", "lease", "renew", "--lease", lease, "--tenant", "other"),
                          ("RunAlreadyExists", "run", "create", "--run", "1")):
        holds("op_id" not in c.refused(error, *words), words)


@test
def committed_and_pending_shards_are_not_denied_however_many_they_are():
    lines = "".join(json.dumps({"start": f"{i:03}", "end": f"{i + 1:03}", "id": i + 1}) + "\n" for i in range(100))
    with Server(max_prepared_transactions=20) as server:
        server.create("a")
        server.create("b")
        c = Cluster(f"{server.url('a')},{server.url('b')}", now=None)
        straight = c.urls
        with Proxy(server.port, swallow=b"COMMIT PREPARED") as proxy:
            c.urls = f"{server.url('a')},{proxy.url('b', USER)}"
            equal(c.ok("run", "create", "--run", "5", "--shards", "-", stdin=lines)["outcome"], "executed")
            holds(proxy.lost > 0, "a commit was held back")
            kinds = {}
            for shard in range(1, 101):
                if len(kinds) == 2:
                    break
                for verb in (("shard", "show"), ("lease", "acquire", "--worker", "w")):
                    result = c.run(*verb, "--run", "5", "--shard", str(shard), "--json")
                    answer = load(result.out)
                    equal(answer.get("kind", "retryable"), "retryable", result)
                    equal(answer.get("error", "BackendError"), "BackendError", result)
                    kinds[result.status] = verb
            equal(set(kinds), {0, 6}, "some shards are there, and some are being made")
        c.urls = straight
        equal(run("store", "recover", "--cluster", c.urls).status, 0)
        equal({row["status"] for row in c.ok("shard", "list", "--run", "5")}, {"Active"})
        equal(len(c.ok("shard", "list", "--run", "5")), 100)
        c.refused("ShardNotFound", "lease", "acquire", "--run", "5", "--shard", "101", "--worker", "w")
        equal(len(c.ok("shard", "list", "--run", "5")), 100, "asking has made none")


@test
def a_damaged_run_is_listed_as_that_and_the_others_are_shown():
    with Server(max_prepared_transactions=20) as server:
        server.create("a")
        server.create("b")
        c = Cluster(f"{server.url('a')},{server.url('b')}", now=None)
        for number in ("1", "2", "3"):
            c.ok("run", "create", "--run", number)
        key = (b"\x00cr" + (2).to_bytes(8, "big")).hex()
        server.sql("a", f"UPDATE turnstone.item SET value = '\\x00' WHERE key = '\\x{key}'")
        result = c.run("run", "list", "--json")
        equal((result.status, result.err.count("\n")), (6, 1), result)
        rows = [load(line) for line in result.out.splitlines()]
        equal([(row["run"], row["status"]) for row in rows],
              [(1, "Initializing"), (2, "damaged"), (3, "Initializing")])
        holds("the record of run 2" in rows[1]["cause"], rows)
        holds("2  damaged" in c.run("run", "list").out, "for people, too")


@test
def mistakes_are_reported_before_anything_is_done():
    c = Cluster()
    for words, part in (
        (("run", "create"), "--run ID is missing"),
        (("run", "create", "--run", "x"), "--run must be a whole number"),
        (("run", "create", "--run", "1", "--shards", "missing"), "cannot open missing"),
        (("run", "create", "--run", "1", "--op-id", "3"), "--op-id needs --shards"),
        (("run", "create", "--run", "1", "--tenant", "x" * 33), "--tenant"),
        (("run", "register", "--run", "1"), "--shards FILE is missing"),
        (("lease", "claim", "--run", "1"), "--worker NAME is missing"),
        (("lease", "renew"), "no lease; give --lease LEASE"),
        (("shard", "show", "--run", "1"), "--shard ID is missing"),
    ):
        result = c.run(*words)
        equal((result.status, part in result.err), (2, True), f"{words}: {result}")
    for line, part in (("{", "not JSON"), ("[]", "not an object"), ('{"begin":"a"}', 'unknown member "begin"'),
                       ('{"start":1}', '"start" must be a string'), ('{"start":"0xzz"}', "hexadecimal"),
                       ('{"id":-1}', '"id"')):
        result = c.run("run", "create", "--run", "1", "--shards", "-", stdin="\n" + line + "\n")
        equal((result.status, part in result.err, "line 2" in result.err), (2, True, True), f"{line}: {result}")
    c.refused("InvalidConfig", "run", "create", "--run", "1", "--lease-ms", "5")
    c.refused("RunNotFound", "run", "show", "--run", "1")
    answer = c.refused("RegisterShardsFailed", "run", "create", "--run", "1", "--shards", "-",
                       stdin='{"start":"a","end":"c"}\n{"start":"b","end":"d"}\n')
    equal((answer["inner"], answer["reason"], answer["entry"], answer["other"]),
          ("ManifestInvalid", "OverlappingRanges", 1, 0))
    for line, reason in (('{"start":"a","end":"z","key":"' + "b" * 4097 + '"}', "CursorKeyTooLarge"),
                         ('{"start":"' + "a" * 4097 + '"}', "InvalidSpec"),
                         ('{"start":"a","end":"z","metadata":"' + "m" * 16385 + '"}', "InvalidSpec")):
        answer = c.refused("RegisterShardsFailed", "run", "create", "--run", "1", "--shards", "-", stdin=line + "\n")
        equal((answer["inner"], answer["reason"]), ("ManifestInvalid", reason), answer)
    c.refused("RunNotFound", "run", "show", "--run", "1")
    complains(2, "memory:", "run", "list", "--cluster", "memory:")


PIN = "ab" * 32


@test
def one_request_makes_one_run_and_another_list_under_its_name_is_refused():
    c = Cluster()
    create = ("run", "create", "--request", "nightly/2026-11-18", "--shards", "-")
    first = c.ok(*create, stdin=THREE)
    again = c.ok(*create, stdin=THREE)
    equal((first["outcome"], again["outcome"], again["run"], again["shards"]),
          ("executed", "replayed", first["run"], first["shards"]))
    holds(max(first["run"], first["op_id"]) < 2**53, first)
    equal([row["run"] for row in [c.ok("run", "list")]], [first["run"]], "one run")
    other = c.refused("ConfigMismatch", *create, stdin=THREE + '{"start":"z"}\n')
    equal(other["run"], first["run"])
    result = c.run(*create, stdin=THREE.replace("first", "second"))
    holds("another list of shards" in result.err, result)
    result = c.run(*create, "--attempts", "9", stdin=THREE)
    holds("another configuration" in result.err, result)
    # A request with another name or another tenant creates another run.
    holds(c.ok("run", "create", "--request", "nightly", "--shards", "-", stdin=THREE)["run"] != first["run"], "name")
    holds(c.ok(*create, "--tenant", "other", stdin=THREE)["run"] != first["run"], "tenant")
    c.ok("run", "cancel", "--run", str(first["run"]))
    equal(c.ok(*create, stdin=THREE)["status"], "Cancelled", "a repetition tells what became of the run")
    c.ok("run", "delete", "--run", str(first["run"]))
    equal(c.ok(*create, stdin=THREE)["outcome"], "executed", "the name is free again")
    for words in (["--run", "3", "--request", "x"], [], ["--request", "a b"], ["--request", "x" * 65],
                  ["--request", "x", "--op-id", "3"], ["--run", "3", "--pin", "12"], ["--run", "3", "--pin", "0" * 64]):
        complains(2, "run create: ", "run", "create", *words, "--shards", "-", "--cluster", c.urls, stdin=THREE)
    complains(2, "--request needs", "run", "create", "--request", "x", "--cluster", c.urls)


@test
def a_pinned_run_gives_shards_only_to_claims_with_its_pin():
    c = Cluster()
    c.create("--pin", PIN)
    shown = c.ok("run", "show", "--run", "1")
    equal((shown["pin"], "announced" in shown), (PIN, False))
    holds(f"  pinned to {PIN}\n" in c.run("run", "show", "--run", "1").out, "show")
    claim = ("lease", "claim", "--run", "1", "--worker", "w")
    for words in ([], ["--pin", "cd" * 32]):
        equal(c.refused("NoneAvailable", *claim, *words)["other_pins"], 1)
        holds("pinned" in c.run(*claim, *words).err, words)
    equal(c.ok(*claim, "--pin", PIN.upper())["run"], 1)
    # Workers with and without a pin may claim shards of a run without a pin.
    c.ok("run", "create", "--run", "2", "--shards", "-", stdin=THREE)
    holds("pin" not in c.ok("run", "show", "--run", "2"), "no pin")
    c.ok("lease", "claim", "--run", "2", "--worker", "w", "--pin", PIN)


@test
def a_long_list_that_was_killed_on_its_way_continues_to_the_same_shards():
    count = 25_000
    with open("many", "w", encoding="ascii") as file:
        for i in range(count):
            file.write(f'{{"start":"{i:06}","end":"{i + 1:06}"}}\n')
    os.mkdir("other")
    undisturbed = Cluster(urls=f"rocksdb:{os.getcwd()}/other/store", now=None)
    expected = undisturbed.ok("run", "create", "--request", "long", "--shards", "many")
    equal((expected["status"], len(set(expected["shards"]))), ("Active", count))
    c = Cluster(stores=1, now=None)
    words = ["run", "create", "--request", "long", "--shards", "many", "--cluster", c.urls]
    seen = set()
    for i in range(12):
        process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.15 + 0.12 * i)
        process.kill()
        process.wait()
        runs = c.run("run", "list", "--json").out.splitlines()
        if runs:
            run_now = load(runs[0])
            seen.add(run_now["registered"])
            holds(run_now["status"] == ("Active" if run_now["registered"] == count else "Initializing"), run_now)
            if run_now["status"] == "Initializing":
                number = str(run_now["run"])
                holds("repeat the command" in c.run("run", "show", "--run", number).out, number)
                c.refused("NoneAvailable", "lease", "claim", "--run", number, "--worker", "w")
                c.refused("WrongStatus", "run", "register", "--run", number, "--shards", "-", stdin=THREE)
    holds(seen <= {0, 10_000, 20_000, count}, seen)
    made = c.ok("run", "create", "--request", "long", "--shards", "many")
    equal((made["run"], made["shards"], made["status"]), (expected["run"], expected["shards"], "Active"))
    equal(c.ok("run", "show", "--run", str(made["run"]))["shards"], count, "no shard twice, none missing")


@test
def a_run_without_shards_waits_for_them():
    c = Cluster()
    equal(c.ok("run", "create", "--run", "1")["status"], "Initializing")
    c.refused("RunAlreadyExists", "run", "create", "--run", "1")
    c.refused("WrongStatus", "run", "complete", "--run", "1")
    with open("shards", "w") as file:
        file.write(THREE)
    registered = c.ok("run", "register", "--run", "1", "--shards", "shards")
    equal((registered["outcome"], len(registered["shards"])), ("executed", 3))
    shown = c.run("run", "show", "--run", "1").out
    holds("run 1: Active, 3 shards" in shown and "free 3" in shown, shown)


@test
def a_run_with_parked_shards_is_done_with_failures():
    c = Cluster()
    c.create()
    for i in range(3):
        lease = c.claim(f"w{i}")
        if i == 0:
            c.ok("lease", "park", "--lease", lease["lease"], "--reason", "NotFound")
            equal(c.ok("run", "show", "--run", "1")["with_failures"], False, "shards are still active")
        else:
            c.ok("lease", "complete", "--lease", lease["lease"], "--key", lease["start"])
    holds("run 1: Active, with failures, 3 shards" in c.run("run", "show", "--run", "1").out, "shown")
    for outcome in ("executed", "replayed"):
        result = c.run("run", "complete", "--run", "1", "--op-id", "5", "--json")
        equal((result.status, result.err), (1, ""), result)
        answer = load(result.out)
        equal((answer["outcome"], answer["status"], answer["with_failures"], answer["parked"]), (outcome, "Done", True, 1))
    result = c.run("run", "complete", "--run", "1", "--op-id", "5")
    equal((result.status, result.out), (1, "replayed (op id 5): run 1 is Done, with failures: 1 shard is parked\n"))
    shown = c.ok("run", "show", "--run", "1")
    equal((shown["status"], shown["with_failures"], shown["parked"]), ("Done", True, 1))
    for verb, said in (("show", "3 shards"), ("watch", "2 of 3 done, 1 parked")):
        result = c.run("run", verb, "--run", "1")
        holds(result.status == 0 and f"run 1: Done, with failures, {said}" in result.out, result)


@test
def a_replay_reports_the_current_status_of_the_run():
    c = Cluster()
    c.create()
    more = ("run", "register", "--run", "1", "--shards", "-", "--op-id", "11")
    line = '{"start":"z","end":"zz"}\n'
    equal(c.ok(*more, stdin=line)["status"], "Active")
    c.ok("run", "cancel", "--run", "1")
    again = c.ok(*more, stdin=line)
    equal((again["outcome"], again["status"], len(again["shards"])), ("replayed", "Cancelled", 1))
    equal(c.run(*more, stdin=line).out,
          "replayed (op id 11): run 1 already had this shard, 4 registered in total; it is Cancelled\n")
    equal((c.create()["outcome"], c.create()["status"]), ("replayed", "Cancelled"))


@test
def an_acquired_shard_is_shown_with_its_family_and_its_time_left():
    c = Cluster()
    shard = c.create()["shards"][0]
    acquire = ("lease", "acquire", "--run", "1", "--worker", "w1", "--shard")
    lease = c.ok(*acquire, str(shard))
    equal((lease["status"], lease["parent"], lease["spawned"]), ("Active", None, []))
    made = c.ok("lease", "split-residual", "--lease", lease["lease"], "--at", "d")["shards"]
    child = c.ok(*acquire, str(made[0]))
    equal((child["status"], child["parent"], child["spawned"]), ("Active", shard, []))
    c.now += 31000
    out = c.run(*acquire, str(shard)).out
    for part in ("status: Active\n", f"spawned: {made[0]}\n", f"until {c.now + 30000} ms (in 30.0 s)\n"):
        holds(part in out, out)
    c.now += 1500
    holds(f"parent: {shard}\n" in c.run(*acquire, str(made[0])).out, "the parent")
    result = c.run(*acquire, str(shard))
    holds(result.status == 3 and "(in 28.5 s)" in result.err, result)


@test
def a_lease_comes_from_a_file_or_the_environment():
    c = Cluster()
    c.create()
    lease = c.claim()["lease"]
    with open("lease", "w") as file:
        file.write(lease + "\n")
    for given, env in ((("--lease", "@lease"), {}), ((), {"TURNSTONE_LEASE": lease}), ((), {"TURNSTONE_LEASE": "@lease"})):
        result = c.run("lease", "renew", *given, env=env)
        equal((result.status, result.err), (0, ""))
    for given in ("@missing", "@/", "@" + "x" * 5000):
        result = c.run("lease", "renew", "--lease", given)
        holds(result.status == 2 and "the file of the lease" in result.err and result.err.count("\n") == 1, result)
    for content in ("", "x", lease[:-1], lease * 3):
        with open("lease", "w") as file:
            file.write(content)
        result = c.run("lease", "renew", "--lease", "@lease")
        holds(result.status == 2 and "--lease is not a lease of this cluster" in result.err, result)
    result = c.run("lease", "renew", env={"TURNSTONE_LEASE": None})
    holds(result.status == 2 and "no lease; give --lease LEASE" in result.err, result)


@test
def a_released_lease_is_given_back_at_once():
    c = Cluster()
    c.create("--attempts", "1")
    shard = str(c.claim()["shard"])
    acquire = ("lease", "acquire", "--run", "1", "--shard", shard, "--worker", "v")
    c.refused("AlreadyLeased", *acquire)
    c.now += 30000
    c.refused("ShardTerminal", *acquire)
    c.ok("shard", "unpark", "--run", "1", "--shard", shard)
    for op in (7, 8):
        lease = c.ok(*acquire)["lease"]
        release = ("lease", "release", "--lease", lease, "--blame", "Nobody", "--op-id", str(op))
        equal(c.ok(*release)["outcome"], "executed")
        equal(c.ok(*release)["outcome"], "replayed")
    holds("the lease was released" in c.run("lease", "renew", "--lease", lease).err, "what happened")
    lease = c.ok(*acquire)["lease"]
    equal(c.run("lease", "release", "--lease", lease, "--op-id", "9").out, "executed (op id 9)\n")
    c.refused("ShardTerminal", *acquire)


@test
def a_lease_from_before_an_unpark_gets_the_reason():
    c = Cluster()
    c.create()
    lease = c.claim()
    c.ok("lease", "park", "--lease", lease["lease"], "--reason", "Other")
    c.ok("shard", "unpark", "--run", "1", "--shard", str(lease["shard"]))
    answer = c.refused("StaleFence", "lease", "renew", "--lease", lease["lease"])
    equal((answer["presented"], answer["current"]), (1, 2))
    holds("was parked and unparked since" in c.run("lease", "renew", "--lease", lease["lease"]).err, "what happened")
    c.ok("lease", "acquire", "--run", "1", "--shard", str(lease["shard"]), "--worker", "w2")
    holds("has been acquired since" in c.run("lease", "renew", "--lease", lease["lease"]).err, "what happened then")


@test
def the_lease_that_ends_first_is_reported_on_any_store():
    c = Cluster(stores=3)
    # The ids are fixed, so each store has a shard. With random ids, a store could be without shards.
    lines = "".join(f'{{"start":"{a}","end":"{b}","id":{n}}}\n' for n, (a, b) in enumerate(zip("abcdefghijkl", "bcdefghijklm"), 1))
    # Completes all shards except one on each store. Then each of the three remaining shards in turn is leased
    # first.
    shards = c.ok("run", "create", "--run", "2", "--shards", "-", stdin=lines)["shards"]
    placed = {shard["shard"]: shard["store"] for shard in c.ok("shard", "list", "--run", "2")}
    one_each = [next(s for s in shards if placed[s] == store) for store in range(3)]
    for shard in shards:
        if shard not in one_each:
            lease = c.ok("lease", "acquire", "--run", "2", "--shard", str(shard), "--worker", "w")
            c.ok("lease", "complete", "--lease", lease["lease"], "--key", lease["start"])
    for first in range(3):
        c.now += 60000
        begun = c.now
        for i in range(3):
            c.ok("lease", "acquire", "--run", "2", "--shard", str(one_each[(first + i) % 3]), "--worker", f"w{i}")
            c.now += 1000
        answer = c.refused("NoneAvailable", "lease", "claim", "--run", "2", "--worker", f"other{first}")
        equal(answer["earliest_deadline"], begun + 30000, f"store {first} has it")


@test
def secrets_of_a_shard_stay_out_of_refusals():
    c = Cluster()
    c.ok("run", "create", "--run", "1", "--shards", "-", stdin='{"start":"KEYSTART","end":"KEYZEND","id":7}\n')
    lease = c.ok("lease", "acquire", "--run", "1", "--shard", "7", "--worker", "OWNERNAME")["lease"]
    c.ok("lease", "checkpoint", "--lease", lease, "--key", "KEYTENTH", "--token", "TOKENBYTES", "--op-id", "4")
    for words in (("lease", "acquire", "--run", "1", "--shard", "7", "--worker", "w2"),
                  ("lease", "checkpoint", "--lease", lease, "--key", "KEYSTART"),
                  ("lease", "checkpoint", "--lease", lease, "--key", "XKEYOUT"),
                  ("lease", "checkpoint", "--lease", lease, "--key", "KEYTENTHA", "--op-id", "4")):
        for extra in ((), ("--json",)):
            result = c.run(*words, *extra)
            equal(result.status, 3, result)
            for planted in ("KEYSTART", "KEYZEND", "KEYTENTH", "XKEYOUT", "OWNERNAME", "TOKENBYTES"):
                holds(planted not in result.out + result.err, f"{planted}: {result}")


@test
def watching_shows_changes_and_ends_with_the_run():
    with Server(max_prepared_transactions=20) as server:
        server.create("a")
        server.create("b")
        c = Cluster(f"{server.url('a')},{server.url('b')}", now=None)
        c.create()
        watch = subprocess.Popen([PROGRAM, "run", "watch", "--cluster", c.urls, "--run", "1", "--interval-ms", "50",
                                  "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        equal(load(watch.stdout.readline())["free"], 3)
        leases = [c.claim(f"w{i}") for i in range(3)]
        for lease in leases:
            c.ok("lease", "complete", "--lease", lease["lease"], "--key", lease["start"])
        out, err = watch.communicate(timeout=60)
        equal((watch.returncode, err), (0, ""))
        last = load(out.splitlines()[-1])
        equal((last["done"], last["active"]), (3, 0))
        result = c.run("run", "show", "--run", "1", "--now", str(T0))
        equal(result.status, 2, result)


@test
def twelve_that_come_at_once_are_all_served():
    """Twelve processes create runs, add shards and cancel the runs at the same time, on databases of three
    servers."""
    def at_once(verb, words_of, shards=""):
        started = []
        for i in range(12):
            process = subprocess.Popen([PROGRAM, "run", verb, "--cluster", c.urls, "--json", *words_of(i)],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            process.stdin.write(shards)
            process.stdin.close()
            started.append(process)
        told = [(process.wait(timeout=100), process.stderr.read(), process.stdout.read()) for process in started]
        equal([(status, err) for status, err, _ in told], 12 * [(0, "")], str(told))

    with Server(max_prepared_transactions=64, fsync=False) as server:
        server.create("one", "two", "three")
        c = Cluster(",".join(server.url(name) for name in ("one", "two", "three")), now=None)
        at_once("create", lambda i: ["--run", str(i + 1)])
        at_once("register", lambda i: ["--run", "1", "--shards", "-", "--op-id", str(100 + i)],
                "".join(f'{{"start":"{a}","end":"{b}"}}\n' for a, b in zip("abcdefghij", "bcdefghijk")))
        equal(c.ok("run", "show", "--run", "1")["shards"], 120)
        at_once("register", lambda i: ["--run", str(i + 1), "--shards", "-", "--op-id", "7"], '{"start":"a"}\n')
        at_once("cancel", lambda i: ["--run", str(i + 1)])
        equal({row["status"] for row in c.ok("run", "list")}, {"Cancelled"})


@test
def a_run_that_has_ended_is_deleted():
    c = Cluster(stores=3)
    c.create()
    words = ("run", "delete", "--run", "1")
    equal(c.refused("WrongStatus", *words)["status"], "Active")
    complaint = c.run(*words)
    equal(complaint.status, 3)
    holds("the run has not ended; complete, fail or cancel it first" in complaint.err, complaint)
    c.claim()
    c.ok("run", "cancel", "--run", "1")
    c.refused("TenantMismatch", *words, "--tenant", "other")
    equal(c.run(*words).out, "run 1 is deleted, with 3 shards\n")
    equal(c.ok("run", "list"), [])
    c.refused("RunNotFound", "run", "show", "--run", "1")
    equal(c.ok(*words), {"run": 1, "deleted": False, "shards": 0, "units": 0})
    equal(c.run(*words).out, "there is no run 1: nothing to delete\n")
    equal((c.create()["outcome"], c.claim()["fence"]), ("executed", 1))
    equal(c.run("run", "delete").status, 2)


DELETED_AT_ONCE = 256  # shards in one batch of a deletion


def delete_and_kill(c, shards, in_flight):
    """Kills deletions of a run until a deletion succeeds. Returns how many deletions were killed after they
    had deleted some of the shards.

    A server can still commit the batch that it received from a killed client, even after this function has
    counted the shards. `in_flight` is the maximum number of shards in such a batch."""
    halfway, left = 0, shards
    delay = 0.01
    while True:
        process = subprocess.Popen([PROGRAM, "run", "delete", "--run", "1", "--cluster", c.urls, "--json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, err = process.communicate(timeout=delay)
            equal((process.returncode, err), (0, ""))
            found = load(out)
            holds(max(0, left - in_flight) <= found["shards"] <= left, f"{found} after {left} shards were left")
            holds(found["deleted"] or left <= in_flight, f"{found} after {left} shards were left")
            return halfway
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        # The run is deleted last. Until then, its counters match the remaining shards.
        shown = c.run("run", "show", "--run", "1", "--json")
        if shown.status == 3:
            holds("RunNotFound" in shown.out, shown)
            return halfway
        shown = load(shown.out)
        equal(shown["status"], "Cancelled")
        holds(shown["shards"] <= left, f"{shown['shards']} of {left}")
        halfway += 0 < shown["shards"] < left
        if shown["shards"] == left:
            delay *= 1.3
        left = shown["shards"]


@test
def a_deletion_that_is_killed_is_gone_on_with():
    lines = "".join(json.dumps({"start": f"{i:05}", "end": f"{i + 1:05}"}) + "\n" for i in range(4000))
    with Server(max_prepared_transactions=20, fsync=False) as server:
        server.create("one", "two")
        directories = ",".join(f"rocksdb:{os.getcwd()}/killed{i}" for i in range(2))
        databases = ",".join(server.url(name) for name in ("one", "two"))
        for urls, in_flight in ((directories, 0), (databases, DELETED_AT_ONCE)):
            c = Cluster(urls, now=None)
            halfway = 0
            for attempt in range(10):
                equal(len(c.ok("run", "create", "--run", "1", "--shards", "-", "--op-id", "1", stdin=lines)["shards"]), 4000)
                c.ok("run", "cancel", "--run", "1")
                halfway += delete_and_kill(c, 4000, in_flight)
                equal(c.ok("run", "list"), [])
                equal(c.ok("run", "delete", "--run", "1")["deleted"], False)
                if halfway > 0:
                    break
            holds(halfway > 0, f"no kill came half-way: {urls}")
            c.create()
            equal(c.ok("run", "show", "--run", "1")["shards"], 3)


@test
def a_slow_server_registers_a_long_list_in_smaller_steps():
    """With the usual steps, each call would take longer than its timeout, however often the command is repeated."""
    count = 1500
    with Server(fsync=False) as server:
        server.create("a")
        c = Cluster(server.url("a"), now=None)
        server.sql("a", "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
                        "$$ BEGIN PERFORM pg_sleep(0.001); RETURN NEW; END $$; "
                        "CREATE TRIGGER slow BEFORE INSERT ON turnstone.item FOR EACH ROW EXECUTE FUNCTION slow()")
        addresses = "".join(f"https://git.example.org/r{i}\n" for i in range(count))
        made = c.ok("run", "create", "--run", "1", "--targets", "-", stdin=addresses)
        equal((made["outcome"], made["targets"]), ("executed", count))
        shown = c.ok("run", "show", "--run", "1")
        equal((shown["status"], shown["registered"], shown["shards"]), ("Active", count, count))
        server.sql("a", "DROP TRIGGER slow ON turnstone.item")
        equal(c.ok("run", "audit", "--run", "1")["clean"], True)


main()
