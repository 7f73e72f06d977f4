/*
 * Each operation has its own error enum. So an operation can return only its own errors, and a caller handles
 * no others. `OK` is 0 in each enum, and does not count as a variant.
 *
 *     validation         -> enum ts_coord_error -> ts_<op>_error_from_coord -> enum ts_<op>_error
 *     any of the enums   -> ts_<op>_error_variant -> enum ts_error_variant -> name, class, texts
 *
 * The tables and enums are public: turnstone/coord_types.h. TS_COORD_ERRORS is the routing matrix: one row
 * for each shared code, one column for each operation under a lease. A new row that does not say YES or NO
 * for each of these operations does not compile. YES adds the code to the operation's enum and to its
 * conversion; the counts below must be changed, too. Mixing the enums does not compile either
 * (-Wenum-conversion).
 *
 * Details are in struct ts_coord_detail, which the caller supplies. Its fields have a meaning only after a
 * failure. The struct contains more than people may see: texts for people and logs come only from
 * ts_error_debug, ts_error_display and ts_error_fields, which never show key bytes, owners, payload hashes or
 * a tenant other than the caller's.
 */
#ifndef TS_COORD_CORE_ERROR_H
#define TS_COORD_CORE_ERROR_H

#include "base/bytes.h"
#include "coord/core/ids.h"
#include "turnstone/coord_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a split, a manifest or a configuration is not valid. X(PREFIX, SUFFIX, name) */
#define TS_SPLIT_VALIDATION_ERRORS(X)                                                                        \
    X(SPLIT_FAULT, NO_CHILDREN, "NoChildren")                                                                \
    X(SPLIT_FAULT, SINGLE_CHILD, "SingleChild")                                                              \
    X(SPLIT_FAULT, START_MISMATCH, "StartMismatch")                                                          \
    X(SPLIT_FAULT, END_MISMATCH, "EndMismatch")                                                              \
    X(SPLIT_FAULT, BOUNDARY_MISMATCH, "BoundaryMismatch")                                                    \
    X(SPLIT_FAULT, INVERTED_CHILD, "InvertedChild")                                                          \
    X(SPLIT_FAULT, OVERLAPPING_CHILD, "OverlappingChild")                                                    \
    X(SPLIT_FAULT, PARENT_CURSOR_OUT_OF_BOUNDS, "ParentCursorOutOfBounds")                                   \
    X(SPLIT_FAULT, SPAWN_LIMIT_EXCEEDED, "SpawnLimitExceeded")                                               \
    X(SPLIT_FAULT, SHARD_LIMIT_EXCEEDED, "ShardLimitExceeded")                                               \
    X(SPLIT_FAULT, DERIVED_ID_COLLISION, "DerivedIdCollision")                                               \
    X(SPLIT_FAULT, INVALID_CHILD_SPEC, "InvalidChildSpec")

#define TS_MANIFEST_VALIDATION_ERRORS(X)                                                                     \
    X(MANIFEST_FAULT, EMPTY, "Empty")                                                                        \
    X(MANIFEST_FAULT, DUPLICATE_IDS, "DuplicateIds")                                                         \
    X(MANIFEST_FAULT, OVERLAPPING_RANGES, "OverlappingRanges")                                               \
    X(MANIFEST_FAULT, INVALID_SPEC, "InvalidSpec")                                                           \
    X(MANIFEST_FAULT, TOO_MANY_SHARDS, "TooManyShards")                                                      \
    X(MANIFEST_FAULT, CURSOR_OUT_OF_BOUNDS, "CursorOutOfBounds")                                             \
    X(MANIFEST_FAULT, CURSOR_KEY_TOO_LARGE, "CursorKeyTooLarge")                                             \
    X(MANIFEST_FAULT, UNBOUNDED_RANGE, "UnboundedRange")

