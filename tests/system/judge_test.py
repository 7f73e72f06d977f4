#!/usr/bin/env python3
"""Details that help to judge a finding: whether HEAD has it, which refs reach it, links, confidence, help."""
import html
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import complains, run  # noqa: E402
from repo import Repo, github_token, made_up  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402


def found(*arguments):
    """Returns the findings of a scan: {shown secret: finding}."""
    result = run("scan", *arguments, "--format", "jsonl")
    holds(result.status in (0, 1), result)
    return {one["secret"]: one for one in map(json.loads, result.out.splitlines())}


def shown(seed):
    token = github_token(seed)
    return f"{token[:4]}…{token[-4:]}"


def two_secrets():
    """Makes a repository with two secrets in its first commit, which has a tag. The second commit, on branch
    topic, moves the first secret and removes the second. The third commit adds another secret. Returns the
    repository and its first commit."""
    repo = Repo("repo")
    repo.write("old/a.txt", f"{github_token('kept')}\n")
    repo.write("b.txt", f"{github_token('gone')}\n")
    first = repo.commit()
    repo.git("tag", "v1.0")
    repo.git("mv", "old/a.txt", "new.txt")
    repo.remove("b.txt")
    repo.write("new.txt", f"x\ny\n{github_token('kept')}\n")
    repo.commit()
    repo.git("branch", "topic")
    repo.write("c.txt", f"{github_token('late')}\n")
    repo.commit()
    return repo, first


@test
def a_finding_says_where_head_has_it():
    repo, first = two_secrets()
    head = repo.git("rev-parse", "HEAD")
    for state in ("--no-state",), ("--state", "state"), ("--state", "state"):
        findings = found("repo", *state)
        kept, gone = findings[shown("kept")], findings[shown("gone")]
        equal((kept["in_head"], kept["head"]["path"], kept["head"]["line"], kept["head"]["commit"]), (True, "new.txt", 3, head))
        equal((kept["occurrences"][0]["path"], kept["occurrences"][0]["commit"]), ("old/a.txt", first))
        equal((gone["in_head"], gone["head"]), (False, None))
    text = run("scan", "repo").out
    holds("still in HEAD: new.txt:3" in text and "not in HEAD" in text, text)
    repo.git("checkout", "-q", "v1.0")
    findings = found("repo", "--state", "state")
    equal(findings[shown("gone")]["head"]["path"], "b.txt", "HEAD is another one now")
    equal(found("repo", "--commit", "topic").get(shown("kept")), None)
    late = found("repo", "--commit", "main")[shown("late")]
    equal((late["in_head"], late["head"]), (False, None), "HEAD is not selected, and was looked at")
    repo.git("checkout", "-q", "main")
    equal(found("repo", "--range", "HEAD~1..HEAD")[shown("late")]["in_head"], True)


@test
def every_selection_says_where_head_has_it():
    repo, first = two_secrets()
    repo.git("branch", "a/b", first)
    repo.git("tag", "v2", "HEAD~1")
    repo.write("d.txt", "x\n")
    repo.commit()
    repo.write("copy.txt", f"{github_token('kept')}\n")
    head = repo.commit()
    for selection in ("--commit", first), ("--branch", "a/b"), ("--ref", "v1.0"), ("--commit", "HEAD~4"), ("--range", "HEAD~4^!"):
        for state in ("--no-state",), ("--state", "state"), ("--state", "state"):
            findings = found("repo", *selection, *state)
            kept, gone = findings[shown("kept")], findings[shown("gone")]
            equal((kept["in_head"], kept["head"]["path"], kept["head"]["commit"], kept["head_count"]), (True, "copy.txt", head, 2), selection)
            equal((kept["occurrence_count"], kept["occurrences"][0]["path"]), (1, "old/a.txt"), selection)
            equal((gone["in_head"], gone["head"]), (False, None), selection)
        text = run("scan", "repo", *selection).out
        holds("still in HEAD: copy.txt:1 and 1 other file" in text and "not in HEAD" in text, text)
        sarif = json.loads(run("scan", "repo", *selection, "--format", "sarif").out)["runs"][0]["results"]
        equal(sorted(one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in sarif), ["b.txt", "copy.txt"], selection)
    for selection in ("--range", "v1.0..HEAD~1"), ("--commit", "HEAD~2"):
        late = found("repo", *selection)[shown("late")]
        equal((late["in_head"], late["head"]["path"], late["head_count"]), (True, "c.txt", 1), selection)
        equal(len(found("repo", *selection)), 1, "what HEAD has besides is not reported")


