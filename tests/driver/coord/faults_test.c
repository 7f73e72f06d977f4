/*
 * Faults between an operation and its answer: lost replies, faster competitors, leases that end meanwhile,
 * failing stores. The test can make each call fail, count calls, and act between calls, like a simulation.
 * Time passes only when a test advances it.
 */
#include "base/endian.h"
#include "coord/driver/coord.h"
#include "coord/driver/session.h"
#include "one_store.h"
#include "store/cluster/cluster.h"
#include "support/cmocka.h"
#include "support/still_time.h"

#include <stdio.h>
#include <string.h>

/* Kinds of faults in a call that writes. */
enum strike { NONE, LOST_REPLY, LOST_REQUEST, HELD_UP, ERROR };

static struct {
    struct ts_cluster *cluster;
    unsigned reads, applies, pauses;
    enum strike strike;
    enum ts_store_result result; /* for ERROR */
    unsigned spared;             /* number of writes that succeed before the fault */
    unsigned times;              /* number of writes with the fault */
    void (*between)(void);       /* called once, before the next write */
    void (*then)(void);          /* called once, after the last write with the fault */
    unsigned before_read;        /* number of the read before which then_read is called; 0: none */
    void (*then_read)(void);
    struct ts_event events[64];
    size_t event_count;
} world;

/* A copy of a request that can still reach its store although its sender no longer waits. */
static struct {
    struct ts_op ops[16];
    size_t count;
    uint32_t place;
    uint8_t bytes[2 * TS_RECORD_MAX];
    size_t used;
} held;

static unsigned before_write;   /* number of writes that are made before `between` is called */
static uint64_t writing;        /* the shard of the write before which `between` is called */
static struct ts_coord *coord;  /* the coordination with faults */
static struct ts_coord *others; /* a coordination without faults, over the same stores */
static struct ts_tenant_id tenant;
static struct ts_worker_id worker;
static const struct ts_run_id run = {7};
static struct ts_coord_detail detail;
static struct ts_coord_outcome outcome;
static struct ts_acquire_scratch scratch;
static struct ts_acquire_result_view view;
static struct ts_manifest_memory memory;
static uint64_t last_op;

#define BYTES(text) TS_BYTES_INIT(text)

static struct ts_op_id new_op(void) {
    return (struct ts_op_id){++last_op};
}

static void run_one(struct ts_coord_call *call) {
    (void)ts_store_run(ts_cluster_store(world.cluster, call->place), &call->call);
}

static struct ts_bytes hold_bytes(struct ts_bytes bytes) {
    assert_true(bytes.len <= sizeof held.bytes - held.used);
    uint8_t *copy = held.bytes + held.used;
    if (bytes.len > 0)
        memcpy(copy, bytes.data, bytes.len);
    held.used += bytes.len;
    return ts_bytes_of(copy, bytes.len);
}

static void hold_up(const struct ts_coord_call *call) {
    held.count = call->call.batch.count;
    held.place = call->place;
    held.used = 0;
    assert_true(held.count <= sizeof held.ops / sizeof held.ops[0]);
    for (size_t i = 0; i < held.count; i++) {
        held.ops[i] = call->call.batch.ops[i];
        held.ops[i].key = hold_bytes(held.ops[i].key);
        held.ops[i].value = hold_bytes(held.ops[i].value);
    }
}

static void held_request_arrives(void) {
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {held.ops, held.count}};
    assert_int_equal(ts_store_run(ts_cluster_store(world.cluster, held.place), &call), TS_STORE_OK);
}

static void note_shard(const struct ts_batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        const struct ts_bytes key = batch->ops[i].key;
        if (batch->ops[i].kind == TS_OP_PUT && key.len == 19 && key.data[2] == 's')
            writing = ts_be64_load(key.data + 11);
    }
}

static void run_calls(void *context, struct ts_coord_call *calls, size_t count) {
    (void)context;
    for (size_t i = 0; i < count; i++) {
        if (calls[i].call.kind != TS_CALL_APPLY) {
            if (++world.reads == world.before_read)
                world.then_read();
            run_one(&calls[i]);
            continue;
        }
        world.applies++;
        void (*between)(void) = before_write == 0 ? world.between : NULL;
        if (before_write == 0)
            world.between = NULL;
        else
            before_write--;
        note_shard(&calls[i].call.batch);
        if (between != NULL)
            between();
        if (world.strike == NONE || world.times == 0 || world.spared > 0) {
            world.spared -= world.spared > 0;
            run_one(&calls[i]);
            continue;
        }
        world.times--;
        if (world.strike == LOST_REPLY)
            run_one(&calls[i]);
        if (world.strike == HELD_UP)
            hold_up(&calls[i]);
        calls[i].call.done = true;
        calls[i].call.version = 0;
        calls[i].call.error.result = world.strike == ERROR ? world.result : TS_STORE_UNKNOWN;
        calls[i].call.error.op = SIZE_MAX;
        snprintf(calls[i].call.error.text, sizeof calls[i].call.error.text, "struck");
        void (*then)(void) = world.times == 0 ? world.then : NULL;
        if (then != NULL) {
            world.then = NULL;
            then();
        }
    }
}

static void run_quietly(void *context, struct ts_coord_call *calls, size_t count) {
    (void)context;
    for (size_t i = 0; i < count; i++)
        run_one(&calls[i]);
}

static struct one_store our_store, their_store;

static uint64_t elapsed(void *context) {
    (void)context;
    return now_ms;
}

static void pause_for(void *context, uint64_t ms) {
    (void)context;
    (void)ms;
    world.pauses++;
}

static void on_event(void *context, const struct ts_event *event) {
    (void)context;
    if (world.event_count < 64)
        world.events[world.event_count++] = *event;
}

static size_t count_events(enum ts_event_kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < world.event_count; i++)
        count += world.events[i].kind == kind;
    return count;
}

static void strike(enum strike kind, unsigned times) {
    world.strike = kind;
    world.times = times;
    world.reads = world.applies = world.pauses = 0;
    world.event_count = 0;
}

static void strike_with(enum ts_store_result result, unsigned times) {
    strike(ERROR, times);
    world.result = result;
}

static struct ts_run_config config(void) {
    struct ts_run_config made = ts_run_config_default();
    made.lease_duration_ms = 10000;
    return made;
}

