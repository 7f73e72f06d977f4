/* Time that tests control, for embedded stores. It replaces the wall clock of the stores, but not the clock
 * of deadlines. */
#ifndef TS_TESTS_DRIVER_COORD_MOVED_TIME_H
#define TS_TESTS_DRIVER_COORD_MOVED_TIME_H

#include "os/clock.h"
#include "store/contract/engine.h"

#include <stdatomic.h>

static _Atomic uint64_t time_ahead_ms;

static inline uint64_t time_wall_ms(void *context) {
    (void)context;
    return ts_clock_wall_ms() + atomic_load(&time_ahead_ms);
}

static inline uint64_t time_monotonic_ns(void *context) {
    (void)context;
    return ts_clock_monotonic_ns();
}

static const struct ts_store_clock time_clock = {.wall_ms = time_wall_ms, .monotonic_ns = time_monotonic_ns};

static inline void time_pass_ms(uint64_t ms) {
    atomic_fetch_add(&time_ahead_ms, ms);
}

#endif
