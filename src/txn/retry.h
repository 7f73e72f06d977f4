/*
 * What an error means, what the client is told, and whether the transaction is tried again.
 *
 * Every failure has exactly one class. A class says whether a retry makes sense at all; whether the same
 * batches may be tried again is one more question: a failed check is a Conflict that only its caller, who
 * must read again, can retry.
 *
 *     backoff(n) = base + uniform(0, jitter * base),  base = min(initial * multiplier^n, max_backoff)
 *
 * for the n-th retry from 0, drawn anew each time. The first retry of a Transient error is immediate.
 */
#ifndef TS_TXN_RETRY_H
#define TS_TXN_RETRY_H

#include "base/prng.h"
#include "turnstone/store.h"
#include "txn/timeouts.h"
#include "txn/txn_config.h"

#include <stdbool.h>
#include <stdint.h>

/* X(SUFFIX, name, retryable). */
#define TS_ERROR_CLASSES(X)                                                                                  \
    X(TRANSIENT, "Transient", true)                                                                          \
    X(CONFLICT, "Conflict", true)                                                                            \
    X(TIMEOUT, "Timeout", false) /* indeterminate */                                                         \
    X(PERMANENT, "Permanent", false)

#define TS_ERROR_CLASS_ENUM(suffix, name, retryable) TS_ERROR_##suffix,
enum ts_error_class { TS_ERROR_CLASSES(TS_ERROR_CLASS_ENUM) };
#undef TS_ERROR_CLASS_ENUM

const char *ts_error_class_name(enum ts_error_class error_class);

/*
 * Why a transaction did not commit, or is not known to have. X(SUFFIX, reason): the reason is the label of
 * turnstone_xs_total_aborted for what is no STORE failure; those have the reasons of ts_txn_cause_reason.
 */
#define TS_TXN_CAUSES(X)                                                                                     \
    X(NONE, "none")                                                                                          \
    X(STORE, "store")                     /* a call to a store failed: result, sqlstate, call */             \
    X(TIMEOUT, "timeout")                 /* a phase was over: phase */                                      \
    X(ADMISSION, "admission")             /* refused or shed */                                              \
    X(BREAKER, "circuit_breaker")         /* refused because the breaker is open */                          \
    X(REPLICATION_LAG, "replication_lag") /* refused because a standby is too far behind */                  \
    X(DEADLOCK, "deadlock")               /* the detector asked for it */                                    \
    X(RESOLVER, "resolver")               /* a resolver wrote the abort */                                   \
    X(FENCED, "fenced")                   /* this coordinator lost its registration */

#define TS_TXN_CAUSE_ENUM(suffix, reason) TS_CAUSE_##suffix,
enum ts_txn_cause_kind { TS_TXN_CAUSES(TS_TXN_CAUSE_ENUM) };
#undef TS_TXN_CAUSE_ENUM

struct ts_txn_cause {
    enum ts_txn_cause_kind kind;
    enum ts_timeout_phase phase; /* TIMEOUT */
    enum ts_store_result result; /* STORE */
    enum ts_call_kind call;      /* STORE */
    char sqlstate[6];            /* STORE: as the store gave it; may be empty */
};

struct ts_txn_cause ts_txn_cause_of_store(const struct ts_call *call);
struct ts_txn_cause ts_txn_cause_of_timeout(enum ts_timeout_phase phase);

/* What a cause means. Not for NONE. */
struct ts_error_verdict {
    enum ts_error_class error_class;
    bool repeatable;     /* the same batches may be tried again, under a new transaction id */
    bool infrastructure; /* counts for the circuit breaker: the store or the way to it is ill */
    bool answered;       /* the store was reached and said what it means: it is not ill */
};
struct ts_error_verdict ts_error_classify(const struct ts_txn_cause *cause);

/* The class of a database's own code for a call that changed nothing, or, with maybe_done, may have. */
enum ts_error_class ts_error_class_of_sqlstate(const char *sqlstate, bool maybe_done);

/* The value of the label `reason`: a short word from a fixed list, see TS_ABORT_REASONS. */
#define TS_ABORT_REASONS(X)                                                                                  \
    X(CONFLICT, "conflict")                                                                                  \
    X(TRANSIENT, "transient")                                                                                \
    X(PERMANENT, "permanent")                                                                                \
    X(UNKNOWN, "unknown")                                                                                    \
    X(TIMEOUT, "timeout")                                                                                    \
    X(ADMISSION, "admission")                                                                                \
    X(CIRCUIT_BREAKER, "circuit_breaker")                                                                    \
    X(REPLICATION_LAG, "replication_lag")                                                                    \
    X(DEADLOCK, "deadlock")                                                                                  \
    X(RESOLVER, "resolver")                                                                                  \
    X(FENCED, "fenced")

#define TS_ABORT_REASON_ENUM(suffix, text) TS_ABORT_##suffix,
enum ts_abort_reason { TS_ABORT_REASONS(TS_ABORT_REASON_ENUM) TS_ABORT_REASON_COUNT };
#undef TS_ABORT_REASON_ENUM

/* Not for NONE. */
enum ts_abort_reason ts_txn_cause_reason(const struct ts_txn_cause *cause);
const char *ts_abort_reason_name(enum ts_abort_reason reason);

/* How a transaction ended, as far as is known. */
enum ts_txn_end {
    TS_TXN_COMMITTED,
    TS_TXN_COMMITTED_PENDING, /* decided; some stores have still to hear of it */
    TS_TXN_ABORTED,
    TS_TXN_UNKNOWN,
};

/* What the client sees, five characters and a terminator. The cause counts only for ABORTED. */
struct ts_sqlstate {
    char text[6];
};
struct ts_sqlstate ts_txn_sqlstate(enum ts_txn_end end, const struct ts_txn_cause *cause);

/* The retries of one transaction. */
struct ts_retry {
    uint64_t begun_us;
    uint64_t backoff_spent_us;
    uint32_t retries;
};

void ts_retry_init(struct ts_retry *retry, uint64_t now_us);

enum ts_retry_decision {
    TS_RETRY_AGAIN,         /* after *ret_backoff_us */
    TS_RETRY_NOT_RETRYABLE, /* the class or the cause forbids it */
    TS_RETRY_MAX_RETRIES,   /* used up */
    TS_RETRY_BUDGET,        /* backing off would take more than retry_budget in all */
    TS_RETRY_CEILING,       /* the retry would begin at or after retry_ceiling */
    TS_RETRY_TOTAL,         /* or at or after the total */
};
const char *ts_retry_decision_name(enum ts_retry_decision decision);

/* Decides after a failed attempt, which must have ended: aborted on every store. Counts the retry and its
 * backoff when the answer is AGAIN. */
enum ts_retry_decision ts_retry_next(struct ts_retry *retry, const struct ts_txn_config *config,
                                     const struct ts_error_verdict *verdict, uint64_t now_us,
                                     struct ts_prng *prng, uint64_t *ret_backoff_us);

/* The backoff before retry n, from 0, with its jitter. */
uint64_t ts_retry_backoff_us(const struct ts_retry_config *config, uint32_t n, struct ts_prng *prng);

#endif
