/*
 * What may be shown of a secret and of the line it stands in, and where that is.
 */
#ifndef TS_SCAN_SHOW_H
#define TS_SCAN_SHOW_H

#include "masks.h"

#include "base/bytes.h"
#include "detect/finding_id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for a redacted secret: four characters on each side, escaped, and what stands between. */
#define SCAN_REDACTED_SIZE 64

/* "ghp_…9f3a": at most four bytes on each side, at most a sixth of the secret; "[9 bytes]" for a short one. Printable, with a
 * terminator. Returns ret_text. */
const char *scan__redact(struct ts_bytes secret, char ret_text[static SCAN_REDACTED_SIZE]);

/* "RSA PRIVATE KEY (51a0e1e7)" for what stands between lines of dashes, whose ends are all alike: its label, and the beginning
 * of its finding's id, which is keyed. NULL when it is no such block. */
const char *scan__redact_block(struct ts_bytes secret, const struct ts_finding_id *id,
                               char ret_text[static SCAN_REDACTED_SIZE]);

/* Of a line as much as this is shown, masks counted, some of it before the secret. A cut is shown as "…". */
#define SCAN_EXCERPT_MAX    200
#define SCAN_EXCERPT_LEAD   72
#define SCAN_EXCERPT_SIZE   (SCAN_EXCERPT_MAX + 32)
/* No byte farther away from the start of the secret is looked at. */
#define SCAN_EXCERPT_BEFORE 512
#define SCAN_EXCERPT_BEHIND 1024
/* Of these, so many at a cut end are looked at and not shown: a secret that is cut there cannot be known. */
#define SCAN_EXCERPT_EDGE   128
#define SCAN_AROUND_SIZE    (8 + 3 * (SCAN_EXCERPT_BEFORE + SCAN_EXCERPT_BEHIND))

/*
 * An excerpt is made in two steps, since not all secrets are known when a content is looked at. First `around`: what is near
 * the secret in its line, without the secrets of its own content. Then, when all are known, the excerpt.
 *
 * Every byte that is in a span of `secrets` (in any order, overlapping or not) is left out of `around`. Every other place that reads as
 * `same`, or as a short one of these, is hidden: no excerpt shows it, but its bytes stay until all secrets are known, since it may be a
 * part of a longer one. Neither is so when shown is true. With is_hidden, all is left out.
 */
struct scan_around {
    struct ts_bytes content;
    struct ts_span at;
    const struct ts_span *secrets;
    size_t secret_count;
    struct ts_bytes same;
    bool shown;
    bool is_hidden;
};
/* Bytes that scan__excerpt takes. Returns how many there are. */
size_t scan__around(const struct scan_around *around, char ret_text[static SCAN_AROUND_SIZE]);

/*
 * The line, cut, with TS_REPORT_MASK for each run of what was left out and of what the masks find; masks may be NULL. Of what is
 * no text, zeros between characters (UTF-16) are left out, and each run of other bytes is one "·". No terminator. Returns how many
 * bytes there are.
 */
size_t scan__excerpt(struct ts_bytes around, struct scan_masks *masks,
                     char ret_text[static SCAN_EXCERPT_SIZE]);

/* Whether something in it is hidden, or the masks find something. Such a line must not be kept. */
bool scan__around_touched(struct ts_bytes around, struct scan_masks *masks);

/* The same without what is hidden and what the masks find. Returns how many bytes there are; 0 when it stays as it is. */
size_t scan__around_mask(struct ts_bytes around, struct scan_masks *masks,
                         char ret_text[static SCAN_AROUND_SIZE]);

/* Whether the bytes can be what scan__around wrote. */
bool scan__around_is_sound(struct ts_bytes around);

/* Lines and columns of places that are asked for in rising order. To ask for one ahead, ask a copy. */
struct scan_lines {
    struct ts_bytes content;
    uint64_t line; /* of the place `at`, from 1 */
    /* Bytes of this line before the content, when the content is a window and no line has begun in it yet. */
    uint64_t bytes_before;
    size_t at;
    size_t line_start; /* in the content; 0 while bytes_before counts */
};

struct scan_position {
    uint64_t line;
    uint64_t column; /* from 1, in bytes */
};

void scan__lines_init(struct scan_lines *lines, struct ts_bytes content);
struct scan_position scan__lines_find(struct scan_lines *lines, size_t at);

#endif
