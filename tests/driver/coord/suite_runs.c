/* Tests of runs: creating, registering shards, reading, ending. */
#include "suite.h"

#include "base/endian.h"
#include "turnstone/txn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ts_new_shard two[] = {SHARD(11, "b", "h"), SHARD(12, "h", "p")};

static void a_run_is_made_once(void **state) {
    (void)state;
    struct ts_run_config config = suite_config();
    struct ts_run_record run;
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_RUN_NOT_FOUND);
    EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_OK);
    assert_int_equal(suite_count_events(TS_EVENT_RUN_CREATED), 1);
    EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_RUN_ALREADY_EXISTS);
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_OK);
    assert_int_equal(run.status, TS_RUN_INITIALIZING);
    assert_true(ts_run_config_equal(&run.config, &config));
    config.lease_duration_ms = 0;
    suite.run.v += 100000;
    EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_INVALID_CONFIG);
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_RUN_NOT_FOUND);
    suite.run.v -= 100000;
    suite_audit();
}

static void a_run_is_its_tenants_alone(void **state) {
    (void)state;
    suite_make_run();
    const struct ts_run_config config = suite_config();
    struct ts_lease lease = suite_must_acquire(1, "a");
    const struct ts_tenant_id own = suite.tenant;
    suite.tenant = suite_tenant("another");
    EXPECT(create_run, suite_create_with(&config, suite_op(), two, 2), TS_CREATE_RUN_GET_RUN_FAILED);
    assert_int_equal(suite.detail.nested, TS_VARIANT_TENANT_MISMATCH);
    suite_expect_foreign(&lease);
    suite.tenant = own;
    suite_audit();
}

/* Messages may show the names of the caller's own tenant, but not those of foreign tenants. */
static void a_foreign_tenants_name_is_never_shown(void **state) {
    (void)state;
    const struct ts_tenant_id own = suite.tenant;
    suite.tenant = suite_tenant("fOrEiGn");
    suite_make_run();
    struct ts_lease lease = suite_must_acquire(1, "a");
    suite.tenant = own;
    suite_expect_foreign(&lease);
}

/* A foreign tenant's claim does not even learn that no shard is available. */
static void a_foreign_claim_learns_nothing_of_a_run(void **state) {
    (void)state;
    suite_make_run();
    for (int i = 0; i < 3; i++)
        EXPECT(claim, suite_claim("a", NULL), TS_CLAIM_OK);
    suite.tenant = suite_tenant("another");
    EXPECT(claim, suite_claim("b", NULL), TS_CLAIM_TENANT_MISMATCH);
}

static void shards_are_registered_once(void **state) {
    (void)state;
    const struct ts_run_config config = suite_config();
    EXPECT(register_shards, suite_register(suite_op(), two, 2), TS_REGISTER_SHARDS_RUN_NOT_FOUND);
    EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_OK);
    const struct ts_op_id op = suite_op();
    EXPECT(register_shards, suite_register(op, two, 2), TS_REGISTER_SHARDS_OK);
    expect_executed();
    assert_int_equal(suite.memory.ids[0].v, 11);
    EXPECT(register_shards, suite_register(op, two, 2), TS_REGISTER_SHARDS_OK);
    expect_replayed();
    assert_int_equal(suite_count_events(TS_EVENT_SHARDS_REGISTERED), 1);
    EXPECT(register_shards, suite_register(op, two, 1), TS_REGISTER_SHARDS_OP_ID_CONFLICT);
    /* If the same shards are registered under another op id, they are not counted again. */
    EXPECT(register_shards, suite_register(suite_op(), two, 2), TS_REGISTER_SHARDS_OK);
    expect_executed();
    struct ts_run_record run;
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_OK);
    assert_int_equal(run.registered, 2);
    assert_int_equal(run.status, TS_RUN_ACTIVE);
    assert_int_equal(suite_record(suite_shard(12))->status, TS_SHARD_ACTIVE);
    suite_audit();
}

static uint64_t number_of_run(void) {
    struct ts_run_record run;
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_OK);
    return run.number;
}

