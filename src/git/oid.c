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

/* The digit plus one; 0 for other characters. */
static const uint8_t digit_values[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

bool ts_git_oid_parse(enum ts_git_hash hash, struct ts_bytes hex, struct ts_git_oid *ret_oid) {
    struct ts_git_oid oid = {{0}};
    size_t len = ts_git_hash_len(hash);
    if (hex.len != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned high = digit_values[hex.data[2 * i]];
        unsigned low = digit_values[hex.data[2 * i + 1]];
        if (high == 0 || low == 0)
            return false;
        oid.bytes[i] = (uint8_t)((high - 1) << 4 | (low - 1));
    }
    *ret_oid = oid;
    return true;
}
