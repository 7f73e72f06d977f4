/*
 * The output of verbs. Makes sure that a failed write is reported.
 */
#ifndef TS_CLI_OUTPUT_H
#define TS_CLI_OUTPUT_H

#include "exit_status.h"

#include "os/out.h"

/* Writes the buffered output, and prints an error if writing has failed. Returns `status` if everything was
 * written; otherwise the exit status of the failure. */
enum cli_exit cli__finish_out(struct ts_out *out, enum cli_exit status);
enum cli_exit cli__finish_stdout(enum cli_exit status);

/* Writes a whole text of unknown origin, such as a path, on one printable line. */
void cli__put_escaped(struct ts_out *out, struct ts_bytes text);

/* Writes a cell of a table: the text, blanks up to the width, and two more blanks. */
void cli__put_padded(struct ts_out *out, const char *text, size_t width);

#endif
