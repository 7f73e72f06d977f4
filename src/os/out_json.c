#include "os/out_json.h"

#include "base/endian.h"
#include "base/hex.h"
#include "base/utf8.h"

/* Returns whether a character is written to a JSON string unchanged, as one byte. */
static bool is_plain(uint8_t c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void put_unit(struct ts_out *out, uint32_t unit) {
    uint8_t bytes[2];
    ts_be16_store((uint16_t)unit, bytes);
    char escape[7] = "\\u";
    ts_hex_encode(ts_bytes_of(bytes, sizeof bytes), escape + 2);
    ts_out_put_cstring(out, escape);
}

static void put_escaped(struct ts_out *out, uint32_t point) {
    if (point == '"' || point == '\\' || point == '\n' || point == '\t') {
        ts_out_put_char(out, '\\');
        ts_out_put_char(out, (char)(point == '\n' ? 'n' : point == '\t' ? 't' : (char)point));
    } else if (point < 0x10000) {
        put_unit(out, point);
    } else {
        put_unit(out, 0xd800 + ((point - 0x10000) >> 10));
        put_unit(out, 0xdc00 + ((point - 0x10000) & 0x3ff));
    }
}

void ts_out_put_json(struct ts_out *out, struct ts_bytes text) {
    ts_out_put_char(out, '"');
    ts_out_put_json_part(out, text);
    ts_out_put_char(out, '"');
}

void ts_out_put_json_name(struct ts_out *out, size_t members_before, const char *name) {
    ts_out_put_cstring(out, ts_json_separator(members_before, ","));
    ts_out_put_json(out, ts_bytes_of_cstring(name));
    ts_out_put_char(out, ':');
}

void ts_out_put_json_part(struct ts_out *out, struct ts_bytes text) {
    while (text.len > 0) {
        size_t plain = 0;
        while (plain < text.len && is_plain(text.data[plain]))
            plain++;
        ts_out_put(out, ts_bytes_first(text, plain));
        text = ts_bytes_skip(text, plain);
        if (text.len == 0)
            break;
        uint32_t point;
        size_t len = ts_utf8_decode(text, &point);
        if (len == 0) {
            ts_out_put_cstring(out, "\xef\xbf\xbd");
            len = 1;
        } else if (point == '"' || point == '\\' || !ts_utf8_is_shown(point)) {
            put_escaped(out, point);
        } else {
            ts_out_put(out, ts_bytes_first(text, len));
        }
        text = ts_bytes_skip(text, len);
    }
}
