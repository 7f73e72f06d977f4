/*
 * Scans contents that are too large to hold in memory: reads them in windows.
 *
 *      |<------------- window k ------------->|
 *      |<- M ->|                       |<- M ->|
 *                         |<------------- window k+1 ------------->|
 *                         |<- M ->|     ...
 *
 * A match belongs to a window if the window has at least M bytes on both sides of the match. On a side where
 * the content begins or ends, fewer bytes are enough. M is enough for judging: the lines around the match,
 * and whole secrets that reach into the excerpt. Windows overlap by 2 M plus the reach of a match, so each
 * match belongs to at least one window. A match that belongs to two windows is found twice, and settling
 * removes one of them.
 *
 * Matches are judged while their window is in memory, and settled when all are known. Until then, the field
 * `depends`, which only deltas need, holds the index of the hit. If the scan is stopped before the last
 * window, the matches so far are settled when the windows are freed.
 */
#include "inside.h"
#include "look_impl.h"
#include "pass.h"

#include "base/assert.h"
#include "detect/pragma.h"
#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

/* An archive of up to this many bytes is held in memory; a larger archive moves to a file. */
#define ARCHIVE_HELD ((size_t)1 << 20)

struct scan_windows {
    struct scan_look_options options; /* a copy: the look may be in use when windows are freed */
    struct scan_content content;
    struct ts_match *matches;
    size_t count;
    size_t match_capacity;
    struct scan_hit *hits;
    size_t hit_capacity;
    uint64_t next_at;    /* position of the next window */
    uint64_t line;       /* number of the line at that position */
    uint64_t line_start; /* offset of that line in the content */
    enum scan_archive_kind kind;
    struct scan_pile archive; /* bytes of the archive so far; members are read at the end. Unused for NONE */
    bool is_archive_lost;
    bool is_reported;
    bool too_many;
    bool no_memory;  /* memory ran out in one of the windows so far */
    bool is_lacking; /* a part of the content was not scanned, or not kept */
};

static size_t margin_of(const struct scan_profile *profile) {
    return ts_detector_reach(profile->rules->detector) + (size_t)2 * TS_LINES_MAX + SCAN_EXCERPT_BEHIND;
}

size_t scan__look_overlap(const struct scan_profile *profile) {
    return 2 * margin_of(profile) + ts_detector_reach(profile->rules->detector);
}

/* Settles the matches, and writes the hits of the remaining matches to ret_hits, which has room for all. */
static size_t settle(struct scan_windows *windows, struct scan_hit *ret_hits) {
    size_t count = ts_matches_settle(&windows->options.profile->rules->set, windows->matches, windows->count);
    for (size_t i = 0; i < count; i++)
        ret_hits[i] = windows->hits[windows->matches[i].depends.from];
    return count;
}

static bool was_stopped(const struct scan_windows *windows) {
    const struct scan_look_options *options = &windows->options;
    return (options->stop != NULL && atomic_load(options->stop)) ||
           (options->inside != NULL && scan__was_stopped(options->inside->pass));
}

/* Reports the hits so far if the scan was stopped. Contents that end early for another reason may be scanned
 * again. */
static void report_stopped(struct scan_windows *windows) {
    if (windows->is_reported || windows->count == 0 || !was_stopped(windows))
        return;
    struct scan_hit *hits = malloc(windows->count * sizeof *hits);
    size_t count = hits != NULL ? settle(windows, hits) : 0;
    windows->content.is_whole = false;
    windows->content.evidence = 0;
    if (count > 0)
        scan__hits_add(windows->options.hits, &windows->content, hits, count);
    free(hits);
}

void scan__windows_free(struct scan_windows *windows) {
    if (windows == NULL)
        return;
    report_stopped(windows);
    if (windows->kind != SCAN_ARCHIVE_NONE)
        scan__pile_release(&windows->archive);
    free(windows->matches);
    free(windows->hits);
    free(windows);
}

