/* Uses stores to test that eight mistakes of an earlier system do not occur. */
#include "suite.h"

#include "base/endian.h"

#include <string.h>

static void weak_spot_1_a_runs_own_lease_duration_is_used_by_acquire_and_renew(void **state) {
    (void)state;
    struct ts_run_config config = suite_config();
    config.lease_duration_ms = 7777;
    suite_make_run_with(&config);
    struct ts_lease lease = suite_must_acquire(1, "a");
    const struct ts_event *acquired = &suite.events[suite.event_count - 1];
    assert_int_equal(acquired->kind, TS_EVENT_ACQUIRED);
    assert_int_equal(acquired->deadline.ms - acquired->at.ms, 7777);
    EXPECT(renew, suite_renew(&lease), TS_RENEW_OK);
    const struct ts_event *renewed = &suite.events[suite.event_count - 1];
    assert_int_equal(renewed->deadline.ms - renewed->at.ms, 7777);
}

static void weak_spot_2_acquire_looks_at_the_runs_status(void **state) {
    (void)state;
    suite_make_run();
    EXPECT(run_transition, suite_end(TS_RUN_OP_FAIL_RUN, suite_op()), TS_RUN_TRANSITION_OK);
    for (uint64_t shard = 1; shard <= 3; shard++) {
        EXPECT(acquire, suite_acquire(shard, "a", NULL), TS_ACQUIRE_SHARD_TERMINAL);
        assert_int_equal(suite_record(suite_shard(shard))->fence.v, 0);
    }
}

static void weak_spot_3_a_run_with_active_shards_cannot_be_completed(void **state) {
    (void)state;
    suite_make_run();
    for (uint64_t shard = 1; shard <= 3; shard++) {
        EXPECT(run_transition, suite_end(TS_RUN_OP_COMPLETE_RUN, suite_op()), TS_RUN_TRANSITION_WRONG_STATUS);
        assert_int_equal(suite.detail.run_status, TS_RUN_ACTIVE);
        assert_int_equal(suite.detail.target_status, TS_RUN_DONE);
        const struct ts_lease lease = suite_must_acquire(shard, "a");
        EXPECT(park, suite_park(&lease, suite_op(), TS_PARK_OTHER), TS_PARK_OK);
    }
    EXPECT(unpark, suite_unpark(2, suite_op()), TS_UNPARK_OK);
    EXPECT(run_transition, suite_end(TS_RUN_OP_COMPLETE_RUN, suite_op()), TS_RUN_TRANSITION_WRONG_STATUS);
    const struct ts_lease lease = suite_must_acquire(2, "a");
    EXPECT(complete, suite_complete(&lease, suite_op(), KEY("i")), TS_COMPLETE_OK);
    EXPECT(run_transition, suite_end(TS_RUN_OP_COMPLETE_RUN, suite_op()), TS_RUN_TRANSITION_OK);
    suite_audit();
}

static void weak_spot_4_attempts_without_progress_are_limited(void **state) {
    (void)state;
    struct ts_run_config config = suite_short_config();
    config.attempts = 2;
    suite_make_run_with(&config);
    for (int i = 0; i < 2; i++) {
        (void)suite_must_acquire(1, "a");
        suite.fixture->pass_ms(suite.fixture->lease_ms);
    }
    EXPECT(acquire, suite_acquire(1, "a", NULL), TS_ACQUIRE_SHARD_TERMINAL);
    const struct ts_shard_record *record = suite_record(suite_shard(1));
    assert_int_equal(record->status, TS_SHARD_PARKED);
    assert_int_equal(record->park_reason, TS_PARK_TOO_MANY_ERRORS);
    suite_audit();
    EXPECT(unpark, suite_unpark(1, suite_op()), TS_UNPARK_OK);
    (void)suite_must_acquire(1, "a");
    suite_audit();
}

static void weak_spot_5_a_replayed_unpark_does_not_look_at_the_runs_status(void **state) {
    (void)state;
    suite_make_run();
    const struct ts_lease lease = suite_must_acquire(1, "a");
    EXPECT(park, suite_park(&lease, suite_op(), TS_PARK_OTHER), TS_PARK_OK);
    const struct ts_op_id op = suite_op();
    EXPECT(unpark, suite_unpark(1, op), TS_UNPARK_OK);
    EXPECT(run_transition, suite_end(TS_RUN_OP_CANCEL_RUN, suite_op()), TS_RUN_TRANSITION_OK);
    EXPECT(unpark, suite_unpark(1, op), TS_UNPARK_OK);
    expect_replayed();
    EXPECT(unpark, suite_unpark(1, suite_op()), TS_UNPARK_RUN_TERMINAL);
}

static void weak_spot_6_cursors_of_children_lie_in_their_ranges(void **state) {
    (void)state;
    suite_make_run();
    const struct ts_lease lease = suite_must_acquire(1, "a");
    const struct ts_new_shard children[] = {
        {.spec.range = RANGE("b", "d"), .cursor = {.has_key = true, .last_key = TS_BYTES_INIT("kEy-e")}},
        {.spec.range = RANGE("d", "h")}};
    EXPECT(split, suite_split_replace(&lease, suite_op(), children, 2), TS_SPLIT_SPLIT_INVALID);
    assert_int_equal(suite.detail.split.error, TS_SPLIT_FAULT_INVALID_CHILD_SPEC);
    EXPECT(split, suite_split_residual(&lease, suite_op(), TS_BYTES("kEy-e"), KEY("c")),
           TS_SPLIT_SPLIT_INVALID);
    assert_int_equal(suite_record(suite_shard(1))->status, TS_SHARD_ACTIVE);
    suite_audit();
}

