#include "graph.h"

#include "base/assert.h"
#include "base/endian.h"

#include <stdlib.h>
#include <string.h>

bool git__list_add(struct git__list *list, uint32_t item) {
    if (!GIT__GROW(list->items, list->capacity, list->count + 1))
        return false;
    list->items[list->count++] = item;
    return true;
}

/* ---- what is referred to and not there ---- */

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

/* A third of what the graph may hold: each is in the list once and in slots twice or more. */
static bool absent_has_room(const struct ts_git_graph *graph) {
    uint64_t max = graph->options.table_bytes_max;
    return max == 0 || (uint64_t)graph->absent.count * (sizeof *graph->absent.oids + 16) < max / 3;
}

/* The number that stands for it; GIT__NONE when there is no memory. */
static uint32_t absent_number(struct ts_git_graph *graph, const struct ts_git_oid *oid) {
    struct git__absent *absent = &graph->absent;
    uint32_t number = GIT__NONE;
    pthread_mutex_lock(&absent->lock);
    if (absent->count * 2 < absent->slot_count || absent_grow(graph)) {
        size_t slot = absent_slot(graph, oid);
        if (absent->slots[slot] == GIT__NONE && absent->count < GIT__NONE / 4 && absent_has_room(graph) &&
            GIT__GROW(absent->oids, absent->capacity, absent->count + 1)) {
            absent->oids[absent->count] = *oid;
            absent->slots[slot] = (uint32_t)absent->count++;
        }
        if (absent->slots[slot] != GIT__NONE)
            number = graph->total + absent->slots[slot];
    }
    pthread_mutex_unlock(&absent->lock);
    return number;
}

static uint32_t number_of(struct ts_git_graph *graph, const struct ts_git_oid *oid) {
    uint32_t number = git__number_of(graph->repo, oid->bytes);
    return number != GIT__NONE ? number : absent_number(graph, oid);
}

/* ---- reading ---- */

struct reader {
    struct ts_git_graph *graph;
    struct reader_worker {
        struct git__list removed; /* of the tree that is read */
        struct git__problems problems;
    } * workers;
};

static bool add_child(struct ts_git_graph *graph, struct git__list *list,
                      const struct ts_git_tree_entry *entry) {
    if (ts_git_mode_is_submodule(entry->mode))
        return true;
    uint32_t number = number_of(graph, &entry->oid);
    return number != GIT__NONE && git__list_add(list, number);
}

enum outcome { DONE, BAD_CONTENT, NO_MEMORY };

/* All entries up to the first that is not valid. */
static enum outcome add_all(struct ts_git_graph *graph, struct git__list *list, struct ts_bytes content) {
    struct ts_git_tree_entry entry;
    enum ts_git_tree_step step;
    while ((step = ts_git_tree_next(graph->repo->hash, &content, &entry)) == TS_GIT_TREE_ENTRY)
        if (!add_child(graph, list, &entry))
            return NO_MEMORY;
    return step == TS_GIT_TREE_END ? DONE : BAD_CONTENT;
}

/* Entries that both begin with, byte for byte, go. What is skipped was looked at as entries of the new tree,
 * so it is entries of the old one, too. */
static void skip_common(size_t hash_len, struct ts_bytes *new_rest, struct ts_bytes *old_rest) {
    for (;;) {
        const uint8_t *zero = new_rest->len > 0 ? memchr(new_rest->data, 0, new_rest->len) : NULL;
        if (zero == NULL)
            return;
        size_t len = (size_t)(zero - new_rest->data) + 1 + hash_len;
        if (len > new_rest->len || len > old_rest->len || memcmp(new_rest->data, old_rest->data, len) != 0)
            return;
        *new_rest = ts_bytes_skip(*new_rest, len);
        *old_rest = ts_bytes_skip(*old_rest, len);
    }
}

/* Each entry of either is matched with an equal one of the other, or is added or removed. Right in any order
 * of entries, small in the usual one. */
static enum outcome add_difference(struct ts_git_graph *graph, struct git__list *added,
                                   struct git__list *removed, struct ts_bytes content, struct ts_bytes base) {
    enum ts_git_hash hash = graph->repo->hash;
    for (;;) {
        skip_common(ts_git_hash_len(hash), &content, &base);
        struct ts_bytes new_next = content;
        struct ts_bytes old_next = base;
        struct ts_git_tree_entry new_entry;
        struct ts_git_tree_entry old_entry;
        enum ts_git_tree_step new_step = ts_git_tree_next(hash, &new_next, &new_entry);
        enum ts_git_tree_step old_step = ts_git_tree_next(hash, &old_next, &old_entry);
        if (new_step == TS_GIT_TREE_BAD || old_step == TS_GIT_TREE_BAD)
            return BAD_CONTENT;
        if (new_step == TS_GIT_TREE_END && old_step == TS_GIT_TREE_END)
            return DONE;
        int order = new_step == TS_GIT_TREE_END   ? 1
                    : old_step == TS_GIT_TREE_END ? -1
                                                  : ts_bytes_compare(new_entry.name, old_entry.name);
        if (order <= 0) {
            if (!add_child(graph, added, &new_entry))
                return NO_MEMORY;
            content = new_next;
        }
        if (order >= 0) {
            if (!add_child(graph, removed, &old_entry))
                return NO_MEMORY;
            base = old_next;
        }
    }
}

