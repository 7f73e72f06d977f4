#!/usr/bin/env python3
"""turnstone verify asks issuers about secrets. A server of this test plays issuers, both well-behaved and
hostile."""
import base64
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from https import CA, HOME, Answering, Server, without_proxy  # noqa: E402
from program import PROGRAM  # noqa: E402
from repo import made_up  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402


class Issuer(Answering):
    """The first word of the path selects the method on_WORD, which answers. server.asked records all
    requests."""

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((time.monotonic(), self.command, self.path, dict(self.headers), body))
        word = self.path.split("/")[1].split("?")[0]
        getattr(self, "on_" + word)()

    do_HEAD = do_POST = do_GET

    def on_user(self):
        good = self.server.live.encode() in self.headers.get("Authorization", "").encode()
        self.say(200 if good else 401, b'{"login":"somebody"}')

    def on_basic(self):
        expected = "Basic " + base64.b64encode(self.server.live.encode() + b":").decode()
        self.say(200 if self.headers.get("Authorization") == expected else 401)

    def on_bot(self):
        self.say(200 if urllib.parse.unquote(self.path.split("/")[2]) == self.server.live else 404)

    def on_ok(self):
        good = urllib.parse.parse_qs(self.server.asked[-1][4].decode()).get("token") == [self.server.live]
        self.say(200, b'{"ok":true}' if good else b'{"ok":false,"error":"invalid_auth"}')

    def on_redirect(self):
        self.say(302, headers=[("Location", "/user")])

    def on_strange(self):
        self.say(418, b"teapot")

    def on_often(self):
        first = len(self.server.asked) == 1
        self.say(429 if first else 200, headers=[("Retry-After", "1")] if first else [])

    def on_busy(self):
        self.say(429, headers=[("Retry-After", "3600")])

    def on_slow(self):
        time.sleep(8)

    def on_drop(self):
        self.drop()

    def on_garbage(self):
        self.say_garbage()

    def on_endless(self):
        self.say_without_end()


def issuer():
    server = Server(Issuer)
    server.live = secret_of("live")
    return server


def secret_of(word):
    return "tok_" + made_up(24, word)


def rules(server, path, extra='headers: ["Authorization: Bearer {{secret}}"]', answers="live: [200]\n    revoked: [401]", name="rules.yml",
          port=None):
    with open(name, "w") as file:
        file.write(f"""rules:
- id: test-token
  name: Token of a test
  pattern: '\\b(?<secret>tok_[A-Za-z0-9]{{24}})\\b'
  severity: high
  verify:
    url: https://127.0.0.1:{port or server.server_port}{path}
    {extra}
    {answers}
  examples:
    match: [{{text: 'x tok_~~{made_up(24, "example")}', secret: 'tok_~~{made_up(24, "example")}'}}]
""")
    return name


def run(*arguments, given, check=None):
    environment = {**without_proxy(), "XDG_CACHE_HOME": HOME, "XDG_STATE_HOME": HOME, "HOME": HOME}
    done = subprocess.run([PROGRAM, "verify", "--no-builtin-rules", "--rules", "rules.yml", *arguments, "-"], input=given, text=True,
                          capture_output=True, env=environment)
    holds(secret_of("live") not in done.stdout + done.stderr, done)
    if check is not None:
        equal(done.returncode, check, done.stdout + done.stderr)
    return done


def ask(*arguments, words=("live",), check=None):
    given = "".join(f"a {secret_of(word)} b\n" for word in words)
    return run("--yes", "--ca", CA, "--rate", "100", *arguments, given=given, check=check)


@test
def live_and_revoked_secrets_are_distinguished_and_never_printed():
    with issuer() as server:
        rules(server, "/user")
        done = ask(words=("live", "dead"), check=1)
        lines = done.stdout.splitlines()
        equal(sorted(line.split()[0] for line in lines[:2]), ["live", "revoked"])
        holds(": 200" in done.stdout and ": 401" in done.stdout, done)
        equal(lines[2], "2 secrets asked about: 1 live, 1 revoked, 0 unknown")
        holds(secret_of("dead") not in done.stdout + done.stderr, done)
        equal(ask(words=("dead",), check=0).stderr, "")
        equal({one[1] for one in server.asked}, {"GET"})
        holds(all("turnstone/" in one[3]["User-Agent"] for one in server.asked), server.asked)


