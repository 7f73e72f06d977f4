/*
 * A byte buffer of fixed capacity with its storage inside: small fields of variable length without
 * allocation.
 *
 *     typedef TS_FIXED_BUF(64) key_buf;          a type
 *     TS_FIXED_BUF(64) last_key;                 or a member of a struct
 *
 * {0} is an empty buffer. The operations below take a pointer to a buffer of any capacity. They are thin
 * macros over the functions at the end of this file, so that the capacity comes from the type. Writing more
 * than the capacity is a programming error: check external input first.
 */
#ifndef TS_BASE_FIXED_BUF_H
#define TS_BASE_FIXED_BUF_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_fixed_buf {
    size_t len;
};

#define TS_FIXED_BUF(capacity)                                                                               \
    struct {                                                                                                 \
        struct ts_fixed_buf head;                                                                            \
        uint8_t bytes[capacity];                                                                             \
    }

/* Room for the longest debug text of any buffer, terminator included. */
#define TS_FIXED_BUF_DEBUG_SIZE 64

/* Makes the buffer empty and zeroes its storage. */
#define ts_fixed_buf_init(buf)  ts_fixed_buf__init(&(buf)->head, (buf)->bytes, sizeof((buf)->bytes))

/* Replaces the content. If the new content does not fit, the process stops with the caller's message. */
#define ts_fixed_buf_write(buf, from, oversized_message)                                                     \
    ts_fixed_buf__write(&(buf)->head, (buf)->bytes, sizeof((buf)->bytes), (from),                            \
                        &(struct ts_fixed_buf_caller){(oversized_message), __FILE__, __LINE__})

/* Does init and write together, so that nothing of the earlier content remains. `from` must not overlap the
 * buffer. */
#define ts_fixed_buf_from_slice(buf, from, oversized_message)                                                \
    (ts_fixed_buf_init(buf), ts_fixed_buf_write(buf, from, oversized_message))

/* Returns the content, borrowed until the next write. */
#define ts_fixed_buf_read(buf)     ts_fixed_buf__read(&(buf)->head, (buf)->bytes)

/* Sets the length to 0. Does NOT clear the bytes: use init for that. */
#define ts_fixed_buf_reset(buf)    ((void)((buf)->head.len = 0))

#define ts_fixed_buf_has_data(buf) ((buf)->head.len > 0)

/* Compares contents; the capacities may differ. */
#define ts_fixed_buf_equal(a, b)   ts_bytes_equal(ts_fixed_buf_read(a), ts_fixed_buf_read(b))

/* Copies the content of one buffer into another, which must have room for it. */
#define ts_fixed_buf_copy(from, to)                                                                          \
    ts_fixed_buf_write(to, ts_fixed_buf_read(from), "copy into a smaller buffer")

/* Writes a text such as "FixedBuf(12 bytes: 0001020304050607...)": the length and at most the first 8 bytes.
 * Returns ret_text. */
#define ts_fixed_buf_debug(buf, ret_text) ts_fixed_buf__debug(ts_fixed_buf_read(buf), (ret_text))

/* The declarations below are for the macros. */

struct ts_fixed_buf_caller {
    const char *message;
    const char *file;
    int line;
};

void ts_fixed_buf__init(struct ts_fixed_buf *head, uint8_t *storage, size_t capacity);
void ts_fixed_buf__write(struct ts_fixed_buf *head, uint8_t *storage, size_t capacity, struct ts_bytes from,
                         const struct ts_fixed_buf_caller *caller);
const char *ts_fixed_buf__debug(struct ts_bytes content, char ret_text[static TS_FIXED_BUF_DEBUG_SIZE]);

static inline struct ts_bytes ts_fixed_buf__read(const struct ts_fixed_buf *head, const uint8_t *storage) {
    return (struct ts_bytes){.data = storage, .len = head->len};
}

#endif
