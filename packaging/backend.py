"""`pip install` of this tree installs the wheel of a release, so it needs no compiler and no development
packages. pre-commit with `language: python` uses `pip install`, too.

If `make dist` was run in this tree, the wheel is the one in build/dist/. Otherwise the wheel comes from the
releases of the repository that the tree was cloned from, on GitHub, GitLab or Gitea. TURNSTONE_RELEASES names
another place: a folder, or the address of a folder. If the digest of a wheel differs from SHA256SUMS next to
the wheel, the wheel is refused.
"""
import hashlib
import os
import platform
import re
import subprocess
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CURE = "set TURNSTONE_RELEASES to the folder or address of a release, or run 'make dist' in a clone"


class NoWheel(Exception):
    pass


def number():
    with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
        return re.search(r"^project\(turnstone VERSION ([\d.]+) ", file.read(), re.MULTILINE).group(1)


def releases(origin, version):
    """Returns the address of the files of a release. `origin` is the address that the tree was cloned
    from."""
    found = re.fullmatch(r"(?:https?://|ssh://)?(?:[^@/]+@)?([^/:]+)(?::\d+)?[:/]+(.+?)(?:\.git)?/*", origin)
    if not found or origin.startswith(("/", ".", "file:")):
        raise NoWheel(f"turnstone was cloned from '{origin}', which has no releases; {CURE}")
    host, path = found.groups()
    if "gitlab" in host:
        return f"https://{host}/{path}/-/releases/v{version}/downloads"
    return f"https://{host}/{path}/releases/download/v{version}"


def place():
    if given := os.environ.get("TURNSTONE_RELEASES"):
        return given
    made = os.path.join(ROOT, "build", "dist")
    if os.path.exists(os.path.join(made, "SHA256SUMS")):
        return made
    done = subprocess.run(["git", "-C", ROOT, "config", "remote.origin.url"], capture_output=True, text=True, check=False)
    return releases(done.stdout.strip() or ROOT, number())


def read(folder, name):
    address = f"{folder}/{name}"
    try:
        if "://" not in folder:
            with open(address, "rb") as file:
                return file.read()
        with urllib.request.urlopen(address, timeout=60) as answer:
            return answer.read()
    except (OSError, urllib.error.URLError) as error:
        raise NoWheel(f"turnstone: cannot read '{address}': {error}; {CURE}") from None


def choose(sums):
    """Returns the digest and the name of the wheel in `sums` that has this tree's version and fits this kind
    of machine. A wheel of a development version before this tree's version also fits."""
    version = re.escape(number())
    pattern = re.compile(rf"([0-9a-f]{{64}})  (turnstone-{version}(?:\.dev\S*)?-py3-none-\w+_{platform.machine()}\.whl)")
    found = [row for row in (pattern.fullmatch(line) for line in sums.splitlines()) if row]
    if len(found) != 1:
        raise NoWheel(f"turnstone: the release has no wheel of {number()} for {platform.machine()}; {CURE}")
    return found[0].groups()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    folder = place()
    digest, name = choose(read(folder, "SHA256SUMS").decode())
    content = read(folder, name)
    if hashlib.sha256(content).hexdigest() != digest:
        raise NoWheel(f"turnstone: '{folder}/{name}' differs from its checksum in SHA256SUMS; fetch it again")
    with open(os.path.join(wheel_directory, name), "wb") as file:
        file.write(content)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise NoWheel("turnstone: there is no source package for pip; use the wheel of a release")
