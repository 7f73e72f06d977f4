/* Tests servers that disappear, lost replies, and configurations that cannot work. */
#include "pg_store.h"
#include "store/cluster/open.h"
#include "store/contract/meta.h"

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int start_server(void **state) {
    (void)state;
    pg =
        support_pg_start(&(struct support_pg_options){.max_prepared_transactions = 4, .max_connections = 20});
    support_pg_do(pg, "postgres",
                  "CREATE ROLE " SUPPORT_PG_LOCKED_USER " LOGIN SUPERUSER PASSWORD 'open sesame'");
    return 0;
}

static void url_with(char *ret_url, size_t size, const char *user, const char *name, const char *options) {
    snprintf(ret_url, size, "postgresql://%s@127.0.0.1:%d/%s%s", user, support_pg_port(pg), name, options);
}

/* Returns the error of meta_read for a URL. The read must fail. */
static struct ts_store_error error_of(const char *url, struct ts_store_options options,
                                      uint64_t deadline_ns) {
    struct ts_store *other = open_url(url, options);
    struct ts_store_error error = {0};
    struct ts_meta meta;
    if (other->engine->meta_read(other, deadline_ns, &meta, &error) == TS_STORE_OK)
        fail_msg("%s opened", url);
    assert_null(strstr(ts_store_name(other), "sesame"));
    ts_store_close(other);
    if (strlen(error.text) == 0 || strchr(error.text, '\n') != NULL || strstr(error.text, "sesame") != NULL)
        fail_msg("a bad text: %s", error.text);
    return error;
}

static void expect_error(const struct ts_store_error *error, enum ts_store_result result,
                         const char *sqlstate, const char *part) {
    if (error->result != result || strcmp(error->sqlstate, sqlstate) != 0 ||
        strstr(error->text, part) == NULL)
        fail_msg("%s, %s: %s", ts_store_result_text(error->result), error->sqlstate, error->text);
}

/* A proxy between store and server. It forwards everything, until the test makes it lose replies or stop. */
struct proxy {
    int listener;
    int port;
    pthread_t thread;
    /* If true, the server still gets the client's requests, but the next reply is lost and ends the
     * connection. */
    atomic_bool loses_replies;
    /* If true, only `remaining` more bytes of the client are forwarded. The connection stays open. */
    atomic_bool is_stopping;
    size_t remaining;
    atomic_bool ends;
};

static bool pass_on(int from, int to, bool swallow) {
    char buffer[65536];
    ssize_t got = read(from, buffer, sizeof buffer);
    if (got <= 0)
        return false;
    for (ssize_t at = 0; !swallow && at < got;) {
        ssize_t wrote = write(to, buffer + at, (size_t)(got - at));
        if (wrote <= 0)
            return false;
        at += wrote;
    }
    return true;
}

/* Forwards the client's bytes. Returns false if the connection ends. */
static bool pass_client(struct proxy *proxy, int client, int server) {
    if (!atomic_load(&proxy->is_stopping))
        return pass_on(client, server, false);
    char buffer[65536];
    const size_t most = proxy->remaining < sizeof buffer ? proxy->remaining : sizeof buffer;
    if (most == 0)
        return usleep(1000) == 0;
    const ssize_t got = read(client, buffer, most);
    if (got <= 0 || write(server, buffer, (size_t)got) != got)
        return false;
    proxy->remaining -= (size_t)got;
    return true;
}

static void serve(struct proxy *proxy, int client) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)support_pg_port(pg))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = connect(server, (struct sockaddr *)&address, sizeof address) == 0;
    while (good && !atomic_load(&proxy->ends)) {
        struct pollfd fds[] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
        if (poll(fds, 2, 50) <= 0)
            continue;
        if (fds[0].revents != 0)
            good = pass_client(proxy, client, server);
        if (good && fds[1].revents != 0) {
            bool lose = atomic_load(&proxy->loses_replies);
            good = pass_on(server, client, lose) && !lose;
        }
    }
    close(server);
    close(client);
}

/* Handles one connection at a time, like a store with one connection. */
static void *serve_all(void *argument) {
    struct proxy *proxy = argument;
    while (!atomic_load(&proxy->ends)) {
        struct pollfd fd = {.fd = proxy->listener, .events = POLLIN};
        if (poll(&fd, 1, 50) <= 0)
            continue;
        int client = accept(proxy->listener, NULL, NULL);
        if (client >= 0)
            serve(proxy, client);
    }
    return NULL;
}

