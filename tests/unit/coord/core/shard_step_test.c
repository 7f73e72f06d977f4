/*
 * Tests every operation on a shard, with every possible answer. Operations under a lease share a table of
 * situations. Most situations make one check fail. An operation that makes this check must return the
 * specified error. Any other operation must succeed.
 */
#include "coord/core/shard_step.h"

#include "coord/core/hash.h"
#include "support/stops.h"
#include "world.h"

static struct world w;

static int fresh(void **state) {
    (void)state;
    world_init(&w);
    return 0;
}

static int leased(void **state) {
    fresh(state);
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    w.now.ms++;
    return 0;
}

/* Each of these functions makes a situation from a leased shard with a checkpoint at "f". */
static void nothing(void) {
}
static void other_tenant(void) {
    struct ts_shard_record record = w.record;
    record.tenant = tenant_named("other");
    world_store(&w, &record);
}
static void run_done(void) {
    w.guard.status = TS_RUN_DONE;
}
static void run_failed(void) {
    w.guard.status = TS_RUN_FAILED;
}
static void run_cancelled(void) {
    w.guard.status = TS_RUN_CANCELLED;
}
static void shard_done(void) {
    assert_int_equal(world_complete(&w, 900, "x"), TS_COMPLETE_OK);
}
static void shard_parked(void) {
    assert_int_equal(world_park(&w, 900, TS_PARK_OTHER), TS_PARK_OK);
}
static void shard_split(void) {
    const struct ts_new_shard children[] = {child_of("b", "m"), child_of("m", "y")};
    assert_int_equal(world_split_replace(&w, 900, children, 2), TS_SPLIT_OK);
}
static void acquired_by_another(void) {
    const struct ts_lease old = w.lease;
    w.now = w.record.holder.deadline;
    assert_int_equal(world_acquire(&w, "w2"), TS_ACQUIRE_OK);
    w.lease = old;
}
static void unparked_since(void) {
    shard_parked();
    assert_int_equal(world_unpark(&w, 901), TS_UNPARK_OK);
}
static void released_since(void) {
    assert_int_equal(world_release(&w, 900, TS_BLAME_SHARD), TS_RELEASE_OK);
}
static void expired(void) {
    w.now = w.record.holder.deadline;
}
static void last_moment(void) {
    w.now.ms = w.record.holder.deadline.ms - 1;
}
static void owner_diverged(void) {
    struct ts_shard_record record = w.record;
    record.holder.owner = worker_named("w2");
    world_store(&w, &record);
}
static void op_id_used(void) {
    assert_int_equal(world_checkpoint(&w, 1, "g"), TS_CHECKPOINT_OK);
}

/* Each of these functions calls an operation with op id 1, cursor "k" or cut "p", and returns the name of its
 * error. */
static const char *do_renew(void) {
    return ts_renew_error_name(world_renew(&w));
}
static const char *do_write(void) {
    struct ts_logical_time before;
    return ts_write_error_name(world_write(&w, &before));
}
static const char *do_checkpoint(void) {
    return ts_checkpoint_error_name(world_checkpoint(&w, 1, "k"));
}
static const char *do_complete(void) {
    return ts_complete_error_name(world_complete(&w, 1, "k"));
}
static const char *do_park(void) {
    return ts_park_error_name(world_park(&w, 1, TS_PARK_POISONED));
}
static const char *do_release(void) {
    return ts_release_error_name(world_release(&w, 1, TS_BLAME_NOBODY));
}
static const char *do_split_replace(void) {
    const struct ts_new_shard children[] = {child_of("b", "k"), child_of("k", "p"), child_of("p", "y")};
    return ts_split_error_name(world_split_replace(&w, 1, children, 3));
}
static const char *do_split_residual(void) {
    return ts_split_error_name(world_split_residual(&w, 1, "p"));
}

