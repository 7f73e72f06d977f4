#include "turnstone/route.h"

#include "random.h"

#include "support/cmocka.h"

#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static const uint64_t some_ids[] = {
    0, 1, 42, 100, 325, UINT64_C(320816801799737344), INT64_MAX, UINT64_MAX - 1, UINT64_MAX};

static const enum ts_router_strategy hashes[] = {TS_ROUTER_STRATEGY_XXH64, TS_ROUTER_STRATEGY_FNV1A,
                                                 TS_ROUTER_STRATEGY_JUMP};

static struct ts_store_id plain(enum ts_router_strategy hash, uint64_t id, uint32_t count) {
    if (hash == TS_ROUTER_STRATEGY_XXH64)
        return ts_router_store_for(id, count);
    if (hash == TS_ROUTER_STRATEGY_FNV1A)
        return ts_router_store_for_fnv1a(id, count);
    return ts_router_store_for_jump(id, count);
}

static struct ts_router hash_router(enum ts_router_strategy hash, uint32_t count) {
    struct ts_router router;
    assert_int_equal(ts_router_init_hash(hash, count, &router, NULL), TS_ROUTER_OK);
    return router;
}

static void a_single_router_always_gives_store_zero(void **state) {
    (void)state;
    struct ts_router router;
    ts_router_init_single(&router);
    assert_int_equal(ts_router_strategy_of(&router), TS_ROUTER_STRATEGY_SINGLE);
    for (size_t i = 0; i < LENGTH(some_ids); i++)
        assert_int_equal(ts_router_route(&router, some_ids[i]).v, 0);
    assert_int_equal(ts_router_store_count(&router), 1);
    assert_int_equal(ts_router_store_at(&router, 0).v, 0);
}

static void a_hash_router_agrees_with_its_plain_function(void **state) {
    (void)state;
    struct ts_prng random;
    ts_prng_init(&random, 5);
    for (size_t h = 0; h < LENGTH(hashes); h++) {
        for (int i = 0; i < 20000; i++) {
            uint32_t count = random_count(&random);
            struct ts_router router = hash_router(hashes[h], count);
            assert_int_equal(ts_router_strategy_of(&router), hashes[h]);
            for (int j = 0; j < 4; j++) {
                uint64_t id = random_of_any_size(&random);
                assert_int_equal(ts_router_route(&router, id).v, plain(hashes[h], id, count).v);
            }
            for (size_t j = 0; j < LENGTH(some_ids); j++)
                assert_int_equal(ts_router_route(&router, some_ids[j]).v,
                                 plain(hashes[h], some_ids[j], count).v);
        }
    }
}

static void a_hash_router_gives_the_golden_stores(void **state) {
    (void)state;
    struct ts_router router = hash_router(TS_ROUTER_STRATEGY_DEFAULT, 16);
    assert_int_equal(ts_router_route(&router, UINT64_C(320816801799737344)).v, 14);
    assert_int_equal(ts_router_route(&router, 0).v, 11);
    assert_int_equal(ts_router_route(&router, UINT64_MAX).v, 9);
    router = hash_router(TS_ROUTER_STRATEGY_FNV1A, 16);
    assert_int_equal(ts_router_route(&router, 256).v, 10);
    router = hash_router(TS_ROUTER_STRATEGY_JUMP, 16);
    assert_int_equal(ts_router_route(&router, 2).v, 15);
}

static void hash_routing_is_deterministic_and_stays_in_range(void **state) {
    (void)state;
    struct ts_prng random;
    ts_prng_init(&random, 6);
    for (size_t h = 0; h < LENGTH(hashes); h++) {
        struct ts_router router = hash_router(hashes[h], 5);
        for (int i = 0; i < 10000; i++) {
            uint64_t id = ts_prng_next(&random);
            struct ts_router copy = router;
            uint32_t store = ts_router_route(&router, id).v;
            assert_true(store < 5);
            assert_int_equal(ts_router_route(&router, id).v, store);
            assert_int_equal(ts_router_route(&copy, id).v, store);
        }
    }
}

static void a_hash_router_of_one_store_gives_store_zero(void **state) {
    (void)state;
    for (size_t h = 0; h < LENGTH(hashes); h++) {
        struct ts_router router = hash_router(hashes[h], 1);
        for (size_t i = 0; i < LENGTH(some_ids); i++)
            assert_int_equal(ts_router_route(&router, some_ids[i]).v, 0);
    }
}

static void a_hash_router_lists_the_stores_below_its_count(void **state) {
    (void)state;
    for (size_t h = 0; h < LENGTH(hashes); h++) {
        struct ts_router router = hash_router(hashes[h], 5);
        assert_int_equal(ts_router_store_count(&router), 5);
        for (uint32_t i = 0; i < 5; i++)
            assert_int_equal(ts_router_store_at(&router, i).v, i);
    }
}

static void a_hash_of_no_stores_is_rejected(void **state) {
    (void)state;
    for (size_t h = 0; h < LENGTH(hashes); h++) {
        struct ts_router router, before;
        memset(&router, 0x5a, sizeof router);
        memcpy(&before, &router, sizeof router);
        struct ts_router_error_detail detail;
        assert_int_equal(ts_router_init_hash(hashes[h], 0, &router, &detail), TS_ROUTER_ZERO_STORES);
        assert_int_equal(detail.error, TS_ROUTER_ZERO_STORES);
        assert_int_equal(detail.strategy, hashes[h]);
        assert_memory_equal(&router, &before, sizeof router);
        assert_int_equal(ts_router_init_hash(hashes[h], 0, &router, NULL), TS_ROUTER_ZERO_STORES);
    }
}