static int listen_somewhere(int *ret_port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static struct ts_store *through_proxy(struct proxy *proxy) {
    *proxy = (struct proxy){0};
    proxy->listener = listen_somewhere(&proxy->port);
    assert_int_equal(pthread_create(&proxy->thread, NULL, serve_all, proxy), 0);
    char url[128];
    snprintf(url, sizeof url, "postgresql://turnstone@127.0.0.1:%d/%s", proxy->port, database);
    return open_url(url, (struct ts_store_options){.connections_max = 1});
}

static void end_proxy(struct proxy *proxy) {
    atomic_store(&proxy->ends, true);
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
}

static void a_lost_reply_leaves_the_outcome_unknown(void **state) {
    (void)state;
    struct proxy proxy;
    struct ts_store *far = through_proxy(&proxy);
    apply_expecting(TS_STORE_OK, far, PUT("a", "1"));
    prepare_expecting(TS_STORE_OK, far, "made", PUT("m", "1"));

    atomic_store(&proxy.loses_replies, true);
    apply_expecting(TS_STORE_UNKNOWN, far, PUT("a", "2"));
    assert_string_equal(read_key(store, TS_BYTES("a")).value, "2");
    atomic_store(&proxy.loses_replies, false);
    assert_true(now_of(far) > 0);

    atomic_store(&proxy.loses_replies, true);
    prepare_expecting(TS_STORE_UNKNOWN, far, "lost", PUT("b", "1"));
    assert_int_equal(promises(store, NULL, 0), 2);
    atomic_store(&proxy.loses_replies, false);
    assert_true(now_of(far) > 0);

    atomic_store(&proxy.loses_replies, true);
    finish_expecting(TS_STORE_UNKNOWN, far, TS_CALL_COMMIT, "lost");
    assert_string_equal(read_key(store, TS_BYTES("b")).value, "1");
    atomic_store(&proxy.loses_replies, false);
    finish_expecting(TS_STORE_NO_SUCH_PROMISE, far, TS_CALL_COMMIT, "lost");

    atomic_store(&proxy.loses_replies, true);
    struct ts_call now = {.kind = TS_CALL_NOW};
    run_expecting(TS_STORE_UNAVAILABLE, far, &now);
    atomic_store(&proxy.loses_replies, false);
    finish_expecting(TS_STORE_OK, far, TS_CALL_ABORT, "made");
    ts_store_close(far);
    end_proxy(&proxy);
}

/* The client's batch is cut at several places. Meanwhile other clients must be able to write its keys. */
static void a_client_that_is_stopped_while_it_sends_holds_no_locks(void **state) {
    (void)state;
    static char large[20000];
    for (size_t remaining = 1000; remaining < 3 * sizeof large; remaining += 9000) {
        struct proxy proxy;
        struct ts_store *far = through_proxy(&proxy);
        apply_expecting(TS_STORE_OK, far, PUT("a", "1"), PUT("b", "1"), PUT("c", "1"));
        proxy.remaining = remaining;
        atomic_store(&proxy.is_stopping, true);
        struct ts_op puts[] = {PUT("a", ""), PUT("b", ""), PUT("c", "")};
        for (size_t i = 0; i < 3; i++)
            puts[i].value = ts_bytes_of(large, sizeof large);
        struct ts_call call = apply_call((struct ts_batch){puts, 3}, in_ms(60000));
        ts_store_start(far, &call);
        const uint64_t end_ns = in_ms(300);
        while (in_ms(0) < end_ns)
            assert_false(ts_store_poll(&call));
        struct ts_call other = apply_call(BATCH(PUT("a", "2")), in_ms(5000));
        run_expecting(TS_STORE_OK, store, &other);
        ts_store_cancel(&call);
        ts_store_close(far);
        end_proxy(&proxy);
    }
}

static void a_promise_survives_a_killed_server_with_its_locks(void **state) {
    (void)state;
    apply_expecting(TS_STORE_OK, store, PUT("a", "1"), PUT("c", "1"));
    uint64_t version = read_key(store, TS_BYTES("c")).version;
    prepare_expecting(TS_STORE_OK, store, "g", PUT("a", "2"), CHECK("c", version), PUT("n", "1"));
    support_pg_kill(pg);
    struct ts_call down = apply_call(BATCH(PUT("x", "1")), in_ms(5000));
    run_expecting(TS_STORE_UNAVAILABLE, store, &down);
    support_pg_resume(pg);
    /* The store was not opened again after the restart of the server. */
    assert_int_equal(promises(store, NULL, 0), 1);
    const struct ts_batch blocked[] = {BATCH(PUT("a", "3")), BATCH(PUT("c", "3")), BATCH(PUT("n", "3"))};
    for (size_t i = 0; i < sizeof blocked / sizeof blocked[0]; i++) {
        struct ts_call call = apply_call(blocked[i], in_ms(300));
        run_expecting(TS_STORE_TIMED_OUT, store, &call);
    }
    apply_expecting(TS_STORE_OK, store, PUT("free", "1"));
    finish_expecting(TS_STORE_OK, store, TS_CALL_COMMIT, "g");
    assert_string_equal(read_key(store, TS_BYTES("a")).value, "2");
}

static void a_session_that_was_ended_while_idle_is_not_noticed(void **state) {
    (void)state;
    apply_expecting(TS_STORE_OK, store, PUT("a", "1"));
    support_pg_do(
        pg, "postgres",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'turnstone'");
    usleep(200000);
    apply_expecting(TS_STORE_OK, store, PUT("a", "2"));
}

static void wait_until_blocked(struct ts_call *call) {
    char *found = NULL;
    do {
        free(found);
        ts_store_poll(call);
        found = support_pg_sql(pg, database, "SELECT count(*) FROM pg_locks WHERE NOT granted");
    } while (strcmp(found, "0") == 0 && !call->done);
    free(found);
}

static void wait_for(struct ts_call *call) {
    while (!ts_store_poll(call))
        ts_store_wait(&(struct ts_call *const){call}, 1, 0);
}

static void a_session_that_is_ended_during_a_call_leaves_the_outcome_unknown(void **state) {
    (void)state;
    prepare_expecting(TS_STORE_OK, store, "g", PUT("a", "1"));
    struct ts_batch batch = BATCH(PUT("a", "2"));
    struct ts_call call = apply_call(batch, in_ms(20000));
    ts_store_start(store, &call);
    wait_until_blocked(&call);
    support_pg_do(pg, database, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted");
    wait_for(&call);
    expect_result(&call, TS_STORE_UNKNOWN, __FILE__, __LINE__);
    assert_string_equal(call.error.sqlstate, "08006");
    finish_expecting(TS_STORE_OK, store, TS_CALL_ABORT, "g");
}

static void a_cancelled_statement_has_changed_nothing(void **state) {
    (void)state;
    prepare_expecting(TS_STORE_OK, store, "g", PUT("a", "1"));
    struct ts_batch batch = BATCH(PUT("b", "2"), PUT("a", "2"));
    struct ts_call calls[] = {apply_call(batch, in_ms(20000)), prepare_call("h", batch, in_ms(20000))};
    for (size_t i = 0; i < 2; i++) {
        ts_store_start(store, &calls[i]);
        wait_until_blocked(&calls[i]);
        support_pg_do(pg, database, "SELECT pg_cancel_backend(pid) FROM pg_locks WHERE NOT granted");
        wait_for(&calls[i]);
        expect_result(&calls[i], TS_STORE_TIMED_OUT, __FILE__, __LINE__);
        assert_string_equal(calls[i].error.sqlstate, "57014");
    }
    finish_expecting(TS_STORE_OK, store, TS_CALL_ABORT, "g");
    assert_int_equal(promises(store, NULL, 0), 0);
    assert_int_equal(read_key(store, TS_BYTES("b")).version, 0);
}

static void a_call_that_is_given_up_does_not_hold_its_connection(void **state) {
    (void)state;
    struct ts_store *narrow =
        open_url(support_pg_url(pg, database), (struct ts_store_options){.connections_max = 1});
    prepare_expecting(TS_STORE_OK, narrow, "g", PUT("a", "1"));
    struct ts_batch batch = BATCH(PUT("a", "2")), other = BATCH(PUT("o", "1"));
    struct ts_call call = apply_call(batch, in_ms(20000)), queued = apply_call(other, in_ms(200));
    struct ts_call queued_too = apply_call(other, in_ms(20000));
    ts_store_start(narrow, &call);
    wait_until_blocked(&call);
    run_expecting(TS_STORE_TIMED_OUT, narrow, &queued);
    ts_store_start(narrow, &queued_too);
    assert_false(ts_store_poll(&queued_too));
    ts_store_cancel(&call);
    expect_result(&call, TS_STORE_UNKNOWN, __FILE__, __LINE__);
    wait_for(&queued_too);
    expect_result(&queued_too, TS_STORE_OK, __FILE__, __LINE__);
    finish_expecting(TS_STORE_OK, narrow, TS_CALL_ABORT, "g");
    ts_store_close(narrow);
}

static void slots_of_promises_that_run_out_are_busy(void **state) {
    (void)state;
    static const char *const gids[] = {"1", "2", "3", "4"};
    static const char *const keys[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < 4; i++) {
        struct ts_op put = {.kind = TS_OP_PUT, .key = ts_bytes_of_cstring(keys[i])};
        struct ts_call call = prepare_call(gids[i], (struct ts_batch){&put, 1}, in_ms(20000));
        run_expecting(TS_STORE_OK, store, &call);
    }
    prepare_expecting(TS_STORE_BUSY, store, "5", PUT("e", ""));
    apply_expecting(TS_STORE_OK, store, PUT("e", ""));
    for (size_t i = 0; i < 4; i++)
        finish_expecting(TS_STORE_OK, store, TS_CALL_ABORT, gids[i]);
}

static void connections_that_run_out_are_busy(void **state) {
    (void)state;
    ts_store_close(store);
    PGconn *others[32];
    size_t count = 0;
    char info[128];
    snprintf(info, sizeof info, "host=127.0.0.1 port=%d dbname=%s user=turnstone", support_pg_port(pg),
             database);
    while (count < 32) {
        others[count++] = PQconnectdb(info);
        if (PQstatus(others[count - 1]) != CONNECTION_OK)
            break;
    }
    assert_true(count < 32);
    store = open_url(support_pg_url(pg, database), (struct ts_store_options){0});
    struct ts_call call = apply_call(BATCH(PUT("a", "1")), in_ms(20000));
    run_expecting(TS_STORE_BUSY, store, &call);
    assert_string_equal(call.error.sqlstate, "53300");
    for (size_t i = 0; i < count; i++)
        PQfinish(others[i]);
    usleep(200000);
    apply_expecting(TS_STORE_OK, store, PUT("a", "1"));
}

static void the_servers_own_lock_timeout_is_a_lock_conflict(void **state) {
    (void)state;
    char url[160];
    url_with(url, sizeof url, "turnstone", database, "?options=-c%20lock_timeout=100ms");
    struct ts_store *hasty = open_url(url, (struct ts_store_options){0});
    prepare_expecting(TS_STORE_OK, hasty, "g", PUT("a", "1"));
    struct ts_call call = apply_call(BATCH(PUT("a", "2")), in_ms(20000));
    run_expecting(TS_STORE_LOCK_CONFLICT, hasty, &call);
    assert_string_equal(call.error.sqlstate, "55P03");
    finish_expecting(TS_STORE_OK, hasty, TS_CALL_ABORT, "g");
    ts_store_close(hasty);
}

static void a_deadlock_is_a_lock_conflict(void **state) {
    (void)state;
    apply_expecting(TS_STORE_OK, store, PUT("a", "1"), PUT("b", "1"));
    char info[128];
    snprintf(info, sizeof info, "host=127.0.0.1 port=%d dbname=%s user=turnstone", support_pg_port(pg),
             database);
    PGconn *other = PQconnectdb(info);
    /* The other session never searches for deadlocks itself. */
    PQclear(PQexec(other, "SET deadlock_timeout = '1h'"));
    PQclear(PQexec(other, "BEGIN"));
    PQclear(PQexec(other, "SELECT 1 FROM turnstone.item WHERE key = 'b' FOR UPDATE"));
    struct ts_batch batch = BATCH(PUT("a", "2"), PUT("b", "2"));
    struct ts_call call = apply_call(batch, in_ms(20000));
    ts_store_start(store, &call);
    wait_until_blocked(&call);
    assert_int_equal(PQsendQuery(other, "SELECT 1 FROM turnstone.item WHERE key = 'a' FOR UPDATE"), 1);
    wait_for(&call);
    expect_result(&call, TS_STORE_LOCK_CONFLICT, __FILE__, __LINE__);
    assert_string_equal(call.error.sqlstate, "40P01");
    /* While the other session waits for its lock, it would also block the following calls. */
    for (PGresult *result; (result = PQgetResult(other)) != NULL;)
        PQclear(result);
    PQclear(PQexec(other, "ROLLBACK"));
    PQfinish(other);
    apply_expecting(TS_STORE_OK, store, PUT("a", "3"), PUT("b", "3"));
}

static void wrong_passwords_users_and_databases_are_reported(void **state) {
    (void)state;
    char url[200];
    url_with(url, sizeof url, SUPPORT_PG_LOCKED_USER ":open%20sesame", database, "");
    struct ts_store *good = open_url(url, (struct ts_store_options){0});
    assert_true(now_of(good) > 0);
    assert_null(strstr(ts_store_name(good), "sesame"));
    ts_store_close(good);

    url_with(url, sizeof url, SUPPORT_PG_LOCKED_USER ":sesame", database, "");
    struct ts_store_error error = error_of(url, (struct ts_store_options){0}, in_ms(20000));
    expect_error(&error, TS_STORE_BAD_CONFIGURATION, "28P01", "PGPASSWORD");
    url_with(url, sizeof url, SUPPORT_PG_LOCKED_USER, database, "?passfile=/nonexistent");
    error = error_of(url, (struct ts_store_options){0}, in_ms(20000));
    expect_error(&error, TS_STORE_BAD_CONFIGURATION, "F0000", "asks for a password");
    url_with(url, sizeof url, "nobody_at_all:sesame", database, "");
    error = error_of(url, (struct ts_store_options){0}, in_ms(20000));
    expect_error(&error, TS_STORE_BAD_CONFIGURATION, "28000", "user");
    url_with(url, sizeof url, "turnstone:sesame", "nowhere", "");
    error = error_of(url, (struct ts_store_options){0}, in_ms(20000));
    expect_error(&error, TS_STORE_BAD_CONFIGURATION, "3D000", "createdb");
    url_with(url, sizeof url, "turnstone:sesame", database, "?sslmod=require");
    struct ts_store *none = NULL;
    assert_int_equal(ts_store_open(url, &(struct ts_store_options){0}, &none, &error), TS_STORE_BAD_USAGE);
    expect_error(&error, TS_STORE_BAD_USAGE, "F0000", "sslmod");
}

static void servers_that_cannot_be_reached_are_reported(void **state) {
    (void)state;
    char url[200];
    int port;
    int fd = listen_somewhere(&port);
    snprintf(url, sizeof url, "postgresql://turnstone:sesame@127.0.0.1:%d/x", port);
    /* A program listens at the address, and never answers. */
    struct ts_store_error error = error_of(url, (struct ts_store_options){0}, in_ms(200));
    expect_error(&error, TS_STORE_TIMED_OUT, "57014", "deadline");
    error = error_of(url, (struct ts_store_options){.connect_timeout_ms = 200}, in_ms(20000));
    expect_error(&error, TS_STORE_UNAVAILABLE, "08001", "does not answer");
    close(fd);
    error = error_of(url, (struct ts_store_options){0}, in_ms(20000));
    expect_error(&error, TS_STORE_UNAVAILABLE, "08001", "cannot be reached: Connection refused");
    error =
        error_of("postgresql://turnstone:sesame@host.invalid/x", (struct ts_store_options){0}, in_ms(20000));
    expect_error(&error, TS_STORE_UNAVAILABLE, "08001", "cannot be reached");
}

static void a_database_without_tables_is_not_initialised(void **state) {
    (void)state;
    struct ts_store *bare = open_url(support_pg_url(pg, "postgres"), (struct ts_store_options){0});
    struct ts_meta meta = {.present = true};
    struct ts_store_error error;
    assert_int_equal(bare->engine->meta_read(bare, in_ms(20000), &meta, &error), TS_STORE_OK);
    assert_false(meta.present);
    struct ts_call call = apply_call(BATCH(PUT("a", "1")), in_ms(20000));
    for (int i = 0; i < 2; i++) {
        run_expecting(TS_STORE_BAD_CONFIGURATION, bare, &call);
        assert_non_null(strstr(call.error.text, "store init"));
    }
    ts_store_close(bare);
}

static void other_formats_and_damage_are_reported(void **state) {
    (void)state;
    struct ts_meta meta = {
        .present = true, .version = 1, .format = 2, .epoch = 1, .place_count = 1, .routing = "xxh64"};
    struct ts_store_error error;
    assert_int_equal(store->engine->meta_write(store, in_ms(20000), &meta, &error), TS_STORE_OK);
    error = error_of(support_pg_url(pg, database), (struct ts_store_options){0}, in_ms(20000));
    expect_error(&error, TS_STORE_BAD_CONFIGURATION, "F0000", "newer");
    meta.format = 0;
    meta.version = 2;
    assert_int_equal(store->engine->meta_write(store, in_ms(20000), &meta, &error), TS_STORE_OK);
    error = error_of(support_pg_url(pg, database), (struct ts_store_options){0}, in_ms(20000));
    expect_error(&error, TS_STORE_BAD_CONFIGURATION, "F0000", "older");
    meta.format = 1;
    meta.version = 3;
    assert_int_equal(store->engine->meta_write(store, in_ms(20000), &meta, &error), TS_STORE_OK);
    support_pg_do(pg, database, "UPDATE turnstone.meta SET epoch = 9");
    error = error_of(support_pg_url(pg, database), (struct ts_store_options){0}, in_ms(20000));
    expect_error(&error, TS_STORE_DAMAGED, "XX001", "backup");
}

static void without_prepared_transactions_only_one_store_works(void **state) {
    (void)state;
    struct support_pg *plain = support_pg_start(&(struct support_pg_options){.without_fsync = true});
    struct ts_store *alone = open_url(support_pg_url(plain, "postgres"), (struct ts_store_options){0});
    struct ts_meta meta = {.present = true, .format = 1, .epoch = 1, .place_count = 2, .routing = "xxh64"};
    struct ts_store_error error;
    (void)alone->engine->meta_write(alone, in_ms(20000), &meta, &error);
    expect_error(&error, TS_STORE_BAD_CONFIGURATION, "F0000", "ALTER SYSTEM SET max_prepared_transactions");
    assert_non_null(strstr(error.text, "restart"));
    write_meta(alone, (struct ts_meta){0});
    assert_int_equal(alone->engine->meta_read(alone, in_ms(20000), &meta, &error), TS_STORE_OK);
    apply_expecting(TS_STORE_OK, alone, PUT("a", "1"));
    struct ts_call call = prepare_call("g", BATCH(PUT("a", "2")), in_ms(20000));
    run_expecting(TS_STORE_BAD_CONFIGURATION, alone, &call);
    assert_non_null(strstr(call.error.text, "max_prepared_transactions"));
    ts_store_close(alone);
    support_pg_stop(plain);
}

/* Without its standby, a durable commit waits. A commit that is not durable would be answered at once. */
static void commits_are_durable_whatever_the_configuration_says(void **state) {
    (void)state;
    struct support_pg *lax =
        support_pg_start(&(struct support_pg_options){.settings = "synchronous_commit = off"});
    struct ts_store *safe = open_url(support_pg_url(lax, "postgres"), (struct ts_store_options){0});
    write_meta(safe, (struct ts_meta){0});
    apply_expecting(TS_STORE_OK, safe, PUT("a", "1"));
    support_pg_reconfigure(lax, "synchronous_standby_names = 'nobody'");
    struct ts_call call = apply_call(BATCH(PUT("a", "2")), in_ms(1500));
    run_expecting(TS_STORE_UNKNOWN, safe, &call);
    ts_store_close(safe);
    support_pg_stop(lax);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, close_it)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_lost_reply_leaves_the_outcome_unknown),
        TEST(a_client_that_is_stopped_while_it_sends_holds_no_locks),
        TEST(a_promise_survives_a_killed_server_with_its_locks),
        TEST(a_session_that_was_ended_while_idle_is_not_noticed),
        TEST(a_session_that_is_ended_during_a_call_leaves_the_outcome_unknown),
        TEST(a_cancelled_statement_has_changed_nothing),
        TEST(a_call_that_is_given_up_does_not_hold_its_connection),
        TEST(slots_of_promises_that_run_out_are_busy),
        TEST(connections_that_run_out_are_busy),
        TEST(the_servers_own_lock_timeout_is_a_lock_conflict),
        TEST(a_deadlock_is_a_lock_conflict),
        TEST(wrong_passwords_users_and_databases_are_reported),
        TEST(servers_that_cannot_be_reached_are_reported),
        TEST(a_database_without_tables_is_not_initialised),
        TEST(other_formats_and_damage_are_reported),
        TEST(without_prepared_transactions_only_one_store_works),
        TEST(commits_are_durable_whatever_the_configuration_says),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
