#!/usr/bin/env python3
"""Secrets that scans of real repositories missed must be found. False positives that these scans reported
must not be reported again."""
import base64
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import run  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

TOKEN = "Tq7ZrnLstWone2PnlyKA4vestMKey8Zq3WvJ"


def scan(files):
    """Writes the files into a folder, and returns rule, path and confidence of each finding."""
    os.mkdir("files")
    for path, content in files.items():
        whole = os.path.join("files", path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
    result = run("scan", "--dir", "--format", "jsonl", "--occurrences", "all", "files")
    holds(result.status in (0, 1) and not result.err, result)
    found = [json.loads(line) for line in result.out.splitlines()]
    subprocess.run(["rm", "-r", "files"], check=True)
    return {(one["rule"], place["path"], one["confidence"]) for one in found for place in one["occurrences"]}


@test
def every_django_key_is_found():
    chance = random.Random(17)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)"
    keys = ["".join(chance.choice(letters) for _ in range(50)) for _ in range(200)]
    found = scan({f"{number}/settings.py": f"DEBUG = True\nSECRET_KEY = '{key}'\n" for number, key in enumerate(keys)})
    equal(len({path for rule, path, _ in found if rule == "django-secret-key"}), 200)
    # Under another name, the rule generic-secret finds the keys.
    found = scan({f"{number}.py": f'SIGNING_SECRET = "{key}"\n' for number, key in enumerate(keys)})
    equal(len({path for rule, path, _ in found if rule == "generic-secret"}), 200)


@test
def django_keys_without_quotes_are_found():
    chance = random.Random(19)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)"
    found = scan({f"{number}/.env": f"DEBUG=0\nSECRET_KEY={''.join(chance.choice(letters) for _ in range(50))}\n" for number in range(100)})
    equal(len({path for rule, path, _ in found if rule == "django-env-secret-key"}), 100)


@test
def secrets_are_found_in_the_syntax_of_other_languages_and_tools():
    password = "hu4-Tw9-Qz1"
    cases = {
        "a.vb": f'Const ApiToken As String = "{TOKEN}"\n', "a.fish": f"set -x API_TOKEN {TOKEN}\n", "a.csh": f"setenv API_TOKEN {TOKEN}\n",
        "Dockerfile": f"FROM x\nENV API_TOKEN {TOKEN}\n", "db/Dockerfile": f"FROM x\nENV DB_PASSWORD {password}\n",
        "a.m": f'NSString *const kApiSecret = @"{TOKEN}";\n', "a.h": f'#define WIFI_PASSWORD "{password}"\n',
        "a.clj": f'{{:api-key "{TOKEN}"}}\n', "a.ts": f"const c = {{ token: process.env.TOKEN || '{TOKEN}' }}\n",
        "a.erl": f'{{auth_token, <<"{TOKEN}">>}}.\n', "a.plist": f"<key>ApiSecret</key>\n<string>{TOKEN}</string>\n",
        "a.sh": f"./deploy --api-key {TOKEN} --stage prod\n", "b.sh": f"docker login -u shop -p {password} registry.internal\n",
        "c.sh": f"redis-cli -h cache -a {password} ping\n", "d.sh": f"sqlplus shop/{password}@ORCL @x.sql\n",
        "a.tf": f'variable "db_password" {{\n  default = "{password}"\n}}\n', "a.yml": f"  DBPassword:\n    Type: String\n    Default: {password}\n",
        "arm.json": f'{{"adminPassword": {{"value": "{password}"}}}}\n', "a.sql": f"CREATE LOGIN x WITH PASSWORD = N'{password}';\n",
        "a.php": f"$m = new mysqli('db', 'shop', '{password}', 'shop');\n", "b.php": f"$p = new PDO('mysql:host=db', 'shop', '{password}');\n",
        "a.java": f'DriverManager.getConnection("jdbc:mysql://db/x", "shop", "{password}");\n', "a.py": f"requests.get(url, auth=('shop', '{password}'))\n",
        "a.go": f'sql.Open("mysql", "shop:{password}@tcp(db:3306)/shop")\n', "b.cs": f'Connect("cache:6380,password={password},ssl=True");\n',
        "a.cs": f'new AuthenticationHeaderValue("Bearer", "{TOKEN}");\n', "c.php": f'$h = ["Authorization" => "Token {TOKEN}"];\n',
        "a.har": f'{{"name":"x-api-key","value":"{TOKEN}"}}\n', "office.ovpn": f"<auth-user-pass>\nshop\n{password}\n</auth-user-pass>\n",
        "a.txt": f"root password: {password}\n", "user-data": f"#cloud-config\nchpasswd:\n  list: |\n    root:{password}\n",
    }
    usual = {path for _, path, confidence in scan(cases) if confidence != "low"}
    equal(sorted(set(cases) - usual), [])


