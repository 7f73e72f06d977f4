/*
 * Creating runs, registering shards and ending runs. The run's record is on the first store, and each of
 * these operations checks and writes it. So they are serialised, and the loser of a race reads again. Guards,
 * shards, counters and limits are written in the same transaction.
 */
#include "driver.h"

#include "base/assert.h"
#include "base/number.h"
#include "coord/core/plant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many shards one read may ask for, so that their records fit in an answer. */
enum { READ_AT_ONCE = 512 };
_Static_assert(READ_AT_ONCE *TS_RECORD_MAX <= TS_STORE_ANSWER_BYTES_MAX, "a read is answered");

/* The run and the counters of limits, from the first store. */
struct run_seen {
    bool has_run;
    uint64_t version;
    struct ts_run_record run;
    struct ts_shard_limits limits;
    uint64_t shards; /* of this run, counted for the limits */
    uint64_t shards_version;
    uint64_t last_number; /* of the tenant's runs */
    uint64_t last_number_version;
    struct ts_logical_time now;
};

static enum coord__end read_run(struct ts_coord *coord, struct coord__work *work,
                                const struct ts_coord_run_query *query, const struct coord__tries *tries,
                                struct run_seen *ret_seen, struct ts_coord_detail *detail) {
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
    struct run_seen seen = {.version = rows[0].version,
                            .shards_version = rows[1].version,
                            .last_number_version = rows[4].version,
                            .now = {call->time_ms},
                            .limits = {.tenant = {.max = coord->options.tenant_shard_max},
                                       .global = {.max = coord->options.global_shard_max}}};
    enum coord__end end = coord__decode_run(&rows[0], query->run, &seen.has_run, &seen.run, detail);
    /* For another tenant the step returns TenantMismatch, and shows neither counters nor damage. */
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

/* The same for a run that must exist: waits for one that is being created. */
static enum coord__end read_made_run(struct ts_coord *coord, struct coord__work *work,
                                     const struct ts_coord_run_query *query, struct coord__tries *tries,
                                     struct run_seen *ret_seen, struct ts_coord_detail *detail) {
    enum coord__end end = read_run(coord, work, query, tries, ret_seen, detail);
    if (end != COORD__END_DONE || ret_seen->has_run)
        return end;
    const struct coord__key run = coord__key_run(query->run);
    return coord__wait_for_promises(coord, work, 0, &run, tries, &end, detail)
               ? read_run(coord, work, query, tries, ret_seen, detail)
               : end;
}

/* Bytes owned by the plan. */
static struct ts_bytes keep(struct coord__plan *plan, const void *bytes, size_t len) {
    uint8_t *kept = ts_arena_take(&plan->arena, len);
    if (kept == NULL) {
        plan->failed = true;
        return (struct ts_bytes){0};
    }
    memcpy(kept, bytes, len);
    return ts_bytes_of(kept, len);
}

/* Writes the run's record over the version that was read (0: none), and its guard on every store. */
static void plan_run(struct coord__plan *plan, const struct ts_run_step *step, uint64_t version) {
    uint8_t bytes[TS_RUN_RECORD_ENCODED_MAX];
    size_t len;
    /* The step's record satisfies the invariants: it is made from one that did. */
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

/* Everything that a new run has: its number, its place in the tenant's list, and the counters of active shards, whose
 * versions complete_run checks. */
static void plan_birth(struct coord__plan *plan, const struct ts_run_record *run,
                       const struct run_seen *seen) {
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
            /* The addition of the first shards in the same transaction creates these. */
            const struct coord__stripe active = {TS_SHARD_ACTIVE, (uint8_t)i};
            const struct coord__key key = coord__key_counter(run->run, active);
            if (plan->counts[(size_t)place * COORD__COUNTERS + coord__stripe_index(active)] == 0)
                coord__plan_put(plan, place, &key, TS_BYTES("0"));
        }
    }
}

static struct ts_coord_outcome outcome_of(const struct ts_run_step *step, bool attempted,
                                          struct ts_logical_time now) {
    return (struct ts_coord_outcome){.outcome = step->outcome,
                                     .result = TS_OP_RESULT_COMPLETED,
                                     .after_unknown = step->outcome == TS_OUTCOME_REPLAYED && attempted,
                                     .at = now};
}

/* ---- create_run ---- */

