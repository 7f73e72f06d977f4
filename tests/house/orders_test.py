#!/usr/bin/env python3
"""orders_test.py ROOT: if a header states the order of an operation's checks, the code has the same order.

A comment before a declaration in src/coord says "Order of checks: A, B, ts_other() as C." A and B are names
of errors from the tables in coord_types.h and error.h. ts_other() is a function whose own comment states an
order. Other words in the list are for readers. The test reads the text of the declared function and of the
functions that it calls, and collects the errors in the order in which the text has them.
"""
import os
import re
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

# Errors of an operation that wrap an error of one of its parts. The stated orders contain only the errors of
# the parts.
WRAPPERS = {"SplitInvalid", "ManifestInvalid", "InvalidConfig"}


def sources():
    texts = {}
    with open(os.path.join(ROOT, "include", "turnstone", "coord_types.h")) as file:
        texts["coord_types.h"] = file.read()
    for folder, _, names in os.walk(os.path.join(ROOT, "src", "coord")):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                with open(os.path.join(folder, name)) as file:
                    texts[name] = file.read()
    return texts


def error_names(header):
    """Returns the names of errors from all tables in the header, such as {"SHARD_NOT_FOUND":
    "ShardNotFound"}."""
    return dict(re.findall(r'X\((?:\w+_FAULT, )?([A-Z_]+), "(\w+)"', header))


def functions(texts):
    """Returns {file: {name: body}} of all functions. Static functions of two files may have equal names."""
    shape = r"^\w[^\n;={}#]*(?:\n[^\n;={}#]*)*?\b(\w+)\([^;{}]*\) \{\n(.*?)^\}"
    return {name: {found.group(1): found.group(2) for found in re.finditer(shape, text, re.MULTILINE | re.DOTALL)}
            for name, text in texts.items() if name.endswith(".c")}


def stated_orders(texts, names):
    known = set(names.values())
    shape = r"/\*((?:(?!\*/).)*?Order of checks: (?:(?!\*/).)*?)\*/\s*enum \w+\s+(\w+)\("
    orders = {}
    for name, text in texts.items():
        for comment, function in re.findall(shape, text, re.DOTALL):
            line = re.sub(r"\s*\n\s*\* ?", " ", comment).split("Order of checks: ")[1].split(". ")[0]
            orders[function] = [word for word in re.findall(r"\w+\(\)|\w+", line) if word in known - WRAPPERS or word.endswith("()")]
    return orders


class Follower:
    def __init__(self, texts, orders, names):
        self.bodies = functions(texts)
        self.orders = orders
        self.names = names
        self.shared = {f: (file, body) for file, of in self.bodies.items() for f, body in of.items() if "__" in f or f[:3] == "ts_"}

    def find(self, file, function):
        if function in self.bodies[file]:
            return file, self.bodies[file][function]
        return self.shared.get(function)

    def error(self, token):
        """Returns the name of the error in the token TS_<OPERATION>_<ERROR>. Returns None if the token names
        no error."""
        parts = token.split("_")
        for start in range(2, len(parts)):
            if "_".join(parts[start:]) in self.names:
                return self.names["_".join(parts[start:])]
        return None

    def follow(self, file, function, trail=()):
        file, body = self.find(file, function)
        for found in re.finditer(r"(?P<compared>(?:[=!]=|case) )?\b(?:(?P<call>[a-z]\w*)\(|(?P<token>TS_[A-Z_]+)\b)", body):
            call, token = found.group("call"), found.group("token")
            if call in self.orders:
                yield call + "()"
            elif call and call not in trail and self.find(file, call) and not call.endswith(("_from_coord", "_variant")):
                yield from self.follow(file, call, trail + (call,))
            elif token and not found.group("compared") and self.error(token):
                yield self.error(token)

    def order(self, function):
        file = next(name for name, of in self.bodies.items() if function in of)
        order = []
        for step in self.follow(file, function, (function,)):
            if (not order or order[-1] != step) and step not in WRAPPERS:
                order.append(step)
        return order


def compare(texts):
    names = error_names(texts["coord_types.h"] + texts["error.h"])
    orders = stated_orders(texts, names)
    follower = Follower(texts, orders, names)
    return {function: (stated, follower.order(function)) for function, stated in orders.items()}


