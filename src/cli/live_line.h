/*
 * A line that shows the progress of work. If standard error is a terminal, the line is drawn there a few
 * times a second, and removed at the end.
 */
#ifndef TS_CLI_LIVE_LINE_H
#define TS_CLI_LIVE_LINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_LIVE_LINE_SIZE 160

/* Writes the current text of the line. The text should fit into `columns`. */
typedef void cli_live_line_make(void *context, uint64_t elapsed_ns, size_t columns,
                                char ret_line[static CLI_LIVE_LINE_SIZE]);

struct cli_live_line {
    cli_live_line_make *make;
    void *context;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards is_over; no thread holds it together with another lock */
    pthread_cond_t changed;
    bool is_over;
};

/* Calls `make` from a separate thread until cli__live_line_end. */
void cli__live_line_begin(struct cli_live_line *line, cli_live_line_make *make, void *context);
void cli__live_line_end(struct cli_live_line *line);

#endif
