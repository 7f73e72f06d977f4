/*
 * The backend in memory: a skip list of keys, each with an immutable, reference-counted record.
 *
 *     tower 3   ●─────────────────────────►●────────────► NULL
 *     tower 2   ●────────────►●───────────►●────────────► NULL
 *     tower 1   ●────►●──────►●────►●─────►●──────►●────► NULL
 *             head   "d a"   "d b" "d c"  "d d"   "p g"
 *
 * The height of a key's tower follows from its hash, so that two runs build the same list. Readers share the
 * lock. A record that a reader holds remains valid after its key is removed.
 *
 * Until the next sync, `undo` keeps the records that unsynced writes have replaced, newest last. A simulated
 * power loss restores these records.
 */
#include "store/local/memory.h"

#include "base/assert.h"
#include "base/hash64.h"
#include "os/grow.h"
#include "store/local/backend.h"
#include "store/local/local.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOWER_MAX = 16 };

struct record {
    atomic_size_t holders;
    size_t len;
    uint8_t bytes[];
};

struct node {
    struct record *record;
    uint8_t *key; /* the key, preceded by its space; stored after the tower */
    size_t key_len;
    size_t height;
    struct node *next[];
};

struct undo {
    struct record *record; /* the earlier record, or NULL */
    size_t key_len;
    uint8_t key[1 + TS_STORE_KEY_MAX];
};

struct memory_backend {
    struct store__backend head;
    pthread_rwlock_t lock;
    struct node *first[TOWER_MAX];
    struct undo *undo;
    size_t undo_count, undo_capacity;
};

struct ts_memory {
    struct memory_backend *backend;
    struct store__local *local;
};

/* A key with its space. */
struct full_key {
    size_t len;
    uint8_t bytes[1 + TS_STORE_KEY_MAX];
};

static void make_key(enum store__space space, struct ts_bytes key, struct full_key *ret_key) {
    ts_assert(key.len <= TS_STORE_KEY_MAX);
    ret_key->bytes[0] = (uint8_t)space;
    if (key.len > 0)
        memcpy(ret_key->bytes + 1, key.data, key.len);
    ret_key->len = key.len + 1;
}

static struct ts_bytes key_of(const struct node *node) {
    return ts_bytes_of(node->key, node->key_len);
}

static struct record *hold(struct record *record) {
    if (record != NULL)
        atomic_fetch_add_explicit(&record->holders, 1, memory_order_relaxed);
    return record;
}

static void let_record_go(struct record *record) {
    if (record != NULL && atomic_fetch_sub_explicit(&record->holders, 1, memory_order_acq_rel) == 1)
        free(record);
}

static size_t height_of(struct ts_bytes key) {
    /* One key in four has a second level, one in sixteen a third, and so on. */
    uint64_t hash = ts_xxh64_of_bytes(key);
    size_t height = 1;
    while (height < TOWER_MAX && (hash & 3) == 0) {
        height++;
        hash >>= 2;
    }
    return height;
}

/* Returns the first node that is not before `key`. On each level, sets links[level] to the pointer that skips
 * all nodes before `key`. */
static struct node *seek(struct memory_backend *backend, struct ts_bytes key,
                         struct node **links[TOWER_MAX]) {
    struct node **level = backend->first;
    for (size_t i = TOWER_MAX; i-- > 0;) {
        while (level[i] != NULL && ts_bytes_compare(key_of(level[i]), key) < 0)
            level = level[i]->next;
        if (links != NULL)
            links[i] = &level[i];
    }
    return level[0];
}

static struct node *find(struct memory_backend *backend, struct ts_bytes key) {
    struct node *node = seek(backend, key, NULL);
    return node != NULL && ts_bytes_equal(key_of(node), key) ? node : NULL;
}

static struct node *new_node(struct ts_bytes key) {
    size_t height = height_of(key);
    struct node *node = malloc(sizeof *node + height * sizeof(struct node *) + key.len);
    if (node == NULL)
        return NULL;
    node->record = NULL;
    node->height = height;
    node->key = (uint8_t *)(node->next + height);
    node->key_len = key.len;
    memcpy(node->key, key.data, key.len);
    return node;
}

/* Sets the record of a key and takes over the caller's reference; if `record` is NULL, removes the key. If
 * the key is new, uses the node `fresh` and returns NULL. Otherwise returns `fresh`. */
static struct node *set(struct memory_backend *backend, struct ts_bytes key, struct record *record,
                        struct node *fresh) {
    struct node **links[TOWER_MAX];
    struct node *node = seek(backend, key, links);
    bool there = node != NULL && ts_bytes_equal(key_of(node), key);
    if (record != NULL && there) {
        let_record_go(node->record);
        node->record = record;
    } else if (record != NULL) {
        fresh->record = record;
        for (size_t i = 0; i < fresh->height; i++) {
            fresh->next[i] = *links[i];
            *links[i] = fresh;
        }
        return NULL;
    } else if (there) {
        for (size_t i = 0; i < node->height; i++)
            *links[i] = node->next[i];
        let_record_go(node->record);
        free(node);
    }
    return fresh;
}

