#include "numbers.h"

#include "base/assert.h"
#include "base/endian.h"
#include "os/entropy.h"
#include "os/grow.h"
#include "repo_impl.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int compare_loose(const void *a, const void *b) {
    const struct git__loose_object *x = a;
    const struct git__loose_object *y = b;
    int order = ts_git_oid_compare(&x->oid, &y->oid);
    return order != 0 ? order : (x->object_dir > y->object_dir) - (x->object_dir < y->object_dir);
}

struct loose_list {
    struct git__loose_object *items;
    size_t count;
    size_t capacity;
};

/* Keeps a fault. git__numbers_fill reports it to the first sink that a caller passes. Returns false when
 * memory runs out. */
static bool keep_fault(struct git__numbers *numbers, const struct ts_git_fault *fault) {
    if (!TS_GROW(numbers->faults, numbers->fault_capacity, numbers->fault_count + 1))
        return false;
    numbers->faults[numbers->fault_count++] = *fault;
    return true;
}

static void tell_faults(struct git__numbers *numbers, const struct ts_git_fault_sink *sink) {
    if (sink == NULL || sink->take == NULL)
        return;
    for (size_t i = 0; i < numbers->fault_count; i++)
        git__fault_send(sink, &numbers->faults[i]);
    numbers->fault_count = 0;
}

/* Lists the objects of objects/<two digits>. Names that are not ids, such as temporary files, are ignored. */
static enum ts_git_error list_fan(struct ts_git_repo *repo, uint32_t object_dir, unsigned fan,
                                  struct loose_list *list, struct ts_git_fault *ret_fault) {
    char hex[TS_GIT_OID_HEX_SIZE];
    (void)snprintf(hex, sizeof hex, "%02x", fan);
    char *path = git__path_join(repo->object_dirs[object_dir], hex);
    if (path == NULL)
        return git__fault(TS_GIT_NO_MEMORY, NULL, ret_fault);
    char **names = NULL;
    size_t name_count = 0;
    struct ts_git_fault fault;
    enum ts_git_error error = git__list_dir(path, "", &names, &name_count, &fault);
    free(path);
    if (error == TS_GIT_NO_MEMORY || (error != TS_GIT_OK && !keep_fault(&repo->numbers, &fault)))
        return git__fault(TS_GIT_NO_MEMORY, NULL, ret_fault);
    error = TS_GIT_OK;
    size_t rest = 2 * ts_git_hash_len(repo->hash) - 2;
    for (size_t i = 0; error == TS_GIT_OK && i < name_count; i++) {
        struct ts_git_oid oid;
        if (strlen(names[i]) != rest)
            continue;
        memcpy(hex + 2, names[i], rest + 1);
        if (!ts_git_oid_parse(repo->hash, ts_bytes_of_cstring(hex), &oid))
            continue;
        if (!TS_GROW(list->items, list->capacity, list->count + 1))
            error = git__fault(TS_GIT_NO_MEMORY, NULL, ret_fault);
        else
            list->items[list->count++] = (struct git__loose_object){.oid = oid, .object_dir = object_dir};
    }
    git__free_names(names, name_count);
    return error;
}

/* Lists all loose objects of an objects folder. If the folder cannot be accessed, keeps one fault, instead of
 * one for each folder in it. */
static enum ts_git_error list_folder(struct ts_git_repo *repo, uint32_t object_dir, struct loose_list *list,
                                     struct ts_git_fault *ret_fault) {
    struct stat status;
    struct ts_git_fault fault;
    enum ts_git_error error = TS_GIT_OK;
    char *path = git__path_join(repo->object_dirs[object_dir], ".");
    if (path == NULL)
        return git__fault(TS_GIT_NO_MEMORY, NULL, ret_fault);
    if (stat(path, &status) != 0) {
        (void)git__fault(TS_GIT_IO, repo->object_dirs[object_dir], &fault);
        error =
            keep_fault(&repo->numbers, &fault) ? TS_GIT_OK : git__fault(TS_GIT_NO_MEMORY, NULL, ret_fault);
    } else {
        for (unsigned fan = 0; fan < 256 && error == TS_GIT_OK; fan++)
            error = list_fan(repo, object_dir, fan, list, ret_fault);
    }
    free(path);
    return error;
}

