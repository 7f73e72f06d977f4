#!/usr/bin/env python3
"""--commit, --range, --since and --staged report the findings that a change adds, and no other findings.
Their results are compared with a scan of the whole history."""
import json
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import PROGRAM, complains, run  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

CLEAN, FINDINGS, USAGE, INCOMPLETE = 0, 1, 2, 4


def scan(*arguments, status=None, **options):
    result = run("scan", *arguments, "--format", "jsonl", **options)
    findings = [json.loads(line) for line in result.out.splitlines()]
    fails = any(one["confidence"] != "low" for one in findings)
    equal(result.status, status if status is not None else FINDINGS if fails else CLEAN, f"{arguments}: {result}")
    return findings


def brought(*arguments, **options):
    """Returns the findings of a scan: {shown secret: first commit}."""
    return {one["secret"]: one["occurrences"][0]["commit"] for one in scan(*arguments, **options)}


def shown(seed):
    token = github_token(seed)
    return f"{token[:4]}…{token[-4:]}"


def old_and_new():
    """Makes a repository whose first commit has two tokens. Three commits change another line of the first
    token's file, move that file, and copy the second token. The last commit adds a third token. Returns the
    repository and {name: commit}."""
    repo = Repo("repo")
    commits = {}
    repo.write("a.txt", f"one\n{github_token('old')}\n")
    repo.write("b.txt", f"{github_token('still')}\n")
    commits["first"] = repo.commit("first")
    repo.write("a.txt", f"two\n{github_token('old')}\n")
    commits["edit"] = repo.commit("edit")
    repo.git("mv", "a.txt", "moved.txt")
    commits["move"] = repo.commit("move")
    repo.write("copy.txt", f"a copy of what stays in b: {github_token('still')}\n")
    commits["copy"] = repo.commit("copy")
    repo.write("moved.txt", f"three\n{github_token('old')}\n{github_token('new')}\n")
    commits["new"] = repo.commit("new")
    return repo, commits


@test
def a_commit_that_changes_another_line_moves_or_copies_brings_nothing():
    _, commits = old_and_new()
    equal(brought("repo", "--commit", commits["first"]), {shown("old"): commits["first"], shown("still"): commits["first"]})
    for name in "edit", "move", "copy":
        equal(brought("repo", "--commit", commits[name]), {}, name)
    equal(brought("repo", "--commit", "HEAD"), {shown("new"): commits["new"]})
    equal(brought("repo"), {shown("old"): commits["first"], shown("still"): commits["first"], shown("new"): commits["new"]})


@test
def with_and_without_state_a_change_brings_the_same():
    _, commits = old_and_new()
    for _ in range(2):
        for name, expected in ("new", {shown("new"): commits["new"]}), ("copy", {}), ("edit", {}):
            equal(brought("repo", "--state", "state", "--commit", commits[name]), expected, name)
    run("scan", "repo", "--state", "state")
    equal(brought("repo", "--state", "state", "--commit", "HEAD"), {shown("new"): commits["new"]})
    equal(brought("repo", "--state", "state", "--commit", commits["copy"]), {})


@test
def staged_changes_count_like_their_commit():
    repo, _ = old_and_new()
    repo.write("moved.txt", f"four\n{github_token('old')}\n{github_token('new')}\n")
    repo.write("other.txt", f"{github_token('still')}\n")
    repo.git("add", "-A")
    equal(brought("repo", "--staged"), {})
    equal(run("protect", "repo").status, CLEAN)
    repo.write("other.txt", f"{github_token('next')}\n")
    repo.git("add", "-A")
    equal(brought("repo", "--staged"), {shown("next"): None})
    equal(run("protect", "repo").status, FINDINGS)
    commit = repo.commit()
    equal(brought("repo", "--commit", "HEAD"), {shown("next"): commit})


@test
def a_merge_in_progress_has_what_both_sides_had():
    repo = Repo("repo")
    repo.write("a.txt", "a\n")
    repo.commit()
    repo.git("checkout", "-qb", "side")
    repo.write("side.txt", f"x\n{github_token('side')}\n")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.write("a.txt", "b\n")
    repo.commit()
    repo.git("merge", "-q", "--no-commit", "--no-ff", "side")
    equal(brought("repo", "--staged"), {})
    repo.write("side.txt", f"resolved by hand\n{github_token('side')}\n{github_token('merge')}\n")
    repo.git("add", "-A")
    equal(brought("repo", "--staged"), {shown("merge"): None})
    merge = repo.commit()
    equal(brought("repo", "--commit", merge), {shown("merge"): merge})


