#include "base/redact.h"

#include "base/assert.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

const char *ts_redact_len(size_t len, char *ret_text, size_t size) {
    ts_assert(size > 0);
    snprintf(ret_text, size, "[%zu bytes]", len);
    return ret_text;
}

const char *ts_redact_option(bool is_some, size_t len, char *ret_text, size_t size) {
    ts_assert(size > 0);
    if (is_some)
        snprintf(ret_text, size, "Some([%zu bytes])", len);
    else
        snprintf(ret_text, size, "None");
    return ret_text;
}

/* The length of the valid UTF-8 character at the start of bytes and its code point; 0 when there is none.
 * Overlong forms, surrogates and numbers above 10FFFF are not valid. */
static size_t utf8_decode(struct ts_bytes bytes, uint32_t *ret_point) {
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t lead = bytes.data[0];
    if (lead < 0x80) {
        *ret_point = lead;
        return 1;
    }
    size_t len = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc0 || lead >= 0xf8 || len > bytes.len)
        return 0;
    uint32_t point = lead & (0x7fU >> len);
    for (size_t i = 1; i < len; i++) {
        if ((bytes.data[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (bytes.data[i] & 0x3fU);
    }
    if (point < smallest[len] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return 0;
    *ret_point = point;
    return len;
}

static bool is_shown(uint32_t point) {
    if (point < 0x20 || (point >= 0x7f && point <= 0x9f))
        return false;
    bool hidden = point == 0x00ad || point == 0x061c || (point >= 0x200b && point <= 0x200f) ||
                  (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) ||
                  point == 0xfeff || (point >= 0xfff9 && point <= 0xfffb) ||
                  (point >= 0xe0000 && point <= 0xe007f);
    return !hidden;
}

enum { PIECE_MAX = 4 * 4 }; /* four bytes as \xNN */

/* The text of the first character of bytes, and how many bytes that is. */
static size_t escape_one(struct ts_bytes bytes, char ret_piece[static PIECE_MAX], size_t *ret_piece_len) {
    static const char digits[] = "0123456789abcdef";
    uint32_t point;
    size_t len = utf8_decode(bytes, &point);
    if (len == 1 && point == '\\') {
        ret_piece[0] = ret_piece[1] = '\\';
        *ret_piece_len = 2;
        return 1;
    }
    if (len > 0 && is_shown(point)) {
        memcpy(ret_piece, bytes.data, len);
        *ret_piece_len = len;
        return len;
    }
    /* A byte that begins nothing valid is one character of its own. */
    if (len == 0)
        len = 1;
    for (size_t i = 0; i < len; i++) {
        char *at = ret_piece + 4 * i;
        at[0] = '\\';
        at[1] = 'x';
        at[2] = digits[bytes.data[i] >> 4];
        at[3] = digits[bytes.data[i] & 15];
    }
    *ret_piece_len = 4 * len;
    return len;
}

const char *ts_text_escape(struct ts_bytes bytes, char *ret_text, size_t size) {
    ts_assert(size > 0);
    const size_t room = size - 1;
    const size_t dots = room < 3 ? room : 3;
    size_t used = 0;
    size_t cut = 0; /* the last place between characters that leaves room for the dots */
    while (bytes.len > 0) {
        char piece[PIECE_MAX];
        size_t piece_len;
        size_t taken = escape_one(bytes, piece, &piece_len);
        if (piece_len > room - used) {
            memcpy(ret_text + cut, "...", dots);
            used = cut + dots;
            break;
        }
        memcpy(ret_text + used, piece, piece_len);
        used += piece_len;
        if (used <= room - dots)
            cut = used;
        bytes = ts_bytes_skip(bytes, taken);
    }
    ret_text[used] = '\0';
    return ret_text;
}
