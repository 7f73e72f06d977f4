/*
 * Shared by verbs that scan: running the scan, and writing its report.
 */
#ifndef TS_CLI_SCAN_RUN_H
#define TS_CLI_SCAN_RUN_H

#include "foreign.h"
#include "scan_options.h"

#include "report/baseline.h"

/* The known findings of --baseline: a baseline of turnstone, or the report of another tool. {0}: none. */
struct cli_baseline {
    struct ts_baseline own;
    struct cli_foreign foreign;
    bool is_foreign;
};

/* Reads the file of --baseline, if there is one, and prepares the scan for it. If the result is not
 * CLI_EXIT_DONE, an error was printed. The caller releases the baseline in any case. */
enum cli_exit cli__scan_read_baseline(struct cli_scan_options *options, struct cli_baseline *ret_baseline);
void cli__scan_release_baseline(struct cli_baseline *baseline);

/* Scans until everything is scanned or a signal stops the scan, and shows the progress on a terminal.
 * After CLI_EXIT_DONE the caller releases the report with ts_scan_report_release. Otherwise an error
 * was printed. */
enum cli_exit cli__scan_run(struct cli_scan_options *options, struct ts_report *ret_report);

/* Returns the flag that the first Ctrl-C sets, during the scan or after it. */
const atomic_bool *cli__scan_stop_flag(void);

/* Marks the findings that the baseline contains, if there is a baseline. If the findings and the baseline
 * cannot be compared, prints why and returns the status of this error; otherwise returns CLI_EXIT_DONE. */
enum cli_exit cli__scan_compare(const struct cli_scan_options *options, struct cli_baseline *baseline,
                                struct ts_report *report);

/* Returns the exit status for a report: 6 or 2 if a target could not be scanned, otherwise 4 if the scan is
 * incomplete, otherwise 1 for findings, otherwise 0. */
enum cli_exit cli__scan_status(const struct cli_scan_options *options, const struct ts_report *report);

/* Prints on standard error why a report is incomplete. */
void cli__scan_complain_incomplete(const char *verb, const struct ts_report *report);

/* Prints on standard error which built-in rules a target removed or replaced. */
void cli__scan_complain_rules(const char *verb, const struct ts_report *report);

/* Prints an error if an output file cannot be written or SOURCE_DATE_EPOCH is invalid. Call this function
 * before the scan, which may take long. */
enum cli_exit cli__scan_check_outputs(const struct cli_scan_options *options);

/* Writes the report to standard output or to the files. Returns `status` on success. */
enum cli_exit cli__scan_write(const struct cli_scan_options *options, const struct ts_report *report,
                              enum cli_exit status);

#endif
