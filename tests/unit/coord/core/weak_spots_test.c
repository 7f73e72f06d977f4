/* Tests eight properties that are easy to miss in a coordinator. An earlier coordinator lacked them. */
#include "base/prng.h"
#include "coord/core/claim.h"
#include "coord/core/progress.h"
#include "world.h"

static struct world w;

static int fresh(void **state) {
    (void)state;
    world_init(&w);
    return 0;
}

static void weak_spot_1_a_runs_own_lease_duration_is_used_by_acquire_and_renew(void **state) {
    (void)state;
    w.guard.config.lease_duration_ms = 1234;
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    assert_int_equal(w.record.holder.deadline.ms, w.now.ms + 1234);
    w.now.ms += 100;
    assert_int_equal(world_renew(&w), TS_RENEW_OK);
    assert_int_equal(w.record.holder.deadline.ms, w.now.ms + 1234);
}

static void weak_spot_2_acquire_looks_at_the_runs_status(void **state) {
    (void)state;
    static const enum ts_run_status ended[] = {TS_RUN_DONE, TS_RUN_FAILED, TS_RUN_CANCELLED};
    for (size_t i = 0; i < 3; i++) {
        w.guard.status = ended[i];
        assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_SHARD_TERMINAL);
        assert_int_equal(w.detail.shard_status, TS_SHARD_PARKED);
        assert_false(w.step.write);
        assert_int_equal(w.record.fence.v, 0);
    }
    w.guard.status = TS_RUN_ACTIVE;
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
}

static void weak_spot_3_a_run_with_active_shards_cannot_be_completed(void **state) {
    (void)state;
    const struct ts_run_record run = {.tenant = w.guard.tenant,
                                      .run = {7},
                                      .status = TS_RUN_ACTIVE,
                                      .config = ts_run_config_default(),
                                      .number = 1,
                                      .created_at = {1}};
    const struct ts_end_run_op op = {w.guard.tenant, {7}, {1}, TS_RUN_OP_COMPLETE_RUN};
    struct ts_run_step step;
    assert_int_equal(ts_end_run_step(&run, &op, 1, w.now, &step, &w.detail), TS_RUN_TRANSITION_WRONG_STATUS);
    assert_int_equal(w.detail.run_status, TS_RUN_ACTIVE);
    assert_int_equal(w.detail.target_status, TS_RUN_DONE);
    /* Parked shards do not prevent the end of a run: only active shards count. */
    const struct ts_shard_counts counts = {.done = 3, .parked = 1};
    assert_int_equal(ts_end_run_step(&run, &op, counts.active, w.now, &step, &w.detail),
                     TS_RUN_TRANSITION_OK);
    assert_int_equal(step.record.status, TS_RUN_DONE);
}

static void acquire_and_lose(void) {
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    w.now = w.record.holder.deadline;
}

static void weak_spot_4_a_shard_is_parked_after_too_many_attempts_without_progress(void **state) {
    (void)state;
    w.guard.config.attempts = 3;
    acquire_and_lose();
    acquire_and_lose();
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    /* A checkpoint counts as progress. */
    assert_int_equal(world_checkpoint(&w, 1, "k"), TS_CHECKPOINT_OK);
    w.now = w.record.holder.deadline;
    for (int i = 0; i < 3; i++)
        acquire_and_lose();
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_SHARD_TERMINAL);
    assert_int_equal(w.detail.shard_status, TS_SHARD_PARKED);
    assert_true(w.step.write);
    assert_int_equal(w.record.status, TS_SHARD_PARKED);
    assert_int_equal(w.record.park_reason, TS_PARK_TOO_MANY_ERRORS);
    assert_int_equal(w.step.event.kind, TS_EVENT_PARKED);
    const struct ts_op_log_entry *entry = ts_ring_from_newest(&w.record.op_log, 0);
    assert_int_equal(entry->kind, TS_SHARD_OP_PARK);
    assert_true(entry->op_id.v == ts_parking_op_id(the_shard, w.record.fence).v);
    /* After unpark, the same number of attempts is allowed again. */
    assert_int_equal(world_unpark(&w, 9), TS_UNPARK_OK);
    for (int i = 0; i < 3; i++)
        acquire_and_lose();
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_SHARD_TERMINAL);
    assert_int_equal(w.record.status, TS_SHARD_PARKED);
}

static void weak_spot_4_zero_attempts_is_no_limit(void **state) {
    (void)state;
    w.guard.config.attempts = 0;
    for (int i = 0; i < 2000; i++)
        acquire_and_lose();
    assert_int_equal(w.record.attempts, 2000);
}

static void weak_spot_5_a_replayed_unpark_succeeds_after_the_run_has_ended(void **state) {
    (void)state;
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    assert_int_equal(world_park(&w, 1, TS_PARK_OTHER), TS_PARK_OK);
    assert_int_equal(world_unpark(&w, 2), TS_UNPARK_OK);
    w.guard.status = TS_RUN_CANCELLED;
    assert_int_equal(world_unpark(&w, 2), TS_UNPARK_OK);
    assert_int_equal(w.step.outcome, TS_OUTCOME_REPLAYED);
    assert_int_equal(world_unpark(&w, 3), TS_UNPARK_RUN_TERMINAL);
}

