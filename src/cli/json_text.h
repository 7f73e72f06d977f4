/*
 * Texts in JSON output.
 */
#ifndef TS_CLI_JSON_TEXT_H
#define TS_CLI_JSON_TEXT_H

#include "base/bytes.h"
#include "os/out.h"

/* The bytes as a JSON string with its quotes. What is not UTF-8 becomes U+FFFD, a character for each byte. */
void cli__put_json_text(struct ts_out *out, struct ts_bytes text);

#endif
