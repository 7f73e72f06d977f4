/*
 * What is checked of every call before an engine sees it, so that engines agree on limits and on what a bad
 * batch is.
 */
#ifndef TS_STORE_CONTRACT_CHECK_H
#define TS_STORE_CONTRACT_CHECK_H

#include "turnstone/store.h"

/* What may come on top of the limits of a batch: operations of layers of ours, and bytes of each of them. */
enum { STORE_OPS_ON_TOP = 8, STORE_BYTES_ON_TOP = 4096 };

/* OK, or BAD_BATCH, TOO_LARGE or FAILED (no memory) with the reason. */
enum ts_store_result store__check_call(const struct ts_call *call, struct ts_store_error *ret_error);

#endif
