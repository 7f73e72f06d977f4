/*
 * Progress of a scan as a live line.
 */
#ifndef TS_CLI_SCAN_PROGRESS_H
#define TS_CLI_SCAN_PROGRESS_H

#include "live_line.h"

#include "scan/scan.h"

/* Shows the progress of a scan as a live line, until cli__live_line_end. */
void cli__scan_progress_begin(struct cli_live_line *line, struct ts_scan_progress *progress);

/* The progress of a scan at one moment, as the line shows it. */
struct cli_scan_moment {
    uint64_t objects;
    uint64_t objects_total;
    uint64_t bytes;
    uint64_t findings;
    uint64_t elapsed_ns;
    unsigned stage; /* enum ts_scan_stage */
};
/* Writes as much of the progress as fits into the columns. Omits the least important parts first: rate, time,
 * total, size. */
const char *cli__scan_progress_line(const struct cli_scan_moment *moment, size_t columns,
                                    char ret_line[static CLI_LIVE_LINE_SIZE]);

#endif
