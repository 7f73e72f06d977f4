#!/usr/bin/env python3
"""turnstone scan: findings and their places, in repositories made by git."""
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import PROGRAM, complains, run  # noqa: E402
from repo import Repo, github_token, private_key  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

CLEAN, FINDINGS, USAGE, INCOMPLETE = 0, 1, 2, 4


def scan(*arguments, status=None, err="", **options):
    """Scans, checks status and standard error, and returns the findings."""
    result = run("scan", *arguments, "--format", "jsonl", **options)
    findings = [json.loads(line) for line in result.out.splitlines()]
    expected = status if status is not None else FINDINGS if findings else CLEAN
    equal((result.status, result.err), (expected, err), f"{arguments}: {result.out}")
    return findings


def places(findings):
    """Returns [(secret as it is shown, place, path, line)] of all occurrences, sorted."""
    return sorted((finding["secret"], one["place"], one["path"], one["line"])
                  for finding in findings for one in finding["occurrences"])


def shown(secret):
    return f"{secret[:4]}…{secret[-4:]}"


def one_file(token, name="a.txt"):
    repo = Repo("repo")
    repo.write(name, f"first\ntoken = {token}\n")
    repo.commit("first")
    return repo


@test
def a_clean_repository_is_clean():
    repo = Repo("repo")
    repo.write("a.txt", "nothing to see\n")
    repo.commit()
    equal(scan("repo"), [])
    text = run("scan", "repo")
    equal((text.status, text.err), (CLEAN, ""))
    holds("1 commit, 1 blob, 15 bytes" in text.out, text.out)


@test
def an_empty_repository_is_scanned_and_says_that_there_is_nothing():
    Repo("repo")
    text = run("scan", "repo")
    holds("Nothing was scanned" in text.out, text)


@test
def an_occurrence_says_where_and_who():
    token = github_token()
    repo = one_file(token, "folder/a.txt")
    [finding] = scan("repo")
    equal(finding["rule"], "github-pat")
    equal((finding["severity"], finding["secret"], finding["occurrence_count"]), ("critical", shown(token), 1))
    equal(finding["excerpt"], "token = ********")
    [one] = finding["occurrences"]
    equal((one["repo"], one["path"], one["place"]), ("repo", "folder/a.txt", "file"))
    equal((one["line"], one["column"], one["end_line"], one["end_column"]), (2, 9, 2, 49))
    equal((one["author"], one["email"], one["date"]), ("Ada", "ada@example.org", "2023-11-14T23:14:20+01:00"))
    equal(one["commit"], repo.git("rev-parse", "HEAD"))
    equal(one["object"], repo.git("rev-parse", "HEAD:folder/a.txt"))


@test
def a_secret_that_was_deleted_is_found_with_the_commit_that_brought_it():
    token = github_token()
    repo = one_file(token)
    brought = repo.git("rev-parse", "HEAD")
    repo.write("a.txt", "first\n")
    repo.commit("gone")
    repo.repack("--depth=50")
    [finding] = scan("repo")
    equal(finding["occurrences"][0]["commit"], brought)


@test
def versions_of_a_file_and_copies_of_it_are_occurrences_of_one_finding():
    token = github_token()
    repo = one_file(token)
    repo.write("a.txt", f"zeroth\nfirst\ntoken = {token}\n")
    second = repo.commit()
    repo.write("copy.txt", f"zeroth\nfirst\ntoken = {token}\n")
    third = repo.commit()
    repo.git("mv", "a.txt", "moved.txt")
    fourth = repo.commit()
    [finding] = scan("repo")
    equal(finding["occurrence_count"], 4)
    equal([(one["path"], one["line"]) for one in finding["occurrences"]],
          [("a.txt", 2), ("a.txt", 3), ("copy.txt", 3), ("moved.txt", 3)])
    equal([one["commit"] for one in finding["occurrences"]][1:], [second, third, fourth])


@test
def a_secret_twice_in_a_file_is_one_occurrence_and_two_secrets_are_two_findings():
    one, two = github_token(1), github_token(2)
    repo = Repo("repo")
    repo.write("a.txt", f"{one}\n{two}\n{one}\n")
    repo.commit()
    equal(places(scan("repo")), sorted([(shown(one), "file", "a.txt", 1), (shown(two), "file", "a.txt", 2)]))
    for finding in scan("repo"):
        equal(finding["excerpt"], "********")


@test
def every_secret_in_a_line_is_masked():
    tokens = [github_token(i) for i in range(3)]
    repo = Repo("repo")
    repo.write("a.txt", f"x {tokens[0]} y {tokens[1]} z {tokens[2]} turnstone:allow=jwt\n")
    repo.commit()
    result = run("scan", "repo", "--format", "json")
    for token in tokens:
        holds(token not in result.out, result.out)
    for finding in json.loads(result.out)["findings"]:
        equal(finding["excerpt"], "x ******** y ******** z ******** turnstone:allow=jwt")


