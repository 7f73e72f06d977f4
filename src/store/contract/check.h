/*
 * Checks every call before an engine sees the call, so that all engines agree on limits and on bad batches.
 */
#ifndef TS_STORE_CONTRACT_CHECK_H
#define TS_STORE_CONTRACT_CHECK_H

#include "turnstone/store.h"

/* Our own layers may add this many operations to a full batch, each of at most this many bytes. */
enum { STORE_OPS_ON_TOP = 8, STORE_BYTES_ON_TOP = 4096 };

/* Returns OK, or BAD_BATCH, TOO_LARGE or FAILED (out of memory) with the reason. */
enum ts_store_result store__check_call(const struct ts_call *call, struct ts_store_error *ret_error);

#endif
