/* Reads of many keys: order, pages, bounds, bytes. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 500 };

static void fill(struct ts_store *store) {
    static struct ts_op ops[MANY];
    static char keys[MANY][8];
    for (int i = 0; i < MANY; i++) {
        snprintf(keys[i], sizeof keys[i], "k%04d", i);
        ops[i] = contract_put(keys[i], keys[i]);
    }
    const struct ts_call call = contract_run_apply(store, ops, MANY, contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_OK);
}

static void scan(struct contract_world *world, struct ts_bytes from, struct ts_bytes to, size_t limit) {
    struct ts_call call = {.kind = TS_CALL_SCAN,
                           .from = from,
                           .to = to,
                           .limit = limit,
                           .rows = &world->rows,
                           .deadline_ns = contract_deadline_ns(CONTRACT_LONG_MS)};
    (void)ts_store_run(world->store, &call);
    expect_result(&call, TS_STORE_OK);
}

static void pages_of_any_size_give_every_row_once(void **state) {
    struct contract_world *world = *state;
    fill(world->store);
    static const size_t sizes[] = {1, 7, 100, MANY - 1, MANY, MANY + 1};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        char after[8] = "k";
        size_t after_len = 1, seen = 0;
        bool more = true;
        while (more) {
            scan(world, ts_bytes_of(after, after_len), (struct ts_bytes){0}, sizes[s]);
            for (size_t i = 0; i < world->rows.count; i++, seen++) {
                char expected[8];
                snprintf(expected, sizeof expected, "k%04zu", seen);
                assert_true(ts_bytes_equal(world->rows.rows[i].key, contract_text(expected)));
                assert_true(ts_bytes_equal(world->rows.rows[i].value, contract_text(expected)));
                assert_int_not_equal(world->rows.rows[i].version, 0);
            }
            more = world->rows.more;
            assert_true(!more || world->rows.count == sizes[s]);
            /* The next page begins at the smallest key after the last key: the last key plus a zero byte. */
            if (world->rows.count > 0) {
                struct ts_bytes last = world->rows.rows[world->rows.count - 1].key;
                memcpy(after, last.data, last.len);
                after[last.len] = '\0';
                after_len = last.len + 1;
            }
        }
        assert_int_equal(seen, MANY);
    }
}

static void bounds_take_the_first_and_leave_the_last(void **state) {
    struct contract_world *world = *state;
    fill(world->store);
    scan(world, B("k0010"), B("k0020"), 100);
    assert_int_equal(world->rows.count, 10);
    assert_false(world->rows.more);
    assert_true(ts_bytes_equal(world->rows.rows[0].key, B("k0010")));
    assert_true(ts_bytes_equal(world->rows.rows[9].key, B("k0019")));
    scan(world, B("k0010"), B("k0010"), 100);
    assert_int_equal(world->rows.count, 0);
    scan(world, B("k0020"), B("k0010"), 100);
    assert_int_equal(world->rows.count, 0);
    scan(world, B("k9"), (struct ts_bytes){0}, 100);
    assert_int_equal(world->rows.count, 0);
    scan(world, (struct ts_bytes){0}, (struct ts_bytes){0}, 3);
    assert_int_equal(world->rows.count, 3);
    assert_true(world->rows.more);
    scan(world, B("k0499"), (struct ts_bytes){0}, 1);
    assert_int_equal(world->rows.count, 1);
}

