/*
 * The functions that the driver of coordination needs: reads of stores, transactions, elapsed time and a way
 * to wait. All writes are transactions, even on a single store. ts_coord_new uses the real functions over a
 * cluster. A simulation passes its own functions. Everything that the driver does depends only on the answers
 * of these functions and the order of the answers.
 *
 * The driver holds no locks during a call, so other threads may use the same struct ts_coord meanwhile.
 */
#ifndef TS_COORD_DRIVER_IO_H
#define TS_COORD_DRIVER_IO_H

#include "turnstone/route.h"
#include "turnstone/store.h"
#include "turnstone/txn.h"

/* One call and its store. The driver fills in the fields that the call's kind needs, without a deadline. */
struct ts_coord_call {
    uint32_t place;
    struct ts_call call;
};

struct ts_coord_io {
    void *context;
    const struct ts_router *router; /* shard id -> place; outlives the driver */
    uint32_t place_count;

    /* Runs the calls (READ, SCAN) in parallel and returns when all are done. */
    void (*call)(void *context, struct ts_coord_call *calls, size_t count);

    /* Runs one transaction over the parts (at most one per place), with retries. Keys have the reserved first
     * byte. A single part is an APPLY, and returns the version. */
    void (*txn)(void *context, const struct ts_txn_part *parts, size_t count,
                struct ts_txn_result *ret_result);

    /* Milliseconds since an arbitrary start, never decreasing. Used to compute the age of a store's answer. */
    uint64_t (*elapsed_ms)(void *context);

    /* Waits before another try. */
    void (*pause_ms)(void *context, uint64_t ms);
};

#endif
