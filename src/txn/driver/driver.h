/*
 * The driver's own structures: what waits, locks and calls stores on behalf of the machines.
 *
 * Locks, in this order: `registering`, then `lock`, then `metrics_lock`. None of them is held during a call
 * to a store but `registering`, whose calls are bounded by timeouts.shard_rpc.
 */
#ifndef TS_TXN_DRIVER_DRIVER_H
#define TS_TXN_DRIVER_DRIVER_H

#include "store/cluster/cluster.h"
#include "turnstone/txn.h"
#include "txn/core/batches.h"
#include "txn/core/look.h"
#include "txn/core/marks.h"
#include "txn/core/plan.h"
#include "txn/core/run.h"
#include "txn/guard/adaptive.h"
#include "txn/guard/admission.h"
#include "txn/guard/breaker.h"
#include "txn/guard/cause.h"
#include "txn/guard/conflict.h"
#include "txn/guard/deadlock.h"
#include "txn/guard/lag.h"
#include "txn/guard/latency.h"
#include "txn/guard/metrics.h"
#include "txn/guard/retry.h"
#include "txn/guard/txn_config.h"

#include <pthread.h>

/* A coordinator's standing on one store. */
struct txn__seat {
    bool registered;
    bool fenced;
    bool dirty;            /* something with this decider has ended since its mark was moved */
    uint64_t registration; /* version */
    uint64_t moved;        /* the mark as it was written */
};

/*
 * One uuid of this process. There is one current incarnation; one that was fenced somewhere is retired, stays
 * until all it had under way has ended, and is then taken back where it is still registered.
 */
struct txn__incarnation {
    struct txn__incarnation *next;
    struct txn__uuid uuid;
    struct txn__marks marks;
    struct txn__mark_list *deciders;
    struct txn__seat *seats;
    uint64_t users; /* sessions and threads that look at it */
    bool retired;
};

struct txn__flight {
    uint64_t begun_us;
    enum ts_timeout_phase phase;
    uint64_t until_us;
};

/* What was asked for, and what the attempts at it have met so far. */
struct txn__request {
    const struct ts_op *ops; /* the caller's, or flat */
    size_t op_count;
    struct ts_op *flat;  /* parts put together */
    uint32_t *op_places; /* of ops */
    size_t capacity;     /* operations that flat and op_places have room for */
    struct txn__plan plan;
    uint32_t *stores;                  /* places of the plan */
    struct ts_breaker_permit *permits; /* of their breakers */
    bool record;
    bool degrade;
    uint32_t retries;
    bool met_locks;      /* an attempt has, or there is only one: locks are taken in order */
    bool only_conflicts; /* every attempt so far has */
};

/* One attempt: its name, its calls and what came of it. */
struct txn__attempt {
    struct ts_op *arranged; /* part by part, the decider's last, with room for the protocol's own */
    uint32_t *origins;      /* of arranged: index in the request's ops */
    size_t arranged_capacity;
    uint32_t *part_of_place;
    size_t *part_from;      /* in arranged */
    bool arranged_in_place; /* the one part is the request's ops themselves */
    struct txn__incarnation *incarnation;
    struct txn__entry *entry;
    struct txn__gid gid;
    char id[TS_TXN_ID_SIZE];
    struct txn__places participants;
    struct txn__run run;
    struct txn__member *members;
    struct ts_call *calls;
    struct ts_call **waiting;
    struct txn__own own;
    struct txn__look_keys look_keys;
    struct ts_rows rows;
    struct txn__look look;
    struct ts_txn_cause cause;
    enum ts_timeout_phase pending; /* what ended the wait for a commit, or NONE */
    char text[240];
};

/* Where the time goes, all attempts together unless it says otherwise. */
struct txn__timing {
    uint64_t begun_us;
    uint64_t replied_us;         /* the last reply */
    struct txn__flight *flights; /* of each member's call under way */
    uint64_t *rpc_us;            /* of each member, its longest call of the last attempt */
    uint64_t *lock_wait_us;      /* of each member, all its calls of the last attempt together */
    uint64_t phase_begun_us;
    uint64_t phase_lock_us; /* longest wait for locks of the phase */
    uint64_t stall_us;
    struct ts_latency latency;
};

/* What wakes it, and what the deadlock detector knows of it. */
struct txn__wait {
    pthread_cond_t wake;
    struct ts_admission_waiter waiter;
    struct ts_deadlock_node deadlock;
    bool watched; /* the detector knows of it */
    bool deadlocked;
    char deadlock_text[240];
};

/* What one running transaction needs, reused for the next. */
struct txn__session {
    struct txn__session *next; /* free ones, or all of them */
    struct txn__session *next_of_all;
    struct txn__request request;
    struct txn__attempt attempt;
    struct txn__timing timing;
    struct txn__wait wait;
};

