/*
 * The validators of rule files. They check the checksum if the issuer defines one, otherwise the structure.
 */
#include "validate.h"

#include "base64.h"
#include "model_score.h"

#include "base/assert.h"
#include "base/hex.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static uint32_t crc32_of(struct ts_bytes bytes) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes.len; i++) {
        crc ^= bytes.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (UINT32_C(0xedb88320) & (0U - (crc & 1)));
    }
    return ~crc;
}

/* Accepts a prefix with _, and a body whose last six characters are the CRC-32 of the rest of the body in
 * base 62. Tokens without a correct checksum (older ones, or from another issuer) fail the check, but are
 * still reported, with low confidence. */
static enum detect_verdict validate_crc62(struct ts_bytes secret) {
    static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const uint8_t *underscore = memchr(secret.data, '_', secret.len);
    if (!underscore)
        return DETECT_LOWER;
    struct ts_bytes body = ts_bytes_skip(secret, (size_t)(underscore - secret.data) + 1);
    if (body.len <= 6)
        return DETECT_REJECT;
    uint32_t crc = crc32_of(ts_bytes_first(body, body.len - 6));
    char expected[6];
    for (size_t i = 6; i-- > 0; crc /= 62)
        expected[i] = alphabet[crc % 62];
    return memcmp(body.data + body.len - 6, expected, 6) == 0 ? DETECT_RAISE : DETECT_LOWER;
}

/* Checks that the first ten characters after the prefix, in base 32, contain an account number of 12
 * digits. */
static enum detect_verdict validate_aws_key_id(struct ts_bytes secret) {
    if (secret.len != 20)
        return DETECT_REJECT;
    uint64_t bits = 0;
    for (size_t i = 4; i < 14; i++) {
        uint8_t c = secret.data[i];
        if (c >= 'A' && c <= 'Z')
            bits = bits << 5 | (uint64_t)(c - 'A');
        else if (c >= '2' && c <= '7')
            bits = bits << 5 | (uint64_t)(c - '2' + 26);
        else
            return DETECT_REJECT;
    }
    uint64_t account = (bits >> 2 & UINT64_C(0x7fffffffff80)) >> 7;
    return account <= UINT64_C(999999999999) ? DETECT_KEEP : DETECT_LOWER;
}

static bool holds_text(const uint8_t *bytes, size_t len, const char *text) {
    return memmem(bytes, len, text, strlen(text)) != NULL;
}

bool detect__is_unsigned_header(const uint8_t *header, size_t len) {
    static const char none[] = "\"none\"";
    for (size_t i = 0; i + sizeof none - 1 <= len; i++)
        if (strncasecmp((const char *)header + i, none, sizeof none - 1) == 0)
            return true;
    return false;
}

/* Returns whether the token is a claim of NATS, which servers publish: only the owner of its key can use the
 * claim, unless the claim says that it is a bearer token. */
static bool is_public_claim(const uint8_t *header, size_t len, struct ts_bytes payload) {
    uint8_t claims[2048];
    if (!holds_text(header, len, "ed25519-nkey"))
        return false;
    size_t claims_len = detect__base64_decode(payload, claims, sizeof claims);
    return !holds_text(claims, claims_len, "\"bearer_token\":true");
}

/* Checks that header and payload are JSON objects, and that the header names an algorithm. */
static enum detect_verdict validate_jwt(struct ts_bytes secret) {
    uint8_t decoded[512];
    size_t len = detect__base64_decode(secret, decoded, sizeof decoded);
    if (len < 8 || decoded[0] != '{' || !holds_text(decoded, len, "\"alg\""))
        return DETECT_REJECT;
    const uint8_t *dot = memchr(secret.data, '.', secret.len);
    if (!dot)
        return DETECT_REJECT;
    struct ts_bytes payload = ts_bytes_skip(secret, (size_t)(dot - secret.data) + 1);
    uint8_t claims[64];
    size_t claims_len = detect__base64_decode(payload, claims, sizeof claims);
    if (claims_len < 2 || claims[0] != '{')
        return DETECT_REJECT;
    return detect__is_unsigned_header(decoded, len) || is_public_claim(decoded, len, payload) ? DETECT_LOWER
                                                                                              : DETECT_KEEP;
}

