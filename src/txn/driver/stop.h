/*
 * Transactions of a layer above that may have to stop: a worker that has lost its lease, and waits for a store that does not answer.
 */
#ifndef TS_TXN_DRIVER_STOP_H
#define TS_TXN_DRIVER_STOP_H

#include "turnstone/txn.h"

/* How often a wait asks whether it must stop. */
#define TS_TXN_STOP_NS UINT64_C(20000000)

/* Asked while something waits for a store. The answer true is final: the wait ends. `must` may be NULL: never. */
struct ts_txn_stop {
    bool (*must)(void *context);
    void *context;
};

static inline bool ts_txn_must_stop(const struct ts_txn_stop *stop) {
    return stop->must != NULL && stop->must(stop->context);
}

/*
 * ts_txn_run_parts, until it must stop. Then calls in progress end as if their time were over, and nothing is
 * tried again: the transaction is aborted, unknown, or committed and pending. Only the end of promises that
 * must be aborted is still waited for.
 */
void ts_txn_run_parts_until(struct ts_coordinator *coordinator, const struct ts_txn_part *parts, size_t count,
                            const struct ts_txn_options *options, const struct ts_txn_stop *stop,
                            struct ts_txn_result *ret_result);

#endif
