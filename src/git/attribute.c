/*
 * Finds the commit that first had a blob at a path.
 *
 *   1. Finds the trees that lead to a blob of the set, directly or through other trees. Makes one pass over
 *      the graph's additions and removals for each level of folders. Reads no objects.
 *   2. Makes the digest of a tree when step 3 needs it. The digest is the list of entries that lead to a blob of
 *      the set. It is made from the digest of the tree's base: entries that the tree removes are dropped, and
 *      entries that it adds are added. Most trees change no such entry, and share the digest of their base.
 *   3. Visits the selected commits by (time, id), ancestors first (times.c). Compares the digest of each commit's
 *      tree with the digests of its parents' trees. The commit added the entries that no parent has. For each
 *      entry, the first commit that added it is kept. Further commits that added it are repeats.
 */
#include "graph.h"

#include "base/assert.h"
#include "base/hash64.h"
#include "os/grow.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

#define OCCURRENCES_MAX  ((size_t)10000000)
#define FOLDERS_MAX      1024                /* limit of nested folders, and of passes */
#define STEPS_MAX        UINT64_C(500000000) /* limit of compared entries, against a hostile history */
#define PARENTS_MAX      4096
#define TREES_AHEAD      16 /* trees or commits to prefetch, so that memory accesses overlap */
/* Approximate memory of an occurrence, not counting its path, during collection and sorting. */
#define OCCURRENCE_BYTES 192u
/* Memory of a repeat, during collection and in the result. */
#define REPEAT_BYTES     (2 * sizeof(struct repeat) + sizeof(struct ts_git_repeat))

/* An entry that leads to blobs. Lists of such entries are sorted by rank of the name, then by child and
 * mode. */
struct leading {
    uint32_t rank;
    uint32_t child;
    uint32_t mode;
    uint32_t name;
};

struct leadings {
    struct leading *items;
    size_t count;
    size_t capacity;
};

struct digest {
    uint64_t first; /* index of the digest's first entry in `all` */
    uint32_t count; /* number of entries, or NOT_MADE */
};

#define NOT_MADE UINT32_MAX

struct found {
    uint32_t blob;
    uint32_t commit;
    uint32_t mode;
    uint32_t path_len;
    char *path;
    uint64_t hash;
    bool is_head;
};

struct repeat {
    uint32_t blob;
    uint32_t commit;
};

struct tracing {
    struct ts_git_graph *graph;
    const struct ts_git_set *blobs; /* the blobs to attribute */
    /* True if a commit adds the missing object at some path. Indexed by number of the missing object, minus
     * `total`. NULL: missing objects are ignored. */
    bool *is_added;
    bool without_parents;
    bool with_repeats;
    bool is_head;             /* the head of the selection is being traced */
    struct ts_git_set *leads; /* blobs of the set, trees that lead to them, and objects that these replace */
    struct digest *digests;   /* indexed by the values of `dense` */
    uint32_t *dense;          /* indexed by tree: index of its digest in `digests`; GIT__NONE: no digest */
    struct leadings all;      /* leadings of all digests */
    struct leadings added;    /* entries that the current tree adds to its base */
    struct leadings removed;  /* entries of the base that the current tree removes */
    struct git__list chain;   /* a tree and its bases, while their digests are made */
    uint64_t digest_bytes_max;
    uint64_t found_bytes; /* memory of all occurrences, with their paths */
    uint64_t found_bytes_max;
    size_t max;
    uint64_t steps;
    bool is_cut;
    bool is_stopped;
    bool is_over; /* a limit is reached, or the watch stopped the tracing */
    bool no_memory;

    uint32_t commit; /* the current commit */
    char *path;
    size_t path_len;
    size_t path_capacity;

    struct found *found;
    size_t found_count;
    size_t found_capacity;
    uint32_t *slots; /* hash table of `found`, by path, blob and is_head */
    size_t slot_count;

    struct repeat *repeats;
    size_t repeat_count;
    size_t repeat_capacity;
    bool lacks_repeats;
};

static uint64_t digest_bytes_max(const struct ts_git_graph *graph) {
    uint64_t most = git__graph_memory(graph) / 3;
    uint64_t table = graph->options.table_bytes_max;
    return table != 0 && table < most ? table : most;
}

/* ---- 1: trees that lead to blobs of the set ---- */

/* The state of the search. `fresh` has the objects that the previous pass found; `trees` has the trees that
 * may lead to them. */
struct search {
    struct tracing *t;
    struct ts_git_set *fresh;
    struct git__list found;
    bool is_first;   /* the first pass, which also searches for missing objects */
    bool is_stopped; /* the watch stopped the search */
    uint32_t *trees;
    uint32_t tree_count;
    int32_t *counts; /* indexed by tree: number of fresh entries */
};

