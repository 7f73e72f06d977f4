/*
 * Claims on one store whose time the test controls, while other workers act between a claim's reads and
 * writes. Tests that apply to every engine are in suite_claims.c.
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

enum { MANY = 400 };
#define LOOK     ((size_t)64) /* number of candidates in one look */
#define LEASE_MS UINT64_C(10000)

static struct ts_cluster *cluster;
static unsigned reads;         /* number of calls by `coord` that read */
static bool is_away;           /* the next call of `coord` gets no answer */
static void (*between)(void);  /* called once, before the next write of `coord` */
static uint64_t writing;       /* the shard that this write changes */
static struct ts_coord *coord; /* the coordination under test */
static struct ts_coord *others;
static struct ts_tenant_id tenant;
static const struct ts_run_id run = {7};
static struct ts_coord_detail detail;
static struct ts_coord_outcome outcome;
static struct ts_acquire_scratch scratch;
static struct ts_acquire_result_view view;
static struct ts_manifest_memory memory;
static uint64_t last_op;

static struct ts_op_id new_op(void) {
    return (struct ts_op_id){++last_op};
}

static struct ts_worker_id worker_named(const char *name) {
    struct ts_worker_id worker;
    assert_true(ts_worker_id_from_text(ts_bytes_of_cstring(name), &worker));
    return worker;
}

static void run_quietly(void *context, struct ts_coord_call *calls, size_t count) {
    (void)context;
    for (size_t i = 0; i < count; i++)
        (void)ts_store_run(ts_cluster_store(cluster, calls[i].place), &calls[i].call);
}

static void note_shard(const struct ts_batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        const struct ts_bytes key = batch->ops[i].key;
        if (batch->ops[i].kind == TS_OP_PUT && key.len == 19 && key.data[2] == 's')
            writing = ts_be64_load(key.data + 11);
    }
}

static void run_calls(void *context, struct ts_coord_call *calls, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (calls[i].call.kind == TS_CALL_APPLY) {
            void (*now)(void) = between;
            between = NULL;
            note_shard(&calls[i].call.batch);
            if (now != NULL)
                now();
        } else {
            reads++;
        }
    }
    for (size_t i = 0; i < count && is_away; i++)
        calls[i].call.error = (struct ts_store_error){.result = TS_STORE_UNAVAILABLE, .text = "no answer"};
    if (is_away)
        is_away = false;
    else
        run_quietly(context, calls, count);
}

static struct one_store our_store, their_store;

static uint64_t elapsed(void *context) {
    (void)context;
    return now_ms;
}

static void pause_for(void *context, uint64_t ms) {
    (void)context;
    (void)ms;
}

static int fresh(void **state) {
    (void)state;
    between = NULL;
    is_away = false;
    now_ms = 1000000;
    struct ts_store_error error;
    const struct ts_cluster_options options = {.store = {.clock = &test_clock}};
    if (ts_cluster_init("memory:", "xxh64", &options, &cluster, &error) != TS_STORE_OK)
        return 1;
    if (!one_store_init(&our_store, run_calls) || !one_store_init(&their_store, run_quietly))
        return 1;
    struct ts_coord_io io = {.context = &our_store,
                             .router = ts_cluster_router(cluster),
                             .place_count = 1,
                             .call = run_calls,
                             .txn = one_store_txn,
                             .elapsed_ms = elapsed,
                             .pause_ms = pause_for};
    coord = ts_coord_new_over(&io, &(struct ts_coord_options){.seed = 1});
    io.call = run_quietly;
    io.context = &their_store;
    others = ts_coord_new_over(&io, &(struct ts_coord_options){.seed = 2});
    ts_acquire_scratch_init(&scratch);
    return coord == NULL || others == NULL || !ts_tenant_id_from_text(TS_BYTES("acme"), &tenant);
}

static int clean(void **state) {
    (void)state;
    ts_coord_free(coord);
    ts_coord_free(others);
    ts_txn_virtual_free(our_store.coordinator);
    ts_txn_virtual_free(their_store.coordinator);
    ts_cluster_close(cluster);
    return 0;
}

/* ---- runs and calls ---- */

