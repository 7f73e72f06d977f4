#include "output.h"

#include "complain.h"

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
