/*
 * The end of what a verb printed: output that could not be written is a failure that must be seen.
 */
#ifndef TS_CLI_OUTPUT_H
#define TS_CLI_OUTPUT_H

#include "exit_status.h"

#include "os/out.h"

/* Flush, complain about what could not be written, and give the status to end with: `status` when all went
 * well. */
enum cli_exit cli__finish_out(struct ts_out *out, enum cli_exit status);
enum cli_exit cli__finish_stdout(enum cli_exit status);

#endif
