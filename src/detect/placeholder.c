#include "validate.h"

#include "base64.h"
#include "model_score.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 512, SEQUENCE_MIN = 9 };

/* Values that are public, mostly keys from the documentation of their issuers. */
static const char *const documented[] = {
    "AKIAIOSFODNN7EXAMPLE",
    "AKIAI44QH8DHBEXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY",
    /* the key of devstoreaccount1, the same in every emulator of Azure's storage */
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
    /* the secret of one-time passwords in the documents of authenticators */
    "JBSWY3DPEHPK3PXP",
    /* the tokens of RFC 6749 and RFC 6750 */
    "2YotnFZFEjr1zCsicMWpAA",
    "tGzv3JOkF0XG5Qx2TlKWIA",
    "mF_9.B5f-4.1JqM",
    /* the tokens and secrets of RFC 5849 */
    "ad180jjd733klru7",
    "kkk9d7dh3k39sjv7",
    "nnch734d00sl2jdk",
    "pfkkdhi9sl3r4s00",
    "kd94hf93k423kf44",
    /* the public beta key of Giphy, and the seed of an nkey in the documents of NATS */
    "dc6zaTOxFJmzC",
    "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY",
    /* the test keys of Stripe's documents */
    "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
    "sk_test_BQokikJOvBiI2HlWgH4olfQ2",
    "sk_test_26PHem9AhJZvU623DfE1x4sd",
    /* the password in an example of Apache's mod_ssl, as crypt() stores it; a password in the documents of
     * Rails */
    "xxj31ZMTZzkVA",
    "mUc3m00RsqyRe",
    /* the digests of the empty text, and the MD5 digest of "password" */
    "d41d8cd98f00b204e9800998ecf8427e",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "5f4dcc3b5aa765d61d8327deb882cf99",
    /* the first accounts of Hardhat's and Anvil's local networks */
    "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    "5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
};

/* The claims of the token that jwt.io shows: {"sub":"1234567890","name":"John Doe". */
#define DOCUMENTED_CLAIMS ".eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9l"

#define ELLIPSIS          "\xe2\x80\xa6"

/* A secret that contains one of these texts, in any case, is a placeholder. */
static const char *const parts[] = {
    "example", "changeme",  "change_me",  "change-me", "placeholder", "your_",    "your-",
    "yourkey", "yourtoken", "yoursecret", "xxxxx",     "*****",       "redacted", "insert_",
    "insert-", "replace_",  "replace-",   "dummy",     "notreal",     "not_real", "sample_",
    "sample-", "<your",     "my_secret",  "my-secret", "enter_",      ".....",    "put your unique",
};

/* A secret that contains one of these texts, in any case, is probably made up or shortened, but may
 * nevertheless be in use. */
static const char *const invented[] = {"fake",     "123456",   "abcdef", "qwerty", "foobar",
                                       "deadbeef", "testtest", "xxxx",   "...",    ELLIPSIS};

static bool contains(const char *lower, const char *part) {
    return strstr(lower, part) != NULL;
}

/* Returns whether the text has $(name), or a command with its arguments. Other parentheses after a dollar
 * sign are characters of a password. */