/* Returns whether the existing run was created by an earlier try whose reply was lost. */
static bool is_ours(const struct coord__tries *tries, const struct run_seen *seen,
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
        struct run_seen seen = {0};
        enum coord__end end = read_run(coord, work, &query, &tries, &seen, detail);
        if (end != COORD__END_DONE || is_ours(&tries, &seen, step))
            return end;
        const struct ts_create_env env = {.now = seen.now, .last_number = seen.last_number};
        *ret_error = ts_create_run_step(seen.has_run ? &seen.run : NULL, op, &env, step, detail);
        if (*ret_error != TS_CREATE_RUN_OK)
            return COORD__END_DONE;
        coord__plan_clear(&work->plan);
        plan_run(&work->plan, step, 0);
        plan_birth(&work->plan, &step->record, &seen);
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

/* ---- register_shards, alone or with create_run ---- */

struct registration {
    struct ts_coord *coord;
    struct coord__work *work;
    const struct ts_create_run_op *create; /* NULL: the run exists */
    const struct ts_register_op *op;
    struct ts_manifest_memory *memory;
    bool *present;    /* for each of op->shards: it already exists */
    uint64_t *guards; /* by place: version of the guard where shards go, from the same read */
    struct coord__tries tries;
    enum ts_create_run_error create_error;
    enum ts_register_shards_error error;
    struct ts_run_step made; /* the result of the create step */
    struct ts_run_step step;
    bool attempted; /* the reply of an earlier try was lost */
    struct ts_logical_time now;
    struct ts_coord_detail detail;
};

/* Reads up to READ_AT_ONCE shards of a place: which of them exist, and whether they are the same. */
static enum coord__end compare(struct registration *mine, const struct ts_run_record *run, uint32_t place,
                               const size_t *indexes, size_t count, size_t *already_there) {
    struct coord__key keys[READ_AT_ONCE];
    const struct coord__key guard = coord__key_guard(run->run);
    struct ts_bytes key_bytes[READ_AT_ONCE + 1] = {0};
    for (size_t i = 0; i < count; i++) {
        keys[i] = coord__key_shard((struct ts_shard_key){run->run, mine->memory->ids[indexes[i]]});
        key_bytes[i] = coord__key_bytes(&keys[i]);
    }
    key_bytes[count] = coord__key_bytes(&guard);
    (void)coord__call_read(mine->work, 0, place, key_bytes, count + 1);
    const struct coord__result result = coord__read(mine->coord, mine->work, 1);
    if (result.result != TS_STORE_OK)
        return coord__failed(&mine->tries, &result, &mine->detail);
    mine->guards[place] = mine->work->rows[0].rows[count].version;
    for (size_t i = 0; i < count; i++) {
        const struct ts_row *row = &mine->work->rows[0].rows[i];
        mine->present[indexes[i]] = row->version != 0;
        if (row->version == 0)
            continue;
        struct ts_shard_record existing, wanted;
        const struct ts_shard_key shard = {run->run, mine->memory->ids[indexes[i]]};
        const enum coord__end end = coord__decode_shard(row, shard, &existing, &mine->detail);
        if (end != COORD__END_DONE)
            return end;
        ts_registered_shard(run, mine->op, mine->memory, indexes[i], &wanted);
        if (!ts_registered_shard_matches(&existing, &wanted)) {
            mine->error = TS_REGISTER_SHARDS_MANIFEST_INVALID;
            mine->detail.manifest = (struct ts_manifest_detail){
                .error = TS_MANIFEST_FAULT_DUPLICATE_IDS, .entry = indexes[i], .other = indexes[i]};
        }
        ++*already_there;
    }
    return COORD__END_DONE;
}

/* Searches for all shards of the list. Returns DONE with an error if an existing shard differs. */
static enum coord__end find_present(struct registration *mine, const struct ts_run_record *run,
                                    size_t *already_there) {
    size_t indexes[READ_AT_ONCE];
    for (uint32_t place = 0; place < mine->coord->io.place_count; place++) {
        size_t count = 0;
        for (size_t i = 0; i <= mine->op->shards.count; i++) {
            const bool last = i == mine->op->shards.count;
            if (!last && ts_coord_place_of_shard(mine->coord, mine->memory->ids[i]) == place)
                indexes[count++] = i;
            if (count == 0 || (!last && count < READ_AT_ONCE))
                continue;
            const enum coord__end end = compare(mine, run, place, indexes, count, already_there);
            if (end != COORD__END_DONE || mine->error != TS_REGISTER_SHARDS_OK)
                return end;
            count = 0;
        }
    }
    return COORD__END_DONE;
}

/* Returns whether the step would get as far as the shards: only then are they read. */
static bool comes_to_shards(struct registration *mine, const struct ts_run_record *run) {
    struct ts_manifest_detail ignored;
    return run != NULL && ts_tenant_id_equal(&run->tenant, &mine->op->tenant) &&
           ts_run_op_log_find(&run->op_log, mine->op->op_id) == NULL &&
           !ts_run_status_is_terminal(run->status) &&
           ts_manifest_check(run->run, mine->op->op_id, mine->op->shards, mine->memory, &ignored) ==
               TS_MANIFEST_FAULT_OK;
}

static enum coord__end decide(struct registration *mine, const struct run_seen *seen) {
    const struct ts_run_record *run = seen->has_run ? &seen->run : NULL;
    mine->now = seen->now;
    mine->error = TS_REGISTER_SHARDS_OK;
    if (mine->create != NULL) {
        const struct ts_create_env env = {.now = seen->now, .last_number = seen->last_number};
        mine->create_error = ts_ensure_run_step(run, mine->create, &env, &mine->made, &mine->detail);
        if (mine->create_error != TS_CREATE_RUN_OK)
            return COORD__END_DONE;
        if (run == NULL)
            run = &mine->made.record;
    }
    size_t already_there = 0;
    if (comes_to_shards(mine, run)) {
        const enum coord__end end = find_present(mine, run, &already_there);
        if (end != COORD__END_DONE || mine->error != TS_REGISTER_SHARDS_OK)
            return end;
    }
    const struct ts_register_env env = {.now = seen->now,
                                        .record_max = mine->coord->options.record_max,
                                        .limits = seen->limits,
                                        .already_there = already_there};
    mine->error = ts_register_shards_step(run, &env, mine->op, mine->memory, &mine->step, &mine->detail);
    return COORD__END_DONE;
}

static void plan_registration(struct registration *mine, const struct run_seen *seen) {
    struct coord__plan *plan = &mine->work->plan;
    const struct ts_run_record *run = &mine->step.record;
    coord__plan_clear(plan);
    int64_t added = 0;
    for (size_t i = 0; i < mine->op->shards.count; i++) {
        if (mine->present[i])
            continue;
        struct ts_shard_record shard;
        ts_registered_shard(run, mine->op, mine->memory, i, &shard);
        coord__plan_new_shard(mine->coord, mine->work, &shard);
        added++;
    }
    coord__plan_counts(plan, run->run);
    if (!seen->has_run)
        plan_birth(plan, run, seen);
    plan_run(plan, &mine->step, seen->version);
    if (added == 0)
        return;
    /* A run must not end on a store that has not created its shards yet. Without a guard the run is still
     * being created, and its counters are locked. */
    for (uint32_t place = 0; !mine->step.write_guard && place < plan->place_count; place++) {
        if (mine->guards[place] == 0)
            continue;
        const struct coord__key guard = coord__key_guard(run->run);
        coord__plan_check(plan, place, &guard, mine->guards[place]);
    }
    const struct ts_coord_options *options = &mine->coord->options;
    const struct coord__key tenant = coord__key_tenant_limit(&run->tenant),
                            global = coord__key_global_limit(), of_run = coord__key_run_shards(run->run);
    coord__plan_add(plan, 0, &tenant, (struct coord__change){added, options->tenant_shard_max},
                    COORD__TAG_LIMIT);
    coord__plan_add(plan, 0, &global, (struct coord__change){added, options->global_shard_max},
                    COORD__TAG_LIMIT);
    coord__plan_add(plan, 0, &of_run, (struct coord__change){added, INT64_MAX}, COORD__TAG_COUNTER);
}

static void tell_registration(struct registration *mine, bool made) {
    if (made)
        coord__tell(mine->coord, &mine->made.event);
    coord__tell(mine->coord, &mine->step.event);
}

static enum coord__end register_all(struct registration *mine) {
    const struct ts_coord_run_query query = {mine->op->tenant, mine->op->run};
    struct ts_event last = {0};
    for (;;) {
        struct run_seen seen = {0};
        enum coord__end end =
            mine->create != NULL
                ? read_run(mine->coord, mine->work, &query, &mine->tries, &seen, &mine->detail)
                : read_made_run(mine->coord, mine->work, &query, &mine->tries, &seen, &mine->detail);
        if (end == COORD__END_DONE)
            end = decide(mine, &seen);
        if (end == COORD__END_INFRA && mine->tries.unknown)
            mine->detail.infra.kind = TS_INFRA_UNKNOWN;
        if (end != COORD__END_DONE || mine->create_error != TS_CREATE_RUN_OK ||
            mine->error != TS_REGISTER_SHARDS_OK)
            return end;
        if (!mine->step.write) {
            if (mine->attempted)
                coord__tell(mine->coord, &last);
            return COORD__END_DONE;
        }
        plan_registration(mine, &seen);
        const struct coord__result result = coord__apply(mine->coord, mine->work);
        if (result.result == TS_STORE_OK) {
            tell_registration(mine, mine->create != NULL && !seen.has_run);
            return COORD__END_DONE;
        }
        if (result.result == TS_STORE_UNKNOWN) {
            mine->attempted = true;
            last = mine->step.event;
        }
        if (!coord__again(mine->coord, &mine->tries, &result, &end, &mine->detail))
            return end;
    }
}

/* Sets mine->error and mine->create_error. */
static void run_registration(struct registration *mine, struct ts_coord_outcome *ret_outcome) {
    mine->work = coord__work_take(mine->coord);
    mine->present = calloc(mine->op->shards.count + 1, sizeof *mine->present);
    mine->guards = calloc(mine->coord->io.place_count, sizeof *mine->guards);
    enum coord__end end;
    if (mine->work == NULL || mine->present == NULL || mine->guards == NULL)
        end = coord__no_memory(&mine->detail);
    else
        end = register_all(mine);
    if (end != COORD__END_DONE)
        mine->error = ts_register_shards_error_of(coord__end_variant(end));
    if (mine->error == TS_REGISTER_SHARDS_OK && mine->create_error == TS_CREATE_RUN_OK)
        *ret_outcome = outcome_of(&mine->step, mine->attempted, mine->now);
    free(mine->present);
    free(mine->guards);
    if (mine->work != NULL)
        coord__work_give(mine->coord, mine->work);
}

enum ts_register_shards_error ts_coord_register_shards(struct ts_coord *coord,
                                                       const struct ts_register_op *op,
                                                       struct ts_manifest_memory *memory,
                                                       struct ts_coord_outcome *ret_outcome,
                                                       struct ts_coord_detail *ret_detail) {
    struct registration mine = {.coord = coord, .op = op, .memory = memory};
    run_registration(&mine, ret_outcome);
    if (mine.error != TS_REGISTER_SHARDS_OK)
        *ret_detail = mine.detail;
    return mine.error;
}

enum ts_create_run_error
ts_coord_create_run_with_shards(struct ts_coord *coord, const struct ts_create_run_op *create_op,
                                const struct ts_register_op *shards, struct ts_manifest_memory *memory,
                                struct ts_coord_outcome *ret_outcome, struct ts_coord_detail *ret_detail) {
    ts_assert(create_op->run.v == shards->run.v && ts_tenant_id_equal(&create_op->tenant, &shards->tenant));
    struct registration mine = {.coord = coord, .create = create_op, .op = shards, .memory = memory};
    run_registration(&mine, ret_outcome);
    enum ts_create_run_error error = mine.create_error;
    if (error == TS_CREATE_RUN_OK && mine.error == TS_REGISTER_SHARDS_BACKEND_ERROR)
        error = TS_CREATE_RUN_BACKEND_ERROR;
    else if (error == TS_CREATE_RUN_OK)
        error = ts_create_run_error_from_register(mine.error, &mine.detail);
    if (error != TS_CREATE_RUN_OK)
        *ret_detail = mine.detail;
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
    struct ts_bytes key_bytes[COORD__STRIPES + 1]; /* of both, in this order */
};

/* Counts the active shards of all stores; afterwards calls 0 to place_count - 1 have the counters. */
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

static void plan_ending(struct ending *mine, const struct run_seen *seen) {
    struct coord__plan *plan = &mine->work->plan;
    coord__plan_clear(plan);
    plan_run(plan, &mine->step, seen->version);
    /* Makes sure that no shard becomes active meanwhile. */
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
 * Returns whether all stores have the counters. They are created with the guard, so a store with neither has
 * not committed the registration that the first store shows; a guard without counters is damage.
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

/* The first store has committed, another one has not yet. */
static const struct coord__result half_made = {
    .result = TS_STORE_LOCK_CONFLICT, .again = true, .text = "the run is being made; try again"};

static enum coord__end end_run(struct ending *mine) {
    const struct ts_coord_run_query query = {mine->op->tenant, mine->op->run};
    for (;;) {
        struct run_seen seen = {0};
        uint64_t active = 0;
        enum coord__end end =
            read_made_run(mine->coord, mine->work, &query, &mine->tries, &seen, &mine->detail);
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
        *ret_outcome = outcome_of(&mine.step, mine.attempted, mine.now);
    else
        *ret_detail = mine.detail;
    if (mine.work != NULL)
        coord__work_give(coord, mine.work);
    return mine.error;
}
