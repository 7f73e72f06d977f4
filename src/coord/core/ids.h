/*
 * The ids of coordination, each with its own type so that they cannot be mixed up; the limits; and the enums
 * whose numbers are stored. A number in these tables never changes and is never reused.
 */
#ifndef TS_COORD_CORE_IDS_H
#define TS_COORD_CORE_IDS_H

#include "base/bytes.h"
#include "turnstone/coord_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes in bytes. */
#define TS_KEY_MAX          ((size_t)4096)
#define TS_TOKEN_MAX        ((size_t)16384)
#define TS_METADATA_MAX     ((size_t)16384)
#define TS_RECORD_MAX       ((size_t)65536)
#define TS_COORD_UNIT_MAX   ((size_t)2048)

/* Counts. */
#define TS_OP_LOG_MAX       16
#define TS_RUN_OP_LOG_MAX   8
#define TS_REGISTER_MAX     10000
#define TS_SPLIT_CHILD_MAX  256
#define TS_SPAWNED_MAX      1024
#define TS_TENANT_SHARD_MAX UINT64_C(100000)  /* default */
#define TS_GLOBAL_SHARD_MAX UINT64_C(1000000) /* default */

/* Names of tenants and workers have up to 32 bytes, padded with zeros; an empty name means none. */
#define TS_NAME_ID_LEN      32

struct ts_tenant_id {
    uint8_t b[TS_NAME_ID_LEN];
};
struct ts_worker_id {
    uint8_t b[TS_NAME_ID_LEN];
};
/* A fingerprint of an operation's parameters; never 0. */
struct ts_payload_hash {
    uint64_t v;
};

struct ts_shard_key {
    struct ts_run_id run;
    struct ts_shard_id shard;
};

#define TS_FENCE_INITIAL     ((struct ts_fence_epoch){1})

/* This bit is set in the ids of shards from splits, and only in these. */
#define TS_DERIVED_SHARD_BIT (UINT64_C(1) << 63)

static inline bool ts_shard_id_is_derived(struct ts_shard_id shard) {
    return (shard.v & TS_DERIVED_SHARD_BIT) != 0;
}

static inline bool ts_tenant_id_equal(const struct ts_tenant_id *a, const struct ts_tenant_id *b) {
    return memcmp(a->b, b->b, sizeof a->b) == 0;
}

static inline bool ts_worker_id_equal(const struct ts_worker_id *a, const struct ts_worker_id *b) {
    return memcmp(a->b, b->b, sizeof a->b) == 0;
}

/* Makes an id from a name of 1 to 32 bytes without a zero byte. Returns false for any other text. */
bool ts_tenant_id_from_text(struct ts_bytes text, struct ts_tenant_id *ret_tenant);
bool ts_worker_id_from_text(struct ts_bytes text, struct ts_worker_id *ret_worker);

/* Returns the name without its padding, borrowed from the id. */
struct ts_bytes ts_tenant_id_text(const struct ts_tenant_id *tenant);

/* X(SUFFIX, number, name). Tables of public enums are in turnstone/coord_types.h. */

/* The state of the work on last_key: done, or only dispatched. */
#define TS_CURSOR_SEMANTICS(X)                                                                               \
    X(CURSOR_COMPLETED, 0, "Completed")                                                                      \
    X(CURSOR_DISPATCHED, 1, "Dispatched")

/* Operations that a shard's op-log holds. */
#define TS_SHARD_OP_KINDS(X)                                                                                 \
    X(SHARD_OP_CHECKPOINT, 0, "Checkpoint")                                                                  \
    X(SHARD_OP_COMPLETE, 1, "Complete")                                                                      \
    X(SHARD_OP_PARK, 2, "Park")                                                                              \
    X(SHARD_OP_SPLIT_REPLACE, 3, "SplitReplace")                                                             \
    X(SHARD_OP_SPLIT_RESIDUAL, 4, "SplitResidual")                                                           \
    X(SHARD_OP_UNPARK, 5, "Unpark")                                                                          \
    X(SHARD_OP_RELEASE, 6, "Release")

#define TS_RUN_OP_KINDS(X)                                                                                   \
    X(RUN_OP_REGISTER_SHARDS, 0, "RegisterShards")                                                           \
    X(RUN_OP_COMPLETE_RUN, 1, "CompleteRun")                                                                 \
    X(RUN_OP_FAIL_RUN, 2, "FailRun")                                                                         \
    X(RUN_OP_CANCEL_RUN, 3, "CancelRun")

