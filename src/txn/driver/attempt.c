/*
 * One attempt: turns the wishes of txn__run into calls, waits for them within their timeouts, and reports
 * their results.
 */
#include "driver.h"
#include "os/failpoint.h"

#include "os/clock.h"

#include <stddef.h>
#include <time.h>

enum {
    PAUSE_US = 10000,    /* pause before a store that did not answer is asked again */
    GIVE_WAY_US = 20000, /* how long an attempt that may be part of a cycle waits for a lock */
};

uint64_t txn__now_us(void) {
    return ts_clock_monotonic_ns() / 1000;
}

uint64_t txn__deadline_ns(uint64_t timeout_us) {
    return ts_clock_monotonic_ns() + timeout_us * 1000;
}

static enum ts_txn_timeout_phase phase_of(enum txn__wish wish) {
    switch (wish) {
    case TXN__WISH_PREPARE:
        return TS_TXN_TIMEOUT_PREPARE;
    case TXN__WISH_APPLY:
    case TXN__WISH_DECIDE:
    case TXN__WISH_REFUSE:
        return TS_TXN_TIMEOUT_LOCK_VALIDATE;
    case TXN__WISH_COMMIT:
        return TS_TXN_TIMEOUT_COMMIT;
    case TXN__WISH_LOOK:
    case TXN__WISH_RECORD:
    case TXN__WISH_ABORT:
    case TXN__WISH_FENCE:
    case TXN__WISH_FORGET:
    case TXN__WISH_NONE:
        break;
    }
    return TS_TXN_TIMEOUT_SHARD_RPC;
}

/* Returns whether the wish belongs to the cleanup after a failure. Cleanup has its own time, even when the
 * transaction's time has run out, so that no locks remain. */
static bool is_cleaning_up(enum txn__wish wish) {
    return phase_of(wish) == TS_TXN_TIMEOUT_SHARD_RPC || wish == TXN__WISH_REFUSE;
}

static struct ts_txn_timeout_watch watch_of(const struct txn__active *active,
                                            const struct txn__flight *flight) {
    return (struct ts_txn_timeout_watch){.txn_begun_us = active->timing.begun_us,
                                         .only_conflicts = active->request.only_conflicts,
                                         .phase = flight->phase,
                                         .call_begun_us = flight->begun_us};
}

static void set_deadline(const struct ts_coordinator *coordinator, struct txn__active *active, size_t member,
                         enum txn__wish wish) {
    struct txn__flight *flight = &active->timing.flights[member];
    flight->begun_us = txn__now_us();
    flight->phase = phase_of(wish);
    struct ts_txn_timeout_watch watch = watch_of(active, flight);
    flight->until_us = ts_txn_timeout_until_us(&coordinator->config.timeouts, &watch);
    if (is_cleaning_up(wish))
        flight->until_us = flight->begun_us + coordinator->config.timeouts.shard_rpc_us;
    active->attempt.calls[member].deadline_ns = flight->until_us * 1000;
    active->attempt.calls[member].lock_wait_max_us =
        wish == TXN__WISH_PREPARE && txn__active_gives_way(active)
            ? GIVE_WAY_US
            : ts_txn_timeout_lock_wait_us(&coordinator->config.timeouts, &watch);
}

static void fill_apply(struct txn__active *active, size_t member, enum txn__wish wish, struct ts_call *call) {
    struct txn__own *own = &active->attempt.own;
    const uint64_t registration =
        active->attempt.incarnation->seats[active->attempt.gid.decider].registration;
    own->count = 0;
    call->kind = TS_CALL_APPLY;
    if (wish == TXN__WISH_DECIDE) {
        txn__own_decide(&(struct txn__decide){&active->attempt.gid, registration,
                                              &active->attempt.participants, active->request.record,
                                              .taken = {0}},
                        own);
    } else if (wish == TXN__WISH_APPLY) {
        if (active->request.record)
            txn__own_outcome(&active->attempt.gid, TXN__RECORDED_COMMITTED, own);
    } else if (wish == TXN__WISH_REFUSE && active->attempt.run.count > 1) {
        txn__own_refuse(
            &(struct txn__refuse){&active->attempt.gid, registration, .record = active->request.record}, own);
    } else {
        txn__own_outcome(&active->attempt.gid, TXN__RECORDED_ABORTED, own);
    }
    bool with_part = wish == TXN__WISH_DECIDE || wish == TXN__WISH_APPLY;
    call->batch = with_part ? txn__active_part(active, member, own) : txn__own_batch(own);
}

