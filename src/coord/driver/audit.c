/* Counts all records of a run in the stores, and compares the counts with the counters, indexes and
 * guards. */
#include "driver.h"

#include "base/assert.h"

#include <stdlib.h>

enum { ROWS_AT_ONCE = 512 };

static const struct coord__tries no_tries = {0};

struct audit {
    struct ts_coord *coord;
    struct coord__work *work;
    struct ts_coord_run_query query;
    struct ts_run_record run;
    struct ts_coord_audit found;
    uint64_t index_entries; /* entries that the claim index should have */
    uint64_t index_matched; /* how many of these entries the index has */
    uint64_t *stripes;      /* counted by a walk over the shards: [place][status][stripe] */
    struct ts_coord_detail detail;
};

bool ts_coord_audit_is_clean(const struct ts_coord_audit *audit) {
    return audit->wrong_counters == 0 && audit->wrong_places == 0 && audit->missing_index == 0 &&
           audit->extra_index == 0 && audit->wrong_guards == 0 && !audit->wrong_limits;
}

static bool count_shard(void *context, const struct ts_coord_shard_view *shard) {
    struct audit *mine = context;
    const struct ts_shard_record *record = shard->record;
    ts_shard_counts_move(&mine->found.counted, NULL, record->status);
    if (ts_coord_place_of_shard(mine->coord, record->key.shard) != shard->place)
        mine->found.wrong_places++;
    const struct coord__stripe stripe = {record->status, coord__stripe_of(record->key.shard)};
    mine->stripes[(size_t)shard->place * COORD__COUNTERS + coord__stripe_index(stripe)]++;
    struct coord__key key;
    switch (ts_shard_record_claim_place(record)) {
    case TS_CLAIM_PLACE_NONE:
        return true;
    case TS_CLAIM_PLACE_FREE:
        key = coord__key_free(record->key);
        break;
    case TS_CLAIM_PLACE_LEASED:
        key = coord__key_leased(record->key, record->holder.deadline);
        break;
    }
    mine->index_entries++;
    const struct ts_bytes keys[] = {coord__key_bytes(&key)};
    (void)coord__call_read(mine->work, 0, shard->place, keys, 1);
    if (coord__read(mine->coord, mine->work, 1).result == TS_STORE_OK &&
        mine->work->rows[0].rows[0].version != 0)
        mine->index_matched++;
    return true;
}

static enum coord__end fail(struct audit *mine, const struct coord__result *result) {
    return coord__failed(&no_tries, result, &mine->detail);
}

/* Counts the entries of one index on this store, and adds the count to *total. */
static enum coord__end count_index(struct audit *mine, uint32_t place, enum coord__kind kind,
                                   uint64_t *total) {
    struct coord__range range = coord__range_of_run(kind, mine->query.run);
    for (;;) {
        (void)coord__call_scan(mine->work, 0, place, &range, ROWS_AT_ONCE);
        const struct coord__result result = coord__read(mine->coord, mine->work, 1);
        if (result.result != TS_STORE_OK)
            return fail(mine, &result);
        const struct ts_rows *rows = &mine->work->rows[0];
        *total += rows->count;
        if (!rows->more || rows->count == 0)
            return COORD__END_DONE;
        const struct ts_bytes last = rows->rows[rows->count - 1].key;
        ts_assert(last.len < sizeof range.from.bytes);
        memcpy(range.from.bytes, last.data, last.len);
        range.from.bytes[last.len] = 0;
        range.from.len = (uint8_t)(last.len + 1);
    }
}

