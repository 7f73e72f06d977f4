/*
 * Decides from the name before a secret whether the value is a credential. Names are read from the end: the
 * last word says what the value is, and the words before it say what it belongs to. NextToken, next_token,
 * nexttoken and NEXT-TOKEN are the same words.
 */
#include "validate.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Last words of names whose value is a property of a secret, not the secret itself. */
static const char *const about[] = {
    "id",
    "ids",
    "name",
    "names",
    "type",
    "kind",
    "url",
    "uri",
    "arn",
    "path",
    "file",
    "dir",
    "filename",
    "length",
    "size",
    "count",
    "index",
    "ttl",
    "expiry",
    "expires",
    "at",
    "expiration",
    "date",
    "format",
    "version",
    "label",
    "alg",
    "header",
    "algorithm",
    "status",
    "policy",
    "field",
    "region",
    "prefix",
    "ref",
    "description",
    "endpoint",
    "checksum",
    "created",
    "updated",
    "digest",
    "hint",
    "class",
    "scope",
    "fingerprint",
    "tokenizer",
    "secretsmanager",
    "sha",
    "md",
    "rev",
    "revision",
    "commit",
    "etag",
    "accessor",
};

/* Words before "token" that show that the token is not a credential: page tokens, idempotency tokens, version
 * tokens. */
static const char *const passing[] = {
    "next",       "prev",       "previous",    "page",       "pagination", "paging",   "continuation",
    "continue",   "cursor",     "start",       "starting",   "end",        "resume",   "sync",
    "delta",      "lock",       "idempotency", "idempotent", "marker",     "position", "cancellation",
    "collection", "import",     "export",      "snapshot",   "watch",      "scroll",   "changeset",
    "postman",    "opaquelock", "form",
};

/* Words before "token" that show that a uuid is not a credential. With these words, a value that is not a
 * uuid may be a credential. */
static const char *const often_passing[] = {
    "client", "request",  "change", "creator", "operation", "transaction",
    "task",   "activity", "action", "update",  "provision",
};

/* Words before "key" that show that the key is an identifier or is public: the key of a SonarQube project, of
 * a table row, or of a captcha site. */
static const char *const naming[] = {
    "project", "foreign", "sort", "partition", "row", "translation", "lookup", "site",
};

/* Words that, anywhere in a name, show that the value is public or useless by itself. A public value is known
 * to every user of the page or program. */
static const char *const open[] = {
    "csrf",       "xsrf",      "csrfmiddleware", "antiforgery",    "verification", "public", "publishable",
    "ciphertext", "encrypted", "sealed",         "nonce",          "dummy",        "hash",   "hashed",
    "integrity",  "username",  "authenticity",   "secretsmanager", "taglib",
};

/* Suffixes that, after the last dot of a name, show that the name is a file name. The value then belongs to
 * the file, such as its checksum. */
static const char *const extensions[] = {
    "php", "js",   "ts",   "jsx",  "tsx", "py",  "java", "go",    "rb",  "cs",    "vue",
    "css", "scss", "html", "json", "md",  "yml", "yaml", "swift", "kt",  "scala", "cpp",
    "rs",  "svg",  "gz",   "tgz",  "zip", "jar", "gem",  "whl",   "deb", "rpm",
};

/* Texts that belong to a name if they are directly before it. */
static const char checksum[] = "checksum/";  /* an annotation of a pod: the checksum of a secret */
static const char download[] = "alt=media&"; /* the token in the address of one file in Firebase storage */

#define LEN(table) (sizeof(table) / sizeof((table)[0]))

static bool is_name_char(uint8_t c) {
    return isalnum(c) || c == '_' || c == '-' || c == '.';
}

/* Returns the last name in the match before the offset `end`. The name may begin before the match. */
static struct ts_bytes last_name(struct ts_bytes text, struct ts_span before, size_t end) {
    size_t least = before.from > TS_RULE_NAME_BEFORE ? before.from - TS_RULE_NAME_BEFORE : 0;
    while (end > before.from && !is_name_char(text.data[end - 1]))
        end--;
    size_t from = end;
    while (from > least && is_name_char(text.data[from - 1]))
        from--;
    return ts_bytes_slice(text, (struct ts_span){from, end - from});
}

/* Returns true if the last name before the secret is not the secret's name: in KEY: &str = "...", the last
 * name is a type; in name: KEY, value: "...", it is the word "value". */
static bool is_no_name(struct ts_bytes text, struct ts_bytes name, size_t secret_at) {
    size_t from = (size_t)(name.data - text.data);
    size_t end = from + name.len;
    if (name.len == 5 && strncasecmp((const char *)name.data, "value", 5) == 0)
        return true;
    bool is_assigned = end < secret_at && memchr(text.data + end, '=', secret_at - end) != NULL;
    while (from > 0 && strchr(" &'", text.data[from - 1]) && text.data[from - 1] != '\0')
        from--;
    return is_assigned && from > 1 && text.data[from - 1] == ':' && is_name_char(text.data[from - 2]);
}

