#include "support/cmocka.h"

#include "txn/core/resolve.h"

static const uint8_t cluster[16] = {1};
static struct txn__resolve resolve;
static struct txn__look look;

enum { TOTAL_MS = 30000, NOW_MS = 1000000, SEQUENCE = 10 };

/* Begins with a promise of this age. The decider knows only that the coordinator is alive. */
static void sees_promise(uint64_t age_ms, bool fence_all) {
    struct txn__gid gid = {.sequence = SEQUENCE, .decider = 2};
    memcpy(gid.cluster, cluster, sizeof cluster);
    char text[TS_TXN_ID_SIZE];
    size_t len = txn__gid_format(&gid, text);
    txn__resolve_init(&resolve, &(struct txn__promise){ts_bytes_of(text, len), 1, age_ms},
                      &(struct txn__resolve_options){cluster, 3, fence_all, .taken = {0}});
    look = (struct txn__look){
        .registration = {TXN__REGISTERED, .total_timeout_ms = TOTAL_MS},
        .registration_version = 5,
        .heartbeat_ms = NOW_MS - 1000,
        .mark = SEQUENCE,
        .mark_version = 6,
        .now_ms = NOW_MS,
    };
}

static void sends(enum txn__wish wish, enum ts_store_result result) {
    assert_int_equal(resolve.wish, wish);
    txn__resolve_reply(&resolve, result, &look);
}

static void is_done(enum txn__verdict verdict) {
    assert_true(txn__resolve_is_done(&resolve));
    assert_int_equal(resolve.verdict, verdict);
}

static void a_decision_is_followed_whatever_the_age(void **state) {
    (void)state;
    sees_promise(0, false);
    look.decision = TXN__DECISION_COMMIT;
    sends(TXN__WISH_LOOK, TS_STORE_OK);
    sends(TXN__WISH_COMMIT, TS_STORE_OK);
    is_done(TXN__VERDICT_COMMITTED);
    sees_promise(0, false);
    look.decision = TXN__DECISION_ABORT;
    sends(TXN__WISH_LOOK, TS_STORE_OK);
    sends(TXN__WISH_ABORT, TS_STORE_NO_SUCH_PROMISE);
    is_done(TXN__VERDICT_ABORTED);
}

static void an_impossible_transaction_is_aborted_without_a_record(void **state) {
    (void)state;
    sees_promise(0, false);
    look.mark = SEQUENCE + 1;
    sends(TXN__WISH_LOOK, TS_STORE_OK);
    sends(TXN__WISH_ABORT, TS_STORE_OK);
    is_done(TXN__VERDICT_ABORTED);
    for (enum txn__registration_state each = TXN__NOT_REGISTERED; each <= TXN__FENCED; each++) {
        sees_promise(0, false);
        look.registration.state = each;
        sends(TXN__WISH_LOOK, TS_STORE_OK);
        if (each == TXN__REGISTERED) {
            is_done(TXN__VERDICT_LEFT);
            continue;
        }
        sends(TXN__WISH_ABORT, TS_STORE_OK);
        is_done(TXN__VERDICT_ABORTED);
    }
}

static void a_young_promise_of_a_live_coordinator_is_left(void **state) {
    (void)state;
    sees_promise(TOTAL_MS, false);
    sends(TXN__WISH_LOOK, TS_STORE_OK);
    is_done(TXN__VERDICT_LEFT);
}

static void an_old_promise_of_a_live_coordinator_is_decided_against(void **state) {
    (void)state;
    sees_promise(TOTAL_MS + 1, false);
    sends(TXN__WISH_LOOK, TS_STORE_OK);
    sends(TXN__WISH_REFUSE, TS_STORE_CHECK_FAILED);
    look.decision = TXN__DECISION_COMMIT; /* the coordinator has decided first */
    sends(TXN__WISH_LOOK, TS_STORE_OK);
    sends(TXN__WISH_COMMIT, TS_STORE_OK);
    is_done(TXN__VERDICT_COMMITTED);
    sees_promise(TOTAL_MS + 1, false);
    sends(TXN__WISH_LOOK, TS_STORE_OK);
    sends(TXN__WISH_REFUSE, TS_STORE_OK);
    sends(TXN__WISH_ABORT, TS_STORE_OK);
    is_done(TXN__VERDICT_ABORTED);
    assert_false(resolve.fenced);
}