static bool is_fresh(const struct search *s, uint32_t number) {
    return number < s->t->graph->total ? git__set_has(s->fresh, number)
                                       : s->is_first && s->t->is_added != NULL;
}

/* Returns the number of fresh entries that a tree adds, minus the number of fresh entries that it removes. */
static int32_t balance(const struct search *s, uint32_t tree) {
    const struct ts_git_graph *graph = s->t->graph;
    const struct git__edges *edges = &graph->edges[tree];
    const uint32_t *list = git__edges_of(graph, tree);
    int32_t sum = 0;
    for (uint32_t i = 0; i < edges->added; i++)
        sum += is_fresh(s, list[i]);
    for (uint32_t i = edges->added; i < edges->added + edges->removed; i++)
        sum -= is_fresh(s, list[i]);
    return sum;
}

static bool lead(struct search *s, uint32_t number) {
    return !git__set_add(s->t->leads, number) || git__list_add(&s->found, number);
}

/* Adds objects whose replacement leads to a blob of the set. Returns false when memory runs out. */
static bool lead_replaced(struct search *s) {
    const struct ts_git_graph *graph = s->t->graph;
    bool done = true;
    for (size_t k = 0; k < GIT__REPLACED_MAX; k++)
        for (size_t i = 0; i < graph->replaced_count && done; i++) {
            const struct git__replaced *pair = &graph->replaced[i];
            if (pair->by < graph->total && pair->number < graph->total && git__set_has(s->t->leads, pair->by))
                done = lead(s, pair->number);
        }
    return done;
}

/* Makes one pass. A tree has the entries of its base, so its count includes the count of its base. Trees that
 * this pass finds are fresh in the next pass. Returns false when memory runs out. */
static bool search_once(struct search *s) {
    const struct ts_git_graph *graph = s->t->graph;
    bool done = true;
    for (size_t i = 0; i < s->found.count; i++)
        (void)git__set_add(s->fresh, s->found.items[i]);
    size_t old = s->found.count;
    for (uint32_t i = 0; i < s->tree_count && done && !s->is_stopped; i++) {
        if (i % GIT__STEPS_BETWEEN == 0)
            s->is_stopped = !git__graph_goes_on(graph);
        uint32_t tree = s->trees[i];
        uint32_t base = graph->edges[tree].base;
        if (i + TREES_AHEAD < s->tree_count)
            __builtin_prefetch(&graph->edges[s->trees[i + TREES_AHEAD]]);
        s->counts[tree] = balance(s, tree) + (base != GIT__NONE ? s->counts[base] : 0);
        if (s->counts[tree] > 0)
            done = lead(s, tree);
    }
    for (size_t i = 0; i < old; i++)
        git__set_remove(s->fresh, s->found.items[i]);
    if (s->found.count > old)
        memmove(s->found.items, s->found.items + old, (s->found.count - old) * sizeof *s->found.items);
    s->found.count -= old;
    return done && lead_replaced(s);
}

/* Removes trees without subtrees from the search: after the first pass only trees are fresh. If there are
 * replacements, removes nothing, because a replacement may be of any type. */
static void pass_over_leaves(struct search *s) {
    const struct ts_git_graph *graph = s->t->graph;
    if (graph->replaced_count > 0)
        return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->tree_count; i++) {
        uint32_t tree = s->trees[i];
        uint32_t base = graph->edges[tree].base;
        bool has_folders = graph->edges[tree].has_folders || (base != GIT__NONE && s->counts[base] == 1);
        s->counts[tree] = has_folders;
        if (has_folders)
            s->trees[kept++] = tree;
    }
    /* Trees that were removed from the search have no fresh entries in any later pass. */
    for (uint32_t i = 0; i < graph->tree_count; i++)
        s->counts[graph->trees[i]] = 0;
    s->tree_count = kept;
}

static bool find_leads(struct tracing *t, struct ts_git_fault *ret_fault) {
    const struct ts_git_graph *graph = t->graph;
    struct search s = {.t = t, .tree_count = graph->tree_count};
    s.counts = calloc((size_t)graph->total + 1, sizeof *s.counts);
    s.trees = malloc(((size_t)graph->tree_count + 1) * sizeof *s.trees);
    bool done =
        s.counts != NULL && s.trees != NULL && ts_git_set_new(graph->repo, &s.fresh, ret_fault) == TS_GIT_OK;
    if (done && graph->tree_count > 0)
        memcpy(s.trees, graph->trees, graph->tree_count * sizeof *s.trees);
    for (uint32_t i = 0; i < graph->total && done; i++)
        if (git__may_be_blob(graph, i) && git__set_has(t->blobs, i))
            done = lead(&s, i);
    done = done && lead_replaced(&s);
    s.is_first = true;
    for (unsigned passes = 0; passes <= FOLDERS_MAX && done && !s.is_stopped; passes++) {
        if (s.found.count == 0 && (!s.is_first || t->is_added == NULL))
            break;
        done = search_once(&s);
        if (s.is_first)
            pass_over_leaves(&s);
        s.is_first = false;
    }
    t->is_stopped = t->is_over = s.is_stopped;
    ts_git_set_free(s.fresh);
    free(s.found.items);
    free(s.trees);
    free(s.counts);
    return done;
}

