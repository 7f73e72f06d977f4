#include "store/decorators/trace.h"

#include "base/bytes.h"
#include "base/hash64.h"
#include "base/redact.h"
#include "decorate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Operations and keys that a line shows; it only counts the others. */
enum { SHOWN = 8 };

struct trace_store {
    struct ts_store head;
    struct ts_store *inside;
    struct ts_trace_options options;
};

struct trace_call {
    struct ts_call inner;
    uint64_t begin_ns;
};

/* A line that grows up to its limit. */
struct text {
    size_t len;
    char bytes[2048];
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(text->bytes + text->len, sizeof text->bytes - text->len, format, arguments);
    va_end(arguments);
    text->len += len > 0 ? (size_t)len : 0;
    if (text->len >= sizeof text->bytes)
        text->len = sizeof text->bytes - 1;
}

static void add_key(struct text *text, struct ts_bytes key) {
    add(text, "[%zu bytes #%04x]", key.len, (unsigned)(ts_xxh64_of_bytes(key) & 0xffff));
}

static void add_op(struct text *text, const struct ts_op *op) {
    static const char *const names[] = {[TS_OP_CHECK] = "check",
                                        [TS_OP_BEFORE] = "before",
                                        [TS_OP_PUT] = "put",
                                        [TS_OP_DEL] = "del",
                                        [TS_OP_ADD] = "add"};
    add(text, "%s ", names[op->kind]);
    switch (op->kind) {
    case TS_OP_CHECK:
        add_key(text, op->key);
        add(text, " %" PRIu64, op->version);
        break;
    case TS_OP_BEFORE:
        add(text, "%" PRIu64, op->time_ms);
        break;
    case TS_OP_PUT:
        add_key(text, op->key);
        add(text, " [%zu bytes]", op->value.len);
        break;
    case TS_OP_DEL:
        add_key(text, op->key);
        break;
    case TS_OP_ADD:
        add_key(text, op->key);
        add(text, " %+" PRId64 " max %" PRIu64, op->delta, op->max);
        break;
    }
}

static void add_batch(struct text *text, const struct ts_batch *batch) {
    for (size_t i = 0; i < batch->count && i < SHOWN; i++) {
        add(text, "%s", i == 0 ? " " : ", ");
        add_op(text, &batch->ops[i]);
    }
    if (batch->count > SHOWN)
        add(text, ", and %zu more", batch->count - SHOWN);
}

static void add_keys(struct text *text, const struct ts_call *call) {
    for (size_t i = 0; i < call->key_count && i < SHOWN; i++) {
        add(text, "%s", i == 0 ? " " : ", ");
        add_key(text, call->keys[i]);
    }
    if (call->key_count > SHOWN)
        add(text, ", and %zu more", call->key_count - SHOWN);
}

static void add_gid(struct text *text, const char *gid) {
    char shown[TS_STORE_GID_MAX + 1];
    add(text, " %s", ts_text_escape(ts_bytes_of_cstring(gid), shown, sizeof shown));
}

static void add_call(struct text *text, const struct ts_call *call) {
    static const char *const names[] = {[TS_CALL_READ] = "read",         [TS_CALL_SCAN] = "scan",
                                        [TS_CALL_APPLY] = "apply",       [TS_CALL_PREPARE] = "prepare",
                                        [TS_CALL_COMMIT] = "commit",     [TS_CALL_ABORT] = "abort",
                                        [TS_CALL_PREPARED] = "prepared", [TS_CALL_NOW] = "now",
                                        [TS_CALL_SYNC] = "sync",         [TS_CALL_LAG] = "lag"};
    add(text, "%s", names[call->kind]);
    switch (call->kind) {
    case TS_CALL_READ:
        add_keys(text, call);
        break;
    case TS_CALL_SCAN:
        add(text, " from ");
        add_key(text, call->from);
        add(text, " to ");
        add_key(text, call->to);
        add(text, " limit %zu", call->limit);
        break;
    case TS_CALL_PREPARE:
        add_gid(text, call->gid);
        add_batch(text, &call->batch);
        break;
    case TS_CALL_APPLY:
        add_batch(text, &call->batch);
        break;
    case TS_CALL_COMMIT:
    case TS_CALL_ABORT:
        add_gid(text, call->gid);
        break;
    case TS_CALL_PREPARED:
    case TS_CALL_NOW:
    case TS_CALL_SYNC:
    case TS_CALL_LAG:
        break;
    }
}

static void add_answer(struct text *text, const struct ts_call *call) {
    add(text, " -> %s", ts_store_result_text(call->error.result));
    if (call->error.op != SIZE_MAX)
        add(text, " (%zu)", call->error.op);
    if (call->rows != NULL && call->error.result == TS_STORE_OK)
        add(text, ", %zu rows%s", call->rows->count, call->rows->more ? " and more" : "");
    if (call->lock_wait_us > 0)
        add(text, ", waited %" PRIu64 " us", call->lock_wait_us);
}

static uint64_t now_ns(const struct ts_store *store) {
    return store->clock->monotonic_ns(store->clock->context);
}

