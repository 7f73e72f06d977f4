/*
 * Stores by their URL: memory:[NAME], rocksdb:DIRECTORY, postgresql://…
 */
#ifndef TS_STORE_CLUSTER_OPEN_H
#define TS_STORE_CLUSTER_OPEN_H

#include "store/contract/engine.h"
#include "turnstone/cluster.h"

/*
 * Opens a store; the caller closes it. On failure, the error names the URL without its password, the reason
 * and the fix.
 */
enum ts_store_result ts_store_open(const char *url, const struct ts_store_options *options,
                                   struct ts_store **ret_store, struct ts_store_error *ret_error);

#endif
