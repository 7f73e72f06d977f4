/*
 * The sides of a staged change: the files of HEAD and of the commits that are being merged, and the files of
 * the index.
 *
 * A folder of a sparse index means all files of a tree. Usually HEAD has the same folder. Then neither side
 * lists it, because nothing in it is staged or deleted. The files of other folders are listed one by one,
 * from their trees.
 */
#ifndef TS_SCAN_SIDES_H
#define TS_SCAN_SIDES_H

#include "pass.h"

#include "git/staged.h"

struct scan_side_file {
    struct ts_bytes path;
    struct ts_git_oid oid; /* id of a blob */
};

struct scan_side {
    struct scan_side_file *items; /* sorted by path, then by id: during a conflict, a path has several rows */
    size_t count;
    size_t capacity;
};

struct scan_sides {
    struct ts_arena arena;
    struct scan_side head;
    struct scan_side merged; /* files of all commits that are being merged into HEAD */
    struct scan_side staged;
    struct scan_side same;      /* unchanged folders of a sparse index, with the ids of their trees */
    struct ts_git_oid *parents; /* parents of the next commit */
    size_t parent_count;
};

/* Lists the sides, without intent-to-add entries and commits of submodules. Unreadable parts of HEAD are
 * omitted, and so count as changed: scanning too much is safer. Unreadable parts of the index are faults. The
 * sides must be released, also on failure. */
enum ts_scan_outcome scan__sides_list(struct scan_sides *sides, struct scan_pass *pass,
                                      struct scan_target *target, struct ts_git_repo *repo,
                                      const struct ts_git_staged *index, struct ts_scan_error *ret_error);
/* Also lists the files of folders that are the same on both sides, and adds them to merged. Returns false
 * when memory runs out. */
bool scan__sides_unfold(struct scan_sides *sides, struct scan_pass *pass, struct scan_target *target,
                        struct ts_git_repo *repo);
void scan__sides_release(struct scan_sides *sides);

/* Returns true if the side has this path with this content. */
bool scan__side_has(const struct scan_side *side, const struct scan_side_file *file);

#endif
