#!/usr/bin/env python3
"""documents_test.py ROOT PROGRAM: the documents agree with the program.

Each check takes the text of a document, compares it with the program, and returns what is wrong. A planted
text shows that the check can fail.
"""
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
PROGRAM = os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402


def run(*words):
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True, text=True).stdout


MAN = run("help", "--as", "man").replace("\\-", "-")
FILES = sorted(glob.glob(os.path.join(ROOT, "rules", "*.yml")))
RULES = len(run("rules", "list", "--no-builtin-rules", *(w for f in FILES for w in ("--rules", f))).splitlines())


OPTION = r"(?<![\w-])--[a-z][a-z-]+"
VERBS = re.findall(r"^\.SS ([a-z -]+)$", MAN, re.MULTILINE)
OPTIONS = {verb: {*re.findall(OPTION, run("help", *verb.split())), "--help"} for verb in VERBS}
EVERY_OPTION = set().union(*OPTIONS.values()) | {"--version"}
NOT_VERBS = ("coord", "state")  # "turnstone coord …" and "turnstone state" are bytes in formats


def documents():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(f for f in folders if f not in ("build", ".git", "decisions"))
        for name in sorted(names):
            if name.endswith(".md"):
                path = os.path.join(folder, name)
                with open(path) as file:
                    yield os.path.relpath(path, ROOT), file.read()


def wrong_counts_of_rules(text):
    """Yields each wrong number of rules in the text, in lines "rules  N" of reports and in "N built-in rules"."""
    for count in re.findall(r"^rules {2,}([\d,]+)$|\b([\d,]+)\s+built-in\s+rules\b", text, re.MULTILINE):
        if int("".join(count).replace(",", "")) != RULES:
            yield f"{''.join(count)} rules, and the program has {RULES}"


