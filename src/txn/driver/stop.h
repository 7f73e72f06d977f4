/*
 * Transactions of a layer above that may have to stop, for example because a worker has lost its lease while
 * a store does not answer.
 */
#ifndef TS_TXN_DRIVER_STOP_H
#define TS_TXN_DRIVER_STOP_H

#include "turnstone/txn.h"

/* Interval at which a wait asks whether it must stop. */
#define TS_TXN_STOP_NS UINT64_C(20000000)

/* `must` is called while something waits for a store. If it returns true, the wait ends; from then on it must
 * always return true. NULL: never stop. */
struct ts_txn_stop {
    bool (*must)(void *context);
    void *context;
};

static inline bool ts_txn_must_stop(const struct ts_txn_stop *stop) {
    return stop->must != NULL && stop->must(stop->context);
}

/*
 * Like ts_txn_run_parts, but ends early when the caller must stop. Then calls in progress end as if their
 * timeouts had passed, and nothing is tried again. The transaction is aborted, unknown, or committed and
 * pending. The function still waits until promises that must be aborted have ended.
 */
void ts_txn_run_parts_until(struct ts_coordinator *coordinator, const struct ts_txn_part *parts, size_t count,
                            const struct ts_txn_options *options, const struct ts_txn_stop *stop,
                            struct ts_txn_result *ret_result);

#endif
