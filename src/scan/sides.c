#include "sides.h"

#include "look_impl.h"
#include "option_names.h"
#include "os/grow.h"

#include "git/repo.h"

#include <stdlib.h>
#include <string.h>

/* Each side may take 1/SIDE_SHARE of the memory: a small number of trees can describe an enormous number of
 * files. */
#define SIDE_SHARE  8
/* The memory for a file or folder, not counting its path: its row in a list that grows by doubling and is
 * then copied, and the overhead of the arena. */
#define ENTRY_BYTES (3 * sizeof(struct folder) + 16)

struct folder {
    struct ts_bytes path; /* "" or ending with a slash */
    struct ts_git_oid tree;
    bool is_in_head; /* for a folder of the index: HEAD has the same folder */
};

struct folders {
    struct folder *items;
    size_t count;
    size_t capacity;
};

enum listing { LISTED, LISTED_TOO_MUCH, LISTED_NO_MEMORY };

struct lister {
    struct scan_sides *sides;
    struct scan_pass *pass;
    struct scan_target *target;
    struct ts_git_repo *repo;
    struct folders sparse;       /* folders of the index, sorted by path */
    struct folders pending;      /* trees to list */
    struct scan_side submodules; /* submodules of the parents */
    struct scan_side *side;      /* the side that receives the files of the pending trees */
    uint64_t memory_left;        /* memory left for that side */
};

static int compare_files(const void *a, const void *b) {
    const struct scan_side_file *x = a;
    const struct scan_side_file *y = b;
    int order = ts_bytes_compare(x->path, y->path);
    return order != 0 ? order : ts_git_oid_compare(&x->oid, &y->oid);
}

static int compare_folders(const void *a, const void *b) {
    return ts_bytes_compare(((const struct folder *)a)->path, ((const struct folder *)b)->path);
}

static bool join(struct ts_arena *arena, struct ts_bytes folder, struct ts_bytes name, struct ts_bytes end,
                 struct ts_bytes *ret_path) {
    size_t len = folder.len + name.len + end.len;
    char *path = ts_arena_take(arena, len);
    if (path == NULL)
        return false;
    if (folder.len > 0)
        memcpy(path, folder.data, folder.len);
    memcpy(path + folder.len, name.data, name.len);
    if (end.len > 0)
        memcpy(path + folder.len + name.len, end.data, end.len);
    *ret_path = ts_bytes_of(path, len);
    return true;
}

static bool add_file(struct scan_side *side, const struct scan_side_file *file) {
    if (!TS_GROW(side->items, side->capacity, side->count + 1))
        return false;
    side->items[side->count++] = *file;
    return true;
}

static bool add_folder(struct folders *folders, const struct folder *folder) {
    if (!TS_GROW(folders->items, folders->capacity, folders->count + 1))
        return false;
    folders->items[folders->count++] = *folder;
    return true;
}

/* ---- trees ---- */

/* Returns true if the index has the same folder with the same tree. Records this in the folder of the
 * index. */
static bool is_sparse_and_same(struct lister *l, const struct folder *folder) {
    struct folder *found = l->sparse.count == 0 ? NULL
                                                : bsearch(folder, l->sparse.items, l->sparse.count,
                                                          sizeof *l->sparse.items, compare_folders);
    if (found == NULL || !ts_git_oid_equal(&found->tree, &folder->tree))
        return false;
    found->is_in_head = true;
    return true;
}

static enum listing list_entry(struct lister *l, const struct folder *parent,
                               const struct ts_git_tree_entry *entry) {
    struct ts_bytes path;
    bool is_tree = ts_git_mode_is_tree(entry->mode);
    size_t taken = parent->path.len + entry->name.len + ENTRY_BYTES;
    if (taken > l->memory_left)
        return LISTED_TOO_MUCH;
    l->memory_left -= taken;
    if (!join(&l->sides->arena, parent->path, entry->name, is_tree ? TS_BYTES("/") : TS_BYTES(""), &path))
        return LISTED_NO_MEMORY;
    bool done = true;
    if (ts_git_mode_is_submodule(entry->mode)) {
        done = l->side == &l->sides->staged ||
               add_file(&l->submodules, &(struct scan_side_file){path, entry->oid});
    } else if (!is_tree) {
        done = add_file(l->side, &(struct scan_side_file){path, entry->oid});
    } else {
        struct folder folder = {.path = path, .tree = entry->oid};
        if (l->side != &l->sides->head || !is_sparse_and_same(l, &folder))
            done = add_folder(&l->pending, &folder);
    }
    return done ? LISTED : LISTED_NO_MEMORY;
}