@test
def since_reports_what_nothing_before_the_date_had():
    repo, commits = old_and_new()
    at = {name: int(repo.git("show", "-s", "--format=%ct", commit)) for name, commit in commits.items()}
    equal(brought("repo", "--since", f"@{at['edit']}"), {shown("new"): commits["new"]})
    equal(brought("repo", "--since", f"@{at['first']}"), brought("repo"))
    repo.remove("b.txt")
    repo.remove("copy.txt")
    repo.commit()
    repo.write("b.txt", f"back\n{github_token('still')}\n")  # an older secret, added again
    back = repo.commit()
    equal(brought("repo", "--since", f"@{at['new']}"), {shown("new"): commits["new"]})
    equal(brought("repo", "--commit", back), {shown("still"): back})
    repo.clock = at["first"] + 60 - 60  # a wrong clock: a child commit that claims to be older than the date
    repo.write("late.txt", f"{github_token('late')}\n")
    late = repo.commit()
    repo.clock = at["new"] + 6000
    repo.write("later.txt", f"{github_token('late')}\n{github_token('later')}\n")
    later = repo.commit()
    holds(int(repo.git("show", "-s", "--format=%ct", late)) < at["new"], "the clock went back")
    equal(brought("repo", "--since", f"@{at['new']}"), {shown("later"): later}, "before is what older commits reach")


@test
def messages_and_tags_count_by_what_was_there_before_them():
    repo = Repo("repo")
    repo.write("a.txt", f"{github_token('file')}\n")
    first = repo.commit()
    repo.git("tag", "-a", "old", "-m", f"{github_token('tag')}")
    repo.clock += 600
    repo.commit(f"as in a.txt: {github_token('file')}")
    equal(brought("repo", "--commit", "HEAD"), {})
    message = repo.commit(f"only here: {github_token('message')}")
    equal(brought("repo", "--commit", "HEAD"), {shown("message"): message})
    equal(brought("repo", "--since", f"@{repo.clock}"), {shown("message"): message}, "the tag is older")
    repo.git("tag", "-a", "young", first, "-m", f"{github_token('young')}")
    equal(brought("repo", "--since", f"@{repo.clock}"), {shown("message"): message, shown("young"): first})


@test
def a_secret_that_was_allowed_before_is_brought_by_the_commit_that_lets_it_be_seen():
    repo = Repo("repo")
    repo.write("a.txt", f"{github_token(1)} # turnstone:allow\n")
    repo.commit()
    repo.write("a.txt", f"{github_token(1)}\n")
    seen = repo.commit()
    equal(brought("repo", "--commit", "HEAD"), {shown(1): seen})
    equal(brought("repo"), {shown(1): seen})
    repo.write(".turnstone.yml", "allow:\n  - paths: ['tests/**']\n    reason: made up\n")
    repo.write("tests/b.txt", f"{github_token(2)}\n")
    repo.commit()
    repo.git("mv", "tests/b.txt", "b.txt")
    repo.write("b.txt", f"real\n{github_token(2)}\n")
    moved = repo.commit()
    equal(brought("repo", "--commit", "HEAD"), {shown(2): moved}, "where it was it is allowed")
    repo.write("tests/c.txt", f"{github_token(3)}\n")
    repo.commit()
    repo.git("mv", "tests/c.txt", "c.txt")
    renamed = repo.commit()
    for change in ("--commit", "HEAD"), ("--range", "HEAD~1.."), ("--range", "HEAD~2.."):
        equal(brought("repo", *change), {shown(3): renamed}, f"the same file at another path: {change}")
    repo.git("mv", "c.txt", "d.txt")
    repo.write("e.txt", f"{github_token(3)}\n")
    repo.commit()
    for change in ("--commit", "HEAD"), ("--range", "HEAD~1.."):
        equal(brought("repo", *change), {}, f"it could be seen before: {change}")


PASSWORD = "Tr4nquil-moth"


def shown_by_rule(*arguments, default=True, **options):
    """Returns [(rule, path, confidence)] of a scan's findings. Default: findings of at least medium
    confidence, as the program reports them by default."""
    confidence = ("--min-confidence", "medium") if default else ()
    return sorted((one["rule"], one["occurrences"][0]["path"], one["confidence"]) for one in scan(*arguments, *confidence, **options))


