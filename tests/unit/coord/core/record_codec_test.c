/* Another program computed the expected bytes from docs/formats/coord.md, with its own implementation of
 * XXH64. */
#include "coord/core/record.h"

#include "base/endian.h"
#include "base/hash64.h"
#include "base/prng.h"
#include "coord/core/claim.h"
#include "support/cmocka.h"

#include <string.h>

static const char golden_shard[] =
    "54537368010f00ff010201000400000061636d6500000000000000000000000000000000000000000000000000000000"
    "0700000000000000050000000000008003000000000000000600000000000000776f726b65722d310000000000000000"
    "000000000000000000000000000000001879000000000000010002000400030005000000000000001500000000000000"
    "11110000000000008403000000000000000016000000000000002222000000000000e80300000000000004004d000000"
    "000000806279796d6574616b6579746f6b656e9d4f085b173564b0";
static const char golden_parked[] =
    "5453736801000302000100000000000061636d6500000000000000000000000000000000000000000000000000000000"
    "070000000000000003000000000000000000000000000000020000000000000000000000000000000000000000000000"
    "000000000000000000000000000000000000000000000000000000000000000000000000000000000500000000000000"
    "990000000000000032000000000000000200701e3787131ef320";
static const char golden_run[] =
    "5453726e01030102050000000000000061636d6500000000000000000000000000000000000000000000000000000000"
    "07000000000000003075000000000000e803000000000000a08601000000000003000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000c00000000000000f4010000000000008403000000000000"
    "0c000000000000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f200100000000000000"
    "aa00000000000000580200000000000000000200000000000000bb00000000000000840300000000000002007cda197c"
    "0f687d1b";
static const char golden_guard[] =
    "5453676401010000050000000000000061636d6500000000000000000000000000000000000000000000000000000000"
    "070000000000000030750000000000000000000000000000a0860100000000000900000000000000a0a1a2a3a4a5a6a7"
    "a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf0d8482fb58213548";
static const char golden_cooldown[] =
    "5453636401000000776f726b65722d31000000000000000000000000000000000000000000000000d007000000000000"
    "7e8c970638f90e7d";

static uint8_t bytes[TS_RECORD_MAX], again[TS_RECORD_MAX];

