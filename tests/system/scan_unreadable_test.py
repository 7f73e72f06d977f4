#!/usr/bin/env python3
"""turnstone scan: the program names the parts of a repository that it cannot read, and scans all other
parts."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import PROGRAM, complains, run  # noqa: E402
from repo import ENVIRONMENT, Repo, github_token  # noqa: E402
from tap import Skip, equal, holds, main, test  # noqa: E402

CLEAN, FINDINGS, USAGE, INCOMPLETE, FAILED = 0, 1, 2, 4, 6

# The prefix of commands that run without capabilities, so that file modes apply to root, too.
PLAIN = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []


def needs_modes():
    with open("closed", "w") as file:
        file.write("x")
    os.chmod("closed", 0)
    try:
        done = subprocess.run([*PLAIN, "cat", "closed"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    except FileNotFoundError as why:
        raise Skip("there is no setpriv, and root may read everything") from why
    if done.returncode == 0:
        raise Skip("files without any permission can be read here")


def scan(*arguments, status, says=(), state="--no-state"):
    """Scans. Checks the status, and that standard error contains every part of `says`. Returns the last four
    characters of each secret that the scan found."""
    command = [*PLAIN, PROGRAM, "scan", state, *arguments, "--format", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    equal(done.returncode, status, f"{arguments}: {done.stdout[-1500:]} {done.stderr}")
    for part in says:
        holds(part in done.stderr, f"{part!r} is not in: {done.stderr}")
    report = json.loads(done.stdout)
    equal(report["summary"]["is_incomplete"], status not in (CLEAN, FINDINGS))
    return {finding["secret"][-4:] for finding in report["findings"]}


def ends(*seeds):
    return {github_token(seed)[-4:] for seed in seeds}


def two_branches(path="repo", pack=False):
    """Makes a repository with token 1 on the branch main, and token 2 on the branch other."""
    repo = Repo(path)
    repo.write("a.txt", github_token(1))
    repo.commit()
    repo.git("checkout", "-q", "--orphan", "other")
    repo.write("a.txt", github_token(2))
    repo.commit()
    repo.git("checkout", "-q", "main")
    if pack:
        repo.git("gc", "-q")
    return repo


# ---- refs ----


@test
def a_configuration_in_head_that_cannot_be_read_is_named_and_everything_is_scanned():
    repo = Repo("repo")
    repo.write("a.txt", github_token(1))
    repo.write(".turnstone.yml", f"allow:\n  - paths: ['a.txt']\n    reason: known\n")
    repo.commit()
    for what in ("HEAD:.turnstone.yml", "HEAD^{tree}"):
        shutil.rmtree("bare.git", ignore_errors=True)
        subprocess.run(["git", "clone", "-q", "--bare", "repo", "bare.git"], check=True, env={**os.environ, **ENVIRONMENT})
        equal(scan("bare.git", status=CLEAN), set())
        oid = repo.git("rev-parse", what)
        path = f"bare.git/objects/{oid[:2]}/{oid[2:]}"
        os.unlink(path)
        with open(path, "w") as file:
            file.write("damage")
        found = scan("bare.git", status=INCOMPLETE, says=[oid, ".turnstone.yml"])
        equal(found, ends(1) if what.endswith("yml") else set(), what)


@test
def a_loose_ref_that_cannot_be_read_is_named():
    needs_modes()
    repo = two_branches()
    repo.git("pack-refs", "--all")
    repo.git("update-ref", "refs/heads/other", repo.git("commit-tree", "-m", github_token(3), "main^{tree}"))
    ref = "repo/.git/refs/heads/other"
    equal(scan("repo", status=FINDINGS), ends(1, 3))
    os.chmod(ref, 0)
    # packed-refs still has an older value of the ref. The program does not use that value.
    equal(scan("repo", status=INCOMPLETE, says=["refs/heads/other: cannot be read; Permission denied"]), ends(1))
    equal(scan("repo", "--ref", "other", status=INCOMPLETE, says=["refs/heads/other: cannot be read"]), set())
    equal(scan("repo", "--ref", "other", "--branch", "main", status=INCOMPLETE, says=["refs/heads/other"]), ends(1))
    os.chmod(ref, 0o644)
    os.chmod("repo/.git/refs/heads", 0)
    scan("repo", status=INCOMPLETE, says=["repo/.git/refs/heads: cannot be read"])
    os.chmod("repo/.git/refs/heads", 0o755)


@test
def a_head_that_cannot_be_read_is_named():
    needs_modes()
    repo = two_branches()
    repo.git("checkout", "-q", "--detach")
    repo.commit(github_token(3))
    os.chmod("repo/.git/HEAD", 0)
    equal(scan("repo", status=INCOMPLETE, says=["HEAD: cannot be read; Permission denied"]), ends(1, 2))


@test
def pipes_loops_and_folders_in_place_of_refs_are_named():
    two_branches()
    os.mkfifo("repo/.git/refs/heads/pipe")
    with open("repo/.git/refs/heads/round", "w") as file:
        file.write("ref: refs/heads/again\n")
    with open("repo/.git/refs/heads/again", "w") as file:
        file.write("ref: refs/heads/round\n")
    os.symlink("heads", "repo/.git/refs/linked")
    equal(scan("repo", status=INCOMPLETE,
               says=["refs/heads/pipe: expected a regular file", "refs/heads/round: the symbolic ref is a loop",
                     "refs/heads/again: the symbolic ref", "refs/linked: a folder of refs behind a symbolic link"]), ends(1, 2))


@test
def deep_and_long_refs_are_scanned():
    repo = two_branches()
    deep = "refs/heads/" + "d/" * 60 + "end"
    repo.git("update-ref", deep, "other")
    repo.git("update-ref", "-d", "refs/heads/other")
    equal(scan("repo", status=FINDINGS), ends(1, 2))
    with open("repo/.git/" + deep, "a") as file:
        file.write("x" * 70000)
    equal(scan("repo", status=FINDINGS), ends(1, 2))


# ---- work trees ----


@test
def detached_heads_of_other_work_trees_are_scanned():
    repo = two_branches()
    repo.git("worktree", "add", "-q", "--detach", "../linked")
    repo.git("-C", "../linked", "commit", "-q", "--allow-empty", "-m", github_token(3))
    equal(scan("repo", status=FINDINGS), ends(1, 2, 3))
    repo.git("checkout", "-q", "--detach")
    repo.git("commit", "-q", "--allow-empty", "-m", github_token(4))
    equal(scan("repo", status=FINDINGS), ends(1, 2, 3, 4))
    equal(scan("linked", status=FINDINGS), ends(1, 2, 3, 4))
    equal(scan("linked/.git", status=FINDINGS), ends(1, 2, 3, 4))
    equal(scan("repo", "--ref", "worktrees/linked/HEAD", status=FINDINGS), ends(1, 3))
    os.unlink("repo/.git/worktrees/linked/HEAD")
    os.mkfifo("repo/.git/worktrees/linked/HEAD")
    equal(scan("repo", status=INCOMPLETE, says=["worktrees/linked/HEAD: expected a regular file"]), ends(1, 2, 4))


@test
def a_scan_with_state_sees_other_heads_move_and_refs_break():
    repo = two_branches()
    repo.git("worktree", "add", "-q", "--detach", "../linked")
    state = "--state=" + os.path.abspath("state")
    equal(scan("repo", status=FINDINGS, state=state), ends(1, 2))
    repo.git("-C", "../linked", "commit", "-q", "--allow-empty", "-m", github_token(3))
    equal(scan("repo", status=FINDINGS, state=state), ends(1, 2, 3))
    equal(scan("linked", status=FINDINGS, state=state), ends(1, 2, 3))
    equal(scan("repo", status=FINDINGS, state=state), ends(1, 2, 3))
    # The pipe is the only change since the last report was stored.
    os.mkfifo("repo/.git/refs/heads/pipe")
    equal(scan("repo", status=INCOMPLETE, state=state, says=["refs/heads/pipe"]), ends(1, 2, 3))


# ---- parts of a repository ----


@test
def each_part_that_cannot_be_read_is_named_and_leaves_the_rest():
    needs_modes()
    repo = two_branches()
    blob = repo.git("rev-parse", "other:a.txt")
    fan = "objects/" + blob[:2]
    os.makedirs("repo/.git/objects/info", exist_ok=True)
    for name in ("objects/info/alternates", "packed-refs", "shallow"):
        open(f"repo/.git/{name}", "a").close()
    for part, found in ((fan, ends(1)), ("packed-refs", ends(1, 2)), ("objects/pack", ends(1, 2)), ("shallow", ends(1, 2)),
                        ("objects/info/alternates", ends(1, 2)), ("objects", set())):
        path = f"repo/.git/{part}"
        mode = os.stat(path).st_mode
        os.chmod(path, 0)
        equal(scan("repo", status=INCOMPLETE, says=[f"{path}: cannot be read; Permission denied"]), found, part)
        os.chmod(path, mode)
    equal(scan("repo", status=FINDINGS), ends(1, 2))


@test
def a_folder_of_objects_that_became_unreadable_is_noticed_with_state():
    needs_modes()
    repo = two_branches()
    fan = "repo/.git/objects/" + repo.git("rev-parse", "other:a.txt")[:2]
    state = "--state=" + os.path.abspath("state")
    equal(scan("repo", status=FINDINGS, state=state), ends(1, 2))
    os.chmod(fan, 0)
    scan("repo", status=INCOMPLETE, state=state, says=[f"{fan}: cannot be read"])


@test
def a_pack_that_cannot_be_read_and_what_names_short_ids_are_faults():
    needs_modes()
    repo = two_branches(pack=True)
    repo.write("b.txt", github_token(3))
    commit = repo.commit()
    pack = next(name for name in os.listdir("repo/.git/objects/pack") if name.endswith(".pack"))
    os.chmod(f"repo/.git/objects/pack/{pack}", 0)
    equal(scan("repo", status=INCOMPLETE, says=[pack]), ends(3))
    os.chmod(f"repo/.git/objects/pack/{pack}", 0o444)
    fan = "repo/.git/objects/" + next(name for name in sorted(os.listdir("repo/.git/objects"))
                                      if len(name) == 2 and name != commit[:2])
    os.chmod(fan, 0)
    scan("repo", "--ref", commit[:12], status=INCOMPLETE, says=[f"{fan}: cannot be read"])


@test
def a_folder_in_place_of_packed_refs_leaves_the_loose_ones():
    two_branches()
    os.mkdir("repo/.git/packed-refs")
    equal(scan("repo", status=INCOMPLETE, says=["repo/.git/packed-refs: expected a regular file"]), ends(1, 2))


@test
def alternates_are_as_deep_as_git_reads_them():
    two_branches("r0")
    for i in range(1, 7):
        subprocess.run(["git", "clone", "-q", "--shared", f"r{i - 1}", f"r{i}"], check=True, env={**os.environ, **ENVIRONMENT})
    equal(scan("r6", status=FINDINGS), ends(1))
    shutil.copytree("r6", "r7")
    with open("r7/.git/objects/info/alternates", "w") as file:
        file.write(os.path.abspath("r6/.git/objects") + "\n")
    scan("r7", status=INCOMPLETE, says=["r1/.git/objects/info/alternates: too many alternates, or nested too deeply"])


# ---- targets ----


@test
def a_target_that_cannot_be_scanned_leaves_the_others_their_findings():
    needs_modes()
    two_branches("good")
    two_branches("bad")
    os.makedirs("plain")
    for targets in (("nowhere", "good"), ("good", "nowhere")):
        equal(scan(*targets, status=USAGE, says=["'nowhere': No such file"]), ends(1, 2))
    result = complains(USAGE, "'plain' is not a git repository", "scan", "good", "plain")
    holds("plain (repository): not scanned" in result.out and "2 findings" in result.out, result)
    equal(scan("good", "bad", "--ref", "other", status=FINDINGS), ends(2))
    Repo("bad").commit()
    equal(scan("good", "bad", "--ref", "other", status=USAGE, says=["unknown ref"]), ends(2))
    with open("bad/.turnstone.yml", "w") as file:
        file.write("version: [")
    equal(scan("bad", "good", status=USAGE, says=["bad"]), ends(1, 2))
    os.chmod("bad/.git", 0)
    equal(scan("bad", "good", status=USAGE, says=["bad/.git: cannot be read; Permission denied"]), ends(1, 2))
    os.chmod("bad/.git", 0o755)
    os.chmod("bad/.git/config", 0)
    equal(scan("bad", "good", status=USAGE, says=["bad/.git/config: cannot be read"]), ends(1, 2))
    complains(USAGE, "nowhere", "scan", "nowhere", "neither")


@test
def a_fault_of_a_repository_is_reported():
    repo = Repo("repo")
    repo.commit()
    repo.git("config", "core.repositoryformatversion", "1")
    repo.git("config", "extensions.strange", "true")
    complains(USAGE, ["extensions.strange", "repo/.git/config"], "scan", "repo")
    os.makedirs("odd")
    with open("odd/.git", "w") as file:
        file.write("gitdir: /no/where\n")
    complains(USAGE, ["odd/.git", "/no/where", "git worktree repair"], "scan", "odd")


@test
def bundles_and_packs_are_said_not_to_be_looked_into():
    repo = two_branches(pack=True)
    repo.git("bundle", "create", "-q", "../all.bundle", "--all")
    repo.git("bundle", "create", "-q", "--version=3", "../three.bundle", "--all")
    pack = next(name for name in os.listdir("repo/.git/objects/pack") if name.endswith(".pack"))
    shutil.copy(f"repo/.git/objects/pack/{pack}", "one.pack")
    for name, says in (("all.bundle", "git clone"), ("three.bundle", "git clone"), ("one.pack", "git unpack-objects")):
        equal(scan(name, status=INCOMPLETE, says=[f"'{name}': a git ", "compressed and was not scanned", says]), set())
        with open(name, "rb") as file:
            done = subprocess.run([PROGRAM, "scan", "-"], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        equal(done.returncode, INCOMPLETE, name)
    with open("like.txt", "w") as file:
        file.write("# v2 git bundles are files\nPACK\n")
    equal(scan("like.txt", status=CLEAN), set())
    result = run("scan", "all.bundle")
    holds("all.bundle" in result.out and "git clone" in " ".join(result.out.split()), result)


@test
def an_invalid_head_is_named_and_the_branches_are_scanned():
    """Git does not accept a folder with an invalid HEAD as a repository. If the HEAD of a linked work tree is
    invalid, git ignores the objects that only this HEAD reaches."""
    def remove(path):
        os.unlink(path)

    def folder(path):
        os.unlink(path)
        os.mkdir(path)

    def nowhere(path):
        os.unlink(path)
        os.symlink("nothing", path)

    for change in (folder, nowhere, remove):
        for scanned, head in (("repo", "repo/.git/HEAD"), ("linked", "repo/.git/HEAD"), ("repo", "repo/.git/worktrees/linked/HEAD")):
            shutil.rmtree("linked", ignore_errors=True)
            two_branches().git("worktree", "add", "-q", os.path.abspath("linked"), "other")
            change(head)
            if (change, scanned) == (remove, "repo") and head == "repo/.git/HEAD":
                complains(USAGE, "not a git repository", "scan", "repo")
                continue
            equal(scan(scanned, status=INCOMPLETE, says=["HEAD"]), ends(1, 2), f"{change.__name__} {scanned} {head}")


@test
def a_head_that_leads_to_a_branch_that_is_not_there_yet_is_fine():
    repo = two_branches()
    repo.git("symbolic-ref", "HEAD", "refs/heads/yet")
    equal(scan("repo", status=FINDINGS), ends(1, 2))
    os.unlink("repo/.git/HEAD")
    os.symlink("refs/heads/yet", "repo/.git/HEAD")
    equal(scan("repo", status=FINDINGS), ends(1, 2))


@test
def a_ref_with_a_name_that_git_refuses_is_named():
    repo = two_branches()
    tip = repo.git("rev-parse", "other")
    repo.git("branch", "-q", "-D", "other")
    for name in ("a~1", "a..b", "a@{1}", "a b", "a:b", "a^", "a?", "a*", "a[", "a\\b", "a.", "a\x7f"):
        with open("repo/.git/refs/heads/" + name, "w") as file:
            file.write(tip + "\n")
        holds(repo.git("rev-list", "--all", check=False) == "", name)
        found = scan("repo", status=INCOMPLETE, says=["not valid for git"])
        equal(found, ends(1) if ".." in name else ends(1, 2), name)  # the program does not resolve ".."
        os.unlink("repo/.git/refs/heads/" + name)


@test
def a_linked_work_tree_of_something_without_refs_is_refused():
    two_branches().git("worktree", "add", "-q", os.path.abspath("linked"), "other")
    shutil.rmtree("repo/.git/refs")
    complains(USAGE, "does not exist", "scan", "linked")


main()
