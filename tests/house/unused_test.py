#!/usr/bin/env python3
"""unused_test.py ROOT BUILD: every exported function, every macro and every field has a user, and the check can fail.

A user is another file of src/ or bench/. Names in include/turnstone.abi are for programs that link the
library, so they count as used. A test may use a function of the file under test, but a test must not be the
only user of the function.
"""
import collections
import os
import re
import subprocess
import sys

ROOT, BUILD = (os.path.abspath(path) for path in sys.argv[1:3])
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

SPECIFIED = "the specification demands it; the program has no use for it yet"
TABLE = "a table makes one for each of its rows, and the program does not need all of them"
PROBE = "shows tests a state that they cannot see otherwise"
LIBRARY = "a header of another library reads it"
BYTES = "compared as a whole, with the bytes of its struct"
RANDOM = "made-up data of tests comes from the generator of the simulations"
ALLOWED = {
    "main": "the program starts there",
    "actual_hash": PROBE,
    "after_unknown": PROBE,
    "changed_ns": BYTES,
    "changed_s": BYTES,
    "config__setting_get": PROBE,
    "current_owner": SPECIFIED,
    "expected_hash": PROBE,
    "stop_cpu_us": PROBE,
    "store__locks_count": PROBE,
    "PCRE2_CODE_UNIT_WIDTH": LIBRARY,
    "XXH_INLINE_ALL": LIBRARY,
    "ts_coord_error_variant": TABLE,
    "ts_coord_limits": PROBE,
    "ts_derived_shard_kind_name": TABLE,
    "ts_detector_cache_state": PROBE,
    "ts_error_debug": SPECIFIED,
    "ts_event_text": "failing tests of coordination print events with it; it redacts as errors do",
    "ts_fixed_buf__debug": SPECIFIED,
    "ts_fixed_buf_copy": SPECIFIED,
    "ts_fixed_buf_debug": SPECIFIED,
    "ts_fixed_buf_equal": SPECIFIED,
    "ts_fixed_buf_has_data": SPECIFIED,
    "ts_get_run_error_of": TABLE,
    "ts_hist_next": PROBE,
    "ts_memory_damage": "tests damage a record with it, as a bad disk would",
    "ts_prng__shuffle": RANDOM,
    "ts_prng_fill": RANDOM,
    "ts_prng_shuffle": RANDOM,
    "ts_run_op_kind_name": TABLE,
    "ts_shard_op_kind_name": TABLE,
}


def objects(root, build, *folders):
    """Yields the object files of the build. Omits object files without a source: if a source was renamed, the
    build folder still has the old object file."""
    for top in folders:
        for folder, _, names in os.walk(os.path.join(build, top)):
            if not folder.endswith("_headers.dir") and "/headers/" not in folder:
                paths = (os.path.join(folder, name) for name in sorted(names) if name.endswith(".c.o"))
                yield from (path for path in paths if has_source(root, build, path))


def has_source(root, build, path):
    return any(os.path.isfile(source_of(top, build, path)) for top in (root, build))


def symbols(paths):
    """Returns {object file: exported symbols} and {object file: imported symbols}."""
    defined, needed = collections.defaultdict(set), collections.defaultdict(set)
    paths = list(paths)
    if paths:
        lines = subprocess.run(["nm", "-A", *paths], check=True, capture_output=True, text=True).stdout.splitlines()
        for line in lines:
            path, rest = line.split(":", 1)
            kind, name = rest.split()[-2:]
            if kind in "TDBR":
                defined[path].add(name)
            elif kind == "U":
                needed[path].add(name)
    return defined, needed


def code(path):
    """Returns the text of a file without its comments; "" if the file does not exist."""
    if not os.path.isfile(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read(), flags=re.S)


def words(path):
    """Returns how often each word occurs in a file outside comments."""
    return collections.Counter(re.findall(r"\w+", code(path)))


def source_of(root, build, path):
    return os.path.join(root, re.sub(r"/CMakeFiles/[^/]+\.dir/", "/", os.path.relpath(path, build))[:-len(".o")])


def exported_without_user(root, build):
    """Yields (file, name, what is wrong) of each exported name without a user."""
    with open(os.path.join(root, "include", "turnstone.abi"), encoding="utf-8") as file:
        public = set(re.findall(r"\w+", re.sub(r"^#.*", "", file.read(), flags=re.M)))
    defined, needed = symbols(objects(root, build, "src"))
    used = public.union(*needed.values(), *symbols(objects(root, build, "bench"))[1].values())
    tested = set().union(*symbols(objects(root, build, "tests"))[1].values())
    for path in sorted(defined):
        source = source_of(root, build, path)
        own = words(source)
        for name in sorted(defined[path] - used):
            if own[name] < 2:
                yield source, name, "only tests use it" if name in tested else "nobody uses it"
            elif name not in tested:
                yield source, name, "only its own file uses it: make it static"


def sources(root):
    return [os.path.join(folder, name) for top in ("src", "bench", "include")
            for folder, _, names in os.walk(os.path.join(root, top)) for name in names if name.endswith((".c", ".h"))]


def inline_without_user(root):
    files = sources(root)
    count = sum((words(path) for path in files), collections.Counter())
    for path in sorted(path for path in files if path.endswith(".h")):
        with open(path, encoding="utf-8") as file:
            for name in re.findall(r"^static inline [^;{}]*?\b(\w+)\([^;{}]*\) \{", file.read(), re.M):
                if count[name] < 2:
                    yield path, name, "nobody in src/ or bench/ uses it"


