/*
 * Tests the time between the commit point of a transaction and its last commit, when one store shows a change
 * that another does not show yet. Commits to one store are held back until a resolver commits there.
 * Meanwhile other calls read and end runs, and repeat operations.
 */
#include "coord/driver/coord.h"
#include "store/contract/engine.h"
#include "store/local/memory.h"
#include "support/cmocka.h"
#include "support/still_time.h"
#include "txn/virtual/virtual.h"

#include <string.h>

enum { PLACES = 2, SHARDS = 6, LEASE_MS = 5000 };

static struct ts_store *stores[PLACES];
static struct ts_router router;
static struct ts_txn_virtual *coordinator;
static struct ts_coord *coord;
static uint32_t held_back;   /* place of the store whose commits are held back; PLACES: none */
static bool answers_unknown; /* the next transaction takes long and ends as UNKNOWN */
static struct ts_tenant_id tenant;
static struct ts_worker_id worker;
static const struct ts_run_id run = {7};
static struct ts_coord_detail detail;
static struct ts_coord_outcome outcome;
static struct ts_acquire_scratch scratch;
static struct ts_acquire_result_view view;
static struct ts_manifest_memory memory;
static uint64_t last_op;

/* ---- calls that wait for nothing ---- */

static void run_now(uint32_t place, struct ts_call *call) {
    if (call->kind == TS_CALL_COMMIT && place == held_back) {
        call->error = (struct ts_store_error){.result = TS_STORE_UNKNOWN, .op = SIZE_MAX};
        call->done = true;
        return;
    }
    ts_store_start(stores[place], call);
    if (!call->done && !ts_store_poll(call))
        ts_store_cancel(call);
}

static void start(void *context, uint32_t place, struct ts_call *call) {
    (void)context;
    run_now(place, call);
}

static void wait_for(void *context, struct ts_call *const *calls, size_t count) {
    (void)context;
    (void)calls;
    (void)count;
    fail_msg("every call is done at once");
}

static bool never_again(void *context) {
    (void)context;
    return false;
}

/* Total time of the backoffs of transactions. Time passes only during backoffs. */
static uint64_t slept_us;

static uint64_t now_us(void *context) {
    (void)context;
    return slept_us;
}

static void sleep_us(void *context, uint64_t us) {
    (void)context;
    slept_us += us;
}

static const struct ts_txn_virtual_io txn_io = {.place_count = PLACES,
                                                .start = start,
                                                .wait = wait_for,
                                                .pause = never_again,
                                                .now_us = now_us,
                                                .sleep_us = sleep_us};

static void io_call(void *context, struct ts_coord_call *calls, size_t count) {
    (void)context;
    for (size_t i = 0; i < count; i++)
        run_now(calls[i].place, &calls[i].call);
}

/* Runs a transaction. The store whose commits are held back is never the decider. */
static void io_txn(void *context, const struct ts_txn_part *parts, size_t count,
                   struct ts_txn_result *ret_result) {
    (void)context;
    ts_txn_virtual_run(coordinator, parts, count, count > 1 && parts[0].place == held_back ? 1 : 0,
                       ret_result);
    if (answers_unknown) {
        answers_unknown = false;
        ret_result->outcome = TS_TXN_UNKNOWN;
        now_ms += UINT64_C(2) * LEASE_MS;
    }
}

static uint64_t io_elapsed(void *context) {
    (void)context;
    return now_ms;
}

static void io_pause(void *context, uint64_t ms) {
    (void)context;
    (void)ms;
}

static void resolve(void) {
    struct ts_txn_virtual_pass pass;
    held_back = PLACES;
    ts_txn_virtual_resolve(&txn_io, &pass);
    assert_int_equal(pass.stuck + pass.left, 0);
}

/* ---- a run ---- */

static struct ts_op_id new_op(void) {
    return (struct ts_op_id){++last_op};
}

