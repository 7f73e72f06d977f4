/* Tests of operations on one shard, and of the lease that they need. */
#include "suite.h"

#include "coord/driver/session.h"

#include <string.h>

static const struct ts_new_shard halves[] = {{.spec.range = RANGE("b", "d")},
                                             {.spec.range = RANGE("d", "h")}};

static void acquire_gives_what_the_shard_is(void **state) {
    (void)state;
    suite_make_run();
    EXPECT(acquire, suite_acquire(9, "a", NULL), TS_ACQUIRE_SHARD_NOT_FOUND);
    const struct ts_lease lease = suite_must_acquire(1, "a");
    assert_int_equal(ts_lease_fence(&lease).v, 1);
    assert_true(ts_bytes_equal(suite.view.snapshot.spec.range.start, TS_BYTES("kEy-b")));
    assert_true(ts_bytes_equal(suite.view.snapshot.spec.metadata, TS_BYTES("mEtA")));
    assert_false(suite.view.snapshot.cursor.has_key);
    assert_int_equal(suite.view.capacity.available_count, 2);
    assert_false(suite.view.capacity.has_earliest_deadline); /* the caller's own lease does not count */
    assert_int_equal(suite_count_events(TS_EVENT_ACQUIRED), 1);
    EXPECT(acquire, suite_acquire(1, "b", NULL), TS_ACQUIRE_ALREADY_LEASED);
    assert_int_equal(suite.detail.deadline.ms, ts_lease_deadline(&lease).ms);
    EXPECT(acquire, suite_acquire(1, "a", NULL), TS_ACQUIRE_ALREADY_LEASED);
    (void)suite_must_acquire(2, "b");
    assert_int_equal(suite.view.capacity.earliest_deadline.ms, ts_lease_deadline(&lease).ms);
    suite_audit();
}

static void an_expired_lease_can_be_taken_and_is_stale_then(void **state) {
    (void)state;
    suite_make_short_run();
    struct ts_lease first = suite_must_acquire(1, "a");
    suite.fixture->pass_ms(suite.fixture->lease_ms);
    /* Nobody has acquired the shard since, but the lease has expired. */
    EXPECT(renew, suite_renew(&first), TS_RENEW_LEASE_EXPIRED);
    assert_true(suite.detail.now.ms >= suite.detail.deadline.ms);
    EXPECT(checkpoint, suite_checkpoint(&first, suite_op(), KEY("c")), TS_CHECKPOINT_LEASE_EXPIRED);
    EXPECT(complete, suite_complete(&first, suite_op(), KEY("c")), TS_COMPLETE_LEASE_EXPIRED);
    EXPECT(park, suite_park(&first, suite_op(), TS_PARK_OTHER), TS_PARK_LEASE_EXPIRED);
    EXPECT(split, suite_split_replace(&first, suite_op(), halves, 2), TS_SPLIT_LEASE_EXPIRED);
    EXPECT(split, suite_split_residual(&first, suite_op(), TS_BYTES("kEy-d"), (struct ts_cursor){0}),
           TS_SPLIT_LEASE_EXPIRED);
    EXPECT(release, suite_release(&first, suite_op(), TS_BLAME_NOBODY), TS_RELEASE_LEASE_EXPIRED);
    EXPECT(write, suite_write(&first, "expired", NULL, &(struct ts_store_error){0}), TS_WRITE_LEASE_EXPIRED);
    assert_int_equal(suite_count_events(TS_EVENT_LEASE_LOST), 8);
    const struct ts_lease second = suite_must_acquire(1, "b");
    assert_int_equal(ts_lease_fence(&second).v, 2);
    EXPECT(renew, suite_renew(&first), TS_RENEW_STALE_FENCE);
    assert_int_equal(suite.detail.presented.v, 1);
    assert_int_equal(suite.detail.current.v, 2);
    EXPECT(checkpoint, suite_checkpoint(&first, suite_op(), KEY("c")), TS_CHECKPOINT_STALE_FENCE);
    EXPECT(complete, suite_complete(&first, suite_op(), KEY("c")), TS_COMPLETE_STALE_FENCE);
    EXPECT(park, suite_park(&first, suite_op(), TS_PARK_OTHER), TS_PARK_STALE_FENCE);
    EXPECT(release, suite_release(&first, suite_op(), TS_BLAME_SHARD), TS_RELEASE_STALE_FENCE);
    EXPECT(split, suite_split_replace(&first, suite_op(), halves, 2), TS_SPLIT_STALE_FENCE);
    EXPECT(checkpoint, suite_checkpoint(&second, suite_op(), KEY("c")), TS_CHECKPOINT_OK);
    suite_audit();
}

