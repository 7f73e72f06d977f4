/*
 * Coordination: runs that are divided into shards, and workers that hold leases on the shards.
 * docs/coordination.md explains coordination; this is the interface for programs.
 *
 *     a run has shards           ts_run_plan_*, ts_run_create
 *     a worker claims a shard    ts_worker_claim         -> a lease: until its deadline nobody else may work on it
 *     it reports progress        ts_worker_checkpoint    -> the next holder continues from there
 *     it ends the shard          ts_worker_complete, ts_worker_park, ts_worker_split_replace
 *     the run ends               ts_run_end
 *
 * Any worker may be killed at any moment. Its lease then ends by the store's clock, and another worker claims
 * the shard and gets the cursor of the last checkpoint. Each claim raises the shard's fence: operations of a
 * worker with a lower fence are refused as StaleFence, however late they arrive. Work between two checkpoints
 * may be done twice: make it idempotent, write it with ts_worker_write, or let the system that receives its
 * writes check the fence (ts_worker_fence).
 *
 * Op ids. Operations that change something take an op id that the caller draws. After a BackendError of kind
 * UNKNOWN (a reply was lost), repeat the operation with the same op id: it is never done twice. An op id that
 * is used again with other parameters is refused as OpIdConflict.
 *
 * Errors. Each operation has its own enum (turnstone/coord_types.h). The details go into an answer, which the
 * caller supplies and may reuse; NULL is allowed. Texts of an answer never contain keys, tokens, owners or
 * other tenants. An error means that nothing was changed, with three exceptions: a BackendError of kind
 * UNKNOWN; any error of ts_run_create_in_steps and ts_run_delete, which work in steps; and errors of claims
 * and ts_worker_acquire, which park a shard that had too many attempts.
 *
 * Threads. Any number of threads may use a coordination and its runs. One thread at a time uses a worker, a
 * plan or an answer.
 *
 * Tenants and workers have names of 1 to 32 bytes. Runs of different tenants do not see each other.
 */
#ifndef TURNSTONE_COORD_H
#define TURNSTONE_COORD_H

#include "turnstone/api.h"
#include "turnstone/bytes.h"
#include "turnstone/coord_types.h"
#include "turnstone/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ts_cluster;
struct ts_coordinator;

struct ts_coord;        /* coordination on a cluster */
struct ts_coord_answer; /* how an operation ended */
struct ts_run_plan;     /* a run to create */
struct ts_run_info;     /* a run as ts_run_look reads it */
struct ts_shard_info;   /* a shard as it was read */
struct ts_worker;       /* a worker's session: at most one lease at a time */

/* Opens coordination over a cluster and this process's coordinator on it. Cluster and coordinator must stay
 * open until coordination is closed. Returns NULL when memory runs out. */
TS_API struct ts_coord *ts_coord_open(struct ts_cluster *cluster, struct ts_coordinator *coordinator);

/* Closes coordination. No operation may be in progress, and all workers must be freed. NULL is allowed. */
TS_API void ts_coord_close(struct ts_coord *coord);

/* Draws a random op id. Returns false when the system cannot supply random bytes. */
TS_API bool ts_op_id_draw(struct ts_op_id *ret_op_id);

/* ---- answers ---- */

/* Makes an answer for operations to fill in. Returns NULL when memory runs out. */
TS_API struct ts_coord_answer *ts_coord_answer_new(void);
TS_API void ts_coord_answer_free(struct ts_coord_answer *answer); /* NULL is allowed */

/* Returns the error as the specification names it, such as "StaleFence"; "Ok" after success. */
TS_API const char *ts_coord_answer_name(const struct ts_coord_answer *answer);

/* Returns one line for people and logs; "" after success. Valid until the answer is used again. */
TS_API const char *ts_coord_answer_text(const struct ts_coord_answer *answer);

/* Returns the recommended reaction to the answer; NONE after success. */
TS_API enum ts_coord_class ts_coord_answer_class(const struct ts_coord_answer *answer);

/* Returns the kind of a BackendError; RETRYABLE for other errors and after success. */
TS_API enum ts_infra_kind ts_coord_answer_backend(const struct ts_coord_answer *answer);