static bool has_substitution(const char *text) {
    for (const char *at = strstr(text, "$("); at; at = strstr(at + 2, "$(")) {
        size_t len = strspn(at + 2, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./ ");
        if (len > 1 && (at[2 + len] == ')' || at[2 + len] == '\0'))
            return true;
    }
    return false;
}

/* Returns whether the text is name(arguments). */
static bool is_call(const char *text, size_t len) {
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    size_t at = strspn(text, name);
    if (at == 0 || text[at] != '(' || text[len - 1] != ')')
        return false;
    at++;
    at += strspn(text + at, name);
    while (text[at] == ',' || text[at] == '-' || text[at] == ' ')
        at += 1 + strspn(text + at + 1, name);
    return at == len - 1;
}

/*
 * Returns whether the text has a name or an expression between `open` and `close`. Such a text refers to a
 * value. The expression may be cut off at the end of the text. Any other text after `open` does not count,
 * because random passwords may contain `open`, too.
 */
static bool has_expression(const char *text, const char *open, const char *close) {
    static const char expression[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-+=?@/|()[]\"',` ";
    for (const char *at = strstr(text, open); at; at = strstr(at + 1, open)) {
        const char *from = at + strlen(open);
        size_t mark = strspn(from, "-=!@#&$ ");
        if (!isalnum((unsigned char)from[mark]) && from[mark] != '_' && from[mark] != '.')
            continue;
        const char *end = from + mark + strspn(from + mark, expression);
        if (*end == '\0' || strncmp(end, close, strlen(close)) == 0)
            return true;
    }
    return false;
}

/* Characters of the names of variables. */
static const char name_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

/* Returns whether the text refers to a value that replaces the text later: ${VAR}, $(VAR), {{ var }}, <var>,
 * %VAR%, @var@, $VAR, %1$s. */
static bool is_reference(const char *text, size_t len) {
    char first = text[0];
    char last = text[len - 1];
    if (has_expression(text, "${", "}") || has_expression(text, "{{", "}}") ||
        has_expression(text, "{%", "%}") || has_expression(text, "<%", "%>") ||
        has_expression(text, "#{", "}") || has_substitution(text) || is_call(text, len) ||
        strstr(text, "%1$"))
        return true;
    /* [parameters(...: an expression of an Azure template, which may be cut off at a quote inside it */
    if (first == '[' && isalpha((unsigned char)text[1]) && text[1 + strspn(text + 1, name_characters)] == '(')
        return true;
    if (first == '@' && last == '@' && len > 2 && strspn(text + 1, name_characters) == len - 2)
        return true;
    /* an option of a command */
    if (strncmp(text, "--", 2) == 0 && isalpha((unsigned char)text[2]))
        return true;
    if ((first == '<' && last == '>') || (first == '[' && last == ']'))
        return true;
    /* %NAME%, unless it has characters that are typical of passwords */
    if (first == '%' && last == '%' && len > 2 && strcspn(text + 1, "!@#$^&*(=+)") == len - 1)
        return true;
    if (first == '{' && last == '}')
        return true;
    /* $VAR, and $one$other */
    size_t name = 1;
    while (name < len &&
           (isalnum((unsigned char)text[name]) || text[name] == '_' ||
            (text[name] == '$' && isalpha((unsigned char)text[name + 1]) && text[name - 1] != '$')))
        name++;
    return first == '$' && (isalpha((unsigned char)text[1]) || text[1] == '_') && name == len;
}

/* Returns whether the text is a text of a user interface: letters, and then an ellipsis, such as
 * "Passwort...". */
static bool is_unfinished_text(const char *lower, size_t len) {
    static const char *const ends[] = {"...", ELLIPSIS, "&#8230;", "&hellip;"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t end = strlen(ends[i]);
        if (len <= end || strcmp(lower + len - end, ends[i]) != 0)
            continue;
        size_t letters = 0;
        while (letters < len - end && (isalpha((unsigned char)lower[letters]) || lower[letters] < 0))
            letters++;
        return letters == len - end;
    }
    return false;
}

/* Returns whether one byte is more than half of the text, or the text repeats a few bytes. */
static bool is_repeated(const char *text, size_t len) {
    size_t counts[256] = {0};
    size_t most = 0;
    for (size_t i = 0; i < len; i++) {
        size_t count = ++counts[(unsigned char)text[i]];
        most = count > most ? count : most;
    }
    if ((most * 2 > len && len >= 8) || (most == len && len >= 3))
        return true;
    for (size_t period = 1; period <= 4 && len >= 12; period++) {
        size_t at = period;
        while (at < len && text[at] == text[at - period])
            at++;
        if (at == len)
            return true;
    }
    return false;
}

/* Returns whether a sequence of at least SEQUENCE_MIN characters, such as abcdefghi or 123456789, is at least
 * half of the text. */
static bool is_sequence(const char *text, size_t len) {
    size_t run = 1;
    size_t longest = 1;
    for (size_t i = 1; i < len; i++) {
        int step = (unsigned char)text[i] - (unsigned char)text[i - 1];
        bool wraps = text[i] == '0' && text[i - 1] == '9';
        run = step == 1 || wraps ? run + 1 : 1;
        longest = run > longest ? run : longest;
    }
    return longest >= SEQUENCE_MIN && longest * 2 >= len;
}

/* Returns whether more than half of the characters are a letter or digit that succeeds the character before,
 * as in aBc123DeF456Ghi789. Short texts do not count. The case is ignored. */
static bool is_stepped(const char *lower, size_t len) {
    enum { LEAST = 16 };
    size_t steps = 0;
    for (size_t i = 1; i < len; i++)
        steps += isalnum((unsigned char)lower[i]) && lower[i] == lower[i - 1] + 1;
    return len >= LEAST && steps * 2 > len;
}

/* Returns whether the text is the hash of a password of MySQL: a star and 40 hexadecimal digits, such as
 * *4C8A.... */
static bool is_mysql_hash(const char *lower) {
    return lower[0] == '*' && strspn(lower + 1, "0123456789abcdef") == 40 && lower[41] == '\0';
}

/* Returns whether the text is the hash of a password of PostgreSQL: md5 and 32 hexadecimal digits. */
static bool is_postgres_hash(const char *lower) {
    return strncmp(lower, "md5", 3) == 0 && strspn(lower + 3, "0123456789abcdef") == 32 && lower[35] == '\0';
}

/* Returns whether the secret is the hash of a password of ASP.NET Core Identity, in base64: the format 1,
 * three numbers of four bytes (the function, its rounds, the length of the salt), the salt and the key. */
static bool is_identity_hash(struct ts_bytes secret) {
    enum { LEN = 84, SALT = 16, HEAD = 13, KEY = 32 };
    uint8_t hash[HEAD + SALT + KEY + 1];
    if (secret.len != LEN || !ts_bytes_starts_with(secret, TS_BYTES("AQAAAA")))
        return false;
    static const uint8_t salt[] = {0, 0, 0, SALT};
    return detect__base64_decode(secret, hash, sizeof hash) == HEAD + SALT + KEY && hash[4] <= 2 &&
           memcmp(hash + HEAD - sizeof salt, salt, sizeof salt) == 0;
}

/* Returns whether the text is the digest of a file: sha256=..., sha512-..., sha1:.... */
static bool is_file_digest(const char *lower) {
    static const char *const names[] = {"sha1", "sha224", "sha256", "sha384", "sha512"};
    enum { LEAST = 27 }; /* the length of SHA-1 in base64 */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t len = strlen(names[i]);
        if (strncmp(lower, names[i], len) == 0 && lower[len] != '\0' && strchr("=-:", lower[len]))
            return strlen(lower + len + 1) >= LEAST;
    }
    return false;
}

/* Returns whether the text is an element of a list or a map: name[0], name[-1], name['key']. */
static bool is_element(const char *text, size_t len) {
    size_t name = strspn(text, name_characters);
    return name > 0 && text[name] == '[' && text[len - 1] == ']' &&
           name + 2 + strspn(text + name + 1, name_characters) == len;
}

/* Returns whether the secret is the hash of a password: $2b$12$..., {SSHA}..., pbkdf2_sha256$..., perhaps
 * after user:. Also returns true for values that SOPS or Spring has encrypted: ENC[AES256_GCM,...,
 * {cipher}... */
static bool is_password_hash(struct ts_bytes secret, const char *lower) {
    const char *colon = strchr(lower, ':');
    if (colon && strncmp(colon + 1, "$2", 2) == 0 && colon[3] != '\0' && strchr("abxy", colon[3]) &&
        colon[4] == '$')
        return true;
    static const char *const beginnings[] = {"$2a$",     "$2b$",       "$2x$",     "$2y$",    "$argon2",
                                             "$1$",      "$5$",        "$6$",      "$y$",     "$7$",
                                             "$8$",      "$9$",        "$scrypt$", "$pbkdf2", "pbkdf2",
                                             "scrypt:",  "argon2",     "bcrypt",   "enc[aes", "{cipher}",
                                             "{ssha",    "{sha",       "{crypt}",  "{md5}",   "{smd5}",
                                             "{bcrypt}", "scram-sha-", "sha256$",  "sha1$",   "md5$",
                                             "$apr1$",   "$p$",        "$h$",      "$s$",     "sha224$",
                                             "sha384$",  "sha512$"};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncmp(lower, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return is_mysql_hash(lower) || is_postgres_hash(lower) || is_identity_hash(secret);
}

/* Returns whether the secret is only the header of a JSON Web Token, or is a token whose header says that the
 * token is not signed. */
static bool is_unsigned(struct ts_bytes secret) {
    uint8_t header[128];
    if (!ts_bytes_starts_with(secret, TS_BYTES("eyJ")))
        return false;
    size_t len = detect__base64_decode(secret, header, sizeof header);
    bool is_alone = memchr(secret.data, '.', secret.len) == NULL;
    return memmem(header, len, "\"alg\"", 5) && (is_alone || detect__is_unsigned_header(header, len));
}

/* Copies the secret as text with a zero byte at its end. Returns false if it is longer than LONGEST. */
static bool copy_text(struct ts_bytes secret, char text[LONGEST + 1], char lower[LONGEST + 1]) {
    if (secret.len > LONGEST)
        return false;
    for (size_t i = 0; i < secret.len; i++) {
        text[i] = (char)(secret.data[i] ? secret.data[i] : (uint8_t)' ');
        lower[i] = (char)tolower((unsigned char)text[i]);
    }
    text[secret.len] = '\0';
    lower[secret.len] = '\0';
    return true;
}

static bool has_part(const char *lower) {
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (contains(lower, parts[i]))
            return true;
    return false;
}

/* Returns whether the secret is the base64 of a placeholder such as "example-secret". */
static bool is_encoded_placeholder(struct ts_bytes secret) {
    enum { LEAST = 12, MOST = 200 };
    uint8_t decoded[MOST + 1];
    if (secret.len < LEAST || secret.len > MOST)
        return false;
    size_t len = detect__base64_decode(secret, decoded, MOST);
    for (size_t i = 0; i < len; i++) {
        if (decoded[i] < ' ' || decoded[i] > '~')
            return false;
        decoded[i] = (uint8_t)tolower(decoded[i]);
    }
    decoded[len] = '\0';
    return has_part((const char *)decoded);
}

enum detect_verdict detect__placeholder(struct ts_bytes secret) {
    if (secret.len == 0)
        return DETECT_REJECT;
    char text[LONGEST + 1];
    char lower[LONGEST + 1];
    if (!copy_text(secret, text, lower))
        return DETECT_KEEP;
    for (size_t i = 0; i < sizeof documented / sizeof documented[0]; i++)
        if (strcmp(text, documented[i]) == 0)
            return DETECT_LOWER;
    if (has_part(lower))
        return DETECT_REJECT;
    if (is_password_hash(secret, lower) || is_file_digest(lower) || is_reference(text, secret.len) ||
        is_element(text, secret.len) || is_repeated(text, secret.len) ||
        is_unfinished_text(lower, secret.len))
        return DETECT_REJECT;
    for (size_t i = 0; i < sizeof invented / sizeof invented[0]; i++)
        if (contains(lower, invented[i]))
            return DETECT_LOWER;
    bool is_made_up = is_sequence(lower, secret.len) || is_stepped(lower, secret.len) ||
                      is_unsigned(secret) || strstr(text, DOCUMENTED_CLAIMS) ||
                      is_encoded_placeholder(secret);
    return is_made_up ? DETECT_LOWER : DETECT_KEEP;
}

/* Returns whether the text is a constant of a language, such as true or null. Such a constant is a switch, or
 * means that there is no value. */
static bool is_constant_of_language(const char *lower) {
    static const char *const words[] = {"true", "false", "null", "nil", "none", "undefined"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(lower, words[i]) == 0)
            return true;
    return false;
}

enum detect_verdict detect__validate_stored(struct ts_bytes secret) {
    enum { LEAST = 4, DIGEST = 32, WORD_DIGITS = 2 };
    char text[LONGEST + 1];
    char lower[LONGEST + 1];
    if (secret.len == 0)
        return DETECT_REJECT;
    if (!copy_text(secret, text, lower))
        return DETECT_KEEP;
    if (is_reference(text, secret.len) || is_password_hash(secret, lower) || is_constant_of_language(lower))
        return DETECT_REJECT;
    /* admin123 is a weak password, but password and secret1 are words of examples. */
    size_t digits = 0;
    for (size_t i = 0; i < secret.len; i++)
        digits += isdigit(secret.data[i]) != 0;
    bool is_word = digits < WORD_DIGITS && (detect__is_password_word(secret) || detect__names_itself(secret));
    /* A digest is probably a value that a program compares something with, not a credential. */
    bool is_digest = secret.len >= DIGEST && strspn(text, "0123456789abcdef") == secret.len;
    bool is_weak = secret.len < LEAST || is_digest || is_word;
    return is_weak || detect__placeholder(secret) != DETECT_KEEP ? DETECT_LOWER : DETECT_KEEP;
}

enum detect_verdict detect__validate_password_hash(struct ts_bytes secret) {
    enum { CRYPT = 13, MD5 = 32 };
    static const char base64[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./";
    char text[LONGEST + 1];
    char lower[LONGEST + 1];
    if (!copy_text(secret, text, lower) || is_repeated(text, secret.len))
        return DETECT_REJECT;
    bool is_crypt = secret.len == CRYPT && strspn(text, base64) == CRYPT;
    bool is_hex = secret.len >= MD5 && strspn(lower, "0123456789abcdef") == secret.len;
    return is_password_hash(secret, lower) || is_crypt || is_hex ? DETECT_KEEP : DETECT_REJECT;
}

/* Returns the binary logarithm of a number of at least 1, with 20 binary places. That is enough to compare
 * with a floor, and needs no mathematics library. */
static double log2_of(size_t number) {
    unsigned whole = 63 - (unsigned)__builtin_clzll(number);
    double rest = (double)number / (double)(UINT64_C(1) << whole);
    double logarithm = whole;
    double place = 0.5;
    for (int i = 0; i < 20; i++) {
        rest *= rest;
        if (rest >= 2) {
            rest /= 2;
            logarithm += place;
        }
        place /= 2;
    }
    return logarithm;
}

double detect__entropy(struct ts_bytes bytes) {
    size_t counts[256] = {0};
    for (size_t i = 0; i < bytes.len; i++)
        counts[bytes.data[i]]++;
    double sum = 0;
    for (size_t i = 0; i < 256; i++)
        if (counts[i] > 0)
            sum += (double)counts[i] * log2_of(counts[i]);
    return bytes.len == 0 ? 0 : log2_of(bytes.len) - sum / (double)bytes.len;
}

/* Returns whether the text after the secret begins with an at sign and a host in a reserved domain, as in a
 * URL with @example.com (RFC 2606, RFC 6761). */
static bool is_at_example(struct ts_bytes after) {
    static const char *const names[] = {"example.com", "example.org", "example.net",
                                        "example",     "test",        "invalid"};
    if (after.len < 2 || after.data[0] != '@')
        return false;
    size_t len = 1;
    while (len < after.len && (isalnum(after.data[len]) || after.data[len] == '.' || after.data[len] == '-'))
        len++;
    struct ts_bytes host = ts_bytes_slice(after, (struct ts_span){1, len - 1});
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t name_len = strlen(names[i]);
        if (host.len < name_len ||
            strncasecmp((const char *)host.data + host.len - name_len, names[i], name_len) != 0)
            continue;
        if (host.len > name_len ? host.data[host.len - name_len - 1] == '.' : i < 3)
            return true;
    }
    return false;
}

/* Returns whether the secret equals the user name directly before it, as in a URL with //guest:guest@. */
static bool is_own_user(struct ts_bytes start, struct ts_bytes secret) {
    if (start.len < secret.len + 1 || start.data[start.len - 1] != ':')
        return false;
    size_t user = start.len - 1 - secret.len;
    return memcmp(start.data + user, secret.data, secret.len) == 0 &&
           (user == 0 || start.data[user - 1] == '/');
}

/* Judges the match of a scored rule: the model decides. Values that are obviously made up have low
 * confidence. Returns false if the model rejects the match. */
static bool judge_by_model(const struct ts_rule *rule, const struct detect_around *around,
                           struct ts_bytes secret, bool is_invented, struct detect_judgement *ret) {
    struct detect_sight sight = {
        .secret = secret, .name = around->name, .before = around->before, .rule = rule->id};
    int32_t score = detect__model_score(&sight, NULL, NULL);
    if (detect__model_rejects(score))
        return false;
    ret->score = (int16_t)score;
    if (is_invented)
        ret->score = TS_MODEL_SCORE_LEAST;
    ret->confidence = ts_model_confidence(ret->score);
    return true;
}

/* Returns whether the validators of the rule judge placeholders and hashes themselves. */
static bool takes_any_value(const struct ts_rule *rule) {
    for (size_t i = 0; i < rule->validator_count; i++)
        if (rule->validators[i] == TS_VALIDATOR_STORED || rule->validators[i] == TS_VALIDATOR_PASSWORD_HASH)
            return true;
    return false;
}

/* Returns whether the secret is the id of a website at Google Analytics: UA-, the account, -, a number. */
static bool is_analytics_id(struct ts_bytes secret) {
    size_t digits = 0;
    size_t dashes = 0;
    for (size_t i = 3; i < secret.len; i++) {
        digits += isdigit(secret.data[i]) != 0;
        dashes += secret.data[i] == '-';
    }
    return ts_bytes_starts_with(secret, TS_BYTES("UA-")) && dashes == 1 && digits + dashes == secret.len - 3;
}

/* Returns whether the secret is a key or an id that web pages publish. */
static bool is_publishable(struct ts_bytes secret) {
    return ts_bytes_starts_with(secret, TS_BYTES("pk_live_")) ||
           ts_bytes_starts_with(secret, TS_BYTES("pk_test_")) || is_analytics_id(secret);
}

bool detect__judge_secret(const struct ts_rule *rule, const struct detect_around *around,
                          struct ts_bytes secret, struct detect_judgement *ret) {
    enum detect_verdict verdict = takes_any_value(rule) ? DETECT_KEEP : detect__placeholder(secret);
    if (verdict == DETECT_REJECT || (rule->entropy > 0 && detect__entropy(secret) < rule->entropy))
        return false;
    if (rule->generic && is_publishable(secret))
        return false;
    bool raised = false;
    bool is_weak =
        !takes_any_value(rule) && (detect__is_disguised_word(secret) || is_own_user(around->start, secret));
    bool lowered = verdict == DETECT_LOWER || is_weak || is_at_example(around->after);
    for (size_t i = 0; i < rule->validator_count; i++) {
        switch (detect__validate(rule->validators[i], around->name, secret)) {
        case DETECT_REJECT:
            return false;
        case DETECT_LOWER:
            /* Among the matches of scored rules, single words are mostly texts and names of programs. */
            if (rule->scored && rule->validators[i] == TS_VALIDATOR_PASSWORD && detect__is_one_word(secret))
                return false;
            /* For scored rules, the model decides about the value, but not about its name. */
            lowered = lowered || !rule->scored || rule->validators[i] == TS_VALIDATOR_CREDENTIAL_NAME;
            break;
        case DETECT_KEEP:
            break;
        case DETECT_RAISE:
            raised = true;
            break;
        }
    }
    if (rule->scored)
        return judge_by_model(rule, around, secret, lowered, ret);
    ret->score = 0;
    ret->confidence = lowered ? TS_CONFIDENCE_LOW : raised ? TS_CONFIDENCE_HIGH : rule->confidence;
    return true;
}
