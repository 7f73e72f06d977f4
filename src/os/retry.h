/*
 * Calls that a signal has interrupted, or that would block.
 */
#ifndef TS_OS_RETRY_H
#define TS_OS_RETRY_H

#include <stdbool.h>

/* Returns whether to repeat a call that has failed with errno. If the call would have blocked (the descriptor
 * is non-blocking, such as a terminal that another program configured), first waits until the descriptor is
 * ready for `events` (POLLIN or POLLOUT). */
bool os__may_retry(int fd, short events);

#endif
