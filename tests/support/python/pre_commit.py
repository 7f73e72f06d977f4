"""The pre-commit framework, with the hooks of this tree, without a network."""
import os
import shutil
import subprocess

from repo import Repo
from tap import equal, holds

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
OF_THE_HOOKS = (".pre-commit-hooks.yaml", "pyproject.toml", "CMakeLists.txt", "packaging/backend.py")


class PreCommit:
    """A repository that uses one of the hooks, as the configuration in the repository says."""

    def __init__(self, hook, **environment):
        hooks = Repo("hooks")
        for name in OF_THE_HOOKS:
            with open(os.path.join(ROOT, name), "rb") as file:
                hooks.write(name, file.read())
        commit = hooks.commit()
        self.repo = Repo("repo")
        self.variables = {"PRE_COMMIT_HOME": os.path.abspath("pre-commit"), "PIP_NO_INDEX": "1", "VIRTUALENV_NO_DOWNLOAD": "1",
                          "PIP_NO_PYTHON_VERSION_WARNING": "1", **environment}
        self.repo.write(".pre-commit-config.yaml", f"repos:\n- repo: {os.path.abspath('hooks')}\n  rev: {commit}\n"
                                                   f"  hooks:\n  - id: {hook}\n    args: []\n")
        self.repo.commit()
        done = self.run("pre-commit", "install", "--install-hooks")
        equal(done.returncode, 0, done)

    def run(self, *command):
        self.repo.clock += 60
        return subprocess.run(command, cwd="repo", capture_output=True, text=True, check=False,
                              env={**self.repo.environment(), **self.variables})

    def commit(self):
        self.repo.git("add", "-A")
        return self.run("git", "commit", "-m", "change")


def refuses_secrets(pre_commit, token):
    """Checks that the hook refuses a secret in a commit, and in all files with --all-files."""
    repo = pre_commit.repo
    repo.write("a.txt", f"{token(1)}\n")
    done = pre_commit.commit()
    holds(done.returncode == 1 and "a.txt:1" in done.stderr, done)
    equal(pre_commit.run("git", "commit", "--no-verify", "-m", "past the hook").returncode, 0)
    repo.write("-b.txt", "fine\n")
    repo.write("a.txt", f"more\n{token(1)}\n")
    done = pre_commit.commit()
    equal(done.returncode, 0, done)  # the secret is already in HEAD
    done = pre_commit.run("pre-commit", "run", "--all-files")
    holds(done.returncode == 1 and "a.txt:2" in done.stdout and "-b.txt" not in done.stdout, done)
    shutil.copy("repo/a.txt", "repo/copy.txt")
    repo.remove("a.txt")
    repo.git("add", "-A")
    done = pre_commit.run("pre-commit", "run")
    equal(done.returncode, 0, done)
    done = pre_commit.run("pre-commit", "run", "--all-files")
    holds(done.returncode == 1 and "copy.txt:2" in done.stdout, done)