static const struct ts_new_shard shards[] = {
    {.has_id = true, .id = {1}, .spec.range = {BYTES("b"), BYTES("h")}},
    {.has_id = true, .id = {2}, .spec.range = {BYTES("h"), BYTES("p")}}};

static enum ts_create_run_error make_run(struct ts_coord *by, struct ts_op_id op) {
    const struct ts_create_run_op create = {.tenant = tenant, .run = run, .config = config()};
    const struct ts_register_op registered = {
        .tenant = tenant, .run = run, .op_id = op, .shards = {shards, 2}};
    return ts_coord_create_run_with_shards(by, &create, &registered, &memory, &outcome, &detail);
}

static enum ts_acquire_error acquire(struct ts_coord *by, uint64_t shard) {
    const struct ts_acquire_op op = {tenant, {run, {shard}}, worker};
    return ts_coord_acquire(by, &op, &scratch, &view, &detail);
}

static struct ts_cursor_op cursor_op(struct ts_op_id op, const char *key) {
    return (struct ts_cursor_op){{tenant, view.lease, op},
                                 {.has_key = true, .last_key = ts_bytes_of_cstring(key)}};
}

static enum ts_checkpoint_error checkpoint(struct ts_coord *by, struct ts_op_id op, const char *key) {
    const struct ts_cursor_op cursor = cursor_op(op, key);
    return ts_coord_checkpoint(by, &cursor, NULL, &outcome, &detail);
}

static enum ts_run_transition_error end_run(struct ts_coord *by, enum ts_run_op_kind kind,
                                            struct ts_op_id op) {
    const struct ts_end_run_op end = {tenant, run, op, kind};
    return ts_coord_end_run(by, &end, &outcome, &detail);
}

static void audit(void) {
    struct ts_coord_audit found;
    const struct ts_coord_run_query query = {tenant, run};
    assert_int_equal(ts_coord_audit_run(others, &query, &found, &detail), TS_GET_RUN_OK);
    assert_true(ts_coord_audit_is_clean(&found));
}

static int fresh(void **state) {
    (void)state;
    memset(&world, 0, sizeof world);
    now_ms = 1000000;
    struct ts_store_error error;
    const struct ts_cluster_options options = {.store = {.clock = &test_clock}};
    if (ts_cluster_init("memory:", "xxh64", &options, &world.cluster, &error) != TS_STORE_OK)
        return 1;
    if (!one_store_init(&our_store, run_calls) || !one_store_init(&their_store, run_quietly))
        return 1;
    struct ts_coord_io io = {.context = &our_store,
                             .router = ts_cluster_router(world.cluster),
                             .place_count = 1,
                             .call = run_calls,
                             .txn = one_store_txn,
                             .elapsed_ms = elapsed,
                             .pause_ms = pause_for};
    coord = ts_coord_new_over(&io, &(struct ts_coord_options){.seed = 1, .event = on_event});
    io.call = run_quietly;
    io.context = &their_store;
    others = ts_coord_new_over(&io, &(struct ts_coord_options){.seed = 2});
    ts_acquire_scratch_init(&scratch);
    return coord == NULL || others == NULL || !ts_tenant_id_from_text(TS_BYTES("acme"), &tenant) ||
           !ts_worker_id_from_text(TS_BYTES("w"), &worker);
}

static int clean(void **state) {
    (void)state;
    ts_coord_free(coord);
    ts_coord_free(others);
    ts_txn_virtual_free(our_store.coordinator);
    ts_txn_virtual_free(their_store.coordinator);
    ts_cluster_close(world.cluster);
    return 0;
}

/* ---- calls ---- */

static void a_checkpoint_of_a_session_is_one_call(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    struct ts_coord_session *session =
        ts_coord_session_new(coord, &(struct ts_coord_worker){.tenant = tenant, .worker = worker});
    assert_non_null(session);
    assert_int_equal(ts_coord_session_acquire(session, (struct ts_shard_key){run, {1}}, &view, &detail),
                     TS_ACQUIRE_OK);
    strike(NONE, 0);
    const struct ts_cursor cursor = {.has_key = true, .last_key = BYTES("c")};
    for (unsigned i = 1; i <= 20; i++) {
        now_ms += 10;
        assert_int_equal(ts_coord_session_checkpoint(session, new_op(), &cursor, &outcome, &detail),
                         TS_CHECKPOINT_OK);
        assert_int_equal(world.applies, i);
        assert_int_equal(world.reads, 0);
    }
    /* A replay from memory needs no call. */
    assert_int_equal(
        ts_coord_session_checkpoint(session, (struct ts_op_id){last_op}, &cursor, &outcome, &detail),
        TS_CHECKPOINT_OK);
    assert_int_equal(outcome.outcome, TS_OUTCOME_REPLAYED);
    assert_int_equal(world.applies, 20);
    assert_int_equal(ts_coord_session_complete(session, new_op(), &cursor, &outcome, &detail),
                     TS_COMPLETE_OK);
    assert_int_equal(world.applies, 21);
    assert_int_equal(world.reads, 0);
    ts_coord_session_free(session);
    audit();
}

/* ---- lost replies and requests ---- */

static void expect_found_done(enum ts_event_kind event) {
    assert_int_equal(outcome.outcome, TS_OUTCOME_REPLAYED);
    assert_true(outcome.after_unknown);
    assert_int_equal(world.applies, 1);
    assert_int_equal(count_events(event), 1);
}

