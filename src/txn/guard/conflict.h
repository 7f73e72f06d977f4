/*
 * Counts the results of the transactions on one store. The totals count since the start. The rates and the
 * average cover a sliding window (conflict.window, 5 s) of ten slots, so that they change soon after the load
 * changes. A rate over all time would fall very slowly after many conflicts.
 *
 *     conflict_rate = conflict_aborts / total_txns
 *     abort_rate    = (conflict_aborts + timeout_aborts) / total_txns
 */
#ifndef TS_TXN_GUARD_CONFLICT_H
#define TS_TXN_GUARD_CONFLICT_H

#include "txn/guard/txn_config.h"

#include <stdint.h>

enum { TS_TXN_CONFLICT_SLOTS = 10 };

enum ts_txn_conflict_outcome {
    TS_TXN_CONFLICT_COMMITTED,
    TS_TXN_CONFLICT_CONFLICT, /* aborted: check failed, late, lock conflict */
    TS_TXN_CONFLICT_TIMEOUT,  /* aborted: timeout of a phase, deadlock */
    TS_TXN_CONFLICT_OTHER,    /* aborted for any other reason */
};

struct ts_txn_conflict_counts {
    uint64_t total_txns;
    uint64_t conflict_aborts;
    uint64_t timeout_aborts;
    uint64_t lock_wait_us; /* sum of the lock waits of all transactions */
};

struct ts_txn_conflict_tracker {
    uint64_t slot_us; /* length of one slot */
    struct ts_txn_conflict_counts totals;
    struct ts_txn_conflict_slot {
        uint64_t number; /* time / slot_us, plus 1; 0: the slot was never used */
        struct ts_txn_conflict_counts counts;
    } slots[TS_TXN_CONFLICT_SLOTS];
};

void ts_txn_conflict_init(struct ts_txn_conflict_tracker *tracker,
                          const struct ts_txn_conflict_config *config);

struct ts_txn_conflict_event {
    enum ts_txn_conflict_outcome outcome;
    uint64_t lock_wait_us;
};
void ts_txn_conflict_record(struct ts_txn_conflict_tracker *tracker, struct ts_txn_conflict_event event,
                            uint64_t now_us);

struct ts_txn_conflict_view {
    struct ts_txn_conflict_counts totals; /* counts since the start */
    struct ts_txn_conflict_counts window; /* counts in the window */
    uint32_t conflict_rate_ppm;           /* conflict rate in the window; 0 when the window is empty */
    uint32_t abort_rate_ppm;              /* abort rate in the window */
    uint64_t avg_lock_wait_us;            /* average over all transactions in the window */
};
struct ts_txn_conflict_view ts_txn_conflict_view(const struct ts_txn_conflict_tracker *tracker,
                                                 uint64_t now_us);

#endif
