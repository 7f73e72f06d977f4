/*
 * Finds out which findings a change adds, by comparing the change with its base.
 *
 *   contents of the change ──look──> hits ──place──> locations, and if findings are reported there:
 *   its base: files that it changes or removes, then the others ──look──> more hits, at locations of the base
 *
 * The base is what the change builds on. If the base has a finding with the same or a higher confidence at
 * any path, the change does not add the finding (sightings.c omits it). The same holds for its kin (kin.h).
 * The path decides whether a finding is reported and with which confidence, so blobs that the change only
 * moves belong to both change and base. The change is one or several commits, or the staged files. It builds
 * on the parents of its commits, or on HEAD. The contents and locations of a target begin with those of the
 * change. Contents of the base are looked at only until every finding of the change was found in the base,
 * too.
 */
#ifndef TS_SCAN_BEFORE_H
#define TS_SCAN_BEFORE_H

#include "kin.h"
#include "pass.h"

/* Compares the findings of a change with those of its base. The level of a hit at a location is 1 + its
 * confidence there, or 0 if the hit is not reported there. */
struct scan_before {
    struct scan_pass *pass;
    const struct scan_profile *profile;
    size_t mark;          /* contents from this index on belong to the base */
    size_t location_mark; /* locations from this index on belong to the base */
    struct scan_kin kin;
    uint8_t *levels; /* indexed by the first finding of a kin: the highest level in the change */
    size_t level_capacity;
};

/* Begins the comparison. Call it after the contents of the change were scanned and placed; their locations
 * begin at `location_first`. Returns false when memory runs out; release `before` in any case. */
bool scan__before_begin(struct scan_before *before, struct scan_pass *pass, uint32_t target,
                        size_t location_first);
void scan__before_release(struct scan_before *before);

/* Adds the findings of newly scanned contents of the base to the comparison. Call it before these contents
 * are placed. Returns false when memory runs out. */
bool scan__before_update(struct scan_before *before);

/* Returns whether a content of the base has a finding that the change has, too. */
bool scan__before_matters(const struct scan_before *before, const struct scan_content *content);

/* Returns true while the base lacks a finding of the change, or has it only with a lower confidence, so that
 * more of the base must be scanned. Also returns true when memory runs out. */
bool scan__before_is_open(const struct scan_before *before);

#endif
