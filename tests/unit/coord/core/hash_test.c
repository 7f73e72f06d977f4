/* The literals were computed with another implementation of BLAKE3, from the layouts in
 * docs/formats/coord.md. */
#include "coord/core/hash.h"

#include "base/blake3.h"
#include "base/endian.h"
#include "support/cmocka.h"

static const struct ts_shard_key shard = {{7}, {3}};

static void payload_hashes_are_those_of_the_document(void **state) {
    (void)state;
    const struct ts_cursor both = {true, true, TS_BYTES_INIT("key"), TS_BYTES_INIT("token")};
    const struct ts_cursor key_only = {.has_key = true, .last_key = TS_BYTES_INIT("key")};
    assert_true(ts_payload_hash_cursor(TS_SHARD_OP_CHECKPOINT, shard, &both).v ==
                UINT64_C(0xbb9e23ef7b323bb5));
    assert_true(ts_payload_hash_cursor(TS_SHARD_OP_COMPLETE, shard, &key_only).v ==
                UINT64_C(0x7fcf2c78dae0c710));
    assert_true(ts_payload_hash_park(shard, TS_PARK_POISONED).v == UINT64_C(0xb01f50472ab98ac7));
    assert_true(ts_payload_hash_release(shard, TS_BLAME_SHARD).v == UINT64_C(0xc0f98b0c9064b8b3));
    assert_true(ts_payload_hash_unpark(shard).v == UINT64_C(0x3c4995fdf5a249c9));
    assert_true(ts_payload_hash_end_run(TS_RUN_OP_FAIL_RUN, shard.run).v == UINT64_C(0xf61333fe6ae799a3));
}

static void payload_hashes_of_lists_are_those_of_the_document(void **state) {
    (void)state;
    const struct ts_new_shard children[] = {
        {.spec = {.range = {TS_BYTES_INIT("b"), TS_BYTES_INIT("m")}}},
        {.spec = {.range = {TS_BYTES_INIT("m"), TS_BYTES_INIT("y")}, .metadata = TS_BYTES_INIT("x")},
         .cursor = {.has_key = true, .last_key = TS_BYTES_INIT("n")}},
    };
    assert_true(ts_payload_hash_split_replace(shard, (struct ts_new_shards){children, 2}).v ==
                UINT64_C(0x47728aabbadcfd70));
    const struct ts_new_shard residual = {
        .spec = {.range = {TS_BYTES_INIT("m"), TS_BYTES_INIT("any")}, .metadata = TS_BYTES_INIT("x")}};
    assert_true(ts_payload_hash_split_residual(shard, &residual).v == UINT64_C(0x2d54030daaacefa2));
    const struct ts_new_shard shards[] = {
        {.spec = {.range = {TS_BYTES_INIT("a"), TS_BYTES_INIT("m")}}},
        {.has_id = true,
         .id = {9},
         .spec = {.range = {TS_BYTES_INIT("m"), {0}}, .metadata = TS_BYTES_INIT("x")}},
    };
    assert_true(ts_payload_hash_register(shard.run, (struct ts_new_shards){shards, 2}, 0).v ==
                UINT64_C(0xa90787420c5c9297));
    assert_true(ts_payload_hash_register(shard.run, (struct ts_new_shards){shards, 2}, 5).v ==
                UINT64_C(0x42bcc73b3fd6d17b));
    static const uint8_t keys[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255, 255};
    const struct ts_new_shard target = {.has_id = true,
                                        .id = {3},
                                        .spec.range = {ts_bytes_of(keys, 16), ts_bytes_of(keys, 18)},
                                        .unit = TS_BYTES_INIT("unit")};
    assert_true(ts_payload_hash_register(shard.run, (struct ts_new_shards){&target, 1}, 0).v ==
                UINT64_C(0x0a36ef510894a936));
    static const uint8_t digest[32] = {0x93, 0xbf, 0xd0, 0x20, 0x3f, 0x67, 0x14, 0x35, 0xf3, 0x39, 0x46,
                                       0xc1, 0x52, 0x11, 0xde, 0xc0, 0x7b, 0x05, 0x19, 0xe4, 0xe9, 0x82,
                                       0x68, 0x05, 0xd4, 0x1d, 0x0e, 0x32, 0x3b, 0x8f, 0x2a, 0x5b};
    const struct ts_announced announced = ts_announced_of((struct ts_new_shards){shards, 2});
    assert_int_equal(announced.count, 2);
    assert_memory_equal(announced.digest, digest, sizeof digest);
}

