#!/usr/bin/env python3
"""turnstone scan of a history that grows: a scan that reads the state of the last scan and the new objects
has the same report as a scan of the whole history."""
import json
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import run  # noqa: E402
from repo import Repo, github_token, private_key  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

# The only fields of a report that may differ between scans: how much was read, and how long the scan took.
COUNTS = ("bytes_looked_at", "blobs_known", "duration_ms", "duration_s", "took_ms", "took_s", "took_ns")
# The options of scans without the earlier state, for comparison. The tests use them in turn.
WITHOUT = (("--no-state",), ("--full",))


def strip(value):
    if isinstance(value, dict):
        return {name: strip(one) for name, one in value.items() if name not in COUNTS}
    if isinstance(value, list):
        return [strip(one) for one in value]
    return value


def report(path, *arguments):
    result = run("scan", path, *arguments, "--format", "json", "--occurrences", "all")
    holds(result.status in (0, 1, 4), result)
    return strip(json.loads(result.out)), result


def same(path, what, turn=0):
    """Scans with the state of earlier scans, and without it. Checks that report, status and standard error
    are equal. Returns the report."""
    expected, plain = report(path, *WITHOUT[turn % 2])
    found, result = report(path, "--state", "state")
    equal(found, expected, what)
    equal((result.err, result.status), (plain.err, plain.status), what)
    return found


class Grown:
    """A repository, with one method for each way to change its history. Some commits are dated before their
    parents."""

    def __init__(self, seed, path="repo"):
        self.path, self.chance, self.number = path, random.Random(seed), 0
        self.repo = Repo(path)
        self.branches = ["main"]
        for name in ("a.txt", "docs/b.txt", "src/deep/er/c.txt"):
            self.repo.write(name, f"first {name}\n{github_token(name)}\n")
        self.repo.commit()

    def git(self, *arguments, **named):
        return self.repo.git(*arguments, **named)

    def files(self):
        return self.git("ls-files").splitlines()

    def secret(self):
        return github_token(self.chance.randrange(12))

    def change(self, count=1):
        for _ in range(count):
            self.number += 1
            name = self.chance.choice(self.files() + [f"new{self.number}.txt", f"src/deep/new{self.number}.txt"])
            lines = [f"line {self.number % 3}"] + [self.secret() for _ in range(self.chance.randrange(3))]
            self.repo.write(name, "\n".join(lines) + "\n")
            self.repo.clock += self.chance.choice((60, 60, 60, -5000))
            self.repo.commit(self.chance.choice(("change", "change", f"message {self.secret()}")))

    def rename(self):
        source = self.chance.choice(self.files())
        self.number += 1
        os.makedirs(os.path.join(self.path, f"moved{self.number}"), exist_ok=True)
        self.git("mv", source, f"moved{self.number}/{os.path.basename(source)}")
        self.repo.commit()

    def remove(self):
        if len(self.files()) > 2:
            self.git("rm", "-q", self.chance.choice(self.files()))
            self.repo.commit()

    def move_folder(self):
        """Renames the folder src. All files in it get other paths, and no blob is new."""
        if os.path.isdir(os.path.join(self.path, "src")):
            self.number += 1
            self.git("mv", "src", f"src{self.number}")
            self.repo.commit()

    def revert(self):
        """Restores an earlier tree as a whole."""
        commits = self.git("rev-list", "HEAD").splitlines()
        self.git("read-tree", "--reset", "-u", self.chance.choice(commits))
        self.repo.commit()

    def branch(self):
        """Makes a branch that starts at a random commit. The dates of its commits are near the date of that
        commit."""
        self.number += 1
        name, clock = f"side{self.number}", self.repo.clock
        start = self.chance.choice(self.git("rev-list", "HEAD").splitlines())
        self.git("checkout", "-q", "-b", name, start)
        self.repo.clock = int(self.git("show", "-s", "--format=%ct", start))
        self.change(2)
        self.repo.clock = max(clock, self.repo.clock)
        self.branches.append(name)

    def checkout(self):
        self.git("checkout", "-q", self.chance.choice(self.branches))

    def merge(self):
        self.git("merge", "-q", "-X", "ours", "-m", "merge", self.chance.choice(self.branches), check=False)
        if self.git("status", "--porcelain"):
            self.repo.commit("merge")

    def tag(self):
        self.number += 1
        self.git("tag", "-a", f"v{self.number}", "-m", f"version {self.secret()}", self.chance.choice(self.branches))
        self.git("tag", f"light{self.number}", f"v{self.number}")

    def delete_branch(self):
        """Deletes a random branch except main and the current branch."""
        head = self.git("rev-parse", "--abbrev-ref", "HEAD")
        others = [one for one in self.branches if one not in (head, "main")]
        if others:
            gone = self.chance.choice(others)
            self.git("branch", "-qD", gone)
            self.branches.remove(gone)

    def force(self):
        """Removes the last commit from the current branch, as a force-push would."""
        if self.git("rev-list", "--max-count=2", "HEAD").count("\n") == 1:
            self.git("reset", "-q", "--hard", "HEAD~1")

    def amend(self):
        """Commits, and amends that commit. The amended commit remains as an unreachable object."""
        self.change()
        self.repo.write("a.txt", f"amended {self.secret()}\n")
        self.git("add", "-A")
        self.git("commit", "-q", "--amend", "-m", "amended")

    def gc(self):
        self.git("gc", "-q")

    def pack(self):
        """Commits, and puts the new objects into a separate pack."""
        self.change(2)
        self.git("repack", "-q", "-d")

    def submodule(self):
        self.number += 1
        head = self.git("rev-parse", "HEAD")
        self.git("update-index", "--add", "--cacheinfo", f"160000,{head},module{self.number}")
        self.git("commit", "-q", "-m", "a submodule")

    def notes(self):
        self.git("notes", "add", "-f", "-m", f"note {self.secret()}")


