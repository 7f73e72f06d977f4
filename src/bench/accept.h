/*
 * The acceptance criteria of section 8.3 of the specification, one check for each.
 *
 *   commit_rate       all but zipfian and bank: at least the percentage in scenario.h committed
 *   p999_divergence   all: the p99.9 of successive slices of the run does not grow by half or more four times
 *                     in a row (which would be more than fivefold)
 *   retry_storm       all: no transaction was tried more often, or backed off longer, than allowed
 *   responsive        faults: the longest answer took at most timeouts.total and half a second, and
 *                     transactions commit again at the end
 *   circuit_breaker   faults: the breaker tripped when the store died, and is closed again
 *   faults_injected   faults: existing ids were inserted and refused, replies were lost, a store died
 *   total_kept        bank: the total of the accounts has not changed
 */
#ifndef TS_BENCH_ACCEPT_H
#define TS_BENCH_ACCEPT_H

#include "bench/scenario.h"
#include "bench/tally.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_CHECKS_MAX = 8, BENCH_GROWTH_RUN = 4 };

struct bench_check {
    const char *name;
    bool pass;
    char threshold[96];
    char found[96];
};

/* The measurements of a run, and the limits to compare the measurements with. */
struct bench_evidence {
    enum bench_scenario scenario;
    const struct bench_tally *tally;
    uint32_t max_retries;
    uint64_t retry_budget_us;
    uint64_t total_timeout_us;
    uint64_t breaker_trips;
    bool breaker_closed;
    uint64_t faults_struck;
    uint64_t stores_died;
    bool bank_checked; /* false: the accounts could not all be read at the same moment */
    int64_t bank_off;  /* the actual total minus the expected one */
};

/* Fills in the checks that apply, and returns their number. */
size_t bench__accept(const struct bench_evidence *evidence, struct bench_check ret_checks[BENCH_CHECKS_MAX]);

/* Returns true when values grow by half or more BENCH_GROWTH_RUN times in a row; zeros are ignored. */
bool bench__grows(const uint64_t *values, size_t count);

#endif
