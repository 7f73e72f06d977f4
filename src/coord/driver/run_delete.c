/*
 * Deleting a run that has ended.
 *
 *     read the run -> on every store: batches of shards with their index entries and counters, then units
 *                  -> one transaction: the run, its guards, counters and place in the tenant's list
 *
 * Nothing else changes the shards of a run that has ended, so they are deleted in batches. Each batch leaves
 * records, index and counters consistent. The run's record is deleted last: until then its id is in use, and
 * a repeated deletion continues where the last deletion stopped. Every batch checks the guard. So the batch
 * never touches a new run with the same id, and waits while the transaction that ended the run is still being
 * committed.
 */
#include "driver.h"

#include "base/assert.h"

#include <string.h>

enum {
    ROWS_AT_ONCE = 256, /* rows of one scan, few enough for one answer of a store */
    OPS_PER_ROW = 3,    /* check, delete, delete from the claim index */
    BATCH_OPS_MAX = 1000,
};
_Static_assert(ROWS_AT_ONCE *TS_RECORD_MAX <= TS_STORE_ANSWER_BYTES_MAX, "a scan is answered");
_Static_assert(1 + ROWS_AT_ONCE * OPS_PER_ROW + COORD__COUNTERS <= BATCH_OPS_MAX, "batches are bounded");

struct deletion {
    struct ts_coord *coord;
    struct coord__work *work;
    const struct ts_coord_run_query *query;
    struct coord__tries tries; /* tries since the last successful batch */
    enum ts_delete_run_error error;
    struct ts_coord_deleted done;
    bool has_run;
    uint64_t version;
    struct ts_run_record run;
    /* Version that the run's record had when a store without the run's guard was found; otherwise 0. */
    uint64_t guardless_version;
    int64_t uncounted[COORD__COUNTERS]; /* shards that this batch deletes, indexed by counter */
    struct ts_coord_detail detail;
};

/* How a round continues. */
enum progress {
    PROGRESS_DONE,
    PROGRESS_AGAIN, /* read the run and start again */
    PROGRESS_ENDED, /* the operation has ended: *ret_end is the result */
};

/* ---- reading ---- */

static enum coord__end read_run(struct deletion *mine) {
    const struct coord__key run = coord__key_run(mine->query->run);
    const struct ts_bytes key = coord__key_bytes(&run);
    (void)coord__call_read(mine->work, 0, 0, &key, 1);
    const struct coord__result result = coord__read(mine->coord, mine->work, 1);
    if (result.result != TS_STORE_OK)
        return coord__failed(&mine->tries, &result, &mine->detail);
    const struct ts_row *row = &mine->work->rows[0].rows[0];
    mine->version = row->version;
    const enum coord__end end =
        coord__decode_run(row, mine->query->run, &mine->has_run, &mine->run, &mine->detail);
    if (end == COORD__END_DONE)
        return end;
    /* Another tenant does not learn of the damage. */
    mine->has_run = coord__find_tenant(mine->coord, mine->work, mine->query->run, &mine->run.tenant) &&
                    !ts_tenant_id_equal(&mine->run.tenant, &mine->query->tenant);
    return mine->has_run ? COORD__END_DONE : end;
}

/* Like read_run, but waits if the run is being created. A run that is still missing after the wait does not
 * exist. */
static enum coord__end look_for_run(struct deletion *mine) {
    enum coord__end end = read_run(mine);
    if (end != COORD__END_DONE || mine->has_run)
        return end;
    const struct coord__key run = coord__key_run(mine->query->run);
    return coord__wait_for_promises(mine->coord, mine->work, 0, &run, &mine->tries, &end, &mine->detail)
               ? read_run(mine)
               : end;
}

/* ---- batches ---- */

static enum progress again(struct deletion *mine, const struct coord__result *result,
                           enum coord__end *ret_end) {
    return coord__again(mine->coord, &mine->tries, result, ret_end, &mine->detail) ? PROGRESS_AGAIN
                                                                                   : PROGRESS_ENDED;
}

/* Plans the deletion of the shard's entry in the claim index, and adds the shard to `uncounted`. For a
 * damaged shard, entry and counter are unknown; both are deleted later. */
