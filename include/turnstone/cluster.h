/*
 * A cluster: an ordered list of stores and the router over them. The stores remember what they belong to;
 * opening compares that with the list that was given.
 *
 * A list of stores is written as their URLs with commas between them: rocksdb:DIRECTORY,
 * postgresql://USER@HOST/DATABASE, or memory: for what need not last. Any number of threads may use an open
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

/* Stores of one cluster. */
#define TS_CLUSTER_STORES_MAX 256

struct ts_cluster;
struct ts_router;
struct ts_store_clock;

/* How a store is opened. All zero is a good start. */
struct ts_store_options {
    uint64_t wait_ms;       /* rocksdb: how long to wait for a directory that another process has open */
    bool must_exist;        /* rocksdb: a directory without a store is an error instead of a new store */
    size_t connections_max; /* postgresql: of this process to this store; 0: 32. Calls beyond wait in order */
    uint64_t connect_timeout_ms; /* postgresql: for one connection, within the call's deadline; 0: 10 s */
    uint64_t now_ms; /* rocksdb, memory: the store's time stands still at this; 0: it is the real one. Never
                        earlier than a store has seen: BAD_USAGE. It lasts once something was written at it */
    const struct ts_store_clock
        *clock; /* NULL: the real ones. Others are for simulations inside the library */
};

/* All zero is a good start. */
struct ts_cluster_options {
    struct ts_store_options store;
    uint64_t timeout_ms; /* for all stores together; 0: 10 s. Waiting for a directory comes on top */
    bool any_step;       /* accept stores in different epochs and steps: for fence, recover and status */
    bool some_down;      /* accept servers that do not answer, while one of the stores does: for recover and
                            status. timeout_ms is then for each */
};

/*
 * Opens the stores of a list, which must be all stores of one cluster in its order, in the same epoch and
 * open, and lets each of them expect that from now on. The caller closes the cluster. options may be NULL.
 *
 * BAD_USAGE: the list, more than TS_CLUSTER_STORES_MAX stores, one store in it twice, by whatever names, or stores that end with the process (memory:) among others that last. BAD_CONFIGURATION: a store that is not initialised, or what the stores' own opening says.
 * FOREIGN: a store of another cluster, place or epoch, or of a cluster that is being fenced. The error names
 * store and cure, and never has a password in it.
 */
TS_API enum ts_store_result ts_cluster_open(const char *urls, const struct ts_cluster_options *options,
                                            struct ts_cluster **ret_cluster,
                                            struct ts_store_error *ret_error);

/*
 * Makes stores a cluster and opens it. routing is "xxh64", "single", "fnv1a", "jump" or "range:LIST"; the
 * cluster remembers it. Empty, it is what the stores remember, and "xxh64" for new ones. Repeating an init that was interrupted, with the same list and routing, finishes it;
 * on a cluster that is there already it changes nothing. Stores that belong to another cluster are refused as
 * FOREIGN. options may be NULL.
 */
TS_API enum ts_store_result ts_cluster_init(const char *urls, const char *routing,
                                            const struct ts_cluster_options *options,
                                            struct ts_cluster **ret_cluster,
                                            struct ts_store_error *ret_error);

/* No call may be under way, and no coordinator open. NULL is no matter. */
TS_API void ts_cluster_close(struct ts_cluster *cluster);

/* The stores, from place 0 to one below the count. A store lives as long as the cluster. */
TS_API size_t ts_cluster_count(const struct ts_cluster *cluster);
TS_API struct ts_store *ts_cluster_store(const struct ts_cluster *cluster, size_t place);

/* Where keys live. The router lives as long as the cluster. */
TS_API const struct ts_router *ts_cluster_router(const struct ts_cluster *cluster);

/* The place of the store that holds a key: its id is XXH64 of its bytes. */
TS_API size_t ts_cluster_place_of_key(const struct ts_cluster *cluster, struct ts_bytes key);

#ifdef __cplusplus
}
#endif

#endif
