/*
 * Removes rows that are no longer needed. Waste marks say where they are, so the cost of a sweep depends only
 * on the rows to remove.
 *
 *     mark     removed with it                        when
 *     staged   rows of the attempt                    its lease is over for good, and it is not the current attempt
 *     old      rows of the attempt                    likewise
 *     known    known pages of the lease               the shard is Done, or the run has ended
 *     hits     pages of hits of the lease             likewise, and no flip of its run is the current one
 *              all pages of hits of earlier rules     likewise, and the target has other rules
 *
 * Rows on other stores are written without a check of the lease, so a batch may still arrive after the end of
 * the lease. Its deadline is the store's time, read before the end of the lease, plus a limit: the duration
 * of the run's leases, at most TS_DURABLE_FOREIGN_MS. So the first sweep that finds the lease ended reads the
 * time of every store, and stores these times plus the limit in the mark. A sweep after these times removes
 * the rows. If a worker has received an answer to each of its writes, no batch can arrive late, and the
 * worker removes the rows at once.
 *
 * If pages of hits have a mark, only a flip of the run that wrote them relies on them (durable.c). So every
 * batch that removes such pages checks the mark. When that run has flipped the target, the pages remain, and
 * the mark is removed.
 *
 * An attempt whose lease has ended can never become current, but a current attempt may be replaced. So the
 * sweep first checks whether the lease has ended. It removes seen-in rows before the page that lists them, and
 * the mark last, so that the next sweep can continue an interrupted one.
 */
#include "durable_impl.h"
#include "runtime/core/plant.h"

#include <stdio.h>
#include <stdlib.h>

enum { MARKS_AT_ONCE = 256, PAGES_AT_ONCE = 4 };

struct sweep {
    struct ts_coord *coord;
    struct ts_tenant_id tenant;
    struct ts_durable_swept swept;
    struct ts_infra_error *error;
    struct ts_rows marks, rows;
    struct durable__batch *batches; /* one batch for each place */
    uint32_t home;                  /* home of the current mark */
    struct ts_fleet_waste_key key;
    struct ts_fleet_waste waste;
    uint64_t mark_version;
    struct ts_attempt sure; /* the caller's lease if all writes of that lease were answered; otherwise 0 */
    uint64_t limit_ms;      /* time limit of batches on other stores, for the mark's run */
    struct ts_durable_stop stop;
};

/* ---- stores ---- */

static bool fail(struct sweep *sweep, enum ts_infra_kind kind, const char *text) {
    sweep->error->kind = kind;
    snprintf(sweep->error->text, sizeof sweep->error->text, "%s", text);
    return false;
}

static bool scan(struct sweep *sweep, uint32_t place, const struct ts_fleet_range *range, size_t limit,
                 struct ts_rows *rows) {
    if (durable__must_stop(sweep->stop))
        return fail(sweep, TS_INFRA_RETRYABLE, "stopped");
    struct ts_coord_call call = {.place = place,
                                 .call = {.kind = TS_CALL_SCAN,
                                          .from = ts_fleet_key_bytes(&range->from),
                                          .to = ts_fleet_key_bytes(&range->to),
                                          .limit = limit,
                                          .rows = rows}};
    return ts_coord_read(sweep->coord, &call, 1, sweep->error) == TS_STORE_OK;
}

/* Applies the batch for a store. Deletions may be repeated after a lost reply. If a check fails, the batch
 * changes nothing, and *ret_refused is set. */
static bool flush(struct sweep *sweep, uint32_t place, bool *ret_refused) {
    struct durable__batch *batch = &sweep->batches[place];
    enum ts_store_result result = TS_STORE_UNKNOWN;
    if (batch->count == 0)
        return true;
    if (durable__must_stop(sweep->stop))
        return fail(sweep, TS_INFRA_RETRYABLE, "stopped");
    for (int tries = 0; tries < DURABLE__TRIES && result == TS_STORE_UNKNOWN; tries++)
        result = ts_coord_apply(sweep->coord, place, durable__batch_of(batch), sweep->error);
    size_t deleted = 0;
    for (size_t i = 0; i < batch->count; i++)
        deleted += batch->ops[i].kind == TS_OP_DEL;
    durable__batch_clear(batch);
    if (result == TS_STORE_OK)
        sweep->swept.rows += deleted;
    *ret_refused = result == TS_STORE_CHECK_FAILED;
    return result == TS_STORE_OK || *ret_refused;
}

