/*
 * Names, states and errors of coordination, for turnstone/coord.h.
 *
 * Each operation has its own error enum, made from the tables below, so that it can return only its own
 * errors. OK is 0 in each of them. Until 1.0 a later version may add members, so a switch over one of these
 * enums needs a default.
 */
#ifndef TURNSTONE_COORD_TYPES_H
#define TURNSTONE_COORD_TYPES_H

#include <stdint.h>

/* Each kind of id has its own type, so that ids cannot be mixed up. */
struct ts_run_id {
    uint64_t v;
};
struct ts_shard_id {
    uint64_t v;
};
struct ts_op_id {
    uint64_t v;
};

/* The fence of a shard: rises by one with every acquire and unpark; 0 if the shard was never leased. */
struct ts_fence_epoch {
    uint64_t v;
};

/* A pin is the id of something that all workers of a run must share, such as their detection rules.
 * Coordination only compares pins. All zeros: the run has no pin, or the worker presents no pin. */
#define TS_PIN_LEN 32
struct ts_pin {
    uint8_t b[TS_PIN_LEN];
};

/* Milliseconds of a store's clock. 0 means "no time"; a clock that shows 0 is broken. */
struct ts_logical_time {
    uint64_t ms;
};

/* ---- states ---- */

/* Numbers and names are stored: they never change. X(SUFFIX, number, name) */
#define TS_SHARD_STATUSES(X)                                                                                 \
    X(SHARD_ACTIVE, 0, "Active")                                                                             \
    X(SHARD_DONE, 1, "Done")                                                                                 \
    X(SHARD_SPLIT, 2, "Split")                                                                               \
    X(SHARD_PARKED, 3, "Parked")

#define TS_PARK_REASONS(X)                                                                                   \
    X(PARK_PERMISSION_DENIED, 0, "PermissionDenied")                                                         \
    X(PARK_NOT_FOUND, 1, "NotFound")                                                                         \
    X(PARK_POISONED, 2, "Poisoned")                                                                          \
    X(PARK_TOO_MANY_ERRORS, 3, "TooManyErrors")                                                              \
    X(PARK_OTHER, 4, "Other")

/* The blame for a lease that a worker releases before the work is done. SHARD counts the attempt; NOBODY does
 * not. */
#define TS_BLAMES(X)                                                                                         \
    X(BLAME_NOBODY, 0, "Nobody")                                                                             \
    X(BLAME_SHARD, 1, "Shard")

#define TS_RUN_STATUSES(X)                                                                                   \
    X(RUN_INITIALIZING, 0, "Initializing")                                                                   \
    X(RUN_ACTIVE, 1, "Active")                                                                               \
    X(RUN_DONE, 2, "Done")                                                                                   \
    X(RUN_FAILED, 3, "Failed")                                                                               \
    X(RUN_CANCELLED, 4, "Cancelled")

#define TS_COORD__MEMBER(suffix, number, name) TS_##suffix = (number),
enum ts_shard_status { TS_SHARD_STATUSES(TS_COORD__MEMBER) };
enum ts_park_reason { TS_PARK_REASONS(TS_COORD__MEMBER) };
enum ts_blame { TS_BLAMES(TS_COORD__MEMBER) };
enum ts_run_status { TS_RUN_STATUSES(TS_COORD__MEMBER) };

/* ---- errors ---- */

/* The errors that several operations share. The column of an operation says whether the operation can return
 * the error. X(SUFFIX, name, Renew, Checkpoint, Complete, Park, Split, Release, Write) */