static void an_operation_whose_reply_is_lost_is_found_done(void **state) {
    (void)state;
    strike(LOST_REPLY, 1);
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    expect_found_done(TS_EVENT_SHARDS_REGISTERED);
    strike(LOST_REPLY, 1);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    assert_int_equal(ts_lease_fence(&view.lease).v, 1);
    assert_int_equal(world.applies, 1);
    assert_int_equal(count_events(TS_EVENT_ACQUIRED), 1);
    strike(LOST_REPLY, 1);
    assert_int_equal(checkpoint(coord, new_op(), "c"), TS_CHECKPOINT_OK);
    expect_found_done(TS_EVENT_CHECKPOINTED);
    strike(LOST_REPLY, 1);
    struct ts_split_residual_result residual;
    const struct ts_split_residual_op cut = {{tenant, view.lease, new_op()},
                                             {.spec.range.start = BYTES("g")}};
    assert_int_equal(ts_coord_split_residual(coord, &cut, NULL, &residual, &outcome, &detail), TS_SPLIT_OK);
    expect_found_done(TS_EVENT_SPLIT);
    strike(LOST_REPLY, 1);
    struct ts_renew_result renewed;
    struct ts_lease lease;
    assert_int_equal(
        ts_coord_renew(coord, &(struct ts_renew_op){tenant, view.lease}, NULL, &lease, &renewed, &detail),
        TS_RENEW_OK);
    strike(LOST_REPLY, 1);
    const struct ts_release_op release = {{tenant, view.lease, new_op()}, TS_BLAME_NOBODY};
    assert_int_equal(ts_coord_release(coord, &release, NULL, &outcome, &detail), TS_RELEASE_OK);
    expect_found_done(TS_EVENT_RELEASED);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    strike(LOST_REPLY, 1);
    const struct ts_park_op park = {{tenant, view.lease, new_op()}, TS_PARK_OTHER};
    assert_int_equal(ts_coord_park(coord, &park, NULL, &outcome, &detail), TS_PARK_OK);
    expect_found_done(TS_EVENT_PARKED);
    strike(LOST_REPLY, 1);
    const struct ts_unpark_op unpark = {tenant, {run, {1}}, new_op()};
    assert_int_equal(ts_coord_unpark(coord, &unpark, &outcome, &detail), TS_UNPARK_OK);
    expect_found_done(TS_EVENT_UNPARKED);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    strike(LOST_REPLY, 1);
    const struct ts_new_shard parts[] = {{.spec.range = {BYTES("b"), BYTES("d")}},
                                         {.spec.range = {BYTES("d"), BYTES("g")}}};
    struct ts_split_replace_result children;
    const struct ts_split_replace_op replace = {{tenant, view.lease, new_op()}, {parts, 2}};
    assert_int_equal(ts_coord_split_replace(coord, &replace, NULL, &children, &outcome, &detail),
                     TS_SPLIT_OK);
    expect_found_done(TS_EVENT_SPLIT);
    assert_int_equal(acquire(coord, 2), TS_ACQUIRE_OK);
    strike(LOST_REPLY, 1);
    const struct ts_cursor_op last = cursor_op(new_op(), "i");
    assert_int_equal(ts_coord_complete(coord, &last, NULL, &outcome, &detail), TS_COMPLETE_OK);
    expect_found_done(TS_EVENT_COMPLETED);
    audit();
    strike(LOST_REPLY, 1);
    assert_int_equal(end_run(coord, TS_RUN_OP_FAIL_RUN, new_op()), TS_RUN_TRANSITION_OK);
    expect_found_done(TS_EVENT_RUN_ENDED);
    audit();
}

static void a_run_whose_reply_is_lost_is_recognized_by_its_creator(void **state) {
    (void)state;
    strike(LOST_REPLY, 1);
    struct ts_run_record made;
    assert_int_equal(ts_coord_create_run(
                         coord, &(struct ts_create_run_op){.tenant = tenant, .run = run, .config = config()},
                         &made, &detail),
                     TS_CREATE_RUN_OK);
    assert_int_equal(count_events(TS_EVENT_RUN_CREATED), 1);
    audit();
}

static void an_operation_whose_request_is_lost_is_done_once(void **state) {
    (void)state;
    strike(LOST_REQUEST, 2);
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    assert_int_equal(outcome.outcome, TS_OUTCOME_EXECUTED);
    assert_int_equal(world.applies, 3);
    assert_true(world.pauses >= 2);
    strike(LOST_REQUEST, 3);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    assert_int_equal(ts_lease_fence(&view.lease).v, 1);
    strike(LOST_REQUEST, 1);
    assert_int_equal(checkpoint(coord, new_op(), "c"), TS_CHECKPOINT_OK);
    assert_int_equal(outcome.outcome, TS_OUTCOME_EXECUTED);
    assert_int_equal(count_events(TS_EVENT_CHECKPOINTED), 1);
    audit();
}

static void namesake_acquires(void) {
    struct ts_acquire_result_view theirs;
    static struct ts_acquire_scratch their_scratch;
    struct ts_coord_detail ignored;
    const struct ts_acquire_op op = {tenant, {run, {1}}, worker};
    assert_int_equal(ts_coord_acquire(others, &op, &their_scratch, &theirs, &ignored), TS_ACQUIRE_OK);
}

/* Another process has acquired a lease with the same name, fence and deadline. This lease is not the worker's
 * lease. */
static void an_acquire_of_a_namesake_is_not_mistaken_for_the_workers_own(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    strike(LOST_REQUEST, 1);
    world.between = namesake_acquires;
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_ALREADY_LEASED);
    audit();
}

static void a_moment_passes(void) {
    now_ms += 5;
    world.between = held_request_arrives;
}

/* The store receives the first request while the second request, with a later deadline, is on its way. */
static void an_acquire_whose_first_try_arrives_late_belongs_to_the_worker(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    const uint64_t deadline_ms = now_ms + config().lease_duration_ms;
    strike(HELD_UP, 1);
    world.then = a_moment_passes;
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    assert_int_equal(world.applies, 2);
    assert_int_equal(ts_lease_fence(&view.lease).v, 1);
    assert_int_equal(ts_lease_deadline(&view.lease).ms, deadline_ms);
    assert_int_equal(count_events(TS_EVENT_ACQUIRED), 1);
    assert_int_equal(world.events[0].deadline.ms, deadline_ms);
    strike(NONE, 0);
    assert_int_equal(checkpoint(coord, new_op(), "c"), TS_CHECKPOINT_OK);
    audit();
}

static void a_lasting_unknown_is_reported(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    const struct ts_op_id op = new_op();
    strike(LOST_REQUEST, 1000);
    assert_int_equal(checkpoint(coord, op, "c"), TS_CHECKPOINT_BACKEND_ERROR);
    assert_int_equal(detail.infra.kind, TS_INFRA_UNKNOWN);
    assert_int_equal(ts_checkpoint_error_class(TS_CHECKPOINT_BACKEND_ERROR, &detail),
                     TS_COORD_CLASS_RETRYABLE);
    assert_true(world.applies <= 32);
    strike(NONE, 0);
    assert_int_equal(checkpoint(coord, op, "c"), TS_CHECKPOINT_OK);
    assert_int_equal(outcome.outcome, TS_OUTCOME_EXECUTED);
    audit();
}

