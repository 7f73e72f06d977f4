/*
 * The unfinished promises of a local store, by name, with their locks. The batches themselves are records of
 * the backend: a promise costs memory for its keys only.
 *
 * Not thread-safe: the local core's mutex guards it.
 */
#ifndef TS_STORE_LOCAL_PROMISES_H
#define TS_STORE_LOCAL_PROMISES_H

#include "store/local/locks.h"
#include "turnstone/store.h"

struct store__promise {
    struct store__promise *next; /* the next promise in its bucket */
    uint64_t time_ms;            /* the store's time at prepare */
    struct store__claim claim;   /* the promise's locks, a complete claim */
    char gid[TS_STORE_GID_MAX + 1];
};

/* A table of promises, by name. {0} is an empty table. */
struct store__promises {
    struct store__promise **buckets;
    size_t bucket_count;
    size_t count;
};

struct store__promise *store__promises_find(const struct store__promises *promises, const char *gid);

/* Reserves room for one more promise, so that the next store__promises_add cannot fail. Returns false when
 * memory runs out. */
bool store__promises_reserve(struct store__promises *promises);

/* Adds the promise and takes ownership of it. Its gid must not be in the table, and room must be reserved. */
void store__promises_add(struct store__promises *promises, struct store__promise *promise);

/* Removes the promise from the table; the caller then owns it. */
void store__promises_take(struct store__promises *promises, struct store__promise *promise);

/* Adds one row for each promise, ordered by gid. Returns false when memory runs out. */
bool store__promises_list(const struct store__promises *promises, struct ts_rows *rows);

/* Removes any one promise and returns it; the caller then owns it. Returns NULL when the table is empty. */
struct store__promise *store__promises_take_any(struct store__promises *promises);

/* Frees the table's own memory. The table must be empty. */
void store__promises_release(struct store__promises *promises);

#endif
