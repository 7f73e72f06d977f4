/* Many threads on one store. */
#include "contract.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 64, ADDITIONS = 20 };

struct work {
    struct ts_store *store;
    int number;
    uint64_t failures; /* number of unexpected results */
    char said[240];    /* text of the last unexpected result */
};

static atomic_bool over;
static atomic_int rounds;

static void note(struct work *work, const struct ts_call *call) {
    work->failures++;
    snprintf(work->said, sizeof work->said, "%s", call->error.text);
}

static void run_threads(struct ts_store *store, void *(*body)(void *), struct work *works) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        works[i] = (struct work){.store = store, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, body, &works[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (works[i].failures > 0)
            fail_msg("thread %d: %s", i, works[i].said);
}

static void *add_up(void *of) {
    struct work *work = of;
    for (int i = 0; i < ADDITIONS; i++) {
        const struct ts_op op = contract_add("n", 1, INT64_MAX);
        const struct ts_call call =
            contract_run_apply(work->store, &op, 1, contract_deadline_ns(CONTRACT_LONG_MS));
        if (call.error.result != TS_STORE_OK)
            note(work, &call);
    }
    return NULL;
}

static void additions_of_64_threads_are_all_counted(void **state) {
    struct contract_world *world = *state;
    struct work works[THREADS];
    run_threads(world->store, add_up, works);
    expect_content(world, "n", "1280");
    assert_int_equal(THREADS * ADDITIONS, 1280);
}

static void *take_one(void *of) {
    struct work *work = of;
    const struct ts_op op = contract_add("n", 1, THREADS / 2);
    const struct ts_call call =
        contract_run_apply(work->store, &op, 1, contract_deadline_ns(CONTRACT_LONG_MS));
    if (call.error.result == TS_STORE_OK)
        atomic_fetch_add(&rounds, 1);
    else if (call.error.result != TS_STORE_LIMIT)
        note(work, &call);
    return NULL;
}

static void a_limit_holds_against_64_threads(void **state) {
    struct contract_world *world = *state;
    struct work works[THREADS];
    atomic_store(&rounds, 0);
    run_threads(world->store, take_one, works);
    assert_int_equal(atomic_load(&rounds), THREADS / 2);
    expect_content(world, "n", "32");
}

static void *insert_one(void *of) {
    struct work *work = of;
    const struct ts_op ops[] = {contract_check("k", 0), contract_put("k", "1")};
    const struct ts_call call =
        contract_run_apply(work->store, ops, 2, contract_deadline_ns(CONTRACT_LONG_MS));
    if (call.error.result == TS_STORE_OK)
        atomic_fetch_add(&rounds, 1);
    else if (call.error.result != TS_STORE_CHECK_FAILED)
        note(work, &call);
    return NULL;
}

static void of_64_inserts_one_succeeds(void **state) {
    struct contract_world *world = *state;
    struct work works[THREADS];
    atomic_store(&rounds, 0);
    run_threads(world->store, insert_one, works);
    assert_int_equal(atomic_load(&rounds), 1);
}

/* Moves amounts between two of eight counters. A batch can name its two keys in either order. */
static void *move(void *of) {
    struct work *work = of;
    for (int i = 0; i < 10; i++) {
        char from[8], to[8];
        snprintf(from, sizeof from, "acc%d", (work->number + i) % 8);
        snprintf(to, sizeof to, "acc%d", (work->number + i + 1 + i % 7) % 8);
        const struct ts_op ops[] = {contract_add(from, -1, 1000000), contract_add(to, 1, 1000000)};
        const struct ts_call call =
            contract_run_apply(work->store, ops, 2, contract_deadline_ns(CONTRACT_LONG_MS));
        /* An engine handles deadlocks itself, but may report one as a conflict. */
        if (call.error.result != TS_STORE_OK && call.error.result != TS_STORE_LOCK_CONFLICT)
            note(work, &call);
    }
    return NULL;
}

static void batches_on_crossing_keys_do_not_stop_each_other(void **state) {
    struct contract_world *world = *state;
    for (int i = 0; i < 8; i++) {
        char key[8];
        snprintf(key, sizeof key, "acc%d", i);
        expect_apply(world->store, TS_STORE_OK, contract_put(key, "1000"));
    }
    struct work works[THREADS];
    run_threads(world->store, move, works);
    struct ts_call scan = {
        .kind = TS_CALL_SCAN, .from = B("acc"), .to = B("acd"), .limit = 100, .rows = &world->rows};
    (void)ts_store_run(world->store, &scan);
    expect_result(&scan, TS_STORE_OK);
    assert_int_equal(world->rows.count, 8);
    long total = 0;
    for (size_t i = 0; i < 8; i++) {
        char text[24];
        snprintf(text, sizeof text, "%.*s", (int)world->rows.rows[i].value.len,
                 (const char *)world->rows.rows[i].value.data);
        total += strtol(text, NULL, 10);
    }
    assert_int_equal(total, 8000);
}

/* Repeatedly applies a batch that checks a shared key, and puts a key that no other thread writes. */
static void *check_on(void *of) {
    struct work *work = of;
    struct ts_rows rows = {0};
    char own[16];
    snprintf(own, sizeof own, "own%d", work->number);
    while (!atomic_load(&over)) {
        const struct ts_bytes key = B("hot");
        struct ts_call read = {.kind = TS_CALL_READ, .keys = &key, .key_count = 1, .rows = &rows};
        if (ts_store_run(work->store, &read) != TS_STORE_OK) {
            note(work, &read);
            break;
        }
        const struct ts_op ops[] = {contract_check("hot", rows.rows[0].version), contract_put(own, "1")};
        const struct ts_call call =
            contract_run_apply(work->store, ops, 2, contract_deadline_ns(CONTRACT_LONG_MS));
        if (call.error.result == TS_STORE_OK)
            atomic_fetch_add(&rounds, 1);
        else if (call.error.result != TS_STORE_CHECK_FAILED && call.error.result != TS_STORE_LOCK_CONFLICT) {
            note(work, &call);
            break;
        }
    }
    ts_rows_release(&rows);
    return NULL;
}

static void *write_among_checkers(void *of) {
    struct work *work = of;
    for (int i = 0; i < 5; i++) {
        /* Waits until the other threads are active again. */
        int seen = atomic_load(&rounds);
        while (atomic_load(&rounds) < seen + THREADS && work->failures == 0) {
            struct ts_call now = {.kind = TS_CALL_NOW};
            if (ts_store_run(work->store, &now) != TS_STORE_OK)
                note(work, &now);
        }
        const struct ts_op op = contract_put("hot", "new");
        const struct ts_call call =
            contract_run_apply(work->store, &op, 1, contract_deadline_ns(CONTRACT_LONG_MS / 2));
        if (call.error.result != TS_STORE_OK)
            note(work, &call);
    }
    atomic_store(&over, true);
    return NULL;
}

static void *check_or_write(void *of) {
    struct work *work = of;
    return work->number == 0 ? write_among_checkers(of) : check_on(of);
}

static void a_writer_gets_in_among_threads_that_check_its_key(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("hot", "1"));
    struct work works[THREADS];
    atomic_store(&over, false);
    atomic_store(&rounds, 0);
    run_threads(world->store, check_or_write, works);
    expect_content(world, "hot", "new");
}

