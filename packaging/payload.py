"""Makes the contents of all packages, below a prefix: the program, its man page and its completions, with the
libraries or without them."""
import os
import subprocess
import tempfile

import libraries
from tree import Tree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARIES = "lib/turnstone"  # must equal the path of turnstone_portable in src/cli/CMakeLists.txt


def stripped(path):
    """Returns the bytes of a file without its debug information. Debuggers find this information in the build
    folder."""
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "stripped")
        subprocess.run(["strip", "--strip-unneeded", "-o", result, path], check=True)
        with open(result, "rb") as file:
            return file.read()


def documents(build):
    tree = Tree()
    generated = os.path.join(build, "generated")
    tree.copy(f"{generated}/turnstone.man", "share/man/man1/turnstone.1")
    tree.copy(f"{generated}/turnstone.bash", "share/bash-completion/completions/turnstone")
    tree.copy(f"{generated}/turnstone.zsh", "share/zsh/site-functions/_turnstone")
    return tree


def alone(build):
    """Returns the tree without libraries, for systems whose own packages contain the libraries."""
    tree = documents(build)
    tree.file("bin/turnstone", stripped(f"{build}/turnstone"), 0o755)
    return tree


def portable(build):
    """Returns the tree with all libraries and their licences, except the libraries in
    libraries.OF_THE_SYSTEM. Also returns the version of the oldest C library that the tree works with."""
    program = os.path.join(build, "turnstone_portable")
    tree = documents(build)
    tree.file("bin/turnstone", stripped(program), 0o755)
    found = libraries.closure(program, build)
    for name, path in found.items():
        tree.copy(path, f"{LIBRARIES}/{name}")
    for package in sorted(set(libraries.packages_of(found.values()).values())):
        tree.copy(f"/usr/share/doc/{package}/copyright", f"share/doc/turnstone/libraries/{package}.copyright")
    for name in ("LICENSE", "CHANGELOG.md"):
        tree.copy(os.path.join(ROOT, name), f"share/doc/turnstone/{name}")
    return tree, libraries.libc_version([program, *found.values()])
