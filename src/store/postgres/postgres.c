#include "store/postgres/postgres.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/number.h"
#include "libpq_late.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* RACES_MAX: how often a job runs again after a race. WORTH_ASKING_MS: with less remaining time, no further
 * request is sent. */
enum { RACES_MAX = 100, WORTH_ASKING_MS = 200 };

uint64_t postgres__time_seen(struct postgres_store *store, uint64_t time_ms) {
    uint64_t latest = atomic_load(&store->latest_ms);
    while (latest < time_ms && !atomic_compare_exchange_weak(&store->latest_ms, &latest, time_ms))
        ;
    return latest < time_ms ? time_ms : latest;
}

void postgres__timeline_seen(struct postgres_store *store, uint64_t timeline) {
    uint64_t highest = atomic_load(&store->timeline);
    while (highest < timeline && !atomic_compare_exchange_weak(&store->timeline, &highest, timeline))
        ;
}

static uint64_t monotonic_ns(const struct postgres_job *job) {
    const struct ts_store_clock *clock = job->store->base.clock;
    return clock->monotonic_ns(clock->context);
}

static bool is_past(const struct postgres_job *job) {
    return job->deadline_ns != 0 && monotonic_ns(job) >= job->deadline_ns;
}

/* Ends the job, and returns its slot to the pool. Drops the connection of the slot if the connection is
 * unusable or keep_connection is false. */
static void finish(struct postgres_job *job, bool keep_connection) {
    struct postgres_slot *slot = job->slot;
    if (slot != NULL) {
        if (keep_connection && PQstatus(slot->conn) == CONNECTION_OK) {
            PGTransactionStatusType status = PQtransactionStatus(slot->conn);
            slot->in_block = status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
        } else {
            postgres__connection_drop(slot);
        }
        postgres__pool_give_back(job);
    }
    if (job->wake_fd >= 0)
        close(job->wake_fd);
    job->wake_fd = -1;
    job->done = true;
}

/* Sends the job's statements. If that fails, ends the job and returns false. */
static bool run(struct postgres_job *job) {
    job->phase = POSTGRES_RUNNING;
    job->main_done = job->last_done = job->again = false;
    job->sent_ns = monotonic_ns(job);
    (void)store__error(&job->error, TS_STORE_OK, SIZE_MAX, "%s", "");
    if (postgres__connection_open_job(job) && job->work->send(job))
        return true;
    /* The sync was not sent, so nothing takes effect. (In a PREPARE, the sync directly follows PREPARE
     * TRANSACTION.) */
    if (job->error.result == TS_STORE_OK)
        postgres__error_of_lost_connection(job);
    finish(job, false);
    return false;
}

static bool connect_slot(struct postgres_job *job) {
    job->phase = POSTGRES_CONNECTING;
    if (postgres__connection_begin(job))
        return true;
    finish(job, false);
    return false;
}

/* Continues with the next host after a host has refused the connection. libpq itself does this only for a
 * host that cannot be reached. But the primary must also be found if an earlier host answers and refuses,
 * such as a standby that does not have the database yet. */
static bool connect_elsewhere(struct postgres_job *job) {
    const bool is_refused =
        job->error.result == TS_STORE_BAD_CONFIGURATION || job->error.result == TS_STORE_BUSY;
    if (!is_refused || ++job->refusals >= job->store->url.host_count)
        return false;
    postgres__connection_next_host(job->store);
    job->done = false;
    (void)store__error(&job->error, TS_STORE_OK, SIZE_MAX, "%s", "");
    return connect_slot(job);
}

/* Runs the job on the slot's connection, or makes a new connection. A connection is not used any more if a
 * standby has taken the place of its server since. */
static bool begin_on_slot(struct postgres_job *job) {
    if (postgres__connection_is_alive(job->slot) && !postgres__connection_is_outdated(job))
        return run(job);
    return connect_slot(job);
}

/* Runs the job after the session was set up. If the server is an old primary that was started again, tries
 * the next host, because changes on an old primary would be lost. */
