/*
 * Leases and op-logs.
 *
 * A lease is a capability: acquire returns it, and a worker must present it to change the shard. It has
 * tenant, shard, owner, fence and deadline. It is active while now < deadline. Its fields are private: only
 * the coordinator makes leases, and workers pass them back.
 *
 * An op-log has the last operations on a shard (16) or a run (8); new entries overwrite the oldest. An
 * operation that is in the log with the same payload hash is a replay. Overwriting old entries is safe:
 * - a terminal operation (complete, park, split_replace) is the newest entry for as long as the shard stays
 *   terminal, because nothing else is executed on it;
 * - a release is the newest entry until somebody acquires the shard, which raises the fence;
 * - a checkpoint or split_residual is forgotten only after 16 more operations. A later duplicate is harmless:
 *   under an old lease the fence rejects it; under the same lease a cursor never goes back, and a repeated
 *   split_residual is found in the list of spawned shards.
 */
#ifndef TS_COORD_CORE_LEASE_H
#define TS_COORD_CORE_LEASE_H

#include "base/assert.h"
#include "base/ring.h"
#include "coord/core/ids.h"

/* The holder in a shard's record: either both fields are set, or neither. */
struct ts_lease_holder {
    struct ts_worker_id owner;
    struct ts_logical_time deadline;
};

/* Makes a holder. deadline must not be 0. */
struct ts_lease_holder ts_lease_holder_make(const struct ts_worker_id *owner,
                                            struct ts_logical_time deadline);

struct ts_lease {
    struct {
        struct ts_tenant_id tenant;
        struct ts_run_id run;
        struct ts_shard_id shard;
        struct ts_worker_id owner;
        struct ts_fence_epoch fence;
        struct ts_logical_time deadline;
    } lease__private;
};

struct ts_lease_fields {
    struct ts_tenant_id tenant;
    struct ts_shard_key shard;
    struct ts_worker_id owner;
    struct ts_fence_epoch fence;
    struct ts_logical_time deadline;
};

/* Makes a lease. fence must be at least TS_FENCE_INITIAL, and deadline must not be 0. */
struct ts_lease ts_lease_make(const struct ts_lease_fields *fields);

/* Extends the lease; the fence does not change. The same deadline is allowed; an earlier one is a programming
 * error. */
void ts_lease_set_deadline(struct ts_lease *lease, struct ts_logical_time deadline);

static inline const struct ts_tenant_id *ts_lease_tenant(const struct ts_lease *lease) {
    return &lease->lease__private.tenant;
}
static inline struct ts_shard_key ts_lease_shard(const struct ts_lease *lease) {
    return (struct ts_shard_key){lease->lease__private.run, lease->lease__private.shard};
}
static inline const struct ts_worker_id *ts_lease_owner(const struct ts_lease *lease) {
    return &lease->lease__private.owner;
}
static inline struct ts_fence_epoch ts_lease_fence(const struct ts_lease *lease) {
    return lease->lease__private.fence;
}
static inline struct ts_logical_time ts_lease_deadline(const struct ts_lease *lease) {
    return lease->lease__private.deadline;
}

/* Converts a lease to bytes, for a signed token: docs/formats/coord.md has the layout. */
#define TS_LEASE_ENCODED_LEN 96
void ts_lease_encode(const struct ts_lease *lease, uint8_t ret_bytes[static TS_LEASE_ENCODED_LEN]);
/* Returns false for bytes that are not a lease: their length is wrong, or the fence or deadline is 0. */
bool ts_lease_decode(struct ts_bytes bytes, struct ts_lease *ret_lease);

struct ts_op_log_entry {
    struct ts_op_id op_id;
    struct ts_payload_hash payload_hash;
    struct ts_logical_time executed_at;
    enum ts_shard_op_kind kind;
    enum ts_op_result result;
};

struct ts_run_op_log_entry {
    struct ts_op_id op_id;
    struct ts_payload_hash payload_hash;
    struct ts_logical_time executed_at;
    enum ts_run_op_kind kind;
    enum ts_op_result result;
};

typedef TS_RING(struct ts_op_log_entry, TS_OP_LOG_MAX) ts_op_log;
typedef TS_RING(struct ts_run_op_log_entry, TS_RUN_OP_LOG_MAX) ts_run_op_log;

/*
 * Appends a completed operation. executed_at is the later of now and the newest entry's time. So a shard can
 * still be changed after its store's clock was set back. now and the hash must not be 0.
 */
void ts_op_log_record(ts_op_log *log, enum ts_shard_op_kind kind, struct ts_op_id op_id,
                      struct ts_payload_hash hash, struct ts_logical_time now);
void ts_run_op_log_record(ts_run_op_log *log, enum ts_run_op_kind kind, struct ts_op_id op_id,
                          struct ts_payload_hash hash, struct ts_logical_time now);

/* Returns the newest entry with this op id, or NULL if no entry has it. */
const struct ts_op_log_entry *ts_op_log_find(const ts_op_log *log, struct ts_op_id op_id);
const struct ts_run_op_log_entry *ts_run_op_log_find(const ts_run_op_log *log, struct ts_op_id op_id);

/* Returns the result of a replay of this entry: SUPERSEDED for a checkpoint that a later checkpoint or
 * complete has passed, otherwise the stored result. */
enum ts_op_result ts_op_log_result_of(const ts_op_log *log, const struct ts_op_log_entry *entry);

#endif
