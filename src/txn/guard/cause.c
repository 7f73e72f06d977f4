#include "txn/guard/cause.h"

#include "base/assert.h"

#include <string.h>

static bool is_retryable(enum ts_txn_error_class error_class) {
#define CLASS_RETRYABLE(suffix, retryable) [TS_TXN_CLASS_##suffix] = (retryable),
    static const bool answers[] = {TS_TXN_ERROR_CLASSES(CLASS_RETRYABLE)};
#undef CLASS_RETRYABLE
    return answers[error_class];
}

struct ts_txn_cause ts_txn_cause_of_store(const struct ts_call *call) {
    struct ts_txn_cause cause = {.kind = TS_TXN_CAUSE_STORE,
                                 .result = call->error.result,
                                 .call = call->kind,
                                 .down = call->error.down};
    memcpy(cause.sqlstate, call->error.sqlstate, sizeof cause.sqlstate);
    cause.sqlstate[sizeof cause.sqlstate - 1] = '\0';
    return cause;
}

struct ts_txn_cause ts_txn_cause_of_timeout(enum ts_txn_timeout_phase phase) {
    return (struct ts_txn_cause){.kind = TS_TXN_CAUSE_TIMEOUT, .phase = phase};
}

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_one_of(const char *sqlstate, const char *const *codes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (starts_with(sqlstate, codes[i]))
            return true;
    return false;
}

