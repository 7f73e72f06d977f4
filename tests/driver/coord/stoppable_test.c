/*
 * Stops the calls of a coordination while a store does not answer and the timeouts are hours.
 */
#include "support/cmocka.h"

#include "stage.h"

#include "coord/driver/coord.h"
#include "coord/driver/data.h"

#define HOURS_US (UINT64_C(10) * 3600 * 1000000)

static struct stage stage;
static struct ts_coord *coord, *stoppable;
static unsigned asked;

static bool at_the_third_time(void *context) {
    unsigned *count = context;
    return ++*count >= 3;
}

static int set_up(void **state) {
    (void)state;
    stage_init(&stage, 1);
    stage.config.timeouts.shard_rpc_us = stage.config.timeouts.lock_validate_us = HOURS_US;
    stage.config.timeouts.total_us = stage.config.timeouts.retry_ceiling_us = HOURS_US;
    stage.config.breaker.failure_threshold = 1;
    stage.config.deadlock.timeout_us = stage.config.breaker.probe_timeout_us = HOURS_US;
    stage_open(&stage);
    asked = 0;
    coord = ts_coord_new(stage.cluster, stage.coordinator, NULL);
    stoppable = ts_coord_new_stoppable(coord, &(struct ts_coord_stop){at_the_third_time, &asked});
    assert_true(coord != NULL && stoppable != NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    stage_no_faults(&stage);
    ts_fault_revive(stage.faults[0]);
    ts_coord_free(stoppable);
    ts_coord_free(coord);
    stage_release(&stage);
    return 0;
}

static enum ts_store_result read_with(struct ts_coord *with) {
    static const struct ts_bytes key = TS_BYTES_INIT("\0fx");
    struct ts_rows rows = {0};
    struct ts_infra_error error;
    struct ts_coord_call call = {.call = {.kind = TS_CALL_READ, .keys = &key, .key_count = 1, .rows = &rows}};
    const enum ts_store_result result = ts_coord_read(with, &call, 1, &error);
    ts_rows_release(&rows);
    return result;
}

static enum ts_store_result write_with(struct ts_coord *with) {
    const struct ts_op put = {.kind = TS_OP_PUT, .key = TS_BYTES("\0fx"), .value = TS_BYTES("1")};
    struct ts_infra_error error;
    return ts_coord_apply(with, 0, (struct ts_batch){&put, 1}, &error);
}

static void a_read_ends_and_further_ones_end_at_once(void **state) {
    (void)state;
    stage_fault(&stage, 0, TS_CALL_READ, TS_FAULT_CRASH_BEFORE, TS_STORE_OK, 1);
    assert_int_not_equal(read_with(stoppable), TS_STORE_OK);
    assert_true(asked >= 3);
    assert_int_not_equal(read_with(stoppable), TS_STORE_OK);
    assert_int_not_equal(write_with(stoppable), TS_STORE_OK);
    ts_fault_revive(stage.faults[0]);
    assert_int_equal(read_with(coord), TS_STORE_OK);
    assert_int_equal(write_with(coord), TS_STORE_OK);
}

static void a_write_ends_as_unknown(void **state) {
    (void)state;
    stage_fault(&stage, 0, TS_CALL_APPLY, TS_FAULT_CRASH_BEFORE, TS_STORE_OK, 1);
    assert_int_equal(write_with(stoppable), TS_STORE_UNKNOWN);
    ts_fault_revive(stage.faults[0]);
}

static void without_a_stop_it_is_the_same_coordination(void **state) {
    (void)state;
    assert_int_equal(write_with(stoppable), TS_STORE_OK);
    assert_int_equal(read_with(stoppable), TS_STORE_OK);
    assert_ptr_equal(ts_coord_router(stoppable), ts_coord_router(coord));
    assert_int_equal(asked, 0);
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_read_ends_and_further_ones_end_at_once),
        TEST(a_write_ends_as_unknown),
        TEST(without_a_stop_it_is_the_same_coordination),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
