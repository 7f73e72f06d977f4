/*
 * The language of a pattern: the texts that it matches. The language is parsed from the pattern's text, to
 * check a rule before the rule is used.
 *
 * The parser covers nearly everything that both engines accept: literals, escapes, classes, groups,
 * alternatives, repeats, case. \b, ^ and $ are ignored, so some generated texts do not match the pattern.
 * Upper bounds stay valid, and the engine decides which generated texts match.
 */
#ifndef TS_DETECT_LANGUAGE_H
#define TS_DETECT_LANGUAGE_H

#include "os/arena.h"

#include "base/prng.h"

#include <stdbool.h>
#include <stdint.h>

enum detect_language_kind {
    DETECT_LANGUAGE_NOTHING,
    DETECT_LANGUAGE_BYTE,
    DETECT_LANGUAGE_SEQUENCE,
    DETECT_LANGUAGE_CHOICE,
    DETECT_LANGUAGE_REPEAT,
    DETECT_LANGUAGE_SECRET, /* the group `secret` */
};

/* How often a part is repeated: at least min and at most max times. */
struct detect_counts {
    uint32_t min;
    uint32_t max;
};

struct detect_language {
    enum detect_language_kind kind;
    struct detect_language *first; /* the first part of this node */
    struct detect_language *next;  /* the part after this node in the parent */
    struct detect_counts counts;   /* for a repeat: number of repetitions */
    uint64_t bytes[4];             /* for a byte: a bit for each possible value */
};

static inline bool detect__bytes_has(const uint64_t bytes[4], unsigned byte) {
    return (bytes[byte >> 6] >> (byte & 63) & 1) != 0;
}

/* Parses a pattern. Returns NULL when the pattern contains unsupported syntax, or memory runs out. */
struct detect_language *detect__language_parse(const char *pattern, struct ts_arena *arena);

enum detect_token_start {
    DETECT_TOKEN_STARTS,  /* ret_most is set */
    DETECT_TOKEN_NEVER,   /* no secret contains a token-shaped run (token_runs.h) */
    DETECT_TOKEN_UNKNOWN, /* too much work, or no memory */
};

/*
 * Sets *ret_most to the maximum number of bytes between the start of a match and the first token-shaped run
 * of its secret, over all matches of at most `reach` bytes.
 */
enum detect_token_start detect__language_token_start(const struct detect_language *language, uint32_t reach,
                                                     uint32_t *ret_most);

/* Generates a random text of the language. Returns its length, or 0 if the text is empty or does not fit. */
size_t detect__language_make(const struct detect_language *language, struct ts_prng *prng, uint8_t *ret_text,
                             size_t size);

#endif
