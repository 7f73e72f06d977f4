#include "git/repo.h"

#include "config.h"
#include "os/grow.h"
#include "repo_impl.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SMALL_FILE_MAX     (64u << 10)
#define SHALLOW_MAX        (256u << 20)
#define OBJECT_DIRS_MAX    64
#define ALTERNATE_NEST_MAX 5 /* as in git */

/* ---- folders ---- */

static int compare_names(const void *a, const void *b) {
    const char *const *x = a;
    const char *const *y = b;
    return strcmp(*x, *y);
}

void git__free_names(char **names, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static bool ends_with(const char *name, const char *suffix) {
    size_t len = strlen(name);
    size_t suffix_len = strlen(suffix);
    return len >= suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

enum ts_git_error git__list_dir(const char *path, const char *suffix, char ***ret_names, size_t *ret_count,
                                struct ts_git_fault *ret_fault) {
    char **names = NULL;
    size_t count = 0;
    size_t capacity = 0;
    DIR *dir = opendir(path);
    if (dir == NULL) {
        if (errno != ENOENT)
            return git__fault(TS_GIT_IO, path, ret_fault);
        *ret_names = NULL;
        *ret_count = 0;
        return TS_GIT_OK;
    }
    enum ts_git_error error = TS_GIT_OK;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            if (errno != 0)
                error = git__fault(TS_GIT_IO, path, ret_fault);
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            !ends_with(entry->d_name, suffix))
            continue;
        char *name = NULL;
        if (!TS_GROW(names, capacity, count + 1) || (name = strdup(entry->d_name)) == NULL) {
            error = git__fault(TS_GIT_NO_MEMORY, path, ret_fault);
            break;
        }
        names[count++] = name;
    }
    closedir(dir);
    if (error != TS_GIT_OK) {
        git__free_names(names, count);
        return error;
    }
    if (count > 0)
        qsort(names, count, sizeof *names, compare_names);
    *ret_names = names;
    *ret_count = count;
    return TS_GIT_OK;
}

/* ---- where the repository is ---- */

static void cut_line_end(char *text) {
    size_t len = strlen(text);
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        text[--len] = '\0';
}

/* Reads the first line of a small file of the repository, such as commondir. */
static enum ts_git_error read_line(const char *folder, const char *name, char **ret_line,
                                   struct ts_git_fault *ret_fault) {
    char *path = git__path_join(folder, name);
    if (path == NULL)
        return git__fault(TS_GIT_NO_MEMORY, name, ret_fault);
    size_t len;
    enum ts_git_error error = git__file_read(path, SMALL_FILE_MAX, ret_line, &len, ret_fault);
    free(path);
    if (error == TS_GIT_OK)
        cut_line_end(*ret_line);
    return error;
}

static bool has(const char *folder, const char *name, bool (*is)(const char *path)) {
    char *path = git__path_join(folder, name);
    bool found = path != NULL && is(path);
    free(path);
    return found;
}

/* Returns whether the path exists, even as a broken link: HEAD may be a symbolic link whose target does not
 * exist yet. */
static bool exists_at_all(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0;
}

static bool is_git_dir(const char *path) {
    if (!has(path, "HEAD", exists_at_all))
        return false;
    return has(path, "commondir", git__is_file) ||
           (has(path, "objects", git__is_dir) && has(path, "refs", git__is_dir));
}

/* Returns the error of a file that should name a repository, but is not valid. */
static enum ts_git_error refuse_git_file(const char *folder, const char *name, const char *line,
                                         struct ts_git_fault *ret_fault) {
    char thing[2 * PATH_MAX];
    (void)snprintf(thing, sizeof thing, "%s/%s ('%s')", folder, name, line);
    return git__fault(TS_GIT_BAD_GIT_FILE, thing, ret_fault);
}

