/*
 * Changes of a local store: batches and promises.
 *
 *   APPLY     ───────────────────────► KEYS ──► checked, written ──► done
 *   PREPARE   ──► GID ──► not there? ──► KEYS ──► checked, record written, locks passed to the promise ──► done
 *   COMMIT    ──► GID ──► there? ──► written, record removed, the promise's locks released ──► done
 *   ABORT     ──► GID ──► there? ──► record removed, the promise's locks released ──► done
 *
 * In the states GID and KEYS a call waits for locks. It can wait or expire only in these two states. Once a
 * call has all its locks, it runs to its end in the thread that polls it, with the meta lock held shared. The
 * gid's lock is taken before the keys' locks. So a PREPARE of a gid that is already promised fails at once,
 * instead of waiting for the promise's own locks.
 */
#include "store/local/local.h"

#include "base/assert.h"
#include "base/checked.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

/* VERSION_BLOCK: how many versions one stored record of the counter reserves. FEW: a batch with more
 * operations allocates its list of locks. */
enum { VERSION_BLOCK = 1 << 20, FEW = 8 };

enum stage { STAGE_GID, STAGE_KEYS };

struct local__call {
    struct local__call *next, **link; /* list of waiting calls, under the core's mutex */
    bool listed;                      /* the call is in the list; used only by the call's thread */
    struct ts_call *call;
    enum stage stage;
    uint64_t waits_since_ns; /* when the wait began; 0: the call has not waited yet */
    struct store__claim gid;
    struct store__want gid_want;
    struct store__claim keys;
    struct store__want few[FEW];
};

static uint64_t monotonic_ns(const struct store__local *local) {
    return local->clock->monotonic_ns(local->clock->context);
}

static void leave_list(struct store__local *local, struct local__call *mine) {
    if (!mine->listed)
        return;
    pthread_mutex_lock(&local->mutex);
    *mine->link = mine->next;
    if (mine->next != NULL)
        mine->next->link = mine->link;
    pthread_mutex_unlock(&local->mutex);
    mine->listed = false;
}

static void join_list(struct store__local *local, struct local__call *mine) {
    if (mine->listed)
        return;
    pthread_mutex_lock(&local->mutex);
    mine->next = local->calls;
    if (mine->next != NULL)
        mine->next->link = &mine->next;
    mine->link = &local->calls;
    local->calls = mine;
    pthread_mutex_unlock(&local->mutex);
    mine->listed = true;
}

/* Ends a call whose call->error is set, and releases its claims. Locks that a promise has taken over are no
 * longer in the claims. */
static void end(struct store__local *local, struct local__call *mine) {
    struct ts_call *call = mine->call;
    leave_list(local, mine);
    store__claim_release(local->keys, &mine->keys);
    store__claim_release(local->gids, &mine->gid);
    if (mine->keys.wants != mine->few)
        free(mine->keys.wants);
    free(mine);
    call->engine_state = NULL;
    call->done = true;
}

/* Records to write, with their memory. */
struct writes {
    struct store__write *list;
    size_t count;
    struct store__write few[FEW];
};

static bool writes_init(struct writes *writes, size_t most) {
    writes->count = 0;
    writes->list = most <= FEW ? writes->few : malloc(most * sizeof *writes->list);
    return writes->list != NULL;
}

static void writes_release(struct writes *writes) {
    if (writes->list != writes->few)
        free(writes->list);
}

static struct store__write *writes_add(struct writes *writes, enum store__space space, struct ts_bytes key) {
    struct store__write *write = &writes->list[writes->count++];
    write->space = space;
    write->remove = false;
    write->key = key;
    write->body = (struct ts_bytes){0};
    return write;
}

/*
 * Sets *ret_version to the next version. A block of versions is stored before its first version is used. That
 * write is not synced, because the backend makes writes durable in their order.
 */