static const struct {
    const char *name;
    const char *(*act)(void);
    bool has_op_id;
} operations[] = {
    {"renew", do_renew, false},
    {"checkpoint", do_checkpoint, true},
    {"complete", do_complete, true},
    {"park", do_park, true},
    {"release", do_release, true},
    {"split_replace", do_split_replace, true},
    {"split_residual", do_split_residual, true},
    {"write", do_write, false},
};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static const struct {
    const char *name;
    void (*arrange)(void);
    const char *expected;
} situations[] = {
    {"nothing", nothing, "Ok"},
    {"last moment", last_moment, "Ok"},
    {"other tenant", other_tenant, "TenantMismatch"},
    {"run done", run_done, "ShardTerminal"},
    {"run failed", run_failed, "ShardTerminal"},
    {"run cancelled", run_cancelled, "ShardTerminal"},
    {"shard done", shard_done, "ShardTerminal"},
    {"shard parked", shard_parked, "ShardTerminal"},
    {"shard split", shard_split, "ShardTerminal"},
    {"acquired by another", acquired_by_another, "StaleFence"},
    {"unparked since", unparked_since, "StaleFence"},
    {"released since", released_since, "StaleFence"},
    {"expired", expired, "LeaseExpired"},
    {"owner diverged", owner_diverged, "StaleFence"},
};

static void arrange(void (*situation)(void)) {
    world_init(&w);
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    w.now.ms++;
    assert_int_equal(world_checkpoint(&w, 800, "f"), TS_CHECKPOINT_OK);
    situation();
}

static void every_operation_answers_every_situation(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof situations / sizeof situations[0]; s++) {
        for (size_t o = 0; o < OPERATIONS; o++) {
            arrange(situations[s].arrange);
            const char *answer = operations[o].act();
            if (strcmp(answer, situations[s].expected) != 0)
                fail_msg("%s in \"%s\": %s", operations[o].name, situations[s].name, answer);
        }
    }
}

static void in_an_ended_run_the_reported_status_is_parked(void **state) {
    (void)state;
    for (size_t o = 0; o < OPERATIONS; o++) {
        arrange(shard_done);
        w.guard.status = TS_RUN_CANCELLED;
        assert_string_equal(operations[o].act(), "ShardTerminal");
        assert_int_equal(w.detail.shard_status, TS_SHARD_PARKED);
        arrange(shard_done);
        assert_string_equal(operations[o].act(), "ShardTerminal");
        assert_int_equal(w.detail.shard_status, TS_SHARD_DONE);
    }
}

/* An operation that may no longer be executed can still be replayed. */
static void every_operation_replays_in_every_situation(void **state) {
    (void)state;
    static void (*const later[])(void) = {nothing, expired, run_done, run_failed, run_cancelled, last_moment};
    for (size_t s = 0; s < sizeof later / sizeof later[0]; s++) {
        for (size_t o = 0; o < OPERATIONS; o++) {
            if (!operations[o].has_op_id)
                continue;
            arrange(nothing);
            assert_string_equal(operations[o].act(), "Ok");
            assert_int_equal(w.step.outcome, TS_OUTCOME_EXECUTED);
            assert_true(w.step.write);
            const struct ts_split_replace_result children = w.children;
            const struct ts_shard_id residual = w.residual.residual;
            memset(&w.children, 0, sizeof w.children);
            memset(&w.residual, 0, sizeof w.residual);
            if (w.record.has_holder || (later[s] != expired && later[s] != last_moment))
                later[s]();
            else
                w.now.ms += 1000000;
            assert_string_equal(operations[o].act(), "Ok");
            assert_int_equal(w.step.outcome, TS_OUTCOME_REPLAYED);
            assert_int_equal(w.step.result, TS_OP_RESULT_COMPLETED);
            assert_false(w.step.write);
            if (operations[o].act == do_split_replace) {
                assert_int_equal(w.children.count, 3);
                assert_memory_equal(w.children.children, children.children, 3 * sizeof children.children[0]);
            }
            if (operations[o].act == do_split_residual)
                assert_true(w.residual.residual.v == residual.v);
        }
    }
}

static void a_replay_passes_a_stale_fence(void **state) {
    (void)state;
    arrange(nothing);
    assert_string_equal(do_checkpoint(), "Ok");
    acquired_by_another();
    assert_string_equal(do_checkpoint(), "Ok");
    assert_int_equal(w.step.outcome, TS_OUTCOME_REPLAYED);
}

static void another_tenant_cannot_replay(void **state) {
    (void)state;
    for (size_t o = 0; o < OPERATIONS; o++) {
        if (!operations[o].has_op_id)
            continue;
        arrange(nothing);
        assert_string_equal(operations[o].act(), "Ok");
        other_tenant();
        assert_string_equal(operations[o].act(), "TenantMismatch");
    }
}

