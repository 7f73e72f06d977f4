/*
 * Metrics of transactions, in Prometheus' text format, under turnstone_xs_.
 *
 * Counters and histograms are in struct ts_txn_metrics; several of these structs can be merged. Values of the
 * whole process (gauges, and the counters of admission, breaker and detector) come from a view. Buckets end
 * at 2^k - 1 microseconds, where base/hist counts exactly: le="1023" counts all values below 1,024.
 */
#ifndef TS_TXN_GUARD_METRICS_H
#define TS_TXN_GUARD_METRICS_H

#include "base/bytes.h"
#include "base/hist.h"
#include "txn/guard/admission.h"
#include "txn/guard/breaker.h"
#include "txn/guard/cause.h"
#include "txn/guard/conflict.h"
#include "txn/guard/deadlock.h"
#include "txn/guard/latency.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_txn_store_metrics {
    struct ts_hist shard_rpc_us;
    struct ts_hist shard_lock_wait_us;
};

/* Counters and histograms. Not thread-safe: the driver locks. The struct takes some 360 KiB, and the caller's
 * array of stores 60 KiB for each store. */
struct ts_txn_metrics {
    uint64_t total_attempted; /* number of transactions; several attempts count once */
    uint64_t total_committed;
    uint64_t total_unknown; /* transactions that may or may not have committed */
    uint64_t total_aborted[TS_TXN_ABORT_REASON_COUNT];
    uint64_t total_retried; /* transactions that were tried more than once */
    struct ts_hist total_us;
    struct ts_hist phases[TS_TXN_BREAKDOWN_PHASE_COUNT]; /* the one of SHARD_RPC is empty: see `stores` */
    struct ts_txn_store_metrics *stores;
    size_t store_count;
};

/* Initialises the metrics. `stores` has room for store_count. The caller must not move or free `stores` while
 * the metrics are used. */
void ts_txn_metrics_init(struct ts_txn_metrics *metrics, struct ts_txn_store_metrics *stores,
                         size_t store_count);

/* The data of a transaction that has ended. */
struct ts_txn_sample {
    enum ts_txn_end end;
    const struct ts_txn_cause *cause; /* for ABORTED */
    uint32_t retries;
    const struct ts_txn_breakdown *latency;
};
void ts_txn_metrics_record(struct ts_txn_metrics *metrics, const struct ts_txn_sample *sample);

/* Records the longest round trip of a transaction to one store. */
void ts_txn_metrics_record_rpc(struct ts_txn_metrics *metrics, struct ts_txn_breakdown_rpc rpc);

/* Records how long a transaction has waited for locks on one store. */
void ts_txn_metrics_record_lock_wait(struct ts_txn_metrics *metrics, struct ts_txn_breakdown_rpc wait);

/* Adds everything that was recorded in `from`. Both structs must have the same number of stores. */
void ts_txn_metrics_merge(struct ts_txn_metrics *metrics, const struct ts_txn_metrics *from);

/* Values of the whole process that are not in struct ts_txn_metrics. */
struct ts_txn_store_view {
    const char *name; /* value of the label; NULL: the store's place as a number */
    struct ts_txn_conflict_view conflicts;
    uint32_t limit;
    uint32_t in_flight;
};

struct ts_txn_view {
    struct ts_txn_admission_gauges admission;
    enum ts_txn_breaker_state breaker_state;
    uint64_t breaker_trips;
    uint64_t deadlocks_detected;
    uint64_t stalled_txns;
    const struct ts_txn_store_view *stores; /* one for each store of the metrics */
};

/* A function that receives the text in parts. It returns false to stop. */
struct ts_txn_text_writer {
    bool (*write)(void *context, struct ts_bytes text);
    void *context;
};

/* Writes the text of all metrics. Returns false when the writer stopped. */
bool ts_txn_metrics_render(const struct ts_txn_metrics *metrics, const struct ts_txn_view *view,
                           struct ts_txn_text_writer writer);

#endif
