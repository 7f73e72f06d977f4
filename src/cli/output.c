#include "output.h"

#include "complain.h"

#include "base/redact.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static enum cli_exit complain_unwritten(int error) {
    return cli__complain(CLI_EXIT_INFRASTRUCTURE, "cannot write to standard output: %s", strerror(error));
}

enum cli_exit cli__finish_out(struct ts_out *out, enum cli_exit status) {
    (void)ts_out_flush(out);
    int error = ts_out_error(out);
    return error ? complain_unwritten(error) : status;
}

enum cli_exit cli__finish_stdout(enum cli_exit status) {
    return fflush(stdout) == 0 && !ferror(stdout) ? status : complain_unwritten(errno);
}

void cli__put_escaped(struct ts_out *out, struct ts_bytes text) {
    while (text.len > 0) {
        char piece[TS_TEXT_PIECE_MAX];
        size_t piece_len;
        text = ts_bytes_skip(text, ts_text_escape_one(text, piece, &piece_len));
        ts_out_put(out, ts_bytes_of(piece, piece_len));
    }
}

void cli__put_padded(struct ts_out *out, const char *text, size_t width) {
    ts_out_put_cstring(out, text);
    for (size_t len = strlen(text); len < width; len++)
        ts_out_put_char(out, ' ');
    ts_out_put_cstring(out, "  ");
}
