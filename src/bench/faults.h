/*
 * The faults that the fault scenario injects into the first two stores, with the fault decorator:
 *
 *     0 ───────────── 6/16 ──── 7/16 ──────── 11/16 ──────────── 1   of the time
 *     │ on both, all the time: one in 200 replies to calls that change something is lost
 *                     │ store 1 dies: this call and all later ones get no answer
 *                               │ its absence is known: calls are refused at once (unavailable)
 *                                             │ it answers again
 *
 * The scenario itself inserts existing ids all the time (scenario.h).
 *
 * A dead store causes only timeouts. The breaker must trip and recover in a run of any length. So the
 * scenario shortens the times that the user has not configured: they become fractions of its own duration.
 */
#ifndef TS_BENCH_FAULTS_H
#define TS_BENCH_FAULTS_H

#include "store/contract/engine.h"
#include "txn/guard/txn_config.h"

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_FAULTY_STORES = 2 };

/* Stores from ts_fault_new; NULL for stores that the cluster does not have. */
struct bench_faults {
    struct ts_store *stores[BENCH_FAULTY_STORES];
    uint64_t deaths;
};

struct bench_faults_span {
    uint64_t duration_ms;
    bool servers;
};
/* Shortens the times that are not configured: a call takes at most a hundredth of the duration, a transaction
 * a fortieth, and an open breaker allows its probe after a twentieth. The minimum is 20 ms for a call and 50
 * ms for a transaction; with servers to connect to, 250 ms and 500 ms. */
void bench__faults_shorten(struct ts_txn_config *config, struct bench_faults_span span);

/* Starts losing replies. */
void bench__faults_begin(struct bench_faults *faults);
/* The store that dies is store 1, or store 0 if it is the only one. kill: it dies at its next change. bury:
 * it refuses its calls at once. revive: it answers again. */
void bench__faults_kill(struct bench_faults *faults);
void bench__faults_bury(struct bench_faults *faults);
void bench__faults_revive(struct bench_faults *faults);
/* Stops all faults, so that the remaining transactions can be settled. */
void bench__faults_end(struct bench_faults *faults);

uint64_t bench__faults_struck(const struct bench_faults *faults);

#endif
