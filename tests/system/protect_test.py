#!/usr/bin/env python3
"""turnstone protect: refuses commits that would add secrets. Git runs it as a hook."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from pre_commit import PreCommit, refuses_secrets  # noqa: E402
from program import PROGRAM, complains, run  # noqa: E402
from repo import Repo, github_token, private_key  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

def hooked(*arguments, path="repo"):
    """Makes a repository with a pre-commit hook that runs `turnstone protect` with these arguments."""
    repo = Repo(path)
    os.makedirs("hooks", exist_ok=True)
    with open("hooks/pre-commit", "w") as hook:
        hook.write(f"#!/bin/sh\nexec '{PROGRAM}' protect {' '.join(arguments)}\n")
    os.chmod("hooks/pre-commit", 0o755)
    repo.write("readme", "nothing\n")
    repo.commit()
    repo.git("config", "core.hooksPath", os.path.abspath("hooks"))
    return repo


def commit(repo, *arguments, cwd=None):
    repo.clock += 60
    return subprocess.run(["git", "-C", cwd or repo.path, "commit", "-m", "change", *arguments], capture_output=True, text=True,
                          env=repo.environment(), check=False)


def refused(done, *parts):
    said = done.stdout + done.stderr
    holds(done.returncode != 0 and "protect: refused" in said, done)
    for part in parts:
        holds(part in said, (part, said))


@test
def a_commit_that_brings_a_secret_is_refused_and_others_pass():
    repo = hooked()
    head = repo.git("rev-parse", "HEAD")
    repo.write("conf/a.txt", f"x\ntoken = {github_token(1)}\n")
    repo.git("add", "-A")
    done = commit(repo)
    refused(done, "conf/a.txt:2", "turnstone:allow", "--no-verify")
    holds(github_token(1) not in done.stdout + done.stderr, "the secret itself is not shown")
    equal(repo.git("rev-parse", "HEAD"), head)
    repo.write("conf/a.txt", "x\ntoken = from the environment\n")
    repo.git("add", "-A")
    done = commit(repo)
    equal(done.returncode, 0, done)
    holds("turnstone" not in done.stdout + done.stderr and "finding" not in done.stdout + done.stderr, done)


@test
def only_staged_changes_count():
    repo = hooked()
    repo.write("a.txt", "fine\n")
    repo.git("add", "-A")
    repo.write("a.txt", f"{github_token(1)}\n")
    repo.write("untracked.txt", f"{github_token(2)}\n")
    equal(commit(repo).returncode, 0)
    repo.git("add", "-A")
    repo.write("a.txt", "fine again\n")
    refused(commit(repo), "a.txt:1", "untracked.txt:1")


@test
def commits_of_some_files_and_of_all_changes_are_judged_by_what_they_bring():
    """For `git commit -a` and `git commit FILE`, git makes a separate index, and passes its name to the
    hook."""
    repo = hooked()
    repo.write("a.txt", "fine\n")
    repo.write("b.txt", "fine\n")
    repo.git("add", "-A")
    equal(commit(repo).returncode, 0)
    repo.write("a.txt", f"{github_token(1)}\n")
    repo.write("b.txt", "better\n")
    equal(commit(repo, "b.txt").returncode, 0)
    refused(commit(repo, "a.txt"), "a.txt:1")
    refused(commit(repo, "-a"), "a.txt:1")


@test
def old_content_is_no_obstacle():
    repo = hooked()
    repo.write("old.txt", f"{github_token(1)}\n")
    repo.write("key.pem", private_key(1))
    repo.git("add", "-A")
    equal(commit(repo, "--no-verify").returncode, 0)
    repo.write("old.txt", f"a line\n{github_token(1)}\n")
    repo.git("mv", "key.pem", "moved.pem")
    repo.git("add", "-A")
    equal(commit(repo).returncode, 0)
    repo.write("old.txt", f"a line\n{github_token(1)}\n{github_token(2)}\n")
    repo.git("add", "-A")
    done = commit(repo)
    refused(done, "old.txt:3")
    holds("1 finding" in done.stdout + done.stderr, done)
    repo.write("old.txt", f"a line\n{github_token(1)}\n")
    repo.write("copy.txt", f"{github_token(1)}\n")  # HEAD has this secret in a file that does not change
    repo.git("add", "-A")
    equal(commit(repo).returncode, 0)


@test
def the_first_commit_is_looked_at_too():
    repo = Repo("repo")
    repo.write("a.txt", github_token(1))
    repo.git("add", "-A")
    equal(run("protect", "repo").status, 1)
    equal(run("protect", cwd="repo").status, 1)
    repo.git("rm", "-q", "--cached", "a.txt")
    result = run("protect", cwd="repo")
    equal((result.status, result.out, result.err), (0, "", ""))


@test
def configuration_marks_baseline_and_severity_are_respected():
    repo = hooked("--baseline", os.path.abspath("known.baseline"))
    run("baseline", "repo", "-o", "known.baseline")
    repo.write("a.txt", f"{github_token(1)} # turnstone:allow\n")
    repo.git("add", "-A")
    equal(commit(repo).returncode, 0)
    repo.write("docs/b.txt", f"{github_token(2)}\n")
    repo.git("add", "-A")
    refused(commit(repo), "docs/b.txt:1")
    repo.write(".turnstone.yml", "allow:\n  - paths: ['docs/**']\n")
    equal(commit(repo).returncode, 0)
    repo.write("c.txt", f"{github_token(3)}\n")
    repo.git("add", "-A")
    refused(commit(repo), "c.txt:1")
    run("baseline", "repo", "--staged", "-o", "known.baseline")
    equal(commit(repo).returncode, 0)
    repo.write("d.txt", "password = \"Zeb" + "ra-42-piano\"\n")
    repo.git("add", "-A")
    equal(run("protect", "repo", "--fail-on", "critical").status, 0)


@test
def it_works_in_folders_and_linked_work_trees():
    repo = hooked()
    os.makedirs("repo/deep/down")
    repo.write("deep/down/a.txt", github_token(1))
    repo.git("add", "-A")
    holds("deep/down/a.txt:1" in run("protect", cwd="repo/deep/down").out, "the whole repository, by its own paths")
    refused(commit(repo, cwd="repo/deep/down"), "deep/down/a.txt:1")
    repo.git("reset", "-q", "--hard")
    repo.git("worktree", "add", "-q", "../tree")
    with open("tree/b.txt", "w") as file:
        file.write(github_token(2))
    subprocess.run(["git", "-C", "tree", "add", "-A"], check=True)
    refused(commit(repo, cwd="tree"), "b.txt:1")


def refuses_every_way_to_commit(repo, path, git=("git",)):
    """Tests `git commit` with and without -a, -i, --amend and FILE. -a and FILE use a separate index. A
    secret counts only if the commit contains it."""
    def commit_here(*arguments):
        repo.clock += 60
        return subprocess.run([*git, "commit", "-m", "change", *arguments], capture_output=True, text=True, cwd=path,
                              env=repo.environment(), check=False)

    def put(name, text):
        with open(os.path.join(path, name), "w") as file:
            file.write(text)

    for name in "one.txt", "two.txt":
        put(name, "fine\n")
        subprocess.run([*git, "add", name], cwd=path, env=repo.environment(), check=True)
    equal(commit_here().returncode, 0)
    put("one.txt", f"{github_token(7)}\n")
    put("two.txt", "better\n")
    refused(commit_here("-a"), "one.txt:1")
    refused(commit_here("--", "one.txt"), "one.txt:1")
    refused(commit_here("-i", "one.txt", "two.txt"), "one.txt:1")
    equal(commit_here("--", "two.txt").returncode, 0)
    put("two.txt", f"x\n{github_token(8)}\n")
    put("one.txt", "fine again\n")
    equal(commit_here("--", "one.txt").returncode, 0)  # the new secret is in two.txt
    refused(commit_here("-a"), "two.txt:2")
    subprocess.run([*git, "add", "two.txt"], cwd=path, env=repo.environment(), check=True)
    refused(commit_here(), "two.txt:2")
    refused(commit_here("--amend"), "two.txt:2")


@test
def every_way_to_commit_is_judged():
    refuses_every_way_to_commit(hooked(), "repo")


@test
def every_way_to_commit_in_a_linked_work_tree_is_judged():
    repo = hooked()
    repo.git("worktree", "add", "-q", "../tree")
    refuses_every_way_to_commit(repo, "tree")


@test
def every_way_to_commit_in_a_submodule_is_judged():
    inner = hooked(path="inner")
    outer = hooked(path="outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", os.path.abspath("inner"), "sub")
    equal(commit(outer).returncode, 0)
    sub = "outer/sub"
    subprocess.run(["git", "-C", sub, "config", "core.hooksPath", os.path.abspath("hooks")], check=True)
    refuses_every_way_to_commit(inner, sub)


@test
def commits_with_an_explicit_git_dir_are_judged():
    """The work tree is a home folder inside another repository. Its git folder is elsewhere."""
    hooked(path="around")
    home = "around/home"
    os.mkdir(home)
    repo = Repo("apart", "--bare")
    repo.git("config", "core.hooksPath", os.path.abspath("hooks"))
    git = ("git", f"--git-dir={os.path.abspath('apart')}", f"--work-tree={os.path.abspath(home)}")
    refuses_every_way_to_commit(repo, home, git)
    with open(f"{home}/.turnstone.yml", "w") as file:
        file.write("allow:\n  - paths: [two.txt]\n")
    done = subprocess.run([*git, "commit", "-m", "allowed"], capture_output=True, text=True, cwd=home, env=repo.environment(),
                          check=False)
    equal(done.returncode, 0, done)


def sparse(repo, *folders):
    """Makes the index sparse: each folder that is not in `folders` becomes a single entry."""
    repo.git("sparse-checkout", "init", "--cone", "--sparse-index")
    repo.git("sparse-checkout", "set", *folders)
    holds("040000" in repo.git("ls-files", "-s", "--sparse"), "folders are entries")


def sparse_repo():
    repo = hooked()
    for folder in "in", "out", "out/deep", "other":
        repo.write(f"{folder}/a.txt", f"{folder}\n")
    repo.write("out/old.txt", f"{github_token(5)}\n")
    repo.git("add", "-A")
    equal(commit(repo, "--no-verify").returncode, 0)
    return repo


@test
def a_sparse_index_has_what_its_folders_have():
    repo = sparse_repo()
    sparse(repo, "in")
    result = run("protect", "repo")
    equal((result.status, result.out, result.err), (0, "", ""))
    equal(run("scan", "--staged", "repo").status, 0)
    tree = repo.git("rev-parse", "HEAD:out")
    os.rename(f"repo/.git/objects/{tree[:2]}/{tree[2:]}", "tree")
    equal(run("protect", "repo").status, 0)  # the program does not read the trees of unchanged folders
    os.rename("tree", f"repo/.git/objects/{tree[:2]}/{tree[2:]}")
    repo.write("in/a.txt", f"{github_token(1)}\n")
    repo.git("add", "in")
    done = commit(repo)
    refused(done, "in/a.txt:1")
    holds("1 finding" in done.stdout + done.stderr, done)
    repo.write("in/a.txt", f"{github_token(5)}\n")  # HEAD has this secret in out/old.txt
    repo.git("add", "in")
    equal(run("protect", "repo").status, 0)
    repo.write("in/a.txt", "fine\n")
    repo.git("add", "in")
    equal(commit(repo).returncode, 0)


@test
def folders_of_a_sparse_index_that_differ_from_head_are_staged():
    """After git reset --soft, the index still has the folder of the later commit."""
    repo = sparse_repo()
    before = repo.git("rev-parse", "HEAD")
    repo.write("out/deep/new.txt", f"x\n{github_token(2)}\n")
    repo.write("out/old.txt", f"more\n{github_token(5)}\n")
    repo.git("add", "-A")
    equal(commit(repo, "--no-verify").returncode, 0)
    sparse(repo, "in")
    equal(run("protect", "repo").status, 0)
    repo.git("reset", "-q", "--soft", before)
    holds("040000" in repo.git("ls-files", "-s", "--sparse"), "the folder is an entry")
    result = run("protect", "repo")
    equal(result.status, 1, result)
    holds("out/deep/new.txt:2" in result.out and "1 finding" in result.out, result)
    result = run("scan", "--staged", "repo")
    holds(result.status == 1 and "out/deep/new.txt:2" in result.out and "1 finding" in result.out, result)
    tree = repo.git("rev-parse", "HEAD@{1}:out")
    os.unlink(f"repo/.git/objects/{tree[:2]}/{tree[2:]}")
    complains(4, tree, "protect", "repo")


@test
def files_that_move_out_of_a_folder_of_a_sparse_index_bring_nothing():
    repo = sparse_repo()
    before = repo.git("rev-parse", "HEAD")
    repo.git("mv", "out/old.txt", "in/moved.txt")
    equal(commit(repo, "--no-verify").returncode, 0)
    sparse(repo, "in")
    repo.git("reset", "-q", "--soft", before)
    result = run("protect", "repo")
    equal((result.status, result.out), (0, ""), result)
    holds("1 blob" in run("scan", "--staged", "repo").out, "the file is staged")


@test
def a_split_index_is_judged_as_one():
    repo = hooked()
    for i in range(30):
        repo.write(f"f{i}.txt", f"{i}\n")
    repo.write("old.txt", f"{github_token(1)}\n")
    repo.git("add", "-A")
    equal(commit(repo, "--no-verify").returncode, 0)
    repo.git("config", "splitIndex.maxPercentChange", "100")
    repo.git("update-index", "--split-index")
    result = run("protect", "repo")
    equal((result.status, result.out, result.err), (0, "", ""))
    repo.write("f7.txt", f"{github_token(2)}\n")
    repo.write("new.txt", f"{github_token(3)}\n")
    repo.git("mv", "old.txt", "moved.txt")
    repo.git("add", "-A")
    done = commit(repo)
    refused(done, "f7.txt:1", "new.txt:1")
    holds("2 findings" in done.stdout + done.stderr and "moved.txt" not in done.stdout, done)
    for name in os.listdir("repo/.git"):
        if name.startswith("sharedindex."):
            os.unlink(f"repo/.git/{name}")
            missing = name
    complains(2, missing, "protect", "repo")


@test
def every_way_to_commit_with_a_split_index_is_judged():
    repo = hooked()
    repo.git("config", "core.splitIndex", "true")
    refuses_every_way_to_commit(repo, "repo")
    holds(any(name.startswith("sharedindex.") for name in os.listdir("repo/.git")), "the index is split")


@test
def old_content_is_no_obstacle_for_large_files():
    """The files are too large to be held in memory as a whole."""
    line = b"nothing to see in this line of a large file, and in the next ones neither\n"
    repo = hooked()
    large = line * (20_000_000 // len(line)) + f"{github_token(1)}\n".encode()
    repo.write("large.txt", large)
    repo.write("gone.txt", line * (17_000_000 // len(line)) + f"{github_token(2)}\n".encode())
    repo.git("add", "-A")
    equal(commit(repo, "--no-verify").returncode, 0)
    repo.write("large.txt", large + b"one more\n")
    repo.git("add", "-A")
    equal(commit(repo).returncode, 0)
    repo.remove("gone.txt")
    repo.write("large.txt", large + f"one more\n{github_token(2)}\n".encode())
    repo.git("add", "-A")
    equal(run("protect", "repo").status, 0)
    repo.write("large.txt", large + f"one more\n{github_token(2)}\n{github_token(3)}\n".encode())
    repo.git("add", "-A")
    done = commit(repo)
    refused(done, "large.txt:")
    holds("1 finding" in done.stdout + done.stderr, done)


@test
def a_file_that_is_only_meant_to_be_added_is_not_staged():
    repo = hooked()
    repo.write("meant.txt", f"{github_token(1)}\n")
    repo.git("add", "-N", "meant.txt")
    result = run("protect", "repo")
    equal((result.status, result.out, result.err), (0, "", ""))
    result = run("scan", "--staged", "repo", "--format", "json")
    equal((result.status, json.loads(result.out)["summary"]["blobs"]), (0, 0), result)


@test
def a_submodule_that_is_staged_is_no_file():
    inner = Repo("inner")
    inner.write("a.txt", "fine\n")
    inner.commit()
    outer = hooked(path="outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", os.path.abspath("inner"), "sub")
    result = run("protect", "outer")
    equal((result.status, result.out, result.err), (0, "", ""))
    result = run("scan", "--staged", "outer", "--format", "json")
    equal((result.status, json.loads(result.out)["summary"]["blobs"]), (0, 1), result)  # of .gitmodules


@test
def what_git_says_of_the_repository_is_for_the_current_one():
    repo = hooked()
    repo.write("a.txt", github_token(1))
    repo.git("add", "-A")
    Repo("other")
    told = {"GIT_DIR": os.path.abspath("repo/.git")}
    equal(run("protect", env={**told, "GIT_WORK_TREE": os.path.abspath("repo")}).status, 1)
    equal(run("protect", "other", env=told).status, 0)
    other = {"GIT_INDEX_FILE": os.path.abspath("other/.git/index")}
    equal(run("protect", "repo", env=other).status, 1)
    complains(2, "nowhere", "protect", env={"GIT_DIR": "nowhere"})


@test
def mistakes_are_reported():
    complains(2, "not a git repository", "protect", "/")
    Repo("repo")
    complains(2, "takes one repository", "protect", "repo", "repo")
    complains(2, "known.baseline", "protect", "repo", "--baseline", "known.baseline")
    repo = Repo("broken")
    repo.write("a.txt", "x\n")
    repo.git("add", "-A")
    blob = repo.git("rev-parse", ":a.txt")
    os.unlink(f"broken/.git/objects/{blob[:2]}/{blob[2:]}")
    complains(4, blob, "protect", "broken")


@test
def files_that_are_not_staged_are_scanned_if_they_are_named():
    repo = hooked()
    repo.write("old.txt", f"{github_token(1)}\n")
    repo.write("other.txt", f"{github_token(2)}\n")
    repo.git("add", "-A")
    equal(commit(repo, "--no-verify").returncode, 0)
    equal(run("protect", "--files", cwd="repo").status, 0)
    result = run("protect", "--files", "old.txt", "readme", cwd="repo")
    holds(result.status == 1 and "old.txt:1" in result.out and "other.txt" not in result.out, result)
    holds("or the named files" in result.err, result)
    repo.write("readme", "changed\n")
    repo.write("other.txt", f"moved down\n{github_token(2)}\n")
    repo.git("add", "-A")
    equal(run("protect", "--files", "readme", "other.txt", cwd="repo").status, 0)  # HEAD has the secret
    result = run("protect", "--files", "readme", "other.txt", "old.txt", cwd="repo")
    holds(result.status == 1 and "2 findings" in result.out, result)
    repo.write(".turnstone.yml", "allow:\n  - paths: ['o*.txt']\n")
    equal(run("protect", "--files", "old.txt", cwd="repo").status, 0)
    complains(4, ["protect: ", "new.txt", "git add"], "protect", "--files", "readme", "new.txt", cwd="repo")


@test
def the_pre_commit_framework_runs_it():
    os.mkdir("bin")
    os.symlink(PROGRAM, "bin/turnstone")
    refuses_secrets(PreCommit("turnstone-system", PATH=os.path.abspath("bin") + ":" + os.environ["PATH"]), github_token)


if __name__ == "__main__":
    main()
