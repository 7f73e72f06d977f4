/*
 * Shared by decorators: a decorated call contains a call to the inner store.
 */
#ifndef TS_STORE_DECORATORS_DECORATE_H
#define TS_STORE_DECORATORS_DECORATE_H

#include "store/contract/engine.h"

/* Copies the caller's fields of a call into the call for the inner store. */
static inline void store__call_copy_request(const struct ts_call *outer, struct ts_call *inner) {
    inner->kind = outer->kind;
    inner->batch = outer->batch;
    inner->gid = outer->gid;
    inner->keys = outer->keys;
    inner->key_count = outer->key_count;
    inner->from = outer->from;
    inner->to = outer->to;
    inner->limit = outer->limit;
    inner->rows = outer->rows;
    inner->deadline_ns = outer->deadline_ns;
    inner->lock_wait_max_us = outer->lock_wait_max_us;
}

/* Copies the answer of the inner store; does not end the outer call. */
static inline void store__call_copy_answer(const struct ts_call *inner, struct ts_call *outer) {
    outer->error = inner->error;
    outer->version = inner->version;
    outer->time_ms = inner->time_ms;
    outer->lag_ms = inner->lag_ms;
    outer->lock_wait_us = inner->lock_wait_us;
    outer->stall_us = inner->stall_us;
}

/* Returns the event that the outer call must wait for while the inner call is not done. */
static inline struct pollfd store__call_wait_inside(struct ts_call *outer, struct ts_call *inner) {
    struct pollfd ready = inner->store->engine->wait_for(inner->store, inner);
    outer->poll_by_ns = inner->poll_by_ns;
    return ready;
}

/* Returns true if a call of this kind can change the store. */
static inline bool store__call_changes(enum ts_call_kind kind) {
    return kind == TS_CALL_APPLY || kind == TS_CALL_PREPARE || kind == TS_CALL_COMMIT ||
           kind == TS_CALL_ABORT;
}

#endif
