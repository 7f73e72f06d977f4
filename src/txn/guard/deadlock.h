/*
 * The waiting transactions: what they wait for, and since when. A transaction that waits longer than
 * deadlock.timeout counts as deadlocked: it is reported once for each wait, and its owner is asked to abort
 * it unless it is past its commit point.
 *
 * The caller owns the nodes; they stay in place from begin to end, and so do the id and the stores that they
 * point to. Times never decrease from one begin to the next, so the list is in the order of age. Not
 * thread-safe: the driver locks.
 */
#ifndef TS_TXN_GUARD_DEADLOCK_H
#define TS_TXN_GUARD_DEADLOCK_H

#include "txn/guard/txn_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(SUFFIX, name). A wait for SHARD_LOCK_WAIT names its store. */
#define TS_TXN_WAIT_REASONS(X)                                                                               \
    X(COORDINATOR_QUEUE, "CoordinatorQueue")                                                                 \
    X(SHARD_LOCK_WAIT, "ShardLockWait")                                                                      \
    X(VALIDATE, "Validate")                                                                                  \
    X(WAL_WRITE, "WalWrite")                                                                                 \
    X(REPLICATION_ACK, "ReplicationAck")                                                                     \
    X(COMMIT_BARRIER, "CommitBarrier")

#define TS_TXN_WAIT_REASON_ENUM(suffix, name) TS_TXN_WAIT_##suffix,
enum ts_txn_wait_kind { TS_TXN_WAIT_REASONS(TS_TXN_WAIT_REASON_ENUM) };
#undef TS_TXN_WAIT_REASON_ENUM

struct ts_txn_wait_reason {
    enum ts_txn_wait_kind kind;
    uint32_t store; /* SHARD_LOCK_WAIT */
};

struct ts_txn_deadlock_node {
    /* Set by the caller. */
    const char *txn_id;
    const uint32_t *stores;
    size_t store_count;
    struct ts_txn_wait_reason reason;
    bool may_abort; /* false past the commit point */

    /* Set by the detector; read it while waiting. The next begin resets it to false. */
    bool abort_wanted;

    uint64_t since_us;
    enum { TS_TXN_DEADLOCK_IDLE, TS_TXN_DEADLOCK_WAITING, TS_TXN_DEADLOCK_STALLED } state;
    struct ts_txn_deadlock_node *next, *previous;
};

struct ts_txn_deadlock_detector {
    uint64_t timeout_us;
    struct ts_txn_deadlock_node *oldest, *newest; /* WAITING; stalled ones are not in the list */
    uint64_t detected;                            /* stalls found since the start */
    uint64_t stalled;                             /* STALLED at the moment */
    uint64_t waiting;                             /* WAITING at the moment */
};

void ts_txn_deadlock_init(struct ts_txn_deadlock_detector *detector,
                          const struct ts_txn_deadlock_config *config);

/* Begins a wait. The node must not be waiting. */
void ts_txn_deadlock_begin(struct ts_txn_deadlock_detector *detector, struct ts_txn_deadlock_node *node,
                           uint64_t now_us);

/* Ends the wait. Does nothing for a node that does not wait. */
void ts_txn_deadlock_end(struct ts_txn_deadlock_detector *detector, struct ts_txn_deadlock_node *node);

/* The report borrows id and stores from the node. */
struct ts_txn_deadlock_report {
    struct ts_txn_deadlock_node *node;
    const char *txn_id;
    const uint32_t *involved_stores;
    size_t involved_store_count;
    struct ts_txn_wait_reason wait_reason;
    uint64_t wait_duration_us;
    bool abort_wanted;
};

/* The next transaction that has waited too long, once for each wait; false: no more at this time. Sets
 * abort_wanted in its node; the driver wakes its owner. */
bool ts_txn_deadlock_next(struct ts_txn_deadlock_detector *detector, uint64_t now_us,
                          struct ts_txn_deadlock_report *ret_report);

/* When ts_txn_deadlock_next may next return a transaction; UINT64_MAX: none is waiting. */
uint64_t ts_txn_deadlock_next_us(const struct ts_txn_deadlock_detector *detector);

/* "ShardLockWait(2)". Returns ret_text. */
#define TS_TXN_WAIT_REASON_TEXT_SIZE 40
const char *ts_txn_wait_reason_text(struct ts_txn_wait_reason reason,
                                    char ret_text[static TS_TXN_WAIT_REASON_TEXT_SIZE]);

/* One line with the transaction, its stores, what it waited for and how long. Truncated to size, always
 * terminated. Returns ret_text. */
const char *ts_txn_deadlock_describe(const struct ts_txn_deadlock_report *report, char *ret_text,
                                     size_t size);

#endif
