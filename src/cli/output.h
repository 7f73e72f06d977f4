/*
 * The end of a verb's output: a failed write must not go unnoticed.
 */
#ifndef TS_CLI_OUTPUT_H
#define TS_CLI_OUTPUT_H

#include "exit_status.h"

#include "os/out.h"

/* Flushes, prints an error for a failed write, and returns the exit status: `status` when everything was
 * written. */
enum cli_exit cli__finish_out(struct ts_out *out, enum cli_exit status);
enum cli_exit cli__finish_stdout(enum cli_exit status);

#endif
