/* Tests of splits, which change several stores. */
#include "suite.h"

#include <string.h>

static const struct ts_cursor none = {0};

static const struct ts_new_shard three[] = {
    {.spec = {.range = RANGE("b", "d"), .metadata = TS_BYTES_INIT("mEtA-1")}},
    {.spec = {.range = RANGE("d", "f")}},
    {.spec = {.range = RANGE("f", "h")}, .cursor = {.has_key = true, .last_key = TS_BYTES_INIT("kEy-g")}}};

static void a_shard_is_replaced_by_its_children_once(void **state) {
    (void)state;
    suite_make_run();
    const struct ts_lease lease = suite_must_acquire(1, "a");
    const struct ts_op_id op = suite_op();
    EXPECT(split, suite_split_replace(&lease, op, three, 3), TS_SPLIT_OK);
    expect_executed();
    assert_int_equal(suite.children.count, 3);
    const struct ts_split_replace_result made = suite.children;
    EXPECT(split, suite_split_replace(&lease, op, three, 3), TS_SPLIT_OK);
    expect_replayed();
    assert_memory_equal(made.children, suite.children.children, 3 * sizeof made.children[0]);
    EXPECT(split, suite_split_replace(&lease, op, three, 2), TS_SPLIT_OP_ID_CONFLICT);
    assert_int_equal(suite_record(suite_shard(1))->status, TS_SHARD_SPLIT);
    for (size_t i = 0; i < 3; i++) {
        const struct ts_shard_record *child =
            suite_record((struct ts_shard_key){suite.run, made.children[i]});
        assert_true(ts_bytes_equal(child->spec.range.start, three[i].spec.range.start));
        assert_true(ts_bytes_equal(child->spec.range.end, three[i].spec.range.end));
        assert_int_equal(child->parent.v, 1);
        assert_int_equal(child->status, TS_SHARD_ACTIVE);
        assert_int_equal(child->fence.v, 0);
    }
    assert_int_equal(suite_count_events(TS_EVENT_SPLIT), 1);
    suite_audit();
    const struct ts_lease of_child = suite_must_acquire(made.children[1].v, "b");
    EXPECT(complete, suite_complete(&of_child, suite_op(), KEY("e")), TS_COMPLETE_OK);
    suite_audit();
}

static void a_residual_is_cut_off_while_the_parent_continues(void **state) {
    (void)state;
    suite_make_run();
    const struct ts_lease lease = suite_must_acquire(1, "a");
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("c")), TS_CHECKPOINT_OK);
    const struct ts_op_id op = suite_op();
    EXPECT(split, suite_split_residual(&lease, op, TS_BYTES("kEy-e"), none), TS_SPLIT_OK);
    expect_executed();
    const struct ts_shard_key residual = {suite.run, suite.residual.residual};
    EXPECT(split, suite_split_residual(&lease, op, TS_BYTES("kEy-e"), none), TS_SPLIT_OK);
    expect_replayed();
    assert_int_equal(suite.residual.residual.v, residual.shard.v);
    EXPECT(split, suite_split_residual(&lease, op, TS_BYTES("kEy-d"), none), TS_SPLIT_OP_ID_CONFLICT);
    const struct ts_shard_record *record = suite_record(suite_shard(1));
    assert_true(ts_bytes_equal(record->spec.range.end, TS_BYTES("kEy-e")));
    assert_int_equal(ts_spawned_count(record->spawned), 1);
    record = suite_record(residual);
    assert_true(ts_bytes_equal(record->spec.range.start, TS_BYTES("kEy-e")));
    assert_true(ts_bytes_equal(record->spec.range.end, TS_BYTES("kEy-h")));
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("d")), TS_CHECKPOINT_OK);
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("e")), TS_CHECKPOINT_CURSOR_OUT_OF_BOUNDS);
    suite_audit();
    /* After the op-log has dropped the split, the list of spawned shards still shows it. */
    for (int i = 0; i < TS_OP_LOG_MAX; i++)
        EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("d")), TS_CHECKPOINT_OK);
    EXPECT(split, suite_split_residual(&lease, op, TS_BYTES("kEy-e"), none), TS_SPLIT_OK);
    expect_replayed();
    assert_int_equal(suite.residual.residual.v, residual.shard.v);
    suite_audit();
}

