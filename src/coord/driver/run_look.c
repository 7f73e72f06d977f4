/* Reading runs and shards. Nothing here writes; reads of several stores are not one snapshot. */
#include "driver.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* Rows of one scan of shards, and runs of one page of a list. Few enough for one answer of a store. */
enum { SHARDS_AT_ONCE = 256, RUNS_AT_ONCE = 256 };

static const struct coord__tries no_tries = {0};

static enum ts_get_run_error no_memory(struct ts_coord_detail *ret_detail) {
    *ret_detail = (struct ts_coord_detail){0};
    (void)coord__no_memory(ret_detail);
    return TS_GET_RUN_BACKEND_ERROR;
}

/* Returns DONE with ret_found and the record. For a damaged run of another tenant, only the tenant is filled
 * in. */
static enum coord__end read_run(struct ts_coord *coord, struct coord__work *work,
                                const struct ts_coord_run_query *query, bool *ret_found,
                                struct ts_run_record *ret_run, struct ts_coord_detail *detail) {
    const struct coord__key key = coord__key_run(query->run);
    const struct ts_bytes keys[] = {coord__key_bytes(&key)};
    (void)coord__call_read(work, 0, 0, keys, 1);
    const struct coord__result result = coord__read(coord, work, 1);
    if (result.result != TS_STORE_OK)
        return coord__failed(&no_tries, &result, detail);
    const enum coord__end end =
        coord__decode_run(&work->rows[0].rows[0], query->run, ret_found, ret_run, detail);
    if (end == COORD__END_DONE)
        return COORD__END_DONE;
    return coord__find_tenant(coord, work, query->run, &ret_run->tenant) &&
                   !ts_tenant_id_equal(&ret_run->tenant, &query->tenant)
               ? COORD__END_DONE
               : end;
}

static enum ts_get_run_error get_run(struct ts_coord *coord, struct coord__work *work,
                                     const struct ts_coord_run_query *query, struct ts_run_record *ret_run,
                                     struct ts_coord_detail *detail) {
    bool found = false;
    struct ts_run_record run = {0};
    struct coord__tries tries = {0};
    enum coord__end end = read_run(coord, work, query, &found, &run, detail);
    /* Waits if the run is being created. */
    const struct coord__key key = coord__key_run(query->run);
    if (end == COORD__END_DONE && !found &&
        coord__wait_for_promises(coord, work, 0, &key, &tries, &end, detail))
        end = read_run(coord, work, query, &found, &run, detail);
    if (end != COORD__END_DONE)
        return TS_GET_RUN_BACKEND_ERROR;
    const enum ts_get_run_error error = ts_get_run_step(found ? &run : NULL, &query->tenant, detail);
    if (error == TS_GET_RUN_OK)
        *ret_run = run;
    return error;
}

enum ts_get_run_error ts_coord_get_run(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                       struct ts_run_record *ret_run, struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    if (work == NULL)
        return no_memory(ret_detail);
    struct ts_coord_detail detail = {0};
    const enum ts_get_run_error error = get_run(coord, work, query, ret_run, &detail);
    if (error != TS_GET_RUN_OK)
        *ret_detail = detail;
    coord__work_give(coord, work);
    return error;
}

/* ---- counters ---- */

static enum ts_get_run_error read_counts(struct ts_coord *coord, struct coord__work *work,
                                         struct ts_run_id run, struct ts_shard_counts *ret_counts,
                                         struct ts_coord_detail *detail) {
    struct coord__key keys[COORD__COUNTERS];
    struct ts_bytes key_bytes[COORD__COUNTERS];
    for (size_t i = 0; i < COORD__COUNTERS; i++) {
        keys[i] = coord__key_counter(run, coord__stripe_at(i));
        key_bytes[i] = coord__key_bytes(&keys[i]);
    }
    for (uint32_t place = 0; place < coord->io.place_count; place++)
        (void)coord__call_read(work, place, place, key_bytes, COORD__COUNTERS);
    const struct coord__result result = coord__read(coord, work, coord->io.place_count);
    if (result.result != TS_STORE_OK) {
        (void)coord__failed(&no_tries, &result, detail);
        return TS_GET_RUN_BACKEND_ERROR;
    }
    struct ts_shard_counts counts = {0};
    for (uint32_t place = 0; place < coord->io.place_count; place++) {
        for (size_t i = 0; i < COORD__COUNTERS; i++) {
            uint64_t value;
            if (coord__decode_counter(&work->rows[place].rows[i], &value, detail) != COORD__END_DONE)
                return TS_GET_RUN_BACKEND_ERROR;
            *ts_shard_counts_of(&counts, coord__stripe_at(i).status) += value;
        }
    }
    *ret_counts = counts;
    return TS_GET_RUN_OK;
}

