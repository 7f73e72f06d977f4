/*
 * Finds out which stores of a list answer. Callers that need only the answering stores must not wait for a
 * server that does not answer.
 */
#ifndef TS_STORE_CLUSTER_ANSWERING_H
#define TS_STORE_CLUSTER_ANSWERING_H

#include "store/contract/engine.h"

/* Returns true if the result only means that the store could not be reached. */
bool store__is_silent(enum ts_store_result result);

/*
 * Asks all stores in parallel, and waits for at most half a second after the first answer. If any store
 * answers, with any result, sets ret_answering (indexed by place) and returns OK. Otherwise returns the error
 * of the first store, and ret_answering is unspecified.
 */
enum ts_store_result store__find_answering(struct ts_store *const *stores, size_t count, uint64_t deadline_ns,
                                           bool *ret_answering, struct ts_store_error *ret_error);

#endif
