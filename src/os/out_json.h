/*
 * Texts in JSON output.
 */
#ifndef TS_OS_OUT_JSON_H
#define TS_OS_OUT_JSON_H

#include "base/bytes.h"
#include "os/out.h"

/* The bytes as a JSON string with its quotes. What is not UTF-8 becomes U+FFFD, a character for each byte. Control
 * characters and what reorders or hides text (base/utf8.h) are written as \uNNNN: a reader of JSON gets them
 * back, a terminal that the output is printed to does not get them at all. */
void ts_out_put_json(struct ts_out *out, struct ts_bytes text);

/* The same without the quotes, for a string that is made of several texts. */
void ts_out_put_json_part(struct ts_out *out, struct ts_bytes text);

#endif
