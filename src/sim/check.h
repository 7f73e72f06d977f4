/*
 * The simulation's own model of coordination, and the comparison of the stores with it.
 *
 * The model has two sources only: the requests and answers of workers (sim__op, sim__grant), and the raw rows
 * of the stores, read after every call that may have changed one. For each changed row there must be one
 * operation that explains the change: a worker has begun the operation, the store's own time allowed it at
 * that moment, and it had not been applied before. The checkers use neither the steps nor the driver under
 * test; they share only the decoding of records.
 *
 * Properties, by the names under which they are reported:
 *
 *   mutual exclusion      no worker gets a shard that another worker believes it holds
 *   fence                 only acquire and unpark raise it, by one; no operation succeeds under another fence
 *   lease                 no operation succeeds under an expired lease, or under a lease of another worker
 *   tenant                no operation succeeds for another tenant
 *   terminal              a shard that is Done or Split never changes; a parked shard changes only by unpark
 *   record                a record decodes, its invariants hold, and it changes by one operation at a time
 *   cursor                a cursor never goes back, and never leaves the range of its shard
 *   op-log                every operation is logged and applied once; a repetition gets the same answer
 *   split                 the children cover exactly the range of their parent
 *   shards                no shard is lost or duplicated; each is on the store that its id routes to
 *   run                   a run that has ended and its shards never change; Done means that no shard was active
 *   number                a new run has a higher number than every earlier run of its tenant
 *   pin                   a worker gets no shard of a run with another pin
 *   announced             only the announced list is registered, and no shard changes before the whole list is
 *   cooldown              a worker gets no shard during its cooldown
 *   index, counters       the claim index and the counters of a store match its records
 *   lease-check           a batch of another layer is written only by the holder of a valid lease, in a run that has not ended
 *   limits                the counters of limits match the shards of the runs
 *   liveness              once the faults stop, every shard and every run ends
 */
#ifndef TS_SIM_CHECK_H
#define TS_SIM_CHECK_H

#include "world.h"

/* Keys of shards are four hexadecimal digits: numbers below SIM_KEYS. A bound of SIM_KEYS means unbounded. */
enum { SIM_KEYS = 0x10000, SIM_KEY_LEN = 4 };

enum sim__mistake {
    SIM_MISTAKE_NONE,
    SIM_MISTAKE_GAP,     /* the children have a gap */
    SIM_MISTAKE_OVERLAP, /* the children overlap */
    SIM_MISTAKE_SHORT,   /* the children end too early */
};

/* One operation with an op id: the request, and its result. */
struct sim__op {
    uint64_t id;
    enum ts_sim_operation kind;
    uint32_t worker;
    uint32_t tenant; /* the tenant for which the operation acts */
    uint32_t run;    /* index of the run */
    uint64_t shard;
    struct ts_lease lease; /* for operations that need a lease */
    uint32_t key;          /* checkpoint and complete: the cursor; split_residual: where to cut */
    bool has_token;
    uint32_t token;
    enum ts_park_reason reason;
    enum ts_blame blame;
    bool is_delayed; /* write: the worker makes the lease check, releases the lease, then writes */
    uint32_t cuts[SIM_CUTS_MAX + 1]; /* bounds of the children, or of the shards to register */
    size_t cut_count;
    enum sim__mistake mistake;
    enum ts_run_op_kind end;

    uint32_t under_way;
    uint32_t applied;  /* how often the stores showed the operation as applied */
    uint32_t executed; /* how often an answer said that the operation was executed now */
    bool perhaps; /* a call that may have applied the operation succeeded, ended UNKNOWN or never returned */
    bool refused; /* every call was refused: the operation must not have changed anything */
    uint64_t children[SIM_CUTS_MAX];
    size_t child_count;
    bool answered; /* a worker received the ids of the children */
};

/* A worker that holds or held a shard. */
struct sim__grant {
    uint64_t fence;
    uint32_t worker;
    uint64_t recorded_until; /* the latest deadline in the record */
    uint64_t told_until;     /* the latest deadline in an answer to the worker; 0: none yet */
    bool over;               /* the shard was completed, parked, released or split under this lease */
};

struct sim__image {
    uint64_t version; /* 0: no record */
    uint8_t *bytes;
    struct ts_shard_record record; /* points into bytes */
};

struct sim__shard {
    uint32_t run;
    uint64_t id;
    uint32_t place;
    struct sim__image now;
    struct sim__image before; /* the record before the last change; empty after an undo */
    bool undoable;            /* the last change may not be durable yet */
    struct sim__op *by;       /* the operation of the last change, or NULL */
    uint64_t written;         /* version of the row that holders of the shard write; 0: none */
    uint64_t seen_in;         /* number of the last check that saw the shard */
    struct sim__grant *grants;
    size_t grant_count, grant_capacity;
};

