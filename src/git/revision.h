/*
 * Revisions and ranges, as git writes them.
 *
 *   revision   a ref or an id (ts_git_repo_resolve), @ for HEAD, or what git-describe prints (v1.2-3-gabc1234), then any of
 *              ~N ^N ^{} ^{commit}     ancestors, parents, what a tag names
 *              @{upstream} @{u}        of a branch, or of the current one when none is named
 *              @{N} @{-N}              the reflog's Nth entry; the branch before the Nth last checkout
 *   range      A..B    what B reaches and A does not         an empty side is HEAD
 *              A...B   what one of them reaches and not both
 *              A^!     A alone                               A^-N  what A brought to its Nth parent (default: first)
 *
 * Searches by text or date, and paths in trees, are not supported.
 */
#ifndef TS_GIT_REVISION_H
#define TS_GIT_REVISION_H

#include "git/repo.h"

/* A plain ref or id is not peeled. With a suffix, the result is a commit. NO_SUCH_REF, BAD_REVISION, NO_SUCH_PARENT, NO_UPSTREAM
 * and NO_REFLOG are about the text; CUT is a parent that a shallow clone leaves out. */
enum ts_git_error ts_git_revision_resolve(struct ts_git_repo *repo, const char *text,
                                          struct ts_git_oid *ret_oid, struct ts_git_fault *ret_fault);

struct ts_git_range {
    struct ts_git_oid from[2];
    size_t from_count;
    struct ts_git_oid *exclude; /* owned by the caller */
    size_t exclude_count;
    bool is_symmetric;
};

/* BAD_REVISION if the text is a single revision. */
enum ts_git_error ts_git_range_resolve(struct ts_git_repo *repo, const char *text,
                                       struct ts_git_range *ret_range, struct ts_git_fault *ret_fault);

#endif
