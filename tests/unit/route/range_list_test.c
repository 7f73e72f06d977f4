#include "turnstone/route.h"

#include "random.h"

#include "support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static void expect_range(const struct ts_router_range *range, uint32_t store, uint64_t start, uint64_t end) {
    assert_int_equal(range->store.v, store);
    assert_int_equal(range->start, start);
    assert_int_equal(range->end, end);
}

static void a_list_is_read_in_its_order(void **state) {
    (void)state;
    const char *text = "7:1000-max,0:0-10,4294967295:10-1000";
    struct ts_router_range ranges[3];
    size_t count = 0;
    assert_int_equal(ts_router_list_count(text, strlen(text)), 3);
    assert_int_equal(ts_router_list_parse(text, strlen(text), ranges, 3, &count, NULL), TS_ROUTER_LIST_OK);
    assert_int_equal(count, 3);
    expect_range(&ranges[0], 7, 1000, UINT64_MAX);
    expect_range(&ranges[1], 0, 0, 10);
    expect_range(&ranges[2], UINT32_MAX, 10, 1000);
}

static void max_is_the_largest_id_and_leading_zeros_change_nothing(void **state) {
    (void)state;
    const char *text =
        "1:18446744073709551615-18446744073709551615,0002:00000000000000000000000000000000003-007";
    struct ts_router_range ranges[2];
    size_t count;
    assert_int_equal(ts_router_list_parse(text, strlen(text), ranges, 2, &count, NULL), TS_ROUTER_LIST_OK);
    expect_range(&ranges[0], 1, UINT64_MAX, UINT64_MAX);
    expect_range(&ranges[1], 2, 3, 7);
}

static void the_text_ends_at_its_length_without_a_nul(void **state) {
    (void)state;
    struct ts_router_range range;
    size_t count;
    assert_int_equal(ts_router_list_parse("1:2-345,", 6, &range, 1, &count, NULL), TS_ROUTER_LIST_OK);
    expect_range(&range, 1, 2, 34);
    assert_int_equal(ts_router_list_parse("1:2-3\0", 6, &range, 1, &count, NULL), TS_ROUTER_LIST_BAD_END);
}

static void items_are_counted_good_or_bad(void **state) {
    (void)state;
    assert_int_equal(ts_router_list_count("", 0), 0);
    assert_int_equal(ts_router_list_count("x", 1), 1);
    assert_int_equal(ts_router_list_count(",", 1), 2);
    assert_int_equal(ts_router_list_count("a,b,", 4), 3);
    assert_int_equal(ts_router_list_count("a,b,", 2), 2);
}

static void parsing_says_nothing_about_ranges_together(void **state) {
    (void)state;
    const char *text = "1:9-5,1:9-5";
    struct ts_router_range ranges[2];
    size_t count;
    assert_int_equal(ts_router_list_parse(text, strlen(text), ranges, 2, &count, NULL), TS_ROUTER_LIST_OK);
    expect_range(&ranges[1], 1, 9, 5);
}

struct rejected {
    const char *text;
    enum ts_router_list_error error;
    size_t position;
    size_t offset;
    const char *wrong;
};

#define BIG_STORE "4294967296"
#define BIG_ID    "18446744073709551616"