@test
def a_password_in_another_kind_of_file_of_head_is_still_in_head():
    repo = Repo("repo")
    repo.write("settings.py", 'DB_PASSWORD = "kQ7-vNz2pLx9@w"\n')
    first = repo.commit()
    repo.remove("settings.py")
    repo.write("values.yaml", "password: kQ7-vNz2pLx9@w\n")
    repo.commit()
    for selection in (), ("--commit", first):
        for one in json.loads(run("scan", "repo", *selection, "--format", "json").out)["findings"]:
            equal((one["in_head"], one["head"]["path"]), (True, "values.yaml"), selection)


@test
def a_secret_in_the_message_of_head_is_in_head():
    repo = Repo("repo")
    repo.write("a.txt", "x\n")
    repo.commit()
    head = repo.commit(f"a message with {github_token('said')}")
    for state in ("--no-state",), ("--state", "state"), ("--state", "state"):
        said = found("repo", *state)[shown("said")]
        equal((said["in_head"], said["head"]["place"], said["head"]["commit"]), (True, "commit message", head))
    text = run("scan", "repo").out
    holds("still in HEAD: commit message" in text, text)
    repo.git("checkout", "-q", "-b", "side", "HEAD~1")
    repo.write("b.txt", f"{github_token('said')}\n")
    repo.commit()
    repo.git("checkout", "-q", "main")
    for change in ("--commit", "side"), ("--range", "main~1..side"), ("--branch", "side"):
        said = found("repo", *change)[shown("said")]
        equal((said["in_head"], said["head"]["place"], said["head"]["commit"], said["occurrences"][0]["path"]),
              (True, "commit message", head, "b.txt"), change)
    repo.write("a.txt", "y\n")
    repo.commit()
    for state in ("--no-state",), ("--state", "state"), ("--state", "state"):
        said = found("repo", *state)[shown("said")]
        equal((said["in_head"], said["head"]), (False, None), state)


@test
def junit_skips_what_does_not_fail_the_scan():
    two_secrets()
    def kinds(*arguments):
        root = xml.etree.ElementTree.fromstring(run("scan", "repo", "--format", "junit", *arguments).out)
        kinds = [("failed" if one.find("failure") is not None else "skipped") for one in root.iter("testcase")
                 if one.get("classname") != "turnstone.scan"]
        equal((int(root.get("failures")), int(root.get("skipped"))), (kinds.count("failed"), kinds.count("skipped")))
        return kinds
    confidences = [one["confidence"] for one in found("repo").values()]
    for least in "low", "medium", "high":
        order = ["low", "medium", "high"]
        equal(sorted(kinds("--fail-on-confidence", least)),
              sorted("failed" if order.index(one) >= order.index(least) else "skipped" for one in confidences), least)


@test
def reports_of_other_programs_point_at_the_place_in_head():
    two_secrets()
    found = json.loads(run("scan", "repo", "--format", "sarif").out)["runs"][0]
    results, driver = found["results"], found["tool"]["driver"]
    equal(driver["version"], run("--version").out.split()[1])
    holds(re.fullmatch(r"\d+\.\d+\.\d+(-[\w.-]+)?(\+[\w.-]+)?", driver["semanticVersion"]), f"as https://semver.org has it: {driver['semanticVersion']}")
    places = {one["message"]["text"].rsplit(" ", 1)[1]: one["locations"][0]["physicalLocation"] for one in results}
    equal(places[shown("kept")]["artifactLocation"]["uri"], "new.txt")
    equal(places[shown("kept")]["region"]["startLine"], 3)
    equal(places[shown("gone")]["artifactLocation"]["uri"], "b.txt")
    names = [one.get("name") for one in xml.etree.ElementTree.fromstring(run("scan", "repo", "--format", "junit").out).iter("testcase")]
    holds(any(name.startswith("new.txt:3:1 ") for name in names), names)