static void runs_of_a_tenant_have_numbers_in_their_order(void **state) {
    (void)state;
    const struct ts_run_config config = suite_config();
    const struct ts_run_id first = suite.run;
    const struct ts_tenant_id tenant = suite.tenant;
    suite_make_run();
    assert_int_equal(number_of_run(), 1);
    suite.run.v = first.v + 500000;
    EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_OK);
    assert_int_equal(number_of_run(), 2);
    /* A deleted run leaves its number unused. */
    EXPECT(run_transition, suite_end(TS_RUN_OP_CANCEL_RUN, suite_op()), TS_RUN_TRANSITION_OK);
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_OK);
    const struct ts_op_id op = suite_op();
    for (int i = 0; i < 2; i++) {
        EXPECT(create_run, suite_create_with(&config, op, two, 2), TS_CREATE_RUN_OK);
        assert_int_equal(number_of_run(), 3);
    }
    suite.run.v = first.v + 500001;
    suite.tenant = suite_tenant("numbered");
    EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_OK);
    assert_int_equal(number_of_run(), 1);
    suite.run = first;
    suite.tenant = tenant;
    assert_int_equal(number_of_run(), 1);
}

static void missing_ids_are_random_and_the_same_in_a_repetition(void **state) {
    (void)state;
    struct ts_new_shard shards[2] = {two[0], two[1]};
    shards[0].has_id = shards[1].has_id = false;
    const struct ts_run_config config = suite_config();
    EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_OK);
    const struct ts_op_id op = suite_op();
    EXPECT(register_shards, suite_register(op, shards, 2), TS_REGISTER_SHARDS_OK);
    const uint64_t first = suite.memory.ids[0].v, second = suite.memory.ids[1].v;
    assert_int_not_equal(first, second);
    EXPECT(register_shards, suite_register(op, shards, 2), TS_REGISTER_SHARDS_OK);
    expect_replayed();
    assert_int_equal(suite.memory.ids[0].v, first);
    assert_int_equal(suite.memory.ids[1].v, second);
    assert_int_equal(suite_record(suite_shard(first))->status, TS_SHARD_ACTIVE);
    suite_audit();
}

static void bad_manifests_are_refused_by_name(void **state) {
    (void)state;
    static char long_key[TS_KEY_MAX + 1];
    const struct {
        struct ts_new_shard shards[2];
        size_t count;
        enum ts_manifest_validation_error error;
    } cases[] = {
        {.count = 0, .error = TS_MANIFEST_FAULT_EMPTY},
        {{SHARD(21, "b", "h"), SHARD(21, "h", "p")}, 2, TS_MANIFEST_FAULT_DUPLICATE_IDS},
        {{SHARD(21, "b", "h"), SHARD(22, "g", "p")}, 2, TS_MANIFEST_FAULT_OVERLAPPING_RANGES},
        {{SHARD(21, "h", "b")}, 1, TS_MANIFEST_FAULT_INVALID_SPEC},
        {{SHARD(TS_DERIVED_SHARD_BIT | 1, "b", "h")}, 1, TS_MANIFEST_FAULT_INVALID_SPEC},
        {{{.spec = {.range = {.end = TS_BYTES_INIT("kEy-h")}}},
          {.spec = {.range = {.end = TS_BYTES_INIT("kEy-p")}}}},
         2,
         TS_MANIFEST_FAULT_UNBOUNDED_RANGE},
        {{{.spec = {.range = RANGE("b", "h")},
           .cursor = {.has_key = true, .last_key = TS_BYTES_INIT("kEy-x")}}},
         1,
         TS_MANIFEST_FAULT_CURSOR_OUT_OF_BOUNDS},
        {{{.spec = {.range = RANGE("b", "h")},
           .cursor = {.has_key = true, .last_key = {(const uint8_t *)long_key, sizeof long_key}}}},
         1,
         TS_MANIFEST_FAULT_CURSOR_KEY_TOO_LARGE},
    };
    struct ts_run_config config = suite_config();
    config.shard_max = 1;
    EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        EXPECT(register_shards, suite_register(suite_op(), cases[i].shards, cases[i].count),
               TS_REGISTER_SHARDS_MANIFEST_INVALID);
        assert_int_equal(suite.detail.manifest.error, cases[i].error);
    }
    EXPECT(register_shards, suite_register(suite_op(), two, 2), TS_REGISTER_SHARDS_MANIFEST_INVALID);
    assert_int_equal(suite.detail.manifest.error, TS_MANIFEST_FAULT_TOO_MANY_SHARDS);
    /* The shard exists with another content. */
    EXPECT(register_shards, suite_register(suite_op(), two, 1), TS_REGISTER_SHARDS_OK);
    const struct ts_new_shard other[] = {SHARD(11, "b", "i")};
    EXPECT(register_shards, suite_register(suite_op(), other, 1), TS_REGISTER_SHARDS_MANIFEST_INVALID);
    assert_int_equal(suite.detail.manifest.error, TS_MANIFEST_FAULT_DUPLICATE_IDS);
    suite_audit();
}