static bool del(struct sweep *sweep, uint32_t place, const struct ts_fleet_key *key) {
    struct durable__batch *batch = &sweep->batches[place];
    bool refused;
    if (!durable__batch_has_room(batch, 1, key->len) && !flush(sweep, place, &refused))
        return false;
    return durable__batch_del(batch, key) || fail(sweep, TS_INFRA_RETRYABLE, "out of memory");
}

static bool flush_all(struct sweep *sweep) {
    bool refused;
    for (uint32_t place = 0; place < ts_coord_place_count(sweep->coord); place++) {
        if (!flush(sweep, place, &refused))
            return false;
    }
    return true;
}

/* Deletes the mark itself, after everything else. */
static bool del_mark(struct sweep *sweep) {
    const struct ts_fleet_key key =
        ts_fleet_key_waste(&sweep->key.target, &sweep->key.attempt, sweep->key.waste);
    if (!flush_all(sweep) || !del(sweep, sweep->home, &key) || !flush_all(sweep))
        return false;
    sweep->swept.marks++;
    return true;
}

static bool keep_for(struct sweep *sweep, uint64_t wait_ms) {
    if (sweep->swept.kept++ == 0 || wait_ms < sweep->swept.wait_ms)
        sweep->swept.wait_ms = wait_ms;
    return true;
}

/* Keeps the mark: nothing can be removed until another worker or run ends. */
static bool keep(struct sweep *sweep) {
    return keep_for(sweep, TS_DURABLE_FOREIGN_MS);
}

/* ---- leases ---- */

struct shard_look {
    enum ts_shard_status status;
    uint64_t fence;
};

static void look_at(void *context, const struct ts_coord_shard_view *shard) {
    struct shard_look *look = context;
    *look = (struct shard_look){shard->record->status, shard->record->fence.v};
}

/* Sets ret_is_over to whether the attempt's lease has ended for good, so that nobody can write under it. With
 * needs_done, a lease counts as ended only if the shard is Done or no longer exists, or the run has ended. */
static bool find_out(struct sweep *sweep, bool needs_done, bool *ret_is_over) {
    const struct ts_coord_run_query query = {.tenant = sweep->tenant, .run = {sweep->waste.run}};
    const struct ts_attempt *attempt = &sweep->key.attempt;
    struct ts_run_record run;
    struct ts_coord_detail detail = {0};
    const enum ts_get_run_error got = ts_coord_get_run(sweep->coord, &query, &run, &detail);
    if (got == TS_GET_RUN_BACKEND_ERROR) {
        *sweep->error = detail.infra;
        return false;
    }
    /* If the number differs, the run was deleted, and a later run has the same id. */
    const bool is_known = got == TS_GET_RUN_OK && run.number == attempt->run;
    sweep->limit_ms = is_known ? durable__limit_ms(&run.config) : TS_DURABLE_FOREIGN_MS;
    *ret_is_over = !is_known || ts_run_status_is_terminal(run.status);
    if (*ret_is_over)
        return true;
    const struct ts_coord_shard_ref ref = {.tenant = sweep->tenant, .shard = {query.run, {attempt->shard}}};
    struct shard_look look = {.status = TS_SHARD_DONE};
    const enum ts_get_shard_error found = ts_coord_get_shard(sweep->coord, &ref, look_at, &look, &detail);
    if (found == TS_GET_SHARD_BACKEND_ERROR) {
        *sweep->error = detail.infra;
        return false;
    }
    const bool is_gone = found != TS_GET_SHARD_OK || look.status == TS_SHARD_DONE;
    const bool is_stale = ts_shard_status_is_terminal(look.status) || look.fence > attempt->fence;
    *ret_is_over = is_gone || (!needs_done && is_stale) || runtime__is_planted(TS_FLEET_PLANT_EAGERGC);
    return true;
}

