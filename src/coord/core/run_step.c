#include "coord/core/run_step.h"

#include "base/assert.h"
#include "base/checked.h"
#include "coord/core/plant.h"

static void begin(const struct ts_run_record *run, bool write_guard, struct ts_run_step *ret_step) {
    ret_step->outcome = TS_OUTCOME_EXECUTED;
    ret_step->write = true;
    ret_step->write_guard = write_guard;
    ret_step->record = *run;
    ret_step->guard = ts_run_guard_of(run);
}

static void replay(struct ts_run_step *ret_step) {
    ret_step->outcome = TS_OUTCOME_REPLAYED;
    ret_step->write = false;
    ret_step->write_guard = false;
}

static struct ts_event run_event(enum ts_event_kind kind, struct ts_run_id run, struct ts_logical_time at) {
    return (struct ts_event){.kind = kind, .shard = {run, {0}}, .at = at};
}

static void create(const struct ts_create_run_op *op, const struct ts_create_env *env,
                   struct ts_run_step *ret_step) {
    ts_assert(env->now.ms != 0 && env->last_number < INT64_MAX);
    const struct ts_run_record run = {.tenant = op->tenant,
                                      .run = op->run,
                                      .status = TS_RUN_INITIALIZING,
                                      .config = op->config,
                                      .announced = op->announced,
                                      .number = env->last_number + 1,
                                      .created_at = env->now};
    begin(&run, true, ret_step);
    ret_step->event = run_event(TS_EVENT_RUN_CREATED, op->run, env->now);
}

enum ts_create_run_error ts_create_run_step(const struct ts_run_record *existing,
                                            const struct ts_create_run_op *op,
                                            const struct ts_create_env *env, struct ts_run_step *ret_step,
                                            struct ts_coord_detail *ret_detail) {
    if (ts_run_config_check(&op->config, &ret_detail->config) != TS_RUN_CONFIG_FAULT_OK)
        return TS_CREATE_RUN_INVALID_CONFIG;
    if (existing != NULL) {
        ret_detail->shard = (struct ts_shard_key){op->run, {0}};
        return TS_CREATE_RUN_RUN_ALREADY_EXISTS;
    }
    if (op->announced.count > op->config.shard_max) {
        ret_detail->manifest = (struct ts_manifest_detail){
            .error = TS_MANIFEST_FAULT_TOO_MANY_SHARDS,
            .limit = {.additional = op->announced.count, .max = op->config.shard_max}};
        ret_detail->nested = TS_VARIANT_MANIFEST_INVALID;
        return TS_CREATE_RUN_REGISTER_SHARDS_FAILED;
    }
    create(op, env, ret_step);
    return TS_CREATE_RUN_OK;
}

static bool is_same_list(const struct ts_run_record *run, const struct ts_announced *announced) {
    return ts_announced_equal(&run->announced, announced) || coord__is_planted(TS_COORD_PLANT_ANNOUNCED);
}

enum ts_create_run_error ts_ensure_run_step(const struct ts_run_record *existing,
                                            const struct ts_create_run_op *op,
                                            const struct ts_create_env *env, struct ts_run_step *ret_step,
                                            struct ts_coord_detail *ret_detail) {
    if (existing == NULL)
        return ts_create_run_step(NULL, op, env, ret_step, ret_detail);
    if (ts_run_config_check(&op->config, &ret_detail->config) != TS_RUN_CONFIG_FAULT_OK)
        return TS_CREATE_RUN_INVALID_CONFIG;
    enum ts_get_run_error found = ts_get_run_step(existing, &op->tenant, ret_detail);
    if (found != TS_GET_RUN_OK)
        return ts_create_run_error_from_get_run(found, ret_detail);
    ret_detail->is_other_list = !is_same_list(existing, &op->announced);
    if (!ts_run_config_equal(&existing->config, &op->config) || ret_detail->is_other_list) {
        ret_detail->shard = (struct ts_shard_key){op->run, {0}};
        return TS_CREATE_RUN_CONFIG_MISMATCH;
    }
    replay(ret_step);
    return TS_CREATE_RUN_OK;
}

enum ts_create_run_error ts_create_run_error_from_register(enum ts_register_shards_error error,
                                                           struct ts_coord_detail *detail) {
    if (error == TS_REGISTER_SHARDS_OK)
        return TS_CREATE_RUN_OK;
    detail->nested = ts_register_shards_error_variant(error);
    return TS_CREATE_RUN_REGISTER_SHARDS_FAILED;
}

