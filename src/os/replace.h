/*
 * Replaces a file completely or not at all: the new file is written next to the old one under another name,
 * and then renamed.
 *
 *     struct ts_replace file;
 *     if (!ts_replace_open(&file, path, 0666))      errno says why
 *         ...
 *     ts_out_init(&out, file.fd);
 *     ...
 *     if (ts_out_flush(&out))
 *         ts_replace_commit(&file)                  false: errno says why, and the old file is unchanged
 *     else
 *         ts_replace_abandon(&file);
 *
 * A link is followed, and its target is replaced. Anything but a regular file (a pipe, /dev/stdout) is
 * written to directly. A replaced file keeps its permissions; a new file gets the caller's permissions,
 * restricted by the process's umask.
 */
#ifndef TS_OS_REPLACE_H
#define TS_OS_REPLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct ts_replace {
    int fd;
    bool is_direct; /* the path is written to directly; there is no second file */
    char path[PATH_MAX];
    char temporary[PATH_MAX];
};

/* Returns true if `path` exists and is neither a regular file nor a folder. Such a file would be written to
 * directly. */
bool ts_replace_is_direct(const char *path);

__attribute__((warn_unused_result)) bool ts_replace_open(struct ts_replace *file, const char *path,
                                                         mode_t mode);
__attribute__((warn_unused_result)) bool ts_replace_commit(struct ts_replace *file);
void ts_replace_abandon(struct ts_replace *file);

#endif
