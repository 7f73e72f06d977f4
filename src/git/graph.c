#include "graph.h"

#include "os/grow.h"
#include "table.h"
#include "tree.h"

#include "base/assert.h"
#include "base/endian.h"
#include "base/hash64.h"

#include <stdlib.h>
#include <string.h>

#define TREE_PARTS 8 /* held trees may take 1/TREE_PARTS of the memory limit, in addition to that limit */

bool git__list_add(struct git__list *list, uint32_t item) {
    if (!TS_GROW(list->items, list->capacity, list->count + 1))
        return false;
    list->items[list->count++] = item;
    return true;
}

/* ---- missing objects ---- */

static size_t absent_slot(const struct ts_git_graph *graph, const struct ts_git_oid *oid) {
    const struct git__absent *absent = &graph->absent;
    uint64_t hash = git__seeded_hash(graph->repo, ts_le64_load(oid->bytes));
    hash = git__seeded_hash(graph->repo, hash ^ ts_le64_load(oid->bytes + 8));
    size_t slot = (size_t)hash & (absent->slot_count - 1);
    while (absent->slots[slot] != GIT__NONE && !ts_git_oid_equal(&absent->oids[absent->slots[slot]], oid))
        slot = (slot + 1) & (absent->slot_count - 1);
    return slot;
}

static bool absent_grow(struct ts_git_graph *graph) {
    struct git__absent *absent = &graph->absent;
    size_t larger = absent->slot_count == 0 ? 64 : absent->slot_count * 2;
    uint32_t *slots = malloc(larger * sizeof *slots);
    if (slots == NULL)
        return false;
    memset(slots, 0xff, larger * sizeof *slots);
    free(absent->slots);
    absent->slots = slots;
    absent->slot_count = larger;
    for (size_t i = 0; i < absent->count; i++)
        slots[absent_slot(graph, &absent->oids[i])] = (uint32_t)i;
    return true;
}

/* Returns whether there is room for another missing object. Missing objects may take a third of the graph's
 * limit. Each needs one element of the list, and up to four elements of `slots`. */
static bool absent_has_room(const struct ts_git_graph *graph) {
    uint64_t max = graph->options.table_bytes_max;
    return max == 0 || (uint64_t)graph->absent.count * (sizeof *graph->absent.oids + 16) < max / 3;
}

/* Returns the number of a missing object; GIT__NONE when memory runs out. */
static uint32_t absent_number(struct ts_git_graph *graph, const struct ts_git_oid *oid) {
    struct git__absent *absent = &graph->absent;
    uint32_t number = GIT__NONE;
    pthread_mutex_lock(&absent->lock);
    if (absent->count * 2 < absent->slot_count || absent_grow(graph)) {
        size_t slot = absent_slot(graph, oid);
        if (absent->slots[slot] == GIT__NONE && absent->count < GIT__NONE / 4 && absent_has_room(graph) &&
            TS_GROW(absent->oids, absent->capacity, absent->count + 1)) {
            absent->oids[absent->count] = *oid;
            absent->slots[slot] = (uint32_t)absent->count++;
        }
        if (absent->slots[slot] != GIT__NONE)
            number = graph->total + absent->slots[slot];
    }
    pthread_mutex_unlock(&absent->lock);
    return number;
}

uint32_t git__graph_number(struct ts_git_graph *graph, const struct ts_git_oid *oid) {
    uint32_t number = git__number_of(graph->repo, oid->bytes);
    return number != GIT__NONE ? number : absent_number(graph, oid);
}

/* ---- types ---- */

void git__expect(struct ts_git_graph *graph, uint32_t number, enum ts_git_type type) {
    if (number >= graph->total)
        return;
    unsigned char bit = (unsigned char)TS_GIT_TYPE_BIT(type);
    if ((atomic_load_explicit(&graph->expected[number], memory_order_relaxed) & bit) == 0)
        atomic_fetch_or_explicit(&graph->expected[number], bit, memory_order_relaxed);
}

/* Records which objects are blobs. Blobs are not visited: the outlines of packs and the heads of loose
 * objects show their type. */
