/*
 * Coordination on stores: reads, decides and writes each operation of the core (shard_step.h, split_step.h,
 * run_step.h, claim.h).
 *
 *     read record and guard -> step -> one batch, or one transaction over several stores -> answer
 *         ^                                |
 *         +-- changed by others, or the reply was lost: read again, with the same op id
 *
 * What a caller can rely on:
 * - An operation is done completely or not at all, on all stores that have its records.
 * - An error other than BackendError (UNKNOWN) means that nothing was changed. The exceptions are an acquire
 *   or claim that parks (shard_step.h), and create_run_in_steps and delete_run, which write in several
 *   transactions. After UNKNOWN the operation may have been done or may still be done: repeat it with the same
 *   op id.
 * - The store's time decides. If a lease ends before its batch arrives, the result is LeaseExpired.
 * - A damaged record is BackendError (DAMAGED), and nothing of it is used.
 * - Texts of errors and events come from the core, redacted.
 *
 * Any number of threads may use a struct ts_coord at the same time; only one thread at a time may use a
 * worker's session (session.h). Leases are not kept here: callers pass them.
 *
 * ret_detail is written only on failure. Other ret_ outputs are written only on success.
 */
#ifndef TS_COORD_DRIVER_COORD_H
#define TS_COORD_DRIVER_COORD_H

#include "coord/core/claim.h"
#include "coord/core/error.h"
#include "coord/core/event.h"
#include "coord/core/progress.h"
#include "coord/core/run_step.h"
#include "coord/core/scratch.h"
#include "coord/core/shard_step.h"
#include "coord/core/split_step.h"
#include "coord/core/target_shard.h"
#include "coord/driver/io.h"

struct ts_cluster;
struct ts_coordinator;
struct ts_coord;

/* A struct of zeros has the defaults. */
struct ts_coord_options {
    /* Limits of shards; 0: shards.tenant_max and shards.global_max of the coordinator, or, without a
     * coordinator, TS_TENANT_SHARD_MAX and TS_GLOBAL_SHARD_MAX. */
    uint64_t tenant_shard_max;
    uint64_t global_shard_max;
    size_t record_max;  /* bytes that a record may grow to; 0: TS_RECORD_MAX */
    uint32_t tries_max; /* limit for the rounds (read, decide, write) of one operation; 0: 32 */
    /* No round starts more than this time after the first failed round; 0: timeouts.total of the coordinator
     * with ts_coord_new, otherwise 30 s. */
    uint64_t patience_ms;
    /* For ts_coord_new: the stores were opened with a frozen clock, so nothing is added to their time. */
    bool is_clock_frozen;
    /* For ts_coord_new_over: seeds the numbers by which this coordination recognises its own acquires. The
     * seed must differ between coordinators. */
    uint64_t seed;

    /* Callbacks, or NULL. `event` is called after each event; `transaction` is called after each transaction,
     * with its result and timing. Both may be called by any thread that uses the coordination. */
    void (*event)(void *context, const struct ts_event *event);
    void (*transaction)(void *context, const struct ts_txn_result *result);
    void *context;
};

/*
 * Makes the coordination over a cluster and this process's coordinator on it. Both must stay open until
 * ts_coord_free. The coordinator's configuration applies here, too: reads take at most timeouts.shard_rpc,
 * all writes are transactions of the coordinator, and its limits replace unset options. options may be NULL.
 * Returns NULL when memory runs out or the system cannot supply random bytes.
 */
struct ts_coord *ts_coord_new(struct ts_cluster *cluster, struct ts_coordinator *coordinator,
                              const struct ts_coord_options *options);

/* Like ts_coord_new, over the caller's own functions: for simulations. Copies io. */
struct ts_coord *ts_coord_new_over(const struct ts_coord_io *io, const struct ts_coord_options *options);

/* While an operation waits for a store, `must` is called and says whether the operation must stop. The answer
 * true is final. */
struct ts_coord_stop {
    bool (*must)(void *context);
    void *context;
};

/*
 * Makes a second struct for this coordination, for one user that may have to stop, such as a worker that has
 * lost its lease while a store does not answer. When that user must stop, its calls end within 20 ms, as if
 * they had timed out; so do all its later calls. Other users are not affected. If the coordination is over
 * the caller's own functions, nothing is stopped. `coord` must outlive the second struct. Returns NULL when
 * memory runs out.
 */
struct ts_coord *ts_coord_new_stoppable(struct ts_coord *coord, const struct ts_coord_stop *stop);

/* Frees the coordination. No operation may be in progress, and all sessions must be freed. Accepts NULL. */
void ts_coord_free(struct ts_coord *coord);

/* Returns the place of the store that has a shard's records. Runs, limits and the tenants' lists of runs are
 * on the first store. */
