/*
 * The meaning of errors, by their SQLSTATE.
 *
 * Certain: an error that answers a statement rolls back its transaction. So if MAIN fails, even by a timeout,
 * nothing was changed, because the commit follows MAIN. Uncertain: a lost connection, an ended session
 * (FATAL, which may also come after the commit), a cancelled LAST, and an error between the success of MAIN
 * and the answer to the sync that commits it.
 */
#include "store/postgres/postgres.h"

#include "base/bytes.h"
#include "base/number.h"
#include "base/redact.h"
#include "libpq_late.h"

#include <stdio.h>
#include <string.h>

enum { REASON_SIZE = 120 };

static void set_sqlstate(struct postgres_job *job, const char *sqlstate) {
    if (strlen(sqlstate) == 5)
        memcpy(job->error.sqlstate, sqlstate, 6);
}

static bool is(const char *sqlstate, const char *one) {
    return strcmp(sqlstate, one) == 0;
}

static bool is_of_class(const char *sqlstate, const char *class) {
    return strncmp(sqlstate, class, 2) == 0;
}

/*
 * Returns the first line of a text of libpq or the server, in a form that is safe for a message. If the text
 * contains a password, which is unusual, no part of it is shown.
 */
static const char *reason_of(const struct postgres_job *job, const char *text,
                             char ret_reason[static REASON_SIZE]) {
    const char *password = job->store->url.password;
    if (text == NULL || (password[0] != '\0' && strstr(text, password) != NULL)) {
        snprintf(ret_reason, REASON_SIZE, "no reason given");
        return ret_reason;
    }
    const char *failed = strstr(text, " failed: ");
    if (failed != NULL)
        text = failed + strlen(" failed: ");
    struct ts_bytes line = ts_bytes_of(text, strcspn(text, "\n"));
    return ts_text_escape(line, ret_reason, REASON_SIZE);
}

/* Finds the tag that a statement has raised, and sets its name and number: turnstone:NAME:NUMBER. Returns
 * false if the message has no tag. */
static bool tag_of(const char *message, char *ret_name, size_t size, uint64_t *ret_number) {
    static const char mark[] = "turnstone:";
    const char *at = message == NULL ? NULL : strstr(message, mark);
    if (at == NULL)
        return false;
    at += sizeof mark - 1;
    size_t name_len = strcspn(at, ":");
    if (name_len >= size || at[name_len] != ':')
        return false;
    const char *number = at + name_len + 1;
    size_t digits = strspn(number, "0123456789");
    if (ts_u64_parse(ts_bytes_of(number, digits), ret_number) != TS_NUMBER_OK)
        return false;
    memcpy(ret_name, at, name_len);
    ret_name[name_len] = '\0';
    return true;
}

static size_t before_op_of(const struct ts_batch *batch) {
    size_t op = SIZE_MAX;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->ops[i].kind == TS_OP_BEFORE &&
            (op == SIZE_MAX || batch->ops[i].time_ms < batch->ops[op].time_ms))
            op = i;
    return op;
}

static void foreign(struct postgres_job *job, const char *why) {
    (void)store__error(&job->error, TS_STORE_FOREIGN, SIZE_MAX, "%.120s %s", job->store->base.name, why);
}

static void check_failed(struct postgres_job *job, uint64_t entry) {
    size_t op = postgres__batch_op_of(&job->call->batch, entry, true);
    (void)store__error(&job->error, TS_STORE_CHECK_FAILED, op,
                       "%.120s: operation %zu: the key has another version", job->store->base.name, op);
}

/* Handles the insert of a key that already exists: the check for the key's absence has failed. Returns false
 * for other errors. */
static bool take_duplicate(struct postgres_job *job, const char *sqlstate) {
    const struct postgres_sent *sent = &job->slot->items[job->slot->item_at];
    if (!is(sqlstate, "23505") || sent->statement != POSTGRES_MAKE)
        return false;
    check_failed(job, sent->entry);
    return true;
}

/* Handles a server that speaks the protocol but has no advisory locks. The call is repeated without advisory
 * locks, and later calls take none. Returns false for other errors. */
static bool take_unqueued(struct postgres_job *job, const char *sqlstate, const char *message) {
    bool is_unknown = is(sqlstate, "42883") || is(sqlstate, "0A000");
    if (!is_unknown || message == NULL || strstr(message, "advisory") == NULL)
        return false;
    atomic_store(&job->store->is_unqueued, true);
    job->again = true;
    (void)store__error(&job->error, TS_STORE_FAILED, SIZE_MAX, "%s: the server has no advisory locks",
                       job->store->base.name);
    return true;
}

