/* All objects of a repository: as git prints them, and as a visit delivers them. */
#ifndef TS_TESTS_UNIT_GIT_OBJECTS_H
#define TS_TESTS_UNIT_GIT_OBJECTS_H

#include "repo_maker.h"

#include <pthread.h>

struct seen {
    struct ts_git_oid oid;
    enum ts_git_type type;
    uint64_t size;
    uint64_t hash;
};

struct seen_list {
    struct seen *items;
    size_t count;
    size_t capacity;
    size_t with_base;
    size_t windows;
    bool is_wrong; /* a copy, a base or a window was wrong */
    pthread_mutex_t lock;
};

static inline void seen_add(struct seen_list *list, struct seen seen) {
    if (list->count == list->capacity) {
        list->capacity = list->capacity * 2 + 64;
        list->items = realloc(list->items, list->capacity * sizeof *list->items);
        assert_non_null(list->items);
    }
    list->items[list->count++] = seen;
}

static inline int seen_compare(const void *a, const void *b) {
    const struct seen *x = a;
    const struct seen *y = b;
    return ts_git_oid_compare(&x->oid, &y->oid);
}

static inline void seen_sort(struct seen_list *list) {
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, seen_compare);
}

/* Returns all objects as git cat-file --batch-all-objects --batch prints them. */
static inline struct seen_list seen_by_git(const char *folder, enum ts_git_hash hash) {
    struct seen_list list = {.items = NULL};
    size_t len;
    char *text = output_of(&len, "git -C '%s' cat-file --batch-all-objects --batch", folder);
    size_t hex = 2 * ts_git_hash_len(hash);
    for (size_t at = 0; at < len;) {
        struct seen seen;
        assert_true(ts_git_oid_parse(hash, ts_bytes_of(text + at, hex), &seen.oid));
        at += hex + 1;
        size_t type_len = strcspn(text + at, " ");
        assert_true(ts_git_type_from_name(ts_bytes_of(text + at, type_len), &seen.type));
        at += type_len + 1;
        seen.size = strtoull(text + at, NULL, 10);
        at += strcspn(text + at, "\n") + 1;
        seen.hash = ts_xxh64_of_bytes(ts_bytes_of(text + at, (size_t)seen.size));
        at += (size_t)seen.size + 1;
        seen_add(&list, seen);
    }
    free(text);
    seen_sort(&list);
    return list;
}

/* Returns whether copied bytes are equal in the object and its base, the copies are in order, and no two
 * neighbours could be merged. */
static inline bool copies_hold(const struct ts_git_object *object) {
    const struct ts_git_base *base = object->base;
    uint64_t end = 0;
    for (size_t i = 0; i < base->copy_count; i++) {
        const struct ts_git_copy *copy = &base->copies[i];
        if (copy->len == 0 || copy->at < end || copy->at + copy->len > object->size ||
            copy->from + copy->len > base->size)
            return false;
        if (i > 0 && copy->at == end && base->copies[i - 1].from + base->copies[i - 1].len == copy->from)
            return false;
        end = copy->at + copy->len;
        bool is_here = object->content_at == 0 && object->content.len == object->size;
        if (is_here &&
            memcmp(object->content.data + copy->at, base->content.data + copy->from, (size_t)copy->len) != 0)
            return false;
    }
    return true;
}

/* The result of an object: the number of bytes that its windows have added, and these bytes. */
struct parts {
    uint64_t len;
    uint8_t *bytes;
};

