#!/usr/bin/env python3
"""turnstone rules, from the command line."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import answers, complains, run  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

SOUND = """
rules:
  - id: team-token
    name: Token of the team
    pattern: '\\b(?<secret>team_[a-z0-9]{20})\\b'
    gate: [team_]
    severity: high
    reach: 25
    examples:
      match:
        - text: 'x = team_~~4fake7turnstone2only'
          secret: team_~~4fake7turnstone2only
      no-match:
        - team_short
"""


# A rule with all fields. Each field differs from its default.
FULL = """
rules:
  - id: full-token
    name: Token of all fields
    description: "Told \\u202e, in a line"
    revoke: Ask the team
    url: https://team.example/tokens
    pattern: '(?:^|[^a-z0-9]{1,5})(?<secret>[a-z0-9]{20})\\b'
    gate: {token: true, lead: 5}
    keywords: [full, brim]
    paths: [conf/, "{{baselines}}"]
    not-paths: ['*.md']
    distance: 33
    entropy: 2.125
    validators: [not-hex, mixed]
    severity: low
    confidence: high
    reach: 30
    pair: [other-token]
    context: true
    generic: true
    examples:
      match:
        - text: 'full = 4fake7turnstone2only'
          secret: 4fake7turnstone2only
      no-match:
        - full = short
  - id: other-token
    name: Token with texts
    pattern: '(?<secret>other_[a-z0-9]{20})'
    gate: {literals: [other_], anchors: ['ot[h]er_'], lead: 6}
    severity: high
    reach: 26
