/* The operations on one shard that stay on one store. */
#include "driver.h"

#include "base/assert.h"
#include "base/endian.h"

static void begin(struct coord__job *job, struct ts_coord *coord, struct coord__work *work,
                  struct coord__seen *seen, const struct ts_tenant_id *tenant, struct ts_shard_key shard) {
    *job = (struct coord__job){.coord = coord,
                               .work = work,
                               .seen = seen != NULL ? seen : &work->seen,
                               .tenant = tenant,
                               .shard = shard,
                               .place = ts_coord_place_of_shard(coord, shard.shard)};
}

/* A session may remember another shard. */
static bool remembers(const struct coord__seen *seen, struct ts_shard_key shard) {
    return seen != NULL && seen->known && seen->has_record && seen->record.key.run.v == shard.run.v &&
           seen->record.key.shard.v == shard.shard.v;
}

/* The lease of an operation whose batch came too late, in the words of the step. */
static void fill_late(struct coord__job *job) {
    job->detail.deadline = job->result.before;
    job->detail.now = job->now.ms >= job->result.before.ms ? job->now : job->result.before;
}

/* ---- acquire ---- */

struct acquire_job {
    struct coord__job job;
    const struct ts_acquire_op *op;
    enum ts_acquire_error error;
    struct ts_lease lease;
};

static bool step_acquire(struct coord__job *job, const struct ts_shard_record *record,
                         const struct ts_step_env *env) {
    struct acquire_job *mine = (struct acquire_job *)job;
    mine->error = ts_acquire_step(record, env, mine->op, &job->result, &mine->lease, &job->detail);
    return mine->error == TS_ACQUIRE_OK;
}

/*
 * There is no op id. The entry of the claim index has a number that was drawn for this acquire, and only that decides:
 * another process may work under the same name, and any of several tries may be the one that came through. The lease
 * is the record's.
 */
static enum coord__end recognise_acquire(struct coord__job *job) {
    struct acquire_job *mine = (struct acquire_job *)job;
    const struct ts_shard_record *record = &job->seen->record;
    if (!record->has_holder || !ts_worker_id_equal(&record->holder.owner, &mine->op->worker) ||
        !ts_tenant_id_equal(&record->tenant, &mine->op->tenant))
        return COORD__END_DONE;
    const struct coord__key key = coord__key_leased(job->shard, record->holder.deadline);
    const struct ts_bytes keys[] = {coord__key_bytes(&key)};
    (void)coord__call_read(job->work, 0, job->place, keys, 1);
    const struct coord__result result = coord__read(job->coord, job->work, 1);
    if (result.result != TS_STORE_OK)
        return coord__failed(&job->tries, &result, &job->detail);
    const struct ts_row *row = &job->work->rows[0].rows[0];
    job->recognised = row->version != 0 && row->value.len == sizeof job->nonce &&
                      ts_le64_load(row->value.data) == job->nonce;
    if (!job->recognised)
        return COORD__END_DONE;
    mine->error = TS_ACQUIRE_OK;
    mine->lease = ts_lease_make(&(struct ts_lease_fields){.tenant = mine->op->tenant,
                                                          .shard = job->shard,
                                                          .owner = mine->op->worker,
                                                          .fence = record->fence,
                                                          .deadline = record->holder.deadline});
    job->attempted.fence = record->fence;
    job->attempted.deadline = record->holder.deadline;
    return COORD__END_DONE;
}

enum ts_acquire_error coord__acquire(struct ts_coord *coord, const struct ts_acquire_op *op,
                                     struct coord__seen *seen, struct ts_lease *ret_lease,
                                     struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    if (work == NULL) {
        (void)coord__no_memory(ret_detail);
        return TS_ACQUIRE_BACKEND_ERROR;
    }
    struct acquire_job mine = {.op = op};
    begin(&mine.job, coord, work, seen, &op->tenant, op->shard);
    mine.job.step = step_acquire;
    mine.job.recognise = recognise_acquire;
    mine.job.nonce = coord__draw(coord);
    const enum coord__end end = coord__job_run(&mine.job, false);
    if (end != COORD__END_DONE)
        mine.error = end == COORD__END_FOREIGN ? TS_ACQUIRE_TENANT_MISMATCH : TS_ACQUIRE_BACKEND_ERROR;
    if (mine.error == TS_ACQUIRE_OK)
        *ret_lease = mine.lease;
    else
        coord__job_tell_error(&mine.job, ts_acquire_error_variant(mine.error), ret_detail);
    coord__work_give(coord, work);
    return mine.error;
}

