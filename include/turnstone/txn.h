/*
 * Transactions over the stores of a cluster: a list of operations is applied completely or not at all,
 * wherever the keys are stored.
 *
 * A transaction on one store is local: one atomic write there. A transaction on several stores is global:
 * every store but one promises its part; the remaining one, the decider, applies its part together with the
 * decision; then the promises are committed. docs/transactions.md describes what a caller can rely on.
 *
 * A coordinator is opened once per process and cluster. Any number of threads may run transactions through it
 * at the same time. There are five outcomes: committed; committed, but not yet applied on every store;
 * aborted; refused before anything was tried; unknown. Unknown is a separate outcome, never reported as
 * aborted: ask ts_txn_status later. For a recorded transaction ts_txn_status returns the outcome once a store
 * has it. Until then, it also returns unknown.
 */
#ifndef TURNSTONE_TXN_H
#define TURNSTONE_TXN_H

#include "turnstone/api.h"
#include "turnstone/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ts_cluster;     /* an ordered list of open stores and the router over them: turnstone/cluster.h */
struct ts_txn_config;  /* timeouts, limits and policies: turnstone/config.h */
struct ts_coordinator; /* this process's side of the protocol */

/* The maximum number of stores of a transaction, and therefore of a cluster. */
#define TS_TXN_PLACES_MAX    256

/* An id as text, with its terminator: ts.<cluster>.<coordinator>.<sequence>.<decider>. */
#define TS_TXN_ID_SIZE       112

/* Keys of this layer begin with this byte; keys of users' operations must not begin with it. */
#define TS_TXN_RESERVED_BYTE 0x00

/* X(SUFFIX, text) */
#define TS_TXN_OUTCOMES(X)                                                                                   \
    /* applied on every store */                                                                             \
    X(COMMITTED, "committed")                                                                                \
    /* decided, and can no longer be lost; some stores will apply it later, without further action */        \
    X(COMMITTED_PENDING, "committed, pending")                                                               \
    /* nothing is applied anywhere, now or later */                                                          \
    X(ABORTED, "aborted")                                                                                    \
    /* like aborted, but no store was called: admission, breaker, or a list that can never be applied */     \
    X(REFUSED, "refused")                                                                                    \
    /* the transaction may be committed, now or later: ask ts_txn_status */                                  \
    X(UNKNOWN, "unknown")

#define TS_TXN_OUTCOME_ENUM(suffix, text) TS_TXN_##suffix,
enum ts_txn_outcome { TS_TXN_OUTCOMES(TS_TXN_OUTCOME_ENUM) };
#undef TS_TXN_OUTCOME_ENUM

TS_API const char *ts_txn_outcome_text(enum ts_txn_outcome outcome);

/* Where the time of a transaction was spent: microseconds, summed over all attempts. The names of the fields
 * come from the specification. */
struct ts_txn_latency {
    uint64_t coord_queue_us;
    uint64_t route_plan_us;
    /* The longest round trip to a store in any phase: the maximum of places[].rpc_us. */
    uint64_t shard_rpc_max_us;
    /* Calls outside the phases (registering, looking up a lost reply, cleaning up), on the store where they
     * took longest. This field and the phases add up to the total, except for the time between calls. */
    uint64_t other_rpc_us;
    uint64_t read_phase_us;
    uint64_t lock_validate_us;
    uint64_t prepare_wal_us;
    uint64_t commit_barrier_us;
    uint64_t commit_wal_us;
    uint64_t replication_ack_us;
    uint64_t gc_impact_us;
    uint64_t retry_backoff_us;
    uint64_t total_us;
};

/* Room for any waterfall line with its terminator. */
#define TS_TXN_WATERFALL_SIZE 320

/* Writes the latency as one line:
 * "queue=100|route=50|rpc_max=500|read=0|lock=0|prep=800|barrier=0|commit=200|repl=0|retry=0|total=1650". */
TS_API size_t ts_txn_latency_waterfall(const struct ts_txn_latency *latency,
                                       char ret_line[TS_TXN_WATERFALL_SIZE]);

