#!/usr/bin/env python3
"""turnstone scan of repositories that other processes change during the scan. Each report is about the refs
of one moment. The scan finds objects that were only moved. TURNSTONE_STORM_SCANS=1000 makes the storm longer,
as `make storm` does.
"""
import contextlib
import json
import os
import random
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import PROGRAM, run  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

CLEAN, FINDINGS, INCOMPLETE = 0, 1, 4


class Paused:
    """A scan that waits for its configuration, because the configuration is a pipe. While the scan waits, it
    has read the refs and listed the packs."""

    def __init__(self, *arguments):
        os.mkfifo("pipe")
        self.arguments = arguments

    def __enter__(self):
        self.process = subprocess.Popen([PROGRAM, *self.arguments, "--config", "pipe"], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.pipe = None
        while self.pipe is None:
            holds(self.process.poll() is None, f"{self.arguments} ended before it read its configuration")
            with contextlib.suppress(OSError):  # the scan has not opened the pipe yet
                self.pipe = os.open("pipe", os.O_WRONLY | os.O_NONBLOCK)
            time.sleep(0.005)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()
        os.unlink("pipe")

    def _answer(self):
        """Writes the configuration, a comment. If the scan makes another attempt, it reads the configuration
        again, so this method writes the comment until the scan ends."""
        text = b"# nothing\n"
        os.write(self.pipe, text)
        os.close(self.pipe)
        while self.process.poll() is None:
            with contextlib.suppress(OSError):  # the scan has closed the pipe
                pipe = os.open("pipe", os.O_WRONLY | os.O_NONBLOCK)
                with contextlib.suppress(BrokenPipeError):
                    os.write(pipe, text)
                os.close(pipe)
            time.sleep(0.005)

    def go_on(self):
        thread = threading.Thread(target=self._answer)
        thread.start()
        out, err = self.process.communicate(timeout=120)
        thread.join()
        return self.process.returncode, out, err


def places(text):
    """Returns {(secret, commit, path)} of the findings in a JSON report."""
    return {(finding["secret"], one["commit"], one["path"])
            for finding in json.loads(text)["findings"] for one in finding["occurrences"]}


def commit_token(repo, number):
    repo.write(f"{number}.txt", f"token = {github_token(number)}\n")
    return github_token(number), repo.commit(), f"{number}.txt"


ALL = ("--no-state", "--show-secrets", "--format", "json")


# ---- one change at a known time ----


@test
def a_ref_that_moves_to_a_new_pack_after_the_start_is_scanned_as_it_was():
    repo = Repo("repo")
    first = commit_token(repo, 1)
    repo.git("repack", "-adq")
    with Paused("scan", "repo", *ALL) as scan:
        second = commit_token(repo, 2)
        repo.git("repack", "-adq")
        status, out, err = scan.go_on()
    equal((status, places(out), err), (FINDINGS, {first}, ""))
    equal(places(run("scan", "repo", *ALL).out), {first, second})


@test
def loose_objects_that_are_packed_while_the_scan_runs_are_found_in_the_pack():
    repo = Repo("repo")
    expected = {commit_token(repo, number) for number in range(20)}
    with Paused("scan", "repo", *ALL) as scan:
        repo.git("repack", "-adq")
        repo.git("prune-packed")
        status, out, err = scan.go_on()
    equal((status, places(out), err), (FINDINGS, expected, ""))


@test
def packs_and_refs_that_are_replaced_together_give_one_moment():
    repo = Repo("repo")
    first = commit_token(repo, 1)
    repo.git("branch", "gone")
    repo.git("checkout", "-q", "gone")
    second = commit_token(repo, 2)
    repo.git("checkout", "-q", "main")
    repo.git("config", "gc.reflogExpireUnreachable", "now")
    with Paused("scan", "repo", *ALL) as scan:
        repo.git("branch", "-qD", "gone")
        repo.git("pack-refs", "--all")
        repo.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
        repo.git("gc", "-q", "--prune=now")
        status, out, err = scan.go_on()
    # The objects of the deleted branch no longer exist, so the report is about the remaining refs.
    equal((status, err), (FINDINGS, ""))
    equal(places(out), {first})
    holds(second not in places(out), out)


@test
def several_targets_are_reported_once_each_when_one_is_scanned_again():
    busy = Repo("busy")
    shared = commit_token(busy, 1)
    own = commit_token(busy, 2)
    quiet = Repo("quiet")
    other = commit_token(quiet, 1)
    with Paused("scan", "busy", "quiet", *ALL) as scan:
        busy.git("repack", "-adq")
        busy.git("prune-packed")
        status, out, err = scan.go_on()
    equal((status, places(out), err), (FINDINGS, {other, shared, own}, ""))
    summary = json.loads(out)["summary"]
    equal((summary["findings"], summary["blobs"], summary["commits"]), (2, 3, 3))


@test
def a_baseline_loses_nothing_when_a_ref_moves():
    repo = Repo("repo")
    commit_token(repo, 1)
    equal(run("baseline", "repo", "--config", "/dev/null", "-o", "known").status, CLEAN)
    with open("known", encoding="utf-8") as file:
        before = file.read()
    repo.git("repack", "-adq")
    with Paused("baseline", "--no-state", "repo", "-o", "known") as scan:
        repo.write("clean.txt", "nothing\n")
        repo.commit()
        repo.git("repack", "-adq")
        status, out, err = scan.go_on()
    equal((status, out, err), (CLEAN, "known: 1 finding, 0 added, 0 removed\n", ""))
    with open("known", encoding="utf-8") as file:
        equal(file.read(), before)


@test
def a_ref_whose_commit_is_gone_is_a_fault_and_not_left_out():
    repo = Repo("repo")
    commit_token(repo, 1)
    repo.git("checkout", "-q", "--orphan", "other")
    repo.git("rm", "-rqf", ".")
    _, gone, _ = commit_token(repo, 2)
    os.unlink(f"repo/.git/objects/{gone[:2]}/{gone[2:]}")
    for arguments in ((), ("--ref", "other"), ("--branch", "other"), ("--allow-missing",)):
        result = run("scan", "repo", *arguments)
        equal(result.status, INCOMPLETE, arguments)
        holds(f"object {gone}: not in the repository" in result.out, result)
    equal(run("scan", "repo", "--branch", "main").status, FINDINGS)
    equal(run("scan", "repo", "--commit", gone).status, 2)


# ---- partial clones ----


def partial(*options, kind="blob:none"):
    """Makes a partial clone; by default it lacks the contents of old files. Returns the clone, and the
    findings of the complete repository."""
    repo = Repo("whole")
    expected = {commit_token(repo, number) for number in range(3)}
    repo.git("rm", "-q", "0.txt")
    repo.commit()
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
    repo.git("clone", "-q", f"--filter={kind}", *options, "file://" + os.path.abspath("whole"), "../clone")
    clone = Repo.__new__(Repo)
    clone.path, clone.clock = "clone", repo.clock
    return clone, expected


@test
def a_partial_clone_is_incomplete_and_names_the_cure():
    clone, expected = partial()
    line = ("1 object missing from the partial clone; fetch it with 'git fetch --refetch --no-filter --tags', or scan without it "
            "with --allow-missing")
    result = run("scan", "clone", "--format", "jsonl")
    equal((result.status, result.err), (INCOMPLETE, f"turnstone: scan: {line}\n"))
    result = run("scan", "clone", "--allow-missing")
    equal((result.status, result.err), (FINDINGS, ""))
    holds("1 object that the partial clone does not have" in result.out, result)
    clone.git("fetch", "-q", "--refetch", "--no-filter", "--tags")
    result = run("scan", "clone", *ALL)
    equal((result.status, places(result.out)), (FINDINGS, expected))


@test
def a_partial_clone_without_trees_is_incomplete():
    partial("--bare", kind="tree:0")
    about_config = ".turnstone.yml and .gitleaksignore of HEAD are not used: the partial clone does not have HEAD's files"
    for options, status in ((), INCOMPLETE), (("--allow-missing",), CLEAN):
        result = run("scan", "clone", "--format", "json", *options)
        summary = json.loads(result.out)["summary"]
        told = [one["text"] for one in summary["faults"]] + summary["notes"]
        equal((result.status, sum(about_config in one for one in told)), (status, 1), result)
        holds(not any("git fsck" in one for one in told), "a partial clone is not damaged")


@test
def state_of_a_scan_with_allow_missing_does_not_make_the_next_one_complete():
    partial()
    for arguments, status in ((("--allow-missing",), FINDINGS), ((), INCOMPLETE), (("--allow-missing",), FINDINGS)):
        equal(run("scan", "clone", "--state", "state", *arguments).status, status, arguments)


@test
def a_ref_of_a_partial_clone_whose_commit_is_gone_is_incomplete():
    clone, _ = partial()
    gone = "1234567890" * 4
    with open("clone/.git/refs/heads/gone", "w", encoding="utf-8") as file:
        file.write(gone + "\n")
    clone.git("fetch", "-q", "--refetch", "--no-filter", "--tags")
    for arguments in ((), ("--ref", "gone")):
        equal(run("scan", "clone", *arguments).status, INCOMPLETE, arguments)
    equal(run("scan", "clone", "--allow-missing").status, FINDINGS)
    equal(run("scan", "clone", "--allow-missing", "--ref", "gone").status, CLEAN)


@test
def staged_files_that_a_partial_clone_does_not_have_stop_a_commit():
    clone, _ = partial()
    missing = clone.git("ls-tree", "HEAD~3", "0.txt").split()[2]
    clone.git("update-index", "--add", "--cacheinfo", f"100644,{missing},back.txt")
    for verb in (("protect",), ("scan", "--staged")):
        result = run(*verb, "clone")
        equal(result.status, INCOMPLETE, verb)
        holds("'git fetch --refetch --no-filter --tags'" in result.out + result.err, result)
        equal(run(*verb, "--allow-missing", "clone").status, CLEAN, verb)


@test
def a_staged_secret_that_missing_files_of_head_may_have_is_incomplete():
    clone, _ = partial("--no-checkout")
    clone.git("reset", "-q")
    clone.write("copy.txt", github_token(1))
    clone.git("add", "copy.txt")
    missing = len({line.split()[2] for line in clone.git("ls-tree", "-r", "HEAD").splitlines()})
    for verb in (("protect",), ("scan", "--staged")):
        result = run(*verb, "clone")
        equal(result.status, INCOMPLETE, result)
        holds(f"{missing} objects missing from the partial clone" in result.out + result.err, result)
        equal(run(*verb, "--allow-missing", "clone").status, FINDINGS, verb)
    clone.git("fetch", "-q", "--refetch", "--no-filter", "--tags")
    equal(run("protect", "clone").status, CLEAN, "HEAD has the secret")
    clone.git("rm", "-q", "--cached", "copy.txt")
    equal(run("protect", "clone").status, CLEAN)


def pack_files(suffix):
    folder = "clone/.git/objects/pack"
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(suffix))


