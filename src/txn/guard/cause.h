/*
 * Why a transaction did not commit, what the reason means, and what the client sees.
 *
 * Every failure has exactly one class. A class says whether a retry makes sense at all. Whether the same
 * batches may be tried again is a separate question: a failed check is a Conflict, but only the caller can
 * retry it, after reading again.
 */
#ifndef TS_TXN_GUARD_CAUSE_H
#define TS_TXN_GUARD_CAUSE_H

#include "turnstone/store.h"
#include "txn/guard/timeouts.h"

#include <stdbool.h>

/* X(SUFFIX, whether a retry makes sense). */
#define TS_TXN_ERROR_CLASSES(X)                                                                              \
    X(TRANSIENT, true)                                                                                       \
    X(CONFLICT, true)                                                                                        \
    X(TIMEOUT, false) /* too slow, or the result is unknown */                                               \
    X(PERMANENT, false)

#define TS_TXN_ERROR_CLASS_ENUM(suffix, retryable) TS_TXN_CLASS_##suffix,
enum ts_txn_error_class { TS_TXN_ERROR_CLASSES(TS_TXN_ERROR_CLASS_ENUM) };
#undef TS_TXN_ERROR_CLASS_ENUM

/* Why a transaction did not commit, or may not have committed. */
enum ts_txn_cause_kind {
    TS_TXN_CAUSE_NONE,
    TS_TXN_CAUSE_STORE,           /* a call to a store failed: result, sqlstate, call */
    TS_TXN_CAUSE_TIMEOUT,         /* the timeout of a phase; `phase` says which */
    TS_TXN_CAUSE_ADMISSION,       /* admission refused or shed the transaction */
    TS_TXN_CAUSE_BREAKER,         /* refused because the breaker is open */
    TS_TXN_CAUSE_REPLICATION_LAG, /* refused because a standby is too far behind */
    TS_TXN_CAUSE_DEADLOCK,        /* the deadlock detector asked for the abort */
    TS_TXN_CAUSE_RESOLVER,        /* a resolver wrote the abort decision */
    TS_TXN_CAUSE_FENCED,          /* this coordinator lost its registration */
};

struct ts_txn_cause {
    enum ts_txn_cause_kind kind;
    enum ts_txn_timeout_phase phase; /* for TIMEOUT */
    bool unanswered;                 /* for TIMEOUT: no answer, not even that the call waited for a lock */
    enum ts_store_result result;     /* for STORE */
    enum ts_call_kind call;          /* for STORE */
    char sqlstate[6];                /* for STORE: from the store; may be empty */
    bool down;                       /* for STORE: no connection could be made */
};

struct ts_txn_cause ts_txn_cause_of_store(const struct ts_call *call);
struct ts_txn_cause ts_txn_cause_of_timeout(enum ts_txn_timeout_phase phase);

/* The meaning of a cause for the client and for retries. The cause NONE has no verdict. */
struct ts_txn_error_verdict {
    enum ts_txn_error_class error_class;
    bool repeatable;     /* the same batches may be tried again, under a new transaction id */
    bool met_a_lock;     /* a retry is useful until the total timeout, because the lock will be released */
    bool infrastructure; /* counts for the circuit breaker, because the store or the connection failed */
    bool answered;       /* the store answered, so the store works */
};
struct ts_txn_error_verdict ts_txn_error_classify(const struct ts_txn_cause *cause);

/* Returns the class of a database's own code. With maybe_done, the call may have changed something; without
 * it, the call changed nothing. */
enum ts_txn_error_class ts_txn_error_class_of_sqlstate(const char *sqlstate, bool maybe_done);

/* The value of the label `reason`: a short word from a fixed list, see TS_TXN_ABORT_REASONS. */
#define TS_TXN_ABORT_REASONS(X)                                                                              \
    X(CONFLICT, "conflict")                                                                                  \
    X(TRANSIENT, "transient")                                                                                \
    X(PERMANENT, "permanent")                                                                                \
    X(LOST_REPLY, "lost_reply")                                                                              \
    X(TIMEOUT, "timeout")                                                                                    \
    X(ADMISSION, "admission")                                                                                \
    X(CIRCUIT_BREAKER, "circuit_breaker")                                                                    \
    X(REPLICATION_LAG, "replication_lag")                                                                    \
    X(DEADLOCK, "deadlock")                                                                                  \
    X(RESOLVER, "resolver")                                                                                  \
    X(FENCED, "fenced")

#define TS_TXN_ABORT_REASON_ENUM(suffix, text) TS_TXN_ABORT_##suffix,
enum ts_txn_abort_reason { TS_TXN_ABORT_REASONS(TS_TXN_ABORT_REASON_ENUM) TS_TXN_ABORT_REASON_COUNT };
#undef TS_TXN_ABORT_REASON_ENUM

/* Returns the reason for the label. The cause must not be NONE. */
enum ts_txn_abort_reason ts_txn_cause_reason(const struct ts_txn_cause *cause);
const char *ts_txn_abort_reason_name(enum ts_txn_abort_reason reason);

/* How a transaction ended, as far as this is known. */
enum ts_txn_end {
    TS_TXN_END_COMMITTED,
    TS_TXN_END_COMMITTED_PENDING, /* decided; some stores have not applied it yet */
    TS_TXN_END_ABORTED,
    TS_TXN_END_UNKNOWN,
};

/* Returns the SQLSTATE that the client sees: five characters and a terminator. Uses the cause only for
 * ABORTED. */
struct ts_txn_error_code {
    char text[6];
};
struct ts_txn_error_code ts_txn_sqlstate(enum ts_txn_end end, const struct ts_txn_cause *cause);

#endif
