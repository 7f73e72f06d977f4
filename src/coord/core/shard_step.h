/*
 * Operations on one shard. A step takes state and operation, and returns the new state and the writes to
 * make. Nothing here reads a clock, allocates or keeps state.
 *
 *     operation    needs        effect
 *     acquire      any worker   Active, not leased -> leased; fence + 1; attempts + 1, or Parked after too many
 *     renew        lease        deadline = now + the run's lease duration; never moved back
 *     checkpoint   lease, op    cursor forward; attempts 0
 *     complete     lease, op    cursor forward; Done
 *     park         lease, op    Parked
 *     release      lease, op    not leased, same fence; attempts - 1 if nobody is to blame
 *     write        lease        none: allows a batch of another layer, until the deadline
 *     unpark       op           Parked -> Active; fence + 1; attempts 0
 *
 * A record of NULL means that the shard does not exist. On failure ret_detail says why, and ret_step is
 * unchanged (but acquire sets ret_step->write). The new record borrows from the old one and from the
 * operation.
 */
#ifndef TS_COORD_CORE_SHARD_STEP_H
#define TS_COORD_CORE_SHARD_STEP_H

#include "coord/core/error.h"
#include "coord/core/event.h"
#include "coord/core/record.h"

/* The inputs that every step on a shard has. */
struct ts_step_env {
    /* The guard of the shard's run. NULL if there is no guard; the shard then counts as not found. */
    const struct ts_run_guard *guard;
    struct ts_logical_time now; /* time of the shard's store; not 0 */
    size_t record_max;          /* maximum size of a record, at most TS_RECORD_MAX */
};

static inline struct ts_step_env ts_step_env_of(const struct ts_run_guard *guard,
                                                struct ts_logical_time now) {
    return (struct ts_step_env){.guard = guard, .now = now, .record_max = TS_RECORD_MAX};
}

/* EXECUTED: the operation was executed now. REPLAYED: it is a repetition, which changed nothing. */
enum ts_idempotent_outcome { TS_OUTCOME_EXECUTED, TS_OUTCOME_REPLAYED };

struct ts_shard_step {
    enum ts_idempotent_outcome outcome;
    enum ts_op_result result;      /* COMPLETED; SUPERSEDED for the replay of an older checkpoint */
    bool write;                    /* store `record` and the claim index in one batch; then report `event` */
    struct ts_logical_time before; /* if not 0: the batch must be applied before this time of the store */
    struct ts_shard_record record; /* valid if write is set */
    struct ts_event event;         /* valid if write is set */
};

/* The common arguments of operations under a lease. */
struct ts_lease_op {
    struct ts_tenant_id tenant;
    struct ts_lease lease;
    struct ts_op_id op_id;
};

struct ts_acquire_op {
    struct ts_tenant_id tenant;
    struct ts_shard_key shard;
    struct ts_worker_id worker;
};

/*
 * Order of checks: ShardNotFound, TenantMismatch, ShardNotFound (not all announced shards of the run are registered),
 * ShardTerminal (the run has ended, or the shard is not Active),
 * AlreadyLeased (also by the same worker), ShardTerminal (no attempts left).
 *
 * If a shard has used all its attempts without a checkpoint, it is parked as TooManyErrors. Then the error is
 * SHARD_TERMINAL, and ret_step->write is true, because the parked record must be stored. On every other
 * failure ret_step->write is false.
 */
enum ts_acquire_error ts_acquire_step(const struct ts_shard_record *record, const struct ts_step_env *env,
                                      const struct ts_acquire_op *op, struct ts_shard_step *ret_step,
                                      struct ts_lease *ret_lease, struct ts_coord_detail *ret_detail);

struct ts_renew_op {
    struct ts_tenant_id tenant;
    struct ts_lease lease;
};

/* Order of checks: ShardNotFound, ts_validate_lease(). There is no op id: two renewals extend the lease twice.
 * ret_lease is the lease with its new deadline. */
enum ts_renew_error ts_renew_step(const struct ts_shard_record *record, const struct ts_step_env *env,
                                  const struct ts_renew_op *op, struct ts_shard_step *ret_step,
                                  struct ts_lease *ret_lease, struct ts_coord_detail *ret_detail);

struct ts_cursor_op {
    struct ts_lease_op by;
    struct ts_cursor cursor;
};

/* Order of checks: ShardNotFound, OpIdConflict or replay, ts_validate_lease(), ts_validate_cursor_update(),
 * ResourceExhausted. */
enum ts_checkpoint_error ts_checkpoint_step(const struct ts_shard_record *record,
                                            const struct ts_step_env *env, const struct ts_cursor_op *op,
                                            struct ts_shard_step *ret_step,
                                            struct ts_coord_detail *ret_detail);

/* Order of checks: ShardNotFound, OpIdConflict or replay, ts_validate_lease(), ts_validate_cursor_update(),
 * ResourceExhausted. */
enum ts_complete_error ts_complete_step(const struct ts_shard_record *record, const struct ts_step_env *env,
                                        const struct ts_cursor_op *op, struct ts_shard_step *ret_step,
                                        struct ts_coord_detail *ret_detail);

struct ts_park_op {
    struct ts_lease_op by;
    enum ts_park_reason reason;
};

/* Order of checks: ShardNotFound, OpIdConflict or replay, ts_validate_lease(). */
enum ts_park_error ts_park_step(const struct ts_shard_record *record, const struct ts_step_env *env,
                                const struct ts_park_op *op, struct ts_shard_step *ret_step,
                                struct ts_coord_detail *ret_detail);

struct ts_release_op {
    struct ts_lease_op by;
    enum ts_blame blame;
};

/*
 * Returns the lease to the store before its end, so that any worker can acquire the shard at once. The fence
 * stays the same; the next acquire raises it. Without blame, the attempt of this lease does not count. After
 * a checkpoint the number of attempts is already 0.
 *
 * Order of checks: ShardNotFound, OpIdConflict or replay, ts_validate_lease().
 */
enum ts_release_error ts_release_step(const struct ts_shard_record *record, const struct ts_step_env *env,
                                      const struct ts_release_op *op, struct ts_shard_step *ret_step,
                                      struct ts_coord_detail *ret_detail);

struct ts_write_op {
    struct ts_tenant_id tenant;
    struct ts_lease lease;
};

/*
 * Checks that the holder may write now. On success ret_before is the end of the lease. A batch is sure to be
 * the holder's if it checks the versions of this record and this guard, and is applied before that time.
 *
 * Order of checks: ShardNotFound, ts_validate_lease().
 */
enum ts_write_error ts_write_step(const struct ts_shard_record *record, const struct ts_step_env *env,
                                  const struct ts_write_op *op, struct ts_logical_time *ret_before,
                                  struct ts_coord_detail *ret_detail);

struct ts_unpark_op {
    struct ts_tenant_id tenant;
    struct ts_shard_key shard;
    struct ts_op_id op_id;
};

/* Order of checks: ShardNotFound, TenantMismatch, OpIdConflict or replay, RunTerminal, NotParked. */
enum ts_unpark_error ts_unpark_step(const struct ts_shard_record *record, const struct ts_step_env *env,
                                    const struct ts_unpark_op *op, struct ts_shard_step *ret_step,
                                    struct ts_coord_detail *ret_detail);

#endif
