/*
 * Tests the wait for admission, and how the deadlock detector sees this wait. Also tests the errors that
 * callers get if the cause is outside the stores.
 */
#include "support/cmocka.h"

#include "stage_of_three.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool append(void *context, struct ts_bytes text) {
    char *all = context;
    size_t len = strlen(all);
    assert_true(len + text.len < 200000);
    memcpy(all + len, text.data, text.len);
    all[len + text.len] = '\0';
    return true;
}

static bool shows(const char *line) {
    char *all = calloc(1, 200001);
    assert_non_null(all);
    assert_true(ts_coordinator_metrics(stage.coordinator, append, all));
    bool found = strstr(all, line) != NULL;
    free(all);
    return found;
}

static void wait_for(const char *line) {
    for (int i = 0; i < 2000 && !shows(line); i++)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    assert_true(shows(line));
}

static void run(size_t count) {
    struct ts_op ops[3];
    for (size_t i = 0; i < count; i++)
        ops[i] = stage_add(key[i], 1);
    ts_txn_run(stage.coordinator, ops, count, &(struct ts_txn_options){.once = true}, &result);
}

static void *run_in_thread(void *context) {
    struct ts_op ops[] = {stage_add(key[0], 1), stage_add(key[1], 1)};
    ts_txn_run(stage.coordinator, ops, 2, NULL, context);
    return NULL;
}

/* The only place is taken by a slow transaction that is past its commit point, so nothing aborts it. */
static void a_wait_in_the_queue_is_a_stall_like_any_other(void **state) {
    (void)state;
    stage.config.admission.soft_limit = 1;
    stage.config.admission.hard_limit = 2;
    stage.config.timeouts.coord_queue_us = 60000000;
    stage.config.deadlock.timeout_us = 60000;
    stage_open(&stage);
    ts_fault_add(stage.faults[1], &(struct ts_fault_rule){.kind = TS_FAULT_DELAY,
                                                          .calls = TS_FAULT_CALL(TS_CALL_COMMIT),
                                                          .delay_ms = 1500});
    static struct ts_txn_result slow;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_in_thread, &slow), 0);
    wait_for("turnstone_xs_coord_in_flight 1");
    run(3);
    assert_int_equal(result.outcome, TS_TXN_REFUSED);
    assert_string_equal(result.sqlstate, "40000");
    assert_string_equal(result.cause, "deadlock");
    assert_null(result.timeout);
    assert_int_equal(result.attempts, 0);
    assert_string_equal(result.id, "");
    assert_non_null(strstr(result.text, "CoordinatorQueue"));
    assert_non_null(strstr(result.text, "stores 0,1,2"));
    assert_true(result.latency.coord_queue_us >= 60000);
    assert_string_equal(ts_txn_latency_dominant(&result.latency), "coord_queue_us");
    assert_true(shows("turnstone_xs_total_aborted{reason=\"deadlock\"} 1"));
    pthread_join(thread, NULL);
    assert_int_equal(slow.outcome, TS_TXN_COMMITTED);
    assert_true(shows("turnstone_xs_stalled_txns 0"));
    /* The place of the aborted transaction in the queue is free again. */
    ts_fault_clear(stage.faults[1]);
    run(3);
    assert_int_equal(result.outcome, TS_TXN_COMMITTED);
    assert_null(result.cause);
    assert_true(shows("turnstone_xs_coord_in_flight 0"));
}

static void a_refusal_names_its_cause_and_not_an_answer_of_a_store(void **state) {
    (void)state;
    stage.config.breaker.failure_threshold = 1;
    stage.config.breaker.recovery_timeout_us = 60000000;
    stage_open(&stage);
    stage_fault(&stage, 1, TS_CALL_PREPARE, TS_FAULT_ERROR, TS_STORE_UNAVAILABLE, 1);
    run(3);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    assert_int_equal(result.reason, TS_STORE_UNAVAILABLE);
    assert_null(result.cause);
    run(3);
    assert_int_equal(result.outcome, TS_TXN_REFUSED);
    assert_string_equal(result.cause, "circuit_breaker");
    assert_int_equal(result.reason, TS_STORE_OK);
    assert_int_equal(result.latency.coord_queue_us, 0);
}

int main(void) {
#define ADMIT(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ADMIT(a_wait_in_the_queue_is_a_stall_like_any_other),
        ADMIT(a_refusal_names_its_cause_and_not_an_answer_of_a_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
