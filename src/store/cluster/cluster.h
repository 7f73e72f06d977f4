/*
 * What layers of ours do with a cluster beyond turnstone/cluster.h: clusters over stores that are open, such as
 * decorated ones, and what the stores remember (meta.h).
 */
#ifndef TS_STORE_CLUSTER_CLUSTER_H
#define TS_STORE_CLUSTER_CLUSTER_H

#include "store/contract/engine.h"
#include "turnstone/cluster.h"
#include "turnstone/route.h"

/* Over stores that are open already, which go over to the cluster, on failure too. */
enum ts_store_result ts_cluster_open_over(struct ts_store *const *stores, size_t count,
                                          const struct ts_cluster_options *options,
                                          struct ts_cluster **ret_cluster, struct ts_store_error *ret_error);

enum ts_store_result ts_cluster_init_over(struct ts_store *const *stores, size_t count, const char *routing,
                                          const struct ts_cluster_options *options,
                                          struct ts_cluster **ret_cluster, struct ts_store_error *ret_error);

/* Whether the list can be a cluster's, as far as that can be told without opening a store. */
enum ts_store_result ts_cluster_check_urls(const char *urls, struct ts_store_error *ret_error);

/* True once, for the first of this process that asks, when there is a store that this process has to itself: what stands
 * there of others is of processes that are gone, and is this one's to settle. */
bool ts_cluster_inherit(struct ts_cluster *cluster);

/* As it was when the cluster was opened, or as ts_cluster_expect has set it since. */
const struct ts_meta *ts_cluster_meta(const struct ts_cluster *cluster, size_t place);

/* After the epoch or state of a store was changed: what this process goes by from now on. Not beside other
 * calls. */
void ts_cluster_expect(struct ts_cluster *cluster, size_t place, const struct ts_meta *meta);

/* Of a cluster that was opened with accept_copy, after everything in it was settled: its stores are the cluster's from
 * now on, wherever they were copied from. */
enum ts_store_result ts_cluster_meet_anew(struct ts_cluster *cluster, struct ts_store_error *ret_error);

#endif
