#!/usr/bin/env python3
"""turnstone store: makes and examines a cluster, and reports errors of the configuration."""
import json
import os
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import PROGRAM, answers, complains, run  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402


def rocksdb(*names):
    return ",".join(f"rocksdb:{os.getcwd()}/{name}" for name in names)


def init(cluster, *options):
    result = run("store", "init", "--cluster", cluster, "--json", *options)
    equal((result.status, result.err), (0, ""), "store init")
    return json.loads(result.out)


def put(cluster, **pairs):
    lines = "".join(json.dumps({"op": "put", "key": key, "value": value}) + "\n" for key, value in pairs.items())
    result = run("txn", "--cluster", cluster, "--json", stdin=lines)
    equal((result.status, result.err), (0, ""), "txn")
    return json.loads(result.out)


def status(cluster):
    return json.loads(run("store", "status", "--cluster", cluster, "--json").out)


@test
def init_makes_a_cluster_that_remembers_its_routing():
    cluster = rocksdb("a", "b", "c")
    made = init(cluster, "--strategy", "jump")
    equal((made["stores"], made["epoch"], made["routing"]), (3, 1, "jump"))
    seen = status(cluster)
    equal((seen["cluster"], seen["routing"], len(seen["stores"])), (made["cluster"], "jump", 3))
    equal([s["epoch"] for s in seen["stores"]], [1, 1, 1])
    equal((seen["promises"], seen["coordinators"]), ([], []))


@test
def init_again_changes_nothing():
    cluster = rocksdb("a", "b")
    made = init(cluster)
    put(cluster, a="1")
    equal(init(cluster), made)
    holds("1" in run("store", "get", "--cluster", cluster, "a").out, "the value is still there")
    complains(6, ["routing xxh64", "keep that routing"], "store", "init", "--cluster", cluster, "--strategy", "jump")


@test
def ranges_route_as_they_say():
    cluster = rocksdb("a", "b")
    init(cluster, "--strategy", "range", "--ranges", "1:0-9223372036854775808,0:9223372036854775808-max")
    put(cluster, **{f"k{i}": str(i) for i in range(20)})
    rows = [json.loads(line) for line in run("store", "scan", "--cluster", cluster, "--json").out.splitlines()]
    equal({row["store"] for row in rows}, {0, 1})
    made = init(cluster)
    equal(made["routing"], "range:1:0-9223372036854775808,0:9223372036854775808-max")
    complains(2, "--ranges", "store", "init", "--cluster", rocksdb("c", "d"), "--strategy", "range")
    complains(2, "--ranges", "store", "init", "--cluster", rocksdb("c", "d"), "--ranges", "0:0-max")
    complains(2, "gap", "store", "init", "--cluster", rocksdb("c", "d"), "--strategy", "range", "--ranges", "0:0-10,1:20-max")
    holds(not os.path.exists("c"), "stores were made for a routing that cannot be")
    complains(6, "make it with mkdir -p", "store", "init", "--cluster", rocksdb("not/there"))


@test
def get_and_scan_show_what_was_put():
    cluster = rocksdb("a", "b")
    init(cluster)
    put(cluster, a="1", ab="2", b="3")
    row = json.loads(run("store", "get", "--cluster", cluster, "--json", "ab").out)
    equal((row["key"], row["value"]), ("ab", "2"))
    holds(row["version"] > 0, row)
    keys = [json.loads(line)["key"] for line in run("store", "scan", "--cluster", cluster, "--json", "a").out.splitlines()]
    equal(sorted(keys), ["a", "ab"])
    keys = [json.loads(line)["key"] for line in run("store", "scan", "--cluster", cluster, "--json").out.splitlines()]
    equal(sorted(keys), ["a", "ab", "b"])
    equal(len(run("store", "scan", "--cluster", cluster, "--limit", "2").out.splitlines()), 2)
    result = run("store", "get", "--cluster", cluster, "nothing")
    equal(result.status, 0)
    holds("absent" in result.out, result)


