#include "store/contract/rows.h"

#include "base/bytes.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static void add(struct ts_rows *rows, struct ts_bytes key, struct ts_bytes value, uint64_t version) {
    const struct ts_row row = {.key = key, .value = value, .version = version};
    assert_true(store__rows_add(rows, &row));
}

static void rows_keep_copies_of_any_length(void **state) {
    (void)state;
    struct ts_rows rows = {0};
    enum { MANY = 300 };
    uint8_t *bytes = malloc(MANY * MANY);
    assert_non_null(bytes);
    for (size_t i = 0; i < MANY; i++) {
        memset(bytes, (int)i, i * i);
        add(&rows, ts_bytes_of(bytes, i), ts_bytes_of(bytes, i * i), i);
    }
    memset(bytes, 0xee, MANY * MANY);
    assert_int_equal(rows.count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        const struct ts_row *row = &rows.rows[i];
        assert_int_equal(row->version, i);
        assert_int_equal(row->key.len, i);
        assert_int_equal(row->value.len, i * i);
        for (size_t j = 0; j < row->value.len; j++)
            assert_int_equal(row->value.data[j], (uint8_t)i);
    }
    ts_rows_release(&rows);
    free(bytes);
}

static void cleared_rows_are_empty_and_keep_their_memory(void **state) {
    (void)state;
    struct ts_rows rows = {0};
    ts_rows_clear(&rows);
    for (int round = 0; round < 50; round++) {
        for (uint64_t i = 1; i <= 100; i++)
            add(&rows, TS_BYTES("key"), TS_BYTES("some value"), i);
        rows.more = true;
        struct ts_row *at = rows.rows;
        ts_rows_clear(&rows);
        assert_int_equal(rows.count, 0);
        assert_false(rows.more);
        assert_ptr_equal(rows.rows, at);
        assert_non_null(rows.memory);
    }
    ts_rows_release(&rows);
}

static void releasing_takes_nothing_and_twice(void **state) {
    (void)state;
    struct ts_rows rows = {0};
    ts_rows_release(NULL);
    ts_rows_release(&rows);
    add(&rows, (struct ts_bytes){0}, (struct ts_bytes){0}, 0);
    assert_int_equal(rows.rows[0].key.len, 0);
    ts_rows_release(&rows);
    ts_rows_release(&rows);
    assert_null(rows.rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_keep_copies_of_any_length),
        cmocka_unit_test(cleared_rows_are_empty_and_keep_their_memory),
        cmocka_unit_test(releasing_takes_nothing_and_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
