#include "base/checked.h"

#include "support/cmocka.h"

static void sums_are_exact_up_to_the_last_number_and_refused_beyond(void **state) {
    (void)state;
    size_t size = 7;
    assert_true(ts_checked_add_size(SIZE_MAX - 1, 1, &size));
    assert_true(size == SIZE_MAX);
    assert_false(ts_checked_add_size(SIZE_MAX, 1, &size));
    assert_true(size == SIZE_MAX);

    uint32_t u32 = 7;
    assert_false(ts_checked_add_u32(UINT32_MAX, 1, &u32));
    assert_int_equal(u32, 7);
    assert_true(ts_checked_add_u32(UINT32_MAX, 0, &u32));
    assert_int_equal(u32, UINT32_MAX);

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

    uint32_t u32 = 7;
    assert_false(ts_checked_sub_u32(1, 2, &u32));
    assert_int_equal(u32, 7);
    assert_true(ts_checked_sub_u32(UINT32_MAX, UINT32_MAX, &u32));
    assert_int_equal(u32, 0);

    uint64_t u64 = 7;
    assert_false(ts_checked_sub_u64(0, UINT64_MAX, &u64));
    assert_int_equal(u64, 7);
    assert_true(ts_checked_sub_u64(UINT64_MAX, 1, &u64));
    assert_true(u64 == UINT64_MAX - 1);

    int64_t i64 = 7;
    assert_false(ts_checked_sub_i64(INT64_MIN, 1, &i64));
    assert_false(ts_checked_sub_i64(0, INT64_MIN, &i64));
    assert_int_equal(i64, 7);
    assert_true(ts_checked_sub_i64(-1, INT64_MIN, &i64));
    assert_true(i64 == INT64_MAX);
}

static void products_are_exact_or_refused(void **state) {
    (void)state;
    size_t size = 7;
    assert_false(ts_checked_mul_size(SIZE_MAX / 2 + 1, 2, &size));
    assert_int_equal(size, 7);
    assert_true(ts_checked_mul_size(SIZE_MAX, 0, &size));
    assert_int_equal(size, 0);

    uint32_t u32 = 7;
    assert_false(ts_checked_mul_u32(UINT32_C(65536), UINT32_C(65536), &u32));
    assert_int_equal(u32, 7);
    assert_true(ts_checked_mul_u32(UINT32_C(65535), UINT32_C(65537), &u32));
    assert_int_equal(u32, UINT32_MAX);

    uint64_t u64 = 7;
    assert_false(ts_checked_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &u64));
    assert_int_equal(u64, 7);
    assert_true(ts_checked_mul_u64(UINT64_MAX, 1, &u64));
    assert_true(u64 == UINT64_MAX);

    int64_t i64 = 7;
    assert_false(ts_checked_mul_i64(INT64_MIN, -1, &i64));
    assert_int_equal(i64, 7);
    assert_true(ts_checked_mul_i64(INT64_MAX, -1, &i64));
    assert_true(i64 == -INT64_MAX);
}

static void narrowing_keeps_the_number_or_is_refused(void **state) {
    (void)state;
    uint32_t u32 = 7;
    assert_true(ts_narrow_u64_u32(UINT32_MAX, &u32));
    assert_int_equal(u32, UINT32_MAX);
    u32 = 7;
    assert_false(ts_narrow_u64_u32((uint64_t)UINT32_MAX + 1, &u32));
    assert_false(ts_narrow_size_u32((size_t)UINT32_MAX + 1, &u32));
    assert_false(ts_narrow_i64_u32(-1, &u32));
    assert_int_equal(u32, 7);
    assert_true(ts_narrow_size_u32(9, &u32));
    assert_int_equal(u32, 9);
    assert_true(ts_narrow_i64_u32(10, &u32));
    assert_int_equal(u32, 10);

    uint16_t u16 = 7;
    assert_false(ts_narrow_u64_u16(65536, &u16));
    assert_false(ts_narrow_size_u16(65536, &u16));
    assert_int_equal(u16, 7);
    assert_true(ts_narrow_u64_u16(65535, &u16));
    assert_int_equal(u16, 65535);
    assert_true(ts_narrow_size_u16(1, &u16));
    assert_int_equal(u16, 1);

    uint8_t u8 = 7;
    assert_false(ts_narrow_u64_u8(256, &u8));
    assert_false(ts_narrow_size_u8(256, &u8));
    assert_int_equal(u8, 7);
    assert_true(ts_narrow_u64_u8(255, &u8));
    assert_int_equal(u8, 255);
    assert_true(ts_narrow_size_u8(1, &u8));
    assert_int_equal(u8, 1);

    size_t size = 7;
    assert_true(ts_narrow_u64_size(SIZE_MAX, &size));
    assert_true(size == SIZE_MAX);
    size = 7;
    assert_false(ts_narrow_i64_size(-1, &size));
    assert_int_equal(size, 7);
}

static void a_change_of_sign_is_refused(void **state) {
    (void)state;
    int64_t i64 = 7;
    assert_false(ts_narrow_u64_i64((uint64_t)INT64_MAX + 1, &i64));
    assert_int_equal(i64, 7);
    assert_true(ts_narrow_u64_i64(INT64_MAX, &i64));
    assert_true(i64 == INT64_MAX);

    uint64_t u64 = 7;
    assert_false(ts_narrow_i64_u64(-1, &u64));
    assert_int_equal(u64, 7);
    assert_true(ts_narrow_i64_u64(INT64_MAX, &u64));
    assert_true(u64 == INT64_MAX);

    int32_t i32 = 7;
    assert_false(ts_narrow_i64_i32((int64_t)INT32_MIN - 1, &i32));
    assert_false(ts_narrow_i64_i32((int64_t)INT32_MAX + 1, &i32));
    assert_int_equal(i32, 7);
    assert_true(ts_narrow_i64_i32(INT32_MIN, &i32));
    assert_true(i32 == INT32_MIN);

    int plain = 7;
    assert_false(ts_narrow_u64_int((uint64_t)INT32_MAX + 1, &plain));
    assert_false(ts_narrow_size_int(SIZE_MAX, &plain));
    assert_int_equal(plain, 7);
    assert_true(ts_narrow_u64_int(INT32_MAX, &plain));
    assert_int_equal(plain, INT32_MAX);
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
        cmocka_unit_test(a_change_of_sign_is_refused),
        cmocka_unit_test(saturating_arithmetic_stops_at_the_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
