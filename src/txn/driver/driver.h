/*
 * The structures of the driver, which waits, locks and calls stores on behalf of the machines.
 *
 * Locks, in this order: `registering`, then `lock`, then `metrics_lock`. Only `registering` is held during
 * calls to stores, which timeouts.shard_rpc bounds.
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
#include "txn/driver/stop.h"
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
#include <stdatomic.h>

/* A coordinator's registration on one store. */
struct txn__seat {
    bool registered;
    bool fenced;
    bool dirty;            /* a transaction with this decider has ended since the mark was moved */
    uint64_t registration; /* version of the registration */
    uint64_t moved;        /* the mark that the store has */
};

/*
 * One uuid of this process. New transactions use the current incarnation. An incarnation that was fenced on a
 * store is retired: it is kept until all its transactions have ended. Then it is deregistered from the stores
 * where it is still registered.
 */
struct txn__incarnation {
    struct txn__incarnation *next;
    struct txn__uuid uuid;
    struct txn__marks marks;
    struct txn__mark_list *deciders;
    struct txn__seat *seats;
    uint64_t users; /* active transactions and threads that use the incarnation */
    bool retired;
};

struct txn__flight {
    uint64_t begun_us;
    enum ts_txn_timeout_phase phase;
    uint64_t until_us;
};

/* One request, and what its attempts have met so far. */
struct txn__request {
    const struct ts_op *ops; /* the caller's array or `flat` */
    size_t op_count;
    struct ts_op *flat;  /* the operations of all parts in one array */
    uint32_t *op_places; /* for each operation in `ops`: its place */
    size_t capacity;     /* operations that flat and op_places have room for */
    struct txn__plan plan;
    uint32_t *stores;                      /* for each part of the plan: its place */
    struct ts_txn_breaker_permit *permits; /* for each of `stores`: the permit of its circuit breaker */
    bool record;
    bool degrade;
    struct ts_txn_stop stop;
    uint32_t retries;
    bool met_locks;      /* take locks in order: an attempt met a lock, or no other attempt will follow */
    bool only_conflicts; /* every attempt so far met a conflict */
};

/* One attempt: its name, its calls and their results. */
struct txn__attempt {
    struct ts_op *arranged; /* part by part, the decider's last, with room for the protocol's operations */
    uint32_t *origins;      /* for each operation in arranged: its index in the request's ops */
    size_t arranged_capacity;
    uint32_t *part_of_place;
    size_t *part_from;      /* where each part begins in arranged */
    bool arranged_in_place; /* the only part is the request's ops themselves */
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
    enum ts_txn_timeout_phase pending; /* the timeout that ended the wait for a commit, or NONE */
    char text[240];
};

/* The times of all attempts. If a field has the time of only one attempt or phase, its comment says so. */
struct txn__timing {
    uint64_t begun_us;
    uint64_t replied_us;         /* time of the last reply */
    struct txn__flight *flights; /* each member's call in progress */
    uint64_t *rpc_us;            /* for each member: its longest call of the last attempt */
    uint64_t *lock_wait_us;      /* for each member: the lock waits of all its calls in the last attempt */
    uint64_t phase_begun_us;
    uint64_t phase_lock_us; /* longest wait for locks in the current phase */
    uint64_t stall_us;
    struct ts_txn_breakdown latency;
};

/* How the transaction is woken while it waits, and its node in the deadlock detector. */
struct txn__wait {
    pthread_cond_t wake;
    struct ts_txn_admission_waiter waiter;
    struct ts_txn_deadlock_node deadlock;
    bool watched; /* the deadlock detector has the node `deadlock` */
    bool deadlocked;
    bool stopped; /* the calls were cancelled because the transaction must stop */
    char deadlock_text[240];
};

/* The memory of one running transaction, reused for the next. */
struct txn__active {
    struct txn__active *next; /* the next unused struct */
    struct txn__active *next_of_all;
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
    pthread_mutex_t lock; /* guards the fields up to metrics_lock */
    struct txn__incarnation *current;
    struct txn__incarnation *incarnations; /* the current incarnation is the first */
    struct txn__entry *free_entries;       /* linked by next */
    struct txn__active *free_active;
    struct txn__active *active;
    struct ts_prng prng;
    struct ts_txn_admission admission;
    struct ts_txn_breaker *breakers; /* indexed by place */
    struct ts_txn_deadlock_detector detector;
    struct ts_txn_conflict_tracker *conflicts; /* indexed by place */
    struct ts_txn_adaptive *adaptive;          /* indexed by place */
    uint64_t *lag_ms;                          /* indexed by place: the store's last answer */
    /* Indexed by place: the time until which transactions take locks in order on the store. */
    uint64_t *in_order_until_us;
    pthread_cond_t care_wake;
    pthread_cond_t heart_wake;
    bool nudged;   /* a promise has blocked a batch */
    bool pressing; /* a transaction has become pending or unsettled */
    atomic_bool stopping;

