/*
 * Detects copies of stores when the stores of a cluster are opened.
 */
#ifndef TS_STORE_CLUSTER_MEET_H
#define TS_STORE_CLUSTER_MEET_H

#include "store/contract/engine.h"

/*
 * Checks the open stores (not NULL) that have not met the other stores of this process yet. Each must be in
 * its own directory. Any two stores must have been open together when they were last open. Then records the
 * new meeting. Call it again for stores that are opened later. met[i] is true if store i was checked already;
 * after a successful check, the function sets it. Returns FOREIGN, and changes nothing, if a store is a copy.
 */
enum ts_store_result store__meet(struct ts_store *const *stores, size_t count, bool *met,
                                 struct ts_store_error *ret_error);

/* Accepts copies as the stores of the cluster: records their directories and a new meeting of all stores.
 * Until this has finished, store__meet refuses the copies as before. */
enum ts_store_result store__meet_anew(struct ts_store *const *stores, size_t count,
                                      struct ts_store_error *ret_error);

#endif
