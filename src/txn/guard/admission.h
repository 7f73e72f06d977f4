/*
 * Admission: how many transactions run at once, which ones wait, and which are refused.
 *
 *                 enter                         leave
 *     IDLE ──┬──────────────────► ADMITTED ──────────────────► IDLE
 *            │                       ▲
 *            ├──► WAITING ───────────┘  place free, by queue policy
 *            │       │
 *            │       ├──────────► TIMED_OUT   its deadline has passed (tick)
 *            │       └──────────► SHED        a newcomer with fewer stores came into a full queue
 *            └──────────────────► REJECTED    queue full
 *
 * At most soft_limit run, and hard_limit - soft_limit wait; with Degrade up to hard_limit run. Each store
 * also has its own limit of transactions in flight (adaptive.h), and a transaction needs a place on all its
 * stores, so the lowest limit counts. Others may overtake a waiter that lacks a place, but not on the stores
 * that it waits for: a transaction of many stores cannot starve.
 *
 * The caller owns waiter nodes; they and their lists of stores stay in place from enter until the state is
 * IDLE, REJECTED, SHED or TIMED_OUT. Not thread-safe: the driver locks, and wakes the waiters that
 * ts_txn_admission_take_settled returns.
 */
#ifndef TS_TXN_GUARD_ADMISSION_H
#define TS_TXN_GUARD_ADMISSION_H

#include "txn/guard/txn_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ts_txn_waiter_state {
    TS_TXN_WAITER_IDLE,
    TS_TXN_WAITER_WAITING,
    TS_TXN_WAITER_ADMITTED,
    TS_TXN_WAITER_REJECTED,
    TS_TXN_WAITER_SHED,
    TS_TXN_WAITER_TIMED_OUT,
};

struct ts_txn_admission_waiter {
    /* Set by the caller; all other fields are zero at first. Places of stores, each once, at least one. */
    const uint32_t *stores;
    size_t store_count;
    uint64_t deadline_us; /* from ts_txn_timeout_until_us for COORD_QUEUE */

    enum ts_txn_waiter_state state;
    bool degraded;      /* ADMITTED: answer at the commit point */
    uint64_t waited_us; /* time in the queue; set when it leaves the queue */

    uint64_t entered_us;
    uint64_t arrival;
    struct ts_txn_admission_waiter *next, *previous;
    bool settled; /* in the list of waiters to wake */
};

struct ts_txn_admission_gauges {
    uint32_t in_flight;
    uint32_t waiting;
    uint64_t total_admitted;  /* degraded ones included */
    uint64_t total_rejected;  /* all rejected ones: refused, shed, timed out */
    uint64_t total_queued;    /* all transactions that had to wait, however the wait ended */
    uint64_t total_shed;      /* rejected because the queue was full */
    uint64_t total_timed_out; /* rejected because the wait took too long */
    uint64_t total_degraded;  /* admitted and answered at the commit point */
};

struct ts_txn_admission_list {
    struct ts_txn_admission_waiter *first, *last;
};

struct ts_txn_admission {
    struct ts_txn_admission_config config;
    struct ts_txn_admission_list queue; /* in the order of service */
    struct ts_txn_admission_list settled;
    struct ts_txn_admission_gauges gauges;
    uint64_t arrivals;
    struct {
        uint32_t limit;
        uint32_t in_flight;
    } stores[TS_TXN_STORES_MAX];
};

/* Every store's limit starts at the hard limit. */
void ts_txn_admission_init(struct ts_txn_admission *admission, const struct ts_txn_admission_config *config);

/* Returns the new state: ADMITTED, WAITING, REJECTED or SHED (the newcomer itself had the most stores). */
enum ts_txn_waiter_state ts_txn_admission_enter(struct ts_txn_admission *admission,
                                                struct ts_txn_admission_waiter *waiter, uint64_t now_us);

/* Makes the waiter IDLE: returns its place if it is admitted, or leaves the queue if it waits (which counts
 * as rejected). Does nothing in other states. */
void ts_txn_admission_leave(struct ts_txn_admission *admission, struct ts_txn_admission_waiter *waiter,
                            uint64_t now_us);

/* Ends the wait of those whose deadline has passed. */
void ts_txn_admission_tick(struct ts_txn_admission *admission, uint64_t now_us);

/* Returns, one after the other, the waiters that no longer wait, so that the driver can wake them; NULL: no
 * more. Does not return a waiter whose state enter has already returned. */
struct ts_txn_admission_waiter *ts_txn_admission_take_settled(struct ts_txn_admission *admission);

/* At least 1. A lower limit does not affect transactions in flight. */
struct ts_txn_store_limit {
    uint32_t store;
    uint32_t limit;
};
void ts_txn_admission_set_store_limit(struct ts_txn_admission *admission, struct ts_txn_store_limit limit,
                                      uint64_t now_us);

/* How many transactions are in flight on the store. */
uint32_t ts_txn_admission_store_in_flight(const struct ts_txn_admission *admission, uint32_t store);

static inline const struct ts_txn_admission_gauges *
ts_txn_admission_gauges(const struct ts_txn_admission *admission) {
    return &admission->gauges;
}

#endif