/* Returns whether the operation had already been done under this op id. The answer is then the answer of the
 * earlier call. */
TS_API bool ts_coord_answer_is_replay(const struct ts_coord_answer *answer);

/* Returns when to try a claim again, by the stores' clock, in milliseconds since 1970. For NoneAvailable:
 * when the first lease ends. For Throttled: when the cooldown is over. 0 if unknown. */
TS_API struct ts_logical_time ts_coord_answer_retry_at(const struct ts_coord_answer *answer);

/* ---- runs ---- */

/* Makes a plan for a run without shards, with default settings. Returns NULL when memory runs out or the
 * tenant's name is not valid. */
TS_API struct ts_run_plan *ts_run_plan_new(const char *tenant, struct ts_run_id run);
TS_API void ts_run_plan_free(struct ts_run_plan *plan); /* NULL is allowed */

enum ts_run_setting {
    TS_RUN_LEASE_MS, /* duration of leases, 1 s to 24 h; default: 30 s */
    /* A shard is parked after this many claims without a checkpoint. 0: no limit; at most 1,000; default: 5 */
    TS_RUN_ATTEMPTS,
    TS_RUN_COOLDOWN_MS, /* pause between two claims of a worker, at most a lease's duration; default: 0 */
    TS_RUN_SHARD_MAX,   /* shards that may be registered, 1 to 1,000,000; default: 100,000 */
    /* The meaning of a reported key. 0: everything up to the key is done; 1: the key was only dispatched. The
     * setting is stored for readers, and changes nothing else. Default: 0. */
    TS_RUN_DISPATCHED,
};

/* Returns false for an unknown setting. ts_run_create checks the values, and answers InvalidConfig if a value
 * is wrong. */
TS_API bool ts_run_plan_set(struct ts_run_plan *plan, enum ts_run_setting setting, uint64_t value);

/* Pins the run: only claims of workers with the same pin get its shards (ts_worker_set_pin). */
TS_API void ts_run_plan_set_pin(struct ts_run_plan *plan, struct ts_pin pin);

/*
 * Adds a shard: the keys from `start` (included) to `end` (excluded). An empty bound means no bound on that
 * side. Keys compare as unsigned bytes, and have at most 4,096 bytes. The metadata, of at most 16,384 bytes,
 * is for the caller. Bounds and metadata are copied. ts_run_create checks the ranges, and answers
 * ManifestInvalid if a range is wrong. Returns false when memory runs out.
 */
TS_API bool ts_run_plan_add_shard(struct ts_run_plan *plan, struct ts_bytes start, struct ts_bytes end,
                                  struct ts_bytes metadata);

/* Creates the run and all its shards, at most 10,000, in one transaction. Repeating the call with the same
 * plan and op id changes nothing. With another op id, the shards are added to the existing run as new shards
 * with the same ranges. A run without shards waits for ts_run_register. Creating such a run has no op id, so
 * creating it again is RunAlreadyExists. */
TS_API enum ts_create_run_error ts_run_create(struct ts_coord *coord, const struct ts_run_plan *plan,
                                              struct ts_op_id op_id, struct ts_coord_answer *ret_answer);

/*
 * Like ts_run_create, for any number of shards, at least one, in steps of 10,000. The run becomes Active with
 * the last step; until then nobody gets a shard. After a failure some steps may be done: repeat the call,
 * from any process, to continue, or cancel the run and delete it. A list or settings that differ from those
 * of the first call are ConfigMismatch.
 */
TS_API enum ts_create_run_error ts_run_create_in_steps(struct ts_coord *coord, const struct ts_run_plan *plan,
                                                       struct ts_op_id op_id,
                                                       struct ts_coord_answer *ret_answer);

/* Computes the run id and op id of a request. A request is a name for a submission: 1 to 64 printable ASCII
 * characters without blanks. The ids depend only on tenant and request, so that a repeated submission, even
 * by another process, creates only one run. Use the ids with ts_run_create_in_steps. Returns false when a
 * name is not valid. */
TS_API bool ts_run_of_request(const char *tenant, const char *request, struct ts_run_id *ret_run,
                              struct ts_op_id *ret_op_id);