enum ts_get_run_error ts_coord_run_counts(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                          struct ts_shard_counts *ret_counts,
                                          struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    if (work == NULL)
        return no_memory(ret_detail);
    struct ts_coord_detail detail = {0};
    struct ts_run_record run;
    enum ts_get_run_error error = get_run(coord, work, query, &run, &detail);
    if (error == TS_GET_RUN_OK)
        error = read_counts(coord, work, query->run, ret_counts, &detail);
    if (error != TS_GET_RUN_OK)
        *ret_detail = detail;
    coord__work_give(coord, work);
    return error;
}

enum ts_get_run_error ts_coord_limits(struct ts_coord *coord, const struct ts_tenant_id *tenant,
                                      struct ts_shard_limits *ret_limits,
                                      struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    if (work == NULL)
        return no_memory(ret_detail);
    struct ts_coord_detail detail = {0};
    struct ts_shard_limits limits = {.tenant = {.max = coord->options.tenant_shard_max},
                                     .global = {.max = coord->options.global_shard_max}};
    const struct coord__key of_tenant = coord__key_tenant_limit(tenant), global = coord__key_global_limit();
    const struct ts_bytes keys[] = {coord__key_bytes(&of_tenant), coord__key_bytes(&global)};
    (void)coord__call_read(work, 0, 0, keys, 2);
    const struct coord__result result = coord__read(coord, work, 1);
    enum coord__end end = COORD__END_DONE;
    if (result.result != TS_STORE_OK)
        end = coord__failed(&no_tries, &result, &detail);
    if (end == COORD__END_DONE)
        end = coord__decode_counter(&work->rows[0].rows[0], &limits.tenant.current, &detail);
    if (end == COORD__END_DONE)
        end = coord__decode_counter(&work->rows[0].rows[1], &limits.global.current, &detail);
    coord__work_give(coord, work);
    if (end == COORD__END_DONE)
        *ret_limits = limits;
    else
        *ret_detail = detail;
    return end == COORD__END_DONE ? TS_GET_RUN_OK : TS_GET_RUN_BACKEND_ERROR;
}

/* ---- lists of runs ---- */

/* Reads one page of the tenant's list. Afterwards rows[1] of the work has the entries of the list, and
 * rows[0] the runs. */
static enum coord__end read_page(struct ts_coord *coord, struct coord__work *work,
                                 const struct coord__range *range, struct ts_coord_detail *detail) {
    /* Scans the range first, because the scan finds the keys of the runs. */
    (void)coord__call_scan(work, 0, 0, range, RUNS_AT_ONCE);
    struct coord__result result = coord__read(coord, work, 1);
    if (result.result != TS_STORE_OK)
        return coord__failed(&no_tries, &result, detail);
    const struct ts_rows scanned = work->rows[0];
    work->rows[0] = work->rows[1];
    work->rows[1] = scanned;
    struct coord__key keys[RUNS_AT_ONCE];
    struct ts_bytes key_bytes[RUNS_AT_ONCE];
    for (size_t i = 0; i < scanned.count; i++) {
        struct ts_run_id run;
        if (!coord__key_run_of(scanned.rows[i].key, &run))
            return coord__damaged(TS_RECORD_BAD_FIELD, "the list of a tenant's runs", detail);
        keys[i] = coord__key_run(run);
        key_bytes[i] = coord__key_bytes(&keys[i]);
    }
    if (scanned.count == 0)
        return COORD__END_DONE;
    (void)coord__call_read(work, 0, 0, key_bytes, scanned.count);
    result = coord__read(coord, work, 1);
    return result.result == TS_STORE_OK ? COORD__END_DONE : coord__failed(&no_tries, &result, detail);
}

/* Returns the first key after this key. */
static struct coord__key after_key(struct ts_bytes bytes) {
    struct coord__key key = coord__key_of_bytes(bytes);
    ts_assert(key.len < sizeof key.bytes);
    key.bytes[key.len++] = 0;
    return key;
}

