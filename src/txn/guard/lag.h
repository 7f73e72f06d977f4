/*
 * The lag of each store's standbys, and which transactions are refused because of it.
 *
 * The lag of a store is the lag in its last answer. If a store has never answered, its lag is 0: transactions
 * on it fail because the store is unreachable, and not because of its lag.
 */
#ifndef TS_TXN_GUARD_LAG_H
#define TS_TXN_GUARD_LAG_H

#include "txn/guard/txn_config.h"

#include <stdbool.h>
#include <stddef.h>

/* Time between two questions to the stores, if there is a limit. */
#define TS_TXN_LAG_INTERVAL_US 1000000

/* Returns true if there is a limit, so that stores must be asked. */
bool ts_txn_lag_is_limited(const struct ts_txn_replication_config *config);

/*
 * If the largest lag of these stores is above the limit, returns the place of the store with this lag, which
 * is an index into lag_ms; otherwise returns SIZE_MAX. If several stores have this lag, returns the first of
 * them. A lag equal to the limit is allowed.
 */
size_t ts_txn_lag_find(const struct ts_txn_replication_config *config, const uint64_t *lag_ms,
                       const uint32_t *stores, size_t store_count);

#endif
