/*
 * A loose object: a file that is one zlib stream of "type size", a zero, and the content.
 */
#ifndef TS_GIT_LOOSE_H
#define TS_GIT_LOOSE_H

#include "file.h"
#include "git/object.h"
#include "inflate.h"

struct git__loose_head {
    enum ts_git_type type;
    uint64_t size;
    size_t len; /* length of the head, including its zero byte */
};

#define GIT__LOOSE_HEAD_MAX 32

/* Inflates the first bytes of a loose object's file, and parses the head. */
enum ts_git_error git__loose_head(struct ts_bytes file, struct git__loose_head *ret_head);

/* Inflates the whole content; ret_bytes has room for head->size bytes. As in git, a file with further bytes
 * after the end of the stream is damaged. */
enum ts_git_error git__loose_content(struct git__inflater *inflater, struct ts_bytes file,
                                     const struct git__loose_head *head, uint8_t *ret_bytes);

/* Opens a stream of the content, after the head. */
enum ts_git_error git__loose_stream(struct ts_bytes file, const struct git__loose_head *head,
                                    struct git__inflate_stream *ret_stream);

#endif
