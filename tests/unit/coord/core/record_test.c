/* The records below satisfy all invariants. Each planted violation breaks exactly one invariant. */
#include "coord/core/record.h"

#include "support/cmocka.h"

static uint8_t spawned[8 * (TS_SPAWNED_MAX + 1)];
static uint8_t large[TS_TOKEN_MAX + 1];

static struct ts_bytes spawned_of(size_t count) {
    for (size_t i = 0; i < count; i++)
        ts_le64_store(TS_DERIVED_SHARD_BIT | (i * UINT64_C(0x9e3779b97f4a7c15)), spawned + 8 * i);
    return ts_bytes_of(spawned, 8 * count);
}

static void log_op(struct ts_shard_record *record, enum ts_shard_op_kind kind, uint64_t op_id) {
    ts_op_log_record(&record->op_log, kind, (struct ts_op_id){op_id}, (struct ts_payload_hash){1},
                     (struct ts_logical_time){10});
}

/* Returns the record of a leased, active shard in the middle of its work. */
static struct ts_shard_record sound(void) {
    struct ts_shard_record record = {
        .key = {{7}, {3}},
        .fence = {2},
        .has_holder = true,
        .holder = {.deadline = {500}},
        .spec = {.range = {TS_BYTES_INIT("b"), TS_BYTES_INIT("y")}},
        .cursor = {.has_key = true, .last_key = TS_BYTES_INIT("m")},
    };
    log_op(&record, TS_SHARD_OP_CHECKPOINT, 1);
    log_op(&record, TS_SHARD_OP_CHECKPOINT, 2);
    return record;
}

static struct ts_shard_record ended(enum ts_shard_status status, enum ts_shard_op_kind kind) {
    struct ts_shard_record record = sound();
    record.has_holder = false;
    record.status = status;
    record.has_park_reason = status == TS_SHARD_PARKED;
    log_op(&record, kind, 3);
    return record;
}

static void expect(unsigned invariant, const struct ts_shard_record *record) {
    assert_int_equal(ts_shard_record_invariant_broken(record), invariant);
}

static void sound_records_break_nothing(void **state) {
    (void)state;
    struct ts_shard_record record = sound();
    expect(0, &record);
    record = (struct ts_shard_record){.key = {{7}, {3}}};
    expect(0, &record);
    record = ended(TS_SHARD_DONE, TS_SHARD_OP_COMPLETE);
    expect(0, &record);
    record = ended(TS_SHARD_PARKED, TS_SHARD_OP_PARK);
    expect(0, &record);
    record = ended(TS_SHARD_SPLIT, TS_SHARD_OP_SPLIT_REPLACE);
    record.spawned.bytes = spawned_of(TS_SPAWNED_MAX);
    expect(0, &record);
}

static void invariant_1_a_lease_only_while_active(void **state) {
    (void)state;
    struct ts_shard_record record = ended(TS_SHARD_DONE, TS_SHARD_OP_COMPLETE);
    record.has_holder = true;
    expect(1, &record);
}

static void invariant_2_a_holder_has_a_fence_and_a_deadline(void **state) {
    (void)state;
    struct ts_shard_record record = sound();
    record.fence.v = 0;
    expect(2, &record);
    record = sound();
    record.holder.deadline.ms = 0;
    expect(2, &record);
}

static void invariant_3_start_is_below_end(void **state) {
    (void)state;
    struct ts_shard_record record = sound();
    record.spec.range.end = TS_BYTES("b");
    expect(3, &record);
    record.spec.range.start = TS_BYTES("c");
    expect(3, &record);
}

static void invariant_4_the_cursor_is_inside_the_range(void **state) {
    (void)state;
    struct ts_shard_record record = sound();
    record.cursor.last_key = TS_BYTES("y");
    expect(4, &record);
    record.cursor.last_key = TS_BYTES("a");
    expect(4, &record);
    record.cursor.last_key = TS_BYTES("b");
    expect(0, &record);
}

static void invariant_5_sizes_are_within_their_limits(void **state) {
    (void)state;
    memset(large, 'c', sizeof large);
    struct ts_shard_record record = sound();
    record.cursor.last_key = ts_bytes_of(large, TS_KEY_MAX);
    record.cursor.has_token = true;
    record.cursor.token = ts_bytes_of(large, TS_TOKEN_MAX);
    record.spec.metadata = ts_bytes_of(large, TS_METADATA_MAX);
    expect(0, &record);
    record.cursor.last_key.len++;
    expect(5, &record);
    record.cursor.last_key.len--;
    record.cursor.token.len++;
    expect(5, &record);
    record.cursor.token.len--;
    record.spec.metadata.len++;
    expect(5, &record);
    record = sound();
    record.cursor.has_key = false;
    record.spec.range.start = ts_bytes_of(large, TS_KEY_MAX + 1);
    expect(5, &record);
}

