#!/usr/bin/env python3
"""turnstone scan: a damaged repository is never reported as clean."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import run  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

CLEAN, FINDINGS, USAGE, INCOMPLETE = 0, 1, 2, 4


def scan(*arguments):
    return run("scan", *(arguments or ("repo",)), "--format", "jsonl")


def packed(alone=None):
    """Makes a repository with one secret and one pack. If `alone` is set, this ref has a commit that no other
    ref reaches. Returns the repository, the path of the pack, and {id of an object: its offset in the
    pack}."""
    repo = Repo("repo")
    for i in range(3):
        repo.write("folder/file", f"line {i}\n" * 20)
        repo.write("other", f"{i}\n" if i != 1 else github_token() + "\n")
        repo.commit()
    repo.git("tag", "-am", "notes", "v1", "HEAD~1")
    if alone:
        repo.git("update-ref", alone, repo.git("commit-tree", "-m", "alone", "HEAD^{tree}"))
    repo.repack()
    folder = "repo/.git/objects/pack/"
    name = [name for name in os.listdir(folder) if name.endswith(".pack")][0]
    rows = repo.git("verify-pack", "-v", folder[len("repo/"):] + name).splitlines()
    places = {row.split()[0]: int(row.split()[4]) for row in rows if len(row.split()) in (5, 7) and len(row.split()[0]) == 40}
    return repo, folder + name, places


def flip(path, at, mask):
    os.chmod(path, 0o644)
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ mask]))


# ---- objects ----


@test
def a_flipped_type_of_a_tree_or_a_commit_is_a_fault_next_to_another_pack_or_a_loose_object():
    for beside in ("nothing", "loose", "pack"):
        repo, pack, places = packed()
        if beside != "nothing":
            other = repo.git("hash-object", "-w", "--stdin", stdin="beside\n")
        if beside == "pack":
            repo.git("pack-objects", "-q", ".git/objects/pack/pack", stdin=other + "\n")
            repo.git("prune-packed")
        equal(scan().status, FINDINGS)
        for name in ("HEAD", "HEAD~1", "HEAD~1^{tree}", "HEAD~1:folder", "v1"):
            oid = repo.git("rev-parse", name)
            for mask in (0x10, 0x20, 0x40):
                flip(pack, places[oid], mask)
                result = scan()
                equal(result.status, INCOMPLETE, f"{beside}, {name}, {mask:#x}: {result.out} {result.err}")
                holds(oid in result.err, result.err)
                flip(pack, places[oid], mask)


@test
def a_type_that_flipped_after_a_scan_is_a_fault_in_the_next():
    """A branch and a lightweight tag do not state the type of their target."""
    for name in ("HEAD~1", "refs/tags/light", "refs/heads/alone"):
        repo, pack, places = packed(name if name.startswith("refs/") else None)
        repo.git("hash-object", "-w", "--stdin", stdin="beside\n")
        equal(scan("repo", "--state", "state").status, FINDINGS)
        flip(pack, places[repo.git("rev-parse", name)], 0x20)
        equal(scan("repo", "--state", "state").status, INCOMPLETE)


@test
def a_staged_blob_that_is_something_else_and_a_changed_index_are_faults():
    repo = Repo("repo")
    repo.write("file", "text\n")
    repo.commit()
    tree = repo.git("rev-parse", "HEAD^{tree}")
    repo.git("update-index", "--add", "--info-only", "--cacheinfo", f"100644,{tree},other")
    result = scan("repo", "--staged")
    equal(result.status, INCOMPLETE)
    holds(tree in result.err, result.err)
    repo.git("reset", "-q", "--hard")
    repo.write("secret", github_token())
    repo.git("add", "-A")
    equal(scan("repo", "--staged").status, FINDINGS)
    with open("repo/.git/index", "rb") as file:
        size = len(file.read())
    for at in range(12, size, 7):
        flip("repo/.git/index", at, 0x20)
        equal(scan("repo", "--staged").status, USAGE, f"byte {at}")
        flip("repo/.git/index", at, 0x20)


# ---- text files ----


@test
def truncated_packed_refs_are_a_fault_and_so_is_a_ref_that_may_be_missing():
    repo = Repo("repo")
    repo.write("file", "text\n")
    repo.commit()
    repo.git("checkout", "-q", "--orphan", "other")
    repo.write("file", github_token())
    repo.commit()
    repo.git("pack-refs", "--all")
    repo.git("checkout", "-q", "--orphan", "new")
    with open("repo/.git/packed-refs") as file:
        text = file.read()
    header, name = text.index("\n"), text.index("refs/heads/other")
    for cut, status in ((0, CLEAN), (header - 20, INCOMPLETE), (header, INCOMPLETE), (header + 1, CLEAN), (name - 10, INCOMPLETE),
                        (name, INCOMPLETE), (name + 12, INCOMPLETE), (len(text) - 1, INCOMPLETE), (len(text), FINDINGS)):
        with open("repo/.git/packed-refs", "w") as file:
            file.write(text[:cut])
        result = scan()
        equal(result.status, status, f"{text[:cut]!r}: {result.err}")
        holds(status != INCOMPLETE or "packed-refs" in result.err, result.err)
    with open("repo/.git/packed-refs", "w") as file:
        file.write(text[:name])
    result = scan("repo", "--ref", "other")
    equal(result.status, INCOMPLETE)
    holds("packed-refs" in result.err, result.err)


# ---- history that git shows differently ----


@test
def replaced_objects_and_grafts_are_scanned_with_what_they_replace_and_have_their_places():
    repo = Repo("repo")
    repo.write("folder/kept", "nothing\n")
    repo.write("folder/blob", "nothing here\n")
    first = repo.commit("first")
    repo.write("folder/blob", github_token(1))
    second = repo.commit("second")
    repo.git("checkout", "-q", "--orphan", "other")
    repo.git("rm", "-rfq", ".")
    repo.write("grafted", github_token(2))
    grafted = repo.commit("grafted")
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-qD", "other")
    # Secret 1 is in a blob that gets a replacement. Secrets 3 and 4 are in the replacements of a blob and of
    # a commit.
    harmless = repo.git("hash-object", "-w", "--stdin", stdin="redacted\n")
    repo.git("replace", repo.git("rev-parse", "main:folder/blob"), harmless)
    repo.git("replace", repo.git("rev-parse", "main:folder/kept"), repo.git("hash-object", "-w", "--stdin", stdin=github_token(3)))
    tree = repo.git("mktree", stdin=f"100644 blob {repo.git('hash-object', '-w', '--stdin', stdin=github_token(4))}\tchanged\n")
    replaced = repo.git("commit-tree", "-m", "instead", tree)
    repo.git("replace", first, replaced)
    with open("repo/.git/info/grafts", "w") as file:
        file.write(f"{second} {first} {grafted}\n")
    expected = {1: ("folder/blob", second), 2: ("grafted", grafted), 3: ("folder/kept", first), 4: ("changed", replaced)}
    for arguments in (("repo",), ("repo", "--ref", "main"), ("repo", "--state", "state"), ("repo", "--state", "state")):
        result = scan(*arguments)
        equal(result.status, FINDINGS, result.err)
        found = {}
        for line in result.out.splitlines():
            finding = json.loads(line)
            seed = [seed for seed in expected if finding["secret"][-4:] == github_token(seed)[-4:]][0]
            found[seed] = [(place["path"], place["commit"]) for place in finding["occurrences"]]
        equal(found, {seed: [place] for seed, place in expected.items()}, str(arguments))
        text = run("scan", *arguments)
        holds("refs/replace" in text.out and "info/grafts" in text.out, text.out)


@test
def a_graft_that_is_cut_or_names_what_is_not_there_is_a_fault():
    repo = Repo("repo")
    repo.write("file", "text\n")
    commit = repo.commit()
    for text, status in ((f"{commit}\n", CLEAN), (commit, CLEAN), (commit[:30], INCOMPLETE), (f"{commit} {commit[:10]}\n", INCOMPLETE),
                         (f"{commit} {'12' * 20}\n", INCOMPLETE)):
        with open("repo/.git/info/grafts", "w") as file:
            file.write(text)
        equal(scan().status, status, text)


# ---- unknown formats ----


@test
def a_repository_of_an_unknown_form_is_refused_and_never_clean():
    repo = Repo("repo")
    repo.write("file", "text\n")
    repo.commit()
    for extension, line in (("refStorage = reftable", "refs are kept as reftable, which is not supported"),
                            ("fromTheFuture = true", "extensions.fromthefuture in"), ('[extensions "x"] noop', "extensions.noop in")):
        with open("repo/.git/config", "w") as file:
            file.write(f"[core]\n\trepositoryformatversion = 1\n[extensions]\n\t{extension}\n")
        for verb in (("scan",), ("scan", "--staged"), ("scan", "--working-tree"), ("protect",), ("baseline", "-o", "known")):
            result = run(*verb, "repo")
            equal((result.status, result.out), (USAGE, ""), str((verb, extension)))
            holds(line in result.err, result.err)
    # A repository with reftables keeps no refs in refs/. If its configuration is missing, it must not look
    # empty.
    os.unlink("repo/.git/config")
    os.unlink("repo/.git/refs/heads/main")
    os.rmdir("repo/.git/refs/heads")
    for path, text in (("refs/heads", "this repository uses the reftable format\n"), ("HEAD", "ref: refs/heads/.invalid\n")):
        with open(f"repo/.git/{path}", "w") as file:
            file.write(text)
    equal(scan().status, INCOMPLETE)


if __name__ == "__main__":
    main()