@test
def a_change_that_makes_a_finding_surer_brings_it():
    repo = Repo("repo")
    repo.write("tests/a.py", f'password = "{PASSWORD}"\n')
    repo.commit()
    equal([one[2] for one in shown_by_rule("repo", default=False)], ["low"])
    repo.write("prod.py", f'password = "{PASSWORD}"\n')
    repo.git("add", "-A")
    equal((run("protect", "repo").status, run("scan", "repo", "--staged").status), (FINDINGS, FINDINGS))
    brings = [("generic-secret", "prod.py", "high")]
    equal(shown_by_rule("repo", "--staged"), brings)
    copied = repo.commit()
    for change in ("--commit", "HEAD"), ("--range", "HEAD~1..HEAD"), ("--since", f"@{repo.git('show', '-s', '--format=%ct', copied)}"):
        for default in True, False:
            equal(shown_by_rule("repo", *change, default=default), brings, change)
        equal(shown_by_rule("repo", "--state", "state", *change), brings, change)
        equal(shown_by_rule("repo", "--state", "state", *change), brings, f"again: {change}")
    repo.write("prod.py", f'x = 1\npassword = "{PASSWORD}"\n')
    repo.write("tests/a.py", f'x = 1\npassword = "{PASSWORD}"\n')
    repo.write("other.py", f'password = "{PASSWORD}"\n')
    repo.commit()
    equal(shown_by_rule("repo", "--commit", "HEAD"), [], "the parent is as sure")
    repo.write("tests/c.py", f'password = "{PASSWORD}"\n')
    repo.remove("prod.py")
    repo.remove("other.py")
    repo.commit()
    equal(shown_by_rule("repo", "--commit", "HEAD", default=False), [], "the parent is surer")


@test
def a_move_out_of_the_tests_brings_what_was_unsure_there():
    repo = Repo("repo")
    repo.write("tests/a.py", f'password = "{PASSWORD}"\n')
    repo.commit()
    repo.git("mv", "tests/a.py", "a.py")
    equal(run("protect", "repo").status, FINDINGS)
    repo.commit()
    equal(shown_by_rule("repo", "--commit", "HEAD"), [("generic-secret", "a.py", "high")])
    repo.git("mv", "a.py", "b.py")
    repo.commit()
    equal(shown_by_rule("repo", "--commit", "HEAD"), [])


@test
def a_password_that_moves_between_kinds_of_files_is_brought_once():
    repo = Repo("repo")
    brought_by = []
    for name, text in ("settings.py", f'DB_PASSWORD = "{PASSWORD}"\n'), ("values.yaml", f"password: {PASSWORD}\n"), (".env", f"DB_PASSWORD={PASSWORD}\n"):
        for old in "settings.py", "values.yaml":
            if os.path.exists(f"{repo.path}/{old}"):
                repo.remove(old)
        repo.write(name, text)
        repo.git("add", "-A")
        staged = shown_by_rule("repo", "--staged", default=False)
        repo.commit()
        brought_by.append(shown_by_rule("repo", "--commit", "HEAD", default=False))
        equal(len(staged), len(brought_by[-1]), name)
    holds(len({rule for one in brought_by for rule, _, _ in one}) == 1, brought_by)
    equal([len(one) for one in brought_by], [1, 0, 0], brought_by)


@test
def a_secret_that_gitleaksignore_ignores_in_one_file_is_brought_into_another():
    repo = Repo("repo")
    repo.write("a.txt", f"{github_token(1)}\n")
    first = repo.commit()
    for fingerprint in f"{first}:a.txt:rule:1", "a.txt:rule:1":
        repo.write(".gitleaksignore", f"{fingerprint}\n")
        repo.commit()
        equal(brought("repo"), {}, fingerprint)
        repo.write("a.txt", f"{github_token(1)}\nanother line {fingerprint[-20:]}\n")
        repo.commit()
        equal(brought("repo", "--commit", "HEAD"), {}, "where it is, it stays ignored")
        repo.write("b.txt", f"{github_token(1)}\n")
        repo.git("add", "-A")
        equal((brought("repo", "--staged"), run("protect", "repo").status), ({shown(1): None}, FINDINGS), fingerprint)
        copied = repo.commit()
        equal(brought("repo", "--commit", "HEAD"), {shown(1): copied}, fingerprint)
        equal(brought("repo"), {shown(1): copied}, fingerprint)
        repo.git("reset", "-q", "--hard", first)


@test
def a_range_does_not_report_what_its_base_has_by_now():
    repo = Repo("repo")
    repo.write("a.txt", "x\n")
    repo.commit()
    repo.git("checkout", "-qb", "pr")
    repo.write("b.txt", f"{github_token('picked')}\n")
    picked = repo.commit()
    repo.write("c.txt", f"{github_token('own')}\n")
    own = repo.commit()
    repo.git("checkout", "-q", "main")
    repo.write("a.txt", "y\n")
    repo.commit()
    equal(set(brought("repo", "--range", "main..pr")), {shown("picked"), shown("own")})
    repo.git("cherry-pick", picked)
    equal(brought("repo", "--range", "main..pr"), {shown("own"): own})


