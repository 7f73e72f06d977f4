/*
 * The paths of archives that could not be read completely.
 *
 * While a history is scanned, only the id of such a content is known: "object 1234…: not all of this archive
 * …". When the scan finds the paths of findings, it also finds the paths of these contents, and adds them to
 * the faults. If allow entries allow everything at each path of a content, its fault is accepted, because
 * nothing in the content could be a finding.
 */
#ifndef TS_SCAN_FAULT_PATHS_H
#define TS_SCAN_FAULT_PATHS_H

#include "pass.h"

#include "git/set.h"

struct scan_fault_place {
    struct ts_git_oid oid;
    uint32_t object;      /* index in faults->objects */
    const char *path;     /* the first path, if possible a path that no entry allows; NULL: none so far */
    bool has_other_place; /* some path of the content is not allowed by any entry */
};

struct scan_fault_paths {
    struct scan_pass *pass;
    const struct scan_profile *profile;
    struct ts_arena arena;
    struct scan_fault_place *items; /* sorted by id */
    size_t count;
};

/* Lists the contents of the current target that have faults. `paths` must be released. Returns false when
 * memory runs out. */
bool scan__fault_paths_init(struct scan_fault_paths *paths, struct scan_pass *pass, uint32_t target);
void scan__fault_paths_release(struct scan_fault_paths *paths);

/* Adds the listed contents to `blobs`, the set of blobs whose paths will be found. */
void scan__fault_paths_want(const struct scan_fault_paths *paths, struct ts_git_set *blobs);

/* Records a path of a content. Call it for every place of every content. */
void scan__fault_paths_found(struct scan_fault_paths *paths, const struct ts_git_oid *oid,
                             struct ts_bytes path);

/* Adds the paths to the faults, and removes accepted faults. is_all: every place was found. */
void scan__fault_paths_end(struct scan_fault_paths *paths, bool is_all);

/* Returns whether an allow entry of the target allows everything at the path. */
bool scan__fault_is_allowed(const struct scan_profile *profile, struct ts_bytes path);

#endif
