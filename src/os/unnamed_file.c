#include "os/unnamed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

int ts_unnamed_file_open(const char *folder) {
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    /* The file system does not support unnamed files: create a named one, and remove its name at once. */
    char path[4096];
    int len = snprintf(path, sizeof path, "%s/turnstone-XXXXXX", folder);
    if (len < 0 || (size_t)len >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

int ts_unnamed_memory_of(struct ts_bytes content) {
    int fd = memfd_create("turnstone", MFD_CLOEXEC);
    while (fd >= 0 && content.len > 0) {
        const ssize_t count = write(fd, content.data, content.len);
        if (count > 0) {
            content = ts_bytes_skip(content, (size_t)count);
        } else if (errno != EINTR) {
            const int error = errno;
            (void)close(fd);
            errno = error;
            fd = -1;
        }
    }
    if (fd >= 0)
        (void)lseek(fd, 0, SEEK_SET);
    return fd;
}
