#include "txn/core/gid.h"

#include "base/hex.h"
#include "base/number.h"

enum { HEX_LEN = 32 };

static char *put_hex(char *to, const uint8_t *bytes) {
    return ts_hex_encode(ts_bytes_of(bytes, HEX_LEN / 2), to);
}

void txn__uuid_format(const struct txn__uuid *uuid, char ret_text[static 33]) {
    *put_hex(ret_text, uuid->bytes) = '\0';
}

size_t txn__gid_format(const struct txn__gid *gid, char ret_text[static TS_TXN_ID_SIZE]) {
    _Static_assert(3 + HEX_LEN + 1 + HEX_LEN + 1 + 20 + 1 + 10 < TS_TXN_ID_SIZE, "room for the longest");
    char number[TS_NUMBER_TEXT_SIZE];
    char *to = ret_text;
    *to++ = 't';
    *to++ = 's';
    *to++ = '.';
    to = put_hex(to, gid->cluster);
    *to++ = '.';
    to = put_hex(to, gid->coordinator.bytes);
    *to++ = '.';
    size_t len = ts_u64_format(gid->sequence, number);
    memcpy(to, number, len);
    to += len;
    *to++ = '.';
    len = ts_u64_format(gid->decider, number);
    memcpy(to, number, len + 1);
    return (size_t)(to - ret_text) + len;
}

/* Takes 32 hexadecimal digits off the front of `rest`. Returns false if `rest` does not begin with them. */
static bool take_hex(struct ts_bytes *rest, uint8_t *ret_bytes) {
    if (rest->len < HEX_LEN || !ts_hex_decode_lower(ts_bytes_first(*rest, HEX_LEN), ret_bytes))
        return false;
    *rest = ts_bytes_skip(*rest, HEX_LEN);
    return true;
}

static bool take_dot(struct ts_bytes *rest) {
    if (rest->len == 0 || rest->data[0] != '.')
        return false;
    *rest = ts_bytes_skip(*rest, 1);
    return true;
}

/* Takes a decimal number without leading zeros off the front of `rest`, up to the next dot or the end.
 * Returns false if there is no such number. */
static bool take_number(struct ts_bytes *rest, uint64_t *ret_number) {
    const uint8_t *dot = rest->len == 0 ? NULL : memchr(rest->data, '.', rest->len);
    size_t len = dot == NULL ? rest->len : (size_t)(dot - rest->data);
    struct ts_bytes digits = ts_bytes_first(*rest, len);
    if (len > 1 && digits.data[0] == '0')
        return false;
    if (ts_u64_parse(digits, ret_number) != TS_NUMBER_OK)
        return false;
    *rest = ts_bytes_skip(*rest, len);
    return true;
}

bool txn__gid_parse(struct ts_bytes text, struct txn__gid *ret_gid) {
    struct txn__gid gid = {0};
    uint64_t decider = 0;
    if (!ts_bytes_starts_with(text, TS_BYTES("ts.")))
        return false;
    struct ts_bytes rest = ts_bytes_skip(text, 3);
    if (!take_hex(&rest, gid.cluster) || !take_dot(&rest) || !take_hex(&rest, gid.coordinator.bytes) ||
        !take_dot(&rest) || !take_number(&rest, &gid.sequence) || !take_dot(&rest) ||
        !take_number(&rest, &decider) || rest.len != 0)
        return false;
    if (gid.sequence == 0 || decider > UINT32_MAX)
        return false;
    gid.decider = (uint32_t)decider;
    *ret_gid = gid;
    return true;
}
