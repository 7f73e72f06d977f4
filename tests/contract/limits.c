/* Batches, keys and values at their limits, and one byte or operation above them. */
#include "contract.h"

#include "base/endian.h"

#include <stdlib.h>
#include <string.h>

static void keys_have_at_most_1024_bytes(void **state) {
    struct contract_world *world = *state;
    static uint8_t key[TS_STORE_KEY_MAX + 1];
    memset(key, 0xff, sizeof key);
    struct ts_op op = {.kind = TS_OP_PUT, .key = {key, TS_STORE_KEY_MAX}, .value = B("v")};
    struct ts_call call = contract_run_apply(world->store, &op, 1, contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_OK);
    op.key.len++;
    call = contract_run_apply(world->store, &op, 1, contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_TOO_LARGE);
    assert_string_equal(call.error.sqlstate, "54000");
    const struct ts_bytes keys[] = {{key, TS_STORE_KEY_MAX}, {key, TS_STORE_KEY_MAX + 1}};
    struct ts_call read = {.kind = TS_CALL_READ, .keys = keys, .key_count = 1, .rows = &world->rows};
    (void)ts_store_run(world->store, &read);
    expect_result(&read, TS_STORE_OK);
    assert_true(ts_bytes_equal(world->rows.rows[0].value, B("v")));
    read.key_count = 2;
    (void)ts_store_run(world->store, &read);
    expect_result(&read, TS_STORE_TOO_LARGE);
    /* Prepares and commits a put of the longest key. Then scans from this key. */
    op.key.len--;
    call = contract_run_prepare(world->store, "g", &op, 1);
    expect_result(&call, TS_STORE_OK);
    contract_reopen(world);
    expect_commit(world->store, TS_STORE_OK, "g");
    struct ts_call scan = {.kind = TS_CALL_SCAN, .from = keys[0], .limit = 5, .rows = &world->rows};
    (void)ts_store_run(world->store, &scan);
    expect_result(&scan, TS_STORE_OK);
    assert_int_equal(world->rows.count, 1);
    scan.from = keys[1];
    (void)ts_store_run(world->store, &scan);
    expect_result(&scan, TS_STORE_OK);
    assert_int_equal(world->rows.count, 0);
    /* The first scan ends at the longest key, which is excluded. The second scan ends at the next key. */
    scan.from = B("a");
    scan.to = keys[0];
    (void)ts_store_run(world->store, &scan);
    expect_result(&scan, TS_STORE_OK);
    assert_int_equal(world->rows.count, 0);
    scan.to = keys[1];
    (void)ts_store_run(world->store, &scan);
    expect_result(&scan, TS_STORE_OK);
    assert_int_equal(world->rows.count, 1);
}

static void values_have_at_most_16_mebibytes(void **state) {
    struct contract_world *world = *state;
    const size_t most = TS_STORE_VALUE_MAX;
    uint8_t *value = malloc(most + 1);
    assert_non_null(value);
    for (size_t i = 0; i + 4 <= most; i += 4)
        ts_le32_store((uint32_t)(i * 2654435761u), value + i);
    struct ts_op op = {.kind = TS_OP_PUT, .key = B("large"), .value = {value, most + 1}};
    struct ts_call call = contract_run_apply(world->store, &op, 1, contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_TOO_LARGE);
    expect_content(world, "large", NULL);
    op.value.len = most;
    call = contract_run_apply(world->store, &op, 1, contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_OK);
    contract_reopen(world);
    assert_int_not_equal(contract_version(world, "large"), 0);
    assert_true(ts_bytes_equal(world->rows.rows[0].value, op.value));
    free(value);
}

