/*
 * Coordination in a simulated world: workers over the real driver, the real protocol of transactions and real
 * stores in memory, with faults. A seed decides time, order and every random choice. After every call that may
 * have changed a store, the store is checked against the allowed states. At the end the faults stop, and every
 * shard and run must end.
 *
 * The same options give the same steps and the same trace hash on every machine.
 */
#ifndef TS_SIM_SIM_H
#define TS_SIM_SIM_H

#include "coord/core/plant.h"
#include "runtime/core/plant.h"
#include "runtime/core/unit_step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many faults there are. X(SUFFIX, name) */
#define TS_SIM_FAULTS(X)                                                                                     \
    X(SUNNY, "sunny")             /* calls overtake each other; pauses, mistakes and clock jumps */          \
    X(STORMY, "stormy")           /* also: replies are lost, calls fail, workers crash, stores restart */    \
    X(RADIOACTIVE, "radioactive") /* the faults of STORMY, far more often; power losses */

#define TS_SIM__FAULT_ENUM(suffix, name) TS_SIM_##suffix,
enum ts_sim_faults { TS_SIM_FAULTS(TS_SIM__FAULT_ENUM) };
#undef TS_SIM__FAULT_ENUM
#define TS_SIM_FAULT_LEVELS 3

struct ts_store;

enum {
    TS_SIM_WORKERS_MAX = 64,
    TS_SIM_SHARDS_MAX = 1000, /* maximum number of shards in the first registration of a run */
    TS_SIM_STORES_MAX = 16,
    TS_SIM_TARGETS_MAX = 64, /* maximum number of repositories of a fleet */
};

/* The subject of a world. X(SUFFIX, name) */
#define TS_SIM_WORLDS(X)                                                                                     \
    X(COORD, "coord") /* shards and runs */                                                                  \
    X(FLEET, "fleet") /* repositories that several runs scan; shards are the targets of each run */

#define TS_SIM__WORLD_ENUM(suffix, name) TS_SIM_WORLD_##suffix,
enum ts_sim_world { TS_SIM_WORLDS(TS_SIM__WORLD_ENUM) TS_SIM_WORLD_COUNT };
#undef TS_SIM__WORLD_ENUM

struct ts_sim_options {
    enum ts_sim_world world;
    uint64_t seed;
    uint64_t steps;
    uint32_t workers;
    uint32_t shards;
    uint32_t stores;
    enum ts_sim_faults faults;
    /* In test builds: the rule to break on purpose. */
    enum ts_coord_plant plant;
    enum ts_fleet_plant fleet_plant;

    /* For tests of the checkers: called after every step. Returns true if it has changed a store; then all
     * stores are checked. May be NULL. */
    bool (*meddle)(void *context, uint64_t step, struct ts_store *const *stores, size_t count);
    void *meddle_context;

    /* Receives every event as a line of text, without a newline. May be NULL. */
    void (*trace)(void *context, const char *line);
    void *trace_context;
};

/* Returns the default options. */
struct ts_sim_options ts_sim_options_default(void);

/* Operations of workers. X(SUFFIX, name) */
#define TS_SIM_OPERATIONS(X)                                                                                 \
    X(CREATE_RUN, "create_run")                                                                              \
    X(REGISTER, "register_shards")                                                                           \
    X(CLAIM, "claim")                                                                                        \
    X(ACQUIRE, "acquire")                                                                                    \
    X(RENEW, "renew")                                                                                        \
    X(CHECKPOINT, "checkpoint")                                                                              \
    X(COMPLETE, "complete")                                                                                  \
    X(PARK, "park")                                                                                          \
    X(RELEASE, "release")                                                                                    \
    X(WRITE, "write")                                                                                        \
    X(SPLIT_REPLACE, "split_replace")                                                                        \
    X(SPLIT_RESIDUAL, "split_residual")                                                                      \
    X(UNPARK, "unpark")                                                                                      \
    X(END_RUN, "end_run")                                                                                    \
    X(LOOK, "look")

#define TS_SIM__OPERATION_ENUM(suffix, name) TS_SIM_OP_##suffix,
enum ts_sim_operation { TS_SIM_OPERATIONS(TS_SIM__OPERATION_ENUM) TS_SIM_OPERATION_COUNT };
#undef TS_SIM__OPERATION_ENUM

/* Faults. X(SUFFIX, name) */
#define TS_SIM_TROUBLES(X)                                                                                   \
    X(STRUCK, "call struck")       /* an error, a lost request, a lost reply, a delay, a late call */        \
    X(DELIVERED_LATE, "late call") /* carried out after the caller stopped waiting */                        \
    X(TIMED_OUT, "call timed out")                                                                           \
    X(PAUSE, "worker paused")                                                                                \
    X(CRASH, "worker crashed")                                                                               \
    X(CRASH_IN_TXN, "worker crashed in a transaction")                                                       \
    X(JUMP, "clock jumped")                                                                                  \
    X(RESTART, "store restarted")                                                                            \
    X(POWER, "power lost")                                                                                   \
    X(FENCED, "coordinator fenced")                                                                          \
    X(SETTLED, "promise settled by a resolver")                                                              \
    X(ZOMBIE, "old lease used")                                                                              \
    X(REPLAY, "operation repeated")                                                                          \
    X(MISTAKE, "mistake made")

#define TS_SIM__TROUBLE_ENUM(suffix, name) TS_SIM_TROUBLE_##suffix,
enum ts_sim_trouble { TS_SIM_TROUBLES(TS_SIM__TROUBLE_ENUM) TS_SIM_TROUBLE_COUNT };
#undef TS_SIM__TROUBLE_ENUM

enum { TS_SIM_ERRORS_MAX = 64 };

struct ts_sim_counts {
    uint64_t steps;
    uint64_t calm_steps; /* steps after the faults stopped, until everything had ended */
    uint64_t virtual_ms;
    uint64_t calls;
    uint64_t transactions; /* transactions over several stores */
    uint64_t checks;       /* checks of single stores */
    uint64_t executed[TS_SIM_OPERATION_COUNT];
    uint64_t replayed[TS_SIM_OPERATION_COUNT];
    uint64_t refused[TS_SIM_OPERATION_COUNT];
    uint64_t errors[TS_SIM_ERRORS_MAX]; /* indexed by enum ts_error_variant */
    uint64_t unknown;                   /* BackendErrors with an unknown result */
    uint64_t troubles[TS_SIM_TROUBLE_COUNT];
    uint64_t wishes[TS_WISH_COUNT]; /* in fleets: wishes of units; unit_events are the answers */
    uint64_t unit_events[TS_UNIT_EVENT_COUNT];
};

void ts_sim_counts_add(struct ts_sim_counts *counts, const struct ts_sim_counts *more);

struct ts_sim_result {
    bool broken;
    uint64_t step;       /* the step at which the violation was found */
    char property[48];   /* the violated property */
    char text[240];      /* what happened */
    uint64_t trace_hash; /* hash over every event */
    struct ts_sim_counts counts;
};

/* Runs one world. Returns false when memory runs out; a violation is in *ret_result. */
bool ts_sim_run(const struct ts_sim_options *options, struct ts_sim_result *ret_result);

#endif
