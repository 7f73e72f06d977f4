/*
 * Stage writes the rows of a complete scan under an attempt that is not visible yet.
 *
 *     1  pages of occurrences, summary, tips, hits     home, under the lease
 *     2  seen in, finding                              the stores of the findings
 *     3  the target's record, its change, marks        home, by flip
 *
 * Rows that fit into the flip's batch wait for the flip. Pages are durable before the rows of step 2. So a
 * sweep that removes an attempt finds in its pages which rows exist. Every batch before the flip has the
 * attempt's waste mark.
 *
 * The batches of step 2 do not check the lease, because other stores do not have it. So such a batch may
 * arrive late. Each batch therefore has a deadline t by the clock of its own store: the store's time, as it
 * was read, plus a limit. A write under the lease followed that read, so the lease was still held at the time
 * of the read. A sweep that begins after the end of the lease reads the store's time, and removes rows one
 * limit later (sweep.c).
 *
 * A batch that arrives after its deadline is not applied. Then the store's time is read again, the mark is
 * written again under the lease, and the batch is sent with a later deadline. So a unit may have any number
 * of findings.
 */
#include "change.h"
#include "runtime/core/fleet_notice.h"
#include "runtime/core/plant.h"

#include <stdlib.h>

enum { KEYS_AT_ONCE = 500 };

struct staging {
    struct ts_durable *durable;
    const struct ts_durable_scan *scan;
    struct ts_attempt attempt;
    struct durable__order order;
    uint32_t *places;               /* for each finding, in order: the place of its store */
    bool *exists;                   /* for each finding, in order: whether its record exists */
    struct durable__batch *foreign; /* batches for other stores, indexed by place */
    uint64_t *before_ms;            /* for each place: the deadline of its batches; 0: none yet */
    enum ts_durable_end end;        /* how the failed call ended */
    struct ts_durable_detail *detail;
};

static bool fail(struct staging *mine, enum ts_durable_end end) {
    mine->end = end;
    return end == TS_DURABLE_OK;
}

/* ---- home ---- */

/* Returns false if the operation must stop. Called before calls to stores. */
static bool may_continue(struct staging *mine) {
    return !durable__must_stop(mine->durable->options.stop) || fail(mine, TS_DURABLE_STOPPED);
}

static bool flush_home(struct staging *mine) {
    struct ts_durable *durable = mine->durable;
    const struct ts_fleet_waste waste = durable__waste_of(durable);
    const struct ts_attempt lease = durable__attempt(durable, 0);
    if (durable->pending.count == 0)
        return true;
    if (!may_continue(mine))
        return false;
    if (!durable__put_mark(&durable->pending, durable, &mine->attempt, TS_WASTE_STAGED, &waste) ||
        (mine->scan->hits.count > 0 &&
         !durable__put_mark(&durable->pending, durable, &lease, TS_WASTE_HITS, &waste)))
        return fail(mine, durable__no_memory(mine->detail));
    durable->has_staged_mark = durable->has_waste = true;
    durable->has_hits_mark = durable->has_hits_mark || mine->scan->hits.count > 0;
    const enum ts_durable_end end = durable__write_surely(durable, &durable->pending, mine->detail);
    durable__batch_clear(&durable->pending);
    return fail(mine, end);
}

static bool put_home(struct staging *mine, const struct ts_fleet_key *key, struct ts_bytes value) {
    struct durable__batch *pending = &mine->durable->pending;
    if (!durable__batch_has_room(pending, 1, key->len + value.len) && !flush_home(mine))
        return false;
    return durable__batch_put(pending, key, value) || fail(mine, durable__no_memory(mine->detail));
}

static bool put_pages(struct staging *mine) {
    struct ts_durable *durable = mine->durable;
    struct durable__pager pager;
    if (!durable__pager_init(&pager, mine->scan->report, &mine->order))
        return fail(mine, durable__no_memory(mine->detail));
    bool good = true;
    for (uint32_t page = 0; good; page++) {
        const size_t len = durable__pager_next(&pager, durable->page);
        if (len == 0)
            break;
        const struct ts_fleet_key key = ts_fleet_key_occurrences(&durable->id, &mine->attempt, page);
        good = put_home(mine, &key, ts_bytes_of(durable->page, len));
    }
    durable__pager_release(&pager);
    return good;
}

