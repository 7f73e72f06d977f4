/*
 * A cluster: an ordered list of stores and the router over them. Each store remembers its cluster and its
 * place; opening compares them with the list.
 *
 * A list of stores is written as URLs with commas between them: rocksdb:DIRECTORY,
 * postgresql://USER@HOST/DATABASE, or memory: for temporary data. Any number of threads may use an open
 * cluster at the same time.
 */
#ifndef TURNSTONE_CLUSTER_H
#define TURNSTONE_CLUSTER_H

#include "turnstone/api.h"
#include "turnstone/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The maximum number of stores of one cluster. */
#define TS_CLUSTER_STORES_MAX 256

struct ts_cluster;
struct ts_router;
struct ts_store_clock;

/* How to open a store. All zero selects the defaults. */
struct ts_store_options {
    uint64_t wait_ms; /* rocksdb: how long to wait for a directory that another process has open */
    bool must_exist;  /* rocksdb: a directory without a store is an error instead of a new store */
    /* postgresql: maximum number of connections of this process to this store; 0: 32. Further calls wait in a
     * queue */
    size_t connections_max;
    /* postgresql: timeout for making a connection, within the call's deadline; 0: 10 s */
    uint64_t connect_timeout_ms;
    /* rocksdb, memory: freeze the store's clock at this time; 0: the real clock. BAD_USAGE when this time is
     * earlier than the latest time in the store. After a write at this time, the store refuses earlier
     * times. */
    uint64_t now_ms;
    /* NULL selects the real clocks. Other clocks are for simulations inside the library. */
    const struct ts_store_clock *clock;
};

/* All zero selects the defaults. */
struct ts_cluster_options {
    struct ts_store_options store;
    uint64_t timeout_ms; /* timeout for opening all stores, in addition to wait_ms; 0: 10 s */
    bool any_step;    /* accept stores that differ in epoch or are being fenced, to repair or inspect them */
    bool accept_copy; /* accept copies of stores; the caller must then call ts_txn_accept_copy */
    /* Accept servers that do not answer, as long as one store answers. If a server has not answered half a
     * second after the first answer of another server, the cluster opens that server when a call first needs
     * it. Calls to a server fail until the server is back. */
    bool some_down;
};

/*
 * Opens the stores of a list. The list must name all stores of one cluster in their order, and all stores
 * must be open in the same epoch. Later, every call checks that its store still has the same cluster and
 * epoch. The caller closes the cluster. options may be NULL.
 *
 * BAD_USAGE: the list is wrong, has more than TS_CLUSTER_STORES_MAX stores, names one store twice, or mixes
 * memory: stores with other stores. BAD_CONFIGURATION: a store is not initialised, or cannot be opened.
 * FOREIGN: a store belongs to another cluster, place or epoch, or its cluster is being fenced; a directory is
 * a copy of a store; or stores were last open at different times, so that one of them is a copy. The error
 * names the store and the fix, and never contains a password.
 */
TS_API enum ts_store_result ts_cluster_open(const char *urls, const struct ts_cluster_options *options,
                                            struct ts_cluster **ret_cluster,
                                            struct ts_store_error *ret_error);

/*
 * Initialises stores as a cluster and opens it. routing is "xxh64", "single", "fnv1a", "jump" or
 * "range:LIST"; the cluster remembers the routing. If `routing` is empty, existing stores keep their routing,
 * and new ones get "xxh64". Repeat an interrupted init with the same list and routing to finish it. An
 * existing cluster stays unchanged. Stores of another cluster are refused as FOREIGN. options may be NULL.
 */
TS_API enum ts_store_result ts_cluster_init(const char *urls, const char *routing,
                                            const struct ts_cluster_options *options,
                                            struct ts_cluster **ret_cluster,
                                            struct ts_store_error *ret_error);

/* Closes the cluster. No call may be in progress, and no coordinator may be open. NULL is allowed. */
TS_API void ts_cluster_close(struct ts_cluster *cluster);

/* Return the number of stores, and the store at a place from 0 to count - 1. A store lives as long as the
 * cluster. */
TS_API size_t ts_cluster_count(const struct ts_cluster *cluster);
TS_API struct ts_store *ts_cluster_store(const struct ts_cluster *cluster, size_t place);

/* Returns the router, which maps keys to stores and lives as long as the cluster. */
TS_API const struct ts_router *ts_cluster_router(const struct ts_cluster *cluster);

/* Returns the place of the store that holds a key. The id of a key is the XXH64 of its bytes. */
TS_API size_t ts_cluster_place_of_key(const struct ts_cluster *cluster, struct ts_bytes key);

#ifdef __cplusplus
}
#endif

#endif