STEPS = ("change", "change", "rename", "remove", "move_folder", "revert", "branch", "branch", "checkout", "merge", "merge", "tag", "delete_branch",
         "force", "amend", "gc", "pack", "submodule", "notes")


@test
def a_history_that_changes_in_any_way_is_reported_as_it_is():
    for seed in (1, 2):
        for name in ("repo", "state"):
            shutil.rmtree(name, ignore_errors=True)
        grown = Grown(seed)
        same("repo", "the first scan")
        for turn in range(14):
            step = grown.chance.choice(STEPS)
            getattr(grown, step)()
            same("repo", f"seed {seed}, step {turn}: {step}", turn)


@test
def a_fetched_pack_that_repeats_bases_of_its_deltas_is_news():
    grown = Grown(3, "upstream")
    grown.repo.write("large.txt", "".join(f"line {i} of a file that has many\n" for i in range(500)))
    grown.repo.commit()
    grown.git("gc", "-q")
    grown.git("clone", "-q", "--mirror", ".", os.path.abspath("mirror.git"))
    same("mirror.git", "the first scan")
    for turn in range(2):
        grown.repo.write("large.txt", "".join(f"line {i} of a file that has many\n" for i in range(500 - turn)) + github_token(20 + turn))
        grown.repo.commit()
        grown.git("--git-dir", os.path.abspath("mirror.git"), "-c", "fetch.unpackLimit=1", "fetch", "-q")
        holds(github_token(20 + turn)[:4] in json.dumps(same("mirror.git", f"fetch {turn}", turn)), turn)


@test
def a_changed_meaning_of_a_history_is_noticed():
    """What changes the meaning: replaced objects, grafts, a shallow clone, alternates, and a missing object
    that exists again."""
    grown = Grown(4)
    grown.change(3)
    same("repo", "the first scan")
    grown.change()
    grown.git("replace", "HEAD", "HEAD~2")
    same("repo", "a replaced commit")
    grown.git("replace", "-d", "HEAD")
    same("repo", "replaced no more")
    os.makedirs("repo/.git/info", exist_ok=True)
    with open("repo/.git/info/grafts", "w", encoding="ascii") as file:
        file.write(grown.git("rev-parse", "HEAD") + "\n")
    same("repo", "a graft")
    os.unlink("repo/.git/info/grafts")
    blob = grown.git("rev-parse", "HEAD:a.txt")
    place = f"repo/.git/objects/{blob[:2]}/{blob[2:]}"
    os.rename(place, "kept")
    same("repo", "a missing object")
    grown.change()
    same("repo", "a missing object, and a commit")
    os.rename("kept", place)
    same("repo", "the object is back")
    run_git = grown.git
    run_git("clone", "-q", "--bare", "--shared", ".", os.path.abspath("shared.git"))
    same("shared.git", "alternates")
    grown.change()
    run_git("--git-dir", os.path.abspath("shared.git"), "fetch", "-q", os.path.abspath("repo"), "+refs/heads/*:refs/heads/*")
    same("shared.git", "alternates, and a commit")
    run_git("clone", "-q", "--bare", "--depth=2", "file://" + os.path.abspath("repo"), os.path.abspath("shallow.git"))
    same("shallow.git", "shallow")
    run_git("--git-dir", os.path.abspath("shallow.git"), "fetch", "-q", "--unshallow")
    same("shallow.git", "unshallow")


@test
def an_older_commit_that_is_added_later_is_the_first():
    repo = Repo("repo")
    repo.write("a.txt", "first\n")
    root, clock = repo.commit(), repo.clock
    repo.clock += 6000
    repo.write("b.txt", f"{github_token(1)}\n")
    repo.commit()
    same("repo", "the first scan")
    repo.git("checkout", "-q", "-b", "older", root)
    repo.clock = clock
    repo.write("b.txt", f"{github_token(1)}\n")
    older = repo.commit()
    holds(older in json.dumps(same("repo", "an older branch")), older)
    repo.git("checkout", "-q", "main")
    same("repo", "HEAD is main again")


@test
def secrets_on_one_line_are_masked_as_in_one_scan():
    """The snapshot of a scan stores masked texts. A later scan finds a new secret in such a text, or an old
    secret at a new place."""
    repo = Repo("repo")
    repo.write("both.txt", f"{github_token(1)} {github_token(2)}\n")
    repo.write("key.pem", private_key(1))
    repo.commit()
    same("repo", "the first scan")
    repo.write("again.txt", f"x {github_token(1)} y {github_token(2)} z\n")
    repo.commit()
    same("repo", "old secrets in a new place")
    repo.write("new.txt", f"{github_token(3)} {github_token(1)}\n")
    repo.commit(f"{github_token(4)} and {github_token(2)}")
    same("repo", "new secrets next to old ones")
    repo.write(f"{github_token(3)}.txt", "a secret in a path\n" + github_token(5))
    repo.commit()
    same("repo", "a secret in a path")
    repo.write("more.txt", github_token(6))
    repo.commit()
    same("repo", "after a secret in a path")


main()
