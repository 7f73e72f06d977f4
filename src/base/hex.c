#include "base/hex.h"

#define NONE -1, -1, -1, -1, -1, -1, -1, -1
const int8_t ts_hex_values[256] = {
    NONE, NONE, NONE, NONE, NONE, NONE,                               /* 0x00 */
    0,    1,    2,    3,    4,    5,    6,    7,                      /* 0x30: 0-7 */
    8,    9,    -1,   -1,   -1,   -1,   -1,   -1,                     /* 0x38: 8-9 */
    -1,   10,   11,   12,   13,   14,   15,   -1,   NONE, NONE, NONE, /* 0x40: A-F */
    -1,   10,   11,   12,   13,   14,   15,   -1,   NONE, NONE, NONE, /* 0x60: a-f */
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,                   /* 0x80 */
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,                   /* 0xc0 */
};

bool ts_hex_decode(struct ts_bytes text, uint8_t *ret_bytes) {
    if (text.len % 2 != 0)
        return false;
    for (size_t i = 0; i < text.len; i += 2) {
        int high = ts_hex_digit(text.data[i]);
        int low = ts_hex_digit(text.data[i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret_bytes[i / 2] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool ts_hex_decode_lower(struct ts_bytes text, uint8_t *ret_bytes) {
    for (size_t i = 0; i < text.len; i++)
        if (ts_hex_digit_lower(text.data[i]) < 0)
            return false;
    return ts_hex_decode(text, ret_bytes);
}

char *ts_hex_encode(struct ts_bytes bytes, char *ret_text) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes.len; i++) {
        *ret_text++ = digits[bytes.data[i] >> 4];
        *ret_text++ = digits[bytes.data[i] & 15];
    }
    return ret_text;
}

static bool is_unreserved(uint8_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

size_t ts_percent_encode(uint8_t byte, char ret_text[static 3]) {
    static const char digits[] = "0123456789ABCDEF";
    if (is_unreserved(byte)) {
        ret_text[0] = (char)byte;
        return 1;
    }
    ret_text[0] = '%';
    ret_text[1] = digits[byte >> 4];
    ret_text[2] = digits[byte & 15];
    return 3;
}
