/*
 * Texts and separators in JSON output.
 */
#ifndef TS_OS_OUT_JSON_H
#define TS_OS_OUT_JSON_H

#include "base/bytes.h"
#include "os/out.h"

/* Writes the bytes as a JSON string with its quotes. Each byte that is not UTF-8 becomes U+FFFD. Control
 * characters, and characters that reorder or hide text (base/utf8.h), are written as escapes (\n, \t or
 * \uNNNN), so that a JSON reader decodes them and a terminal never sees them. */
void ts_out_put_json(struct ts_out *out, struct ts_bytes text);

/* Like ts_out_put_json, without quotes, for a string that is made of several texts. */
void ts_out_put_json_part(struct ts_out *out, struct ts_bytes text);

/* Writes the name of a member and a colon, after a comma if there are members before it. */
void ts_out_put_json_name(struct ts_out *out, size_t members_before, const char *name);

/* Returns the text before an element of a list or object: empty for the first element, the separator for
 * later elements. */
static inline const char *ts_json_separator(size_t elements_before, const char *separator) {
    return elements_before == 0 ? "" : separator;
}

#endif
