/*
 * Memory that is given back all at once.
 */
#ifndef TS_SCAN_ARENA_H
#define TS_SCAN_ARENA_H

#include "base/bytes.h"

#include <stddef.h>

struct scan_arena_chunk;

/* {0} is an empty one. */
struct scan_arena {
    struct scan_arena_chunk *chunks;
};

/* Zeroed, aligned for anything. NULL when there is no memory. */
void *scan__arena_take(struct scan_arena *arena, size_t size);

/* A copy with a terminator behind it. NULL when there is no memory. */
char *scan__arena_copy(struct scan_arena *arena, struct ts_bytes bytes);

/* Forgets everything, and keeps one chunk for what comes next. */
void scan__arena_clear(struct scan_arena *arena);
void scan__arena_release(struct scan_arena *arena);

#endif
