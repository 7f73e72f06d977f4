/*
 * What verbs that scan share: running the scan, and writing its report.
 */
#ifndef TS_CLI_SCAN_RUN_H
#define TS_CLI_SCAN_RUN_H

#include "scan_options.h"

#include "report/baseline.h"

/* Scans, with progress on a terminal, until it is done or a signal stops it. CLI_EXIT_DONE: there is a report, which the
 * caller releases with ts_scan_report_release; else it has been said what is wrong. */
enum cli_exit cli__scan_run(struct cli_scan_options *options, struct ts_report *ret_report);

/* Set by the first Ctrl-C, also after the scan. */
const atomic_bool *cli__scan_stop_flag(void);

/* Marks what the baseline has. CLI_EXIT_DONE, or it has been said why they cannot be compared. */
enum cli_exit cli__scan_compare(const struct cli_scan_options *options, struct ts_baseline *baseline,
                                struct ts_report *report);

/* Status 0, 1 or 4, as the report has it. */
enum cli_exit cli__scan_status(const struct ts_report *report, enum ts_severity fail_on);

/* Says on standard error why a report is incomplete. */
void cli__scan_complain_incomplete(const char *verb, const struct ts_report *report);

/* Says on standard error which built-in rules a target took away. */
void cli__scan_complain_rules(const char *verb, const struct ts_report *report);

/* Before the scan, which may take long: a file that cannot be written is found out at once. */
enum cli_exit cli__scan_check_outputs(const struct cli_scan_options *options);

/* Writes the report to standard output or to the files. Returns status when all went well. */
enum cli_exit cli__scan_write(const struct cli_scan_options *options, const struct ts_report *report,
                              enum cli_exit status);

#endif
