"""A storm over a fleet: workers are killed and paused, servers crash, mirrors are damaged, branches are force-pushed, and one disk is
full, at moments that a seed decides. tests/system/storm_test.py says what must hold afterwards."""
import glob
import json
import os
import random
import signal
import subprocess
import threading
import time

from fleet import Fleet, events
from git_server import GitServer
from pg import Server
from program import PROGRAM, run
from repo import ENVIRONMENT, github_token, private_key
from tap import holds

LEASE_MS = 3000
PART_MS = 10  # a scan of one of the large repositories has several parts
COMMIT_BYTES = 4096  # size of a commit that adds a file
RUNS = 2  # maximum number of active runs
WORKERS = 4
# One worker is spared for this number of kills: otherwise, on a busy machine, none lives long enough to begin a scan.
SPARED_KILLS = 20
# For each of these repositories of the server, the reason for which its target must be parked.
PLANTED = {"gone": "not_found", "denied": "permission_denied", "moved": "moved"}


def git(path, *words, stdin=None):
    return subprocess.run(["git", "-C", path, *words], input=stdin, capture_output=True, text=True, check=False,
                          env={**os.environ, **ENVIRONMENT})


class Origin:
    """A bare repository that people change while it is scanned. The random source decides how they change it."""

    def __init__(self, path, seed, files=8):
        self.path, self.seed, self.version = path, seed, 0
        self.again = 0  # how often scans may have to read the whole repository again
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", path], check=True, env={**os.environ, **ENVIRONMENT})
        self.commit({f"src/f{i}.txt": self.text(i, files) for i in range(files)}, start=True)
        self.commit({"shared.env": f"A=1\nTOKEN={github_token('shared')}\n", "own.py": f"token = '{github_token(seed)}'\n"})
        self.commit({"key.pem": private_key(seed)})

    def text(self, i, files):
        lines = "".join(f"{self.seed} {i} line {n}: {n * n % 9973}\n" for n in range(30))
        return lines + (f"token = '{github_token(f'{self.seed} {i}')}'\n" if files > 100 and i % 500 == 0 else "")

    def commit(self, files, start=False):
        self.version += 1
        stream = [f"commit refs/heads/main\ncommitter Cy <cy@example.org> {1700000000 + self.version * 60} +0000\ndata 1\nx\n"]
        stream += [] if start else ["from refs/heads/main^0\n"]
        stream += [f"M 100644 inline {name}\ndata {len(text)}\n{text}\n" for name, text in files.items()]
        done = git(self.path, "fast-import", "--quiet", "--force", stdin="".join(stream))
        holds(done.returncode == 0, done.stderr)

    def change(self, source):
        """Makes one change: a commit with or without a secret, a force-push to an earlier commit, a new branch, or the deletion of a branch."""
        kind = source.choice(("secret", "secret", "plain", "force", "force", "branch"))
        if kind == "secret":
            self.commit({f"late{self.version}.env": f"TOKEN={github_token(f'{self.seed} late {self.version}')}\n"})
        elif kind == "plain":
            self.commit({f"plain{self.version % 5}.txt": f"{self.seed} {self.version}\n"})
        elif kind == "force":
            git(self.path, "update-ref", "refs/heads/main", f"refs/heads/main~{source.randint(1, 2)}")  # without that commit, git changes nothing
        elif git(self.path, "update-ref", "-d", "refs/heads/side").returncode != 0 or source.random() < 0.5:
            git(self.path, "update-ref", "refs/heads/side", "refs/heads/main")
        return kind

    def size(self):
        """Returns the size of all objects in bytes."""
        return sum(map(int, git(self.path, "cat-file", "--batch-all-objects", "--batch-check=%(objectsize)", "--unordered").stdout.split()))


