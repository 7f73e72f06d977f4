#include "coord/core/error.h"

#include "support/cmocka.h"
#include "support/stops.h"

#include <string.h>

/* The table of section 2.3 of the specification. RELEASE and WRITE are not in the specification: release has
 * the errors of park, and write has the errors of renew. */
enum { RENEW, CHECKPOINT, COMPLETE, PARK, SPLIT, RELEASE, WRITE, OPERATIONS };
static const struct {
    enum ts_coord_error error;
    const char *name;
    const char *admitted; /* a character for each operation: y if the operation has this error */
} matrix[] = {
    {TS_COORD_SHARD_NOT_FOUND, "ShardNotFound", "yyyyyyy"},
    {TS_COORD_TENANT_MISMATCH, "TenantMismatch", "yyyyyyy"},
    {TS_COORD_STALE_FENCE, "StaleFence", "yyyyyyy"},
    {TS_COORD_LEASE_EXPIRED, "LeaseExpired", "yyyyyyy"},
    {TS_COORD_SHARD_TERMINAL, "ShardTerminal", "yyyyyyy"},
    {TS_COORD_OP_ID_CONFLICT, "OpIdConflict", "-yyyyy-"},
    {TS_COORD_CURSOR_REGRESSION, "CursorRegression", "-yy----"},
    {TS_COORD_CURSOR_OUT_OF_BOUNDS, "CursorOutOfBounds", "-yy----"},
    {TS_COORD_CURSOR_KEY_TOO_LARGE, "CursorKeyTooLarge", "-yy----"},
    {TS_COORD_CURSOR_TOKEN_TOO_LARGE, "CursorTokenTooLarge", "-yy----"},
    {TS_COORD_SPLIT_INVALID, "SplitInvalid", "----y--"},
    {TS_COORD_CHECKPOINT_MISSING_KEY, "CheckpointMissingKey", "-yy----"},
};

static const char *narrowed_name(int operation, enum ts_coord_error error) {
    switch (operation) {
    case RENEW:
        return ts_renew_error_name(ts_renew_error_from_coord(error));
    case CHECKPOINT:
        return ts_checkpoint_error_name(ts_checkpoint_error_from_coord(error));
    case COMPLETE:
        return ts_complete_error_name(ts_complete_error_from_coord(error));
    case PARK:
        return ts_park_error_name(ts_park_error_from_coord(error));
    case SPLIT:
        return ts_split_error_name(ts_split_error_from_coord(error));
    case RELEASE:
        return ts_release_error_name(ts_release_error_from_coord(error));
    default:
        return ts_write_error_name(ts_write_error_from_coord(error));
    }
}

static void codes_are_routed_as_the_matrix_says(void **state) {
    (void)state;
    assert_int_equal(sizeof matrix / sizeof matrix[0], 12);
    for (size_t i = 0; i < sizeof matrix / sizeof matrix[0]; i++) {
        assert_string_equal(ts_coord_error_name(matrix[i].error), matrix[i].name);
        for (int operation = 0; operation < OPERATIONS; operation++) {
            if (matrix[i].admitted[operation] == 'y')
                assert_string_equal(narrowed_name(operation, matrix[i].error), matrix[i].name);
            else
                assert_stops(" does not admit ", narrowed_name(operation, matrix[i].error));
        }
    }
    for (int operation = 0; operation < OPERATIONS; operation++)
        assert_string_equal(narrowed_name(operation, TS_COORD_OK), "Ok");
}

