/* Tests of workers' sessions. */
#include "suite.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static struct ts_coord_session *new_session_with(const char *name, struct ts_pin pin) {
    const struct ts_coord_worker worker = {suite.tenant, suite_worker(name), pin, .pinned_only = false};
    struct ts_coord_session *session = ts_coord_session_new(suite.coord, &worker);
    assert_non_null(session);
    return session;
}

static struct ts_coord_session *new_session(const char *name) {
    return new_session_with(name, (struct ts_pin){{0}});
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

/* A session remembers leases. An outdated memory never makes the session refuse an operation or give an
 * outdated answer. */
static void a_session_notices_what_others_have_done(void **state) {
    (void)state;
    suite_make_short_run();
    struct ts_coord_session *session = new_session("a");
    EXPECT(acquire, ts_coord_session_acquire(session, suite_shard(1), &suite.view, &suite.detail),
           TS_ACQUIRE_OK);
    const struct ts_lease lease = suite.view.lease;
    /* Uses the session's lease without the session. */
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("d")), TS_CHECKPOINT_OK);
    struct ts_cursor cursor = KEY("c");
    EXPECT(checkpoint,
           ts_coord_session_checkpoint(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
           TS_CHECKPOINT_CURSOR_REGRESSION);
    cursor = KEY("e");
    EXPECT(checkpoint,
           ts_coord_session_checkpoint(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
           TS_CHECKPOINT_OK);
    /* If a lease was renewed without the session, it is valid longer than the session knows. */
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
    /* The session adopts the old lease, which is stale now. */
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

static const struct ts_pin red = {.b = {1}}, blue = {.b = {[31] = 2}};

/* Makes another run of the test's tenant, with the shards of suite_make_run. Returns its id. */
static struct ts_run_id make_other_run(uint64_t number, struct ts_pin pin) {
    const struct ts_run_id own = suite.run;
    struct ts_run_config config = suite_config();
    config.pin = pin;
    suite.run.v = own.v + 100000 * number;
    suite_make_run_with(&config);
    const struct ts_run_id other = suite.run;
    suite.run = own;
    return other;
}

static void complete_it(struct ts_coord_session *session) {
    const struct ts_cursor cursor = {.has_key = true,
                                     .last_key = ts_coord_session_record(session)->spec.range.start};
    EXPECT(complete, ts_coord_session_complete(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
           TS_COMPLETE_OK);
}

static void a_claim_from_a_run_with_another_pin_gets_nothing_and_says_why(void **state) {
    (void)state;
    struct ts_run_config config = suite_config();
    config.pin = red;
    suite_make_run_with(&config);
    struct ts_coord_session *with[] = {new_session("none"), new_session_with("blue", blue),
                                       new_session_with("red", red)};
    for (size_t i = 0; i < 2; i++) {
        EXPECT(claim, ts_coord_session_claim(with[i], suite.run, &suite.view, &suite.detail),
               TS_CLAIM_NONE_AVAILABLE);
        assert_int_equal(suite.detail.other_pins, 1);
        assert_false(suite.detail.has_deadline);
        char text[512];
        (void)ts_error_display(TS_VARIANT_NONE_AVAILABLE, &suite.detail, text, sizeof text);
        assert_non_null(strstr(text, "pinned"));
    }
    EXPECT(claim, ts_coord_session_claim(with[2], suite.run, &suite.view, &suite.detail), TS_CLAIM_OK);
    assert_true(ts_pin_equal(&ts_coord_session_guard(with[2])->config.pin, &red));
    struct ts_run_record run;
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_OK);
    assert_true(ts_pin_equal(&run.config.pin, &red));
    assert_int_equal(ts_coord_session_guard(with[2])->number, run.number);
    complete_it(with[2]);
    assert_null(ts_coord_session_guard(with[2]));
    for (size_t i = 0; i < 3; i++)
        ts_coord_session_free(with[i]);
    suite_audit();
}

static void a_session_claims_from_all_active_runs_the_oldest_first(void **state) {
    (void)state;
    struct ts_coord_session *session = new_session_with("a", red);
    EXPECT(claim, ts_coord_session_claim_any(session, &suite.view, &suite.detail), TS_CLAIM_NONE_AVAILABLE);
    assert_int_equal(suite.detail.other_pins, 0);
    /* The run with the lowest id is the youngest. The run that is made third has another pin. */
    const struct ts_run_id oldest = make_other_run(3, red);
    const struct ts_run_id second = make_other_run(2, (struct ts_pin){{0}});
    const struct ts_run_id expected[] = {oldest, second, suite.run};
    (void)make_other_run(4, blue);
    suite_make_run();
    uint64_t numbers[3];
    for (size_t i = 0; i < 9; i++) {
        EXPECT(claim, ts_coord_session_claim_any(session, &suite.view, &suite.detail), TS_CLAIM_OK);
        assert_int_equal(ts_lease_shard(&suite.view.lease).run.v, expected[i / 3].v);
        numbers[i / 3] = ts_coord_session_guard(session)->number;
        if (i < 8)
            complete_it(session);
    }
    assert_true(numbers[0] < numbers[1] && numbers[1] < numbers[2]);
    /* The last shard is still leased, and one run has another pin. */
    struct ts_coord_session *other = new_session_with("b", red);
    EXPECT(claim, ts_coord_session_claim_any(other, &suite.view, &suite.detail), TS_CLAIM_NONE_AVAILABLE);
    assert_true(suite.detail.has_deadline);
    assert_int_equal(suite.detail.deadline.ms, ts_lease_deadline(ts_coord_session_lease(session)).ms);
    assert_int_equal(suite.detail.other_pins, 1);
    EXPECT(release,
           ts_coord_session_release(session, suite_op(), TS_BLAME_NOBODY, &suite.outcome, &suite.detail),
           TS_RELEASE_OK);
    EXPECT(claim, ts_coord_session_claim_any(other, &suite.view, &suite.detail), TS_CLAIM_OK);
    complete_it(other);
    EXPECT(claim, ts_coord_session_claim_any(other, &suite.view, &suite.detail), TS_CLAIM_NONE_AVAILABLE);
    assert_false(suite.detail.has_deadline);
    EXPECT(run_transition, suite_end(TS_RUN_OP_COMPLETE_RUN, suite_op()), TS_RUN_TRANSITION_OK);
    ts_coord_session_free(session);
    ts_coord_session_free(other);
    suite_audit();
}

static void a_session_claims_elsewhere_while_a_run_has_a_cooldown(void **state) {
    (void)state;
    struct ts_run_config config = suite_config();
    config.cooldown_ms = config.lease_duration_ms;
    suite_make_run_with(&config);
    struct ts_coord_session *session = new_session("a");
    EXPECT(claim, ts_coord_session_claim_any(session, &suite.view, &suite.detail), TS_CLAIM_OK);
    complete_it(session);
    EXPECT(claim, ts_coord_session_claim_any(session, &suite.view, &suite.detail), TS_CLAIM_THROTTLED);
    assert_true(suite.detail.retry_after.ms > 0);
    const struct ts_run_id other = make_other_run(1, (struct ts_pin){{0}});
    EXPECT(claim, ts_coord_session_claim_any(session, &suite.view, &suite.detail), TS_CLAIM_OK);
    assert_int_equal(ts_lease_shard(&suite.view.lease).run.v, other.v);
    ts_coord_session_free(session);
    suite_audit();
}

/* Works on a target like a worker of another layer: the shard, the lease check and the target's records are
 * on one store. The work has two cursors: begun and done. */
static void a_target_is_worked_on_at_its_home(void **state) {
    (void)state;
    enum { TARGETS = 8 };
    struct ts_coord_target_keys keys[TARGETS];
    struct ts_new_shard shards[TARGETS] = {0};
    for (uint8_t i = 0; i < TARGETS; i++) {
        const uint8_t target[TS_COORD_TARGET_LEN] = {[0] = i, [15] = 1};
        keys[i] = ts_coord_target_keys_of(target);
        shards[i].spec.range = ts_coord_target_range(&keys[i]);
        shards[i].has_id =
            ts_coord_target_shard_id(suite.run, target, ts_coord_router(suite.coord), &shards[i].id);
        assert_true(shards[i].has_id);
        assert_int_equal(ts_coord_place_of_shard(suite.coord, shards[i].id),
                         ts_coord_target_home(ts_coord_router(suite.coord), target).v);
    }
    const struct ts_run_config config = suite_config();
    EXPECT(create_run, suite_create_with(&config, suite_op(), shards, TARGETS), TS_CREATE_RUN_OK);
    struct ts_coord_session *session = new_session("a");
    for (size_t i = 0; i < TARGETS; i++) {
        EXPECT(claim, ts_coord_session_claim(session, suite.run, &suite.view, &suite.detail), TS_CLAIM_OK);
        uint8_t target[TS_COORD_TARGET_LEN], unit[TS_COORD_UNIT_KEY_LEN];
        assert_true(ts_coord_target_of_range(suite.view.snapshot.spec.range, target));
        const struct ts_coord_target_keys own = ts_coord_target_keys_of(target);
        ts_coord_unit_key(suite.run, target, unit);
        const struct ts_op put = {
            .kind = TS_OP_PUT, .key = ts_bytes_of(unit, sizeof unit), .value = TS_BYTES("u")};
        struct ts_store_error answer;
        EXPECT(write, ts_coord_session_write(session, (struct ts_batch){&put, 1}, &answer, &suite.detail),
               TS_WRITE_OK);
        assert_int_equal(answer.result, TS_STORE_OK);
        struct ts_cursor cursor = {.has_key = true, .last_key = ts_coord_target_key_begun(&own)};
        EXPECT(checkpoint,
               ts_coord_session_checkpoint(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
               TS_CHECKPOINT_OK);
        cursor.last_key = ts_coord_target_key_done(&own);
        EXPECT(complete,
               ts_coord_session_complete(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
               TS_COMPLETE_OK);
    }
    ts_coord_session_free(session);
    EXPECT(run_transition, suite_end(TS_RUN_OP_COMPLETE_RUN, suite_op()), TS_RUN_TRANSITION_OK);
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
    suite_test(a_session_works_through_a_run),
    suite_test(a_session_splits),
    suite_test(a_session_notices_what_others_have_done),
    suite_test(a_session_stops_when_the_run_ends),
    suite_test(threads_share_a_coordination_and_a_run),
    suite_test(a_claim_from_a_run_with_another_pin_gets_nothing_and_says_why),
    suite_test(a_session_claims_from_all_active_runs_the_oldest_first),
    suite_test(a_session_claims_elsewhere_while_a_run_has_a_cooldown),
    suite_test(a_target_is_worked_on_at_its_home),
    {0},
};
