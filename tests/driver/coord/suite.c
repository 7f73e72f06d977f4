#include "suite.h"

#include "turnstone/txn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct suite suite;
struct suite_shard suite_shard_seen;

/* ---- recorded results ---- */

/* seen_OP[result] counts how many times the operation had this result. */
#define SEEN(op, PREFIX, last, count) static unsigned seen_##op[(count) + 1];
TS_ERROR_ENUMS(SEEN)

/* X(name) for each operation that has an op id. outcome_NAME counts the outcomes of the operation. */
#define IDEMPOTENT(X)                                                                                        \
    X(checkpoint)                                                                                            \
    X(complete)                                                                                              \
    X(park)                                                                                                  \
    X(release)                                                                                               \
    X(unpark)                                                                                                \
    X(split_replace)                                                                                         \
    X(split_residual) X(register_shards) X(complete_run) X(fail_run) X(cancel_run) X(create_run_with_shards)
#define OUTCOME_SEEN(name) static unsigned outcome_##name[2];
IDEMPOTENT(OUTCOME_SEEN)

static const char *const secrets[] = {"kEy", "tOkEn", "mEtA", "oWnEr", "fOrEiGn"};

static void look_through(const char *text, const char *what) {
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
        if (strstr(text, secrets[i]) != NULL)
            fail_msg("%s shows \"%s\": %s", what, secrets[i], text);
}

static void look_for_hash(const char *text, struct ts_payload_hash hash) {
    char decimal[24], hex[24];
    snprintf(decimal, sizeof decimal, "%" PRIu64, hash.v);
    snprintf(hex, sizeof hex, "%" PRIx64, hash.v);
    if (hash.v > UINT32_MAX && (strstr(text, decimal) != NULL || strstr(text, hex) != NULL))
        fail_msg("a payload hash is shown: %s", text);
}

static void check_texts(enum ts_error_variant error) {
    char text[2048];
    struct ts_error_field fields[TS_ERROR_FIELDS_MAX];
    (void)ts_error_debug(error, &suite.detail, text, sizeof text);
    look_through(text, "debug");
    look_for_hash(text, suite.detail.detail__private.expected_hash);
    look_for_hash(text, suite.detail.detail__private.actual_hash);
    (void)ts_error_display(error, &suite.detail, text, sizeof text);
    look_through(text, "display");
    look_for_hash(text, suite.detail.detail__private.expected_hash);
    const size_t count = ts_error_fields(error, &suite.detail, fields);
    for (size_t i = 0; i < count; i++) {
        look_through(fields[i].text, "a field");
        snprintf(text, sizeof text, "%" PRIu64, fields[i].number);
        look_for_hash(text, suite.detail.detail__private.expected_hash);
    }
    look_through(suite.detail.infra.text, "an infrastructure error");
    assert_int_not_equal(ts_error_class_of(error, &suite.detail), TS_COORD_CLASS_NONE);
}

static void prepare(void) {
    memset(&suite.detail, 0, sizeof suite.detail);
    memset(&suite.outcome, 0xee, sizeof suite.outcome);
}

/* Records the result of an operation, and returns the result. */
#define DONE(op, error)                                                                                      \
    do {                                                                                                     \
        seen_##op[(error)]++;                                                                                \
        if ((error) != 0)                                                                                    \
            check_texts(ts_##op##_error_variant(error));                                                     \
        return (error);                                                                                      \
    } while (0)

#define NOTE(name, ok)                                                                                       \
    do {                                                                                                     \
        if (ok)                                                                                              \
            outcome_##name[suite.outcome.outcome]++;                                                         \
    } while (0)

static void on_event(void *context, const struct ts_event *event) {
    (void)context;
    char text[512];
    (void)ts_event_text(event, text, sizeof text);
    look_through(text, "an event");
    assert_true(suite.event_count < SUITE_EVENTS_MAX);
    suite.events[suite.event_count++] = *event;
}

size_t suite_count_events(enum ts_event_kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < suite.event_count; i++)
        count += suite.events[i].kind == kind;
    return count;
}

