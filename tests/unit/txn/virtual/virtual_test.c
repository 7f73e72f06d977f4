/* Runs transactions and resolvers through calls that the test carries out, on stores in memory with a clock
 * that the test controls. */
#include "base/bytes.h"
#include "store/contract/engine.h"
#include "store/local/memory.h"
#include "support/cmocka.h"
#include "support/still_time.h"
#include "txn/virtual/virtual.h"

enum { PLACES = 3, TOTAL_MS = 1000, DEAD_MS = 8001 };

static struct ts_store *stores[PLACES];
static struct ts_txn_virtual *coordinator;

/* The fault that strikes the next call of this kind to this place. */
static struct {
    bool armed;
    bool is_done; /* true: the reply of the call is lost; false: the request is lost */
    enum ts_call_kind kind;
    uint32_t place;
} strike;

static void start(void *context, uint32_t place, struct ts_call *call) {
    (void)context;
    const bool struck = strike.armed && strike.kind == call->kind && strike.place == place;
    if (!struck || strike.is_done) {
        ts_store_start(stores[place], call);
        if (!call->done && !ts_store_poll(call))
            ts_store_cancel(call);
    }
    if (!struck)
        return;
    strike.armed = false;
    call->done = true;
    call->error = (struct ts_store_error){.result = TS_STORE_UNKNOWN, .op = SIZE_MAX};
}

static void wait_for(void *context, struct ts_call *const *calls, size_t count) {
    (void)context;
    (void)calls;
    (void)count;
    fail_msg("every call is done at once");
}

static bool try_again(void *context) {
    (void)context;
    return true;
}

/* The time that transactions have spent in backoffs. The clock of transactions shows only this time. */
static uint64_t slept_us;

static uint64_t now_us(void *context) {
    (void)context;
    return slept_us;
}

static void sleep_us(void *context, uint64_t us) {
    (void)context;
    slept_us += us;
}

static const struct ts_txn_virtual_io io = {.place_count = PLACES,
                                            .start = start,
                                            .wait = wait_for,
                                            .pause = try_again,
                                            .now_us = now_us,
                                            .sleep_us = sleep_us};

/* ---- a transaction that adds 1 on every store ---- */

static struct ts_op ops[PLACES][2];
static struct ts_txn_part parts[PLACES];

static void make_parts(void) {
    for (uint32_t i = 0; i < PLACES; i++) {
        ops[i][0] = (struct ts_op){.kind = TS_OP_ADD, .key = TS_BYTES("n"), .delta = 1, .max = INT64_MAX};
        ops[i][1] = (struct ts_op){.kind = TS_OP_BEFORE, .time_ms = UINT64_MAX};
        parts[i] = (struct ts_txn_part){.place = i, .batch = {ops[i], 2}};
    }
}

static struct ts_txn_result run(size_t decider) {
    static struct ts_txn_result result;
    ts_txn_virtual_run(coordinator, parts, PLACES, decider, &result);
    return result;
}

static bool is_applied(uint32_t place) {
    const struct ts_bytes key = TS_BYTES("n");
    struct ts_rows rows = {0};
    struct ts_call call = {.kind = TS_CALL_READ, .keys = &key, .key_count = 1, .rows = &rows};
    assert_int_equal(ts_store_run(stores[place], &call), TS_STORE_OK);
    const bool applied = rows.rows[0].version != 0;
    ts_rows_release(&rows);
    return applied;
}

static void assert_applied(bool expected) {
    for (uint32_t i = 0; i < PLACES; i++)
        assert_int_equal(is_applied(i), expected);
}

static struct ts_txn_virtual_pass resolve(void) {
    struct ts_txn_virtual_pass pass;
    ts_txn_virtual_resolve(&io, &pass);
    return pass;
}

static int set_up(void **state) {
    (void)state;
    now_ms = 1000000;
    strike.armed = false;
    make_parts();
    for (uint32_t i = 0; i < PLACES; i++)
        stores[i] = ts_memory_open_new("virtual", &test_clock);
    coordinator =
        ts_txn_virtual_new(&io, &(struct ts_txn_virtual_options){.uuid = {7}, .total_ms = TOTAL_MS});
    assert_non_null(coordinator);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ts_txn_virtual_free(coordinator);
    for (uint32_t i = 0; i < PLACES; i++)
        ts_store_close(stores[i]);
    return 0;
}

