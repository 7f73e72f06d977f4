#!/usr/bin/env python3
"""Checks that the gates of the built-in rules pass all texts that their patterns match.

For each rule, the test makes texts that the rule's pattern matches: shortest and longest texts, first and
last characters of classes, upper and lower case where case does not matter, keywords at the maximum distance.
The rules are used without entropy, validators and `generic`. So only the gates can cause a difference between
a scan with gates and a scan without gates.
"""
import functools
import glob
import json
import os
import random
import re
import re._constants as op
import re._parser as parser
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import IS_SANITIZED, run  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "rules")
# Number of texts for each rule. The sanitized program scans fewer texts, because gates are data, not code.
EACH = 10 if IS_SANITIZED else 40
SPACES = " \t\n\r\v\f"
ANY = [chr(code) for code in range(32, 127)] + ["\t", "\n", "\r", "\x80", "\xff"]
CATEGORIES = {op.CATEGORY_SPACE: SPACES, op.CATEGORY_NOT_SPACE: [one for one in ANY if one not in SPACES],
              op.CATEGORY_DIGIT: "0123456789"}


@functools.lru_cache(maxsize=None)
def class_of(items):
    """Returns the characters of a class, sorted."""
    members, negated = set(), False
    for kind, value in items:
        if kind is op.NEGATE:
            negated = True
        elif kind is op.LITERAL:
            members.add(chr(value))
        elif kind is op.RANGE:
            members |= {chr(code) for code in range(value[0], value[1] + 1)}
        else:
            members |= set(CATEGORIES[value])
    return sorted(set(ANY) - members if negated else members)


@functools.lru_cache(maxsize=None)
def tree_of(pattern):
    return parser.parse(pattern.replace("(?<secret>", "(?P<secret>"))


class Maker:
    """Generates a text that a pattern matches. The ways to choose repeats, characters and cases are drawn
    once for the whole text."""

    def __init__(self, chance):
        self.chance = chance
        self.repeats = chance.choice(["least", "most", "any", "any"])
        self.extremes = chance.choice([0, 0.3, 0.6])
        self.case = chance.choice([str, str.upper, str.lower, str.swapcase, self.any_case])

    def any_case(self, text):
        return "".join(self.chance.choice([one.upper(), one.lower()]) for one in text)

    def one_of(self, characters):
        if self.chance.random() < self.extremes:
            return self.chance.choice([characters[0], characters[-1]])
        return self.chance.choice(characters)

    def count(self, least, most):
        if self.repeats == "any":
            return self.chance.choice([least, most, self.chance.randint(least, most), min(most, least + 3)])
        return least if self.repeats == "least" else most

    def make(self, tree, flags):
        return "".join(self.make_one(kind, value, flags) for kind, value in tree)

    def make_one(self, kind, value, flags):
        cased = self.case if flags & re.IGNORECASE else str
        if kind is op.LITERAL:
            return cased(chr(value))
        if kind is op.NOT_LITERAL:
            return self.one_of(class_of(((op.NEGATE, None), (op.LITERAL, value))))
        if kind is op.IN:
            one = self.one_of(class_of(tuple(value)))
            return cased(one) if one.isascii() else one
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            return "".join(self.make(value[2], flags) for _ in range(self.count(value[0], value[1])))
        if kind is op.BRANCH:
            return self.make(self.chance.choice(value[1]), flags)
        if kind is op.SUBPATTERN:
            return self.make(value[3], (flags | value[1]) & ~value[2])
        if kind is op.AT:
            return ""
        raise ValueError(f"{kind} in a pattern, which this test does not know")


def make_text(rule, chance):
    maker = Maker(chance)
    tree = tree_of(rule["pattern"])
    text = maker.make(tree, tree.state.flags)
    if rule["keywords"]:
        keyword = chance.choice([str, str.upper, maker.any_case])(chance.choice(rule["keywords"]))
        far = rule["distance"] - len(keyword)
        gap = chance.choice([chance.choice([" ", '="', ": ", "_x: "]), " " * (far - chance.randint(0, 2))])
        text = keyword + gap + text
    before = chance.choice(["", " ", "\n", 'x = "', "a b c\n", "...", "\\n"])
    return before + text + chance.choice(["", "\n", " ", '"', ";", "x"])


def bare_rules():
    """Returns the built-in rules as the text of one file, without the fields that check secrets. It keeps the
    validator password-hash, because a scan without it rejects hashes of passwords."""
    text = "rules:\n"
    for path in sorted(glob.glob(os.path.join(RULES, "*.yml"))):
        with open(path, encoding="utf-8") as file:
            text += file.read().split("\nrules:\n")[1] + "\n"
    return re.sub(r"(?m)^    (?:entropy|validators(?!: \[password-hash\])|generic|paths|not-paths|pair|context):.*\n", "", text)


