#include "txn/guard/txn_config.h"

#include "base/assert.h"

#include <stddef.h>

#define MS     UINT64_C(1000)
#define SECOND (1000 * MS)

void ts_txn_config_init(struct ts_txn_config *config) {
    *config = (struct ts_txn_config){
        .timeouts =
            {
                .coord_queue_us = 500 * MS,
                .shard_rpc_us = 2 * SECOND,
                .prepare_us = 5 * SECOND,
                .commit_us = 5 * SECOND,
                .lock_validate_us = 1 * SECOND,
                .total_us = 30 * SECOND,
                .retry_ceiling_us = 10 * SECOND,
                .policy = TS_TXN_TIMEOUT_POLICY_FAIL_FAST,
            },
        .admission = {.hard_limit = 128,
                      .soft_limit = 96,
                      .queue_policy = TS_TXN_QUEUE_FIFO,
                      .overflow = TS_TXN_OVERFLOW_REJECT},
        .retry =
            {
                .max_retries = 3,
                .initial_backoff_us = 10 * MS,
                .max_backoff_us = 2 * SECOND,
                .multiplier_ppm = 2 * TS_TXN_PPM,
                .jitter_ppm = TS_TXN_PPM / 4,
                .retry_budget_us = 10 * SECOND,
            },
        .breaker = {.failure_threshold = 5,
                    .recovery_timeout_us = 10 * SECOND,
                    .probe_timeout_us = 30 * SECOND},
        .conflict = {.window_us = 5 * SECOND},
        .adaptive =
            {
                .high_conflict_ppm = 150000,
                .low_conflict_ppm = 50000,
                .step_size = 4,
                .min_concurrency = 4,
                .max_concurrency = 256,
                .interval_us = 1 * SECOND,
                .min_txns = 20,
            },
        .deadlock = {.timeout_us = 10 * SECOND},
        .replication = {.max_replication_lag_ms = 0},
        .shards = {.tenant_max = 100000, .global_max = 1000000},
    };
}

const char *ts_txn_config_conflict(const struct ts_txn_config *config) {
    const struct ts_txn_adaptive_config *adaptive = &config->adaptive;
    if (config->admission.soft_limit > config->admission.hard_limit)
        return "admission.soft_limit is above admission.hard_limit: lower it or raise the other";
    if (config->retry.initial_backoff_us > config->retry.max_backoff_us)
        return "retry.initial_backoff is above retry.max_backoff: lower it or raise the other";
    if (adaptive->low_conflict_ppm > adaptive->high_conflict_ppm)
        return "adaptive.low_conflict_rate is above adaptive.high_conflict_rate: lower it or raise the other";
    if (adaptive->min_concurrency > adaptive->max_concurrency)
        return "adaptive.min_concurrency is above adaptive.max_concurrency: lower it or raise the other";
    if (config->breaker.probe_timeout_us < config->timeouts.total_us)
        return "breaker.probe_timeout is below timeouts.total, so a running probe could count as lost: "
               "raise it or lower the other";
    return NULL;
}
