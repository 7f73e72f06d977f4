/* A unit's access to the stores: reading its records, reading the results of earlier scans, and classifying
 * answers. */
#include "runtime/durable/durable.h"

#include "durable_impl.h"
#include "os/grow.h"
#include "runtime/core/plant.h"

#include <stdlib.h>

/* Pages have up to 1 MiB, so a call that reads more than PAGES_AT_ONCE pages might exceed its time limit. */
enum { PAGES_AT_ONCE = 16, MARKS_AT_ONCE = 256 };

struct ts_durable *ts_durable_new(const struct ts_durable_options *options) {
    struct ts_durable *durable = calloc(1, sizeof *durable);
    if (durable == NULL)
        return NULL;
    durable->options = *options;
    durable->frontier = ts_frontier_new();
    durable->page = malloc(TS_FLEET_PAGE_MAX);
    durable->unit_receipt = durable__unit_receipt_new();
    if (durable->frontier == NULL || durable->page == NULL || durable->unit_receipt == NULL) {
        ts_durable_free(durable);
        return NULL;
    }
    return durable;
}

void ts_durable_free(struct ts_durable *durable) {
    if (durable == NULL)
        return;
    ts_frontier_free(durable->frontier);
    ts_rows_release(&durable->rows);
    durable__batch_release(&durable->pending);
    free(durable->item);
    free(durable->unit_receipt);
    free(durable->checkpoint_receipt);
    free(durable->page);
    free(durable);
}

void ts_durable_begin(struct ts_durable *durable, const struct ts_durable_run *run) {
    const struct ts_lease *lease = ts_coord_session_lease(durable->options.session);
    const struct ts_shard_record *record = ts_coord_session_record(durable->options.session);
    ts_assert(lease != NULL);
    durable->lease = *lease;
    durable->has_shape = record != NULL && ts_coord_target_of_range(record->spec.range, durable->id.bytes);
    durable->run = *run;
    durable->home = ts_coord_target_home(ts_coord_router(durable->options.coord), durable->id.bytes).v;
    durable->unit = (struct ts_fleet_unit){0};
    durable->has_target = false;
    durable->target = (struct ts_fleet_target){0};
    durable->version = durable->now_ms = durable->time_ms = 0;
    durable->limit_ms = durable__limit_ms(&ts_coord_session_guard(durable->options.session)->config);
    durable->known_pages = durable->hits_pages = durable->parts = 0;
    durable->has_known_mark = durable->has_hits_mark = durable->is_unsure = false;
    durable->is_staged = durable->has_staged = durable->has_staged_mark = false;
    /* Rows of an earlier lease of this shard may still exist. */
    durable->has_waste = ts_lease_fence(lease).v > TS_FENCE_INITIAL.v;
    durable__batch_clear(&durable->pending);
    ts_frontier_clear(durable->frontier);
}

struct ts_attempt durable__attempt(const struct ts_durable *durable, uint32_t n) {
    return (struct ts_attempt){.run = durable->run.number,
                               .shard = ts_lease_shard(&durable->lease).shard.v,
                               .fence = ts_lease_fence(&durable->lease).v,
                               .n = n};
}

struct ts_attempt durable__staged_attempt(const struct ts_durable *durable, uint32_t n) {
    if (runtime__is_planted(TS_FLEET_PLANT_SHAREDSTAGE))
        return (struct ts_attempt){.run = durable->version + 1};
    if (runtime__is_planted(TS_FLEET_PLANT_APPEND))
        return (struct ts_attempt){.run = 1};
    return durable__attempt(durable, n);
}

/* ---- the meaning of answers ---- */

enum ts_durable_end durable__failed(enum ts_unit_reason reason, struct ts_durable_detail *ret_detail) {
    ret_detail->error = ts_unit_error_of(reason);
    return TS_DURABLE_FAILED;
}