static uint8_t digit(char c) {
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static struct ts_bytes from_hex(const char *hex) {
    size_t len = strlen(hex) / 2;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    return ts_bytes_of(bytes, len);
}

static void a_leased_child_has_its_golden_bytes(void **state) {
    (void)state;
    struct ts_bytes golden = from_hex(golden_shard);
    struct ts_shard_record record;
    assert_int_equal(ts_shard_record_decode(golden, &record), TS_RECORD_OK);
    assert_true(record.key.shard.v == (TS_DERIVED_SHARD_BIT | 5));
    assert_int_equal(record.parent.v, 3);
    assert_int_equal(record.fence.v, 6);
    assert_int_equal(record.attempts, 4);
    assert_int_equal(record.semantics, TS_CURSOR_DISPATCHED);
    assert_int_equal(record.holder.deadline.ms, 31000);
    assert_string_equal((const char *)record.holder.owner.b, "worker-1");
    assert_true(ts_bytes_equal(record.spec.range.end, TS_BYTES("yy")));
    assert_true(ts_bytes_equal(record.cursor.token, TS_BYTES("token")));
    assert_true(ts_spawned_at(record.spawned, 0).v == (TS_DERIVED_SHARD_BIT | 77));
    assert_int_equal(ts_ring_from_newest(&record.op_log, 0)->kind, TS_SHARD_OP_SPLIT_RESIDUAL);
    size_t len;
    assert_int_equal(ts_shard_record_encode(&record, again, &len), TS_RECORD_OK);
    assert_int_equal(len, golden.len);
    assert_memory_equal(again, golden.data, len);
}

static void a_parked_shard_has_its_golden_bytes(void **state) {
    (void)state;
    struct ts_bytes golden = from_hex(golden_parked);
    struct ts_shard_record record;
    assert_int_equal(ts_shard_record_decode(golden, &record), TS_RECORD_OK);
    assert_int_equal(record.status, TS_SHARD_PARKED);
    assert_int_equal(record.park_reason, TS_PARK_POISONED);
    assert_false(record.cursor.has_key || record.has_holder || record.has_parent);
    size_t len;
    assert_int_equal(ts_shard_record_encode(&record, again, &len), TS_RECORD_OK);
    assert_memory_equal(again, golden.data, len);
}

static void a_run_and_its_guard_have_their_golden_bytes(void **state) {
    (void)state;
    struct ts_bytes golden = from_hex(golden_run);
    struct ts_run_record run;
    assert_int_equal(ts_run_record_decode(golden, &run), TS_RECORD_OK);
    assert_int_equal(run.status, TS_RUN_FAILED);
    assert_int_equal(run.registered, 12);
    assert_int_equal(run.number, 3);
    assert_int_equal(run.announced.count, 12);
    assert_int_equal(run.announced.digest[31], 32);
    assert_int_equal(run.config.cooldown_ms, 1000);
    assert_false(ts_pin_is_set(&run.config.pin));
    assert_int_equal(run.ended_at.ms, 900);
    size_t len;
    assert_int_equal(ts_run_record_encode(&run, again, &len), TS_RECORD_OK);
    assert_int_equal(len, golden.len);
    assert_memory_equal(again, golden.data, len);

    golden = from_hex(golden_guard);
    struct ts_run_guard guard;
    assert_int_equal(ts_run_guard_decode(golden, &guard), TS_RECORD_OK);
    assert_int_equal(guard.status, TS_RUN_ACTIVE);
    assert_int_equal(guard.number, 9);
    assert_int_equal(guard.config.pin.b[31], 0xbf);
    assert_int_equal(ts_run_guard_encode(&guard, again), TS_RECORD_OK);
    assert_memory_equal(again, golden.data, TS_RUN_GUARD_ENCODED_LEN);
}

static void a_cooldown_has_its_golden_bytes(void **state) {
    (void)state;
    struct ts_bytes golden = from_hex(golden_cooldown);
    struct ts_cooldown entry;
    assert_int_equal(ts_cooldown_decode(golden, &entry), TS_RECORD_OK);
    assert_int_equal(entry.until.ms, 2000);
    ts_cooldown_encode(&entry, again);
    assert_memory_equal(again, golden.data, TS_COOLDOWN_ENCODED_LEN);
}

typedef enum ts_record_error (*decoder)(struct ts_bytes);

static enum ts_record_error decode_shard(struct ts_bytes from) {
    struct ts_shard_record record;
    return ts_shard_record_decode(from, &record);
}
static enum ts_record_error decode_run(struct ts_bytes from) {
    struct ts_run_record run;
    return ts_run_record_decode(from, &run);
}
static enum ts_record_error decode_guard(struct ts_bytes from) {
    struct ts_run_guard guard;
    return ts_run_guard_decode(from, &guard);
}
static enum ts_record_error decode_cooldown(struct ts_bytes from) {
    struct ts_cooldown entry;
    return ts_cooldown_decode(from, &entry);
}

static const struct {
    const char *golden;
    decoder decode;
} kinds[] = {{golden_shard, decode_shard},
             {golden_parked, decode_shard},
             {golden_run, decode_run},
             {golden_guard, decode_guard},
             {golden_cooldown, decode_cooldown}};

static void every_flipped_bit_and_every_cut_is_found(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        struct ts_bytes golden = from_hex(kinds[k].golden);
        for (size_t bit = 0; bit < 8 * golden.len; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
            assert_int_not_equal(kinds[k].decode(golden), TS_RECORD_OK);
            bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        }
        assert_int_equal(kinds[k].decode(golden), TS_RECORD_OK);
        for (size_t len = 0; len < golden.len; len++)
            assert_int_not_equal(kinds[k].decode(ts_bytes_first(golden, len)), TS_RECORD_OK);
        bytes[golden.len] = 0;
        assert_int_not_equal(kinds[k].decode(ts_bytes_of(bytes, golden.len + 1)), TS_RECORD_OK);
    }
}

