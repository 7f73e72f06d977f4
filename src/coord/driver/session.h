/*
 * A worker's session: one worker, at most one shard at a time.
 *
 * It remembers the record that it wrote last, the record's version, the run's guard and the store's time, so
 * that a checkpoint is normally one write to one store without a read. It never refuses an operation from
 * memory alone: when a step on it fails, or the store says that something has changed, it reads and decides
 * again.
 *
 *     IDLE -- claim, acquire --> HOLDING -- complete, park, release, split_replace, an error that ends the lease --> IDLE
 *                                 |    ^
 *                                 +----+ renew, checkpoint, split_residual, write
 *
 * HOLDING: there is a lease (ts_coord_session_lease), which may have ended by the store's clock. Callers must
 * not call functions that need a lease in IDLE. A session belongs to one thread at a time: a keeper that
 * renews the lease takes turns with the worker.
 */
#ifndef TS_COORD_DRIVER_SESSION_H
#define TS_COORD_DRIVER_SESSION_H

#include "coord/driver/coord.h"
#include "coord/driver/gate.h"

struct ts_coord_session;

struct ts_coord_worker {
    struct ts_tenant_id tenant;
    struct ts_worker_id worker;
};

/* Returns NULL when memory runs out. The coordination must outlive the session. */
struct ts_coord_session *ts_coord_session_new(struct ts_coord *coord, const struct ts_coord_worker *worker);

/* Does not release its lease, which ends by itself. Accepts NULL. */
void ts_coord_session_free(struct ts_coord_session *session);

/* NULL in IDLE. Borrowed; it changes with renew. */
const struct ts_lease *ts_coord_session_lease(const struct ts_coord_session *session);

/* The shard's current record, as far as the session knows: range, cursor, metadata, spawned. NULL in IDLE.
 * Borrowed until the next operation of the session. */
const struct ts_shard_record *ts_coord_session_record(const struct ts_coord_session *session);

/* The approximate time for which the lease is still valid, from the store's last known time and the time
 * since; 0 when it has ended or there is none. */
uint64_t ts_coord_session_left_ms(const struct ts_coord_session *session);

/* Call these in IDLE. ret_view borrows from the session until the next claim or acquire. A later claim
 * begins where the last one succeeded. */
enum ts_claim_error ts_coord_session_claim(struct ts_coord_session *session, struct ts_run_id run,
                                           struct ts_acquire_result_view *ret_view,
                                           struct ts_coord_detail *ret_detail);
enum ts_acquire_error ts_coord_session_acquire(struct ts_coord_session *session, struct ts_shard_key shard,
                                               struct ts_acquire_result_view *ret_view,
                                               struct ts_coord_detail *ret_detail);

/* Takes over a lease that was passed on as bytes, without asking a store: IDLE -> HOLDING. */
void ts_coord_session_adopt(struct ts_coord_session *session, const struct ts_lease *lease);

/* Forgets the lease without a call to a store: HOLDING -> IDLE. It ends by itself. */
void ts_coord_session_drop(struct ts_coord_session *session);

/* Call these in HOLDING. Errors that mean that the lease is gone (StaleFence, LeaseExpired, ShardTerminal,
 * ShardNotFound, TenantMismatch) lead to IDLE. */
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