/* ---- 2: digests ---- */

static int compare_leading(const struct leading *a, const struct leading *b) {
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->child != b->child)
        return a->child < b->child ? -1 : 1;
    return (a->mode > b->mode) - (a->mode < b->mode);
}

static int compare_items(const void *a, const void *b) {
    return compare_leading(a, b);
}

/* Copies the changes that lead to blobs to *ret_kept, and sorts them. Returns false when memory runs out. */
static bool keep_leading(const struct tracing *t, const uint32_t *children, const uint32_t *names,
                         uint32_t count, struct leadings *ret_kept) {
    const struct ts_git_graph *graph = t->graph;
    bool is_sorted = true;
    ret_kept->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool leads = children[i] < graph->total ? git__set_has(t->leads, children[i]) : t->is_added != NULL;
        if (!leads)
            continue;
        if (!TS_GROW(ret_kept->items, ret_kept->capacity, ret_kept->count + 1))
            return false;
        const struct git__name *name = &graph->names.items[names[i]];
        struct leading *item = &ret_kept->items[ret_kept->count++];
        *item =
            (struct leading){.rank = name->rank, .child = children[i], .mode = name->mode, .name = names[i]};
        is_sorted = is_sorted && (ret_kept->count == 1 || compare_leading(item - 1, item) < 0);
    }
    if (!is_sorted)
        qsort(ret_kept->items, ret_kept->count, sizeof *ret_kept->items, compare_items);
    return true;
}

/* Makes the digest of a tree from the digest of its base: drops the removed entries and inserts the added
 * entries. All lists are sorted. Returns false when memory runs out or the digests need more than
 * digest_bytes_max. */
static bool merge(struct tracing *t, const struct digest *base, struct digest *ret_digest) {
    const struct leading *added = t->added.items;
    const struct leading *added_end = added + t->added.count;
    const struct leading *removed = t->removed.items;
    const struct leading *removed_end = removed + t->removed.count;
    size_t most = t->all.count + base->count + t->added.count;
    if ((uint64_t)most * 2 * sizeof *t->all.items > t->digest_bytes_max ||
        !TS_GROW(t->all.items, t->all.capacity, most))
        return false;
    struct leading *first = t->all.items + t->all.count;
    struct leading *to = first;
    for (uint32_t i = 0; i < base->count; i++) {
        const struct leading *item = &t->all.items[base->first + i];
        while (removed < removed_end && compare_leading(removed, item) < 0)
            removed++;
        if (removed < removed_end && compare_leading(removed, item) == 0) {
            removed++;
            continue;
        }
        while (added < added_end && compare_leading(added, item) < 0)
            *to++ = *added++;
        *to++ = *item;
    }
    while (added < added_end)
        *to++ = *added++;
    *ret_digest = (struct digest){.first = t->all.count, .count = (uint32_t)(to - first)};
    t->all.count += ret_digest->count;
    return true;
}

static bool digest_tree(struct tracing *t, uint32_t tree) {
    const struct ts_git_graph *graph = t->graph;
    const struct git__edges *edges = &graph->edges[tree];
    const uint32_t *children = git__edges_of(graph, tree);
    const uint32_t *names = git__edge_names_of(graph, tree);
    struct digest base = {.count = 0};
    if (edges->base != GIT__NONE && t->dense[edges->base] != GIT__NONE)
        base = t->digests[t->dense[edges->base]];
    if (!keep_leading(t, children, names, edges->added, &t->added) ||
        !keep_leading(t, children + edges->added, names + edges->added, edges->removed, &t->removed))
        return false;
    if (t->added.count == 0 && t->removed.count == 0) {
        t->digests[t->dense[tree]] = base;
        return true;
    }
    return merge(t, &base, &t->digests[t->dense[tree]]);
}

/* Prepares the table of digests. A tree that leads to no blob has no digest, because the digest would be
 * empty. */
