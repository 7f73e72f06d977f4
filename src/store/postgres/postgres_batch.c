/*
 * Sorts the keys of a batch, and encodes the batch as seven arrays of PostgreSQL in binary form. Each array
 * has one element for each key, in the order of the keys.
 *
 * An array is, in big-endian numbers of 4 bytes: dimensions (1, or 0 when empty), whether there are nulls,
 * the type of an element, then count and first index; then for each element its length, -1 for a null, and
 * its bytes.
 */
#include "store/postgres/postgres.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/endian.h"
#include "base/hash64.h"

#include <stdlib.h>
#include <string.h>

/* A batch with more keys than this takes no advisory locks, because the server has room for only 64 locks in
 * a transaction. */
enum { QUEUES_MAX = 32 };

enum { ARRAY_HEAD = 20, BYTEA_TYPE = 17, INT8_TYPE = 20, INT2_TYPE = 21 };

/* The kinds of operations, with their numbers in the statement. */
enum { KIND_CHECK = 0, KIND_PUT = 1, KIND_DEL = 2, KIND_ADD = 3 };

struct ts_bytes postgres__entry_key(const struct postgres_entry *entry) {
    return entry->check != NULL ? entry->check->key : entry->write->key;
}

int64_t postgres__entry_queue(const struct postgres_entry *entry) {
    return (int64_t)ts_xxh64_of_bytes(postgres__entry_key(entry));
}

/* Compares operations by key, then by position. */
static int compare_ops(const void *a, const void *b) {
    const struct ts_op *x = *(const struct ts_op *const *)a, *y = *(const struct ts_op *const *)b;
    int order = ts_bytes_compare(x->key, y->key);
    return order != 0 ? order : (x > y) - (x < y);
}

/* Returns an array with one entry for each key, in order; the caller frees it. Returns NULL when memory runs
 * out. */
static struct postgres_entry *entries_of(const struct ts_batch *batch, size_t *ret_count) {
    const struct ts_op **sorted = malloc((batch->count + 1) * sizeof(struct ts_op *));
    struct postgres_entry *entries = calloc(batch->count + 1, sizeof *entries);
    if (sorted == NULL || entries == NULL) {
        free(sorted);
        free(entries);
        return NULL;
    }
    size_t op_count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->ops[i].kind != TS_OP_BEFORE)
            sorted[op_count++] = &batch->ops[i];
    qsort(sorted, op_count, sizeof(struct ts_op *), compare_ops);
    size_t count = 0;
    for (size_t i = 0; i < op_count; i++) {
        if (i == 0 || !ts_bytes_equal(sorted[i - 1]->key, sorted[i]->key))
            count++;
        if (sorted[i]->kind == TS_OP_CHECK)
            entries[count - 1].check = sorted[i];
        else
            entries[count - 1].write = sorted[i];
    }
    free(sorted);
    *ret_count = count;
    return entries;
}

static uint8_t *put_u32(uint8_t *to, uint32_t value) {
    ts_be32_store(value, to);
    return to + 4;
}

static uint8_t *put_head(uint8_t *to, uint32_t element_type, size_t count) {
    to = put_u32(to, count > 0 ? 1 : 0);
    to = put_u32(to, 1);
    to = put_u32(to, element_type);
    if (count == 0)
        return to;
    to = put_u32(to, (uint32_t)count);
    return put_u32(to, 1);
}

static uint8_t *put_bytes(uint8_t *to, struct ts_bytes bytes) {
    to = put_u32(to, (uint32_t)bytes.len);
    if (bytes.len > 0)
        memcpy(to, bytes.data, bytes.len);
    return to + bytes.len;
}

static uint8_t *put_null(uint8_t *to) {
    return put_u32(to, UINT32_MAX);
}

static uint8_t *put_i64(uint8_t *to, int64_t value) {
    to = put_u32(to, 8);
    ts_be64_store((uint64_t)value, to);
    return to + 8;
}

static uint16_t kind_of(const struct postgres_entry *entry) {
    if (entry->write == NULL)
        return KIND_CHECK;
    switch (entry->write->kind) {
    case TS_OP_PUT:
        return KIND_PUT;
    case TS_OP_DEL:
        return KIND_DEL;
    case TS_OP_ADD:
        return KIND_ADD;
    case TS_OP_CHECK:
    case TS_OP_BEFORE:
        break;
    }
    ts_unreachable("checks are not writes");
}

int64_t postgres__entry_want(const struct postgres_entry *entry) {
    if (entry->check == NULL)
        return -1;
    return entry->check->version > INT64_MAX ? INT64_MAX : (int64_t)entry->check->version;
}

static size_t size_of(const struct postgres_entry *entries, size_t count) {
    size_t size = (size_t)8 * ARRAY_HEAD;
    for (size_t i = 0; i < count; i++) {
        /* Deleted keys appear a second time, in `swept`. */
        size += 2 * (4 + postgres__entry_key(&entries[i]).len);
        size += 4 * (4 + 8) + (4 + 2) + 4;
        if (entries[i].write != NULL && entries[i].write->kind == TS_OP_PUT)
            size += entries[i].write->value.len;
    }
    return size;
}

uint64_t postgres__batch_before_ms(const struct ts_batch *batch) {
    uint64_t before_ms = UINT64_MAX;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->ops[i].kind == TS_OP_BEFORE && batch->ops[i].time_ms < before_ms)
            before_ms = batch->ops[i].time_ms;
    return before_ms;
}

