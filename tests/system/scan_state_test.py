#!/usr/bin/env python3
"""turnstone scan with the state of earlier scans: the same reports, and only what is new is read."""
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import PROGRAM, complains, run  # noqa: E402
from repo import Repo, github_token, made_up, private_key  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

# What was read, and how long it took: all that may differ.
COUNTS = ("bytes_looked_at", "blobs_known", "duration_ms", "duration_s", "took_ms", "took_s", "took_ns")


def strip(value):
    if isinstance(value, dict):
        return {name: strip(one) for name, one in value.items() if name not in COUNTS}
    if isinstance(value, list):
        return [strip(one) for one in value]
    return value


def report(path, *arguments):
    """The whole report, and what of it says what was read."""
    result = run("scan", path, *arguments, "--format", "json", "--occurrences", "all")
    holds(result.status in (0, 1, 4), result)
    found = json.loads(result.out)
    return strip(found), found["summary"], result


def compare(path, *arguments, known=None, state="state", notes=()):
    """Scans with state and without. Returns the summary of the one with state."""
    expected, fresh, without = report(path, *arguments, "--no-state")
    found, summary, result = report(path, *arguments, "--state", state)
    equal([note for note in summary["notes"] if not any(one in note for one in notes)], fresh["notes"])
    for one in (expected, found):
        one["summary"]["notes"] = []
    equal(found, expected, f"{path} {arguments}")
    equal((result.status, result.err), (without.status, without.err))
    equal(fresh["blobs_known"], 0)
    if known is not None:
        equal((summary["blobs_known"], summary["blobs"] - summary["blobs_known"]), (known, summary["blobs"] - known))
    return summary


def varied(path="repo"):
    """Secrets in files, encoded, deleted again, in a merge, in messages of commits and tags, and in notes."""
    repo = Repo(path)
    repo.write("a.txt", f"first\ntoken = {github_token(1)}\n")
    repo.write("clean.txt", "nothing\n")
    repo.commit()
    repo.write("a.txt", f"first\ntoken = {github_token(1)}\nmore\n{github_token(2)} # turnstone:allow\n")
    repo.write("key.pem", private_key(1))
    repo.write("wide.txt", f"token = {github_token(3)}\n".encode("utf-16-le"))
    repo.commit(f"second {github_token(4)}")
    repo.git("checkout", "-qb", "side")
    repo.write("side.txt", f"{github_token(5)}\n")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.remove("key.pem")
    repo.commit()
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    repo.git("tag", "-a", "v1", "-m", f"release {github_token(6)}")
    repo.git("notes", "add", "-m", f"note {github_token(7)}")
    return repo


@test
def the_second_scan_reads_no_blobs_and_says_the_same():
    varied()
    first = compare("repo", known=0)
    holds(first["findings"] >= 7, first)
    second = compare("repo", known=first["blobs"])
    equal((second["bytes_looked_at"], second["blobs"]), (0, first["blobs"]))
    for form in ("text", "jsonl", "sarif", "csv", "junit", "html"):
        texts = [run("scan", "repo", "--format", form, *how).out for how in (("--no-state",), ("--state", "state"))]
        if form in ("jsonl", "csv"):
            equal(texts[1], texts[0], form)


@test
def after_new_commits_only_what_is_new_is_read():
    repo = varied()
    before = compare("repo")
    repo.write("new.txt", f"x {github_token(10)} {github_token(1)}\n")
    repo.write("clean.txt", "nothing, again\n")
    repo.commit(f"new {github_token(11)}")
    after = compare("repo", known=before["blobs"])
    equal(after["blobs"], before["blobs"] + 2)
    compare("repo", known=after["blobs"])


@test
def other_selections_use_what_is_known():
    repo = varied()
    first = repo.git("rev-list", "--max-parents=0", "HEAD")
    blobs = compare("repo")["blobs"]
    for selection in (("--branch", "side"), ("--ref", "v1"), ("--commit", first), ("--since", "@1700000100")):
        chosen = compare("repo", *selection)
        equal(chosen["blobs_known"], chosen["blobs"], selection)
    repo.git("branch", "-qD", "side")
    repo.git("tag", "-d", "v1")
    repo.git("update-ref", "-d", "refs/notes/commits")
    repo.git("reset", "-q", "--hard", first)
    left = compare("repo")
    holds(left["blobs"] < blobs, left)
    lost = compare("repo", "--unreachable")
    equal((lost["blobs"], lost["blobs_known"]), (blobs, blobs))
    holds(lost["findings"] > left["findings"], lost)


