#include "base/utf8.h"

size_t ts_utf8_decode(struct ts_bytes bytes, uint32_t *ret_point) {
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

bool ts_utf8_is_valid(struct ts_bytes bytes) {
    while (bytes.len > 0) {
        uint32_t point;
        size_t len = ts_utf8_decode(bytes, &point);
        if (len == 0)
            return false;
        bytes = ts_bytes_skip(bytes, len);
    }
    return true;
}

bool ts_utf8_is_shown(uint32_t point) {
    if (point < 0x20 || (point >= 0x7f && point <= 0x9f))
        return false;
    bool hidden = point == 0x00ad || point == 0x061c || (point >= 0x200b && point <= 0x200f) ||
                  (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) ||
                  point == 0xfeff || (point >= 0xfff9 && point <= 0xfffb) ||
                  (point >= 0xe0000 && point <= 0xe007f);
    return !hidden;
}