static enum outcome read_tree(struct ts_git_graph *graph, struct reader_worker *worker,
                              struct git__list *list, const struct ts_git_object *object,
                              struct git__edges *edges) {
    enum outcome outcome = BAD_CONTENT;
    if (object->base != NULL && graph->edges[object->base->number].type == TS_GIT_TREE) {
        worker->removed.count = 0;
        outcome = add_difference(graph, list, &worker->removed, object->content, object->base->content);
        if (outcome == DONE) {
            edges->base = object->base->number;
            edges->added = (uint32_t)(list->count - edges->start);
            edges->removed = (uint32_t)worker->removed.count;
            for (size_t i = 0; i < worker->removed.count; i++)
                if (!git__list_add(list, worker->removed.items[i]))
                    return NO_MEMORY;
            return DONE;
        }
    }
    if (outcome == NO_MEMORY)
        return outcome;
    /* On its own: its base, or itself, is not a valid tree. */
    list->count = (size_t)edges->start;
    outcome = add_all(graph, list, object->content);
    edges->added = (uint32_t)(list->count - edges->start);
    return outcome;
}

static enum outcome read_commit(struct ts_git_graph *graph, struct git__list *list,
                                const struct ts_git_object *object, struct git__edges *edges) {
    struct ts_git_commit commit;
    struct ts_git_oid parent;
    if (!ts_git_commit_parse(graph->repo->hash, object->content, &commit))
        return BAD_CONTENT;
    uint64_t time = (uint64_t)commit.committer.time_s;
    uint32_t tree = number_of(graph, &commit.tree);
    bool done = tree != GIT__NONE && git__list_add(list, tree) && git__list_add(list, (uint32_t)time) &&
                git__list_add(list, (uint32_t)(time >> 32));
    bool is_cut = git__is_shallow_commit(graph->repo, &object->oid);
    while (done && !is_cut && ts_git_commit_next_parent(graph->repo->hash, &commit.parents, &parent)) {
        uint32_t number = number_of(graph, &parent);
        done = number != GIT__NONE && git__list_add(list, number);
    }
    edges->added = (uint32_t)(list->count - edges->start);
    return done ? DONE : NO_MEMORY;
}

static enum outcome read_tag(struct ts_git_graph *graph, struct git__list *list,
                             const struct ts_git_object *object, struct git__edges *edges) {
    struct ts_git_tag tag;
    if (!ts_git_tag_parse(graph->repo->hash, object->content, &tag))
        return BAD_CONTENT;
    uint32_t target = number_of(graph, &tag.target);
    edges->added = 1;
    return target != GIT__NONE && git__list_add(list, target) ? DONE : NO_MEMORY;
}

static enum outcome read_object(struct ts_git_graph *graph, struct reader_worker *worker,
                                struct git__list *list, const struct ts_git_object *object,
                                struct git__edges *edges) {
    switch (object->type) {
    case TS_GIT_COMMIT:
        return read_commit(graph, list, object, edges);
    case TS_GIT_TREE:
        return read_tree(graph, worker, list, object, edges);
    case TS_GIT_TAG:
        return read_tag(graph, list, object, edges);
    case TS_GIT_BLOB:
        return DONE;
    }
    ts_unreachable("every type of object is read");
}

/* Whether what the lists hold, with rows of all objects, is still within the limit. Lists have room for up to twice as
 * much; what counts is what follows from the repository alone, so that the number of threads does not decide. */
static bool keeps_limit(struct ts_git_graph *graph, size_t added) {
    uint64_t grown = (uint64_t)added * 2 * sizeof(uint32_t);
    uint64_t bytes = atomic_fetch_add_explicit(&graph->list_bytes, grown, memory_order_relaxed) + grown +
                     (uint64_t)graph->total * sizeof *graph->edges;
    return graph->options.table_bytes_max == 0 || bytes <= graph->options.table_bytes_max;
}

/* Each number is visited once, by one thread, so its row needs no lock. */
static bool take(void *ctx, unsigned index, const struct ts_git_object *object, void **result) {
    (void)result;
    struct reader *reader = ctx;
    struct ts_git_graph *graph = reader->graph;
    struct reader_worker *worker = &reader->workers[index];
    struct git__list *list = &graph->lists[index];
    if (object->content.len != object->size) { /* a tree of many megabytes */
        if (object->is_last)
            git__problem_add(&worker->problems, object->number, TS_GIT_TOO_LARGE);
        return true;
    }
    struct git__edges edges = {
        .base = GIT__NONE, .worker = (uint16_t)index, .type = (uint16_t)object->type, .start = list->count};
    enum outcome outcome = read_object(graph, worker, list, object, &edges);
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
    return true;
}

/* ---- an order in which bases come first ---- */

