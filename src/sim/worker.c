/*
 * The behaviour of workers. While there are faults, they work and make every mistake that a worker can make.
 * Afterwards they finish the work:
 *
 *     wild:  holding?  no:  claim, acquire anything, repeat an old operation, look, unpark, register, end the run
 *                      yes: checkpoint, renew, complete, park, release, split, write; or forget the shard; or a mistake:
 *                           a cursor that goes back, children with a gap, an old lease, another worker's lease
 *     calm:  create the run, claim, checkpoint, complete; unpark parked shards; complete the run
 */
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the process of a worker ---- */

static void tell_event(void *context, const struct ts_event *event) {
    struct sim__worker *worker = context;
    sim__event(worker->actor.world, "event", (uint64_t)event->kind, event->shard.shard.v, event->fence.v,
               event->at.ms);
}

bool sim__process_open(struct sim__worker *worker, const struct ts_coord_worker *who) {
    struct sim__world *world = worker->actor.world;
    const struct ts_coord_options options = {
        .seed = ts_prng_next(&world->prng),
        .tries_max = 8 + (uint32_t)sim__below(world, 16),
        .event = tell_event,
        .context = worker,
    };
    const struct ts_coord_io io = sim__coord_io(worker);
    worker->coord = ts_coord_new_over(&io, &options);
    if (worker->coord != NULL && who != NULL)
        worker->session = ts_coord_session_new(worker->coord, who);
    return worker->coord != NULL && (who == NULL || worker->session != NULL);
}

static bool open_process(struct sim__worker *worker) {
    const struct sim__world *world = worker->actor.world;
    const struct ts_coord_worker who = {.tenant = world->tenants[worker->tenant],
                                        .worker = worker->id,
                                        .pin = world->runs[worker->home].config.pin};
    return sim__process_open(worker, worker->number % 2 == 0 ? &who : NULL);
}

void sim__process_close(struct sim__worker *worker) {
    ts_coord_session_free(worker->session);
    worker->session = NULL;
    ts_coord_free(worker->coord);
    worker->coord = NULL;
    ts_txn_virtual_free(worker->txn);
    worker->txn = NULL;
}

/* Begins again after a crash of the process. The worker may still use its leases, as a zombie would. */
static void begin_again(struct sim__worker *worker) {
    sim__let_go(worker);
    sim__process_close(worker);
    worker->actor.dead = false;
    worker->actor.in_txn = 0;
    sim__sleep(&worker->actor, sim__below(worker->actor.world, 2000));
}

/* ---- choosing ---- */

static const struct sim__shard *any_shard(struct sim__world *world, uint32_t run) {
    const struct sim__model *model = world->model;
    for (int tries = 0; tries < 4 && model->shard_count > 0; tries++) {
        const struct sim__shard *shard = model->shards[sim__below(world, model->shard_count)];
        if (shard->run == run)
            return shard;
    }
    return NULL;
}

static const struct sim__shard *parked_shard(struct sim__world *world, uint32_t run) {
    const struct sim__model *model = world->model;
    for (size_t i = 0; i < model->shard_count; i++) {
        const struct sim__shard *shard = model->shards[i];
        if (shard->run == run && shard->now.version != 0 && shard->now.record.status == TS_SHARD_PARKED)
            return shard;
    }
    return NULL;
}

static struct sim__op wanted(const struct sim__worker *worker, enum ts_sim_operation kind) {
    return (struct sim__op){.kind = kind,
                            .worker = worker->number,
                            .tenant = worker->tenant,
                            .run = worker->run,
                            .shard = worker->shard,
                            .lease = worker->lease};
}

/* Chooses a key for the holder's next checkpoint. Returns false if no key is left. */
static bool next_key(struct sim__worker *worker, uint32_t *ret_key) {
    const uint32_t from = worker->has_position ? worker->position : worker->from;
    if (from >= worker->to)
        return false;
    const uint32_t left = worker->to - from;
    const uint32_t stride = left > 16 ? left / 4 : left;
    *ret_key = from + (uint32_t)sim__below(worker->actor.world, stride);
    return true;
}

