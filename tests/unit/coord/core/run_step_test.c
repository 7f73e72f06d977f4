#include "coord/core/run_step.h"

#include "world.h"

static struct ts_run_record run;
static struct ts_run_step step;
static struct ts_coord_detail detail;
static struct ts_manifest_memory memory;
static struct ts_register_env env;
static struct ts_new_shard shards[3];

static struct ts_create_run_op create_op(const char *tenant) {
    return (struct ts_create_run_op){
        .tenant = tenant_named(tenant), .run = {7}, .config = ts_run_config_default()};
}

static void keep(void) {
    if (!step.write)
        return;
    uint8_t bytes[TS_RUN_RECORD_ENCODED_MAX];
    size_t len;
    assert_int_equal(ts_run_record_encode(&step.record, bytes, &len), TS_RECORD_OK);
    assert_int_equal(ts_run_record_decode(ts_bytes_of(bytes, len), &run), TS_RECORD_OK);
    if (step.write_guard) {
        assert_int_equal(step.guard.status, run.status);
        assert_true(ts_run_config_equal(&step.guard.config, &run.config));
    }
}

static int created(void **state) {
    (void)state;
    memset(&step, 0, sizeof step);
    memset(&detail, 0, sizeof detail);
    const struct ts_create_run_op op = create_op("acme");
    const struct ts_logical_time now = {1000};
    assert_int_equal(ts_create_run_step(NULL, &op, &(struct ts_create_env){now, 4}, &step, &detail),
                     TS_CREATE_RUN_OK);
    keep();
    env =
        (struct ts_register_env){.now = {1001}, .record_max = TS_RECORD_MAX, .limits = {{0, 100}, {0, 1000}}};
    shards[0] = child_of("a", "h");
    shards[1] = child_of("h", "p");
    shards[2] = child_of("p", "");
    return 0;
}

static enum ts_register_shards_error register_as(const char *tenant, uint64_t op_id, size_t count) {
    const struct ts_register_op op = {
        .tenant = tenant_named(tenant), .run = {7}, .op_id = {op_id}, .shards = {shards, count}};
    enum ts_register_shards_error error = ts_register_shards_step(&run, &env, &op, &memory, &step, &detail);
    if (error == TS_REGISTER_SHARDS_OK)
        keep();
    return error;
}

static enum ts_run_transition_error end_as(const char *tenant, uint64_t op_id, enum ts_run_op_kind kind,
                                           uint64_t active) {
    const struct ts_end_run_op op = {tenant_named(tenant), {7}, {op_id}, kind};
    const struct ts_logical_time now = {2000};
    enum ts_run_transition_error error = ts_end_run_step(&run, &op, active, now, &step, &detail);
    if (error == TS_RUN_TRANSITION_OK)
        keep();
    return error;
}

static void a_run_is_made_once(void **state) {
    (void)state;
    assert_int_equal(run.status, TS_RUN_INITIALIZING);
    assert_int_equal(run.created_at.ms, 1000);
    assert_int_equal(run.number, 5);
    assert_int_equal(step.event.kind, TS_EVENT_RUN_CREATED);
    assert_true(step.write_guard);
    const struct ts_logical_time now = {1001};
    struct ts_create_run_op op = create_op("acme");
    assert_int_equal(ts_create_run_step(&run, &op, &(struct ts_create_env){now, 4}, &step, &detail),
                     TS_CREATE_RUN_RUN_ALREADY_EXISTS);
    assert_int_equal(detail.shard.run.v, 7);
    op = create_op("other");
    assert_int_equal(ts_create_run_step(&run, &op, &(struct ts_create_env){now, 4}, &step, &detail),
                     TS_CREATE_RUN_RUN_ALREADY_EXISTS);
    op.config.lease_duration_ms = 5;
    assert_int_equal(ts_create_run_step(NULL, &op, &(struct ts_create_env){now, 4}, &step, &detail),
                     TS_CREATE_RUN_INVALID_CONFIG);
    assert_int_equal(detail.config.error, TS_RUN_CONFIG_FAULT_LEASE_DURATION);
}

