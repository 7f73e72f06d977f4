/* Shared by scans of whole contents and of windows. */
#ifndef TS_SCAN_LOOK_IMPL_H
#define TS_SCAN_LOOK_IMPL_H

#include "look.h"

/* Adds a match to look->raw. */
ts_match_found scan__look_found;

/* Prepares judging. Call it when look->raw is complete. Returns false when memory runs out. */
bool scan__look_prepare(struct scan_look *look);

/* Returns true if the scan was stopped. Then the end of the content may be unscanned. */
bool scan__look_is_cut(const struct scan_look *look);

/* Returns true if another match of the content should be judged. After a stop, only a few matches are judged:
 * enough for a report of what was just found. `late` counts these matches, from 0. */
bool scan__look_judges_on(const struct scan_look *look, size_t *late);

/* Makes a hit from a match in the bytes. Matches must be passed in the order of their secrets. Returns false
 * if the hit cannot be kept. */
bool scan__look_judge(struct scan_look *look, struct ts_bytes bytes, const struct ts_match *match,
                      struct scan_lines *lines, struct scan_hit *ret_hit);

#endif
