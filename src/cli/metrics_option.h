/*
 * --metrics FILE: what a coordinator has counted and measured, in Prometheus' text format.
 */
#ifndef TS_CLI_METRICS_OPTION_H
#define TS_CLI_METRICS_OPTION_H

#include "exit_status.h"

#include "turnstone/txn.h"

/* Whether the file can be written, before anything is done that could not be taken back. Complains when it cannot. */
enum cli_exit cli__metrics_check(const char *verb, const char *path);

/* Writes them to the file, or to standard output for "-"; nothing when there is no path. Complains when it cannot. */
enum cli_exit cli__metrics_write(const char *verb, const char *path, struct ts_coordinator *coordinator);

#endif
