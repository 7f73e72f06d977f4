/*
 * Submodules in trees. The graph has no edges to submodules: it keeps their names, and which trees may
 * contain a submodule. To find the submodules that a change adds, these trees are read again.
 */
#include "graph.h"
#include "repo_impl.h"
#include "set_impl.h"

#include "base/hash64.h"
#include "os/grow.h"

#include <stdlib.h>

#define TREE_MAX ((size_t)64 << 20) /* larger trees are ignored */

void git__graph_submodule(struct ts_git_graph *graph, struct ts_bytes name) {
    struct git__submodules *known = &graph->submodules;
    uint64_t hash = ts_xxh64_of_bytes(name);
    pthread_mutex_lock(&known->lock);
    size_t at = 0;
    while (at < known->count && known->names[at] != hash)
        at++;
    if (at == known->count && at < GIT__SUBMODULES_MAX)
        known->names[known->count++] = hash;
    pthread_mutex_unlock(&known->lock);
}

uint64_t ts_git_graph_submodules(const struct ts_git_graph *graph) {
    return graph->submodules.count;
}

/* ---- submodules that a change adds ---- */

struct submodule {
    uint64_t name; /* a hash */
    struct ts_git_oid commit;
};

struct submodules {
    struct ts_git_graph *graph;
    struct submodule *items;
    size_t count;
    size_t capacity;
    bool *is_known; /* indexed like items: the base has the submodule; NULL until the base is read */
    bool is_over;   /* memory ran out, or the watch ended the work */
};

static int compare_submodules(const void *a, const void *b) {
    const struct submodule *left = a;
    const struct submodule *right = b;
    int order = (left->name > right->name) - (left->name < right->name);
    return order != 0 ? order : ts_git_oid_compare(&left->commit, &right->commit);
}

/* Returns whether a tree may have submodules. A tree also has the submodules of its delta base that it does
 * not remove. */
static bool may_have_submodules(const struct ts_git_graph *graph, uint32_t tree) {
    uint32_t at = tree;
    while (at != GIT__NONE && !graph->edges[at].has_submodules)
        at = graph->edges[at].base;
    return at != GIT__NONE;
}

static void take(struct submodules *s, const struct submodule *one) {
    if (s->is_known == NULL) {
        s->is_over = s->is_over || !TS_GROW(s->items, s->capacity, s->count + 1);
        if (!s->is_over)
            s->items[s->count++] = *one;
        return;
    }
    const struct submodule *found = bsearch(one, s->items, s->count, sizeof *one, compare_submodules);
    if (found != NULL)
        s->is_known[found - s->items] = true;
}

/* Adds the submodules of a tree or, when the base is read, marks them as known. Ignores a tree that cannot be
 * read, because it is already reported as a fault. */
static void read_tree(struct submodules *s, uint32_t number) {
    enum ts_git_hash hash = s->graph->repo->hash;
    struct ts_git_oid oid = ts_git_oid_of(hash, git__number_id(s->graph->repo, number));
    struct ts_git_content content;
    struct ts_git_tree_entry entry;
    if (ts_git_object_read(s->graph->repo, &oid, TREE_MAX, &content, NULL) != TS_GIT_OK)
        return;
    struct ts_bytes rest = ts_bytes_of(content.bytes, content.len);
    while (content.type == TS_GIT_TREE && ts_git_tree_next(hash, &rest, &entry) == TS_GIT_TREE_ENTRY)
        if (ts_git_mode_is_submodule(entry.mode))
            take(s, &(struct submodule){.name = ts_xxh64_of_bytes(entry.name), .commit = entry.oid});
    free(content.bytes);
    s->is_over = s->is_over || !git__graph_goes_on(s->graph);
}

static void read_trees(struct submodules *s, const struct ts_git_set *set) {
    const struct ts_git_graph *graph = s->graph;
    for (uint32_t i = 0; i < graph->total && !s->is_over; i++)
        if (graph->edges[i].type == TS_GIT_TREE && git__set_has(set, i) && may_have_submodules(graph, i))
            read_tree(s, i);
}

/* Sorts the submodules, and removes duplicates. */
static void sort(struct submodules *s) {
    size_t kept = 0;
    qsort(s->items, s->count, sizeof *s->items, compare_submodules);
    for (size_t i = 0; i < s->count; i++)
        if (kept == 0 || compare_submodules(&s->items[kept - 1], &s->items[i]) != 0)
            s->items[kept++] = s->items[i];
    s->count = kept;
}

enum ts_git_error ts_git_graph_added_submodules(struct ts_git_graph *graph, const struct ts_git_set *added,
                                                const struct ts_git_set *base, uint64_t *ret_count,
                                                struct ts_git_fault *ret_fault) {
    struct submodules s = {.graph = graph};
    uint64_t count = 0;
    if (graph->submodules.count > 0)
        read_trees(&s, added);
    if (s.count > 0) {
        sort(&s);
        s.is_known = calloc(s.count, sizeof *s.is_known);
        s.is_over = s.is_over || s.is_known == NULL;
        read_trees(&s, base);
    }
    uint64_t last = 0;
    for (size_t i = 0; i < s.count && !s.is_over; i++) {
        if (s.is_known[i])
            continue;
        count += count == 0 || s.items[i].name != last;
        last = s.items[i].name;
    }
    free(s.items);
    free(s.is_known);
    if (s.is_over)
        return git__graph_ended(graph, ret_fault);
    *ret_count = count;
    return TS_GIT_OK;
}
