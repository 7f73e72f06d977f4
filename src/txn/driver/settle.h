/*
 * Settles promises and removes records, for resolvers, recover and fence. Needs a cluster but no coordinator.
 * Any number of processes may do this at the same time.
 */
#ifndef TS_TXN_DRIVER_SETTLE_H
#define TS_TXN_DRIVER_SETTLE_H

#include "store/cluster/cluster.h"
#include "turnstone/txn.h"
#include "txn/core/look.h"
#include "txn/core/records.h"
#include "txn/core/removal.h"

#include <stdatomic.h>

struct txn__settle {
    struct ts_cluster *cluster;
    uint64_t timeout_us; /* timeout of each call */
    bool fence_all;
    /* Fence all coordinators on stores that only this process can open; leave coordinators on other stores
     * alone. */
    bool inherits;
    /* NULL, or a flag that is set while the process closes its coordinator. While it is set, each call waits
     * only 100 ms for its store. */
    const atomic_bool *closing;
    struct txn__places sick; /* stores that did not answer in this pass; they are not asked again */
    struct ts_txn_settled counts;
    struct ts_txn_error_detail trouble; /* the first failure; its error is OK if there was no failure */
};

void txn__settle_init(struct txn__settle *settle, struct ts_cluster *cluster, uint64_t timeout_us,
                      bool fence_all);

/* Tries once to settle every promise of every store. */
void txn__settle_promises(struct txn__settle *settle);

/* Fences dead coordinators; with fence_all, fences all coordinators. Removes the records of fenced
 * coordinators. */
void txn__settle_coordinators(struct txn__settle *settle);

/*
 * Call it once for each cluster that a process opens. On stores that only this process can open, all
 * registered coordinators have ended: fences them, and settles the promises that waited for them. The next
 * pass settles what is left.
 */
void txn__settle_inheritance(struct ts_cluster *cluster, uint64_t timeout_us);

/* Calls a store with the timeout of the pass. A store that does not answer is not asked again. */
enum ts_store_result txn__settle_call(struct txn__settle *settle, uint32_t place, struct ts_call *call);

/* Reads the decider's records about a transaction. */
enum ts_store_result txn__settle_look(struct txn__settle *settle, const struct txn__gid *gid,
                                      struct txn__look *ret_look);

/* Syncs every store of the round. */
void txn__settle_sync(struct txn__settle *settle, struct txn__round *round);

/* Returns the 16 bytes of the cluster's id. */
const uint8_t *txn__cluster_id(const struct ts_cluster *cluster);

/* Fills in ret_detail, if it is not NULL, and returns the error. */
enum ts_txn_error txn__fail(struct ts_txn_error_detail *ret_detail, enum ts_txn_error error, uint32_t place,
                            const struct ts_store_error *store_error);

#endif
