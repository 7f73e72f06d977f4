#!/usr/bin/env python3
"""turnstone scan: the findings are the same whether a scan reads changed bytes or all bytes, with one thread
or with eight threads, blobs or files.

Repositories are generated from seeds. SCAN_SEED=N uses the seed N. A failure names its seed.
"""
import base64
import json
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import run  # noqa: E402
from repo import Repo, github_token, made_up, private_key  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

SEEDS = [int(os.environ["SCAN_SEED"])] if "SCAN_SEED" in os.environ else [1, 2, 3]


def scan(*arguments):
    result = run("scan", *arguments, "--format", "jsonl", "--occurrences", "all")
    holds(result.status in (0, 1) and result.err == "", f"{arguments}: {result}")
    return result.out


def secret(chance):
    """Returns a random secret that a rule finds, as bytes. There are few different secrets, so that they
    repeat."""
    number = chance.randrange(12)
    kind = chance.randrange(8)
    token = github_token(number)
    if kind == 0:
        return private_key(number, chance.randrange(3, 40)).encode()
    if kind == 1:
        encoded = base64.b64encode(f"user:{token}@host".encode())
        width = chance.choice([len(encoded), 20, 7])
        return b"\n".join(encoded[at:at + width] for at in range(0, len(encoded), width))
    if kind == 2:
        return f"token = {token}\n".encode("utf-16-le")
    if kind == 3:
        return "".join(f"%{ord(c):02X}" for c in token).encode()
    if kind == 4:
        return f"db_password = \"Fak3-{made_up(8, number)}!\"".encode()
    if kind == 5:
        return f"SERVICE_TOKEN={made_up(28, number)}".encode()
    return token.encode()


def filling(chance):
    kind = chance.randrange(6)
    if kind == 0:
        return bytes(chance.randrange(256) for _ in range(chance.randrange(200)))
    if kind == 1:
        return base64.b64encode(made_up(chance.randrange(1, 60), chance.random()).encode())
    if kind == 2:
        return b" # turnstone:allow" if chance.randrange(2) else b" # pragma: allowlist nextline secret\n"
    return b" ".join(chance.choice([b"int", b"return", b"token", b"password", b"= \"", b"https://", b"x", b";", b"\n"])
                     for _ in range(chance.randrange(1, 60)))


def new_file(chance):
    return b"\n".join(secret(chance) if chance.randrange(6) == 0 else filling(chance) for _ in range(chance.randrange(5, 120)))


def edit(chance, content, others):
    """Returns the content after a random typical change, often next to a secret or inside a secret."""
    at = chance.randrange(len(content) + 1)
    end = min(len(content), at + chance.randrange(60))
    kind = chance.randrange(9)
    if kind == 0:
        return content[:at] + secret(chance) + content[at:]
    if kind == 1:
        return content[:at] + content[end:]
    if kind == 2:
        return content[:at] + filling(chance) + content[end:]
    if kind == 3:  # inserts a part of another file
        other = chance.choice(others)
        begin = chance.randrange(len(other) + 1)
        return content[:at] + other[begin:begin + chance.randrange(3000)] + content[at:]
    if kind == 4:  # moves a part
        cut = min(len(content), at + chance.randrange(2000))
        rest = content[:at] + content[cut:]
        to = chance.randrange(len(rest) + 1)
        return rest[:to] + content[at:cut] + rest[to:]
    if kind == 5:  # adds a newline, which may cut a secret in two
        return content[:at] + b"\n" + content[at:]
    if kind == 6:
        return content[:at] + content[at + 1:]
    if kind == 7:
        return content + secret(chance)
    return secret(chance) + content


def generate(seed, path):
    """Makes a random history, on two branches, of files that are changed, copied and deleted. Returns the
    repository."""
    chance = random.Random(seed)
    repo = Repo(path)
    files = {f"dir{i % 3}/file{i}.txt": new_file(chance) for i in range(6)}
    for step in range(60):
        for _ in range(chance.randrange(1, 4)):
            name = chance.choice(sorted(files)[:1] * len(files) + sorted(files))  # mostly the first file
            action = chance.randrange(12)
            if action == 0 and len(files) > 3:
                del files[name]
            elif action == 1:
                files[f"dir{chance.randrange(4)}/copy{step}.bin"] = files[name]
            else:
                files[name] = edit(chance, files[name], list(files.values()))
        repo.git("rm", "-rq", "--cached", "--ignore-unmatch", ".")
        for folder in range(4):
            shutil.rmtree(f"{path}/dir{folder}", ignore_errors=True)
        for name, content in files.items():
            repo.write(name, content)
        repo.commit(f"step {step} {github_token(step % 5)}" if step % 20 == 0 else f"step {step}")
        if step == 30:
            repo.git("checkout", "-qb", "side")
    return repo


