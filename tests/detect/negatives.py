"""Texts that only look like secrets: the hard negatives of the corpus.

Each kind is a function that takes the random generator and the places. It returns a path, a text with VALUE
in it, and the value. The kinds in HELD_KINDS are only in the held-out part.
"""
import base64
import json

import values
from surroundings import BARE, HELD as HELD_PLACES, HOSTS, Site, THINGS, TRAINED, VALUE, VERBS, camel, kebab, pascal, snake, upper

LETTERS, DIGITS, HEX, ALPHABET62 = values.LETTERS, values.DIGITS, values.HEX, values.ALPHABET62
SECRET_WORDS = "password secret token api_key access_key private_key client_secret auth_token passphrase".split()


def hexes(chance, count):
    return values.letters(chance, HEX, count)


def named(chance, places, names, value):
    """Returns path, text and value, for a value in one of the places where secrets occur, with a name from
    the list."""
    place = chance.choice([p for p in places if value and (p not in BARE or not set(value) & set(" #;&|<>(){}$*?,[]!%^~:\"'`"))])
    path, text = place(Site(chance, chance.choice(names).split("_")))
    return path, text, value


def line(path, text, value):
    return path, text, value


def thing(chance):
    return chance.choice(THINGS)


# ---- values that are not secrets, with names of secrets ----

def placeholder(chance, places):
    word = chance.choice(SECRET_WORDS)
    value = chance.choice([f"your-{kebab(word.split('_'))}-here", f"YOUR_{word.upper()}", f"<{word}>", "changeme", "change-me-please",
                           "xxxxxxxxxxxxxxxx", "****************", f"my-{kebab(word.split('_'))}", f"insert_{word}_here", "TBD",
                           f"REPLACE_WITH_{word.upper()}", f"example-{kebab(word.split('_'))}-1", "0000000000000000",
                           "1234567890abcdef", "REDACTED", "dummy-value-for-ci", "not-a-real-secret", "placeholder1"])
    return named(chance, [p for p in places if p not in BARE] if "<" in value else places, [word], value)


def template(chance, places):
    word = chance.choice(SECRET_WORDS)
    value = chance.choice([f"${{{word.upper()}}}", f"{{{{ {word} }}}}", f"%{word.upper()}%", f"${{env.{word.upper()}}}",
                           f"$({word.upper()})", f"#{{{word}}}", f"<%= ENV['{word.upper()}'] %>", f"@@{word.upper()}@@",
                           f"{{{word}}}", f"__{word.upper()}__", f"secrets.{word.upper()}_2"])
    if "'" in value:
        places = [p for p in places if p.__name__ in ("yaml_settings", "xml_settings", "python_client")] or places
    path, text = chance.choice([p for p in places if p not in BARE or True])(Site(chance, word.split("_")))
    return path, text, value


def identifier(chance, places):
    a, b = thing(chance), chance.choice(VERBS)
    word = chance.choice(SECRET_WORDS)
    value = chance.choice([camel([a, *word.split("_")]), snake([b, a, *word.split("_")]), pascal([a, b, "token"]),
                           f"{a}.{camel(word.split('_'))}.v2", upper([a, *word.split("_")]), f"{a}-{kebab(word.split('_'))}-2",
                           f"{a}_{b}_field", f"auth.{a}.{b}", f"{pascal([a, b])}Provider", f"{a}/{b}/{word}"])
    return named(chance, places, [word, f"{word}_field", f"{a}_{word}"], value)


def translation(chance, places):
    language = chance.choice(["de", "fr", "es", "it", "pl", "sv"])
    word = chance.choice(["Passwort", "Contraseña", "Mot de passe", "Kennwort zurücksetzen", "Hasło", "Lösenord", "Enter your password",
                          "Jeton d'accès", "Parola d'ordine", "Geheimnis", "Token abgelaufen", "Password must be 8 characters"])
    key = chance.choice(["password", "token", "secret", "passwordConfirm", "apiKey", "resetPassword"])
    path = chance.choice([f"locales/{language}.json", f"src/ui/{thing(chance)}.js", f"i18n/{language}/login.json", f"web/labels_{language}.ts"])
    return path, f'{{\n  "login": "Login",\n  "{key}": "{VALUE}",\n  "cancel": "X"\n}}\n', word


def code_type(chance, places):
    word = chance.choice(SECRET_WORDS)
    value = chance.choice(["String", "Option<String>", "str | None", "SecretString", "std::string", "NSString *", "char[]", "[]byte",
                           "Optional[str]", "z.string().min(8)", "types.StringType", "Buffer.from(raw)"])
    path = chance.choice([f"src/{thing(chance)}.rs", f"src/{thing(chance)}.ts", f"{thing(chance)}/models.py", f"lib/{thing(chance)}.kt"])
    return path, f"struct Login {{\n    user: String,\n    {word}: {VALUE},\n    limit: u32,\n}}\n", value


