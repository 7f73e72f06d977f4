#include "hash.h"

#include "turnstone/route.h"

#include "random.h"

#include "support/cmocka.h"

#include <string.h>

/* An id in the form of earlier systems: time in the high bits, a sequence in the low bits. */
#define SNOWFLAKE UINT64_C(320816801799737344)

struct golden {
    uint64_t id;
    uint32_t count;
    uint32_t store;
};

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* These results decide where data is stored. A change would break every existing cluster. */
static const struct golden xxh64_golden[] = {
    {SNOWFLAKE, 16, 14}, {1, 4, 1},  {42, 4, 3},  {325, 4, 0},         {325, 8, 4},         {INT64_MAX, 4, 0},
    {0, 16, 11},         {1, 16, 5}, {42, 16, 3}, {UINT64_MAX, 16, 9}, {INT64_MAX, 16, 12},
};

static void xxh64_gives_the_golden_stores(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(xxh64_golden); i++) {
        const struct golden *golden = &xxh64_golden[i];
        for (int again = 0; again < 100; again++)
            assert_int_equal(ts_router_store_for(golden->id, golden->count).v, golden->store);
    }
}

static void xxh64_takes_minus_one_as_its_bits(void **state) {
    (void)state;
    assert_int_equal(ts_router_store_for((uint64_t)INT64_C(-1), 16).v, 9);
}

typedef struct ts_store_id store_for(uint64_t id, uint32_t count);

static store_for *const hashes[] = {ts_router_store_for, ts_router_store_for_fnv1a, ts_router_store_for_jump};

static void one_store_and_no_store_give_store_zero(void **state) {
    (void)state;
    static const uint64_t ids[] = {0, 1, 42, INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX};
    for (size_t h = 0; h < LENGTH(hashes); h++) {
        for (size_t i = 0; i < LENGTH(ids); i++) {
            assert_int_equal(hashes[h](ids[i], 1).v, 0);
            assert_int_equal(hashes[h](ids[i], 0).v, 0);
        }
    }
}

static void negative_ids_stay_below_the_count(void **state) {
    (void)state;
    static const int64_t ids[] = {-1, INT64_MIN, INT64_MIN + 1, -42};
    static const uint32_t counts[] = {1, 4, 16, 1024};
    for (size_t h = 0; h < LENGTH(hashes); h++)
        for (size_t i = 0; i < LENGTH(ids); i++)
            for (size_t c = 0; c < LENGTH(counts); c++)
                assert_true(hashes[h]((uint64_t)ids[i], counts[c]).v < counts[c]);
}

static void any_id_stays_below_any_count_and_is_found_again(void **state) {
    (void)state;
    struct ts_prng random;
    ts_prng_init(&random, 1);
    for (int i = 0; i < 100000; i++) {
        uint64_t id = random_of_any_size(&random);
        uint32_t count = random_count(&random);
        for (size_t h = 0; h < LENGTH(hashes); h++) {
            uint32_t store = hashes[h](id, count).v;
            assert_true(store < count);
            assert_int_equal(hashes[h](id, count).v, store);
        }
    }
}

/* Routes 10,000 successive ids, and expects that the number of ids of every store is near the mean. */
static void expect_even(store_for *hash, uint64_t first_id, uint32_t count, uint32_t percent) {
    uint32_t counts[64] = {0};
    assert_true(count <= LENGTH(counts));
    for (uint64_t i = 0; i < 10000; i++)
        counts[hash(first_id + i, count).v]++;
    uint32_t mean = 10000 / count;
    for (uint32_t i = 0; i < count; i++)
        assert_in_range(counts[i], mean - mean * percent / 100, mean + mean * percent / 100);
}

static void sequential_ids_spread_evenly(void **state) {
    (void)state;
    expect_even(ts_router_store_for, SNOWFLAKE, 16, 20);
    expect_even(ts_router_store_for, 0, 5, 15);
    expect_even(ts_router_store_for_fnv1a, 0, 5, 15);
    expect_even(ts_router_store_for_fnv1a, SNOWFLAKE, 5, 15);
    expect_even(ts_router_store_for_jump, SNOWFLAKE, 16, 20);
    expect_even(ts_router_store_for_jump, 0, 5, 15);
    expect_even(ts_router_store_for_jump, UINT64_MAX - 10000, 16, 20);
}

