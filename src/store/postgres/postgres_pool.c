/*
 * The pool: at most connections_max slots for connections, and a queue of the jobs that wait for a slot. A
 * free slot is always given to the first job in the queue.
 */
#include "store/postgres/postgres.h"

#include "base/assert.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct postgres_slot *unused_slot(struct postgres_store *store) {
    struct postgres_slot *slot = store->free_slots;
    if (slot != NULL) {
        store->free_slots = slot->next;
        return slot;
    }
    if (store->slot_count == store->connections_max)
        return NULL;
    return &store->slots[store->slot_count++];
}

bool postgres__pool_take(struct postgres_job *job) {
    struct postgres_store *store = job->store;
    pthread_mutex_lock(&store->lock);
    /* While jobs wait, no slot is free, because a released slot is given directly to the next job. */
    job->slot = unused_slot(store);
    pthread_mutex_unlock(&store->lock);
    if (job->slot != NULL)
        return true;

    job->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (job->wake_fd < 0) {
        (void)store__error(
            &job->error, TS_STORE_BUSY, SIZE_MAX,
            "%s: all connections are in use, and waiting for one needs a file descriptor, but none is left; raise 'ulimit -n'",
            store->base.name);
        return false;
    }
    pthread_mutex_lock(&store->lock);
    job->slot = unused_slot(store); /* a slot may have become free meanwhile */
    if (job->slot == NULL) {
        job->queued_next = NULL;
        if (store->queue_last != NULL)
            store->queue_last->queued_next = job;
        else
            store->queue_first = job;
        store->queue_last = job;
    }
    pthread_mutex_unlock(&store->lock);
    return true;
}

static void wake(const struct postgres_job *job) {
    const uint64_t one = 1;
    ssize_t wrote;
    do
        wrote = write(job->wake_fd, &one, sizeof one);
    while (wrote < 0 && errno == EINTR);
    ts_assert(wrote == (ssize_t)sizeof one);
}

void postgres__pool_give_back(struct postgres_job *job) {
    struct postgres_store *store = job->store;
    struct postgres_slot *slot = job->slot;
    job->slot = NULL;
    pthread_mutex_lock(&store->lock);
    struct postgres_job *first = store->queue_first;
    if (first == NULL) {
        slot->next = store->free_slots;
        store->free_slots = slot;
    } else {
        store->queue_first = first->queued_next;
        if (store->queue_first == NULL)
            store->queue_last = NULL;
        first->slot = slot;
        /* Wakes the job before the lock is released. After the release, the job may see its slot, end, and
         * close the descriptor. */
        wake(first);
    }
    pthread_mutex_unlock(&store->lock);
}

bool postgres__pool_was_served(struct postgres_job *job) {
    pthread_mutex_lock(&job->store->lock);
    bool served = job->slot != NULL;
    pthread_mutex_unlock(&job->store->lock);
    return served;
}

void postgres__pool_leave(struct postgres_job *job) {
    struct postgres_store *store = job->store;
    pthread_mutex_lock(&store->lock);
    bool served = job->slot != NULL;
    if (!served) {
        struct postgres_job *before = NULL, *at = store->queue_first;
        while (at != job) {
            before = at;
            at = at->queued_next;
        }
        if (before != NULL)
            before->queued_next = job->queued_next;
        else
            store->queue_first = job->queued_next;
        if (store->queue_last == job)
            store->queue_last = before;
    }
    pthread_mutex_unlock(&store->lock);
    if (served)
        postgres__pool_give_back(job);
}