static void fill_call(struct txn__active *active, size_t member, enum txn__wish wish) {
    struct ts_call *call = &active->attempt.calls[member];
    call->gid = active->attempt.id;
    switch (wish) {
    case TXN__WISH_PREPARE:
        call->kind = TS_CALL_PREPARE;
        call->batch = txn__active_part(active, member, NULL);
        return;
    case TXN__WISH_COMMIT:
        call->kind = TS_CALL_COMMIT;
        return;
    case TXN__WISH_ABORT:
        call->kind = TS_CALL_ABORT;
        return;
    case TXN__WISH_LOOK:
        call->kind = TS_CALL_READ;
        txn__look_keys_init(&active->attempt.look_keys, &active->attempt.gid);
        call->keys = active->attempt.look_keys.bytes;
        call->key_count = TXN__LOOK_KEYS;
        call->rows = &active->attempt.rows;
        return;
    case TXN__WISH_APPLY:
    case TXN__WISH_DECIDE:
    case TXN__WISH_REFUSE:
    case TXN__WISH_RECORD:
        fill_apply(active, member, wish, call);
        return;
    case TXN__WISH_NONE:
    case TXN__WISH_FENCE:
    case TXN__WISH_FORGET:
        break;
    }
    ts_unreachable("a coordinator does not wish for that");
}

static bool failpoint_before(enum txn__wish wish) {
    if (wish == TXN__WISH_PREPARE)
        return ts_failpoint(TS_FAILPOINT_BEFORE_PREPARE);
    return wish == TXN__WISH_DECIDE && ts_failpoint(TS_FAILPOINT_BEFORE_COMMIT_POINT);
}

static void failpoint_after(enum txn__wish wish, enum ts_store_result result) {
    if (result != TS_STORE_OK)
        return;
    if (wish == TXN__WISH_PREPARE)
        (void)ts_failpoint(TS_FAILPOINT_AFTER_PREPARE);
    else if (wish == TXN__WISH_DECIDE)
        (void)ts_failpoint(TS_FAILPOINT_AFTER_COMMIT_POINT);
    else if (wish == TXN__WISH_COMMIT)
        (void)ts_failpoint(TS_FAILPOINT_AFTER_COMMIT);
}

/* Returns the phase whose timeout made a call fail, or NONE if the call failed for another reason. */
static enum ts_txn_timeout_phase phase_over(const struct ts_coordinator *coordinator,
                                            const struct txn__active *active, size_t member) {
    enum ts_store_result result = active->attempt.calls[member].error.result;
    if (result != TS_STORE_TIMED_OUT && result != TS_STORE_UNKNOWN)
        return TS_TXN_TIMEOUT_NONE;
    struct ts_txn_timeout_watch watch = watch_of(active, &active->timing.flights[member]);
    return ts_txn_timeout_over(&coordinator->config.timeouts, &watch, txn__now_us());
}

/* Keeps the cause of the transaction's first failure for the caller. For a late commit, which is no failure,
 * keeps only the timeout that explains why the commit is pending. */
