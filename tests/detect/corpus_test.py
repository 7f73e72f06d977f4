#!/usr/bin/env python3
"""corpus_test.py PROGRAM ROOT: the built-in rules reach their scores on the held-out part of the corpus, and
docs/rules.md states these scores."""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from program import PROGRAM, run  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

LEAST = 0.97
SECRETS, NEGATIVES = 1500, 3000


FOLDER = tempfile.TemporaryDirectory(prefix="turnstone-corpus-")


def part_of(name):
    return os.path.join(FOLDER.name, name)


def make(part):
    script = os.path.join(ROOT, "tests", "detect", "corpus.py")
    subprocess.run([sys.executable, script, PROGRAM, part, part_of(part)], check=True, stderr=subprocess.DEVNULL)


def score(part, confidence="medium"):
    result = run("rules", "test", "--corpus", part_of(part), "--json", "--list", "--min-confidence", confidence)
    equal((result.status, result.err), (0, ""))
    return json.loads(result.out)


make("trained")
make("held")
HELD = score("held")


@test
def the_corpus_is_as_large_as_it_should_be():
    both = HELD, score("trained")
    holds(all(one["secrets"] >= SECRETS for one in both), [one["secrets"] for one in both])
    holds(sum(one["negatives"] for one in both) >= NEGATIVES, [one["negatives"] for one in both])


@test
def the_parts_have_no_file_in_common():
    def texts(part):
        for folder, _, names in os.walk(part_of(part)):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    yield file.read()
    common = set(texts("trained")) & set(texts("held"))
    # A few negatives are so short that the generator draws the same text for both parts.
    holds(len(common) < 60, len(common))


@test
def held_out_secrets_are_found_and_little_else_is():
    holds(HELD["recall"] >= LEAST and HELD["precision"] >= LEAST, {key: HELD[key] for key in ("recall", "precision", "missed", "false_positives")})


@test
def confidence_means_what_the_documents_say():
    everything = score("held", "low")["confidences"]
    holds(everything["high"]["precision"] >= 0.99, everything)
    holds(everything["medium"]["precision"] >= LEAST, everything)
    holds(everything["low"]["precision"] < 0.5, everything)


@test
def weak_passwords_in_tests_have_low_confidence_and_are_not_silent():
    os.makedirs("weak/tests")
    with open("weak/tests/login_test.py", "w") as file:
        file.write('client.login(user="jo", password="Sunsh1ne99")\n')
    found = [json.loads(line) for line in run("scan", "--dir", "--format", "jsonl", "weak").out.splitlines()]
    equal([(one["rule"], one["confidence"]) for one in found], [("generic-password", "low")])
    usual = run("scan", "--dir", "--min-confidence", "medium", "weak")
    equal(usual.status, 0)
    holds("1 finding (1 occurrence) by --min-confidence" in usual.out, usual.out)


def rows_of(text):
    table = text[text.index("| family | recall | precision |"):]
    return {name: (float(recall), float(precision)) for name, recall, precision in re.findall(r"^\| ([a-z-]+) \| ([\d.]+) \| ([\d.]+) \|$", table, re.MULTILINE)}


def wrong_rows(rows):
    measured = {"all": HELD, **{name: one for name, one in HELD["families"].items() if one["secrets"] > 0}}
    for name in sorted(set(measured) - set(rows)):
        yield f"{name} is missing"
    for name in sorted(set(rows) - set(measured)):
        yield f"{name} is no family"
    for name in sorted(set(rows) & set(measured)):
        for number, what in enumerate(("recall", "precision")):
            if measured[name][what] < rows[name][number]:
                yield f"{name}: {what} is {measured[name][what]}, and docs/rules.md says {rows[name][number]}"


@test
def the_documents_do_not_promise_more_than_is_measured():
    with open(os.path.join(ROOT, "docs", "rules.md"), encoding="utf-8") as file:
        rows = rows_of(file.read())
    equal(list(wrong_rows(rows)), [])
    holds(list(wrong_rows({**rows, "all": (1.0, 1.0)})), "a promise that is not kept is noticed")


@test
def the_model_of_the_program_is_the_one_that_is_explained():
    words = ("rules", "explain", "--path", "app/settings.py", "--value", 'db_password = "Kestrel#4417x"')
    told = json.loads(run(*words, "--json").out)
    equal(told["score"], sum(weight for _, weight in told["features"]))
    equal((told["rule"], told["from"], told["confidence"]), ("generic-secret", "1:16", "high"))
    in_test = json.loads(run(*words[:3], "tests/settings.py", *words[4:], "--json").out)
    equal(in_test["confidence"], "low")
    holds("name:password" in run(*words).out, run(*words).out)


main()
