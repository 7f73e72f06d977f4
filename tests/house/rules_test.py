#!/usr/bin/env python3
"""rules_test.py ROOT: rules of the tree that compilers do not check. A planted violation of each rule shows
that the rule can fail."""
import functools
import glob
import os
import re
import sys
import tempfile

ROOT = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

TEXT = (".c", ".h", ".md", ".py", ".cmake", ".txt", ".sh", ".json", ".yml", ".in")


# Every rule asks for the files and their texts. The functions cache both, because the tree does not change
# during the test.
@functools.lru_cache(maxsize=None)
def files(root):
    paths = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in ("build", ".git"))
        within = "" if folder == root else folder[len(root) + 1:] + "/"
        paths += [within + name for name in sorted(names)]
    return paths


@functools.lru_cache(maxsize=None)
def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def includes_that_leave_their_folder(root):
    for path in files(root):
        if path.endswith((".c", ".h")) and re.search(r'#\s*include\s+"\.\.', read(root, path)):
            yield path


def source_folders_without_readme(root):
    for folder in sorted({os.path.dirname(path) for path in files(root) if path.startswith("src/")} - {"src"}):
        if not os.path.isfile(os.path.join(root, folder, "README.md")):
            yield folder


def readmes_without_their_sections(root):
    """The README of a layer has sections about its invariants (if it has sources), about what to edit for a
    change, and about the order of its locks (if it uses locks)."""
    for path in files(root):
        if not path.startswith("src/") or not path.endswith("/CMakeLists.txt") or path.count("/") < 2:
            continue
        folder = os.path.dirname(path)
        text = read(root, f"{folder}/README.md")
        sources = [file for file in files(root) if os.path.dirname(file) == folder and file.endswith((".c", ".h"))]
        locks = any(re.search(r"\bpthread_(?:mutex|rwlock)_\w*lock\(", read(root, file)) for file in sources)
        for title, needed in (("Invariants", sources), ("To change", True), ("Lock(?: order|s)", locks)):
            if needed and not re.search(rf"^## {title}$", text, re.MULTILINE):
                yield f"{folder}/README.md: {title}"


def layers_of_the_build(root):
    """Returns {layer: (whether the layer is deterministic, the layers that it depends on)}."""
    found = {}
    for path in files(root):
        if path.startswith("src/") and path.endswith("/CMakeLists.txt"):
            for name, body in re.findall(r"ts_layer\((\w+)([^)]*)\)", read(root, path)):
                depends = re.search(r"\bDEPENDS((?:\s+[a-z]\w*)*)", body)
                found[name] = ("DETERMINISTIC" in body, set(depends.group(1).split() if depends else ()))
    return found


def layers_that_documents_describe_wrongly(root):
    """The table of docs/ARCHITECTURE.md has all layers of the build, says which layers are deterministic, and
    for some of them "it uses only" and the layers that they depend on. A README with "depends on `a` and `b`"
    names all dependencies."""
    layers = layers_of_the_build(root)
    path = "docs/ARCHITECTURE.md"
    table = re.findall(r"^\| (`.*?) \| (.*?) \| ?(.*?) ?\| here \|$", read(root, path), re.MULTILINE) if path in files(root) else []
    for name in sorted(set(layers) - {n.replace("/", "_") for row in table for n in re.findall(r"`([\w/]+)`", " ".join(row[:2]))}):
        yield f"{path}: {name}" if table else f"no table has {name}"
    for names, purpose, is_deterministic in table:
        only = re.search(r"it uses only ((?:`\w+`(?:, | and )?)+)", purpose)
        for name in (name.replace("/", "_") for name in re.findall(r"`([\w/]+)`", names)):
            deterministic, depends = layers.get(name, (None, set()))
            if deterministic != (is_deterministic == "yes") or only and set(re.findall(r"\w+", only.group(1))) - {"and"} != depends:
                yield f"{path}: {name}"
    for name, (_, depends) in sorted(layers.items()):
        path = f"src/{name.replace('_', '/')}/README.md"
        stated = re.search(r"depends\s+on\s+((?:`[\w/]+`(?:\s+\([^)]*\))?(?:,\s+|\s+and\s+)?)+)",
                           read(root, path) if path in files(root) else "")
        if stated and set(re.findall(r"`([\w/]+)`", stated.group(1))) != depends:
            yield f"{path}: depends on {', '.join(sorted(depends))}"


def links_to_nothing(root):
    for path in files(root):
        if not path.endswith(".md"):
            continue
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", read(root, path)):
            if "://" not in target and not os.path.exists(os.path.join(root, os.path.dirname(path), target)):
                yield f"{path}: {target}"


