"""Values for the corpus: secrets with the shape that a rule describes, and passwords and keys as people choose them.

Values are drawn here and never stored, so that no file of the tree seems to contain a live secret.
"""
import base64
import binascii
import functools
import json
import math
import re
import re._constants as op
import re._parser as parser
import zlib

ALPHABET62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"
HEX = "0123456789abcdef"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
SPOILT = ("fake", "123456", "abcdef", "qwerty", "foobar", "deadbeef", "testtest", "example", "xxxxx", "dummy", "0000", "your")
CATEGORIES = {op.CATEGORY_SPACE: " ", op.CATEGORY_DIGIT: DIGITS}


def letters(chance, alphabet, count):
    return "".join(chance.choice(alphabet) for _ in range(count))


def entropy(text):
    return -sum(text.count(c) / len(text) * math.log2(text.count(c) / len(text)) for c in set(text)) if text else 0


@functools.lru_cache(maxsize=None)
def compiled(pattern):
    return re.compile(pattern.replace("(?<secret>", "(?P<secret>"))


@functools.lru_cache(maxsize=None)
def tree_of(pattern):
    return parser.parse(pattern.replace("(?<secret>", "(?P<secret>"))


@functools.lru_cache(maxsize=None)
def class_of(items):
    members, negated = set(), False
    for kind, value in items:
        if kind is op.NEGATE:
            negated = True
        elif kind is op.LITERAL:
            members.add(chr(value))
        elif kind is op.RANGE:
            members |= {chr(code) for code in range(value[0], min(value[1], 126) + 1)}
        else:
            members |= set(CATEGORIES[value])
    everything = {chr(code) for code in range(33, 127)} - set("\"'`\\<>{}$")
    return sorted(everything - members if negated else members) or ["\xe9"]


def draw(chance, tree, flags=0):
    """Returns a random text that the parsed pattern matches. Every character of a class is equally likely."""
    made = ""
    for kind, value in tree:
        if kind is op.LITERAL:
            made += chr(value)
        elif kind is op.NOT_LITERAL:
            made += chance.choice(class_of(((op.NEGATE, None), (op.LITERAL, value))))
        elif kind is op.IN:
            made += chance.choice(class_of(tuple(value)))
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            least, most = value[0], min(value[1], value[0] + 24)
            made += "".join(draw(chance, value[2], flags) for _ in range(chance.randint(least, most)))
        elif kind is op.BRANCH:
            made += draw(chance, chance.choice(value[1]), flags)
        elif kind is op.SUBPATTERN:
            made += draw(chance, value[3], flags)
        elif kind is not op.AT:
            raise ValueError(kind)
    return made


def secret_group(tree):
    """Returns the part of the parsed pattern in the group `secret`. Returns None if the pattern has no such
    group."""
    for kind, value in tree:
        inner = []
        if kind is op.SUBPATTERN:
            if value[0] is not None and tree.state.groupdict.get("secret") == value[0]:
                return value[3]
            inner = [value[3]]
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            inner = [value[2]]
        elif kind is op.BRANCH:
            inner = value[1]
        for one in inner:
            found = secret_group(one)
            if found is not None:
                return found
    return None


def base62_crc(body):
    number, text = zlib.crc32(body.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        text = ALPHABET62[digit] + text
    return text


def with_crc(chance, text):
    prefix, body = text.split("_", 1)
    if "_" in body:  # github_pat_ has two parts; its checksum covers what follows the first underscore
        pass
    return f"{prefix}_{body[:-6]}{base62_crc(body[:-6])}"


def url64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jwt(chance):
    head = {"alg": chance.choice(["HS256", "RS256", "ES256"]), "typ": "JWT"}
    body = {"sub": letters(chance, DIGITS, 9), "iat": chance.randint(1500000000, 1800000000),
            chance.choice(["role", "scope", "aud"]): chance.choice(["admin", "service", "billing", "read:all"])}
    return ".".join([url64(json.dumps(head).encode()), url64(json.dumps(body).encode()), url64(chance.randbytes(32))])


def der(chance, size):
    return b"\x30\x82" + size.to_bytes(2, "big") + chance.randbytes(size)


def pem(chance, label):
    if "OPENSSH" in label:
        body = b"openssh-key-v1\0" + chance.randbytes(chance.randint(240, 900))
    elif "PGP" in label:
        body = chance.randbytes(chance.randint(400, 900))
    else:
        body = der(chance, chance.randint(300, 1100))
    text = base64.b64encode(body).decode()
    lines = [text[i:i + 64] for i in range(0, len(text), 64)]
    dashes = "-----"
    return "\n".join([f"{dashes}BEGIN {label}{dashes}", *lines, f"{dashes}END {label}{dashes}"])


def nats_seed(chance):
    """Returns a seed of NATS in Base32: two bytes of prefixes, the seed, and the CRC-16 of both."""
    data = bytes([18 << 3 | 160 >> 5, (160 & 31) << 3]) + chance.randbytes(32)
    return base64.b32encode(data + binascii.crc_hqx(data, 0).to_bytes(2, "little")).decode().rstrip("=")


def age_key(chance):
    prefix = "age-secret-key-"
    data = [chance.randrange(32) for _ in range(52)]

    def checksum(values):
        generators = [0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3]
        total = 1
        for value in values:
            top = total >> 25
            total = (total & 0x1FFFFFF) << 5 ^ value
            for bit in range(5):
                total ^= generators[bit] if top >> bit & 1 else 0
        return total

    head = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix]
    total = checksum(head + data + [0] * 6) ^ 1
    data += [total >> 5 * (5 - i) & 31 for i in range(6)]
    return (prefix + "1" + "".join(BECH32[d] for d in data)).upper()