void suite_wrong(enum ts_error_variant error, const char *file, int line) {
    char text[1024] = "";
    if (error != TS_VARIANT_NONE)
        (void)ts_error_debug(error, &suite.detail, text, sizeof text);
    print_error("%s:%d: it is %s %s\n", file, line, ts_error_variant_name(error), text);
    _fail(file, line);
}

/* ---- names ---- */

struct ts_tenant_id suite_tenant(const char *name) {
    struct ts_tenant_id tenant;
    assert_true(ts_tenant_id_from_text(ts_bytes_of_cstring(name), &tenant));
    return tenant;
}

struct ts_worker_id suite_worker(const char *name) {
    char text[40];
    snprintf(text, sizeof text, "oWnEr-%s", name);
    struct ts_worker_id worker;
    assert_true(ts_worker_id_from_text(ts_bytes_of_cstring(text), &worker));
    return worker;
}

struct ts_op_id suite_op(void) {
    return (struct ts_op_id){++suite.op_id};
}

struct ts_shard_key suite_shard(uint64_t number) {
    return (struct ts_shard_key){suite.run, {number}};
}

struct ts_run_config suite_config(void) {
    struct ts_run_config config = ts_run_config_default();
    config.lease_duration_ms = 600000;
    return config;
}

struct ts_run_config suite_short_config(void) {
    struct ts_run_config config = ts_run_config_default();
    config.lease_duration_ms = suite.fixture->lease_ms;
    return config;
}

void suite_make_short_run(void) {
    const struct ts_run_config config = suite_short_config();
    suite_make_run_with(&config);
}

void suite_make_run_with(const struct ts_run_config *config) {
    static const struct ts_new_shard shards[] = {SHARD(1, "b", "h"), SHARD(2, "h", "p"), SHARD(3, "p", "x")};
    EXPECT(create_run, suite_create_with(config, suite_op(), shards, 3), TS_CREATE_RUN_OK);
}

void suite_make_run(void) {
    const struct ts_run_config config = suite_config();
    suite_make_run_with(&config);
}

struct ts_coord *suite_other(const struct ts_coord_options *options) {
    struct ts_coord_options mine = *options;
    mine.event = on_event;
    struct ts_coord *coord = ts_coord_new(suite.cluster, suite.coordinator, &mine);
    assert_non_null(coord);
    return coord;
}

/* ---- calls ---- */

enum ts_create_run_error suite_create(const struct ts_run_config *config) {
    prepare();
    const struct ts_create_run_op op = {.tenant = suite.tenant, .run = suite.run, .config = *config};
    struct ts_run_record run;
    const enum ts_create_run_error error = ts_coord_create_run(suite.coord, &op, &run, &suite.detail);
    if (error == TS_CREATE_RUN_OK)
        assert_int_equal(run.status, TS_RUN_INITIALIZING);
    DONE(create_run, error);
}

enum ts_register_shards_error suite_register(struct ts_op_id op_id, const struct ts_new_shard *shards,
                                             size_t count) {
    prepare();
    const struct ts_register_op op = {
        .tenant = suite.tenant, .run = suite.run, .op_id = op_id, .shards = {shards, count}};
    const enum ts_register_shards_error error =
        ts_coord_register_shards(suite.coord, &op, &suite.memory, &suite.outcome, &suite.detail);
    NOTE(register_shards, error == TS_REGISTER_SHARDS_OK);
    DONE(register_shards, error);
}

