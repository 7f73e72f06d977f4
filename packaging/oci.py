"""Makes a container image as a file, without a container engine: JSON documents and tar files, as
https://github.com/opencontainers/image-spec describes them. `podman load`, `skopeo copy oci-archive:…` and `docker load`
read it.

The image has three layers: the C library and a shell, the libraries, and the program. Jobs of continuous
integration need the shell.
"""
import hashlib
import json
import os
import platform
import re
import time

import libraries
from payload import LIBRARIES
from tree import Tree, compress

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


def system(program):
    """Returns the first layer: C library and loader of this machine, busybox for the shell and all commands,
    and certificates."""
    tree = Tree()
    for folder in ("bin", "sbin", "lib", "lib64"):
        tree.link(folder, f"usr/{folder}")
    loader = re.search(r"\[Requesting program interpreter: (/\S+)\]", libraries.output("readelf", "-l", program)).group(1)
    tree.copy(loader, f"usr{loader}", 0o755)
    package = libraries.packages_of([loader])[loader]
    for path in libraries.output("dpkg-query", "--listfiles", package).split("\n"):
        if libraries.OF_THE_SYSTEM.fullmatch(os.path.basename(path)) and not os.path.islink(path) and "ld-linux" not in path:
            tree.copy(path, "usr/" + path.removeprefix("/usr").lstrip("/"), 0o755)
    for name in libraries.output("/bin/busybox", "--list").split():
        tree.link(f"usr/bin/{name}", "busybox")
    tree.copy("/bin/busybox", "usr/bin/busybox", 0o755)
    tree.file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
    tree.file("etc/group", "root:x:0:\nnogroup:x:65534:\n")
    if os.path.exists(CERTIFICATES):
        tree.copy(CERTIFICATES, CERTIFICATES[1:])
    for folder, mode in (("proc", 0o555), ("dev", 0o755), ("root", 0o700), ("src", 0o755), ("tmp", 0o1777), ("usr/sbin", 0o755)):
        tree.folder(folder, mode)
    return tree


def split(payload):
    ours, theirs = Tree(), Tree()
    for path, entry in payload.entries.items():
        (theirs if path.startswith(LIBRARIES) else ours).entries["usr/" + path] = entry
    return theirs, ours


def build_image(program, payload, version, epoch, folder, level):
    image = Tree()

    def blob(data, kind):
        digest = hashlib.sha256(data).hexdigest()
        image.file(f"blobs/sha256/{digest}", data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def document(value, kind):
        return blob(json.dumps(value, sort_keys=True, separators=(",", ":")).encode(), kind)

    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    layers, digests = [], []
    for tree in (system(program), *split(payload)):
        data = tree.tar(epoch)
        digests.append("sha256:" + hashlib.sha256(data).hexdigest())
        layers.append(blob(compress(data, level), "layer.v1.tar+gzip"))
    machine = platform.machine()
    labels = {"org.opencontainers.image.title": "turnstone", "org.opencontainers.image.version": version,
              "org.opencontainers.image.licenses": "Apache-2.0"}
    config = document({
        "created": created, "os": "linux", "architecture": ARCHITECTURES.get(machine, machine),
        "config": {"Entrypoint": ["turnstone"], "WorkingDir": "/src", "Labels": labels,
                   "Env": ["PATH=/usr/bin", "HOME=/root"]},
        "rootfs": {"type": "layers", "diff_ids": digests},
        "history": [{"created": created, "created_by": "packaging/dist"} for _ in digests]}, "config.v1+json")
    manifest = document({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
                         "layers": layers, "annotations": labels}, "manifest.v1+json")
    manifest["annotations"] = {"org.opencontainers.image.ref.name": f"turnstone:{version.replace('+', '-')}"}
    image.file("oci-layout", '{"imageLayoutVersion":"1.0.0"}')
    image.file("index.json", json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                                         "manifests": [manifest]}, sort_keys=True))
    path = os.path.join(folder, f"turnstone-{version}-linux-{machine}.oci.tar")
    with open(path, "wb") as file:
        file.write(image.tar(epoch))
    return path