static void fnv1a_is_the_published_hash_of_the_little_endian_bytes(void **state) {
    (void)state;
    assert_true(ts_fnv1a64_of_id(0) == UINT64_C(0xa8c7f832281a39c5));
    assert_true(ts_fnv1a64_of_id(1) == UINT64_C(0x89cd31291d2aefa4));
    assert_true(ts_fnv1a64_of_id(UINT64_MAX) == UINT64_C(0x8cf51a8bfca3883d));
}

/* These results were computed by an implementation in another language. */
static const struct golden fnv1a_golden[] = {
    {0, 5, 4},
    {1, 5, 3},
    {42, 5, 2},
    {325, 5, 3},
    {SNOWFLAKE, 5, 3},
    {INT64_MAX, 5, 1},
    {UINT64_MAX, 5, 2},
    {0, 16, 5},
    {1, 16, 4},
    {256, 16, 10},
    {SNOWFLAKE, 16, 8},
    {UINT64_MAX, 16, 13},
    {1, 1000, 348},
    {42, 1000, 47},
    {325, 1000, 763},
    {UINT64_MAX, 1000, 877},
    {0, 65535, 14789},
    {1, 65535, 61348},
    {1, 65536, 61348},
    {SNOWFLAKE, 65536, 52888},
    {2, 100000, 52743},
    {42, 100000, 56047},
    {UINT64_MAX, 100000, 34877},
};

static void fnv1a_gives_the_golden_stores(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(fnv1a_golden); i++) {
        const struct golden *golden = &fnv1a_golden[i];
        assert_int_equal(ts_router_store_for_fnv1a(golden->id, golden->count).v, golden->store);
    }
}

static void fnv1a_never_reaches_stores_beyond_16_bits(void **state) {
    (void)state;
    struct ts_prng random;
    ts_prng_init(&random, 2);
    for (int i = 0; i < 100000; i++) {
        uint64_t id = ts_prng_next(&random);
        uint32_t store = ts_router_store_for_fnv1a(id, UINT32_MAX).v;
        assert_true(store < 65536);
        assert_int_equal(store, ts_router_store_for_fnv1a(id, 65536).v);
    }
}

/* Shows the weakness of FNV-1a that prevents it from being the default: low bits of the hash depend only on
 * low bits of the bytes. */
static void fnv1a_crowds_ids_whose_bytes_are_multiples_of_16_where_xxh64_does_not(void **state) {
    (void)state;
    bool fnv1a_reached[16] = {false};
    bool xxh64_reached[16] = {false};
    for (uint64_t i = 0; i < 4096; i++) {
        uint64_t id = (i & 0xf) << 4 | (i & 0xf0) << 8 | (i & 0xf00) << 12;
        fnv1a_reached[ts_router_store_for_fnv1a(id, 16).v] = true;
        xxh64_reached[ts_router_store_for(id, 16).v] = true;
    }
    for (uint32_t i = 0; i < 16; i++) {
        assert_int_equal(fnv1a_reached[i], i == ts_router_store_for_fnv1a(0, 16).v);
        assert_true(xxh64_reached[i]);
    }
}

/* These results were computed by an implementation in another language. */
static const struct golden jump_golden[] = {
    {0, 2, 0},
    {42, 2, 1},
    {SNOWFLAKE, 2, 1},
    {325, 3, 2},
    {SNOWFLAKE + 1, 3, 1},
    {0, 16, 0},
    {1, 16, 6},
    {2, 16, 15},
    {42, 16, 2},
    {256, 16, 3},
    {325, 16, 14},
    {SNOWFLAKE, 16, 15},
    {SNOWFLAKE + 1, 16, 1},
    {0xdeadbeef, 16, 5},
    {INT64_MAX, 16, 8},
    {(uint64_t)INT64_MIN, 16, 12},
    {UINT64_MAX - 1, 16, 10},
    {UINT64_MAX, 16, 10},
    {1, 1000, 549},
    {42, 1000, 571},
    {SNOWFLAKE, 1000, 576},
    {UINT64_MAX, 1000, 313},
    {1, 65536, 21134},
    {SNOWFLAKE, 65537, 43599},
    {UINT64_MAX, 65537, 18311},
    {0, UINT32_C(2147483648), 0},
    {1, UINT32_C(2147483648), 262355607},
    {SNOWFLAKE + 1, UINT32_C(2147483648), 1986877400},
    {0, UINT32_MAX, UINT32_C(2147483648)},
    {1, UINT32_MAX, UINT32_C(3094789146)},
    {256, UINT32_MAX, UINT32_C(2154714976)},
    {325, UINT32_MAX, UINT32_C(4293895696)},
    {INT64_MAX, UINT32_MAX, UINT32_C(4130145734)},
    {UINT64_MAX, UINT32_MAX, UINT32_C(2680453518)},
};