def code_call(chance, places):
    word = chance.choice(SECRET_WORDS)
    a, b = thing(chance), chance.choice(VERBS)
    value = chance.choice([f"get_{word}({a})", f"os.environ['{word.upper()}']", f"process.env.{word.upper()}", f"{a}.{b}_{word}(request, 32)",
                           f"secrets.token_hex({chance.randint(16, 64)})", f"getpass.getpass('{word}: ')", f"config.{a}.{camel(word.split('_'))}",
                           f"crypto.randomBytes({chance.randint(16, 64)}).toString('hex')", f"vault.read('{a}/{b}').{word}", f"{b}{pascal([a, 'key'])}(raw)",
                           f"req.headers['x-{kebab(word.split('_'))}']", f"viper.GetString(\"{a}.{word}\")", f"var.{a}_{word}",
                           f"data.aws_secretsmanager_secret_version.{a}.secret_string", f"self.{a}_{word}2", f"await {b}(user, 'utf8')"])
    path = chance.choice([f"src/{a}.js", f"{a}/{b}.py", f"internal/{a}/{b}.go", f"infra/{a}.tf"])
    return path, f"limit = {chance.randint(1, 99)}\n{word} = {VALUE}\nuser = load(limit)\n", value


def sql_column(chance, places):
    word = chance.choice(SECRET_WORDS)
    value = chance.choice(["VARCHAR(255) NOT NULL", "character varying(128)", "TEXT DEFAULT NULL", "bytea NOT NULL", "nvarchar(64)"])
    return f"db/migrate/{thing(chance)}.sql", f"CREATE TABLE {thing(chance)} (\n  id bigint PRIMARY KEY,\n  {word} {VALUE},\n  note text\n);\n", value


def help_text(chance, places):
    word = chance.choice(SECRET_WORDS)
    value = chance.choice([f"{word.upper()} of the account, at least 12 characters", f"path of the file that holds the {word}", f"reads the {word} from stdin2",
                           f"the {word} to send with each request (default: none)"])
    return f"docs/{thing(chance)}.md", f"Usage:\n\n    {chance.choice(VERBS)} --{kebab(word.split('_'))}={word.upper()}\n\n`--{kebab(word.split('_'))}`: {VALUE}\n", value


def password_hash(chance, places):
    body = values.letters(chance, ALPHABET62 + "./", 53)
    value = chance.choice([f"$2b$12${body}", f"$2y$10${body}", f"pbkdf2_sha256$260000${body[:12]}${body[12:44]}=", f"$6$rounds=5000${body[:8]}${body}",
                           f"{{SSHA}}{body[:32]}", f"$argon2id$v=19$m=65536,t=3,p=4${body[:16]}${body[16:48]}", f"sha1${body[:5]}${hexes(chance, 40)}"])
    path, text = chance.choice([p for p in places if p not in BARE])(Site(chance, chance.choice(["password", "admin_password", "user_passwd"]).split("_")))
    return path, text, value


def hashed_password(chance, places):
    return named(chance, places, ["password", "user_password", "admin_passwd", "old_password"], hexes(chance, chance.choice([32, 40, 64])))


def encrypted(chance, places):
    body = base64.b64encode(chance.randbytes(48)).decode()
    value = chance.choice([f"ENC[AES256_GCM,data:{body},iv:{body[:24]},tag:{body[24:48]},type:str]", f"ENC({body})", f"{{cipher}}{hexes(chance, 96)}",
                           f"!vault |$ANSIBLE_VAULT;1.1;AES256", f"AgB{body}{body}", f"vault:v1:{body}"])
    name = chance.choice(["encrypted_password", "sealed_token", "password_ciphertext", "encrypted_secret"])
    path, text = chance.choice([p for p in places if p not in BARE])(Site(chance, name.split("_")))
    return path, text, value


def weak_in_test(chance, places):
    """A weak password in a test. A scan reports it with low confidence, because the password may really be in
    use."""
    word = chance.choice(["password", "admin_password", "user_password", "passwd", "secret", "db_password"])
    path, text = chance.choice([p for p in places if p not in BARE])(Site(chance, word.split("_")))
    path = chance.choice(["tests/", "spec/", "test/fixtures/", "examples/", "src/__tests__/", "docs/samples/", "testdata/"]) + path
    return path, text, values.weak_password(chance)


def strong_in_test(chance, places):
    """A realistic password or key in a test or a document. A scan reports it with low confidence, too."""
    word = chance.choice(["password", "api_key", "secret", "token", "db_password", "access_token", "client_secret", "passwd", "auth_token"])
    value = values.password(chance) if "pass" in word else values.key(chance)
    path, text = chance.choice([p for p in places if p not in BARE])(Site(chance, word.split("_")))
    folder = chance.choice(["tests/", "spec/", "test/fixtures/", "examples/", "src/__tests__/", "docs/", "testdata/", "test/unit/", "mocks/"])
    return chance.choice([folder + path, folder + path, f"docs/{thing(chance)}.md", "README.md", f"{thing(chance)}_test.go"]), text, value


def assertion(chance, places):
    value = values.weak_password(chance)
    a = thing(chance)
    text = chance.choice([f'assert check_password("{VALUE}", {a}.hash)', f"expect(validatePassword('{VALUE}')).toBe(false)",
                          f'assertTrue(encoder.matches("{VALUE}", {a}.getPassword()))', f"login(user='{a}', password='{VALUE}')",
                          f'form.fill("password", "{VALUE}")', f"assert.equal(token.value, '{VALUE}')"])
    return chance.choice([f"tests/test_{a}.py", f"spec/{a}.spec.js", f"src/test/java/{a}/LoginTest.java"]), f"# {a}\n{text}\n", value


# ---- values that look like secrets, with names that say that the value is not a secret ----

def uuid_id(chance, places):
    return named(chance, places, "request_id tenant_id trace_id order_uuid session_ref resource_id correlation_id client_id".split(), values.uuid4(chance))