@test
def a_finding_says_which_branches_and_tags_reach_it():
    repo, first = two_secrets()
    for i in range(8):
        repo.git("branch", f"b{i}", first)
    repo.git("tag", "-a", "v2", "-m", "two")
    for state in ("--no-state",), ("--state", "state"), ("--state", "state"):
        findings = found("repo", *state)
        equal(findings[shown("late")]["refs"], ["refs/heads/main", "refs/tags/v2"])
        equal(findings[shown("late")]["ref_count"], 2)
        equal((findings[shown("gone")]["refs"], findings[shown("gone")]["ref_count"]), ([f"refs/heads/b{i}" for i in range(5)], 12))
    text = run("scan", "repo").out
    holds("reachable from main, v2" in text and "and 7 more" in text, text)


@test
def a_branch_that_picked_a_secret_reaches_it_too():
    """The commit that was picked and the picked one add the same file. Only one of them is the first."""
    repo = Repo("repo")
    repo.write("a.txt", "x\n")
    base = repo.commit()
    repo.git("checkout", "-q", "-b", "side")
    repo.write("s.txt", f"{github_token('picked')}\n")
    repo.write("copy/s.txt", f"{github_token('picked')}\n")
    side = repo.commit()
    repo.git("checkout", "-q", "main")

    def refs(*arguments):
        finding = found("repo", *arguments)[shown("picked")]
        equal(finding["occurrences"][0]["commit"], side)
        equal((finding["ref_count"], finding["occurrence_count"]), (len(finding["refs"]), 2))
        return finding["refs"]

    equal(refs("--state", "state"), ["refs/heads/side"])
    repo.write("b.txt", "y\n")
    repo.commit()
    repo.git("cherry-pick", "side")
    for state in ("--state", "state"), ("--state", "state"), ("--no-state",):
        equal(refs(*state), ["refs/heads/main", "refs/heads/side"], "a new commit picked it")
    repo.git("checkout", "-q", "-b", "early", base)
    repo.clock -= 3600
    repo.git("cherry-pick", "side")
    side = repo.git("rev-parse", "HEAD")  # its committer's date is before that of the others
    for state in ("--state", "state"), ("--state", "state"), ("--no-state",):
        equal(refs(*state), ["refs/heads/early", "refs/heads/main", "refs/heads/side"], "a new commit with an earlier date")
    repo.remove("s.txt")
    repo.remove("copy/s.txt")
    repo.commit()
    repo.git("checkout", "-q", "-b", "gone", "main")
    for state in ("--state", "state"), ("--no-state",):
        equal(refs(*state), ["refs/heads/early", "refs/heads/gone", "refs/heads/main", "refs/heads/side"])
    equal(found("repo", "--commit", "main")[shown("picked")]["refs"], ["refs/heads/gone", "refs/heads/main"])


@test
def refs_are_those_that_git_names():
    repo = Repo("repo")
    refs, secrets = [], []
    for i in range(90):
        if i % 3 == 0 and i > 0:
            repo.git("checkout", "-q", "--detach", f"refs/tags/t{i // 2}")
        repo.write(f"f{i}.txt", f"{github_token(i)}\n")
        repo.commit()
        repo.git("tag", f"t{i}")
        refs.append(f"refs/tags/t{i}")
        secrets.append(repo.git("rev-parse", "HEAD"))
    repo.git("branch", "-f", "main")
    findings = found("repo", "--occurrences", "all")
    equal(len(findings), 90)
    for i in range(0, 90, 7):
        expected = repo.git("for-each-ref", "--format=%(refname)", "--contains", secrets[i]).split()
        equal(findings[shown(i)]["ref_count"], len(expected), i)
        holds(set(findings[shown(i)]["refs"]) <= set(expected), i)


def azure(project, head, host="dev.azure.com/ada"):
    return (f"https://{host}/{project}/_git/engine?path=/new.txt&version=GC{head}"
            "&line=3&lineEnd=4&lineStartColumn=1&lineEndColumn=1")