enum ts_create_run_error suite_create_with(const struct ts_run_config *config, struct ts_op_id op_id,
                                           const struct ts_new_shard *shards, size_t count) {
    prepare();
    const struct ts_create_run_op create = {.tenant = suite.tenant, .run = suite.run, .config = *config};
    const struct ts_register_op op = {
        .tenant = suite.tenant, .run = suite.run, .op_id = op_id, .shards = {shards, count}};
    const enum ts_create_run_error error = ts_coord_create_run_with_shards(
        suite.coord, &create, &op, &suite.memory, &suite.outcome, &suite.detail);
    NOTE(create_run_with_shards, error == TS_CREATE_RUN_OK);
    DONE(create_run, error);
}

enum ts_get_run_error suite_get_run(struct ts_run_record *ret_run) {
    prepare();
    const struct ts_coord_run_query query = {suite.tenant, suite.run};
    const enum ts_get_run_error error = ts_coord_get_run(suite.coord, &query, ret_run, &suite.detail);
    DONE(get_run, error);
}

enum ts_run_transition_error suite_end(enum ts_run_op_kind kind, struct ts_op_id op_id) {
    prepare();
    const struct ts_end_run_op op = {.tenant = suite.tenant, .run = suite.run, .op_id = op_id, .kind = kind};
    const enum ts_run_transition_error error =
        ts_coord_end_run(suite.coord, &op, &suite.outcome, &suite.detail);
    switch (kind) {
    case TS_RUN_OP_COMPLETE_RUN:
        NOTE(complete_run, error == TS_RUN_TRANSITION_OK);
        break;
    case TS_RUN_OP_FAIL_RUN:
        NOTE(fail_run, error == TS_RUN_TRANSITION_OK);
        break;
    case TS_RUN_OP_CANCEL_RUN:
        NOTE(cancel_run, error == TS_RUN_TRANSITION_OK);
        break;
    case TS_RUN_OP_REGISTER_SHARDS:
        fail_msg("registering does not end a run");
    }
    DONE(run_transition, error);
}

enum ts_delete_run_error suite_delete(void) {
    prepare();
    const struct ts_coord_run_query query = {suite.tenant, suite.run};
    const enum ts_delete_run_error error =
        ts_coord_delete_run(suite.coord, &query, &suite.deleted, &suite.detail);
    DONE(delete_run, error);
}

enum ts_acquire_error suite_acquire(uint64_t shard, const char *worker, struct ts_lease *ret_lease) {
    prepare();
    const struct ts_acquire_op op = {suite.tenant, suite_shard(shard), suite_worker(worker)};
    const enum ts_acquire_error error =
        ts_coord_acquire(suite.coord, &op, &suite.scratch, &suite.view, &suite.detail);
    if (error == TS_ACQUIRE_OK && ret_lease != NULL)
        *ret_lease = suite.view.lease;
    DONE(acquire, error);
}

enum ts_claim_error suite_claim(const char *worker, struct ts_lease *ret_lease) {
    prepare();
    const struct ts_coord_claim_op op = {
        .tenant = suite.tenant, .run = suite.run, .worker = suite_worker(worker)};
    const enum ts_claim_error error =
        ts_coord_claim_next_available(suite.coord, &op, &suite.scratch, &suite.view, &suite.detail);
    if (error == TS_CLAIM_OK && ret_lease != NULL)
        *ret_lease = suite.view.lease;
    DONE(claim, error);
}

enum ts_renew_error suite_renew(struct ts_lease *lease) {
    prepare();
    const struct ts_renew_op op = {suite.tenant, *lease};
    const enum ts_renew_error error =
        ts_coord_renew(suite.coord, &op, NULL, lease, &suite.renewed, &suite.detail);
    DONE(renew, error);
}

enum ts_checkpoint_error suite_checkpoint(const struct ts_lease *lease, struct ts_op_id op_id,
                                          struct ts_cursor cursor) {
    prepare();
    const struct ts_cursor_op op = {{suite.tenant, *lease, op_id}, cursor};
    const enum ts_checkpoint_error error =
        ts_coord_checkpoint(suite.coord, &op, NULL, &suite.outcome, &suite.detail);
    NOTE(checkpoint, error == TS_CHECKPOINT_OK);
    DONE(checkpoint, error);
}