@test
def half_a_pack_is_damage_and_no_promise():
    for half, left in ((".idx", ".pack"), (".pack", ".idx")):
        clone, _ = partial()
        equal(run("scan", "clone", "--allow-missing").status, FINDINGS)
        for path in pack_files(half):
            os.unlink(path)
        for arguments in ((), ("--ref", "main"), ("--staged",)):
            result = run("scan", "clone", "--allow-missing", *arguments)
            equal(result.status, INCOMPLETE, (half, arguments))
            if not arguments:
                holds(os.path.basename(pack_files(left)[0]) in result.out, result)
                holds("a pack without its index, or an index without its pack" in result.out, result)
        subprocess.run(["rm", "-rf", "clone", "whole"], check=True)


@test
def an_id_that_changed_in_an_index_is_damage_and_no_promise():
    clone, _ = partial()
    blob = bytes.fromhex(clone.git("rev-parse", "HEAD:1.txt"))
    index = [path for path in pack_files(".idx") if blob in open(path, "rb").read()][0]
    with open(index, "rb") as file:
        text = file.read()
    os.chmod(index, 0o644)
    with open(index, "wb") as file:
        file.write(text.replace(blob, blob[:-1] + bytes([blob[-1] ^ 1])))
    result = run("scan", "clone", "--allow-missing")
    equal(result.status, INCOMPLETE)
    holds(f"object {blob.hex()}: not in the repository" in result.out, result)
    holds(f"{os.path.basename(index)}: damaged: its checksum differs" in result.out, result)


