#include "txn/guard/adaptive.h"

#include "base/checked.h"

static uint32_t clamp(uint64_t limit, const struct ts_txn_adaptive_config *config) {
    if (limit < config->min_concurrency)
        return config->min_concurrency;
    return limit > config->max_concurrency ? config->max_concurrency : (uint32_t)limit;
}

void ts_txn_adaptive_init(struct ts_txn_adaptive *adaptive, const struct ts_txn_config *config,
                          uint64_t now_us) {
    adaptive->limit = clamp(config->admission.hard_limit, &config->adaptive);
    adaptive->next_us = ts_saturating_add_u64(now_us, config->adaptive.interval_us);
}

bool ts_txn_adaptive_step(struct ts_txn_adaptive *adaptive, const struct ts_txn_adaptive_config *config,
                          const struct ts_txn_conflict_view *view, uint64_t now_us) {
    if (now_us < adaptive->next_us || view->window.total_txns < config->min_txns)
        return false;
    adaptive->next_us = ts_saturating_add_u64(now_us, config->interval_us);

    uint64_t limit = adaptive->limit;
    if (view->conflict_rate_ppm > config->high_conflict_ppm)
        limit = ts_saturating_sub_u64(limit, config->step_size);
    else if (view->conflict_rate_ppm < config->low_conflict_ppm)
        limit += config->step_size;
    uint32_t clamped = clamp(limit, config);
    bool changed = clamped != adaptive->limit;
    adaptive->limit = clamped;
    return changed;
}