def commit(chance, places):
    return named(chance, places, "commit revision git_sha source_ref build_commit parent_commit".split(), hexes(chance, 40))


def checksum(chance, places):
    return named(chance, places, "sha256 checksum md5 digest content_hash etag integrity fingerprint".split(),
                 hexes(chance, chance.choice([32, 40, 64])))


def public_value(chance, places):
    value = values.key(chance)
    return named(chance, places, "public_key publishable_key csrf_token next_token page_token nonce cursor_token idempotency_key token_hash".split(), value)


def about_secret(chance, places):
    a = thing(chance)
    name, value = chance.choice([("token_url", f"https://{chance.choice(HOSTS)}/oauth2/v2.0/token"), ("secret_name", f"{a}-tls-2024"),
                                 ("private_key_path", f"/etc/ssl/private/{a}-2.pem"), ("token_type", "urn:ietf:params:oauth:token-type:jwt"),
                                 ("api_key_header", "X-Api-Key-V2"), ("password_file", f"/run/secrets/{a}_db2"), ("secret_id", f"arn-{a}-7x2k1"),
                                 ("access_key_id", "LTAI" + values.letters(chance, ALPHABET62, 6)), ("token_format", "eyJhbGci"),
                                 ("secret_ref", f"projects/{a}/secrets/db2"), ("password_policy", "min12-upper1-digit1"),
                                 ("token_endpoint", f"https://{chance.choice(HOSTS)}/realms/{a}/token"), ("key_algorithm", "AES256-GCM-SIV2"),
                                 ("secret_version", "v2024.11.03-a1b2"), ("token_expires_at", "2026-11-17T19:50:30Z")])
    return named(chance, places, [name], value)


def model_name(chance, places):
    name = chance.choice(["tokenizer", "tokenizer_name", "token_classifier", "token_model"])
    return named(chance, places, [name], chance.choice(["bert-base-uncased", "Wav2Vec2-Large-960h", "gpt2-medium-v2", "distilroberta-base-2"]))


# ---- files that machines write ----

def lock_file(chance, places):
    digest = base64.b64encode(chance.randbytes(64)).decode()
    name = thing(chance)
    kind = chance.randrange(4)
    if kind == 0:
        return "web/package-lock.json", f'"node_modules/{name}-token": {{\n  "version": "2.1.{chance.randint(0, 30)}",\n  "integrity": "sha512-{VALUE}"\n}}\n', digest
    if kind == 1:
        return "go.sum", f"github.com/acme/{name}-secret v1.{chance.randint(0, 30)}.0 h1:{VALUE}\n", base64.b64encode(chance.randbytes(32)).decode()
    if kind == 2:
        return "Cargo.lock", f'[[package]]\nname = "{name}-token"\nversion = "0.3.1"\nchecksum = "{VALUE}"\n', hexes(chance, 64)
    return "poetry.lock", f'token = [\n    {{file = "{name}-2.0.tar.gz", hash = "sha256:{VALUE}"}},\n]\n', hexes(chance, 64)


def minified(chance, places):
    parts = []
    for _ in range(30):
        a, b, c = (chance.choice(LETTERS) for _ in range(3))
        parts.append(chance.choice([f"function {a}{b}(t,e){{return t.{c}(e,{chance.randint(1, 99)})}}", f"var {a}={b}.token||{c}.password,{c}{a}=!0;",
                                    f"{a}.secret={b}.get(\"{a}{c}{chance.randint(1, 99)}\"),", f"e.password=t.password;"]))
    return f"static/{thing(chance)}.min.js", "".join(parts) + VALUE + "\n", "t.apiKey=r(n(417)),o.token=s.d7"


def source_map(chance, places):
    value = ",".join(values.letters(chance, "ACEGIKMOQSUWYacegikmoqsuw", chance.choice([4, 5, 8])) for _ in range(30))
    return f"dist/{thing(chance)}.js.map", json.dumps({"version": 3, "sources": ["token.ts", "password.ts"], "mappings": "@"}).replace("@", VALUE), value


def data_uri(chance, places):
    value = base64.b64encode(chance.randbytes(160)).decode()
    word = chance.choice(["token-icon", "key", "secret-badge", "password-eye"])
    return f"web/{thing(chance)}.css", f".{word} {{\n  background: url(data:image/png;base64,{VALUE});\n}}\n", value


def certificate(chance, places):
    label = chance.choice(["CERTIFICATE", "PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE REQUEST", "X509 CRL", "DH PARAMETERS"])
    return f"certs/{thing(chance)}.pem", f"{VALUE}\n", values.pem(chance, label)


def ssh_public(chance, places):
    value = base64.b64encode(b"\0\0\0\x07ssh-rsa" + chance.randbytes(260)).decode()
    return f"home/{thing(chance)}/authorized_keys", f"ssh-rsa {VALUE} {thing(chance)}@{chance.choice(HOSTS)}\n", value


def test_vector(chance, places):
    name = chance.choice(["plaintext", "ciphertext", "expected_mac", "input", "iv", "digest", "tag", "aad"])
    return f"crypto/testdata/{thing(chance)}_vectors.txt", f"Count = {chance.randint(0, 99)}\nLen = 256\n{name} = {VALUE}\n", hexes(chance, 64)


