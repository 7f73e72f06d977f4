/* Stores, clocks, and the messages between them and the actors. */
#include "base/assert.h"
#include "runtime/core/plant.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_MS UINT64_C(1000000)

static uint64_t wall_ms(void *context) {
    return sim__place_now(context);
}

static uint64_t monotonic_ns(void *context) {
    return ((const struct sim__place *)context)->world->now_ms * NS_PER_MS;
}

uint64_t sim__place_now(const struct sim__place *place) {
    return place->world->now_ms + place->ahead_ms;
}

static bool open_place(struct sim__world *world, struct sim__place *place) {
    place->world = world;
    place->ahead_ms = sim__below(world, 5000);
    place->clock = (struct ts_store_clock){wall_ms, monotonic_ns, place};
    place->memory = ts_memory_new("sim", &place->clock);
    if (place->memory == NULL)
        return false;
    place->direct = ts_memory_open(place->memory);
    struct ts_store *inside = ts_memory_open(place->memory);
    if (inside != NULL)
        place->store = ts_fault_new(inside, ts_prng_next(&world->prng));
    if (place->store == NULL)
        ts_store_close(inside);
    return place->store != NULL && place->direct != NULL;
}

bool sim__places_open(struct sim__world *world) {
    for (uint32_t i = 0; i < world->place_count; i++) {
        if (!open_place(world, &world->places[i]))
            return false;
    }
    return true;
}

void sim__places_close(struct sim__world *world) {
    for (uint32_t i = 0; i < world->place_count; i++) {
        struct sim__place *place = &world->places[i];
        ts_store_close(place->store);
        ts_store_close(place->direct);
        ts_memory_free(place->memory);
    }
}

static void add_rule(struct ts_store *store, uint64_t of_ten_thousand, struct ts_fault_rule rule) {
    if (of_ten_thousand == 0)
        return;
    rule.chance = (struct ts_ratio){of_ten_thousand, 10000};
    ts_fault_add(store, &rule);
}

void sim__places_set_weather(struct sim__world *world) {
    const struct sim__weather *weather = &world->weather;
    const uint32_t writes = TS_FAULT_CALL(TS_CALL_APPLY) | TS_FAULT_CALL(TS_CALL_PREPARE);
    for (uint32_t i = 0; i < world->place_count; i++) {
        struct ts_store *store = world->places[i].store;
        ts_fault_clear(store);
        add_rule(store, weather->lost_reply, (struct ts_fault_rule){.kind = TS_FAULT_LOST_REPLY});
        add_rule(store, weather->lost_request, (struct ts_fault_rule){.kind = TS_FAULT_LOST_REQUEST});
        add_rule(store, weather->late, (struct ts_fault_rule){.kind = TS_FAULT_LATE});
        add_rule(store, weather->delay, (struct ts_fault_rule){.kind = TS_FAULT_DELAY, .delay_ms = 150});
        add_rule(store, weather->call_error,
                 (struct ts_fault_rule){.kind = TS_FAULT_ERROR, .result = TS_STORE_UNAVAILABLE});
        add_rule(store, weather->call_error,
                 (struct ts_fault_rule){.kind = TS_FAULT_ERROR, .result = TS_STORE_BUSY});
        add_rule(store, weather->call_error,
                 (struct ts_fault_rule){
                     .kind = TS_FAULT_ERROR, .calls = writes, .result = TS_STORE_LOCK_CONFLICT});
        add_rule(store, weather->call_error / 4,
                 (struct ts_fault_rule){.kind = TS_FAULT_ERROR, .calls = writes, .result = TS_STORE_FULL});
    }
}

void sim__direct(struct sim__world *world, uint32_t place, struct ts_call *call) {
    ts_store_start(world->places[place].direct, call);
    if (!call->done && !ts_store_poll(call))
        ts_store_cancel(call);
}

/* ---- messages ---- */

static struct sim__message *new_message(struct sim__world *world) {
    for (size_t i = 0; i < world->message_count; i++) {
        if (world->messages[i].state == SIM_MESSAGE_FREE) {
            free(world->messages[i].unlocked);
            return &world->messages[i];
        }
    }
    ts_unreachable("an actor has at most two calls to each store");
}

static void end_unheard(struct ts_call *call) {
    if (call->rows != NULL)
        ts_rows_clear(call->rows);
    call->error = (struct ts_store_error){.result = TS_STORE_UNKNOWN, .sqlstate = "08007", .op = SIZE_MAX};
    snprintf(call->error.text, sizeof call->error.text, "the process is dead");
    call->done = true;
}

void sim__start(struct sim__actor *actor, uint32_t place, struct ts_call *call) {
    struct sim__world *world = actor->world;
    call->done = false;
    if (actor->dead) {
        end_unheard(call);
        return;
    }
    struct sim__message *message = new_message(world);
    *message = (struct sim__message){
        .state = SIM_MESSAGE_SENT, .place = place, .owner = actor, .outer = call, .call = *call};
    message->call.deadline_ns = (world->now_ms + SIM_CALL_TIMEOUT_MS) * NS_PER_MS;
    world->result->counts.calls++;
    sim__event(world, "sends", actor->number, place, (uint64_t)call->kind, call->batch.count);
}

static bool changes(enum ts_call_kind kind) {
    return kind == TS_CALL_APPLY || kind == TS_CALL_PREPARE || kind == TS_CALL_COMMIT ||
           kind == TS_CALL_ABORT;
}

