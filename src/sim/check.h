/*
 * What the simulation itself knows, and what it holds against the stores.
 *
 * The model is made from two sources only: what workers were asked to do and were told (sim__op, sim__grant), and the
 * raw rows of the stores, looked at after every single call that can have changed one. Every row that has changed must
 * be explained by one operation that somebody has begun, that was allowed at that moment by the store's own time, and
 * that had not been done before. None of this uses the steps or the driver that are being tested; of their code only the
 * decoding of records is shared.
 *
 * Properties, by the names under which they are reported:
 *
 *   mutual exclusion      nobody gets a shard while another was told that it holds it
 *   fence                 only acquire and unpark raise it, by one; nothing is done under another
 *   lease                 nothing is done under a lease that has ended, or that another worker holds
 *   tenant                nothing is done for another tenant
 *   terminal              a shard that is Done or Split never changes; Parked only by unpark
 *   record                a record decodes, its invariants hold, and it changes by one operation at a time
 *   cursor                never back, never outside the range
 *   op-log                every operation is written down, done once, and answered the same way again
 *   split                 what was split covers exactly the range that it came from
 *   shards                none is lost, none is there twice, each on its own store
 *   run                   a run that has ended stays so, and so do its shards; Done means that none was active
 *   cooldown              a worker that must wait is not served
 *   index, counters       the claim index and the counters of a store are what its records say
 *   limits                the counters of limits are what the shards of the runs say
 *   liveness              with the faults off every shard and every run comes to its end
 */
#ifndef TS_SIM_CHECK_H
#define TS_SIM_CHECK_H

#include "world.h"

/* Keys of shards are four hexadecimal digits: numbers below SIM_KEYS. A bound of SIM_KEYS is none. */
enum { SIM_KEYS = 0x10000, SIM_KEY_LEN = 4 };

enum sim__mistake {
    SIM_MISTAKE_NONE,
    SIM_MISTAKE_GAP,     /* children leave something out */
    SIM_MISTAKE_OVERLAP, /* children have something twice */
    SIM_MISTAKE_SHORT,   /* children end too early */
};

/* One operation with an op id: what was asked for, and what became of it. */
struct sim__op {
    uint64_t id;
    enum ts_sim_operation kind;
    uint32_t worker;
    uint32_t tenant; /* on whose behalf */
    uint32_t run;    /* index */
    uint64_t shard;
    struct ts_lease lease; /* of lease-gated ones */
    uint32_t key;          /* checkpoint, complete; split_residual: where it is cut */
    bool has_token;
    uint32_t token;
    enum ts_park_reason reason;
    uint32_t cuts[SIM_CUTS_MAX + 1]; /* split_replace: bounds; register: bounds of the shards */
    size_t cut_count;
    enum sim__mistake mistake;
    enum ts_run_op_kind end;

    uint32_t under_way;
    uint32_t applied;  /* how often it was seen to be done */
    uint32_t executed; /* how often it was said to be done for the first time */
    bool perhaps;      /* some call of it may have done it: it said so, does not know, or never came back */
    bool refused;      /* every call of it has said that nothing was changed, and nothing was */
    uint64_t children[SIM_CUTS_MAX];
    size_t child_count;
    bool answered; /* its children were told */
};

/* A worker was given a shard. */
struct sim__grant {
    uint64_t fence;
    uint32_t worker;
    uint64_t recorded_until; /* the latest deadline in the record */
    uint64_t told_until;     /* the latest that the worker was told; 0: it has heard nothing */
    bool over;               /* the shard was completed, parked or split under it */
};

struct sim__image {
    uint64_t version; /* 0: there is none */
    uint8_t *bytes;
    struct ts_shard_record record; /* points into bytes */
};

struct sim__shard {
    uint32_t run;
    uint64_t id;
    uint32_t place;
    struct sim__image now;
    struct sim__image before; /* what the last change changed, when that can still be undone */
    bool undoable;            /* it was a commit that may not be durable yet */
    struct sim__op *by;       /* that did it, or NULL */
    uint64_t seen_in;         /* number of the check that saw it last */
    struct sim__grant *grants;
    size_t grant_count, grant_capacity;
};

