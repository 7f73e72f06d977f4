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
    struct store__promise *next; /* in its bucket */
    uint64_t time_ms;            /* the store's, at prepare */
    struct store__claim claim;   /* complete */
    char gid[TS_STORE_GID_MAX + 1];
};

/* {0} is empty. */
struct store__promises {
    struct store__promise **buckets;
    size_t bucket_count;
    size_t count;
};

struct store__promise *store__promises_find(const struct store__promises *promises, const char *gid);

/* Makes room for one more, so that the next add cannot fail. Returns false when memory runs out. */
bool store__promises_reserve(struct store__promises *promises);

/* Owns the promise from then on. Its gid is not in the table yet, and room was reserved. */
void store__promises_add(struct store__promises *promises, struct store__promise *promise);

/* Removes the promise; the caller owns it then. */
void store__promises_take(struct store__promises *promises, struct store__promise *promise);

/* One row for each, ordered by gid. Returns false when memory runs out. */
bool store__promises_list(const struct store__promises *promises, struct ts_rows *rows);

/* Removes and returns any promise; returns NULL when there is none. */
struct store__promise *store__promises_take_any(struct store__promises *promises);

/* Frees the table's own memory. The table must be empty. */
void store__promises_release(struct store__promises *promises);

#endif