#define TS_RUN_CONFIG_ERRORS(X)                                                                              \
    X(RUN_CONFIG_FAULT, LEASE_DURATION, "LeaseDurationOutOfRange")                                           \
    X(RUN_CONFIG_FAULT, ATTEMPTS, "AttemptsOutOfRange")                                                      \
    X(RUN_CONFIG_FAULT, COOLDOWN, "CooldownOutOfRange")                                                      \
    X(RUN_CONFIG_FAULT, CURSOR_SEMANTICS, "CursorSemanticsOutOfRange")                                       \
    X(RUN_CONFIG_FAULT, SHARD_MAX, "ShardMaxOutOfRange")

#define TS_ERROR__NAMED_MEMBER(prefix, suffix, name) TS_##prefix##_##suffix,
enum ts_split_validation_error { TS_SPLIT_FAULT_OK, TS_SPLIT_VALIDATION_ERRORS(TS_ERROR__NAMED_MEMBER) };
enum ts_manifest_validation_error {
    TS_MANIFEST_FAULT_OK,
    TS_MANIFEST_VALIDATION_ERRORS(TS_ERROR__NAMED_MEMBER)
};
enum ts_run_config_error { TS_RUN_CONFIG_FAULT_OK, TS_RUN_CONFIG_ERRORS(TS_ERROR__NAMED_MEMBER) };

const char *ts_split_validation_error_name(enum ts_split_validation_error error);
const char *ts_manifest_validation_error_name(enum ts_manifest_validation_error error);
const char *ts_run_config_error_name(enum ts_run_config_error error);

const char *ts_infra_kind_name(enum ts_infra_kind kind); /* "retryable", … */

struct ts_infra_error {
    enum ts_infra_kind kind;
    char text[240]; /* one line for people; the store never puts keys, values or passwords in it */
};

/* The lengths of the keys of CursorOutOfBounds. The keys themselves are not kept. */
struct ts_cursor_out_of_bounds_detail {
    size_t last_key;
    size_t spec_start;
    size_t spec_end;
};

struct ts_optional_len {
    bool is_some;
    size_t len;
};

struct ts_limit_detail {
    uint64_t current;
    uint64_t additional;
    uint64_t max;
    enum ts_limit_scope scope;
};

struct ts_split_detail {
    enum ts_split_validation_error error;
    size_t child;                 /* index of the child that caused the error, if a child did */
    struct ts_limit_detail limit; /* SPAWN_LIMIT_EXCEEDED (without scope), SHARD_LIMIT_EXCEEDED */
};

struct ts_manifest_detail {
    enum ts_manifest_validation_error error;
    size_t entry; /* index of the entry that caused the error, if an entry did */
    size_t other; /* DUPLICATE_IDS, OVERLAPPING_RANGES, UNBOUNDED_RANGE: index of the conflicting entry */
    struct ts_limit_detail limit; /* TOO_MANY_SHARDS (without scope) */
};

struct ts_run_config_detail {
    enum ts_run_config_error error;
    uint64_t value;
    uint64_t min;
    uint64_t max;
};

/* Each error sets only the fields that it shows (fields_of() in error_text.c); do not read the other
 * fields. */
struct ts_coord_detail {
    struct ts_shard_key shard;
    struct ts_tenant_id expected_tenant; /* the caller's own tenant */
    struct ts_fence_epoch presented;
    struct ts_fence_epoch current;
    /* StaleFence: why the fence is stale. is_unparked: the shard was unparked. is_released: its lease was
     * released. In both cases nobody has acquired the shard since. */
    bool is_unparked, is_released;
    struct ts_logical_time deadline; /* LeaseExpired, AlreadyLeased; NoneAvailable if has_deadline */
    struct ts_logical_time now;
    struct ts_logical_time retry_after;
    bool has_deadline;
    uint64_t other_pins; /* NoneAvailable: number of runs whose pin differs from the worker's */
    enum ts_shard_status shard_status;
    enum ts_run_status run_status;
    bool has_target;
    enum ts_run_status target_status;
    bool is_other_list; /* ConfigMismatch: the run has announced another list of shards */
    struct ts_op_id op_id;
    struct ts_worker_id current_owner; /* never shown */
    struct ts_optional_len old_key;
    struct ts_optional_len new_key;
    struct ts_cursor_out_of_bounds_detail out_of_bounds;
    size_t size;
    size_t max;
    struct ts_limit_detail limit;
    struct ts_split_detail split;
    struct ts_manifest_detail manifest;
    struct ts_run_config_detail config;
    const char *resource;         /* a string literal */
    struct ts_infra_error infra;  /* BackendError; for ResourceExhausted: the store's message, if any */
    enum ts_error_variant nested; /* RegisterShardsFailed, GetRunFailed */
    struct {
        struct ts_payload_hash expected_hash; /* 0 if the log does not have the entry */
        struct ts_payload_hash actual_hash;
    } detail__private; /* OpIdConflict; for tests of this layer, never for callers */
};