static enum ts_store_result take_version(struct store__local *local, struct ts_call *call,
                                         uint64_t *ret_version) {
    enum ts_store_result result = TS_STORE_OK;
    pthread_mutex_lock(&local->mutex);
    if (local->next_version == local->version_bound) {
        uint64_t bound = local->version_bound + VERSION_BLOCK;
        struct store__write write = {.space = STORE_SPACE_COUNTER};
        store__record_seal(&write, bound);
        result = local->backend->ops->write(local->backend, &write, 1,
                                            (struct store__write_options){.stall_us = &call->stall_us},
                                            &call->error);
        if (result == TS_STORE_OK)
            local->version_bound = bound;
    }
    if (result == TS_STORE_OK)
        *ret_version = local->next_version++;
    pthread_mutex_unlock(&local->mutex);
    return result;
}

static enum ts_store_result look_check(struct store__local *local, struct ts_call *call, size_t index) {
    const struct ts_op *op = &call->batch.ops[index];
    struct store__held held = {0};
    enum ts_store_result result =
        local->backend->ops->get(local->backend, NULL, STORE_SPACE_DATA, op->key, &held, &call->error);
    if (result != TS_STORE_OK)
        return result;
    struct store__record record = {0};
    if (held.handle != NULL && !store__record_open(STORE_SPACE_DATA, op->key, held.stored, &record))
        result = local__damaged(local, "a key", index, &call->error);
    else if (record.number != op->version)
        result = store__error(&call->error, TS_STORE_CHECK_FAILED, index,
                              "%s: the key of operation %zu %s; read it again", local->name, index,
                              op->version == 0     ? "exists already"
                              : record.number == 0 ? "is gone"
                                                   : "has changed");
    local->backend->ops->let_go(local->backend, &held);
    return result;
}

static enum ts_store_result add_up(const struct store__local *local, struct ts_call *call, size_t index,
                                   struct ts_bytes text, struct store__write *write) {
    const struct ts_op *op = &call->batch.ops[index];
    uint64_t before = 0;
    if (text.data != NULL && (ts_u64_parse(text, &before) != TS_NUMBER_OK || before > INT64_MAX))
        return store__error(
            &call->error, TS_STORE_NOT_A_COUNTER, index,
            "%s: the value under the key of operation %zu is not a number from 0 to INT64_MAX", local->name,
            index);
    int64_t after;
    if (!ts_checked_add_i64((int64_t)before, op->delta, &after) || after < 0 || (uint64_t)after > op->max)
        return store__error(&call->error, TS_STORE_LIMIT, index,
                            "%s: the counter of operation %zu would leave the range from 0 to its limit",
                            local->name, index);
    char digits[TS_NUMBER_TEXT_SIZE];
    size_t len = ts_u64_format((uint64_t)after, digits);
    memcpy(write->digits, digits, len);
    write->body = ts_bytes_of(write->digits, len);
    return TS_STORE_OK;
}

static enum ts_store_result look_add(struct store__local *local, struct ts_call *call, size_t index,
                                     struct store__write *write) {
    struct ts_bytes key = call->batch.ops[index].key;
    struct store__held held = {0};
    enum ts_store_result result =
        local->backend->ops->get(local->backend, NULL, STORE_SPACE_DATA, key, &held, &call->error);
    if (result != TS_STORE_OK)
        return result;
    struct store__record record = {0};
    if (held.handle != NULL && !store__record_open(STORE_SPACE_DATA, key, held.stored, &record))
        result = local__damaged(local, "a key", index, &call->error);
    else
        result = add_up(local, call, index, record.body, write);
    local->backend->ops->let_go(local->backend, &held);
    return result;
}

/* Makes the checks of the batch and computes its writes, in the order of the batch. All locks are held. */
static enum ts_store_result look(struct store__local *local, struct ts_call *call, struct writes *writes) {
    enum ts_store_result result = TS_STORE_OK;
    for (size_t i = 0; i < call->batch.count && result == TS_STORE_OK; i++) {
        const struct ts_op *op = &call->batch.ops[i];
        switch (op->kind) {
        case TS_OP_CHECK:
            result = look_check(local, call, i);
            break;
        case TS_OP_BEFORE:
            if (local__now_ms(local) >= op->time_ms)
                result = store__error(&call->error, TS_STORE_LATE, i,
                                      "%s: the time limit of operation %zu has "
                                      "passed",
                                      local->name, i);
            break;
        case TS_OP_PUT:
            writes_add(writes, STORE_SPACE_DATA, op->key)->body = op->value;
            break;
        case TS_OP_DEL:
            writes_add(writes, STORE_SPACE_DATA, op->key)->remove = true;
            break;
        case TS_OP_ADD:
            result = look_add(local, call, i, writes_add(writes, STORE_SPACE_DATA, op->key));
            break;
        }
    }
    return result;
}