/* Returns the number of cooldowns of the test's tenant on all stores. */
static size_t count_cooldowns(void) {
    size_t count = 0;
    struct ts_rows rows = {0};
    uint8_t from[35] = {0, 'c', 'k'}, to[35];
    memcpy(from + 3, suite.tenant.b, sizeof suite.tenant.b);
    memcpy(to, from, sizeof to);
    to[34]++;
    for (size_t place = 0; place < ts_cluster_count(suite.cluster); place++) {
        struct ts_call call = {.kind = TS_CALL_SCAN,
                               .from = ts_bytes_of(from, sizeof from),
                               .to = ts_bytes_of(to, sizeof to),
                               .limit = 100,
                               .rows = &rows};
        assert_int_equal(ts_store_run(ts_cluster_store(suite.cluster, place), &call), TS_STORE_OK);
        count += rows.count;
    }
    ts_rows_release(&rows);
    return count;
}

static void weak_spot_7_cooldowns_are_dropped_once_over(void **state) {
    (void)state;
    struct ts_run_config config = suite_short_config();
    config.cooldown_ms = suite.fixture->lease_ms;
    suite_make_run_with(&config);
    EXPECT(claim, suite_claim("a", NULL), TS_CLAIM_OK);
    assert_int_equal(count_cooldowns(), 1);
    EXPECT(run_transition, suite_end(TS_RUN_OP_CANCEL_RUN, suite_op()), TS_RUN_TRANSITION_OK);
    EXPECT(claim, suite_claim("a", NULL), TS_CLAIM_THROTTLED);
    assert_int_equal(count_cooldowns(), 1);
    suite.fixture->pass_ms(suite.fixture->lease_ms + 100);
    EXPECT(claim, suite_claim("a", NULL), TS_CLAIM_NONE_AVAILABLE);
    assert_int_equal(count_cooldowns(), 0);
}

struct coverage {
    uint8_t next[16]; /* start of the range to find next */
    size_t next_len;
    size_t count;
};

/* Visits an active shard. If the range of the shard begins at `next`, moves `next` to the end of the range,
 * and ends the walk. */
static bool extend_coverage(void *context, const struct ts_coord_shard_view *shard) {
    struct coverage *coverage = context;
    const struct ts_key_range range = shard->record->spec.range;
    if (!ts_bytes_equal(range.start, ts_bytes_of(coverage->next, coverage->next_len)))
        return true;
    assert_true(range.end.len <= sizeof coverage->next);
    memcpy(coverage->next, range.end.data, range.end.len);
    coverage->next_len = range.end.len;
    coverage->count++;
    return false;
}

static void weak_spot_8_splits_partition_the_range_exactly(void **state) {
    (void)state;
    suite_make_run();
    const struct ts_lease lease = suite_must_acquire(1, "a");
    EXPECT(split, suite_split_residual(&lease, suite_op(), TS_BYTES("kEy-f"), (struct ts_cursor){0}),
           TS_SPLIT_OK);
    const struct ts_lease other = suite_must_acquire(suite.residual.residual.v, "b");
    const struct ts_new_shard parts[] = {{.spec.range = RANGE("b", "d")}, {.spec.range = RANGE("d", "f")}};
    EXPECT(split, suite_split_replace(&lease, suite_op(), parts, 2), TS_SPLIT_OK);
    EXPECT(split, suite_split_residual(&other, suite_op(), TS_BYTES("kEy-g"), (struct ts_cursor){0}),
           TS_SPLIT_OK);
    struct coverage coverage = {.next = "kEy-b", .next_len = 5};
    const struct ts_coord_shard_query active = {.run = {suite.tenant, suite.run},
                                                .filter = {.by_status = true, .status = TS_SHARD_ACTIVE}};
    for (int i = 0; i < 6; i++)
        EXPECT(get_run, ts_coord_list_shards(suite.coord, &active, extend_coverage, &coverage, &suite.detail),
               TS_GET_RUN_OK);
    assert_int_equal(coverage.count, 6);
    assert_true(ts_bytes_equal(ts_bytes_of(coverage.next, coverage.next_len), TS_BYTES("kEy-x")));
    struct ts_shard_counts counts;
    EXPECT(get_run, ts_coord_run_counts(suite.coord, &active.run, &counts, &suite.detail), TS_GET_RUN_OK);
    assert_int_equal(counts.active, 6);
    assert_int_equal(counts.split, 1);
    suite_audit();
}

const struct CMUnitTest suite_weak_spot_tests[] = {
    suite_test(weak_spot_1_a_runs_own_lease_duration_is_used_by_acquire_and_renew),
    suite_test(weak_spot_2_acquire_looks_at_the_runs_status),
    suite_test(weak_spot_3_a_run_with_active_shards_cannot_be_completed),
    suite_test(weak_spot_4_attempts_without_progress_are_limited),
    suite_test(weak_spot_5_a_replayed_unpark_does_not_look_at_the_runs_status),
    suite_test(weak_spot_6_cursors_of_children_lie_in_their_ranges),
    suite_test(weak_spot_7_cooldowns_are_dropped_once_over),
    suite_test(weak_spot_8_splits_partition_the_range_exactly),
    {0},
};
