"""Fleets for tests: repositories with secrets, clusters, workers, and the comparison with an undisturbed scan."""
import io
import json
import os
import signal
import subprocess
import time
import zipfile

from pg import Server
from program import PROGRAM, run
from repo import Repo, github_token, private_key
from tap import equal, holds

LEASE_MS = 1500
# Rows on other stores can be removed one lease after a sweep has seen them.
SWEPT_S = LEASE_MS / 1000 + 0.5


def zipped(name, text):
    """Returns an archive with one file. Equal arguments give equal bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), text)
    return packed.getvalue()


def repositories(folder, count=3, seed=0, is_full=False):
    """Makes repositories, and returns their paths. Each has some secrets that only it has, one secret that all share, and contents
    without secrets. With is_full, each also has a secret that a mark allows, a secret that a mark allows in one of two places, and a secret in
    an archive, which every scan reads again."""
    paths = []
    for i in range(count):
        repo = Repo(os.path.join(folder, f"repo{i}"))
        repo.write("README", f"repository {i}\n" + "\n".join(f"line {n} of {i}" for n in range(50)) + "\n")
        repo.write("shared.env", f"A=1\nTOKEN={github_token(f'{seed} shared')}\n")
        repo.commit("first")
        repo.write("src/own.py", f"x = 1\ntoken = '{github_token(f'{seed} {i}')}'\n")
        if is_full:
            half = github_token(f"{seed} half {i}")
            repo.write("marked.env", f"A={github_token(f'{seed} marked {i}')} # turnstone:allow\nB={half} # turnstone:allow\n")
            repo.write("half.env", f"B={half}\n")
            repo.write("files.zip", zipped("in.env", f"TOKEN={github_token(f'{seed} zipped {i}')}\n"))
        repo.commit("second")
        if i % 3 == 1:
            repo.write("deploy/key.pem", private_key(f"{seed} {i}"))
            repo.remove("src/own.py")
            repo.commit("third")
        if i % 3 == 2:
            repo.git("checkout", "-q", "-b", "side")
            repo.write("side.txt", f"again {github_token(f'{seed} {i}')}\n")
            repo.commit("on a side")
            repo.git("checkout", "-q", "main")
        paths.append(os.path.realpath(repo.path))
    return paths


def large(path, blobs=6000, seed=0):
    """Makes a repository with so many contents that its scan is stored in parts. Every thousandth content has a secret."""
    repo = Repo(path)
    stream = ["commit refs/heads/main\ncommitter Cy <cy@example.org> 1700000000 +0100\ndata 5\nlarge\n"]
    for i in range(blobs):
        text = f"content {i}\n" + f"{i * i} nothing here\n" * 8
        text += f"token = '{github_token(f'{seed} large {i}')}'\n" if i % 1000 == 0 else ""
        stream.append(f"M 100644 inline dir{i % 100}/file{i}\ndata {len(text)}\n{text}\n")
    repo.git("fast-import", "--quiet", stdin="".join(stream))
    return os.path.realpath(path)


def places(report):
    """Lists the occurrences of each finding, without those that a mark allows, because a scan does not list these. Findings are compared
    by their occurrences, because their ids have different keys."""
    found = (sorted((finding["rule"], place["repo"], place["object"], place["path"] or "", place["line"], place["column"])
                    for place in finding["occurrences"] if not place.get("allowed")) for finding in report["findings"])
    return sorted(one for one in found if one)


def scanned(paths, *options):
    """Returns the findings of an undisturbed scan."""
    result = run("scan", "--no-repo-config", "--format", "json", "--occurrences", "all", *options, *paths)
    holds(result.status in (0, 1), result)
    return places(json.loads(result.out))


class Fleet:
    """A cluster, and methods that run verbs of the program on it."""

    def __init__(self, urls=None):
        self.urls = urls or f"rocksdb:{os.getcwd()}/store"
        equal(run("store", "init", "--cluster", self.urls).status, 0, "store init")

    def run(self, *words, **options):
        return run(*words, "--cluster", self.urls, **options)

    def ok(self, *words, **options):
        result = self.run(*words, **options)
        equal((result.status, result.err), (0, ""), f"{words}: {result}")
        return result.out

    def submit(self, number, *targets, options=()):
        return json.loads(self.ok("run", "create", "--run", str(number), "--lease-ms", str(LEASE_MS), "--select", "all", "--json",
                                  "--targets", *targets, *options))

    def start(self, *options, env=None):
        return subprocess.Popen([PROGRAM, "worker", "--cluster", self.urls, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env={**os.environ, **(env or {})})

    def work(self, *options, env=None):
        """Runs a worker that ends when no work is left."""
        worker = self.start("--once", "--jobs", "2", *options, env=env)
        out, err = worker.communicate(timeout=120)
        return worker.returncode, out, err

    def show(self, number):
        return json.loads(self.ok("run", "show", "--run", str(number), "--json"))

    def is_clean(self):
        """Checks that nothing is left over: no promise, and no waste mark (keys that begin with 00 'f' 'w'). Rows on
        other stores can be removed only SWEPT_S after a sweep first saw them."""
        for store in json.loads(self.ok("store", "status", "--json"))["stores"]:
            equal(store["promises"], 0, store)
        equal(self.ok("store", "scan", "0x006677"), "")

    def findings(self):
        """Returns the visible findings, in the form that `scanned` returns."""
        return places(json.loads(self.ok("findings", "export", "--format", "json", "--confidence", "low")))

    def every_place(self):
        """Returns all visible occurrences, including those that marks allow, with the id of their finding."""
        report = json.loads(self.ok("findings", "export", "--format", "json", "--confidence", "low", "--state", "all"))
        return sorted((finding["id"], finding["rule"], place["repo"], place["object"], place["path"] or "", place["line"], place["column"],
                       place.get("allowed", False)) for finding in report["findings"] for place in finding["occurrences"])

    def look(self, program, number, paths):
        """Returns what fleet_look (tests/driver/crew/look.c) reports about the run."""
        done = subprocess.run([program, self.urls, str(number), *paths], check=True, stdout=subprocess.PIPE, text=True)
        seen = json.loads(done.stdout)
        seen["places"] = sorted((one["id"], one["rule"], one["repo"], one["object"], one["path"], one["line"], one["column"], one["allowed"])
                                for one in seen["places"])
        return seen


servers = []


def new_fleet(engine, number=1):
    """Makes a fleet over two stores: directories, or databases on two servers that all tests share."""
    if engine == "rocksdb":
        return Fleet(",".join(f"rocksdb:{os.getcwd()}/store{number}{name}" for name in "ab"))
    if not servers:
        servers.extend(Server(max_prepared_transactions=64, fsync=False, settings="log_min_messages = panic") for _ in range(2))
    names = [f"{os.path.basename(os.getcwd()).lower()}_{number}_{i}" for i in range(len(servers))]
    for server, name in zip(servers, names):
        server.create(name)
    return Fleet(",".join(server.url(name) for server, name in zip(servers, names)))


def events(path):
    """Returns the events in the log of a worker. A worker may still write the log, so an incomplete last line is left out."""
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def finish(fleet, number, paths):
    """Lets another worker end the run, and checks that the result is as if nothing had happened."""
    status, out, err = fleet.work()
    equal((status, err), (0, ""), out)
    shown = fleet.show(number)
    equal((shown["status"], shown["done"], shown["parked"]), ("Done", len(paths), 0), shown)
    equal(fleet.findings(), scanned(paths))


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        holds(time.monotonic() < end, "waited too long")
        time.sleep(0.02)


def is_stopped(process):
    with open(f"/proc/{process.pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


def resume(process):
    process.send_signal(signal.SIGCONT)
