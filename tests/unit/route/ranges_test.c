#include "turnstone/route.h"

#include "random.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

enum { MOST = 65536 };

/* Large enough for MOST ranges and a misaligned beginning. */
static unsigned char memory[MOST * 20 + 256];

/* `sorted` has the ranges of a partition, ascending by start. `given` has the same ranges in the order in
 * which the router gets them. */
static struct ts_router_range sorted[MOST];
static struct ts_router_range given[MOST];

static int compare_numbers(const void *a, const void *b) {
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Fills `cuts` with different numbers from 1 to UINT64_MAX - 1, ascending. */
static void make_cuts(struct ts_prng *random, uint64_t *cuts, size_t count) {
    /* Three kinds: spread over all ids, crowded at the beginning, crowded at the end. Only the crowded ones
     * have ranges of one id. */
    uint64_t kind = ts_prng_below(random, 3);
    size_t have = 0;
    while (have < count) {
        for (size_t i = have; i < count; i++) {
            uint64_t near = 1 + ts_prng_below(random, 2 * count);
            cuts[i] = kind == 0   ? 1 + ts_prng_below(random, UINT64_MAX - 1)
                      : kind == 1 ? near
                                  : UINT64_MAX - near;
        }
        qsort(cuts, count, sizeof *cuts, compare_numbers);
        have = 0;
        for (size_t i = 0; i < count; i++)
            if (have == 0 || cuts[i] != cuts[have - 1])
                cuts[have++] = cuts[i];
    }
}

static void shuffle(struct ts_prng *random, struct ts_router_range *ranges, size_t count) {
    for (size_t i = count; i > 1; i--) {
        size_t other = ts_prng_below(random, i);
        struct ts_router_range range = ranges[i - 1];
        ranges[i - 1] = ranges[other];
        ranges[other] = range;
    }
}

/* Makes a partition of `count` ranges. Its stores are any numbers of 32 bits. They differ from each other,
 * because multiplication by an odd number is a bijection. */
static void make_partition(struct ts_prng *random, size_t count) {
    static uint64_t cuts[MOST];
    make_cuts(random, cuts, count - 1);
    uint32_t odd = (uint32_t)ts_prng_next(random) | 1;
    uint32_t offset = (uint32_t)ts_prng_next(random);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = (struct ts_router_range){.store = {(uint32_t)i * odd + offset},
                                             .start = i == 0 ? 0 : cuts[i - 1],
                                             .end = i == count - 1 ? UINT64_MAX : cuts[i]};
    }
    memcpy(given, sorted, count * sizeof *given);
    shuffle(random, given, count);
}

/* Returns the store of an id by a search through all given ranges, as the definition of a range router
 * says. */
static uint32_t scan(size_t count, uint64_t id) {
    for (size_t i = 0; i < count; i++) {
        const struct ts_router_range *range = &given[i];
        if (id >= range->start && (id < range->end || range->end == UINT64_MAX))
            return range->store.v;
    }
    fail_msg("no range holds the id");
    return 0;
}

static struct ts_router router_of_given(size_t count) {
    struct ts_router router;
    assert_int_equal(ts_router_init_range(given, count, memory, ts_router_range_memory(count), &router, NULL),
                     TS_ROUTER_OK);
    return router;
}

static void expect_boundaries(struct ts_prng *random, const struct ts_router *router, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct ts_router_range *range = &sorted[i];
        assert_int_equal(ts_router_route(router, range->start).v, range->store.v);
        assert_int_equal(ts_router_route(router, range->end - 1).v, range->store.v);
        uint64_t inside = range->start + ts_prng_below(random, range->end - range->start);
        assert_int_equal(ts_router_route(router, inside).v, range->store.v);
        uint32_t next_store = i == count - 1 ? range->store.v : sorted[i + 1].store.v;
        assert_int_equal(ts_router_route(router, range->end).v, next_store);
    }
    size_t scans = 200000 / count + 10;
    for (size_t i = 0; i < scans; i++) {
        uint64_t id = random_of_any_size(random);
        assert_int_equal(ts_router_route(router, id).v, scan(count, id));
        assert_int_equal(ts_router_route(router, ~id).v, scan(count, ~id));
    }
}

