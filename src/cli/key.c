#include "key.h"

#include "base/bytes.h"
#include "base/redact.h"

#include <stdio.h>
#include <string.h>

static int digit_of(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool is_hex(const char *text, size_t length) {
    return length >= 2 && text[0] == '0' && text[1] == 'x';
}

static const char *parse_hex(const char *digits, size_t length, struct cli_key *ret_key) {
    if (length == 0)
        return "has no digits behind 0x";
    if (length % 2 != 0)
        return "has an odd number of digits behind 0x";
    if (length / 2 > TS_STORE_KEY_MAX)
        return "is longer than 1024 bytes";
    for (size_t i = 0; i < length; i++)
        if (digit_of(digits[i]) < 0)
            return "has something else than hexadecimal digits behind 0x";
    for (size_t i = 0; i < length / 2; i++)
        ret_key->bytes[i] = (uint8_t)(digit_of(digits[2 * i]) * 16 + digit_of(digits[2 * i + 1]));
    ret_key->len = length / 2;
    return NULL;
}

const char *cli__key_parse(const char *text, size_t length, struct cli_key *ret_key) {
    if (is_hex(text, length))
        return parse_hex(text + 2, length - 2, ret_key);
    if (length == 0)
        return "is empty";
    if (length > TS_STORE_KEY_MAX)
        return "is longer than 1024 bytes";
    memcpy(ret_key->bytes, text, length);
    ret_key->len = length;
    return NULL;
}

bool cli__key_is_text(struct ts_bytes key) {
    if (key.len == 0 || is_hex((const char *)key.data, key.len))
        return false;
    /* What needs no escape is what can be shown as it is. */
    char escaped[4 * TS_STORE_KEY_MAX + 1];
    ts_text_escape(key, escaped, sizeof escaped);
    return strlen(escaped) == key.len && memcmp(escaped, key.data, key.len) == 0;
}

void cli__key_format(struct ts_bytes key, struct cli_key_text *ret_text) {
    static const char digits[] = "0123456789abcdef";
    char *at = ret_text->text;
    if (cli__key_is_text(key)) {
        memcpy(at, key.data, key.len);
        at[key.len] = '\0';
        return;
    }
    *at++ = '0';
    *at++ = 'x';
    for (size_t i = 0; i < key.len; i++) {
        *at++ = digits[key.data[i] >> 4];
        *at++ = digits[key.data[i] & 15];
    }
    *at = '\0';
}