/* Adds the new pages of hits. If the attempt is staged again, these pages keep their numbers. */
static bool put_hits(struct staging *mine) {
    struct ts_durable *durable = mine->durable;
    const struct ts_durable_pages *hits = &mine->scan->hits;
    for (size_t i = 0; i < hits->count; i++) {
        const struct ts_fleet_key key = ts_fleet_key_hits(&durable->id, &durable->run.rules, &mine->attempt,
                                                          durable->staged_hits + (uint32_t)i);
        if (!put_home(mine, &key, hits->pages[i]))
            return false;
    }
    if (durable->hits_pages < durable->staged_hits + hits->count)
        durable->hits_pages = durable->staged_hits + (uint32_t)hits->count;
    return true;
}

static bool put_ids(struct staging *mine, uint32_t *page, bool is_again, struct ts_bytes ids) {
    struct ts_durable *durable = mine->durable;
    const uint8_t oid_len = durable->unit.is_sha256 ? 32 : 20;
    const size_t most = TS_FLEET_TIPS_MAX / oid_len * oid_len;
    while (ids.len > 0) {
        const size_t len = ids.len < most ? ids.len : most;
        const struct ts_fleet_tips tips = {
            .is_again = is_again, .oid_len = oid_len, .oids = ts_bytes_first(ids, len)};
        const struct ts_fleet_key key = ts_fleet_key_summary(&durable->id, &mine->attempt, (*page)++);
        if (!put_home(mine, &key, ts_bytes_of(durable->page, ts_fleet_tips_encode(&tips, durable->page))))
            return false;
        ids = ts_bytes_skip(ids, len);
    }
    return true;
}

static bool put_summary(struct staging *mine) {
    struct ts_durable *durable = mine->durable;
    const struct ts_fleet_key key = ts_fleet_key_summary(&durable->id, &mine->attempt, 0);
    const size_t len = durable__summary(mine->scan->report, &durable->unit, &mine->order, durable->page);
    uint32_t page = 1;
    return put_home(mine, &key, ts_bytes_of(durable->page, len)) &&
           put_ids(mine, &page, false, mine->scan->tips) && put_ids(mine, &page, true, mine->scan->again);
}

/* ---- stores of findings ---- */

/* Finds out which findings already have a record on one store, for at most KEYS_AT_ONCE findings. Moves *at
 * past these findings. */
static bool look_for(struct staging *mine, uint32_t place, size_t *at) {
    struct ts_durable *durable = mine->durable;
    struct ts_fleet_key keys[KEYS_AT_ONCE];
    struct ts_bytes bytes[KEYS_AT_ONCE];
    size_t findings[KEYS_AT_ONCE], count = 0;
    for (; *at < mine->order.count && count < KEYS_AT_ONCE; ++*at) {
        if (mine->places[*at] != place)
            continue;
        const struct ts_fleet_finding finding = durable__finding_of(&mine->order.findings[*at]->id);
        keys[count] = ts_fleet_key_finding(&durable->options.tenant, &finding);
        bytes[count] = ts_fleet_key_bytes(&keys[count]);
        findings[count++] = *at;
    }
    if (count == 0)
        return true;
    if (!may_continue(mine) || !fail(mine, durable__read_keys(durable, place, bytes, count, mine->detail)))
        return false;
    if (mine->before_ms[place] == 0)
        mine->before_ms[place] = durable->time_ms + durable->limit_ms;
    for (size_t i = 0; i < count; i++)
        mine->exists[findings[i]] = durable->rows.rows[i].version != 0;
    return true;
}

static bool look_for_all(struct staging *mine) {
    const uint32_t places = ts_coord_place_count(mine->durable->options.coord);
    for (uint32_t place = 0; place < places; place++) {
        for (size_t at = 0; at < mine->order.count;) {
            if (!look_for(mine, place, &at))
                return false;
        }
    }
    return true;
}

