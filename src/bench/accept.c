#include "bench/accept.h"

#include "base/assert.h"

#include <stdio.h>

/* A thread may sleep longer than requested, because a busy machine wakes it late. */
static const uint64_t oversleep_us = 100000, late_us = 500000;

struct checks {
    struct bench_check *list;
    size_t count;
};

static struct bench_check *add(struct checks *checks, const char *name) {
    ts_assert(checks->count < BENCH_CHECKS_MAX);
    struct bench_check *check = &checks->list[checks->count++];
    *check = (struct bench_check){.name = name};
    return check;
}

static void check_commit_rate(const struct bench_evidence *evidence, struct checks *checks) {
    uint32_t percent = bench__scenario_percent(evidence->scenario);
    if (percent == 0)
        return;
    const struct bench_tally *tally = evidence->tally;
    struct bench_check *check = add(checks, "commit_rate");
    bool majority = evidence->scenario == BENCH_FAULTS;
    double found = tally->total > 0 ? 100.0 * (double)tally->committed / (double)tally->total : 0;
    check->pass = tally->total > 0 && (majority ? found > percent : found >= percent);
    snprintf(check->threshold, sizeof check->threshold, "%s %u %%", majority ? "above" : "at least", percent);
    snprintf(check->found, sizeof check->found, "%.2f %%", found);
}

bool bench__grows(const uint64_t *values, size_t count) {
    size_t run = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] == 0)
            continue;
        run = before > 0 && values[i] >= before + before / 2 ? run + 1 : 0;
        before = values[i];
        if (run == BENCH_GROWTH_RUN)
            return true;
    }
    return false;
}

static void check_divergence(const struct bench_evidence *evidence, struct checks *checks) {
    struct bench_check *check = add(checks, "p999_divergence");
    uint64_t p999[BENCH_SLICES];
    size_t used = 0;
    for (size_t i = 0; i < BENCH_SLICES; i++) {
        p999[i] = ts_hist_percentile(&evidence->tally->slices[i], 99900);
        int len = snprintf(check->found + used, sizeof check->found - used, "%s%.0f", i > 0 ? " " : "",
                           (double)p999[i] / 1000);
        used += (size_t)len < sizeof check->found - used ? (size_t)len : 0;
    }
    check->pass = !bench__grows(p999, BENCH_SLICES);
    snprintf(check->threshold, sizeof check->threshold, "does not grow by 50 %% or more %d times in a row",
             BENCH_GROWTH_RUN);
    snprintf(check->found + used, sizeof check->found - used, " us");
}

static void check_storm(const struct bench_evidence *evidence, struct checks *checks) {
    struct bench_check *check = add(checks, "retry_storm");
    const struct bench_tally *tally = evidence->tally;
    uint64_t retries = tally->most_attempts > 0 ? tally->most_attempts - 1 : 0;
    check->pass = retries <= evidence->max_retries &&
                  tally->most_backoff_us <= evidence->retry_budget_us + oversleep_us;
    snprintf(check->threshold, sizeof check->threshold, "at most %u retries and %.0f ms of backing off",
             evidence->max_retries, (double)evidence->retry_budget_us / 1000);
    snprintf(check->found, sizeof check->found, "%llu retries, %.1f ms", (unsigned long long)retries,
             (double)tally->most_backoff_us / 1000);
}

static void check_faults(const struct bench_evidence *evidence, struct checks *checks) {
    const struct bench_tally *tally = evidence->tally;
    uint64_t last = ts_hist_count(&tally->slices[BENCH_SLICES - 1]);
    struct bench_check *check = add(checks, "responsive");
    check->pass = tally->longest_ns / 1000 <= evidence->total_timeout_us + late_us && last > 0;
    snprintf(check->threshold, sizeof check->threshold, "answers within %.0f ms, and commits at the end",
             (double)(evidence->total_timeout_us + late_us) / 1000);
    snprintf(check->found, sizeof check->found, "longest answer %.1f ms, %llu commits in the last slice",
             (double)tally->longest_ns / 1e6, (unsigned long long)last);

    check = add(checks, "circuit_breaker");
    check->pass = evidence->breaker_trips > 0 && evidence->breaker_closed;
    snprintf(check->threshold, sizeof check->threshold, "trips, and is closed at the end");
    snprintf(check->found, sizeof check->found, "%llu trips, %s", (unsigned long long)evidence->breaker_trips,
             evidence->breaker_closed ? "closed" : "not closed");

    check = add(checks, "faults_injected");
    check->pass = tally->duplicates > 0 && tally->duplicates_committed == 0 && tally->check_failed > 0 &&
                  evidence->faults_struck > 0 && evidence->stores_died > 0;
    snprintf(check->threshold, sizeof check->threshold,
             "existing ids are refused, replies are lost, a store dies");
    snprintf(check->found, sizeof check->found,
             "%llu refused, %llu committed, %llu calls with faults, %llu deaths",
             (unsigned long long)tally->check_failed, (unsigned long long)tally->duplicates_committed,
             (unsigned long long)evidence->faults_struck, (unsigned long long)evidence->stores_died);
}

static void check_bank(const struct bench_evidence *evidence, struct checks *checks) {
    struct bench_check *check = add(checks, "total_kept");
    check->pass = evidence->bank_checked && evidence->bank_off == 0;
    snprintf(check->threshold, sizeof check->threshold, "off by 0");
    if (evidence->bank_checked)
        snprintf(check->found, sizeof check->found, "off by %lld", (long long)evidence->bank_off);
    else
        snprintf(check->found, sizeof check->found, "the accounts could not be read");
}

size_t bench__accept(const struct bench_evidence *evidence, struct bench_check ret_checks[BENCH_CHECKS_MAX]) {
    struct checks checks = {.list = ret_checks};
    check_commit_rate(evidence, &checks);
    check_divergence(evidence, &checks);
    check_storm(evidence, &checks);
    if (evidence->scenario == BENCH_FAULTS)
        check_faults(evidence, &checks);
    if (evidence->scenario == BENCH_BANK)
        check_bank(evidence, &checks);
    return checks.count;
}
