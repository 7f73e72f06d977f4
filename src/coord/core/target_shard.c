#include "coord/core/target_shard.h"

#include "base/blake3.h"
#include "base/endian.h"
#include "base/hash64.h"

#include <string.h>

#define CONTEXT TS_BYTES("turnstone coord target shard id v1")

/* A block of BLAKE3's output has 8 numbers. */
enum { NUMBERS_MAX = 65536, BLOCK_NUMBERS = 8 };

struct ts_coord_target_keys ts_coord_target_keys_of(const uint8_t target[static TS_COORD_TARGET_LEN]) {
    struct ts_coord_target_keys keys;
    memcpy(keys.bytes, target, TS_COORD_TARGET_LEN);
    memset(keys.bytes + TS_COORD_TARGET_LEN, 0xff, sizeof keys.bytes - TS_COORD_TARGET_LEN);
    return keys;
}

bool ts_coord_target_of_range(struct ts_key_range range, uint8_t ret_target[static TS_COORD_TARGET_LEN]) {
    if (range.start.len != TS_COORD_TARGET_LEN)
        return false;
    const struct ts_coord_target_keys keys = ts_coord_target_keys_of(range.start.data);
    if (!ts_bytes_equal(range.end, ts_coord_target_range(&keys).end))
        return false;
    memcpy(ret_target, range.start.data, TS_COORD_TARGET_LEN);
    return true;
}

struct ts_store_id ts_coord_target_home(const struct ts_router *router,
                                        const uint8_t target[static TS_COORD_TARGET_LEN]) {
    return ts_router_route(router, ts_xxh64_of_bytes(ts_bytes_of(target, TS_COORD_TARGET_LEN)));
}

bool ts_coord_target_shard_id(struct ts_run_id run, const uint8_t target[static TS_COORD_TARGET_LEN],
                              const struct ts_router *router, struct ts_shard_id *ret_shard) {
    const uint32_t home = ts_coord_target_home(router, target).v;
    uint8_t material[8 + TS_COORD_TARGET_LEN];
    ts_le64_store(run.v, material);
    memcpy(material + 8, target, TS_COORD_TARGET_LEN);
    struct ts_blake3 hasher;
    ts_blake3_init_derive_key(&hasher, CONTEXT);
    ts_blake3_update(&hasher, ts_bytes_of(material, sizeof material));
    uint8_t block[8 * BLOCK_NUMBERS];
    for (uint32_t i = 0; i < NUMBERS_MAX; i++) {
        const size_t at = (size_t)8 * (i % BLOCK_NUMBERS);
        if (at == 0)
            ts_blake3_output(&hasher, (uint64_t)8 * i, block, sizeof block);
        const uint64_t number = ts_le64_load(block + at) & ~TS_DERIVED_SHARD_BIT;
        if (ts_router_route(router, number).v != home)
            continue;
        ret_shard->v = number;
        return true;
    }
    return false;
}
