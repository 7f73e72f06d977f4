/* Makes a separate folder for each test, and files in it. */
#ifndef TS_TESTS_CONFIG_FOLDER_H
#define TS_TESTS_CONFIG_FOLDER_H

#include "support/cmocka.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static inline int folder_begin(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/turnstone-config.XXXXXX");
    return mkdtemp(folder) == NULL;
}

static inline int folder_remove_one(const char *path, const struct stat *found, int type, struct FTW *walk) {
    (void)found;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline int folder_end(void **state) {
    (void)state;
    return nftw(folder, folder_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Returns the path of a name in the folder. The path is valid until the fourth call after this one. */
static inline const char *folder_path(const char *name) {
    static char paths[4][256];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* Writes a file and the folders above it. Returns its path. */
static inline const char *folder_write(const char *name, const char *text) {
    const char *path = folder_path(name);
    char above[256];
    for (const char *slash = strchr(path + strlen(folder) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        snprintf(above, sizeof above, "%.*s", (int)(slash - path), path);
        mkdir(above, 0700);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

#endif
