/*
 * Decides about one promise, for a resolver in any process. The machine takes replies and returns wishes, one
 * at a time.
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
 * (look.h). After fencing, the decision is read again, because it may have been written just before the
 * fence.
 */
#ifndef TS_TXN_CORE_RESOLVE_H
#define TS_TXN_CORE_RESOLVE_H

#include "txn/core/gid.h"
#include "txn/core/look.h"
#include "txn/core/rules.h"
#include "txn/core/run.h"

enum {
    TXN__HEARTBEAT_MS = 2000, /* interval of a coordinator's heartbeats */
    TXN__DEAD_MS = 8000,      /* a coordinator without heartbeats for longer is dead (decider's clock) */
};

enum txn__verdict {
    TXN__VERDICT_COMMITTED,
    TXN__VERDICT_ABORTED,
    TXN__VERDICT_LEFT,    /* young promise of a live coordinator, or other processes were faster */
    TXN__VERDICT_STUCK,   /* the decider or the promise's own store did not answer, or is damaged */
    TXN__VERDICT_FOREIGN, /* the name of the promise is not a name of this cluster */
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
    uint32_t place;  /* place of the promise */
    uint64_t age_ms; /* age of the promise, by the clock of the promise's store */
    bool fence_all;  /* fence every coordinator, as recover does */
    struct txn__taken taken;

    enum txn__resolve_state state;
    enum txn__wish wish; /* LOOK, FENCE and REFUSE go to the decider, COMMIT and ABORT to `place` */
    enum txn__verdict verdict;
    bool fenced; /* this resolver has fenced the coordinator */
    uint32_t looks;
    struct txn__look look; /* the last look; FENCE and REFUSE check the versions in it */
};

/* Starts with a promise that a PREPARED call has listed. If its name does not belong to this cluster, or
 * names a decider that is no place of this cluster, the machine is DONE at once. */
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

/* Takes the reply to the current wish. Sets the next wish, or NONE when DONE. */
void txn__resolve_reply(struct txn__resolve *resolve, enum ts_store_result result,
                        const struct txn__look *look);

static inline bool txn__resolve_is_done(const struct txn__resolve *resolve) {
    return resolve->state == TXN__RESOLVE_DONE;
}

/* Returns whether the coordinator of the look is dead by the decider's clock. The coordinator must be
 * registered. */
bool txn__is_dead(const struct txn__look *look);

#endif
