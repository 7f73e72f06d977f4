/*
 * Values that the benchmark reads from the public metrics of a coordinator: its circuit breaker, and for each
 * store the results of transactions and its adaptive limit.
 */
#ifndef TS_BENCH_METRICS_H
#define TS_BENCH_METRICS_H

#include "turnstone/txn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_store_metrics {
    uint64_t txns;
    uint64_t conflicts;         /* transactions that conflicts aborted */
    uint64_t concurrency_limit; /* the current adaptive limit */
};

struct bench_metrics {
    uint64_t breaker_trips;
    bool breaker_closed;
    size_t store_count;
    struct bench_store_metrics stores[TS_TXN_PLACES_MAX];
};

/* Returns false when the metrics cannot be read. */
bool bench__metrics_read(struct ts_coordinator *coordinator, size_t store_count,
                         struct bench_metrics *ret_metrics);

#endif
