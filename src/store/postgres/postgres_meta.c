/*
 * Reads the meta row, and writes it. After a write, no session that saw the old row is active.
 *
 * A statement that uses the store reads the meta row, and so holds a lock on the table of that row until its
 * transaction ends. A new epoch is therefore written under an exclusive lock on the table. This lock waits
 * for active transactions and for promises, so there must be no promises. The write of CLOSING cannot wait
 * for promises, because promises are settled only after it. So CLOSING is written without this lock. Then the
 * writer waits for the sessions that held the lock at that moment, as pg_locks shows them. A session takes
 * the lock before its snapshot, so later sessions see the new row.
 */
#include "base/hex.h"
#include "store/postgres/postgres.h"

#include "base/bytes.h"
#include "base/endian.h"
#include "base/number.h"
#include "libpq_late.h"
#include "os/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The work of a job of this file: what to write, and what the server has answered. */
struct meta_work {
    const struct ts_meta *meta; /* the record to write */
    struct ts_meta found;
    enum ts_store_result found_result;
    long long prepared_max; /* max_prepared_transactions; -1 if the server does not report it */
    uint64_t rows_changed;
    char *sessions;   /* sessions to wait for, as the text of an array */
    size_t remaining; /* number of sessions that have not ended yet */
    char identity[STORE_IDENTITY_SIZE];
};

static const char read_sql[] =
    "SELECT m.change, m.epoch, m.state, m.body, m.identity, "
    "current_setting('max_prepared_transactions', true)::text FROM turnstone.meta m "
    "WHERE m.one = 1";
enum { COLUMN_CHANGE, COLUMN_EPOCH, COLUMN_STATE, COLUMN_BODY, COLUMN_IDENTITY, COLUMN_PREPARED_MAX };

/* Runs a job, and waits until it ends. */
static enum ts_store_result run(struct postgres_store *store, uint64_t deadline_ns,
                                const struct postgres_work *work, struct meta_work *context,
                                struct ts_store_error *ret_error) {
    struct postgres_job job = {.store = store, .work = work, .context = context, .deadline_ns = deadline_ns};
    const struct ts_store_clock *clock = store->base.clock;
    postgres__job_start(&job);
    while (!job.done) {
        uint64_t now_ns = clock->monotonic_ns(clock->context);
        if (deadline_ns != 0 && now_ns >= deadline_ns) {
            postgres__job_expire(&job);
            break;
        }
        struct pollfd fd = postgres__job_wait_for(&job);
        uint64_t left_ms = deadline_ns != 0 ? (deadline_ns - now_ns) / 1000000 + 1 : 1000;
        (void)poll(&fd, 1, left_ms > 1000 ? 1000 : (int)left_ms);
        postgres__job_step(&job);
    }
    *ret_error = job.error;
    return job.error.result;
}

void postgres__identity(const struct ts_meta *meta, uint8_t ret_identity[static POSTGRES_IDENTITY_LEN]) {
    memcpy(ret_identity, meta->cluster, sizeof meta->cluster);
    ts_be32_store(meta->place, ret_identity + 16);
    ts_be32_store(meta->place_count, ret_identity + 20);
}

static uint64_t number_at(PGresult *result, int column) {
    const char *at = PQgetvalue(result, 0, column);
    return PQgetlength(result, 0, column) == 8 ? ts_be64_load(at) : ts_be32_load(at);
}

static bool send_read(struct postgres_job *job) {
    return postgres__connection_send(job->slot, POSTGRES_ITEM_MAIN, read_sql) &&
           postgres__connection_sync(job->slot);
}

static void take_read(struct postgres_job *job, enum postgres_item item, PGresult *result) {
    (void)item;
    struct meta_work *work = job->context;
    if (PQntuples(result) == 0)
        return;
    struct ts_meta *found = &work->found;
    found->version = number_at(result, COLUMN_CHANGE);
    work->found_result = store__meta_decode(
        ts_bytes_of(PQgetvalue(result, 0, COLUMN_BODY), (size_t)PQgetlength(result, 0, COLUMN_BODY)), found);
    uint8_t identity[POSTGRES_IDENTITY_LEN];
    postgres__identity(found, identity);
    bool agrees = PQgetlength(result, 0, COLUMN_IDENTITY) == (int)sizeof identity &&
                  memcmp(PQgetvalue(result, 0, COLUMN_IDENTITY), identity, sizeof identity) == 0 &&
                  number_at(result, COLUMN_EPOCH) == found->epoch &&
                  number_at(result, COLUMN_STATE) == (uint64_t)found->state;
    if (work->found_result == TS_STORE_OK && !agrees)
        work->found_result = TS_STORE_DAMAGED;
    int64_t most;
    if (!PQgetisnull(result, 0, COLUMN_PREPARED_MAX) &&
        ts_i64_parse(ts_bytes_of_cstring(PQgetvalue(result, 0, COLUMN_PREPARED_MAX)), &most) == TS_NUMBER_OK)
        work->prepared_max = most;
}

