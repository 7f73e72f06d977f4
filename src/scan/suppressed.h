/*
 * Suppressed findings, each with its reason: an entry of a configuration, a fingerprint of .gitleaksignore,
 * or a mark in a line.
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
    bool **met; /* indexed by profile and entry: whether the entry allows a finding at some path */
    struct scan_suppressed_pair *pairs; /* findings that fingerprints ignore, with the paths */
    size_t pair_count;
    size_t pair_capacity;
    struct scan_suppressed_item *items;
    size_t count;
    size_t capacity;
    bool keeps_marked; /* marks suppress nothing */
    bool no_memory;
};

bool scan__suppressed_init(struct scan_suppressed *suppressed, const struct scan_hits *hits,
                           struct scan_profile *const *profiles, size_t profile_count);
void scan__suppressed_release(struct scan_suppressed *suppressed);

/* Returns true if the hit is allowed at its path (a text of the hits), and counts it. `profile` is one of the
 * profiles with which `suppressed` was made. */
bool scan__suppressed_take(struct scan_suppressed *suppressed, const struct scan_profile *profile,
                           const struct scan_hit *hit, uint32_t path);

/* Returns whether the hit is allowed at its path, without counting it. */
bool scan__suppressed_would(const struct scan_suppressed *suppressed, const struct scan_profile *profile,
                            const struct scan_hit *hit, uint32_t path);

/* Like scan__suppressed_would, but considers only entries of the configuration and marks, not
 * fingerprints. */
bool scan__is_allowed(const struct scan_hits *hits, const struct scan_profile *profile,
                      const struct scan_hit *hit, const char *path);

/* A place of a content in a target with a .gitleaksignore. Before scan__suppressed_take, call three
 * functions: `clear` drops the pairs of the previous target; `ignore`, called for each place, remembers the
 * findings that fingerprints ignore at the place; `sort` sorts these pairs. */
struct scan_suppressed_place {
    const struct scan_profile *profile;
    const struct scan_content *content;
    const struct ts_git_oid *commit; /* NULL: none */
    uint32_t path;                   /* position of a text */
    bool is_before;                  /* in the base of a change: any commit may have added the secret */
};
void scan__suppressed_clear(struct scan_suppressed *suppressed);
void scan__suppressed_ignore(struct scan_suppressed *suppressed, const struct scan_suppressed_place *place);
void scan__suppressed_sort(struct scan_suppressed *suppressed);

/* Counts the entries of the profile that name findings but matched no finding. *ret_line is the line of the
 * first such entry. */
size_t scan__suppressed_unmet(const struct scan_suppressed *suppressed, const struct scan_profile *profile,
                              unsigned *ret_line);

/* Makes a row for each entry, fingerprint and mark that allowed a finding. For each profile, entries come
 * before fingerprints; marks come last. Returns false when memory runs out. */
bool scan__suppressed_rows(struct scan_suppressed *suppressed, struct ts_arena *arena,
                           struct ts_report_suppression **ret_rows, size_t *ret_count);

#endif
