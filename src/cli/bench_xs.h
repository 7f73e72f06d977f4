/*
 * The results of `bench xs`, and functions that print them.
 */
#ifndef TS_CLI_BENCH_XS_H
#define TS_CLI_BENCH_XS_H

#include "bench/accept.h"
#include "bench/bank.h"
#include "bench/metrics.h"
#include "bench/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_xs_report {
    enum bench_scenario scenario;
    uint32_t threads;
    size_t stores;
    struct bench_run_result result;
    struct bench_bank_look look; /* only in the scenario bank */
    struct bench_metrics before; /* metrics before the run */
    struct bench_metrics metrics;
    uint64_t faults_struck;
    uint64_t stores_died;
    struct bench_check checks[BENCH_CHECKS_MAX];
    size_t check_count;
};

void cli__bench_xs_print(const struct bench_xs_report *report, bool as_json);

/* Prints whether the sum of the accounts is the expected total, and the difference. Returns false if the sum
 * is wrong. Returns true for a cluster without accounts. */
bool cli__bench_xs_print_bank(const struct bench_bank_look *look, bool as_json);

#endif