/* Returns the name of the variant in the specification, such as "ShardNotFound"; "Ok" for NONE. */
const char *ts_error_variant_name(enum ts_error_variant variant);

enum ts_coord_class ts_error_class_of(enum ts_error_variant variant, const struct ts_coord_detail *detail);

/* Both functions write one line and, like snprintf, return the length of the whole text. Debug: "StaleFence {
 * presented: 3, current: 4 }". Display: "no shard is available (earliest_deadline None)". */
size_t ts_error_debug(enum ts_error_variant variant, const struct ts_coord_detail *detail, char *ret_text,
                      size_t size);
size_t ts_error_display(enum ts_error_variant variant, const struct ts_coord_detail *detail, char *ret_text,
                        size_t size);

/* The fields that may be shown, for other output formats such as JSON. */
enum ts_error_field_kind {
    TS_FIELD_NUMBER,
    TS_FIELD_NAME,     /* text: a name that this layer defines */
    TS_FIELD_TEXT,     /* text: any other text, escaped */
    TS_FIELD_REDACTED, /* must not be shown at all */
    TS_FIELD_LEN,      /* number: the length of bytes that are not shown */
    TS_FIELD_NONE,     /* an absent optional value */
    TS_FIELD_SOME_LEN, /* a present optional value, shown as the length in number */
    TS_FIELD_SOME,     /* a present optional number */
    TS_FIELD_VARIANT,  /* text: a nested variant, whose own fields follow */
};

#define TS_ERROR_FIELDS_MAX 8
#define TS_ERROR_FIELD_TEXT 256

struct ts_error_field {
    const char *name;
    enum ts_error_field_kind kind;
    uint64_t number;
    char text[TS_ERROR_FIELD_TEXT];
};

/* Returns the store's own message, which names the store and the fix, if the variant is ResourceExhausted.
 * ResourceExhausted has no field for this message. Returns "" for other variants. */
const char *ts_error_cause(enum ts_error_variant variant, const struct ts_coord_detail *detail);

/* Returns the number of fields. */
size_t ts_error_fields(enum ts_error_variant variant, const struct ts_coord_detail *detail,
                       struct ts_error_field ret_fields[static TS_ERROR_FIELDS_MAX]);

/* Every error enum: Y(name, PREFIX, last member, number of variants in the specification). get_shard,
 * delete_run, release and write are not in the specification. */
#define TS_ERROR_ENUMS(Y)                                                                                    \
    Y(coord, COORD, TS_COORD_CHECKPOINT_MISSING_KEY, 12)                                                     \
    TS_OPERATION_ERROR_ENUMS(Y)