static void expect_stores_listed(const struct ts_router *router, size_t count) {
    static uint64_t stores[MOST];
    for (size_t i = 0; i < count; i++)
        stores[i] = given[i].store.v;
    qsort(stores, count, sizeof *stores, compare_numbers);
    assert_int_equal(ts_router_store_count(router), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ts_router_store_at(router, i).v, stores[i]);
}

static void random_partitions_route_as_a_linear_scan_does(void **state) {
    (void)state;
    struct ts_prng random;
    ts_prng_init(&random, 11);
    for (size_t count = 1; count <= 300; count++) {
        make_partition(&random, count);
        struct ts_router router = router_of_given(count);
        assert_int_equal(ts_router_strategy_of(&router), TS_ROUTER_STRATEGY_RANGE);
        expect_boundaries(&random, &router, count);
        expect_stores_listed(&router, count);
    }
    static const size_t large[] = {1023, 1024, 1025, 10000, 32767, 65535, 65536};
    for (size_t i = 0; i < LENGTH(large); i++) {
        make_partition(&random, large[i]);
        struct ts_router router = router_of_given(large[i]);
        expect_boundaries(&random, &router, large[i]);
        expect_stores_listed(&router, large[i]);
    }
}

static void ten_thousand_random_ids_inside_each_range_stay_there(void **state) {
    (void)state;
    struct ts_prng random;
    ts_prng_init(&random, 16);
    for (size_t count = 1; count <= 8; count++) {
        make_partition(&random, count);
        struct ts_router router = router_of_given(count);
        for (size_t i = 0; i < count; i++) {
            for (int j = 0; j < 10000; j++) {
                uint64_t id = sorted[i].start + ts_prng_below(&random, sorted[i].end - sorted[i].start);
                assert_int_equal(ts_router_route(&router, id).v, sorted[i].store.v);
            }
        }
    }
}

static void one_range_holds_every_id_up_to_the_last(void **state) {
    (void)state;
    given[0] = (struct ts_router_range){{9}, 0, UINT64_MAX};
    struct ts_router router = router_of_given(1);
    assert_int_equal(ts_router_route(&router, 0).v, 9);
    assert_int_equal(ts_router_route(&router, UINT64_MAX - 1).v, 9);
    assert_int_equal(ts_router_route(&router, UINT64_MAX).v, 9);
}

static void the_last_range_includes_the_last_id(void **state) {
    (void)state;
    given[0] = (struct ts_router_range){{1}, UINT64_MAX - 1, UINT64_MAX};
    given[1] = (struct ts_router_range){{0}, 0, UINT64_MAX - 1};
    struct ts_router router = router_of_given(2);
    assert_int_equal(ts_router_route(&router, UINT64_MAX - 2).v, 0);
    assert_int_equal(ts_router_route(&router, UINT64_MAX - 1).v, 1);
    assert_int_equal(ts_router_route(&router, UINT64_MAX).v, 1);
}

static void the_list_is_neither_changed_nor_needed_afterwards(void **state) {
    (void)state;
    struct ts_prng random;
    ts_prng_init(&random, 12);
    static struct ts_router_range copy[100];
    make_partition(&random, 100);
    memcpy(copy, given, sizeof copy);
    struct ts_router router = router_of_given(100);
    assert_memory_equal(copy, given, sizeof copy);
    memset(given, 0xff, sizeof copy);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(ts_router_route(&router, sorted[i].start).v, sorted[i].store.v);
}

static void the_memory_may_lie_anywhere_and_nothing_beyond_it_is_written(void **state) {
    (void)state;
    struct ts_prng random;
    ts_prng_init(&random, 13);
    for (size_t shift = 1; shift <= 64; shift++) {
        size_t count = 1 + ts_prng_below(&random, 40);
        make_partition(&random, count);
        size_t size = ts_router_range_memory(count);
        memset(memory, 0xa5, shift + size + 64);
        struct ts_router router;
        assert_int_equal(ts_router_init_range(given, count, memory + shift, size, &router, NULL),
                         TS_ROUTER_OK);
        for (size_t i = 0; i < shift; i++)
            assert_int_equal(memory[i], 0xa5);
        for (size_t i = 0; i < 64; i++)
            assert_int_equal(memory[shift + size + i], 0xa5);
        expect_boundaries(&random, &router, count);
    }
}

