#include "coord/core/split_step.h"

#include "coord/core/hash.h"
#include "world.h"

static struct world w;
static struct ts_new_shard children[TS_SPLIT_CHILD_MAX + 1];
static char keys[TS_SPLIT_CHILD_MAX + 2][24];

static int leased(void **state) {
    (void)state;
    world_init(&w);
    w.limits = (struct ts_shard_limits){{0, 100000}, {0, 1000000}};
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    w.now.ms++;
    assert_int_equal(world_checkpoint(&w, 800, "f"), TS_CHECKPOINT_OK);
    return 0;
}

/* Makes `count` children that partition [b, y). */
static void cut_evenly(size_t count) {
    for (size_t i = 1; i < count; i++)
        snprintf(keys[i], sizeof keys[i], "c%05zu", i);
    for (size_t i = 0; i < count; i++)
        children[i] = child_of(i == 0 ? "b" : keys[i], i + 1 == count ? "y" : keys[i + 1]);
}

static enum ts_split_validation_error fault_of(enum ts_split_error error) {
    assert_int_equal(error, TS_SPLIT_SPLIT_INVALID);
    return w.detail.split.error;
}

static void split_replace_ends_the_parent_and_makes_children(void **state) {
    (void)state;
    cut_evenly(3);
    children[1].cursor = (struct ts_cursor)KEY("c00001x");
    children[2].spec.metadata = TS_BYTES("of the child");
    const struct ts_split_env env = {.step = world_env(&w), .limits = w.limits};
    const struct ts_split_replace_op op = {world_by(&w, 1), {children, 3}};
    assert_int_equal(ts_split_replace_step(&w.record, &env, &op, &w.memory, &w.step, &w.children, &w.detail),
                     TS_SPLIT_OK);
    assert_int_equal(w.step.record.status, TS_SHARD_SPLIT);
    assert_false(w.step.record.has_holder);
    assert_int_equal(ts_spawned_count(w.step.record.spawned), 3);
    assert_int_equal(w.step.event.kind, TS_EVENT_SPLIT);
    assert_int_equal(w.step.event.count, 3);
    assert_int_equal(w.step.before.ms, w.record.holder.deadline.ms);
    for (uint32_t i = 0; i < 3; i++) {
        struct ts_shard_record child;
        ts_split_replace_child(&w.record, &op, &w.children, i, &child);
        assert_int_equal(ts_shard_record_invariant_broken(&child), 0);
        assert_true(child.key.shard.v ==
                    ts_derived_shard_id(the_shard, (struct ts_op_id){1}, TS_DERIVED_CHILD, i).v);
        assert_true(child.key.shard.v == ts_spawned_at(w.step.record.spawned, i).v);
        assert_int_equal(child.parent.v, 3);
        assert_int_equal(child.fence.v, 0);
        assert_int_equal(child.status, TS_SHARD_ACTIVE);
        assert_true(ts_bytes_equal(child.spec.range.start, children[i].spec.range.start));
        assert_int_equal(child.cursor.has_key, i == 1);
    }
    world_keep(&w);
}

static void split_residual_shrinks_the_parent_which_continues(void **state) {
    (void)state;
    const struct ts_shard_record before = w.record;
    const struct ts_split_env env = {.step = world_env(&w), .limits = w.limits};
    struct ts_split_residual_op op = {world_by(&w, 1), child_of("p", "not looked at")};
    op.residual.spec.metadata = TS_BYTES("rest");
    assert_int_equal(ts_split_residual_step(&w.record, &env, &op, &w.memory, &w.step, &w.residual, &w.detail),
                     TS_SPLIT_OK);
    assert_int_equal(w.step.record.status, TS_SHARD_ACTIVE);
    assert_true(w.step.record.has_holder);
    assert_true(ts_bytes_equal(w.step.record.spec.range.end, TS_BYTES("p")));
    struct ts_shard_record child;
    ts_split_residual_child(&before, &op, &w.residual, &child);
    assert_int_equal(ts_shard_record_invariant_broken(&child), 0);
    assert_true(ts_bytes_equal(child.spec.range.start, TS_BYTES("p")));
    assert_true(ts_bytes_equal(child.spec.range.end, TS_BYTES("y")));
    assert_true(ts_bytes_equal(child.spec.metadata, TS_BYTES("rest")));
    world_keep(&w);
    assert_int_equal(world_checkpoint(&w, 2, "o"), TS_CHECKPOINT_OK);
    assert_int_equal(world_checkpoint(&w, 3, "p"), TS_CHECKPOINT_CURSOR_OUT_OF_BOUNDS);
    assert_int_equal(world_split_residual(&w, 4, "oo"), TS_SPLIT_OK);
    assert_int_equal(ts_spawned_count(w.record.spawned), 2);
}