def some_history(seed, count=24):
    """Makes a random history that adds, moves, copies and removes secrets, and adds removed secrets again. It
    has branches and merges, and some commits are dated before their parents. Returns the repository and the
    commits."""
    chance = random.Random(f"history {seed}")
    repo = Repo(f"repo{seed}")
    repo.write("readme", "x\n")
    commits, branches = [repo.commit()], ["main"]
    files = [f"f{i}" for i in range(4)] + ["d/f4", "d/e/f5"]
    for step in range(count):
        branch = chance.choice(branches)
        repo.git("checkout", "-q", branch)
        if chance.random() < 0.2 and len(branches) < 4:
            branches.append(f"b{step}")
            repo.git("checkout", "-qb", branches[-1])
        elif chance.random() < 0.2 and len(branches) > 1:
            other = chance.choice([one for one in branches if one != branch])
            repo.clock += 60
            repo.git("merge", "-q", "-X", chance.choice(["ours", "theirs"]), "--no-edit", other, check=False)
            repo.git("add", "-A")
            repo.git("commit", "-qm", "merge", check=False)
            commits.append(repo.git("rev-parse", "HEAD"))
        for name in chance.sample(files, chance.randint(1, 2)):
            tokens = "".join(f"{github_token(chance.randrange(5))}\n" for _ in range(chance.randrange(3)))
            if chance.random() < 0.2 and os.path.exists(f"{repo.path}/{name}"):
                repo.remove(name)
            else:
                repo.write(name, f"{chance.randrange(3)}\n{tokens}")
        clock = repo.clock
        repo.clock -= chance.choice([0, 0, 0, 60, 3600])
        commits.append(repo.commit(github_token(chance.randrange(5)) if chance.random() < 0.1 else "change"))
        repo.clock = clock + 60
    return repo, list(dict.fromkeys(commits))


def files_of(repo, commit):
    """Returns the contents of all files of the commit, and its message."""
    names = repo.git("ls-tree", "-r", "--name-only", commit).split()
    return "".join(repo.git("show", f"{commit}:{name}") for name in names) + repo.git("show", "-s", "--format=%B", commit)


@test
def all_commits_together_bring_what_the_whole_history_has():
    for seed in range(3):
        repo, commits = some_history(seed)
        whole = brought(repo.path)
        tokens = {shown(i): github_token(i) for i in range(5)}
        has = {commit: {secret for secret, token in tokens.items() if token in files_of(repo, commit)} for commit in commits}
        parents = {commit: repo.git("show", "-s", "--format=%P", commit).split() for commit in commits}
        by_commit = {commit: brought(repo.path, "--commit", commit) for commit in commits}
        for commit in commits:
            new = has[commit] - set().union(*(has[parent] for parent in parents[commit]))
            equal(by_commit[commit], {secret: commit for secret in new}, f"{seed}: {commit}")
        equal(set().union(*by_commit.values()), set(whole), seed)
        for secret, first in whole.items():
            holds(secret in by_commit[first], f"{seed}: {first} is named as the first commit of a secret that it does not bring")


@test
def the_tool_that_compares_commits_with_the_history_finds_no_difference():
    repo, commits = some_history(7, 8)
    repo.git("checkout", "-q", "main")
    texts = {"py": f'password = "{PASSWORD}"\n', "yaml": f"password: {PASSWORD}\n"}
    places = ["tests/a.py", "prod.py", "prod.py", "values.yaml", "tests/b.py", None, "docs/values.yaml", "prod.py"]
    # The place decides the confidence and the rule of the finding. None removes the finding.
    for number, place in enumerate(places):
        for old in set(filter(None, places[:number])):
            if os.path.exists(f"{repo.path}/{old}"):
                repo.remove(old)
        if place:
            repo.write(place, f"# {number}\n{texts[place.split('.')[1]]}")
        commits.append(repo.commit())
    for options in (), ("--", "--min-confidence", "medium"):
        done = subprocess.run([os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "compare-commits"), PROGRAM, repo.path,
                               *options], capture_output=True, text=True, check=False)
        equal((done.returncode, done.stderr), (0, ""), done.stdout)
        holds(done.stdout.startswith(f"{len(commits)} commits, ") and ", 0 differences" in done.stdout, done.stdout)


