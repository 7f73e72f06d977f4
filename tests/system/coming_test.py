#!/usr/bin/env python3
"""Migration from another tool: turnstone reads the tool's reports, baselines, ignore files and rules, and
writes reports in the tool's format."""
import hashlib
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import complains, run  # noqa: E402
from repo import Repo, github_token, made_up  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

CLEAN, FINDINGS, USAGE = 0, 1, 2


def leaky(count=2):
    """Makes a repository with `count` files 0.txt, 1.txt and so on. Line 2 of each file has a secret. Returns
    the repository and its commit."""
    repo = Repo("repo")
    for i in range(count):
        repo.write(f"{i}.txt", f"a line\ntoken = {github_token(i)}\n")
    return repo, repo.commit("first")


@test
def gitlab_gets_its_report():
    _, commit = leaky(1)
    environment = {"SOURCE_DATE_EPOCH": "1700000000"}
    result = run("scan", "repo", "-o", "gl-secret-detection-report.json", env=environment)
    equal(result.status, FINDINGS, result)
    with open("gl-secret-detection-report.json", encoding="utf-8") as file:
        report = json.load(file)
    equal(report["scan"]["start_time"], "2023-11-14T22:13:20")
    location = report["vulnerabilities"][0]["location"]
    equal((location["file"], location["start_line"], location["commit"]["sha"]), ("0.txt", 2, commit))
    again = run("scan", "repo", "--format", "gitlab", "--show-secrets", env=environment)
    equal(json.loads(again.out), report, "no secret, whatever is asked for")
    complains(USAGE, "SOURCE_DATE_EPOCH", "scan", "repo", "--format", "gitlab", env={"SOURCE_DATE_EPOCH": "today"})
    equal(run("scan", "repo", "--format", "json", env={"SOURCE_DATE_EPOCH": "today"}).status, FINDINGS, "unused here")


def put(path, value):
    with open(path, "w", encoding="utf-8") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))
    return path


def new(*arguments):
    """Scans the repository. Returns the paths of new findings, and what the summary says about the
    baseline."""
    result = run("scan", "repo", "--format", "json", *arguments)
    holds(result.status in (CLEAN, FINDINGS), result)
    report = json.loads(result.out)
    return sorted(one["occurrences"][0]["path"] for one in report["findings"]), report["summary"]["baseline"]


def baseline(tool, known, matched, unmatched):
    return {"known": known, "gone": [], "tool": tool, "matched": matched, "unmatched": unmatched}


@test
def the_report_of_another_tool_is_a_baseline():
    _, commit = leaky(3)
    gitleaks = [{"RuleID": "some-rule", "Commit": commit, "File": "0.txt", "StartLine": 2, "Secret": github_token(0)},
                {"RuleID": "some-rule", "Commit": commit, "File": "1.txt", "StartLine": 2, "Secret": "REDACTED"},
                {"RuleID": "some-rule", "Commit": commit, "File": "9.txt", "StartLine": 2, "Secret": "gone-meanwhile"}]
    equal(new("--baseline", put("gitleaks.json", gitleaks)), (["2.txt"], baseline("gitleaks", 2, 2, 1)))
    text = run("scan", "repo", "--baseline", "gitleaks.json").out
    holds("baseline    2 findings known; 2 entries of gitleaks matched, 1 did not\n" in text, text)
    digest = hashlib.sha1(github_token(1).encode()).hexdigest()
    secrets = {"version": "1.5.0", "plugins_used": [], "results": {"1.txt": [
        {"type": "GitHub Token", "filename": "1.txt", "hashed_secret": digest, "is_verified": False, "line_number": 2}]}}
    equal(new("--baseline", put(".secrets.baseline", secrets)), (["0.txt", "2.txt"], baseline("detect-secrets", 1, 1, 0)))
    hog = {"SourceMetadata": {"Data": {"Git": {"commit": commit, "file": "2.txt", "line": 2}}}, "DetectorName": "Github",
           "Verified": False, "Raw": github_token(2)}
    equal(new("--baseline", put("hog.jsonl", json.dumps(hog) + "\n")), (["0.txt", "1.txt"], baseline("TruffleHog", 1, 1, 0)))
    for form in "text", "json", "html", "sarif":
        holds(github_token(0) not in run("scan", "repo", "--baseline", "hog.jsonl", "--format", form).out, form)


