#include "sim/sim.h"

#include "base/assert.h"
#include "base/hash64.h"
#include "worker.h"
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)TS_ERROR__VARIANT_END <= (int)TS_SIM_ERRORS_MAX, "room for every variant");

struct ts_sim_options ts_sim_options_default(void) {
    return (struct ts_sim_options){.seed = 1, .steps = 1500, .workers = 5, .shards = 8, .stores = 3};
}

void ts_sim_counts_add(struct ts_sim_counts *counts, const struct ts_sim_counts *more) {
    counts->steps += more->steps;
    counts->calm_steps += more->calm_steps;
    counts->virtual_ms += more->virtual_ms;
    counts->calls += more->calls;
    counts->transactions += more->transactions;
    counts->checks += more->checks;
    counts->unknown += more->unknown;
    for (size_t i = 0; i < TS_SIM_OPERATION_COUNT; i++) {
        counts->executed[i] += more->executed[i];
        counts->replayed[i] += more->replayed[i];
        counts->refused[i] += more->refused[i];
    }
    for (size_t i = 0; i < TS_SIM_ERRORS_MAX; i++)
        counts->errors[i] += more->errors[i];
    for (size_t i = 0; i < TS_SIM_TROUBLE_COUNT; i++)
        counts->troubles[i] += more->troubles[i];
    for (size_t i = 0; i < TS_WISH_COUNT; i++)
        counts->wishes[i] += more->wishes[i];
    for (size_t i = 0; i < TS_UNIT_EVENT_COUNT; i++)
        counts->unit_events[i] += more->unit_events[i];
}

/* ---- counts ---- */

static void mix(struct sim__world *world, uint64_t number) {
    world->hash = ts_xxh64_of_id(world->hash ^ ts_xxh64_of_id(number + UINT64_C(0x9e3779b97f4a7c15)));
}

void sim__hash_bytes(struct sim__world *world, struct ts_bytes bytes) {
    mix(world, ts_xxh64_of_bytes(bytes));
}

void sim__note(struct sim__world *world, const struct sim__event *event) {
    mix(world, world->step);
    mix(world, world->now_ms);
    sim__hash_bytes(world, ts_bytes_of_cstring(event->what));
    for (size_t i = 0; i < 4; i++)
        mix(world, event->numbers[i]);
    if (world->options.trace == NULL)
        return;
    char line[200];
    snprintf(line, sizeof line, "%llu %llu %s %llu %llu %llu %llu", (unsigned long long)world->step,
             (unsigned long long)world->now_ms, event->what, (unsigned long long)event->numbers[0],
             (unsigned long long)event->numbers[1], (unsigned long long)event->numbers[2],
             (unsigned long long)event->numbers[3]);
    world->options.trace(world->options.trace_context, line);
}

void sim__broken(struct sim__world *world, const char *property, const char *format, ...) {
    struct ts_sim_result *result = world->result;
    if (result->broken)
        return;
    result->broken = true;
    result->step = world->step;
    snprintf(result->property, sizeof result->property, "%s", property);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->text, sizeof result->text, format, arguments);
    va_end(arguments);
}

/* ---- rates of faults ---- */

static struct sim__weather weather_of(enum ts_sim_faults faults) {
    const struct sim__weather stormy = {.call_error = 60,
                                        .lost_request = 60,
                                        .lost_reply = 120,
                                        .late = 60,
                                        .delay = 100,
                                        .pause = 40,
                                        .crash = 25,
                                        .jump = 20,
                                        .restart = 15,
                                        .deliver_late = 150,
                                        .beat_skipped = 1000};
    const struct sim__weather radioactive = {.call_error = 200,
                                             .lost_request = 250,
                                             .lost_reply = 500,
                                             .late = 250,
                                             .delay = 300,
                                             .pause = 100,
                                             .crash = 100,
                                             .jump = 60,
                                             .restart = 60,
                                             .power = 40,
                                             .deliver_late = 400,
                                             .beat_skipped = 4000};
    switch (faults) {
    case TS_SIM_SUNNY:
        return (struct sim__weather){.pause = 30, .jump = 5};
    case TS_SIM_STORMY:
        return stormy;
    case TS_SIM_RADIOACTIVE:
        return radioactive;
    }
    ts_unreachable("every level is handled");
}

static void count(struct sim__world *world, enum ts_sim_trouble trouble) {
    world->result->counts.troubles[trouble]++;
}

static struct sim__actor *any_worker(struct sim__world *world) {
    return &world->workers[sim__below(world, world->worker_count)].actor;
}

