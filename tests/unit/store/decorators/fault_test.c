#include "store/decorators/fault.h"

#include "simple.h"
#include "store/local/memory.h"
#include "support/stops.h"

static struct simple_time now;
static struct ts_store_clock clock_of_test;
static struct ts_memory *memory;
static struct ts_store *store;

static int fresh(void **state) {
    (void)state;
    now = (struct simple_time){.wall_ms = 1000, .monotonic_ns = 1000};
    clock_of_test = simple_clock(&now);
    memory = ts_memory_new("memory:test", &clock_of_test);
    store = ts_fault_new(ts_memory_open(memory), 42);
    return store == NULL;
}

static int clean(void **state) {
    (void)state;
    ts_store_close(store);
    ts_memory_free(memory);
    return 0;
}

static void add(struct ts_fault_rule rule) {
    ts_fault_add(store, &rule);
}

static void a_countdown_strikes_exactly_the_calls_it_names(void **state) {
    (void)state;
    add((struct ts_fault_rule){.kind = TS_FAULT_ERROR,
                               .result = TS_STORE_BUSY,
                               .calls = TS_FAULT_CALL(TS_CALL_APPLY),
                               .after = 2,
                               .times = 3});
    for (int i = 0; i < 8; i++) {
        assert_int_equal(simple_run_put(store, "k", "v"), i >= 2 && i < 5 ? TS_STORE_BUSY : TS_STORE_OK);
        /* Calls of other kinds are not counted and do not fail. */
        assert_true(simple_has(store, "k", "v"));
    }
    assert_int_equal(ts_fault_count(store), 3);
}

static void an_error_is_not_carried_out(void **state) {
    (void)state;
    add((struct ts_fault_rule){.kind = TS_FAULT_ERROR, .result = TS_STORE_UNAVAILABLE, .times = 1});
    const struct ts_op op = simple_put("k", "v");
    struct ts_call call = simple_put_call(&op);
    assert_int_equal(ts_store_run(store, &call), TS_STORE_UNAVAILABLE);
    assert_string_equal(call.error.sqlstate, "08001");
    assert_true(simple_has(store, "k", NULL));
}

static void a_lost_reply_is_carried_out_and_unknown(void **state) {
    (void)state;
    add((struct ts_fault_rule){
        .kind = TS_FAULT_LOST_REPLY, .calls = TS_FAULT_CALL(TS_CALL_APPLY), .times = 1});
    assert_int_equal(simple_run_put(store, "k", "v"), TS_STORE_UNKNOWN);
    assert_true(simple_has(store, "k", "v"));
}

static void a_lost_request_is_not_carried_out_and_unknown(void **state) {
    (void)state;
    add((struct ts_fault_rule){
        .kind = TS_FAULT_LOST_REQUEST, .calls = TS_FAULT_CALL(TS_CALL_APPLY), .times = 1});
    assert_int_equal(simple_run_put(store, "k", "v"), TS_STORE_UNKNOWN);
    assert_true(simple_has(store, "k", NULL));
}

static void a_reply_that_was_lost_shows_no_rows(void **state) {
    (void)state;
    assert_int_equal(simple_run_put(store, "k", "v"), TS_STORE_OK);
    add((struct ts_fault_rule){.kind = TS_FAULT_LOST_REPLY});
    struct ts_rows rows = {0};
    struct ts_call call = {.kind = TS_CALL_SCAN, .limit = 5, .rows = &rows};
    assert_int_equal(ts_store_run(store, &call), TS_STORE_UNKNOWN);
    assert_int_equal(rows.count, 0);
    ts_rows_release(&rows);
}

static void a_delayed_call_begins_later(void **state) {
    (void)state;
    add((struct ts_fault_rule){
        .kind = TS_FAULT_DELAY, .delay_ms = 5, .calls = TS_FAULT_CALL(TS_CALL_APPLY), .times = 2});
    const struct ts_op op = simple_put("k", "v");
    struct ts_call call = simple_put_call(&op);
    ts_store_start(store, &call);
    now.monotonic_ns += 4999999;
    assert_false(ts_store_poll(&call));
    assert_true(simple_has(store, "k", NULL));
    now.monotonic_ns += 1;
    assert_true(ts_store_poll(&call));
    assert_int_equal(call.error.result, TS_STORE_OK);
    assert_true(simple_has(store, "k", "v"));

    call.deadline_ns = now.monotonic_ns + 1000;
    ts_store_start(store, &call);
    now.monotonic_ns += 1000;
    assert_true(ts_store_poll(&call));
    assert_int_equal(call.error.result, TS_STORE_TIMED_OUT);
}

