/* Tests scans by a program that links the library. Scans of repositories are tested in tests/system. */
#include "folder_maker.h"

#include "turnstone/scan.h"

#include <pthread.h>

#define RULES                                                                                                \
    "rules:\n  - {id: team, name: Team, pattern: '\\b(?<secret>team_[a-z0-9]{12})\\b', gate: [team_], "      \
    "severity: low, reach: 20}\n"
#define SECRET "team_q7w3e9r1t5y2"

static struct folder_maker folder;
static struct ts_scan *scan;

/* The findings that a callback has received. */
struct seen {
    size_t count;
    size_t stop_after; /* the callback ends the run after this many findings; 0: never */
    char id[33];
    char rule[20];
    char redacted[40];
    char excerpt[200];
    char secret[40];
    char path[100];
    char place[40];
    uint64_t occurrences;
    uint64_t line;
    uint64_t column;
};
static struct seen seen;

static void copy(char *to, size_t size, struct ts_bytes bytes) {
    snprintf(to, size, "%.*s", (int)bytes.len, bytes.len > 0 ? (const char *)bytes.data : "");
}

static bool see(void *context, const struct ts_scan_finding *finding) {
    struct seen *s = context;
    const struct ts_scan_occurrence *first = ts_scan_finding_occurrence(finding, 0);
    s->count++;
    snprintf(s->id, sizeof s->id, "%s", ts_scan_finding_id(finding));
    snprintf(s->rule, sizeof s->rule, "%s", ts_scan_finding_rule(finding));
    snprintf(s->redacted, sizeof s->redacted, "%s", ts_scan_finding_redacted(finding));
    snprintf(s->place, sizeof s->place, "%s", ts_scan_occurrence_place(first));
    copy(s->excerpt, sizeof s->excerpt, ts_scan_finding_excerpt(finding));
    copy(s->secret, sizeof s->secret, ts_scan_finding_secret(finding));
    copy(s->path, sizeof s->path, ts_scan_occurrence_path(first));
    s->occurrences = ts_scan_finding_occurrence_count(finding);
    s->line = ts_scan_occurrence_line(first);
    s->column = ts_scan_occurrence_column(first);
    assert_null(ts_scan_finding_occurrence(finding, (size_t)s->occurrences));
    assert_string_equal(ts_scan_finding_rule_name(finding), "Team");
    assert_int_equal(ts_scan_finding_severity(finding), TS_SCAN_SEVERITY_LOW);
    assert_string_equal(ts_scan_occurrence_commit(first), "");
    assert_int_equal(ts_scan_occurrence_author_name(first).len, 0);
    return s->count != s->stop_after;
}

static int begin(void **state) {
    (void)state;
    folder_make(&folder);
    folder_write(&folder, "rules.yml", RULES);
    folder_mkdir(&folder, "top");
    folder_write(&folder, "top/a.txt", "x\n" SECRET " team_k4j8h2g6f1d3\n");
    folder_write(&folder, "top/b.txt", SECRET "\n");
    seen = (struct seen){.count = 0};
    scan = ts_scan_new();
    assert_non_null(scan);
    assert_int_equal(ts_scan_set_text(scan, TS_SCAN_TEXT_RULE_FILE, folder_path(&folder, "rules.yml")), 0);
    assert_int_equal(ts_scan_set_switch(scan, TS_SCAN_SWITCH_NO_BUILTIN_RULES, true), 0);
    return 0;
}

static int end(void **state) {
    (void)state;
    ts_scan_free(scan);
    folder_remove(&folder);
    return 0;
}

static void run_expecting(enum ts_scan_result result) {
    enum ts_scan_result got = ts_scan_run(scan, see, &seen);
    if (got != result)
        fail_msg("%s: %s", ts_scan_result_text(got), ts_scan_error_text(scan));
    assert_true((ts_scan_error_text(scan)[0] == '\0') == (result == TS_SCAN_RESULT_OK));
}

