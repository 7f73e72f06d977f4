/*
 * Worlds of a fleet: workers scan simulated repositories with the real state machine of a unit and the real
 * layer that makes its results durable.
 *
 * A repository is a set of objects; a force-push replaces the set. The rules of a run find something in some
 * of the objects. Several runs, with the same or different rules, work on the same targets at the same time.
 * Mirrors are damaged, origins lack objects, repositories disappear. All faults of worlds of coordination
 * also happen here.
 *
 * The checks have two sources only: the repositories, and the raw rows of the stores, read after every call
 * that may have changed one. The checks share only the decoding of records and keys with the code under test.
 *
 * Properties, by the names under which they are reported:
 *
 *   lost finding       at every moment the visible rows of a target have all findings of its refs under its rules
 *   extra finding      the visible rows of a target have no other finding, and no finding twice
 *   counts             the counts in the target's record match its visible rows
 *   changes            the changes of a target, one after the other, add up to its visible findings
 *   faults             a target is complete with faults exactly if its origin lacks an object of its refs
 *   run number         the run number of a target never goes back
 *   watermark          the refs of a target never go back to earlier ones
 *   stale owner        only the holder of a target's shard writes for it, before the end of the lease
 *   frontier           a shard moves past its target only when the target's record shows this run or a later one
 *   cursor             a cursor never goes back
 *   parked             a shard is parked only if its repository is gone, and for that reason
 *   garbage            at the end every row belongs to a target's current attempt, and no waste mark is left
 *   promise            at the end no store has a promise
 *   counters           at the end the audit of every run is clean
 *   liveness           once the faults stop, every run ends
 */
#ifndef TS_SIM_FLEET_H
#define TS_SIM_FLEET_H

#include "runtime/core/fleet_record.h"
#include "runtime/core/unit_step.h"
#include "worker.h"
#include "world.h"

enum {
    FLEET_TARGETS_MAX = TS_SIM_TARGETS_MAX,
    FLEET_RUNS = 4,
    FLEET_STATES_MAX = 32, /* maximum number of states of the refs of one repository */
    FLEET_OBJECTS = 40,
    FLEET_FINDINGS = 12,
    FLEET_ROWS_MAX = 100000,
};

/* A set of objects: bit n is object n. */
typedef uint64_t sim__fleet_objects;

struct sim__fleet_repo {
    struct ts_target_id id;
    sim__fleet_objects states[FLEET_STATES_MAX]; /* the objects that each state of the refs reaches */
    uint32_t state_count;                        /* number of states; the last state is the current one */
    sim__fleet_objects lost;                     /* objects that the origin does not have */
    bool is_gone;                                /* the repository no longer exists */
};

struct sim__fleet_run {
    struct ts_run_id id;
    uint32_t rules;
    struct ts_run_config config;
    /* The run's state in the stores. */
    uint64_t number; /* 0: not created yet */
    enum ts_run_status status;
};

/* The fields of a shard's record that the checks need. */
struct sim__fleet_shard {
    uint64_t version; /* 0: no record */
    uint32_t place;
    uint64_t id;
    enum ts_shard_status status;
    enum ts_park_reason reason;
    uint64_t fence;
    uint64_t deadline_ms; /* 0: nobody holds the shard */
    size_t cursor;        /* length of its key: 0: no cursor, 16: a part is durable, 17: done */
};

struct sim__fleet_target {
    uint64_t version; /* 0: no record */
    struct ts_fleet_target record;
};

/* One row of a store about a target. A page of occurrences or a change becomes one such row per finding. */
struct sim__fleet_row {
    uint8_t kind; /* the letter of the row's key */
    uint32_t target;
    struct ts_attempt attempt;
    uint64_t version;
    uint32_t finding;
    uint64_t count;             /* occurrences of a finding; in a change: 1 if added, 0 if removed */
    sim__fleet_objects objects; /* the objects in which the finding occurs */
    uint8_t waste;              /* for a mark: the kind of the mark */
    bool is_swept;              /* a mark that a sweep has seen */
    uint8_t rules;              /* for a page of hits: the rules of its scan */
};

struct sim__fleet_place {
    struct sim__fleet_row *rows;
    size_t count, capacity;
    uint64_t version; /* the highest version of the store's rows at the last check */
    uint64_t promises;
    bool has_finding[FLEET_FINDINGS];
};

struct sim__fleet_mirror {
    bool exists;
    uint32_t state;
    sim__fleet_objects missing;
};

/* The disk of a worker: mirrors, which survive a crash of its process. */
struct sim__fleet_worker {
    struct sim__fleet_mirror mirrors[FLEET_TARGETS_MAX];
};

struct sim__fleet {
    struct sim__fleet_repo repos[FLEET_TARGETS_MAX];
    uint32_t repo_count;
    struct sim__fleet_run runs[FLEET_RUNS];
    struct sim__fleet_worker *workers;
    uint64_t push_odds, gone_odds, damage_percent, stop_percent; /* drawn from the seed */

    /* The contents of the stores. */
    struct sim__fleet_shard shards[FLEET_RUNS][FLEET_TARGETS_MAX];
    struct sim__fleet_target targets[FLEET_TARGETS_MAX];
    struct sim__fleet_place places[TS_SIM_STORES_MAX];
    struct ts_rows raw;
};

/* ---- repositories (fleet_world.c) ---- */

bool sim__fleet_finds(uint32_t rules, uint32_t object);
uint32_t sim__fleet_finding_of(uint32_t object);
struct ts_fleet_finding sim__fleet_finding_id(uint32_t finding);
void sim__fleet_refs_digest(uint32_t target, uint32_t state, uint8_t ret_refs[static 32]);
static inline sim__fleet_objects sim__fleet_bit(uint32_t object) {
    return UINT64_C(1) << object;
}

/* ---- checks (fleet_check.c, fleet_visible.c) ---- */

void sim__fleet_check(struct sim__world *world, uint32_t place);
void sim__fleet_check_restarted(struct sim__world *world, uint32_t place);
/* Checks the findings of all targets, with the rows that were read last. */
void sim__fleet_check_visible(struct sim__world *world);
/* Called at the end. Checks that no garbage is left and that every shard has ended. */
void sim__fleet_check_end(struct sim__world *world);
bool sim__fleet_is_clean(const struct sim__world *world); /* there are no promises and no waste marks */

/* ---- workers (fleet_worker.c, fleet_unit.c) ---- */

void sim__fleet_worker_main(void *context);

#endif
