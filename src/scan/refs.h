/*
 * Finds the branches and tags that reach a finding: those that reach a commit that added the finding.
 */
#ifndef TS_SCAN_REFS_H
#define TS_SCAN_REFS_H

#include "origins.h"

/* Maximum number of names of refs that are kept for each finding. Further refs are only counted. */
#define SCAN_REFS_KEPT 5

/* Adds locations with the roles REF and REF_COUNT for findings at the locations from `first` on, which belong
 * to one repository. If memory runs out, adds a note instead. */
enum ts_git_error scan__place_refs(struct scan_origins *origins, size_t first,
                                   struct ts_git_fault *ret_fault);

#endif
