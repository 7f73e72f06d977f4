#include "bench/scenario.h"

#include "base/bytes.h"
#include "support/cmocka.h"
#include "world.h"

#include <string.h>

static struct ts_cluster *cluster;
static struct bench_plan plan;
static struct bench_txn txn;

static int four_stores(void **state) {
    (void)state;
    struct bench_keys_error error;
    cluster = make_cluster("memory:a,memory:b,memory:c,memory:d", "xxh64");
    plan = (struct bench_plan){.threads = 4};
    return bench__keys_init(&plan.keys, cluster, &error) && bench__zipf_init(&plan.zipf, BENCH_POOL_MAX) ? 0
                                                                                                         : -1;
}

static int no_stores(void **state) {
    (void)state;
    bench__keys_release(&plan.keys);
    bench__zipf_release(&plan.zipf);
    ts_cluster_close(cluster);
    return 0;
}

static struct bench_walk walk_of(enum bench_scenario scenario, uint32_t thread) {
    struct bench_walk walk = {.plan = &plan, .thread = thread};
    plan.scenario = scenario;
    ts_prng_init(&walk.prng, thread + 1);
    return walk;
}

/* Makes the next transaction. Returns a set of bits, one for each store that the transaction writes. */
static unsigned next_places(struct bench_walk *walk) {
    unsigned places = 0;
    bench__scenario_next(walk, &txn);
    for (size_t i = 0; i < txn.count; i++)
        places |= 1u << ts_cluster_place_of_key(cluster, txn.ops[i].key);
    return places;
}

static void uniform_takes_pairs_in_turn(void **state) {
    (void)state;
    struct bench_walk walk = walk_of(BENCH_UNIFORM, 0);
    static const unsigned pairs[] = {3, 6, 12, 9};
    for (size_t i = 0; i < 400; i++) {
        assert_int_equal(next_places(&walk), pairs[i % 4]);
        assert_int_equal(txn.count, 2);
    }
}

static void zipfian_stays_on_two_stores_and_meets_its_hottest_key_a_tenth_of_the_time(void **state) {
    (void)state;
    struct bench_walk walk = walk_of(BENCH_ZIPFIAN, 0);
    struct bench_key key;
    struct ts_bytes hottest = bench__keys_get(&plan.keys, (struct bench_key_at){0, 0}, &key);
    size_t hot = 0;
    for (size_t i = 0; i < 10000; i++) {
        assert_int_equal(next_places(&walk), 3);
        hot += ts_bytes_equal(txn.ops[0].key, hottest);
    }
    assert_in_range(hot, 900, 1150);
}

static void mixed_crosses_stores_every_fifth_time(void **state) {
    (void)state;
    struct bench_walk walk = walk_of(BENCH_MIXED, 1);
    size_t crossing = 0;
    for (size_t i = 0; i < 1000; i++)
        crossing += __builtin_popcount(next_places(&walk)) == 2;
    assert_int_equal(crossing, 200);
}

/* Expects that the transaction checks each key directly before it puts the key. */
static void expect_reads(void) {
    assert_true(txn.reads);
    for (size_t i = 0; i < txn.count; i += 2) {
        assert_int_equal(txn.ops[i].kind, TS_OP_CHECK);
        assert_int_equal(txn.ops[i + 1].kind, TS_OP_PUT);
        assert_true(ts_bytes_equal(txn.ops[i].key, txn.ops[i + 1].key));
    }
}

static void zipfian_and_mixed_check_what_they_have_read(void **state) {
    (void)state;
    static const enum bench_scenario scenarios[] = {BENCH_ZIPFIAN, BENCH_MIXED};
    for (size_t i = 0; i < 2; i++) {
        struct bench_walk walk = walk_of(scenarios[i], 0);
        for (size_t k = 0; k < 20; k++) {
            size_t places = (size_t)__builtin_popcount(next_places(&walk));
            assert_int_equal(txn.count, 2 * places);
            expect_reads();
        }
    }
    struct bench_walk walk = walk_of(BENCH_UNIFORM, 0);
    (void)next_places(&walk);
    assert_false(txn.reads);
}