#define IS_ONE_OF(sqlstate, ...)                                                                             \
    is_one_of((sqlstate), (const char *const[]){__VA_ARGS__},                                                \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* Returns whether the code means a serialization failure, a deadlock within one server, or that a lock is not
 * available. */
static bool is_conflict(const char *sqlstate) {
    return IS_ONE_OF(sqlstate, "40001", "40P01", "55P03");
}

/* Returns whether the code means that the connection is lost, or that the server is shutting down. */
static bool is_lost_connection(const char *sqlstate) {
    return IS_ONE_OF(sqlstate, "08", "57P01", "57P02");
}

/* Returns whether the code means that the server or its machine failed, independently of the request. A full
 * disk counts; too much load does not. */
static bool is_infrastructure(const char *sqlstate) {
    return is_lost_connection(sqlstate) || IS_ONE_OF(sqlstate, "57P03", "53100", "58", "XX");
}

enum ts_txn_error_class ts_txn_error_class_of_sqlstate(const char *sqlstate, bool maybe_done) {
    if (is_conflict(sqlstate))
        return TS_TXN_CLASS_CONFLICT;
    if (is_lost_connection(sqlstate))
        return maybe_done ? TS_TXN_CLASS_TIMEOUT : TS_TXN_CLASS_TRANSIENT;
    if (starts_with(sqlstate, "57014"))
        return TS_TXN_CLASS_TIMEOUT;
    if (starts_with(sqlstate, "53100"))
        return TS_TXN_CLASS_PERMANENT;
    if (IS_ONE_OF(sqlstate, "53", "57P03"))
        return TS_TXN_CLASS_TRANSIENT;
    return TS_TXN_CLASS_PERMANENT;
}

/* Returns whether repeating a call of this kind has no further effect. */
static bool changes_nothing(enum ts_call_kind call) {
    switch (call) {
    case TS_CALL_READ:
    case TS_CALL_SCAN:
    case TS_CALL_PREPARED:
    case TS_CALL_NOW:
    case TS_CALL_SYNC:
    case TS_CALL_LAG:
        return true;
    case TS_CALL_APPLY:
    case TS_CALL_PREPARE:
    case TS_CALL_COMMIT:
    case TS_CALL_ABORT:
        return false;
    }
    ts_unreachable("no such call");
}

static const struct ts_txn_error_verdict conflict_to_repeat = {
    .error_class = TS_TXN_CLASS_CONFLICT, .repeatable = true, .met_a_lock = true, .answered = true};
static const struct ts_txn_error_verdict overload = {.error_class = TS_TXN_CLASS_TRANSIENT,
                                                     .repeatable = true};
static const struct ts_txn_error_verdict away = {
    .error_class = TS_TXN_CLASS_TRANSIENT, .repeatable = true, .infrastructure = true};
static const struct ts_txn_error_verdict lost = {.error_class = TS_TXN_CLASS_TIMEOUT, .infrastructure = true};
static const struct ts_txn_error_verdict too_slow = {.error_class = TS_TXN_CLASS_TIMEOUT};
/* Derives the verdict from the database's own code. FAILED alone only shows that nothing was changed; the
 * code shows more. */
static struct ts_txn_error_verdict verdict_of_sqlstate(const char *sqlstate) {
    struct ts_txn_error_verdict verdict = {.error_class = ts_txn_error_class_of_sqlstate(sqlstate, false)};
    verdict.repeatable = is_retryable(verdict.error_class);
    verdict.infrastructure = is_infrastructure(sqlstate);
    verdict.answered = !verdict.infrastructure && (verdict.error_class == TS_TXN_CLASS_CONFLICT ||
                                                   verdict.error_class == TS_TXN_CLASS_PERMANENT);
    return verdict;
}

/* Derives the verdict from the table of results. Only for results that have the same meaning after every kind
 * of call. */
static struct ts_txn_error_verdict verdict_of_meaning(enum ts_store_result result) {
    const struct ts_store_meaning *meaning = ts_store_result_meaning(result);
    struct ts_txn_error_verdict verdict = {.error_class = TS_TXN_CLASS_PERMANENT,
                                           .repeatable = meaning->retry == TS_STORE_RETRY_SAME,
                                           .met_a_lock = result == TS_STORE_LOCK_CONFLICT,
                                           .infrastructure = meaning->fault == TS_STORE_FAULT_STORE,
                                           .answered = meaning->fault == TS_STORE_FAULT_STATE ||
                                                       meaning->fault == TS_STORE_FAULT_CALLER ||
                                                       meaning->fault == TS_STORE_FAULT_SETUP};
    if (verdict.repeatable || meaning->retry == TS_STORE_RETRY_READ)
        verdict.error_class = verdict.answered ? TS_TXN_CLASS_CONFLICT : TS_TXN_CLASS_TRANSIENT;
    return verdict;
}

static struct ts_txn_error_verdict verdict_of_result(const struct ts_txn_cause *cause) {
    ts_assert(cause->result != TS_STORE_OK);
    if (cause->result == TS_STORE_FAILED)
        return verdict_of_sqlstate(cause->sqlstate);
    if (cause->result == TS_STORE_UNKNOWN)
        return changes_nothing(cause->call) ? away : lost;
    if (cause->result != TS_STORE_TIMED_OUT)
        return verdict_of_meaning(cause->result);
    /* Nothing was changed. A wait for a lock is a conflict. A call that takes no locks must not take long. */
    if (is_conflict(cause->sqlstate))
        return conflict_to_repeat;
    return changes_nothing(cause->call) || is_infrastructure(cause->sqlstate) ? lost : too_slow;
}

static struct ts_txn_error_verdict verdict_of_phase(enum ts_txn_timeout_phase phase) {
    switch (phase) {
    case TS_TXN_TIMEOUT_COORD_QUEUE:
        return overload; /* a timeout in the queue counts as a refusal */
    case TS_TXN_TIMEOUT_SHARD_RPC:
    case TS_TXN_TIMEOUT_COMMIT:
        return lost; /* these calls wait for no locks: the store is unreachable or failing */
    case TS_TXN_TIMEOUT_PREPARE:
    case TS_TXN_TIMEOUT_LOCK_VALIDATE:
    case TS_TXN_TIMEOUT_TOTAL:
    case TS_TXN_TIMEOUT_RETRY_CEILING:
        return too_slow;
    case TS_TXN_TIMEOUT_NONE:
        break;
    }
    ts_unreachable("no phase was over");
}

struct ts_txn_error_verdict ts_txn_error_classify(const struct ts_txn_cause *cause) {
    switch (cause->kind) {
    case TS_TXN_CAUSE_STORE:
        return verdict_of_result(cause);
    case TS_TXN_CAUSE_TIMEOUT:
        return cause->unanswered ? lost : verdict_of_phase(cause->phase);
    case TS_TXN_CAUSE_ADMISSION:
    case TS_TXN_CAUSE_BREAKER:
    case TS_TXN_CAUSE_REPLICATION_LAG:
        return overload;
    case TS_TXN_CAUSE_DEADLOCK:
    case TS_TXN_CAUSE_RESOLVER:
    case TS_TXN_CAUSE_FENCED:
        return too_slow;
    case TS_TXN_CAUSE_NONE:
        break;
    }
    ts_unreachable("no cause has no class");
}

enum ts_txn_abort_reason ts_txn_cause_reason(const struct ts_txn_cause *cause) {
    switch (cause->kind) {
    case TS_TXN_CAUSE_STORE:
        switch (ts_txn_error_classify(cause).error_class) {
        case TS_TXN_CLASS_TRANSIENT:
            return TS_TXN_ABORT_TRANSIENT;
        case TS_TXN_CLASS_CONFLICT:
            return TS_TXN_ABORT_CONFLICT;
        case TS_TXN_CLASS_TIMEOUT:
            return cause->result == TS_STORE_UNKNOWN ? TS_TXN_ABORT_LOST_REPLY : TS_TXN_ABORT_TIMEOUT;
        case TS_TXN_CLASS_PERMANENT:
            return TS_TXN_ABORT_PERMANENT;
        }
        break;
    case TS_TXN_CAUSE_TIMEOUT:
        return TS_TXN_ABORT_TIMEOUT;
    case TS_TXN_CAUSE_ADMISSION:
        return TS_TXN_ABORT_ADMISSION;
    case TS_TXN_CAUSE_BREAKER:
        return TS_TXN_ABORT_CIRCUIT_BREAKER;
    case TS_TXN_CAUSE_REPLICATION_LAG:
        return TS_TXN_ABORT_REPLICATION_LAG;
    case TS_TXN_CAUSE_DEADLOCK:
        return TS_TXN_ABORT_DEADLOCK;
    case TS_TXN_CAUSE_RESOLVER:
        return TS_TXN_ABORT_RESOLVER;
    case TS_TXN_CAUSE_FENCED:
        return TS_TXN_ABORT_FENCED;
    case TS_TXN_CAUSE_NONE:
        break;
    }
    ts_unreachable("no cause has no reason");
}

const char *ts_txn_abort_reason_name(enum ts_txn_abort_reason reason) {
#define REASON_NAME(suffix, text)                                                                            \
    case TS_TXN_ABORT_##suffix:                                                                              \
        return text;
    switch (reason) {
        TS_TXN_ABORT_REASONS(REASON_NAME)
    case TS_TXN_ABORT_REASON_COUNT:
        break;
    }
#undef REASON_NAME
    ts_unreachable("no such reason");
}

/* Returns the database's own code, or `otherwise` if it has none. For failures that a retry cannot fix. Never
 * returns a code of class 08, which would make the client search for a transaction that is known to be
 * aborted. */
static const char *own_or(const struct ts_txn_cause *cause, const char *otherwise) {
    bool has_own = strlen(cause->sqlstate) == 5 && strcmp(cause->sqlstate, "00000") != 0 &&
                   !starts_with(cause->sqlstate, "08");
    return has_own ? cause->sqlstate : otherwise;
}

static const char *sqlstate_of_result(const struct ts_txn_cause *cause) {
    const struct ts_txn_error_verdict verdict = ts_txn_error_classify(cause);
    switch (verdict.error_class) {
    case TS_TXN_CLASS_CONFLICT:
        return "40001";
    case TS_TXN_CLASS_TRANSIENT:
        return verdict.infrastructure ? "40000" : "53300";
    case TS_TXN_CLASS_TIMEOUT:
        return "40000";
    case TS_TXN_CLASS_PERMANENT:
        return own_or(cause, ts_store_result_meaning(cause->result)->sqlstate);
    }
    ts_unreachable("no such error class");
}

static const char *sqlstate_of_abort(const struct ts_txn_cause *cause) {
    switch (cause->kind) {
    case TS_TXN_CAUSE_STORE:
        return sqlstate_of_result(cause);
    case TS_TXN_CAUSE_TIMEOUT:
        return cause->phase == TS_TXN_TIMEOUT_COORD_QUEUE ? "53300" : "40000";
    case TS_TXN_CAUSE_ADMISSION:
    case TS_TXN_CAUSE_BREAKER:
        return "53300";
    case TS_TXN_CAUSE_REPLICATION_LAG:
        return "53301";
    case TS_TXN_CAUSE_DEADLOCK:
    case TS_TXN_CAUSE_RESOLVER:
    case TS_TXN_CAUSE_FENCED:
    case TS_TXN_CAUSE_NONE:
        return "40000";
    }
    ts_unreachable("no such cause");
}

static const char *sqlstate_of_end(enum ts_txn_end end, const struct ts_txn_cause *cause) {
    switch (end) {
    case TS_TXN_END_COMMITTED:
    case TS_TXN_END_COMMITTED_PENDING:
        return "00000";
    case TS_TXN_END_UNKNOWN:
        return "08006";
    case TS_TXN_END_ABORTED:
        return sqlstate_of_abort(cause);
    }
    ts_unreachable("no such end");
}

struct ts_txn_error_code ts_txn_sqlstate(enum ts_txn_end end, const struct ts_txn_cause *cause) {
    struct ts_txn_error_code sqlstate;
    memcpy(sqlstate.text, sqlstate_of_end(end, cause), sizeof sqlstate.text);
    return sqlstate;
}
