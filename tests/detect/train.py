#!/usr/bin/env python3
"""train.py PROGRAM: writes rules/model.txt, the weights of the scoring model (src/detect/model.h).

A logistic regression over the features that PROGRAM itself reports (rules explain --file --json) for everything that rules with
'scored' find in the part 'trained' of the corpus. The known words and how often letters follow each other come from the texts of this
project. The part 'held' is never read here.
"""
import collections
import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
MODEL = os.path.join(ROOT, "rules", "model.txt")
ROUNDS, RATE, SHRINK = 400, 0.5, 0.002

# Words of names that are significant in any project. Other words would be specific to this corpus.
NAMES = set("""password passwd pwd passphrase pass secret token key api apikey access private client auth encryption signing master
    session jwt refresh webhook admin root db database public publishable id ids name url uri path file type field header hash salt
    digest checksum nonce csrf next page cursor version format policy label hint test example sample default old new confirm current
    reset model tokenizer class prefix endpoint algorithm expires ref arn sha md commit revision uuid request trace user username
    email encrypted sealed ciphertext idempotency fingerprint integrity etag credential credentials""".split())
BEFORE = set("""assert expect check validate matches equal equals test should mock fake fill enum regex pattern example help usage login
    verify compare describe input plaintext expected""".split())
# Groups of words in paths. The words of a group have one meaning, so they share one weight.
PATHS = {"tests": """test tests testing testdata spec specs fixture fixtures mock mocks stub stubs unittest unittests regressiontests cypress
             playwright testsuite testsuites cassette cassettes vectors testvectors wycheproof mirage storybook""".split(),
         "examples": "example examples sample samples demo demos tutorial tutorials quickstart".split(),
         "docs": "doc docs documentation readme changelog".split()}
EXTENSIONS = {"docs": "md mdx rst adoc asciidoc".split(), "tests": ["snap"]}
UNQUOTED = {"generic-yaml-password"}  # rules whose matches in programs are only comments or documents
GROUPS = {f"{kind}:{word}": f"{kind}:{group}" for kind, groups in (("path", PATHS), ("extension", EXTENSIONS))
          for group, members in groups.items() for word in members}


def words_of(paths):
    tokens, words = [], collections.Counter()
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = re.sub(r"['\"][^'\"\n]{16,}['\"]", " ", file.read())
        for token in re.findall(r"[A-Za-z0-9_.-]{2,40}", text):
            tokens.append(token)
            for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", token):
                words[word.lower()] += 1
    return tokens, [w for w, n in words.most_common(6000) if 3 <= len(w) <= 14 and n >= 2]


def symbol(c):
    c = c.lower()
    return ord(c) - 97 if "a" <= c <= "z" else 26 if c.isdigit() else 27


def surprise_of(tokens):
    """Returns a table: how unlikely the second character of a pair is after the first character, in tenths of
    bits."""
    pairs = [[0.5] * 28 for _ in range(28)]
    for token in tokens:
        for a, b in zip(token, token[1:]):
            if ord(a) < 128 and ord(b) < 128:
                pairs[symbol(a)][symbol(b)] += 1
    return [[min(120, round(-10 * math.log2(n / sum(row)))) for n in row] for row in pairs]


def is_wanted(feature):
    kind, _, word = feature.partition(":")
    if kind in ("path", "extension"):
        return feature in GROUPS
    vocabulary = {"name": NAMES, "before": BEFORE, "in-code": UNQUOTED}.get(kind)
    return vocabulary is None or word in vocabulary