static void an_op_id_with_other_parameters_is_a_conflict(void **state) {
    (void)state;
    for (size_t o = 0; o < OPERATIONS; o++) {
        if (!operations[o].has_op_id)
            continue;
        arrange(op_id_used);
        assert_string_equal(operations[o].act(), "OpIdConflict");
        assert_int_equal(w.detail.op_id.v, 1);
        /* The op id is checked before the lease. */
        expired();
        assert_string_equal(operations[o].act(), "OpIdConflict");
    }
}

static void a_shard_is_not_found_until_all_announced_shards_are_registered(void **state) {
    (void)state;
    arrange(nothing);
    w.record.has_holder = false;
    w.guard.status = TS_RUN_INITIALIZING;
    const struct ts_step_env env = {&w.guard, w.now, TS_RECORD_MAX};
    struct ts_acquire_op acquire = {w.guard.tenant, the_shard, worker_named("w2")};
    assert_int_equal(ts_acquire_step(&w.record, &env, &acquire, &w.step, &w.lease, &w.detail),
                     TS_ACQUIRE_SHARD_NOT_FOUND);
    assert_int_equal(w.detail.shard.shard.v, the_shard.shard.v);
    acquire.tenant = tenant_named("other");
    assert_int_equal(ts_acquire_step(&w.record, &env, &acquire, &w.step, &w.lease, &w.detail),
                     TS_ACQUIRE_TENANT_MISMATCH);
    acquire.tenant = w.guard.tenant;
    w.guard.status = TS_RUN_ACTIVE;
    assert_int_equal(ts_acquire_step(&w.record, &env, &acquire, &w.step, &w.lease, &w.detail), TS_ACQUIRE_OK);
}

static void a_record_or_guard_that_is_not_there_is_not_found(void **state) {
    (void)state;
    arrange(nothing);
    for (int without_guard = 0; without_guard < 2; without_guard++) {
        const struct ts_shard_record *record = without_guard ? &w.record : NULL;
        const struct ts_step_env env = {without_guard ? NULL : &w.guard, w.now, TS_RECORD_MAX};
        const struct ts_split_env split_env = {.step = env, .limits = w.limits};
        const struct ts_acquire_op acquire = {w.guard.tenant, the_shard, worker_named("w2")};
        assert_int_equal(ts_acquire_step(record, &env, &acquire, &w.step, &w.lease, &w.detail),
                         TS_ACQUIRE_SHARD_NOT_FOUND);
        const struct ts_renew_op renew = {w.guard.tenant, w.lease};
        assert_int_equal(ts_renew_step(record, &env, &renew, &w.step, &w.lease, &w.detail),
                         TS_RENEW_SHARD_NOT_FOUND);
        assert_int_equal(w.detail.shard.shard.v, 3);
        const struct ts_cursor_op cursor = {world_by(&w, 5), cursor_at("k")};
        assert_int_equal(ts_checkpoint_step(record, &env, &cursor, &w.step, &w.detail),
                         TS_CHECKPOINT_SHARD_NOT_FOUND);
        assert_int_equal(ts_complete_step(record, &env, &cursor, &w.step, &w.detail),
                         TS_COMPLETE_SHARD_NOT_FOUND);
        const struct ts_park_op park = {world_by(&w, 5), TS_PARK_OTHER};
        assert_int_equal(ts_park_step(record, &env, &park, &w.step, &w.detail), TS_PARK_SHARD_NOT_FOUND);
        const struct ts_release_op release = {world_by(&w, 5), TS_BLAME_SHARD};
        assert_int_equal(ts_release_step(record, &env, &release, &w.step, &w.detail),
                         TS_RELEASE_SHARD_NOT_FOUND);
        const struct ts_write_op write = {w.guard.tenant, w.lease};
        struct ts_logical_time before;
        assert_int_equal(ts_write_step(record, &env, &write, &before, &w.detail), TS_WRITE_SHARD_NOT_FOUND);
        const struct ts_unpark_op unpark = {w.guard.tenant, the_shard, {5}};
        assert_int_equal(ts_unpark_step(record, &env, &unpark, &w.step, &w.detail),
                         TS_UNPARK_SHARD_NOT_FOUND);
        const struct ts_split_replace_op replace = {world_by(&w, 5), {NULL, 0}};
        assert_int_equal(
            ts_split_replace_step(record, &split_env, &replace, &w.memory, &w.step, &w.children, &w.detail),
            TS_SPLIT_SHARD_NOT_FOUND);
        const struct ts_split_residual_op residual = {world_by(&w, 5), child_of("p", "")};
        assert_int_equal(
            ts_split_residual_step(record, &split_env, &residual, &w.memory, &w.step, &w.residual, &w.detail),
            TS_SPLIT_SHARD_NOT_FOUND);
    }
}