static void threads_of_mixed_go_through_the_same_keys(void **state) {
    (void)state;
    struct bench_walk one = walk_of(BENCH_MIXED, 0), other = walk_of(BENCH_MIXED, 1);
    enum { ALL = 4 * 4 * BENCH_SHARED }; /* transactions in a round over all keys of the four stores */
    static char seen[ALL][BENCH_KEY_LEN];
    for (size_t i = 0; i < ALL; i++) {
        (void)next_places(&one);
        memcpy(seen[i], txn.ops[0].key.data, BENCH_KEY_LEN);
    }
    for (size_t i = 0; i < ALL; i++) {
        (void)next_places(&other);
        size_t met = 0;
        for (size_t k = 0; k < ALL; k++)
            met += memcmp(seen[k], txn.ops[0].key.data, BENCH_KEY_LEN) == 0;
        assert_int_equal(met, 1);
    }
}

static void contended_writes_few_keys_of_all_stores(void **state) {
    (void)state;
    struct bench_walk walk = walk_of(BENCH_CONTENDED, 0);
    struct bench_key key;
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(next_places(&walk), 15);
        assert_int_equal(txn.count, 4);
        for (size_t place = 0; place < 4; place++) {
            bool found = false;
            for (size_t k = 0; k < BENCH_CONTENDED_KEYS; k++)
                found = found ||
                        ts_bytes_equal(txn.ops[place].key,
                                       bench__keys_get(&plan.keys, (struct bench_key_at){place, k}, &key));
            assert_true(found);
        }
    }
}

static void pure_writes_on_all_stores(void **state) {
    (void)state;
    struct bench_walk walk = walk_of(BENCH_PURE, 2);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(next_places(&walk), 15);
}

static void threads_of_concurrency_share_no_key(void **state) {
    (void)state;
    struct bench_walk one = walk_of(BENCH_CONCURRENCY, 0), other = walk_of(BENCH_CONCURRENCY, 2);
    static char seen[5000][BENCH_KEY_LEN];
    for (size_t i = 0; i < 2500; i++) {
        assert_int_equal(next_places(&one), 3);
        memcpy(seen[2 * i], txn.ops[0].key.data, BENCH_KEY_LEN);
        memcpy(seen[2 * i + 1], txn.ops[1].key.data, BENCH_KEY_LEN);
    }
    for (size_t i = 0; i < 200; i++) {
        assert_int_equal(next_places(&other), 3); /* stores 0 and 1 each time */
        for (size_t k = 0; k < 5000; k++) {
            assert_memory_not_equal(seen[k], txn.ops[0].key.data, BENCH_KEY_LEN);
            assert_memory_not_equal(seen[k], txn.ops[1].key.data, BENCH_KEY_LEN);
        }
    }
}

static void faults_inserts_an_existing_id_every_fifth_time(void **state) {
    (void)state;
    static struct bench_first first;
    struct bench_walk walk = walk_of(BENCH_FAULTS, 0);
    bench__scenario_first(&plan, &first);
    assert_int_equal(first.count, BENCH_EXISTING);
    size_t duplicates = 0;
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(next_places(&walk), 3);
        duplicates += txn.duplicate;
        if (!txn.duplicate)
            continue;
        assert_int_equal(txn.ops[0].kind, TS_OP_CHECK);
        assert_int_equal(txn.ops[0].version, 0);
        bool exists = false;
        for (size_t k = 0; k < first.count; k++)
            exists = exists || ts_bytes_equal(first.ops[k].key, txn.ops[0].key);
        assert_true(exists);
    }
    assert_int_equal(duplicates, 200);
}

static void every_scenario_has_a_name_that_finds_it(void **state) {
    (void)state;
    for (size_t i = 0; i < BENCH_SCENARIO_COUNT; i++) {
        enum bench_scenario found = BENCH_SCENARIO_COUNT;
        assert_true(bench__scenario_from_name(bench__scenario_name((enum bench_scenario)i), &found));
        assert_int_equal(found, i);
    }
    enum bench_scenario none;
    assert_false(bench__scenario_from_name("none", &none));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_takes_pairs_in_turn),
        cmocka_unit_test(zipfian_stays_on_two_stores_and_meets_its_hottest_key_a_tenth_of_the_time),
        cmocka_unit_test(mixed_crosses_stores_every_fifth_time),
        cmocka_unit_test(zipfian_and_mixed_check_what_they_have_read),
        cmocka_unit_test(threads_of_mixed_go_through_the_same_keys),
        cmocka_unit_test(contended_writes_few_keys_of_all_stores),
        cmocka_unit_test(pure_writes_on_all_stores),
        cmocka_unit_test(threads_of_concurrency_share_no_key),
        cmocka_unit_test(faults_inserts_an_existing_id_every_fifth_time),
        cmocka_unit_test(every_scenario_has_a_name_that_finds_it),
    };
    return cmocka_run_group_tests(tests, four_stores, no_stores);
}