"""


def write(name, text):
    with open(name, "w") as file:
        file.write(text)
    return name


@test
def list_names_every_rule_once():
    result = run("rules", "list")
    equal((result.status, result.err), (0, ""))
    ids = [line.split()[0] for line in result.out.splitlines()]
    holds(len(ids) >= 80, len(ids))
    equal(len(ids), len(set(ids)))
    holds({"github-pat", "private-key", "jwt", "aws-secret-access-key", "generic-secret"} <= set(ids), ids)


@test
def list_as_json_has_everything():
    lines = [json.loads(line) for line in run("rules", "list", "--json").out.splitlines()]
    equal(len(lines), len(run("rules", "list").out.splitlines()))
    for rule in lines:
        holds(rule["severity"] in ("low", "medium", "high", "critical"), rule)
        holds("(?<secret>" in rule["pattern"] and rule["reach"] > 0, rule)
        holds(rule["literals"] or rule["anchors"] or rule["keywords"], rule)


@test
def json_has_every_field_of_a_rule():
    full, other = (json.loads(line) for line in
                   run("rules", "list", "--json", "--no-builtin-rules", "--rules", write("full.yml", FULL)).out.splitlines())
    equal(full, {
        "id": "full-token", "name": "Token of all fields", "description": "Told \u202e, in a line", "revoke": "Ask the team", "url": "https://team.example/tokens",
        "severity": "low", "confidence": "high", "pattern": "(?:^|[^a-z0-9]{1,5})(?<secret>[a-z0-9]{20})\\b",
        "gate": "token", "literals": [], "anchors": [], "lead": 5, "keywords": ["full", "brim"], "distance": 33,
        "paths": full["paths"], "not-paths": ["*.md"], "entropy": 2.125, "validators": ["not-hex", "mixed"], "reach": 30, "generic": True, "scored": False, "derived": [], "verify": None,
        "pair": ["other-token"], "context": True,
        "examples": {"match": [{"text": "full = 4fake7turnstone2only", "secret": "4fake7turnstone2only"}],
                     "no-match": ["full = short"]},
        "file": "full.yml", "line": 3})
    equal(full["paths"][:2], ["conf/", ".secrets.baseline"])
    known = {rule["id"] for rule in map(json.loads, run("rules", "list", "--json").out.splitlines())}
    pairs = {name for rule in map(json.loads, run("rules", "list", "--json").out.splitlines()) for name in rule["pair"]}
    holds(pairs and pairs <= known, pairs - known)
    equal((other["gate"], other["literals"], other["anchors"], other["lead"]),
          ("literal", ["other_"], ["ot[h]er_"], 6))
    equal((other["examples"], other["generic"], other["entropy"]), ({"match": [], "no-match": []}, False, 0))
    equal(json.loads(run("rules", "explain", "--json", "full-token", "--rules", "full.yml").out), full)


@test
def rules_of_users_are_added_or_take_a_place():
    own = write("own.yml", SOUND)
    count = len(run("rules", "list").out.splitlines())
    equal(len(run("rules", "list", "--rules", own).out.splitlines()), count + 1)
    answers("team-token  high      Token of the team\n", "rules", "list", "--no-builtin-rules", "--rules", own)
    other = write("other.yml", SOUND.replace("team-token", "github-pat"))
    equal(len(run("rules", "list", "--rules", other).out.splitlines()), count)
    holds("team_" in run("rules", "explain", "github-pat", "--rules", other).out, "replaced")
    complains(2, "--rules", "rules", "list", "--no-builtin-rules")


@test
def check_says_that_sound_rules_hold():
    answers("own.yml: 1 rule, 0 problems\n", "rules", "check", write("own.yml", SOUND))
    holds(run("rules", "check").out.endswith(" rules, 0 problems\n"), "built-in")


@test
def check_names_file_line_rule_field_and_cure():
    def problem(text, *parts):
        result = run("rules", "check", write("own.yml", text))
        equal((result.status, result.err), (1, ""), text)
        for part in ("own.yml:", "rule 'team-token'", *parts):
            holds(part in result.out, f"{part} not in {result.out}")
    problem(SOUND.replace("reach: 25", "reach: 24"), "pattern", "25", "raise reach")
    problem(SOUND.replace("    reach: 25\n", "").replace("{20})", "{20,})"), "pattern: has no longest match", "{1,64}")
    problem(SOUND.replace("    reach: 25\n", "").replace("{20})", "{20})(?=x)"), "pattern: Vectorscan rejects it: Zero-width assertions")
    problem(SOUND.replace("    reach: 25\n", "").replace("{20})", "{20})\\1"), "pattern: Vectorscan rejects it: Back-references")
    problem(SOUND.replace("{20})", "{20,})"), "no longest match")
    problem(SOUND.replace("?<secret>", "?:"), "no group named secret")
    problem(SOUND.replace("{20})", "{20}"), "PCRE2")
    problem(SOUND.replace("[team_]", "[teem_]"), "gate", "pass this example")
    problem(SOUND.replace("- team_short", "- team_9fake7turnstone2only"), "no-match", "matches")
    problem(SOUND.replace("x = team_", "x = tram_"), ":11", "does not match")
    problem(SOUND.replace("secret: team_~~4", "secret: team_~~5"), "finds a secret other than")
    problem(SOUND.split("    examples:")[0], "examples")
    problem(SOUND.replace("severity: high", "severity: grave"), "severity", "critical")
    problem(SOUND + SOUND.split("rules:\n")[1], "own.yml:15", "twice", "line 3")
    problem(SOUND.replace("'\\b(", "'{{beginning}}("), "{{beginning}}", "{{start}}")
    problem(SOUND.replace("severity:", "url: http://x\n    severity:"), "own.yml:7", "url", "https://")
    result = run("rules", "check", write("own.yml", SOUND.replace("gate:", "gates:")))
    holds("own.yml:6: a rule has no field 'gates'; did you mean 'gate'?" in result.out, result.out)
    result = run("rules", "check", "--json", write("own.yml", SOUND.replace("reach: 25", "reach: 24")))
    equal(json.loads(result.out)["rule"], "team-token")


def token_rule(pattern, gate="{token: true, lead: 2}", match="team = 4fake7turnstone2only", secret=None):
    return f"""
rules:
  - id: team-token
    name: Token of the team
    pattern: '{pattern}'
    gate: {gate}
    keywords: [team]
    severity: high
    reach: 80
    examples:
      match:
        - text: '{match}'
          secret: '{secret or match.split()[-1]}'
      no-match:
        - team