/* Adds the shards of the plan to its run, at most 10,000 in a call. The settings of the plan are ignored. */
TS_API enum ts_register_shards_error ts_run_register(struct ts_coord *coord, const struct ts_run_plan *plan,
                                                     struct ts_op_id op_id,
                                                     struct ts_coord_answer *ret_answer);

enum ts_run_ending {
    TS_RUN_COMPLETE, /* WrongStatus while shards are active; parked shards are allowed */
    TS_RUN_FAIL,
    TS_RUN_CANCEL,
};

/* Ends a run and every lease in the run: workers get ShardTerminal. */
TS_API enum ts_run_transition_error ts_run_end(struct ts_coord *coord, const char *tenant,
                                               struct ts_run_id run, enum ts_run_ending ending,
                                               struct ts_op_id op_id, struct ts_coord_answer *ret_answer);

/* Deletes a run that has ended, with its shards, in several batches. If the run does not exist, the call
 * returns OK. After a failure some of the shards may be gone; repeating the call continues. After OK the id
 * may be used again. The call also returns OK for an invalid name, because no run has such a name. */
TS_API enum ts_delete_run_error ts_run_delete(struct ts_coord *coord, const char *tenant,
                                              struct ts_run_id run, struct ts_coord_answer *ret_answer);

/* Reads a run and the counts of its shards: cheap for any number of shards. The counts of different stores
 * may come from different moments. The caller frees *ret_info. Returns RunNotFound for an invalid name. */
TS_API enum ts_get_run_error ts_run_look(struct ts_coord *coord, const char *tenant, struct ts_run_id run,
                                         struct ts_run_info **ret_info, struct ts_coord_answer *ret_answer);
TS_API void ts_run_info_free(struct ts_run_info *info); /* NULL is allowed */
TS_API enum ts_run_status ts_run_info_status(const struct ts_run_info *info);
/* Returns the number of a run: 1 for the tenant's first run. A run that was created later has a higher
 * number; deleted runs leave gaps. */
TS_API uint64_t ts_run_info_number(const struct ts_run_info *info);
TS_API uint64_t ts_run_info_lease_ms(const struct ts_run_info *info);
TS_API struct ts_pin ts_run_info_pin(const struct ts_run_info *info);

/* Returns the number of shards with this status. */
TS_API uint64_t ts_run_info_shards(const struct ts_run_info *info, enum ts_shard_status status);

/* Visits the runs of the tenant, ordered by id, until visit returns false. A damaged run ends the visits with
 * BackendError. For an invalid name there are no visits. */
TS_API enum ts_get_run_error ts_run_each(struct ts_coord *coord, const char *tenant,
                                         bool (*visit)(void *context, struct ts_run_id run,
                                                       enum ts_run_status status),
                                         void *context, struct ts_coord_answer *ret_answer);

/* ---- reading shards ---- */

/* Visits the shards of a run, ordered by id, until visit returns false. The shard is valid until visit
 * returns. The shards do not come from one snapshot. */
TS_API enum ts_get_run_error
ts_run_each_shard(struct ts_coord *coord, const char *tenant, struct ts_run_id run,
                  bool (*visit)(void *context, const struct ts_shard_info *shard), void *context,
                  struct ts_coord_answer *ret_answer);

TS_API struct ts_shard_id ts_shard_info_id(const struct ts_shard_info *shard);
TS_API enum ts_shard_status ts_shard_info_status(const struct ts_shard_info *shard);
TS_API struct ts_fence_epoch ts_shard_info_fence(const struct ts_shard_info *shard);
TS_API bool ts_shard_info_is_leased(const struct ts_shard_info *shard);

/* Returns how many claims since the last checkpoint count against the limit of the run. */
TS_API uint64_t ts_shard_info_attempts(const struct ts_shard_info *shard);

/* Returns why the shard was parked; TS_PARK_OTHER if the shard is not parked. */
TS_API enum ts_park_reason ts_shard_info_park_reason(const struct ts_shard_info *shard);

/* Return the bounds of the shard, the last key and token that a checkpoint reported (empty: none), and the
 * caller's metadata. */
