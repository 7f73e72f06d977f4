#include "settings.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct config_setting *find(const char *name) {
    return config__setting_find(ts_bytes_of_cstring(name));
}

static void a_setting_is_found_by_its_full_name_only(void **state) {
    (void)state;
    assert_string_equal(find("timeouts.prepare")->name, "timeouts.prepare");
    assert_null(find("prepare"));
    assert_null(find("timeouts.prepar"));
    assert_null(find(""));
}

static void the_names_of_the_specification_are_settings(void **state) {
    (void)state;
    static const char *const names[] = {"timeouts.coord_queue",
                                        "timeouts.shard_rpc",
                                        "timeouts.prepare",
                                        "timeouts.commit",
                                        "timeouts.lock_validate",
                                        "timeouts.total",
                                        "timeouts.retry_ceiling",
                                        "timeouts.policy",
                                        "admission.hard_limit",
                                        "admission.soft_limit",
                                        "admission.queue_policy",
                                        "admission.overflow",
                                        "retry.max_retries",
                                        "retry.initial_backoff",
                                        "retry.max_backoff",
                                        "retry.multiplier",
                                        "retry.jitter_ratio",
                                        "retry.retry_budget",
                                        "breaker.failure_threshold",
                                        "breaker.recovery_timeout",
                                        "adaptive.step_size",
                                        "adaptive.min_concurrency",
                                        "adaptive.max_concurrency",
                                        "deadlock.timeout",
                                        "replication.max_replication_lag_ms"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (find(names[i]) == NULL)
            fail_msg("no setting %s", names[i]);
}

/* Each setting has its own place: changing one setting changes no other. */
static void settings_do_not_overlap(void **state) {
    (void)state;
    for (size_t i = 0; i < config__setting_count; i++) {
        struct ts_txn_config config, before;
        ts_txn_config_init(&config);
        before = config;
        uint64_t value = config__setting_get(&config__settings[i], &config) + 1;
        config__setting_put(&config__settings[i], &config, value);
        for (size_t k = 0; k < config__setting_count; k++)
            assert_int_equal(config__setting_get(&config__settings[k], &config),
                             k == i ? value : config__setting_get(&config__settings[k], &before));
    }
}

/* Sets every bit of every setting. The settings must fill as many bytes as their sizes add up to. */
static void every_member_of_the_struct_is_a_setting(void **state) {
    (void)state;
    struct ts_txn_config config, blank;
    memset(&config, 0, sizeof config);
    memset(&blank, 0, sizeof blank);
    size_t bytes = 0;
    for (size_t i = 0; i < config__setting_count; i++) {
        config__setting_put(&config__settings[i], &config, UINT64_MAX);
        bytes +=
            config__settings[i].kind == CONFIG_DURATION || config__settings[i].kind == CONFIG_MILLIS ? 8 : 4;
    }
    size_t set = 0;
    for (size_t i = 0; i < sizeof config; i++)
        set += ((const unsigned char *)&config)[i] == 0xff;
    assert_int_equal(set, bytes);
    /* The numbers of settings, in this order: timeouts (7 durations and a policy), admission, retry, breaker,
     * conflict window, adaptive limits, deadlocks, replication, shards. */
    assert_int_equal(config__setting_count, 8 + 4 + 6 + 3 + 1 + 7 + 1 + 1 + 2);
}

static void defaults_lie_in_their_ranges(void **state) {
    (void)state;
    struct ts_txn_config config;
    ts_txn_config_init(&config);
    for (size_t i = 0; i < config__setting_count; i++) {
        const struct config_setting *setting = &config__settings[i];
        char text[TS_CONFIG_VALUE_SIZE], why[300];
        uint64_t value = config__setting_get(setting, &config), parsed;
        config__value_format(setting, value, text);
        if (!config__value_parse(setting, ts_bytes_of_cstring(text), &parsed, why, sizeof why))
            fail_msg("%s: %s", setting->name, why);
        assert_int_equal(parsed, value);
    }
}

static const char *explain(const char *name) {
    static char text[360];
    config__explain_unknown(ts_bytes_of_cstring(name), text, sizeof text);
    return text;
}

static void an_unknown_name_is_answered_with_the_nearest(void **state) {
    (void)state;
    assert_string_equal(explain("timeouts.perpare"), "unknown setting; did you mean timeouts.prepare?");
    assert_string_equal(explain("admision.hard_limit"),
                        "unknown setting; did you mean admission.hard_limit?");
}

static void with_nothing_near_it_is_answered_with_what_there_is(void **state) {
    (void)state;
    assert_string_equal(explain("breaker.colour_of_it"),
                        "unknown setting; there are failure_threshold, recovery_timeout, probe_timeout");
    assert_string_equal(explain("kitchen.sink"),
                        "unknown setting; the sections are timeouts, admission, retry, breaker, conflict, "
                        "adaptive, deadlock, replication, shards");
}

static char *read_document(void) {
    FILE *file = fopen(TS_DOCUMENT, "r");
    assert_non_null(file);
    static char text[100000];
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_true(len > 0 && len < sizeof text - 1);
    text[len] = '\0';
    return text;
}

static void the_document_lists_every_setting_and_no_other(void **state) {
    (void)state;
    const char *document = read_document();
    size_t found = 0;
    struct ts_txn_config defaults;
    ts_txn_config_init(&defaults);
    for (size_t i = 0; i < config__setting_count; i++) {
        const struct config_setting *setting = &config__settings[i];
        char value[TS_CONFIG_VALUE_SIZE], allowed[2 * TS_CONFIG_VALUE_SIZE], row[600];
        config__value_format(setting, config__setting_get(setting, &defaults), value);
        config__allowed(setting, allowed, sizeof allowed);
        snprintf(row, sizeof row, "\n| `%s` | `%s` | %s | %s |\n", setting->name, value, allowed,
                 setting->meaning);
        if (strstr(document, row) == NULL)
            fail_msg("docs/configuration.md lacks the row: %s", row + 1);
    }
    for (const char *at = document; (at = strstr(at, "\n| `")) != NULL; at++)
        found++;
    assert_int_equal(found, config__setting_count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_setting_is_found_by_its_full_name_only),
        cmocka_unit_test(the_names_of_the_specification_are_settings),
        cmocka_unit_test(settings_do_not_overlap),
        cmocka_unit_test(every_member_of_the_struct_is_a_setting),
        cmocka_unit_test(defaults_lie_in_their_ranges),
        cmocka_unit_test(an_unknown_name_is_answered_with_the_nearest),
        cmocka_unit_test(with_nothing_near_it_is_answered_with_what_there_is),
        cmocka_unit_test(the_document_lists_every_setting_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