def samples_of(program):
    """Yields ({feature: count}, whether it is a secret) for each finding of a scored rule in the part
    'trained'."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(HERE, "corpus.py"), program, "trained", folder], check=True)
        labels = collections.defaultdict(list)
        with open(os.path.join(folder, "labels.tsv"), encoding="utf-8") as file:
            for line in file:
                path, start, end, family, *_ = line.rstrip("\n").split("\t")
                labels[path].append((place(start), place(end), not family.startswith("!")))
        words = [word for path in sorted(labels) for word in ("--file", path)]
        out = subprocess.run([program, "rules", "explain", "--json", *words], check=True, capture_output=True, text=True, cwd=folder).stdout
    for line in out.splitlines():
        finding = json.loads(line)
        if "score" not in finding or not finding["features"]:
            continue
        touched = [secret for start, end, secret in labels[finding["path"]]
                   if start < place(finding["to"]) and place(finding["from"]) < end]
        counts = collections.Counter(feature for feature, _ in finding["features"] if is_wanted(feature))
        for feature in [f for f in counts if f in GROUPS]:
            counts[GROUPS[feature]] = 1
            if GROUPS[feature] != feature:
                del counts[feature]
        yield counts, any(touched)


def place(text):
    line, column = text.split(":")
    return int(line), int(column)


def train(samples):
    """Trains by plain gradient descent; each step uses all samples. Returns {feature: weight}, and
    [(list of (feature, count), label)] of the samples."""
    weights = collections.defaultdict(float)
    rows = [(list(counts.items()), 1.0 if label else 0.0) for counts, label in samples]
    right = sum(label for _, label in rows)
    # Secrets and negatives have the same total weight, even if their numbers differ.
    shares = {1.0: 0.5 / right, 0.0: 0.5 / (len(rows) - right)}
    squares = collections.defaultdict(float)
    for _ in range(ROUNDS):
        slopes = collections.defaultdict(float)
        for features, label in rows:
            score = sum(weights[f] * n for f, n in features)
            miss = (1 / (1 + math.exp(-max(-30, min(30, score)))) - label) * shares[label]
            for f, n in features:
                slopes[f] += miss * n
        for f, slope in slopes.items():
            slope += SHRINK * weights[f] / 10 if f != "bias" else 0
            squares[f] += slope * slope
            weights[f] -= RATE * slope / (math.sqrt(squares[f]) + 1e-9) / 2
    return weights, rows


def thresholds(weights, rows):
    """Prints how many secrets and negatives are left at each minimum score. A person uses this table to choose the
    minimum scores in main()."""
    scores = sorted((sum(weights[f] * n for f, n in features), label) for features, label in rows)
    secrets = [score for score, label in scores if label]
    others = [score for score, label in scores if not label]
    print(f"secrets: {len(secrets)}, others: {len(others)}")
    for step in range(-40, 80, 5):
        at = step / 10
        print(f"  {at:5.1f}: recall {sum(s >= at for s in secrets) / len(secrets):.4f}, others left {sum(s >= at for s in others)}")


def write(weights, words, surprise, least):
    weights = {**weights, **{member: weights[group] for member, group in GROUPS.items() if group in weights}}
    weights = {f: w for f, w in weights.items() if f in GROUPS or f not in GROUPS.values()}
    lines = ["# The scoring model of generic findings: src/detect/model.h explains it, tests/detect/train.py wrote it.",
             "# Scores and weights are logarithms of odds, in thousandths."]
    lines += [f"least {name} {value}" for name, value in least.items()]
    lines += [f"weight {f} {round(w * 1000)}" for f, w in sorted(weights.items()) if round(w * 1000) != 0]
    lines.append("# Words that are no secrets, from the texts of this project.")
    row = "words"
    for word in sorted(words):
        if len(row) + len(word) > 118:
            lines.append(row)
            row = "words"
        row += " " + word
    lines.append(row)
    lines.append("# Tenths of bits: how unlikely a letter (rows, then columns: a to z, a digit, anything else) is behind another.")
    lines += [f"surprise {i} " + " ".join(map(str, row)) for i, row in enumerate(surprise)]
    with open(MODEL, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main(program, only_words=False):
    texts = [path for pattern in ("docs/**/*.md", "src/**/*.[ch]", "include/**/*.h", "*.md")
             for path in sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True))]
    tokens, words = words_of(texts)
    words += WEAK
    surprise = surprise_of(tokens)
    least = {"reject": -3000, "medium": 0, "high": 2500}
    if only_words:  # the program must know the words before it can report features that use them
        write({}, sorted(set(words)), surprise, {"reject": -32000, "medium": 0, "high": 2000})
        return
    weights, rows = train(list(samples_of(program)))
    thresholds(weights, rows)
    write(weights, sorted(set(words)), surprise, least)


# Passwords that people choose carelessly.
WEAK = """letmein welcome sunshine monkey dragon shadow princess football hello iloveyou hunter batman trustno superman guest love baby
    summer winter spring autumn hunter magic charlie michael jordan soccer flower cheese computer internet login starwars whatever
    freedom master qwerty asdf zxcv abc xyz foo bar baz qux spam eggs lorem ipsum dolor acme john jane doe alice bob eve mallory""".split()

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]), "--words" in sys.argv)
