/* Tests the order in which delta trees are visited. */
#include "plan.h"

#include "os/grow.h"
#include "support/cmocka.h"

#include <stdlib.h>

static struct git__units units;

static void add(uint64_t bytes, uint32_t node) {
    assert_true(TS_GROW(units.items, units.capacity, units.count + 1));
    units.items[units.count++] = (struct git__unit){.bytes = bytes, .node = node};
}

static int drop_units(void **state) {
    (void)state;
    free(units.items);
    units = (struct git__units){.items = NULL};
    return 0;
}

static void large_trees_come_first_and_the_others_in_their_order(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 1000; i++)
        add(i == 300 ? 50000000 : i == 700 ? 90000000 : i == 900 ? 50000000 : 1000 + i, i);
    assert_int_equal(git__units_arrange(&units), 3);
    assert_int_equal(units.count, 1000);
    assert_int_equal(units.items[0].node, 700);
    assert_int_equal(units.items[1].node, 300);
    assert_int_equal(units.items[2].node, 900);
    uint32_t expected = 0;
    for (size_t i = 3; i < units.count; i++, expected++) {
        while (expected == 300 || expected == 700 || expected == 900)
            expected++;
        assert_int_equal(units.items[i].node, expected);
    }
}

/* Units of a small repository are not large. If many units are equal, none of them is large. */
static void nothing_is_large_among_equals(void **state) {
    (void)state;
    assert_int_equal(git__units_arrange(&units), 0);
    for (uint32_t i = 0; i < 50; i++)
        add(i * 1000, i);
    assert_int_equal(git__units_arrange(&units), 0);
    units.count = 0;
    for (uint32_t i = 0; i < 1000; i++)
        add(4000000, i);
    assert_int_equal(git__units_arrange(&units), 0);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(units.items[i].node, i);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(large_trees_come_first_and_the_others_in_their_order, drop_units),
        cmocka_unit_test_teardown(nothing_is_large_among_equals, drop_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
