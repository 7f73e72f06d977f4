/*
 * The driver's own structures.
 *
 * An operation takes a `work`, its memory, reused by later ones; builds a `plan`, the writes of all stores
 * that it touches; and applies it: as one batch when it is one store's, otherwise as one transaction. The only
 * lock is that of the list of works that are free, held for a few instructions.
 */
#ifndef TS_COORD_DRIVER_DRIVER_H
#define TS_COORD_DRIVER_DRIVER_H

#include "base/prng.h"
#include "coord/driver/coord.h"
#include "driver_io.h"
#include "driver_keys.h"

#include <pthread.h>

/* ---- memory ---- */

/* Bytes that stay in place until the arena is cleared. */
struct coord__block;
struct coord__arena {
    struct coord__block *first; /* the one that is being filled, then those before it */
    size_t used;                /* of the first */
};

/* NULL when there is no memory. */
void *coord__arena_take(struct coord__arena *arena, size_t size);
void coord__arena_clear(struct coord__arena *arena); /* keeps the largest block */
void coord__arena_release(struct coord__arena *arena);

/* ---- what is written ---- */

/* What an operation of a plan is about, for errors that name it. */
enum coord__tag { COORD__TAG_RECORD, COORD__TAG_COUNTER, COORD__TAG_LIMIT };

struct coord__planned {
    struct ts_op op;
    uint32_t place;
    enum coord__tag tag;
};

struct coord__plan {
    struct coord__planned *planned;
    size_t count, capacity;
    struct ts_op *ops; /* place by place */
    size_t *origins;   /* of ops: index in planned */
    size_t ops_capacity;
    struct ts_txn_part *parts; /* place_count */
    int64_t *counts;           /* changes of the run's counters: [place][status][stripe] */
    bool counted;              /* some of them are not 0 */
    uint32_t place_count;
    struct coord__arena arena; /* keys and values */
    bool failed;               /* there was no memory: applying says so */
};

void coord__plan_clear(struct coord__plan *plan);

/* All copy the key; values stay the caller's, or the arena's. */
void coord__plan_check(struct coord__plan *plan, uint32_t place, const struct coord__key *key,
                       uint64_t version);
void coord__plan_before(struct coord__plan *plan, uint32_t place, struct ts_logical_time before);
void coord__plan_put(struct coord__plan *plan, uint32_t place, const struct coord__key *key,
                     struct ts_bytes value);
void coord__plan_del(struct coord__plan *plan, uint32_t place, const struct coord__key *key);
struct coord__change {
    int64_t delta;
    uint64_t max;
};
void coord__plan_add(struct coord__plan *plan, uint32_t place, const struct coord__key *key,
                     struct coord__change change, enum coord__tag tag);

/* A shard of this place goes from one status to another; from is NULL for a new one. Written, added up, by
 * coord__plan_counts. */
void coord__plan_count(struct coord__plan *plan, uint32_t place, struct ts_shard_id shard,
                       const enum ts_shard_status *from, enum ts_shard_status to);
void coord__plan_counts(struct coord__plan *plan, struct ts_run_id run);

/* ---- one shard as it was last seen ---- */

struct coord__seen {
    bool known;       /* the rest holds */
    bool has_record;  /* there is such a shard */
    bool has_guard;   /* there is such a run */
    uint64_t version; /* of the record */
    uint64_t guard_version;
    struct ts_shard_record record; /* borrows from one of the buffers */
    struct ts_run_guard guard;
    struct ts_logical_time now; /* of the store, when it was read */
    uint64_t at_ms;             /* by elapsed_ms */
    unsigned current;           /* which buffer */
    uint8_t buffers[2][TS_RECORD_MAX];
};

/* ---- one operation's memory ---- */

struct coord__work {
    struct coord__work *next;
    struct coord__plan plan;
    struct ts_coord_call *calls; /* 2 * place_count + 2 */
    struct ts_rows *rows;        /* of calls */
    struct coord__seen seen;
    struct ts_split_memory split;
    struct ts_txn_result txn;
};

struct ts_coord {
    struct ts_coord_io io;
    struct coord__cluster_io cluster_io;
    struct ts_coord_options options; /* defaults filled in */
    pthread_mutex_t lock;            /* guards what follows */
    struct coord__work *free_works;
    struct ts_prng prng;
};

/* NULL when there is no memory. */
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

/* ---- how things end ---- */

