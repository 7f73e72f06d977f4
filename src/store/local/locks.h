/*
 * A fair table of locks on keys, shared or exclusive, first come, first served.
 *
 * A *claim* is all the locks of one batch or promise. They are taken one by one in the order of their keys,
 * so two claims never wait for each other; a promise's claim has all it wants and waits for nothing. Whoever
 * comes second waits behind those that wait already, even where it could share with the holders: readers
 * cannot starve a writer.
 *
 * A claim belongs to one thread at a time. Nothing here blocks: a claim that must wait says so, and
 * store__claim_wait_fd gives a descriptor that becomes readable when it was given what it waits for.
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
    struct ts_bytes key; /* borrowed while the claim is not complete; not looked at afterwards */
    struct store__lock *lock;
    bool exclusive;
};

struct store__claim {
    struct store__want *wants; /* sorted, each key once; the claim's own once it is complete */
    size_t count;
    size_t held; /* the first so many are held */

    /* The rest belongs to the table, under its mutex. */
    bool waiting; /* in the queue of wants[held] */
    int wake_fd;  /* -1, or what to signal */
    struct store__claim *ahead, *behind;
};

enum store__claim_state {
    STORE_CLAIM_COMPLETE,
    STORE_CLAIM_WAITS,
    STORE_CLAIM_NO_MEMORY, /* as it was; release it */
};

struct store__locks *store__locks_new(void);

/* All claims have been released. */
void store__locks_free(struct store__locks *locks);

/* Wants are sorted and merged in place: what is wanted shared and exclusive is wanted exclusive. Holds
 * nothing yet.
 */
void store__claim_init(struct store__claim *claim, struct store__want *wants, size_t count);

/* Takes as many locks as it can. */
enum store__claim_state store__claim_step(struct store__locks *locks, struct store__claim *claim);

/*
 * A descriptor that becomes readable when a waiting claim can go on; -1 when it can already. False when the
 * system has no descriptor for us; the claim goes on waiting.
 */
bool store__claim_wait_fd(struct store__locks *locks, struct store__claim *claim, int *ret_fd);

/* Gives back what is held and stops waiting. The claim is then as after init. NULL wants are no matter. */
void store__claim_release(struct store__locks *locks, struct store__claim *claim);

/* Keys that are held or waited for. */
size_t store__locks_count(struct store__locks *locks);

#endif