@test
def a_merge_is_looked_into():
    token = github_token()
    repo = Repo("repo")
    repo.write("a.txt", "base\n")
    repo.commit()
    repo.git("checkout", "-qb", "side")
    repo.write("b.txt", "side\n")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.write("c.txt", "main\n")
    repo.commit()
    repo.git("merge", "-q", "--no-commit", "--no-ff", "side")
    repo.write("evil.txt", f"only in the merge: {token}\n")
    merge = repo.commit("merge")
    equal(len(repo.git("rev-list", "--parents", "-1", merge).split()), 3)
    [finding] = scan("repo")
    equal([(one["path"], one["commit"]) for one in finding["occurrences"]], [("evil.txt", merge)])


@test
def messages_of_commits_and_tags_and_notes_are_looked_at():
    tokens = [github_token(i) for i in range(3)]
    repo = Repo("repo")
    repo.write("a.txt", "a\n")
    commit = repo.commit(f"subject\n\nbody with {tokens[0]}\n")
    repo.git("tag", "-a", "v1.0", "-m", f"release\n\n{tokens[1]}")
    repo.git("notes", "add", "-m", f"note: {tokens[2]}")
    found = scan("repo")
    equal(places(found), sorted([(shown(tokens[0]), "commit message", "", 3), (shown(tokens[1]), "tag message", "v1.0", 3),
                                 (shown(tokens[2]), "note", commit, 1)]))
    by_place = {finding["occurrences"][0]["place"]: finding["occurrences"][0] for finding in found}
    equal(by_place["commit message"]["commit"], commit)
    equal(by_place["tag message"]["commit"], commit)
    equal(by_place["tag message"]["object"], repo.git("rev-parse", "v1.0"))


@test
def encoded_secrets_are_found():
    token = github_token()
    encoded = {"b64.txt": base64.b64encode(f"token={token};".encode()),
               "percent.txt": ("https://x.example/?t=" + "".join(f"%{ord(c):02x}" for c in token) + "&x=1").encode(),
               "utf16.txt": f"token = {token}\r\n".encode("utf-16-le"),
               "twice.txt": base64.b64encode(urllib.parse.quote(f"a b {token} c").encode())}
    repo = Repo("repo")
    for name, content in encoded.items():
        repo.write(name, b"line before\n" + content + b"\n")
    repo.commit()
    [finding] = [one for one in scan("repo") if one["rule"] == "github-pat"]
    equal({one["path"] for one in finding["occurrences"]}, set(encoded))
    for name in encoded:
        holds(token not in run("scan", "repo", "--format", "json").out, name)


@test
def a_key_of_several_lines_has_where_it_ends():
    key = private_key()
    repo = Repo("repo")
    repo.write("key.pem", "x\n" + key)
    repo.commit()
    [finding] = [one for one in scan("repo") if one["rule"] == "private-key"]
    one = finding["occurrences"][0]
    equal((one["line"], one["column"], one["end_line"]), (2, 1, 1 + len(key.splitlines())))
    equal(finding["excerpt"], "********")


# ---- selection ----


def history():
    """Makes a repository with the commits a and b on main, c on side, and the tag v1 on b. Each commit adds
    its own secret. Returns the repository and {name: commit}."""
    repo = Repo("repo")
    commits = {}
    for name in ("a", "b"):
        repo.write(f"{name}.txt", f"{github_token(name)}\n")
        commits[name] = repo.commit(name)
    repo.git("tag", "v1")
    repo.git("checkout", "-qb", "side", commits["a"])
    repo.write("c.txt", f"{github_token('c')}\n")
    commits["c"] = repo.commit("c")
    repo.git("checkout", "-q", "main")
    return repo, commits


def found_names(*arguments):
    secrets = {shown(github_token(name)): name for name in "abcde"}
    return "".join(sorted(secrets[finding["secret"]] for finding in scan(*arguments)))


@test
def all_refs_is_the_default_and_others_select():
    _, commits = history()
    equal(found_names("repo"), "abc")
    equal(found_names("repo", "--ref", "main"), "ab")
    equal(found_names("repo", "--ref", "v1"), "ab")
    equal(found_names("repo", "--ref", commits["a"][:12]), "a")
    equal(found_names("repo", "--branch", "side"), "ac")
    equal(found_names("repo", "--branch", "side", "--branch", "main"), "abc")
    equal(found_names("repo", "--commit", commits["b"]), "b")
    equal(found_names("repo", "--commit", commits["c"], "--commit", commits["a"]), "ac")
    complains(USAGE, "unknown branch 'v1'", "scan", "repo", "--branch", "v1")
    complains(USAGE, "unknown ref", "scan", "repo", "--ref", "nothing")
    complains(USAGE, "unknown commit", "scan", "repo", "--commit", "0" * 40)


