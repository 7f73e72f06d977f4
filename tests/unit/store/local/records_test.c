#include "store/local/records.h"

#include "base/bytes.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

/* Makes a record as a store keeps it. Returns its length. */
static size_t seal(enum store__space space, struct ts_bytes key, struct ts_bytes body, uint64_t number,
                   uint8_t *ret_stored) {
    struct store__write write = {.space = space, .key = key, .body = body};
    store__record_seal(&write, number);
    memcpy(ret_stored, write.head, STORE_RECORD_HEAD);
    if (body.len > 0)
        memcpy(ret_stored + STORE_RECORD_HEAD, body.data, body.len);
    return STORE_RECORD_HEAD + body.len;
}

static void a_record_comes_back_as_it_was(void **state) {
    (void)state;
    uint8_t stored[64];
    struct store__record record;
    size_t len = seal(STORE_SPACE_DATA, TS_BYTES("key"), TS_BYTES("a value"), 12345, stored);
    assert_true(store__record_open(STORE_SPACE_DATA, TS_BYTES("key"), ts_bytes_of(stored, len), &record));
    assert_int_equal(record.number, 12345);
    assert_true(ts_bytes_equal(record.body, TS_BYTES("a value")));
    len = seal(STORE_SPACE_COUNTER, (struct ts_bytes){0}, (struct ts_bytes){0}, UINT64_MAX, stored);
    assert_int_equal(len, STORE_RECORD_HEAD);
    assert_true(
        store__record_open(STORE_SPACE_COUNTER, (struct ts_bytes){0}, ts_bytes_of(stored, len), &record));
    assert_true(record.number == UINT64_MAX);
}

/* Stores on disk have this layout. Another program computed these bytes, and they never change. */
static void the_layout_is_the_documented_one(void **state) {
    (void)state;
    static const uint8_t expected[] = {0x71, 0x79, 0x94, 0x9c, 0xe0, 0xe4, 0x0c, 0x1c, 7,
                                       0,    0,    0,    0,    0,    0,    0,    'v'};
    uint8_t stored[32];
    assert_int_equal(seal(STORE_SPACE_DATA, TS_BYTES("k"), TS_BYTES("v"), 7, stored), sizeof expected);
    assert_memory_equal(stored, expected, sizeof expected);
}

static void every_flipped_bit_is_noticed(void **state) {
    (void)state;
    uint8_t stored[64];
    struct store__record record;
    size_t len = seal(STORE_SPACE_PROMISE, TS_BYTES("gid"), TS_BYTES("a body"), 99, stored);
    for (size_t bit = 0; bit < 8 * len; bit++) {
        stored[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(
            store__record_open(STORE_SPACE_PROMISE, TS_BYTES("gid"), ts_bytes_of(stored, len), &record));
        stored[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t cut = 0; cut < len; cut++)
        assert_false(
            store__record_open(STORE_SPACE_PROMISE, TS_BYTES("gid"), ts_bytes_of(stored, cut), &record));
}

static void a_record_in_another_place_is_damaged(void **state) {
    (void)state;
    uint8_t stored[64];
    struct store__record record;
    struct ts_bytes whole =
        ts_bytes_of(stored, seal(STORE_SPACE_DATA, TS_BYTES("a"), TS_BYTES("v"), 1, stored));
    assert_true(store__record_open(STORE_SPACE_DATA, TS_BYTES("a"), whole, &record));
    assert_false(store__record_open(STORE_SPACE_DATA, TS_BYTES("b"), whole, &record));
    assert_false(store__record_open(STORE_SPACE_PROMISE, TS_BYTES("a"), whole, &record));
}

enum { ROOM = 256 };

static struct ts_bytes some_promise(uint8_t bytes[ROOM]) {
    uint8_t *at = bytes;
    store__promise_put_head(&at, 77, 3);
    store__promise_put_entry(&at, &(struct store__entry){.kind = STORE_ENTRY_CHECK, .key = TS_BYTES("seen")});
    store__promise_put_entry(
        &at,
        &(struct store__entry){.kind = STORE_ENTRY_PUT, .key = TS_BYTES("put"), .value = TS_BYTES("value")});
    store__promise_put_entry(&at, &(struct store__entry){.kind = STORE_ENTRY_DEL, .key = TS_BYTES("gone")});
    return ts_bytes_of(bytes, (size_t)(at - bytes));
}

static void the_body_of_a_promise_comes_back_as_it_was(void **state) {
    (void)state;
    uint8_t bytes[ROOM];
    struct store__promise_reader reader;
    struct store__entry entry;
    assert_true(store__promise_open(some_promise(bytes), &reader));
    assert_int_equal(reader.version, 77);
    assert_int_equal(reader.count, 3);
    assert_true(store__promise_next(&reader, &entry));
    assert_int_equal(entry.kind, STORE_ENTRY_CHECK);
    assert_true(ts_bytes_equal(entry.key, TS_BYTES("seen")));
    assert_true(store__promise_next(&reader, &entry));
    assert_int_equal(entry.kind, STORE_ENTRY_PUT);
    assert_true(ts_bytes_equal(entry.value, TS_BYTES("value")));
    assert_true(store__promise_next(&reader, &entry));
    assert_int_equal(entry.kind, STORE_ENTRY_DEL);
    assert_false(store__promise_next(&reader, &entry));
    assert_int_equal(reader.count, 0);
    assert_int_equal(reader.rest.len, 0);
}

/* Replaces each byte in turn by some other values. Sanitizers check that nothing is read beyond the end. */
static void a_damaged_body_is_read_without_harm(void **state) {
    (void)state;
    static const uint8_t others[] = {0, 1, 2, 3, 0x7f, 0x80, 0xff};
    uint8_t bytes[ROOM];
    size_t len = some_promise(bytes).len;
    for (size_t at = 0; at < len; at++) {
        for (size_t i = 0; i < sizeof others; i++) {
            uint8_t *copy = malloc(len);
            assert_non_null(copy);
            memcpy(copy, bytes, len);
            copy[at] = others[i];
            struct store__promise_reader reader;
            struct store__entry entry;
            uint64_t seen = 0;
            if (store__promise_open(ts_bytes_of(copy, len), &reader))
                while (store__promise_next(&reader, &entry))
                    for (size_t j = 0; j < entry.key.len + entry.value.len; j++)
                        seen += j < entry.key.len ? entry.key.data[j] : entry.value.data[j - entry.key.len];
            assert_true(seen < UINT64_MAX);
            free(copy);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_comes_back_as_it_was),
        cmocka_unit_test(the_layout_is_the_documented_one),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(a_record_in_another_place_is_damaged),
        cmocka_unit_test(the_body_of_a_promise_comes_back_as_it_was),
        cmocka_unit_test(a_damaged_body_is_read_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
