#include "foreign.h"

#include "support/cmocka.h"

#include <string.h>

#define SECRET "made-up-Secret-4711"
#define COMMIT "0123456789abcdef0123456789abcdef01234567"
/* The SHA-1 hash of SECRET. */
#define SHA1   "c517703ed7c9b7e6eac7be6ffa3d56c27da6f28f"

static struct ts_report_commit commits[] = {{.oid = COMMIT}};
static const struct ts_report_occurrence places[] = {
    {.commit = 0, .path = TS_BYTES_INIT("src/a.env"), .object = "", .line = 3, .end_line = 4},
    {.commit = TS_REPORT_NONE, .path = TS_BYTES_INIT("b.env"), .object = "", .line = 9, .end_line = 9},
};

/* Applies the report of another tool to a report with one finding. Returns whether the finding is then
 * known. */
static bool is_known(const char *text, struct ts_report *ret_report) {
    static struct ts_report_finding finding;
    finding =
        (struct ts_report_finding){.secret = TS_BYTES(SECRET), .occurrences = places, .listed_count = 2};
    *ret_report =
        (struct ts_report){.findings = &finding, .finding_count = 1, .commits = commits, .commit_count = 1};
    struct cli_foreign foreign;
    struct cli_foreign_error error;
    if (!cli__foreign_parse("f", ts_bytes_of_cstring(text), &foreign, &error))
        fail_msg("%s", error.text);
    cli__foreign_apply(&foreign, ret_report);
    cli__foreign_release(&foreign);
    assert_true(ret_report->has_baseline);
    assert_int_equal(ret_report->baseline_known, finding.is_new ? 0 : 1);
    return !finding.is_new;
}

#define GITLEAKS(commit, file, line, secret)                                                                 \
    "[{\"RuleID\": \"any\", \"Commit\": \"" commit "\", \"File\": \"" file "\", \"StartLine\": " line        \
    ", \"Secret\": \"" secret "\"}]"

static void gitleaks_is_compared_by_its_secret(void **state) {
    (void)state;
    struct ts_report report;
    assert_true(is_known(GITLEAKS("", "elsewhere", "1", SECRET), &report));
    assert_string_equal(report.baseline_tool, "gitleaks");
    assert_int_equal(report.baseline_matched, 1);
    assert_int_equal(report.baseline_unmatched, 0);
    assert_false(is_known(GITLEAKS(COMMIT, "src/a.env", "3", "another-Secret-0815"), &report));
    assert_int_equal(report.baseline_unmatched, 1);
    /* The tool's secret may contain the finding's secret or be a part of it. Then it counts only in the
     * finding's file. */
    assert_true(is_known(GITLEAKS("", "src/a.env", "1", "key=" SECRET "\\n"), &report));
    assert_true(is_known(GITLEAKS("", "/home/me/src/a.env", "1", "up-Secret-4711"), &report));
    assert_false(is_known(GITLEAKS("", "other.env", "1", "key=" SECRET), &report));
    assert_false(is_known(GITLEAKS("", "xsrc/a.env", "1", "key=" SECRET), &report));
    assert_false(is_known(GITLEAKS("", "src/a.env", "1", "4711"), &report));
    assert_false(is_known("[]", &report));
}

static void a_redacted_report_is_compared_by_its_places(void **state) {
    (void)state;
    struct ts_report report;
    assert_true(is_known(GITLEAKS(COMMIT, "src/a.env", "4", "REDACTED"), &report));
    assert_true(is_known(GITLEAKS(COMMIT, "./src/a.env", "3", "made..."), &report));
    assert_false(is_known(GITLEAKS(COMMIT, "src/a.env", "5", "REDACTED"), &report));
    assert_false(is_known(GITLEAKS("ffff", "src/a.env", "3", "REDACTED"), &report));
    assert_true(is_known(GITLEAKS("", "src/a.env", "3", ""), &report));
    assert_false(is_known(GITLEAKS(COMMIT, "b.env", "9", "REDACTED"), &report));
}

#define DETECT_SECRETS(type, file, hash, line)                                                               \
    "{\"version\": \"1.4.0\", \"results\": {\"" file "\": [{\"type\": \"" type "\", \"filename\": \"" file   \
    "\", \"hashed_secret\": \"" hash "\", \"line_number\": " line "}]}}"

