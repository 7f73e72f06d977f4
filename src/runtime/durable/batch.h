/*
 * A batch that grows, and owns copies of its keys and values. durable__batch_has_room says whether more
 * operations fit into the limits of a batch.
 */
#ifndef TS_RUNTIME_DURABLE_BATCH_H
#define TS_RUNTIME_DURABLE_BATCH_H

#include "os/arena.h"
#include "runtime/core/fleet_keys.h"
#include "turnstone/store.h"

/* {0} is an empty batch. */
struct durable__batch {
    struct ts_op *ops;
    size_t count;
    size_t capacity;
    size_t bytes;
    struct ts_arena arena;
};

void durable__batch_clear(struct durable__batch *batch);
void durable__batch_release(struct durable__batch *batch);

/* Returns whether the batch has room for this many operations and bytes, in addition to those of the flip. */
bool durable__batch_has_room(const struct durable__batch *batch, size_t ops, size_t bytes);

/* Each function returns false when memory runs out. */
bool durable__batch_put(struct durable__batch *batch, const struct ts_fleet_key *key, struct ts_bytes value);
bool durable__batch_del(struct durable__batch *batch, const struct ts_fleet_key *key);
bool durable__batch_before(struct durable__batch *batch, uint64_t time_ms);
bool durable__batch_check(struct durable__batch *batch, const struct ts_fleet_key *key, uint64_t version);

static inline struct ts_batch durable__batch_of(const struct durable__batch *batch) {
    return (struct ts_batch){.ops = batch->ops, .count = batch->count};
}

#endif
