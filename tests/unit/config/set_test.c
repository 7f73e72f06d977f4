#include "turnstone/config.h"

#include "support/cmocka.h"
#include "txn/guard/txn_config.h"

#include <string.h>

static void settings_are_set_and_all_others_keep_their_defaults(void **state) {
    (void)state;
    struct ts_config_error error;
    struct ts_txn_config wanted, *config = ts_txn_config_new();
    assert_non_null(config);
    ts_txn_config_init(&wanted);
    wanted.timeouts.prepare_us = 2000000;
    wanted.admission.overflow = TS_TXN_OVERFLOW_DEGRADE;
    assert_int_equal(ts_txn_config_set(config, "timeouts.prepare", "3s", &error), TS_CONFIG_OK);
    assert_int_equal(ts_txn_config_set(config, "timeouts.prepare", "2s", &error), TS_CONFIG_OK);
    assert_int_equal(ts_txn_config_set(config, "admission.overflow", "Degrade", &error), TS_CONFIG_OK);
    assert_int_equal(config->timeouts.prepare_us, wanted.timeouts.prepare_us);
    assert_int_equal(config->timeouts.commit_us, wanted.timeouts.commit_us);
    assert_int_equal(config->admission.overflow, wanted.admission.overflow);
    ts_txn_config_free(config);
}

static void errors_are_reported_and_change_nothing(void **state) {
    (void)state;
    struct ts_config_error error;
    struct ts_txn_config *config = ts_txn_config_new();
    assert_non_null(config);
    uint64_t before_us = config->timeouts.prepare_us;
    assert_int_equal(ts_txn_config_set(config, "timeouts.prepare", "2", &error), TS_CONFIG_INVALID);
    assert_int_equal(strncmp(error.text, "timeouts.prepare: ", 18), 0);
    assert_int_equal(config->timeouts.prepare_us, before_us);
    assert_int_equal(ts_txn_config_set(config, "timeouts.prepar", "2s", &error), TS_CONFIG_INVALID);
    assert_string_equal(error.text, "timeouts.prepar: unknown setting; did you mean timeouts.prepare?");
    ts_txn_config_free(config);
    ts_txn_config_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_set_and_all_others_keep_their_defaults),
        cmocka_unit_test(errors_are_reported_and_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
