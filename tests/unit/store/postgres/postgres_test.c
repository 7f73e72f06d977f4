#include "pg_store.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int start_server(void **state) {
    (void)state;
    pg = support_pg_start(
        &(struct support_pg_options){.max_prepared_transactions = 20, .without_fsync = true});
    return 0;
}

static void a_batch_is_applied_as_a_whole(void **state) {
    (void)state;
    apply_expecting(TS_STORE_OK, store, PUT("a", "1"), ADD("n", 5, 100), DEL("never"));
    assert_string_equal(read_key(store, TS_BYTES("a")).value, "1");
    assert_string_equal(read_key(store, TS_BYTES("n")).value, "5");
    assert_int_equal(read_key(store, TS_BYTES("never")).version, 0);
    uint64_t version = read_key(store, TS_BYTES("a")).version;
    apply_expecting(TS_STORE_OK, store, CHECK("a", version), PUT("a", "2"));
    struct ts_call late = apply_call(BATCH(PUT("b", "x"), CHECK("a", version)), 0);
    run_expecting(TS_STORE_CHECK_FAILED, store, &late);
    assert_int_equal(late.error.op, 1);
    assert_int_equal(read_key(store, TS_BYTES("b")).version, 0);
    apply_expecting(TS_STORE_OK, store, DEL("a"), DEL("n"));
    assert_int_equal(read_key(store, TS_BYTES("a")).version, 0);
    apply_expecting(TS_STORE_OK, store, CHECK("a", 0), PUT("a", "3"));
    apply_expecting(TS_STORE_CHECK_FAILED, store, CHECK("a", 0), PUT("a", "4"));
    assert_true(read_key(store, TS_BYTES("a")).version > version);
}

static void counters_keep_their_limits(void **state) {
    (void)state;
    apply_expecting(TS_STORE_OK, store, ADD("n", INT64_MAX, INT64_MAX), PUT("t", "x1"), PUT("e", ""),
                    PUT("z", "007"));
    struct ts_call over = apply_call(BATCH(PUT("b", ""), ADD("n", 1, INT64_MAX)), 0);
    run_expecting(TS_STORE_LIMIT, store, &over);
    assert_int_equal(over.error.op, 1);
    apply_expecting(TS_STORE_OK, store, ADD("n", -INT64_MAX, INT64_MAX));
    apply_expecting(TS_STORE_LIMIT, store, ADD("n", -1, INT64_MAX));
    apply_expecting(TS_STORE_LIMIT, store, ADD("m", INT64_MIN, INT64_MAX));
    apply_expecting(TS_STORE_LIMIT, store, ADD("m", 6, 5));
    apply_expecting(TS_STORE_NOT_A_COUNTER, store, ADD("t", 1, 5));
    apply_expecting(TS_STORE_NOT_A_COUNTER, store, ADD("e", 1, 5));
    apply_expecting(TS_STORE_OK, store, ADD("z", 1, 8));
    assert_string_equal(read_key(store, TS_BYTES("z")).value, "8");
    assert_string_equal(read_key(store, TS_BYTES("n")).value, "0");
    assert_int_equal(read_key(store, TS_BYTES("m")).version, 0);
}

static void before_uses_the_servers_clock(void **state) {
    (void)state;
    uint64_t now = now_of(store);
    struct ts_call late = apply_call(BATCH(PUT("a", "1"), BEFORE(now)), 0);
    run_expecting(TS_STORE_LATE, store, &late);
    assert_int_equal(late.error.op, 1);
    apply_expecting(TS_STORE_OK, store, PUT("a", "1"), BEFORE(now + 100000), BEFORE(UINT64_MAX));
    char *theirs =
        support_pg_sql(pg, database, "SELECT trunc(extract(epoch FROM clock_timestamp()) * 1000)::bigint");
    assert_true(strtoull(theirs, NULL, 10) - now < 60000);
    free(theirs);
}