static enum ts_git_error prepare_digests(struct tracing *t, struct ts_git_fault *ret_fault) {
    struct ts_git_graph *graph = t->graph;
    uint32_t count = 0;
    t->dense = git__table_new((size_t)graph->total + 1, sizeof *t->dense);
    /* Empty lists need an address, too, because pointers refer to them. */
    if (t->dense == NULL || !TS_GROW(t->all.items, t->all.capacity, 1) ||
        !TS_GROW(t->added.items, t->added.capacity, 1) || !TS_GROW(t->removed.items, t->removed.capacity, 1))
        return git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    for (uint32_t i = 0; i < graph->total; i++)
        t->dense[i] = graph->edges[i].type == TS_GIT_TREE && git__set_has(t->leads, i) ? count++ : GIT__NONE;
    t->digests = calloc((size_t)count + 1, sizeof *t->digests);
    if (t->digests == NULL)
        return git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    for (uint32_t i = 0; i < count; i++)
        t->digests[i].count = NOT_MADE;
    return TS_GIT_OK;
}

/* Makes the digest of a tree, after the digests of its bases. Returns false when memory runs out. */
static bool make_digest(struct tracing *t, uint32_t tree) {
    t->chain.count = 0;
    for (uint32_t at = tree;
         at != GIT__NONE && t->dense[at] != GIT__NONE && t->digests[t->dense[at]].count == NOT_MADE;
         at = t->graph->edges[at].base)
        if (!git__list_add(&t->chain, at))
            return false;
    bool done = true;
    while (t->chain.count > 0 && done)
        done = digest_tree(t, t->chain.items[--t->chain.count]);
    return done;
}

/* ---- 3: commits ---- */

static struct ts_bytes name_of(const struct tracing *t, const struct leading *item) {
    const struct git__name *name = &t->graph->names.items[item->name];
    return ts_bytes_of(name->bytes, name->len);
}

/* Returns the digest of a tree; an empty digest if the tree has none. A digest is made when it is first
 * needed: few commits need few trees, however many trees lead to the blobs. */
static struct digest digest_of(struct tracing *t, uint32_t number) {
    if (number >= t->graph->total || t->dense[number] == GIT__NONE)
        return (struct digest){.count = 0};
    if (t->digests[t->dense[number]].count == NOT_MADE && !make_digest(t, number)) {
        t->no_memory = true;
        return (struct digest){.count = 0};
    }
    return t->digests[t->dense[number]];
}

static bool grow_slots(struct tracing *t) {
    size_t larger = t->slot_count == 0 ? 1024 : t->slot_count * 2;
    uint32_t *slots = malloc(larger * sizeof *slots);
    if (slots == NULL)
        return false;
    memset(slots, 0xff, larger * sizeof *slots);
    for (size_t i = 0; i < t->found_count; i++) {
        size_t slot = (size_t)t->found[i].hash & (larger - 1);
        while (slots[slot] != GIT__NONE)
            slot = (slot + 1) & (larger - 1);
        slots[slot] = (uint32_t)i;
    }
    free(t->slots);
    t->slots = slots;
    t->slot_count = larger;
    return true;
}

/* Returns whether the memory limit allows another path of this length. The factor 3 is for the path itself,
 * and for the buffer of the current path, which may be twice as large. */
static bool has_room(const struct tracing *t, size_t path_len) {
    return t->found_bytes + 3 * (uint64_t)path_len + OCCURRENCE_BYTES <= t->found_bytes_max;
}

/* Records that the current commit adds a blob that an earlier commit added at the same path. */
static void repeat(struct tracing *t, uint32_t blob) {
    const struct repeat *last = t->repeat_count > 0 ? &t->repeats[t->repeat_count - 1] : NULL;
    if (!t->with_repeats || t->is_head || (last != NULL && last->blob == blob && last->commit == t->commit))
        return;
    if (t->found_bytes + REPEAT_BYTES > t->found_bytes_max || t->repeat_count >= OCCURRENCES_MAX) {
        t->lacks_repeats = true;
        return;
    }
    if (!TS_GROW(t->repeats, t->repeat_capacity, t->repeat_count + 1)) {
        t->no_memory = true;
        return;
    }
    t->found_bytes += REPEAT_BYTES;
    t->repeats[t->repeat_count++] = (struct repeat){.blob = blob, .commit = t->commit};
}