/* Ends the outer call when the inner one is done. */
static void follow(struct trace_store *store, struct ts_call *call) {
    struct trace_call *mine = call->engine_state;
    if (!mine->inner.done)
        return;
    store__call_copy_answer(&mine->inner, call);
    struct text text = {0};
    add_call(&text, call);
    add_answer(&text, call);
    add(&text, ", %" PRIu64 " us", (now_ns(&store->head) - mine->begin_ns) / 1000);
    store->options.line(store->options.context, text.bytes);
    free(mine);
    call->engine_state = NULL;
    call->done = true;
}

static void start(struct ts_store *head, struct ts_call *call) {
    struct trace_store *store = (struct trace_store *)head;
    struct trace_call *mine = calloc(1, sizeof *mine);
    if (mine == NULL) {
        (void)store__error(&call->error, TS_STORE_FAILED, SIZE_MAX, "%.120s: out of memory", head->name);
        call->done = true;
        return;
    }
    call->engine_state = mine;
    mine->begin_ns = now_ns(head);
    store__call_copy_request(call, &mine->inner);
    ts_store_start(store->inside, &mine->inner);
    follow(store, call);
}

static void step(struct ts_store *head, struct ts_call *call) {
    (void)ts_store_poll(&((struct trace_call *)call->engine_state)->inner);
    follow((struct trace_store *)head, call);
}

static void expire(struct ts_store *head, struct ts_call *call) {
    ts_store_cancel(&((struct trace_call *)call->engine_state)->inner);
    follow((struct trace_store *)head, call);
}

static struct pollfd wait_for(struct ts_store *head, struct ts_call *call) {
    struct ts_call *inner = &((struct trace_call *)call->engine_state)->inner;
    if (inner->done)
        return (struct pollfd){.fd = -1};
    (void)head;
    return store__call_wait_inside(call, inner);
}

static void tell_meta(const struct trace_store *store, const char *what, const struct ts_meta *meta,
                      enum ts_store_result result) {
    struct text text = {0};
    add(&text, "%s", what);
    if (result == TS_STORE_OK && meta->present)
        add(&text, " store %" PRIu32 " of %" PRIu32 " epoch %" PRIu64, meta->place, meta->place_count,
            meta->epoch);
    add(&text, " -> %s", ts_store_result_text(result));
    store->options.line(store->options.context, text.bytes);
}

static enum ts_store_result meta_read(struct ts_store *head, uint64_t deadline_ns, struct ts_meta *ret_meta,
                                      struct ts_store_error *ret_error) {
    struct trace_store *store = (struct trace_store *)head;
    enum ts_store_result result =
        store->inside->engine->meta_read(store->inside, deadline_ns, ret_meta, ret_error);
    tell_meta(store, "meta-read", ret_meta, result);
    return result;
}

static enum ts_store_result meta_write(struct ts_store *head, uint64_t deadline_ns,
                                       const struct ts_meta *meta, struct ts_store_error *ret_error) {
    struct trace_store *store = (struct trace_store *)head;
    enum ts_store_result result =
        store->inside->engine->meta_write(store->inside, deadline_ns, meta, ret_error);
    tell_meta(store, "meta-write", meta, result);
    return result;
}

static enum ts_store_result identify(struct ts_store *head, uint64_t deadline_ns,
                                     char ret_text[static STORE_IDENTITY_SIZE],
                                     struct ts_store_error *ret_error) {
    return store__identify(((struct trace_store *)head)->inside, deadline_ns, ret_text, ret_error);
}

static enum ts_store_result past_read(struct ts_store *head, struct store__past *ret_past,
                                      struct ts_store_error *ret_error) {
    return store__past_read(((struct trace_store *)head)->inside, ret_past, ret_error);
}

static enum ts_store_result past_write(struct ts_store *head, const struct store__past *past, bool sync,
                                       struct ts_store_error *ret_error) {
    return store__past_write(((struct trace_store *)head)->inside, past, sync, ret_error);
}

static void expect(struct ts_store *head, const struct ts_meta *meta) {
    struct ts_store *inside = ((struct trace_store *)head)->inside;
    inside->engine->expect(inside, meta);
}

static void close_store(struct ts_store *head) {
    struct trace_store *store = (struct trace_store *)head;
    store->inside->engine->close(store->inside);
    free(store);
}

static const struct ts_engine engine = {
    .name = "trace",
    .start = start,
    .step = step,
    .expire = expire,
    .wait_for = wait_for,
    .meta_read = meta_read,
    .meta_write = meta_write,
    .identify = identify,
    .past_read = past_read,
    .past_write = past_write,
    .expect = expect,
    .close = close_store,
};

void ts_trace_to_file(void *file, const char *line) {
    fprintf(file, "%s\n", line);
}

struct ts_store *ts_trace_new(struct ts_store *inside, const struct ts_trace_options *options) {
    struct trace_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return NULL;
    store->head.engine = &engine;
    store->head.clock = inside->clock;
    store->head.is_exclusive = inside->is_exclusive;
    snprintf(store->head.name, sizeof store->head.name, "%s", inside->name);
    store->inside = inside;
    store->options = *options;
    return &store->head;
}
