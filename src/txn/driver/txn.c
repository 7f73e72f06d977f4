/*
 * Runs a transaction: classifies and admits it, attempts it, retries if necessary, and reports the result.
 *
 * No transaction goes to a store whose standbys are too far behind or whose breaker is open. Otherwise local
 * transactions go directly to their store. Global transactions pass admission first, and keep their place in
 * admission during retries.
 */
#include "driver.h"

#include "base/checked.h"
#include "base/redact.h"

#include <time.h>

/* After an attempt gave way at a store, all transactions take locks in order on that store for this long. */
enum { IN_ORDER_US = 1000000 };

static void set_text(char *ret_text, size_t size, const char *text) {
    snprintf(ret_text, size, "%s", text);
}

/* Fills in the result of a transaction that was refused before any call to a store. */
static void refuse(struct ts_txn_result *result, const char *sqlstate, enum ts_store_result reason,
                   const char *text) {
    result->outcome = TS_TXN_REFUSED;
    result->reason = reason;
    set_text(result->sqlstate, sizeof result->sqlstate, sqlstate);
    set_text(result->text, sizeof result->text, text);
}

static void clear_result(struct ts_txn_result *result) {
    result->outcome = TS_TXN_REFUSED;
    result->sqlstate[0] = result->id[0] = result->text[0] = '\0';
    result->global = false;
    result->op = SIZE_MAX;
    result->reason = TS_STORE_OK;
    result->cause = result->timeout = NULL;
    result->attempts = 0;
    result->version = 0;
    result->latency = (struct ts_txn_latency){0};
    result->place_count = 0;
}

static struct txn__active *take_active(struct ts_coordinator *coordinator) {
    pthread_mutex_lock(&coordinator->lock);
    struct txn__active *active = coordinator->free_active;
    if (active != NULL)
        coordinator->free_active = active->next;
    pthread_mutex_unlock(&coordinator->lock);
    if (active != NULL)
        return active;
    active = txn__active_new(coordinator);
    if (active == NULL)
        return NULL;
    pthread_mutex_lock(&coordinator->lock);
    active->next_of_all = coordinator->active;
    coordinator->active = active;
    pthread_mutex_unlock(&coordinator->lock);
    return active;
}

/* Returns whether the caller, a user or one of our layers, may write this key. */
static bool key_is_allowed(struct ts_bytes key, bool system) {
    if (key.len == 0 || key.data[0] != TS_TXN_RESERVED_BYTE)
        return true;
    return system && !txn__key_is_ours(key);
}

static bool has_key(const struct ts_op *op) {
    return op->kind != TS_OP_BEFORE;
}

/* Returns the current incarnation with the lock held. For a global transaction, the incarnation is registered
 * on the deciding store. On failure returns NULL with the cause, without the lock. */
static struct txn__incarnation *take_incarnation_and_lock(struct ts_coordinator *coordinator,
                                                          struct txn__active *active, size_t decider) {
    uint32_t place = active->request.plan.parts[decider].place;
    for (;;) {
        pthread_mutex_lock(&coordinator->lock);
        struct txn__incarnation *incarnation = txn__incarnation_current(coordinator);
        bool ready = incarnation != NULL &&
                     (!txn__plan_is_global(&active->request.plan) || incarnation->seats[place].registered);
        if (incarnation != NULL)
            incarnation->users++;
        if (ready)
            return incarnation;
        pthread_mutex_unlock(&coordinator->lock);
        struct ts_store_error error = {.result = TS_STORE_FAILED,
                                       .sqlstate = "XX000",
                                       .op = SIZE_MAX,
                                       .text = "no memory or no random bytes for a new coordinator; try "
                                               "again"};
        uint64_t begun_us = txn__now_us();
        bool registered = incarnation != NULL && txn__seat_take(coordinator, incarnation, place, &error);
        ts_txn_breakdown_add_rpc(&active->timing.latency,
                                 (struct ts_txn_breakdown_rpc){place, txn__now_us() - begun_us});
        pthread_mutex_lock(&coordinator->lock);
        if (incarnation != NULL)
            incarnation->users--;
        pthread_mutex_unlock(&coordinator->lock);
        if (!registered && error.result != TS_STORE_OK) {
            struct ts_call call = {.kind = TS_CALL_READ, .error = error};
            active->attempt.cause = error.result == TS_STORE_TIMED_OUT || error.result == TS_STORE_UNKNOWN
                                        ? ts_txn_cause_of_timeout(TS_TXN_TIMEOUT_SHARD_RPC)
                                        : ts_txn_cause_of_store(&call);
            memcpy(active->attempt.text, error.text, sizeof active->attempt.text);
            return NULL;
        }
    }
}

/*
 * Returns whether the next attempt takes locks in order. Attempts with parallel prepares are fast, but may
 * wait in a cycle, so they give way. After such an attempt has met a lock, its transaction takes locks in
 * order. For a while, all other transactions on the store with this lock also take their locks in order. The
 * caller holds coordinator->lock.
 */
