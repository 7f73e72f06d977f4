/*
 * Registers shards: in one transaction, with or without create_run; or in one transaction for each step of an
 * announced list.
 *
 *     check the whole list, announce it -> create the run with the first step -> step -> ... -> the last one makes the run Active
 *
 * The run's record says how many shards of the list are registered. So a repeated call continues after those
 * shards, however the earlier call ended.
 */
#include "run_ops.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* The maximum number of shards in one read, so that their records fit into an answer. */
enum { READ_AT_ONCE = 512 };
_Static_assert(READ_AT_ONCE *TS_RECORD_MAX <= TS_STORE_ANSWER_BYTES_MAX, "a read is answered");

/* ---- one transaction ---- */

struct registration {
    struct ts_coord *coord;
    struct coord__work *work;
    const struct ts_create_run_op *create; /* NULL: the run exists */
    struct ts_op condition;                /* checked when the run is created, if the condition has a key */
    const struct ts_register_op *op;
    struct ts_manifest_memory *memory;
    bool *present;    /* for each shard of the operation: whether it already exists */
    uint64_t *guards; /* indexed by place: version of the guard, for places with new shards */
    struct coord__tries tries;
    enum ts_create_run_error create_error;
    enum ts_register_shards_error error;
    struct ts_run_step made; /* the result of the create step */
    struct ts_run_step step;
    bool attempted; /* the reply to an earlier try was lost */
    struct ts_logical_time now;
    struct ts_coord_detail detail;
};

/* Reads up to READ_AT_ONCE shards of a place. Finds out which of them exist, and checks that the existing
 * records match the new ones. */
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

/* Reads only the guards of the shards' stores, for a step of an announced list. Assumes that the shards do
 * not exist. If a shard does exist, the write fails, and the next try reads all shards. */
static enum coord__end read_guards(struct registration *mine, const struct ts_run_record *run) {
    const struct coord__key guard = coord__key_guard(run->run);
    const struct ts_bytes keys[] = {coord__key_bytes(&guard)};
    const uint32_t places = mine->coord->io.place_count;
    memset(mine->present, 0, mine->op->shards.count * sizeof *mine->present);
    memset(mine->guards, 0, places * sizeof *mine->guards);
    for (size_t i = 0; i < mine->op->shards.count; i++)
        mine->guards[ts_coord_place_of_shard(mine->coord, mine->memory->ids[i])] = 1;
    uint32_t count = 0;
    for (uint32_t place = 0; place < places; place++)
        if (mine->guards[place] != 0)
            (void)coord__call_read(mine->work, count++, place, keys, 1);
    const struct coord__result result = coord__read(mine->coord, mine->work, count);
    if (result.result != TS_STORE_OK)
        return coord__failed(&mine->tries, &result, &mine->detail);
    for (uint32_t i = 0; i < count; i++)
        mine->guards[mine->work->calls[i].place] = mine->work->rows[i].rows[0].version;
    return COORD__END_DONE;
}

/* Searches for all shards of the list. If an existing shard differs, returns DONE and sets mine->error. */
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

/* Returns whether the step gets as far as checking the shards. The shards are read only in that case. */
static bool comes_to_shards(struct registration *mine, const struct ts_run_record *run) {
    struct ts_manifest_detail ignored;
    return run != NULL && ts_tenant_id_equal(&run->tenant, &mine->op->tenant) &&
           ts_run_op_log_find(&run->op_log, mine->op->op_id) == NULL &&
           !ts_run_status_is_terminal(run->status) &&
           ts_manifest_check(run->run, mine->op->op_id, mine->op->shards, mine->memory, &ignored) ==
               TS_MANIFEST_FAULT_OK;
}

static enum coord__end decide(struct registration *mine, const struct coord__run_seen *seen) {
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
        const bool is_first_try = mine->op->announced.count > 0 && mine->tries.count == 0;
        const enum coord__end end =
            is_first_try ? read_guards(mine, run) : find_present(mine, run, &already_there);
        if (end != COORD__END_DONE || mine->error != TS_REGISTER_SHARDS_OK)
            return end;
    }
    const struct ts_register_env env = {.now = seen->now,
                                        .record_max = mine->coord->options.record_max,
                                        .limits = seen->limits,
                                        .already_there = already_there};
    mine->error = ts_register_shards_step(run, &env, mine->op, mine->memory, &mine->step, &mine->detail);
    /* A new run always gets its guards. */
    mine->step.write_guard = mine->step.write_guard || !seen->has_run;
    return COORD__END_DONE;
}

static void plan_unit(struct registration *mine, const struct ts_new_shard *shard, struct ts_shard_key key) {
    uint8_t target[TS_COORD_TARGET_LEN];
    if (shard->unit.len == 0 || !ts_coord_target_of_range(shard->spec.range, target))
        return;
    struct coord__key unit = {.len = TS_COORD_UNIT_KEY_LEN};
    ts_coord_unit_key(key.run, target, unit.bytes);
    coord__plan_put(&mine->work->plan, ts_coord_place_of_shard(mine->coord, key.shard), &unit, shard->unit);
}

