/*
 * Every limit, timeout and policy of transactions, and the limits of coordination, with the defaults.
 * src/config fills this struct from a file; docs/configuration.md lists the settings. Ratios are parts per
 * million, so that the same configuration has the same effect on every machine. A 0 means "none" only where a
 * comment says so.
 */
#ifndef TS_TXN_GUARD_TXN_CONFIG_H
#define TS_TXN_GUARD_TXN_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

/* The maximum number of stores of one cluster. A store is named by its place, from 0. */
#define TS_TXN_STORES_MAX 256

#define TS_TXN_PPM        UINT32_C(1000000)

/* X(SUFFIX, name). Configuration files and messages use the names. */
#define TS_TXN_TIMEOUT_POLICIES(X)                                                                           \
    X(FAIL_FAST, "FailFast")     /* a call ends when its phase's timeout passes */                           \
    X(BEST_EFFORT, "BestEffort") /* a phase may take longer, until the total timeout passes */

#define TS_TXN_QUEUE_POLICIES(X)                                                                             \
    X(FIFO, "Fifo")                           /* the first waiter is served first */                         \
    X(SHORT_TXN_PRIORITY, "ShortTxnPriority") /* fewest stores first; if equal, the first waiter */

#define TS_TXN_OVERFLOW_ACTIONS(X)                                                                           \
    X(REJECT, "Reject")      /* the newcomer is refused */                                                   \
    X(SHED_LOAD, "ShedLoad") /* the waiter or newcomer with the most stores is refused */                    \
    X(DEGRADE, "Degrade")    /* the first in the queue is admitted, and answered at its commit point */

#define TS_TXN_CONFIG_POLICY(suffix, name)   TS_TXN_TIMEOUT_POLICY_##suffix,
#define TS_TXN_CONFIG_QUEUE(suffix, name)    TS_TXN_QUEUE_##suffix,
#define TS_TXN_CONFIG_OVERFLOW(suffix, name) TS_TXN_OVERFLOW_##suffix,
enum ts_txn_timeout_policy { TS_TXN_TIMEOUT_POLICIES(TS_TXN_CONFIG_POLICY) };
enum ts_txn_queue_policy { TS_TXN_QUEUE_POLICIES(TS_TXN_CONFIG_QUEUE) };
enum ts_txn_overflow_action { TS_TXN_OVERFLOW_ACTIONS(TS_TXN_CONFIG_OVERFLOW) };
#undef TS_TXN_CONFIG_POLICY
#undef TS_TXN_CONFIG_QUEUE
#undef TS_TXN_CONFIG_OVERFLOW

struct ts_txn_timeouts {
    uint64_t coord_queue_us;
    uint64_t shard_rpc_us;     /* timeout of all other calls, such as read and scan */
    uint64_t prepare_us;       /* timeout of the prepare on each store */
    uint64_t commit_us;        /* timeout of the commit on each store */
    uint64_t lock_validate_us; /* timeout of apply, with its locks and checks */
    uint64_t total_us;         /* timeout of the whole transaction, with its retries */
    uint64_t retry_ceiling_us; /* timeout of all attempts together, see timeouts.h */
    enum ts_txn_timeout_policy policy;
    /* The user has configured prepare_us, so it also ends the wait for a lock. The default does not end this
     * wait: a transaction that meets a lock continues until the total timeout. */
    bool prepare_given;
    bool lock_validate_given;
    bool retry_ceiling_given;
};

struct ts_txn_admission_config {
    uint32_t hard_limit; /* transactions in flight and waiting together; 1 or more */
    uint32_t soft_limit; /* transactions in flight; further transactions wait; 1 to hard_limit */
    enum ts_txn_queue_policy queue_policy;
    enum ts_txn_overflow_action overflow;
};

struct ts_txn_retry_config {
    uint32_t max_retries;
    uint64_t initial_backoff_us;
    uint64_t max_backoff_us;
    uint32_t multiplier_ppm;  /* backoff multiplier, 1.0 or more */
    uint32_t jitter_ppm;      /* jitter, at most 1.0 */
    uint64_t retry_budget_us; /* limit of the total backoff time of a transaction */
    bool max_retries_given;   /* the user has configured max_retries, so it also limits retries after locks */
    bool retry_budget_given;
};

struct ts_txn_breaker_config {
    uint32_t failure_threshold;
    uint64_t recovery_timeout_us;
    uint64_t probe_timeout_us; /* time after which a probe without a report counts as lost */
};

struct ts_txn_conflict_config {
    uint64_t window_us; /* length of the window of a store's rates */
};

struct ts_txn_adaptive_config {
    uint32_t high_conflict_ppm; /* if the conflict rate is higher, the limit falls */
    uint32_t low_conflict_ppm;  /* if the conflict rate is lower, the limit rises */
    uint32_t step_size;
    uint32_t min_concurrency;
    uint32_t max_concurrency;
    uint64_t interval_us; /* shortest time between two steps of a store's limit */
    uint32_t min_txns;    /* with fewer transactions in the window, the limit does not change */
};

struct ts_txn_deadlock_config {
    uint64_t timeout_us;
};

struct ts_txn_replication_config {
    uint64_t max_replication_lag_ms; /* 0: no limit */
};

/* Settings of coordination: how many shards there may be. */
struct ts_txn_shards_config {
    uint32_t tenant_max; /* limit of the shards of one tenant's runs that have not ended */
    uint32_t global_max; /* limit of the shards of all tenants together */
};

struct ts_txn_config {
    struct ts_txn_timeouts timeouts;
    struct ts_txn_admission_config admission;
    struct ts_txn_retry_config retry;
    struct ts_txn_breaker_config breaker;
    struct ts_txn_conflict_config conflict;
    struct ts_txn_adaptive_config adaptive;
    struct ts_txn_deadlock_config deadlock;
    struct ts_txn_replication_config replication;
    struct ts_txn_shards_config shards;
};

/* Fills in the defaults. */
void ts_txn_config_init(struct ts_txn_config *config);

/* Returns NULL when all settings are consistent, otherwise one line that names the inconsistent settings.
 * Checks only relations between settings, not the ranges of single settings. */
const char *ts_txn_config_conflict(const struct ts_txn_config *config);

#endif