static bool takes_locks_in_order(const struct ts_coordinator *coordinator, const struct txn__active *active) {
    bool in_order = active->request.met_locks;
    for (size_t i = 0; i < active->request.plan.part_count && !in_order; i++)
        in_order =
            active->timing.begun_us < coordinator->in_order_until_us[active->request.plan.parts[i].place];
    return in_order;
}

static void prepare_members(struct txn__active *active, size_t decider, bool in_order) {
    const struct txn__plan *plan = &active->request.plan;
    active->attempt.participants = (struct txn__places){{0}};
    for (size_t i = 0; i < plan->part_count; i++) {
        active->attempt.members[i] = (struct txn__member){.place = plan->parts[i].place};
        active->timing.rpc_us[i] = active->timing.lock_wait_us[i] = 0;
        if (i != decider)
            txn__places_add(&active->attempt.participants, plan->parts[i].place);
    }
    struct txn__run_options options = {.record = active->request.record,
                                       .degrade = active->request.degrade,
                                       .in_order = in_order && plan->part_count > 1};
    txn__run_init(&active->attempt.run, active->attempt.members, plan->part_count, decider, &options);
    active->attempt.run.own_ops_from = plan->parts[decider].count;
}

/* Gives the attempt its name, its decider and its entry. Returns false, with the cause, when the attempt
 * cannot begin. */
static bool begin_attempt(struct ts_coordinator *coordinator, struct txn__active *active) {
    bool global = txn__plan_is_global(&active->request.plan);
    size_t decider = global ? txn__plan_decider(&active->request.plan) : 0;
    if (!txn__active_arrange(active, decider)) {
        struct ts_call call = {.kind = TS_CALL_APPLY,
                               .error = {.result = TS_STORE_FAILED, .sqlstate = "53200"}};
        active->attempt.cause = ts_txn_cause_of_store(&call);
        set_text(active->attempt.text, sizeof active->attempt.text, "out of memory");
        return false;
    }
    struct txn__incarnation *incarnation = take_incarnation_and_lock(coordinator, active, decider);
    if (incarnation == NULL)
        return false;
    active->attempt.incarnation = incarnation;
    memcpy(active->attempt.gid.cluster, coordinator->cluster_id, sizeof active->attempt.gid.cluster);
    active->attempt.gid.coordinator = incarnation->uuid;
    active->attempt.gid.decider = active->request.plan.parts[decider].place;
    active->attempt.gid.sequence =
        txn__marks_next_sequence(&incarnation->marks, global && active->request.record);
    active->attempt.entry = global ? txn__entry_take(coordinator) : NULL;
    if (active->attempt.entry != NULL)
        txn__marks_begin(&incarnation->marks, active->attempt.entry, active->attempt.gid.sequence,
                         active->attempt.gid.decider);
    if (global && active->attempt.entry == NULL)
        incarnation->users--;
    bool in_order = takes_locks_in_order(coordinator, active);
    pthread_mutex_unlock(&coordinator->lock);
    if (global && active->attempt.entry == NULL) {
        active->attempt.cause =
            (struct ts_txn_cause){.kind = TS_TXN_CAUSE_STORE, .result = TS_STORE_FAILED, .sqlstate = "53200"};
        set_text(active->attempt.text, sizeof active->attempt.text, "out of memory");
        return false;
    }
    txn__gid_format(&active->attempt.gid, active->attempt.id);
    prepare_members(active, decider, in_order);
    if (active->attempt.entry != NULL) {
        active->attempt.entry->participants = active->attempt.participants;
        active->attempt.entry->record = active->request.record;
    }
    return true;
}

/* Updates the marks at the end of an attempt. The caller holds the lock. */
static void end_entry(struct ts_coordinator *coordinator, struct txn__active *active) {
    struct txn__incarnation *incarnation = active->attempt.incarnation;
    struct txn__entry *entry = active->attempt.entry;
    struct txn__places pending = {{0}};
    for (size_t i = 0; i < active->attempt.run.count; i++) {
        if (active->attempt.members[i].promised)
            txn__places_add(&pending, active->attempt.members[i].place);
    }
    switch (active->attempt.run.outcome) {
    case TS_TXN_COMMITTED:
    case TS_TXN_COMMITTED_PENDING:
        txn__marks_committed(&incarnation->marks, entry, &pending);
        if (entry->state == TXN__ENTRY_PENDING) {
            coordinator->pressing = true;
            pthread_cond_signal(&coordinator->care_wake);
        }
        return;
    case TS_TXN_UNKNOWN:
        if (active->attempt.run.why != TXN__WHY_FENCED) {
            txn__marks_unsettled(entry);
            coordinator->pressing = true;
            return;
        }
        incarnation->seats[entry->decider].fenced = true;
        txn__incarnation_retire(coordinator, incarnation);
        break;
    case TS_TXN_ABORTED:
    case TS_TXN_REFUSED:
        incarnation->seats[entry->decider].dirty = true;
        break;
    }
    txn__marks_end(&incarnation->marks, entry);
    txn__entry_give(coordinator, entry);
}

