/*
 * Whether a repository is large. All processors together scan a large repository; small ones are scanned one per job.
 *
 * The answer is an estimate from the sizes of a few files. It costs some microseconds for a small repository.
 */
#ifndef TS_RUNTIME_DRIVER_LARGE_H
#define TS_RUNTIME_DRIVER_LARGE_H

#include <stdbool.h>
#include <stdint.h>

/* Compressed objects of at least this size are large. */
#define RUNTIME__LARGE_BYTES (UINT64_C(16) << 20)

/* Bare, or with a work tree. What cannot be read counts as empty. */
bool runtime__is_large(const char *repository);

#endif
