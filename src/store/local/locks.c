/*
 *   wants, sorted:   a   b   c   d   e
 *                    └─held──┘   │
 *                                └ waits in d's queue if d is not free; the rest was not requested yet
 *
 * What holds, under the mutex:
 * - a lock is in the table exactly while somebody holds it or waits for it;
 * - the first claim of a queue cannot share the lock with the holders (otherwise the claim would be a
 *   holder);
 * - a claim is in at most one queue, that of wants[held].
 */
#include "store/local/locks.h"

#include "base/assert.h"
#include "base/hash64.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct store__lock {
    struct store__lock *next; /* the next lock in its bucket */
    uint64_t hash;
    size_t shared;  /* number of claims that hold it shared */
    bool exclusive; /* one claim holds it exclusively */
    struct store__claim *first, *last;
    size_t key_len;
    uint8_t key[];
};

enum { SPARE_FDS = 64, FIRST_BUCKETS = 256 };

struct store__locks {
    pthread_mutex_t mutex;
    struct store__lock **buckets;
    size_t bucket_count; /* a power of two */
    size_t count;
    int spare_fds[SPARE_FDS]; /* unused eventfds, kept because creating one often costs more than the wait */
    size_t spare_fd_count;
};

struct store__locks *store__locks_new(void) {
    struct store__locks *locks = calloc(1, sizeof *locks);
    if (locks == NULL)
        return NULL;
    locks->bucket_count = FIRST_BUCKETS;
    locks->buckets = calloc(locks->bucket_count, sizeof(void *));
    if (locks->buckets == NULL || pthread_mutex_init(&locks->mutex, NULL) != 0) {
        free(locks->buckets);
        free(locks);
        return NULL;
    }
    return locks;
}

void store__locks_free(struct store__locks *locks) {
    if (locks == NULL)
        return;
    ts_assert(locks->count == 0);
    for (size_t i = 0; i < locks->spare_fd_count; i++)
        close(locks->spare_fds[i]);
    pthread_mutex_destroy(&locks->mutex);
    free(locks->buckets);
    free(locks);
}

static int compare_wants(const void *a, const void *b) {
    const struct store__want *x = a, *y = b;
    return ts_bytes_compare(x->key, y->key);
}

/* Sorts the wants by key. Most batches are small, and often already sorted. */
static void sort_wants(struct store__want *wants, size_t count) {
    enum { FEW = 12 };
    if (count > FEW) {
        qsort(wants, count, sizeof *wants, compare_wants);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        struct store__want moved = wants[i];
        size_t at = i;
        for (; at > 0 && compare_wants(&wants[at - 1], &moved) > 0; at--)
            wants[at] = wants[at - 1];
        wants[at] = moved;
    }
}

void store__claim_init(struct store__claim *claim, struct store__want *wants, size_t count) {
    sort_wants(wants, count);
    size_t merged = 0;
    for (size_t i = 0; i < count; i++) {
        if (merged > 0 && ts_bytes_equal(wants[merged - 1].key, wants[i].key))
            wants[merged - 1].exclusive |= wants[i].exclusive;
        else
            wants[merged++] = wants[i];
    }
    *claim = (struct store__claim){.wants = wants, .count = merged, .wake_fd = -1};
}

/* Grows the table. If memory runs out, the chains only become longer. */
static void grow(struct store__locks *locks) {
    size_t bucket_count = 2 * locks->bucket_count;
    struct store__lock **buckets = calloc(bucket_count, sizeof(void *));
    if (buckets == NULL)
        return;
    for (size_t i = 0; i < locks->bucket_count; i++) {
        for (struct store__lock *lock = locks->buckets[i], *next; lock != NULL; lock = next) {
            next = lock->next;
            struct store__lock **bucket = &buckets[lock->hash & (bucket_count - 1)];
            lock->next = *bucket;
            *bucket = lock;
        }
    }
    free(locks->buckets);
    locks->buckets = buckets;
    locks->bucket_count = bucket_count;
}

static struct store__lock *find_or_add(struct store__locks *locks, struct ts_bytes key) {
    uint64_t hash = ts_xxh64_of_bytes(key);
    for (struct store__lock *lock = locks->buckets[hash & (locks->bucket_count - 1)]; lock != NULL;
         lock = lock->next)
        if (lock->hash == hash && lock->key_len == key.len && memcmp(lock->key, key.data, key.len) == 0)
            return lock;
    struct store__lock *lock = malloc(sizeof *lock + key.len);
    if (lock == NULL)
        return NULL;
    *lock = (struct store__lock){.hash = hash, .key_len = key.len};
    if (key.len > 0)
        memcpy(lock->key, key.data, key.len);
    if (locks->count >= locks->bucket_count)
        grow(locks);
    struct store__lock **bucket = &locks->buckets[hash & (locks->bucket_count - 1)];
    lock->next = *bucket;
    *bucket = lock;
    locks->count++;
    return lock;
}