static void renewing_moves_the_deadline_and_keeps_the_fence(void **state) {
    (void)state;
    suite_make_run();
    struct ts_lease lease = suite_must_acquire(1, "a");
    const uint64_t before_ms = ts_lease_deadline(&lease).ms;
    suite.fixture->pass_ms(200);
    EXPECT(renew, suite_renew(&lease), TS_RENEW_OK);
    assert_true(ts_lease_deadline(&lease).ms >= before_ms + 200);
    assert_int_equal(ts_lease_fence(&lease).v, 1);
    assert_int_equal(suite.renewed.new_deadline.ms, ts_lease_deadline(&lease).ms);
    assert_int_equal(suite.renewed.capacity.available_count, 2);
    assert_int_equal(suite_count_events(TS_EVENT_RENEWED), 1);
    suite_audit();
    const struct ts_lease none = ts_lease_make(
        &(struct ts_lease_fields){suite.tenant, suite_shard(77), suite_worker("a"), {1}, {before_ms}});
    struct ts_lease copy = none;
    EXPECT(renew, suite_renew(&copy), TS_RENEW_SHARD_NOT_FOUND);
    EXPECT(checkpoint, suite_checkpoint(&none, suite_op(), KEY("c")), TS_CHECKPOINT_SHARD_NOT_FOUND);
    EXPECT(complete, suite_complete(&none, suite_op(), KEY("c")), TS_COMPLETE_SHARD_NOT_FOUND);
    EXPECT(park, suite_park(&none, suite_op(), TS_PARK_OTHER), TS_PARK_SHARD_NOT_FOUND);
    EXPECT(release, suite_release(&none, suite_op(), TS_BLAME_SHARD), TS_RELEASE_SHARD_NOT_FOUND);
    EXPECT(write, suite_write(&none, "none", NULL, &(struct ts_store_error){0}), TS_WRITE_SHARD_NOT_FOUND);
    EXPECT(split, suite_split_replace(&none, suite_op(), halves, 2), TS_SPLIT_SHARD_NOT_FOUND);
    EXPECT(unpark, suite_unpark(77, suite_op()), TS_UNPARK_SHARD_NOT_FOUND);
    EXPECT(get_shard, suite_get_shard(suite_shard(77)), TS_GET_SHARD_SHARD_NOT_FOUND);
}

static void a_checkpoint_is_done_once_and_replayed(void **state) {
    (void)state;
    suite_make_short_run();
    const struct ts_lease lease = suite_must_acquire(1, "a");
    const struct ts_op_id op = suite_op();
    struct ts_cursor cursor = KEY("c");
    cursor.has_token = true;
    cursor.token = TS_BYTES("tOkEn");
    EXPECT(checkpoint, suite_checkpoint(&lease, op, cursor), TS_CHECKPOINT_OK);
    expect_executed();
    EXPECT(checkpoint, suite_checkpoint(&lease, op, cursor), TS_CHECKPOINT_OK);
    expect_replayed();
    assert_int_equal(suite.outcome.result, TS_OP_RESULT_COMPLETED);
    assert_int_equal(suite_count_events(TS_EVENT_CHECKPOINTED), 1);
    EXPECT(checkpoint, suite_checkpoint(&lease, op, KEY("d")), TS_CHECKPOINT_OP_ID_CONFLICT);
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("e")), TS_CHECKPOINT_OK);
    EXPECT(checkpoint, suite_checkpoint(&lease, op, cursor), TS_CHECKPOINT_OK);
    expect_replayed();
    assert_int_equal(suite.outcome.result, TS_OP_RESULT_SUPERSEDED);
    const struct ts_shard_record *record = suite_record(suite_shard(1));
    assert_true(ts_bytes_equal(record->cursor.last_key, TS_BYTES("kEy-e")));
    /* The answer is the same after the end of the lease. */
    suite.fixture->pass_ms(suite.fixture->lease_ms);
    EXPECT(checkpoint, suite_checkpoint(&lease, op, cursor), TS_CHECKPOINT_OK);
    expect_replayed();
    const struct ts_lease next = suite_must_acquire(1, "b");
    assert_true(ts_bytes_equal(suite.view.snapshot.cursor.last_key, TS_BYTES("kEy-e")));
    EXPECT(checkpoint, suite_checkpoint(&next, op, cursor), TS_CHECKPOINT_OK);
    expect_replayed();
    suite_audit();
}

