/*
 * The index of a work tree, which lists the staged files. Reads versions 2 to 4, and the extensions that
 * change this list: a sparse index has folders among its entries, and a split index keeps most entries in
 * another file. From the extension TREE, only the first tree is read. Other extensions are ignored.
 */
#ifndef TS_GIT_STAGED_H
#define TS_GIT_STAGED_H

#include "git/repo.h"

/* In a sparse index, an entry may be a folder: its mode is that of a tree, its path ends with a slash, and
 * everything in that tree is staged. */
struct ts_git_staged_entry {
    char *path; /* any bytes, with a terminator */
    size_t path_len;
    struct ts_git_oid oid;
    uint32_t mode;
    unsigned stage;        /* 0; 1 to 3 are sides of a conflict */
    bool is_intent_to_add; /* git add -N: there is no object with this oid yet */
    bool is_ignored;       /* git does not compare the file: assume-unchanged, skip-worktree */
    /* The next three fields describe the file in the work tree at the time when git last compared it. A size
     * of 0 may also mean that the size is unknown. */
    uint32_t mtime_s;
    uint32_t mtime_ns;
    uint32_t size;
};

struct ts_git_staged {
    struct ts_git_staged_entry *items; /* sorted by path, then by stage, as in git */
    size_t count;
    bool has_tree; /* git has noted the tree of all entries, except intent-to-add entries */
    struct ts_git_oid tree;
};

/* Reads the index of the work tree. Returns OK and no entries if there is no index yet, NO_SHARED_INDEX if
 * the shared file of a split index is missing, and TOO_LARGE if the entries of either file take more than
 * half of memory_max, because paths in a file of version 4 can be a thousand times as long as the file. */
enum ts_git_error ts_git_staged_read(struct ts_git_repo *repo, uint64_t memory_max,
                                     struct ts_git_staged *ret_staged, struct ts_git_fault *ret_fault);

/* Reads an index file other than the repository's own. When git commits only some files, it makes such a file
 * and passes its name to hooks. */
enum ts_git_error ts_git_staged_read_file(struct ts_git_repo *repo, const char *path, uint64_t memory_max,
                                          struct ts_git_staged *ret_staged, struct ts_git_fault *ret_fault);

/* Finds the parents of the next commit: HEAD, then the commits of a merge in progress. Before the first
 * commit, there are no parents. The caller frees the ids. */
enum ts_git_error ts_git_staged_parents(struct ts_git_repo *repo, struct ts_git_oid **ret_oids,
                                        size_t *ret_count, struct ts_git_fault *ret_fault);

/* Returns the position of the first entry that is not before the path. */
size_t ts_git_staged_find(const struct ts_git_staged *staged, const char *path);

void ts_git_staged_release(struct ts_git_staged *staged);

#endif
