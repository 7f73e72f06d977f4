/*
 * Every timeout names its phase, waits for locks are counted in the right phase, and cleanup and fencing have
 * their own timeouts.
 */
#include "support/cmocka.h"

#include "driver.h"
#include "stage.h"

#include "os/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { STORES = 3, SHORT_US = 60000, LONG_US = 20000000 };

static struct stage stage;
static struct ts_txn_result result, blocked;
static char key[STORES][40]; /* one key on each store */
static pthread_t thread;
static bool held, started;

static int set_up(void **state) {
    (void)state;
    stage_init(&stage, STORES);
    for (size_t i = 0; i < STORES; i++)
        stage_key(stage.cluster, i, "k", key[i]);
    struct ts_txn_timeouts *timeouts = &stage.config.timeouts;
    timeouts->coord_queue_us = timeouts->shard_rpc_us = timeouts->prepare_us = timeouts->commit_us =
        timeouts->lock_validate_us = timeouts->retry_ceiling_us = timeouts->total_us = LONG_US;
    timeouts->prepare_given = timeouts->lock_validate_given = timeouts->retry_ceiling_given = true;
    timeouts->shard_rpc_us = 500000; /* timeout of background calls: short, so that closing does not wait */
    stage.config.breaker.probe_timeout_us = LONG_US;
    stage.config.deadlock.timeout_us = 3 * (uint64_t)LONG_US;
    return 0;
}

static void let_go(void) {
    if (held)
        stage_let_go(&stage, 1);
    held = false;
}

static void hold(void) {
    stage_hold(&stage, 1, key[1]);
    held = true;
}

static void join(void) {
    if (started)
        pthread_join(thread, NULL);
    started = false;
}

static int tear_down(void **state) {
    (void)state;
    stage_no_faults(&stage);
    let_go();
    join();
    stage_release(&stage);
    return 0;
}

static void add_to_all(struct ts_txn_result *ret_result, bool once) {
    struct ts_op ops[STORES];
    for (size_t i = 0; i < STORES; i++)
        ops[i] = stage_add(key[i], 1);
    ts_txn_run(stage.coordinator, ops, STORES, &(struct ts_txn_options){.once = once}, ret_result);
}

static void *run_blocked(void *context) {
    (void)context;
    add_to_all(&blocked, true);
    return NULL;
}

static bool one_in_flight(void) {
    return stage_shows(&stage, "turnstone_xs_coord_in_flight 1\n");
}

static void start_blocked(void) {
    hold();
    assert_int_equal(pthread_create(&thread, NULL, run_blocked, NULL), 0);
    started = true;
    stage_wait_until(one_in_flight);
}

static void delay(size_t place, enum ts_call_kind call, uint64_t ms) {
    ts_fault_add(
        stage.faults[place],
        &(struct ts_fault_rule){.kind = TS_FAULT_DELAY, .calls = TS_FAULT_CALL(call), .delay_ms = ms});
}

static void register_first(void) {
    add_to_all(&result, true);
    assert_int_equal(result.outcome, TS_TXN_COMMITTED);
    assert_null(result.timeout);
}

static void stage_coord_queue(void) {
    stage.config.timeouts.coord_queue_us = SHORT_US;
    stage.config.admission.soft_limit = 1;
    stage.config.admission.hard_limit = 2;
    stage_open(&stage);
    start_blocked();
}

/* The timeout passes during the first call of the transaction, which registers the coordinator. */
static void stage_shard_rpc(void) {
    stage.config.timeouts.shard_rpc_us = SHORT_US;
    stage_open(&stage);
    delay(0, TS_CALL_APPLY, 60000);
}

static void stage_prepare(void) {
    stage.config.timeouts.prepare_us = SHORT_US;
    stage_open(&stage);
    hold();
}

static void stage_commit(void) {
    stage.config.timeouts.commit_us = SHORT_US;
    stage_open(&stage);
    delay(1, TS_CALL_COMMIT, 60000);
}

static void stage_lock_validate(void) {
    stage.config.timeouts.lock_validate_us = SHORT_US;
    stage_open(&stage);
    register_first();
    delay(0, TS_CALL_APPLY, 60000);
}

