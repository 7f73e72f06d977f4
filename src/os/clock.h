/*
 * The clocks of this machine. Deterministic layers get the time from their callers. Leases depend on the
 * store's time, never on these clocks.
 */
#ifndef TS_OS_CLOCK_H
#define TS_OS_CLOCK_H

#include <stdint.h>

/* Returns nanoseconds since an arbitrary start. Never goes back; for durations and timeouts. */
uint64_t ts_clock_monotonic_ns(void);

/* Returns the processor time that all threads of this process have used so far, in nanoseconds. */
uint64_t ts_clock_processor_ns(void);

/* Returns milliseconds since 1970-01-01 00:00 UTC. May jump; for timestamps that people read. */
uint64_t ts_clock_wall_ms(void);

#endif
