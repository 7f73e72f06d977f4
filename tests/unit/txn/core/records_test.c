#include "support/cmocka.h"

#include "base/endian.h"
#include "base/hash64.h"
#include "txn/core/records.h"

static void every_record_comes_back(void **state) {
    (void)state;
    uint8_t bytes[TXN__DECISION_MAX];
    struct txn__registration registration;
    uint64_t number;
    enum txn__decision decision;
    enum txn__recorded outcome;
    struct txn__places places = {{0}};
    struct txn__places back;
    size_t len = txn__registration_encode(30000, bytes);
    assert_int_equal(len, TXN__RECORD_SMALL_MAX);
    assert_true(txn__registration_decode(ts_bytes_of(bytes, len), &registration));
    assert_int_equal(registration.state, TXN__REGISTERED);
    assert_int_equal(registration.total_timeout_ms, 30000);
    len = txn__fence_mark_encode(99, bytes);
    assert_true(txn__registration_decode(ts_bytes_of(bytes, len), &registration));
    assert_int_equal(registration.state, TXN__FENCED);
    assert_int_equal(registration.fenced_at_ms, 99);
    len = txn__heartbeat_encode(UINT64_MAX, bytes);
    assert_true(txn__heartbeat_decode(ts_bytes_of(bytes, len), &number));
    assert_true(number == UINT64_MAX);
    assert_false(txn__mark_decode(ts_bytes_of(bytes, len), &number));
    len = txn__mark_encode(7, bytes);
    assert_true(txn__mark_decode(ts_bytes_of(bytes, len), &number));
    assert_int_equal(number, 7);
    for (uint32_t place = 0; place < TS_TXN_PLACES_MAX; place++) {
        txn__places_add(&places, place);
        len = txn__commit_encode(&places, bytes);
        assert_true(len <= TXN__DECISION_MAX);
        assert_true(txn__decision_decode(ts_bytes_of(bytes, len), &decision, &back));
        assert_int_equal(decision, TXN__DECISION_COMMIT);
        assert_memory_equal(&places, &back, sizeof places);
    }
    len = txn__abort_encode(bytes);
    assert_true(txn__decision_decode(ts_bytes_of(bytes, len), &decision, &back));
    assert_int_equal(decision, TXN__DECISION_ABORT);
    for (enum txn__recorded each = TXN__RECORDED_COMMITTED; each <= TXN__RECORDED_ABORTED; each++) {
        len = txn__outcome_encode(each, bytes);
        assert_true(txn__outcome_decode(ts_bytes_of(bytes, len), &outcome));
        assert_int_equal(outcome, each);
    }
}

static void a_commit_has_the_documented_bytes(void **state) {
    (void)state;
    struct txn__places places = {{0}};
    txn__places_add(&places, 1);
    txn__places_add(&places, 200);
    uint8_t bytes[TXN__DECISION_MAX];
    static const uint8_t golden[] = {1, 'C', 2, 0, 1, 0, 0, 0, 200, 0, 0, 0};
    assert_int_equal(txn__commit_encode(&places, bytes), sizeof golden + 8);
    assert_memory_equal(bytes, golden, sizeof golden);
    assert_true(ts_le64_load(bytes + sizeof golden) == ts_xxh64_of_bytes(ts_bytes_of(golden, sizeof golden)));
}

/* A record with a changed bit, a lost byte, or another format is refused. */
static void damage_is_noticed(void **state) {
    (void)state;
    struct txn__places places = {{6}};
    uint8_t bytes[TXN__DECISION_MAX];
    enum txn__decision decision;
    size_t len = txn__commit_encode(&places, bytes);
    for (size_t bit = 0; bit < len * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(txn__decision_decode(ts_bytes_of(bytes, len), &decision, &places));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t shorter = 0; shorter < len; shorter++)
        assert_false(txn__decision_decode(ts_bytes_of(bytes, shorter), &decision, &places));
    bytes[0] = 2;
    ts_le64_store(ts_xxh64_of_bytes(ts_bytes_of(bytes, len - 8)), bytes + len - 8);
    assert_false(txn__decision_decode(ts_bytes_of(bytes, len), &decision, &places));
    /* The record names a place that no cluster has, with a correct checksum. */
    bytes[0] = 1;
    bytes[5] = 1;
    ts_le64_store(ts_xxh64_of_bytes(ts_bytes_of(bytes, len - 8)), bytes + len - 8);
    assert_false(txn__decision_decode(ts_bytes_of(bytes, len), &decision, &places));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_comes_back),
        cmocka_unit_test(a_commit_has_the_documented_bytes),
        cmocka_unit_test(damage_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
