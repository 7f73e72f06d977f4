/*
 * The guards around the protocol, used by the driver: limits of stores, the breaker's probe, Degrade, and a
 * resolver that a blocked batch wakes. docs/transactions.md lists the requirements H2PC-1 to H2PC-11.
 */
#include "support/cmocka.h"

#include "stage.h"

#include "os/clock.h"

#include <pthread.h>
#include <time.h>

enum { STORES = 4 };

static struct stage stage;
static char key[STORES][40];   /* one key on each store */
static char other[STORES][40]; /* another key on each store */

static int set_up(void **state) {
    (void)state;
    stage_init(&stage, STORES);
    for (size_t i = 0; i < STORES; i++) {
        stage_key(stage.cluster, i, "k", key[i]);
        stage_key(stage.cluster, i, "other", other[i]);
    }
    return 0;
}

/* A transaction over two keys with a single attempt. It runs in this thread or in another thread. */
struct job {
    const char *keys[2];
    struct ts_txn_result result;
    pthread_t thread;
    bool started;
};

static bool held;
static struct job blocked, first, second;

static void join(struct job *job) {
    if (job->started)
        pthread_join(job->thread, NULL);
    job->started = false;
}

static void let_go(void) {
    if (held)
        stage_let_go(&stage, 1);
    held = false;
}

static int tear_down(void **state) {
    (void)state;
    stage_no_faults(&stage);
    let_go();
    join(&blocked);
    join(&first);
    join(&second);
    stage_release(&stage);
    return 0;
}

static void run(struct job *job) {
    const struct ts_txn_options once = {.once = true};
    struct ts_op ops[] = {stage_add(job->keys[0], 1), stage_add(job->keys[1], 1)};
    ts_txn_run(stage.coordinator, ops, 2, &once, &job->result);
}

static void *run_in_thread(void *context) {
    run(context);
    return NULL;
}

static void start(struct job *job) {
    assert_int_equal(pthread_create(&job->thread, NULL, run_in_thread, job), 0);
    job->started = true;
}

static void expect(const struct job *job, enum ts_txn_outcome outcome, const char *sqlstate) {
    if (job->result.outcome != outcome)
        fail_msg("%s: %s (%s)", ts_txn_outcome_text(job->result.outcome), job->result.text,
                 job->result.sqlstate);
    assert_string_equal(job->result.sqlstate, sqlstate);
}

static bool one_in_flight(void) {
    return stage_shows(&stage, "turnstone_xs_coord_in_flight 1\n");
}

static bool one_waiting(void) {
    return stage_shows(&stage, "turnstone_xs_coord_waiting 1\n");
}

/* Starts a transaction that is blocked on store 1. It occupies a place on stores 0 and 1 until the key is
 * released. */
static void block(void) {
    stage_hold(&stage, 1, key[1]);
    held = true;
    blocked = (struct job){.keys = {key[0], key[1]}};
    start(&blocked);
    stage_wait_until(one_in_flight);
}

static void unblock(void) {
    let_go();
    join(&blocked);
    expect(&blocked, TS_TXN_COMMITTED, "00000");
}

/* Requirement H2PC-4: a probe that admission refused shows nothing about the stores, so another probe may
 * follow. */
static void the_breakers_probe_is_given_back_when_admission_refuses(void **state) {
    (void)state;
    stage.config.breaker.failure_threshold = 1;
    stage.config.breaker.recovery_timeout_us = 50000;
    stage.config.admission.soft_limit = stage.config.admission.hard_limit; /* nobody waits */
    stage.config.adaptive.min_concurrency = stage.config.adaptive.max_concurrency = 1;
    stage_open(&stage);
    block();
    stage_fault(&stage, 3, TS_CALL_PREPARE, TS_FAULT_ERROR, TS_STORE_UNAVAILABLE, 1);
    struct job elsewhere = {.keys = {key[2], key[3]}};
    run(&elsewhere);
    assert_int_equal(elsewhere.result.outcome, TS_TXN_ABORTED);
    run(&elsewhere);
    expect(&elsewhere, TS_TXN_REFUSED, "53300");
    assert_non_null(strstr(elsewhere.result.text, "breaker"));
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    struct job probe = {.keys = {key[0], key[2]}}; /* store 0 has no place left */
    run(&probe);
    expect(&probe, TS_TXN_REFUSED, "53300");
    assert_non_null(strstr(probe.result.text, "admission.hard_limit"));
    run(&elsewhere);
    expect(&elsewhere, TS_TXN_COMMITTED, "00000");
    unblock();
}

