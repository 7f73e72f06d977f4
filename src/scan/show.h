/*
 * The parts of a secret and of its line that may be shown, and their positions.
 */
#ifndef TS_SCAN_SHOW_H
#define TS_SCAN_SHOW_H

#include "masks.h"

#include "base/bytes.h"
#include "detect/finding_id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Size of a buffer for a redacted secret: four bytes on each side, escaped, and "…" between them. */
#define SCAN_REDACTED_SIZE 64

/* Writes a redacted secret. "ghp_…9f3a": each side has at most four bytes, and at most a sixth of the secret.
 * "Xxxx99!" for a short secret: the kind of each character, and no character itself. "[5 bytes]" for a very
 * short secret. The text is printable, with a terminator. Returns ret_text. */
const char *scan__redact(struct ts_bytes secret, char ret_text[static SCAN_REDACTED_SIZE]);

/* Writes the whole of a value that is not secret, such as the id of a client. If the value is too long,
 * redacts it. The text is printable, with a terminator. Returns ret_text. */
const char *scan__show_whole(struct ts_bytes value, char ret_text[static SCAN_REDACTED_SIZE]);

/* For a block between lines of dashes, writes the label of the block and the beginning of the finding's id,
 * such as "RSA PRIVATE KEY (51a0e1e7)". The ends of such blocks are always the same, so showing them would be
 * useless. Returns NULL if the secret is not such a block. */
const char *scan__redact_block(struct ts_bytes secret, const struct ts_finding_id *id,
                               char ret_text[static SCAN_REDACTED_SIZE]);

/* An excerpt has at most SCAN_EXCERPT_MAX bytes of a line, masks included, and at most SCAN_EXCERPT_LEAD
 * bytes before the secret. A cut is shown as "…". */
#define SCAN_EXCERPT_MAX    200
#define SCAN_EXCERPT_LEAD   72
#define SCAN_EXCERPT_SIZE   (SCAN_EXCERPT_MAX + 32)
/* Bytes farther away from the start of the secret are ignored. */
#define SCAN_EXCERPT_BEFORE 512
#define SCAN_EXCERPT_BEHIND 1024
/* Where the line is cut, this many bytes at the cut are not shown, because a secret that is cut there cannot
 * be recognised. */
#define SCAN_EXCERPT_EDGE   128
#define SCAN_AROUND_SIZE    (8 + 3 * (SCAN_EXCERPT_BEFORE + SCAN_EXCERPT_BEHIND))

/*
 * An excerpt is made in two steps, since not all secrets are known when a content is scanned. First `around`:
 * the line near the secret, without the secrets of its own content. Then, when all secrets are known, the
 * excerpt.
 *
 * Bytes in a span of `secrets` (in any order, overlapping or not) are left out of `around`. Every other
 * occurrence of `same`, or of a short secret of `secrets`, is hidden: no excerpt shows it. Its bytes are
 * kept until all secrets are known, because they may be part of a longer secret. With `shown`, nothing is
 * left out or hidden. With is_hidden, everything is left out.
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
/* Writes the bytes for scan__excerpt. Returns their number. */
size_t scan__around(const struct scan_around *around, char ret_text[static SCAN_AROUND_SIZE]);

/*
 * Writes the truncated line, with TS_REPORT_MASK for each run that was left out or that the masks find; masks
 * may be NULL. Drops zeros between characters (UTF-16), and writes each run of two or more other bytes that
 * are not text as one "·". No terminator. Returns the number of bytes.
 */
size_t scan__excerpt(struct ts_bytes around, struct scan_masks *masks,
                     char ret_text[static SCAN_EXCERPT_SIZE]);

/* Returns true if a part of the line is hidden, or the masks find a secret. Such a line must not be kept. */
bool scan__around_touched(struct ts_bytes around, struct scan_masks *masks);

/* Writes `around` without hidden bytes, and without bytes that the masks find. Returns the number of bytes,
 * or 0 if nothing changes. */
size_t scan__around_mask(struct ts_bytes around, struct scan_masks *masks,
                         char ret_text[static SCAN_AROUND_SIZE]);

/* Returns true if `around` has the form that scan__around writes. */
bool scan__around_is_sound(struct ts_bytes around);

/* Computes lines and columns of positions, which must be requested in ascending order. To look ahead, use a
 * copy. */
struct scan_lines {
    struct ts_bytes content;
    uint64_t line; /* line of the position `at`, from 1 */
    /* Number of bytes of this line before the content, if the content is a window in which no line has
     * started so far. */
    uint64_t bytes_before;
    size_t at;
    size_t line_start; /* offset in the content; 0 while bytes_before is in use */
};

struct scan_position {
    uint64_t line;
    uint64_t column; /* from 1, in bytes */
};

void scan__lines_init(struct scan_lines *lines, struct ts_bytes content);
struct scan_position scan__lines_find(struct scan_lines *lines, size_t at);

#endif
