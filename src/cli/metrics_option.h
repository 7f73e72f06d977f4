/*
 * --metrics FILE: the counters of a coordinator and of the verb, in Prometheus' text format.
 */
#ifndef TS_CLI_METRICS_OPTION_H
#define TS_CLI_METRICS_OPTION_H

#include "exit_status.h"

#define CLI_METRICS_OPTION                                                                                   \
    {                                                                                                        \
        .name = "metrics", .argument = "FILE",                                                               \
        .help = "write Prometheus metrics to the file at the end; '-' is standard output"                    \
    }

#include "turnstone/txn.h"

#include <stdio.h>

/* Checks that the file can be written. Call this function before anything irreversible is done. Prints an
 * error if the file cannot be written. */
enum cli_exit cli__metrics_check(const char *verb, const char *path);

/* Writes the metrics of a verb, in addition to those of its coordinator. */
typedef void cli_metrics_put(FILE *file);

/* Writes the metrics to the file, or to standard output if `path` is "-". Does nothing if `path` is NULL.
 * `more` may be NULL. Prints an error on failure. */
enum cli_exit cli__metrics_write(const char *verb, const char *path, struct ts_coordinator *coordinator,
                                 cli_metrics_put *more);

#endif