enum ts_git_error git__loose_fill(struct ts_git_repo *repo, struct ts_git_fault *ret_fault) {
    struct loose_list list = {.items = NULL};
    enum ts_git_error error = TS_GIT_OK;
    if (repo->numbers.is_loose_filled)
        return TS_GIT_OK;
    for (uint32_t dir = 0; dir < repo->object_dir_count && error == TS_GIT_OK; dir++)
        error = list_folder(repo, dir, &list, ret_fault);
    if (error == TS_GIT_OK && list.count >= GIT__NONE)
        error = git__fault(TS_GIT_TOO_MANY, repo->common_dir, ret_fault);
    if (error != TS_GIT_OK) {
        free(list.items);
        return error;
    }
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, compare_loose);
    repo->numbers.loose = list.items;
    repo->numbers.loose_count = (uint32_t)list.count;
    repo->numbers.is_loose_filled = true;
    return TS_GIT_OK;
}

static int compare_loose_ids(const void *a, const void *b) {
    return ts_git_oid_compare(a, &((const struct git__loose_object *)b)->oid);
}

bool git__loose_is_listed(const struct ts_git_repo *repo, const struct ts_git_oid *oid) {
    const struct git__numbers *numbers = &repo->numbers;
    ts_assert(numbers->is_loose_filled);
    return numbers->loose_count > 0 && bsearch(oid, numbers->loose, numbers->loose_count,
                                               sizeof *numbers->loose, compare_loose_ids) != NULL;
}

/* Returns the hash of an id. Uses a random seed, so that the author of a hostile index cannot choose ids that
 * collide. */
static uint64_t hash_of(const struct git__numbers *numbers, const uint8_t *id) {
    uint64_t mixed = (ts_le64_load(id) ^ numbers->seed[0]) * UINT64_C(0x9e3779b97f4a7c15);
    return ((mixed ^ mixed >> 32) ^ ts_le64_load(id + 8) ^ numbers->seed[1]) * UINT64_C(0xbf58476d1ce4e5b9);
}

static uint32_t slot_of(const struct git__numbers *numbers, uint64_t hash) {
    return (uint32_t)(hash >> 32) & numbers->mask;
}

/* Returns the bits of the hash that a slot holds above the number. These bits are well mixed, and the slot's
 * index rarely uses them. */
static uint32_t tag_of(const struct git__numbers *numbers, uint64_t hash) {
    return (uint32_t)(hash >> 32 ^ hash >> 11) >> numbers->number_bits << numbers->number_bits;
}

static uint32_t number_in(const struct git__numbers *numbers, uint32_t slot) {
    return slot & ((UINT32_C(1) << numbers->number_bits) - 1);
}

/* Returns the next slot, from `slot` on, that is free or may have this hash. */
static uint32_t next_likely(const struct git__numbers *numbers, uint32_t slot, uint32_t tag) {
    while (numbers->slots[slot] != GIT__NONE &&
           numbers->slots[slot] >> numbers->number_bits != tag >> numbers->number_bits)
        slot = (slot + 1) & numbers->mask;
    return slot;
}

/* Returns the slot of an id, or the free slot for it. The search begins at `slot`. */
static uint32_t find_slot(const struct ts_git_repo *repo, uint32_t slot, uint32_t tag, const uint8_t *id) {
    const struct git__numbers *numbers = &repo->numbers;
    size_t len = ts_git_hash_len(repo->hash);
    while (numbers->slots[slot] != GIT__NONE &&
           memcmp(git__number_id(repo, number_in(numbers, numbers->slots[slot])), id, len) != 0)
        slot = next_likely(numbers, (slot + 1) & numbers->mask, tag);
    return slot;
}

/* Adds an id to the table. If the table has the id already, keeps the lower number. */
static void insert(struct ts_git_repo *repo, uint32_t number, const uint8_t *id) {
    struct git__numbers *numbers = &repo->numbers;
    uint64_t hash = hash_of(numbers, id);
    uint32_t tag = tag_of(numbers, hash);
    uint32_t slot = find_slot(repo, next_likely(numbers, slot_of(numbers, hash), tag), tag, id);
    if (numbers->slots[slot] != GIT__NONE)
        numbers->copies[number / 64] |= UINT64_C(1) << (number % 64);
    else
        numbers->slots[slot] = tag | number;
}