static struct ts_run_config config(void) {
    struct ts_run_config made = ts_run_config_default();
    made.lease_duration_ms = LEASE_MS;
    made.attempts = 0;
    return made;
}

/* A batch of shards with one key each; `from` is the id of the first shard. */
struct batch {
    uint64_t from;
    size_t count;
};

static struct ts_new_shards shards_of(struct batch batch) {
    static struct ts_new_shard shards[MANY];
    static char keys[MANY + 1][8];
    assert_true(batch.from + batch.count <= 100000 && batch.count <= MANY);
    for (size_t i = 0; i <= batch.count; i++)
        snprintf(keys[i], sizeof keys[i], "%05u", (unsigned)(batch.from + i));
    for (size_t i = 0; i < batch.count; i++)
        shards[i] = (struct ts_new_shard){
            .has_id = true,
            .id = {batch.from + i},
            .spec.range = {ts_bytes_of_cstring(keys[i]), ts_bytes_of_cstring(keys[i + 1])}};
    return (struct ts_new_shards){shards, batch.count};
}

static void make_run_with(const struct ts_run_config *made, size_t count) {
    const struct ts_create_run_op create = {.tenant = tenant, .run = run, .config = *made};
    const struct ts_register_op registered = {
        .tenant = tenant, .run = run, .op_id = new_op(), .shards = shards_of((struct batch){1, count})};
    assert_int_equal(
        ts_coord_create_run_with_shards(others, &create, &registered, &memory, &outcome, &detail),
        TS_CREATE_RUN_OK);
}

static void make_run(size_t count) {
    const struct ts_run_config made = config();
    make_run_with(&made, count);
}

static enum ts_claim_error claim_as(const char *name) {
    const struct ts_coord_claim_op op = {.tenant = tenant, .run = run, .worker = worker_named(name)};
    return ts_coord_claim_next_available(coord, &op, &scratch, &view, &detail);
}

static uint64_t claimed(void) {
    return ts_lease_shard(&view.lease).shard.v;
}

/* Acquires this shard for another worker. Returns the lease. */
static struct ts_lease others_take(uint64_t shard) {
    static struct ts_acquire_scratch theirs;
    struct ts_acquire_result_view their_view;
    struct ts_coord_detail ignored;
    const struct ts_acquire_op op = {tenant, {run, {shard}}, worker_named("other")};
    ts_acquire_scratch_init(&theirs);
    assert_int_equal(ts_coord_acquire(others, &op, &theirs, &their_view, &ignored), TS_ACQUIRE_OK);
    return their_view.lease;
}

static void others_take_all(struct batch batch) {
    for (size_t i = 0; i < batch.count; i++)
        (void)others_take(batch.from + i);
}

static void audit(void) {
    struct ts_coord_audit found;
    const struct ts_coord_run_query query = {tenant, run};
    assert_int_equal(ts_coord_audit_run(others, &query, &found, &detail), TS_GET_RUN_OK);
    assert_true(ts_coord_audit_is_clean(&found));
}

/* Before each of the next `neighbour_takes` writes of a claim, a competitor acquires the shard of the write. */
static unsigned neighbour_takes;
static uint64_t taken[MANY];
static unsigned taken_count;

static void neighbour_takes_it(void) {
    (void)others_take(writing);
    taken[taken_count++] = writing;
    if (--neighbour_takes > 0)
        between = neighbour_takes_it;
}

static void let_neighbour_take(unsigned count) {
    neighbour_takes = count;
    taken_count = 0;
    between = neighbour_takes_it;
}

/* ---- all candidates ---- */

static void a_claim_continues_as_long_as_there_are_free_ones(void **state) {
    (void)state;
    make_run(MANY);
    let_neighbour_take(MANY - 1);
    assert_int_equal(claim_as("w"), TS_CLAIM_OK);
    assert_int_equal(taken_count, MANY - 1);
    assert_int_equal(view.capacity.available_count, 0);
    audit();
}

