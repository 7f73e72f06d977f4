/*
 * The background work of a coordinator, and the work of other processes after its death. Records are removed
 * when they are no longer needed, and not before.
 */
#include "support/cmocka.h"

#include "base/bytes.h"
#include "stage_of_three.h"

static struct ts_txn_settled settled;

/* Adds 1 to a key on each store, with a single attempt. */
static void run(void) {
    struct ts_op ops[3];
    const struct ts_txn_options once = {.once = true};
    for (size_t i = 0; i < 3; i++)
        ops[i] = stage_add(key[i], 1);
    ts_txn_run(stage.coordinator, ops, 3, &once, &result);
}

static void commits(void) {
    run();
    if (result.outcome != TS_TXN_COMMITTED)
        fail_msg("%s: %s", ts_txn_outcome_text(result.outcome), result.text);
}

static void expect_everywhere(int64_t number) {
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(stage_number(stage.cluster, i, key[i]), number);
}

static size_t decisions(void) {
    return stage_keys(stage.cluster, 0, 'd', NULL);
}

static bool no_decisions(void) {
    return decisions() == 0;
}

static void away(size_t place, enum ts_call_kind call) {
    stage_fault(&stage, place, call, TS_FAULT_ERROR, TS_STORE_UNAVAILABLE, 0);
}

/* Leaves a transaction that is decided and answered, but whose coordinator died before any participant
 * received the commit. */
static void leave_a_decision_behind(void) {
    stage_open(&stage);
    away(1, TS_CALL_COMMIT);
    away(2, TS_CALL_COMMIT);
    run();
    assert_int_equal(result.outcome, TS_TXN_COMMITTED_PENDING);
    stage_close(&stage);
    stage_no_faults(&stage);
    assert_int_equal(decisions(), 1);
    assert_int_equal(stage_promises(stage.cluster), 2);
}

static enum ts_txn_error recover(void) {
    return ts_txn_recover(stage.cluster, 1000, &settled, NULL);
}

static void a_decision_stays_while_a_participant_does_not_answer_a_sweep(void **state) {
    (void)state;
    leave_a_decision_behind();
    away(1, TS_CALL_COMMIT);
    assert_int_equal(recover(), TS_TXN_ERROR_UNSETTLED);
    stage_no_faults(&stage);
    assert_int_equal(decisions(), 1);
    assert_int_equal(stage_promises(stage.cluster), 1);
    assert_int_equal(recover(), TS_TXN_ERROR_OK);
    expect_everywhere(1);
    assert_int_equal(decisions(), 0);
}

/* The first try of a sweep finishes only one of two decisions. A resolver of the other decision's promise
 * still finds this other decision. */
static void a_decision_stays_whose_commit_failed_where_another_one_succeeded(void **state) {
    (void)state;
    stage_open(&stage);
    away(1, TS_CALL_COMMIT);
    struct ts_op ops[] = {stage_add(key[0], 1), stage_add(key[1], 1)};
    char second[40];
    stage_key(stage.cluster, 1, "second", second);
    for (int i = 0; i < 2; i++) {
        ts_txn_run(stage.coordinator, ops, 2, NULL, &result);
        assert_int_equal(result.outcome, TS_TXN_COMMITTED_PENDING);
        ops[1] = stage_add(second, 1);
    }
    stage_close(&stage);
    stage_no_faults(&stage);
    assert_int_equal(decisions(), 2);
    stage_fault(&stage, 1, TS_CALL_COMMIT, TS_FAULT_ERROR, TS_STORE_LOCK_CONFLICT, 1);
    assert_int_equal(recover(), TS_TXN_ERROR_OK);
    assert_int_equal(stage_number(stage.cluster, 0, key[0]), 2);
    assert_int_equal(stage_number(stage.cluster, 1, key[1]), 1);
    assert_int_equal(stage_number(stage.cluster, 1, second), 1);
    assert_int_equal(decisions(), 0);
}

/* If power is lost before the commit of a sweep was synced, the commit becomes a promise again. */
static void a_decision_stays_until_a_sweep_has_synced_its_participants(void **state) {
    (void)state;
    leave_a_decision_behind();
    away(1, TS_CALL_SYNC);
    assert_int_equal(recover(), TS_TXN_ERROR_UNSETTLED);
    stage_no_faults(&stage);
    assert_int_equal(stage_promises(stage.cluster), 0);
    ts_memory_restart(stage.memories[1], (struct ts_memory_crash){.lose_unsynced = true});
    assert_int_equal(stage_promises(stage.cluster), 1);
    assert_int_equal(recover(), TS_TXN_ERROR_OK);
    expect_everywhere(1);
    assert_int_equal(decisions(), 0);
}

