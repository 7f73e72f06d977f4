#include "os/out.h"

#include "base/hex.h"
#include "retry.h"

#include <errno.h>
#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

void ts_out_init(struct ts_out *out, int fd) {
    out->fd = fd;
    out->error = 0;
    out->used = 0;
}

static void write_all(struct ts_out *out, const uint8_t *at, size_t len) {
    while (len > 0 && out->error == 0) {
        ssize_t written = write(out->fd, at, len);
        if (written > 0) {
            at += written;
            len -= (size_t)written;
        } else if (written == 0) {
            out->error = EIO;
        } else if (!os__may_retry(out->fd, POLLOUT)) {
            out->error = errno;
        }
    }
}

bool ts_out_flush(struct ts_out *out) {
    write_all(out, out->buffer, out->used);
    out->used = 0;
    return out->error == 0;
}

void ts_out__put_slowly(struct ts_out *out, struct ts_bytes bytes) {
    (void)ts_out_flush(out);
    if (bytes.len >= TS_OUT_BUFFER_SIZE) {
        write_all(out, bytes.data, bytes.len);
        return;
    }
    memcpy(out->buffer, bytes.data, bytes.len);
    out->used = bytes.len;
}

void ts_out_put_hex(struct ts_out *out, struct ts_bytes bytes) {
    for (size_t i = 0; i < bytes.len; i++) {
        char digits[2];
        (void)ts_hex_encode(ts_bytes_of(bytes.data + i, 1), digits);
        ts_out_put(out, ts_bytes_of(digits, sizeof digits));
    }
}