@test
def since_selects_by_the_committers_clock():
    repo, commits = history()
    seconds = repo.git("show", "-s", "--format=%ct", commits["b"])
    equal(found_names("repo", "--since", f"@{seconds}"), "bc")
    equal(found_names("repo", "--since", f"@{int(seconds) + 1}"), "c")
    equal(found_names("repo", "--since", "2023-11-14"), "abc")
    equal(found_names("repo", "--since", "2023-11-14T23:15:20+01:00"), "bc")
    equal(found_names("repo", "--since", "2023-11-14T22:15:21Z"), "c")
    equal(found_names("repo", "--since", "2024-01-01"), "")
    complains(USAGE, ["--since", "someday", "last friday"], "scan", "repo", "--since", "someday")


@test
def since_takes_the_words_of_git():
    repo = Repo("repo")
    for name, days in ("a", 40), ("b", 10), ("c", 0):
        repo.clock = int(time.time()) - days * 86400 - 7200
        repo.write(f"{name}.txt", f"{github_token(name)}\n")
        repo.commit(name)
    for words in "2.weeks.ago", "two weeks ago", "last month", "1 month ago", "last friday", "yesterday", "now", "3 hours ago":
        expected = repo.git("log", "--format=%s", f"--since={words}").split()
        equal(found_names("repo", "--since", words), "".join(sorted(expected)), words)
    equal(found_names("repo", "--since", "2 weeks ago"), "bc")
    equal(found_names("repo", "--since", "friday"), "c", "not now, as git would say")


@test
def since_takes_days_that_there_are():
    history()
    for day in "2026-01-31", "2026-03-31", "2026-04-30", "2026-12-31", "2024-02-29", "2000-02-29", "2026-02-28T23:59:59Z":
        holds(run("scan", "repo", "--since", day).status in (CLEAN, FINDINGS), day)
    for day in "2026-02-29", "2026-02-31", "2100-02-29", "2026-04-31", "2026-11-31T12:00:00Z", "2026-12-32", "2026-00-01", "2026-13-01":
        complains(USAGE, ["--since", "a valid date", day], "scan", "repo", "--since", day)


@test
def staged_is_what_the_next_commit_would_bring():
    repo, _ = history()
    repo.write("a.txt", "changed\n")
    repo.write("new/d.txt", f"{github_token('d')}\n")
    repo.git("add", "-A")
    repo.write("e.txt", f"{github_token('e')}\n")
    found = scan("repo", "--staged")
    equal(places(found), [(shown(github_token("d")), "staged", "new/d.txt", 1)])
    equal(found[0]["occurrences"][0]["commit"], None)
    repo.git("rm", "-q", "--cached", "new/d.txt")
    equal(scan("repo", "--staged"), [])


@test
def the_working_tree_is_what_lies_there():
    repo, _ = history()
    repo.write("a.txt", "changed\n")
    repo.write("new/d.txt", f"{github_token('d')}\n")
    repo.write(".gitignore", ".env\n")
    repo.write(".env", f"KEY={github_token('e')}\n")
    os.symlink("/etc/passwd", "repo/link")
    found = scan("repo", "--working-tree")
    equal({one[1:3] for one in places(found)},
          {("working tree", "b.txt"), ("working tree", "new/d.txt"), ("working tree", ".env")})
    repo.git("clone", "-q", "--bare", ".", "../bare.git")
    complains(USAGE, "no work tree", "scan", "bare.git", "--working-tree")


@test
def of_a_link_its_text_is_looked_at_and_not_what_it_names():
    """Tests links in scans of a history, of a folder and of a work tree."""
    token, hidden = github_token("in the path"), github_token("behind the link")
    with open("outside.txt", "w") as file:
        file.write(f"{hidden}\n")
    os.mkdir("outside")
    shutil.copy("outside.txt", "outside/b.txt")
    repo = Repo("repo")
    os.symlink(f"/srv/{token}/key.pem", "repo/secret")
    os.symlink("../outside.txt", "repo/file")
    os.symlink("../outside", "repo/folder")
    repo.commit()
    for place, arguments in ("file", ("repo",)), ("file", ("--dir", "repo")), ("working tree", ("repo", "--working-tree")):
        equal(places(scan(*arguments)), [(shown(token), place, "secret", 1)], arguments)
    holds("(repository): 3 blobs" in run("scan", "repo", "--working-tree").out, "links are counted")
    os.mkdir("links")
    os.symlink("nowhere", "links/one")
    text = run("scan", "--dir", "links").out
    holds("links (directory): 1 file, 7 bytes\n" in text and "No findings" in text, text)