static void keys_and_values_are_any_bytes_and_sort_as_such(void **state) {
    struct contract_world *world = *state;
    enum { BYTES = 256 };
    static uint8_t bytes[BYTES][3];
    static struct ts_op ops[2 * BYTES];
    for (size_t i = 0; i < BYTES; i++) {
        bytes[i][0] = (uint8_t)i;
        bytes[i][1] = 0;
        bytes[i][2] = (uint8_t)(255 - i);
        ops[2 * i] = (struct ts_op){.kind = TS_OP_PUT, .key = {bytes[i], 1}, .value = {bytes[i], 3}};
        ops[2 * i + 1] = (struct ts_op){.kind = TS_OP_PUT, .key = {bytes[i], 3}, .value = {bytes[i], 1}};
    }
    const struct ts_call call = contract_run_apply(world->store, ops, sizeof ops / sizeof ops[0],
                                                   contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_OK);
    for (int round = 0; round < 2; round++) {
        scan(world, (struct ts_bytes){0}, (struct ts_bytes){0}, 1000);
        assert_int_equal(world->rows.count, 2 * BYTES);
        for (size_t i = 0; i < 2 * BYTES; i++) {
            assert_true(ts_bytes_equal(world->rows.rows[i].key, ops[i].key));
            assert_true(ts_bytes_equal(world->rows.rows[i].value, ops[i].value));
        }
        contract_reopen(world);
    }
}

static void rows_of_a_read_are_in_the_requested_order(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("a", "1"), contract_put("c", "3"));
    const struct ts_bytes keys[] = {B("c"), B("b"), B("a"), B("c")};
    struct ts_call call = {.kind = TS_CALL_READ, .keys = keys, .key_count = 4, .rows = &world->rows};
    (void)ts_store_run(world->store, &call);
    expect_result(&call, TS_STORE_OK);
    assert_int_equal(world->rows.count, 4);
    static const char *const values[] = {"3", "", "1", "3"};
    for (size_t i = 0; i < 4; i++) {
        assert_true(ts_bytes_equal(world->rows.rows[i].key, keys[i]));
        assert_true(ts_bytes_equal(world->rows.rows[i].value, contract_text(values[i])));
        assert_true((world->rows.rows[i].version == 0) == (i == 1));
    }
    assert_true(call.time_ms > 0);
}

static void rows_can_be_used_again(void **state) {
    struct contract_world *world = *state;
    fill(world->store);
    for (size_t limit = 1; limit <= MANY; limit *= 3) {
        scan(world, (struct ts_bytes){0}, (struct ts_bytes){0}, limit);
        assert_int_equal(world->rows.count, limit);
    }
    scan(world, B("x"), (struct ts_bytes){0}, 5);
    assert_int_equal(world->rows.count, 0);
    assert_false(world->rows.more);
}

static void a_scan_ends_before_its_bytes_become_too_many(void **state) {
    struct contract_world *world = *state;
    const size_t len = TS_STORE_VALUE_MAX;
    uint8_t *value = calloc(1, len);
    assert_non_null(value);
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    struct ts_bytes keys[5];
    for (size_t i = 0; i < 5; i++) {
        keys[i] = contract_text(names[i]);
        memset(value, (int)('a' + i), len);
        const struct ts_op op = {.kind = TS_OP_PUT, .key = keys[i], .value = {value, len}};
        const struct ts_call call =
            contract_run_apply(world->store, &op, 1, contract_deadline_ns(CONTRACT_LONG_MS));
        expect_result(&call, TS_STORE_OK);
    }
    free(value);
    scan(world, (struct ts_bytes){0}, (struct ts_bytes){0}, 100);
    assert_true(world->rows.more);
    assert_int_equal(world->rows.count, 3);
    assert_int_equal(world->rows.rows[2].value.len, len);
    assert_int_equal(world->rows.rows[2].value.data[len - 1], 'c');
    struct ts_call call = {.kind = TS_CALL_READ, .keys = keys, .key_count = 5, .rows = &world->rows};
    (void)ts_store_run(world->store, &call);
    expect_result(&call, TS_STORE_TOO_LARGE);
    assert_int_equal(world->rows.count, 0);
}

const struct CMUnitTest contract_scan_tests[] = {
    contract_test(pages_of_any_size_give_every_row_once),
    contract_test(bounds_take_the_first_and_leave_the_last),
    contract_test(keys_and_values_are_any_bytes_and_sort_as_such),
    contract_test(rows_of_a_read_are_in_the_requested_order),
    contract_test(rows_can_be_used_again),
    contract_test(a_scan_ends_before_its_bytes_become_too_many),
    {0},
};
