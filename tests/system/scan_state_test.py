#!/usr/bin/env python3
"""turnstone scan with the state of earlier scans: the same reports, and only new objects are read."""
import atexit
import fcntl
import glob
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from pg import reachable  # noqa: E402
from program import PROGRAM, complains, run  # noqa: E402
from repo import Repo, github_token, made_up, private_key  # noqa: E402
from tap import Skip, equal, holds, main, test  # noqa: E402

# The only fields of a report that may differ between scans: how much was read, and how long the scan took.
COUNTS = ("bytes_looked_at", "blobs_known", "duration_ms", "duration_s", "took_ms", "took_s", "took_ns")


with open(PROGRAM, "rb") as program:
    IS_SANITIZED = b"__asan_init" in program.read()

STATE_LINE = "turnstone: scan: the state in '"


def strip(value):
    if isinstance(value, dict):
        return {name: strip(one) for name, one in value.items() if name not in COUNTS}
    if isinstance(value, list):
        return [strip(one) for one in value]
    return value


def report(path, *arguments, runs=run):
    """Scans. Returns the report without COUNTS, the summary with COUNTS, and the result of the program."""
    result = runs("scan", path, *arguments, "--format", "json", "--occurrences", "all")
    holds(result.status in (0, 1, 4), result)
    found = json.loads(result.out)
    return strip(found), found["summary"], result


def fresh(path, *arguments):
    """Returns report() of a scan without state. While nothing changes, it can serve several comparisons."""
    return report(path, *arguments, "--no-state")


def compare(path, *arguments, known=None, state="state", warns=(), like=None):
    """Scans with state and without state. Checks that report, status and standard error are equal. With
    `warns`, the scan with state must also print one warning that contains all of these parts. With `known`,
    checks how many blobs the state knew. `like` is an earlier result of fresh(). Returns the summary of the
    scan with state."""
    expected, plain, without = like or fresh(path, *arguments)
    found, summary, result = report(path, *arguments, "--state", state)
    equal(found, expected, f"{path} {arguments}")
    lines = result.err.splitlines()
    warnings = [line for line in lines if STATE_LINE in line]
    equal(([line for line in lines if line not in warnings], result.status), (without.err.splitlines(), without.status))
    equal(len(warnings), 1 if warns else 0, result)
    holds(not warns or all(part in warnings[0] for part in warns), result)
    equal(plain["blobs_known"], 0)
    if known is not None:
        equal((summary["blobs_known"], summary["blobs"] - summary["blobs_known"]), (known, summary["blobs"] - known))
    return summary


def varied(path="repo"):
    """Makes a repository with secrets in files, in encoded files, in deleted files, in a merge, in messages
    of commits and tags, and in notes."""
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
def faults_of_the_objects_themselves_are_repeated_without_reading_them():
    repo = varied()
    repo.write("gone.txt", "this blob is lost\n")
    repo.write("cut.zip", b"PK\3\4" + bytes(26) + b"x" * 40)
    repo.commit()
    lost = repo.git("rev-parse", "HEAD:gone.txt")
    os.unlink(os.path.join("repo", ".git", "objects", lost[:2], lost[2:]))
    first = compare("repo", known=0)
    second = compare("repo", known=first["blobs"])
    equal(second["bytes_looked_at"], 0)
    said = report("repo", "--state", "state")[2].err
    holds(lost in said and "not all of this archive" in said, said)
    repo.git("hash-object", "-w", "--stdin", stdin="this blob is lost\n")
    equal(compare("repo")["blobs"], first["blobs"] + 1)


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
        # The file is not committed. The configuration in the work tree applies nevertheless.
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
    """The other build is a copy of the program in which one byte of the build id differs."""
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
def bytes_that_change_in_a_file_are_noticed():
    """The program notices them even if the modification time is set back, because users cannot set the change
    time."""
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
    equal(compare("repo")["is_incomplete"], True)


