/*
 * Counts the memory that all threads of a visit hold, and keeps buffers for reuse.
 *
 * A thread that needs memory first takes that amount from the ledger. If too little is left, the thread frees
 * memory that it does not need, and then waits until other threads return memory. If all active threads wait,
 * one thread continues nevertheless: the limit of the ledger is so low that the total stays within the
 * caller's limit.
 */
#ifndef TS_GIT_LEDGER_H
#define TS_GIT_LEDGER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct git__ledger {
    uint64_t limit;
    atomic_uint_fast64_t used;
    atomic_uint_fast64_t most;
    atomic_uint waiting;
    pthread_mutex_t lock; /* guards active; no other lock is held with it */
    pthread_cond_t freed;
    unsigned active; /* threads that hold, or may hold, memory */
};

void git__ledger_init(struct git__ledger *ledger, uint64_t limit);
void git__ledger_release(struct git__ledger *ledger);
void git__ledger_enter(struct git__ledger *ledger);
void git__ledger_leave(struct git__ledger *ledger);
bool git__ledger_try(struct git__ledger *ledger, uint64_t bytes);
void git__ledger_wait(struct git__ledger *ledger, uint64_t bytes);
void git__ledger_give(struct git__ledger *ledger, uint64_t bytes);

/* Buffers of one thread for reuse, because fresh memory costs more than filling it. */
#define GIT__POOL_CLASSES 160
#define GIT__POOL_DEPTH   4

struct git__buffer {
    uint8_t *bytes;
    size_t capacity;
};

struct git__pool {
    struct git__ledger *ledger;
    size_t kept_max;
    size_t kept;
    uint8_t counts[GIT__POOL_CLASSES];
    uint8_t *free[GIT__POOL_CLASSES][GIT__POOL_DEPTH];
    /* Frees memory that the owner does not need at the moment. Returns false if it found nothing to free. */
    bool (*spare)(void *owner);
    void *owner;
};

void git__pool_init(struct git__pool *pool, struct git__ledger *ledger, size_t kept_max);
void git__pool_release(struct git__pool *pool);

/* Takes a buffer of at least size bytes. Returns false when memory runs out. */
bool git__pool_take(struct git__pool *pool, size_t size, struct git__buffer *ret_buffer);
void git__pool_give(struct git__pool *pool, struct git__buffer buffer);

/* Returns the memory of a buffer to the system, instead of keeping it for reuse. */
void git__pool_drop(struct git__pool *pool, struct git__buffer buffer);

#endif