uint32_t ts_coord_place_of_shard(const struct ts_coord *coord, struct ts_shard_id shard);

/* Returns the router of shards, for the ids of shards of targets (coord/core/target_shard.h). */
const struct ts_router *ts_coord_router(const struct ts_coord *coord);

/* Returns the kind of BackendError for a store's answer. */
enum ts_infra_kind ts_infra_kind_of_store(enum ts_store_result result);

/* The result of an operation with an op id. */
struct ts_coord_outcome {
    enum ts_idempotent_outcome outcome;
    enum ts_op_result result;  /* result of a shard operation */
    bool after_unknown;        /* REPLAYED, and an earlier try of this call lost its reply */
    struct ts_logical_time at; /* the time at which the operation was decided */
};

/* ---- runs ---- */

/* Creates a run. ret_run may be NULL. There is no op id. After UNKNOWN, RunAlreadyExists can mean that this
 * call created the run. */
enum ts_create_run_error ts_coord_create_run(struct ts_coord *coord, const struct ts_create_run_op *op,
                                             struct ts_run_record *ret_run,
                                             struct ts_coord_detail *ret_detail);

/* Registers all shards in one transaction. The caller owns the memory, which receives the ids of the
 * shards. */
enum ts_register_shards_error ts_coord_register_shards(struct ts_coord *coord,
                                                       const struct ts_register_op *op,
                                                       struct ts_manifest_memory *memory,
                                                       struct ts_coord_outcome *ret_outcome,
                                                       struct ts_coord_detail *ret_detail);

/* Creates the run and registers its shards in one transaction. May be repeated: REPLAYED when the run exists
 * and the registration is done. Both operations must have the same tenant and run. */
enum ts_create_run_error
ts_coord_create_run_with_shards(struct ts_coord *coord, const struct ts_create_run_op *create,
                                const struct ts_register_op *shards, struct ts_manifest_memory *memory,
                                struct ts_coord_outcome *ret_outcome, struct ts_coord_detail *ret_detail);

/*
 * The arguments of ts_coord_create_run_in_steps. That function is like ts_coord_create_run_with_shards, for a
 * list of any length, in steps. It ignores create.announced, and announces the list itself. Missing ids of
 * shards, and the op ids of the steps, are derived from op_id. The run becomes Active with its last step;
 * until then nobody can acquire a shard.
 *
 * May be repeated at any time: during another call with the same arguments, after a crash, or after an error.
 * The call registers only the steps that are missing. The outcome is REPLAYED if no step was missing. A list
 * that differs from that of the first call is ConfigMismatch, with is_other_list. After an error the run may
 * be half-registered: repeat the call, or cancel the run, and delete it.
 */
struct ts_coord_list_op {
    struct ts_create_run_op create;
    struct ts_new_shards shards;
    struct ts_op_id op_id;
    /* Shards in a step; 0: TS_REGISTER_MAX, which is the maximum. If a step fails because a store is slow,
     * the next steps are smaller. */
    size_t step_max;
    /* The run is created only while a record of another layer on the first store has this version; otherwise
     * the call fails with BackendError. If the key is empty, there is no condition. */
    struct ts_bytes condition_key;
    uint64_t condition_version;
};

/* Registers the list in steps. ret_ids receives the ids of all shards; it may be NULL. */
enum ts_create_run_error ts_coord_create_run_in_steps(struct ts_coord *coord,
                                                      const struct ts_coord_list_op *op,
                                                      struct ts_shard_id *ret_ids,
                                                      struct ts_coord_outcome *ret_outcome,
                                                      struct ts_coord_detail *ret_detail);

/* A query of a run by a tenant. */
struct ts_coord_run_query {
    struct ts_tenant_id tenant;
    struct ts_run_id run;
};

enum ts_get_run_error ts_coord_get_run(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                       struct ts_run_record *ret_run, struct ts_coord_detail *ret_detail);

/* Reads the counters: cheap for any number of shards. Counters of different stores may be read at different
 * moments. */
enum ts_get_run_error ts_coord_run_counts(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                          struct ts_shard_counts *ret_counts,
                                          struct ts_coord_detail *ret_detail);

/* Fills in all fields of a progress, by a walk over all shards of the run. */
enum ts_get_run_error ts_coord_run_progress(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                            struct ts_run_progress *ret_progress,
                                            struct ts_coord_detail *ret_detail);

struct ts_coord_runs_query {
    struct ts_run_filter filter;
    /* Called, with the context of visit, for every run with a damaged record. The filter's status is not
     * applied to such runs. If the callback returns true, the list continues. If `damaged` is NULL, the list
     * ends at that run with BackendError. */
    bool (*damaged)(void *context, struct ts_run_id run, const struct ts_infra_error *reason);
};

