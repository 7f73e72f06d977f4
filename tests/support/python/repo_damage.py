"""Damages one file or folder below a .git folder at random. The same random numbers cause the same damage.

Most kinds of damage are functions of random numbers, a file and all files. Such a function changes the file and returns
what it did, or None if it cannot change the file. Some functions keep the checksums correct, so that only reading finds
the damage.
"""
import hashlib
import os
import re
import shutil
import socket
import struct
import zlib

FORGED = "its checksum in the index"  # forged, so that only the id shows the damage

GENERIC, TEXT, PACK, INDEX, LOOSE, REF, CONFIG = [], [], [], [], [], [], []


def kind(*lists):
    def add(function):
        for one in lists:
            one.append(function)
        return function
    return add


def read(path):
    with open(path, "rb") as file:
        return bytearray(file.read())


def write(path, content):
    """Replaces a file by a new file, because git's object files are read-only, and links must not be followed."""
    os.unlink(path)
    with open(path, "wb") as file:
        file.write(content)


def change(path, function):
    content = read(path)
    before = bytes(content)
    content = function(content)
    if content is None or bytes(content) == before:
        return False
    write(path, content)
    return True


# ---- any file ----


@kind(GENERIC)
def flip_bit(rng, path, files):
    content = read(path)
    if not content:
        return None
    at, bit = rng.randrange(len(content)), rng.randrange(8)
    content[at] ^= 1 << bit
    write(path, content)
    return f"bit {bit} of byte {at} flipped"


@kind(GENERIC)
def flip_early_bit(rng, path, files):
    """Damages the beginning, where heads and tables are."""
    content = read(path)
    if not content:
        return None
    at, bit = rng.randrange(min(len(content), 64)), rng.randrange(8)
    content[at] ^= 1 << bit
    write(path, content)
    return f"bit {bit} of byte {at} flipped"


@kind(GENERIC)
def truncate(rng, path, files):
    content = read(path)
    if not content:
        return None
    size = rng.choice([0, 1, len(content) - 1, max(0, len(content) - 20), rng.randrange(len(content))])
    write(path, content[:size])
    return f"cut from {len(content)} to {size} bytes"


@kind(GENERIC)
def zero_range(rng, path, files):
    content = read(path)
    if not content:
        return None
    at = rng.randrange(len(content))
    count = min(rng.choice([1, 4, 20, 512]), len(content) - at)
    content[at:at + count] = bytes(count)
    write(path, content)
    return f"{count} bytes from {at} on zeroed"


@kind(GENERIC)
def overwrite(rng, path, files):
    content = read(path)
    if not content:
        return None
    at = rng.randrange(len(content))
    count = min(rng.choice([1, 2, 4, 20]), len(content) - at)
    content[at:at + count] = bytes(rng.randrange(256) for _ in range(count))
    write(path, content)
    return f"{count} bytes from {at} on overwritten"


@kind(GENERIC)
def insert_or_append(rng, path, files):
    content = read(path)
    at = rng.choice([len(content), rng.randrange(len(content) + 1)])
    more = rng.choice([b"\n", b"\0", b"x", b"\r\n", bytes(rng.randrange(256) for _ in range(24))])
    content[at:at] = more
    write(path, content)
    return f"{more!r} inserted at {at}"


@kind(GENERIC)
def remove(rng, path, files):
    os.unlink(path)
    return "removed"


@kind(GENERIC)
def swap(rng, path, files):
    """Replaces the file with a copy of another file of the same kind, or exchanges the two files."""
    others = [one for one in files if group_of(one) == group_of(path) and one != path]
    if not others:
        return None
    other = rng.choice(others)
    mine, its = read(path), read(other)
    write(path, its)
    if rng.random() < 0.5:
        return f"is a copy of {other} now"
    write(other, mine)
    return f"swapped with {other}"


@kind(GENERIC)
def odd_file(rng, path, files):
    what = rng.choice(["a folder", "a pipe", "a socket", "a link to nothing", "a link to itself", "a link to a folder"])
    os.unlink(path)
    if what == "a folder":
        os.mkdir(path)
    elif what == "a pipe":
        os.mkfifo(path)
    elif what == "a socket":
        with socket.socket(socket.AF_UNIX) as one:
            here = os.getcwd()
            os.chdir(os.path.dirname(path))  # names of sockets are short
            try:
                one.bind(os.path.basename(path)[:90])
            finally:
                os.chdir(here)
    else:
        os.symlink({"a link to nothing": "nothing", "a link to itself": os.path.basename(path), "a link to a folder": "."}[what], path)
    return f"is {what} now"


