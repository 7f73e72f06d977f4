/*
 * What a store whose files anybody can copy remembers: which directory it lives in, and when it was last open together
 * with each of the other stores of its cluster. docs/formats/rocksdb.md has the layout.
 */
#ifndef TS_STORE_CONTRACT_PAST_H
#define TS_STORE_CONTRACT_PAST_H

#include "turnstone/cluster.h"

/* What tells a directory from every copy of it, and stays when it is moved or mounted again. Zeros: not known. */
struct store__origin {
    uint64_t born_ns; /* when it was made: no copy has that, and no program can set it */
    uint64_t inode;   /* where the file system does not keep the time */
};

/* Whether a store that was last open in `then` is in its own directory, as far as both are known. */
bool store__origin_same(const struct store__origin *then, const struct store__origin *now);

enum { STORE_MEETING_LEN = 16 };

/* The last process that had two stores open, by a random number which it gave to both; zeros: none had. Of the store
 * with the lower place also the one before, as long as the other may not have been told the last. */
struct store__meeting {
    uint8_t last[STORE_MEETING_LEN];
    uint8_t before[STORE_MEETING_LEN]; /* otherwise the same as last */
};

/* Whether both stores tell the same, or a renewal was cut off between them. */
bool store__meeting_fits(const struct store__meeting *of_lower, const struct store__meeting *of_higher);

struct store__past {
    bool is_kept;              /* false: there are no files that could be copied */
    bool present;              /* it was written down before */
    struct store__origin here; /* the directory in which the store is now */
    struct store__origin then; /* and in which it was when this was written */
    struct store__meeting meetings[TS_CLUSTER_STORES_MAX]; /* by place */
};

enum { STORE_PAST_ENCODED_MAX = 20 + TS_CLUSTER_STORES_MAX * 2 * STORE_MEETING_LEN };
size_t store__past_encode(const struct store__past *past, uint8_t ret_bytes[static STORE_PAST_ENCODED_MAX]);

/* Sets present, then and meetings. False when it is damaged. */
bool store__past_decode(struct ts_bytes bytes, struct store__past *ret_past);

#endif