/* Crashes a worker. Half of the time, prefers a worker that is in the middle of a transaction. */
static void crash_somebody(struct sim__world *world) {
    struct sim__actor *actor = any_worker(world);
    const bool in_txn = sim__chance(world, 50);
    for (uint32_t i = 0; i < world->worker_count && in_txn && actor->in_txn == 0; i++)
        actor = &world->workers[i].actor;
    if (actor->dead || (actor->state != SIM_ACTOR_CALLING && actor->state != SIM_ACTOR_SLEEPING))
        return;
    count(world, actor->in_txn > 0 ? TS_SIM_TROUBLE_CRASH_IN_TXN : TS_SIM_TROUBLE_CRASH);
    sim__event(world, "crashes", actor->number, actor->in_txn);
    actor->dead = true;
    actor->paused_until = 0;
    sim__messages_orphan(world, actor);
    sim__actor_resume(actor);
}

static void restart_something(struct sim__world *world, bool lose) {
    const uint32_t place = (uint32_t)sim__below(world, world->place_count);
    count(world, lose ? TS_SIM_TROUBLE_POWER : TS_SIM_TROUBLE_RESTART);
    sim__event(world, lose ? "loses power" : "restarts", place);
    ts_memory_restart(world->places[place].memory, (struct ts_memory_crash){.lose_unsynced = lose});
    if (lose)
        world->kind->check_restarted(world, place);
    else
        world->kind->check(world, place);
}

static void deliver_something_late(struct sim__world *world) {
    const uint32_t from = (uint32_t)sim__below(world, world->place_count);
    for (uint32_t i = 0; i < world->place_count; i++) {
        const uint32_t place = (from + i) % world->place_count;
        struct ts_store *store = world->places[place].store;
        const size_t late = ts_fault_late_count(store);
        if (late == 0)
            continue;
        const enum ts_store_result result = ts_fault_deliver(store, (size_t)sim__below(world, late));
        count(world, TS_SIM_TROUBLE_DELIVERED_LATE);
        sim__event(world, "late", place, (uint64_t)result);
        world->kind->check(world, place);
        return;
    }
}

static void jump_somewhere(struct sim__world *world) {
    struct sim__place *place = &world->places[sim__below(world, world->place_count)];
    place->ahead_ms += sim__below(world, 2 * world->lease_ms);
    count(world, TS_SIM_TROUBLE_JUMP);
    sim__event(world, "jumps", place->ahead_ms);
}

static void pause_somebody(struct sim__world *world) {
    struct sim__actor *actor = any_worker(world);
    actor->paused_until = world->now_ms + sim__below(world, 3 * world->lease_ms);
    count(world, TS_SIM_TROUBLE_PAUSE);
    sim__event(world, "pauses", actor->number, actor->paused_until);
}

static void disturb(struct sim__world *world) {
    const struct sim__weather *weather = &world->weather;
    if (sim__odds(world, weather->pause))
        pause_somebody(world);
    if (sim__odds(world, weather->jump))
        jump_somewhere(world);
    if (sim__odds(world, weather->crash))
        crash_somebody(world);
    if (sim__odds(world, weather->restart))
        restart_something(world, false);
    if (sim__odds(world, weather->power))
        restart_something(world, true);
    if (sim__odds(world, weather->deliver_late))
        deliver_something_late(world);
    if (world->kind->disturb != NULL && !sim__is_broken(world))
        world->kind->disturb(world);
}

/* ---- the next step ---- */

static bool is_awake(const struct sim__world *world, const struct sim__actor *actor) {
    if (actor->paused_until > world->now_ms)
        return false;
    return actor->state == SIM_ACTOR_READY ||
           (actor->state == SIM_ACTOR_SLEEPING && actor->wake_ms <= world->now_ms);
}

static bool can_move(const struct sim__world *world, const struct sim__message *message) {
    return message->state == SIM_MESSAGE_SENT ||
           (message->state == SIM_MESSAGE_REPLIED && message->owner->paused_until <= world->now_ms);
}

static struct sim__actor *actor_at(struct sim__world *world, uint32_t index) {
    return index == world->worker_count ? &world->resolver : &world->workers[index].actor;
}

static void move_message(struct sim__world *world, struct sim__message *message) {
    if (message->state == SIM_MESSAGE_SENT) {
        sim__message_deliver(world, message);
        if (message->state != SIM_MESSAGE_REPLIED || !can_move(world, message) ||
            sim__chance(world, world->temper.slow))
            return;
    }
    if (!sim__is_broken(world))
        sim__message_return(message);
}