/* Returns whether the bytes are a DER sequence with a valid length. */
static bool is_der_sequence(const uint8_t *der, size_t len, size_t *ret_whole) {
    if (len < 4 || der[0] != 0x30)
        return false;
    if (der[1] < 0x80)
        *ret_whole = 2 + (size_t)der[1];
    else if (der[1] == 0x81)
        *ret_whole = 3 + (size_t)der[2];
    else if (der[1] == 0x82)
        *ret_whole = 4 + ((size_t)der[2] << 8 | der[3]);
    else
        return false;
    return true;
}

/* If a program divides the body into several strings, removes the quotes and everything between the strings.
 * The first string begins before the body. */
static struct ts_bytes join_strings(struct ts_bytes body, uint8_t *memory, size_t size) {
    bool is_inside = true;
    size_t len = 0;
    for (size_t i = 0; i < body.len && len < size; i++) {
        uint8_t c = body.data[i];
        if (c == '"' || c == '\'')
            is_inside = !is_inside;
        else if (is_inside)
            memory[len++] = c;
    }
    return ts_bytes_of(memory, len);
}

/* Accepts the body between the dashes if it is DER of the correct length, or has OpenSSH's format. Armour
 * with headers (PGP, old encrypted keys) is accepted if it is long enough. */
static enum detect_verdict validate_pem(struct ts_bytes secret) {
    const uint8_t *begin_end = memmem(secret.data, secret.len, "KEY", 3);
    const uint8_t *dashes = NULL;
    if (begin_end)
        dashes = memmem(begin_end, secret.len - (size_t)(begin_end - secret.data), "-----", 5);
    if (!dashes)
        return DETECT_REJECT;
    struct ts_bytes body = ts_bytes_skip(secret, (size_t)(dashes - secret.data) + 5);
    /* In base64 of the URL alphabet, a dash is a character. Armour does not use that alphabet, so the body
     * ends at the first dash. */
    const uint8_t *end = memmem(body.data, body.len, "-----", 5);
    if (end)
        body = ts_bytes_first(body, (size_t)(end - body.data));
    uint8_t joined[12288];
    uint8_t decoded[8192];
    size_t len = detect__base64_decode(join_strings(body, joined, sizeof joined), decoded, sizeof decoded);
    size_t whole;
    if (len >= 40 && memcmp(decoded, "openssh-key-v1", 15) == 0)
        return DETECT_RAISE;
    if (is_der_sequence(decoded, len, &whole))
        return len == whole || (len == sizeof decoded && whole > len) ? DETECT_RAISE : DETECT_LOWER;
    return body.len >= 128 ? DETECT_KEEP : DETECT_REJECT;
}

static enum detect_verdict validate_pem_base64(struct ts_bytes secret) {
    uint8_t decoded[96];
    size_t len = detect__base64_decode(secret, decoded, sizeof decoded);
    return len > 20 && memcmp(decoded, "-----BEGIN", 10) == 0 && holds_text(decoded, len, "PRIVATE KEY")
               ? DETECT_RAISE
               : DETECT_REJECT;
}

struct classes {
    size_t lower, upper, digit, other;
};

static struct classes count_classes(struct ts_bytes secret) {
    struct classes classes = {0};
    for (size_t i = 0; i < secret.len; i++) {
        uint8_t c = secret.data[i];
        classes.lower += (c >= 'a' && c <= 'z') || c >= 0x80; /* letters of other languages */
        classes.upper += c >= 'A' && c <= 'Z';
        classes.digit += c >= '0' && c <= '9';
    }
    classes.other = secret.len - classes.lower - classes.upper - classes.digit;
    return classes;
}

static enum detect_verdict validate_hex(struct ts_bytes secret) {
    size_t upper = 0;
    size_t lower = 0;
    for (size_t i = 0; i < secret.len; i++) {
        if (!isxdigit(secret.data[i]))
            return DETECT_REJECT;
        upper += secret.data[i] >= 'A' && secret.data[i] <= 'F';
        lower += secret.data[i] >= 'a' && secret.data[i] <= 'f';
    }
    return secret.len % 2 == 0 && (upper == 0 || lower == 0) && upper + lower > 0 ? DETECT_KEEP
                                                                                  : DETECT_REJECT;
}

