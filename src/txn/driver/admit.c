/*
 * The checks before the first attempt of a transaction: the limit of lag, the breakers, admission.
 */
#include "driver.h"

#include "base/checked.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

static void set_text(char *ret_text, size_t size, const char *text) {
    snprintf(ret_text, size, "%s", text);
}

/* Wakes the waiters that admission has admitted or refused. The caller holds the lock. */
void txn__wake_settled(struct ts_coordinator *coordinator) {
    struct ts_txn_admission_waiter *waiter;
    while ((waiter = ts_txn_admission_take_settled(&coordinator->admission)) != NULL) {
        struct txn__active *active =
            (struct txn__active *)((char *)waiter - offsetof(struct txn__active, wait.waiter));
        pthread_cond_signal(&active->wait.wake);
    }
}

/* Removes a waiter from the queue if the deadlock detector wants its transaction aborted. The caller holds
 * the lock. */
static void leave_when_stalled(struct ts_coordinator *coordinator, struct txn__active *active,
                               uint64_t now_us) {
    txn__find_deadlocks(coordinator, now_us);
    if (active->wait.deadlock.abort_wanted && active->wait.waiter.state == TS_TXN_WAITER_WAITING) {
        ts_txn_admission_leave(&coordinator->admission, &active->wait.waiter, now_us);
        txn__wake_settled(coordinator);
    }
}

/* Waits in the queue of admission. The deadlock detector sees this wait like every other wait; if it ends the
 * wait, returns IDLE. The caller holds the lock. */
static enum ts_txn_waiter_state queue_up(struct ts_coordinator *coordinator, struct txn__active *active,
                                         uint64_t now_us) {
    struct ts_txn_admission_waiter *waiter = &active->wait.waiter;
    *waiter = (struct ts_txn_admission_waiter){.stores = active->request.stores,
                                               .store_count = active->request.plan.part_count};
    struct ts_txn_timeout_watch watch = {active->timing.begun_us, TS_TXN_TIMEOUT_COORD_QUEUE, now_us, true};
    waiter->deadline_us = ts_txn_timeout_until_us(&coordinator->config.timeouts, &watch);
    (void)ts_txn_admission_enter(&coordinator->admission, waiter, now_us);
    txn__wake_settled(coordinator);
    if (waiter->state != TS_TXN_WAITER_WAITING)
        return waiter->state;
    struct ts_txn_deadlock_node *node = &active->wait.deadlock;
    node->reason = (struct ts_txn_wait_reason){TS_TXN_WAIT_COORDINATOR_QUEUE, 0};
    node->may_abort = true;
    ts_txn_deadlock_begin(&coordinator->detector, node, now_us);
    while (waiter->state == TS_TXN_WAITER_WAITING) {
        uint64_t stall_us = ts_saturating_add_u64(node->since_us, coordinator->config.deadlock.timeout_us);
        uint64_t until_us = stall_us < waiter->deadline_us ? stall_us : waiter->deadline_us;
        struct timespec until = {.tv_sec = (time_t)(until_us / 1000000),
                                 .tv_nsec = (long)(until_us % 1000000 * 1000)};
        if (pthread_cond_timedwait(&active->wait.wake, &coordinator->lock, &until) == ETIMEDOUT) {
            now_us = txn__now_us();
            ts_txn_admission_tick(&coordinator->admission, now_us);
            txn__wake_settled(coordinator);
            leave_when_stalled(coordinator, active, now_us);
        }
    }
    ts_txn_deadlock_end(&coordinator->detector, node);
    return waiter->state;
}

/* Returns false, with the cause, if the lag is limited and a standby of one of the transaction's stores
 * exceeds the limit. */
bool txn__standbys_keep_up(struct ts_coordinator *coordinator, struct txn__active *active) {
    const struct ts_txn_replication_config *config = &coordinator->config.replication;
    if (!ts_txn_lag_is_limited(config))
        return true;
    pthread_mutex_lock(&coordinator->lock);
    size_t place =
        ts_txn_lag_find(config, coordinator->lag_ms, active->request.stores, active->request.plan.part_count);
    uint64_t lag_ms = place == SIZE_MAX ? 0 : coordinator->lag_ms[place];
    pthread_mutex_unlock(&coordinator->lock);
    if (place == SIZE_MAX)
        return true;
    active->attempt.cause.kind = TS_TXN_CAUSE_REPLICATION_LAG;
    snprintf(active->attempt.text, sizeof active->attempt.text,
             "%.100s: a standby is %" PRIu64 " ms behind and replication.max_replication_lag_ms is %" PRIu64
             "; try again when it has caught up",
             ts_store_name(ts_cluster_store(coordinator->cluster, place)), lag_ms,
             config->max_replication_lag_ms);
    return false;
}