static void a_request_decides_run_and_op_id(void **state) {
    (void)state;
    struct ts_tenant_id acme, other;
    assert_true(ts_tenant_id_from_text(TS_BYTES("acme"), &acme));
    assert_true(ts_tenant_id_from_text(TS_BYTES("other"), &other));
    struct ts_run_id run = {1}, foreign;
    struct ts_op_id op = {1}, foreign_op;
    assert_true(ts_request_ids(&acme, TS_BYTES("nightly-2026"), &run, &op));
    assert_true(run.v == UINT64_C(0x1120646f8c6824));
    assert_true(op.v == UINT64_C(0x714acc8982906));
    assert_true(
        ts_step_op_id((struct ts_run_id){7}, (struct ts_op_id){11}, (struct ts_step_place){10000, 500}).v ==
        UINT64_C(0xb8baa20234a2ba6c));
    assert_true(ts_request_ids(&other, TS_BYTES("nightly-2026"), &foreign, &foreign_op));
    assert_true(foreign.v != run.v && foreign_op.v != op.v);
    char name[TS_REQUEST_MAX + 1];
    memset(name, 'x', sizeof name);
    assert_true(ts_request_ids(&acme, ts_bytes_of(name, TS_REQUEST_MAX), &run, &op));
    run.v = 5;
    assert_false(ts_request_ids(&acme, ts_bytes_of(name, TS_REQUEST_MAX + 1), &run, &op));
    assert_false(ts_request_ids(&acme, TS_BYTES(""), &run, &op));
    assert_false(ts_request_ids(&acme, TS_BYTES("a b"), &run, &op));
    assert_false(ts_request_ids(&acme, TS_BYTES("a\n"), &run, &op));
    assert_false(ts_request_ids(&acme, TS_BYTES("\xc3\xa9"), &run, &op));
    assert_int_equal(run.v, 5);
}

static void derived_ids_have_bit_63_and_drawn_ids_do_not(void **state) {
    (void)state;
    const struct ts_op_id op = {11};
    assert_true(ts_derived_shard_id(shard, op, TS_DERIVED_CHILD, 2).v == UINT64_C(0xc0f9830cb9c5c4f6));
    assert_true(ts_derived_shard_id(shard, op, TS_DERIVED_RESIDUAL, 0).v == UINT64_C(0xbb1c3deb37e17163));
    assert_true(ts_drawn_shard_id(shard.run, op, 5).v == UINT64_C(0x62b5ee25ba046b23));
    assert_true(ts_parking_op_id(shard, (struct ts_fence_epoch){6}).v == UINT64_C(0x797c2d4be943f6a4));
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(ts_shard_id_is_derived(ts_derived_shard_id(shard, op, TS_DERIVED_CHILD, i)));
        assert_false(ts_shard_id_is_derived(ts_drawn_shard_id(shard.run, op, i)));
    }
}