def readmes(root):
    folders = r"src(/.*)?|bench|packaging|examples|tests/detect|docs/decisions"
    return [path for path in files(root) if re.fullmatch(rf"({folders})/README\.md", path)]


def names_in_backquotes_that_are_not_there(root):
    """A file that a README names in backquotes exists, in the README's folder, in the folder of its tests, in
    src/, among the public headers or at the root."""
    for path in readmes(root):
        for name in re.findall(r"`([\w/]+\.(?:[ch]|css|js|cmake|py))`", read(root, path)):
            folder = os.path.dirname(path)
            places = (folder, folder.replace("src/", "tests/unit/"), "src", "include/turnstone", ".")
            if not any(os.path.exists(os.path.join(root, place, name)) for place in places):
                yield f"{path}: {name}"


def files_that_their_readme_does_not_name(root):
    """A README names every file of its folder, and every subfolder that has a README. x.h stands for x.c, and
    x.c for x.h."""
    for path in readmes(root):
        folder = os.path.join(root, os.path.dirname(path))
        named = set(re.findall(r"[\w.-]+\.\w+|(?<=`)[\w-]+(?=`)", read(root, path)))
        for name in sorted(os.listdir(folder)):
            stem, extension = os.path.splitext(name)
            if os.path.isdir(os.path.join(folder, name)):
                if os.path.isfile(os.path.join(folder, name, "README.md")) and f"`{name}/`" not in read(root, path):
                    yield f"{path}: {name}/"
                continue
            if name in ("README.md", "CMakeLists.txt"):
                continue
            alike = {stem + ".c", stem + ".h"} if extension in (".c", ".h") else set()
            if not named & ({name} | alike):
                yield f"{path}: {name}"