/* Initialises from `given`, expects the error, and checks that the router is unchanged. Returns the detail of
 * the error. */
static struct ts_router_error_detail rejected(size_t count, size_t memory_size, enum ts_router_error error) {
    struct ts_router router, before;
    memset(&router, 0x5a, sizeof router);
    memcpy(&before, &router, sizeof router);
    struct ts_router_error_detail detail;
    memset(&detail, 0x5a, sizeof detail);
    assert_int_equal(ts_router_init_range(given, count, memory, memory_size, &router, &detail), error);
    assert_int_equal(detail.error, error);
    assert_memory_equal(&router, &before, sizeof router);
    assert_int_equal(ts_router_init_range(given, count, memory, memory_size, &router, NULL), error);
    return detail;
}

static struct ts_router_error_detail rejected_list(const struct ts_router_range *list, size_t count,
                                                   enum ts_router_error error) {
    memcpy(given, list, count * sizeof *list);
    return rejected(count, sizeof memory, error);
}

#define REJECTED(error, ...)                                                                                 \
    rejected_list((const struct ts_router_range[]){__VA_ARGS__},                                             \
                  LENGTH(((const struct ts_router_range[]){__VA_ARGS__})), error)

static void an_empty_list_is_rejected(void **state) {
    (void)state;
    rejected(0, sizeof memory, TS_ROUTER_EMPTY_LIST);
    struct ts_router router;
    assert_int_equal(ts_router_init_range(NULL, 0, NULL, 0, &router, NULL), TS_ROUTER_EMPTY_LIST);
}

static void too_little_memory_is_rejected_with_the_sizes(void **state) {
    (void)state;
    struct ts_prng random;
    ts_prng_init(&random, 14);
    make_partition(&random, 10);
    size_t needed = ts_router_range_memory(10);
    struct ts_router_error_detail detail = rejected(10, needed - 1, TS_ROUTER_MEMORY_TOO_SMALL);
    assert_int_equal(detail.needed, needed);
    assert_int_equal(detail.given, needed - 1);

    struct ts_router router;
    assert_int_equal(ts_router_init_range(given, 10, NULL, needed, &router, &detail),
                     TS_ROUTER_MEMORY_TOO_SMALL);
    assert_int_equal(detail.given, 0);
}

static void a_count_that_no_memory_can_hold_needs_all_of_it(void **state) {
    (void)state;
    assert_true(ts_router_range_memory(SIZE_MAX) == SIZE_MAX);
    assert_true(ts_router_range_memory(SIZE_MAX / 20) == SIZE_MAX);
    assert_true(ts_router_range_memory(SIZE_MAX / 21) < SIZE_MAX);
    struct ts_router router;
    assert_int_equal(ts_router_init_range(given, SIZE_MAX / 8, memory, SIZE_MAX, &router, NULL),
                     TS_ROUTER_MEMORY_TOO_SMALL);
}

static void an_empty_range_is_rejected_with_its_values(void **state) {
    (void)state;
    struct ts_router_error_detail detail =
        REJECTED(TS_ROUTER_EMPTY_RANGE, {{0}, 0, 1000}, {{8}, 1000, 1000}, {{1}, 1000, UINT64_MAX});
    assert_int_equal(detail.position, 1);
    assert_int_equal(detail.store.v, 8);
    assert_int_equal(detail.start, 1000);
    assert_int_equal(detail.end, 1000);
    detail = REJECTED(TS_ROUTER_EMPTY_RANGE, {{4}, 5, 3});
    assert_int_equal(detail.start, 5);
    assert_int_equal(detail.end, 3);
    detail = REJECTED(TS_ROUTER_EMPTY_RANGE, {{4}, 0, 0});
    assert_int_equal(detail.end, 0);
    detail = REJECTED(TS_ROUTER_EMPTY_RANGE, {{4}, UINT64_MAX, UINT64_MAX - 1});
    assert_int_equal(detail.start, UINT64_MAX);
}

