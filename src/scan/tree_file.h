/*
 * Files of a target by their path from its top: in a folder or, for a bare repository, in the tree of HEAD.
 * No symbolic links are followed, not even in folders of the path.
 */
#ifndef TS_SCAN_TREE_FILE_H
#define TS_SCAN_TREE_FILE_H

#include "profile.h"

struct ts_git_fault;
struct ts_git_repo;

struct scan_tree {
    const char *folder; /* NULL: HEAD's tree */
    struct ts_git_repo *repo;
    size_t object_max; /* larger trees count as damaged */
};

enum scan_tree_has { SCAN_TREE_HAS, SCAN_TREE_HAS_NOT, SCAN_TREE_DAMAGED };

/* Returns HAS if the folder has anything at the path, even if it cannot be opened, or if HEAD has a file
 * there. Returns DAMAGED, with a fault, if a tree on the path in HEAD, or the blob of the file, cannot be
 * read. */
enum scan_tree_has scan__tree_has(struct scan_tree *tree, const char *path, struct ts_git_fault *ret_fault);

/* Reads a file of the target. A scan_profile_reader, whose ctx is a struct scan_tree. */
enum scan_profile_read scan__tree_read(void *ctx, const char *path, size_t max,
                                       struct scan_profile_file *ret_file);

#endif