def same_for_all_ways(path, seed):
    expected = scan(path, "--jobs", "2")
    holds(expected.count("\n") > 10, f"seed {seed}: there is something to compare")
    for arguments in (("--full",), ("--jobs", "1"), ("--jobs", "8"), ("--full", "--jobs", "8"), ("--memory", "64M"),
                      ("--ungated", "--full")):
        equal(scan(path, *arguments), expected, f"seed {seed}, {arguments}")
    return expected


@test
def a_tail_of_short_lines_belongs_to_the_base64_before_it():
    """Only the long first line, far above, shows that the text is base64. The short lines that change do not
    show it."""
    repo = Repo("repo")
    encoded = base64.b64encode(private_key(1, 20).encode()).decode()
    lines = [encoded[:76]] + [encoded[at:at + 12] for at in range(76, len(encoded), 12)]
    head = [f"{made_up(40, number)};\n" for number in range(200)]
    for left_out, count in ((0, len(lines) - 4), (50, len(lines))):  # the second version is smaller, so it is the delta
        repo.write("a.txt", "".join(head[left_out:]) + "\n".join(lines[:count]) + "\n;\n")
        repo.commit()
    repo.repack()
    holds(" 1 " in repo.git("verify-pack", "-v", pack_of(repo)), "one of the versions is a delta")
    whole = scan("repo", "--full")
    holds('"private-key"' in whole, whole)
    equal(scan("repo"), whole)


@test
def changed_bytes_and_all_bytes_and_any_number_of_threads_agree():
    for seed in SEEDS:
        repo = generate(seed, f"repo{seed}")
        loose = same_for_all_ways(repo.path, seed)
        deepest = 0
        for options in (("--depth=50", "--window=250"), ("--depth=4000", "--window=2")):
            repo.repack(*options)
            equal(same_for_all_ways(repo.path, seed), loose, f"seed {seed}: {options}")
            deepest = max([deepest] + [int(line.split()[5]) for line in repo.git("verify-pack", "-v", pack_of(repo)).splitlines()
                                       if len(line.split()) == 7])
        holds(deepest >= 10, f"seed {seed}: chains are only {deepest} deep")


def pack_of(repo):
    folder = os.path.join(repo.path, ".git/objects/pack")
    return os.path.abspath(os.path.join(folder, next(name for name in os.listdir(folder) if name.endswith(".idx"))))


@test
def a_scan_that_takes_changed_bytes_for_all_of_them_would_be_noticed():
    """Shows that the comparison can fail: a secret that exists only at the seam between old and new bytes of
    a delta is found."""
    repo = Repo("repo")
    token = github_token("seam")
    body = "".join(made_up(60, i) + "\n" for i in range(400))
    repo.write("a.txt", f"{body}{token[:20]}\n{body}")
    repo.commit()
    repo.write("a.txt", f"{body}{token}\n{body}")
    repo.commit()
    repo.repack("--depth=50", "--window=250")
    chained = [line for line in repo.git("verify-pack", "-v", pack_of(repo)).splitlines() if len(line.split()) == 7]
    holds(chained, "the second version, or the first, is a delta")
    holds("github-pat" in scan("repo"), "found across the seam")
    equal(scan("repo"), scan("repo", "--full"))


@test
def findings_are_those_of_every_blob_written_out_to_files():
    for seed in SEEDS[:1]:
        repo = generate(seed, "repo")
        repo.repack("--depth=50", "--window=250")
        os.mkdir("blobs")
        for line in repo.git("cat-file", "--batch-all-objects", "--batch-check").splitlines():
            oid, kind, _ = line.split()
            if kind == "blob":
                with open(f"blobs/{oid}", "wb") as file:
                    file.write(read_blob(repo, oid))

        def found(text, of_blob):
            return {(one["id"], of_blob(place), place["line"], place["column"])
                    for one in map(json.loads, text.splitlines()) for place in one["occurrences"]
                    if place["place"] == "file"}

        from_history = found(scan("repo"), lambda place: place["object"])
        from_files = found(scan("--dir", "blobs"), lambda place: place["path"])
        holds(len(from_history) > 50, len(from_history))
        equal(from_history - from_files, set(), "only in the history")
        equal(from_files - from_history, set(), "only in files")


def read_blob(repo, oid):
    return subprocess.run(["git", "-C", repo.path, "cat-file", "blob", oid], stdout=subprocess.PIPE, check=True).stdout


if __name__ == "__main__":
    main()
