"""Repositories with random damage: checks that a scan reads everything that git reaches, or reports that it does not.

For each mutant, git lists what its refs reach and reads it. A scan is wrong if it claims to be complete (status 0 or 1)
without the token of an object that git reads. It is also wrong if it claims to be complete while git reports a loss: 'rev-list'
fails, a ref is broken, an object that it reaches cannot be read, or 'fsck' says that such an object is not what its id
says.

These complaints of git are not a loss, and a complete scan is correct nevertheless:
- warnings, notices and dangling objects of 'fsck', and its complaints about the style of an object ('error in commit
  X: badDate');
- symbolic refs to a missing branch and, in a partial clone with --allow-missing, refs to missing objects;
- checksums at the ends of packs and of indexes, and damage of files that only make git faster (multi-pack indexes,
  commit graphs, bitmaps, reverse indexes), as long as git reads everything without them;
- objects that no ref reaches, and a damaged copy of an object if another copy is intact, which git does not always
  find;
- settings that git does not understand and that say nothing about objects or refs, and files of other work trees that only git wants;
- a tree or blob that was forged together with the checksum in its index: docs/decisions/0010-what-is-verified.md says why. Mutants
  with such a tree or blob are scanned with --full, which finds it.
"""
import os
import random
import re
import shutil
import subprocess

from repo import ENVIRONMENT
from repo_damage import FORGED, damage
from repo_shapes import PARTIAL, RULES, SHAPES, TOKEN