# ---- lines ----


def lines_of(content):
    return bytes(content).splitlines(keepends=True)


@kind(TEXT)
def line_damage(rng, path, files):
    lines = lines_of(read(path))
    if not lines:
        return None
    at = rng.randrange(len(lines))
    line = lines[at]
    what = rng.randrange(12)
    if what == 0:
        del lines[at]
    elif what == 1:
        lines.insert(rng.randrange(len(lines) + 1), line)
    elif what == 2:
        lines[at] = line.rstrip(b"\n") + b"\r\n"
    elif what == 3:
        lines[at] = line.rstrip(b"\n")
    elif what == 4:
        lines[at] = line.rstrip(b"\n") + rng.choice([b" ", b"\t", b" x", b"\0", b"\0x"]) + b"\n"
    elif what == 5:
        lines[at] = rng.choice([b" ", b"\t", b"#", b"^", b"\xef\xbb\xbf"]) + line
    elif what == 6:
        lines.insert(at, rng.choice([b"\n", b"junk\n", b"#\n", b"^" + b"0" * 40 + b"\n", b"0" * 40 + b" refs/heads/zero\n"]))
    elif what == 7:
        lines[at] = line.upper()
    elif what == 8:
        cut = rng.randrange(len(line))
        lines[at:] = [line[:cut]]
    elif what == 9:
        rng.shuffle(lines)
    elif what == 10:
        digits = [i for i, byte in enumerate(line) if byte in b"0123456789abcdef"]
        if not digits:
            return None
        i = rng.choice(digits)
        lines[at] = line[:i] + bytes([rng.choice(b"0123456789abcdefg")]) + line[i + 1:]
    else:
        lines[at] = line.replace(b"\n", b"")
        lines.append(b"")
    after = b"".join(lines)
    if after == bytes(read(path)):
        return None
    write(path, after)
    return f"line {at + 1}: {line!r}, damage {what}: {after[:300]!r}"


@kind(TEXT)
def exchange_ids(rng, path, files):
    """Replaces an id with another id of the repository, an unknown id, or zeros."""
    content = bytes(read(path))
    found = list(re.finditer(rb"[0-9a-f]{64}|[0-9a-f]{40}", content))
    if not found:
        return None
    one = rng.choice(found)
    size = len(one.group())
    choices = [b"0" * size, b"f" * size, bytes(rng.choice(b"0123456789abcdef") for _ in range(size)), one.group()[:-1]]
    loose = [re.sub(rb".*objects/(..)/(.*)", rb"\1\2", os.fsencode(file)) for file in files if group_of(file) == "loose"]
    choices += [rng.choice(loose)] * 4 if loose else []
    other = rng.choice(choices)
    write(path, content[:one.start()] + other + content[one.end():])
    return f"{one.group()!r} became {other!r}"


# ---- packs and their indexes ----


class Index:
    """The index of a pack, version 1 or 2: parsed, and written again with a correct checksum."""

    def __init__(self, path, size):
        content, self.path, self.size = bytes(read(path)), path, size
        self.version = 2 if content[:4] == b"\xfftOc" else 1
        at = 8 if self.version == 2 else 0
        count = struct.unpack_from(">I", content, at + 255 * 4)[0]
        at += 1024
        self.rows = []
        if self.version == 1:
            for i in range(count):
                offset, = struct.unpack_from(">I", content, at + i * (4 + size))
                self.rows.append([content[at + i * (4 + size) + 4:at + (i + 1) * (4 + size)], 0, offset])
            at += count * (4 + size)
        else:
            for i in range(count):
                crc, = struct.unpack_from(">I", content, at + count * size + 4 * i)
                offset, = struct.unpack_from(">I", content, at + count * (size + 4) + 4 * i)
                self.rows.append([content[at + i * size:at + (i + 1) * size], crc, offset])
            at += count * (size + 8)
        if len(content) != at + 2 * size or any(row[2] >= 1 << 31 for row in self.rows):
            raise ValueError("not an index that a pack of ours has")
        self.checksum = content[at:at + size]

    def save(self):
        rows = self.rows
        fans = b"".join(struct.pack(">I", sum(row[0][0] <= first for row in rows)) for first in range(256))
        if self.version == 1:
            body = fans + b"".join(struct.pack(">I", row[2]) + row[0] for row in rows)
        else:
            body = b"\xfftOc" + struct.pack(">I", 2) + fans + b"".join(row[0] for row in rows)
            body += b"".join(struct.pack(">I", row[1]) for row in rows) + b"".join(struct.pack(">I", row[2]) for row in rows)
        body += self.checksum
        write(self.path, body + hash_of(self.size)(body).digest())


