#include "file.h"

#include "base/checked.h"
#include "os/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct git__file_identity identity_of(const struct stat *status) {
    return (struct git__file_identity){.device = (uint64_t)status->st_dev,
                                       .inode = (uint64_t)status->st_ino,
                                       .size = (uint64_t)status->st_size,
                                       .modified_s = status->st_mtim.tv_sec,
                                       .modified_ns = status->st_mtim.tv_nsec,
                                       .changed_s = status->st_ctim.tv_sec,
                                       .changed_ns = status->st_ctim.tv_nsec};
}

bool git__file_identify(const char *path, struct git__file_identity *ret_identity) {
    struct stat status;
    if (stat(path, &status) != 0)
        return false;
    *ret_identity = identity_of(&status);
    return true;
}

/* git__map_open_once copies files up to this size, and maps larger files. */
#define COPIED_MAX ((size_t)1 << 15)

/* Opens a regular file. Uses O_NONBLOCK, because opening a pipe would wait for the other end of the pipe. */
static enum ts_git_error open_regular(const char *path, int *ret_fd, size_t *ret_len,
                                      struct git__file_identity *ret_identity,
                                      struct ts_git_fault *ret_fault) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return git__fault(errno == ENOENT || errno == ENOTDIR ? TS_GIT_MISSING : TS_GIT_IO, path, ret_fault);
    struct stat status;
    if (fstat(fd, &status) != 0) {
        enum ts_git_error error = git__fault(TS_GIT_IO, path, ret_fault);
        close(fd);
        return error;
    }
    size_t len = 0;
    if (!S_ISREG(status.st_mode) || !ts_narrow_i64_size(status.st_size, &len)) {
        close(fd);
        return git__fault(TS_GIT_NOT_A_FILE, path, ret_fault);
    }
    *ret_fd = fd;
    *ret_len = len;
    *ret_identity = identity_of(&status);
    return TS_GIT_OK;
}

/* Copies a file. If the file shrinks meanwhile, the copy is shorter. */
static enum ts_git_error copy(const char *path, int fd, size_t len, struct git__map *map,
                              struct ts_git_fault *ret_fault) {
    uint8_t *bytes = malloc(len);
    if (bytes == NULL)
        return git__fault(TS_GIT_NO_MEMORY, path, ret_fault);
    if (!ts_read_up_to(fd, bytes, len, &len)) {
        const enum ts_git_error error = git__fault(TS_GIT_IO, path, ret_fault);
        free(bytes);
        return error;
    }
    map->bytes = ts_bytes_of(bytes, len);
    map->is_copied = true;
    return TS_GIT_OK;
}

/* Opens a file, and copies it if it has at most copied_max bytes. */
static enum ts_git_error open_map(const char *path, size_t copied_max, struct git__map *ret_map,
                                  struct ts_git_fault *ret_fault) {
    int fd = -1;
    size_t len = 0;
    struct git__map map = {.bytes = {NULL, 0}};
    enum ts_git_error error = open_regular(path, &fd, &len, &map.identity, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    if (len > 0 && len <= copied_max) {
        error = copy(path, fd, len, &map, ret_fault);
    } else if (len > 0) {
        void *at = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED)
            error = git__fault(TS_GIT_IO, path, ret_fault);
        else
            map.bytes = ts_bytes_of(at, len);
    }
    close(fd);
    if (error == TS_GIT_OK)
        *ret_map = map;
    return error;
}

enum ts_git_error git__map_open(const char *path, struct git__map *ret_map, struct ts_git_fault *ret_fault) {
    return open_map(path, 0, ret_map, ret_fault);
}

enum ts_git_error git__map_open_once(const char *path, struct git__map *ret_map,
                                     struct ts_git_fault *ret_fault) {
    return open_map(path, COPIED_MAX, ret_map, ret_fault);
}

void git__map_release(struct git__map *map) {
    if (map->is_copied)
        free((void *)(uintptr_t)map->bytes.data);
    else if (map->bytes.len > 0)
        munmap((void *)(uintptr_t)map->bytes.data, map->bytes.len);
    map->bytes = (struct ts_bytes){NULL, 0};
    map->is_copied = false;
}

void git__map_forget(const struct git__map *map) {
    if (map->bytes.len > 0)
        (void)madvise((void *)(uintptr_t)map->bytes.data, map->bytes.len, MADV_DONTNEED);
}

/* Reads at most len bytes, and closes the file. If the file shrinks meanwhile, the result is shorter. */
static enum ts_git_error read_text(const char *path, int fd, size_t len, char **ret_text, size_t *ret_len,
                                   struct ts_git_fault *ret_fault) {
    enum ts_git_error error = TS_GIT_OK;
    char *text = malloc(len + 1);
    if (text == NULL)
        error = git__fault(TS_GIT_NO_MEMORY, path, ret_fault);
    else if (!ts_read_up_to(fd, text, len, &len))
        error = git__fault(TS_GIT_IO, path, ret_fault);
    close(fd);
    if (error != TS_GIT_OK || text == NULL) {
        free(text);
        return error;
    }
    text[len] = '\0';
    *ret_text = text;
    *ret_len = len;
    return TS_GIT_OK;
}

enum ts_git_error git__file_read(const char *path, size_t max, char **ret_text, size_t *ret_len,
                                 struct ts_git_fault *ret_fault) {
    int fd = -1;
    size_t len = 0;
    struct git__file_identity unused;
    enum ts_git_error error = open_regular(path, &fd, &len, &unused, ret_fault);
    if (error == TS_GIT_OK && len > max) {
        close(fd);
        error = git__fault(TS_GIT_TOO_LARGE, path, ret_fault);
    }
    return error == TS_GIT_OK ? read_text(path, fd, len, ret_text, ret_len, ret_fault) : error;
}

enum ts_git_error git__file_read_start(const char *path, size_t max, char **ret_text,
                                       struct ts_git_fault *ret_fault) {
    int fd = -1;
    size_t len = 0;
    struct git__file_identity unused;
    enum ts_git_error error = open_regular(path, &fd, &len, &unused, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    return read_text(path, fd, len < max ? len : max, ret_text, &len, ret_fault);
}

bool git__is_dir(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool git__is_file(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

char *git__path_join(const char *folder, const char *name) {
    if (name[0] == '/')
        return strdup(name);
    size_t folder_len = strlen(folder);
    size_t name_len = strlen(name);
    char *path = malloc(folder_len + name_len + 2);
    if (path == NULL)
        return NULL;
    memcpy(path, folder, folder_len);
    path[folder_len] = '/';
    memcpy(path + folder_len + 1, name, name_len);
    path[folder_len + 1 + name_len] = '\0';
    return path;
}