#define TS_COORD_ERRORS(X)                                                                                   \
    X(SHARD_NOT_FOUND, "ShardNotFound", YES, YES, YES, YES, YES, YES, YES)                                   \
    X(TENANT_MISMATCH, "TenantMismatch", YES, YES, YES, YES, YES, YES, YES)                                  \
    X(STALE_FENCE, "StaleFence", YES, YES, YES, YES, YES, YES, YES)                                          \
    X(LEASE_EXPIRED, "LeaseExpired", YES, YES, YES, YES, YES, YES, YES)                                      \
    X(SHARD_TERMINAL, "ShardTerminal", YES, YES, YES, YES, YES, YES, YES)                                    \
    X(OP_ID_CONFLICT, "OpIdConflict", NO, YES, YES, YES, YES, YES, NO)                                       \
    X(CURSOR_REGRESSION, "CursorRegression", NO, YES, YES, NO, NO, NO, NO)                                   \
    X(CURSOR_OUT_OF_BOUNDS, "CursorOutOfBounds", NO, YES, YES, NO, NO, NO, NO)                               \
    X(CURSOR_KEY_TOO_LARGE, "CursorKeyTooLarge", NO, YES, YES, NO, NO, NO, NO)                               \
    X(CURSOR_TOKEN_TOO_LARGE, "CursorTokenTooLarge", NO, YES, YES, NO, NO, NO, NO)                           \
    X(SPLIT_INVALID, "SplitInvalid", NO, NO, NO, NO, YES, NO, NO)                                            \
    X(CHECKPOINT_MISSING_KEY, "CheckpointMissingKey", NO, YES, YES, NO, NO, NO, NO)

/* All other errors. The enums below say which operations can return them. X(SUFFIX, name) */
#define TS_OTHER_VARIANTS(X)                                                                                 \
    X(ALREADY_LEASED, "AlreadyLeased")                                                                       \
    X(RESOURCE_EXHAUSTED, "ResourceExhausted")                                                               \
    X(BACKEND_ERROR, "BackendError")                                                                         \
    X(INVALID_CONFIG, "InvalidConfig")                                                                       \
    X(RUN_ALREADY_EXISTS, "RunAlreadyExists")                                                                \
    X(REGISTER_SHARDS_FAILED, "RegisterShardsFailed")                                                        \
    X(GET_RUN_FAILED, "GetRunFailed")                                                                        \
    X(CONFIG_MISMATCH, "ConfigMismatch")                                                                     \
    X(RUN_NOT_FOUND, "RunNotFound")                                                                          \
    X(WRONG_STATUS, "WrongStatus")                                                                           \
    X(MANIFEST_INVALID, "ManifestInvalid")                                                                   \
    X(SHARD_LIMIT_EXCEEDED, "ShardLimitExceeded")                                                            \
    X(RUN_TERMINAL, "RunTerminal")                                                                           \
    X(NOT_PARKED, "NotParked")                                                                               \
    X(NONE_AVAILABLE, "NoneAvailable")                                                                       \
    X(THROTTLED, "Throttled")

/* The errors of the operations that have no column in the first table. X(PREFIX, SUFFIX) */
#define TS_ACQUIRE_ERRORS(X)                                                                                 \
    X(ACQUIRE, SHARD_NOT_FOUND)                                                                              \
    X(ACQUIRE, TENANT_MISMATCH)                                                                              \
    X(ACQUIRE, SHARD_TERMINAL)                                                                               \
    X(ACQUIRE, ALREADY_LEASED)                                                                               \
    X(ACQUIRE, BACKEND_ERROR)

#define TS_CREATE_RUN_ERRORS(X)                                                                              \
    X(CREATE_RUN, INVALID_CONFIG)                                                                            \
    X(CREATE_RUN, RUN_ALREADY_EXISTS)                                                                        \
    X(CREATE_RUN, REGISTER_SHARDS_FAILED)                                                                    \
    X(CREATE_RUN, GET_RUN_FAILED)                                                                            \
    X(CREATE_RUN, CONFIG_MISMATCH)                                                                           \
    X(CREATE_RUN, BACKEND_ERROR)

#define TS_REGISTER_SHARDS_ERRORS(X)                                                                         \
    X(REGISTER_SHARDS, RUN_NOT_FOUND)                                                                        \
    X(REGISTER_SHARDS, TENANT_MISMATCH)                                                                      \
    X(REGISTER_SHARDS, WRONG_STATUS)                                                                         \
    X(REGISTER_SHARDS, MANIFEST_INVALID)                                                                     \
    X(REGISTER_SHARDS, OP_ID_CONFLICT)                                                                       \
    X(REGISTER_SHARDS, SHARD_LIMIT_EXCEEDED)                                                                 \
    X(REGISTER_SHARDS, RESOURCE_EXHAUSTED)                                                                   \
    X(REGISTER_SHARDS, BACKEND_ERROR)