@test
def rebased_repacked_and_pruned_repositories_are_reported_as_they_are():
    repo = varied()
    compare("repo")
    repo.git("gc", "-q")
    total = compare("repo")["blobs"]
    compare("repo", known=total)
    repo.git("checkout", "-q", "--orphan", "fresh")
    repo.commit("all in one")
    compare("repo", known=total)
    for ref in ("refs/heads/main", "refs/heads/side", "refs/tags/v1", "refs/notes/commits"):
        repo.git("update-ref", "-d", ref)
    less = compare("repo")
    holds(less["blobs"] < total and less["blobs"] == less["blobs_known"], less)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    compare("repo", known=less["blobs"])
    repo.repack("--depth=50")
    compare("repo", known=less["blobs"])


@test
def another_rule_set_reads_everything_again():
    varied()
    blobs = compare("repo")["blobs"]
    with open("rules.yml", "w") as file:
        file.write("rules:\n  - {id: team, name: Team, pattern: '\\b(?<secret>not[a-z]{4})\\b', gate: [not], severity: low, "
                   "reach: 20}\n")
    found = compare("repo", "--rules", "rules.yml", known=0)
    holds(found["findings"] > compare("repo", known=blobs)["findings"], found)
    compare("repo", "--rules", "rules.yml", known=blobs)


@test
def another_allow_list_or_salt_reads_only_blobs_with_findings():
    repo = varied()
    total = compare("repo")["blobs"]
    repo.write(".turnstone.yml", "allow: []\n")
    repo.commit()
    ids = [one["id"] for one in report("repo", "--no-state")[0]["findings"]]
    compare("repo")
    for number, text in enumerate((f"allow:\n  - findings: [{ids[0]}]\n",
                                   "allow:\n  - paths: ['a.txt']\n    reason: because\n",
                                   f"salt: {made_up(24, 'salt')}\n")):
        # Not committed: the configuration of a work tree counts as it stands.
        repo.write(".turnstone.yml", text)
        changed = compare("repo")
        holds(0 < changed["blobs_known"] < changed["blobs"], (number, changed))
        holds(changed["blobs"] - changed["blobs_known"] <= 8, (number, changed))
        compare("repo", known=total + 1)


@test
def secrets_are_shown_by_reading_blobs_with_findings_again():
    varied()
    total = compare("repo")["blobs"]
    shown = compare("repo", "--show-secrets")
    holds(0 < shown["blobs_known"] < total, shown)
    compare("repo", known=total)


@test
def ids_by_the_salt_of_a_baseline_are_not_those_that_are_kept():
    repo = varied()
    total = compare("repo")["blobs"]
    equal(run("baseline", "repo", "--output", "baseline.json").status, 0)
    repo.write("new.txt", f"{github_token(20)}\n")
    repo.commit()
    changed = compare("repo", "--baseline", "baseline.json")
    holds(0 < changed["blobs_known"] < total, changed)
    compare("repo", "--baseline", "baseline.json", known=total + 1)
    compare("repo")


@test
def another_build_of_the_program_reads_everything_again():
    """As if it had been built from other sources: one byte of its build id is another."""
    varied()
    total = compare("repo")["blobs"]
    with open(PROGRAM, "rb") as file:
        content = bytearray(file.read())
    note = content.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")
    content[note + 16] ^= 1
    with open("other", "wb") as file:
        file.write(content)
    os.chmod("other", 0o755)
    arguments = ["scan", "repo", "--state", "state", "--format", "json"]
    for known in (0, total):
        done = subprocess.run([os.path.abspath("other"), *arguments], stdout=subprocess.PIPE, check=False)
        equal(json.loads(done.stdout)["summary"]["blobs_known"], known)
    compare("repo", known=total)


@test
def a_repository_with_another_kind_of_ids_in_the_same_place_is_another():
    repo = varied()
    compare("repo")
    shutil.rmtree("repo")
    repo = Repo("repo", "--object-format=sha256")
    repo.write("a.txt", f"{github_token(1)}\n")
    repo.commit()
    compare("repo", known=0)
    compare("repo", known=1)


