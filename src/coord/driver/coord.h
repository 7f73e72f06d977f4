/*
 * Coordination on stores: each operation of the core (shard_step.h, split_step.h, run_step.h, claim.h) read,
 * decided and written.
 *
 *     read record and guard -> step -> one batch, or one transaction over several stores -> answer
 *         ^                                |
 *         +-- changed by others, or the reply was lost: read again, with the same op id
 *
 * What a caller can rely on:
 * - An operation is done as a whole or not at all, wherever its records live.
 * - An error other than BackendError (UNKNOWN) means that nothing was changed, with the one exception of an
 *   acquire that parks (shard_step.h) and of delete_run, which goes in batches. After UNKNOWN the operation may have been done or may still be: repeat
 *   it with the same op id.
 * - The store's time decides. A lease that ends while a batch is on its way is LeaseExpired.
 * - A record that is damaged is BackendError (DAMAGED), and nothing of it is used.
 * - Texts of errors and events are the core's, redacted.
 *
 * A struct ts_coord may be used by any number of threads at the same time; a worker's session (session.h) by
 * one at a time. Leases are not kept here: whoever has one hands it in.
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
#include "coord/driver/io.h"

struct ts_cluster;
struct ts_coordinator;
struct ts_coord;

/* All zero is a good start. */
struct ts_coord_options {
    /* 0: shards.tenant_max and shards.global_max of the coordinator, or, without one, TS_TENANT_SHARD_MAX and
     * TS_GLOBAL_SHARD_MAX. */
    uint64_t tenant_shard_max;
    uint64_t global_shard_max;
    size_t record_max;  /* bytes that a record may grow to; 0: TS_RECORD_MAX */
    uint32_t tries_max; /* rounds of read, decide and write of one operation; 0: 32 */
    /* No new round begins later than this after the first failed round; 0: 30 s, or, with ts_coord_new, timeouts.total of
     * the coordinator. */
    uint64_t patience_ms;
    /* For ts_coord_new: the stores were opened with a frozen clock, so nothing is added to their time. */
    bool time_stands_still;
    /* For ts_coord_new_over: seeds the numbers that mark an acquire as our own. Must differ between coordinators. */
    uint64_t seed;

    /* Called after an event, and after each transaction with its result and timing. NULL: not called. Any thread that uses
     * the coordination may call them. */
    void (*event)(void *context, const struct ts_event *event);
    void (*transaction)(void *context, const struct ts_txn_result *result);
    void *context;
};

/*
 * Over a cluster and this process's coordinator on it, which stay open longer. The coordinator's configuration holds here,
 * too: reads take timeouts.shard_rpc at most, everything is written by its transactions, and limits that the options leave
 * open are its own. options may be NULL. NULL when there is no memory or no entropy.
 */
struct ts_coord *ts_coord_new(struct ts_cluster *cluster, struct ts_coordinator *coordinator,
                              const struct ts_coord_options *options);

/* The same over calls of the caller's own: for simulations. io is copied. */
struct ts_coord *ts_coord_new_over(const struct ts_coord_io *io, const struct ts_coord_options *options);

/* Nothing may be under way and no session left. NULL is no matter. */
void ts_coord_free(struct ts_coord *coord);

/* The store that a shard's records live on. Runs, limits and the tenants' lists of runs live on the first. */
uint32_t ts_coord_place_of_shard(const struct ts_coord *coord, struct ts_shard_id shard);

/* What a store's answer is called in a BackendError. */
enum ts_infra_kind ts_infra_kind_of_store(enum ts_store_result result);

/* How an operation with an op id ended. */
struct ts_coord_outcome {
    enum ts_idempotent_outcome outcome;
    enum ts_op_result result; /* of shard operations */
    bool after_unknown; /* REPLAYED because a reply was lost on the way: found done, by this call or another
                           with the same id */
    struct ts_logical_time at; /* the time that the operation was decided at */
};

/* ---- runs ---- */

/* ret_run may be NULL. There is no op id: after UNKNOWN, RunAlreadyExists can mean that it was made. */
enum ts_create_run_error ts_coord_create_run(struct ts_coord *coord, const struct ts_create_run_op *op,
                                             struct ts_run_record *ret_run,
                                             struct ts_coord_detail *ret_detail);

/* One transaction, however many shards there are. memory is the caller's; it has the ids of the shards
 * afterwards. */
