#include "coord/core/shard_step.h"

#include "base/assert.h"
#include "base/checked.h"
#include "coord/core/hash.h"
#include "coord/core/plant.h"
#include "coord/core/validate.h"
#include "leased.h"

struct ts_event coord__event(enum ts_event_kind kind, const struct ts_shard_record *record,
                             struct ts_logical_time at) {
    return (struct ts_event){.kind = kind, .shard = record->key, .at = at, .fence = record->fence};
}

enum ts_coord_error coord__find_replay(const struct ts_shard_record *record, const struct ts_step_env *env,
                                       const struct ts_lease_op *by, struct ts_payload_hash hash,
                                       const struct ts_op_log_entry **ret_entry,
                                       struct ts_coord_detail *ret_detail) {
    if (record == NULL || env->guard == NULL) {
        ret_detail->shard = ts_lease_shard(&by->lease);
        return TS_COORD_SHARD_NOT_FOUND;
    }
    *ret_entry = NULL;
    if (!ts_tenant_id_equal(&record->tenant, &by->tenant))
        return TS_COORD_OK;
    return ts_check_op_idempotency(&record->op_log, by->op_id, hash, ret_entry, ret_detail);
}

enum ts_coord_error coord__check_lease(const struct ts_shard_record *record, const struct ts_step_env *env,
                                       const struct ts_lease_op *by, struct ts_coord_detail *ret_detail) {
    return ts_validate_lease(record, env->guard, &by->tenant, &by->lease, env->now, ret_detail);
}

void coord__replay(const struct ts_shard_record *record, const struct ts_op_log_entry *entry,
                   struct ts_shard_step *ret_step) {
    ret_step->outcome = TS_OUTCOME_REPLAYED;
    ret_step->result = ts_op_log_result_of(&record->op_log, entry);
    ret_step->write = false;
    ret_step->before = (struct ts_logical_time){0};
}

static void begin(const struct ts_shard_record *record, struct ts_logical_time before,
                  struct ts_shard_step *ret_step) {
    ret_step->outcome = TS_OUTCOME_EXECUTED;
    ret_step->result = TS_OP_RESULT_COMPLETED;
    ret_step->write = true;
    ret_step->before = before;
    ts_shard_record_copy(record, &ret_step->record);
}

/* Returns the time before which an operation under the lease must be written. */
static struct ts_logical_time end_of_lease(const struct ts_shard_record *record) {
    const struct ts_logical_time never = {0};
    return coord__is_planted(TS_COORD_PLANT_EXPIRY) ? never : record->holder.deadline;
}

void coord__execute(const struct ts_shard_record *record, const struct ts_step_env *env,
                    const struct ts_lease_op *by, enum ts_shard_op_kind kind, struct ts_payload_hash hash,
                    struct ts_shard_step *ret_step) {
    begin(record, end_of_lease(record), ret_step);
    if (!coord__is_planted(TS_COORD_PLANT_OPLOG) || ts_op_log_find(&record->op_log, by->op_id) == NULL)
        ts_op_log_record(&ret_step->record.op_log, kind, by->op_id, hash, env->now);
}

void coord__end(struct ts_shard_record *record, enum ts_shard_status status) {
    record->status = status;
    record->has_holder = false;
    record->holder = (struct ts_lease_holder){0};
}

static void raise_fence(struct ts_shard_record *record) {
    ts_assert(record->fence.v != UINT64_MAX);
    record->fence.v++;
}

static struct ts_logical_time deadline_from(const struct ts_step_env *env) {
    return (struct ts_logical_time){ts_saturating_add_u64(env->now.ms, env->guard->config.lease_duration_ms)};
}

static bool has_attempts_left(const struct ts_shard_record *record, const struct ts_run_guard *guard) {
    return guard->config.attempts == 0 || record->attempts < guard->config.attempts;
}

static void park_for_attempts(const struct ts_shard_record *record, const struct ts_step_env *env,
                              struct ts_shard_step *ret_step) {
    begin(record, (struct ts_logical_time){0}, ret_step);
    struct ts_shard_record *next = &ret_step->record;
    coord__end(next, TS_SHARD_PARKED);
    next->has_park_reason = true;
    next->park_reason = TS_PARK_TOO_MANY_ERRORS;
    ts_op_log_record(&next->op_log, TS_SHARD_OP_PARK, ts_parking_op_id(record->key, record->fence),
                     ts_payload_hash_park(record->key, TS_PARK_TOO_MANY_ERRORS), env->now);
    ret_step->event = coord__event(TS_EVENT_PARKED, next, env->now);
    ret_step->event.reason = TS_PARK_TOO_MANY_ERRORS;
}