static void acquire_gives_a_lease_with_the_next_fence(void **state) {
    (void)state;
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    assert_int_equal(ts_lease_fence(&w.lease).v, 1);
    assert_int_equal(ts_lease_deadline(&w.lease).ms, 31000);
    assert_int_equal(w.record.fence.v, 1);
    assert_int_equal(w.record.attempts, 1);
    assert_int_equal(w.step.event.kind, TS_EVENT_ACQUIRED);
    assert_int_equal(w.step.before.ms, 0);
    w.now.ms = 31000;
    assert_int_equal(world_acquire(&w, "w2"), TS_ACQUIRE_OK);
    assert_int_equal(ts_lease_fence(&w.lease).v, 2);
    assert_true(ts_worker_id_equal(ts_lease_owner(&w.lease), &w.record.holder.owner));
}

static void acquire_answers_in_its_order(void **state) {
    (void)state;
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    w.now.ms = 30999;
    /* A worker that already holds the lease is refused, too. */
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_ALREADY_LEASED);
    assert_int_equal(w.detail.deadline.ms, 31000);
    assert_false(w.step.write);
    assert_int_equal(world_park(&w, 1, TS_PARK_NOT_FOUND), TS_PARK_OK);
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_SHARD_TERMINAL);
    assert_int_equal(w.detail.shard_status, TS_SHARD_PARKED);
    assert_false(w.step.write);
    w.guard.status = TS_RUN_DONE;
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_SHARD_TERMINAL);
    other_tenant();
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_TENANT_MISMATCH);
}

static void a_deadline_saturates_at_the_end_of_time(void **state) {
    (void)state;
    w.now.ms = UINT64_MAX - 5;
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    assert_true(ts_lease_deadline(&w.lease).ms == UINT64_MAX);
    assert_int_equal(world_renew(&w), TS_RENEW_OK);
}

static void renew_extends_and_never_shortens(void **state) {
    (void)state;
    const uint64_t first = w.record.holder.deadline.ms;
    w.now.ms += 10;
    assert_int_equal(world_renew(&w), TS_RENEW_OK);
    assert_int_equal(w.record.holder.deadline.ms, w.now.ms + 30000);
    assert_int_equal(ts_lease_deadline(&w.lease).ms, w.now.ms + 30000);
    assert_int_equal(w.step.before.ms, first);
    assert_int_equal(ts_lease_fence(&w.lease).v, 1);
    const uint64_t second = w.record.holder.deadline.ms;
    w.now.ms -= 500; /* another process, whose clock is behind */
    assert_int_equal(world_renew(&w), TS_RENEW_OK);
    assert_int_equal(w.record.holder.deadline.ms, second);
    assert_int_equal(ts_ring_count(&w.record.op_log), 0);
    assert_int_equal(w.step.event.kind, TS_EVENT_RENEWED);
}

static void checkpoint_moves_the_cursor_and_resets_attempts(void **state) {
    (void)state;
    assert_int_equal(w.record.attempts, 1);
    assert_int_equal(world_checkpoint(&w, 1, "k"), TS_CHECKPOINT_OK);
    assert_true(ts_bytes_equal(w.record.cursor.last_key, TS_BYTES("k")));
    assert_int_equal(w.record.attempts, 0);
    assert_int_equal(w.record.status, TS_SHARD_ACTIVE);
    assert_true(w.record.has_holder);
    assert_int_equal(w.step.before.ms, w.record.holder.deadline.ms);
    assert_int_equal(w.step.event.kind, TS_EVENT_CHECKPOINTED);
    assert_int_equal(w.step.event.key_len, 1);
}

static void a_passed_checkpoint_replays_as_superseded(void **state) {
    (void)state;
    assert_int_equal(world_checkpoint(&w, 1, "k"), TS_CHECKPOINT_OK);
    assert_int_equal(world_checkpoint(&w, 2, "l"), TS_CHECKPOINT_OK);
    assert_int_equal(world_checkpoint(&w, 1, "k"), TS_CHECKPOINT_OK);
    assert_int_equal(w.step.outcome, TS_OUTCOME_REPLAYED);
    assert_int_equal(w.step.result, TS_OP_RESULT_SUPERSEDED);
    assert_int_equal(world_checkpoint(&w, 2, "l"), TS_CHECKPOINT_OK);
    assert_int_equal(w.step.result, TS_OP_RESULT_COMPLETED);
}

