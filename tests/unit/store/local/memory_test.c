#include "store/local/memory.h"

#include "simple.h"

static struct simple_time now;
static struct ts_store_clock clock_of_test;
static struct ts_memory *memory;
static struct ts_store *store;

static int fresh(void **state) {
    (void)state;
    now = (struct simple_time){.wall_ms = 1000000, .monotonic_ns = 1};
    clock_of_test = simple_clock(&now);
    memory = ts_memory_new("memory:test", &clock_of_test);
    store = memory == NULL ? NULL : ts_memory_open(memory);
    return store == NULL;
}

static int clean(void **state) {
    (void)state;
    ts_store_close(store);
    ts_memory_free(memory);
    return 0;
}

static void restart(bool lose_unsynced) {
    ts_memory_restart(memory, (struct ts_memory_crash){.lose_unsynced = lose_unsynced});
}

static void an_unsynced_commit_is_undone_by_a_loss_of_power(void **state) {
    (void)state;
    assert_int_equal(simple_run_put(store, "k", "old"), TS_STORE_OK);
    assert_int_equal(simple_prepare(store, "g", "k", "new"), TS_STORE_OK);
    assert_int_equal(simple_finish(store, TS_CALL_COMMIT, "g"), TS_STORE_OK);
    assert_true(simple_has(store, "k", "new"));
    restart(true);
    assert_true(simple_has(store, "k", "old"));
    assert_int_equal(simple_finish(store, TS_CALL_COMMIT, "g"), TS_STORE_OK);
    restart(false);
    assert_true(simple_has(store, "k", "new"));
    assert_int_equal(simple_finish(store, TS_CALL_COMMIT, "g"), TS_STORE_NO_SUCH_PROMISE);
}

static void an_unsynced_abort_is_undone_by_a_loss_of_power(void **state) {
    (void)state;
    assert_int_equal(simple_prepare(store, "g", "k", "new"), TS_STORE_OK);
    assert_int_equal(simple_finish(store, TS_CALL_ABORT, "g"), TS_STORE_OK);
    restart(true);
    assert_int_equal(simple_finish(store, TS_CALL_ABORT, "g"), TS_STORE_OK);
}

static void the_next_durable_call_makes_a_commit_durable(void **state) {
    (void)state;
    assert_int_equal(simple_prepare(store, "g", "k", "new"), TS_STORE_OK);
    assert_int_equal(simple_finish(store, TS_CALL_COMMIT, "g"), TS_STORE_OK);
    assert_int_equal(simple_run_put(store, "other", "1"), TS_STORE_OK);
    restart(true);
    assert_true(simple_has(store, "k", "new"));
    assert_int_equal(simple_prepare(store, "h", "k", "newer"), TS_STORE_OK);
    assert_int_equal(simple_finish(store, TS_CALL_COMMIT, "h"), TS_STORE_OK);
    struct ts_call sync = {.kind = TS_CALL_SYNC};
    assert_int_equal(ts_store_run(store, &sync), TS_STORE_OK);
    restart(true);
    assert_true(simple_has(store, "k", "newer"));
}

static void versions_never_repeat_after_a_loss_of_power(void **state) {
    (void)state;
    struct ts_rows rows = {0};
    const struct ts_bytes keys[] = {TS_BYTES("k")};
    struct ts_call read = {.kind = TS_CALL_READ, .keys = keys, .key_count = 1, .rows = &rows};
    uint64_t last = 0;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(simple_run_put(store, "k", "x"), TS_STORE_OK);
        assert_int_equal(ts_store_run(store, &read), TS_STORE_OK);
        assert_true(rows.rows[0].version > last);
        last = rows.rows[0].version;
        assert_int_equal(simple_prepare(store, "g", "k", "y"), TS_STORE_OK);
        assert_int_equal(simple_finish(store, TS_CALL_COMMIT, "g"), TS_STORE_OK);
        assert_int_equal(ts_store_run(store, &read), TS_STORE_OK);
        assert_true(rows.rows[0].version > last);
        last = rows.rows[0].version;
        restart(true);
        assert_int_equal(simple_finish(store, TS_CALL_ABORT, "g"), TS_STORE_OK);
    }
    ts_rows_release(&rows);
}

