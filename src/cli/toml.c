#include "toml.h"

#include "base/hex.h"
#include "base/utf8.h"
#include "os/grow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64

struct parser {
    const uint8_t *at;
    const uint8_t *end;
    size_t line;
    struct cli_toml_error *error;
    bool failed;
    unsigned depth;
    char *room; /* buffer for the current string */
    size_t room_len;
    size_t room_size;
};

static void *fail(struct parser *p, const char *what) {
    if (!p->failed) {
        p->error->line = p->line;
        snprintf(p->error->text, sizeof p->error->text, "%s", what);
    }
    p->failed = true;
    return NULL;
}

static void *fail_memory(struct parser *p) {
    (void)fail(p, "out of memory");
    p->error->line = 0;
    return NULL;
}

/* ---- characters ---- */

static int peek(const struct parser *p) {
    return p->at < p->end ? *p->at : -1;
}

static bool starts(const struct parser *p, const char *text) {
    size_t len = strlen(text);
    return (size_t)(p->end - p->at) >= len && memcmp(p->at, text, len) == 0;
}

static void advance(struct parser *p, size_t count) {
    for (; count > 0 && p->at < p->end; count--)
        p->line += *p->at++ == '\n';
}

static bool take(struct parser *p, const char *text) {
    bool is_there = starts(p, text);
    if (is_there)
        advance(p, strlen(text));
    return is_there;
}

static void skip_blanks(struct parser *p) {
    while (peek(p) == ' ' || peek(p) == '\t')
        advance(p, 1);
}

/* Skips blanks, comments and line ends. */
static void skip_lines(struct parser *p) {
    for (;;) {
        skip_blanks(p);
        if (peek(p) == '#')
            while (peek(p) != '\n' && peek(p) != -1)
                advance(p, 1);
        else if (peek(p) == '\n' || starts(p, "\r\n"))
            advance(p, 1);
        else
            return;
    }
}

static void end_line(struct parser *p) {
    skip_blanks(p);
    if (peek(p) == -1 || peek(p) == '#' || peek(p) == '\n' || starts(p, "\r\n"))
        skip_lines(p);
    else
        (void)fail(p, "unexpected text after a value or a table; begin a new line");
}

static bool put(struct parser *p, const void *bytes, size_t len) {
    if (!TS_GROW(p->room, p->room_size, p->room_len + len + 1))
        return fail_memory(p);
    memcpy(p->room + p->room_len, bytes, len);
    p->room_len += len;
    return true;
}

/* ---- strings ---- */

static void put_code_point(struct parser *p, unsigned digits) {
    uint32_t code = 0;
    for (unsigned i = 0; i < digits; i++) {
        int digit = p->at < p->end ? ts_hex_digit(*p->at) : -1;
        if (digit < 0) {
            (void)fail(p, "an escape needs more hexadecimal digits");
            return;
        }
        code = code << 4 | (uint32_t)digit;
        advance(p, 1);
    }
    uint8_t bytes[4];
    size_t len = 0;
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        (void)fail(p, "an escape is not the number of a Unicode character");
    } else if (code < 0x80) {
        bytes[len++] = (uint8_t)code;
    } else {
        unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
        bytes[len++] = (uint8_t)(first[more] | code >> (6 * more));
        while (more-- > 0)
            bytes[len++] = (uint8_t)(0x80 | (code >> (6 * more) & 0x3f));
    }
    (void)put(p, bytes, len);
}

/* Reads an escape after its backslash. is_long: the string is between three quotes. */
static void read_escape(struct parser *p, bool is_long) {
    static const char names[] = "btnfr\"\\e";
    static const char values[] = "\b\t\n\f\r\"\\\x1b";
    int c = peek(p);
    const char *name = c > 0 ? strchr(names, c) : NULL;
    if (is_long && (c == '\n' || c == ' ' || c == '\t' || c == '\r')) {
        while (peek(p) == ' ' || peek(p) == '\t' || peek(p) == '\r' || peek(p) == '\n')
            advance(p, 1);
        return;
    }
    if (name == NULL && c != 'u' && c != 'U') {
        (void)fail(p, "an unknown escape in a string; regular expressions go between ''' and '''");
        return;
    }
    advance(p, 1);
    if (name != NULL)
        (void)put(p, &values[name - names], 1);
    else
        put_code_point(p, c == 'u' ? 4 : 8);
}

