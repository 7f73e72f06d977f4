/* Registers a list of shards in several steps. */
#include "suite.h"

#include "store/cluster/cluster.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* With steps of two shards, there are more steps than the op-log of a run remembers. */
enum { SHARDS = 25, STEP = 2 };

static struct ts_new_shard shards[SHARDS];
static char keys[SHARDS + 1][16];
static struct ts_shard_id ids[SHARDS], other_ids[SHARDS];
static const struct ts_op_id list_op = {77};

static void fill(void) {
    for (size_t i = 0; i <= SHARDS; i++)
        snprintf(keys[i], sizeof keys[i], "kEy-%04zu", i);
    for (size_t i = 0; i < SHARDS; i++)
        shards[i] = (struct ts_new_shard){
            .spec = {.range = {ts_bytes_of_cstring(keys[i]), ts_bytes_of_cstring(keys[i + 1])},
                     .metadata = TS_BYTES("mEtA")}};
}

static struct ts_coord_list_op list_of(size_t step_max) {
    return (struct ts_coord_list_op){
        .create = {.tenant = suite.tenant, .run = suite.run, .config = suite_config()},
        .shards = {shards, SHARDS},
        .op_id = list_op,
        .step_max = step_max};
}

static enum ts_create_run_error register_list(const struct ts_coord_list_op *op) {
    return ts_coord_create_run_in_steps(suite.coord, op, ids, &suite.outcome, &suite.detail);
}

/* Returns the registration of a single step. A test that makes only some steps acts like a process that ended
 * after them. */
static struct ts_register_op step_at(size_t from, size_t count) {
    static struct ts_new_shard step[SHARDS];
    for (size_t i = 0; i < count; i++) {
        step[i] = shards[from + i];
        step[i].has_id = true;
        step[i].id = ts_drawn_shard_id(suite.run, list_op, (uint32_t)(from + i));
    }
    return (struct ts_register_op){.tenant = suite.tenant,
                                   .run = suite.run,
                                   .op_id =
                                       ts_step_op_id(suite.run, list_op, (struct ts_step_place){from, count}),
                                   .shards = {step, count},
                                   .announced = ts_announced_of((struct ts_new_shards){shards, SHARDS}),
                                   .from = from};
}

static void begin_list(size_t steps) {
    for (size_t i = 0; i < steps; i++) {
        const struct ts_register_op op = step_at(i * STEP, STEP);
        const struct ts_create_run_op create = {
            .tenant = suite.tenant, .run = suite.run, .config = suite_config(), .announced = op.announced};
        if (i == 0)
            EXPECT(create_run,
                   ts_coord_create_run_with_shards(suite.coord, &create, &op, &suite.memory, &suite.outcome,
                                                   &suite.detail),
                   TS_CREATE_RUN_OK);
        else
            EXPECT(register_shards,
                   ts_coord_register_shards(suite.coord, &op, &suite.memory, &suite.outcome, &suite.detail),
                   TS_REGISTER_SHARDS_OK);
        expect_executed();
    }
}

static void expect_run(enum ts_run_status status, uint64_t registered) {
    struct ts_run_record run;
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_OK);
    assert_int_equal(run.status, status);
    assert_int_equal(run.registered, registered);
    assert_int_equal(run.announced.count, SHARDS);
}

static bool count_shard(void *context, const struct ts_coord_shard_view *shard) {
    size_t *count = context;
    bool is_listed = false;
    for (size_t i = 0; i < SHARDS; i++)
        is_listed = is_listed || ids[i].v == shard->record->key.shard.v;
    assert_true(is_listed);
    ++*count;
    return true;
}

static void expect_whole_list(void) {
    size_t count = 0;
    const struct ts_coord_shard_query query = {.run = {suite.tenant, suite.run}};
    EXPECT(get_run, ts_coord_list_shards(suite.coord, &query, count_shard, &count, &suite.detail),
           TS_GET_RUN_OK);
    assert_int_equal(count, SHARDS);
    expect_run(TS_RUN_ACTIVE, SHARDS);
    suite_audit();
}