static void cursors_are_checked_in_their_order(void **state) {
    (void)state;
    static uint8_t large[TS_TOKEN_MAX + 1];
    suite_make_run();
    const struct ts_lease lease = suite_must_acquire(1, "a");
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("e")), TS_CHECKPOINT_OK);
    const struct ts_cursor no_key = {.has_token = true, .token = {large, sizeof large}};
    const struct ts_cursor large_key = {.has_key = true, .last_key = {large, TS_KEY_MAX + 1}};
    struct ts_cursor large_token = KEY("c");
    large_token.has_token = true;
    large_token.token = ts_bytes_of(large, sizeof large);
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), no_key), TS_CHECKPOINT_CHECKPOINT_MISSING_KEY);
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), large_key), TS_CHECKPOINT_CURSOR_KEY_TOO_LARGE);
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), large_token),
           TS_CHECKPOINT_CURSOR_TOKEN_TOO_LARGE);
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("c")), TS_CHECKPOINT_CURSOR_REGRESSION);
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("h")), TS_CHECKPOINT_CURSOR_OUT_OF_BOUNDS);
    EXPECT(complete, suite_complete(&lease, suite_op(), no_key), TS_COMPLETE_CHECKPOINT_MISSING_KEY);
    EXPECT(complete, suite_complete(&lease, suite_op(), large_key), TS_COMPLETE_CURSOR_KEY_TOO_LARGE);
    EXPECT(complete, suite_complete(&lease, suite_op(), large_token), TS_COMPLETE_CURSOR_TOKEN_TOO_LARGE);
    EXPECT(complete, suite_complete(&lease, suite_op(), KEY("c")), TS_COMPLETE_CURSOR_REGRESSION);
    EXPECT(complete, suite_complete(&lease, suite_op(), KEY("h")), TS_COMPLETE_CURSOR_OUT_OF_BOUNDS);
    assert_true(ts_bytes_equal(suite_record(suite_shard(1))->cursor.last_key, TS_BYTES("kEy-e")));
    assert_int_equal(ts_ring_count(&suite_record(suite_shard(1))->op_log), 1);
    suite_audit();
}

static void a_record_that_would_grow_too_large_is_refused(void **state) {
    (void)state;
    static uint8_t token[1000];
    suite_make_run();
    const struct ts_lease lease = suite_must_acquire(1, "a");
    suite.coord = suite_other(&(struct ts_coord_options){.record_max = 800});
    struct ts_cursor cursor = KEY("c");
    cursor.has_token = true;
    cursor.token = ts_bytes_of(token, sizeof token);
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), cursor), TS_CHECKPOINT_RESOURCE_EXHAUSTED);
    EXPECT(complete, suite_complete(&lease, suite_op(), cursor), TS_COMPLETE_RESOURCE_EXHAUSTED);
    ts_coord_free(suite.coord);
    suite.coord = suite_other(&(struct ts_coord_options){.record_max = 580});
    EXPECT(split, suite_split_replace(&lease, suite_op(), halves, 2), TS_SPLIT_RESOURCE_EXHAUSTED);
    ts_coord_free(suite.coord);
    suite.coord = suite.whole;
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), cursor), TS_CHECKPOINT_OK);
    suite_audit();
}

static void a_completed_shard_is_done_for_ever(void **state) {
    (void)state;
    suite_make_run();
    struct ts_lease lease = suite_must_acquire(1, "a");
    const struct ts_op_id op = suite_op();
    EXPECT(complete, suite_complete(&lease, op, KEY("g")), TS_COMPLETE_OK);
    expect_executed();
    EXPECT(complete, suite_complete(&lease, op, KEY("g")), TS_COMPLETE_OK);
    expect_replayed();
    EXPECT(complete, suite_complete(&lease, op, KEY("f")), TS_COMPLETE_OP_ID_CONFLICT);
    EXPECT(complete, suite_complete(&lease, suite_op(), KEY("g")), TS_COMPLETE_SHARD_TERMINAL);
    assert_int_equal(suite.detail.shard_status, TS_SHARD_DONE);
    EXPECT(renew, suite_renew(&lease), TS_RENEW_SHARD_TERMINAL);
    EXPECT(park, suite_park(&lease, suite_op(), TS_PARK_OTHER), TS_PARK_SHARD_TERMINAL);
    EXPECT(release, suite_release(&lease, suite_op(), TS_BLAME_SHARD), TS_RELEASE_SHARD_TERMINAL);
    EXPECT(split, suite_split_replace(&lease, suite_op(), halves, 2), TS_SPLIT_SHARD_TERMINAL);
    EXPECT(acquire, suite_acquire(1, "b", NULL), TS_ACQUIRE_SHARD_TERMINAL);
    EXPECT(unpark, suite_unpark(1, suite_op()), TS_UNPARK_NOT_PARKED);
    assert_int_equal(suite.detail.shard_status, TS_SHARD_DONE);
    suite_audit();
}

