/*
 * Tests the results that callers of transactions get, on stores in memory whose calls can be made to fail.
 * docs/transactions.md lists the requirements H2PC-1 to H2PC-11.
 */
#include "support/cmocka.h"

#include "stage_of_three.h"

#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static bool no_promises(void) {
    return stage_promises(stage.cluster) == 0;
}

/* Adds 1 to a key on each of the first `count` stores. */
static void run(size_t count, const struct ts_txn_options *options) {
    struct ts_op ops[3];
    for (size_t i = 0; i < count; i++)
        ops[i] = stage_add(key[i], 1);
    ts_txn_run(stage.coordinator, ops, count, options, &result);
}

static void expect_numbers(int64_t a, int64_t b, int64_t c) {
    assert_int_equal(stage_number(stage.cluster, 0, key[0]), a);
    assert_int_equal(stage_number(stage.cluster, 1, key[1]), b);
    assert_int_equal(stage_number(stage.cluster, 2, key[2]), c);
}

static void expect_outcome(enum ts_txn_outcome outcome, const char *sqlstate) {
    if (result.outcome != outcome)
        fail_msg("%s: %s (%s)", ts_txn_outcome_text(result.outcome), result.text, result.sqlstate);
    assert_string_equal(result.sqlstate, sqlstate);
}

/* Returns the place of the store that decided, or would have decided. */
static size_t decider(void) {
    for (size_t i = 0; i < result.place_count; i++) {
        if (result.places[i].decider)
            return result.places[i].place;
    }
    fail();
    return SIZE_MAX;
}

static void a_transaction_on_one_store_is_local_and_leaves_no_record(void **state) {
    (void)state;
    stage_open(&stage);
    run(1, NULL);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    assert_false(result.global);
    assert_int_equal(result.place_count, 1);
    assert_int_equal(result.attempts, 1);
    expect_numbers(1, -1, -1);
    assert_int_equal(stage_records(stage.cluster), 0);
}

static void nothing_at_all_commits(void **state) {
    (void)state;
    stage_open(&stage);
    ts_txn_run(stage.coordinator, NULL, 0, NULL, &result);
    expect_outcome(TS_TXN_COMMITTED, "00000");
}

/* Requirements H2PC-1 and H2PC-10. */
static void a_commit_reports_where_its_time_went(void **state) {
    (void)state;
    stage_open(&stage);
    run(3, NULL);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    assert_true(result.global);
    assert_int_equal(result.place_count, 3);
    expect_numbers(1, 1, 1);

    /* Each phase is slow on one store, and the report shows the time in that phase. */
    static const struct {
        size_t place;
        enum ts_call_kind call;
        uint64_t delay_ms;
    } slow[] = {{1, TS_CALL_PREPARE, 40}, {0, TS_CALL_APPLY, 30}, {2, TS_CALL_COMMIT, 20}};
    for (size_t i = 0; i < sizeof slow / sizeof slow[0]; i++)
        ts_fault_add(stage.faults[slow[i].place],
                     &(struct ts_fault_rule){.kind = TS_FAULT_DELAY,
                                             .calls = TS_FAULT_CALL(slow[i].call),
                                             .delay_ms = slow[i].delay_ms});
    run(3, NULL);
    for (size_t i = 0; i < sizeof slow / sizeof slow[0]; i++)
        ts_fault_clear(stage.faults[slow[i].place]);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    const struct ts_txn_latency *l = &result.latency;
    assert_true(l->prepare_wal_us >= 40000);
    assert_true(l->commit_barrier_us >= 30000);
    assert_true(l->commit_wal_us >= 20000);
    assert_true(result.places[1].rpc_us >= 40000);
    uint64_t longest_us = 0;
    for (size_t i = 0; i < result.place_count; i++)
        longest_us = result.places[i].rpc_us > longest_us ? result.places[i].rpc_us : longest_us;
    assert_int_equal(l->shard_rpc_max_us, longest_us);
    uint64_t sum = l->coord_queue_us + l->route_plan_us + l->other_rpc_us + l->read_phase_us +
                   l->lock_validate_us + l->prepare_wal_us + l->commit_barrier_us + l->commit_wal_us +
                   l->replication_ack_us + l->gc_impact_us + l->retry_backoff_us;
    assert_true(sum <= l->total_us);
    char line[TS_TXN_WATERFALL_SIZE];
    ts_txn_latency_waterfall(l, line);
    assert_memory_equal(line, "queue=", 6);
    assert_non_null(strstr(line, "|total="));
    assert_non_null(strstr(ts_txn_latency_dominant(l), "_us"));
}

static size_t failing;

