#include "json_text.h"

#include <stdio.h>

/* How many bytes the UTF-8 character at the beginning has, 0 when there is none. */
static size_t utf8_len(struct ts_bytes text) {
    uint8_t first = text.data[0];
    size_t len = first < 0x80                    ? 1
                 : first >= 0xf0 && first < 0xf5 ? 4
                 : first >= 0xe0                 ? 3
                 : first >= 0xc2                 ? 2
                                                 : 0;
    if (len == 0 || first >= 0xf5 || text.len < len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((text.data[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, beyond the last character. */
    if ((first == 0xe0 && text.data[1] < 0xa0) || (first == 0xed && text.data[1] >= 0xa0) ||
        (first == 0xf0 && text.data[1] < 0x90) || (first == 0xf4 && text.data[1] >= 0x90))
        return 0;
    return len;
}

void cli__put_json_text(struct ts_out *out, struct ts_bytes text) {
    ts_out_put_char(out, '"');
    while (text.len > 0) {
        uint8_t c = text.data[0];
        size_t len = utf8_len(text);
        char escape[8];
        if (len == 0) {
            ts_out_put_cstring(out, "\xef\xbf\xbd");
            len = 1;
        } else if (c == '"' || c == '\\') {
            ts_out_put_char(out, '\\');
            ts_out_put_char(out, (char)c);
        } else if (c < 0x20 || c == 0x7f) {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            ts_out_put_cstring(out, escape);
        } else {
            ts_out_put(out, ts_bytes_first(text, len));
        }
        text = ts_bytes_skip(text, len);
    }
    ts_out_put_char(out, '"');
}
