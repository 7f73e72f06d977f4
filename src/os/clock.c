#include "os/clock.h"

#include "base/assert.h"

#include <time.h>

static struct timespec read_clock(clockid_t clock) {
    struct timespec now;
    /* Fails only for a clock that does not exist. */
    ts_assert(clock_gettime(clock, &now) == 0);
    ts_assert(now.tv_sec >= 0);
    return now;
}

uint64_t ts_clock_monotonic_ns(void) {
    struct timespec now = read_clock(CLOCK_MONOTONIC);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t ts_clock_processor_ns(void) {
    struct timespec now = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t ts_clock_wall_ms(void) {
    struct timespec now = read_clock(CLOCK_REALTIME);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
