#include "base/redact.h"
#include "base/hex.h"

#include "base/assert.h"
#include "base/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

const char *ts_redact_len(size_t len, char *ret_text, size_t size) {
    ts_assert(size > 0);
    snprintf(ret_text, size, "[%zu bytes]", len);
    return ret_text;
}

size_t ts_text_escape_one(struct ts_bytes bytes, char ret_piece[static TS_TEXT_PIECE_MAX],
                          size_t *ret_piece_len) {
    uint32_t point;
    size_t len = ts_utf8_decode(bytes, &point);
    if (len == 1 && point == '\\') {
        ret_piece[0] = ret_piece[1] = '\\';
        *ret_piece_len = 2;
        return 1;
    }
    if (len > 0 && ts_utf8_is_shown(point)) {
        memcpy(ret_piece, bytes.data, len);
        *ret_piece_len = len;
        return len;
    }
    /* A byte that does not begin a valid character counts as one character. */
    if (len == 0)
        len = 1;
    for (size_t i = 0; i < len; i++) {
        char *at = ret_piece + 4 * i;
        at[0] = '\\';
        at[1] = 'x';
        (void)ts_hex_encode(ts_bytes_of(bytes.data + i, 1), at + 2);
    }
    *ret_piece_len = 4 * len;
    return len;
}

const char *ts_text_escape(struct ts_bytes bytes, char *ret_text, size_t size) {
    ts_assert(size > 0);
    const size_t room = size - 1;
    const size_t dots = room < 3 ? room : 3;
    size_t used = 0;
    size_t cut = 0; /* the last place between words that leaves room for the dots */
    while (bytes.len > 0) {
        char piece[TS_TEXT_PIECE_MAX];
        size_t piece_len;
        size_t taken = ts_text_escape_one(bytes, piece, &piece_len);
        if (piece_len > room - used) {
            memcpy(ret_text + cut, "...", dots);
            used = cut + dots;
            break;
        }
        memcpy(ret_text + used, piece, piece_len);
        used += piece_len;
        if (used <= room - dots && (bytes.data[0] == '/' || bytes.data[0] == ' '))
            cut = used;
        bytes = ts_bytes_skip(bytes, taken);
    }
    ret_text[used] = '\0';
    return ret_text;
}

static const uint8_t *find(struct ts_bytes bytes, struct ts_bytes what) {
    for (; bytes.len >= what.len; bytes = ts_bytes_skip(bytes, 1))
        if (ts_bytes_starts_with(bytes, what))
            return bytes.data;
    return NULL;
}

const char *ts_text_quote(struct ts_bytes bytes, char *ret_text, size_t size) {
    static const struct ts_bytes scheme_end = TS_BYTES_INIT("://"), password = TS_BYTES_INIT("password");
    static const char more[] = "...";
    ts_assert(size >= 2 * sizeof more);
    const size_t len = bytes.len;
    const uint8_t *at = find(bytes, scheme_end);
    if (at != NULL)
        bytes = ts_bytes_first(bytes, (size_t)(at - bytes.data) + scheme_end.len);
    at = find(bytes, password);
    if (at != NULL)
        bytes = ts_bytes_first(bytes, (size_t)(at - bytes.data));
    if (bytes.len == len)
        return ts_text_escape(bytes, ret_text, size);
    ts_text_escape(bytes, ret_text, size - (sizeof more - 1));
    memcpy(ret_text + strlen(ret_text), more, sizeof more);
    return ret_text;
}
