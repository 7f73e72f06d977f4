/*
 * Writes base64 with padding (RFC 4648).
 */
#ifndef TS_BASE_BASE64_H
#define TS_BASE_BASE64_H

#include "base/bytes.h"

/* Writes four characters for every three bytes, and four for a rest of one or two bytes, without a
 * terminator. Returns the end of the text. */
char *ts_base64_encode(struct ts_bytes bytes, char *ret_text);

#endif