@test
def any_bytes_are_keys_and_values():
    cluster = rocksdb("a", "b")
    init(cluster)
    run("txn", "--cluster", cluster, stdin='{"op":"put","key":"0xff00fe","value_hex":"00ff"}\n')
    row = json.loads(run("store", "get", "--cluster", cluster, "--json", "0xff00fe").out)
    equal((row["key"], row["value_hex"]), ("0xff00fe", "00ff"))
    result = run("store", "scan", "--cluster", cluster)
    holds("\x00" not in result.out and "0xff00fe" in result.out, result)
    for wrong in ("0x", "0x1", "0xzz", ""):
        complains(2, "key", "store", "get", "--cluster", cluster, wrong)


@test
def a_cluster_in_another_order_is_refused():
    init(rocksdb("a", "b"))
    complains(6, ["order", "/b is store 1 of its cluster, listed as store 0"], "store", "get", "--cluster",
              rocksdb("b", "a"), "k")


@test
def a_store_by_two_names_is_one():
    os.symlink("a", "link")
    for list in ("rocksdb:a,rocksdb:./a", f"rocksdb:a,rocksdb:{os.getcwd()}/a", "rocksdb:a,rocksdb:link"):
        for words in (["init"], ["status"], ["init", "--wait", "100"]):
            complains(2, ["store 0 and store 1 are the same", "twice"], "store", *words, "--cluster", list)
        holds(not os.path.exists("a"), "it was made all the same")
    init("rocksdb:a")
    complains(2, "store 0 and store 1 are the same", "store", "init", "--cluster", "rocksdb:link,rocksdb:a")


@test
def a_part_of_a_cluster_is_refused():
    init(rocksdb("a", "b"))
    complains(6, "to a cluster of size 2, and the list has 1", "store", "get", "--cluster", rocksdb("a"), "k")


@test
def a_store_of_another_cluster_is_refused():
    init(rocksdb("a", "b"))
    init(rocksdb("c", "d"))
    complains(6, "different clusters", "store", "get", "--cluster", rocksdb("a", "d"), "k")
    complains(6, "cluster", "store", "init", "--cluster", rocksdb("a", "d"))


@test
def a_store_that_is_not_initialised_names_the_cure():
    complains(6, "store init", "store", "status", "--cluster", rocksdb("new"))
    holds(not os.path.exists("new"), "looking at a store must not make one")


@test
def malformed_lists_are_usage_errors():
    for cluster, part in (("", "empty"), ("a", "rocksdb:"), ("rocksdb:", "rocksdb:"), ("mysql://h/d", "mysql"),
                          ("rocksdb:x,rocksdb:x", "twice"), ("rocksdb:x,,rocksdb:y", ""),
                          ("postgresql://h/d?passwordd=x", "passwordd"), ("postgresql://h:x/d", "port"),
                          ("postgresql://127.0.0.1:1/d?sslmode=bogus", "sslmode must be disable|allow|"),
                          ("postgresql://127.0.0.1:1/d?connect_timeout=soon", "connect_timeout must be a whole number"),
                          ("postgresql://127.0.0.1:1/d?ssl_min_protocol_version=TLSv1.3&ssl_max_protocol_version=TLSv1.2", "SSL protocol"),
                          ("postgresql://127.0.0.1:1/d?gssencmode=", "gssencmode must be")):
        complains(2, part, "store", "status", "--cluster", cluster)
    complains(2, "TURNSTONE_CLUSTER", "store", "status", env={"TURNSTONE_CLUSTER": None})
    complains(6, "cannot be reached", "store", "status", "--cluster", "postgresql://127.0.0.1:1/d?sslmode=prefer&connect_timeout=3")
    complains(2, "memory:", "store", "init", "--cluster", "memory:a")