static void a_list_is_registered_in_steps_and_a_repetition_changes_nothing(void **state) {
    (void)state;
    fill();
    struct ts_coord_list_op op = list_of(STEP);
    EXPECT(create_run, register_list(&op), TS_CREATE_RUN_OK);
    expect_executed();
    memcpy(other_ids, ids, sizeof ids);
    expect_whole_list();
    assert_int_equal(suite_count_events(TS_EVENT_RUN_CREATED), 1);
    assert_int_equal(suite_count_events(TS_EVENT_SHARDS_REGISTERED), (SHARDS + STEP - 1) / STEP);
    /* Repeats the registration with the same steps, with other steps, and in a single step. Then the run
     * ends, and the registration with the same steps is repeated again. */
    struct ts_lease lease;
    EXPECT(claim, suite_claim("a", &lease), TS_CLAIM_OK);
    EXPECT(park, suite_park(&lease, suite_op(), TS_PARK_OTHER), TS_PARK_OK);
    for (size_t i = 0; i < 4; i++) {
        const size_t steps[] = {STEP, 7, 0, STEP};
        op.step_max = steps[i];
        memset(ids, 0, sizeof ids);
        EXPECT(create_run, register_list(&op), TS_CREATE_RUN_OK);
        expect_replayed();
        assert_memory_equal(ids, other_ids, sizeof ids);
        if (i == 2)
            EXPECT(run_transition, suite_end(TS_RUN_OP_CANCEL_RUN, suite_op()), TS_RUN_TRANSITION_OK);
    }
    assert_int_equal(suite_count_events(TS_EVENT_SHARDS_REGISTERED), (SHARDS + STEP - 1) / STEP);
    suite_audit();
}

static void the_same_id_with_another_list_or_configuration_is_refused(void **state) {
    (void)state;
    fill();
    struct ts_coord_list_op op = list_of(STEP);
    EXPECT(create_run, register_list(&op), TS_CREATE_RUN_OK);
    char text[512];
    for (int i = 0; i < 4; i++) {
        fill();
        op = list_of(STEP);
        if (i == 0)
            shards[SHARDS - 1].spec.metadata = TS_BYTES("mEtA2");
        if (i == 1)
            op.shards.count--;
        if (i == 2)
            shards[3].spec.range.end = TS_BYTES("kEy-0003x");
        if (i == 3)
            op.create.config.attempts++;
        EXPECT(create_run, register_list(&op), TS_CREATE_RUN_CONFIG_MISMATCH);
        assert_int_equal(suite.detail.is_other_list, i != 3);
        (void)ts_error_display(TS_VARIANT_CONFIG_MISMATCH, &suite.detail, text, sizeof text);
        assert_non_null(strstr(text, i != 3 ? "another list" : "another configuration"));
    }
    fill();
    /* Registers a step of another list after the op-log has dropped the first step. */
    struct ts_register_op step = step_at(0, STEP);
    step.announced.digest[0] ^= 1;
    EXPECT(register_shards,
           ts_coord_register_shards(suite.coord, &step, &suite.memory, &suite.outcome, &suite.detail),
           TS_REGISTER_SHARDS_OP_ID_CONFLICT);
    expect_whole_list();
}

static void a_half_registered_run_gives_nothing_and_continues(void **state) {
    (void)state;
    fill();
    begin_list(3);
    expect_run(TS_RUN_INITIALIZING, 3 * STEP);
    suite_audit();
    struct ts_lease lease;
    EXPECT(claim, suite_claim("a", &lease), TS_CLAIM_NONE_AVAILABLE);
    assert_false(suite.detail.has_deadline);
    const struct ts_shard_id first = ts_drawn_shard_id(suite.run, list_op, 0);
    EXPECT(acquire, suite_acquire(first.v, "a", &lease), TS_ACQUIRE_SHARD_NOT_FOUND);
    const struct ts_new_shard more = {.spec.range = RANGE("x", "z")};
    EXPECT(register_shards, suite_register(suite_op(), &more, 1), TS_REGISTER_SHARDS_WRONG_STATUS);
    char text[512];
    (void)ts_error_display(TS_VARIANT_WRONG_STATUS, &suite.detail, text, sizeof text);
    assert_non_null(strstr(text, "several steps"));
    EXPECT(run_transition, suite_end(TS_RUN_OP_COMPLETE_RUN, suite_op()), TS_RUN_TRANSITION_WRONG_STATUS);
    /* The first of these steps repeats an earlier step. The second step leaves a gap. */
    struct ts_register_op step = step_at(STEP, STEP);
    EXPECT(register_shards,
           ts_coord_register_shards(suite.coord, &step, &suite.memory, &suite.outcome, &suite.detail),
           TS_REGISTER_SHARDS_OK);
    expect_replayed();
    step = step_at(4 * STEP, STEP);
    EXPECT(register_shards,
           ts_coord_register_shards(suite.coord, &step, &suite.memory, &suite.outcome, &suite.detail),
           TS_REGISTER_SHARDS_WRONG_STATUS);
    const struct ts_coord_list_op op = list_of(5);
    EXPECT(create_run, register_list(&op), TS_CREATE_RUN_OK);
    expect_executed();
    assert_true(ids[0].v == first.v);
    expect_whole_list();
    EXPECT(claim, suite_claim("a", &lease), TS_CLAIM_OK);
}

