#include "os/entropy.h"

#include "support/cmocka.h"

static void two_fills_differ_and_stay_inside(void **state) {
    (void)state;
    uint8_t a[33], b[33];
    memset(a, 0xee, sizeof a);
    memset(b, 0xee, sizeof b);
    assert_true(ts_entropy_fill(a, 32));
    assert_true(ts_entropy_fill(b, 32));
    assert_memory_not_equal(a, b, 32);
    assert_int_equal(a[32], 0xee);
}

static void every_byte_of_a_large_fill_is_filled(void **state) {
    (void)state;
    static uint8_t bytes[1000000];
    assert_true(ts_entropy_fill(bytes, sizeof bytes));
    size_t zeros = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        zeros += bytes[i] == 0;
    /* One byte in 256 is expected to be zero: 3,906 bytes, with a standard deviation of 62. */
    assert_in_range(zeros, 3200, 4600);
}

static void nothing_is_no_failure(void **state) {
    (void)state;
    assert_true(ts_entropy_fill(NULL, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_fills_differ_and_stay_inside),
        cmocka_unit_test(every_byte_of_a_large_fill_is_filled),
        cmocka_unit_test(nothing_is_no_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
