/*
 * Payload hashes and derived ids, all BLAKE3 in derive-key mode with a context of its own for each purpose.
 * The results are stored, so they never change. docs/formats/coord.md has the hashed bytes.
 */
#ifndef TS_COORD_CORE_HASH_H
#define TS_COORD_CORE_HASH_H

#include "coord/core/ids.h"
#include "coord/core/spec.h"

/* One new shard of a registration or split. */
struct ts_new_shard {
    bool has_id;           /* only in registrations; if false, a random id is chosen */
    struct ts_shard_id id; /* when has_id; without bit 63 */
    struct ts_shard_spec spec;
    struct ts_cursor cursor;
};

struct ts_new_shards {
    const struct ts_new_shard *list;
    size_t count;
};

/* The hash made from the first word of the output. 0 means "no hash", so 0 becomes 1. */
static inline struct ts_payload_hash ts_payload_hash_of_word(uint64_t word) {
    return (struct ts_payload_hash){word != 0 ? word : 1};
}

/* Hashes of an operation and its parameters. The lease is not hashed: a worker that acquires the shard again
 * may repeat an operation that it began under its earlier lease. */
struct ts_payload_hash ts_payload_hash_cursor(enum ts_shard_op_kind kind, struct ts_shard_key shard,
                                              const struct ts_cursor *cursor); /* checkpoint, complete */
struct ts_payload_hash ts_payload_hash_park(struct ts_shard_key shard, enum ts_park_reason reason);
struct ts_payload_hash ts_payload_hash_release(struct ts_shard_key shard, enum ts_blame blame);
struct ts_payload_hash ts_payload_hash_unpark(struct ts_shard_key shard);
struct ts_payload_hash ts_payload_hash_split_replace(struct ts_shard_key shard,
                                                     struct ts_new_shards children);
/* The residual's range.start is where the parent is cut. Its end is ignored, because it is always the
 * parent's end. */
struct ts_payload_hash ts_payload_hash_split_residual(struct ts_shard_key shard,
                                                      const struct ts_new_shard *residual);
struct ts_payload_hash ts_payload_hash_register(struct ts_run_id run, struct ts_new_shards shards);
struct ts_payload_hash ts_payload_hash_end_run(enum ts_run_op_kind kind, struct ts_run_id run);

/* The id of a shard from a split: bit 63 set. index counts all shards that the parent has spawned. */
struct ts_shard_id ts_derived_shard_id(struct ts_shard_key parent, struct ts_op_id op_id,
                                       enum ts_derived_shard_kind kind, uint32_t index);

/* The id of a shard that was registered without one: bit 63 clear. */
struct ts_shard_id ts_drawn_shard_id(struct ts_run_id run, struct ts_op_id op_id, uint32_t index);

/* The op id for parking a shard that was acquired too often at this fence. */
struct ts_op_id ts_parking_op_id(struct ts_shard_key shard, struct ts_fence_epoch fence);

#endif