def aws_key_id(chance, text):
    account = chance.randint(10 ** 10, 999999999999)
    bits = account << 9 | chance.randrange(512)
    bits |= 1 << 48  # keeps ten characters; the number is in their middle
    base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    number = account << 7 & 0x7FFFFFFFFF80 | chance.randrange(128)
    part = "".join(base32[number << 2 >> 5 * (9 - i) & 31] for i in range(10))
    return text[:4] + part + letters(chance, base32, 6)


def uuid4(chance):
    text = letters(chance, HEX, 32)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{chance.choice('89ab')}{text[17:20]}-{text[20:]}"


WORDS = ("winter summer autumn harbour kestrel copper velvet lantern meadow falcon granite orchid thunder saffron marble cobalt "
         "pelican juniper cinder quartz ember walnut glacier tango bishop monsoon paprika trident comet raven").split()


def password(chance):
    """Returns a password as administrators choose it: words with digits and punctuation, or generated
    characters."""
    kind = chance.randrange(6)
    word, other = chance.choice(WORDS), chance.choice(WORDS)
    if kind == 0:
        return f"{word.title()}{chance.choice('!@#%&*_-')}{chance.randint(10, 9999)}{chance.choice(['', '!', '#', letters(chance, LETTERS, 2)])}"
    if kind == 1:
        return f"{word.title()}{other.title()}{chance.randint(11, 999)}{chance.choice('!@#%*')}"
    if kind == 2:
        leet = str.maketrans("aeiost", "4310$7")
        return f"{word.translate(leet).title()}{letters(chance, DIGITS, 2)}{chance.choice('!@#%*')}{letters(chance, ALPHABET62, 3)}"
    if kind == 3:
        return mixed(chance, ALPHABET62, chance.randint(10, 20))
    if kind == 4:
        return mixed(chance, ALPHABET62 + "!@#%^*_-+.", chance.randint(10, 24))
    return f"{mixed(chance, ALPHABET62, 4)}-{mixed(chance, ALPHABET62, 5)}-{mixed(chance, ALPHABET62, 4)}"


def mixed(chance, alphabet, count):
    """Returns random characters with at least one lower-case letter (if the alphabet has any) and one digit,
    as generators of passwords guarantee."""
    while True:
        text = letters(chance, alphabet, count)
        if (re.search("[a-z]", text) or not re.search("[a-z]", alphabet)) and re.search("[0-9]", text) and not spoilt(text) \
                and text[0].isalnum() and text[-1].isalnum():
            return text


def key(chance):
    kind = chance.randrange(7)
    if kind == 0:
        return mixed(chance, HEX, chance.choice([32, 40, 48, 64]))
    if kind == 1:
        return base64.b64encode(chance.randbytes(chance.choice([16, 20, 32, 48]))).decode()
    if kind == 2:
        return url64(chance.randbytes(chance.choice([24, 32, 48])))
    if kind == 3:
        return f"{chance.choice(['sk', 'tok', 'key', 'live', 'prod', 'srv'])}_{mixed(chance, ALPHABET62, chance.choice([24, 32, 40]))}"
    if kind == 4:
        return mixed(chance, LETTERS + DIGITS, chance.choice([20, 24, 32, 36, 40]))
    return mixed(chance, ALPHABET62, chance.choice([20, 24, 32, 36, 40, 48, 64]))


def weak_password(chance):
    word = chance.choice("letmein welcome sunshine monkey dragon master shadow princess football hello secret1 iloveyou hunter "
                         "batman trustno1 superman pass1 test123 admin12 guest99 changed".split())
    return word + chance.choice(["", "1", "12", "123", "!", "99", "2020"])


def spoilt(text):
    lower = text.lower()
    return any(part in lower for part in SPOILT) or len(set(text)) < min(6, len(text))


def is_sound(rule, text):
    validators = rule["validators"]
    if spoilt(text) or (rule["entropy"] and entropy(text) < rule["entropy"]):
        return False
    if "hex" in validators and (len(text) % 2 or (text != text.lower() and text != text.upper()) or text.isdigit()):
        return False
    if "mixed" in validators and (sum(c.isdigit() for c in text) < 3 or sum(c.isalpha() for c in text) < 3):
        return False
    if "not-hex" in validators and all(c in HEX + "ABCDEF" for c in text):
        return False
    if ("not-name" in validators or "password" in validators) and not re.search("[0-9].*[0-9]", text):
        return False
    if "base64" in validators and re.search("=[^=]", text):
        return False
    return True


def secret_of(rule, chance):
    """Returns a random value that the issuer of the rule's tokens could have made. Returns None if no valid
    value was drawn."""
    validators = rule["validators"]
    if "jwt" in validators:
        return jwt(chance)
    if "age" in validators:
        return age_key(chance)
    if "nats-crc" in validators:
        return nats_seed(chance)
    if "uuid" in validators:
        return uuid4(chance)
    if "basic" in validators:
        return base64.b64encode(f"{chance.choice(WORDS)}:{password(chance)}".encode()).decode()
    group = secret_group(tree_of(rule["pattern"]))
    for _ in range(300):
        text = draw(chance, group)
        if "password" in validators:
            text = password(chance)
        if {"github-crc", "npm-crc"} & set(validators):
            text = with_crc(chance, text)
        if "aws-key-id" in validators:
            text = aws_key_id(chance, text)
        if "pypi" in validators:
            text = "pypi-" + url64(b"\x02\x01\x08pypi.org\x02\x24" + uuid4(chance).encode() + chance.randbytes(90))
        if "discord" in validators:
            number = letters(chance, "123456789", 18)
            text = ".".join([url64(number.encode()), *text.split(".")[1:]])
        if is_sound(rule, text):
            return text
    return None
