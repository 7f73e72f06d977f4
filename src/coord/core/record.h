/*
 * The stored records of shards and runs. Records borrow their bytes: a decoded record points into the bytes
 * that were read; the record of a step points into the earlier record and into the operation. Encoding copies
 * everything.
 *
 *     bytes -> decode (checksum, invariants) -> record -> step -> record' -> encode (invariants) -> bytes
 *
 * Life of a shard:
 *
 *          acquire, renew, checkpoint, release, split_residual
 *                  ____
 *                 v    |
 *     register -> Active -- complete -------> Done
 *     or split     |  ^  \- split_replace --> Split
 *                  |  |
 *             park |  | unpark (fence + 1, attempts 0)
 *                  v  |
 *                 Parked
 *
 * Active: may have a holder. Done, Split, Parked: no holder, and the op-log's newest entry is the operation
 * that led there. Only unpark leads back to Active.
 *
 * Life of a run: Initializing -- register --> Active -- complete, fail, cancel --> Done, Failed, Cancelled;
 * an Initializing run can also fail or be cancelled. A run that has ended never changes, and its shards never
 * change.
 *
 * A run that has announced its list of shards remains Initializing until the whole list is registered. Until
 * then the run's shards have records, but nobody can acquire them.
 *
 * Byte layouts are in docs/formats/coord.md.
 */
#ifndef TS_COORD_CORE_RECORD_H
#define TS_COORD_CORE_RECORD_H

#include "base/bytes.h"
#include "base/endian.h"
#include "coord/core/ids.h"
#include "coord/core/lease.h"
#include "coord/core/run_config.h"
#include "coord/core/spec.h"

/* The ids of the shard's children and residuals, 8 little-endian bytes each, in the order of the splits. */
struct ts_spawned {
    struct ts_bytes bytes;
};

static inline size_t ts_spawned_count(struct ts_spawned spawned) {
    return spawned.bytes.len / 8;
}

static inline struct ts_shard_id ts_spawned_at(struct ts_spawned spawned, size_t index) {
    ts_assert(index < ts_spawned_count(spawned));
    return (struct ts_shard_id){ts_le64_load(spawned.bytes.data + 8 * index)};
}

struct ts_shard_record {
    struct ts_tenant_id tenant;
    struct ts_shard_key key;
    struct ts_shard_id parent; /* valid if the id is derived */
    struct ts_fence_epoch fence;
    struct ts_lease_holder holder; /* valid if has_holder */
    /* Number of acquires since the last checkpoint or unpark. Acquires that ended in a release without blame
     * do not count. */
    uint32_t attempts;
    bool has_parent;
    bool has_holder;
    bool has_park_reason;
    enum ts_shard_status status;
    enum ts_park_reason park_reason; /* valid if has_park_reason */
    enum ts_cursor_semantics semantics;
    struct ts_shard_spec spec;
    struct ts_cursor cursor;
    struct ts_spawned spawned;
    ts_op_log op_log;
};

/* Copies a record, except for unused slots of its op-log. Every operation copies records several times, and
 * most bytes of a record are its op-log. */
void ts_shard_record_copy(const struct ts_shard_record *from, struct ts_shard_record *ret_record);

/* Returns whether the shard is leased at `now`. At the deadline itself it is no longer leased. */
static inline bool ts_shard_record_is_leased_at(const struct ts_shard_record *record,
                                                struct ts_logical_time now) {
    return record->has_holder && now.ms < record->holder.deadline.ms;
}

struct ts_run_record {
    struct ts_tenant_id tenant;
    struct ts_run_id run;
    enum ts_run_status status;
    struct ts_run_config config;
    uint64_t number;     /* 1 for the tenant's first run; later runs have higher numbers */
    uint64_t registered; /* number of registered shards, without shards from splits */
    struct ts_announced announced;
    struct ts_logical_time created_at;
    struct ts_logical_time ended_at; /* 0 until the run has ended */
    ts_run_op_log op_log;
};

/* The part of a run that every operation on a shard needs. Every store has a copy, the guard. The guard
 * changes only together with the run. */
struct ts_run_guard {
    struct ts_tenant_id tenant;
    struct ts_run_id run;
    enum ts_run_status status;
    struct ts_run_config config;
    uint64_t number; /* as in the run's record */
};

struct ts_run_guard ts_run_guard_of(const struct ts_run_record *run);

/* The place of a shard in the claim index: none, among the free shards, or among the leased shards in the
 * order of their deadlines. */
