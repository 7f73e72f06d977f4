/*
 * The language of a pattern: made from the pattern's text, for what can be said of a rule before it is used.
 *
 * What both engines take is nearly all understood: literals, escapes, classes, groups, alternatives, repeats, case.
 * \b, ^ and $ are taken for nothing, so that some members are none: an upper bound stays one, and of texts that were
 * made the engine decides which ones match.
 */
#ifndef TS_DETECT_LANGUAGE_H
#define TS_DETECT_LANGUAGE_H

#include "arena.h"

#include "base/prng.h"

#include <stdbool.h>
#include <stdint.h>

enum detect_language_kind {
    DETECT_LANGUAGE_NOTHING,
    DETECT_LANGUAGE_BYTE,
    DETECT_LANGUAGE_SEQUENCE,
    DETECT_LANGUAGE_CHOICE,
    DETECT_LANGUAGE_REPEAT,
    DETECT_LANGUAGE_SECRET, /* the group of that name */
};

/* Both ends belong to it. */
struct detect_counts {
    uint32_t min;
    uint32_t max;
};

struct detect_language {
    enum detect_language_kind kind;
    struct detect_language *first; /* its parts */
    struct detect_language *next;  /* in what it is a part of */
    struct detect_counts counts;   /* of a repeat */
    uint64_t bytes[4];             /* of a byte: a bit for each that it may be */
};

static inline bool detect__bytes_has(const uint64_t bytes[4], unsigned byte) {
    return (bytes[byte >> 6] >> (byte & 63) & 1) != 0;
}

/* NULL when the pattern has something that is not understood, or there is no memory. */
struct detect_language *detect__language_parse(const char *pattern, struct detect_arena *arena);

enum detect_token_start {
    DETECT_TOKEN_STARTS,  /* ret_most is set */
    DETECT_TOKEN_NEVER,   /* no secret is token-shaped (token_runs.h) */
    DETECT_TOKEN_UNKNOWN, /* too much work, or no memory */
};

/*
 * How many bytes after the start of a match the first token-shaped run of its secret begins at most, of all matches that
 * are at most `reach` long.
 */
enum detect_token_start detect__language_token_start(const struct detect_language *language, uint32_t reach,
                                                     uint32_t *ret_most);

/* Makes a member, another each time. Returns its length, or 0 when it is empty or does not fit. */
size_t detect__language_make(const struct detect_language *language, struct ts_prng *prng, uint8_t *ret_text,
                             size_t size);

#endif
