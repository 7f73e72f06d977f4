#include "loose.h"

#include "base/checked.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

static enum ts_git_error head_parse(struct ts_bytes text, struct git__loose_head *ret_head) {
    struct git__loose_head head;
    const uint8_t *zero = memchr(text.data, 0, text.len);
    if (zero == NULL)
        return TS_GIT_BAD_ENTRY;
    struct ts_bytes line = ts_bytes_first(text, (size_t)(zero - text.data));
    head.len = line.len + 1;
    const uint8_t *space = line.len > 0 ? memchr(line.data, ' ', line.len) : NULL;
    if (space == NULL)
        return TS_GIT_BAD_ENTRY;
    size_t type_len = (size_t)(space - line.data);
    struct ts_bytes size = ts_bytes_skip(line, type_len + 1);
    bool is_padded = size.len > 1 && size.data[0] == '0'; /* git refuses leading zeros */
    if (is_padded || !ts_git_type_from_name(ts_bytes_first(line, type_len), &head.type) ||
        ts_u64_parse(size, &head.size) != TS_NUMBER_OK)
        return TS_GIT_BAD_ENTRY;
    *ret_head = head;
    return TS_GIT_OK;
}

enum ts_git_error git__loose_head(struct ts_bytes file, struct git__loose_head *ret_head) {
    struct git__inflate_stream stream;
    enum ts_git_error error = git__inflate_stream_init(&stream, file);
    if (error != TS_GIT_OK)
        return error;
    uint8_t text[GIT__LOOSE_HEAD_MAX];
    size_t len = 0;
    error = git__inflate_stream_read(&stream, text, sizeof text, &len);
    git__inflate_stream_release(&stream);
    if (error != TS_GIT_OK)
        return error;
    return head_parse(ts_bytes_of(text, len), ret_head);
}

/* libdeflate inflates head and content into one buffer. Copying the content from there is cheap compared with
 * inflating. */
enum ts_git_error git__loose_content(struct git__inflater *inflater, struct ts_bytes file,
                                     const struct git__loose_head *head, uint8_t *ret_bytes) {
    size_t size;
    size_t whole;
    if (!ts_narrow_u64_size(head->size, &size) || !ts_checked_add_size(size, head->len, &whole))
        return TS_GIT_TOO_LARGE;
    uint8_t *bytes = malloc(whole);
    if (bytes == NULL)
        return TS_GIT_NO_MEMORY;
    size_t used;
    enum ts_git_error error = git__inflate(inflater, file, bytes, whole, &used);
    if (error == TS_GIT_OK && used != file.len)
        error = TS_GIT_BAD_DEFLATE;
    if (error == TS_GIT_OK && size > 0)
        memcpy(ret_bytes, bytes + head->len, size);
    free(bytes);
    return error;
}

enum ts_git_error git__loose_stream(struct ts_bytes file, const struct git__loose_head *head,
                                    struct git__inflate_stream *ret_stream) {
    enum ts_git_error error = git__inflate_stream_init(ret_stream, file);
    if (error != TS_GIT_OK)
        return error;
    uint8_t text[GIT__LOOSE_HEAD_MAX];
    size_t len = 0;
    error = git__inflate_stream_read(ret_stream, text, head->len, &len);
    if (error == TS_GIT_OK && len != head->len)
        error = TS_GIT_BAD_ENTRY;
    if (error != TS_GIT_OK)
        git__inflate_stream_release(ret_stream);
    return error;
}