static void check_fails_on(size_t place) {
    failing = place;
    struct ts_op ops[4] = {stage_add(key[0], 1), stage_add(key[1], 1), stage_add(key[2], 1)};
    char other[40];
    stage_key(stage.cluster, place, "other", other);
    ops[3] =
        (struct ts_op){.kind = TS_OP_CHECK, .key = {(const uint8_t *)other, strlen(other)}, .version = 77};
    ts_txn_run(stage.coordinator, ops, 4, NULL, &result);
    expect_outcome(TS_TXN_ABORTED, "40001");
    assert_int_equal(result.reason, TS_STORE_CHECK_FAILED);
    assert_int_equal(result.op, 3);
    assert_int_equal(result.attempts, 1);
    expect_numbers(-1, -1, -1);
    assert_int_equal(stage_promises(stage.cluster), 0);
}

/* Requirement H2PC-2. The check fails on each store in turn, so it fails on the decider and on
 * participants. */
static void a_failed_check_aborts_everywhere_and_names_the_operation(void **state) {
    (void)state;
    stage_open(&stage);
    for (size_t i = 0; i < 9; i++)
        check_fails_on(i % 3);
    assert_true(result.latency.total_us > 0);
}

static void users_cannot_write_reserved_keys_and_layers_of_ours_can_but_not_this_ones(void **state) {
    (void)state;
    stage_open(&stage);
    struct ts_op op = {.kind = TS_OP_PUT, .key = {(const uint8_t *)"\0zebra", 6}};
    ts_txn_run(stage.coordinator, &op, 1, NULL, &result);
    expect_outcome(TS_TXN_REFUSED, "22023");
    assert_int_equal(result.op, 0);
    assert_int_equal(result.attempts, 0);
    struct ts_txn_options system = {.system = true};
    ts_txn_run(stage.coordinator, &op, 1, &system, &result);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    op.key = (struct ts_bytes){(const uint8_t *)"\0xd", 3};
    ts_txn_run(stage.coordinator, &op, 1, &system, &result);
    expect_outcome(TS_TXN_REFUSED, "22023");
}

static void parts_go_where_they_say_and_count_through(void **state) {
    (void)state;
    stage_open(&stage);
    struct ts_op ops[] = {stage_add("x", 1), stage_add("y", 1)};
    struct ts_txn_part parts[] = {{0, {&ops[0], 1}}, {2, {&ops[1], 1}}};
    ts_txn_run_parts(stage.coordinator, parts, 2, NULL, &result);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    assert_int_equal(stage_number(stage.cluster, 0, "x"), 1);
    assert_int_equal(stage_number(stage.cluster, 2, "y"), 1);
    ops[1].delta = -5;
    ts_txn_run_parts(stage.coordinator, parts, 2, NULL, &result);
    expect_outcome(TS_TXN_ABORTED, "54000");
    assert_int_equal(result.op, 1);
    parts[1].place = 0;
    ts_txn_run_parts(stage.coordinator, parts, 2, NULL, &result);
    expect_outcome(TS_TXN_REFUSED, "22023");
    parts[1].place = 9;
    ts_txn_run_parts(stage.coordinator, parts, 2, NULL, &result);
    expect_outcome(TS_TXN_REFUSED, "22023");
}

/* Returns a batch of puts of empty values. The caller frees the operations and *ret_keys. */
static struct ts_op *many_puts(size_t count, uint32_t **ret_keys) {
    struct ts_op *ops = calloc(count, sizeof *ops);
    *ret_keys = calloc(count, sizeof **ret_keys);
    assert_non_null(ops);
    assert_non_null(*ret_keys);
    for (size_t i = 0; i < count; i++) {
        (*ret_keys)[i] = htobe32((uint32_t)i | 0x01000000); /* the first byte must not be the reserved one */
        ops[i] = (struct ts_op){.kind = TS_OP_PUT, .key = {(const uint8_t *)&(*ret_keys)[i], 4}};
    }
    return ops;
}

/* The protocol's own operations and bytes do not count towards the documented limits. If the caller's batch
 * has one operation too many, this is detected before any store has promised anything. */
static void the_largest_batch_can_be_recorded_and_one_more_is_refused_at_once(void **state) {
    (void)state;
    stage_open(&stage);
    const struct ts_txn_options record = {.record = true};
    uint32_t *keys = NULL;
    struct ts_op *ops = many_puts(TS_STORE_BATCH_OPS_MAX + 1, &keys);
    struct ts_op other = stage_add("other", 1);
    struct ts_txn_part parts[] = {{0, {ops, TS_STORE_BATCH_OPS_MAX}}, {1, {&other, 1}}};
    ts_txn_run_parts(stage.coordinator, parts, 1, &record, &result);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    ts_txn_run_parts(stage.coordinator, parts, 2, &record, &result);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    parts[0].batch.count++;
    ts_txn_run_parts(stage.coordinator, parts, 2, &record, &result);
    assert_int_equal(result.outcome, TS_TXN_REFUSED);
    assert_int_equal(result.reason, TS_STORE_TOO_LARGE);
    assert_int_equal(result.op, TS_STORE_BATCH_OPS_MAX);
    assert_int_equal(result.attempts, 0);

    uint8_t *value = calloc(1, TS_STORE_VALUE_MAX);
    assert_non_null(value);
    for (size_t i = 0; i < 4; i++)
        ops[i].value = (struct ts_bytes){value, TS_STORE_VALUE_MAX - 4};
    parts[0].batch.count = 4;
    ts_txn_run_parts(stage.coordinator, parts, 2, &record, &result);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    ops[3].value.len++;
    ts_txn_run_parts(stage.coordinator, parts, 2, &record, &result);
    assert_int_equal(result.outcome, TS_TXN_REFUSED);
    assert_int_equal(result.reason, TS_STORE_TOO_LARGE);
    assert_int_equal(result.op, 3);
    assert_int_equal(stage_number(stage.cluster, 1, "other"), 2);
    free(value);
    free(ops);
    free(keys);
}