/* Visits the tenant's matching runs, ordered by id, until visit returns false. The only errors are
 * BackendErrors. */
enum ts_get_run_error ts_coord_list_runs(struct ts_coord *coord, const struct ts_coord_runs_query *query,
                                         bool (*visit)(void *context, const struct ts_run_record *run),
                                         void *context, struct ts_coord_detail *ret_detail);

/* Ends a run: complete_run, fail_run or cancel_run, by op->kind. */
enum ts_run_transition_error ts_coord_end_run(struct ts_coord *coord, const struct ts_end_run_op *op,
                                              struct ts_coord_outcome *ret_outcome,
                                              struct ts_coord_detail *ret_detail);

static inline enum ts_run_transition_error ts_coord_complete_run(struct ts_coord *coord,
                                                                 struct ts_end_run_op op,
                                                                 struct ts_coord_outcome *ret_outcome,
                                                                 struct ts_coord_detail *ret_detail) {
    op.kind = TS_RUN_OP_COMPLETE_RUN;
    return ts_coord_end_run(coord, &op, ret_outcome, ret_detail);
}
static inline enum ts_run_transition_error ts_coord_cancel_run(struct ts_coord *coord,
                                                               struct ts_end_run_op op,
                                                               struct ts_coord_outcome *ret_outcome,
                                                               struct ts_coord_detail *ret_detail) {
    op.kind = TS_RUN_OP_CANCEL_RUN;
    return ts_coord_end_run(coord, &op, ret_outcome, ret_detail);
}

/*
 * Makes the key of a unit. A unit is a record of another layer about one target of a run, for example the
 * work of a shard. Coordination does not read units. It deletes them with the run, and also all keys that
 * begin with the key of a unit. Units may be on any store. If a unit is on the shard's store, a worker can
 * write it in one batch with the lease check (lease_check.h).
 */
enum { TS_COORD_UNIT_KEY_LEN = 3 + 8 + TS_COORD_TARGET_LEN };
void ts_coord_unit_key(struct ts_run_id run, const uint8_t target[static TS_COORD_TARGET_LEN],
                       uint8_t ret_key[static TS_COORD_UNIT_KEY_LEN]);

struct ts_coord_deleted {
    bool was_there;  /* the run existed before the call */
    uint64_t shards; /* number of shards that this call deleted */
    uint64_t units;  /* number of units that this call deleted */
};

/*
 * Deletes a run that has ended, with its shards and units, in batches of at most 1,000 operations. May be
 * repeated: a missing run is OK. After any failure some of the shards may be deleted. The run's record is
 * deleted last, so a repeated call continues. After OK the run's id may be used again. Fences start again in
 * the new run, so a worker must not present a lease of the deleted run.
 */
enum ts_delete_run_error ts_coord_delete_run(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                             struct ts_coord_deleted *ret_deleted,
                                             struct ts_coord_detail *ret_detail);

/* ---- reading shards ---- */

/* A shard that was read. Borrowed until the visit returns. Contains key bytes and the owner, so show it only
 * to the tenant itself. */
struct ts_coord_shard_view {
    const struct ts_shard_record *record;
    uint64_t version;           /* version of the record in its store */
    uint32_t place;             /* place of that store */
    struct ts_logical_time now; /* time of that store */
};

struct ts_coord_shard_query {
    struct ts_coord_run_query run;
    struct ts_shard_filter filter;
    bool has_after;
    struct ts_shard_id after; /* only shards with a larger id */
    /* Called, with the context of visit, for every damaged record. The filter is not applied to such records.
     * If the callback returns true, the walk continues. If `damaged` is NULL, the walk ends at that record
     * with BackendError. */
    bool (*damaged)(void *context, struct ts_shard_key shard, const struct ts_infra_error *reason);
};

/* Visits the matching shards, ordered by id, until visit returns false. The shards may be read at different
 * moments. */
enum ts_get_run_error ts_coord_list_shards(struct ts_coord *coord, const struct ts_coord_shard_query *query,
                                           bool (*visit)(void *context,
                                                         const struct ts_coord_shard_view *shard),
                                           void *context, struct ts_coord_detail *ret_detail);

struct ts_coord_shard_ref {
    struct ts_tenant_id tenant;
    struct ts_shard_key shard;
};

/* Reads one shard. Calls visit once on success. */
enum ts_get_shard_error ts_coord_get_shard(struct ts_coord *coord, const struct ts_coord_shard_ref *ref,
                                           void (*visit)(void *context,
                                                         const struct ts_coord_shard_view *shard),
                                           void *context, struct ts_coord_detail *ret_detail);