DEFINITION = r"^[ \t]*#[ \t]*define[ \t]+(\w+)"


def macros_without_user(root):
    """Yields macros without a use. A macro is used if its name occurs elsewhere than after #define or #undef,
    or if ## can make the name from a word that is its beginning or its end."""
    files = sources(root)
    texts = {path: re.sub(r"^[ \t]*#[ \t]*undef[^\n]*", "", code(path), flags=re.M) for path in files}
    everything = "\n".join(texts.values())
    count = collections.Counter(re.findall(r"\w+", re.sub(DEFINITION, "", everything, flags=re.M)))
    names = set(re.findall(DEFINITION, everything, re.M))
    starts = tuple(name for name in re.findall(r"(\w+_)[ \t]*##", everything) if name not in ("ts_", "TS_"))
    ends = tuple(re.findall(r"##[ \t]*(_\w+)", everything))
    unused_names = {name for name in names if count[name] == 0 and not name.startswith(starts) and not name.endswith(ends)}
    for path in sorted(files):
        for name in sorted(unused_names.intersection(re.findall(DEFINITION, texts[path], re.M))):
            yield path, name, "nobody in src/ or bench/ uses this macro"


def fields_without_reader(root):
    """Yields the fields that the code declares and assigns, but never reads. Checks only names that a single
    struct has."""
    texts = {path: re.sub(r'"(?:\\.|[^"\\\n])*"', '""', code(path)) for path in sources(root)}
    declared = collections.defaultdict(list)
    for path, text in texts.items():
        for body in re.findall(r"\b(?:struct|union)(?: \w+)? \{(.*?)\n *\}", text, re.S):
            for name in re.findall(r"^ +[\w *]+[ *](\w+)(?:\[[^\]]*\])*(?: *: *\d+)?;", body, re.M):
                declared[name].append(path)
    everything = "\n".join(texts.values())
    read = set(re.findall(r"(?:\.|->)(\w+)\b(?!\s*=[^=])", everything))
    count = collections.Counter(re.findall(r"\w+", everything))
    written = collections.Counter(re.findall(r"(?:\.|->)(\w+)\b", everything))
    for name, paths in sorted(declared.items()):
        if len(paths) == 1 and name not in read and count[name] == written[name] + 1:
            yield paths[0], name, "nobody in src/ or bench/ reads this field"


def unused(root, build):
    return [*exported_without_user(root, build), *inline_without_user(root), *macros_without_user(root),
            *fields_without_reader(root)]


@test
def every_exported_function_macro_and_field_has_a_user():
    found = [(os.path.relpath(path, ROOT), name, what) for path, name, what in unused(ROOT, BUILD) if name not in ALLOWED]
    equal(["%s: %s: %s" % one for one in found], [], "remove them, or give them a user")


@test
def no_exception_is_out_of_date():
    equal(sorted(set(ALLOWED) - {name for _, name, _ in unused(ROOT, BUILD)}), [], "no longer needed in ALLOWED")


def plant(files):
    """Compiles a small tree in the current folder. Returns {name: what is wrong} of the names that the check
    finds in it."""
    for path, text in {"include/turnstone.abi": "void promised(void)\n", **files}.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if path.endswith(".c"):
            folder, name = os.path.split(path)
            objects_of = os.path.join("build", folder, "CMakeFiles", "planted.dir")
            os.makedirs(objects_of, exist_ok=True)
            subprocess.run(["cc", "-c", path, "-o", os.path.join(objects_of, name + ".o")], check=True)
    return {name: what.split(":")[0] for _, name, what in unused(os.getcwd(), os.path.join(os.getcwd(), "build"))}


@test
def planted_functions_macros_and_fields_without_users_are_found():
    found = plant({
        "src/a/a.h": "#ifndef A_H\n#define A_H\n#define IDLE 1\n#define BUSY 2\n#define PART_ONE 3\n"
                     "#define PART(x) PART_##x\n#undef IDLE\n"
                     "static inline int idle(void) {\n    return BUSY + PART(ONE);\n}\n#endif\n",
        "src/a/b.h": "struct s {\n    int seen;\n    int blind;\n};\n",
        "src/a/a.c": "#include \"b.h\"\nstatic int look(struct s *s) {\n    s->blind = 1;\n    return s->seen;\n}\nvoid promised(void) {}\nvoid shared(void) {}\nvoid part(void) {}\nvoid forgotten(void) {}\n"
                     "void probe(void) {} /* probe() is not called here */\nvoid alone(void) {}\n"
                     "void work(void) {\n    part();\n    alone();\n}\n",
        "src/b/b.c": "void shared(void);\nvoid work(void);\nstatic void quiet(void) {}\n"
                     "int main(void) {\n    quiet();\n    shared();\n    work();\n}\n",
        "tests/a_test.c": "void part(void);\nvoid probe(void);\nint main(void) {\n    part();\n    probe();\n}\n",
    })
    equal(found, {"alone": "only its own file uses it", "forgotten": "nobody uses it", "probe": "only tests use it",
                  "idle": "nobody in src/ or bench/ uses it", "main": "nobody uses it",
                  "IDLE": "nobody in src/ or bench/ uses this macro", "blind": "nobody in src/ or bench/ reads this field"})


@test
def the_check_sees_the_objects_of_the_build():
    count = sum(1 for _ in objects(ROOT, BUILD, "src"))
    holds(count > 200, f"{count} objects below {BUILD}/src: the check would find nothing")


main()
