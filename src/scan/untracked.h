/*
 * Untracked files of a work tree: a scan of the history does not include them, and a report says so.
 */
#ifndef TS_SCAN_UNTRACKED_H
#define TS_SCAN_UNTRACKED_H

#include "pass.h"

#include "git/repo.h"

/* Adds a note if there are any. Does nothing if the repository is bare, or its index cannot be read. */
void scan__note_untracked(struct scan_pass *pass, const struct scan_target *target, struct ts_git_repo *repo);

#endif