@test
def a_pinned_commit_or_a_checksum_is_no_key_of_the_service_that_it_is_next_to():
    commit = "4c8a1f6e2b9d07c35a18e4f2b6d9037cfa4e7dea"
    equal(scan({".github/workflows/a.yml": f"- uses: DataDog/synthetics-action@{commit} # v1.4.0\n",
                "sums.txt": f"algolia-4.20.tgz: {commit[:32]}\n", "versions.tf": f'bitly_rev = "{commit}"\n'}), set())


@test
def encrypted_private_keys_are_told_from_plain_ones():
    subprocess.run(["openssl", "genpkey", "-algorithm", "rsa", "-out", "plain.pem"], check=True, capture_output=True)
    subprocess.run(["openssl", "pkcs8", "-topk8", "-in", "plain.pem", "-out", "pkcs8.pem", "-passout", "pass:x"], check=True, capture_output=True)
    subprocess.run(["openssl", "rsa", "-traditional", "-aes128", "-in", "plain.pem", "-out", "rsa.pem", "-passout", "pass:x"], check=True, capture_output=True)

    def ssh(cipher, chance=random.Random(20)):
        body = b"openssh-key-v1\0" + len(cipher).to_bytes(4, "big") + cipher + chance.randbytes(300)
        lines = base64.encodebytes(body).decode()
        return f"-----BEGIN OPENSSH PRIVATE KEY-----\n{lines}-----END OPENSSH PRIVATE KEY-----\n"
    files = {"ssh": ssh(b"aes256-ctr"), "open": ssh(b"none")}
    for name in ("plain.pem", "pkcs8.pem", "rsa.pem"):
        with open(name, encoding="ascii") as file:
            files[name] = file.read()
    equal({(rule, path) for rule, path, _ in scan(files)}, {
        ("private-key", "plain.pem"), ("private-key", "open"),
        *(("encrypted-private-key", name) for name in ("pkcs8.pem", "rsa.pem", "ssh"))})


@test
def long_values_without_quotes_are_found():
    chance = random.Random(18)
    found = scan({f"{size}.env": f"SESSION_SECRET={''.join(chance.choice('0123456789abcdef') for _ in range(size))}\n"
                  for size in (32, 64, 89, 128, 256)})
    equal({(rule, path) for rule, path, _ in found},
          {("generic-env-secret", f"{size}.env") for size in (32, 64, 89, 128, 256)})


@test
def key_stores_are_found_by_what_they_are():
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                    "key.pem", "-out", "cert.pem", "-subj", "/CN=x", "-days", "2"], check=True, capture_output=True)
    subprocess.run(["openssl", "pkcs12", "-export", "-inkey", "key.pem", "-in", "cert.pem", "-out", "store.p12",
                    "-passout", "pass:x"], check=True, capture_output=True)
    subprocess.run(["openssl", "pkcs8", "-topk8", "-nocrypt", "-in", "key.pem", "-outform", "DER", "-out", "key.der"],
                   check=True, capture_output=True)
    with open("store.p12", "rb") as file:
        store = file.read()
    with open("key.der", "rb") as file:
        key = base64.b64encode(file.read()).decode()
    with open("cert.pem", encoding="ascii") as file:
        certificate = file.read()
    found = scan({"a/store.p12": store, "renamed.bin": store, "cert.pem": certificate, "der.env": f"SIGNING_KEY={key}\n"})
    equal({(rule, path) for rule, path, _ in found},
          {("pkcs12-key-store", "a/store.p12"), ("pkcs12-key-store", "renamed.bin"), ("private-key-der", "der.env")})


@test
def an_ed25519_key_is_found_in_strings_that_are_put_together():
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", "key.pem"], check=True, capture_output=True)
    with open("key.pem", encoding="ascii") as file:
        lines = file.read().splitlines()
    joined = " +\n    ".join(f'"{line}\\n"' for line in lines)
    listed = ",\n    ".join(f"'{line}'" for line in lines)
    found = scan({"a.go": f"key := {joined}\n", "b.js": f"const key = [\n    {listed}\n].join('\\n')\n"})
    equal(found, {("private-key", "a.go", "high"), ("private-key", "b.js", "high")})


