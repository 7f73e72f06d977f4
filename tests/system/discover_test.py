#!/usr/bin/env python3
"""turnstone targets asks forges for repositories. A server of this test plays four kinds of forges, both
well-behaved and hostile."""
import json
import os
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from https import CA, Answering, Server, without_proxy  # noqa: E402
from program import complains, run  # noqa: E402
from repo import made_up  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

TOKEN = "tok-" + made_up(24, "forge")
FORGES = ("github", "gitlab", "gitea", "bitbucket")
# For each forge: the name and the value of the header that carries the token.
AUTHORISATION = {"github": ("Authorization", f"Bearer {TOKEN}"), "gitlab": ("PRIVATE-TOKEN", TOKEN), "gitea": ("Authorization", f"token {TOKEN}"),
                 "bitbucket": ("Authorization", f"Bearer {TOKEN}")}
PATHS = {"/api/v3/orgs/": ("github", "org"), "/api/v3/users/": ("github", "user"), "/api/v4/groups/": ("gitlab", "org"),
         "/api/v4/users/": ("gitlab", "user"), "/api/v1/orgs/": ("gitea", "org"), "/api/v1/users/": ("gitea", "user"),
         "/2.0/repositories/": ("bitbucket", "org")}
SIZES = {"github": ("per_page", 100), "gitlab": ("per_page", 100), "gitea": ("limit", 50), "bitbucket": ("pagelen", 100)}


def row(forge, name, archived=False, fork=False):
    """Returns a repository as the forge describes it. Its links lead to another host; the program must ignore
    them."""
    links = {"clone_url": "https://evil.example/x.git", "html_url": "https://evil.example/", "description": "\x1b[2J"}
    if forge == "gitlab":
        return {"path_with_namespace": name, "archived": archived, **({"forked_from_project": {"id": 1}} if fork else {}), **links}
    if forge == "bitbucket":
        return {"full_name": name, "parent": {"full_name": "else/where"} if fork else None, **links}
    return {"full_name": name, "archived": archived, "fork": fork, **links}


class Forge(Answering):
    """server.owners maps (kind, name) of an owner to the owner's repositories; the kind is "org" or "user".
    If server.answer is set, it is called first, and returns whether it has answered the request."""

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query).items()}
        self.server.asked.append((time.monotonic(), self.path, dict(self.headers)))
        if self.server.answer and self.server.answer(self, int(query.get("page", 0))):
            return
        prefix = next(one for one in PATHS if url.path.startswith(one))
        forge, kind = PATHS[prefix]
        owner = urllib.parse.unquote(url.path[len(prefix):].split("/")[0])
        rows = self.server.owners.get((kind, owner.lower()))
        if rows is None:
            return self.say(404, b'{"message":"Not Found"}')
        name, size = SIZES[forge]
        equal(int(query[name]), size)
        begin = (int(query["page"]) - 1) * size
        self.page(forge, [row(forge, *one) for one in rows[begin:begin + size]], begin + size < len(rows))

    def page(self, forge, rows, has_more=True):
        answer = rows
        if forge == "bitbucket":
            answer = {"values": rows, **({"next": "https://evil.example/2.0"} if has_more else {})}
        self.say(200, json.dumps(answer).encode(), [("Link", '<https://evil.example/>; rel="next"')])


def forges(owners=None, answer=None):
    server = Server(Forge)
    server.owners, server.answer = owners or {}, answer
    return server


def request(server, forge, owner="acme"):
    return f"{forge}://127.0.0.1:{server.server_port}/{owner}"


def targets(*words, env=None, status=0):
    done = run("targets", "--ca", CA, "--json", "--rate", "100", *words,
               env={"HTTPS_PROXY": None, "https_proxy": None, "ALL_PROXY": None, "all_proxy": None, **(env or {})})
    holds(TOKEN not in done.out + done.err, done)
    equal((done.status, done.err), (status, ""), done)
    return [json.loads(line)["url"] for line in done.out.splitlines()]


def fails(status, expected, *words, **options):
    result = complains(status, expected, "targets", "--ca", CA, "--rate", "100", *words, env=without_proxy(), **options)
    holds(TOKEN not in result.err and "\x1b" not in result.err and result.out == "", result)
    return result


def tokens(text, mode=0o600):
    with open("tokens", "w") as file:
        file.write(text)
    os.chmod("tokens", mode)
    return "tokens"


