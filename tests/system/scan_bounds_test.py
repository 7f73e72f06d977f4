#!/usr/bin/env python3
"""turnstone scan: small inputs that could take much time or memory. No test measures time. Instead, each
input once took the program minutes, and `run` fails after 60 seconds."""
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from packs import delta, head, whole, write_pack  # noqa: E402
from program import IS_SANITIZED, PROGRAM, peak_kib, run  # noqa: E402
from repo import Repo, github_token, made_up  # noqa: E402
from tap import Skip, equal, holds, main, test  # noqa: E402

CLEAN, FINDINGS, USAGE, INCOMPLETE = 0, 1, 2, 4


def scan(*arguments, **options):
    return run("scan", *arguments, timeout=60, **options)


def summary(*arguments, **options):
    result = scan(*arguments, "--format", "json", **options)
    return result, json.loads(result.out)["summary"] if result.out else None


def seconds_of_work(count):
    """Returns a function that limits the CPU time of a process: the kernel kills the process after `count`
    seconds. The load of the machine has no influence on CPU time."""
    return lambda: resource.setrlimit(resource.RLIMIT_CPU, (count, count))


def zeros(size):
    """Returns the id of a blob of `size` zero bytes, and the blob as an entry of a pack."""
    compressor, raw, digest = zlib.compressobj(9), b"", hashlib.sha1(b"blob %d\0" % size)
    for at in range(0, size, 1 << 20):
        part = bytes(min(1 << 20, size - at))
        digest.update(part)
        raw += compressor.compress(part)
    return digest.digest(), head(3, size) + raw + compressor.flush()


def write_packed_refs(refs, traits="peeled fully-peeled sorted"):
    with open("repo/.git/packed-refs", "w") as file:
        file.write(f"# pack-refs with: {traits} \n")
        file.writelines(f"{oid} {name}\n" for name, oid in refs)


def within(mib, *arguments, **options):
    """Runs the program, and checks that it uses less than `mib` MiB of memory. Returns its status. With
    sanitizers, the memory is not checked, because it contains the memory of the sanitizers."""
    peak, status = peak_kib(*arguments, **options)
    holds(IS_SANITIZED or peak < mib << 10, f"{arguments}: {peak} KiB")
    return status


def commit_of(tree):
    return whole(1, b"tree " + tree.hex().encode() + b"\nauthor A <a> 1700000000 +0000\ncommitter A <a> 1700000000 +0000\n\nm\n")


def tree_of(entries):
    return whole(2, b"".join(mode + b" " + name + b"\0" + oid for mode, name, oid in entries))


def make(entries, tree):
    """Makes a repository of these objects, the tree, and a commit of the tree on main."""
    repo = Repo("repo")
    commit = commit_of(tree[0])
    write_pack("repo/.git/objects/pack", [*entries, tree, commit])
    with open("repo/.git/refs/heads/main", "w") as file:
        file.write(commit[0].hex() + "\n")
    return repo


def make_tree_bomb(levels, name_size):
    """Makes a repository with `levels` levels of folders. Each folder contains the same subfolder ten times,
    under ten long names. One file is staged."""
    entries = [whole(3, github_token().encode())]
    tree = tree_of([(b"100644", b"f", entries[0][0])])
    for _ in range(levels):
        entries.append(tree)
        tree = tree_of([(b"40000", b"%d" % i * name_size, tree[0]) for i in range(10)])
    repo = make(entries, tree)
    repo.write("new.txt", github_token(1))
    oid = repo.git("hash-object", "-w", "new.txt")
    repo.git("update-index", "--add", "--cacheinfo", f"100644,{oid},new.txt")


# ---- memory ----


@test
def folders_that_multiply_stay_within_the_memory_whatever_is_scanned():
    make_tree_bomb(20, 1000)
    for arguments in ((), ("--staged",), ("--since", "2001-01-01"), ("--commit", "main"), ("--unreachable",)):
        equal(within(64, "scan", "repo", "--memory", "64M", *arguments), INCOMPLETE, arguments)
        holds("--memory" in scan("repo", "--memory", "64M", *arguments, "--format", "jsonl").err, arguments)
    equal(within(64, "protect", "repo", "--memory", "64M"), INCOMPLETE)
    holds("--memory" in run("protect", "repo", "--memory", "64M").err, "protect")


