#include "inflate.h"

#include <libdeflate.h>
#include <limits.h>
#include <string.h>

bool git__inflater_init(struct git__inflater *inflater) {
    inflater->own = libdeflate_alloc_decompressor();
    inflater->fixed = libdeflate_alloc_decompressor();
    return inflater->own != NULL && inflater->fixed != NULL;
}

void git__inflater_release(struct git__inflater *inflater) {
    if (inflater->own != NULL)
        libdeflate_free_decompressor(inflater->own);
    if (inflater->fixed != NULL)
        libdeflate_free_decompressor(inflater->fixed);
    *inflater = (struct git__inflater){.own = NULL};
}

/* Returns whether a zlib stream begins with a block in the fixed code: bits 1 and 2 after its header of two
 * bytes are the kind of the block. */
static bool is_fixed(struct ts_bytes stream) {
    return stream.len > 2 && (stream.data[2] >> 1 & 3) == 1;
}

enum ts_git_error git__inflate(struct git__inflater *inflater, struct ts_bytes from, uint8_t *ret_bytes,
                               size_t len, size_t *ret_used) {
    uint8_t nothing = 0;
    uint8_t *to = len == 0 ? &nothing : ret_bytes;
    size_t used;
    struct libdeflate_decompressor *chosen = is_fixed(from) ? inflater->fixed : inflater->own;
    if (from.len == 0 || libdeflate_zlib_decompress_ex(chosen, from.data, from.len, to, len, &used, NULL) !=
                             LIBDEFLATE_SUCCESS)
        return TS_GIT_BAD_DEFLATE;
    *ret_used = used;
    return TS_GIT_OK;
}

enum ts_git_error git__inflate_stream_init(struct git__inflate_stream *stream, struct ts_bytes from) {
    memset(stream, 0, sizeof *stream);
    stream->rest = from;
    if (inflateInit(&stream->z) != Z_OK)
        return TS_GIT_NO_MEMORY;
    stream->is_open = true;
    return TS_GIT_OK;
}

void git__inflate_stream_release(struct git__inflate_stream *stream) {
    if (stream->is_open)
        (void)inflateEnd(&stream->z);
    stream->is_open = false;
}

/* Returns how many of len bytes to pass to zlib at once. zlib counts in unsigned int. */
static uInt part_of(size_t len) {
    return len > (1u << 30) ? (1u << 30) : (uInt)len;
}

static enum ts_git_error step(struct git__inflate_stream *stream) {
    if (stream->z.avail_in == 0 && stream->rest.len > 0) {
        uInt part = part_of(stream->rest.len);
        stream->z.next_in = (Bytef *)(uintptr_t)stream->rest.data;
        stream->z.avail_in = part;
        stream->rest = ts_bytes_skip(stream->rest, part);
    }
    int result = inflate(&stream->z, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
        stream->at_end = true;
        return TS_GIT_OK;
    }
    if (result == Z_MEM_ERROR)
        return TS_GIT_NO_MEMORY;
    /* No progress means that the input ended too early. */
    return result == Z_OK ? TS_GIT_OK : TS_GIT_BAD_DEFLATE;
}

enum ts_git_error git__inflate_stream_read(struct git__inflate_stream *stream, uint8_t *ret_bytes, size_t len,
                                           size_t *ret_len) {
    size_t done = 0;
    while (done < len && !stream->at_end) {
        uInt part = part_of(len - done);
        stream->z.next_out = ret_bytes + done;
        stream->z.avail_out = part;
        enum ts_git_error error = step(stream);
        done += part - stream->z.avail_out;
        if (error != TS_GIT_OK)
            return error;
    }
    *ret_len = done;
    return TS_GIT_OK;
}

bool git__inflate_stream_used_all(const struct git__inflate_stream *stream) {
    return stream->at_end && stream->z.avail_in == 0 && stream->rest.len == 0;
}

enum ts_git_error git__inflate_stream_finish(struct git__inflate_stream *stream) {
    uint8_t more;
    size_t got = 0;
    enum ts_git_error error = git__inflate_stream_read(stream, &more, 1, &got);
    if (error != TS_GIT_OK)
        return error;
    return got == 0 && stream->at_end ? TS_GIT_OK : TS_GIT_BAD_DEFLATE;
}
