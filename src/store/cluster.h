/*
 * A cluster: an ordered list of stores and the router over them. The stores remember what they belong to
 * (meta.h); opening compares that with the list that was given.
 */
#ifndef TS_STORE_CLUSTER_H
#define TS_STORE_CLUSTER_H

#include "store/engine.h"
#include "store/open.h"
#include "turnstone/route.h"

struct ts_cluster;

/* {0} is a good start. */
struct ts_cluster_options {
    struct ts_store_options store;
    uint64_t timeout_ms; /* for all stores together; 0: 10 s. Waiting for a directory comes on top */
    bool any_step;       /* accept stores in different epochs and steps: for fence, recover and status */
};

/*
 * Opens the stores of a comma-separated list of URLs, which must be all stores of one cluster in its order,
 * in the same epoch and open, and lets each of them expect that from now on. The caller closes the cluster.
 *
 * BAD_CONFIGURATION: the list, a store that is not initialised, or what the stores' own opening says.
 * FOREIGN: a store of another cluster, place or epoch, or of a cluster that is being fenced. The error names
 * store and cure.
 */
enum ts_store_result ts_cluster_open(const char *urls, const struct ts_cluster_options *options,
                                     struct ts_cluster **ret_cluster, struct ts_store_error *ret_error);

/* Over stores that are open already, which go over to the cluster, on failure too. */
enum ts_store_result ts_cluster_open_over(struct ts_store *const *stores, size_t count,
                                          const struct ts_cluster_options *options,
                                          struct ts_cluster **ret_cluster, struct ts_store_error *ret_error);

/*
 * Makes stores a cluster and opens it. routing is "xxh64", "single", "fnv1a", "jump" or "range:LIST"; the
 * cluster remembers it. Repeating an init that was interrupted, with the same list and routing, finishes it;
 * on a cluster that is there already it changes nothing. Stores that belong to another cluster are refused as
 * FOREIGN.
 */
enum ts_store_result ts_cluster_init(const char *urls, const char *routing,
                                     const struct ts_cluster_options *options,
                                     struct ts_cluster **ret_cluster, struct ts_store_error *ret_error);
enum ts_store_result ts_cluster_init_over(struct ts_store *const *stores, size_t count, const char *routing,
                                          const struct ts_cluster_options *options,
                                          struct ts_cluster **ret_cluster, struct ts_store_error *ret_error);

/* No call may be under way. NULL is no matter. */
void ts_cluster_close(struct ts_cluster *cluster);

size_t ts_cluster_count(const struct ts_cluster *cluster);
struct ts_store *ts_cluster_store(const struct ts_cluster *cluster, size_t place);

/* As it was when the cluster was opened, or as ts_cluster_expect has set it since. */
const struct ts_meta *ts_cluster_meta(const struct ts_cluster *cluster, size_t place);

/* After the epoch or state of a store was changed: what this process goes by from now on. Not beside other
 * calls. */
void ts_cluster_expect(struct ts_cluster *cluster, size_t place, const struct ts_meta *meta);

const struct ts_router *ts_cluster_router(const struct ts_cluster *cluster);

/* The place of the store that holds a key: its id is XXH64 of its bytes. */
size_t ts_cluster_place_of_key(const struct ts_cluster *cluster, struct ts_bytes key);

#endif