static const struct postgres_work reading = {.send = send_read, .take = take_read};

static bool send_prepared_max(struct postgres_job *job) {
    return postgres__connection_send(job->slot, POSTGRES_ITEM_MAIN,
                                     "SELECT current_setting('max_prepared_transactions', true)::text") &&
           postgres__connection_sync(job->slot);
}

static void take_prepared_max(struct postgres_job *job, enum postgres_item item, PGresult *result) {
    (void)item;
    struct meta_work *work = job->context;
    int64_t most;
    if (PQntuples(result) == 1 && !PQgetisnull(result, 0, 0) &&
        ts_i64_parse(ts_bytes_of_cstring(PQgetvalue(result, 0, 0)), &most) == TS_NUMBER_OK)
        work->prepared_max = most;
}

static const struct postgres_work asking_prepared_max = {.send = send_prepared_max,
                                                         .take = take_prepared_max};

static enum ts_store_result check_prepared_max(const struct postgres_store *store,
                                               const struct meta_work *work, uint32_t place_count,
                                               struct ts_store_error *ret_error) {
    if (place_count <= 1 || work->prepared_max != 0)
        return TS_STORE_OK;
    return store__error(
        ret_error, TS_STORE_BAD_CONFIGURATION, SIZE_MAX,
        "%.90s: max_prepared_transactions is 0; set it to 200 in postgresql.conf, or by ALTER SYSTEM SET "
        "max_prepared_transactions = 200, and restart the server",
        store->base.name);
}

enum ts_store_result postgres__meta_read(struct ts_store *base, uint64_t deadline_ns,
                                         struct ts_meta *ret_meta, struct ts_store_error *ret_error) {
    struct postgres_store *store = (struct postgres_store *)base;
    struct meta_work work = {.prepared_max = -1};
    enum ts_store_result result = run(store, deadline_ns, &reading, &work, ret_error);
    if (result == TS_STORE_BAD_CONFIGURATION &&
        (strcmp(ret_error->sqlstate, "3F000") == 0 || strcmp(ret_error->sqlstate, "42P01") == 0)) {
        *ret_meta = (struct ts_meta){0};
        return store__error(ret_error, TS_STORE_OK, SIZE_MAX, "%s", "");
    }
    if (result != TS_STORE_OK)
        return result;
    if (work.found_result == TS_STORE_DAMAGED)
        return store__error(ret_error, TS_STORE_DAMAGED, SIZE_MAX,
                            "%.120s: turnstone.meta is damaged; restore the database from a backup",
                            base->name);
    if (work.found_result != TS_STORE_OK)
        return store__error(ret_error, TS_STORE_BAD_CONFIGURATION, SIZE_MAX,
                            "%.120s has format %u, and this program reads %d; use a %s turnstone", base->name,
                            work.found.format, TS_META_FORMAT,
                            work.found.format > TS_META_FORMAT ? "newer" : "older");
    result = check_prepared_max(store, &work, work.found.place_count, ret_error);
    if (result == TS_STORE_OK)
        *ret_meta = work.found;
    explicit_bzero(&work.found, sizeof work.found);
    return result;
}

/*
 * Asks for the server's identifier, the database's oid, and the start time of the server. The start time
 * distinguishes servers whose files were copied: they have the same identifier, but are different stores.
 */
static bool send_identify(struct postgres_job *job) {
    return postgres__connection_send(
               job->slot, POSTGRES_ITEM_MAIN,
               "SELECT (SELECT c.system_identifier::text FROM pg_catalog.pg_control_system() c) || '.' || "
               "extract(epoch FROM pg_catalog.pg_postmaster_start_time())::text || '.' || d.oid::text "
               "FROM pg_catalog.pg_database d WHERE d.datname = current_database()") &&
           postgres__connection_sync(job->slot);
}