struct ts_coordinator {
    struct ts_cluster *cluster;
    uint32_t place_count;
    uint8_t cluster_id[16];
    struct ts_txn_config config;

    pthread_mutex_t registering;
    pthread_mutex_t lock; /* guards what follows */
    struct txn__incarnation *current;
    struct txn__incarnation *incarnations; /* the current one first */
    struct txn__entry *free_entries;       /* by next */
    struct txn__session *free_sessions;
    struct txn__session *sessions;
    struct ts_prng prng;
    struct ts_admission admission;
    struct ts_breaker *breakers; /* by place */
    struct ts_deadlock_detector detector;
    struct ts_conflict_tracker *conflicts; /* by place */
    struct ts_adaptive *adaptive;          /* by place */
    uint64_t *lag_ms;                      /* by place: what the store said last */
    uint64_t *in_order_until_us;           /* by place: locks are often met there */
    pthread_cond_t care_wake;
    pthread_cond_t heart_wake;
    bool nudged;   /* a batch was blocked by a promise */
    bool pressing; /* something is pending or unsettled that was not before */
    bool stopping;

    pthread_mutex_t metrics_lock;
    struct ts_txn_metrics *metrics;
    struct ts_store_metrics *store_metrics;

    pthread_t care_thread;
    pthread_t heart_thread;
};

uint64_t txn__now_us(void);

/* sessions.c */
struct txn__session *txn__session_new(struct ts_coordinator *coordinator);
void txn__session_free(struct txn__session *session);
/* Makes room for as many operations; false when there is no memory. */
bool txn__session_reserve(struct txn__session *session, size_t op_count);
/* Lays the operations out part by part for this decider; false when there is no memory. */
bool txn__session_arrange(struct txn__session *session, size_t decider);
struct ts_batch txn__session_part(const struct txn__session *session, size_t part,
                                  const struct txn__own *own);

/* Several prepares side by side: their locks are taken in no order, so that this attempt may be part of a circle. */
static inline bool txn__session_gives_way(const struct txn__session *session) {
    return session->request.plan.part_count > 2 && !session->attempt.run.options.in_order;
}

/* incarnation.c. The lock is held, except where it says otherwise. */
struct txn__incarnation *txn__incarnation_new(uint32_t place_count);
void txn__incarnation_free(struct txn__incarnation *incarnation);
/* This uuid was fenced on some store: new transactions go on under another. */
void txn__incarnation_retire(struct ts_coordinator *coordinator, struct txn__incarnation *incarnation);
/* The one for new transactions; NULL when there is no memory or no entropy for it. */
struct txn__incarnation *txn__incarnation_current(struct ts_coordinator *coordinator);
struct txn__entry *txn__entry_take(struct ts_coordinator *coordinator);
void txn__entry_give(struct ts_coordinator *coordinator, struct txn__entry *entry);
/* Not under the lock: registers the incarnation on a store, once. False with the reason, or, with result OK,
 * when the incarnation turned out to be fenced. */
bool txn__seat_take(struct ts_coordinator *coordinator, struct txn__incarnation *incarnation, uint32_t place,
                    struct ts_store_error *ret_error);

/* admit.c. False, with the cause, when it is turned away. */
bool txn__standbys_keep_up(struct ts_coordinator *coordinator, struct txn__session *session);
bool txn__pass_breakers(struct ts_coordinator *coordinator, struct txn__session *session);
bool txn__admit(struct ts_coordinator *coordinator, struct txn__session *session);
/* Wakes those whom admission has let in or turned away. The lock is held. */
void txn__wake_settled(struct ts_coordinator *coordinator);

/* attempt.c: one attempt from the first call to the last. */
void txn__run_attempt(struct ts_coordinator *coordinator, struct txn__session *session);
/* Whoever has waited too long is told so, by whoever finds it. The lock is held. */
void txn__find_deadlocks(struct ts_coordinator *coordinator, uint64_t now_us);

/* Calls that are not a transaction's: each with its deadline, all at once, until all are done. */
void txn__calls_run(struct ts_call *const *calls, size_t count);
uint64_t txn__deadline_ns(uint64_t timeout_us);

/*
 * lag_ask.c: asks all stores at once and keeps what they say; what does not answer within the timeout stays
 * as it was. BAD_CONFIG, with the place and the store's own error, when a store cannot be asked by its
 * configuration.
 */
enum ts_txn_error txn__lag_ask(struct ts_coordinator *coordinator, uint64_t timeout_us, uint32_t *ret_place,
                               struct ts_store_error *ret_error);

/* heart.c, care.c: the two threads, and what closing does last. */
void *txn__heart(void *context);
void *txn__care(void *context);
void txn__care_once(struct ts_coordinator *coordinator);
/* Takes back every registration behind which nothing is under way. */
void txn__take_back(struct ts_coordinator *coordinator, struct txn__incarnation *incarnation);

#endif