enum ts_register_shards_error ts_coord_register_shards(struct ts_coord *coord,
                                                       const struct ts_register_op *op,
                                                       struct ts_manifest_memory *memory,
                                                       struct ts_coord_outcome *ret_outcome,
                                                       struct ts_coord_detail *ret_detail);

/* Both in one transaction. May be repeated: REPLAYED when the run is there and the registration done. tenant
 * and run of both operations are the same. */
enum ts_create_run_error
ts_coord_create_run_with_shards(struct ts_coord *coord, const struct ts_create_run_op *create,
                                const struct ts_register_op *shards, struct ts_manifest_memory *memory,
                                struct ts_coord_outcome *ret_outcome, struct ts_coord_detail *ret_detail);

/* A run as a tenant asks for it. */
struct ts_coord_run_query {
    struct ts_tenant_id tenant;
    struct ts_run_id run;
};

enum ts_get_run_error ts_coord_get_run(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                       struct ts_run_record *ret_run, struct ts_coord_detail *ret_detail);

/* The counters: cheap however many shards there are. Those of different stores may be of different moments. */
enum ts_get_run_error ts_coord_run_counts(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                          struct ts_shard_counts *ret_counts,
                                          struct ts_coord_detail *ret_detail);

/* Everything that a progress has, by a walk over all shards of the run. */
enum ts_get_run_error ts_coord_run_progress(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                            struct ts_run_progress *ret_progress,
                                            struct ts_coord_detail *ret_detail);

struct ts_coord_runs_query {
    struct ts_run_filter filter;
    /* Called, with the context of visit, for a run whose record is damaged, whatever its status; then the list goes on,
     * unless it says false. NULL: the list ends there, as BackendError. */
    bool (*damaged)(void *context, struct ts_run_id run, const struct ts_infra_error *reason);
};

/* Visits the tenant's runs that match, ordered by id, until visit says false. The only errors are
 * BackendErrors. */
enum ts_get_run_error ts_coord_list_runs(struct ts_coord *coord, const struct ts_coord_runs_query *query,
                                         bool (*visit)(void *context, const struct ts_run_record *run),
                                         void *context, struct ts_coord_detail *ret_detail);

/* complete_run, fail_run and cancel_run, by op->kind. */
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
static inline enum ts_run_transition_error ts_coord_fail_run(struct ts_coord *coord, struct ts_end_run_op op,
                                                             struct ts_coord_outcome *ret_outcome,
                                                             struct ts_coord_detail *ret_detail) {
    op.kind = TS_RUN_OP_FAIL_RUN;
    return ts_coord_end_run(coord, &op, ret_outcome, ret_detail);
}
static inline enum ts_run_transition_error ts_coord_cancel_run(struct ts_coord *coord,
                                                               struct ts_end_run_op op,
                                                               struct ts_coord_outcome *ret_outcome,
                                                               struct ts_coord_detail *ret_detail) {
    op.kind = TS_RUN_OP_CANCEL_RUN;
    return ts_coord_end_run(coord, &op, ret_outcome, ret_detail);
}

struct ts_coord_deleted {
    bool was_there;  /* when the call began */
    uint64_t shards; /* that this call has deleted */
};

/*
 * Deletes a run that has ended, with its shards, in batches of at most 1,000 operations. May be repeated: a run that is
 * not there is OK. After any failure some of the shards may be gone; the run is there until everything else is gone, and
 * a repetition goes on. Its id may then be used again. A lease of the deleted run has the fences of that run, so a worker
 * must not present it to a new run of the same id.
 */
enum ts_delete_run_error ts_coord_delete_run(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                             struct ts_coord_deleted *ret_deleted,
                                             struct ts_coord_detail *ret_detail);

/* ---- shards, seen from outside ---- */

/* A shard as it was read. Borrowed until the visit returns. Holds key bytes and the owner: for the tenant
 * itself. */
struct ts_coord_shard_view {
    const struct ts_shard_record *record;
    uint64_t version;           /* of the record in its store */
    uint32_t place;             /* of that store */
    struct ts_logical_time now; /* of that store */
};

struct ts_coord_shard_query {
    struct ts_coord_run_query run;
    struct ts_shard_filter filter;
    bool has_after;
    struct ts_shard_id after; /* those with larger ids */
    /* Called, with the context of visit, for a record that is damaged, whatever the filter; then the walk goes on, unless
     * it says false. NULL: the walk ends there, as BackendError. */
    bool (*damaged)(void *context, struct ts_shard_key shard, const struct ts_infra_error *reason);
};

