/*
 * For each rule of the protocol, there is a history that is incorrect without the rule. The histories were
 * found by exploring every interleaving of one transaction. Here the real machines follow them on stores in
 * memory: each history is correct with its rule, and incorrect without it.
 *
 * C is the coordinator, D is the decider on store 0, and A is the participant on store 1.
 */
#include "support/cmocka.h"

#include "world.h"

static struct world world;

enum { A = 1, D = 0, C = 0, R = 1, RUN = 0 };

static const uint32_t both[] = {D, A};

static void start(struct txn__taken taken) {
    world_init(&world, taken);
    coordinator_start(&world, C);
    assert_int_equal(coordinator_begin(&world, C, both, 2), RUN);
}

/* Sends C's next request. Expects that this request is `wish`. */
static struct message *c_sends(enum txn__wish wish) {
    struct message *message = coordinator_send(&world, C, RUN);
    assert_non_null(message);
    assert_int_equal(message->wish, wish);
    return message;
}

static void answered(struct message *message) {
    message_arrive(&world, message);
    message_answer(&world, message);
}

/* Lets C continue as far as possible. Every call is answered at once. */
static void c_goes_on(void) {
    struct message *message;
    while ((message = coordinator_send(&world, C, RUN)) != NULL)
        answered(message);
}

static void r_goes_on(void) {
    while (world.resolvers[R].busy)
        answered(resolver_send(&world, R));
}

/* Ends a history: lets a resolver settle all promises, and checks the world. Returns NULL, or the
 * violation. */
static const char *end(void) {
    resolver_pass(&world, true);
    const char *what = world_broken(&world, true);
    world_release(&world);
    return what;
}

static void a_prepares(void) {
    answered(c_sends(TXN__WISH_PREPARE));
}

/* Advances the time, so that the promise is older than the total timeout of its coordinator, which is
 * alive. */
static void time_passes(void) {
    world.now_ms += TOTAL_MS + 1000;
    coordinator_beat(&world, C);
}

static const char *readonly(struct txn__taken taken) {
    start(taken);
    a_prepares();
    struct message *decision = c_sends(TXN__WISH_DECIDE);
    message_give_up(&world, decision);
    c_goes_on();
    message_arrive(&world, decision);
    return end();
}

static const char *nolow(struct txn__taken taken) {
    start(taken);
    a_prepares();
    struct message *decision = c_sends(TXN__WISH_DECIDE);
    time_passes();
    assert_true(resolver_begin(&world, R, A, 0, false));
    answered(resolver_send(&world, R));
    assert_int_equal(world.resolvers[R].resolve.wish, TXN__WISH_REFUSE);
    answered(decision);
    c_goes_on();
    coordinator_clean(&world, C);
    r_goes_on();
    return end();
}

static const char *rmabort(struct txn__taken taken) {
    return readonly(taken);
}

static const char *nofence(struct txn__taken taken) {
    start(taken);
    a_prepares();
    struct message *decision = c_sends(TXN__WISH_DECIDE);
    coordinator_crash(&world, C);
    fence(&world, &world.txns[0].gid.coordinator, D);
    resolver_pass(&world, false);
    message_arrive(&world, decision);
    return end();
}

static const char *rmtomb(struct txn__taken taken) {
    start(taken);
    a_prepares();
    struct message *decision = c_sends(TXN__WISH_DECIDE);
    message_give_up(&world, decision);
    c_goes_on();
    sweep(&world, D);
    message_arrive(&world, decision);
    return end();
}

static const char *c_unchecked(struct txn__taken taken) {
    start(taken);
    a_prepares();
    struct message *decision = c_sends(TXN__WISH_DECIDE);
    message_arrive(&world, decision);
    message_give_up(&world, decision);
    fence(&world, &world.coordinators[C].uuid, D);
    resolver_pass(&world, false);
    sweep(&world, D);
    c_goes_on();
    assert_true(world.txns[0].said_anything);
    if (taken.rules == 0)
        assert_int_equal(world.txns[0].said, TS_TXN_UNKNOWN);
    return end();
}

