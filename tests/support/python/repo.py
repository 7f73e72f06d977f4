"""Git repositories in temporary folders, and made-up secrets. The secrets are put together here, so that no
file contains one."""
import os
import random
import shutil
import subprocess
import zlib

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# Ignores the configuration of the machine, so that ids are the same in every run.
ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "TZ": "UTC",
    "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Cy", "GIT_COMMITTER_EMAIL": "cy@example.org",
}


def made_up(count, seed):
    """Returns characters that look random. The seed determines the characters."""
    random_one = random.Random(f"characters {seed}")
    return "".join(random_one.choice(ALPHABET) for _ in range(count))


def github_token(seed=0, kind="p"):
    """Returns a token of GitHub with a correct checksum."""
    body = made_up(30, f"github {seed}")
    value, check = zlib.crc32(body.encode()), ""
    for _ in range(6):
        value, digit = divmod(value, 62)
        check = ALPHABET[digit] + check
    return "gh" + kind + "_" + body + check


def private_key(seed=0, lines=12):
    """Returns a private key of several lines."""
    body = "".join(made_up(64, f"key {seed} {i}") + "\n" for i in range(lines))
    dashes = "-" * 5
    return f"{dashes}BEGIN RSA PRIVATE KEY{dashes}\n{body}{dashes}END RSA PRIVATE KEY{dashes}\n"


class Repo:
    """A repository whose commits are a minute apart."""

    def __init__(self, path, *options):
        self.path = path
        self.clock = 1700000000
        shutil.rmtree(path, ignore_errors=True)
        subprocess.run(["git", "init", "-q", "-b", "main", *options, path], check=True, env=self.environment())

    @classmethod
    def at(cls, path, clock=1800000000):
        """Returns an existing repository. Its next commits have later times than all existing commits."""
        repo = cls.__new__(cls)
        repo.path, repo.clock = path, clock
        return repo

    def environment(self):
        date = f"{self.clock} +0100"
        return {**os.environ, **ENVIRONMENT, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}

    def git(self, *arguments, stdin=None, check=True):
        done = subprocess.run(["git", "-C", self.path, *arguments], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=not isinstance(stdin, bytes), env=self.environment(), check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"git {arguments}: {done.stderr}")
        return done.stdout.strip()

    def write(self, name, content):
        path = os.path.join(os.fsencode(self.path), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    def remove(self, name):
        os.unlink(os.path.join(os.fsencode(self.path), os.fsencode(name)))

    def commit(self, message="change"):
        """Commits all files. Returns the id of the commit."""
        self.clock += 60
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-F", "-", stdin=message)
        return self.git("rev-parse", "HEAD")

    def repack(self, *options):
        # With several threads git would make different deltas each time.
        self.git("-c", "pack.threads=1", "repack", "-adfq", *options)
