/*
 * The past of a store whose contents are files: its directory, and its last meeting with each other store of
 * its cluster. The past shows whether somebody has copied the files. docs/formats/rocksdb.md has the layout.
 */
#ifndef TS_STORE_CONTRACT_PAST_H
#define TS_STORE_CONTRACT_PAST_H

#include "turnstone/cluster.h"

/* Distinguishes a directory from all its copies. The origin does not change when the directory is moved or
 * mounted again. All zeros: unknown. */
struct store__origin {
    uint64_t born_ns; /* birth time: every copy has a different one, and no program can set it */
    uint64_t inode;   /* for file systems without birth time */
};

/* Compares the directory in which the store was last open (`then`) with the current directory (`now`).
 * Returns false only if they are known to be different. */
bool store__origin_same(const struct store__origin *then, const struct store__origin *now);

enum { STORE_MEETING_LEN = 16 };

/* A meeting of two stores: the process that opens both writes the same random number into both. `last` is the
 * number of the latest meeting; zeros: none. The store with the lower place also keeps the previous number,
 * as long as the store with the higher place may lack the latest number. */
struct store__meeting {
    uint8_t last[STORE_MEETING_LEN];
    uint8_t before[STORE_MEETING_LEN]; /* the number before `last`, or equal to `last` */
};

/* Returns true if both stores have the same last meeting, or if the writing of a new meeting stopped between
 * the two stores. */
bool store__meeting_fits(const struct store__meeting *of_lower, const struct store__meeting *of_higher);

struct store__past {
    bool is_kept;                                          /* false: there are no files to copy */
    bool present;                                          /* an earlier process stored the past */
    struct store__origin here;                             /* the current directory of the store */
    struct store__origin then;                             /* its directory when the past was stored */
    struct store__meeting meetings[TS_CLUSTER_STORES_MAX]; /* indexed by place */
};

enum { STORE_PAST_ENCODED_MAX = 20 + TS_CLUSTER_STORES_MAX * 2 * STORE_MEETING_LEN };
size_t store__past_encode(const struct store__past *past, uint8_t ret_bytes[static STORE_PAST_ENCODED_MAX]);

/* Decodes a past: sets present, then and meetings. Returns false when the bytes are damaged. */
bool store__past_decode(struct ts_bytes bytes, struct store__past *ret_past);

#endif
