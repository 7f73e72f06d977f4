#include "store/contract/url.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/hex.h"
#include "base/number.h"
#include "base/redact.h"
#include "store/contract/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHOWN_SIZE = 100, TEXT_MAX = 65536 };

#define FORMS "memory:, rocksdb:DIRECTORY or postgresql://USER@HOST/DATABASE"

/* The parts of a URL, still encoded. */
struct parts {
    struct ts_bytes user, password, hosts, database, options;
    bool has_password;
};

/* Splits *rest at the first byte c. Sets *ret_before to the part before c, and *rest to the part after c.
 * Returns false if there is no c. */
static bool cut(struct ts_bytes *rest, char c, struct ts_bytes *ret_before) {
    const uint8_t *at = rest->len == 0 ? NULL : memchr(rest->data, c, rest->len);
    if (at == NULL)
        return false;
    size_t before = (size_t)(at - rest->data);
    *ret_before = ts_bytes_first(*rest, before);
    *rest = ts_bytes_skip(*rest, before + 1);
    return true;
}

static const struct scheme {
    struct ts_bytes prefix;
    enum store_url_kind kind;
} schemes[] = {{TS_BYTES_INIT("memory:"), STORE_URL_MEMORY},
               {TS_BYTES_INIT("rocksdb:"), STORE_URL_ROCKSDB},
               {TS_BYTES_INIT("postgresql://"), STORE_URL_POSTGRES},
               {TS_BYTES_INIT("postgres://"), STORE_URL_POSTGRES}};

static const struct scheme *scheme_of(struct ts_bytes text) {
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (ts_bytes_starts_with(text, schemes[i].prefix))
            return &schemes[i];
    return NULL;
}

/* Returns the part of the text before the first of the characters in `stops`. */
static struct ts_bytes before_any(struct ts_bytes text, const char *stops) {
    size_t len = 0;
    while (len < text.len && strchr(stops, text.data[len]) == NULL) /* stops at a zero byte, too */
        len++;
    return ts_bytes_first(text, len);
}

/*
 * Returns a database URL that could not be parsed, in a form that is safe for a message. A password may be
 * between the first colon and the last at sign, or among the options. A password may contain an unescaped
 * question mark.
 */
static const char *shown_database(struct ts_bytes rest, char ret_text[static SHOWN_SIZE]) {
    char escaped[SHOWN_SIZE];
    struct ts_bytes head = before_any(rest, "?"), options = ts_bytes_skip(rest, head.len), shown = {0};
    const uint8_t *at = head.len == 0 ? NULL : memrchr(head.data, '@', head.len);
    bool ambiguous = options.len > 0 && memchr(options.data, '@', options.len) != NULL;
    if (ambiguous) /* it is unclear which at sign ends the password */
        at = NULL;
    else if (at != NULL)
        shown = before_any(ts_bytes_skip(head, (size_t)(at - head.data)), "=");
    else
        shown = before_any(head, ":=");
    size_t end = at != NULL ? (size_t)(at - rest.data) + shown.len : shown.len;
    snprintf(ret_text, SHOWN_SIZE, "postgresql://%s%s%s", at != NULL ? "..." : "",
             ts_text_escape(shown, escaped, SHOWN_SIZE - 20), end < rest.len ? "..." : "");
    return ret_text;
}

/* Returns a text that could not be parsed, in a form that is safe for a message. If the text has no known
 * scheme, returns at most its first word. */
static const char *shown(struct ts_bytes text, char ret_text[static SHOWN_SIZE]) {
    const struct scheme *scheme = scheme_of(text);
    if (scheme != NULL && scheme->kind == STORE_URL_POSTGRES)
        return shown_database(ts_bytes_skip(text, scheme->prefix.len), ret_text);
    if (scheme != NULL)
        return ts_text_escape(text, ret_text, SHOWN_SIZE);
    char escaped[SHOWN_SIZE];
    struct ts_bytes word = before_any(text, ":=@? \t\r\n");
    snprintf(ret_text, SHOWN_SIZE, "%s%s", ts_text_escape(word, escaped, SHOWN_SIZE - 4),
             word.len < text.len ? "..." : "");
    return ret_text;
}

/* Decodes %XX into *to, adds a terminator, and moves *to after the terminator. Returns the decoded text, or
 * NULL for a bad escape or a zero byte. */
