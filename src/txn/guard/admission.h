/*
 * Admission: how many transactions run at once, who waits, who is refused.
 *
 *                 enter                         leave
 *     IDLE ──┬──────────────────► ADMITTED ──────────────────► IDLE
 *            │                       ▲
 *            ├──► WAITING ───────────┘  place free, by queue policy
 *            │       │
 *            │       ├──────────► TIMED_OUT   its deadline has come (tick)
 *            │       └──────────► SHED        a newcomer with fewer stores came into a full queue
 *            └──────────────────► REJECTED    queue full
 *
 * At most soft_limit run, and hard_limit - soft_limit wait; with Degrade up to hard_limit run. A store has a
 * limit of its own (adaptive.h) on those in flight on it, and a transaction needs a place on all its
 * stores, which makes the least of them count. A waiter that lacks a place on a store lets others pass, but
 * not to a store that it waits for: a transaction of many stores cannot starve.
 *
 * Waiter nodes are the caller's; they and their lists of stores stay in place from enter until IDLE,
 * REJECTED, SHED or TIMED_OUT is seen. Not thread-safe: the driver locks, and wakes what
 * ts_admission_take_settled gives.
 */
#ifndef TS_TXN_GUARD_ADMISSION_H
#define TS_TXN_GUARD_ADMISSION_H

#include "txn/guard/txn_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ts_waiter_state {
    TS_WAITER_IDLE,
    TS_WAITER_WAITING,
    TS_WAITER_ADMITTED,
    TS_WAITER_REJECTED,
    TS_WAITER_SHED,
    TS_WAITER_TIMED_OUT,
};

struct ts_admission_waiter {
    /* The caller's, zero-initialised otherwise. Places of stores, each once, at least one. */
    const uint32_t *stores;
    size_t store_count;
    uint64_t deadline_us; /* as ts_timeout_until_us has it for COORD_QUEUE */

    enum ts_waiter_state state;
    bool degraded;      /* ADMITTED: answer at the commit point */
    uint64_t waited_us; /* in the queue; set when it leaves it */

    uint64_t entered_us;
    uint64_t arrival;
    struct ts_admission_waiter *next, *previous;
    bool settled; /* in the list of those to be woken */
};

struct ts_admission_gauges {
    uint32_t in_flight;
    uint32_t waiting;
    uint64_t total_admitted;  /* degraded ones included */
    uint64_t total_rejected;  /* all that were turned away: refused, shed, timed out */
    uint64_t total_queued;    /* that had to wait, whatever became of them */
    uint64_t total_shed;      /* of the rejected */
    uint64_t total_timed_out; /* of the rejected */
    uint64_t total_degraded;  /* of the admitted */
};

struct ts_admission_list {
    struct ts_admission_waiter *first, *last;
};

struct ts_admission {
    struct ts_admission_config config;
    struct ts_admission_list queue; /* in the order in which they are served */
    struct ts_admission_list settled;
    struct ts_admission_gauges gauges;
    uint64_t arrivals;
    struct {
        uint32_t limit;
        uint32_t in_flight;
    } stores[TS_TXN_STORES_MAX];
};

/* Every store's limit starts at the hard limit. */
void ts_admission_init(struct ts_admission *admission, const struct ts_admission_config *config);

/* The state after it: ADMITTED, WAITING, REJECTED or SHED (the newcomer itself had most stores). */
enum ts_waiter_state ts_admission_enter(struct ts_admission *admission, struct ts_admission_waiter *waiter,
                                        uint64_t now_us);

/* Gives up whatever the waiter has, and makes it IDLE: its place when it is admitted, its place in the queue
 * when it waits (which counts as rejected). Nothing for the other states. */
void ts_admission_leave(struct ts_admission *admission, struct ts_admission_waiter *waiter, uint64_t now_us);

/* Ends the waiting of those whose deadline has come. */
void ts_admission_tick(struct ts_admission *admission, uint64_t now_us);

/* When tick is next needed; UINT64_MAX: nobody waits. */
uint64_t ts_admission_next_us(const struct ts_admission *admission);

/* One after another the waiters that no longer wait, each once, so that the driver wakes them; NULL: no more.
 * Those that enter settles at once, the caller of enter knows and are not here. */
struct ts_admission_waiter *ts_admission_take_settled(struct ts_admission *admission);

/* At least 1. A lower limit takes nothing from those in flight. */
struct ts_store_limit {
    uint32_t store;
    uint32_t limit;
};
void ts_admission_set_store_limit(struct ts_admission *admission, struct ts_store_limit limit,
                                  uint64_t now_us);

/* In flight on the store. */
uint32_t ts_admission_store_in_flight(const struct ts_admission *admission, uint32_t store);

static inline const struct ts_admission_gauges *ts_admission_gauges(const struct ts_admission *admission) {
    return &admission->gauges;
}

#endif
