/*
 * The objects of a repository are in packs, in files of their own (loose), and in the objects folders of other
 * repositories, for example in a pool that the forks on a server share (alternates).
 */
#include "large.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Loose objects are spread evenly over 256 folders, of which every 64th is read. */
enum { FOLDERS = 256, EVERY = 64 };

/* Returns false if the path is too long. */
static bool join(const char *folder, const char *name, char ret_path[static PATH_MAX]) {
    const int len = snprintf(ret_path, PATH_MAX, "%s/%s", folder, name);
    return len > 0 && len < PATH_MAX;
}

static uint64_t size_of_files(const char *objects, const char *name) {
    char path[PATH_MAX];
    DIR *folder = join(objects, name, path) ? opendir(path) : NULL;
    uint64_t size = 0;
    struct stat status;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (fstatat(dirfd(folder), entry->d_name, &status, 0) == 0 && S_ISREG(status.st_mode))
            size += (uint64_t)status.st_size;
    if (folder != NULL)
        (void)closedir(folder);
    return size;
}

static uint64_t size_of_loose(const char *objects) {
    uint64_t size = 0;
    for (unsigned i = 0; i < FOLDERS; i += EVERY) {
        char name[3];
        (void)snprintf(name, sizeof name, "%02x", i);
        size += EVERY * size_of_files(objects, name);
    }
    return size;
}

/* Returns the size of the packs of the alternates. Alternates of alternates do not count. Stops counting at
 * RUNTIME__LARGE_BYTES. */
static uint64_t size_of_alternates(const char *objects) {
    char list[PATH_MAX], line[PATH_MAX], path[PATH_MAX];
    FILE *file = join(objects, "info/alternates", list) ? fopen(list, "re") : NULL;
    uint64_t size = 0;
    while (file != NULL && size < RUNTIME__LARGE_BYTES && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '/')
            size += size_of_files(line, "pack");
        else if (line[0] != '\0' && line[0] != '#' && join(objects, line, path))
            size += size_of_files(path, "pack");
    }
    if (file != NULL)
        (void)fclose(file);
    return size;
}

static bool are_large(const char *objects) {
    if (access(objects, F_OK) != 0)
        return false;
    uint64_t size = size_of_files(objects, "pack");
    if (size < RUNTIME__LARGE_BYTES)
        size += size_of_loose(objects);
    if (size < RUNTIME__LARGE_BYTES)
        size += size_of_alternates(objects);
    return size >= RUNTIME__LARGE_BYTES;
}

bool runtime__is_large(const char *repository) {
    char objects[PATH_MAX];
    return (join(repository, ".git/objects", objects) && are_large(objects)) ||
           (join(repository, "objects", objects) && are_large(objects));
}
