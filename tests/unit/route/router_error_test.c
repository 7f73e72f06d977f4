#include "turnstone/route.h"

#include "support/cmocka.h"

#include <string.h>

static void expect_line(const struct ts_router_error_detail *detail, const char *line) {
    char text[200];
    assert_int_equal(ts_router_error_describe(detail, text, sizeof text), strlen(line));
    assert_string_equal(text, line);
}

#define EXPECT_LINE(line, ...) expect_line(&(struct ts_router_error_detail){__VA_ARGS__}, line)

static void every_error_is_one_line_with_its_values(void **state) {
    (void)state;
    EXPECT_LINE("ok", .error = TS_ROUTER_OK);
    EXPECT_LINE("zero stores: jump needs at least one store", .error = TS_ROUTER_ZERO_STORES,
                .strategy = TS_ROUTER_STRATEGY_JUMP);
    EXPECT_LINE("not a hash: range is not one of xxh64, fnv1a and jump", .error = TS_ROUTER_NOT_A_HASH,
                .strategy = TS_ROUTER_STRATEGY_RANGE);
    EXPECT_LINE("not a hash: the strategy is not one of xxh64, fnv1a and jump", .error = TS_ROUTER_NOT_A_HASH,
                .strategy = (enum ts_router_strategy)99);
    EXPECT_LINE("empty list: expected at least one range", .error = TS_ROUTER_EMPTY_LIST);
    EXPECT_LINE("memory too small: expected 115 bytes, found 114", .error = TS_ROUTER_MEMORY_TOO_SMALL,
                .needed = 115, .given = 114);
    EXPECT_LINE("empty range: store 7 starts at 500 and ends at 400", .error = TS_ROUTER_EMPTY_RANGE,
                .store = {7}, .start = 500, .end = 400);
    EXPECT_LINE("duplicate store: store 4294967295 has more than one range (items 1 and 3)",
                .error = TS_ROUTER_DUPLICATE_STORE, .store = {UINT32_MAX}, .first_position = 0,
                .position = 2);
    EXPECT_LINE("gap: expected a range that starts at 1000, found 2000", .error = TS_ROUTER_GAP,
                .expected = 1000, .found = 2000);
    EXPECT_LINE("overlap: expected a range that starts at 1000, found 999", .error = TS_ROUTER_OVERLAP,
                .expected = 1000, .found = 999);
    EXPECT_LINE("overlap: expected nothing after a range that ends at max, found a range that starts at "
                "18446744073709551615",
                .error = TS_ROUTER_OVERLAP, .expected = UINT64_MAX, .found = UINT64_MAX);
    EXPECT_LINE("incomplete coverage: the ranges end at 18446744073709551614, expected max",
                .error = TS_ROUTER_INCOMPLETE_COVERAGE, .ends_at = UINT64_MAX - 1);
}

static void a_short_buffer_gets_the_beginning_and_the_whole_length(void **state) {
    (void)state;
    struct ts_router_error_detail detail = {.error = TS_ROUTER_EMPTY_LIST};
    char text[8];
    memset(text, '#', sizeof text);
    size_t whole = strlen("empty list: expected at least one range");
    assert_int_equal(ts_router_error_describe(&detail, text, 6), whole);
    assert_memory_equal(text, "empty\0##", 8);
    assert_int_equal(ts_router_error_describe(&detail, NULL, 0), whole);
}

static void a_description_begins_with_the_short_text(void **state) {
    (void)state;
    for (int error = 0; error < TS_ROUTER_ERROR_COUNT; error++) {
        struct ts_router_error_detail detail = {.error = (enum ts_router_error)error};
        const char *brief = ts_router_error_text(detail.error);
        char text[200];
        ts_router_error_describe(&detail, text, sizeof text);
        assert_memory_equal(text, brief, strlen(brief));
        assert_null(strchr(text, '\n'));
    }
    assert_null(ts_router_error_text((enum ts_router_error)TS_ROUTER_ERROR_COUNT));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_is_one_line_with_its_values),
        cmocka_unit_test(a_short_buffer_gets_the_beginning_and_the_whole_length),
        cmocka_unit_test(a_description_begins_with_the_short_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
