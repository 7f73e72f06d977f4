/*
 * Files of a work tree that its history does not have: they are not scanned with it, and a report says so.
 */
#ifndef TS_SCAN_UNTRACKED_H
#define TS_SCAN_UNTRACKED_H

#include "pass.h"

#include "git/repo.h"

/* Adds a note if there are any. Does nothing if the repository is bare, or its index cannot be read. */
void scan__note_untracked(struct scan_pass *pass, const struct scan_target *target, struct ts_git_repo *repo);

#endif
