/*
 * The waiting transactions: what they wait for, and since when. A transaction that waits longer than
 * deadlock.timeout counts as deadlocked. The detector reports the transaction once for each wait. It also
 * asks the owner to abort the transaction, except after the commit point.
 *
 * The caller owns the nodes. From begin to end the caller must not move or free a node, its id or its list of
 * stores. Times never decrease from one begin to the next, so the list is in the order of age. Not
 * thread-safe: the driver locks.
 */
#ifndef TS_TXN_GUARD_DEADLOCK_H
#define TS_TXN_GUARD_DEADLOCK_H

#include "txn/guard/txn_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The reasons why a transaction waits. X(SUFFIX, name). SHARD_LOCK_WAIT also has a store. */
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
    uint32_t store; /* for SHARD_LOCK_WAIT: the store */
};

struct ts_txn_deadlock_node {
    /* Set by the caller, like the fields up to may_abort. */
    const char *txn_id;
    const uint32_t *stores;
    size_t store_count;
    struct ts_txn_wait_reason reason;
    bool may_abort; /* false after the commit point */

    /* Set by the detector; the owner reads it while the transaction waits. The next begin resets it to
     * false. */
    bool abort_wanted;

    uint64_t since_us;
    enum { TS_TXN_DEADLOCK_IDLE, TS_TXN_DEADLOCK_WAITING, TS_TXN_DEADLOCK_STALLED } state;
    struct ts_txn_deadlock_node *next, *previous;
};

struct ts_txn_deadlock_detector {
    uint64_t timeout_us;
    struct ts_txn_deadlock_node *oldest, *newest; /* list of the WAITING nodes; STALLED nodes are not in it */
    uint64_t detected;                            /* number of stalls found since the start */
    uint64_t stalled;                             /* number of nodes that are STALLED now */
    uint64_t waiting;                             /* number of nodes that are WAITING now */
};

void ts_txn_deadlock_init(struct ts_txn_deadlock_detector *detector,
                          const struct ts_txn_deadlock_config *config);

/* Begins a wait of the node, which must not be waiting already. */
void ts_txn_deadlock_begin(struct ts_txn_deadlock_detector *detector, struct ts_txn_deadlock_node *node,
                           uint64_t now_us);

/* Ends the wait. Does nothing for a node that does not wait. */
void ts_txn_deadlock_end(struct ts_txn_deadlock_detector *detector, struct ts_txn_deadlock_node *node);

/* A deadlock to report. `txn_id` and `involved_stores` are borrowed from the node. */
struct ts_txn_deadlock_report {
    struct ts_txn_deadlock_node *node;
    const char *txn_id;
    const uint32_t *involved_stores;
    size_t involved_store_count;
    struct ts_txn_wait_reason wait_reason;
    uint64_t wait_duration_us;
    bool abort_wanted;
};

/* Sets *ret_report to the next transaction that has waited too long, once for each wait. Returns false when
 * there is none at this time. Sets abort_wanted in the transaction's node if may_abort is set there. The
 * owner reads it when its own wait times out. */
bool ts_txn_deadlock_next(struct ts_txn_deadlock_detector *detector, uint64_t now_us,
                          struct ts_txn_deadlock_report *ret_report);

/* Returns the next time at which ts_txn_deadlock_next may find a transaction; UINT64_MAX when none is
 * waiting. */
uint64_t ts_txn_deadlock_next_us(const struct ts_txn_deadlock_detector *detector);

/* Writes the reason as text, for example "ShardLockWait(2)". Returns ret_text. */
#define TS_TXN_WAIT_REASON_TEXT_SIZE 40
const char *ts_txn_wait_reason_text(struct ts_txn_wait_reason reason,
                                    char ret_text[static TS_TXN_WAIT_REASON_TEXT_SIZE]);

/* Writes one line with the transaction, its stores, what it waited for and how long. The text is truncated to
 * size and always terminated. Returns ret_text. */
const char *ts_txn_deadlock_describe(const struct ts_txn_deadlock_report *report, char *ret_text,
                                     size_t size);

#endif