def url_plain(chance, places):
    a = thing(chance)
    value = chance.choice([f"https://{chance.choice(HOSTS)}:8443/{a}/token?page=2", f"postgres://{chance.choice(HOSTS)}:5432/{a}", f"redis://:@{chance.choice(HOSTS)}:6379/0",
                           f"mongodb://a.{a}.lan:27017,b.{a}.lan:27018/{a}?replicaSet=rs0", f"http://user:password@{chance.choice(HOSTS)}/{a}",
                           f"amqp://guest:guest@{chance.choice(HOSTS)}:5672/", f"https://${{USER}}:${{PASS}}@{chance.choice(HOSTS)}/{a}.git", f"ssh://git@{chance.choice(HOSTS)}:7999/{a}.git"])
    path, text = chance.choice([p for p in places if p not in BARE])(Site(chance, chance.choice(["service_url", "database_url", "endpoint", "redis_url"]).split("_")))
    return path, text, value


def log_ids(chance, places):
    a = thing(chance)
    value = chance.choice([hexes(chance, 32), values.uuid4(chance), values.mixed(chance, ALPHABET62, 22)])
    name = chance.choice(["request_id", "trace", "span", "session", "etag", "X-Amz-Cf-Id", "x-request-id", "job"])
    return f"var/log/{a}.log", f"2026-02-11T10:00:01Z INFO {a} token refreshed {name}={VALUE} took=41ms\n", value


def asset_hash(chance, places):
    value = f"{thing(chance)}.{hexes(chance, 20)}.chunk.js"
    return f"public/asset-manifest.json", f'{{\n  "files": {{\n    "token.js": "/static/js/{VALUE}"\n  }}\n}}\n', value


def resource_id(chance, places):
    value = chance.choice([f"arn:aws:secretsmanager:eu-west-1:{values.letters(chance, DIGITS, 12)}:secret:{thing(chance)}-{values.letters(chance, ALPHABET62, 6)}",
                           f"vpc-0{hexes(chance, 16)}", f"subnet-0{hexes(chance, 16)}", f"i-0{hexes(chance, 16)}", f"{values.letters(chance, DIGITS, 12)}.dkr.ecr.eu-west-1.amazonaws.com/{thing(chance)}"])
    path, text = chance.choice([p for p in places if p not in BARE])(Site(chance, chance.choice(["secret_arn", "vpc", "subnet", "instance", "repository"]).split("_")))
    return path, text, value


# ---- only in the held-out part ----

def regular_expression(chance, places):
    value = chance.choice([r"^(?=.*[A-Z])(?=.*\d)[A-Za-z\d]{8,64}$", r"[A-Za-z0-9_-]{20,64}", r"(?i)token[:=]\s*(\S+)", r"^sk_[a-z]{4}_[A-Za-z0-9]{24}$"])
    word = chance.choice(["passwordPattern", "tokenRegex", "SECRET_RE", "apiKeyPattern"])
    return f"src/{thing(chance)}/rules.ts", f"export const {word} = /{VALUE}/;\n", value


def kubernetes_ref(chance, places):
    value = chance.choice([f"{thing(chance)}-credentials-v2", f"{thing(chance)}-db-7f9c"])
    return f"k8s/{thing(chance)}.yaml", f"env:\n  - name: DB_PASSWORD\n    valueFrom:\n      secretKeyRef:\n        name: {VALUE}\n        key: password\n", value


def enum_value(chance, places):
    value = chance.choice(["token_expired_v2", "INVALID_PASSWORD_RESET_2", "api-key-revoked-403", "secret.rotation.scheduled", "AccessTokenV2Claims"])
    word = chance.choice(["TOKEN_EXPIRED", "PASSWORD_RESET", "API_KEY_REVOKED", "SECRET_ROTATION"])
    return f"src/{thing(chance)}/Events.java", f"public enum Events {{\n    {word}(\"{VALUE}\"),\n    OTHER(\"x\");\n}}\n", value


def css_class(chance, places):
    value = f"{thing(chance)}__password--visible_{values.letters(chance, ALPHABET62, 5)}"
    return f"web/{thing(chance)}.module.css.d.ts", f"export const password: \"{VALUE}\";\n", value


def graphql_hash(chance, places):
    return f"src/{thing(chance)}.graphql.js", f'export const document = {{ kind: "Token", hash: "{VALUE}" }};\n', hexes(chance, 64)


def base64_text(chance, places):
    value = base64.b64encode((" ".join(chance.choice(values.WORDS) for _ in range(9))).encode()).decode()
    return f"fixtures/{thing(chance)}.json", f'{{\n  "body": "{VALUE}",\n  "encoding": "base64"\n}}\n', value


def svg_path(chance, places):
    value = "".join(chance.choice("MLHVCZ") + f"{chance.randint(0, 99)}.{chance.randint(0, 99)} " for _ in range(20)).strip()
    return f"icons/token-{thing(chance)}.svg", f'<svg viewBox="0 0 24 24"><title>password</title><path d="{VALUE}"/></svg>\n', value


def docker_digest(chance, places):
    return f"{thing(chance)}/Dockerfile", f"FROM registry.corp.lan/token-{thing(chance)}:1.2@sha256:{VALUE}\nENV SECRET_BACKEND=vault\n", hexes(chance, 64)


def css_minified(chance, places):
    value = "".join(f".{values.letters(chance, LETTERS, 3)}{{color:#{hexes(chance, 6)}}}" for _ in range(12))
    return f"static/{thing(chance)}.min.css", f".password{{display:none}}{VALUE}\n", value


