/*
 * The two sides of what is staged: the files of HEAD, and those of the index.
 *
 * Folders of a sparse index stand for all files of a tree. One that HEAD has as it is, which is the rule, is on neither side:
 * nothing in it is staged, and nothing of it is gone. The files of the others are listed one by one, from their trees.
 */
#ifndef TS_SCAN_SIDES_H
#define TS_SCAN_SIDES_H

#include "session.h"

#include "git/staged.h"

struct scan_side_file {
    struct ts_bytes path;
    struct ts_git_oid oid; /* of a blob */
};

struct scan_side {
    struct scan_side_file *items; /* by path, then by id: of a conflict, a path has several */
    size_t count;
    size_t capacity;
};

struct scan_sides {
    struct scan_arena arena;
    struct scan_side head;
    struct scan_side staged;
};

/* What is only meant to be added and commits of submodules are on neither side. What of HEAD cannot be read is left out and so
 * counts as changed, better looked at in vain; what cannot be read of the index is a fault. On failure, too, the sides
 * are to be released. */
enum ts_scan_outcome scan__sides_list(struct scan_sides *sides, struct scan_session *session,
                                      struct scan_target *target, struct ts_git_repo *repo,
                                      const struct ts_git_staged *index, struct ts_scan_error *ret_error);
void scan__sides_release(struct scan_sides *sides);

/* Whether the side has this path with this content. */
bool scan__side_has(const struct scan_side *side, const struct scan_side_file *file);

#endif
