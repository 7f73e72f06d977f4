/*
 * Creating and ending runs. Each of these operations, and each registration, checks and writes the run's
 * record, which is on the first store. So these operations are serialised: if two run at the same time, the
 * slower one reads again. Guards, counters and limits are written in the same transaction.
 */
#include "run_ops.h"

#include "base/assert.h"
#include "base/number.h"
#include "coord/core/plant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum coord__end coord__run_read(struct ts_coord *coord, struct coord__work *work,
                                const struct ts_coord_run_query *query, const struct coord__tries *tries,
                                struct coord__run_seen *ret_seen, struct ts_coord_detail *detail) {
    const struct coord__key run = coord__key_run(query->run), shards = coord__key_run_shards(query->run);
    const struct coord__key tenant = coord__key_tenant_limit(&query->tenant),
                            global = coord__key_global_limit(),
                            number = coord__key_last_number(&query->tenant);
    const struct ts_bytes keys[] = {coord__key_bytes(&run), coord__key_bytes(&shards),
                                    coord__key_bytes(&tenant), coord__key_bytes(&global),
                                    coord__key_bytes(&number)};
    const struct ts_call *call = coord__call_read(work, 0, 0, keys, 5);
    const struct coord__result result = coord__read(coord, work, 1);
    if (result.result != TS_STORE_OK)
        return coord__failed(tries, &result, detail);
    const struct ts_row *rows = work->rows[0].rows;
    struct coord__run_seen seen = {.version = rows[0].version,
                                   .shards_version = rows[1].version,
                                   .last_number_version = rows[4].version,
                                   .now = {call->time_ms},
                                   .limits = {.tenant = {.max = coord->options.tenant_shard_max},
                                              .global = {.max = coord->options.global_shard_max}}};
    enum coord__end end = coord__decode_run(&rows[0], query->run, &seen.has_run, &seen.run, detail);
    /* For another tenant, the step returns TenantMismatch and reveals neither counters nor damage. */
    if (end == COORD__END_INFRA && coord__find_tenant(coord, work, query->run, &seen.run.tenant) &&
        !ts_tenant_id_equal(&seen.run.tenant, &query->tenant)) {
        seen.run.run = query->run;
        end = COORD__END_DONE;
    }
    if (end == COORD__END_DONE && seen.has_run && !ts_tenant_id_equal(&seen.run.tenant, &query->tenant)) {
        *ret_seen = seen;
        return COORD__END_DONE;
    }
    if (end == COORD__END_DONE)
        end = coord__decode_counter(&rows[1], &seen.shards, detail);
    if (end == COORD__END_DONE)
        end = coord__decode_counter(&rows[2], &seen.limits.tenant.current, detail);
    if (end == COORD__END_DONE)
        end = coord__decode_counter(&rows[3], &seen.limits.global.current, detail);
    if (end == COORD__END_DONE)
        end = coord__decode_counter(&rows[4], &seen.last_number, detail);
    if (end == COORD__END_DONE)
        *ret_seen = seen;
    else if (tries->unknown)
        detail->infra.kind = TS_INFRA_UNKNOWN;
    return end;
}

enum coord__end coord__run_read_made(struct ts_coord *coord, struct coord__work *work,
                                     const struct ts_coord_run_query *query, struct coord__tries *tries,
                                     struct coord__run_seen *ret_seen, struct ts_coord_detail *detail) {
    enum coord__end end = coord__run_read(coord, work, query, tries, ret_seen, detail);
    if (end != COORD__END_DONE || ret_seen->has_run)
        return end;
    const struct coord__key run = coord__key_run(query->run);
    return coord__wait_for_promises(coord, work, 0, &run, tries, &end, detail)
               ? coord__run_read(coord, work, query, tries, ret_seen, detail)
               : end;
}

/* Copies bytes into the plan's memory. */
static struct ts_bytes keep(struct coord__plan *plan, const void *bytes, size_t len) {
    uint8_t *kept = ts_arena_take(&plan->arena, len);
    if (kept == NULL) {
        plan->failed = true;
        return (struct ts_bytes){0};
    }
    memcpy(kept, bytes, len);
    return ts_bytes_of(kept, len);
}