@test
def links_lead_to_the_common_forges_without_credentials():
    repo, first = two_secrets()
    repo.git("remote", "add", "origin", "x")
    head = repo.git("rev-parse", "HEAD")
    password = made_up(12, "password")
    for url, file, commit in (
            (f"https://me:{password}@github.com/ada/engine.git", f"https://github.com/ada/engine/blob/{head}/new.txt#L3", None),
            ("git@github.com:ada/engine.git", f"https://github.com/ada/engine/blob/{head}/new.txt#L3", None),
            ("ssh://git@ssh.github.com:443/ada/engine.git", f"https://github.com/ada/engine/blob/{head}/new.txt#L3", None),
            ("ssh://git@altssh.gitlab.com:443/a/b.git", f"https://gitlab.com/a/b/-/blob/{head}/new.txt#L3", None),
            ("git@altssh.bitbucket.org:a/b.git", f"https://bitbucket.org/a/b/src/{head}/new.txt#lines-3", None),
            ("https://GitHub.com/ada/engine", f"https://github.com/ada/engine/blob/{head}/new.txt#L3", None),
            ("ssh://git@gitlab.example.org:2222/a/b/c.git", f"https://gitlab.example.org/a/b/c/-/blob/{head}/new.txt#L3", None),
            ("https://bitbucket.org/a/b", f"https://bitbucket.org/a/b/src/{head}/new.txt#lines-3", None),
            ("https://codeberg.org/a/b.git/", f"https://codeberg.org/a/b/src/commit/{head}/new.txt#L3", None),
            ("https://ada@dev.azure.com/ada/the%20mill/_git/engine", azure("the%20mill", head), None),
            ("git@ssh.dev.azure.com:v3/ada/mill/engine", azure("mill", head), None),
            ("https://ada.visualstudio.com/mill/_git/engine", azure("mill", head, "ada.visualstudio.com"), None),
            ("https://example.org/a/b.git", None, None), ("git@ssh.dev.azure.com:v3/ada", None, None), ("/srv/github.com/x", None, None), ("https://github.com/a\"><b", None, None)):
        repo.git("config", "remote.origin.url", url)
        finding = found("repo")[shown("kept")]
        equal(finding["head"]["link"], file, url)
        equal((finding["occurrences"][0]["link"] or "").count(first), 1 if file else 0, url)
        for form in "text", "json", "sarif", "csv", "junit", "html":
            report = run("scan", "repo", "--format", form).out
            holds(password not in report, f"{form}: {url}")
            holds(file is None or file in report or html.escape(file) in report or form in ("csv",), f"{form}: {url}")


@test
def links_to_members_of_archives_lead_to_the_archive():
    repo = Repo("repo")
    with zipfile.ZipFile("deploy.zip", "w") as archive:
        archive.writestr("etc/app.env", f"TOKEN={github_token('member')}\n")
    with open("deploy.zip", "rb") as file:
        repo.write("a b/deploy.zip", file.read())
    head = repo.commit()
    for url, link in (("https://github.com/ada/engine", f"https://github.com/ada/engine/blob/{head}/a%20b/deploy.zip"),
                      ("https://dev.azure.com/ada/mill/_git/engine", f"https://dev.azure.com/ada/mill/_git/engine?path=/a%20b/deploy.zip&version=GC{head}")):
        repo.git("config", "remote.origin.url", url)
        finding = found("repo")[shown("member")]
        equal((finding["head"]["path"], finding["head"]["link"]), ("a b/deploy.zip!/etc/app.env", link))


def low_and_high():
    repo = Repo("repo")
    repo.write("tests/a.txt", f"password = \"{made_up(8, 'a')}\"\n")
    repo.commit()
    low = {one["confidence"] for one in found("repo").values()}
    equal(low, {"low"}, "the test needs a finding of low confidence")
    return repo


@test
def low_confidence_is_listed_last_and_does_not_fail():
    repo = low_and_high()
    result = run("scan", "repo")
    holds(result.status == 0 and "low confidence, which does not fail" in result.out and "1 finding" in result.out, result)
    equal(run("scan", "repo", "--fail-on-confidence", "low").status, 1)
    equal(run("protect", "repo").status, 0)
    repo.write("tests/b.txt", f"password = \"{made_up(8, 'b')}\"\n")
    repo.git("add", "-A")
    equal((run("protect", "repo").status, run("protect", "repo", "--fail-on-confidence", "low").status), (0, 1))
    repo.write("z.txt", f"{github_token(1)}\n")
    repo.commit()
    result = run("scan", "repo", "--format", "jsonl")
    equal([json.loads(line)["confidence"] for line in result.out.splitlines()], ["high", "low", "low"])
    equal(result.status, 1)
    equal(run("scan", "repo", "--fail-on", "critical", "--fail-on-confidence", "high").status, 1)
    result = run("scan", "repo", "--min-confidence", "medium")
    holds(result.status == 1 and "1 finding" in result.out and "2 findings" in result.out, result)
    for verb in "scan", "protect":
        complains(2, "lower --min-confidence", verb, "repo", "--min-confidence", "medium", "--fail-on-confidence", "low")
    run("baseline", "repo", "-o", "known")
    holds("3 findings known" in run("scan", "repo", "--baseline", "known").out, "baselines hold every confidence")