@test
def all_pages_of_all_forges_are_listed_in_the_order_of_targets():
    names = [f"Acme/repo-{i}" for i in range(230)]
    with forges({("org", "acme"): [(name,) for name in names]}) as server:
        urls = {f"https://127.0.0.1:{server.server_port}/{name}.git" for name in names}
        first = None
        for forge in FORGES:
            server.asked.clear()
            found = targets(request(server, forge))
            equal(set(found), urls)
            equal(len(found), len(urls))
            pages = {"github": 4, "gitlab": 4, "gitea": 6, "bitbucket": 3}[forge]
            equal(len(server.asked), pages, forge)
            first = first or found
            equal(found, first)  # the program orders repositories by target, whatever order the forge uses
        server.owners["org", "acme"].reverse()
        equal(targets(request(server, "github")), first)
        listed = "".join(url + "\n" for url in urls)
        equal([json.loads(line)["url"] for line in run("targets", "--json", "-", stdin=listed).out.splitlines()], first)
        ssh = targets("--ssh", request(server, "gitea"))
        equal(set(ssh), {f"ssh://git@127.0.0.1/{name}.git" for name in names})


@test
def users_subgroups_and_several_requests():
    with forges({("user", "me"): [("me/a",)], ("org", "acme/deep"): [("acme/deep/x",), ("acme/deep/er/y",)]}) as server:
        for forge in ("github", "gitlab", "gitea"):
            equal([url.split("/", 3)[3] for url in targets(request(server, forge, "me"))], ["me/a.git"])
        fails(2, "no such owner", request(server, "bitbucket", "me"))
        found = targets(request(server, "gitlab", "acme/deep/"), request(server, "gitea", "me"), "https://host/b")
        equal(sorted(url.split("/", 3)[3] for url in found), ["acme/deep/er/y.git", "acme/deep/x.git", "b", "me/a.git"])
        fails(2, ["operand 1", "names more than an owner"], request(server, "github", "acme/deep"))


@test
def archived_ones_and_forks_are_left_out_on_demand():
    rows = [("acme/plain",), ("acme/old", True), ("acme/fork", False, True)]
    with forges({("org", "acme"): rows, ("org", "past"): [("past/old", True)]}) as server:
        for forge in FORGES:
            def found(*words):
                return sorted(url.split("/")[-1][:-4] for url in targets(*words, request(server, forge)))
            equal(found(), ["fork", "old", "plain"])
            equal(found("--no-forks"), ["old", "plain"])
            equal(found("--no-archived"), ["fork", "old", "plain"] if forge == "bitbucket" else ["fork", "plain"])
        fails(2, "lists no repository of this owner except archived", "--no-archived", request(server, "github", "past"))


@test
def a_token_goes_to_its_host_only_and_is_never_shown():
    with forges({("org", "acme"): [("acme/a",)]}) as server:
        host = f"127.0.0.1:{server.server_port}"
        file = tokens(f"# a comment\nother.example wrong\n{host}\t{TOKEN}\n")
        for forge in FORGES:
            server.asked.clear()
            targets("--tokens", file, request(server, forge))
            name, value = AUTHORISATION[forge]
            holds(all(one[2].get(name) == value for one in server.asked), server.asked)
        server.asked.clear()
        targets("--tokens", tokens(f"127.0.0.1 {TOKEN}\nother.example {TOKEN}\n"), request(server, "github"),
                env={"GITHUB_TOKEN": TOKEN})  # GITHUB_TOKEN is for github.com only
        holds(server.asked and not any(TOKEN in str(one) for one in server.asked), server.asked)
        fails(2, ["--tokens can be used by others", "chmod 600"], "--tokens", tokens(f"{host} {TOKEN}\n", 0o644), request(server, "github"))
        fails(2, "--tokens cannot be read", "--tokens", "nowhere", request(server, "github"))
        fails(2, "line 2: a token has 1 to 4096 printable", "--tokens", tokens(f"other.example x\n{host} {TOKEN} {TOKEN}\n"), request(server, "github"))
        fails(2, "must not have a user or a token", f"github://{TOKEN}@{host}/acme")


@test
def pauses_are_kept_within_their_limit():
    def often(handler, page):
        if page == 2 and not handler.server.paused:
            handler.server.paused = True
            headers = {"after": [("Retry-After", "1")],
                       "reset": [("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", str(int(time.time()) + 2))]}[handler.server.kind]
            handler.say(429 if handler.server.kind == "after" else 403, b"{}", headers)
            return True
        return False

    with forges({("org", "acme"): [(f"acme/{i}",) for i in range(150)]}, often) as server:
        for kind in ("after", "reset"):
            server.kind, server.paused = kind, False
            server.asked.clear()
            equal(len(targets(request(server, "github"))), 150)
            times = [one[0] for one in server.asked]
            equal(len(times), 4)
            holds(times[2] - times[1] > 0.9, times)
        server.answer = lambda handler, page: handler.say(429, b"{}", [("Retry-After", "3600")]) or True
        server.asked.clear()
        fails(6, ["limits requests", "try again in 3600 s", "--tokens"], request(server, "github"))
        equal(len(server.asked), 1)
        server.answer = lambda handler, page: handler.say(429, b"{}", [("Retry-After", "0")]) or True
        fails(6, "limits requests; try again later", request(server, "gitlab"))