@test
def unreachable_objects_only_when_asked_for():
    repo, commits = history()
    repo.git("branch", "-qD", "side")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("hash-object", "-w", "--stdin", stdin=f"loose {github_token('d')}\n")
    equal(found_names("repo"), "ab")
    equal(found_names("repo", "--unreachable"), "abcd")
    lost = [one for finding in scan("repo", "--unreachable") for one in finding["occurrences"]
            if one["place"] == "unreachable object"]
    equal(sorted((one["path"], one["commit"]) for one in lost), sorted([("c.txt", commits["c"]), ("", None)], key=str))


@test
def an_object_that_a_ref_reaches_does_not_count_as_unreachable():
    """No ref reaches the old commit, but a ref reaches one of its files. Only the other file counts as
    unreachable."""
    repo = one_file(github_token("kept"))
    repo.write("lost.txt", f"{github_token('lost')}\n")
    lost = repo.commit()
    repo.remove("lost.txt")
    repo.git("add", "-A")
    repo.git("commit", "-q", "--amend", "--allow-empty", "-m", "again")
    repo.git("checkout", "-q", "--orphan", "fresh")
    repo.git("commit", "-q", "-m", "all in one")
    repo.git("branch", "-qD", "main")
    fresh = repo.git("rev-parse", "HEAD")
    found = {one["secret"]: [(place["place"], place["path"], place["commit"]) for place in one["occurrences"]]
             for one in scan("repo", "--unreachable")}
    equal(found, {shown(github_token("kept")): [("file", "a.txt", fresh)],
                  shown(github_token("lost")): [("unreachable object", "lost.txt", lost)]})


@test
def bare_repositories_work_trees_and_linked_ones_are_the_same_history():
    repo, _ = history()
    repo.git("clone", "-q", "--mirror", ".", "../bare.git")
    repo.git("worktree", "add", "-q", "../linked", "side")
    expected = found_names("repo")
    for target in ("bare.git", "linked", "repo/.git"):
        equal(found_names(target), expected, target)
    complains(USAGE, "not a git repository", "scan", "repo/..")


@test
def sha256_repositories_are_read():
    repo = Repo("repo", "--object-format=sha256")
    repo.write("a.txt", github_token())
    commit = repo.commit()
    equal(len(commit), 64)
    equal(scan("repo")[0]["occurrences"][0]["commit"], commit)


@test
def shallow_and_partial_clones_say_what_they_leave_out():
    repo, _ = history()
    repo.git("config", "uploadpack.allowFilter", "true")
    url = "file://" + os.path.abspath("repo")
    repo.git("clone", "-q", "--bare", "--depth=1", "--branch=main", url, "../shallow")
    repo.git("clone", "-q", "--bare", "--filter=blob:none", url, "../partial")
    text = run("scan", "shallow")
    equal((text.status, text.err), (FINDINGS, ""))
    holds("shallow" in text.out, text.out)
    text = run("scan", "partial", "--allow-missing")
    equal((text.status, text.err), (CLEAN, ""))
    holds("3 objects that the partial clone does not have" in text.out, text.out)


# ---- other targets ----


@test
def folders_files_and_standard_input():
    token = github_token()
    os.makedirs("folder/sub")
    with open("folder/sub/a.txt", "w") as file:
        file.write(f"x\n {token}\n")
    os.mkfifo("folder/pipe")
    os.symlink("sub", "folder/loop")
    equal(places(scan("--dir", "folder")), [(shown(token), "file", "sub/a.txt", 2)])
    holds("1 " in run("scan", "--dir", "folder").out, "the pipe is counted")
    equal(places(scan("folder/sub/a.txt")), [(shown(token), "file", "folder/sub/a.txt", 2)])
    equal(places(scan("-", stdin=f"a\nb\n{token}")), [(shown(token), "standard input", "", 3)])
    complains(USAGE, ["folder", "--dir"], "scan", "folder")
    complains(USAGE, ["nowhere"], "scan", "nowhere")
    complains(USAGE, ["nowhere"], "scan", "--dir", "nowhere")
    complains(USAGE, "not a git repository", "scan")


@test
def several_targets_are_one_report():
    one_file(github_token(1))
    with open("other.txt", "w") as file:
        file.write(f"{github_token(1)}\n{github_token(2)}\n")
    found = scan("repo", "other.txt")
    equal(sorted(finding["occurrence_count"] for finding in found), [1, 2])
    complains(USAGE, "nowhere", "scan", "repo", "nowhere")