static void a_strategy_that_is_not_a_hash_is_rejected(void **state) {
    (void)state;
    static const enum ts_router_strategy others[] = {TS_ROUTER_STRATEGY_SINGLE, TS_ROUTER_STRATEGY_RANGE,
                                                     (enum ts_router_strategy)99};
    for (size_t i = 0; i < LENGTH(others); i++) {
        struct ts_router router, before;
        memset(&router, 0x5a, sizeof router);
        memcpy(&before, &router, sizeof router);
        struct ts_router_error_detail detail;
        assert_int_equal(ts_router_init_hash(others[i], 4, &router, &detail), TS_ROUTER_NOT_A_HASH);
        assert_int_equal(detail.error, TS_ROUTER_NOT_A_HASH);
        assert_int_equal(detail.strategy, others[i]);
        assert_memory_equal(&router, &before, sizeof router);
    }
}

static void success_leaves_the_detail_alone(void **state) {
    (void)state;
    struct ts_router router;
    struct ts_router_error_detail detail = {.needed = 123};
    assert_int_equal(ts_router_init_hash(TS_ROUTER_STRATEGY_JUMP, 4, &router, &detail), TS_ROUTER_OK);
    assert_int_equal(detail.needed, 123);
}

static void expect_one_owner_each(const struct ts_router *router) {
    struct ts_prng random;
    ts_prng_init(&random, 7);
    for (int i = 0; i < 2000; i++) {
        uint64_t id = random_of_any_size(&random);
        int owners = 0;
        for (size_t s = 0; s < ts_router_store_count(router); s++)
            owners += ts_router_owns(router, ts_router_store_at(router, s), id);
        assert_int_equal(owners, 1);
        assert_true(ts_router_owns(router, ts_router_route(router, id), id));
        assert_false(ts_router_owns(router, (struct ts_store_id){1000000}, id));
    }
}

static void every_id_has_exactly_one_owner_under_every_strategy(void **state) {
    (void)state;
    struct ts_router router;
    ts_router_init_single(&router);
    expect_one_owner_each(&router);
    for (size_t h = 0; h < LENGTH(hashes); h++) {
        router = hash_router(hashes[h], 7);
        expect_one_owner_each(&router);
    }
    static const struct ts_router_range ranges[] = {
        {{30}, 1000000, UINT64_MAX}, {{10}, 0, 1000}, {{20}, 1000, 1000000}};
    static unsigned char memory[1024];
    assert_int_equal(ts_router_init_range(ranges, 3, memory, sizeof memory, &router, NULL), TS_ROUTER_OK);
    expect_one_owner_each(&router);
}

static void strategies_have_stable_numbers_and_names_both_ways(void **state) {
    (void)state;
    static const char *const names[] = {"single", "xxh64", "fnv1a", "jump", "range"};
    assert_int_equal(TS_ROUTER_STRATEGY_COUNT, LENGTH(names));
    for (size_t i = 0; i < LENGTH(names); i++) {
        enum ts_router_strategy strategy = (enum ts_router_strategy)99;
        assert_string_equal(ts_router_strategy_name((enum ts_router_strategy)i), names[i]);
        assert_true(ts_router_strategy_from_name(names[i], &strategy));
        assert_int_equal(strategy, i);
    }
    assert_null(ts_router_strategy_name((enum ts_router_strategy)TS_ROUTER_STRATEGY_COUNT));
}

static void the_name_hash_means_the_default(void **state) {
    (void)state;
    enum ts_router_strategy strategy = TS_ROUTER_STRATEGY_RANGE;
    assert_true(ts_router_strategy_from_name("hash", &strategy));
    assert_int_equal(strategy, TS_ROUTER_STRATEGY_XXH64);
}

static void other_names_are_no_strategy(void **state) {
    (void)state;
    static const char *const names[] = {"", "XXH64", "xxh6", "xxh644", " single", "ranges"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        enum ts_router_strategy strategy = TS_ROUTER_STRATEGY_FNV1A;
        assert_false(ts_router_strategy_from_name(names[i], &strategy));
        assert_int_equal(strategy, TS_ROUTER_STRATEGY_FNV1A);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_router_always_gives_store_zero),
        cmocka_unit_test(a_hash_router_agrees_with_its_plain_function),
        cmocka_unit_test(a_hash_router_gives_the_golden_stores),
        cmocka_unit_test(hash_routing_is_deterministic_and_stays_in_range),
        cmocka_unit_test(a_hash_router_of_one_store_gives_store_zero),
        cmocka_unit_test(a_hash_router_lists_the_stores_below_its_count),
        cmocka_unit_test(a_hash_of_no_stores_is_rejected),
        cmocka_unit_test(a_strategy_that_is_not_a_hash_is_rejected),
        cmocka_unit_test(success_leaves_the_detail_alone),
        cmocka_unit_test(every_id_has_exactly_one_owner_under_every_strategy),
        cmocka_unit_test(strategies_have_stable_numbers_and_names_both_ways),
        cmocka_unit_test(the_name_hash_means_the_default),
        cmocka_unit_test(other_names_are_no_strategy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