/* Moves the deadline for the batches of a store: reads the store's time, and then makes a write that only the
 * holder of the lease can make. */
static bool renew(struct staging *mine, uint32_t place, struct ts_bytes any_key) {
    struct ts_durable *durable = mine->durable;
    const struct ts_fleet_waste waste = durable__waste_of(durable);
    struct durable__batch mark = {0};
    if (!fail(mine, durable__read_keys(durable, place, &any_key, 1, mine->detail)))
        return false;
    const uint64_t before_ms = durable->time_ms + durable->limit_ms;
    const enum ts_durable_end end = durable__put_mark(&mark, durable, &mine->attempt, TS_WASTE_STAGED, &waste)
                                        ? durable__write_surely(durable, &mark, mine->detail)
                                        : durable__no_memory(mine->detail);
    durable__batch_release(&mark);
    mine->before_ms[place] = before_ms;
    return fail(mine, end);
}

/* Applies a batch whose last operation is its deadline. */
static bool apply_in_time(struct staging *mine, uint32_t place, struct durable__batch *batch) {
    for (int tries = 1;; tries++) {
        if (!may_continue(mine))
            return false;
        batch->ops[batch->count - 1].time_ms = mine->before_ms[place];
        const enum ts_store_result result = durable__apply_surely(mine->durable, place, batch);
        if (result == TS_STORE_OK)
            return true;
        if (result != TS_STORE_LATE || tries == DURABLE__TRIES)
            return fail(mine, durable__refused_by(result, mine->detail));
        if (!renew(mine, place, batch->ops[0].key))
            return false;
    }
}

static bool flush_foreign(struct staging *mine, uint32_t place) {
    struct durable__batch *batch = &mine->foreign[place];
    if (batch->count == 0)
        return true;
    if (!durable__batch_before(batch, mine->before_ms[place]))
        return fail(mine, durable__no_memory(mine->detail));
    const bool done = apply_in_time(mine, place, batch);
    durable__batch_clear(batch);
    return done;
}

static bool put_row(struct staging *mine, uint32_t place, const struct ts_fleet_key *key,
                    struct ts_bytes value) {
    if (place == mine->durable->home)
        return put_home(mine, key, value);
    struct durable__batch *batch = &mine->foreign[place];
    if (!durable__batch_has_room(batch, 1, key->len + value.len) && !flush_foreign(mine, place))
        return false;
    return durable__batch_put(batch, key, value) || fail(mine, durable__no_memory(mine->detail));
}

static bool put_finding(struct staging *mine, size_t at) {
    const struct ts_durable *durable = mine->durable;
    const struct ts_report_finding *found = mine->order.findings[at];
    const struct ts_fleet_finding finding = durable__finding_of(&found->id);
    uint8_t bytes[TS_FLEET_FINDING_MAX];
    _Static_assert(TS_FLEET_FINDING_MAX >= TS_FLEET_SEEN_MAX, "room for both");
    const struct ts_fleet_seen seen = durable__seen_of(mine->scan->report, found);
    struct ts_fleet_key key =
        ts_fleet_key_seen(&durable->options.tenant, &finding, &durable->id, &mine->attempt);
    if (!put_row(mine, mine->places[at], &key, ts_bytes_of(bytes, ts_fleet_seen_encode(&seen, bytes))))
        return false;
    if (mine->exists[at])
        return true;
    const struct ts_fleet_finding_record record = durable__record_of(found);
    key = ts_fleet_key_finding(&durable->options.tenant, &finding);
    return put_row(mine, mine->places[at], &key, ts_bytes_of(bytes, ts_fleet_finding_encode(&record, bytes)));
}