static void plan_registration(struct registration *mine, const struct coord__run_seen *seen) {
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
        plan_unit(mine, &mine->op->shards.list[i], shard.key);
        added++;
    }
    coord__plan_counts(plan, run->run);
    if (!seen->has_run)
        coord__plan_birth(plan, run, seen);
    if (!seen->has_run && mine->condition.key.len > 0)
        coord__plan_op(plan, 0, &mine->condition);
    coord__plan_run(plan, &mine->step, seen->version);
    if (added == 0)
        return;
    /* The write checks the guard, so that the run cannot end before this store has its shards. A store
     * without a guard is still creating the run, and its counters are locked. */
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
        struct coord__run_seen seen = {0};
        enum coord__end end =
            mine->create != NULL
                ? coord__run_read(mine->coord, mine->work, &query, &mine->tries, &seen, &mine->detail)
                : coord__run_read_made(mine->coord, mine->work, &query, &mine->tries, &seen, &mine->detail);
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

/* Sets mine->error and mine->create_error. On success fills ret_outcome. */
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
        *ret_outcome = coord__run_outcome(&mine->step, mine->attempted, mine->now);
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

/* Returns the error of a registration, converted to an error of create_run_with_shards. */
static enum ts_create_run_error create_error_of(struct registration *mine) {
    if (mine->create_error != TS_CREATE_RUN_OK)
        return mine->create_error;
    return mine->error == TS_REGISTER_SHARDS_BACKEND_ERROR
               ? TS_CREATE_RUN_BACKEND_ERROR
               : ts_create_run_error_from_register(mine->error, &mine->detail);
}

enum ts_create_run_error
ts_coord_create_run_with_shards(struct ts_coord *coord, const struct ts_create_run_op *create_op,
                                const struct ts_register_op *shards, struct ts_manifest_memory *memory,
                                struct ts_coord_outcome *ret_outcome, struct ts_coord_detail *ret_detail) {
    ts_assert(create_op->run.v == shards->run.v && ts_tenant_id_equal(&create_op->tenant, &shards->tenant));
    struct registration mine = {.coord = coord, .create = create_op, .op = shards, .memory = memory};
    run_registration(&mine, ret_outcome);
    const enum ts_create_run_error error = create_error_of(&mine);
    if (error != TS_CREATE_RUN_OK)
        *ret_detail = mine.detail;
    return error;
}

/* ---- an announced list, in steps ---- */

/* A step with at most this number of shards is not made smaller. */
enum { STEP_MIN = 100 };

struct list {
    struct ts_coord *coord;
    const struct ts_coord_list_op *op;
    struct ts_create_run_op create;
    struct ts_manifest_memory *memory;
    struct ts_manifest_room room;
    struct ts_new_shard *step; /* the shards of one step, with their ids */
    size_t step_max;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail;
};

static bool has_room(struct list *list) {
    const size_t count = list->op->shards.count;
    list->memory = malloc(sizeof *list->memory);
    list->room.ids = calloc(count + 1, sizeof *list->room.ids);
    list->room.order = calloc(count + 1, sizeof *list->room.order);
    list->step = calloc(list->step_max, sizeof *list->step);
    return list->memory != NULL && list->room.ids != NULL && list->room.order != NULL && list->step != NULL;
}

static void release_room(struct list *list) {
    free(list->memory);
    free(list->room.ids);
    free(list->room.order);
    free(list->step);
}

static enum ts_create_run_error check_whole(struct list *list) {
    if (ts_run_config_check(&list->create.config, &list->detail.config) != TS_RUN_CONFIG_FAULT_OK)
        return TS_CREATE_RUN_INVALID_CONFIG;
    if (ts_manifest_check_announced(list->create.run, list->op->op_id, list->op->shards, list->room,
                                    &list->detail.manifest) != TS_MANIFEST_FAULT_OK)
        return ts_create_run_error_from_register(TS_REGISTER_SHARDS_MANIFEST_INVALID, &list->detail);
    list->create.announced = ts_announced_of(list->op->shards);
    return TS_CREATE_RUN_OK;
}

static struct ts_register_op step_of(struct list *list, size_t from) {
    const size_t left = list->op->shards.count - from;
    const size_t count = left < list->step_max ? left : list->step_max;
    for (size_t i = 0; i < count; i++) {
        list->step[i] = list->op->shards.list[from + i];
        list->step[i].has_id = true;
        list->step[i].id = list->room.ids[from + i];
    }
    return (struct ts_register_op){
        .tenant = list->create.tenant,
        .run = list->create.run,
        .op_id = ts_step_op_id(list->create.run, list->op->op_id, (struct ts_step_place){from, count}),
        .shards = {list->step, count},
        .announced = list->create.announced,
        .from = from};
}

/* Sets *from to the number of shards of the list that are registered. The number is at least the earlier
 * *from, because the earlier steps are done. */