static void making_a_run_with_shards_may_be_repeated(void **state) {
    (void)state;
    const struct ts_logical_time now = {1001};
    struct ts_create_run_op op = create_op("acme");
    assert_int_equal(ts_ensure_run_step(NULL, &op, &(struct ts_create_env){now, 4}, &step, &detail),
                     TS_CREATE_RUN_OK);
    assert_int_equal(step.outcome, TS_OUTCOME_EXECUTED);
    assert_int_equal(ts_ensure_run_step(&run, &op, &(struct ts_create_env){now, 4}, &step, &detail),
                     TS_CREATE_RUN_OK);
    assert_int_equal(step.outcome, TS_OUTCOME_REPLAYED);
    assert_false(step.write || step.write_guard);
    op.config.attempts = 9;
    assert_int_equal(ts_ensure_run_step(&run, &op, &(struct ts_create_env){now, 4}, &step, &detail),
                     TS_CREATE_RUN_CONFIG_MISMATCH);
    op = create_op("other");
    assert_int_equal(ts_ensure_run_step(&run, &op, &(struct ts_create_env){now, 4}, &step, &detail),
                     TS_CREATE_RUN_GET_RUN_FAILED);
    assert_int_equal(detail.nested, TS_VARIANT_TENANT_MISMATCH);
    op.config.attempts = 9999;
    assert_int_equal(ts_ensure_run_step(&run, &op, &(struct ts_create_env){now, 4}, &step, &detail),
                     TS_CREATE_RUN_INVALID_CONFIG);
    assert_int_equal(ts_create_run_error_from_register(TS_REGISTER_SHARDS_WRONG_STATUS, &detail),
                     TS_CREATE_RUN_REGISTER_SHARDS_FAILED);
    assert_int_equal(detail.nested, TS_VARIANT_WRONG_STATUS);
    assert_int_equal(ts_create_run_error_from_register(TS_REGISTER_SHARDS_OK, &detail), TS_CREATE_RUN_OK);
    assert_int_equal(ts_create_run_error_from_get_run(TS_GET_RUN_OK, &detail), TS_CREATE_RUN_OK);
}

static void a_run_is_shown_to_its_tenant_only(void **state) {
    (void)state;
    const struct ts_tenant_id acme = tenant_named("acme"), other = tenant_named("other");
    assert_int_equal(ts_get_run_step(&run, &acme, &detail), TS_GET_RUN_OK);
    assert_int_equal(ts_get_run_step(&run, &other, &detail), TS_GET_RUN_TENANT_MISMATCH);
    assert_true(ts_tenant_id_equal(&detail.expected_tenant, &other));
    assert_int_equal(ts_get_run_step(NULL, &acme, &detail), TS_GET_RUN_RUN_NOT_FOUND);
}

static void registering_makes_the_run_active_and_its_shards(void **state) {
    (void)state;
    assert_int_equal(register_as("acme", 1, 2), TS_REGISTER_SHARDS_OK);
    assert_int_equal(run.status, TS_RUN_ACTIVE);
    assert_int_equal(run.registered, 2);
    assert_true(step.write_guard);
    assert_int_equal(step.event.count, 2);
    const struct ts_register_op op = {
        .tenant = tenant_named("acme"), .run = {7}, .op_id = {1}, .shards = {shards, 2}};
    for (size_t i = 0; i < 2; i++) {
        struct ts_shard_record shard;
        ts_registered_shard(&run, &op, &memory, i, &shard);
        assert_int_equal(ts_shard_record_invariant_broken(&shard), 0);
        assert_false(ts_shard_id_is_derived(shard.key.shard));
        assert_int_equal(shard.fence.v, 0);
    }
    /* More shards may be registered later. That does not change the guard. */
    shards[0] = shards[2];
    assert_int_equal(register_as("acme", 2, 1), TS_REGISTER_SHARDS_OK);
    assert_int_equal(run.registered, 3);
    assert_false(step.write_guard);
}

