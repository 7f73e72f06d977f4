#include "coord/core/split_step.h"

#include "base/assert.h"
#include "base/endian.h"
#include "coord/core/validate.h"
#include "leased.h"

#include <string.h>

static enum ts_split_error invalid(enum ts_split_validation_error error, size_t child,
                                   struct ts_coord_detail *ret_detail) {
    ret_detail->split = (struct ts_split_detail){.error = error, .child = child};
    return TS_SPLIT_SPLIT_INVALID;
}

static enum ts_split_error check_spawn_cap(const struct ts_shard_record *record, size_t count,
                                           struct ts_coord_detail *ret_detail) {
    const size_t spawned = ts_spawned_count(record->spawned);
    const bool too_many_at_once = count > TS_SPLIT_CHILD_MAX;
    if (!too_many_at_once && spawned + count <= TS_SPAWNED_MAX)
        return TS_SPLIT_OK;
    invalid(TS_SPLIT_FAULT_SPAWN_LIMIT_EXCEEDED, 0, ret_detail);
    ret_detail->split.limit =
        (struct ts_limit_detail){.current = too_many_at_once ? 0 : spawned,
                                 .additional = count,
                                 .max = too_many_at_once ? TS_SPLIT_CHILD_MAX : TS_SPAWNED_MAX};
    return TS_SPLIT_SPLIT_INVALID;
}

static enum ts_split_error check_limits(const struct ts_split_env *env, size_t count,
                                        struct ts_coord_detail *ret_detail) {
    struct ts_limit_detail limit;
    if (ts_shard_limits_allow(&env->limits, count, &limit))
        return TS_SPLIT_OK;
    invalid(TS_SPLIT_FAULT_SHARD_LIMIT_EXCEEDED, 0, ret_detail);
    ret_detail->split.limit = limit;
    return TS_SPLIT_SPLIT_INVALID;
}

/* Checks that the new ids differ from each other, from the parent, from the parent's earlier children, and
 * from existing records. */
static enum ts_split_error check_collisions(const struct ts_shard_record *record,
                                            const struct ts_split_env *env, const struct ts_shard_id *ids,
                                            size_t count, struct ts_coord_detail *ret_detail) {
    for (size_t i = 0; i < count; i++) {
        bool collides = ids[i].v == record->key.shard.v;
        for (size_t k = 0; k < i; k++)
            collides |= ids[k].v == ids[i].v;
        for (size_t k = 0; k < ts_spawned_count(record->spawned); k++)
            collides |= ts_spawned_at(record->spawned, k).v == ids[i].v;
        for (size_t k = 0; k < env->taken_count; k++)
            collides |= env->taken[k].v == ids[i].v;
        if (collides)
            return invalid(TS_SPLIT_FAULT_DERIVED_ID_COLLISION, i, ret_detail);
    }
    return TS_SPLIT_OK;
}

static enum ts_split_error no_room(struct ts_coord_detail *ret_detail) {
    ret_detail->resource = "record";
    ret_detail->infra.text[0] = '\0';
    return TS_SPLIT_RESOURCE_EXHAUSTED;
}

static void append_spawned(struct ts_shard_record *record, struct ts_split_memory *memory,
                           const struct ts_shard_id *ids, size_t count) {
    const size_t before = record->spawned.bytes.len;
    if (before > 0)
        memcpy(memory->spawned, record->spawned.bytes.data, before);
    for (size_t i = 0; i < count; i++)
        ts_le64_store(ids[i].v, memory->spawned + before + 8 * i);
    record->spawned.bytes = ts_bytes_of(memory->spawned, before + 8 * count);
}

static void make_child(const struct ts_shard_record *parent, const struct ts_new_shard *child,
                       struct ts_shard_id id, struct ts_shard_record *ret_record) {
    *ret_record = (struct ts_shard_record){
        .tenant = parent->tenant,
        .key = {parent->key.run, id},
        .has_parent = true,
        .parent = parent->key.shard,
        .status = TS_SHARD_ACTIVE,
        .semantics = parent->semantics,
        .spec = child->spec,
        .cursor = child->cursor,
    };
}

void ts_split_replace_child(const struct ts_shard_record *parent, const struct ts_split_replace_op *op,
                            const struct ts_split_replace_result *result, size_t index,
                            struct ts_shard_record *ret_record) {
    ts_assert(index < result->count && result->count == op->children.count);
    make_child(parent, &op->children.list[index], result->children[index], ret_record);
}

void ts_split_residual_child(const struct ts_shard_record *parent, const struct ts_split_residual_op *op,
                             const struct ts_split_residual_result *result,
                             struct ts_shard_record *ret_record) {
    make_child(parent, &op->residual, result->residual, ret_record);
    ret_record->spec.range.end = parent->spec.range.end;
}

/* Answers a replay with the ids of the children. A split_replace is the last operation on its shard, so its
 * children are at the end of the list of spawned shards. */