static void a_claim_continues_as_long_as_there_are_expired_ones(void **state) {
    (void)state;
    make_run(MANY);
    others_take_all((struct batch){1, MANY});
    now_ms += 2 * LEASE_MS;
    let_neighbour_take(MANY - 1);
    assert_int_equal(claim_as("w"), TS_CLAIM_OK);
    assert_int_equal(taken_count, MANY - 1);
    audit();
}

static void nothing_is_available_only_when_all_are_lost(void **state) {
    (void)state;
    make_run(3 * LOOK);
    others_take_all((struct batch){1, LOOK + LOOK / 2});
    now_ms += 2 * LEASE_MS;
    let_neighbour_take(3 * LOOK);
    assert_int_equal(claim_as("w"), TS_CLAIM_NONE_AVAILABLE);
    assert_int_equal(taken_count, 3 * LOOK);
    assert_true(detail.has_deadline);
    assert_int_equal(detail.deadline.ms, now_ms + LEASE_MS);
    audit();
}

static void expired_ones_that_are_parked_do_not_hide_the_others(void **state) {
    (void)state;
    struct ts_run_config once = config();
    once.attempts = 1;
    make_run_with(&once, 100);
    others_take_all((struct batch){1, 70});
    now_ms += 10;
    for (uint64_t shard = 71; shard <= 100; shard++) {
        char key[8];
        snprintf(key, sizeof key, "%05u", (unsigned)shard);
        const struct ts_cursor_op op = {{tenant, others_take(shard), new_op()},
                                        {.has_key = true, .last_key = ts_bytes_of_cstring(key)}};
        assert_int_equal(ts_coord_checkpoint(others, &op, NULL, &outcome, &detail), TS_CHECKPOINT_OK);
    }
    now_ms += 2 * LEASE_MS;
    for (int i = 0; i < 30; i++) {
        assert_int_equal(claim_as("w"), TS_CLAIM_OK);
        assert_in_range(claimed(), 71, 100);
    }
    assert_int_equal(claim_as("w"), TS_CLAIM_NONE_AVAILABLE);
    assert_int_equal(detail.deadline.ms, now_ms + LEASE_MS);
    audit();
}

/* The index has more entries without a shard than one look reads. The claim skips these entries, and ends. */
static void entries_without_a_shard_are_skipped_once(void **state) {
    (void)state;
    make_run(1);
    uint8_t keys[2 * LOOK][19];
    for (size_t i = 0; i < 2 * LOOK; i++) {
        memcpy(keys[i], "\0cf", 3);
        ts_be64_store(run.v, keys[i] + 3);
        ts_be64_store(1000 + i, keys[i] + 11);
        const struct ts_op op = {
            .kind = TS_OP_PUT, .key = ts_bytes_of(keys[i], sizeof keys[i]), .value = TS_BYTES("x")};
        struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {&op, 1}};
        assert_int_equal(ts_store_run(ts_cluster_store(cluster, 0), &call), TS_STORE_OK);
    }
    assert_int_equal(claim_as("w"), TS_CLAIM_OK);
    assert_int_equal(claimed(), 1);
    assert_int_equal(claim_as("w"), TS_CLAIM_NONE_AVAILABLE);
}

static void others_cancel_the_run(void) {
    struct ts_coord_detail ignored;
    struct ts_coord_outcome ignored_outcome;
    const struct ts_end_run_op end = {tenant, run, new_op(), TS_RUN_OP_CANCEL_RUN};
    assert_int_equal(ts_coord_end_run(others, &end, &ignored_outcome, &ignored), TS_RUN_TRANSITION_OK);
}

/* The entries are never removed from the index, so the claim ends only because it notices that the run has
 * ended. */
static void a_run_that_ends_meanwhile_ends_the_claim(void **state) {
    (void)state;
    make_run(3 * LOOK);
    (void)others_take(1);
    between = others_cancel_the_run;
    reads = 0;
    assert_int_equal(claim_as("w"), TS_CLAIM_NONE_AVAILABLE);
    assert_false(detail.has_deadline);
    assert_in_range(reads, 1, LOOK / 2);
    audit();
}

/* ---- which shard is claimed ---- */

