/*
 * Where the time of one transaction went, in microseconds.
 *
 * Each microsecond counts in one phase; only GC_IMPACT overlaps with other phases. So the phase with the most
 * time shows where to look. Parallel work on several stores takes as long as the slowest store. The round
 * trips of each store are also added up separately; their phase has the time of the slowest store. total_us
 * is measured end to end, and is usually a little more than the sum of the phases without GC_IMPACT.
 */
#ifndef TS_TXN_GUARD_LATENCY_H
#define TS_TXN_GUARD_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(SUFFIX, field and metric, name in the waterfall or NULL, what it is). The order is the waterfall's. */
#define TS_TXN_BREAKDOWN_PHASES(X)                                                                           \
    X(COORD_QUEUE, "coord_queue_us", "queue", "Wait for admission")                                          \
    X(ROUTE_PLAN, "route_plan_us", "route", "Routing and classification")                                    \
    X(SHARD_RPC, "shard_rpc_us", "rpc_max", "Round trips to a store that belong to no other phase")          \
    X(READ_PHASE, "read_phase_us", "read", "Reads, over all stores")                                         \
    X(LOCK_VALIDATE, "lock_validate_us", "lock", "Locks and checks")                                         \
    X(PREPARE_WAL, "prepare_wal_us", "prep", "Durable promises on the participants")                         \
    X(COMMIT_BARRIER, "commit_barrier_us", "barrier", "The decision: the write of the decider")              \
    X(COMMIT_WAL, "commit_wal_us", "commit", "The commit point and the commits after it")                    \
    X(REPLICATION_ACK, "replication_ack_us", "repl", "Standbys, if measured separately")                     \
    X(GC_IMPACT, "gc_impact_us", NULL, "Write stalls of the store")                                          \
    X(RETRY_BACKOFF, "retry_backoff_us", "retry", "Backing off between attempts")

#define TS_TXN_BREAKDOWN_PHASE_ENUM(suffix, field, waterfall, help) TS_TXN_BREAKDOWN_##suffix,
enum ts_txn_breakdown_phase {
    TS_TXN_BREAKDOWN_PHASES(TS_TXN_BREAKDOWN_PHASE_ENUM) TS_TXN_BREAKDOWN_PHASE_COUNT
};
#undef TS_TXN_BREAKDOWN_PHASE_ENUM

/* The maximum number of stores with their own round trip times. Any other store still counts if one of its
 * round trips is the slowest. */
enum { TS_TXN_BREAKDOWN_STORES_MAX = 32 };

struct ts_txn_breakdown_rpc {
    uint32_t store;
    uint64_t us; /* sum of all round trips to this store */
};

struct ts_txn_breakdown {
    uint64_t us[TS_TXN_BREAKDOWN_PHASE_COUNT]; /* SHARD_RPC: the time of the slowest store */
    uint64_t total_us;
    struct ts_txn_breakdown_rpc rpc[TS_TXN_BREAKDOWN_STORES_MAX];
    size_t rpc_count;
};

void ts_txn_breakdown_init(struct ts_txn_breakdown *latency);

/* Adds time to a phase; several attempts add up. The phase must not be SHARD_RPC. */
void ts_txn_breakdown_add(struct ts_txn_breakdown *latency, enum ts_txn_breakdown_phase phase, uint64_t us);

/* Adds the time of a round trip to a store. */
void ts_txn_breakdown_add_rpc(struct ts_txn_breakdown *latency, struct ts_txn_breakdown_rpc rpc);

/* Returns the phase with the most time. If several have the most, returns the first of these; if all times
 * are 0, COORD_QUEUE. */
enum ts_txn_breakdown_phase ts_txn_breakdown_dominant(const struct ts_txn_breakdown *latency);

/* Returns the field name of a phase, for example "prepare_wal_us". */
const char *ts_txn_breakdown_phase_field(enum ts_txn_breakdown_phase phase);

/* Returns a description of the phase, for people and for HELP. */
const char *ts_txn_breakdown_phase_help(enum ts_txn_breakdown_phase phase);

/* Writes the total and all phases except GC_IMPACT in one line, and returns ret_text. The size is enough for
 * the longest line and its terminator.
 * queue=100|route=50|rpc_max=500|read=0|lock=0|prep=800|barrier=0|commit=200|repl=0|retry=0|total=1650 */
#define TS_TXN_BREAKDOWN_WATERFALL_SIZE 320
const char *ts_txn_breakdown_waterfall(const struct ts_txn_breakdown *latency,
                                       char ret_text[static TS_TXN_BREAKDOWN_WATERFALL_SIZE]);

#endif