/* Reads a .git file: "gitdir: PATH". A relative PATH begins at the folder of the file. */
static enum ts_git_error follow_git_file(const char *folder, const char *name, char **ret_git_dir,
                                         struct ts_git_fault *ret_fault) {
    static const char key[] = "gitdir: ";
    char *line = NULL;
    enum ts_git_error error = read_line(folder, name, &line, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    char *git_dir = NULL;
    if (strncmp(line, key, strlen(key)) == 0)
        git_dir = git__path_join(folder, line + strlen(key));
    if (git_dir == NULL || !is_git_dir(git_dir)) {
        bool is_key = strncmp(line, key, strlen(key)) == 0;
        error = refuse_git_file(folder, name, is_key ? line : "no gitdir: PATH", ret_fault);
        free(git_dir);
    } else {
        *ret_git_dir = git_dir;
    }
    free(line);
    return error;
}

/* Returns whether permissions prevent reading the folder, so that its content is unknown. */
static bool is_closed(const char *path) {
    struct stat status;
    char *head = git__path_join(path, "HEAD");
    bool is = head != NULL && lstat(head, &status) != 0 && errno == EACCES;
    free(head);
    return is;
}

/* Searches one folder for a repository. Returns MISSING if the folder contains no repository. */
static enum ts_git_error locate_in(const char *folder, struct ts_git_repo *repo,
                                   struct ts_git_fault *ret_fault) {
    char *dot_git = git__path_join(folder, ".git");
    enum ts_git_error error = TS_GIT_MISSING;
    if (dot_git == NULL)
        return git__fault(TS_GIT_NO_MEMORY, folder, ret_fault);
    if (git__is_dir(dot_git) && is_git_dir(dot_git)) {
        repo->git_dir = strdup(dot_git);
        repo->work_tree = strdup(folder);
        error = TS_GIT_OK;
    } else if (is_closed(dot_git)) {
        error = git__fault(TS_GIT_IO, dot_git, ret_fault);
    } else if (git__is_file(dot_git)) {
        error = follow_git_file(folder, ".git", &repo->git_dir, ret_fault);
        repo->work_tree = strdup(folder);
    } else if (is_git_dir(folder)) {
        repo->git_dir = strdup(folder);
        if (ends_with(folder, "/.git"))
            repo->work_tree = strndup(folder, strlen(folder) - strlen("/.git"));
        error = TS_GIT_OK;
    }
    free(dot_git);
    return error;
}

/* Returns whether the folder is in the list `ceilings`, which has the form of GIT_CEILING_DIRECTORIES. */
static bool is_ceiling(const char *ceilings, const char *folder) {
    size_t len = strlen(folder);
    for (const char *at = ceilings; at != NULL && *at != '\0';) {
        size_t one = strcspn(at, ":");
        size_t without_slash = one > 1 && at[one - 1] == '/' ? one - 1 : one;
        if (without_slash == len && memcmp(at, folder, len) == 0)
            return true;
        at += one + (at[one] == ':');
    }
    return false;
}

static enum ts_git_error locate(const char *path, const struct ts_git_open_options *options,
                                struct ts_git_repo *repo, struct ts_git_fault *ret_fault) {
    char *folder = realpath(path, NULL);
    if (folder == NULL)
        return git__fault(errno == ENOENT ? TS_GIT_NOT_A_REPOSITORY : TS_GIT_IO, path, ret_fault);
    if (git__is_file(folder) && ends_with(folder, "/.git"))
        *strrchr(folder, '/') = '\0';
    enum ts_git_error error = locate_in(folder, repo, ret_fault);
    while (error == TS_GIT_MISSING && options->search_upward && strcmp(folder, "/") != 0 &&
           folder[0] == '/') {
        char *slash = strrchr(folder, '/');
        slash[slash == folder ? 1 : 0] = '\0';
        if (is_ceiling(options->ceilings, folder))
            break;
        error = locate_in(folder, repo, ret_fault);
    }
    free(folder);
    if (error == TS_GIT_MISSING)
        error = git__fault(TS_GIT_NOT_A_REPOSITORY, path, ret_fault);
    if (error == TS_GIT_OK && repo->git_dir == NULL)
        error = git__fault(TS_GIT_NO_MEMORY, path, ret_fault);
    return error;
}

static enum ts_git_error find_common_dir(struct ts_git_repo *repo, struct ts_git_fault *ret_fault) {
    char *line = NULL;
    enum ts_git_error error = read_line(repo->git_dir, "commondir", &line, ret_fault);
    if (error != TS_GIT_OK && error != TS_GIT_MISSING)
        return error;
    error = TS_GIT_OK;
    repo->common_dir = line != NULL ? git__path_join(repo->git_dir, line) : strdup(repo->git_dir);
    if (repo->common_dir == NULL)
        error = git__fault(TS_GIT_NO_MEMORY, repo->git_dir, ret_fault);
    else if (!has(repo->common_dir, "objects", git__is_dir) || !has(repo->common_dir, "refs", git__is_dir))
        error = line != NULL ? refuse_git_file(repo->git_dir, "commondir", line, ret_fault)
                             : git__fault(TS_GIT_NOT_A_REPOSITORY, repo->common_dir, ret_fault);
    free(line);
    return error;
}

/* ---- object folders and their packs ---- */

static bool is_known_dir(const struct ts_git_repo *repo, const char *path) {
    for (size_t i = 0; i < repo->object_dir_count; i++)
        if (strcmp(repo->object_dirs[i], path) == 0)
            return true;
    return false;
}

static enum ts_git_error add_object_dir(struct ts_git_repo *repo, const char *path,
                                        struct ts_git_fault *ret_fault) {
    char *real = realpath(path, NULL);
    if (real == NULL)
        return git__fault(TS_GIT_IO, path, ret_fault);
    if (is_known_dir(repo, real)) { /* a cycle, or a folder that is listed twice */
        free(real);
        return TS_GIT_OK;
    }
    if (repo->object_dir_count >= OBJECT_DIRS_MAX) {
        free(real);
        return git__fault(TS_GIT_ALTERNATES, path, ret_fault);
    }
    if (!TS_GROW(repo->object_dirs, repo->object_dir_capacity, repo->object_dir_count + 1)) {
        free(real);
        return git__fault(TS_GIT_NO_MEMORY, path, ret_fault);
    }
    repo->object_dirs[repo->object_dir_count++] = real;
    return TS_GIT_OK;
}

/* Handles an alternate that is nested more deeply than git allows. That is a fault only if the folder is
 * unknown. */
static enum ts_git_error refuse_unknown_dir(const struct ts_git_repo *repo, const char *path,
                                            const char *named_by, struct ts_git_fault *ret_fault) {
    char *real = realpath(path, NULL);
    bool is_known = real != NULL && is_known_dir(repo, real);
    free(real);
    return is_known ? TS_GIT_OK : git__fault(TS_GIT_ALTERNATES, named_by, ret_fault);
}

/* Reads one alternates file, and adds its folders after the known folders. If is_too_deep, an unknown folder
 * is a fault. */
static void add_alternates_of(struct ts_git_repo *repo, const char *object_dir, bool is_too_deep,
                              const struct ts_git_fault_sink *faults) {
    struct ts_git_fault fault;
    char *path = git__path_join(object_dir, "info/alternates");
    char *text = NULL;
    size_t len = 0;
    enum ts_git_error error = path == NULL ? git__fault(TS_GIT_NO_MEMORY, object_dir, &fault)
                                           : git__file_read(path, 1u << 20, &text, &len, &fault);
    if (error != TS_GIT_OK && error != TS_GIT_MISSING)
        git__fault_send(faults, &fault);
    char *rest = text;
    for (char *line; error == TS_GIT_OK && (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] == '\0' || line[0] == '#')
            continue;
        char *full = git__path_join(object_dir, line);
        error = full == NULL  ? git__fault(TS_GIT_NO_MEMORY, object_dir, &fault)
                : is_too_deep ? refuse_unknown_dir(repo, full, path, &fault)
                              : add_object_dir(repo, full, &fault);
        if (error != TS_GIT_OK)
            git__fault_send(faults, &fault);
        error = is_too_deep ? error : TS_GIT_OK;
        free(full);
    }
    free(text);
    free(path);
}