static const struct ts_new_shard shards[SHARDS] = {
    {.has_id = true, .id = {1}, .spec = {.range = {TS_BYTES_INIT("a"), TS_BYTES_INIT("c")}}},
    {.has_id = true, .id = {2}, .spec = {.range = {TS_BYTES_INIT("c"), TS_BYTES_INIT("e")}}},
    {.has_id = true, .id = {3}, .spec = {.range = {TS_BYTES_INIT("e"), TS_BYTES_INIT("g")}}},
    {.has_id = true, .id = {4}, .spec = {.range = {TS_BYTES_INIT("g"), TS_BYTES_INIT("i")}}},
    {.has_id = true, .id = {5}, .spec = {.range = {TS_BYTES_INIT("i"), TS_BYTES_INIT("k")}}},
    {.has_id = true, .id = {6}, .spec = {.range = {TS_BYTES_INIT("k"), TS_BYTES_INIT("m")}}},
};

static void create(void) {
    struct ts_create_run_op op = {.tenant = tenant, .run = run, .config = ts_run_config_default()};
    op.config.lease_duration_ms = LEASE_MS;
    op.config.attempts = 0;
    const struct ts_register_op list = {
        .tenant = tenant, .run = run, .op_id = new_op(), .shards = {shards, SHARDS}};
    assert_int_equal(ts_coord_create_run_with_shards(coord, &op, &list, &memory, &outcome, &detail),
                     TS_CREATE_RUN_OK);
}

static struct ts_lease_op acquire(struct ts_shard_id shard) {
    const struct ts_acquire_op op = {.tenant = tenant, .shard = {run, shard}, .worker = worker};
    assert_int_equal(ts_coord_acquire(coord, &op, &scratch, &view, &detail), TS_ACQUIRE_OK);
    return (struct ts_lease_op){.tenant = tenant, .lease = view.lease, .op_id = new_op()};
}

static uint32_t place_of(struct ts_shard_id shard) {
    return ts_coord_place_of_shard(coord, shard);
}

/* The places of the shard that is split, and of the shards that the split makes. */
struct split_places {
    uint32_t parent;
    uint32_t children;
};

static struct ts_split_replace_op split_op(struct split_places places) {
    static const char middles[SHARDS] = {'b', 'd', 'f', 'h', 'j', 'l'};
    static struct ts_new_shard children[2];
    for (size_t i = 0; i < SHARDS; i++) {
        if (place_of(shards[i].id) != places.parent)
            continue;
        children[0] = children[1] = (struct ts_new_shard){.spec = shards[i].spec};
        children[0].spec.range.end = children[1].spec.range.start = ts_bytes_of(&middles[i], 1);
        for (;;) {
            const struct ts_split_replace_op op = {.by = acquire(shards[i].id), .children = {children, 2}};
            const struct ts_shard_key parent = {run, shards[i].id};
            const struct ts_shard_id first = ts_derived_shard_id(parent, op.by.op_id, TS_DERIVED_CHILD, 0),
                                     second = ts_derived_shard_id(parent, op.by.op_id, TS_DERIVED_CHILD, 1);
            if (place_of(first) == places.children && place_of(second) == places.children)
                return op;
            now_ms += LEASE_MS + 1; /* ends the lease; the next acquire has another op id */
        }
    }
    fail_msg("no shard on that store");
    return (struct ts_split_replace_op){0};
}

static enum ts_run_transition_error end_run(enum ts_run_op_kind kind, struct ts_op_id op_id) {
    const struct ts_end_run_op op = {.tenant = tenant, .run = run, .op_id = op_id, .kind = kind};
    return ts_coord_end_run(coord, &op, &outcome, &detail);
}

