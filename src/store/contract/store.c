/*
 * Calls of any engine: check, start, poll, wait.
 *
 *     start ──► checked ──► engine.start ──► done?
 *                  │                          no│ ◄──────────────┐
 *                  ▼                            ▼                │
 *                done (bad, late)     poll: deadline passed? engine.expire ─► done
 *                                     else engine.step ─► done? ─┘
 *
 * While a call is not done, the engine owns the first part of the struct ts_call, and everything that this
 * part points to.
 */
#include "store/contract/engine.h"

#include "base/assert.h"
#include "os/clock.h"
#include "store/contract/check.h"
#include "store/contract/past.h"

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
    return ts_store_result_meaning(result)->text;
}

const char *ts_store_result_sqlstate(enum ts_store_result result) {
    return ts_store_result_meaning(result)->sqlstate;
}

enum ts_store_result store__error(struct ts_store_error *ret_error, enum ts_store_result result, size_t op,
                                  const char *format, ...) {
    ret_error->result = result;
    ret_error->op = op;
    ret_error->down = false;
    ret_error->in_use = false;
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
    /* No text is formatted here, because every call passes this line. */
    call->error.result = TS_STORE_OK;
    memcpy(call->error.sqlstate, ts_store_result_meaning(TS_STORE_OK)->sqlstate, sizeof call->error.sqlstate);
    call->error.op = SIZE_MAX;
    call->error.down = false;
    call->error.in_use = false;
    call->error.text[0] = '\0';
    call->version = 0;
    call->time_ms = 0;
    call->lag_ms = 0;
    call->lock_wait_us = 0;
    call->stall_us = 0;
    call->store = store;
    call->engine_state = NULL;
    call->poll_by_ns = 0;
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
                           "%s: the deadline had passed before the call began", store->name);
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

/* Returns the time from now until until_ns, or NULL for no limit. */
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

/* Returns the earlier of two times. 0 means that a time is not set; then returns the other time. */
static uint64_t earlier(uint64_t a_ns, uint64_t b_ns) {
    if (a_ns == 0 || b_ns == 0)
        return a_ns == 0 ? b_ns : a_ns;
    return a_ns < b_ns ? a_ns : b_ns;
}

/* More calls than this need a list of descriptors on the heap. Most transactions touch fewer stores. */
enum { FEW_CALLS = 16 };

void ts_store_wait(struct ts_call *const *calls, size_t count, uint64_t until_ns) {
    struct pollfd few[FEW_CALLS];
    struct pollfd *many = count > FEW_CALLS ? calloc(count, sizeof *many) : NULL;
    struct pollfd *fds = many != NULL ? many : few;
    /* When memory runs out, waits for only some of the calls. Then this function returns when one of these
     * calls makes progress, or after a short time. */
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
        until_ns = earlier(earlier(until_ns, call->deadline_ns), call->poll_by_ns);
    }
    if (store != NULL && !ready) {
        struct timespec span = {.tv_nsec = 10000000};
        const struct timespec *timeout = some_only ? &span : time_until(store, until_ns, &span);
        /* An interruption by a signal is harmless, because the caller polls and waits again. */
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

enum ts_store_result store__past_read(struct ts_store *store, struct store__past *ret_past,
                                      struct ts_store_error *ret_error) {
    if (store->engine->past_read != NULL)
        return store->engine->past_read(store, ret_past, ret_error);
    memset(ret_past, 0, sizeof *ret_past);
    return TS_STORE_OK;
}

enum ts_store_result store__past_write(struct ts_store *store, const struct store__past *past, bool sync,
                                       struct ts_store_error *ret_error) {
    ts_assert(past->is_kept);
    return store->engine->past_write(store, past, sync, ret_error);
}