/* Reads a string into p->room. Returns false on an error. */
static bool read_string(struct parser *p) {
    const char quote = (char)peek(p);
    const char longer[] = {quote, quote, quote, '\0'};
    const char shorter[] = {quote, '\0'};
    bool is_long = take(p, longer);
    p->room_len = 0;
    if (!is_long)
        (void)take(p, shorter);
    else if (!take(p, "\n"))
        (void)take(p, "\r\n");
    while (!p->failed) {
        int c = peek(p);
        if (c == -1 || (c == '\n' && !is_long))
            return fail(p, "a string has no closing quote");
        if (take(p, is_long ? longer : shorter)) {
            /* Up to two quotes before the closing quotes belong to the string. */
            for (int i = 0; is_long && i < 2 && peek(p) == quote; i++) {
                (void)put(p, &quote, 1);
                advance(p, 1);
            }
            break;
        }
        advance(p, 1);
        if (c == '\\' && quote == '"')
            read_escape(p, is_long);
        else
            (void)put(p, &(char){(char)c}, 1);
    }
    if (!p->failed && (!put(p, "", 0) || !ts_utf8_is_valid(ts_bytes_of(p->room, p->room_len))))
        return fail(p, "a string is not UTF-8");
    return !p->failed;
}

/* ---- keys ---- */

