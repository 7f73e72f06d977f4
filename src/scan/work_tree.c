#include "work_tree.h"

#include "look_impl.h"
#include "option_names.h"

#include "base/redact.h"
#include "git/uncommitted.h"
#include "os/grow.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The entries of the index may take 1/INDEX_SHARE of the memory. */
#define INDEX_SHARE 4
/* The limit on examined entries of folders. In a larger work tree, untracked files may be missed. */
#define ENTRIES_MAX 2000000
#define PATH_SIZE   4096
#define INSIDE_MAX  64 /* maximum depth of folders that contain only folders */

struct look {
    const struct ts_git_staged *index;
    int root;
    char **pending; /* folders that have tracked files and are not listed yet */
    size_t pending_count;
    size_t pending_capacity;
    size_t entries_left;
    size_t count;
    char first[PATH_SIZE]; /* the first untracked file, in the order of bytes */
};

static bool has_file(struct look *l, const char *path) {
    size_t at = ts_git_staged_find(l->index, path);
    return at < l->index->count && strcmp(l->index->items[at].path, path) == 0;
}

/* Returns whether the index has files in this folder. path ends with a slash. */
static bool has_folder(struct look *l, const char *path) {
    size_t at = ts_git_staged_find(l->index, path);
    return at < l->index->count && strncmp(l->index->items[at].path, path, strlen(path)) == 0;
}

static DIR *open_folder(const struct look *l, const char *path) {
    int fd = openat(l->root, path[0] != '\0' ? path : ".",
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && folder == NULL)
        close(fd);
    return folder;
}

static bool is_folder(DIR *folder, const struct dirent *entry) {
    struct stat status;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(status.st_mode);
}

static const struct dirent *next_entry(struct look *l, DIR *folder) {
    const struct dirent *entry;
    do {
        if (l->entries_left == 0)
            return NULL;
        l->entries_left--;
        entry = readdir(folder);
    } while (entry != NULL && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                               strcmp(entry->d_name, ".git") == 0));
    return entry;
}

static bool join(char ret_path[static PATH_SIZE], const char *folder, const char *name, const char *end) {
    int len = snprintf(ret_path, PATH_SIZE, "%s%s%s", folder, name, end);
    return len >= 0 && len < PATH_SIZE;
}

/* Returns whether a folder has a file at any depth. Like git, ignores folders without files. */
static bool has_any_file(struct look *l, const char *path, unsigned depth) {
    DIR *folder = open_folder(l, path);
    const struct dirent *entry;
    char inner[PATH_SIZE];
    bool has = false;
    while (folder != NULL && !has && (entry = next_entry(l, folder)) != NULL)
        has = !is_folder(folder, entry) || (depth < INSIDE_MAX && join(inner, path, entry->d_name, "/") &&
                                            has_any_file(l, inner, depth + 1));
    if (folder != NULL)
        closedir(folder);
    return has;
}

static void note(struct look *l, const char *path) {
    if (l->count++ == 0 || strcmp(path, l->first) < 0)
        (void)snprintf(l->first, sizeof l->first, "%s", path);
}

static void judge_folder(struct look *l, const char *path, const char *with_slash) {
    if (has_file(l, path) || has_file(l, with_slash))
        return; /* a submodule, or a folder of a sparse index */
    if (!has_folder(l, with_slash)) {
        if (has_any_file(l, with_slash, 0))
            note(l, with_slash);
        return;
    }
    char *kept = strdup(with_slash);
    if (kept != NULL && TS_GROW(l->pending, l->pending_capacity, l->pending_count + 1))
        l->pending[l->pending_count++] = kept;
    else
        free(kept);
}

static void look_at_folder(struct look *l, const char *path) {
    DIR *folder = open_folder(l, path);
    const struct dirent *entry;
    char inner[PATH_SIZE];
    char with_slash[PATH_SIZE];
    while (folder != NULL && (entry = next_entry(l, folder)) != NULL) {
        if (!join(inner, path, entry->d_name, "") || !join(with_slash, path, entry->d_name, "/"))
            continue;
        if (is_folder(folder, entry))
            judge_folder(l, inner, with_slash);
        else if (!has_file(l, inner))
            note(l, inner);
    }
    if (folder != NULL)
        closedir(folder);
}

static void tell_untracked(struct scan_pass *pass, const char *name, const struct look *l) {
    char first[300];
    if (l->count == 0)
        return;
    (void)ts_text_escape(ts_bytes_of_cstring(l->first), first, sizeof first);
    scan__note(
        &pass->faults,
        "%s: %zu untracked or ignored file%s or folder%s in the work tree %s not scanned, such as '%s'; "
        "scan the work tree with " SCAN_OPTION_WORKING_TREE,
        name, l->count, l->count == 1 ? "" : "s", l->count == 1 ? "" : "s", l->count == 1 ? "is" : "are",
        first);
}

static void tell_uncommitted(struct scan_pass *pass, const char *name,
                             const struct ts_git_uncommitted *uncommitted) {
    char first[300];
    if (uncommitted->count == 0)
        return;
    (void)ts_text_escape(ts_bytes_of_cstring(uncommitted->first), first, sizeof first);
    scan__note(
        &pass->faults,
        "%s: %zu file%s in the work tree %s changes that are not committed and not scanned, such as '%s'; "
        "scan the work tree with " SCAN_OPTION_WORKING_TREE ", or staged changes with " SCAN_OPTION_STAGED,
        name, uncommitted->count, uncommitted->count == 1 ? "" : "s",
        uncommitted->count == 1 ? "has" : "have", first);
}

void scan__note_work_tree(struct scan_pass *pass, const struct scan_target *target,
                          struct ts_git_repo *repo) {
    const char *top = ts_git_repo_work_tree(repo);
    const struct ts_git_watch watch = scan__watch(pass);
    struct ts_git_staged index;
    struct ts_git_uncommitted uncommitted = {.count = 0};
    struct look l = {.index = &index, .entries_left = ENTRIES_MAX};
    char name[200];
    if (top == NULL || scan__was_stopped(pass) ||
        ts_git_staged_read(repo, pass->memory_bytes / INDEX_SHARE, &index, NULL) != TS_GIT_OK)
        return;
    (void)ts_text_escape(target->row.name, name, sizeof name);
    l.root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (l.root >= 0) {
        look_at_folder(&l, "");
        while (l.pending_count > 0) {
            char *path = l.pending[--l.pending_count];
            if (!scan__is_stopped(pass))
                look_at_folder(&l, path);
            free(path);
        }
        tell_untracked(pass, name, &l);
        if (ts_git_uncommitted_find(repo, &index, l.root, &watch, &uncommitted) == TS_GIT_OK)
            tell_uncommitted(pass, name, &uncommitted);
        close(l.root);
    }
    free(l.pending);
    ts_git_staged_release(&index);
}