/* Returns the name of the field with the most time, as in the specification, such as "prepare_wal_us". */
TS_API const char *ts_txn_latency_dominant(const struct ts_txn_latency *latency);

/* One store of a transaction. */
struct ts_txn_place {
    uint32_t place;
    bool decider;    /* global only: this store made the decision */
    bool pending;    /* committed, but not yet applied on this store */
    uint64_t rpc_us; /* duration of the longest call of the last attempt */
};

struct ts_txn_result {
    enum ts_txn_outcome outcome;
    char sqlstate[6];            /* "00000", or a code of section 1.4 of the specification */
    char id[TS_TXN_ID_SIZE];     /* id of the last attempt; empty without an attempt */
    bool global;                 /* the transaction has several stores */
    size_t op;                   /* index of the failed operation in the caller's list, or SIZE_MAX */
    enum ts_store_result reason; /* the store's answer, for outcomes other than committed */
    /* The cause that ended the transaction, if it was not the answer of a store: "timeout", "deadlock",
     * "admission", "circuit_breaker", "replication_lag", "resolver", "fenced". */
    const char *cause;
    /* The phase whose timeout ended the transaction, such as "Prepare". If the transaction is committed and
     * pending, the phase whose timeout ended the wait for the stores. NULL: no timeout. */
    const char *timeout;
    uint32_t attempts; /* 0: refused before the first attempt */
    /* If committed on one store: the version of every key that a PUT or ADD wrote; otherwise 0. */
    uint64_t version;
    struct ts_txn_latency latency;
    size_t place_count;
    struct ts_txn_place places[TS_TXN_PLACES_MAX]; /* places[0] to places[place_count - 1], ascending */
    char text[240];                                /* one line: what is wrong, why, and how to fix it */
};

struct ts_txn_options {
    /* Record the outcome, so that ts_txn_status can always return it. A recorded transaction on one store is
     * also applied at most once. */
    bool record;
    bool degrade; /* return at the commit point, with the outcome "committed, pending" */
    bool once;    /* no retries: the result of the first attempt is final */
    /* the caller is another layer of this library, and may write keys with the reserved first byte */
    bool system;
};

/*
 * Runs the operations as one transaction, each operation on the store that its key routes to. BEFORE goes to
 * every store that the transaction touches. Waits for the outcome, at most for the configured total time; a
 * local disk write cannot be interrupted and may take longer. Keys and values must stay in place meanwhile.
 * options may be NULL.
 */
TS_API void ts_txn_run(struct ts_coordinator *coordinator, const struct ts_op *ops, size_t count,
                       const struct ts_txn_options *options, struct ts_txn_result *ret_result);

/* A part of a transaction for one store, independent of the routing of its keys. */
struct ts_txn_part {
    uint32_t place;
    struct ts_batch batch;
};

/* Like ts_txn_run, with parts for particular stores, at most one part for each place. The index of an
 * operation counts through all parts, in order. */
TS_API void ts_txn_run_parts(struct ts_coordinator *coordinator, const struct ts_txn_part *parts,
                             size_t count, const struct ts_txn_options *options,
                             struct ts_txn_result *ret_result);

/*
 * Like ts_txn_run_parts, with one part. The transaction is therefore local: one APPLY, with the usual lag
 * limit, breaker, timeouts, retries and metrics. The operations are not copied, and nothing is allocated.
 */
TS_API void ts_txn_apply(struct ts_coordinator *coordinator, const struct ts_txn_part *part,
                         const struct ts_txn_options *options, struct ts_txn_result *ret_result);

