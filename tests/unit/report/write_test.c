#include "support.h"
#include "writer.h"

#include "support/cmocka.h"

static const enum ts_report_format every_format[] = {
#define FORMAT(suffix, name, extension, writer) TS_REPORT_FORMAT_##suffix,
    TS_REPORT_FORMATS(FORMAT)
#undef FORMAT
};
enum { FORMATS = sizeof every_format / sizeof every_format[0] };

static const char *golden_path(enum ts_report_format format) {
    static const char *const extensions[] = {
#define EXTENSION(suffix, name, extension, writer) extension,
        TS_REPORT_FORMATS(EXTENSION)
#undef EXTENSION
    };
    static char path[1024];
    snprintf(path, sizeof path, "%s/report.%s", REPORT_GOLDEN_FOLDER, extensions[format]);
    return path;
}

static bool contains(const char *text, size_t len, const char *part) {
    return memmem(text, len, part, strlen(part)) != NULL;
}

static void expect_golden(enum ts_report_format format, const char *text, size_t len) {
    const char *path = golden_path(format);
    const char *wish = getenv("REPORT_GOLDEN");
    FILE *file = fopen(path, wish != NULL && strcmp(wish, "write") == 0 ? "w+e" : "re");
    assert_non_null(file);
    if (wish != NULL && strcmp(wish, "write") == 0) {
        assert_int_equal(fwrite(text, 1, len, file), len);
        rewind(file);
    }
    char *golden = calloc(1, len + 2);
    assert_non_null(golden);
    size_t golden_len = fread(golden, 1, len + 1, file);
    fclose(file);
    if (golden_len != len || memcmp(golden, text, len) != 0) {
        size_t at = 0;
        while (at < golden_len && at < len && golden[at] == text[at])
            at++;
        print_message("%s differs at byte %zu: now '%.60s', golden '%.60s'\n", path, at, text + at,
                      golden + at);
        fail();
    }
    free(golden);
}

static void every_format_is_as_it_was(void **state) {
    (void)state;
    struct ts_report report = sample_report();
    for (size_t i = 0; i < FORMATS; i++) {
        struct ts_report_options options = sample_options(every_format[i]);
        size_t len;
        char *text = written(&report, &options, &len);
        expect_golden(every_format[i], text, len);
        free(text);
    }
}

static void a_secret_is_in_no_format_unless_it_is_asked_for(void **state) {
    (void)state;
    for (size_t i = 0; i < FORMATS; i++) {
        struct ts_report report = sample_report();
        struct ts_report_options options = sample_options(every_format[i]);
        size_t len;
        char *text = written(&report, &options, &len);
        assert_false(contains(text, len, PLANTED));
        assert_true(contains(text, len, "hunt…er12"));
        free(text);
        report.shows_secrets = true;
        text = written(&report, &options, &len);
        /* GitLab shows reports to every developer, so its format never contains secrets. */
        assert_int_equal(contains(text, len, PLANTED), every_format[i] != TS_REPORT_FORMAT_GITLAB);
        free(text);
    }
}

static bool is_control(char c) {
    unsigned char byte = (unsigned char)c;
    return (byte < 0x20 && byte != '\n') || byte == 0x7f;
}

static void no_format_has_raw_control_bytes_or_hidden_characters(void **state) {
    (void)state;
    struct ts_report report = sample_report();
    for (size_t i = 0; i < FORMATS; i++) {
        struct ts_report_options options = sample_options(every_format[i]);
        size_t len;
        char *text = written(&report, &options, &len);
        for (size_t at = 0; at < len; at++) {
            /* Lines of CSV end with CR LF. */
            bool is_line_end =
                text[at] == '\r' && options.format == TS_REPORT_FORMAT_CSV && text[at + 1] == '\n';
            assert_false(is_control(text[at]) && !is_line_end);
        }
        assert_false(contains(text, len, "\xe2\x80\xae"));
        assert_false(contains(text, len, "\xff"));
        free(text);
    }
}

static void a_report_without_time_is_equal_whatever_it_took(void **state) {
    (void)state;
    for (size_t i = 0; i < FORMATS; i++) {
        if (every_format[i] == TS_REPORT_FORMAT_TEXT)
            continue;
        struct ts_report report = sample_report();
        struct ts_report_options options = sample_options(every_format[i]);
        size_t len;
        size_t again_len;
        char *text = written(&report, &options, &len);
        report.took_ns = 99;
        char *again = written(&report, &options, &again_len);
        assert_int_equal(len, again_len);
        assert_memory_equal(text, again, len);
        free(text);
        free(again);
    }
}

static void known_findings_are_left_out_when_only_new_ones_are_wanted(void **state) {
    (void)state;
    struct ts_report report = sample_report();
    report.has_baseline = true;
    report.baseline_known = 1;
    report.findings[1].is_new = false;
    for (size_t i = 0; i < FORMATS; i++) {
        struct ts_report_options options = sample_options(every_format[i]);
        size_t len;
        char *text = written(&report, &options, &len);
        assert_false(contains(text, len, report.findings[1].id.text));
        assert_true(contains(text, len, report.findings[0].id.text));
        free(text);
        options.only_new = false;
        text = written(&report, &options, &len);
        assert_true(contains(text, len, report.findings[1].id.text));
        free(text);
    }
}

