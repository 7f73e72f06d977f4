#include "os/read.h"

#include "os/grow.h"
#include "retry.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

bool ts_read_up_to(int fd, void *buffer, size_t size, size_t *ret_len) {
    uint8_t *bytes = buffer;
    size_t len = 0;
    while (len < size) {
        const ssize_t got = read(fd, bytes + len, size - len);
        if (got < 0 && os__may_retry(fd, POLLIN))
            continue;
        if (got < 0)
            return false;
        if (got == 0)
            break;
        len += (size_t)got;
    }
    *ret_len = len;
    return true;
}

bool ts_read_all(int fd, size_t max, uint8_t **ret_bytes, size_t *ret_len) {
    enum { STEP = 65536 };
    uint8_t *bytes = NULL;
    size_t capacity = 0, len = 0, got = STEP;
    int error = 0;
    while (error == 0 && got == STEP && len <= max) {
        if (!TS_GROW(bytes, capacity, len + STEP))
            error = ENOMEM;
        else if (!ts_read_up_to(fd, bytes + len, STEP, &got))
            error = errno;
        else
            len += got;
    }
    if (error != 0) {
        free(bytes);
        errno = error;
        return false;
    }
    *ret_bytes = bytes;
    *ret_len = len;
    return true;
}
