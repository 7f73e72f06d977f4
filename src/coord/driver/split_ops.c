/*
 * A split writes the parent on its store, the children on their stores and the limits on the first store in
 * one transaction.
 *
 * The ids of the children are derived from the parent's record and the op id, so the children can be read
 * before the step. The write checks again that they are absent.
 */
#include "driver.h"

#include "base/assert.h"

/* The data that both kinds of split need in addition to the step. Filled in every round. */
struct split_job {
    struct coord__job job;
    const struct ts_lease_op *by;
    enum ts_derived_shard_kind kind;
    size_t want; /* number of children */
    struct ts_split_env env;
    struct ts_shard_id ids[TS_SPLIT_CHILD_MAX];
    struct ts_shard_id taken[TS_SPLIT_CHILD_MAX];
    struct coord__key keys[TS_SPLIT_CHILD_MAX];
    struct coord__key guard_key;
    /* The keys to read, grouped by place. In each group the guard's key follows the keys of the children. */
    struct ts_bytes key_bytes[2 * TS_SPLIT_CHILD_MAX];
    size_t key_of[TS_SPLIT_CHILD_MAX];   /* indexes of the children, sorted by place */
    size_t call_count;                   /* number of calls: one for each place with children */
    uint32_t places[TS_SPLIT_CHILD_MAX]; /* the places of the calls */
    uint64_t guards[TS_SPLIT_CHILD_MAX]; /* versions of the guards at these places */

    const struct ts_split_replace_op *replace;
    struct ts_split_replace_result replaced;
    const struct ts_split_residual_op *residual;
    struct ts_split_residual_result split_off;
};

/* Sets up one read for each place with children. */
static void call_children(struct split_job *mine) {
    struct coord__job *job = &mine->job;
    const struct ts_shard_record *record = &job->seen->record;
    const size_t spawned = ts_spawned_count(record->spawned);
    for (size_t i = 0; i < mine->want; i++) {
        mine->ids[i] = ts_derived_shard_id(record->key, mine->by->op_id, mine->kind, (uint32_t)(spawned + i));
        mine->keys[i] = coord__key_shard((struct ts_shard_key){record->key.run, mine->ids[i]});
    }
    mine->guard_key = coord__key_guard(record->key.run);
    mine->call_count = 0;
    size_t at = 0, child = 0;
    for (uint32_t place = 0; place < job->coord->io.place_count; place++) {
        const size_t from = at;
        for (size_t i = 0; i < mine->want; i++) {
            if (ts_coord_place_of_shard(job->coord, mine->ids[i]) != place)
                continue;
            mine->key_of[child++] = i;
            mine->key_bytes[at++] = coord__key_bytes(&mine->keys[i]);
        }
        if (at == from)
            continue;
        mine->key_bytes[at++] = coord__key_bytes(&mine->guard_key);
        mine->places[mine->call_count] = place;
        (void)coord__call_read(job->work, mine->call_count++, place, mine->key_bytes + from, at - from);
    }
}

/*
 * Returns whether this operation has made the child, in an earlier try or in another process: the child's id
 * is derived from the parent and the op id, and the child's record names the parent. If so, the transaction
 * is committed, but the parent's record that was read does not show it yet.
 */
static bool is_own_child(const struct split_job *mine, const struct ts_row *row) {
    struct ts_shard_record child;
    return ts_shard_record_decode(row->value, &child) == TS_RECORD_OK && child.has_parent &&
           child.parent.v == mine->job.shard.shard.v;
}

static void find_taken(struct split_job *mine) {
    size_t at = 0;
    mine->env.taken = mine->taken;
    mine->env.taken_count = 0;
    for (size_t call = 0; call < mine->call_count; call++) {
        const struct ts_rows *rows = &mine->job.work->rows[call];
        const size_t children = rows->count - 1;
        for (size_t i = 0; i < children; i++, at++) {
            if (rows->rows[i].version != 0) {
                mine->taken[mine->env.taken_count++] = mine->ids[mine->key_of[at]];
                if (is_own_child(mine, &rows->rows[i]))
                    mine->job.ahead = COORD__AHEAD_SAME;
            }
        }
        mine->guards[call] = rows->rows[children].version;
        if (mine->guards[call] == 0)
            mine->job.ahead = COORD__AHEAD_OTHER;
    }
}

static enum coord__end gather(struct coord__job *job) {
    struct split_job *mine = (struct split_job *)job;
    mine->env = (struct ts_split_env){0};
    /* The step refuses such a split before it needs the children, so nothing is read. */
    if (!job->seen->has_record || mine->want > TS_SPLIT_CHILD_MAX ||
        !ts_tenant_id_equal(&job->seen->record.tenant, job->tenant))
        return COORD__END_DONE;
    call_children(mine);
    const struct coord__key tenant = coord__key_tenant_limit(&job->seen->record.tenant);
    const struct coord__key global = coord__key_global_limit();
    const struct ts_bytes limits[] = {coord__key_bytes(&tenant), coord__key_bytes(&global)};
    (void)coord__call_read(job->work, mine->call_count, 0, limits, 2);
    const struct coord__result result = coord__read(job->coord, job->work, mine->call_count + 1);
    if (result.result != TS_STORE_OK)
        return coord__failed(&job->tries, &result, &job->detail);
    find_taken(mine);
    const struct ts_rows *rows = &job->work->rows[mine->call_count];
    mine->env.limits.tenant.max = job->coord->options.tenant_shard_max;
    mine->env.limits.global.max = job->coord->options.global_shard_max;
    enum coord__end end =
        coord__decode_counter(&rows->rows[0], &mine->env.limits.tenant.current, &job->detail);
    if (end == COORD__END_DONE)
        end = coord__decode_counter(&rows->rows[1], &mine->env.limits.global.current, &job->detail);
    return end;
}