static void plan_shard(struct deletion *mine, uint32_t place, const struct ts_row *row) {
    struct ts_shard_key key;
    struct ts_shard_record record;
    struct ts_coord_detail ignored;
    if (!coord__key_shard_of(row->key, &key) ||
        coord__decode_shard(row, key, &record, &ignored) != COORD__END_DONE)
        return;
    mine->uncounted[coord__stripe_index(
        (struct coord__stripe){record.status, coord__stripe_of(key.shard)})]++;
    struct coord__key entry;
    switch (ts_shard_record_claim_place(&record)) {
    case TS_CLAIM_PLACE_NONE:
        return;
    case TS_CLAIM_PLACE_FREE:
        entry = coord__key_free(key);
        break;
    case TS_CLAIM_PLACE_LEASED:
        entry = coord__key_leased(key, record.holder.deadline);
        break;
    }
    coord__plan_del(&mine->work->plan, place, &entry);
}

/* The kinds of records of a run on each store, in the order of deletion. Entries of the claim index are
 * deleted with their shards; entries that remain belong to damaged shards, or to none. */
static const struct kind {
    enum coord__kind kind;
    /* Plans the deletions that belong to the row; may be NULL. */
    void (*plan)(struct deletion *mine, uint32_t place, const struct ts_row *row);
} kinds[] = {
    {COORD__KIND_SHARDS, plan_shard},
    {COORD__KIND_FREE, NULL},
    {COORD__KIND_LEASED, NULL},
    {COORD__KIND_UNITS, NULL},
};

void ts_coord_unit_key(struct ts_run_id run, const uint8_t target[static TS_COORD_TARGET_LEN],
                       uint8_t ret_key[static TS_COORD_UNIT_KEY_LEN]) {
    const struct coord__key key = coord__key_unit(run, target);
    ts_assert(key.len == TS_COORD_UNIT_KEY_LEN);
    memcpy(ret_key, key.bytes, key.len);
}

static void plan_batch(struct deletion *mine, const struct kind *kind, uint32_t place,
                       const struct ts_rows *rows, uint64_t guard_version) {
    struct coord__plan *plan = &mine->work->plan;
    coord__plan_clear(plan);
    memset(mine->uncounted, 0, sizeof mine->uncounted);
    const struct coord__key guard = coord__key_guard(mine->query->run);
    coord__plan_check(plan, place, &guard, guard_version);
    for (size_t i = 0; i < rows->count; i++) {
        /* The rows stay in place until the next read, and keys of other layers may have any length, so keys
         * are not copied. */
        const struct ts_bytes key = rows->rows[i].key;
        coord__plan_op(plan, place,
                       &(struct ts_op){.kind = TS_OP_CHECK, .key = key, .version = rows->rows[i].version});
        coord__plan_op(plan, place, &(struct ts_op){.kind = TS_OP_DEL, .key = key});
        if (kind->plan != NULL)
            kind->plan(mine, place, &rows->rows[i]);
    }
    for (size_t i = 0; i < COORD__COUNTERS; i++) {
        const struct coord__key key = coord__key_counter(mine->query->run, coord__stripe_at(i));
        if (mine->uncounted[i] > 0)
            coord__plan_add(plan, place, &key, (struct coord__change){-mine->uncounted[i], INT64_MAX},
                            COORD__TAG_COUNTER);
    }
    ts_assert(plan->count <= BATCH_OPS_MAX);
}

/* Called when a store does not have the run's guard. Either another process has deleted the run, or the guard
 * is lost. Reading the run again shows which. */
static enum progress without_guard(struct deletion *mine, enum coord__end *ret_end) {
    if (mine->guardless_version != mine->version) {
        mine->guardless_version = mine->version;
        return PROGRESS_AGAIN;
    }
    *ret_end = coord__damaged_run(TS_RECORD_TOO_SHORT, "guard", mine->query->run, &mine->detail);
    return PROGRESS_ENDED;
}

