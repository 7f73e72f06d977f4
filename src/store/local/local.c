#include "store/local/local.h"

#include "base/assert.h"
#include "store/contract/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ts_bytes no_key = {0};

enum ts_store_result local__damaged(const struct store__local *local, const char *what, size_t op,
                                    struct ts_store_error *ret_error) {
    return store__error(
        ret_error, TS_STORE_DAMAGED, op,
        "%s: the record of %s is damaged (its checksum is wrong); restore the store from a backup",
        local->name, what);
}

enum ts_store_result local__no_memory(const struct store__local *local, struct ts_store_error *ret_error) {
    return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "%s: out of memory", local->name);
}

uint64_t local__now_ms(struct store__local *local) {
    uint64_t now_ms = local->fixed_ms != 0 ? local->fixed_ms : local->clock->wall_ms(local->clock->context);
    pthread_mutex_lock(&local->mutex);
    if (local->last_ms < now_ms)
        local->last_ms = now_ms;
    now_ms = local->last_ms;
    pthread_mutex_unlock(&local->mutex);
    return now_ms;
}

enum ts_store_result local__allowed(const struct store__local_store *store, enum ts_call_kind kind,
                                    struct ts_store_error *ret_error) {
    const struct store__local *local = store->local;
    if (store->expects) {
        enum ts_store_result result =
            store__meta_compare(&local->meta, &store->expected, store->head.name, ret_error);
        if (result != TS_STORE_OK)
            return result;
    }
    if (kind == TS_CALL_PREPARE && local->meta.present && local->meta.state == TS_META_CLOSING)
        return store__error(
            ret_error, TS_STORE_CLOSING, SIZE_MAX,
            "%s: the epoch is being closed, so new promises are refused; wait for 'store fence' to finish",
            store->head.name);
    return TS_STORE_OK;
}

/* Reads a record of the store itself, and calls `use` if the record exists. */
static enum ts_store_result read_own(struct store__local *local, enum store__space space, const char *what,
                                     enum ts_store_result (*use)(struct store__local *local,
                                                                 const struct store__record *record,
                                                                 struct ts_store_error *ret_error),
                                     struct ts_store_error *ret_error) {
    struct store__held held = {0};
    enum ts_store_result result =
        local->backend->ops->get(local->backend, NULL, space, no_key, &held, ret_error);
    if (result != TS_STORE_OK || held.handle == NULL)
        return result;
    struct store__record record;
    if (!store__record_open(space, no_key, held.stored, &record))
        result = local__damaged(local, what, SIZE_MAX, ret_error);
    else
        result = use(local, &record, ret_error);
    local->backend->ops->let_go(local->backend, &held);
    return result;
}

static enum ts_store_result use_version_bound(struct store__local *local, const struct store__record *record,
                                              struct ts_store_error *ret_error) {
    (void)ret_error;
    local->next_version = record->number;
    local->version_bound = record->number;
    return TS_STORE_OK;
}

static enum ts_store_result use_meta(struct store__local *local, const struct store__record *record,
                                     struct ts_store_error *ret_error) {
    struct ts_meta meta = {0};
    enum ts_store_result result = store__meta_decode(record->body, &meta);
    if (result == TS_STORE_BAD_CONFIGURATION)
        return store__error(
            ret_error, result, SIZE_MAX,
            "%s: the store has format %u, and this program reads format %d; use the version that wrote it",
            local->name, meta.format, TS_META_FORMAT);
    if (result != TS_STORE_OK)
        return local__damaged(local, "the store's identity", SIZE_MAX, ret_error);
    meta.version = record->number;
    local->meta = meta;
    return TS_STORE_OK;
}

static enum ts_store_result use_time(struct store__local *local, const struct store__record *record,
                                     struct ts_store_error *ret_error) {
    (void)ret_error;
    local->kept_ms = record->number;
    if (local->last_ms < record->number)
        local->last_ms = record->number;
    return TS_STORE_OK;
}