static bool belongs(const struct ts_match *match, const struct scan_window *window, size_t margin) {
    size_t end = match->span.from + match->span.len;
    return (window->at == 0 || match->span.from >= margin) &&
           (window->is_last || end + margin <= window->bytes.len);
}

static int compare_places(const void *a, const void *b) {
    const struct ts_match *x = a;
    const struct ts_match *y = b;
    return (x->secret_span.from > y->secret_span.from) - (x->secret_span.from < y->secret_span.from);
}

/* Keeps a match with its hit until settling, which needs the position of the match in the content, but not
 * its secret. */
static bool keep(struct scan_windows *windows, const struct ts_match *match, const struct scan_hit *hit,
                 uint64_t at) {
    if (windows->count >= SCAN_MATCHES_MAX) {
        windows->too_many = true;
        return true;
    }
    if (!TS_GROW(windows->matches, windows->match_capacity, windows->count + 1) ||
        !TS_GROW(windows->hits, windows->hit_capacity, windows->count + 1))
        return false;
    struct ts_match kept = *match;
    kept.span.from += (size_t)at;
    kept.secret_span.from += (size_t)at;
    kept.secret = (struct ts_bytes){NULL, 0};
    kept.depends = (struct ts_span){windows->count, 0};
    windows->hits[windows->count] = *hit;
    windows->hits[windows->count].at += at;
    windows->matches[windows->count++] = kept;
    return true;
}

static struct scan_lines lines_at(const struct scan_windows *windows, const struct scan_window *window) {
    struct scan_lines lines;
    scan__lines_init(&lines, window->bytes);
    lines.line = windows->line;
    lines.bytes_before = window->at - windows->line_start;
    return lines;
}

/* Moves to the beginning of the next window. */
static void advance(struct scan_windows *windows, const struct scan_window *window, size_t overlap) {
    size_t step = window->bytes.len > overlap ? window->bytes.len - overlap : 0;
    struct scan_lines lines = lines_at(windows, window);
    struct scan_position next = scan__lines_find(&lines, step);
    windows->next_at = window->at + step;
    windows->line = next.line;
    windows->line_start = windows->next_at - (next.column - 1);
}

static bool judge_all(struct scan_look *look, const struct scan_window *window,
                      struct scan_windows *windows) {
    size_t margin = margin_of(look->options.profile);
    if (look->raw_count == 0)
        return true;
    if (!scan__look_prepare(look))
        return false;
    qsort(look->raw, look->raw_count, sizeof *look->raw, compare_places);
    struct scan_lines lines = lines_at(windows, window);
    bool done = true;
    size_t late = 0;
    for (size_t i = 0; i < look->raw_count && done; i++) {
        struct scan_hit hit;
        if (!scan__look_judges_on(look, &late)) {
            windows->is_lacking = true;
            break;
        }
        if (!belongs(&look->raw[i], window, margin))
            continue;
        if (scan__look_judge(look, window->bytes, &look->raw[i], &lines, &hit))
            done = keep(windows, &look->raw[i], &hit, window->at);
        else
            windows->is_lacking = true;
    }
    return done;
}

static bool report(struct scan_look *look, const struct scan_content *content, struct scan_windows *windows) {
    windows->is_reported = true;
    if (windows->count == 0)
        return true;
    if (!TS_GROW(look->found, look->found_capacity, windows->count))
        return false;
    size_t count = settle(windows, look->found);
    struct scan_content kept = *content;
    kept.is_whole = look->is_whole;
    if (windows->kind != SCAN_ARCHIVE_NONE)
        kept.evidence = 0;
    count = scan__inside_settle(look, look->found, count);
    if (count > 0)
        scan__hits_add(look->options.hits, &kept, look->found, count);
    return true;
}

/* ---- archives ---- */

