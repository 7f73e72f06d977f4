/*
 * Payload hashes and derived ids. All are BLAKE3 in derive-key mode, with one context for each purpose. The
 * results are stored, so they never change. docs/formats/coord.md has the hashed bytes.
 */
#ifndef TS_COORD_CORE_HASH_H
#define TS_COORD_CORE_HASH_H

#include "coord/core/ids.h"
#include "coord/core/run_config.h"
#include "coord/core/spec.h"

/* One new shard of a registration or split. */
struct ts_new_shard {
    bool has_id;           /* only in registrations; if false, ts_drawn_shard_id makes the id */
    struct ts_shard_id id; /* valid if has_id is set; bit 63 is clear */
    struct ts_shard_spec spec;
    struct ts_cursor cursor;
    /* Only in registrations, for the shard of a target (target_shard.h): the target's unit. The unit is
     * stored next to the shard, and deleted with the run. Empty: no unit. */
    struct ts_bytes unit;
};

struct ts_new_shards {
    const struct ts_new_shard *list;
    size_t count;
};

/* Makes a hash from the first word of BLAKE3's output. 0 means "no hash", so a word of 0 becomes 1. */
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
/* The residual's range.start is where the parent is cut. Its range.end is ignored, because it is always the
 * parent's end. */
struct ts_payload_hash ts_payload_hash_split_residual(struct ts_shard_key shard,
                                                      const struct ts_new_shard *residual);
/* `from` is the index of the first of these shards in the announced list, or 0 without such a list. */
struct ts_payload_hash ts_payload_hash_register(struct ts_run_id run, struct ts_new_shards shards,
                                                uint64_t from);
struct ts_payload_hash ts_payload_hash_end_run(enum ts_run_op_kind kind, struct ts_run_id run);

/* Returns the announcement of this list: its length and its digest. The digest depends on the order of the
 * shards. */
struct ts_announced ts_announced_of(struct ts_new_shards shards);

/* One step of a registration in steps. ts_step_op_id derives the step's op id from the op id of the
 * registration. */
struct ts_step_place {
    uint64_t from; /* index of the step's first shard in the list */
    uint64_t count;
};
struct ts_op_id ts_step_op_id(struct ts_run_id run, struct ts_op_id op_id, struct ts_step_place place);

/*
 * A request is a name that the submitter of a run has chosen. The run's id and the op id of its registration
 * are derived from tenant and name, so that a repeated submission finds the same run. Both ids are below
 * 2^53, so that no JSON reader rounds them. Returns false for a name that is not 1 to TS_REQUEST_MAX
 * printable ASCII characters without blanks.
 */
#define TS_REQUEST_MAX 64
bool ts_request_ids(const struct ts_tenant_id *tenant, struct ts_bytes request, struct ts_run_id *ret_run,
                    struct ts_op_id *ret_op_id);

/* Returns the id of a shard that was made by a split; bit 63 is set. index is the shard's position in the
 * parent's list of spawned shards. */
struct ts_shard_id ts_derived_shard_id(struct ts_shard_key parent, struct ts_op_id op_id,
                                       enum ts_derived_shard_kind kind, uint32_t index);

/* Returns the id of a shard that was registered without an id; bit 63 is clear. index is the shard's index in
 * the list. */
struct ts_shard_id ts_drawn_shard_id(struct ts_run_id run, struct ts_op_id op_id, uint32_t index);

/* Returns the op id for parking a shard that has this fence and no attempts left. */
struct ts_op_id ts_parking_op_id(struct ts_shard_key shard, struct ts_fence_epoch fence);

#endif