static void before_holds_on_every_store(void **state) {
    (void)state;
    stage_open(&stage);
    struct ts_op ops[] = {stage_add(key[0], 1), stage_add(key[1], 1), {.kind = TS_OP_BEFORE, .time_ms = 1}};
    ts_txn_run(stage.coordinator, ops, 3, NULL, &result);
    expect_outcome(TS_TXN_ABORTED, "40001");
    assert_int_equal(result.reason, TS_STORE_LATE);
    assert_int_equal(result.op, 2);
    ops[2].time_ms = UINT64_MAX;
    ts_txn_run(stage.coordinator, ops, 3, NULL, &result);
    expect_outcome(TS_TXN_COMMITTED, "00000");
}

static enum ts_txn_state status_elsewhere(const char *id, struct ts_txn_status *ret_status) {
    struct ts_cluster *other = stage_other_process(&stage);
    struct ts_txn_error_detail detail;
    if (ts_txn_status(other, id, 1000, ret_status, &detail) != TS_TXN_ERROR_OK)
        fail_msg("%s", detail.text);
    ts_cluster_close(other);
    return ret_status->state;
}

static void a_recorded_outcome_is_known_to_other_processes(void **state) {
    (void)state;
    stage_open(&stage);
    struct ts_txn_status status;
    struct ts_txn_options record = {.record = true};
    for (size_t count = 1; count <= 3; count++) {
        run(count, &record);
        expect_outcome(TS_TXN_COMMITTED, "00000");
        assert_int_equal(status_elsewhere(result.id, &status), TS_TXN_STATE_COMMITTED);
        assert_true(status.recorded);
    }
    for (size_t count = 2; count <= 3; count++) {
        stage_fault(&stage, 1, TS_CALL_PREPARE, TS_FAULT_ERROR, TS_STORE_FULL, 1);
        stage_fault(&stage, 1, TS_CALL_APPLY, TS_FAULT_ERROR, TS_STORE_FULL, 1);
        run(count, &record);
        stage_no_faults(&stage);
        assert_int_equal(result.outcome, TS_TXN_ABORTED);
        enum ts_txn_state known = status_elsewhere(result.id, &status);
        assert_true(known == TS_TXN_STATE_ABORTED);
    }
    /* The recorded outcome is kept after the coordinator has removed all other records. */
    stage_close(&stage);
    assert_int_equal(status_elsewhere(result.id, &status), TS_TXN_STATE_ABORTED);
}

static void without_a_record_the_answer_fades_to_unknown(void **state) {
    (void)state;
    stage_open(&stage);
    run(2, NULL);
    struct ts_txn_status status;
    (void)status_elsewhere(result.id, &status);
    stage_close(&stage);
    assert_int_equal(status_elsewhere(result.id, &status), TS_TXN_STATE_UNKNOWN);
    struct ts_txn_error_detail detail;
    assert_int_equal(ts_txn_status(stage.cluster, "ts.nonsense", 1000, &status, &detail),
                     TS_TXN_ERROR_BAD_ID);
}

/* A recorded transaction is applied at most once, even if it is on one store only. */
static void a_lost_reply_of_a_recorded_local_transaction_is_looked_up(void **state) {
    (void)state;
    stage_open(&stage);
    struct ts_txn_options record = {.record = true};
    struct ts_txn_options once = {.once = true};
    stage_fault(&stage, 0, TS_CALL_APPLY, TS_FAULT_LOST_REPLY, TS_STORE_OK, 1);
    run(1, &record);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    stage_no_faults(&stage);
    stage_fault(&stage, 0, TS_CALL_APPLY, TS_FAULT_LOST_REQUEST, TS_STORE_OK, 1);
    run(1, &record);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    stage_no_faults(&stage);
    expect_numbers(1, -1, -1);
    stage_fault(&stage, 0, TS_CALL_APPLY, TS_FAULT_LOST_REPLY, TS_STORE_OK, 1);
    run(1, &once);
    expect_outcome(TS_TXN_UNKNOWN, "08006");
}