@test
def an_unchanged_repository_is_not_read_at_all():
    """What a scan could not read any more is not noticed: files are told by size and time."""
    repo = varied()
    repo.repack()
    compare("repo")
    pack = glob.glob("repo/.git/objects/pack/*.pack")[0]
    status = os.stat(pack)
    os.chmod(pack, 0o600)
    with open(pack, "r+b") as file:
        for entry in repo.git("verify-pack", "-v", os.path.abspath(pack)).splitlines():
            if " blob " in entry:
                size, offset = map(int, entry.split()[3:5])
                file.seek(offset)
                file.write(bytes(size))
    os.chmod(pack, status.st_mode)
    os.utime(pack, ns=(status.st_atime_ns, status.st_mtime_ns))
    equal(report("repo", "--no-state")[1]["is_incomplete"], True)
    equal(report("repo", "--state", "state")[1]["is_incomplete"], False)


@test
def what_was_given_up_is_looked_at_again():
    """More matches in one file than are kept: said every time."""
    repo = varied()
    token = github_token(1)
    repo.write("many.txt", "".join(f"{token}\n" for _ in range(70000)))
    repo.commit()
    for _ in range(2):
        equal(compare("repo")["is_incomplete"], True)
    repo.write("new.txt", "new\n")
    repo.commit()
    summary = compare("repo")
    equal((summary["is_incomplete"], summary["blobs"] - summary["blobs_known"]), (True, 2))


def stored(folder="state"):
    return b"".join(open(path, "rb").read() for path in sorted(glob.glob(f"{folder}/scan/*")) if os.path.isfile(path))


@test
def no_secret_is_kept():
    varied()
    compare("repo")
    compare("repo", "--show-secrets")
    kept = stored()
    for number in range(1, 8):
        token = github_token(number)
        for part in (token, token[5:-5], token[:20], token[20:]):
            for text in (part.encode(), part.encode("utf-16-le")):
                holds(text not in kept, f"{number}: a part of a secret is in the state")
    holds(private_key(1).splitlines()[3].encode() not in kept, "a part of a key is in the state")
    equal(os.stat("state/scan").st_mode & 0o077, 0)


