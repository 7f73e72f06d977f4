/*
 * What `bench xs` has to tell, and telling it.
 */
#ifndef TS_CLI_BENCH_XS_H
#define TS_CLI_BENCH_XS_H

#include "bench/accept.h"
#include "bench/bank.h"
#include "bench/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_xs_report {
    enum bench_scenario scenario;
    uint32_t threads;
    size_t stores;
    struct bench_run_result result;
    struct bench_bank_look look; /* bank only */
    uint64_t breaker_trips;
    uint64_t faults_struck;
    uint64_t stores_died;
    struct bench_check checks[BENCH_CHECKS_MAX];
    size_t check_count;
};

void cli__bench_xs_print(const struct bench_xs_report *report, bool as_json);

/* Says whether the bank adds up, and by how much not; false when it does not. No accounts are well. */
bool cli__bench_xs_print_bank(const struct bench_bank_look *look, bool as_json);

#endif
