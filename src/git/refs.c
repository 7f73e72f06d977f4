/*
 * Refs as files: packed-refs, over which loose files under refs/ win, and HEAD. In a linked work tree HEAD, refs/bisect,
 * refs/worktree and refs/rewritten are its own; everything else is in the common folder. HEADs of other work trees are
 * listed under the names that git gives them, main-worktree/HEAD and worktrees/ID/HEAD: a commit on a detached one is
 * reached by nothing else. What other work trees have beside HEAD is left to them, as git does with --all (and git gc, so that
 * its objects may be gone).
 *
 * What cannot be read is never passed over: a ref that is there and gives no id is a fault, and so is a folder that
 * cannot be listed. A broken loose ref hides the packed one of the same name, whose value is an old one.
 */
#include "repo_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REF_LINE_MAX (8u << 10) /* a path that the system takes is shorter */
#define SYMBOLIC_MAX 5

static const char main_prefix[] = "main-worktree/";
static const char linked_prefix[] = "worktrees/";

struct list {
    struct ts_git_repo *repo;
    const struct ts_git_fault_sink *faults;
    struct ts_bytes packed;
    struct ts_git_ref *items; /* with the null id: there, and broken */
    size_t count;
    size_t capacity;
    char **folders; /* of loose refs, still to be listed */
    size_t folder_count;
    size_t folder_capacity;
    bool no_memory;
};

static void add(struct list *list, const char *name, struct ts_git_oid oid) {
    char *copy = strdup(name);
    if (copy == NULL || !GIT__GROW(list->items, list->capacity, list->count + 1)) {
        free(copy);
        list->no_memory = true;
        return;
    }
    list->items[list->count++] = (struct ts_git_ref){.name = copy, .oid = oid, .peeled = oid};
}

static void send_fault(struct list *list, enum ts_git_error error, const char *name) {
    struct ts_git_fault fault;
    (void)git__fault(error, name, &fault);
    git__fault_send(list->faults, &fault);
}

static bool is_null(const struct ts_git_oid *oid) {
    static const struct ts_git_oid null;
    return ts_git_oid_equal(oid, &null);
}

static bool is_linked(const struct ts_git_repo *repo) {
    return strcmp(repo->common_dir, repo->git_dir) != 0;
}

/* ---- names ---- */

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* Each work tree has its own. */
static bool is_own(const char *name) {
    return !starts_with(name, "refs/") || starts_with(name, "refs/bisect/") ||
           starts_with(name, "refs/worktree/") || starts_with(name, "refs/rewritten/");
}

/* Bytes of the name that say of which work tree it is; 0: of this one. */
static size_t worktree_len(const char *name) {
    if (starts_with(name, main_prefix))
        return strlen(main_prefix);
    if (!starts_with(name, linked_prefix))
        return 0;
    const char *id = name + strlen(linked_prefix);
    size_t len = strcspn(id, "/");
    bool is_id = len > 0 && id[len] == '/' && strncmp(id, "./", 2) != 0 && strncmp(id, "../", 3) != 0;
    return is_id ? strlen(linked_prefix) + len + 1 : 0;
}

/* A name that stays inside the folder of refs. */
static bool name_is_safe(const char *name) {
    name += worktree_len(name);
    size_t len = strlen(name);
    return len > 0 && name[0] != '/' && name[len - 1] != '/' && strstr(name, "..") == NULL &&
           strstr(name, "//") == NULL && strstr(name, "/.") == NULL;
}

/* Where the file of a safe name is; from malloc. */
static char *path_of(const struct ts_git_repo *repo, const char *name) {
    size_t worktree = worktree_len(name);
    const char *rest = name + worktree;
    if (!is_own(rest) || starts_with(name, main_prefix))
        return git__path_join(repo->common_dir, rest);
    return git__path_join(worktree > 0 ? repo->common_dir : repo->git_dir, name);
}