def commands(text):
    """Yields the commands in the text that begin with "turnstone": code spans, and commands in blocks of code."""
    block = re.compile(r"^ *```\w*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
    yield from re.findall(r"`(turnstone [^`]*)`", block.sub("", text))
    for lines in block.findall(text):
        yield from re.findall(r"(?:^ *|[$|(&;] ?|\bexec )(turnstone [a-z][^|;&#)\n]*)", lines.replace("\\\n", " "), re.MULTILINE)


def verb_of(command):
    """Returns the verb of a command; None if there is no such verb, or if the command is only the name of a group."""
    words = command.split()[1:]
    return next((verb for verb in (" ".join(words[:2]), words[0]) if verb in OPTIONS), None)


def unknown_verbs(text):
    """Yields unknown verbs in the text. The name of a group of verbs is known."""
    for command in commands(text):
        word = command.split()[1]
        known = word in NOT_VERBS or any(verb.split()[0] == word for verb in OPTIONS)
        if not known and re.fullmatch(r"[a-z]\w+", word):
            yield f"turnstone {word}"


def unknown_options(text):
    """Yields unknown options in the text: options of a command that its verb does not have, and options that are
    a code span of their own and that no verb has. Options in other spans belong to git, make or tools. After "it
    was", an option is a former name."""
    for command in commands(text):
        for option in re.findall(OPTION, command):
            if option not in OPTIONS.get(verb_of(command), EVERY_OPTION):
                yield f"{command.split(' -')[0]} {option}"
    for option in re.findall(rf"(?<!it was )`({OPTION})`", text):
        if option not in EVERY_OPTION:
            yield option


# Options of `turnstone scan` that a user of the library does not need: the user's program writes the output,
# and decides which findings are failures.
COMMAND_ONLY = {"--output", "--format", "--quiet", "--no-progress", "--fail-on", "--fail-on-confidence", "--diff-baseline", "--no-state",
                "--ungated", "--help"}
# Options of `turnstone scan` that src/scan/option_names.c lacks, because no message names them, and their
# counterparts in turnstone/scan.h.
COUNTERPARTS = {"--full": "TS_SCAN_SWITCH_FULL", "--state": "TS_SCAN_TEXT_STATE_FOLDER", "--show-secrets": "TS_SCAN_SWITCH_SHOW_SECRETS",
                "--min-confidence": "ts_scan_set_min_confidence", "--baseline": "TS_SCAN_TEXT_BASELINE_FILE"}


def options_without_counterpart(help_text):
    """Yields the options of `turnstone scan` without a counterpart in turnstone/scan.h.
    src/scan/option_names.c has the names of options and counterparts."""
    with open(os.path.join(ROOT, "src", "scan", "option_names.c")) as file:
        pairs = dict(re.findall(r'"(--[a-z-]+)[^"]*", "(\w+)"', file.read()))
    with open(os.path.join(ROOT, "include", "turnstone", "scan.h")) as file:
        header = set(re.findall(r"\w+", file.read()))
    for option in re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", help_text, re.MULTILINE):
        if option not in COMMAND_ONLY and {**pairs, **COUNTERPARTS}.get(option) not in header:
            yield option


CHECKS = {
    wrong_counts_of_rules: (f"rules       {RULES + 1:,}\n",),
    unknown_verbs: ("`turnstone scam .`\n", "```\n$ turnstone scam .\n```\n"),
    unknown_options: ("`turnstone scan --no-such-thing .`\n", "`--no-such-thing`\n", "`turnstone route --baseline`\n",
                      "```\ngit log | turnstone scan \\\n    --no-such-thing -\n```\n"),
}


@test
def documents_say_what_the_program_says():
    wrong = [f"{path}: {check.__name__}: {what}" for check in CHECKS for path, text in documents() for what in check(text)]
    holds(not wrong, "\n" + "\n".join(wrong))


@test
def the_count_of_rules_is_in_the_readme():
    with open(os.path.join(ROOT, "README.md")) as file:
        holds(re.search(rf"^rules {{2,}}{RULES:,}$", file.read(), re.MULTILINE), f"no line with {RULES} rules")


@test
def the_program_has_every_rule_of_the_tree():
    equal(len(run("rules", "list").splitlines()), RULES)


@test
def the_library_can_do_what_the_command_scan_can():
    text = run("help", "scan")
    holds(text.count("\n  --") > 25, text)
    equal(list(options_without_counterpart(text)), [])
    equal(list(options_without_counterpart(text + "  --planted WORD\n")), ["--planted"])


def unexplained_reasons(guide):
    """Returns the reasons of the program that the table of the operator's guide lacks, and the reasons in
    this table that the program lacks."""
    with open(os.path.join(ROOT, "src", "runtime", "core", "reason.h")) as file:
        labels = set(re.findall(r'^    X\([A-Z_]+, (?:[A-Z_]+, [A-Z_]+, )?"([a-z_]+)",', file.read(), re.MULTILINE))
    table = guide.partition("## When something is parked")[2].partition("\n## ")[0]
    explained = {name for cell in re.findall(r"^\| (.*?) \|", table, re.MULTILINE) for name in re.findall(r"`([a-z_]+)`", cell)}
    return sorted(labels ^ explained)


@test
def the_guide_explains_every_reason():
    with open(os.path.join(ROOT, "docs", "operating.md")) as file:
        guide = file.read()
    equal(unexplained_reasons(guide), [])
    equal(unexplained_reasons(guide.replace("`store_full`", "")), ["store_full"])
    equal(unexplained_reasons(guide.replace("`store_full`", "`store_full`, `planted`")), ["planted"])


# Tables in documents that explain names of the program: document, heading before the table, title of its
# first column, source file with the names, pattern that matches the names in this file.
EXPLAINED = (
    ("docs/formats/worker-log.md", "Events", "event", "src/runtime/driver/crew.h", r'(?m)^ +X\([A-Z_]+, "(\w+)"\)'),
    ("docs/formats/worker-log.md", "Fields", "field", "src/cli/worker.c", r'(?:put_(?:number|text)\(&log->out, "|, "\{\\")(\w+)'),
    ("docs/fleet.md", "Repositories on servers", "key", "src/runtime/mirror/access.h", r'X\(\w+, "([\w-]+)"\)'),
    ("docs/fleet.md", "Notifications", "key", "src/notify/sinks.c", r'strcmp\(key, "([\w-]+)"\)'),
    ("docs/fleet.md", "Forges", "request", "src/discover/forge.c", r'\.(?:name|variable) = "(\w+)"'),
)


def unexplained(text, heading, title, names):
    """Returns the names that the table after the heading lacks (it must have them in code spans), and the
    words in code spans of its first column that are no names."""
    table = re.search(rf"(?ms)^#+ {heading}\n.*?^\| {title} \|(.*?)\n(?!\|)", text).group(1)
    words = {word for span in re.findall(r"`([^`\n]+)`", table) for word in re.findall(r"[\w-]+", span)}
    firsts = {word for cell in re.findall(r"(?m)^\| (.*?) \|", table) for word in re.findall(r"`([\w-]+)`", cell)}
    return sorted(names - words | firsts - names)


@test
def documents_explain_what_the_tables_of_the_program_name():
    for document, heading, title, source, row in EXPLAINED:
        with open(os.path.join(ROOT, document)) as file:
            text = file.read()
        with open(os.path.join(ROOT, source)) as file:
            names = set(re.findall(row, file.read()))
        holds(len(names) >= 7, f"{source}: {names}")
        equal(unexplained(text, heading, title, names), [], f"{document}, {heading}")
        equal(unexplained(text, heading, title, names | {"planted"}), ["planted"])
        planted = re.sub(rf"(?m)^(#+ {heading}\n(?:.*\n)*?\| {title} \|)", r"\1\n| `planted` |", text, count=1)
        equal(unexplained(planted, heading, title, names), ["planted"])


# {document: texts that it must contain}. In a text, {NAME} stands for the value of the constant NAME in our
# headers.
NUMBERS = {
    "docs/coordination.md": (
        "a key; its size ({TS_KEY_MAX}); the token's size ({TS_TOKEN_MAX});",
        "One registration has at most {TS_REGISTER_MAX} shards.",
        "remembers its last {TS_OP_LOG_MAX} operations, the record of a run its last {TS_RUN_OP_LOG_MAX}.",
        "| key / token / metadata | {TS_KEY_MAX} / {TS_TOKEN_MAX} / {TS_METADATA_MAX} bytes |",
        "| tenant and worker names | {TS_NAME_ID_LEN} bytes |",
        "| shards in one registration, or one step | {TS_REGISTER_MAX} |",
        "| unit of a target | {TS_COORD_UNIT_MAX} bytes |",
        "| name of a request | {TS_REQUEST_MAX} printable",
        "| children of a split / spawned by one shard | {TS_SPLIT_CHILD_MAX} / {TS_SPAWNED_MAX} |",
        "| attempts | 0 (no limit) to {TS_ATTEMPTS_MAX}; default: {TS_ATTEMPTS_DEFAULT} |",
        "more shards are available, up to {TS_CAPACITY_MAX},",
    ),
    "docs/library.md": ("makes a run of up to {TS_REGISTER_MAX} shards in one transaction",),
    "docs/formats/fleet.md": (
        "## Unit, `TSfu` At most {TS_FLEET_UNIT_MAX} bytes:",
        "At most {TS_FLEET_DECISIONS_MAX} bytes: how many decisions there were (number); how many are listed, at most {TS_FLEET_DECISIONS} (number)",
        "## Target, `TSft` At most {TS_FLEET_TARGET_MAX} bytes.",
        "## Seen in, `TSfe` At most {TS_FLEET_SEEN_MAX} bytes:",
        "## Finding, `TSff` At most {TS_FLEET_FINDING_MAX} bytes:",
        "## Triage, `TSfg` At most {TS_FLEET_TRIAGE_MAX} bytes:",
        "who (text, at most {TS_TRIAGE_WHO_MAX} bytes), why (text, at most {TS_TRIAGE_WHY_MAX} bytes)",
        "and {TS_FLEET_CHANGE_IDS} ids, and there are at most {TS_FLEET_CHANGE_PAGES} pages:",
        "At most {TS_FLEET_NOTICE_MAX} bytes: attempt",
        "(number, at most {TS_NOTICE_SINKS}), and the name of each (text, at most {TS_NOTICE_SINK_MAX} bytes)",
        "## Schedule, `TSfc` At most {TS_FLEET_SCHEDULE_MAX} bytes.",
        "how many (at most {TS_SCHEDULE_REQUESTS}), and each (at most {TS_SCHEDULE_REQUEST_MAX} bytes)",
        "the newest first: how many (at most {TS_SCHEDULE_RUNS}), and each",
        "At most 1 MiB, and at most {TS_SCHEDULE_PAGES_MAX} pages:",
        "no row of the attempt can arrive there. At most {TS_FLEET_WASTE_MAX} bytes.",
        "Texts are cut to {TS_FLEET_TEXT_MAX} bytes.",
    ),
    "docs/fleet.md": (
        "keeps the last N runs of the schedule (default: {TS_SCHEDULE_KEEP})",
        "It has up to {TS_NOTIFY_SINKS} parts",
        "seconds for one try, 1 to {TS_NOTIFY_TIMEOUT_MAX_S} (default: {TS_NOTIFY_TIMEOUT_S})",
        "A message lists at most {RUNTIME__LISTED_MAX} findings",
        "the first {TS_NOTICED_MAX} that came",
    ),
    "docs/formats/rocksdb.md": ("a key of the store, 1 to {TS_STORE_KEY_MAX} bytes",),
}


def constants():
    """Returns {name: value} of the numeric constants in our headers. The values have commas, as in
    documents."""
    found = {}
    for folder in ("include", "src"):
        for path in glob.glob(os.path.join(ROOT, folder, "**", "*.h"), recursive=True):
            with open(path) as file:
                text = file.read()
            for name, value in re.findall(r"(?:#define|\{|,|^) *((?:TS|RUNTIME_)_\w+)(?: = | +)\(*(?:size_t\))?(\d+)\b", text, re.MULTILINE):
                found[name] = f"{int(value):,}"
    return found


@test
def numbers_in_documents_are_those_of_the_headers():
    known = constants()
    for document, texts in NUMBERS.items():
        with open(os.path.join(ROOT, document)) as file:
            content = " ".join(file.read().split())
        for text in texts:
            holds(text.format(**known) in content, f"{document} lacks: {text.format(**known)}")
            for name in re.findall(r"\{(\w+)\}", text):
                planted = {**known, name: "7,531"}
                holds(text.format(**planted) not in content, f"{document}: another {name} is not noticed")


def metrics_of_the_program():
    """Runs a worker. Returns {(name, type, description)} of its metrics, and {name: labels} of the metrics
    with samples."""
    run("store", "init", "--cluster", "rocksdb:store")
    run("worker", "--once", "--no-progress", "--cluster", "rocksdb:store", "--metrics", "metrics.txt")
    with open("metrics.txt") as file:
        text = file.read()
    rows = {(name, kind, what) for name, what, kind in re.findall(r"^# HELP (\w+) (.*)\.\n# TYPE \w+ (\w+)$", text, re.MULTILINE)}
    labels = {}
    for name, found in re.findall(r"^(\w+?)(?:_bucket|_sum|_count)?(?:\{([^}]*)\})? ", text, re.MULTILINE):
        labels.setdefault(name, set()).update(set(re.findall(r'(\w+)="', found)) - {"le"})
    return rows, labels


@test
def the_table_of_metrics_is_the_program_s():
    with open(os.path.join(ROOT, "docs", "formats", "metrics.md")) as file:
        table = re.findall(r"^\| `(turnstone_\w+)` \| (\w+) \| (.*?) ?\| (.*) \|$", file.read(), re.MULTILINE)
    rows, labels = metrics_of_the_program()
    holds(len(rows) > 40, rows)
    equal(sorted((name, kind, what) for name, kind, _, what in table), sorted(rows))
    for name, _, stated, _ in table:
        equal(set(re.findall(r"`(\w+)`", stated)), labels.get(name, set(re.findall(r"`(\w+)`", stated))), name)


@test
def every_check_can_fail():
    for check, text in ((check, text) for check, texts in CHECKS.items() for text in texts):
        equal(len(list(check(text))), 1, f"{check.__name__}: {text}")


main()
