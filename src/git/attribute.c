/*
 * Which commit brought a blob to a path.
 *
 *   1. Which trees lead to a blob of the set, directly or through other trees: passes over the graph's
 *      additions and removals, one for each level of folders, without reading anything.
 *   2. One visit over these trees, which keeps of each only the entries that lead there: its digest.
 *   3. The selected commits by (committer's time, id): the digest of each commit's tree beside those of its
 *      parents' trees. What no parent has, it brought; the first to bring it is kept.
 */
#include "graph.h"

#include "base/assert.h"
#include "base/hash64.h"

#include <stdlib.h>
#include <string.h>

#define OCCURRENCES_MAX  ((size_t)10000000)
#define FOLDERS_MAX      1024                /* deeper paths than any file system has */
#define STEPS_MAX        UINT64_C(500000000) /* entries compared: a hostile history is cut, not followed */
#define PARENTS_MAX      4096
#define COMMIT_BYTES_MAX ((size_t)64 << 20)

struct leading {
    uint32_t child;
    uint32_t mode;
    uint32_t name; /* in the names of the worker */
    uint32_t name_len;
};

struct digest {
    uint32_t worker;
    uint32_t count;
    uint64_t first;
};

struct digest_worker {
    struct leading *items;
    size_t count;
    size_t capacity;
    char *names;
    size_t names_len;
    size_t names_capacity;
    bool no_memory;
};

struct found {
    uint32_t blob;
    uint32_t commit;
    uint32_t mode;
    uint32_t path_len;
    char *path;
    uint64_t hash;
};

struct tracing {
    struct ts_git_graph *graph;
    struct ts_git_set *leads; /* blobs of the set, and trees that lead to them */
    struct digest *digests;   /* by dense number */
    uint32_t *dense;          /* by tree: which digest; GIT__NONE for none */
    struct digest_worker *workers;
    atomic_uint_fast64_t digest_bytes; /* of all of them */
    size_t max;
    uint64_t steps;
    bool is_cut;
    bool is_over; /* no more is to be found */
    bool no_memory;

    uint32_t commit; /* under way */
    char *path;
    size_t path_len;
    size_t path_capacity;

    struct found *found;
    size_t found_count;
    size_t found_capacity;
    uint32_t *slots; /* of found, by path and blob */
    size_t slot_count;
};

/* ---- 1: trees that lead to blobs of the set ---- */

static int32_t balance(const struct tracing *t, uint32_t tree) {
    const struct git__edges *edges = &t->graph->edges[tree];
    const uint32_t *list = git__edges_of(t->graph, tree);
    int32_t sum = 0;
    for (uint32_t i = 0; i < edges->added; i++)
        sum += list[i] < t->graph->total && git__set_has(t->leads, list[i]);
    for (uint32_t i = edges->added; i < edges->added + edges->removed; i++)
        sum -= list[i] < t->graph->total && git__set_has(t->leads, list[i]);
    return sum;
}

/* A pass sees the set as it was at its start, so that counts along a chain of bases fit together. */
static bool find_leads(struct tracing *t) {
    const struct ts_git_graph *graph = t->graph;
    int32_t *counts = malloc(((size_t)graph->total + 1) * sizeof *counts);
    struct git__list fresh = {.items = NULL};
    bool done = counts != NULL;
    unsigned passes = 0;
    do {
        fresh.count = 0;
        for (uint32_t i = 0; i < graph->tree_count && done; i++) {
            uint32_t tree = graph->trees[i];
            uint32_t base = graph->edges[tree].base;
            counts[tree] = balance(t, tree) + (base != GIT__NONE ? counts[base] : 0);
            if (counts[tree] > 0 && !git__set_has(t->leads, tree))
                done = git__list_add(&fresh, tree);
        }
        for (size_t i = 0; i < fresh.count; i++)
            (void)git__set_add(t->leads, fresh.items[i]);
    } while (fresh.count > 0 && done && ++passes <= FOLDERS_MAX);
    free(fresh.items);
    free(counts);
    return done;
}

/* ---- 2: digests ---- */

