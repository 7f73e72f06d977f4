/*
 * Reads and writes hexadecimal text, and bytes of URLs. All other code uses these functions.
 */
#ifndef TS_BASE_HEX_H
#define TS_BASE_HEX_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

extern const int8_t ts_hex_values[256];

/* Returns the value of a hex digit, upper or lower case; -1 for other characters. */
static inline int ts_hex_digit(uint8_t c) {
    return ts_hex_values[c];
}

/* Like ts_hex_digit, but accepts only lower case, for texts that must have one spelling. */
static inline int ts_hex_digit_lower(uint8_t c) {
    return c >= 'A' && c <= 'F' ? -1 : ts_hex_values[c];
}

/* Reads pairs of digits: text.len / 2 bytes. Returns false for an odd length, or for a character that is not
 * a digit; ret_bytes is then undefined. */
bool ts_hex_decode(struct ts_bytes text, uint8_t *ret_bytes);
bool ts_hex_decode_lower(struct ts_bytes text, uint8_t *ret_bytes);

/* Writes two digits for each byte, lower case, without a terminator. Returns the end of the text. */
char *ts_hex_encode(struct ts_bytes bytes, char *ret_text);

/* Writes a byte as a part of a URL: as itself if RFC 3986 calls it unreserved, as %XX otherwise. Returns the
 * length of the text, which has no terminator. */
size_t ts_percent_encode(uint8_t byte, char ret_text[static 3]);

#endif