static void the_first_empty_range_in_the_given_order_is_reported(void **state) {
    (void)state;
    struct ts_router_error_detail detail =
        REJECTED(TS_ROUTER_EMPTY_RANGE, {{0}, 0, 10}, {{1}, 900, 900}, {{2}, 10, 10});
    assert_int_equal(detail.position, 1);
    assert_int_equal(detail.start, 900);
}

static void a_store_with_two_ranges_is_rejected_with_both_places(void **state) {
    (void)state;
    struct ts_router_error_detail detail = REJECTED(TS_ROUTER_DUPLICATE_STORE, {{5}, 0, 10}, {{3}, 10, 20},
                                                    {{7}, 20, 30}, {{3}, 30, UINT64_MAX});
    assert_int_equal(detail.store.v, 3);
    assert_int_equal(detail.first_position, 1);
    assert_int_equal(detail.position, 3);
}

static void the_lowest_duplicate_store_is_reported(void **state) {
    (void)state;
    struct ts_router_error_detail detail = REJECTED(TS_ROUTER_DUPLICATE_STORE, {{9}, 0, 10}, {{9}, 10, 20},
                                                    {{4}, 20, 30}, {{4}, 30, 40}, {{4}, 40, UINT64_MAX});
    assert_int_equal(detail.store.v, 4);
    assert_int_equal(detail.first_position, 2);
    assert_int_equal(detail.position, 3);
}

static void a_gap_is_rejected_with_expected_and_found(void **state) {
    (void)state;
    struct ts_router_error_detail detail = REJECTED(TS_ROUTER_GAP, {{0}, 0, 1000}, {{1}, 2000, UINT64_MAX});
    assert_int_equal(detail.expected, 1000);
    assert_int_equal(detail.found, 2000);
    assert_int_equal(detail.position, 1);
    assert_int_equal(detail.store.v, 1);
    detail = REJECTED(TS_ROUTER_GAP, {{6}, 1, UINT64_MAX});
    assert_int_equal(detail.expected, 0);
    assert_int_equal(detail.found, 1);
    assert_int_equal(detail.store.v, 6);
}

static void an_overlap_is_rejected_with_expected_and_found(void **state) {
    (void)state;
    struct ts_router_error_detail detail =
        REJECTED(TS_ROUTER_OVERLAP, {{2}, 999, UINT64_MAX}, {{1}, 0, 1000});
    assert_int_equal(detail.expected, 1000);
    assert_int_equal(detail.found, 999);
    assert_int_equal(detail.position, 0);
    assert_int_equal(detail.store.v, 2);
}

static void ranges_with_one_start_overlap(void **state) {
    (void)state;
    struct ts_router_error_detail detail =
        REJECTED(TS_ROUTER_OVERLAP, {{1}, 0, 10}, {{2}, 0, 20}, {{3}, 20, UINT64_MAX});
    assert_int_equal(detail.expected, 10);
    assert_int_equal(detail.found, 0);
    assert_int_equal(detail.position, 1);
}

static void anything_after_a_range_that_reaches_the_end_overlaps(void **state) {
    (void)state;
    struct ts_router_error_detail detail =
        REJECTED(TS_ROUTER_OVERLAP, {{1}, 0, UINT64_MAX}, {{2}, 500, UINT64_MAX});
    assert_int_equal(detail.expected, UINT64_MAX);
    assert_int_equal(detail.found, 500);
}

