#!/usr/bin/env python3
"""ci_test.py PROGRAM: the recipes of docs/ci.md, as far as a machine without a network can run them."""
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tarfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from program import PROGRAM  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402


def text_of(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


def yaml_of(path):
    """Returns the parsed contents of a YAML file. The parser is the one that the package pre-commit
    installs."""
    done = subprocess.run(["/usr/bin/python3", "-c", "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)"],
                          input=text_of(path), check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def release():
    """Makes a release whose tarball contains a link to the program under test, and returns the address of the
    release. dist_test.py tests the real tarball."""
    os.makedirs("release")
    name = f"turnstone-1.2.3-linux-{platform.machine()}.tar.gz"
    with tarfile.open(f"release/{name}", "w:gz") as archive:
        entry = tarfile.TarInfo("turnstone-1.2.3/bin/turnstone")
        entry.type, entry.linkname = tarfile.SYMTYPE, PROGRAM
        archive.addfile(entry)
    with open(f"release/{name}", "rb") as file, open("release/SHA256SUMS", "w") as sums:
        sums.write(f"{'0' * 64}  turnstone-1.2.3-linux-{platform.machine()}.oci.tar\n")
        sums.write(f"{hashlib.sha256(file.read()).hexdigest()}  {name}\n")
    return "file://" + os.path.abspath("release")


def checkout():
    """Clones a repository that has an old secret. The clone is on a branch that adds no secret."""
    origin = Repo("origin")
    origin.write("old.txt", f"{github_token(1)}\n")
    origin.commit()
    subprocess.run(["git", "clone", "-q", "origin", "checkout"], check=True)
    repo = Repo.__new__(Repo)
    repo.path, repo.clock = "checkout", origin.clock
    repo.git("checkout", "-q", "-b", "change")
    repo.write("new.txt", "fine\n")
    repo.commit()
    return repo


def shell(script, repo, *interpreter, **variables):
    return subprocess.run([*(interpreter or ("sh", "-e")), "-c", script], cwd=repo.path, capture_output=True, text=True, check=False,
                          env={**repo.environment(), **variables})


def judges(run, repo, request, report, mark):
    """Checks a recipe: run(variables) ends with status 0 for a request without new secrets. When there are
    secrets, it ends with status 1 and writes a report that contains `mark`."""
    done = run(request)
    equal(done.returncode, 0, done)
    repo.write("new.txt", f"fine\n{github_token(2)}\n")
    repo.commit()
    for variables, new, old in ((request, 1, 0), ({}, 1, 1)):  # a merge request, and a build of a branch
        if os.path.exists(f"checkout/{report}"):
            os.unlink(f"checkout/{report}")
        done = run(variables)
        equal(done.returncode, 1, done)
        with open(f"checkout/{report}") as file:
            written = file.read()
        equal((mark in written, "new.txt" in written, "old.txt" in written), (True, bool(new), bool(old)), written)


@test
def jenkins():
    script = re.search(r"sh '''(.*?)'''", text_of("recipes/Jenkinsfile"), re.DOTALL).group(1)
    address, repo = release(), checkout()
    workspace = os.path.abspath("checkout")
    judges(lambda variables: shell(script, repo, TURNSTONE_RELEASE=address, WORKSPACE=workspace, **variables), repo,
           {"CHANGE_TARGET": "main"}, "turnstone.xml", "<testsuite")
    holds(os.path.exists("checkout/turnstone.html"), "the page")


@test
def azure_pipelines():
    recipe = yaml_of("recipes/azure.yml")
    install, scan = (step["script"] for step in recipe["steps"] if "script" in step)
    address, repo = release(), checkout()
    holds("TURNSTONE_RELEASE" in recipe["variables"], recipe)
    agent = {"TURNSTONE_RELEASE": address, "AGENT_TEMPDIRECTORY": os.path.abspath("agent")}
    equal(shell(install, repo, "bash", "-e", **agent).returncode, 0)
    judges(lambda variables: shell(scan, repo, "bash", "-e", **agent, **variables), repo,
           {"SYSTEM_PULLREQUEST_TARGETBRANCH": "refs/heads/main"}, "turnstone.xml", "<testsuite")
    published = [step["publish"] for step in recipe["steps"] if "publish" in step]
    equal((published, os.path.exists("checkout/turnstone.sarif")), (["turnstone.sarif"], True))


@test
def gitlab():
    job = yaml_of("recipes/gitlab.yml")["secrets"]
    os.mkdir("bin")
    os.symlink(PROGRAM, "bin/turnstone")
    repo = checkout()
    base = repo.git("rev-parse", "origin/main")
    report = job["artifacts"]["reports"]["secret_detection"]
    path = os.path.abspath("bin") + ":" + os.environ["PATH"]
    equal((job["image"]["entrypoint"], job["variables"]["GIT_DEPTH"]), ([""], "0"))
    # Without this rule GitLab runs the job for branches and tags only, and never sets
    # CI_MERGE_REQUEST_DIFF_BASE_SHA.
    equal(job["rules"][0], {"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'})
    holds(any("$CI_COMMIT_BRANCH" in rule["if"] and "when" not in rule for rule in job["rules"]), "other pipelines run it, too")
    judges(lambda variables: shell("\n".join(job["script"]), repo, "busybox", "sh", "-e", PATH=path, **variables), repo,
           {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base}, report, '"secret_detection"')


class Runner:
    """Runs the steps of an action like GitHub: replaces expressions, and after each step reads the files to
    which the step appends paths and outputs."""

    def __init__(self, repo, inputs, **context):
        self.action = yaml_of("action.yml")
        self.repo, self.path, self.outputs, self.uploaded = repo, os.environ["PATH"], {}, None
        self.values = {f"inputs.{name}": inputs.get(name, row["default"]) for name, row in self.action["inputs"].items()}
        self.values.update(context)

    def evaluate(self, text):
        def value(found):
            name = found.group(1).strip()
            if name.startswith("steps."):
                return self.outputs[name]
            holds(name in self.values or name.startswith("github."), f"{name} is an input, or of the context")
            return self.values.get(name, "")

        return re.sub(r"\$\{\{(.*?)\}\}", value, text)

    def step(self, step):
        for name in ("path", "output"):
            open(name, "w").close()
        environment = {name: self.evaluate(text) for name, text in step.get("env", {}).items()}
        done = shell(step["run"], self.repo, "bash", "--noprofile", "--norc", "-eo", "pipefail", **environment, PATH=self.path,
                     GITHUB_ACTION_PATH=ROOT, RUNNER_TEMP=os.path.abspath("runner"), GITHUB_PATH=os.path.abspath("path"),
                     GITHUB_OUTPUT=os.path.abspath("output"))
        with open("path") as path, open("output") as output:
            self.path = "".join(line.strip() + ":" for line in path) + self.path
            for name, text in (line.strip().split("=", 1) for line in output):
                self.outputs[f"steps.{step['id']}.outputs.{name}"] = text
        return done

    def run(self):
        for step in self.action["runs"]["steps"]:
            if "uses" in step:
                self.uploaded = self.evaluate(step["with"]["sarif_file"])
                continue
            equal(step["shell"], "bash")
            done = self.step(step)
            if done.returncode != 0:
                break
        return done


@test
def the_github_action():
    address, repo = release(), checkout()
    base = repo.git("rev-parse", "origin/main")

    def run(request):
        runner = Runner(repo, {"release": address}, **{"github.event.pull_request.base.sha": request.get("base", "")})
        done = runner.run()
        equal(runner.outputs["steps.scan.outputs.status"], str(done.returncode))
        equal(runner.uploaded, "turnstone.sarif")
        return done

    judges(run, repo, {"base": base}, "turnstone.sarif", '"2.1.0"')
    done = Runner(repo, {"release": address, "arguments": "--fail-on critical --no-such-option"}).run()
    equal(done.returncode, 2, done)
    action = yaml_of("action.yml")
    used = set(re.findall(r"inputs\.([\w-]+)", text_of("action.yml")))
    equal(used, set(action["inputs"]), "every input is used, and every used one exists")
    equal(action["outputs"]["status"]["value"], "${{ steps.scan.outputs.status }}")
    default = Runner(repo, {}, **{"github.server_url": "https://h", "github.action_repository": "o/n", "github.action_ref": "v1"})
    equal(default.evaluate(action["runs"]["steps"][0]["env"]["RELEASE_OF_ACTION"]), "https://h/o/n/releases/download/v1")


@test
def the_github_workflow_uses_the_action_with_a_whole_history():
    steps = yaml_of("recipes/github.yml")["jobs"]["turnstone"]["steps"]
    equal(steps[0]["with"], {"fetch-depth": 0})
    holds(steps[1]["uses"].startswith("OWNER/turnstone@v"), steps)
    holds(set(steps[1].get("with", {})) <= set(yaml_of("action.yml")["inputs"]), steps)


@test
def a_tarball_that_differs_from_its_checksum_is_refused():
    address = release()
    for name in os.listdir("release"):
        if name.endswith(".tar.gz"):
            with open(f"release/{name}", "ab") as file:
                file.write(b"x")
    done = subprocess.run([os.path.join(ROOT, "recipes/install"), address, "there"], capture_output=True, text=True, check=False)
    holds(done.returncode != 0 and "FAILED" in done.stdout and not os.path.exists("there/bin"), done)


# ---- a server ----


class Server:
    """A bare repository, and a repository that pushes to it."""

    def __init__(self, *options):
        self.bare = Repo("server.git", "--bare", *options)
        self.repo = Repo("clone", *options)
        self.repo.git("remote", "add", "origin", "file://" + os.path.abspath("server.git"))
        os.mkdir("bin")
        os.symlink(PROGRAM, "bin/turnstone")

    def guard(self):
        os.symlink(os.path.join(ROOT, "recipes/pre-receive"), "server.git/hooks/pre-receive")

    def push(self, *arguments):
        return subprocess.run(["git", "-C", "clone", "push", "origin", *arguments], capture_output=True, text=True, check=False,
                              env={**self.repo.environment(), "PATH": os.path.abspath("bin") + ":" + os.environ["PATH"]})

    def commit(self, name, text):
        self.repo.write(name, text)
        return self.repo.commit()

    def passes(self, *arguments):
        done = self.push(*arguments)
        holds(done.returncode == 0 and "turnstone" not in done.stderr, done)

    def refuses(self, *arguments, parts):
        refs = self.bare.git("for-each-ref")
        done = self.push(*arguments)
        holds(done.returncode != 0 and "pre-receive hook declined" in done.stderr, done)
        for part in ("push refused", *parts):
            holds(part in done.stderr, (part, done.stderr))
        equal(self.bare.git("for-each-ref"), refs, "nothing has changed")
        holds(github_token(2) not in done.stderr, "the secret is not shown")


def guarded(*options):
    """Makes a server with the hook. Its repository had a secret before the hook was installed."""
    server = Server(*options)
    server.commit("old.txt", f"{github_token(1)}\n")
    server.passes("main")
    server.guard()
    return server


@test
def a_push_that_brings_a_secret_is_refused_and_others_pass():
    server = guarded()
    server.commit("old.txt", f"one more line\n{github_token(1)}\n")
    server.passes("main")
    before = server.repo.git("rev-parse", "HEAD")
    server.commit("conf/new.txt", f"x\n{github_token(2)}\n")
    server.refuses("main", parts=["conf/new.txt:2", "1 finding"])
    server.commit("conf/new.txt", "gone again\n")
    server.refuses("main", parts=["conf/new.txt:2"])  # the secret is in the history
    server.repo.git("reset", "-q", "--hard", before)
    server.commit("conf/new.txt", "fine\n")
    server.passes("main")


@test
def branches_tags_and_deletions():
    server = guarded()
    server.repo.git("branch", "again")
    server.repo.git("tag", "-a", "-m", "release", "v1")
    server.passes("again", "v1")  # pushes only commits that the server already has
    server.repo.git("checkout", "-q", "-b", "other")
    server.commit("fine.txt", "fine\n")
    server.passes("other")
    server.commit("new.txt", f"{github_token(2)}\n")
    server.repo.git("branch", "third")
    server.refuses("third", parts=["new.txt:1"])
    server.refuses("third", ":other", parts=["new.txt:1"])
    server.repo.git("tag", "v2", "third")
    server.refuses("v2", parts=["new.txt:1"])
    server.passes(":other", ":v1")
    server.repo.git("checkout", "-q", "main")
    server.repo.git("commit", "-q", "--amend", "-m", "another message")
    server.passes("--force", "main")


@test
def a_ref_without_a_commit_is_judged():
    server = guarded()
    blob = server.repo.git("hash-object", "-w", "--stdin", stdin=f"{github_token(2)}\n")
    server.repo.git("tag", "file", blob)
    server.refuses("file", parts=["1 finding"])
    server.repo.git("tag", "-a", "-m", "of a file", "tagged", blob)
    server.refuses("tagged", parts=["1 finding"])
    tree = server.repo.git("mktree", stdin=f"100644 blob {blob}\tsecret.txt\n")
    server.repo.git("tag", "folder", tree)
    server.refuses("folder", parts=["secret.txt:1"])
    server.repo.git("tag", "-a", "-m", f"release\n\n{github_token(2)}", "release")
    server.refuses("release", parts=["1 finding"])
    server.repo.git("tag", "fine", server.repo.git("hash-object", "-w", "--stdin", stdin="fine\n"))
    server.repo.git("tag", "-a", "-m", "fine", "fine-release")
    server.passes("fine", "fine-release")


@test
def the_first_push_to_an_empty_server_is_judged():
    server = Server("--object-format=sha256")
    server.guard()
    server.commit("new.txt", f"{github_token(2)}\n")
    server.refuses("main", parts=["new.txt:1"])
    server.repo.git("update-ref", "-d", "HEAD")
    server.commit("new.txt", "fine\n")
    server.passes("main")


@test
def the_server_decides_what_is_allowed_and_a_push_does_not():
    server = guarded()
    server.commit(".turnstone.yml", "allow:\n  - paths: ['docs/**']\n")
    server.commit("docs/a.txt", f"{github_token(2)}\n")
    server.refuses("main", parts=["docs/a.txt:1"])
    server.repo.git("reset", "-q", "--hard", "HEAD~")
    server.passes("main")
    server.commit("docs/a.txt", f"{github_token(2)}\n")
    server.passes("main")


@test
def a_push_is_refused_if_the_scan_fails():
    server = guarded()
    server.commit("fine.txt", "fine\n")
    os.unlink("bin/turnstone")
    with open("bin/turnstone", "w") as file:
        file.write("#!/bin/sh\necho no rules >&2\nexit 6\n")
    os.chmod("bin/turnstone", 0o755)
    server.refuses("main", parts=["no rules", "status 6"])


main()
