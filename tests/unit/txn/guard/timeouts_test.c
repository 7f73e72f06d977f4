#include "txn/guard/timeouts.h"

#include "support/cmocka.h"

static struct ts_txn_config config;
static struct ts_txn_timeouts *const timeouts = &config.timeouts;

enum { START = 1000, CALL = 7000 };

static int defaults(void **state) {
    (void)state;
    ts_txn_config_init(&config);
    return 0;
}

static const enum ts_txn_timeout_phase calls[] = {TS_TXN_TIMEOUT_COORD_QUEUE, TS_TXN_TIMEOUT_SHARD_RPC,
                                                  TS_TXN_TIMEOUT_PREPARE, TS_TXN_TIMEOUT_COMMIT,
                                                  TS_TXN_TIMEOUT_LOCK_VALIDATE};
enum { CALLS = sizeof calls / sizeof calls[0] };

static struct ts_txn_timeout_watch watch_of(enum ts_txn_timeout_phase phase) {
    return (struct ts_txn_timeout_watch){.txn_begun_us = START, .phase = phase, .call_begun_us = CALL};
}

/* Checks what ts_txn_timeout_until_us and ts_txn_timeout_over return shortly before the end of a timeout and
 * at its end. */
static void expect_end(struct ts_txn_timeout_watch watch, uint64_t at_us, enum ts_txn_timeout_phase phase) {
    assert_true(ts_txn_timeout_until_us(timeouts, &watch) == at_us);
    assert_int_equal(ts_txn_timeout_over(timeouts, &watch, at_us - 1), TS_TXN_TIMEOUT_NONE);
    assert_int_equal(ts_txn_timeout_over(timeouts, &watch, at_us), phase);
    assert_int_equal(ts_txn_timeout_over(timeouts, &watch, UINT64_MAX), phase);
}

static void fail_fast_ends_each_phase_at_its_own_timeout(void **state) {
    (void)state;
    static const uint64_t lengths[CALLS] = {500000, 2000000, 5000000, 5000000, 1000000};
    for (size_t i = 0; i < CALLS; i++)
        expect_end(watch_of(calls[i]), CALL + lengths[i], calls[i]);
}

static void best_effort_ends_every_phase_at_the_total_only(void **state) {
    (void)state;
    timeouts->policy = TS_TXN_TIMEOUT_POLICY_BEST_EFFORT;
    for (size_t i = 0; i < CALLS; i++)
        expect_end(watch_of(calls[i]), START + 30000000, TS_TXN_TIMEOUT_TOTAL);
}

static void the_total_holds_whatever_the_phase_allows(void **state) {
    (void)state;
    timeouts->retry_ceiling_us = 40000000;
    struct ts_txn_timeout_watch late = watch_of(TS_TXN_TIMEOUT_PREPARE);
    late.call_begun_us = START + 29000000;
    expect_end(late, START + 30000000, TS_TXN_TIMEOUT_TOTAL);
    expect_end(watch_of(TS_TXN_TIMEOUT_NONE), START + 30000000, TS_TXN_TIMEOUT_TOTAL);
}

static void the_ceiling_bounds_all_attempts_together(void **state) {
    (void)state;
    struct ts_txn_timeout_watch watch = watch_of(TS_TXN_TIMEOUT_PREPARE);
    watch.call_begun_us = START + 9000000;
    expect_end(watch, START + 10000000, TS_TXN_TIMEOUT_RETRY_CEILING);
    timeouts->policy = TS_TXN_TIMEOUT_POLICY_BEST_EFFORT;
    expect_end(watch, START + 30000000, TS_TXN_TIMEOUT_TOTAL);
}

static void if_phases_end_together_the_call_is_reported(void **state) {
    (void)state;
    struct ts_txn_timeout_watch watch = watch_of(TS_TXN_TIMEOUT_COMMIT);
    watch.call_begun_us = START + 5000000;
    expect_end(watch, START + 10000000, TS_TXN_TIMEOUT_COMMIT);
}