static void keep_cause(const struct ts_coordinator *coordinator, struct txn__active *active, size_t member,
                       enum txn__wish wish) {
    const struct ts_call *call = &active->attempt.calls[member];
    enum ts_txn_timeout_phase over = phase_over(coordinator, active, member);
    if (wish == TXN__WISH_COMMIT && active->attempt.pending == TS_TXN_TIMEOUT_NONE)
        active->attempt.pending = over;
    if (call->error.result == TS_STORE_OK || active->attempt.cause.kind != TS_TXN_CAUSE_NONE ||
        (wish != TXN__WISH_APPLY && wish != TXN__WISH_PREPARE && wish != TXN__WISH_DECIDE))
        return;
    if (active->wait.deadlocked)
        active->attempt.cause.kind = TS_TXN_CAUSE_DEADLOCK;
    else if (over != TS_TXN_TIMEOUT_NONE) {
        active->attempt.cause = ts_txn_cause_of_timeout(over);
        active->attempt.cause.unanswered = call->error.result == TS_STORE_UNKNOWN;
    } else
        active->attempt.cause = ts_txn_cause_of_store(call);
    memcpy(active->attempt.text, active->wait.deadlocked ? active->wait.deadlock_text : call->error.text,
           sizeof active->attempt.text);
}

/* Adds the time since the last change of state to the phase that has ended. The time spent waiting for locks
 * is added to LOCK_VALIDATE instead. */
static void keep_time(struct txn__timing *timing, uint32_t decider, enum txn__run_state before,
                      uint64_t now_us) {
    uint64_t took = now_us - timing->phase_begun_us;
    uint64_t locks = timing->phase_lock_us < took ? timing->phase_lock_us : took;
    timing->phase_begun_us = now_us;
    timing->phase_lock_us = 0;
    ts_txn_breakdown_add(&timing->latency, TS_TXN_BREAKDOWN_LOCK_VALIDATE, locks);
    switch (before) {
    case TXN__RUN_PREPARING:
        ts_txn_breakdown_add(&timing->latency, TS_TXN_BREAKDOWN_PREPARE_WAL, took - locks);
        return;
    case TXN__RUN_DECIDING:
        ts_txn_breakdown_add(&timing->latency, TS_TXN_BREAKDOWN_COMMIT_BARRIER, took - locks);
        return;
    case TXN__RUN_APPLYING:
    case TXN__RUN_COMMITTING:
        ts_txn_breakdown_add(&timing->latency, TS_TXN_BREAKDOWN_COMMIT_WAL, took - locks);
        return;
    case TXN__RUN_LOOKING:
    case TXN__RUN_REFUSING:
    case TXN__RUN_ABORTING:
        ts_txn_breakdown_add_rpc(&timing->latency, (struct ts_txn_breakdown_rpc){decider, took - locks});
        return;
    case TXN__RUN_DONE:
        return;
    }
}

static void reply(struct ts_coordinator *coordinator, struct txn__active *active, size_t member) {
    struct ts_call *call = &active->attempt.calls[member];
    enum txn__wish wish = active->attempt.members[member].flying;
    enum txn__run_state before = active->attempt.run.state;
    struct txn__timing *timing = &active->timing;
    uint64_t now_us = timing->replied_us = txn__now_us();
    uint64_t took = now_us - timing->flights[member].begun_us;
    if (took > timing->rpc_us[member])
        timing->rpc_us[member] = took;
    if (call->lock_wait_us > timing->phase_lock_us)
        timing->phase_lock_us = call->lock_wait_us;
    timing->lock_wait_us[member] += call->lock_wait_us;
    timing->stall_us += call->stall_us;
    failpoint_after(wish, call->error.result);
    keep_cause(coordinator, active, member, wish);
    if (wish == TXN__WISH_LOOK && call->error.result == TS_STORE_OK)
        txn__look_decode(&active->attempt.rows, call->time_ms, &active->attempt.look);
    txn__run_reply(&active->attempt.run, member, &call->error, &active->attempt.look);
    if (active->attempt.run.state != before)
        keep_time(timing, active->attempt.gid.decider, before, now_us);
}

