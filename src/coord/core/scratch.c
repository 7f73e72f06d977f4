#include "coord/core/scratch.h"

void ts_acquire_scratch_init(struct ts_acquire_scratch *scratch) {
    scratch->generation = 0;
    ts_acquire_scratch_reset(scratch);
}

void ts_acquire_scratch_reset(struct ts_acquire_scratch *scratch) {
    scratch->generation++;
    scratch->has_last_key = false;
    scratch->has_token = false;
    ts_fixed_buf_reset(&scratch->spec_start);
    ts_fixed_buf_reset(&scratch->spec_end);
    ts_fixed_buf_reset(&scratch->spec_metadata);
    ts_fixed_buf_reset(&scratch->cursor_last_key);
    ts_fixed_buf_reset(&scratch->cursor_token);
    ts_fixed_buf_reset(&scratch->spawned);
}

void ts_acquire_scratch_write_spec(struct ts_acquire_scratch *scratch, const struct ts_shard_spec *spec) {
    ts_fixed_buf_write(&scratch->spec_start, spec->range.start, "start of a record above its limit");
    ts_fixed_buf_write(&scratch->spec_end, spec->range.end, "end of a record above its limit");
    ts_fixed_buf_write(&scratch->spec_metadata, spec->metadata, "metadata of a record above its limit");
}

void ts_acquire_scratch_write_cursor(struct ts_acquire_scratch *scratch, const struct ts_cursor *cursor) {
    scratch->has_last_key = cursor->has_key;
    scratch->has_token = cursor->has_token;
    if (cursor->has_key)
        ts_fixed_buf_write(&scratch->cursor_last_key, cursor->last_key, "key of a record above its limit");
    if (cursor->has_token)
        ts_fixed_buf_write(&scratch->cursor_token, cursor->token, "token of a record above its limit");
}

static void write_spawned(struct ts_acquire_scratch *scratch, struct ts_spawned spawned) {
    ts_fixed_buf_write(&scratch->spawned, spawned.bytes, "spawned shards of a record above their limit");
}

struct ts_shard_snapshot_view ts_acquire_scratch_view(const struct ts_acquire_scratch *scratch,
                                                      const struct ts_shard_record *record) {
    return (struct ts_shard_snapshot_view){
        .status = record->status,
        .spec = {.range = {ts_fixed_buf_read(&scratch->spec_start), ts_fixed_buf_read(&scratch->spec_end)},
                 .metadata = ts_fixed_buf_read(&scratch->spec_metadata)},
        .cursor = {.has_key = scratch->has_last_key,
                   .has_token = scratch->has_token,
                   .last_key = ts_fixed_buf_read(&scratch->cursor_last_key),
                   .token = ts_fixed_buf_read(&scratch->cursor_token)},
        .semantics = record->semantics,
        .has_parent = record->has_parent,
        .parent = record->parent,
        .spawned = {ts_fixed_buf_read(&scratch->spawned)},
        .scratch = scratch,
        .generation = scratch->generation,
    };
}

void ts_acquire_result(struct ts_acquire_scratch *scratch, const struct ts_shard_record *record,
                       const struct ts_lease *lease, struct ts_capacity_hint capacity,
                       struct ts_acquire_result_view *ret_view) {
    ts_acquire_scratch_reset(scratch);
    ts_acquire_scratch_write_spec(scratch, &record->spec);
    ts_acquire_scratch_write_cursor(scratch, &record->cursor);
    write_spawned(scratch, record->spawned);
    ret_view->lease = *lease;
    ret_view->snapshot = ts_acquire_scratch_view(scratch, record);
    ret_view->capacity = capacity;
}