static void a_run_and_its_shards_are_made_together_and_again(void **state) {
    (void)state;
    struct ts_run_config config = suite_config();
    const struct ts_op_id op = suite_op();
    EXPECT(create_run, suite_create_with(&config, op, two, 0), TS_CREATE_RUN_REGISTER_SHARDS_FAILED);
    struct ts_run_record run;
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_RUN_NOT_FOUND);
    EXPECT(create_run, suite_create_with(&config, op, two, 2), TS_CREATE_RUN_OK);
    expect_executed();
    EXPECT(create_run, suite_create_with(&config, op, two, 2), TS_CREATE_RUN_OK);
    expect_replayed();
    assert_int_equal(suite_count_events(TS_EVENT_RUN_CREATED), 1);
    config.attempts++;
    EXPECT(create_run, suite_create_with(&config, op, two, 2), TS_CREATE_RUN_CONFIG_MISMATCH);
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_OK);
    assert_int_equal(run.status, TS_RUN_ACTIVE);
    assert_int_equal(run.registered, 2);
    suite_audit();
}

static void limits_hold_for_a_tenant_and_for_all(void **state) {
    (void)state;
    struct ts_shard_limits limits;
    EXPECT(get_run, ts_coord_limits(suite.whole, &suite.tenant, &limits, &suite.detail), TS_GET_RUN_OK);
    assert_int_equal(limits.tenant.current, 0);
    const uint64_t all = limits.global.current;
    const struct ts_run_config config = suite_config();
    EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_OK);

    suite.coord = suite_other(&(struct ts_coord_options){.tenant_shard_max = 1});
    EXPECT(register_shards, suite_register(suite_op(), two, 2), TS_REGISTER_SHARDS_SHARD_LIMIT_EXCEEDED);
    assert_int_equal(suite.detail.limit.scope, TS_LIMIT_PER_TENANT);
    ts_coord_free(suite.coord);
    suite.coord = suite_other(&(struct ts_coord_options){.global_shard_max = all + 1});
    EXPECT(register_shards, suite_register(suite_op(), two, 2), TS_REGISTER_SHARDS_SHARD_LIMIT_EXCEEDED);
    assert_int_equal(suite.detail.limit.scope, TS_LIMIT_GLOBAL);
    ts_coord_free(suite.coord);
    suite.coord = suite_other(&(struct ts_coord_options){.tenant_shard_max = 2, .global_shard_max = all + 2});
    EXPECT(register_shards, suite_register(suite_op(), two, 2), TS_REGISTER_SHARDS_OK);
    /* Shards that a split makes also count towards the limits. */
    const struct ts_lease lease = suite_must_acquire(11, "a");
    EXPECT(split, suite_split_residual(&lease, suite_op(), TS_BYTES("kEy-d"), (struct ts_cursor){0}),
           TS_SPLIT_SPLIT_INVALID);
    assert_int_equal(suite.detail.split.error, TS_SPLIT_FAULT_SHARD_LIMIT_EXCEEDED);
    ts_coord_free(suite.coord);
    suite.coord = suite.whole;
    EXPECT(split, suite_split_residual(&lease, suite_op(), TS_BYTES("kEy-d"), (struct ts_cursor){0}),
           TS_SPLIT_OK);
    EXPECT(get_run, ts_coord_limits(suite.whole, &suite.tenant, &limits, &suite.detail), TS_GET_RUN_OK);
    assert_int_equal(limits.tenant.current, 3);
    assert_int_equal(limits.global.current, all + 3);
    suite_audit();
    /* The end of the run frees its part of the limits. */
    EXPECT(run_transition, suite_end(TS_RUN_OP_CANCEL_RUN, suite_op()), TS_RUN_TRANSITION_OK);
    EXPECT(get_run, ts_coord_limits(suite.whole, &suite.tenant, &limits, &suite.detail), TS_GET_RUN_OK);
    assert_int_equal(limits.tenant.current, 0);
    assert_int_equal(limits.global.current, all);
    suite_audit();
}