static void registering_replays_before_status_and_limits(void **state) {
    (void)state;
    assert_int_equal(register_as("acme", 1, 3), TS_REGISTER_SHARDS_OK);
    const struct ts_shard_id first = memory.ids[0];
    assert_int_equal(end_as("acme", 2, TS_RUN_OP_CANCEL_RUN, 3), TS_RUN_TRANSITION_OK);
    env.limits.tenant.max = 0;
    memory.ids[0].v = 0;
    assert_int_equal(register_as("acme", 1, 3), TS_REGISTER_SHARDS_OK);
    assert_int_equal(step.outcome, TS_OUTCOME_REPLAYED);
    assert_true(memory.ids[0].v == first.v);
    assert_int_equal(register_as("acme", 1, 2), TS_REGISTER_SHARDS_OP_ID_CONFLICT);
    assert_int_equal(register_as("other", 1, 3), TS_REGISTER_SHARDS_TENANT_MISMATCH);
    assert_int_equal(register_as("acme", 3, 3), TS_REGISTER_SHARDS_WRONG_STATUS);
    assert_int_equal(detail.run_status, TS_RUN_CANCELLED);
    assert_false(detail.has_target);
}

static void registering_answers_in_its_order(void **state) {
    (void)state;
    const struct ts_register_op op = {
        .tenant = tenant_named("acme"), .run = {7}, .op_id = {1}, .shards = {shards, 3}};
    assert_int_equal(ts_register_shards_step(NULL, &env, &op, &memory, &step, &detail),
                     TS_REGISTER_SHARDS_RUN_NOT_FOUND);
    assert_int_equal(register_as("acme", 1, 0), TS_REGISTER_SHARDS_MANIFEST_INVALID);
    assert_int_equal(detail.manifest.error, TS_MANIFEST_FAULT_EMPTY);
    env.limits = (struct ts_shard_limits){{99, 100}, {999, 1000}};
    env.record_max = 1;
    run.config.shard_max = 2;
    assert_int_equal(register_as("acme", 1, 3), TS_REGISTER_SHARDS_MANIFEST_INVALID);
    assert_int_equal(detail.manifest.error, TS_MANIFEST_FAULT_TOO_MANY_SHARDS);
    assert_int_equal(detail.manifest.limit.max, 2);
    run.config.shard_max = 3;
    assert_int_equal(register_as("acme", 1, 3), TS_REGISTER_SHARDS_SHARD_LIMIT_EXCEEDED);
    assert_int_equal(detail.limit.scope, TS_LIMIT_PER_TENANT);
    env.limits.tenant.max = 200;
    assert_int_equal(register_as("acme", 1, 3), TS_REGISTER_SHARDS_SHARD_LIMIT_EXCEEDED);
    assert_int_equal(detail.limit.scope, TS_LIMIT_GLOBAL);
    /* Shards that exist already do not count against the limits again. */
    env.already_there = 2;
    assert_int_equal(register_as("acme", 1, 3), TS_REGISTER_SHARDS_RESOURCE_EXHAUSTED);
    env.record_max = TS_RECORD_MAX;
    assert_int_equal(register_as("acme", 1, 3), TS_REGISTER_SHARDS_OK);
    assert_int_equal(run.registered, 1);
}

/* Creates a run of three announced shards. */
static void announce(void) {
    const struct ts_create_run_op announcing = {.tenant = tenant_named("acme"),
                                                .run = {7},
                                                .config = ts_run_config_default(),
                                                .announced =
                                                    ts_announced_of((struct ts_new_shards){shards, 3})};
    const struct ts_create_env now = {{1000}, 4};
    assert_int_equal(ts_create_run_step(NULL, &announcing, &now, &step, &detail), TS_CREATE_RUN_OK);
    keep();
}

static enum ts_register_shards_error register_step(uint64_t op_id, size_t from, size_t count) {
    const struct ts_register_op op = {.tenant = tenant_named("acme"),
                                      .run = {7},
                                      .op_id = {op_id},
                                      .shards = {shards + from, count},
                                      .announced = ts_announced_of((struct ts_new_shards){shards, 3}),
                                      .from = from};
    enum ts_register_shards_error error = ts_register_shards_step(&run, &env, &op, &memory, &step, &detail);
    if (error == TS_REGISTER_SHARDS_OK)
        keep();
    return error;
}