static enum ts_durable_end own_fault(enum ts_fleet_worker_fault_kind kind,
                                     struct ts_durable_detail *ret_detail) {
    ret_detail->fault = (struct ts_fleet_worker_fault){.kind = kind};
    return TS_DURABLE_OWN_FAULT;
}

enum ts_durable_end durable__no_memory(struct ts_durable_detail *ret_detail) {
    return own_fault(TS_FLEET_WORKER_FAULT_NO_MEMORY, ret_detail);
}

enum ts_durable_end durable__refused_by(enum ts_store_result result, struct ts_durable_detail *ret_detail) {
    if (result == TS_STORE_FULL)
        return durable__failed(TS_UNIT_STORE_FULL, ret_detail);
    if (result == TS_STORE_DAMAGED)
        return durable__failed(TS_UNIT_DAMAGED_RECORD, ret_detail);
    switch (ts_store_result_meaning(result)->fault) {
    case TS_STORE_FAULT_NONE:
    case TS_STORE_FAULT_STATE:
    case TS_STORE_FAULT_LOAD:
        return durable__failed(TS_UNIT_STORE_BUSY, ret_detail);
    case TS_STORE_FAULT_CALLER:
    case TS_STORE_FAULT_SETUP:
        return own_fault(TS_FLEET_WORKER_FAULT_STORE_REFUSED, ret_detail);
    case TS_STORE_FAULT_STORE:
    case TS_STORE_FAULT_UNKNOWN:
        break;
    }
    return durable__failed(TS_UNIT_STORE_UNAVAILABLE, ret_detail);
}

static enum ts_durable_end backend(const struct ts_coord_detail *detail,
                                   struct ts_durable_detail *ret_detail) {
    switch (detail->infra.kind) {
    case TS_INFRA_UNKNOWN:
        return TS_DURABLE_UNKNOWN;
    case TS_INFRA_DAMAGED:
        return durable__failed(TS_UNIT_DAMAGED_RECORD, ret_detail);
    case TS_INFRA_PERMANENT:
        return own_fault(TS_FLEET_WORKER_FAULT_STORE_REFUSED, ret_detail);
    case TS_INFRA_RETRYABLE:
        break;
    }
    return durable__failed(TS_UNIT_STORE_UNAVAILABLE, ret_detail);
}

enum ts_unit_reason ts_durable_reason_of_loss(enum ts_error_variant error) {
    if (error == TS_VARIANT_LEASE_EXPIRED)
        return TS_UNIT_LEASE_EXPIRED;
    if (error == TS_VARIANT_SHARD_TERMINAL)
        return TS_UNIT_SHARD_ENDED;
    return error == TS_VARIANT_SHARD_NOT_FOUND ? TS_UNIT_RUN_ENDED : TS_UNIT_FENCE_STALE;
}

enum ts_durable_end durable__lost(enum ts_error_variant error, const struct ts_coord_detail *detail,
                                  struct ts_durable_detail *ret_detail) {
    if (error == TS_VARIANT_BACKEND_ERROR)
        return backend(detail, ret_detail);
    if (error == TS_VARIANT_RESOURCE_EXHAUSTED)
        return durable__failed(TS_UNIT_STORE_FULL, ret_detail);
    return durable__failed(ts_durable_reason_of_loss(error), ret_detail);
}

/* ---- calls ---- */

static enum ts_durable_end call(struct ts_durable *durable, uint32_t place, const struct ts_call *wanted,
                                struct ts_durable_detail *ret_detail) {
    struct ts_coord_call one = {.place = place, .call = *wanted};
    struct ts_infra_error error;
    one.call.rows = &durable->rows;
    const enum ts_store_result result = ts_coord_read(durable->options.coord, &one, 1, &error);
    if (result != TS_STORE_OK)
        return durable__refused_by(result, ret_detail);
    durable->time_ms = one.call.time_ms;
    if (place == durable->home)
        durable->now_ms = durable->time_ms;
    return TS_DURABLE_OK;
}