static void shorten_all(uint64_t us) {
    struct ts_txn_timeouts *timeouts = &stage.config.timeouts;
    timeouts->coord_queue_us = timeouts->shard_rpc_us = timeouts->prepare_us = timeouts->commit_us =
        timeouts->lock_validate_us = timeouts->retry_ceiling_us = timeouts->total_us = us;
    timeouts->policy = TS_TXN_TIMEOUT_POLICY_BEST_EFFORT;
}

static void stage_total(void) {
    shorten_all(4 * (uint64_t)SHORT_US);
    stage_open(&stage);
    hold();
}

/* The total timeout of a transaction passes while it waits for a place. The place belongs to another
 * transaction, which still cleans up after its own timeout. */
static void stage_total_in_the_queue(void) {
    shorten_all(1000000);
    stage.config.admission.soft_limit = 1;
    stage.config.admission.hard_limit = 2;
    stage_open(&stage);
    delay(2, TS_CALL_ABORT, 900);
    start_blocked();
}

/* The timeout passes while the second attempt waits. */
static void stage_retry_ceiling(void) {
    stage.config.timeouts.retry_ceiling_us = 1000000;
    stage_open(&stage);
    hold();
    stage_fault(&stage, 1, TS_CALL_PREPARE, TS_FAULT_ERROR, TS_STORE_LOCK_CONFLICT, 1);
}

