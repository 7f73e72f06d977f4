#include "runtime/driver/target_list.h"

#include "runtime/core/address.h"
#include "runtime/core/selection.h"

#include "git/repo.h"
#include "os/grow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum ts_target_result refuse(struct ts_target_error *ret_error, enum ts_target_result result,
                                    const char *what, const char *why) {
    (void)snprintf(ret_error->text, sizeof ret_error->text, "%s %s", what, why);
    return result;
}

static enum ts_target_result no_memory(struct ts_target_error *ret_error) {
    return refuse(ret_error, TS_TARGET_NO_MEMORY, "out of", "memory");
}

/* A target without its id. The texts are borrowed. */
struct draft {
    struct ts_bytes address;
    struct ts_bytes url;
    const struct ts_selection *selection;
    const char *format;
};

static const char *format_of(size_t digits) {
    return digits == 64 ? "sha256" : "sha1";
}

static enum ts_target_result keep(struct ts_target_list *list, const struct ts_target_defaults *defaults,
                                  const struct draft *draft, struct ts_target_error *ret_error) {
    struct ts_bytes selection = ts_fixed_buf_read(&draft->selection->text);
    size_t digits = draft->selection->commit_digits;
    if (digits != 0 && strcmp(draft->format, format_of(digits)) != 0)
        return refuse(ret_error, TS_TARGET_WRONG, "the commits are not of the repository's object format,",
                      draft->format);
    const struct ts_target_parts parts = {.tenant = defaults->tenant,
                                          .address = draft->address,
                                          .selection = selection,
                                          .format = ts_bytes_of_cstring(draft->format)};
    struct ts_target target = {.id = ts_target_id_of(&parts),
                               .address = ts_arena_copy(&list->arena, draft->address),
                               .url = ts_arena_copy(&list->arena, draft->url),
                               .selection = ts_arena_copy(&list->arena, selection),
                               .format = draft->format};
    if (target.address == NULL || target.url == NULL || target.selection == NULL ||
        !TS_GROW(list->items, list->capacity, list->count + 1))
        return no_memory(ret_error);
    list->items[list->count++] = target;
    return TS_TARGET_OK;
}

/* Returns the path of the main work tree, or of a bare repository. The path is the same for all linked work
 * trees. */
static char *real_path_of(const struct ts_git_repo *repo) {
    char *path = realpath(ts_git_repo_common_dir(repo), NULL);
    size_t len = path == NULL ? 0 : strlen(path);
    if (len > strlen("/.git") && strcmp(path + len - strlen("/.git"), "/.git") == 0)
        path[len - strlen("/.git")] = '\0';
    return path;
}

static enum ts_target_result add_repository(struct ts_target_list *list,
                                            const struct ts_target_defaults *defaults, const char *path,
                                            const struct ts_selection *selection,
                                            struct ts_target_error *ret_error) {
    struct ts_git_repo *repo = NULL;
    struct ts_git_fault fault;
    enum ts_git_error error = ts_git_repo_open(path, NULL, &repo, &fault);
    if (error != TS_GIT_OK) {
        char why[400];
        ts_git_fault_describe(&fault, why, sizeof why);
        return refuse(ret_error, error == TS_GIT_NO_MEMORY ? TS_TARGET_NO_MEMORY : TS_TARGET_WRONG,
                      "the repository cannot be opened:", why);
    }
    char *real = real_path_of(repo);
    enum ts_target_result result;
    if (real == NULL) {
        result =
            refuse(ret_error, TS_TARGET_IO, "the path of the repository cannot be read:", strerror(errno));
    } else {
        const struct draft draft = {.address = ts_bytes_of_cstring(real),
                                    .url = ts_bytes_of_cstring(real),
                                    .selection = selection,
                                    .format = ts_git_repo_hash(repo) == TS_GIT_SHA256 ? "sha256" : "sha1"};
        result = draft.address.len > TS_ADDRESS_MAX
                     ? refuse(ret_error, TS_TARGET_WRONG, "the path of the repository",
                              ts_address_error_text(TS_ADDRESS_TOO_LONG))
                     : keep(list, defaults, &draft, ret_error);
    }
    free(real);
    ts_git_repo_free(repo);
    return result;
}

static enum ts_target_result parse_selection(const struct ts_target_defaults *defaults, struct ts_bytes given,
                                             struct ts_selection *ret_selection,
                                             struct ts_target_error *ret_error) {
    enum ts_selection_error error =
        ts_selection_parse(given.len > 0 ? given : defaults->selection, ret_selection);
    if (error != TS_SELECTION_OK)
        return refuse(ret_error, TS_TARGET_WRONG, "the selection", ts_selection_error_text(error));
    return TS_TARGET_OK;
}

enum ts_target_result ts_target_list_add(struct ts_target_list *list,
                                         const struct ts_target_defaults *defaults, struct ts_bytes address,
                                         struct ts_bytes selection, struct ts_target_error *ret_error) {
    struct ts_selection selected;
    enum ts_target_result result = parse_selection(defaults, selection, &selected, ret_error);
    if (result != TS_TARGET_OK)
        return result;
    struct ts_address parsed;
    enum ts_address_error error = ts_address_parse(address, &parsed);
    if (error != TS_ADDRESS_OK)
        return refuse(ret_error, TS_TARGET_WRONG, "the address", ts_address_error_text(error));
    if (parsed.is_path) {
        char path[TS_ADDRESS_MAX + 1];
        struct ts_bytes text = ts_fixed_buf_read(&parsed.text);
        memcpy(path, text.data, text.len);
        path[text.len] = '\0';
        return add_repository(list, defaults, path, &selected, ret_error);
    }
    const struct draft draft = {.address = ts_fixed_buf_read(&parsed.text),
                                .url = ts_fixed_buf_read(&parsed.url),
                                .selection = &selected,
                                .format = selected.commit_digits != 0 ? format_of(selected.commit_digits)
                                                                      : defaults->format};
    return keep(list, defaults, &draft, ret_error);
}