static void a_range_of_the_last_id_alone_is_a_gap_or_an_overlap_but_not_empty(void **state) {
    (void)state;
    struct ts_router_error_detail detail =
        REJECTED(TS_ROUTER_OVERLAP, {{1}, 0, UINT64_MAX}, {{2}, UINT64_MAX, UINT64_MAX});
    assert_int_equal(detail.expected, UINT64_MAX);
    assert_int_equal(detail.found, UINT64_MAX);
    detail = REJECTED(TS_ROUTER_GAP, {{1}, 0, UINT64_MAX - 1}, {{2}, UINT64_MAX, UINT64_MAX});
    assert_int_equal(detail.expected, UINT64_MAX - 1);
    assert_int_equal(detail.found, UINT64_MAX);
    detail = REJECTED(TS_ROUTER_GAP, {{1}, UINT64_MAX, UINT64_MAX});
    assert_int_equal(detail.expected, 0);
}

static void ranges_that_stop_before_the_end_are_rejected(void **state) {
    (void)state;
    struct ts_router_error_detail detail =
        REJECTED(TS_ROUTER_INCOMPLETE_COVERAGE, {{1}, 1000, UINT64_MAX - 1}, {{0}, 0, 1000});
    assert_int_equal(detail.ends_at, UINT64_MAX - 1);
    assert_int_equal(detail.position, 0);
    assert_int_equal(detail.store.v, 1);
}

static void checks_come_in_the_documented_order(void **state) {
    (void)state;
    /* Each list also has the errors of all later lists. */
    REJECTED(TS_ROUTER_EMPTY_RANGE, {{1}, 5, 100}, {{1}, 50, 60}, {{2}, 70, 70});
    REJECTED(TS_ROUTER_DUPLICATE_STORE, {{1}, 5, 100}, {{1}, 50, 60});
    REJECTED(TS_ROUTER_GAP, {{1}, 5, 100}, {{2}, 50, 60});
    REJECTED(TS_ROUTER_OVERLAP, {{1}, 0, 100}, {{2}, 50, 60});
    REJECTED(TS_ROUTER_INCOMPLETE_COVERAGE, {{1}, 0, 50}, {{2}, 50, 60});
    memcpy(given, (const struct ts_router_range[]){{{2}, 70, 70}}, sizeof *given);
    rejected(1, 0, TS_ROUTER_MEMORY_TOO_SMALL);
}

/* Damages one range of a partition of `count` ranges. Returns the expected error, or TS_ROUTER_OK if this
 * damage is impossible. `sorted` stays sorted by start. */
static enum ts_router_error corrupt(struct ts_prng *random, size_t *count,
                                    struct ts_router_error_detail *ret_expected) {
    size_t i = ts_prng_below(random, *count);
    struct ts_router_range *range = &sorted[i];
    bool last = i == *count - 1;
    uint64_t size = range->end - range->start;
    memset(ret_expected, 0, sizeof *ret_expected);
    switch (ts_prng_below(random, 6)) {
    case 0: /* the range is backwards or empty */
        range->end = ts_prng_below(random, range->start + 1);
        ret_expected->start = range->start;
        ret_expected->end = range->end;
        ret_expected->store = range->store;
        return TS_ROUTER_EMPTY_RANGE;
    case 1: /* the range has the store of another range */
        if (*count == 1)
            return TS_ROUTER_OK;
        range->store = sorted[(i + 1 + ts_prng_below(random, *count - 1)) % *count].store;
        ret_expected->store = range->store;
        return TS_ROUTER_DUPLICATE_STORE;
    case 2: /* the range is too short */
        if (size == 1)
            return TS_ROUTER_OK;
        range->end -= 1 + ts_prng_below(random, size - 1);
        ret_expected->expected = last ? 0 : range->end;
        ret_expected->found = last ? 0 : sorted[i + 1].start;
        ret_expected->ends_at = last ? range->end : 0;
        return last ? TS_ROUTER_INCOMPLETE_COVERAGE : TS_ROUTER_GAP;
    case 3: /* the range is too long, up to UINT64_MAX */
        if (last)
            return TS_ROUTER_OK;
        range->end += 1 + ts_prng_below(random, UINT64_MAX - range->end);
        ret_expected->expected = range->end;
        ret_expected->found = sorted[i + 1].start;
        return TS_ROUTER_OVERLAP;
    case 4: /* the range starts too late */
        if (size == 1)
            return TS_ROUTER_OK;
        ret_expected->expected = range->start;
        range->start += 1 + ts_prng_below(random, size - 1);
        ret_expected->found = range->start;
        return TS_ROUTER_GAP;
    default: /* the range is missing */
        ret_expected->expected = last ? 0 : range->start;
        ret_expected->found = last ? 0 : range->end;
        ret_expected->ends_at = last ? range->start : 0;
        memmove(range, range + 1, (*count - i - 1) * sizeof *range);
        --*count;
        if (*count == 0)
            return TS_ROUTER_EMPTY_LIST;
        return last ? TS_ROUTER_INCOMPLETE_COVERAGE : TS_ROUTER_GAP;
    }
}