def changelog(chance, places):
    value = f"{hexes(chance, 40)}"
    return "CHANGELOG.md", f"- token refresh no longer races ([commit](https://git.corp.lan/x/commit/{VALUE}))\n", value


# ---- false positives of real repositories, in our own words ----

def file_checksum(chance, places):
    name = f"{pascal([thing(chance), chance.choice(['token', 'secret', 'password'])])}.{chance.choice(['php', 'ts', 'py'])}"
    return f".{thing(chance)}.cache", f'{{"version":"3","hashes":{{"src/Auth/{name}":"{VALUE}","src/Auth/Guard.php":"{hexes(chance, 32)}"}}}}', hexes(chance, 32)


def form_demand(chance, places):
    value = chance.choice([f"required|string|min:{chance.randint(6, 12)}", f"required|max:{chance.randint(60, 255)}|confirmed", "nullable|string|max:72",
                           f"required,min={chance.randint(6, 12)},max=64", f"required|min:{chance.randint(6, 9)}"])
    return f"app/Requests/{pascal([thing(chance)])}.php", f"        return [\n            'email' => 'required|email|max:{chance.randint(40, 999)}',\n            'password' => '{VALUE}',\n        ];\n", value


def language_folder(chance, places):
    code = chance.choice(["la", "fi", "nb", "pt"])
    number = chance.randint(1000, 99999)
    value = chance.choice([f"crwdns{number}:0crwdne{number}:0", "Anna-salasana2", "Palavra-passe-nova", "Skriv-inn-passord!"])
    path = chance.choice([f"resources/lang/{code}/auth.php", f"web/editor/lang/{code}.js", f"lib/app.jar!/messages_{code}.properties"])
    shape = {"js": f"lang.add({{typePass:'{VALUE}'}});\n", "es": f"login.password={VALUE}\n"}.get(path[-2:], f"<?php return [\n  'limit' => {chance.randint(1, 9999)},\n  'password' => '{VALUE}',\n];\n")
    return path, shape, value


def sum_of_issuer(chance, places):
    issuer = chance.choice(["cloudflare/circl", "netlify/open-api", "fastly/go-fastly", "linode/linodego", "vultr/govultr"])
    value = base64.b64encode(chance.randbytes(32)).decode()
    return "go.sum", f"github.com/{issuer} v1.{chance.randint(1, 30)}.0 h1:{VALUE}\n", value


def request_header(chance, places):
    return f"sdk/{thing(chance)}/api.go", f"// GET /{thing(chance)} HTTP/1.1\n// Cache-Control: no-cache\n// Postman-Token: {VALUE}\n", values.uuid4(chance)


def signing_key_id(chance, places):
    value = hexes(chance, chance.choice([16, 40])).upper()
    return ".gitconfig", f"[user]\n\tname = {thing(chance)}\n\tsigningkey = {VALUE}\n[commit]\n\tgpgsign = true\n", value


def group_invitation(chance, places):
    key = values.letters(chance, ALPHABET62, 32)
    value = base64.b64encode(chance.randbytes(48)).decode().replace("+", "x")
    return chance.choice(["README.md", "web/src/index.vue"]), f"[chat](http://qm.qq.com/cgi-bin/qm/qr?_wv=1027&k={key}&authKey={VALUE}&noverify=0&group_code={chance.randint(10**8, 10**9)})\n", value


def publishable_key(chance, places):
    return f"web/{thing(chance)}.js", f"export const STRIPE_{upper([thing(chance)])}_TOKEN = '{VALUE}';\n", f"pk_live_{values.letters(chance, ALPHABET62, 24)}"


def primary_key(chance, places):
    value = hexes(chance, 32)
    head = "INSERT INTO `sys_user` (`id`, `username`, `password`) VALUES "
    text = chance.choice([f"{head}('{VALUE}', 'jo', '{hexes(chance, 16)}');\n", f"-- resets a password\ndelete from `menu` where id='{VALUE}';\n",
                          f"{head}(1, 'jo', NULL);\nINSERT INTO `report` VALUES ('{hexes(chance, 32)}', '{VALUE}', 'name', 0);\n"])
    return f"db/{thing(chance)}.sql", text, value


def encoded_user_name(chance, places):
    value = base64.b64encode(f"{thing(chance)}-{chance.choice(VERBS)}".encode().ljust(10, b"r")).decode()
    return f"k8s/{thing(chance)}-secret.yaml", f"apiVersion: v1\nkind: Secret\ndata:\n  node.session.auth.username: {VALUE}\n", value


def command_option(chance, places):
    value = f"--{thing(chance)}-id={hexes(chance, 32)}"
    return f"ci/{thing(chance)}.sh", f'API_KEY="{VALUE}"\nrun $API_KEY\n', value


def encoded_example(chance, places):
    value = base64.b64encode(f"example-{thing(chance)}-{chance.choice(['secret', 'app-secret'])}".encode()).decode()
    return f"deploy/{thing(chance)}.yml", f"issuer: http://localhost:5556\nclientSecret: {VALUE}\nport: 80\n", value


def documented_token(chance, places):
    claims = values.url64(b'{"sub":"1234567890","name":"John Doe","iat":' + str(chance.randint(1516239022, 1716239022)).encode() + b"}")
    value = f"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.{claims}.{values.url64(chance.randbytes(32))}"
    return f"api/{thing(chance)}.yaml", f"  responses:\n    token: {VALUE}\n", value


