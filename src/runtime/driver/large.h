/*
 * Whether a repository is large. All processors together scan a large repository; small ones are scanned one per job.
 *
 * The answer is an estimate from the sizes of a few files. The estimate takes some microseconds for a small
 * repository.
 */
#ifndef TS_RUNTIME_DRIVER_LARGE_H
#define TS_RUNTIME_DRIVER_LARGE_H

#include <stdbool.h>
#include <stdint.h>

/* A repository is large if its compressed objects have at least this size. */
#define RUNTIME__LARGE_BYTES (UINT64_C(16) << 20)

/* Returns whether the repository, bare or with a work tree, is large. Files that cannot be read count as
 * empty. */
bool runtime__is_large(const char *repository);

#endif
