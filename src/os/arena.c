#include "os/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Size of the first block. Each further block is twice as large as the block before, up to largest_step or
 * the size of one large piece, so that many small pieces take few blocks. */
static const size_t first_size = (size_t)16 << 10;
static const size_t largest_step = (size_t)1 << 20;

struct ts_arena_block {
    struct ts_arena_block *next;
    size_t size;
    size_t used;
    alignas(max_align_t) uint8_t bytes[];
};

static struct ts_arena_block *block_with_room(struct ts_arena *arena, size_t size) {
    struct ts_arena_block *block = arena->blocks;
    if (block != NULL && block->size - block->used >= size)
        return block;
    size_t wanted = block == NULL ? first_size : block->size < largest_step ? 2 * block->size : largest_step;
    if (wanted < size)
        wanted = size;
    struct ts_arena_block *fresh = malloc(sizeof *fresh + wanted);
    if (fresh == NULL)
        return NULL;
    *fresh = (struct ts_arena_block){.next = block, .size = wanted};
    arena->blocks = fresh;
    return fresh;
}

void *ts_arena_take_bytes(struct ts_arena *arena, size_t size) {
    struct ts_arena_block *block = size <= SIZE_MAX / 2 ? block_with_room(arena, size) : NULL;
    if (block == NULL)
        return NULL;
    void *taken = block->bytes + block->used;
    block->used += size;
    return taken;
}

void *ts_arena_take(struct ts_arena *arena, size_t size) {
    const size_t unit = alignof(max_align_t);
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + unit - 1) & ~(unit - 1);
    struct ts_arena_block *block = block_with_room(arena, size + unit - 1);
    if (block == NULL)
        return NULL;
    size_t at = (block->used + unit - 1) & ~(unit - 1);
    block->used = at + size;
    return memset(block->bytes + at, 0, size);
}

char *ts_arena_copy(struct ts_arena *arena, struct ts_bytes bytes) {
    char *copy = ts_arena_take(arena, bytes.len + 1);
    if (copy != NULL && bytes.len > 0)
        memcpy(copy, bytes.data, bytes.len);
    return copy;
}

static void free_blocks(struct ts_arena_block *block) {
    while (block != NULL) {
        struct ts_arena_block *next = block->next;
        free(block);
        block = next;
    }
}

void ts_arena_clear(struct ts_arena *arena) {
    struct ts_arena_block *kept = arena->blocks;
    if (kept == NULL)
        return;
    if (kept->size > largest_step) {
        ts_arena_release(arena);
        return;
    }
    free_blocks(kept->next);
    kept->next = NULL;
    kept->used = 0;
}

void ts_arena_release(struct ts_arena *arena) {
    free_blocks(arena->blocks);
    arena->blocks = NULL;
}
