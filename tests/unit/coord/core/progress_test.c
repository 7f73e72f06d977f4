#include "coord/core/progress.h"

#include "support/stops.h"
#include "world.h"

static struct ts_run_progress progress;
static const struct ts_logical_time now = {100};

static struct ts_shard_record shard(enum ts_shard_status status) {
    return (struct ts_shard_record){.key = the_shard, .status = status};
}

static void counts_follow_a_shard_from_status_to_status(void **state) {
    (void)state;
    struct ts_shard_counts counts = {.active = 1, .parked = 1, .done = 1};
    const enum ts_shard_status active = TS_SHARD_ACTIVE, parked = TS_SHARD_PARKED;
    ts_shard_counts_move(&counts, &active, TS_SHARD_DONE);
    assert_int_equal(counts.done, 2);
    ts_shard_counts_move(&counts, &parked, TS_SHARD_SPLIT);
    assert_int_equal(counts.split, 1);
    ts_shard_counts_move(&counts, NULL, TS_SHARD_ACTIVE);
    assert_int_equal(counts.active, 1);
    assert_int_equal(counts.parked, 0);
    assert_stops("> 0", ts_shard_counts_move(&counts, &parked, TS_SHARD_ACTIVE));
}

static void progress_counts_what_there_is(void **state) {
    (void)state;
    ts_run_progress_clear(&progress);
    for (int status = TS_SHARD_ACTIVE; status <= TS_SHARD_PARKED; status++) {
        struct ts_shard_record record = shard((enum ts_shard_status)status);
        ts_run_progress_add(&progress, &record, now);
    }
    struct ts_shard_record leased = shard(TS_SHARD_ACTIVE);
    leased.has_holder = true;
    leased.holder.deadline.ms = 150;
    leased.attempts = 2;
    ts_run_progress_add(&progress, &leased, now);
    leased.holder.deadline.ms = 120;
    leased.attempts = 1;
    ts_run_progress_add(&progress, &leased, now);
    leased.holder.deadline.ms = 100;
    ts_run_progress_add(&progress, &leased, now);
    assert_int_equal(progress.counts.active, 4);
    assert_int_equal(progress.counts.done, 1);
    assert_int_equal(progress.counts.split, 1);
    assert_int_equal(progress.counts.parked, 1);
    assert_int_equal(progress.leased, 2);
    assert_int_equal(progress.expired, 1);
    assert_int_equal(progress.struggling, 1);
    assert_true(progress.has_oldest_lease);
    assert_int_equal(progress.oldest_lease.ms, 120);
    assert_false(progress.has_watermark);
}

static void the_watermark_is_the_least_key_of_active_shards(void **state) {
    (void)state;
    static const struct {
        enum ts_shard_status status;
        const char *key;
    } shards[] = {{TS_SHARD_ACTIVE, "m"}, {TS_SHARD_DONE, "a"},   {TS_SHARD_ACTIVE, NULL},
                  {TS_SHARD_ACTIVE, "f"}, {TS_SHARD_PARKED, "b"}, {TS_SHARD_ACTIVE, "ff"}};
    ts_run_progress_clear(&progress);
    for (size_t i = 0; i < sizeof shards / sizeof shards[0]; i++) {
        struct ts_shard_record record = shard(shards[i].status);
        if (shards[i].key != NULL)
            record.cursor = cursor_at(shards[i].key);
        ts_run_progress_add(&progress, &record, now);
    }
    assert_true(progress.has_watermark);
    assert_true(ts_bytes_equal(ts_fixed_buf_read(&progress.watermark), TS_BYTES("f")));
    ts_run_progress_clear(&progress);
    assert_false(progress.has_watermark);
    assert_int_equal(progress.counts.active, 0);
}

static void lists_are_filtered(void **state) {
    (void)state;
    struct ts_shard_record record = shard(TS_SHARD_ACTIVE);
    const struct ts_shard_filter all = {0}, parked = {.by_status = true, .status = TS_SHARD_PARKED},
                                 leased = {.only_leased = true}, struggling = {.only_struggling = true};
    assert_true(ts_shard_filter_matches(&all, &record, now));
    assert_false(ts_shard_filter_matches(&parked, &record, now));
    assert_false(ts_shard_filter_matches(&leased, &record, now));
    assert_false(ts_shard_filter_matches(&struggling, &record, now));
    record.has_holder = true;
    record.holder.deadline.ms = 101;
    record.attempts = 2;
    assert_true(ts_shard_filter_matches(&leased, &record, now));
    assert_true(ts_shard_filter_matches(&struggling, &record, now));
    record.status = TS_SHARD_PARKED;
    assert_true(ts_shard_filter_matches(&parked, &record, now));

    const struct ts_run_record run = {.tenant = tenant_named("acme"), .status = TS_RUN_DONE};
    struct ts_run_filter filter = {.tenant = tenant_named("acme")};
    assert_true(ts_run_filter_matches(&filter, &run));
    filter.by_status = true;
    filter.status = TS_RUN_ACTIVE;
    assert_false(ts_run_filter_matches(&filter, &run));
    filter = (struct ts_run_filter){.tenant = tenant_named("other")};
    assert_false(ts_run_filter_matches(&filter, &run));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_follow_a_shard_from_status_to_status),
        cmocka_unit_test(progress_counts_what_there_is),
        cmocka_unit_test(the_watermark_is_the_least_key_of_active_shards),
        cmocka_unit_test(lists_are_filtered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