@test
def what_was_given_up_is_looked_at_again():
    """A file has more matches than a scan keeps. Every scan reads this file again, and reports that it is
    incomplete."""
    repo = varied()
    token = github_token(1)
    repo.write("many.txt", "".join(f"{token}\n" for _ in range(66000)))
    repo.commit()
    plain = fresh("repo")
    for _ in range(2):
        summary = compare("repo", like=plain)
        equal(summary["is_incomplete"], True)
    equal(summary["blobs"] - summary["blobs_known"], 1)


def state_files(folder="state", kinds="khsua"):
    return sorted(path for path in glob.glob(f"{folder}/scan/*/*")
                  if re.fullmatch(f"([{kinds}]-[0-9a-f-]+|about)", os.path.basename(path)) and os.path.basename(path)[0] in kinds)


def stored(folder="state"):
    return b"".join(open(path, "rb").read() for path in state_files(folder))


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
    for path in ["state", "state/scan", *glob.glob("state/scan/*"), *glob.glob("state/scan/*/*")]:
        equal(os.stat(path).st_mode & 0o077, 0, path)


@test
def a_scan_that_is_killed_leaves_nothing_wrong():
    """If a scan is killed at any moment, the next scan has the same output as a scan without state."""
    chance = random.Random(7)
    repo = varied()
    for i in range(30):
        repo.write(f"file{i}.txt", "".join(made_up(60, (i, k)) + "\n" for k in range(300)) + f"{github_token(100 + i)}\n")
        repo.commit()
    for _ in range(8):
        scan = subprocess.Popen([PROGRAM, "scan", "repo", "--state", "state", "--jobs", "2"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        time.sleep(chance.random() * 0.4)
        scan.send_signal(signal.SIGKILL)
        scan.wait()
    plain = fresh("repo")
    compare("repo", like=plain)
    compare("repo", known=plain[1]["blobs"], like=plain)


@test
def known_objects_stay_known_however_many_scans_add_to_them():
    """Each scan adds rows to the state, and some scans merge the rows. Every scan reads only the new file."""
    repo = varied()
    blobs = compare("repo")["blobs"]
    for number in range(24):
        has_secret, is_all_of_it = number % 4 in (2, 3), number % 4 == 3
        repo.write(f"n{number}.txt", f"{made_up(40, number)}\n" + (f"{github_token(100 + number)}\n" if has_secret else ""))
        repo.commit(f"more {github_token(200 + number)}" if is_all_of_it else "more")
        found, summary, _ = report("repo", "--state", "state")
        blobs += 1
        equal((summary["blobs"], summary["blobs_known"]), (blobs, blobs - 1), f"scan {number}")
    equal(found, report("repo", "--no-state")[0])
    holds(len(state_files(kinds="k")) < 18 and len(state_files(kinds="h")) < 18, state_files())


@test
def more_findings_than_fit_into_a_page_are_known():
    """The first scan has several MiB of findings, so it splits pages of the state, and its snapshot is large.
    Then a branch is deleted. The next scan has fewer findings, and must remove the old findings."""
    repo = Repo("repo")
    repo.write("few.txt", f"{github_token('few')}\n")
    repo.commit()
    tokens = [github_token(("many", i)) for i in range(50)]
    for i in range(120):
        repo.write(f"d{i % 10}/f{i}.txt", "".join(f"{token} {made_up(150, (i, k))}\n" for k, token in enumerate(tokens)))
    repo.git("checkout", "-qb", "many")
    repo.commit()
    plain = fresh("repo")
    compare("repo", known=0, like=plain)
    holds(os.path.getsize(state_files(kinds="h")[0]) > 1 << 20, "more than a page")
    compare("repo", known=121, like=plain)
    os.unlink(state_files(kinds="s")[0])
    compare("repo", known=121, like=plain)
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-qD", "many")
    plain = fresh("repo")
    compare("repo", known=1, like=plain)
    compare("repo", known=1, like=plain)


def many_files(path, count):
    """Quickly makes a repository whose commit has `count` small files, some with secrets."""
    repo = Repo(path)
    lines = ["commit refs/heads/main", "committer Cy <cy@example.org> 1700000000 +0000", "data 5", "files"]
    for i in range(count):
        text = f"{made_up(40, i)}\n" + (f"{github_token(i)}\n" if i % 500 == 0 else "")
        lines += [f"M 100644 inline d{i % 50}/f{i}.txt", f"data {len(text)}", text]
    repo.git("fast-import", "--quiet", stdin="\n".join(lines) + "\n")
    return repo


def written(folder="state"):
    """Returns the size of the files of known objects in the state."""
    total = 0
    for path in state_files(folder, kinds="k"):
        try:
            total += os.path.getsize(path)
        except FileNotFoundError:
            pass
    return total


@test
def a_long_scan_that_is_ended_leaves_what_it_had_looked_at():
    """The scan is killed by kill -9, or stopped by Ctrl-C."""
    many_files("repo", 12000)
    plain = fresh("repo")
    for number in (signal.SIGKILL, signal.SIGINT):
        known = 0
        for _ in range(20):
            shutil.rmtree("state", ignore_errors=True)
            scan = subprocess.Popen([PROGRAM, "scan", "repo", "--state", "state", "--jobs", "2"], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
            while scan.poll() is None and written() < 100000:
                time.sleep(0.0005)
            scan.send_signal(number)
            scan.wait()
            summary = compare("repo", like=plain)
            if 0 < summary["blobs_known"] < summary["blobs"]:
                known = summary["blobs_known"]
                break
        holds(known > 0, f"no scan was ended by {number} while it had written a part")


@test
def damaged_cut_and_foreign_files_change_no_report():
    chance = random.Random(11)
    repo = varied()
    for i in range(60):
        repo.write(f"file{i}.txt", f"{made_up(2000, i)}\n{github_token(100 + i)}\n")
    repo.commit()
    plain = fresh("repo")
    blobs = plain[1]["blobs"]
    compare("repo", known=0, like=plain)
    shutil.copytree("state", "sound")
    files = state_files(kinds="khsa")
    noted = 0
    for round_number in range(20):
        shutil.rmtree("state")
        shutil.copytree("sound", "state")
        path = files[round_number % len(files)]
        if os.path.basename(path)[0] in "kh":  # scans read these files only if the snapshot is missing
            os.unlink(state_files(kinds="s")[0])
        with open(path, "r+b") as file:
            content = bytearray(file.read())
            how = round_number // len(files)
            if how < 2:
                for _ in range(1 + how):
                    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            elif how < 4:
                del content[chance.randrange(len(content)):]
            else:
                content = bytearray(chance.randbytes(len(content)))
            file.seek(0)
            file.truncate()
            file.write(content)
        found, _, result = report("repo", "--state", "state")
        equal((found, result.status), (plain[0], plain[2].status), f"round {round_number}")
        holds(result.err.count("\n") <= 1, result)
        noted += "has a damaged file" in result.err
        compare("repo", known=blobs, like=plain)  # the state is used again
    holds(noted >= 3, f"only {noted} of the damaged states were noted")


@test
def foreign_files_are_left_alone():
    varied()
    with open("file", "w") as file:
        file.write("mine")
    plain = fresh("repo")
    compare("repo", state="file", warns=("'file'", "Not a directory", "--no-state"), like=plain)
    equal(open("file").read(), "mine")
    compare("repo", like=plain)
    folder = os.path.dirname(state_files()[0])
    for name in ("mine.txt", "k-mine", "sub/mine.txt"):
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        with open(f"{folder}/{name}", "w") as file:
            file.write("mine")
    for path in state_files(kinds="khs"):  # damages the files, so the next scan writes them again
        with open(path, "r+b") as file:
            file.seek(140)
            file.write(b"damage damage damage")
    compare("repo", warns=("has a damaged file",), like=plain)
    compare("repo", known=plain[1]["blobs"], like=plain)
    for name in ("mine.txt", "k-mine", "sub/mine.txt"):
        equal(open(f"{folder}/{name}").read(), "mine")


@test
def links_in_the_state_are_not_followed():
    """An attacker could use such a link to make the program write to another place, or read foreign data."""
    varied()
    plain = fresh("repo")
    compare("repo", like=plain)
    folder = os.path.dirname(state_files()[0])
    shutil.copytree(folder, "elsewhere")
    for path in state_files(kinds="khs"):
        os.unlink(path)
        os.symlink(os.path.abspath(f"elsewhere/{os.path.basename(path)}"), path)
    report("repo", "--state", "state")
    equal(report("repo", "--state", "state")[0], plain[0])
    shutil.rmtree(folder)
    os.symlink(os.path.abspath("elsewhere"), folder)
    before = sorted(os.listdir("elsewhere"))
    compare("repo", known=0, warns=("cannot be used", "Not a directory"), like=plain)
    equal(sorted(os.listdir("elsewhere")), before)


@test
def the_folder_may_have_any_name():
    varied()
    plain = fresh("repo")
    total = plain[1]["blobs"]
    compare("repo", state="odd %41,#?x", like=plain)
    holds(os.path.isdir("odd %41,#?x/scan"), os.listdir("."))
    compare("repo", state="odd %41,#?x", known=total, like=plain)
    compare("repo", state="/".join(["x" * 200] * 21), known=0, warns=("File name too long",), like=plain)
    compare("repo", state="link/\x1b[31m", known=0, like=plain)


@test
def a_second_scan_at_the_same_time_learns_nothing_and_says_so():
    repo = varied()
    compare("repo")
    folder = os.path.dirname(state_files()[0])
    repo.write("new.txt", "new\n")
    repo.commit()
    plain = fresh("repo")
    known = plain[1]["blobs"] - 1
    with open(f"{folder}/lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for _ in range(2):
            compare("repo", known=known, warns=("another scan of this repository is using it",), like=plain)
        varied("other")
        compare("other", known=0)  # each repository has its own lock
    compare("repo", known=known, like=plain)
    compare("repo", known=known + 1, like=plain)


@test
def scans_at_the_same_time_say_the_same():
    repo = varied()
    plain = fresh("repo")
    for number in range(3):
        scans = [subprocess.Popen([PROGRAM, "scan", "repo", "--state", "state", "--format", "json", "--occurrences", "all"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(3)]
        for scan in scans:
            equal(strip(json.loads(scan.communicate()[0])), plain[0], f"round {number}")
        repo.write(f"new{number}.txt", f"{github_token(50 + number)}\n")
        repo.commit()
        plain = fresh("repo")
    compare("repo", like=plain)


@test
def repositories_do_not_share_what_is_known():
    """A forged repository may have other content under the same id."""
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


# ---- forged repositories: another content under the same id ----


def objects_of(path):
    """Returns {id: (type, content)} of every object in the repository."""
    done = subprocess.run(["git", "-C", path, "cat-file", "--batch-all-objects", "--batch"], stdout=subprocess.PIPE, check=True)
    objects, rest = {}, done.stdout
    while rest:
        head, rest = rest.split(b"\n", 1)
        oid, kind, size = head.split()
        objects[oid.decode()] = (kind.decode(), rest[:int(size)])
        rest = rest[int(size) + 1:]
    return objects


def number_in_pack(kind, size):
    head = bytearray([kind << 4 | size & 15])
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7f)
        size >>= 7
    return bytes(head)


def delta_number(value):
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def appended(base_size, tail):
    """Returns a delta that copies the whole base, and appends `tail`."""
    return (delta_number(base_size) + delta_number(base_size + len(tail)) + bytes([0x80 | 0x10 | 0x20, base_size & 255, base_size >> 8])
            + bytes([len(tail)]) + tail)


def write_pack(path, objects, deltas):
    """Replaces all objects of the repository by one pack with valid checksums. The pack stores the objects in
    `deltas` as deltas: {id: (id of its base, tail)}."""
    kinds = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
    entries, data = {}, b"PACK" + struct.pack(">II", 2, len(objects))
    for oid, (kind, content) in objects.items():
        if oid in deltas:
            base, tail = deltas[oid]
            delta = appended(len(objects[base][1]), tail)
            entry = number_in_pack(7, len(delta)) + bytes.fromhex(base) + zlib.compress(delta)
        else:
            entry = number_in_pack(kinds[kind], len(content)) + zlib.compress(content)
        entries[oid] = (zlib.crc32(entry), len(data))
        data += entry
    trailer = hashlib.sha1(data).digest()
    ids = sorted(entries)
    index = b"\xfftOc" + struct.pack(">I", 2)
    index += b"".join(struct.pack(">I", sum(int(oid[:2], 16) <= i for oid in ids)) for i in range(256))
    index += b"".join(bytes.fromhex(oid) for oid in ids)
    index += b"".join(struct.pack(">I", entries[oid][0]) for oid in ids)
    index += b"".join(struct.pack(">I", entries[oid][1]) for oid in ids) + trailer
    for folder in glob.glob(f"{path}/.git/objects/??"):
        shutil.rmtree(folder)
    for old in glob.glob(f"{path}/.git/objects/pack/*"):
        os.unlink(old)
    for end, content in (("pack", data + trailer), ("idx", index + hashlib.sha1(index).digest())):
        with open(f"{path}/.git/objects/pack/pack-{'0' * 40}.{end}", "wb") as file:
            file.write(content)


@test
def another_content_under_the_same_id_is_looked_at():
    """Replaces, in turn, a blob without findings, the base of a delta, a blob with a finding, and the message
    of a commit."""
    repo = Repo("repo")
    repo.write("clean.txt", f"nothing {made_up(300, 'clean')}\n")
    repo.write("base.txt", f"nothing {made_up(300, 'base')}\n")
    repo.write("delta.txt", f"nothing {made_up(300, 'base')}\ntail\n")
    repo.write("found.txt", f"{github_token(1)}\n")
    repo.commit("an ordinary message")
    ids = {name: repo.git("rev-parse", f"HEAD:{name}.txt") for name in ("clean", "base", "delta", "found")}
    honest = objects_of("repo")
    deltas = {ids["delta"]: (ids["base"], b"tail\n")}
    commit = repo.git("rev-parse", "HEAD")
    write_pack("repo", honest, deltas)
    plain = honestly = fresh("repo")
    equal(plain[1]["findings"], 1)
    compare("repo", like=plain)
    compare("repo", known=4, like=plain)
    write_pack("repo", honest, deltas)  # a new pack file with the same entries
    compare("repo", known=4, like=plain)
    secret = github_token("forged").encode()
    changes = ((ids["clean"], lambda content: secret + b"\n" + content), (ids["base"], lambda content: secret + b"\n" + content),
               (ids["found"], lambda content: github_token(2).encode() + b"\n"),
               (commit, lambda content: content + secret + b"\n"))
    shutil.copytree("state", "honest-state")
    for oid, change in changes:
        forged = dict(honest)
        forged[oid] = (honest[oid][0], change(honest[oid][1]))
        write_pack("repo", forged, deltas)
        shutil.rmtree("state")
        shutil.copytree("honest-state", "state")
        plain = fresh("repo")
        # The program compares a message with its id, so the forged message is a fault.
        equal((len(plain[0]["findings"]), plain[1]["is_incomplete"]), (2 if oid in (ids["clean"], ids["base"]) else 1, oid == commit))
        holds(plain[0] != honestly[0], "nothing was forged")
        summary = compare("repo", like=plain)
        holds(summary["blobs_known"] >= 2 or oid == commit, "what was not touched is known")
        compare("repo", known=0 if oid == commit else 4, like=plain)


@test
def another_loose_object_under_the_same_id_is_looked_at():
    repo = varied()
    compare("repo")
    blob = repo.git("rev-parse", "HEAD:clean.txt")
    path = f"repo/.git/objects/{blob[:2]}/{blob[2:]}"
    content = f"{github_token('loose')}\n".encode()
    os.chmod(path, 0o600)
    with open(path, "wb") as file:  # overwrites the file, so the folder does not change
        file.write(zlib.compress(b"blob %d\0" % len(content) + content))
    plain = fresh("repo")
    equal(plain[1]["is_incomplete"], True)  # the content does not fit its id
    for _ in range(2):
        compare("repo", like=plain)


@test
def state_of_repositories_that_are_gone_is_removed():
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
    # For each repository, the state keeps only the latest few combinations of rules and options.
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


# ---- a machine that runs out of memory, files, threads or space ----


def limited(which, value):
    def limit():
        resource.setrlimit(which, (value, value))
    return limit


def another_user():
    """Prepares runs as a user other than root, because permissions and limits do not apply to root. Changes
    to a folder that such a user can reach. Returns a function that makes a process run as such a user; it
    does nothing if the test does not run as root."""
    if os.getuid() != 0:
        return lambda: None
    if not reachable(os.path.dirname(os.path.realpath(PROGRAM))):
        raise Skip("the program is where only root can run it")
    folder = tempfile.mkdtemp(prefix="turnstone-test-", dir="/tmp")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chmod(folder, 0o777)
    os.chdir(folder)
    return lambda: os.setuid(65534)


def same_under(prepare, what, state="state", env=None, status=None):
    """Scans with state and without state, under the same limit. Checks that report and status are equal. The
    scan with state may print one warning that the other scan does not print. Returns the warnings."""
    runs = []
    for how in (("--no-state",), ("--state", state)):
        runs.append(run("scan", "repo", "--jobs", "2", "--format", "json", "--occurrences", "all", *how, preexec_fn=prepare,
                        env=env))
    without, found = runs
    equal(found.status, without.status if status is None else status, f"{what}: {found}")
    equal(found.out and strip(json.loads(found.out)), without.out and strip(json.loads(without.out)), what)
    warnings = [line for line in found.err.splitlines() if STATE_LINE in line]
    equal([line for line in found.err.splitlines() if line not in warnings], without.err.splitlines(), what)
    holds(len(warnings) <= 1, f"{what}: {found}")
    for line in warnings:
        holds(f"'{state}'" in line and "--no-state" in line, line)
    return warnings


def learnable():
    """Makes a repository with so many files that the state takes several KiB."""
    repo = varied()
    for i in range(60):
        repo.write(f"file{i}.txt", f"{made_up(200, i)}\n{github_token(100 + i) if i % 3 == 0 else ''}\n")
    repo.commit()
    return repo


@test
def a_limit_on_the_size_of_files_leaves_the_report():
    learnable()
    for size in (0, 1, 135, 150, 1000, 20000):
        shutil.rmtree("state", ignore_errors=True)
        warnings = same_under(limited(resource.RLIMIT_FSIZE, size), f"{size} bytes")
        holds(not warnings or "File too large" in warnings[0] and "ulimit -f" in warnings[0], warnings)
        holds(warnings or size == 20000, f"{size}: nothing is said")
    compare("repo")


@test
def a_report_that_may_not_be_written_is_an_error():
    learnable()
    result = complains(6, ("cannot write 'report.json'", "File too large"), "scan", "repo", "--no-state", "--format", "json", "-o",
                       "report.json", preexec_fn=limited(resource.RLIMIT_FSIZE, 4096))
    equal((result.out, os.path.exists("report.json")), ("", False))


@test
def a_limit_on_open_files_leaves_the_report():
    learnable()
    warned = 0
    for count in range(4, 60, 4):
        shutil.rmtree("state", ignore_errors=True)
        warned += bool(same_under(limited(resource.RLIMIT_NOFILE, count), f"{count} files"))
    holds(warned > 0, "some of these limits are met by the state alone")
    compare("repo")


@test
def a_limit_on_memory_leaves_the_report():
    if IS_SANITIZED:
        raise Skip("sanitizers need much more of it than any limit")
    learnable()
    compare("repo")
    for mebibytes in (200, 400, 1000):
        same_under(limited(resource.RLIMIT_AS, mebibytes << 20), f"{mebibytes} MiB")
        shutil.rmtree("state", ignore_errors=True)
        same_under(limited(resource.RLIMIT_AS, mebibytes << 20), f"{mebibytes} MiB")


@test
def too_little_memory_is_said_with_the_cure():
    """With any limit, the program makes a report, or says that memory is short and what to do."""
    if IS_SANITIZED:
        raise Skip("sanitizers need much more of it than any limit")
    repo = Repo("repo")
    for i in range(20):
        repo.write(f"{i}.txt", "".join(f"{github_token((i, k))} {made_up(100, (i, k))}\n" for k in range(500)))
    repo.commit()
    ends = []
    for kibibytes in range(24000, 64000, 1500):
        done = run("scan", "repo", "--no-state", preexec_fn=limited(resource.RLIMIT_AS, kibibytes << 10))
        ends.append(done.status)
        holds(done.status in (1, 4, 6), (kibibytes, done))
        holds(done.status != 6 or "out of memory" in done.err and ("ulimit -v" in done.err or "--jobs" in done.err or "fewer threads" in done.err), (kibibytes, done.err))
    holds(6 in ends and ends[-1] == 1, ends)


@test
def a_limit_on_threads_leaves_the_report():
    if IS_SANITIZED:
        raise Skip("the search for leaks needs a process of its own")
    drop = another_user()
    learnable()

    def limit():
        drop()
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    for _ in range(2):
        same_under(limit, "threads", state="own", env={"XDG_CACHE_HOME": f"{os.getcwd()}/cache"}, status=1)
    holds(os.path.isdir("own/scan"), "the state was used")


def on_a_small_disk(size, *arguments):
    """Runs the program in its own mount namespace, in which the folder `state` is a file system of this
    size."""
    script = f"mount -t tmpfs -o size={size},mode=700 none state && exec \"$@\""
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script, "sh", PROGRAM, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    if "unshare: " in done.stderr or "mount: " in done.stderr:
        raise Skip("no file systems may be mounted here")
    return done


@test
def a_full_disk_leaves_the_report():
    many_files("repo", 1200)
    plain = fresh("repo")
    os.makedirs("state")
    for size in ("4k", "8k", "20k", "36k"):
        done = on_a_small_disk(size, "scan", "repo", "--state", "state", "--format", "json", "--occurrences", "all")
        equal((done.returncode, strip(json.loads(done.stdout))), (plain[2].status, plain[0]), size)
        holds(done.stderr.count("\n") == 1 and STATE_LINE in done.stderr and "No space left on device" in done.stderr
              and "make room there" in done.stderr, f"{size}: {done.stderr}")
    done = on_a_small_disk("8m", "scan", "repo", "--state", "state", "--format", "json", "--occurrences", "all")
    equal((done.returncode, done.stderr), (plain[2].status, ""))


@test
def a_folder_that_cannot_be_written_leaves_the_report():
    drop = another_user()
    varied()
    os.makedirs("closed")
    os.chmod("closed", 0o500)
    warnings = same_under(drop, "closed", state="closed", env={"XDG_CACHE_HOME": f"{os.getcwd()}/cache"}, status=1)
    holds(len(warnings) == 1 and "Permission denied" in warnings[0] and "make it writable" in warnings[0], warnings)


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


@test
def a_masked_path_is_not_taken_for_the_real_one():
    """.gitleaksignore names a file whose path contains a secret. The state stores no secrets, so it lacks
    this path."""
    repo = Repo("repo")
    path = f"{github_token(1)}.txt"
    repo.write(path, f"{github_token(1)}\n{github_token(2)}\n")
    repo.write(".gitleaksignore", f"{path}:some-rule:1\n")
    repo.commit()
    for _ in range(2):
        equal([one["source"] for one in compare(repo.path)["suppressions"]], [".gitleaksignore:1"])


if __name__ == "__main__":
    main()
