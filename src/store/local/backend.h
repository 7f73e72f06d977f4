/*
 * The backend below the local core: an ordered map of records that changes by atomic batches. There are two
 * backends, memory.c and rocksdb.c.
 *
 * Any thread may call any function at any time.
 */
#ifndef TS_STORE_LOCAL_BACKEND_H
#define TS_STORE_LOCAL_BACKEND_H

#include "store/contract/past.h"
#include "store/local/records.h"

struct store__backend;

/* A stored record, borrowed from the backend until it is released. handle is NULL when there is no record. */
struct store__held {
    struct ts_bytes stored;
    void *handle;
};

/* Options of a write. */
struct store__write_options {
    /* true: on return, this write and all earlier writes are durable; false: the next synced write makes it
     * durable */
    bool sync;
    /* The time (ts_clock_monotonic_ns) at which to stop waiting for a busy backend; 0: the backend
     * decides. */
    uint64_t give_up_ns;
    /* The time spent waiting for the backend is added to this counter; may be NULL. */
    uint64_t *stall_us;
};

struct store__backend_ops {
    /* Opens a snapshot, to read several records as of one moment. Returns NULL when memory runs out. */
    void *(*view_open)(struct store__backend *backend);
    void (*view_close)(struct store__backend *backend, void *view);

    /* Gets the record of a key from a snapshot, or the current record if `view` is NULL. */
    enum ts_store_result (*get)(struct store__backend *backend, void *view, enum store__space space,
                                struct ts_bytes key, struct store__held *ret_held,
                                struct ts_store_error *ret_error);
    void (*let_go)(struct store__backend *backend, struct store__held *held);

    /* Visits the records of a space with from <= key < to, in order, until `visit` returns false. An empty
     * `to` means the end of the space. */
    enum ts_store_result (*scan)(struct store__backend *backend, enum store__space space,
                                 struct ts_bytes from, struct ts_bytes to,
                                 bool (*visit)(void *context, struct ts_bytes key, struct ts_bytes stored),
                                 void *context, struct ts_store_error *ret_error);

    /* Writes all records or none. UNKNOWN: after a restart, either all records are written or none. */
    enum ts_store_result (*write)(struct store__backend *backend, const struct store__write *writes,
                                  size_t count, struct store__write_options options,
                                  struct ts_store_error *ret_error);

    enum ts_store_result (*sync)(struct store__backend *backend, struct ts_store_error *ret_error);

    /* Returns the identity of the directory of the records. NULL for a backend without a directory. */
    struct store__origin (*origin)(struct store__backend *backend);
    void (*close)(struct store__backend *backend);
};

/* The first field of every backend's own struct. */
struct store__backend {
    const struct store__backend_ops *ops;
};

#endif