/* What `name` has as "ref: target": of the same work tree, when each has its own. From malloc. */
static char *target_of(const char *name, const char *target) {
    size_t worktree = is_own(target) && worktree_len(target) == 0 ? worktree_len(name) : 0;
    size_t size = worktree + strlen(target) + 1;
    char *full = malloc(size);
    if (full != NULL)
        (void)snprintf(full, size, "%.*s%s", (int)worktree, name, target);
    return full;
}

/* ---- one ref ---- */

/* A symbolic link into refs/ is a symbolic ref; any other is followed, to a file. */
static enum ts_git_error read_link(const char *path, char **ret_line) {
    char target[512];
    ssize_t len = readlink(path, target, sizeof target - 1);
    target[len > 0 ? len : 0] = '\0';
    if (!starts_with(target, "refs/"))
        return git__is_dir(path) ? TS_GIT_LINKED_FOLDER : TS_GIT_OK;
    *ret_line = malloc((size_t)len + 6);
    if (*ret_line == NULL)
        return TS_GIT_NO_MEMORY;
    (void)snprintf(*ret_line, (size_t)len + 6, "ref: %s", target);
    return TS_GIT_OK;
}

/* The first line of a loose ref. MISSING when there is none, also when a link leads nowhere. */
static enum ts_git_error read_loose_ref(const struct ts_git_repo *repo, const char *name, char **ret_line) {
    char *path = path_of(repo, name);
    char *line = NULL;
    struct stat status;
    enum ts_git_error error = TS_GIT_OK;
    if (path == NULL)
        return TS_GIT_NO_MEMORY;
    if (lstat(path, &status) != 0)
        error = errno == ENOENT || errno == ENOTDIR ? TS_GIT_MISSING : TS_GIT_IO;
    else if (S_ISDIR(status.st_mode))
        error = TS_GIT_MISSING;
    else if (S_ISLNK(status.st_mode))
        error = read_link(path, &line);
    if (error == TS_GIT_OK && line == NULL)
        error = git__file_read_start(path, REF_LINE_MAX, &line, NULL);
    if (error == TS_GIT_OK) {
        line[strcspn(line, "\r\n")] = '\0';
        *ret_line = line;
    }
    int os_error = errno; /* for the fault */
    free(path);
    errno = os_error;
    return error;
}

/* The next line of packed-refs that names a ref; comments and peeled lines are passed over. */
static bool next_packed(enum ts_git_hash hash, struct ts_bytes *rest, struct ts_git_oid *ret_oid,
                        struct ts_bytes *ret_name, bool *ret_is_bad) {
    size_t hex_len = 2 * ts_git_hash_len(hash);
    *ret_is_bad = false;
    while (rest->len > 0) {
        const uint8_t *end = memchr(rest->data, '\n', rest->len);
        size_t len = end != NULL ? (size_t)(end - rest->data) : rest->len;
        struct ts_bytes line = ts_bytes_first(*rest, len);
        *rest = ts_bytes_skip(*rest, end != NULL ? len + 1 : len);
        if (len == 0 || line.data[0] == '#' || line.data[0] == '^')
            continue;
        if (len <= hex_len + 1 || line.data[hex_len] != ' ' ||
            !ts_git_oid_parse(hash, ts_bytes_first(line, hex_len), ret_oid))
            *ret_is_bad = true;
        else
            *ret_name = ts_bytes_skip(line, hex_len + 1);
        return true;
    }
    return false;
}

static bool find_packed(const struct ts_git_repo *repo, struct ts_bytes packed, const char *name,
                        struct ts_git_oid *ret_oid) {
    struct ts_git_oid oid;
    struct ts_bytes found;
    bool is_bad;
    while (next_packed(repo->hash, &packed, &oid, &found, &is_bad))
        if (!is_bad && ts_bytes_equal(found, ts_bytes_of_cstring(name))) {
            *ret_oid = oid;
            return true;
        }
    return false;
}

static enum ts_git_error parse_line(const struct ts_git_repo *repo, const char *line,
                                    struct ts_git_oid *ret_oid) {
    size_t hex_len = 2 * ts_git_hash_len(repo->hash);
    struct ts_git_oid oid;
    if (strlen(line) < hex_len || !ts_git_oid_parse(repo->hash, ts_bytes_of(line, hex_len), &oid) ||
        is_null(&oid))
        return TS_GIT_BAD_REF;
    *ret_oid = oid;
    return TS_GIT_OK;
}

