#include "bench/keys.h"

#include "base/bytes.h"
#include "support/cmocka.h"
#include "world.h"

static void every_key_routes_to_the_store_of_its_pool(void **state) {
    (void)state;
    struct ts_cluster *cluster = make_cluster("memory:a,memory:b,memory:c", "xxh64");
    struct bench_keys keys;
    struct bench_keys_error error;
    assert_true(bench__keys_init(&keys, cluster, &error));
    assert_int_equal(keys.place_count, 3);
    for (size_t place = 0; place < 3; place++) {
        assert_int_equal(keys.counts[place], BENCH_POOL_MAX);
        for (size_t i = 0; i < BENCH_POOL_MAX; i++) {
            struct bench_key key;
            struct ts_bytes bytes = bench__keys_get(&keys, (struct bench_key_at){place, i}, &key);
            assert_true(ts_cluster_place_of_key(cluster, bytes) == place);
        }
    }
    bench__keys_release(&keys);
    ts_cluster_close(cluster);
}

static void keys_of_a_pool_are_distinct_and_an_index_beyond_wraps(void **state) {
    (void)state;
    struct ts_cluster *cluster = make_cluster("memory:a,memory:b", "jump");
    struct bench_keys keys;
    struct bench_keys_error error;
    assert_true(bench__keys_init(&keys, cluster, &error));
    for (size_t i = 1; i < keys.counts[0]; i++)
        assert_true(keys.numbers[i] > keys.numbers[i - 1]);
    struct bench_key first, wrapped;
    assert_true(ts_bytes_equal(bench__keys_get(&keys, (struct bench_key_at){0, 0}, &first),
                               bench__keys_get(&keys, (struct bench_key_at){0, keys.counts[0]}, &wrapped)));
    bench__keys_release(&keys);
    ts_cluster_close(cluster);
}

static void a_store_that_gets_no_keys_is_named(void **state) {
    (void)state;
    struct ts_cluster *cluster =
        make_cluster("memory:a,memory:b", "range:0:0-18446744073709551614,1:18446744073709551614-max");
    struct bench_keys keys;
    struct bench_keys_error error;
    assert_false(bench__keys_init(&keys, cluster, &error));
    assert_false(error.no_memory);
    assert_int_equal(error.empty_place, 1);
    bench__keys_release(&keys);
    ts_cluster_close(cluster);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_routes_to_the_store_of_its_pool),
        cmocka_unit_test(keys_of_a_pool_are_distinct_and_an_index_beyond_wraps),
        cmocka_unit_test(a_store_that_gets_no_keys_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
