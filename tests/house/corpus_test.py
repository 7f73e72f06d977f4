#!/usr/bin/env python3
"""corpus_test.py ROOT: tools/corpus makes the same history everywhere from downloaded packages, and reports problems.

Scripts replace the clients npm and pip, and serve archives that the test makes, so the test needs no network.
The last test shows that the real clients, if they are installed, accept the calls of tools/corpus.
"""
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer

ROOT = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from tap import Skip, equal, holds, main, test  # noqa: E402

# Scripts that replace the clients npm and pip. A script records its arguments, and copies the requested files
# from ./served.
NPM = r"""#!/bin/sh
echo "npm $*" >>"$SERVED/calls"
while [ $# -gt 0 ]; do
    case $1 in
    --pack-destination) destination=$2; shift ;;
    *@*) file=$(echo "$1" | sed 's/^@//; s#/#-#; s/@/-/').tgz
        cp "$SERVED/$file" "$destination/" || { echo "npm error 404 $1" >&2; exit 1; } ;;
    esac
    shift
done
"""
PIP = r"""#!/bin/sh
echo "pip $*" >>"$SERVED/calls"
while [ $# -gt 0 ]; do
    case $1 in
    --dest) destination=$2; shift ;;
    *==*) file=$(echo "$1" | sed 's/==/-/')-py3-none-any.whl
        cp "$SERVED/$file" "$destination/" || { echo "ERROR: no $1" >&2; exit 1; } ;;
    esac
    shift
done
"""


def clients():
    os.makedirs("bin", exist_ok=True)
    os.makedirs("served", exist_ok=True)
    for name, text in (("npm", NPM), ("pip3", PIP)):
        with open(f"bin/{name}", "w") as file:
            file.write(text)
        os.chmod(f"bin/{name}", 0o755)


def calls():
    if not os.path.exists("served/calls"):
        return []
    with open("served/calls") as file:
        return file.read().splitlines()


def tgz(name, version, files, extra=()):
    path = f"served/{name.replace('@', '').replace('/', '-')}-{version}.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for inside, data in files.items():
            member = tarfile.TarInfo(inside)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for member in extra:
            archive.addfile(member)
    return path


def wheel(name, version, files):
    path = f"served/{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inside, data in files.items():
            archive.writestr(inside, data)
    return path


def link(name, target):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


def pinned(path):
    with open(path, "rb") as file:
        data = file.read()
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}"


def listed(*lines):
    with open("list", "w") as file:
        file.write("\n".join(lines) + "\n")


def corpus(*arguments, folder="made", path=None):
    environment = {**os.environ, "SERVED": os.path.abspath("served"),
                   "PATH": path or os.path.abspath("bin") + os.pathsep + os.environ["PATH"]}
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "corpus"), "--list", "list", *arguments, folder],
                          capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout, done.stderr


def git(*arguments, folder="made", repository="one"):
    return subprocess.run(["git", *arguments], cwd=f"{folder}/{repository}.git", capture_output=True, text=True,
                          check=True).stdout


def pack(folder):
    place = f"{folder}/one.git/objects/pack"
    found = [name for name in os.listdir(place) if name.endswith(".pack")]
    equal(len(found), 1)
    return pinned(os.path.join(place, found[0]))


def two_packages():
    """Makes two versions of one package and one version of another. Returns the three lines that list them as
    a repository. One package is too large for deltas."""
    clients()
    text = b"".join(b"line %d of a file that hardly changes\n" % n for n in range(2000))
    first = tgz("@s/left", "1.0.0", {"package/big.js": text, "package/a b/\xe9.txt".encode().decode("latin-1"): b"x\n"})
    second = tgz("@s/left", "1.1.0", {"package/big.js": text + b"more\n"})
    third = wheel("right", "2.0", {"right/__init__.py": b"import os\n"})
    return (f"one npm @s/left 1.0.0 {pinned(first)}", f"one pip right 2.0 {pinned(third)}",
            f"one npm @s/left 1.1.0 {pinned(second)}")


def many_files():
    clients()
    files = {f"package/d{n % 7}/e{n % 3}/f{n}.txt": b"".join(b"line %d of file %d\n" % (k, n) for k in range(40)) for n in range(60)}
    return f"one npm many 1.0.0 {pinned(tgz('many', '1.0.0', files))}"


@test
def a_history_grows_out_of_another_and_is_the_same_everywhere():
    listed("one head ?", many_files(), "long head ?", "long grows one 1000")
    status, output, errors = corpus("--pin")
    equal(status, 0, errors)
    figures = json.loads(output)["repositories"][1]
    # The history has so many commits that no pack is empty, even if a merge crosses the end of a pack.
    holds(1000 <= figures["commits"] < 1020 and figures["packs"] == 3, figures)
    equal(git("fsck", "--full", repository="long").strip(), "")
    holds(int(git("rev-list", "--count", "--min-parents=2", "main", repository="long")) > 10, "merges")
    equal(int(git("rev-list", "--count", "--all", repository="long")), figures["commits"])
    equal(len(git("ls-tree", "--name-only", "main", "flat/", repository="long").splitlines()), 1000)
    holds(int(git("count-objects", repository="long").split()[0]) > 40, "loose objects")
    # The list now names the commit that --pin made. A second run must make the same commit.
    status, output, errors = corpus(folder="again")
    equal(status, 0, errors)
    equal(json.loads(output)["repositories"][1]["head"], figures["head"])


