#include "support/cmocka.h"

#include "txn/core/keys.h"

static const struct txn__uuid uuid = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

static void keys_are_as_documented(void **state) {
    (void)state;
    static const uint8_t golden[] = {0,  'x', 'd', 1,  2,  3, 4, 5, 6, 7, 8, 9, 10, 11,
                                     12, 13,  14,  15, 16, 0, 0, 0, 0, 0, 0, 1, 2};
    struct txn__key key;
    txn__key_decision(&uuid, 0x102, &key);
    assert_int_equal(key.len, sizeof golden);
    assert_memory_equal(key.bytes, golden, sizeof golden);
    void (*const named[])(const struct txn__uuid *, struct txn__key *) = {txn__key_coordinator,
                                                                          txn__key_heartbeat, txn__key_mark};
    for (size_t i = 0; i < 3; i++) {
        named[i](&uuid, &key);
        assert_int_equal(key.len, 19);
        assert_int_equal(key.bytes[2], "chl"[i]);
        assert_true(txn__key_is_ours(txn__key_bytes(&key)));
    }
}

static void decisions_sort_by_sequence(void **state) {
    (void)state;
    struct txn__key a;
    struct txn__key b;
    txn__key_decision(&uuid, 255, &a);
    txn__key_decision(&uuid, 256, &b);
    assert_true(ts_bytes_compare(txn__key_bytes(&a), txn__key_bytes(&b)) < 0);
}

static void a_scan_continues_just_after_a_key(void **state) {
    (void)state;
    struct txn__key key;
    struct txn__key behind;
    struct txn__key next;
    txn__key_decision(&uuid, 255, &key);
    txn__key_decision(&uuid, 256, &next);
    txn__key_behind(txn__key_bytes(&key), &behind);
    assert_true(ts_bytes_equal(txn__key_bytes(&behind), txn__key_bytes(&next)));
}

static void keys_are_recognised_by_their_kind(void **state) {
    (void)state;
    struct txn__key coordinator;
    struct txn__key decision;
    struct txn__uuid found;
    uint64_t sequence;
    txn__key_coordinator(&uuid, &coordinator);
    txn__key_decision(&uuid, 9, &decision);
    assert_true(txn__key_is_coordinator(txn__key_bytes(&coordinator), &found));
    assert_memory_equal(&found, &uuid, sizeof(struct txn__uuid));
    assert_false(txn__key_is_coordinator(txn__key_bytes(&decision), &found));
    assert_true(txn__key_is_decision(txn__key_bytes(&decision), &found, &sequence));
    assert_int_equal(sequence, 9);
    assert_false(txn__key_is_decision(txn__key_bytes(&coordinator), &found, &sequence));
    assert_false(txn__key_is_ours(TS_BYTES("x")));
    assert_false(txn__key_is_ours(TS_BYTES("\0c")));
}

static void ranges_hold_their_kind_and_nothing_else(void **state) {
    (void)state;
    struct txn__key from;
    struct txn__key to;
    struct txn__key key;
    txn__key_all_decisions(&from, &to);
    txn__key_decision(&uuid, UINT64_MAX, &key);
    assert_true(ts_bytes_compare(txn__key_bytes(&from), txn__key_bytes(&key)) < 0);
    assert_true(ts_bytes_compare(txn__key_bytes(&key), txn__key_bytes(&to)) < 0);
    txn__key_outcome(&uuid, 0, &key);
    assert_true(ts_bytes_compare(txn__key_bytes(&to), txn__key_bytes(&key)) < 0);
    txn__key_coordinator(&uuid, &key);
    assert_true(ts_bytes_compare(txn__key_bytes(&key), txn__key_bytes(&from)) < 0);
    txn__key_all_coordinators(&from, &to);
    assert_true(ts_bytes_compare(txn__key_bytes(&from), txn__key_bytes(&key)) < 0);
    assert_true(ts_bytes_compare(txn__key_bytes(&key), txn__key_bytes(&to)) < 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_as_documented),
        cmocka_unit_test(decisions_sort_by_sequence),
        cmocka_unit_test(a_scan_continues_just_after_a_key),
        cmocka_unit_test(keys_are_recognised_by_their_kind),
        cmocka_unit_test(ranges_hold_their_kind_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