void txn__tell_open_breaker(const struct ts_coordinator *coordinator, uint32_t place, char *ret_text,
                            size_t size) {
    snprintf(ret_text, size,
             "%.100s: the circuit breaker is open after failures of this store; try again after "
             "breaker.recovery_timeout",
             ts_store_name(ts_cluster_store(coordinator->cluster, place)));
}

/* Each store has a breaker, so that a failing store does not block the others. Returns false, with the cause,
 * when the breaker of one of the transaction's stores is open. */
bool txn__pass_breakers(struct ts_coordinator *coordinator, struct txn__active *active) {
    uint64_t now_us = active->timing.begun_us; /* the time is still correct: nothing has waited since */
    size_t passed = 0;
    const size_t count = active->request.plan.part_count;
    pthread_mutex_lock(&coordinator->lock);
    while (passed < count && ts_txn_breaker_ask(&coordinator->breakers[active->request.stores[passed]],
                                                now_us, &active->request.permits[passed]))
        passed++;
    for (size_t i = 0; passed < count && i < passed; i++)
        ts_txn_breaker_report(&coordinator->breakers[active->request.stores[i]], &active->request.permits[i],
                              TS_TXN_BREAKER_TURNED_AWAY, now_us);
    pthread_mutex_unlock(&coordinator->lock);
    if (passed == count)
        return true;
    active->attempt.cause.kind = TS_TXN_CAUSE_BREAKER;
    txn__tell_open_breaker(coordinator, active->request.stores[passed], active->attempt.text,
                           sizeof active->attempt.text);
    return false;
}

/* Asks admission for a place. Returns false, with the cause, when the transaction is refused. */
bool txn__admit(struct ts_coordinator *coordinator, struct txn__active *active) {
    uint64_t now_us = txn__now_us();
    pthread_mutex_lock(&coordinator->lock);
    active->wait.waiter = (struct ts_txn_admission_waiter){.stores = active->request.stores};
    enum ts_txn_waiter_state state = queue_up(coordinator, active, now_us);
    if (state == TS_TXN_WAITER_REJECTED || state == TS_TXN_WAITER_SHED) {
        active->attempt.cause.kind = TS_TXN_CAUSE_ADMISSION;
        set_text(active->attempt.text, sizeof active->attempt.text,
                 state == TS_TXN_WAITER_SHED
                     ? "dropped from a full queue in favour of transactions with fewer stores; try again "
                       "later"
                     : "too many transactions at once; try again later, or raise admission.hard_limit");
    } else if (state == TS_TXN_WAITER_TIMED_OUT) {
        struct ts_txn_timeout_watch watch = {active->timing.begun_us, TS_TXN_TIMEOUT_COORD_QUEUE, now_us,
                                             true};
        enum ts_txn_timeout_phase over =
            ts_txn_timeout_over(&coordinator->config.timeouts, &watch, txn__now_us());
        active->attempt.cause = ts_txn_cause_of_timeout(over);
        snprintf(active->attempt.text, sizeof active->attempt.text,
                 "waited in the queue for longer than %s; try again later",
                 ts_txn_timeout_phase_setting(over));
    } else if (state == TS_TXN_WAITER_IDLE) {
        active->attempt.cause.kind = TS_TXN_CAUSE_DEADLOCK;
        set_text(active->attempt.text, sizeof active->attempt.text, active->wait.deadlock_text);
    }
    pthread_mutex_unlock(&coordinator->lock);
    ts_txn_breakdown_add(&active->timing.latency, TS_TXN_BREAKDOWN_COORD_QUEUE,
                         active->wait.waiter.waited_us);
    if (state == TS_TXN_WAITER_ADMITTED && active->wait.waiter.degraded)
        active->request.degrade = true;
    return state == TS_TXN_WAITER_ADMITTED;
}