static const char *decode(struct ts_bytes part, char **to) {
    char *start = *to;
    for (size_t i = 0; i < part.len; i++) {
        uint8_t c = part.data[i];
        if (c == '%') {
            int high = i + 2 < part.len ? ts_hex_digit(part.data[i + 1]) : -1;
            int low = i + 2 < part.len ? ts_hex_digit(part.data[i + 2]) : -1;
            if (high < 0 || low < 0 || high + low == 0)
                return NULL;
            c = (uint8_t)(high << 4 | low);
            i += 2;
        }
        if (c == 0)
            return NULL;
        *(*to)++ = (char)c;
    }
    *(*to)++ = '\0';
    return start;
}

/* Reports a bad URL. `position` is its index in the list, or SIZE_MAX. If an item of a list has no scheme,
 * its text is not shown, because it may be the rest of a password that contains a comma. */
static enum ts_store_result bad(struct ts_bytes text, size_t position, const char *why,
                                struct ts_store_error *ret_error) {
    char escaped[SHOWN_SIZE];
    if (position != SIZE_MAX && scheme_of(text) == NULL)
        return store__error(ret_error, TS_STORE_BAD_USAGE, SIZE_MAX, "store %zu of the list: %s", position,
                            why);
    return store__error(ret_error, TS_STORE_BAD_USAGE, SIZE_MAX, "store URL \"%s\": %s", shown(text, escaped),
                        why);
}

static const char bad_escape[] =
    "\"%\" must be followed by two hex digits other than 00; a percent sign is written %25";

/* Splits [USER[:PASSWORD]@]HOSTS[/DATABASE][?OPTIONS] into its parts. */
static void split(struct ts_bytes rest, struct parts *ret_parts) {
    struct parts parts = {0};
    struct ts_bytes authority = rest;
    if (cut(&rest, '?', &authority))
        parts.options = rest;
    rest = authority;
    /* A password may contain a slash. The hosts contain no at sign, so the last at sign ends the password. */
    const uint8_t *at = rest.len == 0 ? NULL : memrchr(rest.data, '@', rest.len);
    if (at != NULL) {
        size_t len = (size_t)(at - rest.data);
        struct ts_bytes user = ts_bytes_first(rest, len);
        rest = ts_bytes_skip(rest, len + 1);
        parts.password = user;
        parts.has_password = cut(&parts.password, ':', &user);
        parts.user = user;
        if (!parts.has_password)
            parts.password = (struct ts_bytes){0};
    }
    parts.hosts = rest;
    if (cut(&rest, '/', &parts.hosts))
        parts.database = rest;
    *ret_parts = parts;
}

/* Splits HOST[:PORT]. Returns NULL, or what is wrong with the text. */
static const char *split_host(struct ts_bytes text, struct ts_bytes *ret_host, struct ts_bytes *ret_port) {
    *ret_port = text;
    if (!ts_bytes_starts_with(text, TS_BYTES("["))) {
        if (!cut(ret_port, ':', ret_host)) {
            *ret_host = text;
            *ret_port = (struct ts_bytes){0};
        }
        return NULL;
    }
    text = ts_bytes_skip(text, 1);
    if (!cut(&text, ']', ret_host))
        return "an address in brackets must end with ]";
    if (text.len > 0 && text.data[0] != ':')
        return "expected :PORT after the address in brackets";
    *ret_port = text.len > 0 ? ts_bytes_skip(text, 1) : (struct ts_bytes){0};
    return NULL;
}

/* Decodes the hosts, or the ports, of HOST[:PORT][,HOST[:PORT]]... into one list with commas, as libpq
 * expects. */
static const char *read_list(struct ts_bytes hosts, bool is_port, const char **ret_list, char **to) {
    static const char none[] = "";
    const char *start = *to;
    bool more = true, has_any = false;
    while (more) {
        struct ts_bytes item = hosts, host, port;
        more = cut(&hosts, ',', &item);
        const char *wrong = split_host(item, &host, &port);
        if (wrong != NULL)
            return wrong;
        has_any = has_any || (is_port ? port : host).len > 0;
        if (decode(is_port ? port : host, to) == NULL)
            return bad_escape;
        if (more)
            (*to)[-1] = ',';
    }
    *ret_list = has_any ? start : none;
    return NULL;
}

/* Reads NAME=VALUE[&NAME=VALUE]... An option that names a part of the URL replaces that part. Returns NULL,
 * or what is wrong with an option. */