struct sim__promise {
    uint64_t name; /* hash */
    uint64_t time_ms;
};

struct sim__run_model {
    uint64_t version;
    struct ts_run_record record; /* has no pointers */
    uint64_t seen_in;            /* number of the check */
    uint64_t guards_seen_in[TS_SIM_STORES_MAX];
    uint64_t guard_versions[TS_SIM_STORES_MAX];
    struct ts_run_guard guards[TS_SIM_STORES_MAX];
    uint64_t limit_count; /* shards that count against the limits, as stored */
};

struct sim__cooldown {
    bool there;
    bool was_there; /* when its store was looked at before */
    uint64_t until_ms;
    uint32_t place;
};

struct sim__model {
    struct sim__op **ops;
    size_t op_count, op_capacity;
    struct sim__shard **shards;
    size_t shard_count, shard_capacity;
    uint32_t *slots; /* open table of indices + 1 */
    size_t slot_count;
    struct sim__run_model runs[SIM_RUNS];
    struct sim__cooldown *cooldowns; /* by worker */
    struct sim__promise *promises[TS_SIM_STORES_MAX];
    size_t promise_count[TS_SIM_STORES_MAX], promise_capacity[TS_SIM_STORES_MAX];
    uint64_t tenant_limits[SIM_TENANTS];
    uint64_t global_limit;
    uint64_t checks;
    bool ranges_changed; /* since the coverage was looked at */
    struct ts_rows rows;
};

struct sim__model *sim__model_new(uint32_t worker_count);
void sim__model_free(struct sim__model *model);

/* A copy of what is asked for, with an id of its own. NULL when there is no memory. */
struct sim__op *sim__op_new(struct sim__world *world, const struct sim__op *wanted);
struct sim__op *sim__op_find(const struct sim__model *model, uint64_t id);

/* NULL when there is none. */
struct sim__shard *sim__shard_find(const struct sim__model *model, uint32_t run, uint64_t id);
struct sim__shard *sim__shard_add(struct sim__model *model, uint32_t run, uint64_t id);
struct sim__grant *sim__grant_find(struct sim__shard *shard, uint64_t fence);

/* The bytes of a key. */
struct sim__key {
    char text[SIM_KEY_LEN + 1];
};
struct sim__key sim__key_of(uint32_t number);
/* Of a bound of a range or a cursor; an empty one is `empty`. */
uint32_t sim__key_number(struct ts_bytes key, uint32_t empty);

/* What a registered shard covered when it was registered; both 0 for one that nobody registered. */
struct sim__bounds {
    uint32_t from;
    uint32_t to;
};
struct sim__bounds sim__registered_bounds(const struct sim__world *world, uint32_t run, uint64_t id);
uint64_t sim__registered_id(const struct sim__op *op, size_t index);

/* ---- looking (check_store.c) ---- */

/* A call to this store may have changed it. */
void sim__check_place(struct sim__world *world, uint32_t place);

/* It has restarted, and may have lost what was not durable. */
void sim__check_restarted(struct sim__world *world, uint32_t place);

/* Nothing is promised anywhere. */
bool sim__is_quiet(const struct sim__world *world);

/* Over all stores, when it is quiet (check_world.c). */
void sim__check_quiet(struct sim__world *world);

/* ---- one shard (check_shard.c) ---- */

/* shard->before has become shard->now, by the store's time at_ms. */
void sim__check_change(struct sim__world *world, struct sim__shard *shard, uint64_t at_ms);

/* A record is there that was not. */
void sim__check_new(struct sim__world *world, struct sim__shard *shard);

/* ---- what workers were told (check_answer.c) ---- */

struct sim__answer {
    bool ok;
    bool unknown;   /* a BackendError of that kind */
    bool disk_full; /* ResourceExhausted, by a store that was struck */
    enum ts_error_variant variant;
    struct ts_coord_outcome outcome;
    const struct ts_shard_id *children;
    size_t child_count;
};

void sim__check_answer(struct sim__world *world, struct sim__op *op, const struct sim__answer *answer);

/* A worker was given, or has renewed, a lease. */
void sim__check_lease(struct sim__world *world, uint32_t worker, const struct ts_lease *lease);

#endif
