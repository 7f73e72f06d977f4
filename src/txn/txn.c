/*
 * Running a transaction: classify, admit, attempt, perhaps again, and say what became of it.
 *
 * No transaction goes to a store whose standbys are too far behind. Apart from that, local transactions go
 * straight to their store. Global ones pass the breaker and admission first, and keep their place through
 * their retries.
 */
#include "driver.h"

#include "base/checked.h"
#include "base/redact.h"

#include <time.h>

static void set_text(char *ret_text, size_t size, const char *text) {
    snprintf(ret_text, size, "%s", text);
}

/* A result for a transaction that no store was asked about. */
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
    result->latency = (struct ts_txn_latency){0};
    result->place_count = 0;
}

static struct txn__session *take_session(struct ts_coordinator *coordinator) {
    pthread_mutex_lock(&coordinator->lock);
    struct txn__session *session = coordinator->free_sessions;
    if (session != NULL)
        coordinator->free_sessions = session->next;
    pthread_mutex_unlock(&coordinator->lock);
    if (session != NULL)
        return session;
    session = txn__session_new(coordinator);
    if (session == NULL)
        return NULL;
    pthread_mutex_lock(&coordinator->lock);
    session->next_of_all = coordinator->sessions;
    coordinator->sessions = session;
    pthread_mutex_unlock(&coordinator->lock);
    return session;
}

/* Whether users may write this key, or layers of ours. */
static bool key_is_allowed(struct ts_bytes key, bool system) {
    if (key.len == 0 || key.data[0] != TS_TXN_RESERVED_BYTE)
        return true;
    return system && !txn__key_is_ours(key);
}

static bool has_key(const struct ts_op *op) {
    return op->kind != TS_OP_BEFORE;
}

/* Takes the current incarnation, registered on the store that will decide. NULL, with the cause, when that
 * fails. */
static struct txn__incarnation *take_incarnation(struct ts_coordinator *coordinator,
                                                 struct txn__session *session, size_t decider) {
    uint32_t place = session->plan.parts[decider].place;
    for (;;) {
        pthread_mutex_lock(&coordinator->lock);
        struct txn__incarnation *incarnation = txn__incarnation_current(coordinator);
        bool ready = incarnation != NULL &&
                     (!txn__plan_is_global(&session->plan) || incarnation->seats[place].registered);
        if (incarnation != NULL)
            incarnation->users++;
        if (ready)
            return incarnation; /* with the lock */
        pthread_mutex_unlock(&coordinator->lock);
        struct ts_store_error error = {.result = TS_STORE_FAILED,
                                       .sqlstate = "XX000",
                                       .op = SIZE_MAX,
                                       .text = "no memory or no entropy for a new coordinator; try again"};
        uint64_t begun_us = txn__now_us();
        bool registered = incarnation != NULL && txn__seat_take(coordinator, incarnation, place, &error);
        ts_latency_add_rpc(&session->latency, (struct ts_latency_rpc){place, txn__now_us() - begun_us});
        pthread_mutex_lock(&coordinator->lock);
        if (incarnation != NULL)
            incarnation->users--;
        pthread_mutex_unlock(&coordinator->lock);
        if (!registered && error.result != TS_STORE_OK) {
            struct ts_call call = {.kind = TS_CALL_READ, .error = error};
            session->cause = error.result == TS_STORE_TIMED_OUT || error.result == TS_STORE_UNKNOWN
                                 ? ts_txn_cause_of_timeout(TS_TIMEOUT_SHARD_RPC)
                                 : ts_txn_cause_of_store(&call);
            memcpy(session->text, error.text, sizeof session->text);
            return NULL;
        }
    }
}

static void prepare_members(struct txn__session *session, size_t decider) {
    const struct txn__plan *plan = &session->plan;
    session->participants = (struct txn__places){{0}};
    for (size_t i = 0; i < plan->part_count; i++) {
        session->members[i] = (struct txn__member){.place = plan->parts[i].place};
        session->rpc_us[i] = session->lock_wait_us[i] = 0;
        if (i != decider)
            txn__places_add(&session->participants, plan->parts[i].place);
    }
    struct txn__run_options options = {.record = session->record, .degrade = session->degrade};
    txn__run_init(&session->run, session->members, plan->part_count, decider, &options);
    session->run.own_ops_from = plan->parts[decider].count;
}

