#include "txn/guard/retry.h"

#include "support/cmocka.h"

static struct ts_txn_config config;
static struct ts_txn_retry retry;
static struct ts_prng prng;

static const struct ts_txn_error_verdict transient = {.error_class = TS_TXN_CLASS_TRANSIENT,
                                                      .repeatable = true};
static const struct ts_txn_error_verdict conflict = {
    .error_class = TS_TXN_CLASS_CONFLICT, .repeatable = true, .answered = true};
static const struct ts_txn_error_verdict lock = {
    .error_class = TS_TXN_CLASS_CONFLICT, .repeatable = true, .met_a_lock = true, .answered = true};
static const struct ts_txn_error_verdict check_failed = {.error_class = TS_TXN_CLASS_CONFLICT,
                                                         .answered = true};
static const struct ts_txn_error_verdict timeout = {.error_class = TS_TXN_CLASS_TIMEOUT,
                                                    .infrastructure = true};
static const struct ts_txn_error_verdict permanent = {.error_class = TS_TXN_CLASS_PERMANENT,
                                                      .answered = true};

static int fresh(void **state) {
    (void)state;
    ts_txn_config_init(&config);
    ts_prng_init(&prng, 7);
    ts_txn_retry_init(&retry, 1000);
    return 0;
}

static enum ts_txn_retry_decision next(const struct ts_txn_error_verdict *verdict, uint64_t now_us,
                                       uint64_t *ret_backoff_us) {
    return ts_txn_retry_next(&retry, &config, verdict, now_us, &prng, ret_backoff_us);
}

static void backoff_grows_by_the_multiplier_up_to_the_cap_plus_jitter(void **state) {
    (void)state;
    static const uint64_t bases[] = {10000,  20000,   40000,   80000,   160000, 320000,
                                     640000, 1280000, 2000000, 2000000, 2000000};
    for (uint32_t n = 0; n < sizeof bases / sizeof bases[0]; n++)
        for (int draw = 0; draw < 200; draw++) {
            uint64_t backoff = ts_txn_retry_backoff_us(&config.retry, n, &prng);
            assert_in_range(backoff, bases[n], bases[n] + bases[n] / 4);
        }
    assert_in_range(ts_txn_retry_backoff_us(&config.retry, UINT32_MAX, &prng), 2000000, 2500000);
}

static void jitter_is_drawn_again_and_fills_its_range(void **state) {
    (void)state;
    uint64_t least = UINT64_MAX, most = 0, same = 0, before = 0;
    for (int draw = 0; draw < 2000; draw++) {
        uint64_t backoff = ts_txn_retry_backoff_us(&config.retry, 0, &prng);
        least = backoff < least ? backoff : least;
        most = backoff > most ? backoff : most;
        same += backoff == before;
        before = backoff;
    }
    assert_in_range(least, 10000, 10050);
    assert_in_range(most, 12450, 12500);
    assert_true(same < 20);
}

static void without_jitter_the_backoff_is_the_base(void **state) {
    (void)state;
    config.retry.jitter_ppm = 0;
    assert_int_equal(ts_txn_retry_backoff_us(&config.retry, 2, &prng), 40000);
    config.retry.multiplier_ppm = 1500000;
    assert_int_equal(ts_txn_retry_backoff_us(&config.retry, 2, &prng), 22500);
}

static void a_conflict_backs_off_and_a_transient_error_is_first_retried_at_once(void **state) {
    (void)state;
    uint64_t backoff = 1;
    assert_int_equal(next(&transient, 2000, &backoff), TS_TXN_RETRY_AGAIN);
    assert_int_equal(backoff, 0);
    assert_int_equal(next(&transient, 2000, &backoff), TS_TXN_RETRY_AGAIN);
    assert_in_range(backoff, 20000, 25000);
    ts_txn_retry_init(&retry, 1000);
    assert_int_equal(next(&conflict, 2000, &backoff), TS_TXN_RETRY_AGAIN);
    assert_in_range(backoff, 10000, 12500);
}

static void nothing_but_the_repeatable_is_retried(void **state) {
    (void)state;
    uint64_t backoff = 99;
    assert_int_equal(next(&permanent, 2000, &backoff), TS_TXN_RETRY_NOT_RETRYABLE);
    assert_int_equal(next(&timeout, 2000, &backoff), TS_TXN_RETRY_NOT_RETRYABLE);
    assert_int_equal(next(&check_failed, 2000, &backoff), TS_TXN_RETRY_NOT_RETRYABLE);
    assert_int_equal(retry.retries, 0);
    assert_int_equal(backoff, 99);
}

static void retries_end_at_max_retries(void **state) {
    (void)state;
    uint64_t backoff;
    for (int i = 0; i < 3; i++)
        assert_int_equal(next(&conflict, 2000, &backoff), TS_TXN_RETRY_AGAIN);
    assert_int_equal(next(&conflict, 2000, &backoff), TS_TXN_RETRY_MAX_RETRIES);
    config.retry.max_retries = 0;
    ts_txn_retry_init(&retry, 1000);
    assert_int_equal(next(&transient, 2000, &backoff), TS_TXN_RETRY_MAX_RETRIES);
}