/* Rejects values that contain only hexadecimal digits. If a token may contain all letters, such a value is a
 * checksum or an object id. */
static enum detect_verdict validate_not_hex(struct ts_bytes secret) {
    for (size_t i = 0; i < secret.len; i++)
        if (!isxdigit(secret.data[i]))
            return DETECT_KEEP;
    return DETECT_REJECT;
}

static enum detect_verdict validate_base64(struct ts_bytes secret) {
    size_t padding = 0;
    while (padding < 2 && padding < secret.len && secret.data[secret.len - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i < secret.len - padding; i++)
        if (detect__base64_bits[secret.data[i]] == 0)
            return DETECT_REJECT;
    return padding > 0 && secret.len % 4 != 0 ? DETECT_REJECT : DETECT_KEEP;
}

/* Returns whether the text is the rest of a list of hosts after the first `host:`, in a URL without a
 * password, such as 27017,b.internal:27018,c. */
static bool is_host_list(const char *text) {
    static const char digits[] = "0123456789";
    size_t first_port = strspn(text, digits);
    if (first_port == 0 || first_port > 5 || text[first_port] != ',')
        return false;
    const char *at = text + first_port;
    while (*at == ',') {
        size_t name = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789.-");
        if (name == 0)
            return false;
        at += 1 + name;
        if (*at == ':') {
            size_t port = strspn(at + 1, digits);
            if (port == 0 || port > 5)
                return false;
            at += 1 + port;
        }
    }
    return *at == '\0';
}

bool detect__is_password_word(struct ts_bytes text) {
    static const char *const words[] = {
        "password",      "passwd",       "pass",         "secret", "admin",      "root",     "test",
        "user",          "username",     "token",        "guest",  "postgres",   "mysql",    "null",
        "none",          "true",         "false",        "string", "undefined",  "required", "default",
        "optional",      "empty",        "hidden",       "pwd",    "mypassword", "qwerty",   "my_password",
        "some_password", "new_password", "old_password", "demo"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t len = strlen(words[i]);
        if (text.len < len || strncasecmp((const char *)text.data, words[i], len) != 0)
            continue;
        while (len < text.len && text.data[len] != 0 && strchr("0123456789!_-", text.data[len]))
            len++;
        if (len == text.len)
            return true;
    }
    return false;
}

/* Returns the letter that the character replaces in passwords: 'o' for '0'. Returns a letter itself in lower
 * case, and 0 for other characters. */
static char undisguised(uint8_t c) {
    static const char disguises[] = "0134578$@";
    static const char letters[] = "oieastbsa";
    const char *at = c != 0 ? strchr(disguises, c) : NULL;
    return isalpha(c) ? (char)tolower(c) : at ? letters[at - disguises] : '\0';
}

bool detect__is_disguised_word(struct ts_bytes text) {
    enum { MOST = 64 };
    static const char *const anywhere[] = {"password", "passwort", "notreal"};
    static const char *const alone[] = {"secret",      "sekrit",     "topsecret",
                                        "supersecret", "secretpass", "letmein"};
    char word[MOST + 1];
    size_t len = 0;
    for (size_t i = 0; i < text.len && text.len <= MOST; i++) {
        uint8_t escaped;
        uint8_t c = text.data[i];
        if (c == '%' && i + 2 < text.len &&
            ts_hex_decode(ts_bytes_slice(text, (struct ts_span){i + 1, 2}), &escaped)) {
            c = escaped;
            i += 2;
        }
        word[len] = undisguised(c);
        len += word[len] != '\0';
    }
    word[len] = '\0';
    for (size_t i = 0; i < sizeof anywhere / sizeof anywhere[0]; i++)
        if (strstr(word, anywhere[i]))
            return true;
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++)
        if (strcmp(word, alone[i]) == 0)
            return true;
    return false;
}

/* Returns whether the text looks like a call: it begins with name(, or has a closing parenthesis after an
 * opening one. */
static bool is_call(const char *lower) {
    size_t name = strspn(lower, "abcdefghijklmnopqrstuvwxyz0123456789_.");
    const char *open = strchr(lower, '(');
    return open && ((name > 0 && lower[name] == '(') || strchr(lower, ')') > open);
}

