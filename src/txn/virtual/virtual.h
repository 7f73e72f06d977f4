/*
 * Transactions without threads, clocks or random sources: the machines that the driver runs (run.h,
 * resolve.h), with calls that the caller carries out. For simulations, which decide when each call is sent,
 * when its reply arrives, and what other processes do in between.
 *
 * Attempts are repeated by the same rules as in the driver (cause.h, retry.h). The rest of the driver does
 * not matter for correctness and is missing here: admission, metrics, and the removal of old decisions.
 */
#ifndef TS_TXN_VIRTUAL_VIRTUAL_H
#define TS_TXN_VIRTUAL_VIRTUAL_H

#include "turnstone/store.h"
#include "turnstone/txn.h"

struct ts_txn_virtual_io {
    void *context;
    uint32_t place_count;
    uint8_t cluster[16];

    /* Begins a call. The call may already be done on return. */
    void (*start)(void *context, uint32_t place, struct ts_call *call);

    /* Returns when one of the calls is done. Ignores NULLs in `calls`. Calls of other processes may run
     * meanwhile. */
    void (*wait)(void *context, struct ts_call *const *calls, size_t count);

    /* Waits before a store is asked again about a decision whose reply was lost. Returns false to stop. */
    bool (*pause)(void *context);

    /* Returns the time, for the backoff before a retry. Only ts_txn_virtual_run uses it. */
    uint64_t (*now_us)(void *context);
    void (*sleep_us)(void *context, uint64_t us);
};

/* A coordinator: one uuid, which registers on a store before it first decides there. */
struct ts_txn_virtual;

struct ts_txn_virtual_options {
    uint8_t uuid[16];
    uint64_t total_ms; /* how long a transaction may take; resolvers ignore younger promises */
    uint64_t seed;     /* seed of the jitter */
};

/* Makes a coordinator. Copies io. Returns NULL when memory runs out. */
struct ts_txn_virtual *ts_txn_virtual_new(const struct ts_txn_virtual_io *io,
                                          const struct ts_txn_virtual_options *options);
/* Frees the coordinator. No transaction may be in progress. Accepts NULL. */
void ts_txn_virtual_free(struct ts_txn_virtual *coordinator);

/* Runs one transaction. No two parts have the same place. `decider` is the index of the deciding part. Sets
 * all fields of *ret_result that are not measured: outcome, id, global, operation, reason, version, attempts
 * and text. */
void ts_txn_virtual_run(struct ts_txn_virtual *coordinator, const struct ts_txn_part *parts, size_t count,
                        size_t decider, struct ts_txn_result *ret_result);

/* Sends a heartbeat to every store where the coordinator is registered. It may run at the same time as a
 * transaction, so `io` may differ from the coordinator's io. */
void ts_txn_virtual_beat(struct ts_txn_virtual *coordinator, const struct ts_txn_virtual_io *io);

/* Returns true if a resolver has fenced the coordinator. Then use another coordinator for the next
 * transaction. */
bool ts_txn_virtual_is_fenced(const struct ts_txn_virtual *coordinator);

struct ts_txn_virtual_pass {
    uint64_t committed;
    uint64_t aborted;
    uint64_t left;  /* young promises of live coordinators, and promises of other clusters */
    uint64_t stuck; /* promises about which a store did not answer; stores that did not list promises */
};

/* Runs a resolver over every promise of every store, once. */
void ts_txn_virtual_resolve(const struct ts_txn_virtual_io *io, struct ts_txn_virtual_pass *ret_pass);

#endif