static void invariant_6_the_op_log_is_sound(void **state) {
    (void)state;
    struct ts_shard_record record = sound();
    record.op_log.slots[1].op_id.v = 1;
    expect(6, &record);
    record = sound();
    record.op_log.slots[1].payload_hash.v = 0;
    expect(6, &record);
    record = sound();
    record.op_log.slots[0].executed_at.ms = 0;
    expect(6, &record);
    record = sound();
    record.op_log.slots[1].executed_at.ms = 9;
    expect(6, &record);
    record = sound();
    record.op_log.head.count = TS_OP_LOG_MAX + 1;
    expect(6, &record);
}

/* Tests every pair of positions in the op-log, because a shortcut of the check handles most ids. */
static void invariant_6_finds_a_repeated_id_anywhere(void **state) {
    (void)state;
    for (size_t a = 0; a < TS_OP_LOG_MAX; a++) {
        for (size_t b = 0; b < a; b++) {
            struct ts_shard_record record = {.key = {{7}, {3}}};
            for (uint64_t i = 0; i < TS_OP_LOG_MAX + 5; i++)
                log_op(&record, TS_SHARD_OP_CHECKPOINT, 1000 + i * i);
            expect(0, &record);
            record.op_log.slots[a].op_id = record.op_log.slots[b].op_id;
            expect(6, &record);
        }
    }
}

static void invariant_7_a_park_reason_exactly_when_parked(void **state) {
    (void)state;
    struct ts_shard_record record = sound();
    record.has_park_reason = true;
    expect(7, &record);
    record = ended(TS_SHARD_PARKED, TS_SHARD_OP_PARK);
    record.has_park_reason = false;
    expect(7, &record);
}

static void invariant_8_spawned_ids_are_distinct_derived_and_few(void **state) {
    (void)state;
    static const size_t counts[] = {2, 8, 9, TS_SPAWNED_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct ts_shard_record record = sound();
        record.spawned.bytes = spawned_of(counts[i]);
        expect(0, &record);
        memcpy(spawned + 8 * (counts[i] - 1), spawned, 8);
        expect(8, &record);
        spawned_of(counts[i]);
        spawned[7] &= 0x7f;
        expect(8, &record);
    }
    struct ts_shard_record record = sound();
    record.spawned.bytes = spawned_of(TS_SPAWNED_MAX + 1);
    expect(8, &record);
    record.spawned.bytes.len = 9;
    expect(8, &record);
}

static void invariant_9_a_parent_exactly_when_the_id_is_derived(void **state) {
    (void)state;
    struct ts_shard_record record = sound();
    record.has_parent = true;
    expect(9, &record);
    record.key.shard.v |= TS_DERIVED_SHARD_BIT;
    expect(0, &record);
    record.has_parent = false;
    expect(9, &record);
}

static void invariant_10_a_terminal_status_has_its_operation(void **state) {
    (void)state;
    static const enum ts_shard_status statuses[] = {TS_SHARD_DONE, TS_SHARD_SPLIT, TS_SHARD_PARKED};
    for (size_t i = 0; i < 3; i++) {
        struct ts_shard_record record = ended(statuses[i], TS_SHARD_OP_CHECKPOINT);
        record.spawned.bytes = spawned_of(2);
        expect(10, &record);
        record.op_log.head.count = 0;
        expect(10, &record);
    }
    struct ts_shard_record record = ended(TS_SHARD_SPLIT, TS_SHARD_OP_SPLIT_REPLACE);
    record.spawned.bytes = spawned_of(1);
    expect(10, &record);
    record.spawned.bytes = spawned_of(2);
    expect(0, &record);
}

static struct ts_run_record sound_run(enum ts_run_status status, enum ts_run_op_kind kind) {
    struct ts_run_record run = {
        .run = {7}, .status = status, .config = ts_run_config_default(), .number = 1, .created_at = {5}};
    run.ended_at.ms = ts_run_status_is_terminal(status) ? 9 : 0;
    ts_run_op_log_record(&run.op_log, kind, (struct ts_op_id){1}, (struct ts_payload_hash){1},
                         (struct ts_logical_time){9});
    return run;
}

