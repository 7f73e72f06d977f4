/*
 * How much memory a visit holds, over all its threads, and buffers that are used again.
 *
 * Whoever needs memory takes it from the ledger first. When there is not enough left, it gives up what it can
 * do without, and then waits until others give some back. When all who are at work wait, one of them goes
 * ahead all the same: the limit is set so much lower than what the caller allowed that this stays within it.
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
    pthread_mutex_t lock; /* guards active; taken alone */
    pthread_cond_t freed;
    unsigned active; /* threads that hold, or may hold, something */
};

void git__ledger_init(struct git__ledger *ledger, uint64_t limit);
void git__ledger_release(struct git__ledger *ledger);
void git__ledger_enter(struct git__ledger *ledger);
void git__ledger_leave(struct git__ledger *ledger);
bool git__ledger_try(struct git__ledger *ledger, uint64_t bytes);
void git__ledger_wait(struct git__ledger *ledger, uint64_t bytes);
void git__ledger_give(struct git__ledger *ledger, uint64_t bytes);

/* Buffers of one thread that wait to be used again: fresh memory costs more than filling it. */
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
    /* Gives up something that the owner can do without; false when there is nothing. */
    bool (*spare)(void *owner);
    void *owner;
};

void git__pool_init(struct git__pool *pool, struct git__ledger *ledger, size_t kept_max);
void git__pool_release(struct git__pool *pool);

/* Of at least size bytes. False when malloc fails. */
bool git__pool_take(struct git__pool *pool, size_t size, struct git__buffer *ret_buffer);
void git__pool_give(struct git__pool *pool, struct git__buffer buffer);

/* Back to the system at once. */
void git__pool_drop(struct git__pool *pool, struct git__buffer buffer);

#endif