static bool keep_leading(struct digest_worker *worker, const struct ts_git_tree_entry *entry,
                         uint32_t child) {
    if (worker->names_len + entry->name.len > UINT32_MAX ||
        !GIT__GROW(worker->names, worker->names_capacity, worker->names_len + entry->name.len) ||
        !GIT__GROW(worker->items, worker->capacity, worker->count + 1))
        return false;
    memcpy(worker->names + worker->names_len, entry->name.data, entry->name.len);
    worker->items[worker->count++] = (struct leading){.child = child,
                                                      .mode = entry->mode,
                                                      .name = (uint32_t)worker->names_len,
                                                      .name_len = (uint32_t)entry->name.len};
    worker->names_len += entry->name.len;
    return true;
}

/* As keeps_limit of graph.c. */
static bool keeps_limit(struct tracing *t, size_t added) {
    uint64_t grown = (uint64_t)added * 2;
    uint64_t bytes = atomic_fetch_add_explicit(&t->digest_bytes, grown, memory_order_relaxed) + grown;
    return t->graph->options.table_bytes_max == 0 || bytes <= t->graph->options.table_bytes_max;
}

static bool take(void *ctx, unsigned index, const struct ts_git_object *object, void **result) {
    (void)result;
    struct tracing *t = ctx;
    struct digest_worker *worker = &t->workers[index];
    if (object->content.len != object->size)
        return true;
    struct digest digest = {.worker = index, .first = worker->count};
    size_t names_before = worker->names_len;
    struct ts_bytes rest = object->content;
    struct ts_git_tree_entry entry;
    while (ts_git_tree_next(t->graph->repo->hash, &rest, &entry) == TS_GIT_TREE_ENTRY) {
        uint32_t child = git__number_of(t->graph->repo, entry.oid.bytes);
        if (child == GIT__NONE || !git__set_has(t->leads, child) || ts_git_mode_is_submodule(entry.mode))
            continue;
        if (!keep_leading(worker, &entry, child)) {
            worker->no_memory = true;
            return false;
        }
    }
    if (!keeps_limit(t, (worker->count - digest.first) * sizeof *worker->items + worker->names_len -
                            names_before)) {
        worker->no_memory = true;
        return false;
    }
    digest.count = (uint32_t)(worker->count - digest.first);
    t->digests[t->dense[object->number]] = digest;
    return true;
}

static enum ts_git_error make_digests(struct tracing *t, struct ts_git_fault *ret_fault) {
    struct ts_git_graph *graph = t->graph;
    uint32_t count = 0;
    t->dense = malloc(((size_t)graph->total + 1) * sizeof *t->dense);
    t->workers = calloc(graph->list_count, sizeof *t->workers);
    if (t->dense == NULL || t->workers == NULL)
        return git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    for (uint32_t i = 0; i < graph->total; i++)
        t->dense[i] = graph->edges[i].type == TS_GIT_TREE && git__set_has(t->leads, i) ? count++ : GIT__NONE;
    t->digests = calloc((size_t)count + 1, sizeof *t->digests);
    if (t->digests == NULL)
        return git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    struct ts_git_visit_options options = {.threads = graph->list_count,
                                           .types = TS_GIT_TYPE_BIT(TS_GIT_TREE),
                                           .wanted = t->leads,
                                           .memory_bytes = graph->options.memory_bytes,
                                           .spill_dir = graph->options.spill_dir};
    struct ts_git_visitor visitor = {.visit = take, .ctx = t};
    enum ts_git_error error = ts_git_visit(graph->repo, &options, &visitor, NULL, ret_fault);
    if (error == TS_GIT_STOPPED)
        return git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    return error;
}

/* ---- 3: commits ---- */

static struct ts_bytes name_of(const struct tracing *t, const struct digest *digest,
                               const struct leading *item) {
    return ts_bytes_of(t->workers[digest->worker].names + item->name, item->name_len);
}

/* NULL for a worker that has kept none: then the digest is empty. */
static const struct leading *items_of(const struct tracing *t, const struct digest *digest) {
    const struct leading *items = t->workers[digest->worker].items;
    return items ? items + digest->first : NULL;
}

