/*
 * Rules compiled for scanning. Any number of threads may read a detector at the same time; each of them scans
 * with its own scanner (scanner.h).
 *
 * Compiling takes a large part of a second, so a cache folder of the user keeps the result: one file for each
 * combination of rules, library and processor. The file is written under another name and renamed, and
 * checked when it is read; if it is damaged, the rules are compiled again. Processes that start together may
 * compile at the same time; the file of the last process remains.
 */
#ifndef TS_DETECT_DETECTOR_H
#define TS_DETECT_DETECTOR_H

#include "detect/detect_error.h"
#include "detect/ruleset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_detector;

struct ts_detector_options {
    const char *cache_folder; /* NULL: the user's (XDG_CACHE_HOME, or ~/.cache); "": no cache */
};

/* Where the compiled sets came from. */
enum ts_detector_cache {
    TS_DETECTOR_CACHE_OFF,     /* compiled; there is no cache folder */
    TS_DETECTOR_CACHE_HIT,     /* read from the cache */
    TS_DETECTOR_CACHE_MISS,    /* compiled and written to the cache */
    TS_DETECTOR_CACHE_DAMAGED, /* the file was damaged: compiled and written to the cache */
};

/* Compiles the rules, which are borrowed and must not change. Returns NULL on failure: a pattern does not
 * compile or can match more than its reach, or memory ran out. A cache that cannot be written is not a
 * failure. */
struct ts_detector *ts_detector_new(const struct ts_ruleset *rules, const struct ts_detector_options *options,
                                    struct ts_detect_error *ret_error);
void ts_detector_free(struct ts_detector *detector);

enum ts_detector_cache ts_detector_cache_state(const struct ts_detector *detector);

/* Writes a digest of the rules, including their ids, and of the libraries. Together with this program they
 * decide which secrets are found. */
void ts_detector_digest(const struct ts_detector *detector, uint8_t ret_digest[static TS_RULESET_DIGEST_LEN]);

/* Returns the maximum number of bytes that one match can depend on. Windows of a large input overlap by this
 * many bytes. */
size_t ts_detector_reach(const struct ts_detector *detector);

/* The bytes before the end of a text decide whether the text is a landmark (scanner.h). Returns their maximum
 * number. */
size_t ts_detector_landmark_before(const struct ts_detector *detector);

#endif