enum ts_durable_end durable__read_keys(struct ts_durable *durable, uint32_t place,
                                       const struct ts_bytes *keys, size_t count,
                                       struct ts_durable_detail *ret_detail) {
    const struct ts_call wanted = {.kind = TS_CALL_READ, .keys = keys, .key_count = count};
    return call(durable, place, &wanted, ret_detail);
}

enum ts_durable_end durable__scan(struct ts_durable *durable, uint32_t place,
                                  const struct ts_fleet_range *range, size_t limit,
                                  struct ts_durable_detail *ret_detail) {
    const struct ts_call wanted = {.kind = TS_CALL_SCAN,
                                   .from = ts_fleet_key_bytes(&range->from),
                                   .to = ts_fleet_key_bytes(&range->to),
                                   .limit = limit};
    return call(durable, place, &wanted, ret_detail);
}

/* Returns whether a planted mistake omits the lease check from this write: UNCHECKED always omits it,
 * PRECHECK only after a check before the write. */
static bool is_unchecked(struct ts_durable *durable) {
    struct ts_store_error refused;
    struct ts_coord_detail detail;
    if (runtime__is_planted(TS_FLEET_PLANT_PRECHECK))
        return ts_coord_session_lease(durable->options.session) != NULL &&
               ts_coord_session_write(durable->options.session, (struct ts_batch){0}, &refused, &detail) ==
                   TS_WRITE_OK;
    return runtime__is_planted(TS_FLEET_PLANT_UNCHECKED);
}

static enum ts_durable_end write_unchecked(struct ts_durable *durable, const struct durable__batch *batch,
                                           struct ts_durable_detail *ret_detail) {
    struct ts_infra_error error;
    const enum ts_store_result result =
        ts_coord_apply(durable->options.coord, durable->home, durable__batch_of(batch), &error);
    if (result == TS_STORE_OK)
        return TS_DURABLE_OK;
    if (result == TS_STORE_UNKNOWN)
        return TS_DURABLE_UNKNOWN;
    return result == TS_STORE_CHECK_FAILED ? TS_DURABLE_CONFLICT : durable__refused_by(result, ret_detail);
}

enum ts_durable_end durable__write(struct ts_durable *durable, const struct durable__batch *batch,
                                   struct ts_durable_detail *ret_detail) {
    if (is_unchecked(durable))
        return write_unchecked(durable, batch, ret_detail);
    struct ts_store_error refused = {.result = TS_STORE_OK};
    struct ts_coord_detail detail = {0};
    /* An earlier write may have shown that the lease is lost. */
    const bool holds = ts_coord_session_lease(durable->options.session) != NULL;
    const enum ts_write_error error =
        holds ? ts_coord_session_write(durable->options.session, durable__batch_of(batch), &refused, &detail)
              : TS_WRITE_STALE_FENCE;
    if (error != TS_WRITE_OK)
        return durable__lost(ts_write_error_variant(error), &detail, ret_detail);
    if (refused.result == TS_STORE_CHECK_FAILED)
        return TS_DURABLE_CONFLICT;
    return refused.result == TS_STORE_OK ? TS_DURABLE_OK : durable__refused_by(refused.result, ret_detail);
}

enum ts_durable_end durable__write_surely(struct ts_durable *durable, const struct durable__batch *batch,
                                          struct ts_durable_detail *ret_detail) {
    for (int tries = 0; tries < DURABLE__TRIES; tries++) {
        const enum ts_durable_end end = durable__write(durable, batch, ret_detail);
        ts_assert(end != TS_DURABLE_CONFLICT);
        if (end != TS_DURABLE_UNKNOWN)
            return end;
    }
    return durable__failed(TS_UNIT_STORE_UNAVAILABLE, ret_detail);
}

