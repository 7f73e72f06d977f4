/* Promises, and which calls wait for them. */
#include "contract.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void a_promise_shows_nothing_until_it_is_committed(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("a", "old"), contract_put("gone", "1"),
                 contract_put("n", "5"));
    uint64_t version = contract_version(world, "a");
    expect_prepare(world->store, TS_STORE_OK, "g", contract_put("a", "new"), contract_del("gone"),
                   contract_add("n", 2, 100), contract_put("b", "made"));
    expect_content(world, "a", "old");
    assert_int_equal(contract_version(world, "a"), version);
    expect_content(world, "b", NULL);
    expect_commit(world->store, TS_STORE_OK, "g");
    expect_content(world, "a", "new");
    assert_int_not_equal(contract_version(world, "a"), version);
    expect_content(world, "gone", NULL);
    expect_content(world, "n", "7");
    expect_content(world, "b", "made");
    assert_int_equal(contract_promises(world), 0);
}

static void an_aborted_promise_leaves_nothing(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("a", "old"));
    uint64_t version = contract_version(world, "a");
    expect_prepare(world->store, TS_STORE_OK, "g", contract_put("a", "new"), contract_put("b", "1"));
    expect_abort(world->store, TS_STORE_OK, "g");
    expect_content(world, "a", "old");
    assert_int_equal(contract_version(world, "a"), version);
    expect_content(world, "b", NULL);
    expect_apply(world->store, TS_STORE_OK, contract_check("a", version), contract_put("a", "next"));
    assert_int_equal(contract_promises(world), 0);
}

static void finishing_a_promise_again_reports_no_such_promise(void **state) {
    struct contract_world *world = *state;
    expect_prepare(world->store, TS_STORE_OK, "c", contract_put("a", "1"));
    expect_commit(world->store, TS_STORE_OK, "c");
    expect_apply(world->store, TS_STORE_OK, contract_put("a", "2"));
    expect_commit(world->store, TS_STORE_NO_SUCH_PROMISE, "c");
    expect_abort(world->store, TS_STORE_NO_SUCH_PROMISE, "c");
    expect_content(world, "a", "2");
    expect_prepare(world->store, TS_STORE_OK, "d", contract_put("a", "3"));
    expect_abort(world->store, TS_STORE_OK, "d");
    expect_abort(world->store, TS_STORE_NO_SUCH_PROMISE, "d");
    expect_commit(world->store, TS_STORE_NO_SUCH_PROMISE, "d");
    expect_commit(world->store, TS_STORE_NO_SUCH_PROMISE, "never");
    expect_content(world, "a", "2");
}

static void a_gid_is_promised_once_at_a_time(void **state) {
    struct contract_world *world = *state;
    expect_prepare(world->store, TS_STORE_OK, "g", contract_put("a", "1"));
    expect_prepare(world->store, TS_STORE_PROMISE_EXISTS, "g", contract_put("other", "1"));
    /* The prepare fails at once, even if its batch would have to wait for the locks of that promise. */
    expect_prepare(world->store, TS_STORE_PROMISE_EXISTS, "g", contract_put("a", "1"));
    expect_commit(world->store, TS_STORE_OK, "g");
    expect_content(world, "other", NULL);
}

static void a_prepare_fails_as_an_apply_would(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("a", "x"));
    expect_prepare(world->store, TS_STORE_CHECK_FAILED, "g", contract_check("a", UINT32_MAX),
                   contract_put("b", "1"));
    expect_prepare(world->store, TS_STORE_NOT_A_COUNTER, "g", contract_add("a", 1, 5));
    expect_prepare(world->store, TS_STORE_LIMIT, "g", contract_add("n", 6, 5));
    expect_prepare(world->store, TS_STORE_CHECK_FAILED, "g", contract_check("a", 0), contract_put("a", "1"));
    assert_int_equal(contract_promises(world), 0);
    expect_commit(world->store, TS_STORE_NO_SUCH_PROMISE, "g");
    /* The failed prepare leaves no lock. */
    expect_apply(world->store, TS_STORE_OK, contract_put("a", "1"), contract_put("b", "1"),
                 contract_put("n", "1"));
}