static void every_part_of_a_split_is_checked(void **state) {
    (void)state;
    static const struct {
        struct ts_new_shard children[2];
        size_t count;
        enum ts_split_validation_error error;
    } cases[] = {
        {.count = 0, .error = TS_SPLIT_FAULT_NO_CHILDREN},
        {{{.spec.range = RANGE("b", "h")}}, 1, TS_SPLIT_FAULT_SINGLE_CHILD},
        {{{.spec.range = RANGE("c", "d")}, {.spec.range = RANGE("d", "h")}},
         2,
         TS_SPLIT_FAULT_START_MISMATCH},
        {{{.spec.range = RANGE("b", "d")}, {.spec.range = RANGE("d", "g")}}, 2, TS_SPLIT_FAULT_END_MISMATCH},
        {{{.spec.range = RANGE("b", "d")}, {.spec.range = RANGE("e", "h")}},
         2,
         TS_SPLIT_FAULT_BOUNDARY_MISMATCH},
        {{{.spec.range = RANGE("b", "e")}, {.spec.range = RANGE("d", "h")}},
         2,
         TS_SPLIT_FAULT_OVERLAPPING_CHILD},
        {{{.spec.range = RANGE("b", "b")}, {.spec.range = RANGE("b", "h")}},
         2,
         TS_SPLIT_FAULT_INVERTED_CHILD},
        {{{.has_id = true, .id = {5}, .spec.range = RANGE("b", "d")}, {.spec.range = RANGE("d", "h")}},
         2,
         TS_SPLIT_FAULT_INVALID_CHILD_SPEC},
    };
    suite_make_run();
    const struct ts_lease lease = suite_must_acquire(1, "a");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        EXPECT(split, suite_split_replace(&lease, suite_op(), cases[i].children, cases[i].count),
               TS_SPLIT_SPLIT_INVALID);
        assert_int_equal(suite.detail.split.error, cases[i].error);
    }
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("e")), TS_CHECKPOINT_OK);
    EXPECT(split, suite_split_residual(&lease, suite_op(), TS_BYTES("kEy-d"), none), TS_SPLIT_SPLIT_INVALID);
    assert_int_equal(suite.detail.split.error, TS_SPLIT_FAULT_PARENT_CURSOR_OUT_OF_BOUNDS);
    static struct ts_new_shard many[TS_SPLIT_CHILD_MAX + 1];
    static uint8_t keys[TS_SPLIT_CHILD_MAX + 2][7];
    for (size_t i = 0; i <= TS_SPLIT_CHILD_MAX + 1; i++) {
        memcpy(keys[i], "kEy-d\0\0", 7);
        keys[i][5] = (uint8_t)(i >> 8);
        keys[i][6] = (uint8_t)i;
    }
    for (size_t i = 0; i <= TS_SPLIT_CHILD_MAX; i++)
        many[i].spec.range =
            (struct ts_key_range){i == 0 ? TS_BYTES("kEy-b") : ts_bytes_of(keys[i], 7),
                                  i == TS_SPLIT_CHILD_MAX ? TS_BYTES("kEy-h") : ts_bytes_of(keys[i + 1], 7)};
    EXPECT(split, suite_split_replace(&lease, suite_op(), many, TS_SPLIT_CHILD_MAX + 1),
           TS_SPLIT_SPLIT_INVALID);
    assert_int_equal(suite.detail.split.error, TS_SPLIT_FAULT_SPAWN_LIMIT_EXCEEDED);
    suite_audit();
    many[TS_SPLIT_CHILD_MAX - 1].spec.range.end = TS_BYTES("kEy-h");
    EXPECT(split, suite_split_replace(&lease, suite_op(), many, TS_SPLIT_CHILD_MAX), TS_SPLIT_OK);
    assert_int_equal(suite.children.count, TS_SPLIT_CHILD_MAX);
    suite_audit();
}

static void a_derived_id_that_is_taken_is_a_collision(void **state) {
    (void)state;
    suite_make_run();
    const struct ts_lease lease = suite_must_acquire(1, "a");
    const struct ts_op_id op = suite_op();
    /* Writes a record with any content under the id that the residual would get. */
    const struct ts_shard_id id = ts_derived_shard_id(suite_shard(1), op, TS_DERIVED_RESIDUAL, 0);
    uint8_t key[19] = {0, 'c', 's'};
    ts_be64_store(suite.run.v, key + 3);
    ts_be64_store(id.v, key + 11);
    const struct ts_op put = {.kind = TS_OP_PUT, .key = ts_bytes_of(key, sizeof key), .value = TS_BYTES("x")};
    struct ts_op del = {.kind = TS_OP_DEL, .key = put.key};
    struct ts_store *store = ts_cluster_store(suite.cluster, ts_coord_place_of_shard(suite.coord, id));
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {&put, 1}};
    assert_int_equal(ts_store_run(store, &call), TS_STORE_OK);
    EXPECT(split, suite_split_residual(&lease, op, TS_BYTES("kEy-d"), none), TS_SPLIT_SPLIT_INVALID);
    assert_int_equal(suite.detail.split.error, TS_SPLIT_FAULT_DERIVED_ID_COLLISION);
    call = (struct ts_call){.kind = TS_CALL_APPLY, .batch = {&del, 1}};
    assert_int_equal(ts_store_run(store, &call), TS_STORE_OK);
    EXPECT(split, suite_split_residual(&lease, op, TS_BYTES("kEy-d"), none), TS_SPLIT_OK);
    suite_audit();
}

const struct CMUnitTest suite_split_tests[] = {
    suite_test(a_shard_is_replaced_by_its_children_once),
    suite_test(a_residual_is_cut_off_while_the_parent_continues),
    suite_test(every_part_of_a_split_is_checked),
    suite_test(a_derived_id_that_is_taken_is_a_collision),
    {0},
};
