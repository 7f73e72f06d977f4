/* Worlds of a fleet: repositories, force-pushes, and when such a world has ended. */
#include "base/endian.h"
#include "base/hash64.h"
#include "fleet.h"

#include <stdlib.h>
#include <string.h>

/* ---- what the rules find ---- */

/* Returns whether the rules find something in the object. Rules 1 find everything that rules 0 find, and
 * more. */
bool sim__fleet_finds(uint32_t rules, uint32_t object) {
    return ts_xxh64_of_id(object) % 6 < (rules == 0 ? 2 : 4);
}

/* Returns the finding in an object. Several objects may have the same secret. */
uint32_t sim__fleet_finding_of(uint32_t object) {
    return (uint32_t)(ts_xxh64_of_id(object + UINT64_C(1000)) % FLEET_FINDINGS);
}

struct ts_fleet_finding sim__fleet_finding_id(uint32_t finding) {
    struct ts_fleet_finding id = {{0}};
    ts_be64_store(ts_xxh64_of_id(finding + UINT64_C(2000)), id.bytes);
    ts_be64_store(finding, id.bytes + 8);
    return id;
}

void sim__fleet_refs_digest(uint32_t target, uint32_t state, uint8_t ret_refs[static 32]) {
    memset(ret_refs, 0, 32);
    ts_be64_store(target, ret_refs);
    ts_be64_store(state, ret_refs + 8);
}

/* ---- repositories ---- */

static sim__fleet_objects some_objects(struct sim__world *world, uint64_t count) {
    sim__fleet_objects objects = 0;
    for (uint64_t i = 0; i < count; i++)
        objects |= sim__fleet_bit((uint32_t)sim__below(world, FLEET_OBJECTS));
    return objects;
}

static void choose_repo(struct sim__world *world, uint32_t index) {
    struct sim__fleet_repo *repo = &world->fleet->repos[index];
    ts_be64_store(ts_xxh64_of_id(index + UINT64_C(77)), repo->id.bytes);
    ts_be64_store(index, repo->id.bytes + 8);
    repo->states[0] = some_objects(world, 4 + sim__below(world, 10));
    repo->state_count = 1;
    repo->is_gone = sim__chance(world, 8);
    if (sim__chance(world, 15))
        repo->lost = some_objects(world, 3);
}

/* Makes a force-push: the refs may lose some objects, and reach some new objects. */
static void push_somewhere(struct sim__world *world) {
    const uint32_t index = (uint32_t)sim__below(world, world->fleet->repo_count);
    struct sim__fleet_repo *repo = &world->fleet->repos[index];
    if (repo->state_count == FLEET_STATES_MAX)
        return;
    const sim__fleet_objects now = repo->states[repo->state_count - 1];
    const sim__fleet_objects kept = sim__chance(world, 50) ? now : now & ~some_objects(world, 20);
    repo->states[repo->state_count++] = kept | some_objects(world, 1 + sim__below(world, 5));
    sim__event(world, "pushes", index, repo->state_count, repo->states[repo->state_count - 1]);
}

/* Removes a repository. If a run has not finished the target of the repository, a worker parks the shard. */
static void remove_some_repo(struct sim__world *world) {
    const uint32_t index = (uint32_t)sim__below(world, world->fleet->repo_count);
    world->fleet->repos[index].is_gone = true;
    sim__event(world, "is gone", index);
}

static void disturb(struct sim__world *world) {
    if (world->calm)
        return;
    if (sim__odds(world, world->fleet->push_odds))
        push_somewhere(world);
    if (sim__odds(world, world->fleet->gone_odds))
        remove_some_repo(world);
}

/* ---- beginning and end ---- */

static void choose_run(struct sim__world *world, uint32_t index) {
    struct sim__fleet_run *run = &world->fleet->runs[index];
    run->id.v = 7 + index;
    run->rules = (uint32_t)sim__below(world, 2);
    run->config = ts_run_config_default();
    run->config.lease_duration_ms = 1000 + sim__below(world, 3000);
    run->config.attempts = 0; /* no limit, so that shards are parked only because of their repositories */
    run->config.semantics = TS_CURSOR_COMPLETED;
}

static bool begin(struct sim__world *world) {
    struct sim__fleet *fleet = calloc(1, sizeof *fleet);
    world->fleet = fleet;
    if (fleet == NULL)
        return false;
    fleet->workers = calloc(world->options.workers, sizeof *fleet->workers);
    fleet->repo_count = world->options.shards;
    fleet->push_odds = sim__chance(world, 50) ? 100 : 400;
    fleet->gone_odds = sim__chance(world, 50) ? 0 : 15;
    fleet->damage_percent = sim__chance(world, 50) ? 5 : 25;
    fleet->stop_percent = sim__chance(world, 50) ? 0 : 4;
    world->temper = (struct sim__temper){.slow = sim__chance(world, 30) ? 80 : 30};
    for (uint32_t i = 0; i < fleet->repo_count; i++)
        choose_repo(world, i);
    for (uint32_t i = 0; i < FLEET_RUNS; i++)
        choose_run(world, i);
    world->lease_ms = fleet->runs[0].config.lease_duration_ms;
    return fleet->workers != NULL;
}

static void end(struct sim__world *world) {
    struct sim__fleet *fleet = world->fleet;
    if (fleet == NULL)
        return;
    for (uint32_t i = 0; i < TS_SIM_STORES_MAX; i++)
        free(fleet->places[i].rows);
    ts_rows_release(&fleet->raw);
    free(fleet->workers);
    free(fleet);
}

static bool begin_worker(struct sim__worker *worker) {
    (void)worker;
    return true;
}

static void end_worker(struct sim__worker *worker) {
    (void)worker;
}

static bool has_ended(const struct sim__world *world) {
    for (uint32_t run = 0; run < FLEET_RUNS; run++) {
        if (world->fleet->runs[run].status != TS_RUN_DONE)
            return false;
    }
    return sim__fleet_is_clean(world) && sim__late_calls(world) == 0;
}

static void say_what_is_left(struct sim__world *world) {
    for (uint32_t run = 0; run < FLEET_RUNS; run++) {
        if (world->fleet->runs[run].status != TS_RUN_DONE)
            sim__broken(world, "liveness", "run %u does not end", (unsigned)run);
    }
    sim__broken(world, "liveness", "a promise, a waste mark or a late call is left");
}

static uint64_t work(const struct sim__world *world) {
    return (uint64_t)FLEET_RUNS * world->fleet->repo_count;
}

const struct sim__kind sim__fleet_kind = {.begin = begin,
                                          .end = end,
                                          .begin_worker = begin_worker,
                                          .end_worker = end_worker,
                                          .worker_main = sim__fleet_worker_main,
                                          .disturb = disturb,
                                          .check = sim__fleet_check,
                                          .check_restarted = sim__fleet_check_restarted,
                                          .has_ended = has_ended,
                                          .check_end = sim__fleet_check_end,
                                          .say_what_is_left = say_what_is_left,
                                          .work = work};
