/*
 * Finds what was added to a history: see past.h.
 *
 *   1. Visits commits, trees and tags in new files once. This finds damage, as the visit of a whole history
 *      does. Trees are kept in memory for the third step.
 *   2. Follows commits and tags from the refs down to commits of the past.
 *   3. Compares the tree of each new commit with the trees of its parents, to find the entries that no parent
 *      has at the same path. These entries include everything new in the repository.
 */
#include "past_impl.h"

#include "os/grow.h"

#include "base/hash64.h"

#include <stdlib.h>
#include <string.h>

#define TREES_BYTES_MAX ((size_t)64 << 20)
#define OBJECT_MAX      ((size_t)64 << 20)
#define FOLDERS_MAX     1024
#define PARENTS_MAX     64
#define ITEMS_MAX       ((size_t)1000000)
/* If there are more than COMMITS_LEAST + (commits of the past) / COMMITS_SHARE new commits, reading the whole
 * history is as fast as continuing the past. */
#define COMMITS_LEAST   256u
#define COMMITS_SHARE   64u

/* ---- trees in memory ---- */

struct tree {
    uint32_t number; /* GIT__NONE: free */
    struct ts_bytes content;
};

struct trees {
    struct tree *slots;
    size_t slot_count;
    size_t count;
    size_t bytes;
};

static struct tree *tree_slot(const struct trees *trees, uint32_t number) {
    size_t at = (size_t)ts_xxh64_of_id(number) & (trees->slot_count - 1);
    while (trees->slots[at].number != GIT__NONE && trees->slots[at].number != number)
        at = (at + 1) & (trees->slot_count - 1);
    return &trees->slots[at];
}

