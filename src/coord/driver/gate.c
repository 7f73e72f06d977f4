#include "coord/driver/gate.h"

#include "base/assert.h"
#include "coord/core/plant.h"
#include "driver.h"

#include <stdio.h>
#include <string.h>

/* ---- the gate ---- */

enum gate_op { GATE_GUARD, GATE_RECORD, GATE_BEFORE };

static void set_check(struct ts_coord_gate *gate, enum gate_op op, const struct coord__key *key,
                      uint64_t version) {
    ts_assert(key->len <= sizeof gate->keys[op]);
    memcpy(gate->keys[op], key->bytes, key->len);
    gate->ops[op] =
        (struct ts_op){.kind = TS_OP_CHECK, .key = ts_bytes_of(gate->keys[op], key->len), .version = version};
}

void coord__gate_init(struct ts_coord_gate *gate, uint32_t place, const struct coord__seen *seen,
                      struct ts_logical_time before) {
    const struct coord__key guard = coord__key_guard(seen->record.key.run),
                            record = coord__key_shard(seen->record.key);
    gate->place = place;
    set_check(gate, GATE_GUARD, &guard, seen->guard_version);
    set_check(gate, GATE_RECORD, &record, seen->version);
    gate->ops[GATE_BEFORE] = (struct ts_op){.kind = TS_OP_BEFORE, .time_ms = before.ms};
}

void coord__plan_gate(struct coord__plan *plan, const struct ts_coord_gate *gate) {
    coord__plan_op(plan, gate->place, &gate->ops[GATE_GUARD]);
    coord__plan_op(plan, gate->place, &gate->ops[GATE_RECORD]);
    if (gate->ops[GATE_BEFORE].time_ms != 0)
        coord__plan_op(plan, gate->place, &gate->ops[GATE_BEFORE]);
}

struct gate_job {
    struct coord__job job;
    const struct ts_write_op *op;
    struct ts_coord_gate *gate;
};

static enum ts_error_variant step_gate(struct coord__job *job, const struct ts_shard_record *record,
                                       const struct ts_step_env *env) {
    const struct gate_job *mine = (const struct gate_job *)job;
    struct ts_logical_time before;
    const enum ts_write_error error = ts_write_step(record, env, mine->op, &before, &job->detail);
    if (error == TS_WRITE_OK)
        coord__gate_init(mine->gate, job->place, job->seen, before);
    if (error == TS_WRITE_OK && coord__is_planted(TS_COORD_PLANT_GATE))
        mine->gate->ops[GATE_RECORD] = mine->gate->ops[GATE_BEFORE];
    return ts_write_error_variant(error);
}

enum ts_write_error ts_coord_gate(struct ts_coord *coord, const struct ts_write_op *op,
                                  struct coord__seen *seen, enum ts_coord_gate_from from,
                                  struct ts_coord_gate *ret_gate, struct ts_coord_detail *ret_detail) {
    struct gate_job mine = {.op = op, .gate = ret_gate};
    mine.job = coord__job_of(coord, seen, &op->tenant, ts_lease_shard(&op->lease));
    mine.job.lease = &op->lease;
    mine.job.step = step_gate;
    mine.job.may_remember = from == TS_COORD_GATE_REMEMBERED;
    return ts_write_error_of(coord__job_run(&mine.job, NULL, ret_detail));
}

/* ---- a write ---- */

struct writing {
    struct ts_coord *coord;
    struct coord__work *work;
    struct ts_batch batch;
    struct ts_coord_gate gate;
    uint64_t versions[2]; /* that the gate of the last try checked */
    bool was_refused;     /* by a check of that try: the gate's, or one of the batch */
    struct coord__tries tries;
};

static bool is_same_gate(const struct writing *mine) {
    return mine->versions[0] == mine->gate.ops[GATE_GUARD].version &&
           mine->versions[1] == mine->gate.ops[GATE_RECORD].version;
}

/* Some stores do not name the operation whose check failed. */
static bool is_of_batch(const struct writing *mine, enum ts_store_result result) {
    const bool is_named = mine->work->txn.op < mine->work->plan.count;
    const bool is_mine = is_named && mine->work->txn.op >= mine->work->plan.count - mine->batch.count;
    return result == TS_STORE_LIMIT || result == TS_STORE_NOT_A_COUNTER ||
           (result == TS_STORE_CHECK_FAILED && is_mine);
}

static void refuse(const struct writing *mine, enum ts_store_result result,
                   struct ts_store_error *ret_error) {
    const size_t gate_ops = mine->work->plan.count - mine->batch.count;
    const size_t op = mine->work->txn.op;
    *ret_error = (struct ts_store_error){
        .result = result, .op = op >= gate_ops && op < mine->work->plan.count ? op - gate_ops : SIZE_MAX};
    snprintf(ret_error->sqlstate, sizeof ret_error->sqlstate, "%s",
             ts_store_result_meaning(result)->sqlstate);
    snprintf(ret_error->text, sizeof ret_error->text, "%s", mine->work->txn.text);
}

/* Writes one batch. Returns true if the operation has ended: *ret_end is its end; if that is DONE, ret_error
 * is the answer. */
static bool try_to_write(struct writing *mine, enum coord__end *ret_end, struct ts_store_error *ret_error,
                         struct ts_coord_detail *detail) {
    struct coord__plan *plan = &mine->work->plan;
    coord__plan_clear(plan);
    coord__plan_gate(plan, &mine->gate);
    for (size_t i = 0; i < mine->batch.count; i++)
        coord__plan_op(plan, mine->gate.place, &mine->batch.ops[i]);
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
        /* Only the caller can see in its own keys whether the batch was applied. */
        *ret_end = coord__failed(&mine->tries, &result, detail);
        return true;
    }
    mine->was_refused = result.result == TS_STORE_CHECK_FAILED;
    mine->versions[0] = mine->gate.ops[GATE_GUARD].version;
    mine->versions[1] = mine->gate.ops[GATE_RECORD].version;
    return !coord__again(mine->coord, &mine->tries, &result, ret_end, detail);
}

static void fill_late(const struct writing *mine, struct ts_coord_detail *detail) {
    detail->deadline.ms = mine->gate.ops[GATE_BEFORE].time_ms;
    detail->now = detail->deadline;
}

enum ts_write_error ts_coord_write(struct ts_coord *coord, const struct ts_write_op *op,
                                   struct coord__seen *seen, struct ts_batch batch,
                                   struct ts_store_error *ret_error, struct ts_coord_detail *ret_detail) {
    struct writing mine = {.coord = coord, .work = coord__work_take(coord), .batch = batch};
    if (mine.work == NULL)
        return ts_write_error_of(coord__end_variant(coord__no_memory(ret_detail)));
    struct ts_coord_detail detail = {0};
    enum ts_coord_gate_from from = TS_COORD_GATE_REMEMBERED;
    enum ts_write_error error;
    for (;; from = TS_COORD_GATE_READ) {
        error = ts_coord_gate(coord, op, seen, from, &mine.gate, &detail);
        if (error != TS_WRITE_OK)
            break;
        if (mine.was_refused && is_same_gate(&mine)) {
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
