/*
 * What is staged and not in HEAD: the files that the next commit would bring.
 */
#include "look_impl.h"
#include "session.h"

#include "git/staged.h"
#include "git/visit.h"

#include <stdlib.h>
#include <string.h>

#define TREE_BYTES_MAX ((size_t)64 << 20)
#define BLOB_BYTES_MAX ((size_t)16 << 20) /* larger ones come in windows */
#define FOLDERS_MAX    4096               /* nesting that no file system has */

struct staged {
    struct scan_session *session;
    struct scan_target *target;
    uint32_t target_index;
    struct ts_git_repo *repo;
    struct scan_looks looks;
    struct scan_arena arena;
    struct known *known; /* files of HEAD, by path */
    size_t known_count;
    size_t known_capacity;
    struct scan_content large; /* the one that is visited in windows */
};

/* ---- HEAD ---- */

struct known {
    struct ts_bytes path;
    struct ts_git_oid oid;
    uint32_t mode;
};

struct pending {
    struct ts_bytes path; /* "" or ending with a slash */
    struct ts_git_oid tree;
    unsigned depth;
};

static int compare_known(const void *a, const void *b) {
    return ts_bytes_compare(((const struct known *)a)->path, ((const struct known *)b)->path);
}

static bool join(struct scan_arena *arena, struct ts_bytes folder, struct ts_bytes name, struct ts_bytes end,
                 struct ts_bytes *ret_path) {
    size_t len = folder.len + name.len + end.len;
    char *path = scan__arena_take(arena, len);
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

/* The first tree of a commit; false when there is no commit yet. */
static bool head_tree(struct ts_git_repo *repo, struct ts_git_oid *ret_tree) {
    struct ts_git_oid head;
    struct ts_git_content content;
    struct ts_git_commit commit;
    if (ts_git_repo_resolve(repo, "HEAD", &head, NULL) != TS_GIT_OK ||
        ts_git_object_read(repo, &head, TREE_BYTES_MAX, &content, NULL) != TS_GIT_OK)
        return false;
    bool done = content.type == TS_GIT_COMMIT &&
                ts_git_commit_parse(ts_git_repo_hash(repo), ts_bytes_of(content.bytes, content.len), &commit);
    if (done)
        *ret_tree = commit.tree;
    free(content.bytes);
    return done;
}

struct trees {
    struct pending *items;
    size_t count;
    size_t capacity;
};

static bool list_tree(struct staged *s, struct trees *trees, const struct pending *tree,
                      struct ts_bytes content) {
    struct ts_git_tree_entry entry;
    while (ts_git_tree_next(s->target->hash, &content, &entry) == TS_GIT_TREE_ENTRY) {
        struct ts_bytes path;
        bool is_tree = ts_git_mode_is_tree(entry.mode);
        if (!join(&s->arena, tree->path, entry.name, is_tree ? TS_BYTES("/") : TS_BYTES(""), &path))
            return false;
        if (!is_tree) {
            if (!SCAN_GROW(s->known, s->known_capacity, s->known_count + 1))
                return false;
            s->known[s->known_count++] = (struct known){path, entry.oid, entry.mode};
        } else if (tree->depth < FOLDERS_MAX) {
            if (!SCAN_GROW(trees->items, trees->capacity, trees->count + 1))
                return false;
            trees->items[trees->count++] = (struct pending){path, entry.oid, tree->depth + 1};
        }
    }
    return true;
}

/* What of HEAD cannot be read counts as changed: better looked at in vain. */
static bool list_head(struct staged *s) {
    struct trees trees = {.items = NULL};
    struct pending top = {.depth = 0};
    bool done = true;
    if (head_tree(s->repo, &top.tree)) {
        done = SCAN_GROW(trees.items, trees.capacity, 1);
        if (done)
            trees.items[trees.count++] = top;
    }
    while (done && trees.count > 0) {
        struct pending tree = trees.items[--trees.count];
        struct ts_git_content content;
        if (ts_git_object_read(s->repo, &tree.tree, TREE_BYTES_MAX, &content, NULL) != TS_GIT_OK)
            continue;
        if (content.type == TS_GIT_TREE)
            done = list_tree(s, &trees, &tree, ts_bytes_of(content.bytes, content.len));
        free(content.bytes);
    }
    free(trees.items);
    if (s->known_count > 0)
        qsort(s->known, s->known_count, sizeof *s->known, compare_known);
    return done;
}

static bool is_in_head(const struct staged *s, const struct ts_git_staged_entry *entry) {
    struct known key = {.path = ts_bytes_of(entry->path, entry->path_len)};
    const struct known *found =
        s->known_count == 0 ? NULL : bsearch(&key, s->known, s->known_count, sizeof *s->known, compare_known);
    return found != NULL && ts_git_oid_equal(&found->oid, &entry->oid);
}

/* ---- blobs ---- */

static void note_outcome(struct staged *s, enum scan_outcome outcome, const struct ts_git_oid *oid) {
    char hex[TS_GIT_OID_HEX_SIZE];
    if (outcome != SCAN_OK)
        scan__session_outcome(s->session, outcome, ts_git_oid_format(s->target->hash, oid, hex));
}

static bool visit_window(void *ctx, unsigned worker, const struct ts_git_object *object, void **result) {
    struct staged *s = ctx;
    struct scan_window window = {
        .bytes = object->content, .at = object->content_at, .is_last = object->is_last};
    struct scan_windows *windows = *result;
    enum scan_outcome outcome = scan__look_window(&s->looks.items[worker], &s->large, &window, &windows);
    *result = windows;
    if (object->is_last)
        note_outcome(s, outcome, &object->oid);
    return !scan__is_stopped(s->session);
}

static void release_windows(void *ctx, void *result) {
    (void)ctx;
    scan__windows_free(result);
}

static enum ts_git_error look_at_large(struct staged *s, const struct scan_content *content,
                                       struct ts_git_visit_stats *ret_stats, struct ts_git_fault *ret_fault) {
    struct ts_git_set *wanted = NULL;
    struct ts_git_visitor visitor = {.visit = visit_window, .release = release_windows, .ctx = s};
    enum ts_git_error error = ts_git_set_new(s->repo, &wanted, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    (void)ts_git_set_add(wanted, &content->oid);
    s->large = *content;
    struct ts_git_visit_options options = {.threads = 1,
                                           .wanted = wanted,
                                           .memory_bytes = scan__session_visit_memory(s->session, 0),
                                           .overlap_bytes = scan__look_overlap(s->target->profile),
                                           .spill_dir = s->session->spill_dir,
                                           .faults = scan__faults_sink(&s->session->faults)};
    error = ts_git_visit(s->repo, &options, &visitor, ret_stats, ret_fault);
    ts_git_set_free(wanted);
    return error == TS_GIT_STOPPED ? TS_GIT_OK : error;
}

static void look_at_entry(struct staged *s, const struct ts_git_staged_entry *entry) {
    struct scan_content content = {.oid = entry->oid,
                                   .target = s->target_index,
                                   .kind = SCAN_CONTENT_STAGED,
                                   .name = ts_bytes_of(entry->path, entry->path_len)};
    struct ts_git_content blob;
    struct ts_git_fault fault;
    struct ts_git_visit_stats stats = {.bytes = 0};
    enum ts_git_error error = ts_git_object_read(s->repo, &entry->oid, BLOB_BYTES_MAX, &blob, &fault);
    if (error == TS_GIT_OK) {
        note_outcome(
            s, scan__look_whole(&s->looks.items[0], &content, ts_bytes_of(blob.bytes, blob.len), NULL, NULL),
            &entry->oid);
        stats.bytes = blob.len;
        free(blob.bytes);
    } else if (error == TS_GIT_TOO_LARGE) {
        error = look_at_large(s, &content, &stats, &fault);
    }
    if (error == TS_GIT_MISSING && ts_git_repo_is_partial(s->repo))
        s->target->row.missing_by_design++;
    else if (error != TS_GIT_OK)
        scan__faults_sink(&s->session->faults).take(&s->session->faults, &fault);
    s->target->row.blobs++;
    s->target->row.bytes += stats.bytes;
    atomic_fetch_add_explicit(&s->session->progress->objects, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->session->progress->bytes, stats.bytes, memory_order_relaxed);
}

static void place_contents(struct staged *s) {
    size_t count;
    const struct scan_content *contents = scan__hits_contents(&s->session->hits, &count);
    for (size_t i = 0; i < count; i++) {
        struct scan_stand stand = {.content = (uint32_t)i,
                                   .commit = TS_REPORT_NONE,
                                   .path = contents[i].path,
                                   .place = TS_PLACE_STAGED};
        if (contents[i].target == s->target_index)
            scan__session_stand(s->session, &stand);
    }
}

enum ts_scan_outcome scan__staged(struct scan_session *session, struct scan_target *target,
                                  struct ts_git_repo *repo, struct ts_scan_error *ret_error) {
    struct staged s = {.session = session,
                       .target = target,
                       .target_index = (uint32_t)(target - session->targets),
                       .repo = repo};
    struct ts_git_staged staged;
    struct ts_git_fault fault;
    if (ts_git_staged_read(repo, &staged, &fault) != TS_GIT_OK) {
        char line[400];
        return scan__fail(ret_error, TS_SCAN_BAD_TARGET, "%s",
                          ts_git_fault_describe(&fault, line, sizeof line));
    }
    atomic_store(&session->progress->stage, TS_SCAN_STAGE_CONTENT);
    unsigned jobs = session->jobs;
    session->jobs = 1;
    bool done = scan__looks_init(&s.looks, session, target->profile) && list_head(&s);
    session->jobs = jobs;
    for (size_t i = 0; done && i < staged.count && !scan__is_stopped(session); i++) {
        const struct ts_git_staged_entry *entry = &staged.items[i];
        if (!entry->is_intent_to_add && !ts_git_mode_is_submodule(entry->mode) && !is_in_head(&s, entry))
            look_at_entry(&s, entry);
    }
    if (done)
        place_contents(&s);
    scan__looks_finish(&s.looks, session, &target->row);
    ts_git_staged_release(&staged);
    scan__arena_release(&s.arena);
    free(s.known);
    return done ? TS_SCAN_DONE : scan__fail(ret_error, TS_SCAN_FAILED, "out of memory");
}