static void records_above_their_limit_are_refused(void **state) {
    (void)state;
    const struct ts_run_config config = suite_config();
    EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_OK);
    suite.coord = suite_other(&(struct ts_coord_options){.record_max = 500});
    EXPECT(register_shards, suite_register(suite_op(), two, 2), TS_REGISTER_SHARDS_RESOURCE_EXHAUSTED);
    assert_string_equal(suite.detail.resource, "record");
    ts_coord_free(suite.coord);
    suite.coord = suite.whole;
    suite_audit();
}

static void a_registration_of_ten_thousand_shards_is_one_transaction(void **state) {
    (void)state;
    enum { MANY = TS_REGISTER_MAX };
    struct ts_new_shard *shards = calloc(MANY + 1, sizeof *shards);
    char(*keys)[12] = calloc(MANY + 2, sizeof *keys);
    assert_true(shards != NULL && keys != NULL);
    for (size_t i = 0; i <= MANY + 1; i++)
        snprintf(keys[i], sizeof keys[i], "kEy-%06zu", i);
    for (size_t i = 0; i <= MANY; i++)
        shards[i].spec.range =
            (struct ts_key_range){ts_bytes_of_cstring(keys[i]), ts_bytes_of_cstring(keys[i + 1])};
    const struct ts_run_config config = suite_config();
    EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_OK);
    EXPECT(register_shards, suite_register(suite_op(), shards, MANY + 1),
           TS_REGISTER_SHARDS_MANIFEST_INVALID);
    assert_int_equal(suite.detail.manifest.error, TS_MANIFEST_FAULT_TOO_MANY_SHARDS);
    const struct ts_op_id op = suite_op();
    EXPECT(register_shards, suite_register(op, shards, MANY), TS_REGISTER_SHARDS_OK);
    expect_executed();
    EXPECT(register_shards, suite_register(op, shards, MANY), TS_REGISTER_SHARDS_OK);
    expect_replayed();
    struct ts_shard_counts counts;
    const struct ts_coord_run_query query = {suite.tenant, suite.run};
    EXPECT(get_run, ts_coord_run_counts(suite.coord, &query, &counts, &suite.detail), TS_GET_RUN_OK);
    assert_int_equal(counts.active, MANY);
    EXPECT(claim, suite_claim("a", NULL), TS_CLAIM_OK);
    assert_int_equal(suite.view.capacity.available_count, TS_CAPACITY_MAX);
    EXPECT(run_transition, suite_end(TS_RUN_OP_FAIL_RUN, suite_op()), TS_RUN_TRANSITION_OK);
    free(shards);
    free(keys);
}