static void note_blobs(struct ts_git_graph *graph) {
    const struct ts_git_repo *repo = graph->repo;
    const uint32_t *first = repo->numbers.pack_first;
    for (size_t pack = 0; pack < repo->pack_count; pack++) {
        const struct git__outline *outline = repo->packs[pack].outline;
        for (uint32_t i = 0; i < outline->count; i++)
            if (outline->nodes[i].type == TS_GIT_BLOB && outline->nodes[i].error == TS_GIT_OK)
                graph->edges[first[pack] + outline->nodes[i].position].type = TS_GIT_BLOB;
    }
    for (uint32_t i = 0; i < repo->numbers.loose_count; i++)
        if (repo->numbers.loose[i].type == TS_GIT_BLOB)
            graph->edges[first[repo->pack_count] + i].type = TS_GIT_BLOB;
}

static void expect_commit(struct ts_git_graph *graph, const struct ts_git_oid *oid) {
    uint32_t number = git__number_of(graph->repo, oid->bytes);
    if (number != GIT__NONE)
        git__expect(graph, number, TS_GIT_COMMIT);
}

/* Records that ids in 'shallow' and in lines of grafts must be commits, as git expects, even if no other
 * object refers to them. */
static void expect_named(struct ts_git_graph *graph) {
    const struct ts_git_repo *repo = graph->repo;
    for (size_t i = 0; i < repo->shallow_count; i++)
        expect_commit(graph, &repo->shallow[i]);
    for (size_t i = 0; i < repo->grafts.commit_count; i++)
        expect_commit(graph, &repo->grafts.commits[i]);
}

/* Reports objects whose type differs from the type that a reference expects. The object or the reference is
 * damaged, and the reference is not followed. */
static void check_types(struct ts_git_graph *graph, struct git__problems *problems) {
    for (uint32_t i = 0; i < graph->total; i++) {
        unsigned type = graph->edges[i].type;
        unsigned expected = atomic_load_explicit(&graph->expected[i], memory_order_relaxed);
        if (type != 0 && (expected & ~TS_GIT_TYPE_BIT(type)) != 0)
            git__problem_add(problems, i, TS_GIT_WRONG_TYPE);
    }
}

/* ---- reading ---- */

struct reader {
    struct ts_git_graph *graph;
    struct reader_worker {
        struct git__tree_reader trees;
        struct git__problems problems;
    } * workers;
};

enum outcome { DONE, BAD_CONTENT, NO_MEMORY };

uint32_t git__graph_name(struct ts_git_graph *graph, struct git__name_cache *cache, struct ts_bytes name,
                         uint32_t mode) {
    size_t bytes;
    uint32_t number = git__names_add(&graph->names, cache, name, mode, &bytes);
    if (bytes > 0)
        atomic_fetch_add_explicit(&graph->list_bytes, bytes, memory_order_relaxed);
    return number;
}

static bool list_changes(const struct git__tree_reader *trees, struct git__list *list,
                         struct git__edges *edges) {
    size_t most = 2 * (trees->added_count + trees->removed_count);
    if (!TS_GROW(list->items, list->capacity, list->count + most + 1)) /* + 1: items are never NULL */
        return false;
    uint32_t *at = list->items + list->count;
    for (size_t i = 0; i < trees->added_count; i++)
        if (trees->added[i].change.child != GIT__NONE)
            *at++ = trees->added[i].change.child;
    edges->added = (uint32_t)(at - list->items - (ptrdiff_t)list->count);
    for (size_t i = 0; i < trees->removed_count; i++)
        *at++ = trees->removed[i].child;
    edges->removed = (uint32_t)trees->removed_count;
    edges->has_folders = trees->has_folders;
    edges->has_submodules = edges->added < trees->added_count;
    for (size_t i = 0; i < trees->added_count; i++)
        if (trees->added[i].change.child != GIT__NONE)
            *at++ = trees->added[i].change.name;
    for (size_t i = 0; i < trees->removed_count; i++)
        *at++ = trees->removed[i].name;
    list->count = (size_t)(at - list->items);
    return true;
}

static enum outcome read_tree(struct git__tree_reader *trees, struct git__list *list,
                              const struct ts_git_object *object, struct git__edges *edges, void **result) {
    bool has_base;
    struct git__tree *tree = NULL;
    enum git__tree_outcome outcome = git__tree_read(trees, object, &has_base, &tree);
    *result = tree;
    if (outcome == GIT__TREE_NO_MEMORY || !list_changes(trees, list, edges))
        return NO_MEMORY;
    if (has_base)
        edges->base = object->base->number;
    return outcome == GIT__TREE_BAD ? BAD_CONTENT : DONE;
}

static void release_tree(void *ctx, void *result) {
    const struct reader *reader = ctx;
    git__tree_free(reader->graph, result);
}