@test
def large_files_are_read_in_windows_and_nothing_is_lost():
    """The program reads windows of 8 MiB. The file has secrets at and around every seam between windows."""
    size, tokens, content = 20 << 20, {}, bytearray(b"a" * (20 << 20))
    for i in range(0, size, 4096):
        content[i:i + 1] = b"\n"
    for number, at in enumerate([0, (8 << 20) - 20, (8 << 20) - 60000, (8 << 20) - 100000, 9 << 20, (16 << 20) - 30000, size - 41]):
        token = github_token(f"large {number}")
        content[at:at + 42] = f" {token} ".encode()
        tokens[shown(token)] = at + 1
    with open("large.bin", "wb") as file:
        file.write(content)
    found = {one["secret"]: one["occurrences"][0] for one in scan("large.bin")}
    equal(set(found), set(tokens))
    for secret, at in tokens.items():
        before = bytes(content[:at])
        equal((found[secret]["line"], found[secret]["column"]), (before.count(b"\n") + 1, at - before.rfind(b"\n")))
    key = private_key(1)
    with open("key.bin", "wb") as file:
        file.write(b"\n" * ((8 << 20) - 400) + key.encode() + b"\n" * 100)
    equal([one["rule"] for one in scan("key.bin")], ["private-key"])


@test
def a_blob_larger_than_what_may_be_held_is_scanned_in_windows():
    repo = Repo("repo")
    line = b"filling " * 15 + b"\n"
    content = line * 60000 + github_token("middle").encode() + b"\n" + line * 60000
    repo.write("large.txt", content)
    repo.commit()
    repo.write("large.txt", b"changed\n" + content + github_token("end").encode())
    repo.commit()
    repo.repack("--depth=50")
    small = scan("repo", "--memory", "64M")
    equal(small, scan("repo"))
    equal(sorted(finding["occurrence_count"] for finding in small), [1, 2])
    content = content.replace(github_token("middle").encode(), github_token("staged").encode())
    repo.write("staged.txt", content[:9 << 20] + b"x" * (9 << 20))
    repo.git("add", "-A")
    [finding] = scan("repo", "--staged", "--memory", "64M")
    equal([(one["path"], one["line"]) for one in finding["occurrences"]], [("staged.txt", 60001)])


# ---- judging ----


@test
def marks_and_configuration_allow_and_are_counted():
    tokens = [github_token(i) for i in range(4)]
    repo = Repo("repo")
    repo.write("a.txt", f"{tokens[0]} # turnstone:allow\n{tokens[1]}\n")
    repo.write("tests/b.txt", f"{tokens[2]}\n")
    repo.write(".turnstone.yml", "allow:\n  - paths: ['tests/**']\n    reason: made up\n")
    repo.commit()
    equal([one["secret"] for one in scan("repo")], [shown(tokens[1])])
    summary = json.loads(run("scan", "repo", "--format", "json").out)["summary"]["suppressions"]
    equal([(one["source"], one["reason"], one["findings"], one["occurrences"]) for one in summary],
          [(".turnstone.yml:2", "made up", 1, 1), ("turnstone:allow", "", 1, 1)])
    equal(len(scan("repo", "--no-repo-config")), 2)
    # The same blob gets another path, at which the finding is not allowed.
    repo.write("c.txt", f"{tokens[2]}\n")
    repo.commit()
    equal(places(scan("repo"))[0][2:] in [("a.txt", 2), ("c.txt", 1)], True)
    equal({one[2] for one in places(scan("repo"))}, {"a.txt", "c.txt"})


@test
def a_mark_counts_in_its_own_version_only():
    token = github_token()
    repo = Repo("repo")
    filling = "".join(f"line {i} of a file that is long enough for deltas\n" for i in range(200))
    for mark in ("", " # turnstone:allow", "", " # nosec"):
        repo.write("a.txt", f"{filling}{token}{mark}\n{filling}")
        repo.commit()
        repo.write("a.txt", f"{filling}{filling}x\n")
        repo.commit()
    repo.repack("--depth=50", "--window=250")
    [finding] = scan("repo")
    equal(finding["occurrence_count"], 1)
    equal(scan("repo"), scan("repo", "--full"))


@test
def the_configuration_of_a_bare_repository_is_that_of_head():
    repo = one_file(github_token())
    repo.write(".turnstone.yml", "allow:\n  - rules: [github-pat]\n")
    repo.commit()
    repo.git("clone", "-q", "--bare", ".", "../bare.git")
    equal(scan("bare.git"), [])
    equal(len(scan("bare.git", "--no-repo-config")), 1)


@test
def a_given_configuration_takes_the_place_of_the_targets():
    repo = one_file(github_token())
    repo.write(".turnstone.yml", "allow:\n  - rules: [github-pat]\n")
    repo.commit()
    with open("mine.yml", "w") as file:
        file.write("salt: 0123456789abcdef0123456789abcdef\n")
    [finding] = scan("repo", "--config", "mine.yml")
    holds(finding["id"] != scan("repo", "--no-repo-config")[0]["id"], "ids are keyed by the salt")
    with open("mine.yml", "w") as file:
        file.write(f"allow:\n  - findings: [{scan('repo', '--no-repo-config')[0]['id']}]\n")
    equal(scan("repo", "--config", "mine.yml"), [])
    complains(USAGE, ["missing.yml"], "scan", "repo", "--config", "missing.yml")