static void ended_runs_stay_ended(void **state) {
    (void)state;
    static const enum ts_run_op_kind kinds[] = {TS_RUN_OP_COMPLETE_RUN, TS_RUN_OP_FAIL_RUN,
                                                TS_RUN_OP_CANCEL_RUN};
    static const enum ts_run_status statuses[] = {TS_RUN_DONE, TS_RUN_FAILED, TS_RUN_CANCELLED};
    EXPECT(run_transition, suite_end(TS_RUN_OP_FAIL_RUN, suite_op()), TS_RUN_TRANSITION_RUN_NOT_FOUND);
    for (size_t i = 0; i < 3; i++) {
        suite.run.v += 100000;
        suite_make_run();
        struct ts_lease leases[3];
        for (uint64_t shard = 1; shard <= 3; shard++) {
            leases[shard - 1] = suite_must_acquire(shard, "a");
            if (shard == 2)
                EXPECT(park, suite_park(&leases[1], suite_op(), TS_PARK_POISONED), TS_PARK_OK);
            else if (shard == 3 || kinds[i] == TS_RUN_OP_COMPLETE_RUN)
                EXPECT(complete,
                       suite_complete(&leases[shard - 1], suite_op(), shard == 1 ? KEY("c") : KEY("q")),
                       TS_COMPLETE_OK);
        }
        const struct ts_op_id op = suite_op();
        EXPECT(run_transition, suite_end(kinds[i], op), TS_RUN_TRANSITION_OK);
        expect_executed();
        EXPECT(run_transition, suite_end(kinds[i], op), TS_RUN_TRANSITION_OK);
        expect_replayed();
        EXPECT(run_transition, suite_end(kinds[(i + 1) % 3], op), TS_RUN_TRANSITION_OP_ID_CONFLICT);
        EXPECT(run_transition, suite_end(kinds[i], suite_op()), TS_RUN_TRANSITION_RUN_TERMINAL);
        struct ts_run_record run;
        EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_OK);
        assert_int_equal(run.status, statuses[i]);
        assert_int_not_equal(run.ended_at.ms, 0);
        /* An ended run can no longer change. */
        EXPECT(register_shards, suite_register(suite_op(), two, 2), TS_REGISTER_SHARDS_WRONG_STATUS);
        EXPECT(unpark, suite_unpark(2, suite_op()), TS_UNPARK_RUN_TERMINAL);
        EXPECT(acquire, suite_acquire(1, "b", NULL), TS_ACQUIRE_SHARD_TERMINAL);
        EXPECT(claim, suite_claim("b", NULL), TS_CLAIM_NONE_AVAILABLE);
        assert_false(suite.detail.has_deadline);
        EXPECT(renew, suite_renew(&leases[0]), TS_RENEW_SHARD_TERMINAL);
        EXPECT(checkpoint, suite_checkpoint(&leases[0], suite_op(), KEY("d")), TS_CHECKPOINT_SHARD_TERMINAL);
        assert_int_equal(suite.detail.shard_status, TS_SHARD_PARKED);
        suite_audit();
    }
}

static void users_cannot_write_keys_of_coordination(void **state) {
    (void)state;
    suite_make_run();
    uint8_t key[11] = {0, 'c', 'g'};
    ts_be64_store(suite.run.v, key + 3);
    const struct ts_op ops[] = {{.kind = TS_OP_DEL, .key = ts_bytes_of(key, sizeof key)}};
    static struct ts_txn_result result;
    ts_txn_run(suite.coordinator, ops, 1, NULL, &result);
    assert_int_equal(result.outcome, TS_TXN_REFUSED);
    (void)suite_must_acquire(1, "a");
    suite_audit();
}

static bool count_runs(void *context, const struct ts_run_record *run) {
    size_t *count = context;
    assert_true(ts_tenant_id_equal(&run->tenant, &suite.tenant));
    return ++*count < 1000;
}

static bool stop_at_first(void *context, const struct ts_run_record *run) {
    (void)run;
    ++*(size_t *)context;
    return false;
}

static void a_tenant_lists_its_own_runs(void **state) {
    (void)state;
    const struct ts_run_config config = suite_config();
    for (int i = 0; i < 5; i++) {
        EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_OK);
        if (i < 2)
            EXPECT(run_transition, suite_end(TS_RUN_OP_CANCEL_RUN, suite_op()), TS_RUN_TRANSITION_OK);
        suite.run.v += 100000;
    }
    struct ts_coord_runs_query query = {.filter = {.tenant = suite.tenant}};
    size_t count = 0;
    EXPECT(get_run, ts_coord_list_runs(suite.coord, &query, count_runs, &count, &suite.detail),
           TS_GET_RUN_OK);
    assert_int_equal(count, 5);
    query.filter.by_status = true;
    query.filter.status = TS_RUN_CANCELLED;
    count = 0;
    EXPECT(get_run, ts_coord_list_runs(suite.coord, &query, count_runs, &count, &suite.detail),
           TS_GET_RUN_OK);
    assert_int_equal(count, 2);
    count = 0;
    EXPECT(get_run, ts_coord_list_runs(suite.coord, &query, stop_at_first, &count, &suite.detail),
           TS_GET_RUN_OK);
    assert_int_equal(count, 1);
    suite.run.v -= 500000;
}

struct listed {
    size_t count;
    uint64_t last;
};

