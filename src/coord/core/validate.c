#include "coord/core/validate.h"

#include "base/assert.h"
#include "coord/core/plant.h"

enum ts_coord_error ts_check_op_idempotency(const ts_op_log *log, struct ts_op_id op_id,
                                            struct ts_payload_hash hash,
                                            const struct ts_op_log_entry **ret_entry,
                                            struct ts_coord_detail *ret_detail) {
    ts_assert(hash.v != 0);
    const struct ts_op_log_entry *entry =
        coord__is_planted(TS_COORD_PLANT_OPLOG) ? NULL : ts_op_log_find(log, op_id);
    if (entry != NULL && entry->payload_hash.v != hash.v) {
        ret_detail->op_id = op_id;
        ret_detail->detail__private.expected_hash = entry->payload_hash;
        ret_detail->detail__private.actual_hash = hash;
        return TS_COORD_OP_ID_CONFLICT;
    }
    *ret_entry = entry;
    return TS_COORD_OK;
}

static enum ts_coord_error terminal(const struct ts_shard_record *record, enum ts_shard_status status,
                                    struct ts_coord_detail *ret_detail) {
    ret_detail->shard = record->key;
    ret_detail->shard_status = status;
    return TS_COORD_SHARD_TERMINAL;
}

static enum ts_coord_error stale(const struct ts_shard_record *record, const struct ts_lease *lease,
                                 struct ts_coord_detail *ret_detail) {
    ret_detail->presented = ts_lease_fence(lease);
    ret_detail->current = record->fence;
    /* A shard loses its holder only by release, complete, split_replace or park. So an Active shard that was
     * acquired and has no holder was released, or parked and unparked. */
    const bool is_free = record->status == TS_SHARD_ACTIVE && !record->has_holder;
    const bool is_released = ts_ring_count(&record->op_log) > 0 &&
                             ts_ring_from_newest(&record->op_log, 0)->kind == TS_SHARD_OP_RELEASE;
    ret_detail->is_unparked = is_free && !is_released;
    ret_detail->is_released = is_free && is_released;
    return TS_COORD_STALE_FENCE;
}

enum ts_coord_error ts_validate_lease(const struct ts_shard_record *record, const struct ts_run_guard *guard,
                                      const struct ts_tenant_id *tenant, const struct ts_lease *lease,
                                      struct ts_logical_time now, struct ts_coord_detail *ret_detail) {
    ts_assert(now.ms != 0);
    ts_assert(ts_lease_shard(lease).run.v == record->key.run.v);
    ts_assert(ts_lease_shard(lease).shard.v == record->key.shard.v);
    if ((!ts_tenant_id_equal(&record->tenant, tenant) ||
         !ts_tenant_id_equal(ts_lease_tenant(lease), tenant)) &&
        !coord__is_planted(TS_COORD_PLANT_TENANT)) {
        ret_detail->expected_tenant = *tenant;
        return TS_COORD_TENANT_MISMATCH;
    }
    if (ts_run_status_is_terminal(guard->status))
        return terminal(record, TS_SHARD_PARKED, ret_detail);
    if (ts_shard_status_is_terminal(record->status))
        return terminal(record, record->status, ret_detail);
    if ((ts_lease_fence(lease).v != record->fence.v && !coord__is_planted(TS_COORD_PLANT_FENCE)) ||
        !record->has_holder)
        return stale(record, lease, ret_detail);
    if (now.ms >= record->holder.deadline.ms && !coord__is_planted(TS_COORD_PLANT_EXPIRY)) {
        ret_detail->deadline = record->holder.deadline;
        ret_detail->now = now;
        return TS_COORD_LEASE_EXPIRED;
    }
    if (!ts_worker_id_equal(&record->holder.owner, ts_lease_owner(lease)))
        return stale(record, lease, ret_detail);
    return TS_COORD_OK;
}

enum ts_coord_error ts_validate_cursor_update(const struct ts_cursor *old_cursor,
                                              const struct ts_cursor *new_cursor, struct ts_key_range range,
                                              struct ts_coord_detail *ret_detail) {
    if (!new_cursor->has_key)
        return TS_COORD_CHECKPOINT_MISSING_KEY;
    const struct ts_bytes key = new_cursor->last_key;
    if (key.len > TS_KEY_MAX) {
        ret_detail->size = key.len;
        ret_detail->max = TS_KEY_MAX;
        return TS_COORD_CURSOR_KEY_TOO_LARGE;
    }
    if (new_cursor->has_token && new_cursor->token.len > TS_TOKEN_MAX) {
        ret_detail->size = new_cursor->token.len;
        ret_detail->max = TS_TOKEN_MAX;
        return TS_COORD_CURSOR_TOKEN_TOO_LARGE;
    }
    if (old_cursor->has_key && ts_bytes_compare(key, old_cursor->last_key) < 0 &&
        !coord__is_planted(TS_COORD_PLANT_CURSOR)) {
        ret_detail->old_key = (struct ts_optional_len){true, old_cursor->last_key.len};
        ret_detail->new_key = (struct ts_optional_len){true, key.len};
        return TS_COORD_CURSOR_REGRESSION;
    }
    if (!ts_key_range_contains(range, key)) {
        ret_detail->out_of_bounds =
            (struct ts_cursor_out_of_bounds_detail){key.len, range.start.len, range.end.len};
        return TS_COORD_CURSOR_OUT_OF_BOUNDS;
    }
    return TS_COORD_OK;
}