@test
def ranges_bring_what_the_commits_that_they_begin_at_have_not():
    for seed in range(3, 5):
        repo, commits = some_history(seed, 12)
        tokens = {shown(i): github_token(i) for i in range(5)}
        chance = random.Random(seed)
        for _ in range(6):
            a, b = chance.sample(commits, 2)
            dots = chance.choice(["..", "..."])
            inside = repo.git("rev-list", f"{a}{dots}{b}").split()
            parents = {one for commit in inside for one in repo.git("show", "-s", "--format=%P", commit).split()} - set(inside)
            had = "".join(files_of(repo, one) for one in (parents | {a} if dots == ".." and inside else parents))
            have = "".join(files_of(repo, one) for one in inside)
            expected = {secret for secret, token in tokens.items() if token in have and token not in had}
            equal(set(brought(repo.path, "--range", f"{a}{dots}{b}")), expected, f"{seed}: {a}{dots}{b}")


@test
def revisions_are_those_of_git():
    repo, commits = old_and_new()
    repo.git("tag", "-a", "v1.2", commits["copy"], "-m", "v1.2")
    repo.git("checkout", "-q", "-b", "topic")
    repo.git("checkout", "-q", "main")
    repo.git("checkout", "-q", "topic")
    repo.git("remote", "add", "origin", "https://example.org/x")
    repo.git("update-ref", "refs/remotes/origin/trunk", commits["edit"])
    repo.git("config", "branch.topic.remote", "origin")
    repo.git("config", "branch.topic.merge", "refs/heads/trunk")
    dates = [repo.git("show", "-s", f"--format={form}", commits["first"]) for form in ("%cI", "%ci", "%ct")]
    for name in ("HEAD", "@", "HEAD~1", "HEAD~", "HEAD^", "HEAD~2^1~1", "v1.2^", "v1.2^{}", "v1.2~2", "v1.2^{commit}^0", commits["move"][:7],
                 "topic@{upstream}", "@{u}", "@@{u}", "HEAD@{u}", "@{-1}", "topic@{0}", "HEAD@{1}", "@@{1}", "main@{2}", f"v1.2-0-g{commits['first'][:9]}",
                 "refs/heads/main~4", "origin/trunk", "@{-1}~3", "main@{4}", ":/^first", ":/!-copy", "HEAD^{/^new.$}", "v1.2^{/!-[mcd].*}", "main@{now}", "main@{30.years.ago}",
                 *(f"main@{{{date}}}" for date in dates)):
        commit = repo.git("rev-parse", repo.git("rev-parse", name) + "^{commit}")
        place = [one for one in commits if commits[one] == commit][0]
        expected = {"first": {shown("old"), shown("still")}, "new": {shown("new")}}.get(place, set())
        equal(set(brought("repo", "--commit", name)), expected, name)
    new = {shown("new"): commits["new"]}
    for name in "HEAD~1..", "HEAD~4..HEAD", "@{u}..", "v1.2...topic", "..topic", "HEAD^!", "HEAD^-", "HEAD~3..topic", "topic...v1.2":
        equal(brought("repo", "--range", name), new if name != "..topic" else {}, name)
        holds(repo.git("rev-list", name) or name == "..topic", name)
    created = len(repo.git("reflog", "show", "main").splitlines())  # main@{created}: before the first entry
    for name, parts in (("HEAD~9", "no such parent"), ("HEAD^2", "no such parent"), ("main@{u}", "no upstream"), ("main@{99}", "reflog"),
                        (f"main@{{{created}}}", "reflog"),
                        ("@{-9}", "reflog"), (":/text", "no commit has a message"), ("HEAD^{/text}", "no commit has a message"), (":/(", "regular expression"),
                        (":/!x", "regular expression"), ("main@{tea time}", "not a date"), (":/", "not a revision"), ("HEAD:a.txt", "not a revision"), ("HEAD^{tree}", "not a revision"),
                        ("nothing@{now}", "reflog"), ("nothing~1", "unknown ref"), ("HEAD@{", "not a revision")):
        complains(USAGE, parts, "scan", "repo", "--commit", name)
    complains(USAGE, f"{'12' * 20}: unknown commit; 'git fetch' gets new ones", "scan", "repo", "--range", f"{'12' * 20}..HEAD")
    complains(USAGE, "not a range", "scan", "repo", "--range", "HEAD")
    for text in "main..HEAD", "v1...HEAD", "HEAD^!", "HEAD^-1":
        complains(USAGE, f"'{text}' is a range of commits; --range takes it", "scan", "repo", "--commit", text)
    complains(USAGE, "unknown ref", "scan", "repo", "--range", "nothing..HEAD")
    complains(USAGE, "cannot be combined", "scan", "repo", "--range", "HEAD^!", "--since", "2026-01-01")


