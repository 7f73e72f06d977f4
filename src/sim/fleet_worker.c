/*
 * The behaviour of a worker of a fleet: it submits the next run, claims a shard, works on its unit, sweeps,
 * and completes runs without active shards. It never makes deliberate mistakes: faults of stores, clocks,
 * processes and mirrors are enough.
 */
#include "fleet_unit.h"

#include "base/assert.h"
#include "base/endian.h"

#include <stdlib.h>
#include <string.h>

enum { COMPLETE_OPS = 1000000, REGISTER_OPS = 2000000 };

/* A process of a worker. */
struct process {
    struct sim__worker *worker;
    struct sim__world *world;
    struct sim__fleet *fleet;
    struct ts_durable *durable;
    uint64_t numbers[FLEET_RUNS]; /* numbers of the runs that the process knows; 0: not known yet */
};

static void close_process(struct process *process) {
    ts_durable_free(process->durable);
    process->durable = NULL;
    memset(process->numbers, 0, sizeof process->numbers);
    sim__process_close(process->worker);
}

static bool open_process(struct process *process) {
    const struct ts_coord_worker who = {.tenant = process->world->tenants[0], .worker = process->worker->id};
    if (!sim__process_open(process->worker, &who))
        return false;
    process->durable = ts_durable_new(&(struct ts_durable_options){.coord = process->worker->coord,
                                                                   .session = process->worker->session,
                                                                   .tenant = process->world->tenants[0]});
    return process->durable != NULL;
}

static void begin_again(struct process *process) {
    close_process(process);
    process->worker->actor.dead = false;
    process->worker->actor.in_txn = 0;
    sim__sleep(&process->worker->actor, sim__below(process->world, 2000));
}

/* ---- runs ---- */

/* Stores the units of a run that does not exist yet. */
static void put_units(struct process *process, const struct sim__fleet_run *run) {
    const struct ts_fleet_unit unit = {.address = TS_BYTES("https://sim/x"),
                                       .selection = TS_BYTES("default")};
    uint8_t value[TS_FLEET_UNIT_MAX], key[TS_COORD_UNIT_KEY_LEN];
    const size_t len = ts_fleet_unit_encode(&unit, value);
    for (uint32_t i = 0; i < process->fleet->repo_count; i++) {
        const uint8_t *target = process->fleet->repos[i].id.bytes;
        ts_coord_unit_key(run->id, target, key);
        const struct ts_op op = {
            .kind = TS_OP_PUT, .key = ts_bytes_of(key, sizeof key), .value = ts_bytes_of(value, len)};
        struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {&op, 1}};
        sim__direct(process->world, ts_coord_target_home(&process->world->router, target).v, &call);
    }
}

static void create_run(struct process *process, uint32_t index) {
    const struct sim__fleet_run *run = &process->fleet->runs[index];
    const uint32_t count = process->fleet->repo_count;
    struct ts_coord_target_keys keys[FLEET_TARGETS_MAX];
    struct ts_new_shard shards[FLEET_TARGETS_MAX];
    struct ts_manifest_memory *memory = malloc(sizeof *memory);
    if (memory == NULL) {
        sim__broken(process->world, "memory", "there is none left");
        return;
    }
    put_units(process, run);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = ts_coord_target_keys_of(process->fleet->repos[i].id.bytes);
        shards[i] = (struct ts_new_shard){.has_id = true, .spec = {.range = ts_coord_target_range(&keys[i])}};
        if (!ts_coord_target_shard_id(run->id, process->fleet->repos[i].id.bytes, &process->world->router,
                                      &shards[i].id))
            ts_unreachable("a hash router has ids for every store");
    }
    const struct ts_create_run_op create = {
        .tenant = process->world->tenants[0], .run = run->id, .config = run->config};
    const struct ts_register_op op = {
        .tenant = create.tenant, .run = run->id, .op_id = {REGISTER_OPS + index}, .shards = {shards, count}};
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail;
    (void)ts_coord_create_run_with_shards(process->worker->coord, &create, &op, memory, &outcome, &detail);
    free(memory);
}

static void complete_run(struct process *process, uint32_t index) {
    const struct ts_end_run_op op = {.tenant = process->world->tenants[0],
                                     .run = process->fleet->runs[index].id,
                                     .op_id = {COMPLETE_OPS + index}};
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail;
    (void)ts_coord_complete_run(process->worker->coord, op, &outcome, &detail);
}

