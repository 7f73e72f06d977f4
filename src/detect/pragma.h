/*
 * Marks in a line that allow a finding: our own, and those of common tools.
 */
#ifndef TS_DETECT_PRAGMA_H
#define TS_DETECT_PRAGMA_H

#include "base/bytes.h"

#define TS_LINES_MAX 4096
/* Returns the lines that contain the span, without the last line break. On either side of the span, the
 * result has at most TS_LINES_MAX bytes. */
struct ts_span ts_lines_of(struct ts_bytes text, struct ts_span span);

/* Returns the line before these lines. If these lines are the first ones, returns an empty span at their
 * start. */
struct ts_span ts_line_before(struct ts_bytes text, struct ts_span lines);

/*
 * Returns the mark that allows a match of this rule in these lines, as a static text, or NULL.
 *
 *     turnstone:allow                 every rule; "turnstone:allow=jwt,github-pat" only these
 *     gitleaks:allow, trufflehog:ignore, kingfisher:ignore, pragma: allowlist secret, nosec, NOSONAR,
 *     noqa: S105, S106 or S107, also among other codes
 *                                     every rule
 *     pragma: allowlist nextline secret, in the line before
 */
const char *ts_pragma_find(struct ts_bytes lines, struct ts_bytes line_before, const char *rule);

#endif
