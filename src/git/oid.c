#include "git/oid.h"

#include "base/hex.h"

const char *ts_git_oid_format(enum ts_git_hash hash, const struct ts_git_oid *oid,
                              char ret_text[static TS_GIT_OID_HEX_SIZE]) {
    *ts_hex_encode(ts_bytes_of(oid->bytes, ts_git_hash_len(hash)), ret_text) = '\0';
    return ret_text;
}

bool ts_git_oid_parse(enum ts_git_hash hash, struct ts_bytes hex, struct ts_git_oid *ret_oid) {
    struct ts_git_oid oid = {{0}};
    if (hex.len != 2 * ts_git_hash_len(hash) || !ts_hex_decode(hex, oid.bytes))
        return false;
    *ret_oid = oid;
    return true;
}