static void a_promise_blocks_what_conflicts_and_nothing_else(void **state) {
    (void)state;
    apply_expecting(TS_STORE_OK, store, PUT("a", "1"), PUT("c", "1"), PUT("free", "1"));
    uint64_t version = read_key(store, TS_BYTES("c")).version;
    prepare_expecting(TS_STORE_OK, store, "g1", PUT("a", "2"), PUT("new", "1"), CHECK("c", version));
    const struct ts_batch blocked[] = {BATCH(PUT("a", "3")),
                                       BATCH(DEL("a")),
                                       BATCH(ADD("new", 1, 9)),
                                       BATCH(PUT("new", "3")),
                                       BATCH(DEL("new")),
                                       BATCH(PUT("c", "3")),
                                       BATCH(CHECK("new", 0), PUT("new", "1"))};
    for (size_t i = 0; i < sizeof blocked / sizeof blocked[0]; i++) {
        struct ts_call call = apply_call(blocked[i], in_ms(300));
        run_expecting(TS_STORE_TIMED_OUT, store, &call);
    }
    apply_expecting(TS_STORE_OK, store, PUT("free", "2"), CHECK("c", version));
    finish_expecting(TS_STORE_OK, store, TS_CALL_COMMIT, "g1");
    finish_expecting(TS_STORE_NO_SUCH_PROMISE, store, TS_CALL_COMMIT, "g1");
    finish_expecting(TS_STORE_NO_SUCH_PROMISE, store, TS_CALL_ABORT, "g1");
    assert_string_equal(read_key(store, TS_BYTES("a")).value, "2");
    apply_expecting(TS_STORE_OK, store, PUT("a", "3"), DEL("new"));
}

static void a_promise_that_fails_leaves_nothing(void **state) {
    (void)state;
    apply_expecting(TS_STORE_OK, store, PUT("a", "1"));
    prepare_expecting(TS_STORE_CHECK_FAILED, store, "g", PUT("b", "1"), CHECK("a", 999999));
    assert_int_equal(promises(store, NULL, 0), 0);
    /* The session whose transaction failed can be used again. */
    for (int i = 0; i < 3; i++)
        apply_expecting(TS_STORE_OK, store, PUT("b", "2"));
    prepare_expecting(TS_STORE_OK, store, "g", PUT("b", "3"));
    prepare_expecting(TS_STORE_PROMISE_EXISTS, store, "g", PUT("other", "3"));
    finish_expecting(TS_STORE_OK, store, TS_CALL_ABORT, "g");
    assert_string_equal(read_key(store, TS_BYTES("b")).value, "2");
    assert_int_equal(read_key(store, TS_BYTES("other")).version, 0);
}

static void the_longest_and_strangest_names_of_promises_work(void **state) {
    (void)state;
    char gid[TS_STORE_GID_MAX + 1], found[TS_STORE_GID_MAX + 1];
    memset(gid, 'g', sizeof gid - 1);
    gid[sizeof gid - 1] = '\0';
    memcpy(gid, "a'b\\c\"d%e$$;--", 14);
    prepare_expecting(TS_STORE_OK, store, gid, PUT("a", "1"));
    assert_int_equal(promises(store, found, sizeof found), 1);
    assert_string_equal(found, gid);
    finish_expecting(TS_STORE_OK, store, TS_CALL_COMMIT, gid);
    assert_string_equal(read_key(store, TS_BYTES("a")).value, "1");
    memset(gid, '\'', sizeof gid - 1);
    prepare_expecting(TS_STORE_OK, store, gid, PUT("a", "2"));
    finish_expecting(TS_STORE_OK, store, TS_CALL_ABORT, gid);
}