/* Adds a parent to the list, unless the list has it already. Returns false when memory runs out. */
static bool add_parent(struct ts_git_graph *graph, struct git__list *list, size_t first,
                       const struct ts_git_oid *oid) {
    uint32_t number = git__graph_number(graph, oid);
    if (number == GIT__NONE)
        return false;
    git__expect(graph, number, TS_GIT_COMMIT);
    for (size_t i = first; i < list->count && list->count - first < 64; i++)
        if (list->items[i] == number)
            return true;
    return git__list_add(list, number);
}

/* Adds the parents that the commit names, and the parents from grafts. Adds no parents if a shallow clone
 * ends at this commit. Returns false when memory runs out. */
static bool add_parents(struct ts_git_graph *graph, struct git__list *list, const struct ts_git_oid *oid,
                        struct ts_bytes lines) {
    const struct git__grafts *grafts = &graph->repo->grafts;
    struct ts_git_oid parent;
    size_t first = list->count;
    bool done = true;
    if (git__is_shallow_commit(graph->repo, oid))
        return true;
    while (done && ts_git_commit_next_parent(graph->repo->hash, &lines, &parent))
        done = add_parent(graph, list, first, &parent);
    for (const struct git__graft *graft = git__grafts_find(grafts, oid); done && graft != NULL;
         graft = git__grafts_next(grafts, graft))
        done = add_parent(graph, list, first, &graft->parent);
    return done;
}

static void tell_message(const struct ts_git_graph *graph, unsigned worker,
                         const struct ts_git_object *object, struct ts_bytes message) {
    if (graph->options.message != NULL && object->content.len == object->size)
        graph->options.message(graph->options.message_ctx, worker, object, message);
}

static enum outcome read_commit(struct ts_git_graph *graph, struct git__list *list,
                                const struct ts_git_object *object, struct git__edges *edges) {
    struct ts_git_commit commit;
    if (!ts_git_commit_parse(graph->repo->hash, object->content, &commit))
        return BAD_CONTENT;
    tell_message(graph, edges->worker, object, commit.message);
    uint64_t time = (uint64_t)commit.committer.time_s;
    uint32_t tree = git__graph_number(graph, &commit.tree);
    if (tree != GIT__NONE)
        git__expect(graph, tree, TS_GIT_TREE);
    bool done = tree != GIT__NONE && git__list_add(list, tree) && git__list_add(list, (uint32_t)time) &&
                git__list_add(list, (uint32_t)(time >> 32));
    done = done && add_parents(graph, list, &object->oid, commit.parents);
    edges->added = (uint32_t)(list->count - edges->start);
    return done ? DONE : NO_MEMORY;
}

static enum outcome read_tag(struct ts_git_graph *graph, struct git__list *list,
                             const struct ts_git_object *object, struct git__edges *edges) {
    struct ts_git_tag tag;
    if (!ts_git_tag_parse(graph->repo->hash, object->content, &tag))
        return BAD_CONTENT;
    tell_message(graph, edges->worker, object, tag.message);
    uint32_t target = git__graph_number(graph, &tag.target);
    if (target != GIT__NONE)
        git__expect(graph, target, tag.target_type);
    edges->added = 1;
    return target != GIT__NONE && git__list_add(list, target) ? DONE : NO_MEMORY;
}

static enum outcome read_object(struct ts_git_graph *graph, struct reader_worker *worker,
                                struct git__list *list, const struct ts_git_object *object,
                                struct git__edges *edges, void **result) {
    switch (object->type) {
    case TS_GIT_COMMIT:
        return read_commit(graph, list, object, edges);
    case TS_GIT_TREE:
        return read_tree(&worker->trees, list, object, edges, result);
    case TS_GIT_TAG:
        return read_tag(graph, list, object, edges);
    case TS_GIT_BLOB:
        return DONE;
    }
    ts_unreachable("every type of object is read");
}

/* Adds `added` to the size of the lists. Returns whether the lists, with rows for all objects, are within the
 * limit. Only the contents of the lists count, not their capacity: contents depend on the repository alone,
 * so the result does not depend on the number of threads. */
static bool keeps_limit(struct ts_git_graph *graph, size_t added) {
    uint64_t grown = (uint64_t)added * 2 * sizeof(uint32_t);
    uint64_t bytes = atomic_fetch_add_explicit(&graph->list_bytes, grown, memory_order_relaxed) + grown +
                     (uint64_t)graph->total * sizeof *graph->edges;
    return graph->options.table_bytes_max == 0 || bytes <= graph->options.table_bytes_max;
}

