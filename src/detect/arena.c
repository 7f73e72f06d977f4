#include "arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 16384 };

struct detect_arena_block {
    struct detect_arena_block *next;
    size_t size;
    size_t used;
    alignas(max_align_t) unsigned char memory[];
};

void *detect__arena_take(struct detect_arena *arena, size_t size) {
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    struct detect_arena_block *block = arena->blocks;
    if (!block || block->size - block->used < size) {
        size_t wanted = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        block = calloc(1, sizeof *block + wanted);
        if (!block)
            return NULL;
        block->size = wanted;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *taken = block->memory + block->used;
    block->used += size;
    return taken;
}

char *detect__arena_copy(struct detect_arena *arena, struct ts_bytes text) {
    char *copy = detect__arena_take(arena, text.len + 1);
    if (copy && text.len > 0)
        memcpy(copy, text.data, text.len);
    return copy;
}

void detect__arena_release(struct detect_arena *arena) {
    while (arena->blocks) {
        struct detect_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}