static inline bool seen_take(void *ctx, unsigned worker, const struct ts_git_object *object, void **result) {
    (void)worker;
    struct seen_list *list = ctx;
    struct parts *parts = *result;
    bool is_whole = object->content.len == object->size;
    if (parts == NULL) {
        parts = calloc(1, sizeof *parts);
        *result = parts;
        if (!is_whole)
            parts->bytes = malloc((size_t)object->size);
    }
    bool is_wrong = object->base != NULL && (!copies_hold(object) || object->base->result == NULL);
    if (!is_whole) {
        is_wrong = is_wrong || object->content_at + object->overlap != parts->len ||
                   memcmp(parts->bytes + object->content_at, object->content.data, object->overlap) != 0;
        size_t fresh = object->content.len - object->overlap;
        memcpy(parts->bytes + parts->len, object->content.data + object->overlap, fresh);
        parts->len += fresh;
    }
    pthread_mutex_lock(&list->lock);
    list->is_wrong = list->is_wrong || is_wrong;
    list->windows += !is_whole;
    if (object->is_last) {
        struct ts_bytes all = is_whole ? object->content : ts_bytes_of(parts->bytes, (size_t)parts->len);
        list->with_base += object->base != NULL;
        seen_add(list, (struct seen){object->oid, object->type, object->size, ts_xxh64_of_bytes(all)});
    }
    pthread_mutex_unlock(&list->lock);
    return true;
}

static inline void seen_release_result(void *ctx, void *result) {
    (void)ctx;
    struct parts *parts = result;
    free(parts->bytes);
    free(parts);
}

#define ALL_TYPES                                                                                            \
    (TS_GIT_TYPE_BIT(TS_GIT_COMMIT) | TS_GIT_TYPE_BIT(TS_GIT_TREE) | TS_GIT_TYPE_BIT(TS_GIT_BLOB) |          \
     TS_GIT_TYPE_BIT(TS_GIT_TAG))

static inline struct seen_list seen_by_visit(struct ts_git_repo *repo,
                                             const struct ts_git_visit_options *options,
                                             struct ts_git_visit_stats *ret_stats) {
    struct seen_list list = {.items = NULL};
    pthread_mutex_init(&list.lock, NULL);
    struct ts_git_visitor visitor = {.visit = seen_take, .release = seen_release_result, .ctx = &list};
    assert_int_equal(ts_git_visit(repo, options, &visitor, ret_stats, NULL), TS_GIT_OK);
    pthread_mutex_destroy(&list.lock);
    assert_false(list.is_wrong);
    seen_sort(&list);
    return list;
}

static inline void assert_same_objects(const struct seen_list *a, const struct seen_list *b) {
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_memory_equal(a->items[i].oid.bytes, b->items[i].oid.bytes, TS_GIT_OID_MAX);
        assert_int_equal(a->items[i].type, b->items[i].type);
        assert_int_equal(a->items[i].size, b->items[i].size);
        assert_true(a->items[i].hash == b->items[i].hash);
    }
}

/* Compares every object of the repository with git's output, with one thread and with several, and with a
 * small budget. Returns the number of objects. */
static inline size_t check_all_objects(const char *folder) {
    struct ts_git_repo *repo = open_repo(folder);
    struct seen_list expected = seen_by_git(folder, ts_git_repo_hash(repo));
    static const struct ts_git_visit_options ways[] = {
        {.types = ALL_TYPES, .threads = 1},
        {.types = ALL_TYPES, .threads = 4},
        {.types = ALL_TYPES,
         .threads = 3,
         .memory_bytes = 4 << 20,
         .window_bytes = 1000,
         .overlap_bytes = 10},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct ts_git_visit_stats stats;
        struct seen_list found = seen_by_visit(repo, &ways[i], &stats);
        assert_same_objects(&expected, &found);
        assert_int_equal(stats.objects, expected.count);
        assert_int_equal(stats.faults, 0);
        free(found.items);
    }
    for (size_t i = 0; i < expected.count; i++) {
        struct ts_git_content content;
        assert_int_equal(ts_git_object_read(repo, &expected.items[i].oid, SIZE_MAX, &content, NULL),
                         TS_GIT_OK);
        assert_int_equal(content.len, expected.items[i].size);
        assert_true(ts_xxh64_of_bytes(ts_bytes_of(content.bytes, content.len)) == expected.items[i].hash);
        free(content.bytes);
    }
    size_t count = expected.count;
    free(expected.items);
    ts_git_repo_free(repo);
    return count;
}

#endif