/* Changes bytes and then corrects the checksum. If the record still decodes, encoding must write the same
 * bytes. No byte outside the record is read. */
static void forged_records_are_refused_or_canonical(void **state) {
    (void)state;
    struct ts_prng prng;
    ts_prng_init(&prng, 1);
    size_t accepted = 0;
    for (int i = 0; i < 20000; i++) {
        struct ts_bytes golden = from_hex(golden_shard);
        for (uint64_t flips = 1 + ts_prng_below(&prng, 3); flips > 0; flips--)
            bytes[5 + ts_prng_below(&prng, golden.len - 13)] = (uint8_t)ts_prng_next(&prng);
        ts_le64_store(ts_xxh64_of_bytes(ts_bytes_first(golden, golden.len - 8)), bytes + golden.len - 8);
        struct ts_shard_record record;
        if (ts_shard_record_decode(golden, &record) != TS_RECORD_OK)
            continue;
        accepted++;
        size_t len;
        assert_int_equal(ts_shard_record_encode(&record, again, &len), TS_RECORD_OK);
        assert_int_equal(len, golden.len);
        assert_memory_equal(again, bytes, len);
    }
    assert_true(accepted > 100 && accepted < 19000);
}

static void errors_are_distinguished(void **state) {
    (void)state;
    struct ts_bytes golden = from_hex(golden_shard);
    assert_int_equal(decode_shard(ts_bytes_of(NULL, 0)), TS_RECORD_TOO_SHORT);
    assert_int_equal(decode_shard(ts_bytes_first(golden, 100)), TS_RECORD_TOO_SHORT);
    assert_int_equal(decode_run(golden), TS_RECORD_BAD_MAGIC);
    bytes[4] = 2;
    assert_int_equal(decode_shard(golden), TS_RECORD_UNKNOWN_VERSION);
    from_hex(golden_shard);
    bytes[100] ^= 1;
    assert_int_equal(decode_shard(golden), TS_RECORD_BAD_CHECKSUM);
    from_hex(golden_shard);
    bytes[6] = 9; /* an unknown status */
    ts_le64_store(ts_xxh64_of_bytes(ts_bytes_first(golden, golden.len - 8)), bytes + golden.len - 8);
    assert_int_equal(decode_shard(golden), TS_RECORD_BAD_FIELD);
    from_hex(golden_shard);
    bytes[6] = 1; /* the status is done, but the record has a holder */
    ts_le64_store(ts_xxh64_of_bytes(ts_bytes_first(golden, golden.len - 8)), bytes + golden.len - 8);
    assert_int_equal(decode_shard(golden), TS_RECORD_BROKEN_INVARIANT);
    assert_int_equal(decode_shard((struct ts_bytes){bytes, TS_RECORD_MAX + 1}), TS_RECORD_TOO_LARGE);
}

static void reseal(size_t len) {
    ts_le64_store(ts_xxh64_of_bytes(ts_bytes_of(bytes, len - 8)), bytes + len - 8);
}

/* Sets each byte of absent fields and each reserved byte in turn. */
static void absent_and_reserved_fields_must_be_zero(void **state) {
    (void)state;
    for (size_t at = 64; at < 136; at++) {
        if (at >= 72 && at < 80)
            continue; /* these bytes are the fence, which is present */
        struct ts_bytes golden = from_hex(golden_parked);
        bytes[at] = 1;
        reseal(golden.len);
        assert_int_equal(decode_shard(golden), TS_RECORD_BAD_FIELD);
    }
    for (size_t at = 12; at < 16; at++) {
        struct ts_bytes golden = from_hex(golden_run);
        bytes[at] = 1;
        reseal(golden.len);
        assert_int_equal(decode_run(golden), TS_RECORD_BAD_FIELD);
        golden = from_hex(golden_guard);
        bytes[at] = 1;
        reseal(golden.len);
        assert_int_equal(decode_guard(golden), TS_RECORD_BAD_FIELD);
    }
    for (size_t at = 5; at < 8; at++) {
        struct ts_bytes golden = from_hex(golden_cooldown);
        bytes[at] = 1;
        reseal(golden.len);
        assert_int_equal(decode_cooldown(golden), TS_RECORD_BAD_FIELD);
    }
}

