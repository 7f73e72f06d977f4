#include "retry.h"

#include <errno.h>
#include <poll.h>

bool os__may_retry(int fd, short events) {
    if (errno == EINTR)
        return true;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return false;
    struct pollfd ready = {.fd = fd, .events = events};
    return poll(&ready, 1, -1) >= 0 || errno == EINTR;
}
