/*
 * What verbs that scan share: running the scan, and writing its report.
 */
#ifndef TS_CLI_SCAN_RUN_H
#define TS_CLI_SCAN_RUN_H

#include "scan_options.h"

/* Scans, with progress on a terminal, until it is done or a signal stops it. CLI_EXIT_DONE: there is a report, which the
 * caller releases with ts_scan_release; else it has been said what is wrong. */
enum cli_exit cli__scan_run(struct cli_scan_options *options, const struct cli_arguments *arguments,
                            struct ts_report *ret_report);

/* Says on standard error why a report is incomplete. */
void cli__scan_complain_incomplete(const char *verb, const struct ts_report *report);

/* Before the scan, which may take long: a file that cannot be written is found out at once. */
enum cli_exit cli__scan_check_outputs(const struct cli_scan_options *options);

/* Writes the report to standard output or to the files. Returns status when all went well. */
enum cli_exit cli__scan_write(const struct cli_scan_options *options, const struct ts_report *report,
                              enum cli_exit status);

#endif
