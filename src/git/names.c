#include "names.h"

#include "git/object.h"
#include "os/grow.h"

#include "base/endian.h"
#include "file.h"
#include "numbers.h"
#include "os/entropy.h"

#include <stdlib.h>
#include <string.h>

void git__names_init(struct git__names *names) {
    *names = (struct git__names){.count = 0};
    pthread_mutex_init(&names->lock, NULL);
    if (!ts_entropy_fill(names->seed, sizeof names->seed))
        memset(names->seed, 0, sizeof names->seed); /* without a random seed, hostile names only cost time */
}

void git__names_release(struct git__names *names) {
    ts_arena_release(&names->bytes);
    free(names->items);
    free(names->slots);
    pthread_mutex_destroy(&names->lock);
}

static uint64_t fold(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(const struct git__names *names, struct ts_bytes name, uint32_t mode) {
    uint64_t hash = fold(names->seed[0] ^ mode, UINT64_C(0x9e3779b97f4a7c15) ^ name.len);
    size_t at = 0;
    for (; name.len - at >= 8; at += 8)
        hash = fold(ts_le64_load(name.data + at) ^ names->seed[1], hash ^ names->seed[0]);
    uint64_t last = 0;
    for (size_t i = at; i < name.len; i++)
        last = last << 8 | name.data[i];
    return fold(last ^ names->seed[1], hash ^ UINT64_C(0xbf58476d1ce4e5b9));
}

static bool is_name(const struct git__name *item, struct ts_bytes name, uint32_t mode) {
    return item->mode == mode && item->len == name.len && memcmp(item->bytes, name.data, name.len) == 0;
}

static bool grow_slots(struct git__names *names) {
    size_t larger = names->slot_count == 0 ? 1024 : names->slot_count * 2;
    uint32_t *slots = malloc(larger * sizeof *slots);
    if (slots == NULL)
        return false;
    memset(slots, 0xff, larger * sizeof *slots);
    for (size_t i = 0; i < names->count; i++) {
        const struct git__name *item = &names->items[i];
        size_t slot = (size_t)hash_of(names, ts_bytes_of(item->bytes, item->len), item->mode) & (larger - 1);
        while (slots[slot] != GIT__NONE)
            slot = (slot + 1) & (larger - 1);
        slots[slot] = (uint32_t)i;
    }
    free(names->slots);
    names->slots = slots;
    names->slot_count = larger;
    return true;
}

/* Returns the number of the name, which is added if it is new; UINT32_MAX when memory runs out. The caller
 * holds the lock. */
static uint32_t find_or_add(struct git__names *names, uint64_t hash, struct ts_bytes name, uint32_t mode,
                            size_t *ret_bytes) {
    if (names->count * 2 >= names->slot_count && !grow_slots(names))
        return GIT__NONE;
    size_t slot = (size_t)hash & (names->slot_count - 1);
    for (; names->slots[slot] != GIT__NONE; slot = (slot + 1) & (names->slot_count - 1))
        if (is_name(&names->items[names->slots[slot]], name, mode))
            return names->slots[slot];
    if (names->count >= GIT__NONE / 2 || name.len > UINT32_MAX ||
        !TS_GROW(names->items, names->capacity, names->count + 1))
        return GIT__NONE;
    uint8_t *bytes = ts_arena_take_bytes(&names->bytes, name.len);
    if (bytes == NULL)
        return GIT__NONE;
    memcpy(bytes, name.data, name.len);
    names->items[names->count] = (struct git__name){.bytes = bytes, .len = (uint32_t)name.len, .mode = mode};
    names->slots[slot] = (uint32_t)names->count;
    *ret_bytes = name.len + GIT__NAME_BYTES;
    return (uint32_t)names->count++;
}

uint32_t git__names_add(struct git__names *names, struct git__name_cache *cache, struct ts_bytes name,
                        uint32_t mode, size_t *ret_bytes) {
    uint64_t hash = hash_of(names, name, mode);
    struct git__name_known *known = &cache->known[hash >> 32 & (GIT__NAMES_LATELY - 1)];
    *ret_bytes = 0;
    if (known->bytes != NULL && known->hash == hash && known->mode == mode && known->len == name.len &&
        memcmp(known->bytes, name.data, name.len) == 0)
        return known->number;
    pthread_mutex_lock(&names->lock);
    uint32_t number = find_or_add(names, hash, name, mode, ret_bytes);
    const uint8_t *bytes = number != GIT__NONE ? names->items[number].bytes : NULL;
    pthread_mutex_unlock(&names->lock);
    *known = (struct git__name_known){
        .hash = hash, .bytes = bytes, .len = (uint32_t)name.len, .mode = mode, .number = number};
    return number;
}

/* ---- ranks ---- */

/* Compares names as git sorts trees: the name of a folder counts as if it ended with a slash. */
static int compare_names(const struct git__name *a, const struct git__name *b) {
    uint32_t common = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->bytes, b->bytes, common);
    if (order != 0)
        return order;
    int a_next = a->len > common ? a->bytes[common] : ts_git_mode_is_tree(a->mode) ? '/' : 0;
    int b_next = b->len > common ? b->bytes[common] : ts_git_mode_is_tree(b->mode) ? '/' : 0;
    return (a_next > b_next) - (a_next < b_next);
}

struct place {
    struct git__name *name;
};

static int compare_places(const void *a, const void *b) {
    return compare_names(((const struct place *)a)->name, ((const struct place *)b)->name);
}

bool git__names_rank(struct git__names *names) {
    struct place *sorted = malloc((names->count + 1) * sizeof *sorted);
    if (sorted == NULL)
        return false;
    for (size_t i = 0; i < names->count; i++)
        sorted[i].name = &names->items[i];
    qsort(sorted, names->count, sizeof *sorted, compare_places);
    for (size_t i = 0; i < names->count; i++) {
        bool is_same = i > 0 && compare_names(sorted[i - 1].name, sorted[i].name) == 0;
        sorted[i].name->rank = is_same ? sorted[i - 1].name->rank : (uint32_t)i;
    }
    free(sorted);
    return true;
}
