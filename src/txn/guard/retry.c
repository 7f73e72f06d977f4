#include "txn/guard/retry.h"

#include "base/assert.h"
#include "base/checked.h"

void ts_txn_retry_init(struct ts_txn_retry *retry, uint64_t now_us) {
    *retry = (struct ts_txn_retry){.begun_us = now_us};
}

const char *ts_txn_retry_decision_name(enum ts_txn_retry_decision decision) {
    switch (decision) {
    case TS_TXN_RETRY_AGAIN:
        return "again";
    case TS_TXN_RETRY_NOT_RETRYABLE:
        return "not retryable";
    case TS_TXN_RETRY_MAX_RETRIES:
        return "retry.max_retries used up";
    case TS_TXN_RETRY_BUDGET:
        return "retry.retry_budget used up";
    case TS_TXN_RETRY_CEILING:
        return "timeouts.retry_ceiling reached";
    case TS_TXN_RETRY_TOTAL:
        return "timeouts.total reached";
    }
    ts_unreachable("no such decision");
}

/* Returns value * ppm / 1,000,000, at most UINT64_MAX. Works even if the product needs more than 64 bits. */
static uint64_t scale(uint64_t value, uint32_t ppm) {
    uint64_t whole = ts_saturating_mul_u64(value / TS_TXN_PPM, ppm);
    return ts_saturating_add_u64(whole, value % TS_TXN_PPM * ppm / TS_TXN_PPM);
}

static uint64_t base_us(const struct ts_txn_retry_config *config, uint32_t n) {
    uint64_t base = config->initial_backoff_us;
    /* The loop ends when the base stops growing, as it does with a multiplier of 1 or a base of 0. */
    for (uint32_t i = 0; i < n && base < config->max_backoff_us; i++) {
        uint64_t next = scale(base, config->multiplier_ppm);
        if (next == base)
            break;
        base = next;
    }
    return base < config->max_backoff_us ? base : config->max_backoff_us;
}

uint64_t ts_txn_retry_backoff_us(const struct ts_txn_retry_config *config, uint32_t n, struct ts_prng *prng) {
    uint64_t base = base_us(config, n);
    uint64_t jitter = ts_prng_in(prng, (struct ts_prng_range){0, scale(base, config->jitter_ppm)});
    return ts_saturating_add_u64(base, jitter);
}

enum ts_txn_retry_decision ts_txn_retry_next(struct ts_txn_retry *retry, const struct ts_txn_config *config,
                                             const struct ts_txn_error_verdict *verdict, uint64_t now_us,
                                             struct ts_prng *prng, uint64_t *ret_backoff_us) {
    if (!verdict->repeatable)
        return TS_TXN_RETRY_NOT_RETRYABLE;
    if (retry->retries >= config->retry.max_retries &&
        (!verdict->met_a_lock || config->retry.max_retries_given))
        return TS_TXN_RETRY_MAX_RETRIES;

    bool at_once = verdict->met_a_lock
                       ? retry->gave_way
                       : verdict->error_class == TS_TXN_CLASS_TRANSIENT && retry->retries == 0;
    uint64_t backoff_us = at_once ? 0 : ts_txn_retry_backoff_us(&config->retry, retry->retries, prng);
    uint64_t spent_us = ts_saturating_add_u64(retry->backoff_spent_us, backoff_us);
    if (spent_us > config->retry.retry_budget_us &&
        (!verdict->met_a_lock || config->retry.retry_budget_given))
        return TS_TXN_RETRY_BUDGET;
    uint64_t begins_us = ts_saturating_add_u64(now_us, backoff_us);
    if (begins_us >= ts_saturating_add_u64(retry->begun_us, config->timeouts.total_us))
        return TS_TXN_RETRY_TOTAL;
    if (begins_us >= ts_saturating_add_u64(retry->begun_us, config->timeouts.retry_ceiling_us) &&
        (!verdict->met_a_lock || config->timeouts.retry_ceiling_given))
        return TS_TXN_RETRY_CEILING;

    retry->retries++;
    retry->backoff_spent_us = spent_us;
    *ret_backoff_us = backoff_us;
    return TS_TXN_RETRY_AGAIN;
}