static enum ts_txn_conflict_outcome conflict_of(const struct txn__active *active, size_t member) {
    if (active->attempt.run.outcome == TS_TXN_COMMITTED ||
        active->attempt.run.outcome == TS_TXN_COMMITTED_PENDING)
        return TS_TXN_CONFLICT_COMMITTED;
    if (active->attempt.run.failed_member != member || active->attempt.cause.kind == TS_TXN_CAUSE_NONE)
        return TS_TXN_CONFLICT_OTHER;
    switch (ts_txn_cause_reason(&active->attempt.cause)) {
    case TS_TXN_ABORT_CONFLICT:
        return TS_TXN_CONFLICT_CONFLICT;
    case TS_TXN_ABORT_TIMEOUT:
    case TS_TXN_ABORT_DEADLOCK:
        return TS_TXN_CONFLICT_TIMEOUT;
    case TS_TXN_ABORT_TRANSIENT:
    case TS_TXN_ABORT_PERMANENT:
    case TS_TXN_ABORT_LOST_REPLY:
    case TS_TXN_ABORT_ADMISSION:
    case TS_TXN_ABORT_CIRCUIT_BREAKER:
    case TS_TXN_ABORT_REPLICATION_LAG:
    case TS_TXN_ABORT_RESOLVER:
    case TS_TXN_ABORT_FENCED:
    case TS_TXN_ABORT_REASON_COUNT:
        break;
    }
    return TS_TXN_CONFLICT_OTHER;
}

/* Updates the conflict rates of the stores, and the limits of transactions in flight that depend on these
 * rates. The caller holds the lock. */
static void keep_conflicts(struct ts_coordinator *coordinator, const struct txn__active *active,
                           uint64_t now_us) {
    for (size_t i = 0; i < active->attempt.run.count; i++) {
        uint32_t place = active->attempt.members[i].place;
        struct ts_txn_conflict_tracker *tracker = &coordinator->conflicts[place];
        ts_txn_conflict_record(
            tracker, (struct ts_txn_conflict_event){conflict_of(active, i), active->timing.lock_wait_us[i]},
            now_us);
        if (now_us < coordinator->adaptive[place].next_us)
            continue;
        struct ts_txn_conflict_view view = ts_txn_conflict_view(tracker, now_us);
        if (ts_txn_adaptive_step(&coordinator->adaptive[place], &coordinator->config.adaptive, &view,
                                 now_us)) {
            ts_txn_admission_set_store_limit(
                &coordinator->admission,
                (struct ts_txn_store_limit){place, coordinator->adaptive[place].limit}, now_us);
            txn__wake_settled(coordinator);
        }
    }
}

/* Replaces the cause if the attempt found out after its first failure that a resolver had aborted the
 * transaction or that this process was fenced. */
static void complete_cause(struct txn__active *active) {
    switch (active->attempt.run.why) {
    case TXN__WHY_RESOLVER:
        active->attempt.cause = (struct ts_txn_cause){.kind = TS_TXN_CAUSE_RESOLVER};
        set_text(
            active->attempt.text, sizeof active->attempt.text,
            "a resolver aborted it because it took longer than timeouts.total or its process seemed dead; "
            "try again");
        return;
    case TXN__WHY_FENCED:
        active->attempt.cause = (struct ts_txn_cause){.kind = TS_TXN_CAUSE_FENCED};
        set_text(active->attempt.text, sizeof active->attempt.text,
                 "this process was fenced while the transaction was in progress; ask for its status");
        return;
    case TXN__WHY_NONE:
    case TXN__WHY_STORE:
    case TXN__WHY_LOST:
    case TXN__WHY_GIVEN_UP:
        return;
    }
}

/* Records in the request whether the attempt met a lock, for the next attempt. The caller holds the lock. */
static void keep_locks_met(struct ts_coordinator *coordinator, struct txn__active *active, uint64_t now_us) {
    bool met_a_lock = active->attempt.cause.kind != TS_TXN_CAUSE_NONE &&
                      ts_txn_error_classify(&active->attempt.cause).met_a_lock;
    active->request.only_conflicts = active->request.only_conflicts && met_a_lock;
    if (!met_a_lock)
        return;
    active->request.met_locks = true;
    if (txn__active_gives_way(active) && active->attempt.run.failed_member < active->attempt.run.count) {
        uint32_t place = active->attempt.members[active->attempt.run.failed_member].place;
        coordinator->in_order_until_us[place] = now_us + IN_ORDER_US;
    }
}

