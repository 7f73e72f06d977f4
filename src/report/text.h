/*
 * Text for people: the parts that blocks of findings (text.c) and the summary (text_summary.c) share.
 *
 * Everything is in a column after a margin of TEXT_MARGIN cells, which has the severity of a finding and the
 * headings of the summary. Colour shows the severity; bold text should be read first; dim text is for
 * reference. The text without styles contains the same information. On a terminal that is narrower than
 * TEXT_NARROW, the text of the margin has its own line, and everything else is indented by
 * TEXT_NARROW_MARGIN.
 */
#ifndef TS_REPORT_TEXT_H
#define TS_REPORT_TEXT_H

#include "writer.h"

#define TEXT_MARGIN        12
#define TEXT_NARROW        60
#define TEXT_NARROW_MARGIN 2

enum text_style {
    TEXT_PLAIN,
    TEXT_BOLD,
    TEXT_DIM,
    TEXT_PLACE,
    TEXT_GOOD,
    TEXT_CRITICAL,
    TEXT_HIGH,
    TEXT_MEDIUM,
    TEXT_LOW,
};

/* Starts a style, or ends it with TEXT_PLAIN. If colours are off, writes nothing. */
void report__text_style(const struct report_job *job, enum text_style style);

/* Writes a text of our own in a style. */
void report__text_put(const struct report_job *job, enum text_style style, const char *text);

/* Writes the margin, with a heading or "". */
void report__text_margin(const struct report_job *job, enum text_style style, const char *heading);

/* Returns the number of cells in a line after the margin; SIZE_MAX when lines are not wrapped. */
size_t report__text_room(const struct report_job *job);

/* Returns how many cells the bytes take when shown. */
size_t report__text_cells(struct ts_bytes bytes, enum report_backslash backslash);

/* Shows at most `room` cells of bytes; if the bytes need more cells, the last cell is "…". */
void report__text_put_cut(const struct report_job *job, struct ts_bytes bytes,
                          enum report_backslash backslash, size_t room);

/*
 * Wraps words into lines. Lines break at the blanks of our own texts. Text from elsewhere is one word. A word
 * that is longer than a line is shown in full, so that it can be copied.
 */
struct text_flow {
    const struct report_job *job;
    bool has_margin; /* second and later lines begin with a margin */
    bool is_inside;  /* the beginning of the word is already written */
    size_t room;     /* cells of a line */
    size_t used;     /* cells of the current line, without the word */
    size_t len;
    size_t cells;   /* width of the word in cells */
    char word[240]; /* the part of the word that is not written yet */
};

/* Begins a flow. If has_margin, the caller has written the margin of the first line. */
void report__flow_begin(struct text_flow *flow, const struct report_job *job, bool has_margin);
void report__flow_style(struct text_flow *flow, enum text_style style);
void report__flow_put(struct text_flow *flow, const char *text);
void report__flow_put_whole(struct text_flow *flow, struct ts_bytes bytes, enum report_backslash backslash);
void report__flow_end(struct text_flow *flow);

/* Writes a whole flow after the margin. The text must be safe to print, except for control bytes, which are
 * escaped. */
void report__text_put_wrapped(const struct report_job *job, enum text_style style, const char *text);

enum text_style report__text_style_of(enum ts_severity severity);

void report__text_put_summary(const struct report_job *job);

#endif