static const char *read_options(struct ts_bytes options, struct store_url *url, char **to) {
    const struct {
        const char *name;
        const char **part;
    } parts[] = {{"host", &url->host},
                 {"port", &url->port},
                 {"user", &url->user},
                 {"password", &url->password},
                 {"dbname", &url->database}};
    while (options.len > 0) {
        struct ts_bytes option = options, name;
        if (!cut(&options, '&', &option))
            options = (struct ts_bytes){0};
        if (!cut(&option, '=', &name) || name.len == 0)
            return "options have the form NAME=VALUE, with & between them";
        const char *decoded_name = decode(name, to), *value = decode(option, to);
        if (decoded_name == NULL || value == NULL)
            return bad_escape;
        if (strcmp(decoded_name, "service") == 0)
            return "the option service could name several hosts; name the host in the URL instead";
        bool is_part = false;
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            if (strcmp(decoded_name, parts[i].name) != 0)
                continue;
            if ((*parts[i].part)[0] != '\0')
                return "an option repeats a part of the URL; give it once";
            *parts[i].part = value;
            is_part = true;
        }
        if (is_part)
            continue;
        for (size_t i = 0; i < url->option_count; i++)
            if (strcmp(url->options[i].name, decoded_name) == 0)
                return "an option is given twice; give it once";
        if (url->option_count == STORE_URL_OPTIONS_MAX)
            return "too many options; the limit is 32";
        url->options[url->option_count++] = (struct store_url_option){decoded_name, value};
    }
    return NULL;
}

static const char *option_of(const struct store_url *url, const char *name) {
    for (size_t i = 0; i < url->option_count; i++)
        if (strcmp(url->options[i].name, name) == 0)
            return url->options[i].value;
    return "";
}

static size_t list_count(const char *list) {
    size_t count = 1;
    for (const char *at = list; (at = strchr(at, ',')) != NULL; at++)
        count++;
    return count;
}

struct ts_bytes store__url_list_item(const char *list, size_t number) {
    struct ts_bytes rest = ts_bytes_of_cstring(list), item = rest;
    for (bool more = true; more && number != SIZE_MAX; number--) {
        item = rest;
        more = cut(&rest, ',', &item);
    }
    return item;
}

static const char *check_ports(const struct store_url *url) {
    const size_t count = list_count(url->port);
    if (count != 1 && count != url->host_count)
        return "there must be one port, or one for each host";
    for (size_t i = 0; i < count; i++) {
        const struct ts_bytes text = store__url_list_item(url->port, i);
        uint32_t port;
        if (text.len > 0 && (ts_u32_parse(text, &port) != TS_NUMBER_OK || port == 0 || port > UINT16_MAX))
            return "the port must be a number from 1 to 65535";
    }
    return NULL;
}

/* Checks the hosts of the URL. Several hosts are one store: one host is the primary, and the others are its
 * standbys. */
static const char *check_hosts(struct store_url *url) {
    const char *wanted = option_of(url, "target_session_attrs");
    url->host_count = list_count(url->host);
    if (url->host_count == 1)
        return NULL;
    for (size_t i = 0; i < url->host_count; i++)
        if (store__url_list_item(url->host, i).len == 0)
            return "a host is missing between two commas";
    if (url->host_count > STORE_URL_HOSTS_MAX || strlen(url->host) >= STORE_URL_HOSTS_SIZE ||
        strlen(url->port) >= STORE_URL_HOSTS_SIZE)
        return "a store has at most 16 hosts, with at most 1,000 bytes";
    if (wanted[0] != '\0' && strcmp(wanted, "read-write") != 0 && strcmp(wanted, "primary") != 0)
        return "of several hosts, the primary is used; omit the option target_session_attrs";
    return NULL;
}

static const char *check_postgres(struct store_url *url) {
    const char *address = option_of(url, "hostaddr");
    const char *wrong = check_hosts(url);
    if (wrong != NULL)
        return wrong;
    if (strchr(address, ',') != NULL || (url->host_count > 1 && address[0] != '\0'))
        return "the option hostaddr has one address, for one host; name several hosts in the URL";
    if (url->host[0] == '\0' && address[0] == '\0')
        return "the host is missing; write postgresql://USER@HOST/DATABASE, or ?host=/FOLDER for a socket "
               "directory";
    /* libpq could parse these parts as URLs. But this code would treat the parts as names, and show a
     * password that they contain. */
    if (strstr(url->host, "://") != NULL || strstr(address, "://") != NULL ||
        strstr(url->user, "://") != NULL)
        return "the host or the user is itself a URL; give the parts of one URL";
    if (strstr(url->database, "://") != NULL || strchr(url->database, '=') != NULL)
        return "the name of the database contains :// or =; give host, user and password as parts of the "
               "URL";
    return check_ports(url);
}

