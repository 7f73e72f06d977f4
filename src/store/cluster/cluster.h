/*
 * Additions to turnstone/cluster.h for our own layers: clusters over open stores, such as decorated stores,
 * and the meta records of stores (meta.h).
 */
#ifndef TS_STORE_CLUSTER_CLUSTER_H
#define TS_STORE_CLUSTER_CLUSTER_H

#include "store/contract/engine.h"
#include "turnstone/cluster.h"
#include "turnstone/route.h"

/* Opens a cluster over stores that are already open. The cluster owns them, even on failure. */
enum ts_store_result ts_cluster_open_over(struct ts_store *const *stores, size_t count,
                                          const struct ts_cluster_options *options,
                                          struct ts_cluster **ret_cluster, struct ts_store_error *ret_error);

enum ts_store_result ts_cluster_init_over(struct ts_store *const *stores, size_t count, const char *routing,
                                          const struct ts_cluster_options *options,
                                          struct ts_cluster **ret_cluster, struct ts_store_error *ret_error);

/* Checks, without opening a store, whether the list can be the list of a cluster. */
enum ts_store_result ts_cluster_check_urls(const char *urls, struct ts_store_error *ret_error);

/* If at least one of the stores can be open in only one process at a time, returns true to the first caller
 * for each cluster. Otherwise, and to later callers, returns false. Prepared transactions on such a store
 * belong to processes that have ended, so the first caller must settle them. */
bool ts_cluster_inherit(struct ts_cluster *cluster);

/* Returns the meta record of a store: as read when the cluster was opened, or as ts_cluster_expect has set it
 * since. */
const struct ts_meta *ts_cluster_meta(const struct ts_cluster *cluster, size_t place);

/* Sets the meta record that this process expects at this place from now on. Call it after a change of a
 * store's epoch or state, while no other call is in progress. */
void ts_cluster_expect(struct ts_cluster *cluster, size_t place, const struct ts_meta *meta);

/* A function that runs a call on the store at this place. The function sets the deadline of the call. */
typedef enum ts_store_result ts_cluster_call(void *context, uint32_t place, struct ts_call *call);

/* For clusters whose servers can be replaced by standbys. Reads the notes about old primaries from the
 * stores, and writes notes about the new primaries that this process has seen. Call it every few seconds.
 * Does nothing for clusters of other engines, or of one store. */
void ts_cluster_share_timelines(struct ts_cluster *cluster, ts_cluster_call *call, void *context);

/* Accepts copies as the stores of the cluster. The caller has opened the cluster with accept_copy, and has
 * settled all its prepared transactions. */
enum ts_store_result ts_cluster_meet_anew(struct ts_cluster *cluster, struct ts_store_error *ret_error);

#endif