static bool trees_grow(struct trees *trees) {
    struct trees larger = {.slot_count = trees->slot_count == 0 ? 1024 : trees->slot_count * 2,
                           .count = trees->count,
                           .bytes = trees->bytes};
    larger.slots = malloc(larger.slot_count * sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    memset(larger.slots, 0xff, larger.slot_count * sizeof *larger.slots);
    for (size_t i = 0; i < trees->slot_count; i++)
        if (trees->slots[i].number != GIT__NONE)
            *tree_slot(&larger, trees->slots[i].number) = trees->slots[i];
    free(trees->slots);
    *trees = larger;
    return true;
}

/* Adds a tree, and takes over its bytes. On failure, frees them and returns false. */
static bool trees_put(struct trees *trees, uint32_t number, uint8_t *bytes, size_t len) {
    if ((trees->count + 1) * 2 > trees->slot_count && !trees_grow(trees)) {
        free(bytes);
        return false;
    }
    struct tree *slot = tree_slot(trees, number);
    if (slot->number == number) {
        free(bytes);
        return true;
    }
    *slot = (struct tree){.number = number, .content = ts_bytes_of(bytes, len)};
    trees->count++;
    trees->bytes += len;
    return true;
}

static void trees_release(struct trees *trees) {
    for (size_t i = 0; i < trees->slot_count; i++)
        if (trees->slots[i].number != GIT__NONE)
            free((void *)(uintptr_t)trees->slots[i].content.data);
    free(trees->slots);
}

/* ---- the state of reading ---- */

struct news {
    struct ts_git_repo *repo;
    struct git__past_reading past;
    struct ts_git_news result;
    struct trees trees;
    struct git__list commits; /* new commits */
    struct git__list queue;
    struct git__list tips; /* the present tips */
    char *path;
    size_t path_len;
    size_t path_capacity;
    enum ts_git_news_kind kind;
    uint32_t commit; /* the commit whose trees are compared */
    bool is_over;    /* the past cannot be continued */
};

static struct ts_git_oid id_of(const struct news *n, uint32_t number) {
    return ts_git_oid_of(n->repo->hash, git__number_id(n->repo, number));
}

/* Returns the number of an object. If the object is missing, returns GIT__NONE, and the past cannot be
 * continued. */
static uint32_t number_of(struct news *n, const struct ts_git_oid *oid) {
    uint32_t number = git__number_of(n->repo, oid->bytes);
    n->is_over = n->is_over || number == GIT__NONE;
    return number;
}

/* Reads an object. The caller frees its bytes. On failure, the past cannot be continued. */
static bool read_one(struct news *n, uint32_t number, struct ts_git_content *ret_content) {
    struct git__work work = {.steps_left = UINT64_MAX};
    struct ts_git_oid oid = id_of(n, number);
    n->is_over =
        n->is_over || git__object_read(n->repo, &oid, OBJECT_MAX, NULL, &work, ret_content) != TS_GIT_OK;
    return !n->is_over;
}

/* Compares two entries in git's order: the name of a folder counts as if it ended with a slash. */
static int compare_entries(const struct ts_git_tree_entry *a, const struct ts_git_tree_entry *b) {
    size_t common = a->name.len < b->name.len ? a->name.len : b->name.len;
    int order = memcmp(a->name.data, b->name.data, common);
    int end_a = a->name.len > common ? a->name.data[common] : ts_git_mode_is_tree(a->mode) ? '/' : 0;
    int end_b = b->name.len > common ? b->name.data[common] : ts_git_mode_is_tree(b->mode) ? '/' : 0;
    return order != 0 ? order : end_a - end_b;
}

/* Returns true if an entry in `rest` has the name of `of`. Git's order puts only names that begin with that
 * name between a file and a folder of the same name. */
static bool is_repeated(const struct news *n, struct ts_bytes rest, const struct ts_git_tree_entry *of) {
    struct ts_git_tree_entry next;
    while (ts_git_tree_next(n->repo->hash, &rest, &next) == TS_GIT_TREE_ENTRY &&
           next.name.len >= of->name.len && memcmp(next.name.data, of->name.data, of->name.len) == 0)
        if (next.name.len == of->name.len)
            return true;
    return false;
}

/* Returns whether a tree is in git's order. Trees are compared entry by entry, so they need this order. */
static bool is_sorted(const struct news *n, struct ts_bytes tree) {
    struct ts_git_tree_entry entry;
    struct ts_git_tree_entry last = {.mode = 0};
    enum ts_git_tree_step step;
    bool is_first = true;
    while ((step = ts_git_tree_next(n->repo->hash, &tree, &entry)) == TS_GIT_TREE_ENTRY) {
        if ((!is_first && compare_entries(&last, &entry) >= 0) || is_repeated(n, tree, &entry))
            return false;
        last = entry;
        is_first = false;
    }
    return step == TS_GIT_TREE_END;
}

/* ---- 1: objects in new files ---- */

static bool check_tree(struct news *n, struct ts_bytes content) {
    struct ts_git_tree_entry entry;
    bool is_sound = is_sorted(n, content);
    while (is_sound && ts_git_tree_next(n->repo->hash, &content, &entry) == TS_GIT_TREE_ENTRY)
        if (ts_git_mode_is_submodule(entry.mode))
            git__graph_submodule(n->past.graph, entry.name);
    return is_sound;
}

/* Checks an object in a new file. Only one thread calls this function. */
static bool check_fresh(void *ctx, unsigned worker, const struct ts_git_object *object, void **result) {
    struct news *n = ctx;
    struct ts_git_commit commit;
    struct ts_git_tag tag;
    bool is_sound = object->content.len == object->size && !object->is_other_copy;
    (void)worker;
    (void)result;
    if (is_sound && object->type == TS_GIT_TREE)
        is_sound = check_tree(n, object->content);
    else if (is_sound && object->type == TS_GIT_COMMIT)
        is_sound = ts_git_commit_parse(n->repo->hash, object->content, &commit);
    else if (is_sound && object->type == TS_GIT_TAG)
        is_sound = ts_git_tag_parse(n->repo->hash, object->content, &tag);
    if (is_sound && object->type == TS_GIT_TREE && n->trees.bytes + object->size <= TREES_BYTES_MAX) {
        uint8_t *copy = malloc(object->content.len + 1);
        if (copy != NULL && object->content.len > 0)
            memcpy(copy, object->content.data, object->content.len);
        is_sound = copy != NULL && trees_put(&n->trees, object->number, copy, object->content.len);
    }
    n->is_over = n->is_over || !is_sound;
    return !n->is_over;
}

static void count_fault(void *ctx, const struct ts_git_fault *fault) {
    struct news *n = ctx;
    (void)fault;
    n->is_over = true;
}

static void visit_fresh(struct news *n, const struct ts_git_graph_options *options) {
    struct ts_git_visit_options visit = {
        .threads = 1,
        .types = TS_GIT_TYPE_BIT(TS_GIT_COMMIT) | TS_GIT_TYPE_BIT(TS_GIT_TREE) | TS_GIT_TYPE_BIT(TS_GIT_TAG),
        .verify = TS_GIT_TYPE_BIT(TS_GIT_COMMIT) | TS_GIT_TYPE_BIT(TS_GIT_TAG),
        .wanted = n->past.fresh,
        .memory_bytes = options->memory_bytes,
        .spill_dir = options->spill_dir,
        .watch = options->watch,
        .faults = {.take = count_fault, .ctx = n}};
    struct ts_git_visitor visitor = {.visit = check_fresh, .ctx = n};
    if (ts_git_set_count(n->past.fresh) > 0 &&
        ts_git_visit(n->repo, &visit, &visitor, NULL, NULL) != TS_GIT_OK)
        n->is_over = true;
}

/* ---- 2: commits and tags ---- */

/* Records that refs reach the object. Returns true if no ref had reached it before. If refs reached the
 * object before with another type, the object is damaged, and the past cannot be continued. */
static bool reach(struct news *n, uint32_t number, enum ts_git_type type) {
    struct git__edges *edges = &n->past.graph->edges[number];
    if (git__set_has(n->past.reached, number)) {
        n->is_over = n->is_over || edges->type != type;
        return false;
    }
    (void)git__set_add(n->past.reached, number);
    edges->type = (uint8_t)type;
    n->result.stats.commits += type == TS_GIT_COMMIT;
    n->result.stats.trees += type == TS_GIT_TREE;
    n->result.stats.blobs += type == TS_GIT_BLOB;
    n->result.stats.tags += type == TS_GIT_TAG;
    if (type != TS_GIT_TREE)
        (void)git__set_add(n->result.added, number);
    return true;
}

static void enqueue(struct news *n, const struct ts_git_oid *oid, enum ts_git_type type) {
    uint32_t number = number_of(n, oid);
    if (!n->is_over && reach(n, number, type))
        n->is_over = !git__list_add(&n->queue, number);
}

static void add_parents(struct news *n, struct git__list *list, struct git__edges *edges,
                        struct ts_bytes lines) {
    struct ts_git_oid parent;
    uint32_t first = edges->added;
    while (!n->is_over && ts_git_commit_next_parent(n->repo->hash, &lines, &parent)) {
        uint32_t number = number_of(n, &parent);
        bool is_known = false;
        for (uint32_t i = first; i < edges->added; i++)
            is_known = is_known || list->items[edges->start + i] == number;
        if (is_known)
            continue;
        enqueue(n, &parent, TS_GIT_COMMIT);
        n->is_over = n->is_over || !git__list_add(list, number);
        edges->added++;
    }
    n->is_over = n->is_over || edges->added > PARENTS_MAX;
}

static void take_commit(struct news *n, uint32_t number, struct ts_bytes content) {
    struct git__list *list = &n->past.graph->lists[0];
    struct git__edges edges = {.base = GIT__NONE, .type = TS_GIT_COMMIT, .start = list->count};
    struct ts_git_commit commit;
    if (!ts_git_commit_parse(n->repo->hash, content, &commit)) {
        n->is_over = true;
        return;
    }
    uint64_t time = (uint64_t)commit.committer.time_s;
    n->is_over = n->is_over || !git__list_add(list, number_of(n, &commit.tree)) ||
                 !git__list_add(list, (uint32_t)time) || !git__list_add(list, (uint32_t)(time >> 32)) ||
                 !git__list_add(&n->commits, number) ||
                 n->commits.count > COMMITS_LEAST + n->past.commit_count / COMMITS_SHARE;
    edges.added = GIT__COMMIT_HEAD;
    add_parents(n, list, &edges, commit.parents);
    n->past.graph->edges[number] = edges;
}

static void take_tag(struct news *n, uint32_t number, struct ts_bytes content) {
    struct git__list *list = &n->past.graph->lists[0];
    struct git__edges edges = {.base = GIT__NONE, .type = TS_GIT_TAG, .start = list->count, .added = 1};
    struct ts_git_tag tag;
    if (!ts_git_tag_parse(n->repo->hash, content, &tag) ||
        (tag.target_type != TS_GIT_COMMIT && tag.target_type != TS_GIT_TAG)) {
        n->is_over = true;
        return;
    }
    enqueue(n, &tag.target, tag.target_type);
    n->is_over = n->is_over || !git__list_add(list, number_of(n, &tag.target));
    n->past.graph->edges[number] = edges;
}

/* Adds a present ref. If a new ref names a tree or a blob, the whole history must be read. */
static void take_tip(struct news *n, const struct ts_git_ref *ref) {
    struct ts_git_content content;
    uint32_t number = number_of(n, &ref->oid);
    n->is_over = n->is_over || !git__list_add(&n->tips, number);
    if (n->is_over || git__set_has(n->past.reached, number) || !read_one(n, number, &content))
        return;
    if (content.type == TS_GIT_COMMIT || content.type == TS_GIT_TAG)
        enqueue(n, &ref->oid, content.type);
    else
        n->is_over = true;
    free(content.bytes);
}

static void take_refs(struct news *n, const struct ts_git_refs *refs) {
    bool has_head = false;
    for (size_t i = 0; i < refs->count && !n->is_over; i++) {
        take_tip(n, &refs->items[i]);
        if (strcmp(refs->items[i].name, "HEAD") != 0)
            continue;
        has_head = true;
        n->result.head = refs->items[i].oid;
    }
    while (n->queue.count > 0 && !n->is_over) {
        uint32_t number = n->queue.items[--n->queue.count];
        enum ts_git_type expected = (enum ts_git_type)n->past.graph->edges[number].type;
        struct ts_git_content content;
        if (!read_one(n, number, &content))
            break;
        if (content.type != expected)
            n->is_over = true;
        else if (content.type == TS_GIT_COMMIT)
            take_commit(n, number, ts_bytes_of(content.bytes, content.len));
        else
            take_tag(n, number, ts_bytes_of(content.bytes, content.len));
        free(content.bytes);
    }
    n->is_over = n->is_over || !has_head;
}

/* Returns whether the present refs reach everything that the refs of the past reached. */
static bool is_kept(struct news *n) {
    const struct ts_git_graph *graph = n->past.graph;
    struct ts_git_set *seen = NULL;
    if (ts_git_set_new(n->repo, &seen, NULL) != TS_GIT_OK)
        return false;
    for (size_t i = 0; i < n->tips.count; i++) {
        uint32_t at = n->tips.items[i];
        while (at < graph->total && git__set_add(seen, at) && graph->edges[at].type == TS_GIT_TAG)
            at = git__edges_of(graph, at)[0];
    }
    for (size_t i = graph->order.count; i > 0; i--) {
        uint32_t commit = graph->order.items[i - 1];
        const uint32_t *edges = git__edges_of(graph, commit);
        for (uint32_t k = GIT__COMMIT_HEAD; git__set_has(seen, commit) && k < graph->edges[commit].added; k++)
            (void)git__set_add(seen, edges[k]);
    }
    bool is_all = true;
    for (size_t i = 0; i < n->past.tips.count && is_all; i++)
        is_all = git__set_has(seen, n->past.tips.items[i]);
    ts_git_set_free(seen);
    return is_all;
}

/* ---- 3: trees ---- */

static struct ts_bytes tree_of(struct news *n, uint32_t number) {
    struct ts_git_content content;
    struct tree *slot = n->trees.slot_count > 0 ? tree_slot(&n->trees, number) : NULL;
    if (slot != NULL && slot->number == number)
        return slot->content;
    if (!read_one(n, number, &content))
        return (struct ts_bytes){NULL, 0};
    if (content.type != TS_GIT_TREE || !is_sorted(n, ts_bytes_of(content.bytes, content.len)) ||
        n->trees.bytes + content.len > 2 * TREES_BYTES_MAX) {
        free(content.bytes);
        n->is_over = true;
        return (struct ts_bytes){NULL, 0};
    }
    n->is_over = n->is_over || !trees_put(&n->trees, number, content.bytes, content.len);
    return n->is_over ? (struct ts_bytes){NULL, 0} : tree_slot(&n->trees, number)->content;
}

/* Returns the number of a commit's tree, or GIT__NONE on failure. A past has no numbers of trees, so the
 * first call for a past commit reads the commit. */
static uint32_t root_of(struct news *n, uint32_t commit) {
    uint32_t *edges = n->past.graph->lists[0].items + n->past.graph->edges[commit].start;
    struct ts_git_content content;
    struct ts_git_commit parsed;
    if (edges[0] != GIT__NONE)
        return edges[0];
    if (!read_one(n, commit, &content))
        return GIT__NONE;
    if (content.type == TS_GIT_COMMIT &&
        ts_git_commit_parse(n->repo->hash, ts_bytes_of(content.bytes, content.len), &parsed))
        edges[0] = number_of(n, &parsed.tree);
    free(content.bytes);
    n->is_over = n->is_over || edges[0] == GIT__NONE;
    return edges[0];
}

static void add_item(struct news *n, const struct ts_git_oid *blob) {
    char *path = malloc(n->path_len + 1);
    if (path == NULL || n->result.count >= ITEMS_MAX ||
        !TS_GROW(n->result.items, n->result.capacity, n->result.count + 1)) {
        free(path);
        n->is_over = true;
        return;
    }
    if (n->path_len > 0)
        memcpy(path, n->path, n->path_len);
    path[n->path_len] = '\0';
    n->result.items[n->result.count++] = (struct ts_git_news_item){
        .kind = n->kind, .blob = *blob, .commit = id_of(n, n->commit), .path = path, .path_len = n->path_len};
}

/* A parent's tree, walked in parallel with the commit's tree. Both trees are sorted. */
struct beside {
    struct ts_bytes rest;
};

static bool same_name(const struct news *n, struct beside *beside, const struct ts_git_tree_entry *of,
                      struct ts_git_tree_entry *ret_entry) {
    struct ts_bytes at = beside->rest;
    struct ts_git_tree_entry entry;
    while (ts_git_tree_next(n->repo->hash, &at, &entry) == TS_GIT_TREE_ENTRY) {
        int order = compare_entries(&entry, of);
        if (order <= 0)
            beside->rest = at;
        if (order == 0)
            *ret_entry = entry;
        if (order >= 0)
            return order == 0;
    }
    return false;
}

static void compare_trees(struct news *n, uint32_t tree, const uint32_t *parents, size_t count,
                          unsigned folders);

/* Handles an entry that no parent has. `before` contains the trees that the parents have under the
 * same name. */
static void take_entry(struct news *n, const struct ts_git_tree_entry *entry, const uint32_t *before,
                       size_t count, unsigned folders) {
    uint32_t number = number_of(n, &entry->oid);
    size_t path_len = n->path_len;
    bool is_tree = ts_git_mode_is_tree(entry->mode);
    if (n->is_over || folders >= FOLDERS_MAX ||
        !TS_GROW(n->path, n->path_capacity, path_len + entry->name.len + 1)) {
        n->is_over = true;
        return;
    }
    if (n->kind != TS_GIT_NEWS_HEAD_LOST)
        (void)reach(n, number, is_tree ? TS_GIT_TREE : TS_GIT_BLOB);
    memcpy(n->path + path_len, entry->name.data, entry->name.len);
    n->path_len += entry->name.len;
    if (is_tree) {
        n->path[n->path_len++] = '/';
        compare_trees(n, number, before, count, folders + 1);
    } else {
        add_item(n, &entry->oid);
    }
    n->path_len = path_len;
}

static void compare_trees(struct news *n, uint32_t tree, const uint32_t *parents, size_t count,
                          unsigned folders) {
    struct beside beside[PARENTS_MAX];
    uint32_t before[PARENTS_MAX];
    struct ts_git_tree_entry entry;
    enum ts_git_tree_step step = TS_GIT_TREE_END;
    for (size_t i = 0; i < count && !n->is_over; i++)
        beside[i].rest = tree_of(n, parents[i]);
    struct ts_bytes rest = n->is_over ? (struct ts_bytes){NULL, 0} : tree_of(n, tree);
    while (!n->is_over && (step = ts_git_tree_next(n->repo->hash, &rest, &entry)) == TS_GIT_TREE_ENTRY) {
        size_t known = 0;
        bool is_new = !ts_git_mode_is_submodule(entry.mode);
        for (size_t i = 0; i < count && is_new; i++) {
            struct ts_git_tree_entry same;
            if (!same_name(n, &beside[i], &entry, &same))
                continue;
            is_new = !ts_git_oid_equal(&same.oid, &entry.oid);
            if (ts_git_mode_is_tree(same.mode) && ts_git_mode_is_tree(entry.mode))
                before[known++] = number_of(n, &same.oid);
        }
        if (is_new && !n->is_over)
            take_entry(n, &entry, before, known, folders);
    }
    n->is_over = n->is_over || step == TS_GIT_TREE_BAD;
}

static void compare_commit(struct news *n, uint32_t commit, const struct ts_git_watch *watch) {
    const struct ts_git_graph *graph = n->past.graph;
    uint32_t roots[PARENTS_MAX];
    size_t count = 0;
    uint32_t tree = root_of(n, commit);
    bool is_same = false;
    if (watch->go_on != NULL && !watch->go_on(watch->ctx, 0))
        n->is_over = true;
    for (uint32_t k = GIT__COMMIT_HEAD; k < graph->edges[commit].added && !n->is_over; k++) {
        roots[count] = root_of(n, git__edges_of(graph, commit)[k]);
        is_same = is_same || roots[count++] == tree;
    }
    if (n->is_over || is_same)
        return;
    (void)reach(n, tree, TS_GIT_TREE);
    n->kind = TS_GIT_NEWS_BROUGHT;
    n->commit = commit;
    compare_trees(n, tree, roots, count, 0);
}

static void compare_heads(struct news *n) {
    uint32_t now = number_of(n, &n->result.head);
    const struct git__edges *edges = n->past.graph->edges;
    if (n->is_over || now == n->past.head)
        return;
    if (edges[now].type != TS_GIT_COMMIT || edges[n->past.head].type != TS_GIT_COMMIT) {
        n->is_over = true;
        return;
    }
    uint32_t roots[2] = {root_of(n, now), root_of(n, n->past.head)};
    if (n->is_over || roots[0] == roots[1])
        return;
    n->commit = now;
    n->kind = TS_GIT_NEWS_HEAD_HAS;
    compare_trees(n, roots[0], &roots[1], 1, 0);
    n->kind = TS_GIT_NEWS_HEAD_LOST;
    compare_trees(n, roots[1], &roots[0], 1, 0);
}

/* ---- the whole search ---- */

static void news_release(struct news *n) {
    trees_release(&n->trees);
    git__past_reading_release(&n->past);
    ts_git_set_free(n->result.added);
    for (size_t i = 0; i < n->result.count; i++)
        free(n->result.items[i].path);
    free(n->result.items);
    free(n->commits.items);
    free(n->queue.items);
    free(n->tips.items);
    free(n->path);
}

bool ts_git_news_read(struct ts_git_repo *repo, const struct ts_git_graph_options *options,
                      const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN], struct ts_bytes past,
                      struct ts_git_news *ret_news) {
    struct ts_git_refs refs;
    struct news n = {.repo = repo};
    if (git__numbers_fill(repo, NULL, NULL) != TS_GIT_OK ||
        ts_git_refs_list(repo, NULL, &refs, NULL) != TS_GIT_OK)
        return false;
    n.past.graph = git__graph_empty(repo, options);
    n.is_over = n.past.graph == NULL || ts_git_set_new(repo, &n.result.added, NULL) != TS_GIT_OK ||
                ts_git_set_new(repo, &n.past.graph->cut, NULL) != TS_GIT_OK ||
                !git__past_read(repo, key, past, &n.past);
    if (!n.is_over)
        visit_fresh(&n, options);
    if (!n.is_over)
        take_refs(&n, &refs);
    n.is_over = n.is_over || !git__graph_order_times(n.past.graph) || !is_kept(&n);
    for (size_t i = 0; i < n.commits.count && !n.is_over; i++)
        compare_commit(&n, n.commits.items[i], &options->watch);
    if (!n.is_over)
        compare_heads(&n);
    ts_git_refs_release(&refs);
    bool done = !n.is_over;
    if (done) {
        *ret_news = n.result;
        ret_news->graph = n.past.graph;
        ret_news->reached = n.past.reached;
        n.past.graph = NULL;
        n.past.reached = NULL;
        n.result = (struct ts_git_news){.graph = NULL};
    }
    news_release(&n);
    return done;
}

void ts_git_news_release(struct ts_git_news *news) {
    for (size_t i = 0; i < news->count; i++)
        free(news->items[i].path);
    free(news->items);
    ts_git_graph_free(news->graph);
    ts_git_set_free(news->reached);
    ts_git_set_free(news->added);
    *news = (struct ts_git_news){.graph = NULL};
}
