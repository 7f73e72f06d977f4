#include "base/checked.h"

#include "support/cmocka.h"

static void sums_are_exact_up_to_the_last_number_and_refused_beyond(void **state) {
    (void)state;
    size_t size = 7;
    assert_true(ts_checked_add_size(SIZE_MAX - 1, 1, &size));
    assert_true(size == SIZE_MAX);
    assert_false(ts_checked_add_size(SIZE_MAX, 1, &size));
    assert_true(size == SIZE_MAX);

    uint64_t u64 = 7;
    assert_false(ts_checked_add_u64(UINT64_MAX, UINT64_MAX, &u64));
    assert_int_equal(u64, 7);
    assert_true(ts_checked_add_u64(UINT64_MAX - 5, 5, &u64));
    assert_true(u64 == UINT64_MAX);

    int64_t i64 = 7;
    assert_false(ts_checked_add_i64(INT64_MAX, 1, &i64));
    assert_false(ts_checked_add_i64(INT64_MIN, -1, &i64));
    assert_int_equal(i64, 7);
    assert_true(ts_checked_add_i64(INT64_MAX, INT64_MIN, &i64));
    assert_true(i64 == -1);
}

static void differences_are_exact_down_to_the_first_number_and_refused_beyond(void **state) {
    (void)state;
    size_t size = 7;
    assert_false(ts_checked_sub_size(0, 1, &size));
    assert_int_equal(size, 7);
    assert_true(ts_checked_sub_size(5, 5, &size));
    assert_int_equal(size, 0);
}

static void products_are_exact_or_refused(void **state) {
    (void)state;
    size_t size = 7;
    assert_false(ts_checked_mul_size(SIZE_MAX / 2 + 1, 2, &size));
    assert_int_equal(size, 7);
    assert_true(ts_checked_mul_size(SIZE_MAX, 0, &size));
    assert_int_equal(size, 0);

    uint64_t u64 = 7;
    assert_false(ts_checked_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &u64));
    assert_int_equal(u64, 7);
    assert_true(ts_checked_mul_u64(UINT64_MAX, 1, &u64));
    assert_true(u64 == UINT64_MAX);
}

static void narrowing_keeps_the_number_or_is_refused(void **state) {
    (void)state;
    size_t size = 7;
    assert_true(ts_narrow_u64_size(SIZE_MAX, &size));
    assert_true(size == SIZE_MAX);
    size = 7;
    assert_false(ts_narrow_i64_size(-1, &size));
    assert_int_equal(size, 7);
}

static void saturating_arithmetic_stops_at_the_ends(void **state) {
    (void)state;
    assert_true(ts_saturating_add_u64(UINT64_MAX, 1) == UINT64_MAX);
    assert_true(ts_saturating_add_u64(UINT64_MAX - 1, 1) == UINT64_MAX);
    assert_true(ts_saturating_add_u64(2, 3) == 5);
    assert_true(ts_saturating_sub_u64(0, UINT64_MAX) == 0);
    assert_true(ts_saturating_sub_u64(5, 3) == 2);
    assert_true(ts_saturating_mul_u64(UINT64_MAX, 2) == UINT64_MAX);
    assert_true(ts_saturating_mul_u64(UINT64_MAX, 0) == 0);
    assert_true(ts_saturating_mul_u64(6, 7) == 42);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact_up_to_the_last_number_and_refused_beyond),
        cmocka_unit_test(differences_are_exact_down_to_the_first_number_and_refused_beyond),
        cmocka_unit_test(products_are_exact_or_refused),
        cmocka_unit_test(narrowing_keeps_the_number_or_is_refused),
        cmocka_unit_test(saturating_arithmetic_stops_at_the_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
