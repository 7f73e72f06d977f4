#include "live_line.h"

#include "os/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS   100000000L
#define FIRST_NS    UINT64_C(300000000) /* no line is drawn for work that ends earlier */
#define COLUMNS_MIN 20

static size_t columns(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < COLUMNS_MIN)
        return 80;
    return size.ws_col;
}

/* Clears the line of the terminal, and writes this text into it. Ignores errors of the terminal. */
static void put(const char *line) {
    char text[CLI_LIVE_LINE_SIZE + 16];
    size_t width = columns() - 1;
    size_t shown = strlen(line) < width ? strlen(line) : width;
    int len = snprintf(text, sizeof text, "\r\033[K%.*s", (int)shown, line);
    if (write(STDERR_FILENO, text, (size_t)len) < 0)
        return;
}

static void *draw(void *argument) {
    struct cli_live_line *line = argument;
    uint64_t begin_ns = ts_clock_monotonic_ns();
    bool is_drawn = false;
    pthread_mutex_lock(&line->lock);
    while (!line->is_over) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += PERIOD_NS;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        (void)pthread_cond_timedwait(&line->changed, &line->lock, &until);
        uint64_t elapsed_ns = ts_clock_monotonic_ns() - begin_ns;
        if (line->is_over || elapsed_ns < FIRST_NS)
            continue;
        char text[CLI_LIVE_LINE_SIZE] = "";
        line->make(line->context, elapsed_ns, columns() - 1, text);
        put(text);
        is_drawn = true;
    }
    pthread_mutex_unlock(&line->lock);
    if (is_drawn)
        put("");
    return NULL;
}

void cli__live_line_begin(struct cli_live_line *line, cli_live_line_make *make, void *context) {
    *line = (struct cli_live_line){.make = make, .context = context};
    if (isatty(STDERR_FILENO) != 1)
        return;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&line->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&line->lock, NULL);
    line->has_thread = pthread_create(&line->thread, NULL, draw, line) == 0;
}

void cli__live_line_end(struct cli_live_line *line) {
    if (!line->has_thread)
        return;
    pthread_mutex_lock(&line->lock);
    line->is_over = true;
    pthread_cond_signal(&line->changed);
    pthread_mutex_unlock(&line->lock);
    pthread_join(line->thread, NULL);
    line->has_thread = false;
}