void coord__plan_run(struct coord__plan *plan, const struct ts_run_step *step, uint64_t version) {
    uint8_t bytes[TS_RUN_RECORD_ENCODED_MAX];
    size_t len;
    /* The step's record satisfies the invariants, because it is made from a record that does. */
    ts_assert(ts_run_record_encode(&step->record, bytes, &len) == TS_RECORD_OK);
    const struct coord__key key = coord__key_run(step->record.run);
    coord__plan_check(plan, 0, &key, version);
    coord__plan_put(plan, 0, &key, keep(plan, bytes, len));
    if (!step->write_guard)
        return;
    uint8_t guard[TS_RUN_GUARD_ENCODED_LEN];
    ts_assert(ts_run_guard_encode(&step->guard, guard) == TS_RECORD_OK);
    const struct ts_bytes value = keep(plan, guard, sizeof guard);
    const struct coord__key guard_key = coord__key_guard(step->record.run);
    for (uint32_t place = 0; place < plan->place_count; place++)
        coord__plan_put(plan, place, &guard_key, value);
}

void coord__plan_birth(struct coord__plan *plan, const struct ts_run_record *run,
                       const struct coord__run_seen *seen) {
    const struct coord__key number = coord__key_last_number(&run->tenant);
    char decimal[24];
    const int len = snprintf(decimal, sizeof decimal, "%" PRIu64, run->number);
    if (!coord__is_planted(TS_COORD_PLANT_NUMBER))
        coord__plan_check(plan, 0, &number, seen->last_number_version);
    coord__plan_put(plan, 0, &number, keep(plan, decimal, (size_t)len));
    const struct coord__key listed = coord__key_tenant_run(&run->tenant, run->run);
    coord__plan_put(plan, 0, &listed, (struct ts_bytes){0});
    for (uint32_t place = 0; place < plan->place_count; place++) {
        for (size_t i = 0; i < COORD__STRIPES; i++) {
            /* Creates only the counters that begin with 0. The registration of the first shards, in the same
             * transaction, creates the other counters. */
            const struct coord__stripe active = {TS_SHARD_ACTIVE, (uint8_t)i};
            const struct coord__key key = coord__key_counter(run->run, active);
            if (plan->counts[(size_t)place * COORD__COUNTERS + coord__stripe_index(active)] == 0)
                coord__plan_put(plan, place, &key, TS_BYTES("0"));
        }
    }
}

struct ts_coord_outcome coord__run_outcome(const struct ts_run_step *step, bool attempted,
                                           struct ts_logical_time now) {
    return (struct ts_coord_outcome){.outcome = step->outcome,
                                     .result = TS_OP_RESULT_COMPLETED,
                                     .after_unknown = step->outcome == TS_OUTCOME_REPLAYED && attempted,
                                     .at = now};
}

/* ---- create_run ---- */

/* Returns whether the existing run was created by an earlier try whose reply was lost. */
static bool is_ours(const struct coord__tries *tries, const struct coord__run_seen *seen,
                    const struct ts_run_step *step) {
    return tries->unknown && seen->has_run && ts_tenant_id_equal(&seen->run.tenant, &step->record.tenant) &&
           ts_run_config_equal(&seen->run.config, &step->record.config) &&
           seen->run.number == step->record.number && seen->run.created_at.ms == step->record.created_at.ms;
}

static enum coord__end create(struct ts_coord *coord, struct coord__work *work,
                              const struct ts_create_run_op *op, struct ts_run_step *step,
                              enum ts_create_run_error *ret_error, struct ts_coord_detail *detail) {
    const struct ts_coord_run_query query = {op->tenant, op->run};
    struct coord__tries tries = {0};
    *ret_error = TS_CREATE_RUN_OK;
    for (;;) {
        struct coord__run_seen seen = {0};
        enum coord__end end = coord__run_read(coord, work, &query, &tries, &seen, detail);
        if (end != COORD__END_DONE || is_ours(&tries, &seen, step))
            return end;
        const struct ts_create_env env = {.now = seen.now, .last_number = seen.last_number};
        *ret_error = ts_create_run_step(seen.has_run ? &seen.run : NULL, op, &env, step, detail);
        if (*ret_error != TS_CREATE_RUN_OK)
            return COORD__END_DONE;
        coord__plan_clear(&work->plan);
        coord__plan_run(&work->plan, step, 0);
        coord__plan_birth(&work->plan, &step->record, &seen);
        const struct coord__result result = coord__apply(coord, work);
        if (result.result == TS_STORE_OK)
            return COORD__END_DONE;
        if (!coord__again(coord, &tries, &result, &end, detail))
            return end;
    }
}