/* Returns whether the first window of a commit or tag contains all lines before the message. These lines
 * contain all references of the object. A tree has no such lines. */
static bool has_head(const struct ts_git_object *object) {
    return object->type != TS_GIT_TREE &&
           memmem(object->content.data, object->content.len, "\n\n", 2) != NULL;
}

/* Receives one object of the visit. Each number is visited once, by one thread, so its row needs no lock. */
static bool take(void *ctx, unsigned index, const struct ts_git_object *object, void **result) {
    struct reader *reader = ctx;
    struct ts_git_graph *graph = reader->graph;
    struct reader_worker *worker = &reader->workers[index];
    struct git__list *list = &graph->lists[index];
    if (object->content.len != object->size) { /* the visit passes an object of many megabytes in windows */
        if (object->content_at > 0)
            return true;
        if (!has_head(object)) {
            git__problem_add(&worker->problems, object->number, TS_GIT_NO_ROOM);
            return true;
        }
    }
    struct git__edges edges = {
        .base = GIT__NONE, .worker = (uint16_t)index, .type = (uint8_t)object->type, .start = list->count};
    enum outcome outcome = read_object(graph, worker, list, object, &edges, result);
    if (!keeps_limit(graph, list->count - (size_t)edges.start))
        outcome = NO_MEMORY;
    if (outcome == NO_MEMORY) {
        worker->problems.no_memory = true;
        return false;
    }
    if (outcome == BAD_CONTENT) {
        git__problem_add(&worker->problems, object->number, TS_GIT_BAD_OBJECT);
        if (object->type != TS_GIT_TREE) {
            list->count = (size_t)edges.start;
            return true;
        }
    }
    graph->edges[object->number] = edges;
    if (object->type == TS_GIT_TREE && !git__list_add(&graph->tree_lists[index], object->number)) {
        worker->problems.no_memory = true;
        return false;
    }
    return true;
}

/* ---- bases first ---- */

/* Adds a tree after its bases. Skips trees that are already in the order. Returns false when memory
 * runs out. */
static bool put_chain(struct ts_git_graph *graph, uint32_t tree, uint64_t *done, struct git__list *chain,
                      uint32_t *count) {
    chain->count = 0;
    for (uint32_t at = tree;
         at != GIT__NONE && graph->edges[at].type == TS_GIT_TREE && (done[at / 64] >> (at % 64) & 1) == 0;
         at = graph->edges[at].base) {
        done[at / 64] |= UINT64_C(1) << (at % 64);
        if (!git__list_add(chain, at))
            return false;
    }
    while (chain->count > 0)
        graph->trees[(*count)++] = chain->items[--chain->count];
    return true;
}

/* Sorts the trees: bases before their deltas. The order is almost that of reading, so a walk over the trees
 * reads memory from front to back. */
static bool order_trees(struct ts_git_graph *graph) {
    uint64_t *done = calloc((size_t)graph->total / 64 + 1, sizeof *done);
    struct git__list chain = {.items = NULL};
    bool is_ordered = done != NULL;
    uint32_t count = 0;
    for (unsigned i = 0; i < graph->list_count && is_ordered; i++)
        for (size_t k = 0; k < graph->tree_lists[i].count && is_ordered; k++)
            is_ordered = put_chain(graph, graph->tree_lists[i].items[k], done, &chain, &count);
    free(chain.items);
    free(done);
    return is_ordered;
}

static void *order(void *argument) {
    struct ts_git_graph *graph = argument;
    graph->is_ordered = order_trees(graph) && git__names_rank(&graph->names);
    return NULL;
}

static bool begin_order(struct ts_git_graph *graph) {
    for (unsigned i = 0; i < graph->list_count; i++)
        graph->tree_count += (uint32_t)graph->tree_lists[i].count;
    graph->trees = malloc(((size_t)graph->tree_count + 1) * sizeof *graph->trees);
    graph->is_ordering = graph->trees != NULL && graph->list_count > 1 &&
                         pthread_create(&graph->ordering, NULL, order, graph) == 0;
    return graph->trees != NULL;
}

static void end_order(struct ts_git_graph *graph) {
    if (graph->is_ordering)
        pthread_join(graph->ordering, NULL);
    graph->is_ordering = false;
}

enum ts_git_error git__graph_ended(const struct ts_git_graph *graph, struct ts_git_fault *ret_fault) {
    return git__fault(git__graph_goes_on(graph) ? TS_GIT_NO_MEMORY : TS_GIT_STOPPED, graph->repo->common_dir,
                      ret_fault);
}