/* Expects these names for all variants of the operation's error, in the order of the specification. */
#define NAMES_OF(op, ...)                                                                                    \
    do {                                                                                                     \
        static const char *const names[] = {"Ok", __VA_ARGS__};                                              \
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)                                          \
            assert_string_equal(ts_##op##_error_name((enum ts_##op##_error)i), names[i]);                    \
        assert_stops("is a variant",                                                                         \
                     ts_##op##_error_name((enum ts_##op##_error)(sizeof names / sizeof names[0])));          \
    } while (0)

static void variants_of_operations_are_those_of_the_specification(void **state) {
    (void)state;
    NAMES_OF(acquire, "ShardNotFound", "TenantMismatch", "ShardTerminal", "AlreadyLeased", "BackendError");
    NAMES_OF(renew, "ShardNotFound", "TenantMismatch", "StaleFence", "LeaseExpired", "ShardTerminal",
             "BackendError");
    NAMES_OF(checkpoint, "ShardNotFound", "TenantMismatch", "StaleFence", "LeaseExpired", "ShardTerminal",
             "OpIdConflict", "CursorRegression", "CursorOutOfBounds", "CursorKeyTooLarge",
             "CursorTokenTooLarge", "CheckpointMissingKey", "ResourceExhausted", "BackendError");
    NAMES_OF(complete, "ShardNotFound", "TenantMismatch", "StaleFence", "LeaseExpired", "ShardTerminal",
             "OpIdConflict", "CursorRegression", "CursorOutOfBounds", "CursorKeyTooLarge",
             "CursorTokenTooLarge", "CheckpointMissingKey", "ResourceExhausted", "BackendError");
    NAMES_OF(park, "ShardNotFound", "TenantMismatch", "StaleFence", "LeaseExpired", "ShardTerminal",
             "OpIdConflict", "BackendError");
    NAMES_OF(release, "ShardNotFound", "TenantMismatch", "StaleFence", "LeaseExpired", "ShardTerminal",
             "OpIdConflict", "BackendError");
    NAMES_OF(write, "ShardNotFound", "TenantMismatch", "StaleFence", "LeaseExpired", "ShardTerminal",
             "BackendError");
    NAMES_OF(split, "ShardNotFound", "TenantMismatch", "StaleFence", "LeaseExpired", "ShardTerminal",
             "OpIdConflict", "SplitInvalid", "ResourceExhausted", "BackendError");
}

static void variants_of_runs_and_claims_are_those_of_the_specification(void **state) {
    (void)state;
    NAMES_OF(create_run, "InvalidConfig", "RunAlreadyExists", "RegisterShardsFailed", "GetRunFailed",
             "ConfigMismatch", "BackendError");
    NAMES_OF(register_shards, "RunNotFound", "TenantMismatch", "WrongStatus", "ManifestInvalid",
             "OpIdConflict", "ShardLimitExceeded", "ResourceExhausted", "BackendError");
    NAMES_OF(get_run, "RunNotFound", "TenantMismatch", "BackendError");
    NAMES_OF(run_transition, "RunNotFound", "TenantMismatch", "RunTerminal", "WrongStatus", "OpIdConflict",
             "BackendError");
    NAMES_OF(delete_run, "TenantMismatch", "WrongStatus", "BackendError");
    NAMES_OF(unpark, "ShardNotFound", "TenantMismatch", "RunTerminal", "NotParked", "OpIdConflict",
             "BackendError");
    NAMES_OF(claim, "NoneAvailable", "RunNotFound", "TenantMismatch", "Throttled", "BackendError");
}

static void claim_takes_over_what_get_run_says(void **state) {
    (void)state;
#define EXPECT_SAME(prefix, suffix)                                                                          \
    assert_int_equal(ts_claim_error_of(ts_get_run_error_variant(TS_##prefix##_##suffix)), TS_CLAIM_##suffix);
    TS_GET_RUN_ERRORS(EXPECT_SAME)
#undef EXPECT_SAME
    assert_int_equal(ts_claim_error_of(TS_VARIANT_NONE), TS_CLAIM_OK);
    /* A variant that an operation does not have becomes BACKEND_ERROR. Split has RESOURCE_EXHAUSTED, and park
     * does not. */
    assert_int_equal(ts_claim_error_of(TS_VARIANT_LEASE_EXPIRED), TS_CLAIM_BACKEND_ERROR);
    assert_int_equal(ts_park_error_of(TS_VARIANT_RESOURCE_EXHAUSTED), TS_PARK_BACKEND_ERROR);
    assert_int_equal(ts_split_error_of(TS_VARIANT_RESOURCE_EXHAUSTED), TS_SPLIT_RESOURCE_EXHAUSTED);
}

/* The classes are those of section 6 of the specification. Errors of runs have the classes of the table in
 * docs/coordination.md. */
static const struct {
    enum ts_error_variant variant;
    enum ts_coord_class expected;
} classes[] = {
    {TS_VARIANT_NONE, TS_COORD_CLASS_NONE},
    {TS_VARIANT_ALREADY_LEASED, TS_COORD_CLASS_RETRYABLE},
    {TS_VARIANT_LEASE_EXPIRED, TS_COORD_CLASS_RETRYABLE},
    {TS_VARIANT_RESOURCE_EXHAUSTED, TS_COORD_CLASS_RETRYABLE},
    {TS_VARIANT_NONE_AVAILABLE, TS_COORD_CLASS_RETRYABLE},
    {TS_VARIANT_THROTTLED, TS_COORD_CLASS_RETRYABLE},
    {TS_VARIANT_SHARD_LIMIT_EXCEEDED, TS_COORD_CLASS_RETRYABLE},
    {TS_VARIANT_STALE_FENCE, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_SHARD_TERMINAL, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_OP_ID_CONFLICT, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_CURSOR_REGRESSION, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_CURSOR_OUT_OF_BOUNDS, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_CURSOR_KEY_TOO_LARGE, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_CURSOR_TOKEN_TOO_LARGE, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_SPLIT_INVALID, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_CHECKPOINT_MISSING_KEY, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_INVALID_CONFIG, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_RUN_ALREADY_EXISTS, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_CONFIG_MISMATCH, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_WRONG_STATUS, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_MANIFEST_INVALID, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_RUN_TERMINAL, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_NOT_PARKED, TS_COORD_CLASS_FATAL},
    {TS_VARIANT_TENANT_MISMATCH, TS_COORD_CLASS_ESCALATE},
    {TS_VARIANT_SHARD_NOT_FOUND, TS_COORD_CLASS_ESCALATE},
    {TS_VARIANT_RUN_NOT_FOUND, TS_COORD_CLASS_ESCALATE},
};

static void every_variant_has_its_class(void **state) {
    (void)state;
    static struct ts_coord_detail detail;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        assert_int_equal(ts_error_class_of(classes[i].variant, &detail), classes[i].expected);
    /* The classes of three more variants depend on the detail: BACKEND_ERROR, REGISTER_SHARDS_FAILED,
     * GET_RUN_FAILED. */
    assert_int_equal(sizeof classes / sizeof classes[0] + 3, TS_ERROR__VARIANT_END);
}

static void an_error_of_the_store_is_as_the_store_says(void **state) {
    (void)state;
    static struct ts_coord_detail detail;
    static const enum ts_coord_class expected[] = {
        [TS_INFRA_RETRYABLE] = TS_COORD_CLASS_RETRYABLE,
        [TS_INFRA_UNKNOWN] = TS_COORD_CLASS_RETRYABLE,
        [TS_INFRA_PERMANENT] = TS_COORD_CLASS_FATAL,
        [TS_INFRA_DAMAGED] = TS_COORD_CLASS_ESCALATE,
    };
    for (int kind = TS_INFRA_RETRYABLE; kind <= TS_INFRA_DAMAGED; kind++) {
        detail.infra.kind = (enum ts_infra_kind)kind;
        assert_int_equal(ts_checkpoint_error_class(TS_CHECKPOINT_BACKEND_ERROR, &detail), expected[kind]);
        assert_int_equal(ts_claim_error_class(TS_CLAIM_BACKEND_ERROR, &detail), expected[kind]);
    }
}

static void a_failure_inside_a_failure_decides_the_class(void **state) {
    (void)state;
    static struct ts_coord_detail detail;
    detail.nested = TS_VARIANT_SHARD_LIMIT_EXCEEDED;
    assert_int_equal(ts_create_run_error_class(TS_CREATE_RUN_REGISTER_SHARDS_FAILED, &detail),
                     TS_COORD_CLASS_RETRYABLE);
    detail.nested = TS_VARIANT_TENANT_MISMATCH;
    assert_int_equal(ts_create_run_error_class(TS_CREATE_RUN_GET_RUN_FAILED, &detail),
                     TS_COORD_CLASS_ESCALATE);
    detail.nested = TS_VARIANT_GET_RUN_FAILED;
    assert_stops("TS_VARIANT_GET_RUN_FAILED", ts_error_class_of(TS_VARIANT_GET_RUN_FAILED, &detail));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_routed_as_the_matrix_says),
        cmocka_unit_test(variants_of_operations_are_those_of_the_specification),
        cmocka_unit_test(variants_of_runs_and_claims_are_those_of_the_specification),
        cmocka_unit_test(claim_takes_over_what_get_run_says),
        cmocka_unit_test(every_variant_has_its_class),
        cmocka_unit_test(an_error_of_the_store_is_as_the_store_says),
        cmocka_unit_test(a_failure_inside_a_failure_decides_the_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