static void three_databases_of_one_server_are_three_stores(void **state) {
    (void)state;
    struct ts_store *others[2];
    for (int i = 0; i < 2; i++) {
        char name[40], sql[80];
        snprintf(name, sizeof name, "%s_%d", database, i);
        snprintf(sql, sizeof sql, "CREATE DATABASE %s", name);
        support_pg_do(pg, "postgres", sql);
        others[i] = open_url(support_pg_url(pg, name), (struct ts_store_options){0});
        write_meta(others[i], (struct ts_meta){0});
        /* All three stores have a promise of this name, although names must be unique on the server. */
        prepare_expecting(TS_STORE_OK, others[i], "same", PUT("k", "other"));
    }
    prepare_expecting(TS_STORE_OK, store, "same", PUT("k", "own"));
    char sql[120];
    snprintf(sql, sizeof sql, "BEGIN; CREATE TABLE x (y int); PREPARE TRANSACTION 'turnstone/0/foreign%s'",
             database);
    support_pg_do(pg, database, sql);
    char gid[80];
    assert_int_equal(promises(store, gid, sizeof gid), 1);
    assert_string_equal(gid, "same");
    finish_expecting(TS_STORE_OK, store, TS_CALL_COMMIT, "same");
    finish_expecting(TS_STORE_NO_SUCH_PROMISE, store, TS_CALL_COMMIT, "same");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(promises(others[i], NULL, 0), 1);
        finish_expecting(TS_STORE_OK, others[i], TS_CALL_ABORT, "same");
        assert_int_equal(read_key(others[i], TS_BYTES("k")).version, 0);
        ts_store_close(others[i]);
    }
    assert_string_equal(read_key(store, TS_BYTES("k")).value, "own");
    snprintf(sql, sizeof sql, "ROLLBACK PREPARED 'turnstone/0/foreign%s'", database);
    support_pg_do(pg, database, sql);
}

static void promises_have_the_time_when_they_were_made(void **state) {
    (void)state;
    uint64_t before = now_of(store);
    prepare_expecting(TS_STORE_OK, store, "b", PUT("a", "1"));
    prepare_expecting(TS_STORE_OK, store, "a", PUT("b", "1"));
    struct ts_rows rows = {0};
    struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &rows};
    run_expecting(TS_STORE_OK, store, &call);
    assert_int_equal(rows.count, 2);
    assert_true(rows.rows[0].key.data[0] == 'a');
    for (size_t i = 0; i < 2; i++) {
        /* A promise has the time at which its transaction was prepared. Both clocks are the server's. */
        assert_true(rows.rows[i].version + 1 >= before && rows.rows[i].version <= call.time_ms + 1);
    }
    ts_rows_release(&rows);
    finish_expecting(TS_STORE_OK, store, TS_CALL_ABORT, "a");
    finish_expecting(TS_STORE_OK, store, TS_CALL_ABORT, "b");
}

static void scans_are_ordered_and_cut(void **state) {
    (void)state;
    apply_expecting(TS_STORE_OK, store, PUT("b", "2"), PUT("a", "1"), PUT("\xff\x00", "4"), PUT("c", "3"),
                    PUT("\0", "0"));
    struct ts_rows rows = {0};
    struct ts_call call = {.kind = TS_CALL_SCAN, .rows = &rows, .limit = 100};
    run_expecting(TS_STORE_OK, store, &call);
    assert_int_equal(rows.count, 5);
    assert_false(rows.more);
    assert_true(rows.rows[0].key.data[0] == 0 && rows.rows[4].key.data[0] == 0xff);
    call.limit = 5;
    run_expecting(TS_STORE_OK, store, &call);
    assert_int_equal(rows.count, 5);
    call.limit = 2;
    call.from = TS_BYTES("a");
    run_expecting(TS_STORE_OK, store, &call);
    assert_int_equal(rows.count, 2);
    assert_true(rows.more);
    call.to = TS_BYTES("b");
    run_expecting(TS_STORE_OK, store, &call);
    assert_int_equal(rows.count, 1);
    assert_false(rows.more);
    call.from = TS_BYTES("bb");
    call.to = TS_BYTES("bc");
    run_expecting(TS_STORE_OK, store, &call);
    assert_int_equal(rows.count, 0);
    assert_true(call.time_ms > 0);
    ts_rows_release(&rows);
}