@test
def an_entry_of_another_folder_or_line_is_not_known():
    repo = Repo("repo")
    repo.write("a/same.txt", f"a line\ntoken = {github_token(0)}\n")
    commit = repo.commit("first")
    for path, line, known in (("b/same.txt", 2, 0), ("a/same.txt", 1, 0), ("a/same.txt", 3, 0), ("a/same.txt", 2, 1)):
        entry = {"RuleID": "some-rule", "Commit": commit, "File": path, "StartLine": line, "Secret": "REDACTED"}
        equal(new("--baseline", put("gitleaks.json", [entry]))[1], baseline("gitleaks", known, known, 1 - known), f"{path}:{line}")


@test
def a_hook_takes_such_a_baseline_too():
    repo, _ = leaky(1)
    repo.write("new.txt", f"{github_token('new')}\n")
    repo.git("add", "-A")
    put("known.json", [{"RuleID": "r", "Commit": "", "File": "new.txt", "StartLine": 1, "Secret": github_token("new")}])
    equal(run("protect", "repo").status, FINDINGS)
    equal(run("protect", "repo", "--baseline", "known.json").status, CLEAN)


@test
def a_wrong_baseline_is_refused():
    leaky(1)
    for text, why in (("[{}]", "entry 1 does not belong to a report of gitleaks, detect-secrets or TruffleHog"),
                      ('{"runs": []}', "SARIF"), ("[", "line 1 is not JSON"),
                      (run("scan", "repo", "--format", "json").out, "make a baseline with 'turnstone baseline'")):
        complains(USAGE, why, "scan", "repo", "--baseline", put("wrong.json", text))


def suppressions(*arguments):
    result = run("scan", *arguments, "--format", "json")
    report = json.loads(result.out)
    return (sorted(one["occurrences"][0]["path"] for one in report["findings"]),
            [(one["source"], one["reason"], one["findings"]) for one in report["summary"]["suppressions"]], report["summary"]["notes"])


@test
def gitleaksignore_is_honoured():
    repo, commit = leaky(3)
    repo.write("0.txt", f"more\nlines\ntoken = {github_token(0)}\n")
    second = repo.commit("a later version of the file")
    repo.write(".gitleaksignore", f"# known\n{commit}:0.txt:some-rule:2\n1.txt:other-rule:2\n{second}:2.txt:other-rule:2\n"
                                  f"1.txt:other-rule:3\nnot this\n")
    repo.commit("ignored")
    listed = [(".gitleaksignore:2", "gitleaks rule some-rule", 1), (".gitleaksignore:3", "gitleaks rule other-rule", 1)]
    paths, rows, notes = suppressions("repo")
    equal((paths, rows), (["2.txt"], listed), "the third names another commit, the fourth another line")
    holds(any(note.startswith(".gitleaksignore:6: not a fingerprint") for note in notes), notes)
    repo.git("clone", "-q", "--bare", ".", "../bare")
    equal(suppressions("bare")[:2], (["2.txt"], listed), "of HEAD")
    for state in range(2):
        equal(suppressions("repo", "--state", "state")[:2], (["2.txt"], listed), state)
    equal(suppressions("repo", "--no-repo-config")[:2], (["0.txt", "1.txt", "2.txt"], []))
    equal(suppressions("--dir", "repo")[:2], (["0.txt", "2.txt"], listed[1:]), "a folder has no commits")
    equal(suppressions("repo", "--commit", second)[0], [], "it was there before, ignored or not")
    text = run("scan", "repo").out
    holds(".gitleaksignore:2" in text and "gitleaks rule some-rule" in text, text)


@test
def a_line_of_gitleaksignore_is_for_one_line_of_one_file():
    repo = Repo("repo")
    repo.write("a/same.txt", f"a line\ntoken = {github_token(0)}\n")
    repo.commit("first")
    for entry, listed in (("a/same.txt:r:1", 0), ("a/same.txt:r:3", 0), ("b/same.txt:r:2", 0), ("same.txt:r:2", 0), ("a/same.txt:r:2", 1)):
        repo.write(".gitleaksignore", f"{entry}\n")
        equal(len(suppressions("repo")[1]), listed, entry)


