/*
 * Scanning bytes with a detector.
 *
 * A scan reports every match of every rule as rule.h defines it, in no particular order, some of them more
 * than once; ts_matches_settle (matches.h) makes the final list. It finds matches in the bytes themselves and
 * in decoded base64, percent-encoding and UTF-16.
 *
 * A match depends on one run of bytes of the input, `depends`. So a scan may be divided:
 *
 * - Changed bytes only: with `changed`, a scan reports exactly the matches whose `depends` touches one of the
 *   spans. An empty span is a seam: it touches matches that reach across it. An empty span at the start (end)
 *   of the input touches matches that depend on the start (end). A match of an earlier version of the input
 *   is still valid in the new version if its `depends` is inside one copied run. If depends_on_start (or
 *   _end) is set, that run must be at the start (or end) of both versions.
 * - Windows: a window that is not the beginning (end) of its input sets continues_before (after). Matches
 *   that depend on bytes outside are not reported; if windows overlap by ts_detector_reach, another window
 *   has them.
 *
 * Rules with a long reach make the neighbourhood of changed bytes wide. So a scan keeps its landmarks, the
 * places of the literals and anchors of rules. If the scan of a later version gets the unchanged landmarks,
 * it searches only changed bytes for new ones, and runs patterns where a landmark is near enough to a change.
 * Without landmarks, it searches the whole neighbourhood again.
 *
 * A scanner belongs to one thread. It takes several hundred KiB.
 */
#ifndef TS_DETECT_SCANNER_H
#define TS_DETECT_SCANNER_H

#include "detect/detector.h"
#include "detect/matches.h"

#include "base/bytes.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_scanner;

/* The end of a literal or anchor of a rule. Whether there is a landmark depends on
 * ts_detector_landmark_before() bytes before the end, and on one byte after it. */
struct ts_landmark {
    uint32_t end;
    uint32_t gate;
};

/* Landmarks are not kept if an input has more of them than this, or is larger than 4 GiB. */
#define TS_LANDMARKS_MAX 16384

struct ts_landmarks {
    bool are_known;
    size_t count;
    const struct ts_landmark *items; /* sorted by end */
};

struct ts_scanner_input {
    struct ts_bytes bytes;
    bool continues_before;
    bool continues_after;
    bool ungated;                  /* try every rule at every offset: slow, for comparison */
    bool not_decoded;              /* do not decode encoded text */
    const struct ts_span *changed; /* sorted, not overlapping; NULL: the whole input */
    size_t changed_count;
    /* With `changed`: the landmarks that no changed span touches. */
    struct ts_landmarks landmarks;
    /* NULL: the scan cannot be stopped. When *stop becomes true, the scan returns early, and matches and
     * landmarks are incomplete. */
    const atomic_bool *stop;
};

/* Called for each match. The match and its secret are valid only during the call. */
typedef void ts_match_found(void *context, const struct ts_match *match);

/* Counts since the scanner was made. */
struct ts_scanner_work {
    uint64_t bytes; /* bytes of the searched zones, and of decoded texts */
    uint64_t gate_hits;
    uint64_t pattern_runs;
    uint64_t limits_hit; /* patterns that stopped because they needed too many steps */
    uint64_t decoded;    /* decoded texts */
    /* Inputs in which the target's own rules used up their budget. limits_hit counts each of these inputs,
     * too. */
    uint64_t own_spent;
    uint32_t own_rule; /* lowest index of a rule that the budget stopped; UINT32_MAX: none */
};

/* Makes a scanner. Returns NULL when memory runs out. The detector must stay valid as long as the scanner. */
struct ts_scanner *ts_scanner_new(struct ts_detector *detector);
void ts_scanner_free(struct ts_scanner *scanner);

/* Returns false when memory ran out for a part of the scan: then the reported matches are incomplete. */
bool ts_scanner_scan(struct ts_scanner *scanner, const struct ts_scanner_input *scan, ts_match_found *found,
                     void *context);

/* Returns all landmarks of the input of the last scan; valid until the next scan. The landmarks are unknown
 * if there are too many, if the input is too large (TS_LANDMARKS_MAX), after a scan without gates, and after
 * a scan of changed bytes without known landmarks. */
struct ts_landmarks ts_scanner_landmarks(const struct ts_scanner *scanner);

struct ts_scanner_work ts_scanner_counts(const struct ts_scanner *scanner);

#endif