def hash_of(size):
    return hashlib.sha1 if size == 20 else hashlib.sha256


def id_size(path, files):
    """Detects the hash from the names of loose objects, packs or refs: names of sha256 are longer."""
    return 32 if re.search(r"pack-[0-9a-f]{64}", path) else 20


def mend(rng, pack, index, content, row, end):
    """Corrects some of the checksums of a damaged pack, so that they match its damaged contents."""
    said = []
    if rng.random() < 0.7:
        row[1] = zlib.crc32(bytes(content[row[2]:end])) & 0xffffffff
        said.append(FORGED)
    if rng.random() < 0.7:
        content[-index.size:] = hash_of(index.size)(bytes(content[:-index.size])).digest()
        index.checksum = bytes(content[-index.size:])
        said.append("those of the files")
    write(pack, content)
    if said:
        index.save()
    return "; right are " + " and ".join(said) if said else ""


def entry_head(content, at):
    """Reads the head of a pack entry. Returns the position after the head, the type and the size."""
    byte = content[at]
    kind_of, size, shift = byte >> 4 & 7, byte & 15, 4
    while byte & 128:
        at += 1
        byte = content[at]
        size |= (byte & 127) << shift
        shift += 7
    return at + 1, kind_of, size


def make_head(kind_of, size):
    first, size, result = kind_of << 4 | size & 15, size >> 4, bytearray()
    while size:
        result.append(first | 128)
        first, size = size & 127, size >> 7
    return bytes(result + bytes([first]))


@kind(PACK)
def entry_damage(rng, path, files):
    """Damages the type, the size, the base or the content of one object in a pack."""
    size = id_size(path, files)
    try:
        index = Index(path[:-5] + ".idx", size)
    except (OSError, ValueError, struct.error):
        return None
    content = read(path)
    offsets = sorted(row[2] for row in index.rows) + [len(content) - size]
    row = rng.choice(index.rows)
    start, end = row[2], offsets[offsets.index(row[2]) + 1]
    behind, type_of, _ = entry_head(content, start)
    what = rng.choice(["type", "type", "size", "base", "content", "stream"])
    if what == "type":
        other = rng.choice([one for one in range(8) if one != type_of])
        content[start] = content[start] & 0x8f | other << 4
        said = f"type {type_of} became {other}"
    elif what == "size":
        at = rng.randrange(start, behind)
        content[at] ^= rng.choice([1, 2, 4, 8]) if at == start else rng.choice([1, 8, 64])
        said = "another size"
    elif what == "base" and type_of == 6:
        content[behind] ^= rng.choice([1, 2, 4, 8])
        said = "another base by offset"
    elif what == "base" and type_of == 7:
        other = rng.choice(index.rows)[0]
        content[behind:behind + size] = other
        said = f"another base by id, {other.hex()}"
    elif what == "stream":
        at = rng.randrange(behind, end)
        content[at] ^= 1 << rng.randrange(8)
        said = f"a bit of byte {at} flipped"
    else:
        said = other_content(rng, content, (start, end), size, type_of)
        if said is None:
            return None
    return f"object {row[0].hex()}: {said}" + mend(rng, path, index, content, row, end)


def other_content(rng, content, span, size, type_of):
    """Writes another content that inflates without errors, if it fits; the rest keeps the old bytes."""
    start, end = span
    behind, _, length = entry_head(content, start)
    if type_of == 7:
        behind += size
    elif type_of == 6:
        while content[behind] & 128:
            behind += 1
        behind += 1
    inflater = zlib.decompressobj()
    plain = bytearray(inflater.decompress(bytes(content[behind:end])))
    if not plain or length != len(plain):
        return None
    at = rng.randrange(len(plain))
    plain[at] ^= 1 << rng.randrange(8)
    for level in (9, 6, 1):
        packed = zlib.compress(bytes(plain), level)
        if len(packed) <= end - behind:
            content[behind:behind + len(packed)] = packed
            return f"byte {at} of its content changed, and inflates well"
    return None