enum ts_complete_error suite_complete(const struct ts_lease *lease, struct ts_op_id op_id,
                                      struct ts_cursor cursor) {
    prepare();
    const struct ts_cursor_op op = {{suite.tenant, *lease, op_id}, cursor};
    const enum ts_complete_error error =
        ts_coord_complete(suite.coord, &op, NULL, &suite.outcome, &suite.detail);
    NOTE(complete, error == TS_COMPLETE_OK);
    DONE(complete, error);
}

enum ts_park_error suite_park(const struct ts_lease *lease, struct ts_op_id op_id,
                              enum ts_park_reason reason) {
    prepare();
    const struct ts_park_op op = {{suite.tenant, *lease, op_id}, reason};
    const enum ts_park_error error = ts_coord_park(suite.coord, &op, NULL, &suite.outcome, &suite.detail);
    NOTE(park, error == TS_PARK_OK);
    DONE(park, error);
}

enum ts_release_error suite_release(const struct ts_lease *lease, struct ts_op_id op_id,
                                    enum ts_blame blame) {
    prepare();
    const struct ts_release_op op = {{suite.tenant, *lease, op_id}, blame};
    const enum ts_release_error error =
        ts_coord_release(suite.coord, &op, NULL, &suite.outcome, &suite.detail);
    NOTE(release, error == TS_RELEASE_OK);
    DONE(release, error);
}

enum ts_write_error suite_write(const struct ts_lease *lease, const char *value, const uint64_t *check,
                                struct ts_store_error *ret_error) {
    prepare();
    const struct ts_write_op op = {suite.tenant, *lease};
    const struct ts_bytes key = TS_BYTES("written");
    const struct ts_op ops[] = {{.kind = TS_OP_PUT, .key = key, .value = ts_bytes_of_cstring(value)},
                                {.kind = TS_OP_CHECK, .key = key, .version = check == NULL ? 0 : *check}};
    const enum ts_write_error error = ts_coord_write(
        suite.coord, &op, NULL, (struct ts_batch){ops, check == NULL ? 1 : 2}, ret_error, &suite.detail);
    DONE(write, error);
}

enum ts_unpark_error suite_unpark(uint64_t shard, struct ts_op_id op_id) {
    prepare();
    const struct ts_unpark_op op = {suite.tenant, suite_shard(shard), op_id};
    const enum ts_unpark_error error = ts_coord_unpark(suite.coord, &op, &suite.outcome, &suite.detail);
    NOTE(unpark, error == TS_UNPARK_OK);
    DONE(unpark, error);
}

enum ts_split_error suite_split_replace(const struct ts_lease *lease, struct ts_op_id op_id,
                                        const struct ts_new_shard *children, size_t count) {
    prepare();
    const struct ts_split_replace_op op = {{suite.tenant, *lease, op_id}, {children, count}};
    const enum ts_split_error error =
        ts_coord_split_replace(suite.coord, &op, NULL, &suite.children, &suite.outcome, &suite.detail);
    NOTE(split_replace, error == TS_SPLIT_OK);
    DONE(split, error);
}

enum ts_split_error suite_split_residual(const struct ts_lease *lease, struct ts_op_id op_id,
                                         struct ts_bytes cut, struct ts_cursor cursor) {
    prepare();
    const struct ts_split_residual_op op = {
        {suite.tenant, *lease, op_id},
        {.spec = {.range = {.start = cut}, .metadata = TS_BYTES("mEtA-residual")}, .cursor = cursor}};
    const enum ts_split_error error =
        ts_coord_split_residual(suite.coord, &op, NULL, &suite.residual, &suite.outcome, &suite.detail);
    NOTE(split_residual, error == TS_SPLIT_OK);
    DONE(split, error);
}