static void bytes_are_scanned_and_their_secret_is_masked(void **state) {
    (void)state;
    ts_scan_add_bytes(scan, "mail/42", ts_bytes_of_cstring("hello\nkey: " SECRET "!\n"));
    run_expecting(TS_SCAN_RESULT_OK);
    assert_int_equal(seen.count, 1);
    assert_int_equal(strlen(seen.id), 32);
    assert_string_equal(seen.rule, "team");
    assert_string_equal(seen.redacted, "te…y2");
    assert_string_equal(seen.excerpt, "key: ********!");
    assert_string_equal(seen.secret, "");
    assert_string_equal(seen.path, "mail/42");
    assert_string_equal(seen.place, "file");
    assert_int_equal(seen.line, 2);
    assert_int_equal(seen.column, 6);
    assert_int_equal(ts_scan_count(scan, TS_SCAN_COUNT_FINDINGS), 1);
    assert_int_equal(ts_scan_count(scan, TS_SCAN_COUNT_OBJECTS), 1);
    assert_int_equal(ts_scan_count(scan, TS_SCAN_COUNT_BYTES), 30);
}

static void a_secret_is_available_on_request(void **state) {
    (void)state;
    ts_scan_set_switch(scan, TS_SCAN_SWITCH_SHOW_SECRETS, true);
    ts_scan_add_bytes(scan, "a", ts_bytes_of_cstring("key: " SECRET "!\n"));
    run_expecting(TS_SCAN_RESULT_OK);
    assert_string_equal(seen.secret, SECRET);
    assert_string_equal(seen.excerpt, "key: " SECRET "!");
}

/* Writes a secret that is unique to this number. */
static void write_secret(uint8_t *to, uint64_t number) {
    char secret[32];
    snprintf(secret, sizeof secret, "team_q%011llx", (unsigned long long)(number * 0x9e3779b97f4a7c15 >> 20));
    memcpy(to, secret, strlen(SECRET));
}

/* Scans bytes in windows of 8 MiB. There are secrets around the end of the first window, and at the very
 * end. */
static void many_bytes_are_scanned_to_their_end(void **state) {
    (void)state;
    size_t len = ((size_t)20 << 20) + 12345;
    uint8_t *bytes = malloc(len);
    assert_non_null(bytes);
    memset(bytes, '\n', len);
    size_t count = 0;
    for (size_t at = ((size_t)8 << 20) - 500000; at < ((size_t)8 << 20) + 100000; at += 21)
        write_secret(bytes + at, ++count);
    write_secret(bytes + len - strlen(SECRET), ++count);
    ts_scan_add_bytes(scan, "large", (struct ts_bytes){bytes, len});
    run_expecting(TS_SCAN_RESULT_OK);
    assert_int_equal(seen.count, count);
    assert_int_equal(ts_scan_count(scan, TS_SCAN_COUNT_BYTES), len);
    free(bytes);
}

static void a_folder_is_scanned_and_a_finding_reported_once(void **state) {
    (void)state;
    ts_scan_add_folder(scan, folder_path(&folder, "top"));
    run_expecting(TS_SCAN_RESULT_OK);
    assert_int_equal(seen.count, 2);
    assert_int_equal(ts_scan_count(scan, TS_SCAN_COUNT_OBJECTS_TOTAL), 2);
}

/* The rule file no longer exists, so the second run uses the rules that the first run compiled. */
static void rules_are_compiled_once_for_all_runs(void **state) {
    (void)state;
    ts_scan_add_bytes(scan, "first", ts_bytes_of_cstring(SECRET));
    run_expecting(TS_SCAN_RESULT_OK);
    assert_int_equal(remove(folder_path(&folder, "rules.yml")), 0);
    ts_scan_clear_targets(scan);
    run_expecting(TS_SCAN_RESULT_BAD_USAGE);
    ts_scan_add_bytes(scan, "second", ts_bytes_of_cstring("\n" SECRET));
    ts_scan_add_folder(scan, folder_path(&folder, "top"));
    run_expecting(TS_SCAN_RESULT_OK);
    assert_string_equal(seen.path, "a.txt");
    assert_int_equal(seen.count, 3);
    ts_scan_set_switch(scan, TS_SCAN_SWITCH_NO_BUILTIN_RULES, true); /* now the rules are read again */
    run_expecting(TS_SCAN_RESULT_BAD_CONFIG);
}