static void an_announced_list_makes_the_run_active_when_it_is_complete(void **state) {
    (void)state;
    announce();
    assert_int_equal(run.announced.count, 3);
    assert_int_equal(register_step(1, 0, 1), TS_REGISTER_SHARDS_OK);
    assert_int_equal(run.status, TS_RUN_INITIALIZING);
    assert_int_equal(run.registered, 1);
    assert_false(step.write_guard);
    /* Three calls are refused: a separate registration, a later step, and a step that overlaps an earlier
     * one. */
    assert_int_equal(register_as("acme", 2, 1), TS_REGISTER_SHARDS_WRONG_STATUS);
    assert_int_equal(detail.run_status, TS_RUN_INITIALIZING);
    assert_true(detail.has_target && detail.target_status == TS_RUN_ACTIVE);
    assert_int_equal(register_step(3, 2, 1), TS_REGISTER_SHARDS_WRONG_STATUS);
    assert_int_equal(register_step(3, 0, 2), TS_REGISTER_SHARDS_WRONG_STATUS);
    assert_int_equal(end_as("acme", 9, TS_RUN_OP_COMPLETE_RUN, 0), TS_RUN_TRANSITION_WRONG_STATUS);
    assert_int_equal(register_step(4, 1, 2), TS_REGISTER_SHARDS_OK);
    assert_int_equal(run.status, TS_RUN_ACTIVE);
    assert_true(step.write_guard && step.guard.status == TS_RUN_ACTIVE);
    assert_int_equal(run.registered, 3);
    /* After the announced shards, more shards may be registered, as in every run. */
    shards[0] = child_of("0", "1");
    assert_int_equal(register_as("acme", 5, 1), TS_REGISTER_SHARDS_OK);
    assert_int_equal(run.registered, 4);
}

static void a_step_is_a_replay_however_long_ago_it_was(void **state) {
    (void)state;
    announce();
    assert_int_equal(register_step(1, 0, 1), TS_REGISTER_SHARDS_OK);
    assert_int_equal(register_step(2, 1, 2), TS_REGISTER_SHARDS_OK);
    const struct ts_new_shard first = shards[0];
    for (uint64_t i = 0; i < TS_RUN_OP_LOG_MAX; i++) {
        shards[0] = child_of("0", "1");
        shards[0].has_id = true;
        shards[0].id.v = 100 + i;
        assert_int_equal(register_as("acme", 10 + i, 1), TS_REGISTER_SHARDS_OK);
    }
    shards[0] = first;
    assert_null(ts_run_op_log_find(&run.op_log, (struct ts_op_id){1}));
    assert_int_equal(end_as("acme", 99, TS_RUN_OP_CANCEL_RUN, 0), TS_RUN_TRANSITION_OK);
    assert_int_equal(register_step(1, 0, 1), TS_REGISTER_SHARDS_OK);
    assert_int_equal(step.outcome, TS_OUTCOME_REPLAYED);
    assert_int_equal(register_step(55, 1, 1), TS_REGISTER_SHARDS_OK);
    assert_int_equal(step.outcome, TS_OUTCOME_REPLAYED);
    /* A registration step of another list of shards is a conflict, not a replay. */
    shards[2].spec.metadata = TS_BYTES("other");
    assert_int_equal(register_step(1, 0, 1), TS_REGISTER_SHARDS_OP_ID_CONFLICT);
    assert_int_equal(detail.op_id.v, 1);
}

static void a_list_that_cannot_be_registered_to_its_end_is_not_begun(void **state) {
    (void)state;
    announce();
    env.limits.tenant.max = 2;
    assert_int_equal(register_step(1, 0, 1), TS_REGISTER_SHARDS_SHARD_LIMIT_EXCEEDED);
    assert_int_equal(detail.limit.additional, 3);
    env.limits.tenant.max = 3;
    assert_int_equal(register_step(1, 0, 1), TS_REGISTER_SHARDS_OK);
    env.limits.tenant.current = 1;
    assert_int_equal(register_step(2, 1, 2), TS_REGISTER_SHARDS_OK);
    /* This step ends after the end of the announced list. */
    const struct ts_register_op longer = {.tenant = tenant_named("acme"),
                                          .run = {7},
                                          .op_id = {3},
                                          .shards = {shards, 1},
                                          .announced = run.announced,
                                          .from = 3};
    assert_int_equal(ts_register_shards_step(&run, &env, &longer, &memory, &step, &detail),
                     TS_REGISTER_SHARDS_MANIFEST_INVALID);
    assert_int_equal(detail.manifest.error, TS_MANIFEST_FAULT_TOO_MANY_SHARDS);
    assert_int_equal(detail.manifest.limit.max, 3);
}

