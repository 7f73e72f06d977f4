#include "support/cmocka.h"

#include "txn/core/run.h"

static struct txn__run run;
static struct txn__member members[3];

static void begin(size_t count, const struct txn__run_options *options) {
    memset(members, 0, sizeof members);
    for (uint32_t i = 0; i < 3; i++)
        members[i].place = i;
    txn__run_init(&run, members, count, 0, options);
    run.own_ops_from = 1;
}

static const struct txn__run_options plain;

/* Expects that the next wish is this one, for this member. */
static void sends(size_t member, enum txn__wish wish) {
    enum txn__wish found = TXN__WISH_NONE;
    assert_int_equal(txn__run_next(&run, &found), member);
    assert_int_equal(found, wish);
}

static void hears_op(size_t member, enum ts_store_result result, size_t op) {
    struct ts_store_error error = {.result = result, .op = op};
    struct txn__look look = {0};
    txn__run_reply(&run, member, &error, &look);
}

static void hears(size_t member, enum ts_store_result result) {
    hears_op(member, result, SIZE_MAX);
}

static void sees(enum txn__decision decision, enum txn__registration_state registration) {
    struct ts_store_error error = {.result = TS_STORE_OK};
    struct txn__look look = {.decision = decision, .registration = {.state = registration}};
    txn__run_reply(&run, 0, &error, &look);
}

static void wishes_for_nothing(void) {
    enum txn__wish wish;
    assert_true(txn__run_next(&run, &wish) == SIZE_MAX);
}

static void is_done(enum ts_txn_outcome outcome) {
    wishes_for_nothing();
    assert_true(txn__run_is_done(&run));
    assert_int_equal(run.outcome, outcome);
}

static void prepared(void) {
    begin(3, &plain);
    sends(1, TXN__WISH_PREPARE);
    sends(2, TXN__WISH_PREPARE);
    hears(2, TS_STORE_OK);
    wishes_for_nothing();
    hears(1, TS_STORE_OK);
    sends(0, TXN__WISH_DECIDE);
}

static void prepares_side_by_side_then_decides_then_commits_side_by_side(void **state) {
    (void)state;
    prepared();
    assert_false(txn__run_is_decided(&run));
    hears(0, TS_STORE_OK);
    assert_true(txn__run_is_decided(&run));
    sends(1, TXN__WISH_COMMIT);
    sends(2, TXN__WISH_COMMIT);
    hears(1, TS_STORE_OK);
    hears(2, TS_STORE_NO_SUCH_PROMISE); /* a resolver has committed first */
    is_done(TS_TXN_COMMITTED);
}

static void in_order_it_prepares_from_the_highest_place_down_and_decides_last(void **state) {
    (void)state;
    const struct txn__run_options in_order = {.in_order = true};
    begin(3, &in_order);
    sends(2, TXN__WISH_PREPARE);
    wishes_for_nothing();
    hears(2, TS_STORE_OK);
    sends(1, TXN__WISH_PREPARE);
    wishes_for_nothing();
    hears(1, TS_STORE_OK);
    sends(0, TXN__WISH_DECIDE);
    /* An attempt that meets a lock leaves no promise, and members that were not asked get no abort. */
    begin(3, &in_order);
    sends(2, TXN__WISH_PREPARE);
    hears(2, TS_STORE_OK);
    sends(1, TXN__WISH_PREPARE);
    hears(1, TS_STORE_LOCK_CONFLICT);
    sends(2, TXN__WISH_ABORT);
    hears(2, TS_STORE_OK);
    is_done(TS_TXN_ABORTED);
    begin(3, &in_order);
    sends(2, TXN__WISH_PREPARE);
    hears(2, TS_STORE_LOCK_CONFLICT);
    is_done(TS_TXN_ABORTED);
}

static void from_the_commit_point_on_nothing_aborts(void **state) {
    (void)state;
    static const enum ts_store_result results[] = {TS_STORE_UNKNOWN, TS_STORE_TIMED_OUT, TS_STORE_UNAVAILABLE,
                                                   TS_STORE_FAILED};
    for (size_t i = 0; i < 4; i++) {
        prepared();
        hears(0, TS_STORE_OK);
        sends(1, TXN__WISH_COMMIT);
        sends(2, TXN__WISH_COMMIT);
        hears(1, results[i]);
        hears(2, TS_STORE_OK);
        is_done(TS_TXN_COMMITTED_PENDING);
        assert_true(members[1].promised);
        assert_false(members[2].promised);
    }
}