/* ---- others are faster ---- */

static void others_checkpoint(void) {
    struct ts_coord_outcome theirs;
    struct ts_coord_detail ignored;
    const struct ts_cursor_op op = cursor_op((struct ts_op_id){555555}, "d");
    assert_int_equal(ts_coord_checkpoint(others, &op, NULL, &theirs, &ignored), TS_CHECKPOINT_OK);
}

static void a_record_that_others_have_changed_is_read_again(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    strike(NONE, 0);
    world.between = others_checkpoint;
    assert_int_equal(checkpoint(coord, new_op(), "e"), TS_CHECKPOINT_OK);
    assert_int_equal(outcome.outcome, TS_OUTCOME_EXECUTED);
    assert_int_equal(world.applies, 2);
    world.between = others_checkpoint; /* the others only replay their checkpoint, so nothing changes */
    assert_int_equal(checkpoint(coord, new_op(), "f"), TS_CHECKPOINT_OK);
    audit();
    /* A checkpoint with the op id of the others' checkpoint replays that checkpoint. */
    strike(NONE, 0);
    assert_int_equal(checkpoint(coord, (struct ts_op_id){555555}, "d"), TS_CHECKPOINT_OK);
    assert_int_equal(outcome.outcome, TS_OUTCOME_REPLAYED);
    assert_false(outcome.after_unknown);
    assert_int_equal(outcome.result, TS_OP_RESULT_SUPERSEDED);
}

static void others_unpark(void) {
    struct ts_coord_outcome theirs;
    struct ts_coord_detail ignored;
    const struct ts_unpark_op op = {tenant, {run, {1}}, {666666}};
    assert_int_equal(ts_coord_unpark(others, &op, &theirs, &ignored), TS_UNPARK_OK);
}

static void nothing_becomes_active_while_a_run_ends(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    for (uint64_t shard = 1; shard <= 2; shard++) {
        assert_int_equal(acquire(coord, shard), TS_ACQUIRE_OK);
        const struct ts_park_op park = {{tenant, view.lease, new_op()}, TS_PARK_OTHER};
        assert_int_equal(ts_coord_park(coord, &park, NULL, &outcome, &detail), TS_PARK_OK);
    }
    world.between = others_unpark;
    assert_int_equal(end_run(coord, TS_RUN_OP_COMPLETE_RUN, new_op()), TS_RUN_TRANSITION_WRONG_STATUS);
    audit();
}

static void others_cancel(void) {
    struct ts_coord_outcome theirs;
    struct ts_coord_detail ignored;
    const struct ts_end_run_op end = {tenant, run, {777777}, TS_RUN_OP_CANCEL_RUN};
    assert_int_equal(ts_coord_end_run(others, &end, &theirs, &ignored), TS_RUN_TRANSITION_OK);
}

static void no_shard_moves_once_its_run_has_ended(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    world.between = others_cancel;
    assert_int_equal(checkpoint(coord, new_op(), "c"), TS_CHECKPOINT_SHARD_TERMINAL);
    assert_int_equal(detail.shard_status, TS_SHARD_PARKED);
    audit();
}

static void others_split(void) {
    struct ts_coord_outcome theirs;
    struct ts_split_residual_result residual;
    struct ts_coord_detail ignored;
    const struct ts_split_residual_op cut = {{tenant, view.lease, {888888}},
                                             {.spec.range.start = BYTES("g")}};
    assert_int_equal(ts_coord_split_residual(others, &cut, NULL, &residual, &theirs, &ignored), TS_SPLIT_OK);
}

static void shards_of_others_count_when_a_run_ends(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    world.between = others_split;
    assert_int_equal(end_run(coord, TS_RUN_OP_FAIL_RUN, new_op()), TS_RUN_TRANSITION_OK);
    struct ts_shard_limits limits;
    assert_int_equal(ts_coord_limits(coord, &tenant, &limits, &detail), TS_GET_RUN_OK);
    assert_int_equal(limits.tenant.current, 0);
    assert_int_equal(limits.global.current, 0);
    audit();
}

/* ---- time ---- */

static void time_passes(void) {
    now_ms += 10000;
}

static void a_lease_that_ends_on_the_way_is_expired(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    const uint64_t deadline_ms = ts_lease_deadline(&view.lease).ms;
    world.between = time_passes;
    assert_int_equal(checkpoint(coord, new_op(), "c"), TS_CHECKPOINT_LEASE_EXPIRED);
    assert_int_equal(detail.deadline.ms, deadline_ms);
    assert_true(detail.now.ms >= deadline_ms);
    assert_int_equal(count_events(TS_EVENT_LEASE_LOST), 1);
    assert_int_equal(count_events(TS_EVENT_CHECKPOINTED), 0);
    audit();
}

/* ---- stores that fail ---- */

static void failures_have_their_kinds(void **state) {
    (void)state;
    static const struct {
        enum ts_store_result result;
        enum ts_checkpoint_error error;
        enum ts_infra_kind kind;
    } cases[] = {
        {TS_STORE_UNAVAILABLE, TS_CHECKPOINT_BACKEND_ERROR, TS_INFRA_RETRYABLE},
        {TS_STORE_TIMED_OUT, TS_CHECKPOINT_BACKEND_ERROR, TS_INFRA_RETRYABLE},
        {TS_STORE_LOCK_CONFLICT, TS_CHECKPOINT_BACKEND_ERROR, TS_INFRA_RETRYABLE},
        {TS_STORE_FOREIGN, TS_CHECKPOINT_BACKEND_ERROR, TS_INFRA_PERMANENT},
        {TS_STORE_FAILED, TS_CHECKPOINT_BACKEND_ERROR, TS_INFRA_PERMANENT},
        {TS_STORE_DAMAGED, TS_CHECKPOINT_BACKEND_ERROR, TS_INFRA_DAMAGED},
        {TS_STORE_LATE, TS_CHECKPOINT_LEASE_EXPIRED, TS_INFRA_RETRYABLE},
        {TS_STORE_FULL, TS_CHECKPOINT_RESOURCE_EXHAUSTED, TS_INFRA_PERMANENT},
        {TS_STORE_TOO_LARGE, TS_CHECKPOINT_RESOURCE_EXHAUSTED, TS_INFRA_PERMANENT},
    };
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(&detail, 0, sizeof detail);
        strike_with(cases[i].result, 1000);
        assert_int_equal(checkpoint(coord, new_op(), "c"), cases[i].error);
        if (cases[i].error == TS_CHECKPOINT_BACKEND_ERROR)
            assert_int_equal(detail.infra.kind, cases[i].kind);
        assert_true(world.applies <= 32);
    }
    /* Operations without an error of their own for this case return BackendError. */
    strike_with(TS_STORE_FULL, 1000);
    assert_int_equal(acquire(coord, 2), TS_ACQUIRE_BACKEND_ERROR);
    const struct ts_register_op more = {
        .tenant = tenant,
        .run = run,
        .op_id = new_op(),
        .shards = {&(struct ts_new_shard){.spec.range = {BYTES("p"), BYTES("z")}}, 1}};
    assert_int_equal(ts_coord_register_shards(coord, &more, &memory, &outcome, &detail),
                     TS_REGISTER_SHARDS_RESOURCE_EXHAUSTED);
    assert_string_equal(detail.resource, "disk");
    strike(NONE, 0);
    audit();
}

