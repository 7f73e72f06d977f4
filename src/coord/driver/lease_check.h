/*
 * Writes of other layers under a lease.
 *
 * The check of a lease is three operations at the beginning of a batch on the shard's store:
 *
 *     check(guard)           the run has not ended
 *     check(shard record)    nobody else has acquired the shard, and it is not finished
 *     before(deadline)       the lease is valid by the store's clock
 *
 * The store applies the batch only if all three hold, so only the holder of the lease can write. Every
 * operation under a lease has these three operations in its own batch.
 *
 * If a check fails, or the store answers *late*, read again (ts_coord_lease_check with TS_COORD_LEASE_CHECK_READ):
 *
 *     OK                                       the lease is valid: the record has changed, for example by a
 *                                              renewal, or the check of another operation has failed
 *     StaleFence, LeaseExpired, ShardTerminal, the worker is no longer the owner: stop, and write nothing
 *     ShardNotFound, TenantMismatch
 *     BackendError                             the store could not be read
 *
 * ts_coord_write does all of this.
 */
#ifndef TS_COORD_DRIVER_LEASE_CHECK_H
#define TS_COORD_DRIVER_LEASE_CHECK_H

#include "coord/core/error.h"
#include "coord/core/shard_step.h"
#include "turnstone/store.h"

struct ts_coord;
struct coord__seen;

enum { TS_COORD_LEASE_CHECK_OPS = 3, TS_COORD_LEASE_CHECK_KEY_MAX = 19 };

/* The operations of a lease check. Contains pointers to itself: do not copy it. */
struct ts_coord_lease_check {
    uint32_t place; /* place of the store */
    struct ts_op ops[TS_COORD_LEASE_CHECK_OPS];
    uint8_t keys[2][TS_COORD_LEASE_CHECK_KEY_MAX]; /* keys of the checks */
};

/* The source of the versions in a lease check: the session's memory of the shard, or a new read from the
 * store. */
enum ts_coord_lease_check_from { TS_COORD_LEASE_CHECK_REMEMBERED, TS_COORD_LEASE_CHECK_READ };

/* Makes a lease check. seen is the session's memory. If seen is NULL, the store is always read. */
enum ts_write_error ts_coord_lease_check(struct ts_coord *coord, const struct ts_write_op *op,
                                         struct coord__seen *seen, enum ts_coord_lease_check_from from,
                                         struct ts_coord_lease_check *ret_check,
                                         struct ts_coord_detail *ret_detail);

/*
 * Applies the batch with the lease check in front of it, on the shard's store, and reads again if the check
 * fails. The keys of the batch may have the reserved first byte.
 *
 * OK: the lease was valid, and ret_error is the store's answer: OK, CHECK_FAILED, LIMIT or NOT_A_COUNTER.
 * After the last three nothing was written, and ret_error has the index of the operation in the batch if the
 * store names it. BackendError (UNKNOWN): the batch may have been applied; read its keys to find out. Every
 * other error: nothing was written.
 */
enum ts_write_error ts_coord_write(struct ts_coord *coord, const struct ts_write_op *op,
                                   struct coord__seen *seen, struct ts_batch batch,
                                   struct ts_store_error *ret_error, struct ts_coord_detail *ret_detail);

#endif