def found(rules, *options):
    """Returns {(rule, path, line, column)} of everything that a scan finds."""
    result = run("scan", "--dir", "--no-builtin-rules", "--rules", rules, "--format", "jsonl", "--occurrences", "all",
                 *options, "texts")
    holds(result.status in (0, 1) and not result.err, result)
    places = set()
    for line in result.out.splitlines():
        finding = json.loads(line)
        for one in finding["occurrences"]:
            places.add((finding["rule"], one["path"], one["line"], one["column"]))
    return places


def compare(rule_text, seed):
    """Makes texts for the rules, and scans them without and with gates. Returns the rules, what the scan
    without gates finds, and the part of it that the scan with gates misses."""
    with open("bare.yml", "w", encoding="utf-8") as file:
        file.write(rule_text)
    listed = run("rules", "list", "--json", "--no-builtin-rules", "--rules", "bare.yml")
    equal((listed.status, listed.err), (0, ""))
    rules = [json.loads(line) for line in listed.out.splitlines()]
    os.mkdir("texts")
    chance = random.Random(seed)
    # File names are numbers: reports mask secrets in paths, and with these rules the word "password" can be a
    # secret.
    for place, rule in enumerate(rules):
        for number in range(EACH):
            with open(f"texts/{place:04}.{number}", "wb") as file:
                file.write(make_text(rule, chance).encode("latin-1"))
    everything = found("bare.yml", "--ungated")
    gated = found("bare.yml")
    equal(gated - everything, set(), "found with gates only")
    return rules, everything, everything - gated


def hardly_found(rules, everything):
    """Returns {id: count} of the rules that found few of the texts made for them. For these rules, compare()
    has compared hardly anything."""
    few = {}
    for place, rule in enumerate(rules):
        own = {path for id_, path, *_ in everything if id_ == rule["id"] and path.startswith(f"{place:04}.")}
        if len(own) < EACH // 8:
            few[rule["id"]] = len(own)
    return few


def only(rule_text, ids):
    """Returns the text of the rule file with only the rules of these ids. Each entry begins with its id."""
    entries = re.split(r"(?m)^(?=  - id: )", rule_text)
    return entries[0] + "".join(one for one in entries[1:] if re.match(r"  - id: (\S+)", one)[1] in ids)


@test
def gates_pass_everything_that_patterns_match():
    rule_text, few = bare_rules(), {}
    while True:
        rules, everything, missed = compare(rule_text, "turnstone")
        equal(sorted({id_ for id_, *_ in missed}), [], f"missed by gates, as {sorted(missed)[:10]}: rules")
        few, before = hardly_found(rules, everything), few
        if not few:
            break
        # More specific rules may report the secrets of the rules in `few`. So the next round uses only the
        # rules in `few`. If it ends with as many rules in `few`, their patterns do not match the texts made
        # for them.
        holds(not before or len(few) < len(before), f"found in too few of {EACH} texts made for them: {few}")
        rule_text = only(rule_text, few)
        shutil.rmtree("texts")
    holds(bare_rules().count("\n  - id: ") >= 80, "the built-in rules are compared")


@test
def a_gate_that_is_too_narrow_is_noticed():
    def rule(pattern, gate, more=""):
        return (f"rules:\n  - id: narrow\n    name: N\n    severity: low\n    reach: 72\n    pattern: '{pattern}'\n"
                f"    gate: {gate}\n{more}")

    def misses(folder, *parts):
        os.mkdir(folder)
        os.chdir(folder)
        _, everything, missed = compare(rule(*parts), "narrow")
        os.chdir("..")
        holds(everything, "nothing found at all")
        return bool(missed)
    letters = "(?<secret>[a-z0-9]{20})"
    equal(misses("case", f"(?i:Key)={letters}", "[Key=]"), True)
    equal(misses("case-cured", f"(?i:Key)={letters}", "{anchors: [(?i)Key=]}"), False)
    equal(misses("space", rf"machine\s{letters}", "['machine ']"), True)
    equal(misses("lead", f"x{{9}}key_{letters}", "{literals: [key_], lead: 12}"), True)
    equal(misses("lead-cured", f"x{{9}}key_{letters}", "{literals: [key_], lead: 13}"), False)
    token = r"\b(?<secret>[0-9]{9}:[a-f0-9]{32})\b"
    equal(misses("token", token, "{token: true, lead: 2}", "    keywords: [keyword]\n"), True)
    equal(misses("token-derived", token, "token", "    keywords: [keyword]\n"), False)
    equal(misses("token-cured", token, "{token: true, lead: 10}", "    keywords: [keyword]\n"), False)


main()