static void weak_spot_6_childrens_cursors_lie_in_their_own_ranges(void **state) {
    (void)state;
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    struct ts_new_shard children[] = {child_of("b", "m"), child_of("m", "y")};
    children[1].cursor = (struct ts_cursor)KEY("c");
    assert_int_equal(world_split_replace(&w, 1, children, 2), TS_SPLIT_SPLIT_INVALID);
    assert_int_equal(w.detail.split.error, TS_SPLIT_FAULT_INVALID_CHILD_SPEC);
    assert_int_equal(w.detail.split.child, 1);
    children[1].cursor = (struct ts_cursor)KEY("n");
    assert_int_equal(world_split_replace(&w, 1, children, 2), TS_SPLIT_OK);

    fresh(NULL);
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    const struct ts_split_env env = {.step = world_env(&w), .limits = w.limits};
    struct ts_split_residual_op op = {world_by(&w, 1), child_of("m", "")};
    op.residual.cursor = (struct ts_cursor)KEY("c");
    assert_int_equal(ts_split_residual_step(&w.record, &env, &op, &w.memory, &w.step, &w.residual, &w.detail),
                     TS_SPLIT_SPLIT_INVALID);
    assert_int_equal(w.detail.split.error, TS_SPLIT_FAULT_INVALID_CHILD_SPEC);
}

static void weak_spot_7_a_cooldown_that_is_over_is_dropped(void **state) {
    (void)state;
    const struct ts_run_guard guard = {.config = {.cooldown_ms = 50}};
    const struct ts_cooldown entry = {.until = {5000}};
    const struct ts_logical_time running = {4999}, over = {5000};
    const struct ts_pin no_pin = {{0}};
    bool drop;
    assert_int_equal(ts_claim_admit(&guard, &no_pin, &entry, running, &drop, &w.detail), TS_CLAIM_THROTTLED);
    assert_false(drop);
    assert_int_equal(ts_claim_admit(&guard, &no_pin, &entry, over, &drop, &w.detail), TS_CLAIM_OK);
    assert_true(drop);
}

/* After a split, every key of the parent belongs to exactly one child. */
static void weak_spot_8_splits_cover_the_parent_exactly(void **state) {
    (void)state;
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    const struct ts_new_shard children[] = {child_of("b", "k"), child_of("k", "p"), child_of("p", "y")};
    const struct ts_shard_record parent = w.record;
    const struct ts_split_replace_op op = {world_by(&w, 1), {children, 3}};
    const struct ts_split_env env = {.step = world_env(&w), .limits = w.limits};
    assert_int_equal(ts_split_replace_step(&parent, &env, &op, &w.memory, &w.step, &w.children, &w.detail),
                     TS_SPLIT_OK);
    for (int key = 0; key < 256; key++) {
        const uint8_t byte = (uint8_t)key;
        const struct ts_bytes at = ts_bytes_of(&byte, 1);
        int held = 0;
        for (size_t i = 0; i < 3; i++) {
            struct ts_shard_record child;
            ts_split_replace_child(&parent, &op, &w.children, i, &child);
            held += ts_key_range_contains(child.spec.range, at);
        }
        assert_int_equal(held, ts_key_range_contains(parent.spec.range, at) ? 1 : 0);
    }
    struct ts_new_shard gap[] = {child_of("b", "k"), child_of("l", "y")};
    fresh(NULL);
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    assert_int_equal(world_split_replace(&w, 1, gap, 2), TS_SPLIT_SPLIT_INVALID);
    assert_int_equal(w.detail.split.error, TS_SPLIT_FAULT_BOUNDARY_MISMATCH);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(weak_spot_1_a_runs_own_lease_duration_is_used_by_acquire_and_renew, fresh),
        cmocka_unit_test_setup(weak_spot_2_acquire_looks_at_the_runs_status, fresh),
        cmocka_unit_test_setup(weak_spot_3_a_run_with_active_shards_cannot_be_completed, fresh),
        cmocka_unit_test_setup(weak_spot_4_a_shard_is_parked_after_too_many_attempts_without_progress, fresh),
        cmocka_unit_test_setup(weak_spot_4_zero_attempts_is_no_limit, fresh),
        cmocka_unit_test_setup(weak_spot_5_a_replayed_unpark_succeeds_after_the_run_has_ended, fresh),
        cmocka_unit_test_setup(weak_spot_6_childrens_cursors_lie_in_their_own_ranges, fresh),
        cmocka_unit_test_setup(weak_spot_7_a_cooldown_that_is_over_is_dropped, fresh),
        cmocka_unit_test_setup(weak_spot_8_splits_cover_the_parent_exactly, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
