#include "rule_changes.h"
#include "target_files.h"

static struct scan_profile profile;

static void init(struct target_files files, bool no_builtin_rules) {
    struct ts_scan_error error;
    struct ts_scan_options options = {.cache_folder = "", .no_builtin_rules = no_builtin_rules};
    struct scan_profile_context context = {
        .options = &options,
        .source = {.name = "target", .read = target_file_read, .ctx = &files, .file = SCAN_CONFIG_NAME}};
    if (!scan__profile_init(&profile, &context, &error))
        fail_msg("%s", error.text);
}

static int end(void **state) {
    (void)state;
    scan__profile_release(&profile);
    return 0;
}

static void expect(size_t index, enum ts_report_rule_change_kind change, const char *source,
                   const char *first) {
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
    init((struct target_files){"allow:\n  - rules: [jwt]\n", NULL}, false);
    assert_int_equal(profile.rule_change_count, 0);
    assert_string_equal(profile.note, "");
}

static void replaced_and_added_rules_are_distinguished(void **state) {
    (void)state;
    init((struct target_files){"rules: {files: [" TEAM_FILE "]}\n",
                               "rules:\n" TEAM_RULE("ours") TEAM_RULE("jwt") TEAM_RULE("github-pat")},
         false);
    assert_int_equal(profile.rule_change_count, 2);
    expect(0, TS_REPORT_RULE_CHANGE_REPLACED, TEAM_FILE, NULL);
    assert_int_equal(profile.rule_changes[0].count, 2);
    assert_int_equal(profile.rule_changes[0].target, 0);
    expect(1, TS_REPORT_RULE_CHANGE_ADDED, TEAM_FILE, "ours");
    assert_int_equal(profile.rule_changes[1].count, 1);
}

static void omitted_rules_are_counted_without_replaced_ones(void **state) {
    (void)state;
    struct target_files files = {"rules: {builtin: false, files: [" TEAM_FILE "]}\n",
                                 "rules:\n" TEAM_RULE("jwt")};
    init(files, false);
    expect(0, TS_REPORT_RULE_CHANGE_LEFT_OUT, SCAN_CONFIG_NAME, NULL);
    expect(1, TS_REPORT_RULE_CHANGE_REPLACED, TEAM_FILE, "jwt");
    size_t left_out = profile.rule_changes[0].count;
    assert_true(left_out > 80);
    assert_int_equal(profile.rule_changes[0].target, 0);
    for (size_t i = 0; i < left_out; i++)
        assert_string_not_equal(profile.rule_changes[0].rules[i], "jwt");
    scan__profile_release(&profile);
    init(files, true);
    expect(0, TS_REPORT_RULE_CHANGE_LEFT_OUT, "--no-builtin-rules", NULL);
    assert_int_equal(profile.rule_changes[0].target, TS_REPORT_NONE);
    assert_int_equal(profile.rule_changes[0].count, left_out);
}

static void rules_that_are_not_there_are_noted_in_one_line(void **state) {
    (void)state;
    init((struct target_files){"allow:\n  - rules: [jwt]\n  - rules: [\"jw\\e[2Jt\", a, b]\n", NULL}, false);
    assert_string_equal(profile.note, ".turnstone.yml:3: allow: unknown rule 'jw\\x1b[2Jt' and 2 more; "
                                      "'turnstone rules list' shows all rules");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_configuration_without_rules_changes_none, end),
        cmocka_unit_test_teardown(replaced_and_added_rules_are_distinguished, end),
        cmocka_unit_test_teardown(omitted_rules_are_counted_without_replaced_ones, end),
        cmocka_unit_test_teardown(rules_that_are_not_there_are_noted_in_one_line, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
