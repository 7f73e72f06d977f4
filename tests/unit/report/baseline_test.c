#include "report/baseline.h"

#include "support.h"

#include "support/cmocka.h"

#include <sys/stat.h>

#define ID_1 "11111111111111111111111111111111"
#define ID_2 "22222222222222222222222222222222"
#define ID_9 "99999999999999999999999999999999"
#define HEAD "turnstone-baseline 1\n"
#define SALT "000102030405060708090a0b0c0d0e0f"

static struct ts_baseline_error error;

static struct ts_baseline parsed(const char *text) {
    struct ts_baseline baseline;
    if (!ts_baseline_parse("b", ts_bytes_of_cstring(text), &baseline, &error))
        fail_msg("%s", error.text);
    return baseline;
}

static void expect_error(const char *text, enum ts_baseline_error_kind kind, size_t line, const char *part) {
    struct ts_baseline baseline;
    assert_false(ts_baseline_parse("known\x1b.txt", ts_bytes_of_cstring(text), &baseline, &error));
    assert_int_equal(error.kind, kind);
    assert_int_equal(error.line, line);
    if (strstr(error.text, part) == NULL)
        fail_msg("'%s' does not say '%s'", error.text, part);
    assert_non_null(strstr(error.text, "known\\x1b.txt"));
}

static void entries_are_read_in_any_order_and_twice(void **state) {
    (void)state;
    struct ts_baseline baseline =
        parsed("# comment\n\n" HEAD "\r\n" ID_2 " b\n" ID_1 " a-1\r\n" ID_2 " b\n\n" ID_2 " c");
    assert_int_equal(baseline.count, 2);
    assert_string_equal(baseline.entries[0].id.text, ID_1);
    assert_string_equal(baseline.entries[0].rule, "a-1");
    assert_string_equal(baseline.entries[1].id.text, ID_2);
    assert_int_equal(baseline.salt_len, 0);
    ts_baseline_release(&baseline);
}

static void an_unknown_line_is_an_error_with_its_number(void **state) {
    (void)state;
    expect_error("", TS_BASELINE_NOT_A_BASELINE, 0, "empty");
    expect_error("# only\n", TS_BASELINE_NOT_A_BASELINE, 0, "empty");
    expect_error("{\n}\n", TS_BASELINE_NOT_A_BASELINE, 1, "not a baseline");
    expect_error("turnstone-baseline 2\n", TS_BASELINE_NOT_A_BASELINE, 1, "version");
    expect_error(HEAD ID_1 "\n", TS_BASELINE_BAD_LINE, 2, "finding id");
    expect_error(HEAD ID_1 " \n", TS_BASELINE_BAD_LINE, 2, "finding id");
    expect_error(HEAD "1" ID_1 " a\n", TS_BASELINE_BAD_LINE, 2, "finding id");
    expect_error(HEAD ID_1 " A\n", TS_BASELINE_BAD_LINE, 2, "finding id");
    expect_error(HEAD ID_1 " a b\n", TS_BASELINE_BAD_LINE, 2, "finding id");
    expect_error(HEAD "X1111111111111111111111111111111 a\n", TS_BASELINE_BAD_LINE, 2, "finding id");
    expect_error(HEAD "<<<<<<< HEAD\n" ID_1 " a\n", TS_BASELINE_BAD_LINE, 2, "merge conflict");
    expect_error(HEAD "salt 00\n", TS_BASELINE_BAD_LINE, 2, "salt");
    expect_error(HEAD "salt " SALT "\nsalt " SALT "\n", TS_BASELINE_BAD_LINE, 3, "second salt");
    expect_error(HEAD "salt " SALT "0\n", TS_BASELINE_BAD_LINE, 2, "salt");
    expect_error(HEAD "key 12\n", TS_BASELINE_BAD_LINE, 2, "key");
    expect_error(HEAD "key 0123456789abcdef\nkey 0123456789abcdef\n", TS_BASELINE_BAD_LINE, 3, "second key");
    struct ts_baseline baseline;
    assert_false(ts_baseline_parse("b", TS_BYTES(HEAD ID_1 " a\0b\n"), &baseline, &error));
    assert_int_equal(error.line, 2);
    assert_int_equal(error.kind, TS_BASELINE_BAD_LINE);
}

static void a_missing_file_says_how_to_make_one(void **state) {
    (void)state;
    struct ts_baseline baseline;
    assert_false(ts_baseline_read("/nowhere/b", &baseline, &error));
    assert_int_equal(error.kind, TS_BASELINE_UNREADABLE);
    assert_non_null(strstr(error.text, "turnstone baseline"));
}

