#include "os/in.h"

#include "base/assert.h"
#include "retry.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

void ts_in_init(struct ts_in *in, int fd, size_t token_max) {
    ts_assert(token_max > 0 && token_max < TS_IN_BUFFER_SIZE);
    in->fd = fd;
    in->before_read = NULL;
    in->context = NULL;
    in->error = 0;
    in->at_end = false;
    in->skipping = false;
    in->token_max = token_max;
    in->line = 1;
    in->begin = 0;
    in->end = 0;
}

void ts_in_before_read(struct ts_in *in, void (*before_read)(void *context), void *context) {
    in->before_read = before_read;
    in->context = context;
}

static const bool blanks[256] = {[' '] = true, ['\t'] = true, ['\r'] = true, ['\n'] = true};

/* Moves the remaining bytes to the front and reads more after them. Returns false at the end of the input or
 * on an error. There must be room in the buffer. */
static bool read_more(struct ts_in *in) {
    if (in->at_end || in->error != 0)
        return false;
    if (in->begin > 0) {
        memmove(in->buffer, in->buffer + in->begin, in->end - in->begin);
        in->end -= in->begin;
        in->begin = 0;
    }
    ts_assert(in->end < TS_IN_BUFFER_SIZE);
    if (in->before_read)
        in->before_read(in->context);
    for (;;) {
        ssize_t got = read(in->fd, in->buffer + in->end, TS_IN_BUFFER_SIZE - in->end);
        if (got > 0) {
            in->end += (size_t)got;
            return true;
        }
        if (got == 0) {
            in->at_end = true;
            return false;
        }
        if (!os__may_retry(in->fd, POLLIN)) {
            in->error = errno;
            return false;
        }
    }
}

/* Moves to the start of the next token. Returns false when there is no further token. */
static bool find_start(struct ts_in *in) {
    do {
        size_t at = in->begin;
        if (in->skipping) {
            while (at < in->end && !blanks[in->buffer[at]])
                at++;
            in->skipping = at == in->end;
        }
        for (; at < in->end && blanks[in->buffer[at]]; at++)
            in->line += in->buffer[at] == '\n';
        in->begin = at;
        if (at < in->end)
            return true;
    } while (read_more(in));
    return false;
}

enum ts_in_result ts_in_next(struct ts_in *in, struct ts_in_token *ret_token) {
    if (!find_start(in))
        return in->error != 0 ? TS_IN_READ_ERROR : TS_IN_END;

    size_t len = 1;
    for (;;) {
        /* One byte beyond the maximum shows that the token is too long. */
        size_t available = in->end - in->begin;
        size_t limit = available <= in->token_max ? available : in->token_max + 1;
        const uint8_t *token = in->buffer + in->begin;
        while (len < limit && !blanks[token[len]])
            len++;
        if (len < limit || len > in->token_max || !read_more(in))
            break;
    }
    if (in->error != 0)
        return TS_IN_READ_ERROR;

    enum ts_in_result result = TS_IN_TOKEN;
    if (len > in->token_max) {
        len = in->token_max;
        in->skipping = true;
        result = TS_IN_TOO_LONG;
    }
    ret_token->bytes = (struct ts_bytes){.data = in->buffer + in->begin, .len = len};
    ret_token->line = in->line;
    in->begin += len;
    return result;
}
