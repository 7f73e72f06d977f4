/* The literals were computed with other implementations of BLAKE3 and XXH64, from docs/formats/coord.md. */
#include "coord/core/target_shard.h"

#include "support/cmocka.h"

static const uint8_t target[TS_COORD_TARGET_LEN] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

static struct ts_router router_of(uint32_t count) {
    struct ts_router router;
    assert_int_equal(ts_router_init_hash(TS_ROUTER_STRATEGY_XXH64, count, &router, NULL), TS_ROUTER_OK);
    return router;
}

static uint64_t id_of(uint64_t run, uint32_t stores) {
    const struct ts_router router = router_of(stores);
    struct ts_shard_id shard = {0};
    assert_true(ts_coord_target_shard_id((struct ts_run_id){run}, target, &router, &shard));
    assert_int_equal(ts_router_route(&router, shard.v).v, ts_coord_target_home(&router, target).v);
    return shard.v;
}

static void the_id_is_the_first_number_that_routes_to_the_home_of_the_target(void **state) {
    (void)state;
    const struct ts_router router = router_of(16);
    assert_int_equal(ts_coord_target_home(&router, target).v, 14);
    assert_true(id_of(7, 1) == UINT64_C(0x4ac5301b3dcad0ec));
    assert_true(id_of(7, 3) == UINT64_C(0x4ac5301b3dcad0ec));
    assert_true(id_of(7, 16) == UINT64_C(0x00194393d53447b9));
    assert_true(id_of(8, 1) == UINT64_C(0x0d7c5910b2ae05d4));
    assert_true(id_of(8, 3) == UINT64_C(0x5880b4e0119fc382));
    assert_true(id_of(8, 16) == UINT64_C(0x6e2e3350303b2f61));
}

static void a_home_without_ids_below_bit_63_has_no_shard(void **state) {
    (void)state;
    static uint64_t memory[256];
    const struct ts_router_range ranges[] = {{{0}, 0, TS_DERIVED_SHARD_BIT},
                                             {{1}, TS_DERIVED_SHARD_BIT, UINT64_MAX}};
    struct ts_router router;
    assert_int_equal(ts_router_init_range(ranges, 2, memory, sizeof memory, &router, NULL), TS_ROUTER_OK);
    uint8_t other[TS_COORD_TARGET_LEN] = {0};
    uint32_t found[2] = {0};
    for (other[0] = 1; other[0] < 50; other[0]++) {
        struct ts_shard_id shard = {1};
        const uint32_t home = ts_coord_target_home(&router, other).v;
        const bool has_id = ts_coord_target_shard_id((struct ts_run_id){7}, other, &router, &shard);
        assert_int_equal(has_id, home == 0);
        assert_true(has_id ? !ts_shard_id_is_derived(shard) : shard.v == 1);
        found[home]++;
    }
    assert_true(found[0] > 0 && found[1] > 0);
}

static void both_cursors_of_a_target_are_inside_its_range(void **state) {
    (void)state;
    uint8_t other[TS_COORD_TARGET_LEN], back[TS_COORD_TARGET_LEN];
    memset(other, 0xff, sizeof other);
    const uint8_t *const targets[] = {target, other};
    for (size_t i = 0; i < 2; i++) {
        const struct ts_coord_target_keys keys = ts_coord_target_keys_of(targets[i]);
        const struct ts_key_range range = ts_coord_target_range(&keys);
        assert_true(ts_key_range_contains(range, ts_coord_target_key_begun(&keys)));
        assert_true(ts_key_range_contains(range, ts_coord_target_key_done(&keys)));
        assert_true(ts_bytes_compare(ts_coord_target_key_begun(&keys), ts_coord_target_key_done(&keys)) < 0);
        assert_true(ts_coord_target_of_range(range, back));
        assert_memory_equal(back, targets[i], sizeof back);
        assert_false(ts_coord_target_of_range(
            (struct ts_key_range){range.start, ts_coord_target_key_done(&keys)}, back));
        assert_false(ts_coord_target_of_range((struct ts_key_range){range.end, range.end}, back));
        /* The next target id is after the end of the range. */
        if (i == 0) {
            uint8_t next[TS_COORD_TARGET_LEN];
            memcpy(next, target, sizeof next);
            next[TS_COORD_TARGET_LEN - 1]++;
            assert_true(ts_bytes_compare(range.end, ts_bytes_of(next, sizeof next)) < 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_id_is_the_first_number_that_routes_to_the_home_of_the_target),
        cmocka_unit_test(a_home_without_ids_below_bit_63_has_no_shard),
        cmocka_unit_test(both_cursors_of_a_target_are_inside_its_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