static void a_forgotten_checkpoint_cannot_move_the_cursor_back(void **state) {
    (void)state;
    char key[] = "c?";
    for (char i = 0; i <= TS_OP_LOG_MAX; i++) {
        key[1] = (char)('a' + i);
        assert_int_equal(world_checkpoint(&w, (uint64_t)i + 1, key), TS_CHECKPOINT_OK);
    }
    assert_int_equal(world_checkpoint(&w, 1, "ca"), TS_CHECKPOINT_CURSOR_REGRESSION);
    assert_int_equal(world_checkpoint(&w, 2, "cb"), TS_CHECKPOINT_OK);
    assert_int_equal(w.step.outcome, TS_OUTCOME_REPLAYED);
}

/* Checkpoint and complete return the same error for every bad cursor. */
static void bad_cursors_are_refused(void **state) {
    (void)state;
    static uint8_t large[TS_TOKEN_MAX + 1];
    memset(large, 'm', sizeof large);
    const struct {
        struct ts_cursor cursor;
        const char *expected;
    } cases[] = {
        {{0}, "CheckpointMissingKey"},
        {{.has_key = true, .last_key = ts_bytes_of(large, TS_KEY_MAX + 1)}, "CursorKeyTooLarge"},
        {{true, true, TS_BYTES("m"), ts_bytes_of(large, sizeof large)}, "CursorTokenTooLarge"},
        {KEY("j"), "CursorRegression"},
        {KEY("y"), "CursorOutOfBounds"},
    };
    assert_int_equal(world_checkpoint(&w, 1, "k"), TS_CHECKPOINT_OK);
    const struct ts_step_env env = world_env(&w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ts_cursor_op op = {world_by(&w, 50), cases[i].cursor};
        const struct ts_shard_step before = w.step;
        assert_string_equal(
            ts_checkpoint_error_name(ts_checkpoint_step(&w.record, &env, &op, &w.step, &w.detail)),
            cases[i].expected);
        assert_string_equal(
            ts_complete_error_name(ts_complete_step(&w.record, &env, &op, &w.step, &w.detail)),
            cases[i].expected);
        assert_memory_equal(&before, &w.step, sizeof before);
    }
}

static void a_record_that_would_grow_too_large_is_refused(void **state) {
    (void)state;
    w.record_max = ts_shard_record_reserved_size(&w.record) + 3;
    assert_int_equal(world_checkpoint(&w, 1, "kkkk"), TS_CHECKPOINT_RESOURCE_EXHAUSTED);
    assert_string_equal(w.detail.resource, "record");
    assert_int_equal(world_complete(&w, 1, "kkkk"), TS_COMPLETE_RESOURCE_EXHAUSTED);
    assert_int_equal(world_checkpoint(&w, 1, "kkk"), TS_CHECKPOINT_OK);
    /* Operations that add no bytes always fit, because room for the whole op-log is reserved. */
    for (uint64_t i = 2; i < 30; i++)
        assert_int_equal(world_checkpoint(&w, i, "kkk"), TS_CHECKPOINT_OK);
    assert_int_equal(world_park(&w, 99, TS_PARK_OTHER), TS_PARK_OK);
    static uint8_t bytes[TS_RECORD_MAX];
    size_t len;
    assert_int_equal(ts_shard_record_encode(&w.record, bytes, &len), TS_RECORD_OK);
    assert_true(len <= w.record_max);
}

static void complete_and_park_end_the_shard(void **state) {
    (void)state;
    assert_int_equal(world_complete(&w, 1, "x"), TS_COMPLETE_OK);
    assert_int_equal(w.record.status, TS_SHARD_DONE);
    assert_false(w.record.has_holder);
    assert_true(ts_bytes_equal(w.record.cursor.last_key, TS_BYTES("x")));
    assert_int_equal(w.step.event.kind, TS_EVENT_COMPLETED);
    assert_int_equal(ts_shard_record_claim_place(&w.record), TS_CLAIM_PLACE_NONE);
    leased(NULL);
    assert_int_equal(ts_shard_record_claim_place(&w.record), TS_CLAIM_PLACE_LEASED);
    assert_int_equal(world_park(&w, 1, TS_PARK_PERMISSION_DENIED), TS_PARK_OK);
    assert_int_equal(w.record.status, TS_SHARD_PARKED);
    assert_int_equal(w.record.park_reason, TS_PARK_PERMISSION_DENIED);
    assert_false(w.record.has_holder);
    assert_int_equal(w.step.event.reason, TS_PARK_PERMISSION_DENIED);
}

