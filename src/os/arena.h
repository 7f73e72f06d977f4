/*
 * Memory that is freed all at once.
 */
#ifndef TS_OS_ARENA_H
#define TS_OS_ARENA_H

#include "base/bytes.h"

#include <stddef.h>

/* {0} is an empty arena. */
struct ts_arena {
    struct ts_arena_block *blocks; /* list of blocks, the newest first */
};

/* Returns zeroed memory, aligned for any type, that does not move. Returns NULL when memory runs out. */
void *ts_arena_take(struct ts_arena *arena, size_t size);

/* Like ts_arena_take, but the memory is neither zeroed nor aligned: for bytes that the caller writes at once. */
void *ts_arena_take_bytes(struct ts_arena *arena, size_t size);

/* Returns a copy of the bytes with a terminator, or NULL when memory runs out. */
char *ts_arena_copy(struct ts_arena *arena, struct ts_bytes bytes);

/* Frees everything, but keeps the newest block for reuse if it is not huge: an arena that is filled
 * repeatedly to about the same size soon allocates nothing. */
void ts_arena_clear(struct ts_arena *arena);
void ts_arena_release(struct ts_arena *arena);

#endif
