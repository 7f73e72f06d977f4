/*
 * Records when the state is used, and frees space: removes the state of deleted repositories, and old
 * entries.
 */
#ifndef TS_SCAN_USAGE_H
#define TS_SCAN_USAGE_H

#include "state.h"

/* Maximum number of pairs of rules and judging that are kept for one repository, and maximum number of
 * repositories. */
#define SCAN_USES_MAX    6
#define SCAN_TARGETS_MAX 600

/* Records that the state is used now. The caller holds the lock of its folder. Returns 0 or an errno. */
int scan__use_note(int folder, const struct scan_use *use);

/* scan__use_prune removes old entries of this repository. scan__use_prune_targets removes the state of
 * deleted repositories, and the oldest states beyond SCAN_TARGETS_MAX. The caller holds the lock of the
 * folder. `all` is the folder of all repositories; a repository that another scan has locked is skipped. */
void scan__use_prune(int folder);
void scan__use_prune_targets(int all, const struct scan_use *own);

#endif