static bool begin_session(struct postgres_job *job) {
    job->slot->is_set_up = true;
    if (!postgres__connection_is_outdated(job))
        return run(job);
    postgres__connection_next_host(job->store);
    if (++job->refusals < job->store->url.host_count)
        return connect_slot(job);
    postgres__error_of_timeline(job);
    finish(job, false);
    return false;
}

static bool set_up(struct postgres_job *job) {
    job->phase = POSTGRES_SETTING_UP;
    if (postgres__connection_send_settings(job))
        return true;
    postgres__error_of_lost_connection(job);
    finish(job, false);
    return false;
}

static bool run_again(struct postgres_job *job) {
    job->slot->in_block = PQtransactionStatus(job->slot->conn) != PQTRANS_IDLE;
    return run(job);
}

/* Returns whether the server ended the statement at its statement timeout, and not for another reason. */
static bool ran_out_of_time(const struct postgres_job *job) {
    return job->deadline_ns != 0 && job->error.result == TS_STORE_TIMED_OUT &&
           monotonic_ns(job) - job->sent_ns >= job->slot->statement_timeout_ms * 1000000;
}

static bool answered(struct postgres_job *job) {
    if (job->slot->is_unreplicated) {
        postgres__error_of_replication(job);
        finish(job, false);
        return false;
    }
    if (job->again && job->attempts < RACES_MAX && !is_past(job)) {
        job->attempts++;
        return run_again(job);
    }
    if (ran_out_of_time(job) && !is_past(job)) {
        if (job->deadline_ns - monotonic_ns(job) > (uint64_t)WORTH_ASKING_MS * 1000000)
            return run_again(job);
        job->phase = POSTGRES_HELD;
        return false;
    }
    finish(job, true);
    return false;
}

/* Continues the job as far as possible. */
void postgres__job_step(struct postgres_job *job) {
    bool goes_on = true;
    while (goes_on) {
        switch (job->phase) {
        case POSTGRES_QUEUED:
            goes_on = postgres__pool_was_served(job) && begin_on_slot(job);
            break;
        case POSTGRES_CONNECTING:
            goes_on = postgres__connection_connect(job) ? set_up(job) : job->done && connect_elsewhere(job);
            break;
        case POSTGRES_SETTING_UP:
            goes_on = postgres__connection_exchange(job) && !job->done;
            goes_on = goes_on && begin_session(job);
            break;
        case POSTGRES_RUNNING:
            goes_on = postgres__connection_exchange(job) && !job->done && answered(job);
            break;
        case POSTGRES_HELD:
            goes_on = false;
            break;
        }
    }
    if (job->done && job->slot != NULL)
        finish(job, false);
}

void postgres__job_start(struct postgres_job *job) {
    job->wake_fd = -1;
    job->phase = POSTGRES_QUEUED;
    (void)store__error(&job->error, TS_STORE_OK, SIZE_MAX, "%s", "");
    if (!postgres__pool_take(job)) {
        job->done = true;
        return;
    }
    postgres__job_step(job);
}

void postgres__job_expire(struct postgres_job *job) {
    if (job->phase == POSTGRES_QUEUED) {
        postgres__error_of_deadline(job);
        postgres__pool_leave(job);
        finish(job, false);
        return;
    }
    if (job->phase == POSTGRES_CONNECTING || job->phase == POSTGRES_SETTING_UP)
        postgres__connection_next_host(job->store);
    postgres__error_of_deadline(job);
    finish(job, job->phase == POSTGRES_HELD);
}

struct pollfd postgres__job_wait_for(const struct postgres_job *job) {
    if (job->phase == POSTGRES_QUEUED)
        return (struct pollfd){.fd = job->wake_fd, .events = POLLIN};
    if (job->phase == POSTGRES_HELD) /* waits only for the deadline */
        return (struct pollfd){.fd = PQsocket(job->slot->conn), .events = 0};
    return postgres__connection_wait_for(job);
}

/* Calls as jobs. */

static void end_if_done(struct ts_call *call) {
    struct postgres_job *job = call->engine_state;
    if (!job->done)
        return;
    call->error = job->error;
    if (call->error.result != TS_STORE_OK)
        call->version = 0;
    if (call->error.result != TS_STORE_OK && call->rows != NULL)
        ts_rows_clear(call->rows);
    call->engine_state = NULL;
    call->done = true;
    free(job);
}