static void seal_all(struct writes *writes, uint64_t version) {
    for (size_t i = 0; i < writes->count; i++)
        if (!writes->list[i].remove)
            store__record_seal(&writes->list[i], version);
}

static enum ts_store_result write_all(struct store__local *local, struct ts_call *call,
                                      const struct writes *writes, bool sync) {
    const struct store__write_options options = {
        .sync = sync, .give_up_ns = call->deadline_ns, .stall_us = &call->stall_us};
    /* This write is not synced, because it becomes durable no later than the following write. */
    const enum ts_store_result result = local__keep_fixed_time(local, &call->error);
    if (result != TS_STORE_OK)
        return result;
    return local->backend->ops->write(local->backend, writes->list, writes->count, options, &call->error);
}

static enum ts_store_result run_apply(struct store__local *local, struct ts_call *call,
                                      struct writes *writes) {
    uint64_t version;
    enum ts_store_result result = look(local, call, writes);
    if (result != TS_STORE_OK || writes->count == 0)
        return result;
    result = take_version(local, call, &version);
    if (result != TS_STORE_OK)
        return result;
    seal_all(writes, version);
    result = write_all(local, call, writes, true);
    if (result == TS_STORE_OK)
        call->version = version;
    return result;
}

/* Makes the body of a promise's record; the caller frees it. Checks are stored, too, because a restart must
 * lock their keys again. */
static uint8_t *encode_promise(const struct ts_batch *batch, const struct writes *writes, uint64_t version,
                               size_t *ret_len) {
    size_t len = STORE_PROMISE_HEAD;
    uint32_t count = (uint32_t)writes->count;
    for (size_t i = 0; i < writes->count; i++)
        len += STORE_ENTRY_HEAD + writes->list[i].key.len + writes->list[i].body.len;
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->ops[i].kind == TS_OP_CHECK) {
            len += STORE_ENTRY_HEAD + batch->ops[i].key.len;
            count++;
        }
    }
    uint8_t *body = malloc(len), *at = body;
    if (body == NULL)
        return NULL;
    store__promise_put_head(&at, version, count);
    for (size_t i = 0; i < batch->count; i++) {
        const struct store__entry check = {.kind = STORE_ENTRY_CHECK, .key = batch->ops[i].key};
        if (batch->ops[i].kind == TS_OP_CHECK)
            store__promise_put_entry(&at, &check);
    }
    for (size_t i = 0; i < writes->count; i++) {
        const struct store__write *write = &writes->list[i];
        const struct store__entry entry = {.kind = write->remove ? STORE_ENTRY_DEL : STORE_ENTRY_PUT,
                                           .key = write->key,
                                           .value = write->body};
        store__promise_put_entry(&at, &entry);
    }
    ts_assert(at == body + len);
    *ret_len = len;
    return body;
}

/* Makes a promise that can take over the claim, and reserves room for it in the table. */
static struct store__promise *new_promise(struct store__local *local, const struct local__call *mine) {
    struct store__promise *promise = calloc(1, sizeof *promise);
    size_t count = mine->keys.count > 0 ? mine->keys.count : 1;
    struct store__want *wants = malloc(count * sizeof *wants);
    pthread_mutex_lock(&local->mutex);
    bool room = store__promises_reserve(&local->promises);
    pthread_mutex_unlock(&local->mutex);
    if (promise == NULL || wants == NULL || !room) {
        free(promise);
        free(wants);
        return NULL;
    }
    memcpy(promise->gid, mine->call->gid, strlen(mine->call->gid));
    promise->claim.wants = wants;
    return promise;
}

static void hand_over(struct local__call *mine, struct store__promise *promise) {
    struct store__want *wants = promise->claim.wants;
    memcpy(wants, mine->keys.wants, mine->keys.count * sizeof *wants);
    promise->claim = (struct store__claim){
        .wants = wants, .count = mine->keys.count, .held = mine->keys.held, .wake_fd = -1};
    mine->keys.held = 0;
}

