/*
 * Memory that is freed all at once.
 */
#ifndef TS_SCAN_ARENA_H
#define TS_SCAN_ARENA_H

#include "base/bytes.h"

#include <stddef.h>

struct scan_arena_chunk;

/* {0} is empty. */
struct scan_arena {
    struct scan_arena_chunk *chunks;
};

/* Zeroed, with any alignment. Returns NULL when memory runs out. */
void *scan__arena_take(struct scan_arena *arena, size_t size);

/* A copy with a terminator. Returns NULL when memory runs out. */
char *scan__arena_copy(struct scan_arena *arena, struct ts_bytes bytes);

/* Frees everything, except for one chunk that is reused. */
void scan__arena_clear(struct scan_arena *arena);
void scan__arena_release(struct scan_arena *arena);

#endif
