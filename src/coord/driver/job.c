/*
 * One operation on one shard, from reading to the answer.
 *
 *     remembered? --no--> READ <--------------------------------------+
 *         | yes             |                                         |
 *         +-----> STEP <----+                                         |
 *                  | refused, from memory only -----------------------+
 *                  | not there: wait for promises, once --------------+
 *                  | refused, or a replay --> answer                  |
 *                  v                                                  |
 *                WRITE -- changed by others, late, reply lost --------+
 *                  | OK
 *                  v
 *                answer, event
 *
 * A batch checks the versions of the record and of the guard, so both are unchanged when the batch is
 * written; for operations under a lease it also checks the deadline. The claim index and the counters follow
 * from the old and the new record, and are written with it.
 */
#include "driver.h"

#include "base/assert.h"
#include "base/endian.h"
#include "base/number.h"

#include <string.h>

enum coord__end coord__decode_guard(const struct ts_row *row, struct ts_run_id run, bool *ret_found,
                                    struct ts_run_guard *ret_guard, struct ts_coord_detail *ret_detail) {
    *ret_found = row->version != 0;
    if (!*ret_found)
        return COORD__END_DONE;
    enum ts_record_error error = ts_run_guard_decode(row->value, ret_guard);
    if (error == TS_RECORD_OK && ret_guard->run.v != run.v)
        error = TS_RECORD_BAD_FIELD;
    return error == TS_RECORD_OK ? COORD__END_DONE : coord__damaged_run(error, "guard", run, ret_detail);
}

enum coord__end coord__decode_run(const struct ts_row *row, struct ts_run_id run, bool *ret_found,
                                  struct ts_run_record *ret_run, struct ts_coord_detail *ret_detail) {
    *ret_found = row->version != 0;
    if (!*ret_found)
        return COORD__END_DONE;
    enum ts_record_error error = ts_run_record_decode(row->value, ret_run);
    if (error == TS_RECORD_OK && ret_run->run.v != run.v)
        error = TS_RECORD_BAD_FIELD;
    return error == TS_RECORD_OK ? COORD__END_DONE : coord__damaged_run(error, "record", run, ret_detail);
}

enum coord__end coord__decode_shard(const struct ts_row *row, struct ts_shard_key shard,
                                    struct ts_shard_record *ret_record, struct ts_coord_detail *ret_detail) {
    enum ts_record_error error = ts_shard_record_decode(row->value, ret_record);
    if (error == TS_RECORD_OK &&
        (ret_record->key.run.v != shard.run.v || ret_record->key.shard.v != shard.shard.v))
        error = TS_RECORD_BAD_FIELD;
    return error == TS_RECORD_OK ? COORD__END_DONE : coord__damaged_shard(error, "record", shard, ret_detail);
}

enum coord__end coord__decode_counter(const struct ts_row *row, uint64_t *ret_value,
                                      struct ts_coord_detail *ret_detail) {
    *ret_value = 0;
    if (row->version == 0 || ts_u64_parse(row->value, ret_value) == TS_NUMBER_OK)
        return COORD__END_DONE;
    char name[COORD__COUNTER_NAME];
    coord__key_counter_name(row->key, name);
    return coord__damaged(TS_RECORD_BAD_FIELD, name, ret_detail);
}

bool coord__find_tenant(struct ts_coord *coord, struct coord__work *work, struct ts_run_id run,
                        struct ts_tenant_id *ret_tenant) {
    const struct coord__key run_key = coord__key_run(run), guard_key = coord__key_guard(run);
    const struct ts_bytes run_keys[] = {coord__key_bytes(&run_key)},
                          guard_keys[] = {coord__key_bytes(&guard_key)};
    const uint32_t places = coord->io.place_count;
    for (uint32_t place = 0; place < places; place++)
        (void)coord__call_read(work, place, place, guard_keys, 1);
    (void)coord__call_read(work, places, 0, run_keys, 1);
    if (coord__read(coord, work, (size_t)places + 1).result != TS_STORE_OK)
        return false;
    struct ts_coord_detail ignored;
    struct ts_run_record record;
    bool found;
    if (coord__decode_run(&work->rows[places].rows[0], run, &found, &record, &ignored) == COORD__END_DONE &&
        found) {
        *ret_tenant = record.tenant;
        return true;
    }
    for (uint32_t place = 0; place < places; place++) {
        struct ts_run_guard guard;
        if (coord__decode_guard(&work->rows[place].rows[0], run, &found, &guard, &ignored) ==
                COORD__END_DONE &&
            found) {
            *ret_tenant = guard.tenant;
            return true;
        }
    }
    return false;
}

