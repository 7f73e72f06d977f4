#include "config/config.h"

#include "folder.h"

#include <fcntl.h>

static const struct ts_config_places nowhere = {.xdg_config_dirs = "/nowhere/at/all"};
static struct ts_txn_config config;
static struct ts_config_error error;

static enum ts_config_result load(const char *text, const char *override) {
    struct ts_config_options options = {
        .path = text != NULL ? folder_write("config.yml", text) : NULL,
        .places = &nowhere,
        .overrides = &override,
        .override_count = override != NULL,
    };
    memset(&config, 0xee, sizeof config);
    memset(&error, 0, sizeof error);
    return ts_config_load(&options, &config, &error);
}

static void expect_loaded(const char *text, const char *override) {
    if (load(text, override) != TS_CONFIG_OK)
        fail_msg("%s", error.text);
}

/* Expects that loading fails with this error and leaves the configuration unchanged. "FILE" at the start of
 * `expected` stands for the path. */
static void expect_wrong(const char *text, const char *override, const char *expected) {
    char whole[600];
    struct ts_txn_config untouched;
    memset(&untouched, 0xee, sizeof untouched);
    assert_int_equal(load(text, override), TS_CONFIG_INVALID);
    bool in_file = strncmp(expected, "FILE", 4) == 0;
    snprintf(whole, sizeof whole, "%s%s", in_file ? folder_path("config.yml") : "",
             in_file ? expected + 4 : expected);
    assert_string_equal(error.text, whole);
    assert_memory_equal(&config, &untouched, sizeof config);
}

static void without_a_file_the_defaults_hold(void **state) {
    (void)state;
    struct ts_txn_config defaults;
    memset(&defaults, 0xee, sizeof defaults);
    ts_txn_config_init(&defaults);
    expect_loaded(NULL, NULL);
    assert_int_equal(config.timeouts.prepare_us, defaults.timeouts.prepare_us);
    assert_int_equal(config.admission.hard_limit, 128);
}

static void a_file_changes_what_it_names_and_nothing_else(void **state) {
    (void)state;
    expect_loaded("timeouts:\n  prepare: 2s\n  policy: BestEffort\nadmission:\n  hard_limit: 200\n", NULL);
    assert_int_equal(config.timeouts.prepare_us, 2000000);
    assert_int_equal(config.timeouts.policy, TS_TXN_TIMEOUT_POLICY_BEST_EFFORT);
    assert_int_equal(config.admission.hard_limit, 200);
    assert_int_equal(config.timeouts.commit_us, 5000000);
    assert_int_equal(config.admission.soft_limit, 96);
}

static void the_file_is_found_in_its_place(void **state) {
    (void)state;
    folder_write("turnstone/config.yml", "retry: {max_retries: 9}\n");
    const struct ts_config_places places = {.xdg_config_home = folder};
    const struct ts_config_options options = {.places = &places};
    assert_int_equal(ts_config_load(&options, &config, &error), TS_CONFIG_OK);
    assert_int_equal(config.retry.max_retries, 9);
}

static void an_override_wins_over_the_file_and_the_last_over_the_first(void **state) {
    (void)state;
    expect_loaded("timeouts.prepare: 2s\n", "timeouts.prepare=3s");
    assert_int_equal(config.timeouts.prepare_us, 3000000);
    const char *const overrides[] = {"timeouts.prepare=1s", "timeouts.prepare=4s"};
    const struct ts_config_options options = {
        .places = &nowhere, .overrides = overrides, .override_count = 2};
    assert_int_equal(ts_config_load(&options, &config, &error), TS_CONFIG_OK);
    assert_int_equal(config.timeouts.prepare_us, 4000000);
}

static void errors_name_file_line_setting_and_cure(void **state) {
    (void)state;
    expect_wrong("timeouts:\n  perpare: 2s\n", NULL,
                 "FILE:2: timeouts.perpare: unknown setting; did you mean timeouts.prepare?");
    expect_wrong("timeouts:\n\n  prepare: 2\n", NULL,
                 "FILE:3: timeouts.prepare: \"2\" has no unit: add one of us, ms, s, m, h");
    expect_wrong(
        "timeouts:\n  prepare:\n", NULL,
        "FILE:2: timeouts.prepare: \"\" is not a duration: write a number and one of us, ms, s, m, h, "
        "such as 500ms");
    expect_wrong("retry: {max_retries: 1}\nretry.max_retries: 2\n", NULL,
                 "FILE:2: retry.max_retries: already set in line 1: remove one of them");
}

static void errors_in_overrides_name_the_override(void **state) {
    (void)state;
    expect_wrong(NULL, "timeouts.prepare=2",
                 "--set timeouts.prepare=2: timeouts.prepare: \"2\" has no unit: add one of us, ms, s, m, h");
    expect_wrong(
        NULL, "timeouts.prepare",
        "--set timeouts.prepare: timeouts.prepare: expected NAME=VALUE, such as timeouts.prepare=2s");
    expect_wrong(NULL, "breaker.recovery_timout=2s",
                 "--set breaker.recovery_timout=2s: breaker.recovery_timout: unknown setting; did you "
                 "mean breaker.recovery_timeout?");
}

static void settings_that_contradict_one_another_are_refused(void **state) {
    (void)state;
    expect_wrong("admission:\n  soft_limit: 129\n", NULL,
                 "FILE:2: admission.soft_limit is above admission.hard_limit: lower it or raise the other");
    expect_wrong("admission:\n  hard_limit: 95\n", NULL,
                 "FILE:2: admission.soft_limit is above admission.hard_limit: lower it or raise the other");
    expect_wrong(
        NULL, "retry.max_backoff=1ms",
        "--set retry.max_backoff=1ms: retry.initial_backoff is above retry.max_backoff: lower it or raise "
        "the other");
    expect_loaded("admission:\n  soft_limit: 129\n", "admission.hard_limit=129");
}

static void a_file_that_was_asked_for_must_be_there(void **state) {
    (void)state;
    const struct ts_config_options options = {.path = folder_path("missing.yml")};
    assert_int_equal(ts_config_load(&options, &config, &error), TS_CONFIG_UNREADABLE);
    assert_non_null(strstr(error.text, "missing.yml: No such file or directory"));
}

static void hostile_names_stay_on_one_line(void **state) {
    (void)state;
    assert_int_equal(load("\"a\\nb\": 1\n", NULL), TS_CONFIG_INVALID);
    assert_null(strchr(error.text, '\n'));
    assert_int_equal(load(NULL, "a\nb=\x1b[2J"), TS_CONFIG_INVALID);
    assert_null(strchr(error.text, '\n'));
    assert_null(strchr(error.text, '\x1b'));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_a_file_the_defaults_hold, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(a_file_changes_what_it_names_and_nothing_else, folder_begin,
                                        folder_end),
        cmocka_unit_test_setup_teardown(the_file_is_found_in_its_place, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(an_override_wins_over_the_file_and_the_last_over_the_first,
                                        folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(errors_name_file_line_setting_and_cure, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(errors_in_overrides_name_the_override, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(settings_that_contradict_one_another_are_refused, folder_begin,
                                        folder_end),
        cmocka_unit_test_setup_teardown(a_file_that_was_asked_for_must_be_there, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(hostile_names_stay_on_one_line, folder_begin, folder_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
