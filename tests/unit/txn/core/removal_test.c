#include "support/cmocka.h"

#include "txn/core/removal.h"

#include "txn/core/batches.h"
#include "txn/core/resolve.h"

enum { ROWS = 5 };

static const struct txn__uuid uuid = {{7}};
static const struct txn__taken none;

/* The rows of a page of decisions. The sequences of the decisions begin at 1. */
static struct ts_row page_rows[ROWS];
static struct txn__key page_keys[ROWS];
static uint8_t page_values[ROWS][TXN__DECISION_MAX];
static struct ts_rows page;
static struct ts_op ops[ROWS];

static int fresh(void **state) {
    (void)state;
    page = (struct ts_rows){.rows = page_rows};
    return 0;
}

static void add_row(size_t len) {
    size_t i = page.count++;
    txn__key_decision(&uuid, i + 1, &page_keys[i]);
    page_rows[i] = (struct ts_row){
        .key = txn__key_bytes(&page_keys[i]), .value = ts_bytes_of(page_values[i], len), .version = 9};
}

static struct txn__places places_of(uint32_t first, uint32_t second) {
    struct txn__places places = {{0}};
    txn__places_add(&places, first);
    txn__places_add(&places, second);
    return places;
}

static void add_commit(uint32_t first, uint32_t second) {
    struct txn__places participants = places_of(first, second);
    add_row(txn__commit_encode(&participants, page_values[page.count]));
}

static void add_abort(void) {
    add_row(txn__abort_encode(page_values[page.count]));
}

static void add_damaged(void) {
    memset(page_values[page.count], 0xee, 12);
    add_row(12);
}

/* Returns the sequences of the deleted decisions, one digit for each. */
static const char *deleted(size_t count) {
    static char text[ROWS + 1];
    for (size_t i = 0; i < count; i++) {
        struct txn__uuid found;
        uint64_t sequence;
        assert_int_equal(ops[i].kind, TS_OP_DEL);
        assert_true(txn__key_is_decision(ops[i].key, &found, &sequence));
        text[i] = (char)('0' + sequence);
    }
    text[count] = '\0';
    return text;
}

/* Asks all stores of the round. All of them answer, except the store `away`. */
static void ask_all(struct txn__round *round, uint32_t away) {
    for (uint32_t place; txn__round_next(round, &place);)
        txn__round_reply(round, place, place == away ? TS_STORE_UNAVAILABLE : TS_STORE_OK);
}

enum { NOBODY = 99 };

static const char *swept(bool fenced, uint32_t away_at_commit, uint32_t away_at_sync) {
    struct txn__sweep sweep;
    struct txn__round round;
    struct txn__gid gid = {.decider = 0};
    txn__sweep_init(&sweep, &page, fenced, none);
    while (txn__sweep_next(&sweep, &gid, &round)) {
        assert_memory_equal(&gid.coordinator, &uuid, sizeof(struct txn__uuid));
        ask_all(&round, away_at_commit);
        txn__sweep_finished(&sweep, &round);
    }
    txn__sweep_syncs(&sweep, &round);
    ask_all(&round, away_at_sync);
    return deleted(txn__sweep_dels(&sweep, &round, ops));
}

static void a_round_asks_every_store_once_and_remembers_the_answers(void **state) {
    (void)state;
    struct txn__places places = places_of(2, TS_TXN_PLACES_MAX - 1);
    txn__places_add(&places, 70);
    struct txn__round round;
    uint32_t place = 0;
    txn__round_init(&round, TXN__ERRAND_SYNC, &places);
    assert_true(txn__round_next(&round, &place));
    assert_int_equal(place, 2);
    txn__round_reply(&round, place, TS_STORE_OK);
    assert_false(round.failed);
    assert_true(txn__round_next(&round, &place));
    assert_int_equal(place, 70);
    txn__round_reply(&round, place, TS_STORE_UNKNOWN);
    assert_true(txn__round_next(&round, &place));
    assert_int_equal(place, TS_TXN_PLACES_MAX - 1);
    txn__round_reply(&round, place, TS_STORE_OK);
    assert_false(txn__round_next(&round, &place));
    assert_true(round.failed);
    assert_true(txn__places_have(&round.done, 2));
    assert_false(txn__places_have(&round.done, 70));
    assert_true(txn__places_have(&round.done, TS_TXN_PLACES_MAX - 1));
}

