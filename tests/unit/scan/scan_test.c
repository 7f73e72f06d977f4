/* Tests scans of folders through scan.h. Scans of repositories are tested in tests/system. */
#include "folder_maker.h"
#include "scan/scan.h"

static struct folder_maker folder;
static struct ts_scan_error error;

#define RULES                                                                                                \
    "rules:\n  - {id: team, name: Team, pattern: '\\b(?<secret>team_[a-z0-9]{12})\\b', gate: [team_], "      \
    "severity: low, reach: 20}\n"

static int begin(void **state) {
    (void)state;
    folder_make(&folder);
    folder_write(&folder, "rules.yml", RULES);
    folder_mkdir(&folder, "top");
    folder_mkdir(&folder, "top/sub");
    folder_write(&folder, "top/a.txt", "x\nteam_q7w3e9r1t5y2 team_k4j8h2g6f1d3\n");
    folder_write(&folder, "top/sub/b.txt", "team_q7w3e9r1t5y2\nteam_q7w3e9r1t5y2\n");
    return 0;
}

static int end(void **state) {
    (void)state;
    folder_remove(&folder);
    return 0;
}

static enum ts_scan_outcome scan_top(struct ts_scan_options options, const char *name,
                                     struct ts_report *ret_report) {
    char path[512];
    char rules[512];
    snprintf(path, sizeof path, "%s", folder_path(&folder, name));
    snprintf(rules, sizeof rules, "%s", folder_path(&folder, "rules.yml"));
    const char *const rule_files[] = {rules};
    struct ts_scan_target target = {.path = path, .kind = TS_SCAN_TARGET_FOLDER};
    options.targets = &target;
    options.target_count = 1;
    options.rule_files = rule_files;
    options.rule_file_count = 1;
    options.no_builtin_rules = true;
    options.cache_folder = "";
    return ts_scan_report_make(&options, ret_report, &error);
}

static void findings_and_their_occurrences_are_reported(void **state) {
    (void)state;
    struct ts_report report;
    assert_int_equal(scan_top((struct ts_scan_options){.jobs = 3}, "top", &report), TS_SCAN_DONE);
    assert_int_equal(report.finding_count, 2);
    assert_int_equal(report.targets[0].blobs, 2);
    assert_int_equal(report.rule_count, 1);
    assert_true(report.has_public_salt);
    assert_false(ts_report_is_incomplete(&report));
    const struct ts_report_finding *both = &report.findings[report.findings[0].occurrence_count == 2 ? 0 : 1];
    assert_int_equal(both->occurrence_count, 2);
    assert_string_equal((const char *)both->occurrences[0].path.data, "a.txt");
    assert_int_equal(both->occurrences[0].line, 2);
    assert_string_equal((const char *)both->occurrences[1].path.data, "sub/b.txt");
    assert_int_equal(both->occurrences[1].line, 1);
    assert_string_equal(both->redacted, "te…y2");
    assert_int_equal(both->secret.len, 0);
    ts_scan_report_release(&report);
    ts_scan_report_release(&report);
}

static void a_caller_that_stops_it_gets_an_incomplete_report(void **state) {
    (void)state;
    struct ts_report report;
    struct ts_scan_progress progress = {.stop = true};
    assert_int_equal(scan_top((struct ts_scan_options){.progress = &progress}, "top", &report), TS_SCAN_DONE);
    assert_true(report.is_stopped);
    assert_true(ts_report_is_incomplete(&report));
    ts_scan_report_release(&report);
}

static void progress_counts_what_was_looked_at(void **state) {
    (void)state;
    struct ts_report report;
    struct ts_scan_progress progress = {.stop = false};
    assert_int_equal(scan_top((struct ts_scan_options){.progress = &progress}, "top", &report), TS_SCAN_DONE);
    assert_int_equal(atomic_load(&progress.objects), 2);
    assert_int_equal(atomic_load(&progress.objects_total), 2);
    assert_int_equal(atomic_load(&progress.bytes), report.targets[0].bytes);
    ts_scan_report_release(&report);
}

static void a_bad_target_is_an_outcome_and_no_report(void **state) {
    (void)state;
    struct ts_report report = {.finding_count = 77};
    assert_int_equal(scan_top((struct ts_scan_options){.jobs = 0}, "nowhere", &report), TS_SCAN_BAD_TARGET);
    assert_int_equal(report.finding_count, 77);
    assert_non_null(strstr(error.text, "nowhere"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(findings_and_their_occurrences_are_reported, begin, end),
        cmocka_unit_test_setup_teardown(a_caller_that_stops_it_gets_an_incomplete_report, begin, end),
        cmocka_unit_test_setup_teardown(progress_counts_what_was_looked_at, begin, end),
        cmocka_unit_test_setup_teardown(a_bad_target_is_an_outcome_and_no_report, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
