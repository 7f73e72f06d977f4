/*
 * A run: threads make transactions one after another for the given time, and record the results.
 *
 * After a refusal a thread pauses and tries again.
 */
#ifndef TS_BENCH_RUN_H
#define TS_BENCH_RUN_H

#include "bench/bank.h"
#include "bench/faults.h"
#include "bench/scenario.h"
#include "bench/tally.h"
#include "turnstone/txn.h"

#include <stdbool.h>
#include <stdint.h>

struct bench_run_options {
    const struct bench_plan *plan;
    struct bench_bank_access access; /* shared coordinator and cluster */
    const struct bench_bank *bank;   /* for the scenario bank */
    struct bench_faults *faults;     /* for the scenario faults */
    uint64_t duration_ms;
    uint64_t pause_us; /* pause after a refusal */
};

struct bench_run_result {
    uint64_t took_ns;
    struct bench_tally tally;
};

/* Returns false when memory runs out or a thread cannot be started; then nothing is running. */
bool bench__run(const struct bench_run_options *options, struct bench_run_result *ret_result);

#endif
