/*
 * Decides whether and when a transaction is tried again.
 *
 *     backoff(n) = base + uniform(0, jitter * base),  base = min(initial * multiplier^n, max_backoff)
 *
 * for the n-th retry, counted from 0. The jitter is drawn again for each retry. A transaction's first retry
 * is immediate if the error was Transient. The retry of an attempt that gave way is also immediate, because
 * the next attempt waits in the queue of the lock.
 *
 * An attempt that met a lock is repeated until the total timeout. max_retries, retry_budget and retry_ceiling
 * limit these repetitions only if the user has configured them; their defaults do not.
 */
#ifndef TS_TXN_GUARD_RETRY_H
#define TS_TXN_GUARD_RETRY_H

#include "base/prng.h"
#include "txn/guard/cause.h"
#include "txn/guard/txn_config.h"

#include <stdint.h>

/* The state of one transaction's retries. */
struct ts_txn_retry {
    uint64_t begun_us;
    uint64_t backoff_spent_us;
    uint32_t retries;
    bool gave_way; /* the last attempt took locks in any order, and gave way instead of waiting */
};

void ts_txn_retry_init(struct ts_txn_retry *retry, uint64_t now_us);

enum ts_txn_retry_decision {
    TS_TXN_RETRY_AGAIN,         /* try again after *ret_backoff_us */
    TS_TXN_RETRY_NOT_RETRYABLE, /* the class or the cause does not allow a retry */
    TS_TXN_RETRY_MAX_RETRIES,   /* max_retries are used up */
    TS_TXN_RETRY_BUDGET,        /* the total time of backoffs would exceed retry_budget */
    TS_TXN_RETRY_CEILING,       /* the retry would begin at or after retry_ceiling */
    TS_TXN_RETRY_TOTAL,         /* the retry would begin at or after the total timeout */
};
const char *ts_txn_retry_decision_name(enum ts_txn_retry_decision decision);

/* Decides what to do after an attempt that failed and is aborted on every store. If it returns AGAIN, it has
 * counted the retry and its backoff. */
enum ts_txn_retry_decision ts_txn_retry_next(struct ts_txn_retry *retry, const struct ts_txn_config *config,
                                             const struct ts_txn_error_verdict *verdict, uint64_t now_us,
                                             struct ts_prng *prng, uint64_t *ret_backoff_us);

/* Returns the backoff before retry n, counted from 0, with jitter. */
uint64_t ts_txn_retry_backoff_us(const struct ts_txn_retry_config *config, uint32_t n, struct ts_prng *prng);

#endif