static const struct rejected rejected[] = {
    {"", TS_ROUTER_LIST_EMPTY_LIST, 0, 0, ""},
    {",", TS_ROUTER_LIST_EMPTY_ITEM, 0, 0, ""},
    {"1:2-3,", TS_ROUTER_LIST_EMPTY_ITEM, 1, 6, ""},
    {"1:2-3,,4:5-6", TS_ROUTER_LIST_EMPTY_ITEM, 1, 6, ""},
    {"1", TS_ROUTER_LIST_NO_COLON, 0, 0, "1"},
    {"1:2-3,4-5,6:7-8", TS_ROUTER_LIST_NO_COLON, 1, 6, "4-5"},
    {"1:2", TS_ROUTER_LIST_NO_DASH, 0, 0, "1:2"},
    {"1:", TS_ROUTER_LIST_NO_DASH, 0, 0, "1:"},
    {"1-2:3,4:5-6", TS_ROUTER_LIST_NO_DASH, 0, 0, "1-2:3"},
    {":1-2", TS_ROUTER_LIST_BAD_STORE, 0, 0, ":1-2"},
    {"x:1-2", TS_ROUTER_LIST_BAD_STORE, 0, 0, "x"},
    {"-1:1-2", TS_ROUTER_LIST_BAD_STORE, 0, 0, "-1"},
    {"+1:1-2", TS_ROUTER_LIST_BAD_STORE, 0, 0, "+1"},
    {" 1:1-2", TS_ROUTER_LIST_BAD_STORE, 0, 0, " 1"},
    {"1:2-3, 1:1-2", TS_ROUTER_LIST_BAD_STORE, 1, 6, " 1"},
    {"1 :1-2", TS_ROUTER_LIST_BAD_STORE, 0, 0, "1 "},
    {"0x1:1-2", TS_ROUTER_LIST_BAD_STORE, 0, 0, "0x1"},
    {BIG_STORE ":1-2", TS_ROUTER_LIST_BAD_STORE, 0, 0, BIG_STORE},
    {"99999999999999999999999:1-2", TS_ROUTER_LIST_BAD_STORE, 0, 0, "99999999999999999999999"},
    {"1:-2", TS_ROUTER_LIST_BAD_START, 0, 0, "1:-2"},
    {"1:-2-3", TS_ROUTER_LIST_BAD_START, 0, 0, "1:-2-3"},
    {"1:+2-3", TS_ROUTER_LIST_BAD_START, 0, 2, "+2"},
    {"1:2:3-4", TS_ROUTER_LIST_BAD_START, 0, 2, "2:3"},
    {"1:max-max", TS_ROUTER_LIST_BAD_START, 0, 2, "max"},
    {"1:" BIG_ID "-max", TS_ROUTER_LIST_BAD_START, 0, 2, BIG_ID},
    {"1:2-", TS_ROUTER_LIST_BAD_END, 0, 0, "1:2-"},
    {"1:2--3", TS_ROUTER_LIST_BAD_END, 0, 4, "-3"},
    {"1:2-3-4", TS_ROUTER_LIST_BAD_END, 0, 4, "3-4"},
    {"1:2-3 ", TS_ROUTER_LIST_BAD_END, 0, 4, "3 "},
    {"1:2-MAX", TS_ROUTER_LIST_BAD_END, 0, 4, "MAX"},
    {"1:2-maxi", TS_ROUTER_LIST_BAD_END, 0, 4, "maxi"},
    {"1:2-1e3", TS_ROUTER_LIST_BAD_END, 0, 4, "1e3"},
    {"1:2-3,4:5-" BIG_ID ",", TS_ROUTER_LIST_BAD_END, 1, 10, BIG_ID},
};

static void bad_lists_are_rejected_with_the_place_and_change_nothing(void **state) {
    (void)state;
    bool seen[TS_ROUTER_LIST_ERROR_COUNT] = {false};
    for (size_t i = 0; i < LENGTH(rejected); i++) {
        const struct rejected *r = &rejected[i];
        struct ts_router_range ranges[8], before[8];
        memset(ranges, 0x5a, sizeof ranges);
        memcpy(before, ranges, sizeof ranges);
        size_t count = 99;
        struct ts_router_list_error_detail detail;
        size_t length = strlen(r->text);
        assert_int_equal(ts_router_list_parse(r->text, length, ranges, 8, &count, &detail), r->error);
        assert_int_equal(detail.error, r->error);
        assert_int_equal(detail.position, r->position);
        assert_int_equal(detail.offset, r->offset);
        assert_int_equal(detail.length, strlen(r->wrong));
        assert_memory_equal(r->text + detail.offset, r->wrong, detail.length);
        assert_int_equal(count, 99);
        assert_memory_equal(ranges, before, sizeof ranges);
        assert_int_equal(ts_router_list_parse(r->text, length, ranges, 8, &count, NULL), r->error);
        seen[r->error] = true;
    }
    for (int error = 0; error < TS_ROUTER_LIST_ERROR_COUNT; error++)
        assert_true(seen[error] == (error != TS_ROUTER_LIST_OK && error != TS_ROUTER_LIST_TOO_MANY));
}

