"""Makes the Debian package. The package contains the program without libraries, and depends on the packages
of the libraries."""
import gzip
import os
import subprocess
import tempfile
import time

import libraries
from payload import ROOT, alone
from tree import Tree

# DEBFULLNAME and DEBEMAIL are the variables that other tools for Debian packages use, too.
MAINTAINER = f"{os.environ.get('DEBFULLNAME', 'Turnstone maintainers')} <{os.environ.get('DEBEMAIL', 'maintainers@turnstone.invalid')}>"
# Late libraries that any scan may need: the package depends on them. Only `verify` and stores need the other
# late libraries.
IN_EVERY_SCAN = ("libarchive",)

CONTROL = """\
Package: turnstone
Version: {version}
Section: devel
Priority: optional
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {size}
Depends: {depends}
Recommends: {recommends}
Suggests: git
Description: find leaked secrets in every commit of git repositories
 Turnstone scans every file of every commit that a ref reaches, the messages
 of commits and tags, and notes, and reports each leaked secret once. It looks
 into archives, knows what an earlier scan has seen, refuses commits that
 would add secrets, and writes SARIF, JUnit, JSON and pages of HTML.
"""

CHANGELOG = """\
turnstone ({version}) unstable; urgency=medium

  * Release; changelog.gz lists the changes.

 -- {maintainer}  {date}
"""

COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: turnstone

Files: *
Copyright: {year} the Turnstone authors
License: Apache-2.0
 On Debian systems, the full text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
"""


def debian_version(version):
    """Returns the version in Debian's form. The "~" sorts a development version of 0.1.0 before 0.1.0."""
    return version.replace(".dev", "~dev") + "-1"


def linked_packages(program):
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "debian"))
        with open(os.path.join(folder, "debian", "control"), "w") as file:
            file.write("Source: turnstone\n\nPackage: turnstone\nArchitecture: any\n")
        done = subprocess.run(["dpkg-shlibdeps", "-O", "-e", program], cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout.strip().removeprefix("shlibs:Depends=")


def files(build, version, epoch):
    tree = Tree()
    tree.add(alone(build), "usr/")
    man = tree.entries.pop("usr/share/man/man1/turnstone.1")[1]
    tree.file("usr/share/man/man1/turnstone.1.gz", gzip.compress(man, 9, mtime=0))
    # Debian's zsh searches for completions in vendor-completions.
    tree.entries["usr/share/zsh/vendor-completions/_turnstone"] = tree.entries.pop("usr/share/zsh/site-functions/_turnstone")
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(epoch))
    debian = CHANGELOG.format(version=version, maintainer=MAINTAINER, date=date)
    tree.file("usr/share/doc/turnstone/changelog.Debian.gz", gzip.compress(debian.encode(), 9, mtime=0))
    with open(os.path.join(ROOT, "CHANGELOG.md"), "rb") as file:
        tree.file("usr/share/doc/turnstone/changelog.gz", gzip.compress(file.read(), 9, mtime=0))
    tree.file("usr/share/doc/turnstone/copyright", COPYRIGHT.format(year=time.gmtime(epoch).tm_year))
    return tree


def build_package(build, version, epoch, folder):
    version = debian_version(version)
    architecture = libraries.output("dpkg", "--print-architecture").strip()
    paths = libraries.late(build)
    packages = libraries.packages_of(paths.values())
    late = {name: packages[path] for name, path in paths.items()}
    tree = files(build, version, epoch)
    depends = linked_packages(os.path.join(build, "turnstone"))
    size = sum(len(content) for mode, content in tree.entries.values() if mode and content) // 1024 + 1
    tree.file("DEBIAN/control", CONTROL.format(
        version=version, architecture=architecture, maintainer=MAINTAINER, size=size,
        depends=", ".join([depends] + sorted(late[name] for name in IN_EVERY_SCAN)),
        recommends=", ".join(sorted(package for name, package in late.items() if name not in IN_EVERY_SCAN))))
    path = os.path.join(folder, f"turnstone_{version}_{architecture}.deb")
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        tree.write(root, epoch)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, path], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)})
    return path