static void a_half_registered_run_can_be_cancelled_and_deleted(void **state) {
    (void)state;
    fill();
    struct ts_shard_limits before, after;
    EXPECT(get_run, ts_coord_limits(suite.coord, &suite.tenant, &before, &suite.detail), TS_GET_RUN_OK);
    begin_list(4);
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_WRONG_STATUS);
    EXPECT(run_transition, suite_end(TS_RUN_OP_CANCEL_RUN, suite_op()), TS_RUN_TRANSITION_OK);
    EXPECT(get_run, ts_coord_limits(suite.coord, &suite.tenant, &after, &suite.detail), TS_GET_RUN_OK);
    assert_int_equal(after.tenant.current, before.tenant.current);
    assert_int_equal(after.global.current, before.global.current);
    suite_audit();
    const struct ts_coord_list_op op = list_of(9);
    EXPECT(create_run, register_list(&op), TS_CREATE_RUN_REGISTER_SHARDS_FAILED);
    assert_int_equal(suite.detail.nested, TS_VARIANT_WRONG_STATUS);
    assert_int_equal(suite.detail.run_status, TS_RUN_CANCELLED);
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_OK);
    assert_int_equal(suite.deleted.shards, 4 * STEP);
    EXPECT(create_run, register_list(&op), TS_CREATE_RUN_OK);
    expect_executed();
    expect_whole_list();
}

static void a_list_that_does_not_fit_is_not_begun(void **state) {
    (void)state;
    fill();
    struct ts_run_record run;
    struct ts_coord_list_op op = list_of(STEP);
    struct ts_coord *small = suite_other(&(struct ts_coord_options){.tenant_shard_max = SHARDS - 1});
    suite.coord = small;
    EXPECT(create_run, register_list(&op), TS_CREATE_RUN_REGISTER_SHARDS_FAILED);
    assert_int_equal(suite.detail.nested, TS_VARIANT_SHARD_LIMIT_EXCEEDED);
    suite.coord = suite.whole;
    ts_coord_free(small);
    op.create.config.shard_max = SHARDS - 1;
    EXPECT(create_run, register_list(&op), TS_CREATE_RUN_REGISTER_SHARDS_FAILED);
    assert_int_equal(suite.detail.nested, TS_VARIANT_MANIFEST_INVALID);
    assert_int_equal(suite.detail.manifest.error, TS_MANIFEST_FAULT_TOO_MANY_SHARDS);
    op.create.config.lease_duration_ms = 1;
    EXPECT(create_run, register_list(&op), TS_CREATE_RUN_INVALID_CONFIG);
    /* Two shards that overlap are in different steps. */
    op = list_of(STEP);
    shards[SHARDS - 1].spec.range.start = shards[0].spec.range.start;
    EXPECT(create_run, register_list(&op), TS_CREATE_RUN_REGISTER_SHARDS_FAILED);
    assert_int_equal(suite.detail.nested, TS_VARIANT_MANIFEST_INVALID);
    assert_int_equal(suite.detail.manifest.error, TS_MANIFEST_FAULT_OVERLAPPING_RANGES);
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_RUN_NOT_FOUND);
}