@kind(PACK)
def pack_head(rng, path, files):
    content = read(path)
    if len(content) < 40:
        return None
    count = struct.unpack_from(">I", content, 8)[0]
    version, other = rng.choice([(2, count + rng.choice([-1, 1, 1000])), (3, count), (rng.choice([0, 1, 4]), count), (2, 0)])
    struct.pack_into(">II", content, 4, version, other & 0xffffffff)
    size = id_size(path, files)
    content[-size:] = hash_of(size)(bytes(content[:-size])).digest()
    write(path, content)
    return f"version {version}, {other} objects of {count}; the checksum of the file is right"


@kind(INDEX)
def row_damage(rng, path, files):
    size = id_size(path, files)
    try:
        index = Index(path, size)
    except (ValueError, struct.error):
        return None
    rows = index.rows
    if len(rows) < 2:
        return None
    a, b = rng.sample(range(len(rows)), 2)
    what = rng.randrange(8)
    if what == 0:
        rows[a][2], rows[b][2] = rows[b][2], rows[a][2]
        said = f"offsets of {rows[a][0].hex()} and {rows[b][0].hex()} swapped"
    elif what == 1:
        rows[a][1:], rows[b][1:] = rows[b][1:], rows[a][1:]
        said = f"{rows[a][0].hex()} and {rows[b][0].hex()} have the place of the other, and {FORGED}"
    elif what == 2:
        said = f"{rows[a][0].hex()} left out"
        del rows[a]
    elif what == 3:
        said = f"{rows[a][0].hex()} stands twice, the second time at the place of {rows[b][0].hex()}"
        rows[b][0] = rows[a][0]
        rows.sort(key=lambda row: row[0])
    elif what == 4:
        rows[a][2] = rng.choice([0, 1, 12, rows[a][2] + 1, rows[a][2] - 1, rows[b][2] + 2, 1 << 30, 1 << 31, 0xffffffff])
        said = f"the offset of {rows[a][0].hex()} is {rows[a][2]}"
    elif what == 5:
        rows[a], rows[b] = rows[b], rows[a]
        said = f"rows {a} and {b} stand in the wrong order"
    elif what == 6:
        last = bytearray(rows[a][0])
        last[-1] ^= 1
        said = f"the id {rows[a][0].hex()} ends with another bit"
        rows[a][0] = bytes(last)
    else:
        rows[a][1] ^= 1
        said = f"the checksum of {rows[a][0].hex()} is wrong"
        if index.version == 1:
            return None
    index.save()
    return said


@kind(INDEX)
def fan_damage(rng, path, files):
    content = read(path)
    if len(content) < 1100:
        return None
    at = (8 if bytes(content[:4]) == b"\xfftOc" else 0) + 4 * rng.randrange(256)
    value = struct.unpack_from(">I", content, at)[0]
    struct.pack_into(">I", content, at, rng.choice([0, value + 1, max(0, value - 1), 0xffffffff]))
    size = id_size(path, files)
    content[-size:] = hash_of(size)(bytes(content[:-size])).digest()
    write(path, content)
    return f"the table of first bytes, at {at}; the checksum of the file is right"


# ---- loose objects ----


@kind(LOOSE)
def loose_damage(rng, path, files):
    """Writes a file with another content that inflates without errors."""
    plain = bytearray(zlib.decompress(bytes(read(path))))
    zero = plain.index(0)
    type_of, length = bytes(plain[:zero]).split()
    what = rng.randrange(6)
    if what == 0:
        other = rng.choice([one for one in (b"commit", b"tree", b"blob", b"tag", b"what", b"") if one != type_of])
        plain[:len(type_of)] = other
        said = f"type {type_of} became {other}"
    elif what == 1:
        other = b"%d" % (int(length) + rng.choice([-1, 1, 1000, 1 << 40]))
        plain[:zero] = type_of + b" " + other
        said = f"size {length} became {other}"
    elif what == 2 and zero + 1 < len(plain):
        at = rng.randrange(zero + 1, len(plain))
        plain[at] ^= 1 << rng.randrange(8)
        said = f"byte {at - zero - 1} of its content changed"
    elif what == 3:
        plain[:zero] = type_of + rng.choice([b"  ", b" 0", b"\t", b" +", b" -"]) + length
        said = f"its head is {bytes(plain[:zero])!r}"
    elif what == 4:
        plain += b"and more"
        said = "its content goes on"
    else:
        said = "more stands behind its end"
        write(path, zlib.compress(bytes(plain)) + b"trash")
        return said
    write(path, zlib.compress(bytes(plain)))
    return said