@test
def an_index_whose_paths_are_long_stays_within_the_memory():
    """In version 4 of the index, an entry stores only how its path differs from the previous path. Here paths
    have 40,000 bytes in common, and six more bytes."""
    blob = whole(3, github_token().encode())
    make([blob], tree_of([(b"100644", b"f", blob[0])]))
    count, body = 20000, [b"DIRC" + struct.pack(">II", 4, 20000)]
    for i in range(count):
        body.append(bytes(24) + struct.pack(">I", 0o100644) + bytes(12) + blob[0] + b"\x0f\xff" +
                    (b"\0" + b"d/" * 20000 if i == 0 else b"\6") + b"%06d\0" % i)
    index = b"".join(body)
    with open("repo/.git/index", "wb") as file:
        file.write(index + hashlib.sha1(index).digest())
    equal(within(64, "scan", "repo", "--staged", "--memory", "64M"), INCOMPLETE)
    holds("--memory" in scan("repo", "--staged", "--memory", "64M", "--format", "jsonl").err, "says so")


@test
def many_findings_at_many_places_stay_within_the_memory():
    blob = whole(3, "".join(f"{github_token(i)}\n" for i in range(5000)).encode())
    make([blob], tree_of([(b"100644", b"%04d" % i, blob[0]) for i in range(400)]))
    equal(within(64, "scan", "repo", "--memory", "64M"), INCOMPLETE)
    result, told = summary("repo", "--memory", "64M")
    equal((told["findings"], told["occurrences"]), (5000, 2000000))
    holds("--memory" in result.err, result.err)


@test
def a_tree_that_is_too_wide_is_named_with_the_option():
    blob = whole(3, github_token().encode())
    tree = tree_of([(b"100644", b"%06d" % i, blob[0]) for i in range(100000)])
    make([blob], tree)
    equal(within(64, "scan", "repo", "--memory", "64M"), INCOMPLETE)
    err = scan("repo", "--memory", "64M", "--format", "jsonl").err
    holds(tree[0].hex() in err and "--memory" in err, err)


@test
def more_threads_than_the_memory_is_for_are_not_started():
    os.mkdir("files")
    for i in range(40):
        with open(f"files/{i}", "w") as file:
            file.write(github_token(i))
            file.truncate(9 << 20)
    equal(within(96, "scan", "--dir", "files", "--memory", "64M", "--jobs", "100"), FINDINGS)


# ---- limits of time, and small data that becomes large when it is unpacked ----


def make_delta_bomb(count):
    """Makes a repository with a blob of 64 MiB of zeros, and `count` deltas that each make 1 GiB from the
    blob."""
    size = 64 << 20
    first = zeros(size)
    copy = b"".join(b"\xff" + struct.pack("<I", at) + b"\x00\x00\x80" for at in range(0, size, 8 << 20))
    bombs = [delta(hashlib.sha1(b"bomb %d" % i).digest(), first[0], size, 16 * size, copy * 16) for i in range(count)]
    token = whole(3, github_token().encode())
    ids = [first[0], *(one[0] for one in bombs)]
    tree = tree_of([(b"100644", b"a", token[0])] + [(b"100644", b"f%06d" % i, oid) for i, oid in enumerate(ids)])
    make([token, first, *bombs], tree)


@test
def a_repository_that_is_enormous_when_it_is_unpacked_is_left_and_said():
    make_delta_bomb(500)
    result, told = summary("repo", "--jobs", "1")
    equal(result.status, INCOMPLETE)
    holds("--max-ratio" in str(told["faults"]), told["faults"])
    holds(told["blobs"] < 20, told)


@test
def a_scan_ends_when_its_time_is_over_with_what_was_found():
    make_delta_bomb(500)
    result, told = summary("repo", "--max-time", "2s", "--max-ratio", "4000000000")
    equal(result.status, INCOMPLETE)
    holds("--max-time" in str(told["faults"]) and not told["is_stopped"], told)
    equal(told["findings"], 1)