static void read_unit(const uint8_t *target, struct ts_rows *ret_rows) {
    uint8_t key[TS_COORD_UNIT_KEY_LEN];
    ts_coord_unit_key(suite.run, target, key);
    const struct ts_bytes bytes = ts_bytes_of(key, sizeof key);
    struct ts_call call = {.kind = TS_CALL_READ, .keys = &bytes, .key_count = 1, .rows = ret_rows};
    const uint32_t home = ts_coord_target_home(ts_coord_router(suite.coord), target).v;
    assert_int_equal(ts_store_run(ts_cluster_store(suite.cluster, home), &call), TS_STORE_OK);
}

static void units_are_registered_with_their_shards_at_the_target_home(void **state) {
    (void)state;
    static struct ts_coord_target_keys targets[SHARDS];
    for (size_t i = 0; i < SHARDS; i++) {
        const uint8_t target[TS_COORD_TARGET_LEN] = {[0] = (uint8_t)i, [15] = 9};
        targets[i] = ts_coord_target_keys_of(target);
        shards[i] = (struct ts_new_shard){.has_id = true,
                                          .spec.range = ts_coord_target_range(&targets[i]),
                                          .unit = ts_bytes_of(targets[i].bytes, 1 + i % 3)};
        assert_true(ts_coord_target_shard_id(suite.run, target, ts_coord_router(suite.coord), &shards[i].id));
    }
    const struct ts_coord_list_op op = list_of(4);
    EXPECT(create_run, register_list(&op), TS_CREATE_RUN_OK);
    struct ts_rows rows = {0};
    for (size_t i = 0; i < SHARDS; i++) {
        read_unit(targets[i].bytes, &rows);
        assert_true(rows.rows[0].version != 0);
        assert_true(ts_bytes_equal(rows.rows[0].value, shards[i].unit));
    }
    expect_whole_list();
    EXPECT(run_transition, suite_end(TS_RUN_OP_CANCEL_RUN, suite_op()), TS_RUN_TRANSITION_OK);
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_OK);
    assert_int_equal(suite.deleted.units, SHARDS);
    assert_int_equal(suite.deleted.shards, SHARDS);
    read_unit(targets[0].bytes, &rows);
    assert_int_equal(rows.rows[0].version, 0);
    ts_rows_release(&rows);
}

enum { THREADS = 4 };

struct thread {
    pthread_t thread;
    struct ts_coord *coord;
    struct ts_coord_list_op op;
    struct ts_shard_id ids[SHARDS];
    struct ts_coord_detail detail;
    struct ts_coord_outcome outcome;
    enum ts_create_run_error error;
};

static void *run_thread(void *context) {
    struct thread *mine = context;
    mine->error =
        ts_coord_create_run_in_steps(mine->coord, &mine->op, mine->ids, &mine->outcome, &mine->detail);
    return NULL;
}

static void several_submitters_of_one_list_make_one_run(void **state) {
    (void)state;
    fill();
    struct ts_coord *quiet = ts_coord_new(suite.cluster, suite.coordinator, NULL);
    assert_non_null(quiet);
    static struct thread threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.coord = quiet, .op = list_of(1 + i)};
        assert_int_equal(pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
    for (size_t i = 0; i < THREADS; i++) {
        suite.detail = threads[i].detail;
        EXPECT(create_run, threads[i].error, TS_CREATE_RUN_OK);
        assert_memory_equal(threads[i].ids, threads[0].ids, sizeof threads[0].ids);
    }
    ts_coord_free(quiet);
    memcpy(ids, threads[0].ids, sizeof ids);
    expect_whole_list();
}

const struct CMUnitTest suite_step_tests[] = {
    suite_test(a_list_is_registered_in_steps_and_a_repetition_changes_nothing),
    suite_test(the_same_id_with_another_list_or_configuration_is_refused),
    suite_test(a_half_registered_run_gives_nothing_and_continues),
    suite_test(a_half_registered_run_can_be_cancelled_and_deleted),
    suite_test(a_list_that_does_not_fit_is_not_begun),
    suite_test(units_are_registered_with_their_shards_at_the_target_home),
    suite_test(several_submitters_of_one_list_make_one_run),
    {0},
};