static void another_announcement_is_another_configuration(void **state) {
    (void)state;
    announce();
    struct ts_create_run_op op = create_op("acme");
    const struct ts_create_env now = {{1000}, 4};
    assert_int_equal(ts_ensure_run_step(&run, &op, &now, &step, &detail), TS_CREATE_RUN_CONFIG_MISMATCH);
    assert_true(detail.is_other_list);
    op.announced = run.announced;
    assert_int_equal(ts_ensure_run_step(&run, &op, &now, &step, &detail), TS_CREATE_RUN_OK);
    assert_int_equal(step.outcome, TS_OUTCOME_REPLAYED);
    op.config.attempts++;
    assert_int_equal(ts_ensure_run_step(&run, &op, &now, &step, &detail), TS_CREATE_RUN_CONFIG_MISMATCH);
    assert_false(detail.is_other_list);
    op.announced.count = op.config.shard_max + 1;
    assert_int_equal(ts_ensure_run_step(NULL, &op, &now, &step, &detail),
                     TS_CREATE_RUN_REGISTER_SHARDS_FAILED);
    assert_int_equal(detail.nested, TS_VARIANT_MANIFEST_INVALID);
    assert_int_equal(detail.manifest.error, TS_MANIFEST_FAULT_TOO_MANY_SHARDS);
}

static void a_shard_that_is_there_counts_as_registered_if_it_is_the_same(void **state) {
    (void)state;
    shards[0].cursor = (struct ts_cursor)KEY("c");
    assert_int_equal(register_as("acme", 1, 1), TS_REGISTER_SHARDS_OK);
    const struct ts_register_op op = {
        .tenant = tenant_named("acme"), .run = {7}, .op_id = {1}, .shards = {shards, 1}};
    struct ts_shard_record wanted;
    ts_registered_shard(&run, &op, &memory, 0, &wanted);
    struct ts_shard_record existing = wanted;
    assert_true(ts_registered_shard_matches(&existing, &wanted));
    existing.cursor = (struct ts_cursor)KEY("d");
    existing.fence.v = 3;
    assert_true(ts_registered_shard_matches(&existing, &wanted));
    existing.cursor = (struct ts_cursor)KEY("b");
    assert_false(ts_registered_shard_matches(&existing, &wanted));
    existing = wanted;
    existing.spec.range.end = TS_BYTES("g");
    assert_false(ts_registered_shard_matches(&existing, &wanted));
    static const uint8_t spawned[8] = {0, 0, 0, 0, 0, 0, 0, 0x80};
    existing.spawned.bytes = ts_bytes_of(spawned, 8);
    assert_true(ts_registered_shard_matches(&existing, &wanted));
    existing.spec.range.end = TS_BYTES("i");
    assert_false(ts_registered_shard_matches(&existing, &wanted));
    existing = wanted;
    existing.spec.metadata = TS_BYTES("x");
    assert_false(ts_registered_shard_matches(&existing, &wanted));
    existing = wanted;
    existing.tenant = tenant_named("other");
    assert_false(ts_registered_shard_matches(&existing, &wanted));
}

