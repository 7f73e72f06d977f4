#include "store/contract/past.h"

#include "base/endian.h"

#include <string.h>

enum { AT_BORN = 0, AT_INODE = 8, AT_COUNT = 16, AT_MEETINGS = 20, MEETING_LEN = 2 * STORE_MEETING_LEN };

bool store__origin_same(const struct store__origin *then, const struct store__origin *now) {
    if (then->born_ns != 0 && now->born_ns != 0)
        return then->born_ns == now->born_ns;
    return then->inode == 0 || now->inode == 0 || then->inode == now->inode;
}

static bool are_equal(const uint8_t a[static STORE_MEETING_LEN], const uint8_t b[static STORE_MEETING_LEN]) {
    return memcmp(a, b, STORE_MEETING_LEN) == 0;
}

bool store__meeting_fits(const struct store__meeting *of_lower, const struct store__meeting *of_higher) {
    return are_equal(of_lower->last, of_higher->last) || are_equal(of_lower->before, of_higher->last);
}

/* Returns the number of meetings to store. Places after the last store that was met are omitted. */
static uint32_t count_met(const struct store__past *past) {
    static const struct store__meeting none;
    uint32_t count = TS_CLUSTER_STORES_MAX;
    while (count > 0 && memcmp(&past->meetings[count - 1], &none, sizeof none) == 0)
        count--;
    return count;
}

size_t store__past_encode(const struct store__past *past, uint8_t ret_bytes[static STORE_PAST_ENCODED_MAX]) {
    uint32_t count = count_met(past);
    ts_le64_store(past->then.born_ns, ret_bytes + AT_BORN);
    ts_le64_store(past->then.inode, ret_bytes + AT_INODE);
    ts_le32_store(count, ret_bytes + AT_COUNT);
    uint8_t *at = ret_bytes + AT_MEETINGS;
    for (uint32_t i = 0; i < count; i++, at += MEETING_LEN) {
        memcpy(at, past->meetings[i].last, STORE_MEETING_LEN);
        memcpy(at + STORE_MEETING_LEN, past->meetings[i].before, STORE_MEETING_LEN);
    }
    return AT_MEETINGS + (size_t)count * MEETING_LEN;
}

bool store__past_decode(struct ts_bytes bytes, struct store__past *ret_past) {
    if (bytes.len < AT_MEETINGS)
        return false;
    uint32_t count = ts_le32_load(bytes.data + AT_COUNT);
    if (count > TS_CLUSTER_STORES_MAX || bytes.len != AT_MEETINGS + (size_t)count * MEETING_LEN)
        return false;
    ret_past->present = true;
    ret_past->then.born_ns = ts_le64_load(bytes.data + AT_BORN);
    ret_past->then.inode = ts_le64_load(bytes.data + AT_INODE);
    memset(ret_past->meetings, 0, sizeof ret_past->meetings);
    const uint8_t *at = bytes.data + AT_MEETINGS;
    for (uint32_t i = 0; i < count; i++, at += MEETING_LEN) {
        memcpy(ret_past->meetings[i].last, at, STORE_MEETING_LEN);
        memcpy(ret_past->meetings[i].before, at + STORE_MEETING_LEN, STORE_MEETING_LEN);
    }
    return true;
}