struct sim__promise {
    uint64_t name; /* hash of the worker's name */
    uint64_t time_ms;
};

struct sim__run_model {
    uint64_t version;
    struct ts_run_record record; /* has no pointers */
    uint64_t seen_in;            /* number of the last check that saw the run */
    uint64_t guards_seen_in[TS_SIM_STORES_MAX];
    uint64_t guard_versions[TS_SIM_STORES_MAX];
    struct ts_run_guard guards[TS_SIM_STORES_MAX];
    uint64_t limit_count; /* stored number of shards that count against the limits */
};

struct sim__cooldown {
    bool there;
    bool was_there; /* the entry existed at the previous check of its store */
    uint64_t until_ms;
    uint32_t place;
};

struct sim__model {
    struct sim__op **ops;
    size_t op_count, op_capacity;
    struct sim__shard **shards;
    size_t shard_count, shard_capacity;
    uint32_t *slots; /* open hash table: index in `shards` + 1; 0: free */
    size_t slot_count;
    struct sim__run_model runs[SIM_RUNS];
    struct sim__cooldown *cooldowns; /* indexed by worker */
    struct sim__promise *promises[TS_SIM_STORES_MAX];
    size_t promise_count[TS_SIM_STORES_MAX], promise_capacity[TS_SIM_STORES_MAX];
    uint64_t tenant_limits[SIM_TENANTS];
    uint64_t global_limit;
    uint64_t checks;
    bool ranges_changed; /* a range has changed since the last check of the coverage */
    struct ts_rows rows;
};

struct sim__model *sim__model_new(uint32_t worker_count);
void sim__model_free(struct sim__model *model);

/* Copies the wanted operation, and gives the copy an op id. Returns NULL when memory runs out. */
struct sim__op *sim__op_new(struct sim__world *world, const struct sim__op *wanted);
struct sim__op *sim__op_find(const struct sim__model *model, uint64_t id);

/* Finds a shard. Returns NULL if the shard is unknown. */
struct sim__shard *sim__shard_find(const struct sim__model *model, uint32_t run, uint64_t id);
struct sim__shard *sim__shard_add(struct sim__model *model, uint32_t run, uint64_t id);
struct sim__grant *sim__grant_find(struct sim__shard *shard, uint64_t fence);

/* The bytes of a key. */
struct sim__key {
    char text[SIM_KEY_LEN + 1];
};
struct sim__key sim__key_of(uint32_t number);
/* Returns the number of a range's bound or of a cursor; `empty` if the key is empty. */
uint32_t sim__key_number(struct ts_bytes key, uint32_t empty);

/* The range that a shard had when it was registered; both 0 for a shard that was not registered. */
struct sim__bounds {
    uint32_t from;
    uint32_t to;
};
struct sim__bounds sim__registered_bounds(const struct sim__world *world, uint32_t run, uint64_t id);
uint64_t sim__registered_id(const struct sim__op *op, size_t index);

/* ---- looking (check_store.c) ---- */

/* Checks a store after a call that may have changed it. */
void sim__check_place(struct sim__world *world, uint32_t place);

/* Checks a store after its restart, when it may have lost changes that were not durable. */
void sim__check_restarted(struct sim__world *world, uint32_t place);

/* Returns whether no store has a prepared transaction. */
bool sim__is_quiet(const struct sim__world *world);

/* Checks the properties of all stores together, while the world is quiet (check_world.c). */
void sim__check_quiet(struct sim__world *world);

/* ---- one shard (check_shard.c) ---- */

/* Checks the change from shard->before to shard->now at the store's time at_ms. */
void sim__check_change(struct sim__world *world, struct sim__shard *shard, uint64_t at_ms);

/* Checks a record that did not exist before. */
void sim__check_new(struct sim__world *world, struct sim__shard *shard);

/* Checks a row that a holder of the shard has written under its lease, at the store's time at_ms. */
void sim__check_written(struct sim__world *world, struct sim__shard *shard, uint64_t op_id, uint64_t at_ms);

/* ---- answers to workers (check_answer.c) ---- */

struct sim__answer {
    bool ok;
    bool unknown;   /* a BackendError with an unknown result */
    bool disk_full; /* ResourceExhausted from a store with an injected fault */
    enum ts_error_variant variant;
    struct ts_coord_outcome outcome;
    const struct ts_shard_id *children;
    size_t child_count;
};

void sim__check_answer(struct sim__world *world, struct sim__op *op, const struct sim__answer *answer);

/* Checks a lease that a worker acquired or renewed. */
void sim__check_lease(struct sim__world *world, uint32_t worker, const struct ts_lease *lease);

#endif