/* What became of calls or a plan. */
struct coord__result {
    enum ts_store_result result;
    enum coord__tag tag; /* of the operation to blame */
    bool has_tag;
    bool again;                        /* not OK: another round of reading and deciding can help */
    uint64_t version;                  /* OK, one store: of what was written; otherwise 0 */
    char counter[COORD__COUNTER_NAME]; /* when the tag is that of a counter or limit: its name */
    char text[240];
};

/* Runs calls 0 to count - 1, again where that can help, and says how the first that failed did. */
struct coord__result coord__read(struct ts_coord *coord, struct coord__work *work, size_t count);

/* Applies the plan: OK, or nothing was done, or UNKNOWN. */
struct coord__result coord__apply(struct ts_coord *coord, struct coord__work *work);

/* How a round of an operation ended, and so the operation, unless there is another. */
enum coord__end {
    COORD__END_DONE,      /* the step's own answer stands */
    COORD__END_LATE,      /* the lease ended on the way: LeaseExpired */
    COORD__END_EXHAUSTED, /* ResourceExhausted where the operation has that, otherwise BackendError */
    COORD__END_INFRA,     /* BackendError */
    COORD__END_FOREIGN,   /* TenantMismatch, found before the step: something that was read is damaged */
};

/* Tries that an operation has had. Starts as {0}. */
struct coord__tries {
    uint32_t count;
    uint32_t lates;
    bool unknown;      /* one of them may have been done */
    uint64_t since_ms; /* when the first has failed, by elapsed_ms */
};

/*
 * After a round that failed: true when there is to be another, after a pause where that helps. False: ret_end
 * and the detail say how it ends; whatever the store said last, an operation that may have been done is
 * UNKNOWN.
 */
bool coord__again(struct ts_coord *coord, struct coord__tries *tries, const struct coord__result *result,
                  enum coord__end *ret_end, struct ts_coord_detail *ret_detail);

/*
 * For a key of a store that was read and is not there. A transaction that is committed may have yet to make it; until
 * then it holds it, and this waits for it. True: what is not there when it is read again is absent. False: as above.
 */
bool coord__wait_for_promises(struct ts_coord *coord, struct coord__work *work, uint32_t place,
                              const struct coord__key *key, struct coord__tries *tries,
                              enum coord__end *ret_end, struct ts_coord_detail *ret_detail);

/* The same for what was only read: there is no other round. */
enum coord__end coord__failed(const struct coord__tries *tries, const struct coord__result *result,
                              struct ts_coord_detail *ret_detail);
enum coord__end coord__damaged(enum ts_record_error error, const char *what,
                               struct ts_coord_detail *ret_detail);
/* The same, with what it is about: ids are not secret, and whoever mends it needs them. */
enum coord__end coord__damaged_run(enum ts_record_error error, const char *what, struct ts_run_id run,
                                   struct ts_coord_detail *ret_detail);
enum coord__end coord__damaged_shard(enum ts_record_error error, const char *what, struct ts_shard_key shard,
                                     struct ts_coord_detail *ret_detail);
enum coord__end coord__no_memory(struct ts_coord_detail *ret_detail);

/* ---- operations on one shard ---- */

/* A transaction that is committed is not seen on all stores at once. Whoever finds one ahead of another reads again. */
enum coord__ahead {
    COORD__AHEAD_NOT,
    COORD__AHEAD_SAME,  /* this very operation is done there, and will be on the shard's own store */
    COORD__AHEAD_OTHER, /* the run is being made */
};

struct coord__job {
    struct ts_coord *coord;
    struct coord__work *work;
    struct coord__seen *seen;          /* the session's, or the work's */
    const struct ts_tenant_id *tenant; /* who asks */
    struct ts_shard_key shard;
    uint32_t place;
    const struct ts_lease *lease; /* of lease-gated operations, to tell when it is lost; else NULL */

    bool may_remember; /* what the session remembers may decide first */

    /* The operation's own step: NONE, or why not. */
    enum ts_error_variant (*step)(struct coord__job *job, const struct ts_shard_record *record,
                                  const struct ts_step_env *env);
    /* More to read before the step, or NULL. Sets `ahead` when other stores know more than the record. */
    enum coord__end (*gather)(struct coord__job *job);
    /* More to write with the step, or NULL. */
    void (*extend)(struct coord__job *job);
    /* After a try whose reply was lost: sets job->recognised when what was read is what that try wrote. NULL
     * for operations whose op-log tells. */
    enum coord__end (*recognise)(struct coord__job *job);