static void answers_end_before_they_are_too_large(void **state) {
    (void)state;
    const size_t len = TS_STORE_VALUE_MAX;
    uint8_t *value = malloc(len);
    for (size_t i = 0; i < len; i++)
        value[i] = (uint8_t)(i * 2654435761U >> 13);
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    struct ts_bytes keys[5];
    for (size_t i = 0; i < 5; i++) {
        keys[i] = ts_bytes_of_cstring(names[i]);
        struct ts_op put = {.kind = TS_OP_PUT, .key = keys[i], .value = {value, len}};
        struct ts_call call = apply_call((struct ts_batch){&put, 1}, in_ms(60000));
        run_expecting(TS_STORE_OK, store, &call);
    }
    struct ts_rows rows = {0};
    struct ts_call scan = {.kind = TS_CALL_SCAN, .rows = &rows, .limit = 100};
    run_expecting(TS_STORE_OK, store, &scan);
    assert_int_equal(rows.count, 3);
    assert_true(rows.more);
    assert_int_equal(rows.rows[2].value.len, len);
    assert_memory_equal(rows.rows[2].value.data, value, len);
    struct ts_call read = {.kind = TS_CALL_READ, .keys = keys, .key_count = 5, .rows = &rows};
    run_expecting(TS_STORE_TOO_LARGE, store, &read);
    read.key_count = 4;
    run_expecting(TS_STORE_OK, store, &read);
    assert_int_equal(rows.count, 4);
    ts_rows_release(&rows);
    free(value);
}

enum { MANY = TS_STORE_BATCH_OPS_MAX };

static void a_batch_at_the_limit_of_operations_works(void **state) {
    (void)state;
    struct ts_op *ops = calloc(MANY, sizeof *ops);
    char(*names)[16] = calloc(MANY, sizeof *names);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "k%zu", (i * 7919) % MANY);
        ops[i] = (struct ts_op){
            .kind = TS_OP_PUT, .key = ts_bytes_of_cstring(names[i]), .value = TS_BYTES_INIT("v")};
    }
    struct ts_call call = apply_call((struct ts_batch){ops, MANY}, in_ms(120000));
    run_expecting(TS_STORE_OK, store, &call);
    for (size_t i = 0; i < MANY; i++)
        ops[i].kind = TS_OP_DEL;
    run_expecting(TS_STORE_OK, store, &call);
    struct ts_rows rows = {0};
    struct ts_call scan = {.kind = TS_CALL_SCAN, .rows = &rows, .limit = 10};
    run_expecting(TS_STORE_OK, store, &scan);
    assert_int_equal(rows.count, 0);
    ts_rows_release(&rows);
    free(ops);
    free(names);
}

struct adder {
    pthread_t thread;
    struct ts_store *store;
    struct ts_call call;
    unsigned done;
};

static void *add_often(void *argument) {
    struct adder *adder = argument;
    for (int i = 0; i < 20; i++) {
        adder->call = apply_call(BATCH(ADD("n", 1, INT64_MAX), PUT("last", "x")), in_ms(60000));
        if (ts_store_run(adder->store, &adder->call) == TS_STORE_OK)
            adder->done++;
    }
    return NULL;
}

/* There are more threads than connections. Threads without a connection wait in order. */
static void many_threads_add_to_a_key_that_was_not_there(void **state) {
    (void)state;
    struct ts_store *narrow =
        open_url(support_pg_url(pg, database), (struct ts_store_options){.connections_max = 8});
    static struct adder adders[64];
    for (size_t i = 0; i < 64; i++) {
        adders[i] = (struct adder){.store = narrow};
        assert_int_equal(pthread_create(&adders[i].thread, NULL, add_often, &adders[i]), 0);
    }
    for (size_t i = 0; i < 64; i++) {
        pthread_join(adders[i].thread, NULL);
        expect_result(&adders[i].call, TS_STORE_OK, __FILE__, __LINE__);
        assert_int_equal(adders[i].done, 20);
    }
    assert_string_equal(read_key(store, TS_BYTES("n")).value, "1280");
    ts_store_close(narrow);
}