enum ts_store_result durable__apply_surely(struct ts_durable *durable, uint32_t place,
                                           const struct durable__batch *batch) {
    enum ts_store_result result = TS_STORE_UNKNOWN;
    for (int tries = 0; tries < DURABLE__TRIES && result == TS_STORE_UNKNOWN; tries++) {
        struct ts_infra_error error;
        result = ts_coord_apply(durable->options.coord, place, durable__batch_of(batch), &error);
        durable->is_unsure = durable->is_unsure || result == TS_STORE_UNKNOWN;
    }
    return result;
}

uint64_t durable__limit_ms(const struct ts_run_config *config) {
    return config->lease_duration_ms < TS_DURABLE_FOREIGN_MS ? config->lease_duration_ms
                                                             : TS_DURABLE_FOREIGN_MS;
}

struct ts_fleet_waste durable__waste_of(const struct ts_durable *durable) {
    return (struct ts_fleet_waste){.tenant = durable->options.tenant,
                                   .run = ts_lease_shard(&durable->lease).run.v,
                                   .rules = durable->run.rules};
}

bool durable__put_mark(struct durable__batch *batch, const struct ts_durable *durable,
                       const struct ts_attempt *attempt, enum ts_waste waste,
                       const struct ts_fleet_waste *value) {
    uint8_t bytes[TS_FLEET_WASTE_MAX];
    const struct ts_fleet_key key = ts_fleet_key_waste(&durable->id, attempt, waste);
    return durable__batch_put(batch, &key, ts_bytes_of(bytes, ts_fleet_waste_encode(value, bytes)));
}

/* ---- reading ---- */

/* Decodes the two rows of a read: the unit and the target. Returns false if the unit is missing, or if a row
 * is damaged. */
static bool take_rows(struct ts_durable *durable) {
    const struct ts_row *unit = &durable->rows.rows[0], *target = &durable->rows.rows[1];
    if (unit->version == 0 || unit->value.len > sizeof durable->unit_bytes)
        return false;
    memcpy(durable->unit_bytes, unit->value.data, unit->value.len);
    if (ts_fleet_unit_decode(ts_bytes_of(durable->unit_bytes, unit->value.len), &durable->unit) !=
        TS_FLEET_OK)
        return false;
    durable->version = target->version;
    durable->has_target = target->version != 0;
    return !durable->has_target || ts_fleet_target_decode(target->value, &durable->target) == TS_FLEET_OK;
}

enum ts_durable_end ts_durable_read(struct ts_durable *durable, struct ts_durable_unit *ret_unit,
                                    struct ts_durable_detail *ret_detail) {
    if (!durable->has_shape)
        return durable__failed(TS_UNIT_DAMAGED_RECORD, ret_detail);
    uint8_t unit_key[TS_COORD_UNIT_KEY_LEN];
    ts_coord_unit_key(ts_lease_shard(&durable->lease).run, durable->id.bytes, unit_key);
    const struct ts_fleet_key target_key = ts_fleet_key_target(&durable->options.tenant, &durable->id);
    const struct ts_bytes keys[2] = {ts_bytes_of(unit_key, sizeof unit_key), ts_fleet_key_bytes(&target_key)};
    const enum ts_durable_end end = durable__read_keys(durable, durable->home, keys, 2, ret_detail);
    if (end != TS_DURABLE_OK)
        return end;
    durable->is_staged = durable->has_doubtful_hits = false;
    if (!take_rows(durable))
        return durable__failed(TS_UNIT_DAMAGED_RECORD, ret_detail);
    *ret_unit = (struct ts_durable_unit){.id = durable->id,
                                         .unit = durable->unit,
                                         .has_target = durable->has_target,
                                         .target = durable->target};
    return TS_DURABLE_OK;
}

/* ---- recall ---- */

struct recall {
    struct ts_durable *durable;
    struct ts_attempt *marked; /* leases of other runs whose pages of hits have a mark */
    size_t marked_count, marked_capacity;
    bool (*visit)(void *context, enum ts_durable_recall what, struct ts_bytes bytes);
    void *context;
    enum ts_durable_recall what;
    bool is_enough;
    bool no_memory;
};

