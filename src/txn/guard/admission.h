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
 * stores, so the lowest limit counts. Other transactions may overtake a waiter that lacks a place, but not on
 * the stores that the waiter waits for. So a transaction of many stores cannot starve.
 *
 * The caller owns the waiters. A waiter and its list of stores must not be moved or freed from enter until
 * the state is IDLE, REJECTED, SHED or TIMED_OUT. Not thread-safe: the driver locks, and wakes the waiters
 * that ts_txn_admission_take_settled returns.
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
    /* Places of the transaction's stores, each once, at least one. The caller sets this and the fields up to
     * deadline_us; all other fields are zero at first. */
    const uint32_t *stores;
    size_t store_count;
    uint64_t deadline_us; /* from ts_txn_timeout_until_us for COORD_QUEUE */

    enum ts_txn_waiter_state state;
    bool degraded;      /* ADMITTED: answer the client at the commit point */
    uint64_t waited_us; /* time that the waiter was in the queue; set at the end */

    uint64_t entered_us;
    uint64_t arrival;
    struct ts_txn_admission_waiter *next, *previous;
    bool settled; /* the waiter is in the list of waiters to wake */
};

struct ts_txn_admission_gauges {
    uint32_t in_flight;
    uint32_t waiting;
    uint64_t total_admitted;  /* admitted transactions, including the degraded ones */
    uint64_t total_rejected;  /* refused, shed, timed out, or left while waiting */
    uint64_t total_queued;    /* all transactions that had to wait, however their wait ended */
    uint64_t total_shed;      /* rejected by the overflow action ShedLoad */
    uint64_t total_timed_out; /* rejected because the wait took too long */
    uint64_t total_degraded;  /* admitted and answered at the commit point */
};

struct ts_txn_admission_list {
    struct ts_txn_admission_waiter *first, *last;
};

struct ts_txn_admission {
    struct ts_txn_admission_config config;
    struct ts_txn_admission_list queue; /* waiters, in the order in which they are served */
    struct ts_txn_admission_list settled;
    struct ts_txn_admission_gauges gauges;
    uint64_t arrivals;
    struct {
        uint32_t limit;
        uint32_t in_flight;
    } stores[TS_TXN_STORES_MAX];
};

/* Initialises admission. The limit of every store starts at the hard limit. */
void ts_txn_admission_init(struct ts_txn_admission *admission, const struct ts_txn_admission_config *config);

/* Asks for a place. Returns the new state: ADMITTED, WAITING, REJECTED, or SHED if no waiter has more stores
 * than the newcomer. */
enum ts_txn_waiter_state ts_txn_admission_enter(struct ts_txn_admission *admission,
                                                struct ts_txn_admission_waiter *waiter, uint64_t now_us);

/* Makes the waiter IDLE. If it is admitted, frees its place. If it waits, removes it from the queue, which
 * counts as a rejection. In other states changes nothing else. */
void ts_txn_admission_leave(struct ts_txn_admission *admission, struct ts_txn_admission_waiter *waiter,
                            uint64_t now_us);

/* Ends the waits whose deadline has passed. */
void ts_txn_admission_tick(struct ts_txn_admission *admission, uint64_t now_us);

/* Returns the next waiter whose wait has ended, so that the driver can wake its thread; NULL when there is
 * none. Leaves out waiters whose new state was returned by enter. */
struct ts_txn_admission_waiter *ts_txn_admission_take_settled(struct ts_txn_admission *admission);

/* Sets the limit of transactions in flight on a store, at least 1. A lower limit does not affect transactions
 * that are already in flight. */
struct ts_txn_store_limit {
    uint32_t store;
    uint32_t limit;
};
void ts_txn_admission_set_store_limit(struct ts_txn_admission *admission, struct ts_txn_store_limit limit,
                                      uint64_t now_us);

/* Returns how many transactions are in flight on the store. */
uint32_t ts_txn_admission_store_in_flight(const struct ts_txn_admission *admission, uint32_t store);

static inline const struct ts_txn_admission_gauges *
ts_txn_admission_gauges(const struct ts_txn_admission *admission) {
    return &admission->gauges;
}

#endif