/* ---- renew ---- */

struct renew_job {
    struct coord__job job;
    const struct ts_renew_op *op;
    enum ts_renew_error error;
    struct ts_lease lease;
};

static bool step_renew(struct coord__job *job, const struct ts_shard_record *record,
                       const struct ts_step_env *env) {
    struct renew_job *mine = (struct renew_job *)job;
    mine->error = ts_renew_step(record, env, mine->op, &job->result, &mine->lease, &job->detail);
    return mine->error == TS_RENEW_OK;
}

/* Reads always: the new deadline counts from the store's time, not from an estimate. */
enum ts_renew_error coord__renew(struct ts_coord *coord, const struct ts_renew_op *op,
                                 struct coord__seen *seen, struct ts_lease *ret_lease,
                                 struct ts_renew_result *ret_result, struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    if (work == NULL) {
        (void)coord__no_memory(ret_detail);
        return TS_RENEW_BACKEND_ERROR;
    }
    struct renew_job mine = {.op = op};
    begin(&mine.job, coord, work, seen, &op->tenant, ts_lease_shard(&op->lease));
    mine.job.step = step_renew;
    mine.job.lease = &op->lease;
    mine.job.nonce = coord__draw(coord);
    switch (coord__job_run(&mine.job, false)) {
    case COORD__END_DONE:
        break;
    case COORD__END_LATE:
        fill_late(&mine.job);
        mine.error = TS_RENEW_LEASE_EXPIRED;
        break;
    case COORD__END_EXHAUSTED:
    case COORD__END_INFRA:
        mine.error = TS_RENEW_BACKEND_ERROR;
        break;
    case COORD__END_FOREIGN:
        mine.error = TS_RENEW_TENANT_MISMATCH;
        break;
    }
    if (mine.error == TS_RENEW_OK) {
        *ret_lease = mine.lease;
        ret_result->new_deadline = ts_lease_deadline(&mine.lease);
        ret_result->capacity = coord__capacity(coord, work, mine.job.shard);
    } else {
        coord__job_tell_error(&mine.job, ts_renew_error_variant(mine.error), ret_detail);
    }
    coord__work_give(coord, work);
    return mine.error;
}

/* ---- checkpoint and complete ---- */

struct cursor_job {
    struct coord__job job;
    const struct ts_cursor_op *op;
    enum ts_checkpoint_error checkpoint;
    enum ts_complete_error complete;
};

static bool step_checkpoint(struct coord__job *job, const struct ts_shard_record *record,
                            const struct ts_step_env *env) {
    struct cursor_job *mine = (struct cursor_job *)job;
    mine->checkpoint = ts_checkpoint_step(record, env, mine->op, &job->result, &job->detail);
    return mine->checkpoint == TS_CHECKPOINT_OK;
}

static bool step_complete(struct coord__job *job, const struct ts_shard_record *record,
                          const struct ts_step_env *env) {
    struct cursor_job *mine = (struct cursor_job *)job;
    mine->complete = ts_complete_step(record, env, mine->op, &job->result, &job->detail);
    return mine->complete == TS_COMPLETE_OK;
}

static void begin_gated(struct coord__job *job, struct ts_coord *coord, struct coord__work *work,
                        struct coord__seen *seen, const struct ts_lease_op *by) {
    begin(job, coord, work, seen, &by->tenant, ts_lease_shard(&by->lease));
    job->lease = &by->lease;
}

