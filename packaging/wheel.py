"""Makes a wheel with the program and its libraries, for `pip install` and for pre-commit. pip puts the
program into bin/ of an environment, and the libraries into lib/turnstone/ next to bin/. The installed program
does not need Python."""
import base64
import hashlib
import io
import os
import platform
import time
import zipfile

from payload import ROOT

METADATA = """\
Metadata-Version: 2.1
Name: turnstone
Version: {version}
Summary: Finds leaked secrets in every commit of git repositories
License: Apache-2.0
Requires-Python: >=3.7
"""


def tag(libc):
    return f"py3-none-manylinux_{libc[0]}_{libc[1]}_{platform.machine()}"


def contents(payload, version, libc):
    """Yields (path, mode, bytes) of every file in the wheel except the list of files."""
    data, info = f"turnstone-{version}.data", f"turnstone-{version}.dist-info"
    for path, (mode, content) in sorted(payload.entries.items()):
        yield f"{data}/scripts/turnstone" if path == "bin/turnstone" else f"{data}/data/{path}", mode, content
    yield f"{info}/METADATA", 0o644, METADATA.format(version=version).encode()
    wheel = f"Wheel-Version: 1.0\nGenerator: turnstone\nRoot-Is-Purelib: false\nTag: {tag(libc)}\n"
    yield f"{info}/WHEEL", 0o644, wheel.encode()
    with open(os.path.join(ROOT, "LICENSE"), "rb") as file:
        yield f"{info}/LICENSE", 0o644, file.read()


def build_wheel(payload, libc, version, epoch, folder, level):
    output, record = io.BytesIO(), ""
    with zipfile.ZipFile(output, "w") as archive:
        def put(path, mode, content):
            entry = zipfile.ZipInfo(path, time.gmtime(max(epoch, 315532800))[:6])  # times in a zip start in 1980
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=level)

        for path, mode, content in contents(payload, version, libc):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            record += f"{path},sha256={digest},{len(content)}\n"
            put(path, mode, content)
        name = f"turnstone-{version}.dist-info/RECORD"
        put(name, 0o644, (record + f"{name},,\n").encode())
    path = os.path.join(folder, f"turnstone-{version}-{tag(libc)}.whl")
    with open(path, "wb") as file:
        file.write(output.getvalue())
    return path