static void promises_are_listed_by_gid_with_their_time(void **state) {
    struct contract_world *world = *state;
    uint64_t before_ms = contract_now_ms(world->store);
    expect_prepare(world->store, TS_STORE_OK, "ts.b", contract_put("b", "1"));
    expect_prepare(world->store, TS_STORE_OK, "ts.c", contract_put("c", "1"));
    expect_prepare(world->store, TS_STORE_OK, "ts.a", contract_put("a", "1"));
    uint64_t after_ms = contract_now_ms(world->store);
    expect_abort(world->store, TS_STORE_OK, "ts.b");
    assert_int_equal(contract_promises(world), 2);
    assert_true(ts_bytes_equal(world->rows.rows[0].key, B("ts.a")));
    assert_true(ts_bytes_equal(world->rows.rows[1].key, B("ts.c")));
    for (size_t i = 0; i < 2; i++)
        assert_true(world->rows.rows[i].version >= before_ms && world->rows.rows[i].version <= after_ms);
}

static void a_promise_blocks_changes_of_keys_that_it_has_read_or_changed(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("seen", "1"), contract_put("a", "1"));
    uint64_t seen = contract_version(world, "seen"), a = contract_version(world, "a");
    expect_prepare(world->store, TS_STORE_OK, "g", contract_check("seen", seen), contract_put("a", "2"),
                   contract_put("new", "1"), contract_add("n", 1, 5));
    expect_blocked(world->store, contract_put("seen", "2"));
    expect_blocked(world->store, contract_del("seen"));
    expect_blocked(world->store, contract_put("a", "3"));
    expect_blocked(world->store, contract_check("a", a), contract_put("z", "1"));
    expect_blocked(world->store, contract_put("new", "2"));
    expect_blocked(world->store, contract_check("new", 0), contract_put("new", "2"));
    /* A read of a key that the promise will create waits, too. */
    expect_blocked(world->store, contract_check("new", UINT64_C(1) << 62));
    expect_blocked(world->store, contract_add("n", 1, 5));
    /* Other calls succeed. Even a key that the promise checks may be checked, because neither batch writes
     * it. */
    expect_apply(world->store, TS_STORE_OK, contract_check("seen", seen), contract_put("y", "1"));
    expect_prepare(world->store, TS_STORE_OK, "h", contract_check("seen", seen), contract_put("other", "1"));
    expect_content(world, "a", "1");
    expect_commit(world->store, TS_STORE_OK, "g");
    expect_apply(world->store, TS_STORE_OK, contract_put("a", "3"), contract_put("new", "2"),
                 contract_add("n", 1, 5));
    expect_blocked(world->store, contract_put("seen", "2"));
    expect_abort(world->store, TS_STORE_OK, "h");
    expect_apply(world->store, TS_STORE_OK, contract_put("seen", "2"));
    expect_content(world, "n", "2");
    expect_content(world, "z", NULL);
}

/* A large promise blocks other calls, even if it has more keys than a server has locks. */
static void a_large_promise_blocks_others_from_creating_its_keys(void **state) {
    struct contract_world *world = *state;
    enum { MANY = 100 };
    static char keys[MANY][16];
    struct ts_op ops[2 * MANY];
    for (size_t i = 0; i < MANY; i++) {
        snprintf(keys[i], sizeof keys[i], "key%02zu", i);
        ops[2 * i] = contract_check(keys[i], 0);
        ops[2 * i + 1] = contract_put(keys[i], "1");
    }
    const struct ts_call promise = contract_run_prepare(world->store, "g", ops, sizeof ops / sizeof ops[0]);
    expect_result(&promise, TS_STORE_OK);
    for (size_t i = 0; i < MANY; i += 33) {
        expect_blocked(world->store, contract_put(keys[i], "2"));
        expect_blocked(world->store, contract_check(keys[i], 0), contract_put(keys[i], "2"));
        /* A batch that is already too late waits for its locks before it fails. So a caller can wait for a
         * key without changing anything. */
        expect_blocked(world->store, contract_check(keys[i], 0), contract_put(keys[i], "2"),
                       contract_before(0));
    }
    expect_apply(world->store, TS_STORE_LATE, contract_check("none", 0), contract_put("none", "1"),
                 contract_before(0));
    expect_commit(world->store, TS_STORE_OK, "g");
    for (size_t i = 0; i < MANY; i += 33) {
        expect_apply(world->store, TS_STORE_CHECK_FAILED, contract_check(keys[i], 0),
                     contract_put(keys[i], "2"), contract_before(0));
        expect_content(world, keys[i], "1");
    }
    expect_content(world, "none", NULL);
}

