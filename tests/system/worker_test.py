#!/usr/bin/env python3
"""turnstone worker: targets are submitted and scanned, and their findings are stored, even if workers
fail."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from fleet import Fleet, events, finish, is_stopped, repositories, resume, scanned, wait_until  # noqa: E402
from https import CA, Answering, Server, without_proxy  # noqa: E402
from program import PROGRAM, complains  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

@test
def a_run_over_repositories_finds_what_a_scan_finds():
    paths = repositories("repos", 6, is_full=True)
    fleet = Fleet()
    made = fleet.submit(1, "repos")
    equal(made["targets"], 6)
    finish(fleet, 1, paths)


@test
def a_second_run_with_nothing_new_reads_no_object():
    paths = repositories("repos", 4)
    fleet = Fleet()
    fleet.submit(1, "repos")
    finish(fleet, 1, paths)
    fleet.submit(2, "repos")
    status, _, err = fleet.work("--log", "log")
    equal((status, err), (0, ""))
    kinds = [one["event"] for one in events("log")]
    equal((kinds.count("nothing_new"), kinds.count("done"), kinds.count("run_completed")), (4, 0, 1), kinds)
    equal(fleet.findings(), scanned(paths))


@test
def new_commits_and_force_pushes_show_in_the_next_run():
    paths = repositories("repos", 3, is_full=True)
    fleet = Fleet()
    fleet.submit(1, "repos")
    finish(fleet, 1, paths)
    before = fleet.findings()
    repo = Repo.at(paths[0])
    repo.write("late.env", f"TOKEN={github_token('late')}\n")
    repo.commit("late")
    other = Repo.at(paths[1])
    other.git("reset", "-q", "--hard", "HEAD~2")
    other.git("reflog", "expire", "--expire=now", "--all")
    other.git("gc", "-q", "--prune=now")
    fleet.submit(2, "repos")
    finish(fleet, 2, paths)
    holds(fleet.findings() != before, "nothing changed")


@test
def sigterm_hands_everything_back_at_once():
    repo = Repo("large")
    for i in range(60):
        repo.write("data.txt", "\n".join(f"{i} {n} {n * n}" for n in range(20000)))
        repo.commit(str(i))
    fleet = Fleet()
    fleet.submit(1, "large", options=("--attempts", "1"))
    worker = fleet.start("--jobs", "1", "--log", "log", env={"TURNSTONE_FAILPOINT": "unit-synced=stop"})
    wait_until(lambda: is_stopped(worker))
    worker.send_signal(signal.SIGTERM)
    resume(worker)
    equal(worker.wait(timeout=30), 0)
    equal([one["event"] for one in events("log")][-1], "released")
    shown = fleet.show(1)
    equal((shown["active"], shown["leased"]), (1, 0), shown)
    # The released attempt does not count: the run allows one attempt, and the next worker may still make it.
    finish(fleet, 1, [os.path.realpath("large")])


@test
def a_repository_that_is_gone_is_parked_with_its_reason():
    paths = repositories("repos", 2)
    fleet = Fleet()
    fleet.submit(1, "repos")
    os.rename(paths[1], paths[1] + ".away")
    status, out, err = fleet.work("--log", "log", "--metrics", "metrics")
    equal((status, err.count("\n")), (0, 1), out)
    holds("is parked: the repository does not exist" in err, err)
    shown = fleet.show(1)
    equal((shown["status"], shown["done"], shown["parked"]), ("Done", 1, 1), shown)
    parked = [(one["reason"], one["phase"]) for one in events("log") if one["event"] == "parked"]
    equal(parked, [("not_found", "mirror_sync")])
    metrics = pathlib.Path("metrics").read_text().splitlines()
    for line in ('events{event="done"} 1', 'events{event="parked"} 1', 'events{event="lost"} 0', "target_ms_count 2",
                 'reasons{event="parked",phase="mirror_sync",reason="not_found"} 1', f"findings {len(scanned(paths[:1]))}"):
        holds(f"turnstone_worker_{line}" in metrics, f"{line}: {metrics}")
    equal(fleet.findings(), scanned(paths[:1]))


@test
def a_repository_without_its_default_branch_is_parked_and_not_taken_for_an_empty_one():
    """For example, git init names master, and people push main."""
    paths = repositories("repos", 2)
    Repo.at(paths[0]).git("symbolic-ref", "HEAD", "refs/heads/master")
    Repo("repos/empty")
    fleet = Fleet()
    for number, selection in enumerate(("default", "all"), 1):
        fleet.ok("run", "create", "--run", str(number), "--select", selection, "--targets", "repos")
        equal(fleet.work()[0], 0)
    shown = fleet.show(1)
    equal([(one["address"], one["cause"]) for one in shown["parked_items"]], [(paths[0], "selection_not_found")], shown)
    equal((shown["done"], fleet.show(2)["done"]), (2, 3))


@test
def a_target_that_cannot_be_read_completely_is_reported():
    repo = Repo("damaged")
    repo.write("kept.env", f"TOKEN={github_token('kept')}\n")
    repo.write("lost.txt", "lost\n")
    repo.commit()
    lost = repo.git("rev-parse", "HEAD:lost.txt")
    os.remove(f"{repo.path}/.git/objects/{lost[:2]}/{lost[2:]}")
    fleet = Fleet()
    fleet.submit(1, "damaged")
    status, out, err = fleet.work("--log", "log", "--metrics", "metrics")
    equal((status, out.splitlines()[0]), (0, "1 done, 0 parked, 0 released, 0 lost"))
    done = next(one for one in events("log") if one["event"] == "done")
    equal((done["faults"], done["findings"]), (1, 1), done)
    holds(err.count("\n") == 1 and f"target {done['target']} is done, but something in it could not be read" in err, err)
    holds("turnstone_worker_faults 1\n" in pathlib.Path("metrics").read_text(), "the metrics")
    holds(lost in fleet.ok("findings", "export", "--target", done["target"]), "the command of the message shows the object")


def planted_targets():
    """Makes a list of targets. All their names contain "planted". The first can be scanned, the second is
    damaged, the third can be removed. The fourth lacks the ref of its selection, and the fifth has a
    forbidden protocol. Returns ids of objects."""
    repo = Repo("planted-path")
    repo.write("planted-file.env", f"TOKEN={github_token('planted')}\n")
    ids = [repo.commit("planted message")]
    repo.git("tag", "planted-tag")
    repo.git("branch", "planted-branch")
    damaged = Repo("planted-damaged")
    damaged.write("planted-file", "planted content\n")
    ids += [damaged.commit("planted message"), damaged.git("rev-parse", "HEAD:planted-file")]
    blob = damaged.path + "/.git/objects/" + ids[-1][:2] + "/" + ids[-1][2:]
    os.chmod(blob, 0o600)
    with open(blob, "wb") as file:
        file.write(b"planted damage")
    gone = Repo("planted-gone")
    gone.write("planted-file", "planted content\n")
    gone.commit("planted message")
    with open("planted-list", "w") as file:
        for line in ("planted-path", "planted-damaged", "planted-gone", "planted-path\trefs:planted-ref", "git://planted-host/planted-url"):
            file.write(line + "\n")
    return ids


@test
def invariant_7_logs_metrics_traces_and_errors_hold_no_names_and_no_secrets():
    ids = planted_targets()
    fleet = Fleet()
    texts = {"submission": fleet.ok("run", "create", "--run", "1", "--lease-ms", "1500", "--select", "all", "--targets", "planted-list")}
    os.rename("planted-gone", "away")
    paused = fleet.start("--jobs", "1", "--log", "log1", "--metrics", "metrics1", "--waterfall", env={"TURNSTONE_FAILPOINT": "unit-synced=stop"})
    wait_until(lambda: is_stopped(paused))
    time.sleep(1.8)
    resume(paused)
    wait_until(lambda: any(one["event"] == "lost" for one in events("log1")))
    paused.send_signal(signal.SIGTERM)
    out, err = paused.communicate(timeout=120)
    status, *more = fleet.work("--log", "log2", "--metrics", "metrics2", "--waterfall")
    equal(status, 0, more)
    texts.update({"stdout": out + more[0], "stderr": err + more[1]})
    for name in ("log", "metrics"):  # the first worker may have ended all targets before it stopped
        texts[name] = "".join(pathlib.Path(name + number).read_text() for number in "12")
    reasons = sorted(one.get("reason", "").removesuffix("_ended").removesuffix("_expired") for name in ("log1", "log2") for one in events(name) if one["event"] in ("parked", "lost", "done"))
    equal(reasons, ["", "", "lease", "not_found", "selection_not_found", "unsupported_protocol"])
    for word in ("git://u:planted-password@planted-host/a", "https://planted-token@planted-host/a"):
        refused = fleet.run("run", "create", "--run", "2", "--targets", "-", stdin=word + "\n")
        equal((refused.status, refused.out), (2, ""), refused)
        texts[f"refusal of {word}"] = refused.err
    for word in ("unsupported_protocol", "selection_not_found", "lease_e"):
        holds(f'reason="{word}' in texts["metrics"], f"{word}: {texts['metrics']}")
    forbidden = "|".join(["planted", github_token("planted"), re.escape(os.getcwd()), *(one[:10] for one in ids)])
    for name, text in texts.items():
        holds(len(text) > 10, f"{name} is empty")
        equal(re.findall(forbidden, text), [], f"{name}: {text}")


class Unfriendly(Answering):
    """A forge that refuses the token, a receiver that fails, and a git server without repositories. All
    answers contain the word "planted"."""

    def do_GET(self):
        self.server.asked.append(self.path)
        return self.say(401 if self.path.startswith("/api/") else 404, b'{"message":"planted answer"}', [("X-Planted", "planted")])

    def do_POST(self):
        self.server.asked.append(self.path)
        self.rfile.read(int(self.headers["Content-Length"]))
        return self.say(500, b"planted answer", [("X-Planted", "planted")])


def private(name, text):
    with open(name, "w") as file:
        file.write(text)
    os.chmod(name, 0o600)


@test
def invariant_7_a_failing_forge_receiver_and_git_server_are_not_named():
    repo = Repo("planted-path")
    repo.write("planted-file.env", f"TOKEN={github_token('planted')}\n")
    ids = [repo.commit("planted message")]
    fleet = Fleet()
    with Server(Unfriendly) as server:
        host = f"127.0.0.1:{server.server_port}"
        private("planted-credentials", f"[{host}]\nca = {CA}\nuser = planted-user\npassword = planted-password\n")
        private("planted-tokens", f"{host} planted-token\n")
        private("planted-secret", "planted secret of a webhook\n")
        private("planted-notify", f"[hook]\nwebhook = https://{host}/planted-hook\nsecret-file = planted-secret\nca = {CA}\n"
                                  "[ticket]\ncommand = cat > /dev/null; exit 3 # planted-command\n")
        texts = {"submission": fleet.ok("run", "create", "--run", "1", "--select", "all", "--targets", "-", stdin=f"{repo.path}\nhttps://{host}/planted/mirror.git\n"),
                 "schedule": fleet.ok("schedule", "add", "planted-schedule", "--every", "1h", "--targets", f"gitea://{host}/planted-owner").replace("planted-schedule", "")}
        status, out, err = fleet.work("--log", "log", "--metrics", "metrics", "--waterfall", "--mirrors", "planted-mirrors", "--credentials", "planted-credentials",
                                      "--tokens", "planted-tokens", "--ca", CA, "--notify", "planted-notify", env=without_proxy())
        equal(status, 0, err)
        asked = " ".join(server.asked)
        holds("/planted-hook" in asked and "/planted/mirror" in asked and "/planted-owner" in asked, asked)
    texts.update({"stdout": out, "stderr": err, "log": pathlib.Path("log").read_text(), "metrics": pathlib.Path("metrics").read_text()})
    kinds = {one["event"] for one in events("log")}
    holds({"done", "parked", "schedule_failed", "notify_failed"} <= kinds, kinds)
    forbidden = "|".join(["planted", github_token("planted"), re.escape(host), re.escape(os.getcwd()), *(one[:10] for one in ids)])
    for name, text in texts.items():
        holds(len(text) > 10, f"{name} is empty")
        equal(re.findall(forbidden, text), [], f"{name}: {text}")


@test
def invariant_8_a_request_that_is_submitted_again_makes_no_second_run():
    paths = repositories("repos", 3)
    os.symlink("repos", "again")
    pathlib.Path("list").write_text("again/repo2\nrepos/repo0\nagain/repo1/.git\nrepos/repo2/\n")
    fleet = Fleet()
    create = ("run", "create", "--request", "nightly", "--select", "all", "--json", "--targets")
    first = json.loads(fleet.ok(*create, "repos"))
    others = [subprocess.Popen([PROGRAM, *create, "list", "--cluster", fleet.urls, "--wait", "60"], stdout=subprocess.PIPE, text=True)
              for _ in range(3)]
    for other in others:
        again = json.loads(other.communicate(timeout=120)[0])
        equal((other.returncode, again["run"], again["targets"]), (0, first["run"], 3), again)
    finish(fleet, first["run"], paths)
    shown = fleet.show(first["run"])
    again = json.loads(fleet.ok(*create, "repos"))
    equal((again["run"], fleet.show(first["run"])), (first["run"], shown), "the run that has ended")
    equal(len(fleet.ok("run", "list", "--json").splitlines()), 1, "runs")
    equal(fleet.work()[1], "0 done, 0 parked, 0 released, 0 lost\n")


@test
def a_run_that_is_pinned_to_other_rules_is_left_alone_and_said():
    repositories("repos", 1)
    fleet = Fleet()
    fleet.ok("run", "create", "--run", "1", "--pin", "ab" * 32, "--shards", "-", stdin='{"start":"a","end":"b"}\n')
    status, out, err = fleet.work("--run", "1")
    equal((status, out), (0, "0 done, 0 parked, 0 released, 0 lost\n"))
    holds(err.count("\n") == 1 and "1 run is not scanned: pinned to the rules of another version" in err, err)
    equal(fleet.show(1)["active"], 1)


@test
def a_run_without_targets_is_left_to_its_own_workers():
    paths = repositories("repos", 2)
    fleet = Fleet()
    fleet.ok("run", "create", "--run", "7", "--shards", "-", stdin='{"start":"a","end":"b"}\n')
    fleet.submit(8, "repos")
    finish(fleet, 8, paths)
    complains(3, "the run has no targets", "worker", "--cluster", fleet.urls, "--run", "7", "--once")
    shown = fleet.show(7)
    equal((shown["active"], shown["parked"], shown["leased"]), (1, 0, 0), shown)


@test
def a_secret_that_a_mark_allows_is_stored_as_allowed():
    repo = Repo("marked")
    repo.write("plain.env", f"TOKEN={github_token('plain')}\n")
    repo.write("marked.env", f"TOKEN={github_token('marked')}  # turnstone:allow\n")
    repo.commit()
    fleet = Fleet()
    fleet.submit(1, "marked")
    equal(fleet.work()[0], 0)
    listed = [json.loads(line) for line in fleet.ok("findings", "list", "--confidence", "low", "--state", "all", "--json").splitlines()]
    states = {one["state"]: one for one in listed if "state" in one}
    equal(sorted(states), ["allowed", "open"], listed)


@test
def bad_options_get_one_line():
    complains(2, "--jobs must be from 1 to 64", "worker", "--cluster", "rocksdb:x", "--jobs", "0")
    complains(2, "--name must have 1 to 28 bytes", "worker", "--cluster", "rocksdb:x", "--name", "n" * 29)
    fleet = Fleet()
    complains(3, "run not found", "worker", "--cluster", fleet.urls, "--run", "7", "--once")


if __name__ == "__main__":
    main()
