/*
 * Lines of text: styles, cells, cutting and wrapping.
 */
#include "text.h"

#include "base/utf8.h"

#include <string.h>

static const char *code_of(const struct report_job *job, enum text_style style) {
    static const char *const codes[] = {
        [TEXT_PLAIN] = "\x1b[0m",  [TEXT_BOLD] = "\x1b[1m",    [TEXT_DIM] = "\x1b[2m",
        [TEXT_PLACE] = "\x1b[36m", [TEXT_GOOD] = "\x1b[1;32m", [TEXT_CRITICAL] = "\x1b[1;31m",
        [TEXT_HIGH] = "\x1b[31m",  [TEXT_MEDIUM] = "\x1b[33m", [TEXT_LOW] = "\x1b[34m",
    };
    return job->options->colour ? codes[style] : "";
}

void report__text_style(const struct report_job *job, enum text_style style) {
    ts_out_put_cstring(job->out, code_of(job, style));
}

void report__text_put(const struct report_job *job, enum text_style style, const char *text) {
    if (style != TEXT_PLAIN)
        report__text_style(job, style);
    ts_out_put_cstring(job->out, text);
    if (style != TEXT_PLAIN)
        report__text_style(job, TEXT_PLAIN);
}

static bool is_narrow(const struct report_job *job) {
    return job->options->width > 0 && job->options->width < TEXT_NARROW;
}

static size_t margin_of(const struct report_job *job) {
    return is_narrow(job) ? TEXT_NARROW_MARGIN : TEXT_MARGIN;
}

void report__text_margin(const struct report_job *job, enum text_style style, const char *heading) {
    size_t used = strlen(heading);
    if (heading[0] != '\0')
        report__text_put(job, style, heading);
    if (heading[0] != '\0' && is_narrow(job)) {
        ts_out_put_char(job->out, '\n');
        used = 0;
    }
    for (; used < margin_of(job); used++)
        ts_out_put_char(job->out, ' ');
}

static size_t room_behind(const struct report_job *job, size_t margin) {
    const size_t narrowest = 20;
    size_t width = job->options->width;
    if (width == 0)
        return SIZE_MAX;
    return width < margin + narrowest ? narrowest : width - margin;
}

size_t report__text_room(const struct report_job *job) {
    return room_behind(job, margin_of(job));
}

struct range {
    uint32_t first;
    uint32_t last;
};