static void promises_and_their_locks_survive_a_reopen(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("seen", "1"), contract_put("n", "5"),
                 contract_put("d", "1"));
    uint64_t seen = contract_version(world, "seen");
    expect_prepare(world->store, TS_STORE_OK, "g", contract_check("seen", seen), contract_put("a", "2"),
                   contract_add("n", 3, 10), contract_del("d"));
    expect_prepare(world->store, TS_STORE_OK, "h", contract_put("b", "1"));
    assert_int_equal(contract_promises(world), 2);
    uint64_t time_ms = world->rows.rows[0].version;
    contract_reopen(world);
    assert_int_equal(contract_promises(world), 2);
    assert_true(ts_bytes_equal(world->rows.rows[0].key, B("g")));
    assert_int_equal(world->rows.rows[0].version, time_ms);
    expect_blocked(world->store, contract_put("seen", "2"));
    expect_blocked(world->store, contract_put("a", "2"));
    expect_blocked(world->store, contract_add("n", 1, 10));
    expect_apply(world->store, TS_STORE_OK, contract_check("seen", seen), contract_put("free", "1"));
    expect_prepare(world->store, TS_STORE_PROMISE_EXISTS, "g", contract_put("x", "1"));
    expect_commit(world->store, TS_STORE_OK, "g");
    expect_abort(world->store, TS_STORE_OK, "h");
    expect_content(world, "a", "2");
    expect_content(world, "n", "8");
    expect_content(world, "d", NULL);
    expect_content(world, "b", NULL);
    contract_reopen(world);
    assert_int_equal(contract_promises(world), 0);
    expect_commit(world->store, TS_STORE_NO_SUCH_PROMISE, "g");
    expect_content(world, "a", "2");
    expect_apply(world->store, TS_STORE_OK, contract_put("a", "3"), contract_put("b", "3"),
                 contract_put("seen", "3"));
}

static void a_value_of_a_promise_has_a_version_of_its_own(void **state) {
    struct contract_world *world = *state;
    expect_prepare(world->store, TS_STORE_OK, "g", contract_put("a", "1"));
    expect_apply(world->store, TS_STORE_OK, contract_put("b", "1"));
    expect_commit(world->store, TS_STORE_OK, "g");
    uint64_t first = contract_version(world, "a");
    contract_reopen(world);
    assert_int_equal(contract_version(world, "a"), first);
    expect_apply(world->store, TS_STORE_OK, contract_check("a", first), contract_put("a", "2"));
    assert_int_not_equal(contract_version(world, "a"), first);
}

static void waiting_ends_at_the_deadline_and_leaves_no_lock(void **state) {
    struct contract_world *world = *state;
    expect_prepare(world->store, TS_STORE_OK, "g", contract_put("m", "1"));
    uint64_t begin_ns = contract_deadline_ns(0);
    /* This batch gets the lock of "a", and waits for "m". */
    expect_blocked(world->store, contract_put("a", "1"), contract_put("m", "2"), contract_put("z", "1"));
    assert_true(contract_deadline_ns(0) - begin_ns >= (uint64_t)CONTRACT_SHORT_MS * 1000000);
    expect_apply(world->store, TS_STORE_OK, contract_put("a", "2"), contract_put("z", "2"));
    expect_commit(world->store, TS_STORE_OK, "g");
    expect_apply(world->store, TS_STORE_OK, contract_put("m", "3"));
    expect_content(world, "a", "2");
}

static void a_lock_is_waited_for_no_longer_than_asked(void **state) {
    struct contract_world *world = *state;
    expect_prepare(world->store, TS_STORE_OK, "g", contract_put("m", "1"));
    const struct ts_op ops[] = {contract_put("a", "1"), contract_put("m", "2"), contract_put("z", "1")};
    struct ts_call call = {.kind = TS_CALL_APPLY,
                           .batch = {ops, 3},
                           .deadline_ns = contract_deadline_ns(CONTRACT_LONG_MS),
                           .lock_wait_max_us = CONTRACT_SHORT_MS * 1000};
    (void)ts_store_run(world->store, &call);
    expect_result(&call, TS_STORE_LOCK_CONFLICT);
    call.kind = TS_CALL_PREPARE;
    call.gid = "h";
    (void)ts_store_run(world->store, &call);
    expect_result(&call, TS_STORE_LOCK_CONFLICT);
    /* Both calls have released all their locks. From here on, a call may wait without a limit again. */
    expect_abort(world->store, TS_STORE_NO_SUCH_PROMISE, "h");
    expect_apply(world->store, TS_STORE_OK, contract_put("a", "2"), contract_put("z", "2"));
    expect_blocked(world->store, contract_put("m", "2"));
    expect_commit(world->store, TS_STORE_OK, "g");
    call.kind = TS_CALL_APPLY;
    (void)ts_store_run(world->store, &call);
    expect_result(&call, TS_STORE_OK);
    expect_content(world, "m", "2");
}

