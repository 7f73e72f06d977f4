/* All bytes of a large table can be used, whatever its size. */
#include "table.h"

#include "support/cmocka.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static void every_byte_can_be_written(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, 4 * MIB - 1, 4 * MIB, 4 * MIB + 1, 7 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint8_t *table = git__table_new(sizes[i], 1);
        assert_non_null(table);
        memset(table, 0xff, sizes[i]);
        free(table);
    }
}

/* The table must be zero even if its memory was used before. */
static void a_zeroed_table_is_zero(void **state) {
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        size_t count = 5 * MIB / sizeof(uint64_t) + i;
        uint64_t *table = git__table_new_zeroed(count, sizeof *table);
        assert_non_null(table);
        for (size_t k = 0; k < count; k++)
            assert_int_equal(table[k], 0);
        memset(table, 0xff, count * sizeof *table);
        free(table);
    }
}

static void a_size_that_does_not_fit_is_refused(void **state) {
    (void)state;
    assert_null(git__table_new(SIZE_MAX / 2, 4));
    assert_null(git__table_new_zeroed(SIZE_MAX / 2, 4));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_can_be_written),
        cmocka_unit_test(a_zeroed_table_is_zero),
        cmocka_unit_test(a_size_that_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