static bool is_in(const struct range *ranges, size_t count, uint32_t point) {
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

/* Returns the width of a character. Terminals agree on most widths; where they disagree, the returned width
 * is at most one cell wrong. */
static size_t cells_of_point(uint32_t point) {
    static const struct range none[] = {
        {0x300, 0x36f}, {0x483, 0x489}, {0x591, 0x5bd},   {0x610, 0x61a},   {0x64b, 0x65f},
        {0x93c, 0x93c}, {0x94d, 0x94d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
    };
    static const struct range wide[] = {
        {0x1100, 0x115f}, {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},
        {0xa000, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
        {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
    };
    if (point < 0x300)
        return 1;
    if (is_in(none, sizeof none / sizeof none[0], point))
        return 0;
    return is_in(wide, sizeof wide / sizeof wide[0], point) ? 2 : 1;
}

/* The first character in its shown form, its width in cells, and its number of bytes. */
struct shown {
    char piece[TS_TEXT_PIECE_MAX];
    size_t len;
    size_t cells;
    size_t taken;
};

static struct shown show(struct ts_bytes bytes, enum report_backslash backslash) {
    struct shown shown;
    shown.taken = report__show_one(bytes, backslash, shown.piece, &shown.len);
    uint32_t point;
    size_t whole = ts_utf8_decode(ts_bytes_of(shown.piece, shown.len), &point);
    shown.cells = whole == shown.len ? cells_of_point(point) : shown.len;
    return shown;
}

size_t report__text_cells(struct ts_bytes bytes, enum report_backslash backslash) {
    size_t cells = 0;
    while (bytes.len > 0) {
        size_t plain = report__plain_len(bytes);
        cells += plain;
        bytes = ts_bytes_skip(bytes, plain);
        if (bytes.len == 0)
            break;
        struct shown shown = show(bytes, backslash);
        cells += shown.cells;
        bytes = ts_bytes_skip(bytes, shown.taken);
    }
    return cells;
}

void report__text_put_cut(const struct report_job *job, struct ts_bytes bytes,
                          enum report_backslash backslash, size_t room) {
    if (room == SIZE_MAX || report__text_cells(bytes, backslash) <= room) {
        report__put_shown(job->out, bytes, backslash);
        return;
    }
    if (room == 0)
        return;
    for (size_t left = room - 1; bytes.len > 0;) {
        struct shown shown = show(bytes, backslash);
        if (shown.cells > left)
            break;
        ts_out_put(job->out, ts_bytes_of(shown.piece, shown.len));
        left -= shown.cells;
        bytes = ts_bytes_skip(bytes, shown.taken);
    }
    ts_out_put_cstring(job->out, "…");
}

/* ---- flowing ---- */

void report__flow_begin(struct text_flow *flow, const struct report_job *job, bool has_margin) {
    *flow = (struct text_flow){
        .job = job, .has_margin = has_margin, .room = room_behind(job, has_margin ? margin_of(job) : 0)};
}

/* Writes the kept part of a word. If this part does not fit on the current line, begins a new line first. */
static void put_word(struct text_flow *flow) {
    struct ts_out *out = flow->job->out;
    if (flow->used > 0 && !flow->is_inside) {
        if (flow->room - flow->used < flow->cells + 1) {
            ts_out_put_char(out, '\n');
            if (flow->has_margin)
                report__text_margin(flow->job, TEXT_PLAIN, "");
            flow->used = 0;
        } else {
            ts_out_put_char(out, ' ');
            flow->used++;
        }
    }
    ts_out_put(out, ts_bytes_of(flow->word, flow->len));
    /* A word that is longer than the line leaves no room. */
    flow->used = flow->room - flow->used > flow->cells ? flow->used + flow->cells : flow->room;
    flow->len = 0;
    flow->cells = 0;
}

static void end_word(struct text_flow *flow) {
    if (flow->len > 0)
        put_word(flow);
    flow->is_inside = false;
}

static void add_to_word(struct text_flow *flow, struct ts_bytes piece, size_t cells) {
    if (flow->len + piece.len > sizeof flow->word) {
        put_word(flow);
        flow->is_inside = true;
    }
    memcpy(flow->word + flow->len, piece.data, piece.len);
    flow->len += piece.len;
    flow->cells += cells;
}

void report__flow_style(struct text_flow *flow, enum text_style style) {
    add_to_word(flow, ts_bytes_of_cstring(code_of(flow->job, style)), 0);
}

void report__flow_put_whole(struct text_flow *flow, struct ts_bytes bytes, enum report_backslash backslash) {
    while (bytes.len > 0) {
        struct shown shown = show(bytes, backslash);
        add_to_word(flow, ts_bytes_of(shown.piece, shown.len), shown.cells);
        bytes = ts_bytes_skip(bytes, shown.taken);
    }
}

void report__flow_put(struct text_flow *flow, const char *text) {
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        report__flow_put_whole(flow, ts_bytes_of(text, len), REPORT_BACKSLASH_KEPT);
        text += len;
        if (*text == ' ')
            end_word(flow);
        text += strspn(text, " ");
    }
}

void report__flow_end(struct text_flow *flow) {
    end_word(flow);
    ts_out_put_char(flow->job->out, '\n');
}

void report__text_put_wrapped(const struct report_job *job, enum text_style style, const char *text) {
    struct text_flow flow;
    report__flow_begin(&flow, job, true);
    if (style != TEXT_PLAIN)
        report__flow_style(&flow, style);
    report__flow_put(&flow, text);
    if (style != TEXT_PLAIN)
        report__flow_style(&flow, TEXT_PLAIN);
    report__flow_end(&flow);
}

enum text_style report__text_style_of(enum ts_severity severity) {
    switch (severity) {
    case TS_SEVERITY_CRITICAL:
        return TEXT_CRITICAL;
    case TS_SEVERITY_HIGH:
        return TEXT_HIGH;
    case TS_SEVERITY_MEDIUM:
        return TEXT_MEDIUM;
    case TS_SEVERITY_LOW:
        return TEXT_LOW;
    }
    return TEXT_PLAIN;
}