/* The enums of operations. The last member is always BackendError. */
#define TS_OPERATION_ERROR_ENUMS(Y)                                                                          \
    Y(acquire, ACQUIRE, TS_ACQUIRE_BACKEND_ERROR, 5)                                                         \
    Y(renew, RENEW, TS_RENEW_BACKEND_ERROR, 6)                                                               \
    Y(checkpoint, CHECKPOINT, TS_CHECKPOINT_BACKEND_ERROR, 13)                                               \
    Y(complete, COMPLETE, TS_COMPLETE_BACKEND_ERROR, 13)                                                     \
    Y(park, PARK, TS_PARK_BACKEND_ERROR, 7)                                                                  \
    Y(split, SPLIT, TS_SPLIT_BACKEND_ERROR, 9)                                                               \
    Y(release, RELEASE, TS_RELEASE_BACKEND_ERROR, 7)                                                         \
    Y(write, WRITE, TS_WRITE_BACKEND_ERROR, 6)                                                               \
    Y(create_run, CREATE_RUN, TS_CREATE_RUN_BACKEND_ERROR, 6)                                                \
    Y(register_shards, REGISTER_SHARDS, TS_REGISTER_SHARDS_BACKEND_ERROR, 8)                                 \
    Y(get_run, GET_RUN, TS_GET_RUN_BACKEND_ERROR, 3)                                                         \
    Y(get_shard, GET_SHARD, TS_GET_SHARD_BACKEND_ERROR, 3)                                                   \
    Y(run_transition, RUN_TRANSITION, TS_RUN_TRANSITION_BACKEND_ERROR, 6)                                    \
    Y(delete_run, DELETE_RUN, TS_DELETE_RUN_BACKEND_ERROR, 3)                                                \
    Y(unpark, UNPARK, TS_UNPARK_BACKEND_ERROR, 6)                                                            \
    Y(claim, CLAIM, TS_CLAIM_BACKEND_ERROR, 5)

#define TS_ERROR__DECLARE(op, PREFIX, last, count)                                                           \
    _Static_assert((int)(last) == (count), "as many variants as the specification has: " #op);               \
    enum ts_error_variant ts_##op##_error_variant(enum ts_##op##_error error);                               \
    static inline const char *ts_##op##_error_name(enum ts_##op##_error error) {                             \
        return ts_error_variant_name(ts_##op##_error_variant(error));                                        \
    }                                                                                                        \
    static inline enum ts_coord_class ts_##op##_error_class(enum ts_##op##_error error,                      \
                                                            const struct ts_coord_detail *detail) {          \
        return ts_error_class_of(ts_##op##_error_variant(error), detail);                                    \
    }
TS_ERROR_ENUMS(TS_ERROR__DECLARE)
#undef TS_ERROR__DECLARE

_Static_assert(TS_SPLIT_FAULT_INVALID_CHILD_SPEC == 12, "as many as the specification has");
_Static_assert(TS_MANIFEST_FAULT_UNBOUNDED_RANGE == 8, "as many as the specification has");
_Static_assert(TS_RUN_CONFIG_FAULT_SHARD_MAX == 5, "one for each field");

/* Converts the shared codes to an operation's own codes. If the operation does not have the code, the process
 * stops. */
enum ts_renew_error ts_renew_error_from_coord(enum ts_coord_error error);
enum ts_checkpoint_error ts_checkpoint_error_from_coord(enum ts_coord_error error);
enum ts_complete_error ts_complete_error_from_coord(enum ts_coord_error error);
enum ts_park_error ts_park_error_from_coord(enum ts_coord_error error);
enum ts_split_error ts_split_error_from_coord(enum ts_coord_error error);
enum ts_release_error ts_release_error_from_coord(enum ts_coord_error error);
enum ts_write_error ts_write_error_from_coord(enum ts_coord_error error);

/* Both kinds of split return the same error enum. */
#define ts_split_replace_error  ts_split_error
#define ts_split_residual_error ts_split_error

/* Converts a variant to an error of an operation. The result is BackendError if the operation does not have
 * the variant. */
#define TS_ERROR__DECLARE_OF(op, PREFIX, last, count)                                                        \
    enum ts_##op##_error ts_##op##_error_of(enum ts_error_variant variant);
TS_OPERATION_ERROR_ENUMS(TS_ERROR__DECLARE_OF)
#undef TS_ERROR__DECLARE_OF

#endif