static enum ts_store_result keep_time(struct store__local *local, uint64_t time_ms, bool sync,
                                      struct ts_store_error *ret_error) {
    struct store__write write = {.space = STORE_SPACE_TIME};
    store__record_seal(&write, time_ms);
    enum ts_store_result result = local->backend->ops->write(
        local->backend, &write, 1, (struct store__write_options){.sync = sync}, ret_error);
    if (result == TS_STORE_OK)
        local->kept_ms = time_ms;
    return result;
}

enum ts_store_result store__local_fix_time(struct store__local *local, uint64_t now_ms,
                                           struct ts_store_error *ret_error) {
    if (now_ms < local->last_ms)
        return store__error(
            ret_error, TS_STORE_BAD_USAGE, SIZE_MAX,
            "%.120s: the time %llu is earlier than %llu, the latest time in the store; give a later one",
            local->name, (unsigned long long)now_ms, (unsigned long long)local->last_ms);
    local->last_ms = local->fixed_ms = now_ms;
    return TS_STORE_OK;
}

enum ts_store_result local__keep_fixed_time(struct store__local *local, struct ts_store_error *ret_error) {
    if (local->fixed_ms == 0)
        return TS_STORE_OK;
    pthread_mutex_lock(&local->mutex);
    const enum ts_store_result result =
        local->kept_ms < local->fixed_ms ? keep_time(local, local->fixed_ms, false, ret_error) : TS_STORE_OK;
    pthread_mutex_unlock(&local->mutex);
    return result;
}

void store__local_keep_time(struct store__local *local) {
    struct ts_store_error ignored;
    /* A frozen time may be a mistake, so it is stored only if something was written at that time. */
    if (local->fixed_ms == 0 && local->last_ms > local->kept_ms)
        (void)keep_time(local, local->last_ms, false, &ignored);
}

struct reload {
    struct store__local *local;
    struct ts_store_error *ret_error;
    enum ts_store_result result;
};

/* Reads from the record of a promise which locks the promise needs. Returns false when the record is damaged
 * or memory runs out. */
static bool wants_of(struct ts_bytes body, struct store__promise *promise) {
    struct store__promise_reader reader;
    if (!store__promise_open(body, &reader))
        return false;
    size_t count = reader.count;
    struct store__want *wants = calloc(count > 0 ? count : 1, sizeof *wants);
    if (wants == NULL)
        return false;
    struct store__entry entry;
    size_t read = 0;
    while (store__promise_next(&reader, &entry))
        wants[read++] = (struct store__want){.key = entry.key, .exclusive = entry.kind != STORE_ENTRY_CHECK};
    if (read != count || reader.rest.len != 0) {
        free(wants);
        return false;
    }
    store__claim_init(&promise->claim, wants, count);
    return true;
}

static bool reload_promise(void *context, struct ts_bytes key, struct ts_bytes stored) {
    struct reload *reload = context;
    struct store__local *local = reload->local;
    struct store__record record;
    struct store__promise *promise = calloc(1, sizeof *promise);
    bool sound = promise != NULL && key.len > 0 && key.len <= TS_STORE_GID_MAX &&
                 store__record_open(STORE_SPACE_PROMISE, key, stored, &record) &&
                 wants_of(record.body, promise) && store__promises_reserve(&local->promises) &&
                 /* This claim never has to wait, because promises that existed at the same time do not
                  * conflict. */
                 store__claim_step(local->keys, &promise->claim) == STORE_CLAIM_COMPLETE;
    if (!sound) {
        reload->result = local__damaged(local, "a promise", SIZE_MAX, reload->ret_error);
        if (promise != NULL) {
            store__claim_release(local->keys, &promise->claim);
            free(promise->claim.wants);
            free(promise);
        }
        return false;
    }
    memcpy(promise->gid, key.data, key.len);
    promise->time_ms = record.number;
    if (local->last_ms < record.number)
        local->last_ms = record.number;
    store__promises_add(&local->promises, promise);
    return true;
}