/* Records that the current commit has this blob at the current path, and that none of its parents does. */
static void bring(struct tracing *t, uint32_t blob, uint32_t mode) {
    uint64_t hash = ts_xxh64_of_bytes(ts_bytes_of(t->path, t->path_len)) ^ blob;
    hash = git__seeded_hash(t->graph->repo, hash ^ (t->is_head ? UINT64_C(1) << 63 : 0));
    if (t->found_count * 2 >= t->slot_count && !grow_slots(t)) {
        t->no_memory = true;
        return;
    }
    size_t slot = (size_t)hash & (t->slot_count - 1);
    for (; t->slots[slot] != GIT__NONE; slot = (slot + 1) & (t->slot_count - 1)) {
        const struct found *f = &t->found[t->slots[slot]];
        if (f->hash == hash && f->blob == blob && f->is_head == t->is_head && f->path_len == t->path_len &&
            memcmp(f->path, t->path, t->path_len) == 0) {
            repeat(t, blob);
            return;
        }
    }
    if (t->found_count >= t->max || !has_room(t, t->path_len)) {
        t->is_cut = true;
        t->is_over = true;
        return;
    }
    char *path = malloc(t->path_len + 1);
    if (path == NULL || !TS_GROW(t->found, t->found_capacity, t->found_count + 1)) {
        free(path);
        t->no_memory = true;
        return;
    }
    memcpy(path, t->path, t->path_len);
    path[t->path_len] = '\0';
    t->found_bytes += t->path_len + OCCURRENCE_BYTES;
    t->slots[slot] = (uint32_t)t->found_count;
    t->found[t->found_count++] = (struct found){.blob = blob,
                                                .commit = t->commit,
                                                .mode = mode,
                                                .path_len = (uint32_t)t->path_len,
                                                .path = path,
                                                .hash = hash,
                                                .is_head = t->is_head};
}

/* Records the blob of an entry, and the replacements of the blob, if they are in the set. */
static void bring_all(struct tracing *t, uint32_t blob, uint32_t mode) {
    for (unsigned i = 0; blob < t->graph->total && i <= GIT__REPLACED_MAX; i++) {
        if (git__may_be_blob(t->graph, blob) && git__set_has(t->blobs, blob))
            bring(t, blob, mode);
        blob = git__replacement_of(t->graph, blob);
    }
}

/* A parent's tree, walked in parallel with the commit's tree. */
struct beside {
    struct digest digest;
    uint32_t at;
};

/* Returns the child with the name of `of` in a parent's tree, or GIT__NONE. If several entries have this
 * name, prefers the entry whose child is the child of `of`. Callers ask for names in ascending order, so each
 * entry of the parent is passed once. */
static uint32_t same_name(const struct tracing *t, struct beside *beside, const struct leading *of) {
    const struct leading *items = t->all.items + beside->digest.first;
    while (beside->at < beside->digest.count && items[beside->at].rank < of->rank)
        beside->at++;
    uint32_t first = GIT__NONE;
    for (uint32_t i = beside->at; i < beside->digest.count && items[i].rank == of->rank; i++) {
        if (items[i].child == of->child)
            return of->child;
        first = first == GIT__NONE ? items[i].child : first;
    }
    return first;
}

static void compare_trees(struct tracing *t, uint32_t tree, const uint32_t *parents, size_t parent_count,
                          unsigned folders);

static void compare_entry(struct tracing *t, const struct leading *item, const uint32_t *before,
                          size_t parent_count, unsigned folders) {
    struct ts_bytes name = name_of(t, item);
    size_t path_len = t->path_len;
    if (item->child >= t->graph->total) {
        t->is_added[item->child - t->graph->total] = true;
        return;
    }
    if (!has_room(t, path_len + name.len + 1)) {
        t->is_cut = true;
        t->is_over = true;
        return;
    }
    if (!TS_GROW(t->path, t->path_capacity, path_len + name.len + 1)) {
        t->no_memory = true;
        return;
    }
    if (name.len > 0)
        memcpy(t->path + path_len, name.data, name.len);
    t->path_len += name.len;
    if (!ts_git_mode_is_tree(item->mode)) {
        bring_all(t, item->child, item->mode);
    } else if (folders >= FOLDERS_MAX) {
        t->is_cut = true;
    } else {
        t->path[t->path_len++] = '/';
        compare_trees(t, item->child, before, parent_count, folders + 1);
    }
    t->path_len = path_len;
}

