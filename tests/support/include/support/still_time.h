/* A clock that moves only when the test moves it. Deadlines use this clock, too. For stores in memory that
 * one thread uses. */
#ifndef TS_TESTS_SUPPORT_STILL_TIME_H
#define TS_TESTS_SUPPORT_STILL_TIME_H

#include "store/contract/engine.h"

#include <stdint.h>

static uint64_t now_ms;

static inline uint64_t still_wall_ms(void *context) {
    (void)context;
    return now_ms;
}

static inline uint64_t still_monotonic_ns(void *context) {
    (void)context;
    return now_ms * 1000000;
}

static const struct ts_store_clock test_clock = {.wall_ms = still_wall_ms,
                                                 .monotonic_ns = still_monotonic_ns};

#endif