@test
def findings_do_not_take_longer_than_the_time_limit():
    """A finding has thousands of paths of 20,000 bytes. When no time is left to mask them, the program
    replaces whole texts by masks."""
    if IS_SANITIZED:
        raise Skip("sanitizers take a multiple of the time")
    make_tree_bomb(20, 1000)
    result, told = summary("repo", "--max-time", "1s", preexec_fn=seconds_of_work(6))
    equal((result.status, told["findings"]), (INCOMPLETE, 1))
    holds("--max-time" in str(told["faults"]), told["faults"])


def make_deep_paths(count):
    """Makes a repository with `count` secrets, each at a path of 60,000 bytes."""
    entries, tops = [], []
    for i in range(count):
        entry = whole(3, github_token(i).encode())
        kind = b"100644"
        for level in range(240):
            entries.append(entry)
            entry = tree_of([(kind, made_up(250, (i, level)).encode(), entry[0])])
            kind = b"40000"
        entries.append(entry)
        tops.append((kind, b"%04d" % i, entry[0]))
    make(entries, tree_of(tops))


@test
def texts_that_had_no_time_are_not_remembered_masked():
    make_deep_paths(12)
    expected, told = summary("repo", "--no-state")
    equal((expected.status, told["findings"]), (FINDINGS, 12))
    for limit in ("50ms", "100ms", "150ms", "200ms", "300ms"):
        shutil.rmtree("state", ignore_errors=True)
        scan("repo", "--max-time", limit, "--state", "state")
        result, _ = summary("repo", "--state", "state")
        equal(json.loads(result.out)["findings"], json.loads(expected.out)["findings"], limit)


@test
def contents_without_time_are_not_remembered_as_scanned():
    repo = Repo("repo")
    repo.write("a.txt", github_token())
    repo.commit()
    for arguments in (("scan", "repo"), ("scan", "--staged", "repo"), ("scan", "--dir", "repo")):
        result = run(*arguments, "--max-time", "1ms", "--state", "state")
        equal(result.status, INCOMPLETE, arguments)
        holds("--max-time" in result.out, result)
    result = run("baseline", "repo", "--output", "b", "--max-time", "1ms", "--state", "state")
    equal((result.status, os.path.exists("b")), (INCOMPLETE, False))
    equal(run("scan", "repo", "--state", "state").status, FINDINGS)


