/*
 * Files of a work tree that a scan of the history does not include: untracked files, and changes that are not
 * committed. Notes in the report name such files.
 */
#ifndef TS_SCAN_WORK_TREE_H
#define TS_SCAN_WORK_TREE_H

#include "pass.h"

#include "git/repo.h"

/* Adds notes if there are such files. Does nothing if the repository is bare, its index cannot be read, or
 * the scan was stopped. */
void scan__note_work_tree(struct scan_pass *pass, const struct scan_target *target, struct ts_git_repo *repo);

#endif