static void add_alternates(struct ts_git_repo *repo, const struct ts_git_fault_sink *faults) {
    size_t from = 0;
    for (int nest = 0; nest <= ALTERNATE_NEST_MAX + 1; nest++) {
        size_t to = repo->object_dir_count;
        for (; from < to; from++)
            add_alternates_of(repo, repo->object_dirs[from], nest > ALTERNATE_NEST_MAX, faults);
    }
}

/* Adds a pack. If the pack or its index is missing, it was replaced while the folder was listed, or is being
 * removed. As in git, such a pack is ignored. If objects are then missing, they are searched for again, and
 * reported by their ids if they do not exist. */
static void add_pack(struct ts_git_repo *repo, const char *index_path,
                     const struct ts_git_fault_sink *faults) {
    struct ts_git_fault fault;
    struct git__pack pack;
    bool is_damaged;
    enum ts_git_error error = git__pack_open(repo->hash, index_path, &pack, &is_damaged, &fault);
    if (error != TS_GIT_OK) {
        if (error != TS_GIT_MISSING)
            git__fault_send(faults, &fault);
        return;
    }
    if (!TS_GROW(repo->packs, repo->pack_capacity, repo->pack_count + 1)) {
        git__pack_release(&pack);
        (void)git__fault(TS_GIT_NO_MEMORY, index_path, &fault);
        git__fault_send(faults, &fault);
        return;
    }
    if (is_damaged) {
        (void)git__fault(TS_GIT_BAD_FILE, pack.path, &fault);
        git__fault_send(faults, &fault);
    }
    repo->packs[repo->pack_count++] = pack;
}