static bool are_same(const struct ts_fleet_rules *a, const struct ts_fleet_rules *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static void hand_over(struct recall *recall, enum ts_durable_recall what, struct ts_bytes bytes) {
    recall->is_enough = !recall->visit(recall->context, what, bytes);
}

static bool is_marked(const struct recall *recall, const struct ts_attempt *lease) {
    for (size_t i = 0; i < recall->marked_count; i++) {
        const struct ts_attempt *marked = &recall->marked[i];
        if (marked->run == lease->run && marked->shard == lease->shard && marked->fence == lease->fence)
            return true;
    }
    return false;
}

/* Takes a page of hits, or ignores it. Pages that neither the target's record nor this run needs are ignored,
 * because a sweep may remove them at any time. Pages of another run with this run's rules and judging are
 * also ignored if they have a mark, because that run may never have flipped the target. */
static void visit_hits(struct recall *recall, const struct ts_row *row) {
    struct ts_durable *durable = recall->durable;
    struct ts_fleet_hits_key key;
    if (!ts_fleet_key_is_hits(row->key, &key))
        return;
    const bool is_of_target = durable->has_target && are_same(&key.rules, &durable->target.rules);
    if (are_same(&key.rules, &durable->run.rules)) {
        const bool is_own = key.lease.run == durable->run.number;
        if (is_own || (is_of_target && !is_marked(recall, &key.lease)))
            hand_over(recall, TS_DURABLE_HITS, row->value);
        else
            durable->has_doubtful_hits = durable->has_doubtful_hits || is_of_target;
    } else if (is_of_target) {
        hand_over(recall, TS_DURABLE_OTHER_HITS, row->value);
    }
}

static void visit_tips(struct recall *recall, const struct ts_row *row) {
    const struct ts_durable *durable = recall->durable;
    const struct ts_fleet_key summary = ts_fleet_key_summary(&durable->id, &durable->target.attempt, 0);
    struct ts_fleet_tips tips;
    if (ts_bytes_equal(row->key, ts_fleet_key_bytes(&summary)))
        return;
    if (ts_fleet_tips_decode(row->value, &tips) == TS_FLEET_OK) {
        hand_over(recall, tips.is_again ? TS_DURABLE_AGAIN : TS_DURABLE_TIPS, tips.oids);
        return;
    }
    /* This page cannot be read, and may list an id that must be read again. So the other pages are not
     * enough. */
    hand_over(recall, TS_DURABLE_NO_TIPS, ts_bytes_of(NULL, 0));
    recall->is_enough = true;
}

static void visit_row(struct recall *recall, const struct ts_row *row) {
    switch (recall->what) {
    case TS_DURABLE_KNOWN:
        hand_over(recall, TS_DURABLE_KNOWN, row->value);
        return;
    case TS_DURABLE_HITS:
    case TS_DURABLE_OTHER_HITS:
        visit_hits(recall, row);
        return;
    case TS_DURABLE_TIPS:
    case TS_DURABLE_AGAIN:
    case TS_DURABLE_NO_TIPS:
        visit_tips(recall, row);
        return;
    }
}

static struct ts_fleet_range range_of(const struct ts_durable *durable, enum ts_durable_recall what) {
    switch (what) {
    case TS_DURABLE_KNOWN:
        return runtime__is_planted(TS_FLEET_PLANT_UNKEYED)
                   ? ts_fleet_range_all_known(&durable->id)
                   : ts_fleet_range_known(&durable->id, &durable->run.rules);
    case TS_DURABLE_HITS:
    case TS_DURABLE_OTHER_HITS:
        return ts_fleet_range_all_hits(&durable->id, &durable->run.rules);
    case TS_DURABLE_TIPS:
    case TS_DURABLE_AGAIN:
    case TS_DURABLE_NO_TIPS:
        break;
    }
    return ts_fleet_range_summary(&durable->id, &durable->target.attempt);
}

/* Whether the tips can be used. Tips are a watermark only for the rules that have scanned everything the tips
 * reach. Other rules may find something there. */
static bool has_tips(const struct ts_durable *durable) {
    return durable->has_target && !durable->target.has_faults &&
           memcmp(durable->target.rules.rules, durable->run.rules.rules, sizeof durable->run.rules.rules) ==
               0;
}

/* Reads a range, a few rows at a time, until `take` says that it is enough. */
static enum ts_durable_end read_range(struct recall *recall, struct ts_fleet_range range, size_t at_once,
                                      void (*take)(struct recall *recall, const struct ts_row *row),
                                      struct ts_durable_detail *ret_detail) {
    struct ts_durable *durable = recall->durable;
    for (;;) {
        if (durable__must_stop(durable->options.stop))
            return TS_DURABLE_STOPPED;
        const enum ts_durable_end end = durable__scan(durable, durable->home, &range, at_once, ret_detail);
        if (end != TS_DURABLE_OK)
            return end;
        for (size_t i = 0; i < durable->rows.count && !recall->is_enough; i++)
            take(recall, &durable->rows.rows[i]);
        struct ts_fleet_key last;
        if (recall->is_enough || durable->rows.count < at_once ||
            !ts_fleet_key_of_bytes(durable->rows.rows[durable->rows.count - 1].key, &last))
            return TS_DURABLE_OK;
        ts_fleet_range_skip(&range, &last);
    }
}

static void take_mark(struct recall *recall, const struct ts_row *row) {
    struct ts_fleet_waste_key key;
    if (!ts_fleet_key_is_waste(row->key, &key) || key.waste != TS_WASTE_HITS ||
        key.attempt.run == recall->durable->run.number)
        return;
    recall->no_memory = !TS_GROW(recall->marked, recall->marked_capacity, recall->marked_count + 1);
    if (!recall->no_memory)
        recall->marked[recall->marked_count++] = key.attempt;
    recall->is_enough = recall->no_memory;
}

/* Reads the marks before the pages: a mark that is added later belongs to pages that no sweep has seen
 * yet. */
static enum ts_durable_end read_marks(struct recall *recall, struct ts_durable_detail *ret_detail) {
    struct ts_durable *durable = recall->durable;
    durable->has_doubtful_hits = false;
    if (!durable->has_target)
        return TS_DURABLE_OK;
    const enum ts_durable_end end =
        read_range(recall, ts_fleet_range_waste_of(&durable->id), MARKS_AT_ONCE, take_mark, ret_detail);
    return recall->no_memory ? durable__no_memory(ret_detail) : end;
}

enum ts_durable_end ts_durable_recall(struct ts_durable *durable, enum ts_durable_recall what,
                                      bool (*visit)(void *context, enum ts_durable_recall what,
                                                    struct ts_bytes bytes),
                                      void *context, struct ts_durable_detail *ret_detail) {
    struct recall recall = {.durable = durable, .what = what, .visit = visit, .context = context};
    enum ts_durable_end end = TS_DURABLE_OK;
    if (what == TS_DURABLE_TIPS && !has_tips(durable))
        return TS_DURABLE_OK;
    if (what == TS_DURABLE_TIPS && durable->has_doubtful_hits) {
        hand_over(&recall, TS_DURABLE_NO_TIPS, ts_bytes_of(NULL, 0));
        return TS_DURABLE_OK;
    }
    if (what == TS_DURABLE_HITS)
        end = read_marks(&recall, ret_detail);
    if (end == TS_DURABLE_OK)
        end = read_range(&recall, range_of(durable, what), PAGES_AT_ONCE, visit_row, ret_detail);
    free(recall.marked);
    return end;
}