static void end_attempt(struct ts_coordinator *coordinator, struct txn__active *active) {
    complete_cause(active);
    uint64_t now_us = active->timing.replied_us;
    pthread_mutex_lock(&coordinator->lock);
    if (active->attempt.entry != NULL)
        end_entry(coordinator, active);
    active->attempt.entry = NULL;
    active->attempt.incarnation->users--;
    keep_conflicts(coordinator, active, now_us);
    keep_locks_met(coordinator, active, now_us);
    if (active->attempt.run.reason == TS_STORE_LOCK_CONFLICT ||
        active->attempt.run.reason == TS_STORE_TIMED_OUT) {
        coordinator->nudged = true;
        pthread_cond_signal(&coordinator->care_wake);
    }
    pthread_mutex_unlock(&coordinator->lock);
}

static bool is_committed(const struct txn__active *active) {
    return active->attempt.run.outcome == TS_TXN_COMMITTED ||
           active->attempt.run.outcome == TS_TXN_COMMITTED_PENDING;
}

/* Called when an attempt met a lock and no other attempt is allowed. Sets the cause to the reason why there
 * is no further attempt, or appends this reason to the text. */
static void blame_what_ended_retries(struct txn__active *active, enum ts_txn_retry_decision decision) {
    if (decision == TS_TXN_RETRY_CEILING || decision == TS_TXN_RETRY_TOTAL) {
        active->attempt.cause = ts_txn_cause_of_timeout(
            decision == TS_TXN_RETRY_TOTAL ? TS_TXN_TIMEOUT_TOTAL : TS_TXN_TIMEOUT_RETRY_CEILING);
        return;
    }
    size_t len = strlen(active->attempt.text);
    snprintf(active->attempt.text + len, sizeof active->attempt.text - len, "; %s",
             ts_txn_retry_decision_name(decision));
}

/* Waits for the backoff. Returns false if the caller must stop. */
static bool back_off(const struct ts_txn_stop *stop, uint64_t backoff_us) {
    const uint64_t end_us = txn__now_us() + backoff_us;
    const uint64_t most_us = stop->must != NULL ? TS_TXN_STOP_NS / 1000 : UINT64_MAX;
    for (uint64_t now_us = txn__now_us(); now_us < end_us && !ts_txn_must_stop(stop);
         now_us = txn__now_us()) {
        const uint64_t us = end_us - now_us < most_us ? end_us - now_us : most_us;
        const struct timespec pause = {.tv_sec = (time_t)(us / 1000000),
                                       .tv_nsec = (long)(us % 1000000 * 1000)};
        nanosleep(&pause, NULL);
    }
    return !ts_txn_must_stop(stop);
}

/* Returns whether to try again. If so, the backoff is already over. */
static bool again(struct ts_coordinator *coordinator, struct txn__active *active, struct ts_txn_retry *retry,
                  bool once) {
    if (once || active->attempt.run.outcome != TS_TXN_ABORTED ||
        active->attempt.cause.kind == TS_TXN_CAUSE_NONE)
        return false;
    struct ts_txn_error_verdict verdict = ts_txn_error_classify(&active->attempt.cause);
    uint64_t backoff_us = 0;
    retry->gave_way = txn__active_gives_way(active);
    pthread_mutex_lock(&coordinator->lock);
    enum ts_txn_retry_decision decision = ts_txn_retry_next(retry, &coordinator->config, &verdict,
                                                            txn__now_us(), &coordinator->prng, &backoff_us);
    pthread_mutex_unlock(&coordinator->lock);
    if (decision != TS_TXN_RETRY_AGAIN) {
        if (verdict.met_a_lock)
            blame_what_ended_retries(active, decision);
        return false;
    }
    active->request.retries = retry->retries;
    ts_txn_breakdown_add(&active->timing.latency, TS_TXN_BREAKDOWN_RETRY_BACKOFF, backoff_us);
    return back_off(&active->request.stop, backoff_us);
}

/* Runs all attempts. Returns false when the last attempt could not even begin. */
static bool run_attempts(struct ts_coordinator *coordinator, struct txn__active *active, bool once,
                         struct ts_txn_result *result) {
    struct ts_txn_retry retry;
    ts_txn_retry_init(&retry, active->timing.begun_us);
    for (;;) {
        active->attempt.cause = (struct ts_txn_cause){.kind = TS_TXN_CAUSE_NONE};
        active->attempt.pending = TS_TXN_TIMEOUT_NONE;
        active->attempt.text[0] = '\0';
        active->wait.deadlocked = false;
        active->attempt.run.outcome = TS_TXN_ABORTED;
        active->attempt.run.count = 0;
        active->attempt.run.options = (struct txn__run_options){0};
        active->attempt.run.reason = TS_STORE_OK;
        active->attempt.run.failed_op = SIZE_MAX;
        result->attempts++;
        bool begun = begin_attempt(coordinator, active);
        if (begun) {
            txn__run_attempt(coordinator, active);
            end_attempt(coordinator, active);
        }
        if (!again(coordinator, active, &retry, once))
            return begun;
    }
}

