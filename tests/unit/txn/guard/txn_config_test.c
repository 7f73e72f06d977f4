#include "txn/guard/txn_config.h"

#include "support/cmocka.h"

#include <string.h>

static struct ts_txn_config config;

static int defaults(void **state) {
    (void)state;
    ts_txn_config_init(&config);
    return 0;
}

static void the_defaults_are_those_of_the_specification(void **state) {
    (void)state;
    assert_int_equal(config.timeouts.coord_queue_us, 500000);
    assert_int_equal(config.timeouts.shard_rpc_us, 2000000);
    assert_int_equal(config.timeouts.prepare_us, 5000000);
    assert_int_equal(config.timeouts.commit_us, 5000000);
    assert_int_equal(config.timeouts.lock_validate_us, 1000000);
    assert_int_equal(config.timeouts.total_us, 30000000);
    assert_int_equal(config.timeouts.retry_ceiling_us, 10000000);
    assert_int_equal(config.timeouts.policy, TS_TXN_TIMEOUT_POLICY_FAIL_FAST);
    assert_int_equal(config.admission.hard_limit, 128);
    assert_int_equal(config.admission.soft_limit, 96);
    assert_int_equal(config.admission.queue_policy, TS_TXN_QUEUE_FIFO);
    assert_int_equal(config.admission.overflow, TS_TXN_OVERFLOW_REJECT);
    assert_int_equal(config.retry.max_retries, 3);
    assert_int_equal(config.retry.initial_backoff_us, 10000);
    assert_int_equal(config.retry.max_backoff_us, 2000000);
    assert_int_equal(config.retry.multiplier_ppm, 2000000);
    assert_int_equal(config.retry.jitter_ppm, 250000);
    assert_int_equal(config.retry.retry_budget_us, 10000000);
    assert_int_equal(config.breaker.failure_threshold, 5);
    assert_int_equal(config.breaker.recovery_timeout_us, 10000000);
    assert_int_equal(config.adaptive.high_conflict_ppm, 150000);
    assert_int_equal(config.adaptive.low_conflict_ppm, 50000);
    assert_int_equal(config.adaptive.step_size, 4);
    assert_int_equal(config.adaptive.min_concurrency, 4);
    assert_int_equal(config.adaptive.max_concurrency, 256);
    assert_int_equal(config.deadlock.timeout_us, 10000000);
    assert_int_equal(config.replication.max_replication_lag_ms, 0);
    assert_null(ts_txn_config_conflict(&config));
}

static void expect_conflict(const char *part) {
    const char *said = ts_txn_config_conflict(&config);
    assert_non_null(said);
    assert_non_null(strstr(said, part));
}

static void a_soft_limit_above_the_hard_one_is_refused(void **state) {
    (void)state;
    config.admission.soft_limit = config.admission.hard_limit;
    assert_null(ts_txn_config_conflict(&config));
    config.admission.soft_limit++;
    expect_conflict("admission.soft_limit");
}

static void a_first_backoff_above_the_largest_is_refused(void **state) {
    (void)state;
    config.retry.initial_backoff_us = config.retry.max_backoff_us + 1;
    expect_conflict("retry.initial_backoff");
}

static void adaptive_bounds_in_the_wrong_order_are_refused(void **state) {
    (void)state;
    ts_txn_config_init(&config);
    config.breaker.probe_timeout_us = config.timeouts.total_us - 1;
    expect_conflict("breaker.probe_timeout");
    config.breaker.probe_timeout_us = config.timeouts.total_us;
    assert_null(ts_txn_config_conflict(&config));
    config.adaptive.low_conflict_ppm = config.adaptive.high_conflict_ppm + 1;
    expect_conflict("adaptive.low_conflict_rate");
    ts_txn_config_init(&config);
    config.adaptive.min_concurrency = config.adaptive.max_concurrency + 1;
    expect_conflict("adaptive.min_concurrency");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_defaults_are_those_of_the_specification, defaults),
        cmocka_unit_test_setup(a_soft_limit_above_the_hard_one_is_refused, defaults),
        cmocka_unit_test_setup(a_first_backoff_above_the_largest_is_refused, defaults),
        cmocka_unit_test_setup(adaptive_bounds_in_the_wrong_order_are_refused, defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