/* Requirement H2PC-3: when the queue overflows, the first transaction in the queue is admitted. It is
 * answered at its commit point. */
static void degrade_answers_the_first_in_line_at_its_commit_point(void **state) {
    (void)state;
    stage.config.admission.soft_limit = 1;
    stage.config.admission.hard_limit = 2;
    stage.config.admission.overflow = TS_TXN_OVERFLOW_DEGRADE;
    stage.config.timeouts.coord_queue_us = 20000000;
    stage_open(&stage);
    block();
    first = (struct job){.keys = {other[0], other[1]}};
    start(&first);
    stage_wait_until(one_waiting);
    second = (struct job){.keys = {other[2], other[3]}};
    start(&second);
    join(&first);
    expect(&first, TS_TXN_COMMITTED_PENDING, "00000");
    assert_true(first.result.places[1].pending);
    assert_true(stage_shows(&stage, "turnstone_xs_coord_degraded 1\n"));
    unblock();
    join(&second);
    expect(&second, TS_TXN_COMMITTED, "00000");
}

/* Requirement H2PC-9: conflicts on a store lower the limit of transactions in flight, but only on that store.
 * Without conflicts, the limit rises again. */
static void conflicts_on_a_store_lower_its_limit_of_admission(void **state) {
    (void)state;
    stage.config.admission.soft_limit = stage.config.admission.hard_limit = 8; /* nobody waits */
    stage.config.adaptive = (struct ts_txn_adaptive_config){.high_conflict_ppm = 150000,
                                                            .low_conflict_ppm = 50000,
                                                            .step_size = 7,
                                                            .min_concurrency = 1,
                                                            .max_concurrency = 8,
                                                            .interval_us = 1,
                                                            .min_txns = 1};
    stage_open(&stage);
    stage_fault(&stage, 1, TS_CALL_PREPARE, TS_FAULT_ERROR, TS_STORE_LOCK_CONFLICT, 1);
    struct job job = {.keys = {other[0], other[1]}};
    run(&job);
    assert_int_equal(job.result.outcome, TS_TXN_ABORTED);
    assert_true(stage_shows(&stage, "turnstone_xs_shard_concurrency_limit{store=\"1\"} 1\n"));
    assert_true(stage_shows(&stage, "turnstone_xs_shard_concurrency_limit{store=\"0\"} 8\n"));
    block();
    run(&job);
    expect(&job, TS_TXN_REFUSED, "53300");
    struct job past = {.keys = {other[0], other[2]}};
    run(&past);
    expect(&past, TS_TXN_COMMITTED, "00000");
    unblock();
    for (int i = 0; i < 30; i++) {
        run(&job);
        expect(&job, TS_TXN_COMMITTED, "00000");
    }
    assert_true(stage_shows(&stage, "turnstone_xs_shard_concurrency_limit{store=\"1\"} 8\n"));
    block();
    run(&job);
    expect(&job, TS_TXN_COMMITTED, "00000");
    unblock();
}

enum { PASS_US = 2000000 }; /* interval at which the resolver searches for promises */

/* An orphaned promise may block the batch, so the resolver runs at once, and not only when its interval
 * ends. */
static void a_blocked_batch_nudges_the_resolver(void **state) {
    (void)state;
    stage.config.timeouts.prepare_us = 60000;
    /* These faults are harmless: they only count the resolver's passes. */
    stage_fault(&stage, 3, TS_CALL_PREPARED, TS_FAULT_DELAY, TS_STORE_OK, 0);
    uint64_t begun_ns = ts_clock_monotonic_ns();
    stage_open(&stage);
    stage_hold(&stage, 1, key[1]);
    held = true;
    struct job job = {.keys = {key[0], key[1]}};
    bool nudged = false;
    for (int i = 0; i < 100 && !nudged; i++) {
        run(&job);
        assert_int_equal(job.result.outcome, TS_TXN_ABORTED);
        uint64_t by_the_clock = (ts_clock_monotonic_ns() - begun_ns) / 1000 / PASS_US + 1;
        nudged = ts_fault_count(stage.faults[3]) > by_the_clock + 1;
    }
    assert_true(nudged);
}

int main(void) {
#define GUARD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        GUARD(the_breakers_probe_is_given_back_when_admission_refuses),
        GUARD(degrade_answers_the_first_in_line_at_its_commit_point),
        GUARD(conflicts_on_a_store_lower_its_limit_of_admission),
        GUARD(a_blocked_batch_nudges_the_resolver),
    };
#undef GUARD
    return cmocka_run_group_tests(tests, NULL, NULL);
}