@test
def rules_of_users_merge_or_replace():
    with open("team.yml", "w") as file:
        file.write("""rules:
  - id: team-token
    name: Token of the team
    pattern: '\\b(?<secret>team_[a-z0-9]{20})\\b'
    gate: [team_]
    severity: low
    reach: 25
""")
    repo = one_file(github_token())
    repo.write("b.txt", "team_4quiz7turnstone2only\n")
    repo.commit()
    equal({one["rule"] for one in scan("repo")}, {"github-pat"})
    equal({one["rule"] for one in scan("repo", "--rules", "team.yml")}, {"github-pat", "team-token"})
    equal({one["rule"] for one in scan("repo", "--rules", "team.yml", "--no-builtin-rules")}, {"team-token"})
    complains(USAGE, "no rules", "scan", "repo", "--no-builtin-rules")
    shutil.copy("team.yml", "repo/team.yml")
    repo.write(".turnstone.yml", "rules:\n  files: [team.yml]\n")
    repo.commit()
    equal({one["rule"] for one in scan("repo")}, {"github-pat", "team-token"})
    low = run("scan", "repo", "--fail-on", "critical", "--rules", "team.yml", "--no-builtin-rules")
    equal(low.status, CLEAN)


def rule_file(name, ids, pattern="never_[0-9]{20}"):
    """Writes a file of rules with these ids. With the default pattern, the rules find nothing."""
    rules = "".join(f"""  - id: {one}
    name: Nothing
    pattern: '\\b(?<secret>{pattern})\\b'
    gate: [never_]
    severity: low
    reach: 26
""" for one in ids)
    with open(name, "w") as file:
        file.write(f"rules:\n{rules}")


def summary_of(*arguments):
    result = run("scan", *arguments, "--format", "json")
    holds(result.err == "", result.err)
    return json.loads(result.out)["summary"]


@test
def a_target_that_replaces_or_leaves_out_builtin_rules_is_reported():
    """Without this note, only the number of rules would distinguish such a report from the report of a clean
    target."""
    repo = Repo("repo")
    repo.write("a.txt", f"{github_token()}\n")  # no name before the token, so no other rule finds it
    repo.commit("first")
    builtin = summary_of("repo")["rules"]
    equal(summary_of("repo")["rule_changes"], [])
    rule_file("repo/team.yml", ["github-pat", "of-the-team"])
    repo.write(".turnstone.yml", "rules:\n  files: [team.yml]\n")
    repo.commit()
    equal(summary_of("repo")["rule_changes"],
          [{"change": "replaced", "source": "team.yml", "repo": "repo", "count": 1, "rules": ["github-pat"]},
           {"change": "added", "source": "team.yml", "repo": "repo", "count": 1, "rules": ["of-the-team"]}])
    text = run("scan", "repo")
    equal((text.status, text.err), (CLEAN, ""))
    holds("suppressed  1 built-in rule replaced by team.yml of the target: github-pat\n" in text.out, text.out)
    for kind in ("html", "junit", "sarif"):
        holds("1 built-in rule replaced by team.yml of the target: github-pat" in run("scan", "repo", "--format", kind).out, kind)
    for kind in ("jsonl", "csv"):  # these formats have no summary
        equal(run("scan", "repo", "--format", kind).err,
              "turnstone: scan: 1 built-in rule replaced by team.yml of the target: github-pat\n", kind)
    holds("replaced by team.yml" in run("baseline", "repo", "-o", "known").err, "a baseline without findings, too")
    repo.write(".turnstone.yml", "rules:\n  builtin: false\n  files: [team.yml]\n")
    repo.commit()
    changes = summary_of("repo")["rule_changes"]
    equal([(one["change"], one["source"], one["repo"], one["count"]) for one in changes],
          [("left out", ".turnstone.yml", "repo", builtin - 1), ("replaced", "team.yml", "repo", 1), ("added", "team.yml", "repo", 1)])
    holds(f"suppressed  {builtin - 1} built-in rules left out by .turnstone.yml of the target\n" in run("scan", "repo").out,
          run("scan", "repo").out)
    equal(summary_of("repo", "--no-repo-config")["rule_changes"], [])