static void then_unavailable(void) {
    strike_with(TS_STORE_UNAVAILABLE, 1000);
}

static void one_that_may_have_been_done_is_unknown_however_it_ends(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    /* The first write is lost. From the second write on, the store cannot be reached. */
    strike(LOST_REQUEST, 1);
    world.then = then_unavailable;
    assert_int_equal(checkpoint(coord, new_op(), "c"), TS_CHECKPOINT_BACKEND_ERROR);
    assert_int_equal(detail.infra.kind, TS_INFRA_UNKNOWN);
    strike(NONE, 0);
    audit();
}

/* Writes an invalid record or number under one of the run's keys. */
static void spoil(const char *kind, uint64_t shard) {
    uint8_t key[19] = {0, 'c', (uint8_t)kind[0]};
    ts_be64_store(run.v, key + 3);
    ts_be64_store(shard, key + 11);
    const struct ts_op put = {
        .kind = TS_OP_PUT, .key = ts_bytes_of(key, shard != 0 ? 19 : 11), .value = TS_BYTES("spoilt")};
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {&put, 1}};
    assert_int_equal(ts_store_run(ts_cluster_store(world.cluster, 0), &call), TS_STORE_OK);
}

static void then_spoil_the_shard(void) {
    spoil("s", 1);
}
static void then_spoil_the_run(void) {
    spoil("r", 0);
}
static void then_spoil_the_limits(void) {
    const struct ts_op put = {
        .kind = TS_OP_PUT, .key = ts_bytes_of((const uint8_t *)"\0cq", 3), .value = TS_BYTES("spoilt")};
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {&put, 1}};
    assert_int_equal(ts_store_run(ts_cluster_store(world.cluster, 0), &call), TS_STORE_OK);
}

static void one_that_may_have_been_done_is_unknown_when_damage_hides_it(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    strike(LOST_REQUEST, 1);
    world.then = then_spoil_the_limits;
    struct ts_split_residual_result residual;
    const struct ts_split_residual_op cut = {{tenant, view.lease, new_op()},
                                             {.spec.range.start = BYTES("g")}};
    assert_int_equal(ts_coord_split_residual(coord, &cut, NULL, &residual, &outcome, &detail),
                     TS_SPLIT_BACKEND_ERROR);
    assert_int_equal(detail.infra.kind, TS_INFRA_UNKNOWN);
    strike(LOST_REQUEST, 1);
    world.then = then_spoil_the_shard;
    assert_int_equal(checkpoint(coord, new_op(), "c"), TS_CHECKPOINT_BACKEND_ERROR);
    assert_int_equal(detail.infra.kind, TS_INFRA_UNKNOWN);
}

static void the_end_of_a_run_is_unknown_when_damage_hides_it(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    strike(LOST_REQUEST, 1);
    world.then = then_spoil_the_run;
    assert_int_equal(end_run(coord, TS_RUN_OP_FAIL_RUN, new_op()), TS_RUN_TRANSITION_BACKEND_ERROR);
    assert_int_equal(detail.infra.kind, TS_INFRA_UNKNOWN);
}

static void expect_late(uint64_t deadline_ms) {
    assert_int_equal(detail.deadline.ms, deadline_ms);
    assert_true(detail.now.ms >= deadline_ms);
    memset(&detail, 0, sizeof detail);
}

/* If a write is refused as late, the call writes up to three times before the lease counts as lost, because the
 * deadline may have moved meanwhile. */
static void a_late_call_is_repeated_a_few_times(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    strike_with(TS_STORE_LATE, 2);
    assert_int_equal(checkpoint(coord, new_op(), "c"), TS_CHECKPOINT_OK);
    assert_int_equal(world.applies, 3);
    strike_with(TS_STORE_LATE, 3);
    assert_int_equal(checkpoint(coord, new_op(), "d"), TS_CHECKPOINT_LEASE_EXPIRED);
    assert_int_equal(world.applies, 3);
    strike(NONE, 0);
    audit();
}

/* A call that finds no record asks the store whether the record is being created. This question changes
 * nothing. */
static void a_lost_reply_to_a_read_is_not_unknown(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    strike(LOST_REPLY, 1);
    assert_int_equal(acquire(coord, 77), TS_ACQUIRE_SHARD_NOT_FOUND);
    assert_int_equal(world.applies, 2);
    strike(LOST_REPLY, 1000);
    assert_int_equal(acquire(coord, 77), TS_ACQUIRE_BACKEND_ERROR);
    assert_int_equal(detail.infra.kind, TS_INFRA_RETRYABLE);
    strike(NONE, 0);
    audit();
}