static void a_list_longer_than_the_array_is_rejected_and_nothing_is_written(void **state) {
    (void)state;
    const char *text = "1:0-10,2:10-20,3:20-max";
    struct ts_router_range ranges[2] = {{{88}, 88, 88}, {{88}, 88, 88}};
    struct ts_router_list_error_detail detail;
    size_t count = 99;
    assert_int_equal(ts_router_list_parse(text, strlen(text), ranges, 2, &count, &detail),
                     TS_ROUTER_LIST_TOO_MANY);
    assert_int_equal(detail.position, 2);
    assert_int_equal(detail.offset, 15);
    assert_int_equal(detail.length, 8);
    assert_int_equal(count, 99);
    expect_range(&ranges[0], 88, 88, 88);
    expect_range(&ranges[1], 88, 88, 88);
    assert_int_equal(ts_router_list_parse(text, strlen(text), NULL, 0, &count, NULL),
                     TS_ROUTER_LIST_TOO_MANY);
}

static void success_leaves_the_detail_alone(void **state) {
    (void)state;
    struct ts_router_range range;
    size_t count;
    struct ts_router_list_error_detail detail = {.offset = 123};
    assert_int_equal(ts_router_list_parse("1:2-3", 5, &range, 1, &count, &detail), TS_ROUTER_LIST_OK);
    assert_int_equal(detail.offset, 123);
}

static void lists_that_were_written_are_read_back(void **state) {
    (void)state;
    struct ts_prng random;
    ts_prng_init(&random, 21);
    static struct ts_router_range written[200], ranges[200];
    static char text[200 * 64];
    for (int round = 0; round < 500; round++) {
        size_t expected = 1 + ts_prng_below(&random, LENGTH(written));
        size_t length = 0;
        for (size_t i = 0; i < expected; i++) {
            struct ts_router_range *w = &written[i];
            *w = (struct ts_router_range){.store = {random_count(&random)},
                                          .start = random_of_any_size(&random),
                                          .end = random_of_any_size(&random)};
            bool max = ts_prng_below(&random, 8) == 0;
            if (max)
                w->end = UINT64_MAX;
            char end[32];
            snprintf(end, sizeof end, "%" PRIu64, w->end);
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%" PRIu32 ":%" PRIu64 "-%s",
                                       i > 0 ? "," : "", w->store.v, w->start, max ? "max" : end);
        }
        size_t count = 0;
        assert_int_equal(ts_router_list_count(text, length), expected);
        assert_int_equal(ts_router_list_parse(text, length, ranges, LENGTH(ranges), &count, NULL),
                         TS_ROUTER_LIST_OK);
        assert_int_equal(count, expected);
        for (size_t i = 0; i < count; i++)
            expect_range(&ranges[i], written[i].store.v, written[i].start, written[i].end);
    }
}

/* An accepted text consists only of the characters of the grammar, and the reported position is inside the
 * text. */
static void random_bytes_never_get_past_the_grammar(void **state) {
    (void)state;
    struct ts_prng random;
    ts_prng_init(&random, 22);
    static const char letters[] = "0123456789:-,max :-,19\n";
    int accepted = 0;
    for (int round = 0; round < 200000; round++) {
        char text[16];
        size_t length = ts_prng_below(&random, sizeof text);
        for (size_t i = 0; i < length; i++)
            text[i] = letters[ts_prng_below(&random, sizeof letters)];
        struct ts_router_range ranges[16];
        size_t count = 0;
        struct ts_router_list_error_detail detail;
        if (ts_router_list_parse(text, length, ranges, 16, &count, &detail) == TS_ROUTER_LIST_OK) {
            accepted++;
            assert_int_equal(count, ts_router_list_count(text, length));
            for (size_t i = 0; i < length; i++)
                assert_non_null(memchr("0123456789:-,max", text[i], 16));
        } else {
            assert_true(detail.offset <= length && detail.length <= length - detail.offset);
            assert_true(length == 0 || detail.position < ts_router_list_count(text, length));
        }
    }
    assert_true(accepted > 0);
}