static enum ts_store_result write_promise(struct store__local *local, struct local__call *mine,
                                          struct store__promise *promise, const struct writes *writes) {
    struct ts_call *call = mine->call;
    uint64_t version = 0;
    enum ts_store_result result = take_version(local, call, &version);
    if (result != TS_STORE_OK)
        return result;
    size_t len = 0;
    uint8_t *body = encode_promise(&call->batch, writes, version, &len);
    if (body == NULL)
        return local__no_memory(local, &call->error);
    promise->time_ms = local__now_ms(local);
    struct writes record;
    (void)writes_init(&record, 1);
    writes_add(&record, STORE_SPACE_PROMISE, ts_bytes_of_cstring(call->gid))->body = ts_bytes_of(body, len);
    seal_all(&record, promise->time_ms);
    result = write_all(local, call, &record, true);
    free(body);
    return result;
}

static enum ts_store_result run_prepare(struct store__local *local, struct local__call *mine,
                                        struct writes *writes) {
    enum ts_store_result result = look(local, mine->call, writes);
    if (result != TS_STORE_OK)
        return result;
    struct store__promise *promise = new_promise(local, mine);
    if (promise == NULL)
        return local__no_memory(local, &mine->call->error);
    result = write_promise(local, mine, promise, writes);
    if (result != TS_STORE_OK) {
        free(promise->claim.wants);
        free(promise);
        return result;
    }
    hand_over(mine, promise);
    pthread_mutex_lock(&local->mutex);
    /* Another prepare may have used the reserved room meanwhile. Then a chain of the table is longer, which
     * is harmless. */
    store__promises_add(&local->promises, promise);
    pthread_mutex_unlock(&local->mutex);
    return TS_STORE_OK;
}

static void run_batch(struct store__local_store *store, struct local__call *mine) {
    struct store__local *local = store->local;
    struct ts_call *call = mine->call;
    struct writes writes;
    if (!writes_init(&writes, call->batch.count)) {
        (void)local__no_memory(local, &call->error);
        return;
    }
    pthread_rwlock_rdlock(&local->meta_lock);
    if (local__allowed(store, call->kind, &call->error) == TS_STORE_OK)
        (void)(call->kind == TS_CALL_APPLY ? run_apply(local, call, &writes)
                                           : run_prepare(local, mine, &writes));
    pthread_rwlock_unlock(&local->meta_lock);
    writes_release(&writes);
}

/* Makes the writes of the promise and the removal of its record. The writes borrow from the record. */
static bool writes_of_promise(struct ts_bytes gid, struct ts_bytes body, struct writes *writes) {
    struct store__promise_reader reader;
    struct store__entry entry;
    if (!store__promise_open(body, &reader))
        return false;
    uint64_t version = reader.version;
    while (store__promise_next(&reader, &entry)) {
        if (entry.kind == STORE_ENTRY_CHECK)
            continue;
        struct store__write *write = writes_add(writes, STORE_SPACE_DATA, entry.key);
        write->remove = entry.kind == STORE_ENTRY_DEL;
        write->body = entry.value;
    }
    if (reader.count != 0 || reader.rest.len != 0)
        return false;
    seal_all(writes, version);
    writes_add(writes, STORE_SPACE_PROMISE, gid)->remove = true;
    return true;
}

static enum ts_store_result write_commit(struct store__local *local, struct ts_call *call, size_t key_count) {
    struct ts_bytes gid = ts_bytes_of_cstring(call->gid);
    struct store__held held = {0};
    enum ts_store_result result =
        local->backend->ops->get(local->backend, NULL, STORE_SPACE_PROMISE, gid, &held, &call->error);
    if (result != TS_STORE_OK)
        return result;
    struct store__record record;
    struct writes writes;
    if (!writes_init(&writes, key_count + 1)) {
        result = local__no_memory(local, &call->error);
    } else {
        if (held.handle == NULL || !store__record_open(STORE_SPACE_PROMISE, gid, held.stored, &record) ||
            !writes_of_promise(gid, record.body, &writes))
            result = local__damaged(local, "a promise", SIZE_MAX, &call->error);
        else
            result = write_all(local, call, &writes, false);
        writes_release(&writes);
    }
    local->backend->ops->let_go(local->backend, &held);
    return result;
}

