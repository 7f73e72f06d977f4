#include "support.h"

#include "support/cmocka.h"

static void findings_are_sorted_gravest_first(void **state) {
    (void)state;
    struct ts_report report = sample_report();
    assert_string_equal(report.findings[0].rule->id, "github-pat");
    assert_string_equal(report.findings[1].rule->id, "generic-password");
    assert_string_equal(report.findings[2].rule->id, "team-odd");
}

static void equal_severity_is_sorted_by_confidence_rule_place_and_id(void **state) {
    (void)state;
    static const struct ts_rule rules[] = {{.id = "a", .severity = TS_SEVERITY_HIGH},
                                           {.id = "b", .severity = TS_SEVERITY_HIGH}};
    static const struct ts_report_occurrence places[] = {
        {.object = "", .path = TS_BYTES_INIT("x"), .line = 9},
        {.object = "", .path = TS_BYTES_INIT("x"), .line = 10},
        {.object = "", .path = TS_BYTES_INIT("x"), .line = 10, .column = 2},
        {.object = "", .path = TS_BYTES_INIT("y")},
        {.object = "", .target = 1},
    };
    struct ts_report_finding findings[7];
    for (size_t i = 0; i < 7; i++)
        findings[i] = (struct ts_report_finding){.rule = &rules[0], .occurrences = &places[i < 5 ? i : 4]};
    findings[5].id.text[0] = '1';
    findings[6].rule = &rules[1];
    findings[6].occurrences = &places[0];
    struct ts_report_finding high = findings[6];
    high.confidence = TS_CONFIDENCE_HIGH;
    struct ts_report_finding shuffled[8] = {findings[5], findings[2], findings[6], findings[0],
                                            high,        findings[4], findings[3], findings[1]};
    struct ts_report report = {.findings = shuffled, .finding_count = 8};
    ts_report_sort(&report);
    assert_int_equal(shuffled[0].confidence, TS_CONFIDENCE_HIGH);
    for (size_t i = 0; i < 7; i++)
        assert_memory_equal(&shuffled[i + 1], &findings[i], sizeof findings[i]);
}

static void totals_are_over_targets_and_new_findings(void **state) {
    (void)state;
    struct ts_report report = sample_report();
    report.findings[2].is_new = false;
    struct ts_report_totals totals = ts_report_totals(&report);
    assert_int_equal(totals.commits, 1204);
    assert_int_equal(totals.blobs, 8114);
    assert_int_equal(totals.bytes, 91400333);
    assert_int_equal(totals.blobs_known, 8000);
    assert_int_equal(totals.findings, 2);
    assert_int_equal(totals.occurrences, 32);
    assert_int_equal(totals.suppressed, 5);
    assert_int_equal(totals.by_severity[TS_SEVERITY_CRITICAL], 1);
    assert_int_equal(totals.by_severity[TS_SEVERITY_LOW], 0);
}

static void anything_that_was_not_scanned_is_incomplete(void **state) {
    (void)state;
    struct ts_report report = clean_report();
    assert_false(ts_report_is_incomplete(&report));
    report.fault_total = 1;
    assert_true(ts_report_is_incomplete(&report));
    report.fault_total = 0;
    report.limits_hit = 1;
    assert_true(ts_report_is_incomplete(&report));
    report.limits_hit = 0;
    report.is_stopped = true;
    assert_true(ts_report_is_incomplete(&report));
}

static void kinds_and_places_have_names(void **state) {
    (void)state;
    assert_string_equal(ts_report_target_kind_name(TS_REPORT_TARGET_KIND_INPUT), "standard input");
    assert_string_equal(ts_place_name(TS_PLACE_FILE), "file");
    assert_string_equal(ts_place_name(TS_PLACE_UNREACHABLE), "unreachable object");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_are_sorted_gravest_first),
        cmocka_unit_test(equal_severity_is_sorted_by_confidence_rule_place_and_id),
        cmocka_unit_test(totals_are_over_targets_and_new_findings),
        cmocka_unit_test(anything_that_was_not_scanned_is_incomplete),
        cmocka_unit_test(kinds_and_places_have_names),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