/* Visits the shards that match, ordered by id, until visit says false. Not one snapshot. */
enum ts_get_run_error ts_coord_list_shards(struct ts_coord *coord, const struct ts_coord_shard_query *query,
                                           bool (*visit)(void *context,
                                                         const struct ts_coord_shard_view *shard),
                                           void *context, struct ts_coord_detail *ret_detail);

struct ts_coord_shard_ref {
    struct ts_tenant_id tenant;
    struct ts_shard_key shard;
};

/* Calls visit once on success. */
enum ts_get_shard_error ts_coord_get_shard(struct ts_coord *coord, const struct ts_coord_shard_ref *ref,
                                           void (*visit)(void *context,
                                                         const struct ts_coord_shard_view *shard),
                                           void *context, struct ts_coord_detail *ret_detail);

enum ts_unpark_error ts_coord_unpark(struct ts_coord *coord, const struct ts_unpark_op *op,
                                     struct ts_coord_outcome *ret_outcome,
                                     struct ts_coord_detail *ret_detail);

/* ---- leases ---- */

/* The view borrows from the scratch, which the caller owns. */
enum ts_acquire_error ts_coord_acquire(struct ts_coord *coord, const struct ts_acquire_op *op,
                                       struct ts_acquire_scratch *scratch,
                                       struct ts_acquire_result_view *ret_view,
                                       struct ts_coord_detail *ret_detail);

struct ts_coord_claim_op {
    struct ts_tenant_id tenant;
    struct ts_run_id run;
    struct ts_worker_id worker;
    /* Look first behind this shard, where the last claim ended, instead of at the worker's own starting point. */
    bool has_start;
    struct ts_shard_id start;
};

enum ts_claim_error ts_coord_claim_next_available(struct ts_coord *coord, const struct ts_coord_claim_op *op,
                                                  struct ts_acquire_scratch *scratch,
                                                  struct ts_acquire_result_view *ret_view,
                                                  struct ts_coord_detail *ret_detail);

/* What a session remembers of its shard, so that it need not be read; NULL where there is no session. */
struct coord__seen;

/* ret_lease has the new deadline. */
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

enum ts_split_replace_error
ts_coord_split_replace(struct ts_coord *coord, const struct ts_split_replace_op *op, struct coord__seen *seen,
                       struct ts_split_replace_result *ret_result, struct ts_coord_outcome *ret_outcome,
                       struct ts_coord_detail *ret_detail);

enum ts_split_residual_error
ts_coord_split_residual(struct ts_coord *coord, const struct ts_split_residual_op *op,
                        struct coord__seen *seen, struct ts_split_residual_result *ret_result,
                        struct ts_coord_outcome *ret_outcome, struct ts_coord_detail *ret_detail);

/* ---- looking for what must not be ---- */

/* What is wrong with what the stores hold about a run; all 0 when nothing is. To be asked when nobody else is at
 * work on the run and no transaction is pending. */
struct ts_coord_audit {
    struct ts_shard_counts counted;  /* by a walk over the shards */
    struct ts_shard_counts counters; /* what the counters say */
    uint64_t wrong_counters;         /* stripes that differ from the count of their shards */
    uint64_t wrong_places;           /* shards on a store that they do not route to */
    uint64_t missing_index;          /* active shards without their entry in the claim index */
    uint64_t extra_index;            /* entries of the claim index that no shard has */
    uint64_t wrong_guards;           /* stores whose guard differs from the run */
    uint64_t counted_for_limits;     /* shards of this run that count against the limits */
    bool wrong_limits; /* that differs from the shards there are (or, in an ended run, from 0) */
};

bool ts_coord_audit_is_clean(const struct ts_coord_audit *audit);

enum ts_get_run_error ts_coord_audit_run(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                         struct ts_coord_audit *ret_audit,
                                         struct ts_coord_detail *ret_detail);

/* The counters behind the limits, from the first store. */
enum ts_get_run_error ts_coord_limits(struct ts_coord *coord, const struct ts_tenant_id *tenant,
                                      struct ts_shard_limits *ret_limits, struct ts_coord_detail *ret_detail);

#endif
