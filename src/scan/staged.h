/*
 * A scan of the staged files.
 */
#ifndef TS_SCAN_STAGED_H
#define TS_SCAN_STAGED_H

#include "pass.h"
#include "sides.h"

struct scan_staged {
    struct scan_pass *pass;
    struct scan_target *target;
    uint32_t target_index;
    struct ts_git_repo *repo;
    struct scan_looks looks;
    struct scan_sides sides;
    struct scan_named *named; /* files that the user named, sorted by path */
    size_t named_count;
    size_t blob_max; /* larger blobs are scanned in windows */
};

/* Returns the options for visiting the wanted blobs. Large blobs are visited in windows. */
struct ts_git_visit_options scan__staged_visit(const struct scan_staged *staged, unsigned threads,
                                               const struct ts_git_set *wanted);

/* Scans the base of the commit (HEAD and the commits that are being merged) until it is clear which findings
 * the commit would add. Locations from `location_first` on belong to the staged files. Returns false when
 * memory runs out. */
bool scan__staged_before(struct scan_staged *staged, size_t location_first);

#endif
