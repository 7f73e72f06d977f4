/*
 * Decides which hits of a content count at a path.
 *
 * Paths are known after contents were scanned, so a content keeps the hits of all rules. At a path, hits of
 * rules for other paths do not count. If the secrets of two generic rules overlap, and at least one of the
 * rules has paths, only the hit with the higher confidence counts. If both have the same confidence, a rule
 * with paths comes before a rule for all paths, then the longer secret before the shorter.
 */
#ifndef TS_SCAN_PLACED_H
#define TS_SCAN_PLACED_H

#include "hits.h"

/* Returns the confidence of a hit at a path. Different paths may give different confidences. */
enum ts_confidence scan__confidence_at(const struct scan_hits *hits, const struct scan_hit *hit,
                                       const char *path);

/* Returns whether another hit of the content counts instead of the hit with this index. The rule of the hit
 * must apply at the path. */
bool scan__is_outranked(const struct scan_hits *hits, const struct scan_content *content, uint32_t index,
                        const char *path);

#endif