static void jump_gives_the_golden_stores(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(jump_golden); i++) {
        const struct golden *golden = &jump_golden[i];
        assert_int_equal(ts_router_store_for_jump(golden->id, golden->count).v, golden->store);
    }
}

static void jump_moves_ids_only_to_the_new_store(void **state) {
    (void)state;
    struct ts_prng random;
    ts_prng_init(&random, 3);
    for (int i = 0; i < 200000; i++) {
        uint64_t id = ts_prng_next(&random);
        uint32_t count = random_count(&random);
        if (count == UINT32_MAX)
            continue;
        uint32_t old_store = ts_router_store_for_jump(id, count).v;
        uint32_t new_store = ts_router_store_for_jump(id, count + 1).v;
        assert_true(new_store == old_store || new_store == count);
    }
}

static void jump_moves_one_in_n_plus_one(void **state) {
    (void)state;
    enum { ids = 40000 };
    for (uint32_t count = 1; count <= 32; count++) {
        struct ts_prng random;
        ts_prng_init(&random, count);
        uint32_t moved = 0;
        for (int i = 0; i < ids; i++) {
            uint64_t id = ts_prng_next(&random);
            moved += ts_router_store_for_jump(id, count).v != ts_router_store_for_jump(id, count + 1).v;
        }
        uint32_t fair = ids / (count + 1);
        assert_in_range(moved, fair - fair / 8, fair + fair / 8);
    }
}

static void expect_modulo(uint64_t value, uint32_t count) {
    assert_int_equal(route__modulo(value, count, route__reciprocal(count)), value % count);
}

/* Tests values where the quotient changes, because an inexact reciprocal would show there. */
static void expect_modulo_near_multiples(uint64_t value, uint32_t count) {
    uint64_t multiple = value - value % count;
    expect_modulo(value, count);
    expect_modulo(multiple, count);
    expect_modulo(multiple - 1, count);
    expect_modulo(multiple + 1, count);
    expect_modulo(UINT64_MAX - value, count);
    expect_modulo(UINT64_MAX, count);
    expect_modulo(UINT64_MAX - UINT64_MAX % count, count);
    expect_modulo(UINT64_MAX - UINT64_MAX % count - 1, count);
    expect_modulo(0, count);
    expect_modulo(count, count);
    expect_modulo(count - 1, count);
}

static void modulo_by_reciprocal_equals_the_division(void **state) {
    (void)state;
    struct ts_prng random;
    ts_prng_init(&random, 4);
    for (uint32_t shift = 0; shift < 32; shift++) {
        uint32_t power = UINT32_C(1) << shift;
        for (int i = 0; i < 1000; i++) {
            expect_modulo_near_multiples(random_of_any_size(&random), power);
            expect_modulo_near_multiples(random_of_any_size(&random), power - (shift > 0));
            expect_modulo_near_multiples(random_of_any_size(&random), power + 1);
            expect_modulo_near_multiples(random_of_any_size(&random), UINT32_MAX - power + 1);
        }
    }
    for (int i = 0; i < 200000; i++)
        expect_modulo_near_multiples(random_of_any_size(&random), random_count(&random));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xxh64_gives_the_golden_stores),
        cmocka_unit_test(xxh64_takes_minus_one_as_its_bits),
        cmocka_unit_test(one_store_and_no_store_give_store_zero),
        cmocka_unit_test(negative_ids_stay_below_the_count),
        cmocka_unit_test(any_id_stays_below_any_count_and_is_found_again),
        cmocka_unit_test(sequential_ids_spread_evenly),
        cmocka_unit_test(fnv1a_is_the_published_hash_of_the_little_endian_bytes),
        cmocka_unit_test(fnv1a_gives_the_golden_stores),
        cmocka_unit_test(fnv1a_never_reaches_stores_beyond_16_bits),
        cmocka_unit_test(fnv1a_crowds_ids_whose_bytes_are_multiples_of_16_where_xxh64_does_not),
        cmocka_unit_test(jump_gives_the_golden_stores),
        cmocka_unit_test(jump_moves_ids_only_to_the_new_store),
        cmocka_unit_test(jump_moves_one_in_n_plus_one),
        cmocka_unit_test(modulo_by_reciprocal_equals_the_division),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
