/*
 * What the fault scenario does to the first two stores, by the fault decorator:
 *
 *     0 ───────────── 6/16 ──── 7/16 ──────── 11/16 ──────────── 1   of the time
 *     │ one reply of 200 of every call that changes something is lost, on both, all the time
 *                     │ store 1 dies: the call that meets its end, and all after it, get no answer
 *                               │ its place is known to be empty: calls are refused at once (unavailable)
 *                                             │ it answers again
 *
 * Ids that exist are inserted all the time, by the scenario itself (scenario.h).
 *
 * A store that is dead shows itself only by timeouts. So that a run of any length sees the breaker trip and
 * recover, the scenario shortens times that nobody has set to parts of its own duration.
 */
#ifndef TS_BENCH_FAULTS_H
#define TS_BENCH_FAULTS_H

#include "store/engine.h"
#include "txn/txn_config.h"

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_FAULTY_STORES = 2 };

/* Stores that ts_fault_new made; NULL where the cluster has none. */
struct bench_faults {
    struct ts_store *stores[BENCH_FAULTY_STORES];
    uint64_t deaths;
};

/*
 * What is configured stays; of the rest, a call takes a hundredth of the time at most, a transaction a fortieth, and an open
 * breaker lets its probe through after a twentieth; but a call has 20 ms and a transaction 50 ms at least, or 250 ms and
 * 500 ms when there are servers to connect to.
 */
struct bench_faults_span {
    uint64_t duration_ms;
    bool servers;
};
void bench__faults_shorten(struct ts_txn_config *config, struct bench_faults_span span);

/* Lost replies from now on. */
void bench__faults_begin(struct bench_faults *faults);
/* Store 1 dies at its next change, or store 0 when there is no other; then its place is empty; then it is back. */
void bench__faults_kill(struct bench_faults *faults);
void bench__faults_bury(struct bench_faults *faults);
void bench__faults_revive(struct bench_faults *faults);
/* No more faults, so that what is left can be settled. */
void bench__faults_end(struct bench_faults *faults);

uint64_t bench__faults_struck(const struct bench_faults *faults);

#endif