static void a_delay_can_be_waited_for(void **state) {
    (void)state;
    struct ts_store *real = ts_fault_new(ts_memory_open_new("memory:", NULL), 1);
    assert_non_null(real);
    ts_fault_add(real, &(const struct ts_fault_rule){.kind = TS_FAULT_DELAY, .delay_ms = 20});
    assert_int_equal(simple_run_put(real, "k", "v"), TS_STORE_OK);
    ts_store_close(real);
}

static void a_crash_stops_all_answers_until_it_is_revived(void **state) {
    (void)state;
    add((struct ts_fault_rule){
        .kind = TS_FAULT_CRASH_BEFORE, .calls = TS_FAULT_CALL(TS_CALL_APPLY), .after = 1, .times = 1});
    assert_int_equal(simple_run_put(store, "a", "1"), TS_STORE_OK);
    const struct ts_op op = simple_put("b", "1");
    struct ts_call crashed = simple_put_call(&op), later = crashed, timed = crashed;
    timed.deadline_ns = now.monotonic_ns + 10;
    ts_store_start(store, &crashed);
    assert_true(ts_fault_is_down(store));
    ts_store_start(store, &later);
    ts_store_start(store, &timed);
    assert_false(ts_store_poll(&crashed) || ts_store_poll(&later) || ts_store_poll(&timed));
    now.monotonic_ns += 10;
    assert_true(ts_store_poll(&timed));
    assert_int_equal(timed.error.result, TS_STORE_UNKNOWN);
    struct ts_meta meta;
    struct ts_store_error error;
    assert_int_equal(store->engine->meta_read(store, 0, &meta, &error), TS_STORE_UNAVAILABLE);
    ts_fault_revive(store);
    assert_false(ts_fault_is_down(store));
    assert_true(ts_store_poll(&crashed) && ts_store_poll(&later));
    assert_int_equal(crashed.error.result, TS_STORE_UNKNOWN);
    assert_true(simple_has(store, "b", NULL));
    assert_int_equal(simple_run_put(store, "b", "1"), TS_STORE_OK);
}

static void a_crash_after_a_call_has_carried_it_out(void **state) {
    (void)state;
    add((struct ts_fault_rule){.kind = TS_FAULT_CRASH_AFTER, .times = 1});
    const struct ts_op op = simple_put("b", "1");
    struct ts_call call = simple_put_call(&op);
    ts_store_start(store, &call);
    assert_false(ts_store_poll(&call));
    ts_store_cancel(&call);
    assert_int_equal(call.error.result, TS_STORE_UNKNOWN);
    ts_fault_revive(store);
    assert_true(simple_has(store, "b", "1"));
}

static void a_late_call_arrives_when_it_is_delivered(void **state) {
    (void)state;
    add((struct ts_fault_rule){.kind = TS_FAULT_LATE, .calls = TS_FAULT_CALL(TS_CALL_PREPARE), .times = 1});
    {
        /* When the call is delivered, the memory that it pointed to is no longer valid. */
        char gid[] = "gone", key[] = "key", value[] = "value";
        const struct ts_op op = simple_put(key, value);
        struct ts_call call = {.kind = TS_CALL_PREPARE, .gid = gid, .batch = {&op, 1}, .deadline_ns = 2000};
        ts_store_start(store, &call);
        assert_false(ts_store_poll(&call));
        now.monotonic_ns = 2000;
        assert_true(ts_store_poll(&call));
        assert_int_equal(call.error.result, TS_STORE_UNKNOWN);
        memset(gid, 'x', 4);
        memset(key, 'x', 3);
        memset(value, 'x', 5);
    }
    assert_int_equal(simple_finish(store, TS_CALL_ABORT, "gone"), TS_STORE_NO_SUCH_PROMISE);
    assert_int_equal(ts_fault_late_count(store), 1);
    assert_int_equal(ts_fault_deliver(store, 0), TS_STORE_OK);
    assert_int_equal(ts_fault_late_count(store), 0);
    assert_int_equal(simple_finish(store, TS_CALL_COMMIT, "gone"), TS_STORE_OK);
    assert_true(simple_has(store, "key", "value"));
}

