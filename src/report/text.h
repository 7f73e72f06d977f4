/*
 * Text for people: the parts that blocks of findings (text.c) and the summary (text_summary.c) share.
 *
 * Everything stands in a column of its own behind a margin of TEXT_MARGIN cells, in which a finding has its severity and the
 * summary its headings. Colour says how grave something is, weight what to read first, dim what is there for looking up; the
 * text alone says all of it, too.
 */
#ifndef TS_REPORT_TEXT_H
#define TS_REPORT_TEXT_H

#include "writer.h"

#define TEXT_MARGIN 12

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

/* Starts a style, and ends it with TEXT_PLAIN; nothing without colour. */
void report__text_style(const struct report_job *job, enum text_style style);

/* A text of our own in a style. */
void report__text_put(const struct report_job *job, enum text_style style, const char *text);

/* The margin, with a heading in it or "". */
void report__text_margin(const struct report_job *job, enum text_style style, const char *heading);

/* Cells that are left in a line behind the margin; SIZE_MAX when lines are as long as they are. */
size_t report__text_room(const struct report_job *job);

/* How many cells bytes take when they are shown. */
size_t report__text_cells(struct ts_bytes bytes, enum report_backslash backslash);

/* Shows at most room cells of bytes, the last of them "…" when there are more. */
void report__text_put_cut(const struct report_job *job, struct ts_bytes bytes,
                          enum report_backslash backslash, size_t room);

/* Words in lines as wide as there is room, the second and later ones behind the margin; ends the last line. The
 * text is safe to print, apart from control bytes, which are shown. */
void report__text_put_wrapped(const struct report_job *job, const char *text);

enum text_style report__text_style_of(enum ts_severity severity);

void report__text_put_summary(const struct report_job *job);

#endif
