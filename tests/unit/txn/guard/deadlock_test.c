#include "txn/guard/deadlock.h"

#include "support/cmocka.h"
#include "support/stops.h"

static struct ts_txn_deadlock_detector detector;
static struct ts_txn_deadlock_node nodes[3];
static struct ts_txn_deadlock_report report;
static const uint32_t stores[] = {0, 2};

enum { TIMEOUT = 10000000 };

static int fresh(void **state) {
    (void)state;
    ts_txn_deadlock_init(&detector, &(struct ts_txn_deadlock_config){.timeout_us = TIMEOUT});
    static const char *const ids[] = {"txn-a", "txn-b", "txn-c"};
    for (size_t i = 0; i < 3; i++)
        nodes[i] = (struct ts_txn_deadlock_node){
            .txn_id = ids[i],
            .stores = stores,
            .store_count = 2,
            .reason = {TS_TXN_WAIT_SHARD_LOCK_WAIT, 2},
            .may_abort = true,
        };
    return 0;
}

static void a_wait_beyond_the_timeout_is_reported_and_to_be_aborted(void **state) {
    (void)state;
    ts_txn_deadlock_begin(&detector, &nodes[0], 100);
    assert_int_equal(ts_txn_deadlock_next_us(&detector), 100 + TIMEOUT);
    assert_false(ts_txn_deadlock_next(&detector, 100 + TIMEOUT - 1, &report));
    assert_false(nodes[0].abort_wanted);
    assert_true(ts_txn_deadlock_next(&detector, 100 + TIMEOUT + 7, &report));
    assert_ptr_equal(report.node, &nodes[0]);
    assert_string_equal(report.txn_id, "txn-a");
    assert_int_equal(report.involved_store_count, 2);
    assert_int_equal(report.involved_stores[1], 2);
    assert_int_equal(report.wait_reason.kind, TS_TXN_WAIT_SHARD_LOCK_WAIT);
    assert_int_equal(report.wait_duration_us, TIMEOUT + 7);
    assert_true(report.abort_wanted);
    assert_true(nodes[0].abort_wanted);
}

static void a_wait_is_reported_once_and_is_stalled_until_it_ends(void **state) {
    (void)state;
    ts_txn_deadlock_begin(&detector, &nodes[0], 0);
    assert_true(ts_txn_deadlock_next(&detector, TIMEOUT, &report));
    assert_false(ts_txn_deadlock_next(&detector, 2 * TIMEOUT, &report));
    assert_int_equal(detector.stalled, 1);
    assert_int_equal(detector.detected, 1);
    ts_txn_deadlock_end(&detector, &nodes[0]);
    assert_int_equal(detector.stalled, 0);
    ts_txn_deadlock_begin(&detector, &nodes[0], 2 * TIMEOUT);
    assert_false(nodes[0].abort_wanted);
    assert_true(ts_txn_deadlock_next(&detector, 3 * TIMEOUT, &report));
    assert_int_equal(detector.detected, 2);
}

static void a_wait_that_ends_in_time_is_not_reported(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++)
        ts_txn_deadlock_begin(&detector, &nodes[i], i);
    ts_txn_deadlock_end(&detector, &nodes[1]);
    ts_txn_deadlock_end(&detector, &nodes[1]); /* the second call has nothing to end */
    assert_int_equal(detector.waiting, 2);
    assert_true(ts_txn_deadlock_next(&detector, 3 * TIMEOUT, &report));
    assert_ptr_equal(report.node, &nodes[0]);
    assert_true(ts_txn_deadlock_next(&detector, 3 * TIMEOUT, &report));
    assert_ptr_equal(report.node, &nodes[2]);
    assert_false(ts_txn_deadlock_next(&detector, 3 * TIMEOUT, &report));
    assert_true(ts_txn_deadlock_next_us(&detector) == UINT64_MAX);
}

static void past_the_commit_point_it_is_reported_and_not_aborted(void **state) {
    (void)state;
    nodes[0].may_abort = false;
    ts_txn_deadlock_begin(&detector, &nodes[0], 0);
    assert_true(ts_txn_deadlock_next(&detector, TIMEOUT, &report));
    assert_false(report.abort_wanted);
    assert_false(nodes[0].abort_wanted);
}

static void beginning_twice_is_our_own_mistake(void **state) {
    (void)state;
    ts_txn_deadlock_begin(&detector, &nodes[0], 0);
    assert_stops("TS_TXN_DEADLOCK_IDLE", ts_txn_deadlock_begin(&detector, &nodes[0], 0));
}

static void reasons_have_the_names_of_the_specification(void **state) {
    (void)state;
    static const char *const names[] = {"CoordinatorQueue", "ShardLockWait(7)", "Validate",
                                        "WalWrite",         "ReplicationAck",   "CommitBarrier"};
    char text[TS_TXN_WAIT_REASON_TEXT_SIZE];
    for (int i = 0; i < 6; i++)
        assert_string_equal(
            ts_txn_wait_reason_text((struct ts_txn_wait_reason){(enum ts_txn_wait_kind)i, .store = 7}, text),
            names[i]);
}

static void a_report_is_one_line_that_explains(void **state) {
    (void)state;
    char text[256], small[24];
    ts_txn_deadlock_begin(&detector, &nodes[0], 0);
    assert_true(ts_txn_deadlock_next(&detector, TIMEOUT, &report));
    assert_string_equal(ts_txn_deadlock_describe(&report, text, sizeof text),
                        "transaction txn-a waited 10000000 us in ShardLockWait(2), stores 0,2: longer than "
                        "deadlock.timeout, aborted as deadlocked");
    assert_string_equal(ts_txn_deadlock_describe(&report, small, sizeof small), "transaction txn-a waite");
    assert_string_equal(ts_txn_deadlock_describe(&report, small, 1), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_wait_beyond_the_timeout_is_reported_and_to_be_aborted, fresh),
        cmocka_unit_test_setup(a_wait_is_reported_once_and_is_stalled_until_it_ends, fresh),
        cmocka_unit_test_setup(a_wait_that_ends_in_time_is_not_reported, fresh),
        cmocka_unit_test_setup(past_the_commit_point_it_is_reported_and_not_aborted, fresh),
        cmocka_unit_test_setup(beginning_twice_is_our_own_mistake, fresh),
        cmocka_unit_test_setup(reasons_have_the_names_of_the_specification, fresh),
        cmocka_unit_test_setup(a_report_is_one_line_that_explains, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
