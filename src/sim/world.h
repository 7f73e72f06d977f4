/*
 * The world: stores, their clocks, the network between stores and workers, and the choice of the next step.
 *
 *     actor (fiber) --start--> message SENT --deliver--> WAITING (perhaps for a lock) --> REPLIED --return--> actor
 *
 * Nothing runs in parallel. In a step of the world, faults may strike; then a message is delivered, or a reply
 * returns and its actor runs to its next wait, or a sleeper wakes, or, if none of these is possible, time
 * passes. After each call that may have changed a store, the store is checked (check.h).
 *
 * A crashed worker does not disappear at once; its stack unwinds. At the crash each of its messages arrives
 * now or never. From then on all its calls end UNKNOWN at once. When its stack is unwound, the worker starts
 * as a new process.
 */
#ifndef TS_SIM_WORLD_H
#define TS_SIM_WORLD_H

#include "base/prng.h"
#include "coord/driver/coord.h"
#include "coord/driver/session.h"
#include "fiber.h"
#include "sim/sim.h"
#include "store/contract/engine.h"
#include "store/decorators/fault.h"
#include "store/local/memory.h"
#include "txn/virtual/virtual.h"

enum {
    SIM_CALL_TIMEOUT_MS = 400, /* timeout of a call, and of the call's wait for a lock */
    SIM_TOTAL_MS = 1500,       /* a coordinator's total timeout */
    SIM_BEAT_MS = 2000,
    SIM_TENANTS = 2,
    SIM_RUNS = 3, /* two runs of the first tenant, one of the second */
    SIM_OLD_LEASES = 32,
    SIM_CUTS_MAX = 6,
};

struct sim__world;
struct sim__worker;
struct sim__model;
struct sim__fleet;

/* A store with its clock and the network before it. */
struct sim__place {
    struct sim__world *world;
    uint64_t ahead_ms; /* how far the store's clock is ahead of the world's time */
    struct ts_store_clock clock;
    struct ts_memory *memory;
    struct ts_store *store;  /* used by workers, with faults */
    struct ts_store *direct; /* used by checkers */
    bool touched;
};

enum sim__message_state { SIM_MESSAGE_FREE, SIM_MESSAGE_SENT, SIM_MESSAGE_WAITING, SIM_MESSAGE_REPLIED };

struct sim__message {
    enum sim__message_state state;
    uint32_t place;
    struct sim__actor *owner;
    struct ts_call *outer;  /* the caller's own call */
    struct ts_call call;    /* the copy of the caller's call that the store sees */
    struct ts_op *unlocked; /* for a planted mistake: the operations without the checks that held */
};

enum sim__actor_state { SIM_ACTOR_READY, SIM_ACTOR_CALLING, SIM_ACTOR_SLEEPING, SIM_ACTOR_ENDED };

/* A worker or the resolver: each has a fiber. */
struct sim__actor {
    struct sim__world *world;
    struct sim__worker *worker; /* NULL: the resolver */
    uint32_t number;
    struct sim__fiber *fiber;
    enum sim__actor_state state;
    uint64_t wake_ms;      /* if SLEEPING: when the actor wakes */
    uint64_t paused_until; /* until then the actor gets no reply and does not wake */
    bool dead;             /* unwinding after a crash */
    uint32_t in_txn;       /* transactions in progress: 0 or 1 */
    uint64_t struck;       /* calls of the current operation that have failed */
};

/* Chances of faults, out of 10,000 for each step or call. */
struct sim__weather {
    uint64_t call_error;
    uint64_t lost_request;
    uint64_t lost_reply;
    uint64_t late;
    uint64_t delay;
    uint64_t pause;
    uint64_t crash;
    uint64_t jump;
    uint64_t restart;
    uint64_t power;
    uint64_t deliver_late;
    uint64_t beat_skipped;
};

/* The habits of the workers, in percent. Each seed has its own habits, so that different seeds reach
 * different corner cases. */
struct sim__temper {
    uint64_t split; /* of 100 turns with a shard: how many split the shard */
    uint64_t end;   /* of 100 turns without a shard: how many fail, cancel or complete the run */
    uint64_t fail;  /* of 100 ended runs: how many fail or are cancelled */
    uint64_t slow;  /* of 100 replies: how many do not return at once */
};

struct sim__run {
    struct ts_run_id id;
    uint32_t tenant;
    struct ts_run_config config;
    uint64_t create_op; /* op id of the run's registration */
    bool in_steps;      /* the run's list of shards is announced, and registered in steps */
};

/* The kind of a world: the behaviour of its workers, and the checks. */
struct sim__kind {
    /* Chooses the world's parameters by the seed, and allocates memory; `end` releases it, even after a
     * failed begin. */
    bool (*begin)(struct sim__world *world);
    void (*end)(struct sim__world *world);
    bool (*begin_worker)(struct sim__worker *worker);
    void (*end_worker)(struct sim__worker *worker);
    void (*worker_main)(void *context);        /* the fiber of a worker */
    void (*disturb)(struct sim__world *world); /* additional faults in each step, or NULL */
    /* `check` checks a store after a call that may have changed it; `check_restarted` after a restart that
     * may have lost changes that were not durable. */
    void (*check)(struct sim__world *world, uint32_t place);
    void (*check_restarted)(struct sim__world *world, uint32_t place);
    bool (*has_ended)(const struct sim__world *world);
    void (*check_end)(struct sim__world *world);        /* called once, when the world has ended; or NULL */
    void (*say_what_is_left)(struct sim__world *world); /* reports the unfinished work as a violation */
    uint64_t (*work)(const struct sim__world *world);   /* the number of things that must end */
};

