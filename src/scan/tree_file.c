#include "tree_file.h"

#include "git/repo.h"
#include "os/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- in a folder ---- */

/* Takes the part of a path before the next slash, and moves past the slash. Skips empty parts and parts that
 * are ".". */
static struct ts_bytes next_part(const char **path) {
    for (;;) {
        const char *begin = *path;
        size_t len = strcspn(begin, "/");
        *path = begin + len + (begin[len] == '/');
        if (len > 1 || (len == 1 && begin[0] != '.') || begin[len] == '\0')
            return ts_bytes_of(begin, len);
    }
}

static int open_below(const char *folder, const char *path) {
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (at >= 0) {
        struct ts_bytes part = next_part(&path);
        char name[256];
        if (part.len == 0 || part.len >= sizeof name) {
            close(at);
            errno = ENOENT;
            return -1;
        }
        memcpy(name, part.data, part.len);
        name[part.len] = '\0';
        bool is_last = *path == '\0';
        int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | (is_last ? 0 : O_DIRECTORY);
        int next = openat(at, name, flags);
        int error = errno;
        close(at);
        errno = error;
        if (is_last || next < 0)
            return next;
        at = next;
    }
    return -1;
}

static bool is_regular(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

static enum scan_profile_read read_below(const char *folder, const char *path, size_t max,
                                         struct scan_profile_file *ret_file) {
    int fd = open_below(folder, path);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? SCAN_PROFILE_ABSENT : SCAN_PROFILE_UNREADABLE;
    uint8_t *bytes = is_regular(fd) ? malloc(max + 1) : NULL;
    size_t len = 0;
    const bool is_read = bytes != NULL && ts_read_up_to(fd, bytes, max + 1, &len);
    close(fd);
    if (!is_read || len > max) {
        free(bytes);
        return SCAN_PROFILE_UNREADABLE;
    }
    *ret_file = (struct scan_profile_file){bytes, len};
    return SCAN_PROFILE_READ;
}

/* ---- in HEAD's tree ---- */

static bool find_entry(enum ts_git_hash hash, struct ts_bytes tree, struct ts_bytes name,
                       struct ts_git_tree_entry *ret_entry) {
    while (ts_git_tree_next(hash, &tree, ret_entry) == TS_GIT_TREE_ENTRY)
        if (ts_bytes_equal(ret_entry->name, name))
            return true;
    return false;
}

/* Finds the root tree of HEAD. */
static enum scan_tree_has head_tree(const struct scan_tree *tree, struct ts_git_oid *ret_tree,
                                    struct ts_git_fault *ret_fault) {
    struct ts_git_content content;
    struct ts_git_commit commit;
    struct ts_git_oid head;
    if (ts_git_repo_resolve(tree->repo, "HEAD", &head, NULL) != TS_GIT_OK)
        return SCAN_TREE_HAS_NOT;
    if (ts_git_object_read(tree->repo, &head, tree->object_max, &content, ret_fault) != TS_GIT_OK)
        return SCAN_TREE_DAMAGED;
    bool done =
        content.type == TS_GIT_COMMIT &&
        ts_git_commit_parse(ts_git_repo_hash(tree->repo), ts_bytes_of(content.bytes, content.len), &commit);
    if (done)
        *ret_tree = commit.tree;
    free(content.bytes);
    return done ? SCAN_TREE_HAS : SCAN_TREE_HAS_NOT; /* the scan of HEAD reports an invalid commit */
}

/* Finds the blob with this path in HEAD. */
static enum scan_tree_has find_in_head(const struct scan_tree *tree, const char *path,
                                       struct ts_git_oid *ret_oid, struct ts_git_fault *ret_fault) {
    enum ts_git_hash hash = ts_git_repo_hash(tree->repo);
    struct ts_git_content content;
    struct ts_git_oid at;
    enum scan_tree_has has = head_tree(tree, &at, ret_fault);
    while (has == SCAN_TREE_HAS) {
        struct ts_bytes part = next_part(&path);
        struct ts_git_tree_entry entry;
        if (ts_git_object_read(tree->repo, &at, tree->object_max, &content, ret_fault) != TS_GIT_OK)
            return SCAN_TREE_DAMAGED;
        bool found = content.type == TS_GIT_TREE &&
                     find_entry(hash, ts_bytes_of(content.bytes, content.len), part, &entry);
        free(content.bytes);
        if (found && *path == '\0') {
            *ret_oid = entry.oid;
            return (entry.mode & 0170000u) == 0100000u ? SCAN_TREE_HAS : SCAN_TREE_HAS_NOT;
        }
        has = found && ts_git_mode_is_tree(entry.mode) ? SCAN_TREE_HAS : SCAN_TREE_HAS_NOT;
        at = found ? entry.oid : at;
    }
    return has;
}

static enum scan_profile_read read_in_head(const struct scan_tree *tree, const char *path, size_t max,
                                           struct scan_profile_file *ret_file) {
    struct ts_git_oid oid;
    struct ts_git_content content;
    switch (find_in_head(tree, path, &oid, NULL)) {
    case SCAN_TREE_HAS_NOT:
        return SCAN_PROFILE_ABSENT;
    case SCAN_TREE_DAMAGED:
        return SCAN_PROFILE_UNREADABLE;
    case SCAN_TREE_HAS:
        break;
    }
    if (ts_git_blob_read(tree->repo, &oid, max, &content, NULL) != TS_GIT_OK)
        return SCAN_PROFILE_UNREADABLE;
    *ret_file = (struct scan_profile_file){content.bytes, content.len};
    return SCAN_PROFILE_READ;
}

/* ---- in a folder or in HEAD's tree ---- */

static enum scan_tree_has head_has(const struct scan_tree *tree, const char *path,
                                   struct ts_git_fault *ret_fault) {
    struct ts_git_oid oid;
    struct ts_git_content content = {.bytes = NULL};
    enum scan_tree_has has = find_in_head(tree, path, &oid, ret_fault);
    if (has != SCAN_TREE_HAS)
        return has;
    enum ts_git_error error = ts_git_object_read(tree->repo, &oid, tree->object_max, &content, ret_fault);
    free(content.bytes);
    return error == TS_GIT_OK || error == TS_GIT_TOO_LARGE ? SCAN_TREE_HAS : SCAN_TREE_DAMAGED;
}

enum scan_tree_has scan__tree_has(struct scan_tree *tree, const char *path, struct ts_git_fault *ret_fault) {
    if (tree->folder == NULL)
        return head_has(tree, path, ret_fault);
    int fd = open_below(tree->folder, path);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? SCAN_TREE_HAS_NOT : SCAN_TREE_HAS;
    close(fd);
    return SCAN_TREE_HAS;
}

enum scan_profile_read scan__tree_read(void *ctx, const char *path, size_t max,
                                       struct scan_profile_file *ret_file) {
    struct scan_tree *tree = ctx;
    return tree->folder != NULL ? read_below(tree->folder, path, max, ret_file)
                                : read_in_head(tree, path, max, ret_file);
}