static enum ts_store_result write_abort(struct store__local *local, struct ts_call *call) {
    struct writes writes;
    (void)writes_init(&writes, 1);
    writes_add(&writes, STORE_SPACE_PROMISE, ts_bytes_of_cstring(call->gid))->remove = true;
    return write_all(local, call, &writes, false);
}

/* Returns the promise of the call's gid, or NULL. It is valid while the gid's lock is held. */
static struct store__promise *find_promise(struct store__local *local, const struct ts_call *call) {
    pthread_mutex_lock(&local->mutex);
    struct store__promise *promise = store__promises_find(&local->promises, call->gid);
    pthread_mutex_unlock(&local->mutex);
    return promise;
}

static void finish_promise(struct store__local_store *store, struct ts_call *call) {
    struct store__local *local = store->local;
    pthread_rwlock_rdlock(&local->meta_lock);
    struct store__promise *promise = find_promise(local, call);
    enum ts_store_result result = local__allowed(store, call->kind, &call->error);
    if (result == TS_STORE_OK && promise == NULL)
        result = store__error(&call->error, TS_STORE_NO_SUCH_PROMISE, SIZE_MAX,
                              "%s: unknown promise: it is finished, or was never made", local->name);
    else if (result == TS_STORE_OK)
        result = call->kind == TS_CALL_COMMIT ? write_commit(local, call, promise->claim.count)
                                              : write_abort(local, call);
    if (result == TS_STORE_OK && promise != NULL) {
        pthread_mutex_lock(&local->mutex);
        store__promises_take(&local->promises, promise);
        pthread_mutex_unlock(&local->mutex);
        store__claim_release(local->keys, &promise->claim);
        free(promise->claim.wants);
        free(promise);
    }
    pthread_rwlock_unlock(&local->meta_lock);
}

/* Takes the locks of the current stage. When memory runs out, ends the call. */
static enum store__claim_state take_locks(struct store__local *local, struct local__call *mine) {
    bool of_gid = mine->stage == STAGE_GID;
    struct store__claim *claim = of_gid ? &mine->gid : &mine->keys;
    enum store__claim_state state = store__claim_step(of_gid ? local->gids : local->keys, claim);
    switch (state) {
    case STORE_CLAIM_COMPLETE:
        break;
    case STORE_CLAIM_NO_MEMORY:
        (void)local__no_memory(local, &mine->call->error);
        end(local, mine);
        break;
    case STORE_CLAIM_WAITS:
        if (mine->waits_since_ns == 0) {
            mine->waits_since_ns = monotonic_ns(local);
            if (mine->call->lock_wait_max_us != 0)
                mine->call->poll_by_ns = mine->waits_since_ns + mine->call->lock_wait_max_us * 1000;
        }
        join_list(local, mine);
        break;
    }
    return state;
}

/* Continues the call. Returns true while the call waits for a lock. When it returns false, the call is
 * done. */
static bool advance(struct store__local_store *store, struct local__call *mine) {
    struct store__local *local = store->local;
    struct ts_call *call = mine->call;
    enum store__claim_state state;
    if (mine->stage == STAGE_GID) {
        state = take_locks(local, mine);
        if (state != STORE_CLAIM_COMPLETE)
            return state == STORE_CLAIM_WAITS;
        if (call->kind != TS_CALL_PREPARE) {
            finish_promise(store, call);
            end(local, mine);
            return false;
        }
        if (find_promise(local, call) != NULL) {
            (void)store__error(&call->error, TS_STORE_PROMISE_EXISTS, SIZE_MAX,
                               "%s: a promise with this name already exists", local->name);
            end(local, mine);
            return false;
        }
        mine->stage = STAGE_KEYS;
    }
    state = take_locks(local, mine);
    if (state != STORE_CLAIM_COMPLETE)
        return state == STORE_CLAIM_WAITS;
    if (mine->waits_since_ns != 0)
        call->lock_wait_us = (monotonic_ns(local) - mine->waits_since_ns) / 1000;
    run_batch(store, mine);
    end(local, mine);
    return false;
}

