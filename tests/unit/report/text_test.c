#include "support.h"
#include "text.h"

#include "support/cmocka.h"

static char *text_of(const struct ts_report *report, unsigned width, bool colour) {
    struct ts_report_options options = sample_options(TS_REPORT_FORMAT_TEXT);
    options.width = width;
    options.colour = colour;
    size_t len;
    return written(report, &options, &len);
}

static void expect(const struct ts_report *report, const char *part) {
    char *text = text_of(report, 0, false);
    if (strstr(text, part) == NULL)
        fail_msg("there is no '%s' in:\n%s", part, text);
    free(text);
}

static size_t longest_line(const char *text, const char *without) {
    size_t longest = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        size_t cells = report__text_cells(ts_bytes_of(text, len), REPORT_BACKSLASH_KEPT);
        bool is_left_out =
            memmem(text, len, without, strlen(without)) != NULL || memmem(text, len, "://", 3) != NULL;
        if (cells > longest && !is_left_out)
            longest = cells;
        text += len + (text[len] == '\n' ? 1 : 0);
    }
    return longest;
}

/* The narrowest terminal into which object ids fit. A line is never broken inside an object id. */
enum { NARROWEST = 42 };

static void lines_fit_the_terminal_apart_from_paths(void **state) {
    (void)state;
    struct ts_report report = sample_report();
    report.has_baseline = true;
    report.gone = sample_gone;
    report.gone_count = 1;
    report.is_stopped = true;
    report.findings[2].is_new = false;
    for (unsigned width = NARROWEST; width < 210; width++) {
        struct ts_report_options options = sample_options(TS_REPORT_FORMAT_TEXT);
        options.width = width;
        options.lists_gone = true;
        options.only_new = false;
        size_t len;
        char *text = written(&report, &options, &len);
        if (longest_line(text, "HYPERLINK") > width)
            fail_msg("at %u:\n%s", width, text);
        free(text);
    }
}

static void no_line_ends_with_a_blank(void **state) {
    (void)state;
    struct ts_report report = sample_report();
    for (unsigned width = 20; width < 130; width++) {
        char *text = text_of(&report, width, false);
        if (strstr(text, " \n") != NULL)
            fail_msg("at %u:\n%s", width, text);
        free(text);
    }
}

/* Users copy finding ids, so an id must not be broken across lines. */
static void an_id_is_in_one_piece_however_narrow_the_terminal_is(void **state) {
    (void)state;
    struct ts_report report = sample_report();
    for (unsigned width = 20; width < 130; width++) {
        char *text = text_of(&report, width, false);
        assert_non_null(strstr(text, report.findings[0].id.text));
        assert_non_null(strstr(text, "config/deploy.env:12:7"));
        free(text);
    }
    char *text = text_of(&report, 40, false);
    assert_non_null(strstr(text, "critical\n  GitHub personal access tok…  ghp_…9f3a\n"));
    assert_non_null(strstr(text, "\n  1a2b3c4d5e  2024-03-01 13:22 UTC\n  Ada Lovelace <ada@example.org>\n"));
    assert_non_null(strstr(text, "\n  github-pat\n  22222222222222222222222222222222\n"));
    free(text);
}

static void a_blob_without_a_path_is_shown_by_its_id(void **state) {
    (void)state;
    struct ts_report report = sample_report();
    struct ts_report_occurrence place = sample_token_places[0];
    place.path = TS_BYTES("");
    report.findings[0].occurrences = &place;
    report.findings[0].listed_count = 1;
    expect(&report, "object 00112233445566778899aabbccddeeff00112233:12:7\n");
}

static void rules_that_a_target_takes_away_are_suppressed_and_those_of_the_user_are_mentioned(void **state) {
    (void)state;
    struct ts_report report = sample_report();
    expect(&report, "rules       83\n            2 rules added by mine.yml\n");
    expect(
        &report,
        "\nsuppressed  6 built-in rules replaced by team <b>\\x1b[2J\\xff.yml of /srv/app: github-pat, jwt, "
        "npm-token, age-key, pypi-token and 1 more\n"
        "            1 built-in rule left out by .turnstone.yml of odd ");
    report.target_count = 1;
    report.finding_count = 0;
    expect(&report, "of the target: github-pat");
}

static void the_secret_of_a_long_line_stays_in_sight(void **state) {
    (void)state;
    struct ts_report report = sample_report();
    char *text = text_of(&report, 60, false);
    const char *line = strstr(text, "│ …");
    assert_non_null(line);
    assert_true(strstr(line, TS_REPORT_MASK) != NULL && strstr(line, TS_REPORT_MASK) < strchr(line, '\n'));
    free(text);
}