/* Returns the position of the key, or the position at which to insert it. */
static size_t place_of(const struct postgres_entry *entries, size_t count, struct ts_bytes key) {
    size_t at = 0;
    while (at < count && ts_bytes_compare(postgres__entry_key(&entries[at]), key) < 0)
        at++;
    return at;
}

size_t postgres__batch_few(const struct ts_batch *batch,
                           struct postgres_entry ret_entries[static POSTGRES_FEW_MAX]) {
    size_t count = 0, bytes = 0;
    if (batch->count > 3 * (size_t)POSTGRES_FEW_MAX)
        return 0;
    for (size_t i = 0; i < batch->count; i++) {
        const struct ts_op *op = &batch->ops[i];
        if (op->kind == TS_OP_BEFORE)
            continue;
        bytes += op->key.len + op->value.len;
        if ((op->kind != TS_OP_CHECK && op->kind != TS_OP_PUT) || bytes > POSTGRES_FEW_BYTES_MAX)
            return 0;
        size_t at = place_of(ret_entries, count, op->key);
        if (at == count || !ts_bytes_equal(postgres__entry_key(&ret_entries[at]), op->key)) {
            if (count == POSTGRES_FEW_MAX)
                return 0;
            memmove(&ret_entries[at + 1], &ret_entries[at], (count - at) * sizeof ret_entries[0]);
            ret_entries[at] = (struct postgres_entry){0};
            count++;
        }
        if (op->kind == TS_OP_CHECK)
            ret_entries[at].check = op;
        else
            ret_entries[at].write = op;
    }
    return count;
}

bool postgres__batch_encode(const struct ts_batch *batch, struct postgres_batch *ret_batch) {
    size_t count;
    struct postgres_entry *entries = entries_of(batch, &count);
    if (entries == NULL)
        return false;
    struct postgres_batch encoded = {.memory = malloc(size_of(entries, count)), .is_puts = true};
    if (encoded.memory == NULL) {
        free(entries);
        return false;
    }
    static const uint32_t types[] = {BYTEA_TYPE, INT8_TYPE, INT2_TYPE, BYTEA_TYPE,
                                     INT8_TYPE,  INT8_TYPE, INT8_TYPE};
    uint8_t *to = encoded.memory;
    for (size_t array = 0; array < sizeof types / sizeof types[0]; array++) {
        uint8_t *start = to;
        to = put_head(to, types[array], count);
        for (size_t i = 0; i < count; i++) {
            const struct postgres_entry *entry = &entries[i];
            const struct ts_op *write = entry->write;
            if (array == 0) {
                to = put_bytes(to, postgres__entry_key(entry));
            } else if (array == 1) {
                to = put_i64(to, postgres__entry_want(entry));
            } else if (array == 2) {
                to = put_u32(to, 2);
                ts_be16_store(kind_of(entry), to);
                to += 2;
            } else if (array == 3) {
                to = write != NULL && write->kind == TS_OP_PUT ? put_bytes(to, write->value) : put_null(to);
            } else if (array == 6) {
                to = count <= QUEUES_MAX ? put_i64(to, postgres__entry_queue(entry)) : put_null(to);
            } else if (write != NULL && write->kind == TS_OP_ADD) {
                to = put_i64(to, array == 4 ? write->delta : (int64_t)write->max);
            } else {
                to = put_null(to);
            }
        }
        encoded.arrays[array] = ts_bytes_of(start, (size_t)(to - start));
    }
    size_t swept = 0;
    for (size_t i = 0; i < count; i++) {
        uint16_t kind = kind_of(&entries[i]);
        swept += kind == KIND_DEL;
        encoded.is_puts &= entries[i].check == NULL && kind == KIND_PUT;
    }
    if (swept > 0) {
        uint8_t *start = to;
        to = put_head(to, BYTEA_TYPE, swept);
        for (size_t i = 0; i < count; i++)
            if (kind_of(&entries[i]) == KIND_DEL)
                to = put_bytes(to, postgres__entry_key(&entries[i]));
        encoded.swept = ts_bytes_of(start, (size_t)(to - start));
    }
    free(entries);
    *ret_batch = encoded;
    return true;
}

void postgres__batch_release(struct postgres_batch *batch) {
    if (batch == NULL)
        return;
    free(batch->memory);
    *batch = (struct postgres_batch){0};
}

bool postgres__keys_encode(const struct ts_bytes *keys, size_t count, uint8_t **ret_memory,
                           struct ts_bytes *ret) {
    size_t size = ARRAY_HEAD;
    for (size_t i = 0; i < count; i++)
        size += 4 + keys[i].len;
    uint8_t *memory = malloc(size);
    if (memory == NULL)
        return false;
    uint8_t *to = put_head(memory, BYTEA_TYPE, count);
    for (size_t i = 0; i < count; i++)
        to = put_bytes(to, keys[i]);
    *ret_memory = memory;
    *ret = ts_bytes_of(memory, (size_t)(to - memory));
    return true;
}

size_t postgres__batch_op_of(const struct ts_batch *batch, uint64_t n, bool is_check) {
    size_t count = 0, op = SIZE_MAX;
    struct postgres_entry *entries = entries_of(batch, &count);
    if (entries != NULL && n > 0 && n <= count) {
        const struct ts_op *found = is_check ? entries[n - 1].check : entries[n - 1].write;
        if (found != NULL)
            op = (size_t)(found - batch->ops);
    }
    free(entries);
    return op;
}