/* Returns the position in repo->packs, from `first` on, of the pack whose .idx file has this name; GIT__NONE
 * if there is no such pack. */
static uint32_t pack_named(const struct ts_git_repo *repo, size_t first, const char *index_name) {
    size_t stem = strlen(index_name) > 4 ? strlen(index_name) - 4 : 0;
    for (size_t i = first; i < repo->pack_count; i++) {
        const char *name = git__pack_name(&repo->packs[i]);
        if (strlen(name) == stem + 5 && strncmp(name, index_name, stem) == 0)
            return (uint32_t)i;
    }
    return GIT__NONE;
}

/* Adds the multi-pack index of a folder. If it is invalid, reports a fault; the repository works
 * without it. */
static void add_midx(struct ts_git_repo *repo, const char *pack_dir, size_t first_pack,
                     const struct ts_git_fault_sink *faults) {
    struct ts_git_fault fault;
    struct git__midx_file file = {.packs = NULL};
    char *path = git__path_join(pack_dir, "multi-pack-index");
    enum ts_git_error error = path == NULL ? git__fault(TS_GIT_NO_MEMORY, pack_dir, &fault)
                                           : git__map_open(path, &file.map, &fault);
    if (error == TS_GIT_OK && !git__midx_init(repo->hash, file.map.bytes, &file.midx))
        error = git__fault(TS_GIT_BAD_FILE, path, &fault);
    /* A name takes at least two bytes, so the size of the file limits the number of packs, even if the header
     * says more. */
    if (error == TS_GIT_OK && file.midx.pack_count > file.midx.names.len / 2)
        error = git__fault(TS_GIT_BAD_FILE, path, &fault);
    if (error == TS_GIT_OK) {
        file.packs = malloc((file.midx.pack_count + 1) * sizeof *file.packs);
        if (file.packs == NULL || !TS_GROW(repo->midxs, repo->midx_capacity, repo->midx_count + 1))
            error = git__fault(TS_GIT_NO_MEMORY, path, &fault);
    }
    free(path);
    if (error != TS_GIT_OK) {
        free(file.packs);
        git__map_release(&file.map);
        if (error != TS_GIT_MISSING)
            git__fault_send(faults, &fault);
        return;
    }
    struct ts_bytes names = file.midx.names;
    for (uint32_t i = 0; i < file.midx.pack_count; i++) {
        const uint8_t *end = names.len > 0 ? memchr(names.data, 0, names.len) : NULL;
        file.packs[i] = end != NULL ? pack_named(repo, first_pack, (const char *)names.data) : GIT__NONE;
        names = end != NULL ? ts_bytes_skip(names, (size_t)(end + 1 - names.data)) : ts_bytes_first(names, 0);
    }
    repo->midxs[repo->midx_count++] = file;
}

/* Remembers the first pack without an index, or index without a pack. Such a file is damage, unless git is
 * just writing or removing the pack. */
static void find_half_pack(struct ts_git_repo *repo, const char *pack_dir, char *const *names, size_t count,
                           const char *other_suffix) {
    for (size_t i = 0; i < count && repo->half_pack == NULL; i++) {
        char *path = git__path_join(pack_dir, names[i]);
        char *other = path != NULL ? git__with_suffix(path, other_suffix) : NULL;
        if (other != NULL && !git__is_file(other) && git__is_file(path)) {
            repo->half_pack = path;
            path = NULL;
        }
        free(other);
        free(path);
    }
}

/* Compares packs for sorting, oldest first. A new pack may repeat objects of an older pack, as bases of its
 * deltas. With this order, the old copy is still read. */