/* Checks the counters and the guard of a store. */
static enum coord__end check_store(struct audit *mine, uint32_t place) {
    struct coord__key keys[COORD__COUNTERS + 1];
    struct ts_bytes bytes[COORD__COUNTERS + 1];
    for (size_t i = 0; i < COORD__COUNTERS; i++)
        keys[i] = coord__key_counter(mine->query.run, coord__stripe_at(i));
    keys[COORD__COUNTERS] = coord__key_guard(mine->query.run);
    for (size_t i = 0; i <= COORD__COUNTERS; i++)
        bytes[i] = coord__key_bytes(&keys[i]);
    (void)coord__call_read(mine->work, 0, place, bytes, COORD__COUNTERS + 1);
    const struct coord__result result = coord__read(mine->coord, mine->work, 1);
    if (result.result != TS_STORE_OK)
        return fail(mine, &result);
    const struct ts_row *rows = mine->work->rows[0].rows;
    for (size_t i = 0; i < COORD__COUNTERS; i++) {
        uint64_t value;
        enum coord__end end = coord__decode_counter(&rows[i], &value, &mine->detail);
        if (end != COORD__END_DONE)
            return end;
        if (value != mine->stripes[(size_t)place * COORD__COUNTERS + i])
            mine->found.wrong_counters++;
    }
    bool has_guard;
    struct ts_run_guard guard;
    enum coord__end end =
        coord__decode_guard(&rows[COORD__COUNTERS], mine->query.run, &has_guard, &guard, &mine->detail);
    if (end == COORD__END_DONE && (!has_guard || guard.status != mine->run.status ||
                                   !ts_tenant_id_equal(&guard.tenant, &mine->run.tenant) ||
                                   !ts_run_config_equal(&guard.config, &mine->run.config)))
        mine->found.wrong_guards++;
    return end;
}

static enum coord__end check_limits(struct audit *mine) {
    const struct coord__key key = coord__key_run_shards(mine->query.run);
    const struct ts_bytes keys[] = {coord__key_bytes(&key)};
    (void)coord__call_read(mine->work, 0, 0, keys, 1);
    const struct coord__result result = coord__read(mine->coord, mine->work, 1);
    if (result.result != TS_STORE_OK)
        return fail(mine, &result);
    enum coord__end end =
        coord__decode_counter(&mine->work->rows[0].rows[0], &mine->found.counted_for_limits, &mine->detail);
    const struct ts_shard_counts *counted = &mine->found.counted;
    const uint64_t all = counted->active + counted->done + counted->split + counted->parked;
    mine->found.wrong_limits =
        mine->found.counted_for_limits != (ts_run_status_is_terminal(mine->run.status) ? 0 : all);
    return end;
}

static enum ts_get_run_error audit(struct audit *mine) {
    enum ts_get_run_error error = ts_coord_get_run(mine->coord, &mine->query, &mine->run, &mine->detail);
    const struct ts_coord_shard_query all = {.run = mine->query};
    if (error == TS_GET_RUN_OK)
        error = ts_coord_list_shards(mine->coord, &all, count_shard, mine, &mine->detail);
    if (error == TS_GET_RUN_OK)
        error = ts_coord_run_counts(mine->coord, &mine->query, &mine->found.counters, &mine->detail);
    if (error != TS_GET_RUN_OK)
        return error;
    uint64_t entries = 0;
    enum coord__end end = COORD__END_DONE;
    for (uint32_t place = 0; place < mine->coord->io.place_count && end == COORD__END_DONE; place++) {
        end = count_index(mine, place, COORD__KIND_FREE, &entries);
        if (end == COORD__END_DONE)
            end = count_index(mine, place, COORD__KIND_LEASED, &entries);
        if (end == COORD__END_DONE)
            end = check_store(mine, place);
    }
    if (end == COORD__END_DONE)
        end = check_limits(mine);
    if (end != COORD__END_DONE)
        return TS_GET_RUN_BACKEND_ERROR;
    mine->found.missing_index = mine->index_entries - mine->index_matched;
    mine->found.extra_index = entries > mine->index_matched ? entries - mine->index_matched : 0;
    return TS_GET_RUN_OK;
}

enum ts_get_run_error ts_coord_audit_run(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                         struct ts_coord_audit *ret_audit,
                                         struct ts_coord_detail *ret_detail) {
    struct audit mine = {.coord = coord, .query = *query, .work = coord__work_take(coord)};
    mine.stripes = calloc((size_t)coord->io.place_count * COORD__COUNTERS, sizeof *mine.stripes);
    enum ts_get_run_error error = TS_GET_RUN_BACKEND_ERROR;
    if (mine.work == NULL || mine.stripes == NULL)
        (void)coord__no_memory(&mine.detail);
    else
        error = audit(&mine);
    if (error == TS_GET_RUN_OK)
        *ret_audit = mine.found;
    else
        *ret_detail = mine.detail;
    free(mine.stripes);
    if (mine.work != NULL)
        coord__work_give(coord, mine.work);
    return error;
}
