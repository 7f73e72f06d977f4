#include "git/uncommitted.h"

#include "hash.h"
#include "os/grow.h"
#include "os/read.h"
#include "repo_impl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OBJECT_MAX   ((size_t)64 << 20)    /* larger trees are ignored */
#define COMPARED_MAX (UINT64_C(256) << 20) /* bytes of files that are compared with their ids */
#define BUFFER_SIZE  ((size_t)64 << 10)    /* at least the longest link */

struct folder {
    char *path; /* "" or ending with a slash */
    struct ts_git_oid tree;
};

struct search {
    struct ts_git_repo *repo;
    const struct ts_git_staged *index;
    const struct ts_git_watch *watch;
    int root;
    bool *is_committed; /* indexed by position in the index: HEAD has the same entry */
    struct folder *pending;
    size_t pending_count;
    size_t pending_capacity;
    uint8_t *buffer; /* BUFFER_SIZE bytes of a file */
    uint64_t left;   /* bytes that may still be compared */
};

static bool goes_on(const struct search *s) {
    return s->watch == NULL || s->watch->go_on == NULL || s->watch->go_on(s->watch->ctx, 0);
}

/* ---- HEAD ---- */

static bool add_folder(struct search *s, char *path, const struct ts_git_oid *tree) {
    if (path == NULL || !TS_GROW(s->pending, s->pending_capacity, s->pending_count + 1)) {
        free(path);
        return false;
    }
    s->pending[s->pending_count++] = (struct folder){path, *tree};
    return true;
}

/* Marks the index entry of a file as committed, or adds a folder that has entries to the pending folders. In
 * a sparse index, an entry may be a folder. Returns false when memory runs out. */
static bool mark_entry(struct search *s, const char *folder, const struct ts_git_tree_entry *entry) {
    bool is_tree = ts_git_mode_is_tree(entry->mode);
    size_t folder_len = strlen(folder);
    size_t len = folder_len + entry->name.len + is_tree;
    char *path = malloc(len + 1);
    if (path == NULL)
        return false;
    memcpy(path, folder, folder_len);
    memcpy(path + folder_len, entry->name.data, entry->name.len);
    if (is_tree)
        path[len - 1] = '/';
    path[len] = '\0';
    size_t at = ts_git_staged_find(s->index, path);
    const struct ts_git_staged_entry *found = at < s->index->count ? &s->index->items[at] : NULL;
    bool is_same = found != NULL && strcmp(found->path, path) == 0;
    if (is_same)
        s->is_committed[at] = ts_git_oid_equal(&found->oid, &entry->oid);
    if (is_tree && !is_same && found != NULL && strncmp(found->path, path, len) == 0)
        return add_folder(s, path, &entry->oid);
    free(path);
    return true;
}

static bool mark_tree(struct search *s, const struct folder *folder) {
    struct ts_git_content content;
    struct ts_git_tree_entry entry;
    bool done = true;
    if (ts_git_object_read(s->repo, &folder->tree, OBJECT_MAX, &content, NULL) != TS_GIT_OK)
        return true;
    struct ts_bytes rest = ts_bytes_of(content.bytes, content.len);
    while (done && content.type == TS_GIT_TREE &&
           ts_git_tree_next(s->repo->hash, &rest, &entry) == TS_GIT_TREE_ENTRY)
        done = mark_entry(s, folder->path, &entry);
    free(content.bytes);
    return done;
}

/* Finds the tree of HEAD. Returns false if there is no commit yet, or if the commit cannot be read. */
static bool head_tree(struct ts_git_repo *repo, struct ts_git_oid *ret_tree) {
    struct ts_git_oid head;
    struct ts_git_content content;
    struct ts_git_commit commit;
    if (ts_git_repo_resolve(repo, "HEAD", &head, NULL) != TS_GIT_OK ||
        ts_git_object_read(repo, &head, OBJECT_MAX, &content, NULL) != TS_GIT_OK)
        return false;
    bool done = content.type == TS_GIT_COMMIT &&
                ts_git_commit_parse(repo->hash, ts_bytes_of(content.bytes, content.len), &commit);
    if (done)
        *ret_tree = commit.tree;
    free(content.bytes);
    return done;
}

/* Marks the entries that HEAD has. If git has noted that the index has the tree of HEAD, no tree is read. */
static enum ts_git_error mark_head(struct search *s) {
    struct ts_git_oid tree;
    if (s->index->has_tree && head_tree(s->repo, &tree) && ts_git_oid_equal(&tree, &s->index->tree)) {
        for (size_t i = 0; i < s->index->count; i++)
            s->is_committed[i] = !s->index->items[i].is_intent_to_add;
        return TS_GIT_OK;
    }
    bool done = !head_tree(s->repo, &tree) || add_folder(s, strdup(""), &tree);
    while (done && s->pending_count > 0 && goes_on(s)) {
        struct folder folder = s->pending[--s->pending_count];
        done = mark_tree(s, &folder);
        free(folder.path);
    }
    return !done ? TS_GIT_NO_MEMORY : s->pending_count > 0 ? TS_GIT_STOPPED : TS_GIT_OK;
}

