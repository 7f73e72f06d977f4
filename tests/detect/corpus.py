#!/usr/bin/env python3
"""corpus.py PROGRAM PART DIR: writes a part of the labelled corpus, 'trained' or 'held', with its labels.tsv.

The shapes of tokens come from the rules of PROGRAM; everything around them is written here. The same PART has the
same files every time.
"""
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import credential_files  # noqa: E402
import negatives  # noqa: E402
import values  # noqa: E402
from surroundings import BARE, HELD, SYNTAXES, Site, TRAINED, VALUE, fits, pascal, snake, upper  # noqa: E402

SEEN_COUNT = 12  # number of values of each kind of false positive that real repositories had
YAML_COUNT = 60
SYNTAX_COUNT = 60
SIZES = {"trained": (1000, 2400), "held": (700, 1500)}  # number of generic secrets, number of negatives
OWNERS = {"trained": "db database mysql postgres redis smtp mail admin root ldap ftp app service billing worker".split(),
          "held": "mssql mongo kafka proxy vpn reporting sync crawler edge erp wiki backup".split()}
PASSWORDS = "password passwd pwd passphrase pass".split()
KEYS = ("secret token api_key apikey access_key secret_key private_key client_secret auth_token access_token encryption_key "
        "signing_key master_key api_token webhook_secret session_secret jwt_secret refresh_token").split()


def rules_of(program):
    out = subprocess.run([program, "rules", "list", "--json"], check=True, capture_output=True, text=True).stdout
    return [json.loads(one) for one in out.splitlines()]


class Corpus:
    def __init__(self, folder):
        self.folder, self.labels, self.count = folder, [], 0

    def add(self, path, text, value, family, rule=""):
        """Writes one file, and labels its value."""
        self.count += 1
        path = f"{self.count:05}/{path}"
        at = text.index(VALUE)
        before, whole = text[:at], text.replace(VALUE, value)
        data = whole.encode()
        self.labels.append("\t".join([path, place_of(before), place_of(before + value), family, *([rule] if rule else [])]))
        full = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(data)

    def close(self):
        with open(os.path.join(self.folder, "labels.tsv"), "w", encoding="utf-8") as file:
            file.write("\n".join(self.labels) + "\n")


def place_of(before):
    data = before.encode()
    return f"{data.count(10) + 1}:{len(data) - data.rfind(10)}"


def family_of(rule):
    return os.path.basename(rule["file"]).split(".")[0]


def name_for(rule, chance):
    """Returns the words of a name that people would give to a secret of this rule: a service and a kind of
    secret."""
    words = rule["keywords"] or [rule["id"]]
    service = chance.choice(words).strip("_-. =:").lower().replace("-", "_").replace(".", "_").replace(" ", "_")
    service = [w for w in service.split("_") if w.isalnum()] or ["service"]
    kind = chance.choice(["token", "api_key", "secret", "key"]).split("_")
    return service if service[-1] in ("token", "key", "secret", "password") else service + kind


def add_specific(corpus, rule, chance, places):
    """Writes a file with a secret of this rule. Returns False if no surroundings fit the secret."""
    pattern = values.compiled(rule["pattern"])
    value = values.secret_of(rule, chance)
    if value is None:
        return False
    match = pattern.search(f"x = {value} ")
    if match and match.group("secret") == value and not rule["paths"]:
        fitting = [p for p in places if fits(p, value)]
        if fitting:
            path, text = chance.choice(fitting)(Site(chance, name_for(rule, chance)))
            corpus.add(path, text, value, family_of(rule), rule["id"])
            return True
    for example in chance.sample(rule["examples"]["match"], len(rule["examples"]["match"])):
        text = example["text"].replace(example["secret"], VALUE, 1)
        whole = text.replace(VALUE, value)
        if VALUE not in text or not any(m.group("secret") == value for m in pattern.finditer(whole)):
            continue
        site = Site(chance, ["x"])
        path = f"{site.thing}/{site.verb}.txt"
        if rule["paths"]:
            path = rule["paths"][0].replace("**/", "").replace("*", site.thing).strip("/")
        corpus.add(path, f"{text}\n", value, family_of(rule), rule["id"])
        return True
    return False


