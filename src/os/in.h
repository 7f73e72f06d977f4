/*
 * A buffered reader that reads tokens from a file descriptor, millions of tokens a second. A token is a run
 * of bytes between blanks (space, tab, CR, LF). Any other byte belongs to a token, zeros too.
 *
 *     static struct ts_in in;                64 KiB: not on a small stack
 *     ts_in_init(&in, STDIN_FILENO, 64);
 *     struct ts_in_token token;
 *     while ((result = ts_in_next(&in, &token)) == TS_IN_TOKEN)
 *         ...
 *
 * The caller owns the descriptor. The reader reads more input only when the next token needs it, so that a
 * terminal or a pipe is answered line by line.
 */
#ifndef TS_OS_IN_H
#define TS_OS_IN_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TS_IN_BUFFER_SIZE 65536

enum ts_in_result {
    TS_IN_TOKEN, /* a token */
    /* the first token_max bytes of a longer token; the next call skips the rest of that token */
    TS_IN_TOO_LONG,
    TS_IN_END,        /* no more input; *ret_token is untouched */
    TS_IN_READ_ERROR, /* see ts_in_error; an unfinished token is lost; *ret_token is untouched */
};

struct ts_in_token {
    struct ts_bytes bytes; /* bytes of the token, borrowed until the next call */
    uint64_t line;         /* line of the token, from 1; lines end with LF */
};

struct ts_in {
    int fd;
    void (*before_read)(void *context);
    void *context;
    int error; /* errno of the failed read; 0 before a failure */
    bool at_end;
    bool skipping; /* the next bytes are the rest of a token that was too long */
    size_t token_max;
    uint64_t line;
    size_t begin; /* read and not returned yet: buffer[begin] to buffer[end - 1] */
    size_t end;
    uint8_t buffer[TS_IN_BUFFER_SIZE];
};

/* Initialises a reader. token_max is from 1 to TS_IN_BUFFER_SIZE - 1. */
void ts_in_init(struct ts_in *in, int fd, size_t token_max);

/* Sets a function that the reader calls before each read of more input, because a read may block. */
void ts_in_before_read(struct ts_in *in, void (*before_read)(void *context), void *context);

/* Reads the next token. END and READ_ERROR are final: every further call returns the same result. */
enum ts_in_result ts_in_next(struct ts_in *in, struct ts_in_token *ret_token);

/* Returns errno of the failed read; 0 before a failure. */
static inline int ts_in_error(const struct ts_in *in) {
    return in->error;
}

#endif