/* Handles an error that a statement has raised with a tag. Returns false when the message has no tag. */
static bool take_tag(struct postgres_job *job, const char *message) {
    char name[24];
    uint64_t n;
    if (job->call == NULL || !tag_of(message, name, sizeof name, &n))
        return false;
    const struct ts_batch *batch = &job->call->batch;
    const char *store = job->store->base.name;
    struct ts_store_error *error = &job->error;
    if (is(name, "check")) {
        check_failed(job, n);
    } else if (is(name, "text")) {
        size_t op = postgres__batch_op_of(batch, n, false);
        (void)store__error(error, TS_STORE_NOT_A_COUNTER, op,
                           "%.120s: operation %zu: the value is not a counter", store, op);
    } else if (is(name, "limit")) {
        size_t op = postgres__batch_op_of(batch, n, false);
        (void)store__error(error, TS_STORE_LIMIT, op,
                           "%.120s: operation %zu: the counter would leave its limits", store, op);
    } else if (is(name, "late")) {
        size_t op = before_op_of(batch);
        (void)postgres__time_seen(job->store, n);
        (void)store__error(error, TS_STORE_LATE, op, "%.120s: the time limit of operation %zu has passed",
                           store, op);
    } else if (is(name, "raced")) {
        job->again = true;
        (void)store__error(error, TS_STORE_LOCK_CONFLICT, SIZE_MAX,
                           "%s: other batches kept creating the same keys", store);
    } else if (is(name, "claimed")) {
        job->must_look = job->again = true;
        (void)store__error(error, TS_STORE_LOCK_CONFLICT, SIZE_MAX,
                           "%s: another session is making a promise with this name", store);
    } else if (is(name, "large")) {
        (void)store__error(error, TS_STORE_TOO_LARGE, SIZE_MAX,
                           "%.120s: the values exceed %zu bytes; read fewer keys at once", store,
                           TS_STORE_ANSWER_BYTES_MAX);
    } else if (is(name, "cluster")) {
        foreign(job, "belongs to another cluster, or has another place in it; correct the list of stores");
    } else if (is(name, "epoch")) {
        char why[80];
        snprintf(why, sizeof why, "is in epoch %llu: the cluster was fenced; restart this process",
                 (unsigned long long)n);
        foreign(job, why);
    } else if (is(name, "initialising")) {
        foreign(job, "is only partly initialised; repeat 'turnstone store init'");
    } else if (is(name, "exists")) {
        (void)store__error(error, TS_STORE_PROMISE_EXISTS, SIZE_MAX,
                           "%s: a promise with this name already exists", store);
    } else if (is(name, "closing")) {
        (void)store__error(
            error, TS_STORE_CLOSING, SIZE_MAX,
            "%s: the cluster is being fenced, so new promises are refused; finish 'turnstone store fence'",
            store);
    } else {
        return false;
    }
    return true;
}

static bool is_finishing(const struct postgres_job *job) {
    return job->call != NULL && (job->call->kind == TS_CALL_COMMIT || job->call->kind == TS_CALL_ABORT);
}

/* Handles an error of configuration. Returns false for other errors. */
static bool take_configuration(struct postgres_job *job, enum postgres_item item, const char *sqlstate) {
    const char *cure;
    if (is(sqlstate, "3F000") || is(sqlstate, "42P01"))
        cure = "is not initialised; run 'turnstone store init --cluster ...' with all its stores";
    else if (is(sqlstate, "42501"))
        cure = "denies access to this user; grant it the schema turnstone and its tables, or connect as "
               "their owner";
    else if (is(sqlstate, "25006"))
        cure = "is read-only, perhaps a standby; name the primary in the URL";
    else if (is(sqlstate, "26000") || is(sqlstate, "42P05"))
        cure = "mixes up sessions; configure the connection pooler for session pooling, or name the "
               "server itself";
    else if (is(sqlstate, "55000") && item == POSTGRES_ITEM_LAST)
        cure = "has max_prepared_transactions = 0; its administrator sets it by ALTER SYSTEM SET "
               "max_prepared_transactions = 200, and restarts the server";
    else
        return false;
    (void)store__error(&job->error, TS_STORE_BAD_CONFIGURATION, SIZE_MAX, "%.120s %s", job->store->base.name,
                       cure);
    return true;
}

