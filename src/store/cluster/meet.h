/*
 * Telling copies from the stores that they were made of, when the stores of a cluster are opened.
 */
#ifndef TS_STORE_CLUSTER_MEET_H
#define TS_STORE_CLUSTER_MEET_H

#include "store/contract/engine.h"

/*
 * Lets the stores that are open (not NULL) and have not met the others of this process yet (met) do so: sees that each
 * is in its own directory and that every two of them were last open together at the same time, and writes the new
 * meeting down. For stores that are opened later it is called again. FOREIGN: one of them is a copy, and nothing was
 * changed. `met` has an entry for each store.
 */
enum ts_store_result store__meet(struct ts_store *const *stores, size_t count, bool *met,
                                 struct ts_store_error *ret_error);

/* Makes copies the stores of the cluster: writes down where they are and a new meeting of all of them. Until it has
 * come to its end, store__meet refuses them as before. */
enum ts_store_result store__meet_anew(struct ts_store *const *stores, size_t count,
                                      struct ts_store_error *ret_error);

#endif
