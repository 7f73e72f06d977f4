/*
 * Opens one connection without blocking, sets it up in one round trip, and then uses it for pipelines of
 * statements and their answers.
 *
 * Syncs divide a pipeline into segments. By default, a segment is one transaction; but a segment can also
 * begin an explicit transaction. When a statement fails, the server skips the rest of its segment. The engine
 * keeps a list of the items that it has sent, and matches the answers with this list.
 */
#include "store/postgres/postgres.h"

#include "base/assert.h"
#include "base/hex.h"
#include "base/number.h"
#include "libpq_late.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Asks for the timeline of a primary. Each promotion of a standby begins a new timeline. The timeline of a
 * server that lacks these functions is unknown.
 */
static const char timeline_sql[] =
    "SELECT substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8)";

/*
 * The settings of every session. Settings that a server does not know are ignored. The statements are made
 * for READ COMMITTED. Durability is raised to the level of an ordinary commit, never lowered. The plans are
 * fixed: each statement has one good plan, by the primary key, whatever the statistics say. The server ends a
 * statement whose client is gone. About 25 s after a client's host is gone, the server ends the session and
 * releases its locks.
 */
static const char set_durable[] =
    "SELECT set_config('synchronous_commit', 'on', false) "
    "WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')";
static const char *const settings[] = {
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED",
    set_durable,
    "SET default_transaction_read_only = off",
    "SET search_path = pg_catalog",
    "SET client_min_messages = warning",
    "SET plan_cache_mode = force_generic_plan",
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SET enable_hashjoin = off",
    "SET enable_mergejoin = off",
    "SET jit = off",
    "SET idle_session_timeout = 0",
    "SET client_connection_check_interval = '500ms'",
    "SET tcp_keepalives_idle = 10",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
    NULL,
};

/*
 * Detects a commit without the synchronous standby. If a session is cancelled while it waits for this
 * standby, it only warns, and answers with success. The name of the function is the only part of the warning
 * that is not translated.
 */
static void take_notice(void *context, const PGresult *result) {
    struct postgres_slot *slot = context;
    const char *function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
    if (function != NULL && strcmp(function, "SyncRepWaitForLSN") == 0)
        slot->is_unreplicated = true;
}

void postgres__connection_drop(struct postgres_slot *slot) {
    if (slot->conn != NULL)
        PQfinish(slot->conn);
    slot->conn = NULL;
    slot->is_set_up = false;
    slot->is_unqueued = false;
    slot->is_unreplicated = false;
    slot->timeline = 0;
    slot->in_block = false;
    slot->item_count = slot->item_at = 0;
    slot->statement_timeout_ms = UINT64_MAX;
    slot->lock_timeout_ms = 0;
    memset(slot->is_parsed, 0, sizeof slot->is_parsed);
}

bool postgres__connection_is_alive(struct postgres_slot *slot) {
    if (slot->conn == NULL || !slot->is_set_up || PQstatus(slot->conn) != CONNECTION_OK)
        return false;
    /* An idle server sends data only when it shuts down or when its configuration has changed. In both cases,
     * a new session is needed. */
    struct pollfd fd = {.fd = PQsocket(slot->conn), .events = POLLIN};
    return fd.fd >= 0 && poll(&fd, 1, 0) == 0;
}

void postgres__connection_next_host(struct postgres_store *store) {
    atomic_fetch_add(&store->first_host, 1);
}

/* Returns the list rotated so that item `first` is the first. libpq tries the hosts in this order, and waits
 * for each without a limit. */
static const char *rotate(const char *list, size_t count, size_t first,
                          char ret_list[static STORE_URL_HOSTS_SIZE]) {
    size_t len = 0;
    if (count == 1 || strchr(list, ',') == NULL)
        return list;
    for (size_t i = 0; i < count; i++) {
        const struct ts_bytes item = store__url_list_item(list, (first + i) % count);
        if (i > 0)
            ret_list[len++] = ',';
        memcpy(ret_list + len, item.data, item.len);
        len += item.len;
    }
    ret_list[len] = '\0';
    return ret_list;
}