bool git__graph_order(struct ts_git_graph *graph) {
    end_order(graph);
    if (!graph->is_ordered)
        (void)order(graph);
    return graph->is_ordered;
}

static enum ts_git_error find_cut(struct ts_git_graph *graph, struct ts_git_fault *ret_fault) {
    enum ts_git_error error = ts_git_set_new(graph->repo, &graph->cut, ret_fault);
    for (size_t i = 0; error == TS_GIT_OK && i < graph->repo->shallow_count; i++)
        (void)ts_git_set_add(graph->cut, &graph->repo->shallow[i]);
    return error;
}

static int compare_problems(const void *a, const void *b) {
    const struct git__problem *x = a;
    const struct git__problem *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Reports the problems in the order of object numbers, so that the reports do not depend on the threads.
 * Returns false when memory ran out and some problems may be lost. */
static bool send_problems(struct ts_git_graph *graph, const struct reader *reader) {
    struct git__problems all = {.items = NULL};
    for (unsigned i = 0; i < graph->list_count; i++) {
        const struct git__problems *own = &reader->workers[i].problems;
        for (size_t k = 0; k < own->count; k++)
            git__problem_add_typed(&all, &own->items[k]);
        all.no_memory = all.no_memory || own->no_memory;
    }
    if (all.count > 0)
        qsort(all.items, all.count, sizeof *all.items, compare_problems);
    for (size_t i = 0; i < all.count; i++) {
        struct ts_git_fault fault;
        struct ts_git_oid oid =
            ts_git_oid_of(graph->repo->hash, git__number_id(graph->repo, all.items[i].number));
        (void)git__fault_object(all.items[i].error, graph->repo->hash, &oid, NULL, &fault);
        git__fault_send(&graph->options.faults, &fault);
    }
    free(all.items);
    return !all.no_memory;
}

static enum ts_git_error read_all(struct ts_git_graph *graph, struct reader *reader,
                                  struct ts_git_fault *ret_fault) {
    struct ts_git_visit_options options = {
        .threads = graph->list_count,
        .types = TS_GIT_TYPE_BIT(TS_GIT_COMMIT) | TS_GIT_TYPE_BIT(TS_GIT_TREE) | TS_GIT_TYPE_BIT(TS_GIT_TAG),
        .verify = TS_GIT_TYPE_BIT(TS_GIT_COMMIT) | TS_GIT_TYPE_BIT(TS_GIT_TAG) |
                  (graph->options.verify_trees ? TS_GIT_TYPE_BIT(TS_GIT_TREE) : 0),
        .memory_bytes = graph->options.memory_bytes,
        .spill_dir = graph->options.spill_dir,
        .watch = graph->options.watch,
        .faults = graph->options.faults,
    };
    struct ts_git_visitor visitor = {.visit = take, .release = release_tree, .ctx = reader};
    enum ts_git_error error = ts_git_visit(graph->repo, &options, &visitor, NULL, ret_fault);
    for (unsigned i = 0; error == TS_GIT_STOPPED && i < graph->list_count; i++)
        if (reader->workers[i].problems.no_memory)
            error = git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    if (error == TS_GIT_OK) {
        note_blobs(graph);
        expect_named(graph);
        check_types(graph, &reader->workers[0].problems);
        if (!send_problems(graph, reader) || !begin_order(graph))
            error = git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    }
    return error;
}

static bool reader_init(struct reader *reader) {
    struct ts_git_graph *graph = reader->graph;
    reader->workers = calloc(graph->list_count, sizeof *reader->workers);
    bool done = reader->workers != NULL;
    for (unsigned i = 0; done && i < graph->list_count; i++) {
        struct git__tree_reader *trees = &reader->workers[i].trees;
        trees->graph = graph;
        trees->names = calloc(1, sizeof *trees->names);
        done = trees->names != NULL;
    }
    return done;
}

/* Makes outlines of packs on a separate thread, while the objects are numbered. An outline that this thread
 * could not make is made when it is needed. */
static void *draw_outlines(void *argument) {
    struct ts_git_repo *repo = argument;
    for (size_t i = 0; i < repo->pack_count; i++)
        if (repo->packs[i].outline == NULL)
            repo->packs[i].outline = git__outline_new(&repo->packs[i]);
    return NULL;
}

static enum ts_git_error number_objects(struct ts_git_repo *repo, const struct ts_git_graph_options *options,
                                        struct ts_git_fault *ret_fault) {
    pthread_t drawing;
    bool is_drawing = options != NULL && options->threads > 1 && !repo->numbers.is_filled &&
                      pthread_create(&drawing, NULL, draw_outlines, repo) == 0;
    enum ts_git_error error = git__numbers_fill(repo, options != NULL ? &options->faults : NULL, ret_fault);
    if (is_drawing)
        pthread_join(drawing, NULL);
    return error;
}

struct ts_git_graph *git__graph_empty(struct ts_git_repo *repo, const struct ts_git_graph_options *options) {
    struct ts_git_graph *graph = calloc(1, sizeof *graph);
    if (graph == NULL)
        return NULL;
    graph->repo = repo;
    if (options != NULL)
        graph->options = *options;
    graph->total = repo->numbers.total;
    unsigned threads = graph->options.threads == 0 ? 1 : graph->options.threads;
    graph->list_count = threads > 256 ? 256 : threads;
    pthread_mutex_init(&graph->absent.lock, NULL);
    pthread_mutex_init(&graph->submodules.lock, NULL);
    git__names_init(&graph->names);
    atomic_init(&graph->tree_bytes, 0);
    graph->tree_bytes_max = git__graph_memory(graph) / TREE_PARTS;
    atomic_init(&graph->list_bytes, 0);
    graph->edges = git__table_new_zeroed((size_t)graph->total + 1, sizeof *graph->edges);
    graph->lists = calloc(graph->list_count, sizeof *graph->lists);
    graph->tree_lists = calloc(graph->list_count, sizeof *graph->tree_lists);
    if (graph->edges != NULL && graph->lists != NULL && graph->tree_lists != NULL)
        return graph;
    ts_git_graph_free(graph);
    return NULL;
}

enum ts_git_error ts_git_graph_new(struct ts_git_repo *repo, const struct ts_git_graph_options *options,
                                   struct ts_git_graph **ret_graph, struct ts_git_fault *ret_fault) {
    enum ts_git_error error = number_objects(repo, options, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    struct ts_git_graph *graph = git__graph_empty(repo, options);
    if (graph == NULL)
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    graph->expected = calloc((size_t)graph->total + 1, sizeof *graph->expected);
    struct reader reader = {.graph = graph};
    if (graph->expected == NULL || !reader_init(&reader))
        error = git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    if (error == TS_GIT_OK)
        error = read_all(graph, &reader, ret_fault);
    if (error == TS_GIT_OK)
        error = find_cut(graph, ret_fault);
    if (error == TS_GIT_OK)
        error = git__replaced_find(graph, ret_fault);
    for (unsigned i = 0; reader.workers != NULL && i < graph->list_count; i++) {
        git__tree_reader_release(&reader.workers[i].trees);
        free(reader.workers[i].problems.items);
    }
    free(reader.workers);
    free(graph->expected);
    graph->expected = NULL;
    if (error != TS_GIT_OK) {
        ts_git_graph_free(graph);
        return error;
    }
    *ret_graph = graph;
    return TS_GIT_OK;
}

void ts_git_graph_free(struct ts_git_graph *graph) {
    if (graph == NULL)
        return;
    end_order(graph);
    for (unsigned i = 0; graph->lists != NULL && i < graph->list_count; i++)
        free(graph->lists[i].items);
    for (unsigned i = 0; graph->tree_lists != NULL && i < graph->list_count; i++)
        free(graph->tree_lists[i].items);
    free(graph->lists);
    free(graph->tree_lists);
    free(graph->edges);
    free(graph->trees);
    free(graph->replaced);
    free(graph->absent.oids);
    free(graph->absent.slots);
    pthread_mutex_destroy(&graph->absent.lock);
    pthread_mutex_destroy(&graph->submodules.lock);
    git__names_release(&graph->names);
    ts_git_set_free(graph->cut);
    free(graph->late);
    free(graph->order.items);
    free(graph);
}

uint64_t ts_git_graph_bytes(const struct ts_git_graph *graph) {
    uint64_t bytes = (uint64_t)graph->total * sizeof *graph->edges +
                     (uint64_t)graph->tree_count * 2 * sizeof *graph->trees +
                     (uint64_t)graph->absent.capacity * sizeof *graph->absent.oids +
                     (uint64_t)graph->absent.slot_count * sizeof *graph->absent.slots;
    for (unsigned i = 0; i < graph->list_count; i++)
        bytes += (uint64_t)graph->lists[i].capacity * sizeof *graph->lists[i].items;
    return bytes;
}
