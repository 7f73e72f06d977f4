/*
 * There is one file for each combination of rules, library and processor. The name of a file is the first
 * half of its key.
 *
 *     offset  bytes
 *          0      8  "TSDETEC3"
 *          8     32  key: BLAKE3 over the rules' digest, the library's version and the processor's features
 *         40     24  lengths of the three databases, little-endian; 0 for an empty one
 *         64      8  width of the longest gate
 *         72      8  XXH64 of the lengths, the width and everything after this field
 *         80         the databases as Vectorscan serialises them, one after another
 *
 * A file is written under a temporary name and renamed, so that nobody sees an incomplete one. A file is used
 * only if it belongs to this user, nobody else may write it, and key, lengths and checksum are correct. The
 * checksum detects damage, not attacks: someone who can write to the user's own folder can do worse than
 * change this file.
 */
#include "set_cache.h"

#include "base/blake3.h"
#include "base/endian.h"
#include "base/hash64.h"

#include "base/hex.h"
#include "os/read.h"
#include "turnstone/version.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_SIZE = 80, KEY_AT = 8, LENGTHS_AT = 40, WIDTH_AT = 64, SUM_AT = 72 };

static const char magic[8] = {'T', 'S', 'D', 'E', 'T', 'E', 'C', '3'};

static void make_key(const struct ts_detector *detector, uint8_t ret_key[static 32]) {
    hs_platform_info_t platform = {0};
    (void)hs_populate_platform(&platform);
    uint8_t features[16];
    ts_le32_store(platform.tune, features);
    ts_le32_store(0, features + 4);
    ts_le64_store(platform.cpu_features, features + 8);
    struct ts_blake3 hasher;
    ts_blake3_init_derive_key(&hasher, TS_BYTES("turnstone 2026 compiled rules"));
    ts_blake3_update(&hasher, ts_bytes_of(detector->rules_digest, sizeof detector->rules_digest));
    ts_blake3_update(&hasher, ts_bytes_of(features, sizeof features));
    ts_blake3_update(&hasher, ts_bytes_of_cstring(hs_version()));
    ts_blake3_update(&hasher, ts_bytes_of_cstring(ts_version()));
    ts_blake3_output(&hasher, 0, ret_key, 32);
}

static bool choose_folder(const char *given, char *ret_folder, size_t size) {
    if (given && given[0] == '\0')
        return false;
    int len;
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (given)
        len = snprintf(ret_folder, size, "%s", given);
    else if (cache && cache[0] == '/')
        len = snprintf(ret_folder, size, "%s/turnstone/rules", cache);
    else if (home && home[0] == '/')
        len = snprintf(ret_folder, size, "%s/.cache/turnstone/rules", home);
    else
        return false;
    return len > 0 && (size_t)len < size;
}

bool detect__cache_place(const struct ts_detector *detector, const char *folder,
                         struct detect_cache_place *ret_place) {
    if (!choose_folder(folder, ret_place->folder, sizeof ret_place->folder))
        return false;
    make_key(detector, ret_place->key);
    char name[33];
    *ts_hex_encode(ts_bytes_of(ret_place->key, 16), name) = '\0';
    int len = snprintf(ret_place->path, sizeof ret_place->path, "%s/%s.set", ret_place->folder, name);
    return len > 0 && (size_t)len < sizeof ret_place->path;
}

static uint64_t sum_of(const uint8_t *head, struct ts_bytes databases) {
    uint8_t both[16];
    ts_le64_store(ts_xxh64_of_bytes(ts_bytes_of(head + LENGTHS_AT, SUM_AT - LENGTHS_AT)), both);
    ts_le64_store(ts_xxh64_of_bytes(databases), both + 8);
    return ts_xxh64_of_bytes(ts_bytes_of(both, sizeof both));
}