static void a_late_call_waits_for_locks_as_any_other(void **state) {
    (void)state;
    add((struct ts_fault_rule){.kind = TS_FAULT_LATE, .calls = TS_FAULT_CALL(TS_CALL_APPLY), .times = 2});
    for (int i = 0; i < 2; i++) {
        const struct ts_op op = simple_put("k", "late");
        struct ts_call call = simple_put_call(&op);
        ts_store_start(store, &call);
        ts_store_cancel(&call);
    }
    assert_int_equal(simple_prepare(store, "g", "k", "promised"), TS_STORE_OK);
    assert_int_equal(ts_fault_deliver(store, 0), TS_STORE_BUSY);
    assert_int_equal(ts_fault_late_count(store), 2);
    assert_int_equal(simple_finish(store, TS_CALL_COMMIT, "g"), TS_STORE_OK);
    assert_true(simple_has(store, "k", "promised"));
    assert_int_equal(ts_fault_deliver(store, 0), TS_STORE_OK);
    assert_true(simple_has(store, "k", "late"));
    /* The second late call is dropped with the store. */
    assert_int_equal(ts_fault_late_count(store), 1);
}

static void chances_follow_from_the_seed(void **state) {
    (void)state;
    bool struck[2][200];
    int total = 0;
    for (int round = 0; round < 2; round++) {
        struct ts_store *seeded = ts_fault_new(ts_memory_open_new("memory:", NULL), 7);
        assert_non_null(seeded);
        ts_fault_add(seeded, &(const struct ts_fault_rule){
                                 .kind = TS_FAULT_ERROR, .result = TS_STORE_BUSY, .chance = {1, 4}});
        for (int i = 0; i < 200; i++) {
            struct ts_call call = {.kind = TS_CALL_NOW};
            struck[round][i] = ts_store_run(seeded, &call) == TS_STORE_BUSY;
            total += struck[round][i];
        }
        ts_store_close(seeded);
    }
    assert_memory_equal(struck[0], struck[1], sizeof struck[0]);
    assert_true(total > 40 && total < 160);
}

static void cleared_rules_strike_no_more(void **state) {
    (void)state;
    add((struct ts_fault_rule){.kind = TS_FAULT_ERROR, .result = TS_STORE_BUSY});
    assert_int_equal(simple_run_put(store, "k", "v"), TS_STORE_BUSY);
    ts_fault_clear(store);
    assert_int_equal(simple_run_put(store, "k", "v"), TS_STORE_OK);
}

static void faults_are_asked_of_a_fault_store_only(void **state) {
    (void)state;
    struct ts_store *plain = ts_memory_open(memory);
    assert_stops("engine", ts_fault_clear(plain));
    ts_store_close(plain);
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, fresh, clean)
    const struct CMUnitTest tests[] = {
        TEST(a_countdown_strikes_exactly_the_calls_it_names),
        TEST(an_error_is_not_carried_out),
        TEST(a_lost_reply_is_carried_out_and_unknown),
        TEST(a_lost_request_is_not_carried_out_and_unknown),
        TEST(a_reply_that_was_lost_shows_no_rows),
        TEST(a_delayed_call_begins_later),
        TEST(a_delay_can_be_waited_for),
        TEST(a_crash_stops_all_answers_until_it_is_revived),
        TEST(a_crash_after_a_call_has_carried_it_out),
        TEST(a_late_call_arrives_when_it_is_delivered),
        TEST(a_late_call_waits_for_locks_as_any_other),
        TEST(chances_follow_from_the_seed),
        TEST(cleared_rules_strike_no_more),
        TEST(faults_are_asked_of_a_fault_store_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