static void a_refused_prepare_aborts_participants_that_may_have_promised(void **state) {
    (void)state;
    begin(3, &plain);
    sends(1, TXN__WISH_PREPARE);
    sends(2, TXN__WISH_PREPARE);
    hears_op(1, TS_STORE_CHECK_FAILED, 4);
    wishes_for_nothing(); /* participant 2 has not answered yet */
    hears(2, TS_STORE_UNKNOWN);
    sends(2, TXN__WISH_ABORT);
    hears(2, TS_STORE_NO_SUCH_PROMISE);
    is_done(TS_TXN_ABORTED);
    assert_int_equal(run.reason, TS_STORE_CHECK_FAILED);
    assert_int_equal(run.failed_member, 1);
    assert_int_equal(run.failed_op, 4);
}

static void a_prepare_is_sent_once(void **state) {
    (void)state;
    begin(2, &plain);
    sends(1, TXN__WISH_PREPARE);
    hears(1, TS_STORE_UNKNOWN);
    sends(1, TXN__WISH_ABORT);
    hears(1, TS_STORE_UNKNOWN);
    is_done(TS_TXN_ABORTED);
}

static void a_commit_point_that_is_refused_for_a_reason_of_the_callers_aborts(void **state) {
    (void)state;
    prepared();
    hears_op(0, TS_STORE_CHECK_FAILED, 0);
    sends(1, TXN__WISH_ABORT);
    sends(2, TXN__WISH_ABORT);
    hears(1, TS_STORE_OK);
    hears(2, TS_STORE_OK);
    is_done(TS_TXN_ABORTED);
}

static void a_lost_commit_point_is_settled_by_an_abort_decision(void **state) {
    (void)state;
    prepared();
    hears(0, TS_STORE_UNKNOWN);
    sends(0, TXN__WISH_LOOK);
    sees(TXN__DECISION_NONE, TXN__REGISTERED);
    sends(0, TXN__WISH_REFUSE);
    hears(0, TS_STORE_CHECK_FAILED); /* the decision was stored meanwhile */
    sends(0, TXN__WISH_LOOK);
    sees(TXN__DECISION_COMMIT, TXN__REGISTERED);
    sends(1, TXN__WISH_COMMIT);
    sends(2, TXN__WISH_COMMIT);
    hears(1, TS_STORE_OK);
    hears(2, TS_STORE_OK);
    is_done(TS_TXN_COMMITTED);
    prepared();
    hears(0, TS_STORE_UNKNOWN);
    sends(0, TXN__WISH_LOOK);
    sees(TXN__DECISION_NONE, TXN__REGISTERED);
    sends(0, TXN__WISH_REFUSE);
    hears(0, TS_STORE_OK);
    sends(1, TXN__WISH_ABORT);
    sends(2, TXN__WISH_ABORT);
    hears(1, TS_STORE_OK);
    hears(2, TS_STORE_OK);
    is_done(TS_TXN_ABORTED);
}

static void fenced_is_unknown(void **state) {
    (void)state;
    prepared();
    hears_op(0, TS_STORE_CHECK_FAILED, 1); /* the protocol's own check has failed */
    sends(0, TXN__WISH_LOOK);
    sees(TXN__DECISION_NONE, TXN__FENCED);
    is_done(TS_TXN_UNKNOWN);
    assert_int_equal(run.why, TXN__WHY_FENCED);
    prepared();
    hears(0, TS_STORE_UNKNOWN);
    sends(0, TXN__WISH_LOOK);
    sees(TXN__DECISION_NONE, TXN__NOT_REGISTERED);
    is_done(TS_TXN_UNKNOWN);
}

static void a_resolver_that_was_faster_aborts(void **state) {
    (void)state;
    prepared();
    hears_op(0, TS_STORE_CHECK_FAILED, 2);
    sends(0, TXN__WISH_LOOK);
    sees(TXN__DECISION_ABORT, TXN__REGISTERED);
    assert_int_equal(run.why, TXN__WHY_RESOLVER);
    sends(1, TXN__WISH_ABORT);
    sends(2, TXN__WISH_ABORT);
    hears(1, TS_STORE_NO_SUCH_PROMISE);
    hears(2, TS_STORE_OK);
    is_done(TS_TXN_ABORTED);
}

static void without_an_answer_it_asks_on_until_the_time_is_over(void **state) {
    (void)state;
    prepared();
    hears(0, TS_STORE_UNKNOWN);
    sends(0, TXN__WISH_LOOK);
    hears(0, TS_STORE_UNAVAILABLE);
    assert_true(run.pause);
    sends(0, TXN__WISH_LOOK);
    txn__run_give_up(&run);
    hears(0, TS_STORE_UNAVAILABLE);
    is_done(TS_TXN_UNKNOWN);
    assert_int_equal(run.why, TXN__WHY_GIVEN_UP);
}