static bool parse(struct ts_detector *detector, struct ts_bytes file, const uint8_t key[static 32]) {
    if (file.len < HEAD_SIZE || memcmp(file.data, magic, sizeof magic) != 0 ||
        memcmp(file.data + KEY_AT, key, 32) != 0)
        return false;
    struct ts_bytes rest = ts_bytes_skip(file, HEAD_SIZE);
    if (ts_le64_load(file.data + SUM_AT) != sum_of(file.data, rest))
        return false;
    hs_database_t *databases[DETECT_DATABASES] = {0};
    bool good = true;
    for (size_t i = 0; i < DETECT_DATABASES && good; i++) {
        uint64_t len = ts_le64_load(file.data + LENGTHS_AT + 8 * i);
        good = len <= rest.len && (len == 0 || hs_deserialize_database((const char *)rest.data, (size_t)len,
                                                                       &databases[i]) == HS_SUCCESS);
        if (good)
            rest = ts_bytes_skip(rest, (size_t)len);
    }
    uint64_t width = ts_le64_load(file.data + WIDTH_AT);
    good = good && rest.len == 0 && width <= UINT32_MAX;
    if (good)
        detector->gate_width = (uint32_t)width;
    for (size_t i = 0; i < DETECT_DATABASES; i++) {
        if (good)
            detector->databases[i] = databases[i];
        else
            (void)hs_free_database(databases[i]);
    }
    return good;
}

enum detect_cache_read detect__cache_read(struct ts_detector *detector,
                                          const struct detect_cache_place *place) {
    int fd = open(place->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? DETECT_CACHE_ABSENT : DETECT_CACHE_DAMAGED;
    struct stat status;
    enum detect_cache_read result = DETECT_CACHE_DAMAGED;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && status.st_size >= HEAD_SIZE) {
        size_t size = (size_t)status.st_size;
        /* The file is read, not mapped, because truncating a mapped file ends the process that reads the
         * mapping. */
        uint8_t *bytes = malloc(size);
        size_t got = 0;
        if (bytes && ts_read_up_to(fd, bytes, size, &got) && got == size &&
            parse(detector, ts_bytes_of(bytes, size), place->key))
            result = DETECT_CACHE_READ;
        free(bytes);
    }
    close(fd);
    return result;
}

/* Creates the folder and its parents. */
static void make_folders(const char *folder) {
    char path[sizeof((struct detect_cache_place *)0)->folder];
    snprintf(path, sizeof path, "%s", folder);
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    (void)mkdir(path, 0700);
}

static bool write_all(int fd, struct ts_bytes bytes) {
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.data, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes = ts_bytes_skip(bytes, (size_t)n);
    }
    return true;
}

void detect__cache_write(const struct ts_detector *detector, const struct detect_cache_place *place) {
    char *parts[DETECT_DATABASES] = {0};
    uint8_t head[HEAD_SIZE] = {0};
    size_t total = 0;
    uint8_t *all = NULL;
    char temporary[sizeof place->folder + 32];
    int fd = -1;
    bool good = true;
    for (size_t i = 0; i < DETECT_DATABASES && good; i++) {
        size_t len = 0;
        if (detector->databases[i])
            good = hs_serialize_database(detector->databases[i], &parts[i], &len) == HS_SUCCESS;
        ts_le64_store(len, head + LENGTHS_AT + 8 * i);
        total += len;
    }
    all = good ? malloc(total + 1) : NULL;
    if (!all)
        goto done;
    size_t used = 0;
    for (size_t i = 0; i < DETECT_DATABASES; i++) {
        size_t len = (size_t)ts_le64_load(head + LENGTHS_AT + 8 * i);
        if (parts[i] != NULL && len > 0)
            memcpy(all + used, parts[i], len);
        used += len;
    }
    memcpy(head, magic, sizeof magic);
    memcpy(head + KEY_AT, place->key, 32);
    ts_le64_store(detector->gate_width, head + WIDTH_AT);
    ts_le64_store(sum_of(head, ts_bytes_of(all, total)), head + SUM_AT);

    make_folders(place->folder);
    snprintf(temporary, sizeof temporary, "%s/.new-XXXXXX", place->folder);
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        goto done;
    good = write_all(fd, ts_bytes_of(head, sizeof head)) && write_all(fd, ts_bytes_of(all, total));
    good = close(fd) == 0 && good;
    if (!good || rename(temporary, place->path) != 0)
        (void)unlink(temporary);
done:
    free(all);
    for (size_t i = 0; i < DETECT_DATABASES; i++)
        free(parts[i]);
}