static void a_promise_that_is_gone_was_finished_but_a_sync_has_to_be_made(void **state) {
    (void)state;
    struct txn__places places = places_of(1, 1);
    for (int errand = TXN__ERRAND_COMMIT; errand <= TXN__ERRAND_SYNC; errand++) {
        struct txn__round round;
        uint32_t place;
        txn__round_init(&round, (enum txn__errand)errand, &places);
        assert_true(txn__round_next(&round, &place));
        txn__round_reply(&round, place, TS_STORE_NO_SUCH_PROMISE);
        assert_int_equal(round.failed, errand == TXN__ERRAND_SYNC);
    }
}

static void decisions_of_registered_coordinators_stay(void **state) {
    (void)state;
    for (int fenced = 0; fenced < 2; fenced++) {
        for (int finished = 0; finished < 2; finished++) {
            struct txn__removal removal = {TXN__DECISION_COMMIT, .fenced = fenced,
                                           .finished_synced = finished};
            assert_int_equal(txn__may_remove(&removal), fenced && finished);
            removal.decision = TXN__DECISION_ABORT;
            assert_int_equal(txn__may_remove(&removal), fenced);
            removal.decision = TXN__DECISION_NONE;
            assert_false(txn__may_remove(&removal));
        }
    }
}

static void the_dead_are_fenced_the_living_left_and_what_is_fenced_is_swept(void **state) {
    (void)state;
    struct txn__look look = {.registration = {TXN__REGISTERED, .total_timeout_ms = 1000},
                             .heartbeat_ms = 1000000,
                             .now_ms = 1000000 + TXN__DEAD_MS};
    struct txn__sweep_options dead_only = {.fence_all = false};
    struct txn__sweep_options everybody = {.fence_all = true};
    assert_int_equal(txn__sweep_wish(&look, &dead_only), TXN__SWEEP_LEAVE);
    assert_int_equal(txn__sweep_wish(&look, &everybody), TXN__SWEEP_FENCE);
    look.now_ms++;
    assert_int_equal(txn__sweep_wish(&look, &dead_only), TXN__SWEEP_FENCE);
    look.registration = (struct txn__registration){TXN__FENCED, .fenced_at_ms = 5};
    assert_int_equal(txn__sweep_wish(&look, &dead_only), TXN__SWEEP_REMOVE);
    look.registration.state = TXN__NOT_REGISTERED;
    assert_int_equal(txn__sweep_wish(&look, &dead_only), TXN__SWEEP_REMOVE);
    look.damaged = true;
    assert_int_equal(txn__sweep_wish(&look, &everybody), TXN__SWEEP_LEAVE);
}

static void a_sweep_removes_what_is_finished_and_synced(void **state) {
    (void)state;
    add_commit(1, 2);
    add_abort();
    add_commit(2, 3);
    assert_string_equal(swept(true, NOBODY, NOBODY), "123");
}

static void a_sweep_keeps_the_commits_of_a_participant_that_did_not_answer(void **state) {
    (void)state;
    add_commit(1, 2);
    add_abort();
    add_commit(2, 3);
    assert_string_equal(swept(true, 1, NOBODY), "23");
    assert_string_equal(swept(true, 2, NOBODY), "2");
}

/* Store 1 does not commit the first transaction. Nevertheless the sweep syncs store 1, because of the second
 * transaction. */
static void a_sweep_keeps_a_commit_that_failed_where_another_succeeded(void **state) {
    (void)state;
    add_commit(1, 2);
    add_commit(1, 2);
    struct txn__sweep sweep;
    struct txn__round round;
    struct txn__gid gid = {.decider = 0};
    txn__sweep_init(&sweep, &page, true, none);
    assert_true(txn__sweep_next(&sweep, &gid, &round));
    ask_all(&round, 1);
    txn__sweep_finished(&sweep, &round);
    assert_true(txn__sweep_next(&sweep, &gid, &round));
    ask_all(&round, NOBODY);
    txn__sweep_finished(&sweep, &round);
    txn__sweep_syncs(&sweep, &round);
    ask_all(&round, NOBODY);
    assert_string_equal(deleted(txn__sweep_dels(&sweep, &round, ops)), "2");
}