extern const struct sim__kind sim__coord_kind;
extern const struct sim__kind sim__fleet_kind;

struct sim__world {
    const struct sim__kind *kind;
    struct ts_sim_options options;
    struct ts_sim_result *result;
    struct ts_prng prng;
    uint64_t now_ms;
    uint64_t step;
    uint64_t hash;
    bool calm; /* faults are off: every worker works towards the end */
    bool over; /* every actor returns */
    struct sim__weather weather;
    struct sim__temper temper;
    uint64_t lease_ms; /* determines how long pauses and clock jumps are */
    struct ts_router router;
    struct sim__place places[TS_SIM_STORES_MAX];
    uint32_t place_count;
    struct ts_tenant_id tenants[SIM_TENANTS];
    struct sim__run runs[SIM_RUNS];
    uint32_t run_count; /* runs that have workers */
    struct sim__message *messages;
    size_t message_count; /* number of slots */
    struct sim__worker *workers;
    uint32_t worker_count;
    struct sim__actor resolver;
    struct sim__model *model; /* the model of coordination */
    struct sim__fleet *fleet;
    uint64_t uuids;
    uint64_t op_ids;
};

/* ---- random choices and counts ---- */

static inline bool sim__chance(struct sim__world *world, uint64_t percent) {
    return ts_prng_chance(&world->prng, (struct ts_ratio){percent, 100});
}
static inline bool sim__odds(struct sim__world *world, uint64_t of_ten_thousand) {
    return of_ten_thousand > 0 && ts_prng_chance(&world->prng, (struct ts_ratio){of_ten_thousand, 10000});
}
static inline uint64_t sim__below(struct sim__world *world, uint64_t count) {
    return ts_prng_below(&world->prng, count);
}

/* An event. sim__note adds it to the hash, and adds a line to the trace. `what` says what the numbers (up to
 * four) mean. */
struct sim__event {
    const char *what;
    uint64_t numbers[4];
};
void sim__note(struct sim__world *world, const struct sim__event *event);
#define sim__event(world, what, ...) sim__note((world), &(struct sim__event){(what), {__VA_ARGS__}})
void sim__hash_bytes(struct sim__world *world, struct ts_bytes bytes);

/* Records a violation; only the first one is kept. */
__attribute__((format(printf, 3, 4))) void sim__broken(struct sim__world *world, const char *property,
                                                       const char *format, ...);
static inline bool sim__is_broken(const struct sim__world *world) {
    return world->result->broken;
}

/* ---- stores and network (network.c) ---- */

bool sim__places_open(struct sim__world *world);
void sim__places_close(struct sim__world *world);
uint64_t sim__place_now(const struct sim__place *place);
/* Sets the rules of the fault decorators according to the current chances of faults. */
void sim__places_set_weather(struct sim__world *world);
/* Makes a call for a checker; faults do not affect the call. */
void sim__direct(struct sim__world *world, uint32_t place, struct ts_call *call);

/* Returns the number of calls that will arrive after their callers stopped waiting. */
size_t sim__late_calls(const struct sim__world *world);

void sim__start(struct sim__actor *actor, uint32_t place, struct ts_call *call);
/* Calls for sim__wait, which returns when one of them is done or, with `all`, when all are done. */
struct sim__wait {
    struct ts_call *const *calls;
    size_t count;
    bool all;
};
void sim__wait(struct sim__actor *actor, const struct sim__wait *wait);
void sim__sleep(struct sim__actor *actor, uint64_t ms);

void sim__message_deliver(struct sim__world *world, struct sim__message *message);
void sim__message_return(struct sim__message *message);
/* Continues the messages that wait for locks or deadlines. */
void sim__messages_poll(struct sim__world *world);
/* Called for an owner that has crashed: each of its messages in progress arrives now or never, and nobody
 * receives the replies. */
void sim__messages_orphan(struct sim__world *world, struct sim__actor *actor);
/* Drops the messages of an actor at the end of the world: none of them arrives any more. */
void sim__messages_drop(struct sim__world *world, struct sim__actor *actor);

/* ---- actors ---- */

const struct ts_worker_id *sim__worker_id(const struct sim__world *world, uint32_t worker);
uint32_t sim__worker_tenant(const struct sim__world *world, uint32_t worker);

bool sim__actor_begin(struct sim__actor *actor, void (*run)(void *context), void *context);
void sim__actor_resume(struct sim__actor *actor);

/* Returns the functions through which the driver of coordination makes calls and transactions, and waits
 * (worker_io.c). */
struct ts_coord_io sim__coord_io(struct sim__worker *worker);

#endif
