/*
 * Shared by verbs that scan: running the scan, and writing its report.
 */
#ifndef TS_CLI_SCAN_RUN_H
#define TS_CLI_SCAN_RUN_H

#include "foreign.h"
#include "scan_options.h"

#include "report/baseline.h"

/* The known findings of --baseline: of turnstone itself, or of another tool. {0}: none. */
struct cli_baseline {
    struct ts_baseline own;
    struct cli_foreign foreign;
    bool is_foreign;
};

/* Reads the file of --baseline, if there is one, and prepares the scan for it. Returns CLI_EXIT_DONE; otherwise
 * an error was printed. The caller releases it in any case. */
enum cli_exit cli__scan_read_baseline(struct cli_scan_options *options, struct cli_baseline *ret_baseline);
void cli__scan_release_baseline(struct cli_baseline *baseline);

/* Scans, with progress on a terminal, until it is done or a signal stops it. CLI_EXIT_DONE: there is a
 * report, which the caller releases with ts_scan_report_release; otherwise an error was printed. */
enum cli_exit cli__scan_run(struct cli_scan_options *options, struct ts_report *ret_report);

/* Set by the first Ctrl-C, also after the scan. */
const atomic_bool *cli__scan_stop_flag(void);

/* Marks the findings of the baseline, if there is one. Returns CLI_EXIT_DONE; otherwise an error says why they
 * cannot be compared. */
enum cli_exit cli__scan_compare(const struct cli_scan_options *options, struct cli_baseline *baseline,
                                struct ts_report *report);

/* Status 0, 1 or 4, depending on the report. */
enum cli_exit cli__scan_status(const struct cli_scan_options *options, const struct ts_report *report);

/* Prints on standard error why a report is incomplete. */
void cli__scan_complain_incomplete(const char *verb, const struct ts_report *report);

/* Prints on standard error which built-in rules a target removed. */
void cli__scan_complain_rules(const char *verb, const struct ts_report *report);

/* Call it before the scan, which may take long: reports a file that cannot be written. */
enum cli_exit cli__scan_check_outputs(const struct cli_scan_options *options);

/* Writes the report to standard output or to the files. Returns status on success. */
enum cli_exit cli__scan_write(const struct cli_scan_options *options, const struct ts_report *report,
                              enum cli_exit status);

#endif
