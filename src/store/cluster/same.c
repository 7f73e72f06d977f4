#include "same.h"

#include "base/assert.h"
#include "store/contract/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, LINKS_MAX = 40 };

/* A directory, identified by the device and inode of the existing part of its path, and by the remaining
 * components of the path. */
struct directory {
    bool known;
    dev_t device;
    ino_t inode;
    char rest[PATH_SIZE];
};

/* Moves the last component of `path` to the front of `rest`, which has room for the whole path. Drops "." and
 * empty components. */
static void step_up(char *path, char *rest) {
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        path[--len] = '\0';
    char *slash = strrchr(path, '/');
    const char *step = slash == NULL ? path : slash + 1;
    if (strcmp(step, ".") != 0 && step[0] != '\0') {
        size_t step_len = strlen(step), rest_len = strlen(rest);
        ts_assert(1 + step_len + rest_len < PATH_SIZE);
        memmove(rest + 1 + step_len, rest, rest_len + 1);
        rest[0] = '/';
        for (size_t i = 0; i < step_len; i++)
            rest[1 + i] = step[i];
    }
    if (slash == NULL)
        memcpy(path, ".", 2);
    else if (slash == path)
        path[1] = '\0';
    else
        *slash = '\0';
}

/* If `path` is a symbolic link whose target does not exist yet, replaces it by the target. Returns false
 * otherwise. */
static bool follow(char path[static PATH_SIZE]) {
    char target[PATH_SIZE], next[PATH_SIZE];
    ssize_t len = readlink(path, target, sizeof target - 1);
    if (len <= 0)
        return false;
    target[len] = '\0';
    const char *slash = target[0] == '/' ? NULL : strrchr(path, '/');
    int folder_len = slash == NULL ? 0 : (int)(slash + 1 - path);
    int next_len = snprintf(next, sizeof next, "%.*s%s", folder_len, path, target);
    if (next_len < 0 || (size_t)next_len >= sizeof next)
        return false;
    memcpy(path, next, (size_t)next_len + 1);
    return true;
}

/* Identifies a directory. If the path is too long or its root cannot be read, leaves `known` false. */
static void find(const char *path, struct directory *ret_directory) {
    struct directory *directory = ret_directory;
    directory->known = false;
    directory->rest[0] = '\0';
    char at[PATH_SIZE];
    if (strlen(path) >= sizeof at - 1)
        return;
    snprintf(at, sizeof at, "%s", path);
    struct stat there;
    int links = 0;
    while (stat(at, &there) != 0) {
        if (links < LINKS_MAX && follow(at)) {
            links++;
            continue;
        }
        if (strcmp(at, "/") == 0 || strcmp(at, ".") == 0 ||
            strlen(at) + strlen(directory->rest) >= PATH_SIZE - 2)
            return;
        step_up(at, directory->rest);
    }
    directory->known = true;
    directory->device = there.st_dev;
    directory->inode = there.st_ino;
}

static bool are_same(const struct directory *a, const struct directory *b) {
    return a->known && b->known && a->device == b->device && a->inode == b->inode &&
           strcmp(a->rest, b->rest) == 0;
}

enum ts_store_result store__same_error(const struct store__twice *twice, struct ts_store_error *ret_error) {
    return store__error(
        ret_error, TS_STORE_BAD_USAGE, SIZE_MAX,
        "store %zu and store %zu are the same: the list has this store twice, as %.70s and %.70s; list "
        "each store once",
        twice->first, twice->second, twice->first_name, twice->second_name);
}

enum ts_store_result store__same_directories(const struct store_url_list *list,
                                             struct ts_store_error *ret_error) {
    struct directory *directories = calloc(list->count, sizeof *directories);
    if (directories == NULL)
        return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "no memory to compare stores");
    enum ts_store_result result = TS_STORE_OK;
    for (size_t i = 0; result == TS_STORE_OK && i < list->count; i++) {
        if (list->urls[i].kind != STORE_URL_ROCKSDB)
            continue;
        find(list->urls[i].path, &directories[i]);
        for (size_t j = 0; result == TS_STORE_OK && j < i; j++)
            if (are_same(&directories[j], &directories[i]))
                result = store__same_error(
                    &(struct store__twice){j, i, list->urls[j].name, list->urls[i].name}, ret_error);
    }
    free(directories);
    return result;
}
