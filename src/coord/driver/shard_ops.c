/* The operations on one shard that need only its store. */
#include "driver.h"

#include "base/assert.h"
#include "base/endian.h"

/* ---- acquire ---- */

struct acquire_job {
    struct coord__job job;
    const struct ts_acquire_op *op;
    struct ts_lease lease;
};

static enum ts_error_variant step_acquire(struct coord__job *job, const struct ts_shard_record *record,
                                          const struct ts_step_env *env) {
    struct acquire_job *mine = (struct acquire_job *)job;
    return ts_acquire_error_variant(
        ts_acquire_step(record, env, mine->op, &job->result, &mine->lease, &job->detail));
}

/*
 * Finds out whether this call acquired the shard. Acquire has no op id. Instead it draws a random number, and
 * stores it in the entry of the claim index. Only that number identifies this call: another process may use
 * the same worker name, and any of several tries may have succeeded. The lease is made from the record.
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
    job->error = TS_VARIANT_NONE;
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
    struct acquire_job mine = {.op = op};
    mine.job = coord__job_of(coord, seen, &op->tenant, op->shard);
    mine.job.step = step_acquire;
    mine.job.recognise = recognise_acquire;
    mine.job.nonce = coord__draw(coord);
    const enum ts_error_variant error = coord__job_run(&mine.job, NULL, ret_detail);
    if (error == TS_VARIANT_NONE)
        *ret_lease = mine.lease;
    return ts_acquire_error_of(error);
}

enum ts_acquire_error ts_coord_acquire(struct ts_coord *coord, const struct ts_acquire_op *op,
                                       struct ts_acquire_scratch *scratch,
                                       struct ts_acquire_result_view *ret_view,
                                       struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    if (work == NULL)
        return ts_acquire_error_of(coord__end_variant(coord__no_memory(ret_detail)));
    struct ts_lease lease;
    const enum ts_acquire_error error = coord__acquire(coord, op, &work->seen, &lease, ret_detail);
    if (error == TS_ACQUIRE_OK)
        ts_acquire_result(scratch, &work->seen.record, &lease, coord__capacity(coord, op->shard), ret_view);
    coord__work_give(coord, work);
    return error;
}

/* ---- renew ---- */

struct renew_job {
    struct coord__job job;
    const struct ts_renew_op *op;
    struct ts_lease lease;
};

static enum ts_error_variant step_renew(struct coord__job *job, const struct ts_shard_record *record,
                                        const struct ts_step_env *env) {
    struct renew_job *mine = (struct renew_job *)job;
    return ts_renew_error_variant(
        ts_renew_step(record, env, mine->op, &job->result, &mine->lease, &job->detail));
}

/* Extends a lease. Always reads the record first: the new deadline counts from the store's time, not from an
 * estimate. */
enum ts_renew_error ts_coord_renew(struct ts_coord *coord, const struct ts_renew_op *op,
                                   struct coord__seen *seen, struct ts_lease *ret_lease,
                                   struct ts_renew_result *ret_result, struct ts_coord_detail *ret_detail) {
    struct renew_job mine = {.op = op};
    mine.job = coord__job_of(coord, seen, &op->tenant, ts_lease_shard(&op->lease));
    mine.job.lease = &op->lease;
    mine.job.step = step_renew;
    mine.job.nonce = coord__draw(coord);
    const enum ts_error_variant error = coord__job_run(&mine.job, NULL, ret_detail);
    if (error == TS_VARIANT_NONE) {
        *ret_lease = mine.lease;
        ret_result->new_deadline = ts_lease_deadline(&mine.lease);
        ret_result->capacity = coord__capacity(coord, mine.job.shard);
    }
    return ts_renew_error_of(error);
}

/* ---- checkpoint and complete ---- */

struct cursor_job {
    struct coord__job job;
    const struct ts_cursor_op *op;
};

static enum ts_error_variant step_checkpoint(struct coord__job *job, const struct ts_shard_record *record,
                                             const struct ts_step_env *env) {
    const struct cursor_job *mine = (const struct cursor_job *)job;
    return ts_checkpoint_error_variant(ts_checkpoint_step(record, env, mine->op, &job->result, &job->detail));
}

