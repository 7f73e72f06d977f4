#!/usr/bin/env python3
"""rules_test.py ROOT: what the tree must look like beyond what compilers check, and that each rule can fail."""
import os
import re
import sys
import tempfile

ROOT = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

TEXT = (".c", ".h", ".md", ".py", ".cmake", ".txt", ".sh", ".json", ".yml", ".in")


def files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in ("build", ".git"))
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def includes_that_leave_their_folder(root):
    for path in files(root):
        if path.endswith((".c", ".h")) and re.search(r'#\s*include\s+"\.\.', read(root, path)):
            yield path


def source_folders_without_readme(root):
    src = os.path.join(root, "src")
    for name in sorted(os.listdir(src)):
        if os.path.isdir(os.path.join(src, name)) and not os.path.isfile(os.path.join(src, name, "README.md")):
            yield f"src/{name}"


def links_to_nothing(root):
    for path in files(root):
        if not path.endswith(".md"):
            continue
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", read(root, path)):
            if "://" not in target and not os.path.exists(os.path.join(root, os.path.dirname(path), target)):
                yield f"{path}: {target}"


def names_in_backquotes_that_are_not_there(root):
    """READMEs name files of their own folder, of its tests and of the public headers; those must exist."""
    for path in files(root):
        if not re.fullmatch(r"src/\w+/README\.md", path):
            continue
        for name in re.findall(r"`([\w/]+\.[ch])`", read(root, path)):
            folder = os.path.dirname(path)
            places = (folder, folder.replace("src/", "tests/unit/"), "src", "include/turnstone", ".")
            if not any(os.path.exists(os.path.join(root, place, name)) for place in places):
                yield f"{path}: {name}"


def untidy_text(root):
    for path in files(root):
        if not path.endswith(TEXT):
            continue
        text = read(root, path)
        if text and not text.endswith("\n"):
            yield f"{path}: no newline at the end"
        if re.search(r"[ \t]+$", text, re.MULTILINE):
            yield f"{path}: blanks at the end of a line"
        if path.endswith((".c", ".h", ".py")) and "\t" in text:
            yield f"{path}: a tab"


def unfinished(root):
    words = "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX"])
    for path in files(root):
        if path.endswith(TEXT) and re.search(rf"\b({words})\b", read(root, path)):
            yield path


def wrong_guards(root):
    for path in files(root):
        if not path.endswith(".h") or not path.startswith(("src/", "include/")):
            continue
        stem = re.sub(r"[^A-Za-z0-9]", "_", re.sub(r"^(src/|include/)", "", path)).upper()
        guard = stem if path.startswith("include/") else "TS_" + stem
        if f"#ifndef {guard}\n#define {guard}\n" not in read(root, path):
            yield f"{path}: the guard is not {guard}"


def late_libraries_with_two_lists(root):
    """A function of a library that is loaded late stands in the list that is loaded and has its #define; in order."""
    for path in files(root):
        if path.endswith("_late.h"):
            listed = re.findall(r"^ +X\((\w+)\)", read(root, path), re.MULTILINE)
            defined = re.findall(r"^#define (\w+)[ \\\n]+store__\w+\.\1$", read(root, path), re.MULTILINE)
            if listed != defined or listed != sorted(set(listed)):
                yield path


RULES = {
    includes_that_leave_their_folder: ("src/base/x.c", '#include "../route/y.h"\n'),
    source_folders_without_readme: ("src/bare/x.c", "int x;\n"),
    links_to_nothing: ("docs/x.md", "[see](nowhere.md)\n"),
    names_in_backquotes_that_are_not_there: ("src/base/README.md", "`nowhere.c`\n"),
    untidy_text: ("src/base/x.c", "int x; \n"),
    unfinished: ("src/base/x.c", "/* TO" "DO */\n"),
    wrong_guards: ("src/base/x.h", "#ifndef X\n#define X\n#endif\n"),
    late_libraries_with_two_lists: ("tests/x_late.h", "    X(a) \\\n    X(b)\n#define a store__x.a\n"),
}


@test
def every_rule_holds():
    broken = [f"{rule.__name__}: {place}" for rule in RULES for place in rule(ROOT)]
    holds(not broken, "\n" + "\n".join(broken))


@test
def every_rule_can_fail():
    for rule, (path, text) in RULES.items():
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "src", "base"))
            with open(os.path.join(root, "src", "base", "README.md"), "w") as file:
                file.write("# base\n")
            equal(list(rule(root)), [], f"{rule.__name__} on a sound tree")
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as file:
                file.write(text)
            equal(len(list(rule(root))), 1, f"{rule.__name__} on a planted violation")


main()