/* The store refuses the batch as late, although the batch was in time when the call read the store's time. */
static void a_late_batch_is_reported_with_the_deadline(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    const uint64_t deadline_ms = ts_lease_deadline(&view.lease).ms;
    strike_with(TS_STORE_LATE, 1000);
    assert_int_equal(checkpoint(coord, new_op(), "c"), TS_CHECKPOINT_LEASE_EXPIRED);
    expect_late(deadline_ms);
    const struct ts_cursor_op last = cursor_op(new_op(), "c");
    assert_int_equal(ts_coord_complete(coord, &last, NULL, &outcome, &detail), TS_COMPLETE_LEASE_EXPIRED);
    expect_late(deadline_ms);
    const struct ts_park_op park = {{tenant, view.lease, new_op()}, TS_PARK_OTHER};
    assert_int_equal(ts_coord_park(coord, &park, NULL, &outcome, &detail), TS_PARK_LEASE_EXPIRED);
    expect_late(deadline_ms);
    struct ts_lease lease = view.lease;
    struct ts_renew_result renewed;
    const struct ts_renew_op renew = {tenant, lease};
    assert_int_equal(ts_coord_renew(coord, &renew, NULL, &lease, &renewed, &detail), TS_RENEW_LEASE_EXPIRED);
    expect_late(deadline_ms);
    struct ts_split_residual_result residual;
    const struct ts_split_residual_op cut = {{tenant, view.lease, new_op()},
                                             {.spec.range.start = BYTES("g")}};
    assert_int_equal(ts_coord_split_residual(coord, &cut, NULL, &residual, &outcome, &detail),
                     TS_SPLIT_LEASE_EXPIRED);
    expect_late(deadline_ms);
    strike(NONE, 0);
    audit();
}

static enum ts_claim_error claim(struct ts_coord *by) {
    const struct ts_coord_claim_op op = {.tenant = tenant, .run = run, .worker = worker};
    return ts_coord_claim_next_available(by, &op, &scratch, &view, &detail);
}

/* A competitor that acquires every shard just before the claim writes the shard. There are at most MANY
 * shards. */
enum { MANY = 160 };
static unsigned neighbour_takes;
static uint64_t taken_by_neighbour[MANY];
static unsigned taken_count;

static void neighbour_takes_it(void) {
    static struct ts_acquire_scratch theirs;
    struct ts_acquire_result_view ignored_view;
    struct ts_coord_detail ignored;
    struct ts_acquire_op op = {tenant, {run, {writing}}, worker};
    ts_acquire_scratch_init(&theirs);
    assert_int_equal(ts_coord_acquire(others, &op, &theirs, &ignored_view, &ignored), TS_ACQUIRE_OK);
    taken_by_neighbour[taken_count++] = writing;
    if (--neighbour_takes > 0)
        world.between = neighbour_takes_it;
}

static void make_many(void) {
    static struct ts_new_shard many[MANY];
    static char keys[MANY + 1][8];
    for (size_t i = 0; i <= MANY; i++)
        snprintf(keys[i], sizeof keys[i], "%05zu", i);
    for (size_t i = 0; i < MANY; i++)
        many[i] = (struct ts_new_shard){
            .has_id = true,
            .id = {i + 1},
            .spec.range = {ts_bytes_of_cstring(keys[i]), ts_bytes_of_cstring(keys[i + 1])}};
    const struct ts_create_run_op create = {.tenant = tenant, .run = run, .config = config()};
    const struct ts_register_op registered = {
        .tenant = tenant, .run = run, .op_id = new_op(), .shards = {many, MANY}};
    assert_int_equal(ts_coord_create_run_with_shards(coord, &create, &registered, &memory, &outcome, &detail),
                     TS_CREATE_RUN_OK);
    taken_count = 0;
}

static void a_claim_continues_while_others_take_all_that_it_has_seen(void **state) {
    (void)state;
    make_many();
    neighbour_takes = 2 * 64; /* twice as many as one look finds */
    world.between = neighbour_takes_it;
    assert_int_equal(claim(coord), TS_CLAIM_OK);
    assert_int_equal(taken_count, 2 * 64);
    audit();
}

static void a_claim_that_finds_another_worker_tries_elsewhere(void **state) {
    (void)state;
    make_many();
    neighbour_takes = 8;
    world.between = neighbour_takes_it;
    assert_int_equal(claim(coord), TS_CLAIM_OK);
    /* The claim must not try shards in the order of their ids. So few of the shards that the competitor takes
     * are neighbours. */
    unsigned neighbours = 0;
    for (unsigned i = 1; i < taken_count; i++)
        neighbours += taken_by_neighbour[i] == taken_by_neighbour[i - 1] + 1;
    assert_in_range(neighbours, 0, 3);
    audit();
}

static void a_lease_is_claimed_at_its_deadline_and_not_before(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    assert_int_equal(claim(coord), TS_CLAIM_OK);
    assert_int_equal(claim(coord), TS_CLAIM_OK);
    const uint64_t deadline_ms = ts_lease_deadline(&view.lease).ms;
    now_ms = deadline_ms - 1;
    assert_int_equal(claim(coord), TS_CLAIM_NONE_AVAILABLE);
    assert_int_equal(detail.deadline.ms, deadline_ms);
    now_ms = deadline_ms;
    assert_int_equal(claim(coord), TS_CLAIM_OK);
    assert_int_equal(ts_lease_fence(&view.lease).v, 2);
    assert_int_equal(view.capacity.available_count, 1);
    audit();
}

/* Another run of the tenant takes the last place that the limit allows. The two runs share only the tenant's
 * counter. */
static void others_take_the_last_place(void) {
    static const struct ts_new_shard one[] = {{.spec.range = {BYTES("b"), BYTES("c")}}};
    static struct ts_manifest_memory theirs;
    struct ts_coord_outcome ignored_outcome;
    struct ts_coord_detail ignored;
    const struct ts_create_run_op create = {.tenant = tenant, .run = {8}, .config = config()};
    const struct ts_register_op registered = {
        .tenant = tenant, .run = {8}, .op_id = {999999}, .shards = {one, 1}};
    assert_int_equal(
        ts_coord_create_run_with_shards(others, &create, &registered, &theirs, &ignored_outcome, &ignored),
        TS_CREATE_RUN_OK);
}