# {words in the table of docs/coordination.md: pattern of the steps of the code that the words mean}
MEANINGS = {
    "not found": "ShardNotFound|RunNotFound", "tenant": "TenantMismatch", "replay": "OpIdConflict", "replay by op-log": "OpIdConflict",
    "replay by spawned shards": "OpIdConflict", "lease": r"ts_validate_lease\(\)", "cursor": r"ts_validate_cursor_update\(\)",
    "room": "ResourceExhausted", "run ended": "ShardTerminal|RunTerminal", "not Active": "ShardTerminal", "leased": "AlreadyLeased",
    "attempts": "ShardTerminal", "sizes": r"ts_split_residual_check\(\)", "coverage": r"ts_split_(?:coverage|residual)_check\(\)",
    "parent's cursor": r"ts_split_residual_check\(\)", "spawn cap": "SpawnLimitExceeded", "limits": "ShardLimitExceeded",
    "id collision": "DerivedIdCollision", "not Parked": "NotParked", "configuration": r"ts_run_config_check\(\)",
    "exists": "RunAlreadyExists", "announced shards": "TooManyShards", "status": "WrongStatus", "manifest": r"ts_manifest_check\(\)",
    "the run's own limit": "TooManyShards", "ended": "RunTerminal",
}
NO_STEP = {"claim"}  # claim searches for a shard, and then runs the step of acquire
SHARED_STEPS = {"complete_run, fail_run, cancel_run": "end_run"}


def rows_in_another_order(document, orders):
    """Yields the operations whose row in the document's table has another order of checks than the code, with
    the first wrong words. Several words of a row may mean one step."""
    table = document.split("| operation | needs | order of checks |")[1].split("\n\n")[0]
    for row in table.split("\n")[2:]:
        operation, _, checks = (cell.strip() for cell in row.split("|")[1:4])
        if operation in NO_STEP:
            continue
        order, at = orders[f"ts_{SHARED_STEPS.get(operation, operation)}_step"], 0
        for words in re.sub(r" \([^)]*\)|;.*", "", checks).split(", "):
            steps = [i for i in range(at, len(order)) if re.fullmatch(MEANINGS[words], order[i])]
            if not steps:
                yield f"{operation}: {words}"
                break
            at = steps[0]


@test
def the_document_has_the_code_s_order():
    with open(os.path.join(ROOT, "docs", "coordination.md")) as file:
        document = file.read()
    orders = {function: code for function, (_, code) in compare(sources()).items()}
    equal(list(rows_in_another_order(document, orders)), [])
    holds("| not found, tenant, replay, run ended, not Parked |" in document, "the row of unpark")
    planted = document.replace("| not found, tenant, replay, run ended, not Parked |", "| not found, replay, tenant, run ended, not Parked |")
    equal(list(rows_in_another_order(planted, orders)), ["unpark: tenant"])


@test
def every_stated_order_is_the_code_s():
    for function, (stated, code) in compare(sources()).items():
        equal(stated, code, function)


@test
def every_step_states_its_order():
    texts = sources()
    stated = compare(texts)
    steps = set(re.findall(r"^(?:enum \w+_error )?(ts_\w+_step)\(", "\n".join(texts[n] for n in texts if n.endswith("_step.h")),
                           re.MULTILINE))
    holds(len(steps) >= 8, f"only {sorted(steps)} are steps")
    equal(sorted(steps - set(stated)), [], "steps without 'Order of checks:'")
    equal([n for n, t in texts.items() if re.search(r"\bOrder: ", t)], [], "orders that no test compares")


@test
def checks_that_change_places_are_noticed():
    texts = sources()
    tenant = re.search(r"    if \(!ts_tenant_id_equal\(&record->tenant, &op->tenant\)\) \{\n.*?    \}\n",
                       texts["shard_step.c"].split("ts_unpark_step(")[1], re.DOTALL).group()
    before, after = texts["shard_step.c"].split("enum ts_unpark_error ts_unpark_step(")
    moved = after.replace(tenant, "", 1).replace("    begin(record", tenant + "    begin(record", 1)
    texts["shard_step.c"] = before + "enum ts_unpark_error ts_unpark_step(" + moved
    stated, code = compare(texts)["ts_unpark_step"]
    holds(stated != code and sorted(stated) == sorted(code), f"{stated} and {code}")


main()