static void issue_new(struct sim__worker *worker, const struct sim__op *op) {
    struct sim__op *made = sim__op_new(worker->actor.world, op);
    if (made == NULL) {
        sim__broken(worker->actor.world, "memory", "there is none left");
        return;
    }
    /* Like real workers: after an unknown result, repeats the call with the same op id. */
    for (int tries = 0; tries < 3; tries++) {
        const bool done = sim__issue(worker, made);
        if (done || worker->actor.dead || made->refused || sim__chance(worker->actor.world, 40))
            return;
        worker->actor.world->result->counts.troubles[TS_SIM_TROUBLE_REPLAY]++;
    }
}

/* ---- with a shard ---- */

static void checkpoint(struct sim__worker *worker) {
    struct sim__op op = wanted(worker, TS_SIM_OP_CHECKPOINT);
    if (!next_key(worker, &op.key)) {
        sim__let_go(worker);
        return;
    }
    op.has_token = sim__chance(worker->actor.world, 30);
    op.token = (uint32_t)sim__below(worker->actor.world, 1000);
    issue_new(worker, &op);
}

static void complete(struct sim__worker *worker) {
    struct sim__op op = wanted(worker, TS_SIM_OP_COMPLETE);
    if (!next_key(worker, &op.key)) {
        sim__let_go(worker);
        return;
    }
    issue_new(worker, &op);
}

static void park(struct sim__worker *worker) {
    struct sim__op op = wanted(worker, TS_SIM_OP_PARK);
    op.reason = (enum ts_park_reason)sim__below(worker->actor.world, 5);
    issue_new(worker, &op);
}

static void release(struct sim__worker *worker) {
    struct sim__op op = wanted(worker, TS_SIM_OP_RELEASE);
    op.blame = sim__chance(worker->actor.world, 50) ? TS_BLAME_NOBODY : TS_BLAME_SHARD;
    issue_new(worker, &op);
}

static void write_row(struct sim__worker *worker) {
    struct sim__op op = wanted(worker, TS_SIM_OP_WRITE);
    op.is_delayed = sim__chance(worker->actor.world, 20);
    issue_new(worker, &op);
}

static void split_replace(struct sim__worker *worker, enum sim__mistake mistake) {
    struct sim__world *world = worker->actor.world;
    struct sim__op op = wanted(worker, TS_SIM_OP_SPLIT_REPLACE);
    const size_t children = 2 + (size_t)sim__below(world, SIM_CUTS_MAX - 2);
    const uint32_t width = worker->to - worker->from;
    if (worker->to <= worker->from || width < 8 * children)
        return;
    op.cut_count = children + 1;
    for (size_t i = 0; i <= children; i++)
        op.cuts[i] = worker->from + (uint32_t)(width * i / children);
    op.mistake = mistake;
    if (mistake == SIM_MISTAKE_SHORT && op.cuts[children] == SIM_KEYS)
        op.mistake = SIM_MISTAKE_GAP;
    issue_new(worker, &op);
}

static void split_residual(struct sim__worker *worker) {
    struct sim__op op = wanted(worker, TS_SIM_OP_SPLIT_RESIDUAL);
    const uint32_t from = worker->has_position ? worker->position + 1 : worker->from + 1;
    if (worker->to <= from || worker->to - from < 8)
        return;
    op.key = from + (uint32_t)sim__below(worker->actor.world, worker->to - from);
    issue_new(worker, &op);
}

/* ---- mistakes ---- */

static void cursor_mistake(struct sim__worker *worker) {
    struct sim__world *world = worker->actor.world;
    struct sim__op op = wanted(worker, sim__chance(world, 80) ? TS_SIM_OP_CHECKPOINT : TS_SIM_OP_COMPLETE);
    if (worker->has_position && worker->position > worker->from && sim__chance(world, 70))
        op.key = worker->from + (uint32_t)sim__below(world, worker->position - worker->from);
    else
        op.key = (uint32_t)sim__below(world, SIM_KEYS);
    issue_new(worker, &op);
}

