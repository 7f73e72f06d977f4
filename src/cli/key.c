#include "key.h"

#include "base/bytes.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "os/out_json.h"

#include <string.h>

static bool is_hex(const char *text, size_t length) {
    return length >= 2 && text[0] == '0' && text[1] == 'x';
}

/* Returns the message for a limit. There are few limits, and each has its own message. */
static const char *too_long(size_t max) {
    switch (max) {
    case 1024:
        return "is longer than 1024 bytes";
    case 4096:
        return "is longer than 4096 bytes";
    case 16384:
        return "is longer than 16384 bytes";
    default:
        return "is too long";
    }
}

static const char *parse_hex(const char *text, size_t length, uint8_t *ret_bytes) {
    if (length == 0)
        return "has no digits after 0x";
    if (length % 2 != 0)
        return "has an odd number of digits after 0x";
    if (!ts_hex_decode(ts_bytes_of(text, length), ret_bytes))
        return "has a character that is not a hexadecimal digit after 0x";
    return NULL;
}

const char *cli__bytes_parse(const char *text, size_t length, struct cli_bytes_rule rule, uint8_t *ret_bytes,
                             size_t *ret_len) {
    bool hex = is_hex(text, length);
    size_t len = hex ? (length - 2) / 2 : length;
    if (len > rule.max)
        return too_long(rule.max);
    if (length == 0 && !rule.may_be_empty)
        return "is empty";
    const char *why = hex ? parse_hex(text + 2, length - 2, ret_bytes) : NULL;
    if (why)
        return why;
    if (!hex && len > 0)
        memcpy(ret_bytes, text, len);
    *ret_len = len;
    return NULL;
}

const char *cli__key_parse(const char *text, size_t length, struct cli_key *ret_key) {
    return cli__bytes_parse(text, length, (struct cli_bytes_rule){.max = TS_STORE_KEY_MAX}, ret_key->bytes,
                            &ret_key->len);
}

bool cli__key_is_text(struct ts_bytes key) {
    if (key.len == 0 || is_hex((const char *)key.data, key.len))
        return false;
    while (key.len > 0) {
        uint32_t point = 0;
        size_t length = ts_utf8_decode(key, &point);
        if (length == 0 || !ts_utf8_is_shown(point))
            return false;
        key = ts_bytes_skip(key, length);
    }
    return true;
}

void cli__put_key_json(struct ts_out *out, struct ts_bytes key) {
    if (key.len == 0 || cli__key_is_text(key)) {
        ts_out_put_json(out, key);
        return;
    }
    ts_out_put_cstring(out, "\"0x");
    ts_out_put_hex(out, key);
    ts_out_put_char(out, '"');
}

void cli__key_format(struct ts_bytes key, struct cli_key_text *ret_text) {
    char *at = ret_text->text;
    if (cli__key_is_text(key)) {
        memcpy(at, key.data, key.len);
        at[key.len] = '\0';
        return;
    }
    *at++ = '0';
    *at++ = 'x';
    *ts_hex_encode(key, at) = '\0';
}