static void a_callback_can_end_the_run(void **state) {
    (void)state;
    ts_scan_add_folder(scan, folder_path(&folder, "top"));
    seen.stop_after = 1;
    run_expecting(TS_SCAN_RESULT_CANCELLED);
    assert_int_equal(seen.count, 1);
}

static void a_cancelled_scan_looks_at_nothing(void **state) {
    (void)state;
    ts_scan_add_folder(scan, folder_path(&folder, "top"));
    ts_scan_cancel(scan);
    run_expecting(TS_SCAN_RESULT_CANCELLED);
    assert_int_equal(seen.count, 0);
    run_expecting(TS_SCAN_RESULT_CANCELLED);
    ts_scan_clear_cancel(scan);
    run_expecting(TS_SCAN_RESULT_OK);
    assert_int_equal(seen.count, 2);
}

static void *cancel_when_it_has_begun(void *argument) {
    struct ts_scan *running = argument;
    while (ts_scan_count(running, TS_SCAN_COUNT_BYTES) == 0)
        sched_yield();
    ts_scan_cancel(running);
    return NULL;
}

static void another_thread_can_cancel_a_run(void **state) {
    (void)state;
    size_t len = (size_t)64 << 20;
    uint8_t *bytes = calloc(len, 1);
    pthread_t thread;
    assert_non_null(bytes);
    ts_scan_add_bytes(scan, "large", (struct ts_bytes){bytes, len});
    assert_int_equal(pthread_create(&thread, NULL, cancel_when_it_has_begun, scan), 0);
    run_expecting(TS_SCAN_RESULT_CANCELLED);
    pthread_join(thread, NULL);
    free(bytes);
}

static void targets_that_could_not_be_scanned_are_reported(void **state) {
    (void)state;
    ts_scan_add_folder(scan, folder_path(&folder, "top"));
    ts_scan_add_folder(scan, folder_path(&folder, "nowhere"));
    run_expecting(TS_SCAN_RESULT_INCOMPLETE);
    assert_int_equal(seen.count, 2);
    assert_int_equal(ts_scan_count(scan, TS_SCAN_COUNT_FAULTS), 1);
    assert_non_null(strstr(ts_scan_fault(scan, 0), "nowhere"));
    assert_null(ts_scan_fault(scan, 1));
}

static void a_target_that_cannot_be_scanned_is_the_result(void **state) {
    (void)state;
    ts_scan_add_repository(scan, folder_path(&folder, "rules.yml"));
    run_expecting(TS_SCAN_RESULT_BAD_TARGET);
    assert_non_null(strstr(ts_scan_error_text(scan), "is not a git repository; ts_scan_add_folder"));
    assert_null(ts_scan_fault(scan, 0));
}

static void a_selection_of_commits_wants_a_repository(void **state) {
    (void)state;
    ts_scan_add_bytes(scan, "a", ts_bytes_of_cstring(SECRET));
    ts_scan_set_text(scan, TS_SCAN_TEXT_REF, "main");
    run_expecting(TS_SCAN_RESULT_BAD_TARGET);
    ts_scan_set_text(scan, TS_SCAN_TEXT_REF, NULL);
    run_expecting(TS_SCAN_RESULT_OK);
    ts_scan_set_since(scan, 1767225600);
    run_expecting(TS_SCAN_RESULT_BAD_TARGET);
    assert_non_null(strstr(ts_scan_error_text(scan), "ts_scan_set_since"));
    ts_scan_set_since(scan, 0);
    run_expecting(TS_SCAN_RESULT_OK);
}

static void notes_are_not_faults(void **state) {
    (void)state;
    ts_scan_add_folder(scan, folder_path(&folder, "top"));
    assert_null(ts_scan_note(scan, 0));
    folder_write(&folder, "top/.gitleaksignore", "not a fingerprint\n");
    run_expecting(TS_SCAN_RESULT_OK);
    assert_non_null(ts_scan_note(scan, 0));
    assert_non_null(strstr(ts_scan_note(scan, 0), ".gitleaksignore"));
    assert_null(ts_scan_note(scan, 1));
}