static int set_up(void **state) {
    (void)state;
    now_ms = 1000000;
    held_back = PLACES;
    answers_unknown = false;
    last_op = 0;
    for (uint32_t i = 0; i < PLACES; i++) {
        stores[i] = ts_memory_open_new("committing", &test_clock);
        assert_non_null(stores[i]);
    }
    assert_int_equal(ts_router_init_hash(TS_ROUTER_STRATEGY_XXH64, PLACES, &router, NULL), TS_ROUTER_OK);
    assert_true(ts_tenant_id_from_text(TS_BYTES("acme"), &tenant));
    assert_true(ts_worker_id_from_text(TS_BYTES("w1"), &worker));
    coordinator = ts_txn_virtual_new(&txn_io, &(struct ts_txn_virtual_options){.uuid = {1}, .total_ms = 1});
    const struct ts_coord_io io = {.router = &router,
                                   .place_count = PLACES,
                                   .call = io_call,
                                   .txn = io_txn,
                                   .elapsed_ms = io_elapsed,
                                   .pause_ms = io_pause};
    coord = ts_coord_new_over(&io, &(struct ts_coord_options){.tries_max = 4, .seed = 1});
    assert_non_null(coordinator);
    assert_non_null(coord);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ts_coord_free(coord);
    ts_txn_virtual_free(coordinator);
    for (uint32_t i = 0; i < PLACES; i++)
        ts_store_close(stores[i]);
    return 0;
}

/* ---- answers that would be wrong ---- */

static void test_a_run_that_is_being_made_is_not_damaged(void **state) {
    (void)state;
    held_back = 1;
    create();
    assert_int_equal(end_run(TS_RUN_OP_COMPLETE_RUN, new_op()), TS_RUN_TRANSITION_BACKEND_ERROR);
    assert_int_equal(detail.infra.kind, TS_INFRA_RETRYABLE);
    resolve();
    assert_int_equal(end_run(TS_RUN_OP_COMPLETE_RUN, new_op()), TS_RUN_TRANSITION_WRONG_STATUS);
}

static void test_a_repeated_split_does_not_collide_with_itself(void **state) {
    (void)state;
    create();
    const struct ts_split_replace_op op = split_op((struct split_places){.parent = 1, .children = 0});
    struct ts_split_replace_result first, again;
    held_back = 1; /* hold back the parent's store */
    assert_int_equal(ts_coord_split_replace(coord, &op, NULL, &first, &outcome, &detail), TS_SPLIT_OK);
    assert_int_equal(ts_coord_split_replace(coord, &op, NULL, &again, &outcome, &detail),
                     TS_SPLIT_BACKEND_ERROR);
    assert_int_equal(detail.infra.kind, TS_INFRA_UNKNOWN);
    resolve();
    assert_int_equal(ts_coord_split_replace(coord, &op, NULL, &again, &outcome, &detail), TS_SPLIT_OK);
    assert_int_equal(outcome.outcome, TS_OUTCOME_REPLAYED);
    assert_int_equal(again.count, first.count);
    assert_memory_equal(again.children, first.children, first.count * sizeof first.children[0]);
}

static void test_an_unknown_split_is_not_refused_for_a_lease_that_ends_meanwhile(void **state) {
    (void)state;
    create();
    const struct ts_split_replace_op op = split_op((struct split_places){.parent = 1, .children = 1});
    struct ts_split_replace_result result;
    held_back = 1; /* only the parent's old record is visible */
    answers_unknown = true;
    assert_int_equal(ts_coord_split_replace(coord, &op, NULL, &result, &outcome, &detail),
                     TS_SPLIT_BACKEND_ERROR);
    assert_int_equal(detail.infra.kind, TS_INFRA_UNKNOWN);
    resolve();
    assert_int_equal(ts_coord_split_replace(coord, &op, NULL, &result, &outcome, &detail), TS_SPLIT_OK);
    assert_int_equal(outcome.outcome, TS_OUTCOME_REPLAYED);
}

