#include "coord/core/split_check.h"

#include "base/prng.h"
#include "world.h"

static struct ts_split_detail detail;
static uint8_t large[TS_TOKEN_MAX + 1];

enum { MOST = 8 };
struct coverage_case {
    struct ts_key_range parent;
    size_t count;
    struct ts_new_shard children[MOST];
    enum ts_split_validation_error expected;
    size_t child;
};

#define RANGE(from, to)                                                                                      \
    { TS_BYTES_INIT(from), TS_BYTES_INIT(to) }
#define CHILD(from, to)                                                                                      \
    {                                                                                                        \
        .spec = {.range = RANGE(from, to) }                                                                  \
    }

static const struct coverage_case cases[] = {
    {RANGE("b", "y"), 2, {CHILD("b", "m"), CHILD("m", "y")}, TS_SPLIT_FAULT_OK, 0},
    {RANGE("", ""), 3, {CHILD("", "c"), CHILD("c", "d"), CHILD("d", "")}, TS_SPLIT_FAULT_OK, 0},
    {RANGE("b", "y"), 0, {CHILD("b", "y")}, TS_SPLIT_FAULT_NO_CHILDREN, 0},
    {RANGE("b", "y"), 1, {CHILD("b", "y")}, TS_SPLIT_FAULT_SINGLE_CHILD, 0},
    {RANGE("b", "y"), 2, {CHILD("a", "m"), CHILD("m", "y")}, TS_SPLIT_FAULT_START_MISMATCH, 0},
    {RANGE("b", "y"), 2, {CHILD("", "m"), CHILD("m", "y")}, TS_SPLIT_FAULT_START_MISMATCH, 0},
    {RANGE("b", "y"), 2, {CHILD("b", "m"), CHILD("m", "x")}, TS_SPLIT_FAULT_END_MISMATCH, 1},
    {RANGE("b", "y"), 2, {CHILD("b", "m"), CHILD("m", "")}, TS_SPLIT_FAULT_END_MISMATCH, 1},
    {RANGE("b", "y"), 2, {CHILD("b", "m"), CHILD("n", "y")}, TS_SPLIT_FAULT_BOUNDARY_MISMATCH, 1},
    {RANGE("b", "y"), 2, {CHILD("b", "n"), CHILD("m", "y")}, TS_SPLIT_FAULT_OVERLAPPING_CHILD, 1},
    {RANGE("b", "y"), 2, {CHILD("b", ""), CHILD("m", "y")}, TS_SPLIT_FAULT_OVERLAPPING_CHILD, 1},
    {RANGE("b", "y"), 2, {CHILD("b", "m"), CHILD("", "y")}, TS_SPLIT_FAULT_OVERLAPPING_CHILD, 1},
    {RANGE("b", "y"),
     3,
     {CHILD("b", "m"), CHILD("m", "c"), CHILD("c", "y")},
     TS_SPLIT_FAULT_INVERTED_CHILD,
     1},
    {RANGE("b", "y"),
     3,
     {CHILD("b", "m"), CHILD("m", "m"), CHILD("m", "y")},
     TS_SPLIT_FAULT_INVERTED_CHILD,
     1},
    {RANGE("b", "y"), 2, {CHILD("b", "z"), CHILD("z", "y")}, TS_SPLIT_FAULT_INVERTED_CHILD, 1},
    {RANGE("b", "y"),
     2,
     {CHILD("b", "m"), {.spec = {.range = RANGE("m", "y"), .metadata = {large, TS_METADATA_MAX + 1}}}},
     TS_SPLIT_FAULT_INVALID_CHILD_SPEC,
     1},
    {RANGE("b", "y"),
     2,
     {{.spec = {.range = RANGE("b", "m")}, .cursor = KEY("m")}, CHILD("m", "y")},
     TS_SPLIT_FAULT_INVALID_CHILD_SPEC,
     0},
    {RANGE("b", "y"),
     2,
     {{.spec = {.range = RANGE("b", "m")}, .has_id = true, .id = {4}}, CHILD("m", "y")},
     TS_SPLIT_FAULT_INVALID_CHILD_SPEC,
     0},
    {RANGE("b", "y"),
     2,
     {CHILD("b", "m"),
      {.spec = {.range = RANGE("m", "y")},
       .cursor = {true, true, TS_BYTES_INIT("n"), {large, TS_TOKEN_MAX + 1}}}},
     TS_SPLIT_FAULT_INVALID_CHILD_SPEC,
     1},
};

static void coverage_errors_are_reported_in_their_order(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(&detail, 0, sizeof detail);
        enum ts_split_validation_error error = ts_split_coverage_check(
            cases[i].parent, (struct ts_new_shards){cases[i].children, cases[i].count}, &detail);
        if (error != cases[i].expected)
            fail_msg("case %zu: %s", i, ts_split_validation_error_name(error));
        if (error != TS_SPLIT_FAULT_OK)
            assert_int_equal(detail.child, cases[i].child);
    }
}

static enum ts_split_validation_error residual(struct ts_residual_ranges ranges,
                                               const struct ts_cursor *cursor) {
    const struct ts_new_shard shard = {0};
    return ts_split_residual_check((struct ts_key_range)RANGE("b", "y"), ranges, &shard, cursor, &detail);
}