bool postgres__connection_begin(struct postgres_job *job) {
    struct postgres_slot *slot = job->slot;
    const struct store_url *url = &job->store->url;
    const char *names[STORE_URL_OPTIONS_MAX + 9], *values[STORE_URL_OPTIONS_MAX + 9];
    char hosts[STORE_URL_HOSTS_SIZE], ports[STORE_URL_HOSTS_SIZE];
    const size_t first = atomic_load(&job->store->first_host) % url->host_count;
    size_t count = 0;
    const struct store_url_option parts[] = {
        {"host", rotate(url->host, url->host_count, first, hosts)},
        {"port", rotate(url->port, url->host_count, first, ports)},
        /* If the URL has this option, too, the URL's value is later in the list, so libpq uses that value. */
        {"target_session_attrs", url->host_count > 1 ? "read-write" : ""},
        {"user", url->user},
        {"password", url->password},
        {"dbname", url->database},
        {"client_encoding", "UTF8"},
        {"fallback_application_name", "turnstone"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].value[0] == '\0')
            continue;
        names[count] = parts[i].name;
        values[count++] = parts[i].value;
    }
    for (size_t i = 0; i < url->option_count; i++) {
        names[count] = url->options[i].name;
        values[count++] = url->options[i].value;
    }
    names[count] = values[count] = NULL;
    postgres__connection_drop(slot);
    slot->conn = PQconnectStartParams(names, values, 0);
    if (slot->conn == NULL) {
        (void)store__error(&job->error, TS_STORE_FAILED, SIZE_MAX, "%s: no memory for a connection",
                           job->store->base.name);
        return false;
    }
    /* Makes libpq put the SQLSTATE into the texts of failed connections, because libpq reports the SQLSTATE
     * nowhere else. */
    PQsetErrorVerbosity(slot->conn, PQERRORS_VERBOSE);
    (void)PQsetNoticeReceiver(slot->conn, take_notice, slot);
    if (PQstatus(slot->conn) == CONNECTION_BAD) {
        postgres__error_of_connect(job);
        return false;
    }
    const struct ts_store_clock *clock = job->store->base.clock;
    slot->connect_until_ns = clock->monotonic_ns(clock->context) + job->store->connect_timeout_ms * 1000000;
    slot->polling = PGRES_POLLING_WRITING;
    return true;
}

static short wanted_events(const struct postgres_job *job) {
    const struct postgres_slot *slot = job->slot;
    if (job->phase == POSTGRES_CONNECTING)
        return slot->polling == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    return slot->is_flushed ? POLLIN : POLLIN | POLLOUT;
}

struct pollfd postgres__connection_wait_for(const struct postgres_job *job) {
    return (struct pollfd){.fd = PQsocket(job->slot->conn), .events = wanted_events(job)};
}

bool postgres__connection_connect(struct postgres_job *job) {
    struct postgres_slot *slot = job->slot;
    for (;;) {
        struct pollfd fd = postgres__connection_wait_for(job);
        if (fd.fd >= 0 && poll(&fd, 1, 0) == 0) {
            const struct ts_store_clock *clock = job->store->base.clock;
            if (clock->monotonic_ns(clock->context) < slot->connect_until_ns)
                return false;
            postgres__connection_next_host(job->store);
            (void)store__error(&job->error, TS_STORE_UNAVAILABLE, SIZE_MAX,
                               "%s: the server does not answer; check that it is running and can be "
                               "reached",
                               job->store->base.name);
            job->error.down = true;
            job->done = true;
            return false;
        }
        slot->polling = PQconnectPoll(slot->conn);
        switch (slot->polling) {
        case PGRES_POLLING_OK:
            return true;
        case PGRES_POLLING_READING:
        case PGRES_POLLING_WRITING:
        case PGRES_POLLING_ACTIVE:
            break;
        case PGRES_POLLING_FAILED:
            postgres__error_of_connect(job);
            job->done = true;
            return false;
        }
    }
}