/* Extends the name to include `checksum` or `download`, if one of these texts is directly before the name. */
static struct ts_bytes with_text_before(struct ts_bytes text, struct ts_span before, struct ts_bytes name) {
    static const char *const texts[] = {checksum, download};
    size_t least = before.from > TS_RULE_NAME_BEFORE ? before.from - TS_RULE_NAME_BEFORE : 0;
    size_t at = (size_t)(name.data - text.data);
    for (size_t i = 0; i < LEN(texts); i++) {
        size_t len = strlen(texts[i]);
        if (at >= least + len && memcmp(text.data + at - len, texts[i], len) == 0)
            return ts_bytes_slice(text, (struct ts_span){at - len, name.len + len});
    }
    return name;
}

struct ts_bytes detect__name_before(struct ts_bytes text, struct ts_span before) {
    size_t secret_at = before.from + before.len;
    struct ts_bytes name = with_text_before(text, before, last_name(text, before, secret_at));
    if (name.len == 0 || !is_no_name(text, name, secret_at))
        return name;
    size_t at = (size_t)(name.data - text.data);
    struct ts_bytes other = at > before.from ? last_name(text, before, at) : ts_bytes_first(name, 0);
    return other.len > 0 ? other : name;
}

/* Removes the last word from a name and returns the word: letters of one case, optionally with a leading
 * capital. Also removes numbers and separators after the word. */
static struct ts_bytes take_word(struct ts_bytes *name) {
    size_t end = name->len;
    while (end > 0 && !isalpha(name->data[end - 1]))
        end--;
    size_t from = end;
    while (from > 0 && islower(name->data[from - 1]))
        from--;
    bool has_lower = from < end;
    if (has_lower)
        from -= from > 0 && isupper(name->data[from - 1]);
    else
        while (from > 0 && isupper(name->data[from - 1]))
            from--;
    static const char token[] = "token";
    struct ts_bytes word = ts_bytes_slice(*name, (struct ts_span){from, end - from});
    size_t rest = word.len > strlen(token) ? word.len - strlen(token) : 0;
    if (rest > 0 && strncasecmp((const char *)word.data + rest, token, strlen(token)) == 0) {
        word = ts_bytes_skip(word, rest);
        from += rest;
    }
    *name = ts_bytes_first(*name, from);
    return word;
}

static bool is_one_of(struct ts_bytes word, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (word.len == strlen(words[i]) && strncasecmp((const char *)word.data, words[i], word.len) == 0)
            return true;
    return false;
}

static bool is_word(struct ts_bytes word, const char *text) {
    return is_one_of(word, &text, 1);
}

static bool is_uuid(struct ts_bytes text) {
    if (text.len != 36)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text.data[i] != '-' : !isxdigit(text.data[i]))
            return false;
    }
    return true;
}

static bool is_file_name(struct ts_bytes name) {
    size_t from = name.len;
    while (from > 0 && name.data[from - 1] != '.')
        from--;
    return from > 1 && is_one_of(ts_bytes_skip(name, from), extensions, LEN(extensions));
}

static bool is_hex(struct ts_bytes text) {
    for (size_t i = 0; i < text.len; i++)
        if (!isxdigit(text.data[i]))
            return false;
    return true;
}

/* Returns whether the value of this name is public. In git's configuration, user.signingkey is the id or
 * fingerprint of a public key. authKey, 48 bytes in base64, is a public part of links to QQ groups. */
static bool names_public_value(struct ts_bytes name, struct ts_bytes secret) {
    enum { KEY_ID = 16, FINGERPRINT = 40, INVITATION = 64 };
    if (is_word(name, "signingkey"))
        return (secret.len == KEY_ID || secret.len == FINGERPRINT) && is_hex(secret);
    return ts_bytes_equal(name, TS_BYTES("authKey")) && secret.len == INVITATION && !is_hex(secret);
}

/* Returns whether the value is the name itself, or the part of the name after the last dot, as in
 * self.sessionToken = sessionToken. */
static bool is_own_name(struct ts_bytes name, struct ts_bytes secret) {
    size_t from = name.len;
    while (from > 0 && name.data[from - 1] != '.')
        from--;
    return detect__is_same_name(name, secret) || detect__is_same_name(ts_bytes_skip(name, from), secret);
}

enum detect_verdict detect__validate_name(struct ts_bytes name, struct ts_bytes secret) {
    struct ts_bytes rest = name;
    struct ts_bytes last = take_word(&rest);
    struct ts_bytes before = take_word(&rest);
    if (is_file_name(name) || names_public_value(name, secret) || is_own_name(name, secret) ||
        detect__is_constant(secret) || ts_bytes_starts_with(name, ts_bytes_of_cstring(checksum)))
        return DETECT_REJECT;
    if (ts_bytes_starts_with(name, ts_bytes_of_cstring(download)))
        return DETECT_LOWER;
    /* A "secret id" with a uuid is the secret part of a login, not a property of a secret. */
    if (is_word(before, "secret") && is_word(last, "id") && is_uuid(secret))
        return DETECT_KEEP;
    if (is_one_of(last, about, LEN(about)))
        return DETECT_REJECT;
    if (is_word(last, "token") && (is_one_of(before, passing, LEN(passing)) ||
                                   (is_one_of(before, often_passing, LEN(often_passing)) && is_uuid(secret))))
        return DETECT_REJECT;
    if (is_word(last, "key") && is_one_of(before, naming, LEN(naming)) && !is_hex(secret))
        return DETECT_REJECT;
    rest = name;
    while (rest.len > 0)
        if (is_one_of(take_word(&rest), open, LEN(open)))
            return DETECT_REJECT;
    return DETECT_KEEP;
}