static void release_makes_the_shard_free_under_the_same_fence(void **state) {
    (void)state;
    assert_int_equal(world_checkpoint(&w, 1, "k"), TS_CHECKPOINT_OK);
    assert_int_equal(world_release(&w, 2, TS_BLAME_SHARD), TS_RELEASE_OK);
    assert_int_equal(w.record.status, TS_SHARD_ACTIVE);
    assert_int_equal(w.record.fence.v, 1);
    assert_false(w.record.has_holder);
    assert_true(ts_bytes_equal(w.record.cursor.last_key, TS_BYTES("k")));
    assert_int_equal(w.step.event.kind, TS_EVENT_RELEASED);
    assert_int_equal(ts_shard_record_claim_place(&w.record), TS_CLAIM_PLACE_FREE);
    /* The worker that released the shard must acquire it again, too. */
    const struct ts_lease old = w.lease;
    assert_int_equal(world_checkpoint(&w, 3, "l"), TS_CHECKPOINT_STALE_FENCE);
    assert_true(w.detail.is_released && !w.detail.is_unparked);
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    assert_int_equal(w.record.fence.v, 2);
    w.lease = old;
    assert_int_equal(world_checkpoint(&w, 3, "l"), TS_CHECKPOINT_STALE_FENCE);
    assert_false(w.detail.is_released || w.detail.is_unparked);
    /* A repeated release does not take the shard from its new holder. */
    assert_int_equal(world_release(&w, 2, TS_BLAME_SHARD), TS_RELEASE_OK);
    assert_int_equal(w.step.outcome, TS_OUTCOME_REPLAYED);
    assert_true(w.record.has_holder);
    assert_int_equal(world_release(&w, 2, TS_BLAME_NOBODY), TS_RELEASE_OP_ID_CONFLICT);
}

static void an_attempt_is_not_counted_if_nobody_is_to_blame(void **state) {
    (void)state;
    w.guard.config.attempts = 2;
    for (uint64_t op = 1; op <= 20; op++) {
        assert_int_equal(w.record.attempts, 1);
        assert_int_equal(world_release(&w, op, TS_BLAME_NOBODY), TS_RELEASE_OK);
        assert_int_equal(w.record.attempts, 0);
        assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    }
    /* The checkpoint has set the attempts to 0, so release subtracts nothing. */
    assert_int_equal(world_checkpoint(&w, 50, "k"), TS_CHECKPOINT_OK);
    assert_int_equal(world_release(&w, 51, TS_BLAME_NOBODY), TS_RELEASE_OK);
    assert_int_equal(w.record.attempts, 0);
    for (uint64_t op = 60; op < 62; op++) {
        assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
        assert_int_equal(world_release(&w, op, TS_BLAME_SHARD), TS_RELEASE_OK);
    }
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_SHARD_TERMINAL);
    assert_int_equal(w.record.park_reason, TS_PARK_TOO_MANY_ERRORS);
}

static void a_write_is_allowed_until_the_end_of_the_lease(void **state) {
    (void)state;
    struct ts_logical_time before = {0};
    assert_int_equal(world_write(&w, &before), TS_WRITE_OK);
    assert_int_equal(before.ms, w.record.holder.deadline.ms);
    w.now = before;
    assert_int_equal(world_write(&w, &before), TS_WRITE_LEASE_EXPIRED);
}

static void unpark_makes_the_shard_free_under_a_new_fence(void **state) {
    (void)state;
    assert_int_equal(world_park(&w, 1, TS_PARK_OTHER), TS_PARK_OK);
    assert_int_equal(world_unpark(&w, 2), TS_UNPARK_OK);
    assert_int_equal(w.record.status, TS_SHARD_ACTIVE);
    assert_int_equal(w.record.fence.v, 2);
    assert_int_equal(w.record.attempts, 0);
    assert_false(w.record.has_park_reason);
    assert_int_equal(w.step.event.kind, TS_EVENT_UNPARKED);
    assert_int_equal(ts_shard_record_claim_place(&w.record), TS_CLAIM_PLACE_FREE);
    assert_int_equal(world_unpark(&w, 2), TS_UNPARK_OK);
    assert_int_equal(w.step.outcome, TS_OUTCOME_REPLAYED);
}