/* Makes claims. Returns how many of them got the available shard with the lowest id. */
static unsigned count_lowest(unsigned claims) {
    bool is_taken[MANY + 1] = {false};
    unsigned lowest = 0;
    for (unsigned i = 0; i < claims; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%u", i);
        assert_int_equal(claim_as(name), TS_CLAIM_OK);
        uint64_t first = 1;
        while (is_taken[first])
            first++;
        lowest += claimed() == first;
        is_taken[claimed()] = true;
    }
    return lowest;
}

static void workers_begin_at_different_small_ids(void **state) {
    (void)state;
    make_run(40);
    assert_in_range(count_lowest(20), 0, 6);
    audit();
}

static void workers_begin_at_different_expired_ones(void **state) {
    (void)state;
    make_run(40);
    others_take_all((struct batch){1, 40});
    now_ms += 2 * LEASE_MS;
    assert_in_range(count_lowest(20), 0, 6);
    audit();
}

static void free_ones_come_before_expired_ones(void **state) {
    (void)state;
    make_run(60);
    others_take_all((struct batch){1, 50});
    now_ms += 2 * LEASE_MS;
    let_neighbour_take(9);
    assert_int_equal(claim_as("w"), TS_CLAIM_OK);
    for (unsigned i = 0; i < taken_count; i++)
        assert_in_range(taken[i], 51, 60);
    assert_in_range(claimed(), 51, 60);
    assert_int_equal(view.capacity.available_count, 50);
    audit();
}

/* ---- the answer of a claim ---- */

static void capacity_is_counted_up_to_its_limit(void **state) {
    (void)state;
    make_run(LOOK + 2);
    assert_int_equal(claim_as("w"), TS_CLAIM_OK);
    assert_int_equal(view.capacity.available_count, TS_CAPACITY_MAX);
    for (size_t left = LOOK; left >= LOOK - 2; left--) {
        assert_int_equal(claim_as("w"), TS_CLAIM_OK);
        assert_int_equal(view.capacity.available_count, left);
    }
    now_ms += 2 * LEASE_MS;
    /* There are more free and expired shards than the hint can count. */
    assert_int_equal(claim_as("w"), TS_CLAIM_OK);
    assert_int_equal(view.capacity.available_count, TS_CAPACITY_MAX);
    audit();
}

static void more_expired_ones_than_a_look_reads_are_capacity(void **state) {
    (void)state;
    make_run(2 * LOOK);
    others_take_all((struct batch){1, 2 * LOOK});
    now_ms += 2 * LEASE_MS;
    assert_int_equal(claim_as("w"), TS_CLAIM_OK);
    assert_int_equal(view.capacity.available_count, TS_CAPACITY_MAX);
}

/* Five reads: the admission, the scan of free shards, the scan of leases, the scan of free shards before the
 * worker's starting point, and the record. */
static void a_claim_whose_first_look_succeeds_makes_five_reads(void **state) {
    (void)state;
    make_run(2 * LOOK);
    reads = 0;
    assert_int_equal(claim_as("w"), TS_CLAIM_OK);
    assert_int_equal(reads, 5);
    others_take_all((struct batch){LOOK + 1, 2});
    now_ms += 2 * LEASE_MS;
    reads = 0;
    assert_int_equal(claim_as("w"), TS_CLAIM_OK);
    assert_int_equal(reads, 5);
}

static void time_passes(void) {
    now_ms += 500;
}

static void a_cooldown_counts_from_the_end_of_the_claim(void **state) {
    (void)state;
    struct ts_run_config cool = config();
    cool.cooldown_ms = 1000;
    make_run_with(&cool, 3);
    between = time_passes;
    assert_int_equal(claim_as("w"), TS_CLAIM_OK);
    now_ms += 999;
    assert_int_equal(claim_as("w"), TS_CLAIM_THROTTLED);
    assert_int_equal(detail.retry_after.ms, now_ms + 1);
    now_ms += 1;
    assert_int_equal(claim_as("w"), TS_CLAIM_OK);
}

/* ---- the session's memory ---- */

static struct ts_coord_session *session;

static uint64_t session_claims(void) {
    assert_int_equal(ts_coord_session_claim(session, run, &view, &detail), TS_CLAIM_OK);
    return claimed();
}