static enum ts_acquire_error acquire_refused(const struct ts_shard_record *record,
                                             const struct ts_step_env *env, const struct ts_acquire_op *op,
                                             struct ts_coord_detail *ret_detail) {
    ret_detail->shard = op->shard;
    if (record == NULL || env->guard == NULL)
        return TS_ACQUIRE_SHARD_NOT_FOUND;
    ts_assert(record->key.run.v == op->shard.run.v && record->key.shard.v == op->shard.shard.v);
    if (!ts_tenant_id_equal(&record->tenant, &op->tenant) && !coord__is_planted(TS_COORD_PLANT_TENANT)) {
        ret_detail->expected_tenant = op->tenant;
        return TS_ACQUIRE_TENANT_MISMATCH;
    }
    /* Until all announced shards are registered, the run counts as a run without shards. */
    if (env->guard->status == TS_RUN_INITIALIZING && !coord__is_planted(TS_COORD_PLANT_EARLY))
        return TS_ACQUIRE_SHARD_NOT_FOUND;
    if (ts_run_status_is_terminal(env->guard->status) || ts_shard_status_is_terminal(record->status)) {
        ret_detail->shard_status =
            ts_run_status_is_terminal(env->guard->status) ? TS_SHARD_PARKED : record->status;
        return TS_ACQUIRE_SHARD_TERMINAL;
    }
    if (ts_shard_record_is_leased_at(record, env->now)) {
        ret_detail->current_owner = record->holder.owner;
        ret_detail->deadline = record->holder.deadline;
        return TS_ACQUIRE_ALREADY_LEASED;
    }
    return TS_ACQUIRE_OK;
}

enum ts_acquire_error ts_acquire_step(const struct ts_shard_record *record, const struct ts_step_env *env,
                                      const struct ts_acquire_op *op, struct ts_shard_step *ret_step,
                                      struct ts_lease *ret_lease, struct ts_coord_detail *ret_detail) {
    ts_assert(env->now.ms != 0);
    ret_step->write = false;
    enum ts_acquire_error error = acquire_refused(record, env, op, ret_detail);
    if (error != TS_ACQUIRE_OK)
        return error;
    if (!has_attempts_left(record, env->guard)) {
        park_for_attempts(record, env, ret_step);
        ret_detail->shard_status = TS_SHARD_PARKED;
        return TS_ACQUIRE_SHARD_TERMINAL;
    }
    begin(record, (struct ts_logical_time){0}, ret_step);
    struct ts_shard_record *next = &ret_step->record;
    raise_fence(next);
    if (next->attempts < UINT32_MAX)
        next->attempts++;
    next->holder = ts_lease_holder_make(&op->worker, deadline_from(env));
    next->has_holder = true;
    *ret_lease = ts_lease_make(&(struct ts_lease_fields){.tenant = op->tenant,
                                                         .shard = op->shard,
                                                         .owner = op->worker,
                                                         .fence = next->fence,
                                                         .deadline = next->holder.deadline});
    ret_step->event = coord__event(TS_EVENT_ACQUIRED, next, env->now);
    ret_step->event.deadline = next->holder.deadline;
    return TS_ACQUIRE_OK;
}

enum ts_renew_error ts_renew_step(const struct ts_shard_record *record, const struct ts_step_env *env,
                                  const struct ts_renew_op *op, struct ts_shard_step *ret_step,
                                  struct ts_lease *ret_lease, struct ts_coord_detail *ret_detail) {
    if (record == NULL || env->guard == NULL) {
        ret_detail->shard = ts_lease_shard(&op->lease);
        return TS_RENEW_SHARD_NOT_FOUND;
    }
    enum ts_coord_error error =
        ts_validate_lease(record, env->guard, &op->tenant, &op->lease, env->now, ret_detail);
    if (error != TS_COORD_OK)
        return ts_renew_error_from_coord(error);

    begin(record, end_of_lease(record), ret_step);
    struct ts_shard_record *next = &ret_step->record;
    struct ts_logical_time deadline = deadline_from(env);
    if (deadline.ms > next->holder.deadline.ms)
        next->holder.deadline = deadline;
    struct ts_lease lease = op->lease;
    /* The lease that a worker presents may be older than the record. The lease's deadline is never later than
     * the record's. */
    if (ts_lease_deadline(&lease).ms < next->holder.deadline.ms)
        ts_lease_set_deadline(&lease, next->holder.deadline);
    *ret_lease = lease;
    ret_step->event = coord__event(TS_EVENT_RENEWED, next, env->now);
    ret_step->event.deadline = next->holder.deadline;
    return TS_RENEW_OK;
}

/* How the common part of checkpoint and complete ended. */
enum cursor_stage { CURSOR_REFUSED, CURSOR_NO_ROOM, CURSOR_REPLAYED, CURSOR_EXECUTED };