static void a_parked_shard_can_be_unparked(void **state) {
    (void)state;
    suite_make_run();
    const struct ts_lease lease = suite_must_acquire(1, "a");
    const struct ts_op_id op = suite_op(), back = suite_op();
    EXPECT(park, suite_park(&lease, op, TS_PARK_PERMISSION_DENIED), TS_PARK_OK);
    expect_executed();
    EXPECT(park, suite_park(&lease, op, TS_PARK_PERMISSION_DENIED), TS_PARK_OK);
    expect_replayed();
    EXPECT(park, suite_park(&lease, op, TS_PARK_OTHER), TS_PARK_OP_ID_CONFLICT);
    suite_audit();
    EXPECT(unpark, suite_unpark(1, op), TS_UNPARK_OP_ID_CONFLICT);
    EXPECT(unpark, suite_unpark(1, back), TS_UNPARK_OK);
    expect_executed();
    EXPECT(unpark, suite_unpark(1, back), TS_UNPARK_OK);
    expect_replayed();
    assert_int_equal(suite_count_events(TS_EVENT_UNPARKED), 1);
    suite_audit();
    const struct ts_lease next = suite_must_acquire(1, "b");
    assert_int_equal(ts_lease_fence(&next).v, 3);
    suite_audit();
}

static void a_released_shard_can_be_claimed_at_once(void **state) {
    (void)state;
    suite_make_run();
    const struct ts_lease lease = suite_must_acquire(1, "a");
    const struct ts_op_id op = suite_op();
    EXPECT(release, suite_release(&lease, op, TS_BLAME_NOBODY), TS_RELEASE_OK);
    expect_executed();
    assert_int_equal(suite_record(suite_shard(1))->attempts, 0);
    assert_int_equal(suite_record(suite_shard(1))->fence.v, 1);
    suite_audit();
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("c")), TS_CHECKPOINT_STALE_FENCE);
    assert_true(suite.detail.is_released);
    const struct ts_lease next = suite_must_acquire(1, "b");
    assert_int_equal(ts_lease_fence(&next).v, 2);
    EXPECT(release, suite_release(&lease, op, TS_BLAME_NOBODY), TS_RELEASE_OK);
    expect_replayed();
    EXPECT(release, suite_release(&lease, op, TS_BLAME_SHARD), TS_RELEASE_OP_ID_CONFLICT);
    EXPECT(checkpoint, suite_checkpoint(&next, suite_op(), KEY("c")), TS_CHECKPOINT_OK);
    assert_int_equal(suite_count_events(TS_EVENT_RELEASED), 1);
    suite_audit();
    /* After as many blames as the run allows, the shard is parked. */
    EXPECT(release, suite_release(&next, suite_op(), TS_BLAME_SHARD), TS_RELEASE_OK);
    for (uint32_t i = 0; i < ts_run_config_default().attempts; i++) {
        const struct ts_lease again = suite_must_acquire(1, "c");
        EXPECT(release, suite_release(&again, suite_op(), TS_BLAME_SHARD), TS_RELEASE_OK);
    }
    EXPECT(acquire, suite_acquire(1, "c", NULL), TS_ACQUIRE_SHARD_TERMINAL);
    assert_int_equal(suite_record(suite_shard(1))->park_reason, TS_PARK_TOO_MANY_ERRORS);
    suite_audit();
}

static void expect_written(uint32_t place, const char *value, uint64_t *ret_version) {
    const struct ts_bytes key = TS_BYTES("written");
    struct ts_rows rows = {0};
    struct ts_call read = {.kind = TS_CALL_READ, .keys = &key, .key_count = 1, .rows = &rows};
    assert_int_equal(ts_store_run(ts_cluster_store(suite.cluster, place), &read), TS_STORE_OK);
    assert_true(ts_bytes_equal(rows.rows[0].value, ts_bytes_of_cstring(value)));
    *ret_version = rows.rows[0].version;
    ts_rows_release(&rows);
}

