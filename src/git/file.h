/*
 * Maps or reads files of a repository. Accepts only regular files, and never blocks, even if the repository
 * has a pipe in place of a file.
 */
#ifndef TS_GIT_FILE_H
#define TS_GIT_FILE_H

#include "base/bytes.h"
#include "fault.h"

#include <stdbool.h>
#include <stddef.h>

/* The identity of a file. No other file has the same identity, and a change of the file changes it. */
struct git__file_identity {
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    int64_t modified_s;
    int64_t modified_ns;
    int64_t changed_s;
    int64_t changed_ns;
};

/* Returns false if the status of the file cannot be read, for example because the file does not exist. */
bool git__file_identify(const char *path, struct git__file_identity *ret_identity);

struct git__map {
    struct ts_bytes bytes; /* read-only; empty for an empty file */
    struct git__file_identity identity;
    bool is_copied; /* the bytes are a copy from malloc, not a mapping */
};

/* Returns MISSING if there is no such file; the fault names the path. */
enum ts_git_error git__map_open(const char *path, struct git__map *ret_map, struct ts_git_fault *ret_fault);

/* Like git__map_open, but copies a small file, because mapping and unmapping takes longer than reading a
 * small file, above all while other threads run. It is for files that are read once, such as loose objects.
 * The caller must not call git__map_forget for the result. */
enum ts_git_error git__map_open_once(const char *path, struct git__map *ret_map,
                                     struct ts_git_fault *ret_fault);
void git__map_release(struct git__map *map);

/* Releases the pages of a mapping. The pages stay in the system's cache, and reading a page maps it again. */
void git__map_forget(const struct git__map *map);

/* Reads a whole small file, and adds a terminator that is not counted. Returns TOO_LARGE if the file has more
 * than max bytes. The caller frees the text. */
enum ts_git_error git__file_read(const char *path, size_t max, char **ret_text, size_t *ret_len,
                                 struct ts_git_fault *ret_fault);

/* Like git__file_read, but reads at most the first max bytes of a file. */
enum ts_git_error git__file_read_start(const char *path, size_t max, char **ret_text,
                                       struct ts_git_fault *ret_fault);

bool git__is_dir(const char *path);
bool git__is_file(const char *path);

/* Returns folder/name, from malloc; NULL when memory runs out. If the name is absolute, returns the name
 * alone. */
char *git__path_join(const char *folder, const char *name);

#endif
