#include "git/oid.h"

const char *ts_git_oid_format(enum ts_git_hash hash, const struct ts_git_oid *oid,
                              char ret_text[static TS_GIT_OID_HEX_SIZE]) {
    static const char digits[] = "0123456789abcdef";
    size_t len = ts_git_hash_len(hash);
    for (size_t i = 0; i < len; i++) {
        ret_text[2 * i] = digits[oid->bytes[i] >> 4];
        ret_text[2 * i + 1] = digits[oid->bytes[i] & 15];
    }
    ret_text[2 * len] = '\0';
    return ret_text;
}

static int digit_of(uint8_t c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool ts_git_oid_parse(enum ts_git_hash hash, struct ts_bytes hex, struct ts_git_oid *ret_oid) {
    struct ts_git_oid oid = {{0}};
    size_t len = ts_git_hash_len(hash);
    if (hex.len != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        int high = digit_of(hex.data[2 * i]);
        int low = digit_of(hex.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        oid.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *ret_oid = oid;
    return true;
}