"""


@test
def check_proves_that_a_lead_is_too_small_where_it_can():
    def checked(status, *parts, **rule):
        result = run("rules", "check", write("own.yml", token_rule(**rule)))
        equal((result.status, result.err), (status, ""), result)
        for part in parts:
            holds(part in result.out, f"{part} not in {result.out}")
    sound = "own.yml: 1 rule, 0 problems\n"
    token = "(?<secret>[a-z0-9]{20})\\b"
    checked(0, sound, pattern="(?:\\b|\\\\[nrt])" + token)
    lost = ("own.yml:3: rule 'team-token': gate: loses matches", "5 bytes before its token", "lead is 2",
            "write gate: {token: true, lead: 5}")
    checked(1, *lost, pattern="[ :]{0,5}" + token)
    checked(0, sound, pattern="[ :]{0,5}" + token, gate="{token: true, lead: 5}")
    checked(0, sound, pattern="[ :]{0,5}" + token, gate="token")
    checked(1, "lead is 4", pattern="[ :]{0,5}" + token, gate="{token: true, lead: 4}")
    # If the pattern contains a keyword, the search begins at the keyword.
    checked(1, "loses matches", "lead: 5", pattern="(?:team_)?" + token)
    # The token can be a part of the secret: here it is what follows the colon.
    colon = {"pattern": "\\b(?<secret>[0-9]{9}:[a-f0-9]{32})\\b",
             "match": "team 123456789:0fa1ce2fa3ce4fa5ce6ffa7ce8fa9ce0"}
    checked(1, "lead: 10", **colon)
    checked(0, sound, gate="{token: true, lead: 10}", **colon)
    checked(0, sound, gate="token", **colon)
    checked(1, "passes nothing", pattern="(?<secret>[a-z]{12})", match="team fortytwoword")


@test
def check_warns_where_it_cannot_decide():
    def warned(*parts, **rule):
        path = write("own.yml", token_rule(**rule))
        result = run("rules", "check", path)
        equal((result.status, result.err), (0, ""), result)
        for part in ("own.yml:3: rule 'team-token': gate: warning: ", *parts, "own.yml: 1 rule, 0 problems, 1 warning\n"):
            holds(part in result.out, f"{part} not in {result.out}")
        told = json.loads(run("rules", "check", "--json", path).out)
        equal((told["level"], told["rule"], told["field"]), ("warning", "team-token", "gate"))
    # The token begins at the start of the match, because "xyz1-" before the secret has only characters of
    # tokens.
    warned("may lose matches", "lead: 5", pattern="\\bxyz1-(?<secret>[a-z0-9]{20})\\b",
           match="team = xyz1-4fake7turnstone2only", secret="4fake7turnstone2only")
    warned("cannot tell from this pattern", pattern="(?:x(?<secret>[a-z0-9]{20})){1,2}", match="team = x4fake7turnstone2only",
           secret="4fake7turnstone2only")
    result = run("rules", "check", "--json", write("own.yml", token_rule("[ :]{0,5}(?<secret>[a-z0-9]{20})")))
    equal((result.status, json.loads(result.out)["level"]), (1, "problem"))


@test
def check_reports_all_problems_of_a_file_at_once():
    bad = SOUND.replace("team-token", "bad-token").replace("severity: high", "severity: grave").replace(
        "gate: [team_]", "gate: [te]\n    entropy: 9\n    validators: [nothing]\n    size: 3")
    unmatched = SOUND.replace("team-token", "other-token").replace("x = team_", "x = tram_")
    result = run("rules", "check", write("own.yml", SOUND + bad.split("rules:\n")[1] + unmatched.split("rules:\n")[1]))
    equal((result.status, result.err), (1, ""))
    places = [":".join(line.split(":")[:4]) for line in result.out.splitlines()]
    equal(places, [
        "own.yml:21: a rule has no field 'size'; remove it",
        "own.yml:18: rule 'bad-token': gate",
        "own.yml:19: rule 'bad-token': entropy",
        "own.yml:20: rule 'bad-token': validators",
        "own.yml:22: rule 'bad-token': severity",
        "own.yml:38: rule 'other-token': examples match",
        "own.yml: 2 rules, 6 problems",
    ])


@test
def missing_fields_of_a_rule_are_derived_from_its_pattern():
    def derived(rule):
        text = f"rules:\n  - id: short\n    name: N\n    severity: low\n    pattern: '{rule[0]}'\n" + "".join(rule[1:])
        result = run("rules", "list", "--json", "--no-builtin-rules", "--rules", write("own.yml", text))
        equal((result.status, result.err), (0, ""), result)
        told = json.loads(result.out)
        return told["gate"], told["literals"], told["anchors"], told["lead"], told["reach"], told["derived"]
    everything = ["reach", "gate", "lead"]
    equal(derived(["{{start}}(?<secret>team_[a-z0-9]{20}){{end}}"]),
          ("literal", ["team_"], [], 24, 45, everything))
    equal(derived(["(?<secret>te(?:am|st)[sp]_[a-z0-9]{20})"]),
          ("literal", ["teamp_", "teams_", "testp_", "tests_"], [], 6, 26, everything))
    equal(derived(["x{0,9}(?:key)?_?(?<secret>[a-z]{4}-live-[0-9]{9})"]),
          ("literal", ["-live-"], [], 23, 32, everything))
    equal(derived(["(?i)team[_-]?key=(?<secret>[a-z]{9})"])[1:3],
          ([], ["[Tt][Ee][Aa][Mm][Kk][Ee][Yy]\\x3d", "[Tt][Ee][Aa][Mm]\\x2d[Kk][Ee][Yy]\\x3d",
                "[Tt][Ee][Aa][Mm]\\x5f[Kk][Ee][Yy]\\x3d"]))
    # Hundreds of rules with the gate "token" cost as much as one such rule. A rare literal costs even less
    # than that.
    keywords = "    keywords: [team]\n"
    equal(derived(["{{start}}(?<secret>[a-f0-9]{32}){{end}}", keywords]), ("token", [], [], 19, 52, everything))
    equal(derived(["(?<secret>[0-9]{9}:[a-f0-9]{32})", keywords]), ("token", [], [], 26, 42, everything))
    equal(derived(["(?<secret>sk-[a-f0-9]{32})", keywords])[0], "token")
    equal(derived(["(?<secret>sk_live-[a-f0-9]{32})", keywords])[0], "literal")
    equal(derived(["(?<secret>team_[a-z0-9]{20})", "    gate: [team_]\n"]),
          ("literal", ["team_"], [], 25, 25, ["reach", "lead"]))
    told = run("rules", "explain", "short", "--rules", "own.yml").out
    holds("reach         at most 25 bytes; from the pattern\n" in told, told)
    complains(2, ["gate: is missing", "keywords"], "rules", "list", "--rules",
              write("own.yml", SOUND.replace("    gate: [team_]\n", "").replace("team_[", "[")))


@test
def start_is_after_escapes_and_colours_and_nowhere_else():
    rule = SOUND.replace("'\\b(", "'{{start}}(").replace(")\\b'", "){{end}}'").replace("    reach: 25\n", "")
    token = "team_4fake7turnstone2only"
    starts = ["", "=", '"', " ", "-", "\\n", "\\t", "\\x22", "\\u003d", "\\U0000003d", "\\075", "\\0", "%22", "%3D",
              "\x1b[31m", "\x1b[m", "\x1b[38;5;196m", "\\033[0;31m", "\\e[1m", "\x1b[K", "[36;1m"]
    others = ["x", "_", "n", "\\x2", "\\u003", "\\y", "%2", "[m", "[x", "3m", "\x1b31m"]
    ends = ["", "\n", '"', "'", ")", "\\n", "\\u0022", "%22", "\x1b[0m", ",", "<", ".", "/"]
    for index, text in enumerate([start + token for start in starts] + [token + end for end in ends]):
        write("own.yml", rule)
        write("text", text)
        result = run("scan", "--no-builtin-rules", "--rules", "own.yml", "--fail-on-confidence", "low", "--format", "jsonl", "text")
        equal((result.status, len(result.out.splitlines())), (1, 1), f"{index}: {text!r}: {result}")
    for text in [other + token for other in others] + [token + end for end in ("x", "_", "-", "9")]:
        write("text", text)
        equal(run("scan", "--no-builtin-rules", "--rules", "own.yml", "--fail-on-confidence", "low", "text").status, 0, repr(text))


@test
def a_file_that_is_no_rule_file_is_refused():
    def refused(text, *parts):
        complains(2, ["own.yml", *parts], "rules", "check", write("own.yml", text))
    refused("", "rules")
    refused("rules: [", "not YAML")
    refused("- a\n", "mapping")
    complains(2, "nowhere.yml", "rules", "check", "nowhere.yml")
    complains(2, ".", "rules", "check", ".")


@test
def explain_prints_the_fields_of_a_rule():
    result = run("rules", "explain", "aws-secret-access-key")
    for part in ("AWS secret access key", "keywords", "finds", "leaves", "critical"):
        holds(part in result.out, part)
    equal(json.loads(run("rules", "explain", "--json", "jwt").out)["id"], "jwt")
    answers("""\