static void keep_shard(void *context, const struct ts_coord_shard_view *shard) {
    (void)context;
    size_t len;
    struct suite_shard *seen = &suite_shard_seen;
    assert_int_equal(ts_shard_record_encode(shard->record, seen->bytes, &len), TS_RECORD_OK);
    assert_int_equal(ts_shard_record_decode(ts_bytes_of(seen->bytes, len), &seen->record), TS_RECORD_OK);
    seen->now = shard->now;
    seen->place = shard->place;
    seen->version = shard->version;
}

enum ts_get_shard_error suite_get_shard(struct ts_shard_key shard) {
    prepare();
    const struct ts_coord_shard_ref ref = {suite.tenant, shard};
    const enum ts_get_shard_error error =
        ts_coord_get_shard(suite.coord, &ref, keep_shard, NULL, &suite.detail);
    DONE(get_shard, error);
}

const struct ts_shard_record *suite_record(struct ts_shard_key shard) {
    EXPECT(get_shard, suite_get_shard(shard), TS_GET_SHARD_OK);
    return &suite_shard_seen.record;
}

void suite_expect_foreign(struct ts_lease *lease) {
    static const struct ts_new_shard two[] = {SHARD(21, "b", "d"), SHARD(22, "d", "h")};
    struct ts_run_record run;
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_TENANT_MISMATCH);
    EXPECT(register_shards, suite_register(suite_op(), two, 2), TS_REGISTER_SHARDS_TENANT_MISMATCH);
    EXPECT(run_transition, suite_end(TS_RUN_OP_COMPLETE_RUN, suite_op()), TS_RUN_TRANSITION_TENANT_MISMATCH);
    EXPECT(run_transition, suite_end(TS_RUN_OP_FAIL_RUN, suite_op()), TS_RUN_TRANSITION_TENANT_MISMATCH);
    EXPECT(run_transition, suite_end(TS_RUN_OP_CANCEL_RUN, suite_op()), TS_RUN_TRANSITION_TENANT_MISMATCH);
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_TENANT_MISMATCH);
    EXPECT(acquire, suite_acquire(1, "b", NULL), TS_ACQUIRE_TENANT_MISMATCH);
    EXPECT(claim, suite_claim("b", NULL), TS_CLAIM_TENANT_MISMATCH);
    EXPECT(renew, suite_renew(lease), TS_RENEW_TENANT_MISMATCH);
    EXPECT(checkpoint, suite_checkpoint(lease, suite_op(), KEY("c")), TS_CHECKPOINT_TENANT_MISMATCH);
    EXPECT(complete, suite_complete(lease, suite_op(), KEY("c")), TS_COMPLETE_TENANT_MISMATCH);
    EXPECT(park, suite_park(lease, suite_op(), TS_PARK_OTHER), TS_PARK_TENANT_MISMATCH);
    EXPECT(release, suite_release(lease, suite_op(), TS_BLAME_SHARD), TS_RELEASE_TENANT_MISMATCH);
    EXPECT(write, suite_write(lease, "foreign", NULL, &(struct ts_store_error){0}), TS_WRITE_TENANT_MISMATCH);
    EXPECT(unpark, suite_unpark(1, suite_op()), TS_UNPARK_TENANT_MISMATCH);
    EXPECT(split, suite_split_replace(lease, suite_op(), two, 2), TS_SPLIT_TENANT_MISMATCH);
    EXPECT(split, suite_split_residual(lease, suite_op(), TS_BYTES("kEy-d"), (struct ts_cursor){0}),
           TS_SPLIT_TENANT_MISMATCH);
    EXPECT(get_shard, suite_get_shard(suite_shard(1)), TS_GET_SHARD_TENANT_MISMATCH);
}

struct ts_lease suite_must_acquire(uint64_t shard, const char *worker) {
    struct ts_lease lease;
    EXPECT(acquire, suite_acquire(shard, worker, &lease), TS_ACQUIRE_OK);
    return lease;
}