static void a_configuration_allows_by_the_name_of_the_bytes(void **state) {
    (void)state;
    folder_write(&folder, "c.yml", "allow:\n  - paths: ['mail/*']\n    reason: known\n");
    ts_scan_set_text(scan, TS_SCAN_TEXT_CONFIG_FILE, folder_path(&folder, "c.yml"));
    ts_scan_add_bytes(scan, "mail/42", ts_bytes_of_cstring(SECRET));
    run_expecting(TS_SCAN_RESULT_OK);
    assert_int_equal(seen.count, 0);
    assert_int_equal(ts_scan_count(scan, TS_SCAN_COUNT_SUPPRESSED), 1);
    ts_scan_set_text(scan, TS_SCAN_TEXT_CONFIG_FILE, NULL);
    run_expecting(TS_SCAN_RESULT_OK);
    assert_int_equal(seen.count, 1);
}

/* Writes a baseline with the finding that the callback received last. */
static void write_baseline(const char *salt) {
    char baseline[300];
    snprintf(baseline, sizeof baseline, "turnstone-baseline 1\n%s%s team\n", salt, seen.id);
    folder_write(&folder, "known", baseline);
    assert_int_equal(ts_scan_set_text(scan, TS_SCAN_TEXT_BASELINE_FILE, folder_path(&folder, "known")),
                     TS_SCAN_RESULT_OK);
    seen = (struct seen){.count = 0};
}

static void findings_of_a_baseline_are_counted_and_not_reported(void **state) {
    (void)state;
    ts_scan_add_bytes(scan, "a", ts_bytes_of_cstring(SECRET));
    run_expecting(TS_SCAN_RESULT_OK);
    write_baseline("");
    ts_scan_clear_targets(scan);
    ts_scan_add_bytes(scan, "b", ts_bytes_of_cstring(SECRET "\nteam_k4j8h2g6f1d3\n"));
    for (int i = 0; i < 2; i++) { /* the second run uses the baseline that the first one has read */
        seen.count = 0;
        run_expecting(TS_SCAN_RESULT_OK);
        assert_int_equal(seen.count, 1);
        assert_int_equal(seen.line, 2);
        assert_int_equal(ts_scan_count(scan, TS_SCAN_COUNT_FINDINGS), 1);
        assert_int_equal(ts_scan_count(scan, TS_SCAN_COUNT_KNOWN), 1);
    }
    ts_scan_set_text(scan, TS_SCAN_TEXT_BASELINE_FILE, NULL);
    seen.count = 0;
    run_expecting(TS_SCAN_RESULT_OK);
    assert_int_equal(seen.count, 2);
    assert_int_equal(ts_scan_count(scan, TS_SCAN_COUNT_KNOWN), 0);
}

static void ids_have_the_salt_of_the_baseline(void **state) {
    (void)state;
    char id[33];
    ts_scan_add_bytes(scan, "a", ts_bytes_of_cstring(SECRET));
    run_expecting(TS_SCAN_RESULT_OK);
    memcpy(id, seen.id, sizeof id);
    write_baseline("salt 00112233445566778899aabbccddeeff\n");
    run_expecting(TS_SCAN_RESULT_OK);
    assert_int_equal(seen.count, 1);
    assert_string_not_equal(seen.id, id);
    folder_write(&folder, "known", "something else\n");
    run_expecting(TS_SCAN_RESULT_OK); /* the baseline is read only once */
    ts_scan_set_text(scan, TS_SCAN_TEXT_BASELINE_FILE, folder_path(&folder, "known"));
    run_expecting(TS_SCAN_RESULT_BAD_CONFIG);
    assert_non_null(strstr(ts_scan_error_text(scan), "known"));
}

static bool keep_confidence(void *context, const struct ts_scan_finding *finding) {
    const struct ts_scan_occurrence *at = ts_scan_finding_occurrence(finding, 0);
    *(enum ts_scan_confidence *)context = ts_scan_finding_confidence(finding);
    assert_string_equal(ts_scan_finding_description(finding), "what it opens");
    assert_string_equal(ts_scan_finding_revoke(finding), "in the settings");
    assert_string_equal(ts_scan_finding_url(finding), "https://example.com/keys");
    assert_int_equal(ts_scan_occurrence_end_line(at), 1);
    assert_int_equal(ts_scan_occurrence_end_column(at), 1 + strlen(SECRET));
    return true;
}

