/*
 * Writes packs that git would not write: with any entries and ids, in a bare repository made by hand. Ids are
 * made from a number, which is good enough for trees and blobs in a pack with CRCs. Commits have the ids of
 * their contents.
 */
#ifndef TS_TESTS_UNIT_GIT_PACK_WRITER_H
#define TS_TESTS_UNIT_GIT_PACK_WRITER_H

#include "base/endian.h"
#include "repo_maker.h"

#include <zlib.h>

struct written {
    uint8_t id[20];
    uint64_t offset;
    uint32_t crc;
};

struct pack_writer {
    uint8_t *bytes;
    size_t len;
    size_t capacity;
    struct written *objects;
    uint32_t count;
    uint32_t object_capacity;
};

static inline void writer_put(struct pack_writer *w, const void *bytes, size_t len) {
    if (w->len + len > w->capacity) {
        w->capacity = (w->len + len) * 2;
        w->bytes = realloc(w->bytes, w->capacity);
        assert_non_null(w->bytes);
    }
    memcpy(w->bytes + w->len, bytes, len);
    w->len += len;
}

static inline void write_file(const char *path, const void *bytes, size_t len) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static inline void writer_init(struct pack_writer *w) {
    *w = (struct pack_writer){.bytes = NULL};
    writer_put(w, "PACK\0\0\0\2\0\0\0\0", 12);
}

/* Returns the made-up id of a number. The ids of successive numbers are spread over all first bytes. */
static inline struct ts_git_oid writer_oid(uint32_t number) {
    struct ts_git_oid oid = {{0}};
    uint64_t state = number;
    for (size_t i = 0; i < 16; i += 8)
        ts_le64_store(ts_splitmix64_next(&state), oid.bytes + i);
    ts_be32_store(number, oid.bytes + 16);
    return oid;
}

/* Writes an entry: a header with this type and size, the base, and the compressed content. Returns the offset
 * of the entry. said_size is not checked, so that tests can write a wrong size. */
static inline uint64_t writer_entry(struct pack_writer *w, unsigned type, uint64_t said_size,
                                    const void *base, size_t base_len, const void *content, size_t len) {
    uint64_t offset = w->len;
    uint8_t head[12];
    size_t head_len = 0;
    uint64_t size = said_size;
    uint8_t byte = (uint8_t)(type << 4 | (size & 15));
    for (size >>= 4; size > 0; size >>= 7) {
        head[head_len++] = byte | 0x80;
        byte = size & 0x7f;
    }
    head[head_len++] = byte;
    writer_put(w, head, head_len);
    if (base_len > 0)
        writer_put(w, base, base_len);
    uLongf packed_len = compressBound(len);
    uint8_t *packed = malloc(packed_len);
    assert_non_null(packed);
    assert_int_equal(compress2(packed, &packed_len, content, len, 1), Z_OK);
    writer_put(w, packed, packed_len);
    free(packed);
    if (w->count == w->object_capacity) {
        w->object_capacity = 2 * w->count + 16;
        w->objects = realloc(w->objects, w->object_capacity * sizeof *w->objects);
        assert_non_null(w->objects);
    }
    struct written *object = &w->objects[w->count];
    memcpy(object->id, writer_oid(w->count).bytes, 20);
    object->offset = offset;
    object->crc = (uint32_t)crc32(0, w->bytes + offset, (uInt)(w->len - offset));
    w->count++;
    return offset;
}

/* Writes a commit or a tag under the id of its content, which readers compare with the content. Returns the
 * id. */
static inline struct ts_git_oid writer_true_entry(struct pack_writer *w, enum ts_git_type type,
                                                  struct ts_bytes content) {
    struct ts_git_oid oid;
    write_file("content", content.data, content.len);
    char *hex = output_of(NULL, "git hash-object --literally -t %s content", ts_git_type_name(type));
    assert_true(ts_git_oid_parse(TS_GIT_SHA1, ts_bytes_of(hex, 40), &oid));
    free(hex);
    writer_entry(w, (unsigned)type, content.len, NULL, 0, content.data, content.len);
    memcpy(w->objects[w->count - 1].id, oid.bytes, 20);
    return oid;
}

static inline uint64_t writer_blob(struct pack_writer *w, const void *content, size_t len) {
    return writer_entry(w, 3, len, NULL, 0, content, len);
}

