#include "coord/core/lease.h"

#include "support/cmocka.h"
#include "support/stops.h"

static struct ts_lease_fields fields(void) {
    return (struct ts_lease_fields){
        .tenant = {{'t'}}, .shard = {{7}, {3}}, .owner = {{'w'}}, .fence = {2}, .deadline = {500}};
}

static void a_lease_shows_what_it_was_made_of(void **state) {
    (void)state;
    const struct ts_lease_fields made_of = fields();
    const struct ts_lease lease = ts_lease_make(&made_of);
    assert_true(ts_tenant_id_equal(ts_lease_tenant(&lease), &made_of.tenant));
    assert_true(ts_worker_id_equal(ts_lease_owner(&lease), &made_of.owner));
    assert_int_equal(ts_lease_shard(&lease).run.v, 7);
    assert_int_equal(ts_lease_shard(&lease).shard.v, 3);
    assert_int_equal(ts_lease_fence(&lease).v, 2);
    assert_int_equal(ts_lease_deadline(&lease).ms, 500);
}

static void a_lease_without_fence_or_deadline_cannot_be_made(void **state) {
    (void)state;
    struct ts_lease_fields broken = fields();
    broken.fence.v = 0;
    assert_stops("fields->fence.v >= TS_FENCE_INITIAL.v", ts_lease_make(&broken));
    broken = fields();
    broken.deadline.ms = 0;
    assert_stops("fields->deadline.ms != 0", ts_lease_make(&broken));
    assert_stops("deadline.ms != 0", ts_lease_holder_make(&broken.owner, (struct ts_logical_time){0}));
}

static void a_deadline_can_stay_or_grow_but_not_shrink(void **state) {
    (void)state;
    const struct ts_lease_fields made_of = fields();
    struct ts_lease lease = ts_lease_make(&made_of);
    ts_lease_set_deadline(&lease, (struct ts_logical_time){500});
    ts_lease_set_deadline(&lease, (struct ts_logical_time){501});
    assert_int_equal(ts_lease_deadline(&lease).ms, 501);
    assert_int_equal(ts_lease_fence(&lease).v, 2);
    assert_stops("deadline.ms >= lease", ts_lease_set_deadline(&lease, (struct ts_logical_time){500}));
}

static void a_lease_survives_as_bytes(void **state) {
    (void)state;
    const struct ts_lease_fields made_of = fields();
    const struct ts_lease lease = ts_lease_make(&made_of);
    uint8_t bytes[TS_LEASE_ENCODED_LEN];
    ts_lease_encode(&lease, bytes);
    struct ts_lease back;
    assert_true(ts_lease_decode(ts_bytes_of(bytes, sizeof bytes), &back));
    uint8_t again[TS_LEASE_ENCODED_LEN];
    ts_lease_encode(&back, again);
    assert_memory_equal(bytes, again, sizeof bytes);
    assert_false(ts_lease_decode(ts_bytes_of(bytes, sizeof bytes - 1), &back));
    memset(bytes + 80, 0, 8);
    assert_false(ts_lease_decode(ts_bytes_of(bytes, sizeof bytes), &back));
    ts_lease_encode(&lease, bytes);
    memset(bytes + 88, 0, 8);
    assert_false(ts_lease_decode(ts_bytes_of(bytes, sizeof bytes), &back));
}

static void record(ts_op_log *log, enum ts_shard_op_kind kind, uint64_t op_id, uint64_t now) {
    ts_op_log_record(log, kind, (struct ts_op_id){op_id}, (struct ts_payload_hash){op_id + 100},
                     (struct ts_logical_time){now});
}

