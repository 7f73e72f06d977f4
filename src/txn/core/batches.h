/*
 * The protocol's own batches: their writes and their checks. Every batch that writes a decision is made
 * here, so that one file has all checks of the fencing rule.
 *
 *   decide        the decider's own part, check(coord), insert(xs, commit);
 *                 with record: insert(outcome, committed)
 *   refuse        check(coord), insert(xs, abort); a resolver's also check(mark);
 *                 with record: insert(outcome, aborted)
 *   fence         check(coord), put(coord, fence mark), del(heartbeat), del(mark)
 *   register      insert(coord), insert(heartbeat), insert(mark)
 *   deregister    check(coord), del(coord), del(heartbeat), del(mark); only when no transaction is in progress
 *   beat          check(heartbeat), put(heartbeat)
 *   move          check(mark), put(mark), del(commit decisions below it)
 *
 * A batch holds its own keys and values. It points into itself, so it must not be copied or moved.
 */
#ifndef TS_TXN_CORE_BATCHES_H
#define TS_TXN_CORE_BATCHES_H

#include "turnstone/store.h"
#include "txn/core/keys.h"
#include "txn/core/records.h"
#include "txn/core/rules.h"

enum { TXN__OWN_OPS_MAX = 6 };

struct txn__own {
    struct ts_op ops[TXN__OWN_OPS_MAX];
    size_t count;
    struct txn__key keys[TXN__OWN_OPS_MAX];
    uint8_t small[TXN__OWN_OPS_MAX][TXN__RECORD_SMALL_MAX];
    uint8_t decision[TXN__DECISION_MAX];
};

static inline struct ts_batch txn__own_batch(const struct txn__own *own) {
    return (struct ts_batch){.ops = own->ops, .count = own->count};
}

/* Makes the operations that turn a decider's batch into the commit point. The caller appends them to the
 * decider's part. Their number depends on `record`. The check of the registration comes first. */
struct txn__decide {
    const struct txn__gid *gid;
    uint64_t registration; /* version of the registration */
    const struct txn__places *participants;
    bool record;
    struct txn__taken taken;
};
void txn__own_decide(const struct txn__decide *decide, struct txn__own *ret_own);

/* Makes an abort decision. With by_resolver the batch also checks the mark. */
struct txn__refuse {
    const struct txn__gid *gid;
    uint64_t registration; /* version of the registration */
    uint64_t mark;         /* version of the mark, for by_resolver */
    bool by_resolver;
    bool record;
    struct txn__taken taken;
};
void txn__own_refuse(const struct txn__refuse *refuse, struct txn__own *ret_own);

/* Makes the operation that stores an outcome: of a local transaction, or of a global transaction that aborted
 * without a decision. */
void txn__own_outcome(const struct txn__gid *gid, enum txn__recorded outcome, struct txn__own *ret_own);

/* Makes the batch that fences a coordinator. `registration` is the version of the registration that the
 * caller has read. */
struct txn__fence {
    const struct txn__uuid *uuid;
    uint64_t registration;
    uint64_t now_ms;
};
void txn__own_fence(const struct txn__fence *fence, struct txn__own *ret_own);

struct txn__register {
    const struct txn__uuid *uuid;
    uint64_t total_timeout_ms;
    uint64_t now_ms;
};
void txn__own_register(const struct txn__register *registration, struct txn__own *ret_own);

void txn__own_deregister(const struct txn__uuid *uuid, uint64_t registration, struct txn__own *ret_own);

struct txn__beat {
    const struct txn__uuid *uuid;
    uint64_t heartbeat; /* version of the heartbeat */
    uint64_t now_ms;
};
void txn__own_beat(const struct txn__beat *beat, struct txn__own *ret_own);

/* Makes the first two operations of a move. The caller appends the deletions. */
struct txn__move {
    const struct txn__uuid *uuid;
    uint64_t mark; /* version of the mark */
    uint64_t sequence;
};
void txn__own_move(const struct txn__move *move, struct txn__own *ret_own);

#endif
