/*
 * The copies that a delta makes from its base: a list, sorted by their position in the result. The bytes
 * between them were inserted. Copies with adjacent sources are merged, so no two neighbouring copies continue
 * each other.
 */
#ifndef TS_GIT_COPY_H
#define TS_GIT_COPY_H

#include <stdint.h>

struct ts_git_copy {
    uint64_t at;   /* offset in the result */
    uint64_t from; /* offset in the base */
    uint64_t len;  /* at least 1 */
};

#endif