static void splits_answer_to_bad_coverage(void **state) {
    (void)state;
    cut_evenly(2);
    assert_int_equal(fault_of(world_split_replace(&w, 1, children, 1)), TS_SPLIT_FAULT_SINGLE_CHILD);
    children[1].spec.range.end = TS_BYTES("z");
    assert_int_equal(fault_of(world_split_replace(&w, 1, children, 2)), TS_SPLIT_FAULT_END_MISMATCH);
    assert_int_equal(fault_of(world_split_residual(&w, 1, "b")), TS_SPLIT_FAULT_INVERTED_CHILD);
    assert_int_equal(fault_of(world_split_residual(&w, 1, "y")), TS_SPLIT_FAULT_INVERTED_CHILD);
    assert_int_equal(fault_of(world_split_residual(&w, 1, "")), TS_SPLIT_FAULT_OVERLAPPING_CHILD);
    assert_int_equal(fault_of(world_split_residual(&w, 1, "f")), TS_SPLIT_FAULT_PARENT_CURSOR_OUT_OF_BOUNDS);
    assert_int_equal(world_split_residual(&w, 1, "ff"), TS_SPLIT_OK);
}

static void spawn_caps_come_before_limits_and_limits_before_collisions(void **state) {
    (void)state;
    cut_evenly(TS_SPLIT_CHILD_MAX + 1);
    w.limits = (struct ts_shard_limits){{99, 100}, {999, 1000}};
    assert_int_equal(fault_of(world_split_replace(&w, 1, children, TS_SPLIT_CHILD_MAX + 1)),
                     TS_SPLIT_FAULT_SPAWN_LIMIT_EXCEEDED);
    assert_int_equal(w.detail.split.limit.max, TS_SPLIT_CHILD_MAX);
    cut_evenly(2);
    assert_int_equal(fault_of(world_split_replace(&w, 1, children, 2)), TS_SPLIT_FAULT_SHARD_LIMIT_EXCEEDED);
    assert_int_equal(w.detail.split.limit.scope, TS_LIMIT_PER_TENANT);
    w.limits.tenant.max = 1000;
    assert_int_equal(fault_of(world_split_replace(&w, 1, children, 2)), TS_SPLIT_FAULT_SHARD_LIMIT_EXCEEDED);
    assert_int_equal(w.detail.split.limit.scope, TS_LIMIT_GLOBAL);
    w.limits.global.max = 1001;
    assert_int_equal(world_split_residual(&w, 5, "p"), TS_SPLIT_OK);
    children[1].spec.range.end = TS_BYTES("p");
    assert_int_equal(world_split_replace(&w, 1, children, 2), TS_SPLIT_OK);
}

static void a_derived_id_that_is_taken_is_a_collision(void **state) {
    (void)state;
    cut_evenly(3);
    const struct ts_shard_id taken[] = {
        ts_derived_shard_id(the_shard, (struct ts_op_id){1}, TS_DERIVED_CHILD, 1),
        ts_derived_shard_id(the_shard, (struct ts_op_id){1}, TS_DERIVED_RESIDUAL, 0)};
    const struct ts_split_env env = {
        .step = world_env(&w), .limits = w.limits, .taken = taken, .taken_count = 2};
    const struct ts_split_replace_op replace = {world_by(&w, 1), {children, 3}};
    assert_int_equal(fault_of(ts_split_replace_step(&w.record, &env, &replace, &w.memory, &w.step,
                                                    &w.children, &w.detail)),
                     TS_SPLIT_FAULT_DERIVED_ID_COLLISION);
    assert_int_equal(w.detail.split.child, 1);
    const struct ts_split_residual_op residual = {world_by(&w, 1), child_of("p", "")};
    assert_int_equal(fault_of(ts_split_residual_step(&w.record, &env, &residual, &w.memory, &w.step,
                                                     &w.residual, &w.detail)),
                     TS_SPLIT_FAULT_DERIVED_ID_COLLISION);
}

static void splits_that_have_no_room_are_refused(void **state) {
    (void)state;
    cut_evenly(2);
    w.record_max = ts_shard_record_reserved_size(&w.record) + 15;
    assert_int_equal(world_split_replace(&w, 1, children, 2), TS_SPLIT_RESOURCE_EXHAUSTED);
    w.record_max++;
    assert_int_equal(world_split_replace(&w, 1, children, 2), TS_SPLIT_OK);
    leased(NULL);
    w.record_max = ts_shard_record_reserved_size(&w.record) + 7;
    assert_int_equal(world_split_residual(&w, 1, "p"), TS_SPLIT_RESOURCE_EXHAUSTED);
    w.record_max++;
    assert_int_equal(world_split_residual(&w, 1, "p"), TS_SPLIT_OK);
    /* The size limit also applies to the records of the children. */
    leased(NULL);
    static uint8_t metadata[2000];
    children[1].spec.metadata = ts_bytes_of(metadata, sizeof metadata);
    w.record_max = 2000;
    assert_int_equal(world_split_replace(&w, 1, children, 2), TS_SPLIT_RESOURCE_EXHAUSTED);
}

/* More operations follow than the op-log holds. Then only the list of spawned shards shows that the split was
 * made. */
