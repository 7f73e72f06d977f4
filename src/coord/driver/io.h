/*
 * What the driver of coordination needs from below: reading from stores, transactions, a measure of passing time and a
 * way to wait. Everything is written by transactions, on one store too. ts_coord_new makes the real one over a cluster; a simulation brings its
 * own, and then everything that the driver does follows from what these functions answer and their order.
 *
 * The driver holds nothing across a call: inside one, others may run operations of their own, on the same
 * struct ts_coord too.
 */
#ifndef TS_COORD_DRIVER_IO_H
#define TS_COORD_DRIVER_IO_H

#include "turnstone/route.h"
#include "turnstone/store.h"
#include "turnstone/txn.h"

/* One call and the store that it goes to. The driver fills in what the call's kind needs, without a deadline.
 */
struct ts_coord_call {
    uint32_t place;
    struct ts_call call;
};

struct ts_coord_io {
    void *context;
    const struct ts_router *router; /* shard id -> place; outlives the driver */
    uint32_t place_count;

    /* Runs the calls (READ, SCAN) side by side and returns when all are done. */
    void (*call)(void *context, struct ts_coord_call *calls, size_t count);

    /* One transaction over the parts, each place once, with its retries. Keys have the reserved first byte. One part is
     * an APPLY, and says the version. */
    void (*txn)(void *context, const struct ts_txn_part *parts, size_t count,
                struct ts_txn_result *ret_result);

    /* Milliseconds since whenever, never falling: how old something is that a store said. */
    uint64_t (*elapsed_ms)(void *context);

    /* Waits before the same is tried again. */
    void (*pause_ms)(void *context, uint64_t ms);
};

#endif
