#include "coord/core/run_config.h"

#include "support/cmocka.h"

static void the_default_is_valid_and_as_documented(void **state) {
    (void)state;
    struct ts_run_config_detail detail;
    const struct ts_run_config config = ts_run_config_default();
    assert_int_equal(ts_run_config_check(&config, &detail), TS_RUN_CONFIG_FAULT_OK);
    assert_int_equal(config.lease_duration_ms, 30000);
    assert_int_equal(config.attempts, 5);
    assert_int_equal(config.cooldown_ms, 0);
    assert_int_equal(config.semantics, TS_CURSOR_COMPLETED);
}

static void each_field_has_a_range_and_an_error_of_its_own(void **state) {
    (void)state;
    static const struct {
        struct ts_run_config config;
        enum ts_run_config_error expected;
    } cases[] = {
        {{1000, 0, 1, 0, TS_CURSOR_COMPLETED, {{0}}}, TS_RUN_CONFIG_FAULT_OK},
        {{999, 0, 1, 0, TS_CURSOR_COMPLETED, {{0}}}, TS_RUN_CONFIG_FAULT_LEASE_DURATION},
        {{86400000, 86400000, 1000000, 1000, TS_CURSOR_DISPATCHED, {{0}}}, TS_RUN_CONFIG_FAULT_OK},
        {{86400001, 0, 1, 0, TS_CURSOR_COMPLETED, {{0}}}, TS_RUN_CONFIG_FAULT_LEASE_DURATION},
        {{1000, 0, 1, 1001, TS_CURSOR_COMPLETED, {{0}}}, TS_RUN_CONFIG_FAULT_ATTEMPTS},
        {{1000, 1000, 1, 0, TS_CURSOR_COMPLETED, {{0}}}, TS_RUN_CONFIG_FAULT_OK},
        {{1000, 1001, 1, 0, TS_CURSOR_COMPLETED, {{0}}}, TS_RUN_CONFIG_FAULT_COOLDOWN},
        {{1000, 0, 1, 0, (enum ts_cursor_semantics)2, {{0}}}, TS_RUN_CONFIG_FAULT_CURSOR_SEMANTICS},
        {{1000, 0, 0, 0, TS_CURSOR_COMPLETED, {{0}}}, TS_RUN_CONFIG_FAULT_SHARD_MAX},
        {{1000, 0, 1000001, 0, TS_CURSOR_COMPLETED, {{0}}}, TS_RUN_CONFIG_FAULT_SHARD_MAX},
        /* If several values are wrong, the first one is reported. */
        {{0, 5, 0, 5000, (enum ts_cursor_semantics)2, {{0}}}, TS_RUN_CONFIG_FAULT_LEASE_DURATION},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ts_run_config_detail detail = {0};
        assert_int_equal(ts_run_config_check(&cases[i].config, &detail), cases[i].expected);
        if (cases[i].expected == TS_RUN_CONFIG_FAULT_OK)
            continue;
        assert_int_equal(detail.error, cases[i].expected);
        assert_true(detail.value < detail.min || detail.value > detail.max);
    }
}

static void configurations_are_equal_field_by_field(void **state) {
    (void)state;
    const struct ts_run_config a = ts_run_config_default();
    struct ts_run_config b = a;
    assert_true(ts_run_config_equal(&a, &b));
    b.attempts++;
    assert_false(ts_run_config_equal(&a, &b));
    b = a;
    b.lease_duration_ms++;
    assert_false(ts_run_config_equal(&a, &b));
    b = a;
    b.cooldown_ms++;
    assert_false(ts_run_config_equal(&a, &b));
    b = a;
    b.shard_max++;
    assert_false(ts_run_config_equal(&a, &b));
    b = a;
    b.semantics = TS_CURSOR_DISPATCHED;
    assert_false(ts_run_config_equal(&a, &b));
    b = a;
    b.pin.b[TS_PIN_LEN - 1] = 1;
    assert_false(ts_run_config_equal(&a, &b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_is_valid_and_as_documented),
        cmocka_unit_test(each_field_has_a_range_and_an_error_of_its_own),
        cmocka_unit_test(configurations_are_equal_field_by_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