static void the_last_place_is_given_once(void **state) {
    (void)state;
    struct ts_coord *limited =
        ts_coord_new_over(&(struct ts_coord_io){.context = &our_store,
                                                .router = ts_cluster_router(world.cluster),
                                                .place_count = 1,
                                                .call = run_calls,
                                                .txn = one_store_txn,
                                                .elapsed_ms = elapsed,
                                                .pause_ms = pause_for},
                          &(struct ts_coord_options){.seed = 3, .tenant_shard_max = 3});
    assert_non_null(limited);
    assert_int_equal(make_run(limited, new_op()), TS_CREATE_RUN_OK);
    world.between = others_take_the_last_place;
    const struct ts_register_op more = {
        .tenant = tenant,
        .run = run,
        .op_id = new_op(),
        .shards = {&(struct ts_new_shard){.spec.range = {BYTES("p"), BYTES("z")}}, 1}};
    assert_int_equal(ts_coord_register_shards(limited, &more, &memory, &outcome, &detail),
                     TS_REGISTER_SHARDS_SHARD_LIMIT_EXCEEDED);
    assert_int_equal(detail.limit.current, 3);
    ts_coord_free(limited);
    struct ts_shard_limits limits;
    assert_int_equal(ts_coord_limits(coord, &tenant, &limits, &detail), TS_GET_RUN_OK);
    assert_int_equal(limits.tenant.current, 3);
}

static void time_runs_on(void) {
    now_ms += 15000;
    world.between = time_runs_on;
}

static void a_slow_call_is_tried_less_often(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    strike(LOST_REQUEST, 1000);
    world.between = time_runs_on;
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_BACKEND_ERROR);
    assert_int_equal(detail.infra.kind, TS_INFRA_UNKNOWN);
    assert_int_equal(world.applies, 3);
}

/* retry.max_retries is 3, and the first retry is immediate. */
static void the_transaction_repeats_after_a_temporary_failure(void **state) {
    (void)state;
    assert_int_equal(make_run(coord, new_op()), TS_CREATE_RUN_OK);
    strike_with(TS_STORE_BUSY, 3);
    assert_int_equal(acquire(coord, 1), TS_ACQUIRE_OK);
    assert_int_equal(world.applies, 4);
    assert_int_equal(our_store.sleeps, 2);
    assert_int_equal(world.reads, 3); /* one read of record and guard, two reads of the capacity */
    assert_int_equal(world.pauses, 0);
    strike_with(TS_STORE_UNAVAILABLE, 4);
    assert_int_equal(checkpoint(coord, new_op(), "c"), TS_CHECKPOINT_BACKEND_ERROR);
    assert_int_equal(detail.infra.kind, TS_INFRA_RETRYABLE);
    assert_int_equal(world.applies, 4);
    strike_with(TS_STORE_LOCK_CONFLICT, 9);
    assert_int_equal(checkpoint(coord, new_op(), "c"), TS_CHECKPOINT_OK);
    assert_int_equal(world.applies, 10);
    audit();
}

/* The first claim's cooldown is written after the second claim's cooldown. */
static void a_cooldown_that_is_written_late_does_not_shorten_a_later_one(void **state) {
    (void)state;
    struct ts_run_config cool = config();
    cool.cooldown_ms = 1000;
    const struct ts_create_run_op create = {.tenant = tenant, .run = run, .config = cool};
    const struct ts_register_op registered = {
        .tenant = tenant, .run = run, .op_id = new_op(), .shards = {shards, 2}};
    assert_int_equal(
        ts_coord_create_run_with_shards(others, &create, &registered, &memory, &outcome, &detail),
        TS_CREATE_RUN_OK);
    strike(HELD_UP, 1);
    world.spared = 1; /* the acquire writes once before the fault */
    assert_int_equal(claim(coord), TS_CLAIM_OK);
    assert_int_equal(world.times, 0);
    strike(NONE, 0);
    now_ms += 500;
    assert_int_equal(claim(coord), TS_CLAIM_OK);
    struct ts_call late = {.kind = TS_CALL_APPLY, .batch = {held.ops, held.count}};
    (void)ts_store_run(ts_cluster_store(world.cluster, held.place), &late);
    now_ms += 600;
    assert_int_equal(claim(coord), TS_CLAIM_THROTTLED);
    assert_int_equal(detail.retry_after.ms, now_ms + 400);
}

enum { DELETED = 600 };

static void make_large_run(void) {
    static struct ts_new_shard many[DELETED];
    static char keys[DELETED + 1][8];
    for (size_t i = 0; i <= DELETED; i++)
        snprintf(keys[i], sizeof keys[i], "%06zu", i);
    for (size_t i = 0; i < DELETED; i++)
        many[i] = (struct ts_new_shard){
            .has_id = true,
            .id = {i + 1},
            .spec.range = {ts_bytes_of_cstring(keys[i]), ts_bytes_of_cstring(keys[i + 1])}};
    const struct ts_create_run_op create = {.tenant = tenant, .run = run, .config = config()};
    const struct ts_register_op registered = {
        .tenant = tenant, .run = run, .op_id = new_op(), .shards = {many, DELETED}};
    assert_int_equal(
        ts_coord_create_run_with_shards(others, &create, &registered, &memory, &outcome, &detail),
        TS_CREATE_RUN_OK);
    assert_int_equal(acquire(others, 3), TS_ACQUIRE_OK);
    assert_int_equal(end_run(others, TS_RUN_OP_CANCEL_RUN, new_op()), TS_RUN_TRANSITION_OK);
}

static enum ts_delete_run_error delete_run(struct ts_coord *by, struct ts_coord_deleted *ret_deleted) {
    const struct ts_coord_run_query query = {tenant, run};
    return ts_coord_delete_run(by, &query, ret_deleted, &detail);
}

/* 600 shards are three batches; the fourth write deletes the run itself. */
static void a_stopped_deletion_continues_where_it_was(void **state) {
    (void)state;
    for (unsigned stopped_at = 0; stopped_at < 4; stopped_at++) {
        make_large_run();
        struct ts_coord_deleted first = {0}, rest = {0};
        strike_with(TS_STORE_UNAVAILABLE, 1000);
        world.spared = stopped_at;
        assert_int_equal(delete_run(coord, &first), TS_DELETE_RUN_BACKEND_ERROR);
        assert_int_equal(world.applies, stopped_at + 4); /* including three retries of the write that fails */
        /* The remaining part is consistent and visible, and the run cannot be created again while it exists. */
        audit();
        assert_int_equal(make_run(others, new_op()), TS_CREATE_RUN_REGISTER_SHARDS_FAILED);
        struct ts_shard_counts counts;
        const struct ts_coord_run_query query = {tenant, run};
        assert_int_equal(ts_coord_run_counts(others, &query, &counts, &detail), TS_GET_RUN_OK);
        const uint64_t left = stopped_at < 3 ? DELETED - stopped_at * 256 : 0;
        assert_int_equal(counts.active, left);
        strike(NONE, 0);
        assert_int_equal(delete_run(coord, &rest), TS_DELETE_RUN_OK);
        assert_true(rest.was_there);
        assert_int_equal(rest.shards, left);
        struct ts_run_record record;
        assert_int_equal(ts_coord_get_run(others, &query, &record, &detail), TS_GET_RUN_RUN_NOT_FOUND);
    }
}