static void runs_end_in_three_ways_and_stay_ended(void **state) {
    static const struct {
        enum ts_run_op_kind kind;
        enum ts_run_status expected;
    } ends[] = {{TS_RUN_OP_COMPLETE_RUN, TS_RUN_DONE},
                {TS_RUN_OP_FAIL_RUN, TS_RUN_FAILED},
                {TS_RUN_OP_CANCEL_RUN, TS_RUN_CANCELLED}};
    for (size_t i = 0; i < 3; i++) {
        created(state);
        assert_int_equal(register_as("acme", 1, 3), TS_REGISTER_SHARDS_OK);
        assert_int_equal(end_as("acme", 2, ends[i].kind, 0), TS_RUN_TRANSITION_OK);
        assert_int_equal(run.status, ends[i].expected);
        assert_int_equal(run.ended_at.ms, 2000);
        assert_true(step.write_guard);
        assert_int_equal(step.event.kind, TS_EVENT_RUN_ENDED);
        assert_int_equal(step.event.run_status, ends[i].expected);
        assert_int_equal(end_as("acme", 2, ends[i].kind, 5), TS_RUN_TRANSITION_OK);
        assert_int_equal(step.outcome, TS_OUTCOME_REPLAYED);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(end_as("acme", 3, ends[k].kind, 0), TS_RUN_TRANSITION_RUN_TERMINAL);
            assert_int_equal(detail.run_status, ends[i].expected);
        }
        assert_int_equal(end_as("acme", 2, ends[(i + 1) % 3].kind, 0), TS_RUN_TRANSITION_OP_ID_CONFLICT);
        assert_int_equal(end_as("other", 2, ends[i].kind, 0), TS_RUN_TRANSITION_TENANT_MISMATCH);
    }
    const struct ts_end_run_op op = {tenant_named("acme"), {7}, {2}, TS_RUN_OP_FAIL_RUN};
    const struct ts_logical_time now = {1};
    assert_int_equal(ts_end_run_step(NULL, &op, 0, now, &step, &detail), TS_RUN_TRANSITION_RUN_NOT_FOUND);
}

static void a_run_without_shards_can_fail_but_not_complete(void **state) {
    (void)state;
    assert_int_equal(end_as("acme", 2, TS_RUN_OP_COMPLETE_RUN, 0), TS_RUN_TRANSITION_WRONG_STATUS);
    assert_int_equal(detail.run_status, TS_RUN_INITIALIZING);
    assert_int_equal(detail.target_status, TS_RUN_DONE);
    assert_int_equal(end_as("acme", 2, TS_RUN_OP_FAIL_RUN, 0), TS_RUN_TRANSITION_OK);
}

static void a_run_remembers_eight_operations(void **state) {
    (void)state;
    char bounds[10][4];
    for (size_t i = 0; i < 10; i++)
        snprintf(bounds[i], sizeof bounds[i], "%zu", i);
    for (size_t i = 0; i < 9; i++) {
        shards[0] = child_of(bounds[i], bounds[i + 1]);
        assert_int_equal(register_as("acme", i + 1, 1), TS_REGISTER_SHARDS_OK);
    }
    assert_int_equal(ts_ring_count(&run.op_log), TS_RUN_OP_LOG_MAX);
    /* The op-log no longer has the registration, so the call is executed again. It adds no shard, because the
     * shards have the same ids. */
    shards[0] = child_of(bounds[0], bounds[1]);
    env.already_there = 1;
    assert_int_equal(register_as("acme", 1, 1), TS_REGISTER_SHARDS_OK);
    assert_int_equal(step.outcome, TS_OUTCOME_EXECUTED);
    assert_int_equal(run.registered, 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_run_is_made_once, created),
        cmocka_unit_test_setup(making_a_run_with_shards_may_be_repeated, created),
        cmocka_unit_test_setup(a_run_is_shown_to_its_tenant_only, created),
        cmocka_unit_test_setup(registering_makes_the_run_active_and_its_shards, created),
        cmocka_unit_test_setup(registering_replays_before_status_and_limits, created),
        cmocka_unit_test_setup(registering_answers_in_its_order, created),
        cmocka_unit_test_setup(a_shard_that_is_there_counts_as_registered_if_it_is_the_same, created),
        cmocka_unit_test_setup(an_announced_list_makes_the_run_active_when_it_is_complete, created),
        cmocka_unit_test_setup(a_step_is_a_replay_however_long_ago_it_was, created),
        cmocka_unit_test_setup(a_list_that_cannot_be_registered_to_its_end_is_not_begun, created),
        cmocka_unit_test_setup(another_announcement_is_another_configuration, created),
        cmocka_unit_test(runs_end_in_three_ways_and_stay_ended),
        cmocka_unit_test_setup(a_run_without_shards_can_fail_but_not_complete, created),
        cmocka_unit_test_setup(a_run_remembers_eight_operations, created),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
