#!/usr/bin/env python3
"""recipes_test.py ROOT PROGRAM: the lists of CONTRIBUTING under "To add something" are complete.

Each test makes the changes of all steps of a list on a copy of the tree, and requires that all checks pass.
Then it omits each step in turn, and requires that a check fails. The test makes no change that the list
lacks, so the checks fail if the list is incomplete.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(sys.argv[1])
PROGRAM = os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

work = tempfile.TemporaryDirectory()
TREE = os.path.join(work.name, "tree")
BUILD = os.path.join(TREE, "build", "dev")
shutil.copytree(ROOT, TREE, ignore=shutil.ignore_patterns("build", ".git"))


def read(path):
    with open(os.path.join(TREE, path)) as file:
        return file.read()


def output_of(*command, **environment):
    done = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **environment})
    return "" if done.returncode == 0 else done.stdout or "failed"


def built(target):
    """Builds a target of the copy. Returns the errors; "" if the build succeeds."""
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        subprocess.run(["cmake", "--preset", "dev"], cwd=TREE, check=True, stdout=subprocess.DEVNULL)
    return output_of("cmake", "--build", BUILD, "--target", target)


def house():
    return output_of(os.path.join(TREE, "tests", "house", "rules_test.py"), TREE, TAP_ONLY="every_rule_holds")


def behind(path, text, added):
    """Returns the contents of the file with `added` inserted after the last occurrence of `text`."""
    before, found, after = read(path).rpartition(text)
    holds(found, f"{path} has no {text!r} any more")
    return before + found + added + after


def instead(path, *pairs):
    content = read(path)
    for old, new in pairs:
        holds(old in content, f"{path} has no {old!r} any more")
        content = content.replace(old, new, 1)
    return content


def listed(title):
    """Returns the paths in a list of CONTRIBUTING, with "planted" in place of <name> and similar words."""
    section = read("CONTRIBUTING.md").split(f"**{title}**\n")[1].split("\n**")[0].split("\n## ")[0]
    return [re.sub(r"<\w+>", "planted", path) for path in re.findall(r"^\d+\. `([^`]+)`:", section, re.MULTILINE)]


def put(path, content):
    path = os.path.join(TREE, path)
    if content is None:
        if os.path.exists(path):
            os.remove(path)
            if not os.listdir(os.path.dirname(path)):
                os.rmdir(os.path.dirname(path))
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(content)


def follow(title, changes, wrong):
    """Follows the list, and omits each step in turn. `changes` has the content of each file after its step.
    wrong() runs the checks and returns their errors; "" if they pass."""
    equal(sorted(listed(title)), sorted(changes), "the steps of the list")
    before = {path: read(path) if os.path.exists(os.path.join(TREE, path)) else None for path in changes}
    try:
        equal(wrong(), "", "the checks before")
        for path, content in changes.items():
            put(path, content)
        equal(wrong(), "", "the checks after every step")
        for path in changes:
            put(path, before[path])
            holds(wrong(), f"no check notices that {path} is left out")
            put(path, changes[path])
    finally:
        for path, content in before.items():
            put(path, content)


@test
def a_report_format():
    last = 'X(HTML, "html", "html", html)'
    changes = {
        "src/report/write.h": instead("src/report/write.h", (last, last + ' \\\n    X(PLANTED, "planted", "planted", planted)')),
        "src/report/planted.c": '#include "writer.h"\n\nvoid report__write_planted(const struct report_job *job) {\n'
                                '    report__write_jsonl(job);\n}\n',
        "src/report/CMakeLists.txt": behind("src/report/CMakeLists.txt", "        markup.c\n", "        planted.c\n"),
        "src/report/README.md": behind("src/report/README.md", "`sarif.c`", ", `planted.c`"),
        "tests/unit/report/golden/report.planted": read("tests/unit/report/golden/report.jsonl"),
        "docs/formats/findings.md": behind("docs/formats/findings.md", "|gitlab|html", "|planted"),
    }
    program = os.path.join(BUILD, "tests", "unit", "report", "report_write_test")
    follow("A report format", changes, lambda: house() or built("report_write_test") or output_of(program))


@test
def a_store_engine():
    function = ("enum ts_store_result store__planted_open(const struct store_url *url, const struct ts_store_options *options,\n"
                "    struct ts_store **ret_store, struct ts_store_error *ret_error)")
    changes = {
        "src/store/planted/planted.h": '#ifndef TS_STORE_PLANTED_PLANTED_H\n#define TS_STORE_PLANTED_PLANTED_H\n\n'
                                       '#include "store/contract/url.h"\n#include "turnstone/cluster.h"\n\n'
                                       f'{function};\n\n#endif\n',
        "src/store/planted/planted.c": '#include "store/planted/planted.h"\n#include "store/local/memory.h"\n\n'
                                       f'{function} {{\n    (void)ret_error;\n'
                                       "    *ret_store = ts_memory_open_new(url->name, options->clock);\n"
                                       "    return *ret_store == NULL ? TS_STORE_FAILED : TS_STORE_OK;\n}\n",
        "src/store/planted/CMakeLists.txt": "ts_layer(store_planted SOURCES planted.c FAMILY planted.h DEPENDS base os "
                                            "store_contract store_local)\n",
        "src/store/planted/README.md": "# store/planted\n\n## Invariants\n\nNone.\n\n## Files\n\n`planted.h`: a planted engine.\n\n"
                                       "## To change\n\nNothing.\n",
        "src/store/CMakeLists.txt": behind("src/store/CMakeLists.txt", "add_subdirectory(postgres)\n", "add_subdirectory(planted)\n"),
        "src/store/README.md": behind("src/store/README.md", "[`postgres/`](postgres/README.md)", ", `planted/`"),
        "src/store/contract/url.h": instead("src/store/contract/url.h",
                                            ("STORE_URL_POSTGRES }", "STORE_URL_POSTGRES, STORE_URL_PLANTED }")),
        "src/store/contract/url.c": instead("src/store/contract/url.c", ('FORMS "memory:,', 'FORMS "memory:, planted:,'),
                                            ('schemes[] = {', 'schemes[] = {{TS_BYTES_INIT("planted:"), STORE_URL_PLANTED}, '),
                                            ("    case STORE_URL_MEMORY:\n",
                                             "    case STORE_URL_PLANTED:\n    case STORE_URL_MEMORY:\n")),
        "src/store/cluster/CMakeLists.txt": instead("src/store/cluster/CMakeLists.txt", ("store_postgres)", "store_postgres store_planted)")),
        "src/store/cluster/open.c": instead("src/store/cluster/open.c",
                                            ('#include "store/local/local.h"\n',
                                             '#include "store/local/local.h"\n#include "store/planted/planted.h"\n'),
                                            ("    case STORE_URL_MEMORY:\n",
                                             "    case STORE_URL_PLANTED:\n        result = store__planted_open(&parsed, options, "
                                             "ret_store, ret_error);\n        break;\n    case STORE_URL_MEMORY:\n")),
        "cmake/install.cmake": instead("cmake/install.cmake", ("store_postgres\n", "store_postgres store_planted\n")),
        "src/cli/cluster_option.h": instead("src/cli/cluster_option.h", ("rocksdb:DIRECTORY", "planted:, rocksdb:DIRECTORY")),
        "tests/contract/planted_test.c": read("tests/contract/memory_test.c").replace('"memory', '"planted'),
        "tests/contract/CMakeLists.txt": behind("tests/contract/CMakeLists.txt", "ts_contract_test(memory)\n",
                                                "ts_contract_test(planted)\n"),
        "docs/ARCHITECTURE.md": instead("docs/ARCHITECTURE.md", ("`store/postgres` |", "`store/postgres`, `store/planted` |")),
    }

    def wrong():
        planted = os.path.exists(os.path.join(TREE, "tests/contract/planted_test.c"))
        return (house() or built("contract_memory_test") or built("contract_planted_test" if planted else "store_cluster")
                or built("turnstone_shared"))

    follow("A store engine", changes, wrong)


@test
def a_coordination_error():
    last = 'X(CHECKPOINT_MISSING_KEY, "CheckpointMissingKey", NO, YES, YES, NO, NO, NO, NO)'
    changes = {
        "include/turnstone/coord_types.h": instead(
            "include/turnstone/coord_types.h", (last, last + ' \\\n    X(PLANTED, "Planted", NO, NO, NO, YES, NO, NO, NO)')),
        "src/coord/core/error.h": instead("src/coord/core/error.h", ("TS_COORD_CHECKPOINT_MISSING_KEY, 12)", "TS_COORD_PLANTED, 13)"),
                                     ("TS_PARK_BACKEND_ERROR, 7)", "TS_PARK_BACKEND_ERROR, 8)")),
        "src/coord/core/error.c": behind("src/coord/core/error.c", "    case TS_VARIANT_NOT_PARKED:\n", "    case TS_VARIANT_PLANTED:\n"),
        "src/coord/core/error_text.c": instead("src/coord/core/error_text.c",
                                          ("#define FIELDS_THROTTLED", "#define FIELDS_PLANTED no_fields\n#define FIELDS_THROTTLED"),
                                          ("    case TS_VARIANT_THROTTLED:\n",
                                           '    case TS_VARIANT_PLANTED:\n        return "planted";\n    case TS_VARIANT_THROTTLED:\n')),
        "tests/unit/coord/core/error_test.c": instead("tests/unit/coord/core/error_test.c",
                                                 ('             "OpIdConflict", "BackendError");\n    NAMES_OF(release',
                                                  '             "OpIdConflict", "Planted", "BackendError");\n    NAMES_OF(release'),
                                                 ("    {TS_VARIANT_NOT_PARKED,",
                                                  "    {TS_VARIANT_PLANTED, TS_COORD_CLASS_FATAL},\n    {TS_VARIANT_NOT_PARKED,")),
        "docs/coordination.md": instead("docs/coordination.md", ("NotParked, ", "NotParked, Planted, ")),
    }
    program = os.path.join(BUILD, "tests", "unit", "coord", "core", "coord_core_error_test")
    follow("A coordination error", changes, lambda: house() or built("coord_core_error_test") or output_of(program))


@test
def a_rule():
    rule = """rules:
  - id: planted
    name: Planted token
    pattern: '(?:\\b|\\\\[nrt])(?<secret>planted_[a-z0-9]{16})\\b'
    gate: {literals: [planted_], lead: 10}
    severity: high
    reach: 26
    examples:
      match:
        - text: 'token planted_~~4x9k2m7q1w8e3r5t'
          secret: 'planted_~~4x9k2m7q1w8e3r5t'
      no-match:
        - 'planted_things'
"""
    count = re.search(r"^rules {2,}([\d,]+)$", read("README.md"), re.MULTILINE).group(1)
    more = [(f"rules       {count}\n", f"rules       {int(count.replace(',', '')) + 1:,}\n")]
    changes = {
        "rules/planted.yml": rule,
        "README.md": instead("README.md", *more),
        "docs/scan.md": instead("docs/scan.md", *more * read("docs/scan.md").count(more[0][0])),
    }

    def wrong():
        documents = os.path.join(TREE, "tests", "house", "documents_test.py")
        planted = os.path.join(TREE, "rules", "planted.yml")
        checked = output_of(PROGRAM, "rules", "check", planted) if os.path.exists(planted) else ""
        return checked or output_of(documents, TREE, PROGRAM, TAP_ONLY="documents_say|count_of_rules")

    follow("A rule", changes, wrong)


main()