/*
 * COMPLETED: the operation was executed. SUPERSEDED: the answer to a replay of a checkpoint that a later
 * cursor has passed. ERROR: can be decoded, but is never written, because a failed validation changes
 * nothing.
 */
#define TS_OP_RESULTS(X)                                                                                     \
    X(OP_RESULT_COMPLETED, 0, "Completed")                                                                   \
    X(OP_RESULT_ERROR, 1, "Error")                                                                           \
    X(OP_RESULT_SUPERSEDED, 2, "Superseded")

/* The kinds of shards that a split makes. */
#define TS_DERIVED_SHARD_KINDS(X)                                                                            \
    X(DERIVED_CHILD, 0, "Child")                                                                             \
    X(DERIVED_RESIDUAL, 1, "Residual")

#define TS_LIMIT_SCOPES(X)                                                                                   \
    X(LIMIT_PER_TENANT, 0, "PerTenant")                                                                      \
    X(LIMIT_GLOBAL, 1, "Global")

/* Every stored or shown enum: Y(enum, TABLE, count). Release and blames are not in the specification. */
#define TS_COORD_ENUMS(Y)                                                                                    \
    TS_COORD_PUBLIC_ENUMS(Y)                                                                                 \
    TS_COORD_PRIVATE_ENUMS(Y)
#define TS_COORD_PUBLIC_ENUMS(Y)                                                                             \
    Y(ts_shard_status, TS_SHARD_STATUSES, 4)                                                                 \
    Y(ts_park_reason, TS_PARK_REASONS, 5)                                                                    \
    Y(ts_blame, TS_BLAMES, 2)                                                                                \
    Y(ts_run_status, TS_RUN_STATUSES, 5)
#define TS_COORD_PRIVATE_ENUMS(Y)                                                                            \
    Y(ts_cursor_semantics, TS_CURSOR_SEMANTICS, 2)                                                           \
    Y(ts_shard_op_kind, TS_SHARD_OP_KINDS, 7)                                                                \
    Y(ts_run_op_kind, TS_RUN_OP_KINDS, 4)                                                                    \
    Y(ts_op_result, TS_OP_RESULTS, 3)                                                                        \
    Y(ts_derived_shard_kind, TS_DERIVED_SHARD_KINDS, 2)                                                      \
    Y(ts_limit_scope, TS_LIMIT_SCOPES, 2)

#define TS_COORD__ENUM(type, TABLE, count) enum type { TABLE(TS_COORD__MEMBER) };
TS_COORD_PRIVATE_ENUMS(TS_COORD__ENUM)
#undef TS_COORD__ENUM

#define TS_COORD__ONE(suffix, number, name) +1
#define TS_COORD__BIT(suffix, number, name) | 1U << (number)

/* For each enum, declares _name and defines _from_number. _name returns the name of a value, from the table.
 * _from_number converts a stored number to a value, and returns false if the number is unknown. */
#define TS_COORD__DECLARE(type, TABLE, count)                                                                \
    _Static_assert((count) == 0 TABLE(TS_COORD__ONE), "as many as the specification has: " #type);           \
    _Static_assert((1U << (count)) - 1 == (0 TABLE(TS_COORD__BIT)), "numbers from 0 on: " #type);            \
    const char *type##_name(enum type value);                                                                \
    static inline bool type##_from_number(uint8_t number, enum type *ret_value) {                            \
        if (number >= (count))                                                                               \
            return false;                                                                                    \
        *ret_value = (enum type)number;                                                                      \
        return true;                                                                                         \
    }
TS_COORD_ENUMS(TS_COORD__DECLARE)
#undef TS_COORD__DECLARE

/* Finds the value with this name; returns false if no value has it. */
#define TS_COORD__DECLARE(type, TABLE, count)                                                                \
    bool type##_from_name(struct ts_bytes name, enum type *ret_value);
TS_COORD_PUBLIC_ENUMS(TS_COORD__DECLARE)
#undef TS_COORD__DECLARE

static inline bool ts_shard_status_is_terminal(enum ts_shard_status status) {
    return status != TS_SHARD_ACTIVE;
}

static inline bool ts_run_status_is_terminal(enum ts_run_status status) {
    return status != TS_RUN_INITIALIZING && status != TS_RUN_ACTIVE;
}

#endif