static bool has(int folder, const char *name, mode_t kind) {
    struct stat status;
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           (kind == 0 || (status.st_mode & S_IFMT) == kind);
}

static bool is_repository(int folder) {
    return has(folder, ".git", 0) ||
           (has(folder, "HEAD", 0) && has(folder, "objects", S_IFDIR) && has(folder, "refs", S_IFDIR));
}

/* A walk over folders. `folders` has the folders that are not visited yet. */
struct walk {
    struct ts_target_list *list;
    const struct ts_target_defaults *defaults;
    const struct ts_selection *selection;
    char **folders;
    size_t count;
    size_t capacity;
    struct ts_arena arena;
};

static enum ts_target_result push(struct walk *walk, const char *parent, const char *name,
                                  struct ts_target_error *ret_error) {
    char path[PATH_MAX];
    int len = snprintf(path, sizeof path, "%s/%s", parent, name);
    if (len < 0 || (size_t)len >= sizeof path)
        return refuse(ret_error, TS_TARGET_IO, "a folder cannot be read:", strerror(ENAMETOOLONG));
    char *copy = ts_arena_copy(&walk->arena, ts_bytes_of(path, (size_t)len));
    if (copy == NULL || !TS_GROW(walk->folders, walk->capacity, walk->count + 1))
        return no_memory(ret_error);
    walk->folders[walk->count++] = copy;
    return TS_TARGET_OK;
}

static enum ts_target_result visit(struct walk *walk, const char *folder, struct ts_target_error *ret_error) {
    DIR *stream = opendir(folder);
    if (stream == NULL)
        return refuse(ret_error, TS_TARGET_IO, "a folder cannot be read:", strerror(errno));
    enum ts_target_result result = TS_TARGET_OK;
    if (is_repository(dirfd(stream))) {
        result = add_repository(walk->list, walk->defaults, folder, walk->selection, ret_error);
        closedir(stream);
        return result;
    }
    errno = 0;
    for (struct dirent *entry; result == TS_TARGET_OK && (entry = readdir(stream)) != NULL; errno = 0) {
        bool is_dots = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (!is_dots && has(dirfd(stream), entry->d_name, S_IFDIR))
            result = push(walk, folder, entry->d_name, ret_error);
    }
    if (result == TS_TARGET_OK && errno != 0)
        result = refuse(ret_error, TS_TARGET_IO, "a folder cannot be read:", strerror(errno));
    closedir(stream);
    return result;
}

enum ts_target_result ts_target_list_add_folder(struct ts_target_list *list,
                                                const struct ts_target_defaults *defaults, const char *folder,
                                                struct ts_target_error *ret_error) {
    struct ts_selection selection;
    enum ts_target_result result = parse_selection(defaults, TS_BYTES(""), &selection, ret_error);
    struct walk walk = {.list = list, .defaults = defaults, .selection = &selection};
    if (result == TS_TARGET_OK)
        result = visit(&walk, folder, ret_error);
    while (result == TS_TARGET_OK && walk.count > 0)
        result = visit(&walk, walk.folders[--walk.count], ret_error);
    free(walk.folders); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion) */
    ts_arena_release(&walk.arena);
    return result;
}

static enum ts_target_result result_of(enum ts_discover_result result) {
    switch (result) {
    case TS_DISCOVER_OK:
        return TS_TARGET_OK;
    case TS_DISCOVER_WRONG:
        return TS_TARGET_WRONG;
    case TS_DISCOVER_FAILED:
        return TS_TARGET_IO;
    case TS_DISCOVER_NO_MEMORY:
        break;
    }
    return TS_TARGET_NO_MEMORY;
}

enum ts_target_result ts_target_list_add_forge(struct ts_target_list *list,
                                               const struct ts_target_defaults *defaults,
                                               const struct ts_discover_options *options, const char *request,
                                               struct ts_target_error *ret_error) {
    struct ts_discovered found = {0};
    struct ts_discover_error error = {{0}};
    enum ts_target_result result = result_of(ts_discover(options, request, &found, &error));
    if (result != TS_TARGET_OK)
        (void)snprintf(ret_error->text, sizeof ret_error->text, "%s", error.text);
    for (size_t i = 0; i < found.count && result == TS_TARGET_OK; i++)
        result = ts_target_list_add(list, defaults, ts_bytes_of_cstring(found.addresses[i]), TS_BYTES(""),
                                    ret_error);
    ts_discovered_release(&found);
    return result;
}

/* Compares by id, then by URL. ts_target_list_settle keeps the first of several duplicates, which has the
 * smallest URL. So the order of the arguments makes no difference. */
static int by_id(const void *one, const void *other) {
    const struct ts_target *a = one;
    const struct ts_target *b = other;
    int order = memcmp(a->id.bytes, b->id.bytes, sizeof a->id.bytes);
    return order != 0 ? order : strcmp(a->url, b->url);
}

void ts_target_list_settle(struct ts_target_list *list) {
    if (list->count == 0)
        return;
    qsort(list->items, list->count, sizeof *list->items, by_id);
    size_t kept = 1;
    for (size_t i = 1; i < list->count; i++)
        if (memcmp(list->items[kept - 1].id.bytes, list->items[i].id.bytes, TS_TARGET_ID_LEN) != 0)
            list->items[kept++] = list->items[i];
    list->count = kept;
}

void ts_target_list_release(struct ts_target_list *list) {
    free(list->items);
    ts_arena_release(&list->arena);
    *list = (struct ts_target_list){0};
}