/* Errors of all functions except those that run a transaction. X(SUFFIX, text) */
#define TS_TXN_ERRORS(X)                                                                                     \
    X(OK, "ok")                                                                                              \
    /* a store could not be reached or did not answer in time; `place` and the text name the store */        \
    X(STORE, "store")                                                                                        \
    /* not an id of this cluster */                                                                          \
    X(BAD_ID, "bad id")                                                                                      \
    /* the stores disagree about the epoch, or another process is changing the epoch */                      \
    X(EPOCH, "epoch")                                                                                        \
    /* some promises could not be settled; repeat the call when their deciders answer */                     \
    X(UNSETTLED, "unsettled")                                                                                \
    X(BAD_CONFIG, "bad configuration")                                                                       \
    X(NO_MEMORY, "out of memory")                                                                            \
    X(SYSTEM, "system")

#define TS_TXN_ERROR_ENUM(suffix, text) TS_TXN_ERROR_##suffix,
enum ts_txn_error { TS_TXN_ERRORS(TS_TXN_ERROR_ENUM) };
#undef TS_TXN_ERROR_ENUM

struct ts_txn_error_detail {
    enum ts_txn_error error;
    uint32_t place; /* STORE: the store's place, if known; otherwise UINT32_MAX */
    enum ts_store_result reason;
    char sqlstate[6];
    char text[240];
};

/*
 * Opens this process's coordinator over a cluster, which must stay open longer than the coordinator. config
 * is copied; NULL selects the defaults of the specification. Starts two threads: one sends heartbeats, the
 * other removes finished records and resolves promises. Nothing is written to a store before the first global
 * transaction.
 */
TS_API enum ts_txn_error ts_coordinator_open(struct ts_cluster *cluster, const struct ts_txn_config *config,
                                             struct ts_coordinator **ret_coordinator,
                                             struct ts_txn_error_detail *ret_detail);

/* Returns the configuration, borrowed until the coordinator is closed. */
TS_API const struct ts_txn_config *ts_coordinator_config(const struct ts_coordinator *coordinator);

/* Closes the coordinator. No transaction may be in progress. Finishes pending transactions and removes the
 * coordinator's registrations, within the configured total time; resolvers handle stores that do not answer.
 * NULL is allowed. */
TS_API void ts_coordinator_close(struct ts_coordinator *coordinator);

/*
 * Writes all metrics as Prometheus text, in parts. Returns false when `write` returned false, or when memory
 * runs out.
 */
TS_API bool ts_coordinator_metrics(struct ts_coordinator *coordinator,
                                   bool (*write)(void *context, struct ts_bytes text), void *context);

/* The state of a transaction, seen from any process. X(SUFFIX, text) */
#define TS_TXN_STATES(X)                                                                                     \
    X(COMMITTED, "committed")                                                                                \
    X(ABORTED, "aborted")                                                                                    \
    /* promised on some store, and not decided yet */                                                        \
    X(PENDING, "pending")                                                                                    \
    /* no store has a trace of it: it has ended without a record, or no store has received it yet */         \
    X(UNKNOWN, "unknown")

#define TS_TXN_STATE_ENUM(suffix, text) TS_TXN_STATE_##suffix,
enum ts_txn_state { TS_TXN_STATES(TS_TXN_STATE_ENUM) };
#undef TS_TXN_STATE_ENUM

TS_API const char *ts_txn_state_text(enum ts_txn_state state);

struct ts_txn_status {
    enum ts_txn_state state;
    bool recorded;        /* the outcome is or will be recorded, so the state is certain */
    uint32_t promises;    /* stores that still hold a promise of the transaction */
    uint32_t unreachable; /* stores that could not be asked for their promises */
};

/* Asks the stores about an id, and changes nothing. timeout_ms bounds each call. STORE when the store that
 * knows the outcome does not answer, or when its record of the transaction is damaged. */
TS_API enum ts_txn_error ts_txn_status(struct ts_cluster *cluster, const char *id, uint64_t timeout_ms,
                                       struct ts_txn_status *ret_status,
                                       struct ts_txn_error_detail *ret_detail);

