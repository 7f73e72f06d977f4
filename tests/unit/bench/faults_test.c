#include "bench/faults.h"

#include "support/cmocka.h"

static const struct bench_faults_span two_seconds = {.duration_ms = 2000};

static void times_that_nobody_has_set_are_parts_of_the_run(void **state) {
    (void)state;
    struct ts_txn_config config;
    ts_txn_config_init(&config);
    bench__faults_shorten(&config, two_seconds);
    assert_int_equal(config.timeouts.prepare_us, 20000);
    assert_int_equal(config.timeouts.total_us, 50000);
    assert_int_equal(config.breaker.recovery_timeout_us, 100000);
}

static void times_that_somebody_has_set_stay(void **state) {
    (void)state;
    struct ts_txn_config config;
    ts_txn_config_init(&config);
    config.breaker.recovery_timeout_us = 1500000;
    config.timeouts.prepare_us = 700000;
    config.timeouts.total_us = 900000;
    bench__faults_shorten(&config, two_seconds);
    assert_int_equal(config.breaker.recovery_timeout_us, 1500000);
    assert_int_equal(config.timeouts.prepare_us, 700000);
    assert_int_equal(config.timeouts.total_us, 900000);
    assert_int_equal(config.timeouts.commit_us, 20000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_that_nobody_has_set_are_parts_of_the_run),
        cmocka_unit_test(times_that_somebody_has_set_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