static void replay_replace(const struct ts_shard_record *record, const struct ts_split_replace_op *op,
                           struct ts_split_replace_result *ret_result) {
    const size_t spawned = ts_spawned_count(record->spawned);
    ts_assert(op->children.count <= spawned && op->children.count <= TS_SPLIT_CHILD_MAX);
    ret_result->count = op->children.count;
    for (size_t i = 0; i < op->children.count; i++)
        ret_result->children[i] = ts_spawned_at(record->spawned, spawned - op->children.count + i);
}

static enum ts_split_error check_replace(const struct ts_shard_record *record, const struct ts_split_env *env,
                                         const struct ts_split_replace_op *op,
                                         struct ts_split_replace_result *ret_result,
                                         struct ts_coord_detail *ret_detail) {
    const size_t count = op->children.count;
    enum ts_split_error error =
        ts_split_error_from_coord(coord__check_lease(record, &env->step, &op->by, ret_detail));
    if (error != TS_SPLIT_OK)
        return error;
    if (ts_split_coverage_check(record->spec.range, op->children, &ret_detail->split) != TS_SPLIT_FAULT_OK)
        return TS_SPLIT_SPLIT_INVALID;
    if ((error = check_spawn_cap(record, count, ret_detail)) != TS_SPLIT_OK)
        return error;
    if ((error = check_limits(env, count, ret_detail)) != TS_SPLIT_OK)
        return error;
    ret_result->count = count;
    for (size_t i = 0; i < count; i++)
        ret_result->children[i] = ts_derived_shard_id(record->key, op->by.op_id, TS_DERIVED_CHILD,
                                                      (uint32_t)(ts_spawned_count(record->spawned) + i));
    if ((error = check_collisions(record, env, ret_result->children, count, ret_detail)) != TS_SPLIT_OK)
        return error;
    if (ts_shard_record_reserved_size(record) + 8 * count > env->step.record_max)
        return no_room(ret_detail);
    for (size_t i = 0; i < count; i++) {
        struct ts_shard_record child;
        make_child(record, &op->children.list[i], ret_result->children[i], &child);
        if (ts_shard_record_reserved_size(&child) > env->step.record_max)
            return no_room(ret_detail);
    }
    return TS_SPLIT_OK;
}

enum ts_split_replace_error
ts_split_replace_step(const struct ts_shard_record *record, const struct ts_split_env *env,
                      const struct ts_split_replace_op *op, struct ts_split_memory *memory,
                      struct ts_shard_step *ret_step, struct ts_split_replace_result *ret_result,
                      struct ts_coord_detail *ret_detail) {
    const struct ts_payload_hash hash =
        ts_payload_hash_split_replace(ts_lease_shard(&op->by.lease), op->children);
    const struct ts_op_log_entry *entry = NULL;
    enum ts_coord_error found = coord__find_replay(record, &env->step, &op->by, hash, &entry, ret_detail);
    if (found != TS_COORD_OK)
        return ts_split_error_from_coord(found);
    if (entry != NULL) {
        coord__replay(record, entry, ret_step);
        replay_replace(record, op, ret_result);
        return TS_SPLIT_OK;
    }
    struct ts_split_replace_result result;
    enum ts_split_error error = check_replace(record, env, op, &result, ret_detail);
    if (error != TS_SPLIT_OK)
        return error;
    coord__execute(record, &env->step, &op->by, TS_SHARD_OP_SPLIT_REPLACE, hash, ret_step);
    coord__end(&ret_step->record, TS_SHARD_SPLIT);
    append_spawned(&ret_step->record, memory, result.children, result.count);
    ret_step->event = coord__event(TS_EVENT_SPLIT, record, env->step.now);
    ret_step->event.count = result.count;
    *ret_result = result;
    return TS_SPLIT_OK;
}

/* Finds the residual of this operation in the list of spawned shards. The residual's id is derived from its
 * index in the list. */
static bool find_residual(const struct ts_shard_record *record, struct ts_op_id op_id,
                          struct ts_shard_id *ret_id) {
    for (size_t i = ts_spawned_count(record->spawned); i-- > 0;) {
        struct ts_shard_id id = ts_derived_shard_id(record->key, op_id, TS_DERIVED_RESIDUAL, (uint32_t)i);
        if (id.v == ts_spawned_at(record->spawned, i).v) {
            *ret_id = id;
            return true;
        }
    }
    return false;
}

static struct ts_residual_ranges cut(struct ts_key_range range, struct ts_bytes at) {
    return (struct ts_residual_ranges){.kept = {range.start, at}, .residual = {at, range.end}};
}

static enum ts_split_error residual_conflict(const struct ts_split_residual_op *op,
                                             struct ts_payload_hash hash,
                                             struct ts_coord_detail *ret_detail) {
    ret_detail->op_id = op->by.op_id;
    ret_detail->detail__private.expected_hash = (struct ts_payload_hash){0};
    ret_detail->detail__private.actual_hash = hash;
    return TS_SPLIT_OP_ID_CONFLICT;
}