enum ts_create_run_error ts_create_run_error_from_get_run(enum ts_get_run_error error,
                                                          struct ts_coord_detail *detail) {
    if (error == TS_GET_RUN_OK)
        return TS_CREATE_RUN_OK;
    detail->nested = ts_get_run_error_variant(error);
    return TS_CREATE_RUN_GET_RUN_FAILED;
}

enum ts_get_run_error ts_get_run_step(const struct ts_run_record *run, const struct ts_tenant_id *tenant,
                                      struct ts_coord_detail *ret_detail) {
    if (run == NULL)
        return TS_GET_RUN_RUN_NOT_FOUND;
    if (!ts_tenant_id_equal(&run->tenant, tenant)) {
        ret_detail->expected_tenant = *tenant;
        return TS_GET_RUN_TENANT_MISMATCH;
    }
    return TS_GET_RUN_OK;
}

static void fill_conflict(struct ts_op_id op_id, struct ts_payload_hash expected,
                          struct ts_payload_hash actual, struct ts_coord_detail *ret_detail) {
    ret_detail->op_id = op_id;
    ret_detail->detail__private.expected_hash = expected;
    ret_detail->detail__private.actual_hash = actual;
}

/* Returns false if the op id was used with other parameters. */
static bool find_replay(const struct ts_run_record *run, struct ts_op_id op_id, struct ts_payload_hash hash,
                        bool *ret_is_replay, struct ts_coord_detail *ret_detail) {
    const struct ts_run_op_log_entry *entry = ts_run_op_log_find(&run->op_log, op_id);
    if (entry != NULL && entry->payload_hash.v != hash.v) {
        fill_conflict(op_id, entry->payload_hash, hash, ret_detail);
        return false;
    }
    *ret_is_replay = entry != NULL;
    return true;
}

void ts_registered_shard(const struct ts_run_record *run, const struct ts_register_op *op,
                         const struct ts_manifest_memory *memory, size_t index,
                         struct ts_shard_record *ret_record) {
    ts_assert(index < op->shards.count);
    *ret_record = (struct ts_shard_record){
        .tenant = run->tenant,
        .key = {run->run, memory->ids[index]},
        .status = TS_SHARD_ACTIVE,
        .semantics = run->config.semantics,
        .spec = op->shards.list[index].spec,
        .cursor = op->shards.list[index].cursor,
    };
}

bool ts_registered_shard_matches(const struct ts_shard_record *existing,
                                 const struct ts_shard_record *wanted) {
    const struct ts_key_range has = existing->spec.range, wants = wanted->spec.range;
    if (!ts_tenant_id_equal(&existing->tenant, &wanted->tenant) || existing->key.run.v != wanted->key.run.v ||
        existing->key.shard.v != wanted->key.shard.v || existing->has_parent || wanted->has_parent ||
        existing->semantics != wanted->semantics || !ts_bytes_equal(has.start, wants.start) ||
        !ts_bytes_equal(existing->spec.metadata, wanted->spec.metadata))
        return false;
    const bool was_cut = ts_spawned_count(existing->spawned) > 0 && has.end.len != 0 &&
                         (wants.end.len == 0 || ts_bytes_compare(has.end, wants.end) < 0);
    if (!was_cut && !ts_bytes_equal(has.end, wants.end))
        return false;
    if (!wanted->cursor.has_key)
        return true;
    return existing->cursor.has_key &&
           ts_bytes_compare(existing->cursor.last_key, wanted->cursor.last_key) >= 0;
}

static bool is_step(const struct ts_register_op *op) {
    return op->announced.count > 0;
}

/* Like find_replay, for a registration. If the log no longer has a step, the number of registered shards
 * shows whether the step was done. */
static bool find_registration(const struct ts_run_record *run, const struct ts_register_op *op,
                              struct ts_payload_hash hash, bool *ret_is_replay,
                              struct ts_coord_detail *ret_detail) {
    if (!find_replay(run, op->op_id, hash, ret_is_replay, ret_detail))
        return false;
    if (*ret_is_replay || !is_step(op))
        return true;
    if (!is_same_list(run, &op->announced)) {
        fill_conflict(op->op_id, (struct ts_payload_hash){0}, hash, ret_detail);
        return false;
    }
    *ret_is_replay = ts_saturating_add_u64(op->from, op->shards.count) <= run->registered;
    return true;
}