static void run_records_have_invariants_of_their_own(void **state) {
    (void)state;
    struct ts_run_record run = sound_run(TS_RUN_CANCELLED, TS_RUN_OP_CANCEL_RUN);
    assert_int_equal(ts_run_record_invariant_broken(&run), 0);
    run.number = 0;
    assert_int_equal(ts_run_record_invariant_broken(&run), 6);
    run.number = 1;
    run.config.attempts = TS_ATTEMPTS_MAX + 1;
    assert_int_equal(ts_run_record_invariant_broken(&run), 1);
    run = sound_run(TS_RUN_ACTIVE, TS_RUN_OP_REGISTER_SHARDS);
    assert_int_equal(ts_run_record_invariant_broken(&run), 0);
    run.op_log.slots[0].payload_hash.v = 0;
    assert_int_equal(ts_run_record_invariant_broken(&run), 2);
    run = sound_run(TS_RUN_ACTIVE, TS_RUN_OP_REGISTER_SHARDS);
    run.ended_at.ms = 1;
    assert_int_equal(ts_run_record_invariant_broken(&run), 3);
    run = sound_run(TS_RUN_DONE, TS_RUN_OP_FAIL_RUN);
    assert_int_equal(ts_run_record_invariant_broken(&run), 4);
    run = sound_run(TS_RUN_ACTIVE, TS_RUN_OP_REGISTER_SHARDS);
    run.registered = run.config.shard_max + 1;
    assert_int_equal(ts_run_record_invariant_broken(&run), 5);
}

static void an_announced_list_is_complete_exactly_when_the_run_is_active(void **state) {
    (void)state;
    struct ts_run_record run = sound_run(TS_RUN_INITIALIZING, TS_RUN_OP_REGISTER_SHARDS);
    run.registered = 1;
    assert_int_equal(ts_run_record_invariant_broken(&run), 5);
    run.announced = (struct ts_announced){.count = 2, .digest = {1}};
    assert_int_equal(ts_run_record_invariant_broken(&run), 0);
    run.registered = 2;
    assert_int_equal(ts_run_record_invariant_broken(&run), 5);
    run.status = TS_RUN_ACTIVE;
    assert_int_equal(ts_run_record_invariant_broken(&run), 0);
    run.registered = 3; /* an additional shard was registered later */
    assert_int_equal(ts_run_record_invariant_broken(&run), 0);
    run.registered = 1;
    assert_int_equal(ts_run_record_invariant_broken(&run), 7);
    run.registered = 2;
    run.announced.count = 0;
    assert_int_equal(ts_run_record_invariant_broken(&run), 7);
    run.announced.count = run.config.shard_max + 1;
    assert_int_equal(ts_run_record_invariant_broken(&run), 7);
    run = sound_run(TS_RUN_CANCELLED, TS_RUN_OP_CANCEL_RUN);
    run.announced = (struct ts_announced){.count = run.registered + 1, .digest = {1}};
    assert_int_equal(ts_run_record_invariant_broken(&run), 0);
}

/* Tests op-logs that are empty, partly filled, or full, and an op-log whose oldest entry is not in the first
 * slot. */
static void a_copy_has_everything_that_counts(void **state) {
    (void)state;
    for (uint64_t ops = 0; ops <= UINT64_C(2) * TS_OP_LOG_MAX; ops++) {
        struct ts_shard_record record = sound(), copy;
        record.op_log.head.count = 0;
        for (uint64_t op = 1; op <= ops; op++)
            log_op(&record, TS_SHARD_OP_CHECKPOINT, op);
        memset(&copy, 0x5a, sizeof copy);
        ts_shard_record_copy(&record, &copy);
        assert_int_equal(ts_ring_count(&copy.op_log), ts_ring_count(&record.op_log));
        for (size_t i = 0; i < ts_ring_count(&record.op_log); i++)
            assert_memory_equal(ts_ring_from_oldest(&copy.op_log, i), ts_ring_from_oldest(&record.op_log, i),
                                sizeof record.op_log.slots[0]);
        assert_memory_equal(&copy, &record, offsetof(struct ts_shard_record, op_log));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_records_break_nothing),
        cmocka_unit_test(a_copy_has_everything_that_counts),
        cmocka_unit_test(invariant_1_a_lease_only_while_active),
        cmocka_unit_test(invariant_2_a_holder_has_a_fence_and_a_deadline),
        cmocka_unit_test(invariant_3_start_is_below_end),
        cmocka_unit_test(invariant_4_the_cursor_is_inside_the_range),
        cmocka_unit_test(invariant_5_sizes_are_within_their_limits),
        cmocka_unit_test(invariant_6_the_op_log_is_sound),
        cmocka_unit_test(invariant_6_finds_a_repeated_id_anywhere),
        cmocka_unit_test(invariant_7_a_park_reason_exactly_when_parked),
        cmocka_unit_test(invariant_8_spawned_ids_are_distinct_derived_and_few),
        cmocka_unit_test(invariant_9_a_parent_exactly_when_the_id_is_derived),
        cmocka_unit_test(invariant_10_a_terminal_status_has_its_operation),
        cmocka_unit_test(run_records_have_invariants_of_their_own),
        cmocka_unit_test(an_announced_list_is_complete_exactly_when_the_run_is_active),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