/* Tries an operation under a lease other than the current one. */
static void use_lease(struct sim__worker *worker, const struct ts_lease *lease) {
    struct sim__world *world = worker->actor.world;
    const uint32_t run = sim__run_of(world, lease);
    const struct sim__shard *shard = sim__shard_find(world->model, run, ts_lease_shard(lease).shard.v);
    struct sim__op op = {.kind = TS_SIM_OP_CHECKPOINT,
                         .worker = worker->number,
                         .tenant = worker->tenant,
                         .run = run,
                         .shard = ts_lease_shard(lease).shard.v,
                         .lease = *lease};
    /* Uses the cursor's current position, so that only the lease can be the reason for a refusal. */
    if (shard != NULL && shard->now.version != 0) {
        const struct ts_shard_record *record = &shard->now.record;
        op.key = record->cursor.has_key ? sim__key_number(record->cursor.last_key, 0)
                                        : sim__key_number(record->spec.range.start, 0);
    }
    switch (sim__below(world, 8)) {
    case 0:
        op.kind = TS_SIM_OP_COMPLETE;
        break;
    case 1:
        op.kind = TS_SIM_OP_PARK;
        break;
    case 2:
        sim__renew(worker, lease);
        return;
    case 3:
        op.kind = TS_SIM_OP_RELEASE;
        break;
    case 4:
        op.kind = TS_SIM_OP_WRITE;
        break;
    default:
        break;
    }
    issue_new(worker, &op);
}

static void use_old_lease(struct sim__worker *worker) {
    struct sim__world *world = worker->actor.world;
    if (worker->old_count == 0)
        return;
    const size_t there = worker->old_count < SIM_OLD_LEASES ? worker->old_count : SIM_OLD_LEASES;
    const struct ts_lease *old = &worker->old[sim__below(world, there)];
    /* Prefers an old lease of the shard that the worker holds again. */
    for (size_t i = 0; i < there && worker->holding; i++) {
        if (ts_lease_shard(&worker->old[i]).shard.v == worker->shard &&
            ts_lease_fence(&worker->old[i]).v != ts_lease_fence(&worker->lease).v)
            old = &worker->old[i];
    }
    world->result->counts.troubles[TS_SIM_TROUBLE_ZOMBIE]++;
    const struct ts_lease lease = *old;
    use_lease(worker, &lease);
}

static void use_foreign_lease(struct sim__worker *worker) {
    struct sim__world *world = worker->actor.world;
    const struct sim__worker *other = &world->workers[sim__below(world, world->worker_count)];
    if (!other->holding || other == worker)
        return;
    world->result->counts.troubles[TS_SIM_TROUBLE_MISTAKE]++;
    const struct ts_lease lease = other->lease;
    use_lease(worker, &lease);
}

static void repeat_something(struct sim__worker *worker) {
    struct sim__world *world = worker->actor.world;
    const struct sim__model *model = world->model;
    if (model->op_count == 0)
        return;
    /* Chooses, in most cases, an operation that the log still contains. */
    const uint64_t back =
        sim__below(world, sim__chance(world, 80) && model->op_count > 24 ? 24 : model->op_count);
    struct sim__op *op = model->ops[model->op_count - 1 - back];
    if (op->kind == TS_SIM_OP_CREATE_RUN && sim__chance(world, 80))
        return;
    world->result->counts.troubles[TS_SIM_TROUBLE_REPLAY]++;
    (void)sim__issue(worker, op);
}

/* Takes an op id that the log contains, and uses it for another operation. */
static void reuse_an_id(struct sim__worker *worker) {
    const struct sim__model *model = worker->actor.world->model;
    const struct sim__shard *shard = sim__shard_find(model, worker->run, worker->shard);
    if (shard == NULL || shard->now.version == 0 || ts_ring_count(&shard->now.record.op_log) == 0)
        return;
    const struct sim__op *op =
        sim__op_find(model, ts_ring_from_newest(&shard->now.record.op_log, 0)->op_id.v);
    if (op != NULL && (op->kind == TS_SIM_OP_CHECKPOINT || op->kind == TS_SIM_OP_COMPLETE))
        sim__reuse_id(worker, op);
}

/* ---- without a shard ---- */