@test
def a_long_gitleaksignore_does_not_fill_the_screen():
    repo, _ = leaky(9)
    for entries, listed, more in ((6, 6, None), (9, 5, "4 occurrences by 4 more lines of .gitleaksignore")):
        repo.write(".gitleaksignore", "".join(f"{i}.txt:some-rule:2\n" for i in range(entries)))
        text = run("scan", "--dir", "repo").out
        equal(text.count("gitleaks rule some-rule"), listed, text)
        holds(("more lines of" in text) == (more is not None) and (more or "") in text, text)
        page = re.sub(r"</?code>", "", run("scan", "--dir", "repo", "--format", "html").out)
        equal((page.count("gitleaks rule some-rule"), page.count("more lines of"), (more or "") in page), (listed, 1 if more else 0, True))


@test
def marks_of_other_tools_are_honoured():
    repo = Repo("repo")
    marks = ["gitleaks:allow", "trufflehog:ignore", "pragma: allowlist secret", "pragma: whitelist secret", "nosec"]
    for i, mark in enumerate(marks):
        repo.write(f"{i}.py", f"x = '{github_token(i)}'  # {mark}\n")
    repo.write("next.py", f"# pragma: allowlist nextline secret\nx = '{github_token('next')}'\ny = '{github_token('after')}'\n")
    repo.commit("marked")
    paths, rows, _ = suppressions("repo")
    equal(paths, ["next.py"])
    equal([source for source, _, _ in rows], sorted([*marks, "pragma: allowlist nextline secret"]))


GITLEAKS_RULES = r"""
title = "made up"
[[rules]]
id = "acme_Token"
description = "Acme's token"
regex = '''(?i)[\w.-]{0,50}?(?:acme)(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|:)[\s'"]{0,5}([a-z0-9]{20,})(?:[\s'"]|$)'''
entropy = 3
keywords = ["acme"]
[[rules]]
id = "pair"
description = "the second group"
regex = '''(user|login)=tok_([A-Z0-9]{16})\b'''
secretGroup = 2
path = '''\.conf$'''
    [[rules.allowlists]]
    paths = ['''(?:^|/)tests/.*''']
    stopwords = ["example"]
[[rules]]
id = "near"
description = "no text of its own"
regex = '''\b([a-f0-9]{32})\b'''
keywords = ["zenith"]
[[rules]]
id = "ahead"
description = "looks ahead"
regex = '''(?!x)tok_[a-z]{8}'''
[[rules]]
id = "file"
description = "by path"
path = '''\.p12$'''
"""

NOSEY_PARKER_RULES = r"""
rules:
- name: Acme's key
  id: np.acme.1
  pattern: |
    (?x)(?i)
    acme_key      # the name
    \s* = \s*
    ( [a-z0-9]{24} )
    (?: [^a-z0-9] | $ )
  references:
  - https://acme.example/keys
  examples: ['acme_key = x']
"""


def secrets_of(*arguments):
    result = run("scan", "--dir", "--no-builtin-rules", "--format", "jsonl", "--show-secrets", *arguments)
    holds(result.status in (CLEAN, FINDINGS), result)
    return sorted((one["rule"], one["occurrences"][0]["path"], one["secret"]) for one in map(json.loads, result.out.splitlines()))


@test
def rules_of_gitleaks_are_translated():
    result = run("rules", "import", put("gitleaks.toml", GITLEAKS_RULES))
    equal(result.status, FINDINGS, result)
    for line in ("rule 'acme-token': repeats without a limit now have the limit 4096", "rule 'pair': allowlist stopwords: not translated",
                 "rule 'near': a keyword must be within 256 bytes",
                 "rule 'ahead': not translated: pattern: looks ahead or behind", "rule 'file': not translated: it has no regex",
                 "3 of 5 rules translated"):
        holds(line in result.err, (line, result.err))
    put("rules.yml", result.out)
    shown = run("rules", "list", "--no-builtin-rules", "--rules", "rules.yml", "--json")
    equal(shown.status, CLEAN, shown)
    rules = {one["id"]: one for one in map(json.loads, shown.out.splitlines())}
    equal(sorted(rules), ["acme-token", "near", "pair"])
    equal((rules["pair"]["paths"], sorted(rules["pair"]["not-paths"])), (["*.conf"], ["**/tests/**", "tests/**"]))
    equal((rules["acme-token"]["entropy"], rules["near"]["keywords"]), (3, ["zenith"]))
    long, near = "k7q2m9x4w1z8v3b6n5c0" * 3, "3f9a0c6e1b7d48529e0f6a7b8c9d0e1f"
    os.makedirs("texts/tests")
    put("texts/a.txt", f"ACME_KEY = '{long}'\nuser=tok_A1B2C3D4E5F6G7H8\n")
    put("texts/b.conf", "login=tok_Q9W8E7R6T5Y4U3I2\n")
    put("texts/tests/c.conf", "login=tok_Z9X8C7V6B5N4M3L2\n")
    put("texts/d.txt", f"zenith: {near}\n")
    put("texts/e.txt", f"md5: {near[::-1]}\n")
    equal(secrets_of("texts", "--rules", "rules.yml"),
          [("acme-token", "a.txt", long), ("near", "d.txt", near), ("pair", "b.conf", "Q9W8E7R6T5Y4U3I2")])


