"""Small repositories of many shapes. Every blob, message and note in them has a token of its own, so that the findings
show what a scan has read.

A shape is a function that makes a repository at a given path and returns the path to scan: a work tree, a
bare repository, or a linked work tree next to it. All its files are in the same folder, which is copied as a
whole.
"""
import os
import re
import shutil
import subprocess

from repo import Repo, made_up

TOKEN = re.compile(rb"MUTANT-[0-9A-Za-z]{24}-Z")
RULES = """rules:
  - id: mutant-token
    name: token of a mutant
    severity: high
    reach: 40
    pattern: '(?<secret>MUTANT-[0-9A-Za-z]{24}-Z)'
    gate: {literals: ['MUTANT-'], lead: 8}
"""

SHAPES = {}
PARTIAL = ("lacking",)  # scanned with --allow-missing


def shape(function):
    SHAPES[function.__name__] = function
    return function


def fresh(path, *options):
    """Makes a repository without sample hooks and other files of the template, because mutants are copied often."""
    repo = Repo(path, "--template=", *options)
    git_dir = path if "--bare" in options else os.path.join(path, ".git")
    os.makedirs(os.path.join(git_dir, "info"), exist_ok=True)
    return repo


def token(seed):
    return f"MUTANT-{made_up(24, f'mutant {seed}')}-Z"


def text(name, version):
    """Returns a version of a file. Versions differ only in one line and in their token, so git stores them as deltas."""
    lines = [f"{name} line {i} {made_up(20, (name, i))}" for i in range(24)]
    lines[version % 24] = f"changed in version {version} {made_up(8, (name, version, 'v'))}"
    lines.insert(12, f"key = {token((name, version))}")
    return "\n".join(lines) + "\n"


class History:
    """Commits, tags and notes, which git writes as loose objects in one run."""

    def __init__(self, repo):
        self.repo, self.lines, self.marks = repo, [b"feature done\n"], 0

    def data(self, content):
        content = content.encode()
        self.lines.append(b"data %d\n%s\n" % (len(content), content))

    def who(self, role):
        self.repo.clock += 60
        self.lines.append(f"{role} A <a@example.org> {self.repo.clock} +0100\n".encode())

    def commit(self, ref, message, files, parents=()):
        """Makes a commit on top of the ref, or of the first parent. Returns the commit's mark for git fast-import."""
        self.marks += 1
        self.lines.append(f"commit {ref}\nmark :{self.marks}\n".encode())
        self.who("committer")
        self.data(message)
        for i, parent in enumerate(parents):
            self.lines.append(f"{'from' if i == 0 else 'merge'} {parent}\n".encode())
        for path, content in files.items():
            self.lines.append(f"M 100644 inline {path}\n".encode())
            self.data(content)
        return f":{self.marks}"

    def blob(self, content):
        self.marks += 1
        self.lines.append(f"blob\nmark :{self.marks}\n".encode())
        self.data(content)
        return f":{self.marks}"

    def tag(self, name, target, message):
        self.marks += 1
        self.lines.append(f"tag {name}\nmark :{self.marks}\nfrom {target}\n".encode())
        self.who("tagger")
        self.data(message)
        return f":{self.marks}"

    def note(self, target, content):
        self.lines.append(b"commit refs/notes/commits\n")
        self.who("committer")
        self.data("notes")
        self.lines.append(f"N inline {target}\n".encode())
        self.data(content)

    def write(self):
        self.lines.append(b"done\n")
        self.repo.git("-c", "fastimport.unpackLimit=1000000", "fast-import", "--quiet", stdin=b"".join(self.lines))


def grow(repo, first, count, history=None, files=3):
    """Adds `count` commits. Each changes one or two files, and has a token in its message."""
    one = history or History(repo)
    for version in range(first, first + count):
        changed = {f"d{i}/f{i}.txt": text(f"f{i}", version) for i in range(files)
                   if version == first or (version + i) % files != 0}
        parents = ["refs/heads/main^0"] if version == first > 0 else []
        last = one.commit("refs/heads/main", f"version {version}\n\n{token(('message', version))}\n", changed, parents)
    if history is None:
        one.write()
    return last


