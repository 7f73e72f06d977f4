/*
 * A borrowed run of bytes. It owns nothing: the owner of the memory decides how long it lives.
 *
 * `data` may be NULL whenever `len` is 0. All empty runs are equal.
 */
#ifndef TURNSTONE_BYTES_H
#define TURNSTONE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ts_bytes {
    const uint8_t *data;
    size_t len;
};

/* Returns the bytes of a text, without its terminator. */
static inline struct ts_bytes ts_bytes_of_cstring(const char *text) {
    struct ts_bytes bytes = {(const uint8_t *)text, strlen(text)};
    return bytes;
}

#endif