C_COMMENT = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|/\*.*?\*/""", re.DOTALL)


@functools.lru_cache(maxsize=None)
def words_of_the_code(root):
    """Returns all words of C files outside comments, and all words of scripts and build files."""
    words = set()
    for path in files(root):
        if path.endswith((".c", ".h")):
            words.update(re.findall(r"\w+", C_COMMENT.sub(r"\1", read(root, path))))
        elif path.endswith((".py", ".txt", ".cmake", ".symbols")):
            words.update(re.findall(r"\w+", read(root, path)))
    return words


def names_that_no_code_has(root):
    """If a README names a function, constant or field in backquotes, or a comment names one with our prefix,
    then the code has this name. A name that ends in _* or _… stands for several names, and is not checked."""
    for path in (path for path in readmes(root) if path.startswith("src/")):
        text = re.sub(r"```.*?```", "", read(root, path), flags=re.DOTALL)
        for span in re.findall(r"`([^`\n]+)`", text):
            for name in re.findall(r"(?<![\w/])[A-Za-z]\w*_\w*[a-zA-Z0-9]\b(?!\.\w)", span):
                if name not in words_of_the_code(root):
                    yield f"{path}: {name}"
    for place, lines in comments(root):
        for name in re.findall(r"\b(?:(?:ts|TS|ret)_|[a-z]+__)\w*[a-zA-Z0-9]\b", "\n".join(lines)):
            if name not in words_of_the_code(root):
                yield f"{place}: {name}"


def names_that_another_file_has(root):
    """If a README says "`a` and `b` in `x.c`", x.c or x.h has them."""
    names = r"((?:`\w+(?:\(\))?`(?:, | and | or )?)+)"
    for path in readmes(root):
        for found in re.finditer(names + r"[^`.,;:]{0,40}?\s?(?:in|of)\s+`([\w/]+)\.[ch]`", read(root, path)):
            stems = [os.path.join(folder, found.group(2)) for folder in (os.path.dirname(path), "src", "include/turnstone", "")]
            texts = [read(root, stem + end) for stem in stems for end in (".c", ".h") if stem + end in files(root)]
            for name in re.findall(r"\w+", found.group(1)):
                if not any(re.search(rf"\b{name}\b", text) for text in texts):
                    yield f"{path}: {name}"


def limits_that_are_elsewhere(root):
    """If a README says "the defines at the top of `a.c` and `b.c`", each of these files has a #define before its
    first function. The same holds for "the enum" and "the enums"."""
    files_of = r"the (define|enum)s? at the top\s+of\s+((?:`[\w/]+\.[ch]`(?:,\s+|\s+and\s+)?)+)"
    for path in readmes(root):
        for kind, names in re.findall(files_of, read(root, path)):
            for name in re.findall(r"[\w/]+\.[ch]", names):
                file = os.path.join(os.path.dirname(path), name)
                head = re.split(r"(?m)^[a-z].*\) \{$", read(root, file))[0] if file in files(root) else ""
                if not re.search(r"(?m)^#define \w+[( ]" if kind == "define" else r"(?m)^enum\b", head):
                    yield f"{path}: {name} has no {kind} at its top"


def paths_in_documents_that_are_not_there(root):
    """If a document has a path in backquotes that begins with a folder of this tree, the path exists. <name>
    and * stand for any name."""
    for path in files(root):
        if not path.endswith(".md"):
            continue
        for name in re.findall(r"`((?:src|include|tests|tools|docs|rules|bench|cmake)/[\w./*<>-]*)`", read(root, path)):
            if not glob.glob(os.path.join(root, re.sub(r"<\w+>", "*", name))):
                yield f"{path}: {name}"


def tests_that_are_not_there(root):
    """If a document names tests after their suite ("`driver/txn/kill`: one_test, other_test"), the code has them."""
    named = r"`(?:contract|driver|house|sim|system|unit)/[\w/]+`:\s+(\w+(?:,\s+\w+)*)"
    for path in files(root):
        for names in re.findall(named, read(root, path)) if path.endswith(".md") else ():
            for name in re.findall(r"\w+_\w+_\w+", names):
                if name not in words_of_the_code(root):
                    yield f"{path}: {name}"


def rows_that_come_twice(root):
    """In the tables of CONTRIBUTING and of READMEs, a file or folder has one row."""
    for path in files(root):
        if os.path.basename(path) not in ("README.md", "CONTRIBUTING.md"):
            continue
        for table in re.split(r"\n(?!\|)", read(root, path)):
            firsts = re.findall(r"^\| *(`[^|]*`) *\|", table, re.MULTILINE)
            for name in sorted({name for name in firsts if firsts.count(name) > 1}):
                yield f"{path}: {name}"


def folders_that_contributing_does_not_name(root):
    path = "CONTRIBUTING.md"
    if not os.path.exists(os.path.join(root, path)):
        return
    named = set(re.findall(r"^\| `([\w/]+)/", read(root, path), re.MULTILINE))
    folders = {os.path.dirname(file) for file in files(root)} - {""}
    for folder in sorted({folder.split("/")[0] for folder in folders} | {f for f in folders if re.fullmatch(r"tests/\w+", f)}):
        if not folder.startswith(".") and not any(name == folder or name.startswith(folder + "/") for name in named):
            yield f"{path}: {folder}"


def untidy_text(root):
    for path in files(root):
        if not path.endswith(TEXT):
            continue
        text = read(root, path)
        if text and not text.endswith("\n"):
            yield f"{path}: no newline at the end"
        if re.search(r"[ \t](?:\n|\Z)", text):
            yield f"{path}: blanks at the end of a line"
        if path.endswith((".c", ".h", ".py")) and "\t" in text:
            yield f"{path}: a tab"


def phrases_to_avoid():
    """Returns the phrases of the column "instead of" in the table of docs/WRITING.md."""
    table = read(ROOT, "docs/WRITING.md").split("| instead of | write |\n|---|---|\n")[1].split("\n\n")[0]
    return [phrase for row in table.split("\n") for phrase in row.split("|")[1].strip().split(", ")]


def phrases_that_need_a_second_reading(root):
    """Comments, messages and documents contain none of these phrases, not even across lines. In scripts, only
    docstrings and comments are searched. Two exceptions: docs/WRITING.md quotes the phrases, and the names of
    simulated events are part of hashes of traces."""
    whole = re.compile(r".+", re.DOTALL)
    c_words = re.compile(r'/\*.*?\*/|(?<!sim__event\(world, )"(?:\\.|[^"\\\n])*"', re.DOTALL)
    script_words = re.compile(r'(?:\A(?:#!.*\n)?|(?<=:\n) *)"""(?:[^"]|"(?!""))*"""|(?:^ *#.*\n)+|  # .*', re.MULTILINE)
    phrases = [f"[{p[0].upper()}{p[0]}]" + r"[\s*#/]+".join(map(re.escape, p[1:].split(" "))) for p in phrases_to_avoid()]
    pattern = re.compile(rf"\b(?:{'|'.join(phrases)})\b")
    for path in files(root):
        words = (c_words if path.endswith((".c", ".h")) else whole if path.endswith((".md", ".cmake", ".yml")) else
                 script_words if path.endswith((".py", ".sh")) or os.path.dirname(path) in ("tools", "recipes") else None)
        if words is None or path == "docs/WRITING.md":
            continue
        text = read(root, path)
        for part, found in ((part, found) for part in words.finditer(text) for found in pattern.finditer(part.group())):
            line = text.count("\n", 0, part.start() + found.start()) + 1
            yield f"{path}:{line}: {' '.join(found.group().split())}"


def unfinished(root):
    words = ["TO" + "DO", "FIX" + "ME", "X" + "XX"]
    for path in files(root):
        text = read(root, path) if path.endswith(TEXT) else ""
        if any(word in text and re.search(rf"\b{word}\b", text) for word in words):
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
    """A header of a late library has two lists of functions: the X(...) list of functions to load, and the
    #defines. Both lists have the same functions, in alphabetical order."""
    for path in files(root):
        if path.endswith("_late.h"):
            listed = re.findall(r"^ +X\((\w+)\)", read(root, path), re.MULTILINE)
            defined = re.findall(r"^#define (\w+)[ \\\n]+[a-z]+__\w+\.\1$", read(root, path), re.MULTILINE)
            if listed != defined or listed != sorted(set(listed)):
                yield path


def comments(root):
    """Yields ("PATH:LINE", lines) of each block comment in the C files."""
    for path in files(root):
        if path.endswith((".c", ".h")):
            text = read(root, path)
            for comment in re.finditer(r"/\*.*?\*/", text, re.DOTALL):
                line = text.count("\n", 0, comment.start()) + 1
                yield f"{path}:{line}", comment.group().split("\n")


def comments_about_an_unnamed_thing(root):
    """A comment names what it compares with: "Like NAME, for", not "The same for"."""
    for place, lines in comments(root):
        if re.match(r"/\*+\s*(?:\* )?The same(?:,| for\b)", "\n".join(lines)):
            yield place


def words_that_repeat(root):
    for place, lines in comments(root):
        words = " ".join(re.sub(r"^\s*\*(?!/)", "", line).strip() for line in lines)
        if re.search(r"\b(?:(\w+ (?!of\b)[a-z]+) \1|(the|a|an|is|of|to|in|and|that) \2)\b", words):
            yield place


def scrambled_tables(root):
    """The rows of tables and diagrams are indented, and so are the continuation lines of items of lists. An
    unindented line next to such a row, or inside an item, shows that a reflow has damaged the table or the
    list."""
    row = r"\s*\* {3,}\S.*(  \S|[─-╿►▲▼])|\s*\* {20,}\S"
    for place, lines in comments(root):
        for above, line in zip(lines, lines[1:]):
            flush = re.match(r"\s*\* ?[^\s/]", line)
            bare = re.search(r"\S {3,}\S|[─-╿►▲▼]", line) or re.match(row, above)
            item = re.match(r"\s*\* (?:-|\d\.) [A-Z`]", above) and not re.match(r"\s*\* (?:-|\d+\.) ", line)
            if flush and (bare or item) or re.match(r"\s*\* [^\s/]", above) and re.match(r"\s*\* {7,}\S", line):
                yield f"{place}: {line.strip()}"
                break


def lines_of_diagrams_that_meet_nothing(root):
    """A corner or branch in a diagram has a line above or below it, where its shape demands one. If this line
    is missing, an edit has shifted the columns of the diagram."""
    blocks = list(comments(root))
    for path in files(root):
        if path.endswith(".md"):
            for block in re.finditer(r"^```\n.*?^```", read(root, path), re.DOTALL | re.MULTILINE):
                blocks.append((f"{path}:{read(root, path).count(chr(10), 0, block.start()) + 1}", block.group().split("\n")))
    for place, lines in blocks:
        for above, line, below in zip([""] + lines, lines, lines[1:] + [""]):
            for at, letter in enumerate(line):
                up, down = above[at:at + 1] or " ", below[at:at + 1] or " "
                dash = "-" in (line[at - 1:at], line[at + 1:at + 2]) and not set("/\\") & set(above[at - 1:at] + below[at - 1:at])
                if (letter in "┐┌┬" and down in " ─" or letter in "┘└┴" and up in " ─" or
                        letter in "┤├┼" and up in " ─" and down in " ─" or letter == "+" and dash and up == down == " "):
                    yield f"{place}: {line.strip()}"


def blanked(text):
    """Returns C code with the same lines and columns, but without the text of comments and strings."""
    return C_COMMENT.sub(lambda found: re.sub(r"[^\n]", "x" if found.group(1) else " ", found.group()), text)


def is_torn(lines, code, at):
    """Returns whether a comment behind line `at` has pushed the beginning of its statement to the line above.
    Without the comment, both would fit on one line."""
    above, line = code[at - 1].rstrip(" \\"), code[at].strip()
    in_macro = code[at - 1].endswith("\\")
    if (not above.strip() or "/*" in lines[at - 1] or above[-1] in ";{}:" or in_macro != above.startswith("#define")
            or in_macro and line.endswith("\\") or above.startswith("#") and not in_macro
            or re.match(r" *(?:\} )?(?:else|do|(?:else )?(?:if|for|while|switch) .*\))$", above)):
        return re.match(r" *for \([^)]*;$", above) is not None
    if above[-1] == "," and not re.match(r" +(?:const |struct |enum |unsigned )*\w+ \**\w+ = [^,]*,$", above):
        begin = at - 1
        while begin > 0 and code[begin - 1].rstrip()[-1:] not in (";", "{", "}", ""):
            begin -= 1
        statement = "".join(code[begin:at])
        if statement.count("(") <= statement.count(")"):
            return False
    return len(above) + 1 + len(line) <= COLUMNS


COLUMNS = 110  # as in .clang-format


def torn_declarations(root):
    """If a comment is behind a declaration or statement, both fit on one line. Otherwise the comment is above,
    not inside the declaration."""
    inside = r"^[^\n/]*; +/\*(?:(?!\*/)[^\n])*\n|[\w\])]\n *(?=/\*)(?:(?!\*/).|\n)*\*/\n? *[\[=](?!=)"
    for path in files(root):
        if not path.endswith((".c", ".h")):
            continue
        text = read(root, path)
        for found in re.finditer(inside, text, re.MULTILINE):
            yield f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
        lines, code = text.split("\n"), blanked(text).split("\n")
        for at in range(1, len(lines)):
            if "/*" in lines[at] and code[at].strip() and is_torn(lines, code, at):
                yield f"{path}:{at + 1}"


def a_formatter_that_reflows(root):
    if os.path.exists(os.path.join(root, ".clang-format")):
        if "\nReflowComments: false\n" not in "\n" + read(root, ".clang-format"):
            yield ".clang-format"


def named(root, source, row, document, form="{}"):
    """Yields the names that rows of a source file have and the document lacks. `row` matches a row and
    captures its name. `form` is the pattern of a name in the document."""
    if os.path.exists(os.path.join(root, source)):
        text = read(root, document) if os.path.exists(os.path.join(root, document)) else ""
        names = re.findall(row, read(root, source))
        if not names:
            yield f"{source}: has no rows any more"
        for name in names:
            if not re.search(form.format(re.escape(name)), text):
                yield f"{document}: {name}"


def errors_that_no_document_names(root):
    return named(root, "include/turnstone/coord_types.h", r'(?m)^ +X\([A-Z_]+, "(\w+)"', "docs/coordination.md", r"\b{}\b")


def formats_that_no_document_names(root):
    return named(root, "src/report/write.h", r'(?m)^ +X\([A-Z_]+, "(\w+)"', "docs/formats/findings.md", r"--format [\w|]*\b{}\b")


def engines_without_a_contract(root):
    return named(root, "src/store/contract/url.h", r"\bSTORE_URL_([A-Z]+)(?=[ ,])", "tests/contract/CMakeLists.txt",
                 r"(?i)ts_contract_test\({}\)")


def engines_that_help_does_not_name(root):
    """The help names all schemes except memory: and postgres:. memory: is for tests only, because a command's
    writes to it are lost when the command ends."""
    source, scheme = "src/store/contract/url.c", r'INIT\("(?!memory|postgres:)(\w+:)'
    yield from named(root, source, scheme, source, "define FORMS .*{}")
    yield from named(root, source, scheme, "src/cli/cluster_option.h")


def choices_beside_their_table(root):
    """If a table has the values of an option, then the choices of this option are made from the table
    (CLI_CHOICES in src/cli/verb.h)."""
    tables = [set(re.findall(r'^ +X\([A-Z0-9_]+, (?:\d+, )?"([^"]+)"', rows, re.MULTILINE))
              for path in files(root) if path.endswith(".h")
              for rows in re.findall(r"^#define \w+\(X\) *\\\n((?:.*\\\n)*.*)", read(root, path), re.MULTILINE)]
    for path in files(root):
        if path.startswith("src/cli/"):
            for choices in re.findall(r'\.choices = "([^"]*)"', read(root, path)):
                if any(set(choices.split("|")) <= table for table in tables):
                    yield f"{path}: {choices}"


def forges_that_help_does_not_name(root):
    return named(root, "src/discover/forge.c", r'\.name = "(\w+)"', "src/cli/targets.c", "{}://")


def variables_of_forges_that_help_does_not_name(root):
    return named(root, "src/discover/forge.c", r'\.variable = "(\w+)"', "src/cli/forge_option.h")


def locks_that_are_returned_silently(root):
    """If a function may return with a mutex locked, its name ends in _and_lock."""
    function = re.compile(r"^[a-z][^;{}#/]*?\b(\w+)\([^;{}]*\) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
    for path in files(root):
        if not path.endswith(".c") or not path.startswith("src/"):
            continue
        for name, body in function.findall(read(root, path)):
            held = 0
            for step in re.findall(r"\bpthread_mutex_(lock|unlock)\(|\b(return)\b", body + "return"):
                held += {"lock": 1, "unlock": -1}.get(step[0], 0)
                if step[1] and held > 0 and not name.endswith("_and_lock"):
                    yield f"{path}: {name}"
                    break


# Words after ts_ that two layers share on purpose. "op" is an operation of a batch in store, and is in names
# of ids and logs of operations in coord. "store" is in the name of the id that route returns. "txn" is in the
# name of the settings of transactions, which config reads.
SHARED_WORDS = {"op": {"coord", "store"}, "store": {"route", "store"}, "txn": {"config", "txn"}}
PUBLIC_LAYERS = {"api": "base", "bytes": "base", "version": "base", "cluster": "store", "coord_types": "coord"}


def words_of_two_layers(root):
    """The word after ts_ in the name of a function or type, or after TS_ in the name of a constant, belongs
    to one layer. So the word has one meaning, and a reader knows where to look. Layers of one family share
    their words."""
    shape = re.compile(r"\b(?:struct|enum|union) ts_([a-z0-9]+)\w* \{|^[a-zA-Z][^\n;={}(]*?\bts_([a-z0-9]+)\w*\(|"
                       r"^(?:#define |    )TS_([A-Z0-9]+)\w*", re.MULTILINE)
    layers = {path.split("/")[1]: {path.split("/")[1]} for path in files(root) if path.count("/") > 1 and path.startswith("src/")}
    for path in files(root):
        parts = path.split("/")
        if not path.endswith(".h") or parts[0] not in ("src", "include"):
            continue
        layer = parts[1] if parts[0] == "src" else PUBLIC_LAYERS.get(parts[-1][:-2], parts[-1][:-2])
        text = re.sub(r"/\*.*?\*/", "", read(root, path), flags=re.DOTALL)
        defined = re.sub(r"(?m)^ {4}TS_\w+\(.*", "", text)  # without uses of macros
        for found in shape.finditer(defined):
            layers.setdefault(next(filter(None, found.groups())).lower(), set()).add(layer)
    for word, sharing in sorted(layers.items()):
        if len(sharing) > 1 and not sharing <= SHARED_WORDS.get(word, set()):
            yield f"ts_{word}: {', '.join(sorted(sharing))}"


def private_names_of_another_layer(root):
    """A name with two underscores is private to a layer or to its family. The name begins with the name of
    the layer or family."""
    shape = re.compile(r"\b(?:struct|enum|union) ([a-z]+)__\w+ \{|^[a-zA-Z][^\n;={}(]*?\b([a-z]+)__\w+\(", re.MULTILINE)
    for path in files(root):
        if path.startswith("src/") and path.endswith(".h"):
            for found in shape.finditer(re.sub(r"/\*.*?\*/", "", read(root, path), flags=re.DOTALL)):
                if next(filter(None, found.groups())) not in path.split("/")[1:-1]:
                    yield f"{path}: {found.group().strip()}"


# {pattern of code: the only file that may have such code}. The patterns match code that allocates memory,
# opens temporary files, converts bytes to text and back, or puts commas between elements of JSON. All other
# code calls these files.
HOMES = {
    r"\b(?:realloc|reallocarray)\(|\bcapacity (?:\*= 2\b|= [^;\n]*\* 2\b)": "src/os/grow.c",
    r"size - \w+->used\b|\bblocks\[\w+->block_count\+\+\]": "src/os/arena.c",
    r"\bO_TMPFILE\b|\b(?:tmpfile|mkstemp)\(|\bmemfd_create\(": "src/os/unnamed_file.c",
    r'- \'a\' \+ 10|\[\'[aA]\'\] = 1[01]\b|>> 4\]|"%02[xX]", [\w.>-]+\[|"0123456789abcdef"[\[;]': "src/base/hex.c",
    r'ts_out_put_cstring\([^;]* (?:> 0|== 0) \? "(?:,|(?:[^"\\]|\\.)*" : ",(?! ))': "src/os/out_json.h",
    r"if \([^;{}]*\)\n +ts_out_put_char\([^;]*, ','\)": "src/os/out_json.h",
    r'ts_out_put_json\([^;]*_of_cstring\(name\)\);\n +ts_out_put_c\w+\([^;]*[\'"]:|ts_out_put_cstring\(\w+, "\\":"\)': "src/os/out_json.c",
    r'"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\+/=?"': "src/base/base64.c",
}


def helpers_outside_their_home(root):
    for path in files(root):
        if path.startswith("src/") and path.endswith((".c", ".h")):
            for pattern, home in HOMES.items():
                found = re.search(pattern, read(root, path))
                if found and path != home:
                    yield f"{path}: {found.group()}: call {home}"


# Options that messages in the library may name, because only the command shows these messages: the summary
# and notes of a report, and warnings about the state of scans.
COMMAND_ONLY = "min-confidence|no-builtin-rules|show-secrets|baseline|state|no-state|set"


def library_folders(root):
    """Returns the folders of the layers in the library, and the folders of layers that several verbs
    share."""
    path = "cmake/install.cmake"
    if not os.path.exists(os.path.join(root, path)):
        return ("src/base/",)
    listed = re.search(r"set\(TS_LIBRARY_LAYERS ([^)]*)\)", read(root, path)).group(1).split()
    listed += ["http", "notify"]  # several verbs use these layers, and their options differ
    return tuple(f"src/{layer.replace('_', '/', 1)}/" for layer in listed)


def options_of_the_command_in_the_library(root):
    """Messages of the library name no options, because a program that links the library has no command line.
    But a message may name a whole command in single quotes."""
    string = r'"(?:\\.|[^"\\\n])*"'
    for path in files(root):
        if path.startswith(library_folders(root)) and path.endswith((".c", ".h")) and path != "src/scan/option_names.c":
            text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment.group().count("\n"), read(root, path), flags=re.DOTALL)
            for texts in re.finditer(rf"{string}(?:[\s\w]*{string})*", text):
                message = re.sub(r"'[a-z]+ [^']*'", "", re.sub(r'"[\s\w]*"', "", texts.group()))
                if re.search(rf"(?<![\w-])--(?!(?:{COMMAND_ONLY})\b)[a-z]", message):
                    yield f"{path}:{text.count(chr(10), 0, texts.start()) + 1}"


RULES = {
    includes_that_leave_their_folder: ("src/base/x.c", '#include "../route/y.h"\n'),
    source_folders_without_readme: ("src/bare/x.c", "int x;\n"),
    readmes_without_their_sections: ("src/base/CMakeLists.txt", "ts_layer(base)\n"),
    layers_that_documents_describe_wrongly: ("docs/ARCHITECTURE.md", "| `base` | x | yes | here |\n"),
    links_to_nothing: ("docs/x.md", "[see](nowhere.md)\n"),
    names_in_backquotes_that_are_not_there: ("src/base/README.md", "`nowhere.c`\n"),
    files_that_their_readme_does_not_name: ("src/base/x.c", "int x;\n"),
    names_that_no_code_has: ("src/base/README.md", "`x_of_nobody()`\n"),
    names_that_another_file_has: ("src/base/README.md", "# base\n\n`nobody` in `x.c`\n"),
    limits_that_are_elsewhere: ("src/base/README.md", "# base\n\nthe defines at the top of `x.c`\n"),
    paths_in_documents_that_are_not_there: ("docs/x.md", "`src/nowhere/`\n"),
    tests_that_are_not_there: ("docs/x.md", "`driver/txn/kill`: a_test_of_nobody\n"),
    rows_that_come_twice: ("CONTRIBUTING.md", "| `src/` | one |\n| `src/` | two |\n"),
    folders_that_contributing_does_not_name: ("CONTRIBUTING.md", "| `docs/` | texts |\n"),
    untidy_text: ("src/base/x.c", "int x; \n"),
    phrases_that_need_a_second_reading: ("src/base/x.c", "/* The table is shown, and\n * all the\n * same it is empty. */\n"),
    unfinished: ("src/base/x.c", "/* TO" "DO */\n"),
    wrong_guards: ("src/base/x.h", "#ifndef X\n#define X\n#endif\n"),
    locks_that_are_returned_silently: ("src/base/x.c", "static void x(void) {\n    pthread_mutex_lock(&m);\n}\n"),
    late_libraries_with_two_lists: ("tests/x_late.h", "    X(a) \\\n    X(b)\n#define a store__x.a\n"),
    comments_about_an_unnamed_thing: ("src/base/x.h", "/* The same for a file. */\n", "/*\n * The same, with a file.\n */\n"),
    words_that_repeat: ("src/base/x.h", "/* the bytes the bytes of x */\n", "/* The end of\n * of x. */\n"),
    scrambled_tables: ("src/base/x.h", "/*\n *   one    two\n * three four\n */\n",
                       "/*\n * one two three\n *           two\n *   four    five\n */\n",
                       "/*\n * - One\n *   two.\n * - Three\n * four.\n */\n"),
    lines_of_diagrams_that_meet_nothing: ("src/base/x.h", "/*\n *   one ──┐\n *         │\n *   two ───┘\n */\n",
                                          "/*\n *   one --+\n *         |\n *   two ---+\n */\n",
                                          "/*\n *   one ──┐\n *          │\n *   two ───┘\n */\n"),
    torn_declarations: ("src/base/x.h", "struct x {\n    uint64_t\n        y; /* long */\n};\n",
                        "struct x {\n    char y[A +\n           B]; /* long */\n};\n",
                        "struct x {\n    char y; /* long,\n             * longer */\n};\n",
                        "char y[A]\n    /* long,\n     * longer */\n    [B];\n",
                        "#define Y \\\n    3 /* long */\n",
                        "static void x(void) {\n    y(1,\n      2); /* long */\n}\n",
                        "static void x(void) {\n    if (y &&\n        z) { /* long */\n    }\n}\n",
                        "static void x(void) {\n    int y = 1,\n        z = 2; /* long */\n}\n",
                        "static void x(void) {\n    for (int y = 0; y < z;\n         y++) /* long */\n        f();\n}\n"),
    errors_that_no_document_names: ("include/turnstone/coord_types.h", '    X(A_B, "Ab", YES)\n'),
    formats_that_no_document_names: ("src/report/write.h", '    X(A_B, "ab", "x", y)\n'),
    engines_without_a_contract: ("src/store/contract/url.h", "enum k { STORE_URL_X };\n"),
    engines_that_help_does_not_name: ("src/store/contract/url.c", '#define FORMS "x:"\n{TS_BYTES_INIT("x:"), X}\n'),
    choices_beside_their_table: ("src/cli/x.h", '#define TS_X(X) \\\n    X(A, "a") \\\n    X(B, "b")\n{.choices = "b|a"}\n'),
    forges_that_help_does_not_name: ("src/discover/forge.c", '{.name = "ab",\n .variable = "AB"}\n'),
    variables_of_forges_that_help_does_not_name: ("src/discover/forge.c", '{.name = "ab",\n .variable = "AB"}\n'),
    words_of_two_layers: ("src/b/x.h", "void ts_b_one(void);\nvoid ts_base_two(void);\n", "enum ts_b_one {\n    TS_BASE_TWO\n};\n",
                          "struct ts_base_one {\n    int x;\n};\n"),
    private_names_of_another_layer: ("src/b/x.h", "struct base__x {\n    int y;\n};\n", "void base__x(void);\n"),
    helpers_outside_their_home: ("src/base/x.c", "static void *x(void *y) {\n    return realloc(y, 2);\n}\n",
                                 "static void x(struct y *b) {\n    b->capacity = b->capacity * 2;\n}\n",
                                 "static bool x(struct y *b, size_t n) {\n    return b->size - b->used >= n;\n}\n",
                                 'static void x(void) {\n    snprintf(to, 3, "%02x", id->bytes[i]);\n}\n',
                                 "static void x(void) {\n    *to++ = digits[c >> 4];\n}\n",
                                 'static char x(int y) {\n    return "0123456789abcdef"[y];\n}\n',
                                 'static void x(void) {\n    ts_out_put_cstring(out, i > 0 ? "," : "");\n}\n',
                                 "static void x(void) {\n    if (i > 0)\n        ts_out_put_char(out, ',');\n}\n",
                                 'static void x(void) {\n    ts_out_put_cstring(out, "\\":");\n}\n',
                                 'static void x(void) {\n    ts_out_put_json(out, ts_bytes_of_cstring(name));\n    ts_out_put_char(out, \':\');\n}\n',
                                 'static void x(void) {\n    ts_out_put_cstring(out, i == 0 ? "{\\"" : ",\\"");\n}\n'),
    options_of_the_command_in_the_library: ("src/base/x.c", 'const char *x = "too large; raise --memory";\n'),
    a_formatter_that_reflows: (".clang-format", "ReflowComments: true\n"),
}


@test
def every_rule_holds():
    broken = [f"{rule.__name__}: {place}" for rule in RULES for place in rule(ROOT)]
    holds(not broken, "\n" + "\n".join(broken))


@test
def every_rule_can_fail():
    for rule, path, text in [(rule, path, text) for rule, (path, *texts) in RULES.items() for text in texts]:
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "src", "base"))
            with open(os.path.join(root, "src", "base", "README.md"), "w") as file:
                file.write("# base\n")
            equal(list(rule(root)), [], f"{rule.__name__} on a sound tree")
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as file:
                file.write(text)
            for cached in (files, read, words_of_the_code):
                cached.cache_clear()
            equal(len(list(rule(root))), 1, f"{rule.__name__} on a planted violation")


main()
