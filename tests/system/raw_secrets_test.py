#!/usr/bin/env python3
"""No found secret appears in any output: reports, messages, state, caches, baselines."""
import atexit
import base64
import html
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import PROGRAM  # noqa: E402
from repo import Repo, github_token, made_up  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

FORMATS = {"text": "txt", "json": "json", "jsonl": "jsonl", "sarif": "sarif", "csv": "csv", "junit": "xml",
           "gitlab": "gitlab.json", "html": "html"}
MASK = "********"
CACHE = tempfile.mkdtemp(prefix="turnstone-test-cache-")  # the folder of compiled rules, which all tests share
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)


def password(seed, length=14):
    """Returns a value that the rules for passwords accept. Its characters are allowed in paths, refs and
    URIs."""
    return made_up(length - 4, f"password {seed}") + "q7Z_"


def forms(secret):
    """Yields (name, bytes) of the secret and of each of its encoded forms."""
    raw = secret.encode()
    yield "raw", raw
    for shift in range(3):
        text = base64.b64encode(b"x" * shift + raw + b"xx")
        # Only these characters depend on the secret alone; the others also depend on the bytes around it.
        first, last = (shift * 8 + 5) // 6, (shift + len(raw)) * 8 // 6
        yield f"base64 {shift}", text[first:last]
        yield f"base64url {shift}", text[first:last].replace(b"+", b"-").replace(b"/", b"_")
    yield "percent", b"".join(b"%%%02X" % one for one in raw)
    yield "percent, lower case", b"".join(b"%%%02x" % one for one in raw)
    yield "JSON", b"".join(b"\\u%04x" % one for one in raw)
    yield "JSON string", json.dumps(secret).strip('"').encode()
    yield "quoted", urllib.parse.quote(secret, safe="").encode()
    yield "utf-16", secret.encode("utf-16-le")


def leaks(data, secrets):
    return [f"{secret} as {name}" for secret in secrets for name, form in forms(secret) if form in data]


def files(folder):
    for parent, folders, names in os.walk(folder):
        for name in names + folders:
            yield os.path.join(parent, name)


def all_bytes(folder):
    """Returns the names and contents of all files below the folder, joined."""
    parts = []
    for path in files(folder):
        parts.append(os.fsencode(os.path.relpath(path, folder)))
        if os.path.isfile(path):
            with open(path, "rb") as file:
                parts.append(file.read())
    return b"\n".join(parts)


def execute(*arguments, stdin=b"", cwd=None, statuses=(0, 1, 4)):
    """Runs the program with caches, state and temporary files in folders that the test searches for secrets.
    Returns the ended process, with its output."""
    here = os.path.abspath("home")
    environment = {**os.environ, "HOME": here, "XDG_CACHE_HOME": CACHE, "XDG_STATE_HOME": here + "/state",
                   "TMPDIR": here + "/tmp"}
    for name in ("state", "tmp"):
        os.makedirs(os.path.join(here, name), exist_ok=True)
    done = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, env=environment, cwd=cwd, timeout=300,
                          check=False)
    holds(done.returncode in statuses, (arguments, done))
    return done


def check(secrets, *arguments, **options):
    """Scans. Checks that no report, in any format, and no other written file has one of the secrets. Returns
    the JSON report."""
    paths = {name: os.path.abspath(f"report.{end}") for name, end in FORMATS.items()}
    outputs = [part for path in paths.values() for part in ("-o", path)]
    done = execute("scan", *arguments, *outputs, **options)
    for name, path in paths.items():
        with open(path, "rb") as file:
            equal(leaks(file.read(), secrets), [], f"{arguments}, {name}")
    equal(leaks(done.stdout + done.stderr, secrets), [], f"{arguments}, standard error")
    equal(leaks(all_bytes("home") + all_bytes(CACHE), secrets), [], f"{arguments}, state, caches and temporary files")
    with open(paths["json"], "rb") as file:
        return json.load(file)


def excerpts(report):
    return [finding["excerpt"] for finding in report["findings"]]