static enum ts_txn_end end_of(enum ts_txn_outcome outcome) {
    switch (outcome) {
    case TS_TXN_COMMITTED:
        return TS_TXN_END_COMMITTED;
    case TS_TXN_COMMITTED_PENDING:
        return TS_TXN_END_COMMITTED_PENDING;
    case TS_TXN_UNKNOWN:
        return TS_TXN_END_UNKNOWN;
    case TS_TXN_ABORTED:
    case TS_TXN_REFUSED:
        break;
    }
    return TS_TXN_END_ABORTED;
}

static void fill_latency(const struct txn__active *active, struct ts_txn_latency *ret_latency) {
    const uint64_t *us = active->timing.latency.us;
    *ret_latency = (struct ts_txn_latency){
        .coord_queue_us = us[TS_TXN_BREAKDOWN_COORD_QUEUE],
        .route_plan_us = us[TS_TXN_BREAKDOWN_ROUTE_PLAN],
        .other_rpc_us = us[TS_TXN_BREAKDOWN_SHARD_RPC],
        .read_phase_us = us[TS_TXN_BREAKDOWN_READ_PHASE],
        .lock_validate_us = us[TS_TXN_BREAKDOWN_LOCK_VALIDATE],
        .prepare_wal_us = us[TS_TXN_BREAKDOWN_PREPARE_WAL],
        .commit_barrier_us = us[TS_TXN_BREAKDOWN_COMMIT_BARRIER],
        .commit_wal_us = us[TS_TXN_BREAKDOWN_COMMIT_WAL],
        .replication_ack_us = us[TS_TXN_BREAKDOWN_REPLICATION_ACK],
        .gc_impact_us = us[TS_TXN_BREAKDOWN_GC_IMPACT],
        .retry_backoff_us = us[TS_TXN_BREAKDOWN_RETRY_BACKOFF],
        .total_us = active->timing.latency.total_us,
    };
}

/* Returns the index of the failed operation in the caller's list; SIZE_MAX if that is not known. */
static size_t failed_op(const struct txn__active *active) {
    const struct txn__run *run = &active->attempt.run;
    if (run->failed_op == SIZE_MAX || run->failed_member >= run->count ||
        run->failed_op >= active->request.plan.parts[run->failed_member].count)
        return SIZE_MAX;
    if (active->attempt.arranged_in_place)
        return run->failed_op;
    return active->attempt.origins[active->attempt.part_from[run->failed_member] + run->failed_op];
}

static void fill_places(const struct txn__active *active, struct ts_txn_result *result) {
    bool global = txn__plan_is_global(&active->request.plan);
    result->place_count = active->request.plan.part_count;
    for (size_t i = 0; i < active->request.plan.part_count; i++) {
        bool began = active->attempt.run.count > 0;
        result->places[i] = (struct ts_txn_place){
            .place = active->request.plan.parts[i].place,
            .decider = global && began && i == active->attempt.run.decider,
            .pending = active->attempt.run.outcome == TS_TXN_COMMITTED_PENDING &&
                       active->attempt.members[i].promised,
            .rpc_us = began ? active->timing.rpc_us[i] : 0,
        };
    }
}

static void fill_result(struct txn__active *active, bool admitted, struct ts_txn_result *result) {
    result->global = txn__plan_is_global(&active->request.plan);
    fill_places(active, result);
    fill_latency(active, &result->latency);
    for (size_t i = 0; i < result->place_count; i++)
        if (result->places[i].rpc_us > result->latency.shard_rpc_max_us)
            result->latency.shard_rpc_max_us = result->places[i].rpc_us;
    result->outcome = admitted ? active->attempt.run.outcome : TS_TXN_REFUSED;
    struct ts_txn_error_code sqlstate = ts_txn_sqlstate(end_of(result->outcome), &active->attempt.cause);
    memcpy(result->sqlstate, sqlstate.text, sizeof result->sqlstate);
    if (active->attempt.run.count > 0)
        memcpy(result->id, active->attempt.id, sizeof active->attempt.id);
    if (is_committed(active) && admitted) {
        if (!result->global)
            result->version = active->attempt.calls[0].version;
        if (result->outcome == TS_TXN_COMMITTED_PENDING && active->attempt.pending != TS_TXN_TIMEOUT_NONE)
            result->timeout = ts_txn_timeout_phase_name(active->attempt.pending);
        return;
    }
    if (active->attempt.cause.kind == TS_TXN_CAUSE_TIMEOUT)
        result->timeout = ts_txn_timeout_phase_name(active->attempt.cause.phase);
    if (active->attempt.cause.kind != TS_TXN_CAUSE_NONE && active->attempt.cause.kind != TS_TXN_CAUSE_STORE)
        result->cause = ts_txn_abort_reason_name(ts_txn_cause_reason(&active->attempt.cause));
    result->reason = active->attempt.cause.kind == TS_TXN_CAUSE_STORE ? active->attempt.cause.result
                                                                      : active->attempt.run.reason;
    result->op = admitted ? failed_op(active) : SIZE_MAX;
    memcpy(result->text, active->attempt.text, sizeof result->text);
    if (active->attempt.cause.kind == TS_TXN_CAUSE_TIMEOUT && admitted)
        snprintf(result->text, sizeof result->text, "took longer than %s: %.190s",
                 ts_txn_timeout_phase_setting(active->attempt.cause.phase), active->attempt.text);
}

