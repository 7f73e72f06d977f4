#include "txn/guard/lag.h"

#include "support/cmocka.h"

static const uint64_t lag_ms[] = {0, 1000, 1001, 5000};

static size_t find(uint64_t limit_ms, const uint32_t *stores, size_t count) {
    const struct ts_txn_replication_config config = {.max_replication_lag_ms = limit_ms};
    return ts_txn_lag_find(&config, lag_ms, stores, count);
}

static void without_a_limit_nothing_is_asked_and_nobody_is_kept_out(void **state) {
    (void)state;
    assert_false(ts_txn_lag_is_limited(&(struct ts_txn_replication_config){.max_replication_lag_ms = 0}));
    assert_true(ts_txn_lag_is_limited(&(struct ts_txn_replication_config){.max_replication_lag_ms = 1}));
    assert_int_equal(find(0, (const uint32_t[]){0, 1, 2, 3}, 4), SIZE_MAX);
}

static void only_a_lag_above_the_limit_counts(void **state) {
    (void)state;
    assert_int_equal(find(1000, (const uint32_t[]){0, 1}, 2), SIZE_MAX);
    assert_int_equal(find(1000, (const uint32_t[]){2}, 1), 2);
    assert_int_equal(find(999, (const uint32_t[]){0, 1}, 2), 1);
}

static void only_the_stores_of_the_transaction_count(void **state) {
    (void)state;
    assert_int_equal(find(1000, (const uint32_t[]){0}, 1), SIZE_MAX);
    assert_int_equal(find(1000, NULL, 0), SIZE_MAX);
}

static void the_worst_store_is_named(void **state) {
    (void)state;
    assert_int_equal(find(1, (const uint32_t[]){1, 3, 2}, 3), 3);
    assert_int_equal(find(1, (const uint32_t[]){0, 1, 2}, 3), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_limit_nothing_is_asked_and_nobody_is_kept_out),
        cmocka_unit_test(only_a_lag_above_the_limit_counts),
        cmocka_unit_test(only_the_stores_of_the_transaction_count),
        cmocka_unit_test(the_worst_store_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