/* Called when the store has answered, or the deadline has passed. */
static void replied(struct sim__world *world, struct sim__message *message) {
    const enum ts_store_result result = message->call.error.result;
    message->state = SIM_MESSAGE_REPLIED;
    if (result == TS_STORE_TIMED_OUT)
        world->result->counts.troubles[TS_SIM_TROUBLE_TIMED_OUT]++;
    if (result != TS_STORE_OK && result != TS_STORE_CHECK_FAILED)
        message->owner->struck++;
    sim__event(world, "answered", message->owner->number, message->place, (uint64_t)message->call.kind,
               (uint64_t)result);
    if (changes(message->call.kind))
        world->kind->check(world, message->place);
}

/*
 * A planted mistake: a batch does not keep the rows locked that it checks. This function sends the checks as a
 * separate call; if the checks hold, the rest of the batch is delivered later. Returns true if only the checks
 * were sent now.
 */
static bool check_without_lock(struct sim__world *world, struct sim__message *message) {
    const struct ts_batch batch = message->call.batch;
    const bool writes = message->call.kind == TS_CALL_APPLY || message->call.kind == TS_CALL_PREPARE;
    if (!runtime__is_planted(TS_FLEET_PLANT_NOLOCK) || !writes || message->unlocked != NULL)
        return false;
    struct ts_op *ops = calloc(2 * batch.count + 1, sizeof *ops);
    if (ops == NULL)
        return false;
    struct ts_op *checks = ops + batch.count;
    size_t rest = 0, count = 0;
    for (size_t i = 0; i < batch.count; i++) {
        const struct ts_op *op = &batch.ops[i];
        /* A check for absence is half of an insert, and must stay with the insert. */
        if (op->kind == TS_OP_BEFORE || (op->kind == TS_OP_CHECK && op->version != 0))
            checks[count++] = *op;
        else
            ops[rest++] = *op;
    }
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {checks, count}};
    sim__direct(world, message->place, &call);
    message->unlocked = ops;
    message->call.batch = (struct ts_batch){ops, rest};
    if (count == 0 || rest == 0)
        return false;
    if (call.error.result != TS_STORE_OK) {
        message->call.error = call.error;
        message->call.error.op = SIZE_MAX;
        message->call.done = true;
        replied(world, message);
    }
    return true;
}

void sim__message_deliver(struct sim__world *world, struct sim__message *message) {
    if (check_without_lock(world, message))
        return;
    struct ts_store *store = world->places[message->place].store;
    const uint64_t struck = ts_fault_count(store);
    message->state = SIM_MESSAGE_WAITING;
    ts_store_start(store, &message->call);
    if (ts_fault_count(store) != struck)
        world->result->counts.troubles[TS_SIM_TROUBLE_STRUCK]++;
    if (message->call.done)
        replied(world, message);
}

void sim__messages_poll(struct sim__world *world) {
    for (size_t i = 0; i < world->message_count && !sim__is_broken(world); i++) {
        struct sim__message *message = &world->messages[i];
        if (message->state != SIM_MESSAGE_WAITING || !ts_store_poll(&message->call))
            continue;
        replied(world, message);
    }
}

void sim__message_return(struct sim__message *message) {
    struct sim__actor *owner = message->owner;
    const struct ts_batch batch = message->outer->batch;
    *message->outer = message->call;
    message->outer->batch = batch;
    message->outer->store = NULL;
    message->state = SIM_MESSAGE_FREE;
    sim__actor_resume(owner);
}

void sim__messages_orphan(struct sim__world *world, struct sim__actor *actor) {
    for (size_t i = 0; i < world->message_count; i++) {
        struct sim__message *message = &world->messages[i];
        if (message->state == SIM_MESSAGE_FREE || message->owner != actor)
            continue;
        if (message->state == SIM_MESSAGE_SENT && sim__chance(world, 50))
            sim__message_deliver(world, message);
        if (message->state == SIM_MESSAGE_WAITING) {
            ts_store_cancel(&message->call);
            replied(world, message);
        }
        end_unheard(message->outer);
        message->state = SIM_MESSAGE_FREE;
    }
}

void sim__messages_drop(struct sim__world *world, struct sim__actor *actor) {
    for (size_t i = 0; i < world->message_count; i++) {
        struct sim__message *message = &world->messages[i];
        if (message->state == SIM_MESSAGE_FREE || message->owner != actor)
            continue;
        if (message->state == SIM_MESSAGE_WAITING)
            ts_store_cancel(&message->call);
        end_unheard(message->outer);
        message->state = SIM_MESSAGE_FREE;
    }
}

/* ---- actors ---- */

void sim__wait(struct sim__actor *actor, const struct sim__wait *wait) {
    for (;;) {
        size_t there = 0, done = 0;
        for (size_t i = 0; i < wait->count; i++) {
            if (wait->calls[i] == NULL)
                continue;
            there++;
            done += wait->calls[i]->done;
        }
        if (wait->all ? done == there : done > 0 || there == 0)
            return;
        actor->state = SIM_ACTOR_CALLING;
        sim__fiber_yield(actor->fiber);
    }
}

void sim__sleep(struct sim__actor *actor, uint64_t ms) {
    if (actor->dead)
        return;
    actor->state = SIM_ACTOR_SLEEPING;
    actor->wake_ms = actor->world->now_ms + ms;
    sim__fiber_yield(actor->fiber);
}

bool sim__actor_begin(struct sim__actor *actor, void (*run)(void *context), void *context) {
    actor->fiber = sim__fiber_new(run, context);
    actor->state = SIM_ACTOR_READY;
    return actor->fiber != NULL;
}

void sim__actor_resume(struct sim__actor *actor) {
    actor->state = SIM_ACTOR_READY;
    sim__fiber_resume(actor->fiber);
    if (sim__fiber_has_ended(actor->fiber))
        actor->state = SIM_ACTOR_ENDED;
}
