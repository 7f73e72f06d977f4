/* Tests keepers whose store answers, fails, refuses or hangs. The tests run in real time, with leases of one
 * second. */
#include "coord/driver/keeper.h"

#include "one_store.h"
#include "os/clock.h"
#include "store/cluster/cluster.h"
#include "support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#define LEASE_MS  UINT64_C(1000)
#define MARGIN_MS UINT64_C(100) /* default margin of a lease of LEASE_MS */

enum mood { ANSWERING, FAILING, HANGING };

static struct ts_cluster *cluster;
static struct one_store worker_store, keeper_store;
static struct ts_coord *coord;        /* the coordination of the worker */
static struct ts_coord *keeper_coord; /* the coordination of the keeper; `mood` applies only to its calls */
static struct ts_tenant_id tenant;
static struct ts_run_id run;
static uint64_t last_op;
static struct ts_coord_detail detail;
static struct ts_coord_outcome outcome;
static struct ts_acquire_result_view view;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static enum mood mood;
static atomic_uint writes; /* number of writes by the keeper */
static void (*before_write)(void);

static void set_mood(enum mood next) {
    pthread_mutex_lock(&lock);
    mood = next;
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&lock);
}

static uint64_t now_ms(void) {
    return ts_clock_monotonic_ns() / 1000000;
}

static uint64_t elapsed(void *context) {
    (void)context;
    return now_ms();
}

static void pause_for(void *context, uint64_t ms) {
    (void)context;
    const struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

static void run_calls(void *context, struct ts_coord_call *calls, size_t count) {
    (void)context;
    for (size_t i = 0; i < count; i++)
        (void)ts_store_run(ts_cluster_store(cluster, calls[i].place), &calls[i].call);
}

static void run_keeper_calls(void *context, struct ts_coord_call *calls, size_t count) {
    pthread_mutex_lock(&lock);
    while (mood == HANGING)
        pthread_cond_wait(&moved, &lock);
    const bool fails = mood == FAILING;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < count && fails; i++)
        calls[i].call.error = (struct ts_store_error){.result = TS_STORE_UNAVAILABLE, .text = "no answer"};
    if (fails)
        return;
    if (calls[0].call.kind == TS_CALL_APPLY) {
        atomic_fetch_add(&writes, 1);
        if (before_write != NULL)
            before_write();
    }
    run_calls(context, calls, count);
}

static struct ts_coord *open_coord(struct one_store *store,
                                   void (*call)(void *context, struct ts_coord_call *calls, size_t count),
                                   uint64_t seed) {
    assert_true(one_store_init(store, call));
    const struct ts_coord_io io = {.context = store,
                                   .router = ts_cluster_router(cluster),
                                   .place_count = 1,
                                   .call = call,
                                   .txn = one_store_txn,
                                   .elapsed_ms = elapsed,
                                   .pause_ms = pause_for};
    struct ts_coord *opened =
        ts_coord_new_over(&io, &(struct ts_coord_options){.seed = seed, .tries_max = 2});
    assert_non_null(opened);
    return opened;
}

static int open_all(void **state) {
    (void)state;
    struct ts_store_error error;
    assert_int_equal(ts_cluster_init("memory:", "xxh64", NULL, &cluster, &error), TS_STORE_OK);
    coord = open_coord(&worker_store, run_calls, 1);
    keeper_coord = open_coord(&keeper_store, run_keeper_calls, 2);
    assert_true(ts_tenant_id_from_text(TS_BYTES("acme"), &tenant));
    return 0;
}

static int close_all(void **state) {
    (void)state;
    ts_coord_free(coord);
    ts_coord_free(keeper_coord);
    ts_txn_virtual_free(worker_store.coordinator);
    ts_txn_virtual_free(keeper_store.coordinator);
    ts_cluster_close(cluster);
    return 0;
}

/* The keeper's report of a lost lease. */
struct loss {
    atomic_uint count;
    enum ts_error_variant error;
    uint64_t at_ms;
    atomic_bool is_slow;
};

static void note_loss(void *context, enum ts_error_variant error, const struct ts_coord_detail *of) {
    struct loss *loss = context;
    assert_true(error != TS_VARIANT_BACKEND_ERROR || of->infra.text[0] != '\0');
    loss->error = error;
    loss->at_ms = now_ms();
    if (atomic_load(&loss->is_slow))
        pause_for(NULL, 300);
    atomic_fetch_add(&loss->count, 1);
}

struct kept {
    struct ts_coord_session *session;
    struct ts_coord_keeper *keeper;
    struct loss loss;
    uint64_t claimed_ms; /* time just before the claim */
};

static void claim_and_watch(struct kept *kept) {
    kept->claimed_ms = now_ms();
    assert_int_equal(ts_coord_session_claim(kept->session, run, &view, &detail), TS_CLAIM_OK);
    ts_coord_keeper_watch(kept->keeper, kept->session);
}