def every_way(secrets, *arguments):
    """Scans without state, with state, and again with state; with one thread and with four threads. Checks
    that the findings are equal every time. Yields each report."""
    first = None
    for way in (("--no-state", "-j", "1"), ("--no-state", "-j", "4"), ("-j", "1"), ("-j", "4")):
        report = check(secrets, *arguments, *way)
        first = first or report
        equal(report["findings"], first["findings"], f"{arguments} {way}")
        yield report


WORD, OTHER, SHORT = password("word"), password("other", 18), password("short", 6)


def found(*more):
    """Returns the text of a file that contains WORD, OTHER, SHORT and these secrets, all unencoded."""
    return "".join(f'password = "{secret}"\n' for secret in (WORD, OTHER, SHORT, *more))


@test
def a_secret_once_more_inside_a_word_of_its_line():
    first, second = github_token("first"), github_token("second")
    repo = Repo("repo")
    repo.write("a.txt", f'password = "{WORD}" token = {first} at log_{WORD}_end and {second} of x{first}x\n')
    repo.commit()
    for report in every_way([WORD, first, second], "repo"):
        equal(len(report["findings"]), 3)
        for excerpt in excerpts(report):
            equal(excerpt, f'password = "{MASK}" token = {MASK} at log_{MASK}_end and {MASK} of x{MASK}x')


@test
def a_secret_of_another_file_inside_a_word():
    token = github_token("a")
    repo = Repo("repo")
    repo.write("b.txt", found())
    repo.write("a.txt", f"one {token} two\n")
    repo.commit()
    repo.write("a.txt", f"one x{WORD}y {token} u{SHORT}v{OTHER}w two\n")
    repo.commit()
    for report in every_way([WORD, OTHER, SHORT, token], "repo"):
        equal(len(report["findings"]), 4)
    os.unlink("repo/a.txt")
    repo.write("first.txt", f"one x{WORD}y {github_token('b')} u{SHORT}v{OTHER}w two\n")
    repo.commit()
    for report in every_way([WORD, OTHER, SHORT, token], "repo"):
        holds(f"one x{MASK}y {MASK} u{MASK}v{MASK}w two" in excerpts(report), excerpts(report))


@test
def a_longer_secret_around_one_that_its_line_has():
    """A line has a short secret. It also has a longer secret that contains the short one, and that another
    file has as well. The line must show neither. The test uses secrets of built-in rules and of the user's
    rules."""
    with open("own.yml", "w", encoding="ascii") as file:
        file.write("rules:\n  - {id: pin, name: Pin, pattern: 'pin=(?<secret>[0-9]{5})\\b', gate: ['pin='], severity: high, reach: 20}\n")
    long = [f"{WORD}_and_{password('rest')}", f"{password('lead')}-48151-{password('end')}"]
    rest = [long[0][len(WORD):], password("rest"), password("lead"), password("end"), "48151", "62342"]
    repo = Repo("repo")
    repo.write("b.txt", "".join(f'password = "{one}"\n' for one in long))
    repo.write("a.txt", f'password = "{WORD}" was {long[0]}!\npin=48151 pin=62342 or x{long[1]}y or 62342z\n')
    repo.commit()
    for report in every_way([WORD, *long, *rest], "repo", "--rules", "own.yml"):
        equal(len(report["findings"]), 5)
        holds(f'password = "{MASK}" was {MASK}!' in excerpts(report), excerpts(report))
        equal(excerpts(report).count(f"pin={MASK} pin={MASK} or x{MASK}y or {MASK}z"), 2, excerpts(report))


@test
def a_line_with_many():
    tokens = [github_token(i) for i in range(60)]
    repo = Repo("repo")
    repo.write("a.txt", " ".join(f"{one} x{tokens[(i * 7 + 1) % 60]}x" for i, one in enumerate(tokens)) + "\n")
    repo.commit()
    for report in every_way(tokens, "repo"):
        equal(len(report["findings"]), 60)