static void a_residual_split_has_all_the_errors_of_coverage(void **state) {
    (void)state;
    const struct ts_cursor none = {0}, at_k = KEY("k");
    static const struct {
        struct ts_residual_ranges ranges;
        enum ts_split_validation_error expected;
    } parts[] = {
        {{RANGE("b", "m"), RANGE("m", "y")}, TS_SPLIT_FAULT_OK},
        {{RANGE("c", "m"), RANGE("m", "y")}, TS_SPLIT_FAULT_START_MISMATCH},
        {{RANGE("b", "m"), RANGE("m", "z")}, TS_SPLIT_FAULT_END_MISMATCH},
        {{RANGE("b", "m"), RANGE("n", "y")}, TS_SPLIT_FAULT_BOUNDARY_MISMATCH},
        {{RANGE("b", "n"), RANGE("m", "y")}, TS_SPLIT_FAULT_OVERLAPPING_CHILD},
        {{RANGE("b", "b"), RANGE("b", "y")}, TS_SPLIT_FAULT_INVERTED_CHILD},
        {{RANGE("b", "y"), RANGE("y", "y")}, TS_SPLIT_FAULT_INVERTED_CHILD},
        {{RANGE("b", "k"), RANGE("k", "y")}, TS_SPLIT_FAULT_PARENT_CURSOR_OUT_OF_BOUNDS},
        {{RANGE("b", ""), RANGE("", "y")}, TS_SPLIT_FAULT_OVERLAPPING_CHILD},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assert_int_equal(residual(parts[i].ranges, &at_k), parts[i].expected);
    assert_int_equal(residual(parts[7].ranges, &none), TS_SPLIT_FAULT_OK);
    /* Sizes are checked before ranges. */
    const struct ts_residual_ranges huge = {RANGE("c", "m"), {{large, TS_KEY_MAX + 1}, TS_BYTES("z")}};
    assert_int_equal(residual(huge, &none), TS_SPLIT_FAULT_INVALID_CHILD_SPEC);
}

static void the_tenants_limit_is_reported_before_the_global_one(void **state) {
    (void)state;
    struct ts_limit_detail limit;
    const struct ts_shard_limits limits = {{8, 10}, {98, 100}};
    assert_true(ts_shard_limits_allow(&limits, 2, &limit));
    assert_false(ts_shard_limits_allow(&limits, 3, &limit));
    assert_int_equal(limit.scope, TS_LIMIT_PER_TENANT);
    const struct ts_shard_limits global = {{8, 20}, {98, 100}};
    assert_false(ts_shard_limits_allow(&global, 3, &limit));
    assert_int_equal(limit.scope, TS_LIMIT_GLOBAL);
    assert_int_equal(limit.current, 98);
    assert_int_equal(limit.additional, 3);
    assert_int_equal(limit.max, 100);
    assert_false(ts_shard_limits_allow(&limits, UINT64_MAX, &limit));
}

/* A list of children is accepted exactly if each key in the parent is in one child, and every other key is in
 * no child. */
static void accepted_splits_partition_the_parent_exactly(void **state) {
    (void)state;
    static const char *const bounds[] = {"", "b", "d", "f", "h"};
    static const char *const keys[] = {"",  "a", "b",  "bb", "c", "d",  "dd",
                                       "e", "f", "ff", "g",  "h", "hh", "z"};
    struct ts_prng prng;
    ts_prng_init(&prng, 7);
    size_t accepted = 0;
    for (int round = 0; round < 200000; round++) {
        struct ts_key_range parent = {ts_bytes_of_cstring(bounds[ts_prng_below(&prng, 3)]),
                                      ts_bytes_of_cstring(bounds[ts_prng_below(&prng, 2) ? 4 : 0])};
        struct ts_new_shard children[3];
        size_t count = 2 + ts_prng_below(&prng, 2);
        for (size_t i = 0; i < count; i++)
            children[i] = child_of(bounds[ts_prng_below(&prng, 5)], bounds[ts_prng_below(&prng, 5)]);
        if (ts_prng_below(&prng, 2))
            children[0].spec.range.start = parent.start;
        if (ts_prng_below(&prng, 2))
            children[count - 1].spec.range.end = parent.end;
        if (ts_split_coverage_check(parent, (struct ts_new_shards){children, count}, &detail) !=
            TS_SPLIT_FAULT_OK)
            continue;
        accepted++;
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            struct ts_bytes key = ts_bytes_of_cstring(keys[k]);
            size_t held = 0;
            for (size_t i = 0; i < count; i++)
                held += ts_key_range_contains(children[i].spec.range, key);
            assert_int_equal(held, ts_key_range_contains(parent, key) ? 1 : 0);
        }
    }
    assert_true(accepted > 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coverage_errors_are_reported_in_their_order),
        cmocka_unit_test(a_residual_split_has_all_the_errors_of_coverage),
        cmocka_unit_test(the_tenants_limit_is_reported_before_the_global_one),
        cmocka_unit_test(accepted_splits_partition_the_parent_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