static int compare_packs(const void *a, const void *b) {
    const struct git__pack *x = a;
    const struct git__pack *y = b;
    const struct git__file_identity *of_x = &x->map.identity;
    const struct git__file_identity *of_y = &y->map.identity;
    if (of_x->modified_s != of_y->modified_s)
        return of_x->modified_s < of_y->modified_s ? -1 : 1;
    if (of_x->modified_ns != of_y->modified_ns)
        return of_x->modified_ns < of_y->modified_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

static enum ts_git_error open_packs(struct ts_git_repo *repo, const char *object_dir,
                                    const struct ts_git_fault_sink *faults, struct ts_git_fault *ret_fault) {
    char *pack_dir = git__path_join(object_dir, "pack");
    char **names = NULL;
    char **packs = NULL;
    size_t count = 0;
    size_t pack_count = 0;
    if (pack_dir == NULL)
        return git__fault(TS_GIT_NO_MEMORY, object_dir, ret_fault);
    struct ts_git_fault fault;
    enum ts_git_error error = TS_GIT_OK;
    if (git__list_dir(pack_dir, ".idx", &names, &count, &fault) != TS_GIT_OK ||
        git__list_dir(pack_dir, ".pack", &packs, &pack_count, &fault) != TS_GIT_OK)
        git__fault_send(faults, &fault);
    size_t first = repo->pack_count;
    for (size_t i = 0; error == TS_GIT_OK && i < count; i++) {
        char *path = git__path_join(pack_dir, names[i]);
        if (path == NULL)
            error = git__fault(TS_GIT_NO_MEMORY, object_dir, ret_fault);
        else
            add_pack(repo, path, faults);
        free(path);
    }
    if (repo->pack_count - first > 1)
        qsort(repo->packs + first, repo->pack_count - first, sizeof *repo->packs, compare_packs);
    if (error == TS_GIT_OK) {
        add_midx(repo, pack_dir, first, faults);
        find_half_pack(repo, pack_dir, names, count, ".pack");
        find_half_pack(repo, pack_dir, packs, pack_count, ".idx");
    }
    git__free_names(names, count);
    git__free_names(packs, pack_count);
    free(pack_dir);
    return error;
}

static enum ts_git_error open_objects(struct ts_git_repo *repo, const struct ts_git_open_options *options,
                                      struct ts_git_fault *ret_fault) {
    char *own = git__path_join(repo->common_dir, "objects");
    enum ts_git_error error = own == NULL ? git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault)
                                          : add_object_dir(repo, own, ret_fault);
    free(own);
    if (error != TS_GIT_OK)
        return error;
    if (!options->no_alternates)
        add_alternates(repo, &options->faults);
    for (size_t i = 0; i < repo->object_dir_count && error == TS_GIT_OK; i++)
        error = open_packs(repo, repo->object_dirs[i], &options->faults, ret_fault);
    return error;
}

/* ---- shallow ---- */

static int compare_oids(const void *a, const void *b) {
    return ts_git_oid_compare(a, b);
}

/* Reads the file shallow. An unreadable file is a fault. Then the parents that the shallow clone omits are
 * reported as missing, each by its id. */
static enum ts_git_error read_shallow(struct ts_git_repo *repo, const struct ts_git_fault_sink *faults,
                                      struct ts_git_fault *ret_fault) {
    char *path = git__path_join(repo->common_dir, "shallow");
    char *text = NULL;
    size_t len = 0;
    struct ts_git_fault fault;
    if (path == NULL)
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    enum ts_git_error found = git__file_read(path, SHALLOW_MAX, &text, &len, &fault);
    enum ts_git_error error = TS_GIT_OK;
    size_t capacity = 0;
    char *rest = text;
    for (char *line; error == TS_GIT_OK && (line = strsep(&rest, "\n")) != NULL;) {
        struct ts_git_oid oid;
        if (line[0] == '\0' && rest == NULL)
            continue;
        if (!ts_git_oid_parse(repo->hash, ts_bytes_of_cstring(line), &oid))
            found = git__fault(TS_GIT_BAD_LINE, path, &fault);
        else if (!TS_GROW(repo->shallow, capacity, repo->shallow_count + 1))
            error = git__fault(TS_GIT_NO_MEMORY, path, ret_fault);
        else
            repo->shallow[repo->shallow_count++] = oid;
    }
    if (found != TS_GIT_OK && found != TS_GIT_MISSING)
        git__fault_send(faults, &fault);
    if (repo->shallow_count > 0)
        qsort(repo->shallow, repo->shallow_count, sizeof *repo->shallow, compare_oids);
    free(text);
    free(path);
    return error;
}