static void *view_open_and_lock(struct store__backend *head) {
    struct memory_backend *backend = (struct memory_backend *)head;
    pthread_rwlock_rdlock(&backend->lock);
    return backend;
}

static void view_close(struct store__backend *head, void *view) {
    (void)view;
    pthread_rwlock_unlock(&((struct memory_backend *)head)->lock);
}

static enum ts_store_result get(struct store__backend *head, void *view, enum store__space space,
                                struct ts_bytes key, struct store__held *ret_held,
                                struct ts_store_error *ret_error) {
    struct memory_backend *backend = (struct memory_backend *)head;
    struct full_key full;
    (void)ret_error;
    make_key(space, key, &full);
    if (view == NULL)
        pthread_rwlock_rdlock(&backend->lock);
    struct node *node = find(backend, ts_bytes_of(full.bytes, full.len));
    struct record *record = node == NULL ? NULL : hold(node->record);
    if (view == NULL)
        pthread_rwlock_unlock(&backend->lock);
    *ret_held = (struct store__held){0};
    if (record != NULL)
        *ret_held = (struct store__held){.stored = ts_bytes_of(record->bytes, record->len), .handle = record};
    return TS_STORE_OK;
}

static void let_go(struct store__backend *head, struct store__held *held) {
    (void)head;
    let_record_go(held->handle);
    *held = (struct store__held){0};
}

static enum ts_store_result scan(struct store__backend *head, enum store__space space, struct ts_bytes from,
                                 struct ts_bytes to,
                                 bool (*visit)(void *context, struct ts_bytes key, struct ts_bytes stored),
                                 void *context, struct ts_store_error *ret_error) {
    struct memory_backend *backend = (struct memory_backend *)head;
    (void)ret_error;
    struct full_key full;
    /* A bound may be longer than any key. Truncating the bound is safe, because no key is between the
     * truncated bound and the whole bound. */
    bool cut = from.len > TS_STORE_KEY_MAX;
    make_key(space, cut ? ts_bytes_first(from, TS_STORE_KEY_MAX) : from, &full);
    pthread_rwlock_rdlock(&backend->lock);
    struct node *node = seek(backend, ts_bytes_of(full.bytes, full.len), NULL);
    for (bool more = true; more && node != NULL && node->key[0] == (uint8_t)space; node = node->next[0]) {
        struct ts_bytes key = ts_bytes_skip(key_of(node), 1);
        if (to.len > 0 && ts_bytes_compare(key, to) >= 0)
            break;
        if (ts_bytes_compare(key, from) >= 0)
            more = visit(context, key, ts_bytes_of(node->record->bytes, node->record->len));
    }
    pthread_rwlock_unlock(&backend->lock);
    return TS_STORE_OK;
}

/* Everything that one write needs. It is allocated before the first change, so that no write fails
 * halfway. */
struct step {
    struct record *record;
    struct node *node;
};

static bool make_step(const struct store__write *write, struct step *ret_step) {
    struct full_key full;
    *ret_step = (struct step){0};
    if (write->remove)
        return true;
    make_key(write->space, write->key, &full);
    ret_step->node = new_node(ts_bytes_of(full.bytes, full.len));
    ret_step->record = malloc(sizeof *ret_step->record + STORE_RECORD_HEAD + write->body.len);
    if (ret_step->node == NULL || ret_step->record == NULL)
        return false;
    atomic_init(&ret_step->record->holders, 1);
    ret_step->record->len = STORE_RECORD_HEAD + write->body.len;
    memcpy(ret_step->record->bytes, write->head, STORE_RECORD_HEAD);
    if (write->body.len > 0)
        memcpy(ret_step->record->bytes + STORE_RECORD_HEAD, write->body.data, write->body.len);
    return true;
}

static bool reserve_undo(struct memory_backend *backend, size_t count) {
    return TS_GROW(backend->undo, backend->undo_capacity, backend->undo_count + count);
}

static void forget_undo(struct memory_backend *backend) {
    for (size_t i = 0; i < backend->undo_count; i++)
        let_record_go(backend->undo[i].record);
    backend->undo_count = 0;
}

static void remember(struct memory_backend *backend, struct ts_bytes key) {
    struct undo *undo = &backend->undo[backend->undo_count++];
    struct node *node = find(backend, key);
    undo->record = node == NULL ? NULL : hold(node->record);
    undo->key_len = key.len;
    memcpy(undo->key, key.data, key.len);
}

static void take_steps(struct memory_backend *backend, const struct store__write *writes, struct step *steps,
                       size_t count, bool sync) {
    if (sync)
        forget_undo(backend);
    for (size_t i = 0; i < count; i++) {
        struct full_key full;
        make_key(writes[i].space, writes[i].key, &full);
        struct ts_bytes key = ts_bytes_of(full.bytes, full.len);
        if (!sync)
            remember(backend, key);
        steps[i].node = set(backend, key, steps[i].record, steps[i].node);
        steps[i].record = NULL;
    }
}