static void an_end_beyond_the_clock_is_never_reached_early(void **state) {
    (void)state;
    struct ts_txn_timeout_watch watch = watch_of(TS_TXN_TIMEOUT_PREPARE);
    watch.txn_begun_us = watch.call_begun_us = UINT64_MAX - 5;
    assert_true(ts_txn_timeout_until_us(timeouts, &watch) == UINT64_MAX);
    assert_int_equal(ts_txn_timeout_over(timeouts, &watch, UINT64_MAX - 1), TS_TXN_TIMEOUT_NONE);
}

static void a_phase_names_itself_and_its_setting(void **state) {
    (void)state;
    assert_string_equal(ts_txn_timeout_phase_name(TS_TXN_TIMEOUT_LOCK_VALIDATE), "LockValidate");
    assert_string_equal(ts_txn_timeout_phase_setting(TS_TXN_TIMEOUT_LOCK_VALIDATE), "timeouts.lock_validate");
    assert_string_equal(ts_txn_timeout_phase_name(TS_TXN_TIMEOUT_NONE), "None");
    assert_null(ts_txn_timeout_phase_setting(TS_TXN_TIMEOUT_NONE));
}

static void a_ceiling_by_default_does_not_bound_the_wait_for_locks(void **state) {
    (void)state;
    struct ts_txn_timeout_watch watch = watch_of(TS_TXN_TIMEOUT_PREPARE);
    watch.call_begun_us = START + 9000000;
    watch.only_conflicts = true;
    expect_end(watch, START + 14000000, TS_TXN_TIMEOUT_PREPARE);
    timeouts->retry_ceiling_given = true;
    expect_end(watch, START + 10000000, TS_TXN_TIMEOUT_RETRY_CEILING);
}

static void a_store_can_say_that_it_was_a_lock_where_the_phase_has_its_default(void **state) {
    (void)state;
    struct ts_txn_timeout_watch prepare = watch_of(TS_TXN_TIMEOUT_PREPARE),
                                validate = watch_of(TS_TXN_TIMEOUT_LOCK_VALIDATE);
    assert_int_equal(ts_txn_timeout_lock_wait_us(timeouts, &prepare), 3750000);
    assert_int_equal(ts_txn_timeout_lock_wait_us(timeouts, &validate), 750000);
    timeouts->prepare_given = timeouts->lock_validate_given = true;
    assert_int_equal(ts_txn_timeout_lock_wait_us(timeouts, &prepare), 0);
    assert_int_equal(ts_txn_timeout_lock_wait_us(timeouts, &validate), 0);
    /* The total timeout ends the transaction, so no time is reserved for another attempt. */
    timeouts->prepare_given = timeouts->lock_validate_given = false;
    prepare.call_begun_us = START + 29000000;
    assert_int_equal(ts_txn_timeout_lock_wait_us(timeouts, &prepare), 0);
    timeouts->policy = TS_TXN_TIMEOUT_POLICY_BEST_EFFORT;
    assert_int_equal(ts_txn_timeout_lock_wait_us(timeouts, &validate), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(fail_fast_ends_each_phase_at_its_own_timeout, defaults),
        cmocka_unit_test_setup(best_effort_ends_every_phase_at_the_total_only, defaults),
        cmocka_unit_test_setup(the_total_holds_whatever_the_phase_allows, defaults),
        cmocka_unit_test_setup(the_ceiling_bounds_all_attempts_together, defaults),
        cmocka_unit_test_setup(if_phases_end_together_the_call_is_reported, defaults),
        cmocka_unit_test_setup(an_end_beyond_the_clock_is_never_reached_early, defaults),
        cmocka_unit_test_setup(a_phase_names_itself_and_its_setting, defaults),
        cmocka_unit_test_setup(a_ceiling_by_default_does_not_bound_the_wait_for_locks, defaults),
        cmocka_unit_test_setup(a_store_can_say_that_it_was_a_lock_where_the_phase_has_its_default, defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
