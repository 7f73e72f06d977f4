#include "scan_progress.h"

#include "support/cmocka.h"

#include <string.h>

static const char *line_of(struct cli_scan_moment moment) {
    static char line[CLI_LIVE_LINE_SIZE];
    return cli__scan_progress_line(&moment, 120, line);
}

#define SECOND_NS UINT64_C(1000000000)

static const struct cli_scan_moment half_way = {.objects = 500,
                                                .objects_total = 1000,
                                                .bytes = 5100000000,
                                                .findings = 1,
                                                .elapsed_ns = 10 * SECOND_NS,
                                                .stage = TS_SCAN_STAGE_CONTENT};

/* Sizes have the same units as in the summary. */
static void scanning_has_sizes_a_rate_and_the_time_left(void **state) {
    (void)state;
    assert_string_equal(line_of(half_way),
                        "scanning: 500/1000 objects, 5.1 GB, 510.0 MB/s, 1 finding, 0:10 left");
}

static void a_rate_is_for_the_time_in_which_something_is_read(void **state) {
    (void)state;
    struct cli_scan_moment moment = half_way;
    moment.stage = TS_SCAN_STAGE_ORIGINS;
    moment.objects = 1000;
    moment.findings = 2;
    moment.elapsed_ns = 20 * SECOND_NS;
    assert_string_equal(line_of(moment), "finding origins: 1000/1000 objects, 5.1 GB, 2 findings");
    moment.elapsed_ns = 40 * SECOND_NS;
    assert_string_equal(line_of(moment), "finding origins: 1000/1000 objects, 5.1 GB, 2 findings");
}

static void before_anything_is_read_there_is_only_the_stage(void **state) {
    (void)state;
    assert_string_equal(line_of((struct cli_scan_moment){.stage = TS_SCAN_STAGE_HISTORY}), "reading history");
}

static void at_any_width_nothing_is_cut_and_the_most_important_is_there(void **state) {
    (void)state;
    char line[CLI_LIVE_LINE_SIZE];
    struct cli_scan_moment moment = half_way;
    assert_string_equal(cli__scan_progress_line(&moment, 39, line), "scanning: 500 objects, 1 finding");
    moment.objects = 12345678;
    moment.objects_total = 22345678;
    moment.findings = 98765;
    for (size_t columns = 30; columns < 120; columns++) {
        (void)cli__scan_progress_line(&moment, columns, line);
        assert_true(strlen(line) <= columns);
        assert_non_null(strstr(line, "12345678"));
        assert_non_null(strstr(line, "98765 f"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scanning_has_sizes_a_rate_and_the_time_left),
        cmocka_unit_test(a_rate_is_for_the_time_in_which_something_is_read),
        cmocka_unit_test(before_anything_is_read_there_is_only_the_stage),
        cmocka_unit_test(at_any_width_nothing_is_cut_and_the_most_important_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