@test
def files_that_machines_write_have_no_generic_secrets():
    secret = f'"api_secret": "{TOKEN}"\npassword: "hu4-Tw9-Qz!"\n'
    silent = [".secrets.baseline", "app/.secrets.baseline", "go.sum", "web/package-lock.json", "locales/de.json",
              "src/i18n/fr.yml", "po/de.po", "gitleaks-report.json"]
    found = scan({path: secret for path in [*silent, "config.yml"]})
    equal({path for _, path, _ in found}, {"config.yml"})
    # In such files, rules for the secrets of an issuer still find secrets.
    pat = "ghp_" + "Fake7Turnstone2Only9A4Test6Key2uTXR0"
    equal({(rule, path) for rule, path, _ in scan({"package-lock.json": f'"resolved": "https://x:{pat}@git.internal/"'})},
          {("github-pat", "package-lock.json")})
    # A checksum after the name of a service looks like a key of that service. In lock files, it is not
    # reported.
    checksums = f"SPEC CHECKSUMS:\n  DatadogCore: {'4c8a1f6e2b9d07c3' * 2}5a18e4f2\n"
    equal({path for _, path, _ in scan({"ios/Podfile.lock": checksums, "Cargo.lock": checksums, "notes.txt": checksums})},
          {"notes.txt"})


@test
def a_value_that_is_not_a_password_is_not_reported():
    silent = {
        "same.js": 'userPassword = "userPassword"\n',
        "name.js": 'password: "confirmPasswordInput"\n',
        "words.json": '{"Password": "Passwort", "password": "Contrase\u00f1a"}\n',
        "hash.yml": 'password: "$2b$12$Tq7ZrnLstWone2PnlyKA4uvestMKey8Zq3WvJTq7ZrnLstWone2Pnl"\n',
        "mysql.yml": 'password: "*4C8A1F6E2B9D07C35A18E4F2B6D9037C4C8A1F6E"\n',
        "lang/nl/auth.js": 'export default { password: "Wachtwoord1!" }\n',
        "sha.json": '"password": "sha512$Tq7ZrnLstWone2$' + "4c8a1f6e2b9d07c3" * 8 + '"\n',
        "hash.py": "password = 'pbkdf2_sha256$260000$Tq7ZrnLstWone2$PnlyKA4vestMKey8Zq3WvJ='\n",
        "check.js": "expect(checkPassword('password', 'hu4-Tw9-Qz!')).toBe(true)\n",
    }
    equal(scan(silent), set())


@test
def made_up_values_have_low_confidence():
    def unsigned():
        parts = (json.dumps({"alg": "none", "typ": "JWT"}), json.dumps({"sub": "u1", "n": 12345, "x": "y" * 20}))
        return ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts) + "."
    found = scan({
        "unsigned.http": f"Authorization: Bearer {unsigned()}\n",
        "fake.txt": f"glpat-{'Fake' + TOKEN[:16]}\n",
        "counted.txt": f"glpat-{'123456' + TOKEN[:14]}\n",
        "real.txt": f"glpat-{TOKEN[:20]}\n",
        "url.txt": "https://deploy:hu4-Tw9-Qz@git.example.com/x.git\n",
        "shop.txt": "https://deploy:hu4-Tw9-Qx@shop.example.com/x.git\n",
        "other.txt": "https://deploy:hu4-Tw9-Qy@git.internal/x.git\n",
    })
    equal({(path, confidence) for _, path, confidence in found}, {
        ("unsigned.http", "low"), ("fake.txt", "low"), ("counted.txt", "low"), ("real.txt", "high"), ("url.txt", "low"),
        ("shop.txt", "low"),
        ("other.txt", "high")})


@test
def a_rule_with_paths_finds_something_there_only():
    rule = ("rules:\n  - {id: plain, name: N, severity: low, pattern: 'pass (?<secret>[a-z]{6})', gate: ['pass '],\n"
            "     paths: ['conf/*.ini', .legacyrc], not-paths: [conf/test.ini]}\n")
    with open("own.yml", "w", encoding="utf-8") as file:
        file.write(rule)
    os.makedirs("tree/conf")
    for path in ("conf/a.ini", "conf/test.ini", "conf/a.txt", ".legacyrc", "a.ini"):
        with open(f"tree/{path}", "w", encoding="utf-8") as file:
            file.write("pass sesame\n")
    result = run("scan", "--dir", "--no-builtin-rules", "--rules", "own.yml", "--format", "jsonl", "--occurrences", "all", "tree")
    equal([place["path"] for place in json.loads(result.out)["occurrences"]], [".legacyrc", "conf/a.ini"])


main()