static void giving_up_before_the_decision_is_aborting(void **state) {
    (void)state;
    begin(3, &plain);
    sends(1, TXN__WISH_PREPARE);
    sends(2, TXN__WISH_PREPARE);
    hears(1, TS_STORE_OK);
    txn__run_give_up(&run);
    sends(1, TXN__WISH_ABORT);
    hears(2, TS_STORE_OK); /* too late, but member 2 has promised */
    sends(2, TXN__WISH_ABORT);
    hears(1, TS_STORE_OK);
    hears(2, TS_STORE_OK);
    is_done(TS_TXN_ABORTED);
}

static void degraded_is_done_at_the_commit_point(void **state) {
    (void)state;
    struct txn__run_options options = {.degrade = true};
    begin(2, &options);
    sends(1, TXN__WISH_PREPARE);
    hears(1, TS_STORE_OK);
    sends(0, TXN__WISH_DECIDE);
    hears(0, TS_STORE_OK);
    is_done(TS_TXN_COMMITTED_PENDING);
    assert_true(members[1].promised);
}

static void a_recorded_abort_is_written_down_unless_the_decision_was(void **state) {
    (void)state;
    struct txn__run_options options = {.record = true};
    begin(2, &options);
    sends(1, TXN__WISH_PREPARE);
    hears(1, TS_STORE_LOCK_CONFLICT);
    sends(0, TXN__WISH_RECORD);
    hears(0, TS_STORE_OK);
    is_done(TS_TXN_ABORTED);
    begin(2, &options);
    sends(1, TXN__WISH_PREPARE);
    hears(1, TS_STORE_OK);
    sends(0, TXN__WISH_DECIDE);
    hears(0, TS_STORE_UNKNOWN);
    sends(0, TXN__WISH_LOOK);
    sees(TXN__DECISION_NONE, TXN__REGISTERED);
    sends(0, TXN__WISH_REFUSE);
    hears(0, TS_STORE_OK);
    sends(1, TXN__WISH_ABORT);
    hears(1, TS_STORE_OK);
    is_done(TS_TXN_ABORTED);
}

static void a_local_one_is_one_apply(void **state) {
    (void)state;
    begin(1, &plain);
    sends(0, TXN__WISH_APPLY);
    hears(0, TS_STORE_OK);
    is_done(TS_TXN_COMMITTED);
    begin(1, &plain);
    sends(0, TXN__WISH_APPLY);
    hears_op(0, TS_STORE_LIMIT, 0);
    is_done(TS_TXN_ABORTED);
    begin(1, &plain);
    sends(0, TXN__WISH_APPLY);
    hears(0, TS_STORE_UNKNOWN);
    is_done(TS_TXN_UNKNOWN);
}

static void a_recorded_local_one_finds_its_outcome_or_shuts_it_out(void **state) {
    (void)state;
    struct txn__run_options options = {.record = true};
    struct ts_store_error ok = {.result = TS_STORE_OK};
    struct txn__look none = {0};
    struct txn__look committed = {.outcome = TXN__RECORDED_COMMITTED};
    begin(1, &options);
    sends(0, TXN__WISH_APPLY);
    hears(0, TS_STORE_UNKNOWN);
    sends(0, TXN__WISH_LOOK);
    txn__run_reply(&run, 0, &ok, &none);
    sends(0, TXN__WISH_REFUSE);
    hears(0, TS_STORE_CHECK_FAILED);
    sends(0, TXN__WISH_LOOK);
    txn__run_reply(&run, 0, &ok, &committed);
    is_done(TS_TXN_COMMITTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prepares_side_by_side_then_decides_then_commits_side_by_side),
        cmocka_unit_test(in_order_it_prepares_from_the_highest_place_down_and_decides_last),
        cmocka_unit_test(from_the_commit_point_on_nothing_aborts),
        cmocka_unit_test(a_refused_prepare_aborts_participants_that_may_have_promised),
        cmocka_unit_test(a_prepare_is_sent_once),
        cmocka_unit_test(a_commit_point_that_is_refused_for_a_reason_of_the_callers_aborts),
        cmocka_unit_test(a_lost_commit_point_is_settled_by_an_abort_decision),
        cmocka_unit_test(fenced_is_unknown),
        cmocka_unit_test(a_resolver_that_was_faster_aborts),
        cmocka_unit_test(without_an_answer_it_asks_on_until_the_time_is_over),
        cmocka_unit_test(giving_up_before_the_decision_is_aborting),
        cmocka_unit_test(degraded_is_done_at_the_commit_point),
        cmocka_unit_test(a_recorded_abort_is_written_down_unless_the_decision_was),
        cmocka_unit_test(a_local_one_is_one_apply),
        cmocka_unit_test(a_recorded_local_one_finds_its_outcome_or_shuts_it_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