@test
def a_pipe_that_says_nothing_more_does_not_hold_up_the_end():
    for way in (("--max-time", "2s"), ()):
        child = subprocess.Popen([PROGRAM, "scan", "-", *way], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        child.stdin.write(github_token() + "\n")
        child.stdin.flush()
        if not way:
            time.sleep(1)
            child.send_signal(signal.SIGINT)
        equal(child.wait(timeout=60), INCOMPLETE, f"{way}")
        holds("1 finding:" in child.stdout.read(), way)
        child.stdin.close()


@test
def invalid_times_and_ratios_are_refused():
    Repo("repo")
    for text in ("", "5", "0s", "-1s", "1d", "s", "1.5s", "99999999999999999999h"):
        equal(scan("repo", "--max-time", text).status, USAGE, text)
    for text in ("", "0", "-1", "x"):
        equal(scan("repo", "--max-ratio", text).status, USAGE, text)
    for text in ("500ms", "90s", "15m", "2h"):
        equal(scan("repo", "--max-time", text).status, CLEAN, text)


# ---- the target's own configuration ----


@test
def the_cost_of_a_match_does_not_grow_with_the_number_of_slow_patterns():
    repo = Repo("repo")
    repo.write("a.txt", "".join(f"{github_token(i)} {'a' * 200}!y\n" for i in range(400)))
    repo.write(".turnstone.yml", "allow:\n" + "".join(f"  - lines: ['(a+a+)+y{{1,{i + 1}}}']\n" for i in range(500)))
    repo.commit()
    result, told = summary("repo")
    equal((result.status, told["findings"]), (FINDINGS, 400))


@test
def rules_of_the_target_that_are_slow_are_given_up_and_named():
    repo = Repo("repo")
    repo.write("a.txt", "a" * (1 << 19) + "\n" + github_token() + "\n")
    repo.write(".turnstone.yml", "rules:\n  files: [own.yml]\n")
    repo.write("own.yml", "rules:\n" + "".join(
        f"  - {{id: own-{i:03}, name: N, severity: low, reach: 250, "
        f"pattern: '(?<secret>(?:a{{1,6}}a{{1,6}}){{1,20}}b{{1,{i % 5 + 1}}})', "
        f"gate: {{literals: ['aaa'], lead: 250}}}}\n"
        for i in range(100)))
    repo.commit()
    reports = [summary("repo", "--jobs", jobs)[0].out for jobs in ("1", "4")]
    result, told = summary("repo")
    equal((result.status, told["findings"]), (INCOMPLETE, 1))
    holds("own-" in str(told["faults"]) and "own.yml" in str(told["faults"]), told["faults"])
    equal(*(json.loads(one)["summary"]["faults"] for one in reports))


@test
def lines_that_repeat_how_many_secrets_begin_are_masked_in_time():
    chance = random.Random(5)
    repo = Repo("repo")
    repo.write(".turnstone.yml", "rules:\n  files: [own.yml]\n")
    repo.write("own.yml", "rules:\n  - {id: own, name: Own, severity: high, reach: 3000, gate: ['own=['], "
                          "pattern: 'own=\\[(?<secret>[a-z]{12,2000})\\]'}\n")
    letters = "cdefghijklmnopqrstuvwxyz"
    repo.write("many.txt", "".join(f"own=[ab{''.join(chance.choices(letters, k=n))}]\n" for n in range(12, 1012)))
    repo.write("lines.txt", "".join(f"own=[xyz{''.join(chance.choices(letters, k=14))}] {'ab' * 500}\n" for _ in range(2000)))
    repo.commit()
    result, told = summary("repo")
    equal((result.status, told["findings"]), (FINDINGS, 3000))


@test
def salts_of_many_targets_do_not_multiply_what_masking_takes():
    if IS_SANITIZED:
        raise Skip("sanitizers take a multiple of the time")
    for i in range(150):
        os.makedirs(f"all/{i}")
        with open(f"all/{i}/.turnstone.yml", "w") as file:
            file.write(f"salt: the-salt-of-{i:08}\n")
        with open(f"all/{i}/a.env", "w") as file:
            file.writelines(f'password = "{made_up(10, (i, k))}" # {made_up(400, (k, i))}\n' for k in range(40))
    result, told = summary("--dir", *(f"all/{i}" for i in range(150)), preexec_fn=seconds_of_work(15))
    holds(result.status in (CLEAN, FINDINGS) and len(told["targets"]) == 150, (result.status, told))  # the scoring model decides
    holds(told["findings"] > 5000, told)


# ---- refs ----


@test
def refs_to_one_large_blob_do_not_inflate_it_once_each():
    Repo("repo")
    blob = zeros(60 << 20)
    token = whole(3, github_token().encode())
    write_pack("repo/.git/objects/pack", [blob, token])
    write_packed_refs([(f"refs/tags/t{i:04}", (token if i == 7 else blob)[0].hex()) for i in range(500)])
    result, told = summary("repo")
    equal((result.status, told["findings"], told["blobs"]), (FINDINGS, 1, 2))


@test
def symbolic_refs_are_found_among_many_packed_ones_without_reading_them_all_again():
    Repo("repo")
    token = whole(3, github_token().encode())
    write_pack("repo/.git/objects/pack", [token])
    write_packed_refs([(f"refs/tags/t{i:06}", token[0].hex()) for i in range(200000)])
    os.makedirs("repo/.git/refs/links")
    for i in range(8000):
        with open(f"repo/.git/refs/links/l{i}", "w") as file:
            file.write(f"ref: refs/tags/t{199999 - i:06}\n")
    result, told = summary("repo")
    equal((result.status, told["findings"]), (FINDINGS, 1))


@test
def packed_refs_that_do_not_say_that_they_are_sorted_are_found_as_well():
    repo = Repo("repo")
    repo.write("a.txt", github_token())
    repo.commit()
    oid = repo.git("rev-parse", "HEAD")
    write_packed_refs([(f"refs/tags/{name}", oid) for name in ("c", "a", "b")], "peeled")
    for name in ("a", "b", "c"):
        equal(scan("repo", "--ref", name).status, FINDINGS, name)
    holds("refs/tags/d" in scan("repo", "--ref", "refs/tags/d").err, "one that is not there")


if __name__ == "__main__":
    main()
