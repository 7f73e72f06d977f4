/*
 * What a delta takes over from its base: a list of copies, sorted by where they stand in the result. What
 * lies between them was inserted. Neighbours whose sources touch are one copy, so every end of a copy is a
 * seam.
 */
#ifndef TS_GIT_COPY_H
#define TS_GIT_COPY_H

#include <stdint.h>

struct ts_git_copy {
    uint64_t at;   /* in the result */
    uint64_t from; /* in the base */
    uint64_t len;  /* at least 1 */
};

#endif