static enum coord__end keep_record(struct coord__job *job, const struct ts_row *row) {
    struct coord__seen *seen = job->seen;
    struct ts_row own = *row;
    uint8_t *buffer = seen->buffers[seen->current];
    if (row->value.len > TS_RECORD_MAX)
        return coord__damaged_shard(TS_RECORD_TOO_LARGE, "record", job->shard, &job->detail);
    memcpy(buffer, row->value.data, row->value.len);
    own.value = ts_bytes_of(buffer, row->value.len);
    return coord__decode_shard(&own, job->shard, &seen->record, &job->detail);
}

/* Called when the record or the guard is damaged. If a readable record shows that the caller belongs to
 * another tenant, the caller does not learn of the damage. */
static enum coord__end tell_damage(struct coord__job *job, bool has_guard, bool has_record) {
    struct ts_tenant_id tenant;
    bool known = true;
    if (has_guard)
        tenant = job->seen->guard.tenant;
    else if (has_record)
        tenant = job->seen->record.tenant;
    else
        known = coord__find_tenant(job->coord, job->work, job->shard.run, &tenant);
    if (!known || ts_tenant_id_equal(&tenant, job->tenant))
        return COORD__END_INFRA;
    job->detail = (struct ts_coord_detail){.expected_tenant = *job->tenant};
    return COORD__END_FOREIGN;
}

/* Copies the rows of the read into the session's memory, because the next call overwrites them. */
static enum coord__end keep_seen(struct coord__job *job, const struct ts_rows *rows,
                                 struct ts_logical_time now, uint64_t at_ms) {
    struct coord__seen *seen = job->seen;
    const struct ts_row *row = &rows->rows[0];
    const enum coord__end guard_end =
        coord__decode_guard(&rows->rows[1], job->shard.run, &seen->has_guard, &seen->guard, &job->detail);
    seen->has_record = row->version != 0;
    const enum coord__end record_end = seen->has_record ? keep_record(job, row) : COORD__END_DONE;
    if (guard_end != COORD__END_DONE || record_end != COORD__END_DONE)
        return tell_damage(job, guard_end == COORD__END_DONE && seen->has_guard,
                           record_end == COORD__END_DONE && seen->has_record);
    seen->version = row->version;
    seen->guard_version = rows->rows[1].version;
    seen->now = now;
    seen->at_ms = at_ms;
    seen->known = true;
    return COORD__END_DONE;
}

/* Reads the record and the guard into job->seen. */
static enum coord__end job_read(struct coord__job *job) {
    job->seen->known = false;
    const struct coord__key record = coord__key_shard(job->shard);
    const struct coord__key guard = coord__key_guard(job->shard.run);
    const struct ts_bytes keys[] = {coord__key_bytes(&record), coord__key_bytes(&guard)};
    const struct ts_call *call = coord__call_read(job->work, 0, job->place, keys, 2);
    /* Reads the clock before it sends the request. So estimates of the store's time are never too early, and
     * the remaining time of a lease is never overestimated. */
    const uint64_t at_ms = coord__elapsed_ms(job->coord);
    const struct coord__result result = coord__read(job->coord, job->work, 1);
    if (result.result != TS_STORE_OK)
        return coord__failed(&job->tries, &result, &job->detail);
    return keep_seen(job, &job->work->rows[0], (struct ts_logical_time){call->time_ms}, at_ms);
}

/* Estimates the store's time from its time at the last read. An estimate is enough, because the batch checks
 * the deadline. */
static struct ts_logical_time now_by(const struct coord__job *job) {
    const struct coord__seen *seen = job->seen;
    return (struct ts_logical_time){seen->now.ms + (coord__elapsed_ms(job->coord) - seen->at_ms)};
}

