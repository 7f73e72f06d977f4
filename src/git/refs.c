/*
 * Refs as files: packed-refs, over which loose files under refs/ win, and HEAD. In a linked work tree HEAD,
 * refs/bisect, refs/worktree and refs/rewritten are its own; everything else is in the common folder.
 */
#include "repo_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REF_FILE_MAX    (64u << 10)
#define PACKED_REFS_MAX (1u << 30)
#define SYMBOLIC_MAX    5
#define NEST_MAX        32

struct list {
    struct ts_git_repo *repo;
    const struct ts_git_fault_sink *faults;
    struct ts_git_ref *items;
    size_t count;
    size_t capacity;
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

static bool is_own(const char *name) {
    static const char *const own[] = {"refs/bisect/", "refs/worktree/", "refs/rewritten/"};
    if (strncmp(name, "refs/", 5) != 0)
        return true;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strncmp(name, own[i], strlen(own[i])) == 0)
            return true;
    return false;
}

/* A name that stays inside the folder of refs. */
static bool name_is_safe(const char *name) {
    size_t len = strlen(name);
    return len > 0 && name[0] != '/' && name[len - 1] != '/' && strstr(name, "..") == NULL &&
           strstr(name, "//") == NULL && strstr(name, "/.") == NULL;
}

/* The text of a loose ref; a symbolic link into refs/ reads as a symbolic ref. NULL when there is none. */
static char *read_loose_ref(const struct ts_git_repo *repo, const char *name) {
    char *path = git__path_join(is_own(name) ? repo->git_dir : repo->common_dir, name);
    char *text = NULL;
    struct stat status;
    if (path == NULL || lstat(path, &status) != 0 || S_ISDIR(status.st_mode)) {
        free(path);
        return NULL;
    }
    size_t len;
    if (S_ISLNK(status.st_mode)) {
        char target[512];
        ssize_t target_len = readlink(path, target, sizeof target - 1);
        if (target_len > 0 && (text = malloc((size_t)target_len + 6)) != NULL) {
            memcpy(text, "ref: ", 5);
            memcpy(text + 5, target, (size_t)target_len);
            text[5 + target_len] = '\0';
        }
    } else if (git__file_read(path, REF_FILE_MAX, &text, &len, NULL) != TS_GIT_OK) {
        text = NULL;
    }
    free(path);
    return text;
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

/* MISSING when there is no such ref, BAD_REF when it is none. */
static enum ts_git_error resolve(const struct ts_git_repo *repo, struct ts_bytes packed, const char *name,
                                 struct ts_git_oid *ret_oid) {
    char *owned = NULL;
    enum ts_git_error error = TS_GIT_BAD_REF;
    for (int i = 0; i <= SYMBOLIC_MAX; i++) {
        error = TS_GIT_BAD_REF;
        if (!name_is_safe(name))
            break;
        char *text = read_loose_ref(repo, name);
        if (text == NULL) {
            error = find_packed(repo, packed, name, ret_oid) ? TS_GIT_OK : TS_GIT_MISSING;
            break;
        }
        size_t len = strcspn(text, "\r\n");
        text[len] = '\0';
        if (strncmp(text, "ref:", 4) == 0) {
            char *target = strdup(text + 4 + strspn(text + 4, " \t"));
            free(text);
            free(owned);
            name = owned = target;
            error = TS_GIT_NO_MEMORY;
            if (target == NULL)
                break;
            continue;
        }
        size_t hex_len = 2 * ts_git_hash_len(repo->hash);
        if (len >= hex_len && ts_git_oid_parse(repo->hash, ts_bytes_of(text, hex_len), ret_oid))
            error = TS_GIT_OK;
        free(text);
        break;
    }
    free(owned);
    return error;
}

static void add_resolved(struct list *list, struct ts_bytes packed, const char *name) {
    struct ts_git_oid oid;
    enum ts_git_error error = resolve(list->repo, packed, name, &oid);
    if (error == TS_GIT_OK)
        add(list, name, oid);
    else if (error != TS_GIT_MISSING)
        send_fault(list, error, name);
}

/* Files under a folder of refs, links to folders not followed. */
static void add_loose(struct list *list, struct ts_bytes packed, const char *root, const char *folder,
                      int nest) {
    char *path = git__path_join(root, folder);
    char **names = NULL;
    size_t count = 0;
    struct ts_git_fault fault;
    if (path == NULL || nest > NEST_MAX) {
        list->no_memory = list->no_memory || path == NULL;
        free(path);
        return;
    }
    if (git__list_dir(path, "", &names, &count, &fault) != TS_GIT_OK)
        git__fault_send(list->faults, &fault);
    free(path);
    for (size_t i = 0; i < count; i++) {
        char *name = git__path_join(folder, names[i]);
        char *full = name != NULL ? git__path_join(root, name) : NULL;
        struct stat status;
        if (full == NULL)
            list->no_memory = true;
        else if (lstat(full, &status) == 0 && S_ISDIR(status.st_mode))
            add_loose(list, packed, root, name, nest + 1);
        else if (strlen(names[i]) < 5 || strcmp(names[i] + strlen(names[i]) - 5, ".lock") != 0)
            add_resolved(list, packed, name);
        free(full);
        free(name);
    }
    git__free_names(names, count);
}

static void add_packed(struct list *list, struct ts_bytes packed) {
    struct ts_git_oid oid;
    struct ts_bytes name;
    bool is_bad;
    while (next_packed(list->repo->hash, &packed, &oid, &name, &is_bad)) {
        char *copy = is_bad ? NULL : strndup((const char *)name.data, name.len);
        if (copy == NULL || !name_is_safe(copy))
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

static void peel_all(struct list *list) {
    for (size_t i = 0; i < list->count; i++) {
        struct ts_git_fault fault;
        if (ts_git_object_peel(list->repo, &list->items[i].oid, &list->items[i].peeled, &fault) == TS_GIT_OK)
            continue;
        if (fault.error != TS_GIT_MISSING || !list->repo->is_partial)
            git__fault_send(list->faults, &fault);
    }
}

static enum ts_git_error map_packed(const struct ts_git_repo *repo, struct git__map *map,
                                    struct ts_git_fault *ret_fault) {
    char *path = git__path_join(repo->common_dir, "packed-refs");
    if (path == NULL)
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    enum ts_git_error error = git__map_open(path, map, ret_fault);
    free(path);
    return error == TS_GIT_MISSING ? TS_GIT_OK : error;
}

enum ts_git_error ts_git_refs_list(struct ts_git_repo *repo, const struct ts_git_fault_sink *faults,
                                   struct ts_git_refs *ret_refs, struct ts_git_fault *ret_fault) {
    struct git__map packed = {{NULL, 0}};
    enum ts_git_error error = map_packed(repo, &packed, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    struct list list = {.repo = repo, .faults = faults};
    add_resolved(&list, packed.bytes, "HEAD");
    add_loose(&list, packed.bytes, repo->common_dir, "refs", 0);
    if (strcmp(repo->common_dir, repo->git_dir) != 0)
        add_loose(&list, packed.bytes, repo->git_dir, "refs", 0);
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, compare_refs);
    size_t loose_count = list.count;
    add_packed(&list, packed.bytes);
    drop_hidden(&list, loose_count);
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, compare_refs);
    git__map_release(&packed);
    peel_all(&list);
    struct ts_git_refs refs = {.items = list.items, .count = list.count};
    if (list.no_memory) {
        ts_git_refs_release(&refs);
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    }
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

enum ts_git_error ts_git_repo_resolve(struct ts_git_repo *repo, const char *name, struct ts_git_oid *ret_oid,
                                      struct ts_git_fault *ret_fault) {
    static const char *const forms[] = {
        "%s", "refs/%s", "refs/tags/%s", "refs/heads/%s", "refs/remotes/%s", "refs/remotes/%s/HEAD"};
    if (ts_git_oid_parse(repo->hash, ts_bytes_of_cstring(name), ret_oid))
        return TS_GIT_OK;
    struct git__map packed = {{NULL, 0}};
    enum ts_git_error error = map_packed(repo, &packed, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    error = TS_GIT_MISSING;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && error != TS_GIT_OK; i++) {
        const char *tail = strchr(forms[i], '%');
        char full[1024];
        int len = snprintf(full, sizeof full, "%.*s%s%s", (int)(tail - forms[i]), forms[i], name, tail + 2);
        if (len > 0 && (size_t)len < sizeof full)
            error = resolve(repo, packed.bytes, full, ret_oid);
    }
    git__map_release(&packed);
    size_t len = strlen(name);
    if (error != TS_GIT_OK && len >= 4 && len < 2 * ts_git_hash_len(repo->hash) && is_hex(name) &&
        git__find_prefix(repo, name, ret_oid) == 1)
        error = TS_GIT_OK;
    return error == TS_GIT_OK ? TS_GIT_OK : git__fault(TS_GIT_NO_SUCH_REF, name, ret_fault);
}