static void a_restart_ends_calls_that_wait(void **state) {
    (void)state;
    assert_int_equal(simple_prepare(store, "g", "k", "new"), TS_STORE_OK);
    const struct ts_op op = simple_put("k", "other");
    struct ts_call calls[3];
    for (int i = 0; i < 3; i++) {
        calls[i] = simple_put_call(&op);
        ts_store_start(store, &calls[i]);
        assert_false(ts_store_poll(&calls[i]));
    }
    restart(false);
    for (int i = 0; i < 3; i++) {
        assert_true(ts_store_poll(&calls[i]));
        assert_int_equal(calls[i].error.result, TS_STORE_UNAVAILABLE);
    }
    /* The promise's lock is restored. Calls that waited for it have left no lock. */
    ts_store_start(store, &calls[0]);
    assert_false(ts_store_poll(&calls[0]));
    assert_int_equal(simple_finish(store, TS_CALL_ABORT, "g"), TS_STORE_OK);
    assert_true(ts_store_poll(&calls[0]));
    assert_int_equal(calls[0].error.result, TS_STORE_OK);
}

static void deadlines_use_the_given_clock(void **state) {
    (void)state;
    assert_int_equal(simple_prepare(store, "g", "k", "new"), TS_STORE_OK);
    const struct ts_op op = simple_put("k", "other");
    struct ts_call call = simple_put_call(&op);
    call.deadline_ns = 5000;
    ts_store_start(store, &call);
    now.monotonic_ns = 4999;
    assert_false(ts_store_poll(&call));
    now.monotonic_ns = 5000;
    assert_true(ts_store_poll(&call));
    assert_int_equal(call.error.result, TS_STORE_TIMED_OUT);
    assert_int_equal(call.lock_wait_us, 4);
}

static void is_clock_frozen_when_the_clock_goes_back(void **state) {
    (void)state;
    struct ts_call call = {.kind = TS_CALL_NOW};
    assert_int_equal(ts_store_run(store, &call), TS_STORE_OK);
    assert_int_equal(call.time_ms, 1000000);
    now.wall_ms = 5;
    assert_int_equal(ts_store_run(store, &call), TS_STORE_OK);
    assert_int_equal(call.time_ms, 1000000);
    const struct ts_op late = {.kind = TS_OP_BEFORE, .time_ms = 1000000};
    struct ts_call apply = simple_put_call(&late);
    assert_int_equal(ts_store_run(store, &apply), TS_STORE_LATE);
    now.wall_ms = 1000001;
    assert_int_equal(ts_store_run(store, &call), TS_STORE_OK);
    assert_int_equal(call.time_ms, 1000001);
}

/* `before` is checked when the locks are held, not at the start of the call. */
static void before_is_looked_at_under_the_locks(void **state) {
    (void)state;
    assert_int_equal(simple_prepare(store, "g", "k", "new"), TS_STORE_OK);
    const struct ts_op ops[] = {{.kind = TS_OP_BEFORE, .time_ms = 1000100}, simple_put("k", "other")};
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {ops, 2}};
    ts_store_start(store, &call);
    assert_false(ts_store_poll(&call));
    now.wall_ms = 1000100;
    assert_int_equal(simple_finish(store, TS_CALL_COMMIT, "g"), TS_STORE_OK);
    assert_true(ts_store_poll(&call));
    assert_int_equal(call.error.result, TS_STORE_LATE);
    assert_true(simple_has(store, "k", "new"));
}