/* Returns an APPLY that is not started, so that the test can start it and continue it step by step. */
static struct ts_call start_apply(struct ts_store *store, const struct ts_op *ops, size_t count) {
    return (struct ts_call){.kind = TS_CALL_APPLY,
                            .batch = {ops, count},
                            .deadline_ns = contract_deadline_ns(CONTRACT_LONG_MS),
                            .store = store};
}

static void finish(struct ts_call *call) {
    struct ts_call *const calls[] = {call};
    while (!ts_store_poll(call))
        ts_store_wait(calls, 1, 0);
}

static void a_cancelled_call_changes_nothing_and_leaves_no_lock(void **state) {
    struct contract_world *world = *state;
    expect_prepare(world->store, TS_STORE_OK, "g", contract_put("m", "1"));
    const struct ts_op ops[] = {contract_put("a", "1"), contract_put("m", "2")};
    struct ts_call call = start_apply(world->store, ops, 2);
    ts_store_start(world->store, &call);
    assert_false(ts_store_poll(&call));
    ts_store_cancel(&call);
    assert_true(call.done);
    assert_true(call.error.result == TS_STORE_TIMED_OUT || call.error.result == TS_STORE_UNKNOWN);
    ts_store_cancel(&call);
    expect_abort(world->store, TS_STORE_OK, "g");
    expect_apply(world->store, TS_STORE_OK, contract_put("m", "3"));
    expect_content(world, "m", "3");
}

static void a_claim_that_gave_up_does_not_block_later_ones(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("k", "1"));
    uint64_t version = contract_version(world, "k");
    expect_prepare(world->store, TS_STORE_OK, "g", contract_check("k", version), contract_put("x", "1"));
    const struct ts_op write = contract_put("k", "2");
    const struct ts_op checks[] = {contract_check("k", version), contract_put("y", "1")};
    struct ts_call writer = start_apply(world->store, &write, 1);
    writer.deadline_ns = contract_deadline_ns(CONTRACT_SHORT_MS);
    struct ts_call reader = start_apply(world->store, checks, 2);
    ts_store_start(world->store, &writer);
    ts_store_start(world->store, &reader);
    finish(&writer);
    expect_result(&writer, TS_STORE_TIMED_OUT);
    finish(&reader);
    expect_result(&reader, TS_STORE_OK);
    expect_abort(world->store, TS_STORE_OK, "g");
}

struct finisher {
    struct ts_store *store;
    const char *gid;
    long after_ms;
    struct ts_call call;
};

static void *finish_later(void *of) {
    struct finisher *finisher = of;
    const struct timespec pause = {.tv_nsec = finisher->after_ms * 1000000};
    nanosleep(&pause, NULL);
    finisher->call = contract_run_gid(finisher->store, TS_CALL_COMMIT, finisher->gid);
    return NULL;
}

static void a_blocked_batch_continues_when_the_promise_ends(void **state) {
    struct contract_world *world = *state;
    expect_prepare(world->store, TS_STORE_OK, "g", contract_add("n", 5, 100));
    struct finisher finisher = {.store = world->store, .gid = "g", .after_ms = 50};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, finish_later, &finisher), 0);
    expect_apply(world->store, TS_STORE_OK, contract_add("n", 1, 100));
    pthread_join(thread, NULL);
    expect_result(&finisher.call, TS_STORE_OK);
    expect_content(world, "n", "6");
}