static void a_log_remembers_the_last_sixteen(void **state) {
    (void)state;
    ts_op_log log = {0};
    for (uint64_t i = 1; i <= 17; i++)
        record(&log, TS_SHARD_OP_CHECKPOINT, i, i);
    assert_int_equal(ts_ring_count(&log), 16);
    assert_null(ts_op_log_find(&log, (struct ts_op_id){1}));
    for (uint64_t i = 2; i <= 17; i++)
        assert_int_equal(ts_op_log_find(&log, (struct ts_op_id){i})->payload_hash.v, i + 100);

    ts_run_op_log run_log = {0};
    for (uint64_t i = 1; i <= 9; i++)
        ts_run_op_log_record(&run_log, TS_RUN_OP_REGISTER_SHARDS, (struct ts_op_id){i},
                             (struct ts_payload_hash){1}, (struct ts_logical_time){i});
    assert_int_equal(ts_ring_count(&run_log), 8);
    assert_null(ts_run_op_log_find(&run_log, (struct ts_op_id){1}));
    assert_non_null(ts_run_op_log_find(&run_log, (struct ts_op_id){2}));
}

static void times_in_a_log_never_fall_when_the_clock_steps_back(void **state) {
    (void)state;
    ts_op_log log = {0};
    record(&log, TS_SHARD_OP_CHECKPOINT, 1, 100);
    record(&log, TS_SHARD_OP_CHECKPOINT, 2, 40);
    assert_int_equal(ts_ring_from_newest(&log, 0)->executed_at.ms, 100);
    record(&log, TS_SHARD_OP_CHECKPOINT, 3, 101);
    assert_int_equal(ts_ring_from_newest(&log, 0)->executed_at.ms, 101);
    assert_stops("now.ms != 0", record(&log, TS_SHARD_OP_CHECKPOINT, 4, 0));
    assert_stops("hash.v != 0", record(&log, TS_SHARD_OP_CHECKPOINT, UINT64_MAX - 99, 1));
}

static void a_checkpoint_is_superseded_by_a_later_cursor_only(void **state) {
    (void)state;
    ts_op_log log = {0};
    record(&log, TS_SHARD_OP_CHECKPOINT, 1, 1);
    const struct ts_op_log_entry *first = ts_op_log_find(&log, (struct ts_op_id){1});
    assert_int_equal(ts_op_log_result_of(&log, first), TS_OP_RESULT_COMPLETED);
    record(&log, TS_SHARD_OP_SPLIT_RESIDUAL, 2, 2);
    record(&log, TS_SHARD_OP_PARK, 3, 2);
    record(&log, TS_SHARD_OP_UNPARK, 4, 2);
    record(&log, TS_SHARD_OP_RELEASE, 7, 2);
    assert_int_equal(ts_op_log_result_of(&log, first), TS_OP_RESULT_COMPLETED);
    record(&log, TS_SHARD_OP_CHECKPOINT, 5, 3);
    assert_int_equal(ts_op_log_result_of(&log, first), TS_OP_RESULT_SUPERSEDED);
    assert_int_equal(ts_op_log_result_of(&log, ts_op_log_find(&log, (struct ts_op_id){5})),
                     TS_OP_RESULT_COMPLETED);
    record(&log, TS_SHARD_OP_COMPLETE, 6, 3);
    assert_int_equal(ts_op_log_result_of(&log, ts_op_log_find(&log, (struct ts_op_id){5})),
                     TS_OP_RESULT_SUPERSEDED);
    assert_int_equal(ts_op_log_result_of(&log, ts_op_log_find(&log, (struct ts_op_id){6})),
                     TS_OP_RESULT_COMPLETED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_shows_what_it_was_made_of),
        cmocka_unit_test(a_lease_without_fence_or_deadline_cannot_be_made),
        cmocka_unit_test(a_deadline_can_stay_or_grow_but_not_shrink),
        cmocka_unit_test(a_lease_survives_as_bytes),
        cmocka_unit_test(a_log_remembers_the_last_sixteen),
        cmocka_unit_test(times_in_a_log_never_fall_when_the_clock_steps_back),
        cmocka_unit_test(a_checkpoint_is_superseded_by_a_later_cursor_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