static void corrupted_partitions_are_rejected_with_the_reason(void **state) {
    (void)state;
    struct ts_prng random;
    ts_prng_init(&random, 15);
    int seen[TS_ROUTER_ERROR_COUNT] = {0};
    for (int i = 0; i < 5000; i++) {
        size_t count = 1 + ts_prng_below(&random, i % 100 == 0 ? 2000 : 20);
        make_partition(&random, count);
        struct ts_router_error_detail expected;
        enum ts_router_error error = corrupt(&random, &count, &expected);
        if (error == TS_ROUTER_OK)
            continue;
        seen[error]++;
        memcpy(given, sorted, count * sizeof *given);
        shuffle(&random, given, count);
        struct ts_router_error_detail detail = rejected(count, sizeof memory, error);
        assert_int_equal(detail.start, expected.start);
        assert_int_equal(detail.end, expected.end);
        assert_int_equal(detail.expected, expected.expected);
        assert_int_equal(detail.found, expected.found);
        assert_int_equal(detail.ends_at, expected.ends_at);
        if (error == TS_ROUTER_EMPTY_RANGE || error == TS_ROUTER_DUPLICATE_STORE)
            assert_int_equal(detail.store.v, expected.store.v);
        if (error != TS_ROUTER_EMPTY_LIST)
            assert_int_equal(given[detail.position].store.v, detail.store.v);
    }
    for (int error = 0; error < TS_ROUTER_ERROR_COUNT; error++) {
        bool ours = error != TS_ROUTER_OK && error != TS_ROUTER_ZERO_STORES &&
                    error != TS_ROUTER_NOT_A_HASH && error != TS_ROUTER_MEMORY_TOO_SMALL;
        assert_true(ours == (seen[error] > 0));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_partitions_route_as_a_linear_scan_does),
        cmocka_unit_test(ten_thousand_random_ids_inside_each_range_stay_there),
        cmocka_unit_test(one_range_holds_every_id_up_to_the_last),
        cmocka_unit_test(the_last_range_includes_the_last_id),
        cmocka_unit_test(the_list_is_neither_changed_nor_needed_afterwards),
        cmocka_unit_test(the_memory_may_lie_anywhere_and_nothing_beyond_it_is_written),
        cmocka_unit_test(an_empty_list_is_rejected),
        cmocka_unit_test(too_little_memory_is_rejected_with_the_sizes),
        cmocka_unit_test(a_count_that_no_memory_can_hold_needs_all_of_it),
        cmocka_unit_test(an_empty_range_is_rejected_with_its_values),
        cmocka_unit_test(the_first_empty_range_in_the_given_order_is_reported),
        cmocka_unit_test(a_store_with_two_ranges_is_rejected_with_both_places),
        cmocka_unit_test(the_lowest_duplicate_store_is_reported),
        cmocka_unit_test(a_gap_is_rejected_with_expected_and_found),
        cmocka_unit_test(an_overlap_is_rejected_with_expected_and_found),
        cmocka_unit_test(ranges_with_one_start_overlap),
        cmocka_unit_test(anything_after_a_range_that_reaches_the_end_overlaps),
        cmocka_unit_test(a_range_of_the_last_id_alone_is_a_gap_or_an_overlap_but_not_empty),
        cmocka_unit_test(ranges_that_stop_before_the_end_are_rejected),
        cmocka_unit_test(checks_come_in_the_documented_order),
        cmocka_unit_test(corrupted_partitions_are_rejected_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
