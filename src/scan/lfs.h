/*
 * Git LFS: a blob of a few lines of text refers to a file that is stored elsewhere.
 *
 *   version https://git-lfs.github.com/spec/v1
 *   oid sha256:4d7a2146…
 *   size 12345
 *
 */
#ifndef TS_SCAN_LFS_H
#define TS_SCAN_LFS_H

#include "base/bytes.h"

#include <stdbool.h>

#define SCAN_LFS_PATH_SIZE 72 /* "4d/7a/4d7a2146…" */

/* Returns true if the blob is a pointer, with the path of its object below lfs/objects. */
bool scan__lfs_pointer(struct ts_bytes blob, char ret_path[static SCAN_LFS_PATH_SIZE]);

/* Opens the object for reading. Returns -1 if it is missing or not a file. The caller closes it. */
int scan__lfs_open(const char *folder, const char *path);

#endif