    struct coord__tries tries;
    enum coord__ahead ahead;
    uint64_t promised_version; /* of the record, when a transaction over it ended UNKNOWN; 0: none did */
    struct ts_shard_step result;
    enum ts_error_variant error; /* of the last step */
    struct ts_logical_time now;  /* of the last step */
    struct ts_event attempted;   /* of the last try whose reply was lost */
    bool has_attempted;
    bool recognised;
    bool waited;                   /* for promises of the record, which was not there */
    uint64_t nonce;                /* of this operation's entry in the claim index */
    struct ts_coord_detail detail; /* copied to the caller on failure */
};

/* An operation on the shard. seen is what a session remembers, or NULL. */
struct coord__job coord__job_of(struct ts_coord *coord, struct coord__seen *seen,
                                const struct ts_tenant_id *tenant, struct ts_shard_key shard);
/* One that a lease gates. */
struct coord__job coord__job_by(struct ts_coord *coord, struct coord__seen *seen,
                                const struct ts_lease_op *by);

/* Runs the operation to its end, with memory of its own, and answers NONE or why not. Fills ret_outcome, which may be
 * NULL, or ret_detail, and tells when a lease is lost. */
enum ts_error_variant coord__job_run(struct coord__job *job, struct ts_coord_outcome *ret_outcome,
                                     struct ts_coord_detail *ret_detail);

/* What an end other than DONE is called. */
enum ts_error_variant coord__end_variant(enum coord__end end);

/* Reads the record and the guard into job->seen. */
enum coord__end coord__job_read(struct coord__job *job);

/* The same; what is not there then is absent, and not only promised. For operations that only look. */
enum coord__end coord__job_look(struct coord__job *job);

/* A new, free shard on its store, encoded into the plan's arena: its key must be absent. */
void coord__plan_new_shard(struct ts_coord *coord, struct coord__work *work,
                           const struct ts_shard_record *record);

/* An acquire as a session or a claim needs it: seen has the record afterwards. */
enum ts_acquire_error coord__acquire(struct ts_coord *coord, const struct ts_acquire_op *op,
                                     struct coord__seen *seen, struct ts_lease *ret_lease,
                                     struct ts_coord_detail *ret_detail);

/* ---- claims ---- */

/* Where a session looks first, so that what it has seen to be gone is not looked through again. NULL: from
 * the beginning. Leases with an earlier deadline than leased_from may still be there; they are looked for
 * before a claim finds nothing. */
struct coord__claim_hint {
    struct ts_run_id run;  /* the rest is about it */
    uint64_t *leased_from; /* by place: deadlines */
    bool has_start;
    struct ts_shard_id start;
};

enum ts_claim_error coord__claim(struct ts_coord *coord, const struct ts_coord_claim_op *op,
                                 struct coord__seen *seen, struct coord__claim_hint *hint,
                                 struct ts_lease *ret_lease, struct ts_capacity_hint *ret_capacity,
                                 struct ts_coord_detail *ret_detail);

/* How much there is to claim in the run of a shard that the caller has leased, over all stores; its own lease is not one to
 * wait for. None when that cannot be found out. */
struct ts_capacity_hint coord__capacity(struct ts_coord *coord, struct ts_shard_key own);

/* Whether a record is of the run, tenant and shape that its key says: what is under the wrong key is damage. */
enum coord__end coord__decode_run(const struct ts_row *row, struct ts_run_id run, bool *ret_found,
                                  struct ts_run_record *ret_run, struct ts_coord_detail *ret_detail);
enum coord__end coord__decode_guard(const struct ts_row *row, struct ts_run_id run, bool *ret_found,
                                    struct ts_run_guard *ret_guard, struct ts_coord_detail *ret_detail);
enum coord__end coord__decode_shard(const struct ts_row *row, struct ts_shard_key shard,
                                    struct ts_shard_record *ret_record, struct ts_coord_detail *ret_detail);
/* Whose run it is, by any of its records that can be read: one of them is damaged. Overwrites the work's calls. */
bool coord__find_tenant(struct ts_coord *coord, struct coord__work *work, struct ts_run_id run,
                        struct ts_tenant_id *ret_tenant);

/* A counter's value; absent is 0. */
enum coord__end coord__decode_counter(const struct ts_row *row, uint64_t *ret_value,
                                      struct ts_coord_detail *ret_detail);

#endif
