#include "base/assert.h"

#include "support/cmocka.h"
#include "support/stops.h"

static void a_true_condition_continues(void **state) {
    (void)state;
    ts_assert(1 + 1 == 2);
}

static void a_false_condition_stops_the_process_and_says_where(void **state) {
    (void)state;
    assert_stops("assertion failed: 1 + 1 == 3 (tests/unit/base/assert_test.c:", ts_assert(1 + 1 == 3));
}

static void an_unreachable_place_stops_the_process_and_says_why(void **state) {
    (void)state;
    assert_stops("assertion failed: no such thing (tests/unit/base/assert_test.c:",
                 ts_unreachable("no such thing"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_true_condition_continues),
        cmocka_unit_test(a_false_condition_stops_the_process_and_says_where),
        cmocka_unit_test(an_unreachable_place_stops_the_process_and_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
