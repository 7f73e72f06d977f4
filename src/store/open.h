/*
 * Stores by their URL: memory:[NAME], rocksdb:DIRECTORY, postgresql://…
 */
#ifndef TS_STORE_OPEN_H
#define TS_STORE_OPEN_H

#include "store/engine.h"

/* {0} is a good start. */
struct ts_store_options {
    uint64_t wait_ms;       /* rocksdb: how long to wait for a directory that another process has open */
    bool must_exist;        /* rocksdb: a directory without a store is an error instead of a new store */
    size_t connections_max; /* postgresql: of this process to this store; 0: 32. Calls beyond wait in order */
    uint64_t connect_timeout_ms; /* postgresql: for one connection, within the call's deadline; 0: 10 s */
    const struct ts_store_clock *clock; /* NULL: the real ones; must outlive the store */
};

/*
 * Opens a store, which the caller closes. On failure the error names the URL without its password, the reason
 * and the cure.
 */
enum ts_store_result ts_store_open(const char *url, const struct ts_store_options *options,
                                   struct ts_store **ret_store, struct ts_store_error *ret_error);

/* No call may be under way. NULL is no matter. */
void ts_store_close(struct ts_store *store);

#endif
