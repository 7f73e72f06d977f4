#include "batch.h"

#include "os/grow.h"
#include "runtime/durable/durable.h"

#include <stdlib.h>

/* The number of operations that are reserved for the lease check, the target's record with its check, and
 * marks. */
enum { SPARE_OPS = 16 };
#define SPARE_BYTES ((size_t)16384)

void durable__batch_clear(struct durable__batch *batch) {
    batch->count = 0;
    batch->bytes = 0;
    ts_arena_clear(&batch->arena);
}

void durable__batch_release(struct durable__batch *batch) {
    free(batch->ops);
    ts_arena_release(&batch->arena);
    *batch = (struct durable__batch){0};
}

bool durable__batch_has_room(const struct durable__batch *batch, size_t ops, size_t bytes) {
    return batch->count + ops < TS_DURABLE_OPS_MAX - SPARE_OPS &&
           batch->bytes + bytes < TS_DURABLE_BYTES_MAX - SPARE_BYTES;
}

static bool add(struct durable__batch *batch, const struct ts_fleet_key *key, struct ts_op op) {
    if (!TS_GROW(batch->ops, batch->capacity, batch->count + 1))
        return false;
    const char *copy = ts_arena_copy(&batch->arena, ts_fleet_key_bytes(key));
    if (copy == NULL)
        return false;
    op.key = ts_bytes_of(copy, key->len);
    batch->ops[batch->count++] = op;
    batch->bytes += key->len + op.value.len;
    return true;
}

bool durable__batch_put(struct durable__batch *batch, const struct ts_fleet_key *key, struct ts_bytes value) {
    const char *copy = ts_arena_copy(&batch->arena, value);
    return copy != NULL &&
           add(batch, key, (struct ts_op){.kind = TS_OP_PUT, .value = ts_bytes_of(copy, value.len)});
}

bool durable__batch_del(struct durable__batch *batch, const struct ts_fleet_key *key) {
    return add(batch, key, (struct ts_op){.kind = TS_OP_DEL});
}

bool durable__batch_before(struct durable__batch *batch, uint64_t time_ms) {
    if (!TS_GROW(batch->ops, batch->capacity, batch->count + 1))
        return false;
    batch->ops[batch->count++] = (struct ts_op){.kind = TS_OP_BEFORE, .time_ms = time_ms};
    return true;
}

bool durable__batch_check(struct durable__batch *batch, const struct ts_fleet_key *key, uint64_t version) {
    return add(batch, key, (struct ts_op){.kind = TS_OP_CHECK, .version = version});
}
