/*
 * Suppressed findings, and what suppressed them: an entry of a configuration, or a mark in a line.
 */
#ifndef TS_SCAN_SUPPRESSED_H
#define TS_SCAN_SUPPRESSED_H

#include "hits.h"
#include "os/arena.h"
#include "profile.h"

struct scan_suppressed {
    const struct scan_hits *hits;
    struct scan_profile *const *profiles;
    size_t profile_count;
    bool **met; /* by profile and entry: whether it allows something, at some path */
    struct scan_suppressed_item *items;
    size_t count;
    size_t capacity;
    bool no_memory;
};

bool scan__suppressed_init(struct scan_suppressed *suppressed, const struct scan_hits *hits,
                           struct scan_profile *const *profiles, size_t profile_count);
void scan__suppressed_release(struct scan_suppressed *suppressed);

/* Returns true if the hit is allowed at its place, and counts it. The profile is one of the profiles. */
bool scan__suppressed_take(struct scan_suppressed *suppressed, const struct scan_profile *profile,
                           const struct scan_hit *hit, const char *path);

/* The same, without counting. */
bool scan__suppressed_would(const struct scan_suppressed *suppressed, const struct scan_profile *profile,
                            const struct scan_hit *hit, const char *path);

/* How many entries of the profile name findings and met none, and the line of the first of them. */
size_t scan__suppressed_unmet(const struct scan_suppressed *suppressed, const struct scan_profile *profile,
                              unsigned *ret_line);

/* A row for each entry and mark that allowed something: configurations by line, then marks. Returns false
 * when memory runs out. */
bool scan__suppressed_rows(struct scan_suppressed *suppressed, struct ts_arena *arena,
                           struct ts_report_suppression **ret_rows, size_t *ret_count);

#endif
