/*
 * The options of turnstone scan, and what they say.
 */
#ifndef TS_CLI_SCAN_OPTIONS_H
#define TS_CLI_SCAN_OPTIONS_H

#include "verb.h"

#include "report/write.h"
#include "scan/scan.h"

/* The order of the tables: first what says what is scanned and how, which other verbs have too, then what only scan has. */
enum {
    SCAN_DIR,
    SCAN_REF,
    SCAN_BRANCH,
    SCAN_COMMIT,
    SCAN_SINCE,
    SCAN_STAGED,
    SCAN_WORKING_TREE,
    SCAN_UNREACHABLE,
    SCAN_OUTPUT,
    SCAN_RULES,
    SCAN_NO_BUILTIN_RULES,
    SCAN_CONFIG,
    SCAN_NO_REPO_CONFIG,
    SCAN_FULL,
    SCAN_UNGATED,
    SCAN_JOBS,
    SCAN_MEMORY,
    SCAN_STATE,
    SCAN_NO_STATE,
    SCAN_NO_PROGRESS,
    SCAN_COMMON_COUNT,
    SCAN_FORMAT = SCAN_COMMON_COUNT,
    SCAN_OCCURRENCES,
    SCAN_SHOW_SECRETS,
    SCAN_FAIL_ON,
    SCAN_BASELINE,
    SCAN_DIFF_BASELINE,
    SCAN_OPTION_COUNT,
};

extern const struct cli_option cli__scan_option_table[SCAN_OPTION_COUNT];

/* Of turnstone baseline, which writes something else. */
extern const struct cli_option cli__baseline_option_table[SCAN_COMMON_COUNT];

/* Where the report is written to. */
struct cli_scan_output {
    const char *path; /* "-": standard output */
    enum ts_report_format format;
};

struct cli_scan_options {
    struct ts_scan_options scan;
    const char *verb;                /* for messages */
    enum ts_report_format format;    /* on standard output */
    struct cli_scan_output *outputs; /* owned; none: standard output */
    size_t output_count;
    const char *baseline; /* NULL: none */
    bool lists_gone;
    enum ts_severity fail_on;
    const char **texts; /* owned: what scan points to */
    struct ts_scan_target *targets;
    char *state_folder; /* owned; the user's own */
    bool no_progress;
};

/* CLI_EXIT_DONE, or it has been said what is wrong and there is nothing to release. */
enum cli_exit cli__scan_options_read(const char *verb, const struct cli_arguments *arguments,
                                     struct cli_scan_options *ret_options);
void cli__scan_options_release(struct cli_scan_options *options);

#endif