/* Visits the runs of a page. Returns false if the visitor stops, or if ret_end is an error. */
static bool visit_page(const struct coord__work *work, const struct ts_coord_runs_query *query,
                       bool (*visit)(void *context, const struct ts_run_record *run), void *context,
                       enum coord__end *ret_end, struct ts_coord_detail *detail) {
    bool more = true;
    for (size_t i = 0; i < work->rows[1].count && more; i++) {
        struct ts_run_record run;
        struct ts_run_id id;
        bool found;
        (void)coord__key_run_of(work->rows[1].rows[i].key, &id);
        const enum coord__end end = coord__decode_run(&work->rows[0].rows[i], id, &found, &run, detail);
        if (end == COORD__END_DONE) {
            if (found && ts_run_filter_matches(&query->filter, &run))
                more = visit(context, &run);
        } else if (query->damaged != NULL) {
            more = query->damaged(context, id, &detail->infra);
        } else {
            *ret_end = end;
            more = false;
        }
    }
    return more;
}

enum ts_get_run_error ts_coord_list_runs(struct ts_coord *coord, const struct ts_coord_runs_query *query,
                                         bool (*visit)(void *context, const struct ts_run_record *run),
                                         void *context, struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    if (work == NULL)
        return no_memory(ret_detail);
    struct ts_coord_detail detail = {0};
    struct coord__range range = coord__range_of_tenant(&query->filter.tenant);
    enum coord__end end;
    bool more;
    do {
        end = read_page(coord, work, &range, &detail);
        const struct ts_rows *listed = &work->rows[1];
        more = end == COORD__END_DONE && visit_page(work, query, visit, context, &end, &detail) &&
               listed->more && listed->count > 0;
        if (more)
            range.from = after_key(listed->rows[listed->count - 1].key);
    } while (more);
    if (end != COORD__END_DONE)
        *ret_detail = detail;
    coord__work_give(coord, work);
    return end == COORD__END_DONE ? TS_GET_RUN_OK : TS_GET_RUN_BACKEND_ERROR;
}

/* ---- shards ---- */

/* A walk over the shards of a run on one store, one page at a time. rows[place] of the work has the current
 * page. */
struct walk {
    struct coord__range range;
    size_t at;
    bool more;
    struct ts_logical_time now;
};

/* Reads the next page for every walk that is at the end of its page. */
static enum coord__end refill(struct ts_coord *coord, struct coord__work *work, struct walk *walks,
                              struct ts_coord_detail *detail) {
    for (uint32_t place = 0; place < coord->io.place_count; place++) {
        struct walk *walk = &walks[place];
        if (walk->at < work->rows[place].count || !walk->more)
            continue;
        struct ts_rows *rows = &work->rows[place];
        if (rows->count > 0)
            walk->range.from = after_key(rows->rows[rows->count - 1].key);
        /* coord__read runs calls from index 0 on, so this call is placed in calls[0]. */
        struct ts_coord_call call = {.place = place,
                                     .call = {.kind = TS_CALL_SCAN,
                                              .from = coord__key_bytes(&walk->range.from),
                                              .to = coord__key_bytes(&walk->range.to),
                                              .limit = SHARDS_AT_ONCE,
                                              .rows = rows}};
        work->calls[0] = call;
        const struct coord__result result = coord__read(coord, work, 1);
        if (result.result != TS_STORE_OK)
            return coord__failed(&no_tries, &result, detail);
        walk->at = 0;
        walk->more = rows->more;
        walk->now = (struct ts_logical_time){work->calls[0].call.time_ms};
    }
    return COORD__END_DONE;
}

static bool compare_first(const struct coord__work *work, const struct walk *walks, uint32_t a, uint32_t b) {
    return ts_bytes_compare(work->rows[a].rows[walks[a].at].key, work->rows[b].rows[walks[b].at].key) < 0;
}

/* Returns the place with the smallest next shard id, or place_count at the end. */
static uint32_t first_of(const struct ts_coord *coord, const struct coord__work *work,
                         const struct walk *walks) {
    uint32_t first = coord->io.place_count;
    for (uint32_t place = 0; place < coord->io.place_count; place++) {
        if (walks[place].at == work->rows[place].count)
            continue;
        if (first == coord->io.place_count || compare_first(work, walks, place, first))
            first = place;
    }
    return first;
}