static bool tried_to_sync_twice(void) {
    return ts_fault_count(stage.faults[1]) >= 2;
}

static void a_coordinator_keeps_its_decision_until_its_participants_have_synced(void **state) {
    (void)state;
    stage_open(&stage);
    away(1, TS_CALL_SYNC);
    commits();
    /* The second SYNC was tried, so the first has failed. */
    stage_wait_until(tried_to_sync_twice);
    assert_int_equal(decisions(), 1);
    stage_no_faults(&stage);
    stage_wait_until(no_decisions);
}

static bool one_decision_at_most(void) {
    return decisions() <= 1;
}

/* The mark passes an abort decision before the late commit decision reaches the store. The abort decision
 * must still reject the late decision. */
static void an_abort_decision_stays_while_its_coordinator_is_registered(void **state) {
    (void)state;
    stage.config.timeouts.lock_validate_us = 50000;
    stage_open(&stage);
    commits();
    stage_fault(&stage, 0, TS_CALL_APPLY, TS_FAULT_LATE, TS_STORE_OK, 1);
    run();
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    stage_no_faults(&stage);
    assert_int_equal(ts_fault_late_count(stage.faults[0]), 1);
    for (int i = 0; i < 3; i++)
        commits();
    stage_wait_until(one_decision_at_most);
    assert_int_equal(decisions(), 1);
    assert_int_equal(ts_fault_deliver(stage.faults[0], 0), TS_STORE_CHECK_FAILED);
    expect_everywhere(4);
    stage_close(&stage);
    assert_int_equal(decisions(), 0);
}

/* A record that cannot be decoded is damaged, or a newer version wrote it. Such a record is kept, because it
 * may be needed. */
static void closing_removes_only_what_it_understands_as_abort(void **state) {
    (void)state;
    stage_open(&stage);
    commits();
    stage_fault(&stage, 0, TS_CALL_APPLY, TS_FAULT_LOST_REQUEST, TS_STORE_OK, 1);
    run();
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    struct ts_rows rows = {0};
    static const uint8_t from[] = {0, 'x', 'c'};
    static const uint8_t to[] = {0, 'x', 'd'};
    struct ts_call scan = {.kind = TS_CALL_SCAN, .from = {from, 3}, .to = {to, 3}, .limit = 2, .rows = &rows};
    assert_int_equal(ts_store_run(ts_cluster_store(stage.cluster, 0), &scan), TS_STORE_OK);
    assert_int_equal(rows.count, 1);
    uint8_t decision[3 + 16 + 8] = {0};
    memcpy(decision, rows.rows[0].key.data, 3 + 16);
    decision[2] = 'd';
    decision[19] = 1; /* a sequence far above that of every other decision */
    struct ts_op op = {
        .kind = TS_OP_PUT, .key = {decision, sizeof decision}, .value = TS_BYTES("from the future")};
    struct ts_call put = {.kind = TS_CALL_APPLY, .batch = {&op, 1}};
    assert_int_equal(ts_store_run(ts_cluster_store(stage.cluster, 0), &put), TS_STORE_OK);
    ts_rows_release(&rows);
    stage_close(&stage);
    assert_int_equal(stage_keys(stage.cluster, 0, 'c', NULL), 0);
    assert_int_equal(decisions(), 1);
}

/* No process would search for decisions of a coordinator that has deregistered. */
static void a_coordinator_that_closes_with_a_pending_commit_stays_registered(void **state) {
    (void)state;
    leave_a_decision_behind();
    assert_int_equal(stage_keys(stage.cluster, 0, 'c', NULL), 1);
    assert_int_equal(recover(), TS_TXN_ERROR_OK);
    expect_everywhere(1);
    assert_int_equal(decisions(), 0);
}

static void a_coordinator_that_closes_with_decisions_left_stays_registered(void **state) {
    (void)state;
    stage_open(&stage);
    away(0, TS_CALL_SCAN);
    commits();
    stage_close(&stage);
    stage_no_faults(&stage);
    assert_int_equal(stage_keys(stage.cluster, 0, 'c', NULL), 1);
    assert_int_equal(recover(), TS_TXN_ERROR_OK);
    assert_int_equal(decisions(), 0);
}

enum { DEAD_MS = 8000, DAY_MS = 24 * 3600 * 1000 };

