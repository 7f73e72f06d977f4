/*
 * What a change brings, and what was there before it.
 *
 *   what the change adds ──look──> hits, and if there are any:
 *   what it builds on: files that it changes or removes, then the others ──look──> more hits, at locations of the base
 *
 * A finding that a location of the base has and reports is not brought by the change, wherever it was (assemble.c leaves it out). The change
 * is one commit or several, or what is staged; it builds on the parents of its commits, or on HEAD. Contents of the change come
 * first among those of a target, and those of the base are looked at only while a finding of the change is in none of them.
 */
#ifndef TS_SCAN_BEFORE_H
#define TS_SCAN_BEFORE_H

#include "session.h"

struct scan_before {
    struct scan_session *session;
    uint32_t target;
    size_t first;         /* contents of the target */
    size_t mark;          /* contents from here on are of the base */
    bool *are_candidates; /* by finding: the change has it, and no mark allows it everywhere */
    size_t finding_count;
};

/* When the change was looked at. Contents from `first` on are its own. False when there is no memory; release it in any case. */
bool scan__before_begin(struct scan_before *before, struct scan_session *session, uint32_t target,
                        size_t first);
void scan__before_release(struct scan_before *before);

/* Whether a finding of the change was not met in contents of the base, where it would be reported at any path. */
bool scan__before_is_open(const struct scan_before *before);

/* Whether a content of the base has a finding of the change. */
bool scan__before_matters(const struct scan_before *before, const struct scan_content *content);

#endif
