#!/usr/bin/env python3
"""notify_test.py PROGRAM rocksdb|postgres: webhooks and commands receive new findings, at least once."""
import base64
import hashlib
import hmac
import json
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from fleet import events, new_fleet, wait_until  # noqa: E402
from https import CA, Answering, Server, without_proxy  # noqa: E402
from program import complains  # noqa: E402
from repo import Repo, github_token, private_key  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

ENGINE = sys.argv[2]
SECRET = b"a secret of the test"


class Receiver(Answering):
    """Each request takes the next answer from server.answers. When the list is empty, requests succeed."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((dict(self.headers), body))
        step = self.server.answers.pop(0) if self.server.answers else 200
        if step == "drop":
            return self.drop()
        if step == "hang":
            self.server.let_go.wait(60)
            return self.drop()
        if step == 429:
            return self.say(429, headers=[("Retry-After", "2")])
        if step == 302:
            return self.say(302, headers=[("Location", "/elsewhere")])
        self.say(step)


def receiver(*answers):
    server = Server(Receiver)
    server.answers, server.let_go = list(answers), threading.Event()
    return server


def check(request, key=SECRET):
    """Checks that the request is signed as Standard Webhooks demands. Returns its message."""
    headers, body = request
    headers = {name.lower(): value for name, value in headers.items()}
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    good = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    equal(headers["webhook-signature"], f"v1,{good}")
    holds(abs(int(headers["webhook-timestamp"]) - time.time()) < 600, headers)
    equal(headers["content-type"], "application/json")
    message = json.loads(body)
    equal(message["id"], headers["webhook-id"])
    return message


def private(name, text, mode=0o600):
    with open(name, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(name, mode)
    return name


def listed(server, extra="", name="hook"):
    private("secret", SECRET + b"\nsecond line\n")
    return private("notify", f"[{name}]\nwebhook = https://127.0.0.1:{server.server_port}/x\nsecret-file = secret\nca = {CA}\n{extra}")


def repository(name="repo", seeds=(1, 2), key=True):
    repo = Repo(f"repos/{name}")
    repo.write("secrets.env", "".join(f"TOKEN{seed}={github_token(seed)}\n" for seed in seeds))
    if key:
        repo.write("key.pem", private_key("notify"))
    repo.commit("secrets")
    return repo


def waiting(fleet):
    """Returns the number of notices that wait to be sent. Their keys begin with the bytes 00 'f' 'q'."""
    return len(fleet.ok("store", "scan", "0x006671").splitlines())


def is_told(log):
    return any(one["event"] == "notified" for one in events(log))


def work(fleet, *options):
    return fleet.work("--notify", "notify", *options, env=without_proxy())


@test
def a_webhook_is_told_of_new_findings_once_with_a_signature_and_without_secrets():
    fleet = new_fleet(ENGINE)
    repo = repository()
    with receiver() as server:
        listed(server)
        fleet.submit(1, "repos")
        status, _, err = work(fleet, "--log", "log")
        equal((status, err, len(server.asked)), (0, "", 1))
        message = check(server.asked[0])
        equal((message["type"], message["version"], message["run"], message["tenant"]), ("findings.new", 1, 1, "default"))
        equal((message["target"]["address"], message["target"]["selection"]), (os.path.realpath("repos/repo"), "all"))
        counts = message["counts"]
        equal((counts["new"], counts["listed"], counts["came"], counts["went"]), (3, 3, 3, 0))
        ids = {one["id"] for one in json.loads(fleet.ok("findings", "export", "--format", "json"))["findings"]}
        equal({one["id"] for one in message["findings"]}, ids)
        holds(all(one["rule"] and one["severity"] and one["occurrences"] == 1 for one in message["findings"]), message)
        body = server.asked[0][1].decode()
        for secret in (github_token(1), github_token(2), "PRIVATE KEY", "secrets.env", "ghp_"):
            holds(secret not in body, body)
        logged = [one for one in events("log") if one["event"] == "notified"]
        equal([(one["run"], one["target"], one["count"]) for one in logged], [(1, message["target"]["id"], 3)])
        holds("repos" not in open("log").read() and "127.0.0.1" not in open("log").read(), "digests only")
        # Run 2 finds nothing new. Run 3 finds one new secret.
        fleet.submit(2, "repos")
        equal(work(fleet)[0], 0)
        equal(len(server.asked), 1)
        repo.write("more.env", f"TOKEN={github_token(3)}\n")
        repo.commit("more")
        fleet.submit(3, "repos")
        equal(work(fleet)[0], 0)
        equal(len(server.asked), 2)
        again = check(server.asked[1])
        equal((again["counts"]["new"], again["counts"]["came"], again["run"]), (1, 1, 3))
        holds(again["id"] != message["id"], "another notice has another id")
    equal(waiting(fleet), 0)


@test
def a_receiver_that_fails_gets_the_same_message_again_until_it_works():
    fleet = new_fleet(ENGINE)
    repository()
    with receiver("drop", 500, 429, 302) as server:
        listed(server)
        fleet.submit(1, "repos")
        worker = fleet.start("--jobs", "1", "--notify", "notify", "--log", "log", env=without_proxy())
        wait_until(lambda: len(server.asked) >= 5 and is_told("log"), 90)
        worker.send_signal(signal.SIGTERM)
        _, err = worker.communicate(timeout=60)
        equal(len(server.asked), 5)
        messages = [check(one) for one in server.asked]
        equal(len({one["id"] for one in messages}), 1)
        equal(len({one[1] for one in server.asked}), 1, "the same body")
        equal([one["reason"] for one in events("log") if one["event"] == "notify_failed"],
              ["no_answer", "refused", "rate_limited", "refused"])
        holds(err.count("--notify: 'hook': ") == 1 and "127.0.0.1" not in err, err)
    equal(waiting(fleet), 0)


@test
def a_worker_that_is_killed_while_it_sends_leaves_the_notice_to_the_next_one():
    fleet = new_fleet(ENGINE)
    repository()
    with receiver("hang") as server:
        listed(server, "timeout = 1\n")
        fleet.submit(1, "repos")
        worker = fleet.start("--jobs", "1", "--notify", "notify", env=without_proxy())
        wait_until(lambda: len(server.asked) == 1)
        worker.kill()
        worker.communicate()
        server.let_go.set()
        equal(waiting(fleet), 1)
        # The killed worker holds the notice for 10 seconds more than sending may take. Then another worker
        # sends the notice.
        wait_until(lambda: work(fleet)[0] == 0 and len(server.asked) > 1, 60)
        equal(len(server.asked), 2)
        equal(check(server.asked[0]), check(server.asked[1]))
    equal(waiting(fleet), 0)


@test
def a_receiver_that_is_down_keeps_nobody_waiting_and_a_later_worker_sends():
    fleet = new_fleet(ENGINE)
    repository()
    with receiver("hang", "hang", "hang", "hang") as server:
        listed(server, "timeout = 1\n")
        fleet.submit(1, "repos")
        status, out, err = work(fleet)
        equal(status, 0)
        holds(out.startswith("1 done"), out)
        holds("1 notification is not sent yet" in err, err)
        server.let_go.set()
        server.answers.clear()
        before = len(server.asked)
        wait_until(lambda: work(fleet)[2] == "" and len(server.asked) > before, 60)
        equal(len({check(one)["id"] for one in server.asked}), 1)
    equal(waiting(fleet), 0)


@test
def a_command_gets_the_message_and_is_repeated_alone():
    fleet = new_fleet(ENGINE)
    repository()
    with receiver() as server:
        listed(server)
        with open("notify", "a") as file:
            file.write("[tickets]\ncommand = cat >> told; echo >> told; echo $TURNSTONE_NOTIFICATION_ID >> ids; echo to people; test -e ready\n")
        fleet.submit(1, "repos")
        worker = fleet.start("--jobs", "1", "--notify", "notify", "--log", "log", env=without_proxy())
        wait_until(lambda: os.path.exists("ids") and len(open("ids").readlines()) >= 2, 60)
        private("ready", "")
        wait_until(lambda: is_told("log"), 60)
        worker.send_signal(signal.SIGTERM)
        out, err = worker.communicate(timeout=60)
        holds("to people" in err and "to people" not in out and "the command ended with status 1" in err, err)
        told = [json.loads(line) for line in open("told")]
        equal(len({line for line in open("ids")}), 1)
        equal({one["id"] for one in told}, {open("ids").readline().strip()})
        equal(len(server.asked), 1, "the webhook had it already")
        equal(check(server.asked[0]), told[0])
    equal(waiting(fleet), 0)


@test
def severity_and_decisions_filter():
    fleet = new_fleet(ENGINE)
    repository("one", seeds=(1,), key=False)
    with receiver() as server:
        listed(server, "severity = critical\n")
        fleet.submit(1, "repos")
        equal(work(fleet)[0], 0)
        severities = {one["severity"] for one in json.loads(fleet.ok("findings", "export", "--format", "json"))["findings"]}
        equal(len(server.asked), int("critical" in severities))
        equal(waiting(fleet), 0, "nothing waits forever")
    with receiver() as server:
        listed(server)
        (finding,) = [one["id"] for one in json.loads(fleet.ok("findings", "export", "--format", "json"))["findings"]]
        fleet.ok("findings", "triage", finding, "--state", "false-positive", "--reason", "test", "--by", "tester")
        repository("two", seeds=(1, 5), key=False)
        fleet.submit(2, "repos")
        equal(work(fleet)[0], 0)
        message = check(server.asked[0])
        equal((message["counts"]["new"], message["counts"]["came"]), (1, 2), "a false positive is not told again")


@test
def a_wrong_file_is_one_line_and_shows_no_secret():
    fleet = new_fleet(ENGINE)
    private("secret", SECRET)
    where = ("--cluster", fleet.urls, "--notify", "notify")
    good = "[a]\nwebhook = https://example.org/x\nsecret-file = secret\n"

    def wrong(expected, text, mode=0o600):
        private("notify", text, mode)
        complains(2, ["--notify: 'notify'", expected], "worker", "--once", *where)

    wrong("chmod 600", good, 0o644)
    wrong("names no receiver", "# nobody\n")
    wrong("line 1: a name", "[]\n")
    wrong("line 1: a name in brackets", "webhook = x\n")
    wrong("line 4: the name occurs twice", good + "[a]\n")
    wrong("line 4: unknown key", good + "url = x\n")
    wrong("line 4: the key occurs twice", good + "secret-file = x\n")
    wrong("line 4: timeout", good + "timeout = 0\n")
    wrong("line 4: severity", good + "severity = x\n")
    wrong("either a webhook or a command", good + "command = true\n")
    wrong("either a webhook or a command", "[a]\n")
    wrong("secret-file is missing", "[a]\nwebhook = https://example.org/x\n")
    wrong("must begin with https://", "[a]\nwebhook = http://example.org/x\nsecret-file = secret\n")
    wrong("must begin with https://", "[a]\nwebhook = http://127.example.org/x\nsecret-file = secret\n")
    wrong("must begin with https://", "[a]\nwebhook = file:///x\nsecret-file = secret\n")
    wrong("user or password", "[a]\nwebhook = https://u:hunter2@example.org/x\nsecret-file = secret\n")
    wrong("not valid", "[a]\nwebhook = https:///x\nsecret-file = secret\n")
    wrong("secret-file cannot be read: No such file", good.replace("secret-file = secret", "secret-file = none"))
    os.chmod("secret", 0o640)
    wrong("secret-file can be used by others", good)
    private("secret", "\n")
    wrong("has no secret", good)
    private("secret", "whsec_!!")
    wrong("has no secret", good)


main()
