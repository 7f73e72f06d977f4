#include "scan_progress.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

#define SECOND_NS   UINT64_C(1000000000)
#define GUESS_AFTER (2 * SECOND_NS)

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
                                    char ret_line[static CLI_LIVE_LINE_SIZE]) {
    char done[TS_SIZE_TEXT_SIZE + 4];
    char size[TS_SIZE_TEXT_SIZE];
    char rate[TS_SIZE_TEXT_SIZE + 8] = "";
    char left[32] = "";
    char total[24] = "";
    if (moment->objects == 0) {
        snprintf(ret_line, CLI_LIVE_LINE_SIZE, "%s", stage_name(moment->stage));
        return ret_line;
    }
    if (moment->objects_total >= moment->objects)
        snprintf(total, sizeof total, "/%llu", (unsigned long long)moment->objects_total);
    (void)ts_size_format(moment->bytes, size);
    snprintf(done, sizeof done, ", %s", size);
    /* Other stages read no contents: the rate would only fall, and the remaining time would be 0. */
    if (moment->stage == TS_SCAN_STAGE_CONTENT) {
        put_rate(moment, rate, sizeof rate);
        put_left(moment, left, sizeof left);
    }
    char *const parts[] = {rate, left, total, done};
    for (size_t i = 0; i <= sizeof parts / sizeof parts[0]; i++) {
        int len = snprintf(ret_line, CLI_LIVE_LINE_SIZE, "%s: %llu%s objects%s%s, %llu finding%s%s",
                           stage_name(moment->stage), (unsigned long long)moment->objects, total, done, rate,
                           (unsigned long long)moment->findings, moment->findings == 1 ? "" : "s", left);
        if (len < 0 || (size_t)len <= columns || i == sizeof parts / sizeof parts[0])
            break;
        parts[i][0] = '\0';
    }
    if (strlen(ret_line) > columns)
        snprintf(ret_line, CLI_LIVE_LINE_SIZE, "%llu objects, %llu found",
                 (unsigned long long)moment->objects, (unsigned long long)moment->findings);
    return ret_line;
}

/* ---- drawing ---- */

static void draw(void *context, uint64_t elapsed_ns, size_t columns,
                 char ret_line[static CLI_LIVE_LINE_SIZE]) {
    struct ts_scan_progress *progress = context;
    const struct cli_scan_moment moment = {
        .objects = atomic_load_explicit(&progress->objects, memory_order_relaxed),
        .objects_total = atomic_load_explicit(&progress->objects_total, memory_order_relaxed),
        .bytes = atomic_load_explicit(&progress->bytes, memory_order_relaxed),
        .findings = atomic_load_explicit(&progress->findings, memory_order_relaxed),
        .elapsed_ns = elapsed_ns,
        .stage = atomic_load_explicit(&progress->stage, memory_order_relaxed),
    };
    if (atomic_load_explicit(&progress->stop, memory_order_relaxed))
        snprintf(ret_line, CLI_LIVE_LINE_SIZE, "stopping");
    else
        (void)cli__scan_progress_line(&moment, columns, ret_line);
}

void cli__scan_progress_begin(struct cli_live_line *line, struct ts_scan_progress *progress) {
    cli__live_line_begin(line, draw, progress);
}