static bool is_bare(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Reads one part of a key into p->room, with a terminating zero. Returns false on an error. */
static bool read_key(struct parser *p) {
    skip_blanks(p);
    if (peek(p) == '"' || peek(p) == '\'') {
        if (!read_string(p))
            return false;
    } else {
        p->room_len = 0;
        while (is_bare(peek(p)) && put(p, p->at, 1))
            advance(p, 1);
        if (p->room_len == 0)
            return fail(p, "a key is missing");
    }
    if (!put(p, "", 1))
        return false;
    skip_blanks(p);
    return true;
}

/* Returns the table under the key in p->room, and creates a missing table. If the key has an array of tables,
 * returns the last table of the array. Returns NULL on an error. */
static json_t *descend(struct parser *p, json_t *table) {
    json_t *child = json_object_get(table, p->room);
    if (child == NULL) {
        child = json_object();
        if (json_object_set_new(table, p->room, child) != 0)
            return fail_memory(p);
    }
    if (json_is_array(child))
        child = json_array_get(child, json_array_size(child) - 1);
    return json_is_object(child) ? child : fail(p, "a key has a value, and cannot be a table");
}

/* ---- values ---- */

static json_t *read_value(struct parser *p);

static json_t *read_array(struct parser *p) {
    json_t *array = json_array();
    advance(p, 1);
    for (skip_lines(p); !p->failed && peek(p) != ']'; skip_lines(p)) {
        json_t *item = read_value(p);
        if (item != NULL && json_array_append_new(array, item) != 0)
            (void)fail_memory(p);
        skip_lines(p);
        if (!take(p, ",") && peek(p) != ']')
            (void)fail(p, "an array needs ',' or ']' after an element");
    }
    advance(p, 1);
    return array;
}

static void read_pair(struct parser *p, json_t *table);

static json_t *read_inline_table(struct parser *p) {
    json_t *table = json_object();
    advance(p, 1);
    for (skip_blanks(p); !p->failed && peek(p) != '}'; skip_blanks(p)) {
        read_pair(p, table);
        skip_blanks(p);
        if (!take(p, ",") && peek(p) != '}')
            (void)fail(p, "an inline table needs ',' or '}' after a value");
    }
    advance(p, 1);
    return table;
}

/* Reads a number, a flag, or a date. A date becomes a text. */
static json_t *read_plain(struct parser *p) {
    char text[64];
    size_t len = 0;
    while (is_bare(peek(p)) || peek(p) == '+' || peek(p) == '.' || peek(p) == ':') {
        if (len == sizeof text - 1)
            return fail(p, "a value is too long");
        text[len] = (char)peek(p);
        len += text[len] != '_';
        advance(p, 1);
    }
    text[len] = '\0';
    if (len == 0)
        return fail(p, "a value is missing");
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return json_boolean(text[0] == 't');
    char *end;
    errno = 0;
    long long whole = strtoll(text, &end, 0);
    if (*end == '\0' && errno == 0)
        return json_integer(whole);
    double real = strtod(text, &end);
    if (*end == '\0' && real - real == 0)
        return json_real(real);
    if (text[0] >= '0' && text[0] <= '9' && strspn(text, "0123456789-:.TZ+tz") == len)
        return json_string(text);
    return fail(p, "a value is neither text, number, true, false, array nor table; texts need quotes");
}

static json_t *read_value(struct parser *p) {
    json_t *value = NULL;
    if (p->depth >= DEPTH_MAX)
        return fail(p, "values are nested too deeply");
    p->depth++;
    switch (peek(p)) {
    case '"':
    case '\'':
        value = read_string(p) ? json_stringn(p->room, p->room_len) : NULL;
        break;
    case '[':
        value = read_array(p);
        break;
    case '{':
        value = read_inline_table(p);
        break;
    default:
        value = read_plain(p);
        break;
    }
    p->depth--;
    if (value == NULL && !p->failed)
        return fail_memory(p);
    if (p->failed) {
        json_decref(value);
        return NULL;
    }
    return value;
}

/* Reads a pair: a.b = value. */
static void read_pair(struct parser *p, json_t *table) {
    while (!p->failed && table != NULL && read_key(p) && take(p, "."))
        table = descend(p, table);
    if (p->failed || table == NULL)
        return;
    char *key = strdup(p->room);
    if (key == NULL) {
        (void)fail_memory(p);
        return;
    }
    if (!take(p, "="))
        (void)fail(p, "a key needs '=' and a value");
    else if (json_object_get(table, key))
        (void)fail(p, "a key occurs twice in its table");
    skip_blanks(p);
    json_t *value = p->failed ? NULL : read_value(p);
    if (value != NULL && json_object_set_new(table, key, value) != 0)
        (void)fail_memory(p);
    free(key);
}

/* ---- tables ---- */

/* Reads [a.b], or [[a.b]], which adds a table to an array. Returns the table. */
static json_t *read_header(struct parser *p, json_t *root) {
    json_t *table = root;
    bool is_array = take(p, "[[");
    if (!is_array)
        (void)take(p, "[");
    while (table != NULL && read_key(p) && take(p, "."))
        table = descend(p, table);
    if (p->failed || table == NULL)
        return NULL;
    if (is_array) {
        json_t *array = json_object_get(table, p->room);
        if (array == NULL && json_object_set_new(table, p->room, array = json_array()) != 0)
            return fail_memory(p);
        if (!json_is_array(array))
            return fail(p, "a key has a value, and cannot be an array of tables");
        if (json_array_append_new(array, json_object()) != 0)
            return fail_memory(p);
    }
    table = descend(p, table);
    if (!take(p, is_array ? "]]" : "]"))
        return fail(p, "the name of a table has no closing bracket");
    return table;
}

json_t *cli__toml_parse(struct ts_bytes text, struct cli_toml_error *ret_error) {
    struct parser p = {.at = text.data, .end = text.data + text.len, .line = 1, .error = ret_error};
    json_t *root = json_object();
    json_t *table = root;
    if (root == NULL)
        return fail_memory(&p);
    if (ts_bytes_starts_with(text, TS_BYTES("\xef\xbb\xbf")))
        advance(&p, 3);
    for (skip_lines(&p); !p.failed && p.at < p.end; end_line(&p)) {
        if (peek(&p) == '[')
            table = read_header(&p, root);
        else
            read_pair(&p, table);
        if (p.failed)
            break;
    }
    free(p.room);
    if (p.failed) {
        json_decref(root);
        return NULL;
    }
    return root;
}