/* Gives the attempt its name, its decider and its entry. False, with the cause, when it cannot begin. */
static bool begin_attempt(struct ts_coordinator *coordinator, struct txn__session *session) {
    bool global = txn__plan_is_global(&session->plan);
    size_t decider = global ? txn__plan_decider(&session->plan) : 0;
    if (!txn__session_arrange(session, decider)) {
        struct ts_call call = {.kind = TS_CALL_APPLY,
                               .error = {.result = TS_STORE_FAILED, .sqlstate = "53200"}};
        session->cause = ts_txn_cause_of_store(&call);
        set_text(session->text, sizeof session->text, "out of memory");
        return false;
    }
    struct txn__incarnation *incarnation = take_incarnation(coordinator, session, decider);
    if (incarnation == NULL)
        return false;
    session->incarnation = incarnation;
    memcpy(session->gid.cluster, coordinator->cluster_id, sizeof session->gid.cluster);
    session->gid.coordinator = incarnation->uuid;
    session->gid.decider = session->plan.parts[decider].place;
    session->gid.sequence = txn__marks_next_sequence(&incarnation->marks, global && session->record);
    session->entry = global ? txn__entry_take(coordinator) : NULL;
    if (session->entry != NULL)
        txn__marks_begin(&incarnation->marks, session->entry, session->gid.sequence, session->gid.decider);
    if (global && session->entry == NULL)
        incarnation->users--;
    pthread_mutex_unlock(&coordinator->lock);
    if (global && session->entry == NULL) {
        session->cause =
            (struct ts_txn_cause){.kind = TS_CAUSE_STORE, .result = TS_STORE_FAILED, .sqlstate = "53200"};
        set_text(session->text, sizeof session->text, "out of memory");
        return false;
    }
    txn__gid_format(&session->gid, session->id);
    prepare_members(session, decider);
    if (session->entry != NULL) {
        session->entry->participants = session->participants;
        session->entry->record = session->record;
    }
    return true;
}

