#include "driver_keys.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static const struct ts_run_id run = {0x0102030405060708};
static const struct ts_shard_key shard = {{0x0102030405060708}, {0x1112131415161718}};

static void expect(const char *hex, struct coord__key key) {
    char text[2 * COORD__KEY_MAX + 1] = "";
    for (size_t i = 0; i < key.len; i++)
        snprintf(text + 2 * i, sizeof text - 2 * i, "%02x", key.bytes[i]);
    assert_string_equal(text, hex);
}

static void names(struct ts_tenant_id *tenant, struct ts_worker_id *worker) {
    assert_true(ts_tenant_id_from_text(TS_BYTES("t"), tenant));
    assert_true(ts_worker_id_from_text(TS_BYTES("w"), worker));
}

#define ZEROS_31 "00000000000000000000000000000000000000000000000000000000000000"

static void keys_are_as_they_are_stored(void **state) {
    (void)state;
    struct ts_tenant_id tenant;
    struct ts_worker_id worker;
    names(&tenant, &worker);
    expect("0063720102030405060708", coord__key_run(run));
    expect("00636d0102030405060708", coord__key_run_shards(run));
    expect("0063670102030405060708", coord__key_guard(run));
    expect("00637474" ZEROS_31 "0102030405060708", coord__key_tenant_run(&tenant, run));
    expect("00637174" ZEROS_31, coord__key_tenant_limit(&tenant));
    expect("006371", coord__key_global_limit());
    expect("00636974" ZEROS_31, coord__key_last_number(&tenant));
    expect("00636e01020304050607080305", coord__key_counter(run, (struct coord__stripe){TS_SHARD_PARKED, 5}));
    expect("00637301020304050607081112131415161718", coord__key_shard(shard));
    expect("00636601020304050607081112131415161718", coord__key_free(shard));
    expect("00636c010203040506070800000000000003e81112131415161718",
           coord__key_leased(shard, (struct ts_logical_time){1000}));
    expect("0063750102030405060708"
           "000102030405060708090a0b0c0d0e0f",
           coord__key_unit(run, (const uint8_t[16]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
    expect("00636b74" ZEROS_31 "77" ZEROS_31, coord__key_cooldown(&tenant, &worker));
}

static void ranges_hold_exactly_the_keys_with_their_prefix(void **state) {
    (void)state;
    const struct coord__range shards = coord__range_of_run(COORD__KIND_SHARDS, run);
    expect("0063730102030405060708", shards.from);
    expect("0063730102030405060709", shards.to);
    const struct coord__range last = coord__range_of_run(COORD__KIND_LEASED, (struct ts_run_id){UINT64_MAX});
    expect("00636d", last.to);
    struct ts_tenant_id tenant;
    memset(&tenant, 0xff, sizeof tenant);
    expect("006375", coord__range_of_tenant(&tenant).to);
}

static void keys_are_taken_apart(void **state) {
    (void)state;
    struct ts_shard_key found = {{0}, {0}};
    struct ts_logical_time deadline = {0};
    const struct coord__key stored = coord__key_shard(shard), free_one = coord__key_free(shard);
    const struct coord__key leased = coord__key_leased(shard, (struct ts_logical_time){77});
    assert_true(coord__key_shard_of(coord__key_bytes(&stored), &found));
    assert_int_equal(found.shard.v, shard.shard.v);
    assert_true(coord__key_shard_of(coord__key_bytes(&free_one), &found));
    assert_false(coord__key_shard_of(coord__key_bytes(&leased), &found));
    assert_true(coord__key_lease_of(coord__key_bytes(&leased), &found, &deadline));
    assert_int_equal(deadline.ms, 77);
    assert_int_equal(found.run.v, run.v);
    assert_false(coord__key_lease_of(coord__key_bytes(&free_one), &found, &deadline));
    struct ts_tenant_id tenant;
    struct ts_worker_id worker;
    names(&tenant, &worker);
    struct ts_run_id listed;
    const struct coord__key in_list = coord__key_tenant_run(&tenant, run);
    assert_true(coord__key_run_of(coord__key_bytes(&in_list), &listed));
    assert_int_equal(listed.v, run.v);
    assert_false(coord__key_run_of(coord__key_bytes(&leased), &listed));
}

static void stripes_are_spread_and_numbered(void **state) {
    (void)state;
    size_t counts[COORD__STRIPES] = {0};
    for (uint64_t id = 1; id <= 8000; id++)
        counts[coord__stripe_of((struct ts_shard_id){id})]++;
    for (size_t i = 0; i < COORD__STRIPES; i++)
        assert_in_range(counts[i], 800, 1200);
    assert_int_equal(coord__stripe_of((struct ts_shard_id){1}), 4);
    for (size_t i = 0; i < COORD__COUNTERS; i++)
        assert_int_equal(coord__stripe_index(coord__stripe_at(i)), i);
}

static void expect_name(struct coord__key key, const char *expected) {
    char name[COORD__COUNTER_NAME];
    coord__key_counter_name(coord__key_bytes(&key), name);
    assert_string_equal(name, expected);
}

static void counters_have_names_without_tenants(void **state) {
    (void)state;
    const struct ts_run_id last = {UINT64_MAX};
    struct ts_tenant_id tenant;
    struct ts_worker_id worker;
    names(&tenant, &worker);
    expect_name(coord__key_counter(last, (struct coord__stripe){TS_SHARD_PARKED, 7}),
                "the counter of Parked shards (stripe 7) of run 18446744073709551615");
    expect_name(coord__key_run_shards(last), "the counter of shards of run 18446744073709551615");
    expect_name(coord__key_tenant_limit(&tenant), "the counter of the tenant's shards");
    expect_name(coord__key_global_limit(), "the counter of all shards");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_as_they_are_stored),
        cmocka_unit_test(ranges_hold_exactly_the_keys_with_their_prefix),
        cmocka_unit_test(keys_are_taken_apart),
        cmocka_unit_test(stripes_are_spread_and_numbered),
        cmocka_unit_test(counters_have_names_without_tenants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
