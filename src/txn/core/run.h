/*
 * One attempt of one transaction, for its coordinator. The machine takes replies and returns wishes.
 *
 *   global:                                         local:
 *
 *    PREPARING ──all promised──► DECIDING             APPLYING ──ok──────► DONE committed
 *        │                       │  │  │                 │  └──refused───► DONE aborted
 *        │ refused, lost,        │  │  └──ok─────┐       │ lost
 *        │ timed out     refused │  │ lost       ▼       ├─not recorded──► DONE unknown
 *        │                       │  ▼         COMMITTING └─recorded─► LOOKING ◄──► REFUSING ─► DONE
 *        │         ┌─────────────┘ LOOKING ──commit─┘ │
 *        ▼         ▼                │  ▲ │            ├──all done──────► DONE committed
 *      ABORTING ◄──┴──abort─────────┘  │ └─none──►    └──a call failed─► DONE committed, pending
 *        │                        lost,│ refused   REFUSING ──ok──► ABORTING
 *        └──► DONE aborted             └──────────────┘
 *
 *    DECIDING, LOOKING ──fenced──► DONE unknown
 *    LOOKING, REFUSING ──txn__run_give_up──► DONE unknown
 *
 * Invariants:
 *   PREPARING   no decision was sent; giving up means aborting; with in_order, the members asked so far have the highest places
 *   DECIDING    every other participant has promised; the decision was sent, once
 *   LOOKING     the decision may have arrived, or may still arrive
 *   REFUSING    an abort decision was sent; its checks allow only one of the two decisions
 *   COMMITTING  the commit decision is durable: nothing can abort it
 *   ABORTING    the commit decision was never sent, was refused, or is excluded by an abort decision
 *
 * A participant has at most one call in progress. The driver sends what txn__run_next gives it, and reports
 * every reply with txn__run_reply; when neither a wish nor a call is left, the state is DONE.
 */
#ifndef TS_TXN_CORE_RUN_H
#define TS_TXN_CORE_RUN_H

#include "turnstone/store.h"
#include "txn/core/look.h"
#include "txn/core/rules.h"

/* A request to the store of a participant. */
enum txn__wish {
    TXN__WISH_NONE,
    TXN__WISH_APPLY,   /* local: the participant's part, and the outcome if that is recorded */
    TXN__WISH_PREPARE, /* the participant's part as a promise */
    TXN__WISH_DECIDE,  /* the decider's part and txn__own_decide as one batch */
    TXN__WISH_LOOK,    /* read txn__look_keys */
    TXN__WISH_REFUSE,  /* txn__own_refuse; of a local transaction: txn__own_outcome */
    TXN__WISH_RECORD,  /* txn__own_outcome, aborted */
    TXN__WISH_COMMIT,
    TXN__WISH_ABORT,
    TXN__WISH_FENCE,  /* txn__own_fence; resolvers only */
    TXN__WISH_FORGET, /* delete the abort decision; only if a test has disabled the rule that forbids this */
};

enum txn__run_state {
    TXN__RUN_APPLYING,
    TXN__RUN_PREPARING,
    TXN__RUN_DECIDING,
    TXN__RUN_LOOKING,
    TXN__RUN_REFUSING,
    TXN__RUN_COMMITTING,
    TXN__RUN_ABORTING,
    TXN__RUN_DONE,
};

struct txn__member {
    uint32_t place;
    enum txn__wish wish;   /* a request to send */
    enum txn__wish flying; /* the request that was sent and not answered yet */
    bool asked;            /* a prepare was sent */
    bool promised;         /* the store has, or may have, an unfinished promise of this transaction */
};

/* Why the transaction did not commit. */
enum txn__why {
    TXN__WHY_NONE,
    TXN__WHY_STORE,    /* a store's answer: run->reason */
    TXN__WHY_RESOLVER, /* another process decided to abort */
    TXN__WHY_LOST,     /* the decision was lost, and an abort decision excludes it */
    TXN__WHY_FENCED,
    TXN__WHY_GIVEN_UP, /* the driver's time ran out */
};

struct txn__run_options {
    bool record;
    bool degrade;  /* end with DONE at the commit point */
    bool in_order; /* prepare one store at a time, from the highest place down; the decider has the lowest */
    struct txn__taken taken;
};

struct txn__run {
    struct txn__run_options options;
    enum txn__run_state state;
    struct txn__member *members; /* owned by the caller; the decider is one of them */
    size_t count;
    size_t decider; /* index of the decider's member */
    size_t flying;  /* number of calls in progress */
    bool pause;     /* a store did not answer: wait a little before the next wish */
    bool given_up;

    enum ts_txn_outcome outcome; /* valid when DONE; in ABORTING and COMMITTING the expected outcome */
    enum txn__why why;
    enum ts_store_result reason; /* result of the first failed call */
    size_t failed_member;        /* index of the member whose call failed */
    size_t failed_op;            /* index of the failed operation in that member's batch, or SIZE_MAX */
    size_t own_ops_from;         /* decider's batch: operations from here on belong to the protocol */
    bool recorded;               /* the outcome is stored, or need not be stored */
};

/* Initialises the run of a transaction. There is at least one member; the caller has set only the places of
 * the members. After that, the caller sets run->own_ops_from to the number of operations in the decider's
 * part. */
void txn__run_init(struct txn__run *run, struct txn__member *members, size_t count, size_t decider,
                   const struct txn__run_options *options);

/* Like txn__run_init, for a transaction whose earlier attempt sent the decision and ended as unknown. The run
 * finds out the result. It assumes that all members have promised. */
void txn__run_init_settle(struct txn__run *run, struct txn__member *members, size_t count, size_t decider,
                          const struct txn__run_options *options);

/* Takes the next wish and counts it as sent. Returns the index of its member, or SIZE_MAX when there is no
 * wish now. */
size_t txn__run_next(struct txn__run *run, enum txn__wish *ret_wish);

/* Takes the reply to a member's call. `look` is set only for a LOOK with the result OK. */
void txn__run_reply(struct txn__run *run, size_t member, const struct ts_store_error *error,
                    const struct txn__look *look);

/* Call it when the driver's time has run out. In PREPARING the run aborts. From DECIDING on it stops trying
 * to find out the result. The driver must still report the replies to calls in progress. */
void txn__run_give_up(struct txn__run *run);

static inline bool txn__run_is_done(const struct txn__run *run) {
    return run->state == TXN__RUN_DONE;
}

/* Returns true after the commit point, and when the run is DONE. */
bool txn__run_is_decided(const struct txn__run *run);

/* Returns the kind of call that carries out a wish. */
enum ts_call_kind txn__wish_call(enum txn__wish wish);

#endif
