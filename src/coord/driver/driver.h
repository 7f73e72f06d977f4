/*
 * The driver's own structures.
 *
 * An operation takes a `work`: its memory, which later operations reuse. The operation builds a `plan` (the
 * writes on all its stores), and applies the plan as one transaction. The only lock guards the list of free
 * works and the random numbers, and is held for a few instructions.
 */
#ifndef TS_COORD_DRIVER_DRIVER_H
#define TS_COORD_DRIVER_DRIVER_H

#include "base/prng.h"
#include "coord/driver/coord.h"
#include "coord/driver/lease_check.h"
#include "driver_io.h"
#include "driver_keys.h"
#include "os/arena.h"

#include <pthread.h>

/* ---- writes ---- */

/* The kind of a planned operation, so that an error can name it. */
enum coord__tag { COORD__TAG_RECORD, COORD__TAG_COUNTER, COORD__TAG_LIMIT };

struct coord__planned {
    struct ts_op op;
    uint32_t place;
    enum coord__tag tag;
};

struct coord__plan {
    struct coord__planned *planned;
    size_t count, capacity;
    struct ts_op *ops; /* sorted by place */
    size_t *origins;   /* for each element of ops: its index in planned */
    size_t ops_capacity, origins_capacity;
    struct ts_txn_part *parts; /* an array of place_count parts */
    int64_t *counts;           /* changes of the run's counters: [place][status][stripe] */
    bool counted;              /* some counts are not 0 */
    uint32_t place_count;
    struct ts_arena arena; /* keys and values */
    bool failed;           /* memory ran out; applying the plan reports this */
};

void coord__plan_clear(struct coord__plan *plan);

/* The functions below copy the key. They do not copy values, which the caller or the arena must keep. */
void coord__plan_check(struct coord__plan *plan, uint32_t place, const struct coord__key *key,
                       uint64_t version);
void coord__plan_before(struct coord__plan *plan, uint32_t place, struct ts_logical_time before);
void coord__plan_put(struct coord__plan *plan, uint32_t place, const struct coord__key *key,
                     struct ts_bytes value);
void coord__plan_del(struct coord__plan *plan, uint32_t place, const struct coord__key *key);
/* Adds an operation unchanged. Copies nothing: keys and values must stay in place until the plan is applied. */
void coord__plan_op(struct coord__plan *plan, uint32_t place, const struct ts_op *op);
struct coord__change {
    int64_t delta;
    uint64_t max;
};
void coord__plan_add(struct coord__plan *plan, uint32_t place, const struct coord__key *key,
                     struct coord__change change, enum coord__tag tag);

/* Records that a shard of this place changes its status; `from` is NULL for a new shard. coord__plan_counts
 * adds the sums to the plan. */
void coord__plan_count(struct coord__plan *plan, uint32_t place, struct ts_shard_id shard,
                       const enum ts_shard_status *from, enum ts_shard_status to);
void coord__plan_counts(struct coord__plan *plan, struct ts_run_id run);

/* ---- one shard as last seen ---- */

struct coord__seen {
    bool known;       /* the other fields are valid */
    bool has_record;  /* the shard exists */
    bool has_guard;   /* the run exists */
    uint64_t version; /* version of the record */
    uint64_t guard_version;
    struct ts_shard_record record; /* borrows from one of the buffers */
    struct ts_run_guard guard;
    struct ts_logical_time now; /* the store's time when the record was read */
    uint64_t at_ms;             /* when the request was sent, by elapsed_ms */
    unsigned current;           /* index of the buffer in use */
    uint8_t buffers[2][TS_RECORD_MAX];
};

/* Makes the lease check of the shard as seen (lease_check.h). A time of 0 omits before(deadline), for
 * operations without a lease. */
void coord__lease_check_init(struct ts_coord_lease_check *check, uint32_t place,
                             const struct coord__seen *seen, struct ts_logical_time before);
