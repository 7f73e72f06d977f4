/*
 * Inflating: whole objects whose size is known by libdeflate, and in pieces by zlib where an object is too
 * large to hold. An inflater belongs to one thread.
 */
#ifndef TS_GIT_INFLATE_H
#define TS_GIT_INFLATE_H

#include "base/bytes.h"
#include "git/error.h"

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

struct git__inflater {
    struct libdeflate_decompressor *whole;
};

/* False when there is no memory. */
bool git__inflater_init(struct git__inflater *inflater);
void git__inflater_release(struct git__inflater *inflater);

/* The zlib stream at the start of from must give exactly len bytes. *ret_used is what it took of from. */
enum ts_git_error git__inflate(struct git__inflater *inflater, struct ts_bytes from, uint8_t *ret_bytes,
                               size_t len, size_t *ret_used);

/* A stream in pieces. After a piece that is shorter than asked for, the stream is at its end. */
struct git__inflate_stream {
    z_stream z;
    struct ts_bytes rest; /* of the input, not yet handed to zlib */
    bool is_open;
    bool at_end;
};

enum ts_git_error git__inflate_stream_init(struct git__inflate_stream *stream, struct ts_bytes from);
void git__inflate_stream_release(struct git__inflate_stream *stream);
enum ts_git_error git__inflate_stream_read(struct git__inflate_stream *stream, uint8_t *ret_bytes, size_t len,
                                           size_t *ret_len);

/* Whether the stream is at its end and so is what it was read from. */
bool git__inflate_stream_used_all(const struct git__inflate_stream *stream);

/* OK when nothing is left and the checksum held. */
enum ts_git_error git__inflate_stream_finish(struct git__inflate_stream *stream);

#endif
