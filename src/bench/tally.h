/*
 * Results of the transactions: each thread counts its own transactions, and the counts are merged at the end.
 *
 * The time of a run is cut into BENCH_SLICES equal slices. Each slice has its own histogram, so that a
 * latency that grows during the run can be distinguished from one that is always high. Latencies are measured
 * by the caller, in nanoseconds, for committed transactions only.
 */
#ifndef TS_BENCH_TALLY_H
#define TS_BENCH_TALLY_H

#include "base/hist.h"
#include "turnstone/txn.h"

#include <stddef.h>
#include <stdint.h>

enum { BENCH_SLICES = 8 };

/* The maximum number of phases that a tally distinguishes. */
enum { BENCH_PHASES_MAX = 16 };
/* How often a phase took most of the time of a transaction. The name comes from ts_txn_latency_dominant. */
struct bench_phase {
    const char *name; /* NULL: this entry and all later ones are free */
    uint64_t count;
};

struct bench_tally {
    uint64_t total;
    uint64_t committed;
    uint64_t pending; /* committed, but not applied on every store when the call returned */
    uint64_t aborted; /* aborted transactions, including refused ones */
    uint64_t refused; /* transactions aborted before any store was asked */
    uint64_t unknown;
    uint64_t retried;      /* transactions that were tried more than once */
    uint64_t global;       /* transactions on several stores */
    uint64_t check_failed; /* transactions that a check on a store aborted */
    uint64_t limit;
    uint64_t duplicates; /* inserts of existing ids; the store must not commit them */
    uint64_t duplicates_committed;
    uint32_t most_attempts;
    uint64_t most_backoff_us; /* the longest time that one transaction backed off */
    uint64_t longest_ns;      /* duration of the longest transaction, with any result */
    struct bench_phase phases[BENCH_PHASES_MAX];
    uint64_t slice_total[BENCH_SLICES];
    struct ts_hist slices[BENCH_SLICES];
};

void bench__tally_init(struct bench_tally *tally);

struct bench_sample {
    const struct ts_txn_result *result;
    uint64_t took_ns;
    size_t slice;
    bool duplicate;
};
void bench__tally_record(struct bench_tally *tally, const struct bench_sample *sample);

void bench__tally_merge(struct bench_tally *tally, const struct bench_tally *from);

/* Merges the latencies of all slices. */
void bench__tally_latency(const struct bench_tally *tally, struct ts_hist *ret_hist);

#endif