/* Returns whether the run's status allows the registration. */
static bool check_status(const struct ts_run_record *run, const struct ts_register_op *op,
                         struct ts_coord_detail *ret_detail) {
    const bool is_waiting = run->status == TS_RUN_INITIALIZING && run->announced.count > 0;
    ret_detail->run_status = run->status;
    ret_detail->has_target = is_waiting;
    ret_detail->target_status = TS_RUN_ACTIVE;
    return !ts_run_status_is_terminal(run->status) &&
           (!is_waiting || (is_step(op) && op->from == run->registered));
}

/* Returns whether the list and the run may have `additional` more shards. */
static bool check_count(const struct ts_run_record *run, const struct ts_register_op *op, uint64_t additional,
                        struct ts_coord_detail *ret_detail) {
    const bool is_longer =
        is_step(op) && ts_saturating_add_u64(op->from, op->shards.count) > op->announced.count;
    const uint64_t max = is_longer ? op->announced.count : run->config.shard_max;
    if (!is_longer && ts_saturating_add_u64(run->registered, additional) <= max)
        return true;
    ret_detail->manifest = (struct ts_manifest_detail){
        .error = TS_MANIFEST_FAULT_TOO_MANY_SHARDS,
        .limit = {.current = run->registered, .additional = additional, .max = max}};
    return false;
}

static enum ts_register_shards_error check_register(const struct ts_run_record *run,
                                                    const struct ts_register_env *env,
                                                    const struct ts_register_op *op,
                                                    struct ts_manifest_memory *memory,
                                                    struct ts_coord_detail *ret_detail) {
    if (!check_status(run, op, ret_detail))
        return TS_REGISTER_SHARDS_WRONG_STATUS;
    if (ts_manifest_check(run->run, op->op_id, op->shards, memory, &ret_detail->manifest) !=
        TS_MANIFEST_FAULT_OK)
        return TS_REGISTER_SHARDS_MANIFEST_INVALID;
    ts_assert(env->already_there <= op->shards.count);
    const uint64_t additional = op->shards.count - env->already_there;
    if (!check_count(run, op, additional, ret_detail))
        return TS_REGISTER_SHARDS_MANIFEST_INVALID;
    /* Refuses a list at its first step if its last step would exceed the limit. */
    const uint64_t expected = is_step(op) ? op->announced.count - run->registered : additional;
    if (!ts_shard_limits_allow(&env->limits, expected, &ret_detail->limit))
        return TS_REGISTER_SHARDS_SHARD_LIMIT_EXCEEDED;
    for (size_t i = 0; i < op->shards.count; i++) {
        struct ts_shard_record shard;
        ts_registered_shard(run, op, memory, i, &shard);
        if (ts_shard_record_reserved_size(&shard) > env->record_max) {
            ret_detail->resource = "record";
            ret_detail->infra.text[0] = '\0';
            return TS_REGISTER_SHARDS_RESOURCE_EXHAUSTED;
        }
    }
    return TS_REGISTER_SHARDS_OK;
}

enum ts_register_shards_error
ts_register_shards_step(const struct ts_run_record *run, const struct ts_register_env *env,
                        const struct ts_register_op *op, struct ts_manifest_memory *memory,
                        struct ts_run_step *ret_step, struct ts_coord_detail *ret_detail) {
    ts_assert(env->now.ms != 0);
    if (run == NULL)
        return TS_REGISTER_SHARDS_RUN_NOT_FOUND;
    if (!ts_tenant_id_equal(&run->tenant, &op->tenant)) {
        ret_detail->expected_tenant = op->tenant;
        return TS_REGISTER_SHARDS_TENANT_MISMATCH;
    }
    const struct ts_payload_hash hash = ts_payload_hash_register(run->run, op->shards, op->from);
    bool is_replay;
    if (!find_registration(run, op, hash, &is_replay, ret_detail))
        return TS_REGISTER_SHARDS_OP_ID_CONFLICT;
    if (is_replay) {
        /* The manifest was valid the first time and has not changed. This check only computes the ids
         * again. */
        if (ts_manifest_check(run->run, op->op_id, op->shards, memory, &ret_detail->manifest) !=
            TS_MANIFEST_FAULT_OK)
            return TS_REGISTER_SHARDS_MANIFEST_INVALID;
        replay(ret_step);
        return TS_REGISTER_SHARDS_OK;
    }
    enum ts_register_shards_error error = check_register(run, env, op, memory, ret_detail);
    if (error != TS_REGISTER_SHARDS_OK)
        return error;
    const uint64_t registered = run->registered + op->shards.count - env->already_there;
    const bool is_whole = registered >= run->announced.count;
    begin(run, run->status == TS_RUN_INITIALIZING && is_whole, ret_step);
    if (is_whole)
        ret_step->record.status = ret_step->guard.status = TS_RUN_ACTIVE;
    ret_step->record.registered = registered;
    ts_run_op_log_record(&ret_step->record.op_log, TS_RUN_OP_REGISTER_SHARDS, op->op_id, hash, env->now);
    ret_step->event = run_event(TS_EVENT_SHARDS_REGISTERED, run->run, env->now);
    ret_step->event.count = op->shards.count - env->already_there;
    return TS_REGISTER_SHARDS_OK;
}