static void take_identify(struct postgres_job *job, enum postgres_item item, PGresult *result) {
    (void)item;
    struct meta_work *work = job->context;
    if (PQntuples(result) == 1 && !PQgetisnull(result, 0, 0))
        snprintf(work->identity, sizeof work->identity, "%s", PQgetvalue(result, 0, 0));
}

static const struct postgres_work identifying = {.send = send_identify, .take = take_identify};

/* If the server lacks the functions in this query, or if this user may not call them, the text is empty. */
enum ts_store_result postgres__identify(struct ts_store *base, uint64_t deadline_ns,
                                        char ret_text[static STORE_IDENTITY_SIZE],
                                        struct ts_store_error *ret_error) {
    struct postgres_store *store = (struct postgres_store *)base;
    struct meta_work work = {.prepared_max = -1};
    enum ts_store_result result = run(store, deadline_ns, &asking_prepared_max, &work, ret_error);
    if (result == TS_STORE_OK)
        result = check_prepared_max(store, &work, 2, ret_error);
    if (result != TS_STORE_OK)
        return result;
    result = run(store, deadline_ns, &identifying, &work, ret_error);
    if (result != TS_STORE_OK && strncmp(ret_error->sqlstate, "42", 2) != 0 &&
        strncmp(ret_error->sqlstate, "0A", 2) != 0)
        return result;
    memcpy(ret_text, work.identity, STORE_IDENTITY_SIZE);
    return TS_STORE_OK;
}

/* Sends the meta row. All its values are numbers or hex, so nothing needs escaping. */
static bool send_row(struct postgres_job *job, const struct ts_meta *meta) {
    uint8_t body[TS_META_ENCODED_MAX];
    char body_hex[2 * TS_META_ENCODED_MAX + 1], identity_hex[2 * POSTGRES_IDENTITY_LEN + 1];
    *ts_hex_encode(ts_bytes_of(body, store__meta_encode(meta, body)), body_hex) = '\0';
    uint8_t identity[POSTGRES_IDENTITY_LEN];
    postgres__identity(meta, identity);
    *ts_hex_encode(ts_bytes_of(identity, sizeof identity), identity_hex) = '\0';
    char sql[sizeof body_hex + 400];
    if (meta->version == 0)
        snprintf(
            sql, sizeof sql,
            "INSERT INTO turnstone.meta (one, change, identity, epoch, state, body) "
            "VALUES (1, 1, decode('%s', 'hex'), %llu, %d, decode('%s', 'hex')) ON CONFLICT (one) DO NOTHING",
            identity_hex, (unsigned long long)meta->epoch, (int)meta->state, body_hex);
    else
        snprintf(
            sql, sizeof sql,
            "UPDATE turnstone.meta SET change = change + 1, identity = decode('%s', 'hex'), epoch = %llu, "
            "state = %d, body = decode('%s', 'hex') WHERE one = 1 AND change = %llu",
            identity_hex, (unsigned long long)meta->epoch, (int)meta->state, body_hex,
            (unsigned long long)meta->version);
    bool sent = postgres__connection_send(job->slot, POSTGRES_ITEM_MAIN, sql);
    explicit_bzero(sql, sizeof sql);
    explicit_bzero(body, sizeof body);
    explicit_bzero(body_hex, sizeof body_hex);
    return sent;
}

static bool send_write(struct postgres_job *job) {
    const struct ts_meta *meta = ((struct meta_work *)job->context)->meta;
    struct postgres_slot *slot = job->slot;
    job->can_take_effect = true;
    if (!postgres__connection_send(slot, POSTGRES_ITEM_MINOR, "BEGIN"))
        return false;
    for (size_t i = 0; meta->version == 0 && postgres__schema[i] != NULL; i++)
        if (!postgres__connection_send(slot, POSTGRES_ITEM_MINOR, postgres__schema[i]))
            return false;
    if (meta->state != TS_META_CLOSING &&
        !postgres__connection_send(slot, POSTGRES_ITEM_MINOR,
                                   "LOCK TABLE turnstone.meta IN ACCESS EXCLUSIVE MODE"))
        return false;
    return send_row(job, meta) && postgres__connection_send(slot, POSTGRES_ITEM_LAST, "COMMIT") &&
           postgres__connection_sync(slot);
}