static bool index_key(const struct ts_shard_record *record, struct coord__key *ret_key) {
    switch (ts_shard_record_claim_place(record)) {
    case TS_CLAIM_PLACE_NONE:
        return false;
    case TS_CLAIM_PLACE_FREE:
        *ret_key = coord__key_free(record->key);
        return true;
    case TS_CLAIM_PLACE_LEASED:
        *ret_key = coord__key_leased(record->key, record->holder.deadline);
        return true;
    }
    ts_unreachable("every place is handled");
}

static void plan_index(struct coord__job *job, const struct ts_shard_record *before,
                       const struct ts_shard_record *after) {
    struct coord__plan *plan = &job->work->plan;
    struct coord__key old, new;
    const bool was = index_key(before, &old), is = index_key(after, &new);
    if (was && is && ts_bytes_equal(coord__key_bytes(&old), coord__key_bytes(&new)))
        return;
    if (was)
        coord__plan_del(plan, job->place, &old);
    if (!is)
        return;
    struct ts_bytes value = {0};
    if (after->has_holder) {
        uint8_t *nonce = ts_arena_take(&plan->arena, sizeof job->nonce);
        if (nonce == NULL) {
            plan->failed = true;
            return;
        }
        ts_le64_store(job->nonce, nonce);
        value = ts_bytes_of(nonce, sizeof job->nonce);
    }
    coord__plan_put(plan, job->place, &new, value);
}

/* Plans the step's record in place of the current one. Encodes it into the spare buffer. */
static enum coord__end plan_step(struct coord__job *job, size_t *ret_len) {
    struct coord__plan *plan = &job->work->plan;
    struct coord__seen *seen = job->seen;
    const struct ts_shard_record *after = &job->result.record;
    uint8_t *spare = seen->buffers[1 - seen->current];
    enum ts_record_error error = ts_shard_record_encode(after, spare, ret_len);
    if (error != TS_RECORD_OK)
        return coord__damaged_shard(error, "new record", job->shard, &job->detail);
    coord__plan_clear(plan);
    const struct coord__key record = coord__key_shard(job->shard);
    coord__lease_check_init(&job->work->check, job->place, seen, job->result.before);
    coord__plan_lease_check(plan, &job->work->check);
    coord__plan_put(plan, job->place, &record, ts_bytes_of(spare, *ret_len));
    plan_index(job, &seen->record, after);
    coord__plan_count(plan, job->place, job->shard.shard, &seen->record.status, after->status);
    if (job->extend != NULL)
        job->extend(job);
    coord__plan_counts(plan, job->shard.run);
    return COORD__END_DONE;
}

void coord__plan_new_shard(struct ts_coord *coord, struct coord__work *work,
                           const struct ts_shard_record *record) {
    struct coord__plan *plan = &work->plan;
    const uint32_t place = ts_coord_place_of_shard(coord, record->key.shard);
    uint8_t scratch[TS_RECORD_MAX];
    size_t len;
    /* The step has checked all invariants of a new shard. */
    ts_assert(ts_shard_record_encode(record, scratch, &len) == TS_RECORD_OK);
    uint8_t *kept = ts_arena_take(&plan->arena, len);
    if (kept == NULL) {
        plan->failed = true;
        return;
    }
    memcpy(kept, scratch, len);
    const struct coord__key key = coord__key_shard(record->key), free_key = coord__key_free(record->key);
    coord__plan_check(plan, place, &key, 0);
    coord__plan_put(plan, place, &key, ts_bytes_of(kept, len));
    coord__plan_put(plan, place, &free_key, (struct ts_bytes){0});
    coord__plan_count(plan, place, record->key.shard, NULL, record->status);
}

/* Makes the written record the current one in the session's memory. The record's version is known if a single
 * store returned it. */
static void remember_written(struct coord__job *job, uint64_t version, size_t len) {
    struct coord__seen *seen = job->seen;
    const unsigned spare = 1 - seen->current;
    ts_assert(ts_shard_record_decode(ts_bytes_of(seen->buffers[spare], len), &seen->record) == TS_RECORD_OK);
    seen->current = spare;
    seen->version = version;
    seen->known = version != 0;
}