static void a_lost_prepare_aborts_and_its_promise_is_removed(void **state) {
    (void)state;
    stage_open(&stage);
    run(3, NULL);
    for (size_t i = 0; i < 3; i++)
        stage_fault(&stage, i, TS_CALL_PREPARE, TS_FAULT_LOST_REPLY, TS_STORE_OK, 1);
    struct ts_txn_options once = {.once = true};
    run(3, &once);
    expect_outcome(TS_TXN_ABORTED, "40000");
    expect_numbers(1, 1, 1);
    stage_wait_until(no_promises);
}

static void a_lost_reply_of_the_commit_point_is_found_committed(void **state) {
    (void)state;
    stage_open(&stage);
    run(3, NULL);
    for (size_t i = 0; i < 3; i++)
        stage_fault_decision(&stage, i, TS_FAULT_LOST_REPLY);
    run(3, NULL);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    expect_numbers(2, 2, 2);
}

static void a_commit_point_that_never_arrived_is_shut_out_by_an_abort_decision(void **state) {
    (void)state;
    stage_open(&stage);
    run(3, NULL);
    for (size_t i = 0; i < 3; i++)
        stage_fault_decision(&stage, i, TS_FAULT_LOST_REQUEST);
    struct ts_txn_options once = {.once = true};
    run(3, &once);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    expect_numbers(1, 1, 1);
    struct ts_txn_status status;
    assert_int_equal(status_elsewhere(result.id, &status), TS_TXN_STATE_ABORTED);
}

/* The message with the commit decision reaches the store after the abort decision. */
static void a_late_commit_point_changes_nothing(void **state) {
    (void)state;
    stage.config.timeouts.lock_validate_us = 50000;
    stage_open(&stage);
    run(3, NULL);
    for (size_t i = 0; i < 3; i++)
        stage_fault_decision(&stage, i, TS_FAULT_LATE);
    struct ts_txn_options once = {.once = true};
    run(3, &once);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    size_t late = decider();
    stage_no_faults(&stage);
    assert_int_equal(ts_fault_late_count(stage.faults[late]), 1);
    assert_int_equal(ts_fault_deliver(stage.faults[late], 0), TS_STORE_CHECK_FAILED);
    expect_numbers(1, 1, 1);
}

static void a_commit_that_does_not_arrive_is_pending_and_happens_by_itself(void **state) {
    (void)state;
    stage_open(&stage);
    for (size_t i = 0; i < 3; i++)
        stage_fault(&stage, i, TS_CALL_COMMIT, TS_FAULT_ERROR, TS_STORE_UNAVAILABLE, 1);
    run(3, NULL);
    expect_outcome(TS_TXN_COMMITTED_PENDING, "00000");
    size_t pending = 0;
    for (size_t i = 0; i < 3; i++)
        pending += result.places[i].pending;
    assert_int_equal(pending, 2);
    stage_wait_until(no_promises);
    expect_numbers(1, 1, 1);
}

static void degraded_transactions_are_answered_at_the_commit_point(void **state) {
    (void)state;
    stage_open(&stage);
    struct ts_txn_options degrade = {.degrade = true};
    run(3, &degrade);
    expect_outcome(TS_TXN_COMMITTED_PENDING, "00000");
    stage_wait_until(no_promises);
    expect_numbers(1, 1, 1);
}

static void an_outcome_is_unknown_without_its_decider_and_is_settled_later(void **state) {
    (void)state;
    stage.config.timeouts.lock_validate_us = 30000;
    stage.config.timeouts.shard_rpc_us = 30000;
    stage.config.timeouts.total_us = 200000;
    stage.config.timeouts.retry_ceiling_us = 200000;
    stage.config.timeouts.prepare_us = 100000;
    stage.config.timeouts.commit_us = 100000;
    stage.config.timeouts.coord_queue_us = 100000;
    stage_open(&stage);
    for (size_t i = 0; i < 3; i++)
        run(3, NULL);
    for (size_t i = 0; i < 3; i++)
        stage_fault(&stage, i, TS_CALL_APPLY, TS_FAULT_LOST_REPLY, TS_STORE_OK, 0);
    for (size_t i = 0; i < 3; i++)
        stage_fault(&stage, i, TS_CALL_READ, TS_FAULT_ERROR, TS_STORE_UNAVAILABLE, 0);
    struct ts_txn_options once = {.once = true};
    run(3, &once);
    expect_outcome(TS_TXN_UNKNOWN, "08006");
    stage_no_faults(&stage);
    stage_wait_until(no_promises);
    expect_numbers(4, 4, 4);
}