static void drop_if_unused(struct store__locks *locks, struct store__lock *lock) {
    if (lock->shared > 0 || lock->exclusive || lock->first != NULL)
        return;
    struct store__lock **at = &locks->buckets[lock->hash & (locks->bucket_count - 1)];
    while (*at != lock)
        at = &(*at)->next;
    *at = lock->next;
    locks->count--;
    free(lock);
}

static bool goes_with_holders(const struct store__lock *lock, bool exclusive) {
    return !lock->exclusive && (!exclusive || lock->shared == 0);
}

static void hold(struct store__claim *claim) {
    const struct store__want *want = &claim->wants[claim->held++];
    if (want->exclusive)
        want->lock->exclusive = true;
    else
        want->lock->shared++;
}

static void leave_queue(struct store__lock *lock, struct store__claim *claim) {
    *(claim->ahead != NULL ? &claim->ahead->behind : &lock->first) = claim->behind;
    *(claim->behind != NULL ? &claim->behind->ahead : &lock->last) = claim->ahead;
    claim->ahead = claim->behind = NULL;
    claim->waiting = false;
}

/* Gives the lock to the claims at the head of its queue, as long as these can share the lock with its
 * holders. */
static void hand_on(struct store__lock *lock) {
    struct store__claim *claim;
    while ((claim = lock->first) != NULL && goes_with_holders(lock, claim->wants[claim->held].exclusive)) {
        leave_queue(lock, claim);
        hold(claim);
        if (claim->wake_fd >= 0)
            /* The write fails only if the counter is full, and then the descriptor is already readable. */
            (void)eventfd_write(claim->wake_fd, 1);
    }
}

enum store__claim_state store__claim_step(struct store__locks *locks, struct store__claim *claim) {
    enum store__claim_state state = STORE_CLAIM_COMPLETE;
    pthread_mutex_lock(&locks->mutex);
    while (!claim->waiting && claim->held < claim->count) {
        struct store__want *want = &claim->wants[claim->held];
        struct store__lock *lock = find_or_add(locks, want->key);
        if (lock == NULL) {
            state = STORE_CLAIM_NO_MEMORY;
            break;
        }
        want->lock = lock;
        if (lock->first == NULL && goes_with_holders(lock, want->exclusive)) {
            hold(claim);
            continue;
        }
        claim->ahead = lock->last;
        *(lock->last != NULL ? &lock->last->behind : &lock->first) = claim;
        lock->last = claim;
        claim->waiting = true;
    }
    if (claim->waiting)
        state = STORE_CLAIM_WAITS;
    pthread_mutex_unlock(&locks->mutex);
    return state;
}

static void drain(int fd) {
    eventfd_t ignored;
    /* The read fails if the counter is empty, which is harmless. */
    (void)eventfd_read(fd, &ignored);
}

bool store__claim_wait_fd(struct store__locks *locks, struct store__claim *claim, int *ret_fd) {
    bool possible = true;
    pthread_mutex_lock(&locks->mutex);
    if (!claim->waiting) {
        *ret_fd = -1;
    } else {
        if (claim->wake_fd < 0 && locks->spare_fd_count > 0)
            claim->wake_fd = locks->spare_fds[--locks->spare_fd_count];
        if (claim->wake_fd < 0)
            claim->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        possible = claim->wake_fd >= 0;
        if (possible) {
            /* Removes signals for an earlier lock, which do not concern this wait. */
            drain(claim->wake_fd);
            *ret_fd = claim->wake_fd;
        }
    }
    pthread_mutex_unlock(&locks->mutex);
    return possible;
}

/* Keeps the claim's descriptor for another claim. If there is no room, closes it. */
static void spare_fd(struct store__locks *locks, struct store__claim *claim) {
    if (claim->wake_fd < 0)
        return;
    if (locks->spare_fd_count < SPARE_FDS)
        locks->spare_fds[locks->spare_fd_count++] = claim->wake_fd;
    else
        close(claim->wake_fd);
    claim->wake_fd = -1;
}

void store__claim_release(struct store__locks *locks, struct store__claim *claim) {
    if (claim->wants == NULL)
        return;
    pthread_mutex_lock(&locks->mutex);
    if (claim->waiting) {
        struct store__lock *lock = claim->wants[claim->held].lock;
        leave_queue(lock, claim);
        hand_on(lock);
        drop_if_unused(locks, lock);
    }
    for (size_t i = 0; i < claim->held; i++) {
        struct store__lock *lock = claim->wants[i].lock;
        if (claim->wants[i].exclusive)
            lock->exclusive = false;
        else
            lock->shared--;
        hand_on(lock);
        drop_if_unused(locks, lock);
        claim->wants[i].lock = NULL;
    }
    claim->held = 0;
    spare_fd(locks, claim);
    pthread_mutex_unlock(&locks->mutex);
}

size_t store__locks_count(struct store__locks *locks) {
    pthread_mutex_lock(&locks->mutex);
    size_t count = locks->count;
    pthread_mutex_unlock(&locks->mutex);
    return count;
}
