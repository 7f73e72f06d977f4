#include "frontier.h"

#include "base/blake3.h"
#include "base/endian.h"
#include "coord/core/target_shard.h"
#include "durable_impl.h"

#include <stdlib.h>

struct ts_frontier {
    bool has_item;
    bool has_unit;
    struct durable__progress progress; /* progress of the last receipt */
};

struct ts_frontier *ts_frontier_new(void) {
    return calloc(1, sizeof(struct ts_frontier));
}

void ts_frontier_free(struct ts_frontier *frontier) {
    free(frontier);
}

void ts_frontier_clear(struct ts_frontier *frontier) {
    *frontier = (struct ts_frontier){0};
}

void ts_frontier_add_item(struct ts_frontier *frontier, const struct ts_item_receipt *item) {
    if (frontier->has_unit)
        return; /* the frontier is already further */
    frontier->has_item = true;
    frontier->progress = *durable__item_progress(item);
}

void ts_frontier_add_unit(struct ts_frontier *frontier, const struct ts_unit_receipt *unit) {
    frontier->has_unit = true;
    frontier->progress = *durable__unit_progress(unit);
}

bool ts_frontier_is_complete(const struct ts_frontier *frontier) {
    return frontier->has_unit;
}

/* Returns the op id for moving the cursor. It is never 0. */
static uint64_t op_id_of(const struct durable__progress *progress, const struct ts_frontier_cursor *cursor) {
    static const struct ts_bytes context = TS_BYTES_INIT("turnstone 2026-11 fleet op id");
    uint8_t ids[16], hash[8];
    struct ts_blake3 hasher;
    ts_le64_store(progress->run, ids);
    ts_le64_store(progress->attempt.shard, ids + 8);
    ts_blake3_init_derive_key(&hasher, context);
    ts_blake3_update(&hasher, ts_bytes_of(ids, sizeof ids));
    ts_blake3_update(&hasher, ts_bytes_of(&(uint8_t){(uint8_t)cursor->key_len}, 1));
    ts_blake3_update(&hasher, ts_bytes_of(cursor->key, cursor->key_len));
    ts_blake3_update(&hasher, ts_bytes_of(cursor->token, cursor->token_len));
    ts_blake3_output(&hasher, 0, hash, sizeof hash);
    const uint64_t id = ts_le64_load(hash);
    return id != 0 ? id : 1;
}

bool ts_frontier_cursor(const struct ts_frontier *frontier, struct ts_frontier_cursor *ret_cursor) {
    if (!frontier->has_item && !frontier->has_unit)
        return false;
    const struct durable__progress *progress = &frontier->progress;
    const struct ts_coord_target_keys keys = ts_coord_target_keys_of(progress->target.bytes);
    const struct ts_bytes key =
        frontier->has_unit ? ts_coord_target_key_done(&keys) : ts_coord_target_key_begun(&keys);
    struct ts_frontier_cursor cursor = {.key_len = key.len};
    memcpy(cursor.key, key.data, key.len);
    ts_attempt_encode(&progress->attempt, cursor.token);
    ts_be32_store(progress->parts, cursor.token + TS_ATTEMPT_LEN);
    ts_be64_store(progress->objects, cursor.token + TS_ATTEMPT_LEN + 4);
    cursor.token_len = TS_ATTEMPT_LEN + 4 + 8;
    cursor.op_id = op_id_of(progress, &cursor);
    *ret_cursor = cursor;
    return true;
}
