/*
 * Classification: which stores a list of operations touches, and so whether the transaction is local or
 * global. The result depends only on the places of the operations.
 */
#ifndef TS_TXN_CORE_PLAN_H
#define TS_TXN_CORE_PLAN_H

#include "turnstone/store.h"
#include "turnstone/txn.h"

/* The place of an operation without a key (BEFORE): all stores that other operations touch; without other
 * operations, the first store of the cluster. */
#define TXN__EVERYWHERE UINT32_MAX

struct txn__plan_part {
    uint32_t place;
    size_t count; /* number of operations, including those with TXN__EVERYWHERE */
};

struct txn__plan {
    struct txn__plan_part parts[TS_TXN_PLACES_MAX]; /* ascending by place */
    size_t part_count;                              /* number of parts; 1: the transaction is local */
    size_t op_count;                                /* operations of all parts together */
};

static inline bool txn__plan_is_global(const struct txn__plan *plan) {
    return plan->part_count > 1;
}

/* Makes the plan. places[i] is the place of operation i: less than TS_TXN_PLACES_MAX, or TXN__EVERYWHERE. */
void txn__plan_init(struct txn__plan *plan, const uint32_t *places, size_t count);

/* Like txn__plan_init, for operations that all have the same place. */
static inline void txn__plan_one(struct txn__plan *plan, uint32_t place, size_t count) {
    plan->parts[0] = (struct txn__plan_part){.place = place, .count = count};
    plan->part_count = 1;
    plan->op_count = count;
}

/*
 * Returns the index of the part that decides: the part on the lowest place. So all transactions that take
 * locks in order (run.h) take them in the same order of stores, the decider's last, and no two of them wait
 * for each other. Also, the first store, which has the counters that all transactions increment, holds its
 * locks for one write only.
 */
size_t txn__plan_decider(const struct txn__plan *plan);

#endif