/* ---- rows of an attempt ---- */

static bool read_target(struct sweep *sweep, struct ts_fleet_target *ret_target, uint64_t *ret_version) {
    const struct ts_fleet_key key = ts_fleet_key_target(&sweep->tenant, &sweep->key.target);
    const struct ts_bytes bytes = ts_fleet_key_bytes(&key);
    struct ts_coord_call call = {
        .place = sweep->home,
        .call = {.kind = TS_CALL_READ, .keys = &bytes, .key_count = 1, .rows = &sweep->rows}};
    if (ts_coord_read(sweep->coord, &call, 1, sweep->error) != TS_STORE_OK)
        return false;
    *ret_version = sweep->rows.rows[0].version;
    if (*ret_version == 0)
        return true;
    const enum ts_fleet_error error = ts_fleet_target_decode(sweep->rows.rows[0].value, ret_target);
    return error == TS_FLEET_OK || fail(sweep, TS_INFRA_DAMAGED, ts_fleet_error_text(error));
}

/* Deletes the seen-in rows that a page lists. If the page is damaged, some of these rows may remain, but they
 * do not count. */
static bool del_rows_of_page(struct sweep *sweep, struct ts_bytes bytes) {
    struct ts_fleet_page_reader reader;
    struct ts_fleet_item item;
    if (ts_fleet_page_open(bytes, &reader) != TS_FLEET_OK)
        return true;
    for (;;) {
        const enum ts_fleet_item_kind kind = ts_fleet_page_next(&reader, &item);
        if (kind == TS_FLEET_ITEM_END || kind == TS_FLEET_ITEM_BAD)
            return true;
        if (kind != TS_FLEET_ITEM_ENTRY || item.entry.from > 0)
            continue;
        const struct ts_fleet_key key =
            ts_fleet_key_seen(&sweep->tenant, &item.entry.finding, &sweep->key.target, &sweep->key.attempt);
        const uint32_t place =
            ts_coord_place_of(sweep->coord, ts_fleet_route_of_finding(&item.entry.finding));
        if (!del(sweep, place, &key))
            return false;
    }
}

/* Deletes the rows of the range. If `before` is not NULL, calls it first with the value of each row. */
static bool del_range(struct sweep *sweep, struct ts_fleet_range range,
                      bool (*before)(struct sweep *sweep, struct ts_bytes value)) {
    for (;;) {
        if (!scan(sweep, sweep->home, &range, PAGES_AT_ONCE, &sweep->rows))
            return false;
        for (size_t i = 0; i < sweep->rows.count; i++) {
            if (before != NULL && !before(sweep, sweep->rows.rows[i].value))
                return false;
        }
        if (before != NULL && !flush_all(sweep))
            return false;
        struct ts_fleet_key key;
        for (size_t i = 0; i < sweep->rows.count; i++) {
            if (!ts_fleet_key_of_bytes(sweep->rows.rows[i].key, &key) || !del(sweep, sweep->home, &key))
                return false;
        }
        if (sweep->rows.count < PAGES_AT_ONCE)
            return true;
        ts_fleet_range_skip(&range, &key);
    }
}

/* Reads the time of each store. */
static bool read_times(struct sweep *sweep, uint64_t *ret_times_ms, size_t count) {
    const struct ts_fleet_range range = ts_fleet_range_waste_of(&sweep->key.target);
    for (size_t i = 0; i < count; i++) {
        struct ts_coord_call call = {.place = (uint32_t)i,
                                     .call = {.kind = TS_CALL_SCAN,
                                              .from = ts_fleet_key_bytes(&range.from),
                                              .to = ts_fleet_key_bytes(&range.to),
                                              .limit = 1,
                                              .rows = &sweep->rows}};
        if (ts_coord_read(sweep->coord, &call, 1, sweep->error) != TS_STORE_OK)
            return false;
        ret_times_ms[i] = call.call.time_ms;
    }
    return true;
}