static enum ts_delete_run_error delete_run(bool *ret_was_there) {
    struct ts_coord_deleted deleted = {0};
    const enum ts_delete_run_error error =
        ts_coord_delete_run(coord, &(struct ts_coord_run_query){tenant, run}, &deleted, &detail);
    *ret_was_there = deleted.was_there;
    return error;
}

static void expect_clean(void) {
    struct ts_coord_audit audit;
    assert_int_equal(ts_coord_audit_run(coord, &(struct ts_coord_run_query){tenant, run}, &audit, &detail),
                     TS_GET_RUN_OK);
    assert_true(ts_coord_audit_is_clean(&audit));
}

static void test_a_run_is_not_deleted_before_it_has_ended_on_every_store(void **state) {
    (void)state;
    bool was_there;
    create();
    held_back = 1;
    assert_int_equal(end_run(TS_RUN_OP_CANCEL_RUN, new_op()), TS_RUN_TRANSITION_OK);
    assert_int_equal(delete_run(&was_there), TS_DELETE_RUN_BACKEND_ERROR);
    assert_int_equal(detail.infra.kind, TS_INFRA_RETRYABLE);
    resolve();
    expect_clean();
    assert_int_equal(delete_run(&was_there), TS_DELETE_RUN_OK);
    assert_true(was_there);
    create();
    expect_clean();
}

static void test_a_run_whose_deletion_is_being_committed_is_gone(void **state) {
    (void)state;
    bool was_there;
    create();
    assert_int_equal(end_run(TS_RUN_OP_CANCEL_RUN, new_op()), TS_RUN_TRANSITION_OK);
    held_back = 1;
    assert_int_equal(delete_run(&was_there), TS_DELETE_RUN_OK);
    assert_true(was_there);
    assert_int_equal(delete_run(&was_there), TS_DELETE_RUN_OK);
    assert_false(was_there);
    resolve();
    create();
    expect_clean();
}

static void test_a_run_does_not_end_before_the_children_of_a_split_are_made(void **state) {
    (void)state;
    create();
    const struct ts_split_replace_op op = split_op((struct split_places){.parent = 0, .children = 1});
    struct ts_split_replace_result result;
    held_back = 1; /* hold back the children's store */
    assert_int_equal(ts_coord_split_replace(coord, &op, NULL, &result, &outcome, &detail), TS_SPLIT_OK);
    const struct ts_op_id end = new_op();
    assert_int_equal(end_run(TS_RUN_OP_CANCEL_RUN, end), TS_RUN_TRANSITION_BACKEND_ERROR);
    resolve();
    assert_int_equal(end_run(TS_RUN_OP_CANCEL_RUN, end), TS_RUN_TRANSITION_OK);
    expect_clean();
}

static void test_a_run_does_not_end_before_registered_shards_are_made(void **state) {
    (void)state;
    create();
    struct ts_new_shard more = {.has_id = true, .id = {100}, .spec = shards[0].spec};
    while (place_of(more.id) != 1)
        more.id.v++;
    const struct ts_register_op op = {.tenant = tenant, .run = run, .op_id = new_op(), .shards = {&more, 1}};
    held_back = 1;
    assert_int_equal(ts_coord_register_shards(coord, &op, &memory, &outcome, &detail), TS_REGISTER_SHARDS_OK);
    const struct ts_op_id end = new_op();
    assert_int_equal(end_run(TS_RUN_OP_CANCEL_RUN, end), TS_RUN_TRANSITION_BACKEND_ERROR);
    resolve();
    assert_int_equal(end_run(TS_RUN_OP_CANCEL_RUN, end), TS_RUN_TRANSITION_OK);
}