static void one_thread_drives_two_stores(void **state) {
    struct contract_world *world = *state;
    void *place = contract_fixture->set_up();
    struct ts_store *other = contract_fixture->open(place);
    struct ts_store *const stores[] = {world->store, other};
    struct finisher finishers[2] = {{.store = world->store, .gid = "g", .after_ms = 80},
                                    {.store = other, .gid = "g", .after_ms = 30}};
    pthread_t threads[2];
    const struct ts_op op = contract_add("n", 1, 100);
    struct ts_call calls[2];
    for (size_t i = 0; i < 2; i++) {
        expect_prepare(stores[i], TS_STORE_OK, "g", contract_put("n", "10"));
        calls[i] = start_apply(stores[i], &op, 1);
        ts_store_start(stores[i], &calls[i]);
        assert_false(ts_store_poll(&calls[i]));
        assert_int_equal(pthread_create(&threads[i], NULL, finish_later, &finishers[i]), 0);
    }
    struct ts_call *const waiting[] = {&calls[0], NULL, &calls[1]};
    while (!calls[0].done || !calls[1].done) {
        ts_store_wait(waiting, 3, 0);
        (void)ts_store_poll(&calls[0]);
        (void)ts_store_poll(&calls[1]);
    }
    for (size_t i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        expect_result(&calls[i], TS_STORE_OK);
        expect_result(&finishers[i].call, TS_STORE_OK);
    }
    expect_content(world, "n", "11");
    ts_store_close(other);
    contract_fixture->tear_down(place);
}

static void waiting_without_calls_returns_at_once(void **state) {
    (void)state;
    struct ts_call *const none[] = {NULL, NULL};
    ts_store_wait(none, 2, 0);
    ts_store_wait(NULL, 0, 0);
}

static void many_promises_stand_side_by_side(void **state) {
    struct contract_world *world = *state;
    enum { MANY = 20 };
    char gids[MANY][16], keys[MANY][16];
    for (int i = 0; i < MANY; i++) {
        snprintf(gids[i], sizeof gids[i], "gid.%02d", i);
        snprintf(keys[i], sizeof keys[i], "key%02d", i);
        expect_prepare(world->store, TS_STORE_OK, gids[i], contract_put(keys[i], "1"));
    }
    assert_int_equal(contract_promises(world), MANY);
    for (int i = 0; i < MANY; i += 2)
        expect_commit(world->store, TS_STORE_OK, gids[i]);
    assert_int_equal(contract_promises(world), MANY / 2);
    for (int i = 1; i < MANY; i += 2)
        expect_abort(world->store, TS_STORE_OK, gids[i]);
    for (int i = 0; i < MANY; i++)
        expect_content(world, keys[i], i % 2 == 0 ? "1" : NULL);
}

static void a_promise_of_checks_alone_holds_them(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("k", "1"));
    uint64_t version = contract_version(world, "k");
    expect_prepare(world->store, TS_STORE_OK, "g", contract_check("k", version));
    contract_reopen(world);
    expect_blocked(world->store, contract_put("k", "2"));
    expect_commit(world->store, TS_STORE_OK, "g");
    assert_int_equal(contract_version(world, "k"), version);
    expect_apply(world->store, TS_STORE_OK, contract_put("k", "2"));
}

const struct CMUnitTest contract_promise_tests[] = {
    contract_test(a_promise_shows_nothing_until_it_is_committed),
    contract_test(an_aborted_promise_leaves_nothing),
    contract_test(finishing_a_promise_again_reports_no_such_promise),
    contract_test(a_gid_is_promised_once_at_a_time),
    contract_test(a_prepare_fails_as_an_apply_would),
    contract_test(promises_are_listed_by_gid_with_their_time),
    contract_test(a_promise_blocks_changes_of_keys_that_it_has_read_or_changed),
    contract_test(a_large_promise_blocks_others_from_creating_its_keys),
    contract_test(promises_and_their_locks_survive_a_reopen),
    contract_test(a_value_of_a_promise_has_a_version_of_its_own),
    contract_test(waiting_ends_at_the_deadline_and_leaves_no_lock),
    contract_test(a_lock_is_waited_for_no_longer_than_asked),
    contract_test(a_cancelled_call_changes_nothing_and_leaves_no_lock),
    contract_test(a_claim_that_gave_up_does_not_block_later_ones),
    contract_test(a_blocked_batch_continues_when_the_promise_ends),
    contract_test(one_thread_drives_two_stores),
    contract_test(waiting_without_calls_returns_at_once),
    contract_test(many_promises_stand_side_by_side),
    contract_test(a_promise_of_checks_alone_holds_them),
    {0},
};