@test
def the_branch_that_a_push_would_change_is_the_one_of_git():
    repo, commits = old_and_new()
    for remote, branch, commit in ("origin", "main", "first"), ("origin", "trunk", "edit"), ("fork", "main", "move"), ("fork", "trunk", "copy"):
        repo.git("config", f"remote.{remote}.url", "https://example.org/x")
        repo.git("config", f"remote.{remote}.fetch", f"+refs/heads/*:refs/remotes/{remote}/*")
        repo.git("update-ref", f"refs/remotes/{remote}/{branch}", commits[commit])
    repo.git("config", "branch.main.remote", "origin")
    answers = set()
    for merge in "main", "trunk":
        repo.git("config", "branch.main.merge", f"refs/heads/{merge}")
        for setting, value in ("remote.pushDefault", "fork"), ("branch.main.pushRemote", "fork"), ("branch.main.pushRemote", "origin"), ("a.b", "c"):
            for manner in "simple", "current", "upstream", "nothing", "matching":
                options = ("-c", f"{setting}={value}", "-c", f"push.default={manner}")
                answer = subprocess.run(["git", "-C", "repo", *options, "rev-parse", "-q", "--verify", "main@{push}"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()
                repo.git("config", setting, value)
                repo.git("config", "push.default", manner)
                case = f"{merge}, {setting} {value}, {manner}: {answer}"
                if answer:
                    equal({one["occurrences"][0]["commit"] for one in scan("repo", "--range", "main@{push}^!")},
                          {answer} & {commits["first"], commits["new"]}, case)
                    equal(bool(scan("repo", "--range", f"{answer}..main@{{push}}")), False, case)
                    equal(bool(scan("repo", "--range", f"main@{{push}}..{answer}")), False, case)
                else:
                    complains(USAGE, "no upstream", "scan", "repo", "--commit", "main@{push}")  # like git
                answers.add(answer)
                repo.git("config", "--unset", setting)
    equal(len(answers), 4, "first, edit, move, refused")


@test
def a_shallow_clone_without_the_parents_says_so_and_how_to_get_them():
    repo, commits = old_and_new()
    repo.git("branch", "side", commits["edit"])
    url = "file://" + os.path.abspath("repo")
    subprocess.run(["git", "clone", "-q", "--depth", "1", "--no-single-branch", url, "shallow"], check=True, env=repo.environment())
    for arguments in (("--commit", "HEAD"), ("--range", "HEAD^!"), ("--range", "origin/side..HEAD"), ("--range", "origin/side...HEAD"),
                      ("--since", "2020-01-01"), ("--commit", "HEAD~1"), ("--range", "HEAD~1..HEAD"),
                      ("--range", f"{commits['copy']}..HEAD"), ("--commit", commits["first"])):  # CI passes ids
        result = run("scan", "shallow", *arguments)
        equal(result.status, INCOMPLETE, f"{arguments}: {result}")
        holds("fetch-depth: 0" in result.out and "git fetch --unshallow" in result.out, result)
        holds("ghp_" not in result.out, f"{arguments}: what the tree has is not what the commit brings")
    complains(USAGE, ["unknown ref", "fetch-depth: 0"], "scan", "shallow", "--range", "v9..HEAD")
    subprocess.run(["git", "-C", "shallow", "fetch", "-q", "--unshallow"], check=True, env=repo.environment())
    equal(brought("shallow", "--range", "origin/side..HEAD"), {shown("new"): commits["new"]})


@test
def a_shallow_base_whose_history_may_have_the_selected_commits_says_so():
    repo = Repo("repo")
    repo.write("a.txt", f"{github_token('old')}\n")
    repo.commit()
    repo.remove("a.txt")
    repo.commit()
    repo.git("checkout", "-qb", "pr")
    repo.write("b.txt", f"{github_token('new')}\n")
    new = repo.commit()
    repo.git("checkout", "-q", "main")
    repo.write("c.txt", "x\n")
    repo.commit()
    url = "file://" + os.path.abspath("repo")
    subprocess.run(["git", "init", "-q", "clone"], check=True)

    def fetch(*arguments):
        subprocess.run(["git", "-C", "clone", "fetch", "-q", *arguments], check=True, env=repo.environment())

    fetch(url, "pr:refs/remotes/origin/pr")
    fetch("--depth=1", url, "main:refs/remotes/origin/main")
    result = run("scan", "clone", "--range", "origin/main..origin/pr")
    equal(result.status, INCOMPLETE, result)
    holds("fetch-depth: 0" in result.out and "git fetch --unshallow" in result.out and "ghp_" not in result.out, result)
    fetch("--unshallow", url, "main:refs/remotes/origin/main")
    equal(brought("clone", "--range", "origin/main..origin/pr"), {shown("new"): new})


@test
def since_needs_the_history_before_the_date():
    repo = Repo("repo")
    repo.write("a.txt", f"{github_token('old')}\n")
    repo.commit()
    repo.remove("a.txt")
    repo.commit()
    repo.clock += 6000
    repo.write("b.txt", f"{github_token('old')}\n")
    repo.commit()
    date = f"@{repo.git('show', '-s', '--format=%ct')}"
    equal(brought("repo", "--since", date), {}, "it was there before the date")
    subprocess.run(["git", "clone", "-q", "--depth", "2", "file://" + os.path.abspath("repo"), "shallow"], check=True, env=repo.environment())
    result = run("scan", "shallow", "--since", date)
    equal(result.status, INCOMPLETE, result)
    holds("fetch-depth: 0" in result.out and "ghp_" not in result.out, result)


@test
def a_change_in_a_partial_clone_needs_only_what_it_adds():
    """As in continuous integration: the clone has the blobs of one branch. Other blobs matter only if the change
    adds or moves them, or if the change has a finding that the base may have, too."""
    repo = Repo("origin")
    repo.write("old.txt", f"{github_token('old')}\n")
    repo.write("d/deep.txt", "deep\n")
    base = repo.commit()
    changes = {"clean": lambda: repo.write("new.txt", "new\n"), "lacking": lambda: repo.write("lacking.txt", "not fetched\n"),
               "moved": lambda: repo.git("mv", "old.txt", "elsewhere.txt"), "folder": lambda: repo.git("mv", "d", "e"),
               "secret": lambda: repo.write("secret.txt", f"{github_token('fresh')}\n")}
    for name, change in changes.items():
        repo.git("checkout", "-q", "-b", name, base)
        change()
        repo.commit()
    repo.git("checkout", "-q", "main")
    repo.write("old.txt", f"edited\n{github_token('old')}\n")
    repo.commit()
    repo.git("checkout", "-q", "-b", "merged", "clean")
    repo.git("merge", "-q", "--no-edit", "main")
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
    repo.git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{os.path.abspath('origin')}", os.path.abspath("partial"))
    for blob in "clean:new.txt", "secret:secret.txt":
        subprocess.run(["git", "-C", "partial", "cat-file", "-e", f"origin/{blob}"], check=True, env=repo.environment())

    def judged(name, status, lacks, findings):
        for change in ("--commit", f"origin/{name}"), ("--range", f"origin/main..origin/{name}"):
            result = run("scan", "partial", "--format", "json", *change)
            found = json.loads(result.out)
            equal((result.status, len(found["findings"])), (status, findings), f"{change}: {result}")
            holds((f"{lacks} missing from the partial clone" in result.err) == (lacks is not None), f"{change}: {result.err}")

    judged("clean", CLEAN, None, 0)
    judged("merged", CLEAN, None, 0)
    judged("lacking", INCOMPLETE, "1 object", 0)
    judged("moved", INCOMPLETE, "1 object", 0)
    judged("folder", INCOMPLETE, "1 object", 0)
    equal(len(scan("partial", "--commit", "origin/secret", status=INCOMPLETE)), 1, "the base may have it, too")
    equal(scan("partial", "--commit", "origin/secret", "--allow-missing", status=FINDINGS)[0]["secret"], shown("fresh"))


@test
def without_a_target_the_repository_around_the_current_folder_is_scanned():
    repo, commits = old_and_new()
    repo.write("deep/er/x.txt", "x\n")
    repo.commit()
    for folder in "repo", "repo/deep/er":
        equal(brought("--commit", commits["new"], cwd=folder), {shown("new"): commits["new"]})
    equal(brought("repo/deep/er", "--commit", commits["new"]), {shown("new"): commits["new"]})
    os.mkdir("plain")
    complains(USAGE, "not a git repository", "scan", cwd="plain")
    complains(USAGE, "--dir needs a folder", "scan", "--dir")


@test
def files_that_git_does_not_track_are_mentioned_with_the_option_that_scans_them():
    repo = Repo("repo")
    repo.write(".gitignore", "*.log\nmodules/\n")
    repo.write("a.txt", "x\n")
    repo.commit()
    holds("--working-tree" not in run("scan", "repo").out, "nothing is untracked")
    repo.write("trace.log", f"{github_token(1)}\n")
    repo.write("modules/m/x", "x\n")
    repo.write("deep/new.txt", "x\n")
    result = run("scan", "repo")
    holds(result.status == CLEAN and "3 untracked or ignored" in result.out and "--working-tree" in result.out, result)
    holds("3 untracked or ignored" in run("scan", "repo", "--state", "state").out, "a first scan with state")
    holds("3 untracked or ignored" in run("scan", "repo", "--state", "state").out, "a second one")
    holds("3 untracked or ignored" in run("scan", "repo", "--format", "json").out, "for programs, too")
    equal(run("scan", "repo", "--working-tree").status, FINDINGS)
    holds("untracked" not in run("scan", "repo", "--commit", "HEAD").out, "a change is not about the work tree")


def uncommitted(path, *arguments):
    """Returns the number of files with uncommitted changes and the first name, as the summary reports them.
    Returns None if the summary reports no such files."""
    notes = json.loads(run("scan", path, "--format", "json", *arguments).out)["summary"]["notes"]
    found = [re.search(r"(\d+) files? in the work tree ha\w+ changes .* such as '(.*?)'", note) for note in notes]
    return next(((int(one[1]), one[2]) for one in found if one), None)


@test
def changes_that_are_not_committed_are_mentioned_with_the_options_that_scan_them():
    repo = Repo("repo")
    repo.write("a.txt", "x\n")
    repo.write("d/b.txt", "y\n")
    os.symlink("a.txt", "repo/link")
    repo.commit()
    equal(uncommitted("repo"), None)
    repo.write("d/b.txt", f"{github_token(1)}\n")
    for options in ((), ("--state", "state"), ("--state", "state")):
        equal(uncommitted("repo", *options), (1, "d/b.txt"), options)
    holds("--working-tree, or staged changes with --staged" in run("scan", "repo").out, "the options")
    equal(uncommitted("repo", "--commit", "HEAD"), None, "a change is not about the work tree")
    repo.git("add", "-A")
    equal(uncommitted("repo"), (1, "d/b.txt"), "staged")
    repo.write("d/b.txt", "y\n")
    equal(uncommitted("repo"), (1, "d/b.txt"), "staged, and undone in the work tree")
    repo.git("add", "-A")
    equal(uncommitted("repo"), None, "undone")
    repo.write("a.txt", "z\n")
    os.utime("repo/a.txt", (1, 1))
    os.unlink("repo/link")
    os.symlink("b.txt", "repo/link")
    equal(uncommitted("repo"), (2, "a.txt"), "of the same size")
    repo.git("commit", "-qam", "all")
    os.unlink("repo/a.txt")
    os.chmod("repo/d/b.txt", 0o755)
    repo.write("new", "x\n")
    repo.git("add", "--intent-to-add", "new")
    equal(uncommitted("repo"), (1, "new"), "nothing else has content that is not committed")


@test
def files_that_git_knows_to_be_unchanged_are_not_mentioned():
    repo = Repo("repo")
    repo.write(".gitattributes", "*.bat eol=crlf\n*.up filter=up\n")
    repo.git("config", "filter.up.clean", "sed s/up//")
    repo.git("config", "filter.up.smudge", "sed s/$/up/")
    for i in range(20):
        repo.write(f"{i % 3}/{i}.txt", f"{i}\n")
    repo.write("run.bat", "x\n")
    repo.write("a.up", "x\n")
    repo.commit()
    os.unlink("repo/run.bat")
    os.unlink("repo/a.up")
    repo.git("checkout", ".")
    subprocess.run(["cp", "-r", "repo", "copy"], check=True)  # cp gives all files new times
    equal((os.path.getsize("repo/run.bat"), os.path.getsize("repo/a.up")), (3, 4), "filters changed them")
    for path in "repo", "copy":
        equal(uncommitted(path), None, path)
    repo.write("1/1.txt", "changed\n")
    repo.git("update-index", "--assume-unchanged", "1/1.txt")
    equal(uncommitted("repo"), None, "the user wants it ignored")
    repo.git("update-index", "--no-assume-unchanged", "1/1.txt")
    for form in (["update-index", "--split-index"], ["update-index", "--index-version", "4"],
                 ["sparse-checkout", "set", "--cone", "--sparse-index", "1"]):
        repo.git(*form)
        equal(uncommitted("repo"), (1, "1/1.txt"), form)
    repo.git("sparse-checkout", "disable")
    repo.git("checkout", "-qB", "side")
    repo.git("commit", "-qam", "side")
    repo.git("checkout", "-q", "main")
    repo.write("1/1.txt", "other\n")
    repo.git("commit", "-qam", "other")
    repo.git("merge", "-q", "side", check=False)
    equal(uncommitted("repo"), (1, "1/1.txt"), "a conflict")
    unborn = Repo("unborn")
    unborn.write("a.txt", "x\n")
    unborn.git("add", "-A")
    equal(uncommitted("unborn"), (1, "a.txt"), "before the first commit")


if __name__ == "__main__":
    main()
