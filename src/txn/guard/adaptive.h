/*
 * The limit of transactions in flight on one store, adapted to its conflict rate: above 15 % the limit falls
 * by a step, below 5 % it rises by a step, between these rates it does not change. The limit is never below
 * min_concurrency or above max_concurrency. It starts at the hard limit of admission, within these two
 * bounds. The limit changes at most once in an interval, and only if the window has at least min_txns
 * transactions.
 */
#ifndef TS_TXN_GUARD_ADAPTIVE_H
#define TS_TXN_GUARD_ADAPTIVE_H

#include "txn/guard/conflict.h"
#include "txn/guard/txn_config.h"

#include <stdbool.h>
#include <stdint.h>

struct ts_txn_adaptive {
    uint32_t limit;
    uint64_t next_us; /* no step before this time */
};

void ts_txn_adaptive_init(struct ts_txn_adaptive *adaptive, const struct ts_txn_config *config,
                          uint64_t now_us);

/* Returns true when the limit has changed; the caller must then update admission. */
bool ts_txn_adaptive_step(struct ts_txn_adaptive *adaptive, const struct ts_txn_adaptive_config *config,
                          const struct ts_txn_conflict_view *view, uint64_t now_us);

#endif
