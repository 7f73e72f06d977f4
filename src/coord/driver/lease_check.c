#include "coord/driver/lease_check.h"

#include "base/assert.h"
#include "coord/core/plant.h"
#include "driver.h"

#include <stdio.h>
#include <string.h>

/* ---- the check ---- */

enum check_op { CHECK_GUARD, CHECK_RECORD, CHECK_BEFORE };

static void set_check(struct ts_coord_lease_check *check, enum check_op op, const struct coord__key *key,
                      uint64_t version) {
    ts_assert(key->len <= sizeof check->keys[op]);
    memcpy(check->keys[op], key->bytes, key->len);
    check->ops[op] = (struct ts_op){
        .kind = TS_OP_CHECK, .key = ts_bytes_of(check->keys[op], key->len), .version = version};
}

void coord__lease_check_init(struct ts_coord_lease_check *check, uint32_t place,
                             const struct coord__seen *seen, struct ts_logical_time before) {
    const struct coord__key guard = coord__key_guard(seen->record.key.run),
                            record = coord__key_shard(seen->record.key);
    check->place = place;
    set_check(check, CHECK_GUARD, &guard, seen->guard_version);
    set_check(check, CHECK_RECORD, &record, seen->version);
    check->ops[CHECK_BEFORE] = (struct ts_op){.kind = TS_OP_BEFORE, .time_ms = before.ms};
}

void coord__plan_lease_check(struct coord__plan *plan, const struct ts_coord_lease_check *check) {
    coord__plan_op(plan, check->place, &check->ops[CHECK_GUARD]);
    coord__plan_op(plan, check->place, &check->ops[CHECK_RECORD]);
    if (check->ops[CHECK_BEFORE].time_ms != 0)
        coord__plan_op(plan, check->place, &check->ops[CHECK_BEFORE]);
}

struct check_job {
    struct coord__job job;
    const struct ts_write_op *op;
    struct ts_coord_lease_check *check;
};

static enum ts_error_variant step_check(struct coord__job *job, const struct ts_shard_record *record,
                                        const struct ts_step_env *env) {
    const struct check_job *mine = (const struct check_job *)job;
    struct ts_logical_time before;
    const enum ts_write_error error = ts_write_step(record, env, mine->op, &before, &job->detail);
    if (error == TS_WRITE_OK)
        coord__lease_check_init(mine->check, job->place, job->seen, before);
    if (error == TS_WRITE_OK && coord__is_planted(TS_COORD_PLANT_LEASE_CHECK))
        mine->check->ops[CHECK_RECORD] = mine->check->ops[CHECK_BEFORE];
    return ts_write_error_variant(error);
}

enum ts_write_error ts_coord_lease_check(struct ts_coord *coord, const struct ts_write_op *op,
                                         struct coord__seen *seen, enum ts_coord_lease_check_from from,
                                         struct ts_coord_lease_check *ret_check,
                                         struct ts_coord_detail *ret_detail) {
    struct check_job mine = {.op = op, .check = ret_check};
    mine.job = coord__job_of(coord, seen, &op->tenant, ts_lease_shard(&op->lease));
    mine.job.lease = &op->lease;
    mine.job.step = step_check;
    mine.job.may_remember = from == TS_COORD_LEASE_CHECK_REMEMBERED;
    return ts_write_error_of(coord__job_run(&mine.job, NULL, ret_detail));
}

/* ---- a write ---- */

struct writing {
    struct ts_coord *coord;
    struct coord__work *work;
    struct ts_batch batch;
    struct ts_coord_lease_check check;
    uint64_t versions[2]; /* versions that the lease check of the last try had */
    bool was_refused;     /* in the last try, a check of the lease or of the batch failed */
    struct coord__tries tries;
};

static bool is_same_check(const struct writing *mine) {
    return mine->versions[0] == mine->check.ops[CHECK_GUARD].version &&
           mine->versions[1] == mine->check.ops[CHECK_RECORD].version;
}

/* Returns whether the failed operation is surely in the caller's batch. Some stores do not report which check
 * failed. */