static inline uint64_t writer_offset_delta(struct pack_writer *w, uint64_t base_offset, const void *delta,
                                           size_t len) {
    uint64_t distance = w->len - base_offset;
    uint8_t bytes[10];
    size_t at = sizeof bytes;
    bytes[--at] = distance & 0x7f;
    while ((distance >>= 7) > 0)
        bytes[--at] = 0x80 | (--distance & 0x7f);
    return writer_entry(w, 6, len, bytes + at, sizeof bytes - at, delta, len);
}

static inline uint64_t writer_ref_delta(struct pack_writer *w, struct ts_git_oid base, const void *delta,
                                        size_t len) {
    return writer_entry(w, 7, len, base.bytes, 20, delta, len);
}

static inline size_t delta_number(uint8_t *to, uint64_t number) {
    size_t len = 0;
    for (; number > 0x7f; number >>= 7)
        to[len++] = 0x80 | (number & 0x7f);
    to[len++] = (uint8_t)number;
    return len;
}

static inline size_t delta_copy(uint8_t *to, uint32_t from, uint32_t count) {
    size_t len = 1;
    to[0] = 0x80;
    for (unsigned i = 0; i < 4; i++)
        if ((from >> (8 * i) & 0xff) != 0) {
            to[0] |= (uint8_t)(1u << i);
            to[len++] = (uint8_t)(from >> (8 * i));
        }
    for (unsigned i = 0; i < 3; i++)
        if ((count >> (8 * i) & 0xff) != 0) {
            to[0] |= (uint8_t)(0x10u << i);
            to[len++] = (uint8_t)(count >> (8 * i));
        }
    return len;
}

/* Makes a delta that copies a base of `size` bytes, and adds one byte. Returns the length of the delta. */
static inline size_t delta_append(uint8_t *to, uint64_t size, uint8_t byte) {
    size_t len = delta_number(to, size);
    len += delta_number(to + len, size + 1);
    for (uint64_t at = 0; at < size; at += 0xffffff)
        len += delta_copy(to + len, (uint32_t)at, (uint32_t)(size - at < 0xffffff ? size - at : 0xffffff));
    to[len++] = 1;
    to[len++] = byte;
    return len;
}

static inline int written_compare(const void *a, const void *b) {
    return memcmp(((const struct written *)a)->id, ((const struct written *)b)->id, 20);
}

/* Writes the pack and its index into a new bare repository. */
static inline void writer_finish(struct pack_writer *w, const char *folder) {
    static const uint8_t trailer[20] = "the trailer of both";
    struct pack_writer index = {.bytes = NULL};
    uint8_t number[8];
    ts_be32_store(w->count, w->bytes + 8);
    writer_put(w, trailer, 20);
    if (w->count > 0)
        qsort(w->objects, w->count, sizeof *w->objects, written_compare);
    writer_put(&index, "\377tOc\0\0\0\2", 8);
    for (unsigned first = 0; first < 256; first++) {
        uint32_t upto = 0;
        while (upto < w->count && w->objects[upto].id[0] <= first)
            upto++;
        ts_be32_store(upto, number);
        writer_put(&index, number, 4);
    }
    for (uint32_t i = 0; i < w->count; i++)
        writer_put(&index, w->objects[i].id, 20);
    for (uint32_t i = 0; i < w->count; i++) {
        ts_be32_store(w->objects[i].crc, number);
        writer_put(&index, number, 4);
    }
    uint32_t large_count = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        bool is_large = w->objects[i].offset > 0x7fffffff;
        ts_be32_store(is_large ? 0x80000000u | large_count++ : (uint32_t)w->objects[i].offset, number);
        writer_put(&index, number, 4);
    }
    for (uint32_t i = 0; i < w->count; i++)
        if (w->objects[i].offset > 0x7fffffff) {
            ts_be64_store(w->objects[i].offset, number);
            writer_put(&index, number, 8);
        }
    writer_put(&index, trailer, 20);
    writer_put(&index, trailer, 20);
    sh("mkdir -p %s/objects/pack %s/refs && echo 'ref: refs/heads/main' >%s/HEAD", folder, folder, folder);
    char path[256];
    snprintf(path, sizeof path, "%s/objects/pack/pack-x.pack", folder);
    write_file(path, w->bytes, w->len);
    snprintf(path, sizeof path, "%s/objects/pack/pack-x.idx", folder);
    write_file(path, index.bytes, index.len);
    free(index.bytes);
    free(w->bytes);
    free(w->objects);
}

#endif