LABELS = ["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]


def add_private_key(corpus, chance):
    site = Site(chance, ["x"])
    value = values.pem(chance, chance.choice(LABELS))
    kind = chance.randrange(3)
    if kind == 0:
        corpus.add(f"deploy/{site.thing}.pem", f"{VALUE}\n", value, "private-keys")
    elif kind == 1:
        corpus.add(f"src/{site.thing}.py", f'KEY = """{VALUE}\n"""\nLIMIT = {site.number}\n', value, "private-keys")
    else:
        corpus.add(f"conf/{site.thing}.json", f'{{"host": "{site.host}", "key": "{VALUE}\\n"}}\n', value.replace("\n", "\\n"), "private-keys")


def add_generic(corpus, chance, owners, places):
    """Writes a file with a secret without an issuer. Its name says that it is a secret, and a person or a
    machine chose its value."""
    is_password = chance.random() < 0.45
    kind = chance.choice(PASSWORDS if is_password else KEYS)
    value = values.password(chance) if is_password else values.key(chance)
    fitting = [p for p in places if fits(p, value)]
    path, text = chance.choice(fitting)(Site(chance, [chance.choice(owners), *kind.split("_")]))
    corpus.add(path, text, value, "generic")


def add_url(corpus, chance, owners, places):
    value = values.password(chance)
    scheme = chance.choice(["https", "ftp", "ldap", "imap", "http", "rsync"])
    site = Site(chance, chance.choice(["service_url", "endpoint", "remote"]).split("_"))
    path, text = chance.choice([p for p in places if p not in BARE])(site)
    if any(c in value for c in "/@#%"):
        return
    corpus.add(path, text.replace(VALUE, f"{scheme}://{chance.choice(owners)}:{VALUE}@{site.host}/{site.thing}"), value, "generic")


def add_yaml(corpus, chance, owners):
    """Writes a YAML file with a password without quotes, the most usual form in such files."""
    site = Site(chance, [chance.choice(owners)])
    value = values.password(chance)
    if value[0] in "!@#%&*" or " #" in value or value.endswith(":"):
        return
    path = chance.choice([f"charts/{site.thing}/values.yaml", f"roles/{site.thing}/vars/main.yml", f"config/{site.thing}.yml", f"{site.thing}.yaml"])
    word = chance.choice(["password", "adminPassword", "rootPassword", "password", "admin_password", "login_password", "passphrase", "passwd"])
    corpus.add(path, f"{site.thing}:\n  host: {site.host}\n  user: {site.verb}\n  {word}: {VALUE}\n  port: {site.number}\n", value, "generic")


def add_syntax(corpus, chance, part):
    """Writes a file with a key in one of SYNTAXES."""
    path, text = chance.choice(SYNTAXES[part])
    words = [chance.choice(OWNERS[part]), *chance.choice(["api_key", "auth_token", "client_secret", "access_token"]).split("_")]
    value = values.letters(chance, values.ALPHABET62, chance.choice([32, 40, 48]))
    thing = Site(chance, words).thing
    text = text.format(n=snake(words), c=pascal(words), u=upper(words), v=VALUE)
    corpus.add(path.format(t=thing), f"# {chance.randint(1, 9999)}\n{text}\n", value, "generic")


def main(program, part, folder):
    chance = random.Random(f"turnstone {part}")
    own_chance = random.Random(f"turnstone credential files {part}")  # separate draws, so that these files do not change the others
    is_held = part == "held"
    places = TRAINED + HELD if is_held else TRAINED
    generic_count, negative_count = SIZES[part]
    os.makedirs(folder, exist_ok=True)
    corpus = Corpus(folder)
    left_out = []
    for rule in rules_of(program):
        if rule["context"] or family_of(rule) != "credential-files" and (rule["generic"] or family_of(rule) in ("generic", "settings")):
            continue
        if family_of(rule) == "credential-files":
            done = credential_files.add(corpus, rule, own_chance, part)
        else:
            done = add_specific(corpus, rule, chance, places)
        if not done:
            left_out.append(rule["id"])
    for _ in range(60):
        add_private_key(corpus, chance)
    for number in range(generic_count):
        if number % 12 == 0:
            add_url(corpus, chance, OWNERS[part], places)
        else:
            add_generic(corpus, chance, OWNERS[part], places)
    for _ in range(negative_count):
        kind, path, text, value = negatives.draw(chance, is_held)
        corpus.add(path, text, value, f"!{kind}")
    for kind in negatives.SEEN:
        for _ in range(SEEN_COUNT):
            path, text, value = kind(own_chance, places)
            corpus.add(path, text, value, f"!{kind.__name__.replace('_', '-')}")
    for _ in range(YAML_COUNT):
        add_yaml(corpus, own_chance, OWNERS[part])
    syntax_chance = random.Random(f"turnstone syntaxes {part}")
    for _ in range(SYNTAX_COUNT):
        add_syntax(corpus, syntax_chance, part)
    corpus.close()
    if left_out:
        print(f"{len(left_out)} rules without surroundings: {' '.join(left_out)}", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[2] not in SIZES:
        sys.exit(__doc__)
    main(*sys.argv[1:])
