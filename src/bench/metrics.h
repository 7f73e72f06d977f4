/*
 * What a coordinator tells in its metrics to anyone who asks: its circuit breaker, and what became of the transactions on
 * each store, with the limit that follows from their conflicts.
 */
#ifndef TS_BENCH_METRICS_H
#define TS_BENCH_METRICS_H

#include "turnstone/txn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_store_metrics {
    uint64_t txns;
    uint64_t conflicts;         /* of them, aborted by conflicts */
    uint64_t concurrency_limit; /* by now */
};

struct bench_metrics {
    uint64_t breaker_trips;
    bool breaker_closed;
    size_t store_count;
    struct bench_store_metrics stores[TS_TXN_PLACES_MAX];
};

/* False when the metrics cannot be read. */
bool bench__metrics_read(struct ts_coordinator *coordinator, size_t store_count,
                         struct bench_metrics *ret_metrics);

#endif
