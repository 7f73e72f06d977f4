#!/usr/bin/env python3
"""turnstone scan: the key id and the secret of one key are one finding."""
import json
import os
import random
import string
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import run  # noqa: E402
from repo import Repo  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

CHANCE = random.Random("turnstone pairs")


def draw(alphabet, count):
    return "".join(CHANCE.choice(alphabet) for _ in range(count))


def aws():
    """Returns the made-up id and secret of an AWS key. The account number that is encoded in the id has 12
    digits."""
    return "AKIA" + "Z3QF2K7XJ4" + draw(string.ascii_uppercase, 6), draw(string.ascii_letters + string.digits, 36) + "7/+x"


def put(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def found(*arguments):
    """Returns [(rule, secret, secret of the pair)] of the findings. The last is None for a finding without a
    pair."""
    result = run("scan", "--show-secrets", "--format", "jsonl", *arguments)
    equal(result.err, "")
    rows = [json.loads(line) for line in result.out.splitlines()]
    return sorted((row["rule"], row["secret"], row["pair"] and row["pair"]["secret"]) for row in rows)


def secrets(*pairs):
    return sorted(("aws-secret-access-key", secret, key_id) for key_id, secret in pairs)


@test
def each_secret_is_reported_with_its_own_id():
    keys = [aws() for _ in range(3)]
    put("ini/credentials", "".join(f"[p{n}]\naws_access_key_id = {a}\naws_secret_access_key = {b}\n" for n, (a, b) in enumerate(keys)))
    equal(found("--dir", "ini"), secrets(*keys))
    put("turned/credentials", "".join(f"aws_secret_access_key = {b}\naws_access_key_id = {a}\n" for a, b in keys))
    equal(found("--dir", "turned"), secrets(*keys))
    put("json/keys.json", json.dumps([{"accessKeyId": a, "secretAccessKey": b} for a, b in keys], separators=(",", ":")))
    equal(found("--dir", "json"), secrets(*keys))


@test
def an_id_belongs_to_the_nearest_secret_and_to_one_only():
    (first, one), (second, two) = aws(), aws()
    put("shared/a.ini", f"aws_access_key_id = {first}\naws_secret_access_key = {one}\naws_secret_access_key = {two}\n")
    equal(found("--dir", "shared"), sorted([("aws-secret-access-key", one, first), ("aws-secret-access-key", two, None)]))
    put("lone/a.ini", f"aws_access_key_id = {first}\naws_access_key_id = {second}\naws_secret_access_key = {two}\n")
    equal(found("--dir", "lone"), sorted([("aws-access-key-id", first, None), ("aws-secret-access-key", two, second)]))
    put("again/a.ini", f"aws_access_key_id = {first}\naws_secret_access_key = {one}\n" +
        f"aws_access_key_id = {second}\naws_secret_access_key = {one}\n")
    equal([row for row in found("--dir", "again") if row[0] == "aws-secret-access-key"], [("aws-secret-access-key", one, first)])


@test
def other_secrets_between_the_halves_do_not_separate_them():
    key_id, secret = aws()
    others = [f"s{n} = sk_live_{draw(string.ascii_letters + string.digits, 24)}\n" for n in range(18)]
    put("between/a.ini", "".join(others[:-1]) + f"aws_access_key_id = {key_id}\n{others[-1]}aws_secret_access_key = {secret}\n")
    equal([row for row in found("--dir", "between") if row[0].startswith("aws")], secrets((key_id, secret)))


@test
def halves_that_are_far_apart_or_alone_are_findings_of_their_own():
    (key_id, secret), (other, _) = aws(), aws()
    put("far/a.txt", f"aws_access_key_id = {key_id}\n" + "x = 1\n" * 300 + f"aws_secret_access_key = {secret}\n")
    put("far/b.txt", f"aws_access_key_id = {other}\n")
    equal(found("--dir", "far"), sorted([("aws-access-key-id", key_id, None), ("aws-access-key-id", other, None),
                                         ("aws-secret-access-key", secret, None)]))


@test
def an_id_that_is_no_secret_is_reported_only_with_one():
    sid, token = "AC" + draw("0123456789abcdef", 32), draw("0123456789abcdef", 32)
    put("twilio/.env", f"TWILIO_ACCOUNT_SID={sid}\nTWILIO_AUTH_TOKEN={token}\n")
    equal(found("--dir", "twilio"), [("twilio-auth-token", token, sid)])
    holds(f"with Twilio account SID {sid}:" in run("scan", "--dir", "twilio").out, "the id is shown whole")
    put("alone/.env", f"TWILIO_ACCOUNT_SID={sid}\n")
    result = run("scan", "--dir", "--min-confidence", "low", "alone")
    equal(result.status, 0)
    holds("--min-confidence" not in result.out, "it is not counted as a finding that is left out")


@test
def a_rule_of_the_target_does_not_show_secrets():
    secret = draw(string.ascii_letters + string.digits, 30) + "7"
    put("hostile/rules.yml", f"""rules:
  - {{id: team-token, name: T, severity: low, pattern: 'team_(?<secret>[A-Za-z0-9]{{31}})', context: true, pair: [generic-secret]}}
""")
    put("hostile/.turnstone.yml", "rules: [rules.yml]\n")
    put("hostile/a.env", f"A_SECRET=Kestrel99x7Granite4417\nX=team_{secret}\n")
    result = run("scan", "--dir", "hostile")
    holds(secret not in result.out, "redacted")


@test
def an_allowed_secret_leaves_its_id():
    key_id, secret = aws()
    put("allowed/k.ini", f"aws_access_key_id = {key_id}\naws_secret_access_key = {secret}  # turnstone:allow\n")
    equal(found("--dir", "allowed"), [("aws-access-key-id", key_id, None)])


@test
def a_baseline_of_the_id_does_not_call_it_gone():
    repo = Repo("known")
    key_id, secret = aws()
    repo.write("k.ini", f"aws_access_key_id = {key_id}\n")
    repo.commit()
    equal(run("baseline", "known", "-o", "b.json").status, 0)
    repo.write("k.ini", f"aws_access_key_id = {key_id}\naws_secret_access_key = {secret}\n")
    repo.commit()
    report = json.loads(run("scan", "known", "--baseline", "b.json", "--format", "json").out)
    equal([(row["rule"], row["is_new"]) for row in report["findings"]], [("aws-secret-access-key", True)])
    equal(report["summary"]["baseline"]["gone"], [])
    one_thread = run("scan", "known", "--jobs", "1", "--state", "s", "--format", "jsonl").out
    equal(run("scan", "known", "--state", "s", "--format", "jsonl").out, one_thread)


main()