/* ---- the work tree ---- */

/* Returns whether the content of the file, or the text of a link, has the id of the blob. */
static bool is_blob(struct search *s, const char *path, const struct stat *status, const uint8_t *id) {
    struct git__hasher hasher;
    uint64_t size = (uint64_t)status->st_size;
    uint64_t read = 0;
    size_t len = 0;
    git__hasher_init(&hasher, s->repo->hash, TS_GIT_BLOB, size);
    if (S_ISLNK(status->st_mode)) {
        ssize_t text = readlinkat(s->root, path, (char *)s->buffer, BUFFER_SIZE);
        git__hasher_add(&hasher, ts_bytes_of(s->buffer, text > 0 ? (size_t)text : 0));
        return git__hasher_is(&hasher, id);
    }
    int fd = openat(s->root, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    while (fd >= 0 && read < size && ts_read_up_to(fd, s->buffer, BUFFER_SIZE, &len) && len > 0 &&
           goes_on(s)) {
        git__hasher_add(&hasher, ts_bytes_of(s->buffer, len));
        read += len;
    }
    if (fd >= 0)
        close(fd);
    return read == size && git__hasher_is(&hasher, id);
}

/* Returns whether git made the blob with a filter, such as that of Git LFS or of line ends: then the blob has
 * another size than the file. Such a file cannot be compared with its blob, and counts as changed only if its
 * size changes. */
static bool is_filtered(struct search *s, const struct ts_git_staged_entry *entry) {
    struct ts_git_content blob;
    enum ts_git_error error = ts_git_blob_read(s->repo, &entry->oid, entry->size, &blob, NULL);
    if (error != TS_GIT_OK)
        return error == TS_GIT_TOO_LARGE;
    free(blob.bytes);
    return blob.len != entry->size;
}

/* Returns whether the file in the work tree differs from the index. */
static bool is_changed(struct search *s, const struct ts_git_staged_entry *entry) {
    struct stat status;
    if (entry->is_ignored || fstatat(s->root, entry->path, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)))
        return false;
    bool has_size = (uint32_t)status.st_size == entry->size;
    if (has_size && (uint32_t)status.st_mtim.tv_sec == entry->mtime_s &&
        (entry->mtime_ns == 0 || (uint32_t)status.st_mtim.tv_nsec == entry->mtime_ns))
        return false;
    if (!has_size && entry->size != 0)
        return true;
    uint64_t size = (uint64_t)status.st_size;
    if (size > s->left)
        return false;
    s->left -= size;
    return !is_blob(s, entry->path, &status, entry->oid.bytes) && !(has_size && is_filtered(s, entry));
}

enum ts_git_error ts_git_uncommitted_find(struct ts_git_repo *repo, const struct ts_git_staged *index,
                                          int root, const struct ts_git_watch *watch,
                                          struct ts_git_uncommitted *ret_uncommitted) {
    struct search s = {.repo = repo, .index = index, .watch = watch, .root = root, .left = COMPARED_MAX};
    struct ts_git_uncommitted found = {.count = 0};
    s.is_committed = calloc(index->count + 1, sizeof *s.is_committed);
    s.buffer = malloc(BUFFER_SIZE);
    enum ts_git_error error = s.is_committed == NULL || s.buffer == NULL ? TS_GIT_NO_MEMORY : mark_head(&s);
    for (size_t i = 0; i < index->count && error == TS_GIT_OK; i++) {
        const struct ts_git_staged_entry *entry = &index->items[i];
        bool is_repeated = i > 0 && strcmp(index->items[i - 1].path, entry->path) == 0; /* a conflict */
        if (is_repeated || ts_git_mode_is_submodule(entry->mode))
            continue;
        if (!s.is_committed[i] || (!ts_git_mode_is_tree(entry->mode) && is_changed(&s, entry))) {
            found.first = found.count++ == 0 ? entry->path : found.first;
            error = goes_on(&s) ? TS_GIT_OK : TS_GIT_STOPPED;
        }
    }
    while (s.pending_count > 0)
        free(s.pending[--s.pending_count].path);
    free(s.pending);
    free(s.buffer);
    free(s.is_committed);
    if (error == TS_GIT_OK)
        *ret_uncommitted = found;
    return error;
}
