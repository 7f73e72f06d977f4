#include "report/score.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char labels_path[64];

static void write_labels(const char *text) {
    snprintf(labels_path, sizeof labels_path, "/tmp/turnstone-labels-%ld", (long)getpid());
    FILE *file = fopen(labels_path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void expect_error(const char *text, const char *part) {
    struct ts_labels labels;
    struct ts_labels_error error;
    write_labels(text);
    assert_false(ts_labels_read(labels_path, &labels, &error));
    if (strstr(error.text, part) == NULL)
        fail_msg("'%s' does not say '%s'", error.text, part);
    unlink(labels_path);
}

static void an_invalid_label_is_an_error_with_its_line(void **state) {
    (void)state;
    expect_error("a\t1:1\t1:2\n", ":1: too few fields");
    expect_error("# x\n\na\t1:1\t1:2\tf\tr\tx\n", ":3: more than five");
    expect_error("/a\t1:1\t1:2\tf\n", "relative");
    expect_error("a\t1\t1:2\tf\n", "LINE:COLUMN");
    expect_error("a\t0:1\t1:2\tf\n", "LINE:COLUMN");
    expect_error("a\t1:2\t1:2\tf\n", "after the first");
    expect_error("a\t1:1\t1:2\t!\n", "family");
}

/* Two rules that are in different rule files. */
static const struct ts_rule cloud_rule = {.id = "cloud-key", .file = "rules/cloud.yml"};
static const struct ts_rule other_rule = {.id = "other-key", .file = "other.yml"};

static struct ts_report_occurrence at(const char *path, uint64_t line, uint64_t column) {
    return (struct ts_report_occurrence){.path = ts_bytes_of_cstring(path),
                                         .line = line,
                                         .column = column,
                                         .end_line = line,
                                         .end_column = column + 10};
}

static void findings_are_compared_by_place_and_confidence(void **state) {
    (void)state;
    write_labels("a\t1:5\t1:15\tcloud\tcloud-key\r\n"
                 "a\t2:5\t2:15\tcloud\tcloud-key\n"
                 "a\t3:5\t3:15\tcloud\tcloud-key\n"
                 "a\t4:5\t4:15\t!uuid\n"
                 "b\t1:1\t9:1\tkeys\n");
    struct ts_labels labels;
    struct ts_labels_error error;
    assert_true(ts_labels_read(labels_path, &labels, &error));
    unlink(labels_path);
    assert_int_equal(labels.count, 5);
    assert_int_equal(labels.secret_count, 4);

    const struct ts_report_occurrence right[] = {at("a", 1, 5), at("b", 3, 1)};
    const struct ts_report_occurrence by_other[] = {at("a", 2, 1), at("a", 4, 14), at("a", 1, 14)};
    const struct ts_report_occurrence behind[] = {at("a", 3, 15), at(TS_LABELS_FILE, 1, 1)};
    const struct ts_report_occurrence low[] = {at("a", 3, 5)};
    struct ts_report_finding findings[] = {
        {.rule = &cloud_rule, .confidence = TS_CONFIDENCE_HIGH, .occurrences = right, .listed_count = 2},
        {.rule = &other_rule, .confidence = TS_CONFIDENCE_MEDIUM, .occurrences = by_other, .listed_count = 3},
        {.rule = &other_rule, .confidence = TS_CONFIDENCE_MEDIUM, .occurrences = behind, .listed_count = 2},
        {.rule = &cloud_rule, .confidence = TS_CONFIDENCE_LOW, .occurrences = low, .listed_count = 1},
    };
    struct ts_report report = {.findings = findings, .finding_count = 4};
    struct ts_score score;
    assert_true(ts_score_make(&labels, &report, TS_CONFIDENCE_MEDIUM, &score));
    assert_int_equal(score.all.secrets, 4);
    assert_int_equal(score.all.found, 3);
    assert_int_equal(score.all.false_positives, 2);
    assert_int_equal(score.negatives, 1);
    assert_int_equal(score.doubles, 1);
    assert_int_equal(score.by_another_rule, 1);
    assert_int_equal(score.missed_count, 1);
    assert_int_equal(score.missed[0].at.line, 3);
    assert_int_equal(score.wrong_count, 2);
    assert_string_equal(score.wrong[0].family, "uuid");
    assert_string_equal(score.wrong[1].family, "");
    assert_int_equal(score.family_count, 3);
    assert_string_equal(score.families[0].name, "cloud");
    assert_int_equal(score.families[0].secrets, 3);
    assert_int_equal(score.families[0].found, 2);
    assert_string_equal(score.families[2].name, "other");
    assert_int_equal(score.families[2].false_positives, 2);
    assert_int_equal(score.by_confidence[TS_CONFIDENCE_HIGH].found, 2);
    assert_true(ts_score_precision(&score.all) == 3.0 / 5.0);
    assert_true(ts_score_recall(&score.all) == 3.0 / 4.0);
    ts_score_release(&score);

    assert_true(ts_score_make(&labels, &report, TS_CONFIDENCE_LOW, &score));
    assert_int_equal(score.all.found, 4);
    ts_score_release(&score);
    ts_labels_release(&labels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_invalid_label_is_an_error_with_its_line),
        cmocka_unit_test(findings_are_compared_by_place_and_confidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