# ---- refs and the form of the repository ----


@kind(REF)
def new_ref(rng, path, files):
    """Makes a file next to the given ref, with content that may be invalid."""
    folder = os.path.dirname(path)
    ids = re.findall(rb"[0-9a-f]{64}|[0-9a-f]{40}", bytes(read(path)))
    good = ids[0] if ids else b"1" * 40
    name = rng.choice(["new", "new.lock", ".new", "a..b", "with space", "new~1", "@", "deep/er/new", "\u00e4", "-new", "new@{1}"])
    says = rng.choice([good + b"\n", good, good + b" \n", good + b"x\n", b"", b"\n", b"0" * len(good) + b"\n", b"1" * len(good) + b"\n",
                       b"ref: refs/heads/main\n", b"ref:refs/heads/none", b"ref: refs/heads/new\n", b"ref: ../../x\n", b"ref: \n",
                       good.upper() + b"\n", good[:-1] + b"\n", b"\0" * 41, good + b"\r\n", good + b"\n\n" + good + b"\n"])
    target = os.path.join(folder, name)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.exists(target):
        return None
    with open(target, "wb") as file:
        file.write(says)
    return f"the file {name!r} next to it says {says!r}"


@kind(CONFIG)
def config_line(rng, path, files):
    line = rng.choice(["[core]\n\tbare = true\n", "[core]\n\tbare = false\n", "[core]\n\tbare = what\n", "[core]\n\tbare\n",
                       "[core]\n\trepositoryFormatVersion = 1\n", "[core]\n\trepositoryFormatVersion = 2\n",
                       "[core]\n\trepositoryFormatVersion = 0\n", "[core]\n\trepositoryFormatVersion = x\n",
                       "[extensions]\n\tobjectFormat = sha256\n", "[extensions]\n\tobjectFormat = sha1\n",
                       "[extensions]\n\tpartialClone = origin\n", "[extensions]\n\tnoop = 1\n", "[extensions]\n\tunknown = 1\n",
                       "[extensions]\n\tworktreeConfig = true\n", "[extensions]\n\tpreciousObjects = true\n",
                       "[core]\n\tworktree = /nowhere\n", "[core]\n\tworktree = ..\n", "[include]\n\tpath = /nowhere\n",
                       "[core\n", "x\n", "[core]\n\tx = \"\n", "\0\n", "[remote \"x\"]\n\tpromisor = true\n",
                       "[gc]\n\tauto = 0\n", "[core]\n\tignoreCase = true\n", "[core]\n\tsharedRepository = 0xyz\n"])
    content = read(path)
    content = content + line.encode() if rng.random() < 0.7 else line.encode() + content
    write(path, content)
    return f"with {line!r}"


# ---- which file, and which kind of damage ----


GROUPS = (
    ("pack", r"objects/pack/.*\.pack$", [PACK, PACK, GENERIC]),
    ("idx", r"objects/pack/.*\.idx$", [INDEX, GENERIC]),
    ("midx", r"objects/pack/multi-pack-index$", [GENERIC]),
    ("beside", r"objects/pack/.*\.(rev|bitmap|promisor|keep|mtimes)$", [GENERIC]),
    ("graph", r"objects/info/commit-graph", [GENERIC]),
    ("loose", r"objects/[0-9a-f]{2}/[0-9a-f]+$", [LOOSE, GENERIC]),
    ("objects text", r"objects/info/(alternates|packs)$", [TEXT, GENERIC]),
    ("packed-refs", r"/packed-refs$", [TEXT, TEXT, GENERIC]),
    ("head", r"/(HEAD|ORIG_HEAD|FETCH_HEAD)$", [TEXT, REF, GENERIC]),
    ("ref", r"/refs/", [TEXT, REF, GENERIC]),
    ("config", r"/config(\.worktree)?$", [TEXT, CONFIG, GENERIC]),
    ("text", r"/(shallow|info/grafts|commondir|gitdir|\.git)$", [TEXT, GENERIC]),
    ("other", r"", [GENERIC]),
)


def group_of(path):
    return next(name for name, pattern, _ in GROUPS if re.search(pattern, path))


