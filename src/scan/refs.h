/*
 * Which branches and tags reach findings: those that reach a commit which brought one.
 */
#ifndef TS_SCAN_REFS_H
#define TS_SCAN_REFS_H

#include "origins.h"

/* Names of refs that are kept for each finding; of the others their number. */
#define SCAN_REFS_KEPT 5

/* Of locations from `first` on, which are those of a repository: adds locations of REF and REF_COUNT. Without memory for it there are
 * none, and a note says so. */
enum ts_git_error scan__place_refs(struct scan_origins *origins, size_t first,
                                   struct ts_git_fault *ret_fault);

#endif