@test
def a_scan_that_is_killed_leaves_nothing_wrong():
    """At any moment: what the next one says is what a scan without state says."""
    chance = random.Random(7)
    repo = varied()
    for i in range(30):
        repo.write(f"file{i}.txt", "".join(made_up(60, (i, k)) + "\n" for k in range(300)) + f"{github_token(100 + i)}\n")
        repo.commit()
    for _ in range(12):
        scan = subprocess.Popen([PROGRAM, "scan", "repo", "--state", "state", "--jobs", "2"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        time.sleep(chance.random() * 0.4)
        scan.send_signal(signal.SIGKILL)
        scan.wait()
    compare("repo")
    compare("repo", known=compare("repo")["blobs"])


@test
def what_is_known_stays_known_however_many_scans_add_to_it():
    """Each leaves rows of its own, which become few again; only the new file is read every time."""
    repo = varied()
    blobs = compare("repo")["blobs"]
    for number in range(48):
        has_secret, is_all_of_it = number % 4 in (2, 3), number % 4 == 3
        repo.write(f"n{number}.txt", f"{made_up(40, number)}\n" + (f"{github_token(100 + number)}\n" if has_secret else ""))
        repo.commit(f"more {github_token(200 + number)}" if is_all_of_it else "more")
        found, summary, _ = report("repo", "--state", "state")
        blobs += 1
        equal((summary["blobs"], summary["blobs_known"]), (blobs, blobs - 1), number)
    equal(found, report("repo", "--no-state")[0])


@test
def more_findings_than_fit_into_a_row_are_known():
    """Several MiB of them: in rows of halves, and in a snapshot of parts; then less, so that parts of before must go."""
    repo = Repo("repo")
    repo.write("few.txt", f"{github_token('few')}\n")
    repo.commit()
    tokens = [github_token(("many", i)) for i in range(50)]
    for i in range(500):
        repo.write(f"d{i % 10}/f{i}.txt", "".join(f"{token} {made_up(150, (i, k))}\n" for k, token in enumerate(tokens)))
    repo.git("checkout", "-qb", "many")
    repo.commit()
    compare("repo", known=0)
    compare("repo", known=501)
    repo.write("new.txt", "new\n")
    repo.commit()
    compare("repo", known=501)
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-qD", "many")
    compare("repo", known=1)
    compare("repo", known=1)


def many_files(path, count):
    """A commit with so many small files, some with secrets, made fast."""
    repo = Repo(path)
    lines = ["commit refs/heads/main", "committer Cy <cy@example.org> 1700000000 +0000", "data 5", "files"]
    for i in range(count):
        text = f"{made_up(40, i)}\n" + (f"{github_token(i)}\n" if i % 500 == 0 else "")
        lines += [f"M 100644 inline d{i % 50}/f{i}.txt", f"data {len(text)}", text]
    repo.git("fast-import", "--quiet", stdin="\n".join(lines) + "\n")
    return repo


def written(folder="state"):
    """Bytes in the store's logs."""
    total = 0
    for path in glob.glob(f"{folder}/scan/*.log"):
        try:
            total += os.path.getsize(path)
        except FileNotFoundError:
            pass
    return total


@test
def a_long_scan_that_is_killed_leaves_what_it_had_looked_at():
    many_files("repo", 30000)
    known = 0
    for _ in range(20):
        shutil.rmtree("state", ignore_errors=True)
        scan = subprocess.Popen([PROGRAM, "scan", "repo", "--state", "state", "--jobs", "2"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        while scan.poll() is None and written() < 100000:
            time.sleep(0.0005)
        scan.kill()
        if scan.wait() == -signal.SIGKILL:
            summary = compare("repo")
            if 0 < summary["blobs_known"] < summary["blobs"]:
                known = summary["blobs_known"]
                break
    holds(known > 0, "no scan was killed while it had written a part")


@test
def an_interrupted_scan_keeps_what_it_looked_at():
    repo = Repo("repo")
    for i in range(40):
        repo.write(f"file{i}.txt", "".join(made_up(70, (i, k)) + "\n" for k in range(2000)))
    repo.write("secret.txt", github_token(1))
    repo.commit()
    scan = subprocess.Popen([PROGRAM, "scan", "repo", "--state", "state", "--jobs", "1", "--ungated"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    scan.send_signal(signal.SIGINT)
    scan.wait()
    compare("repo")


@test
def damage_is_noticed_and_what_was_damaged_is_made_anew():
    chance = random.Random(11)
    repo = varied()
    for i in range(60):
        repo.write(f"file{i}.txt", f"{made_up(2000, i)}\n{github_token(100 + i)}\n")
    repo.commit()
    blobs = compare("repo")["blobs"]
    compare("repo", known=blobs)  # what was written is in tables now
    shutil.copytree("state", "sound")
    noted = 0
    for round_number in range(24):
        shutil.rmtree("state")
        shutil.copytree("sound", "state")
        files = [path for path in sorted(glob.glob("state/scan/*")) if os.path.getsize(path) > 0
                 and os.path.basename(path).split("-")[0].split(".")[0] not in ("LOG", "turnstone", "IDENTITY", "LOCK", "OPTIONS")]
        path = files[round_number % len(files)]
        with open(path, "r+b") as file:
            content = bytearray(file.read())
            for _ in range(1 + round_number // 8):
                content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            file.seek(0)
            file.write(content)
        summary = compare("repo", notes=("state: ",))
        noted += any("state: " in note for note in summary["notes"])
        after = compare("repo", notes=("state: ",))
        equal(after["blobs_known"], blobs, f"round {round_number}: the state is of use again")
    holds(noted >= 4, f"only {noted} of the damaged states were noted")


@test
def what_is_no_state_is_left_alone():
    varied()
    with open("file", "w") as file:
        file.write("mine")
    summary = compare("repo", state="file", notes=("state: ",))
    holds("state: cannot" in summary["notes"][0], summary)
    equal(open("file").read(), "mine")
    os.makedirs("state/scan")
    with open("state/scan/mine.txt", "w") as file:
        file.write("mine")
    compare("repo", notes=("state: ",))
    equal(open("state/scan/mine.txt").read(), "mine")
    os.makedirs("theirs/scan")
    with open("theirs/scan/CURRENT", "w") as file:
        file.write("mine")
    for _ in range(2):
        summary = compare("repo", state="theirs", known=0, notes=("state: ",))
        equal(len(summary["notes"]), 1)
        equal(open("theirs/scan/CURRENT").read(), "mine")


@test
def the_folder_may_have_any_name():
    varied()
    total = compare("repo", state="odd %41,#?x")["blobs"]
    holds(os.path.isdir("odd %41,#?x/scan"), os.listdir("."))
    compare("repo", state="odd %41,#?x", known=total)
    summary = compare("repo", state="/".join(["x" * 200] * 11), notes=("state: cannot make its folder",))
    equal((summary["blobs_known"], len(summary["notes"])), (0, 1))


@test
def a_file_of_the_users_survives_damage():
    varied()
    compare("repo")
    compare("repo")
    with open("state/scan/mine.txt", "w") as file:
        file.write("mine")
    with open("state/scan/CURRENT", "w") as file:
        file.write("nonsense\n")
    summary = compare("repo", notes=("state: it was damaged",), known=0)
    equal(len(summary["notes"]), 1)
    equal(open("state/scan/mine.txt").read(), "mine")
    compare("repo", known=summary["blobs"])


@test
def a_second_scan_at_the_same_time_does_without_and_says_so():
    varied()
    compare("repo")
    with open("state/scan.lock", "r+") as lock:
        import fcntl
        fcntl.flock(lock, fcntl.LOCK_EX)
        summary = compare("repo", known=0, notes=("state: another scan is using it",))
        equal(len(summary["notes"]), 1)
    compare("repo", known=summary["blobs"])


@test
def repositories_do_not_share_what_is_known():
    """A repository may lie about what an object is."""
    repo = varied()
    compare("repo")
    shutil.copytree("repo", "copy")
    compare("copy", known=0)
    repo.git("worktree", "add", "-q", "../tree", "side")
    total = compare("repo")["blobs"]
    compare("tree", known=total)
    equal(report("repo", "copy", "--state", "state")[1]["blobs_known"], 2 * total)


@test
def damage_of_the_repository_after_a_scan_is_still_reported():
    repo = varied()
    repo.git("gc", "-q")
    compare("repo")
    repo.write("later.txt", "later\n")
    repo.commit()
    compare("repo")
    blob = repo.git("rev-parse", "HEAD:later.txt")
    os.unlink(f"repo/.git/objects/{blob[:2]}/{blob[2:]}")
    for _ in range(2):
        equal(compare("repo")["is_incomplete"], True)


@test
def what_belongs_to_repositories_that_are_gone_is_removed():
    varied("first")
    varied("second")
    compare("first")
    compare("second")
    kept = report("first", "--state", "state")[1]
    equal(kept["blobs_known"], kept["blobs"])
    shutil.move("first", "away")
    repo = varied("third")
    compare("third", known=0)
    shutil.move("away", "first")
    compare("first", known=0)
    compare("second", known=kept["blobs"])
    # Of one repository only the latest few ways of scanning are kept.
    for number in range(8):
        repo.write(".turnstone.yml", f"salt: {made_up(24, number)}\n")
        compare("third")
    compare("third", known=kept["blobs"])
    repo.write(".turnstone.yml", f"salt: {made_up(24, 0)}\n")
    holds(0 < compare("third")["blobs_known"] < kept["blobs"], "the oldest is gone, what is clean is still known")


@test
def scans_for_comparison_do_without():
    varied()
    total = compare("repo")["blobs"]
    for how in ("--full", "--ungated"):
        compare("repo", how, known=0)
    compare("repo", known=total)


@test
def the_state_is_where_the_user_keeps_such_things():
    varied()
    here = os.getcwd()
    for env, folder in (({"XDG_STATE_HOME": f"{here}/xdg"}, "xdg/turnstone"),
                        ({"XDG_STATE_HOME": None, "HOME": f"{here}/home"}, "home/.local/state/turnstone")):
        subprocess.run([PROGRAM, "scan", "repo"], stdout=subprocess.DEVNULL, check=False,
                       env={name: value for name, value in {**os.environ, **env}.items() if value is not None})
        holds(os.path.isdir(f"{folder}/scan"), folder)
    equal(os.path.exists("repo/.turnstone"), False)
    complains(2, "--state and --no-state", "scan", "repo", "--state", "x", "--no-state")
    complains(2, "--state takes a folder, not ''", "scan", "repo", "--state", "")


if __name__ == "__main__":
    main()