static void take_write(struct postgres_job *job, enum postgres_item item, PGresult *result) {
    struct meta_work *work = job->context;
    if (item == POSTGRES_ITEM_MAIN && strcmp(PQcmdTuples(result), "0") != 0)
        work->rows_changed++;
    if (item == POSTGRES_ITEM_LAST && strcmp(PQcmdStatus(result), "COMMIT") != 0)
        (void)store__error(&job->error, TS_STORE_FAILED, SIZE_MAX,
                           "%s: the server rolled back instead of committing", job->store->base.name);
}

static const struct postgres_work writing = {.send = send_write, .take = take_write};

#define AT_WORK                                                                                              \
    "FROM pg_catalog.pg_locks l WHERE l.locktype = 'relation' AND l.relation = 'turnstone.meta'::regclass "  \
    "AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database()) "    \
    "AND l.pid IS NOT NULL AND l.pid <> pg_backend_pid()"

static bool send_at_work(struct postgres_job *job) {
    const struct meta_work *work = job->context;
    bool sent;
    if (work->sessions == NULL) {
        sent = postgres__connection_send(
            job->slot, POSTGRES_ITEM_MAIN,
            "SELECT count(*), coalesce(array_agg(l.virtualtransaction)::text, '{}') " AT_WORK);
    } else {
        static const char form[] =
            "SELECT count(*), '' " AT_WORK " AND l.virtualtransaction = ANY ('%s'::text[])";
        size_t size = sizeof form + strlen(work->sessions);
        char *sql = malloc(size);
        if (sql == NULL)
            return false;
        snprintf(sql, size, form, work->sessions);
        sent = postgres__connection_send(job->slot, POSTGRES_ITEM_MAIN, sql);
        free(sql);
    }
    return sent && postgres__connection_sync(job->slot);
}

static void take_at_work(struct postgres_job *job, enum postgres_item item, PGresult *result) {
    (void)item;
    struct meta_work *work = job->context;
    work->remaining = (size_t)number_at(result, 0);
    if (work->sessions != NULL || work->remaining == 0)
        return;
    work->sessions = strdup(PQgetvalue(result, 0, 1));
    if (work->sessions == NULL)
        (void)store__error(&job->error, TS_STORE_FAILED, SIZE_MAX, "%s: no memory", job->store->base.name);
}

static const struct postgres_work asking_at_work = {.send = send_at_work, .take = take_at_work};

static enum ts_store_result wait_for_sessions(struct postgres_store *store, uint64_t deadline_ns,
                                              struct meta_work *work, struct ts_store_error *ret_error) {
    const struct timespec a_while = {.tv_nsec = 5000000};
    enum ts_store_result result = run(store, deadline_ns, &asking_at_work, work, ret_error);
    while (result == TS_STORE_OK && work->remaining > 0) {
        (void)nanosleep(&a_while, NULL);
        result = run(store, deadline_ns, &asking_at_work, work, ret_error);
    }
    if (result == TS_STORE_OK)
        return result;
    /* The row is written, but other sessions may not have seen it yet. The caller must repeat the step. */
    return store__error(ret_error, TS_STORE_UNKNOWN, SIZE_MAX,
                        "%.120s: written, but sessions that saw the old state are still running; repeat "
                        "the command",
                        store->base.name);
}

enum ts_store_result postgres__meta_write(struct ts_store *base, uint64_t deadline_ns,
                                          const struct ts_meta *meta, struct ts_store_error *ret_error) {
    struct postgres_store *store = (struct postgres_store *)base;
    struct meta_work work = {.meta = meta, .prepared_max = -1};
    enum ts_store_result result = TS_STORE_OK;
    if (meta->place_count > 1) {
        result = run(store, deadline_ns, &asking_prepared_max, &work, ret_error);
        if (result == TS_STORE_OK)
            result = check_prepared_max(store, &work, meta->place_count, ret_error);
    }
    if (result == TS_STORE_OK)
        result = run(store, deadline_ns, &writing, &work, ret_error);
    /* Two processes that create the schema at once conflict in the catalog. */
    if (result == TS_STORE_FAILED && strncmp(ret_error->sqlstate, "23", 2) == 0)
        ret_error->result = result = TS_STORE_LOCK_CONFLICT;
    if (result != TS_STORE_OK)
        return result;
    if (work.rows_changed == 0)
        return store__error(ret_error, TS_STORE_CHECK_FAILED, SIZE_MAX,
                            "%.120s: another process changed its meta record; see 'turnstone store status'",
                            base->name);
    if (meta->state == TS_META_CLOSING)
        result = wait_for_sessions(store, deadline_ns, &work, ret_error);
    free(work.sessions);
    return result;
}
