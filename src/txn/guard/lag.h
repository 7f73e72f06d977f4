/*
 * The lag of each store's standbys, and which transactions are refused because of it.
 *
 * The lag of a store is its last answer. Without any answer it is 0, so that an unreachable store fails for
 * that reason, and not because of its lag.
 */
#ifndef TS_TXN_GUARD_LAG_H
#define TS_TXN_GUARD_LAG_H

#include "txn/guard/txn_config.h"

#include <stdbool.h>
#include <stddef.h>

/* How often the stores are asked, if there is a limit. */
#define TS_TXN_LAG_INTERVAL_US 1000000

/* Returns true if there is a limit, so that stores must be asked. */
bool ts_txn_lag_is_limited(const struct ts_txn_replication_config *config);

/*
 * The store with the largest lag, as an index into lag_ms, if that lag is above the limit; otherwise
 * SIZE_MAX. If several are equal, the first one. A lag equal to the limit is allowed.
 */
size_t ts_txn_lag_find(const struct ts_txn_replication_config *config, const uint64_t *lag_ms,
                       const uint32_t *stores, size_t store_count);

#endif
