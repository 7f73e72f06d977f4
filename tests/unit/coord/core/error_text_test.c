#include "coord/core/error.h"

#include "coord/core/event.h"
#include "world.h"

#include <inttypes.h>

static struct ts_coord_detail detail;
static char text[2048];

static int fresh(void **state) {
    (void)state;
    memset(&detail, 0, sizeof detail);
    return 0;
}

static void expect_debug(enum ts_error_variant variant, const char *expected) {
    assert_int_equal(ts_error_debug(variant, &detail, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
}

static void expect_display(enum ts_error_variant variant, const char *expected) {
    ts_error_display(variant, &detail, text, sizeof text);
    assert_string_equal(text, expected);
}

static void hashes_are_redacted_in_debug_and_left_out_of_display(void **state) {
    (void)state;
    detail.op_id.v = 5;
    detail.detail__private.expected_hash.v = 1234567;
    detail.detail__private.actual_hash.v = 7654321;
    expect_debug(TS_VARIANT_OP_ID_CONFLICT,
                 "OpIdConflict { op_id: 5, expected_hash: <redacted>, actual_hash: <redacted> }");
    expect_display(TS_VARIANT_OP_ID_CONFLICT,
                   "the operation id was used before with other parameters; use a new one (op_id 5)");
}

static void an_owner_is_redacted_in_both_forms(void **state) {
    (void)state;
    detail.current_owner = worker_named("worker-1");
    detail.deadline.ms = 900;
    expect_debug(TS_VARIANT_ALREADY_LEASED,
                 "AlreadyLeased { current_owner: <redacted>, lease_deadline: 900 }");
    expect_display(TS_VARIANT_ALREADY_LEASED, "the shard is leased; wait until the lease ends (current_owner "
                                              "<redacted>, lease_deadline 900)");
}

static void keys_are_shown_as_lengths(void **state) {
    (void)state;
    detail.old_key = (struct ts_optional_len){true, 5};
    detail.new_key = (struct ts_optional_len){true, 4};
    expect_debug(TS_VARIANT_CURSOR_REGRESSION,
                 "CursorRegression { old_key: Some([5 bytes]), new_key: Some([4 bytes]) }");
    detail.new_key.is_some = false;
    expect_display(TS_VARIANT_CURSOR_REGRESSION,
                   "the cursor would go back (old_key Some([5 bytes]), new_key None)");
    detail.out_of_bounds = (struct ts_cursor_out_of_bounds_detail){3, 1, 2};
    expect_debug(TS_VARIANT_CURSOR_OUT_OF_BOUNDS,
                 "CursorOutOfBounds { last_key: [3 bytes], spec_start: [1 bytes], spec_end: [2 bytes] }");
    expect_display(TS_VARIANT_CURSOR_OUT_OF_BOUNDS,
                   "the cursor is outside the shard's range (last_key [3 bytes], "
                   "spec_start [1 bytes], spec_end [2 bytes])");
}

static void only_the_callers_tenant_is_shown(void **state) {
    (void)state;
    detail.expected_tenant = tenant_named("acme\n");
    expect_debug(TS_VARIANT_TENANT_MISMATCH, "TenantMismatch { expected: \"acme\\x0a\" }");
    expect_display(TS_VARIANT_TENANT_MISMATCH,
                   "the record does not belong to this tenant (expected \"acme\\x0a\")");
}

static void plain_fields_are_shown(void **state) {
    (void)state;
    detail.presented.v = 3;
    detail.current.v = 4;
    expect_debug(TS_VARIANT_STALE_FENCE, "StaleFence { presented: 3, current: 4 }");
    detail.shard = the_shard;
    detail.shard_status = TS_SHARD_PARKED;
    expect_debug(TS_VARIANT_SHARD_TERMINAL, "ShardTerminal { run: 7, shard: 3, status: Parked }");
    detail.deadline.ms = 10;
    detail.now.ms = 11;
    expect_debug(TS_VARIANT_LEASE_EXPIRED, "LeaseExpired { deadline: 10, now: 11 }");
    expect_debug(TS_VARIANT_CHECKPOINT_MISSING_KEY, "CheckpointMissingKey");
    expect_display(TS_VARIANT_CHECKPOINT_MISSING_KEY, "a checkpoint needs a key");
    detail.run_status = TS_RUN_ACTIVE;
    detail.has_target = true;
    detail.target_status = TS_RUN_DONE;
    expect_debug(TS_VARIANT_WRONG_STATUS, "WrongStatus { status: Active, target: Done }");
    expect_debug(TS_VARIANT_NONE_AVAILABLE, "NoneAvailable { earliest_deadline: None }");
    detail.has_deadline = true;
    expect_debug(TS_VARIANT_NONE_AVAILABLE, "NoneAvailable { earliest_deadline: Some(10) }");
}

static void nested_errors_are_shown_inside(void **state) {
    (void)state;
    detail.split =
        (struct ts_split_detail){TS_SPLIT_FAULT_SHARD_LIMIT_EXCEEDED, 0, {9, 2, 10, TS_LIMIT_GLOBAL}};
    expect_debug(TS_VARIANT_SPLIT_INVALID,
                 "SplitInvalid(ShardLimitExceeded { current: 9, additional: 2, max: 10, scope: Global })");
    detail.nested = TS_VARIANT_MANIFEST_INVALID;
    detail.manifest =
        (struct ts_manifest_detail){.error = TS_MANIFEST_FAULT_DUPLICATE_IDS, .entry = 4, .other = 2};
    expect_debug(TS_VARIANT_REGISTER_SHARDS_FAILED,
                 "RegisterShardsFailed(ManifestInvalid(DuplicateIds { entry: 4, other: 2 }))");
    detail.nested = TS_VARIANT_RUN_NOT_FOUND;
    expect_debug(TS_VARIANT_GET_RUN_FAILED, "GetRunFailed(RunNotFound)");
    detail.config = (struct ts_run_config_detail){TS_RUN_CONFIG_FAULT_ATTEMPTS, 2000, 0, 1000};
    expect_debug(TS_VARIANT_INVALID_CONFIG,
                 "InvalidConfig(AttemptsOutOfRange { value: 2000, min: 0, max: 1000 })");
}

static void a_text_that_does_not_fit_is_truncated_and_its_length_returned(void **state) {
    (void)state;
    char small[8];
    assert_int_equal(ts_error_debug(TS_VARIANT_RUN_NOT_FOUND, &detail, small, sizeof small),
                     strlen("RunNotFound"));
    assert_string_equal(small, "RunNotF");
    assert_int_equal(ts_error_debug(TS_VARIANT_RUN_NOT_FOUND, &detail, NULL, 0), strlen("RunNotFound"));
}

/*
 * These planted words are keys, tokens, metadata, owners, hashes and a tenant. No text that can be shown may
 * contain them: no text of real failures and successes, of any variant with every field filled in, or of any
 * event.
 */
#define SECRET_KEY    "kEyBytes"
#define SECRET_TOKEN  "tOkenBytes"
#define SECRET_META   "mEtaBytes"
#define SECRET_OWNER  "oWnerName"
#define FOREIGN       "fOreignTenant"
#define PLANTED_HASH  UINT64_C(987654321987654321)
#define PLANTED_HASH2 UINT64_C(876543219876543210)

static size_t texts_seen;

static void expect_clean(const char *shown) {
    static const char *const planted[] = {SECRET_KEY,           SECRET_TOKEN, SECRET_META,
                                          SECRET_OWNER,         FOREIGN,      "987654321987654321",
                                          "876543219876543210", "6b457942",   "6f576e65"};
    texts_seen++;
    for (size_t i = 0; i < sizeof planted / sizeof planted[0]; i++) {
        if (strstr(shown, planted[i]) != NULL)
            fail_msg("\"%s\" in: %s", planted[i], shown);
    }
}

static void expect_clean_error(enum ts_error_variant variant) {
    ts_error_debug(variant, &detail, text, sizeof text);
    expect_clean(text);
    ts_error_display(variant, &detail, text, sizeof text);
    expect_clean(text);
    struct ts_error_field fields[TS_ERROR_FIELDS_MAX];
    size_t count = ts_error_fields(variant, &detail, fields);
    for (size_t i = 0; i < count; i++) {
        expect_clean(fields[i].text);
        assert_true(fields[i].number != PLANTED_HASH && fields[i].number != PLANTED_HASH2);
    }
}

static void fill_detail(void) {
    detail.expected_tenant = tenant_named("acme");
    detail.current_owner = worker_named(SECRET_OWNER);
    detail.detail__private.expected_hash.v = PLANTED_HASH;
    detail.detail__private.actual_hash.v = PLANTED_HASH2;
    detail.has_deadline = detail.has_target = true;
    detail.old_key = detail.new_key = (struct ts_optional_len){true, 8};
    detail.resource = "record";
    snprintf(detail.infra.text, sizeof detail.infra.text, "the server is away");
}

static void expect_names_once(enum ts_error_variant variant) {
    struct ts_error_field fields[TS_ERROR_FIELDS_MAX];
    const size_t count = ts_error_fields(variant, &detail, fields);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(fields[i].name, fields[j].name);
}

static void no_field_has_the_name_of_another(void **state) {
    (void)state;
    fill_detail();
    for (int variant = TS_VARIANT_NONE; variant < TS_ERROR__VARIANT_END; variant++) {
        if (variant == TS_VARIANT_REGISTER_SHARDS_FAILED || variant == TS_VARIANT_GET_RUN_FAILED)
            continue;
        expect_names_once((enum ts_error_variant)variant);
        detail.nested = (enum ts_error_variant)variant;
        expect_names_once(TS_VARIANT_REGISTER_SHARDS_FAILED);
        expect_names_once(TS_VARIANT_GET_RUN_FAILED);
    }
}

static void a_failure_of_a_store_has_its_kind(void **state) {
    (void)state;
    static const char *const names[] = {"retryable", "unknown", "permanent", "damaged"};
    for (int kind = TS_INFRA_RETRYABLE; kind <= TS_INFRA_DAMAGED; kind++) {
        detail.infra = (struct ts_infra_error){(enum ts_infra_kind)kind, "struck"};
        char expected[80];
        snprintf(expected, sizeof expected, "BackendError { kind: %s, cause: \"struck\" }", names[kind]);
        expect_debug(TS_VARIANT_BACKEND_ERROR, expected);
    }
}

static void no_text_of_any_variant_shows_what_is_secret(void **state) {
    (void)state;
    fill_detail();
    for (int variant = TS_VARIANT_NONE; variant < TS_ERROR__VARIANT_END; variant++) {
        for (int inner = 1; inner <= 12; inner++) {
            detail.split.error = (enum ts_split_validation_error)inner;
            detail.manifest.error = (enum ts_manifest_validation_error)(1 + (inner - 1) % 8);
            detail.config.error = (enum ts_run_config_error)(1 + (inner - 1) % 5);
            expect_clean_error((enum ts_error_variant)variant);
        }
    }
    for (int nested = TS_VARIANT_NONE; nested < TS_ERROR__VARIANT_END; nested++) {
        if (nested == TS_VARIANT_REGISTER_SHARDS_FAILED || nested == TS_VARIANT_GET_RUN_FAILED)
            continue;
        detail.nested = (enum ts_error_variant)nested;
        expect_clean_error(TS_VARIANT_REGISTER_SHARDS_FAILED);
        expect_clean_error(TS_VARIANT_GET_RUN_FAILED);
    }
    assert_true(texts_seen > 1000);
}

static struct world w;

static void expect_clean_step(enum ts_error_variant variant) {
    detail = w.detail;
    expect_clean_error(variant);
    if (variant == TS_VARIANT_NONE && w.step.write) {
        ts_event_text(&w.step.event, text, sizeof text);
        expect_clean(text);
    }
    struct ts_event lost;
    if (ts_event_of_lost_lease(&w.lease, variant, w.now, &lost)) {
        ts_event_text(&lost, text, sizeof text);
        expect_clean(text);
    }
}

static void checkpoint(uint64_t op_id, const char *key, enum ts_checkpoint_error expected) {
    struct ts_step_env env = world_env(&w);
    struct ts_cursor_op op = {.by = world_by(&w, op_id), .cursor = cursor_at(key)};
    op.cursor.has_token = true;
    op.cursor.token = TS_BYTES(SECRET_TOKEN);
    enum ts_checkpoint_error error = ts_checkpoint_step(&w.record, &env, &op, &w.step, &w.detail);
    assert_int_equal(error, expected);
    if (error == TS_CHECKPOINT_OK)
        world_keep(&w);
    expect_clean_step(ts_checkpoint_error_variant(error));
}

static void no_text_of_real_operations_shows_what_is_secret(void **state) {
    (void)state;
    world_init(&w);
    struct ts_shard_record record = w.record;
    record.spec = (struct ts_shard_spec){{TS_BYTES("k"), TS_BYTES(SECRET_KEY "z")}, TS_BYTES(SECRET_META)};
    world_store(&w, &record);
    assert_int_equal(world_acquire(&w, SECRET_OWNER), TS_ACQUIRE_OK);
    expect_clean_step(TS_VARIANT_NONE);
    assert_int_equal(world_acquire(&w, "other"), TS_ACQUIRE_ALREADY_LEASED);
    expect_clean_step(TS_VARIANT_ALREADY_LEASED);
    checkpoint(1, SECRET_KEY "m", TS_CHECKPOINT_OK);
    checkpoint(1, SECRET_KEY "n", TS_CHECKPOINT_OP_ID_CONFLICT);
    checkpoint(2, SECRET_KEY "a", TS_CHECKPOINT_CURSOR_REGRESSION);
    checkpoint(3, "z" SECRET_KEY, TS_CHECKPOINT_CURSOR_OUT_OF_BOUNDS);
    assert_int_equal(world_split_residual(&w, 4, SECRET_KEY "a"), TS_SPLIT_SPLIT_INVALID);
    expect_clean_step(TS_VARIANT_SPLIT_INVALID);
    assert_int_equal(world_split_residual(&w, 5, SECRET_KEY "n"), TS_SPLIT_OK);
    expect_clean_step(TS_VARIANT_NONE);

    /* A worker of the tenant acme meets a record of another tenant. */
    record = w.record;
    record.tenant = tenant_named(FOREIGN);
    world_store(&w, &record);
    checkpoint(1, SECRET_KEY "m", TS_CHECKPOINT_TENANT_MISMATCH);
    assert_non_null(
        strstr((ts_error_debug(TS_VARIANT_TENANT_MISMATCH, &w.detail, text, sizeof text), text), "acme"));
    assert_int_equal(world_acquire(&w, "other"), TS_ACQUIRE_TENANT_MISMATCH);
    expect_clean_step(TS_VARIANT_TENANT_MISMATCH);

    record.tenant = tenant_named("acme");
    world_store(&w, &record);
    w.now.ms += 60000;
    checkpoint(6, SECRET_KEY "m", TS_CHECKPOINT_LEASE_EXPIRED);
    struct ts_lease before = w.lease;
    assert_int_equal(world_acquire(&w, "other"), TS_ACQUIRE_OK);
    w.lease = before;
    checkpoint(6, SECRET_KEY "m", TS_CHECKPOINT_STALE_FENCE);
}

static void no_room_names_the_store_and_the_cure(void **state) {
    (void)state;
    detail.resource = "disk";
    snprintf(detail.infra.text, sizeof detail.infra.text, "rocksdb:/a: the disk is full; make room");
    expect_display(TS_VARIANT_RESOURCE_EXHAUSTED,
                   "no room (resource \"disk\"): rocksdb:/a: the disk is full; make room");
    expect_debug(TS_VARIANT_RESOURCE_EXHAUSTED, "ResourceExhausted { resource: \"disk\" }");
    detail.nested = TS_VARIANT_RESOURCE_EXHAUSTED;
    assert_string_equal(ts_error_cause(TS_VARIANT_REGISTER_SHARDS_FAILED, &detail), detail.infra.text);
    assert_string_equal(ts_error_cause(TS_VARIANT_BACKEND_ERROR, &detail), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(hashes_are_redacted_in_debug_and_left_out_of_display, fresh),
        cmocka_unit_test_setup(an_owner_is_redacted_in_both_forms, fresh),
        cmocka_unit_test_setup(keys_are_shown_as_lengths, fresh),
        cmocka_unit_test_setup(only_the_callers_tenant_is_shown, fresh),
        cmocka_unit_test_setup(plain_fields_are_shown, fresh),
        cmocka_unit_test_setup(no_room_names_the_store_and_the_cure, fresh),
        cmocka_unit_test_setup(nested_errors_are_shown_inside, fresh),
        cmocka_unit_test_setup(a_text_that_does_not_fit_is_truncated_and_its_length_returned, fresh),
        cmocka_unit_test_setup(no_field_has_the_name_of_another, fresh),
        cmocka_unit_test_setup(a_failure_of_a_store_has_its_kind, fresh),
        cmocka_unit_test_setup(no_text_of_any_variant_shows_what_is_secret, fresh),
        cmocka_unit_test_setup(no_text_of_real_operations_shows_what_is_secret, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
