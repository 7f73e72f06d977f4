/* Names, conversions and classes of errors. The names of variants and the conversions are made from tables
 * (error.h). */
#include "coord/core/error.h"

#include "base/assert.h"

#define NAMED(prefix, suffix, name)                                                                          \
    case TS_##prefix##_##suffix:                                                                             \
        return name;

const char *ts_split_validation_error_name(enum ts_split_validation_error error) {
    switch (error) {
    case TS_SPLIT_FAULT_OK:
        return "Ok";
        TS_SPLIT_VALIDATION_ERRORS(NAMED)
    }
    ts_unreachable("every split error has a name");
}

const char *ts_manifest_validation_error_name(enum ts_manifest_validation_error error) {
    switch (error) {
    case TS_MANIFEST_FAULT_OK:
        return "Ok";
        TS_MANIFEST_VALIDATION_ERRORS(NAMED)
    }
    ts_unreachable("every manifest error has a name");
}

const char *ts_run_config_error_name(enum ts_run_config_error error) {
    switch (error) {
    case TS_RUN_CONFIG_FAULT_OK:
        return "Ok";
        TS_RUN_CONFIG_ERRORS(NAMED)
    }
    ts_unreachable("every configuration error has a name");
}

const char *ts_error_variant_name(enum ts_error_variant variant) {
#define COORD_NAME(suffix, name, renew, checkpoint, complete, park, split, release, write)                   \
    case TS_VARIANT_##suffix:                                                                                \
        return name;
#define OTHER_NAME(suffix, name)                                                                             \
    case TS_VARIANT_##suffix:                                                                                \
        return name;
    switch (variant) {
    case TS_VARIANT_NONE:
        return "Ok";
        TS_COORD_ERRORS(COORD_NAME)
        TS_OTHER_VARIANTS(OTHER_NAME)
    case TS_ERROR__VARIANT_END:
        break;
    }
    ts_unreachable("every variant has a name");
}

/*
 * Variants. A switch must name every member of its enum, so a conversion that forgets one does not compile.
 */
#define VARIANT(op, prefix, suffix)                                                                          \
    case TS_##prefix##_##suffix:                                                                             \
        return TS_VARIANT_##suffix;
#define VARIANT_IF_YES(prefix, suffix, column) TS_ERROR__##column(VARIANT(, prefix, suffix))
#define OK_VARIANT(prefix)                                                                                   \
    case TS_##prefix##_OK:                                                                                   \
        return TS_VARIANT_NONE;

#define COORD_ROW(suffix, name, renew, checkpoint, complete, park, split, release, write)                    \
    VARIANT(, COORD, suffix)
#define RENEW_ROW(suffix, name, renew, checkpoint, complete, park, split, release, write)                    \
    VARIANT_IF_YES(RENEW, suffix, renew)
#define CHECKPOINT_ROW(suffix, name, renew, checkpoint, complete, park, split, release, write)               \
    VARIANT_IF_YES(CHECKPOINT, suffix, checkpoint)
#define COMPLETE_ROW(suffix, name, renew, checkpoint, complete, park, split, release, write)                 \
    VARIANT_IF_YES(COMPLETE, suffix, complete)
#define PARK_ROW(suffix, name, renew, checkpoint, complete, park, split, release, write)                     \
    VARIANT_IF_YES(PARK, suffix, park)
#define SPLIT_ROW(suffix, name, renew, checkpoint, complete, park, split, release, write)                    \
    VARIANT_IF_YES(SPLIT, suffix, split)
#define RELEASE_ROW(suffix, name, renew, checkpoint, complete, park, split, release, write)                  \
    VARIANT_IF_YES(RELEASE, suffix, release)
#define WRITE_ROW(suffix, name, renew, checkpoint, complete, park, split, release, write)                    \
    VARIANT_IF_YES(WRITE, suffix, write)
#define OWN_ROW(prefix, suffix) VARIANT(, prefix, suffix)

