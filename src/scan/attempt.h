/*
 * One attempt to scan a target, which can be undone completely.
 *
 * A repository may change during the scan. Its refs are read first, then its objects are listed; a missing
 * object is searched for again, where it may have moved to (git/again.c). If an object was added or moved,
 * and still cannot be found through the list, the attempt is undone. Then the target is scanned again from
 * its beginning, including refs and configuration, because a report is about the refs of one moment.
 * docs/decisions/0012-one-moment.md says why.
 */
#ifndef TS_SCAN_ATTEMPT_H
#define TS_SCAN_ATTEMPT_H

#include "pass.h"

#define SCAN_ATTEMPTS_MAX 10

struct scan_attempt {
    struct scan_hits_mark hits;
    struct scan_faults_mark faults;
    size_t locations;
    size_t commits;
    size_t profile_count;
    struct scan_profile *plain;
    uint64_t limits_hit;
    bool no_memory;
    uint_fast64_t objects;
    uint_fast64_t bytes;
};

/* Marks the state before an attempt. Call it before a target is opened. */
struct scan_attempt scan__attempt_begin(struct scan_pass *pass);

/* Returns true if the attempt failed because objects had moved, and another attempt is allowed. */
bool scan__attempt_is_stale(struct scan_pass *pass);

/* Restores the pass and the target as they were before the attempt. State for later scans is kept, because it
 * is about objects, not about the attempt. */
void scan__attempt_undo(struct scan_pass *pass, struct scan_target *target,
                        const struct scan_attempt *attempt);

#endif