static void a_broken_record_is_never_written_nor_an_output_touched(void **state) {
    (void)state;
    struct ts_shard_record record;
    assert_int_equal(ts_shard_record_decode(from_hex(golden_shard), &record), TS_RECORD_OK);
    const struct ts_shard_record before = record;
    bytes[20] ^= 1;
    assert_int_not_equal(ts_shard_record_decode(ts_bytes_of(bytes, strlen(golden_shard) / 2), &record),
                         TS_RECORD_OK);
    assert_memory_equal(&record, &before, sizeof before);
    record.fence.v = 0;
    size_t len = 77;
    assert_int_equal(ts_shard_record_encode(&record, again, &len), TS_RECORD_BROKEN_INVARIANT);
    assert_int_equal(len, 77);
    struct ts_infra_error infra;
    ts_record_error_to_infra(TS_RECORD_BAD_CHECKSUM, &infra);
    assert_int_equal(infra.kind, TS_INFRA_DAMAGED);
}

static void the_largest_record_fits_64_kib(void **state) {
    (void)state;
    static uint8_t large[TS_TOKEN_MAX], spawned[8 * TS_SPAWNED_MAX], end[TS_KEY_MAX];
    memset(large, 'c', sizeof large);
    memset(end, 'd', sizeof end);
    for (size_t i = 0; i < TS_SPAWNED_MAX; i++)
        ts_le64_store(TS_DERIVED_SHARD_BIT | i, spawned + 8 * i);
    struct ts_shard_record record = {
        .key = {{1}, {2}},
        .spec = {.range = {ts_bytes_of(large, TS_KEY_MAX), ts_bytes_of(end, TS_KEY_MAX)},
                 .metadata = ts_bytes_of(large, TS_METADATA_MAX)},
        .cursor = {true, true, ts_bytes_of(large, TS_KEY_MAX), ts_bytes_of(large, TS_TOKEN_MAX)},
        .spawned = {ts_bytes_of(spawned, sizeof spawned)},
    };
    for (uint64_t i = 1; i <= TS_OP_LOG_MAX; i++)
        ts_op_log_record(&record.op_log, TS_SHARD_OP_CHECKPOINT, (struct ts_op_id){i},
                         (struct ts_payload_hash){1}, (struct ts_logical_time){1});
    size_t len;
    assert_int_equal(ts_shard_record_encode(&record, again, &len), TS_RECORD_OK);
    assert_int_equal(len, ts_shard_record_reserved_size(&record));
    assert_true(len <= TS_RECORD_MAX);
    assert_int_equal(decode_shard(ts_bytes_of(again, len)), TS_RECORD_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leased_child_has_its_golden_bytes),
        cmocka_unit_test(a_parked_shard_has_its_golden_bytes),
        cmocka_unit_test(a_run_and_its_guard_have_their_golden_bytes),
        cmocka_unit_test(a_cooldown_has_its_golden_bytes),
        cmocka_unit_test(every_flipped_bit_and_every_cut_is_found),
        cmocka_unit_test(forged_records_are_refused_or_canonical),
        cmocka_unit_test(errors_are_distinguished),
        cmocka_unit_test(absent_and_reserved_fields_must_be_zero),
        cmocka_unit_test(a_broken_record_is_never_written_nor_an_output_touched),
        cmocka_unit_test(the_largest_record_fits_64_kib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