static const char *r_unchecked(struct txn__taken taken) {
    start(taken);
    a_prepares();
    answered(c_sends(TXN__WISH_DECIDE));
    coordinator_crash(&world, C);
    world.now_ms += TOTAL_MS + 1000;
    assert_true(resolver_begin(&world, R, A, 0, false));
    fence(&world, &world.txns[0].gid.coordinator, D);
    resolver_pass(&world, false);
    sweep(&world, D);
    r_goes_on();
    return end();
}

static const char *keep_below(struct txn__taken taken) {
    start(taken);
    struct message *prepare = c_sends(TXN__WISH_PREPARE);
    message_give_up(&world, prepare);
    c_goes_on();
    assert_int_equal(world.txns[0].said, TS_TXN_ABORTED);
    message_arrive(&world, prepare);
    coordinator_clean(&world, C);
    for (int pass = 0; pass < 3; pass++) {
        time_passes();
        resolver_pass(&world, false);
    }
    const char *what = world_broken(&world, true);
    world_release(&world);
    return what;
}

static const char *nosync(struct txn__taken taken) {
    start(taken);
    c_goes_on();
    assert_int_equal(world.txns[0].said, TS_TXN_COMMITTED);
    coordinator_clean(&world, C);
    world_lose_power(&world);
    return end();
}

static const char *no_reread(struct txn__taken taken) {
    start(taken);
    a_prepares();
    struct message *decision = c_sends(TXN__WISH_DECIDE);
    world.now_ms += TXN__DEAD_MS + 1000;
    assert_true(resolver_begin(&world, R, A, 0, false));
    answered(resolver_send(&world, R));
    assert_int_equal(world.resolvers[R].resolve.wish, TXN__WISH_FENCE);
    message_arrive(&world, decision);
    r_goes_on();
    return end();
}

static const char *resend(struct txn__taken taken) {
    start(taken);
    struct message *prepare = c_sends(TXN__WISH_PREPARE);
    message_give_up(&world, prepare);
    c_goes_on();
    message_arrive(&world, prepare);
    return end();
}

/* Expects that the history is correct with all rules, and has this violation without the rule. */
static void expect(const char *(*history)(struct txn__taken), enum txn__rule rule, const char *trouble) {
    const char *as_designed = history((struct txn__taken){0});
    if (as_designed != NULL)
        fail_msg("as designed: %s", as_designed);
    const char *without = history((struct txn__taken){UINT32_C(1) << rule});
    assert_non_null(without);
    if (strncmp(without, trouble, strlen(trouble)) != 0)
        fail_msg("expected \"%s\", found \"%s\"", trouble, without);
}

/* The transaction is aborted, and the low-water mark has passed it. Then its commit decision reaches the
 * decider. */
static const char *rmlow(struct txn__taken taken) {
    start(taken);
    a_prepares();
    struct message *decision = c_sends(TXN__WISH_DECIDE);
    message_give_up(&world, decision);
    c_goes_on();
    coordinator_clean(&world, C);
    message_arrive(&world, decision);
    return end();
}

/* The transaction is decided, and its coordinator is fenced. Then a sweep cannot reach A. */
static const char *half_finished(struct txn__taken taken) {
    start(taken);
    a_prepares();
    answered(c_sends(TXN__WISH_DECIDE));
    coordinator_crash(&world, C);
    fence(&world, &world.txns[0].gid.coordinator, D);
    world.away[A] = true;
    sweep(&world, D);
    world.away[A] = false;
    return end();
}

/* The transaction is decided, but A has not received the commit when C leaves. */
static const char *leave(struct txn__taken taken) {
    start(taken);
    a_prepares();
    answered(c_sends(TXN__WISH_DECIDE));
    message_give_up(&world, c_sends(TXN__WISH_COMMIT));
    assert_false(world.coordinators[C].runs[RUN].used);
    coordinator_leave(&world, C);
    return end();
}