/* Writes two keys that always change together, so that readers must see both changes or none. */
static void *write_pairs(void *of) {
    struct work *work = of;
    for (int i = 0; i < 60; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        const struct ts_op ops[] = {contract_put("pair-a", value), contract_put("pair-z", value)};
        const struct ts_call call =
            contract_run_apply(work->store, ops, 2, contract_deadline_ns(CONTRACT_LONG_MS));
        if (call.error.result != TS_STORE_OK)
            note(work, &call);
    }
    atomic_store(&over, true);
    return NULL;
}

static void look_at_pair(struct work *work, struct ts_call *call) {
    (void)ts_store_run(work->store, call);
    const struct ts_rows *rows = call->rows;
    if (call->error.result != TS_STORE_OK)
        note(work, call);
    else if (rows->count != 2 || !ts_bytes_equal(rows->rows[0].value, rows->rows[1].value)) {
        work->failures++;
        snprintf(work->said, sizeof work->said, "a torn pair");
    }
}

static void *read_pairs(void *of) {
    struct work *work = of;
    struct ts_rows rows = {0};
    const struct ts_bytes keys[] = {B("pair-a"), B("pair-z")};
    while (!atomic_load(&over) && work->failures == 0) {
        struct ts_call scan = {.kind = TS_CALL_SCAN, .from = B("pair-"), .limit = 5, .rows = &rows};
        look_at_pair(work, &scan);
        struct ts_call read = {.kind = TS_CALL_READ, .keys = keys, .key_count = 2, .rows = &rows};
        look_at_pair(work, &read);
    }
    ts_rows_release(&rows);
    return NULL;
}

static void *write_or_read_pairs(void *of) {
    struct work *work = of;
    return work->number == 0 ? write_pairs(of) : work->number < 5 ? read_pairs(of) : NULL;
}

static void a_scan_and_a_read_are_of_one_snapshot(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("pair-a", "x"), contract_put("pair-z", "x"));
    struct work works[THREADS];
    atomic_store(&over, false);
    run_threads(world->store, write_or_read_pairs, works);
}

static void *promise_and_finish(void *of) {
    struct work *work = of;
    for (int i = 0; i < 5; i++) {
        char gid[32];
        snprintf(gid, sizeof gid, "gid.%d.%d", work->number, i);
        const struct ts_op op = contract_add("n", 1, INT64_MAX);
        struct ts_call call = contract_run_prepare(work->store, gid, &op, 1);
        if (call.error.result != TS_STORE_OK) {
            note(work, &call);
            continue;
        }
        bool commits = (work->number + i) % 2 == 0;
        call = contract_run_gid(work->store, commits ? TS_CALL_COMMIT : TS_CALL_ABORT, gid);
        if (call.error.result != TS_STORE_OK)
            note(work, &call);
        else if (commits)
            atomic_fetch_add(&rounds, 1);
    }
    return NULL;
}

static void promises_of_16_threads_on_one_key_take_turns(void **state) {
    struct contract_world *world = *state;
    struct work works[THREADS];
    pthread_t threads[16];
    atomic_store(&rounds, 0);
    for (int i = 0; i < 16; i++) {
        works[i] = (struct work){.store = world->store, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, promise_and_finish, &works[i]), 0);
    }
    for (int i = 0; i < 16; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 16; i++)
        if (works[i].failures > 0)
            fail_msg("thread %d: %s", i, works[i].said);
    char total[16];
    snprintf(total, sizeof total, "%d", atomic_load(&rounds));
    expect_content(world, "n", total);
    assert_int_equal(contract_promises(world), 0);
}

const struct CMUnitTest contract_thread_tests[] = {
    contract_test(additions_of_64_threads_are_all_counted),
    contract_test(a_limit_holds_against_64_threads),
    contract_test(of_64_inserts_one_succeeds),
    contract_test(batches_on_crossing_keys_do_not_stop_each_other),
    contract_test(a_writer_gets_in_among_threads_that_check_its_key),
    contract_test(a_scan_and_a_read_are_of_one_snapshot),
    contract_test(promises_of_16_threads_on_one_key_take_turns),
    {0},
};