#define TS_GET_RUN_ERRORS(X)                                                                                 \
    X(GET_RUN, RUN_NOT_FOUND)                                                                                \
    X(GET_RUN, TENANT_MISMATCH)                                                                              \
    X(GET_RUN, BACKEND_ERROR)

#define TS_GET_SHARD_ERRORS(X)                                                                               \
    X(GET_SHARD, SHARD_NOT_FOUND)                                                                            \
    X(GET_SHARD, TENANT_MISMATCH)                                                                            \
    X(GET_SHARD, BACKEND_ERROR)

#define TS_RUN_TRANSITION_ERRORS(X)                                                                          \
    X(RUN_TRANSITION, RUN_NOT_FOUND)                                                                         \
    X(RUN_TRANSITION, TENANT_MISMATCH)                                                                       \
    X(RUN_TRANSITION, RUN_TERMINAL)                                                                          \
    X(RUN_TRANSITION, WRONG_STATUS)                                                                          \
    X(RUN_TRANSITION, OP_ID_CONFLICT)                                                                        \
    X(RUN_TRANSITION, BACKEND_ERROR)

#define TS_DELETE_RUN_ERRORS(X)                                                                              \
    X(DELETE_RUN, TENANT_MISMATCH)                                                                           \
    X(DELETE_RUN, WRONG_STATUS)                                                                              \
    X(DELETE_RUN, BACKEND_ERROR)

#define TS_UNPARK_ERRORS(X)                                                                                  \
    X(UNPARK, SHARD_NOT_FOUND)                                                                               \
    X(UNPARK, TENANT_MISMATCH)                                                                               \
    X(UNPARK, RUN_TERMINAL)                                                                                  \
    X(UNPARK, NOT_PARKED)                                                                                    \
    X(UNPARK, OP_ID_CONFLICT)                                                                                \
    X(UNPARK, BACKEND_ERROR)

#define TS_CLAIM_ERRORS(X)                                                                                   \
    X(CLAIM, NONE_AVAILABLE)                                                                                 \
    X(CLAIM, RUN_NOT_FOUND)                                                                                  \
    X(CLAIM, TENANT_MISMATCH)                                                                                \
    X(CLAIM, THROTTLED)                                                                                      \
    X(CLAIM, BACKEND_ERROR)

/* Every variant of every error. NONE means OK. */
#define TS_ERROR__COORD_VARIANT(suffix, ...)  TS_VARIANT_##suffix,
#define TS_ERROR__OTHER_VARIANT(suffix, name) TS_VARIANT_##suffix,
enum ts_error_variant {
    TS_VARIANT_NONE,
    TS_COORD_ERRORS(TS_ERROR__COORD_VARIANT) TS_OTHER_VARIANTS(TS_ERROR__OTHER_VARIANT) TS_ERROR__VARIANT_END
};
#undef TS_ERROR__COORD_VARIANT
#undef TS_ERROR__OTHER_VARIANT

/* The errors of each operation as an enum. A column of the table above is TS_ERROR__YES or TS_ERROR__NO. */
#define TS_ERROR__YES(...) __VA_ARGS__
#define TS_ERROR__NO(...)
#define TS_ERROR__COORD(suffix, name, renew, checkpoint, complete, park, split, release, write)              \
    TS_COORD_##suffix,
#define TS_ERROR__RENEW(suffix, name, renew, checkpoint, complete, park, split, release, write)              \
    TS_ERROR__##renew(TS_RENEW_##suffix, )
#define TS_ERROR__CHECKPOINT(suffix, name, renew, checkpoint, complete, park, split, release, write)         \
    TS_ERROR__##checkpoint(TS_CHECKPOINT_##suffix, )
#define TS_ERROR__COMPLETE(suffix, name, renew, checkpoint, complete, park, split, release, write)           \
    TS_ERROR__##complete(TS_COMPLETE_##suffix, )
#define TS_ERROR__PARK(suffix, name, renew, checkpoint, complete, park, split, release, write)               \
    TS_ERROR__##park(TS_PARK_##suffix, )
#define TS_ERROR__SPLIT(suffix, name, renew, checkpoint, complete, park, split, release, write)              \
    TS_ERROR__##split(TS_SPLIT_##suffix, )
#define TS_ERROR__RELEASE(suffix, name, renew, checkpoint, complete, park, split, release, write)            \
    TS_ERROR__##release(TS_RELEASE_##suffix, )
