#include "store/contract/rows.h"

#include "base/assert.h"
#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

/*
 * A chain of blocks; the first is the one in use. Rows point into blocks, so a block never moves. Clearing
 * keeps only the largest block: a reader that pages through a store soon needs only one.
 */
struct ts_rows_memory {
    struct ts_rows_memory *next;
    size_t size;
    size_t used;
    uint8_t bytes[];
};

enum { FIRST_BLOCK = 4096, LARGEST_STEP = 4 << 20 };

static struct ts_rows_memory *block_with_room(struct ts_rows *rows, size_t len) {
    struct ts_rows_memory *block = rows->memory;
    if (block != NULL && block->size - block->used >= len)
        return block;
    size_t size = block == NULL ? FIRST_BLOCK : block->size < LARGEST_STEP ? 2 * block->size : LARGEST_STEP;
    if (size < len)
        size = len;
    struct ts_rows_memory *fresh = malloc(sizeof *fresh + size);
    if (fresh == NULL)
        return NULL;
    *fresh = (struct ts_rows_memory){.next = block, .size = size};
    rows->memory = fresh;
    return fresh;
}

static struct ts_bytes keep(struct ts_rows_memory *block, struct ts_bytes bytes) {
    uint8_t *to = block->bytes + block->used;
    if (bytes.len > 0)
        memcpy(to, bytes.data, bytes.len);
    block->used += bytes.len;
    return (struct ts_bytes){.data = to, .len = bytes.len};
}

bool store__rows_add(struct ts_rows *rows, const struct ts_row *row) {
    struct ts_rows_memory *block = block_with_room(rows, row->key.len + row->value.len);
    if (block == NULL || !TS_GROW(rows->rows, rows->capacity, rows->count + 1))
        return false;
    struct ts_bytes key = keep(block, row->key);
    struct ts_bytes value = keep(block, row->value);
    rows->rows[rows->count++] = (struct ts_row){.key = key, .value = value, .version = row->version};
    return true;
}

void ts_rows_clear(struct ts_rows *rows) {
    struct ts_rows_memory *largest = rows->memory;
    for (struct ts_rows_memory *block = rows->memory; block != NULL; block = block->next)
        if (block->size > largest->size)
            largest = block;
    for (struct ts_rows_memory *block = rows->memory, *next; block != NULL; block = next) {
        next = block->next;
        if (block != largest)
            free(block);
    }
    if (largest != NULL) {
        largest->next = NULL;
        largest->used = 0;
    }
    rows->memory = largest;
    rows->count = 0;
    rows->more = false;
}

void ts_rows_release(struct ts_rows *rows) {
    if (rows == NULL)
        return;
    ts_rows_clear(rows);
    free(rows->memory);
    free(rows->rows);
    *rows = (struct ts_rows){0};
}
