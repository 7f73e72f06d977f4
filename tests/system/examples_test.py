#!/usr/bin/env python3
"""examples_test.py PROGRAM BUILD-FOLDER: each program of examples/ builds against the installed library and does what
it promises.

Each program is built in four forms: as C and as C++, with the shared and with the static library.
"""
import os
import re
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
from pg import Server  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

BUILD = os.path.abspath(sys.argv[2])
EXAMPLES = os.path.join(ROOT, "examples")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
LANGUAGES = {"C": ["cc", "-std=gnu17"], "C++": ["clang++", "-std=gnu++17", "-x", "c++"]}

work = tempfile.TemporaryDirectory()
PREFIX = os.path.join(work.name, "usr")
subprocess.run(["cmake", "--install", BUILD, "--prefix", "/usr"], check=True, stdout=subprocess.DEVNULL,
               env={**os.environ, "DESTDIR": work.name})


def flags(*options):
    where = {**os.environ, "PKG_CONFIG_PATH": os.path.join(PREFIX, "lib", "pkgconfig")}
    return subprocess.run(["pkg-config", *options, "turnstone"], check=True, capture_output=True, text=True,
                          env=where).stdout.split()


def libraries():
    yield "shared", flags("--libs")
    yield "static", [flag.replace("-lturnstone", "-l:libturnstone.a") for flag in flags("--libs", "--static")]


def forms_of(name):
    """Builds an example in every form. Yields the name of the form, and a function that runs this form and
    returns (status, stdout, stderr)."""
    for language, compiler in LANGUAGES.items():
        for library, libs in libraries():
            program = os.path.abspath(f"{name}-{language}-{library}")
            done = subprocess.run([*compiler, *WARNINGS, os.path.join(EXAMPLES, f"{name}.c"), *flags("--cflags"), "-x", "none",
                                   *libs, "-o", program], capture_output=True, text=True)
            equal((done.returncode, done.stderr), (0, ""), f"{name} as {language}, {library}")
            yield f"{language}-{library}", runner(program)


class Running:
    """An example that runs in the background, with the lines that it has printed so far."""

    def __init__(self, run, *arguments):
        command, environment = command_of(run.program)
        self.lines = []
        self.process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=environment)
        self.met = threading.Condition()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.met:
                self.lines.append(line)
                self.met.notify()

    def wait_for(self, count):
        with self.met:
            holds(self.met.wait_for(lambda: len(self.lines) >= count, timeout=60), f"{count} lines of {self.lines}")

    def kill(self):
        self.process.kill()
        self.reader.join()
        self.process.communicate()

    def end(self):
        error = self.process.stderr.read()
        self.reader.join()
        equal((self.process.wait(), error), (0, ""), "".join(self.lines))


def command_of(program):
    return [program], {**os.environ, "LD_LIBRARY_PATH": os.path.join(PREFIX, "lib")}


def runner(program):
    def run(*arguments, stdin=""):
        command, environment = command_of(program)
        done = subprocess.run([*command, *arguments], input=stdin, capture_output=True, text=True, env=environment)
        return done.returncode, done.stdout, done.stderr
    run.program = program
    return run


@test
def every_example_has_a_test_and_a_line():
    names = sorted(name[:-2] for name in os.listdir(EXAMPLES) if name.endswith(".c"))
    with open(os.path.join(EXAMPLES, "README.md")) as file:
        text = file.read()
    for name in names:
        holds(f"[{name}.c]({name}.c)" in text, f"examples/README.md does not name {name}.c")
        holds(name in globals(), f"no test of {name}")


@test
def route():
    for form, run in forms_of("route"):
        equal(run("42", "7"), (0, "42 is in store 3\n7 is in store 5\n", ""), form)


@test
def transfer():
    for form, run in forms_of("transfer"):
        folders = (f"{form}-left", f"{form}-right")
        for _ in range(2):  # the first run makes the cluster, the second run opens it
            equal(run(*folders), (0, "deposit: committed on 1 store\ntransfer: committed on 2 stores\n", ""), form)
        equal(run(), (2, "", "usage: transfer LEFT RIGHT\n"), form)


