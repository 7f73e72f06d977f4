/*
 * A buffered writer over a file descriptor, for millions of lines a second.
 *
 *     static struct ts_out out;              64 KiB: not on a small stack
 *     ts_out_init(&out, STDOUT_FILENO);
 *     ts_out_put_u64(&out, id);
 *     ts_out_put_char(&out, '\n');
 *     if (!ts_out_flush(&out))
 *         ... ts_out_error(&out) ...
 *
 * The caller owns the descriptor. Nothing is written before the buffer is full or flushed. There is nothing
 * to release, but unflushed bytes are lost. After the first error everything is dropped, so that only the
 * last flush needs to be checked. The writer handles partial writes, interruptions and non-blocking
 * descriptors. Writing into a closed pipe is the error EPIPE when the program ignores SIGPIPE.
 */
#ifndef TS_OS_OUT_H
#define TS_OS_OUT_H

#include "base/bytes.h"
#include "base/number.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TS_OUT_BUFFER_SIZE 65536

struct ts_out {
    int fd;
    int error; /* errno of the first failure; 0 before a failure */
    size_t used;
    uint8_t buffer[TS_OUT_BUFFER_SIZE];
};

void ts_out_init(struct ts_out *out, int fd);

/* Writes the buffered bytes. Returns false when this or any earlier write failed. */
bool ts_out_flush(struct ts_out *out);

/* Returns errno of the first failure; 0 before a failure. */
static inline int ts_out_error(const struct ts_out *out) {
    return out->error;
}

/* ts_out_put calls this function when the buffer has no room for `bytes`. */
void ts_out__put_slowly(struct ts_out *out, struct ts_bytes bytes);

static inline void ts_out_put(struct ts_out *out, struct ts_bytes bytes) {
    if (bytes.len == 0)
        return;
    if (bytes.len > TS_OUT_BUFFER_SIZE - out->used) {
        ts_out__put_slowly(out, bytes);
        return;
    }
    memcpy(out->buffer + out->used, bytes.data, bytes.len);
    out->used += bytes.len;
}

static inline void ts_out_put_cstring(struct ts_out *out, const char *text) {
    ts_out_put(out, ts_bytes_of_cstring(text));
}

static inline void ts_out_put_char(struct ts_out *out, char c) {
    if (out->used == TS_OUT_BUFFER_SIZE)
        (void)ts_out_flush(out);
    out->buffer[out->used++] = (uint8_t)c;
}

/* Writes two hexadecimal digits for each byte, in lower case. */
void ts_out_put_hex(struct ts_out *out, struct ts_bytes bytes);

/* Writes the number in decimal. */
static inline void ts_out_put_u64(struct ts_out *out, uint64_t value) {
    if (TS_OUT_BUFFER_SIZE - out->used < TS_NUMBER_TEXT_SIZE)
        (void)ts_out_flush(out);
    out->used += ts_u64_format(value, (char *)out->buffer + out->used);
}

static inline void ts_out_put_i64(struct ts_out *out, int64_t value) {
    if (TS_OUT_BUFFER_SIZE - out->used < TS_NUMBER_TEXT_SIZE)
        (void)ts_out_flush(out);
    out->used += ts_i64_format(value, (char *)out->buffer + out->used);
}

#endif
