/*
 * Inflates whole objects of known size with libdeflate. Objects that are too large to hold are inflated in
 * pieces with zlib. An inflater belongs to one thread.
 */
#ifndef TS_GIT_INFLATE_H
#define TS_GIT_INFLATE_H

#include "base/bytes.h"
#include "git/error.h"

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* libdeflate keeps the tables of the fixed code until it meets a block with a code of its own. Many short
 * streams use the fixed code, and building its tables takes longer than inflating such a stream. */
struct git__inflater {
    struct libdeflate_decompressor *own;   /* for streams that do not begin with a block in the fixed code */
    struct libdeflate_decompressor *fixed; /* for streams that begin with a block in the fixed code */
};

/* Returns false when memory runs out. */
bool git__inflater_init(struct git__inflater *inflater);
void git__inflater_release(struct git__inflater *inflater);

/* Inflates the zlib stream at the start of `from`. The inflated stream must have exactly len bytes. *ret_used
 * is the length of the compressed stream. */
enum ts_git_error git__inflate(struct git__inflater *inflater, struct ts_bytes from, uint8_t *ret_bytes,
                               size_t len, size_t *ret_used);

/* Inflates a stream in pieces. A piece that is shorter than requested is the last piece. */
struct git__inflate_stream {
    z_stream z;
    struct ts_bytes rest; /* input that was not passed to zlib yet */
    bool is_open;
    bool at_end;
};

enum ts_git_error git__inflate_stream_init(struct git__inflate_stream *stream, struct ts_bytes from);
void git__inflate_stream_release(struct git__inflate_stream *stream);
enum ts_git_error git__inflate_stream_read(struct git__inflate_stream *stream, uint8_t *ret_bytes, size_t len,
                                           size_t *ret_len);

/* Returns true if the stream and its input are both at their end. */
bool git__inflate_stream_used_all(const struct git__inflate_stream *stream);

/* Returns OK if no bytes are left in the stream, and its checksum is correct. */
enum ts_git_error git__inflate_stream_finish(struct git__inflate_stream *stream);

#endif