CLEAN, FINDINGS, USAGE, INCOMPLETE = 0, 1, 2, 4
SCAN_SECONDS, GIT_SECONDS = 60, 20
ID = re.compile(rb"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
# Git reads without files that only make it faster, because packs and their indexes are authoritative.
PLAIN = ("-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false", "-c", "pack.useBitmaps=false",
         "-c", "advice.graftFileDeprecated=false")


NO_LOSS = re.compile(r"bad (boolean|numeric) config|v1-only extension found|Invalid path '[^']*/worktrees/|/commondir: |changed size!")


class Told:
    """The output of a program, and its status, or None if it did not end."""

    def __init__(self, arguments, environment, seconds, stdin=None):
        try:
            done = subprocess.run(arguments, input=stdin, stdin=subprocess.DEVNULL if stdin is None else None,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, timeout=seconds, check=False)
            self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            self.status, self.out, self.err = None, late.stdout or b"", late.stderr or b""

    def last(self):
        return self.err.decode(errors="replace").strip()[-600:]


class Git:
    """A repository as git sees it: the objects that it reaches, the tokens that it reads there, and its losses."""

    def __init__(self, folder, target, shape):
        self.target, self.has_copies = target, shape == "copies"
        self.options = ["--missing=allow-promisor"] if shape in PARTIAL else []
        self.environment = {**os.environ, **ENVIRONMENT, "GIT_CEILING_DIRECTORIES": folder, "GIT_OPTIONAL_LOCKS": "0"}
        self.types, self.tokens, self.losses, self.hung = {}, set(), [], False
        self.look(self.environment)
        if shape == "replaced":
            self.look({**self.environment, "GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull})
        if not self.losses and not self.hung:
            self.check()

    def run(self, *arguments, environment=None, stdin=None):
        told = Told(["git", *PLAIN, "-C", self.target, *arguments], environment or self.environment, GIT_SECONDS, stdin)
        self.hung = self.hung or told.status is None
        return told

    def look(self, environment):
        listed = self.run("rev-list", "--objects", "--all", "--no-object-names", *self.options, environment=environment)
        if listed.status != 0:
            self.losses.append(f"rev-list: {listed.status} {listed.last()}")
        self.losses += [line.decode(errors="replace") for line in listed.err.splitlines() if b"broken ref" in line]
        ids = [line for line in listed.out.splitlines() if ID.fullmatch(line)]
        if not ids:
            return
        read = self.run("cat-file", "--batch", environment=environment, stdin=b"\n".join(ids) + b"\n")
        self.tokens.update(TOKEN.findall(read.out))
        self.types.update(re.findall(rb"^([0-9a-f]{40,64}) (commit|tree|blob|tag) \d+$", read.out, re.M))
        lost = [one for one in ids if one not in self.types]
        if lost:
            self.losses.append(f"cat-file: {lost[0].decode()} {read.last()}")

    def check(self):
        told = self.run("fsck", "--full", "--no-reflogs", "--no-dangling", "--no-progress")
        for line in (told.err + told.out).splitlines():
            ids = [one for one in ID.findall(line) if one in self.types]
            is_lost = re.match(rb"missing |broken link", line) and ids
            is_other = re.search(rb"(hash|hash-path|sha1) mismatch|packed .* is corrupt", line) and ids and not self.has_copies
            is_ref = re.match(rb"error: (refs/|HEAD|[\w-]+/HEAD)[^ ]*: (?!invalid sha1 pointer 0+$)", line) or b"bad graft" in line
            if is_lost or is_other or is_ref:
                self.losses.append(f"fsck: {line.decode(errors='replace')}")


class Hunt:
    """Mutants of all shapes, each from a seed and its number."""

    def __init__(self, program, folder):
        self.program, self.folder = program, os.path.abspath(folder)
        self.work = os.path.join(self.folder, "work")  # the same path for all mutants, because some files of git have absolute paths
        self.targets, self.whole = {}, {}
        self.rules = os.path.join(self.folder, "rules.yml")
        os.makedirs(self.folder, exist_ok=True)
        with open(self.rules, "w") as file:
            file.write(RULES)

    def base(self, shape):
        """Returns the undamaged repository of a shape. It is made once, and kept next to the mutants."""
        kept = os.path.join(self.folder, "kept", shape)
        if shape not in self.targets:
            shutil.rmtree(self.work, ignore_errors=True)
            os.makedirs(self.work)
            self.targets[shape] = SHAPES[shape](os.path.join(self.work, "repo"))
            git = Git(self.work, self.targets[shape], shape)
            if git.losses:
                raise AssertionError(f"{shape}: a sound repository is not: {git.losses}")
            self.whole[shape] = git.tokens
            shutil.copytree(self.work, kept, symlinks=True)
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(kept, self.work, symlinks=True)
        return self.targets[shape]

    def scan(self, shape, target, *options):
        options = [*options, "--allow-missing"] if shape in PARTIAL else options
        return Told([self.program, "scan", "--no-state", "--no-builtin-rules", "--rules", self.rules, "--no-repo-config",
                     "--show-secrets", "--format", "jsonl", "--jobs", "2", "--memory", "64M", *options, target],
                    {**os.environ, "LC_ALL": "C"}, SCAN_SECONDS)

    def mutant(self, seed, number):
        """Makes the mutant, and returns a description of the damage."""
        rng = random.Random(f"mutant {seed} {number}")
        shape = rng.choice(sorted(SHAPES))
        target = self.base(shape)
        said = []
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            for _ in range(10):
                one = damage(rng, self.work)
                if one:
                    said.append(one)
                    break
        return shape, target, said

    def judge(self, shape, target, said):
        """Returns None, or the error of the scan of the mutant."""
        is_forged = any(FORGED in one for one in said)
        told = self.scan(shape, target, *(["--full"] if is_forged else []))
        found = set(TOKEN.findall(told.out))
        if told.status not in (CLEAN, FINDINGS, USAGE, INCOMPLETE):
            what = "it did not end" if told.status is None else f"status {told.status}"
            return f"{what}: {told.last()}"
        if b"Sanitizer" in told.err or b"runtime error" in told.err:
            return f"a sanitizer: {told.last()}"
        if told.status == INCOMPLETE and not told.err.strip():
            return "incomplete, and it does not say what is missing"
        if told.status == INCOMPLETE:
            return None
        if any("is a pipe now" in one for one in said):  # git would wait for a writer
            missing = self.whole[shape] - found
            return f"status {told.status} without {sorted(missing)}" if told.status != USAGE and missing else None
        git = Git(self.work, target, shape)
        if git.hung:
            return None
        if told.status == USAGE:
            return None if git.losses else f"refused, and git reads it: {told.last()}"
        missing = git.tokens - found
        if missing:
            return f"status {told.status} without {sorted(missing)[:5]} that git reaches; git lost {git.losses}"
        losses = [one for one in git.losses if not NO_LOSS.search(one)]
        if shape in PARTIAL:  # --allow-missing accepts this
            losses = [one for one in losses if not re.search("bad object refs/", one)]
        if shape == "copies" and self.whole[shape] <= found:
            losses = [one for one in losses if re.search("refs/|packed-refs|broken ref|not a git repository", one)]
        return f"status {told.status}, and git lost {losses[:5]}" if losses else None

    def run_one(self, seed, number):
        """Scans one mutant. Returns the error of the scan as text for people; None if the scan is correct."""
        shape, target, said = self.mutant(seed, number)
        if not said:
            return None
        wrong = self.judge(shape, target, said)
        if wrong is None:
            return None
        damages = "".join(f"  {one[:700]}\n" for one in said)
        return f"mutant {seed}:{number}, {shape}\n{damages}  => {wrong}\n"