#define DEFINE_VARIANT(op, PREFIX, ...)                                                                      \
    enum ts_error_variant ts_##op##_error_variant(enum ts_##op##_error error) {                              \
        switch (error) {                                                                                     \
            OK_VARIANT(PREFIX)                                                                               \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
        ts_unreachable("every error of " #op " is a variant");                                               \
    }

DEFINE_VARIANT(coord, COORD, TS_COORD_ERRORS(COORD_ROW))
DEFINE_VARIANT(renew, RENEW, TS_COORD_ERRORS(RENEW_ROW) OWN_ROW(RENEW, BACKEND_ERROR))
DEFINE_VARIANT(checkpoint, CHECKPOINT,
               TS_COORD_ERRORS(CHECKPOINT_ROW) OWN_ROW(CHECKPOINT, RESOURCE_EXHAUSTED)
                   OWN_ROW(CHECKPOINT, BACKEND_ERROR))
DEFINE_VARIANT(complete, COMPLETE,
               TS_COORD_ERRORS(COMPLETE_ROW) OWN_ROW(COMPLETE, RESOURCE_EXHAUSTED)
                   OWN_ROW(COMPLETE, BACKEND_ERROR))
DEFINE_VARIANT(park, PARK, TS_COORD_ERRORS(PARK_ROW) OWN_ROW(PARK, BACKEND_ERROR))
DEFINE_VARIANT(split, SPLIT,
               TS_COORD_ERRORS(SPLIT_ROW) OWN_ROW(SPLIT, RESOURCE_EXHAUSTED) OWN_ROW(SPLIT, BACKEND_ERROR))
DEFINE_VARIANT(release, RELEASE, TS_COORD_ERRORS(RELEASE_ROW) OWN_ROW(RELEASE, BACKEND_ERROR))
DEFINE_VARIANT(write, WRITE, TS_COORD_ERRORS(WRITE_ROW) OWN_ROW(WRITE, BACKEND_ERROR))
DEFINE_VARIANT(acquire, ACQUIRE, TS_ACQUIRE_ERRORS(OWN_ROW))
DEFINE_VARIANT(create_run, CREATE_RUN, TS_CREATE_RUN_ERRORS(OWN_ROW))
DEFINE_VARIANT(register_shards, REGISTER_SHARDS, TS_REGISTER_SHARDS_ERRORS(OWN_ROW))
DEFINE_VARIANT(get_run, GET_RUN, TS_GET_RUN_ERRORS(OWN_ROW))
DEFINE_VARIANT(get_shard, GET_SHARD, TS_GET_SHARD_ERRORS(OWN_ROW))
DEFINE_VARIANT(run_transition, RUN_TRANSITION, TS_RUN_TRANSITION_ERRORS(OWN_ROW))
DEFINE_VARIANT(delete_run, DELETE_RUN, TS_DELETE_RUN_ERRORS(OWN_ROW))
DEFINE_VARIANT(unpark, UNPARK, TS_UNPARK_ERRORS(OWN_ROW))
DEFINE_VARIANT(claim, CLAIM, TS_CLAIM_ERRORS(OWN_ROW))

/*
 * Converts a shared code: YES returns the operation's own code, NO stops the process.
 */
#define PASS_YES(op, PREFIX, suffix) return TS_##PREFIX##_##suffix
#define PASS_NO(op, PREFIX, suffix)  ts_unreachable(op " does not admit " #suffix)
#define PASS(op, PREFIX, suffix, column)                                                                     \
    case TS_COORD_##suffix:                                                                                  \
        PASS_##column(op, PREFIX, suffix);

#define RENEW_PASS(suffix, name, renew, checkpoint, complete, park, split, release, write)                   \
    PASS("renew", RENEW, suffix, renew)
#define CHECKPOINT_PASS(suffix, name, renew, checkpoint, complete, park, split, release, write)              \
    PASS("checkpoint", CHECKPOINT, suffix, checkpoint)
#define COMPLETE_PASS(suffix, name, renew, checkpoint, complete, park, split, release, write)                \
    PASS("complete", COMPLETE, suffix, complete)
#define PARK_PASS(suffix, name, renew, checkpoint, complete, park, split, release, write)                    \
    PASS("park", PARK, suffix, park)
#define SPLIT_PASS(suffix, name, renew, checkpoint, complete, park, split, release, write)                   \
    PASS("split", SPLIT, suffix, split)
#define RELEASE_PASS(suffix, name, renew, checkpoint, complete, park, split, release, write)                 \
    PASS("release", RELEASE, suffix, release)
#define WRITE_PASS(suffix, name, renew, checkpoint, complete, park, split, release, write)                   \
    PASS("write", WRITE, suffix, write)

#define DEFINE_NARROWING(op, PREFIX)                                                                         \
    enum ts_##op##_error ts_##op##_error_from_coord(enum ts_coord_error error) {                             \
        switch (error) {                                                                                     \
        case TS_COORD_OK:                                                                                    \
            return TS_##PREFIX##_OK;                                                                         \
            TS_COORD_ERRORS(PREFIX##_PASS)                                                                   \
        }                                                                                                    \
        ts_unreachable("every shared code is routed");                                                       \
    }

DEFINE_NARROWING(renew, RENEW)
DEFINE_NARROWING(checkpoint, CHECKPOINT)
DEFINE_NARROWING(complete, COMPLETE)
DEFINE_NARROWING(park, PARK)
DEFINE_NARROWING(split, SPLIT)
DEFINE_NARROWING(release, RELEASE)
DEFINE_NARROWING(write, WRITE)

#define DEFINE_OF(op, PREFIX, last, count)                                                                   \
    enum ts_##op##_error ts_##op##_error_of(enum ts_error_variant variant) {                                 \
        for (int i = 0; i < (int)(last); i++)                                                                \
            if (ts_##op##_error_variant((enum ts_##op##_error)i) == variant)                                 \
                return (enum ts_##op##_error)i;                                                              \
        return last;                                                                                         \
    }
TS_OPERATION_ERROR_ENUMS(DEFINE_OF)

const char *ts_infra_kind_name(enum ts_infra_kind kind) {
    switch (kind) {
    case TS_INFRA_RETRYABLE:
        return "retryable";
    case TS_INFRA_UNKNOWN:
        return "unknown";
    case TS_INFRA_PERMANENT:
        return "permanent";
    case TS_INFRA_DAMAGED:
        return "damaged";
    }
    ts_unreachable("every kind has a name");
}

static enum ts_coord_class class_of_infra(enum ts_infra_kind kind) {
    switch (kind) {
    case TS_INFRA_RETRYABLE:
    case TS_INFRA_UNKNOWN:
        return TS_COORD_CLASS_RETRYABLE;
    case TS_INFRA_PERMANENT:
        return TS_COORD_CLASS_FATAL;
    case TS_INFRA_DAMAGED:
        return TS_COORD_CLASS_ESCALATE;
    }
    ts_unreachable("every kind of infrastructure error has a class");
}

/* Errors nest at most once: an error that contains another error is never itself contained. */
static enum ts_coord_class class_of_nested(const struct ts_coord_detail *detail) {
    ts_assert(detail->nested != TS_VARIANT_REGISTER_SHARDS_FAILED &&
              detail->nested != TS_VARIANT_GET_RUN_FAILED);
    return ts_error_class_of(detail->nested, detail);
}

enum ts_coord_class ts_error_class_of(enum ts_error_variant variant, const struct ts_coord_detail *detail) {
    switch (variant) {
    case TS_VARIANT_NONE:
        return TS_COORD_CLASS_NONE;
    case TS_VARIANT_ALREADY_LEASED:
    case TS_VARIANT_LEASE_EXPIRED:
    case TS_VARIANT_RESOURCE_EXHAUSTED:
    case TS_VARIANT_NONE_AVAILABLE:
    case TS_VARIANT_THROTTLED:
    case TS_VARIANT_SHARD_LIMIT_EXCEEDED:
        return TS_COORD_CLASS_RETRYABLE;
    case TS_VARIANT_STALE_FENCE:
    case TS_VARIANT_SHARD_TERMINAL:
    case TS_VARIANT_OP_ID_CONFLICT:
    case TS_VARIANT_CURSOR_REGRESSION:
    case TS_VARIANT_CURSOR_OUT_OF_BOUNDS:
    case TS_VARIANT_CURSOR_KEY_TOO_LARGE:
    case TS_VARIANT_CURSOR_TOKEN_TOO_LARGE:
    case TS_VARIANT_SPLIT_INVALID:
    case TS_VARIANT_CHECKPOINT_MISSING_KEY:
    case TS_VARIANT_INVALID_CONFIG:
    case TS_VARIANT_RUN_ALREADY_EXISTS:
    case TS_VARIANT_CONFIG_MISMATCH:
    case TS_VARIANT_WRONG_STATUS:
    case TS_VARIANT_MANIFEST_INVALID:
    case TS_VARIANT_RUN_TERMINAL:
    case TS_VARIANT_NOT_PARKED:
        return TS_COORD_CLASS_FATAL;
    case TS_VARIANT_TENANT_MISMATCH:
    case TS_VARIANT_SHARD_NOT_FOUND:
    case TS_VARIANT_RUN_NOT_FOUND:
        return TS_COORD_CLASS_ESCALATE;
    case TS_VARIANT_BACKEND_ERROR:
        return class_of_infra(detail->infra.kind);
    case TS_VARIANT_REGISTER_SHARDS_FAILED:
    case TS_VARIANT_GET_RUN_FAILED:
        return class_of_nested(detail);
    case TS_ERROR__VARIANT_END:
        break;
    }
    ts_unreachable("every variant has a class");
}