static void keep_metrics(struct ts_coordinator *coordinator, const struct txn__active *active,
                         bool admitted) {
    struct ts_txn_sample sample = {.end = end_of(admitted ? active->attempt.run.outcome : TS_TXN_REFUSED),
                                   .cause = &active->attempt.cause,
                                   .retries = active->request.retries,
                                   .latency = &active->timing.latency};
    pthread_mutex_lock(&coordinator->metrics_lock);
    ts_txn_metrics_record(coordinator->metrics, &sample);
    for (size_t i = 0; i < active->attempt.run.count; i++) {
        uint32_t place = active->attempt.members[i].place;
        ts_txn_metrics_record_rpc(coordinator->metrics,
                                  (struct ts_txn_breakdown_rpc){place, active->timing.rpc_us[i]});
        ts_txn_metrics_record_lock_wait(coordinator->metrics,
                                        (struct ts_txn_breakdown_rpc){place, active->timing.lock_wait_us[i]});
    }
    pthread_mutex_unlock(&coordinator->metrics_lock);
}

/* Reports the result of the transaction to the breakers of its stores. A failure counts only for the store
 * that caused it. The caller holds the lock. */
static void report_to_breakers(struct ts_coordinator *coordinator, struct txn__active *active, bool admitted,
                               uint64_t now_us) {
    const struct txn__run *run = &active->attempt.run;
    bool committed = admitted && is_committed(active);
    enum ts_txn_breaker_report report =
        committed   ? TS_TXN_BREAKER_SUCCESS
        : !admitted ? TS_TXN_BREAKER_TURNED_AWAY
        : active->attempt.cause.kind == TS_TXN_CAUSE_NONE || active->wait.stopped
            ? TS_TXN_BREAKER_TURNED_AWAY
            : ts_txn_breaker_report_of(&active->attempt.cause);
    /* If registering on the decider failed, no member was called. Then the first member is to blame. */
    size_t to_blame = run->count > 0 && run->failed_member < run->count ? run->failed_member : 0;
    for (size_t i = 0; i < active->request.plan.part_count; i++)
        ts_txn_breaker_report(&coordinator->breakers[active->request.stores[i]], &active->request.permits[i],
                              committed || i == to_blame ? report : TS_TXN_BREAKER_TURNED_AWAY, now_us);
}

/* Releases the transaction's place in admission, its permits and its memory. */
static void leave(struct ts_coordinator *coordinator, struct txn__active *active, bool admitted) {
    uint64_t now_us = active->timing.begun_us + active->timing.latency.total_us;
    pthread_mutex_lock(&coordinator->lock);
    report_to_breakers(coordinator, active, admitted, now_us);
    if (admitted && txn__plan_is_global(&active->request.plan)) {
        ts_txn_admission_leave(&coordinator->admission, &active->wait.waiter, now_us);
        txn__wake_settled(coordinator);
    }
    active->next = coordinator->free_active;
    coordinator->free_active = active;
    pthread_mutex_unlock(&coordinator->lock);
}

/* Runs a planned transaction to its end. */
static void run_planned(struct ts_coordinator *coordinator, struct txn__active *active,
                        const struct ts_txn_options *options, struct ts_txn_result *result) {
    for (size_t i = 0; i < active->request.plan.part_count; i++) {
        active->request.stores[i] = active->request.plan.parts[i].place;
        active->request.permits[i] = (struct ts_txn_breaker_permit){0};
    }
    active->wait.deadlock = (struct ts_txn_deadlock_node){.txn_id = active->attempt.id,
                                                          .stores = active->request.stores,
                                                          .store_count = active->request.plan.part_count};
    active->attempt.run.count = 0;
    active->attempt.run.outcome = TS_TXN_REFUSED;
    active->attempt.run.reason = TS_STORE_OK;
    active->request.retries = 0;
    const struct ts_txn_retry_config *retry = &coordinator->config.retry;
    /* If no further attempt is possible, this attempt does not give way. */
    active->request.met_locks = options->once || (retry->max_retries_given && retry->max_retries == 0);
    active->request.only_conflicts = true;
    bool admitted = txn__standbys_keep_up(coordinator, active) && txn__pass_breakers(coordinator, active) &&
                    (!txn__plan_is_global(&active->request.plan) || txn__admit(coordinator, active));
    if (admitted)
        run_attempts(coordinator, active, options->once, result);
    ts_txn_breakdown_add(&active->timing.latency, TS_TXN_BREAKDOWN_GC_IMPACT, active->timing.stall_us);
    active->timing.latency.total_us = txn__now_us() - active->timing.begun_us;
    fill_result(active, admitted, result);
    keep_metrics(coordinator, active, admitted);
    leave(coordinator, active, admitted);
}

