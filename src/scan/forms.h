/*
 * What a text stands for: the encodings that a secret may be written in.
 *
 * Two kinds. A decoder reads a whole text, and leaves what is not encoded as it is: percent-encoding, quoted-printable, backslash
 * escapes, HTML entities, UTF-16. A code is about a run of its own characters inside a text: base64 and hexadecimal digits. Nothing
 * says where a group of these begins, so that each place is tried.
 */
#ifndef TS_SCAN_FORMS_H
#define TS_SCAN_FORMS_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text, and for each of its bytes where it stands in the text that it was decoded from. */
struct scan_form {
    uint8_t *bytes;
    uint32_t *from;
    uint32_t *to;
    size_t len;
};

/* Room for what a form of this length stands for: two bytes of UTF-16 may be three of UTF-8. */
static inline size_t scan__form_room(size_t len) {
    return len + len / 2 + 1;
}

/* Writes what a form stands for to `to`, which is empty. False when it stands for itself. */
typedef bool scan_decoder(const struct scan_form *form, struct scan_form *to);

#define SCAN_DECODER_COUNT 9
extern scan_decoder *const scan__decoders[SCAN_DECODER_COUNT];

struct scan_code {
    bool (*has)(uint8_t byte);
    /* Writes what a run of its characters stands for. Those of a group that is cut are left out. */
    void (*decode)(const struct scan_form *form, struct ts_span run, struct scan_form *to);
    size_t group; /* characters */
    size_t bytes; /* that a group stands for */
};

#define SCAN_CODE_COUNT 2
extern const struct scan_code scan__codes[SCAN_CODE_COUNT];

#endif