/* Returns true if the record is written or the operation has ended; false to read and decide again. */
static bool write_step(struct coord__job *job, enum coord__end *ret_end) {
    size_t len = 0;
    *ret_end = plan_step(job, &len);
    if (*ret_end != COORD__END_DONE)
        return true;
    const struct coord__result result = coord__apply(job->coord, job->work);
    if (result.result == TS_STORE_OK) {
        remember_written(job, result.version, len);
        coord__tell(job->coord, &job->result.event);
        return true;
    }
    job->seen->known = false;
    if (result.result == TS_STORE_UNKNOWN) {
        job->attempted = job->result.event;
        job->has_attempted = true;
        if (job->extend != NULL)
            job->promised_version = job->seen->version;
    }
    return !coord__again(job->coord, &job->tries, &result, ret_end, &job->detail);
}

/* Calls job->recognise, if set, after a try whose reply was lost. If that try wrote the current record, the
 * operation is done. */
static enum coord__end recognise(struct coord__job *job) {
    if (job->recognise == NULL || !job->tries.unknown || !job->seen->has_record || !job->seen->has_guard)
        return COORD__END_DONE;
    return job->recognise(job);
}

/*
 * Returns whether an earlier try may be committed although the record does not show it yet. Then a refusal,
 * for example because of an expired lease, does not mean that nothing was done. If the record has changed
 * since that try, the try has no promise left.
 */
static bool may_be_promised(const struct coord__job *job) {
    return job->promised_version != 0 && job->seen->has_record && job->seen->version == job->promised_version;
}

/*
 * Waits for promises of a missing record; afterwards the record is visible or does not exist. Returns false
 * if the operation has ended. The guard needs no separate wait: it is created with the first records of its
 * store, or before them.
 */
static bool wait_for_record(struct coord__job *job, enum coord__end *ret_end) {
    const struct coord__key missing = coord__key_shard(job->shard);
    job->waited = true;
    return coord__wait_for_promises(job->coord, job->work, job->place, &missing, &job->tries, ret_end,
                                    &job->detail);
}

enum coord__end coord__job_look(struct coord__job *job) {
    enum coord__end end = job_read(job);
    if (end != COORD__END_DONE || job->seen->has_record)
        return end;
    return wait_for_record(job, &end) ? job_read(job) : end;
}

/* Returns the result that stands for a transaction that only other stores show so far. */
static struct coord__result half_seen(enum coord__ahead ahead) {
    if (ahead == COORD__AHEAD_SAME)
        return (struct coord__result){
            .result = TS_STORE_UNKNOWN, .again = true, .text = "the operation is being committed; repeat it"};
    return (struct coord__result){
        .result = TS_STORE_LOCK_CONFLICT, .again = true, .text = "the run is being made; try again"};
}

/* Returns whether the session's memory can be used. Returns false if the session remembers another shard. */
static bool remembers(const struct coord__job *job) {
    const struct coord__seen *seen = job->seen;
    return job->may_remember && seen->known && seen->has_record && seen->has_guard &&
           seen->record.key.run.v == job->shard.run.v && seen->record.key.shard.v == job->shard.shard.v;
}

