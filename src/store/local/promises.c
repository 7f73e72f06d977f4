#include "store/local/promises.h"

#include "base/assert.h"
#include "base/hash64.h"
#include "store/contract/rows.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 64 };

static size_t bucket_of(const char *gid, size_t bucket_count) {
    return ts_xxh64_of_bytes(ts_bytes_of_cstring(gid)) & (bucket_count - 1);
}

struct store__promise *store__promises_find(const struct store__promises *promises, const char *gid) {
    if (promises->count == 0)
        return NULL;
    struct store__promise *promise = promises->buckets[bucket_of(gid, promises->bucket_count)];
    while (promise != NULL && strcmp(promise->gid, gid) != 0)
        promise = promise->next;
    return promise;
}

bool store__promises_reserve(struct store__promises *promises) {
    if (promises->count < promises->bucket_count)
        return true;
    size_t bucket_count = promises->bucket_count == 0 ? FIRST_BUCKETS : 2 * promises->bucket_count;
    struct store__promise **buckets = calloc(bucket_count, sizeof(void *));
    if (buckets == NULL)
        return promises->bucket_count > 0;
    for (size_t i = 0; i < promises->bucket_count; i++) {
        for (struct store__promise *promise = promises->buckets[i], *next; promise != NULL; promise = next) {
            next = promise->next;
            struct store__promise **bucket = &buckets[bucket_of(promise->gid, bucket_count)];
            promise->next = *bucket;
            *bucket = promise;
        }
    }
    free(promises->buckets);
    promises->buckets = buckets;
    promises->bucket_count = bucket_count;
    return true;
}

void store__promises_add(struct store__promises *promises, struct store__promise *promise) {
    ts_assert(promises->bucket_count > 0);
    struct store__promise **bucket = &promises->buckets[bucket_of(promise->gid, promises->bucket_count)];
    promise->next = *bucket;
    *bucket = promise;
    promises->count++;
}

void store__promises_take(struct store__promises *promises, struct store__promise *promise) {
    struct store__promise **at = &promises->buckets[bucket_of(promise->gid, promises->bucket_count)];
    while (*at != promise)
        at = &(*at)->next;
    *at = promise->next;
    promise->next = NULL;
    promises->count--;
}

struct store__promise *store__promises_take_any(struct store__promises *promises) {
    for (size_t i = 0; i < promises->bucket_count; i++) {
        if (promises->buckets[i] != NULL) {
            struct store__promise *promise = promises->buckets[i];
            store__promises_take(promises, promise);
            return promise;
        }
    }
    return NULL;
}

static int compare_gids(const void *a, const void *b) {
    const struct store__promise *x = *(struct store__promise *const *)a,
                                *y = *(struct store__promise *const *)b;
    return strcmp(x->gid, y->gid);
}

bool store__promises_list(const struct store__promises *promises, struct ts_rows *rows) {
    if (promises->count == 0)
        return true;
    struct store__promise **sorted = malloc(promises->count * sizeof(void *));
    if (sorted == NULL)
        return false;
    size_t count = 0;
    for (size_t i = 0; i < promises->bucket_count; i++)
        for (struct store__promise *promise = promises->buckets[i]; promise != NULL; promise = promise->next)
            sorted[count++] = promise;
    qsort(sorted, count, sizeof(void *), compare_gids);
    bool fits = true;
    for (size_t i = 0; i < count && fits; i++) {
        const struct ts_row row = {.key = ts_bytes_of_cstring(sorted[i]->gid), .version = sorted[i]->time_ms};
        fits = store__rows_add(rows, &row);
    }
    free(sorted);
    return fits;
}

void store__promises_release(struct store__promises *promises) {
    ts_assert(promises->count == 0);
    free(promises->buckets);
    *promises = (struct store__promises){0};
}