/* Returns clean memory for a transaction. On failure returns NULL, and writes the refusal to the result. */
static struct txn__active *begin(struct ts_coordinator *coordinator, const struct ts_txn_options *options,
                                 size_t op_count, struct ts_txn_result *result) {
    clear_result(result);
    struct txn__active *active = take_active(coordinator);
    if (active != NULL && !txn__active_reserve(active, op_count)) {
        pthread_mutex_lock(&coordinator->lock);
        active->next = coordinator->free_active;
        coordinator->free_active = active;
        pthread_mutex_unlock(&coordinator->lock);
        active = NULL;
    }
    if (active == NULL) {
        refuse(result, "53200", TS_STORE_FAILED, "out of memory");
        return NULL;
    }
    active->timing.begun_us = txn__now_us();
    active->request.record = options->record;
    active->request.degrade = options->degrade;
    active->request.stop = (struct ts_txn_stop){0};
    active->wait.stopped = false;
    active->timing.stall_us = active->timing.phase_lock_us = 0;
    active->attempt.cause = (struct ts_txn_cause){.kind = TS_TXN_CAUSE_NONE};
    active->attempt.text[0] = active->attempt.id[0] = '\0';
    ts_txn_breakdown_init(&active->timing.latency);
    return active;
}

static void refuse_active(struct ts_coordinator *coordinator, struct txn__active *active,
                          enum ts_store_result reason, size_t op, const char *text,
                          struct ts_txn_result *result) {
    refuse(result, ts_store_result_sqlstate(reason), reason, text);
    result->op = op;
    pthread_mutex_lock(&coordinator->lock);
    active->next = coordinator->free_active;
    coordinator->free_active = active;
    pthread_mutex_unlock(&coordinator->lock);
}

/*
 * Checks that each store's part is within the limits of a batch. The stores also check the sizes, but the
 * decider would check only after the other stores have promised. Returns NULL, or a message about the
 * operation *ret_op.
 */
static const char *check_sizes(const struct txn__active *active, size_t *ret_op) {
    size_t counts[TS_TXN_PLACES_MAX] = {0}, bytes[TS_TXN_PLACES_MAX] = {0}, everywhere = 0;
    for (size_t i = 0; i < active->request.op_count; i++)
        everywhere += active->request.op_places[i] == TXN__EVERYWHERE;
    for (size_t i = 0; i < active->request.op_count; i++) {
        const struct ts_op *op = &active->request.ops[i];
        uint32_t place = active->request.op_places[i];
        if (place == TXN__EVERYWHERE)
            continue;
        *ret_op = i;
        if (++counts[place] + everywhere > TS_STORE_BATCH_OPS_MAX)
            return "with this operation a store has more than 100000 operations; use several transactions";
        bytes[place] += op->key.len + (op->kind == TS_OP_PUT ? op->value.len : 0);
        if (bytes[place] > TS_STORE_BATCH_BYTES_MAX)
            return "with this operation the keys and values for a store exceed 64 MiB; use several "
                   "transactions";
    }
    return NULL;
}

/* Runs a transaction whose operations and places are known. */
static void plan_and_run(struct ts_coordinator *coordinator, struct txn__active *active,
                         const struct ts_txn_options *options, struct ts_txn_result *ret_result) {
    size_t op = SIZE_MAX;
    txn__plan_init(&active->request.plan, active->request.op_places, active->request.op_count);
    const char *wrong = check_sizes(active, &op);
    if (wrong != NULL) {
        refuse_active(coordinator, active, TS_STORE_TOO_LARGE, op, wrong, ret_result);
        return;
    }
    ts_txn_breakdown_add(&active->timing.latency, TS_TXN_BREAKDOWN_ROUTE_PLAN,
                         txn__now_us() - active->timing.begun_us);
    run_planned(coordinator, active, options, ret_result);
}

static const char reserved_key[] =
    "the key begins with the byte 0, which is reserved for the system; use another key";