/* Another process fences this process between two transactions. */
static void a_fenced_process_continues_under_a_new_uuid(void **state) {
    (void)state;
    stage_open(&stage);
    run(3, NULL);
    char before[TS_TXN_ID_SIZE];
    memcpy(before, result.id, sizeof before);
    struct ts_cluster *other = stage_other_process(&stage);
    struct ts_txn_settled settled;
    assert_int_equal(ts_txn_recover(other, 1000, &settled, NULL), TS_TXN_ERROR_OK);
    assert_true(settled.fenced >= 1);
    int unknown = 0;
    for (int i = 0; i < 12; i++) {
        run(3, NULL);
        if (result.outcome == TS_TXN_UNKNOWN)
            unknown++;
        else
            expect_outcome(TS_TXN_COMMITTED, "00000");
    }
    /* At most one transaction has no known outcome, because the first transaction that meets the fence
     * retires the uuid. */
    assert_true(unknown <= 1);
    assert_memory_not_equal(before, result.id, 70);
    assert_int_equal(ts_txn_recover(other, 1000, &settled, NULL), TS_TXN_ERROR_OK);
    ts_cluster_close(other);
    stage_wait_until(no_promises);
    assert_int_equal(stage_number(stage.cluster, 0, key[0]), 13 - unknown);
    expect_numbers(13 - unknown, 13 - unknown, 13 - unknown);
}

static void hold(void) {
    stage_hold(&stage, 1, key[1]);
}

static void let_go(void) {
    stage_let_go(&stage, 1);
}

static void *run_in_thread(void *context) {
    struct ts_txn_result *mine = context;
    struct ts_op ops[] = {stage_add(key[0], 1), stage_add(key[1], 1)};
    ts_txn_run(stage.coordinator, ops, 2, NULL, mine);
    return NULL;
}

static bool shows(const char *line) {
    return stage_shows(&stage, line);
}

static bool one_in_flight(void) {
    return shows("turnstone_xs_coord_in_flight 1");
}

/* Requirement H2PC-3. */
static void admission_refuses_when_it_is_full_and_local_ones_need_no_place(void **state) {
    (void)state;
    stage.config.admission.hard_limit = 1;
    stage.config.admission.soft_limit = 1;
    stage_open(&stage);
    hold();
    static struct ts_txn_result other;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_in_thread, &other), 0);
    stage_wait_until(one_in_flight);
    run(3, NULL);
    expect_outcome(TS_TXN_REFUSED, "53300");
    assert_int_equal(result.attempts, 0);
    char local[40];
    stage_key(stage.cluster, 2, "local", local);
    struct ts_op op = stage_add(local, 1);
    ts_txn_run(stage.coordinator, &op, 1, NULL, &result);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    let_go();
    pthread_join(thread, NULL);
    assert_int_equal(other.outcome, TS_TXN_COMMITTED);
}

static void fail_fast_ends_at_the_first_phase_that_is_over_and_says_which(void **state) {
    (void)state;
    stage.config.timeouts.prepare_us = 60000;
    stage.config.timeouts.prepare_given = true;
    stage_open(&stage);
    hold();
    struct ts_txn_options once = {.once = true};
    run(2, &once); /* the second store prepares; the first decides */
    expect_outcome(TS_TXN_ABORTED, "40000");
    assert_string_equal(result.timeout, "Prepare");
    assert_non_null(strstr(result.text, "timeouts.prepare"));
    let_go();
}

static void best_effort_ends_at_the_total_only(void **state) {
    (void)state;
    stage.config.timeouts.policy = TS_TXN_TIMEOUT_POLICY_BEST_EFFORT;
    stage.config.timeouts.prepare_us = 20000;
    stage.config.timeouts.coord_queue_us = 20000;
    stage.config.timeouts.shard_rpc_us = 20000;
    stage.config.timeouts.commit_us = 20000;
    stage.config.timeouts.lock_validate_us = 20000;
    stage.config.timeouts.retry_ceiling_us = 100000;
    stage.config.timeouts.total_us = 200000;
    stage_open(&stage);
    hold();
    struct ts_txn_options once = {.once = true};
    run(2, &once);
    expect_outcome(TS_TXN_ABORTED, "40000");
    assert_string_equal(result.timeout, "Total");
    assert_true(result.latency.total_us >= 200000);
    let_go();
}

/* Requirement H2PC-8. */
static void a_stalled_transaction_is_aborted_and_explained(void **state) {
    (void)state;
    stage.config.deadlock.timeout_us = 60000;
    stage_open(&stage);
    hold();
    struct ts_txn_options once = {.once = true};
    run(2, &once);
    expect_outcome(TS_TXN_ABORTED, "40000");
    assert_null(result.timeout);
    assert_non_null(strstr(result.text, "ShardLockWait(1)"));
    assert_non_null(strstr(result.text, result.id));
    assert_true(shows("turnstone_xs_deadlocks_detected 1"));
    assert_true(shows("turnstone_xs_stalled_txns 0"));
    let_go();
}