/* Stores in the mark, for each store, the time after which no write of the attempt can be applied. */
static bool put_times(struct sweep *sweep, const uint64_t *now_ms, size_t count) {
    struct durable__batch *batch = &sweep->batches[sweep->home];
    uint8_t bytes[TS_FLEET_WASTE_MAX];
    bool refused;
    const struct ts_fleet_key key =
        ts_fleet_key_waste(&sweep->key.target, &sweep->key.attempt, sweep->key.waste);
    sweep->waste.time_count = count;
    for (size_t i = 0; i < count; i++)
        sweep->waste.times_ms[i] = now_ms[i] + sweep->limit_ms;
    if (!durable__batch_check(batch, &key, sweep->mark_version) ||
        !durable__batch_put(batch, &key, ts_bytes_of(bytes, ts_fleet_waste_encode(&sweep->waste, bytes))))
        return fail(sweep, TS_INFRA_RETRYABLE, "out of memory");
    return flush(sweep, sweep->home, &refused) && keep_for(sweep, sweep->limit_ms);
}

/* Whether the attempt belongs to the caller's own lease, and all writes of that lease were answered. */
static bool is_own(const struct sweep *sweep) {
    const struct ts_attempt *own = &sweep->sure, *attempt = &sweep->key.attempt;
    return own->fence != 0 && own->run == attempt->run && own->shard == attempt->shard &&
           own->fence == attempt->fence;
}

/* Sets ret_is_settled if no row of the attempt can arrive on another store any more. Otherwise keeps the
 * mark, and makes sure that the mark has the times after which no row can arrive. */
static bool is_settled(struct sweep *sweep, bool *ret_is_settled) {
    uint64_t now_ms[TS_FLEET_WASTE_TIMES_MAX];
    const size_t count = ts_coord_place_count(sweep->coord);
    const struct ts_fleet_range pages = ts_fleet_range_occurrences(&sweep->key.target, &sweep->key.attempt);
    /* If there are no pages, other stores have no rows: pages are written before these rows, and removed
     * after them. */
    if (!scan(sweep, sweep->home, &pages, 1, &sweep->rows))
        return false;
    *ret_is_settled = count == 1 || sweep->rows.count == 0 || sweep->waste.is_sure || is_own(sweep);
    if (*ret_is_settled)
        return true;
    if (!read_times(sweep, now_ms, count))
        return false;
    if (sweep->waste.time_count != count)
        return put_times(sweep, now_ms, count);
    uint64_t wait_ms = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t end_ms = sweep->waste.times_ms[i];
        const uint64_t left_ms = end_ms > now_ms[i] ? end_ms - now_ms[i] : 0;
        wait_ms = wait_ms > left_ms ? wait_ms : left_ms;
    }
    *ret_is_settled = wait_ms == 0;
    return *ret_is_settled || keep_for(sweep, wait_ms);
}

static bool sweep_attempt(struct sweep *sweep) {
    struct ts_fleet_target target;
    uint64_t version;
    bool is_over, settled;
    if (!find_out(sweep, false, &is_over))
        return false;
    if (!is_over)
        return keep(sweep);
    if (!read_target(sweep, &target, &version))
        return false;
    if (version != 0 && ts_attempt_equal(&target.attempt, &sweep->key.attempt))
        return del_mark(sweep);
    if (!is_settled(sweep, &settled))
        return false;
    if (!settled)
        return true;
    return del_range(sweep, ts_fleet_range_occurrences(&sweep->key.target, &sweep->key.attempt),
                     del_rows_of_page) &&
           del_range(sweep, ts_fleet_range_summary(&sweep->key.target, &sweep->key.attempt), NULL) &&
           del_mark(sweep);
}

/* ---- pages of the scanner ---- */