static void expect_line(const char *text, const char *line) {
    struct ts_router_range ranges[2];
    size_t count;
    struct ts_router_list_error_detail detail;
    assert_int_not_equal(ts_router_list_parse(text, strlen(text), ranges, 2, &count, &detail),
                         TS_ROUTER_LIST_OK);
    char described[400];
    assert_int_equal(ts_router_list_error_describe(&detail, text, described, sizeof described), strlen(line));
    assert_string_equal(described, line);
}

static void an_error_is_one_line_that_quotes_what_is_wrong(void **state) {
    (void)state;
    expect_line("", "the list is empty");
    expect_line("1:2-3,", "item 2 (\"\"): the item is empty");
    expect_line("1:2-3,x:2-3", "item 2 (\"x\"): the store must be a decimal number up to 4294967295");
    expect_line("1:2-3,4:5-6,7:8-9", "item 3 (\"7:8-9\"): the list has more items than there is room for");
}

static void quotes_are_escaped_and_cut(void **state) {
    (void)state;
    expect_line("1:2-3\n\"\\\x7f\xff",
                "item 1 (\"3\\x0a\"\\\\\\x7f\\xff\"): the end must be a decimal number up to "
                "18446744073709551615, or max");
    char text[200], line[400];
    memset(text, 'a', 72);
    text[40] = ' '; /* the text is cut between words, because a part of a secret could not be recognised */
    text[72] = '\0';
    int written =
        snprintf(line, sizeof line, "item 1 (\"%.41s...\"): expected STORE:START-END, found no ':'", text);
    assert_true(written > 0);
    expect_line(text, line);
    text[71] = '\0';
    snprintf(line, sizeof line, "item 1 (\"%s\"): expected STORE:START-END, found no ':'", text);
    expect_line(text, line);
    /* One long word is left out. */
    memset(text, '\n', 199);
    text[199] = '\0';
    struct ts_router_list_error_detail detail;
    size_t count;
    assert_int_equal(ts_router_list_parse(text, 199, NULL, 0, &count, &detail), TS_ROUTER_LIST_NO_COLON);
    assert_int_equal(ts_router_list_error_describe(&detail, text, NULL, 0),
                     strlen("item 1 (\"...\"): expected STORE:START-END, found no ':'"));
}

static void errors_have_texts(void **state) {
    (void)state;
    for (int error = 0; error < TS_ROUTER_LIST_ERROR_COUNT; error++)
        assert_true(strlen(ts_router_list_error_text((enum ts_router_list_error)error)) > 0);
    assert_null(ts_router_list_error_text((enum ts_router_list_error)TS_ROUTER_LIST_ERROR_COUNT));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_read_in_its_order),
        cmocka_unit_test(max_is_the_largest_id_and_leading_zeros_change_nothing),
        cmocka_unit_test(the_text_ends_at_its_length_without_a_nul),
        cmocka_unit_test(items_are_counted_good_or_bad),
        cmocka_unit_test(parsing_says_nothing_about_ranges_together),
        cmocka_unit_test(bad_lists_are_rejected_with_the_place_and_change_nothing),
        cmocka_unit_test(a_list_longer_than_the_array_is_rejected_and_nothing_is_written),
        cmocka_unit_test(success_leaves_the_detail_alone),
        cmocka_unit_test(lists_that_were_written_are_read_back),
        cmocka_unit_test(random_bytes_never_get_past_the_grammar),
        cmocka_unit_test(an_error_is_one_line_that_quotes_what_is_wrong),
        cmocka_unit_test(quotes_are_escaped_and_cut),
        cmocka_unit_test(errors_have_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