/* Applies two kinds of batches in turn, which check and write the same keys in opposite order. Batches of
 * different threads must not deadlock. If two such batches meet, one batch fails its check. */
static void *swap_often(void *argument) {
    struct adder *adder = argument;
    for (int i = 0; i < 100; i++) {
        uint64_t a = read_key(adder->store, TS_BYTES("a")).version,
                 b = read_key(adder->store, TS_BYTES("b")).version;
        adder->call = (i & 1) != 0
                          ? apply_call(BATCH(CHECK("b", b), PUT("a", "x"), CHECK("a", a)), in_ms(60000))
                          : apply_call(BATCH(CHECK("a", a), PUT("b", "x"), CHECK("b", b)), in_ms(60000));
        enum ts_store_result result = ts_store_run(adder->store, &adder->call);
        if (result != TS_STORE_OK && result != TS_STORE_CHECK_FAILED)
            return NULL;
        adder->done++;
    }
    return NULL;
}

static void batches_do_not_deadlock_one_another(void **state) {
    (void)state;
    apply_expecting(TS_STORE_OK, store, PUT("a", ""), PUT("b", ""));
    static struct adder adders[6];
    for (size_t i = 0; i < 6; i++) {
        adders[i] = (struct adder){.store = store};
        assert_int_equal(pthread_create(&adders[i].thread, NULL, swap_often, &adders[i]), 0);
    }
    for (size_t i = 0; i < 6; i++) {
        pthread_join(adders[i].thread, NULL);
        if (adders[i].done != 100)
            fail_msg("%s", adders[i].call.error.text);
    }
}

/* One thread starts five calls before it waits for any of them. */
static void one_thread_drives_several_calls(void **state) {
    (void)state;
    struct ts_call calls[5];
    struct ts_call *pointers[5];
    struct ts_batch batch = BATCH(ADD("n", 1, INT64_MAX));
    for (size_t i = 0; i < 5; i++) {
        calls[i] = apply_call(batch, in_ms(20000));
        pointers[i] = &calls[i];
        ts_store_start(store, &calls[i]);
    }
    for (size_t left = 5; left > 0;) {
        ts_store_wait(pointers, 5, 0);
        for (size_t i = 0; i < 5; i++) {
            if (pointers[i] == NULL || !ts_store_poll(pointers[i]))
                continue;
            expect_result(&calls[i], TS_STORE_OK, __FILE__, __LINE__);
            pointers[i] = NULL;
            left--;
        }
    }
    assert_string_equal(read_key(store, TS_BYTES("n")).value, "5");
}

/* BEFORE is compared with the time when the locks are held, not when the statement began. */
static void before_is_looked_at_after_waiting_for_locks(void **state) {
    (void)state;
    for (int insert = 0; insert < 2; insert++) {
        if (insert == 0)
            apply_expecting(TS_STORE_OK, store, PUT("k", "1"));
        else
            apply_expecting(TS_STORE_OK, store, DEL("k"));
        prepare_expecting(TS_STORE_OK, store, "g", PUT("k", "2"));
        struct ts_batch batch = BATCH(PUT("k", "3"), BEFORE(now_of(store) + 300));
        struct ts_call waiting = apply_call(batch, in_ms(20000));
        ts_store_start(store, &waiting);
        usleep(400000);
        finish_expecting(TS_STORE_OK, store, TS_CALL_ABORT, "g");
        while (!ts_store_poll(&waiting))
            ts_store_wait(&(struct ts_call *const){&waiting}, 1, 0);
        expect_result(&waiting, TS_STORE_LATE, __FILE__, __LINE__);
    }
}