static enum coord__end walk_shards(struct ts_coord *coord, struct coord__work *work, struct walk *walks,
                                   const struct ts_coord_shard_query *query,
                                   bool (*visit)(void *context, const struct ts_coord_shard_view *shard),
                                   void *context, struct ts_coord_detail *detail) {
    for (uint32_t place = 0; place < coord->io.place_count; place++) {
        walks[place] =
            (struct walk){.range = coord__range_of_run(COORD__KIND_SHARDS, query->run.run), .more = true};
        if (query->has_after) {
            const struct coord__key after =
                coord__key_shard((struct ts_shard_key){query->run.run, query->after});
            walks[place].range.from = after_key(coord__key_bytes(&after));
        }
        ts_rows_clear(&work->rows[place]);
    }
    for (;;) {
        enum coord__end end = refill(coord, work, walks, detail);
        if (end != COORD__END_DONE)
            return end;
        const uint32_t place = first_of(coord, work, walks);
        if (place == coord->io.place_count)
            return COORD__END_DONE;
        const struct ts_row *row = &work->rows[place].rows[walks[place].at++];
        struct ts_shard_key key;
        struct ts_shard_record record;
        if (!coord__key_shard_of(row->key, &key))
            return coord__damaged(TS_RECORD_BAD_FIELD, "the key of a shard", detail);
        end = coord__decode_shard(row, key, &record, detail);
        if (end != COORD__END_DONE && query->damaged == NULL)
            return end;
        if (end != COORD__END_DONE) {
            if (!query->damaged(context, key, &detail->infra))
                return COORD__END_DONE;
            continue;
        }
        const struct ts_coord_shard_view view = {
            .record = &record, .version = row->version, .place = place, .now = walks[place].now};
        if (ts_shard_filter_matches(&query->filter, &record, view.now) && !visit(context, &view))
            return COORD__END_DONE;
    }
}

enum ts_get_run_error ts_coord_list_shards(struct ts_coord *coord, const struct ts_coord_shard_query *query,
                                           bool (*visit)(void *context,
                                                         const struct ts_coord_shard_view *shard),
                                           void *context, struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    struct walk *walks = calloc(coord->io.place_count, sizeof *walks);
    struct ts_coord_detail detail = {0};
    enum ts_get_run_error error = TS_GET_RUN_BACKEND_ERROR;
    struct ts_run_record run;
    if (work == NULL || walks == NULL)
        (void)coord__no_memory(&detail);
    else
        error = get_run(coord, work, &query->run, &run, &detail);
    if (error == TS_GET_RUN_OK &&
        walk_shards(coord, work, walks, query, visit, context, &detail) != COORD__END_DONE)
        error = TS_GET_RUN_BACKEND_ERROR;
    if (error != TS_GET_RUN_OK)
        *ret_detail = detail;
    free(walks);
    if (work != NULL)
        coord__work_give(coord, work);
    return error;
}

static bool add_progress(void *context, const struct ts_coord_shard_view *shard) {
    ts_run_progress_add(context, shard->record, shard->now);
    return true;
}

enum ts_get_run_error ts_coord_run_progress(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                            struct ts_run_progress *ret_progress,
                                            struct ts_coord_detail *ret_detail) {
    const struct ts_coord_shard_query all = {.run = *query};
    struct ts_run_progress *progress = calloc(1, sizeof *progress);
    if (progress == NULL)
        return no_memory(ret_detail);
    ts_run_progress_clear(progress);
    const enum ts_get_run_error error = ts_coord_list_shards(coord, &all, add_progress, progress, ret_detail);
    if (error == TS_GET_RUN_OK)
        *ret_progress = *progress;
    free(progress);
    return error;
}

enum ts_get_shard_error ts_coord_get_shard(struct ts_coord *coord, const struct ts_coord_shard_ref *ref,
                                           void (*visit)(void *context,
                                                         const struct ts_coord_shard_view *shard),
                                           void *context, struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    if (work == NULL) {
        (void)no_memory(ret_detail);
        return TS_GET_SHARD_BACKEND_ERROR;
    }
    struct coord__job job = coord__job_of(coord, &work->seen, &ref->tenant, ref->shard);
    job.work = work;
    enum ts_get_shard_error error = TS_GET_SHARD_OK;
    const enum coord__end end = coord__job_look(&job);
    if (end != COORD__END_DONE) {
        error = ts_get_shard_error_of(coord__end_variant(end));
    } else if (!work->seen.has_record || !work->seen.has_guard) {
        job.detail.shard = ref->shard;
        error = TS_GET_SHARD_SHARD_NOT_FOUND;
    } else if (!ts_tenant_id_equal(&work->seen.record.tenant, &ref->tenant)) {
        job.detail.expected_tenant = ref->tenant;
        error = TS_GET_SHARD_TENANT_MISMATCH;
    } else {
        const struct ts_coord_shard_view view = {.record = &work->seen.record,
                                                 .version = work->seen.version,
                                                 .place = job.place,
                                                 .now = work->seen.now};
        visit(context, &view);
    }
    if (error != TS_GET_SHARD_OK)
        *ret_detail = job.detail;
    coord__work_give(coord, work);
    return error;
}