static bool put_findings(struct staging *mine) {
    bool has_foreign = false;
    for (size_t i = 0; i < mine->order.count; i++) {
        const struct ts_fleet_finding finding = durable__finding_of(&mine->order.findings[i]->id);
        mine->places[i] =
            ts_coord_place_of(mine->durable->options.coord, ts_fleet_route_of_finding(&finding));
        has_foreign = has_foreign || mine->places[i] != mine->durable->home;
    }
    if (!look_for_all(mine) || (has_foreign && !flush_home(mine)))
        return false;
    for (size_t i = 0; i < mine->order.count; i++) {
        if (!put_finding(mine, i))
            return false;
    }
    for (uint32_t place = 0; place < ts_coord_place_count(mine->durable->options.coord); place++) {
        if (!flush_foreign(mine, place))
            return false;
    }
    return true;
}

/* ---- the flip's own operations ---- */

static struct ts_fleet_target target_of(const struct staging *mine) {
    const struct ts_durable *durable = mine->durable;
    struct ts_fleet_target target = {.run_number = durable->run.number,
                                     .run = ts_lease_shard(&durable->lease).run.v,
                                     .rules = durable->run.rules,
                                     .attempt = mine->attempt,
                                     .attempt_run = ts_lease_shard(&durable->lease).run.v,
                                     .findings = mine->order.count,
                                     .objects = mine->scan->objects,
                                     .bytes = mine->scan->report->targets[0].bytes,
                                     .has_faults = mine->scan->with_faults,
                                     .has_hits = mine->scan->has_hits,
                                     .is_unsure = durable->is_unsure,
                                     .scanned_at_ms = durable->now_ms,
                                     .checked_at_ms = durable->now_ms};
    memcpy(target.refs, mine->scan->refs, sizeof target.refs);
    for (size_t i = 0; i < mine->order.count; i++)
        target.occurrences += mine->order.findings[i]->occurrence_count;
    return target;
}

bool durable__put_target(struct ts_durable *durable, const struct ts_fleet_target *target) {
    uint8_t bytes[TS_FLEET_TARGET_MAX];
    const struct ts_fleet_key key = ts_fleet_key_target(&durable->options.tenant, &durable->id);
    const bool is_checked = !runtime__is_planted(TS_FLEET_PLANT_NOCAS);
    durable->next = *target;
    return (!is_checked || durable__batch_check(&durable->pending, &key, durable->version)) &&
           durable__batch_put(&durable->pending, &key,
                              ts_bytes_of(bytes, ts_fleet_target_encode(target, bytes)));
}

/* Removes the attempt's staged mark and its lease's mark of hits. Adds marks for the rows that the attempt
 * replaces. */
static bool put_marks(struct staging *mine) {
    struct ts_durable *durable = mine->durable;
    const struct ts_attempt lease = durable__attempt(durable, 0);
    const struct ts_fleet_key own = ts_fleet_key_waste(&durable->id, &mine->attempt, TS_WASTE_STAGED);
    const struct ts_fleet_key hits = ts_fleet_key_waste(&durable->id, &lease, TS_WASTE_HITS);
    if ((durable->has_staged_mark && !durable__batch_del(&durable->pending, &own)) ||
        (durable->has_hits_mark && !durable__batch_del(&durable->pending, &hits)))
        return false;
    if (!durable->has_target)
        return true;
    const struct ts_fleet_target *old = &durable->target;
    const struct ts_fleet_waste waste = {.tenant = durable->options.tenant,
                                         .run = old->attempt_run,
                                         .rules = old->rules,
                                         .is_sure = !old->is_unsure};
    durable->has_waste = true;
    if (!durable__put_mark(&durable->pending, durable, &old->attempt, TS_WASTE_OLD, &waste))
        return false;
    /* Leases that did not flip may have left pages, even if the record has no hits. */
    const bool has_other_rules = memcmp(&old->rules, &durable->run.rules, sizeof old->rules) != 0;
    return !has_other_rules ||
           durable__put_mark(&durable->pending, durable, &old->attempt, TS_WASTE_HITS, &waste);
}