static void session_completes(void) {
    const struct ts_cursor cursor = {.has_key = true, .last_key = view.snapshot.spec.range.start};
    assert_int_equal(ts_coord_session_complete(session, new_op(), &cursor, &outcome, &detail),
                     TS_COMPLETE_OK);
}

static void begin_session(void) {
    session = ts_coord_session_new(others,
                                   &(struct ts_coord_worker){.tenant = tenant, .worker = worker_named("s")});
    assert_non_null(session);
}

static void a_session_sees_expired_ones_again(void **state) {
    (void)state;
    make_run(6);
    others_take_all((struct batch){1, 3});
    now_ms += 2 * LEASE_MS;
    begin_session();
    for (unsigned left = 5; left >= 3; left--) {
        assert_in_range(session_claims(), 4, 6);
        assert_int_equal(view.capacity.available_count, left);
        session_completes();
    }
    ts_coord_session_free(session);
    audit();
}

static void a_session_sees_what_has_expired_since(void **state) {
    (void)state;
    make_run(6);
    (void)others_take(1);
    const uint64_t deadline_ms = now_ms + LEASE_MS;
    now_ms += LEASE_MS / 2;
    begin_session();
    assert_in_range(session_claims(), 2, 6);
    assert_int_equal(view.capacity.available_count, 4);
    assert_int_equal(view.capacity.earliest_deadline.ms, deadline_ms);
    session_completes();
    now_ms = deadline_ms;
    assert_in_range(session_claims(), 2, 6);
    assert_int_equal(view.capacity.available_count, 4);
    ts_coord_session_free(session);
    audit();
}

static void the_session_claims_meanwhile(void) {
    now_ms += LEASE_MS / 2;
    assert_int_equal(session_claims(), 2);
}

/* A slow acquire writes its lease after the session has searched. This lease ends earlier than the leases that
 * the session remembers. */
static void a_session_looks_at_all_leases_before_it_finds_nothing(void **state) {
    (void)state;
    make_run(1);
    begin_session();
    assert_int_equal(session_claims(), 1);
    session_completes();
    const struct ts_register_op more = {
        .tenant = tenant, .run = run, .op_id = new_op(), .shards = shards_of((struct batch){2, 2})};
    assert_int_equal(ts_coord_register_shards(others, &more, &memory, &outcome, &detail),
                     TS_REGISTER_SHARDS_OK);
    static struct ts_acquire_scratch theirs;
    ts_acquire_scratch_init(&theirs);
    struct ts_acquire_result_view their_view;
    const struct ts_acquire_op op = {tenant, {run, {3}}, worker_named("slow")};
    const uint64_t deadline_ms = now_ms + LEASE_MS;
    between = the_session_claims_meanwhile;
    assert_int_equal(ts_coord_acquire(coord, &op, &theirs, &their_view, &detail), TS_ACQUIRE_OK);
    assert_int_equal(ts_lease_deadline(&their_view.lease).ms, deadline_ms);
    session_completes();
    now_ms = deadline_ms;
    assert_int_equal(session_claims(), 3);
    ts_coord_session_free(session);
    audit();
}

/* Begins a session whose reads are counted, and lets it look at a run with 3 * LOOK shards. Returns the shard
 * that the session claimed with this look. */
static uint64_t begin_session_that_has_looked(const struct ts_run_config *made) {
    make_run_with(made, 3 * LOOK);
    session =
        ts_coord_session_new(coord, &(struct ts_coord_worker){.tenant = tenant, .worker = worker_named("s")});
    assert_non_null(session);
    (void)session_claims(); /* claims any shard, because no id is after the worker's start */
    session_completes();
    now_ms += made->cooldown_ms;
    const uint64_t claimed_with_a_look = session_claims();
    session_completes();
    reads = 0;
    return claimed_with_a_look;
}

