/* The answers to workers must match what happened in the stores. */
#include "base/assert.h"
#include "check.h"

static void check_done(struct sim__world *world, struct sim__op *op, const struct sim__answer *answer) {
    const bool executed = answer->outcome.outcome == TS_OUTCOME_EXECUTED;
    /* After a power loss, a commit may be a prepared transaction again, and happen later. Until then the world
     * is not quiet. */
    if (op->applied == 0 && sim__is_quiet(world))
        sim__broken(world, "op-log", "operation %llu was answered as done, but was not done",
                    (unsigned long long)op->id);
    /* Several submitters of one list may each have registered some of its steps. */
    op->executed += executed && !(op->kind == TS_SIM_OP_CREATE_RUN && world->runs[op->run].in_steps);
    if (executed && op->executed > op->applied && op->executed > 1)
        sim__broken(world, "op-log", "operation %llu was twice answered as done for the first time",
                    (unsigned long long)op->id);
    if (answer->child_count == 0)
        return;
    if (op->applied == 0 && op->child_count == 0) {
        op->child_count = answer->child_count;
        for (size_t i = 0; i < answer->child_count && i < SIM_CUTS_MAX; i++)
            op->children[i] = answer->children[i].v;
    }
    if (answer->child_count != op->child_count) {
        sim__broken(world, "op-log", "operation %llu was answered with other children than it has",
                    (unsigned long long)op->id);
        return;
    }
    for (size_t i = 0; i < answer->child_count; i++) {
        if (answer->children[i].v != op->children[i])
            sim__broken(world, "op-log", "operation %llu was answered with other children than it has",
                        (unsigned long long)op->id);
    }
}

/* Checks that an operation in the op-log is refused only if a store does not answer or has no resources. */
static void check_remembered(struct sim__world *world, const struct sim__op *op,
                             const struct sim__answer *answer) {
    const struct sim__shard *shard = sim__shard_find(world->model, op->run, op->shard);
    if (answer->variant == TS_VARIANT_BACKEND_ERROR || answer->variant == TS_VARIANT_RESOURCE_EXHAUSTED ||
        op->shard == 0 || shard == NULL || shard->now.version == 0 ||
        ts_op_log_find(&shard->now.record.op_log, (struct ts_op_id){op->id}) == NULL)
        return;
    sim__broken(world, "op-log", "operation %llu is in the log of shard %llx, and was refused as %s",
                (unsigned long long)op->id, (unsigned long long)op->shard,
                ts_error_variant_name(answer->variant));
}

void sim__check_answer(struct sim__world *world, struct sim__op *op, const struct sim__answer *answer) {
    if (answer->ok)
        check_done(world, op, answer);
    else if (op->applied > 0)
        check_remembered(world, op, answer);
    else if (!op->perhaps && op->under_way == 0)
        op->refused = true;
}

void sim__check_lease(struct sim__world *world, uint32_t worker, const struct ts_lease *lease) {
    const struct ts_shard_key key = ts_lease_shard(lease);
    struct sim__shard *shard = NULL;
    for (uint32_t run = 0; run < SIM_RUNS; run++) {
        if (world->runs[run].id.v == key.run.v)
            shard = sim__shard_find(world->model, run, key.shard.v);
    }
    struct sim__grant *grant = shard == NULL ? NULL : sim__grant_find(shard, ts_lease_fence(lease).v);
    if (grant == NULL || grant->worker != worker) {
        sim__broken(world, "mutual exclusion", "worker %u received a lease that no record shows",
                    (unsigned)worker);
        return;
    }
    if (ts_lease_deadline(lease).ms > grant->recorded_until)
        sim__broken(world, "lease", "worker %u received a later deadline than its lease has",
                    (unsigned)worker);
    if (ts_lease_deadline(lease).ms > grant->told_until)
        grant->told_until = ts_lease_deadline(lease).ms;
}