static void stores_over_the_same_contents_share_locks_and_promises(void **state) {
    (void)state;
    struct ts_store *other = ts_memory_open(memory);
    assert_non_null(other);
    assert_int_equal(simple_prepare(store, "g", "k", "new"), TS_STORE_OK);
    const struct ts_op op = simple_put("k", "newer");
    struct ts_call call = simple_put_call(&op);
    ts_store_start(other, &call);
    assert_false(ts_store_poll(&call));
    assert_int_equal(simple_finish(other, TS_CALL_COMMIT, "g"), TS_STORE_OK);
    assert_true(ts_store_poll(&call));
    assert_true(simple_has(store, "k", "newer"));
    ts_store_close(other);
}

/* Each of two stores over one memory has its own expectation of the cluster, like a separate process. */
static void a_store_is_fenced_while_another_continues(void **state) {
    (void)state;
    struct ts_store *other = ts_memory_open(memory);
    assert_non_null(other);
    struct ts_meta meta = {
        .present = true, .format = TS_META_FORMAT, .place_count = 1, .epoch = 1, .routing = "single"};
    struct ts_store_error error;
    assert_int_equal(store->engine->meta_write(store, 0, &meta, &error), TS_STORE_OK);
    assert_int_equal(store->engine->meta_read(store, 0, &meta, &error), TS_STORE_OK);
    store->engine->expect(store, &meta);
    meta.epoch = 2;
    assert_int_equal(other->engine->meta_write(other, 0, &meta, &error), TS_STORE_OK);
    other->engine->expect(other, &meta);
    assert_int_equal(simple_run_put(store, "k", "1"), TS_STORE_FOREIGN);
    assert_int_equal(simple_run_put(other, "k", "1"), TS_STORE_OK);
    ts_store_close(other);
}

static void a_damaged_record_is_never_used(void **state) {
    (void)state;
    assert_int_equal(simple_run_put(store, "k", "5"), TS_STORE_OK);
    assert_false(ts_memory_damage(memory, TS_BYTES("nothing")));
    assert_true(ts_memory_damage(memory, TS_BYTES("k")));
    struct ts_rows rows = {0};
    const struct ts_bytes keys[] = {TS_BYTES("k")};
    struct ts_call read = {.kind = TS_CALL_READ, .keys = keys, .key_count = 1, .rows = &rows};
    assert_int_equal(ts_store_run(store, &read), TS_STORE_DAMAGED);
    assert_int_equal(rows.count, 0);
    struct ts_call scan = {.kind = TS_CALL_SCAN, .limit = 10, .rows = &rows};
    assert_int_equal(ts_store_run(store, &scan), TS_STORE_DAMAGED);
    const struct ts_op ops[] = {{.kind = TS_OP_ADD, .key = TS_BYTES("k"), .delta = 1, .max = 10},
                                {.kind = TS_OP_CHECK, .key = TS_BYTES("k"), .version = 1}};
    for (size_t i = 0; i < 2; i++) {
        struct ts_call call = simple_put_call(&ops[i]);
        assert_int_equal(ts_store_run(store, &call), TS_STORE_DAMAGED);
        assert_int_equal(call.error.op, 0);
    }
    assert_int_equal(simple_run_put(store, "k", "6"), TS_STORE_OK);
    assert_true(simple_has(store, "k", "6"));
    ts_rows_release(&rows);
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, fresh, clean)
    const struct CMUnitTest tests[] = {
        TEST(an_unsynced_commit_is_undone_by_a_loss_of_power),
        TEST(an_unsynced_abort_is_undone_by_a_loss_of_power),
        TEST(the_next_durable_call_makes_a_commit_durable),
        TEST(versions_never_repeat_after_a_loss_of_power),
        TEST(a_restart_ends_calls_that_wait),
        TEST(deadlines_use_the_given_clock),
        TEST(is_clock_frozen_when_the_clock_goes_back),
        TEST(before_is_looked_at_under_the_locks),
        TEST(stores_over_the_same_contents_share_locks_and_promises),
        TEST(a_store_is_fenced_while_another_continues),
        TEST(a_damaged_record_is_never_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
