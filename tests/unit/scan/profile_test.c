#include "option_names.h"
#include "profile.h"
#include "target_files.h"

#define RULES "rules:\n" TEAM_RULE("team")

static struct scan_profile profile;
static struct ts_scan_error error;

static bool init(struct target_files *files, struct ts_scan_options options) {
    options.cache_folder = "";
    struct scan_profile_context context = {
        .options = &options,
        .source = {.name = "target", .read = target_file_read, .ctx = files, .file = SCAN_CONFIG_NAME}};
    return scan__profile_init(&profile, &context, &error);
}

/* Makes the profile of another target of the same scan. Returns whether this profile shares the rules of the
 * first one. */
static bool shares_rules(struct target_files *files) {
    struct ts_scan_options options = {.cache_folder = ""};
    struct scan_profile *known[] = {&profile};
    struct scan_profile_context context = {
        .options = &options,
        .source = {.name = "other", .read = target_file_read, .ctx = files, .file = SCAN_CONFIG_NAME},
        .known = known,
        .known_count = 1,
    };
    struct scan_profile other;
    assert_true(scan__profile_init(&other, &context, &error));
    bool is_shared = other.rules == profile.rules;
    scan__profile_release(&other);
    assert_true(profile.rules->user_count == 1);
    return is_shared;
}

static void the_target_may_have_rules_and_a_salt_of_its_own(void **state) {
    (void)state;
    struct target_files files = {"salt: 0123456789abcdef\nrules: {builtin: false, files: [" TEAM_FILE "]}\n",
                                 RULES};
    assert_true(init(&files, (struct ts_scan_options){.jobs = 0}));
    assert_int_equal(profile.rules->set.count, 1);
    assert_false(profile.has_public_salt);
    struct ts_finding_key own = profile.key;
    scan__profile_release(&profile);
    assert_true(init(&files, (struct ts_scan_options){.salt = TS_BYTES("the baseline has another")}));
    assert_memory_not_equal(&own, &profile.key, sizeof own);
    scan__profile_release(&profile);
}

static void the_targets_configuration_can_be_ignored(void **state) {
    (void)state;
    struct target_files files = {"what is this", NULL};
    assert_false(init(&files, (struct ts_scan_options){.jobs = 0}));
    assert_non_null(strstr(error.text, SCAN_OPTION_NO_REPO_CONFIG));
    assert_true(init(&files, (struct ts_scan_options){.no_repo_config = true}));
    assert_false(profile.has_config);
    assert_true(profile.has_public_salt);
    assert_true(profile.rules->set.count > 80);
    scan__profile_release(&profile);
}

static void rule_files_outside_the_target_are_refused(void **state) {
    (void)state;
    static const char *const paths[] = {"/etc/passwd", "..", "../x", "in/../../x", "in/..", ""};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char config[200];
        snprintf(config, sizeof config, "rules: {files: ['%s']}\n", paths[i]);
        struct target_files files = {config, RULES};
        assert_false(init(&files, (struct ts_scan_options){.jobs = 0}));
    }
    struct target_files absent = {"rules: {files: [in/other.yml]}\n", RULES};
    assert_false(init(&absent, (struct ts_scan_options){.jobs = 0}));
    assert_non_null(strstr(error.text, "in/other.yml"));
}

static void without_any_rule_there_is_nothing_to_scan_with(void **state) {
    (void)state;
    struct target_files files = {NULL, NULL};
    assert_false(init(&files, (struct ts_scan_options){.no_builtin_rules = true}));
    assert_non_null(strstr(error.text, SCAN_OPTION_RULES));
}

#define OWN(name) "rules: {builtin: false, files: [" name "]}\n"

static void targets_share_rules_of_the_same_texts_and_no_others(void **state) {
    (void)state;
    struct target_files first = {"allow: [{paths: [a], reason: x}]\n" OWN(TEAM_FILE), RULES};
    struct target_files same = {"allow: [{paths: [b], reason: y}]\n" OWN(TEAM_FILE), RULES};
    struct target_files other_text = {OWN(TEAM_FILE), RULES "# changed\n"};
    struct target_files builtin_too = {"rules: {files: [" TEAM_FILE "]}\n", RULES};
    assert_true(init(&first, (struct ts_scan_options){.jobs = 0}));
    assert_true(shares_rules(&same));
    assert_false(shares_rules(&other_text));
    assert_false(shares_rules(&builtin_too));
    scan__profile_release(&profile);
}

static void a_target_without_rules_of_its_own_shares_the_built_in_ones(void **state) {
    (void)state;
    struct target_files plain = {NULL, NULL};
    struct target_files allows = {"allow: [{paths: [a], reason: x}]\n", NULL};
    struct target_files own = {"rules: {files: [" TEAM_FILE "]}\n", RULES};
    assert_true(init(&plain, (struct ts_scan_options){.jobs = 0}));
    assert_true(shares_rules(&allows));
    assert_false(shares_rules(&own));
    scan__profile_release(&profile);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_target_may_have_rules_and_a_salt_of_its_own),
        cmocka_unit_test(the_targets_configuration_can_be_ignored),
        cmocka_unit_test(rule_files_outside_the_target_are_refused),
        cmocka_unit_test(without_any_rule_there_is_nothing_to_scan_with),
        cmocka_unit_test(targets_share_rules_of_the_same_texts_and_no_others),
        cmocka_unit_test(a_target_without_rules_of_its_own_shares_the_built_in_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