/* Removes the escape sequences for colours, which begin with ESC and end with m. */
static void strip_colour(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        if (*from == '\x1b')
            from = strchr(from, 'm');
        else
            *to++ = *from;
    }
    *to = '\0';
}

static void colour_changes_nothing_but_colour(void **state) {
    (void)state;
    struct ts_report report = sample_report();
    char *plain = text_of(&report, 90, false);
    char *colour = text_of(&report, 90, true);
    assert_null(strchr(plain, '\x1b'));
    assert_non_null(strchr(colour, '\x1b'));
    strip_colour(colour);
    assert_string_equal(colour, plain);
    free(plain);
    free(colour);
}

static void a_clean_scan_says_what_it_scanned(void **state) {
    (void)state;
    struct ts_report report = clean_report();
    expect(&report, "/srv/app (repository): 1,204 commits, 8,113 blobs, 91.4 MB\n");
    expect(&report, "\nNo findings (75.0 s)\n");
}

static void a_scan_of_nothing_does_not_look_clean(void **state) {
    (void)state;
    struct ts_report_target nothing = {.name = TS_BYTES_INIT("typo"),
                                       .kind = TS_REPORT_TARGET_KIND_DIRECTORY};
    struct ts_report report = clean_report();
    report.targets = &nothing;
    expect(&report, "typo (directory): there is nothing to scan\n");
    expect(&report, "\nNothing was scanned (");
    report.target_count = 0;
    expect(&report, "scanned     nothing\n");
}

static void an_incomplete_scan_does_not_look_clean(void **state) {
    (void)state;
    struct ts_report report = clean_report();
    report.is_stopped = true;
    expect(&report, "not scanned the rest, because a signal stopped the scan\n");
    expect(&report, "No findings in what could be scanned (");
    expect(&report, "INCOMPLETE: not everything was scanned, see above\n");
    report.is_stopped = false;
    report.fault_total = 5;
    expect(&report, "not scanned 5 parts that could not be read\n");
}

static void a_baseline_is_mentioned(void **state) {
    (void)state;
    struct ts_report report = clean_report();
    report.has_baseline = true;
    report.baseline_known = 12;
    report.gone = sample_gone;
    report.gone_count = 1;
    expect(&report, "baseline    12 findings known, 1 gone\n");
    expect(&report, "No new findings (");
    struct ts_report_options options = sample_options(TS_REPORT_FORMAT_TEXT);
    options.lists_gone = true;
    size_t len;
    char *text = written(&report, &options, &len);
    assert_non_null(strstr(text, "gone        44444444444444444444444444444444  aws-key\n"));
    free(text);
    report.limits_hit = 1;
    expect(&report, "1 not found by this incomplete scan\n");
}

static void wide_and_combining_characters_are_counted_in_cells(void **state) {
    (void)state;
    assert_int_equal(report__text_cells(TS_BYTES("abc"), REPORT_BACKSLASH_KEPT), 3);
    assert_int_equal(report__text_cells(TS_BYTES("gr\xc3\xbc\xc3\x9f"), REPORT_BACKSLASH_KEPT), 4);
    assert_int_equal(report__text_cells(TS_BYTES("\xe6\xbc\xa2\xe5\xad\x97"), REPORT_BACKSLASH_KEPT), 4);
    assert_int_equal(report__text_cells(TS_BYTES("e\xcc\x81"), REPORT_BACKSLASH_KEPT), 1);
    assert_int_equal(report__text_cells(TS_BYTES("\x1b\\"), REPORT_BACKSLASH_KEPT), 5);
    assert_int_equal(report__text_cells(TS_BYTES("\x1b\\"), REPORT_BACKSLASH_DOUBLED), 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_fit_the_terminal_apart_from_paths),
        cmocka_unit_test(no_line_ends_with_a_blank),
        cmocka_unit_test(an_id_is_in_one_piece_however_narrow_the_terminal_is),
        cmocka_unit_test(a_blob_without_a_path_is_shown_by_its_id),
        cmocka_unit_test(rules_that_a_target_takes_away_are_suppressed_and_those_of_the_user_are_mentioned),
        cmocka_unit_test(the_secret_of_a_long_line_stays_in_sight),
        cmocka_unit_test(colour_changes_nothing_but_colour),
        cmocka_unit_test(a_clean_scan_says_what_it_scanned),
        cmocka_unit_test(a_scan_of_nothing_does_not_look_clean),
        cmocka_unit_test(an_incomplete_scan_does_not_look_clean),
        cmocka_unit_test(a_baseline_is_mentioned),
        cmocka_unit_test(wide_and_combining_characters_are_counted_in_cells),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