/* Requirement H2PC-4. */
static void the_breaker_opens_after_failures_of_stores_and_recovers(void **state) {
    (void)state;
    stage.config.breaker.failure_threshold = 3;
    stage.config.breaker.recovery_timeout_us = 100000;
    stage_open(&stage);
    run(3, NULL);
    for (size_t i = 0; i < 3; i++)
        stage_fault(&stage, i, TS_CALL_PREPARE, TS_FAULT_ERROR, TS_STORE_UNAVAILABLE, 0);
    struct ts_txn_options once = {.once = true};
    for (int i = 0; i < 3; i++) {
        run(3, &once);
        assert_int_equal(result.outcome, TS_TXN_ABORTED);
    }
    run(3, &once);
    expect_outcome(TS_TXN_REFUSED, "53300");
    assert_int_equal(result.attempts, 0);
    stage_no_faults(&stage);
    nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
    run(3, &once);
    expect_outcome(TS_TXN_COMMITTED, "00000");
}

/* Requirement H2PC-4: each store has its own breaker. */
static void a_store_that_is_down_keeps_nobody_from_the_others(void **state) {
    (void)state;
    const struct ts_txn_options once = {.once = true};
    stage.config.breaker.failure_threshold = 2;
    stage_open(&stage);
    run(3, NULL);
    stage_fault(&stage, 2, TS_CALL_APPLY, TS_FAULT_ERROR, TS_STORE_UNAVAILABLE, 0);
    struct ts_op there = stage_add(key[2], 1), here = stage_add(key[0], 1);
    for (uint32_t i = 0; i < 3; i++) {
        ts_txn_run(stage.coordinator, &there, 1, &once, &result);
        expect_outcome(i < 2 ? TS_TXN_ABORTED : TS_TXN_REFUSED, i < 2 ? "40000" : "53300");
        assert_int_equal(result.attempts, i < 2);
    }
    /* The transaction fails at once, with the store's name, and only on this store. */
    assert_string_equal(result.cause, "circuit_breaker");
    assert_non_null(strstr(result.text, ts_store_name(ts_cluster_store(stage.cluster, 2))));
    run(3, &once);
    expect_outcome(TS_TXN_REFUSED, "53300");
    run(2, &once);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    ts_txn_run(stage.coordinator, &here, 1, &once, &result);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    assert_true(shows("turnstone_xs_circuit_breaker_trips 1"));
    assert_true(shows("turnstone_xs_circuit_breaker_state{state=\"Open\"} 1"));
    expect_numbers(3, 2, 1);
}

/* Requirement H2PC-5. */
static void a_conflict_is_tried_again_under_a_new_id(void **state) {
    (void)state;
    stage_open(&stage);
    for (size_t i = 0; i < 3; i++)
        stage_fault(&stage, i, TS_CALL_PREPARE, TS_FAULT_ERROR, TS_STORE_LOCK_CONFLICT, 1);
    run(3, NULL);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    assert_true(result.attempts >= 2);
    /* The first attempt gave way. The second attempt waits in the queue of the lock. A third attempt would
     * back off before it begins. */
    assert_int_equal(result.latency.retry_backoff_us > 0, result.attempts > 2);
    expect_numbers(1, 1, 1);
    stage_fault(&stage, 1, TS_CALL_PREPARE, TS_FAULT_ERROR, TS_STORE_LOCK_CONFLICT, 1);
    run(2, NULL);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    assert_int_equal(result.attempts, 2);
    assert_true(result.latency.retry_backoff_us > 0);
    expect_numbers(2, 2, 1);
}

/* By default a transaction waits for a lock. A configured limit ends the wait, and the caller sees the limit
 * as the cause. */
static void by_default_a_lock_is_waited_for_until_the_total_timeout(void **state) {
    (void)state;
    stage.config.timeouts.prepare_us = 40000;
    stage.config.timeouts.total_us = 1000000;
    stage.config.retry.max_retries = 1;
    stage.config.retry.retry_budget_us = 0;
    stage.config.timeouts.retry_ceiling_us = 200000;
    stage.config.retry.max_backoff_us = stage.config.retry.initial_backoff_us;
    struct ts_txn_config *config = &stage.config;
    const struct {
        bool *given;
        const char *timeout;
        const char *text;
    } rows[] = {
        {NULL, "Total", "timeouts.total"},
        {&config->timeouts.retry_ceiling_given, "RetryCeiling", "timeouts.retry_ceiling"},
        {&config->timeouts.prepare_given, "Prepare", "timeouts.prepare"},
        {&config->retry.max_retries_given, NULL, "retry.max_retries used up"},
        {&config->retry.retry_budget_given, NULL, "retry.retry_budget used up"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].given != NULL)
            *rows[i].given = true;
        stage_open(&stage);
        hold();
        run(3, NULL);
        assert_int_equal(result.outcome, TS_TXN_ABORTED);
        if (rows[i].timeout == NULL)
            assert_null(result.timeout);
        else
            assert_string_equal(result.timeout, rows[i].timeout);
        assert_non_null(strstr(result.text, rows[i].text));
        assert_int_equal(result.latency.total_us >= 1000000, i == 0);
        let_go();
        stage_close(&stage);
        if (rows[i].given != NULL)
            *rows[i].given = false;
    }
}