static bool list_shard(void *context, const struct ts_coord_shard_view *shard) {
    struct listed *listed = context;
    assert_true(listed->count == 0 || shard->record->key.shard.v > listed->last);
    assert_int_equal(ts_coord_place_of_shard(suite.coord, shard->record->key.shard), shard->place);
    listed->last = shard->record->key.shard.v;
    listed->count++;
    return true;
}

static size_t list(const struct ts_coord_shard_query *query) {
    struct listed listed = {0};
    EXPECT(get_run, ts_coord_list_shards(suite.coord, query, list_shard, &listed, &suite.detail),
           TS_GET_RUN_OK);
    return listed.count;
}

static void shards_are_listed_in_order_and_counted(void **state) {
    (void)state;
    enum { MANY = 700 };
    static struct ts_new_shard shards[MANY];
    static char keys[MANY + 1][12];
    for (size_t i = 0; i <= MANY; i++)
        snprintf(keys[i], sizeof keys[i], "kEy-%06zu", i);
    for (size_t i = 0; i < MANY; i++)
        shards[i] = (struct ts_new_shard){
            .has_id = true,
            .id = {i + 1},
            .spec.range = {ts_bytes_of_cstring(keys[i]), ts_bytes_of_cstring(keys[i + 1])}};
    const struct ts_run_config config = suite_config();
    EXPECT(create_run, suite_create_with(&config, suite_op(), shards, MANY), TS_CREATE_RUN_OK);
    struct ts_coord_shard_query query = {.run = {suite.tenant, suite.run}};
    assert_int_equal(list(&query), MANY);
    query.has_after = true;
    query.after.v = 690;
    assert_int_equal(list(&query), 10);
    const struct ts_lease lease = suite_must_acquire(5, "a");
    const struct ts_cursor cursor = {.has_key = true, .last_key = ts_bytes_of_cstring(keys[4])};
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), cursor), TS_CHECKPOINT_OK);
    const struct ts_lease parked = suite_must_acquire(6, "a");
    EXPECT(park, suite_park(&parked, suite_op(), TS_PARK_NOT_FOUND), TS_PARK_OK);
    query = (struct ts_coord_shard_query){.run = query.run, .filter = {.only_leased = true}};
    assert_int_equal(list(&query), 1);
    query.filter = (struct ts_shard_filter){.by_status = true, .status = TS_SHARD_PARKED};
    assert_int_equal(list(&query), 1);
    struct ts_run_progress *progress = calloc(1, sizeof *progress);
    assert_non_null(progress);
    EXPECT(get_run, ts_coord_run_progress(suite.coord, &query.run, progress, &suite.detail), TS_GET_RUN_OK);
    assert_int_equal(progress->counts.active, MANY - 1);
    assert_int_equal(progress->counts.parked, 1);
    assert_int_equal(progress->leased, 1);
    assert_true(progress->has_watermark);
    struct ts_shard_counts counts;
    EXPECT(get_run, ts_coord_run_counts(suite.coord, &query.run, &counts, &suite.detail), TS_GET_RUN_OK);
    assert_memory_equal(&counts, &progress->counts, sizeof counts);
    free(progress);
    suite_audit();
}

const struct CMUnitTest suite_run_tests[] = {
    suite_test(a_run_is_made_once),
    suite_test(a_run_is_its_tenants_alone),
    suite_test(a_foreign_tenants_name_is_never_shown),
    suite_test(a_foreign_claim_learns_nothing_of_a_run),
    suite_test(shards_are_registered_once),
    suite_test(runs_of_a_tenant_have_numbers_in_their_order),
    suite_test(missing_ids_are_random_and_the_same_in_a_repetition),
    suite_test(bad_manifests_are_refused_by_name),
    suite_test(a_run_and_its_shards_are_made_together_and_again),
    suite_test(limits_hold_for_a_tenant_and_for_all),
    suite_test(records_above_their_limit_are_refused),
    suite_test(a_registration_of_ten_thousand_shards_is_one_transaction),
    suite_test(ended_runs_stay_ended),
    suite_test(users_cannot_write_keys_of_coordination),
    suite_test(a_tenant_lists_its_own_runs),
    suite_test(shards_are_listed_in_order_and_counted),
    {0},
};
