/* Flips a target, and makes the receipts of finished units. */
#include "durable_impl.h"

#include "runtime/core/plant.h"

#include <stdlib.h>

/* Only this file makes receipts of this kind. */
struct ts_unit_receipt {
    struct durable__progress progress;
};

const struct durable__progress *durable__unit_progress(const struct ts_unit_receipt *unit) {
    return &unit->progress;
}

struct ts_unit_receipt *durable__unit_receipt_new(void) {
    return malloc(sizeof(struct ts_unit_receipt));
}

static const struct ts_unit_receipt *receipt(struct ts_durable *durable, const struct ts_fleet_target *done) {
    durable->unit_receipt->progress = (struct durable__progress){.target = durable->id,
                                                                 .run = ts_lease_shard(&durable->lease).run.v,
                                                                 .attempt = done->attempt,
                                                                 .parts = durable->parts,
                                                                 .objects = done->objects};
    /* The receipt names this unit's shard, even if another unit finished the target. */
    durable->unit_receipt->progress.attempt.shard = ts_lease_shard(&durable->lease).shard.v;
    return durable->unit_receipt;
}

static bool covers(const struct ts_durable *durable, const struct ts_fleet_target *target) {
    return runtime__is_planted(TS_FLEET_PLANT_OLDRUN) ? target->run_number == durable->run.number
                                                      : target->run_number >= durable->run.number;
}

static enum ts_durable_end apply(struct ts_durable *durable, const struct ts_unit_receipt **ret_receipt,
                                 struct ts_durable_detail *ret_detail) {
    const enum ts_durable_end end = durable__write(durable, &durable->pending, ret_detail);
    if (end == TS_DURABLE_OK)
        *ret_receipt = receipt(durable, &durable->next);
    return end;
}

enum ts_durable_end ts_durable_flip(struct ts_durable *durable, const struct ts_unit_receipt **ret_receipt,
                                    struct ts_durable_detail *ret_detail) {
    ts_assert(durable->is_staged);
    return apply(durable, ret_receipt, ret_detail);
}

enum ts_durable_end ts_durable_nothing_new(struct ts_durable *durable,
                                           const struct ts_unit_receipt **ret_receipt,
                                           struct ts_durable_detail *ret_detail) {
    ts_assert(durable->has_target);
    struct ts_fleet_target target = durable->target;
    target.run_number = durable->run.number;
    target.run = ts_lease_shard(&durable->lease).run.v;
    target.checked_at_ms = durable->now_ms;
    durable->is_staged = false;
    durable__batch_clear(&durable->pending);
    if (!durable__put_target(durable, &target))
        return durable__no_memory(ret_detail);
    return apply(durable, ret_receipt, ret_detail);
}

const struct ts_unit_receipt *durable__receipt_or_planted(struct ts_durable *durable,
                                                          const struct ts_unit_receipt *unit) {
    const bool is_planted =
        runtime__is_planted(TS_FLEET_PLANT_EARLY) || runtime__is_planted(TS_FLEET_PLANT_UNKNOWNOK);
    return unit == NULL && is_planted ? receipt(durable, &durable->next) : unit;
}

const struct ts_unit_receipt *ts_durable_covered(struct ts_durable *durable) {
    const bool is_covered = durable->has_target && covers(durable, &durable->target);
    return is_covered ? receipt(durable, &durable->target) : NULL;
}

enum ts_durable_end ts_durable_look_up(struct ts_durable *durable, enum ts_unit_found *ret_found,
                                       const struct ts_unit_receipt **ret_receipt,
                                       struct ts_durable_detail *ret_detail) {
    const struct ts_fleet_key key = ts_fleet_key_target(&durable->options.tenant, &durable->id);
    const struct ts_bytes bytes = ts_fleet_key_bytes(&key);
    struct ts_fleet_target target;
    const enum ts_durable_end end = durable__read_keys(durable, durable->home, &bytes, 1, ret_detail);
    if (end != TS_DURABLE_OK)
        return end;
    const struct ts_row *row = &durable->rows.rows[0];
    *ret_receipt = NULL;
    if (row->version == durable->version) {
        *ret_found = TS_UNIT_FOUND_SAME;
        return TS_DURABLE_OK;
    }
    if (row->version == 0 || ts_fleet_target_decode(row->value, &target) != TS_FLEET_OK)
        return durable__failed(TS_UNIT_DAMAGED_RECORD, ret_detail);
    if (!covers(durable, &target)) {
        *ret_found = TS_UNIT_FOUND_OTHER;
        return TS_DURABLE_OK;
    }
    *ret_found =
        ts_attempt_equal(&target.attempt, &durable->next.attempt) ? TS_UNIT_FOUND_OWN : TS_UNIT_FOUND_COVERED;
    *ret_receipt = receipt(durable, &target);
    return TS_DURABLE_OK;
}
