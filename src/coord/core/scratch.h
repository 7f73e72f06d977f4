/*
 * Holds the result of acquire, so that acquire allocates nothing. Each session of a worker has one scratch. A
 * view borrows from the scratch until the next acquire into this scratch.
 */
#ifndef TS_COORD_CORE_SCRATCH_H
#define TS_COORD_CORE_SCRATCH_H

#include "base/fixed_buf.h"
#include "coord/core/lease.h"
#include "coord/core/record.h"

/* A hint: how many shards can be claimed. Counts up to TS_CAPACITY_MAX, and may be slightly out of date. */
#define TS_CAPACITY_MAX 64
struct ts_capacity_hint {
    uint32_t available_count;
    bool has_earliest_deadline;
    struct ts_logical_time earliest_deadline;
};

struct ts_acquire_scratch {
    uint64_t generation; /* number of resets so far; a view is invalid after the next reset */
    bool has_last_key;
    bool has_token;
    TS_FIXED_BUF(TS_KEY_MAX) spec_start;
    TS_FIXED_BUF(TS_KEY_MAX) spec_end;
    TS_FIXED_BUF(TS_METADATA_MAX) spec_metadata;
    TS_FIXED_BUF(TS_KEY_MAX) cursor_last_key;
    TS_FIXED_BUF(TS_TOKEN_MAX) cursor_token;
    TS_FIXED_BUF(8 * TS_SPAWNED_MAX) spawned;
};

/* The shard as it was when it was acquired. The scratch owns the bytes. */
struct ts_shard_snapshot_view {
    enum ts_shard_status status;
    struct ts_shard_spec spec;
    struct ts_cursor cursor;
    enum ts_cursor_semantics semantics;
    bool has_parent;
    struct ts_shard_id parent;
    struct ts_spawned spawned;
    const struct ts_acquire_scratch *scratch;
    uint64_t generation;
};

struct ts_acquire_result_view {
    struct ts_lease lease;
    struct ts_shard_snapshot_view snapshot;
    struct ts_capacity_hint capacity;
};

struct ts_renew_result {
    struct ts_logical_time new_deadline;
    struct ts_capacity_hint capacity;
};

/* Initialises an empty scratch. */
void ts_acquire_scratch_init(struct ts_acquire_scratch *scratch);

/* Clears the scratch; its views become invalid. */
void ts_acquire_scratch_reset(struct ts_acquire_scratch *scratch);

/* Copies parts of a record into the scratch. The parts fit, because every record keeps the size limits. */
void ts_acquire_scratch_write_spec(struct ts_acquire_scratch *scratch, const struct ts_shard_spec *spec);
void ts_acquire_scratch_write_cursor(struct ts_acquire_scratch *scratch, const struct ts_cursor *cursor);

/* Makes a view of the copied parts, and of the fields of the record that need no memory. */
struct ts_shard_snapshot_view ts_acquire_scratch_view(const struct ts_acquire_scratch *scratch,
                                                      const struct ts_shard_record *record);

/* Resets the scratch, copies an acquired record into the scratch, and returns the result of the acquire. */
void ts_acquire_result(struct ts_acquire_scratch *scratch, const struct ts_shard_record *record,
                       const struct ts_lease *lease, struct ts_capacity_hint capacity,
                       struct ts_acquire_result_view *ret_view);

/* Returns true if the scratch has not been reset since the view was made. */
static inline bool ts_shard_snapshot_view_is_current(const struct ts_shard_snapshot_view *view) {
    return view->scratch->generation == view->generation;
}

#endif
