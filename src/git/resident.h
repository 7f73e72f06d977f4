/*
 * Pages of mapped packs that a visit has read. The kernel counts them as memory of the process, and also maps
 * the pages around each page that is read, so a pack of gigabytes would take gigabytes. When there are too
 * many, all of them are released: they stay in the system's cache, and reading one again costs a fault.
 */
#ifndef TS_GIT_RESIDENT_H
#define TS_GIT_RESIDENT_H

#include "pack.h"

#include <stdatomic.h>

/* Bytes of packs that may be resident. */
#define GIT__RESIDENT_MAX    ((uint64_t)64 << 20)
/* The number of bytes that the kernel maps at a time. */
#define GIT__RESIDENT_WINDOW ((uint64_t)64 << 10)

struct git__resident {
    const struct git__pack *packs;
    size_t pack_count;
    uint64_t *first;       /* number of the first window of each pack, then the total */
    atomic_uchar *is_read; /* by window; NULL when everything may be resident */
    atomic_uint_fast64_t count;
};

/* Returns false when memory runs out. The packs must not change until the release. */
bool git__resident_init(const struct git__pack *packs, size_t pack_count, struct git__resident *ret_resident);
void git__resident_release(struct git__resident *resident);

/* Records that these bytes of a pack are read now. Any thread may call it. */
void git__resident_note(struct git__resident *resident, const struct git__pack *pack,
                        struct git__extent extent);

#endif