/* Returns the number of a run; 0 if the run does not exist yet or cannot be read. */
static uint64_t number_of(struct process *process, uint32_t index) {
    const struct ts_coord_run_query query = {process->world->tenants[0], process->fleet->runs[index].id};
    struct ts_run_record record;
    struct ts_coord_detail detail;
    if (process->numbers[index] == 0 &&
        ts_coord_get_run(process->worker->coord, &query, &record, &detail) == TS_GET_RUN_OK)
        process->numbers[index] = record.number;
    return process->numbers[index];
}

/* ---- units ---- */

static void sweep(struct process *process) {
    struct ts_durable_swept swept;
    struct ts_infra_error error;
    (void)ts_durable_sweep(process->worker->coord, &process->world->tenants[0], (struct ts_durable_stop){0},
                           &swept, &error);
}

static uint32_t target_of(const struct process *process, struct ts_bytes start) {
    for (uint32_t i = 0; i < process->fleet->repo_count; i++) {
        if (ts_bytes_equal(start, ts_bytes_of(process->fleet->repos[i].id.bytes, TS_TARGET_ID_LEN)))
            return i;
    }
    ts_unreachable("every shard has a target");
}

static void work(struct process *process, uint32_t run, const struct ts_acquire_result_view *view) {
    const struct ts_durable_run pinned = {.number = process->numbers[run],
                                          .rules = {.rules = {(uint8_t)process->fleet->runs[run].rules}}};
    struct sim__fleet_unit unit = {.worker = process->worker,
                                   .durable = process->durable,
                                   .run = run,
                                   .target = target_of(process, view->snapshot.spec.range.start)};
    ts_unit_init(&unit.unit, pinned.number, ts_unit_limits_default());
    ts_durable_begin(process->durable, &pinned);
    sim__fleet_unit_run(&unit);
    if (process->worker->actor.dead || process->world->over)
        return;
    struct ts_durable_swept swept;
    struct ts_infra_error error;
    if (unit.unit.phase == TS_PHASE_OUTER_CHECKPOINTED && sim__chance(process->world, 80))
        (void)ts_durable_tidy(process->durable, &swept, &error);
}

/* Claims a shard, and works on its unit. If no shard is available, tries to complete the run. Returns true if
 * a shard was claimed. */
static bool claim(struct process *process, uint32_t run) {
    struct ts_coord_session *session = process->worker->session;
    struct ts_acquire_result_view view;
    struct ts_coord_detail detail;
    if (number_of(process, run) == 0)
        return false;
    const enum ts_claim_error error =
        ts_coord_session_claim(session, process->fleet->runs[run].id, &view, &detail);
    if (error == TS_CLAIM_OK)
        work(process, run, &view);
    else if (error == TS_CLAIM_NONE_AVAILABLE)
        complete_run(process, run);
    if (ts_coord_session_lease(session) != NULL)
        ts_coord_session_drop(session);
    return error == TS_CLAIM_OK;
}

static void turn(struct process *process) {
    struct sim__world *world = process->world;
    for (uint32_t i = 0; i < FLEET_RUNS; i++) {
        const bool has_last = i == 0 || process->fleet->runs[i - 1].number != 0;
        if (process->fleet->runs[i].number == 0 && has_last &&
            (world->calm || i == 0 || sim__chance(world, 10)))
            create_run(process, i);
    }
    const bool has_worked = claim(process, (uint32_t)sim__below(world, FLEET_RUNS));
    if (!has_worked && sim__chance(world, world->calm ? 50 : 20))
        sweep(process);
}

/* ---- life ---- */

static void audit(struct process *process) {
    for (uint32_t i = 0; i < FLEET_RUNS && !sim__is_broken(process->world); i++)
        sim__audit(process->worker, &process->world->tenants[0], process->fleet->runs[i].id);
}

void sim__fleet_worker_main(void *context) {
    struct sim__worker *worker = context;
    struct sim__world *world = worker->actor.world;
    struct process process = {.worker = worker, .world = world, .fleet = world->fleet};
    while (!world->over) {
        if (worker->actor.dead)
            begin_again(&process);
        if (process.durable == NULL && !open_process(&process)) {
            sim__broken(world, "memory", "there is none left");
            break;
        }
        turn(&process);
        sim__sleep(&worker->actor, sim__below(world, world->calm ? 50 : 200));
    }
    if (worker->number == 0 && !sim__is_broken(world) && (process.durable != NULL || open_process(&process)))
        audit(&process);
    close_process(&process);
}