static void findings_below_a_confidence_are_counted_and_not_reported(void **state) {
    (void)state;
    enum ts_scan_confidence confidence = TS_SCAN_CONFIDENCE_HIGH;
    folder_write(&folder, "rules.yml",
                 "rules:\n  - {id: team, name: Team, pattern: '\\b(?<secret>team_[a-z0-9]{12})\\b', gate: "
                 "[team_], severity: low, reach: 20, confidence: low, description: what it opens, revoke: in "
                 "the settings, url: 'https://example.com/keys'}\n");
    ts_scan_add_bytes(scan, "a", ts_bytes_of_cstring(SECRET));
    assert_int_equal(ts_scan_run(scan, keep_confidence, &confidence), TS_SCAN_RESULT_OK);
    assert_int_equal(confidence, TS_SCAN_CONFIDENCE_LOW);
    assert_int_equal(ts_scan_set_min_confidence(scan, TS_SCAN_CONFIDENCE_MEDIUM), TS_SCAN_RESULT_OK);
    run_expecting(TS_SCAN_RESULT_OK);
    assert_int_equal(seen.count, 0);
    assert_int_equal(ts_scan_count(scan, TS_SCAN_COUNT_SUPPRESSED), 1);
    assert_string_equal(ts_scan_confidence_text(TS_SCAN_CONFIDENCE_MEDIUM), "medium");
    assert_null(ts_scan_confidence_text((enum ts_scan_confidence)77));
}

static void expect_bad_usage(enum ts_scan_result result) {
    assert_int_equal(result, TS_SCAN_RESULT_BAD_USAGE);
    assert_string_not_equal(ts_scan_error_text(scan), "");
}

static void wrong_arguments_are_bad_usage(void **state) {
    (void)state;
    expect_bad_usage(ts_scan_run(scan, see, &seen));
    expect_bad_usage(ts_scan_add_bytes(scan, "", ts_bytes_of_cstring("x")));
    expect_bad_usage(ts_scan_add_bytes(scan, NULL, ts_bytes_of_cstring("x")));
    expect_bad_usage(ts_scan_add_bytes(scan, "x", (struct ts_bytes){NULL, 1}));
    expect_bad_usage(ts_scan_set_limit(scan, TS_SCAN_LIMIT_MEMORY_BYTES, 1));
    expect_bad_usage(ts_scan_set_limit(scan, TS_SCAN_LIMIT_JOBS, 257));
    expect_bad_usage(ts_scan_set_limit(scan, TS_SCAN_LIMIT_TIME_MS, UINT64_MAX));
    expect_bad_usage(ts_scan_set_limit(scan, (enum ts_scan_limit)77, 1));
    expect_bad_usage(ts_scan_set_switch(scan, (enum ts_scan_switch)77, true));
    expect_bad_usage(ts_scan_set_text(scan, (enum ts_scan_text)77, "x"));
    expect_bad_usage(ts_scan_set_min_confidence(scan, (enum ts_scan_confidence)77));
    assert_int_equal(ts_scan_set_switch(scan, TS_SCAN_SWITCH_STAGED, true), TS_SCAN_RESULT_OK);
    expect_bad_usage(ts_scan_set_switch(scan, TS_SCAN_SWITCH_WORKING_TREE, true));
    assert_int_equal(ts_scan_set_switch(scan, TS_SCAN_SWITCH_STAGED, false), TS_SCAN_RESULT_OK);
    assert_int_equal(ts_scan_set_switch(scan, TS_SCAN_SWITCH_WORKING_TREE, true), TS_SCAN_RESULT_OK);
    assert_int_equal(ts_scan_count(scan, (enum ts_scan_counter)77), 0);
    assert_null(ts_scan_result_text((enum ts_scan_result)77));
    assert_null(ts_scan_severity_text((enum ts_scan_severity)77));
    assert_string_equal(ts_scan_severity_text(TS_SCAN_SEVERITY_CRITICAL), "critical");
}