enum ts_checkpoint_error coord__checkpoint(struct ts_coord *coord, const struct ts_cursor_op *op,
                                           struct coord__seen *seen, struct ts_coord_outcome *ret_outcome,
                                           struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    if (work == NULL) {
        (void)coord__no_memory(ret_detail);
        return TS_CHECKPOINT_BACKEND_ERROR;
    }
    struct cursor_job mine;
    mine.op = op;
    mine.checkpoint = TS_CHECKPOINT_OK;
    begin_gated(&mine.job, coord, work, seen, &op->by);
    mine.job.step = step_checkpoint;
    switch (coord__job_run(&mine.job, remembers(seen, mine.job.shard))) {
    case COORD__END_DONE:
        break;
    case COORD__END_LATE:
        fill_late(&mine.job);
        mine.checkpoint = TS_CHECKPOINT_LEASE_EXPIRED;
        break;
    case COORD__END_EXHAUSTED:
        mine.checkpoint = TS_CHECKPOINT_RESOURCE_EXHAUSTED;
        break;
    case COORD__END_INFRA:
        mine.checkpoint = TS_CHECKPOINT_BACKEND_ERROR;
        break;
    case COORD__END_FOREIGN:
        mine.checkpoint = TS_CHECKPOINT_TENANT_MISMATCH;
        break;
    }
    if (mine.checkpoint == TS_CHECKPOINT_OK)
        *ret_outcome = coord__job_outcome(&mine.job);
    else
        coord__job_tell_error(&mine.job, ts_checkpoint_error_variant(mine.checkpoint), ret_detail);
    coord__work_give(coord, work);
    return mine.checkpoint;
}

enum ts_complete_error coord__complete(struct ts_coord *coord, const struct ts_cursor_op *op,
                                       struct coord__seen *seen, struct ts_coord_outcome *ret_outcome,
                                       struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    if (work == NULL) {
        (void)coord__no_memory(ret_detail);
        return TS_COMPLETE_BACKEND_ERROR;
    }
    struct cursor_job mine;
    mine.op = op;
    mine.complete = TS_COMPLETE_OK;
    begin_gated(&mine.job, coord, work, seen, &op->by);
    mine.job.step = step_complete;
    switch (coord__job_run(&mine.job, remembers(seen, mine.job.shard))) {
    case COORD__END_DONE:
        break;
    case COORD__END_LATE:
        fill_late(&mine.job);
        mine.complete = TS_COMPLETE_LEASE_EXPIRED;
        break;
    case COORD__END_EXHAUSTED:
        mine.complete = TS_COMPLETE_RESOURCE_EXHAUSTED;
        break;
    case COORD__END_INFRA:
        mine.complete = TS_COMPLETE_BACKEND_ERROR;
        break;
    case COORD__END_FOREIGN:
        mine.complete = TS_COMPLETE_TENANT_MISMATCH;
        break;
    }
    if (mine.complete == TS_COMPLETE_OK)
        *ret_outcome = coord__job_outcome(&mine.job);
    else
        coord__job_tell_error(&mine.job, ts_complete_error_variant(mine.complete), ret_detail);
    coord__work_give(coord, work);
    return mine.complete;
}

/* ---- park and unpark ---- */

struct park_job {
    struct coord__job job;
    const struct ts_park_op *op;
    enum ts_park_error error;
};

static bool step_park(struct coord__job *job, const struct ts_shard_record *record,
                      const struct ts_step_env *env) {
    struct park_job *mine = (struct park_job *)job;
    mine->error = ts_park_step(record, env, mine->op, &job->result, &job->detail);
    return mine->error == TS_PARK_OK;
}

enum ts_park_error coord__park(struct ts_coord *coord, const struct ts_park_op *op, struct coord__seen *seen,
                               struct ts_coord_outcome *ret_outcome, struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    if (work == NULL) {
        (void)coord__no_memory(ret_detail);
        return TS_PARK_BACKEND_ERROR;
    }
    struct park_job mine = {.op = op};
    begin_gated(&mine.job, coord, work, seen, &op->by);
    mine.job.step = step_park;
    switch (coord__job_run(&mine.job, remembers(seen, mine.job.shard))) {
    case COORD__END_DONE:
        break;
    case COORD__END_LATE:
        fill_late(&mine.job);
        mine.error = TS_PARK_LEASE_EXPIRED;
        break;
    case COORD__END_EXHAUSTED:
    case COORD__END_INFRA:
        mine.error = TS_PARK_BACKEND_ERROR;
        break;
    case COORD__END_FOREIGN:
        mine.error = TS_PARK_TENANT_MISMATCH;
        break;
    }
    if (mine.error == TS_PARK_OK)
        *ret_outcome = coord__job_outcome(&mine.job);
    else
        coord__job_tell_error(&mine.job, ts_park_error_variant(mine.error), ret_detail);
    coord__work_give(coord, work);
    return mine.error;
}

