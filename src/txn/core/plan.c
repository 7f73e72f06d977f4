#include "txn/core/plan.h"

#include "base/assert.h"

#include <string.h>

/* Returns the position of a place's part, or the position at which to insert it. */
static size_t position(const struct txn__plan *plan, uint32_t place) {
    size_t low = 0;
    size_t high = plan->part_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (plan->parts[middle].place < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct txn__plan_part *part_of(struct txn__plan *plan, uint32_t place) {
    ts_assert(place < TS_TXN_PLACES_MAX);
    size_t at = position(plan, place);
    struct txn__plan_part *part = &plan->parts[at];
    if (at < plan->part_count && part->place == place)
        return part;
    memmove(part + 1, part, (plan->part_count - at) * sizeof *part);
    plan->part_count++;
    *part = (struct txn__plan_part){.place = place};
    return part;
}

void txn__plan_init(struct txn__plan *plan, const uint32_t *places, size_t count) {
    plan->part_count = plan->op_count = 0;
    size_t everywhere = 0;
    for (size_t i = 0; i < count; i++) {
        if (places[i] == TXN__EVERYWHERE) {
            everywhere++;
            continue;
        }
        part_of(plan, places[i])->count++;
    }
    if (plan->part_count == 0)
        part_of(plan, 0);
    for (size_t i = 0; i < plan->part_count; i++) {
        plan->parts[i].count += everywhere;
        plan->op_count += plan->parts[i].count;
    }
}

size_t txn__plan_decider(const struct txn__plan *plan) {
    ts_assert(plan->part_count > 0);
    return 0; /* the parts are sorted by place */
}