def is_inside(inside):
    """Whether a path is a file of a repository. Leaves out the work tree, and files that only people and git's hooks use."""
    is_git = "/.git/" in inside or inside.endswith("/.git") or re.match(r"/[^/]*/(objects|refs|info|HEAD|packed-refs|config)", inside)
    return is_git and not re.search(r"/hooks(/|$)|/description$|/COMMIT_EDITMSG$", inside)


def below(folder):
    """Returns the files and the folders of the repositories in a folder, without their work trees."""
    files, folders = [], []
    for at, inner, names in os.walk(folder):
        inner.sort()
        files += [os.path.join(at, name) for name in sorted(names)]
        folders += [os.path.join(at, name) for name in inner]
    return [[path for path in some if is_inside(path[len(folder):])] for some in (files, folders)]


# ---- folders, and new files ----


def folder_damage(rng, folders):
    path = rng.choice(folders)
    what = rng.choice(["removed", "empty", "a file", "a link to itself", "a link to nothing", "renamed", "a copy"])
    if what == "renamed":
        os.rename(path, path + rng.choice(["x", ".lock", "-old"]))
        return path, what
    if what == "a copy":
        other = rng.choice([one for one in folders if one != path])
        if path.startswith(other + os.sep) or other.startswith(path + os.sep):
            return path, None
        shutil.rmtree(path)
        shutil.copytree(other, path, symlinks=True)
        return path, f"a copy of {other} now"
    shutil.rmtree(path)
    if what == "empty":
        os.mkdir(path)
    elif what == "a file":
        with open(path, "w"):
            pass
    elif what != "removed":
        os.symlink({"a link to itself": os.path.basename(path), "a link to nothing": "nothing"}[what], path)
    return path, f"the folder is {what} now"


def add_file(rng, files):
    """Adds a file that changes what git reads, with ids of the repository or with nonsense."""
    loose = [re.sub(r".*objects/(..)/(.*)", r"\1\2", file) for file in files if group_of(file) == "loose"]
    heads = [os.path.dirname(file) for file in files if re.search(r"(/\.git|repo[^/]*)/HEAD$", file)]
    if not heads:
        return "", None
    one, other = (rng.choice(loose or ["1" * 40]) for _ in range(2))
    objects = os.path.relpath(os.path.join(rng.choice(heads), "objects"), os.path.join(heads[0], "objects"))
    name, text = rng.choice([("shallow", one + "\n"), ("shallow", ""), ("info/grafts", f"{one} {other}\n"), ("info/grafts", f"{one}\n"),
                             ("commondir", "..\n"), ("commondir", ".\n"), ("refs/replace/" + one, other + "\n"),
                             ("objects/info/alternates", objects + "\n"), ("objects/info/alternates", "../nowhere\n"),
                             ("worktrees/new/gitdir", "/nowhere/.git\n"), ("worktrees/new/HEAD", other + "\n"),
                             ("packed-refs", f"{one} refs/heads/added\n"), ("config.worktree", "[core\n"), ("gc.pid", "1 host"),
                             ("objects/pack/pack-1.idx", ""), ("objects/pack/tmp_pack_1", "PACK"), ("refs/heads/main.lock", one)])
    path = os.path.join(heads[0], name)
    if os.path.lexists(path):
        return path, None
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path, f"added: {text!r}"


def damage_file(rng, files):
    groups = sorted({group_of(path) for path in files})
    group = rng.choice(groups + [one for one in groups if one not in ("other", "beside", "graph")] * 3)
    path = rng.choice([one for one in files if group_of(one) == group])
    lists = next(kinds for name, _, kinds in GROUPS if name == group)
    function = rng.choice(rng.choice(lists))
    if os.path.islink(path) or not os.path.isfile(path):
        return path, None
    said = function(rng, path, files)
    return path, said and f"{function.__name__}: {said}"


def damage(rng, folder):
    """Damages one file or folder in the folder. Returns a description, or None if nothing could be done."""
    files, folders = below(folder)
    chance = rng.random()
    try:
        if chance < 0.1:
            path, said = folder_damage(rng, folders)
        elif chance < 0.2:
            path, said = add_file(rng, files)
        else:
            path, said = damage_file(rng, files)
    except (OSError, ValueError, IndexError, shutil.Error, zlib.error, struct.error):  # the file was damaged before
        return None
    return f"{path[len(folder) + 1:]}: {said}" if said else None