static void the_budget_bounds_the_time_spent_backing_off(void **state) {
    (void)state;
    config.retry.max_retries = 1000;
    config.retry.retry_budget_us = 100000;
    uint64_t backoff, spent = 0;
    enum ts_txn_retry_decision decision;
    while ((decision = next(&conflict, 2000, &backoff)) == TS_TXN_RETRY_AGAIN)
        spent += backoff;
    assert_int_equal(decision, TS_TXN_RETRY_BUDGET);
    assert_int_equal(spent, retry.backoff_spent_us);
    assert_in_range(spent, 1, 100000);
}

static void the_ceiling_bounds_all_attempts_together(void **state) {
    (void)state;
    uint64_t backoff;
    /* The ceiling holds even if little time was spent in backoffs. */
    assert_int_equal(next(&conflict, 1000 + 10000000 - 10000, &backoff), TS_TXN_RETRY_CEILING);
    assert_int_equal(next(&conflict, 1000 + 10000000 - 12501, &backoff), TS_TXN_RETRY_AGAIN);
}

static void the_total_bounds_them_too(void **state) {
    (void)state;
    config.timeouts.total_us = 5000000;
    uint64_t backoff;
    assert_int_equal(next(&conflict, 1000 + 5000000, &backoff), TS_TXN_RETRY_TOTAL);
}

static void a_lock_is_waited_for_until_the_total_by_default(void **state) {
    (void)state;
    uint64_t backoff = 0, now_us = 1000;
    enum ts_txn_retry_decision decision;
    while ((decision = next(&lock, now_us, &backoff)) == TS_TXN_RETRY_AGAIN)
        now_us += backoff + 1000000;
    assert_int_equal(decision, TS_TXN_RETRY_TOTAL);
    assert_in_range(now_us, 1000 + config.timeouts.total_us - 2500000,
                    1000 + config.timeouts.total_us + 1000000);
    assert_true(retry.retries > config.retry.max_retries);
}

static void a_given_limit_of_retries_ends_the_wait_for_a_lock_earlier(void **state) {
    (void)state;
    uint64_t backoff;
    config.retry.max_retries_given = true;
    for (int i = 0; i < 3; i++)
        assert_int_equal(next(&lock, 2000, &backoff), TS_TXN_RETRY_AGAIN);
    assert_int_equal(next(&lock, 2000, &backoff), TS_TXN_RETRY_MAX_RETRIES);
    config.retry.max_retries_given = false;
    config.timeouts.retry_ceiling_given = true;
    assert_int_equal(next(&lock, 1000 + 10000000, &backoff), TS_TXN_RETRY_CEILING);
    config.timeouts.retry_ceiling_given = false;
    config.retry.retry_budget_us = 1;
    assert_int_equal(next(&lock, 2000, &backoff), TS_TXN_RETRY_AGAIN);
    config.retry.retry_budget_given = true;
    assert_int_equal(next(&lock, 2000, &backoff), TS_TXN_RETRY_BUDGET);
}

static void an_attempt_that_gave_way_continues_at_once(void **state) {
    (void)state;
    uint64_t backoff = 1;
    retry.gave_way = true;
    assert_int_equal(next(&lock, 2000, &backoff), TS_TXN_RETRY_AGAIN);
    assert_int_equal(backoff, 0);
    retry.gave_way = false;
    assert_int_equal(next(&lock, 2000, &backoff), TS_TXN_RETRY_AGAIN);
    assert_in_range(backoff, 20000, 25000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(backoff_grows_by_the_multiplier_up_to_the_cap_plus_jitter, fresh),
        cmocka_unit_test_setup(jitter_is_drawn_again_and_fills_its_range, fresh),
        cmocka_unit_test_setup(without_jitter_the_backoff_is_the_base, fresh),
        cmocka_unit_test_setup(a_conflict_backs_off_and_a_transient_error_is_first_retried_at_once, fresh),
        cmocka_unit_test_setup(nothing_but_the_repeatable_is_retried, fresh),
        cmocka_unit_test_setup(retries_end_at_max_retries, fresh),
        cmocka_unit_test_setup(the_budget_bounds_the_time_spent_backing_off, fresh),
        cmocka_unit_test_setup(the_ceiling_bounds_all_attempts_together, fresh),
        cmocka_unit_test_setup(the_total_bounds_them_too, fresh),
        cmocka_unit_test_setup(a_lock_is_waited_for_until_the_total_by_default, fresh),
        cmocka_unit_test_setup(a_given_limit_of_retries_ends_the_wait_for_a_lock_earlier, fresh),
        cmocka_unit_test_setup(an_attempt_that_gave_way_continues_at_once, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