static void a_deletion_whose_replies_are_lost_is_found_done(void **state) {
    (void)state;
    for (unsigned lost = 0; lost < 4; lost++) {
        make_large_run();
        struct ts_coord_deleted deleted = {0};
        strike(LOST_REPLY, 1);
        world.spared = lost;
        assert_int_equal(delete_run(coord, &deleted), TS_DELETE_RUN_OK);
        assert_true(deleted.was_there);
        /* A call that finds no run waits, in case the run is being created. This wait makes one further
         * write. */
        assert_int_equal(world.applies, lost < 3 ? 4 : 5);
        strike(NONE, 0);
        assert_int_equal(delete_run(others, &deleted), TS_DELETE_RUN_OK);
        assert_false(deleted.was_there);
    }
}

static void others_replace_the_run(void) {
    struct ts_coord_deleted deleted;
    assert_int_equal(delete_run(others, &deleted), TS_DELETE_RUN_OK);
    assert_int_equal(make_run(others, new_op()), TS_CREATE_RUN_OK);
}

/* Another process deletes the run and creates a new run with the same id. The new run must not be deleted. */
static void a_deletion_never_touches_a_new_run_of_the_same_id(void **state) {
    (void)state;
    for (unsigned batch = 0; batch < 4; batch++) {
        make_large_run();
        struct ts_coord_deleted deleted = {0};
        strike(NONE, 0);
        before_write = batch;
        world.between = others_replace_the_run;
        assert_int_equal(delete_run(coord, &deleted), TS_DELETE_RUN_WRONG_STATUS);
        assert_null(world.between);
        audit();
        struct ts_shard_counts counts;
        const struct ts_coord_run_query query = {tenant, run};
        assert_int_equal(ts_coord_run_counts(others, &query, &counts, &detail), TS_GET_RUN_OK);
        assert_int_equal(counts.active, 2);
        assert_int_equal(end_run(others, TS_RUN_OP_CANCEL_RUN, new_op()), TS_RUN_TRANSITION_OK);
        assert_int_equal(delete_run(others, &deleted), TS_DELETE_RUN_OK);
    }
}

/* The run is replaced after the deletion has read the guard and before the deletion reads the shards. So the
 * deletion reads shards of the new run. */
static void a_deletion_does_not_mistake_new_shards_for_old_ones(void **state) {
    (void)state;
    make_large_run();
    struct ts_coord_deleted deleted = {0};
    strike(NONE, 0);
    world.before_read = 3;
    world.then_read = others_replace_the_run;
    assert_int_equal(delete_run(coord, &deleted), TS_DELETE_RUN_WRONG_STATUS);
    assert_int_equal(deleted.shards, 0);
    audit();
    struct ts_shard_counts counts;
    const struct ts_coord_run_query query = {tenant, run};
    assert_int_equal(ts_coord_run_counts(others, &query, &counts, &detail), TS_GET_RUN_OK);
    assert_int_equal(counts.active, 2);
}

static void another_deletion_is_stopped_after_a_batch(void) {
    struct ts_coord_deleted deleted;
    strike_with(TS_STORE_UNAVAILABLE, 1000);
    world.spared = 1;
    assert_int_equal(delete_run(coord, &deleted), TS_DELETE_RUN_BACKEND_ERROR);
    strike(NONE, 0);
}

static void shards_that_another_deletion_has_deleted_are_not_counted_down_again(void **state) {
    (void)state;
    make_large_run();
    struct ts_coord_deleted deleted = {0};
    world.between = another_deletion_is_stopped_after_a_batch;
    assert_int_equal(delete_run(coord, &deleted), TS_DELETE_RUN_OK);
    assert_int_equal(deleted.shards, DELETED - 256);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fresh, clean)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_checkpoint_of_a_session_is_one_call),
        TEST(an_operation_whose_reply_is_lost_is_found_done),
        TEST(a_run_whose_reply_is_lost_is_recognized_by_its_creator),
        TEST(an_operation_whose_request_is_lost_is_done_once),
        TEST(an_acquire_of_a_namesake_is_not_mistaken_for_the_workers_own),
        TEST(a_lasting_unknown_is_reported),
        TEST(a_record_that_others_have_changed_is_read_again),
        TEST(nothing_becomes_active_while_a_run_ends),
        TEST(no_shard_moves_once_its_run_has_ended),
        TEST(shards_of_others_count_when_a_run_ends),
        TEST(a_lease_that_ends_on_the_way_is_expired),
        TEST(failures_have_their_kinds),
        TEST(one_that_may_have_been_done_is_unknown_however_it_ends),
        TEST(an_acquire_whose_first_try_arrives_late_belongs_to_the_worker),
        TEST(one_that_may_have_been_done_is_unknown_when_damage_hides_it),
        TEST(the_end_of_a_run_is_unknown_when_damage_hides_it),
        TEST(a_late_batch_is_reported_with_the_deadline),
        TEST(a_late_call_is_repeated_a_few_times),
        TEST(a_lost_reply_to_a_read_is_not_unknown),
        TEST(a_claim_continues_while_others_take_all_that_it_has_seen),
        TEST(a_claim_that_finds_another_worker_tries_elsewhere),
        TEST(a_lease_is_claimed_at_its_deadline_and_not_before),
        TEST(the_last_place_is_given_once),
        TEST(the_transaction_repeats_after_a_temporary_failure),
        TEST(a_slow_call_is_tried_less_often),
        TEST(a_cooldown_that_is_written_late_does_not_shorten_a_later_one),
        TEST(a_stopped_deletion_continues_where_it_was),
        TEST(a_deletion_whose_replies_are_lost_is_found_done),
        TEST(shards_that_another_deletion_has_deleted_are_not_counted_down_again),
        TEST(a_deletion_does_not_mistake_new_shards_for_old_ones),
        TEST(a_deletion_never_touches_a_new_run_of_the_same_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