enum ts_create_run_error ts_coord_create_run(struct ts_coord *coord, const struct ts_create_run_op *op,
                                             struct ts_run_record *ret_run,
                                             struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    struct ts_coord_detail detail = {0};
    struct ts_run_step step = {0};
    enum ts_create_run_error error = TS_CREATE_RUN_OK;
    const enum coord__end end =
        work == NULL ? coord__no_memory(&detail) : create(coord, work, op, &step, &error, &detail);
    if (end != COORD__END_DONE)
        error = ts_create_run_error_of(coord__end_variant(end));
    if (error != TS_CREATE_RUN_OK)
        *ret_detail = detail;
    else
        coord__tell(coord, &step.event);
    if (error == TS_CREATE_RUN_OK && ret_run != NULL)
        *ret_run = step.record;
    if (work != NULL)
        coord__work_give(coord, work);
    return error;
}

/* ---- ending a run ---- */

struct ending {
    struct ts_coord *coord;
    struct coord__work *work;
    const struct ts_end_run_op *op;
    struct coord__tries tries;
    enum ts_run_transition_error error;
    struct ts_run_step step;
    bool attempted;
    struct ts_logical_time now;
    struct ts_coord_detail detail;
    struct coord__key stripe_keys[COORD__STRIPES];
    struct coord__key guard_key;
    struct ts_bytes key_bytes[COORD__STRIPES + 1]; /* the keys of the counters, then the key of the guard */
};

/* Counts the active shards of all stores; afterwards rows[place] of the work has the counters and the guard
 * of the store at this place. */
static enum coord__end count_active(struct ending *mine, uint64_t *ret_active) {
    const uint32_t places = mine->coord->io.place_count;
    for (size_t i = 0; i < COORD__STRIPES; i++) {
        mine->stripe_keys[i] =
            coord__key_counter(mine->op->run, (struct coord__stripe){TS_SHARD_ACTIVE, (uint8_t)i});
        mine->key_bytes[i] = coord__key_bytes(&mine->stripe_keys[i]);
    }
    mine->guard_key = coord__key_guard(mine->op->run);
    mine->key_bytes[COORD__STRIPES] = coord__key_bytes(&mine->guard_key);
    for (uint32_t place = 0; place < places; place++)
        (void)coord__call_read(mine->work, place, place, mine->key_bytes, COORD__STRIPES + 1);
    const struct coord__result result = coord__read(mine->coord, mine->work, places);
    if (result.result != TS_STORE_OK)
        return coord__failed(&mine->tries, &result, &mine->detail);
    *ret_active = 0;
    for (uint32_t place = 0; place < places; place++) {
        for (size_t i = 0; i < COORD__STRIPES; i++) {
            uint64_t count;
            const enum coord__end end =
                coord__decode_counter(&mine->work->rows[place].rows[i], &count, &mine->detail);
            if (end != COORD__END_DONE)
                return end;
            *ret_active += count;
        }
    }
    return COORD__END_DONE;
}

static void plan_ending(struct ending *mine, const struct coord__run_seen *seen) {
    struct coord__plan *plan = &mine->work->plan;
    coord__plan_clear(plan);
    coord__plan_run(plan, &mine->step, seen->version);
    /* These checks make sure that no shard becomes active in the meantime. */
    for (uint32_t place = 0; mine->op->kind == TS_RUN_OP_COMPLETE_RUN && place < plan->place_count; place++)
        for (size_t i = 0; i < COORD__STRIPES; i++)
            coord__plan_check(plan, place, &mine->stripe_keys[i], mine->work->rows[place].rows[i].version);
    if (seen->shards_version == 0)
        return;
    const struct coord__key tenant = coord__key_tenant_limit(&seen->run.tenant),
                            global = coord__key_global_limit(), of_run = coord__key_run_shards(seen->run.run);
    coord__plan_check(plan, 0, &of_run, seen->shards_version);
    coord__plan_put(plan, 0, &of_run, TS_BYTES("0"));
    if (seen->shards == 0)
        return;
    const struct coord__change fewer = {-(int64_t)seen->shards, INT64_MAX};
    coord__plan_add(plan, 0, &tenant, fewer, COORD__TAG_COUNTER);
    coord__plan_add(plan, 0, &global, fewer, COORD__TAG_COUNTER);
}

