/*
 * Text in XML and HTML.
 */
#ifndef TS_REPORT_MARKUP_H
#define TS_REPORT_MARKUP_H

#include "writer.h"

/* Writes bytes in their shown form (write.h), with & < > " ' as references, for text and for quoted
 * attributes. Bytes that XML cannot contain are already \xNN. */
void report__put_markup(struct ts_out *out, struct ts_bytes bytes, enum report_backslash backslash);

/* Writes a fixed text, or a text that is safe to print. */
void report__put_markup_text(struct ts_out *out, const char *text);

/* Writes where an occurrence is, with line and column. */
void report__put_markup_place(struct ts_out *out, const struct ts_report_occurrence *occurrence);

#endif