static void test_a_transaction_commits_on_all_stores(void **state) {
    (void)state;
    assert_int_equal(run(1).outcome, TS_TXN_COMMITTED);
    assert_applied(true);
    assert_int_equal(resolve().committed, 0);
}

static void test_a_refusal_aborts_and_names_the_operation_as_the_caller_counts(void **state) {
    (void)state;
    ops[2][1].time_ms = now_ms;
    const struct ts_txn_result result = run(0);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    assert_int_equal(result.reason, TS_STORE_LATE);
    assert_int_equal(result.op, 5);
    assert_applied(false);
}

static void test_a_lost_reply_of_the_decision_is_found_out(void **state) {
    (void)state;
    /* Now the coordinator is registered, so the next apply at place 0 is the decision. */
    assert_int_equal(run(0).outcome, TS_TXN_COMMITTED);
    for (uint32_t i = 0; i < PLACES; i++)
        ops[i][0].key = TS_BYTES("m");
    strike.armed = strike.is_done = true;
    strike.kind = TS_CALL_APPLY;
    strike.place = 0;
    assert_int_equal(run(0).outcome, TS_TXN_COMMITTED);
    strike.armed = true;
    strike.is_done = false;
    assert_int_equal(run(0).outcome, TS_TXN_ABORTED);
}

static void test_a_lost_prepare_aborts(void **state) {
    (void)state;
    strike.armed = strike.is_done = true;
    strike.kind = TS_CALL_PREPARE;
    strike.place = 2;
    assert_int_equal(run(0).outcome, TS_TXN_ABORTED);
    assert_applied(false);
    assert_int_equal(resolve().left + resolve().stuck, 0);
}

static void test_a_resolver_finishes_what_is_committed_at_once(void **state) {
    (void)state;
    strike.armed = true;
    strike.is_done = false;
    strike.kind = TS_CALL_COMMIT;
    strike.place = 2;
    assert_int_equal(run(0).outcome, TS_TXN_COMMITTED_PENDING);
    assert_false(is_applied(2));
    assert_int_equal(resolve().committed, 1);
    assert_applied(true);
}

/* Leaves an undecided promise at place 2, as after a crash before the commit point. */
static void leave_a_promise(void) {
    strike.armed = true;
    strike.is_done = false;
    strike.kind = TS_CALL_ABORT;
    strike.place = 2;
    ops[0][1].time_ms = now_ms; /* the decider refuses, and one abort is lost */
    assert_int_equal(run(0).outcome, TS_TXN_ABORTED);
    assert_false(strike.armed);
}

static void test_a_resolver_leaves_young_promises_of_the_living(void **state) {
    (void)state;
    leave_a_promise();
    assert_int_equal(resolve().left, 1);
    now_ms += TOTAL_MS + 1;
    ts_txn_virtual_beat(coordinator, &io);
    assert_int_equal(resolve().aborted, 1);
    assert_false(ts_txn_virtual_is_fenced(coordinator));
}

static void test_a_process_that_seems_dead_is_fenced_and_notices(void **state) {
    (void)state;
    leave_a_promise();
    now_ms += DEAD_MS;
    assert_int_equal(resolve().aborted, 1);
    ts_txn_virtual_beat(coordinator, &io);
    assert_true(ts_txn_virtual_is_fenced(coordinator));
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_transaction_commits_on_all_stores),
        CASE(test_a_refusal_aborts_and_names_the_operation_as_the_caller_counts),
        CASE(test_a_lost_reply_of_the_decision_is_found_out),
        CASE(test_a_lost_prepare_aborts),
        CASE(test_a_resolver_finishes_what_is_committed_at_once),
        CASE(test_a_resolver_leaves_young_promises_of_the_living),
        CASE(test_a_process_that_seems_dead_is_fenced_and_notices),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