@test
def basic_headers_urls_and_bodies_carry_the_secret_too():
    with issuer() as server:
        rules(server, "/basic", 'headers: ["Authorization: Basic {{basic}}"]')
        ask(check=1)
        rules(server, "/bot/{{secret}}/getMe", "method: GET", "live: [200]\n    revoked: [404]")
        ask(check=1)
        ask(words=("dead",), check=0)
        rules(server, "/ok", "method: POST\n    body: 'token={{secret}}'",
              "live: [200]\n    live-texts: ['\"ok\":true']\n    revoked: [200]\n    revoked-texts: [token_revoked, invalid_auth]")
        ask(check=1)
        ask(words=("dead",), check=0)
        rules(server, "/user", 'method: HEAD\n    headers: ["Authorization: Bearer {{secret}}"]')
        ask(check=1)


@test
def nothing_is_sent_without_consent_and_a_dry_run_shows_redacted_requests():
    with issuer() as server:
        rules(server, "/bot/{{secret}}", 'headers: ["X-Key: {{secret}}"]')
        refused = run("--ca", CA, given=secret_of("live"), check=2)
        holds("--yes" in refused.stderr and "--dry-run" in refused.stderr, refused)
        equal(len(refused.stderr.splitlines()), 1)
        run("--yes", "--dry-run", given="", check=2)
        shown = run("--dry-run", given=secret_of("live"), check=0)
        holds(f"GET https://127.0.0.1:{server.server_port}/bot/tok_" in shown.stdout and "X-Key: tok_" in shown.stdout, shown)
        holds("1 request, not sent" in shown.stdout, shown)
        row = json.loads(run("--dry-run", "--json", given=secret_of("live"), check=0).stdout)
        equal((row["rule"], row["method"], row["host"]), ("test-token", "GET", f"127.0.0.1:{server.server_port}"))
        equal(server.asked, [])


@test
def rules_of_the_target_never_choose_where_secrets_go():
    with issuer() as server:
        os.mkdir("repo")
        os.chdir("repo")
        rules(server, "/user", name="own.yml")
        with open(".turnstone.yml", "w") as file:
            file.write("rules: {files: [own.yml]}\n")
        with open("a.txt", "w") as file:
            file.write(secret_of("live") + "\n")
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
            subprocess.run([*git, *words], check=True)
        environment = {**os.environ, "XDG_CACHE_HOME": HOME, "XDG_STATE_HOME": HOME}
        done = subprocess.run([PROGRAM, "verify", "--yes", "--ca", CA, "."], capture_output=True, text=True, env=environment)
        equal(done.returncode, 0, done.stdout + done.stderr)
        holds("not asked about: the rule is the target's own" in done.stdout, done)
        equal(server.asked, [])