/* The reported backoff is real: the measured total time includes it. */
static void backing_off_takes_the_time_that_it_says(void **state) {
    (void)state;
    stage.config.retry.initial_backoff_us = 30000;
    stage_open(&stage);
    stage_fault(&stage, 1, TS_CALL_PREPARE, TS_FAULT_ERROR, TS_STORE_UNAVAILABLE, 3);
    run(3, NULL);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    assert_true(result.attempts >= 3);
    assert_true(result.latency.retry_backoff_us >= 30000);
    assert_true(result.latency.total_us >= result.latency.retry_backoff_us);
}

/* A store whose calls stall, like the calls of RocksDB during a compaction. */
enum { STALL_US = 1234 };
static const struct ts_engine *unstalled;

static void start_stalled(struct ts_store *store, struct ts_call *call) {
    unstalled->start(store, call);
    call->stall_us += STALL_US;
}

static void stalls_of_a_store_are_reported(void **state) {
    (void)state;
    stage_open(&stage);
    run(3, NULL);
    assert_int_equal(result.latency.gc_impact_us, 0);
    struct ts_store *store = ts_cluster_store(stage.cluster, 1);
    unstalled = store->engine;
    struct ts_engine stalled = *unstalled;
    stalled.start = start_stalled;
    store->engine = &stalled;
    run(3, NULL);
    store->engine = unstalled;
    expect_outcome(TS_TXN_COMMITTED, "00000");
    assert_true(result.latency.gc_impact_us >= STALL_US);
}

/* Requirement H2PC-6. */
static void permanent_errors_are_not_tried_again(void **state) {
    (void)state;
    stage_open(&stage);
    struct ts_op ops[] = {stage_add(key[0], 1), stage_put(key[1], "not a number")};
    ts_txn_run(stage.coordinator, ops, 2, NULL, &result);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    run(3, NULL);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    assert_int_equal(result.reason, TS_STORE_NOT_A_COUNTER);
    assert_int_equal(result.attempts, 1);
}

/* Requirements H2PC-7 and H2PC-11. */
static void metrics_show_what_happened(void **state) {
    (void)state;
    stage_open(&stage);
    run(3, NULL);
    stage_fault(&stage, 0, TS_CALL_PREPARE, TS_FAULT_ERROR, TS_STORE_LOCK_CONFLICT, 0);
    stage_fault(&stage, 0, TS_CALL_APPLY, TS_FAULT_ERROR, TS_STORE_LOCK_CONFLICT, 0);
    struct ts_txn_options once = {.once = true};
    run(3, &once);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    assert_true(shows("turnstone_xs_total_attempted 2"));
    assert_true(shows("turnstone_xs_total_committed 1"));
    assert_true(shows("turnstone_xs_total_aborted{reason=\"conflict\"} 1"));
    assert_true(shows("turnstone_xs_shard_conflict_rate{store=\"0\"} 0.5"));
    assert_true(shows("turnstone_xs_coord_in_flight 0"));
}

/* A closed coordinator leaves nothing for other resolvers. */
static void closing_leaves_no_records(void **state) {
    (void)state;
    stage_open(&stage);
    for (int i = 0; i < 20; i++)
        run(3, NULL);
    for (size_t i = 0; i < 3; i++)
        stage_fault_decision(&stage, i, TS_FAULT_LOST_REQUEST);
    struct ts_txn_options once = {.once = true};
    run(3, &once); /* leaves an abort decision */
    stage_no_faults(&stage);
    stage_close(&stage);
    assert_int_equal(stage_records(stage.cluster), 0);
    assert_int_equal(stage_promises(stage.cluster), 0);
}

static bool few_records(void) {
    return stage_records(stage.cluster) <= 9;
}

static void decisions_go_in_the_background(void **state) {
    (void)state;
    stage_open(&stage);
    for (int i = 0; i < 3000; i++)
        run(3, NULL);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    stage_wait_until(few_records);
}

