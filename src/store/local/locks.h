/*
 * A fair table of locks on keys, shared or exclusive, first come, first served.
 *
 * A *claim* is the set of all locks of one batch or promise. A claim takes its locks one by one in the order
 * of their keys, so two claims never wait for each other. A promise's claim has all its locks and waits for
 * nothing. A claim queues after earlier claims even if it could share the lock with the holders, so that
 * readers cannot starve a writer.
 *
 * A claim belongs to one thread at a time. Nothing here blocks: a claim that must wait reports it, and
 * store__claim_wait_fd returns a descriptor that becomes readable when the claim has the lock.
 */
#ifndef TS_STORE_LOCAL_LOCKS_H
#define TS_STORE_LOCAL_LOCKS_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store__locks;
struct store__lock;

struct store__want {
    struct ts_bytes key; /* borrowed while the claim is not complete; unused afterwards */
    struct store__lock *lock;
    bool exclusive;
};

struct store__claim {
    struct store__want *wants; /* sorted, each key once; the caller frees the array after the release */
    size_t count;
    size_t held; /* the claim holds the locks of the first `held` wants */

    /* The table owns the fields below; its mutex guards them. */
    bool waiting; /* the claim is in the queue of wants[held] */
    int wake_fd;  /* -1, or the descriptor to signal */
    struct store__claim *ahead, *behind;
};

enum store__claim_state {
    STORE_CLAIM_COMPLETE,
    STORE_CLAIM_WAITS,
    STORE_CLAIM_NO_MEMORY, /* the claim keeps the locks that it has; release it */
};

struct store__locks *store__locks_new(void);

/* Frees the table. All claims must have been released before. */
void store__locks_free(struct store__locks *locks);

/* Makes a claim without any lock. Sorts and merges the wants in place. A key that is wanted both shared and
 * exclusive is locked exclusively. */
void store__claim_init(struct store__claim *claim, struct store__want *wants, size_t count);

/* Takes locks until the claim is complete or must wait. */
enum store__claim_state store__claim_step(struct store__locks *locks, struct store__claim *claim);

/*
 * Sets *ret_fd to a descriptor that becomes readable when a waiting claim can continue, or to -1 if the claim
 * can continue now. Returns false when the system has no more descriptors. The claim then still waits.
 */
bool store__claim_wait_fd(struct store__locks *locks, struct store__claim *claim, int *ret_fd);

/* Releases all locks and stops waiting. The claim is then in the same state as after init. Accepts NULL
 * wants. */
void store__claim_release(struct store__locks *locks, struct store__claim *claim);

/* Returns the number of keys whose locks are held or waited for. */
size_t store__locks_count(struct store__locks *locks);

#endif
