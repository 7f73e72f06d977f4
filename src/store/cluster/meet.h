/*
 * Detects copies of stores when the stores of a cluster are opened.
 */
#ifndef TS_STORE_CLUSTER_MEET_H
#define TS_STORE_CLUSTER_MEET_H

#include "store/contract/engine.h"

/*
 * Checks the open stores (not NULL) that have not met the others of this process yet (met): each must be in
 * its own directory, and any two must have been open together when they were last open. Then records the new
 * meeting. Call it again for stores that are opened later. FOREIGN: one of them is a copy, and nothing was
 * changed. `met` has an entry for each store.
 */
enum ts_store_result store__meet(struct ts_store *const *stores, size_t count, bool *met,
                                 struct ts_store_error *ret_error);

/* Makes copies the stores of the cluster: records their directories and a new meeting of all of them. Until
 * it has finished, store__meet refuses them as before. */
enum ts_store_result store__meet_anew(struct ts_store *const *stores, size_t count,
                                      struct ts_store_error *ret_error);

#endif
