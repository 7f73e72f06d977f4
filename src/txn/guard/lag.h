/*
 * How far the standbys of each store are behind, and whom that keeps out.
 *
 * What is known of a store is what it said last; a store that has not been asked yet, or never answered,
 * counts as 0, so that a store that is away fails by itself and not as one that lags.
 */
#ifndef TS_TXN_GUARD_LAG_H
#define TS_TXN_GUARD_LAG_H

#include "txn/guard/txn_config.h"

#include <stdbool.h>
#include <stddef.h>

/* How often the stores are asked, when they are. */
#define TS_LAG_INTERVAL_US 1000000

/* Whether anything is asked at all. */
bool ts_lag_is_limited(const struct ts_replication_config *config);

/*
 * The worst of these stores, an index into lag_ms, when its lag is above the limit; SIZE_MAX when none is.
 * Among equals the first that was named. The lag that is the limit is allowed.
 */
size_t ts_lag_find(const struct ts_replication_config *config, const uint64_t *lag_ms, const uint32_t *stores,
                   size_t store_count);

#endif