def add_refs(repo):
    """Adds tags of all kinds, notes, a stash, a side branch that is merged, and symbolic refs."""
    one = History(repo)
    main = "refs/heads/main"
    before = one.commit(main, f"before\n\n{token('before')}\n", {"before.txt": text("before", 0)}, [main + "^0"])
    side = one.commit("refs/heads/side", f"side\n\n{token('side message')}\n", {"side.txt": text("side", 0)}, [before])
    merge = one.commit(main, f"merge\n\n{token('merge')}\n", {"side.txt": text("side", 0)}, [before, side])
    one.tag("two", one.tag("one", before, token("tag one")), token("tag of tag"))
    one.tag("of-blob", one.blob(f"only a tag has it\n{token('tagged blob')}\n"), token("tag of blob"))
    one.note(before, token("note"))
    one.commit("refs/stash", f"stash\n\n{token('stash')}\n", {"d0/f0.txt": text("stashed", 0)}, [merge])
    one.write()
    repo.git("update-ref", "--stdin", stdin="create refs/tags/light HEAD\ncreate refs/tags/of-tree HEAD~1:d0\n")
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/side")


def pack_new(repo, *options):
    """Packs the loose objects into a new pack."""
    repo.git("-c", "pack.threads=1", *options, "repack", "-dq")


@shape
def loose(path):
    repo = fresh(path)
    grow(repo, 0, 3)
    add_refs(repo)
    return path


@shape
def packs(path):
    """Three packs: an old index, deltas by id and deltas by offset; and loose objects and refs of both kinds."""
    repo = fresh(path)
    grow(repo, 0, 3)
    pack_new(repo, "-c", "pack.indexVersion=1")
    grow(repo, 3, 2)
    pack_new(repo, "-c", "repack.useDeltaBaseOffset=false")
    repo.git("pack-refs", "--all")
    add_refs(repo)
    pack_new(repo, "-c", "pack.writeReverseIndex=true")
    grow(repo, 6, 1)
    return path


@shape
def one_pack(path):
    """A repository after 'git gc', with all additional files that git keeps for a pack."""
    repo = fresh(path)
    grow(repo, 0, 5)
    add_refs(repo)
    repo.git("-c", "pack.threads=1", "-c", "pack.writeReverseIndex=true", "repack", "-adfbq")
    repo.git("pack-refs", "--all")
    repo.git("commit-graph", "write", "--reachable", "--changed-paths")
    return path


@shape
def by_id(path):
    """A single pack with deltas by id and an old index, which has no checksums of entries."""
    repo = fresh(path)
    grow(repo, 0, 5)
    add_refs(repo)
    repo.git("-c", "pack.threads=1", "-c", "repack.useDeltaBaseOffset=false", "-c", "pack.indexVersion=1", "repack", "-adfq")
    return path


@shape
def midx(path):
    repo = fresh(path)
    for part in range(3):
        grow(repo, 3 * part, 2)
        pack_new(repo)
    add_refs(repo)
    pack_new(repo)
    repo.git("multi-pack-index", "write", "--bitmap")
    return path


@shape
def copies(path):
    """Every object is in two packs, and some objects are loose, too."""
    repo = fresh(path)
    grow(repo, 0, 3)
    add_refs(repo)
    objects = repo.git("rev-list", "--objects", "--all", "--no-object-names")
    folder = os.path.abspath(os.path.join(path, ".git", "objects", "pack", "pack"))
    repo.git("-c", "pack.threads=1", "pack-objects", "-q", folder, stdin=objects + "\n")
    repo.git("-c", "pack.threads=1", "pack-objects", "-q", "--window=0", folder, stdin=objects + "\n")
    return path


@shape
def large(path):
    """Blobs that a scan with little memory sees in parts: one blob in a pack, with a delta of this blob, and one loose blob."""
    repo = fresh(path)
    history = History(repo)
    grow(repo, 0, 2, history)
    filler = "".join(f"line {i} of a large file\n" for i in range(60000))
    for version in range(2):
        history.commit("refs/heads/main", f"large {version}\n\n{token(('large message', version))}\n",
                       {"large.txt": f"{token(('large first', version))}\n{filler}{token(('large last', version))}\n"})
    history.write()
    pack_new(repo)
    history = History(repo)
    history.commit("refs/heads/main", "loose\n", {"loose.txt": f"{filler.upper()}{token('large loose')}\n"}, ["refs/heads/main^0"])
    history.write()
    return path


@shape
def alternates(path):
    """Objects in a chain of two other repositories."""
    far = fresh(path + "-far", "--bare")
    near = fresh(path + "-near", "--bare")
    repo = fresh(path)
    grow(repo, 0, 2)
    repo.git("push", "-q", os.path.abspath(far.path), "main")
    grow(repo, 2, 2)
    repo.git("push", "-q", os.path.abspath(near.path), "main")
    far.git("repack", "-adq")
    add_refs(repo)
    with open(os.path.join(near.path, "objects", "info", "alternates"), "w") as file:
        file.write(os.path.abspath(far.path) + "/objects\n")
    with open(os.path.join(path, ".git", "objects", "info", "alternates"), "w") as file:
        file.write(f"# others\n../../../{os.path.basename(near.path)}/objects\n")
    near.git("repack", "-adlq")
    repo.git("repack", "-adlq")
    repo.git("prune-packed")
    return path