static enum ts_store_result write(struct store__backend *head, const struct store__write *writes,
                                  size_t count, struct store__write_options options,
                                  struct ts_store_error *ret_error) {
    struct memory_backend *backend = (struct memory_backend *)head;
    enum { FEW = 8 };
    struct step few[FEW], *steps = count <= FEW ? few : malloc(count * sizeof *steps);
    size_t made = 0;
    bool ready = steps != NULL;
    while (ready && made < count)
        ready = make_step(&writes[made], &steps[made]) && (made++, true);
    /* The step that failed may be incomplete, but its memory must be freed, too. */
    size_t begun = ready || steps == NULL ? made : made + 1;
    if (ready) {
        pthread_rwlock_wrlock(&backend->lock);
        ready = options.sync || reserve_undo(backend, count);
        if (ready)
            take_steps(backend, writes, steps, count, options.sync);
        pthread_rwlock_unlock(&backend->lock);
    }
    for (size_t i = 0; i < begun; i++) {
        free(steps[i].node);
        free(steps[i].record);
    }
    if (steps != few)
        free(steps);
    return ready ? TS_STORE_OK : store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "memory: out of memory");
}

static enum ts_store_result sync_all(struct store__backend *head, struct ts_store_error *ret_error) {
    struct memory_backend *backend = (struct memory_backend *)head;
    (void)ret_error;
    pthread_rwlock_wrlock(&backend->lock);
    forget_undo(backend);
    pthread_rwlock_unlock(&backend->lock);
    return TS_STORE_OK;
}

static void close_backend(struct store__backend *head) {
    struct memory_backend *backend = (struct memory_backend *)head;
    forget_undo(backend);
    free(backend->undo);
    for (struct node *node = backend->first[0], *next; node != NULL; node = next) {
        next = node->next[0];
        let_record_go(node->record);
        free(node);
    }
    pthread_rwlock_destroy(&backend->lock);
    free(backend);
}

static const struct store__backend_ops ops = {
    .view_open = view_open_and_lock,
    .view_close = view_close,
    .get = get,
    .let_go = let_go,
    .scan = scan,
    .write = write,
    .sync = sync_all,
    .close = close_backend,
};

struct ts_memory *ts_memory_new(const char *name, const struct ts_store_clock *clock) {
    struct ts_memory *memory = calloc(1, sizeof *memory);
    struct memory_backend *backend = calloc(1, sizeof *backend);
    if (memory == NULL || backend == NULL || pthread_rwlock_init(&backend->lock, NULL) != 0) {
        free(memory);
        free(backend);
        return NULL;
    }
    backend->head.ops = &ops;
    memory->backend = backend;
    struct ts_store_error error;
    if (store__local_new(&backend->head, clock != NULL ? clock : &store__real_clock, name, &memory->local,
                         &error) != TS_STORE_OK) {
        free(memory);
        return NULL;
    }
    return memory;
}

void ts_memory_free(struct ts_memory *memory) {
    if (memory == NULL)
        return;
    store__local_free(memory->local);
    free(memory);
}

struct ts_store *ts_memory_open(struct ts_memory *memory) {
    return store__local_store_new(memory->local, NULL, NULL);
}

static void free_owned(void *owner) {
    ts_memory_free(owner);
}

struct ts_store *ts_memory_open_new(const char *name, const struct ts_store_clock *clock) {
    struct ts_memory *memory = ts_memory_new(name, clock);
    if (memory == NULL)
        return NULL;
    struct ts_store *store = store__local_store_new(memory->local, free_owned, memory);
    if (store == NULL)
        ts_memory_free(memory);
    return store;
}

static void undo_all(struct memory_backend *backend) {
    while (backend->undo_count > 0) {
        struct undo *undo = &backend->undo[--backend->undo_count];
        struct ts_bytes key = ts_bytes_of(undo->key, undo->key_len);
        struct node *fresh = undo->record == NULL ? NULL : new_node(key);
        /* Only simulations call this function. A simulation cannot continue without memory. */
        ts_assert(undo->record == NULL || fresh != NULL);
        free(set(backend, key, undo->record, fresh));
    }
}

void ts_memory_restart(struct ts_memory *memory, struct ts_memory_crash crash) {
    if (crash.lose_unsynced)
        undo_all(memory->backend);
    else
        forget_undo(memory->backend);
    struct ts_store_error error;
    ts_assert(store__local_restart(memory->local, &error) == TS_STORE_OK);
}

bool ts_memory_damage(struct ts_memory *memory, struct ts_bytes key) {
    struct full_key full;
    make_key(STORE_SPACE_DATA, key, &full);
    pthread_rwlock_wrlock(&memory->backend->lock);
    struct node *node = find(memory->backend, ts_bytes_of(full.bytes, full.len));
    if (node != NULL)
        node->record->bytes[node->record->len - 1] ^= 1;
    pthread_rwlock_unlock(&memory->backend->lock);
    return node != NULL;
}
