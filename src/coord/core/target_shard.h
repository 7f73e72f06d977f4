/*
 * One shard for one target. A target is an id T of 16 bytes that another layer has chosen. The target's
 * records are on the store that T routes to, its home. The shard's id routes to the same store, so that a
 * batch under the lease can also write the target's records.
 *
 *     range     [T, T ff ff)
 *     cursor    T when a part of the target is durable, T ff when the target is done; both are inside the range
 */
#ifndef TS_COORD_CORE_TARGET_SHARD_H
#define TS_COORD_CORE_TARGET_SHARD_H

#include "coord/core/hash.h"
#include "turnstone/route.h"

enum { TS_COORD_TARGET_LEN = 16 };

/* The bytes of the keys. A shard that is made from this struct borrows them. */
struct ts_coord_target_keys {
    uint8_t bytes[TS_COORD_TARGET_LEN + 2];
};

struct ts_coord_target_keys ts_coord_target_keys_of(const uint8_t target[static TS_COORD_TARGET_LEN]);

static inline struct ts_bytes ts_coord_target_key_begun(const struct ts_coord_target_keys *keys) {
    return ts_bytes_of(keys->bytes, TS_COORD_TARGET_LEN);
}
static inline struct ts_bytes ts_coord_target_key_done(const struct ts_coord_target_keys *keys) {
    return ts_bytes_of(keys->bytes, TS_COORD_TARGET_LEN + 1);
}
static inline struct ts_key_range ts_coord_target_range(const struct ts_coord_target_keys *keys) {
    return (struct ts_key_range){.start = ts_coord_target_key_begun(keys),
                                 .end = ts_bytes_of(keys->bytes, TS_COORD_TARGET_LEN + 2)};
}

/* Returns whether the range belongs to the shard of a target; ret_target is that target. */
bool ts_coord_target_of_range(struct ts_key_range range, uint8_t ret_target[static TS_COORD_TARGET_LEN]);

/*
 * Returns the home of a target: the store that XXH64 of its bytes routes to.
 */
struct ts_store_id ts_coord_target_home(const struct ts_router *router,
                                        const uint8_t target[static TS_COORD_TARGET_LEN]);

/*
 * Computes the id of the target's shard in this run. Run and target determine a sequence of numbers; the id
 * is the first of them that routes to the target's home. Bit 63 is clear. Returns false if none of the first
 * 65,536 routes there, because the home's range has no ids below 2^63, or very few.
 */
bool ts_coord_target_shard_id(struct ts_run_id run, const uint8_t target[static TS_COORD_TARGET_LEN],
                              const struct ts_router *router, struct ts_shard_id *ret_shard);

#endif
