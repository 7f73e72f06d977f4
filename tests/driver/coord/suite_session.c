/* Workers' sessions. */
#include "suite.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static struct ts_coord_session *new_session(const char *name) {
    const struct ts_coord_worker worker = {suite.tenant, suite_worker(name)};
    struct ts_coord_session *session = ts_coord_session_new(suite.coord, &worker);
    assert_non_null(session);
    return session;
}

static void a_session_works_through_a_run(void **state) {
    (void)state;
    suite_make_run();
    struct ts_coord_session *session = new_session("a");
    assert_null(ts_coord_session_lease(session));
    for (int i = 0; i < 3; i++) {
        EXPECT(claim, ts_coord_session_claim(session, suite.run, &suite.view, &suite.detail), TS_CLAIM_OK);
        assert_non_null(ts_coord_session_lease(session));
        assert_true(ts_coord_session_left_ms(session) > 0);
        const struct ts_cursor cursor = {.has_key = true, .last_key = suite.view.snapshot.spec.range.start};
        for (int j = 0; j < 5; j++) {
            EXPECT(checkpoint,
                   ts_coord_session_checkpoint(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
                   TS_CHECKPOINT_OK);
            expect_executed();
        }
        const struct ts_op_id again = {suite.op_id};
        EXPECT(checkpoint,
               ts_coord_session_checkpoint(session, again, &cursor, &suite.outcome, &suite.detail),
               TS_CHECKPOINT_OK);
        expect_replayed();
        EXPECT(renew, ts_coord_session_renew(session, &suite.renewed, &suite.detail), TS_RENEW_OK);
        assert_int_equal(ts_lease_deadline(ts_coord_session_lease(session)).ms,
                         suite.renewed.new_deadline.ms);
        assert_int_equal(ts_ring_count(&ts_coord_session_record(session)->op_log), 5);
        if (i == 0)
            EXPECT(park,
                   ts_coord_session_park(session, suite_op(), TS_PARK_OTHER, &suite.outcome, &suite.detail),
                   TS_PARK_OK);
        else
            EXPECT(complete,
                   ts_coord_session_complete(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
                   TS_COMPLETE_OK);
        assert_null(ts_coord_session_lease(session));
    }
    EXPECT(claim, ts_coord_session_claim(session, suite.run, &suite.view, &suite.detail),
           TS_CLAIM_NONE_AVAILABLE);
    ts_coord_session_free(session);
    suite_audit();
}

static void a_session_splits(void **state) {
    (void)state;
    suite_make_run();
    struct ts_coord_session *session = new_session("a");
    EXPECT(acquire, ts_coord_session_acquire(session, suite_shard(2), &suite.view, &suite.detail),
           TS_ACQUIRE_OK);
    const struct ts_new_shard residual = {.spec.range.start = TS_BYTES("kEy-n")};
    EXPECT(split,
           ts_coord_session_split_residual(session, suite_op(), &residual, &suite.residual, &suite.outcome,
                                           &suite.detail),
           TS_SPLIT_OK);
    const struct ts_cursor cursor = KEY("i");
    EXPECT(checkpoint,
           ts_coord_session_checkpoint(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
           TS_CHECKPOINT_OK);
    const struct ts_new_shard children[] = {{.spec.range = RANGE("h", "k")}, {.spec.range = RANGE("k", "n")}};
    EXPECT(split,
           ts_coord_session_split_replace(session, suite_op(), (struct ts_new_shards){children, 2},
                                          &suite.children, &suite.outcome, &suite.detail),
           TS_SPLIT_OK);
    assert_null(ts_coord_session_lease(session));
    ts_coord_session_free(session);
    suite_audit();
}

/* A session never refuses an operation, or gives an outdated answer, because of its memory. */
static void a_session_notices_what_others_have_done(void **state) {
    (void)state;
    suite_make_short_run();
    struct ts_coord_session *session = new_session("a");
    EXPECT(acquire, ts_coord_session_acquire(session, suite_shard(1), &suite.view, &suite.detail),
           TS_ACQUIRE_OK);
    const struct ts_lease lease = suite.view.lease;
    /* The same lease, used without the session. */
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("d")), TS_CHECKPOINT_OK);
    struct ts_cursor cursor = KEY("c");
    EXPECT(checkpoint,
           ts_coord_session_checkpoint(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
           TS_CHECKPOINT_CURSOR_REGRESSION);
    cursor = KEY("e");
    EXPECT(checkpoint,
           ts_coord_session_checkpoint(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
           TS_CHECKPOINT_OK);
    /* A lease that was renewed without the session is valid longer than the session knows. */
    struct ts_lease longer = lease;
    suite.fixture->pass_ms(suite.fixture->lease_ms * 2 / 3);
    EXPECT(renew, suite_renew(&longer), TS_RENEW_OK);
    suite.fixture->pass_ms(suite.fixture->lease_ms * 2 / 3);
    EXPECT(checkpoint,
           ts_coord_session_checkpoint(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
           TS_CHECKPOINT_OK);
    suite.fixture->pass_ms(suite.fixture->lease_ms);
    EXPECT(checkpoint,
           ts_coord_session_checkpoint(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
           TS_CHECKPOINT_LEASE_EXPIRED);
    assert_null(ts_coord_session_lease(session));
    /* The lease is adopted, but stale by then. */
    (void)suite_must_acquire(1, "b");
    ts_coord_session_adopt(session, &lease);
    EXPECT(checkpoint,
           ts_coord_session_checkpoint(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
           TS_CHECKPOINT_STALE_FENCE);
    ts_coord_session_free(session);
    suite_audit();
}

static void a_session_stops_when_the_run_ends(void **state) {
    (void)state;
    suite_make_run();
    struct ts_coord_session *session = new_session("a");
    EXPECT(claim, ts_coord_session_claim(session, suite.run, &suite.view, &suite.detail), TS_CLAIM_OK);
    const struct ts_cursor cursor = {.has_key = true, .last_key = suite.view.snapshot.spec.range.start};
    EXPECT(checkpoint,
           ts_coord_session_checkpoint(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
           TS_CHECKPOINT_OK);
    EXPECT(run_transition, suite_end(TS_RUN_OP_CANCEL_RUN, suite_op()), TS_RUN_TRANSITION_OK);
    EXPECT(checkpoint,
           ts_coord_session_checkpoint(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
           TS_CHECKPOINT_SHARD_TERMINAL);
    assert_null(ts_coord_session_lease(session));
    ts_coord_session_free(session);
    suite_audit();
}

enum { THREADS = 8, THREAD_SHARDS = 40, THREAD_CHECKPOINTS = 5 };

struct thread {
    pthread_t thread;
    struct ts_coord *coord;
    uint64_t number;
    uint64_t completed, wrong;
};

static bool work_on_shard(struct thread *mine, struct ts_coord_session *session,
                          const struct ts_cursor *cursor) {
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail;
    static _Atomic uint64_t last_op = 1000000;
    for (int i = 0; i < THREAD_CHECKPOINTS; i++)
        if (ts_coord_session_checkpoint(session, (struct ts_op_id){++last_op}, cursor, &outcome, &detail) !=
                TS_CHECKPOINT_OK ||
            outcome.outcome != TS_OUTCOME_EXECUTED)
            return false;
    if (ts_coord_session_complete(session, (struct ts_op_id){++last_op}, cursor, &outcome, &detail) !=
        TS_COMPLETE_OK)
        return false;
    mine->completed++;
    return true;
}

static void *run_thread(void *context) {
    struct thread *mine = context;
    char name[8];
    snprintf(name, sizeof name, "t%" PRIu64, mine->number);
    struct ts_coord_worker worker = {.tenant = suite.tenant};
    mine->wrong += !ts_worker_id_from_text(ts_bytes_of_cstring(name), &worker.worker);
    struct ts_coord_session *session = ts_coord_session_new(mine->coord, &worker);
    struct ts_acquire_result_view view;
    struct ts_coord_detail detail;
    enum ts_claim_error error;
    while ((error = ts_coord_session_claim(session, suite.run, &view, &detail)) == TS_CLAIM_OK) {
        const struct ts_cursor cursor = {.has_key = true, .last_key = view.snapshot.spec.range.start};
        if (!work_on_shard(mine, session, &cursor)) {
            mine->wrong++;
            break;
        }
    }
    mine->wrong += error != TS_CLAIM_NONE_AVAILABLE;
    ts_coord_session_free(session);
    return NULL;
}

static void threads_share_a_coordination_and_a_run(void **state) {
    (void)state;
    static struct ts_new_shard shards[THREAD_SHARDS];
    static char keys[THREAD_SHARDS + 1][12];
    for (size_t i = 0; i <= THREAD_SHARDS; i++)
        snprintf(keys[i], sizeof keys[i], "kEy-%06zu", i);
    for (size_t i = 0; i < THREAD_SHARDS; i++)
        shards[i].spec.range =
            (struct ts_key_range){ts_bytes_of_cstring(keys[i]), ts_bytes_of_cstring(keys[i + 1])};
    const struct ts_run_config config = suite_config();
    EXPECT(create_run, suite_create_with(&config, suite_op(), shards, THREAD_SHARDS), TS_CREATE_RUN_OK);
    struct ts_coord *quiet = ts_coord_new(suite.cluster, suite.coordinator, NULL);
    assert_non_null(quiet);
    struct thread threads[THREADS] = {0};
    for (size_t i = 0; i < THREADS; i++) {
        threads[i].coord = quiet;
        threads[i].number = i;
        assert_int_equal(pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]), 0);
    }
    uint64_t completed = 0, wrong = 0;
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
        completed += threads[i].completed;
        wrong += threads[i].wrong;
    }
    ts_coord_free(quiet);
    assert_int_equal(wrong, 0);
    assert_int_equal(completed, THREAD_SHARDS);
    suite_audit();
    EXPECT(run_transition, suite_end(TS_RUN_OP_COMPLETE_RUN, suite_op()), TS_RUN_TRANSITION_OK);
}

const struct CMUnitTest suite_session_tests[] = {
    suite_test(a_session_works_through_a_run),           suite_test(a_session_splits),
    suite_test(a_session_notices_what_others_have_done), suite_test(a_session_stops_when_the_run_ends),
    suite_test(threads_share_a_coordination_and_a_run),  {0},
};