static enum ts_create_run_error find_place(struct list *list, size_t *from) {
    const struct ts_coord_run_query query = {list->create.tenant, list->create.run};
    struct ts_run_record run;
    const enum ts_get_run_error error = ts_coord_get_run(list->coord, &query, &run, &list->detail);
    if (error == TS_GET_RUN_BACKEND_ERROR)
        return TS_CREATE_RUN_BACKEND_ERROR;
    if (error != TS_GET_RUN_OK)
        return ts_create_run_error_from_get_run(error, &list->detail);
    *from = run.registered < list->op->shards.count ? (size_t)run.registered : list->op->shards.count;
    return TS_CREATE_RUN_OK;
}

/* How a step ended. */
enum fate {
    FATE_EXECUTED,
    FATE_REPLAYED,
    FATE_ELSEWHERE, /* an error: another process registers the same list, in other steps */
};

static enum ts_create_run_error register_step(struct list *list, size_t from, size_t *ret_count,
                                              enum fate *ret_fate) {
    const struct ts_register_op op = step_of(list, from);
    struct registration mine = {.coord = list->coord,
                                .create = from == 0 ? &list->create : NULL,
                                .condition = {.kind = TS_OP_CHECK,
                                              .key = list->op->condition_key,
                                              .version = list->op->condition_version},
                                .op = &op,
                                .memory = list->memory};
    struct ts_coord_outcome outcome = {.outcome = TS_OUTCOME_REPLAYED};
    run_registration(&mine, &outcome);
    const enum ts_create_run_error error = create_error_of(&mine);
    *ret_count = op.shards.count;
    *ret_fate = outcome.outcome == TS_OUTCOME_EXECUTED ? FATE_EXECUTED : FATE_REPLAYED;
    if (error == TS_CREATE_RUN_REGISTER_SHARDS_FAILED && mine.detail.nested == TS_VARIANT_WRONG_STATUS &&
        mine.detail.run_status == TS_RUN_INITIALIZING)
        *ret_fate = FATE_ELSEWHERE;
    if (error != TS_CREATE_RUN_OK) {
        list->detail = mine.detail;
        return error;
    }
    const bool has_executed = list->outcome.outcome == TS_OUTCOME_EXECUTED;
    list->outcome = outcome;
    if (has_executed)
        list->outcome.outcome = TS_OUTCOME_EXECUTED;
    return TS_CREATE_RUN_OK;
}

/* Like find_place, but the run may not exist yet. */
static enum ts_create_run_error find_place_or_begin(struct list *list, size_t *from) {
    const enum ts_create_run_error error = find_place(list, from);
    const bool is_missing = error == TS_CREATE_RUN_GET_RUN_FAILED && *from == 0 &&
                            list->detail.nested == TS_VARIANT_RUN_NOT_FOUND;
    return is_missing ? TS_CREATE_RUN_OK : error;
}

/* Called after a step that failed, or whose answer was lost. If the store is slow, the step may take longer
 * than the timeout of a call, however often it is tried. Returns true if the caller should try steps of half
 * the size. */
static bool make_steps_smaller(struct list *list, size_t count) {
    const enum ts_infra_kind kind = list->detail.infra.kind;
    if ((kind != TS_INFRA_RETRYABLE && kind != TS_INFRA_UNKNOWN) || count <= STEP_MIN)
        return false;
    list->step_max = count / 2;
    return true;
}

static enum ts_create_run_error register_list(struct list *list) {
    enum ts_create_run_error error = check_whole(list);
    size_t from = 0;
    uint32_t tries = 0;
    list->outcome.outcome = TS_OUTCOME_REPLAYED;
    while (error == TS_CREATE_RUN_OK && from < list->op->shards.count) {
        size_t count;
        enum fate fate;
        error = register_step(list, from, &count, &fate);
        if (error == TS_CREATE_RUN_OK && fate == FATE_EXECUTED)
            from += count;
        else if (error == TS_CREATE_RUN_OK ||
                 (fate == FATE_ELSEWHERE && tries++ < list->coord->options.tries_max))
            error = find_place(list, &from);
        else if (error == TS_CREATE_RUN_BACKEND_ERROR && make_steps_smaller(list, count))
            error = find_place_or_begin(list, &from);
    }
    return error;
}

enum ts_create_run_error ts_coord_create_run_in_steps(struct ts_coord *coord,
                                                      const struct ts_coord_list_op *op,
                                                      struct ts_shard_id *ret_ids,
                                                      struct ts_coord_outcome *ret_outcome,
                                                      struct ts_coord_detail *ret_detail) {
    struct list list = {.coord = coord,
                        .op = op,
                        .create = op->create,
                        .step_max = op->step_max > 0 && op->step_max < TS_REGISTER_MAX ? op->step_max
                                                                                       : TS_REGISTER_MAX};
    enum ts_create_run_error error = TS_CREATE_RUN_BACKEND_ERROR;
    if (has_room(&list))
        error = register_list(&list);
    else
        (void)coord__no_memory(&list.detail);
    if (error != TS_CREATE_RUN_OK)
        *ret_detail = list.detail;
    else
        *ret_outcome = list.outcome;
    if (error == TS_CREATE_RUN_OK && ret_ids != NULL)
        memcpy(ret_ids, list.room.ids, op->shards.count * sizeof *ret_ids);
    release_room(&list);
    return error;
}
