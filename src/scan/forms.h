/*
 * Decoding texts: the encodings that a secret may be written in.
 *
 * There are two kinds. A decoder (percent-encoding, quoted-printable, backslash escapes, HTML entities,
 * UTF-16) reads a whole text, and keeps characters that are not encoded. A code (base64, hexadecimal digits)
 * covers a run of its own characters inside a text. Nothing shows where a group of characters of a code
 * begins, so each position is tried.
 */
#ifndef TS_SCAN_FORMS_H
#define TS_SCAN_FORMS_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text, and the position of each of its bytes in the text that it was decoded from. */
struct scan_form {
    uint8_t *bytes;
    uint32_t *from;
    uint32_t *to;
    size_t len;
};

/* Returns the size of the buffer for the decoded form of a text of this length: two bytes of UTF-16 may be
 * three of UTF-8. */
static inline size_t scan__form_room(size_t len) {
    return len + len / 2 + 1;
}

/* Writes the decoded form to `to`, which is empty. Returns false if the text has nothing encoded. */
typedef bool scan_decoder(const struct scan_form *form, struct scan_form *to);

#define SCAN_DECODER_COUNT 9
extern scan_decoder *const scan__decoders[SCAN_DECODER_COUNT];

struct scan_code {
    bool (*has)(uint8_t byte);
    /* Decodes a run of characters of this code. Of an incomplete group at the end, writes only the complete
     * bytes. */
    void (*decode)(const struct scan_form *form, struct ts_span run, struct scan_form *to);
    size_t group; /* characters of a group */
    size_t bytes; /* decoded bytes of a group */
};

#define SCAN_CODE_COUNT 2
extern const struct scan_code scan__codes[SCAN_CODE_COUNT];

#endif
