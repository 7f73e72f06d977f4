#include "txn/guard/conflict.h"

#include "base/assert.h"
#include "base/checked.h"

#include <string.h>

void ts_txn_conflict_init(struct ts_txn_conflict_tracker *tracker,
                          const struct ts_txn_conflict_config *config) {
    ts_assert(config->window_us >= TS_TXN_CONFLICT_SLOTS);
    memset(tracker, 0, sizeof *tracker);
    tracker->slot_us = config->window_us / TS_TXN_CONFLICT_SLOTS;
}

static uint64_t slot_number(const struct ts_txn_conflict_tracker *tracker, uint64_t now_us) {
    return now_us / tracker->slot_us + 1;
}

static void count(struct ts_txn_conflict_counts *counts, struct ts_txn_conflict_event event) {
    counts->total_txns++;
    counts->conflict_aborts += event.outcome == TS_TXN_CONFLICT_CONFLICT;
    counts->timeout_aborts += event.outcome == TS_TXN_CONFLICT_TIMEOUT;
    counts->lock_wait_us = ts_saturating_add_u64(counts->lock_wait_us, event.lock_wait_us);
}

void ts_txn_conflict_record(struct ts_txn_conflict_tracker *tracker, struct ts_txn_conflict_event event,
                            uint64_t now_us) {
    uint64_t number = slot_number(tracker, now_us);
    struct ts_txn_conflict_slot *slot = &tracker->slots[number % TS_TXN_CONFLICT_SLOTS];
    /* A thread reads the time before it takes the lock, so an event may be recorded a little late. If the
     * slot of the event has been reused, the event counts in the newer slot. */
    if (slot->number < number)
        *slot = (struct ts_txn_conflict_slot){.number = number};
    count(&slot->counts, event);
    count(&tracker->totals, event);
}

static void add(struct ts_txn_conflict_counts *to, const struct ts_txn_conflict_counts *from) {
    to->total_txns += from->total_txns;
    to->conflict_aborts += from->conflict_aborts;
    to->timeout_aborts += from->timeout_aborts;
    to->lock_wait_us = ts_saturating_add_u64(to->lock_wait_us, from->lock_wait_us);
}

/* Returns part / whole in parts per million. `part` is at most `whole`. */
static uint32_t rate_ppm(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : (uint32_t)(ts_saturating_mul_u64(part, TS_TXN_PPM) / whole);
}

struct ts_txn_conflict_view ts_txn_conflict_view(const struct ts_txn_conflict_tracker *tracker,
                                                 uint64_t now_us) {
    struct ts_txn_conflict_view view = {.totals = tracker->totals};
    uint64_t newest = slot_number(tracker, now_us);
    for (size_t i = 0; i < TS_TXN_CONFLICT_SLOTS; i++) {
        const struct ts_txn_conflict_slot *slot = &tracker->slots[i];
        if (slot->number > 0 && slot->number + TS_TXN_CONFLICT_SLOTS > newest)
            add(&view.window, &slot->counts);
    }
    const struct ts_txn_conflict_counts *window = &view.window;
    view.conflict_rate_ppm = rate_ppm(window->conflict_aborts, window->total_txns);
    view.abort_rate_ppm = rate_ppm(window->conflict_aborts + window->timeout_aborts, window->total_txns);
    view.avg_lock_wait_us = window->total_txns == 0 ? 0 : window->lock_wait_us / window->total_txns;
    return view;
}