/* Reads meta, versions and promises from the backend. */
static enum ts_store_result reload(struct store__local *local, struct ts_store_error *ret_error) {
    local->next_version = local->version_bound = 1;
    local->meta = (struct ts_meta){0};
    enum ts_store_result result =
        read_own(local, STORE_SPACE_COUNTER, "the version counter", use_version_bound, ret_error);
    if (result == TS_STORE_OK)
        result = read_own(local, STORE_SPACE_META, "the store's identity", use_meta, ret_error);
    if (result == TS_STORE_OK)
        result = read_own(local, STORE_SPACE_TIME, "the time", use_time, ret_error);
    if (result != TS_STORE_OK)
        return result;
    struct reload promises = {.local = local, .ret_error = ret_error, .result = TS_STORE_OK};
    result = local->backend->ops->scan(local->backend, STORE_SPACE_PROMISE, no_key, no_key, reload_promise,
                                       &promises, ret_error);
    return result != TS_STORE_OK ? result : promises.result;
}

static void forget_promises(struct store__local *local) {
    struct store__promise *promise;
    while ((promise = store__promises_take_any(&local->promises)) != NULL) {
        store__claim_release(local->keys, &promise->claim);
        free(promise->claim.wants);
        free(promise);
    }
}

static bool init_meta_lock(pthread_rwlock_t *meta_lock) {
    pthread_rwlockattr_t attributes;
    if (pthread_rwlockattr_init(&attributes) != 0)
        return false;
    /* Prefers writers: otherwise new batches could keep a change of meta waiting forever. */
    bool made =
        pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0 &&
        pthread_rwlock_init(meta_lock, &attributes) == 0;
    pthread_rwlockattr_destroy(&attributes);
    return made;
}

enum ts_store_result store__local_new(struct store__backend *backend, const struct ts_store_clock *clock,
                                      const char *name, struct store__local **ret_local,
                                      struct ts_store_error *ret_error) {
    struct store__local *local = calloc(1, sizeof *local);
    if (local == NULL) {
        backend->ops->close(backend);
        return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "%s: out of memory", name);
    }
    local->backend = backend;
    local->clock = clock;
    snprintf(local->name, sizeof local->name, "%s", name);
    local->keys = store__locks_new();
    local->gids = store__locks_new();
    bool made = init_meta_lock(&local->meta_lock) && pthread_mutex_init(&local->mutex, NULL) == 0;
    enum ts_store_result result = made && local->keys != NULL && local->gids != NULL
                                      ? reload(local, ret_error)
                                      : local__no_memory(local, ret_error);
    if (result != TS_STORE_OK) {
        store__local_free(local);
        return result;
    }
    *ret_local = local;
    return TS_STORE_OK;
}

void store__local_free(struct store__local *local) {
    if (local == NULL)
        return;
    ts_assert(local->calls == NULL);
    forget_promises(local);
    store__promises_release(&local->promises);
    store__locks_free(local->keys);
    store__locks_free(local->gids);
    pthread_mutex_destroy(&local->mutex);
    pthread_rwlock_destroy(&local->meta_lock);
    local->backend->ops->close(local->backend);
    free(local);
}

enum ts_store_result store__local_restart(struct store__local *local, struct ts_store_error *ret_error) {
    local__batch_drop_all(local);
    forget_promises(local);
    return reload(local, ret_error);
}

static enum ts_store_result add_row(struct store__local *local, struct ts_bytes key, struct ts_bytes stored,
                                    struct ts_rows *rows, struct ts_store_error *ret_error) {
    struct store__record record;
    if (!store__record_open(STORE_SPACE_DATA, key, stored, &record))
        return local__damaged(local, "a key", SIZE_MAX, ret_error);
    const struct ts_row row = {.key = key, .value = record.body, .version = record.number};
    return store__rows_add(rows, &row) ? TS_STORE_OK : local__no_memory(local, ret_error);
}