static void note_fault(struct lister *l, const struct folder *folder, enum ts_git_error error,
                       const struct ts_git_fault *fault) {
    char hex[TS_GIT_OID_HEX_SIZE];
    if (l->side != &l->sides->staged)
        return;
    if (error == TS_GIT_MISSING && ts_git_repo_keeps_promises(l->repo))
        l->target->row.missing_by_design++;
    else if (error != TS_GIT_OK)
        scan__faults_sink(&l->pass->faults).take(&l->pass->faults, fault);
    else
        scan__fault(&l->pass->faults,
                    "object %s: a folder of the index that is not a valid tree; run "
                    "'git fsck'",
                    ts_git_oid_format(l->target->hash, &folder->tree, hex));
}

static enum listing list_tree(struct lister *l, const struct folder *folder) {
    struct ts_git_content content;
    struct ts_git_fault fault;
    struct ts_git_tree_entry entry;
    enum ts_git_tree_step step = TS_GIT_TREE_BAD;
    enum listing listing = LISTED;
    enum ts_git_error error =
        ts_git_object_read(l->repo, &folder->tree, scan__pass_object_max(l->pass), &content, &fault);
    if (error != TS_GIT_OK) {
        note_fault(l, folder, error, &fault);
        return LISTED;
    }
    struct ts_bytes rest = ts_bytes_of(content.bytes, content.len);
    while (content.type == TS_GIT_TREE && listing == LISTED &&
           (step = ts_git_tree_next(l->target->hash, &rest, &entry)) == TS_GIT_TREE_ENTRY)
        listing = list_entry(l, folder, &entry);
    if (step == TS_GIT_TREE_BAD)
        note_fault(l, folder, TS_GIT_OK, NULL);
    free(content.bytes);
    return listing;
}

/* Lists a tree and everything below it. */
static enum listing list_all(struct lister *l, struct scan_side *side, const struct folder *top) {
    enum listing listing = LISTED;
    if (l->side != side)
        l->memory_left = l->pass->memory_bytes / SIDE_SHARE;
    l->side = side;
    l->pending.count = 0;
    if (!add_folder(&l->pending, top))
        return LISTED_NO_MEMORY;
    while (listing == LISTED && l->pending.count > 0 && !scan__is_stopped(l->pass)) {
        struct folder folder = l->pending.items[--l->pending.count];
        listing = list_tree(l, &folder);
    }
    return listing;
}

/* ---- the sides ---- */

/* Finds the tree of a commit. Returns false if the object is not a commit, or cannot be read. */
static bool tree_of(struct ts_git_repo *repo, const struct ts_git_oid *oid, size_t object_max,
                    struct ts_git_oid *ret_tree) {
    struct ts_git_content content;
    struct ts_git_commit commit;
    if (ts_git_object_read(repo, oid, object_max, &content, NULL) != TS_GIT_OK)
        return false;
    bool done = content.type == TS_GIT_COMMIT &&
                ts_git_commit_parse(ts_git_repo_hash(repo), ts_bytes_of(content.bytes, content.len), &commit);
    if (done)
        *ret_tree = commit.tree;
    free(content.bytes);
    return done;
}

static enum listing list_index(struct lister *l, const struct ts_git_staged *index) {
    for (size_t i = 0; i < index->count; i++) {
        const struct ts_git_staged_entry *entry = &index->items[i];
        struct ts_bytes path = ts_bytes_of(entry->path, entry->path_len);
        bool done = true;
        if (entry->is_intent_to_add || ts_git_mode_is_submodule(entry->mode))
            continue;
        if (ts_git_mode_is_tree(entry->mode))
            done = add_folder(&l->sparse, &(struct folder){.path = path, .tree = entry->oid});
        else
            done = add_file(&l->sides->staged, &(struct scan_side_file){path, entry->oid});
        if (!done)
            return LISTED_NO_MEMORY;
    }
    if (l->sparse.count > 0)
        qsort(l->sparse.items, l->sparse.count, sizeof *l->sparse.items, compare_folders);
    return LISTED;
}