bool detect__is_same_name(struct ts_bytes a, struct ts_bytes b) {
    size_t i = 0;
    size_t k = 0;
    for (;;) {
        while (i < a.len && !isalnum(a.data[i]))
            i++;
        while (k < b.len && !isalnum(b.data[k]))
            k++;
        if (i == a.len || k == b.len)
            return i == a.len && k == b.len;
        if (tolower(a.data[i++]) != tolower(b.data[k++]))
            return false;
    }
}

bool detect__is_constant(struct ts_bytes text) {
    bool is_constant = memchr(text.data, '_', text.len) != NULL;
    for (size_t i = 0; i < text.len && is_constant; i++)
        is_constant = isupper(text.data[i]) || isdigit(text.data[i]) || text.data[i] == '_';
    return is_constant && detect__names_itself(text);
}

/* Returns whether the value is a name that contains a word such as password: resetPasswordToken,
 * user_password, PASSWORD_OF_STEP_6. */
static bool is_identifier(struct ts_bytes text) {
    bool is_name = true;
    for (size_t i = 0; i < text.len && is_name; i++) {
        uint8_t c = text.data[i];
        is_name = isalpha(c) || c == '_' || c == '-' || c == '.';
    }
    return detect__is_constant(text) || (is_name && detect__names_itself(text));
}

/* Returns whether the text has the conditions for a password in a form: required|min:8 or required,min=8.
 * Words with commas between them also count. */
static bool is_demand(const char *lower) {
    static const char *const words[] = {"required", "nullable", "sometimes", "confirmed",
                                        "string",   "min",      "max"};
    bool is_known = false;
    size_t parts = 0;
    for (const char *at = lower;; at++) {
        size_t word = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            is_known = is_known || (strlen(words[i]) == word && strncmp(at, words[i], word) == 0);
        at += word;
        is_known = is_known || (parts > 0 && *at == '\0' && strpbrk(lower, "0123456789|:=") == NULL);
        if (word > 0 && (*at == ':' || *at == '='))
            at += 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789_.");
        parts++;
        if (word == 0 || *at == '\0' || (*at != '|' && *at != ','))
            return word > 0 && *at == '\0' && is_known && strpbrk(lower, "|,:=") != NULL;
    }
}

bool detect__is_one_word(struct ts_bytes text) {
    struct classes classes = count_classes(text);
    size_t inner_capitals = classes.upper - (classes.upper > 0 && isupper(text.data[0]) != 0);
    return classes.digit + classes.other == 0 && (inner_capitals == 0 || classes.lower == 0);
}

/* Rejects words for passwords, names in programs, paths and calls. */
static enum detect_verdict validate_password(struct ts_bytes name, struct ts_bytes secret) {
    if (secret.len < 6 || secret.len > 128 || detect__is_password_word(secret) || is_identifier(secret) ||
        (name.len > 0 && detect__is_same_name(name, secret)))
        return DETECT_REJECT;
    char lower[129];
    for (size_t i = 0; i < secret.len; i++)
        lower[i] = (char)tolower(secret.data[i]);
    lower[secret.len] = '\0';
    if (lower[0] == '/' || strncmp(lower, "./", 2) == 0 || strncmp(lower, "~/", 2) == 0)
        return DETECT_REJECT;
    /* The usual password of anonymous users. */
    if (strncmp(lower, "user@", 5) == 0)
        return DETECT_REJECT;
    if (strpbrk(lower, "{}<>\\ \t") || is_call(lower) || strstr(lower, "::") || strstr(lower, "->") ||
        strstr(lower, "://"))
        return DETECT_REJECT;
    /* Crowdin puts "crwdns" into texts that are to be translated. */
    if (is_host_list(lower) || is_demand(lower) || strncmp(lower, "crwdns", 6) == 0)
        return DETECT_REJECT;
    struct classes classes = count_classes(secret);
    if (classes.lower + classes.upper + classes.digit == 0 || classes.digit == secret.len)
        return DETECT_REJECT;
    return classes.digit > 0 ? DETECT_KEEP : DETECT_LOWER;
}

/* Checks user:password in base64. Somebody used this text to log in, so even a weak password counts. Only
 * malformed texts, placeholders and words that mean "password" are rejected. */
