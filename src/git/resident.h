/*
 * Pages of mapped packs that a visit has read. The kernel counts them as memory of the process, and also maps
 * the pages around each page that is read, so a pack of gigabytes would take gigabytes. When there are too
 * many, some pages that were not read lately are released. They stay in the system's cache, and reading a
 * page again costs a page fault. While the process takes little memory, the limit is higher.
 *
 * Since Linux 6.18 one page fault maps as much as the system's cache keeps in one piece, up to 2 MB, but
 * never beyond the mapping. So a large pack is divided into windows, each a separate mapping. The kernel
 * joins neighbouring mappings with the same flags, so every second window gets the flag that excludes it from
 * core dumps.
 */
#ifndef TS_GIT_RESIDENT_H
#define TS_GIT_RESIDENT_H

#include "pack.h"

#include <stdatomic.h>

/* Bytes of packs that may always be resident. */
#define GIT__RESIDENT_MAX     ((uint64_t)56 << 20)
/* While the process takes less memory than this, the limit of resident bytes is raised in steps. */
#define GIT__RESIDENT_PROCESS ((uint64_t)216 << 20)
#define GIT__RESIDENT_STEP    ((uint64_t)8 << 20)
/* Size of a window: the number of bytes that the kernel maps at a time. Windows are larger if there would be
 * too many. */
#define GIT__RESIDENT_WINDOW  ((uint64_t)32 << 10)
/* The maximum number of windows. A process may have 65,530 mappings. */
#define GIT__RESIDENT_WINDOWS ((uint64_t)32 << 10)

enum git__window {
    GIT__WINDOW_RELEASED,
    GIT__WINDOW_OLD, /* resident, and not read since the last search passed it */
    GIT__WINDOW_READ,
};

struct git__resident {
    struct git__pack *packs;
    size_t pack_count;
    uint64_t window;                /* size of a window in bytes */
    uint64_t *first;                /* number of the first window of each pack, then the total */
    atomic_uchar *states;           /* enum git__window of each window; NULL: everything may be resident */
    atomic_uint_fast64_t count;     /* number of resident windows */
    atomic_uint_fast64_t hand;      /* where the search for windows to release continues */
    atomic_uint_fast64_t count_max; /* if count is larger, check how much memory the process takes */
    int process;                    /* open file that shows how much memory the process takes; -1: none */
    int self;                       /* file descriptor that stands for this process; -1: none */
};

/* Starts to count resident windows. Returns false when memory runs out. The packs must not change until the
 * release. */
bool git__resident_init(struct git__pack *packs, size_t pack_count, struct git__resident *ret_resident);

/* Frees the counts. Also releases the pages, because the work after a visit needs memory for other things. */
void git__resident_release(struct git__resident *resident);

/* Releases the pages of these packs, unless all these pages may be resident. */
void git__resident_forget(const struct git__pack *packs, size_t pack_count);

/* Records that these bytes of a pack are read now. Any thread may call it. */
void git__resident_note(struct git__resident *resident, const struct git__pack *pack,
                        struct git__extent extent);

#endif
