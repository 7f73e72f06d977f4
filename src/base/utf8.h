/*
 * Reads UTF-8 character by character, as strictly as the standard: no overlong forms, no surrogates, nothing
 * above 10FFFF.
 */
#ifndef TS_BASE_UTF8_H
#define TS_BASE_UTF8_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the length of the character at the start of `bytes` and stores its code point. Returns 0 if the
 * character is invalid; the point is then unchanged. `bytes` is not empty. */
size_t ts_utf8_decode(struct ts_bytes bytes, uint32_t *ret_point);

bool ts_utf8_is_valid(struct ts_bytes bytes);

/* Returns false for characters that must not reach a terminal or a reader unchanged: control characters (C0,
 * DEL, C1), and characters that reorder or hide text (bidirectional controls, line and paragraph separators,
 * zero-width characters, the byte order mark, tags). */
bool ts_utf8_is_shown(uint32_t point);

#endif