static enum ts_run_status status_after(enum ts_run_op_kind kind) {
    switch (kind) {
    case TS_RUN_OP_COMPLETE_RUN:
        return TS_RUN_DONE;
    case TS_RUN_OP_FAIL_RUN:
        return TS_RUN_FAILED;
    case TS_RUN_OP_CANCEL_RUN:
        return TS_RUN_CANCELLED;
    case TS_RUN_OP_REGISTER_SHARDS:
        break;
    }
    ts_unreachable("registering does not end a run");
}

enum ts_run_transition_error ts_end_run_step(const struct ts_run_record *run, const struct ts_end_run_op *op,
                                             uint64_t active_shards, struct ts_logical_time now,
                                             struct ts_run_step *ret_step,
                                             struct ts_coord_detail *ret_detail) {
    ts_assert(now.ms != 0);
    const enum ts_run_status target = status_after(op->kind);
    if (run == NULL)
        return TS_RUN_TRANSITION_RUN_NOT_FOUND;
    if (!ts_tenant_id_equal(&run->tenant, &op->tenant)) {
        ret_detail->expected_tenant = op->tenant;
        return TS_RUN_TRANSITION_TENANT_MISMATCH;
    }
    const struct ts_payload_hash hash = ts_payload_hash_end_run(op->kind, run->run);
    bool is_replay;
    if (!find_replay(run, op->op_id, hash, &is_replay, ret_detail))
        return TS_RUN_TRANSITION_OP_ID_CONFLICT;
    if (is_replay) {
        replay(ret_step);
        return TS_RUN_TRANSITION_OK;
    }
    ret_detail->run_status = run->status;
    if (ts_run_status_is_terminal(run->status))
        return TS_RUN_TRANSITION_RUN_TERMINAL;
    if (target == TS_RUN_DONE && (run->status != TS_RUN_ACTIVE || active_shards > 0)) {
        ret_detail->has_target = true;
        ret_detail->target_status = target;
        return TS_RUN_TRANSITION_WRONG_STATUS;
    }
    begin(run, true, ret_step);
    ret_step->record.status = target;
    ret_step->guard.status = target;
    ts_run_op_log_record(&ret_step->record.op_log, op->kind, op->op_id, hash, now);
    ret_step->record.ended_at = ts_ring_from_newest(&ret_step->record.op_log, 0)->executed_at;
    ret_step->event = run_event(TS_EVENT_RUN_ENDED, run->run, now);
    ret_step->event.run_status = target;
    return TS_RUN_TRANSITION_OK;
}

enum ts_delete_run_error ts_delete_run_step(const struct ts_run_record *run,
                                            const struct ts_tenant_id *tenant,
                                            struct ts_coord_detail *ret_detail) {
    if (run == NULL)
        return TS_DELETE_RUN_OK;
    if (!ts_tenant_id_equal(&run->tenant, tenant)) {
        ret_detail->expected_tenant = *tenant;
        return TS_DELETE_RUN_TENANT_MISMATCH;
    }
    if (!ts_run_status_is_terminal(run->status)) {
        ret_detail->run_status = run->status;
        ret_detail->has_target = false;
        return TS_DELETE_RUN_WRONG_STATUS;
    }
    return TS_DELETE_RUN_OK;
}
