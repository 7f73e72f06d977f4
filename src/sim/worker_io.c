/* The functions through which the driver of coordination and the protocol of transactions call stores and
 * wait. */
#include "base/assert.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>

/* ---- calls ---- */

enum { CALLS_MAX = 2 * TS_SIM_STORES_MAX + 2 };

static void io_call(void *context, struct ts_coord_call *calls, size_t count) {
    struct sim__worker *worker = context;
    struct ts_call *pointers[CALLS_MAX];
    ts_assert(count <= CALLS_MAX);
    for (size_t i = 0; i < count; i++) {
        pointers[i] = &calls[i].call;
        sim__start(&worker->actor, calls[i].place, &calls[i].call);
    }
    sim__wait(&worker->actor, &(struct sim__wait){pointers, count, .all = true});
}

static uint64_t io_elapsed_ms(void *context) {
    return ((const struct sim__worker *)context)->actor.world->now_ms;
}

static void io_pause_ms(void *context, uint64_t ms) {
    sim__sleep(&((struct sim__worker *)context)->actor, ms);
}

/* ---- transactions ---- */

static void txn_start(void *context, uint32_t place, struct ts_call *call) {
    sim__start(context, place, call);
}

static void txn_wait(void *context, struct ts_call *const *calls, size_t count) {
    sim__wait(context, &(struct sim__wait){calls, count, .all = false});
}

static bool txn_pause(void *context) {
    struct sim__actor *actor = context;
    /* Limits the tries, so that the search for a lost decision ends. */
    if (actor->dead || sim__chance(actor->world, 15))
        return false;
    sim__sleep(actor, 20);
    return !actor->dead;
}

static uint64_t txn_now_us(void *context) {
    return ((const struct sim__actor *)context)->world->now_ms * 1000;
}

static void txn_sleep_us(void *context, uint64_t us) {
    sim__sleep(context, (us + 999) / 1000);
}

static struct ts_txn_virtual_io txn_io(struct sim__actor *actor) {
    return (struct ts_txn_virtual_io){.context = actor,
                                      .place_count = actor->world->place_count,
                                      .cluster = "turnstone's sim",
                                      .start = txn_start,
                                      .wait = txn_wait,
                                      .pause = txn_pause,
                                      .now_us = txn_now_us,
                                      .sleep_us = txn_sleep_us};
}

/* Returns the process's coordinator. A process whose coordinator was fenced continues under another uuid. */
static struct ts_txn_virtual *coordinator_of(struct sim__worker *worker) {
    struct sim__world *world = worker->actor.world;
    if (worker->txn != NULL && ts_txn_virtual_is_fenced(worker->txn)) {
        world->result->counts.troubles[TS_SIM_TROUBLE_FENCED]++;
        ts_txn_virtual_free(worker->txn);
        worker->txn = NULL;
    }
    if (worker->txn == NULL) {
        const uint64_t number = ++world->uuids;
        struct ts_txn_virtual_options options = {.total_ms = SIM_TOTAL_MS, .seed = number};
        memcpy(options.uuid, &(uint8_t[8]){0}, 8);
        for (size_t i = 0; i < 8; i++)
            options.uuid[8 + i] = (uint8_t)(number >> (8 * (7 - i)));
        const struct ts_txn_virtual_io io = txn_io(&worker->actor);
        worker->txn = ts_txn_virtual_new(&io, &options);
    }
    return worker->txn;
}

static void io_txn(void *context, const struct ts_txn_part *parts, size_t count,
                   struct ts_txn_result *ret_result) {
    struct sim__worker *worker = context;
    struct sim__world *world = worker->actor.world;
    struct ts_txn_virtual *coordinator = coordinator_of(worker);
    if (coordinator == NULL) {
        *ret_result =
            (struct ts_txn_result){.outcome = TS_TXN_REFUSED, .reason = TS_STORE_FAILED, .op = SIZE_MAX};
        return;
    }
    if (count == 1) {
        ts_txn_virtual_run(coordinator, parts, 1, 0, ret_result);
        return;
    }
    world->result->counts.transactions++;
    sim__event(world, "begins a transaction", worker->number, count);
    worker->actor.in_txn++;
    ts_txn_virtual_run(coordinator, parts, count, (size_t)sim__below(world, count), ret_result);
    worker->actor.in_txn--;
    sim__event(world, "ends a transaction", worker->number, (uint64_t)ret_result->outcome,
               (uint64_t)ret_result->reason);
}

struct ts_coord_io sim__coord_io(struct sim__worker *worker) {
    return (struct ts_coord_io){.context = worker,
                                .router = &worker->actor.world->router,
                                .place_count = worker->actor.world->place_count,
                                .call = io_call,
                                .txn = io_txn,
                                .elapsed_ms = io_elapsed_ms,
                                .pause_ms = io_pause_ms};
}

/* ---- heartbeat and resolver ---- */

static void heart_start(void *context, uint32_t place, struct ts_call *call) {
    sim__direct(context, place, call);
}

static void heart_wait(void *context, struct ts_call *const *calls, size_t count) {
    (void)context;
    (void)calls;
    (void)count;
    ts_unreachable("direct calls are done at once");
}

static bool heart_pause(void *context) {
    (void)context;
    return false;
}

void sim__worker_beat(struct sim__worker *worker) {
    struct sim__world *world = worker->actor.world;
    if (worker->txn == NULL || ts_txn_virtual_is_fenced(worker->txn))
        return;
    const struct ts_txn_virtual_io io = {.context = world,
                                         .place_count = world->place_count,
                                         .start = heart_start,
                                         .wait = heart_wait,
                                         .pause = heart_pause};
    ts_txn_virtual_beat(worker->txn, &io);
}

void sim__resolver_main(void *context) {
    struct sim__actor *actor = context;
    struct sim__world *world = actor->world;
    const struct ts_txn_virtual_io io = txn_io(actor);
    while (!world->over) {
        sim__sleep(actor, 200 + sim__below(world, 1200));
        if (world->over)
            break;
        struct ts_txn_virtual_pass pass;
        ts_txn_virtual_resolve(&io, &pass);
        world->result->counts.troubles[TS_SIM_TROUBLE_SETTLED] += pass.committed + pass.aborted;
        if (pass.committed + pass.aborted + pass.stuck > 0)
            sim__event(world, "resolver", pass.committed, pass.aborted, pass.left, pass.stuck);
    }
}