enum ts_claim_place { TS_CLAIM_PLACE_NONE, TS_CLAIM_PLACE_FREE, TS_CLAIM_PLACE_LEASED };
static inline enum ts_claim_place ts_shard_record_claim_place(const struct ts_shard_record *record) {
    if (record->status != TS_SHARD_ACTIVE)
        return TS_CLAIM_PLACE_NONE;
    return record->has_holder ? TS_CLAIM_PLACE_LEASED : TS_CLAIM_PLACE_FREE;
}

/*
 * The ten invariants. Returns 0 when all hold, otherwise the number of the first that does not:
 *  1 a lease only while Active
 *  2 while leased, fence >= 1 and deadline > 0
 *  3 start < end unless unbounded
 *  4 cursor inside the range
 *  5 key, token and metadata within their limits
 *  6 op-log at most 16, ids distinct, hashes not 0, times > 0 and not falling
 *  7 a park reason exactly when Parked
 *  8 spawned ids distinct, derived, at most 1,024
 *  9 a parent exactly when the id is derived
 * 10 a terminal status has its operation as the newest entry of the op-log, and Split has at least two children
 */
unsigned ts_shard_record_invariant_broken(const struct ts_shard_record *record);

/*
 * Like ts_shard_record_invariant_broken, for runs:
 *  1 the configuration is valid
 *  2 op-log at most 8, its entries as in invariant 6 of shards
 *  3 created_at > 0; ended_at is set exactly when the run has ended
 *  4 an ended run has its operation as the newest entry of the op-log
 *  5 registered within the limit; while Initializing, registered is 0 or below announced
 *  6 number > 0
 *  7 announced within the limit; without announced shards, no digest; once the run is Active or Done, all
 *    announced shards are registered
 */
unsigned ts_run_record_invariant_broken(const struct ts_run_record *run);

/* Reasons why bytes are not a record, or why a record cannot be encoded. X(SUFFIX, text) */
#define TS_RECORD_ERRORS(X)                                                                                  \
    X(OK, "ok")                                                                                              \
    X(TOO_SHORT, "the record is cut short")                                                                  \
    X(TOO_LARGE, "the record is larger than 64 KiB")                                                         \
    X(BAD_MAGIC, "this is not a record of this kind")                                                        \
    X(UNKNOWN_VERSION, "the record was written by a newer version; use that version")                        \
    X(BAD_CHECKSUM, "the record is damaged: its checksum does not match")                                    \
    X(BAD_FIELD, "the record is damaged: a field has an invalid value")                                      \
    X(BROKEN_INVARIANT, "the record is inconsistent: an invariant does not hold")

#define TS_RECORD__MEMBER(suffix, text) TS_RECORD_##suffix,
enum ts_record_error { TS_RECORD_ERRORS(TS_RECORD__MEMBER) };
#undef TS_RECORD__MEMBER

const char *ts_record_error_text(enum ts_record_error error);

/* Converts the error of a record to the error of the operation that found the record: DAMAGED, with the text
 * of the record's error. */
void ts_record_error_to_infra(enum ts_record_error error, struct ts_infra_error *ret_infra);

/* Returns the size that the encoded record would have with a full op-log. Operations that add bytes (such as
 * a cursor) keep this size within the limit. So operations that only add a log entry always fit, and need no
 * error for a record that is too large. */
size_t ts_shard_record_reserved_size(const struct ts_shard_record *record);

/*
 * Encoding checks the invariants first and writes at most TS_RECORD_MAX bytes. Decoding expects exactly one
 * record, borrows from the bytes, and accepts only bytes that encoding would write. ret_ outputs are
 * unchanged on failure.
 */
enum ts_record_error ts_shard_record_encode(const struct ts_shard_record *record,
                                            uint8_t ret_bytes[static TS_RECORD_MAX], size_t *ret_len);
enum ts_record_error ts_shard_record_decode(struct ts_bytes bytes, struct ts_shard_record *ret_record);

#define TS_RUN_RECORD_ENCODED_MAX 400
enum ts_record_error ts_run_record_encode(const struct ts_run_record *run,
                                          uint8_t ret_bytes[static TS_RUN_RECORD_ENCODED_MAX],
                                          size_t *ret_len);
enum ts_record_error ts_run_record_decode(struct ts_bytes bytes, struct ts_run_record *ret_run);

#define TS_RUN_GUARD_ENCODED_LEN 128
enum ts_record_error ts_run_guard_encode(const struct ts_run_guard *guard,
                                         uint8_t ret_bytes[static TS_RUN_GUARD_ENCODED_LEN]);
enum ts_record_error ts_run_guard_decode(struct ts_bytes bytes, struct ts_run_guard *ret_guard);

#endif