static void compare_trees(struct tracing *t, uint32_t tree, const uint32_t *parents, size_t parent_count,
                          unsigned folders) {
    struct digest digest = digest_of(t, tree);
    uint32_t other = git__replacement_of(t->graph, tree);
    if (other != GIT__NONE && folders < FOLDERS_MAX)
        compare_trees(t, other, parents, parent_count, folders + 1);
    if (digest.count == 0)
        return;
    struct beside *beside = calloc(parent_count + 1, sizeof *beside);
    uint32_t *before = calloc(parent_count + 1, sizeof *before);
    if (beside == NULL || before == NULL)
        t->no_memory = true;
    if (!git__graph_goes_on(t->graph))
        t->is_stopped = t->is_over = true;
    for (size_t p = 0; p < parent_count && !t->no_memory; p++)
        beside[p].digest = digest_of(t, parents[p]);
    for (uint32_t i = 0; i < digest.count && !t->no_memory && !t->is_over; i++) {
        const struct leading item = t->all.items[digest.first + i]; /* a copy: new digests move the items */
        bool is_new = true;
        for (size_t p = 0; p < parent_count; p++) {
            before[p] = same_name(t, &beside[p], &item);
            is_new = is_new && before[p] != item.child;
        }
        t->steps += 1 + parent_count;
        if (t->steps > STEPS_MAX) {
            t->is_cut = true;
            t->is_over = true;
        }
        if (is_new && !t->is_over)
            compare_entry(t, &item, before, parent_count, folders);
    }
    free(beside);
    free(before);
}

static void compare_commit(struct tracing *t, uint32_t commit) {
    const struct ts_git_graph *graph = t->graph;
    const uint32_t *edges = git__edges_of(graph, commit);
    uint32_t tree = edges[0];
    if (tree >= graph->total && t->is_added != NULL)
        t->is_added[tree - graph->total] = true;
    if (tree >= graph->total || !git__set_has(t->leads, tree))
        return;
    uint32_t count = t->without_parents ? 0 : graph->edges[commit].added - GIT__COMMIT_HEAD;
    uint32_t few[8];
    uint32_t *parents = few;
    count = count > PARENTS_MAX ? PARENTS_MAX : count;
    size_t most = (size_t)count * (graph->replaced_count > 0 ? GIT__REPLACED_MAX + 1 : 1);
    if (most > 8 && (parents = malloc(most * sizeof *parents)) == NULL) {
        t->no_memory = true;
        return;
    }
    size_t known = 0;
    bool is_same = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = edges[GIT__COMMIT_HEAD + i];
        /* The replacement of a parent is also a parent. */
        for (unsigned k = 0; parent < graph->total && k <= GIT__REPLACED_MAX; k++) {
            if (graph->edges[parent].type == TS_GIT_COMMIT) {
                parents[known++] = git__edges_of(graph, parent)[0];
                is_same = is_same || parents[known - 1] == tree;
            }
            parent = git__replacement_of(graph, parent);
        }
    }
    t->commit = commit;
    t->path_len = 0;
    if (!is_same)
        compare_trees(t, tree, parents, known, 0);
    if (parents != few)
        free(parents);
}

/* ---- results ---- */

struct sorted_commit {
    int64_t time_s;
    struct ts_git_oid oid;
    uint32_t number;
};

static int compare_commits(const void *a, const void *b) {
    const struct sorted_commit *x = a;
    const struct sorted_commit *y = b;
    int order = (x->time_s > y->time_s) - (x->time_s < y->time_s);
    return order != 0 ? order : ts_git_oid_compare(&x->oid, &y->oid);
}

static struct sorted_commit *sort_commits(const struct ts_git_graph *graph, const struct git__list *commits) {
    struct sorted_commit *sorted = calloc(commits->count + 1, sizeof *sorted);
    for (size_t i = 0; sorted != NULL && i < commits->count; i++)
        sorted[i] = (struct sorted_commit){
            .time_s = git__commit_time(graph, commits->items[i]),
            .oid = ts_git_oid_of(graph->repo->hash, git__number_id(graph->repo, commits->items[i])),
            .number = commits->items[i]};
    if (sorted != NULL && commits->count > 0)
        qsort(sorted, commits->count, sizeof *sorted, compare_commits);
    return sorted;
}

/* Reads the fields of a commit for reports. If the commit cannot be read, reports a fault; then *ret_info has
 * id and time, but no author. */
static enum ts_git_error describe(struct ts_git_graph *graph, uint32_t number,
                                  struct ts_git_commit_info *ret_info, struct ts_git_fault *ret_fault) {
    struct ts_git_oid oid = ts_git_oid_of(graph->repo->hash, git__number_id(graph->repo, number));
    struct ts_git_fault fault;
    enum ts_git_error error = ts_git_commit_info_read(graph->repo, &oid, ret_info, &fault);
    if (error == TS_GIT_OK) {
        ret_info->commit_time_s = git__commit_time(graph, number);
        return error;
    }
    if (error != TS_GIT_NO_MEMORY) {
        git__fault_send(&graph->options.faults, &fault);
        *ret_info = (struct ts_git_commit_info){.oid = oid,
                                                .author_name = strdup(""),
                                                .author_mail = strdup(""),
                                                .commit_time_s = git__commit_time(graph, number)};
        if (ret_info->author_name != NULL && ret_info->author_mail != NULL)
            return TS_GIT_OK;
        ts_git_commit_info_release(ret_info);
    }
    return git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
}