static enum ts_store_result read_keys(struct store__local *local, struct ts_call *call, void *view) {
    size_t bytes = 0;
    enum ts_store_result result = TS_STORE_OK;
    for (size_t i = 0; i < call->key_count && result == TS_STORE_OK; i++) {
        struct ts_bytes key = call->keys[i];
        struct store__held held = {0};
        result = local->backend->ops->get(local->backend, view, STORE_SPACE_DATA, key, &held, &call->error);
        if (result != TS_STORE_OK)
            break;
        bytes += key.len + held.stored.len;
        if (bytes > TS_STORE_ANSWER_BYTES_MAX + (i + 1) * STORE_RECORD_HEAD)
            result = store__error(&call->error, TS_STORE_TOO_LARGE, i,
                                  "%s: the values exceed %zu bytes; read fewer keys at once", local->name,
                                  TS_STORE_ANSWER_BYTES_MAX);
        else if (held.handle != NULL)
            result = add_row(local, key, held.stored, call->rows, &call->error);
        else if (!store__rows_add(call->rows, &(struct ts_row){.key = key}))
            result = local__no_memory(local, &call->error);
        local->backend->ops->let_go(local->backend, &held);
    }
    return result;
}

static enum ts_store_result run_read(struct store__local *local, struct ts_call *call) {
    void *view = NULL;
    if (call->key_count > 1 && (view = local->backend->ops->view_open(local->backend)) == NULL)
        return local__no_memory(local, &call->error);
    enum ts_store_result result = read_keys(local, call, view);
    if (view != NULL)
        local->backend->ops->view_close(local->backend, view);
    return result;
}

struct scan {
    struct store__local *local;
    struct ts_call *call;
    size_t bytes;
    enum ts_store_result result;
};

static bool visit_row(void *context, struct ts_bytes key, struct ts_bytes stored) {
    struct scan *scan = context;
    struct ts_rows *rows = scan->call->rows;
    /* A damaged record may be shorter than its head; add_row detects that. */
    scan->bytes += key.len + stored.len;
    if (rows->count == scan->call->limit ||
        (rows->count > 0 &&
         scan->bytes > TS_STORE_ANSWER_BYTES_MAX + (rows->count + 1) * STORE_RECORD_HEAD)) {
        rows->more = true;
        return false;
    }
    scan->result = add_row(scan->local, key, stored, rows, &scan->call->error);
    return scan->result == TS_STORE_OK;
}

static enum ts_store_result run_scan(struct store__local *local, struct ts_call *call) {
    struct scan scan = {.local = local, .call = call, .result = TS_STORE_OK};
    enum ts_store_result result = local->backend->ops->scan(local->backend, STORE_SPACE_DATA, call->from,
                                                            call->to, visit_row, &scan, &call->error);
    return result != TS_STORE_OK ? result : scan.result;
}

static enum ts_store_result run_prepared(struct store__local *local, struct ts_call *call) {
    pthread_mutex_lock(&local->mutex);
    bool listed = store__promises_list(&local->promises, call->rows);
    pthread_mutex_unlock(&local->mutex);
    return listed ? TS_STORE_OK : local__no_memory(local, &call->error);
}

static void run_reading(struct store__local_store *store, struct ts_call *call) {
    struct store__local *local = store->local;
    pthread_rwlock_rdlock(&local->meta_lock);
    enum ts_store_result result = local__allowed(store, call->kind, &call->error);
    if (result == TS_STORE_OK) {
        result = call->kind == TS_CALL_READ   ? run_read(local, call)
                 : call->kind == TS_CALL_SCAN ? run_scan(local, call)
                                              : run_prepared(local, call);
    }
    pthread_rwlock_unlock(&local->meta_lock);
    if (result != TS_STORE_OK)
        ts_rows_clear(call->rows);
    call->time_ms = local__now_ms(local);
    call->done = true;
}