/* Lists the files of one side. Omits and reports files that do not fit into memory. */
static enum listing list_side(struct lister *l, struct scan_side *side, const struct folder *top) {
    enum listing listing = list_all(l, side, top);
    if (listing != LISTED_TOO_MUCH)
        return listing;
    bool is_index = side == &l->sides->staged;
    scan__fault(&l->pass->faults, "the files of %s exceed the memory limit: %s; raise " SCAN_OPTION_MEMORY,
                is_index ? "the index" : "HEAD",
                is_index ? "the rest is not scanned"
                         : "staged secrets that are already in HEAD may be reported");
    return LISTED;
}

static void sort(struct scan_side *side) {
    if (side->count > 0)
        qsort(side->items, side->count, sizeof *side->items, compare_files);
}

/* Lists the files of the parents. HEAD is the first parent. Before the first commit there are no parents. */
static enum listing list_parents(struct lister *l, struct folder *top) {
    struct scan_sides *sides = l->sides;
    enum listing listing = LISTED;
    if (ts_git_staged_parents(l->repo, &sides->parents, &sides->parent_count, NULL) != TS_GIT_OK)
        return LISTED_NO_MEMORY;
    for (size_t i = 0; i < sides->parent_count && listing == LISTED; i++)
        if (tree_of(l->repo, &sides->parents[i], scan__pass_object_max(l->pass), &top->tree))
            listing = list_side(l, i == 0 ? &sides->head : &sides->merged, top);
    return listing;
}

/* Counts the submodules of the index that no parent has. */
static void count_submodules(struct lister *l, const struct ts_git_staged *index) {
    sort(&l->submodules);
    for (size_t i = 0; i < index->count; i++) {
        const struct ts_git_staged_entry *entry = &index->items[i];
        struct scan_side_file submodule = {ts_bytes_of(entry->path, entry->path_len), entry->oid};
        l->target->row.submodules +=
            ts_git_mode_is_submodule(entry->mode) && !scan__side_has(&l->submodules, &submodule);
    }
}

static bool keep_same(struct scan_sides *sides, const struct folder *folder) {
    struct scan_side_file same = {.oid = folder->tree};
    return join(&sides->arena, TS_BYTES(""), folder->path, TS_BYTES(""), &same.path) &&
           add_file(&sides->same, &same);
}

bool scan__sides_unfold(struct scan_sides *sides, struct scan_pass *pass, struct scan_target *target,
                        struct ts_git_repo *repo) {
    struct lister l = {.sides = sides, .pass = pass, .target = target, .repo = repo};
    enum listing listing = LISTED;
    for (size_t i = 0; listing == LISTED && i < sides->same.count; i++) {
        struct folder folder = {.path = sides->same.items[i].path, .tree = sides->same.items[i].oid};
        listing = list_side(&l, &sides->merged, &folder);
    }
    free(l.pending.items);
    free(l.submodules.items);
    sort(&sides->merged);
    return listing == LISTED;
}

enum ts_scan_outcome scan__sides_list(struct scan_sides *sides, struct scan_pass *pass,
                                      struct scan_target *target, struct ts_git_repo *repo,
                                      const struct ts_git_staged *index, struct ts_scan_error *ret_error) {
    struct lister l = {.sides = sides, .pass = pass, .target = target, .repo = repo};
    struct folder top = {.is_in_head = false};
    *sides = (struct scan_sides){.head = {.items = NULL}};
    enum listing listing = list_index(&l, index);
    if (listing == LISTED)
        listing = list_parents(&l, &top);
    count_submodules(&l, index);
    for (size_t i = 0; listing == LISTED && i < l.sparse.count; i++)
        if (l.sparse.items[i].is_in_head)
            listing = keep_same(sides, &l.sparse.items[i]) ? LISTED : LISTED_NO_MEMORY;
        else
            listing = list_side(&l, &sides->staged, &l.sparse.items[i]);
    free(l.sparse.items);
    free(l.pending.items);
    free(l.submodules.items);
    sort(&sides->head);
    sort(&sides->merged);
    sort(&sides->staged);
    return listing == LISTED ? TS_SCAN_DONE : scan__fail(ret_error, TS_SCAN_FAILED, "out of memory");
}

void scan__sides_release(struct scan_sides *sides) {
    ts_arena_release(&sides->arena);
    free(sides->head.items);
    free(sides->merged.items);
    free(sides->same.items);
    free(sides->staged.items);
    free(sides->parents);
    *sides = (struct scan_sides){.head = {.items = NULL}};
}

bool scan__side_has(const struct scan_side *side, const struct scan_side_file *file) {
    return side->count > 0 &&
           bsearch(file, side->items, side->count, sizeof *side->items, compare_files) != NULL;
}
