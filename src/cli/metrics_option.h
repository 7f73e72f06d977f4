/*
 * --metrics FILE: the counters of a coordinator, in Prometheus' text format.
 */
#ifndef TS_CLI_METRICS_OPTION_H
#define TS_CLI_METRICS_OPTION_H

#include "exit_status.h"

#include "turnstone/txn.h"

/* Checks that the file can be written, before anything irreversible is done. Prints an error when it cannot.
 */
enum cli_exit cli__metrics_check(const char *verb, const char *path);

/* Writes the metrics to the file, or to standard output for "-"; nothing without a path. Prints an error on
 * failure. */
enum cli_exit cli__metrics_write(const char *verb, const char *path, struct ts_coordinator *coordinator);

#endif
