#include "txn/core/epoch.h"

#include "base/assert.h"

/* Returns the epoch that this raise leads to. If a raise has begun already, this raise finishes it; otherwise
 * it begins a new raise. */
static uint64_t find_target(const struct txn__epoch_store *stores, size_t count) {
    uint64_t lowest = UINT64_MAX;
    uint64_t highest = 0;
    for (size_t i = 0; i < count; i++) {
        lowest = stores[i].epoch < lowest ? stores[i].epoch : lowest;
        highest = stores[i].epoch > highest ? stores[i].epoch : highest;
    }
    return highest > lowest ? highest : lowest + 1;
}

static bool is_consistent(const struct txn__epoch_store *stores, size_t count, uint64_t target) {
    bool any_opened = false;
    bool any_open_before = false;
    for (size_t i = 0; i < count; i++) {
        if (stores[i].epoch == target && !stores[i].closing)
            any_opened = true;
        else if (stores[i].epoch != target - 1)
            return false;
        else if (!stores[i].closing)
            any_open_before = true;
    }
    return !(any_opened && any_open_before);
}

static struct txn__epoch_step step_of(enum txn__epoch_step_kind kind, size_t place, uint64_t epoch) {
    return (struct txn__epoch_step){.kind = kind, .place = (uint32_t)place, .epoch = epoch};
}

struct txn__epoch_step txn__epoch_next(struct txn__epoch_raise *raise, const struct txn__epoch_store *stores,
                                       size_t count) {
    ts_assert(count > 0);
    if (raise->target == 0)
        raise->target = find_target(stores, count);
    const uint64_t target = raise->target;
    if (!is_consistent(stores, count, target))
        return step_of(TXN__EPOCH_MIXED, 0, target);
    bool any_opened = false;
    for (size_t i = 0; i < count; i++) {
        if (stores[i].epoch == target)
            any_opened = true;
        else if (!stores[i].closing)
            return step_of(TXN__EPOCH_CLOSE, i, stores[i].epoch);
    }
    if (!raise->settled && !any_opened)
        return step_of(TXN__EPOCH_SETTLE, 0, target);
    for (size_t i = 0; i < count; i++) {
        if (stores[i].epoch != target)
            return step_of(TXN__EPOCH_OPEN, i, target);
    }
    return step_of(TXN__EPOCH_DONE, 0, target);
}