static void every_parameter_changes_the_hash(void **state) {
    (void)state;
    const struct ts_cursor cursors[] = {
        {.has_key = true, .last_key = TS_BYTES_INIT("ab")},
        {.has_key = true, .last_key = TS_BYTES_INIT("abc")},
        {.has_key = true, .last_key = TS_BYTES_INIT("")},
        {.has_key = false},
        {true, true, TS_BYTES_INIT("ab"), TS_BYTES_INIT("")},
        {true, true, TS_BYTES_INIT("ab"), TS_BYTES_INIT("c")},
        {true, true, TS_BYTES_INIT("a"), TS_BYTES_INIT("bc")},
    };
    uint64_t seen[64];
    size_t count = 0;
    for (size_t i = 0; i < sizeof cursors / sizeof cursors[0]; i++) {
        for (uint64_t id = 1; id <= 2; id++) {
            const struct ts_shard_key key = {{7}, {id}}, other_run = {{8}, {id}};
            seen[count++] = ts_payload_hash_cursor(TS_SHARD_OP_CHECKPOINT, key, &cursors[i]).v;
            seen[count++] = ts_payload_hash_cursor(TS_SHARD_OP_COMPLETE, key, &cursors[i]).v;
            seen[count++] = ts_payload_hash_cursor(TS_SHARD_OP_CHECKPOINT, other_run, &cursors[i]).v;
        }
    }
    for (size_t i = 0; i < count; i++) {
        assert_true(seen[i] != 0);
        for (size_t k = 0; k < i; k++)
            assert_true(seen[i] != seen[k]);
    }
}

/* The program contains the key that BLAKE3 derives from the context. Deriving it again must give the same
 * key. */
static void payload_hashes_are_blake3_in_derive_key_mode(void **state) {
    (void)state;
    uint8_t material[17], derived[TS_BLAKE3_OUT_LEN];
    material[0] = TS_SHARD_OP_UNPARK;
    ts_le64_store(shard.run.v, material + 1);
    ts_le64_store(shard.shard.v, material + 9);
    ts_blake3_derive_key(TS_BYTES("turnstone coord payload hash v1"), ts_bytes_of(material, sizeof material),
                         derived);
    assert_true(ts_payload_hash_unpark(shard).v == ts_le64_load(derived));
}

/* The hash covers all bytes of a payload, even if the payload is longer than the buffer before the hasher. */
static void long_payloads_are_hashed_whole(void **state) {
    (void)state;
    static uint8_t material[17 + 1 + 4 + TS_KEY_MAX + 1 + 4 + 300];
    uint8_t derived[TS_BLAKE3_OUT_LEN];
    for (size_t key_len = 0; key_len <= TS_KEY_MAX; key_len = key_len * 2 + 61) {
        memset(material, 'k', sizeof material);
        material[0] = TS_SHARD_OP_CHECKPOINT;
        ts_le64_store(shard.run.v, material + 1);
        ts_le64_store(shard.shard.v, material + 9);
        material[17] = 1;
        ts_le32_store((uint32_t)key_len, material + 18);
        material[22 + key_len] = 1;
        ts_le32_store(300, material + 23 + key_len);
        const struct ts_cursor cursor = {true, true, ts_bytes_of(material + 22, key_len),
                                         ts_bytes_of(material + 27 + key_len, 300)};
        ts_blake3_derive_key(TS_BYTES("turnstone coord payload hash v1"),
                             ts_bytes_of(material, 27 + key_len + 300), derived);
        assert_true(ts_payload_hash_cursor(TS_SHARD_OP_CHECKPOINT, shard, &cursor).v ==
                    ts_le64_load(derived));
    }
}

static void a_payload_hash_is_never_zero(void **state) {
    (void)state;
    assert_int_equal(ts_payload_hash_of_word(0).v, 1);
    assert_int_equal(ts_payload_hash_of_word(1).v, 1);
    assert_true(ts_payload_hash_of_word(UINT64_MAX).v == UINT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payload_hashes_are_those_of_the_document),
        cmocka_unit_test(payload_hashes_of_lists_are_those_of_the_document),
        cmocka_unit_test(a_request_decides_run_and_op_id),
        cmocka_unit_test(derived_ids_have_bit_63_and_drawn_ids_do_not),
        cmocka_unit_test(every_parameter_changes_the_hash),
        cmocka_unit_test(payload_hashes_are_blake3_in_derive_key_mode),
        cmocka_unit_test(long_payloads_are_hashed_whole),
        cmocka_unit_test(a_payload_hash_is_never_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