@test
def a_secret_that_is_cut_at_the_end_of_an_excerpt():
    """No part of the secret is shown, wherever the line is cut."""
    repo = Repo("repo")
    long = password("long", 40)
    repo.write("b.txt", f'password = "{long}"\n')
    for i in range(120):
        repo.write(f"{i}.txt", "." * 4 * i + f" x{long}y" + "." * (140 - i) + f" {github_token(i)} " + "." * (140 + i)
                   + f"x{long}y {'.' * 900}\n")
    repo.commit()
    report = check([long, long[:12], long[-12:], long[14:26]], "repo", "--no-state")
    equal(len(report["findings"]), 121)


@test
def encoded_forms_of_it():
    encoded = [base64.b64encode((before + OTHER + "!").encode()).decode() for before in ("", "a", "ab")]
    encoded += ["".join(f"%{ord(one):02x}" for one in OTHER), "".join(f"\\u{ord(one):04X}" for one in OTHER)]
    encoded += [base64.b64encode(encoded[0].encode()).decode(), urllib.parse.quote(encoded[1], safe="")]
    repo = Repo("repo")
    repo.write("b.txt", found())
    for i, one in enumerate(encoded):
        repo.write(f"{i}.txt", f"one {github_token(i)} x {one} y\n")
    repo.write("wide.txt", f"one {github_token('wide')} x{OTHER}y\n".encode("utf-16-le"))
    repo.commit()
    for report in every_way([WORD, OTHER, *encoded], "repo"):
        equal(len(report["findings"]), 3 + len(encoded) + 1)


@test
def more_encoded_forms_of_secrets_with_any_characters():
    rules = "rules:\n  - {id: own, name: Own, pattern: 'own=\\[(?<secret>[^\\]]{4,500})\\]', gate: ['own=['], severity: high, reach: 600}\n"
    with open("own.yml", "w", encoding="ascii") as file:
        file.write(rules)
    for secret in ('a&7b<Zq=x/"Kp9+w' + made_up(6, "markup"), "p\u00e45sw\U0001f511rd" + made_up(6, "not ASCII")):
        raw = secret.encode()
        encoded = [html.escape(secret), "".join(f"&#{ord(one)};" for one in secret), "".join(f"&#x{ord(one):x};" for one in secret),
                   raw.hex(), raw.hex().upper(), "".join(f"={one:02X}" for one in raw), "".join(f"\\{one:03o}" for one in raw),
                   json.dumps(secret)[1:-1], json.dumps(json.dumps(secret))[3:-3], base64.b64encode(raw).decode(),
                   base64.b64encode(base64.b64encode(raw)).decode(), urllib.parse.quote(base64.b64encode(raw).decode(), safe="")]
        repo = Repo("repo")
        repo.write("b.txt", f"own=[{secret}]\n")
        for i, one in enumerate(encoded):
            repo.write(f"{i}.txt", f"one {github_token(i)} x {one} y\n")
        for code in ("utf-16-le", "utf-16-be"):
            repo.write(code, f"one {github_token(code)} x{secret}y\n".encode(code))
        repo.commit()
        for report in every_way([secret, *(one.rstrip("=")[:-1] for one in encoded)], "repo", "--rules", "own.yml"):
            equal(len(report["findings"]), 1 + len(encoded) + 2)
            holds(sum(one == f"one {MASK} x{MASK}y" for one in excerpts(report)) == 2, excerpts(report))


@test
def a_secret_in_a_name_that_is_cut_in_a_message():
    """No part of the secret is shown, wherever the name is cut."""
    repo = Repo("repo")
    repo.write("b.txt", found())
    repo.commit()
    for length in range(150, 240, 5):
        folder = f"repo/.git/refs/heads/{'d' * length}"
        os.makedirs(folder)
        with open(f"{folder}/x{OTHER}x{OTHER}x{OTHER}", "w", encoding="ascii") as file:
            file.write("no id\n")
    report = check([WORD, OTHER, OTHER[:6]], "repo", "--no-state")
    holds(any(f"x{MASK}x{MASK}x{MASK}" in one["text"] for one in report["summary"]["faults"]), report["summary"])
    holds(any("/...:" in one["text"] for one in report["summary"]["faults"]), report["summary"])