/*
 * The results of find_stripes, which finds out whether all stores have the counters. A store creates the
 * counters together with the guard. A store that has neither guard nor counters has not yet committed the
 * registration that the first store shows. A guard without counters is damage.
 */
enum made { MADE_EVERYWHERE, MADE_SOMEWHERE, MADE_DAMAGED };
static enum made find_stripes(const struct ending *mine) {
    enum made made = MADE_EVERYWHERE;
    for (uint32_t place = 0; place < mine->coord->io.place_count; place++) {
        const struct ts_row *rows = mine->work->rows[place].rows;
        if (rows[COORD__STRIPES].version == 0) {
            made = MADE_SOMEWHERE;
            continue;
        }
        for (size_t i = 0; i < COORD__STRIPES; i++)
            if (rows[i].version == 0)
                return MADE_DAMAGED;
    }
    return made;
}

/* The result if the first store has committed, and another store has not committed yet. */
static const struct coord__result half_made = {
    .result = TS_STORE_LOCK_CONFLICT, .again = true, .text = "the run is being made; try again"};

static enum coord__end end_run(struct ending *mine) {
    const struct ts_coord_run_query query = {mine->op->tenant, mine->op->run};
    for (;;) {
        struct coord__run_seen seen = {0};
        uint64_t active = 0;
        enum coord__end end =
            coord__run_read_made(mine->coord, mine->work, &query, &mine->tries, &seen, &mine->detail);
        if (end == COORD__END_DONE && seen.has_run && mine->op->kind == TS_RUN_OP_COMPLETE_RUN &&
            ts_tenant_id_equal(&seen.run.tenant, &mine->op->tenant)) {
            end = count_active(mine, &active);
            const enum made made = end == COORD__END_DONE ? find_stripes(mine) : MADE_EVERYWHERE;
            if (made == MADE_DAMAGED)
                end = coord__damaged(TS_RECORD_BAD_FIELD, "a counter of active shards", &mine->detail);
            if (made == MADE_SOMEWHERE) {
                if (!coord__again(mine->coord, &mine->tries, &half_made, &end, &mine->detail))
                    return end;
                continue;
            }
        }
        if (end == COORD__END_INFRA && mine->tries.unknown)
            mine->detail.infra.kind = TS_INFRA_UNKNOWN;
        if (end != COORD__END_DONE)
            return end;
        mine->now = seen.now;
        mine->error = ts_end_run_step(seen.has_run ? &seen.run : NULL, mine->op, active, seen.now,
                                      &mine->step, &mine->detail);
        if (mine->error != TS_RUN_TRANSITION_OK)
            return COORD__END_DONE;
        if (!mine->step.write) {
            if (mine->attempted)
                coord__tell(mine->coord, &mine->step.event);
            return COORD__END_DONE;
        }
        plan_ending(mine, &seen);
        const struct coord__result result = coord__apply(mine->coord, mine->work);
        if (result.result == TS_STORE_OK) {
            coord__tell(mine->coord, &mine->step.event);
            return COORD__END_DONE;
        }
        mine->attempted = mine->attempted || result.result == TS_STORE_UNKNOWN;
        if (!coord__again(mine->coord, &mine->tries, &result, &end, &mine->detail))
            return end;
    }
}

enum ts_run_transition_error ts_coord_end_run(struct ts_coord *coord, const struct ts_end_run_op *op,
                                              struct ts_coord_outcome *ret_outcome,
                                              struct ts_coord_detail *ret_detail) {
    struct ending mine = {.coord = coord, .op = op, .work = coord__work_take(coord)};
    enum coord__end end = mine.work == NULL ? coord__no_memory(&mine.detail) : end_run(&mine);
    if (end != COORD__END_DONE)
        mine.error = ts_run_transition_error_of(coord__end_variant(end));
    if (mine.error == TS_RUN_TRANSITION_OK)
        *ret_outcome = coord__run_outcome(&mine.step, mine.attempted, mine.now);
    else
        *ret_detail = mine.detail;
    if (mine.work != NULL)
        coord__work_give(coord, mine.work);
    return mine.error;
}