class Storm:
    """The world and its events. `counts` has the number of events of each kind."""

    def __init__(self, seed, repositories=60, plant=None, servers=None):
        self.source = random.Random(seed)
        self.plant = plant
        self.counts = {"kills": 0, "pauses": 0, "restarts": 0, "damages": 0, "pushes": 0, "forced": 0, "full_disks": 0, "runs": 0}
        self.origins = [Origin(f"srv/repo{i}.git", f"{seed} {i}", 3000 if i % 20 == 0 else 8) for i in range(repositories)]
        self.git_server = GitServer("srv").__enter__()
        with open("credentials", "w") as file:
            file.write(f"[{self.git_server.host}]\nca = {self.git_server.ca}\n")
        os.chmod("credentials", 0o600)
        with open("list", "w") as file:
            file.writelines(f"{self.git_server.url}/git/repo{i}.git\n" for i in range(repositories))
            file.writelines(f"{self.git_server.url}/{how}/repo1.git\n" for how in PLANTED)
        self.by_target = self.origins_by_target()
        self.servers = servers or [Server(max_prepared_transactions=64, fsync=False, settings="log_min_messages = panic") for _ in range(2)]
        for i, server in enumerate(self.servers):
            server.create(f"storm{i}")
        self.fleet = Fleet(",".join(server.url(f"storm{i}") for i, server in enumerate(self.servers)))
        self.workers = []
        self.paused = {}  # for each paused process: the time at which to continue it
        self.spared = None
        self.started = 0
        self.triaged = {}
        self.unexpected = []
        os.makedirs("logs")

    def origins_by_target(self):
        lines = run("targets", "--json", "--select", "all", "list").out.splitlines()
        found = {one["target"]: one["url"].rpartition("/git/repo")[2].removesuffix(".git") for one in map(json.loads, lines)}
        return {target: self.origins[int(number)] for target, number in found.items() if number.isdigit()}

    def close(self):
        for worker in self.workers:
            worker.kill()
            worker.wait()
        self.git_server.__exit__()
        for server in self.servers:
            server.stop()

    # ---- workers ----

    def options(self, mirrors="mirrors"):
        self.started += 1
        return ("--mirrors", os.path.abspath(mirrors), "--credentials", os.path.abspath("credentials"), "--part-ms", str(PART_MS),
                "--log", os.path.abspath(f"logs/{self.started}"), "--name", f"w{self.started}", "--no-progress")

    def start_worker(self, before=(), mirrors="mirrors"):
        env = {**os.environ, **({"TURNSTONE_FLEET_PLANT": self.plant} if self.plant else {})}
        with open(f"logs/{self.started + 1}.err", "w") as err:
            return subprocess.Popen([*before, PROGRAM, "worker", "--cluster", self.fleet.urls, "--jobs", "1", *self.options(mirrors)],
                                    stdout=subprocess.DEVNULL, stderr=err, env=env)

    def crew(self):
        """Replaces workers that have ended, and continues paused workers when their pause has passed."""
        for worker in [one for one in self.workers if one.poll() is not None]:
            self.workers.remove(worker)
            self.paused.pop(worker, None)
            # A worker may end by itself only if a store could not be opened.
            if worker.returncode not in (-signal.SIGKILL, 6, 3, 5):
                self.unexpected.append(worker.returncode)
        for worker, end in list(self.paused.items()):
            if time.monotonic() >= end:
                worker.send_signal(signal.SIGCONT)
                del self.paused[worker]
        while len(self.workers) < WORKERS:
            self.workers.append(self.start_worker())

    def kill(self):
        running = [one for one in self.workers if one not in self.paused and one.poll() is None]
        if self.counts["kills"] % SPARED_KILLS == 0 or self.spared not in self.workers:
            self.spared = self.source.choice(self.workers)
        mortal = [one for one in running if one != self.spared]
        if mortal:
            self.source.choice(mortal).kill()
            self.counts["kills"] += 1

    def pause(self):
        running = [one for one in self.workers if one not in self.paused]
        if len(running) > 2:
            worker = self.source.choice(running)
            worker.send_signal(signal.SIGSTOP)
            self.paused[worker] = time.monotonic() + self.source.uniform(2, 3) * LEASE_MS / 1000
            self.counts["pauses"] += 1

    # ---- events ----

    def restart(self):
        server = self.source.choice(self.servers)
        server.kill()
        server.start()
        self.counts["restarts"] += 1

    def fail_over(self):
        self.servers[0].fail_over()
        self.counts["failovers"] = 1

    def damage(self):
        """Damages a mirror: truncates or removes a pack, its index or the list of refs, or writes wrong bytes into it."""
        names = sorted(glob.glob("mirrors/*/*.git/objects/pack/*") + glob.glob("mirrors/*/*.git/packed-refs"))
        if not names:
            return
        name, how = self.source.choice(names), self.source.choice(("cut", "lost", "zeros"))
        try:
            size = os.path.getsize(name)
            os.chmod(name, 0o600)
            if how == "lost":
                os.unlink(name)
            elif how == "zeros":
                with open(name, "r+b") as file:
                    file.seek(self.source.randrange(size))
                    file.write(bytes(64))
            else:
                # The file is replaced and not truncated in place, because no disk error removes pages of a file that a process has mapped.
                with open(name, "rb") as file, open(name + ".cut", "wb") as other:
                    other.write(file.read(size // 2))
                os.rename(name + ".cut", name)
        except OSError:
            return  # a worker has just removed the file
        self.counts["damages"] += 1
        self.by_target[os.path.relpath(name, "mirrors").split("/")[1].split(".")[0]].again += RUNS

    def push(self):
        origin = self.source.choice(self.origins)
        kind = origin.change(self.source)
        self.counts["forced"] += kind == "force"
        self.counts["pushes"] += 1
        origin.again += RUNS if kind in ("force", "branch") else 0  # old tips may no longer exist

    def fill_disk(self):
        """Starts a worker with a tiny disk for its mirrors. The worker must end by itself, or be killed, without parking a target."""
        os.makedirs("full", exist_ok=True)
        mount = f"mount -t tmpfs -o size=64k tmpfs '{os.path.abspath('full')}' && exec \"$@\""
        options = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        if subprocess.run([*options, "sh", "-c", mount, "sh", "true"], capture_output=True, check=False).returncode != 0:
            return
        self.counts["full_disks"] += 1
        self.full_log = f"logs/{self.started + 1}"
        self.full = self.start_worker([*options, "sh", "-c", mount, "sh"], mirrors="full")

    def submit(self):
        """Submits a run, if fewer than RUNS are active. The command may fail while a server is down; the next call continues it."""
        active = [one for one in self.listed() if one["status"] in ("Active", "Initializing")]
        if len(active) >= RUNS and all(one["status"] == "Active" for one in active):
            return
        number = next((one["run"] for one in active if one["status"] == "Initializing"), self.counts["runs"] + 1)
        done = self.fleet.run("run", "create", "--run", str(number), "--lease-ms", str(LEASE_MS), "--attempts", "1000", "--cooldown-ms", "0",
                              "--select", "all", "--targets", "list")
        if done.status == 0:
            self.counts["runs"] = max(self.counts["runs"], number)

    def listed(self):
        done = self.fleet.run("run", "list", "--json")
        return [json.loads(line) for line in done.out.splitlines()] if done.status == 0 else [{"status": "Active", "run": 0}] * 2

    def triage(self):
        done = self.fleet.run("findings", "list", "--confidence", "low", "--state", "all", "--json", "--limit", "50")
        ids = sorted(one["id"] for one in map(json.loads, done.out.splitlines()) if "id" in one) if done.status == 0 else []
        if not ids:
            return
        chosen, state = self.source.choice(ids), self.source.choice(("revoked", "accepted", "false-positive"))
        if self.fleet.run("findings", "triage", chosen, "--state", state, "--reason", "storm", "--by", "ada").status == 0:
            self.triaged[chosen] = state
        else:
            self.triaged[chosen] = None  # None: the decision may have been stored

    # ---- time ----

    def blow(self, seconds):
        """Runs all kinds of events, each with its own mean interval. Slow commands run in parallel."""
        beside = []

        def apart(what):
            def go():
                if not any(thread.name == what.__name__ and thread.is_alive() for thread in beside):
                    thread = threading.Thread(target=what, name=what.__name__)
                    thread.start()
                    beside.append(thread)
            return go

        turns = {self.kill: 0.8, self.pause: 5, self.restart: 12, self.damage: 2.5, apart(self.push): 0.9, apart(self.submit): 3, apart(self.triage): 7}
        begun = time.monotonic()
        due = {what: begun + mean * (1 if what == self.kill else self.source.uniform(0.2, 1)) for what, mean in turns.items()}
        due[self.fill_disk] = begun + seconds / 3
        if hasattr(self.servers[0], "fail_over"):
            due[self.fail_over] = begun + seconds / 2
        self.submit()
        # On a busy machine, possibly no mirror was damaged yet, no part was stored, or the full disk was not used. Then the storm takes longer.
        while time.monotonic() < begun + seconds or (self.is_unfinished() and time.monotonic() < begun + 5 * seconds):
            self.crew()
            now = time.monotonic()
            for what in [one for one, moment in due.items() if moment <= now]:
                what()
                # Workers are killed at the usual rate even on a busy machine: at least one per second.
                due[what] = (due[what] + 0.8 if what == self.kill else now + turns[what] * self.source.uniform(0.5, 1.5)) \
                    if what in turns else float("inf")
            time.sleep(0.02)
        for thread in beside:
            thread.join()
        for server in self.servers:
            server.wait()

    def is_unfinished(self):
        return not self.counts["damages"] or not self.has_part() or (self.counts["full_disks"] > 0 and "disk_full" not in self.full_disk_reasons())

    def has_part(self):
        return any(one["event"] == "part" for name in glob.glob("logs/*") if not name.endswith(".err") for one in events(name))

    def calm(self):
        """Kills everything that runs, and waits until the servers answer."""
        for worker in [*self.workers, *([self.full] if hasattr(self, "full") else [])]:
            worker.kill()
            worker.wait()
        self.workers = []

    def leases(self):
        """Returns the last event of each lease, with the most bytes that the lease has reported as read. A killed worker does not report
        the bytes since its last part."""
        found = {}
        for name in ["quiet.log", *glob.glob("logs/*")]:
            for one in [] if name.endswith(".err") else events(name):
                if "fence" in one:
                    key = (one["run"], one["target"], one["fence"])
                    read = max(found.get(key, one).get("bytes_read", 0), one.get("bytes_read", 0))
                    parts = found.get(key, {}).get("parts", 0) + (one["event"] == "part")
                    found[key] = {**one, "bytes_read": read, "parts": parts}
        return list(found.values())

    def full_disk_reasons(self):
        return {one.get("reason") for one in events(self.full_log) if one["event"] in ("released", "parked")} if self.counts["full_disks"] else set()