@test
def nothing_is_promised_when_the_configuration_names_no_promisor():
    partial("--bare")
    equal(run("scan", "clone", "--allow-missing").status, CLEAN)
    with open("clone/config", "w", encoding="utf-8") as file:
        file.write("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
    equal(run("scan", "clone", "--allow-missing").status, INCOMPLETE)


@test
def an_object_of_a_local_commit_is_not_promised():
    clone, _ = partial()
    clone.write("local.txt", "local\n")
    clone.git("add", "local.txt")
    own = clone.git("rev-parse", ":local.txt")
    clone.commit()
    equal(run("scan", "clone", "--allow-missing").status, FINDINGS)
    os.unlink(f"clone/.git/objects/{own[:2]}/{own[2:]}")
    result = run("scan", "clone", "--allow-missing")
    equal(result.status, INCOMPLETE)
    holds(f"object {own}: not in the repository" in result.out, result)
    holds("1 object that the partial clone does not have" in result.out, result)


@test
def a_baseline_of_a_partial_clone_takes_nothing_away():
    partial()
    equal(run("baseline", "whole", "-o", "known").status, CLEAN)
    with open("known", encoding="utf-8") as file:
        before = file.read()
    for arguments in ((), ("--allow-missing",)):
        result = run("baseline", "clone", "-o", "known", *arguments)
        equal(result.status, INCOMPLETE, result)
        holds("'known' is unchanged" in result.err, result)
    with open("known", encoding="utf-8") as file:
        equal(file.read(), before)


# ---- a storm ----


class Storm:
    """A repository that two threads change. The first thread moves, creates and deletes refs, and records the
    time of each change. The second thread runs git's housekeeping. Each commit has its own token and the
    tokens of its parent, so the findings of a scan show where the refs were. Housekeeping may remove new
    objects that no ref names yet, so the threads take turns at packing and at creating objects. Scans wait
    for neither thread."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.repo = Repo("storm", "--bare")
        self.repo.git("config", "core.packedRefsTimeout", "-1")
        self.repo.git("config", "core.filesRefLockTimeout", "-1")
        self.refs, self.count, self.problem = {}, 0, None
        self.tokens = {}  # {commit: tokens of all commits that it reaches}
        self.log = []  # of each change: (begin, end, tokens that refs reach then)
        self.coming = None  # (begin, tokens that refs will reach) of the change in progress
        self.stopped = threading.Event()
        self.turn = threading.Lock()
        self.create("refs/heads/main")
        self.threads = [threading.Thread(target=self._run, args=(work,)) for work in (self._write, self._keep_house)]

    def _change(self, refs, *update):
        reached = frozenset().union(*(self.tokens[one] for one in refs.values()))
        begin = time.monotonic()
        self.coming = (begin, reached)
        self.repo.git("update-ref", *update)
        self.refs = refs
        self.log.append((begin, time.monotonic(), reached))
        self.coming = None

    def create(self, ref):
        self.count += 1
        path, parent = f"{self.count}.txt", self.refs.get(ref)
        blob = self.repo.git("hash-object", "-w", "--stdin", stdin=f"{github_token(self.count)}\n")
        tree = self.repo.git("mktree", stdin=f"100644 blob {blob}\t{path}\n")
        commit = self.repo.git("commit-tree", tree, "-m", "one", *(("-p", parent) if parent else ()))
        self.tokens[commit] = self.tokens.get(parent, frozenset()) | {(github_token(self.count), commit, path)}
        self._change({**self.refs, ref: commit}, ref, commit)

    def _write(self):
        ref = f"refs/heads/{self.random.choice(('a', 'b/c', 'b/d', 'e', 'f/g/h'))}"
        if ref in self.refs and self.random.random() < 0.3:
            self._change({name: commit for name, commit in self.refs.items() if name != ref}, "-d", ref)
        else:
            with self.turn:
                self.create(ref)

    def _keep_house(self):
        work = self.random.choice((("pack-refs", "--all"), ("repack", "-adq"), ("repack", "-dq"), ("gc", "-q")))
        with self.turn if work[0] != "pack-refs" else contextlib.nullcontext():
            self.repo.git(*work)

    def _run(self, work):
        try:
            while not self.stopped.is_set():
                work()
        except Exception as error:  # the test checks it
            self.problem = error

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def states_between(self, begin, end):
        """Returns all sets of tokens that the refs may have reached at a moment of this period. A set may
        hold from the beginning of its change until the end of the next change."""
        coming, log = self.coming, list(self.log)
        states = [reached for i, (changed, _, reached) in enumerate(log)
                  if changed <= end and (i + 1 == len(log) or log[i + 1][1] >= begin)]
        return states + ([coming[1]] if coming and coming[0] <= end else [])


@test
def every_scan_in_a_storm_is_about_the_refs_of_one_moment():
    scans = int(os.environ.get("TURNSTONE_STORM_SCANS", "15"))
    with Storm(seed=1) as storm:
        number, deadline = 0, time.monotonic() + 240 + scans
        # On a busy machine, scans may be faster than git's writes. Then the test makes more scans, until the
        # refs have changed often enough.
        while number < scans or len(storm.log) <= scans // 2 and time.monotonic() < deadline:
            begin = time.monotonic()
            state = () if number % 2 else ("--state", "state")
            result = run("scan", "storm", "--occurrences", "all", *(one for one in ALL if not (state and one == "--no-state")), *state)
            end = time.monotonic()
            if storm.problem:
                raise storm.problem
            equal((result.status, result.err), (FINDINGS, ""), f"scan {number}: {result}")
            allowed = storm.states_between(begin, end)
            holds(places(result.out) in allowed,
                  f"scan {number}: {sorted(places(result.out))} is none of {[sorted(one) for one in allowed]}")
            number += 1
        holds(len(storm.log) > scans // 2, f"{len(storm.log)} changes in {number} scans are no storm")
        if scans > 100:
            print(f"# {number} scans, {len(storm.log)} changes of refs")


main()