static void a_sweep_keeps_the_commits_of_a_participant_that_did_not_sync(void **state) {
    (void)state;
    add_commit(1, 2);
    add_abort();
    add_commit(2, 3);
    assert_string_equal(swept(true, NOBODY, 3), "12");
    assert_string_equal(swept(true, NOBODY, 2), "2");
}

static void a_sweep_touches_nothing_of_one_that_is_not_fenced_and_nothing_damaged(void **state) {
    (void)state;
    add_commit(1, 2);
    add_abort();
    assert_string_equal(swept(false, NOBODY, NOBODY), "");
    add_damaged();
    add_abort();
    assert_string_equal(swept(true, NOBODY, NOBODY), "124");
}

static void a_mark_takes_commits_along_and_leaves_aborts(void **state) {
    (void)state;
    uint64_t upto;
    add_commit(1, 2);
    add_abort();
    add_damaged();
    add_commit(1, 2);
    struct txn__mark_page mark = {.rows = &page, .low = 40};
    assert_string_equal(deleted(txn__mark_dels(&mark, ops, &upto)), "14");
    assert_int_equal(upto, 40);
}

static void a_mark_moves_no_further_than_the_page(void **state) {
    (void)state;
    uint64_t upto;
    add_commit(1, 2);
    add_abort();
    page.more = true;
    struct txn__mark_page mark = {.rows = &page, .low = 40};
    assert_string_equal(deleted(txn__mark_dels(&mark, ops, &upto)), "1");
    assert_int_equal(upto, 3);
}

static void after_deregistering_only_aborts_go(void **state) {
    (void)state;
    add_abort();
    add_commit(1, 2);
    add_damaged();
    add_abort();
    assert_string_equal(deleted(txn__abort_dels(&page, ops)), "14");
}

static void a_coordinator_with_work_left_stays_registered(void **state) {
    (void)state;
    struct txn__mark_list deciders[2] = {{NULL, NULL}, {NULL, NULL}};
    struct txn__marks marks;
    struct txn__entry entry;
    txn__marks_init(&marks, deciders, 2);
    struct txn__standing standing = {.registered = true};
    assert_true(txn__may_deregister(&standing, &marks, 1));
    txn__marks_begin(&marks, &entry, txn__marks_next_sequence(&marks, false), 1);
    assert_false(txn__may_deregister(&standing, &marks, 1));
    assert_true(txn__may_deregister(&standing, &marks, 0));
    txn__marks_end(&marks, &entry);
    assert_true(txn__may_deregister(&standing, &marks, 1));
    standing.dirty = true;
    assert_false(txn__may_deregister(&standing, &marks, 1));
    standing = (struct txn__standing){.registered = true, .fenced = true};
    assert_false(txn__may_deregister(&standing, &marks, 1));
    standing = (struct txn__standing){.registered = false};
    assert_false(txn__may_deregister(&standing, &marks, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_asks_every_store_once_and_remembers_the_answers),
        cmocka_unit_test(a_promise_that_is_gone_was_finished_but_a_sync_has_to_be_made),
        cmocka_unit_test(decisions_of_registered_coordinators_stay),
        cmocka_unit_test(the_dead_are_fenced_the_living_left_and_what_is_fenced_is_swept),
        cmocka_unit_test_setup(a_sweep_removes_what_is_finished_and_synced, fresh),
        cmocka_unit_test_setup(a_sweep_keeps_the_commits_of_a_participant_that_did_not_answer, fresh),
        cmocka_unit_test_setup(a_sweep_keeps_a_commit_that_failed_where_another_succeeded, fresh),
        cmocka_unit_test_setup(a_sweep_keeps_the_commits_of_a_participant_that_did_not_sync, fresh),
        cmocka_unit_test_setup(a_sweep_touches_nothing_of_one_that_is_not_fenced_and_nothing_damaged, fresh),
        cmocka_unit_test_setup(a_mark_takes_commits_along_and_leaves_aborts, fresh),
        cmocka_unit_test_setup(a_mark_moves_no_further_than_the_page, fresh),
        cmocka_unit_test_setup(after_deregistering_only_aborts_go, fresh),
        cmocka_unit_test(a_coordinator_with_work_left_stays_registered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
