/*
 * Which hits of a content count at a path.
 *
 * Paths are known after contents were scanned, so a content keeps the hits of all rules. At a path, those of rules for other
 * paths do not count. If a rule for this path and a generic rule found the same secret, one of the two counts: the one of
 * higher confidence, or the one of the rule for this path.
 */
#ifndef TS_SCAN_PLACED_H
#define TS_SCAN_PLACED_H

#include "hits.h"

/* Whether another hit counts instead of this one, whose rule applies at the path. `index` is that of a hit of the content. */
bool scan__is_outranked(const struct scan_hits *hits, const struct scan_content *content, uint32_t index,
                        const char *path);

#endif