@test
def a_cluster_has_at_most_256_stores():
    complains(2, ["257 stores", "at most 256"], "store", "init", "--cluster", rocksdb(*(f"s{i}" for i in range(257))))
    holds(not os.path.exists("s0"), "nothing was made")
    complains(2, ["257 stores", "at most 256"], "bench", "xs", "--scenario", "faults", "--seconds", "0.1", "--cluster",
              ",".join(f"memory:{i}" for i in range(257)))


@test
def stores_that_end_with_the_process_are_not_mixed_with_others():
    for scenario in ("uniform", "faults"):
        for cluster in (f"memory:a,{rocksdb('mixed')}", f"{rocksdb('mixed')},memory:a"):
            complains(2, "memory:", "bench", "xs", "--scenario", scenario, "--seconds", "0.1", "--cluster", cluster)
    complains(2, "memory:", "bench", "coord", "--cluster", f"memory:a,{rocksdb('mixed')}")
    holds(not os.path.exists("mixed"), "nothing was made")


@test
def a_store_that_does_not_answer_is_named_once():
    # The second store is a server that does not run, so the test needs no real server.
    cluster = rocksdb("named")
    init(cluster)
    line = run("store", "status", "--cluster", cluster).out.splitlines()[1]
    equal(line.count("rocksdb:"), 1, line)
    result = run("store", "status", "--cluster", f"{cluster},postgresql://u@127.0.0.1:1/db")
    for line in (result.out + result.err).splitlines():
        holds(line.count("127.0.0.1:1/db") <= 1, line)


@test
def passwords_never_reach_a_message():
    for words in (["store", "status", "--cluster", "postgresql://u:ge,heim@h1/db"],
                  ["store", "status", "--cluster", "postgresql://u:ge?heim@h1/db"],
                  ["store", "status", "--cluster", "postgresql://u:geheim@h1:x/db"],
                  ["store", "status", "--cluster", "postgresql://u:geheim@h1,h2/db"],
                  ["store", "status", "--cluster", "mysql://u:geheim@h1/db"],
                  ["store", "status", "--cluster", "postgresql://u:geheim@127.0.0.1:1/db"],
                  ["store", "status", "postgresql://u:geheim@h1/db"], ["postgresql://u:geheim@h1/db"],
                  ["store", "postgresql://u:geheim@h1/db"],
                  ["store", "status", "--cluster", "host=h user=u password=geheim"],
                  ["store", "status", "--cluster", "postgresql://h/db?password=ge,heim"],
                  ["store", "status", "--cluster", "postgresql://u@h/db?password=ge@heim&bad"],
                  ["store", "status", "--cluster", "postgresql://u:a@x?heim@h/db"],
                  ["store", "status", "--cluster", "postgresql:u:geheim"],
                  ["store", "status", "--cluster", "postgresql//u:geheim/db"],
                  ["store", "status", "--cluster", "rocksdb:x,u:geheim"],
                  ["store", "status", "--cluster", "postgresql://127.0.0.1:1?dbname=postgresql://v:geheim@h2/db"],
                  ["store", "status", "--cluster", "postgresql://127.0.0.1:1?dbname=password%3Dgeheim"],
                  ["store", "status", "--cluster", "postgresql:///d?host=postgresql://v:geheim@h2/db"],
                  ["txn", "--cluster", "rocksdb:x", "--set", "cluster=postgresql://u:geheim@h/d"],
                  ["txn", "--cluster", "rocksdb:x", "--set", "timeouts.total=postgresql://u:geheim@h/d"],
                  ["txn", "--cluster", "rocksdb:x", "--set", "postgresql://u:geheim@h/d?a=b"],
                  ["txn", "--cluster", "rocksdb:x", "--set", "cluster=host=h user=u password=geheim"],
                  ["txn", "--cluster", "rocksdb:x", "--config", "postgresql://u:geheim@h/d"],
                  ["store", "init", "--cluster", "rocksdb:x", "--strategy", "range", "--ranges", "postgresql://u:geheim@h/d"],
                  ["store", "init", "--cluster", "rocksdb:x", "--strategy", "range", "--ranges", "0:0-postgresql://u:geheim@h/d"],
                  ["route", "k", "--strategy", "range", "--ranges", "postgresql://u:geheim@h/d"],
                  ["store", "status", "--wait", "postgresql://u:geheim@h1/db", "--cluster", "rocksdb:x"]):
        result = run(*words)
        holds(result.status in (2, 6), f"{words}: {result}")
        holds("heim" not in result.err + result.out and "u:ge" not in result.err, f"{words}: {result}")


