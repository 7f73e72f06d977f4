/*
 * Tracked files whose content is not in HEAD: staged changes, and changes in the work tree that are not staged.
 */
#ifndef TS_GIT_UNCOMMITTED_H
#define TS_GIT_UNCOMMITTED_H

#include "git/staged.h"
#include "git/visit.h"

struct ts_git_uncommitted {
    size_t count;
    const char *first; /* the first path, in the order of bytes; it belongs to the index */
};

/* Finds the files. `root` is the open folder of the work tree. Like git, compares a file with the index only
 * if its size or time has changed. A file that is missing in the work tree does not count as changed.
 * Submodules are ignored. The number of compared bytes is limited, so in a copy of a work tree, where all
 * times have changed, some files may not be compared. Returns OK, NO_MEMORY, or STOPPED if the watch ended
 * the work. */
enum ts_git_error ts_git_uncommitted_find(struct ts_git_repo *repo, const struct ts_git_staged *index,
                                          int root, const struct ts_git_watch *watch,
                                          struct ts_git_uncommitted *ret_uncommitted);

#endif