static void the_dead_are_fenced_and_swept_and_the_living_are_not(void **state) {
    (void)state;
    stage_open(&stage);
    away(1, TS_CALL_SYNC); /* makes each SYNC fail, so that the decisions are kept */
    for (int i = 0; i < 3; i++)
        commits();
    struct ts_cluster *other = stage_other_process(&stage);
    for (size_t i = 0; i < 3; i++) {
        struct ts_fault_rule cut_off = {.kind = TS_FAULT_ERROR, .result = TS_STORE_UNAVAILABLE};
        ts_fault_add(stage.faults[i], &cut_off);
    }
    assert_int_equal(ts_txn_resolve(other, 1000, &settled, NULL), TS_TXN_ERROR_OK);
    assert_int_equal(settled.fenced, 0);
    assert_int_equal(stage_keys(other, 0, 'd', NULL), 3);
    stage.ahead_ms += DEAD_MS + 1;
    assert_int_equal(ts_txn_resolve(other, 1000, &settled, NULL), TS_TXN_ERROR_OK);
    assert_int_equal(settled.fenced, 1);
    assert_int_equal(settled.removed, 3);
    assert_int_equal(stage_keys(other, 0, 'd', NULL), 0);
    /* The fence is kept as long as a message of the dead coordinator can reach the store. */
    stage.ahead_ms += DAY_MS - 60000;
    assert_int_equal(ts_txn_resolve(other, 1000, &settled, NULL), TS_TXN_ERROR_OK);
    assert_int_equal(stage_keys(other, 0, 'c', NULL), 1);
    stage.ahead_ms += 60000 + DEAD_MS;
    assert_int_equal(ts_txn_resolve(other, 1000, &settled, NULL), TS_TXN_ERROR_OK);
    assert_int_equal(stage_keys(other, 0, 'c', NULL), 0);
    ts_cluster_close(other);
}

static struct ts_cluster *watcher;
static uint64_t beats[2];

static bool has_beaten(size_t place) {
    uint64_t version;
    assert_int_equal(stage_keys(watcher, place, 'h', &version), 1);
    return version != beats[place];
}

static bool beats_on_0(void) {
    return has_beaten(0);
}

static bool beats_on_1(void) {
    return has_beaten(1);
}

static void decide_on(uint32_t place) {
    struct ts_op ops[2] = {stage_add(key[place], 1), stage_add(key[2], 1)};
    struct ts_txn_part parts[2] = {{.place = place, .batch = {&ops[0], 1}},
                                   {.place = 2, .batch = {&ops[1], 1}}};
    ts_txn_run_parts(stage.coordinator, parts, 2, NULL, &result);
    assert_int_equal(result.outcome, TS_TXN_COMMITTED);
}

static void the_heart_beats_on_every_store_where_it_is_registered(void **state) {
    (void)state;
    stage_open(&stage);
    watcher = stage_other_process(&stage);
    decide_on(0);
    decide_on(1);
    away(0, TS_CALL_READ);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(stage_keys(watcher, i, 'h', &beats[i]), 1);
    assert_int_equal(stage_keys(watcher, 2, 'h', NULL), 0);
    /* A store that does not answer does not slow down the other stores. */
    stage_wait_until(beats_on_1);
    stage_no_faults(&stage);
    stage_wait_until(beats_on_0);
    ts_cluster_close(watcher);
}

static void the_registration_limits_the_age_of_a_promise(void **state) {
    (void)state;
    stage.config.timeouts.total_us = 17000001;
    stage_open(&stage);
    commits();
    struct ts_txn_cluster_status status;
    assert_int_equal(ts_txn_cluster_status_read(stage.cluster, 1000, &status, NULL), TS_TXN_ERROR_OK);
    assert_int_equal(status.coordinator_count, 1);
    assert_int_equal(status.coordinators[0].total_timeout_ms, 17001);
    ts_txn_cluster_status_release(&status);
}

int main(void) {
#define CARE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CARE(a_decision_stays_while_a_participant_does_not_answer_a_sweep),
        CARE(a_decision_stays_whose_commit_failed_where_another_one_succeeded),
        CARE(a_decision_stays_until_a_sweep_has_synced_its_participants),
        CARE(a_coordinator_keeps_its_decision_until_its_participants_have_synced),
        CARE(an_abort_decision_stays_while_its_coordinator_is_registered),
        CARE(closing_removes_only_what_it_understands_as_abort),
        CARE(a_coordinator_that_closes_with_a_pending_commit_stays_registered),
        CARE(a_coordinator_that_closes_with_decisions_left_stays_registered),
        CARE(the_dead_are_fenced_and_swept_and_the_living_are_not),
        CARE(the_heart_beats_on_every_store_where_it_is_registered),
        CARE(the_registration_limits_the_age_of_a_promise),
    };
#undef CARE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
