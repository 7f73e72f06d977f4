/*
 * The state of a coordinator's circuit breaker, as its metrics tell it to anyone who asks.
 */
#ifndef TS_BENCH_BREAKER_H
#define TS_BENCH_BREAKER_H

#include "turnstone/txn.h"

#include <stdbool.h>
#include <stdint.h>

struct bench_breaker {
    uint64_t trips;
    bool closed;
};

/* False when the metrics cannot be read. */
bool bench__breaker_read(struct ts_coordinator *coordinator, struct bench_breaker *ret_breaker);

#endif