static int compare_occurrences(const void *a, const void *b) {
    const struct ts_git_occurrence *x = a;
    const struct ts_git_occurrence *y = b;
    int order = ts_git_oid_compare(&x->blob, &y->blob);
    if (order == 0) /* commits are already sorted */
        order = (x->commit > y->commit) - (x->commit < y->commit);
    if (order == 0)
        order = ts_bytes_compare(ts_bytes_of(x->path, x->path_len), ts_bytes_of(y->path, y->path_len));
    return order;
}

/* Adds the repeats to the result. Returns false when memory runs out. */
static bool conclude_repeats(const struct tracing *t, struct ts_git_occurrences *all) {
    struct ts_git_repo *repo = t->graph->repo;
    all->lacks_repeats = t->lacks_repeats;
    if (t->repeat_count == 0)
        return true;
    all->repeats = calloc(t->repeat_count, sizeof *all->repeats);
    for (size_t i = 0; all->repeats != NULL && i < t->repeat_count; i++)
        all->repeats[all->repeat_count++] = (struct ts_git_repeat){
            .blob = ts_git_oid_of(repo->hash, git__number_id(repo, t->repeats[i].blob)),
            .commit = ts_git_oid_of(repo->hash, git__number_id(repo, t->repeats[i].commit))};
    return all->repeats != NULL;
}

/* Makes the result. t->found is sorted by commit: each run of equal commits is one commit of the result. The
 * result takes over the paths. */
static enum ts_git_error conclude(struct tracing *t, struct ts_git_occurrences *ret,
                                  struct ts_git_fault *ret_fault) {
    struct ts_git_graph *graph = t->graph;
    enum ts_git_hash hash = graph->repo->hash;
    struct ts_git_occurrences all = {.is_cut = t->is_cut, .is_stopped = t->is_stopped};
    size_t capacity = 0;
    enum ts_git_error error = TS_GIT_OK;
    all.items = calloc(t->found_count + 1, sizeof *all.items);
    if (all.items == NULL)
        return git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    for (size_t i = 0; i < t->found_count && error == TS_GIT_OK; i++) {
        struct found *f = &t->found[i];
        if (i == 0 || f->commit != t->found[i - 1].commit || f->is_head != t->found[i - 1].is_head) {
            if (!TS_GROW(all.commits, capacity, all.commit_count + 1))
                error = git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
            else
                error = describe(graph, f->commit, &all.commits[all.commit_count], ret_fault);
            if (error != TS_GIT_OK)
                break;
            all.commit_count++;
        }
        all.items[all.count++] =
            (struct ts_git_occurrence){.blob = ts_git_oid_of(hash, git__number_id(graph->repo, f->blob)),
                                       .commit = (uint32_t)(all.commit_count - 1),
                                       .mode = f->mode,
                                       .is_head = f->is_head,
                                       .path = f->path,
                                       .path_len = f->path_len};
        f->path = NULL;
    }
    if (error == TS_GIT_OK && !conclude_repeats(t, &all))
        error = git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    if (error != TS_GIT_OK) {
        ts_git_occurrences_release(&all);
        return error;
    }
    if (all.count > 0)
        qsort(all.items, all.count, sizeof *all.items, compare_occurrences);
    *ret = all;
    return TS_GIT_OK;
}

static void tracing_release(struct tracing *t) {
    for (size_t i = 0; i < t->found_count; i++)
        free(t->found[i].path);
    free(t->all.items);
    free(t->added.items);
    free(t->removed.items);
    free(t->found);
    free(t->repeats);
    free(t->slots);
    free(t->path);
    free(t->dense);
    free(t->digests);
    free(t->chain.items);
    ts_git_set_free(t->leads);
}

static enum ts_git_error trace(struct tracing *t, const struct git__list *commits,
                               struct ts_git_fault *ret_fault) {
    struct sorted_commit *sorted = sort_commits(t->graph, commits);
    t->no_memory = sorted == NULL;
    for (size_t i = 0; i < commits->count && !t->no_memory && !t->is_over; i++) {
        if (i + TREES_AHEAD < commits->count) {
            uint32_t tree = git__edges_of(t->graph, sorted[i + TREES_AHEAD / 2].number)[0];
            __builtin_prefetch(git__edges_of(t->graph, sorted[i + TREES_AHEAD].number));
            if (tree < t->graph->total)
                __builtin_prefetch(&t->dense[tree]);
        }
        compare_commit(t, sorted[i].number);
    }
    free(sorted);
    return t->no_memory ? git__fault(TS_GIT_NO_MEMORY, t->graph->repo->common_dir, ret_fault) : TS_GIT_OK;
}

