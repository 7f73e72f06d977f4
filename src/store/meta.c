#include "store/meta.h"

#include "base/bytes.h"
#include "base/endian.h"
#include "store/engine.h"

#include <string.h>

/*
 *   0 u32 format   4 cluster[16]   20 u32 place   24 u32 place count   28 u64 epoch   36 u32 state
 *  40 secret[32]  72 u32 routing length  76 routing
 */
enum { FIXED = 76 };

size_t store__meta_encode(const struct ts_meta *meta, uint8_t ret_bytes[static TS_META_ENCODED_MAX]) {
    size_t routing_len = strnlen(meta->routing, sizeof meta->routing);
    ts_le32_store(meta->format, ret_bytes);
    memcpy(ret_bytes + 4, meta->cluster, sizeof meta->cluster);
    ts_le32_store(meta->place, ret_bytes + 20);
    ts_le32_store(meta->place_count, ret_bytes + 24);
    ts_le64_store(meta->epoch, ret_bytes + 28);
    ts_le32_store((uint32_t)meta->state, ret_bytes + 36);
    memcpy(ret_bytes + 40, meta->secret, sizeof meta->secret);
    ts_le32_store((uint32_t)routing_len, ret_bytes + 72);
    memcpy(ret_bytes + FIXED, meta->routing, routing_len);
    return FIXED + routing_len;
}

enum ts_store_result store__meta_decode(struct ts_bytes bytes, struct ts_meta *ret_meta) {
    if (bytes.len < 4)
        return TS_STORE_DAMAGED;
    uint32_t format = ts_le32_load(bytes.data);
    if (format != TS_META_FORMAT) {
        ret_meta->format = format;
        return TS_STORE_BAD_CONFIGURATION;
    }
    if (bytes.len < FIXED)
        return TS_STORE_DAMAGED;
    uint32_t state = ts_le32_load(bytes.data + 36), routing_len = ts_le32_load(bytes.data + 72);
    if (state > TS_META_INITIALISING || routing_len >= TS_META_ROUTING_SIZE ||
        bytes.len != FIXED + routing_len)
        return TS_STORE_DAMAGED;
    ret_meta->present = true;
    ret_meta->format = format;
    memcpy(ret_meta->cluster, bytes.data + 4, sizeof ret_meta->cluster);
    ret_meta->place = ts_le32_load(bytes.data + 20);
    ret_meta->place_count = ts_le32_load(bytes.data + 24);
    ret_meta->epoch = ts_le64_load(bytes.data + 28);
    ret_meta->state = (enum ts_meta_state)state;
    memcpy(ret_meta->secret, bytes.data + 40, sizeof ret_meta->secret);
    memcpy(ret_meta->routing, bytes.data + FIXED, routing_len);
    ret_meta->routing[routing_len] = '\0';
    return TS_STORE_OK;
}

enum ts_store_result store__meta_compare(const struct ts_meta *actual, const struct ts_meta *expected,
                                         const char *store_name, struct ts_store_error *ret_error) {
    if (!actual->present)
        return store__error(ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                            "%s: the store belongs to no cluster; run `store init` first", store_name);
    if (memcmp(actual->cluster, expected->cluster, sizeof actual->cluster) != 0)
        return store__error(ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                            "%s: the store belongs to another cluster; check the list of stores", store_name);
    if (actual->place != expected->place || actual->place_count != expected->place_count)
        return store__error(
            ret_error, TS_STORE_FOREIGN, SIZE_MAX,
            "%s: the store is number %u of %u in its cluster, and was used as number %u of %u; list the "
            "stores as `store init` was given them",
            store_name, actual->place + 1, actual->place_count, expected->place + 1, expected->place_count);
    if (actual->epoch != expected->epoch)
        return store__error(
            ret_error, TS_STORE_FOREIGN, SIZE_MAX,
            "%s: the cluster is in epoch %llu, and this process in epoch %llu; start it again", store_name,
            (unsigned long long)actual->epoch, (unsigned long long)expected->epoch);
    return TS_STORE_OK;
}