/* Adds a notice, so that people are notified of findings that came (notices.h). */
static bool put_notice(struct staging *mine, const struct durable__change *change) {
    struct ts_durable *durable = mine->durable;
    const struct ts_fleet_notice_key of = {.run = durable->run.number, .target = durable->id};
    const struct ts_fleet_key key = ts_fleet_key_notice(&durable->options.tenant, &of);
    const struct ts_fleet_notice notice = {.attempt = durable__attempt(durable, durable->staged_n),
                                           .run = ts_lease_shard(&durable->lease).run.v,
                                           .at_ms = durable->now_ms,
                                           .came = change->came_count,
                                           .went = change->went_count,
                                           .address = durable->unit.address,
                                           .selection = durable->unit.selection};
    uint8_t bytes[TS_FLEET_NOTICE_MAX];
    const size_t len = ts_fleet_notice_encode(&notice, bytes);
    return durable__batch_put(&durable->pending, &key, ts_bytes_of(bytes, len)) ||
           fail(mine, durable__no_memory(mine->detail));
}

/* Adds the pages of the change to the flip's own operations, because they must not become durable before the
 * flip. */
static bool put_change(struct staging *mine) {
    struct ts_durable *durable = mine->durable;
    struct durable__change change = {0};
    bool good = fail(mine, durable__change_find(durable, &mine->order, &change, mine->detail));
    const uint32_t pages = good ? durable__change_pages(&change) : 0;
    if (pages > 0 && !durable__batch_has_room(&durable->pending, pages + 1, pages * TS_FLEET_PAGE_MAX))
        good = flush_home(mine);
    for (uint32_t page = 0; good && page < pages; page++) {
        const struct ts_fleet_change_key of = {
            .run = durable->run.number, .target = durable->id, .page = page};
        const struct ts_fleet_key key = ts_fleet_key_change(&durable->options.tenant, &of);
        const size_t len = durable__change_page(&change, page, durable->now_ms, durable->page);
        good = durable__batch_put(&durable->pending, &key, ts_bytes_of(durable->page, len)) ||
               fail(mine, durable__no_memory(mine->detail));
    }
    if (good && change.came_count > 0)
        good = put_notice(mine, &change);
    durable__change_release(&change);
    return good;
}

static bool put_all(struct staging *mine) {
    if (!put_pages(mine) || !put_hits(mine) || !put_summary(mine) || !put_findings(mine) || !put_change(mine))
        return false;
    const struct ts_fleet_target target = target_of(mine);
    if (durable__put_target(mine->durable, &target) && put_marks(mine))
        return true;
    return fail(mine, durable__no_memory(mine->detail));
}

static void begin(struct ts_durable *durable, uint32_t n) {
    const bool is_again = durable->has_staged && durable->staged_n == n;
    durable->is_staged = false;
    durable__batch_clear(&durable->pending);
    if (is_again)
        return;
    durable->has_staged = true;
    durable->staged_n = n;
    durable->has_staged_mark = false;
    durable->staged_hits = durable->hits_pages;
}

enum ts_durable_end ts_durable_stage(struct ts_durable *durable, const struct ts_durable_scan *scan,
                                     struct ts_durable_detail *ret_detail) {
    const uint32_t places = ts_coord_place_count(durable->options.coord);
    struct staging mine = {.durable = durable,
                           .scan = scan,
                           .attempt = durable__staged_attempt(durable, scan->n),
                           .end = TS_DURABLE_OK,
                           .detail = ret_detail};
    begin(durable, scan->n);
    mine.places = calloc(scan->report->finding_count + 1, sizeof *mine.places);
    mine.exists = calloc(scan->report->finding_count + 1, sizeof *mine.exists);
    mine.foreign = calloc(places, sizeof *mine.foreign);
    mine.before_ms = calloc(places, sizeof *mine.before_ms);
    if (mine.places == NULL || mine.exists == NULL || mine.foreign == NULL || mine.before_ms == NULL ||
        !durable__order_init(&mine.order, scan->report))
        mine.end = durable__no_memory(ret_detail);
    else
        durable->is_staged = put_all(&mine);
    for (uint32_t place = 0; mine.foreign != NULL && place < places; place++)
        durable__batch_release(&mine.foreign[place]);
    free(mine.foreign);
    free(mine.before_ms);
    free(mine.places);
    free(mine.exists);
    durable__order_release(&mine.order);
    return mine.end;
}
