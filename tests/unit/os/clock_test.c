#include "os/clock.h"

#include "support/cmocka.h"

#include <time.h>

static void the_monotonic_clock_never_goes_back_and_counts_nanoseconds(void **state) {
    (void)state;
    uint64_t start = ts_clock_monotonic_ns();
    uint64_t last = start;
    for (int i = 0; i < 10000; i++) {
        uint64_t now = ts_clock_monotonic_ns();
        assert_true(now >= last);
        last = now;
    }
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 20000000};
    nanosleep(&pause, NULL);
    uint64_t passed = ts_clock_monotonic_ns() - start;
    assert_in_range(passed, 20000000, UINT64_C(60000000000));
}

static void the_wall_clock_counts_milliseconds_since_1970(void **state) {
    (void)state;
    time_t before = time(NULL);
    uint64_t now = ts_clock_wall_ms();
    time_t after = time(NULL);
    /* time() may lag behind by a tick. */
    assert_in_range(now, (uint64_t)before * 1000, (uint64_t)after * 1000 + 2000);
}

static void the_processor_clock_counts_work_and_not_waiting(void **state) {
    (void)state;
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 200000000};
    uint64_t start = ts_clock_processor_ns();
    nanosleep(&pause, NULL);
    uint64_t waited = ts_clock_processor_ns() - start;
    assert_true(waited < UINT64_C(100000000));
    while (ts_clock_processor_ns() - start < waited + UINT64_C(5000000))
        continue;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_monotonic_clock_never_goes_back_and_counts_nanoseconds),
        cmocka_unit_test(the_processor_clock_counts_work_and_not_waiting),
        cmocka_unit_test(the_wall_clock_counts_milliseconds_since_1970),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
