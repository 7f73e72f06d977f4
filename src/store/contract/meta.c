/*
 * The meta record as bytes; docs/formats/meta.md has the layout. Every format begins with the magic and the
 * number of the format, and ends with the checksum. So a record of another format can be distinguished from a
 * damaged record.
 */
#include "store/contract/meta.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/endian.h"
#include "base/hash64.h"
#include "store/contract/engine.h"

#include <string.h>

enum {
    AT_MAGIC = 0,
    AT_FORMAT = 4,
    AT_CLUSTER = 8,
    AT_PLACE = 24,
    AT_PLACE_COUNT = 28,
    AT_EPOCH = 32,
    AT_STATE = 40,
    AT_SECRET = 42,
    AT_ROUTING_LEN = 74,
    AT_ROUTING = 76,
    CHECKSUM_LEN = 8,
};

static const uint8_t magic[4] = {'T', 'S', 'm', 'e'};

_Static_assert(AT_ROUTING + CHECKSUM_LEN + TS_META_ROUTING_SIZE == TS_META_ENCODED_MAX,
               "room for the longest");

size_t store__meta_encode(const struct ts_meta *meta, uint8_t ret_bytes[static TS_META_ENCODED_MAX]) {
    size_t routing_len = strnlen(meta->routing, TS_META_ROUTING_SIZE);
    ts_assert(meta->present && routing_len < TS_META_ROUTING_SIZE);
    memcpy(ret_bytes + AT_MAGIC, magic, sizeof magic);
    ts_le32_store(meta->format, ret_bytes + AT_FORMAT);
    memcpy(ret_bytes + AT_CLUSTER, meta->cluster, sizeof meta->cluster);
    ts_le32_store(meta->place, ret_bytes + AT_PLACE);
    ts_le32_store(meta->place_count, ret_bytes + AT_PLACE_COUNT);
    ts_le64_store(meta->epoch, ret_bytes + AT_EPOCH);
    ts_le16_store((uint16_t)meta->state, ret_bytes + AT_STATE);
    memcpy(ret_bytes + AT_SECRET, meta->secret, sizeof meta->secret);
    ts_le16_store((uint16_t)routing_len, ret_bytes + AT_ROUTING_LEN);
    memcpy(ret_bytes + AT_ROUTING, meta->routing, routing_len);
    size_t len = AT_ROUTING + routing_len;
    ts_le64_store(ts_xxh64_of_bytes(ts_bytes_of(ret_bytes, len)), ret_bytes + len);
    return len + CHECKSUM_LEN;
}

/* Checks the fields of a record: bytes with a correct checksum may still be from another program. */
static bool is_sound(const struct ts_meta *meta) {
    return meta->place < meta->place_count && meta->epoch > 0 && meta->epoch <= INT64_MAX &&
           strlen(meta->routing) > 0;
}

enum ts_store_result store__meta_decode(struct ts_bytes bytes, struct ts_meta *ret_meta) {
    if (bytes.len < AT_CLUSTER + CHECKSUM_LEN || memcmp(bytes.data + AT_MAGIC, magic, sizeof magic) != 0)
        return TS_STORE_DAMAGED;
    size_t len = bytes.len - CHECKSUM_LEN;
    if (ts_le64_load(bytes.data + len) != ts_xxh64_of_bytes(ts_bytes_first(bytes, len)))
        return TS_STORE_DAMAGED;
    uint32_t format = ts_le32_load(bytes.data + AT_FORMAT);
    if (format != TS_META_FORMAT) {
        ret_meta->format = format;
        return TS_STORE_BAD_CONFIGURATION;
    }
    if (len < AT_ROUTING)
        return TS_STORE_DAMAGED;
    size_t routing_len = ts_le16_load(bytes.data + AT_ROUTING_LEN);
    uint16_t state = ts_le16_load(bytes.data + AT_STATE);
    if (routing_len >= TS_META_ROUTING_SIZE || routing_len != len - AT_ROUTING ||
        state > TS_META_INITIALISING)
        return TS_STORE_DAMAGED;

    struct ts_meta meta = {.present = true, .version = ret_meta->version, .format = format};
    memcpy(meta.cluster, bytes.data + AT_CLUSTER, sizeof meta.cluster);
    meta.place = ts_le32_load(bytes.data + AT_PLACE);
    meta.place_count = ts_le32_load(bytes.data + AT_PLACE_COUNT);
    meta.epoch = ts_le64_load(bytes.data + AT_EPOCH);
    meta.state = (enum ts_meta_state)state;
    memcpy(meta.secret, bytes.data + AT_SECRET, sizeof meta.secret);
    memcpy(meta.routing, bytes.data + AT_ROUTING, routing_len);
    if (!is_sound(&meta))
        return TS_STORE_DAMAGED;
    *ret_meta = meta;
    return TS_STORE_OK;
}

enum ts_store_result store__meta_compare(const struct ts_meta *actual, const struct ts_meta *expected,
                                         const char *store_name, struct ts_store_error *ret_error) {
    if (!actual->present)
        return store__error(ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                            "%s no longer belongs to a cluster; initialise it again or correct the list",
                            store_name);
    if (memcmp(actual->cluster, expected->cluster, sizeof actual->cluster) != 0)
        return store__error(ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                            "%s belongs to another cluster; correct the list of stores", store_name);
    if (actual->place != expected->place || actual->place_count != expected->place_count)
        return store__error(
            ret_error, TS_STORE_FOREIGN, SIZE_MAX,
            "%s is store %u of a cluster of %u, not store %u of %u; list the stores in the order of 'store init'",
            store_name, actual->place, actual->place_count, expected->place, expected->place_count);
    if (actual->epoch != expected->epoch)
        return store__error(
            ret_error, TS_STORE_FOREIGN, SIZE_MAX,
            "%s is in epoch %llu, and this process is in epoch %llu: the cluster was fenced; restart this "
            "process",
            store_name, (unsigned long long)actual->epoch, (unsigned long long)expected->epoch);
    if (actual->state == TS_META_INITIALISING && expected->state != TS_META_INITIALISING)
        return store__error(ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                            "%s is only partly initialised: repeat the interrupted 'store init'", store_name);
    return TS_STORE_OK;
}
