/*
 * Writes of other layers under a lease.
 *
 * The gate of a lease is three operations for a batch on the shard's store:
 *
 *     check(guard)           the run has not ended
 *     check(shard record)    nobody else has acquired the shard, and it is not finished
 *     before(deadline)       the lease is valid by the store's clock
 *
 * The store applies the batch only if they hold, so what it writes was written by the holder of the lease. Every operation
 * under a lease has them in its own batch.
 *
 * If a check fails, or the store answers *late*, read again (ts_coord_gate with TS_COORD_GATE_READ):
 *
 *     OK                                       the lease is valid: the record has changed under it, for example by a
 *                                              renewal, or the check of another operation has failed
 *     StaleFence, LeaseExpired, ShardTerminal, the worker is not the owner any more: stop, and write nothing
 *     ShardNotFound, TenantMismatch
 *     BackendError                             the store could not be read
 *
 * ts_coord_write does all of it.
 */
#ifndef TS_COORD_DRIVER_GATE_H
#define TS_COORD_DRIVER_GATE_H

#include "coord/core/error.h"
#include "coord/core/shard_step.h"
#include "turnstone/store.h"

struct ts_coord;
struct coord__seen;

enum { TS_COORD_GATE_OPS = 3, TS_COORD_GATE_KEY_MAX = 19 };

/* Contains pointers into itself: do not copy it. */
struct ts_coord_gate {
    uint32_t place; /* of the store */
    struct ts_op ops[TS_COORD_GATE_OPS];
    uint8_t keys[2][TS_COORD_GATE_KEY_MAX]; /* of the checks */
};

/* What the gate is made from: what a session remembers of its shard, or what the store has now. */
enum ts_coord_gate_from { TS_COORD_GATE_REMEMBERED, TS_COORD_GATE_READ };

/* seen is the session's memory, or NULL; then the gate is always read. */
enum ts_write_error ts_coord_gate(struct ts_coord *coord, const struct ts_write_op *op,
                                  struct coord__seen *seen, enum ts_coord_gate_from from,
                                  struct ts_coord_gate *ret_gate, struct ts_coord_detail *ret_detail);

/*
 * Applies the batch with the gate in front of it, on the shard's store, and reads again if the gate fails. The keys of the
 * batch may have the reserved first byte.
 *
 * OK: the lease was valid, and ret_error says what the store answered: OK; or CHECK_FAILED, LIMIT or NOT_A_COUNTER, with the
 * index of the operation in the batch if the store names it, and nothing was written. BackendError (UNKNOWN): the batch may
 * have been applied; read its keys to find out. Every other error: nothing was written.
 */
enum ts_write_error ts_coord_write(struct ts_coord *coord, const struct ts_write_op *op,
                                   struct coord__seen *seen, struct ts_batch batch,
                                   struct ts_store_error *ret_error, struct ts_coord_detail *ret_detail);

#endif