TS_API struct ts_bytes ts_shard_info_start(const struct ts_shard_info *shard);
TS_API struct ts_bytes ts_shard_info_end(const struct ts_shard_info *shard);
TS_API struct ts_bytes ts_shard_info_key(const struct ts_shard_info *shard);
TS_API struct ts_bytes ts_shard_info_token(const struct ts_shard_info *shard);
TS_API struct ts_bytes ts_shard_info_metadata(const struct ts_shard_info *shard);

/* Makes a parked shard active again, for any worker. Returns ShardNotFound for an invalid name. */
TS_API enum ts_unpark_error ts_shard_unpark(struct ts_coord *coord, const char *tenant, struct ts_run_id run,
                                            struct ts_shard_id shard, struct ts_op_id op_id,
                                            struct ts_coord_answer *ret_answer);

/* ---- a worker ---- */

/* Makes a worker's session. Returns NULL when memory runs out or a name is not valid. Workers of one tenant
 * that run at the same time need different names: the name of the process and its machine, for example. */
TS_API struct ts_worker *ts_worker_new(struct ts_coord *coord, const char *tenant, const char *name);

/* Frees the worker and ends its keeper. A lease of the worker is not released, and ends by itself. NULL is
 * allowed. */
TS_API void ts_worker_free(struct ts_worker *worker);

/*
 * The keeper's thread calls this function once for each lease that the keeper could not keep: the store
 * refused to renew it (StaleFence, LeaseExpired, ShardTerminal and the like), or did not answer until the
 * lease ended by this process's clock (BackendError). The worker should stop its work on the shard. The
 * callback must not call functions of the worker, except ts_worker_is_lost. It is not called after the
 * worker's next claim has begun, or after an operation that ended the lease has returned.
 */
typedef void ts_worker_on_loss(void *context, const struct ts_coord_answer *answer);

/*
 * Starts the keeper: threads that renew the lease whenever a third of its duration has passed, so that a
 * worker keeps its shard even if two checkpoints are further apart than a lease lasts. No call of the worker
 * can delay the keeper. If the store does not renew the lease in time, the keeper declares the lease lost a
 * tenth of its duration, but at most 1 s, before its end. Call this function once, before the first claim.
 * on_loss may be NULL. Returns false when memory runs out or a thread cannot be started.
 */
TS_API bool ts_worker_start_keeper(struct ts_worker *worker, ts_worker_on_loss *on_loss, void *context);

/* Sets the pin that later claims present. Without a pin, the worker gets no shard of a pinned run. Acquiring
 * a shard by its id does not check the pin. */
TS_API void ts_worker_set_pin(struct ts_worker *worker, struct ts_pin pin);

/* Claims any free shard of the run. NoneAvailable: other workers hold the remaining shards, or all shards are
 * done (ts_run_end, ts_run_look), or the run has another pin; the text says which of these is the case. A
 * lease that the worker still has is not released, and ends by itself. */
TS_API enum ts_claim_error ts_worker_claim(struct ts_worker *worker, struct ts_run_id run,
                                           struct ts_coord_answer *ret_answer);

/* Claims a free shard of any active run of the tenant. The pin of the run must allow this worker. Tries the
 * run of the last successful claim first, then the other runs in the order of their numbers. */
TS_API enum ts_claim_error ts_worker_claim_any(struct ts_worker *worker, struct ts_coord_answer *ret_answer);

/* Claims the shard with this id. */
TS_API enum ts_acquire_error ts_worker_acquire(struct ts_worker *worker, struct ts_run_id run,
                                               struct ts_shard_id shard, struct ts_coord_answer *ret_answer);

/* Return the shard as it was when this worker claimed it: its keys, the last checkpoint (an empty key or
 * token means none), and the metadata. Valid until the next claim; empty and 0 before the first claim. */
TS_API struct ts_run_id ts_worker_run(const struct ts_worker *worker);
TS_API struct ts_shard_id ts_worker_shard(const struct ts_worker *worker);
TS_API struct ts_fence_epoch ts_worker_fence(const struct ts_worker *worker);
TS_API struct ts_bytes ts_worker_start(const struct ts_worker *worker);
TS_API struct ts_bytes ts_worker_end(const struct ts_worker *worker);
TS_API struct ts_bytes ts_worker_key(const struct ts_worker *worker);
TS_API struct ts_bytes ts_worker_token(const struct ts_worker *worker);
TS_API struct ts_bytes ts_worker_metadata(const struct ts_worker *worker);