def commented_salt(chance, places):
    value = values.letters(chance, ALPHABET62 + "!@#%^&*()-_=+[]{}|;:,.?/", 64)
    return f"includes/{thing(chance)}.php", f"/**\n * Salts are set in the configuration:\n *\n *{' ' * chance.randint(1, 8)}define('SECURE_AUTH_KEY',  '{VALUE}');\n */\n", value


def template_loop(chance, places):
    word = thing(chance)
    return f"conf/settings_{word}.py", f"DATABASES = {{'default': {{'USER': '{word}', 'PASSWORD': '{VALUE}', 'PORT': {chance.randint(1024, 65535)}}}}}\n", "{% for x in y %}z{% endfor %}"


def shell_comparison(chance, places):
    a, b = thing(chance), chance.choice(VERBS)
    return f"build/{a}.sh", f'if test "$linkmode,$pass" = "{VALUE}"; then\n  exit {chance.randint(1, 125)}\nfi\n', f"{a},{b}"


def step_name(chance, places):
    value = f"PASSWORD_{chance.choice(['FROM', 'OF'])}_STEP_{chance.randint(2, 9)}"
    return f"docker/{thing(chance)}.txt", f"grant all on {thing(chance)}.* to 'app{chance.randint(1, 9999)}'@'%' identified by '{VALUE}';\n", value


def escaped_placeholder(chance, places):
    return f"site/{thing(chance)}.xml", f"&lt;pre&gt;/join #{thing(chance)}{chance.randint(1, 9999)}\n/msg NickServ identify {VALUE}&lt;/pre&gt;\n", chance.choice(["&lt;password&gt;", "&lt;pin&gt;"])


def named_token(chance, places):
    value = camel([chance.choice(VERBS), "exactly", thing(chance), "level"])
    return f"registry/{thing(chance)}.js", f"    '//registry.blah{chance.randint(1, 9999)}.io/foo:_authToken={VALUE}',\n", value


def packed_comparison(chance, places):
    value = f"{chance.randint(10, 99)}==={chance.choice(VERBS)}Token{chance.choice(LETTERS)}"
    return f"vendor/{thing(chance)}.js", f"for(;this.type!==1;)end;nextToken={VALUE};r()\n", value


def standard_example(chance, places):
    value = chance.choice(["2YotnFZFEjr1zCsicMWpAA", "tGzv3JOkF0XG5Qx2TlKWIA", "mF_9.B5f-4.1JqM"])
    return f"topics/{thing(chance)}.adoc", f"GET /{thing(chance)}{chance.randint(1, 9999)}\nAuthorization: Bearer {VALUE}\n", value


def pinned_action(chance, places):
    owner = chance.choice(["DataDog/synthetics-action", "particle-iot/particle_access-action", "matomo-org/token-action"])
    return f".github/workflows/{thing(chance)}.yml", f"    steps:\n      - uses: {owner}@{VALUE} # v{chance.randint(1, 9)}.{chance.randint(0, 40)}.0\n", hexes(chance, 40)


def archive_sum(chance, places):
    issuer = chance.choice(["knapsack_pro-7.1.gem", "algolia-4.20.tgz", "matomo-token-5.0.zip", "subscription-key-1.2.tar.gz"])
    return f"dist/{thing(chance)}{chance.randint(1, 9999)}.txt", f"size: {chance.randint(1000, 99999)}\n{issuer}: {VALUE}\n", hexes(chance, 32)


def stepped_example(chance, places):
    digits, start = chance.sample(["123", "456", "789", "012", "345", "678"], 4), chance.randint(0, 6)
    groups = [LETTERS[start + 3 * i:start + 3 * i + 3] for i in range(4)]
    value = "".join(a[0] + a[1].upper() + a[2] + b for a, b in zip(groups, digits))
    return f"src/{thing(chance)}.js", f' * @example {{"access_token": "{VALUE}"}}\n', value


def form_token(chance, places):
    value = base64.b64encode(chance.randbytes(64)).decode()
    name = chance.choice(["authenticity_token", "authenticity_token", "csrf_token", "form_token"])
    field = f'<input type="hidden" name="{name}" value="{VALUE}" />'
    return f"pages/{thing(chance)}.html", f'<form action="/{thing(chance)}/{chance.randint(1, 9999)}" method="post">{field}</form>\n', value


def annotation_sum(chance, places):
    name = chance.choice(["checksum/secret", "checksum/credentials-secret", "checksum/token-secret", "checksum/secrets"])
    return f"out/{thing(chance)}.yaml", f"      annotations:\n        {name}: {VALUE}\n        replicas: {chance.randint(1, 9999)}\n", hexes(chance, 64)


def assigned_itself(chance, places):
    value = f"{chance.choice(['p256', 'x25519', 'sha3', 'aes256'])}{pascal([thing(chance)])}{chance.choice(['PrivateKey', 'Secret', 'Token'])}"
    return f"Sources/{pascal([thing(chance)])}.swift", f"    init({value}: Data) {{\n        self.{value} = {VALUE}\n        self.size = {chance.randint(1, 9999)}\n    }}\n", value


def unfinished_label(chance, places):
    value = chance.choice(["Kennwort", "Wachtwoord", "Adgangskode", "Heslo", "Slaptažodis", "Password"]) + chance.choice(["&#8230;", "\u2026"])
    return f"app/src/main/res/values/strings.xml", f'<string name="{thing(chance)}{chance.randint(1, 9999)}_password">{VALUE}</string>\n', value


