#include "support/cmocka.h"

#include "txn/core/gid.h"
#include "txn/core/marks.h"

static struct txn__mark_list lists[3];
static struct txn__marks marks;
static struct txn__entry entries[4];

static int fresh(void **state) {
    (void)state;
    memset(lists, 0, sizeof lists);
    memset(entries, 0, sizeof entries);
    txn__marks_init(&marks, lists, 3);
    return 0;
}

static void begin(size_t i, uint32_t decider, uint32_t participant) {
    bool odd = (marks.next_sequence & 1) != 0;
    txn__marks_begin(&marks, &entries[i], txn__marks_next_sequence(&marks, odd), decider);
    txn__places_add(&entries[i].participants, participant);
}

static const struct txn__places none;

static struct txn__places only(uint32_t place) {
    struct txn__places places = {{0}};
    txn__places_add(&places, place);
    return places;
}

static void the_mark_is_the_lowest_unfinished_sequence_of_its_decider(void **state) {
    (void)state;
    assert_int_equal(txn__marks_low(&marks, 0), 1);
    begin(0, 0, 1);
    begin(1, 1, 0);
    begin(2, 0, 1);
    assert_int_equal(txn__marks_low(&marks, 0), 1);
    assert_int_equal(txn__marks_low(&marks, 1), 2);
    assert_int_equal(txn__marks_low(&marks, 2), 4);
    txn__marks_end(&marks, &entries[0]);
    assert_int_equal(txn__marks_low(&marks, 0), 3);
    txn__marks_end(&marks, &entries[2]);
    assert_int_equal(txn__marks_low(&marks, 0), 4);
    assert_int_equal(marks.open_count, 1);
}

static void a_commit_holds_the_mark_until_its_participants_have_synced(void **state) {
    (void)state;
    begin(0, 0, 1);
    struct txn__places pending = only(1);
    txn__marks_committed(&marks, &entries[0], &pending);
    struct txn__places places;
    txn__marks_take_applied(&marks, &places);
    assert_true(txn__places_are_empty(&places)); /* the participant has not applied the commit yet */
    txn__marks_applied(&entries[0], 1);
    txn__marks_take_applied(&marks, &places);
    assert_true(txn__places_have(&places, 1));
    struct txn__entry *gone;
    txn__marks_synced(&marks, &none, &gone); /* the sync failed */
    assert_null(gone);
    assert_int_equal(txn__marks_low(&marks, 0), 1);
    txn__marks_take_applied(&marks, &places);
    txn__marks_synced(&marks, &places, &gone);
    assert_ptr_equal(gone, &entries[0]);
    assert_int_equal(txn__marks_low(&marks, 0), 2);
}

/* The syncs do not cover transactions that were applied after the syncs began. */
static void a_sync_covers_only_what_was_applied_before_it(void **state) {
    (void)state;
    begin(0, 0, 1);
    begin(1, 0, 1);
    txn__marks_committed(&marks, &entries[0], &none);
    struct txn__places places;
    txn__marks_take_applied(&marks, &places);
    txn__marks_committed(&marks, &entries[1], &none);
    struct txn__entry *gone;
    txn__marks_synced(&marks, &places, &gone);
    assert_ptr_equal(gone, &entries[0]);
    assert_null(gone->next);
    assert_int_equal(txn__marks_low(&marks, 0), 2);
}

static void unsettled_ones_hold_the_mark_and_can_be_found(void **state) {
    (void)state;
    begin(0, 2, 1);
    begin(1, 2, 1);
    txn__marks_unsettled(&entries[1]);
    assert_ptr_equal(txn__marks_find(&marks, 2, TXN__ENTRY_UNSETTLED, NULL), &entries[1]);
    assert_null(txn__marks_find(&marks, 2, TXN__ENTRY_UNSETTLED, &entries[1]));
    assert_null(txn__marks_find(&marks, 0, TXN__ENTRY_UNSETTLED, NULL));
    txn__marks_end(&marks, &entries[0]);
    assert_int_equal(txn__marks_low(&marks, 2), 2);
    txn__marks_committed(&marks, &entries[1], &none);
    assert_int_equal(entries[1].state, TXN__ENTRY_APPLIED);
}

/* The name of a transaction shows whether its outcome is recorded. */
static void recorded_global_transactions_have_odd_sequences_and_no_other_has(void **state) {
    (void)state;
    static const bool recorded[] = {false, false, true, true, false, true};
    uint64_t last = 0;
    for (size_t i = 0; i < sizeof recorded / sizeof recorded[0]; i++) {
        struct txn__gid gid = {.sequence = txn__marks_next_sequence(&marks, recorded[i])};
        assert_true(gid.sequence > last);
        assert_int_equal(txn__gid_is_recorded(&gid), recorded[i]);
        last = gid.sequence;
    }
    assert_int_equal(txn__marks_low(&marks, 0), last + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(recorded_global_transactions_have_odd_sequences_and_no_other_has, fresh),
        cmocka_unit_test_setup(the_mark_is_the_lowest_unfinished_sequence_of_its_decider, fresh),
        cmocka_unit_test_setup(a_commit_holds_the_mark_until_its_participants_have_synced, fresh),
        cmocka_unit_test_setup(a_sync_covers_only_what_was_applied_before_it, fresh),
        cmocka_unit_test_setup(unsettled_ones_hold_the_mark_and_can_be_found, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
