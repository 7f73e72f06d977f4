/*
 * A split index: a file with the recent changes, and a shared file, sharedindex.ID, with the other entries,
 * which is rarely written. The first file names the second, and says which entries of the second are deleted
 * and which are replaced.
 */
#ifndef TS_GIT_SPLIT_H
#define TS_GIT_SPLIT_H

#include "git/staged.h"

struct git__split {
    bool is_split;
    struct ts_git_oid shared; /* the id in the name of the shared file, and at its end */
    struct ts_bytes bitmaps;  /* borrowed from the file */
};

/* Parses one file. Returns BAD_FILE if it is not an index, TOO_LARGE if its entries take more than
 * memory_max, or NO_MEMORY. In a split index, entries that replace a shared entry have empty paths and come
 * first. */
enum ts_git_error git__staged_parse(enum ts_git_hash hash, struct ts_bytes file, uint64_t memory_max,
                                    struct ts_git_staged *ret_staged, struct git__split *ret_split);

/* Parses the content of the extension `link`. Returns false if it is too short. */
bool git__split_parse(enum ts_git_hash hash, struct ts_bytes content, struct git__split *ret_split);

/* Joins the two files of a split index. Moves parts of `shared` and `own` to the result: afterwards the
 * caller may only release them. Returns false if the files do not fit together, or if memory runs out. */
bool git__split_join(const struct git__split *split, struct ts_git_staged *shared, struct ts_git_staged *own,
                     struct ts_git_staged *ret_staged);

/* Checks the path of an entry: it must be inside the work tree, and end with a slash exactly if the entry is
 * a folder. */
bool git__staged_is_safe(const struct ts_git_staged_entry *entry);

#endif