@test
def a_history_that_grows_needs_what_it_grows_out_of():
    listed("one head ?", many_files(), "long head ?", "long grows none 400")
    status, _, errors = corpus("--pin")
    equal(status, 2)
    holds("long grows out of none, which has no versions" in errors, errors)


@test
def versions_become_commits_in_the_order_of_the_list():
    listed("one head ?", *two_packages())
    status, output, errors = corpus("--pin")
    equal(status, 0, errors)
    figures = json.loads(output)["repositories"][0]
    equal((figures["commits"], figures["tags"], figures["packs"], figures["delta_depth_max"]), (3, 3, 1, 1))
    equal(git("log", "--reverse", "--format=%an %at %s").splitlines(),
          ["s-left 1600000000 @s/left 1.0.0", "right 1600086400 right 2.0", "s-left 1600172800 @s/left 1.1.0"])
    equal(git("ls-tree", "-r", "--name-only", "main").splitlines(), ["right/right/__init__.py", "s-left/big.js"])
    equal(git("fsck", "--strict"), "")


@test
def the_same_list_gives_the_same_commits_and_the_same_pack():
    listed("one head ?", *two_packages())
    corpus("--pin")
    with open("list") as file:
        holds("?" not in file.read(), "the head is pinned")
    status, _, errors = corpus(folder="again")
    equal(status, 0, errors)
    for what in (("rev-parse", "main"), ("for-each-ref",)):
        equal(git(*what, folder="again"), git(*what), what)
    equal(pack("again"), pack("made"))


@test
def nothing_is_fetched_or_built_twice():
    listed("one head ?", *two_packages())
    corpus("--pin")
    before, made = calls(), os.stat("made/one.git").st_ino
    status, output, _ = corpus()
    equal((status, calls(), os.stat("made/one.git").st_ino), (0, before, made))
    equal(json.loads(output)["repositories"][0]["commits"], 3)


@test
def an_interrupted_run_continues_with_its_downloads():
    lines = two_packages()
    listed("one head ?", *lines)
    os.rename("served/right-2.0-py3-none-any.whl", "served/away")
    status, _, errors = corpus("--pin")
    equal(status, 6)
    holds("right@2.0: pip could not fetch it" in errors and "run this again" in errors, errors)
    holds(len(errors.strip().splitlines()) == 2, errors)
    os.rename("served/away", "served/right-2.0-py3-none-any.whl")
    with open("made/downloads/npm-s-left-1.0.0.tgz", "r+b") as file:
        file.truncate(10)
    os.makedirs("made/one.git.partial/objects")
    already = len(calls())
    status, _, errors = corpus("--pin")
    equal(status, 0, errors)
    again = " ".join(calls()[already:])
    holds("left@1.0.0" in again and "right==2.0" in again and "left@1.1.0" not in again, again)
    holds(not os.path.exists("made/one.git.partial"), "no leftovers")


@test
def an_archive_that_is_not_the_listed_one_is_refused():
    lines = two_packages()
    listed("one head ?", *lines)
    tgz("@s/left", "1.0.0", {"package/big.js": b"something else\n"})
    status, _, errors = corpus("--pin")
    equal(status, 6)
    holds("@s/left@1.0.0: what npm fetched is not the file" in errors, errors)
    holds(not os.path.exists("made/one.git"), "nothing is built")


@test
def a_history_that_ends_elsewhere_is_not_taken():
    listed("one head " + "1" * 40, *two_packages())
    status, _, errors = corpus()
    equal(status, 6)
    holds("the history ends in" in errors and not os.path.exists("made/one.git"), errors)


@test
def clients_are_called_so_that_nothing_of_a_package_runs():
    listed("one head ?", *two_packages())
    corpus("--pin")
    for call in calls():
        holds("--ignore-scripts" in call if call.startswith("npm") else "--only-binary :all: " in call, call)
        holds("registry" not in call and "index" not in call, call)
    equal(len(calls()), 2, "versions of an npm package share a call")


@test
def links_and_what_git_keeps_for_itself_are_left_out():
    clients()
    path = tgz("p", "1.0.0", {"package/ok.txt": b"ok\n", "package/sub/.git": b"gitdir: /elsewhere\n", "package/.GIT/config": b"x"},
               extra=[link("package/out", "/etc/passwd"), link("package/up", "../../..")])
    listed("one head ?", f"one npm p 1.0.0 {pinned(path)}")
    equal(corpus("--pin")[0], 0)
    equal(git("ls-tree", "-r", "--name-only", "main"), "p/ok.txt\n")


