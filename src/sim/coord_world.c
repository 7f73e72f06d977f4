/* Worlds of coordination: what the seed decides, and when such a world has ended. */
#include "base/assert.h"
#include "check.h"
#include "worker.h"

#include <stdlib.h>

static bool everything_has_ended(const struct sim__world *world) {
    for (uint32_t run = 0; run < world->run_count; run++) {
        const struct sim__run_model *model = &world->model->runs[run];
        if (model->version == 0 || !ts_run_status_is_terminal(model->record.status))
            return false;
    }
    return sim__is_quiet(world) && sim__late_calls(world) == 0;
}

static void say_what_is_left(struct sim__world *world) {
    for (size_t i = 0; i < world->model->shard_count; i++) {
        const struct sim__shard *shard = world->model->shards[i];
        if (shard->now.version != 0 && shard->now.record.status == TS_SHARD_ACTIVE)
            sim__broken(world, "liveness", "shard %llx does not end", (unsigned long long)shard->id);
    }
    if (!sim__is_quiet(world))
        sim__broken(world, "liveness", "a promise is never settled");
    if (sim__late_calls(world) > 0)
        sim__broken(world, "liveness", "a late call does not arrive");
    sim__broken(world, "liveness", "a run does not end");
}

static void choose_run(struct sim__world *world, uint32_t index) {
    struct sim__run *run = &world->runs[index];
    run->id.v = 7 + index;
    run->tenant = index % SIM_TENANTS;
    run->config = ts_run_config_default();
    run->config.lease_duration_ms = 1000 + sim__below(world, 5000);
    run->config.cooldown_ms =
        sim__chance(world, 50) ? 0 : sim__below(world, run->config.lease_duration_ms / 2);
    run->config.attempts = sim__chance(world, 50) ? 0 : 2 + (uint32_t)sim__below(world, 4);
    if (sim__chance(world, 50))
        run->config.pin.b[sim__below(world, TS_PIN_LEN)] = (uint8_t)(1 + sim__below(world, 3));
    run->in_steps = sim__chance(world, 50);
    run->config.semantics = sim__chance(world, 50) ? TS_CURSOR_COMPLETED : TS_CURSOR_DISPATCHED;
}

static bool begin(struct sim__world *world) {
    world->run_count = world->options.workers < SIM_RUNS ? world->options.workers : SIM_RUNS;
    world->temper = (struct sim__temper){.split = sim__chance(world, 30) ? 30 : 10,
                                         .end = sim__chance(world, 20) ? 10 : 2,
                                         .fail = sim__chance(world, 20) ? 50 : 4,
                                         .slow = sim__chance(world, 30) ? 80 : 30};
    for (uint32_t run = 0; run < SIM_RUNS; run++)
        choose_run(world, run);
    world->lease_ms = world->runs[0].config.lease_duration_ms;
    world->model = sim__model_new(world->options.workers);
    return world->model != NULL;
}

static void end(struct sim__world *world) {
    sim__model_free(world->model);
}

static bool begin_worker(struct sim__worker *worker) {
    const struct sim__world *world = worker->actor.world;
    /* One worker in four, starting with the second, works for the other tenant. One worker in four, starting
     * with the third, works for the other run of the first tenant. */
    worker->tenant = worker->number % 4 == 1 ? 1 : 0;
    worker->home = worker->number % 4 == 2 ? 2 : worker->tenant;
    worker->run = worker->home;
    const size_t shards = world->options.shards > SIM_CUTS_MAX ? world->options.shards : SIM_CUTS_MAX;
    worker->scratch = calloc(1, sizeof *worker->scratch);
    worker->manifest = malloc(sizeof *worker->manifest);
    worker->shards = calloc(shards, sizeof *worker->shards);
    worker->keys = calloc(shards, sizeof *worker->keys);
    if (worker->scratch == NULL || worker->manifest == NULL || worker->shards == NULL || worker->keys == NULL)
        return false;
    ts_acquire_scratch_init(worker->scratch);
    return true;
}

static void end_worker(struct sim__worker *worker) {
    free(worker->scratch);
    free(worker->manifest);
    free(worker->shards);
    free(worker->keys);
}

static uint64_t work(const struct sim__world *world) {
    return world->model->shard_count;
}

const struct sim__kind sim__coord_kind = {.begin = begin,
                                          .end = end,
                                          .begin_worker = begin_worker,
                                          .end_worker = end_worker,
                                          .worker_main = sim__worker_main,
                                          .check = sim__check_place,
                                          .check_restarted = sim__check_restarted,
                                          .has_ended = everything_has_ended,
                                          .say_what_is_left = say_what_is_left,
                                          .work = work};