static void only_the_holder_of_a_lease_writes_for_a_shard(void **state) {
    (void)state;
    struct ts_store_error error;
    uint64_t version = 0;
    suite_make_run();
    struct ts_lease lease = suite_must_acquire(1, "a");
    const uint32_t place = ts_coord_place_of_shard(suite.coord, (struct ts_shard_id){1});
    EXPECT(write, suite_write(&lease, "first", NULL, &error), TS_WRITE_OK);
    assert_int_equal(error.result, TS_STORE_OK);
    expect_written(place, "first", &version);
    /* The first batch checks the current version. The second batch checks a version that no longer exists. */
    EXPECT(write, suite_write(&lease, "second", &version, &error), TS_WRITE_OK);
    assert_int_equal(error.result, TS_STORE_OK);
    EXPECT(write, suite_write(&lease, "third", &version, &error), TS_WRITE_OK);
    assert_int_equal(error.result, TS_STORE_CHECK_FAILED);
    assert_true(error.op == 1 || error.op == SIZE_MAX);
    expect_written(place, "second", &version);
    /* An earlier holder cannot write, although the deadline of its lease has not passed. */
    EXPECT(release, suite_release(&lease, suite_op(), TS_BLAME_NOBODY), TS_RELEASE_OK);
    EXPECT(write, suite_write(&lease, "released", NULL, &error), TS_WRITE_STALE_FENCE);
    struct ts_lease next = suite_must_acquire(1, "b");
    EXPECT(write, suite_write(&lease, "stale", NULL, &error), TS_WRITE_STALE_FENCE);
    EXPECT(renew, suite_renew(&next), TS_RENEW_OK);
    EXPECT(write, suite_write(&next, "fourth", NULL, &error), TS_WRITE_OK);
    EXPECT(run_transition, suite_end(TS_RUN_OP_CANCEL_RUN, suite_op()), TS_RUN_TRANSITION_OK);
    EXPECT(write, suite_write(&next, "ended", NULL, &error), TS_WRITE_SHARD_TERMINAL);
    expect_written(place, "fourth", &version);
}

/* A session remembers versions. If the stored versions have changed meanwhile, the stored versions count. */
static void a_session_reads_again_when_its_lease_check_fails(void **state) {
    (void)state;
    const struct ts_coord_worker who = {.tenant = suite.tenant, .worker = suite_worker("a")};
    struct ts_store_error error;
    const struct ts_op put = {.kind = TS_OP_PUT, .key = TS_BYTES("written"), .value = TS_BYTES("session")};
    const struct ts_batch batch = {&put, 1};
    uint64_t version;
    suite_make_run();
    struct ts_coord_session *session = ts_coord_session_new(suite.coord, &who);
    EXPECT(acquire, ts_coord_session_acquire(session, suite_shard(1), &suite.view, &suite.detail),
           TS_ACQUIRE_OK);
    struct ts_lease lease = *ts_coord_session_lease(session);
    EXPECT(renew, suite_renew(&lease), TS_RENEW_OK); /* the session does not know of this renewal */
    EXPECT(write, ts_coord_session_write(session, batch, &error, &suite.detail), TS_WRITE_OK);
    assert_int_equal(error.result, TS_STORE_OK);
    expect_written(ts_coord_place_of_shard(suite.coord, (struct ts_shard_id){1}), "session", &version);
    assert_non_null(ts_coord_session_lease(session));
    EXPECT(park, suite_park(&lease, suite_op(), TS_PARK_OTHER), TS_PARK_OK);
    EXPECT(write, ts_coord_session_write(session, batch, &error, &suite.detail), TS_WRITE_SHARD_TERMINAL);
    assert_null(ts_coord_session_lease(session));
    ts_coord_session_free(session);
    suite_audit();
}

const struct CMUnitTest suite_lease_tests[] = {
    suite_test(acquire_gives_what_the_shard_is),
    suite_test(an_expired_lease_can_be_taken_and_is_stale_then),
    suite_test(renewing_moves_the_deadline_and_keeps_the_fence),
    suite_test(a_checkpoint_is_done_once_and_replayed),
    suite_test(cursors_are_checked_in_their_order),
    suite_test(a_record_that_would_grow_too_large_is_refused),
    suite_test(a_completed_shard_is_done_for_ever),
    suite_test(a_parked_shard_can_be_unparked),
    suite_test(a_released_shard_can_be_claimed_at_once),
    suite_test(only_the_holder_of_a_lease_writes_for_a_shard),
    suite_test(a_session_reads_again_when_its_lease_check_fails),
    {0},
};