#define HISTORY(name, function, rule, trouble)                                                               \
    static void name(void **state) {                                                                         \
        (void)state;                                                                                         \
        expect(function, rule, trouble);                                                                     \
    }

HISTORY(readonly_a_lost_decision_is_settled_by_writing_not_by_reading, readonly, TXN__RULE_READONLY,
        "said aborted, but applied")
HISTORY(nolow_a_resolvers_abort_decision_checks_the_mark, nolow, TXN__RULE_NOLOW,
        "an abort decision for a committed transaction")
HISTORY(rmabort_a_coordinator_keeps_its_abort_decisions, rmabort, TXN__RULE_RMABORT,
        "said aborted, but applied")
HISTORY(nofence_the_commit_point_checks_the_registration, nofence, TXN__RULE_NOFENCE, "half applied")
HISTORY(rmtomb_an_abort_decision_stays_until_its_coordinator_is_fenced, rmtomb, TXN__RULE_RMTOMB,
        "said aborted, but applied")
HISTORY(c_unchecked_a_coordinators_abort_decision_checks_its_registration, c_unchecked, TXN__RULE_C_UNCHECKED,
        "said aborted, but applied")
HISTORY(r_unchecked_a_resolvers_abort_decision_checks_the_registration, r_unchecked, TXN__RULE_R_UNCHECKED,
        "an abort decision for a committed transaction")
HISTORY(keep_below_a_promise_below_the_mark_is_aborted, keep_below, TXN__RULE_KEEP_BELOW,
        "a promise that nobody settles")
HISTORY(nosync_a_commit_decision_stays_until_its_participants_have_synced, nosync, TXN__RULE_NOSYNC,
        "half applied")
HISTORY(no_reread_after_fencing_the_decision_is_read_again, no_reread, TXN__RULE_NO_REREAD, "half applied")
HISTORY(resend_a_prepare_is_sent_once, resend, TXN__RULE_RESEND, "applied twice")
HISTORY(rmlow_an_abort_decision_stays_when_the_mark_passes_it, rmlow, TXN__RULE_RMLOW,
        "said aborted, but applied")
HISTORY(half_finished_a_sweep_keeps_what_a_participant_did_not_answer_for, half_finished,
        TXN__RULE_HALF_FINISHED, "half applied")
HISTORY(leave_who_has_something_under_way_stays_registered, leave, TXN__RULE_LEAVE,
        "a decision that nobody will remove")

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readonly_a_lost_decision_is_settled_by_writing_not_by_reading),
        cmocka_unit_test(nolow_a_resolvers_abort_decision_checks_the_mark),
        cmocka_unit_test(rmabort_a_coordinator_keeps_its_abort_decisions),
        cmocka_unit_test(nofence_the_commit_point_checks_the_registration),
        cmocka_unit_test(rmtomb_an_abort_decision_stays_until_its_coordinator_is_fenced),
        cmocka_unit_test(c_unchecked_a_coordinators_abort_decision_checks_its_registration),
        cmocka_unit_test(r_unchecked_a_resolvers_abort_decision_checks_the_registration),
        cmocka_unit_test(keep_below_a_promise_below_the_mark_is_aborted),
        cmocka_unit_test(nosync_a_commit_decision_stays_until_its_participants_have_synced),
        cmocka_unit_test(no_reread_after_fencing_the_decision_is_read_again),
        cmocka_unit_test(resend_a_prepare_is_sent_once),
        cmocka_unit_test(rmlow_an_abort_decision_stays_when_the_mark_passes_it),
        cmocka_unit_test(half_finished_a_sweep_keeps_what_a_participant_did_not_answer_for),
        cmocka_unit_test(leave_who_has_something_under_way_stays_registered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
