/* Operations on runs as workers call them. */
#include "operation.h"

struct sim__answer sim__of_end_run(struct sim__worker *worker, const struct sim__op *op) {
    struct sim__world *world = worker->actor.world;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    const struct ts_end_run_op end = {.tenant = world->tenants[op->tenant],
                                      .run = world->runs[op->run].id,
                                      .op_id = {op->id},
                                      .kind = op->end};
    const enum ts_run_transition_error error = ts_coord_end_run(worker->coord, &end, &outcome, &detail);
    const struct sim__answer answer = error == TS_RUN_TRANSITION_OK
                                          ? sim__done(&outcome)
                                          : sim__refused(ts_run_transition_error_variant(error), &detail);
    if (!worker->actor.dead)
        sim__check_sound(world, &answer, &detail);
    return answer;
}

static struct ts_register_op registration(struct sim__worker *worker, const struct sim__op *op,
                                          struct sim__key (*keys)[2], size_t count) {
    const struct sim__world *world = worker->actor.world;
    for (size_t i = 0; i < count; i++) {
        const struct sim__bounds bounds = sim__registered_bounds(world, op->run, sim__registered_id(op, i));
        keys[i][0] = sim__key_of(bounds.from);
        keys[i][1] = sim__key_of(bounds.to);
        worker->shards[i] = (struct ts_new_shard){.has_id = true,
                                                  .id = {sim__registered_id(op, i)},
                                                  .spec = {.range = {sim__start_of(&keys[i][0], bounds.from),
                                                                     sim__end_of(&keys[i][1], bounds.to)}}};
    }
    return (struct ts_register_op){.tenant = world->tenants[op->tenant],
                                   .run = world->runs[op->run].id,
                                   .op_id = {op->id},
                                   .shards = {worker->shards, count}};
}

struct sim__answer sim__of_register(struct sim__worker *worker, const struct sim__op *op) {
    struct sim__key keys[SIM_CUTS_MAX + 1][2];
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    const struct ts_register_op op_of = registration(worker, op, keys, op->cut_count - 1);
    const enum ts_register_shards_error error =
        ts_coord_register_shards(worker->coord, &op_of, worker->manifest, &outcome, &detail);
    const struct sim__answer answer = error == TS_REGISTER_SHARDS_OK
                                          ? sim__done(&outcome)
                                          : sim__refused(ts_register_shards_error_variant(error), &detail);
    if (!worker->actor.dead)
        sim__check_sound(worker->actor.world, &answer, &detail);
    return answer;
}

struct sim__answer sim__of_create(struct sim__worker *worker, const struct sim__op *op) {
    struct sim__world *world = worker->actor.world;
    const struct ts_create_run_op create = {.tenant = world->tenants[op->tenant],
                                            .run = world->runs[op->run].id,
                                            .config = world->runs[op->run].config};
    struct ts_coord_outcome outcome = {0};
    struct ts_coord_detail detail = {0};
    const struct ts_register_op shards = registration(worker, op, worker->keys, world->options.shards);
    struct sim__answer answer;
    if (world->runs[op->run].in_steps) {
        const struct ts_coord_list_op list = {.create = create,
                                              .shards = shards.shards,
                                              .op_id = {op->id},
                                              .step_max =
                                                  1 + (size_t)sim__below(world, 1 + shards.shards.count / 2)};
        const enum ts_create_run_error error =
            ts_coord_create_run_in_steps(worker->coord, &list, NULL, &outcome, &detail);
        answer = error == TS_CREATE_RUN_OK ? sim__done(&outcome)
                                           : sim__refused(ts_create_run_error_variant(error), &detail);
    } else if (sim__chance(world, 70)) {
        const enum ts_create_run_error error = ts_coord_create_run_with_shards(
            worker->coord, &create, &shards, worker->manifest, &outcome, &detail);
        answer = error == TS_CREATE_RUN_OK ? sim__done(&outcome)
                                           : sim__refused(ts_create_run_error_variant(error), &detail);
    } else {
        (void)ts_coord_create_run(worker->coord, &create, NULL, &detail);
        const enum ts_register_shards_error error =
            ts_coord_register_shards(worker->coord, &shards, worker->manifest, &outcome, &detail);
        answer = error == TS_REGISTER_SHARDS_OK
                     ? sim__done(&outcome)
                     : sim__refused(ts_register_shards_error_variant(error), &detail);
    }
    if (!worker->actor.dead)
        sim__check_sound(world, &answer, &detail);
    return answer;
}

/* Makes a step of a list that differs from the announced list: its shards end one key too early. */
void sim__register_wrong_step(struct sim__worker *worker, uint32_t run) {
    struct sim__world *world = worker->actor.world;
    const struct ts_run_record *record = &world->model->runs[run].record;
    struct sim__op wrong = {.kind = TS_SIM_OP_CREATE_RUN,
                            .worker = worker->number,
                            .tenant = worker->tenant,
                            .run = run,
                            .id = ++world->op_ids};
    struct ts_register_op op = registration(worker, &wrong, worker->keys, world->options.shards);
    for (size_t i = 0; i < op.shards.count; i++) {
        const struct sim__bounds bounds = sim__registered_bounds(world, run, sim__registered_id(&wrong, i));
        worker->keys[i][1] = sim__key_of(bounds.to - 1);
        worker->shards[i].spec.range.end = ts_bytes_of(worker->keys[i][1].text, SIM_KEY_LEN);
    }
    op.announced = ts_announced_of(op.shards);
    op.from = record->registered;
    op.shards = (struct ts_new_shards){worker->shards + record->registered, 1};
    struct ts_coord_outcome outcome = {0};
    struct ts_coord_detail detail = {0};
    const enum ts_register_shards_error error =
        ts_coord_register_shards(worker->coord, &op, worker->manifest, &outcome, &detail);
    if (worker->actor.dead)
        return;
    const struct sim__answer answer = error == TS_REGISTER_SHARDS_OK
                                          ? sim__done(&outcome)
                                          : sim__refused(ts_register_shards_error_variant(error), &detail);
    sim__count_answer(worker, TS_SIM_OP_REGISTER, &answer);
    sim__check_sound(world, &answer, &detail);
    if (answer.ok)
        sim__broken(world, "announced", "a step of another list than the announced one was registered");
}