@test
def a_folder_of_state_that_cannot_be_used():
    repo = Repo("repo")
    repo.write("b.txt", found())
    repo.commit()
    with open(f"state-{OTHER}", "w", encoding="ascii") as file:
        file.write("no folder\n")
    done = execute("scan", "repo", "--state", f"state-{OTHER}/in", statuses=(1,))
    holds(f"state-{MASK}/in".encode() in done.stderr, done)
    equal(leaks(done.stdout + done.stderr, [OTHER]), [])


@test
def names_of_files_refs_tags_authors_and_messages():
    token, tagged, noted = github_token("named"), github_token("tag"), github_token("note")
    repo = Repo(f"at-{OTHER}/repo")
    repo.write("b.txt", found(password("more")) + token + "\n")
    repo.write(f"dir-{WORD}/in-{token}.txt", github_token("in") + "\n")
    repo.write(b"not-\xff-utf8-" + WORD.encode(), github_token("not utf-8") + "\n")
    repo.write(f"{base64.b64encode(('..' + OTHER).encode()).decode()}", github_token("base64") + "\n")
    repo.git("config", "user.name", "x")
    repo.commit()
    repo.write("c.txt", github_token("author") + "\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", f"--author=Dev {WORD} <{token}@example.org>", "-F", "-",
             stdin=f"Use {github_token('message')} for x{WORD}x\n")
    repo.git("branch", f"fix/{WORD}")
    repo.git("tag", "-a", f"v-{OTHER}", "-F", "-", stdin=f"Release {tagged} x{WORD}\n")
    repo.git("notes", "add", "-m", f"note {noted} x{OTHER}")
    secrets = [WORD, OTHER, token, tagged, noted]
    for report in every_way(secrets, f"at-{OTHER}/repo"):
        occurrences = [one for finding in report["findings"] for one in finding["occurrences"]]
        holds(f"dir-{MASK}/in-{MASK}.txt" in [one["path"] for one in occurrences], occurrences)
        holds((f"Dev {MASK}", f"{MASK}@example.org") in [(one["author"], one["email"]) for one in occurrences], occurrences)
        holds(f"v-{MASK}" in [one["path"] for one in occurrences], occurrences)
        holds(f"Use {MASK} for x{MASK}x" in excerpts(report), excerpts(report))
        equal({one["repo"] for one in occurrences}, {f"at-{MASK}/repo"})
    equal(report["summary"]["blobs_known"], report["summary"]["blobs"] - 1, "only b.txt is read again: its line has a secret of a path")
    check(secrets, ".", cwd=f"at-{OTHER}/repo")
    check(secrets, "--working-tree", f"at-{OTHER}/repo")
    check(secrets, "--dir", f"at-{OTHER}/repo")
    check(secrets, f"at-{OTHER}/repo/b.txt", f"at-{OTHER}/repo")


@test
def what_could_not_be_read_and_what_a_target_configures():
    repo = Repo("repo")
    repo.write("b.txt", found())
    repo.write(".turnstone.yml", f"rules: {{files: [team-{WORD}.yml]}}\nallow:\n  - {{rules: [no-such-{SHORT.lower()}], reason: 'x'}}\n"
                                 f"  - {{paths: ['allowed.txt'], reason: 'because of {OTHER}'}}\n")
    repo.write(f"team-{WORD}.yml", "rules:\n  - {id: github-pat, name: 'Team x" + OTHER + "', pattern: '(?<secret>team_[a-z0-9]{12})', "
                                   "gate: [team_], severity: high, reach: 20}\n")
    repo.write("allowed.txt", "team_" + made_up(12, "team").lower() + "\n")
    repo.write("team.txt", "team_" + made_up(12, "other team").lower() + "\n")
    repo.commit()
    for name in (f"heads/broken-{WORD}", f"tags/{OTHER}"):
        with open(f"repo/.git/refs/{name}", "w", encoding="ascii") as file:
            file.write("no id\n")
    for report in every_way([WORD, OTHER], "repo"):
        summary = report["summary"]
        holds(any(f"broken-{MASK}" in one["text"] for one in summary["faults"]), summary)
        holds(any(one["source"] == f"team-{MASK}.yml" for one in summary["rule_changes"]), summary)
        holds(any(one["reason"] == f"because of {MASK}" for one in summary["suppressions"]), summary)


