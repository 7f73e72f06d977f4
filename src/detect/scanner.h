/*
 * Scanning bytes with a detector.
 *
 * A scan reports every match of every rule as rule.h defines it, in no particular order, and the same one
 * more than once at times; ts_matches_settle (matches.h) makes the final list of them. Matches are found in
 * the bytes themselves and in what base64, percent-encoding and UTF-16 in them stand for.
 *
 * What a match depends on is a run of bytes of the input, `depends`. So a scan may be cut:
 *
 * - Changed bytes only: with `changed`, exactly the matches whose depends touches one of the spans are
 * reported. An empty span is a seam: it touches what reaches across it; at 0 or at the end, what depends on
 * the start or end. A match of an earlier version of the input stands unchanged in the new one when its
 * depends lies inside one copied run (at the very start or end of both inputs if it says depends_on_start or
 * depends_on_end).
 * - Windows: a window that is not the beginning (end) of its input says continues_before (after). Matches
 * that depend on what is outside are not reported; when windows overlap by ts_detector_reach, another window
 * has them.
 *
 * Rules with a long reach make the neighbourhood of changed bytes wide. So a scan keeps where the literals and anchors
 * of rules stand, its landmarks, and the scan of a later version that is given those that stand unchanged looks for them
 * in changed bytes only, and runs patterns where one is near enough to a change. Without them, it looks for them again
 * in the whole neighbourhood.
 *
 * A scanner belongs to one thread. It is several hundred KiB.
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

/* Where a literal or anchor of a rule ends. Whether one ends there depends on as many bytes before as
 * ts_detector_landmark_before() says, and on one behind. */
struct ts_landmark {
    uint32_t end;
    uint32_t gate;
};

/* An input with more of them, or of 4 GiB, has none that are known. */
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
    bool ungated;                  /* every rule over everything: slow, for comparison */
    bool not_decoded;              /* leave encoded text alone */
    const struct ts_span *changed; /* sorted, not overlapping; NULL: everything */
    size_t changed_count;
    /* With changed: those that stand unchanged, all that the changed spans leave whole. */
    struct ts_landmarks landmarks;
};

/* The match, and the secret in it, are the caller's only during the call. */
typedef void ts_match_found(void *context, const struct ts_match *match);

/* What scanners count since they were made. */
struct ts_scan_counts {
    uint64_t bytes; /* looked at by the gates */
    uint64_t gate_hits;
    uint64_t pattern_runs;
    uint64_t limits_hit; /* patterns given up because they needed too many steps */
    uint64_t decoded;    /* encoded texts looked into */
    /* Inputs in which the target's own rules used up their budget. Each counts as a limit that was hit. */
    uint64_t own_spent;
    uint32_t own_rule; /* the first rule, by number, that met it; UINT32_MAX: none */
};

/* NULL when there is no memory. The detector must outlive it. */
struct ts_scanner *ts_scanner_new(struct ts_detector *detector);
void ts_scanner_free(struct ts_scanner *scanner);

/* False when there was no memory for a part of it: what was reported is not all. */
bool ts_scanner_scan(struct ts_scanner *scanner, const struct ts_scan *scan, ts_match_found *found,
                     void *context);

/* All landmarks of the input of the last scan; valid until the next. Not known when there are too many, without gates, and
 * when only changed bytes were scanned without knowing those of the rest. */
struct ts_landmarks ts_scanner_landmarks(const struct ts_scanner *scanner);

struct ts_scan_counts ts_scanner_counts(const struct ts_scanner *scanner);

#endif