void ts_txn_run(struct ts_coordinator *coordinator, const struct ts_op *ops, size_t count,
                const struct ts_txn_options *options, struct ts_txn_result *ret_result) {
    static const struct ts_txn_options defaults;
    options = options == NULL ? &defaults : options;
    struct txn__active *active = begin(coordinator, options, count, ret_result);
    if (active == NULL)
        return;
    active->request.ops = ops;
    active->request.op_count = count;
    for (size_t i = 0; i < count; i++) {
        if (!has_key(&ops[i])) {
            active->request.op_places[i] = TXN__EVERYWHERE;
            continue;
        }
        if (!key_is_allowed(ops[i].key, options->system)) {
            refuse_active(coordinator, active, TS_STORE_BAD_BATCH, i, reserved_key, ret_result);
            return;
        }
        active->request.op_places[i] = (uint32_t)ts_cluster_place_of_key(coordinator->cluster, ops[i].key);
    }
    plan_and_run(coordinator, active, options, ret_result);
}

static const char no_such_place[] = "unknown store; the cluster's stores are numbered from 0";

/* Joins the operations of all parts in one array. Returns NULL, or a message about the operation *ret_op. */
static const char *flatten(const struct ts_coordinator *coordinator, struct txn__active *active,
                           const struct ts_txn_part *parts, size_t count, bool system, size_t *ret_op) {
    struct txn__places seen = {{0}};
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        *ret_op = at;
        if (parts[i].place >= coordinator->place_count)
            return no_such_place;
        if (txn__places_have(&seen, parts[i].place))
            return "a store is listed twice; put its operations into one part";
        txn__places_add(&seen, parts[i].place);
        for (size_t op = 0; op < parts[i].batch.count; op++, at++) {
            *ret_op = at;
            active->request.flat[at] = parts[i].batch.ops[op];
            active->request.op_places[at] = parts[i].place;
            if (has_key(&active->request.flat[at]) && !key_is_allowed(active->request.flat[at].key, system))
                return reserved_key;
        }
    }
    active->request.op_count = at;
    return NULL;
}

/* Checks the keys of a single part. The store checks the size; no other store has promised by then. */
static const char *check_part(const struct ts_coordinator *coordinator, const struct ts_txn_part *part,
                              bool system, size_t *ret_op) {
    *ret_op = 0;
    if (part->place >= coordinator->place_count)
        return no_such_place;
    for (; *ret_op < part->batch.count; ++*ret_op) {
        const struct ts_op *op = &part->batch.ops[*ret_op];
        if (has_key(op) && !key_is_allowed(op->key, system))
            return reserved_key;
    }
    return NULL;
}

static void apply_until(struct ts_coordinator *coordinator, const struct ts_txn_part *part,
                        const struct ts_txn_options *options, const struct ts_txn_stop *stop,
                        struct ts_txn_result *ret_result) {
    /* Only a recorded outcome needs a copy of the operations, with their places. */
    struct txn__active *active =
        begin(coordinator, options, options->record ? part->batch.count : 0, ret_result);
    if (active == NULL)
        return;
    active->request.stop = *stop;
    size_t op;
    const char *wrong = check_part(coordinator, part, options->system, &op);
    if (wrong != NULL) {
        refuse_active(coordinator, active, TS_STORE_BAD_BATCH, op, wrong, ret_result);
        return;
    }
    active->request.ops = part->batch.ops;
    active->request.op_count = part->batch.count;
    for (size_t i = 0; options->record && i < part->batch.count; i++)
        active->request.op_places[i] = part->place;
    txn__plan_one(&active->request.plan, part->place, part->batch.count);
    run_planned(coordinator, active, options, ret_result);
}

static const struct ts_txn_options default_options;
static const struct ts_txn_stop never;

void ts_txn_apply(struct ts_coordinator *coordinator, const struct ts_txn_part *part,
                  const struct ts_txn_options *options, struct ts_txn_result *ret_result) {
    apply_until(coordinator, part, options == NULL ? &default_options : options, &never, ret_result);
}

void ts_txn_run_parts(struct ts_coordinator *coordinator, const struct ts_txn_part *parts, size_t count,
                      const struct ts_txn_options *options, struct ts_txn_result *ret_result) {
    ts_txn_run_parts_until(coordinator, parts, count, options, &never, ret_result);
}

void ts_txn_run_parts_until(struct ts_coordinator *coordinator, const struct ts_txn_part *parts, size_t count,
                            const struct ts_txn_options *options, const struct ts_txn_stop *stop,
                            struct ts_txn_result *ret_result) {
    options = options == NULL ? &default_options : options;
    size_t op_count = 0;
    for (size_t i = 0; i < count; i++)
        op_count += parts[i].batch.count;
    if (count == 1) {
        apply_until(coordinator, parts, options, stop, ret_result);
        return;
    }
    struct txn__active *active = begin(coordinator, options, op_count, ret_result);
    if (active == NULL)
        return;
    active->request.stop = *stop;
    size_t op = 0;
    const char *wrong = flatten(coordinator, active, parts, count, options->system, &op);
    if (wrong != NULL) {
        refuse_active(coordinator, active, TS_STORE_BAD_BATCH, op, wrong, ret_result);
        return;
    }
    active->request.ops = active->request.flat;
    plan_and_run(coordinator, active, options, ret_result);
}