static void a_dead_coordinator_is_fenced_first_and_the_decision_read_again(void **state) {
    (void)state;
    sees_promise(0, false);
    look.heartbeat_ms = NOW_MS - TXN__DEAD_MS;
    sends(TXN__WISH_LOOK, TS_STORE_OK);
    is_done(TXN__VERDICT_LEFT); /* the coordinator is dead only after more than TXN__DEAD_MS */
    sees_promise(0, false);
    look.heartbeat_ms = NOW_MS - TXN__DEAD_MS - 1;
    sends(TXN__WISH_LOOK, TS_STORE_OK);
    sends(TXN__WISH_FENCE, TS_STORE_OK);
    look.registration.state = TXN__FENCED;
    look.decision = TXN__DECISION_COMMIT;
    sends(TXN__WISH_LOOK, TS_STORE_OK);
    sends(TXN__WISH_COMMIT, TS_STORE_OK);
    is_done(TXN__VERDICT_COMMITTED);
    assert_true(resolve.fenced);
}

static void recovery_fences_every_other_process(void **state) {
    (void)state;
    sees_promise(0, true);
    sends(TXN__WISH_LOOK, TS_STORE_OK);
    sends(TXN__WISH_FENCE, TS_STORE_CHECK_FAILED); /* another resolver has fenced the coordinator */
    look.registration.state = TXN__FENCED;
    sends(TXN__WISH_LOOK, TS_STORE_OK);
    sends(TXN__WISH_ABORT, TS_STORE_OK);
    is_done(TXN__VERDICT_ABORTED);
}

static void a_decider_that_is_down_or_damaged_leaves_the_promise_as_it_is(void **state) {
    (void)state;
    sees_promise(TOTAL_MS + 1, true);
    sends(TXN__WISH_LOOK, TS_STORE_UNAVAILABLE);
    is_done(TXN__VERDICT_STUCK);
    sees_promise(TOTAL_MS + 1, true);
    look.damaged = true;
    sends(TXN__WISH_LOOK, TS_STORE_OK);
    is_done(TXN__VERDICT_STUCK);
    sees_promise(TOTAL_MS + 1, false);
    sends(TXN__WISH_LOOK, TS_STORE_OK);
    sends(TXN__WISH_REFUSE, TS_STORE_UNKNOWN);
    is_done(TXN__VERDICT_STUCK);
}

static void names_of_others_are_not_touched(void **state) {
    (void)state;
    static const uint8_t other[16] = {2};
    struct txn__gid gid = {.sequence = 1, .decider = 2};
    memcpy(gid.cluster, other, sizeof other);
    char text[TS_TXN_ID_SIZE];
    txn__gid_format(&gid, text);
    const char *const names[] = {"somebody else's", text};
    for (size_t i = 0; i < 2; i++) {
        txn__resolve_init(&resolve, &(struct txn__promise){ts_bytes_of_cstring(names[i]), 1, 0},
                          &(struct txn__resolve_options){cluster, 3, true, .taken = {0}});
        is_done(TXN__VERDICT_FOREIGN);
    }
    memcpy(gid.cluster, cluster, sizeof cluster);
    gid.decider = 3;
    txn__gid_format(&gid, text);
    txn__resolve_init(&resolve, &(struct txn__promise){ts_bytes_of_cstring(text), 1, 0},
                      &(struct txn__resolve_options){cluster, 3, true, .taken = {0}});
    is_done(TXN__VERDICT_FOREIGN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_decision_is_followed_whatever_the_age),
        cmocka_unit_test(an_impossible_transaction_is_aborted_without_a_record),
        cmocka_unit_test(a_young_promise_of_a_live_coordinator_is_left),
        cmocka_unit_test(an_old_promise_of_a_live_coordinator_is_decided_against),
        cmocka_unit_test(a_dead_coordinator_is_fenced_first_and_the_decision_read_again),
        cmocka_unit_test(recovery_fences_every_other_process),
        cmocka_unit_test(a_decider_that_is_down_or_damaged_leaves_the_promise_as_it_is),
        cmocka_unit_test(names_of_others_are_not_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
