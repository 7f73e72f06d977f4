/*
 * Transactions on stores without a thread, a clock or a random source: the machines that the driver runs (run.h,
 * resolve.h), through calls that the caller carries out. For simulations, which decide when each call is sent, when
 * its reply comes, and who else does what in between.
 *
 * Attempts are repeated as the driver repeats them, by the same rules (cause.h, retry.h). What else the driver does around
 * the machines is left out here, because it is not about what is true: admission, metrics, and the removal of decisions
 * that nobody needs any more.
 */
#ifndef TS_TXN_VIRTUAL_VIRTUAL_H
#define TS_TXN_VIRTUAL_VIRTUAL_H

#include "turnstone/store.h"
#include "turnstone/txn.h"

struct ts_txn_virtual_io {
    void *context;
    uint32_t place_count;
    uint8_t cluster[16];

    /* Begins a call, which may be done on return. */
    void (*start)(void *context, uint32_t place, struct ts_call *call);

    /* Returns when one of the calls is done; NULLs are passed over. Others may run meanwhile. */
    void (*wait)(void *context, struct ts_call *const *calls, size_t count);

    /* Waits before a store is asked again for a decision whose reply was lost. False: give up. */
    bool (*pause)(void *context);

    /* Time for backing off before a retry. Only ts_txn_virtual_run asks for it. */
    uint64_t (*now_us)(void *context);
    void (*sleep_us)(void *context, uint64_t us);
};

/* A coordinator: one uuid, which registers on a store before it first decides there. */
struct ts_txn_virtual;

struct ts_txn_virtual_options {
    uint8_t uuid[16];
    uint64_t total_ms; /* how long a transaction may take: younger promises are left alone by resolvers */
    uint64_t seed;     /* of the jitter */
};

/* NULL when there is no memory. io is copied. */
struct ts_txn_virtual *ts_txn_virtual_new(const struct ts_txn_virtual_io *io,
                                          const struct ts_txn_virtual_options *options);
/* No transaction may be under way. NULL is no matter. */
void ts_txn_virtual_free(struct ts_txn_virtual *coordinator);

/* One transaction over the parts, each place once; decider is the index of one of them. ret_result has what is known
 * without measuring: outcome, id, operation, reason, version, attempts and text. */
void ts_txn_virtual_run(struct ts_txn_virtual *coordinator, const struct ts_txn_part *parts, size_t count,
                        size_t decider, struct ts_txn_result *ret_result);

/* Shows on every store where it is registered that it is alive. The heart beats beside what is under way, so it may
 * have calls of its own kind. */
void ts_txn_virtual_beat(struct ts_txn_virtual *coordinator, const struct ts_txn_virtual_io *io);

/* Somebody took it for dead: what comes next goes under another uuid. */
bool ts_txn_virtual_is_fenced(const struct ts_txn_virtual *coordinator);

struct ts_txn_virtual_pass {
    uint64_t committed;
    uint64_t aborted;
    uint64_t left;  /* young, their coordinators alive */
    uint64_t stuck; /* a store did not answer */
};

/* A resolver: every promise of every store, once. */
void ts_txn_virtual_resolve(const struct ts_txn_virtual_io *io, struct ts_txn_virtual_pass *ret_pass);

#endif