static void a_report_shows_new_known_and_gone_findings(void **state) {
    (void)state;
    struct ts_report report = sample_report();
    struct ts_baseline baseline = parsed(HEAD ID_9 " old\n" ID_1 " generic-password\n");
    for (int i = 0; i < 2; i++) {
        ts_baseline_apply(&baseline, &report);
        assert_true(report.has_baseline);
        assert_int_equal(report.baseline_known, 1);
        assert_int_equal(report.gone_count, 1);
        assert_string_equal(report.gone[0].id.text, ID_9);
        assert_string_equal(report.gone[0].rule, "old");
        assert_true(report.findings[0].is_new);
        assert_false(report.findings[1].is_new);
        assert_true(report.findings[2].is_new);
        assert_int_equal(ts_report_totals(&report).findings, 2);
    }
    ts_baseline_release(&baseline);
    struct ts_baseline empty = parsed(HEAD);
    ts_baseline_apply(&empty, &report);
    assert_true(report.findings[1].is_new);
    assert_int_equal(report.baseline_known + report.gone_count, 0);
    ts_baseline_release(&empty);
}

static void a_project_keeps_its_salt_and_notices_another_one(void **state) {
    (void)state;
    struct ts_baseline baseline = parsed(HEAD "salt " SALT "\n");
    struct ts_bytes salt = ts_baseline_salt(&baseline, TS_BYTES("of the project"));
    assert_int_equal(salt.len, 16);
    assert_int_equal(salt.data[15], 15);
    ts_baseline_release(&baseline);
    baseline = parsed(HEAD);
    assert_true(
        ts_bytes_equal(ts_baseline_salt(&baseline, TS_BYTES("of the project")), TS_BYTES("of the project")));
    struct ts_finding_key key = ts_finding_key_of(TS_BYTES("one"));
    assert_true(ts_baseline_fits(&baseline, &key, "b", &error));
    ts_baseline_release(&baseline);
}

static char *file_text(const char *path) {
    static char text[4096];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t len = fread(text, 1, sizeof text - 1, file);
    text[len] = '\0';
    fclose(file);
    return text;
}

static void the_same_findings_give_the_same_file(void **state) {
    (void)state;
    char path[] = "/tmp/baseline_test.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct ts_report report = sample_report();
    struct ts_finding_key key = ts_finding_key_of(TS_BYTES(""));
    assert_true(ts_baseline_save(NULL, &key, &report, path, &error));
    static char first[4096];
    snprintf(first, sizeof first, "%s", file_text(path));
    assert_non_null(strstr(first, "\n" ID_1 " generic-password\n" ID_2 " github-pat\n"));
    assert_null(strstr(first, "salt"));

    /* The report now has the same findings in a different order, with different lines and dates. */
    struct ts_report_finding swapped = report.findings[0];
    report.findings[0] = report.findings[1];
    report.findings[1] = swapped;
    report.findings[0].occurrences = sample_odd_places;
    assert_true(ts_baseline_save(NULL, &key, &report, path, &error));
    assert_string_equal(file_text(path), first);

    struct ts_baseline baseline;
    assert_true(ts_baseline_read(path, &baseline, &error));
    assert_int_equal(baseline.count, 3);
    assert_true(ts_baseline_fits(&baseline, &key, path, &error));
    struct ts_finding_key other = ts_finding_key_of(TS_BYTES("another salt"));
    assert_false(ts_baseline_fits(&baseline, &other, path, &error));
    assert_int_equal(error.kind, TS_BASELINE_OTHER_SALT);
    ts_baseline_release(&baseline);
    (void)unlink(path);
}

static void a_new_salt_is_drawn_and_kept(void **state) {
    (void)state;
    struct ts_baseline one;
    struct ts_baseline two;
    assert_true(ts_baseline_new_salt(&one, &error));
    assert_true(ts_baseline_new_salt(&two, &error));
    assert_memory_not_equal(one.salt, two.salt, one.salt_len);
    char path[] = "/tmp/baseline_test.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct ts_report report = clean_report();
    struct ts_finding_key key = ts_finding_key_of(ts_baseline_salt(&one, TS_BYTES("")));
    assert_true(ts_baseline_save(&one, &key, &report, path, &error));
    struct ts_baseline again;
    assert_true(ts_baseline_read(path, &again, &error));
    assert_int_equal(again.salt_len, one.salt_len);
    assert_memory_equal(again.salt, one.salt, one.salt_len);
    assert_true(ts_baseline_fits(&again, &key, path, &error));
    ts_baseline_release(&again);
    (void)unlink(path);
}

static void a_failed_write_leaves_the_old_file(void **state) {
    (void)state;
    struct ts_report report = clean_report();
    struct ts_finding_key key = ts_finding_key_of(TS_BYTES(""));
    assert_false(ts_baseline_save(NULL, &key, &report, "/nowhere/b", &error));
    assert_int_equal(error.kind, TS_BASELINE_UNWRITABLE);
    assert_non_null(strstr(error.text, "/nowhere/b"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_read_in_any_order_and_twice),
        cmocka_unit_test(an_unknown_line_is_an_error_with_its_number),
        cmocka_unit_test(a_missing_file_says_how_to_make_one),
        cmocka_unit_test(a_report_shows_new_known_and_gone_findings),
        cmocka_unit_test(a_project_keeps_its_salt_and_notices_another_one),
        cmocka_unit_test(the_same_findings_give_the_same_file),
        cmocka_unit_test(a_new_salt_is_drawn_and_kept),
        cmocka_unit_test(a_failed_write_leaves_the_old_file),
    };
    return cmocka_run_group_tests_name("baseline", tests, NULL, NULL);
}