@test
def connecting_ends_at_its_timeout():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/db"
        begun = time.monotonic()
        result = run("txn", "--cluster", url, "--set", "timeouts.shard_rpc=300ms",
                     stdin='{"op":"put","key":"k","value":"1"}\n')
        equal(result.status, 6, result)
        holds(time.monotonic() - begun < 8, "it waited for longer than it was told to")


@test
def the_environment_names_the_cluster_too():
    cluster = rocksdb("a")
    init(cluster)
    equal(run("store", "status", env={"TURNSTONE_CLUSTER": cluster}).status, 0)


def holder(cluster):
    """Starts a process that opens the cluster and holds its lock for about 3 seconds. The process is a
    benchmark: a transaction would open the cluster only after it has read its input."""
    return subprocess.Popen([PROGRAM, "bench", "xs", "--cluster", cluster, "--scenario", "uniform", "--threads", "1",
                             "--seconds", "3", "--wait", "30"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_until_held(cluster):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if run("store", "get", "--cluster", cluster, "x").status == 6:
            return
        time.sleep(0.05)
    raise AssertionError("the directory was never held")


@test
def a_directory_in_use_is_named_and_can_be_waited_for():
    cluster = rocksdb("a", "b")
    init(cluster)
    process = holder(cluster)
    try:
        wait_until_held(cluster)
        complains(6, [f"{os.getcwd()}/a", "--wait"], "store", "get", "--cluster", cluster, "x")
        equal(run("store", "get", "--cluster", cluster, "--wait", "60", "x").status, 0)
    finally:
        process.kill()
        process.wait()


@test
def fence_raises_the_epoch_and_recover_settles():
    cluster = rocksdb("a", "b", "c")
    init(cluster)
    put(cluster, **{f"k{i}": "1" for i in range(10)})
    equal(json.loads(run("store", "fence", "--cluster", cluster, "--json").out)["epoch"], 2)
    equal([s["epoch"] for s in status(cluster)["stores"]], [2, 2, 2])
    result = run("store", "recover", "--cluster", cluster, "--json")
    equal(result.status, 0)
    seen = status(cluster)
    equal((seen["promises"], [c for c in seen["coordinators"] if not c["fenced"]]), ([], []))
    holds(all("heartbeat_age_ms" not in c for c in seen["coordinators"]), seen)
    put(cluster, after="1")


def copy(names, to):
    """Copies directories that may be in use. cp skips files that disappear during the copy. If the file
    CURRENT of a copy names a MANIFEST that the copy lacks, RocksDB could not open the copy, so the function
    makes the copy again."""
    for name in names:
        while True:
            subprocess.run(["cp", "-r", name, to + name], stderr=subprocess.DEVNULL, check=False)
            currents = [os.path.join(folder, "CURRENT") for folder, _, files in os.walk(to + name) if "CURRENT" in files]
            if all(os.path.exists(os.path.join(os.path.dirname(one), open(one).read().strip())) for one in currents):
                break
            shutil.rmtree(to + name)


IS_A_COPY = ["is a copy", "store recover --accept-copy"]
IS_OLDER = ["were last open at different times", "store recover --accept-copy"]


def total(cluster):
    result = run("store", "scan", "--cluster", cluster, "--json", "bal")
    equal((result.status, result.err), (0, ""))
    return sum(int(json.loads(line)["value"]) for line in result.out.splitlines())


@test
def a_copy_of_an_open_store_is_not_mistaken_for_the_store():
    cluster = rocksdb("a", "b")
    init(cluster)
    put(cluster, bal1="5", bal2="5", bal3="5", bal4="5")
    process = holder(cluster)
    try:
        wait_until_held(cluster)
        copy("ab", "live-")
        live = rocksdb("live-a", "live-b")
        for words in (["status"], ["recover"], ["fence"], ["init"], ["get", "bal1"]):
            complains(6, ["live-a", *IS_A_COPY], "store", *words, "--cluster", live)
    finally:
        process.kill()
        process.wait()
    complains(6, IS_A_COPY, "txn", "--cluster", live, stdin='{"op":"put","key":"k","value":"1"}\n')
    complains(6, ["live-b", *IS_A_COPY], "store", "status", "--cluster", rocksdb("a", "live-b"))
    complains(6, ["live-a", *IS_A_COPY], "store", "recover", "--cluster", rocksdb("live-a", "b"))
    equal(total(cluster), 20, "the original goes on")


@test
def a_copy_is_accepted_once_and_the_original_stays():
    cluster, copied = rocksdb("a", "b", "c"), rocksdb("kept-a", "kept-b", "kept-c")
    init(cluster)
    put(cluster, bal1="1", bal2="2", bal3="3")
    copy("abc", "kept-")
    put(cluster, bal1="10")
    complains(6, IS_A_COPY, "store", "get", "--cluster", copied, "bal1")
    result = run("store", "recover", "--cluster", copied, "--accept-copy", "--json")
    equal((result.status, result.err, json.loads(result.out)["epoch"]), (0, "", 2))
    equal((total(copied), total(cluster)), (6, 15))
    put(copied, bal2="20")
    equal((total(copied), total(cluster)), (24, 15))
    complains(6, IS_OLDER, "store", "status", "--cluster", rocksdb("a", "kept-b", "c"))


@test
def a_backup_that_is_put_back_is_accepted_with_the_others():
    cluster = rocksdb("a", "b")
    init(cluster)
    put(cluster, bal1="1", bal2="2")
    copy("b", "old-")
    equal(json.loads(run("store", "fence", "--cluster", cluster, "--json").out)["epoch"], 2)
    equal(json.loads(run("store", "fence", "--cluster", cluster, "--json").out)["epoch"], 3)
    subprocess.run(["rm", "-r", "b"], check=True)
    copy(["old-b"], "x")
    os.rename("xold-b", "b")
    complains(6, IS_A_COPY, "store", "fence", "--cluster", cluster)
    result = run("store", "recover", "--cluster", cluster, "--accept-copy")
    equal((result.status, result.err), (0, ""))
    holds(result.out.startswith("epoch 4: "), result)
    equal(total(cluster), 3)
    put(cluster, bal1="4", bal2="5")
    equal(total(cluster), 9)


@test
def files_that_are_put_back_into_the_same_directory_are_older_than_the_other_store():
    cluster = rocksdb("a", "b")
    init(cluster)
    put(cluster, bal1="1", bal2="2")
    for name in "ab":
        copy([name], "old-")
        put(cluster, bal1="3", bal2="4")
        subprocess.run(f"rm {name}/* && cp -r old-{name}/. {name}/", shell=True, check=True)
        for words in (["status"], ["recover"], ["get", "bal1"]):
            complains(6, IS_OLDER, "store", *words, "--cluster", cluster)
        equal(run("store", "recover", "--cluster", cluster, "--accept-copy").status, 0)
        equal(run("store", "status", "--cluster", cluster).status, 0)


@test
def a_store_that_is_moved_is_the_same_store():
    init(rocksdb("a", "b"))
    put(rocksdb("a", "b"), bal1="1", bal2="2")
    os.rename("a", "moved")
    os.mkdir("deeper")
    os.rename("b", "deeper/b")
    os.symlink("deeper/b", "link")
    equal(total(rocksdb("moved", "link")), 3)
    put(rocksdb("moved", "deeper/b"), bal1="3")
    equal(total(rocksdb("moved", "deeper/b")), 5)


main()