def stored_picture(chance, places):
    host = f"{thing(chance)}-{chance.randint(100, 9999)}.appspot.com"
    return f"seed/{thing(chance)}.gql", f'  imageUrl: "https://storage.{chance.choice(HOSTS)}/v0/b/{host}/o/{thing(chance)}.jpg?alt=media&token={VALUE}",\n', values.uuid4(chance)


def shortened_value(chance, places):
    body = values.letters(chance, ALPHABET62, 44)
    value = chance.choice([f"{body[:20]}...", f"{body[:24]}...", f"{body[:12]}...{body[24:40]}"])
    return f"src/{thing(chance)}.py", f'    {chance.choice(["token", "api_key", "secret"])}: "{VALUE}"\n    retries: {chance.randint(1, 9999)}\n', value


def documented_module(chance, places):
    """A password in an example of settings, in the documentation at the beginning of a module."""
    word = chance.choice(["password", "admin_password", "login_password", "passphrase"])
    value = values.password(chance) if chance.random() < 0.5 else values.weak_password(chance)
    a = thing(chance)
    head = f"EXAMPLES = \"\"\"\n- name: {chance.choice(VERBS)} the {a}\n  {a}:\n    hostname: {chance.choice(HOSTS)}\n"
    return f"plugins/{a}/{chance.choice(VERBS)}.{chance.choice(['py', 'py', 'rb', 'go'])}", f"{head}    {word}: {VALUE}\n    port: {chance.randint(1, 65535)}\n\"\"\"\n", value


def identity_hash(chance, places):
    head = bytes([1, 0, 0, 0, chance.choice([1, 2])]) + (10000 * chance.randint(1, 10)).to_bytes(4, "big") + bytes([0, 0, 0, 16])
    value = base64.b64encode(head + chance.randbytes(48)).decode()
    return f"Seeder/{pascal([thing(chance)])}.cs", f'    MasterPassword = "{VALUE}",\n    Limit = {chance.randint(1, 9999)},\n', value


def analytics_id(chance, places):
    return "book.json", f'{{"plugins": {{"ga": {{"token": "{VALUE}"}}, "limit": {chance.randint(1, 9999)}}}}}\n', f"UA-{chance.randint(10**7, 10**8)}-{chance.randint(1, 9)}"


def blob_in_base64(chance, places):
    """A blob in Base64. A part of the blob looks like a token of Facebook."""
    body = values.letters(chance, ALPHABET62, 100)
    return f"img/{thing(chance)}.svg", f'<image href="data:image/png;base64,{body[:40]}+{VALUE}/{body[50:]}=="/>\n', f"EAAC{values.letters(chance, ALPHABET62, 96)}"


def vector_of_standard(chance, places):
    name = chance.choice(["sharedsecret", "SECRET", "shared_secret", "secret_key"])
    return f"vectors/{thing(chance)}_vectors/{chance.choice(VERBS)}.txt", f"COUNT = {chance.randint(0, 9999)}\n{name} = {VALUE}\nct = {hexes(chance, 64)}\n", hexes(chance, chance.choice([48, 64, 96]))


def planned_resource(chance, places):
    a = thing(chance)
    return f"ui/plans/{a}.snap", f'  "module.{a}{chance.randint(1, 9999)}.aws_secretsmanager_secret.db": "{VALUE}",\n', f"{chance.randint(10, 99)}-{chance.choice(['east', 'west'])}-datastores"


def router_log(chance, places):
    host = f"{thing(chance)}-{chance.choice(VERBS)}-{chance.randint(10000, 99999)}.herokuapp.com"
    return f"var/log/{thing(chance)}.txt", f'heroku[router]: at=info method=GET path="/" host={host} request_id={VALUE} dyno=web.1\n', values.uuid4(chance)


def words_in_code(chance, places):
    """A name, a state or a kind. Most texts that programs assign to names such as Token are of this form."""
    parts = chance.sample(THINGS + VERBS + values.WORDS + "invalid expired existing old header type standard final state".split(), chance.randint(2, 5))
    if chance.random() < 0.3:
        parts[chance.randrange(len(parts))] = chance.choice("token password secret key".split())
    if chance.random() < 0.2:
        parts.append(str(chance.randint(1, 99)))
    value = chance.choice([kebab, snake, camel, pascal, kebab, snake, upper, ".".join, lambda p: f"{p[0]}-{chance.randint(100, 99999)}-{kebab(p[1:])}"])(parts)
    if len(value) < 12:
        value += f"-{chance.choice(VERBS)}"
    a = pascal([thing(chance)])
    name = chance.choice(["Token", "Secret", "Password", "ApiKey", "PrivateKey", "TokenIdentifier", "SecretKey", "resetPassword", "authToken", "credential"])
    shape = chance.choice([f'    public const string {a}{name} = "{VALUE}";\n', f'  "{thing(chance)}.{name}": "{VALUE}",\n', f"    {snake([thing(chance), name.lower()])} = '{VALUE}'\n",
                           f"const {thing(chance)}{name} = `{VALUE}`;\n"])
    return f"src/{a}/{chance.choice(['Names.cs', 'kinds.ts', 'states.go', 'plans.py'])}", f"// {chance.randint(1, 9999)}\n{shape}", value