static void test_nothing_is_registered_where_the_run_is_not_made_yet(void **state) {
    (void)state;
    held_back = 1;
    create();
    struct ts_new_shard more = {.has_id = true, .id = {100}, .spec = shards[0].spec};
    while (place_of(more.id) != 1)
        more.id.v++;
    const struct ts_register_op op = {.tenant = tenant, .run = run, .op_id = new_op(), .shards = {&more, 1}};
    assert_int_equal(ts_coord_register_shards(coord, &op, &memory, &outcome, &detail),
                     TS_REGISTER_SHARDS_BACKEND_ERROR);
    assert_int_equal(detail.infra.kind, TS_INFRA_RETRYABLE);
    resolve();
    assert_int_equal(ts_coord_register_shards(coord, &op, &memory, &outcome, &detail), TS_REGISTER_SHARDS_OK);
}

/* The answer must be retryable, never "not found", because the change is committed. */
static void expect_being_made(void) {
    assert_int_equal(detail.infra.kind, TS_INFRA_RETRYABLE);
    detail = (struct ts_coord_detail){0};
}

static void see(void *context, const struct ts_coord_shard_view *shard) {
    (void)context;
    (void)shard;
}

static enum ts_get_shard_error look_at(struct ts_shard_id shard) {
    const struct ts_coord_shard_ref ref = {tenant, {run, shard}};
    return ts_coord_get_shard(coord, &ref, see, NULL, &detail);
}

static void test_a_run_in_creation_is_never_reported_as_missing(void **state) {
    (void)state;
    for (held_back = 0; held_back < PLACES; held_back++) {
        const uint32_t late = held_back;
        assert_int_equal(tear_down(NULL) + set_up(NULL), 0);
        held_back = late;
        create();
        unsigned waited = 0;
        for (char name[] = "w0"; name[1] <= '9'; name[1]++) {
            struct ts_coord_claim_op op = {.tenant = tenant, .run = run};
            assert_true(ts_worker_id_from_text(ts_bytes_of(name, 2), &op.worker));
            const enum ts_claim_error error =
                ts_coord_claim_next_available(coord, &op, &scratch, &view, &detail);
            assert_int_not_equal(error, TS_CLAIM_RUN_NOT_FOUND);
            if (error != TS_CLAIM_BACKEND_ERROR)
                continue;
            expect_being_made();
            waited++;
        }
        assert_in_range(waited, 1, 9); /* only some of the ten workers claim on the store `late` first */
        for (size_t i = 0; i < SHARDS; i++) {
            const struct ts_acquire_op op = {
                .tenant = tenant, .shard = {run, shards[i].id}, .worker = worker};
            if (place_of(shards[i].id) != late)
                continue;
            assert_int_equal(ts_coord_acquire(coord, &op, &scratch, &view, &detail),
                             TS_ACQUIRE_BACKEND_ERROR);
            expect_being_made();
            assert_int_equal(look_at(shards[i].id), TS_GET_SHARD_BACKEND_ERROR);
            expect_being_made();
        }
        if (late == 0) {
            struct ts_run_record record;
            const struct ts_coord_run_query query = {tenant, run};
            assert_int_equal(ts_coord_get_run(coord, &query, &record, &detail), TS_GET_RUN_BACKEND_ERROR);
            expect_being_made();
            assert_int_equal(end_run(TS_RUN_OP_CANCEL_RUN, new_op()), TS_RUN_TRANSITION_BACKEND_ERROR);
            expect_being_made();
            const struct ts_register_op list = {
                .tenant = tenant, .run = run, .op_id = new_op(), .shards = {shards, 1}};
            assert_int_equal(ts_coord_register_shards(coord, &list, &memory, &outcome, &detail),
                             TS_REGISTER_SHARDS_BACKEND_ERROR);
            expect_being_made();
        }
        resolve();
        now_ms += LEASE_MS + 1;
        (void)acquire(shards[0].id);
        for (size_t i = 0; i < SHARDS; i++)
            assert_int_equal(look_at(shards[i].id), TS_GET_SHARD_OK);
        held_back = late;
    }
}