void suite_audit(void) {
    struct ts_coord_audit audit;
    const struct ts_coord_run_query query = {suite.tenant, suite.run};
    EXPECT(get_run, ts_coord_audit_run(suite.coord, &query, &audit, &suite.detail), TS_GET_RUN_OK);
    if (!ts_coord_audit_is_clean(&audit))
        fail_msg("counters %" PRIu64 ", places %" PRIu64 ", index missing %" PRIu64 " extra %" PRIu64
                 ", guards %" PRIu64 ", limits %d (%" PRIu64 ")",
                 audit.wrong_counters, audit.wrong_places, audit.missing_index, audit.extra_index,
                 audit.wrong_guards, audit.wrong_limits, audit.counted_for_limits);
    assert_memory_equal(&audit.counted, &audit.counters, sizeof audit.counted);
}

/* ---- the program ---- */

int suite_fresh(void **state) {
    (void)state;
    char name[32];
    suite.run.v++;
    snprintf(name, sizeof name, "acme-%" PRIu64, suite.run.v);
    suite.tenant = suite_tenant(name);
    suite.event_count = 0;
    suite.coord = suite.whole;
    return 0;
}

/* Runs last: checks that the earlier tests have produced every possible result. */
static void every_error_and_every_outcome_was_seen(void **state) {
    (void)state;
    unsigned missing = 0;
#define CHECK_SEEN(op, PREFIX, last, count)                                                                  \
    for (unsigned i = 0; i <= (count); i++) {                                                                \
        if (seen_##op[i] != 0)                                                                               \
            continue;                                                                                        \
        print_error("%s was never %s\n", #op, ts_##op##_error_name((enum ts_##op##_error)i));                \
        missing++;                                                                                           \
    }
    /* No operation returns these shared codes, so they count as seen. */
    memset(seen_coord, 1, sizeof seen_coord);
    TS_ERROR_ENUMS(CHECK_SEEN)
#define CHECK_OUTCOME(name)                                                                                  \
    if (outcome_##name[0] == 0 || outcome_##name[1] == 0) {                                                  \
        print_error("%s was executed %u and replayed %u times\n", #name, outcome_##name[0],                  \
                    outcome_##name[1]);                                                                      \
        missing++;                                                                                           \
    }
    IDEMPOTENT(CHECK_OUTCOME)
    assert_int_equal(missing, 0);
}

static int open_all(void **state) {
    (void)state;
    suite.cluster = suite.fixture->open();
    struct ts_txn_error_detail detail;
    if (ts_coordinator_open(suite.cluster, NULL, &suite.coordinator, &detail) != TS_TXN_ERROR_OK) {
        print_error("%s\n", detail.text);
        return 1;
    }
    const struct ts_coord_options options = {.event = on_event};
    suite.whole = ts_coord_new(suite.cluster, suite.coordinator, &options);
    ts_acquire_scratch_init(&suite.scratch);
    suite.run.v = 100;
    suite.op_id = 1000;
    return suite.whole == NULL;
}

static int close_all(void **state) {
    (void)state;
    ts_coord_free(suite.whole);
    ts_coordinator_close(suite.coordinator);
    ts_cluster_close(suite.cluster);
    if (suite.fixture->clean != NULL)
        suite.fixture->clean();
    return 0;
}

int suite_main(const struct suite_fixture *fixture) {
    static const struct CMUnitTest *const files[] = {
        suite_run_tests,     suite_delete_tests, suite_lease_tests,     suite_split_tests, suite_claim_tests,
        suite_session_tests, suite_step_tests,   suite_weak_spot_tests, suite_damage_tests};
    static struct CMUnitTest tests[256];
    size_t count = 0;
    suite.fixture = fixture;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        for (const struct CMUnitTest *test = files[i]; test->name != NULL; test++)
            tests[count++] = *test;
    const struct CMUnitTest last = cmocka_unit_test(every_error_and_every_outcome_was_seen);
    tests[count++] = last;
    return _cmocka_run_group_tests(fixture->name, tests, count, open_all, close_all);
}