static void start(struct ts_coordinator *coordinator, struct txn__active *active, size_t member,
                  enum txn__wish wish) {
    struct ts_call *call = &active->attempt.calls[member];
    fill_call(active, member, wish);
    set_deadline(coordinator, active, member, wish);
    if (failpoint_before(wish)) {
        call->done = true;
        call->error = (struct ts_store_error){
            .result = TS_STORE_FAILED, .sqlstate = "XX000", .op = SIZE_MAX, .text = "a failpoint"};
        call->lock_wait_us = call->stall_us = 0;
        return;
    }
    ts_store_start(ts_cluster_store(coordinator->cluster, active->attempt.members[member].place), call);
}

void txn__find_deadlocks(struct ts_coordinator *coordinator, uint64_t now_us) {
    struct ts_txn_deadlock_report report;
    while (ts_txn_deadlock_next(&coordinator->detector, now_us, &report)) {
        struct txn__active *other =
            (struct txn__active *)((char *)report.node - offsetof(struct txn__active, wait.deadlock));
        ts_txn_deadlock_describe(&report, other->wait.deadlock_text, sizeof other->wait.deadlock_text);
    }
}

static struct ts_txn_wait_reason reason_of(const struct txn__active *active) {
    switch (active->attempt.run.state) {
    case TXN__RUN_PREPARING:
        for (size_t i = 0; i < active->attempt.run.count; i++) {
            if (active->attempt.members[i].flying != TXN__WISH_NONE)
                return (struct ts_txn_wait_reason){TS_TXN_WAIT_SHARD_LOCK_WAIT,
                                                   active->attempt.members[i].place};
        }
        break;
    case TXN__RUN_APPLYING:
    case TXN__RUN_DECIDING:
        return (struct ts_txn_wait_reason){TS_TXN_WAIT_VALIDATE, 0};
    case TXN__RUN_COMMITTING:
        return (struct ts_txn_wait_reason){TS_TXN_WAIT_WAL_WRITE, 0};
    case TXN__RUN_LOOKING:
    case TXN__RUN_REFUSING:
    case TXN__RUN_ABORTING:
    case TXN__RUN_DONE:
        break;
    }
    return (struct ts_txn_wait_reason){TS_TXN_WAIT_COMMIT_BARRIER, 0};
}

/* Ends all calls of the transaction now, because the deadlock detector wants it aborted. The results of the
 * calls decide how the transaction continues. */
static void cancel_all(struct txn__active *active) {
    active->wait.deadlocked = true;
    for (size_t i = 0; i < active->attempt.run.count; i++) {
        if (active->attempt.members[i].flying != TXN__WISH_NONE && !active->attempt.calls[i].done)
            ts_store_cancel(&active->attempt.calls[i]);
    }
}

/* Called when the caller must stop. Ends the calls, except those of the cleanup after a failure. */
static void cancel_for_stop(struct txn__active *active) {
    for (size_t i = 0; i < active->attempt.run.count; i++) {
        const enum txn__wish wish = active->attempt.members[i].flying;
        if (wish == TXN__WISH_NONE || is_cleaning_up(wish) || active->attempt.calls[i].done)
            continue;
        active->wait.stopped = true;
        ts_store_cancel(&active->attempt.calls[i]);
    }
}

/* Returns the time at which a wait ends even if no event happens; 0: no such time. */
static uint64_t wait_until_ns(const struct txn__active *active, uint64_t now_us, uint64_t stall_us) {
    const uint64_t stall_ns = stall_us > now_us ? stall_us * 1000 : 0;
    if (active->request.stop.must == NULL)
        return stall_ns;
    const uint64_t ask_ns = now_us * 1000 + TS_TXN_STOP_NS;
    return stall_ns == 0 || ask_ns < stall_ns ? ask_ns : stall_ns;
}

