/*
 * A borrowed run of bytes. It owns nothing: the owner of the memory decides how long it lives.
 *
 * `data` may be NULL whenever `len` is 0. All empty runs are equal.
 */
#ifndef TS_BASE_BYTES_H
#define TS_BASE_BYTES_H

#include "base/assert.h"
#include "turnstone/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A range of bytes: an offset and a length. */
struct ts_span {
    size_t from;
    size_t len;
};

/* The bytes of a string literal, including zeros inside it, without its terminator. Usable in static
 * initialisers. */
#define TS_BYTES_INIT(literal)                                                                               \
    { .data = (const uint8_t *)("" literal ""), .len = sizeof(literal) - 1 }
#define TS_BYTES(literal) ((struct ts_bytes)TS_BYTES_INIT(literal))

static inline struct ts_bytes ts_bytes_of(const void *data, size_t len) {
    ts_assert(data != NULL || len == 0);
    return (struct ts_bytes){.data = data, .len = len};
}

static inline bool ts_bytes_equal(struct ts_bytes a, struct ts_bytes b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Returns below 0, 0 or above 0, like memcmp. Bytes are unsigned, and a prefix sorts before longer runs. */
static inline int ts_bytes_compare(struct ts_bytes a, struct ts_bytes b) {
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

static inline bool ts_bytes_starts_with(struct ts_bytes bytes, struct ts_bytes prefix) {
    return bytes.len >= prefix.len && (prefix.len == 0 || memcmp(bytes.data, prefix.data, prefix.len) == 0);
}

/* Returns the bytes after the first `count`. There must be at least `count` bytes. */
static inline struct ts_bytes ts_bytes_skip(struct ts_bytes bytes, size_t count) {
    ts_assert(count <= bytes.len);
    /* NULL + 0 is not defined in C. */
    return (struct ts_bytes){.data = count == 0 ? bytes.data : bytes.data + count, .len = bytes.len - count};
}

/* Returns the first `count` bytes. There must be at least `count` bytes. */
static inline struct ts_bytes ts_bytes_first(struct ts_bytes bytes, size_t count) {
    ts_assert(count <= bytes.len);
    return (struct ts_bytes){.data = bytes.data, .len = count};
}

/* Returns the part of `bytes` that `span` describes. The span must be inside `bytes`. */
static inline struct ts_bytes ts_bytes_slice(struct ts_bytes bytes, struct ts_span span) {
    return ts_bytes_first(ts_bytes_skip(bytes, span.from), span.len);
}

#endif
