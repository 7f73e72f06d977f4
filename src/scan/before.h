/*
 * Findings that a change brings, compared with findings that were there before it.
 *
 *   what the change adds ──look──> hits, and if there are any:
 *   its base: files that it changes or removes, then the others ──look──> more hits, at locations of the base
 *
 * The base is what the change builds on. If a location of the base has a finding and reports it, the change
 * does not bring the finding, at whichever path it is (assemble.c leaves it out). A path decides whether a
 * finding is reported, so blobs that the change only moves belong to both. The change is one or
 * several commits, or the staged files. It builds on the parents of its commits, or on HEAD. Contents of the
 * change come first among those of a target. Contents of the base are looked at only until every finding of
 * the change was found in the base, too.
 */
#ifndef TS_SCAN_BEFORE_H
#define TS_SCAN_BEFORE_H

#include "pass.h"

struct scan_before {
    struct scan_pass *pass;
    uint32_t target;
    size_t first;         /* contents of the target */
    size_t mark;          /* contents from here on are of the base */
    bool *are_candidates; /* by finding: the change has it, and no mark allows it everywhere */
    size_t finding_count;
};

/* Call it after the look at the change, whose contents begin at `first`. Returns false when memory runs out; release it in any
 * case. */
bool scan__before_begin(struct scan_before *before, struct scan_pass *pass, uint32_t target, size_t first);
void scan__before_release(struct scan_before *before);

/* Returns true while the contents of the base so far lack a finding of the change: more of the base must be looked at. Only contents
 * that would report the finding at any path count. */
bool scan__before_is_open(const struct scan_before *before);

/* Returns whether a content of the base has a finding of the change. */
bool scan__before_matters(const struct scan_before *before, const struct scan_content *content);

#endif