static enum ts_error_variant step_complete(struct coord__job *job, const struct ts_shard_record *record,
                                           const struct ts_step_env *env) {
    const struct cursor_job *mine = (const struct cursor_job *)job;
    return ts_complete_error_variant(ts_complete_step(record, env, mine->op, &job->result, &job->detail));
}

static struct cursor_job cursor_job(struct ts_coord *coord, struct coord__seen *seen,
                                    const struct ts_cursor_op *op) {
    struct cursor_job made = {.job = coord__job_by(coord, seen, &op->by), .op = op};
    made.job.may_remember = true;
    return made;
}

enum ts_checkpoint_error ts_coord_checkpoint(struct ts_coord *coord, const struct ts_cursor_op *op,
                                             struct coord__seen *seen, struct ts_coord_outcome *ret_outcome,
                                             struct ts_coord_detail *ret_detail) {
    struct cursor_job mine = cursor_job(coord, seen, op);
    mine.job.step = step_checkpoint;
    return ts_checkpoint_error_of(coord__job_run(&mine.job, ret_outcome, ret_detail));
}

enum ts_complete_error ts_coord_complete(struct ts_coord *coord, const struct ts_cursor_op *op,
                                         struct coord__seen *seen, struct ts_coord_outcome *ret_outcome,
                                         struct ts_coord_detail *ret_detail) {
    struct cursor_job mine = cursor_job(coord, seen, op);
    mine.job.step = step_complete;
    return ts_complete_error_of(coord__job_run(&mine.job, ret_outcome, ret_detail));
}

/* ---- park, release and unpark ---- */

struct park_job {
    struct coord__job job;
    const struct ts_park_op *op;
};

static enum ts_error_variant step_park(struct coord__job *job, const struct ts_shard_record *record,
                                       const struct ts_step_env *env) {
    const struct park_job *mine = (const struct park_job *)job;
    return ts_park_error_variant(ts_park_step(record, env, mine->op, &job->result, &job->detail));
}

enum ts_park_error ts_coord_park(struct ts_coord *coord, const struct ts_park_op *op,
                                 struct coord__seen *seen, struct ts_coord_outcome *ret_outcome,
                                 struct ts_coord_detail *ret_detail) {
    struct park_job mine = {.job = coord__job_by(coord, seen, &op->by), .op = op};
    mine.job.step = step_park;
    mine.job.may_remember = true;
    return ts_park_error_of(coord__job_run(&mine.job, ret_outcome, ret_detail));
}

struct release_job {
    struct coord__job job;
    const struct ts_release_op *op;
};

static enum ts_error_variant step_release(struct coord__job *job, const struct ts_shard_record *record,
                                          const struct ts_step_env *env) {
    const struct release_job *mine = (const struct release_job *)job;
    return ts_release_error_variant(ts_release_step(record, env, mine->op, &job->result, &job->detail));
}

enum ts_release_error ts_coord_release(struct ts_coord *coord, const struct ts_release_op *op,
                                       struct coord__seen *seen, struct ts_coord_outcome *ret_outcome,
                                       struct ts_coord_detail *ret_detail) {
    struct release_job mine = {.job = coord__job_by(coord, seen, &op->by), .op = op};
    mine.job.step = step_release;
    mine.job.may_remember = true;
    return ts_release_error_of(coord__job_run(&mine.job, ret_outcome, ret_detail));
}

struct unpark_job {
    struct coord__job job;
    const struct ts_unpark_op *op;
};

static enum ts_error_variant step_unpark(struct coord__job *job, const struct ts_shard_record *record,
                                         const struct ts_step_env *env) {
    const struct unpark_job *mine = (const struct unpark_job *)job;
    return ts_unpark_error_variant(ts_unpark_step(record, env, mine->op, &job->result, &job->detail));
}

enum ts_unpark_error ts_coord_unpark(struct ts_coord *coord, const struct ts_unpark_op *op,
                                     struct ts_coord_outcome *ret_outcome,
                                     struct ts_coord_detail *ret_detail) {
    struct unpark_job mine = {.job = coord__job_of(coord, NULL, &op->tenant, op->shard), .op = op};
    mine.job.step = step_unpark;
    return ts_unpark_error_of(coord__job_run(&mine.job, ret_outcome, ret_detail));
}
