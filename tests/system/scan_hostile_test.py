#!/usr/bin/env python3
"""turnstone scan: repositories that are damaged or malicious."""
import hashlib
import json
import os
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from packs import delta, head, whole, write_pack  # noqa: E402
from program import IS_SANITIZED, PROGRAM, complains, peak_kib, run  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

CLEAN, FINDINGS, USAGE, INCOMPLETE = 0, 1, 2, 4

def summary(*arguments):
    result = run("scan", *arguments, "--format", "json")
    return result, json.loads(result.out)["summary"] if result.out else None


def rules_found(*arguments):
    return [json.loads(line)["secret"] for line in run("scan", *arguments, "--format", "jsonl").out.splitlines()]


# ---- files and texts that must never run or reach a terminal ----


@test
def paths_names_and_messages_with_control_characters_are_never_printed_raw():
    repo = Repo("repo")
    token = github_token()
    nasty = b"a\x1b]0;owned\x07\x1b[2J\r\n\xff\xe2\x80\xae.txt"
    repo.write(nasty, f"\x1b[31m {token}\x1b[0m\x9b1m\n")
    repo.git("-c", "user.name=x\x1b[1m", "-c", "user.email=y\x07", "add", "-A")
    repo.commit(f"\x1b[2J {token}")
    for form in ("text", "json", "jsonl", "sarif", "csv", "junit", "html"):
        result = subprocess.run([PROGRAM, "scan", "repo", "--format", form], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        equal(result.returncode, FINDINGS, form)
        for bad in (b"\x1b", b"\x07", b"\xff", b"\x9b1m", "\u202e".encode()):
            holds(bad not in result.stdout + result.stderr, (form, bad, result.stdout))
    one = json.loads(run("scan", "repo", "--format", "jsonl").out)["occurrences"]
    equal(len(one), 2)
    result = run("scan", "repo", "--ref", "\x1b[2Jnothing")
    holds("\x1b" not in result.err and result.status == USAGE, result)
    result = run("scan", "no\x1bwhere")
    holds("\x1b" not in result.err and result.status == USAGE, result)


@test
def nothing_of_a_repository_is_executed():
    repo = Repo("repo")
    marker = os.path.abspath("executed")
    script = os.path.abspath("script")
    with open(script, "w") as file:
        file.write(f"#!/bin/sh\ntouch {marker}\ncat\n")
    os.chmod(script, 0o755)
    repo.write("a.txt", github_token())
    repo.commit()
    repo.write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
    repo.write("b.txt", github_token(2))
    for hook in ("post-checkout", "pre-commit", "post-index-change", "fsmonitor-watchman"):
        path = f"repo/.git/hooks/{hook}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(f"#!/bin/sh\ntouch {marker}\n")
        os.chmod(path, 0o755)
    with open("repo/.git/config", "a") as file:
        file.write(f"""[core]
    fsmonitor = {script}
    pager = {script}
    editor = {script}
    sshCommand = {script}
    hooksPath = .git/hooks
    attributesFile = /dev/null
[filter "evil"]
    clean = {script}
    smudge = {script}
    process = {script}
    required = true
[diff "evil"]
    textconv = {script}
    command = {script}
[include]
    path = /dev/zero
[alias]
    cat-file = !{script}
""")
    for arguments in ((), ("--staged",), ("--working-tree",), ("--unreachable",)):
        result = run("scan", "repo", *arguments)
        holds(result.status in (CLEAN, FINDINGS) and result.err == "", (arguments, result))
    holds(not os.path.exists(marker), "something was executed")


@test
def a_scan_leaves_the_repository_as_it_was():
    repo = Repo("repo")
    repo.write("a.txt", github_token())
    repo.commit()

    def state():
        return {os.path.join(at, name): os.stat(os.path.join(at, name)).st_mtime_ns
                for at, folders, files in os.walk("repo") for name in folders + files}

    before = state()
    for arguments in ((), ("--staged",), ("--working-tree",)):
        run("scan", "repo", *arguments)
    equal(state(), before)


# ---- configurations of untrusted targets ----


def with_config(text, rules=None):
    repo = Repo("repo")
    repo.write("a.txt", github_token())
    repo.write(".turnstone.yml", text)
    if rules:
        repo.write("rules.yml", rules)
    repo.commit()


@test
def a_configuration_of_a_stranger_cannot_reach_outside():
    with_config("rules:\n  files: [../outside.yml]\n")
    complains(USAGE, ["not inside", "--no-repo-config"], "scan", "repo")
    equal(len(rules_found("repo", "--no-repo-config")), 1)


@test
def nor_by_an_absolute_path_or_a_link():
    for text in ("rules:\n  files: [/etc/passwd]\n", "rules:\n  files: [x/../../y.yml]\n", "rules:\n  files: ['']\n"):
        with_config(text)
        holds(run("scan", "repo").status == USAGE, text)
    with_config("rules:\n  files: [rules.yml]\n")
    os.symlink("/etc/passwd", "repo/rules.yml")
    result = complains(USAGE, "--no-repo-config", "scan", "repo")
    holds("root" not in result.err, result)
    os.unlink("repo/.turnstone.yml")
    os.symlink("/etc/passwd", "repo/.turnstone.yml")
    result = complains(USAGE, "--no-repo-config", "scan", "repo")
    holds("root" not in result.err, result)


@test
def a_wrong_configuration_is_reported_in_one_line():
    for text in ("allow: {", "what: is this\n", "salt: short\n", "allow:\n  - secrets: ['(']\n", "\x00\x01\x02",
                 "allow:\n  - {}\n", "a: &a [*a, *a]\n"):
        with_config(text)
        complains(USAGE, "--no-repo-config", "scan", "repo")


@test
def the_cost_of_a_configuration_is_limited():
    with_config("allow:\n" + "  - paths: ['x']\n" * 5000)
    complains(USAGE, "allow entries", "scan", "repo")
    with_config("# " + "x" * (300 << 10) + "\n")
    complains(USAGE, "larger", "scan", "repo")
    slow = "allow:\n  - secrets: ['(a*)*(g*)*(h*)*(h|p|_|[A-Za-z0-9]+)+~']\n    lines: ['(x+x+)+y']\n"
    with_config(slow)
    equal(len(rules_found("repo")), 1)


# ---- damage ----


def packed(count=40):
    repo = Repo("repo")
    for i in range(count):
        repo.write(f"file{i}.txt", "".join(f"{i} {n} some text of the file\n" for n in range(40 + i)) + github_token(i) + "\n")
    repo.commit()
    repo.repack()
    folder = "repo/.git/objects/pack"
    pack = next(name for name in os.listdir(folder) if name.endswith(".pack"))
    os.chmod(os.path.join(folder, pack), 0o644)
    return repo, os.path.join(folder, pack)


@test
def a_truncated_pack_is_incomplete_and_the_rest_is_found():
    _, pack = packed()
    size = os.path.getsize(pack)
    with open(pack, "r+b") as file:
        file.truncate(size - size // 4)
    result, told = summary("repo")
    equal(result.status, INCOMPLETE)
    holds(told["is_incomplete"] and told["fault_count"] > 0, told)
    holds("pack" in told["faults"][0]["text"] if "text" in told["faults"][0] else told["faults"], told["faults"][:1])


@test
def flipped_bytes_never_crash_and_never_look_clean():
    """The program scans every readable object. If an object is unreadable, the status says so."""
    repo, pack = packed(12)
    with open(pack, "rb") as file:
        sound = file.read()
    whole = len(rules_found("repo"))
    equal(whole, 12)
    for step in range(0, len(sound) - 20, max(1, len(sound) // 40)):
        damaged = bytearray(sound)
        damaged[step] ^= 0x55
        with open(pack, "wb") as file:
            file.write(damaged)
        result = run("scan", "repo", "--format", "jsonl")
        holds(result.status in (INCOMPLETE, FINDINGS), (step, result))
        if result.status == FINDINGS:
            equal(len(result.out.splitlines()), whole, f"byte {step}: complete, and not all was found")
        else:
            holds(result.err.startswith("turnstone: scan: "), result)
    with open(pack, "wb") as file:
        file.write(sound)
    equal(len(rules_found("repo")), whole)


@test
def a_damaged_object_is_named():
    repo = Repo("repo")
    repo.write("a.txt", github_token(1))
    repo.write("b.txt", github_token(2))
    repo.commit()
    oid = repo.git("rev-parse", "HEAD:a.txt")
    path = f"repo/.git/objects/{oid[:2]}/{oid[2:]}"
    os.chmod(path, 0o644)
    with open(path, "wb") as file:
        file.write(b"this is no object")
    result = run("scan", "repo", "--format", "jsonl")
    equal(result.status, INCOMPLETE)
    holds(oid in result.err and result.err.count("\n") == 1, result.err)
    equal(len(result.out.splitlines()), 1)
    os.unlink(path)
    result = run("scan", "repo", "--format", "jsonl")
    equal(result.status, INCOMPLETE)
    holds(oid in result.err and "not in the repository" in result.err, result.err)


# ---- packs made by hand ----


def history_of(blobs):
    """Sets refs/heads/main to a commit of a tree with these blobs. Returns the tree and the commit as entries
    of a pack."""
    entries = b"".join(b"100644 f%06d\0" % i + oid for i, oid in enumerate(blobs))
    tree = whole(2, entries)
    commit = whole(1, b"tree " + tree[0].hex().encode() + b"\nauthor A <a> 1700000000 +0000\ncommitter A <a> 1700000000 +0000\n\nm\n")
    with open("repo/.git/refs/heads/main", "w") as file:
        file.write(commit[0].hex() + "\n")
    return [tree, commit]


@test
def deltas_that_go_round_are_faults():
    Repo("repo")
    good = whole(3, github_token().encode())
    ids = [hashlib.sha1(b"%d" % i).digest() for i in range(3)]
    ring = [delta(ids[i], ids[(i + 1) % 3], 10, 10, b"\x90\x0a") for i in range(3)]
    write_pack("repo/.git/objects/pack", [good, *ring, *history_of([good[0], *ids])])
    result = run("scan", "repo", "--format", "jsonl")
    equal(result.status, INCOMPLETE)
    equal(len(result.out.splitlines()), 1)
    for oid in ids:
        holds(oid.hex() in result.err, result.err)


@test
def an_index_whose_first_table_does_not_fit_its_ids_is_a_fault():
    """Git uses the first table to find objects. With the wrong table it would miss one object."""
    Repo("repo")
    blob = whole(3, github_token().encode())
    tree, commit = history_of([blob[0]])
    write_pack("repo/.git/objects/pack", [blob, tree, commit])
    path = first_pack()[:-5] + ".idx"
    with open(path, "rb") as file:
        index = bytearray(file.read())
    place = 8 + 4 * blob[0][0]
    struct.pack_into(">I", index, place, struct.unpack_from(">I", index, place)[0] - 1)
    index[-20:] = hashlib.sha1(index[:-20]).digest()
    with open(path, "wb") as file:
        file.write(index)
    result = run("scan", "repo", "--format", "jsonl")
    equal((result.status, len(result.out.splitlines())), (INCOMPLETE, 1))


@test
def a_loose_object_with_bytes_after_its_end_is_named():
    repo = Repo("repo")
    repo.write("a.txt", github_token(1))
    repo.write("b.txt", github_token(2))
    repo.commit()
    oid = repo.git("rev-parse", "HEAD:a.txt")
    path = f"repo/.git/objects/{oid[:2]}/{oid[2:]}"
    os.chmod(path, 0o644)
    with open(path, "ab") as file:
        file.write(b"more")
    result = run("scan", "repo", "--format", "jsonl")
    equal(result.status, INCOMPLETE)
    holds(oid in result.err, result.err)


def commit_of(tree, parents=(), message=b"m\n"):
    lines = b"tree " + tree.hex().encode() + b"\n" + b"".join(b"parent " + one.hex().encode() + b"\n" for one in parents)
    return whole(1, lines + b"author A <a> 1700000000 +0000\ncommitter A <a> 1700000000 +0000\n\n" + message)


@test
def a_commit_of_many_megabytes_is_followed_and_the_rest_is_found():
    """The program reads the commit's tree and parent. It scans the message if the memory suffices. If not,
    the message is one fault."""
    Repo("repo")
    blobs = [whole(3, github_token(i).encode()) for i in range(2)]
    trees = [whole(2, b"100644 f%d\0" % i + blob[0]) for i, blob in enumerate(blobs)]
    first = commit_of(trees[0][0])
    line = b"a line of a very long message\n"
    second = commit_of(trees[1][0], [first[0]], line * ((65 << 20) // len(line)) + github_token(2).encode() + b"\n")
    with open("repo/.git/refs/heads/main", "w") as file:
        file.write(second[0].hex() + "\n")
    write_pack("repo/.git/objects/pack", [*blobs, *trees, first, second])
    result, told = summary("repo", "--memory", "4G")
    equal((result.status, told["findings"], told["commits"]), (FINDINGS, 3, 2))
    for memory in ("64M", "512M", "1G"):
        result, told = summary("repo", "--memory", memory)
        equal((result.status, told["findings"], told["commits"], told["fault_count"]), (INCOMPLETE, 2, 2, 1), memory)
        holds(second[0].hex() in result.err and "--memory" in result.err, result.err)


@test
def an_index_that_leads_to_a_delta_of_itself_is_a_fault_and_the_rest_is_found():
    """The pack has the commit twice under one id: whole, and as a delta whose base is that id. A reader that
    finds bases by their ids would loop."""
    for is_first in (False, True):
        Repo("repo")
        blob = whole(3, github_token().encode())
        tree, commit = history_of([blob[0]])
        ring = delta(commit[0], commit[0], 10, 10, b"\x90\x0a")
        write_pack("repo/.git/objects/pack", [blob, tree, *([ring, commit] if is_first else [commit, ring])])
        result = run("scan", "repo", "--format", "jsonl")
        holds(result.status in (FINDINGS, INCOMPLETE), result)
        equal(len(result.out.splitlines()), 1)
        holds(result.status == FINDINGS or commit[0].hex() in result.err, result.err)


@test
def a_small_pack_that_becomes_huge_stays_within_its_memory():
    """The pack has a blob of 256 MiB of zeros, and deltas that make 512 MiB and 1 GiB from the blob."""
    Repo("repo")
    size = 256 << 20
    compressor, raw = zlib.compressobj(9), b""
    digest = hashlib.sha1(b"blob %d\0" % size)
    for _ in range(256):
        digest.update(bytes(1 << 20))
        raw += compressor.compress(bytes(1 << 20))
    first = (digest.digest(), head(3, size) + raw + compressor.flush())
    chain, ids = [first], [first[0]]
    copy = b"".join(b"\xff" + struct.pack("<I", at) + b"\x00\x00\x80" for at in range(0, size, 8 << 20))
    for i in range(1, 3):
        oid = hashlib.sha1(b"bomb %d" % i).digest()
        chain.append(delta(oid, ids[0], size, 2 * i * size, copy * (2 * i)))
        ids.append(oid)
    token = whole(3, github_token().encode())
    write_pack("repo/.git/objects/pack", [*chain, token, *history_of([*ids, token[0]])])
    holds(os.path.getsize(first_pack()) < 1 << 20, "the pack is small")
    peak, status = peak_kib("scan", "repo", "--memory", "128M", "--jobs", "2")
    equal(status, FINDINGS)
    if not IS_SANITIZED:
        holds(peak < 128 << 10, f"{peak} KiB")


def first_pack():
    folder = "repo/.git/objects/pack"
    return os.path.join(folder, next(name for name in os.listdir(folder) if name.endswith(".pack")))


@test
def folders_within_folders_that_multiply_are_cut_and_said():
    """Nine levels of folders, each with ten equal entries. So the only blob has a thousand million paths."""
    Repo("repo")
    token = whole(3, github_token().encode())
    entries, child, mode = [token], token[0], b"100644"
    for _ in range(9):
        tree = whole(2, b"".join(mode + b" %d\0" % i + child for i in range(10)))
        entries.append(tree)
        child, mode = tree[0], b"40000"
    commit = whole(1, b"tree " + child.hex().encode() + b"\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nm\n")
    with open("repo/.git/refs/heads/main", "w") as file:
        file.write(commit[0].hex() + "\n")
    write_pack("repo/.git/objects/pack", [*entries, commit])
    result, told = summary("repo", "--memory", "64M")
    equal(result.status, INCOMPLETE)
    equal((told["findings"], told["blobs"]), (1, 1))
    holds(told["occurrences"] > 1000, told)
    peak, _ = peak_kib("scan", "repo", "--memory", "64M")
    if not IS_SANITIZED:
        holds(peak < 64 << 10, f"{peak} KiB")


@test
def a_history_too_large_to_be_held_is_scanned_without_paths():
    """The history has 100 trees with thirty thousand entries each. They compress very well, so the pack is
    small."""
    Repo("repo")
    token = whole(3, github_token().encode())
    blob = whole(3, b"x")
    entries = [token, blob]
    trees = []
    for i in range(100):
        names = b"".join(b"100644 %05d\0" % n + blob[0] for n in range(30000))
        tree = whole(2, b"100644 %05d\0" % i + token[0] + names)
        trees.append(tree[0])
        entries.append(tree)
    top = whole(2, b"".join(b"40000 t%03d\0" % i + oid for i, oid in enumerate(trees)))
    commit = whole(1, b"tree " + top[0].hex().encode() + b"\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nm\n")
    with open("repo/.git/refs/heads/main", "w") as file:
        file.write(commit[0].hex() + "\n")
    write_pack("repo/.git/objects/pack", [*entries, top, commit])
    result, told = summary("repo", "--memory", "64M")
    equal((result.status, told["findings"]), (INCOMPLETE, 1))
    holds("memory" in str(told["faults"]), told["faults"])
    equal(run("scan", "repo", "--memory", "1G").status, FINDINGS)
    peak, _ = peak_kib("scan", "repo", "--memory", "64M")
    if not IS_SANITIZED:
        holds(peak < 64 << 10, f"{peak} KiB")


@test
def limits_of_memory_hold_for_many_findings():
    repo = Repo("repo")
    for part in range(4):
        repo.write(f"f{part}.txt", "".join(f"{github_token((part, i))}\n" for i in range(20000)))
    repo.commit()
    for part in range(4):
        repo.write(f"g{part}.txt", "head\n" + "".join(f"{github_token((part, i))}\n" for i in range(20000)))
    repo.commit()
    result, told = summary("repo", "--memory", "64M")
    equal(result.status, INCOMPLETE)
    holds("findings" in str(told["faults"]), told["faults"])
    result, told = summary("repo")
    equal((result.status, told["findings"], told["occurrences"]), (FINDINGS, 80000, 160000))


if __name__ == "__main__":
    main()
