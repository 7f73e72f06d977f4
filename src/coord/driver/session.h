/*
 * A worker's session: one worker, at most one shard at a time.
 *
 * The session remembers the record that it wrote last, the record's version, the run's guard and the store's
 * time, so that a checkpoint is normally one write to one store without a read. The session never refuses an
 * operation from memory alone: if the remembered record refuses the operation, or if the store reports a
 * change, the session reads and decides again.
 *
 *     IDLE -- claim, acquire --> HOLDING -- complete, park, release, split_replace, an error that ends the lease --> IDLE
 *                                 |    ^
 *                                 +----+ renew, checkpoint, split_residual, write
 *
 * HOLDING: there is a lease (ts_coord_session_lease), which may have ended by the store's clock. Callers must
 * not call functions that need a lease in IDLE. A session belongs to one thread at a time. A keeper
 * (keeper.h) renews the lease without the session.
 */
#ifndef TS_COORD_DRIVER_SESSION_H
#define TS_COORD_DRIVER_SESSION_H

#include "coord/driver/coord.h"
#include "coord/driver/lease_check.h"

struct ts_coord_session;

struct ts_coord_worker {
    struct ts_tenant_id tenant;
    struct ts_worker_id worker;
    struct ts_pin pin; /* the worker's pin for claims; zeros: none */
    /* ts_coord_session_claim_any claims only from runs with exactly this pin: other runs are for another kind
     * of worker. */
    bool pinned_only;
};

/* Returns NULL when memory runs out. The coordination must outlive the session. */
struct ts_coord_session *ts_coord_session_new(struct ts_coord *coord, const struct ts_coord_worker *worker);

/* Sets the worker's pin for later claims. */
void ts_coord_session_set_pin(struct ts_coord_session *session, struct ts_pin pin);

/* Frees the session. Does not release its lease, which expires by itself. Accepts NULL. */
void ts_coord_session_free(struct ts_coord_session *session);

/* Returns the session's lease; NULL in IDLE. The lease is borrowed, and renew changes it. */
const struct ts_lease *ts_coord_session_lease(const struct ts_coord_session *session);

/* Returns the shard's current record as the session knows it: range, cursor, metadata, spawned. NULL in IDLE,
 * and after ts_coord_session_adopt until the first operation. Borrowed until the next operation of the
 * session. */
const struct ts_shard_record *ts_coord_session_record(const struct ts_coord_session *session);

/* Returns the guard of the shard's run, which the session read together with the shard. Number, configuration
 * and pin never change. NULL in IDLE, and after ts_coord_session_adopt until the first operation. */
const struct ts_run_guard *ts_coord_session_guard(const struct ts_coord_session *session);

/* Returns how long the lease is still valid, as far as the session knows; 0 if there is no valid lease.
 * Counted by the clock of this process, from just before the request to the store. So the lease never ends
 * earlier on the store than the returned time says. */
uint64_t ts_coord_session_left_ms(const struct ts_coord_session *session);

/* Call the claim and acquire functions in IDLE. ret_view borrows from the session until the next claim or
 * acquire. A later claim in the same run starts after the shard of the last successful claim. */
enum ts_claim_error ts_coord_session_claim(struct ts_coord_session *session, struct ts_run_id run,
                                           struct ts_acquire_result_view *ret_view,
                                           struct ts_coord_detail *ret_detail);
/* Claims from any active run of the tenant, if the run's pin admits the worker: first from the run of the
 * last success, then from the other runs in the order of their numbers. NoneAvailable has the earliest
 * deadline of all runs, and counts the runs with another pin. Throttled: no run gave a shard, and the worker
 * waits for the cooldown of at least one run. */
enum ts_claim_error ts_coord_session_claim_any(struct ts_coord_session *session,
                                               struct ts_acquire_result_view *ret_view,
                                               struct ts_coord_detail *ret_detail);
enum ts_acquire_error ts_coord_session_acquire(struct ts_coord_session *session, struct ts_shard_key shard,
                                               struct ts_acquire_result_view *ret_view,
                                               struct ts_coord_detail *ret_detail);

/* Takes over a lease that was decoded from bytes, without asking a store: IDLE -> HOLDING. */
void ts_coord_session_adopt(struct ts_coord_session *session, const struct ts_lease *lease);

/* Forgets the lease without a call to a store: HOLDING -> IDLE. The lease expires by itself. */
void ts_coord_session_drop(struct ts_coord_session *session);

/* Call the functions below in HOLDING. An error that means that the lease is lost (StaleFence, LeaseExpired,
 * ShardTerminal, ShardNotFound, TenantMismatch) leads to IDLE. */
enum ts_renew_error ts_coord_session_renew(struct ts_coord_session *session,
                                           struct ts_renew_result *ret_result,
                                           struct ts_coord_detail *ret_detail);
enum ts_checkpoint_error ts_coord_session_checkpoint(struct ts_coord_session *session, struct ts_op_id op_id,
                                                     const struct ts_cursor *cursor,
                                                     struct ts_coord_outcome *ret_outcome,
                                                     struct ts_coord_detail *ret_detail);
enum ts_complete_error ts_coord_session_complete(struct ts_coord_session *session, struct ts_op_id op_id,
                                                 const struct ts_cursor *cursor,
                                                 struct ts_coord_outcome *ret_outcome,
                                                 struct ts_coord_detail *ret_detail);
enum ts_park_error ts_coord_session_park(struct ts_coord_session *session, struct ts_op_id op_id,
                                         enum ts_park_reason reason, struct ts_coord_outcome *ret_outcome,
                                         struct ts_coord_detail *ret_detail);
/* Applies a batch of another layer to the shard's store, under the lease: ts_coord_write. */
enum ts_write_error ts_coord_session_write(struct ts_coord_session *session, struct ts_batch batch,
                                           struct ts_store_error *ret_error,
                                           struct ts_coord_detail *ret_detail);
enum ts_release_error ts_coord_session_release(struct ts_coord_session *session, struct ts_op_id op_id,
                                               enum ts_blame blame, struct ts_coord_outcome *ret_outcome,
                                               struct ts_coord_detail *ret_detail);
enum ts_split_replace_error
ts_coord_session_split_replace(struct ts_coord_session *session, struct ts_op_id op_id,
                               struct ts_new_shards children, struct ts_split_replace_result *ret_result,
                               struct ts_coord_outcome *ret_outcome, struct ts_coord_detail *ret_detail);
enum ts_split_residual_error ts_coord_session_split_residual(struct ts_coord_session *session,
                                                             struct ts_op_id op_id,
                                                             const struct ts_new_shard *residual,
                                                             struct ts_split_residual_result *ret_result,
                                                             struct ts_coord_outcome *ret_outcome,
                                                             struct ts_coord_detail *ret_detail);

#endif