static void detect_secrets_is_compared_by_its_hash(void **state) {
    (void)state;
    struct ts_report report;
    assert_true(is_known(DETECT_SECRETS("Secret Keyword", "elsewhere", SHA1, "1"), &report));
    assert_string_equal(report.baseline_tool, "detect-secrets");
    assert_false(is_known(
        DETECT_SECRETS("Secret Keyword", "src/a.env", "0000000000000000000000000000000000000000", "3"),
        &report));
    assert_true(
        is_known(DETECT_SECRETS("Private Key", "src/a.env", "0000000000000000000000000000000000000000", "3"),
                 &report));
    assert_false(is_known("{\"version\": \"1.4.0\", \"results\": {}}", &report));
}

#define TRUFFLEHOG(file, line, raw, joined)                                                                  \
    "{\"SourceMetadata\": {\"Data\": {\"Git\": {\"commit\": \"" COMMIT "\", \"file\": \"" file               \
    "\", \"line\": " line "}}}, \"DetectorName\": \"Any\", \"Raw\": \"" raw "\", \"RawV2\": \"" joined       \
    "\"}\n"

static void trufflehog_is_compared_by_any_part_of_the_secret(void **state) {
    (void)state;
    struct ts_report report;
    assert_true(is_known("{\"level\": \"info-0\", \"msg\": \"running source\"}\n" TRUFFLEHOG(
                             "x", "1", SECRET, "") TRUFFLEHOG("y", "1", "other-Secret-12", ""),
                         &report));
    assert_string_equal(report.baseline_tool, "TruffleHog");
    assert_int_equal(report.baseline_matched, 1);
    assert_int_equal(report.baseline_unmatched, 1);
    assert_true(is_known(TRUFFLEHOG("src/a.env", "1", "its-id", "its-id:" SECRET), &report));
    assert_true(is_known(TRUFFLEHOG("src/a.env", "3", "", ""), &report));
    assert_true(
        is_known("{\"path\": \"x\", \"commitHash\": \"\", \"stringsFound\": [\"" SECRET "\"]}", &report));
}

static void refused(const char *text, const char *expected) {
    struct cli_foreign foreign;
    struct cli_foreign_error error;
    assert_false(cli__foreign_parse("some file", ts_bytes_of_cstring(text), &foreign, &error));
    if (!strstr(error.text, expected) || strncmp(error.text, "some file: ", 11) != 0 ||
        strstr(error.text, SECRET))
        fail_msg("%s", error.text);
}

static void wrong_files_are_refused_without_their_contents(void **state) {
    (void)state;
    refused("[{\"RuleID\": \"" SECRET "\"}]", "entry 1 of gitleaks's report has no \"File\"");
    refused("[{\"Rule\": \"" SECRET "\"}]", "entry 1 does not belong to a report");
    refused("[\n{\"RuleID\": \"" SECRET "\n", "line 2 is not JSON");
    refused("{}\n{}\n{\"" SECRET, "line 3 is not JSON");
    refused("{\"results\": {\"a\": [{\"hashed_secret\": \"" SECRET "\"}]}}", "no \"hashed_secret\"");
    refused("{\"SourceMetadata\": {}}", "no \"Raw\"");
    refused("{\"version\": \"2.1.0\", \"runs\": []}", "SARIF");
    refused("{\"findings\": [], \"summary\": {}}", "turnstone baseline");
    refused("{\"a\": 1}", "entry 1 does not belong");
    assert_true(cli__foreign_is_json(TS_BYTES("\xef\xbb\xbf\n [")));
    assert_false(cli__foreign_is_json(TS_BYTES("turnstone-baseline 1\n")));
    assert_false(cli__foreign_is_json(TS_BYTES("")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gitleaks_is_compared_by_its_secret),
        cmocka_unit_test(a_redacted_report_is_compared_by_its_places),
        cmocka_unit_test(detect_secrets_is_compared_by_its_hash),
        cmocka_unit_test(trufflehog_is_compared_by_any_part_of_the_secret),
        cmocka_unit_test(wrong_files_are_refused_without_their_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