struct unpark_job {
    struct coord__job job;
    const struct ts_unpark_op *op;
    enum ts_unpark_error error;
};

static bool step_unpark(struct coord__job *job, const struct ts_shard_record *record,
                        const struct ts_step_env *env) {
    struct unpark_job *mine = (struct unpark_job *)job;
    mine->error = ts_unpark_step(record, env, mine->op, &job->result, &job->detail);
    return mine->error == TS_UNPARK_OK;
}

enum ts_unpark_error ts_coord_unpark(struct ts_coord *coord, const struct ts_unpark_op *op,
                                     struct ts_coord_outcome *ret_outcome,
                                     struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    if (work == NULL) {
        (void)coord__no_memory(ret_detail);
        return TS_UNPARK_BACKEND_ERROR;
    }
    struct unpark_job mine = {.op = op};
    begin(&mine.job, coord, work, NULL, &op->tenant, op->shard);
    mine.job.step = step_unpark;
    const enum coord__end end = coord__job_run(&mine.job, false);
    if (end != COORD__END_DONE)
        mine.error = end == COORD__END_FOREIGN ? TS_UNPARK_TENANT_MISMATCH : TS_UNPARK_BACKEND_ERROR;
    if (mine.error == TS_UNPARK_OK)
        *ret_outcome = coord__job_outcome(&mine.job);
    else
        coord__job_tell_error(&mine.job, ts_unpark_error_variant(mine.error), ret_detail);
    coord__work_give(coord, work);
    return mine.error;
}

/* ---- without a session ---- */

enum ts_acquire_error ts_coord_acquire(struct ts_coord *coord, const struct ts_acquire_op *op,
                                       struct ts_acquire_scratch *scratch,
                                       struct ts_acquire_result_view *ret_view,
                                       struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    if (work == NULL) {
        (void)coord__no_memory(ret_detail);
        return TS_ACQUIRE_BACKEND_ERROR;
    }
    struct ts_lease lease;
    const enum ts_acquire_error error = coord__acquire(coord, op, &work->seen, &lease, ret_detail);
    if (error == TS_ACQUIRE_OK) {
        const struct ts_capacity_hint capacity = coord__capacity(coord, work, op->shard);
        ts_acquire_result(scratch, &work->seen.record, &lease, capacity, ret_view);
    }
    coord__work_give(coord, work);
    return error;
}

enum ts_renew_error ts_coord_renew(struct ts_coord *coord, const struct ts_renew_op *op,
                                   struct ts_lease *ret_lease, struct ts_renew_result *ret_result,
                                   struct ts_coord_detail *ret_detail) {
    return coord__renew(coord, op, NULL, ret_lease, ret_result, ret_detail);
}

enum ts_checkpoint_error ts_coord_checkpoint(struct ts_coord *coord, const struct ts_cursor_op *op,
                                             struct ts_coord_outcome *ret_outcome,
                                             struct ts_coord_detail *ret_detail) {
    return coord__checkpoint(coord, op, NULL, ret_outcome, ret_detail);
}

enum ts_complete_error ts_coord_complete(struct ts_coord *coord, const struct ts_cursor_op *op,
                                         struct ts_coord_outcome *ret_outcome,
                                         struct ts_coord_detail *ret_detail) {
    return coord__complete(coord, op, NULL, ret_outcome, ret_detail);
}

enum ts_park_error ts_coord_park(struct ts_coord *coord, const struct ts_park_op *op,
                                 struct ts_coord_outcome *ret_outcome, struct ts_coord_detail *ret_detail) {
    return coord__park(coord, op, NULL, ret_outcome, ret_detail);
}