static enum detect_verdict validate_basic(struct ts_bytes secret) {
    uint8_t decoded[384];
    size_t len = detect__base64_decode(secret, decoded, sizeof decoded);
    const uint8_t *colon = memchr(decoded, ':', len);
    for (size_t i = 0; i < len; i++)
        if (decoded[i] < ' ' || decoded[i] == 0x7f)
            return DETECT_REJECT;
    if (!colon || validate_base64(secret) == DETECT_REJECT)
        return DETECT_REJECT;
    struct ts_bytes password = ts_bytes_skip(ts_bytes_of(decoded, len), (size_t)(colon - decoded) + 1);
    if (detect__placeholder(password) == DETECT_REJECT || detect__is_password_word(password))
        return DETECT_REJECT;
    return validate_password(TS_BYTES(""), password) == DETECT_KEEP ? DETECT_KEEP : DETECT_LOWER;
}

static bool is_name_char(uint8_t c) {
    return isalnum(c) || c == '_' || c == '-';
}

/* Returns whether the text is a name with dots, such as a.b-c.d_e, in which each part begins with a letter or
 * '_'. */
static bool is_dotted_name(struct ts_bytes text) {
    bool begins = true;
    size_t dots = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c == '.' ? begins : begins ? !isalpha(c) && c != '_' : !is_name_char(c))
            return false;
        begins = c == '.';
        dots += begins;
    }
    return dots > 0 && !begins;
}

bool detect__names_itself(struct ts_bytes text) {
    static const char *const words[] = {"password", "passwd", "secret",     "token",      "field",
                                        "string",   "apikey", "privatekey", "private_key"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (size_t at = 0; at + strlen(words[i]) <= text.len; at++)
            if (strncasecmp((const char *)text.data + at, words[i], strlen(words[i])) == 0)
                return true;
    return false;
}

/* Returns whether the text is a path of words with optional numbers, whose last word is after a '#', such as
 * vault:kv/data/db#key1 or users/passwords#update2. */
static bool is_place_of_name(struct ts_bytes text) {
    size_t marks = 0;
    size_t ways = 0;
    uint8_t before = '/';
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        bool parts = c == '/' || c == ':' || c == '#';
        if (parts ? strchr("/:#", before) != NULL
                  : !is_name_char(c) || (!isdigit(c) && isdigit(before)) ||
                        (isdigit(c) && strchr("/:#", before) != NULL))
            return false;
        marks += c == '#';
        ways += c == '/' || c == ':';
        before = c;
    }
    return marks == 1 && text.data[text.len - 1] != '#' && (ways > 0 || detect__names_itself(text));
}

/* Returns whether the letters follow each other in a way that is rare in words. */
static bool is_unlike_words(struct ts_bytes text) {
    enum { LEAST = 12, SURPRISE = 60 };
    return text.len >= LEAST && detect__model_surprise(text) >= SURPRISE;
}

/*
 * Returns whether the text has letters of both cases and digits in random order. Names have words of some
 * length; in random text the class of the characters changes often. A leading capital is part of its word.
 */
static bool is_scrambled(struct ts_bytes text) {
    enum { LEAST = 8, WORD = 3 };
    size_t from = 0;
    size_t words = 1;
    for (size_t i = 1; i <= text.len; i++) {
        if (i == text.len || !isalnum(text.data[i])) {
            if (i - from >= LEAST && words * WORD > i - from)
                return true;
            from = i + 1;
            words = 0;
            continue;
        }
        uint8_t c = text.data[i];
        uint8_t before = text.data[i - 1];
        bool after_capitals = islower(c) && isupper(before) && i - from >= 2 && isupper(text.data[i - 2]);
        words += i == from || after_capitals || (isupper(c) && !isupper(before)) ||
                 (isdigit(c) != 0) != (isdigit(before) != 0);
    }
    return false;
}

/* Requires letters and digits, as in generated values. One of 39 random values of 32 letters and digits has
 * fewer than two digits, so random letters with fewer digits are accepted, too. */