@test
def scan_buffer():
    token = github_token()
    for form, run in forms_of("scan_buffer"):
        equal(run(stdin="hello\nnothing\n"), (0, "", ""), form)
        equal(run(stdin=f"hello\ntoken = '{token}'\n{token}\n"),
              (1, f"critical: github-pat ghp_…{token[-4:]} at column 10\n"
                  f"critical: github-pat ghp_…{token[-4:]} at column 1\n", ""), form)


@test
def scan_repository():
    token = github_token()
    repo = Repo("shop")
    repo.write("a.txt", f"\n{token}\n")
    commit = repo.commit()
    repo.write("b.txt", f"{token}\n")
    repo.remove("a.txt")
    other = repo.commit()
    repo.git("tag", "v1")
    repo.git("remote", "add", "origin", "https://github.com/acme/shop.git")
    new = github_token(2)
    repo.write("c.txt", f"{new}\n")
    repo.commit()
    time = int(repo.git("log", "-1", "--format=%ct"))
    for form, run in forms_of("scan_repository"):
        status, out, err = run("shop")
        equal((status, err), (1, ""), form)
        holds(f"github-pat ghp_…{token[-4:]}, high confidence, occurrences: 2\n    {commit[:10]} a.txt:2 (file)\n"
              f"    {other[:10]} b.txt:1 (file)\n"
              f"    still in HEAD: b.txt:1 https://github.com/acme/shop/blob/{repo.git('rev-parse', 'HEAD')}/b.txt#L1\n"
              "    reachable from refs/heads/main and 1 more\n" in out, out)
        equal((out.count("github-pat"), f"…{new[-4:]}" in out), (2, True), out)
        status, out, err = run("shop", str(time))
        equal((status, err, out.count("github-pat"), f"…{new[-4:]}" in out), (1, "", 1, True), out)
        equal(run("shop", str(time + 1)), (0, "", ""), form)
        status, out, err = run("nowhere")
        equal((status, out), (2, ""), form)
        holds(err.startswith("scan_repository: 'nowhere': "), err)


def did(lines):
    """Parses lines "NAME did NUMBER under fence FENCE". Returns [(number, fence)]."""
    return [tuple(map(int, re.fullmatch(r"\w+ did (\d\d) under fence (\d+)\n", line).groups())) for line in lines]


def share_a_job(run, url):
    """Runs three workers, and kills the first in the middle of a shard. Returns what the killed worker did,
    and what the other two did, as did() returns it."""
    equal(run(url, "create"), (0, "", ""))
    equal(run(url, "create"), (0, "", ""))
    workers = [Running(run, url, "work", f"worker{i}", "20") for i in range(3)]
    workers[0].wait_for(5)
    workers[0].kill()
    for worker in workers[1:]:
        worker.end()
    return did(workers[0].lines), [one for worker in workers[1:] for one in did(worker.lines)]


@test
def leased_job():
    with Server(max_prepared_transactions=20) as server:
        for form, run in forms_of("leased_job"):
            server.create(re.sub(r"\W", "x", form).lower())
            killed, others = share_a_job(run, server.url(re.sub(r"\W", "x", form).lower()))
            everything = killed + others
            equal({number for number, _ in everything}, set(range(100)), form)
            # Only the number that was in progress at the kill may have been processed twice.
            holds(len(everything) - 100 <= 1, (form, everything))
            taken = [number for number, fence in others if fence == 2]
            holds(taken and min(taken) // 10 == killed[-1][0] // 10, f"{form}: nobody took over the shard: {everything}")
        equal(run("x"), (2, "", "usage: leased_job CLUSTER create | leased_job CLUSTER work NAME MS\n"))


@test
def a_leased_job_that_is_slower_than_its_lease_keeps_it():
    with Server(max_prepared_transactions=20) as server:
        server.create("slow")
        _, run = next(iter(forms_of("leased_job")))
        equal(run(server.url("slow"), "create"), (0, "", ""))
        slow = Running(run, server.url("slow"), "work", "slow", "6000")  # a lease lasts 4 s
        slow.wait_for(2)
        other = Running(run, server.url("slow"), "work", "quick", "0")
        other.wait_for(90)
        slow.kill()
        other.end()
        equal([fence for _, fence in did(slow.lines)], [1] * len(slow.lines))
        equal({number for number, fence in did(other.lines) if fence == 1},
              set(range(100)) - set(range(did(slow.lines)[0][0], did(slow.lines)[0][0] + 10)))


main()
