/*
 * Revisions and ranges, as git writes them.
 *
 *   revision   a ref or an id (ts_git_repo_resolve), @ for HEAD, or what git-describe prints (v1.2-3-gabc1234), then any of
 *              ~N ^N ^{} ^{commit}     ancestors, parents, what a tag names
 *              @{upstream} @{u}        the upstream of a branch, or of the current branch when none is named
 *              @{push}                 the branch that 'git push' would change, by the repository's configuration
 *              @{N} @{-N}              the reflog's Nth entry; the branch before the Nth last checkout
 *              @{DATE}                 the ref's value at that time, by its reflog (date.h)
 *              ^{/TEXT}                the youngest commit that the revision reaches whose message matches TEXT (message.h)
 *              :/TEXT                  the youngest such commit that any ref or HEAD reaches; nothing may come before or after it
 *   range      A..B    what B reaches and A does not         an empty side is HEAD
 *              A...B   what exactly one of A and B reaches
 *              A^!     A alone                               A^-N  what A added to its Nth parent (default: first)
 *
 * Paths in trees and in the index are not supported. Parents are the stored ones, without grafts and replacements.
 */
#ifndef TS_GIT_REVISION_H
#define TS_GIT_REVISION_H

#include "git/repo.h"

/* Resolves a revision. A plain ref or id is not peeled. With a suffix, the result is a commit. NO_SUCH_REF,
 * BAD_REVISION, NO_SUCH_PARENT, NO_UPSTREAM, NO_REFLOG, BAD_DATE, BAD_PATTERN and NO_MATCH are errors of the
 * text. CUT means a parent that a shallow clone omits. */
enum ts_git_error ts_git_revision_resolve(struct ts_git_repo *repo, const char *text,
                                          struct ts_git_oid *ret_oid, struct ts_git_fault *ret_fault);

struct ts_git_range {
    struct ts_git_oid from[2];
    size_t from_count;
    struct ts_git_oid *exclude; /* the caller frees it */
    size_t exclude_count;
    bool is_symmetric;
};

/* Resolves a range. Returns BAD_REVISION if the text is a single revision. */
enum ts_git_error ts_git_range_resolve(struct ts_git_repo *repo, const char *text,
                                       struct ts_git_range *ret_range, struct ts_git_fault *ret_fault);

#endif