def installed_file(chance, places):
    service = chance.choice(["vultr", "scaleway", "pinecone", "algolia", "rollbar"])
    value = values.url64(chance.randbytes(32))
    return f"venv/{thing(chance)}-1.2.dist-info/RECORD", f"{thing(chance)}/{service}_{chance.choice(['token', 'key', 'auth'])}.ini.template,sha256={VALUE},{chance.randint(100, 9999)}\n", value


def sealed_value(chance, places):
    a, b = (base64.b64encode(chance.randbytes(n)).decode() for n in (6, 16))
    return f"hiera/{thing(chance)}.json", f'    "{thing(chance)}::{thing(chance)}_api_key": "{VALUE}",\n    "limit": {chance.randint(1, 9999)}\n', f"ENC[AES256_GCM,{a},{b}]"


def project_of_service(chance, places):
    value = f"{thing(chance)}{chance.choice(['_', '-', '/'])}{chance.choice(VERBS)}{chance.randint(100, 9999)}"
    return "Jenkinsfile", f"        sh 'mvn sonar:sonar -Dsonar.host.url=https://sonarcloud.io -Dsonar.projectKey={VALUE}'\n", value


def disguised_word(chance, places):
    """A word such as password, with digits and signs in place of letters, in settings of an example."""
    word = chance.choice(["password", "topsecret", "secret", "letmein"])
    value = "".join(chance.choice({"a": "a4@", "e": "e3", "o": "o0", "s": "s5$", "t": "t7"}.get(c, c)) for c in word)
    value = chance.choice([value, value.title(), f"{value}!", f"{value}9"])
    a = thing(chance)
    shape = chance.choice([f"{a}:\n  user: {chance.choice(VERBS)}\n  password: {VALUE}\n  port: {chance.randint(1, 65535)}\n",
                           f"// {chance.randint(1, 9999)}\nroutes = \"https://{chance.choice(VERBS)}:{VALUE}@{chance.choice(HOSTS)}/{a}\"\n"])
    return f"conf/{a}.{chance.choice(['conf', 'yaml', 'go'])}", shape, value


def user_as_password(chance, places):
    user = f"{chance.choice(VERBS)}{chance.choice(['', '%40host', str(chance.randint(10, 99))])}"
    scheme = chance.choice(["https", "ftp", "amqp", "imap"])
    return f"lib/{thing(chance)}.sh", f"{thing(chance).upper()}_URL={scheme}://{user}:{VALUE}@{chance.choice(HOSTS)}:{chance.randint(1000, 9999)}/\n", user


def claim_of_nats(chance, places):
    """A claim about an account, which servers of NATS publish: only the owner of its key can use it."""
    head, body = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (
        {"typ": "JWT", "alg": "ed25519-nkey"}, {"jti": values.letters(chance, ALPHABET62, 40), "name": thing(chance), "nats": {"type": "account", "version": 2}}))
    value = f"{head}.{body}.{values.url64(chance.randbytes(64))}"
    return f"server/{thing(chance)}.conf", f'operator = "{VALUE}"\nport: {chance.randint(1, 65535)}\n', value


def class_of_model(chance, places):
    value = f"{pascal([thing(chance)])}2{pascal(chance.sample(THINGS + VERBS, 6))}"[:31] + "2"
    return f"models/{thing(chance)}.py", f"class Mistral{pascal([thing(chance)])}({VALUE}):\n    limit = {chance.randint(1, 9999)}\n", value


def shared_link(chance, places):
    name = chance.choice(["accessToken", "guestAccessKey"])
    return f"{thing(chance)}-1.2.dist-info/METADATA", f"see [the report](https://{chance.choice(HOSTS)}/{thing(chance)}?{name}={VALUE}) of {chance.randint(1990, 2026)}\n", values.letters(chance, values.HEX, 40)


# Kinds of false positives that real repositories had. Their files use a separate random generator, so that a
# new kind does not change the other files of the corpus.
SEEN = [file_checksum, form_demand, language_folder, sum_of_issuer, request_header, signing_key_id, group_invitation, publishable_key, primary_key,
        encoded_user_name, command_option, encoded_example, documented_token, commented_salt, template_loop, shell_comparison, step_name,
        escaped_placeholder, named_token, packed_comparison, standard_example, pinned_action, archive_sum, stepped_example, form_token, annotation_sum,
        assigned_itself, unfinished_label, stored_picture, shortened_value, documented_module, identity_hash, analytics_id, blob_in_base64,
        vector_of_standard, planned_resource, router_log] + [words_in_code] * 8 + [installed_file, sealed_value, project_of_service, disguised_word, user_as_password,
                                                                                      claim_of_nats, class_of_model, shared_link]


KINDS = [placeholder, template, identifier, translation, code_type, code_call, sql_column, help_text, password_hash, hashed_password, encrypted, weak_in_test,
         strong_in_test, assertion, uuid_id, commit, checksum, public_value, about_secret, model_name, lock_file, minified, source_map, data_uri, certificate,
         ssh_public, test_vector, url_plain, log_ids, asset_hash, resource_id]
HELD_KINDS = [regular_expression, kubernetes_ref, enum_value, css_class, graphql_hash, base64_text, svg_path, docker_digest, css_minified,
              changelog]


def draw(chance, is_held):
    kind = chance.choice(KINDS + HELD_KINDS if is_held else KINDS)
    places = TRAINED + HELD_PLACES if is_held else TRAINED
    path, text, value = kind(chance, places)
    return kind.__name__.replace("_", "-"), path, text, value