@test
def changes_of_builtin_rules_by_the_user_are_mentioned_once():
    one_file(github_token())
    builtin = summary_of("repo")["rules"]
    rule_file("mine.yml", ["github-pat"])
    shutil.copytree("repo", "again")
    mine = {"change": "replaced", "source": "mine.yml", "repo": None, "count": 1, "rules": ["github-pat"]}
    equal(summary_of("repo", "again", "--rules", "mine.yml")["rule_changes"], [mine])
    text = run("scan", "repo", "--rules", "mine.yml").out
    holds(f"rules       {builtin:,}\n            1 built-in rule replaced by mine.yml: github-pat\n" in text, text)
    holds("suppressed" not in text, text)
    changes = summary_of("repo", "--rules", "mine.yml", "--no-builtin-rules")["rule_changes"]
    equal([(one["source"], one["count"]) for one in changes], [("--no-builtin-rules", builtin - 1), ("mine.yml", 1)])
    with open("config.yml", "w") as file:
        file.write("rules: {builtin: false, files: [mine.yml]}\n")
    changes = summary_of("repo", "--config", "config.yml")["rule_changes"]
    equal([(one["source"], one["repo"], one["count"]) for one in changes], [("config.yml", None, builtin - 1), ("mine.yml", None, 1)])
    equal(run("scan", "repo", "--rules", "mine.yml", "--format", "jsonl").err, "")


@test
def an_allow_entry_for_a_rule_that_is_not_there_is_noted():
    repo = one_file(github_token())
    repo.write(".turnstone.yml", "allow:\n  - rules: [githb-pat, jwt]\n")
    repo.commit()
    equal(summary_of("repo")["notes"], [".turnstone.yml:2: allow: unknown rule 'githb-pat'; 'turnstone rules list' shows all rules"])
    rule_file("mine.yml", ["githb-pat"])
    equal(summary_of("repo", "--rules", "mine.yml")["notes"], [])
    repo.write(".turnstone.yml", "allow:\n  - rules: [jwt]\n")
    repo.commit()
    equal(summary_of("repo", "--rules", "mine.yml", "--no-builtin-rules")["notes"], [], "it is a rule, left out here")


@test
def a_blob_that_only_a_tag_names_is_shown_by_its_id():
    repo = Repo("repo")
    repo.write("a.txt", "nothing\n")
    repo.commit()
    blob = repo.git("hash-object", "-w", "--stdin", stdin=f"x {github_token()}\n")
    repo.git("tag", "a-blob", blob)
    [finding] = scan("repo")
    [one] = finding["occurrences"]
    equal((one["place"], one["path"], one["object"], one["line"], one["column"]), ("file", "", blob, 1, 3))
    for kind in ("text", "html", "junit"):
        holds(f"object {blob}:1:3" in run("scan", "repo", "--format", kind).out, kind)


# ---- reports ----


@test
def occurrences_are_cut_and_counted():
    token = github_token()
    repo = Repo("repo")
    for i in range(120):
        repo.write(f"file{i:03}.txt", f"{i} {token}\n")
    repo.commit()
    for arguments, listed in (((), 100), (("--occurrences", "7"), 7), (("--occurrences", "all"), 120)):
        [finding] = scan("repo", *arguments)
        equal((finding["occurrence_count"], len(finding["occurrences"])), (120, listed))
    complains(USAGE, "--occurrences", "scan", "repo", "--occurrences", "none")


@test
def secrets_are_shown_on_purpose_only():
    token = github_token()
    one_file(token)
    for form in ("text", "json", "jsonl", "sarif", "csv", "junit", "html"):
        result = run("scan", "repo", "--format", form)
        equal((result.status, result.err), (FINDINGS, ""), form)
        holds(token not in result.out and token[4:20] not in result.out, form)
    [finding] = scan("repo", "--show-secrets")
    equal((finding["secret"], finding["excerpt"]), (token, f"token = {token}"))


@test
def the_output_file_decides_the_format():
    one_file(github_token())
    result = run("scan", "repo", "-o", "out.sarif", "--quiet")
    equal((result.status, result.out, result.err), (FINDINGS, "", ""))
    with open("out.sarif") as file:
        equal(json.load(file)["version"], "2.1.0")
    complains(USAGE, "nowhere", "scan", "repo", "-o", "nowhere/out.json")


@test
def a_dash_as_output_is_standard_output():
    one_file(github_token())
    plain = run("scan", "repo", "--format", "json")
    result = run("scan", "repo", "-o", "-", "--format", "json")
    equal((result.status, result.out, result.err), (plain.status, plain.out, plain.err))
    result = run("scan", "repo", "-o", "out.sarif", "-o", "-")
    holds(result.status == FINDINGS and result.out.endswith(" s)\n") and "a.txt:2" in result.out, result)
    with open("out.sarif") as file:
        equal(json.load(file)["version"], "2.1.0")
    complains(USAGE, "one report", "scan", "repo", "-o", "-", "-o", "-")
    complains(USAGE, ["standard output", "--output"], "baseline", "repo", "-o", "-")
    equal([name for name in os.listdir(".") if name == "-"], [])
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w") as full:
            result = run("scan", "repo", "-o", "-", stdout=full)
        equal(result.status, 6)
        holds("standard output" in result.err, result.err)