static void a_batch_has_at_most_64_mebibytes(void **state) {
    struct contract_world *world = *state;
    const size_t len = TS_STORE_VALUE_MAX;
    uint8_t *value = calloc(1, len);
    assert_non_null(value);
    /* The four values and the four one-byte keys together are one byte too long. The batch fits if the last
     * value is shorter than the others by the length of all keys. */
    struct ts_op ops[] = {{.kind = TS_OP_PUT, .key = B("a"), .value = {value, len}},
                          {.kind = TS_OP_PUT, .key = B("b"), .value = {value, len}},
                          {.kind = TS_OP_PUT, .key = B("c"), .value = {value, len}},
                          {.kind = TS_OP_PUT, .key = B("d"), .value = {value, len - 3}}};
    struct ts_call call = contract_run_apply(world->store, ops, 4, contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_TOO_LARGE);
    ops[3].value.len = len - 4;
    call = contract_run_prepare(world->store, "g", ops, 4);
    expect_result(&call, TS_STORE_OK);
    contract_reopen(world);
    expect_commit(world->store, TS_STORE_OK, "g");
    assert_int_not_equal(contract_version(world, "d"), 0);
    assert_int_equal(world->rows.rows[0].value.len, len - 4);
    free(value);
}

static void a_batch_has_at_most_100000_operations(void **state) {
    struct contract_world *world = *state;
    const size_t most = TS_STORE_BATCH_OPS_MAX;
    struct ts_op *ops = calloc(most + 1, sizeof *ops);
    uint8_t *keys = malloc((most + 1) * 5);
    assert_non_null(ops);
    assert_non_null(keys);
    for (size_t i = 0; i <= most; i++) {
        /* The keys are not sorted. No key begins with the zero byte, which is reserved. */
        keys[5 * i] = 'k';
        ts_be32_store((uint32_t)(i * 2654435761u), keys + 5 * i + 1);
        ops[i] = (struct ts_op){.kind = TS_OP_PUT, .key = {keys + 5 * i, 5}, .value = {keys + 5 * i, 5}};
    }
    struct ts_call call =
        contract_run_apply(world->store, ops, most + 1, contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_TOO_LARGE);
    call = contract_run_apply(world->store, ops, most, contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_OK);
    struct ts_call scan = {.kind = TS_CALL_SCAN, .limit = most + 1, .rows = &world->rows};
    (void)ts_store_run(world->store, &scan);
    expect_result(&scan, TS_STORE_OK);
    assert_int_equal(world->rows.count, most);
    assert_false(world->rows.more);
    call = contract_run_prepare(world->store, "g", ops, most);
    expect_result(&call, TS_STORE_OK);
    expect_abort(world->store, TS_STORE_OK, "g");
    free(ops);
    free(keys);
}

static void a_gid_has_at_most_160_characters(void **state) {
    struct contract_world *world = *state;
    char gid[TS_STORE_GID_MAX + 2];
    memset(gid, 'g', sizeof gid);
    gid[TS_STORE_GID_MAX + 1] = '\0';
    expect_prepare(world->store, TS_STORE_BAD_BATCH, gid, contract_put("a", "1"));
    gid[TS_STORE_GID_MAX] = '\0';
    expect_prepare(world->store, TS_STORE_OK, gid, contract_put("a", "1"));
    contract_reopen(world);
    assert_int_equal(contract_promises(world), 1);
    assert_int_equal(world->rows.rows[0].key.len, TS_STORE_GID_MAX);
    expect_commit(world->store, TS_STORE_OK, gid);
}

static void odd_characters_in_a_gid_are_harmless(void **state) {
    struct contract_world *world = *state;
    expect_prepare(world->store, TS_STORE_OK, "it's; \"odd\" \\ %s $1 --", contract_put("a", "1"));
    assert_int_equal(contract_promises(world), 1);
    assert_true(ts_bytes_equal(world->rows.rows[0].key, B("it's; \"odd\" \\ %s $1 --")));
    expect_commit(world->store, TS_STORE_OK, "it's; \"odd\" \\ %s $1 --");
    expect_content(world, "a", "1");
}

const struct CMUnitTest contract_limit_tests[] = {
    contract_test(keys_have_at_most_1024_bytes),
    contract_test(values_have_at_most_16_mebibytes),
    contract_test(a_batch_has_at_most_64_mebibytes),
    contract_test(a_batch_has_at_most_100000_operations),
    contract_test(a_gid_has_at_most_160_characters),
    contract_test(odd_characters_in_a_gid_are_harmless),
    {0},
};