/* Deletes one batch of one kind of record on a store. *ret_more: there may be more such records. */
static enum progress delete_some(struct deletion *mine, const struct kind *kind, uint32_t place,
                                 bool *ret_more, enum coord__end *ret_end) {
    const struct coord__range range = coord__range_of_run(kind->kind, mine->query->run);
    const struct coord__key guard = coord__key_guard(mine->query->run);
    const struct ts_bytes guard_key = coord__key_bytes(&guard);
    (void)coord__call_read(mine->work, 0, place, &guard_key, 1);
    (void)coord__call_scan(mine->work, 1, place, &range, ROWS_AT_ONCE);
    struct coord__result result = coord__read(mine->coord, mine->work, 2);
    if (result.result != TS_STORE_OK) {
        *ret_end = coord__failed(&mine->tries, &result, &mine->detail);
        return PROGRESS_ENDED;
    }
    const uint64_t guard_version = mine->work->rows[0].rows[0].version;
    if (guard_version == 0)
        return without_guard(mine, ret_end);
    const struct ts_rows *rows = &mine->work->rows[1];
    *ret_more = rows->more;
    if (rows->count == 0)
        return PROGRESS_DONE;
    plan_batch(mine, kind, place, rows, guard_version);
    result = coord__apply(mine->coord, mine->work);
    if (result.result != TS_STORE_OK)
        return again(mine, &result, ret_end);
    if (kind->kind == COORD__KIND_SHARDS)
        mine->done.shards += rows->count;
    /* Counts units only: other layers also keep rows next to their units. */
    for (size_t i = 0; kind->kind == COORD__KIND_UNITS && i < rows->count; i++)
        mine->done.units += rows->rows[i].key.len == TS_COORD_UNIT_KEY_LEN;
    mine->tries = (struct coord__tries){0};
    return PROGRESS_DONE;
}

static enum progress delete_rows(struct deletion *mine, enum coord__end *ret_end) {
    for (uint32_t place = 0; place < mine->coord->io.place_count; place++) {
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
            bool more = true;
            while (more) {
                const enum progress progress = delete_some(mine, &kinds[i], place, &more, ret_end);
                if (progress != PROGRESS_DONE)
                    return progress;
            }
        }
    }
    return PROGRESS_DONE;
}

/* ---- the end ---- */

static void plan_last(struct deletion *mine) {
    struct coord__plan *plan = &mine->work->plan;
    const struct coord__key run = coord__key_run(mine->run.run),
                            shards = coord__key_run_shards(mine->run.run),
                            listed = coord__key_tenant_run(&mine->run.tenant, mine->run.run),
                            guard = coord__key_guard(mine->run.run);
    coord__plan_clear(plan);
    coord__plan_check(plan, 0, &run, mine->version);
    coord__plan_del(plan, 0, &run);
    coord__plan_del(plan, 0, &listed);
    coord__plan_del(plan, 0, &shards);
    for (uint32_t place = 0; place < plan->place_count; place++) {
        coord__plan_del(plan, place, &guard);
        for (size_t i = 0; i < COORD__COUNTERS; i++) {
            const struct coord__key counter = coord__key_counter(mine->run.run, coord__stripe_at(i));
            coord__plan_del(plan, place, &counter);
        }
    }
}

static enum progress delete_run_itself(struct deletion *mine, enum coord__end *ret_end) {
    plan_last(mine);
    const struct coord__result result = coord__apply(mine->coord, mine->work);
    return result.result == TS_STORE_OK ? PROGRESS_DONE : again(mine, &result, ret_end);
}

static enum coord__end delete_run(struct deletion *mine) {
    for (;;) {
        enum coord__end end = look_for_run(mine);
        if (end == COORD__END_INFRA && mine->tries.unknown)
            mine->detail.infra.kind = TS_INFRA_UNKNOWN;
        if (end != COORD__END_DONE)
            return end;
        mine->error =
            ts_delete_run_step(mine->has_run ? &mine->run : NULL, &mine->query->tenant, &mine->detail);
        if (mine->error != TS_DELETE_RUN_OK || !mine->has_run)
            return COORD__END_DONE;
        mine->done.was_there = true;
        enum progress progress = delete_rows(mine, &end);
        if (progress == PROGRESS_DONE)
            progress = delete_run_itself(mine, &end);
        if (progress != PROGRESS_AGAIN)
            return progress == PROGRESS_DONE ? COORD__END_DONE : end;
    }
}

enum ts_delete_run_error ts_coord_delete_run(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                             struct ts_coord_deleted *ret_deleted,
                                             struct ts_coord_detail *ret_detail) {
    struct deletion mine = {.coord = coord, .query = query, .work = coord__work_take(coord)};
    const enum coord__end end = mine.work == NULL ? coord__no_memory(&mine.detail) : delete_run(&mine);
    if (end != COORD__END_DONE)
        mine.error = ts_delete_run_error_of(coord__end_variant(end));
    if (mine.error == TS_DELETE_RUN_OK)
        *ret_deleted = mine.done;
    else
        *ret_detail = mine.detail;
    if (mine.work != NULL)
        coord__work_give(coord, mine.work);
    return mine.error;
}