@test
def paths_that_lead_out_of_the_tree_are_refused():
    clients()
    for number, bad in enumerate(("package/../../out", "package//etc/passwd", "package/a\\..\\b", "package/a\nb", "package/./x", "top")):
        version = f"1.0.{number}"
        path = tgz("p", version, {"package/ok.txt": b"ok\n", bad: b"bad\n"})
        listed("one head ?", f"one npm p {version} {pinned(path)}")
        status, _, errors = corpus("--pin")
        equal((status, "refuses a file called" in errors), (2, True), f"{bad!r}: {errors}")
        holds(not os.path.exists("made/one.git") and not os.path.exists("out"), bad)


@test
def a_damaged_archive_is_named():
    clients()
    with open("served/p-1.0.0.tgz", "wb") as file:
        file.write(b"\x1f\x8b\x08\x00 this is no archive")
    listed("one head ?", f"one npm p 1.0.0 {pinned('served/p-1.0.0.tgz')}")
    status, _, errors = corpus("--pin")
    equal(status, 2)
    holds("npm-p-1.0.0.tgz" in errors and "Traceback" not in errors, errors)


@test
def mistakes_in_the_list_are_named_by_line():
    clients()
    for lines, complaint in ((("one head ?", "one gem p 1.0 1 a"), "list:2: neither"), (("one head ?",), "needs both"),
                             (("one npm p 1.0 1 a",), "needs both"), (("one head ?", "one npm p 1.0 ? ?"), "--pin fetches")):
        listed(*lines)
        status, _, errors = corpus()
        equal((status, complaint in errors), (2, True), errors)


@test
def a_missing_client_is_one_line():
    lines = two_packages()
    listed("one head ?", *lines)
    os.makedirs("few")
    os.symlink(shutil.which("git"), "few/git")
    status, _, errors = corpus("--pin", path=os.path.abspath("few"))
    equal(status, 2)
    holds("is not on the PATH; 'tools/install-packages corpus' installs it" in errors.splitlines()[-1], errors)


@test
def the_users_git_configuration_changes_nothing():
    listed("one head ?", *two_packages())
    corpus("--pin")
    with open("gitconfig", "w") as file:
        file.write("[core]\n\tcompression = 0\n[pack]\n\tdepth = 0\n[user]\n\tname = Somebody\n")
    os.environ["GIT_CONFIG_GLOBAL"] = os.path.abspath("gitconfig")
    try:
        status, _, errors = corpus(folder="again")
    finally:
        del os.environ["GIT_CONFIG_GLOBAL"]
    equal(status, 0, errors)
    equal(pack("again"), pack("made"))


class Registry(BaseHTTPRequestHandler):
    """A server that answers like an npm registry and a Python index, as far as the clients use them."""

    def do_GET(self):
        here = f"http://127.0.0.1:{self.server.server_port}"
        name = self.path.strip("/").replace("%2f", "/").replace("%2F", "/")
        served = os.path.join(self.server.folder, os.path.basename(name))
        if name == "p":
            body = json.dumps({"name": "p", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
                "name": "p", "version": "1.0.0", "scripts": {"prepack": "touch /nowhere/ran"},
                "dist": {"tarball": f"{here}/files/p-1.0.0.tgz"}}}}).encode()
            kind = "application/json"
        elif name == "simple/right":
            body = f'<a href="{here}/files/right-2.0-py3-none-any.whl">right-2.0-py3-none-any.whl</a>'.encode()
            kind = "text/html"
        elif name.startswith("files/") and os.path.exists(served):
            with open(served, "rb") as file:
                body = file.read()
            kind = "application/octet-stream"
        else:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@test
def the_real_clients_fetch_from_where_they_are_configured():
    if shutil.which("npm") is None or shutil.which("pip3") is None:
        raise Skip("npm or pip3 is not here")
    os.makedirs("served")
    package = json.dumps({"name": "p", "version": "1.0.0"}).encode()
    path = tgz("p", "1.0.0", {"package/package.json": package, "package/ok.txt": b"ok\n"})
    info = b"Metadata-Version: 2.1\nName: right\nVersion: 2.0\n"
    other = wheel("right", "2.0", {"right.py": b"x = 1\n", "right-2.0.dist-info/METADATA": info,
                                   "right-2.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n",
                                   "right-2.0.dist-info/RECORD": b""})
    listed("one head ?", f"one npm p 1.0.0 {pinned(path)}", f"one pip right 2.0 {pinned(other)}")
    server = HTTPServer(("127.0.0.1", 0), Registry)
    server.folder = os.path.abspath("served")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{server.server_port}"
    kept = dict(os.environ)
    os.environ.update(HOME=os.getcwd(), npm_config_registry=here, npm_config_cache=os.path.abspath("cache"),
                      npm_config_userconfig=os.path.abspath("npmrc"), PIP_CONFIG_FILE=os.devnull, PIP_INDEX_URL=here + "/simple/",
                      PIP_NO_CACHE_DIR="1", NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")
    try:
        status, _, errors = corpus("--pin", path=os.environ["PATH"])
    finally:
        os.environ.clear()
        os.environ.update(kept)
        server.shutdown()
        server.server_close()
    equal(status, 0, errors)
    equal(git("ls-tree", "--name-only", "main:p").splitlines(), ["ok.txt", "package.json"])
    holds("right.py" in git("ls-tree", "--name-only", "main:right"), "the wheel is there")


main()
