/*
 * The fate of one promise, as a resolver in any process sees it. Replies go in, wishes come out, one at a
 * time.
 *
 *    LOOKING ──commit────────────────────────────────────► COMMITTING ──► DONE committed
 *       │ ├────abort, fenced, not registered, below mark─► ABORTING ────► DONE aborted
 *       │ ├────no answer──────────────────────────────────────────────► DONE stuck
 *       │ ├────young, its coordinator alive───────────────────────────► DONE left
 *       │ ├────coordinator dead, or to be fenced─► FENCING ──► LOOKING again
 *       │ └────old─► REFUSING ──ok──► ABORTING
 *       ▲               │
 *       └──check failed─┘  (the next look shows why)
 *
 * "Not registered" and "below mark" only count if the decision was read after the registration and the mark
 * (look.h). After fencing the decision is read again: it may have been written just before the fence.
 */
#ifndef TS_TXN_CORE_RESOLVE_H
#define TS_TXN_CORE_RESOLVE_H

#include "txn/core/gid.h"
#include "txn/core/look.h"
#include "txn/core/rules.h"
#include "txn/core/run.h"

enum {
    TXN__HEARTBEAT_MS = 2000, /* how often a coordinator beats */
    TXN__DEAD_MS = 8000,      /* without a heartbeat for longer, by the decider's clock, it is dead */
};

enum txn__verdict {
    TXN__VERDICT_COMMITTED,
    TXN__VERDICT_ABORTED,
    TXN__VERDICT_LEFT,    /* young, and its coordinator is alive */
    TXN__VERDICT_STUCK,   /* the decider or the promise's own store did not answer, or is damaged */
    TXN__VERDICT_FOREIGN, /* not a name of this cluster */
};

enum txn__resolve_state {
    TXN__RESOLVE_LOOKING,
    TXN__RESOLVE_FENCING,
    TXN__RESOLVE_REFUSING,
    TXN__RESOLVE_COMMITTING,
    TXN__RESOLVE_ABORTING,
    TXN__RESOLVE_DONE,
};

struct txn__resolve {
    struct txn__gid gid;
    uint32_t place;  /* of the promise */
    uint64_t age_ms; /* by that store's clock */
    bool fence_all;  /* recover: fence every coordinator */
    struct txn__taken taken;

    enum txn__resolve_state state;
    enum txn__wish wish; /* LOOK, FENCE and REFUSE go to the decider, COMMIT and ABORT to `place` */
    enum txn__verdict verdict;
    bool fenced; /* by this resolver */
    uint32_t looks;
    struct txn__look look; /* the last one: what FENCE and REFUSE check */
};

/* Begins with a promise from the list of PREPARED. If its name is not of this cluster, or the decider is not
 * one of its places, it is DONE at once. */
struct txn__promise {
    struct ts_bytes name;
    uint32_t place;
    uint64_t age_ms;
};
struct txn__resolve_options {
    const uint8_t *cluster; /* 16 bytes */
    uint32_t place_count;
    bool fence_all;
    struct txn__taken taken;
};
void txn__resolve_init(struct txn__resolve *resolve, const struct txn__promise *promise,
                       const struct txn__resolve_options *options);

/* The reply to the wish, which is then replaced by the next one, or by NONE when DONE. */
void txn__resolve_reply(struct txn__resolve *resolve, enum ts_store_result result,
                        const struct txn__look *look);

static inline bool txn__resolve_is_done(const struct txn__resolve *resolve) {
    return resolve->state == TXN__RESOLVE_DONE;
}

/* Returns whether its coordinator is dead by the decider's clock. Only for registered ones. */
bool txn__is_dead(const struct txn__look *look);

#endif