static void formats_have_names_and_extensions(void **state) {
    (void)state;
    enum ts_report_format format;
    assert_true(ts_report_format_parse(TS_BYTES("junit"), &format));
    assert_int_equal(format, TS_REPORT_FORMAT_JUNIT);
    assert_false(ts_report_format_parse(TS_BYTES("xml"), &format));
    assert_false(ts_report_format_parse(TS_BYTES(""), &format));
    static const struct {
        struct ts_bytes path;
        enum ts_report_format format;
    } files[] = {
        {TS_BYTES_INIT("a.txt"), TS_REPORT_FORMAT_TEXT},
        {TS_BYTES_INIT("out/scan.json"), TS_REPORT_FORMAT_JSON},
        {TS_BYTES_INIT("a.jsonl"), TS_REPORT_FORMAT_JSONL},
        {TS_BYTES_INIT("a.sarif"), TS_REPORT_FORMAT_SARIF},
        {TS_BYTES_INIT("a.sarif.json"), TS_REPORT_FORMAT_SARIF},
        {TS_BYTES_INIT("a.gitlab.json"), TS_REPORT_FORMAT_GITLAB},
        {TS_BYTES_INIT("gl-secret-detection-report.json"), TS_REPORT_FORMAT_GITLAB},
        {TS_BYTES_INIT("out/gl-secret-detection-report.json"), TS_REPORT_FORMAT_GITLAB},
        {TS_BYTES_INIT("not-gl-secret-detection-report.json"), TS_REPORT_FORMAT_JSON},
        {TS_BYTES_INIT("a.csv"), TS_REPORT_FORMAT_CSV},
        {TS_BYTES_INIT("a.xml"), TS_REPORT_FORMAT_JUNIT},
        {TS_BYTES_INIT("a.html"), TS_REPORT_FORMAT_HTML},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        assert_true(ts_report_format_of_file(files[i].path, &format));
        assert_int_equal(format, files[i].format);
    }
    assert_false(ts_report_format_of_file(TS_BYTES("report"), &format));
    assert_false(ts_report_format_of_file(TS_BYTES("report.pdf"), &format));
    assert_false(ts_report_format_of_file(TS_BYTES(".json"), &format));
}

static const char *iso(int64_t time_s, int32_t zone_minutes) {
    static char text[REPORT_DATE_SIZE];
    struct ts_report_commit commit = {.author_time_s = time_s, .author_zone_minutes = zone_minutes};
    return report__date_iso(&commit, text);
}

static void dates_are_in_the_zone_of_the_author(void **state) {
    (void)state;
    assert_string_equal(iso(0, 0), "1970-01-01T00:00:00+00:00");
    assert_string_equal(iso(1709299327, 60), "2024-03-01T14:22:07+01:00");
    assert_string_equal(iso(1709299327, -210), "2024-03-01T09:52:07-03:30");
    assert_string_equal(iso(-1, 0), "1969-12-31T23:59:59+00:00");
    /* An invalid zone counts as UTC. An invalid time is omitted. */
    assert_string_equal(iso(0, 5999), "1970-01-01T00:00:00+00:00");
    assert_string_equal(iso(0, INT32_MIN), "1970-01-01T00:00:00+00:00");
    assert_string_equal(iso(253402300799, 0), "9999-12-31T23:59:59+00:00");
    assert_null(iso(253402300799, 1));
    assert_null(iso(INT64_MAX, 0));
    assert_null(iso(INT64_MIN, 0));
}

static void a_million_occurrences_are_streamed(void **state) {
    (void)state;
    enum { MANY = 1000000 };
    struct ts_report report = sample_report();
    struct ts_report_occurrence *places = calloc(MANY, sizeof *places);
    assert_non_null(places);
    for (size_t i = 0; i < MANY; i++) {
        places[i] = sample_token_places[0];
        places[i].line = i + 1;
    }
    report.findings[0].occurrences = places;
    report.findings[0].listed_count = MANY;
    report.findings[0].occurrence_count = MANY;
    static struct ts_out out;
    FILE *nothing = fopen("/dev/null", "we");
    assert_non_null(nothing);
    ts_out_init(&out, fileno(nothing));
    struct ts_report_options options = sample_options(TS_REPORT_FORMAT_JSONL);
    ts_report_write(&report, &options, &out);
    assert_true(ts_out_flush(&out));
    fclose(nothing);
    free(places);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_is_as_it_was),
        cmocka_unit_test(a_secret_is_in_no_format_unless_it_is_asked_for),
        cmocka_unit_test(no_format_has_raw_control_bytes_or_hidden_characters),
        cmocka_unit_test(a_report_without_time_is_equal_whatever_it_took),
        cmocka_unit_test(known_findings_are_left_out_when_only_new_ones_are_wanted),
        cmocka_unit_test(formats_have_names_and_extensions),
        cmocka_unit_test(dates_are_in_the_zone_of_the_author),
        cmocka_unit_test(a_million_occurrences_are_streamed),
    };
    return cmocka_run_group_tests_name("write", tests, NULL, NULL);
}
