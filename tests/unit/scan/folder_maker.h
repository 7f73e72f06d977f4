/* Makes a folder of files for a test, and removes the folder with its files. */
#ifndef TS_TESTS_SCAN_FOLDER_MAKER_H
#define TS_TESTS_SCAN_FOLDER_MAKER_H

#include "support/cmocka.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder_maker {
    char path[64];
};

static inline void folder_make(struct folder_maker *folder) {
    snprintf(folder->path, sizeof folder->path, "/tmp/turnstone-test-XXXXXX");
    assert_non_null(mkdtemp(folder->path));
}

static inline int folder__remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

static inline void folder_remove(struct folder_maker *folder) {
    assert_int_equal(nftw(folder->path, folder__remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static inline const char *folder_path(const struct folder_maker *folder, const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    return path;
}

static inline void folder_mkdir(const struct folder_maker *folder, const char *name) {
    assert_int_equal(mkdir(folder_path(folder, name), 0700), 0);
}

static inline void folder_write(const struct folder_maker *folder, const char *name, const char *text) {
    FILE *file = fopen(folder_path(folder, name), "wbe");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

#endif
