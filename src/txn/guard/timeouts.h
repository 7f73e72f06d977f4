/*
 * Layered timeouts: each phase has its own, and every timeout names the phase that was over. Times are
 * monotonic microseconds of one clock.
 *
 *     call      coord_queue, shard_rpc, prepare, commit, lock_validate: from the start of the call
 *     total     from the start of the transaction, its retries included; holds under both policies
 *     ceiling   retry_ceiling, from the start of the transaction: all attempts together, the first one too; no retry
 *               begins after it (retry.h). Its default does not bound attempts that nothing but locks has made necessary
 *
 * FailFast ends a call at the first of these; BestEffort at the total only. The driver decides what the end
 * of a call means: before the commit point it aborts, after it the answer is "committed, pending".
 */
#ifndef TS_TXN_GUARD_TIMEOUTS_H
#define TS_TXN_GUARD_TIMEOUTS_H

#include "txn/guard/txn_config.h"

#include <stdint.h>

/* TimeoutPhase. X(SUFFIX, name, name of the setting). */
#define TS_TIMEOUT_PHASES(X)                                                                                 \
    X(COORD_QUEUE, "CoordQueue", "timeouts.coord_queue")                                                     \
    X(SHARD_RPC, "ShardRpc", "timeouts.shard_rpc")                                                           \
    X(PREPARE, "Prepare", "timeouts.prepare")                                                                \
    X(COMMIT, "Commit", "timeouts.commit")                                                                   \
    X(LOCK_VALIDATE, "LockValidate", "timeouts.lock_validate")                                               \
    X(TOTAL, "Total", "timeouts.total")                                                                      \
    X(RETRY_CEILING, "RetryCeiling", "timeouts.retry_ceiling")

#define TS_TIMEOUT_PHASE_ENUM(suffix, name, setting) TS_TIMEOUT_##suffix,
enum ts_timeout_phase { TS_TIMEOUT_NONE, TS_TIMEOUT_PHASES(TS_TIMEOUT_PHASE_ENUM) };
#undef TS_TIMEOUT_PHASE_ENUM

/* "Prepare"; "None". */
const char *ts_timeout_phase_name(enum ts_timeout_phase phase);

/* "timeouts.prepare", for messages that name the fix; NULL for NONE. */
const char *ts_timeout_phase_setting(enum ts_timeout_phase phase);

/* One transaction and the call that it waits for. Parallel calls have one watch each. */
struct ts_timeout_watch {
    uint64_t txn_begun_us;
    enum ts_timeout_phase phase; /* of the call; NONE, TOTAL: only the transaction itself */
    uint64_t call_begun_us;
    bool only_conflicts; /* every earlier attempt failed because of a lock */
};

/* The time until which the call may wait. Never UINT64_MAX, because there is always a total timeout. */
uint64_t ts_timeout_until_us(const struct ts_timeouts *timeouts, const struct ts_timeout_watch *watch);

/*
 * How long the call may wait for one lock; 0: as long as the call. If the phase has its default length, this
 * is less than the call's time, so that the store can report the lock; then the transaction is tried again.
 */
uint64_t ts_timeout_lock_wait_us(const struct ts_timeouts *timeouts, const struct ts_timeout_watch *watch);

/* The phase that is over at now_us: the one that ended first, or, if several ended together, the call's own;
 * NONE while there is time. Agrees with ts_timeout_until_us: not NONE exactly when now_us has reached it. */
enum ts_timeout_phase ts_timeout_over(const struct ts_timeouts *timeouts,
                                      const struct ts_timeout_watch *watch, uint64_t now_us);

#endif