static enum cursor_stage move_cursor(const struct ts_shard_record *record, const struct ts_step_env *env,
                                     const struct ts_cursor_op *op, enum ts_shard_op_kind kind,
                                     struct ts_shard_step *ret_step, enum ts_coord_error *ret_error,
                                     struct ts_coord_detail *ret_detail) {
    const struct ts_payload_hash hash =
        ts_payload_hash_cursor(kind, ts_lease_shard(&op->by.lease), &op->cursor);
    const struct ts_op_log_entry *entry = NULL;
    *ret_error = coord__find_replay(record, env, &op->by, hash, &entry, ret_detail);
    if (*ret_error != TS_COORD_OK)
        return CURSOR_REFUSED;
    if (entry != NULL) {
        coord__replay(record, entry, ret_step);
        return CURSOR_REPLAYED;
    }
    *ret_error = coord__check_lease(record, env, &op->by, ret_detail);
    if (*ret_error == TS_COORD_OK)
        *ret_error = ts_validate_cursor_update(&record->cursor, &op->cursor, record->spec.range, ret_detail);
    if (*ret_error != TS_COORD_OK)
        return CURSOR_REFUSED;

    const size_t old_len = (record->cursor.has_key ? record->cursor.last_key.len : 0) +
                           (record->cursor.has_token ? record->cursor.token.len : 0);
    const size_t new_len = op->cursor.last_key.len + (op->cursor.has_token ? op->cursor.token.len : 0);
    if (ts_shard_record_reserved_size(record) - old_len + new_len > env->record_max) {
        ret_detail->resource = "record";
        ret_detail->infra.text[0] = '\0';
        return CURSOR_NO_ROOM;
    }
    coord__execute(record, env, &op->by, kind, hash, ret_step);
    ret_step->record.cursor = op->cursor;
    ret_step->event = coord__event(
        kind == TS_SHARD_OP_CHECKPOINT ? TS_EVENT_CHECKPOINTED : TS_EVENT_COMPLETED, record, env->now);
    ret_step->event.key_len = op->cursor.last_key.len;
    return CURSOR_EXECUTED;
}

enum ts_checkpoint_error ts_checkpoint_step(const struct ts_shard_record *record,
                                            const struct ts_step_env *env, const struct ts_cursor_op *op,
                                            struct ts_shard_step *ret_step,
                                            struct ts_coord_detail *ret_detail) {
    enum ts_coord_error error;
    switch (move_cursor(record, env, op, TS_SHARD_OP_CHECKPOINT, ret_step, &error, ret_detail)) {
    case CURSOR_REFUSED:
        return ts_checkpoint_error_from_coord(error);
    case CURSOR_NO_ROOM:
        return TS_CHECKPOINT_RESOURCE_EXHAUSTED;
    case CURSOR_REPLAYED:
        return TS_CHECKPOINT_OK;
    case CURSOR_EXECUTED:
        ret_step->record.attempts = 0;
        return TS_CHECKPOINT_OK;
    }
    ts_unreachable("every stage is handled");
}

enum ts_complete_error ts_complete_step(const struct ts_shard_record *record, const struct ts_step_env *env,
                                        const struct ts_cursor_op *op, struct ts_shard_step *ret_step,
                                        struct ts_coord_detail *ret_detail) {
    enum ts_coord_error error;
    switch (move_cursor(record, env, op, TS_SHARD_OP_COMPLETE, ret_step, &error, ret_detail)) {
    case CURSOR_REFUSED:
        return ts_complete_error_from_coord(error);
    case CURSOR_NO_ROOM:
        return TS_COMPLETE_RESOURCE_EXHAUSTED;
    case CURSOR_REPLAYED:
        return TS_COMPLETE_OK;
    case CURSOR_EXECUTED:
        coord__end(&ret_step->record, TS_SHARD_DONE);
        return TS_COMPLETE_OK;
    }
    ts_unreachable("every stage is handled");
}

enum ts_park_error ts_park_step(const struct ts_shard_record *record, const struct ts_step_env *env,
                                const struct ts_park_op *op, struct ts_shard_step *ret_step,
                                struct ts_coord_detail *ret_detail) {
    const struct ts_payload_hash hash = ts_payload_hash_park(ts_lease_shard(&op->by.lease), op->reason);
    const struct ts_op_log_entry *entry = NULL;
    enum ts_coord_error error = coord__find_replay(record, env, &op->by, hash, &entry, ret_detail);
    if (error != TS_COORD_OK)
        return ts_park_error_from_coord(error);
    if (entry != NULL) {
        coord__replay(record, entry, ret_step);
        return TS_PARK_OK;
    }
    error = coord__check_lease(record, env, &op->by, ret_detail);
    if (error != TS_COORD_OK)
        return ts_park_error_from_coord(error);
    coord__execute(record, env, &op->by, TS_SHARD_OP_PARK, hash, ret_step);
    coord__end(&ret_step->record, TS_SHARD_PARKED);
    ret_step->record.has_park_reason = true;
    ret_step->record.park_reason = op->reason;
    ret_step->event = coord__event(TS_EVENT_PARKED, record, env->now);
    ret_step->event.reason = op->reason;
    return TS_PARK_OK;
}

