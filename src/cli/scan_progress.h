/*
 * Progress of a scan on a terminal: one line on standard error, redrawn a few times a second and removed at
 * the end.
 */
#ifndef TS_CLI_SCAN_PROGRESS_H
#define TS_CLI_SCAN_PROGRESS_H

#include "scan/scan.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct cli_scan_progress {
    struct ts_scan_progress *progress;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards is_over; taken alone */
    pthread_cond_t changed;
    bool is_over;
};

/* Draws only when standard error is a terminal and `wanted`. */
void cli__scan_progress_begin(struct cli_scan_progress *drawer, struct ts_scan_progress *progress,
                              bool wanted);
void cli__scan_progress_end(struct cli_scan_progress *drawer);

/* The state that the line shows. */
struct cli_scan_moment {
    uint64_t objects;
    uint64_t objects_total;
    uint64_t bytes;
    uint64_t findings;
    uint64_t elapsed_ns;
    unsigned stage; /* enum ts_scan_stage */
};
#define CLI_SCAN_PROGRESS_SIZE 160
/* Writes as much of the progress as fits into the columns. The least important parts are left out first:
 * rate, time, total, size. */
const char *cli__scan_progress_line(const struct cli_scan_moment *moment, size_t columns,
                                    char ret_line[static CLI_SCAN_PROGRESS_SIZE]);

#endif