/* Makes a new run with two shards, claims one of them, and starts a keeper for its lease. */
static void begin(struct kept *kept) {
    static struct ts_manifest_memory memory;
    const struct ts_new_shard shards[] = {{.spec.range = {TS_BYTES("a"), TS_BYTES("m")}},
                                          {.spec.range = {TS_BYTES("m"), TS_BYTES("z")}}};
    *kept = (struct kept){0};
    set_mood(ANSWERING);
    before_write = NULL;
    atomic_store(&writes, 0);
    run.v++;
    struct ts_create_run_op create = {.tenant = tenant, .run = run, .config = ts_run_config_default()};
    create.config.lease_duration_ms = LEASE_MS;
    const struct ts_register_op list = {
        .tenant = tenant, .run = run, .op_id = {++last_op}, .shards = {shards, 2}};
    assert_int_equal(ts_coord_create_run_with_shards(coord, &create, &list, &memory, &outcome, &detail),
                     TS_CREATE_RUN_OK);
    struct ts_coord_worker worker = {.tenant = tenant};
    assert_true(ts_worker_id_from_text(TS_BYTES("kept"), &worker.worker));
    kept->session = ts_coord_session_new(coord, &worker);
    kept->keeper = ts_coord_keeper_new(
        keeper_coord, &(struct ts_coord_keeper_options){.on_loss = note_loss, .context = &kept->loss});
    assert_true(kept->session != NULL && kept->keeper != NULL);
    claim_and_watch(kept);
}

static void end(struct kept *kept) {
    set_mood(ANSWERING);
    ts_coord_keeper_free(kept->keeper);
    ts_coord_session_free(kept->session);
}

static enum ts_complete_error complete(struct kept *kept) {
    const struct ts_cursor cursor = {.has_key = true, .last_key = view.snapshot.spec.range.start};
    return ts_coord_session_complete(kept->session, (struct ts_op_id){++last_op}, &cursor, &outcome, &detail);
}

static void wait_for_loss(struct kept *kept) {
    for (int i = 0; i < 500 && atomic_load(&kept->loss.count) == 0; i++)
        pause_for(NULL, 10);
    assert_int_equal(atomic_load(&kept->loss.count), 1);
    assert_true(ts_coord_keeper_is_lost(kept->keeper));
    assert_int_equal(ts_coord_keeper_left_ms(kept->keeper), 0);
}

static void a_kept_lease_outlives_its_duration_and_the_worker_is_not_disturbed(void **state) {
    (void)state;
    struct kept kept;
    begin(&kept);
    /* The keeper gives up before the lease ends. */
    assert_in_range(ts_coord_keeper_left_ms(kept.keeper), 1, LEASE_MS - MARGIN_MS);
    const struct ts_cursor cursor = {.has_key = true, .last_key = view.snapshot.spec.range.start};
    for (int i = 0; i < 25; i++) {
        pause_for(NULL, 100);
        assert_int_equal(ts_coord_session_checkpoint(kept.session, (struct ts_op_id){++last_op}, &cursor,
                                                     &outcome, &detail),
                         TS_CHECKPOINT_OK);
    }
    assert_true(ts_coord_keeper_left_ms(kept.keeper) > 0);
    /* The keeper renews every third of a second. */
    assert_in_range(atomic_load(&writes), 2, 9);
    ts_coord_keeper_pause(kept.keeper);
    assert_int_equal(complete(&kept), TS_COMPLETE_OK);
    ts_coord_keeper_rest(kept.keeper);
    assert_int_equal(atomic_load(&kept.loss.count), 0);
    assert_int_equal(ts_coord_keeper_left_ms(kept.keeper), 0);
    claim_and_watch(&kept);
    assert_true(ts_coord_keeper_left_ms(kept.keeper) > 0);
    end(&kept);
}

static void a_store_that_hangs_does_not_hold_up_the_end_of_the_lease(void **state) {
    (void)state;
    struct kept kept;
    begin(&kept);
    set_mood(HANGING);
    wait_for_loss(&kept);
    assert_int_equal(kept.loss.error, TS_VARIANT_BACKEND_ERROR);
    /* The loss is reported long before the store answers. The bound is wide, because a busy machine delays
     * threads. */
    assert_in_range(kept.loss.at_ms - kept.claimed_ms, LEASE_MS / 2, LEASE_MS + LEASE_MS / 2);
    /* An answer after the loss is ignored. */
    set_mood(ANSWERING);
    pause_for(NULL, 200);
    assert_true(ts_coord_keeper_is_lost(kept.keeper));
    ts_coord_keeper_rest(kept.keeper);
    assert_false(ts_coord_keeper_is_lost(kept.keeper));
    assert_int_equal(atomic_load(&kept.loss.count), 1);
    end(&kept);
}