static void test_an_absent_run_is_not_found(void **state) {
    (void)state;
    struct ts_coord_claim_op claim = {.tenant = tenant, .run = run, .worker = worker};
    assert_int_equal(ts_coord_claim_next_available(coord, &claim, &scratch, &view, &detail),
                     TS_CLAIM_RUN_NOT_FOUND);
    assert_int_equal(end_run(TS_RUN_OP_CANCEL_RUN, new_op()), TS_RUN_TRANSITION_RUN_NOT_FOUND);
    create();
    const struct ts_acquire_op op = {.tenant = tenant, .shard = {run, {77}}, .worker = worker};
    assert_int_equal(ts_coord_acquire(coord, &op, &scratch, &view, &detail), TS_ACQUIRE_SHARD_NOT_FOUND);
    assert_int_equal(look_at((struct ts_shard_id){77}), TS_GET_SHARD_SHARD_NOT_FOUND);
    /* The wait for the key has created nothing. */
    struct ts_coord_audit audit;
    assert_int_equal(ts_coord_audit_run(coord, &(struct ts_coord_run_query){tenant, run}, &audit, &detail),
                     TS_GET_RUN_OK);
    assert_true(ts_coord_audit_is_clean(&audit));
    assert_int_equal(audit.counted.active, SHARDS);
}

static bool count_shards(void *context, const struct ts_coord_shard_view *shard) {
    (void)shard;
    ++*(size_t *)context;
    return true;
}

/* A list does not wait. It lacks exactly the records that are committed but still pending. */
static void test_a_list_misses_what_is_pending_and_only_that(void **state) {
    (void)state;
    create();
    struct ts_new_shard more[2] = {{.has_id = true, .id = {100}, .spec = shards[0].spec},
                                   {.has_id = true, .id = {200}, .spec = shards[1].spec}};
    for (uint32_t place = 0; place < PLACES; place++)
        while (place_of(more[place].id) != place)
            more[place].id.v++;
    const struct ts_register_op op = {.tenant = tenant, .run = run, .op_id = new_op(), .shards = {more, 2}};
    held_back = 1;
    assert_int_equal(ts_coord_register_shards(coord, &op, &memory, &outcome, &detail), TS_REGISTER_SHARDS_OK);
    const struct ts_coord_shard_query query = {.run = {tenant, run}};
    size_t listed = 0;
    struct ts_shard_counts counts;
    assert_int_equal(ts_coord_list_shards(coord, &query, count_shards, &listed, &detail), TS_GET_RUN_OK);
    assert_int_equal(listed, SHARDS + 1);
    assert_int_equal(ts_coord_run_counts(coord, &query.run, &counts, &detail), TS_GET_RUN_OK);
    assert_int_equal(counts.active, SHARDS + 1);
    resolve();
    listed = 0;
    assert_int_equal(ts_coord_list_shards(coord, &query, count_shards, &listed, &detail), TS_GET_RUN_OK);
    assert_int_equal(listed, SHARDS + 2);
    assert_int_equal(ts_coord_run_counts(coord, &query.run, &counts, &detail), TS_GET_RUN_OK);
    assert_int_equal(counts.active, SHARDS + 2);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_run_that_is_being_made_is_not_damaged),
        CASE(test_a_repeated_split_does_not_collide_with_itself),
        CASE(test_an_unknown_split_is_not_refused_for_a_lease_that_ends_meanwhile),
        CASE(test_a_run_does_not_end_before_the_children_of_a_split_are_made),
        CASE(test_a_run_is_not_deleted_before_it_has_ended_on_every_store),
        CASE(test_a_run_whose_deletion_is_being_committed_is_gone),
        CASE(test_a_run_does_not_end_before_registered_shards_are_made),
        CASE(test_nothing_is_registered_where_the_run_is_not_made_yet),
        CASE(test_a_run_in_creation_is_never_reported_as_missing),
        CASE(test_an_absent_run_is_not_found),
        CASE(test_a_list_misses_what_is_pending_and_only_that),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
