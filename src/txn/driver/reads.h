/*
 * Reads of the layers above. A read passes the breaker of its store like a transaction, and the breaker
 * learns the result of the read. So after the breaker of a store that does not answer has opened, reads of
 * this store end without a wait.
 */
#ifndef TS_TXN_DRIVER_READS_H
#define TS_TXN_DRIVER_READS_H

#include "turnstone/txn.h"
#include "txn/guard/breaker.h"

/* Starts a READ or SCAN. If the breaker of the store is open, the call is done on return, with UNAVAILABLE. */
void ts_txn_read_start(struct ts_coordinator *coordinator, uint32_t place, struct ts_call *call,
                       struct ts_txn_breaker_permit *ret_permit);

/* Call it once for each ts_txn_read_start, when the call is done. */
void ts_txn_read_end(struct ts_coordinator *coordinator, uint32_t place, const struct ts_call *call,
                     struct ts_txn_breaker_permit *permit);

/* Call it instead of ts_txn_read_end if the caller has cancelled the call. A cancelled call shows nothing
 * about the store, so the breaker ignores it. */
void ts_txn_read_cancelled(struct ts_coordinator *coordinator, uint32_t place,
                           struct ts_txn_breaker_permit *permit);

#endif
