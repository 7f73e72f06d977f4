#include "txn/guard/latency.h"

#include "support/cmocka.h"

#include <string.h>

static struct ts_txn_breakdown latency;

static int fresh(void **state) {
    (void)state;
    ts_txn_breakdown_init(&latency);
    return 0;
}

static void example(void) {
    ts_txn_breakdown_add(&latency, TS_TXN_BREAKDOWN_COORD_QUEUE, 100);
    ts_txn_breakdown_add(&latency, TS_TXN_BREAKDOWN_ROUTE_PLAN, 50);
    ts_txn_breakdown_add_rpc(&latency, (struct ts_txn_breakdown_rpc){.store = 0, .us = 300});
    ts_txn_breakdown_add_rpc(&latency, (struct ts_txn_breakdown_rpc){.store = 1, .us = 500});
    ts_txn_breakdown_add(&latency, TS_TXN_BREAKDOWN_PREPARE_WAL, 800);
    ts_txn_breakdown_add(&latency, TS_TXN_BREAKDOWN_COMMIT_WAL, 200);
    latency.total_us = 1650;
}

static void the_waterfall_has_exactly_the_format_of_the_specification(void **state) {
    (void)state;
    char text[TS_TXN_BREAKDOWN_WATERFALL_SIZE];
    example();
    assert_string_equal(ts_txn_breakdown_waterfall(&latency, text),
                        "queue=100|route=50|rpc_max=500|read=0|lock=0|prep=800|barrier=0|commit=200|repl=0|"
                        "retry=0|total=1650");
}

static void the_longest_waterfall_fits(void **state) {
    (void)state;
    char text[TS_TXN_BREAKDOWN_WATERFALL_SIZE];
    memset(latency.us, 0xff, sizeof latency.us);
    latency.total_us = UINT64_MAX;
    ts_txn_breakdown_waterfall(&latency, text);
    assert_non_null(strstr(text, "|total=18446744073709551615"));
}

static void the_dominant_phase_is_the_longest(void **state) {
    (void)state;
    assert_int_equal(ts_txn_breakdown_dominant(&latency), TS_TXN_BREAKDOWN_COORD_QUEUE);
    example();
    assert_int_equal(ts_txn_breakdown_dominant(&latency), TS_TXN_BREAKDOWN_PREPARE_WAL);
    assert_string_equal(ts_txn_breakdown_phase_field(ts_txn_breakdown_dominant(&latency)), "prepare_wal_us");
    ts_txn_breakdown_add(&latency, TS_TXN_BREAKDOWN_GC_IMPACT, 800);
    assert_int_equal(ts_txn_breakdown_dominant(&latency), TS_TXN_BREAKDOWN_PREPARE_WAL);
    ts_txn_breakdown_add(&latency, TS_TXN_BREAKDOWN_GC_IMPACT, 1);
    assert_int_equal(ts_txn_breakdown_dominant(&latency), TS_TXN_BREAKDOWN_GC_IMPACT);
    ts_txn_breakdown_add(&latency, TS_TXN_BREAKDOWN_RETRY_BACKOFF, 10000);
    assert_int_equal(ts_txn_breakdown_dominant(&latency), TS_TXN_BREAKDOWN_RETRY_BACKOFF);
}

static void round_trips_add_up_by_store_and_the_slowest_counts(void **state) {
    (void)state;
    ts_txn_breakdown_add_rpc(&latency, (struct ts_txn_breakdown_rpc){.store = 3, .us = 10});
    ts_txn_breakdown_add_rpc(&latency, (struct ts_txn_breakdown_rpc){.store = 5, .us = 15});
    ts_txn_breakdown_add_rpc(&latency, (struct ts_txn_breakdown_rpc){.store = 3, .us = 10});
    assert_int_equal(latency.rpc_count, 2);
    assert_int_equal(latency.rpc[0].us, 20);
    assert_int_equal(latency.us[TS_TXN_BREAKDOWN_SHARD_RPC], 20);
}

static void stores_beyond_the_bound_still_count_for_the_slowest(void **state) {
    (void)state;
    for (uint32_t store = 0; store < TS_TXN_BREAKDOWN_STORES_MAX; store++)
        ts_txn_breakdown_add_rpc(&latency, (struct ts_txn_breakdown_rpc){.store = store, .us = 1});
    ts_txn_breakdown_add_rpc(&latency,
                             (struct ts_txn_breakdown_rpc){.store = TS_TXN_BREAKDOWN_STORES_MAX, .us = 9});
    assert_int_equal(latency.rpc_count, TS_TXN_BREAKDOWN_STORES_MAX);
    assert_int_equal(latency.us[TS_TXN_BREAKDOWN_SHARD_RPC], 9);
}

static void the_fields_are_those_of_the_specification(void **state) {
    (void)state;
    static const char *const fields[] = {"coord_queue_us",    "route_plan_us",    "shard_rpc_us",
                                         "read_phase_us",     "lock_validate_us", "prepare_wal_us",
                                         "commit_barrier_us", "commit_wal_us",    "replication_ack_us",
                                         "gc_impact_us",      "retry_backoff_us"};
    assert_int_equal(TS_TXN_BREAKDOWN_PHASE_COUNT, sizeof fields / sizeof fields[0]);
    for (size_t i = 0; i < TS_TXN_BREAKDOWN_PHASE_COUNT; i++)
        assert_string_equal(ts_txn_breakdown_phase_field((enum ts_txn_breakdown_phase)i), fields[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_waterfall_has_exactly_the_format_of_the_specification, fresh),
        cmocka_unit_test_setup(the_longest_waterfall_fits, fresh),
        cmocka_unit_test_setup(the_dominant_phase_is_the_longest, fresh),
        cmocka_unit_test_setup(round_trips_add_up_by_store_and_the_slowest_counts, fresh),
        cmocka_unit_test_setup(stores_beyond_the_bound_still_count_for_the_slowest, fresh),
        cmocka_unit_test_setup(the_fields_are_those_of_the_specification, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