@test
def without_a_target_the_repository_of_the_current_folder_is_verified():
    with issuer() as server:
        rules_file = os.path.abspath(rules(server, "/user"))
        os.makedirs("repo/deep")
        with open("repo/a.txt", "w") as file:
            file.write(secret_of("live") + "\n")
        git = ["git", "-C", "repo", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
            subprocess.run([*git, *words], check=True)
        environment = {**os.environ, "XDG_CACHE_HOME": HOME, "XDG_STATE_HOME": HOME}
        words = [PROGRAM, "verify", "--no-builtin-rules", "--rules", rules_file, "--yes", "--ca", CA]
        for folder, target in (("repo", []), ("repo/deep", []), (".", ["repo/deep"])):
            done = subprocess.run([*words, *target], cwd=folder, capture_output=True, text=True, env=environment)
            equal(done.returncode, 1, folder + done.stdout + done.stderr)
        equal(len(server.asked), 3)
        stopped = {**environment, "GIT_CEILING_DIRECTORIES": os.path.abspath("repo")}
        done = subprocess.run(words, cwd="repo/deep", capture_output=True, text=True, env=stopped)
        equal((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        equal(len(server.asked), 3)


@test
def hostile_and_broken_answers_are_unknown():
    with issuer() as server:
        for path, why in (("/redirect", "redirect"), ("/strange", "418, an answer that the rule does not know"), ("/drop", "answer"),
                          ("/garbage", "the answer is not HTTP"), ("/busy", "fewer requests")):
            rules(server, path)
            done = ask(check=4)
            holds(done.stdout.startswith("unknown") and why in done.stdout, (path, done))
        before = len(server.asked)
        rules(server, "/endless")
        ask(check=1)  # the program needs only the status, and stops reading an endless body
        rules(server, "/slow")
        holds("no answer in time" in ask("--timeout", "1", check=4).stdout, "slow")
        equal(len(server.asked), before + 2)
        equal([one for one in server.asked if one[2] == "/user"], [])  # the program has followed no redirect


@test
def only_verified_tls_is_spoken():
    with issuer() as server:
        rules(server, "/user")
        done = run("--yes", given=secret_of("live"), check=4)
        holds("the certificate cannot be verified" in done.stdout, done)
        equal(server.asked, [])
    plain = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
    plain.asked = []
    threading.Thread(target=plain.serve_forever, args=(0.02,), daemon=True).start()
    rules(None, "/user", port=plain.server_port)
    done = ask(check=4)
    holds("TLS" in done.stdout or "answer" in done.stdout, done)
    equal(plain.asked, [])
    plain.shutdown()
    plain.server_close()
    rules(None, "/user", port=9)
    holds("no connection" in ask(check=4).stdout, "nobody listens")


@test
def requests_to_one_host_keep_their_pace_and_obey_retry_after():
    with issuer() as server:
        rules(server, "/user")
        given = "".join(f"{secret_of(str(n))}\n" for n in range(5))
        run("--yes", "--ca", CA, "--rate", "4", given=given, check=0)
        times = [one[0] for one in server.asked]
        holds(len(times) == 5 and times[-1] - times[0] > 0.7, times)  # 1 s less the first request
        server.asked.clear()
        rules(server, "/often")
        ask(check=1)
        holds(len(server.asked) == 2 and server.asked[1][0] - server.asked[0][0] > 0.9, server.asked)


@test
def ctrl_c_ends_a_request_at_once():
    with issuer() as server:
        rules(server, "/slow")
        environment = {**os.environ, "XDG_CACHE_HOME": HOME}
        process = subprocess.Popen([PROGRAM, "verify", "--no-builtin-rules", "--rules", "rules.yml", "--yes", "--ca", CA, "-"], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        process.stdin.write(secret_of("live"))
        process.stdin.close()
        while not server.asked:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output = process.stdout.read()
        equal(process.wait(), 4)
        holds("stopped" in output, output)  # the reason is the signal, not the issuer
        process.stdout.close()
        process.stderr.close()


@test
def findings_are_chosen_by_id_and_json_names_verdict_and_reason():
    with issuer() as server:
        rules(server, "/user")
        rows = [json.loads(line) for line in ask("--json", words=("live", "dead"), check=1).stdout.splitlines()]
        equal(sorted((row["verdict"], row["status"], row["why"]) for row in rows), [("live", 200, ""), ("revoked", 401, "")])
        dead = next(row["finding"] for row in rows if row["verdict"] == "revoked")
        server.asked.clear()
        ask("--finding", dead, words=("live", "dead"), check=0)
        equal(len(server.asked), 1)
        wrong = ask("--finding", "nonsense", check=2)
        holds("no finding 'nonsense'" in wrong.stderr, wrong)


@test
def wrong_requests_in_rules_are_refused():
    class Anybody:
        server_port = 1
    for path, extra, answers, why in (
            ("/a b", 'headers: ["A: {{secret}}"]', "live: [200]", "verify url"),
            ("/a", 'headers: ["A: x"]', "live: [200]", "does not send the secret"),
            ("/a", 'headers: ["no colon {{secret}}"]', "live: [200]", "verify headers"),
            ("/{{secret}}", "method: PUT", "live: [200]", "verify method"),
            ("/{{secret}}", "body: x", "live: [200]", "verify body"),
            ("/{{secret}}", "method: GET", "live: []", "verify live"),
            ("/{{secret}}", "method: GET", "live: [99]", "verify live"),
            ("/{{secret}}", "method: GET", "live: [200]\n    revoked: [200]", "both live and revoked")):
        rules(Anybody, path, extra, answers)
        done = run("--dry-run", given="", check=2)
        holds(why in done.stderr and len(done.stderr.splitlines()) == 1, (why, done))
    text = open(rules(Anybody, "/{{secret}}", "method: GET", "live: [200]")).read()
    for host in ("http://127.0.0.1", "https://a@b", "https://{{secret}}.example", "https://A.example"):
        with open("rules.yml", "w") as file:
            file.write(text.replace("https://127.0.0.1:1", host))
        holds("verify url" in run("--dry-run", given="", check=2).stderr, host)


@test
def built_in_requests_are_shown():
    done = subprocess.run([PROGRAM, "rules", "list", "--json"], capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    with_request = [row for row in rows if row["verify"]]
    holds(len(with_request) >= 40, len(with_request))
    done = subprocess.run([PROGRAM, "rules", "explain", with_request[0]["id"]], capture_output=True, text=True, check=True)
    holds("verify" in done.stdout and with_request[0]["verify"]["url"] in done.stdout, done)


main()
