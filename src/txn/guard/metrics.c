#include "txn/guard/metrics.h"

#include "base/assert.h"

#include <string.h>

void ts_txn_metrics_init(struct ts_txn_metrics *metrics, struct ts_txn_store_metrics *stores,
                         size_t store_count) {
    ts_assert(store_count <= TS_TXN_STORES_MAX);
    memset(metrics, 0, sizeof *metrics);
    ts_hist_init(&metrics->total_us);
    for (size_t i = 0; i < TS_TXN_BREAKDOWN_PHASE_COUNT; i++)
        ts_hist_init(&metrics->phases[i]);
    for (size_t i = 0; i < store_count; i++) {
        ts_hist_init(&stores[i].shard_rpc_us);
        ts_hist_init(&stores[i].shard_lock_wait_us);
    }
    metrics->stores = stores;
    metrics->store_count = store_count;
}

static void record_latency(struct ts_txn_metrics *metrics, const struct ts_txn_breakdown *latency) {
    ts_hist_record(&metrics->total_us, latency->total_us);
    for (size_t i = 0; i < TS_TXN_BREAKDOWN_PHASE_COUNT; i++)
        if (i != TS_TXN_BREAKDOWN_SHARD_RPC)
            ts_hist_record(&metrics->phases[i], latency->us[i]);
}

void ts_txn_metrics_record(struct ts_txn_metrics *metrics, const struct ts_txn_sample *sample) {
    metrics->total_attempted++;
    metrics->total_retried += sample->retries > 0;
    switch (sample->end) {
    case TS_TXN_END_COMMITTED:
    case TS_TXN_END_COMMITTED_PENDING:
        metrics->total_committed++;
        break;
    case TS_TXN_END_ABORTED:
        metrics->total_aborted[ts_txn_cause_reason(sample->cause)]++;
        break;
    case TS_TXN_END_UNKNOWN:
        metrics->total_unknown++;
        break;
    }
    record_latency(metrics, sample->latency);
}

void ts_txn_metrics_record_rpc(struct ts_txn_metrics *metrics, struct ts_txn_breakdown_rpc rpc) {
    ts_assert(rpc.store < metrics->store_count);
    ts_hist_record(&metrics->stores[rpc.store].shard_rpc_us, rpc.us);
}

void ts_txn_metrics_record_lock_wait(struct ts_txn_metrics *metrics, struct ts_txn_breakdown_rpc wait) {
    ts_assert(wait.store < metrics->store_count);
    ts_hist_record(&metrics->stores[wait.store].shard_lock_wait_us, wait.us);
}

void ts_txn_metrics_merge(struct ts_txn_metrics *metrics, const struct ts_txn_metrics *from) {
    ts_assert(metrics->store_count == from->store_count);
    metrics->total_attempted += from->total_attempted;
    metrics->total_committed += from->total_committed;
    metrics->total_unknown += from->total_unknown;
    metrics->total_retried += from->total_retried;
    for (size_t i = 0; i < TS_TXN_ABORT_REASON_COUNT; i++)
        metrics->total_aborted[i] += from->total_aborted[i];
    ts_hist_merge(&metrics->total_us, &from->total_us);
    for (size_t i = 0; i < TS_TXN_BREAKDOWN_PHASE_COUNT; i++)
        ts_hist_merge(&metrics->phases[i], &from->phases[i]);
    for (size_t i = 0; i < from->store_count; i++) {
        ts_hist_merge(&metrics->stores[i].shard_rpc_us, &from->stores[i].shard_rpc_us);
        ts_hist_merge(&metrics->stores[i].shard_lock_wait_us, &from->stores[i].shard_lock_wait_us);
    }
}