/* MISSING when there is no such ref, or it stands for one that is not there. The fault names the ref that is broken, of
 * symbolic ones perhaps the last. */
static enum ts_git_error resolve(const struct ts_git_repo *repo, struct ts_bytes packed, const char *given,
                                 struct ts_git_oid *ret_oid, struct ts_git_fault *ret_fault) {
    char *owned = NULL;
    const char *name = given;
    enum ts_git_error error = TS_GIT_SYMBOLIC_REFS;
    for (int i = 0; i <= SYMBOLIC_MAX; i++) {
        char *line = NULL;
        error = name_is_safe(name) ? read_loose_ref(repo, name, &line) : TS_GIT_BAD_REF;
        if (error == TS_GIT_MISSING && find_packed(repo, packed, name, ret_oid))
            error = TS_GIT_OK;
        if (line == NULL)
            break;
        if (!starts_with(line, "ref:")) {
            error = parse_line(repo, line, ret_oid);
            free(line);
            break;
        }
        char *target = target_of(name, line + 4 + strspn(line + 4, " \t"));
        free(line);
        free(owned);
        name = owned = target;
        error = target == NULL ? TS_GIT_NO_MEMORY : TS_GIT_SYMBOLIC_REFS;
        if (target == NULL)
            break;
    }
    if (error != TS_GIT_OK) {
        bool is_given = name == NULL || error == TS_GIT_SYMBOLIC_REFS;
        (void)git__fault(error, is_given ? given : name, ret_fault);
    }
    free(owned);
    return error;
}

/* One that is broken is kept for its name. */
static void add_resolved(struct list *list, const char *name) {
    struct ts_git_oid oid = {{0}};
    struct ts_git_fault fault;
    enum ts_git_error error = resolve(list->repo, list->packed, name, &oid, &fault);
    list->no_memory = list->no_memory || error == TS_GIT_NO_MEMORY;
    if (error != TS_GIT_OK && error != TS_GIT_MISSING)
        git__fault_send(list->faults, &fault);
    add(list, name, oid);
}

/* ---- loose refs ---- */

static bool is_folder(const char *root, const char *name) {
    char *path = git__path_join(root, name);
    struct stat status;
    bool is = path != NULL && lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
    free(path);
    return is;
}

/* Takes the name over. */
static void add_folder(struct list *list, char *name) {
    if (GIT__GROW(list->folders, list->folder_capacity, list->folder_count + 1)) {
        list->folders[list->folder_count++] = name;
    } else {
        list->no_memory = true;
        free(name);
    }
}

/* What git makes beside refs: names that begin with a dot, and locks. */
static bool is_ref_name(const char *entry) {
    size_t len = strlen(entry);
    return entry[0] != '.' && (len < 5 || strcmp(entry + len - 5, ".lock") != 0);
}

static void list_folder(struct list *list, const char *root, const char *folder) {
    bool is_own_root = is_linked(list->repo) && strcmp(root, list->repo->git_dir) == 0;
    char *path = git__path_join(root, folder);
    char **names = NULL;
    size_t count = 0;
    struct ts_git_fault fault;
    list->no_memory = list->no_memory || path == NULL;
    if (path != NULL && git__list_dir(path, "", &names, &count, &fault) != TS_GIT_OK)
        git__fault_send(list->faults, &fault);
    free(path);
    for (size_t i = 0; i < count; i++) {
        char *name = is_ref_name(names[i]) ? git__path_join(folder, names[i]) : NULL;
        list->no_memory = list->no_memory || (name == NULL && is_ref_name(names[i]));
        if (name != NULL && is_folder(root, name)) {
            add_folder(list, name);
            continue;
        }
        if (name != NULL && (!is_linked(list->repo) || is_own(name) == is_own_root))
            add_resolved(list, name);
        free(name);
    }
    git__free_names(names, count);
}

