"""Writes packs that may be invalid: any bytes under any id."""
import hashlib
import os
import struct
import zlib


def write_pack(folder, entries):
    """Writes a pack and its index. Each entry is (id, bytes in the pack). The index matches the pack, even if entries are invalid."""
    body, rows = b"PACK" + struct.pack(">II", 2, len(entries)), []
    for oid, raw in entries:
        rows.append((oid, zlib.crc32(raw), len(body)))
        body += raw
    checksum = hashlib.sha1(body).digest()
    rows.sort()
    index = b"\xfftOc" + struct.pack(">I", 2)
    index += b"".join(struct.pack(">I", sum(row[0][0] <= first for row in rows)) for first in range(256))
    index += b"".join(row[0] for row in rows) + b"".join(struct.pack(">I", row[1]) for row in rows)
    index += b"".join(struct.pack(">I", row[2]) for row in rows) + checksum
    index += hashlib.sha1(index).digest()
    os.makedirs(folder, exist_ok=True)
    name = os.path.join(folder, f"pack-{checksum.hex()}")
    for end, content in ((".pack", body + checksum), (".idx", index)):
        with open(name + end, "wb") as file:
            file.write(content)


def head(kind, size):
    byte, size = kind << 4 | size & 15, size >> 4
    result = b""
    while size:
        result += bytes([byte | 128])
        byte, size = size & 127, size >> 7
    return result + bytes([byte])


def whole(kind, content):
    name = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}[kind]
    oid = hashlib.sha1(name + b" %d\0" % len(content) + content).digest()
    return oid, head(kind, len(content)) + zlib.compress(content, 9)


def size_of(value):
    result = b""
    while value > 127:
        result += bytes([value & 127 | 128])
        value >>= 7
    return result + bytes([value])


def delta(oid, base, base_size, size, instructions):
    content = size_of(base_size) + size_of(size) + instructions
    return oid, head(7, len(content)) + base + zlib.compress(content, 9)
