#include "pace.h"

#include "support/cmocka.h"

static void one_host_waits_an_interval_and_another_does_not(void **state) {
    (void)state;
    struct http_pace pace;
    http__pace_init(&pace, 100);
    assert_int_equal(http__pace_take(&pace, TS_BYTES("a.example"), 1000), 1000);
    assert_int_equal(http__pace_take(&pace, TS_BYTES("a.example"), 1010), 1100);
    assert_int_equal(http__pace_take(&pace, TS_BYTES("a.example"), 1020), 1200);
    assert_int_equal(http__pace_take(&pace, TS_BYTES("b.example"), 1020), 1020);
    assert_int_equal(http__pace_take(&pace, TS_BYTES("a.example"), 5000), 5000);
}

static void a_pause_holds_and_is_never_shortened(void **state) {
    (void)state;
    struct http_pace pace;
    http__pace_init(&pace, 100);
    http__pace_hold(&pace, TS_BYTES("a.example"), 3000);
    http__pace_hold(&pace, TS_BYTES("a.example"), 2000);
    assert_int_equal(http__pace_take(&pace, TS_BYTES("a.example"), 1000), 3000);
    assert_int_equal(http__pace_take(&pace, TS_BYTES("a.example"), 1000), 3100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_host_waits_an_interval_and_another_does_not),
        cmocka_unit_test(a_pause_holds_and_is_never_shortened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