/* Called when no actor can continue. Advances the time to the earliest moment at which an actor can. */
static void wait_for_something(struct sim__world *world) {
    uint64_t earliest = UINT64_MAX;
    for (uint32_t i = 0; i <= world->worker_count; i++) {
        const struct sim__actor *actor = actor_at(world, i);
        uint64_t at = UINT64_MAX;
        if (actor->state == SIM_ACTOR_SLEEPING)
            at = actor->wake_ms;
        else if (actor->state == SIM_ACTOR_READY)
            at = 0;
        if (at < actor->paused_until)
            at = actor->paused_until;
        if (at < earliest)
            earliest = at;
    }
    for (size_t i = 0; i < world->message_count; i++) {
        const struct sim__message *message = &world->messages[i];
        uint64_t at = UINT64_MAX;
        if (message->state == SIM_MESSAGE_WAITING)
            at = message->call.deadline_ns / 1000000;
        else if (message->state == SIM_MESSAGE_REPLIED)
            at = message->owner->paused_until;
        if (at < earliest)
            earliest = at;
    }
    ts_assert(earliest != UINT64_MAX);
    world->now_ms = earliest > world->now_ms ? earliest : world->now_ms + 1;
}

static void move(struct sim__world *world) {
    uint64_t moves = 0;
    for (size_t i = 0; i < world->message_count; i++)
        moves += can_move(world, &world->messages[i]);
    for (uint32_t i = 0; i <= world->worker_count; i++)
        moves += is_awake(world, actor_at(world, i));
    if (moves == 0) {
        wait_for_something(world);
        return;
    }
    uint64_t chosen = sim__below(world, moves);
    for (size_t i = 0; i < world->message_count; i++) {
        if (can_move(world, &world->messages[i]) && chosen-- == 0) {
            move_message(world, &world->messages[i]);
            return;
        }
    }
    for (uint32_t i = 0; i <= world->worker_count; i++) {
        struct sim__actor *actor = actor_at(world, i);
        if (is_awake(world, actor) && chosen-- == 0) {
            sim__actor_resume(actor);
            return;
        }
    }
}

static void beat_hearts(struct sim__world *world) {
    for (uint32_t i = 0; i < world->worker_count; i++) {
        struct sim__worker *worker = &world->workers[i];
        if (worker->next_beat_ms > world->now_ms || worker->actor.paused_until > world->now_ms)
            continue;
        worker->next_beat_ms = world->now_ms + SIM_BEAT_MS;
        if (!worker->actor.dead && !sim__odds(world, world->weather.beat_skipped))
            sim__worker_beat(worker);
    }
}

/* Lets the test change a store behind the checkers' back. */
static void let_meddle(struct sim__world *world) {
    struct ts_store *stores[TS_SIM_STORES_MAX];
    for (uint32_t i = 0; i < world->place_count; i++)
        stores[i] = world->places[i].direct;
    if (!world->options.meddle(world->options.meddle_context, world->step, stores, world->place_count))
        return;
    for (uint32_t i = 0; i < world->place_count; i++)
        world->kind->check(world, i);
}

static void step(struct sim__world *world) {
    world->step++;
    world->now_ms += sim__below(world, 10);
    beat_hearts(world);
    sim__messages_poll(world);
    if (!sim__is_broken(world))
        disturb(world);
    if (!sim__is_broken(world))
        move(world);
    if (world->options.meddle != NULL && !sim__is_broken(world))
        let_meddle(world);
}

/* ---- the end ---- */

size_t sim__late_calls(const struct sim__world *world) {
    size_t late = 0;
    for (uint32_t i = 0; i < world->place_count; i++)
        late += ts_fault_late_count(world->places[i].store);
    return late;
}

/* Stops all faults; late messages arrive, and every worker works towards the end. */
static void become_calm(struct sim__world *world) {
    world->calm = true;
    world->weather = (struct sim__weather){.deliver_late = 2000};
    sim__places_set_weather(world);
    for (uint32_t i = 0; i < world->worker_count; i++)
        world->workers[i].actor.paused_until = 0;
    sim__event(world, "calm", world->kind->work(world));
}

static bool all_are_gone(struct sim__world *world) {
    for (uint32_t i = 0; i <= world->worker_count; i++) {
        if (actor_at(world, i)->state != SIM_ACTOR_ENDED)
            return false;
    }
    return true;
}

/* Ends the world after a violation: every actor unwinds without touching a store again. */
static void send_home(struct sim__world *world) {
    world->over = true;
    for (uint32_t i = 0; i <= world->worker_count; i++) {
        struct sim__actor *actor = actor_at(world, i);
        actor->dead = true;
        if (actor->fiber == NULL)
            continue;
        sim__messages_drop(world, actor);
        while (actor->state != SIM_ACTOR_ENDED)
            sim__actor_resume(actor);
    }
}

static void run_world(struct sim__world *world) {
    struct ts_sim_counts *counts = &world->result->counts;
    while (world->step < world->options.steps && !sim__is_broken(world))
        step(world);
    counts->steps = world->step;
    if (!sim__is_broken(world))
        become_calm(world);
    while (!sim__is_broken(world) && !all_are_gone(world)) {
        step(world);
        counts->calm_steps++;
        if (!world->over && world->kind->has_ended(world)) {
            world->over = true;
            if (world->kind->check_end != NULL)
                world->kind->check_end(world);
        }
        if (counts->calm_steps > 30000 + 1000 * world->kind->work(world))
            world->kind->say_what_is_left(world);
    }
    if (sim__is_broken(world))
        send_home(world);
}