bool git__is_shallow_commit(const struct ts_git_repo *repo, const struct ts_git_oid *oid) {
    return repo->shallow_count > 0 &&
           bsearch(oid, repo->shallow, repo->shallow_count, sizeof *oid, compare_oids) != NULL;
}

/* ---- life ---- */

static enum ts_git_error read_config(struct ts_git_repo *repo, struct ts_git_fault *ret_fault) {
    char *path = git__path_join(repo->common_dir, "config");
    if (path == NULL)
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    struct git__config config;
    enum ts_git_error error = git__config_read(path, &config, ret_fault);
    free(path);
    if (error != TS_GIT_OK)
        return error;
    repo->hash = config.hash;
    repo->is_bare = config.is_bare;
    repo->is_partial = config.is_partial;
    return TS_GIT_OK;
}

static enum ts_git_error take_work_tree(struct ts_git_repo *repo, const char *work_tree,
                                        struct ts_git_fault *ret_fault) {
    char *folder = realpath(work_tree, NULL);
    if (folder == NULL)
        return git__fault(TS_GIT_IO, work_tree, ret_fault);
    free(repo->work_tree);
    repo->work_tree = folder;
    repo->is_bare = false;
    return TS_GIT_OK;
}

enum ts_git_error ts_git_repo_open(const char *path, const struct ts_git_open_options *options,
                                   struct ts_git_repo **ret_repo, struct ts_git_fault *ret_fault) {
    static const struct ts_git_open_options none = {.search_upward = false};
    const struct ts_git_open_options *used = options != NULL ? options : &none;
    struct ts_git_repo *repo = calloc(1, sizeof *repo);
    if (repo == NULL)
        return git__fault(TS_GIT_NO_MEMORY, path, ret_fault);
    enum ts_git_error error = locate(path, used, repo, ret_fault);
    if (error == TS_GIT_OK)
        error = find_common_dir(repo, ret_fault);
    if (error == TS_GIT_OK)
        error = read_config(repo, ret_fault);
    repo->no_alternates = used->no_alternates;
    if (error == TS_GIT_OK && used->work_tree != NULL)
        error = take_work_tree(repo, used->work_tree, ret_fault);
    if (error == TS_GIT_OK && !git__inflater_init(&repo->inflater))
        error = git__fault(TS_GIT_NO_MEMORY, path, ret_fault);
    if (error == TS_GIT_OK && used->refs_first)
        error = git__refs_fill(repo, ret_fault);
    if (error == TS_GIT_OK)
        error = open_objects(repo, used, ret_fault);
    if (error == TS_GIT_OK)
        error = read_shallow(repo, &used->faults, ret_fault);
    if (error == TS_GIT_OK)
        error = git__grafts_read(repo, &used->faults, ret_fault);
    if (error != TS_GIT_OK) {
        ts_git_repo_free(repo);
        return error;
    }
    *ret_repo = repo;
    return TS_GIT_OK;
}

void ts_git_repo_free(struct ts_git_repo *repo) {
    if (repo == NULL)
        return;
    ts_git_repo_free(repo->again);
    git__refs_release(&repo->refs);
    git__numbers_release(&repo->numbers);
    git__inflater_release(&repo->inflater);
    for (size_t i = 0; i < repo->midx_count; i++) {
        git__map_release(&repo->midxs[i].map);
        free(repo->midxs[i].packs);
    }
    free(repo->midxs);
    for (size_t i = 0; i < repo->pack_count; i++)
        git__pack_release(&repo->packs[i]);
    free(repo->packs);
    free(repo->half_pack);
    git__free_names(repo->object_dirs, repo->object_dir_count);
    free(repo->shallow);
    git__grafts_release(&repo->grafts);
    free(repo->git_dir);
    free(repo->common_dir);
    free(repo->work_tree);
    free(repo);
}

enum ts_git_hash ts_git_repo_hash(const struct ts_git_repo *repo) {
    return repo->hash;
}

const char *ts_git_repo_common_dir(const struct ts_git_repo *repo) {
    return repo->common_dir;
}

const char *ts_git_repo_work_tree(const struct ts_git_repo *repo) {
    return repo->is_bare ? NULL : repo->work_tree;
}

bool ts_git_repo_is_shallow(const struct ts_git_repo *repo) {
    return repo->shallow_count > 0;
}