enum ts_unpark_error ts_coord_unpark(struct ts_coord *coord, const struct ts_unpark_op *op,
                                     struct ts_coord_outcome *ret_outcome,
                                     struct ts_coord_detail *ret_detail);

/* ---- leases ---- */

/* Acquires one shard. The view borrows from the caller's scratch. */
enum ts_acquire_error ts_coord_acquire(struct ts_coord *coord, const struct ts_acquire_op *op,
                                       struct ts_acquire_scratch *scratch,
                                       struct ts_acquire_result_view *ret_view,
                                       struct ts_coord_detail *ret_detail);

struct ts_coord_claim_op {
    struct ts_tenant_id tenant;
    struct ts_run_id run;
    struct ts_worker_id worker;
    struct ts_pin pin; /* the worker's pin; zeros: none */
    /* If has_start, the search starts after the shard `start`, where the last claim ended. Otherwise it
     * starts at the worker's own starting point. */
    bool has_start;
    struct ts_shard_id start;
};

enum ts_claim_error ts_coord_claim_next_available(struct ts_coord *coord, const struct ts_coord_claim_op *op,
                                                  struct ts_acquire_scratch *scratch,
                                                  struct ts_acquire_result_view *ret_view,
                                                  struct ts_coord_detail *ret_detail);

/* The session's memory of the shard. With it, an operation needs no read. NULL without a session. */
struct coord__seen;

/* Extends the lease. ret_lease has the new deadline. */
enum ts_renew_error ts_coord_renew(struct ts_coord *coord, const struct ts_renew_op *op,
                                   struct coord__seen *seen, struct ts_lease *ret_lease,
                                   struct ts_renew_result *ret_result, struct ts_coord_detail *ret_detail);

enum ts_checkpoint_error ts_coord_checkpoint(struct ts_coord *coord, const struct ts_cursor_op *op,
                                             struct coord__seen *seen, struct ts_coord_outcome *ret_outcome,
                                             struct ts_coord_detail *ret_detail);

enum ts_complete_error ts_coord_complete(struct ts_coord *coord, const struct ts_cursor_op *op,
                                         struct coord__seen *seen, struct ts_coord_outcome *ret_outcome,
                                         struct ts_coord_detail *ret_detail);

enum ts_park_error ts_coord_park(struct ts_coord *coord, const struct ts_park_op *op,
                                 struct coord__seen *seen, struct ts_coord_outcome *ret_outcome,
                                 struct ts_coord_detail *ret_detail);

enum ts_release_error ts_coord_release(struct ts_coord *coord, const struct ts_release_op *op,
                                       struct coord__seen *seen, struct ts_coord_outcome *ret_outcome,
                                       struct ts_coord_detail *ret_detail);

enum ts_split_replace_error
ts_coord_split_replace(struct ts_coord *coord, const struct ts_split_replace_op *op, struct coord__seen *seen,
                       struct ts_split_replace_result *ret_result, struct ts_coord_outcome *ret_outcome,
                       struct ts_coord_detail *ret_detail);

enum ts_split_residual_error
ts_coord_split_residual(struct ts_coord *coord, const struct ts_split_residual_op *op,
                        struct coord__seen *seen, struct ts_split_residual_result *ret_result,
                        struct ts_coord_outcome *ret_outcome, struct ts_coord_detail *ret_detail);

/* ---- consistency ---- */

/* The result of an audit of a run's records. In a consistent run, all fields whose names begin with wrong_,
 * missing_ or extra_ are 0. The result has a meaning only while no worker uses the run and no transaction is
 * pending. */
struct ts_coord_audit {
    struct ts_shard_counts counted;  /* counts from a walk over the shards */
    struct ts_shard_counts counters; /* counts from the counters */
    uint64_t wrong_counters;         /* counter stripes whose value is not the number of their shards */
    uint64_t wrong_places;           /* shards that are on a wrong store */
    uint64_t missing_index;          /* active shards without their entry in the claim index */
    uint64_t extra_index;            /* entries of the claim index without a shard */
    uint64_t wrong_guards;           /* stores whose guard differs from the run */
    uint64_t counted_for_limits;     /* shards of this run that count against the limits */
    bool wrong_limits;               /* counted_for_limits is not the number of shards (0 in an ended run) */
};

bool ts_coord_audit_is_clean(const struct ts_coord_audit *audit);

enum ts_get_run_error ts_coord_audit_run(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                         struct ts_coord_audit *ret_audit,
                                         struct ts_coord_detail *ret_detail);

/* Reads the counters of the limits from the first store. */
enum ts_get_run_error ts_coord_limits(struct ts_coord *coord, const struct ts_tenant_id *tenant,
                                      struct ts_shard_limits *ret_limits, struct ts_coord_detail *ret_detail);

#endif