static enum ts_store_result class_of(const struct postgres_job *job, enum postgres_item item,
                                     const char *sqlstate) {
    if (is(sqlstate, "40001") || is(sqlstate, "40P01") || is(sqlstate, "55P03"))
        return TS_STORE_LOCK_CONFLICT;
    if (is(sqlstate, "57014"))
        return item == POSTGRES_ITEM_LAST && job->can_take_effect ? TS_STORE_UNKNOWN : TS_STORE_TIMED_OUT;
    if (is(sqlstate, "53100"))
        return TS_STORE_FULL;
    if (is_of_class(sqlstate, "53") || (is(sqlstate, "55000") && is_finishing(job)))
        return TS_STORE_BUSY;
    if (is(sqlstate, "42704") && is_finishing(job))
        return TS_STORE_NO_SUCH_PROMISE;
    if (is(sqlstate, "42710") && item == POSTGRES_ITEM_LAST)
        return TS_STORE_PROMISE_EXISTS;
    if (is_of_class(sqlstate, "54"))
        return TS_STORE_TOO_LARGE;
    if (is(sqlstate, "XX001") || is(sqlstate, "XX002"))
        return TS_STORE_DAMAGED;
    if (is_of_class(sqlstate, "08") || is_of_class(sqlstate, "57"))
        return TS_STORE_UNAVAILABLE;
    return TS_STORE_FAILED;
}

static const char *cure_of(enum ts_store_result result, const char *sqlstate) {
    if (result == TS_STORE_BUSY && is(sqlstate, "53200"))
        return "; if this persists, raise max_prepared_transactions or the server's memory";
    if (result == TS_STORE_FULL)
        return "; make room on the server";
    if (result == TS_STORE_TIMED_OUT)
        return ": the deadline passed, and nothing was changed";
    return "";
}

void postgres__error_of_result(struct postgres_job *job, enum postgres_item item, PGresult *result) {
    if (job->error.result != TS_STORE_OK)
        return;
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (is(sqlstate, "22P02") && take_tag(job, message))
        return;
    if (take_duplicate(job, sqlstate) || take_unqueued(job, sqlstate, message))
        return;
    if (is(sqlstate, "55000") && is_finishing(job)) {
        (void)store__error(&job->error, TS_STORE_LOCK_CONFLICT, SIZE_MAX,
                           "%s: another session is finishing the promise", job->store->base.name);
        return;
    }
    if (take_configuration(job, item, sqlstate)) {
        set_sqlstate(job, sqlstate);
        return;
    }
    enum ts_store_result class = class_of(job, item, sqlstate);
    /* After MAIN has succeeded, the answer to the commit decides. Any error at the commit leaves the result
     * unknown. */
    if (job->main_done && item == POSTGRES_ITEM_SYNC && job->can_take_effect)
        class = TS_STORE_UNKNOWN;
    char reason[REASON_SIZE];
    (void)store__error(&job->error, class, SIZE_MAX, "%.90s: %s (SQLSTATE %s)%s", job->store->base.name,
                       reason_of(job, message, reason), sqlstate, cure_of(class, sqlstate));
    if (class != TS_STORE_UNKNOWN)
        set_sqlstate(job, sqlstate);
}

/* Returns true if the server may have carried out the sent statements, or may still do so. */
static bool is_open(const struct postgres_job *job) {
    if (job->phase != POSTGRES_RUNNING || !job->can_take_effect || job->error.result != TS_STORE_OK)
        return false;
    /* An APPLY commits with the last sync. Other calls commit or prepare with a statement. */
    bool needs_sync = job->call != NULL && job->call->kind == TS_CALL_APPLY;
    return !needs_sync || job->slot->is_flushed;
}

void postgres__error_of_lost_connection(struct postgres_job *job) {
    if (job->error.result != TS_STORE_OK || job->last_done)
        return;
    char reason[REASON_SIZE];
    reason_of(job, PQerrorMessage(job->slot->conn), reason);
    if (is_open(job))
        (void)store__error(&job->error, TS_STORE_UNKNOWN, SIZE_MAX,
                           "%.90s: the connection was lost before the answer: %s", job->store->base.name,
                           reason);
    else
        (void)store__error(&job->error, TS_STORE_UNAVAILABLE, SIZE_MAX, "%.90s: the connection was lost: %s",
                           job->store->base.name, reason);
    set_sqlstate(job, "08006");
}

void postgres__error_of_timeline(struct postgres_job *job) {
    (void)store__error(
        &job->error, TS_STORE_UNAVAILABLE, SIZE_MAX,
        "%.90s: an old primary: it is on timeline %llu, and a standby was promoted to %llu; stop it, or name "
        "the new primary in the URL",
        job->store->base.name, (unsigned long long)job->slot->timeline,
        (unsigned long long)atomic_load(&job->store->timeline));
    job->error.down = true;
}

/* Reports a commit without the standby. If the call changes nothing, its answer is valid nevertheless. */
void postgres__error_of_replication(struct postgres_job *job) {
    if (!job->can_take_effect ||
        (job->error.result != TS_STORE_OK && job->error.result != TS_STORE_TIMED_OUT))
        return;
    (void)store__error(&job->error, TS_STORE_UNKNOWN, SIZE_MAX,
                       "%.90s: the server has committed, but its synchronous standby may not have it",
                       job->store->base.name);
}

