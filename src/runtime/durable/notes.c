/* Stores why a target was parked or handed back; reads these notes, and the names of targets. */
#include "runtime/durable/notes.h"

#include "findings_impl.h"

#include <stdlib.h>
#include <string.h>

/* Returns the key of the unit or, if is_note, of its note. The key of the note begins with the key of the
 * unit, so that the note is deleted with the run. */
static struct ts_fleet_key key_of(struct ts_run_id run, const struct ts_target_id *target, bool is_note) {
    struct ts_fleet_key key = {.len = TS_COORD_UNIT_KEY_LEN};
    ts_coord_unit_key(run, target->bytes, key.bytes);
    if (is_note)
        key.bytes[key.len++] = 'n';
    return key;
}

enum ts_durable_end ts_durable_note(struct ts_durable *durable, const struct ts_durable_decision *decision,
                                    struct ts_durable_detail *ret_detail) {
    const struct ts_fleet_key key = key_of(ts_lease_shard(&durable->lease).run, &durable->id, true);
    const struct ts_bytes bytes = ts_fleet_key_bytes(&key);
    uint8_t value[TS_FLEET_DECISIONS_MAX];
    struct ts_fleet_decisions decisions = {0};
    if (!durable->has_shape)
        return durable__failed(TS_UNIT_DAMAGED_RECORD, ret_detail);
    enum ts_durable_end end = durable__read_keys(durable, durable->home, &bytes, 1, ret_detail);
    if (end != TS_DURABLE_OK)
        return end;
    /* A damaged note is replaced. */
    const struct ts_row *row = &durable->rows.rows[0];
    if (row->version != 0)
        (void)ts_fleet_decisions_decode(row->value, &decisions);
    const struct ts_bytes reason = ts_bytes_of_cstring(decision->reason);
    if (decision->once && decisions.count > 0 && ts_bytes_equal(decisions.list[0].reason, reason))
        return TS_DURABLE_OK;
    const struct ts_worker_id *owner = ts_lease_owner(&durable->lease);
    const struct ts_fleet_decision newest = {
        .is_parked = decision->is_parked,
        .at_ms = durable->now_ms,
        .fence = ts_lease_fence(&durable->lease).v,
        .reason = reason,
        .worker = ts_bytes_of(owner->b, strnlen((const char *)owner->b, sizeof owner->b))};
    ts_fleet_decisions_add(&decisions, &newest);
    struct durable__batch batch = {0};
    end = durable__batch_put(&batch, &key, ts_bytes_of(value, ts_fleet_decisions_encode(&decisions, value)))
              ? durable__write_surely(durable, &batch, ret_detail)
              : durable__no_memory(ret_detail);
    durable__batch_release(&batch);
    return end;
}

/* ---- reading ---- */

struct reading {
    void (*unit)(void *context, size_t index, const struct ts_fleet_unit *unit);
    void (*decisions)(void *context, size_t index, const struct ts_fleet_decisions *decisions);
    void *context;
};

/* Passes a record to the caller: even indexes are units, odd indexes are notes. Damaged records are omitted,
 * because only people read names and reasons. */
static bool take(void *context, size_t index, const struct ts_row *row) {
    const struct reading *reading = context;
    struct ts_fleet_unit unit;
    struct ts_fleet_decisions decisions;
    if (index % 2 == 0 && ts_fleet_unit_decode(row->value, &unit) == TS_FLEET_OK)
        reading->unit(reading->context, index / 2, &unit);
    if (index % 2 == 1 && ts_fleet_decisions_decode(row->value, &decisions) == TS_FLEET_OK)
        reading->decisions(reading->context, index / 2, &decisions);
    return true;
}

bool ts_notes_read(struct ts_coord *coord, const struct ts_notes_query *query, void *context,
                   struct ts_infra_error *ret_error) {
    struct reading reading = {query->unit, query->decisions, context};
    struct durable__key_at *keys = calloc(2 * query->count + 1, sizeof *keys);
    if (keys == NULL)
        return durable__no_room(ret_error);
    for (size_t i = 0; i < 2 * query->count; i++) {
        const struct ts_target_id *target = &query->targets[i / 2];
        keys[i] = (struct durable__key_at){key_of(query->run, target, i % 2 == 1),
                                           ts_coord_target_home(ts_coord_router(coord), target->bytes).v};
    }
    const bool done = durable__read_all(coord, keys, 2 * query->count, take, &reading, ret_error);
    free(keys);
    return done;
}