static void extend(struct coord__job *job) {
    struct split_job *mine = (struct split_job *)job;
    const struct ts_shard_record *parent = &job->seen->record;
    struct coord__plan *plan = &job->work->plan;
    for (size_t i = 0; i < mine->want; i++) {
        struct ts_shard_record child;
        if (mine->kind == TS_DERIVED_CHILD)
            ts_split_replace_child(parent, mine->replace, &mine->replaced, i, &child);
        else
            ts_split_residual_child(parent, mine->residual, &mine->split_off, &child);
        coord__plan_new_shard(job->coord, job->work, &child);
    }
    /* The write checks these guards, so that the run cannot end before a store has its children. The parent's
     * own guard is already checked. */
    for (size_t i = 0; i < mine->call_count; i++)
        if (mine->places[i] != job->place)
            coord__plan_check(plan, mine->places[i], &mine->guard_key, mine->guards[i]);
    const struct coord__key tenant = coord__key_tenant_limit(&parent->tenant);
    const struct coord__key global = coord__key_global_limit();
    const struct coord__key of_run = coord__key_run_shards(parent->key.run);
    const struct ts_coord_options *options = &job->coord->options;
    const int64_t more = (int64_t)mine->want;
    coord__plan_add(plan, 0, &tenant, (struct coord__change){more, options->tenant_shard_max},
                    COORD__TAG_LIMIT);
    coord__plan_add(plan, 0, &global, (struct coord__change){more, options->global_shard_max},
                    COORD__TAG_LIMIT);
    coord__plan_add(plan, 0, &of_run, (struct coord__change){more, INT64_MAX}, COORD__TAG_COUNTER);
}

static enum ts_error_variant step_replace(struct coord__job *job, const struct ts_shard_record *record,
                                          const struct ts_step_env *env) {
    struct split_job *mine = (struct split_job *)job;
    mine->env.step = *env;
    return ts_split_error_variant(ts_split_replace_step(record, &mine->env, mine->replace, &job->work->split,
                                                        &job->result, &mine->replaced, &job->detail));
}

static enum ts_error_variant step_residual(struct coord__job *job, const struct ts_shard_record *record,
                                           const struct ts_step_env *env) {
    struct split_job *mine = (struct split_job *)job;
    mine->env.step = *env;
    return ts_split_error_variant(ts_split_residual_step(
        record, &mine->env, mine->residual, &job->work->split, &job->result, &mine->split_off, &job->detail));
}

/* Begins a split. The caller sets the fields for its kind of split; gather fills in the rest in every
 * round. */
static void begin(struct split_job *mine, struct ts_coord *coord, struct coord__seen *seen,
                  const struct ts_lease_op *by) {
    mine->job = coord__job_by(coord, seen, by);
    mine->job.gather = gather;
    mine->job.extend = extend;
    mine->by = by;
}

enum ts_split_replace_error
ts_coord_split_replace(struct ts_coord *coord, const struct ts_split_replace_op *op, struct coord__seen *seen,
                       struct ts_split_replace_result *ret_result, struct ts_coord_outcome *ret_outcome,
                       struct ts_coord_detail *ret_detail) {
    struct split_job mine;
    begin(&mine, coord, seen, &op->by);
    mine.job.step = step_replace;
    mine.kind = TS_DERIVED_CHILD;
    mine.want = op->children.count;
    mine.replace = op;
    const enum ts_error_variant error = coord__job_run(&mine.job, ret_outcome, ret_detail);
    if (error == TS_VARIANT_NONE)
        *ret_result = mine.replaced;
    return ts_split_error_of(error);
}

enum ts_split_residual_error
ts_coord_split_residual(struct ts_coord *coord, const struct ts_split_residual_op *op,
                        struct coord__seen *seen, struct ts_split_residual_result *ret_result,
                        struct ts_coord_outcome *ret_outcome, struct ts_coord_detail *ret_detail) {
    struct split_job mine;
    begin(&mine, coord, seen, &op->by);
    mine.job.step = step_residual;
    mine.kind = TS_DERIVED_RESIDUAL;
    mine.want = 1;
    mine.residual = op;
    const enum ts_error_variant error = coord__job_run(&mine.job, ret_outcome, ret_detail);
    if (error == TS_VARIANT_NONE)
        *ret_result = mine.split_off;
    return ts_split_error_of(error);
}
