/*
 * Unpredictable bytes from the kernel: for keys, uuids and seeds.
 */
#ifndef TS_OS_ENTROPY_H
#define TS_OS_ENTROPY_H

#include <stdbool.h>
#include <stddef.h>

/* Waits until the kernel has gathered enough after boot. On failure, which a sandbox without getrandom can
 * cause, the bytes are not fit for use: the caller must not go on with them. */
__attribute__((warn_unused_result)) bool ts_entropy_fill(void *ret_bytes, size_t len);

#endif
