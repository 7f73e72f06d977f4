/*
 * Memory that is freed all at once: the texts and tables of a rule set or a configuration.
 */
#ifndef TS_DETECT_ARENA_H
#define TS_DETECT_ARENA_H

#include "base/bytes.h"

#include <stddef.h>

struct detect_arena {
    struct detect_arena_block *blocks;
};

/* Zeroed memory with any alignment; NULL when memory runs out. */
void *detect__arena_take(struct detect_arena *arena, size_t size);

/* A copy with a terminator, or NULL. */
char *detect__arena_copy(struct detect_arena *arena, struct ts_bytes text);

void detect__arena_release(struct detect_arena *arena);

#endif
