/*
 * What the local core stands on: an ordered map of records that changes by atomic batches. memory.c and
 * rocksdb.c are the two there are.
 *
 * All functions may be called by any thread at any time.
 */
#ifndef TS_STORE_LOCAL_BACKEND_H
#define TS_STORE_LOCAL_BACKEND_H

#include "store/contract/past.h"
#include "store/local/records.h"

struct store__backend;

/* A stored record, borrowed from the backend until it is let go. handle is NULL when there is none. */
struct store__held {
    struct ts_bytes stored;
    void *handle;
};

/* Everything a write says beside its records. */
struct store__write_options {
    /* Durable on return, with everything written before; otherwise durable with the next write that is. */
    bool sync;
    /* By ts_clock_monotonic_ns: when to stop waiting for a backend that is busy; 0: when it thinks fit. */
    uint64_t give_up_ns;
    /* NULL, or where to add what was spent waiting for it. */
    uint64_t *stall_us;
};

struct store__backend_ops {
    /* A snapshot, for reading several records as they were at one moment. NULL when there is no memory. */
    void *(*view_open)(struct store__backend *backend);
    void (*view_close)(struct store__backend *backend, void *view);

    /* The record under a key, in a view or (NULL) as it is now. */
    enum ts_store_result (*get)(struct store__backend *backend, void *view, enum store__space space,
                                struct ts_bytes key, struct store__held *ret_held,
                                struct ts_store_error *ret_error);
    void (*let_go)(struct store__backend *backend, struct store__held *held);

    /* Visits the records of a space with from <= key < to, in order, until visit returns false. An empty `to`
     * is the end of the space. */
    enum ts_store_result (*scan)(struct store__backend *backend, enum store__space space,
                                 struct ts_bytes from, struct ts_bytes to,
                                 bool (*visit)(void *context, struct ts_bytes key, struct ts_bytes stored),
                                 void *context, struct ts_store_error *ret_error);

    /* All or nothing. UNKNOWN when it may turn up after a restart. */
    enum ts_store_result (*write)(struct store__backend *backend, const struct store__write *writes,
                                  size_t count, struct store__write_options options,
                                  struct ts_store_error *ret_error);

    enum ts_store_result (*sync)(struct store__backend *backend, struct ts_store_error *ret_error);

    /* The directory that the records are in; NULL for a backend without one. */
    struct store__origin (*origin)(struct store__backend *backend);
    void (*close)(struct store__backend *backend);
};

/* The head of every backend's own struct. */
struct store__backend {
    const struct store__backend_ops *ops;
};

#endif
