#include "store/contract/rows.h"

#include "os/arena.h"
#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

/* Memory of rows, which point into the arena. Clearing the rows keeps the newest block of the arena, so a
 * reader that pages through a store soon allocates nothing more. */
struct ts_rows_memory {
    struct ts_arena arena;
};

static bool has_memory(struct ts_rows *rows) {
    if (rows->memory == NULL)
        rows->memory = calloc(1, sizeof *rows->memory);
    return rows->memory != NULL;
}

static struct ts_bytes keep(uint8_t *to, struct ts_bytes bytes) {
    if (bytes.len > 0)
        memcpy(to, bytes.data, bytes.len);
    return (struct ts_bytes){.data = to, .len = bytes.len};
}

bool store__rows_add(struct ts_rows *rows, const struct ts_row *row) {
    if (!has_memory(rows) || !TS_GROW(rows->rows, rows->capacity, rows->count + 1))
        return false;
    uint8_t *to = ts_arena_take_bytes(&rows->memory->arena, row->key.len + row->value.len);
    if (to == NULL)
        return false;
    rows->rows[rows->count++] = (struct ts_row){
        .key = keep(to, row->key), .value = keep(to + row->key.len, row->value), .version = row->version};
    return true;
}

void ts_rows_clear(struct ts_rows *rows) {
    if (rows->memory != NULL)
        ts_arena_clear(&rows->memory->arena);
    rows->count = 0;
    rows->more = false;
}

void ts_rows_release(struct ts_rows *rows) {
    if (rows == NULL)
        return;
    if (rows->memory != NULL)
        ts_arena_release(&rows->memory->arena);
    free(rows->memory);
    free(rows->rows);
    *rows = (struct ts_rows){0};
}