id            full-token
name          Token of all fields
abused        Told \\xe2\\x80\\xae, in a line
revoke        Ask the team
url           https://team.example/tokens
severity      low
confidence    high
pattern       (?:^|[^a-z0-9]{1,5})(?<secret>[a-z0-9]{20})\\b
gate          16 or more token characters with at least two digits, after one of the keywords
lead          a match begins at most 5 bytes before these characters
paths         conf/
not paths     *.md
keywords      full, brim
pair          other-token
distance      a keyword within 33 bytes before the secret
entropy       at least 2.125 bits per character
validator     not-hex
validator     mixed
generic       ignored where a rule for a specific issuer matches
context       not a secret; reported only with the secret that it belongs to
reach         at most 30 bytes
finds         full = 4fake7turnstone2only
  secret      4fake7turnstone2only
leaves        full = short
file          full.yml, line 3

id            other-token
name          Token with texts
severity      high
confidence    medium
pattern       (?<secret>other_[a-z0-9]{20})
gate          every match contains one of these
literals      other_
anchors       ot[h]er_
lead          a match begins at most 6 bytes before the end of one of them
reach         at most 26 bytes
file          full.yml, line 28
""", "rules", "explain", "full-token", "other-token", "--rules",
            write("full.yml", FULL.replace(', "{{baselines}}"', "")))
    complains(2, ["'github-patt'", "did you mean 'github-pat'"], "rules", "explain", "github-patt")
    complains(2, "which rule", "rules", "explain")


@test
def explain_leaves_nothing_out_of_what_is_long():
    pattern = "(?<secret>" + "|".join(f"team_{number:04}[a-z0-9]{{15}}\\b" for number in range(200)) + ")"
    text = SOUND.replace("'\\b(?<secret>team_[a-z0-9]{20})\\b'", f"'{pattern}'")
    text = text.replace("- team_short", f"- '{'team short ' * 300}.'")
    told = run("rules", "explain", "team-token", "--rules", write("own.yml", text)).out.splitlines()
    holds(f"pattern       {pattern}" in told, told)
    holds(f"leaves        {'team short ' * 300}." in told, told)


@test
def a_labelled_folder_is_scored():
    os.mkdir("labelled")
    write("own.yml", SOUND)
    write("labelled/a.txt", "x = team_4fake7turnstone2only\ny = team_5fake8turnstone3only\nz = team_short\n")
    write("labelled/labels.tsv", "a.txt\t1:5\t1:30\tteam\tteam-token\na.txt\t3:5\t3:15\tteam\n")
    words = ("rules", "test", "--corpus", "labelled", "--no-builtin-rules", "--rules", "own.yml", "--min-confidence", "low")
    score = json.loads(run(*words, "--json", "--list").out)
    equal((score["found"], score["wrong"], score["secrets"], score["precision"], score["recall"]), (1, 1, 2, 0.5, 0.5))
    equal(score["families"]["team"], {"found": 1, "wrong": 0, "precision": 1, "secrets": 2, "recall": 0.5})
    equal(score["rules"]["team-token"], {"found": 1, "wrong": 1, "precision": 0.5})
    equal(score["missed"], [{"path": "a.txt", "line": 3, "column": 5, "family": "team", "rule": ""}])
    equal(score["false_positives"], [{"path": "a.txt", "line": 2, "column": 5, "family": "", "rule": "team-token"}])
    text = run(*words, "--list").out
    holds("missed  a.txt:3:5  team  -\n" in text and "wrong  a.txt:2:5  -  team-token\n" in text, text)
    complains(2, "labels.tsv: No such file", "rules", "test", "--corpus", ".")
    complains(2, "takes --corpus DIR", "rules", "test")
    write("labelled/labels.tsv", "a.txt\n")
    complains(2, "labels.tsv:1: too few fields", "rules", "test", "--corpus", "labelled")


@test
def a_hostile_rule_file_is_not_printed_raw():
    text = SOUND.replace("Token of the team", '"a\\e[31mred"')
    holds("\x1b" not in run("rules", "list", "--rules", write("own.yml", text)).out, "escaped")


main()