enum ts_release_error ts_release_step(const struct ts_shard_record *record, const struct ts_step_env *env,
                                      const struct ts_release_op *op, struct ts_shard_step *ret_step,
                                      struct ts_coord_detail *ret_detail) {
    const struct ts_payload_hash hash = ts_payload_hash_release(ts_lease_shard(&op->by.lease), op->blame);
    const struct ts_op_log_entry *entry = NULL;
    enum ts_coord_error error = coord__find_replay(record, env, &op->by, hash, &entry, ret_detail);
    if (error != TS_COORD_OK)
        return ts_release_error_from_coord(error);
    if (entry != NULL) {
        coord__replay(record, entry, ret_step);
        return TS_RELEASE_OK;
    }
    error = coord__check_lease(record, env, &op->by, ret_detail);
    if (error != TS_COORD_OK)
        return ts_release_error_from_coord(error);
    coord__execute(record, env, &op->by, TS_SHARD_OP_RELEASE, hash, ret_step);
    struct ts_shard_record *next = &ret_step->record;
    coord__end(next, TS_SHARD_ACTIVE);
    if (op->blame == TS_BLAME_NOBODY && next->attempts > 0 && !coord__is_planted(TS_COORD_PLANT_BLAME))
        next->attempts--;
    if (coord__is_planted(TS_COORD_PLANT_RELEASE))
        next->fence.v--;
    ret_step->event = coord__event(TS_EVENT_RELEASED, record, env->now);
    ret_step->event.blame = op->blame;
    return TS_RELEASE_OK;
}

enum ts_write_error ts_write_step(const struct ts_shard_record *record, const struct ts_step_env *env,
                                  const struct ts_write_op *op, struct ts_logical_time *ret_before,
                                  struct ts_coord_detail *ret_detail) {
    if (record == NULL || env->guard == NULL) {
        ret_detail->shard = ts_lease_shard(&op->lease);
        return TS_WRITE_SHARD_NOT_FOUND;
    }
    enum ts_coord_error error =
        ts_validate_lease(record, env->guard, &op->tenant, &op->lease, env->now, ret_detail);
    if (error != TS_COORD_OK)
        return ts_write_error_from_coord(error);
    *ret_before = end_of_lease(record);
    return TS_WRITE_OK;
}

enum ts_unpark_error ts_unpark_step(const struct ts_shard_record *record, const struct ts_step_env *env,
                                    const struct ts_unpark_op *op, struct ts_shard_step *ret_step,
                                    struct ts_coord_detail *ret_detail) {
    ts_assert(env->now.ms != 0);
    if (record == NULL || env->guard == NULL) {
        ret_detail->shard = op->shard;
        return TS_UNPARK_SHARD_NOT_FOUND;
    }
    ts_assert(record->key.run.v == op->shard.run.v && record->key.shard.v == op->shard.shard.v);
    if (!ts_tenant_id_equal(&record->tenant, &op->tenant)) {
        ret_detail->expected_tenant = op->tenant;
        return TS_UNPARK_TENANT_MISMATCH;
    }
    const struct ts_payload_hash hash = ts_payload_hash_unpark(op->shard);
    const struct ts_op_log_entry *entry;
    if (ts_check_op_idempotency(&record->op_log, op->op_id, hash, &entry, ret_detail) != TS_COORD_OK)
        return TS_UNPARK_OP_ID_CONFLICT;
    if (entry != NULL) {
        coord__replay(record, entry, ret_step);
        return TS_UNPARK_OK;
    }
    if (ts_run_status_is_terminal(env->guard->status)) {
        ret_detail->run_status = env->guard->status;
        return TS_UNPARK_RUN_TERMINAL;
    }
    if (record->status != TS_SHARD_PARKED) {
        ret_detail->shard_status = record->status;
        return TS_UNPARK_NOT_PARKED;
    }
    begin(record, (struct ts_logical_time){0}, ret_step);
    struct ts_shard_record *next = &ret_step->record;
    raise_fence(next);
    next->status = TS_SHARD_ACTIVE;
    next->has_park_reason = false;
    next->park_reason = (enum ts_park_reason)0;
    next->attempts = 0;
    ts_op_log_record(&next->op_log, TS_SHARD_OP_UNPARK, op->op_id, hash, env->now);
    ret_step->event = coord__event(TS_EVENT_UNPARKED, next, env->now);
    return TS_UNPARK_OK;
}
