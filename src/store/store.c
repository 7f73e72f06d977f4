/*
 * Calls, whatever the engine: checked, started, polled, waited for.
 *
 *     start ──► checked ──► engine.start ──► done?
 *                  │                          no│ ◄──────────────┐
 *                  ▼                            ▼                │
 *                done (bad, late)     poll: deadline passed? engine.expire ─► done
 *                                     else engine.step ─► done? ─┘
 *
 * While a call is not done, its first part, and what that points to, belong to the engine.
 */
#include "store/engine.h"

#include "base/assert.h"
#include "check.h"
#include "os/clock.h"
#include "store/open.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t real_wall_ms(void *context) {
    (void)context;
    return ts_clock_wall_ms();
}

static uint64_t real_monotonic_ns(void *context) {
    (void)context;
    return ts_clock_monotonic_ns();
}

const struct ts_store_clock store__real_clock = {.wall_ms = real_wall_ms, .monotonic_ns = real_monotonic_ns};

const char *ts_store_result_text(enum ts_store_result result) {
#define RESULT_TEXT(suffix, text) text,
    static const char *const texts[] = {TS_STORE_RESULTS(RESULT_TEXT)};
#undef RESULT_TEXT
    ts_assert((size_t)result < sizeof texts / sizeof texts[0]);
    return texts[result];
}

const char *ts_store_result_sqlstate(enum ts_store_result result) {
    switch (result) {
    case TS_STORE_OK:
        return "00000";
    case TS_STORE_CHECK_FAILED:
    case TS_STORE_LATE:
    case TS_STORE_LOCK_CONFLICT:
        return "40001";
    case TS_STORE_LIMIT:
    case TS_STORE_TOO_LARGE:
        return "54000";
    case TS_STORE_NOT_A_COUNTER:
        return "22P02";
    case TS_STORE_BUSY:
        return "53300";
    case TS_STORE_UNAVAILABLE:
        return "08001";
    case TS_STORE_TIMED_OUT:
        return "57014";
    case TS_STORE_UNKNOWN:
        return "08006";
    case TS_STORE_NO_SUCH_PROMISE:
        return "42704";
    case TS_STORE_PROMISE_EXISTS:
        return "42710";
    case TS_STORE_BAD_BATCH:
        return "22023";
    case TS_STORE_FULL:
        return "53100";
    case TS_STORE_FOREIGN:
    case TS_STORE_CLOSING:
        return "58000";
    case TS_STORE_BAD_USAGE:
    case TS_STORE_BAD_CONFIGURATION:
        return "F0000";
    case TS_STORE_DAMAGED:
        return "XX001";
    case TS_STORE_FAILED:
        return "XX000";
    }
    ts_unreachable("a result that is not in the table");
}

enum ts_store_result store__error(struct ts_store_error *ret_error, enum ts_store_result result, size_t op,
                                  const char *format, ...) {
    ret_error->result = result;
    ret_error->op = op;
    snprintf(ret_error->sqlstate, sizeof ret_error->sqlstate, "%s", ts_store_result_sqlstate(result));
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ret_error->text, sizeof ret_error->text, format, arguments);
    va_end(arguments);
    return result;
}

static bool is_past(const struct ts_store *store, uint64_t deadline_ns) {
    return deadline_ns != 0 && store->clock->monotonic_ns(store->clock->context) >= deadline_ns;
}

void ts_store_start(struct ts_store *store, struct ts_call *call) {
    call->done = false;
    (void)store__error(&call->error, TS_STORE_OK, SIZE_MAX, "%s", "");
    call->version = 0;
    call->time_ms = 0;
    call->lag_ms = 0;
    call->lock_wait_us = 0;
    call->stall_us = 0;
    call->store = store;
    call->engine_state = NULL;
    for (size_t i = 0; i < sizeof call->engine_words / sizeof call->engine_words[0]; i++)
        call->engine_words[i] = 0;
    if (call->rows != NULL)
        ts_rows_clear(call->rows);
    bool gives_rows =
        call->kind == TS_CALL_READ || call->kind == TS_CALL_SCAN || call->kind == TS_CALL_PREPARED;
    ts_assert(!gives_rows || call->rows != NULL);

    if (store__check_call(call, &call->error) != TS_STORE_OK) {
        call->done = true;
    } else if (is_past(store, call->deadline_ns)) {
        (void)store__error(&call->error, TS_STORE_TIMED_OUT, SIZE_MAX,
                           "%s: the deadline was over before the call began", store->name);
        call->done = true;
    } else {
        store->engine->start(store, call);
    }
}