static bool sweep_known(struct sweep *sweep) {
    bool is_over;
    if (!find_out(sweep, true, &is_over))
        return false;
    if (!is_over)
        return keep(sweep);
    struct ts_fleet_range range = {
        .from = ts_fleet_key_known(&sweep->key.target, &sweep->waste.rules, &sweep->key.attempt, 0),
        .to = ts_fleet_key_known(&sweep->key.target, &sweep->waste.rules, &sweep->key.attempt, UINT32_MAX)};
    return del_range(sweep, range, NULL) && del_mark(sweep);
}

/* Removes the lease's pages of hits, as long as its mark has not changed. */
static bool sweep_hits_of_lease(struct sweep *sweep) {
    const struct ts_attempt *lease = &sweep->key.attempt;
    const struct ts_fleet_key mark =
        ts_fleet_key_waste(&sweep->key.target, &sweep->key.attempt, sweep->key.waste);
    struct ts_fleet_range range = {
        .from = ts_fleet_key_hits(&sweep->key.target, &sweep->waste.rules, lease, 0),
        .to = ts_fleet_key_hits(&sweep->key.target, &sweep->waste.rules, lease, UINT32_MAX)};
    for (;;) {
        bool refused = false;
        if (!scan(sweep, sweep->home, &range, PAGES_AT_ONCE, &sweep->rows) ||
            !durable__batch_check(&sweep->batches[sweep->home], &mark, sweep->mark_version))
            return false;
        struct ts_fleet_key key;
        for (size_t i = 0; i < sweep->rows.count; i++) {
            if (!ts_fleet_key_of_bytes(sweep->rows.rows[i].key, &key) || !del(sweep, sweep->home, &key))
                return false;
        }
        const bool is_end = sweep->rows.count < PAGES_AT_ONCE;
        if ((is_end && !del(sweep, sweep->home, &mark)) || !flush(sweep, sweep->home, &refused))
            return false;
        if (refused)
            return keep(sweep);
        sweep->swept.marks += is_end;
        if (is_end)
            return true;
        ts_fleet_range_skip(&range, &key);
    }
}

/* Sweeps pages of hits. A flip of a later run relies only on the pages of that run. Such a flip changes the
 * target's version, so the check of this version here fails. */
static bool sweep_hits(struct sweep *sweep) {
    struct ts_fleet_target target;
    uint64_t version;
    bool is_over;
    /* Until the shard is done, its next owner uses these pages and may write more pages. */
    if (!find_out(sweep, true, &is_over))
        return false;
    if (!is_over)
        return keep(sweep);
    if (!read_target(sweep, &target, &version))
        return false;
    const bool has_these_rules =
        version != 0 && memcmp(&target.rules, &sweep->waste.rules, sizeof target.rules) == 0;
    if (has_these_rules && target.attempt.run == sweep->key.attempt.run)
        return del_mark(sweep);
    if (has_these_rules || version == 0)
        return sweep_hits_of_lease(sweep);
    const struct ts_fleet_key target_key = ts_fleet_key_target(&sweep->tenant, &sweep->key.target);
    struct ts_fleet_range range = ts_fleet_range_hits(&sweep->key.target, &sweep->waste.rules);
    bool is_left = false;
    for (bool is_end = false; !is_end;) {
        if (!scan(sweep, sweep->home, &range, PAGES_AT_ONCE, &sweep->rows) ||
            !durable__batch_check(&sweep->batches[sweep->home], &target_key, version))
            return false;
        is_end = sweep->rows.count < PAGES_AT_ONCE;
        for (size_t i = 0; i < sweep->rows.count; i++) {
            struct ts_fleet_key key;
            struct ts_fleet_hits_key hits;
            if (!ts_fleet_key_of_bytes(sweep->rows.rows[i].key, &key))
                return false;
            ts_fleet_range_skip(&range, &key);
            if (!ts_fleet_key_is_hits(sweep->rows.rows[i].key, &hits) ||
                (hits.lease.run >= target.run_number && hits.lease.run != sweep->key.attempt.run))
                is_left = true;
            else if (!del(sweep, sweep->home, &key))
                return false;
        }
        bool refused = false;
        if (!flush(sweep, sweep->home, &refused))
            return false;
        if (refused)
            return keep(sweep);
    }
    return is_left ? keep(sweep) : del_mark(sweep);
}