static void unpark(struct sim__worker *worker, const struct sim__shard *shard) {
    struct sim__op op = wanted(worker, TS_SIM_OP_UNPARK);
    op.run = shard->run;
    op.shard = shard->id;
    issue_new(worker, &op);
}

static void end_run(struct sim__worker *worker, enum ts_run_op_kind kind) {
    struct sim__op op = wanted(worker, TS_SIM_OP_END_RUN);
    op.shard = 0;
    op.end = kind;
    issue_new(worker, &op);
}

static void register_more(struct sim__worker *worker) {
    struct sim__world *world = worker->actor.world;
    struct sim__op op = wanted(worker, TS_SIM_OP_REGISTER);
    op.shard = 0;
    op.cut_count = 2 + (size_t)sim__below(world, 3);
    for (size_t i = 0; i < op.cut_count; i++)
        op.cuts[i] = (uint32_t)(SIM_KEYS * i / (op.cut_count - 1));
    issue_new(worker, &op);
}

static void create_run(struct sim__worker *worker, uint32_t run) {
    struct sim__world *world = worker->actor.world;
    struct sim__op *op = sim__op_find(world->model, world->runs[run].create_op);
    if (op == NULL) {
        struct sim__op create = wanted(worker, TS_SIM_OP_CREATE_RUN);
        create.run = run;
        create.tenant = world->runs[run].tenant;
        create.shard = 0;
        op = sim__op_new(world, &create);
        if (op == NULL) {
            sim__broken(world, "memory", "there is none left");
            return;
        }
        world->runs[run].create_op = op->id;
    }
    /* Each step is a transaction over several stores. If all workers tried at once, hardly any transaction
     * would succeed. */
    if (world->runs[run].in_steps && op->under_way >= (world->calm ? 1 : 2))
        sim__sleep(&worker->actor, 200);
    else
        (void)sim__issue(worker, op);
}

static bool is_founded(const struct sim__world *world, uint32_t run) {
    return world->model->runs[run].version != 0 &&
           world->model->runs[run].record.status != TS_RUN_INITIALIZING;
}

static bool is_half_registered(const struct sim__world *world, uint32_t run) {
    const struct ts_run_record *record = &world->model->runs[run].record;
    return world->model->runs[run].version != 0 && record->status == TS_RUN_INITIALIZING &&
           record->registered < record->announced.count;
}

/* ---- turns ---- */

static void wild_turn_holding(struct sim__worker *worker) {
    struct sim__world *world = worker->actor.world;
    if (sim__chance(world, world->temper.split)) {
        if (sim__chance(world, 50))
            split_replace(worker, SIM_MISTAKE_NONE);
        else
            split_residual(worker);
        return;
    }
    const uint64_t what = sim__below(world, 100);
    if (what < 40)
        checkpoint(worker);
    else if (what < 50)
        write_row(worker);
    else if (what < 61)
        sim__renew(worker, &worker->lease);
    else if (what < 68)
        complete(worker);
    else if (what < 72)
        park(worker);
    else if (what < 75)
        release(worker);
    else if (what < 79)
        cursor_mistake(worker);
    else if (what < 82)
        split_replace(worker, (enum sim__mistake)(1 + sim__below(world, 3)));
    else if (what < 87)
        use_old_lease(worker);
    else if (what < 90)
        repeat_something(worker);
    else if (what < 92)
        reuse_an_id(worker);
    else if (what < 96)
        sim__sleep(&worker->actor, sim__below(world, 2 * world->runs[worker->run].config.lease_duration_ms));
    else
        sim__let_go(worker);
}

/* If only a part of the run's list is registered, sometimes tries a step of another list or a claim. Both
 * must be refused. Returns whether it has tried one. */
static bool try_too_early(struct sim__worker *worker) {
    struct sim__world *world = worker->actor.world;
    enum ts_error_variant variant;
    if (!is_half_registered(world, worker->run))
        return false;
    if (sim__chance(world, 30)) {
        sim__register_wrong_step(worker, worker->run);
        return true;
    }
    const bool claims = sim__chance(world, 40);
    if (claims)
        sim__claim(worker, &variant);
    return claims;
}