GROUPED_RULES = r"""
[[rules]]
id = "two-forms"
regex = '''acme[\s=]+([a-z0-9]{24})|\b(acme3_[a-z0-9]{40})\b'''

[[rules]]
id = "few-texts"
regex = '''zk_(live|test)_[a-z0-9]{24}'''
"""

USER_AND_PASSWORD = r"""
rules:
- name: Connection
  id: np.zdb.1
  pattern: |
    (?x)
    zdb://
    ( [a-z]{3,} ) : ( [a-z0-9]{3,} ) @
"""


@test
def the_secret_of_a_pattern_with_several_groups_is_found_in_every_form_and_shown_in_none():
    old, new, live, other = "k7q2m9x4w1z8v3b6n5c0d2f4", "m4x8k2q9" * 5, "p3w7r1t5y9u2" * 2, "b8n4v6c2x7z1" * 2
    os.makedirs("texts")
    put("texts/a.txt", f"acme = {old}\n'acme3_{new}'\nzk_live_{live}\nzk_live_{other}\nzdb://admin:{live[::-1]}@host\n")
    imported = run("rules", "import", put("grouped.toml", GROUPED_RULES))
    equal(imported.status, CLEAN, imported)
    holds("rule 'few-texts': has 1 group, and the secret may be outside; the whole match is the secret" in imported.err, imported.err)
    put("rules.yml", imported.out)
    equal(secrets_of("texts", "--rules", "rules.yml"),
          [("few-texts", "a.txt", f"zk_live_{other}"), ("few-texts", "a.txt", f"zk_live_{live}"),
           ("two-forms", "a.txt", f"acme = {old}"), ("two-forms", "a.txt", f"acme3_{new}")])
    imported = run("rules", "import", put("pair.yml", USER_AND_PASSWORD))
    holds("has 2 groups; the secret is the part of the match from the first to the last of them" in imported.err, imported.err)
    put("rules.yml", imported.out)
    equal(secrets_of("texts", "--rules", "rules.yml"), [("np-zdb-1", "a.txt", f"admin:{live[::-1]}")])
    text = run("scan", "--dir", "texts", "--no-builtin-rules", "--rules", "rules.yml").out
    holds("zdb://********@host" in text and live[::-1] not in text, text)


@test
def rules_of_nosey_parker_are_translated():
    result = run("rules", "import", put("acme.yml", NOSEY_PARKER_RULES))
    equal(result.status, CLEAN, result)
    put("rules.yml", result.out)
    os.makedirs("texts")
    put("texts/a.txt", "Acme_Key = k7q2m9x4w1z8v3b6n5c0d1f2\n")
    equal(secrets_of("texts", "--rules", "rules.yml"), [("np-acme-1", "a.txt", "k7q2m9x4w1z8v3b6n5c0d1f2")])


@test
def a_rule_for_hashes_of_passwords_finds_them():
    """Other rules reject hashes, so that the translated rule found nothing, not even its own examples."""
    one, other = ("$1$" + made_up(8, i) + "$" + made_up(22, f"hash {i}") for i in range(2))
    put("hash.yml", json.dumps({"rules": [{"name": "Hash", "id": "np.hash.1", "pattern": r"(\$1\$[./A-Za-z0-9]{8}\$[./A-Za-z0-9]{22})",
                                           "examples": [one]}]}))
    result = run("rules", "import", "hash.yml")
    equal((result.status, result.out.count("password-hash")), (CLEAN, 1), result)
    holds("finds nothing" not in result.err, result)
    put("rules.yml", result.out)
    os.makedirs("texts")
    put("texts/a.txt", f"root: {other}\n")
    equal(secrets_of("texts", "--rules", "rules.yml"), [("np-hash-1", "a.txt", other)])


