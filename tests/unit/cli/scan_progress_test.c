#include "scan_progress.h"

#include "support/cmocka.h"

static const char *line_of(struct cli_scan_moment moment) {
    static char line[CLI_SCAN_PROGRESS_SIZE];
    return cli__scan_progress_line(&moment, line);
}

#define SECOND_NS UINT64_C(1000000000)

static const struct cli_scan_moment half_way = {.objects = 500,
                                                .objects_total = 1000,
                                                .bytes = 5100000000,
                                                .findings = 1,
                                                .elapsed_ns = 10 * SECOND_NS,
                                                .stage = TS_SCAN_STAGE_CONTENT};

/* In units of the summary. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scanning_has_sizes_a_rate_and_the_time_left),
        cmocka_unit_test(a_rate_is_for_the_time_in_which_something_is_read),
        cmocka_unit_test(before_anything_is_read_there_is_only_the_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
