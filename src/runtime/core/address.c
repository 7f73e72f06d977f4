#include "runtime/core/address.h"

#include "base/hex.h"
#include "base/number.h"

#include <string.h>

struct scheme {
    const char *name;
    const char *written; /* the scheme as it is written in the address */
    uint16_t port;       /* the default port, which is omitted from the address */
    bool takes_user;     /* a user name is part of the address, not a credential */
};

static const struct scheme schemes[] = {
    {"https", "https", 443, false}, {"http", "http", 80, false},  {"git", "git", 9418, false},
    {"ssh", "ssh", 22, true},       {"git+ssh", "ssh", 22, true}, {"ssh+git", "ssh", 22, true},
};

/* The parts of an address, as the user wrote them. */
struct parts {
    const struct scheme *scheme;
    struct ts_bytes user;
    struct ts_bytes host; /* in brackets for IPv6 */
    struct ts_bytes port;
    struct ts_bytes path;
    bool is_short; /* user@host:path */
};

static bool is_letter_or_digit(uint8_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_one_of(uint8_t c, const char *set) {
    for (; *set != '\0'; set++)
        if ((uint8_t)*set == c)
            return true;
    return false;
}

static uint8_t lower(uint8_t c) {
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

static size_t find(struct ts_bytes text, const char *set) {
    size_t at = 0;
    while (at < text.len && !is_one_of(text.data[at], set))
        at++;
    return at;
}

static bool equals_in_any_case(struct ts_bytes text, const char *name) {
    size_t at = 0;
    while (at < text.len && name[at] != '\0' && lower(text.data[at]) == (uint8_t)name[at])
        at++;
    return at == text.len && name[at] == '\0';
}

/* A buffer for the normalised URL. It is large enough, because the length of the input was checked before. */
struct writer {
    uint8_t bytes[3 * TS_ADDRESS_MAX + 64]; /* each byte may become %XX */
    size_t len;
};

static void put(struct writer *writer, uint8_t c) {
    writer->bytes[writer->len++] = c;
}

static void put_text(struct writer *writer, const char *text) {
    for (; *text != '\0'; text++)
        put(writer, (uint8_t)*text);
}

static void put_lower(struct writer *writer, struct ts_bytes text) {
    for (size_t i = 0; i < text.len; i++)
        put(writer, lower(text.data[i]));
}

static void put_bytes(struct writer *writer, struct ts_bytes text) {
    for (size_t i = 0; i < text.len; i++)
        put(writer, text.data[i]);
}

/* Whether the text is a name, an IPv4 address, or an IPv6 address in brackets. */
static bool is_host(struct ts_bytes host) {
    if (host.len > 2 && host.data[0] == '[' && host.data[host.len - 1] == ']') {
        for (size_t i = 1; i + 1 < host.len; i++)
            if (ts_hex_digit(host.data[i]) < 0 && !is_one_of(host.data[i], ":."))
                return false;
        return true;
    }
    if (host.len == 0 || host.len > 253 || is_one_of(host.data[0], "-."))
        return false;
    for (size_t i = 0; i < host.len; i++) {
        bool is_double_dot = host.data[i] == '.' && i > 0 && host.data[i - 1] == '.';
        if (is_double_dot || (!is_letter_or_digit(host.data[i]) && !is_one_of(host.data[i], "-._")))
            return false;
    }
    return true;
}

/* Splits user@host:port, or the part user@host of a short address. */
static enum ts_address_error split_authority(struct ts_bytes authority, struct parts *parts) {
    size_t at = authority.len;
    while (at > 0 && authority.data[at - 1] != '@')
        at--;
    if (at > 0) {
        parts->user = ts_bytes_first(authority, at - 1);
        authority = ts_bytes_skip(authority, at);
        if (!parts->scheme->takes_user || parts->user.len == 0)
            return TS_ADDRESS_CREDENTIALS;
        for (size_t i = 0; i < parts->user.len; i++)
            if (!is_letter_or_digit(parts->user.data[i]) && !is_one_of(parts->user.data[i], "-._+"))
                return TS_ADDRESS_CREDENTIALS; /* a password, or a text that may be a password */
    }
    bool is_ipv6 = authority.len > 0 && authority.data[0] == '[';
    size_t host_len = is_ipv6 ? find(authority, "]") + 1 : find(authority, ":");
    if (host_len > authority.len)
        return TS_ADDRESS_HOST;
    parts->host = ts_bytes_first(authority, host_len);
    parts->port = ts_bytes_skip(authority, host_len);
    if (!is_host(parts->host))
        return TS_ADDRESS_HOST;
    if (parts->host.data[parts->host.len - 1] == '.')
        parts->host.len--; /* removes the final dot of a host name; is_host has refused two dots */
    return TS_ADDRESS_OK;
}

static const struct scheme *scheme_of(struct ts_bytes name) {
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (equals_in_any_case(name, schemes[i].name))
            return &schemes[i];
    return NULL;
}

static enum ts_address_error split_url(struct ts_bytes given, size_t scheme_len, struct parts *parts) {
    parts->scheme = scheme_of(ts_bytes_first(given, scheme_len));
    if (parts->scheme == NULL)
        return TS_ADDRESS_SCHEME;
    struct ts_bytes rest = ts_bytes_skip(given, scheme_len + strlen("://"));
    size_t authority_len = find(rest, "/?#");
    parts->path = ts_bytes_skip(rest, authority_len);
    return split_authority(ts_bytes_first(rest, authority_len), parts);
}

/* Returns the place of the colon before the path of a short address. Colons in brackets do not count: they
 * belong to an IPv6 address, or to a port. */
static size_t find_colon(struct ts_bytes given) {
    const size_t colon = find(given, ":"), open = find(given, "[");
    if (open > colon || (open > 0 && given.data[open - 1] != '@'))
        return colon;
    const size_t behind = open + find(ts_bytes_skip(given, open), "]") + 1;
    return behind < given.len && given.data[behind] == ':' ? behind : colon;
}

/* Whether the text is [host:port] or [user@host:port], which git also accepts. [::1] is a host without a
 * port. */
static bool has_port_in_brackets(struct ts_bytes authority) {
    if (authority.len < 2 || authority.data[0] != '[' || authority.data[authority.len - 1] != ']')
        return false;
    const size_t colon = find(authority, ":");
    return find(authority, "@") < authority.len ||
           (colon < authority.len &&
            find(ts_bytes_skip(authority, colon + 1), ":") == authority.len - colon - 1);
}

/* Whether the host is the scheme of a URL whose "://" is incomplete. */
static bool is_scheme_without_slashes(struct ts_bytes host) {
    return equals_in_any_case(host, "https") || equals_in_any_case(host, "http") ||
           equals_in_any_case(host, "file") || equals_in_any_case(host, "ftp");
}

/* Splits a short address, user@host:path. */
static enum ts_address_error split_short(struct ts_bytes given, size_t colon, struct parts *parts) {
    struct ts_bytes authority = ts_bytes_first(given, colon);
    const bool has_user = find(authority, "@") < authority.len;
    parts->scheme = scheme_of(TS_BYTES("ssh"));
    parts->is_short = true;
    parts->path = ts_bytes_skip(given, colon + 1);
    if (parts->path.len > 0 && parts->path.data[0] == ':' && find(authority, "[") == authority.len)
        return TS_ADDRESS_SCHEME; /* git would run a program for helper::address */
    /* user:password@host:path, or https:/user:password@host/path */
    if (find(parts->path, "@") < (has_user ? find(parts->path, "/") : parts->path.len))
        return TS_ADDRESS_CREDENTIALS;
    if (is_scheme_without_slashes(authority))
        return TS_ADDRESS_SCHEME;
    if (has_port_in_brackets(authority))
        authority = ts_bytes_slice(authority, (struct ts_span){1, authority.len - 2});
    return split_authority(authority, parts);
}

static enum ts_address_error put_port(struct writer *writer, const struct parts *parts) {
    uint32_t port = 0;
    if (parts->port.len == 0 || ts_bytes_equal(parts->port, TS_BYTES(":")))
        return TS_ADDRESS_OK;
    struct ts_bytes digits = ts_bytes_skip(parts->port, 1);
    if (parts->port.data[0] != ':' || ts_u32_parse(digits, &port) != TS_NUMBER_OK || port == 0 ||
        port > 65535)
        return TS_ADDRESS_PORT;
    if (port == parts->scheme->port)
        return TS_ADDRESS_OK;
    char text[8];
    size_t len = 0;
    for (uint32_t rest = port; rest > 0; rest /= 10)
        text[len++] = (char)('0' + rest % 10);
    put(writer, ':');
    while (len > 0)
        put(writer, (uint8_t)text[--len]);
    return TS_ADDRESS_OK;
}

/* Writes one character of a path. Writes an escape, with capital digits, only for characters that need it. */
static enum ts_address_error put_character(struct writer *writer, struct ts_bytes segment, size_t *at) {
    static const char plain[] = "-._~!$&'()*+,;=:@";
    uint8_t c = segment.data[*at];
    *at += 1;
    if (c == '%') {
        uint8_t value;
        if (segment.len - *at < 2 ||
            !ts_hex_decode(ts_bytes_slice(segment, (struct ts_span){*at, 2}), &value) || value < 0x20 ||
            value == 0x7f)
            return TS_ADDRESS_ESCAPE;
        *at += 2;
        c = value;
    } else if (is_one_of(c, plain)) {
        put(writer, c);
        return TS_ADDRESS_OK;
    }
    char text[3];
    const size_t len = ts_percent_encode(c, text);
    for (size_t i = 0; i < len; i++)
        put(writer, (uint8_t)text[i]);
    return TS_ADDRESS_OK;
}

/* Writes each segment with one slash before it. Omits empty segments and ".". */
static enum ts_address_error put_path(struct writer *writer, struct ts_bytes path) {
    size_t begin = writer->len;
    if (find(path, "?#") < path.len)
        return TS_ADDRESS_QUERY;
    while (path.len > 0) {
        size_t len = find(path, "/");
        struct ts_bytes segment = ts_bytes_first(path, len);
        path = ts_bytes_skip(path, len < path.len ? len + 1 : len);
        size_t from = writer->len;
        if (segment.len > 0)
            put(writer, '/');
        for (size_t at = 0; at < segment.len;) {
            enum ts_address_error error = put_character(writer, segment, &at);
            if (error != TS_ADDRESS_OK)
                return error;
        }
        struct ts_bytes written = ts_bytes_of(writer->bytes + from, writer->len - from);
        if (ts_bytes_equal(written, TS_BYTES("/.")))
            writer->len = from;
        if (ts_bytes_equal(written, TS_BYTES("/..")))
            return TS_ADDRESS_PARENT;
    }
    return writer->len > begin ? TS_ADDRESS_OK : TS_ADDRESS_PATH;
}

static bool is_relative(struct ts_bytes path) {
    return path.len > 0 && path.data[0] != '/';
}

static enum ts_address_error write_url(const struct parts *parts, struct writer *writer) {
    put_text(writer, parts->scheme->written);
    put_text(writer, "://");
    if (parts->user.len > 0) {
        put_bytes(writer, parts->user);
        put(writer, '@');
    }
    put_lower(writer, parts->host);
    enum ts_address_error error = put_port(writer, parts);
    if (error != TS_ADDRESS_OK)
        return error;
    bool is_in_home = parts->is_short && is_relative(parts->path) && parts->path.data[0] != '~' &&
                      !ts_bytes_equal(parts->user, TS_BYTES("git"));
    if (is_in_home)
        put_text(writer, "/~");
    return put_path(writer, parts->path);
}

enum { GIT_LEN = 4 };

static bool ends_with(struct ts_bytes text, struct ts_bytes end) {
    return text.len >= end.len && ts_bytes_equal(ts_bytes_skip(text, text.len - end.len), end);
}

/* Returns whether the text ends with a name and .git. The segments ".git", "..git" and "...git" have no name
 * before .git. */
static bool has_git_at_end(struct ts_bytes text) {
    if (!ends_with(text, TS_BYTES(".git")))
        return false;
    const struct ts_bytes name = ts_bytes_first(text, text.len - GIT_LEN);
    return !ends_with(name, TS_BYTES("/")) && !ends_with(name, TS_BYTES("/.")) &&
           !ends_with(name, TS_BYTES("/.."));
}

/* Makes the address, and the URL for git, from the URL in the writer, which may end with .git. */
static enum ts_address_error keep(const struct parts *parts, struct ts_bytes given, struct writer *writer,
                                  struct ts_address *ret_address) {
    struct ts_bytes url = ts_bytes_of(writer->bytes, writer->len);
    struct ts_bytes text = url;
    /* Removes every .git at the end, so that a user who submits the result as an address gets the same
     * target. */
    while (has_git_at_end(text))
        text.len -= GIT_LEN;
    /* The address does not distinguish a path below the root from one below a user's home. So git gets the
     * URL as the user wrote it. */
    if (parts->is_short && is_relative(parts->path))
        url = given;
    if (url.len > TS_ADDRESS_MAX || text.len > TS_ADDRESS_MAX)
        return TS_ADDRESS_TOO_LONG;
    ret_address->is_path = false;
    ts_fixed_buf_from_slice(&ret_address->text, text, "an address that was measured");
    ts_fixed_buf_from_slice(&ret_address->url, url, "an address that was measured");
    return TS_ADDRESS_OK;
}

static enum ts_address_error take_path(struct ts_bytes path, struct ts_address *ret_address) {
    if (path.len == 0)
        return TS_ADDRESS_PATH;
    ret_address->is_path = true;
    ts_fixed_buf_from_slice(&ret_address->text, path, "a path that was measured");
    ts_fixed_buf_from_slice(&ret_address->url, path, "a path that was measured");
    return TS_ADDRESS_OK;
}

static bool is_any_path(struct ts_bytes given, size_t colon) {
    return colon == given.len || find(given, "/") < colon || given.data[0] == '.';
}

enum ts_address_error ts_address_parse(struct ts_bytes given, struct ts_address *ret_address) {
    if (given.len == 0)
        return TS_ADDRESS_EMPTY;
    if (given.len > TS_ADDRESS_MAX)
        return TS_ADDRESS_TOO_LONG;
    if (given.data[0] == '-')
        return TS_ADDRESS_DASH;
    size_t colon = find_colon(given);
    struct ts_bytes behind = ts_bytes_skip(given, colon);
    bool is_url = ts_bytes_starts_with(behind, TS_BYTES("://"));
    if (is_url && equals_in_any_case(ts_bytes_first(given, colon), "file")) {
        struct ts_bytes path = ts_bytes_skip(behind, strlen("://"));
        return is_relative(path) ? TS_ADDRESS_HOST : take_path(path, ret_address);
    }
    if (!is_url && is_any_path(given, colon))
        return take_path(given, ret_address);
    for (size_t i = 0; i < given.len; i++)
        if (given.data[i] <= ' ' || given.data[i] == 0x7f || given.data[i] == '\\')
            return TS_ADDRESS_CHARACTER;
    struct parts parts = {.scheme = NULL};
    enum ts_address_error error =
        is_url ? split_url(given, colon, &parts) : split_short(given, colon, &parts);
    struct writer writer = {.len = 0};
    if (error == TS_ADDRESS_OK)
        error = write_url(&parts, &writer);
    return error == TS_ADDRESS_OK ? keep(&parts, given, &writer, ret_address) : error;
}

const char *ts_address_error_text(enum ts_address_error error) {
    static const char *const texts[] = {
#define X(id, text) [TS_ADDRESS_##id] = (text),
        TS_ADDRESS_ERROR_TABLE(X)
#undef X
    };
    return texts[error];
}
