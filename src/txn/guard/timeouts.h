/*
 * Layered timeouts: each phase has its own timeout, and every timeout error names its phase. Times are
 * monotonic microseconds of one clock.
 *
 *     call      coord_queue, shard_rpc, prepare, commit, lock_validate: from the start of the call
 *     total     from the start of the transaction, including retries; applies under both policies
 *     ceiling   retry_ceiling, from the start of the transaction: all attempts together, including the first;
 *               no retry begins after it (retry.h). If the user has not set it, it does not end attempts that
 *               follow lock conflicts alone
 *
 * FailFast ends a call at the earliest of these timeouts, BestEffort only at the total. The driver decides
 * what the end of a call means. Before the commit point the transaction is aborted; after the commit point
 * the answer is "committed, pending".
 */
#ifndef TS_TXN_GUARD_TIMEOUTS_H
#define TS_TXN_GUARD_TIMEOUTS_H

#include "txn/guard/txn_config.h"

#include <stdint.h>

/* The phases of a transaction that have a timeout. X(SUFFIX, name, name of the setting). */
#define TS_TXN_TIMEOUT_PHASES(X)                                                                             \
    X(COORD_QUEUE, "CoordQueue", "timeouts.coord_queue")                                                     \
    X(SHARD_RPC, "ShardRpc", "timeouts.shard_rpc")                                                           \
    X(PREPARE, "Prepare", "timeouts.prepare")                                                                \
    X(COMMIT, "Commit", "timeouts.commit")                                                                   \
    X(LOCK_VALIDATE, "LockValidate", "timeouts.lock_validate")                                               \
    X(TOTAL, "Total", "timeouts.total")                                                                      \
    X(RETRY_CEILING, "RetryCeiling", "timeouts.retry_ceiling")

#define TS_TXN_TIMEOUT_PHASE_ENUM(suffix, name, setting) TS_TXN_TIMEOUT_##suffix,
enum ts_txn_timeout_phase { TS_TXN_TIMEOUT_NONE, TS_TXN_TIMEOUT_PHASES(TS_TXN_TIMEOUT_PHASE_ENUM) };
#undef TS_TXN_TIMEOUT_PHASE_ENUM

/* Returns the name of a phase: "Prepare"; "None" for NONE. */
const char *ts_txn_timeout_phase_name(enum ts_txn_timeout_phase phase);

/* Returns the setting of a phase, for messages that name the fix: "timeouts.prepare"; NULL for NONE. */
const char *ts_txn_timeout_phase_setting(enum ts_txn_timeout_phase phase);

/* One transaction and the call that it waits for. Parallel calls have one watch each. */
struct ts_txn_timeout_watch {
    uint64_t txn_begun_us;
    enum ts_txn_timeout_phase phase; /* phase of the call; NONE, TOTAL: only total and retry_ceiling apply */
    uint64_t call_begun_us;
    bool only_conflicts; /* every earlier attempt failed because of a lock */
};

/* Returns the time until which the call may wait. Never UINT64_MAX, because there is always a total
 * timeout. */
uint64_t ts_txn_timeout_until_us(const struct ts_txn_timeouts *timeouts,
                                 const struct ts_txn_timeout_watch *watch);

/*
 * Returns how long the call may wait for one lock; 0: as long as the call itself may take. If the default
 * timeout of prepare or lock_validate would end the call, the result is less than the call's time. So the
 * store can report the lock in time, and the transaction is tried again.
 */
uint64_t ts_txn_timeout_lock_wait_us(const struct ts_txn_timeouts *timeouts,
                                     const struct ts_txn_timeout_watch *watch);

/* Returns the phase whose timeout passed first. If several passed at the same time, returns the phase of the
 * call. NONE if now_us is before ts_txn_timeout_until_us(). */
enum ts_txn_timeout_phase ts_txn_timeout_over(const struct ts_txn_timeouts *timeouts,
                                              const struct ts_txn_timeout_watch *watch, uint64_t now_us);

#endif