static void unpark_answers_in_its_order(void **state) {
    (void)state;
    assert_int_equal(world_unpark(&w, 2), TS_UNPARK_NOT_PARKED);
    assert_int_equal(w.detail.shard_status, TS_SHARD_ACTIVE);
    w.guard.status = TS_RUN_FAILED;
    assert_int_equal(world_unpark(&w, 2), TS_UNPARK_RUN_TERMINAL);
    assert_int_equal(w.detail.run_status, TS_RUN_FAILED);
    w.guard.status = TS_RUN_ACTIVE;
    assert_int_equal(world_checkpoint(&w, 2, "k"), TS_CHECKPOINT_OK);
    w.guard.status = TS_RUN_FAILED;
    assert_int_equal(world_unpark(&w, 2), TS_UNPARK_OP_ID_CONFLICT);
    other_tenant();
    assert_int_equal(world_unpark(&w, 2), TS_UNPARK_TENANT_MISMATCH);
}

static void a_terminal_operation_is_never_forgotten(void **state) {
    (void)state;
    assert_int_equal(world_park(&w, 1, TS_PARK_OTHER), TS_PARK_OK);
    for (uint64_t op = 2; op < 40; op++) {
        assert_int_equal(world_checkpoint(&w, op, "k"), TS_CHECKPOINT_SHARD_TERMINAL);
        assert_int_equal(world_unpark(&w, 1), TS_UNPARK_OP_ID_CONFLICT);
    }
    assert_int_equal(world_park(&w, 1, TS_PARK_OTHER), TS_PARK_OK);
    assert_int_equal(w.step.outcome, TS_OUTCOME_REPLAYED);
}

static void a_clock_that_steps_back_does_not_stop_a_shard(void **state) {
    (void)state;
    assert_int_equal(world_checkpoint(&w, 1, "k"), TS_CHECKPOINT_OK);
    w.now.ms = 2;
    assert_int_equal(world_checkpoint(&w, 2, "l"), TS_CHECKPOINT_OK);
    assert_int_equal(world_complete(&w, 3, "m"), TS_COMPLETE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_answers_every_situation),
        cmocka_unit_test(in_an_ended_run_the_reported_status_is_parked),
        cmocka_unit_test(every_operation_replays_in_every_situation),
        cmocka_unit_test(a_replay_passes_a_stale_fence),
        cmocka_unit_test(another_tenant_cannot_replay),
        cmocka_unit_test(an_op_id_with_other_parameters_is_a_conflict),
        cmocka_unit_test(a_shard_is_not_found_until_all_announced_shards_are_registered),
        cmocka_unit_test(a_record_or_guard_that_is_not_there_is_not_found),
        cmocka_unit_test_setup(acquire_gives_a_lease_with_the_next_fence, fresh),
        cmocka_unit_test_setup(acquire_answers_in_its_order, fresh),
        cmocka_unit_test_setup(a_deadline_saturates_at_the_end_of_time, fresh),
        cmocka_unit_test_setup(renew_extends_and_never_shortens, leased),
        cmocka_unit_test_setup(checkpoint_moves_the_cursor_and_resets_attempts, leased),
        cmocka_unit_test_setup(a_passed_checkpoint_replays_as_superseded, leased),
        cmocka_unit_test_setup(a_forgotten_checkpoint_cannot_move_the_cursor_back, leased),
        cmocka_unit_test_setup(bad_cursors_are_refused, leased),
        cmocka_unit_test_setup(a_record_that_would_grow_too_large_is_refused, leased),
        cmocka_unit_test_setup(complete_and_park_end_the_shard, leased),
        cmocka_unit_test_setup(release_makes_the_shard_free_under_the_same_fence, leased),
        cmocka_unit_test_setup(an_attempt_is_not_counted_if_nobody_is_to_blame, leased),
        cmocka_unit_test_setup(a_write_is_allowed_until_the_end_of_the_lease, leased),
        cmocka_unit_test_setup(unpark_makes_the_shard_free_under_a_new_fence, leased),
        cmocka_unit_test_setup(unpark_answers_in_its_order, leased),
        cmocka_unit_test_setup(a_terminal_operation_is_never_forgotten, leased),
        cmocka_unit_test_setup(a_clock_that_steps_back_does_not_stop_a_shard, leased),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
