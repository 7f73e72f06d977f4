/*
 * A split index: a file that has what changed lately, and a shared one beside it, sharedindex.ID, that has the rest and
 * is written seldom. The first names the second, says which entries of it are gone, and which it has anew.
 */
#ifndef TS_GIT_SPLIT_H
#define TS_GIT_SPLIT_H

#include "git/staged.h"

struct git__split {
    bool is_split;
    struct ts_git_oid shared; /* the id in the name of the shared file, which that ends with */
    struct ts_bytes bitmaps;  /* borrowed from the file */
};

/* One file, as bytes. BAD_FILE when they are no index, TOO_LARGE when entries take more than memory_max, NO_MEMORY. Of a
 * split one, entries that take the place of a shared one have empty paths and come first. */
enum ts_git_error git__staged_parse(enum ts_git_hash hash, struct ts_bytes file, uint64_t memory_max,
                                    struct ts_git_staged *ret_staged, struct git__split *ret_split);

/* The content of the extension `link`. */
bool git__split_parse(enum ts_git_hash hash, struct ts_bytes content, struct git__split *ret_split);

/* Both files as one. Takes out of `shared` and `own` what it needs: they are still to be released, and good for nothing
 * else. False when they do not fit together, or there is no memory. */
bool git__split_join(const struct git__split *split, struct ts_git_staged *shared, struct ts_git_staged *own,
                     struct ts_git_staged *ret_staged);

/* Whether an entry can have its path: inside the work tree, and ending with a slash when it is a folder, only then. */
bool git__staged_is_safe(const struct ts_git_staged_entry *entry);

#endif