static void wait_for_some(struct ts_coordinator *coordinator, struct txn__active *active) {
    size_t count = 0;
    for (size_t i = 0; i < active->attempt.run.count; i++) {
        if (active->attempt.members[i].flying != TXN__WISH_NONE)
            active->attempt.waiting[count++] = &active->attempt.calls[i];
    }
    struct ts_txn_deadlock_node *node = &active->wait.deadlock;
    uint64_t now_us = txn__now_us();
    pthread_mutex_lock(&coordinator->lock);
    node->reason = reason_of(active);
    node->may_abort =
        !txn__run_is_decided(&active->attempt.run) && active->attempt.run.state != TXN__RUN_ABORTING;
    if (!active->wait.watched)
        ts_txn_deadlock_begin(&coordinator->detector, node, now_us);
    active->wait.watched = true;
    uint64_t stall_us = node->since_us + coordinator->config.deadlock.timeout_us;
    pthread_mutex_unlock(&coordinator->lock);

    ts_store_wait(active->attempt.waiting, count, wait_until_ns(active, now_us, stall_us));
    if (ts_txn_must_stop(&active->request.stop))
        cancel_for_stop(active);
    if (txn__now_us() < stall_us)
        return;
    pthread_mutex_lock(&coordinator->lock);
    txn__find_deadlocks(coordinator, txn__now_us());
    bool abort = node->abort_wanted && !active->wait.deadlocked;
    pthread_mutex_unlock(&coordinator->lock);
    if (abort)
        cancel_all(active);
}

static void stop_waiting(struct ts_coordinator *coordinator, struct txn__active *active) {
    if (!active->wait.watched)
        return;
    active->wait.watched = false;
    pthread_mutex_lock(&coordinator->lock);
    ts_txn_deadlock_end(&coordinator->detector, &active->wait.deadlock);
    pthread_mutex_unlock(&coordinator->lock);
}

/* Reports finished calls to the machine. Returns false when no call has finished. With just_started, asks no
 * server: a server cannot have answered a call that was just started. */
static bool collect(struct ts_coordinator *coordinator, struct txn__active *active, bool just_started) {
    bool any = false;
    for (size_t i = 0; i < active->attempt.run.count; i++) {
        if (active->attempt.members[i].flying == TXN__WISH_NONE)
            continue;
        if (active->attempt.calls[i].done || (!just_started && ts_store_poll(&active->attempt.calls[i]))) {
            reply(coordinator, active, i);
            any = true;
        }
    }
    return any;
}

/* Called when a store did not answer. If the time has run out or the caller must stop, gives up. Otherwise
 * waits before the next try. */
static void pause_or_give_up(const struct ts_coordinator *coordinator, struct txn__active *active) {
    uint64_t end_us = active->timing.begun_us + coordinator->config.timeouts.total_us;
    if (txn__now_us() + PAUSE_US >= end_us || ts_txn_must_stop(&active->request.stop)) {
        txn__run_give_up(&active->attempt.run);
        return;
    }
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_US * 1000L}, NULL);
}

void txn__run_attempt(struct ts_coordinator *coordinator, struct txn__active *active) {
    struct txn__run *run = &active->attempt.run;
    active->timing.phase_begun_us = active->timing.replied_us = txn__now_us();
    while (!txn__run_is_done(run)) {
        if (run->pause)
            pause_or_give_up(coordinator, active);
        enum txn__wish wish;
        size_t member;
        bool just_started = false;
        while ((member = txn__run_next(run, &wish)) != SIZE_MAX) {
            start(coordinator, active, member, wish);
            just_started = true;
        }
        if (!collect(coordinator, active, just_started) && !txn__run_is_done(run))
            wait_for_some(coordinator, active);
    }
    stop_waiting(coordinator, active);
}

void txn__calls_run(struct ts_call *const *calls, size_t count) {
    for (bool busy = true; busy;) {
        busy = false;
        for (size_t i = 0; i < count; i++)
            busy = (calls[i] != NULL && !calls[i]->done && !ts_store_poll(calls[i])) || busy;
        if (busy)
            ts_store_wait(calls, count, UINT64_MAX);
    }
}
