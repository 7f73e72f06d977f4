/*
 * Marks in a line that allow a finding: our own, and those of common tools.
 */
#ifndef TS_DETECT_PRAGMA_H
#define TS_DETECT_PRAGMA_H

#include "base/bytes.h"

/* The complete lines of a span of the text, without the last line break; at most TS_LINES_MAX bytes on either
 * side of the span. */
#define TS_LINES_MAX 4096
struct ts_span ts_lines_of(struct ts_bytes text, struct ts_span span);

/* The line before these lines, or an empty span at their start. */
struct ts_span ts_line_before(struct ts_bytes text, struct ts_span lines);

/*
 * The mark that allows a match of this rule in these lines, as a static text, or NULL.
 *
 *     turnstone:allow                 every rule; "turnstone:allow=jwt,github-pat" only these
 *     gitleaks:allow, trufflehog:ignore, kingfisher:ignore, pragma: allowlist secret, nosec, NOSONAR,
 *     noqa: S105, S106 or S107, also among other codes
 *                                     every rule
 *     pragma: allowlist nextline secret, in the line before
 */
const char *ts_pragma_find(struct ts_bytes lines, struct ts_bytes line_before, const char *rule);

#endif