#define INSERT_AHEAD 8 /* slots to prefetch, so that memory accesses overlap */

static void expect_slot(const struct git__numbers *numbers, const uint8_t *id) {
    __builtin_prefetch(&numbers->slots[slot_of(numbers, hash_of(numbers, id))], 1);
}

/* Returns false when memory runs out. */
static bool insert_all(struct ts_git_repo *repo) {
    size_t len = ts_git_hash_len(repo->hash);
    for (size_t i = 0; i < repo->pack_count; i++) {
        const struct git__pack_index *index = &repo->packs[i].index;
        bool is_sorted = true;
        for (uint32_t p = 0; p < index->count; p++) {
            const uint8_t *id = git__pack_index_id(index, p);
            if (p + INSERT_AHEAD < index->count)
                expect_slot(&repo->numbers, git__pack_index_id(index, p + INSERT_AHEAD));
            is_sorted = is_sorted && (p == 0 || memcmp(id - index->id_step, id, len) < 0);
            insert(repo, repo->numbers.pack_first[i] + p, id);
        }
        if (!is_sorted || !git__pack_index_fanout_fits(index)) {
            struct ts_git_fault fault;
            (void)git__fault(TS_GIT_BAD_FILE, git__pack_name(&repo->packs[i]), &fault);
            if (!keep_fault(&repo->numbers, &fault))
                return false;
        }
    }
    for (uint32_t p = 0; p < repo->numbers.loose_count; p++)
        insert(repo, repo->numbers.pack_first[repo->pack_count] + p, repo->numbers.loose[p].oid.bytes);
    return true;
}

enum ts_git_error git__numbers_fill(struct ts_git_repo *repo, const struct ts_git_fault_sink *faults,
                                    struct ts_git_fault *ret_fault) {
    struct git__numbers *numbers = &repo->numbers;
    if (numbers->is_filled) {
        tell_faults(numbers, faults);
        return TS_GIT_OK;
    }
    enum ts_git_error error = git__loose_fill(repo, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    uint64_t total = 0;
    numbers->pack_first = calloc(repo->pack_count + 1, sizeof *numbers->pack_first);
    if (numbers->pack_first == NULL)
        goto no_memory;
    for (size_t i = 0; i <= repo->pack_count; i++) {
        if (total + numbers->loose_count >= GIT__NONE / 2) {
            git__numbers_release(numbers);
            return git__fault(TS_GIT_TOO_MANY, repo->common_dir, ret_fault);
        }
        numbers->pack_first[i] = (uint32_t)total;
        if (i < repo->pack_count)
            total += repo->packs[i].index.count;
    }
    total += numbers->loose_count;
    numbers->total = (uint32_t)total;
    uint32_t size = 16;
    while (size < total + total / 2)
        size *= 2;
    numbers->mask = size - 1;
    numbers->number_bits = 1; /* a slot with all bits set is free: no number has all its bits set */
    while ((UINT32_C(1) << numbers->number_bits) <= numbers->total)
        numbers->number_bits++;
    /* Without a random seed, hostile ids only make the table slower. */
    if (!ts_entropy_fill(numbers->seed, sizeof numbers->seed))
        memset(numbers->seed, 0, sizeof numbers->seed);
    numbers->slots = git__table_new(size, sizeof *numbers->slots);
    numbers->copies = calloc((size_t)total / 64 + 1, sizeof *numbers->copies);
    if (numbers->slots == NULL || numbers->copies == NULL)
        goto no_memory;
    memset(numbers->slots, 0xff, (size_t)size * sizeof *numbers->slots);
    if (!insert_all(repo))
        goto no_memory;
    numbers->is_filled = true;
    tell_faults(numbers, faults);
    return TS_GIT_OK;
no_memory:
    git__numbers_release(numbers);
    return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
}

void git__numbers_release(struct git__numbers *numbers) {
    free(numbers->pack_first);
    free(numbers->loose);
    free(numbers->slots);
    free(numbers->copies);
    free(numbers->faults);
    *numbers = (struct git__numbers){.is_filled = false};
}

uint32_t git__number_of(const struct ts_git_repo *repo, const uint8_t *id) {
    uint32_t number;
    git__numbers_of(repo, &id, 1, &number);
    return number;
}

#define AT_ONCE 16

/* Works in three rounds (slots, ids, comparisons). Each round uses memory that the previous round has
 * prefetched. */
static void find_numbers(const struct ts_git_repo *repo, const uint8_t *const *ids, size_t count,
                         uint32_t *ret_numbers) {
    const struct git__numbers *numbers = &repo->numbers;
    size_t len = ts_git_hash_len(repo->hash);
    uint32_t slots[AT_ONCE];
    uint32_t tags[AT_ONCE];
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = hash_of(numbers, ids[i]);
        slots[i] = slot_of(numbers, hash);
        tags[i] = tag_of(numbers, hash);
        __builtin_prefetch(&numbers->slots[slots[i]]);
    }
    for (size_t i = 0; i < count; i++) {
        slots[i] = next_likely(numbers, slots[i], tags[i]);
        if (numbers->slots[slots[i]] != GIT__NONE) {
            const uint8_t *id = git__number_id(repo, number_in(numbers, numbers->slots[slots[i]]));
            __builtin_prefetch(id);
            __builtin_prefetch(id + len - 1);
        }
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t found = numbers->slots[find_slot(repo, slots[i], tags[i], ids[i])];
        ret_numbers[i] = found != GIT__NONE ? number_in(numbers, found) : GIT__NONE;
    }
}

