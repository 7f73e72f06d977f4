/*
 * Who uses the state, and making room: what belongs to repositories that are gone, and all but the latest few of each, is
 * removed.
 */
#ifndef TS_SCAN_USAGE_H
#define TS_SCAN_USAGE_H

#include "state.h"

/* Rule sets and ways of judging that are kept of one repository; repositories that are kept in all. */
#define SCAN_USES_MAX    6
#define SCAN_TARGETS_MAX 600

/* Notes that it is used now, with the lock of its folder. Returns 0 or an errno. */
int scan__use_note(int folder, const struct scan_use *use);

/* With the same lock: of the other ways of scanning this repository, then of other repositories. `all` is the folder that has
 * those of all repositories; one that another scan has locked is left alone. */
void scan__use_prune(int folder);
void scan__use_prune_targets(int all, const struct scan_use *own);

#endif