static enum detect_verdict validate_mixed(struct ts_bytes secret) {
    struct classes classes = count_classes(secret);
    bool has_both = classes.digit >= 2 && classes.lower + classes.upper >= 2;
    bool has_cases = classes.lower >= 4 && classes.upper >= 4;
    return has_both || (has_cases && is_scrambled(secret) && is_unlike_words(secret)) ? DETECT_KEEP
                                                                                      : DETECT_REJECT;
}

/* Returns whether the value has `==` before its end, such as `19===next`. Such a value is code that
 * compares. */
static bool has_comparison(struct ts_bytes secret) {
    while (secret.len > 0 && secret.data[secret.len - 1] == '=')
        secret.len--;
    return secret.len > 0 && memmem(secret.data, secret.len, "==", 2) != NULL;
}

/*
 * Checks values without quotes: most such values are types, variables or settings of programs. Names have
 * words of one case and at most one number among letters, or contain a word that says what the name stands
 * for.
 */
static enum detect_verdict validate_not_name(struct ts_bytes secret) {
    struct classes classes = count_classes(secret);
    size_t separators = 0;
    for (size_t i = 0; i < secret.len; i++)
        separators += secret.data[i] != 0 && strchr("-_./:", secret.data[i]) != NULL;
    bool is_plain = classes.other == separators;
    bool has_letters = classes.lower + classes.upper > 0;
    bool unlike_words = is_unlike_words(secret);
    if (!has_letters || has_comparison(secret) || (is_dotted_name(secret) && !unlike_words))
        return DETECT_REJECT;
    bool has_name_classes = classes.lower == 0 || classes.upper == 0 || classes.digit < 2;
    if ((classes.digit == 0 || (is_plain && has_name_classes)) && !unlike_words && !is_scrambled(secret))
        return DETECT_REJECT;
    return (is_plain && detect__names_itself(secret)) || is_place_of_name(secret) ? DETECT_REJECT
                                                                                  : DETECT_KEEP;
}

/* Checks xox?-digits-...: the number of the workspace follows the prefix. */
static enum detect_verdict validate_slack(struct ts_bytes secret) {
    const uint8_t *dash = memchr(secret.data, '-', secret.len);
    if (!dash)
        return DETECT_REJECT;
    size_t at = (size_t)(dash - secret.data) + 1;
    size_t digits = 0;
    while (at + digits < secret.len && isdigit(secret.data[at + digits]))
        digits++;
    return digits >= 9 && digits <= 15 ? DETECT_RAISE : DETECT_LOWER;
}

/* Checks that the first part is the user's number in base64. */
static enum detect_verdict validate_discord(struct ts_bytes secret) {
    uint8_t decoded[32];
    size_t len = detect__base64_decode(secret, decoded, sizeof decoded);
    if (len < 17 || len > 20)
        return DETECT_REJECT;
    for (size_t i = 0; i < len; i++)
        if (!isdigit(decoded[i]))
            return DETECT_REJECT;
    return DETECT_RAISE;
}

/* Accepts a macaroon whose location is PyPI itself. */
static enum detect_verdict validate_pypi(struct ts_bytes secret) {
    uint8_t decoded[64];
    if (secret.len < 32)
        return DETECT_REJECT;
    size_t len = detect__base64_decode(ts_bytes_skip(secret, 5), decoded, sizeof decoded);
    return holds_text(decoded, len, "pypi.org") ? DETECT_RAISE : DETECT_LOWER;
}

