#include "txn/guard/conflict.h"

#include "support/cmocka.h"

static struct ts_txn_conflict_tracker tracker;

enum { SECOND = 1000000 };

static int fresh(void **state) {
    (void)state;
    ts_txn_conflict_init(&tracker, &(struct ts_txn_conflict_config){.window_us = 5 * SECOND});
    return 0;
}

static void record(enum ts_txn_conflict_outcome outcome, unsigned times, uint64_t now_us) {
    for (unsigned i = 0; i < times; i++)
        ts_txn_conflict_record(
            &tracker, (struct ts_txn_conflict_event){.outcome = outcome, .lock_wait_us = 10}, now_us);
}

static void rates_are_shares_of_all_transactions(void **state) {
    (void)state;
    record(TS_TXN_CONFLICT_COMMITTED, 70, 0);
    record(TS_TXN_CONFLICT_CONFLICT, 20, 0);
    record(TS_TXN_CONFLICT_TIMEOUT, 5, 0);
    record(TS_TXN_CONFLICT_OTHER, 5, 0);
    struct ts_txn_conflict_view view = ts_txn_conflict_view(&tracker, 0);
    assert_int_equal(view.totals.total_txns, 100);
    assert_int_equal(view.totals.conflict_aborts, 20);
    assert_int_equal(view.totals.timeout_aborts, 5);
    assert_int_equal(view.conflict_rate_ppm, 200000);
    assert_int_equal(view.abort_rate_ppm, 250000);
}

static void an_empty_tracker_has_rates_of_zero(void **state) {
    (void)state;
    struct ts_txn_conflict_view view = ts_txn_conflict_view(&tracker, 123456789);
    assert_int_equal(view.conflict_rate_ppm, 0);
    assert_int_equal(view.abort_rate_ppm, 0);
    assert_int_equal(view.avg_lock_wait_us, 0);
}

static void rates_forget_what_is_older_than_the_window_and_totals_do_not(void **state) {
    (void)state;
    record(TS_TXN_CONFLICT_CONFLICT, 1000, 100 * SECOND);
    record(TS_TXN_CONFLICT_COMMITTED, 10, 104 * SECOND);
    assert_in_range(ts_txn_conflict_view(&tracker, 104 * SECOND).conflict_rate_ppm, 990000, 1000000);
    struct ts_txn_conflict_view view = ts_txn_conflict_view(&tracker, 105 * SECOND + SECOND / 2);
    assert_int_equal(view.conflict_rate_ppm, 0);
    assert_int_equal(view.window.total_txns, 10);
    assert_int_equal(view.totals.conflict_aborts, 1000);
    assert_int_equal(ts_txn_conflict_view(&tracker, 1000 * SECOND).window.total_txns, 0);
}

static void a_slot_that_is_used_again_starts_empty(void **state) {
    (void)state;
    record(TS_TXN_CONFLICT_CONFLICT, 7, 0);
    record(TS_TXN_CONFLICT_COMMITTED, 3, 5 * SECOND); /* ten slots later, in the same element of `slots` */
    struct ts_txn_conflict_view view = ts_txn_conflict_view(&tracker, 5 * SECOND);
    assert_int_equal(view.window.total_txns, 3);
    assert_int_equal(view.conflict_rate_ppm, 0);
}

static void an_event_that_comes_late_counts(void **state) {
    (void)state;
    record(TS_TXN_CONFLICT_COMMITTED, 1, 10 * SECOND);
    record(TS_TXN_CONFLICT_CONFLICT, 1, 10 * SECOND - 1);
    assert_int_equal(ts_txn_conflict_view(&tracker, 10 * SECOND).conflict_rate_ppm, 500000);
}

static void the_average_lock_wait_is_over_all_transactions_of_the_window(void **state) {
    (void)state;
    ts_txn_conflict_record(&tracker, (struct ts_txn_conflict_event){TS_TXN_CONFLICT_COMMITTED, 300}, 0);
    ts_txn_conflict_record(&tracker, (struct ts_txn_conflict_event){TS_TXN_CONFLICT_CONFLICT, 100}, 0);
    ts_txn_conflict_record(&tracker, (struct ts_txn_conflict_event){TS_TXN_CONFLICT_COMMITTED, 0}, 0);
    ts_txn_conflict_record(&tracker, (struct ts_txn_conflict_event){TS_TXN_CONFLICT_COMMITTED, 0}, 0);
    assert_int_equal(ts_txn_conflict_view(&tracker, 0).avg_lock_wait_us, 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(rates_are_shares_of_all_transactions, fresh),
        cmocka_unit_test_setup(an_empty_tracker_has_rates_of_zero, fresh),
        cmocka_unit_test_setup(rates_forget_what_is_older_than_the_window_and_totals_do_not, fresh),
        cmocka_unit_test_setup(a_slot_that_is_used_again_starts_empty, fresh),
        cmocka_unit_test_setup(an_event_that_comes_late_counts, fresh),
        cmocka_unit_test_setup(the_average_lock_wait_is_over_all_transactions_of_the_window, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
