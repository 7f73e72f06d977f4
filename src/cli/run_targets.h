/*
 * run create --targets: submits repositories as a run.
 */
#ifndef TS_CLI_RUN_TARGETS_H
#define TS_CLI_RUN_TARGETS_H

#include "coord_verb.h"

/* The arguments, and the indexes of this file's options in the verb's table. */
struct cli_run_targets {
    const struct cli_arguments *arguments;
    size_t targets; /* index of --targets */
    size_t select;
    size_t format;
    size_t forge; /* index of the first option for forges */
};

/* Reads the targets, pins the rules of this program, submits, and prints the result. */
enum cli_exit cli__run_create_targets(struct cli_coord *coord, const struct cli_run_targets *given,
                                      struct ts_create_run_op *op);

#endif
