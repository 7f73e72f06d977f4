#include "os/grow.h"
#include "support/cmocka.h"

#include <stdint.h>
#include <stdlib.h>

static void an_array_keeps_its_elements_while_it_grows(void **state) {
    (void)state;
    uint32_t *numbers = NULL;
    size_t capacity = 0;
    size_t moves = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        size_t before = capacity;
        assert_true(TS_GROW(numbers, capacity, (size_t)i + 1));
        assert_true(capacity > i);
        moves += capacity != before;
        numbers[i] = i;
    }
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(numbers[i], i);
    assert_true(moves < 25); /* the capacity grows by half, not one by one */
    free(numbers);
}

static void an_array_that_is_large_enough_stays(void **state) {
    (void)state;
    uint32_t *numbers = NULL;
    size_t capacity = 0;
    assert_true(TS_GROW(numbers, capacity, 0));
    assert_null(numbers);
    assert_true(TS_GROW(numbers, capacity, 100));
    uint32_t *const before = numbers;
    const size_t room = capacity;
    assert_true(TS_GROW(numbers, capacity, 100));
    assert_ptr_equal(numbers, before);
    assert_int_equal(capacity, room);
    free(numbers);
}

static void on_failure_the_array_is_unchanged(void **state) {
    (void)state;
    uint64_t *numbers = NULL;
    size_t capacity = 0;
    assert_true(TS_GROW(numbers, capacity, 1));
    numbers[0] = 7;
    const size_t room = capacity;
    assert_false(TS_GROW(numbers, capacity, SIZE_MAX));
    assert_false(TS_GROW(numbers, capacity, SIZE_MAX / sizeof *numbers + 1)); /* its size overflows */
    assert_false(TS_GROW(numbers, capacity, SIZE_MAX / sizeof *numbers / 2)); /* more than any machine has */
    assert_int_equal(capacity, room);
    assert_int_equal(numbers[0], 7);
    free(numbers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_keeps_its_elements_while_it_grows),
        cmocka_unit_test(an_array_that_is_large_enough_stays),
        cmocka_unit_test(on_failure_the_array_is_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