static struct scan_windows *begin(struct scan_look *look, const struct scan_content *content,
                                  const struct scan_window *window) {
    ts_assert(window->at == 0);
    struct scan_windows *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    w->options = look->options;
    w->line = 1;
    w->kind = scan__inside_kind(look, content, window->bytes, window->is_last);
    if (w->kind != SCAN_ARCHIVE_NONE)
        scan__pile_init(&w->archive, ARCHIVE_HELD, look->options.inside->pass->spill_dir);
    return w;
}

/* Adds the new bytes of the window to the archive. */
static void keep_archive(struct scan_look *look, const struct scan_content *content,
                         const struct scan_window *window, struct scan_windows *w) {
    if (w->kind == SCAN_ARCHIVE_NONE || w->is_archive_lost)
        return;
    size_t had = w->archive.len;
    struct ts_bytes news = ts_bytes_skip(window->bytes, had - (size_t)window->at);
    if (had + news.len > look->options.inside->size_max || !scan__pile_grow(&w->archive, news.len)) {
        w->is_archive_lost = true;
        scan__inside_too_large(look, content, had);
    } else if (news.len > 0) {
        memcpy(w->archive.bytes + had, news.data, news.len);
    }
}

static struct scan_within look_at_members(struct scan_look *look, const struct scan_content *content,
                                          struct scan_windows *w) {
    bool is_kept = w->kind != SCAN_ARCHIVE_NONE && !w->is_archive_lost;
    struct scan_within within = scan__inside_members(look, content, is_kept ? w->kind : SCAN_ARCHIVE_NONE,
                                                     ts_bytes_of(w->archive.bytes, w->archive.len));
    within.is_lacking = within.is_lacking || w->is_archive_lost;
    return within;
}

static enum scan_look_result look_at_window(struct scan_look *look, const struct scan_content *content,
                                            const struct scan_window *window, struct scan_windows *w) {
    ts_assert(window->at == w->next_at);
    struct ts_scanner_input scan = {.bytes = window->bytes,
                                    .ungated = look->options.ungated,
                                    .stop = look->options.stop,
                                    .continues_before = window->at > 0,
                                    .continues_after = !window->is_last};
    look->raw_count = 0;
    look->no_memory = false;
    look->too_many = false;
    uint64_t limits_hit = ts_scanner_counts(look->scanner).limits_hit;
    bool done = ts_scanner_scan(look->scanner, &scan, scan__look_found, look) && !look->no_memory;
    w->too_many = w->too_many || look->too_many;
    done = judge_all(look, window, w) && done;
    w->no_memory = w->no_memory || !done;
    w->is_lacking = w->is_lacking || w->no_memory || w->too_many || scan__look_is_cut(look) ||
                    ts_scanner_counts(look->scanner).limits_hit != limits_hit;
    look->is_whole = window->is_last && !w->is_lacking;
    look->is_clean = look->is_whole && w->count == 0;
    ts_arena_clear(&look->decoded);
    if (!window->is_last)
        advance(w, window, scan__look_overlap(look->options.profile));
    else if (!report(look, content, w))
        w->no_memory = true;
    return w->no_memory ? SCAN_LOOK_NO_MEMORY : w->too_many ? SCAN_LOOK_TOO_MANY : SCAN_LOOK_OK;
}

enum scan_look_result scan__look_window(struct scan_look *look, const struct scan_content *content,
                                        const struct scan_window *window, struct scan_windows **windows) {
    if (*windows == NULL)
        *windows = begin(look, content, window);
    if (*windows == NULL)
        return SCAN_LOOK_NO_MEMORY;
    (*windows)->content = *content;
    keep_archive(look, content, window, *windows);
    if (!window->is_last)
        return look_at_window(look, content, window, *windows);
    struct scan_within within = look_at_members(look, content, *windows);
    enum scan_look_result outcome = look_at_window(look, content, window, *windows);
    scan__inside_end(look, &within);
    return outcome;
}