/* XS-5: each timeout yields its phase. */
static void every_timeout_yields_its_phase(void **state) {
    static const struct {
        void (*prepare)(void);
        bool again;
        enum ts_txn_outcome outcome;
        const char *phase;
        const char *text; /* NULL: the transaction commits without an error */
    } rows[] = {
        {stage_coord_queue, false, TS_TXN_REFUSED, "CoordQueue", "timeouts.coord_queue"},
        {stage_shard_rpc, false, TS_TXN_ABORTED, "ShardRpc", "timeouts.shard_rpc"},
        {stage_prepare, false, TS_TXN_ABORTED, "Prepare", "timeouts.prepare"},
        {stage_commit, false, TS_TXN_COMMITTED_PENDING, "Commit", NULL},
        {stage_lock_validate, false, TS_TXN_ABORTED, "LockValidate", "timeouts.lock_validate"},
        {stage_total, false, TS_TXN_ABORTED, "Total", "timeouts.total"},
        {stage_total_in_the_queue, false, TS_TXN_REFUSED, "Total", "timeouts.total"},
        {stage_retry_ceiling, true, TS_TXN_ABORTED, "RetryCeiling", "timeouts.retry_ceiling"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rows[i].prepare();
        add_to_all(&result, !rows[i].again);
        if (result.outcome != rows[i].outcome || result.timeout == NULL ||
            strcmp(result.timeout, rows[i].phase) != 0)
            fail_msg("%s: %s, %s: %s", rows[i].phase, ts_txn_outcome_text(result.outcome),
                     result.timeout != NULL ? result.timeout : "no timeout", result.text);
        if (rows[i].text != NULL && strstr(result.text, rows[i].text) == NULL)
            fail_msg("no %s in: %s", rows[i].text, result.text);
        (void)tear_down(state);
        (void)set_up(state);
    }
}

/* If the transaction is found to be committed after a lost reply, this result counts, not the timeout. */
static void a_transaction_that_commits_after_all_has_no_timeout(void **state) {
    (void)state;
    stage.config.timeouts.lock_validate_us = SHORT_US;
    stage_open(&stage);
    register_first();
    stage_fault_decision(&stage, 0, TS_FAULT_LOST_REPLY);
    add_to_all(&result, true);
    assert_int_equal(result.outcome, TS_TXN_COMMITTED);
    assert_null(result.timeout);
}

static bool one_waits_for_the_lock(void) {
    return stage_promises(stage.cluster) >= 2; /* the promise of stage_hold, and the promise on store 2 */
}

/* The COMMIT after the prepare does not wait for a lock, so no lock wait is counted for it. */
static void waits_for_locks_are_counted_where_they_were(void **state) {
    (void)state;
    stage_open(&stage);
    start_blocked();
    stage_wait_until(one_waits_for_the_lock);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    let_go();
    join();
    assert_int_equal(blocked.outcome, TS_TXN_COMMITTED);
    assert_true(blocked.latency.lock_validate_us > 0);
    assert_true(stage_metric(&stage, "turnstone_xs_shard_lock_wait_us_sum{store=\"1\"} ") >= 20000);
    assert_int_equal(stage_metric(&stage, "turnstone_xs_shard_lock_wait_us_sum{store=\"2\"} "), 0);
    struct ts_txn_conflict_view view =
        ts_txn_conflict_view(&stage.coordinator->conflicts[1], ts_clock_monotonic_ns() / 1000);
    assert_true(view.avg_lock_wait_us >= 20000);
}

/* The total timeout of the transaction has passed. Nevertheless the transaction itself, and not a resolver,
 * removes its promise on store 2. */
static void cleaning_up_has_its_own_time_when_the_total_is_over(void **state) {
    (void)state;
    shorten_all(300000);
    stage_open(&stage);
    hold();
    delay(2, TS_CALL_ABORT, 50);
    add_to_all(&result, true);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    assert_string_equal(result.timeout, "Total");
    assert_int_equal(stage_promises(stage.cluster), 1); /* the promise of stage_hold */
}

static atomic_bool fenced;

static void *recover(void *context) {
    struct ts_cluster *other = context;
    struct ts_txn_settled settled;
    (void)ts_txn_recover(other, 4000, &settled, NULL);
    fenced = true;
    return NULL;
}

/* Makes a promise of another transaction that locks this coordinator's registration, like a decision that
 * waits for another key. */
static void hold_registration(void) {
    static const uint8_t from[] = {0, 'x', 'c'}, to[] = {0, 'x', 'd'};
    struct ts_rows rows = {0};
    struct ts_call scan = {
        .kind = TS_CALL_SCAN, .from = {from, 3}, .to = {to, 3}, .limit = 10, .rows = &rows};
    assert_int_equal(ts_store_run(ts_cluster_store(stage.cluster, 0), &scan), TS_STORE_OK);
    assert_int_equal(rows.count, 1);
    struct ts_op op = {.kind = TS_OP_CHECK, .key = rows.rows[0].key, .version = rows.rows[0].version};
    struct ts_call promise = {.kind = TS_CALL_PREPARE, .gid = "held", .batch = {&op, 1}};
    assert_int_equal(ts_store_run(ts_cluster_store(stage.cluster, 0), &promise), TS_STORE_OK);
    ts_rows_release(&rows);
}

/* Every later decision would wait for a fence that waits. So the fence tries only for a moment. */
static void a_fence_that_cannot_be_had_holds_nobody_up(void **state) {
    (void)state;
    stage.config.timeouts.lock_validate_us = 1000000; /* shorter than the fence could wait */
    stage_open(&stage);
    register_first();
    hold_registration();
    struct ts_cluster *other = stage_other_process(&stage);
    fenced = false;
    assert_int_equal(pthread_create(&thread, NULL, recover, other), 0);
    started = true;
    for (int i = 0; i < 100000 && !fenced; i++) {
        add_to_all(&result, true);
        if (result.outcome != TS_TXN_COMMITTED)
            break;
    }
    enum ts_txn_outcome outcome = result.outcome;
    stage_let_go(&stage, 0);
    join();
    ts_cluster_close(other);
    assert_int_equal(outcome, TS_TXN_COMMITTED);
}

int main(void) {
#define TIMEOUT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TIMEOUT(every_timeout_yields_its_phase),
        TIMEOUT(a_transaction_that_commits_after_all_has_no_timeout),
        TIMEOUT(waits_for_locks_are_counted_where_they_were),
        TIMEOUT(cleaning_up_has_its_own_time_when_the_total_is_over),
        TIMEOUT(a_fence_that_cannot_be_had_holds_nobody_up),
    };
#undef TIMEOUT
    return cmocka_run_group_tests(tests, NULL, NULL);
}
