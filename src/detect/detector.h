/*
 * Rules made ready for scanning. A detector is read by any number of threads at the same time; each of them
 * scans with a scanner of its own (scanner.h).
 *
 * Compiling takes a good part of a second, so what was compiled is kept in a folder of the user's: a file for
 * each combination of rules, library and processor, written under another name and renamed, checked when it
 * is read, and made anew when it is damaged. Processes that start at the same time may compile at the same
 * time; the last one's file stays.
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
    const char *cache_folder; /* NULL: the user's (XDG_CACHE_HOME, else ~/.cache); "": none */
};

/* How the compiled sets were come by. */
enum ts_detector_cache {
    TS_DETECTOR_CACHE_OFF,     /* compiled; there is no folder to keep it in */
    TS_DETECTOR_CACHE_HIT,     /* read */
    TS_DETECTOR_CACHE_MISS,    /* compiled and kept */
    TS_DETECTOR_CACHE_DAMAGED, /* there was a file, but not a sound one: compiled and kept */
};

/* The rules are borrowed, and must stay as they are. NULL on failure: a pattern that does not compile or that
 * can match more than its reach, or no memory. A cache that cannot be written is no failure. */
struct ts_detector *ts_detector_new(const struct ts_ruleset *rules, const struct ts_detector_options *options,
                                    struct ts_detect_error *ret_error);
void ts_detector_free(struct ts_detector *detector);

const struct ts_ruleset *ts_detector_rules(const struct ts_detector *detector);
enum ts_detector_cache ts_detector_cache_state(const struct ts_detector *detector);

/* The same for the same rules, ids included, and libraries: what decides, beside this program, what is found. */
void ts_detector_digest(const struct ts_detector *detector, uint8_t ret_digest[static TS_RULESET_DIGEST_LEN]);

/* The largest number of bytes on which one match can depend: windows of a large input overlap by this much.
 */
size_t ts_detector_reach(const struct ts_detector *detector);

/* On how many bytes before its end it depends whether something is a landmark (scanner.h). */
size_t ts_detector_landmark_before(const struct ts_detector *detector);

#endif
