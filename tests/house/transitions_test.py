#!/usr/bin/env python3
"""transitions_test.py ROOT TRANSITIONS: the code does what the tables in the comments of unit_step.c and
unit_step.h say.

TRANSITIONS is the program of transitions.c. The program visits every state of a unit of work, and prints all
transitions.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
TRANSITIONS = os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402


def read(name):
    with open(os.path.join(ROOT, "src", "runtime", "core", name)) as file:
        return file.read()


def comment_of(text):
    return [line[3:] for line in text.split("*/")[0].split("\n")]


def snake(name):
    """Returns a name as the code writes it: mirror_sync for MirrorSync and for "mirror sync"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).replace(" ", "_").lower()


def table(source):
    """Returns the transitions in the table of unit_step.c: {(phase, event, next phase, wish)}."""
    lines = comment_of(source)
    head = next(i for i, line in enumerate(lines) if re.match(r" +phase +event +next phase +wish$", line))
    at = [lines[head].index(title) for title in ("phase", "event", "next phase", "wish")] + [None]
    rows, phases, event, is_open = set(), [], "", False
    group = []
    for line in lines[head + 1:lines.index("What holds:")]:
        if line.strip().endswith(":"):
            group, phases = [], [name.strip() for name in line.strip(" :").split(",")]
            continue
        phase, new_event, following, wish = (line[a:b].strip() for a, b in zip(at, at[1:]))
        if phase:
            group, phases = (group, phases) if is_open else ([], [])
            phases.append(phase.rstrip(","))
            is_open = phase.endswith(",")
        event = new_event or event
        if following:
            group.append((event, following, re.match(r"[a-z_ ]+(?:\(\w+\))?", wish).group().strip()))
        for name in phases:
            rows.update((snake(name), snake(e), snake(name if n == "the same" else n), w) for e, n, w in group)
    return rows


def stated_answers(header):
    """Returns {wish: events that may answer the wish} from the table of wishes in unit_step.h and the
    paragraph after it."""
    lines = comment_of(header)
    text = " ".join(lines)
    head = next(i for i, line in enumerate(lines) if line.endswith("events that answer it"))
    at = lines[head].index("events that")
    answers = {}
    for line in lines[head + 1:lines.index("", head)]:
        answers[line.split()[0]] = {snake(event.strip()) for event in line[at:].split(",")} - {"none"}
    more = text.split("Further events may answer a wish. ")[1]
    for excepted, events in re.findall(r"All wishes except ([^:]+): ([^.]+)\.", more):
        for wish in set(answers) - set(re.split(r", | and ", excepted)):
            answers[wish].update(snake(event) for event in events.split(", "))
    long, events = re.search(r"take long \(([^)]+)\): ([^;.]+)", more).groups()
    for wish in long.split(", "):
        answers[wish].add(snake(events))
    return answers


def answers_of_the_code(source):
    """Returns {wish: events that may answer the wish} from the array `answers` of unit_step.c."""
    sets = {}

    def expand(text):
        return set.union(set(), *(sets.get(word) or {word.lower()} for word in re.findall(r"[A-Z_]{3,}", text.replace("EVENT", ""))))
    for name, value in re.findall(r"^#define (ANY|LONG) +\((.*)\)$", source, re.MULTILINE):
        sets[name] = expand(value)
    array = re.search(r"answers\[TS_WISH_COUNT\] = \{\n(.*?)\n\};", source, re.DOTALL).group(1)
    return {wish.lower(): expand(value) for wish, value in re.findall(r"\[TS_WISH_(\w+)\] = ([^,]*)", array)}


def transitions(answers):
    pairs = [f"{wish}:{event}" for wish, events in sorted(answers.items()) for event in sorted(events)]
    done = subprocess.run([TRANSITIONS, *pairs], check=True, capture_output=True, text=True)
    return {tuple(line.split("|")) for line in done.stdout.splitlines()}


def differences(source, header):
    """Returns the transitions that only the table has, and the transitions that only the code has."""
    stated, found = table(source), transitions(stated_answers(header))
    waited = {(phase, event, following, "the wish that waited") for phase, event, following, _ in found if event == "slept"}
    found = {row for row in found if row[1] != "slept"} | waited
    return sorted(stated - found), sorted(found - stated)


@test
def the_events_that_answer_a_wish_are_those_of_the_code():
    stated = stated_answers(read("unit_step.h"))
    holds(len(stated) == 12 and len(stated["scan"]) == 6, stated)
    equal(stated, answers_of_the_code(read("unit_step.c")))


@test
def the_table_of_transitions_is_what_the_code_does():
    equal(differences(read("unit_step.c"), read("unit_step.h")), ([], []))


@test
def a_row_that_is_wrong_or_missing_is_noticed():
    source, header = read("unit_step.c"), read("unit_step.h")
    row = " *                         flipped          InnerDurable         complete\n"
    holds(row in source, "the row of flipped")
    flipped = ("executing", "flipped", "inner_durable", "complete")
    equal(differences(source.replace(row, ""), header), ([], [flipped]))
    equal(differences(source.replace(row, row.replace("complete", "stop")), header), ([flipped[:3] + ("stop",)], [flipped]))


main()