static void another_epoch_or_cluster_is_foreign(void **state) {
    (void)state;
    struct ts_meta meta;
    struct ts_store_error error;
    assert_int_equal(store->engine->meta_read(store, in_ms(20000), &meta, &error), TS_STORE_OK);
    assert_true(meta.present && meta.version == 1 && meta.epoch == 1);
    store->engine->expect(store, &meta);
    apply_expecting(TS_STORE_OK, store, PUT("a", "1"));
    struct ts_store *other = open_url(support_pg_url(pg, database), (struct ts_store_options){0});
    struct ts_meta next = meta;
    next.epoch = 2;
    write_meta(other, next);
    apply_expecting(TS_STORE_FOREIGN, store, PUT("a", "2"));
    prepare_expecting(TS_STORE_FOREIGN, store, "g", PUT("a", "2"));
    struct ts_bytes key = TS_BYTES("a");
    struct ts_rows rows = {0};
    struct ts_call read = {.kind = TS_CALL_READ, .keys = &key, .key_count = 1, .rows = &rows};
    run_expecting(TS_STORE_FOREIGN, store, &read);
    struct ts_call now = {.kind = TS_CALL_NOW};
    run_expecting(TS_STORE_FOREIGN, store, &now);
    assert_string_equal(now.error.sqlstate, "58000");
    /* The meta record that was read before is out of date. */
    assert_int_equal(store->engine->meta_write(store, in_ms(20000), &meta, &error), TS_STORE_CHECK_FAILED);
    next.version = 2;
    next.cluster[0] = 7;
    store->engine->expect(store, &next);
    apply_expecting(TS_STORE_FOREIGN, store, PUT("a", "2"));
    ts_store_close(other);
}

static void closing_refuses_promises_and_nothing_else(void **state) {
    (void)state;
    struct ts_meta meta;
    struct ts_store_error error;
    prepare_expecting(TS_STORE_OK, store, "old", PUT("b", "1"));
    assert_int_equal(store->engine->meta_read(store, in_ms(20000), &meta, &error), TS_STORE_OK);
    store->engine->expect(store, &meta);
    meta.state = TS_META_CLOSING;
    write_meta(store, meta); /* while a promise exists */
    prepare_expecting(TS_STORE_CLOSING, store, "new", PUT("a", "1"));
    apply_expecting(TS_STORE_OK, store, PUT("a", "1"));
    /* Opening the next epoch waits for the promise, until the deadline of the call. */
    meta.version = 2;
    meta.epoch = 2;
    meta.state = TS_META_OPEN;
    assert_int_equal(store->engine->meta_write(store, in_ms(400), &meta, &error), TS_STORE_TIMED_OUT);
    finish_expecting(TS_STORE_OK, store, TS_CALL_COMMIT, "old");
    write_meta(store, meta);
    apply_expecting(TS_STORE_FOREIGN, store, PUT("a", "1"));
}

/* A process that closes the store waits for every prepare that saw the store open. */
static void closing_waits_for_prepares_under_way(void **state) {
    (void)state;
    prepare_expecting(TS_STORE_OK, store, "holder", PUT("k", "1"));
    struct ts_batch batch = BATCH(PUT("k", "2"));
    struct ts_call waiting = prepare_call("waiting", batch, in_ms(20000));
    ts_store_start(store, &waiting);
    char *found = NULL;
    do {
        free(found);
        ts_store_poll(&waiting);
        found = support_pg_sql(pg, database, "SELECT count(*) FROM pg_locks WHERE NOT granted");
    } while (strcmp(found, "0") == 0);
    free(found);
    struct ts_meta meta;
    struct ts_store_error error;
    assert_int_equal(store->engine->meta_read(store, in_ms(20000), &meta, &error), TS_STORE_OK);
    meta.state = TS_META_CLOSING;
    assert_int_equal(store->engine->meta_write(store, in_ms(500), &meta, &error), TS_STORE_UNKNOWN);
    finish_expecting(TS_STORE_OK, store, TS_CALL_ABORT, "holder");
    while (!ts_store_poll(&waiting))
        ts_store_wait(&(struct ts_call *const){&waiting}, 1, 0);
    expect_result(&waiting, TS_STORE_OK, __FILE__, __LINE__);
    meta.version = 2;
    assert_int_equal(store->engine->meta_write(store, in_ms(20000), &meta, &error), TS_STORE_OK);
    assert_int_equal(promises(store, NULL, 0), 1);
    finish_expecting(TS_STORE_OK, store, TS_CALL_ABORT, "waiting");
}