def with_work_trees(path):
    repo = fresh(path)
    history = History(repo)
    last = grow(repo, 0, 3, history)
    history.commit("refs/heads/linked", f"linked\n\n{token('linked')}\n", {"linked.txt": text("linked", 0)}, [last])
    module = "M 160000 1111111111111111111111111111111111111111 module\n"
    history.commit("refs/heads/main", f"a module\n\n{token('module')}\n", {})
    history.lines.append(module.encode())
    history.write()
    add_refs(repo)
    linked = os.path.abspath(path + "-linked")
    repo.git("worktree", "add", "-q", "--no-checkout", "--detach", linked, "linked")
    repo.git("branch", "-q", "-D", "linked")
    for name, target in (("worktree/own", "HEAD"), ("bisect/bad", "HEAD~1")):
        subprocess.run(["git", "-C", linked, "update-ref", "refs/" + name, target], check=True, env=repo.environment())
    pack_new(repo)
    return repo


@shape
def work_trees(path):
    with_work_trees(path)
    return path


@shape
def linked_tree(path):
    """A repository with a linked work tree, which is scanned."""
    with_work_trees(path)
    return path + "-linked"


@shape
def shallow(path):
    origin = fresh(path + "-origin")
    grow(origin, 0, 5)
    add_refs(origin)
    subprocess.run(["git", "clone", "-q", "--template=", "--depth", "2", "--no-single-branch", "file://" + os.path.abspath(origin.path), path],
                   check=True, env=origin.environment(), stderr=subprocess.DEVNULL)
    shutil.rmtree(origin.path)
    return path


@shape
def bare(path):
    """A bare repository, as git clone --mirror makes it: with packed refs and a single pack."""
    origin = fresh(path + "-origin")
    grow(origin, 0, 4)
    add_refs(origin)
    subprocess.run(["git", "clone", "-q", "--template=", "--mirror", "file://" + os.path.abspath(origin.path), path], check=True,
                   env=origin.environment())
    shutil.rmtree(origin.path)
    return path


@shape
def sha256(path):
    repo = fresh(path, "--object-format=sha256")
    grow(repo, 0, 3)
    pack_new(repo)
    add_refs(repo)
    pack_new(repo)
    repo.git("pack-refs", "--all")
    grow(repo, 4, 1)
    return path


@shape
def promised(path):
    """A partial clone whose pack has a .promisor file, but no object is missing."""
    repo = fresh(path)
    grow(repo, 0, 3)
    repo.git("-c", "pack.threads=1", "repack", "-adfq")
    for name in os.listdir(os.path.join(path, ".git", "objects", "pack")):
        if name.endswith(".pack"):
            with open(os.path.join(path, ".git", "objects", "pack", name[:-5] + ".promisor"), "w"):
                pass
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.partialClone", "origin")
    repo.git("config", "remote.origin.url", "file:///nowhere")
    repo.git("config", "remote.origin.promisor", "true")
    add_refs(repo)
    return path


@shape
def lacking(path):
    """A partial clone without blobs, except those of later commits."""
    origin = fresh(path + "-origin")
    grow(origin, 0, 3)
    add_refs(origin)
    origin.git("config", "uploadpack.allowFilter", "true")
    subprocess.run(["git", "clone", "-q", "--template=", "--filter=blob:none", "--no-checkout", "file://" + os.path.abspath(origin.path), path],
                   check=True, env=origin.environment())
    shutil.rmtree(origin.path)
    repo = Repo.__new__(Repo)
    repo.path, repo.clock = path, origin.clock
    one = History(repo)
    one.commit("refs/heads/own", f"own\n\n{token('own')}\n", {"own.txt": text("own", 0)})
    one.write()
    return path


@shape
def replaced(path):
    """A graft changes the parents of a commit, and a replace ref replaces another commit."""
    repo = fresh(path)
    grow(repo, 0, 3)
    add_refs(repo)
    other = repo.git("commit-tree", "-m", token("replacing"), "HEAD~1^{tree}", "-p", "HEAD~2")
    repo.git("replace", "HEAD~1", other)
    lost = repo.git("commit-tree", "-m", token("grafted"), "HEAD~1^{tree}")
    with open(os.path.join(path, ".git", "info", "grafts"), "w") as file:
        file.write(f"{repo.git('rev-parse', 'side')} {repo.git('rev-parse', 'HEAD~1')} {lost}\n")
    pack_new(repo)
    return path