static void status_shows_coordinators_promises_and_decisions(void **state) {
    (void)state;
    stage_open(&stage);
    run(3, NULL);
    struct ts_op op = stage_put("held", "1");
    struct ts_call promise = {.kind = TS_CALL_PREPARE, .gid = "somebody else's", .batch = {&op, 1}};
    assert_int_equal(ts_store_run(ts_cluster_store(stage.cluster, 1), &promise), TS_STORE_OK);
    struct ts_cluster *other = stage_other_process(&stage);
    struct ts_txn_cluster_status status;
    assert_int_equal(ts_txn_cluster_status_read(other, 1000, &status, NULL), TS_TXN_ERROR_OK);
    assert_int_equal(status.store_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(status.stores[i].result, TS_STORE_OK);
        assert_int_equal(status.stores[i].epoch, 1);
        assert_string_equal(status.stores[i].state, "open");
    }
    assert_int_equal(status.coordinator_count, 1);
    assert_false(status.coordinators[0].fenced);
    assert_true(status.coordinators[0].heartbeat_age_ms < 8000);
    assert_int_equal(status.coordinators[0].total_timeout_ms, 30000);
    assert_int_equal(status.promise_count, 1);
    assert_true(status.promises[0].foreign);
    assert_string_equal(status.promises[0].id, "somebody else's");
    struct ts_txn_settled settled;
    assert_int_equal(ts_txn_resolve(other, 1000, &settled, NULL), TS_TXN_ERROR_OK);
    assert_int_equal(settled.foreign, 1);
    assert_int_equal(stage_promises(stage.cluster), 1);
    ts_txn_cluster_status_release(&status);
    ts_cluster_close(other);
}

static void raising_the_epoch_rejects_processes_of_the_old_one(void **state) {
    (void)state;
    stage_open(&stage);
    run(3, NULL);
    struct ts_cluster *other = stage_other_process(&stage);
    uint64_t epoch = 0;
    struct ts_txn_error_detail detail;
    if (ts_txn_fence(other, 1000, &epoch, NULL, &detail) != TS_TXN_ERROR_OK)
        fail_msg("%s", detail.text);
    assert_int_equal(epoch, 2);
    ts_cluster_close(other);
    run(3, NULL);
    expect_outcome(TS_TXN_ABORTED, "58000");
    run(1, NULL);
    expect_outcome(TS_TXN_ABORTED, "58000");
    other = stage_other_process(&stage);
    struct ts_coordinator *fresh = NULL;
    assert_int_equal(ts_coordinator_open(other, NULL, &fresh, NULL), TS_TXN_ERROR_OK);
    struct ts_op ops[] = {stage_add(key[0], 1), stage_add(key[1], 1)};
    ts_txn_run(fresh, ops, 2, NULL, &result);
    expect_outcome(TS_TXN_COMMITTED, "00000");
    ts_coordinator_close(fresh);
    ts_cluster_close(other);
}

int main(void) {
#define DRIVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        DRIVER(a_transaction_on_one_store_is_local_and_leaves_no_record),
        DRIVER(nothing_at_all_commits),
        DRIVER(a_commit_reports_where_its_time_went),
        DRIVER(a_failed_check_aborts_everywhere_and_names_the_operation),
        DRIVER(users_cannot_write_reserved_keys_and_layers_of_ours_can_but_not_this_ones),
        DRIVER(parts_go_where_they_say_and_count_through),
        DRIVER(the_largest_batch_can_be_recorded_and_one_more_is_refused_at_once),
        DRIVER(before_holds_on_every_store),
        DRIVER(a_recorded_outcome_is_known_to_other_processes),
        DRIVER(without_a_record_the_answer_fades_to_unknown),
        DRIVER(a_lost_reply_of_a_recorded_local_transaction_is_looked_up),
        DRIVER(a_lost_prepare_aborts_and_its_promise_is_removed),
        DRIVER(a_lost_reply_of_the_commit_point_is_found_committed),
        DRIVER(a_commit_point_that_never_arrived_is_shut_out_by_an_abort_decision),
        DRIVER(a_late_commit_point_changes_nothing),
        DRIVER(a_commit_that_does_not_arrive_is_pending_and_happens_by_itself),
        DRIVER(degraded_transactions_are_answered_at_the_commit_point),
        DRIVER(an_outcome_is_unknown_without_its_decider_and_is_settled_later),
        DRIVER(a_fenced_process_continues_under_a_new_uuid),
        DRIVER(admission_refuses_when_it_is_full_and_local_ones_need_no_place),
        DRIVER(fail_fast_ends_at_the_first_phase_that_is_over_and_says_which),
        DRIVER(best_effort_ends_at_the_total_only),
        DRIVER(a_stalled_transaction_is_aborted_and_explained),
        DRIVER(the_breaker_opens_after_failures_of_stores_and_recovers),
        DRIVER(a_store_that_is_down_keeps_nobody_from_the_others),
        DRIVER(a_conflict_is_tried_again_under_a_new_id),
        DRIVER(backing_off_takes_the_time_that_it_says),
        DRIVER(stalls_of_a_store_are_reported),
        DRIVER(by_default_a_lock_is_waited_for_until_the_total_timeout),
        DRIVER(permanent_errors_are_not_tried_again),
        DRIVER(metrics_show_what_happened),
        DRIVER(closing_leaves_no_records),
        DRIVER(decisions_go_in_the_background),
        DRIVER(status_shows_coordinators_promises_and_decisions),
        DRIVER(raising_the_epoch_rejects_processes_of_the_old_one),
    };
#undef DRIVER
    return cmocka_run_group_tests(tests, NULL, NULL);
}
