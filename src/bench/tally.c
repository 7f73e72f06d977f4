#include "bench/tally.h"

#include "base/assert.h"

#include <string.h>

void bench__tally_init(struct bench_tally *tally) {
    *tally = (struct bench_tally){0};
    for (size_t i = 0; i < BENCH_SLICES; i++)
        ts_hist_init(&tally->slices[i]);
}

static void count_phase(struct bench_tally *tally, struct bench_phase phase) {
    for (size_t i = 0; i < BENCH_PHASES_MAX; i++) {
        struct bench_phase *at = &tally->phases[i];
        if (at->name != NULL && strcmp(at->name, phase.name) != 0)
            continue;
        at->name = phase.name;
        at->count += phase.count;
        return;
    }
    ts_unreachable("more phases than there are");
}

static void count_outcome(struct bench_tally *tally, const struct bench_sample *sample) {
    const struct ts_txn_result *result = sample->result;
    switch (result->outcome) {
    case TS_TXN_COMMITTED_PENDING:
        tally->pending++;
        /* fall through */
    case TS_TXN_COMMITTED:
        tally->committed++;
        tally->duplicates_committed += sample->duplicate;
        ts_hist_record(&tally->slices[sample->slice], sample->took_ns);
        break;
    case TS_TXN_REFUSED:
        tally->refused++;
        tally->aborted++;
        break;
    case TS_TXN_ABORTED:
        tally->aborted++;
        tally->check_failed += result->reason == TS_STORE_CHECK_FAILED;
        tally->limit += result->reason == TS_STORE_LIMIT;
        break;
    case TS_TXN_UNKNOWN:
        tally->unknown++;
        break;
    }
}

void bench__tally_record(struct bench_tally *tally, const struct bench_sample *sample) {
    const struct ts_txn_result *result = sample->result;
    tally->total++;
    tally->slice_total[sample->slice]++;
    count_outcome(tally, sample);
    tally->duplicates += sample->duplicate;
    tally->retried += result->attempts > 1;
    tally->global += result->global;
    if (result->attempts > tally->most_attempts)
        tally->most_attempts = result->attempts;
    if (result->latency.retry_backoff_us > tally->most_backoff_us)
        tally->most_backoff_us = result->latency.retry_backoff_us;
    if (sample->took_ns > tally->longest_ns)
        tally->longest_ns = sample->took_ns;
    count_phase(tally, (struct bench_phase){ts_txn_latency_dominant(&result->latency), 1});
}

void bench__tally_merge(struct bench_tally *tally, const struct bench_tally *from) {
    tally->total += from->total;
    tally->committed += from->committed;
    tally->pending += from->pending;
    tally->aborted += from->aborted;
    tally->refused += from->refused;
    tally->unknown += from->unknown;
    tally->retried += from->retried;
    tally->global += from->global;
    tally->check_failed += from->check_failed;
    tally->limit += from->limit;
    tally->duplicates += from->duplicates;
    tally->duplicates_committed += from->duplicates_committed;
    if (from->most_attempts > tally->most_attempts)
        tally->most_attempts = from->most_attempts;
    if (from->most_backoff_us > tally->most_backoff_us)
        tally->most_backoff_us = from->most_backoff_us;
    if (from->longest_ns > tally->longest_ns)
        tally->longest_ns = from->longest_ns;
    for (size_t i = 0; i < BENCH_PHASES_MAX && from->phases[i].name != NULL; i++)
        count_phase(tally, from->phases[i]);
    for (size_t i = 0; i < BENCH_SLICES; i++) {
        tally->slice_total[i] += from->slice_total[i];
        ts_hist_merge(&tally->slices[i], &from->slices[i]);
    }
}

void bench__tally_latency(const struct bench_tally *tally, struct ts_hist *ret_hist) {
    ts_hist_init(ret_hist);
    for (size_t i = 0; i < BENCH_SLICES; i++)
        ts_hist_merge(ret_hist, &tally->slices[i]);
}
