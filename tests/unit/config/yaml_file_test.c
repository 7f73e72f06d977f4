#include "yaml_file.h"

#include "folder.h"

static char taken[2000];
static struct ts_config_error error;

static bool take(void *context, struct ts_bytes name, struct ts_bytes value, size_t line) {
    (void)context;
    size_t used = strlen(taken);
    snprintf(taken + used, sizeof taken - used, "%zu %.*s=%.*s;", line, (int)name.len,
             (const char *)name.data, (int)value.len, (const char *)value.data);
    return value.len != 4 || memcmp(value.data, "stop", 4) != 0;
}

static enum ts_config_result read_path(const char *path) {
    taken[0] = '\0';
    memset(&error, 0, sizeof error);
    return config__yaml_read(path, (struct config_taker){take, NULL}, &error);
}

static enum ts_config_result read_text(const char *text) {
    return read_path(folder_write("config.yml", text));
}

static void expect_taken(const char *text, const char *expected) {
    if (read_text(text) != TS_CONFIG_OK)
        fail_msg("%s: %s", text, error.text);
    assert_string_equal(taken, expected);
}

/* Expects that reading fails with a message that consists of the path and `rest`. */
static void expect_wrong(const char *text, const char *rest) {
    char expected[400];
    assert_int_equal(read_text(text), TS_CONFIG_INVALID);
    snprintf(expected, sizeof expected, "%s%s", folder_path("config.yml"), rest);
    assert_string_equal(error.text, expected);
}

static void settings_come_with_their_section_and_line(void **state) {
    (void)state;
    expect_taken("# mine\ntimeouts:\n  prepare: 2s\n  'commit': \"3s\"\n\nretry:\n  max_retries: 5\n",
                 "3 timeouts.prepare=2s;4 timeouts.commit=3s;7 retry.max_retries=5;");
    expect_taken("timeouts.prepare: 2s\n", "1 timeouts.prepare=2s;");
    expect_taken("timeouts: {prepare: 2s, commit: 3s}\n", "1 timeouts.prepare=2s;1 timeouts.commit=3s;");
}

static void nothing_is_a_file_too(void **state) {
    (void)state;
    expect_taken("", "");
    expect_taken("# only a comment\n", "");
    expect_taken("---\n", "");
    expect_taken("timeouts:\nretry:\n", "");
    expect_taken("{}\n", "");
}

static void other_shapes_are_refused_with_their_line(void **state) {
    (void)state;
    expect_wrong("- a\n- b\n", ":1: expected sections, such as \"timeouts:\"");
    expect_wrong("just words\n", ":1: expected sections, such as \"timeouts:\"");
    expect_wrong("timeouts:\n  prepare: [1, 2]\n", ":2: timeouts.prepare: expected a plain value");
    expect_wrong("timeouts:\n  prepare:\n    x: 1\n", ":3: timeouts.prepare: expected a plain value");
    expect_wrong("timeouts: [a]\n", ":1: timeouts: expected a section or a value");
    expect_wrong("a: &x\n  b: 1\nc: *x\n", ":3: c: expected a section or a value");
    expect_wrong("? [a]\n: b\n", ":1: expected the name of a section or setting");
    expect_wrong("a.b: 1\n---\na.b: 2\n", ":2: a second document: write all settings into one");
}

static void invalid_yaml_is_refused_with_its_line(void **state) {
    (void)state;
    assert_int_equal(read_text("timeouts:\n\tprepare: 2s\n"), TS_CONFIG_INVALID);
    assert_non_null(strstr(error.text, ":2: not YAML: "));
    assert_int_equal(read_text("a: 'b\n"), TS_CONFIG_INVALID);
    assert_non_null(strstr(error.text, "not YAML: "));
    assert_int_equal(read_text("a: \x01\n"), TS_CONFIG_INVALID);
    assert_non_null(strstr(error.text, "not YAML: "));
}

static void a_name_that_is_too_long_is_refused(void **state) {
    (void)state;
    char text[400];
    memset(text, 'x', 300);
    snprintf(text + 300, sizeof text - 300, ": 1\n");
    expect_wrong(text, ":1: the name is too long for a setting");
}

static void the_taker_can_stop_it(void **state) {
    (void)state;
    assert_int_equal(read_text("a.b: stop\na.c: 1\n"), TS_CONFIG_INVALID);
    assert_string_equal(taken, "1 a.b=stop;");
}

static void a_file_that_cannot_be_read_says_why(void **state) {
    (void)state;
    assert_int_equal(read_path(folder_path("missing.yml")), TS_CONFIG_UNREADABLE);
    assert_non_null(strstr(error.text, "missing.yml: No such file or directory"));
    assert_int_equal(read_path(folder), TS_CONFIG_UNREADABLE);
    assert_non_null(strstr(error.text, "Is a directory"));
}

static void a_file_beyond_a_mebibyte_is_refused(void **state) {
    (void)state;
    static char text[(1 << 20) + 2];
    memset(text, '#', sizeof text - 1);
    assert_int_equal(read_text(text), TS_CONFIG_UNREADABLE);
    assert_non_null(strstr(error.text, "larger than 1 MiB"));
    text[1 << 20] = '\0';
    assert_int_equal(read_text(text), TS_CONFIG_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(settings_come_with_their_section_and_line, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(nothing_is_a_file_too, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(other_shapes_are_refused_with_their_line, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(invalid_yaml_is_refused_with_its_line, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(a_name_that_is_too_long_is_refused, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(the_taker_can_stop_it, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_read_says_why, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(a_file_beyond_a_mebibyte_is_refused, folder_begin, folder_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
