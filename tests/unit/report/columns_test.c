#include "columns.h"

#include "support/cmocka.h"

#include <string.h>

#define TOKEN "\\b(?<secret>ghp_[A-Za-z0-9]{36})(?:[^A-Za-z0-9_-]|$)"

static struct ts_rule rule;
static struct ts_report report;
static struct ts_report_finding finding;
static struct ts_report_occurrence places[2];

/* Makes a finding with a secret of 40 bytes at column 7 of line 2. */
static int begin(void **state) {
    (void)state;
    rule = (struct ts_rule){.id = "r", .pattern = TOKEN};
    report = (struct ts_report){.finding_count = 1};
    places[0] = (struct ts_report_occurrence){.line = 2, .column = 7, .end_line = 2, .end_column = 47};
    places[1] = places[0];
    finding = (struct ts_report_finding){
        .rule = &rule, .occurrences = places, .listed_count = 2, .excerpt = TS_BYTES("TOKEN=********")};
    return 0;
}

static void expect(uint64_t start, uint64_t end) {
    struct report_columns columns = report__columns_of(&report, &finding, &places[0]);
    assert_int_equal(columns.start, start);
    assert_int_equal(columns.end, end);
}

static void expect_line(const char *excerpt, uint64_t column, uint64_t start, uint64_t end) {
    finding.excerpt = ts_bytes_of_cstring(excerpt);
    places[0].column = column;
    places[0].end_column = column + 40;
    expect(start, end);
}

static void characters_before_the_secret_are_counted(void **state) {
    (void)state;
    expect(7, 47);
    expect_line("********", 1, 1, 41);
    expect_line("\xc3\xa9\xe6\x97\xa5 = ********; more", 9, 6, 46);
    expect_line("\xf0\x9f\x94\x91********", 5, 2, 42);
    expect_line("\t********", 2, 2, 42);
}

static void a_byte_order_mark_does_not_count(void **state) {
    (void)state;
    expect_line("\xef\xbb\xbfx=********", 6, 4, 44);
    places[0].line = places[0].end_line = 1;
    expect(3, 43);
}

static void incomplete_lines_have_no_columns(void **state) {
    (void)state;
    expect_line("…more of it ********", 15, 0, 0);  /* the line is cut */
    expect_line("TOKEN=********", 90, 0, 0);        /* the excerpt is shorter than the line */
    expect_line("a ******** b ********", 14, 0, 0); /* the length of the first secret is unknown */
    expect_line("··x********", 6, 0, 0);            /* the line is not text */
    expect_line("\xff\xfex********", 4, 0, 0);      /* the line is not UTF-8 */
    expect_line("TOKEN=********", 6, 0, 0);         /* the excerpt is longer than the line */
}

static void other_occurrences_have_no_line(void **state) {
    (void)state;
    struct report_columns columns = report__columns_of(&report, &finding, &places[1]);
    assert_int_equal(columns.start, 0);
    assert_int_equal(columns.end, 0);
}

static void the_end_is_known_when_the_secret_can_only_be_ascii(void **state) {
    (void)state;
    static const char *const any[] = {"(?<secret>[^ ]{40})",
                                      "(?<secret>.{40})",
                                      "(?<secret>\\S{40})",
                                      "(?<secret>a\\x{e9})",
                                      "(?<secret>[a\\xe9]{3})",
                                      "(?<secret>\xc3\xa9)",
                                      "(?<secret>(a|[^b]))",
                                      "(?<secret>team_[[:^space:]]{8})",
                                      "no group",
                                      "(?<secret>a"};
    static const char *const ascii[] = {"(?<secret>[a.b]\\.)[^c]", "(?<secret>[]^.]{3})",
                                        "(?<secret>(?:\\(|[)])\\w)."};
    for (size_t i = 0; i < sizeof any / sizeof any[0]; i++) {
        rule.pattern = any[i];
        expect(7, 0);
    }
    for (size_t i = 0; i < sizeof ascii / sizeof ascii[0]; i++) {
        rule.pattern = ascii[i];
        expect(7, 47);
    }
    rule.pattern = any[0];
    finding.depth = 1; /* encoded text is always ASCII */
    expect(7, 47);
}

static void the_last_line_of_a_secret_begins_with_it(void **state) {
    (void)state;
    places[0].end_line = places[1].end_line = 9;
    places[0].end_column = places[1].end_column = 5;
    expect(7, 5);
    struct report_columns columns = report__columns_of(&report, &finding, &places[1]);
    assert_int_equal(columns.start, 0);
    assert_int_equal(columns.end, 5);
    rule.pattern = "(?<secret>[^a]{40})";
    expect(7, 0);
}

static void a_secret_that_is_shown_is_counted(void **state) {
    (void)state;
    report.shows_secrets = true;
    rule.pattern = "(?<secret>[^ ]{4,40})";
    finding.secret = TS_BYTES("p\xc3\xa4ssw\xc3\xb6rd");
    finding.excerpt = TS_BYTES("\xc3\xbc = p\xc3\xa4ssw\xc3\xb6rd;");
    places[0].column = 6;
    places[0].end_column = 16;
    expect(5, 13);
    finding.depth = 1; /* the excerpt shows the encoded secret */
    expect(0, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(characters_before_the_secret_are_counted, begin),
        cmocka_unit_test_setup(a_byte_order_mark_does_not_count, begin),
        cmocka_unit_test_setup(incomplete_lines_have_no_columns, begin),
        cmocka_unit_test_setup(other_occurrences_have_no_line, begin),
        cmocka_unit_test_setup(the_end_is_known_when_the_secret_can_only_be_ascii, begin),
        cmocka_unit_test_setup(the_last_line_of_a_secret_begins_with_it, begin),
        cmocka_unit_test_setup(a_secret_that_is_shown_is_counted, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
