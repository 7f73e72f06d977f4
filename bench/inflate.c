/*
 * bench_inflate REPOSITORY: inflates every stream of every pack of a repository in file order, and does
 * nothing else. No scan that reads all objects can be faster. Prints one JSON object with the lowest CPU time
 * of three rounds. Ignores loose objects and packs of alternates.
 */
#include "base/endian.h"
#include "os/clock.h"
#include "os/grow.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUNDS       3
#define HEADER_LEN   12 /* length of the header of a pack file */
#define ID_LEN       20
#define OFFSET_DELTA 6
#define REF_DELTA    7

struct totals {
    uint64_t objects;
    uint64_t bytes; /* inflated bytes */
};

struct buffer {
    uint8_t *bytes;
    size_t capacity;
};

/* Reads the header of an entry: its type, and its inflated size. Returns where the stream of the entry
 * begins, or NULL if the stream would begin outside the file. */
static const uint8_t *stream_of(const uint8_t *at, const uint8_t *end, unsigned *ret_type, size_t *ret_size) {
    *ret_type = at < end ? *at >> 4 & 7 : 0;
    *ret_size = at < end ? *at & 15 : 0;
    for (unsigned shift = 4; at < end && (*at++ & 0x80) != 0 && at < end && shift < 60; shift += 7)
        *ret_size |= (size_t)(*at & 0x7f) << shift;
    if (*ret_type == OFFSET_DELTA)
        while (at < end && (*at++ & 0x80) != 0)
            ;
    if (*ret_type == REF_DELTA)
        at = end - at > ID_LEN ? at + ID_LEN : end;
    return at < end ? at : NULL;
}

static bool inflate_pack(struct libdeflate_decompressor *inflater, const uint8_t *bytes, size_t len,
                         struct buffer *buffer, struct totals *totals) {
    if (len < HEADER_LEN + ID_LEN || memcmp(bytes, "PACK", 4) != 0)
        return false;
    const uint8_t *end = bytes + len - ID_LEN;
    const uint8_t *at = bytes + HEADER_LEN;
    for (uint32_t left = ts_be32_load(bytes + 8); left > 0; left--) {
        unsigned type;
        size_t size;
        size_t used;
        at = stream_of(at, end, &type, &size);
        if (at == NULL || !TS_GROW(buffer->bytes, buffer->capacity, size + 1) ||
            libdeflate_zlib_decompress_ex(inflater, at, (size_t)(end - at), buffer->bytes, size, &used,
                                          NULL) != LIBDEFLATE_SUCCESS)
            return false;
        at += used;
        totals->objects++;
        totals->bytes += size;
    }
    return true;
}

static bool inflate_file(struct libdeflate_decompressor *inflater, const char *path, struct buffer *buffer,
                         struct totals *totals) {
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_size == 0)
        return false;
    size_t len = (size_t)status.st_size;
    void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return false;
    bool done = inflate_pack(inflater, map, len, buffer, totals);
    munmap(map, len);
    return done;
}

static bool inflate_all(const char *folder, struct totals *ret_totals) {
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    struct buffer buffer = {.bytes = NULL};
    DIR *packs = opendir(folder);
    bool done = inflater != NULL && packs != NULL;
    *ret_totals = (struct totals){.objects = 0};
    for (const struct dirent *one; done && (one = readdir(packs)) != NULL;) {
        char path[4096];
        size_t len = strlen(one->d_name);
        if (len < 5 || strcmp(one->d_name + len - 5, ".pack") != 0)
            continue;
        done = (size_t)snprintf(path, sizeof path, "%s/%s", folder, one->d_name) < sizeof path &&
               inflate_file(inflater, path, &buffer, ret_totals);
    }
    if (packs != NULL)
        closedir(packs);
    if (inflater != NULL)
        libdeflate_free_decompressor(inflater);
    free(buffer.bytes);
    return done;
}

int main(int argc, char **argv) {
    char folder[2048];
    struct totals totals = {.objects = 0};
    uint64_t least_ns = UINT64_MAX;
    struct stat status;
    if (argc != 2) {
        fprintf(stderr, "usage: bench_inflate REPOSITORY\n");
        return 2;
    }
    snprintf(folder, sizeof folder, "%s/.git/objects/pack", argv[1]);
    if (stat(folder, &status) != 0)
        snprintf(folder, sizeof folder, "%s/objects/pack", argv[1]);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t start = ts_clock_processor_ns();
        if (!inflate_all(folder, &totals)) {
            fprintf(stderr,
                    "bench_inflate: the packs in %s cannot be read; give a repository whose ids are SHA-1\n",
                    folder);
            return 2;
        }
        uint64_t taken = ts_clock_processor_ns() - start;
        least_ns = taken < least_ns ? taken : least_ns;
    }
    printf("{\"objects\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"cpu_seconds\": %.4f}\n", totals.objects,
           totals.bytes, (double)least_ns / 1e9);
    return 0;
}