@test
def sarif_columns_cut_the_secret_out_of_its_line():
    """If a region lacks startColumn, it begins at the start of its line. If it lacks endColumn, it ends at
    the end of its last line."""
    repo = Repo("repo")
    tokens = [github_token(seed) for seed in range(6)]
    password = "Pä55-wört-9"
    content = (f"\ufeffé日本 {tokens[0]} x\n🔑{tokens[1]}\n{tokens[2]} {tokens[3]}\n" + "é" * 100 + f" {tokens[4]}\n" +
               f"ü_password = \"{password}\"\n{private_key(1)}")
    repo.write("a.txt", content.encode())
    repo.write("raw.bin", b"\xff\xfe " + tokens[5].encode())
    repo.commit()
    lines = content.removeprefix("\ufeff").split("\n")
    cut = {}
    for arguments in ((), ("--show-secrets",)):
        [log] = json.loads(run("scan", "repo", "--format", "sarif", *arguments).out)["runs"]
        for result in log["results"]:
            physical = result["locations"][0]["physicalLocation"]
            region = physical["region"]
            if physical["artifactLocation"]["uri"] != "a.txt":
                equal({name for name in region if "Column" in name}, set())
                continue
            part = lines[region["startLine"] - 1:region["endLine"]]
            part[-1] = part[-1][:region.get("endColumn", len(part[-1]) + 1) - 1]
            part[0] = part[0][region.get("startColumn", 1) - 1:]
            cut.setdefault(result["partialFingerprints"]["turnstoneFindingId/v1"], []).append("\n".join(part))
    key = private_key(1).rstrip("\n")
    for secret in tokens[:3] + [key]:
        holds([secret, secret] in cut.values(), (secret, cut))
    holds([f"{tokens[2]} {tokens[3]}", tokens[3]] in cut.values(), cut)  # after a secret of hidden length
    holds([lines[3], lines[3]] in cut.values(), cut)  # the secret is too far from the start of the line
    holds([f"{password}\"", password] in cut.values(), cut)  # a password may contain any characters


@test
def fail_on_decides_the_status():
    one_file(github_token())
    equal(run("scan", "repo", "--fail-on", "critical").status, FINDINGS)
    repo = Repo("other")
    repo.write("tests/a.txt", "db_password = \"Fak3-" + "Tu4nst0ne\"\n")
    repo.commit()
    equal(run("scan", "other", "--fail-on", "high").status, CLEAN)
    equal(run("scan", "other").status, CLEAN, "its confidence is low")
    equal(run("scan", "other", "--fail-on-confidence", "low").status, FINDINGS)


@test
def options_that_exclude_each_other_are_refused():
    one_file(github_token())
    for arguments in (("--staged", "--working-tree"), ("--dir", "--staged"), ("--staged", "--ref", "main"),
                      ("--commit", "HEAD", "--since", "2020-01-01"), ("--jobs", "0"), ("--memory", "1M"), ("--memory", "lots")):
        complains(USAGE, "scan: ", "scan", "repo", *arguments)


@test
def selections_are_refused_where_there_is_nothing_to_select_from():
    one_file(github_token())
    with open("file", "w") as file:
        file.write(github_token(2))
    for verb in ("scan",), ("baseline", "-o", "known"):
        for selection in (("--ref", "main"), ("--branch", "main"), ("--commit", "HEAD"), ("--since", "2020-01-01"),
                          ("--unreachable",), ("--staged",), ("--working-tree",)):
            said = "staged" if selection == ("--staged",) else selection[0]
            complains(USAGE, ["'file' is a file", said], *verb, *selection, "file")
            complains(USAGE, ["standard input", said], *verb, *selection, "-")
            complains(USAGE, ["'file' is a file", said], *verb, *selection, "repo", "file")
    holds(not os.path.exists("known"), "nothing is written")
    complains(USAGE, ["--dir", "standard input"], "scan", "--dir", "-")
    complains(USAGE, ["--dir", "standard input"], "scan", "--dir", "repo", "-")
    complains(USAGE, "'file' is a file", "protect", "file")
    equal(len(scan("repo", "file", "-", stdin="nothing")), 2)


@test
def an_interrupted_scan_reports_what_it_has_and_is_incomplete():
    child = subprocess.Popen([PROGRAM, "scan", "-", "--format", "json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    child.stdin.write(b"x" * (9 << 20))
    child.stdin.flush()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate()
    equal(child.returncode, INCOMPLETE, err)
    holds(b"stopped" in err, err)
    holds(json.loads(out)["summary"]["is_stopped"], out)


if __name__ == "__main__":
    main()