void postgres__error_of_deadline(struct postgres_job *job) {
    if (job->last_done || job->error.result != TS_STORE_OK)
        return;
    if (is_open(job))
        (void)store__error(&job->error, TS_STORE_UNKNOWN, SIZE_MAX,
                           "%s: the deadline passed before the answer", job->store->base.name);
    else if (job->phase == POSTGRES_QUEUED)
        (void)store__error(&job->error, TS_STORE_TIMED_OUT, SIZE_MAX,
                           "%s: the deadline passed before one of its %zu connections came free",
                           job->store->base.name, job->store->connections_max);
    else
        (void)store__error(&job->error, TS_STORE_TIMED_OUT, SIZE_MAX,
                           "%s: the deadline passed before the server %s", job->store->base.name,
                           job->phase == POSTGRES_RUNNING ? "answered" : "was reached");
}

/* Finds the SQLSTATE in "...FATAL:  28P01: password authentication failed..."; sets "" if there is none. */
static void sqlstate_in(const char *text, char ret_sqlstate[static 6]) {
    ret_sqlstate[0] = '\0';
    for (const char *at = strstr(text, ":  "); at != NULL; at = strstr(at + 3, ":  ")) {
        if (strspn(at + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") < 5 || at[8] != ':')
            continue;
        memcpy(ret_sqlstate, at + 3, 5);
        ret_sqlstate[5] = '\0';
        return;
    }
}

/* Returns whether libpq did not even try to connect, because an option in the URL or in the environment has
 * an unknown value. */
static bool was_not_tried(const struct postgres_job *job, const char *sqlstate, const char *text) {
    return sqlstate[0] == '\0' && PQsocket(job->slot->conn) < 0 &&
           strstr(text, "connection to server") == NULL && strstr(text, "host name") == NULL;
}

void postgres__error_of_connect(struct postgres_job *job) {
    const char *text = PQerrorMessage(job->slot->conn);
    char sqlstate[6], reason[REASON_SIZE];
    sqlstate_in(text, sqlstate);
    enum ts_store_result result = TS_STORE_UNAVAILABLE;
    const char *what = NULL;
    if (PQconnectionNeedsPassword(job->slot->conn)) {
        result = TS_STORE_BAD_CONFIGURATION;
        what = "the server asks for a password; give it in the URL, in PGPASSWORD or in ~/.pgpass";
    } else if (is(sqlstate, "28P01") || is(sqlstate, "28000")) {
        result = TS_STORE_BAD_CONFIGURATION;
        what = "the server refuses this user or password; correct the URL, PGPASSWORD or ~/.pgpass, or "
               "pg_hba.conf";
    } else if (is(sqlstate, "3D000")) {
        result = TS_STORE_BAD_CONFIGURATION;
        what = "the server has no such database; make it with createdb, or correct the URL";
    } else if (is(sqlstate, "53300")) {
        result = TS_STORE_BUSY;
        what = "the server has no connection left; raise its max_connections, or use fewer";
    } else if (is(sqlstate, "57P03")) {
        what = "the server is starting up or shutting down; try again";
    } else if (job->store->url.host_count > 1 && strstr(text, "session is read-only") != NULL) {
        what = "none of its servers accepts writes; start the primary, or promote a standby";
    } else if (is_of_class(sqlstate, "42") || is_of_class(sqlstate, "28") || is(sqlstate, "55000") ||
               is_of_class(sqlstate, "22")) {
        result = TS_STORE_BAD_CONFIGURATION;
    } else if (was_not_tried(job, sqlstate, text)) {
        result = TS_STORE_BAD_USAGE;
    }
    if (what != NULL)
        (void)store__error(&job->error, result, SIZE_MAX, "%.110s: %s", job->store->base.name, what);
    else if (result == TS_STORE_BAD_CONFIGURATION || result == TS_STORE_BAD_USAGE)
        (void)store__error(&job->error, result, SIZE_MAX, "%.90s: %s; correct the URL%s",
                           job->store->base.name, reason_of(job, text, reason),
                           result == TS_STORE_BAD_USAGE ? ", or libpq's variables (PGSSLMODE and others)"
                                                        : "");
    else
        (void)store__error(&job->error, result, SIZE_MAX,
                           "%.90s: the server cannot be reached: %s; start it, or correct the URL",
                           job->store->base.name, reason_of(job, text, reason));
    job->error.down = result == TS_STORE_UNAVAILABLE;
    if ((result != TS_STORE_BAD_CONFIGURATION && result != TS_STORE_BAD_USAGE) || sqlstate[0] != '\0')
        set_sqlstate(job, sqlstate);
}