/* As git sorts trees: the name of a folder counts as if it ended with a slash. */
static int compare_names(struct ts_bytes a, bool a_is_tree, struct ts_bytes b, bool b_is_tree) {
    size_t common = a.len < b.len ? a.len : b.len;
    int order = memcmp(a.data, b.data, common);
    if (order != 0)
        return order;
    int a_next = a.len > common ? a.data[common] : a_is_tree ? '/' : 0;
    int b_next = b.len > common ? b.data[common] : b_is_tree ? '/' : 0;
    return (a_next > b_next) - (a_next < b_next);
}

/* The digest of a tree, or of a number that is none: then it is empty. */
static struct digest digest_of(const struct tracing *t, uint32_t number) {
    if (number >= t->graph->total || t->dense[number] == GIT__NONE)
        return (struct digest){.count = 0};
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

/* The path under way has this blob in this commit, and in none of its parents. */
static void bring(struct tracing *t, uint32_t blob, uint32_t mode) {
    uint64_t hash = ts_xxh64_of_bytes(ts_bytes_of(t->path, t->path_len)) ^ blob;
    hash = git__seeded_hash(t->graph->repo, hash);
    if (t->found_count * 2 >= t->slot_count && !grow_slots(t)) {
        t->no_memory = true;
        return;
    }
    size_t slot = (size_t)hash & (t->slot_count - 1);
    for (; t->slots[slot] != GIT__NONE; slot = (slot + 1) & (t->slot_count - 1)) {
        const struct found *f = &t->found[t->slots[slot]];
        if (f->hash == hash && f->blob == blob && f->path_len == t->path_len &&
            memcmp(f->path, t->path, t->path_len) == 0)
            return;
    }
    if (t->found_count >= t->max) {
        t->is_cut = true;
        t->is_over = true;
        return;
    }
    char *path = malloc(t->path_len + 1);
    if (path == NULL || !GIT__GROW(t->found, t->found_capacity, t->found_count + 1)) {
        free(path);
        t->no_memory = true;
        return;
    }
    memcpy(path, t->path, t->path_len);
    path[t->path_len] = '\0';
    t->slots[slot] = (uint32_t)t->found_count;
    t->found[t->found_count++] = (struct found){.blob = blob,
                                                .commit = t->commit,
                                                .mode = mode,
                                                .path_len = (uint32_t)t->path_len,
                                                .path = path,
                                                .hash = hash};
}

/* One parent's tree in step with ours. */
struct beside {
    struct digest digest;
    uint32_t at;
};

/* The child of the same name in a parent, or GIT__NONE. Names only go up, so nothing is looked at twice. */
static uint32_t same_name(const struct tracing *t, struct beside *beside, struct ts_bytes name,
                          bool is_tree) {
    const struct leading *items = items_of(t, &beside->digest);
    for (; beside->at < beside->digest.count; beside->at++) {
        const struct leading *item = &items[beside->at];
        int order =
            compare_names(name_of(t, &beside->digest, item), ts_git_mode_is_tree(item->mode), name, is_tree);
        if (order == 0)
            return item->child;
        if (order > 0)
            break;
    }
    return GIT__NONE;
}

static void compare_trees(struct tracing *t, uint32_t tree, const uint32_t *parents, size_t parent_count,
                          unsigned folders);

static void compare_entry(struct tracing *t, const struct leading *item, struct ts_bytes name,
                          const uint32_t *before, size_t parent_count, unsigned folders) {
    size_t path_len = t->path_len;
    if (!GIT__GROW(t->path, t->path_capacity, path_len + name.len + 1)) {
        t->no_memory = true;
        return;
    }
    memcpy(t->path + path_len, name.data, name.len);
    t->path_len += name.len;
    if (!ts_git_mode_is_tree(item->mode)) {
        if (t->graph->edges[item->child].type == 0)
            bring(t, item->child, item->mode);
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
    if (digest.count == 0)
        return;
    struct beside *beside = calloc(parent_count + 1, sizeof *beside);
    uint32_t *before = calloc(parent_count + 1, sizeof *before);
    if (beside == NULL || before == NULL)
        t->no_memory = true;
    for (size_t p = 0; p < parent_count && !t->no_memory; p++)
        beside[p].digest = digest_of(t, parents[p]);
    for (uint32_t i = 0; i < digest.count && !t->no_memory && !t->is_over; i++) {
        const struct leading *item = &items_of(t, &digest)[i];
        struct ts_bytes name = name_of(t, &digest, item);
        bool is_new = true;
        for (size_t p = 0; p < parent_count; p++) {
            before[p] = same_name(t, &beside[p], name, ts_git_mode_is_tree(item->mode));
            is_new = is_new && before[p] != item->child;
        }
        t->steps += 1 + parent_count;
        if (t->steps > STEPS_MAX) {
            t->is_cut = true;
            t->is_over = true;
        }
        if (is_new && !t->is_over)
            compare_entry(t, item, name, before, parent_count, folders);
    }
    free(beside);
    free(before);
}

static void compare_commit(struct tracing *t, uint32_t commit) {
    const struct ts_git_graph *graph = t->graph;
    const uint32_t *edges = git__edges_of(graph, commit);
    uint32_t tree = edges[0];
    if (tree >= graph->total || !git__set_has(t->leads, tree))
        return;
    uint32_t count = graph->edges[commit].added - GIT__COMMIT_HEAD;
    uint32_t few[8];
    uint32_t *parents = few;
    count = count > PARENTS_MAX ? PARENTS_MAX : count;
    if (count > 8 && (parents = malloc(count * sizeof *parents)) == NULL) {
        t->no_memory = true;
        return;
    }
    size_t known = 0;
    bool is_same = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = edges[GIT__COMMIT_HEAD + i];
        if (parent >= graph->total || graph->edges[parent].type != TS_GIT_COMMIT)
            continue;
        parents[known++] = git__edges_of(graph, parent)[0];
        is_same = is_same || parents[known - 1] == tree;
    }
    t->commit = commit;
    t->path_len = 0;
    if (!is_same)
        compare_trees(t, tree, parents, known, 0);
    if (parents != few)
        free(parents);
}

/* ---- what comes out ---- */

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

static char *text_of(struct ts_bytes bytes) {
    char *text = malloc(bytes.len + 1);
    if (text == NULL)
        return NULL;
    if (bytes.len > 0)
        memcpy(text, bytes.data, bytes.len);
    text[bytes.len] = '\0';
    return text;
}

static enum ts_git_error describe(struct ts_git_graph *graph, const struct ts_git_oid *oid,
                                  struct ts_git_commit_info *ret_info, struct ts_git_fault *ret_fault) {
    struct ts_git_content content;
    struct ts_git_commit commit;
    enum ts_git_error error = ts_git_object_read(graph->repo, oid, COMMIT_BYTES_MAX, &content, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    if (!ts_git_commit_parse(graph->repo->hash, ts_bytes_of(content.bytes, content.len), &commit)) {
        free(content.bytes);
        return git__fault_object(TS_GIT_BAD_OBJECT, graph->repo->hash, oid, NULL, ret_fault);
    }
    *ret_info = (struct ts_git_commit_info){.oid = *oid,
                                            .author_name = text_of(commit.author.name),
                                            .author_mail = text_of(commit.author.mail),
                                            .author_time_s = commit.author.time_s,
                                            .author_zone_minutes = commit.author.zone_minutes,
                                            .commit_time_s = commit.committer.time_s};
    free(content.bytes);
    return TS_GIT_OK;
}

static int compare_occurrences(const void *a, const void *b) {
    const struct ts_git_occurrence *x = a;
    const struct ts_git_occurrence *y = b;
    int order = ts_git_oid_compare(&x->blob, &y->blob);
    if (order == 0) /* commits stand in order already */
        order = (x->commit > y->commit) - (x->commit < y->commit);
    if (order == 0)
        order = ts_bytes_compare(ts_bytes_of(x->path, x->path_len), ts_bytes_of(y->path, y->path_len));
    return order;
}

/* found stands in order of commits: each run of them is one commit of the result. Takes the paths over. */
static enum ts_git_error conclude(struct tracing *t, struct ts_git_occurrences *ret,
                                  struct ts_git_fault *ret_fault) {
    struct ts_git_graph *graph = t->graph;
    enum ts_git_hash hash = graph->repo->hash;
    struct ts_git_occurrences all = {.is_cut = t->is_cut};
    size_t capacity = 0;
    enum ts_git_error error = TS_GIT_OK;
    all.items = calloc(t->found_count + 1, sizeof *all.items);
    if (all.items == NULL)
        return git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    for (size_t i = 0; i < t->found_count && error == TS_GIT_OK; i++) {
        struct found *f = &t->found[i];
        if (i == 0 || f->commit != t->found[i - 1].commit) {
            struct ts_git_oid oid = ts_git_oid_of(hash, git__number_id(graph->repo, f->commit));
            if (!GIT__GROW(all.commits, capacity, all.commit_count + 1))
                error = git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
            else
                error = describe(graph, &oid, &all.commits[all.commit_count], ret_fault);
            if (error != TS_GIT_OK)
                break;
            all.commit_count++;
        }
        all.items[all.count++] =
            (struct ts_git_occurrence){.blob = ts_git_oid_of(hash, git__number_id(graph->repo, f->blob)),
                                       .commit = (uint32_t)(all.commit_count - 1),
                                       .mode = f->mode,
                                       .path = f->path,
                                       .path_len = f->path_len};
        f->path = NULL;
    }
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
    for (unsigned i = 0; t->workers != NULL && i < t->graph->list_count; i++) {
        free(t->workers[i].items);
        free(t->workers[i].names);
    }
    for (size_t i = 0; i < t->found_count; i++)
        free(t->found[i].path);
    free(t->workers);
    free(t->found);
    free(t->slots);
    free(t->path);
    free(t->dense);
    free(t->digests);
    ts_git_set_free(t->leads);
}

static enum ts_git_error trace(struct tracing *t, const struct git__list *commits,
                               struct ts_git_fault *ret_fault) {
    struct sorted_commit *sorted = sort_commits(t->graph, commits);
    t->no_memory = sorted == NULL;
    for (size_t i = 0; i < commits->count && !t->no_memory && !t->is_over; i++)
        compare_commit(t, sorted[i].number);
    free(sorted);
    return t->no_memory ? git__fault(TS_GIT_NO_MEMORY, t->graph->repo->common_dir, ret_fault) : TS_GIT_OK;
}

enum ts_git_error ts_git_graph_attribute(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                         const struct ts_git_set *blobs, size_t max,
                                         struct ts_git_occurrences *ret_occurrences,
                                         struct ts_git_fault *ret_fault) {
    ts_assert(blobs->repo == graph->repo);
    struct tracing t = {.graph = graph, .max = max == 0 || max > OCCURRENCES_MAX ? OCCURRENCES_MAX : max};
    struct git__selected selected = {.commits = {NULL, 0, 0}};
    enum ts_git_error error = ts_git_set_new(graph->repo, &t.leads, ret_fault);
    if (error == TS_GIT_OK) {
        for (uint32_t i = 0; i < graph->total; i++)
            if (graph->edges[i].type == 0 && git__set_has(blobs, i))
                (void)git__set_add(t.leads, i);
        if (!find_leads(&t))
            error = git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    }
    if (error == TS_GIT_OK)
        error = git__select(graph, selection, &selected, ret_fault);
    if (error == TS_GIT_OK)
        error = make_digests(&t, ret_fault);
    if (error == TS_GIT_OK)
        error = trace(&t, &selected.commits, ret_fault);
    if (error == TS_GIT_OK)
        error = conclude(&t, ret_occurrences, ret_fault);
    git__selected_release(&selected);
    tracing_release(&t);
    return error;
}

void ts_git_occurrences_release(struct ts_git_occurrences *occurrences) {
    for (size_t i = 0; i < occurrences->count; i++)
        free(occurrences->items[i].path);
    for (size_t i = 0; i < occurrences->commit_count; i++) {
        free(occurrences->commits[i].author_name);
        free(occurrences->commits[i].author_mail);
    }
    free(occurrences->items);
    free(occurrences->commits);
    *occurrences = (struct ts_git_occurrences){.items = NULL};
}
