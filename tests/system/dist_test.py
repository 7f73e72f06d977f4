#!/usr/bin/env python3
"""dist_test.py PROGRAM BUILD-FOLDER: the results of `make dist` can be installed on an empty system, and scan there."""
import glob
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from clean_root import Root, with_dependencies  # noqa: E402
from pre_commit import PreCommit, refuses_secrets  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

BUILD = os.path.abspath(sys.argv[2])
EPOCH = "1700000000"
os.environ["XDG_STATE_HOME"] = "/nowhere"


def dist(folder, **environment):
    subprocess.run([os.path.join(ROOT, "packaging", "dist"), BUILD, folder, "--level", "1"], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH, **environment})
    return folder


_made = tempfile.TemporaryDirectory()
DIST = dist(os.path.join(_made.name, "dist"))


def made(pattern):
    (path,) = glob.glob(os.path.join(DIST, pattern))
    return path


def repository(path):
    """Makes a repository with two secrets: the first is in a file that the last commit removes, the second in
    an archive."""
    repo = Repo(path)
    repo.write("settings.py", f"TOKEN = '{github_token(1)}'\n")
    repo.commit()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("app.env", f"TOKEN={github_token(2)}\n")
    repo.remove("settings.py")
    repo.write("deploy.zip", archive.getvalue())
    repo.commit()
    return repo


def scans(root, program="/usr/local/bin/turnstone"):
    """Checks that the program finds a secret in a history, and a secret in an archive, for which it loads
    libarchive."""
    repository(f"{root.path}/srv/shop")
    result = root.run(program, "scan", "--no-state", "--format", "json", "/srv/shop")
    equal(result.status, 1, result)
    paths = sorted(finding["occurrences"][0]["path"] for finding in json.loads(result.out)["findings"])
    equal(paths, ["deploy.zip!/app.env", "settings.py"])


def loads_every_library(root, program="/usr/local/bin/turnstone"):
    """Checks that the program can load its late libraries: stores and requests load them. Requests to servers
    then fail only because there is no network."""
    equal(root.run(program, "store", "init", "--cluster", "rocksdb:/tmp/store").status, 0)
    for words in (["store", "init", "--cluster", "postgresql://u@127.0.0.1:1/d?connect_timeout=1"],
                  ["verify", "--yes", "/srv/shop"]):
        result = root.run(program, *words)
        holds("cannot be loaded" not in result.err + result.out and result.status not in (2, 127), result)


def unpack_tarball(root, below="usr/local"):
    subprocess.run(["tar", "-xzf", made("*.tar.gz"), "-C", os.path.join(root.path, below), "--strip-components", "1",
                    "--no-same-owner"], check=True)


@test
def the_tarball_needs_only_the_c_library():
    root = Root("root", "libc6")
    unpack_tarball(root)
    result = root.run("/usr/local/bin/turnstone", "--version")
    holds(result.status == 0 and re.fullmatch(r"turnstone \d+\.\d+\.\d+\S*\n", result.out), result)
    scans(root)
    loads_every_library(root)
    holds(os.path.exists(f"{root.path}/usr/local/share/man/man1/turnstone.1"), "the man page")
    holds(glob.glob(f"{root.path}/usr/local/share/doc/turnstone/libraries/libvectorscan*"), "licences of the libraries")


@test
def the_tarball_is_whole():
    """If a library is missing in the tarball, the program fails. This shows that the tests above can fail."""
    root = Root("root", "libc6")
    unpack_tarball(root)
    (left_out,) = glob.glob(f"{root.path}/usr/local/lib/turnstone/libxml2.so.*")
    os.unlink(left_out)
    repository(f"{root.path}/srv/shop")
    result = root.run("/usr/local/bin/turnstone", "scan", "--no-state", "/srv/shop")
    holds(result.status == 4 and "libxml2" in result.out + result.err, result)


@test
def two_runs_make_the_same_bytes():
    again = dist("again", TZ="Asia/Tokyo", LC_ALL="C")
    with open(os.path.join(DIST, "SHA256SUMS")) as first, open(os.path.join(again, "SHA256SUMS")) as second:
        sums = first.read()
        equal(second.read(), sums)
    rows = dict(reversed(line.split("  ")) for line in sums.splitlines())
    equal(sorted(rows), sorted(set(os.listdir(DIST)) - {"SHA256SUMS"}))
    for name, digest in rows.items():
        with open(os.path.join(DIST, name), "rb") as file:
            equal(hashlib.sha256(file.read()).hexdigest(), digest, name)