static bool order_trees(struct ts_git_graph *graph) {
    for (uint32_t i = 0; i < graph->total; i++)
        graph->tree_count += graph->edges[i].type == TS_GIT_TREE;
    graph->trees = malloc(((size_t)graph->tree_count + 1) * sizeof *graph->trees);
    uint64_t *done = calloc((size_t)graph->total / 64 + 1, sizeof *done);
    struct git__list chain = {.items = NULL};
    bool is_ordered = graph->trees != NULL && done != NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->total && is_ordered; i++) {
        chain.count = 0;
        for (uint32_t at = i; at != GIT__NONE && graph->edges[at].type == TS_GIT_TREE &&
                              (done[at / 64] >> (at % 64) & 1) == 0 && is_ordered;
             at = graph->edges[at].base) {
            done[at / 64] |= UINT64_C(1) << (at % 64);
            is_ordered = git__list_add(&chain, at);
        }
        while (chain.count > 0)
            graph->trees[count++] = chain.items[--chain.count];
    }
    free(chain.items);
    free(done);
    return is_ordered;
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

/* In order of numbers, whichever thread met them. */
static void send_problems(struct ts_git_graph *graph, const struct reader *reader) {
    struct git__problems all = {.items = NULL};
    for (unsigned i = 0; i < graph->list_count; i++)
        for (size_t k = 0; k < reader->workers[i].problems.count; k++)
            git__problem_add(&all, reader->workers[i].problems.items[k].number,
                             reader->workers[i].problems.items[k].error);
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
}

static enum ts_git_error read_all(struct ts_git_graph *graph, struct reader *reader,
                                  struct ts_git_fault *ret_fault) {
    struct ts_git_visit_options options = {
        .threads = graph->list_count,
        .types = TS_GIT_TYPE_BIT(TS_GIT_COMMIT) | TS_GIT_TYPE_BIT(TS_GIT_TREE) | TS_GIT_TYPE_BIT(TS_GIT_TAG),
        .memory_bytes = graph->options.memory_bytes,
        .spill_dir = graph->options.spill_dir,
        .faults = graph->options.faults,
    };
    struct ts_git_visitor visitor = {.visit = take, .ctx = reader};
    enum ts_git_error error = ts_git_visit(graph->repo, &options, &visitor, NULL, ret_fault);
    if (error == TS_GIT_STOPPED)
        error = git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    if (error == TS_GIT_OK)
        send_problems(graph, reader);
    if (error == TS_GIT_OK && !order_trees(graph))
        error = git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    return error;
}

enum ts_git_error ts_git_graph_new(struct ts_git_repo *repo, const struct ts_git_graph_options *options,
                                   struct ts_git_graph **ret_graph, struct ts_git_fault *ret_fault) {
    enum ts_git_error error = git__numbers_fill(repo, options != NULL ? &options->faults : NULL, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    struct ts_git_graph *graph = calloc(1, sizeof *graph);
    if (graph == NULL)
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    graph->repo = repo;
    if (options != NULL)
        graph->options = *options;
    graph->total = repo->numbers.total;
    unsigned threads = graph->options.threads == 0 ? 1 : graph->options.threads;
    graph->list_count = threads > 256 ? 256 : threads;
    pthread_mutex_init(&graph->absent.lock, NULL);
    atomic_init(&graph->list_bytes, 0);
    graph->edges = calloc((size_t)graph->total + 1, sizeof *graph->edges);
    graph->lists = calloc(graph->list_count, sizeof *graph->lists);
    struct reader reader = {.graph = graph, .workers = calloc(graph->list_count, sizeof *reader.workers)};
    if (graph->edges == NULL || graph->lists == NULL || reader.workers == NULL)
        error = git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    if (error == TS_GIT_OK)
        error = read_all(graph, &reader, ret_fault);
    if (error == TS_GIT_OK)
        error = find_cut(graph, ret_fault);
    for (unsigned i = 0; reader.workers != NULL && i < graph->list_count; i++) {
        free(reader.workers[i].removed.items);
        free(reader.workers[i].problems.items);
    }
    free(reader.workers);
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
    for (unsigned i = 0; graph->lists != NULL && i < graph->list_count; i++)
        free(graph->lists[i].items);
    free(graph->lists);
    free(graph->edges);
    free(graph->trees);
    free(graph->absent.oids);
    free(graph->absent.slots);
    pthread_mutex_destroy(&graph->absent.lock);
    ts_git_set_free(graph->cut);
    free(graph);
}

uint64_t ts_git_graph_bytes(const struct ts_git_graph *graph) {
    uint64_t bytes = (uint64_t)graph->total * sizeof *graph->edges +
                     (uint64_t)graph->tree_count * sizeof *graph->trees +
                     (uint64_t)graph->absent.capacity * sizeof *graph->absent.oids +
                     (uint64_t)graph->absent.slot_count * sizeof *graph->absent.slots;
    for (unsigned i = 0; i < graph->list_count; i++)
        bytes += (uint64_t)graph->lists[i].capacity * sizeof *graph->lists[i].items;
    return bytes;
}