/* Checks the checksum of Bech32: the last six characters, over prefix and data. */
static enum detect_verdict validate_age(struct ts_bytes secret) {
    static const char alphabet[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    static const uint32_t generators[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3};
    static const char prefix[] = "age-secret-key-";
    uint32_t sum = 1;
    uint8_t values[256];
    size_t count = 0;
    for (size_t i = 0; prefix[i]; i++)
        values[count++] = (uint8_t)(prefix[i] >> 5);
    values[count++] = 0;
    for (size_t i = 0; prefix[i]; i++)
        values[count++] = (uint8_t)(prefix[i] & 31);
    for (size_t i = sizeof prefix; i < secret.len && count < sizeof values; i++) {
        int c = tolower(secret.data[i]);
        const char *place = c ? strchr(alphabet, c) : NULL;
        if (!place)
            return DETECT_REJECT;
        values[count++] = (uint8_t)(place - alphabet);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t top = sum >> 25;
        sum = (sum & 0x1ffffff) << 5 ^ values[i];
        for (unsigned bit = 0; bit < 5; bit++)
            if (top >> bit & 1)
                sum ^= generators[bit];
    }
    return sum == 1 ? DETECT_RAISE : DETECT_LOWER;
}

/* Checks the seed of an nkey in base 32: two bytes of prefixes, 32 of the seed, and their CRC-16 (XMODEM),
 * low byte first. */
static enum detect_verdict validate_nats_crc(struct ts_bytes secret) {
    enum { BYTES = 36, CHARACTERS = 58 };
    uint8_t decoded[BYTES + 1];
    size_t count = 0;
    uint32_t bits = 0;
    unsigned bit_count = 0;
    uint16_t crc = 0;
    if (secret.len != CHARACTERS)
        return DETECT_REJECT;
    for (size_t i = 0; i < secret.len; i++) {
        uint8_t c = secret.data[i];
        if (!isupper(c) && (c < '2' || c > '7'))
            return DETECT_REJECT;
        bits = bits << 5 | (uint32_t)(isupper(c) ? c - 'A' : c - '2' + 26);
        bit_count += 5;
        if (bit_count >= 8) {
            bit_count -= 8;
            decoded[count++] = (uint8_t)(bits >> bit_count);
        }
    }
    for (size_t i = 0; i < BYTES - 2; i++) {
        crc = (uint16_t)(crc ^ decoded[i] << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0));
    }
    return (decoded[BYTES - 2] | decoded[BYTES - 1] << 8) == crc ? DETECT_RAISE : DETECT_LOWER;
}

/* Accepts version 4, which is random. Uuids of other versions contain times and names, and are rarely
 * secrets. */
static enum detect_verdict validate_uuid(struct ts_bytes secret) {
    if (secret.len != 36)
        return DETECT_REJECT;
    bool random = secret.data[14] == '4' && strchr("89abAB", secret.data[19]) && secret.data[19] != '\0';
    return random ? DETECT_KEEP : DETECT_LOWER;
}

enum detect_verdict detect__validate(enum ts_validator validator, struct ts_bytes name,
                                     struct ts_bytes secret) {
    if (secret.len == 0)
        return DETECT_REJECT;
    switch (validator) {
    case TS_VALIDATOR_GITHUB_CRC:
    case TS_VALIDATOR_NPM_CRC:
        return validate_crc62(secret);
    case TS_VALIDATOR_AWS_KEY_ID:
        return validate_aws_key_id(secret);
    case TS_VALIDATOR_JWT:
        return validate_jwt(secret);
    case TS_VALIDATOR_PEM:
        return validate_pem(secret);
    case TS_VALIDATOR_PEM_BASE64:
        return validate_pem_base64(secret);
    case TS_VALIDATOR_HEX:
        return validate_hex(secret);
    case TS_VALIDATOR_BASE64:
        return validate_base64(secret);
    case TS_VALIDATOR_SLACK:
        return validate_slack(secret);
    case TS_VALIDATOR_DISCORD:
        return validate_discord(secret);
    case TS_VALIDATOR_NOT_NAME:
        return validate_not_name(secret);
    case TS_VALIDATOR_NOT_HEX:
        return validate_not_hex(secret);
    case TS_VALIDATOR_MIXED:
        return validate_mixed(secret);
    case TS_VALIDATOR_PASSWORD:
        return validate_password(name, secret);
    case TS_VALIDATOR_PYPI:
        return validate_pypi(secret);
    case TS_VALIDATOR_AGE:
        return validate_age(secret);
    case TS_VALIDATOR_NATS_CRC:
        return validate_nats_crc(secret);
    case TS_VALIDATOR_UUID:
        return validate_uuid(secret);
    case TS_VALIDATOR_BASIC:
        return validate_basic(secret);
    case TS_VALIDATOR_CREDENTIAL_NAME:
        return detect__validate_name(name, secret);
    case TS_VALIDATOR_STORED:
        return detect__validate_stored(secret);
    case TS_VALIDATOR_PASSWORD_HASH:
        return detect__validate_password_hash(secret);
    }
    ts_unreachable("a validator without a function");
}
