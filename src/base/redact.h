/*
 * Text that is safe to show: lengths instead of secrets, and untrusted bytes on one printable line.
 *
 * All functions except ts_text_escape_one write at most `size` bytes into the caller's buffer, always with a
 * terminator, and return the buffer. TS_REDACT_TEXT_SIZE is enough for the redacted texts; size is at least
 * 1.
 */
#ifndef TS_BASE_REDACT_H
#define TS_BASE_REDACT_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

#define TS_REDACT_TEXT_SIZE 40

/* For secrets whose length must not be shown either. */
#define TS_REDACTED         "<redacted>"

/* Writes "[12 bytes]". */
const char *ts_redact_len(size_t len, char *ret_text, size_t size);

/*
 * Writes untrusted bytes for a message of one line. Printable ASCII and valid UTF-8 stay; a backslash is
 * doubled; control characters (C0, DEL, C1), invalid UTF-8, and characters that reorder or hide text
 * (base/utf8.h) become \xNN for each byte. A text that does not fit is cut after a slash or a space, and then
 * ends with "...". Words are never cut, because a word may be a secret, and masking could not recognise a
 * part of it.
 */
const char *ts_text_escape(struct ts_bytes bytes, char *ret_text, size_t size);

/*
 * Like ts_text_escape, for a user's value in an error message. The value may be a server's address with a
 * password, written in the wrong place. So only the scheme of a URL is shown, and the text ends before the
 * word "password"; "..." replaces the rest. size is at least 8.
 */
const char *ts_text_quote(struct ts_bytes bytes, char *ret_text, size_t size);

/* Room for the text of one character. */
#define TS_TEXT_PIECE_MAX 16
/* Like ts_text_escape, but only for the first character, without a terminator, for text of any length. bytes
 * must not be empty. Returns the number of bytes of the character. */
size_t ts_text_escape_one(struct ts_bytes bytes, char ret_piece[static TS_TEXT_PIECE_MAX],
                          size_t *ret_piece_len);

#endif