static void start(struct ts_store *base, struct ts_call *call) {
    if (call->kind == TS_CALL_SYNC) {
        call->done = true; /* everything that the server has answered is already durable */
        return;
    }
    struct postgres_job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        (void)store__error(&call->error, TS_STORE_FAILED, SIZE_MAX, "%s: no memory for the call", base->name);
        call->done = true;
        return;
    }
    job->store = (struct postgres_store *)base;
    job->call = call;
    job->work = &postgres__call_work;
    job->deadline_ns = call->deadline_ns;
    call->engine_state = job;
    postgres__job_start(job);
    end_if_done(call);
}

static void step(struct ts_store *base, struct ts_call *call) {
    (void)base;
    postgres__job_step(call->engine_state);
    end_if_done(call);
}

static void expire(struct ts_store *base, struct ts_call *call) {
    (void)base;
    postgres__job_expire(call->engine_state);
    end_if_done(call);
}

static struct pollfd wait_for(struct ts_store *base, struct ts_call *call) {
    (void)base;
    const struct postgres_job *job = call->engine_state;
    /* A server that does not answer while connecting causes no event, so the call must be polled. */
    call->poll_by_ns = job->phase == POSTGRES_CONNECTING ? job->slot->connect_until_ns : 0;
    return postgres__job_wait_for(job);
}

static void expect(struct ts_store *base, const struct ts_meta *meta) {
    struct postgres_store *store = (struct postgres_store *)base;
    pthread_mutex_lock(&store->lock);
    store->has_expected = meta->present;
    store->expected = *meta;
    pthread_mutex_unlock(&store->lock);
}

static uint64_t timeline(struct ts_store *base) {
    return atomic_load(&((struct postgres_store *)base)->timeline);
}

static void refuse_below(struct ts_store *base, uint64_t timeline) {
    postgres__timeline_seen((struct postgres_store *)base, timeline);
}

static void close_store(struct ts_store *base) {
    struct postgres_store *store = (struct postgres_store *)base;
    ts_assert(store->queue_first == NULL);
    for (size_t i = 0; i < store->slot_count; i++)
        postgres__connection_drop(&store->slots[i]);
    pthread_mutex_destroy(&store->lock);
    store__url_release(&store->url);
    explicit_bzero(&store->expected, sizeof store->expected);
    free(store->slots);
    free(store);
}

static const struct ts_engine engine = {
    .name = "postgres",
    .start = start,
    .step = step,
    .expire = expire,
    .wait_for = wait_for,
    .meta_read = postgres__meta_read,
    .meta_write = postgres__meta_write,
    .identify = postgres__identify,
    .timeline = timeline,
    .refuse_below = refuse_below,
    .expect = expect,
    .close = close_store,
};

/* Options with a fixed set of values. Without this check, libpq would report a wrong value only when it
 * connects. `values` is NULL for whole numbers. */
static const struct {
    const char *name;
    const char *values; /* the allowed values, with a bar before and after each */
} option_values[] = {
    {"sslmode", "|disable|allow|prefer|require|verify-ca|verify-full|"},
    {"gssencmode", "|disable|prefer|require|"},
    {"channel_binding", "|disable|prefer|require|"},
    {"target_session_attrs", "|any|read-write|read-only|primary|standby|prefer-standby|"},
    {"ssl_min_protocol_version", "|TLSv1|TLSv1.1|TLSv1.2|TLSv1.3|"},
    {"ssl_max_protocol_version", "|TLSv1|TLSv1.1|TLSv1.2|TLSv1.3|"},
    {"sslcompression", "|0|1|"},
    {"sslsni", "|0|1|"},
    {"keepalives", "|0|1|"},
    {"connect_timeout", NULL},
    {"keepalives_idle", NULL},
    {"keepalives_interval", NULL},
    {"keepalives_count", NULL},
    {"tcp_user_timeout", NULL},
};