/* The result of a pass over the promises. */
struct ts_txn_settled {
    uint64_t seen;
    uint64_t committed;
    uint64_t aborted;
    uint64_t left;    /* young promises of a live coordinator, which will finish them */
    uint64_t stuck;   /* promises whose decider, or whose own store, did not answer */
    uint64_t foreign; /* promises of another cluster, which stay unchanged */
    uint64_t fenced;  /* coordinators that this pass fenced */
    uint64_t removed; /* decision records that were no longer needed */
};

/* Makes one pass of a resolver over all stores: settles promises that are old enough or whose coordinator is
 * dead. */
TS_API enum ts_txn_error ts_txn_resolve(struct ts_cluster *cluster, uint64_t timeout_ms,
                                        struct ts_txn_settled *ret_settled,
                                        struct ts_txn_error_detail *ret_detail);

/* Fences every coordinator on every store and settles all promises. UNSETTLED when a store did not answer. */
TS_API enum ts_txn_error ts_txn_recover(struct ts_cluster *cluster, uint64_t timeout_ms,
                                        struct ts_txn_settled *ret_settled,
                                        struct ts_txn_error_detail *ret_detail);

/*
 * For a cluster that was opened with accept_copy: raises the epoch above the epochs of the copies, settles
 * all promises, and makes the copies the stores of the cluster. Until this call has returned OK, the cluster
 * can only be opened with accept_copy; the call can be repeated. A transaction that is missing on one of its
 * stores cannot be recovered.
 */
TS_API enum ts_txn_error ts_txn_accept_copy(struct ts_cluster *cluster, uint64_t timeout_ms,
                                            uint64_t *ret_epoch, struct ts_txn_settled *ret_settled,
                                            struct ts_txn_error_detail *ret_detail);

/*
 * Raises the epoch: closes every store to new promises, settles all promises, and opens the next epoch on
 * every store. Each step is stored; after a crash any process can repeat the call, which then continues after
 * the last stored step. When the call returns OK, every store rejects processes that knew the old epoch.
 */
TS_API enum ts_txn_error ts_txn_fence(struct ts_cluster *cluster, uint64_t timeout_ms, uint64_t *ret_epoch,
                                      struct ts_txn_settled *ret_settled,
                                      struct ts_txn_error_detail *ret_detail);

/* The state of one store of a cluster. */
struct ts_txn_cluster_status_store {
    uint32_t place;
    enum ts_store_result result; /* OK, or why the store could not be reached; then the numbers below are 0 */
    char text[240];
    uint64_t epoch;
    const char *state; /* "open", "closing", "initialising" or "none" */
    uint64_t promises;
    uint64_t commit_decisions;
    uint64_t abort_decisions;
    uint64_t coordinators; /* registered coordinators that are not fenced */
    uint64_t fence_marks;
};

struct ts_txn_cluster_status_coordinator {
    uint32_t place;
    char uuid[33];
    bool fenced;
    uint64_t heartbeat_age_ms; /* age of the last heartbeat, by the store's clock */
    uint64_t low_water_mark;
    uint64_t total_timeout_ms;
};

struct ts_txn_cluster_status_promise {
    uint32_t place;
    char id[TS_STORE_GID_MAX + 1];
    bool foreign; /* the promise belongs to another cluster */
    uint32_t decider;
    uint64_t age_ms;
    const char *decision; /* "commit", "abort", "none", or "unknown" when the decider did not answer */
};

struct ts_txn_cluster_status {
    struct ts_txn_cluster_status_store *stores;
    size_t store_count;
    struct ts_txn_cluster_status_coordinator *coordinators;
    size_t coordinator_count;
    struct ts_txn_cluster_status_promise *promises;
    size_t promise_count;
};

/* Fills *ret_status, which the caller releases. A store that does not answer is a row of the status, not an
 * error. */
TS_API enum ts_txn_error ts_txn_cluster_status_read(struct ts_cluster *cluster, uint64_t timeout_ms,
                                                    struct ts_txn_cluster_status *ret_status,
                                                    struct ts_txn_error_detail *ret_detail);
TS_API void ts_txn_cluster_status_release(struct ts_txn_cluster_status *status);

#ifdef __cplusplus
}
#endif

#endif