@test
def refusals_have_their_reason_and_the_fix():
    with forges() as server:
        file = tokens(f"127.0.0.1:{server.server_port} {TOKEN}\n")
        for code, status, expected in ((401, 6, "wants a token (status 401)"), (403, 6, "wants a token (status 403)"), (500, 6, "status 500; try again"),
                                       (301, 2, "never followed"), (404, 2, "no such owner"), (204, 6, "status 204")):
            server.answer = lambda handler, page, code=code: handler.say(code, b"", [("Location", "https://evil.example/")]) or True
            fails(status, ["operand 1", expected], request(server, "gitea"))
        server.answer = lambda handler, page: handler.say(401, TOKEN.encode()) or True
        fails(6, "refuses the token", "--tokens", file, request(server, "gitea"))
    fails(6, "no connection", "github://127.0.0.1:9/acme")
    with forges({("org", "acme"): [("acme/a",)]}) as server:
        complains(6, "certificate cannot be verified", "targets", request(server, "github"), env=without_proxy())
        equal(server.asked, [])
        complains(2, "cannot read the certificates", "targets", "--ca", "nowhere", request(server, "github"))
        complains(2, "--timeout must be", "targets", "--timeout", "0", request(server, "github"))


@test
def hostile_answers_are_refused_and_nothing_of_them_is_shown():
    def page(*rows):
        return lambda handler, number: handler.page("github", list(rows), False) or True

    def raw(text):
        return lambda handler, number: handler.say(200, text) or True

    with forges() as server:
        for answer, expected in (
                (raw(b"<html>"), "not JSON"), (raw(b""), "not JSON"), (raw(b"[" * 100000), "not JSON"), (raw(b'{"a":1}'), "not a list"),
                (raw(b"[7]"), "not a list"), (raw(b"[{}]"), "not a list"), (raw(b'[{"full_name":"acme/\xff"}]'), "not JSON"),
                (page(row("github", "acme/a\x1b]0;x\x07")), "characters that no forge allows"),
                (page(row("github", "acme/a\nhttps://evil.example/b")), "characters that no forge allows"),
                (page(row("github", "acme/../../etc")), "characters that no forge allows"),
                (page(row("github", "acme/--upload-pack=x")), "characters that no forge allows"),
                (page(row("github", "evil.example/a")), "another owner"),
                (page(row("github", "acme/good"), row("github", "other/b")), "another owner"),
                (page(row("github", "acme/a")), "the same page again"),
                (lambda handler, number: handler.say_without_end() or True, "more than 4 MiB"),
                (lambda handler, number: handler.say_garbage() or True, "not HTTP"),
                (lambda handler, number: handler.drop() or True, "cannot be asked")):
            server.answer = answer
            fails(6, ["operand 1", expected], request(server, "github"))
        server.answer = lambda handler, number: time.sleep(3) or True
        fails(6, "no answer in time; try again later, or raise the timeout", "--timeout", "1", request(server, "github"))


@test
def endless_pages_end():
    def endless(handler, number):
        handler.page("github", [row("github", f"acme/r{number}")])
        return True

    with forges(answer=endless) as server:
        fails(6, "more than 1000 pages", request(server, "github"))
        equal(len(server.asked), 1000)


@test
def runs_are_created_from_forges_as_targets_shows_them():
    with forges({("org", "acme"): [("acme/a",), ("acme/b", True), ("acme/c", False, True)]}) as server:
        cluster = f"rocksdb:{os.getcwd()}/store"
        equal(run("store", "init", "--cluster", cluster).status, 0)
        create = ("run", "create", "--cluster", cluster, "--run", "1", "--json", "--ca", CA)
        wanted = targets("--no-archived", request(server, "gitea"))
        for outcome in ("executed", "replayed"):
            made = run(*create, "--no-archived", "--targets", request(server, "gitea"), env=without_proxy())
            equal(made.status, 0, made)
            equal((json.loads(made.out)["outcome"], json.loads(made.out)["targets"]), (outcome, len(wanted)))
        complains(2, "operand 1: the forge knows no such owner", *create, "--targets", request(server, "gitea", "nobody"), env=without_proxy())
        complains(2, "need --targets", "run", "create", "--cluster", cluster, "--run", "2", "--no-forks")


main()