static void add_sent(struct postgres_slot *slot, struct postgres_sent sent) {
    ts_assert(slot->item_count < POSTGRES_ITEMS_MAX);
    slot->items[slot->item_count++] = sent;
}

static void add_item(struct postgres_slot *slot, enum postgres_item item) {
    add_sent(slot, (struct postgres_sent){.item = item, .statement = POSTGRES_STATEMENT_COUNT});
}

bool postgres__connection_send(struct postgres_slot *slot, enum postgres_item item, const char *sql) {
    if (PQsendQueryParams(slot->conn, sql, 0, NULL, NULL, NULL, NULL, 1) != 1)
        return false;
    add_item(slot, item);
    return true;
}

bool postgres__connection_execute(struct postgres_job *job, enum postgres_item item,
                                  enum postgres_statement statement, struct postgres_parameters parameters) {
    struct postgres_slot *slot = job->slot;
    static const int binary[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    ts_assert(parameters.count <= 16);
    const struct postgres_statement_text *text = postgres__statement(statement);
    if (!slot->is_parsed[statement] && !slot->is_parsing[statement]) {
        const char *sql = slot->is_unqueued && text->unqueued_sql != NULL ? text->unqueued_sql : text->sql;
        if (PQsendPrepare(slot->conn, text->name, sql, text->type_count, text->types) != 1)
            return false;
        add_sent(slot, (struct postgres_sent){.item = POSTGRES_ITEM_PARSE, .statement = statement});
        slot->is_parsing[statement] = true;
    }
    if (PQsendQueryPrepared(slot->conn, text->name, parameters.count, parameters.values, parameters.lengths,
                            binary, 1) != 1)
        return false;
    add_sent(slot, (struct postgres_sent){item, statement, parameters.entry});
    return true;
}

bool postgres__connection_sync(struct postgres_slot *slot) {
    if (PQpipelineSync(slot->conn) != 1)
        return false;
    add_item(slot, POSTGRES_ITEM_SYNC);
    return true;
}

bool postgres__connection_send_settings(struct postgres_job *job) {
    struct postgres_slot *slot = job->slot;
    slot->item_count = slot->item_at = 0;
    slot->item_answered = false;
    slot->is_flushed = false;
    if (PQsetnonblocking(slot->conn, 1) != 0 || PQenterPipelineMode(slot->conn) != 1)
        return false;
    for (size_t i = 0; settings[i] != NULL; i++)
        if (!postgres__connection_send(slot, POSTGRES_ITEM_SETTING, settings[i]) ||
            !postgres__connection_sync(slot))
            return false;
    return postgres__connection_send(slot, POSTGRES_ITEM_PLACE,
                                     "SELECT oid::text FROM pg_catalog.pg_database "
                                     "WHERE datname = current_database()") &&
           postgres__connection_sync(slot) &&
           postgres__connection_send(slot, POSTGRES_ITEM_TIMELINE, timeline_sql) &&
           postgres__connection_sync(slot);
}

/*
 * Returns the server's timeout for a statement, computed from the remaining time; 0: no timeout. It is a
 * little shorter than the remaining time, because after the server's timeout nothing was changed, but after
 * our deadline the result is unknown. It is rounded down to its five highest bits, so that the session needs
 * a new timeout only when deadlines differ considerably.
 */
static uint64_t statement_timeout_ms(const struct postgres_job *job) {
    if (job->deadline_ns == 0)
        return 0;
    const struct ts_store_clock *clock = job->store->base.clock;
    uint64_t now_ns = clock->monotonic_ns(clock->context);
    uint64_t left_ms = job->deadline_ns > now_ns ? (job->deadline_ns - now_ns) / 1000000 : 0;
    uint64_t margin_ms = left_ms / 2 < 100 ? left_ms / 2 : 100;
    uint64_t timeout_ms = left_ms - margin_ms;
    uint64_t step = 1;
    while (timeout_ms / step >= 32)
        step *= 2;
    timeout_ms = timeout_ms / step * step;
    const uint64_t most_ms = 86400000;
    return timeout_ms < 1 ? 1 : timeout_ms > most_ms ? most_ms : timeout_ms;
}

/* Returns how long the server may wait for one lock; 0: the server's default. */
static uint64_t lock_timeout_ms(const struct postgres_job *job) {
    return job->call == NULL ? 0 : (job->call->lock_wait_max_us + 999) / 1000;
}

/* Sends a setting in a separate segment, because later failures must not undo the setting, and because COMMIT
 * PREPARED must be alone in its segment. */
static bool send_setting(struct postgres_slot *slot, const char *sql) {
    return postgres__connection_send(slot, POSTGRES_ITEM_SETTING, sql) && postgres__connection_sync(slot);
}

/* Sends the timeouts that the session does not have yet. */
static bool set_timeouts(struct postgres_job *job) {
    struct postgres_slot *slot = job->slot;
    char sql[64];
    const uint64_t statement_ms = statement_timeout_ms(job), lock_ms = lock_timeout_ms(job);
    if (statement_ms != slot->statement_timeout_ms) {
        snprintf(sql, sizeof sql, "SET statement_timeout = %llu", (unsigned long long)statement_ms);
        slot->statement_timeout_ms = statement_ms;
        if (!send_setting(slot, sql))
            return false;
    }
    if (lock_ms == slot->lock_timeout_ms)
        return true;
    snprintf(sql, sizeof sql, "SET lock_timeout = %llu", (unsigned long long)lock_ms);
    slot->lock_timeout_ms = lock_ms;
    return send_setting(slot, lock_ms == 0 ? "RESET lock_timeout" : sql);
}

bool postgres__connection_open_job(struct postgres_job *job) {
    struct postgres_slot *slot = job->slot;
    slot->item_count = slot->item_at = 0;
    slot->item_answered = false;
    slot->is_flushed = false;
    memset(slot->is_parsing, 0, sizeof slot->is_parsing);
    if (slot->in_block) {
        if (!send_setting(slot, "ROLLBACK"))
            return false;
    }
    bool is_unqueued = atomic_load(&job->store->is_unqueued);
    if (is_unqueued != slot->is_unqueued) {
        slot->is_unqueued = is_unqueued;
        memset(slot->is_parsed, 0, sizeof slot->is_parsed);
        if (!send_setting(slot, "DEALLOCATE ALL"))
            return false;
    }
    return set_timeouts(job);
}

static void take_place(struct postgres_slot *slot, PGresult *result) {
    if (PQntuples(result) == 1 && PQgetlength(result, 0, 0) < 16)
        snprintf(slot->prefix, sizeof slot->prefix, "turnstone/%.16s/", PQgetvalue(result, 0, 0));
}

static void take_timeline(struct postgres_slot *slot, PGresult *result) {
    if (PQntuples(result) != 1 || PQgetisnull(result, 0, 0) || PQgetlength(result, 0, 0) != 8)
        return;
    const char *digits = PQgetvalue(result, 0, 0);
    uint64_t timeline = 0;
    for (size_t i = 0; i < 8; i++) {
        const int digit = ts_hex_digit((uint8_t)digits[i]);
        if (digit < 0)
            return;
        timeline = timeline << 4 | (uint64_t)digit;
    }
    slot->timeline = timeline;
}

bool postgres__connection_is_outdated(struct postgres_job *job) {
    const uint64_t timeline = job->slot->timeline;
    postgres__timeline_seen(job->store, timeline);
    return timeline != 0 && timeline < atomic_load(&job->store->timeline);
}

/* Returns whether the current answer belongs to the last statement of the call itself. */
static bool is_last_statement(const struct postgres_slot *slot) {
    const enum postgres_item next = slot->items[slot->item_at + 1].item;
    return next == POSTGRES_ITEM_SYNC || next == POSTGRES_ITEM_LAST;
}

static void take_good(struct postgres_job *job, enum postgres_item item, PGresult *result) {
    switch (item) {
    case POSTGRES_ITEM_PLACE:
        take_place(job->slot, result);
        return;
    case POSTGRES_ITEM_TIMELINE:
        take_timeline(job->slot, result);
        return;
    case POSTGRES_ITEM_PARSE:
        job->slot->is_parsed[job->slot->items[job->slot->item_at].statement] = true;
        return;
    case POSTGRES_ITEM_DRAWN:
        job->main_done = is_last_statement(job->slot);
        job->work->take(job, item, result);
        return;
    case POSTGRES_ITEM_MAIN:
        job->main_done = true;
        job->work->take(job, item, result);
        return;
    case POSTGRES_ITEM_LAST:
        job->last_done = true;
        job->work->take(job, item, result);
        return;
    case POSTGRES_ITEM_SETTING:
    case POSTGRES_ITEM_MINOR:
    case POSTGRES_ITEM_SYNC:
        return;
    }
}

/* Handles one result. Returns true if the connection is still usable. */
static bool take_result(struct postgres_job *job, PGresult *result) {
    struct postgres_slot *slot = job->slot;
    enum postgres_item item = slot->items[slot->item_at].item;
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_PIPELINE_SYNC) {
        if (item == POSTGRES_ITEM_SYNC)
            slot->item_at++;
        return true;
    }
    slot->item_answered = item != POSTGRES_ITEM_SYNC;
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        take_good(job, item, result);
        return true;
    }
    if (status == PGRES_PIPELINE_ABORTED)
        return true;
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (sqlstate == NULL || severity == NULL || strcmp(severity, "ERROR") != 0) {
        postgres__error_of_lost_connection(job);
        return false;
    }
    if (item != POSTGRES_ITEM_SETTING && item != POSTGRES_ITEM_TIMELINE)
        postgres__error_of_result(job, item, result);
    return true;
}

