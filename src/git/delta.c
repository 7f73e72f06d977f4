#include "delta.h"

#include "base/assert.h"
#include "base/checked.h"
#include "file.h"
#include "os/grow.h"

#include <string.h>

static bool number_parse(struct ts_bytes *rest, uint64_t *ret_number) {
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (rest->len == 0 || shift > 63)
            return false;
        uint8_t byte = rest->data[0];
        *rest = ts_bytes_skip(*rest, 1);
        uint64_t bits = byte & 0x7fu;
        if (shift == 63 && bits > 1)
            return false;
        number |= bits << shift;
        if ((byte & 0x80u) == 0)
            break;
    }
    *ret_number = number;
    return true;
}

bool git__delta_head_parse(struct ts_bytes delta, struct git__delta_head *ret_head) {
    struct git__delta_head head = {.instructions = delta};
    if (!number_parse(&head.instructions, &head.base_size) ||
        !number_parse(&head.instructions, &head.result_size))
        return false;
    *ret_head = head;
    return true;
}

/* One instruction: copies len bytes at `from` in the base or, if is_insert, inserts the len bytes that follow
 * the instruction. */
struct instruction {
    bool is_insert;
    size_t from;
    size_t len;
};

/* Parses the instruction at *at. Returns false if the instruction is reserved or truncated. */
static inline bool next_instruction(const uint8_t **at, const uint8_t *end, struct instruction *ret) {
    const uint8_t *p = *at;
    uint8_t op = *p++;
    if ((op & 0x80u) == 0) {
        if (op == 0 || (size_t)(end - p) < op)
            return false;
        *ret = (struct instruction){.is_insert = true, .len = op};
        *at = p;
        return true;
    }
    size_t from = 0;
    size_t len = 0;
    if (end - p < 7 && end - p < __builtin_popcount(op & 0x7fu))
        return false;
    if (op & 0x01u)
        from = *p++;
    if (op & 0x02u)
        from |= (size_t)*p++ << 8;
    if (op & 0x04u)
        from |= (size_t)*p++ << 16;
    if (op & 0x08u)
        from |= (size_t)*p++ << 24;
    if (op & 0x10u)
        len = *p++;
    if (op & 0x20u)
        len |= (size_t)*p++ << 8;
    if (op & 0x40u)
        len |= (size_t)*p++ << 16;
    *ret = (struct instruction){.from = from, .len = len == 0 ? 0x10000 : len};
    *at = p;
    return true;
}

/* Adds a copy to the list. Inline, because a call would cost more than copying a few bytes. */
static inline void note_copy(struct git__copies *copies, struct ts_git_copy copy) {
    if (copies->too_many)
        return;
    if (copies->count > 0) {
        struct ts_git_copy *last = &copies->items[copies->count - 1];
        if (last->at + last->len == copy.at && last->from + last->len == copy.from) {
            last->len += copy.len;
            return;
        }
    }
    if (copies->count >= copies->max ||
        (copies->count == copies->capacity && !TS_GROW(copies->items, copies->capacity, copies->count + 1))) {
        copies->too_many = true;
        return;
    }
    copies->items[copies->count++] = copy;
}

/* Most instructions are short. With enough room at source and destination, a short copy is made in whole
 * pieces, and the next instruction overwrites the excess. That is faster than a call that must check the
 * length. */
enum { PIECE = 16, SHORT = 128 };

struct stretch {
    size_t len;
    size_t room;      /* bytes of room at the destination */
    size_t available; /* bytes available at the source */
};

static inline void copy_bytes(uint8_t *to, const uint8_t *from, struct stretch stretch) {
    if (stretch.len > SHORT || stretch.room < SHORT || stretch.available < SHORT) {
        memcpy(to, from, stretch.len);
        return;
    }
    for (size_t i = 0; i < stretch.len; i += PIECE)
        memcpy(to + i, from + i, PIECE);
}

bool git__delta_apply(struct ts_bytes base, const struct git__delta_head *head, uint8_t *result,
                      struct git__copies *copies) {
    if (head->base_size != base.len)
        return false;
    if (copies != NULL) {
        copies->count = 0;
        copies->too_many = false;
    }
    const uint8_t *at = head->instructions.data;
    const uint8_t *end = at + head->instructions.len;
    size_t size = (size_t)head->result_size;
    size_t done = 0;
    while (at < end) {
        struct instruction step;
        if (!next_instruction(&at, end, &step) || step.len > size - done)
            return false;
        if (step.is_insert) {
            copy_bytes(result + done, at, (struct stretch){step.len, size - done, (size_t)(end - at)});
            at += step.len;
        } else {
            if (step.from > base.len || step.len > base.len - step.from)
                return false;
            copy_bytes(result + done, base.data + step.from,
                       (struct stretch){step.len, size - done, base.len - step.from});
            if (copies != NULL)
                note_copy(copies, (struct ts_git_copy){done, step.from, step.len});
        }
        done += step.len;
    }
    return done == size;
}

bool git__delta_copies(uint64_t base_size, const struct git__delta_head *head, struct git__copies *copies) {
    copies->count = 0;
    copies->too_many = false;
    const uint8_t *at = head->instructions.data;
    const uint8_t *end = at + head->instructions.len;
    uint64_t done = 0;
    while (at < end) {
        struct instruction step;
        if (!next_instruction(&at, end, &step) || step.len > head->result_size - done)
            return false;
        if (step.is_insert) {
            at += step.len;
        } else {
            if (step.from > base_size || step.len > base_size - step.from)
                return false;
            note_copy(copies, (struct ts_git_copy){done, step.from, step.len});
        }
        done += step.len;
    }
    return done == head->result_size && head->base_size == base_size;
}

void git__delta_stream_init(struct git__delta_stream *stream, struct ts_bytes base,
                            const struct git__delta_head *head) {
    *stream = (struct git__delta_stream){
        .base = base, .instructions = head->instructions, .left = head->result_size};
}

/* Fills `current` with the bytes of the next instruction. */
static bool stream_next(struct git__delta_stream *stream) {
    if (stream->instructions.len == 0)
        return false;
    const uint8_t *at = stream->instructions.data;
    const uint8_t *end = at + stream->instructions.len;
    struct instruction step;
    if (!next_instruction(&at, end, &step))
        return false;
    if (step.is_insert) {
        stream->current = ts_bytes_of(at, step.len);
        at += step.len;
    } else {
        if (step.from > stream->base.len || step.len > stream->base.len - step.from)
            return false;
        stream->current = ts_bytes_slice(stream->base, (struct ts_span){step.from, step.len});
    }
    stream->instructions = ts_bytes_of(at, (size_t)(end - at));
    return true;
}

bool git__delta_stream_read(struct git__delta_stream *stream, uint8_t *ret_bytes, size_t len) {
    ts_assert(len <= stream->left);
    size_t done = 0;
    while (done < len) {
        if (stream->current.len == 0 && !stream_next(stream))
            return false;
        size_t part = stream->current.len < len - done ? stream->current.len : len - done;
        memcpy(ret_bytes + done, stream->current.data, part);
        stream->current = ts_bytes_skip(stream->current, part);
        done += part;
    }
    stream->left -= len;
    return true;
}

bool git__delta_stream_is_done(const struct git__delta_stream *stream) {
    return stream->left == 0 && stream->current.len == 0 && stream->instructions.len == 0;
}