static void a_session_acquires_what_a_look_has_left_with_one_read_each(void **state) {
    (void)state;
    const struct ts_run_config made = config();
    const uint64_t first = begin_session_that_has_looked(&made);
    for (unsigned i = 1; i < LOOK; i++) {
        assert_int_equal(session_claims(), first + i);
        assert_int_equal(reads, i);
        assert_int_equal(view.capacity.available_count, LOOK - 1 - i);
        session_completes();
    }
    assert_int_equal(session_claims(), first + LOOK);
    assert_true(reads > LOOK);
    ts_coord_session_free(session);
    audit();
}

static void a_session_looks_again_when_another_worker_was_faster(void **state) {
    (void)state;
    const struct ts_run_config made = config();
    const uint64_t first = begin_session_that_has_looked(&made);
    (void)others_take(first + 1);
    assert_int_equal(session_claims(), first + 2);
    assert_true(reads > 2);
    session_completes();
    reads = 0;
    assert_int_equal(session_claims(), first + 3);
    assert_int_equal(reads, 1);
    ts_coord_session_free(session);
    audit();
}

static void a_session_looks_again_after_a_second_and_for_another_pin(void **state) {
    (void)state;
    const struct ts_run_config made = config();
    const uint64_t first = begin_session_that_has_looked(&made);
    now_ms += 1000;
    assert_int_equal(session_claims(), first + 1);
    assert_true(reads > 1);
    session_completes();
    ts_coord_session_set_pin(session, (struct ts_pin){.b = {1}});
    reads = 0;
    assert_int_equal(session_claims(), first + 2);
    assert_true(reads > 1);
    ts_coord_session_free(session);
    audit();
}

static void a_session_looks_again_when_a_store_does_not_answer(void **state) {
    (void)state;
    const struct ts_run_config made = config();
    const uint64_t first = begin_session_that_has_looked(&made);
    is_away = true;
    assert_int_equal(session_claims(), first + 1);
    assert_true(reads > 2);
    ts_coord_session_free(session);
    audit();
}

static void what_a_look_has_left_is_not_claimed_after_the_end_of_the_run(void **state) {
    (void)state;
    const struct ts_run_config made = config();
    (void)begin_session_that_has_looked(&made);
    others_cancel_the_run();
    assert_int_equal(ts_coord_session_claim(session, run, &view, &detail), TS_CLAIM_NONE_AVAILABLE);
    assert_false(detail.has_deadline);
    ts_coord_session_free(session);
    audit();
}

static void a_cooldown_also_applies_to_what_a_look_has_left(void **state) {
    (void)state;
    struct ts_run_config cool = config();
    cool.cooldown_ms = 500;
    (void)begin_session_that_has_looked(&cool);
    assert_int_equal(ts_coord_session_claim(session, run, &view, &detail), TS_CLAIM_THROTTLED);
    ts_coord_session_free(session);
    audit();
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fresh, clean)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_claim_continues_as_long_as_there_are_free_ones),
        TEST(a_claim_continues_as_long_as_there_are_expired_ones),
        TEST(nothing_is_available_only_when_all_are_lost),
        TEST(expired_ones_that_are_parked_do_not_hide_the_others),
        TEST(entries_without_a_shard_are_skipped_once),
        TEST(a_run_that_ends_meanwhile_ends_the_claim),
        TEST(workers_begin_at_different_small_ids),
        TEST(workers_begin_at_different_expired_ones),
        TEST(free_ones_come_before_expired_ones),
        TEST(capacity_is_counted_up_to_its_limit),
        TEST(more_expired_ones_than_a_look_reads_are_capacity),
        TEST(a_claim_whose_first_look_succeeds_makes_five_reads),
        TEST(a_cooldown_counts_from_the_end_of_the_claim),
        TEST(a_session_sees_expired_ones_again),
        TEST(a_session_sees_what_has_expired_since),
        TEST(a_session_looks_at_all_leases_before_it_finds_nothing),
        TEST(a_session_acquires_what_a_look_has_left_with_one_read_each),
        TEST(a_session_looks_again_when_another_worker_was_faster),
        TEST(a_session_looks_again_after_a_second_and_for_another_pin),
        TEST(a_session_looks_again_when_a_store_does_not_answer),
        TEST(what_a_look_has_left_is_not_claimed_after_the_end_of_the_run),
        TEST(a_cooldown_also_applies_to_what_a_look_has_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