/* However deep they are: no further than the system takes paths, and beyond that is a fault. */
static void add_loose(struct list *list, const char *root) {
    list_folder(list, root, "refs");
    while (list->folder_count > 0) {
        char *folder = list->folders[--list->folder_count];
        if (!list->no_memory)
            list_folder(list, root, folder);
        free(folder);
    }
}

/* ---- other work trees ---- */

static bool is_same_folder(const char *a, const char *b) {
    struct stat x;
    struct stat y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* What has no file gitdir is no work tree. */
static void add_head_of(struct list *list, const char *folder, const char *id) {
    char name[1024];
    struct stat status;
    char *path = git__path_join(folder, id);
    char *gitdir = path != NULL ? git__path_join(path, "gitdir") : NULL;
    int len = snprintf(name, sizeof name, "%s%s/HEAD", linked_prefix, id);
    list->no_memory = list->no_memory || gitdir == NULL || (size_t)len >= sizeof name;
    if (gitdir != NULL && stat(gitdir, &status) != 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            send_fault(list, TS_GIT_IO, name);
    } else if (gitdir != NULL && !is_same_folder(path, list->repo->git_dir)) {
        add_resolved(list, name);
    }
    free(gitdir);
    free(path);
}

static void add_other_heads(struct list *list) {
    char *folder = git__path_join(list->repo->common_dir, "worktrees");
    char **ids = NULL;
    size_t count = 0;
    struct ts_git_fault fault;
    list->no_memory = list->no_memory || folder == NULL;
    if (is_linked(list->repo))
        add_resolved(list, "main-worktree/HEAD");
    if (folder != NULL && git__list_dir(folder, "", &ids, &count, &fault) != TS_GIT_OK)
        git__fault_send(list->faults, &fault);
    for (size_t i = 0; i < count; i++)
        add_head_of(list, folder, ids[i]);
    git__free_names(ids, count);
    free(folder);
}

/* ---- all of them ---- */

static void add_packed(struct list *list) {
    struct ts_bytes rest = list->packed;
    struct ts_git_oid oid;
    struct ts_bytes name;
    bool is_bad;
    while (next_packed(list->repo->hash, &rest, &oid, &name, &is_bad)) {
        char *copy = is_bad ? NULL : strndup((const char *)name.data, name.len);
        if (copy == NULL || !name_is_safe(copy) || is_null(&oid))
            send_fault(list, TS_GIT_BAD_REF, "packed-refs");
        else
            add(list, copy, oid);
        free(copy);
    }
}

/* By name; the loose one, which was added first, before the packed one. */
static int compare_refs(const void *a, const void *b) {
    const struct ts_git_ref *x = a;
    const struct ts_git_ref *y = b;
    return strcmp(x->name, y->name);
}

/* Keeps the first of equal names. The list is sorted by a stable sort of loose and packed ones apart. */
static void drop_hidden(struct list *list, size_t loose_count) {
    size_t kept = loose_count;
    for (size_t i = loose_count; i < list->count; i++) {
        const struct ts_git_ref *hidden = loose_count > 0 ? bsearch(&list->items[i], list->items, loose_count,
                                                                    sizeof *list->items, compare_refs)
                                                          : NULL;
        if (hidden != NULL)
            free(list->items[i].name);
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

static void drop_broken(struct list *list) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (is_null(&list->items[i].oid))
            free(list->items[i].name);
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

static void peel_all(struct list *list) {
    for (size_t i = 0; i < list->count; i++) {
        struct ts_git_fault fault;
        if (ts_git_object_peel(list->repo, &list->items[i].oid, &list->items[i].peeled, &fault) == TS_GIT_OK)
            continue;
        if (fault.error != TS_GIT_MISSING || !list->repo->is_partial)
            git__fault_send(list->faults, &fault);
    }
}

/* Empty when there is none, and when it cannot be read, which the error says. */
static enum ts_git_error map_packed(const struct ts_git_repo *repo, struct git__map *ret_map,
                                    struct ts_git_fault *ret_fault) {
    char *path = git__path_join(repo->common_dir, "packed-refs");
    *ret_map = (struct git__map){{NULL, 0}};
    if (path == NULL)
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    enum ts_git_error error = git__map_open(path, ret_map, ret_fault);
    free(path);
    return error == TS_GIT_MISSING ? TS_GIT_OK : error;
}

enum ts_git_error ts_git_refs_list(struct ts_git_repo *repo, const struct ts_git_fault_sink *faults,
                                   struct ts_git_refs *ret_refs, struct ts_git_fault *ret_fault) {
    struct git__map packed;
    struct ts_git_fault fault;
    if (map_packed(repo, &packed, &fault) != TS_GIT_OK)
        git__fault_send(faults, &fault);
    struct list list = {.repo = repo, .faults = faults, .packed = packed.bytes};
    add_resolved(&list, "HEAD");
    add_other_heads(&list);
    add_loose(&list, repo->common_dir);
    if (is_linked(repo))
        add_loose(&list, repo->git_dir);
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, compare_refs);
    size_t loose_count = list.count;
    add_packed(&list);
    drop_hidden(&list, loose_count);
    drop_broken(&list);
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, compare_refs);
    git__map_release(&packed);
    free(list.folders);
    struct ts_git_refs refs = {.items = list.items, .count = list.count};
    if (list.no_memory) {
        ts_git_refs_release(&refs);
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    }
    peel_all(&list);
    *ret_refs = refs;
    return TS_GIT_OK;
}

void ts_git_refs_release(struct ts_git_refs *refs) {
    for (size_t i = 0; i < refs->count; i++)
        free(refs->items[i].name);
    free(refs->items);
    *refs = (struct ts_git_refs){NULL, 0};
}

static bool is_hex(const char *text) {
    return text[0] != '\0' && text[strspn(text, "0123456789abcdefABCDEF")] == '\0';
}

/* As git tries them. Broken below refs/ is an answer, unless another one has an id; elsewhere it is some other file. */
static enum ts_git_error resolve_forms(const struct ts_git_repo *repo, const char *name,
                                       struct ts_git_oid *ret_oid, struct ts_git_fault *ret_fault) {
    static const char *const forms[] = {
        "%s", "refs/%s", "refs/tags/%s", "refs/heads/%s", "refs/remotes/%s", "refs/remotes/%s/HEAD"};
    struct git__map packed;
    struct ts_git_fault fault;
    enum ts_git_error worst = map_packed(repo, &packed, ret_fault);
    enum ts_git_error error = TS_GIT_MISSING;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && error != TS_GIT_OK; i++) {
        const char *tail = strchr(forms[i], '%');
        char full[1024];
        int len = snprintf(full, sizeof full, "%.*s%s%s", (int)(tail - forms[i]), forms[i], name, tail + 2);
        if (len <= 0 || (size_t)len >= sizeof full || !name_is_safe(full))
            continue;
        error = resolve(repo, packed.bytes, full, ret_oid, &fault);
        bool is_ref = starts_with(full, "refs/") || strcmp(full, "HEAD") == 0;
        if (worst == TS_GIT_OK && error != TS_GIT_OK && error != TS_GIT_MISSING && is_ref) {
            worst = error;
            if (ret_fault != NULL)
                *ret_fault = fault;
        }
    }
    git__map_release(&packed);
    if (error == TS_GIT_OK)
        return error;
    return worst != TS_GIT_OK ? worst : git__fault(TS_GIT_NO_SUCH_REF, name, ret_fault);
}

enum ts_git_error ts_git_repo_resolve(struct ts_git_repo *repo, const char *name, struct ts_git_oid *ret_oid,
                                      struct ts_git_fault *ret_fault) {
    if (ts_git_oid_parse(repo->hash, ts_bytes_of_cstring(name), ret_oid))
        return TS_GIT_OK;
    enum ts_git_error error = resolve_forms(repo, name, ret_oid, ret_fault);
    size_t len = strlen(name);
    if (error != TS_GIT_OK && len >= 4 && len < 2 * ts_git_hash_len(repo->hash) && is_hex(name) &&
        git__find_prefix(repo, name, ret_oid) == 1)
        error = TS_GIT_OK;
    return error;
}
