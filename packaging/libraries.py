"""Finds the shared libraries that the program needs: libraries that it is linked with, libraries that it
loads late, and the dependencies of both."""
import os
import re
import subprocess

# Matches the C library, its parts and the loader. Packages leave them to the system, because they must match
# each other and the kernel.
OF_THE_SYSTEM = re.compile(r"(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|resolv|util|anl|mvec|nsl|nss_\w+|BrokenLocale|thread_db))\.so\.\d+")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def soname(path):
    found = re.search(r"SONAME +(\S+)", output("objdump", "-p", path))
    return found.group(1) if found else None


def late(build):
    """Returns {name: path} of the libraries that the program loads late, when a run needs them."""
    with open(os.path.join(build, "late_libraries.txt")) as file:
        return dict(line.split() for line in file if line.strip())


def needed(path):
    """Returns {name: path} of all libraries that the loader would load for this file."""
    said = output("ldd", path)
    missing = re.findall(r"(\S+) => not found", said)
    if missing:
        raise SystemExit(f"packaging/dist: {path} needs {', '.join(missing)}, which is not installed")
    return dict(re.findall(r"(\S+) => (/\S+) \(", said))


def closure(program, build):
    """Returns {name: path} of all libraries that a package must include."""
    found = needed(program)
    for path in late(build).values():
        found[soname(path)] = path
        found.update(needed(path))
    return {name: os.path.realpath(path) for name, path in sorted(found.items()) if not OF_THE_SYSTEM.fullmatch(name)}


def libc_version(paths):
    """Returns the version of the oldest C library that works with all of these files, such as (2, 36)."""
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", output("objdump", "-p", *paths))
    return max((int(major), int(minor)) for major, minor in versions)


def packages_of(paths):
    """Returns {path: Debian package} of these files. Omits files without a package. A package may list a file
    of /usr/lib under /lib, so both paths are searched."""
    names = {name: path for path in paths for name in (os.path.realpath(path), os.path.realpath(path).removeprefix("/usr"))}
    done = subprocess.run(["dpkg-query", "--search", *names], capture_output=True, text=True, check=False)
    return {names[name]: packages.split(":")[0].split(",")[0]
            for packages, name in re.findall(r"^(\S+): (/.*)$", done.stdout, re.MULTILINE) if name in names}