/* Initialises the claim on the keys of the batch. Returns false when memory runs out. */
static bool init_keys(struct local__call *mine, const struct ts_batch *batch) {
    struct store__want *wants = batch->count <= FEW ? mine->few : malloc(batch->count * sizeof *wants);
    if (wants == NULL)
        return false;
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->ops[i].kind != TS_OP_BEFORE)
            wants[count++] = (struct store__want){.key = batch->ops[i].key,
                                                  .exclusive = batch->ops[i].kind != TS_OP_CHECK};
    store__claim_init(&mine->keys, wants, count);
    return true;
}

void local__batch_start(struct store__local_store *store, struct ts_call *call) {
    struct local__call *mine = malloc(sizeof *mine);
    if (mine == NULL) {
        (void)local__no_memory(store->local, &call->error);
        call->done = true;
        return;
    }
    mine->call = call;
    mine->listed = false;
    mine->waits_since_ns = 0;
    mine->stage = call->kind == TS_CALL_APPLY ? STAGE_KEYS : STAGE_GID;
    mine->gid = (struct store__claim){.wake_fd = -1};
    store__claim_init(&mine->keys, mine->few, 0);
    call->engine_state = mine;
    if (mine->stage == STAGE_GID) {
        mine->gid_want = (struct store__want){.key = ts_bytes_of_cstring(call->gid), .exclusive = true};
        store__claim_init(&mine->gid, &mine->gid_want, 1);
    }
    bool has_batch = call->kind == TS_CALL_APPLY || call->kind == TS_CALL_PREPARE;
    if (has_batch && !init_keys(mine, &call->batch)) {
        (void)local__no_memory(store->local, &call->error);
        end(store->local, mine);
        return;
    }
    (void)advance(store, mine);
}

/* Ends a call that still waits for a lock. */
static void stop_waiting(struct store__local *local, struct local__call *mine, enum ts_store_result result) {
    struct ts_call *call = mine->call;
    call->lock_wait_us = (monotonic_ns(local) - mine->waits_since_ns) / 1000;
    (void)store__error(&call->error, result, SIZE_MAX,
                       "%s: waited for %s that another batch or promise holds%s; nothing was changed",
                       local->name, mine->stage == STAGE_GID ? "the name of a promise" : "a key",
                       result == TS_STORE_TIMED_OUT ? " until the deadline" : "");
    end(local, mine);
}

void local__batch_step(struct store__local_store *store, struct ts_call *call) {
    struct store__local *local = store->local;
    struct local__call *mine = call->engine_state;
    if (advance(store, mine) && call->poll_by_ns != 0 && monotonic_ns(local) >= call->poll_by_ns)
        stop_waiting(local, mine, TS_STORE_LOCK_CONFLICT);
}

void local__batch_expire(struct store__local_store *store, struct ts_call *call) {
    stop_waiting(store->local, call->engine_state, TS_STORE_TIMED_OUT);
}

struct pollfd local__batch_wait_for(struct store__local_store *store, struct ts_call *call) {
    struct local__call *mine = call->engine_state;
    struct store__local *local = store->local;
    struct pollfd ready = {.fd = -1, .events = POLLIN};
    bool of_gid = mine->stage == STAGE_GID;
    if (!store__claim_wait_fd(of_gid ? local->gids : local->keys, of_gid ? &mine->gid : &mine->keys,
                              &ready.fd)) {
        (void)store__error(
            &call->error, TS_STORE_BUSY, SIZE_MAX,
            "%s: waiting for a lock needs a file descriptor, but none is left; raise 'ulimit -n'",
            local->name);
        end(local, mine);
    }
    return ready;
}

void local__batch_drop_all(struct store__local *local) {
    struct local__call *mine;
    while ((mine = local->calls) != NULL) {
        (void)store__error(&mine->call->error, TS_STORE_UNAVAILABLE, SIZE_MAX,
                           "%s: the store was closed while the call waited for a lock; nothing was changed",
                           local->name);
        end(local, mine);
    }
}