    pthread_mutex_t metrics_lock;
    struct ts_txn_metrics *metrics;
    struct ts_txn_store_metrics *store_metrics;

    pthread_t care_thread;
    pthread_t heart_thread;
};

uint64_t txn__now_us(void);

/* active.c */
struct txn__active *txn__active_new(struct ts_coordinator *coordinator);
void txn__active_free(struct txn__active *active);
/* Makes room for this many operations; returns false when memory runs out. */
bool txn__active_reserve(struct txn__active *active, size_t op_count);
/* Arranges the operations part by part for this decider; returns false when memory runs out. */
bool txn__active_arrange(struct txn__active *active, size_t decider);
struct ts_batch txn__active_part(const struct txn__active *active, size_t part, const struct txn__own *own);

/* Returns whether this attempt may be part of a cycle: its parallel prepares take locks in any order. */
static inline bool txn__active_gives_way(const struct txn__active *active) {
    return active->request.plan.part_count > 2 && !active->attempt.run.options.in_order;
}

/* incarnation.c. The caller holds the lock, unless a comment says otherwise. */
void txn__incarnation_free(struct txn__incarnation *incarnation);
/* Call it when this uuid was fenced on some store. New transactions then use another uuid. */
void txn__incarnation_retire(struct ts_coordinator *coordinator, struct txn__incarnation *incarnation);
/* Returns the incarnation for new transactions; NULL when memory runs out or the system cannot supply random
 * bytes. */
struct txn__incarnation *txn__incarnation_current(struct ts_coordinator *coordinator);
struct txn__entry *txn__entry_take(struct ts_coordinator *coordinator);
void txn__entry_give(struct ts_coordinator *coordinator, struct txn__entry *entry);
/* Registers the incarnation on a store, once. The caller does not hold the lock. On failure returns false
 * with the reason in *ret_error. If the incarnation is fenced, also returns false, but the result in
 * *ret_error is OK. */
bool txn__seat_take(struct ts_coordinator *coordinator, struct txn__incarnation *incarnation, uint32_t place,
                    struct ts_store_error *ret_error);

/* admit.c. These functions return false, with the cause, when the transaction is refused. */
bool txn__standbys_keep_up(struct ts_coordinator *coordinator, struct txn__active *active);
bool txn__pass_breakers(struct ts_coordinator *coordinator, struct txn__active *active);
bool txn__admit(struct ts_coordinator *coordinator, struct txn__active *active);
/* Writes the message of a transaction or read that was refused because the breaker of a store is open. */
void txn__tell_open_breaker(const struct ts_coordinator *coordinator, uint32_t place, char *ret_text,
                            size_t size);
/* Wakes the waiters that admission has admitted or refused. The caller holds the lock. */
void txn__wake_settled(struct ts_coordinator *coordinator);

/* attempt.c: runs one attempt from its first call to its last. */
void txn__run_attempt(struct ts_coordinator *coordinator, struct txn__active *active);
/* Asks the deadlock detector which transactions have waited too long, and marks them. Any thread may call it.
 * The caller holds the lock. */
void txn__find_deadlocks(struct ts_coordinator *coordinator, uint64_t now_us);

/* Runs calls outside transactions, all at the same time, until all are done. Each call has its own
 * deadline. */
void txn__calls_run(struct ts_call *const *calls, size_t count);
uint64_t txn__deadline_ns(uint64_t timeout_us);

/*
 * lag_ask.c: asks all stores in parallel for the lag of their standbys, and keeps the answers. If a store
 * does not answer within the timeout, its earlier value is kept. Returns BAD_CONFIG, with the place and the
 * store's own error, when a store's configuration does not allow the question.
 */
enum ts_txn_error txn__lag_ask(struct ts_coordinator *coordinator, uint64_t timeout_us, uint32_t *ret_place,
                               struct ts_store_error *ret_error);

/* heart.c, care.c: the functions of the two threads. */
void *txn__heart(void *context);
void *txn__care(void *context);
void txn__care_once(struct ts_coordinator *coordinator);
/* Deregisters the incarnation from all stores where none of its transactions is in progress. */
void txn__take_back(struct ts_coordinator *coordinator, struct txn__incarnation *incarnation);

#endif
