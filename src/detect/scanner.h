/*
 * Scanning bytes with a detector.
 *
 * A scan reports every match of every rule as rule.h defines it, in no particular order, and some more than
 * once; ts_matches_settle (matches.h) makes the final list. It finds matches in the bytes themselves and in
 * decoded base64, percent-encoding and UTF-16.
 *
 * A match depends on one run of bytes of the input, `depends`. So a scan may be divided:
 *
 * - Changed bytes only: with `changed`, exactly the matches whose depends touches one of the spans are
 *   reported. An empty span is a seam: it touches matches that reach across it; at 0 or at the end, matches
 *   that depend on the start or end. A match of an earlier version of the input is unchanged in the new one if
 *   its depends is inside one copied run; with depends_on_start (or _end), the run must be at the start (or
 *   end) of both inputs.
 * - Windows: a window that is not the beginning (end) of its input sets continues_before (after). Matches
 *   that depend on bytes outside are not reported; if windows overlap by ts_detector_reach, another window
 *   has them.
 *
 * Rules with a long reach make the neighbourhood of changed bytes wide. So a scan keeps its landmarks, the
 * places of the literals and anchors of rules. A scan of a later version that gets the unchanged landmarks
 * searches only changed bytes for new ones, and runs patterns where a landmark is near enough to a change.
 * Without them, it searches the whole neighbourhood again.
 *
 * A scanner belongs to one thread. It takes several hundred KiB.
 */
#ifndef TS_DETECT_SCANNER_H
#define TS_DETECT_SCANNER_H

#include "detect/detector.h"
#include "detect/matches.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_scanner;

/* The end of a literal or anchor of a rule. It depends on ts_detector_landmark_before() bytes before the end,
 * and on one byte after it. */
struct ts_landmark {
    uint32_t end;
    uint32_t gate;
};

/* If an input has more landmarks than this, or 4 GiB, they are not kept. */
#define TS_LANDMARKS_MAX 16384

struct ts_landmarks {
    bool are_known;
    size_t count;
    const struct ts_landmark *items; /* sorted by end */
};

struct ts_scan {
    struct ts_bytes bytes;
    bool continues_before;
    bool continues_after;
    bool ungated;                  /* every rule at every offset: slow, for comparison */
    bool not_decoded;              /* do not decode encoded text */
    const struct ts_span *changed; /* sorted, not overlapping; NULL: the whole input */
    size_t changed_count;
    /* With changed: all unchanged landmarks, that is, those that no changed span touches. */
    struct ts_landmarks landmarks;
};

/* The match, and the secret in it, are valid only during the call. */
typedef void ts_match_found(void *context, const struct ts_match *match);

/* Counts of a scanner since it was made. */
struct ts_scan_counts {
    uint64_t bytes; /* read by the gates */
    uint64_t gate_hits;
    uint64_t pattern_runs;
    uint64_t limits_hit; /* patterns that stopped because they needed too many steps */
    uint64_t decoded;    /* decoded texts */
    /* Inputs in which the target's own rules used up their budget. Each counts as a hit limit. */
    uint64_t own_spent;
    uint32_t own_rule; /* the index of the first such rule; UINT32_MAX: none */
};

/* Returns NULL when memory runs out. The detector must outlive it. */
struct ts_scanner *ts_scanner_new(struct ts_detector *detector);
void ts_scanner_free(struct ts_scanner *scanner);

/* Returns false when memory ran out for a part of the scan: then the reported matches are incomplete. */
bool ts_scanner_scan(struct ts_scanner *scanner, const struct ts_scan *scan, ts_match_found *found,
                     void *context);

/* All landmarks of the input of the last scan; valid until the next. Unknown if there are too many, after a
 * scan without gates, and after a scan of changed bytes without known landmarks. */
struct ts_landmarks ts_scanner_landmarks(const struct ts_scanner *scanner);

struct ts_scan_counts ts_scanner_counts(const struct ts_scanner *scanner);

#endif