void coord__plan_lease_check(struct coord__plan *plan, const struct ts_coord_lease_check *check);

/* ---- one operation's memory ---- */

struct coord__work {
    struct coord__work *next;
    struct coord__plan plan;
    struct ts_coord_call *calls; /* room for 2 * place_count + 2 calls */
    struct ts_rows *rows;        /* the rows of the calls */
    struct coord__seen seen;
    struct ts_coord_lease_check check; /* the lease check of the planned operation */
    struct ts_split_memory split;
    struct ts_txn_result txn;
};

struct ts_coord {
    struct ts_coord_io io;
    struct coord__cluster_io cluster_io;
    struct ts_coord_options options; /* with the defaults filled in */
    pthread_mutex_t lock;            /* guards the fields below */
    struct coord__work *free_works;
    struct ts_prng prng;
};

/* Returns NULL when memory runs out. */
struct coord__work *coord__work_take(struct ts_coord *coord);
void coord__work_give(struct ts_coord *coord, struct coord__work *work);

uint64_t coord__draw(struct ts_coord *coord);
void coord__tell(struct ts_coord *coord, const struct ts_event *event);
uint64_t coord__elapsed_ms(struct ts_coord *coord);
uint32_t coord__place_of_worker(const struct ts_coord *coord, const struct ts_worker_id *worker);

/* Sets up calls[index] of the work. Keys and ranges must stay in place. */
struct ts_call *coord__call_read(struct coord__work *work, size_t index, uint32_t place,
                                 const struct ts_bytes *keys, size_t key_count);
struct ts_call *coord__call_scan(struct coord__work *work, size_t index, uint32_t place,
                                 const struct coord__range *range, size_t limit);

/* ---- results ---- */

/* The result of calls to stores, or of applying a plan. */
struct coord__result {
    enum ts_store_result result;
    enum coord__tag tag; /* tag of the operation that failed */
    bool has_tag;
    bool again;                        /* if not OK: whether reading and deciding again may help */
    uint64_t version;                  /* if OK on one store: the written version; otherwise 0 */
    char counter[COORD__COUNTER_NAME]; /* name of the counter, if the tag is a counter or limit */
    char text[240];
};

/* Runs the calls, repeats them if that can help, and returns the first failure. */
struct coord__result coord__read_calls(struct ts_coord *coord, struct ts_coord_call *calls, size_t count);
/* Runs calls 0 to count - 1 of the work. */
struct coord__result coord__read(struct ts_coord *coord, struct coord__work *work, size_t count);

/* Applies the plan. The result is OK, UNKNOWN, or an error after which nothing was changed. */
struct coord__result coord__apply(struct ts_coord *coord, struct coord__work *work);

/* How a round of an operation ended. If no other round follows, this is also how the operation ended. */
enum coord__end {
    COORD__END_DONE,      /* the step's own answer is the result */
    COORD__END_LATE,      /* the lease ended before the store applied the batch: LeaseExpired */
    COORD__END_EXHAUSTED, /* ResourceExhausted if the operation has it, otherwise BackendError */
    COORD__END_INFRA,     /* BackendError */
    COORD__END_FOREIGN,   /* TenantMismatch, found before the step because a record is damaged */
};

/* Counts the tries of an operation. Starts as {0}. */
struct coord__tries {
    uint32_t count;
    uint32_t lates;
    bool unknown;      /* a try may have taken effect */
    uint64_t since_ms; /* time of the first failure, by elapsed_ms */
};

/*
 * Called after a failed round. Pauses if that helps, and returns true if another round should follow. Returns
 * false if the operation ends; ret_end and the detail are then the result. If an earlier try may have taken
 * effect, the result is UNKNOWN, whatever the store answered last.
 */
bool coord__again(struct ts_coord *coord, struct coord__tries *tries, const struct coord__result *result,
                  enum coord__end *ret_end, struct ts_coord_detail *ret_detail);

