/*
 * The index of a work tree: what is staged. Versions 2 to 4, read whole. Of the extensions, those that say what is
 * staged are understood: a sparse index has folders among its entries, a split one keeps most of them in another file;
 * the others are passed over.
 */
#ifndef TS_GIT_STAGED_H
#define TS_GIT_STAGED_H

#include "git/repo.h"

/* Of a sparse index, an entry may be a folder: its mode is that of a tree, its path ends with a slash, and everything
 * in that tree is staged as it is there. */
struct ts_git_staged_entry {
    char *path; /* any bytes, ended by a zero */
    size_t path_len;
    struct ts_git_oid oid;
    uint32_t mode;
    unsigned stage;        /* 0; 1 to 3 are sides of a conflict */
    bool is_intent_to_add; /* its oid is of nothing yet */
    bool is_skipped;       /* sparse: not in the work tree */
    int64_t mtime_s; /* of the file when it was staged; when size and time still hold, it has not changed */
    uint32_t mtime_ns;
    uint32_t file_size; /* modulo 2^32 */
};

struct ts_git_staged {
    struct ts_git_staged_entry *items; /* by path, then stage, as git keeps them */
    size_t count;
};

/* OK and empty when there is no index yet; NO_SHARED_INDEX when the other file of a split one is not there; TOO_LARGE when
 * its entries take more than half of memory_max in either file: paths in a file of version 4 can be a thousand times as long as the file. */
enum ts_git_error ts_git_staged_read(struct ts_git_repo *repo, uint64_t memory_max,
                                     struct ts_git_staged *ret_staged, struct ts_git_fault *ret_fault);

/* Another file than the repository's own: git makes one for a commit of some files only, and names it to hooks. */
enum ts_git_error ts_git_staged_read_file(struct ts_git_repo *repo, const char *path, uint64_t memory_max,
                                          struct ts_git_staged *ret_staged, struct ts_git_fault *ret_fault);

void ts_git_staged_release(struct ts_git_staged *staged);

#endif