/* Simulates a database that speaks the protocol of PostgreSQL, but has no advisory locks. */
static void a_server_without_advisory_locks_will_do(void **state) {
    (void)state;
    apply_expecting(TS_STORE_OK, store, PUT("a", "1"));
    support_pg_do(pg, database,
                  "ALTER FUNCTION pg_catalog.pg_advisory_xact_lock(bigint) RENAME TO advisory_gone");
    support_pg_do(
        pg, database,
        "ALTER FUNCTION pg_catalog.pg_advisory_xact_lock_shared(bigint) RENAME TO advisory_gone_too");
    ts_store_close(store);
    store = open_url(support_pg_url(pg, database), (struct ts_store_options){0});
    uint64_t version = read_key(store, TS_BYTES("a")).version;
    apply_expecting(TS_STORE_OK, store, CHECK("a", version), PUT("b", "1"));
    apply_expecting(TS_STORE_OK, store, CHECK("a", version), PUT("a", "2"), ADD("n", 1, 9), DEL("gone"));
    apply_expecting(TS_STORE_CHECK_FAILED, store, CHECK("a", version), PUT("a", "3"));
    apply_expecting(TS_STORE_CHECK_FAILED, store, CHECK("b", 0), PUT("b", "2"));
    apply_expecting(TS_STORE_CHECK_FAILED, store, CHECK("a", version), PUT("b", "2"));
    assert_string_equal(read_key(store, TS_BYTES("b")).value, "1");
    apply_expecting(TS_STORE_OK, store, CHECK("c", 0), PUT("c", "1"));
    apply_expecting(TS_STORE_OK, store, DEL("c"));
    prepare_expecting(TS_STORE_OK, store, "g", PUT("b", "1"));
    prepare_expecting(TS_STORE_PROMISE_EXISTS, store, "g", PUT("b", "1"));
    finish_expecting(TS_STORE_OK, store, TS_CALL_COMMIT, "g");
}

static void time_never_goes_back(void **state) {
    (void)state;
    uint64_t last = 0;
    for (int i = 0; i < 50; i++) {
        uint64_t now = now_of(store);
        assert_true(now >= last);
        last = now;
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, close_it)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_batch_is_applied_as_a_whole),
        TEST(counters_keep_their_limits),
        TEST(before_uses_the_servers_clock),
        TEST(before_is_looked_at_after_waiting_for_locks),
        TEST(a_promise_blocks_what_conflicts_and_nothing_else),
        TEST(a_promise_that_fails_leaves_nothing),
        TEST(the_longest_and_strangest_names_of_promises_work),
        TEST(three_databases_of_one_server_are_three_stores),
        TEST(promises_have_the_time_when_they_were_made),
        TEST(scans_are_ordered_and_cut),
        TEST(answers_end_before_they_are_too_large),
        TEST(a_batch_at_the_limit_of_operations_works),
        TEST(many_threads_add_to_a_key_that_was_not_there),
        TEST(batches_do_not_deadlock_one_another),
        TEST(one_thread_drives_several_calls),
        TEST(another_epoch_or_cluster_is_foreign),
        TEST(closing_refuses_promises_and_nothing_else),
        TEST(closing_waits_for_prepares_under_way),
        TEST(a_server_without_advisory_locks_will_do),
        TEST(time_never_goes_back),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
