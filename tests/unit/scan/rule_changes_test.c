#include "rule_changes.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define RULE(id)                                                                                             \
    "  - {id: " id ", name: N, pattern: '\\b(?<secret>team_[a-z0-9]{12})\\b', gate: [team_], "               \
    "severity: low, reach: 20}\n"

/* A target that has a configuration and team.yml. */
struct files {
    const char *config;
    const char *rules;
};

static enum scan_profile_read read_file(void *ctx, const char *path, size_t max,
                                        struct scan_profile_file *ret) {
    const struct files *files = ctx;
    const char *text = strcmp(path, SCAN_CONFIG_NAME) == 0 ? files->config : files->rules;
    assert_true(strlen(text) <= max);
    *ret = (struct scan_profile_file){.bytes = malloc(strlen(text) + 1), .len = strlen(text)};
    assert_non_null(ret->bytes);
    memcpy(ret->bytes, text, strlen(text) + 1);
    return SCAN_PROFILE_READ;
}

static struct scan_profile profile;

static void init(struct files files, bool no_builtin_rules) {
    struct ts_scan_error error;
    struct scan_profile_source source = {.name = "target", .read = read_file, .ctx = &files};
    struct ts_scan_options options = {.cache_folder = "", .no_builtin_rules = no_builtin_rules};
    if (!scan__profile_init(&profile, &options, &source, &error))
        fail_msg("%s", error.text);
}

static int end(void **state) {
    (void)state;
    scan__profile_release(&profile);
    return 0;
}

static void expect(size_t index, enum ts_rule_change change, const char *source, const char *first) {
    assert_true(index < profile.rule_change_count);
    const struct ts_report_rule_change *row = &profile.rule_changes[index];
    assert_int_equal(row->change, change);
    assert_string_equal(row->source, source);
    assert_true(row->count > 0);
    if (first != NULL)
        assert_string_equal(row->rules[0], first);
}

static void a_configuration_without_rules_changes_none(void **state) {
    (void)state;
    init((struct files){"allow:\n  - rules: [jwt]\n", NULL}, false);
    assert_int_equal(profile.rule_change_count, 0);
    assert_string_equal(profile.note, "");
}

static void what_is_replaced_is_told_apart_from_what_is_added(void **state) {
    (void)state;
    init((struct files){"rules: {files: [team.yml]}\n",
                        "rules:\n" RULE("ours") RULE("jwt") RULE("github-pat")},
         false);
    assert_int_equal(profile.rule_change_count, 2);
    expect(0, TS_RULE_CHANGE_REPLACED, "team.yml", NULL);
    assert_int_equal(profile.rule_changes[0].count, 2);
    assert_int_equal(profile.rule_changes[0].target, 0);
    expect(1, TS_RULE_CHANGE_ADDED, "team.yml", "ours");
    assert_int_equal(profile.rule_changes[1].count, 1);
}

static void what_is_left_out_is_counted_without_what_is_replaced(void **state) {
    (void)state;
    struct files files = {"rules: {builtin: false, files: [team.yml]}\n", "rules:\n" RULE("jwt")};
    init(files, false);
    expect(0, TS_RULE_CHANGE_LEFT_OUT, SCAN_CONFIG_NAME, NULL);
    expect(1, TS_RULE_CHANGE_REPLACED, "team.yml", "jwt");
    size_t left_out = profile.rule_changes[0].count;
    assert_true(left_out > 80);
    assert_int_equal(profile.rule_changes[0].target, 0);
    for (size_t i = 0; i < left_out; i++)
        assert_string_not_equal(profile.rule_changes[0].rules[i], "jwt");
    scan__profile_release(&profile);
    init(files, true);
    expect(0, TS_RULE_CHANGE_LEFT_OUT, "--no-builtin-rules", NULL);
    assert_int_equal(profile.rule_changes[0].target, TS_REPORT_NONE);
    assert_int_equal(profile.rule_changes[0].count, left_out);
}

static void rules_that_are_not_there_are_noted_in_one_line(void **state) {
    (void)state;
    init((struct files){"allow:\n  - rules: [jwt]\n  - rules: [\"jw\\e[2Jt\", a, b]\n", NULL}, false);
    assert_string_equal(profile.note,
                        ".turnstone.yml:3: allow: there is no rule 'jw\\x1b[2Jt', nor 2 more that are "
                        "named; turnstone rules list shows them");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_configuration_without_rules_changes_none, end),
        cmocka_unit_test_teardown(what_is_replaced_is_told_apart_from_what_is_added, end),
        cmocka_unit_test_teardown(what_is_left_out_is_counted_without_what_is_replaced, end),
        cmocka_unit_test_teardown(rules_that_are_not_there_are_noted_in_one_line, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