void git__numbers_of(const struct ts_git_repo *repo, const uint8_t *const *ids, size_t count,
                     uint32_t *ret_numbers) {
    ts_assert(repo->numbers.is_filled);
    for (size_t at = 0; at < count; at += AT_ONCE)
        find_numbers(repo, ids + at, count - at < AT_ONCE ? count - at : AT_ONCE, ret_numbers + at);
}

bool git__number_is_copy(const struct ts_git_repo *repo, uint32_t number) {
    return (repo->numbers.copies[number / 64] >> (number % 64) & 1) != 0;
}

struct git__spot git__number_spot(const struct ts_git_repo *repo, uint32_t number) {
    const uint32_t *first = repo->numbers.pack_first;
    size_t low = 0;
    size_t high = repo->pack_count;
    if (number >= first[high])
        return (struct git__spot){GIT__NONE, number - first[high]};
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (first[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    return (struct git__spot){(uint32_t)low, number - first[low]};
}

const uint8_t *git__number_id(const struct ts_git_repo *repo, uint32_t number) {
    struct git__spot spot = git__number_spot(repo, number);
    if (spot.pack == GIT__NONE)
        return repo->numbers.loose[spot.position].oid.bytes;
    return git__pack_index_id(&repo->packs[spot.pack].index, spot.position);
}

uint64_t git__seeded_hash(const struct ts_git_repo *repo, uint64_t value) {
    uint64_t mixed = (value ^ repo->numbers.seed[0]) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = ((mixed ^ mixed >> 32) + repo->numbers.seed[1]) * UINT64_C(0xbf58476d1ce4e5b9);
    return mixed ^ mixed >> 32;
}

uint64_t ts_git_repo_disk_bytes(const struct ts_git_repo *repo) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < repo->pack_count; i++)
        bytes += repo->packs[i].map.bytes.len;
    for (uint32_t i = 0; i < repo->numbers.loose_count; i++) {
        const struct git__loose_object *loose = &repo->numbers.loose[i];
        struct stat status;
        char *path = git__loose_path(repo, loose->object_dir, &loose->oid);
        bytes += path != NULL && stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
        free(path);
    }
    return bytes;
}

size_t git__numbers_bytes(const struct ts_git_repo *repo) {
    const struct git__numbers *numbers = &repo->numbers;
    return (size_t)numbers->loose_count * sizeof *numbers->loose +
           ((size_t)numbers->mask + 1) * sizeof *numbers->slots;
}