static const char *read_postgres(struct ts_bytes rest, struct store_url *url, char **to) {
    struct parts parts;
    split(rest, &parts);
    url->user = decode(parts.user, to);
    url->password = decode(parts.password, to);
    url->database = decode(parts.database, to);
    if (url->user == NULL || url->password == NULL || url->database == NULL)
        return bad_escape;
    const char *wrong = read_list(parts.hosts, false, &url->host, to);
    if (wrong == NULL)
        wrong = read_list(parts.hosts, true, &url->port, to);
    if (wrong != NULL)
        return wrong;
    wrong = read_options(parts.options, url, to);
    return wrong != NULL ? wrong : check_postgres(url);
}

/* Writes HOST[:PORT][,HOST[:PORT]]... in a form that is safe for a message. */
static const char *shown_hosts(const struct store_url *url, char *to, size_t size) {
    const char *hosts = url->host[0] != '\0' ? url->host : option_of(url, "hostaddr");
    size_t len = 0;
    to[0] = '\0';
    for (size_t i = 0; i < url->host_count && len + 1 < size; i++) {
        char escaped[120];
        const struct ts_bytes host = store__url_list_item(hosts, i);
        const struct ts_bytes port = store__url_list_item(url->port, list_count(url->port) > 1 ? i : 0);
        const bool bracket = host.len > 0 && memchr(host.data, ':', host.len) != NULL;
        const int more =
            snprintf(to + len, size - len, "%s%s%s%s%s%.*s", i > 0 ? "," : "", bracket ? "[" : "",
                     ts_text_escape(host, escaped, sizeof escaped), bracket ? "]" : "",
                     port.len > 0 ? ":" : "", (int)port.len, (const char *)port.data);
        len += more > 0 ? (size_t)more : 0;
    }
    return to;
}

static void make_name(struct store_url *url) {
    char one[140], two[60];
    switch (url->kind) {
    case STORE_URL_MEMORY:
    case STORE_URL_ROCKSDB: {
        char path[STORE_URL_NAME_SIZE - 16];
        snprintf(url->name, sizeof url->name, "%s%s", url->kind == STORE_URL_MEMORY ? "memory:" : "rocksdb:",
                 ts_text_escape(ts_bytes_of_cstring(url->path), path, sizeof path));
        return;
    }
    case STORE_URL_POSTGRES: {
        char user[40];
        snprintf(url->name, sizeof url->name, "postgresql://%s%s%s/%s",
                 ts_text_escape(ts_bytes_of_cstring(url->user), user, sizeof user),
                 url->user[0] != '\0' ? "@" : "", shown_hosts(url, one, sizeof one),
                 ts_text_escape(ts_bytes_of_cstring(url->database), two, sizeof two));
        return;
    }
    }
}

/* Removes slashes at the end, because a directory is the same with and without them. */
static void trim_slashes(char *path) {
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        path[--len] = '\0';
}

static const char *read_any(struct ts_bytes text, struct store_url *url, char **to) {
    static const char none[] = "";
    url->path = url->user = url->password = url->host = url->port = url->database = none;
    const struct scheme *scheme = scheme_of(text);
    if (scheme == NULL)
        return text.len == 0 ? "it is empty; a store is " FORMS
                             : "a store is " FORMS
                               "; a comma inside a URL, except between hosts, is written %2C";
    struct ts_bytes rest = ts_bytes_skip(text, scheme->prefix.len);
    url->kind = scheme->kind;
    if (url->kind == STORE_URL_POSTGRES)
        return read_postgres(rest, url, to);
    char *path = *to;
    url->path = decode(rest, to);
    if (url->path == NULL)
        return bad_escape;
    if (url->kind == STORE_URL_ROCKSDB && path[0] == '\0')
        return "the directory is missing; write rocksdb:DIRECTORY";
    if (url->kind == STORE_URL_ROCKSDB)
        trim_slashes(path);
    return NULL;
}

static enum ts_store_result parse(struct ts_bytes text, size_t position, struct store_url *ret_url,
                                  struct ts_store_error *ret_error) {
    if (text.len > TEXT_MAX)
        return store__error(ret_error, TS_STORE_BAD_CONFIGURATION, SIZE_MAX,
                            "a store URL has %zu bytes; the limit is %d", text.len, TEXT_MAX);
    struct store_url url = {.text = malloc(text.len + 1), .decoded = malloc(2 * text.len + 16)};
    if (url.text == NULL || url.decoded == NULL) {
        store__url_release(&url);
        return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "no memory to read a store URL");
    }
    if (text.len > 0)
        memcpy(url.text, text.data, text.len);
    url.text[text.len] = '\0';
    char *to = url.decoded;
    const char *wrong = read_any(text, &url, &to);
    if (wrong != NULL) {
        store__url_release(&url);
        return bad(text, position, wrong, ret_error);
    }
    make_name(&url);
    *ret_url = url;
    return TS_STORE_OK;
}

