/*
 * Where the time of one transaction went, in microseconds.
 *
 * Phases do not overlap: each microsecond counts in one of them, so that the dominant one shows where to
 * look. Parallel work on several stores takes as long as the slowest of them; for round trips each store's
 * own time is kept too, and the slowest counts. total_us is measured end to end, and is about the sum or
 * more.
 */
#ifndef TS_TXN_GUARD_LATENCY_H
#define TS_TXN_GUARD_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(SUFFIX, field and metric, name in the waterfall or NULL, what it is). The order is the waterfall's. */
#define TS_LATENCY_PHASES(X)                                                                                 \
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

#define TS_LATENCY_PHASE_ENUM(suffix, field, waterfall, help) TS_LATENCY_##suffix,
enum ts_latency_phase { TS_LATENCY_PHASES(TS_LATENCY_PHASE_ENUM) TS_LATENCY_PHASE_COUNT };
#undef TS_LATENCY_PHASE_ENUM

/* Stores with separate round trips; further ones still count for the slowest. */
enum { TS_LATENCY_STORES_MAX = 32 };

struct ts_latency_rpc {
    uint32_t store;
    uint64_t us; /* all round trips to it together */
};

struct ts_latency {
    uint64_t us[TS_LATENCY_PHASE_COUNT]; /* SHARD_RPC: of the slowest store */
    uint64_t total_us;
    struct ts_latency_rpc rpc[TS_LATENCY_STORES_MAX];
    size_t rpc_count;
    bool rpc_more; /* there were more stores */
};

void ts_latency_init(struct ts_latency *latency);

/* Adds to a phase; attempts add up. Not for SHARD_RPC. */
void ts_latency_add(struct ts_latency *latency, enum ts_latency_phase phase, uint64_t us);

/* Adds to a store's round trips. */
void ts_latency_add_rpc(struct ts_latency *latency, struct ts_latency_rpc rpc);

/* The phase with the most time, the first of equal ones. COORD_QUEUE when all are 0. */
enum ts_latency_phase ts_latency_dominant(const struct ts_latency *latency);

/* "prepare_wal_us" */
const char *ts_latency_phase_field(enum ts_latency_phase phase);

/* A description of the phase, for people and for HELP. */
const char *ts_latency_phase_help(enum ts_latency_phase phase);

/* queue=100|route=50|rpc_max=500|read=0|lock=0|prep=800|barrier=0|commit=200|repl=0|retry=0|total=1650
 * Room for the longest, with its terminator. Returns ret_text. */
#define TS_LATENCY_WATERFALL_SIZE 320
const char *ts_latency_waterfall(const struct ts_latency *latency,
                                 char ret_text[static TS_LATENCY_WATERFALL_SIZE]);

#endif
