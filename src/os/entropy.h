/*
 * Unpredictable bytes from the kernel: for keys, uuids and seeds.
 */
#ifndef TS_OS_ENTROPY_H
#define TS_OS_ENTROPY_H

#include <stdbool.h>
#include <stddef.h>

/* Fills ret_bytes. Waits until the kernel has gathered enough entropy after boot. Returns false for example
 * in a sandbox without getrandom; then the caller must not use the bytes. */
__attribute__((warn_unused_result)) bool ts_entropy_fill(void *ret_bytes, size_t len);

#endif
