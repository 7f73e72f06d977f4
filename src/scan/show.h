/*
 * What may be shown of a secret and of the line it stands in, and where that is.
 */
#ifndef TS_SCAN_SHOW_H
#define TS_SCAN_SHOW_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for a redacted secret: four characters on each side, escaped, and what stands between. */
#define SCAN_REDACTED_SIZE 64

/* "ghp_…9f3a": at most four bytes on each side, at most a sixth of the secret; "[9 bytes]" for a short one. Printable, with a
 * terminator. Returns ret_text. */
const char *scan__redact(struct ts_bytes secret, char ret_text[static SCAN_REDACTED_SIZE]);

/* Of a line as much as this is shown, masks counted, some of it before the secret. A cut is shown as "…". */
#define SCAN_EXCERPT_MAX    200
#define SCAN_EXCERPT_LEAD   72
#define SCAN_EXCERPT_SIZE   (SCAN_EXCERPT_MAX + 32)
/* No byte farther away from the start of the secret is looked at. */
#define SCAN_EXCERPT_BEFORE 512
#define SCAN_EXCERPT_BEHIND 1024

/*
 * The line in which `at` begins, cut. Every byte that is in a span of `secrets` (in any order, overlapping or not) is
 * masked, and so is every other place in it that reads as `same`; neither is masked when shown is true. Raw bytes, no
 * terminator. Returns how many there are.
 */
struct scan_excerpt {
    struct ts_bytes content;
    struct ts_span at;
    const struct ts_span *secrets;
    size_t secret_count;
    struct ts_bytes same;
    bool shown;
};
size_t scan__excerpt(const struct scan_excerpt *excerpt, char ret_text[static SCAN_EXCERPT_SIZE]);

/* Lines and columns of places that are asked for in rising order. To ask for one ahead, ask a copy. */
struct scan_lines {
    struct ts_bytes content;
    uint64_t line; /* of the place `at`, from 1 */
    uint64_t
        bytes_before; /* of this line before the content, when that is a window and no line began in it yet */
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