enum ts_store_result store__url_parse(struct ts_bytes text, struct store_url *ret_url,
                                      struct ts_store_error *ret_error) {
    return parse(text, SIZE_MAX, ret_url, ret_error);
}

/* Wipes memory that holds a password before freeing it. */
static void wipe_free(char *text, size_t len) {
    if (text != NULL)
        explicit_bzero(text, len);
    free(text);
}

void store__url_release(struct store_url *url) {
    if (url == NULL)
        return;
    size_t len = url->text != NULL && url->decoded != NULL && url->path != NULL ? strlen(url->text) : 0;
    wipe_free(url->decoded, len);
    wipe_free(url->text, len);
    *url = (struct store_url){0};
}

/* Returns true if both URLs name the same store, as far as this can be seen from their texts. */
static bool is_same_url(const struct store_url *a, const struct store_url *b) {
    ts_assert(a->path != NULL && b->path != NULL); /* both were parsed successfully */
    if (a->kind != b->kind)
        return false;
    if (a->kind != STORE_URL_POSTGRES)
        return strcmp(a->path, b->path) == 0;
    const char *port_a = a->port[0] != '\0' ? a->port : "5432",
               *port_b = b->port[0] != '\0' ? b->port : "5432";
    const char *base_a = a->database[0] != '\0' ? a->database : a->user;
    const char *base_b = b->database[0] != '\0' ? b->database : b->user;
    return strcasecmp(a->host, b->host) == 0 && strcmp(port_a, port_b) == 0 && strcmp(base_a, base_b) == 0 &&
           strcmp(option_of(a, "hostaddr"), option_of(b, "hostaddr")) == 0;
}

static enum ts_store_result add(struct store_url_list *list, struct ts_bytes text, bool alone,
                                struct ts_store_error *ret_error) {
    struct store_url *url = &list->urls[list->count];
    enum ts_store_result result = parse(text, alone ? SIZE_MAX : list->count, url, ret_error);
    if (result != TS_STORE_OK)
        return result;
    list->count++;
    for (size_t i = 0; i + 1 < list->count; i++)
        if (is_same_url(&list->urls[i], url))
            return store__error(
                ret_error, TS_STORE_BAD_USAGE, SIZE_MAX,
                "%.120s is in the list twice, as store %zu and store %zu; list each store once%s", url->name,
                i, list->count - 1, url->kind == STORE_URL_MEMORY ? ": memory:a,memory:b" : "");
    return TS_STORE_OK;
}

/* Returns true if a comma after this text may separate it from another host: the text is a URL of a database,
 * and ends in the list of hosts. */
static bool lists_hosts(struct ts_bytes text) {
    const struct scheme *scheme = scheme_of(text);
    if (scheme == NULL || scheme->kind != STORE_URL_POSTGRES)
        return false;
    struct ts_bytes rest = ts_bytes_skip(text, scheme->prefix.len);
    const uint8_t *at = rest.len == 0 ? NULL : memrchr(rest.data, '@', rest.len);
    if (at != NULL)
        rest = ts_bytes_skip(rest, (size_t)(at - rest.data) + 1);
    return before_any(rest, "/?").len == rest.len;
}

enum ts_store_result store__url_list_parse(const char *text, struct store_url_list *ret_list,
                                           struct ts_store_error *ret_error) {
    size_t most = 1;
    for (const char *c = text; *c != '\0'; c++)
        most += *c == ',';
    struct store_url_list list = {.urls = calloc(most, sizeof *list.urls)};
    if (list.urls == NULL)
        return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "no memory to read a list of stores");
    struct ts_bytes rest = ts_bytes_of_cstring(text);
    enum ts_store_result result = TS_STORE_OK;
    bool more = true;
    while (more && result == TS_STORE_OK) {
        struct ts_bytes item = rest, piece;
        more = cut(&rest, ',', &item);
        while (more && lists_hosts(item) && scheme_of(rest) == NULL) {
            piece = rest;
            more = cut(&rest, ',', &piece);
            item.len += 1 + piece.len;
        }
        result = add(&list, item, most == 1, ret_error);
    }
    if (result != TS_STORE_OK) {
        store__url_list_release(&list);
        return result;
    }
    *ret_list = list;
    return TS_STORE_OK;
}

void store__url_list_release(struct store_url_list *list) {
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->count; i++)
        store__url_release(&list->urls[i]);
    free(list->urls);
    *list = (struct store_url_list){0};
}
