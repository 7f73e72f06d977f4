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
#include <stdint.h>

#define SCAN_LFS_PATH_SIZE 72 /* "4d/7a/4d7a2146…" */

struct scan_lfs_pointer {
    char path[SCAN_LFS_PATH_SIZE]; /* path of the object, below lfs/objects */
    uint64_t size;
};

/* Returns true if the blob is a pointer. */
bool scan__lfs_pointer(struct ts_bytes blob, struct scan_lfs_pointer *ret_pointer);

/* Opens the object for reading. Returns -1 if the object is missing, is not a file, or has another size, such
 * as after an interrupted download. The caller closes the descriptor. */
int scan__lfs_open(const char *folder, const struct scan_lfs_pointer *pointer);

#endif