/* Searches for a replay. If the result is OK and *ret_replayed is true, the operation was done earlier. */
static enum ts_split_error replay_residual(const struct ts_shard_record *record,
                                           const struct ts_split_env *env,
                                           const struct ts_split_residual_op *op, struct ts_payload_hash hash,
                                           struct ts_shard_step *ret_step,
                                           struct ts_split_residual_result *ret_result, bool *ret_replayed,
                                           struct ts_coord_detail *ret_detail) {
    const struct ts_op_log_entry *entry = NULL;
    enum ts_coord_error found = coord__find_replay(record, &env->step, &op->by, hash, &entry, ret_detail);
    if (found != TS_COORD_OK)
        return ts_split_error_from_coord(found);
    *ret_replayed = false;
    struct ts_shard_id id;
    if (!ts_tenant_id_equal(&record->tenant, &op->by.tenant) || !find_residual(record, op->by.op_id, &id))
        return entry == NULL ? TS_SPLIT_OK : residual_conflict(op, hash, ret_detail);
    if (entry == NULL && ts_key_range_contains(record->spec.range, op->residual.spec.range.start))
        return residual_conflict(op, hash, ret_detail);
    const struct ts_op_log_entry forgotten = {.kind = TS_SHARD_OP_SPLIT_RESIDUAL,
                                              .result = TS_OP_RESULT_COMPLETED};
    coord__replay(record, entry != NULL ? entry : &forgotten, ret_step);
    ret_result->residual = id;
    *ret_replayed = true;
    return TS_SPLIT_OK;
}

static enum ts_split_error check_residual(const struct ts_shard_record *record,
                                          const struct ts_split_env *env,
                                          const struct ts_split_residual_op *op,
                                          struct ts_split_residual_result *ret_result,
                                          struct ts_coord_detail *ret_detail) {
    enum ts_split_error error =
        ts_split_error_from_coord(coord__check_lease(record, &env->step, &op->by, ret_detail));
    if (error != TS_SPLIT_OK)
        return error;
    const struct ts_residual_ranges ranges = cut(record->spec.range, op->residual.spec.range.start);
    if (ts_split_residual_check(record->spec.range, ranges, &op->residual, &record->cursor,
                                &ret_detail->split) != TS_SPLIT_FAULT_OK)
        return TS_SPLIT_SPLIT_INVALID;
    if ((error = check_spawn_cap(record, 1, ret_detail)) != TS_SPLIT_OK)
        return error;
    if ((error = check_limits(env, 1, ret_detail)) != TS_SPLIT_OK)
        return error;
    ret_result->residual = ts_derived_shard_id(record->key, op->by.op_id, TS_DERIVED_RESIDUAL,
                                               (uint32_t)ts_spawned_count(record->spawned));
    if ((error = check_collisions(record, env, &ret_result->residual, 1, ret_detail)) != TS_SPLIT_OK)
        return error;
    struct ts_shard_record child;
    ts_split_residual_child(record, op, ret_result, &child);
    const size_t parent_size =
        ts_shard_record_reserved_size(record) - record->spec.range.end.len + ranges.kept.end.len + 8;
    if (parent_size > env->step.record_max || ts_shard_record_reserved_size(&child) > env->step.record_max)
        return no_room(ret_detail);
    return TS_SPLIT_OK;
}

enum ts_split_residual_error
ts_split_residual_step(const struct ts_shard_record *record, const struct ts_split_env *env,
                       const struct ts_split_residual_op *op, struct ts_split_memory *memory,
                       struct ts_shard_step *ret_step, struct ts_split_residual_result *ret_result,
                       struct ts_coord_detail *ret_detail) {
    const struct ts_payload_hash hash =
        ts_payload_hash_split_residual(ts_lease_shard(&op->by.lease), &op->residual);
    bool replayed = false;
    enum ts_split_error error =
        replay_residual(record, env, op, hash, ret_step, ret_result, &replayed, ret_detail);
    if (error != TS_SPLIT_OK || replayed)
        return error;
    struct ts_split_residual_result result;
    error = check_residual(record, env, op, &result, ret_detail);
    if (error != TS_SPLIT_OK)
        return error;
    coord__execute(record, &env->step, &op->by, TS_SHARD_OP_SPLIT_RESIDUAL, hash, ret_step);
    ret_step->record.spec.range = cut(record->spec.range, op->residual.spec.range.start).kept;
    append_spawned(&ret_step->record, memory, &result.residual, 1);
    ret_step->event = coord__event(TS_EVENT_SPLIT, record, env->step.now);
    ret_step->event.count = 1;
    *ret_result = result;
    return TS_SPLIT_OK;
}