WITH_EXAMPLES = r"""
rules:
- name: Acme token
  id: np.acme.2
  pattern: '\b(acme_[a-z0-9]{20})\b'
  examples:
  - "token: acme_k7q2m9x4w1z8v3b6n5c0 # 'quoted' \"twice\" \\ back, é\n\tnext line"
  - 'acme_k7q2m9x4w1z8v3b6n5c0'
  - 'acme_xxxxxxxxxxxxxxxxxxxx'
  negative_examples:
  - 'acme_short'
  - 'it is acme_k7q2m9x4w1z8v3b6n5c1'
"""


@test
def examples_are_kept_if_the_translated_rule_agrees_with_them():
    put("a.yml", WITH_EXAMPLES)
    put("b.yml", NOSEY_PARKER_RULES)
    result = run("rules", "import", "a.yml", "b.yml")
    equal(result.status, CLEAN, result)
    for line in ("rule 'np-acme-2': the translated rule finds nothing in 1 of 3 examples, which are omitted",
                 "rule 'np-acme-2': the translated rule finds a secret in 1 of 2 examples without one, which are omitted",
                 "rule 'np-acme-1': the translated rule finds nothing in 1 of 1 examples, which are omitted",
                 "a.yml: 1 of 1 rules translated", "b.yml: 1 of 1 rules translated"):
        holds(line in result.err, (line, result.err))
    equal(result.out.count("rules:\n"), 1, "one file of rules")
    holds("acme_k7q2m9x4w1z8v3b6n5c0" not in result.out, "other scanners do not find the examples")
    put("both.yml", result.out)
    checked = run("rules", "check", "both.yml")
    holds("np-acme-2" not in checked.out and "2 rules, 2 problems" in checked.out, checked)
    put("good.yml", result.out[:result.out.index("  - id: np-acme-1")])
    equal(run("rules", "check", "good.yml").status, CLEAN, "the examples prove the translation")
    complains(USAGE, "cannot read 'missing.yml': No such file or directory", "rules", "import", "missing.yml")
    equal(run("rules", "import", "a.yml", "missing.yml").status, USAGE)


BAD_RULES = """rules:
  - id: Bad_Id
    pattern: 'x+'
    severity: huge
  - id: two
    name: two
    pattern: '(?<secret>abc'
    severity: low
    colour: red
  - id: three
    name: three
    pattern: '(?<secret>tok_[a-z]+)'
    severity: low
  - id: four
    name: four
    pattern: '(?<secret>tok_[a-z]{8})'
    severity: low
"""


@test
def all_problems_of_a_rule_file_are_reported_at_once():
    result = run("rules", "check", put("bad.yml", BAD_RULES))
    equal(result.status, FINDINGS, result)
    problems = [line.split(": ")[:3] for line in result.out.splitlines()[:-1]]
    for line, rule, field in ((2, None, "id"), (2, "Bad_Id", "name"), (4, "Bad_Id", "severity"), (3, "Bad_Id", "pattern"),
                              (7, "two", "pattern"), (12, "three", "pattern")):
        holds([f"bad.yml:{line}", *([f"rule '{rule}'"] if rule else []), field] in [one[:3 if rule else 2] for one in problems],
              (line, rule, field, result.out))
    holds("bad.yml:9: a rule has no field 'colour'" in result.out, result.out)
    holds("PCRE2 rejects it: missing closing parenthesis" in result.out, result.out)
    complains(USAGE, "bad.yml:2: id: must have 1 to 64 characters, all of them a-z, 0-9 or '-'; 6 more problems: see 'turnstone rules check'",
              "scan", "--rules", "bad.yml", "-")


@test
def an_invalid_rule_file_is_refused():
    for text, why in (("[[rules]]\nid = x\n", "line 2: a value is neither"), ("rules: [", "neither TOML nor YAML"),
                      ("a: b\n", "no list of rules"), ("rules:\n- {id: x, severity: high}\n", "already contains rules of turnstone")):
        complains(USAGE, why, "rules", "import", put("wrong", text))
    complains(USAGE, "cannot read", "rules", "import", "missing.toml")
    complains(USAGE, "no file given; name files with rules of gitleaks or Nosey Parker", "rules", "import")


main()