/* Returns whether the lease is known to be lost, from an answer of the store or from the keeper. Any thread
 * may ask. The result false is no guarantee: only the store decides. */
TS_API bool ts_worker_is_lost(const struct ts_worker *worker);

/* Returns approximately how long the lease is still valid; 0 if the lease has ended or the worker has no
 * lease. */
TS_API uint64_t ts_worker_left_ms(struct ts_worker *worker);

/*
 * Operations under the lease of the last claim. They ask the store even if the lease is known to be lost: an
 * operation that was done while the lease was valid is answered as a replay. Without any claim they answer
 * LeaseExpired.
 *
 *   renew       extends the lease to its full duration from now on; a keeper calls this by itself
 *   checkpoint  reports that everything up to and including `key` is done: the next holder starts after it;
 *               keys never go back and stay in the shard; `token` is for the caller, at most 16,384 bytes,
 *               or empty
 *   complete    like checkpoint; the shard is then done
 *   park        sets the shard aside until ts_shard_unpark
 *   release     gives the lease back, so that any worker can claim the shard at once; with TS_BLAME_SHARD
 *               the attempt counts against the run's limit, as if the lease had expired; with
 *               TS_BLAME_NOBODY it does not count
 */
TS_API enum ts_renew_error ts_worker_renew(struct ts_worker *worker, struct ts_coord_answer *ret_answer);
TS_API enum ts_checkpoint_error ts_worker_checkpoint(struct ts_worker *worker, struct ts_op_id op_id,
                                                     struct ts_bytes key, struct ts_bytes token,
                                                     struct ts_coord_answer *ret_answer);
TS_API enum ts_complete_error ts_worker_complete(struct ts_worker *worker, struct ts_op_id op_id,
                                                 struct ts_bytes key, struct ts_bytes token,
                                                 struct ts_coord_answer *ret_answer);
TS_API enum ts_park_error ts_worker_park(struct ts_worker *worker, struct ts_op_id op_id,
                                         enum ts_park_reason reason, struct ts_coord_answer *ret_answer);
TS_API enum ts_release_error ts_worker_release(struct ts_worker *worker, struct ts_op_id op_id,
                                               enum ts_blame blame, struct ts_coord_answer *ret_answer);

/*
 * Applies a batch to the store that the shard's id routes to, only if this worker holds the shard at that
 * moment and its run has not ended. So a former holder of the shard can never write here. Keys must not begin
 * with the byte 0.
 *
 * OK: the lease was valid, and ret_error is the answer of the store: OK, CHECK_FAILED, LIMIT, NOT_A_COUNTER or
 * BAD_BATCH. If the answer is not OK, nothing was written, and ret_error has the index of the operation if the
 * store names it.
 * BackendError of kind UNKNOWN: the batch may have been applied; read its keys to find out.
 */
TS_API enum ts_write_error ts_worker_write(struct ts_worker *worker, struct ts_batch batch,
                                           struct ts_store_error *ret_error,
                                           struct ts_coord_answer *ret_answer);

/*
 * Replaces the shard by children, which any worker can claim. They start at the shard's start and at each of
 * the cuts, which are 1 to 255 keys in ascending order. Each child has the shard's metadata. The child that
 * contains the last reported key continues after that key. The lease ends. Cuts outside the shard are refused
 * as SplitInvalid.
 */
TS_API enum ts_split_error ts_worker_split_replace(struct ts_worker *worker, struct ts_op_id op_id,
                                                   const struct ts_bytes *cuts, size_t count,
                                                   struct ts_coord_answer *ret_answer);

/* Splits off the keys from `cut` to the end as a new shard with this metadata, for another worker. This
 * worker keeps the keys before `cut`. */
TS_API enum ts_split_error ts_worker_split_residual(struct ts_worker *worker, struct ts_op_id op_id,
                                                    struct ts_bytes cut, struct ts_bytes metadata,
                                                    struct ts_coord_answer *ret_answer);

#ifdef __cplusplus
}
#endif

#endif