bool ts_store_poll(struct ts_call *call) {
    if (call->done)
        return true;
    call->store->engine->step(call->store, call);
    if (!call->done && is_past(call->store, call->deadline_ns))
        call->store->engine->expire(call->store, call);
    return call->done;
}

void ts_store_cancel(struct ts_call *call) {
    if (call->done)
        return;
    call->store->engine->expire(call->store, call);
    ts_assert(call->done);
}

/* How long to wait for a time; NULL is for ever. */
static const struct timespec *time_until(const struct ts_store *store, uint64_t until_ns,
                                         struct timespec *span) {
    if (until_ns == 0)
        return NULL;
    uint64_t now_ns = store->clock->monotonic_ns(store->clock->context);
    uint64_t rest_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    const uint64_t second_ns = 1000000000;
    *span =
        (struct timespec){.tv_sec = (time_t)(rest_ns / second_ns), .tv_nsec = (long)(rest_ns % second_ns)};
    return span;
}

/* Most transactions touch a handful of stores; beyond, what to wait for goes onto the heap. */
enum { FEW_CALLS = 16 };

void ts_store_wait(struct ts_call *const *calls, size_t count, uint64_t until_ns) {
    struct pollfd few[FEW_CALLS];
    struct pollfd *many = count > FEW_CALLS ? calloc(count, sizeof *many) : NULL;
    struct pollfd *fds = many != NULL ? many : few;
    /* Without memory only some are waited for; the caller comes back when one of those moves or after a
     * while. */
    bool some_only = count > FEW_CALLS && many == NULL;
    const struct ts_store *store = NULL;
    size_t waiting = 0;
    bool ready = false;
    for (size_t i = 0; i < count && !ready; i++) {
        struct ts_call *call = calls[i];
        if (call == NULL || call->done || (some_only && waiting == FEW_CALLS))
            continue;
        store = call->store;
        struct pollfd fd = store->engine->wait_for(call->store, call);
        ready = call->done || fd.fd < 0;
        fds[waiting++] = fd;
        if (call->deadline_ns != 0 && (until_ns == 0 || call->deadline_ns < until_ns))
            until_ns = call->deadline_ns;
    }
    if (store != NULL && !ready) {
        struct timespec span = {.tv_nsec = 10000000};
        const struct timespec *timeout = some_only ? &span : time_until(store, until_ns, &span);
        /* A signal is no matter: the caller polls and comes back. */
        int got = ppoll(fds, (nfds_t)waiting, timeout, NULL);
        ts_assert(got >= 0 || errno == EINTR || errno == ENOMEM);
    }
    free(many);
}

enum ts_store_result ts_store_run(struct ts_store *store, struct ts_call *call) {
    ts_store_start(store, call);
    while (!ts_store_poll(call))
        ts_store_wait(&(struct ts_call *const){call}, 1, 0);
    return call->error.result;
}

const char *ts_store_name(const struct ts_store *store) {
    return store->name;
}

void ts_store_close(struct ts_store *store) {
    if (store != NULL)
        store->engine->close(store);
}

enum ts_store_result store__identify(struct ts_store *store, uint64_t deadline_ns,
                                     char ret_text[static STORE_IDENTITY_SIZE],
                                     struct ts_store_error *ret_error) {
    if (store->engine->identify != NULL)
        return store->engine->identify(store, deadline_ns, ret_text, ret_error);
    ret_text[0] = '\0';
    return TS_STORE_OK;
}