static bool is_among(const char *value, const char *values) {
    char with_bars[64];
    int len = snprintf(with_bars, sizeof with_bars, "|%s|", value);
    return len > 2 && (size_t)len < sizeof with_bars && strchr(value, '|') == NULL &&
           strstr(values, with_bars) != NULL;
}

static enum ts_store_result check_value(const struct store_url *url, const struct store_url_option *option,
                                        struct ts_store_error *ret_error) {
    for (size_t i = 0; i < sizeof option_values / sizeof option_values[0]; i++) {
        const char *values = option_values[i].values;
        uint32_t number;
        if (strcmp(option_values[i].name, option->name) != 0)
            continue;
        if (values == NULL ? ts_u32_parse(ts_bytes_of_cstring(option->value), &number) == TS_NUMBER_OK
                           : is_among(option->value, values))
            return TS_STORE_OK;
        return store__error(ret_error, TS_STORE_BAD_USAGE, SIZE_MAX,
                            "%.100s: the value of the option %s must be %.*s", url->name, option->name,
                            values == NULL ? 14 : (int)strlen(values) - 2,
                            values == NULL ? "a whole number" : values + 1);
    }
    return TS_STORE_OK;
}

/* Before connecting, reports options that libpq does not know, because these are a mistake in the URL. */
static enum ts_store_result check_options(const struct store_url *url, struct ts_store_error *ret_error) {
    PQconninfoOption *known = PQconndefaults();
    enum ts_store_result result = TS_STORE_OK;
    for (size_t i = 0; known != NULL && i < url->option_count && result == TS_STORE_OK; i++) {
        const PQconninfoOption *option = known;
        while (option->keyword != NULL && strcmp(option->keyword, url->options[i].name) != 0)
            option++;
        if (option->keyword == NULL)
            result = store__error(
                ret_error, TS_STORE_BAD_USAGE, SIZE_MAX,
                "%.120s: unknown option \"%.40s\" of a PostgreSQL URL; see libpq's parameter key words",
                url->name, url->options[i].name);
        else
            result = check_value(url, &url->options[i], ret_error);
    }
    PQconninfoFree(known);
    return result;
}

enum ts_store_result store__postgres_open(const struct store_url *url, const struct ts_store_options *options,
                                          struct ts_store **ret_store, struct ts_store_error *ret_error) {
    ts_assert(url->kind == STORE_URL_POSTGRES);
    if (options->now_ms != 0)
        return store__error(ret_error, TS_STORE_BAD_USAGE, SIZE_MAX,
                            "%.120s: the clock of a server cannot be frozen; only that of an embedded "
                            "store can",
                            url->name);
    enum ts_store_result ready = store__library_load(&store__pq_library, url->name, ret_error);
    if (ready == TS_STORE_OK)
        ready = check_options(url, ret_error);
    if (ready != TS_STORE_OK)
        return ready;
    size_t connections_max =
        options->connections_max != 0 ? options->connections_max : POSTGRES_CONNECTIONS_DEFAULT;
    struct postgres_store *store = calloc(1, sizeof *store);
    struct postgres_slot *slots = calloc(connections_max, sizeof *slots);
    if (store == NULL || slots == NULL) {
        free(store);
        free(slots);
        return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "%s: no memory to open it", url->name);
    }
    store->slots = slots;
    store->connections_max = connections_max;
    store->connect_timeout_ms =
        options->connect_timeout_ms != 0 ? options->connect_timeout_ms : POSTGRES_CONNECT_TIMEOUT_MS_DEFAULT;
    store->base.engine = &engine;
    store->base.clock = options->clock != NULL ? options->clock : &store__real_clock;
    snprintf(store->base.name, sizeof store->base.name, "%s", url->name);
    enum ts_store_result result = store__url_parse(
        (struct ts_bytes){(const uint8_t *)url->text, strlen(url->text)}, &store->url, ret_error);
    if (result != TS_STORE_OK || pthread_mutex_init(&store->lock, NULL) != 0) {
        store__url_release(&store->url);
        free(slots);
        free(store);
        return result != TS_STORE_OK
                   ? result
                   : store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "%s: cannot make a mutex", url->name);
    }
    *ret_store = &store->base;
    return TS_STORE_OK;
}
