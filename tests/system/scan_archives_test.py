#!/usr/bin/env python3
"""turnstone scan: scans archives and LFS objects, and counts the archives and objects that it cannot read."""
import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import PROGRAM, complains, peak_kib, run  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

CLEAN, FINDINGS, USAGE, INCOMPLETE = 0, 1, 2, 4


def env(seed=1):
    """Returns the contents of a file whose line 3 has a secret, at column 10."""
    return f"# settings\n\ntoken = '{github_token(seed)}'\n".encode()


def zipped(members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(members, mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zstandard(content):
    """Returns a zstd frame that contains one uncompressed block."""
    size = len(content)
    return b"\x28\xb5\x2f\xfd\x60" + (size - 256).to_bytes(2, "little") + (size << 3 | 1).to_bytes(3, "little") + content


def encrypted(members):
    """Returns a zip whose members are all marked as encrypted."""
    data = bytearray(zipped(members))
    for mark, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        place = data.find(mark)
        while place >= 0:
            data[place + at] |= 1
            place = data.find(mark, place + 4)
    return bytes(data)


def report(*arguments, status, stdin=b""):
    done = subprocess.run([PROGRAM, "scan", *(() if "--state" in arguments else ("--no-state",)), *arguments, "--format", "json"],
                          input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    equal(done.returncode, status, f"{arguments}: {done.stdout[-1500:]!r} {done.stderr!r}")
    found = json.loads(done.stdout)
    found["err"] = done.stderr.decode()
    return found


def places(found):
    """Returns [(path, line, column)] of all findings."""
    return sorted((place["path"], place["line"], place["column"]) for one in found["findings"] for place in one["occurrences"])


def put(name, content):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "wb") as file:
        file.write(content)


EVERY_KIND = {
    "a.zip": zipped({"etc/app.env": env()}),
    "a.jar": zipped({"etc/app.env": env()}, zipfile.ZIP_STORED),
    "a.docx": zipped({"etc/app.env": env()}),
    "no-extension": zipped({"etc/app.env": env()}),
    "installer.exe": b"MZ a program that unpacks\n" + zipped({"etc/app.env": env()}),
    "a.tar": tarred({"./etc/app.env": env()}),
    "a.tar.gz": tarred({"etc/app.env": env()}, "w:gz"),
    "a.tar.bz2": tarred({"etc/app.env": env()}, "w:bz2"),
    "a.tar.xz": tarred({"etc/app.env": env()}, "w:xz"),
    "a.tar.zst": zstandard(tarred({"etc/app.env": env()})),
    "skipped.tar.zst": b"\x50\x2a\x4d\x18\4\0\0\0abcd" + zstandard(tarred({"etc/app.env": env()})),
}
SINGLE = {"b.env.gz": gzip.compress(env()), "b.env.bz2": bz2.compress(env()), "b.env.xz": lzma.compress(env())}
PLACES = sorted([(f"{name}!/etc/app.env", 3, 10) for name in EVERY_KIND] + [(f"{name}!/b.env", 3, 10) for name in SINGLE])


@test
def every_kind_of_archive_is_known_by_its_content_and_read_in_a_folder():
    for name, content in {**EVERY_KIND, **SINGLE}.items():
        put(f"f/{name}", content)
    equal(places(report("--dir", "f", status=FINDINGS)), PLACES)
    off = places(report("--dir", "f", "--archives", "0", status=FINDINGS))
    holds({path for path, _, _ in off} >= {"a.jar", "a.tar", "a.tar.zst", "skipped.tar.zst"} and not any("!" in path for path, _, _ in off), off)
    complains(USAGE, "--archives takes a number from 0 to 8", "scan", "--archives", "9", "--dir", "f")
    complains(USAGE, "--max-archive takes a size", "scan", "--max-archive", "much", "--dir", "f")


@test
def archives_are_read_in_a_history_whatever_its_packs_threads_and_memory():
    repo = Repo("r")
    for name, content in {**EVERY_KIND, **SINGLE}.items():
        repo.write(name, content)
    first = repo.commit()
    repo.write("a.zip", zipped({"etc/app.env": env(), "readme": b"more\n"}))
    repo.commit()
    expected = sorted(PLACES + [("a.zip!/etc/app.env", 3, 10)])
    for options in ([], ["--jobs", "1"], ["--jobs", "4"], ["--memory", "64M"], ["--full"]):
        found = report("r", *options, status=FINDINGS)
        equal(places(found), expected, options)
    repo.repack()
    found = report("r", status=FINDINGS)
    equal(places(found), expected, "packed")
    equal({place["commit"] for one in found["findings"] for place in one["occurrences"] if "docx" in place["path"]}, {first})


@test
def archives_are_read_when_they_are_staged_in_a_work_tree_as_a_file_and_from_standard_input():
    repo = Repo("r")
    repo.write("readme", "x\n")
    repo.commit()
    repo.write("deploy.zip", EVERY_KIND["a.zip"])
    repo.git("add", "-A")
    equal(places(report("r", "--staged", status=FINDINGS)), [("deploy.zip!/etc/app.env", 3, 10)])
    equal(places(report("r", "--working-tree", status=FINDINGS)), [("deploy.zip!/etc/app.env", 3, 10)])
    equal(places(report("r/deploy.zip", status=FINDINGS)), [("r/deploy.zip!/etc/app.env", 3, 10)])
    equal(places(report("-", status=FINDINGS, stdin=EVERY_KIND["a.tar.gz"])), [("!/etc/app.env", 3, 10)])
    refused = run("protect", "r")
    equal(refused.status, FINDINGS, repr(refused))
    holds("deploy.zip!/etc/app.env:3:10" in refused.out, refused)
    repo.commit()
    repo.write("deploy.zip", zipped({"etc/app.env": env(), "new": b"no secret"}))
    repo.git("add", "-A")
    equal(run("protect", "r").status, CLEAN, "the archive had the secret before")


@test
def archives_in_archives_are_read_to_the_depth():
    inner = env()
    for name in ("c.env", "d.zip", "e.zip", "f.zip"):
        inner = zipped({name: inner})
    put("f/g.zip", inner)
    deep = report("--dir", "f", "--archives", "4", status=FINDINGS)
    equal(places(deep), [("g.zip!/f.zip!/e.zip!/d.zip!/c.env", 3, 10)])
    default = report("--dir", "f", status=INCOMPLETE)
    equal(places(default), [])
    holds("g.zip!/f.zip!/e.zip!/d.zip: an archive inside 3 others is not opened; --archives" in default["err"], default["err"])


@test
def a_secret_of_a_member_is_not_reported_for_the_archive_too():
    data = bytearray(zipped({"a.env": env(1)}, zipfile.ZIP_STORED))
    comment = env(2)
    data[-2:] = len(comment).to_bytes(2, "little")
    put("f/a.zip", bytes(data) + comment)
    found = report("--dir", "f", status=FINDINGS)
    equal([path for path, _, _ in places(found)], ["a.zip", "a.zip!/a.env"], "the comment belongs to the archive")


@test
def a_secret_in_several_members_has_a_place_in_each():
    inner = zipped({"b.env": env(1), "c.env": env(2)}, zipfile.ZIP_STORED)
    put("f/x.zip", zipped({"a.env": env(1), "in.zip": inner, "large.env": b"filler\n" * 800000 + env(1), "z.env": env(2)}, zipfile.ZIP_STORED))
    found = report("--dir", "f", status=FINDINGS)
    equal([path for path, _, _ in places(found)], [f"x.zip!/{name}" for name in ("a.env", "in.zip!/b.env", "in.zip!/c.env", "large.env", "z.env")])
    put("f/.turnstone.yml", b"allow:\n  - paths: ['x.zip!/a.env', 'x.zip!/in.zip', 'x.zip!/large.env']\n")
    equal([path for path, _, _ in places(report("--dir", "f", status=FINDINGS))], ["x.zip!/z.env"], "one place is allowed, another is not")
    put("f/.turnstone.yml", b"allow:\n  - paths: ['*.zip']\n")
    equal(places(report("--dir", "f", status=CLEAN)), [], "an archive is like a folder")


@test
def large_members_and_large_archives_come_in_windows():
    filler = os.urandom(1 << 20).hex().encode()
    lines = b"\n".join(filler[i:i + 99] for i in range(0, len(filler), 99)) + b"\n"
    content = lines * 5 + env() + lines * 5
    line = content[:content.index(b"token")].count(b"\n") + 1
    put("f/a.zip", zipped({"big.txt": content}))
    equal(places(report("--dir", "f", status=FINDINGS)), [("a.zip!/big.txt", line, 10)])
    repo = Repo("r")
    repo.write("a.zip", zipped({"big.txt": content}, zipfile.ZIP_STORED))
    repo.commit()
    equal(places(report("r", "--memory", "64M", status=FINDINGS)), [("a.zip!/big.txt", line, 10)])


@test
def a_damaged_archive_is_status_4_and_what_can_be_read_of_it_is():
    whole = tarred({"a.env": env(), "b": os.urandom(300000)}, "w:gz")
    put("f/cut.tar.gz", whole[:200000])
    put("f/cut.zip", zipped({"c.env": env(), "d": os.urandom(3000)})[:-60])
    found = report("--dir", "f", status=INCOMPLETE)
    equal([path for path, _, _ in places(found)], ["cut.tar.gz!/a.env", "cut.zip!/c.env"])
    for name in ("cut.tar.gz", "cut.zip"):
        holds(f"{name}: not all of this archive can be read (" in found["err"], found["err"])
    repo = Repo("r")
    repo.write("a", whole[:200000])
    repo.commit()
    blob = repo.git("rev-parse", "HEAD:a")
    found = report("r", status=INCOMPLETE)
    holds(f"scan: a (object {blob}): not all of this archive" in found["err"], found["err"])
    equal(places(report("r", "--archives", "0", status=CLEAN)), [])


@test
def an_allow_entry_for_all_paths_of_a_damaged_archive_accepts_the_damage():
    """Without such an entry, a damaged archive among the fixtures of tests would end every scan of the history with status 4."""
    cut = tarred({"b": os.urandom(300000)}, "w:gz")[:200000]
    repo = Repo("r")
    repo.write("tests/cut.tar.gz", cut)
    repo.write("tests/deep.zip", zipped({"inner.tar.gz": cut}))
    repo.commit()
    for state in ([], ["--state", "s"], ["--state", "s"]):
        err = report("r", *state, status=INCOMPLETE)["err"]
        holds("scan: tests/cut.tar.gz (object " in err and "scan: tests/deep.zip!/inner.tar.gz (object " in err, err)
    repo.write(".turnstone.yml", "allow:\n  - paths: [tests/]\n  - paths: ['*.gz']\n    rules: [github-pat]\n")
    repo.write("tests/staged.tar.gz", cut[:-1])
    repo.git("add", "-A")
    equal(run("protect", "r").status, CLEAN)
    repo.commit()
    for options in ([], ["--state", "s"], ["--state", "s"], ["--working-tree"], ["--commit", "HEAD"]):
        found = report("r", *options, status=CLEAN)
        holds(any("could not be read completely; this is accepted, because allow entries allow everything at" in note for note in found["summary"]["notes"]), found["summary"])
    repo.write("more.txt", "more\n")
    repo.commit()
    equal(report("r", "--state", "s", status=CLEAN)["summary"]["notes"], report("r", status=CLEAN)["summary"]["notes"])
    repo.git("mv", "tests/cut.tar.gz", "cut.tar.gz")
    repo.commit()
    for state in ([], ["--state", "s"]):
        err = report("r", *state, status=INCOMPLETE)["err"]
        holds(err.count("\n") == 1 and "scan: cut.tar.gz (object " in err, f"it is at another path, too: {err}")


@test
def wrong_checksums_and_sizes_are_status_4():
    stored = zipped({"a.txt": b"nothing here " * 40}, zipfile.ZIP_STORED)
    deflated = zipped({"a.txt": b"nothing here " * 40})
    packed = gzip.compress(b"nothing here " * 40)
    sums = deflated[14:18]
    for name, content in (("stored.zip", stored[:100] + bytes(40) + stored[140:]),
                          ("crc.zip", deflated.replace(sums, b"\1\2\3\4")),
                          ("crc.gz", packed[:-8] + b"\1\2\3\4" + packed[-4:]),
                          ("size.gz", packed[:-4] + b"\1\2\3\4"),
                          ("second.gz", packed + packed[:-4] + b"\1\2\3\4")):
        put(f"bad/{name}/{name}", content)
        found = report("--dir", f"bad/{name}", status=INCOMPLETE)
        holds(f"{name}: not all of this archive can be read (" in found["err"], found["err"])
    for name, content in (("a.zip", stored), ("b.zip", deflated), ("c.gz", packed), ("two.gz", packed * 2), ("tail.gz", packed + bytes(100))):
        put(f"good/{name}", content)
    report("--dir", "good", status=CLEAN)


def relisted(archive, change):
    """Returns the zip with a changed list of its members. `change` gets the records of the list, and returns
    the new ones."""
    end = archive.rindex(b"PK\5\6")
    start = int.from_bytes(archive[end + 16:end + 20], "little")
    records = change([b"PK\1\2" + record for record in archive[start:end].split(b"PK\1\2")[1:]])
    count, size = (number.to_bytes(width, "little") for number, width in ((len(records), 2), (sum(map(len, records)), 4)))
    return archive[:start] + b"".join(records) + archive[end:end + 8] + count + count + size + archive[end + 16:]


@test
def members_of_a_zip_keep_their_names_whatever_the_order_of_its_list():
    plain = zipped({f"{name}.env": env(seed) for seed, name in enumerate("abc")})
    changes = {"reversed": lambda records: records[::-1], "repeated": lambda records: records[:1] + records, "short": lambda records: records[:2]}
    for name, archive in (("plain", plain), *((name, relisted(plain, change)) for name, change in changes.items())):
        put(f"{name}/m.zip", archive)
    found = {name: sorted((place["path"], one["id"]) for one in report("--dir", name, status=FINDINGS)["findings"] for place in one["occurrences"])
             for name in ("plain", *changes)}
    equal([path for path, _ in found["plain"]], ["m.zip!/a.env", "m.zip!/b.env", "m.zip!/c.env"])
    equal([found["reversed"], found["repeated"], found["short"]], [found["plain"], found["plain"], found["plain"][:2]])


@test
def zeros_at_the_start_hide_nothing():
    put("f/a.gz", gzip.compress(bytes(4096) + env()))
    put("f/b.tar.gz", gzip.compress(tarred({"b.env": env()})))
    equal([path for path, _, _ in places(report("--dir", "f", status=FINDINGS))], ["a.gz!/a", "b.tar.gz!/b.env"])


@test
def what_follows_a_tar_is_scanned_or_reported():
    one, two = tarred({"a.env": env(1)}), tarred({"b.env": env(2)})
    for name, content in {"two.tar.gz": gzip.compress(one) + gzip.compress(two), "joined.tar.gz": gzip.compress(one + two),
                          "two.tar.xz": lzma.compress(one) + lzma.compress(two), "joined.tar.zst": zstandard(one + two),
                          "zeros.tar.bz2": bz2.compress(one + bytes(30720) + two + bytes(512))}.items():
        put(f"{name}/{name}", content)
        equal([path for path, _, _ in places(report("--dir", name, status=FINDINGS))], [f"{name}!/a.env", f"{name}!/b.env"], name)
    put("rest/a.tar.gz", gzip.compress(one + b"neither a tar nor zeros".ljust(1024) + two))
    found = report("--dir", "rest", status=INCOMPLETE)
    equal([path for path, _, _ in places(found)], ["a.tar.gz!/a.env", "a.tar.gz!/b.env"])
    holds("a.tar.gz: not all of this archive can be read (Damaged tar archive)" in found["err"], found["err"])


@test
def bombs_are_bounded_and_status_4():
    put("f/zeros.gz", gzip.compress(bytes(20 << 20), 9))
    found = report("--dir", "f", status=INCOMPLETE)
    holds("zeros.gz: this archive unpacks to more than" in found["err"], found["err"])
    put("g/zeros.bz2", bz2.compress(bytes(20 << 20)))
    holds("times its size" in report("--dir", "g", status=INCOMPLETE)["err"], "20 MB in 50 bytes")
    put("h/many.zip", zipped({f"{i}": b"" for i in range(9000)}))
    holds("many.zip: this archive unpacks" in report("--dir", "h", "--max-archive", "4M", status=INCOMPLETE)["err"], "members")
    put("i/a.tar.gz", tarred({"a.env": env(), "b": bytes(3 << 20)}, "w:gz"))
    found = report("--dir", "i", "--max-archive", "1M", status=INCOMPLETE)
    equal([path for path, _, _ in places(found)], ["a.tar.gz!/a.env"], "members before the damage are reported")
    peak, status = peak_kib("scan", "--dir", "g", "--memory", "64M")
    equal(status, INCOMPLETE)
    holds(peak < (400 << 10), f"{peak} KiB")


@test
def an_archive_that_never_ends_is_left_when_the_time_is_over_or_a_signal_comes():
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    noise = os.urandom(1 << 16).hex().encode() * 8
    put("f/long.gz", b"".join(packer.compress(noise) for _ in range(250)) + packer.flush())
    before = time.monotonic()
    found = report("--dir", "f", "--max-time", "300ms", status=INCOMPLETE)
    holds("--max-time" in found["err"] or "time" in found["err"], found["err"])
    holds(time.monotonic() - before < 30, "it went on")
    child = subprocess.Popen([PROGRAM, "scan", "--no-state", "--dir", "f"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.4)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    holds(child.returncode in (CLEAN, INCOMPLETE), child.returncode)


@test
def state_gives_the_same_report_and_reads_clean_archives_once():
    repo = Repo("r")
    repo.write("clean.zip", zipped({"a.txt": b"nothing " * 2000}))
    repo.write("found.tar.gz", EVERY_KIND["a.tar.gz"])
    repo.write("closed.zip", encrypted({"a.env": env(3)}))
    repo.commit()
    plain = report("r", status=FINDINGS)
    first = report("r", "--state", "s", status=FINDINGS)
    again = report("r", "--state", "s", status=FINDINGS)
    repo.write("more.txt", "more\n")
    repo.commit()
    later = report("r", "--state", "s", status=FINDINGS)
    grown = report("r", status=FINDINGS)
    for one, expected in ((first, plain), (again, plain), (later, grown)):
        equal(one["findings"], expected["findings"])
        equal(one["summary"]["targets"][0]["encrypted_archives"], 1)
    equal(again["summary"]["targets"][0]["bytes_looked_at"], 0)
    holds(0 < later["summary"]["targets"][0]["bytes_looked_at"] < 10000, "the clean archive was read again")
    equal(places(report("r", "--state", "s", "--archives", "0", status=CLEAN)), [], "another depth is another question")
    equal(report("r", "--state", "s", status=FINDINGS)["findings"], grown["findings"])


@test
def encrypted_archives_are_counted_and_status_4_with_strict():
    put("f/closed.zip", encrypted({"a.env": env()}))
    found = report("--dir", "f", "--archives", "1", status=CLEAN)
    equal(found["summary"]["targets"][0]["encrypted_archives"], 1)
    holds("1 encrypted archive" in run("scan", "--dir", "f").out, "the summary counts it")
    holds("1 encrypted archive is not scanned" in report("--dir", "f", "--strict", status=INCOMPLETE)["err"], "strict")


def submodules(path, *options):
    return report(path, *options, status=CLEAN)["summary"]["targets"][0]["submodules"]


@test
def submodules_are_counted_and_status_4_with_strict():
    other = Repo("other")
    other.write("a", "x\n")
    other.commit()
    repo = Repo("r")
    for name in ("libs/one", "libs/two"):
        repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", os.path.abspath("other"), name)
    equal(submodules("r", "--staged"), 2)
    repo.commit()
    equal((submodules("r"), submodules("r", "--staged")), (2, 0), "staged changes have none now")
    holds("2 submodules" in run("scan", "r").out, "the summary counts them")
    holds("2 submodules are not scanned" in report("r", "--strict", status=INCOMPLETE)["err"], "strict")
    for _ in range(2):
        equal(report("r", "--state", "s", status=CLEAN)["summary"]["targets"][0]["submodules"], 2)
    report("r", "--state", "s", "--strict", status=INCOMPLETE)


@test
def a_change_counts_only_the_submodules_that_it_adds_or_moves_to_another_commit():
    other = Repo("other")
    for i in range(2):
        other.write("a", f"{i}\n")
        other.commit()
    repo = Repo("r")
    repo.write("a.txt", "0\n")
    repo.commit()
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", os.path.abspath("other"))
    repo.git(*add, "one")
    repo.git(*add, "libs/two")
    added = repo.commit()
    for i in range(1, 40):
        repo.write("a.txt", f"{i}\n")
        repo.write("libs/b.txt", f"{i}\n")
        last = repo.commit()
    since = f"@{repo.clock}"
    repo.git("mv", "libs/two", "two")
    moved = repo.commit()
    repo.git("gc", "-q")  # stores trees as deltas of other trees
    for option, revision, expected in (("--commit", added, 2), ("--commit", last, 0), ("--commit", moved, 0),
                                       ("--range", f"{last}..HEAD", 0), ("--range", f"{added}^..HEAD", 2), ("--since", since, 0)):
        equal(submodules("r", option, revision), expected, (option, revision))
    holds("submodule" not in report("r", "--commit", "HEAD", "--strict", status=CLEAN)["err"], "strict about the change")
    subprocess.run(["git", "-C", "r/one", "checkout", "-q", "HEAD~"], check=True)
    repo.git("add", "one")
    equal(submodules("r", "--staged"), 1)
    repo.commit()
    equal(submodules("r", "--commit", "HEAD"), 1, "another commit of it is something new that is not scanned")


def lfs_pointer(content):
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(content).hexdigest()}\nsize {len(content)}\n"


def lfs_put(repo, content):
    name = hashlib.sha256(content).hexdigest()
    put(f"{repo.path}/.git/lfs/objects/{name[:2]}/{name[2:4]}/{name}", content)


@test
def lfs_objects_are_scanned_in_place_of_their_pointers_or_counted():
    repo = Repo("r")
    archive = zipped({"x.env": env(2)})
    repo.write("big.env", lfs_pointer(env(1)))
    repo.write("pack.zip", lfs_pointer(archive))
    repo.write("gone.bin", lfs_pointer(b"not here"))
    repo.commit()
    without = report("r", "--state", "s", status=CLEAN)
    equal(without["summary"]["targets"][0]["lfs_missing"], 3)
    holds("3 LFS objects" in run("scan", "r").out, "the summary counts them")
    lfs_put(repo, env(1))
    lfs_put(repo, archive)
    for options in ([], ["--state", "s"], ["--state", "s"], ["--working-tree"]):
        found = report("r", *options, status=FINDINGS)
        equal(places(found), [("big.env", 3, 10), ("pack.zip!/x.env", 3, 10)], options)
        equal(found["summary"]["targets"][0]["lfs_missing"], 1, options)
        equal(found["summary"]["targets"][0]["lfs_objects"], 2, options)
    holds("1 LFS object is not scanned: fetch them with 'git lfs fetch --all'" in report("r", "--strict", status=INCOMPLETE)["err"], "strict")
    shutil.rmtree("r/.git/lfs")
    equal(places(report("r", "--state", "s", status=CLEAN)), [])
    name = hashlib.sha256(env(1)).hexdigest()
    put(f"r/.git/lfs/objects/{name[:2]}/{name[2:4]}/{name}", env(1)[:-9])
    equal(report("r", status=CLEAN)["summary"]["targets"][0]["lfs_missing"], 3, "an object of another size is another object")


@test
def an_lfs_object_that_is_a_pointer_to_itself_has_an_end():
    repo = Repo("r")
    pointer = lfs_pointer(b"x")
    repo.write("loop", pointer)
    repo.commit()
    name = hashlib.sha256(b"x").hexdigest()
    put(f"r/.git/lfs/objects/{name[:2]}/{name[2:4]}/{name}", pointer.encode())
    report("r", status=CLEAN)


@test
def allow_entries_and_masks_know_members():
    put("f/a.zip", zipped({"test/a.env": env(1), github_token(2): env(2)}))
    put("f/.turnstone.yml", b"allow:\n  - paths: ['a.zip!/test/**']\n    reason: made up\n")
    done = run("scan", "--dir", "f")
    equal(done.status, FINDINGS, repr(done))
    holds("a.zip!/********:3:10" in done.out, done)
    holds("1 finding: 1 critical" in done.out and github_token(2) not in done.out + done.err, done)


@test
def a_partial_clone_with_missing_blobs_is_status_4_with_the_fix():
    repo = Repo("origin")
    repo.write("a.txt", b"nothing")
    repo.commit()
    repo.git("checkout", "-q", "--detach")
    repo.write("a.txt", env())
    repo.commit("a release, which no branch reaches")
    repo.git("tag", "v1")
    repo.git("checkout", "-q", "main")
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{os.path.abspath('origin')}", os.path.abspath("partial"))
    found = report("partial", status=INCOMPLETE)
    fix = re.search("2 objects missing from the partial clone; fetch them with 'git (fetch --refetch --no-filter[^']*)'", found["err"])
    holds(fix, found["err"])
    report("partial", "--allow-missing", status=CLEAN)
    subprocess.run(["git", "-C", "partial", "-c", "gc.auto=0", *fix[1].split()], check=True, stderr=subprocess.DEVNULL)
    report("partial", status=FINDINGS)


@test
def a_report_in_a_file_leaves_its_summary_on_standard_error():
    put("f/a.env", env())
    told = run("scan", "--dir", "f", "-o", "out.json")
    equal((told.status, told.out), (FINDINGS, ""))
    holds(told.err.startswith("turnstone: scan: 1 finding: 1 critical; 1 occurrence (") and told.err.count("\n") == 1, told)
    quiet = run("scan", "--dir", "f", "-o", "out.json", "--quiet")
    equal((quiet.status, quiet.out, quiet.err), (FINDINGS, "", ""))
    both = run("scan", "--dir", "f", "-o", "out.json", "-o", "-")
    equal(both.err, "", "standard output has a report")
    put("g/a.env", b"nothing\n")
    holds("scan: no findings (" in run("scan", "--dir", "g", "-o", "out.json").err, "none")


@test
def a_library_that_is_missing_is_status_4_where_there_are_archives_and_nowhere_else():
    put("f/a.txt", b"nothing\n")
    put("g/a.zip", EVERY_KIND["a.zip"])
    listed = subprocess.run([PROGRAM, "scan", "--no-state", "--dir", "g"], env={**os.environ, "LD_DEBUG": "libs"},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False).stderr
    (name,) = {word.split("=")[1] for line in listed.splitlines() for word in line.split() if word.startswith("library=libarchive")}
    put(f"broken/{name}", b"This is no library.\n" * 100)
    broken = {"LD_LIBRARY_PATH": os.path.abspath("broken")}
    equal(run("scan", "--dir", "f", env=broken).status, CLEAN)
    found = run("scan", "--dir", "g", "--format", "json", env=broken)
    equal(found.status, INCOMPLETE, repr(found))
    holds("archives are not opened: the library for them cannot be loaded (" in found.err, found)
    equal(run("scan", "--dir", "g", "--archives", "0", env=broken).status, CLEAN)


main()
