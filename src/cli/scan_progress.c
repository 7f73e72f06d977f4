#include "scan_progress.h"

#include "base/number.h"
#include "os/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS   100000000L
#define FIRST_NS    UINT64_C(300000000) /* a scan that ends earlier shows nothing */
#define SECOND_NS   UINT64_C(1000000000)
#define GUESS_AFTER (2 * SECOND_NS)
#define COLUMNS_MIN 20

/* ---- the line ---- */

static const char *stage_name(unsigned stage) {
    switch ((enum ts_scan_stage)stage) {
    case TS_SCAN_STAGE_START:
        return "starting";
    case TS_SCAN_STAGE_HISTORY:
        return "reading history";
    case TS_SCAN_STAGE_CONTENT:
        return "scanning";
    case TS_SCAN_STAGE_ORIGINS:
        return "finding origins";
    }
    return "";
}

static void put_rate(const struct cli_scan_moment *moment, char *text, size_t size) {
    char per_second[TS_SIZE_TEXT_SIZE];
    double seconds = (double)moment->elapsed_ns / (double)SECOND_NS;
    (void)ts_size_format(seconds > 0 ? (uint64_t)((double)moment->bytes / seconds) : 0, per_second);
    snprintf(text, size, ", %s/s", per_second);
}

static void put_left(const struct cli_scan_moment *moment, char *text, size_t size) {
    text[0] = '\0';
    if (moment->objects_total <= moment->objects || moment->objects == 0 || moment->elapsed_ns < GUESS_AFTER)
        return;
    double rate = (double)moment->objects / (double)moment->elapsed_ns;
    double left_s = (double)(moment->objects_total - moment->objects) / rate / (double)SECOND_NS;
    unsigned seconds = left_s < 359999 ? (unsigned)(left_s + 0.5) : 359999;
    if (seconds >= 3600)
        snprintf(text, size, ", %u:%02u:%02u left", seconds / 3600, seconds / 60 % 60, seconds % 60);
    else
        snprintf(text, size, ", %u:%02u left", seconds / 60, seconds % 60);
}

const char *cli__scan_progress_line(const struct cli_scan_moment *moment, size_t columns,
                                    char ret_line[static CLI_SCAN_PROGRESS_SIZE]) {
    char done[TS_SIZE_TEXT_SIZE + 4];
    char size[TS_SIZE_TEXT_SIZE];
    char rate[TS_SIZE_TEXT_SIZE + 8] = "";
    char left[32] = "";
    char total[24] = "";
    if (moment->objects == 0) {
        snprintf(ret_line, CLI_SCAN_PROGRESS_SIZE, "%s", stage_name(moment->stage));
        return ret_line;
    }
    if (moment->objects_total >= moment->objects)
        snprintf(total, sizeof total, "/%llu", (unsigned long long)moment->objects_total);
    (void)ts_size_format(moment->bytes, size);
    snprintf(done, sizeof done, ", %s", size);
    /* While nothing is read a rate would only fall, and no time is left for reading. */
    if (moment->stage == TS_SCAN_STAGE_CONTENT) {
        put_rate(moment, rate, sizeof rate);
        put_left(moment, left, sizeof left);
    }
    char *const parts[] = {rate, left, total, done};
    for (size_t i = 0; i <= sizeof parts / sizeof parts[0]; i++) {
        int len = snprintf(ret_line, CLI_SCAN_PROGRESS_SIZE, "%s: %llu%s objects%s%s, %llu finding%s%s",
                           stage_name(moment->stage), (unsigned long long)moment->objects, total, done, rate,
                           (unsigned long long)moment->findings, moment->findings == 1 ? "" : "s", left);
        if (len < 0 || (size_t)len <= columns || i == sizeof parts / sizeof parts[0])
            break;
        parts[i][0] = '\0';
    }
    if (strlen(ret_line) > columns)
        snprintf(ret_line, CLI_SCAN_PROGRESS_SIZE, "%llu objects, %llu found",
                 (unsigned long long)moment->objects, (unsigned long long)moment->findings);
    return ret_line;
}

/* ---- drawing ---- */

static size_t columns(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < COLUMNS_MIN)
        return 80;
    return size.ws_col;
}

/* Back to the start of the line, which is cleared. Errors of the terminal are ignored. */
static void put(const char *line) {
    char text[CLI_SCAN_PROGRESS_SIZE + 16];
    size_t width = columns() - 1;
    size_t shown = strlen(line) < width ? strlen(line) : width;
    int len = snprintf(text, sizeof text, "\r\033[K%.*s", (int)shown, line);
    if (write(STDERR_FILENO, text, (size_t)len) < 0)
        return;
}

static struct cli_scan_moment look(struct ts_scan_progress *progress, uint64_t begin_ns) {
    return (struct cli_scan_moment){
        .objects = atomic_load_explicit(&progress->objects, memory_order_relaxed),
        .objects_total = atomic_load_explicit(&progress->objects_total, memory_order_relaxed),
        .bytes = atomic_load_explicit(&progress->bytes, memory_order_relaxed),
        .findings = atomic_load_explicit(&progress->findings, memory_order_relaxed),
        .elapsed_ns = ts_clock_monotonic_ns() - begin_ns,
        .stage = atomic_load_explicit(&progress->stage, memory_order_relaxed),
    };
}

static void *draw(void *argument) {
    struct cli_scan_progress *drawer = argument;
    uint64_t begin_ns = ts_clock_monotonic_ns();
    bool is_drawn = false;
    pthread_mutex_lock(&drawer->lock);
    while (!drawer->is_over) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += PERIOD_NS;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        (void)pthread_cond_timedwait(&drawer->changed, &drawer->lock, &until);
        struct cli_scan_moment moment = look(drawer->progress, begin_ns);
        if (drawer->is_over || moment.elapsed_ns < FIRST_NS)
            continue;
        char line[CLI_SCAN_PROGRESS_SIZE];
        bool is_stopping = atomic_load_explicit(&drawer->progress->stop, memory_order_relaxed);
        put(is_stopping ? "stopping" : cli__scan_progress_line(&moment, columns() - 1, line));
        is_drawn = true;
    }
    pthread_mutex_unlock(&drawer->lock);
    if (is_drawn)
        put("");
    return NULL;
}

void cli__scan_progress_begin(struct cli_scan_progress *drawer, struct ts_scan_progress *progress,
                              bool wanted) {
    *drawer = (struct cli_scan_progress){.progress = progress};
    if (!wanted || isatty(STDERR_FILENO) != 1)
        return;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&drawer->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&drawer->lock, NULL);
    drawer->has_thread = pthread_create(&drawer->thread, NULL, draw, drawer) == 0;
}

void cli__scan_progress_end(struct cli_scan_progress *drawer) {
    if (!drawer->has_thread)
        return;
    pthread_mutex_lock(&drawer->lock);
    drawer->is_over = true;
    pthread_cond_signal(&drawer->changed);
    pthread_mutex_unlock(&drawer->lock);
    pthread_join(drawer->thread, NULL);
    drawer->has_thread = false;
}
