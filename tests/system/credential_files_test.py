#!/usr/bin/env python3
"""turnstone scan: files that exist to hold credentials. If such a file has several paths, a finding is judged
separately at each path."""
import io
import json
import os
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import run  # noqa: E402
from repo import Repo  # noqa: E402
from tap import equal, main, test  # noqa: E402

NETRC = "machine git.internal\n  login deploy\n  password kestrel\n"


def found(*arguments):
    """Returns rule, confidence and paths of each finding of medium and high confidence."""
    result = run("scan", "--min-confidence", "medium", "--format", "jsonl", *arguments)
    equal(result.err, "")
    return [(one["rule"], one["confidence"], sorted(place["path"] for place in one["occurrences"])) for one in map(json.loads, result.out.splitlines())]


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


@test
def a_password_without_a_shape_counts_in_its_file_and_nowhere_else():
    put("plain/home/.netrc", NETRC)
    put("plain/notes.txt", NETRC)
    equal(found("--dir", "plain"), [("netrc-file-password", "medium", ["home/.netrc"])])


@test
def a_content_that_was_seen_before_is_judged_at_its_new_path():
    repo = Repo("renamed")
    repo.write("notes.txt", NETRC)
    repo.commit()
    equal(found("renamed", "--state", "state"), [])
    equal(found("renamed", "--state", "state"), [])
    repo.git("mv", "notes.txt", ".netrc")
    staged = found("renamed", "--staged")
    equal(staged, [("netrc-file-password", "medium", [".netrc"])])
    repo.commit()
    equal(found("renamed", "--state", "state"), staged)
    equal(found("renamed", "--no-state"), staged)
    repo.git("mv", ".netrc", "again.txt")
    repo.commit()
    equal(found("renamed", "--state", "state"), staged)


@test
def members_of_archives_have_paths_too():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("home/.netrc", NETRC)
        archive.writestr("home/notes.txt", NETRC)
    put("packed/home.zip", packed.getvalue())
    equal(found("--dir", "packed"), [("netrc-file-password", "medium", ["home.zip!/home/.netrc"])])


@test
def one_secret_is_one_finding_at_each_path():
    text = "DB_HOST=db.internal\nDB_PASSWORD=Kestrel4417x\n"
    for name in (".env", "settings.ini"):
        put(f"once/{name}", text)
    rules = {}
    for one in map(json.loads, run("scan", "--dir", "--format", "jsonl", "once").out.splitlines()):
        for place in one["occurrences"]:
            rules.setdefault(place["path"], []).append(one["rule"])
    equal({path: len(found) for path, found in rules.items()}, {".env": 1, "settings.ini": 1})
    equal(rules["settings.ini"], ["generic-ini-password"])


@test
def placeholders_have_low_confidence_and_variables_are_silent():
    put("weak/one/.netrc", NETRC.replace("kestrel", "changeme"))
    put("weak/two/.netrc", NETRC.replace("kestrel", "${GIT_PASSWORD}"))
    equal(found("--dir", "weak"), [])
    lines = [json.loads(line) for line in run("scan", "--dir", "--format", "jsonl", "weak").out.splitlines()]
    equal([(one["rule"], one["confidence"], one["occurrences"][0]["path"]) for one in lines], [("netrc-file-password", "low", "one/.netrc")])


main()
