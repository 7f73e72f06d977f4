#include "bench/accept.h"

#include "support/cmocka.h"

#include <string.h>

static struct bench_tally tally;
static struct bench_check checks[BENCH_CHECKS_MAX];
static size_t check_count;

static struct bench_evidence evidence_of(enum bench_scenario scenario) {
    bench__tally_init(&tally);
    tally.total = 100;
    tally.committed = 100;
    return (struct bench_evidence){
        .scenario = scenario, .tally = &tally, .max_retries = 3, .retry_budget_us = 1000000};
}

/* Returns whether the check holds. Fails the test if the check does not apply. */
static bool passes(const struct bench_evidence *evidence, const char *name) {
    check_count = bench__accept(evidence, checks);
    for (size_t i = 0; i < check_count; i++)
        if (strcmp(checks[i].name, name) == 0)
            return checks[i].pass;
    fail_msg("%s does not apply", name);
    return false;
}

static void commit_rates_are_held_against_each_scenarios_own(void **state) {
    (void)state;
    static const struct {
        enum bench_scenario scenario;
        uint64_t enough, too_few;
    } rows[] = {{BENCH_UNIFORM, 90, 89},
                {BENCH_MIXED, 85, 84},
                {BENCH_PURE, 80, 79},
                {BENCH_CONCURRENCY, 80, 79},
                {BENCH_FAULTS, 51, 50}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench_evidence evidence = evidence_of(rows[i].scenario);
        tally.committed = rows[i].enough;
        assert_true(passes(&evidence, "commit_rate"));
        tally.committed = rows[i].too_few;
        assert_false(passes(&evidence, "commit_rate"));
    }
}

static void a_run_without_transactions_does_not_pass(void **state) {
    (void)state;
    struct bench_evidence evidence = evidence_of(BENCH_UNIFORM);
    tally.total = tally.committed = 0;
    assert_false(passes(&evidence, "commit_rate"));
}

static void sustained_growth_of_the_tail_fails_and_a_single_jump_does_not(void **state) {
    (void)state;
    static const uint64_t grows[] = {100, 150, 225, 340, 510, 500, 500, 500};
    static const uint64_t jumps[] = {100, 5000, 100, 9000, 100, 200, 400, 800};
    static const uint64_t flat[] = {900, 100, 110, 120, 130, 140, 150, 160};
    static const uint64_t holes[] = {100, 0, 150, 0, 225, 340, 0, 510};
    assert_true(bench__grows(grows, 8));
    assert_false(bench__grows(jumps, 8));
    assert_false(bench__grows(flat, 8));
    assert_true(bench__grows(holes, 8));
    struct bench_evidence evidence = evidence_of(BENCH_ZIPFIAN);
    assert_true(passes(&evidence, "p999_divergence"));
    for (size_t i = 0; i < BENCH_SLICES; i++)
        ts_hist_record(&tally.slices[i], grows[i] * 1000);
    assert_false(passes(&evidence, "p999_divergence"));
}

static void retries_beyond_the_configuration_are_a_storm(void **state) {
    (void)state;
    struct bench_evidence evidence = evidence_of(BENCH_ZIPFIAN);
    tally.most_attempts = 4;
    tally.most_backoff_us = 1000000;
    assert_true(passes(&evidence, "retry_storm"));
    tally.most_attempts = 5;
    assert_false(passes(&evidence, "retry_storm"));
    tally.most_attempts = 4;
    tally.most_backoff_us = 1200000;
    assert_false(passes(&evidence, "retry_storm"));
}

static void the_breaker_must_trip_and_close_again(void **state) {
    (void)state;
    struct bench_evidence evidence = evidence_of(BENCH_FAULTS);
    evidence.breaker_closed = true;
    assert_false(passes(&evidence, "circuit_breaker"));
    evidence.breaker_trips = 1;
    assert_true(passes(&evidence, "circuit_breaker"));
    evidence.breaker_closed = false;
    assert_false(passes(&evidence, "circuit_breaker"));
}

static void faults_that_were_not_injected_are_noticed(void **state) {
    (void)state;
    struct bench_evidence evidence = evidence_of(BENCH_FAULTS);
    tally.duplicates = tally.check_failed = 20;
    evidence.faults_struck = 3;
    evidence.stores_died = 1;
    assert_true(passes(&evidence, "faults_injected"));
    evidence.stores_died = 0;
    assert_false(passes(&evidence, "faults_injected"));
    evidence.stores_died = 1;
    tally.duplicates_committed = 1;
    assert_false(passes(&evidence, "faults_injected"));
}

static void a_system_that_does_not_come_back_is_not_responsive(void **state) {
    (void)state;
    struct bench_evidence evidence = evidence_of(BENCH_FAULTS);
    evidence.total_timeout_us = 1000000;
    tally.longest_ns = 900000000;
    assert_false(passes(&evidence, "responsive"));
    ts_hist_record(&tally.slices[BENCH_SLICES - 1], 1000);
    assert_true(passes(&evidence, "responsive"));
    tally.longest_ns = 1600000000;
    assert_false(passes(&evidence, "responsive"));
    /* The check prints the threshold that it compares with. */
    for (size_t i = 0; i < check_count; i++)
        if (strcmp(checks[i].name, "responsive") == 0)
            assert_string_equal(checks[i].threshold, "answers within 1500 ms, and commits at the end");
}

static void a_bank_that_is_off_fails(void **state) {
    (void)state;
    struct bench_evidence evidence = evidence_of(BENCH_BANK);
    assert_false(passes(&evidence, "total_kept"));
    evidence.bank_checked = true;
    assert_true(passes(&evidence, "total_kept"));
    evidence.bank_off = -1;
    assert_false(passes(&evidence, "total_kept"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commit_rates_are_held_against_each_scenarios_own),
        cmocka_unit_test(a_run_without_transactions_does_not_pass),
        cmocka_unit_test(sustained_growth_of_the_tail_fails_and_a_single_jump_does_not),
        cmocka_unit_test(retries_beyond_the_configuration_are_a_storm),
        cmocka_unit_test(the_breaker_must_trip_and_close_again),
        cmocka_unit_test(faults_that_were_not_injected_are_noticed),
        cmocka_unit_test(a_system_that_does_not_come_back_is_not_responsive),
        cmocka_unit_test(a_bank_that_is_off_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