/* What the marks learn from the end of an attempt. The lock is held. */
static void end_entry(struct ts_coordinator *coordinator, struct txn__session *session) {
    struct txn__incarnation *incarnation = session->incarnation;
    struct txn__entry *entry = session->entry;
    struct txn__places pending = {{0}};
    for (size_t i = 0; i < session->run.count; i++) {
        if (session->members[i].promised)
            txn__places_add(&pending, session->members[i].place);
    }
    switch (session->run.outcome) {
    case TS_TXN_COMMITTED:
    case TS_TXN_COMMITTED_PENDING:
        txn__marks_committed(&incarnation->marks, entry, &pending);
        if (entry->state == TXN__ENTRY_PENDING) {
            coordinator->pressing = true;
            pthread_cond_signal(&coordinator->care_wake);
        }
        return;
    case TS_TXN_UNKNOWN:
        if (session->run.why != TXN__WHY_FENCED) {
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

static enum ts_conflict_outcome conflict_of(const struct txn__session *session, size_t member) {
    if (session->run.outcome == TS_TXN_COMMITTED || session->run.outcome == TS_TXN_COMMITTED_PENDING)
        return TS_CONFLICT_COMMITTED;
    if (session->run.failed_member != member || session->cause.kind == TS_CAUSE_NONE)
        return TS_CONFLICT_OTHER;
    switch (ts_txn_cause_reason(&session->cause)) {
    case TS_ABORT_CONFLICT:
        return TS_CONFLICT_CONFLICT;
    case TS_ABORT_TIMEOUT:
    case TS_ABORT_DEADLOCK:
        return TS_CONFLICT_TIMEOUT;
    case TS_ABORT_TRANSIENT:
    case TS_ABORT_PERMANENT:
    case TS_ABORT_LOST_REPLY:
    case TS_ABORT_ADMISSION:
    case TS_ABORT_CIRCUIT_BREAKER:
    case TS_ABORT_REPLICATION_LAG:
    case TS_ABORT_RESOLVER:
    case TS_ABORT_FENCED:
    case TS_ABORT_REASON_COUNT:
        break;
    }
    return TS_CONFLICT_OTHER;
}

/* Conflict rates of the stores, and the limits that follow from them. The lock is held. */
static void keep_conflicts(struct ts_coordinator *coordinator, const struct txn__session *session,
                           uint64_t now_us) {
    for (size_t i = 0; i < session->run.count; i++) {
        uint32_t place = session->members[i].place;
        struct ts_conflict_tracker *tracker = &coordinator->conflicts[place];
        ts_conflict_record(
            tracker, (struct ts_conflict_event){conflict_of(session, i), session->lock_wait_us[i]}, now_us);
        if (now_us < coordinator->adaptive[place].next_us)
            continue;
        struct ts_conflict_view view = ts_conflict_view(tracker, now_us);
        if (ts_adaptive_step(&coordinator->adaptive[place], &coordinator->config.adaptive, &view, now_us)) {
            ts_admission_set_store_limit(&coordinator->admission,
                                         (struct ts_store_limit){place, coordinator->adaptive[place].limit},
                                         now_us);
            txn__wake_settled(coordinator);
        }
    }
}

/* A failed check or a lost race says what the machine found out beyond the first failure. */
static void complete_cause(struct txn__session *session) {
    switch (session->run.why) {
    case TXN__WHY_RESOLVER:
        session->cause = (struct ts_txn_cause){.kind = TS_CAUSE_RESOLVER};
        set_text(
            session->text, sizeof session->text,
            "a resolver aborted it because it took longer than timeouts.total or seemed dead; try again");
        return;
    case TXN__WHY_FENCED:
        session->cause = (struct ts_txn_cause){.kind = TS_CAUSE_FENCED};
        set_text(session->text, sizeof session->text,
                 "this process was fenced while the transaction was under way; ask for its status");
        return;
    case TXN__WHY_NONE:
    case TXN__WHY_STORE:
    case TXN__WHY_LOST:
    case TXN__WHY_GIVEN_UP:
        return;
    }
}

static void end_attempt(struct ts_coordinator *coordinator, struct txn__session *session) {
    complete_cause(session);
    uint64_t now_us = txn__now_us();
    pthread_mutex_lock(&coordinator->lock);
    if (session->entry != NULL)
        end_entry(coordinator, session);
    session->entry = NULL;
    session->incarnation->users--;
    keep_conflicts(coordinator, session, now_us);
    if (session->run.reason == TS_STORE_LOCK_CONFLICT || session->run.reason == TS_STORE_TIMED_OUT) {
        coordinator->nudged = true;
        pthread_cond_signal(&coordinator->care_wake);
    }
    pthread_mutex_unlock(&coordinator->lock);
}

static bool is_committed(const struct txn__session *session) {
    return session->run.outcome == TS_TXN_COMMITTED || session->run.outcome == TS_TXN_COMMITTED_PENDING;
}

/* Whether to try again, after waiting. */
static bool again(struct ts_coordinator *coordinator, struct txn__session *session, struct ts_retry *retry,
                  bool once) {
    if (once || session->run.outcome != TS_TXN_ABORTED || session->cause.kind == TS_CAUSE_NONE)
        return false;
    struct ts_error_verdict verdict = ts_error_classify(&session->cause);
    uint64_t backoff_us = 0;
    pthread_mutex_lock(&coordinator->lock);
    enum ts_retry_decision decision =
        ts_retry_next(retry, &coordinator->config, &verdict, txn__now_us(), &coordinator->prng, &backoff_us);
    pthread_mutex_unlock(&coordinator->lock);
    if (decision != TS_RETRY_AGAIN)
        return false;
    session->retries = retry->retries;
    ts_latency_add(&session->latency, TS_LATENCY_RETRY_BACKOFF, backoff_us);
    struct timespec pause = {.tv_sec = (time_t)(backoff_us / 1000000),
                             .tv_nsec = (long)(backoff_us % 1000000 * 1000)};
    while (backoff_us > 0 && nanosleep(&pause, &pause) != 0)
        continue;
    return true;
}

/* All attempts. False when the last one could not even begin. */
static bool run_attempts(struct ts_coordinator *coordinator, struct txn__session *session, bool once,
                         struct ts_txn_result *result) {
    struct ts_retry retry;
    ts_retry_init(&retry, session->begun_us);
    for (;;) {
        session->cause = (struct ts_txn_cause){.kind = TS_CAUSE_NONE};
        session->pending = TS_TIMEOUT_NONE;
        session->text[0] = '\0';
        session->deadlocked = false;
        session->run.outcome = TS_TXN_ABORTED;
        session->run.count = 0;
        session->run.reason = TS_STORE_OK;
        session->run.failed_op = SIZE_MAX;
        result->attempts++;
        bool begun = begin_attempt(coordinator, session);
        if (begun) {
            txn__attempt(coordinator, session);
            end_attempt(coordinator, session);
        }
        if (!again(coordinator, session, &retry, once))
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

static void fill_latency(const struct txn__session *session, struct ts_txn_latency *ret_latency) {
    const uint64_t *us = session->latency.us;
    *ret_latency = (struct ts_txn_latency){
        .coord_queue_us = us[TS_LATENCY_COORD_QUEUE],
        .route_plan_us = us[TS_LATENCY_ROUTE_PLAN],
        .shard_rpc_max_us = us[TS_LATENCY_SHARD_RPC],
        .read_phase_us = us[TS_LATENCY_READ_PHASE],
        .lock_validate_us = us[TS_LATENCY_LOCK_VALIDATE],
        .prepare_wal_us = us[TS_LATENCY_PREPARE_WAL],
        .commit_barrier_us = us[TS_LATENCY_COMMIT_BARRIER],
        .commit_wal_us = us[TS_LATENCY_COMMIT_WAL],
        .replication_ack_us = us[TS_LATENCY_REPLICATION_ACK],
        .gc_impact_us = us[TS_LATENCY_GC_IMPACT],
        .retry_backoff_us = us[TS_LATENCY_RETRY_BACKOFF],
        .total_us = session->latency.total_us,
    };
}

/* The failing operation as the caller counts. */
static size_t failed_op(const struct txn__session *session) {
    const struct txn__run *run = &session->run;
    if (run->failed_op == SIZE_MAX || run->failed_member >= run->count ||
        run->failed_op >= session->plan.parts[run->failed_member].count)
        return SIZE_MAX;
    if (session->arranged_in_place)
        return run->failed_op;
    return session->origins[session->part_from[run->failed_member] + run->failed_op];
}

static void fill_places(const struct txn__session *session, struct ts_txn_result *result) {
    bool global = txn__plan_is_global(&session->plan);
    result->place_count = session->plan.part_count;
    for (size_t i = 0; i < session->plan.part_count; i++) {
        bool began = session->run.count > 0;
        result->places[i] = (struct ts_txn_place){
            .place = session->plan.parts[i].place,
            .decider = global && began && i == session->run.decider,
            .pending = session->run.outcome == TS_TXN_COMMITTED_PENDING && session->members[i].promised,
            .rpc_us = began ? session->rpc_us[i] : 0,
        };
    }
}

static void fill_result(struct txn__session *session, bool admitted, struct ts_txn_result *result) {
    result->global = txn__plan_is_global(&session->plan);
    fill_places(session, result);
    fill_latency(session, &result->latency);
    result->outcome = admitted ? session->run.outcome : TS_TXN_REFUSED;
    struct ts_sqlstate sqlstate = ts_txn_sqlstate(end_of(result->outcome), &session->cause);
    memcpy(result->sqlstate, sqlstate.text, sizeof result->sqlstate);
    if (session->run.count > 0)
        memcpy(result->id, session->id, sizeof session->id);
    if (is_committed(session) && admitted) {
        if (result->outcome == TS_TXN_COMMITTED_PENDING && session->pending != TS_TIMEOUT_NONE)
            result->timeout = ts_timeout_phase_name(session->pending);
        return;
    }
    if (session->cause.kind == TS_CAUSE_TIMEOUT)
        result->timeout = ts_timeout_phase_name(session->cause.phase);
    if (session->cause.kind != TS_CAUSE_NONE && session->cause.kind != TS_CAUSE_STORE)
        result->cause = ts_abort_reason_name(ts_txn_cause_reason(&session->cause));
    result->reason = session->cause.kind == TS_CAUSE_STORE ? session->cause.result : session->run.reason;
    result->op = admitted ? failed_op(session) : SIZE_MAX;
    memcpy(result->text, session->text, sizeof result->text);
    if (session->cause.kind == TS_CAUSE_TIMEOUT && admitted)
        snprintf(result->text, sizeof result->text, "took longer than %s: %.190s",
                 ts_timeout_phase_setting(session->cause.phase), session->text);
}

static void keep_metrics(struct ts_coordinator *coordinator, const struct txn__session *session,
                         bool admitted) {
    struct ts_txn_sample sample = {.end = end_of(admitted ? session->run.outcome : TS_TXN_REFUSED),
                                   .cause = &session->cause,
                                   .retries = session->retries,
                                   .latency = &session->latency};
    pthread_mutex_lock(&coordinator->metrics_lock);
    ts_txn_metrics_record(coordinator->metrics, &sample);
    for (size_t i = 0; i < session->run.count; i++) {
        uint32_t place = session->members[i].place;
        ts_txn_metrics_record_rpc(coordinator->metrics, (struct ts_latency_rpc){place, session->rpc_us[i]});
        ts_txn_metrics_record_lock_wait(coordinator->metrics,
                                        (struct ts_latency_rpc){place, session->lock_wait_us[i]});
    }
    pthread_mutex_unlock(&coordinator->metrics_lock);
}

/* Gives back the place, the permit and the session. */
static void leave(struct ts_coordinator *coordinator, struct txn__session *session,
                  struct ts_breaker_permit *permit, bool admitted) {
    uint64_t now_us = txn__now_us();
    pthread_mutex_lock(&coordinator->lock);
    if (admitted && txn__plan_is_global(&session->plan)) {
        struct ts_txn_cause none = {.kind = TS_CAUSE_NONE};
        ts_breaker_report(&coordinator->breaker, permit,
                          ts_breaker_report_of(is_committed(session) ? &none : &session->cause), now_us);
        ts_admission_leave(&coordinator->admission, &session->waiter, now_us);
        txn__wake_settled(coordinator);
    }
    session->next = coordinator->free_sessions;
    coordinator->free_sessions = session;
    pthread_mutex_unlock(&coordinator->lock);
}

/* The plan is made: runs it to the end. */
static void run_planned(struct ts_coordinator *coordinator, struct txn__session *session,
                        const struct ts_txn_options *options, struct ts_txn_result *result) {
    struct ts_breaker_permit permit = {0};
    for (size_t i = 0; i < session->plan.part_count; i++)
        session->stores[i] = session->plan.parts[i].place;
    session->deadlock = (struct ts_deadlock_node){
        .txn_id = session->id, .stores = session->stores, .store_count = session->plan.part_count};
    session->run.count = 0;
    session->run.outcome = TS_TXN_REFUSED;
    session->run.reason = TS_STORE_OK;
    session->retries = 0;
    bool admitted = txn__standbys_keep_up(coordinator, session) &&
                    (!txn__plan_is_global(&session->plan) || txn__admit(coordinator, session, &permit));
    if (admitted)
        run_attempts(coordinator, session, options->once, result);
    ts_latency_add(&session->latency, TS_LATENCY_GC_IMPACT, session->stall_us);
    session->latency.total_us = txn__now_us() - session->begun_us;
    fill_result(session, admitted, result);
    keep_metrics(coordinator, session, admitted);
    leave(coordinator, session, &permit, admitted);
}

/* A session with everything of the transaction before it forgotten, or NULL and the refusal. */
static struct txn__session *begin(struct ts_coordinator *coordinator, const struct ts_txn_options *options,
                                  size_t op_count, struct ts_txn_result *result) {
    clear_result(result);
    struct txn__session *session = take_session(coordinator);
    if (session != NULL && !txn__session_reserve(session, op_count)) {
        pthread_mutex_lock(&coordinator->lock);
        session->next = coordinator->free_sessions;
        coordinator->free_sessions = session;
        pthread_mutex_unlock(&coordinator->lock);
        session = NULL;
    }
    if (session == NULL) {
        refuse(result, "53200", TS_STORE_FAILED, "out of memory");
        return NULL;
    }
    session->begun_us = txn__now_us();
    session->record = options->record;
    session->degrade = options->degrade;
    session->lock_us = session->stall_us = session->phase_lock_us = 0;
    session->cause = (struct ts_txn_cause){.kind = TS_CAUSE_NONE};
    session->text[0] = session->id[0] = '\0';
    ts_latency_init(&session->latency);
    return session;
}

static void refuse_session(struct ts_coordinator *coordinator, struct txn__session *session,
                           enum ts_store_result reason, size_t op, const char *text,
                           struct ts_txn_result *result) {
    refuse(result, ts_store_result_sqlstate(reason), reason, text);
    result->op = op;
    pthread_mutex_lock(&coordinator->lock);
    session->next = coordinator->free_sessions;
    coordinator->free_sessions = session;
    pthread_mutex_unlock(&coordinator->lock);
}

/*
 * Whether each store's part is within the limits of a batch. A store would say so itself, but the decider only after
 * the others have promised. Returns NULL, or what is wrong with the operation *ret_op.
 */
static const char *check_sizes(const struct txn__session *session, size_t *ret_op) {
    size_t counts[TS_TXN_PLACES_MAX] = {0}, bytes[TS_TXN_PLACES_MAX] = {0}, everywhere = 0;
    for (size_t i = 0; i < session->op_count; i++)
        everywhere += session->op_places[i] == TXN__EVERYWHERE;
    for (size_t i = 0; i < session->op_count; i++) {
        const struct ts_op *op = &session->ops[i];
        uint32_t place = session->op_places[i];
        if (place == TXN__EVERYWHERE)
            continue;
        *ret_op = i;
        if (++counts[place] + everywhere > TS_STORE_BATCH_OPS_MAX)
            return "with this operation a store has more than 100000 of them; make several transactions";
        bytes[place] += op->key.len + (op->kind == TS_OP_PUT ? op->value.len : 0);
        if (bytes[place] > TS_STORE_BATCH_BYTES_MAX)
            return "with this operation the keys and values for a store exceed 64 MiB; make several transactions";
    }
    return NULL;
}

/* The operations and their places are known. */
static void plan_and_run(struct ts_coordinator *coordinator, struct txn__session *session,
                         const struct ts_txn_options *options, struct ts_txn_result *ret_result) {
    size_t op = SIZE_MAX;
    txn__plan_init(&session->plan, session->op_places, session->op_count);
    const char *wrong = check_sizes(session, &op);
    if (wrong != NULL) {
        refuse_session(coordinator, session, TS_STORE_TOO_LARGE, op, wrong, ret_result);
        return;
    }
    ts_latency_add(&session->latency, TS_LATENCY_ROUTE_PLAN, txn__now_us() - session->begun_us);
    run_planned(coordinator, session, options, ret_result);
}

static const char reserved_key[] =
    "the key begins with the byte 0, which is reserved for the system; use another key";

void ts_txn_run(struct ts_coordinator *coordinator, const struct ts_op *ops, size_t count,
                const struct ts_txn_options *options, struct ts_txn_result *ret_result) {
    static const struct ts_txn_options defaults;
    options = options == NULL ? &defaults : options;
    struct txn__session *session = begin(coordinator, options, count, ret_result);
    if (session == NULL)
        return;
    session->ops = ops;
    session->op_count = count;
    for (size_t i = 0; i < count; i++) {
        if (!has_key(&ops[i])) {
            session->op_places[i] = TXN__EVERYWHERE;
            continue;
        }
        if (!key_is_allowed(ops[i].key, options->system)) {
            refuse_session(coordinator, session, TS_STORE_BAD_BATCH, i, reserved_key, ret_result);
            return;
        }
        session->op_places[i] = (uint32_t)ts_cluster_place_of_key(coordinator->cluster, ops[i].key);
    }
    plan_and_run(coordinator, session, options, ret_result);
}

/* Puts parts together. Returns NULL or what is wrong with the operation *ret_op. */
static const char *flatten(const struct ts_coordinator *coordinator, struct txn__session *session,
                           const struct ts_txn_part *parts, size_t count, bool system, size_t *ret_op) {
    struct txn__places seen = {{0}};
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        *ret_op = at;
        if (parts[i].place >= coordinator->place_count)
            return "there is no store at this place; count the cluster's stores from 0";
        if (txn__places_have(&seen, parts[i].place))
            return "a store stands twice; put its operations into one part";
        txn__places_add(&seen, parts[i].place);
        for (size_t op = 0; op < parts[i].batch.count; op++, at++) {
            *ret_op = at;
            session->flat[at] = parts[i].batch.ops[op];
            session->op_places[at] = parts[i].place;
            if (has_key(&session->flat[at]) && !key_is_allowed(session->flat[at].key, system))
                return reserved_key;
        }
    }
    session->op_count = at;
    return NULL;
}

void ts_txn_run_parts(struct ts_coordinator *coordinator, const struct ts_txn_part *parts, size_t count,
                      const struct ts_txn_options *options, struct ts_txn_result *ret_result) {
    static const struct ts_txn_options defaults;
    options = options == NULL ? &defaults : options;
    size_t op_count = 0;
    for (size_t i = 0; i < count; i++)
        op_count += parts[i].batch.count;
    struct txn__session *session = begin(coordinator, options, op_count, ret_result);
    if (session == NULL)
        return;
    size_t op = 0;
    const char *wrong = flatten(coordinator, session, parts, count, options->system, &op);
    if (wrong != NULL) {
        refuse_session(coordinator, session, TS_STORE_BAD_BATCH, op, wrong, ret_result);
        return;
    }
    session->ops = session->flat;
    plan_and_run(coordinator, session, options, ret_result);
}
