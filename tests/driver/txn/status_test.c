/*
 * Tests the status that other processes see of a transaction if its coordinator could not report the result.
 */
#include "support/cmocka.h"

#include "txn/core/keys.h"

#include "stage_of_three.h"

#include <string.h>
#include <time.h>

static void run(size_t count, bool record) {
    struct ts_op ops[3];
    for (size_t i = 0; i < count; i++)
        ops[i] = stage_add(key[i], 1);
    struct ts_txn_options options = {.record = record, .once = true};
    ts_txn_run(stage.coordinator, ops, count, &options, &result);
}

static enum ts_txn_error ask(const char *id, struct ts_txn_status *ret_status,
                             struct ts_txn_error_detail *ret_detail) {
    struct ts_cluster *other = stage_other_process(&stage);
    enum ts_txn_error error = ts_txn_status(other, id, 1000, ret_status, ret_detail);
    ts_cluster_close(other);
    return error;
}

static enum ts_txn_state state_of(const char *id) {
    struct ts_txn_status status;
    struct ts_txn_error_detail detail;
    if (ask(id, &status, &detail) != TS_TXN_ERROR_OK)
        fail_msg("%s", detail.text);
    return status.state;
}

/* Loses the decision of a transaction while its decider does not answer. The coordinator dies without knowing
 * the result. If there are participants, they hold promises. */
static void lose_one_and_die(size_t count, bool record) {
    stage.config.timeouts.total_us = 200000;
    stage_open(&stage);
    run(count, record); /* registers the coordinator */
    assert_int_equal(result.outcome, TS_TXN_COMMITTED);
    stage_fault(&stage, 0, TS_CALL_APPLY, TS_FAULT_LOST_REQUEST, TS_STORE_OK, 100000);
    stage_fault(&stage, 0, TS_CALL_READ, TS_FAULT_ERROR, TS_STORE_UNAVAILABLE, 100000);
    run(count, record);
    assert_int_equal(result.outcome, TS_TXN_UNKNOWN);
    stage_close(&stage);
    stage_no_faults(&stage);
}

static void recover(void) {
    struct ts_cluster *other = stage_other_process(&stage);
    struct ts_txn_settled settled;
    struct ts_txn_error_detail detail;
    if (ts_txn_recover(other, 1000, &settled, &detail) != TS_TXN_ERROR_OK)
        fail_msg("%s", detail.text);
    ts_cluster_close(other);
    assert_int_equal(stage_promises(stage.cluster), 0);
}

static void a_recorded_transaction_that_recovery_aborted_is_aborted(void **state) {
    (void)state;
    lose_one_and_die(3, true);
    assert_int_equal(state_of(result.id), TS_TXN_STATE_PENDING);
    recover();
    assert_int_equal(state_of(result.id), TS_TXN_STATE_ABORTED);
    struct ts_txn_status status;
    assert_int_equal(ask(result.id, &status, NULL), TS_TXN_ERROR_OK);
    assert_true(status.recorded);
    assert_int_equal(stage_number(stage.cluster, 1, key[1]), 1);
}

static void without_a_record_recovery_has_nothing_to_report(void **state) {
    (void)state;
    lose_one_and_die(3, false);
    recover();
    assert_int_equal(state_of(result.id), TS_TXN_STATE_UNKNOWN);
}

/* The write of a local transaction checks no registration and may still reach the store, so the result is
 * unknown. */
static void a_recorded_local_transaction_that_was_lost_stays_unknown(void **state) {
    (void)state;
    lose_one_and_die(1, true);
    recover();
    assert_int_equal(state_of(result.id), TS_TXN_STATE_UNKNOWN);
}

/* The abort could not be recorded. Once the mark has moved past the transaction, its status is known. */
static void the_mark_shows_an_abort_that_was_not_stored(void **state) {
    (void)state;
    stage_open(&stage);
    run(3, true);
    stage_fault(&stage, 1, TS_CALL_PREPARE, TS_FAULT_ERROR, TS_STORE_FULL, 1);
    stage_fault(&stage, 0, TS_CALL_APPLY, TS_FAULT_ERROR, TS_STORE_UNAVAILABLE, 1);
    run(3, true);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    stage_no_faults(&stage);
    for (int i = 0; i < 2000 && state_of(result.id) != TS_TXN_STATE_ABORTED; i++)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    assert_int_equal(state_of(result.id), TS_TXN_STATE_ABORTED);
}

static void a_recorded_transaction_under_way_is_not_taken_for_aborted(void **state) {
    (void)state;
    stage.config.timeouts.total_us = 200000;
    stage_open(&stage);
    run(3, true);
    stage_fault(&stage, 0, TS_CALL_APPLY, TS_FAULT_LOST_REQUEST, TS_STORE_OK, 100000);
    stage_fault(&stage, 0, TS_CALL_READ, TS_FAULT_ERROR, TS_STORE_UNAVAILABLE, 100000);
    run(3, true);
    assert_int_equal(result.outcome, TS_TXN_UNKNOWN);
    /* The coordinator is registered, and the transaction is not below the mark, so the store may still
     * receive the decision. */
    assert_int_equal(state_of(result.id), TS_TXN_STATE_PENDING);
}

/* Overwrites a record of the transaction with foreign bytes. */
static void spoil(const struct txn__key *spoiled) {
    struct ts_op op = {.kind = TS_OP_PUT, .key = txn__key_bytes(spoiled), .value = TS_BYTES("spoiled")};
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {&op, 1}};
    assert_int_equal(ts_store_run(ts_cluster_store(stage.cluster, 0), &call), TS_STORE_OK);
}

static void a_damaged_record_is_reported_and_never_used(void **state) {
    (void)state;
    stage_open(&stage);
    run(3, true);
    assert_int_equal(result.outcome, TS_TXN_COMMITTED);
    stage_close(&stage);
    struct txn__gid gid;
    struct txn__key keys[4];
    assert_true(txn__gid_parse(ts_bytes_of_cstring(result.id), &gid));
    txn__key_outcome(&gid.coordinator, gid.sequence, &keys[0]);
    txn__key_coordinator(&gid.coordinator, &keys[1]);
    txn__key_heartbeat(&gid.coordinator, &keys[2]);
    txn__key_mark(&gid.coordinator, &keys[3]);
    for (size_t i = 0; i < 4; i++) {
        spoil(&keys[i]);
        struct ts_txn_status status;
        struct ts_txn_error_detail detail;
        assert_int_equal(ask(result.id, &status, &detail), TS_TXN_ERROR_STORE);
        assert_int_equal(detail.place, 0);
        assert_int_equal(detail.reason, TS_STORE_DAMAGED);
        assert_non_null(strstr(detail.text, "damaged"));
    }
}

int main(void) {
#define STATUS(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STATUS(a_recorded_transaction_that_recovery_aborted_is_aborted),
        STATUS(without_a_record_recovery_has_nothing_to_report),
        STATUS(a_recorded_local_transaction_that_was_lost_stays_unknown),
        STATUS(the_mark_shows_an_abort_that_was_not_stored),
        STATUS(a_recorded_transaction_under_way_is_not_taken_for_aborted),
        STATUS(a_damaged_record_is_reported_and_never_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