/*
 * Waits for promises of a key that was read as absent. A committed transaction that has not created the key
 * yet still holds the key's lock, and this function waits for that lock. Returns true if the caller should
 * read again; if the key is still absent then, it does not exist. Returns false if the operation ends, as
 * coord__again does.
 */
bool coord__wait_for_promises(struct ts_coord *coord, struct coord__work *work, uint32_t place,
                              const struct coord__key *key, struct coord__tries *tries,
                              enum coord__end *ret_end, struct ts_coord_detail *ret_detail);

/* Returns how an operation ends if it is not repeated after this failed result. */
enum coord__end coord__failed(const struct coord__tries *tries, const struct coord__result *result,
                              struct ts_coord_detail *ret_detail);
enum coord__end coord__damaged(enum ts_record_error error, const char *what,
                               struct ts_coord_detail *ret_detail);
/* Like coord__damaged, with the id of the affected record in the text. Ids are not secret, and a repair needs
 * them. */
enum coord__end coord__damaged_run(enum ts_record_error error, const char *what, struct ts_run_id run,
                                   struct ts_coord_detail *ret_detail);
enum coord__end coord__damaged_shard(enum ts_record_error error, const char *what, struct ts_shard_key shard,
                                     struct ts_coord_detail *ret_detail);
enum coord__end coord__no_memory(struct ts_coord_detail *ret_detail);

/* ---- operations on one shard ---- */

/* A committed transaction does not become visible on all stores at once. An operation that sees a transaction
 * on only some of its stores reads again. */
enum coord__ahead {
    COORD__AHEAD_NOT,
    COORD__AHEAD_SAME,  /* this operation is committed, but the shard's own store does not show it yet */
    COORD__AHEAD_OTHER, /* the run is being created */
};

struct coord__job {
    struct ts_coord *coord;
    struct coord__work *work;
    struct coord__seen *seen;          /* belongs to the session or to the work */
    const struct ts_tenant_id *tenant; /* the caller's tenant */
    struct ts_shard_key shard;
    uint32_t place;
    /* The lease of an operation under a lease, so that its loss can be reported; otherwise NULL. */
    const struct ts_lease *lease;

    bool may_remember; /* the step may first try the session's memory */

    /* The operation's own step. Returns NONE or the error. */
    enum ts_error_variant (*step)(struct coord__job *job, const struct ts_shard_record *record,
                                  const struct ts_step_env *env);
    /* Reads more before the step; may be NULL. Sets `ahead` if other stores show a transaction that the
     * shard's own store does not show yet. */
    enum coord__end (*gather)(struct coord__job *job);
    /* Adds writes to the step's plan; may be NULL. */
    void (*extend)(struct coord__job *job);
    /* Called after a try whose reply was lost. Sets job->recognised when that try wrote the current record.
     * NULL for operations whose replays the op-log shows. */
    enum coord__end (*recognise)(struct coord__job *job);

    struct coord__tries tries;
    enum coord__ahead ahead;
    /* Version of the record that a transaction with the result UNKNOWN would have replaced; otherwise 0. */
    uint64_t promised_version;
    struct ts_shard_step result;
    enum ts_error_variant error; /* error of the last step */
    struct ts_logical_time now;  /* time of the last step */
    struct ts_event attempted;   /* the event of the last try whose reply was lost */
    bool has_attempted;
    bool recognised;
    bool waited;                   /* the operation has already waited for promises of the absent record */
    uint64_t nonce;                /* nonce of this operation's entry in the claim index */
    struct ts_coord_detail detail; /* copied to the caller on failure */
};

/* Makes an operation on the shard. seen is the session's memory, or NULL. */
struct coord__job coord__job_of(struct ts_coord *coord, struct coord__seen *seen,
                                const struct ts_tenant_id *tenant, struct ts_shard_key shard);
/* Makes an operation under a lease. */
struct coord__job coord__job_by(struct ts_coord *coord, struct coord__seen *seen,
                                const struct ts_lease_op *by);