static void a_store_that_fails_for_a_while_costs_nothing(void **state) {
    (void)state;
    struct kept kept;
    begin(&kept);
    set_mood(FAILING);
    pause_for(NULL, 500);
    set_mood(ANSWERING);
    pause_for(NULL, 900);
    assert_int_equal(atomic_load(&kept.loss.count), 0);
    assert_true(ts_coord_keeper_left_ms(kept.keeper) > 0);
    set_mood(FAILING);
    wait_for_loss(&kept);
    assert_int_equal(kept.loss.error, TS_VARIANT_BACKEND_ERROR);
    end(&kept);
}

static void a_refusal_is_reported_once_and_not_after_rest(void **state) {
    (void)state;
    struct kept kept;
    begin(&kept);
    atomic_store(&kept.loss.is_slow, true);
    const struct ts_end_run_op cancel = {
        .tenant = tenant, .run = run, .op_id = {++last_op}, .kind = TS_RUN_OP_CANCEL_RUN};
    assert_int_equal(ts_coord_end_run(coord, &cancel, &outcome, &detail), TS_RUN_TRANSITION_OK);
    for (int i = 0; i < 500 && !ts_coord_keeper_is_lost(kept.keeper); i++)
        pause_for(NULL, 1);
    /* rest() waits for the callback, which is in progress. */
    ts_coord_keeper_rest(kept.keeper);
    assert_int_equal(atomic_load(&kept.loss.count), 1);
    assert_int_equal(kept.loss.error, TS_VARIANT_SHARD_TERMINAL);
    pause_for(NULL, 500);
    assert_int_equal(atomic_load(&kept.loss.count), 1);
    end(&kept);
}

static struct kept *completing;

static void complete_now(void) {
    before_write = NULL;
    ts_coord_keeper_pause(completing->keeper);
    assert_int_equal(complete(completing), TS_COMPLETE_OK);
}

static void a_shard_that_ends_during_a_renewal_is_not_a_loss(void **state) {
    (void)state;
    struct kept kept;
    begin(&kept);
    completing = &kept;
    before_write = complete_now;
    pause_for(NULL, 600);
    assert_null(before_write);
    assert_null(ts_coord_session_lease(kept.session));
    ts_coord_keeper_rest(kept.keeper);
    assert_int_equal(atomic_load(&kept.loss.count), 0);
    end(&kept);
}

static void a_paused_keeper_still_ends_the_lease(void **state) {
    (void)state;
    struct kept kept;
    begin(&kept);
    ts_coord_keeper_pause(kept.keeper);
    pause_for(NULL, 500);
    assert_int_equal(atomic_load(&writes), 0);
    ts_coord_keeper_resume(kept.keeper);
    pause_for(NULL, 100);
    assert_int_equal(atomic_load(&writes), 1);
    ts_coord_keeper_pause(kept.keeper);
    wait_for_loss(&kept);
    end(&kept);
}

/* Returns how many times the other threads of this process have gone to sleep so far. */
static long sleeps_of_other_threads(void) {
    struct rusage all, own;
    assert_int_equal(getrusage(RUSAGE_SELF, &all), 0);
    assert_int_equal(getrusage(RUSAGE_THREAD, &own), 0);
    return all.ru_nvcsw - own.ru_nvcsw;
}

static void many_short_leases_do_not_wake_the_keeper_for_each(void **state) {
    (void)state;
    enum { LEASES = 100 };
    struct kept kept;
    begin(&kept);
    pause_for(NULL, 50);
    const long before = sleeps_of_other_threads();
    for (int i = 0; i < LEASES; i++) {
        ts_coord_keeper_pause(kept.keeper);
        ts_coord_keeper_rest(kept.keeper);
        ts_coord_keeper_watch(kept.keeper, kept.session);
        pause_for(NULL, 1);
    }
    assert_in_range(sleeps_of_other_threads() - before, 0, LEASES / 2);
    /* The keeper keeps the last of these leases. */
    pause_for(NULL, 2 * LEASE_MS);
    assert_true(atomic_load(&writes) >= 2);
    assert_true(ts_coord_keeper_left_ms(kept.keeper) > 0);
    assert_int_equal(atomic_load(&kept.loss.count), 0);
    end(&kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kept_lease_outlives_its_duration_and_the_worker_is_not_disturbed),
        cmocka_unit_test(a_store_that_hangs_does_not_hold_up_the_end_of_the_lease),
        cmocka_unit_test(a_store_that_fails_for_a_while_costs_nothing),
        cmocka_unit_test(a_refusal_is_reported_once_and_not_after_rest),
        cmocka_unit_test(a_shard_that_ends_during_a_renewal_is_not_a_loss),
        cmocka_unit_test(a_paused_keeper_still_ends_the_lease),
        cmocka_unit_test(many_short_leases_do_not_wake_the_keeper_for_each),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
