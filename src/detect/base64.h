/* Decodes base64 in both alphabets, standard and URL. */
#ifndef TS_DETECT_BASE64_H
#define TS_DETECT_BASE64_H

#include "base/bytes.h"

#include <stddef.h>
#include <stdint.h>

/* Maps each byte to its six bits plus one if it is a base64 character, otherwise to 0. */
extern const uint8_t detect__base64_bits[256];

/* Decodes base64. Skips blanks, line breaks and the two characters "\n", and stops at any other byte. Returns
 * the number of decoded bytes, at most size. */
size_t detect__base64_decode(struct ts_bytes text, uint8_t *ret_bytes, size_t size);

#endif
