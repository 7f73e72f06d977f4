/* The writes of an operation, collected store by store. */
#include "driver.h"

#include "base/assert.h"
#include "coord/core/plant.h"
#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

static size_t counts_of(const struct coord__plan *plan) {
    return (size_t)plan->place_count * COORD__COUNTERS;
}

void coord__plan_clear(struct coord__plan *plan) {
    plan->count = 0;
    plan->failed = false;
    ts_arena_clear(&plan->arena);
    if (plan->counted)
        memset(plan->counts, 0, counts_of(plan) * sizeof *plan->counts);
    plan->counted = false;
}

static void add(struct coord__plan *plan, uint32_t place, enum coord__tag tag, const struct ts_op *op) {
    ts_assert(place < plan->place_count);
    if (!TS_GROW(plan->planned, plan->capacity, plan->count + 1)) {
        plan->failed = true;
        return;
    }
    plan->planned[plan->count++] = (struct coord__planned){.op = *op, .place = place, .tag = tag};
}

/* Copies the key. When memory runs out, the copy is empty and the plan fails. */
static struct ts_bytes keep(struct coord__plan *plan, const struct coord__key *key) {
    uint8_t *kept = ts_arena_take(&plan->arena, key->len);
    if (kept == NULL) {
        plan->failed = true;
        return (struct ts_bytes){0};
    }
    memcpy(kept, key->bytes, key->len);
    return ts_bytes_of(kept, key->len);
}

void coord__plan_op(struct coord__plan *plan, uint32_t place, const struct ts_op *op) {
    add(plan, place, COORD__TAG_RECORD, op);
}

void coord__plan_check(struct coord__plan *plan, uint32_t place, const struct coord__key *key,
                       uint64_t version) {
    const struct ts_op op = {.kind = TS_OP_CHECK, .key = keep(plan, key), .version = version};
    add(plan, place, COORD__TAG_RECORD, &op);
}

void coord__plan_before(struct coord__plan *plan, uint32_t place, struct ts_logical_time before) {
    const struct ts_op op = {.kind = TS_OP_BEFORE, .time_ms = before.ms};
    add(plan, place, COORD__TAG_RECORD, &op);
}

void coord__plan_put(struct coord__plan *plan, uint32_t place, const struct coord__key *key,
                     struct ts_bytes value) {
    const struct ts_op op = {.kind = TS_OP_PUT, .key = keep(plan, key), .value = value};
    add(plan, place, COORD__TAG_RECORD, &op);
}

void coord__plan_del(struct coord__plan *plan, uint32_t place, const struct coord__key *key) {
    const struct ts_op op = {.kind = TS_OP_DEL, .key = keep(plan, key)};
    add(plan, place, COORD__TAG_RECORD, &op);
}

void coord__plan_add(struct coord__plan *plan, uint32_t place, const struct coord__key *key,
                     struct coord__change change, enum coord__tag tag) {
    const struct ts_op op = {
        .kind = TS_OP_ADD, .key = keep(plan, key), .delta = change.delta, .max = change.max};
    add(plan, place, tag, &op);
}

static int64_t *count_at(struct coord__plan *plan, uint32_t place, struct coord__stripe stripe) {
    return &plan->counts[(size_t)place * COORD__COUNTERS + coord__stripe_index(stripe)];
}

void coord__plan_count(struct coord__plan *plan, uint32_t place, struct ts_shard_id shard,
                       const enum ts_shard_status *from, enum ts_shard_status to) {
    ts_assert(place < plan->place_count);
    const uint8_t stripe = coord__stripe_of(shard);
    if (from != NULL && *from == to)
        return;
    plan->counted = true;
    if (from != NULL && !coord__is_planted(TS_COORD_PLANT_COUNTER))
        --*count_at(plan, place, (struct coord__stripe){*from, stripe});
    ++*count_at(plan, place, (struct coord__stripe){to, stripe});
}

void coord__plan_counts(struct coord__plan *plan, struct ts_run_id run) {
    if (!plan->counted)
        return;
    for (uint32_t place = 0; place < plan->place_count; place++) {
        for (size_t i = 0; i < COORD__COUNTERS; i++) {
            const struct coord__stripe stripe = coord__stripe_at(i);
            const int64_t delta = *count_at(plan, place, stripe);
            if (delta == 0)
                continue;
            const struct coord__key key = coord__key_counter(run, stripe);
            coord__plan_add(plan, place, &key, (struct coord__change){delta, INT64_MAX}, COORD__TAG_COUNTER);
        }
    }
}
