"""Root file systems that have the files of some Debian packages of this machine, and nothing else.

    root = Root("root", "libc6", "git")
    root.run("/usr/bin/git", "--version")

Programs run in such a file system with /proc and /dev, without a network, as root of a namespace. Nothing is installed on the machine.
"""
import os
import re
import shutil
import subprocess

from program import Result
from tap import Skip

# Large files that are not copied, because no test reads them.
LEFT_OUT = re.compile(r"/usr/share/(doc|man|locale|info|lintian|icons)/|/gconv/|/usr/lib/python|/perl")
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}

ENTER = """
mkdir -p "$ROOT/proc" "$ROOT/dev" &&
mount --rbind /proc "$ROOT/proc" && mount --rbind /dev "$ROOT/dev" && exec unshare --root="$ROOT" --wd="$FOLDER" -- "$@"
"""


def namespace():
    """Returns the command that makes a namespace in which file systems can be mounted."""
    for options in (["--mount", "--net"], ["--user", "--map-root-user", "--mount", "--net"]):
        if os.geteuid() != 0 and "--user" not in options:
            continue
        if subprocess.run(["unshare", *options, "true"], capture_output=True, check=False).returncode == 0:
            return ["unshare", *options]
    raise Skip("this machine allows no mount namespaces to this user")


def installed(package, field):
    done = subprocess.run(["dpkg-query", "--show", "--showformat", field, package], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def with_dependencies(packages):
    """Returns the packages and their dependencies, in the installed versions."""
    found, pending = {}, list(packages)
    while pending:
        package = pending.pop()
        if package in found:
            continue
        found[package] = True
        for alternatives in (installed(package, "${Pre-Depends}, ${Depends}") or "").split(","):
            names = [re.split(r"[ (:]", name.strip())[0] for name in alternatives.split("|")]
            pending += [name for name in names if name and installed(name, "${Version}")][:1]
    return sorted(found)


class Root:
    def __init__(self, path, *packages):
        """Without packages, `path` is a folder that already contains a root file system."""
        self.path = os.path.abspath(path)
        self.enter = namespace()
        if packages:
            self.fill(packages)

    def fill(self, packages):
        for folder in ("bin", "sbin", "lib", "lib64"):
            os.makedirs(f"{self.path}/usr/{folder}")
            os.symlink(f"usr/{folder}", f"{self.path}/{folder}")
        for folder in ("proc", "dev", "tmp", "root", "srv", "etc", "usr/local", "var/lib/dpkg/info", "var/lib/dpkg/updates"):
            os.makedirs(f"{self.path}/{folder}")
        for package in packages:
            for name in subprocess.run(["dpkg-query", "--listfiles", package], check=True, capture_output=True,
                                       text=True).stdout.splitlines():
                self.copy(name)
        with open(f"{self.path}/var/lib/dpkg/status", "w") as file:
            for package in packages:
                file.write(subprocess.run(["dpkg-query", "--status", package], check=True, capture_output=True,
                                          text=True).stdout + "\n")

    def copy(self, name):
        """Copies a file or link of this machine to the same path in the root file system."""
        if LEFT_OUT.search(name) or (os.path.isdir(name) and not os.path.islink(name)) or not os.path.lexists(name):
            return
        place = self.path + name
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if not os.path.lexists(place):
            shutil.copy2(name, place, follow_symlinks=False)

    def files(self):
        """Returns the installed files, each with its size or target, without dpkg's notes and without data of
        programs."""
        found = {}
        for folder, folders, names in os.walk(self.path):
            if folder == self.path:
                folders[:] = [name for name in folders if name not in ("proc", "dev", "var", "root", "tmp")]
            for name in names:
                path = os.path.join(folder, name)
                found[path] = os.readlink(path) if os.path.islink(path) else os.path.getsize(path)
        return found

    def outside(self, *command):
        """Runs a program of this machine, outside the root file system, as root of the namespace."""
        return Result(subprocess.run([*self.enter, *command], capture_output=True, text=True, check=False))

    def run(self, *command, folder="/", **environment):
        done = subprocess.run([*self.enter, "sh", "-c", ENTER, "sh", "/usr/bin/env", "-i",
                               *(f"{name}={value}" for name, value in {**ENVIRONMENT, **environment}.items()), *command]
                              if os.path.exists(f"{self.path}/usr/bin/env") else [*self.enter, "sh", "-c", ENTER, "sh", *command],
                              capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              env={**os.environ, **ENVIRONMENT, **environment, "ROOT": self.path, "FOLDER": folder,
                                   "PATH": ENVIRONMENT["PATH"] + ":/usr/sbin:/sbin"})
        return Result(done)
