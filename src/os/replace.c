#include "os/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a new file in the folder of the file to replace, because a rename may fail between folders. */
static int open_beside(struct ts_replace *file, mode_t mode) {
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        int len = snprintf(file->temporary, sizeof file->temporary, "%s.new-%ld-%u", file->path,
                           (long)getpid(), attempt);
        if (len < 0 || (size_t)len >= sizeof file->temporary) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

bool ts_replace_is_direct(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

bool ts_replace_open(struct ts_replace *file, const char *path, mode_t mode) {
    struct stat status;
    bool is_there = stat(path, &status) == 0;
    if (!is_there && errno != ENOENT)
        return false;
    size_t len = strlen(path);
    if (len >= sizeof file->path) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(file->path, path, len + 1);
    file->is_direct = is_there && !S_ISREG(status.st_mode);
    if (file->is_direct) {
        file->fd = open(path, O_WRONLY | O_CLOEXEC);
        return file->fd >= 0;
    }
    if (is_there && realpath(path, file->path) == NULL)
        return false;
    file->fd = open_beside(file, mode);
    if (file->fd < 0)
        return false;
    if (is_there && fchmod(file->fd, status.st_mode & 07777) != 0) {
        int error = errno;
        ts_replace_abandon(file);
        errno = error;
        return false;
    }
    return true;
}

bool ts_replace_commit(struct ts_replace *file) {
    if (file->is_direct)
        return close(file->fd) == 0;
    bool good = fsync(file->fd) == 0;
    int error = errno;
    if (close(file->fd) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && rename(file->temporary, file->path) == 0)
        return true;
    error = good ? errno : error;
    (void)unlink(file->temporary);
    errno = error;
    return false;
}

void ts_replace_abandon(struct ts_replace *file) {
    (void)close(file->fd);
    if (!file->is_direct)
        (void)unlink(file->temporary);
}
