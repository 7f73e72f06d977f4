/*
 * A transaction that must stop ends at once, however long its timeouts are: here they are hours.
 */
#include "support/cmocka.h"

#include "stage.h"

#include "txn/driver/stop.h"

#define HOURS_US (UINT64_C(10) * 3600 * 1000000)

static struct stage stage;
static struct ts_txn_result result;
static unsigned asked;

static int set_up(void **state) {
    (void)state;
    stage_init(&stage, 3);
    stage.config.timeouts.shard_rpc_us = stage.config.timeouts.prepare_us = HOURS_US;
    stage.config.timeouts.commit_us = stage.config.timeouts.lock_validate_us = HOURS_US;
    stage.config.timeouts.total_us = stage.config.timeouts.retry_ceiling_us = HOURS_US;
    stage.config.deadlock.timeout_us = HOURS_US;
    stage.config.breaker.failure_threshold = 1;
    stage.config.breaker.probe_timeout_us = HOURS_US;
    stage_open(&stage);
    asked = 0;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    stage_no_faults(&stage);
    for (size_t place = 0; place < stage.count; place++)
        ts_fault_revive(stage.faults[place]);
    stage_release(&stage);
    return 0;
}

static bool at_the_third_time(void *context) {
    (void)context;
    return ++asked >= 3;
}

static void run(const char *const *keys, size_t count) {
    const struct ts_txn_stop stop = {.must = at_the_third_time};
    struct ts_op ops[STAGE_STORES_MAX];
    struct ts_txn_part parts[STAGE_STORES_MAX];
    for (size_t i = 0; i < count; i++) {
        ops[i] = stage_add(keys[i], 1);
        parts[i] = (struct ts_txn_part){.place = (uint32_t)i, .batch = {&ops[i], 1}};
    }
    ts_txn_run_parts_until(stage.coordinator, parts, count, NULL, &stop, &result);
}

static void a_wait_for_a_lock_ends(void **state) {
    (void)state;
    static const char *const keys[] = {"a", "b"};
    stage_hold(&stage, 0, "a");
    run(keys, 1);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    assert_int_equal(result.attempts, 1);
    assert_int_equal(asked, 3);
    stage_let_go(&stage, 0);
    asked = 0;
    run(keys, 1);
    assert_int_equal(result.outcome, TS_TXN_COMMITTED);
    assert_int_equal(asked, 0);
}

static void a_prepare_that_waits_for_a_lock_leaves_no_promise(void **state) {
    (void)state;
    static const char *const keys[] = {"a", "b"};
    stage_hold(&stage, 1, "b");
    run(keys, 2);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    stage_let_go(&stage, 1);
    assert_int_equal(stage_promises(stage.cluster), 0);
    assert_int_equal(stage_number(stage.cluster, 0, "a"), -1);
}

/* The transaction waits for its slow abort, because a promise locks its keys until the store has received the
 * abort. */
static void an_abort_that_takes_long_is_waited_for(void **state) {
    (void)state;
    static const char *const keys[] = {"a", "b", "c"};
    stage_hold(&stage, 1, "b");
    const struct ts_fault_rule slow = {
        .kind = TS_FAULT_DELAY, .calls = TS_FAULT_CALL(TS_CALL_ABORT), .delay_ms = 100};
    ts_fault_add(stage.faults[2], &slow);
    run(keys, 3);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    assert_true(ts_fault_count(stage.faults[2]) > 0);
    stage_let_go(&stage, 1);
    assert_int_equal(stage_promises(stage.cluster), 0);
}

static void a_store_that_does_not_answer_is_not_waited_for(void **state) {
    (void)state;
    static const char *const keys[] = {"a", "b"};
    stage_fault(&stage, 0, TS_CALL_APPLY, TS_FAULT_CRASH_BEFORE, TS_STORE_OK, 1);
    run(keys, 1);
    assert_int_equal(result.outcome, TS_TXN_UNKNOWN);
    assert_int_equal(result.attempts, 1);
    /* The wait was short, so the store does not count as down. */
    ts_fault_revive(stage.faults[0]);
    run(keys, 1);
    assert_int_equal(result.outcome, TS_TXN_COMMITTED);
}

static void a_commit_that_gets_no_answer_is_pending(void **state) {
    (void)state;
    static const char *const keys[] = {"a", "b"};
    stage_fault(&stage, 1, TS_CALL_COMMIT, TS_FAULT_CRASH_BEFORE, TS_STORE_OK, 1);
    run(keys, 2);
    assert_int_equal(result.outcome, TS_TXN_COMMITTED_PENDING);
    ts_fault_revive(stage.faults[1]);
}

static void no_retry_follows(void **state) {
    (void)state;
    static const char *const keys[] = {"a", "b"};
    stage_close(&stage);
    stage.config.retry.initial_backoff_us = stage.config.retry.max_backoff_us = HOURS_US / 10;
    stage.config.retry.retry_budget_us = HOURS_US;
    stage_open(&stage);
    stage_fault(&stage, 0, TS_CALL_APPLY, TS_FAULT_ERROR, TS_STORE_BUSY, 1000);
    run(keys, 1);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    assert_int_equal(result.reason, TS_STORE_BUSY);
    assert_true(asked >= 3);
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_wait_for_a_lock_ends),
        TEST(a_prepare_that_waits_for_a_lock_leaves_no_promise),
        TEST(an_abort_that_takes_long_is_waited_for),
        TEST(a_store_that_does_not_answer_is_not_waited_for),
        TEST(a_commit_that_gets_no_answer_is_pending),
        TEST(no_retry_follows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
