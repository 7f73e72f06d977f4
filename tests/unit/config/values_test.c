#include "settings.h"

#include "support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static char why[300];

static bool parse(const char *name, const char *text, uint64_t *ret_value) {
    const struct config_setting *setting = config__setting_find(ts_bytes_of_cstring(name));
    assert_non_null(setting);
    return config__value_parse(setting, ts_bytes_of_cstring(text), ret_value, why, sizeof why);
}

static void expect(const char *name, const char *text, uint64_t expected) {
    uint64_t value = 0;
    if (!parse(name, text, &value))
        fail_msg("%s: %s", name, why);
    if (value != expected)
        fail_msg("%s=%s gives %" PRIu64 ", expected %" PRIu64, name, text, value, expected);
}

static void refuse(const char *name, const char *text, const char *part) {
    uint64_t value = 77;
    if (parse(name, text, &value))
        fail_msg("%s=%s was taken", name, text);
    assert_int_equal(value, 77);
    if (strstr(why, part) == NULL)
        fail_msg("%s=%s: expected \"%s\" in: %s", name, text, part, why);
}

static void durations_have_units(void **state) {
    (void)state;
    expect("timeouts.prepare", "250us", 250);
    expect("timeouts.prepare", "500ms", 500000);
    expect("timeouts.prepare", "2s", 2000000);
    expect("timeouts.prepare", "3m", 180000000);
    expect("timeouts.prepare", "1h", UINT64_C(3600000000));
    expect("timeouts.prepare", "1.5s", 1500000);
    expect("timeouts.prepare", "0.25ms", 250);
    expect("timeouts.prepare", "0.000001s", 1);
    expect("retry.initial_backoff", "0s", 0);
}

static void an_invalid_duration_is_refused_with_the_fix(void **state) {
    (void)state;
    refuse("timeouts.prepare", "2", "\"2\" has no unit: add one of us, ms, s, m, h");
    refuse("timeouts.prepare", "2.5", "has no unit");
    refuse("timeouts.prepare", "", "is not a duration");
    refuse("timeouts.prepare", "s", "is not a duration");
    refuse("timeouts.prepare", "two seconds", "is not a duration");
    refuse("timeouts.prepare", "2 s", "is not a duration");
    refuse("timeouts.prepare", "-2s", "is not a duration");
    refuse("timeouts.prepare", "1.s", "is not a duration");
    refuse("timeouts.prepare", ".5s", "is not a duration");
    refuse("timeouts.prepare", "0.5us", "is not a duration");
    refuse("timeouts.prepare", "1.5.5s", "is not a duration");
    refuse("timeouts.prepare", "99999999999999999999s", "is not a duration");
    refuse("timeouts.prepare", "18446744073709551615h", "is not a duration");
}

static void values_out_of_range_name_the_range(void **state) {
    (void)state;
    refuse("timeouts.prepare", "0s", "0s is out of range: 1us to 24h");
    refuse("timeouts.prepare", "25h", "out of range");
    refuse("admission.hard_limit", "0", "0 is out of range: 1 to 1000000");
    refuse("admission.hard_limit", "4294967297", "out of range");
    refuse("retry.multiplier", "0.9", "0.9 is out of range: 1.0 to 100.0");
    refuse("retry.jitter_ratio", "1.000001", "out of range: 0.0 to 1.0");
}

static void ratios_are_decimal_fractions(void **state) {
    (void)state;
    expect("retry.jitter_ratio", "0.25", 250000);
    expect("retry.jitter_ratio", "1", 1000000);
    expect("adaptive.high_conflict_rate", "0.000001", 1);
    refuse("retry.jitter_ratio", "25%", "is not a ratio: write a decimal fraction such as 0.25");
    refuse("retry.jitter_ratio", "0.1234567", "is not a ratio");
}

static void counts_are_whole_numbers(void **state) {
    (void)state;
    expect("retry.max_retries", "0", 0);
    expect("replication.max_replication_lag_ms", "1500", 1500);
    refuse("retry.max_retries", "3.0", "\"3.0\" is not a whole number");
    refuse("retry.max_retries", "many", "is not a whole number");
    refuse("replication.max_replication_lag_ms", "2s", "is not a whole number");
}

static void choices_are_names_and_a_near_one_is_offered(void **state) {
    (void)state;
    expect("admission.overflow", "Reject", TS_TXN_OVERFLOW_REJECT);
    expect("admission.overflow", "ShedLoad", TS_TXN_OVERFLOW_SHED_LOAD);
    expect("admission.overflow", "Degrade", TS_TXN_OVERFLOW_DEGRADE);
    expect("timeouts.policy", "BestEffort", TS_TXN_TIMEOUT_POLICY_BEST_EFFORT);
    expect("admission.queue_policy", "ShortTxnPriority", TS_TXN_QUEUE_SHORT_TXN_PRIORITY);
    refuse("admission.overflow", "Shedload", "did you mean ShedLoad?");
    refuse("admission.overflow", "explode", "\"explode\" is not one of Reject, ShedLoad, Degrade");
}

static void untrusted_text_is_shown_on_one_line(void **state) {
    (void)state;
    refuse("retry.max_retries", "a\nb\x1b[2J", "\"a\\x0ab\\x1b[2J\"");
}

static void written_values_read_the_same(void **state) {
    (void)state;
    static const uint64_t durations[] = {1,       999,      1000,     1500,
                                         1000000, 90000000, 60000000, UINT64_C(86400000000)};
    static const char *const texts[] = {"1us", "999us", "1ms", "1500us", "1s", "90s", "1m", "24h"};
    const struct config_setting *prepare = config__setting_find(TS_BYTES("timeouts.prepare"));
    const struct config_setting *jitter = config__setting_find(TS_BYTES("retry.jitter_ratio"));
    char text[TS_CONFIG_VALUE_SIZE];
    for (size_t i = 0; i < 8; i++) {
        config__value_format(prepare, durations[i], text);
        assert_string_equal(text, texts[i]);
        expect("timeouts.prepare", text, durations[i]);
    }
    config__value_format(jitter, 250000, text);
    assert_string_equal(text, "0.25");
    config__value_format(jitter, 1000000, text);
    assert_string_equal(text, "1.0");
    config__value_format(jitter, 1, text);
    assert_string_equal(text, "0.000001");
    config__value_format(prepare, 0, text);
    assert_string_equal(text, "0s");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(an_invalid_duration_is_refused_with_the_fix),
        cmocka_unit_test(values_out_of_range_name_the_range),
        cmocka_unit_test(ratios_are_decimal_fractions),
        cmocka_unit_test(counts_are_whole_numbers),
        cmocka_unit_test(choices_are_names_and_a_near_one_is_offered),
        cmocka_unit_test(untrusted_text_is_shown_on_one_line),
        cmocka_unit_test(written_values_read_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
