#include "ledger.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void git__ledger_init(struct git__ledger *ledger, uint64_t limit) {
    *ledger = (struct git__ledger){.limit = limit};
    pthread_mutex_init(&ledger->lock, NULL);
    pthread_cond_init(&ledger->freed, NULL);
}

void git__ledger_release(struct git__ledger *ledger) {
    pthread_mutex_destroy(&ledger->lock);
    pthread_cond_destroy(&ledger->freed);
}

void git__ledger_enter(struct git__ledger *ledger) {
    pthread_mutex_lock(&ledger->lock);
    ledger->active++;
    pthread_mutex_unlock(&ledger->lock);
}

/* Ends the use of memory by this thread. Wakes waiting threads, because they must check again whether all
 * remaining threads wait. */
void git__ledger_leave(struct git__ledger *ledger) {
    pthread_mutex_lock(&ledger->lock);
    ts_assert(ledger->active > 0);
    ledger->active--;
    pthread_cond_broadcast(&ledger->freed);
    pthread_mutex_unlock(&ledger->lock);
}

static void note_most(struct git__ledger *ledger, uint64_t used) {
    uint_fast64_t most = atomic_load_explicit(&ledger->most, memory_order_relaxed);
    while (used > most && !atomic_compare_exchange_weak(&ledger->most, &most, used)) {
    }
}

bool git__ledger_try(struct git__ledger *ledger, uint64_t bytes) {
    uint64_t used = atomic_fetch_add(&ledger->used, bytes) + bytes;
    if (used <= ledger->limit) {
        note_most(ledger, used);
        return true;
    }
    atomic_fetch_sub(&ledger->used, bytes);
    return false;
}

void git__ledger_wait(struct git__ledger *ledger, uint64_t bytes) {
    pthread_mutex_lock(&ledger->lock);
    atomic_fetch_add(&ledger->waiting, 1);
    while (!git__ledger_try(ledger, bytes)) {
        if (atomic_load(&ledger->waiting) >= ledger->active) {
            note_most(ledger, atomic_fetch_add(&ledger->used, bytes) + bytes);
            break;
        }
        pthread_cond_wait(&ledger->freed, &ledger->lock);
    }
    atomic_fetch_sub(&ledger->waiting, 1);
    pthread_mutex_unlock(&ledger->lock);
}

/* A waiting thread increments `waiting` before it reads `used`. This thread reads `waiting` after it has
 * changed `used`. So at least one of the two notices the other. */
void git__ledger_give(struct git__ledger *ledger, uint64_t bytes) {
    atomic_fetch_sub(&ledger->used, bytes);
    if (atomic_load(&ledger->waiting) == 0)
        return;
    pthread_mutex_lock(&ledger->lock);
    pthread_cond_broadcast(&ledger->freed);
    pthread_mutex_unlock(&ledger->lock);
}

/* ---- buffers ---- */

#define SMALLEST_SHIFT 12

/* Returns the size of the buffers of a class: 4 KiB x 2^k x (4 to 7) / 4, so at most a fifth of a buffer is
 * wasted. */
static size_t class_size(unsigned class) {
    return ((size_t)4 + class % 4) << (SMALLEST_SHIFT - 2 + class / 4);
}

static unsigned class_of(size_t size) {
    if (size <= (size_t)1 << SMALLEST_SHIFT)
        return 0;
    unsigned top = 63u - (unsigned)__builtin_clzll(size - 1); /* 2^top < size <= 2^(top + 1) */
    unsigned class = (top - SMALLEST_SHIFT) * 4;
    while (class_size(class) < size)
        class ++;
    return class;
}

/* Buffers of at least this size come directly from the system, in huge pages if available, because the first
 * access to each small page costs more than the work on that page. */
#define MAPPED_MIN           ((size_t)1 << 20)

/* The number of larger size classes that are searched for a free buffer before a new buffer is made. A small
 * free buffer may be up to twice as large as the new buffer would be, so that it stays in the cache. A mapped
 * buffer may be up to eight times as large, because new pages from the system cost more than unused room. */
#define CLASSES_ABOVE        3
#define CLASSES_ABOVE_MAPPED 12

static uint8_t *memory_new(size_t capacity) {
    if (capacity < MAPPED_MIN)
        return malloc(capacity);
    void *bytes = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    (void)madvise(bytes, capacity, MADV_HUGEPAGE); /* without huge pages, access is only slower */
    return bytes;
}

static void memory_free(uint8_t *bytes, size_t capacity) {
    if (capacity < MAPPED_MIN)
        free(bytes);
    else
        (void)munmap(bytes, capacity);
}

void git__pool_init(struct git__pool *pool, struct git__ledger *ledger, size_t kept_max) {
    memset(pool, 0, sizeof *pool);
    pool->ledger = ledger;
    pool->kept_max = kept_max;
}

/* Frees one kept buffer, the largest. Returns false if no buffer is kept. */
static bool drop_one_kept(struct git__pool *pool) {
    for (unsigned class = GIT__POOL_CLASSES; class > 0; class --)
        if (pool->counts[class - 1] > 0) {
            memory_free(pool->free[class - 1][--pool->counts[class - 1]], class_size(class - 1));
            pool->kept -= class_size(class - 1);
            git__ledger_give(pool->ledger, class_size(class - 1));
            return true;
        }
    return false;
}

void git__pool_release(struct git__pool *pool) {
    while (drop_one_kept(pool)) {
    }
}

bool git__pool_take(struct git__pool *pool, size_t size, struct git__buffer *ret_buffer) {
    unsigned class = class_of(size);
    ts_assert(class < GIT__POOL_CLASSES);
    size_t capacity = class_size(class);
    unsigned above = capacity < MAPPED_MIN ? CLASSES_ABOVE : CLASSES_ABOVE_MAPPED;
    for (unsigned i = class; i <= class + above && i < GIT__POOL_CLASSES; i++) {
        if (pool->counts[i] == 0)
            continue;
        pool->kept -= class_size(i);
        *ret_buffer = (struct git__buffer){pool->free[i][--pool->counts[i]], class_size(i)};
        return true;
    }
    while (!git__ledger_try(pool->ledger, capacity)) {
        if (drop_one_kept(pool) || (pool->spare != NULL && pool->spare(pool->owner)))
            continue;
        git__ledger_wait(pool->ledger, capacity);
        break;
    }
    uint8_t *bytes = memory_new(capacity);
    if (bytes == NULL) {
        git__ledger_give(pool->ledger, capacity);
        return false;
    }
    *ret_buffer = (struct git__buffer){bytes, capacity};
    return true;
}

void git__pool_drop(struct git__pool *pool, struct git__buffer buffer) {
    if (buffer.bytes == NULL)
        return;
    memory_free(buffer.bytes, buffer.capacity);
    git__ledger_give(pool->ledger, buffer.capacity);
}

void git__pool_give(struct git__pool *pool, struct git__buffer buffer) {
    if (buffer.bytes == NULL)
        return;
    unsigned class = class_of(buffer.capacity);
    bool is_scarce = atomic_load_explicit(&pool->ledger->waiting, memory_order_relaxed) > 0;
    if (is_scarce || pool->counts[class] >= GIT__POOL_DEPTH ||
        pool->kept + buffer.capacity > pool->kept_max) {
        git__pool_drop(pool, buffer);
        return;
    }
    pool->free[class][pool->counts[class]++] = buffer.bytes;
    pool->kept += buffer.capacity;
}
