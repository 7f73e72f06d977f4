#include "txn/guard/lag.h"

bool ts_txn_lag_is_limited(const struct ts_txn_replication_config *config) {
    return config->max_replication_lag_ms > 0;
}

size_t ts_txn_lag_find(const struct ts_txn_replication_config *config, const uint64_t *lag_ms,
                       const uint32_t *stores, size_t store_count) {
    size_t worst = SIZE_MAX;
    for (size_t i = 0; ts_txn_lag_is_limited(config) && i < store_count; i++) {
        uint32_t store = stores[i];
        if (lag_ms[store] > config->max_replication_lag_ms &&
            (worst == SIZE_MAX || lag_ms[store] > lag_ms[worst]))
            worst = store;
    }
    return worst;
}