/* ---- the beginning ---- */

static bool begin_worker(struct sim__world *world, uint32_t number) {
    struct sim__worker *worker = &world->workers[number];
    char name[16];
    const int len = snprintf(name, sizeof name, "worker-%u", (unsigned)number);
    worker->number = number;
    worker->actor = (struct sim__actor){.world = world, .worker = worker, .number = number};
    if (!ts_worker_id_from_text(ts_bytes_of(name, (size_t)len), &worker->id))
        ts_unreachable("a good name");
    return world->kind->begin_worker(worker) &&
           sim__actor_begin(&worker->actor, world->kind->worker_main, worker);
}

static bool begin_world(struct sim__world *world) {
    const struct ts_sim_options *options = &world->options;
    ts_prng_init(&world->prng, options->seed);
    world->now_ms = UINT64_C(1000000);
    world->place_count = options->stores;
    world->worker_count = options->workers;
    if (!ts_tenant_id_from_text(TS_BYTES("acme"), &world->tenants[0]) ||
        !ts_tenant_id_from_text(TS_BYTES("globex"), &world->tenants[1]))
        ts_unreachable("good names");
    if (options->stores == 1)
        ts_router_init_single(&world->router);
    else if (ts_router_init_hash(TS_ROUTER_STRATEGY_XXH64, options->stores, &world->router, NULL) !=
             TS_ROUTER_OK)
        ts_unreachable("a router over a few stores");
    world->weather = weather_of(options->faults);
    if (!world->kind->begin(world))
        return false;
    world->message_count = (size_t)(options->workers + 1) * (2 * options->stores + 4);
    world->messages = calloc(world->message_count, sizeof *world->messages);
    world->workers = calloc(options->workers, sizeof *world->workers);
    if (world->messages == NULL || world->workers == NULL || !sim__places_open(world))
        return false;
    sim__places_set_weather(world);
    for (uint32_t i = 0; i < options->workers; i++) {
        if (!begin_worker(world, i))
            return false;
    }
    world->resolver = (struct sim__actor){.world = world, .number = options->workers};
    return sim__actor_begin(&world->resolver, sim__resolver_main, &world->resolver);
}

static void end_world(struct sim__world *world) {
    for (uint32_t i = 0; world->workers != NULL && i < world->worker_count; i++) {
        sim__fiber_free(world->workers[i].actor.fiber);
        world->kind->end_worker(&world->workers[i]);
    }
    sim__fiber_free(world->resolver.fiber);
    sim__places_close(world);
    world->kind->end(world);
    for (size_t i = 0; world->messages != NULL && i < world->message_count; i++)
        free(world->messages[i].unlocked);
    free(world->messages);
    free(world->workers);
}

#ifdef TS_TEST_BUILD

/* Returns the rule that coordination must break on purpose. The plant NOBEFORE of fleets breaks a rule of
 * coordination. */
static enum ts_coord_plant coord_plant_of(const struct ts_sim_options *options) {
    return options->fleet_plant == TS_FLEET_PLANT_NOBEFORE ? TS_COORD_PLANT_EXPIRY : options->plant;
}

#endif

bool ts_sim_run(const struct ts_sim_options *options, struct ts_sim_result *ret_result) {
    ts_assert(options->workers >= 1 && options->workers <= TS_SIM_WORKERS_MAX);
    ts_assert(options->shards >= 1 && options->shards <= TS_SIM_SHARDS_MAX);
    ts_assert(options->stores >= 1 && options->stores <= TS_SIM_STORES_MAX);
    struct sim__world *world = calloc(1, sizeof *world);
    if (world == NULL)
        return false;
    struct ts_sim_result result = {0};
    world->options = *options;
    world->result = &result;
    world->kind = options->world == TS_SIM_WORLD_FLEET ? &sim__fleet_kind : &sim__coord_kind;
    const bool begun = begin_world(world);
    if (begun) {
#ifdef TS_TEST_BUILD
        ts_coord_plant(coord_plant_of(options));
        ts_fleet_plant(options->fleet_plant);
#endif
        run_world(world);
#ifdef TS_TEST_BUILD
        ts_coord_plant(TS_COORD_PLANT_NONE);
        ts_fleet_plant(TS_FLEET_PLANT_NONE);
#endif
        result.trace_hash = world->hash;
        result.counts.virtual_ms = world->now_ms - UINT64_C(1000000);
        *ret_result = result;
    }
    end_world(world);
    free(world);
    return begun;
}