static void wild_turn_free(struct sim__worker *worker) {
    struct sim__world *world = worker->actor.world;
    const uint64_t what = sim__below(world, 100);
    enum ts_error_variant variant;
    if (try_too_early(worker))
        return;
    if (!is_founded(world, worker->run)) {
        create_run(worker, worker->run);
    } else if (sim__chance(world, world->temper.end)) {
        end_run(worker, !sim__chance(world, world->temper.fail) ? TS_RUN_OP_COMPLETE_RUN
                        : sim__chance(world, 50)                ? TS_RUN_OP_FAIL_RUN
                                                                : TS_RUN_OP_CANCEL_RUN);
    } else if (what < 55) {
        sim__claim(worker, &variant);
    } else if (what < 70) {
        /* a run of the worker's own tenant, or of the other tenant */
        const uint32_t run = sim__chance(world, 85) ? worker->run : (worker->tenant + 1) % SIM_TENANTS;
        const struct sim__shard *shard = any_shard(world, run);
        sim__acquire(worker, run, shard == NULL || sim__chance(world, 3) ? 12345 : shard->id);
    } else if (what < 76) {
        repeat_something(worker);
    } else if (what < 84) {
        use_old_lease(worker);
    } else if (what < 88) {
        use_foreign_lease(worker);
    } else if (what < 92) {
        sim__look(worker, sim__chance(world, 85) ? worker->run : (uint32_t)sim__below(world, SIM_RUNS));
    } else if (what < 96) {
        const struct sim__shard *shard = parked_shard(world, worker->run);
        if (shard != NULL)
            unpark(worker, shard);
    } else {
        register_more(worker);
    }
}

static bool has_ended(const struct sim__world *world, uint32_t run) {
    const struct sim__run_model *model = &world->model->runs[run];
    return model->version != 0 && ts_run_status_is_terminal(model->record.status);
}

static void calm_turn(struct sim__worker *worker) {
    struct sim__world *world = worker->actor.world;
    if (has_ended(world, worker->run)) {
        sim__let_go(worker);
        sim__sleep(&worker->actor, 500);
    } else if (!is_founded(world, worker->run)) {
        create_run(worker, worker->run);
    } else if (worker->holding) {
        if (worker->has_position && sim__chance(world, 50))
            complete(worker);
        else
            checkpoint(worker);
    } else {
        enum ts_error_variant variant = TS_VARIANT_NONE;
        const struct sim__shard *parked = parked_shard(world, worker->run);
        if (parked != NULL && sim__chance(world, 70))
            unpark(worker, parked);
        else
            sim__claim(worker, &variant);
        if (variant == TS_VARIANT_NONE_AVAILABLE && (parked == NULL || sim__chance(world, 40)))
            end_run(worker, TS_RUN_OP_COMPLETE_RUN);
        if (variant == TS_VARIANT_THROTTLED || variant == TS_VARIANT_NONE_AVAILABLE)
            sim__sleep(&worker->actor, 200 + sim__below(world, 800));
    }
}

void sim__worker_main(void *context) {
    struct sim__worker *worker = context;
    struct sim__world *world = worker->actor.world;
    while (!world->over) {
        if (worker->actor.dead)
            begin_again(worker);
        if (worker->coord == NULL && !open_process(worker)) {
            sim__broken(world, "memory", "there is none left");
            break;
        }
        if (world->calm)
            calm_turn(worker);
        else if (worker->holding)
            wild_turn_holding(worker);
        else
            wild_turn_free(worker);
        sim__sleep(&worker->actor, sim__below(world, world->calm ? 20 : 120));
    }
    if (worker->number == 0 && (worker->coord != NULL || open_process(worker))) {
        for (uint32_t run = 0; run < world->run_count && !sim__is_broken(world); run++)
            sim__audit(worker, &world->tenants[world->runs[run].tenant], world->runs[run].id);
    }
    sim__let_go(worker);
    sim__process_close(worker);
}

const struct ts_worker_id *sim__worker_id(const struct sim__world *world, uint32_t worker) {
    return &world->workers[worker].id;
}

uint32_t sim__worker_tenant(const struct sim__world *world, uint32_t worker) {
    return world->workers[worker].tenant;
}
