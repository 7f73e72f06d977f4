/*
 * Deltas: how an object is made from its base.
 *
 *   size of base | size of result        as numbers with 7 bits per byte, the lowest first; top bit: more follows
 *   instructions until the end:
 *     1xxxxxxx [offset bytes] [size bytes]   copy from the base; bits 0-3 say which of 4 offset bytes are
 *                                            there, bits 4-6 which of 3 size bytes; size 0 means 0x10000
 *     0nnnnnnn bytes                         insert n bytes, 1 to 127
 *     00000000                               reserved: not valid
 *
 * git__delta_apply is the fast path, for results that fit in memory; git__delta_stream makes larger results
 * in pieces.
 */
#ifndef TS_GIT_DELTA_H
#define TS_GIT_DELTA_H

#include "base/bytes.h"
#include "git/copy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct git__delta_head {
    uint64_t base_size;
    uint64_t result_size;
    struct ts_bytes instructions;
};

/* Parses the two sizes. Returns false if they are missing or do not fit 64 bits. */
bool git__delta_head_parse(struct ts_bytes delta, struct git__delta_head *ret_head);

/* A list of copies, reused for all objects of a thread. */
struct git__copies {
    struct ts_git_copy *items;
    size_t count;
    size_t capacity;
    size_t max;    /* a delta with more copies gets no list */
    bool too_many; /* too many copies, or memory ran out: items are invalid */
};

/* Makes the result, which has room for head->result_size bytes. copies may be NULL. Returns false if the
 * delta is not valid; then result and copies are invalid. */
bool git__delta_apply(struct ts_bytes base, const struct git__delta_head *head, uint8_t *result,
                      struct git__copies *copies);

/* Makes only the list of copies, for a result that is made in pieces. Returns false if the delta is not
 * valid. */
bool git__delta_copies(uint64_t base_size, const struct git__delta_head *head, struct git__copies *copies);

struct git__delta_stream {
    struct ts_bytes base;
    struct ts_bytes instructions;
    uint64_t left;           /* bytes of the result still to build */
    struct ts_bytes current; /* the rest of the current instruction */
};

void git__delta_stream_init(struct git__delta_stream *stream, struct ts_bytes base,
                            const struct git__delta_head *head);

/* Reads the next len bytes of the result. The result must have at least len bytes left. Returns false if the
 * delta is not valid. */
bool git__delta_stream_read(struct git__delta_stream *stream, uint8_t *ret_bytes, size_t len);

/* Returns true if the instructions made exactly the whole result. */
bool git__delta_stream_is_done(const struct git__delta_stream *stream);

#endif
