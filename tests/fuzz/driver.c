/*
 * Runs a fuzz target without libFuzzer, over files and folders. The target gets each file unchanged, truncated
 * at every length, and with every single byte changed. If a file is long, the target gets at most MOST_CHANGES
 * lengths and MOST_CHANGES changed bytes of the file, evenly spread.
 */
#include "base/prng.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_CHANGES 600

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Copies the input to memory of exactly its size, so that ASan finds reads beyond the end. */
static void run_copy(const uint8_t *bytes, size_t len) {
    uint8_t *copy = malloc(len > 0 ? len : 1);
    if (copy == NULL)
        abort();
    if (len > 0)
        memcpy(copy, bytes, len);
    (void)LLVMFuzzerTestOneInput(copy, len);
    free(copy);
}

static void run_bytes(uint8_t *bytes, size_t len) {
    struct ts_prng prng;
    ts_prng_init(&prng, len);
    size_t step = len / MOST_CHANGES + 1;
    run_copy(bytes, len);
    for (size_t at = 0; at < len; at += step) {
        run_copy(bytes, at);
        uint8_t kept = bytes[at];
        bytes[at] = (uint8_t)ts_prng_next(&prng);
        run_copy(bytes, len);
        bytes[at] = kept;
    }
}

static int run_file(const char *path) {
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    static uint8_t bytes[1 << 20];
    size_t len = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    run_bytes(bytes, len);
    return 0;
}

static int run_folder(const char *path) {
    int failed = 0;
    unsigned count = 0;
    DIR *dir = opendir(path);
    if (dir == NULL)
        return run_file(path);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char name[4096];
        struct stat status;
        int len = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (len < 0 || (size_t)len >= sizeof name || stat(name, &status) != 0 || !S_ISREG(status.st_mode))
            continue;
        failed |= run_file(name);
        count++;
    }
    closedir(dir);
    if (count == 0) {
        fprintf(stderr, "%s: an empty corpus shows nothing\n", path);
        return 1;
    }
    return failed;
}

int main(int argc, char **argv) {
    int failed = argc < 2;
    for (int i = 1; i < argc; i++)
        failed |= run_folder(argv[i]);
    return failed;
}