@test
def folders_files_and_standard_input():
    os.makedirs(f"folder/{WORD}")
    for name, content in (("b.txt", found()), (f"{WORD}/a-{OTHER}.txt", github_token("folder") + f" x{OTHER}x\n")):
        with open(f"folder/{name}", "w", encoding="ascii") as file:
            file.write(content)
    os.symlink(f"to-{OTHER}", f"folder/{WORD}/link-{OTHER}")
    secrets = [WORD, OTHER]
    for way in (("--dir", "folder", "-j", "1"), ("--dir", "folder", "-j", "4"), ("folder/b.txt", f"folder/{WORD}/a-{OTHER}.txt")):
        report = check(secrets, *way)
        holds(len(report["findings"]) == 4, report)
    check(secrets, "-", stdin=(found() + github_token("input") + f" x{WORD}x{OTHER}\n").encode())


@test
def what_is_staged():
    repo = Repo("repo")
    repo.write("b.txt", "nothing\n")
    repo.write("old.txt", f'password = "{OTHER}"\n')
    repo.commit()
    repo.write("b.txt", f'password = "{WORD}"\n')
    repo.write("old.txt", f"{github_token('old')} x{OTHER}x\n")
    repo.write(f"in-{WORD}.txt", f"{github_token('staged')} x{WORD}x\n")
    repo.git("add", "-A")
    check([WORD], "--staged", "repo")
    done = execute("protect", "repo", statuses=(1,))
    equal(leaks(done.stdout + done.stderr, [WORD, OTHER]), [], "protect")
    holds(f"in-{MASK}.txt".encode() in done.stdout, done)


@test
def baselines():
    repo = Repo("repo")
    repo.write("b.txt", found())
    repo.write(f"in-{WORD}.txt", f"{github_token('b')} x{OTHER}x\n")
    repo.commit()
    for _ in range(2):
        done = execute("baseline", "repo", "-o", "known.baseline")
        with open("known.baseline", "rb") as file:
            equal(leaks(file.read() + done.stdout + done.stderr + all_bytes("home"), [WORD, OTHER, SHORT]), [])
        repo.write("c.txt", f"{github_token('c')} x{WORD}x\n")
        repo.commit()
    report = check([WORD, OTHER], "repo", "--baseline", "known.baseline")
    equal(len(report["findings"]), 0)


@test
def a_text_that_becomes_a_secret_later_is_removed_from_the_state():
    """The first scan stores a line with WORD. The second scan finds that WORD is a secret."""
    repo = Repo("repo")
    repo.write("a.txt", f"one x{WORD}y {github_token('a')} canary-of-the-line\n")
    repo.commit()
    execute("scan", "repo")
    holds(b"canary-of-the-line" in all_bytes("home"), "the state has lines, and they can be searched")
    repo.write("b.txt", found())
    repo.commit()
    with_state = json.loads(execute("scan", "repo", "--format", "json").stdout)
    without = json.loads(execute("scan", "repo", "--no-state", "--format", "json").stdout)
    equal(with_state["findings"], without["findings"])
    holds(f"one x{MASK}y {MASK} canary-of-the-line" in excerpts(with_state), excerpts(with_state))
    repo.git("update-ref", "refs/heads/main", "HEAD~1")
    with_state = json.loads(execute("scan", "repo", "--format", "json").stdout)
    without = json.loads(execute("scan", "repo", "--no-state", "--format", "json").stdout)
    equal(with_state["findings"], without["findings"])
    equal(excerpts(without), [f"one x{WORD}y {MASK} canary-of-the-line"])


@test
def secrets_are_shown_on_request():
    repo = Repo("repo")
    repo.write("a.txt", f"one x{WORD}y {github_token('a')}\n")
    repo.write("b.txt", found())
    repo.commit()
    report = json.loads(execute("scan", "repo", "--format", "json", "--show-secrets").stdout)
    holds(f"one x{WORD}y {github_token('a')}" in excerpts(report), excerpts(report))
    equal(leaks(all_bytes("home"), [WORD, OTHER, SHORT]), [])


main()