/* Handles all results that libpq has received. Returns true if the connection is still usable. */
static bool take_results(struct postgres_job *job, bool is_lost) {
    struct postgres_slot *slot = job->slot;
    unsigned nothing = 0;
    while (slot->item_at < slot->item_count && (is_lost || !PQisBusy(slot->conn)) && nothing < 3) {
        PGresult *result = PQgetResult(slot->conn);
        if (result == NULL) {
            nothing++;
            if (slot->item_answered)
                slot->item_at++;
            slot->item_answered = false;
            continue;
        }
        nothing = 0;
        bool usable = take_result(job, result);
        PQclear(result);
        if (!usable)
            return false;
    }
    return true;
}

bool postgres__connection_exchange(struct postgres_job *job) {
    struct postgres_slot *slot = job->slot;
    bool is_lost = false;
    if (!slot->is_flushed) {
        int left = PQflush(slot->conn);
        is_lost = left < 0;
        slot->is_flushed = left == 0;
        if (slot->is_flushed) /* flushed just now, so the last answer cannot have arrived yet */
            return false;
    }
    if (PQconsumeInput(slot->conn) != 1)
        is_lost = true;
    /* If the connection is lost, the answers that arrived earlier still count. */
    if (!take_results(job, is_lost)) {
        job->done = true;
        return true;
    }
    if (slot->item_at == slot->item_count)
        return true;
    if (is_lost || PQstatus(slot->conn) == CONNECTION_BAD) {
        postgres__error_of_lost_connection(job);
        job->done = true;
        return true;
    }
    return false;
}