static void a_residual_split_replays_after_the_op_log_has_forgotten_it(void **state) {
    (void)state;
    assert_int_equal(world_split_residual(&w, 1, "p"), TS_SPLIT_OK);
    const struct ts_shard_id first = w.residual.residual;
    assert_int_equal(world_split_residual(&w, 2, "n"), TS_SPLIT_OK);
    for (uint64_t op = 10; op < 10 + TS_OP_LOG_MAX; op++)
        assert_int_equal(world_checkpoint(&w, op, "g"), TS_CHECKPOINT_OK);
    assert_null(ts_op_log_find(&w.record.op_log, (struct ts_op_id){1}));
    w.residual.residual.v = 0;
    assert_int_equal(world_split_residual(&w, 1, "p"), TS_SPLIT_OK);
    assert_int_equal(w.step.outcome, TS_OUTCOME_REPLAYED);
    assert_false(w.step.write);
    assert_true(w.residual.residual.v == first.v);
    assert_int_equal(ts_spawned_count(w.record.spawned), 2);
    /* A repetition with another cut is a conflict, even if that cut is inside the parent's present range. */
    assert_int_equal(world_split_residual(&w, 1, "h"), TS_SPLIT_OP_ID_CONFLICT);
    struct ts_shard_record record = w.record;
    record.tenant = tenant_named("other");
    world_store(&w, &record);
    assert_int_equal(world_split_residual(&w, 1, "p"), TS_SPLIT_TENANT_MISMATCH);
}

static void a_shard_spawns_1024_and_no_more(void **state) {
    (void)state;
    char at[8];
    for (unsigned i = 0; i < TS_SPAWNED_MAX; i++) {
        snprintf(at, sizeof at, "x%05u", 99999 - i);
        assert_int_equal(world_split_residual(&w, 1000 + i, at), TS_SPLIT_OK);
        if (i % 100 == 0)
            assert_int_equal(world_renew(&w), TS_RENEW_OK);
    }
    assert_int_equal(fault_of(world_split_residual(&w, 5000, "p")), TS_SPLIT_FAULT_SPAWN_LIMIT_EXCEEDED);
    assert_int_equal(w.detail.split.limit.current, TS_SPAWNED_MAX);
    assert_int_equal(w.detail.split.limit.max, TS_SPAWNED_MAX);
    assert_int_equal(world_split_residual(&w, 1000, "x99999"), TS_SPLIT_OK);
    assert_int_equal(w.step.outcome, TS_OUTCOME_REPLAYED);
}

/* The same split of the same shard makes the same id. A split with a different op id makes a different id. */
static void derived_ids_follow_from_the_operation(void **state) {
    (void)state;
    assert_int_equal(world_split_residual(&w, 1, "p"), TS_SPLIT_OK);
    const struct ts_shard_id one = w.residual.residual;
    leased(NULL);
    assert_int_equal(world_split_residual(&w, 1, "p"), TS_SPLIT_OK);
    assert_true(w.residual.residual.v == one.v);
    leased(NULL);
    assert_int_equal(world_split_residual(&w, 2, "p"), TS_SPLIT_OK);
    assert_true(w.residual.residual.v != one.v);
}

static void indexes_of_children_continue_after_those_already_spawned(void **state) {
    (void)state;
    assert_int_equal(world_split_residual(&w, 1, "p"), TS_SPLIT_OK);
    assert_int_equal(world_split_residual(&w, 2, "n"), TS_SPLIT_OK);
    assert_true(w.residual.residual.v ==
                ts_derived_shard_id(the_shard, (struct ts_op_id){2}, TS_DERIVED_RESIDUAL, 1).v);
    cut_evenly(2);
    children[1].spec.range.end = TS_BYTES("n");
    assert_int_equal(world_split_replace(&w, 3, children, 2), TS_SPLIT_OK);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(w.children.children[i].v ==
                    ts_derived_shard_id(the_shard, (struct ts_op_id){3}, TS_DERIVED_CHILD, 2 + i).v);
    assert_int_equal(ts_spawned_count(w.record.spawned), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(split_replace_ends_the_parent_and_makes_children, leased),
        cmocka_unit_test_setup(split_residual_shrinks_the_parent_which_continues, leased),
        cmocka_unit_test_setup(splits_answer_to_bad_coverage, leased),
        cmocka_unit_test_setup(spawn_caps_come_before_limits_and_limits_before_collisions, leased),
        cmocka_unit_test_setup(a_derived_id_that_is_taken_is_a_collision, leased),
        cmocka_unit_test_setup(splits_that_have_no_room_are_refused, leased),
        cmocka_unit_test_setup(a_residual_split_replays_after_the_op_log_has_forgotten_it, leased),
        cmocka_unit_test_setup(a_shard_spawns_1024_and_no_more, leased),
        cmocka_unit_test_setup(derived_ids_follow_from_the_operation, leased),
        cmocka_unit_test_setup(indexes_of_children_continue_after_those_already_spawned, leased),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
