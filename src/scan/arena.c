#include "arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE ((size_t)64 << 10)

struct scan_arena_chunk {
    struct scan_arena_chunk *next;
    size_t size;
    size_t used;
    alignas(max_align_t) uint8_t bytes[];
};

static struct scan_arena_chunk *chunk_new(size_t size) {
    struct scan_arena_chunk *chunk = malloc(sizeof *chunk + size);
    if (chunk != NULL)
        *chunk = (struct scan_arena_chunk){.size = size};
    return chunk;
}

void *scan__arena_take(struct scan_arena *arena, size_t size) {
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    struct scan_arena_chunk *chunk = arena->chunks;
    if (chunk == NULL || chunk->size - chunk->used < size) {
        chunk = chunk_new(size > CHUNK_SIZE ? size : CHUNK_SIZE);
        if (chunk == NULL)
            return NULL;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    void *taken = memset(chunk->bytes + chunk->used, 0, size);
    chunk->used += size;
    return taken;
}

char *scan__arena_copy(struct scan_arena *arena, struct ts_bytes bytes) {
    char *copy = scan__arena_take(arena, bytes.len + 1);
    if (copy != NULL && bytes.len > 0)
        memcpy(copy, bytes.data, bytes.len);
    return copy;
}

void scan__arena_clear(struct scan_arena *arena) {
    struct scan_arena_chunk *kept = arena->chunks;
    if (kept == NULL)
        return;
    if (kept->next == NULL && kept->size == CHUNK_SIZE) {
        kept->used = 0;
        return;
    }
    scan__arena_release(arena);
}

void scan__arena_release(struct scan_arena *arena) {
    for (struct scan_arena_chunk *chunk = arena->chunks; chunk != NULL;) {
        struct scan_arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    arena->chunks = NULL;
}