/* Runs the operation to its end, with its own memory, and returns NONE or the error. Fills ret_outcome, which
 * may be NULL, or ret_detail, and reports when a lease is lost. */
enum ts_error_variant coord__job_run(struct coord__job *job, struct ts_coord_outcome *ret_outcome,
                                     struct ts_coord_detail *ret_detail);

/* Returns the error for an end other than DONE. */
enum ts_error_variant coord__end_variant(enum coord__end end);

/* Reads the record and the guard into job->seen, for operations that only read. The caller sets job->work. A
 * record that is still missing after the wait for promises does not exist. */
enum coord__end coord__job_look(struct coord__job *job);

/* Plans a new, free shard on its store, encoded into the plan's arena. Applying the plan fails if the shard
 * already exists. */
void coord__plan_new_shard(struct ts_coord *coord, struct coord__work *work,
                           const struct ts_shard_record *record);

/* Acquires for a session or a claim. Afterwards seen has the record. */
enum ts_acquire_error coord__acquire(struct ts_coord *coord, const struct ts_acquire_op *op,
                                     struct coord__seen *seen, struct ts_lease *ret_lease,
                                     struct ts_coord_detail *ret_detail);

/* ---- claims ---- */

enum { COORD__CANDIDATES_MAX = 64 }; /* maximum number of shards in a look at a store */

/* The free shards that the last look found and the session has not acquired. The next claims of the session
 * try them without another look. */
struct coord__left {
    size_t count, at;
    uint64_t until_ms; /* by elapsed_ms: later claims look again */
    struct ts_pin pin; /* pin of the claim that looked */
    struct ts_shard_id ids[COORD__CANDIDATES_MAX];
};

/* The positions at which a session begins its next search, so that it does not search through finished shards
 * again. Without a hint (NULL), a claim searches from the beginning. Leases with a deadline before
 * leased_from may still exist; a claim searches for them before it reports that nothing is available. */
struct coord__claim_hint {
    struct ts_run_id run;  /* the run that the other fields belong to */
    uint64_t *leased_from; /* for each place, the deadline from which to search */
    bool has_start;
    struct ts_shard_id start;
    struct coord__left left;
};

enum ts_claim_error coord__claim(struct ts_coord *coord, const struct ts_coord_claim_op *op,
                                 struct coord__seen *seen, struct coord__claim_hint *hint,
                                 struct ts_lease *ret_lease, struct ts_capacity_hint *ret_capacity,
                                 struct ts_coord_detail *ret_detail);

/* Counts the claimable shards of the run on all stores, except the caller's own shard. If a store cannot be
 * read or memory runs out, the hint is all zeros. */
struct ts_capacity_hint coord__capacity(struct ts_coord *coord, struct ts_shard_key own);

/* These functions decode a record, and check that it has the run or shard of its key. A record under a wrong
 * key is damaged. */
enum coord__end coord__decode_run(const struct ts_row *row, struct ts_run_id run, bool *ret_found,
                                  struct ts_run_record *ret_run, struct ts_coord_detail *ret_detail);
enum coord__end coord__decode_guard(const struct ts_row *row, struct ts_run_id run, bool *ret_found,
                                    struct ts_run_guard *ret_guard, struct ts_coord_detail *ret_detail);
enum coord__end coord__decode_shard(const struct ts_row *row, struct ts_shard_key shard,
                                    struct ts_shard_record *ret_record, struct ts_coord_detail *ret_detail);
/* Finds the tenant of a run that has a damaged record, from the run's record or from any readable guard.
 * Overwrites the work's calls. */
bool coord__find_tenant(struct ts_coord *coord, struct coord__work *work, struct ts_run_id run,
                        struct ts_tenant_id *ret_tenant);

/* Decodes the value of a counter; 0 if the counter is absent. */
enum coord__end coord__decode_counter(const struct ts_row *row, uint64_t *ret_value,
                                      struct ts_coord_detail *ret_detail);

#endif
