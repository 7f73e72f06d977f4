/*
 * Reads by the layers above respect the breakers, as transactions do.
 */
#include "support/cmocka.h"

#include "stage.h"

#include "base/bytes.h"
#include "txn/driver/reads.h"

#include <string.h>
#include <time.h>

static struct stage stage;
static struct ts_rows rows;
static struct ts_call call;

static int set_up(void **state) {
    (void)state;
    stage_init(&stage, 2);
    stage.config.breaker.failure_threshold = 2;
    stage.config.breaker.recovery_timeout_us = 50000;
    stage_open(&stage);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ts_rows_release(&rows);
    rows = (struct ts_rows){0};
    stage_no_faults(&stage);
    stage_release(&stage);
    return 0;
}

static enum ts_store_result read_from(uint32_t place) {
    static const struct ts_bytes key = TS_BYTES_INIT("a");
    struct ts_txn_breaker_permit permit;
    call = (struct ts_call){.kind = TS_CALL_READ, .keys = &key, .key_count = 1, .rows = &rows};
    ts_txn_read_start(stage.coordinator, place, &call, &permit);
    struct ts_call *one = &call;
    while (!ts_store_poll(&call))
        ts_store_wait(&one, 1, 0);
    ts_txn_read_end(stage.coordinator, place, &call, &permit);
    return call.error.result;
}

static void a_store_that_does_not_answer_is_not_asked_again(void **state) {
    (void)state;
    assert_int_equal(read_from(1), TS_STORE_OK);
    stage_fault(&stage, 1, TS_CALL_READ, TS_FAULT_ERROR, TS_STORE_UNAVAILABLE, 1000);
    assert_int_equal(read_from(1), TS_STORE_UNAVAILABLE);
    assert_int_equal(read_from(1), TS_STORE_UNAVAILABLE);
    const uint64_t struck = ts_fault_count(stage.faults[1]);
    assert_int_equal(read_from(1), TS_STORE_UNAVAILABLE);
    assert_non_null(strstr(call.error.text, "the circuit breaker is open"));
    assert_string_equal(call.error.sqlstate, "08001");
    assert_int_equal(ts_fault_count(stage.faults[1]), struck);
    /* Because of the reads, transactions also know that the store is down. */
    static struct ts_txn_result result;
    const struct ts_op op = stage_add("n", 1);
    const struct ts_txn_part there = {.place = 1, .batch = {&op, 1}};
    ts_txn_apply(stage.coordinator, &there, NULL, &result);
    assert_string_equal(result.cause, "circuit_breaker");
    assert_int_equal(read_from(0), TS_STORE_OK);
}

static void a_read_is_the_probe_that_closes_the_breaker(void **state) {
    (void)state;
    stage_fault(&stage, 1, TS_CALL_READ, TS_FAULT_ERROR, TS_STORE_UNAVAILABLE, 2);
    assert_int_equal(read_from(1), TS_STORE_UNAVAILABLE);
    assert_int_equal(read_from(1), TS_STORE_UNAVAILABLE);
    for (int i = 0; i < 1000 && read_from(1) != TS_STORE_OK; i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_int_equal(read_from(1), TS_STORE_OK);
    assert_int_equal(rows.count, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_store_that_does_not_answer_is_not_asked_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_read_is_the_probe_that_closes_the_breaker, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