/* ---- marks ---- */

static bool sweep_mark(struct sweep *sweep, const struct ts_row *row) {
    const enum ts_fleet_error error = ts_fleet_waste_decode(row->value, &sweep->waste);
    sweep->mark_version = row->version;
    if (!ts_fleet_key_is_waste(row->key, &sweep->key) || error != TS_FLEET_OK)
        return keep(sweep);
    if (!ts_tenant_id_equal(&sweep->waste.tenant, &sweep->tenant))
        return true;
    switch (sweep->key.waste) {
    case TS_WASTE_STAGED:
    case TS_WASTE_OLD:
        return sweep_attempt(sweep);
    case TS_WASTE_KNOWN:
        return sweep_known(sweep);
    case TS_WASTE_HITS:
        return sweep_hits(sweep);
    }
    return true;
}

static bool sweep_range(struct sweep *sweep, uint32_t place, struct ts_fleet_range range) {
    sweep->home = place;
    for (;;) {
        if (!scan(sweep, place, &range, MARKS_AT_ONCE, &sweep->marks))
            return false;
        for (size_t i = 0; i < sweep->marks.count; i++) {
            if (!sweep_mark(sweep, &sweep->marks.rows[i]))
                return false;
        }
        struct ts_fleet_key last;
        if (sweep->marks.count < MARKS_AT_ONCE ||
            !ts_fleet_key_of_bytes(sweep->marks.rows[sweep->marks.count - 1].key, &last))
            return true;
        ts_fleet_range_skip(&range, &last);
    }
}

/* If target is NULL, sweeps all targets. */
static bool sweep_for(struct sweep sweep, const struct ts_target_id *target,
                      struct ts_durable_swept *ret_swept) {
    struct ts_coord *coord = sweep.coord;
    const uint32_t places = ts_coord_place_count(coord);
    sweep.batches = calloc(places, sizeof *sweep.batches);
    if (sweep.batches == NULL)
        return fail(&sweep, TS_INFRA_RETRYABLE, "out of memory");
    bool done = true;
    if (target != NULL)
        done = sweep_range(&sweep, ts_coord_target_home(ts_coord_router(coord), target->bytes).v,
                           ts_fleet_range_waste_of(target));
    for (uint32_t place = 0; target == NULL && done && place < places; place++)
        done = sweep_range(&sweep, place, ts_fleet_range_waste());
    for (uint32_t place = 0; place < places; place++)
        durable__batch_release(&sweep.batches[place]);
    free(sweep.batches);
    ts_rows_release(&sweep.marks);
    ts_rows_release(&sweep.rows);
    *ret_swept = sweep.swept;
    return done;
}

bool ts_durable_sweep(struct ts_coord *coord, const struct ts_tenant_id *tenant, struct ts_durable_stop stop,
                      struct ts_durable_swept *ret_swept, struct ts_infra_error *ret_error) {
    return sweep_for((struct sweep){.coord = coord, .tenant = *tenant, .error = ret_error, .stop = stop},
                     NULL, ret_swept);
}

bool ts_durable_tidy(struct ts_durable *durable, struct ts_durable_swept *ret_swept,
                     struct ts_infra_error *ret_error) {
    *ret_swept = (struct ts_durable_swept){0};
    if (!durable->has_waste)
        return true;
    struct sweep sweep = {.coord = durable->options.coord,
                          .tenant = durable->options.tenant,
                          .error = ret_error,
                          .stop = durable->options.stop};
    if (!durable->is_unsure)
        sweep.sure = durable__attempt(durable, 0);
    return sweep_for(sweep, &durable->id, ret_swept);
}