static bool is_of_batch(const struct writing *mine, enum ts_store_result result) {
    const bool is_named = mine->work->txn.op < mine->work->plan.count;
    const bool is_mine = is_named && mine->work->txn.op >= mine->work->plan.count - mine->batch.count;
    return result == TS_STORE_LIMIT || result == TS_STORE_NOT_A_COUNTER ||
           (result == TS_STORE_CHECK_FAILED && is_mine);
}

static void refuse(const struct writing *mine, enum ts_store_result result,
                   struct ts_store_error *ret_error) {
    const size_t check_ops = mine->work->plan.count - mine->batch.count;
    const size_t op = mine->work->txn.op;
    *ret_error = (struct ts_store_error){
        .result = result, .op = op >= check_ops && op < mine->work->plan.count ? op - check_ops : SIZE_MAX};
    snprintf(ret_error->sqlstate, sizeof ret_error->sqlstate, "%s",
             ts_store_result_meaning(result)->sqlstate);
    snprintf(ret_error->text, sizeof ret_error->text, "%s", mine->work->txn.text);
}

/* Tries to write the batch. Returns true if the operation has ended; *ret_end then says how. If *ret_end is
 * DONE, ret_error is the answer. */
static bool try_to_write(struct writing *mine, enum coord__end *ret_end, struct ts_store_error *ret_error,
                         struct ts_coord_detail *detail) {
    struct coord__plan *plan = &mine->work->plan;
    coord__plan_clear(plan);
    coord__plan_lease_check(plan, &mine->check);
    for (size_t i = 0; i < mine->batch.count; i++)
        coord__plan_op(plan, mine->check.place, &mine->batch.ops[i]);
    const struct coord__result result = coord__apply(mine->coord, mine->work);
    *ret_end = COORD__END_DONE;
    if (result.result == TS_STORE_OK) {
        *ret_error = (struct ts_store_error){.result = TS_STORE_OK, .sqlstate = "00000", .op = SIZE_MAX};
        return true;
    }
    if (is_of_batch(mine, result.result)) {
        refuse(mine, result.result, ret_error);
        return true;
    }
    if (result.result == TS_STORE_UNKNOWN) {
        /* Only the caller can tell from its own keys whether the batch was applied. */
        *ret_end = coord__failed(&mine->tries, &result, detail);
        return true;
    }
    mine->was_refused = result.result == TS_STORE_CHECK_FAILED;
    mine->versions[0] = mine->check.ops[CHECK_GUARD].version;
    mine->versions[1] = mine->check.ops[CHECK_RECORD].version;
    return !coord__again(mine->coord, &mine->tries, &result, ret_end, detail);
}

static void fill_late(const struct writing *mine, struct ts_coord_detail *detail) {
    detail->deadline.ms = mine->check.ops[CHECK_BEFORE].time_ms;
    detail->now = detail->deadline;
}

enum ts_write_error ts_coord_write(struct ts_coord *coord, const struct ts_write_op *op,
                                   struct coord__seen *seen, struct ts_batch batch,
                                   struct ts_store_error *ret_error, struct ts_coord_detail *ret_detail) {
    struct writing mine = {.coord = coord, .work = coord__work_take(coord), .batch = batch};
    if (mine.work == NULL)
        return ts_write_error_of(coord__end_variant(coord__no_memory(ret_detail)));
    struct ts_coord_detail detail = {0};
    enum ts_coord_lease_check_from from = TS_COORD_LEASE_CHECK_REMEMBERED;
    enum ts_write_error error;
    for (;; from = TS_COORD_LEASE_CHECK_READ) {
        error = ts_coord_lease_check(coord, op, seen, from, &mine.check, &detail);
        if (error != TS_WRITE_OK)
            break;
        if (mine.was_refused && is_same_check(&mine)) {
            refuse(&mine, TS_STORE_CHECK_FAILED, ret_error);
            break;
        }
        enum coord__end end;
        if (!try_to_write(&mine, &end, ret_error, &detail))
            continue;
        if (end == COORD__END_LATE)
            fill_late(&mine, &detail);
        error = ts_write_error_of(coord__end_variant(end));
        break;
    }
    if (error != TS_WRITE_OK)
        *ret_detail = detail;
    coord__work_give(coord, mine.work);
    return error;
}
