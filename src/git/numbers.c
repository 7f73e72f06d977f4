#include "numbers.h"

#include "base/assert.h"
#include "base/endian.h"
#include "os/entropy.h"
#include "repo_impl.h"

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

static void keep_fault(struct git__numbers *numbers, const struct ts_git_fault *fault) {
    if (GIT__GROW(numbers->faults, numbers->fault_capacity, numbers->fault_count + 1))
        numbers->faults[numbers->fault_count++] = *fault;
}

static void tell_faults(struct git__numbers *numbers, const struct ts_git_fault_sink *sink) {
    if (sink == NULL || sink->take == NULL)
        return;
    for (size_t i = 0; i < numbers->fault_count; i++)
        git__fault_send(sink, &numbers->faults[i]);
    numbers->fault_count = 0;
}

/* The objects of objects/<two digits>. Other names than ids, such as temporary files, are passed over. */
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
    if (error == TS_GIT_NO_MEMORY)
        return git__fault(error, NULL, ret_fault);
    if (error != TS_GIT_OK)
        keep_fault(&repo->numbers, &fault);
    error = TS_GIT_OK;
    size_t rest = 2 * ts_git_hash_len(repo->hash) - 2;
    for (size_t i = 0; error == TS_GIT_OK && i < name_count; i++) {
        struct ts_git_oid oid;
        if (strlen(names[i]) != rest)
            continue;
        memcpy(hex + 2, names[i], rest + 1);
        if (!ts_git_oid_parse(repo->hash, ts_bytes_of_cstring(hex), &oid))
            continue;
        if (!GIT__GROW(list->items, list->capacity, list->count + 1))
            error = git__fault(TS_GIT_NO_MEMORY, NULL, ret_fault);
        else
            list->items[list->count++] = (struct git__loose_object){oid, object_dir};
    }
    git__free_names(names, name_count);
    return error;
}

/* One fault for a folder of objects that nobody may look into, not one for each of its folders. */
static bool is_open(struct ts_git_repo *repo, uint32_t object_dir) {
    struct stat status;
    struct ts_git_fault fault;
    char *path = git__path_join(repo->object_dirs[object_dir], ".");
    bool is = path == NULL || stat(path, &status) == 0;
    if (!is) {
        (void)git__fault(TS_GIT_IO, repo->object_dirs[object_dir], &fault);
        keep_fault(&repo->numbers, &fault);
    }
    free(path);
    return is;
}

static enum ts_git_error list_loose(struct ts_git_repo *repo, struct ts_git_fault *ret_fault) {
    struct loose_list list = {.items = NULL};
    enum ts_git_error error = TS_GIT_OK;
    for (uint32_t dir = 0; dir < repo->object_dir_count; dir++)
        for (unsigned fan = 0; fan < 256 && error == TS_GIT_OK && (fan > 0 || is_open(repo, dir)); fan++)
            error = list_fan(repo, dir, fan, &list, ret_fault);
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
    return TS_GIT_OK;
}

/* Ids of a hostile index may be chosen to collide: the seed is not known to whoever wrote it. */
static uint32_t slot_of(const struct git__numbers *numbers, const uint8_t *id) {
    uint64_t mixed = (ts_le64_load(id) ^ numbers->seed[0]) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = ((mixed ^ mixed >> 32) ^ ts_le64_load(id + 8) ^ numbers->seed[1]) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(mixed >> 32) & numbers->mask;
}

/* Keeps the lower number when the id is there already. */
static void insert(struct ts_git_repo *repo, uint32_t number, const uint8_t *id) {
    struct git__numbers *numbers = &repo->numbers;
    size_t len = ts_git_hash_len(repo->hash);
    uint32_t slot = slot_of(numbers, id);
    while (numbers->slots[slot] != GIT__NONE) {
        if (memcmp(git__number_id(repo, numbers->slots[slot]), id, len) == 0) {
            numbers->copies[number / 64] |= UINT64_C(1) << (number % 64);
            return;
        }
        slot = (slot + 1) & numbers->mask;
    }
    numbers->slots[slot] = number;
}

static void insert_all(struct ts_git_repo *repo) {
    size_t len = ts_git_hash_len(repo->hash);
    for (size_t i = 0; i < repo->pack_count; i++) {
        const struct git__pack_index *index = &repo->packs[i].index;
        bool is_sorted = true;
        for (uint32_t p = 0; p < index->count; p++) {
            const uint8_t *id = git__pack_index_id(index, p);
            is_sorted = is_sorted && (p == 0 || memcmp(id - index->id_step, id, len) < 0);
            insert(repo, repo->numbers.pack_first[i] + p, id);
        }
        if (!is_sorted) {
            struct ts_git_fault fault;
            (void)git__fault(TS_GIT_BAD_FILE, git__pack_name(&repo->packs[i]), &fault);
            keep_fault(&repo->numbers, &fault);
        }
    }
    for (uint32_t p = 0; p < repo->numbers.loose_count; p++)
        insert(repo, repo->numbers.pack_first[repo->pack_count] + p, repo->numbers.loose[p].oid.bytes);
}

enum ts_git_error git__numbers_fill(struct ts_git_repo *repo, const struct ts_git_fault_sink *faults,
                                    struct ts_git_fault *ret_fault) {
    struct git__numbers *numbers = &repo->numbers;
    if (numbers->is_filled) {
        tell_faults(numbers, faults);
        return TS_GIT_OK;
    }
    enum ts_git_error error = list_loose(repo, ret_fault);
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
    if (!ts_entropy_fill(numbers->seed, sizeof numbers->seed))
        memset(numbers->seed, 0, sizeof numbers->seed); /* slower at worst */
    numbers->slots = malloc((size_t)size * sizeof *numbers->slots);
    numbers->copies = calloc((size_t)total / 64 + 1, sizeof *numbers->copies);
    if (numbers->slots == NULL || numbers->copies == NULL)
        goto no_memory;
    memset(numbers->slots, 0xff, (size_t)size * sizeof *numbers->slots);
    insert_all(repo);
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
    const struct git__numbers *numbers = &repo->numbers;
    ts_assert(numbers->is_filled);
    size_t len = ts_git_hash_len(repo->hash);
    uint32_t slot = slot_of(numbers, id);
    while (numbers->slots[slot] != GIT__NONE) {
        if (memcmp(git__number_id(repo, numbers->slots[slot]), id, len) == 0)
            return numbers->slots[slot];
        slot = (slot + 1) & numbers->mask;
    }
    return GIT__NONE;
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

size_t git__numbers_bytes(const struct ts_git_repo *repo) {
    const struct git__numbers *numbers = &repo->numbers;
    return (size_t)numbers->loose_count * sizeof *numbers->loose +
           ((size_t)numbers->mask + 1) * sizeof *numbers->slots;
}