static void expect_contradiction(const char *text) {
    assert_int_equal(ts_scan_run(scan, see, &seen), TS_SCAN_RESULT_BAD_USAGE);
    assert_string_equal(ts_scan_error_text(scan), text);
}

static void options_of_which_one_would_be_ignored_are_bad_usage(void **state) {
    (void)state;
    assert_int_equal(ts_scan_add_repository(scan, folder_path(&folder, "top")), 0);
    assert_int_equal(ts_scan_set_switch(scan, TS_SCAN_SWITCH_STAGED, true), 0);
    assert_int_equal(ts_scan_set_text(scan, TS_SCAN_TEXT_REF, "main"), 0);
    expect_contradiction(
        "TS_SCAN_TEXT_REF selects from the history, and TS_SCAN_SWITCH_STAGED does not scan it");
    assert_int_equal(ts_scan_set_switch(scan, TS_SCAN_SWITCH_STAGED, false), 0);
    assert_int_equal(ts_scan_set_switch(scan, TS_SCAN_SWITCH_WORKING_TREE, true), 0);
    assert_int_equal(ts_scan_set_text(scan, TS_SCAN_TEXT_REF, NULL), 0);
    ts_scan_set_since(scan, 1);
    expect_contradiction(
        "ts_scan_set_since selects from the history, and TS_SCAN_SWITCH_WORKING_TREE does not scan it");
    assert_int_equal(ts_scan_set_switch(scan, TS_SCAN_SWITCH_WORKING_TREE, false), 0);
    assert_int_equal(ts_scan_set_text(scan, TS_SCAN_TEXT_COMMIT, "HEAD"), 0);
    expect_contradiction("TS_SCAN_TEXT_COMMIT and ts_scan_set_since cannot be combined");
    ts_scan_set_since(scan, 0);
    assert_int_equal(ts_scan_set_text(scan, TS_SCAN_TEXT_RANGE, "HEAD^!"), 0);
    expect_contradiction("TS_SCAN_TEXT_RANGE and TS_SCAN_TEXT_COMMIT cannot be combined");
    assert_int_equal(ts_scan_set_text(scan, TS_SCAN_TEXT_COMMIT, NULL), 0);
    assert_int_equal(ts_scan_set_text(scan, TS_SCAN_TEXT_BRANCH, "main"), 0);
    expect_contradiction("TS_SCAN_TEXT_RANGE and TS_SCAN_TEXT_BRANCH cannot be combined");
}

static void a_limit_of_time_ends_the_run(void **state) {
    (void)state;
    size_t len = (size_t)64 << 20;
    uint8_t *bytes = calloc(len, 1);
    assert_non_null(bytes);
    ts_scan_add_bytes(scan, "large", (struct ts_bytes){bytes, len});
    ts_scan_set_limit(scan, TS_SCAN_LIMIT_TIME_MS, 1);
    run_expecting(TS_SCAN_RESULT_INCOMPLETE);
    assert_non_null(strstr(ts_scan_error_text(scan), "TS_SCAN_LIMIT_TIME_MS"));
    free(bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(bytes_are_scanned_and_their_secret_is_masked),
        TEST(a_secret_is_available_on_request),
        TEST(many_bytes_are_scanned_to_their_end),
        TEST(a_folder_is_scanned_and_a_finding_reported_once),
        TEST(rules_are_compiled_once_for_all_runs),
        TEST(a_callback_can_end_the_run),
        TEST(a_cancelled_scan_looks_at_nothing),
        TEST(another_thread_can_cancel_a_run),
        TEST(targets_that_could_not_be_scanned_are_reported),
        TEST(a_target_that_cannot_be_scanned_is_the_result),
        TEST(a_selection_of_commits_wants_a_repository),
        TEST(notes_are_not_faults),
        TEST(a_configuration_allows_by_the_name_of_the_bytes),
        TEST(findings_of_a_baseline_are_counted_and_not_reported),
        TEST(ids_have_the_salt_of_the_baseline),
        TEST(findings_below_a_confidence_are_counted_and_not_reported),
        TEST(wrong_arguments_are_bad_usage),
        TEST(options_of_which_one_would_be_ignored_are_bad_usage),
        TEST(a_limit_of_time_ends_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