static void start(struct ts_store *head, struct ts_call *call) {
    struct store__local_store *store = (struct store__local_store *)head;
    struct store__local *local = store->local;
    switch (call->kind) {
    case TS_CALL_READ:
    case TS_CALL_SCAN:
    case TS_CALL_PREPARED:
        run_reading(store, call);
        return;
    case TS_CALL_APPLY:
    case TS_CALL_PREPARE:
    case TS_CALL_COMMIT:
    case TS_CALL_ABORT:
        local__batch_start(store, call);
        return;
    case TS_CALL_NOW:
        call->time_ms = local__now_ms(local);
        break;
    case TS_CALL_SYNC:
        (void)local->backend->ops->sync(local->backend, &call->error);
        break;
    case TS_CALL_LAG:
        break; /* a local engine has no standbys */
    }
    call->done = true;
}

static void step(struct ts_store *head, struct ts_call *call) {
    local__batch_step((struct store__local_store *)head, call);
}

static void expire(struct ts_store *head, struct ts_call *call) {
    local__batch_expire((struct store__local_store *)head, call);
}

static struct pollfd wait_for(struct ts_store *head, struct ts_call *call) {
    return local__batch_wait_for((struct store__local_store *)head, call);
}

static enum ts_store_result meta_read(struct ts_store *head, uint64_t deadline_ns, struct ts_meta *ret_meta,
                                      struct ts_store_error *ret_error) {
    struct store__local *local = ((struct store__local_store *)head)->local;
    (void)deadline_ns;
    (void)ret_error;
    pthread_rwlock_rdlock(&local->meta_lock);
    *ret_meta = local->meta;
    pthread_rwlock_unlock(&local->meta_lock);
    return TS_STORE_OK;
}

static enum ts_store_result meta_write(struct ts_store *head, uint64_t deadline_ns,
                                       const struct ts_meta *meta, struct ts_store_error *ret_error) {
    struct store__local *local = ((struct store__local_store *)head)->local;
    (void)deadline_ns;
    struct ts_meta written = *meta;
    written.present = true;
    written.version++;
    uint8_t encoded[TS_META_ENCODED_MAX];
    struct store__write write = {.space = STORE_SPACE_META};
    write.body = ts_bytes_of(encoded, store__meta_encode(&written, encoded));
    pthread_rwlock_wrlock(&local->meta_lock);
    enum ts_store_result result;
    if (local->meta.version != meta->version) {
        result =
            store__error(ret_error, TS_STORE_CHECK_FAILED, SIZE_MAX,
                         "%s: another process changed its identity at the same time; try again", head->name);
    } else {
        store__record_seal(&write, written.version);
        result = local->backend->ops->write(local->backend, &write, 1,
                                            (struct store__write_options){.sync = true}, ret_error);
    }
    if (result == TS_STORE_OK)
        local->meta = written;
    pthread_rwlock_unlock(&local->meta_lock);
    return result;
}

static void expect(struct ts_store *head, const struct ts_meta *meta) {
    struct store__local_store *store = (struct store__local_store *)head;
    store->expects = true;
    store->expected = *meta;
}

static void close_store(struct ts_store *head) {
    struct store__local_store *store = (struct store__local_store *)head;
    void (*on_close)(void *) = store->on_close;
    void *owner = store->owner;
    free(store);
    if (on_close != NULL)
        on_close(owner);
}

static const struct ts_engine engine = {
    .name = "local",
    .start = start,
    .step = step,
    .expire = expire,
    .wait_for = wait_for,
    .meta_read = meta_read,
    .meta_write = meta_write,
    .past_read = local__past_read,
    .past_write = local__past_write,
    .expect = expect,
    .close = close_store,
};

struct ts_store *store__local_store_new(struct store__local *local, void (*on_close)(void *owner),
                                        void *owner) {
    struct store__local_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return NULL;
    store->head.engine = &engine;
    store->head.clock = local->clock;
    snprintf(store->head.name, sizeof store->head.name, "%s", local->name);
    store->local = local;
    store->on_close = on_close;
    store->owner = owner;
    return &store->head;
}