#define TS_ERROR__WRITE(suffix, name, renew, checkpoint, complete, park, split, release, write)              \
    TS_ERROR__##write(TS_WRITE_##suffix, )

/* OK is 0, so the last member of each enum is the number of its errors. */
enum ts_coord_error { TS_COORD_OK, TS_COORD_ERRORS(TS_ERROR__COORD) };
enum ts_renew_error { TS_RENEW_OK, TS_COORD_ERRORS(TS_ERROR__RENEW) TS_RENEW_BACKEND_ERROR };
enum ts_checkpoint_error {
    TS_CHECKPOINT_OK,
    TS_COORD_ERRORS(TS_ERROR__CHECKPOINT) TS_CHECKPOINT_RESOURCE_EXHAUSTED,
    TS_CHECKPOINT_BACKEND_ERROR
};
enum ts_complete_error {
    TS_COMPLETE_OK,
    TS_COORD_ERRORS(TS_ERROR__COMPLETE) TS_COMPLETE_RESOURCE_EXHAUSTED,
    TS_COMPLETE_BACKEND_ERROR
};
enum ts_park_error { TS_PARK_OK, TS_COORD_ERRORS(TS_ERROR__PARK) TS_PARK_BACKEND_ERROR };
enum ts_split_error {
    TS_SPLIT_OK,
    TS_COORD_ERRORS(TS_ERROR__SPLIT) TS_SPLIT_RESOURCE_EXHAUSTED,
    TS_SPLIT_BACKEND_ERROR
};
enum ts_write_error { TS_WRITE_OK, TS_COORD_ERRORS(TS_ERROR__WRITE) TS_WRITE_BACKEND_ERROR };
enum ts_release_error { TS_RELEASE_OK, TS_COORD_ERRORS(TS_ERROR__RELEASE) TS_RELEASE_BACKEND_ERROR };

#define TS_ERROR__MEMBER(prefix, suffix) TS_##prefix##_##suffix,
enum ts_acquire_error { TS_ACQUIRE_OK, TS_ACQUIRE_ERRORS(TS_ERROR__MEMBER) };
enum ts_create_run_error { TS_CREATE_RUN_OK, TS_CREATE_RUN_ERRORS(TS_ERROR__MEMBER) };
enum ts_register_shards_error { TS_REGISTER_SHARDS_OK, TS_REGISTER_SHARDS_ERRORS(TS_ERROR__MEMBER) };
enum ts_get_run_error { TS_GET_RUN_OK, TS_GET_RUN_ERRORS(TS_ERROR__MEMBER) };
enum ts_get_shard_error { TS_GET_SHARD_OK, TS_GET_SHARD_ERRORS(TS_ERROR__MEMBER) };
enum ts_run_transition_error { TS_RUN_TRANSITION_OK, TS_RUN_TRANSITION_ERRORS(TS_ERROR__MEMBER) };
enum ts_delete_run_error { TS_DELETE_RUN_OK, TS_DELETE_RUN_ERRORS(TS_ERROR__MEMBER) };
enum ts_unpark_error { TS_UNPARK_OK, TS_UNPARK_ERRORS(TS_ERROR__MEMBER) };
enum ts_claim_error { TS_CLAIM_OK, TS_CLAIM_ERRORS(TS_ERROR__MEMBER) };

/* The kinds of a BackendError, by the store's answer. */
enum ts_infra_kind {
    TS_INFRA_RETRYABLE, /* nothing was changed, and trying again may help */
    TS_INFRA_UNKNOWN,   /* the call may have been done; repeating the call with the same op id is safe */
    TS_INFRA_PERMANENT, /* nothing was changed, and trying again would not help */
    TS_INFRA_DAMAGED,   /* a stored record is damaged */
};

/* The recommended reaction to an error. */
enum ts_coord_class {
    TS_COORD_CLASS_NONE,      /* no error */
    TS_COORD_CLASS_RETRYABLE, /* back off, then try again; after LeaseExpired, acquire the shard first */
    TS_COORD_CLASS_FATAL,     /* stop the work on the shard; if the call has no shard, do not repeat it */
    TS_COORD_CLASS_ESCALATE,  /* a bug, a wrong configuration or damage: report it */
};

#endif