@test
def the_debian_package_depends_on_what_it_needs_and_leaves_nothing_behind():
    package = made("*.deb")
    fields = subprocess.run(["dpkg-deb", "--field", package, "Depends"], check=True, capture_output=True, text=True).stdout
    names = [re.split(r"[ (]", name.strip())[0] for name in fields.split(",")]
    root = Root("root", *with_dependencies(names))
    before = root.files()
    dpkg = ("dpkg", f"--root={root.path}", "--force-not-root", "--log=/dev/null")
    result = root.outside(*dpkg, "--install", package)
    equal(result.status, 0, result)
    for path in ("usr/bin/turnstone", "usr/share/man/man1/turnstone.1.gz", "usr/share/bash-completion/completions/turnstone",
                 "usr/share/doc/turnstone/copyright", "usr/share/doc/turnstone/changelog.gz"):
        holds(os.path.exists(os.path.join(root.path, path)), path)
    scans(root, "/usr/bin/turnstone")
    subprocess.run(["rm", "-r", f"{root.path}/srv/shop"], check=True)
    result = root.outside(*dpkg, "--purge", "turnstone")
    equal(result.status, 0, result)
    after = root.files()
    equal(sorted(set(before.items()) ^ set(after.items())), [])


@test
def lintian_has_no_errors():
    done = subprocess.run(["lintian", "--no-cfg", "--allow-root", "--fail-on", "error", made("*.deb")], capture_output=True,
                          text=True, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"})
    holds(done.returncode == 0 and "E: " not in done.stdout, done)


def unpack_image(path, root):
    """Unpacks the image like a container engine: finds each part by the digest that the image's documents
    state. Returns the configuration of the image."""
    with tarfile.open(path) as image:
        def blob(described):
            data = image.extractfile("blobs/" + described["digest"].replace(":", "/")).read()
            equal(("sha256:" + hashlib.sha256(data).hexdigest(), len(data)), (described["digest"], described["size"]))
            return data

        index = json.load(image.extractfile("index.json"))
        manifest = json.loads(blob(index["manifests"][0]))
        config = json.loads(blob(manifest["config"]))
        for layer, diff_id in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
            done = subprocess.run(["gzip", "-dc"], input=blob(layer), check=True, capture_output=True)
            equal("sha256:" + hashlib.sha256(done.stdout).hexdigest(), diff_id)
            with tarfile.open(fileobj=io.BytesIO(done.stdout)) as files:
                files.extractall(root, filter="fully_trusted") if hasattr(tarfile, "data_filter") else files.extractall(root)
    return config


@test
def the_image_is_a_root_file_system_that_scans():
    os.mkdir("root")
    config = unpack_image(made("*.oci.tar"), "root")
    root = Root("root")
    equal((config["os"], config["config"]["Entrypoint"]), ("linux", ["turnstone"]))
    repository("root/src")
    result = root.run("/usr/bin/turnstone", "scan", "--no-state", folder=config["config"]["WorkingDir"])
    holds(result.status == 1 and "2 findings" in result.out, result)
    result = root.run("/bin/sh", "-c", "turnstone --version | grep -c turnstone")  # as in jobs of GitLab
    equal((result.status, result.out), (0, "1\n"), result)


def pip(*arguments):
    """Runs `pip install` without a network. This is the pip that virtual environments contain."""
    (wheel,) = glob.glob("/usr/share/python-wheels/pip-*.whl")
    done = subprocess.run(["/usr/bin/python3", f"{wheel}/pip", "install", "--quiet", "--no-index", "--no-deps",
                           "--disable-pip-version-check", "--root-user-action=ignore", *arguments], capture_output=True,
                          text=True, check=False, env={**os.environ, "PIP_BREAK_SYSTEM_PACKAGES": "1"})
    return done


@test
def pip_installs_the_wheel():
    root = Root("root", "libc6")
    done = pip("--prefix", f"{root.path}/usr", made("*.whl"))
    equal(done.returncode, 0, done)
    (program,) = glob.glob(f"{root.path}/usr/**/bin/turnstone", recursive=True)  # Debian's pip uses local/bin
    scans(root, program.removeprefix(root.path))


@test
def the_pre_commit_framework_installs_the_wheel():
    holds(shutil.which("turnstone") is None, "nothing else is installed")
    pre_commit = PreCommit("turnstone", TURNSTONE_RELEASES=DIST)
    refuses_secrets(pre_commit, github_token)


@test
def pip_refuses_a_wheel_that_is_not_the_one_of_the_release():
    sys.path.insert(0, os.path.join(ROOT, "packaging"))
    import backend  # noqa: PLC0415

    def refused(folder, *parts):
        os.environ["TURNSTONE_RELEASES"] = folder
        try:
            backend.build_wheel(".")
        except backend.NoWheel as why:
            holds(all(part in str(why) for part in parts), why)
        else:
            raise AssertionError("not refused")
        finally:
            del os.environ["TURNSTONE_RELEASES"]

    shutil.copytree(DIST, "release")
    (wheel,) = glob.glob("release/*.whl")
    with open(wheel, "ab") as file:
        file.write(b"x")
    refused("release", wheel, "differs")
    refused("nowhere", "nowhere/SHA256SUMS", "make dist")
    os.rename("release/SHA256SUMS", "sums")
    open("release/SHA256SUMS", "w").close()
    refused("release", "no wheel of")
    for origin, expected in (("https://github.com/o/n.git", "https://github.com/o/n/releases/download/v1.2"),
                             ("git@gitlab.example.org:o/n.git", "https://gitlab.example.org/o/n/-/releases/v1.2/downloads"),
                             ("ssh://git@git.example.org:22/o/n", "https://git.example.org/o/n/releases/download/v1.2")):
        equal(backend.releases(origin, "1.2"), expected)


def readme_commands():
    """Returns the block of commands in the README that installs the pre-commit hook."""
    with open(os.path.join(ROOT, "README.md")) as file:
        (block,) = [block for block in re.findall(r"```\n(.*?)```", file.read(), re.DOTALL) if "hooks/pre-commit" in block]
    return block


# Stands for `make`: compiling takes minutes and needs a network, so it copies the results of the real `make
# dist`.
MAKE = """#!/bin/sh
set -eu
[ "$*" = "-C turnstone dist" ] && grep -q '^dist:' turnstone/Makefile && [ -x turnstone/packaging/dist ]
mkdir -p turnstone/build/dist
cp /srv/dist/* turnstone/build/dist
"""


@test
def the_readme_leads_from_a_clone_to_a_refused_commit():
    root = Root("root", *with_dependencies(["libc6", "dash", "coreutils", "tar", "gzip", "grep"]), "git", "libpcre2-8-0", "zlib1g")
    source = Repo("source")
    for name in ("Makefile", "CMakeLists.txt", "README.md"):
        shutil.copy(os.path.join(ROOT, name), "source")
    shutil.copytree(os.path.join(ROOT, "packaging"), "source/packaging", ignore=shutil.ignore_patterns("__pycache__"))
    source.commit()
    subprocess.run(["git", "clone", "-q", "--bare", "source", f"{root.path}/srv/turnstone.git"], check=True)
    os.mkdir(f"{root.path}/srv/dist")
    shutil.copy(made("*.tar.gz"), f"{root.path}/srv/dist")
    with open(f"{root.path}/usr/bin/make", "w") as file:
        file.write(MAKE)
    os.chmod(f"{root.path}/usr/bin/make", 0o755)
    shop = Repo(f"{root.path}/root/shop")
    shop.write("readme", "fine\n")
    shop.commit()

    def inside(script):
        return root.run("/bin/sh", "-ec", script, folder="/root", GIT_AUTHOR_NAME="Ada", GIT_AUTHOR_EMAIL="ada@example.org",
                        GIT_COMMITTER_NAME="Ada", GIT_COMMITTER_EMAIL="ada@example.org", GIT_CONFIG_COUNT="1",
                        GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0="*")

    result = inside(readme_commands().replace("URL-OF-THIS-REPOSITORY", "/srv/turnstone.git"))
    equal(result.status, 0, result)
    shop.write("settings.py", f"TOKEN = '{github_token(1)}'\n")
    result = inside("cd shop; git add -A; git commit -qm token")
    holds(result.status == 1 and "settings.py:1" in result.err and "protect: refused" in result.err, result)
    shop.write("settings.py", "TOKEN = None\n")
    result = inside("cd shop; git add -A; git commit -qm fine; git log --oneline")
    holds(result.status == 0 and result.out.count("\n") == 2, result)


@test
def the_version_comes_from_the_tag():
    def version():
        return subprocess.run(["tree/tools/version"], check=True, capture_output=True, text=True, env=repo.environment()).stdout

    repo = Repo("tree")
    for name in ("tools/version", "CMakeLists.txt"):
        with open(os.path.join(ROOT, name), "rb") as file:
            repo.write(name, file.read())
    os.chmod("tree/tools/version", 0o755)
    number = re.search(r"turnstone VERSION ([\d.]+)", open("tree/CMakeLists.txt").read()).group(1)
    commit = repo.commit()
    equal(version(), f"{number}.dev1+g{commit[:10]}\n")
    repo.git("tag", f"v{number}")
    equal(version(), f"{number}\n")
    repo.write("CMakeLists.txt", f"project(turnstone VERSION {number} LANGUAGES C\n")
    equal(version(), f"{number}.dev0+g{commit[:10]}.dirty\n")
    commit = repo.commit()
    equal(version(), f"{number}.dev1+g{commit[:10]}\n")
    os.rename("tree/.git", "tree/git")
    equal(version(), f"{number}\n", "outside of a repository")


@test
def a_tag_that_is_not_the_version_is_refused():
    repo = Repo("tree")
    shutil.copytree(os.path.join(ROOT, "packaging"), "tree/packaging")
    repo.commit()
    repo.git("tag", "v99.9.9")
    done = subprocess.run(["tree/packaging/dist", BUILD, "out"], capture_output=True, text=True, check=False)
    holds(done.returncode == 1 and "the tag is v99.9.9" in done.stderr and not os.path.exists("out"), done)


main()