static enum coord__end run_rounds(struct coord__job *job) {
    struct coord__seen *seen = job->seen;
    bool remembered = remembers(job);
    for (;;) {
        enum coord__end end = remembered ? COORD__END_DONE : job_read(job);
        if (end == COORD__END_DONE)
            end = recognise(job);
        if (end == COORD__END_DONE && !job->recognised && job->gather != NULL)
            end = job->gather(job);
        if (end == COORD__END_INFRA && job->tries.unknown)
            job->detail.infra.kind = TS_INFRA_UNKNOWN;
        if (end != COORD__END_DONE)
            return end;
        if (job->ahead != COORD__AHEAD_NOT) {
            const struct coord__result half = half_seen(job->ahead);
            job->ahead = COORD__AHEAD_NOT;
            remembered = false;
            if (!coord__again(job->coord, &job->tries, &half, &end, &job->detail))
                return end;
            continue;
        }
        if (job->recognised) {
            coord__tell(job->coord, &job->attempted);
            return COORD__END_DONE;
        }
        job->now = remembered ? now_by(job) : seen->now;
        const struct ts_step_env env = {.guard = seen->has_guard ? &seen->guard : NULL,
                                        .now = job->now,
                                        .record_max = job->coord->options.record_max};
        job->result.write = false;
        job->error = job->step(job, seen->has_record ? &seen->record : NULL, &env);
        const bool ok = job->error == TS_VARIANT_NONE;
        if (job->result.write) {
            remembered = false;
            if (write_step(job, &end))
                return end;
        } else if (!ok && remembered) {
            remembered = false;
        } else if (!ok && !seen->has_record && !job->waited) {
            if (!wait_for_record(job, &end))
                return end;
        } else if (!ok && may_be_promised(job)) {
            return coord__failed(&job->tries, &(struct coord__result){.result = TS_STORE_UNKNOWN},
                                 &job->detail);
        } else {
            if (ok && job->has_attempted)
                coord__tell(job->coord, &job->attempted);
            return COORD__END_DONE;
        }
    }
}

static struct ts_coord_outcome outcome_of(const struct coord__job *job) {
    return (struct ts_coord_outcome){.outcome = job->result.outcome,
                                     .result = job->result.result,
                                     .after_unknown =
                                         job->result.outcome == TS_OUTCOME_REPLAYED && job->has_attempted,
                                     .at = job->now};
}

/* Fills in the detail of an operation whose batch was too late, as ts_validate_lease does for
 * LeaseExpired. */
static void fill_late(struct coord__job *job) {
    job->detail.deadline = job->result.before;
    job->detail.now = job->now.ms >= job->result.before.ms ? job->now : job->result.before;
}

enum ts_error_variant coord__end_variant(enum coord__end end) {
    switch (end) {
    case COORD__END_DONE:
        return TS_VARIANT_NONE;
    case COORD__END_LATE:
        return TS_VARIANT_LEASE_EXPIRED;
    case COORD__END_EXHAUSTED:
        return TS_VARIANT_RESOURCE_EXHAUSTED;
    case COORD__END_INFRA:
        return TS_VARIANT_BACKEND_ERROR;
    case COORD__END_FOREIGN:
        return TS_VARIANT_TENANT_MISMATCH;
    }
    ts_unreachable("every end has a name");
}

struct coord__job coord__job_of(struct ts_coord *coord, struct coord__seen *seen,
                                const struct ts_tenant_id *tenant, struct ts_shard_key shard) {
    return (struct coord__job){.coord = coord,
                               .seen = seen,
                               .tenant = tenant,
                               .shard = shard,
                               .place = ts_coord_place_of_shard(coord, shard.shard)};
}

struct coord__job coord__job_by(struct ts_coord *coord, struct coord__seen *seen,
                                const struct ts_lease_op *by) {
    struct coord__job job = coord__job_of(coord, seen, &by->tenant, ts_lease_shard(&by->lease));
    job.lease = &by->lease;
    return job;
}

enum ts_error_variant coord__job_run(struct coord__job *job, struct ts_coord_outcome *ret_outcome,
                                     struct ts_coord_detail *ret_detail) {
    job->work = coord__work_take(job->coord);
    if (job->work == NULL)
        return coord__end_variant(coord__no_memory(ret_detail));
    if (job->seen == NULL)
        job->seen = &job->work->seen;
    const enum coord__end end = run_rounds(job);
    if (end != COORD__END_DONE)
        job->error = coord__end_variant(end);
    if (end == COORD__END_LATE)
        fill_late(job);
    coord__work_give(job->coord, job->work);
    struct ts_event event;
    if (job->error == TS_VARIANT_NONE) {
        if (ret_outcome != NULL)
            *ret_outcome = outcome_of(job);
        return TS_VARIANT_NONE;
    }
    *ret_detail = job->detail;
    if (job->lease != NULL && ts_event_of_lost_lease(job->lease, job->error, job->now, &event))
        coord__tell(job->coord, &event);
    return job->error;
}
