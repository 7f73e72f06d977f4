/*
 * Where a finding is now: the place to look at, and the names of branches and tags. The functions for HEAD
 * and for links are in report.h.
 */
#ifndef TS_REPORT_WHEREABOUTS_H
#define TS_REPORT_WHEREABOUTS_H

#include "writer.h"

/* Returns the place to look at first: the place in HEAD, or if there is none, the first occurrence. */
const struct ts_report_occurrence *report__main_place(const struct ts_report_finding *finding);

/* Returns the place of the key id that belongs to the finding: the place in the same file or object as the
 * finding's first occurrence, or if there is none, the key id's first occurrence. The finding must have a
 * pair. */
const struct ts_report_occurrence *report__pair_place(const struct ts_report_finding *finding);

/* Returns the short form of a full ref name: "main", "origin/main", "v1.0". */
const char *report__ref_short(const char *ref);

#endif