@test
def every_report_has_the_help_of_the_rule():
    two_secrets()
    finding = found("repo")[shown("kept")]
    holds(finding["revoke"] and finding["url"].startswith("https://") and finding["description"], finding)
    for form in "text", "csv", "junit", "html", "json", "jsonl", "gitlab":
        report = run("scan", "repo", "--format", form).out
        words = " ".join(report.split())
        plain = html.unescape(words)
        for help_text in finding["url"], finding["revoke"], finding["description"]:
            holds(help_text in plain, f"{form}: {help_text}: {report[:3000]}")
    rule = json.loads(run("scan", "repo", "--format", "sarif").out)["runs"][0]["tool"]["driver"]["rules"][0]
    equal(rule["helpUri"], finding["url"])
    holds(finding["url"] in rule["help"]["markdown"] and "revoke" in rule["help"]["text"], rule)
    parts = rule["help"]["markdown"].split("\n\n")
    holds(parts[0].replace("\\", "") == finding["name"] and parts[1].startswith("**How it is abused:** ") and parts[2].startswith("**To revoke it:** "), parts)
    holds(f"how it is abused: {finding['description']}" in run("scan", "repo", "--format", "junit").out, "apart from what it is")


@test
def every_rule_says_how_its_secret_is_abused():
    rules = [json.loads(line) for line in run("rules", "list", "--json").out.splitlines()]
    holds(len(rules) > 1000, len(rules))
    for rule in rules:
        verb = rule["description"].split()[0].rstrip(",")  # "Reads" in "Reads private code"
        holds((verb.endswith("s") and verb != "As") or re.search(r"[Aa]nyone who|Everybody who|\b[Ii]t |Signs|decrypt|reveal", rule["description"]),
              f"{rule['id']}: {rule['description']}")
        holds(rule["revoke"] and rule["url"].startswith("https://"), rule["id"])


@test
def a_short_secret_is_shown_by_its_shape():
    repo = Repo("repo")
    repo.write("a.txt", "url = https://deploy:" + "Qm7" + "kzW2-p" + "@git.internal.io/x.git\n")
    repo.commit()
    result = run("scan", "repo")
    holds("Xx9xxX9!x" in result.out and "Qm7" not in result.out, result)
    equal(result.out.count("--show-secrets"), 1)
    holds("--show-secrets" not in run("scan", "repo", "--show-secrets").out, "it is given")


@test
def the_configuration_may_be_called_yaml_and_not_both():
    repo = Repo("repo")
    repo.write("a.txt", f"{github_token(1)}\n")
    repo.write(".turnstone.yaml", "allow:\n  - paths: ['a.txt']\n    reason: made up\n")
    repo.commit()
    result = run("scan", "repo")
    holds(result.status == 0 and ".turnstone.yaml:" in result.out, result)
    repo.write(".turnstone.yml", "allow:\n  - paths: ['b.txt']\n    reason: made up\n")
    complains(2, "repo: both .turnstone.yml and .turnstone.yaml exist; remove one of them", "scan", "repo")
    complains(2, [".turnstone.yml", ".turnstone.yaml", "remove one"], "protect", "repo")
    os.unlink("repo/.turnstone.yml")
    repo.write(".turnstone.yaml", "rules:\n  - id: team-token\n")
    complains(2, "is a list of rules; move it to a file of its own, and name that file under rules: files:", "scan", "repo")


@test
def help_begins_with_the_scanner_then_the_fleet_then_stores():
    out = run("help").out
    places = [out.index("\n  " + verb + " ") for verb in ("scan", "protect", "baseline", "rules list", "run create", "lease claim", "txn", "store init")]
    equal(places, sorted(places))
    complains(2, "did you mean '--min-confidence'", "scan", "--min-confidense", "low")


if __name__ == "__main__":
    main()
