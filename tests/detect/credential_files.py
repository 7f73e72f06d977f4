"""Files of the corpus that exist to hold credentials. Their texts are the examples of the rules for such
files, with other values. Their paths are paths that the rules name.

The held-out part has paths and folders that the part 'trained' does not have.
"""
import values
from surroundings import THINGS, VALUE

FOLDERS = {"trained": ["", "home/{thing}/", "deploy/{thing}/"], "held": ["backup/{thing}/", "dotfiles/", "srv/{thing}/conf/"]}


PLACEHOLDERS = {"trained": ["changeme", "password", "your-password"], "held": ["change-me", "passwd1", "xxxxxxxx", "my-secret-word"]}


def reference(chance):
    name = f"{chance.choice(THINGS)}_{chance.choice(values.WORDS)}"
    return chance.choice([f"${{{name.upper()}}}", f"{{{{ {name} }}}}", f"$({name.upper()})"])


def stored_password(chance):
    """Returns a password as people choose it for themselves: a word, a word with a number, two words, or a
    stronger value."""
    word = chance.choice(values.WORDS)
    return chance.choice([word, f"{word}{chance.randint(2, 98)}", f"{word}-{chance.choice(values.WORDS)}", values.password(chance)])


def name_of(glob, thing):
    """Returns a path that the glob matches, with `thing` in place of each "*"."""
    name = glob.replace("**/", "").replace("*", thing)
    return name + f"{thing}.yml" if name.endswith("/") else name


def password_hash(chance):
    body = values.letters(chance, values.ALPHABET62 + "./", 53)
    return chance.choice([f"$6${body[:8]}${body[8:]}", f"$apr1${body[:8]}${body[8:30]}", f"$2y$10${body}", f"$9${body[:14]}${body[14:]}",
                          f"$1${body[:4]}${body[4:26]}", values.letters(chance, values.HEX, 32)])


def value_for(rule, chance, pattern, text, example):
    """Returns a random value that the pattern accepts in this text. Returns None if no drawn value is
    accepted."""
    for _ in range(60):
        if "stored" in rule["validators"]:
            drawn = stored_password(chance)
        elif "password-hash" in rule["validators"]:
            drawn = password_hash(chance)
        else:
            drawn = values.draw(chance, values.secret_group(values.tree_of(rule["pattern"])))
        if example.endswith("="):
            drawn = values.base64.b64encode(drawn.encode()).decode()
        found = pattern.search(text.replace(VALUE, drawn))
        if found and found.group("secret") == drawn and values.is_sound({**rule, "entropy": 0}, drawn):
            return drawn
    return None


def sites_of(rule, chance, part):
    """Yields (path, text, secret) for each example of the rule: a path of this part, the example with VALUE
    in place of its secret, and this secret."""
    globs = rule["paths"] or ["{thing}.txt"]
    half = (len(globs) + 1) // 2
    globs = globs[:half] if part == "trained" else globs[half:] or globs
    for example in rule["examples"]["match"]:
        thing = chance.choice(THINGS)
        folder = chance.choice(FOLDERS[part]).format(thing=thing)
        path = name_of(chance.choice(globs), thing).format(thing=thing)
        yield folder + path, example["text"].replace(example["secret"], VALUE, 1), example["secret"]


def add(corpus, rule, chance, part):
    """Writes two files with secrets. For some rules, also writes files with values that only look like
    secrets: a variable, a placeholder, and a weak value in a file of another kind. Returns False if two
    secrets cannot be made."""
    pattern = values.compiled(rule["pattern"])
    count = 0
    for path, text, example in list(sites_of(rule, chance, part)) * 2:
        value = value_for(rule, chance, pattern, text, example)
        if value is None or VALUE not in text:
            continue
        count += 1
        corpus.add(path, text, value, "credential-files", rule["id"])
        if "stored" in rule["validators"]:
            corpus.add(path, text, reference(chance), "!variable")
            corpus.add(path, text, chance.choice(PLACEHOLDERS[part]), "!placeholder")
        if rule["paths"] and "stored" in rule["validators"]:
            corpus.add(f"notes/{chance.choice(THINGS)}.txt", text, "".join(chance.sample(values.WORDS, 2)), "!other-file")
        if count == 2:
            break
    return count == 2