static void trace_head(struct tracing *t, uint32_t head) {
    if (head >= t->graph->total || t->graph->edges[head].type != TS_GIT_COMMIT)
        return;
    t->is_head = true;
    t->without_parents = true;
    compare_commit(t, head);
}

/* Prepares what all steps need: orders, trees that lead to blobs, and the selected commits. */
static enum ts_git_error prepare(struct tracing *t, const struct ts_git_selection *selection,
                                 struct git__selected *ret_selected, struct ts_git_fault *ret_fault) {
    struct ts_git_graph *graph = t->graph;
    enum ts_git_error error = TS_GIT_OK;
    if (!git__graph_order(graph) || !git__graph_order_times(graph) || !find_leads(t, ret_fault))
        error = git__graph_ended(graph, ret_fault);
    if (error == TS_GIT_OK && !t->is_over)
        error = git__select(graph, selection, ret_selected, ret_fault);
    if (error == TS_GIT_STOPPED)
        t->is_stopped = t->is_over = true;
    return error == TS_GIT_STOPPED ? TS_GIT_OK : error;
}

enum ts_git_error ts_git_graph_attribute(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                         const struct ts_git_set *blobs, size_t max,
                                         struct ts_git_occurrences *ret_occurrences,
                                         struct ts_git_fault *ret_fault) {
    ts_assert(blobs->repo == graph->repo);
    struct tracing t = {.graph = graph,
                        .blobs = blobs,
                        .without_parents = selection->without_parents,
                        .with_repeats = selection->with_repeats && !selection->without_parents,
                        .digest_bytes_max = digest_bytes_max(graph),
                        .found_bytes_max = git__graph_memory(graph) / 2,
                        .max = max == 0 || max > OCCURRENCES_MAX ? OCCURRENCES_MAX : max};
    struct git__selected selected = {.commits = {NULL, 0, 0}};
    enum ts_git_error error = ts_git_set_new(graph->repo, &t.leads, ret_fault);
    if (error == TS_GIT_OK)
        error = prepare(&t, selection, &selected, ret_fault);
    if (error == TS_GIT_OK && !t.is_over)
        error = prepare_digests(&t, ret_fault);
    if (error == TS_GIT_OK && !t.is_over)
        error = trace(&t, &selected.commits, ret_fault);
    if (error == TS_GIT_OK && !t.is_over && selection->head != NULL)
        trace_head(&t, git__number_of(graph->repo, selection->head->bytes));
    if (error == TS_GIT_OK && t.no_memory)
        error = git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    if (error == TS_GIT_OK)
        error = conclude(&t, ret_occurrences, ret_fault);
    git__selected_release(&selected);
    tracing_release(&t);
    return error;
}

enum ts_git_error git__find_added(struct ts_git_graph *graph, const struct git__list *commits, bool *is_added,
                                  bool *ret_is_whole, struct ts_git_fault *ret_fault) {
    struct ts_git_set *none = NULL;
    struct tracing t = {.graph = graph,
                        .digest_bytes_max = digest_bytes_max(graph),
                        .found_bytes_max = git__graph_memory(graph) / 2};
    enum ts_git_error error = ts_git_set_new(graph->repo, &none, ret_fault);
    t.blobs = none;
    t.is_added = is_added;
    if (error == TS_GIT_OK)
        error = ts_git_set_new(graph->repo, &t.leads, ret_fault);
    if (error == TS_GIT_OK &&
        (!git__graph_order(graph) || !git__graph_order_times(graph) || !find_leads(&t, ret_fault)))
        error = git__graph_ended(graph, ret_fault);
    if (error == TS_GIT_OK && !t.is_over)
        error = prepare_digests(&t, ret_fault);
    if (error == TS_GIT_OK && !t.is_over)
        error = trace(&t, commits, ret_fault);
    *ret_is_whole = error == TS_GIT_OK && !t.is_over && !t.is_cut && !t.is_stopped;
    tracing_release(&t);
    ts_git_set_free(none);
    return error;
}

void ts_git_occurrences_release(struct ts_git_occurrences *occurrences) {
    for (size_t i = 0; i < occurrences->count; i++)
        free(occurrences->items[i].path);
    for (size_t i = 0; i < occurrences->commit_count; i++)
        ts_git_commit_info_release(&occurrences->commits[i]);
    free(occurrences->items);
    free(occurrences->commits);
    free(occurrences->repeats);
    *occurrences = (struct ts_git_occurrences){.items = NULL};
}
